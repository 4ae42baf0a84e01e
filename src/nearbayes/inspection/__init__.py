"""Inspection: what pictures and reports show of a fitted posterior, as numbers."""
