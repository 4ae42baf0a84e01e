"""Multi-task learning: the martingale posterior with a kernel learned from other tasks."""
