"""Markdown: the findings as text, for pull requests, wikis and terminals."""

from __future__ import annotations

import re
from typing import Any

from nearbayes.report.rounding import NO_BREAK, likely

__all__ = ["markdown"]

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")  # would start markup; dots and brackets stay readable


def markdown(contents: dict[str, Any]) -> str:
    """The first screen of the report and its tables, in GitHub's Markdown.

    Parameters
    ----------
    contents : dict
        What `nearbayes.report.contents` gave.

    Returns
    -------
    str
        Names and values are escaped, so that they stay text.
    """
    parts = [
        f"# {escaped(contents['title'])}",
        escaped(contents["done"]["lead"]),
        *_alerts(contents),
        *_findings(contents),
        *_results(contents),
        *_rows_to_check(contents),
        *_importances(contents),
        _settings(contents),
    ]
    return "\n\n".join(parts) + "\n"


def escaped(text: Any) -> str:
    r"""Text that Markdown shows as it is, on one line.

    Examples
    --------
    >>> escaped("a|b <i>*c*\nd")
    'a\\|b \\<i\\>\\*c\\* d'
    """
    return SPECIAL.sub(r"\\\1", " ".join(str(text).replace(NO_BREAK, " ").split()))


def _alerts(contents: dict[str, Any]) -> list[str]:
    return [
        f"> [!{'WARNING' if each['kind'] == 'warning' else 'NOTE'}]\n> {escaped(each['words'])}"
        for each in contents["alerts"]
    ]


def _findings(contents: dict[str, Any]) -> list[str]:
    found = [
        f"**{escaped(each['question'])}** {escaped(each['short'])} {escaped(each['long'])}"
        for each in contents["findings"]
    ]
    for question, key in (("What to do?", "to_do"), ("What not to conclude?", "not_to_conclude")):
        found.append("\n".join([f"**{question}**", "", *_listing(contents[key])]))
    return found


def _listing(sentences: list[str]) -> list[str]:
    return [f"- {escaped(each)}" for each in sentences]


def _results(contents: dict[str, Any]) -> list[str]:
    """Results by class; errors of a regression are in the findings already."""
    if contents["task"] != "classification":
        return []
    head = ["Class", "Rows", "Found (recall)", "Right when answered (precision)", "AUC"]
    rows = [
        [
            each["name"],
            f"{each['rows']:,}",
            "–" if each["found"] is None else likely(each["found"]),
            "never" if each["precise"] is None else likely(each["precise"]),
            "–" if each["auc"] is None else f"{each['auc']:.2f}",
        ]
        for each in contents["quality"]["classes"]
    ]
    return ["## Results by class", table(head, rows)]


def _rows_to_check(contents: dict[str, Any]) -> list[str]:
    check = contents["check"]
    is_class = contents["task"] == "classification"
    about = check["rows"][0]["about"]
    own = ["Answer", f"Probability of {about} (90 % interval)"] if is_class else ["90 % range"]
    rows = [
        [
            each["row"],
            each["observed"],
            each["predicted"],
            *([f"{each['text']} ({each['range']})"] if is_class else [each["range"]]),
            *each["values"],
        ]
        for each in check["rows"]
    ]
    head = [check["called"], "Observed", *([] if is_class else ["Predicted"]), *own]
    said = f"{len(rows)} of {check['of']:,} rows. {check['reason']}"
    title = "Rows to check" if check["needed"] else "The least sure rows"
    return [f"## {title}", escaped(said), table([*head, *check["columns"]], rows)]


def _importances(contents: dict[str, Any]) -> list[str]:
    if contents["drivers"] is None:
        return []
    rows = [
        [each["name"], each["largest"], "yes" if each["matters"] else "not sure"]
        for each in contents["drivers"]["rows"]
    ]
    head = ["Column", "Matters most with probability", "Matters at all"]
    shown, of = len(rows), contents["drivers"]["of"]
    rest = [f"These are {shown} of {of} columns."] if shown < of else []
    return ["## What drives the predictions", table(head, rows), *rest]


def _settings(contents: dict[str, Any]) -> str:
    done = contents["done"]
    facts = [f"{each['label']}: {each['value']}" for each in done["facts"]]
    versions = ", ".join(f"{name} {version}" for name, version in done["versions"].items())
    lines = _listing([*facts, f"Versions: {versions}"])
    made = f"Made with nearbayes {done['versions']['nearbayes']} on {contents['made']}."
    body = "\n".join([*lines, "", made])
    return f"<details><summary>Method, data and settings</summary>\n\n{body}\n\n</details>"


def table(head: list[str], rows: list[list[Any]]) -> str:
    """A table in Markdown.

    Examples
    --------
    >>> print(table(["a", "b"], [[1, "x"]]))
    | a | b |
    |---|---|
    | 1 | x |
    """
    lines = [head, *rows]
    shown = [f"| {' | '.join(escaped(cell) for cell in line)} |" for line in lines]
    return "\n".join([shown[0], f"|{'---|' * len(head)}", *shown[1:]])
