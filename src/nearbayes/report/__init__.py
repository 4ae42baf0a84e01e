"""Report: one HTML page about a fitted posterior."""

from nearbayes.report.contents import contents
from nearbayes.report.render import render, write

__all__ = ["contents", "render", "write"]
