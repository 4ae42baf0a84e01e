"""Inference data: draws in the form that ArviZ reads.

ArviZ 1 has a different constructor from 0.x and returns an xarray DataTree; both take the same
draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

__all__ = ["Coordinates", "as_coordinates", "inference_data"]

Coordinates = Mapping[str, Sequence[Any]]

INDEPENDENT = (
    "one chain of independent draws, not a Markov chain: r_hat and ess mean nothing here; the "
    "Monte Carlo error of a mean is sd / sqrt(draws)"
)


def inference_data(
    values: NDArray[Any],
    variable: str,
    coordinates: Coordinates,
    attributes: Mapping[str, str | float],
) -> Any:
    """Convert draws to an `InferenceData` (ArviZ 0.x) or `DataTree` (ArviZ 1).

    Parameters
    ----------
    values : array of shape (n_draws, ...)
    variable : str
        Name of the quantity.
    coordinates : mapping of str to sequence
        Name and labels of every axis after the draw axis, in order.
    attributes : mapping
        Attributes of the draws.
    """
    try:
        import arviz
    except ImportError as missing:
        raise ImportError("to_arviz needs ArviZ: pip install 'nearbayes[arviz]'.") from missing
    groups = {"posterior": {variable: values[None]}}  # ArviZ wants an axis of chains
    labels = {name: list(given) for name, given in coordinates.items()}
    axes = {"coords": labels, "dims": {variable: list(labels)}}
    from_dict: Any = arviz.from_dict  # takes groups as keywords until ArviZ 1, then as a mapping
    groups_as_keywords = int(arviz.__version__.split(".")[0]) == 0
    data = from_dict(**groups, **axes) if groups_as_keywords else from_dict(groups, **axes)
    data["posterior"].attrs.update(attributes, draws=INDEPENDENT)
    return data


def as_coordinates(
    names: Sequence[Any] | Coordinates | None, known: Coordinates | None, shape: tuple[int, ...]
) -> Coordinates:
    """Name and label every axis of a quantity of a given shape.

    Parameters
    ----------
    names : sequence, mapping or None
        Labels of the entries of a vector; or, for any quantity, name of each axis with its labels.
    known : mapping or None
        Used if `names` is None; if both are None, axes are called "entry" and numbered.

    Examples
    --------
    >>> as_coordinates(["age", "bmi"], None, (2,))
    {'entry': ['age', 'bmi']}
    >>> as_coordinates({"row": [7, 8], "class": ["no", "yes"]}, None, (2, 2))["class"]
    ['no', 'yes']
    >>> as_coordinates(None, None, (2, 1))
    {'entry_0': range(0, 2), 'entry_1': range(0, 1)}
    """
    if isinstance(names, str):
        raise TypeError(f"names must be a list of labels, got {names!r}: use variable={names!r}.")
    if names is None:
        axes = ["entry"] if len(shape) == 1 else [f"entry_{axis}" for axis in range(len(shape))]
        return known or {axis: range(size) for axis, size in zip(axes, shape, strict=True)}
    given = names if isinstance(names, Mapping) else {"entry": list(names)}
    sizes = tuple(len(labels) for labels in given.values())
    if sizes != shape:
        raise ValueError(
            f"names must label every entry of a quantity of shape {shape}, got {sizes} labels: "
            "give one label per entry, or {axis: labels, ...} for several axes."
        )
    return given
