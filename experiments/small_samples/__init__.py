"""Linear regression in small samples against the exact posterior."""
