"""Where independent tasks run, and what becomes of those that fail."""
