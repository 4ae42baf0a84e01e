"""Coverage of intervals of a network's regression function where the truth is known."""
