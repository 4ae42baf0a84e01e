"""LeftOut: the place of something that a saved file does not hold, as prediction needs it not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

__all__ = ["LeftOut"]


@dataclass(frozen=True)
class LeftOut:
    """A parameter that was not saved; says so when a fit needs it.

    Attributes
    ----------
    name : str
        The parameter: "estimator" or "inputs".
    what : str
        Type of its value.

    Examples
    --------
    >>> LeftOut("inputs", "Pool").prepare(None)
    Traceback (most recent call last):
    ValueError: inputs=Pool was left out of the file that this model was loaded from: give it again
    with set_params(inputs=...) before fit.
    """

    name: str
    what: str

    def refuse(self) -> NoReturn:
        """Say what is missing and what to do."""
        raise ValueError(
            f"{self.name}={self.what} was left out of the file that this model was loaded from: "
            f"give it again with set_params({self.name}=...) before fit."
        )

    def prepare(self, data: Any) -> NoReturn:
        """Where inputs of imputed rows would be prepared."""
        self.refuse()

    def sample(self, data: Any, size: int, rng: Any) -> NoReturn:
        """Where inputs of imputed rows would be drawn."""
        self.refuse()
