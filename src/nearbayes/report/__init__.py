"""Report: one HTML page about a fitted posterior, or about a causal model."""

from nearbayes.report.causal_report import causal_contents
from nearbayes.report.contents import contents
from nearbayes.report.document import Report
from nearbayes.report.markdown import markdown
from nearbayes.report.render import render, write

__all__ = ["Report", "causal_contents", "contents", "markdown", "render", "write"]
