"""Diagnostics: can these draws be trusted, and if not, why not and what to do."""

from nearbayes.diagnostics.diagnose import diagnose
from nearbayes.diagnostics.diagnosis import Diagnosis, Line

__all__ = ["Diagnosis", "Line", "diagnose"]
