"""Algorithm 1 as users call it, and what is noted along its paths."""
