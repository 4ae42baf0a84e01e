"""Computations on draws: means, spreads, intervals; and draws for other libraries."""
