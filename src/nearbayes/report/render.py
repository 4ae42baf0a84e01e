"""Render: the contents as one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from pathlib import Path
from typing import Any

from nearbayes.files.atomic import replacing
from nearbayes.report.markdown import markdown
from nearbayes.report.rounding import in_digits, likely, percent, signed

__all__ = ["render", "write"]

STYLES = ("page.css", "figures.css")
FINDINGS = "findings.css"
TEXTS = (".md", ".markdown")
SCRIPTS = ("draw.js", "charts.js", "table.js", "page.js")
FOR_PICTURES = (
    "task",
    "target",
    "classes",
    "levels",
    "reliability",
    "coverage",
    "predictions",
    "importance",
    "effects",
)


# page of each task: template, styles, scripts, and the contents that scripts draw
POSTERIOR = ("report.html.j2", (*STYLES, FINDINGS, "trust.css"), SCRIPTS, FOR_PICTURES)
PAGES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "classification": POSTERIOR,
    "regression": POSTERIOR,
    "causal": ("causal.html.j2", (*STYLES, "graph.css"), (), ()),
}


def render(contents: dict[str, Any]) -> str:
    """Make the page from the result of `nearbayes.report.contents` or `causal_contents`.

    Names, labels and values are always escaped.

    Returns
    -------
    str
        HTML that includes its styles, scripts and data.
    """
    template, styles, scripts, pictured = PAGES[contents["task"]]
    style, script = _joined(styles), _joined(scripts)
    page: str = (
        _templates()
        .get_template(template)
        .render(
            contents,
            style=style,
            script=script,
            style_hash=_hash(style),
            script_hash=_hash(script),
            data=as_data({key: contents[key] for key in pictured}),
        )
    )
    return page


def write(contents: dict[str, Any], path: str | Path) -> Path:
    """Write the page to a file, whole or not at all, and return its path.

    A file with the suffix .md gets the findings as Markdown.
    """
    place = Path(path)
    as_text = place.suffix.lower() in TEXTS and contents["task"] != "causal"
    page = markdown(contents) if as_text else render(contents)
    with replacing(place) as draft:
        draft.write_text(page, encoding="utf-8")
    return place


def as_data(value: Any) -> str:
    r"""JSON that is safe inside a script element.

    Examples
    --------
    >>> as_data("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _joined(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    assets = resources.files("nearbayes.report") / "assets"
    return "\n" + "\n".join((assets / name).read_text(encoding="utf-8") for name in names)


def _hash(text: str) -> str:
    """Hash of an inline style or script for the Content-Security-Policy."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _jinja2() -> Any:
    try:
        import jinja2
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "reports need jinja2: pip install 'nearbayes[report]'.", name=error.name
        ) from error
    return jinja2


def _templates() -> Any:
    jinja2 = _jinja2()
    folder = resources.files("nearbayes.report") / "templates"
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "digits": in_digits,
        "likely": likely,
        "percent": percent,
        "signed": signed,
    }
    return environment
