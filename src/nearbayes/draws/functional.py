"""Functional: draws of a quantity of interest, with their mean, spread and intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, Self, get_args

import numpy as np
from numpy.typing import NDArray

from nearbayes.draws.credible import SMALLEST, Link, inflate, spread_interval, stack_draws
from nearbayes.draws.credible_sets import Ellipsoid, ellipsoid, sup_t_band
from nearbayes.draws.inference_data import Coordinates, as_coordinates, inference_data

__all__ = [
    "Calibrated",
    "Functional",
    "KnownTruths",
    "Spread",
    "named_values_of",
    "values_of",
]

Array = NDArray[np.float64]
Spread = Literal["raw", "inflated", "calibrated"]


class Calibrated(Protocol):
    """Calibration of intervals of a quantity, learned from known truths."""

    def interval(self, values: Array, coverage: float | Sequence[float]) -> Array:
        """Interval of draws, shape (..., 2), or (..., 2, n_levels) for several levels."""

    def spread(self, values: Array) -> Array:
        """Draws with the spread of the intervals around their mean."""

    def reshaped(self, shape: tuple[int, ...]) -> Self:
        """The same for a quantity of another shape."""

    def at(self, entries: Any) -> Self:
        """The same for some entries of the quantity."""


class KnownTruths(Protocol):
    """Posteriors of data sets with a known truth."""

    def calibrated(self, function: Callable[[Any], Any], functional: Functional) -> Functional:
        """A functional of the real draws, calibrated by its values at truths and their draws."""


@dataclass(frozen=True)
class Functional:
    """Draws of a quantity of interest.

    Attributes
    ----------
    values : array of shape (n_draws, ...)
        The raw draws.
    inflation : float
        Factor that corrects for a truncated schedule (App. C).
    link : "identity", "log" or "logit"
        Scale on which draws are spread.
    origin : mapping
        Source of the draws, in a few words and numbers; `to_arviz` passes it on.
    coordinates : mapping of str to sequence, optional
        Name and labels of every axis after the draw axis.
    start : float
        See `nearbayes.draws.credible.on_link_scale`.
    calibration : Calibrated, optional
        Calibration of this quantity's intervals on simulated data sets.

    Examples
    --------
    >>> slope = Functional(np.array([1.0, 2.0, 3.0]), inflation=2.0)
    >>> float(slope.mean), float(slope.std), slope.spread
    (2.0, 2.0, 'inflated')
    """

    values: Array
    inflation: float = 1.0
    link: Link = "identity"
    origin: Mapping[str, str | float] = field(default_factory=dict)
    coordinates: Coordinates | None = None
    start: float = SMALLEST
    calibration: Calibrated | None = None

    @property
    def spread(self) -> Spread:
        """How intervals and draws are spread by default, the best way available.

        - "calibrated": by simulation, so that intervals cover known truths
        - "inflated": corrected for the truncated schedule
        - "raw": unchanged, if nothing is truncated and no truth is known
        """
        if self.calibration is not None:
            return "calibrated"
        return "raw" if self.inflation == 1 else "inflated"

    def adjusted(self, spread: Spread | None = None) -> Array:
        """Draws spread around their mean, shape (n_draws, ...).

        Parameters
        ----------
        spread : "raw", "inflated" or "calibrated", optional
            By default the property `spread`.
        """
        chosen = self._checked(spread)
        if chosen == "calibrated" and self.calibration is not None:
            return self.calibration.spread(self.values)
        return inflate(self.values, self._factor(chosen), self.link, self.start)

    @property
    def mean(self) -> Array:
        """Posterior mean, shape (...)."""
        return np.asarray(self.values.mean(axis=0))

    @property
    def std(self) -> Array:
        """Standard deviation of the `adjusted` draws, shape (...)."""
        return _sample_std(self.adjusted())

    @property
    def mc_error(self) -> Array:
        """Monte Carlo error of `mean`, sd / sqrt(K): draws are independent."""
        return np.asarray(_sample_std(self.values) / np.sqrt(len(self.values)))

    def interval(
        self, coverage: float | Sequence[float] = 0.9, *, spread: Spread | None = None
    ) -> Array:
        """Credible interval, shape (..., 2) or (..., 2, n_levels); the mean is inside.

        Calibrated intervals are mean and standard deviations on the scale of the link. Others are
        quantiles of the draws. Probabilities, and levels that the quantiles of K draws cannot
        reach (above (K - 1) / (K + 1)), get Student's t interval of a further draw instead.

        Parameters
        ----------
        coverage : float or sequence of float
        spread : "raw", "inflated" or "calibrated", optional
            By default the property `spread`, the best available.
        """
        chosen = self._checked(spread)
        if chosen == "calibrated" and self.calibration is not None:
            return self.calibration.interval(self.values, coverage)
        factor = self._factor(chosen)
        return spread_interval(self.values, coverage, factor, self.link, self.start)

    def band(
        self, coverage: float = 0.9, *, spread: Spread | None = None, wasserstein: float = 0.0
    ) -> Array:
        """Band that contains all entries at once, such as a whole curve, shape (..., 2).

        See `nearbayes.credible_sets.sup_t_band`; intervals contain each entry separately.

        Parameters
        ----------
        coverage : float
        spread : "raw", "inflated" or "calibrated", optional
            By default the property `spread`, the best available.
        wasserstein : float
            Bound of the distance to the intended posterior, by which the band is enlarged
            (App. B.2).

        Examples
        --------
        >>> curve = Functional(np.random.default_rng(0).normal(size=(200, 30)))
        >>> band, interval = curve.band(0.9), curve.interval(0.9)
        >>> bool((band[:, 1] > interval[:, 1]).all())
        True
        """
        options = {"link": self.link, "start": self.start, "wasserstein": wasserstein}
        return sup_t_band(self.adjusted(spread), coverage, **options)  # type: ignore[arg-type]

    def ellipsoid(
        self, coverage: float = 0.9, *, spread: Spread | None = None, wasserstein: float = 0.0
    ) -> Ellipsoid:
        """Mahalanobis ellipsoid that contains a vector quantity; see `nearbayes.credible_sets`."""
        return ellipsoid(self.adjusted(spread), coverage, wasserstein=wasserstein)

    def _checked(self, spread: Spread | None) -> Spread:
        if spread is None:
            return self.spread
        if spread not in get_args(Spread):
            raise ValueError(
                f"spread must be one of {', '.join(get_args(Spread))}, or None for the best "
                f"available, got {spread!r}."
            )
        if spread == "calibrated" and self.calibration is None:
            raise ValueError(
                "spread='calibrated' needs simulated data sets, but there are none here: fit "
                "with calibration='simulation', or leave spread out."
            )
        return spread

    def _factor(self, spread: Spread) -> float:
        return self.inflation if spread == "inflated" else 1.0

    def at(self, entries: Any) -> Functional:
        """Some entries of a vector quantity, by an index or a list of them.

        Examples
        --------
        >>> Functional(np.array([[1.0, 5.0], [3.0, 7.0]])).at([1]).mean.tolist()
        [6.0]
        """
        chosen = None if self.calibration is None else self.calibration.at(entries)
        values = self.values[:, entries]
        return replace(self, values=values, calibration=chosen, coordinates=None)

    def as_vector(self) -> Functional:
        """The same entries on one axis."""
        flat = self.values.reshape(len(self.values), -1)
        calibration = self.calibration and self.calibration.reshaped(flat.shape[1:])
        return replace(self, values=flat, calibration=calibration, coordinates=None)

    def correlation(self) -> Array:
        """Posterior correlation between the entries of a vector quantity, shape (p, p).

        NaN for entries that are the same in all draws, and for two draws, where it is 1 or -1.
        """
        if self.values.ndim != 2:
            raise ValueError(
                "correlation needs a vector per draw, got draws of shape "
                f"{self.values.shape[1:]}: return a 1-D array from the function."
            )
        correlation = np.full((self.values.shape[1],) * 2, np.nan)
        varies = np.flatnonzero(np.ptp(self.values, axis=0) > 0)
        if len(varies) and len(self.values) > 2:
            correlation[np.ix_(varies, varies)] = np.corrcoef(self.values[:, varies], rowvar=False)
        return correlation

    def summary(self, coverage: float = 0.9) -> dict[str, Any]:
        """Mean, sd, Monte Carlo error, interval bounds and their kind of spread, by name."""
        bounds = self.interval(coverage)
        return {
            "mean": self.mean,
            "std": self.std,
            "mc_error": self.mc_error,
            "lower": bounds[..., 0],
            "upper": bounds[..., 1],
            "spread": self.spread,
        }

    def to_arviz(
        self,
        names: Sequence[Any] | Coordinates | None = None,
        *,
        variable: str = "value",
        spread: Spread | None = None,
    ) -> Any:
        """Convert the draws to ArviZ's format, as one chain.

        Draws are independent, so ArviZ's r_hat and ess have no meaning; the attributes say so and
        name the source of the draws. Needs ArviZ: ``pip install 'nearbayes[arviz]'``.

        Parameters
        ----------
        names : sequence or mapping, optional
            Labels of the entries of a vector; or ``{axis: labels, ...}`` for any number of axes.
        variable : str
            Name of the quantity in ArviZ.
        spread : "raw", "inflated" or "calibrated", optional
            By default draws have the spread of the intervals; see the attribute `spread`.

        Returns
        -------
        arviz.InferenceData with ArviZ 0.x, xarray.DataTree with ArviZ 1
        """
        coordinates = as_coordinates(names, self.coordinates, self.values.shape[1:])
        attributes = {
            **self.origin,
            "spread": self._checked(spread),
            "inflation": self.inflation,
            "spread_on_scale": self.link,
        }
        return inference_data(self.adjusted(spread), variable, coordinates, attributes)


def _sample_std(values: Array) -> Array:
    if len(values) < 2:  # the spread of one draw is undefined, not 0
        return np.full(values.shape[1:], np.nan)
    return np.asarray(values.std(axis=0, ddof=1))


def values_of(function: Callable[[Any], Any], draws: Sequence[Any]) -> Array:
    """Values of a function of every draw, shape (n_draws, ...); finite numbers or an error.

    Examples
    --------
    >>> values_of(len, ["a", "ab"]).tolist()
    [1.0, 2.0]
    """
    return named_values_of(function, draws)[0]


def named_values_of(
    function: Callable[[Any], Any], draws: Sequence[Any]
) -> tuple[Array, list[str] | None]:
    """Values as in `values_of`, and names of the entries if the function returns dictionaries.

    Examples
    --------
    >>> values, names = named_values_of(lambda draw: {"mean": draw, "ends": [draw, 9]}, [3, 4])
    >>> values.tolist(), names
    ([[3.0, 3.0, 9.0], [4.0, 4.0, 9.0]], ['mean', 'ends[0]', 'ends[1]'])
    """
    found = [_called(function, draw, k) for k, draw in enumerate(draws)]
    if not found or not isinstance(found[0], Mapping):
        return _finite(found), None
    names = _entries(found[0])
    return _finite([_flat(each, names, k) for k, each in enumerate(found)]), names


def _entries(found: Mapping[Any, Any]) -> list[str]:
    """Names of the entries of a dictionary of numbers and arrays."""
    return [
        f"{key}[{', '.join(map(str, place))}]" if place else str(key)
        for key, value in found.items()
        for place in np.ndindex(np.shape(value))
    ]


def _flat(found: Any, names: list[str], place: int) -> Array:
    """A dictionary as one vector."""
    got = _entries(found) if isinstance(found, Mapping) else type(found).__name__
    if got != names:
        raise ValueError(
            f"the function must return a dictionary of the same entries for every draw, {names}, "
            f"got {got} for draw {place}."
        )
    return np.concatenate([np.ravel(_numbers(value, place)) for value in found.values()])


def _called(function: Callable[[Any], Any], draw: Any, place: int) -> Any:
    try:
        return function(draw)
    except Exception as error:
        raise ValueError(
            f"the function failed at draw {place}: {type(error).__name__}: {error}"
        ) from error


def _finite(found: Sequence[Any]) -> Array:
    values = stack_draws([_numbers(each, k) for k, each in enumerate(found)])
    finite = np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"the function must return finite numbers, got others for {(~finite).sum()} of "
            f"{len(values)} draws, first for draw {finite.argmin()}: handle that case in it."
        )
    return values


def _numbers(found: Any, place: int) -> Array:
    try:
        return np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"the function must return a number or an array of numbers, got "
            f"{type(found).__name__} for draw {place}: return np.array([...])."
        ) from error
