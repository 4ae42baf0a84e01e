"""Inspection: the numbers behind plots and reports of a fitted posterior."""
