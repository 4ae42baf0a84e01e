"""Account: what was done, its cost, how to cite it, and what not to conclude."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nearbayes.execution.progress import in_words
from nearbayes.report.heldout import HeldOut
from nearbayes.report.rounding import counted, rounded

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


def done(held: HeldOut, target: str) -> dict[str, Any]:
    """What was done: sentences, facts by name, and versions."""
    source = held.posterior.provenance
    estimator = held.model._base_estimator()
    facts = {
        "Model": described(estimator),
        "Training rows": f"{source.n:,.10g}",
        "Columns": f"{len(held.names):,}",
        "Held-out rows": f"{held.n:,}",
        "Method": source.method.replace("_", " "),
        "Draws": f"{len(held.posterior)} of {source.n_draws}",
        "Refits per draw": str(len(source.blocks)),
        "Imputed rows per draw": f"{sum(source.blocks):,}",
        "Schedule": source.schedule,
        "Seed": str(source.seed),
    }
    return {
        "sentences": [
            _fitted(held, target, type(estimator).__name__),
            drawn(held.posterior),
            f"Everything below is computed from these draws on {counted(held.n, 'held-out row')}, "
            "which must not have been used in the fit.",
        ],
        "facts": [{"label": label, "value": value} for label, value in facts.items()],
        "versions": dict(source.versions),
    }


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


def _fitted(held: HeldOut, target: str, estimator: str) -> str:
    what = (
        f"the probabilities of {len(held.classes)} classes"
        if held.is_classifier
        else "its mean, and the noise around it"
    )
    return (
        f"{estimator} was fitted to {counted(held.posterior.provenance.n, 'row')} with "
        f"{counted(len(held.names), 'column')} to predict {target}: {what}."
    )


def drawn(posterior: Any) -> str:
    """How the draws were made, in a sentence or three."""
    source, draws = posterior.provenance, counted(len(posterior), "time")
    if source.method == "martingale":
        return (
            f"Then, {draws} and independently, {counted(sum(source.blocks), 'row')} were imputed "
            f"from the fitted model in {counted(len(source.blocks), 'block')}, with a refit after "
            f"each. The final fits are draws from a martingale posterior. Their spread is the "
            "uncertainty that remains after seeing the data."
        )
    how = {
        "bootstrap": "the model was refitted to rows drawn with replacement",
        "parametric_bootstrap": "the model was refitted to outcomes simulated from the first fit",
        "ensemble": "the model was refitted to the same rows with another seed",
        "anchored": "the model was fitted to noisy outcomes, near a draw of its prior",
        "ntkgp": "the model was fitted around a draw of its linearised prior",
    }
    return f"Then, {draws} and independently, {how[source.method]}."


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
    """What not to conclude."""
    interval = (
        "A credible interval is for a class probability, not for the class. A probability of "
        "0.5 ± 0.01 is known precisely, but the class is still a coin toss."
        if held.is_classifier
        else "A credible interval is for the mean of y at these inputs; a predictive interval is "
        "for y itself. Do not confuse them."
    )
    return [
        interval,
        "Effects and importances describe the model, not causes. Changing a feature need not "
        "change the outcome.",
        "These results do not extend to rows unlike the training data, such as other places, times "
        "or ranges of values.",
        "The posterior is close to the Bayesian one only if the algorithm is near-optimal on tasks "
        "like this. Draws and simulations do not show what the learner cannot model.",
        "Coverage is an average over rows. It may be lower in some groups of rows.",
        "Scores compare these fits on these rows. Other rows or seeds would give other numbers; "
        "the standard errors account for the rows only.",
    ]
