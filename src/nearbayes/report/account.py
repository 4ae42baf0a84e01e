"""Account: what was done, its cost, how to cite it, and what not to conclude."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nearbayes.execution.progress import in_words
from nearbayes.report.heldout import MOST_CLASSES, HeldOut
from nearbayes.report.rounding import counted, listed, quoted, rounded, shortened

__all__ = ["CITATION", "cautions", "cost", "done", "drawn", "seconds_of_draws", "time_taken"]

LONGEST_MODEL = 300

CITATION = {
    "text": (
        "Ziyu Wang and Chris Holmes. On Uncertainty Quantification for Near-Bayes Optimal "
        "Algorithms. arXiv:2403.19381, 2024."
    ),
    "bibtex": (
        "@article{wang2024uncertainty,\n"
        "  title   = {On Uncertainty Quantification for Near-Bayes Optimal Algorithms},\n"
        "  author  = {Wang, Ziyu and Holmes, Chris},\n"
        "  journal = {arXiv preprint arXiv:2403.19381},\n"
        "  year    = {2024}\n"
        "}"
    ),
}


def done(held: HeldOut, target: str, facts: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What was done: sentences, facts by name, parameters of the model, columns and versions."""
    source = held.posterior.provenance
    estimator = held.model._base_estimator()
    known = {
        **(facts or {}),
        "Model": described(estimator),
        "Rows of the fit": f"{source.n:,.10g}",
        "Rows of this report": f"{held.n:,}"
        + (f", chosen at random from {held.given:,}" if held.n < held.given else ""),
        "Columns": f"{len(held.names):,}" if held.names else "none: texts, images or the like",
        "Method": source.method.replace("_", " "),
        "Draws": f"{len(held.posterior)} of {source.n_draws}",
        "Refits per draw": str(len(source.blocks)),
        "Imputed rows per draw": f"{sum(source.blocks):,}",
        "Schedule": source.schedule,
        "Seed": str(source.seed),
    }
    return {
        "lead": _lead(held, target, name_of(estimator)),
        "sentences": [drawn(held.posterior)],
        "facts": [{"label": label, "value": value} for label, value in known.items()],
        "parameters": _parameters(estimator),
        "columns": held.names,
        "versions": dict(source.versions),
    }


def name_of(estimator: Any) -> str:
    """Name of an estimator for people: of a pipeline, that of its last step."""
    last = estimator.steps[-1][1] if getattr(estimator, "steps", None) else estimator
    return type(last).__name__


def _parameters(estimator: Any) -> list[dict[str, str]]:
    """All parameters of the model, by name."""
    params = estimator.get_params() if hasattr(estimator, "get_params") else {}
    return [
        {"label": name, "value": shortened(" ".join(repr(value).split()), LONGEST_MODEL)}
        for name, value in params.items()
    ]


def _lead(held: HeldOut, target: str, estimator: str) -> str:
    """What is predicted, from what, and which rows this page is about."""
    what = quoted(target)
    if held.is_classifier:
        what += f" ({listed(held.classes, MOST_CLASSES)})"
    source = counted(held.posterior.provenance.n, "row")
    given = f"{counted(len(held.names), 'column')} of {source}" if held.names else source
    rows = counted(held.n, "row")
    if held.n < held.given:
        rows = f"{rows} (chosen at random from {held.given:,})"
    if held.share_seen == 0.0:
        page = f"how well it predicts {rows} that it had not seen"
    else:
        page = f"its predictions for {rows}"
    return (
        f"The model, {estimator}, learned from {given} to predict {what}. {_codes(held)}This page "
        f"shows {page}."
    )


def _codes(held: HeldOut) -> str:
    """A reader must look up what numbers stand for, if they are classes."""
    if not held.is_classifier or not all(name.isdigit() for name in held.classes):
        return ""
    return f"The data do not say what {listed(held.classes, MOST_CLASSES)} stand for. "


def described(estimator: Any) -> str:
    """An estimator on one line, without parameters that are None (XGBoost lists all of them).

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> described(Ridge(alpha=2.0)), described("X(a=None, b=1, c=None)")
    ('Ridge(alpha=2.0)', "'X(b=1)'")
    """
    told = re.sub(r"\b\w+=None(, )?", "", " ".join(repr(estimator).split())).replace(", )", ")")
    return told if len(told) <= LONGEST_MODEL else f"{told[:LONGEST_MODEL]} …"


def drawn(posterior: Any) -> str:
    """How the draws were made, in a sentence or three."""
    source, draws = posterior.provenance, counted(len(posterior), "time")
    if source.method == "martingale":
        return (
            f"{draws[0].upper()}{draws[1:]} and independently, the fitted model was extended: it "
            f"filled in {counted(sum(source.blocks), 'row')} that might have come next, in "
            f"{counted(len(source.blocks), 'block')}, and was fitted again after each. The final "
            "fits are draws from a martingale posterior: they differ as much as the data leave "
            "open."
        )
    how = {
        "bootstrap": "the model was refitted to rows drawn with replacement",
        "parametric_bootstrap": "the model was refitted to outcomes simulated from the first fit",
        "ensemble": "the model was refitted to the same rows with another seed",
        "anchored": "the model was fitted to noisy outcomes, near a draw of its prior",
        "ntkgp": "the model was fitted around a draw of its linearised prior",
    }
    return f"{draws[0].upper()}{draws[1:]} and independently, {how[source.method]}."


def cost(held: HeldOut, baselines: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Seconds of each part of the work."""
    parts = seconds_of_draws(held.posterior)
    if held.model.calibration_ is not None:
        parts["Calibration (all processes)"] = held.model.calibration_.seconds
    for name, other in baselines.items():
        parts[f"Baseline {name}"] = other.posterior_.provenance.seconds.get("total")
    return [time_taken(label, value) for label, value in parts.items() if value is not None]


def seconds_of_draws(posterior: Any) -> dict[str, float | None]:
    """Seconds of the first fit and of the draws."""
    seconds = posterior.provenance.seconds
    return {
        "First fit": seconds.get("first_fit"),
        "One draw (median)": seconds.get("per_draw"),
        "All draws": seconds.get("total"),
    }


def time_taken(label: str, seconds: float) -> dict[str, Any]:
    """A part of the work and its seconds."""
    return {"label": label, "seconds": rounded(seconds), "text": in_words(seconds)}


def cautions(held: HeldOut) -> list[str]:
    """Further mistakes that careful readers make, beside those of the first screen."""
    interval = (
        "An interval is for a probability, not for the class. A probability of 0.5 ± 0.01 is known "
        "precisely, but the class is still a coin toss."
        if held.is_classifier
        else "A credible interval is for the mean of rows with these inputs; a predictive interval "
        "is for a single one."
    )
    return [
        interval,
        "Draws and simulations do not show what this kind of model cannot learn. The posterior "
        "is close to the Bayesian one only if the model is nearly the best possible for such data.",
        "An interval that covers 90 % does so on average over rows. It may cover less often in "
        "some groups of rows.",
        "Scores are those of this fit on these rows. Other rows or seeds give other numbers.",
    ]
