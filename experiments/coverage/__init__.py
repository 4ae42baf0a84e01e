"""Coverage of intervals of a boosted tree's prediction, where the truth is known."""
