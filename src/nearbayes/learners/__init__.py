"""Learners: estimators of our own, for users who bring none."""
