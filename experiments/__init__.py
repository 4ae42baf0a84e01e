"""Experiments: one folder per table or figure; never imported by the package."""
