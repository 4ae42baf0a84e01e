"""Posteriors of XGBoost as configured by a user who does not tune it."""
