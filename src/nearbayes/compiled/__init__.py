"""Helpers for algorithms compiled with JAX."""
