"""Gradient martingales: online and natural gradient of any JAX log density."""
