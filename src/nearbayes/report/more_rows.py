"""More rows: what more data would bring, from the forecast of the diagnostics."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearbayes.diagnostics.forecast import forecast_line
from nearbayes.report.heldout import HeldOut
from nearbayes.report.rounding import likely, rounded

__all__ = ["more_rows"]

TIMES = (2.0, 5.0, 10.0)
LITTLE, MUCH = 0.1, 0.3  # share of the uncertainty that more rows would remove


def more_rows(held: HeldOut) -> dict[str, Any]:
    """Width of intervals with more rows, and the share of all uncertainty that rows can remove.

    Returns
    -------
    dict with "share", "forecast" (a list, empty if draws kept no trace of their paths), and words
    """
    share, forecast = removable(held), _forecast(held)
    how = "Little" if share < LITTLE else "Somewhat" if share < MUCH else "Much"
    what = "answers" if held.is_classifier else "single values"
    long = "The rest is variation that these columns do not explain: only other columns could."
    if forecast:
        first = forecast[0]
        long += (
            f" Twice as many rows ({first['rows']:,}) would make the intervals of "
            f"{'probabilities' if held.is_classifier else 'averages'}, which say how well these "
            f"are known, narrower by about {likely(1 - first['ratio'])} "
            f"({likely(max(0.0, 1 - first['high']))} to {likely(1 - first['low'])})."
        )
    return {
        "share": rounded(share),
        "forecast": forecast,
        "short": f"{how}: more rows could remove {likely(share)} of the uncertainty about {what}.",
        "long": long,
    }


def removable(held: HeldOut) -> float:
    """Share of the total uncertainty (entropy, or variance) that more rows would remove."""
    power = 1 if held.is_classifier else 2
    epistemic, aleatoric = (held.epistemic**power).sum(), (held.aleatoric**power).sum()
    total = epistemic + aleatoric
    return float(epistemic / total) if total > 0 else 0.0


def _forecast(held: HeldOut) -> list[dict[str, Any]]:
    """Width of intervals over that now, by number of rows."""
    line = forecast_line(held.posterior, None, TIMES)
    if line.status != "forecast":
        return []
    found = line.details
    columns = zip(found["rows"], found["ratio"], found["low"], found["high"], strict=True)
    return [
        {
            "times": times,
            "rows": int(rows),
            "ratio": rounded(ratio),
            "low": rounded(low),
            "high": rounded(high),
            "bar": {
                "low": round(100 * float(low), 2),
                "middle": round(100 * float(ratio), 2),
                "high": round(100 * float(np.minimum(high, 1.0)), 2),
            },
        }
        for times, (rows, ratio, low, high) in zip(TIMES, columns, strict=True)
    ]
