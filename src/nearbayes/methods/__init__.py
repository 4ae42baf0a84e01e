"""User functions for Algorithm 1, and records of quantities along its paths."""
