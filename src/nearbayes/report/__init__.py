"""Report: one HTML page about a fitted posterior, or about a causal model."""

from nearbayes.report.causal_report import causal_contents
from nearbayes.report.contents import contents
from nearbayes.report.render import render, write

__all__ = ["causal_contents", "contents", "render", "write"]
