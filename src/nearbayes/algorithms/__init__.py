"""Algorithms: one family, one file. Each fills three verbs: fit, refit, sample."""
