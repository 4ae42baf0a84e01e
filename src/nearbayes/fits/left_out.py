"""LeftOut: placeholder for a parameter that is not saved, because prediction does not need it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

__all__ = ["LeftOut"]


@dataclass(frozen=True)
class LeftOut:
    """Placeholder for a parameter that was not saved; raises an error when a fit needs it.

    Attributes
    ----------
    name : str
        Name of the parameter: "estimator" or "inputs".
    what : str
        Type of its value.

    Examples
    --------
    >>> LeftOut("inputs", "Pool").prepare(None)
    Traceback (most recent call last):
    ValueError: inputs=Pool was not saved with this model: set it again with
    set_params(inputs=...) before fit.
    """

    name: str
    what: str

    def refuse(self) -> NoReturn:
        """Raise an error that says what is missing."""
        raise ValueError(
            f"{self.name}={self.what} was not saved with this model: set it again with "
            f"set_params({self.name}=...) before fit."
        )

    def prepare(self, data: Any) -> NoReturn:
        """Raise an error, in place of preparing the inputs of imputed rows."""
        self.refuse()

    def sample(self, data: Any, size: int, rng: Any) -> NoReturn:
        """Raise an error, in place of sampling the inputs of imputed rows."""
        self.refuse()
