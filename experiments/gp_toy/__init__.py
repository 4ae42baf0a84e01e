"""Gaussian process inference on the Snelson data: the paper's figure of App. D.1."""
