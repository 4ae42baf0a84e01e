"""Where independent tasks run, and how failures are handled."""
