"""Do intervals of a boosted tree's prediction cover? Measured where the truth is known."""
