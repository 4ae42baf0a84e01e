"""Document: a report as one object, to be shown in a notebook or written to a file."""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearbayes.report.contents import contents
from nearbayes.report.markdown import markdown
from nearbayes.report.render import render, write

__all__ = ["Report", "report"]

WIDTH = 96
LISTS = {"What to do?": "to_do", "What not to conclude?": "not_to_conclude"}
HEIGHT = 760  # pixels of the frame in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A report about a fitted model: shows itself in a notebook, prints as text.

    Attributes
    ----------
    contents : dict
        All numbers and texts; see `nearbayes.report.contents`.

    Examples
    --------
    >>> import nearbayes as nb
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> model = nb.PosteriorClassifier(GaussianNB(), n_draws=10, random_state=0)
    >>> found = model.fit(X[::2], y[::2]).report(X[1::2], y[1::2])
    >>> found.contents["findings"][0]["question"]
    'How often is it right?'
    """

    contents: dict[str, Any]

    def save(self, path: str | Path) -> Path:
        """Write to a file: Markdown if its suffix is .md, else one HTML page that works offline."""
        return write(self.contents, path)

    def to_html(self) -> str:
        """The page."""
        return render(self.contents)

    def to_markdown(self) -> str:
        """The findings as text, for pull requests."""
        return markdown(self.contents)

    def _repr_html_(self) -> str:
        # a frame keeps the styles of the page and of the notebook apart
        return (
            f'<iframe title="{html.escape(self.contents["title"], quote=True)}" width="100%" '
            f'height="{HEIGHT}" style="border: 1px solid #8884" '
            f'srcdoc="{html.escape(self.to_html(), quote=True)}"></iframe>'
        )

    def __str__(self) -> str:
        found = self.contents
        lines = [found["title"], "", *textwrap.wrap(found["done"]["lead"], WIDTH), ""]
        for each in found["alerts"]:
            lines += [*textwrap.wrap(f"{each['kind'].capitalize()}: {each['words']}", WIDTH), ""]
        for each in found["findings"]:
            said = f"{each['question']} {each['short']} {each['long']}"
            lines += [*textwrap.wrap(said, WIDTH), ""]
        for question, key in (
            ("What to do?", "to_do"),
            ("What not to conclude?", "not_to_conclude"),
        ):
            lines.append(question)
            for sentence in found[key]:
                lines += textwrap.wrap(sentence, WIDTH, initial_indent="- ", subsequent_indent="  ")
            lines.append("")
        return "\n".join(lines).replace("\u00a0", " ").rstrip()

    def __repr__(self) -> str:
        return str(self)


def report(model: Any, X: Any, y: Any, path: str | Path | None = None, **options: Any) -> Report:
    """Make a report about a fitted model; see `nearbayes.PosteriorClassifier.report`."""
    made = Report(contents(model, X, y, **options))
    if path is not None:
        made.save(path)
    return made
