"""Versions: warns if a model was made with other versions of libraries."""

from __future__ import annotations

from collections.abc import Mapping

from nearbayes.core.posterior import installed_versions
from nearbayes.telling import warn

__all__ = ["OtherVersionWarning", "warn_of_other_versions"]

MATTER = ("scikit-learn", "xgboost", "lightgbm")


class OtherVersionWarning(UserWarning):
    """Predictions of a loaded model may differ in this environment."""


def warn_of_other_versions(made_with: Mapping[str, str]) -> None:
    """Warn if the major or minor version of a library differs.

    Examples
    --------
    >>> warn_of_other_versions(installed_versions())
    """
    here = installed_versions(*(name for name in MATTER[1:] if name in made_with))
    other = [
        f"{name} {made_with[name]} (here {here[name]})"
        for name in MATTER
        if name in made_with and made_with[name].split(".")[:2] != here[name].split(".")[:2]
    ]
    if other:
        warn(
            f"this model was made with {', '.join(other)}: predictions may differ. Install those "
            "versions, or fit again.",
            OtherVersionWarning,
        )
