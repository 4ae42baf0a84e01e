"""Posterior of XGBoost's gain importances on the adult data (section 5, App. D, figure)."""
