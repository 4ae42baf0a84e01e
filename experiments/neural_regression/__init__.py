"""Predictions of networks with their uncertainty, on nine UCI data sets."""
