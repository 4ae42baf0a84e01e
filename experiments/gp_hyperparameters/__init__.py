"""Hyperparameter learning for GP regression: the paper's first experiment (section 5, App. D.3)."""
