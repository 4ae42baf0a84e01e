"""Diagnosis: lines with a number, its error, a verdict in plain words and what to do."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from nearbayes.diagnostics.pictures import Picture, picture_of

__all__ = ["CLEARLY", "NOT_ASKED", "Diagnosis", "Line", "Status"]

Status = Literal["good", "warning", "forecast", "unknown"]
WIDTH = 96
CLEARLY = 3.0  # standard errors beyond a limit before a line warns: seven lines are asked each time
QUESTIONS = {
    "martingale drift": "Do refits shift predictions?",
    "horizon": "Are there enough refits?",
    "draws": "Are there enough draws?",
    "noise": "Do imputed outcomes look like real ones?",
    "stability": "Does the fit copy single rows?",
    "efficiency": "Does the learner use its rows well?",
    "excess error": "Would the learner find a truth like its own draws?",
    "more data": "What would more rows bring?",
    "calibration": "Do intervals hold in refits to replicated rows?",
}
NAN = float("nan")
NOT_ASKED = "Not asked for: use checks='all'."


@dataclass(frozen=True, eq=False)
class Line:
    """One question about a posterior, and its answer.

    Attributes
    ----------
    name : str
    status : "good", "warning", "forecast" or "unknown"
        "forecast": no verdict, but what to expect. "unknown": not asked for, or it cannot be told
        here.
    words : str
        The verdict in plain words.
    advice : str
        What to do; empty where there is nothing to do.
    value, error : float
        The number and its standard error; NaN where there is none.
    unit : str
        What the number is.
    details : mapping
        Arrays behind the number, for pictures.
    """

    name: str
    status: Status
    words: str
    advice: str = ""
    value: float = NAN
    error: float = NAN
    unit: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def question(self) -> str:
        """The question that the line answers."""
        return QUESTIONS.get(self.name, self.name)

    @property
    def was_asked(self) -> bool:
        """Whether the question was asked, and not left out for its cost."""
        return self.words != NOT_ASKED

    @property
    def picture(self) -> Picture | None:
        """What was measured, to be drawn; None where there is nothing to show."""
        return picture_of(self.name, self.details)

    @property
    def number(self) -> str:
        """The number with its error, as text.

        Examples
        --------
        >>> Line("draws", "good", "", value=0.123456, error=0.01).number
        '0.123 ± 0.01'
        """
        if np.isnan(self.value):
            return "-"
        shown = f"{self.value:.3g}"
        return shown if np.isnan(self.error) else f"{shown} ± {self.error:.2g}"


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The lines of a diagnosis; printed, it is a table that ends with the verdict.

    Attributes
    ----------
    lines : tuple of Line
    seconds : float
        What the diagnosis took.

    Examples
    --------
    >>> found = Diagnosis((Line("draws", "good", "Enough draws.", value=0.1),))
    >>> found.verdict
    'No warnings from 1 check (draws).'
    >>> found["draws"].value, found.warns
    (0.1, False)
    """

    lines: tuple[Line, ...]
    seconds: float = 0.0

    def __getitem__(self, name: str) -> Line:
        for line in self.lines:
            if line.name == name:
                return line
        known = ", ".join(repr(line.name) for line in self.lines)
        raise KeyError(f"name must be one of {known}, got {name!r}.")

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def warnings(self) -> tuple[Line, ...]:
        """The lines that warn."""
        return tuple(line for line in self.lines if line.status == "warning")

    @property
    def warns(self) -> bool:
        """Whether any line warns."""
        return bool(self.warnings)

    @property
    def verdict(self) -> str:
        """One or a few sentences: whether to trust the draws, and if not, why and what to do."""
        if self.warns:
            names = _listed([line.name for line in self.warnings])
            said = " ".join(f"{line.words} {line.advice}".strip() for line in self.warnings)
            return f"Use these intervals with care ({names}). {said}"
        good = [line.name for line in self.lines if line.status == "good"]
        if not good:
            forecast = any(line.status == "forecast" for line in self.lines)
            return "A forecast, no verdict." if forecast else "Nothing could be diagnosed."
        checks = "1 check" if len(good) == 1 else f"{len(good)} checks"
        left = [line.name for line in self.lines if line.status == "unknown" and line.was_asked]
        more = f" Not known: {_listed(left)}." if left else ""
        return f"No warnings from {checks} ({_listed(good)}).{more}"

    def to_frame(self) -> Any:
        """The lines as a pandas DataFrame, indexed by their names."""
        import pandas as pd

        columns = ("question", "status", "value", "error", "unit", "words", "advice")
        rows = [{name: getattr(line, name) for name in columns} for line in self.lines]
        index = pd.Index([line.name for line in self.lines], name="line")
        return pd.DataFrame(rows, index=index, columns=list(columns))

    def to_dict(self, pictures: bool = False) -> dict[str, Any]:
        """Numbers and texts, for JSON: None stands for what is not known."""
        return {
            "verdict": self.verdict,
            "warns": self.warns,
            "seconds": round(self.seconds, 3),
            "lines": [
                {
                    "name": line.name,
                    "question": line.question,
                    "status": line.status,
                    "value": _finite(line.value),
                    "error": _finite(line.error),
                    "unit": line.unit,
                    "words": line.words,
                    "advice": line.advice,
                    "where": line.details.get("where"),
                    **({"picture": line.picture and line.picture.to_dict()} if pictures else {}),
                }
                for line in self.lines
            ],
        }

    def __str__(self) -> str:
        names = max((len(line.name) for line in self.lines), default=0)
        numbers = max((len(line.number) for line in self.lines), default=0)
        indent = " " * (names + numbers + 14)
        rows = []
        for line in self.lines:
            said = f"{line.words} {line.advice}".strip()
            first = f"{line.name:<{names}}  {line.number:>{numbers}}  {line.status:<8}  "
            wrapped = textwrap.wrap(said, max(40, WIDTH - len(indent)))
            rows += [first + wrapped[0], *(indent + text for text in wrapped[1:])]
        return "\n".join([*rows, "", *textwrap.wrap(f"Verdict: {self.verdict}", WIDTH)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th title='{html.escape(line.question)}'>{html.escape(line.name)}</th>"
            f"<td>{html.escape(line.number)}</td><td>{line.status}</td>"
            f"<td>{html.escape(f'{line.words} {line.advice}'.strip())}</td></tr>"
            for line in self.lines
        )
        head = "<tr><th>line</th><th>number</th><th>status</th><th>verdict</th></tr>"
        return f"<p>{html.escape(self.verdict)}</p><table>{head}{cells}</table>"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
