"""Predictive intervals for regression with boosted trees, on nine UCI data sets."""
