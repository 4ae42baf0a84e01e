"""Learners: the default estimators."""
