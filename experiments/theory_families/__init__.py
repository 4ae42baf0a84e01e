"""Exponential families: how far the martingale posterior is from the conjugate one."""
