"""Algorithms: one file per family. Each implements fit, refit and sample."""
