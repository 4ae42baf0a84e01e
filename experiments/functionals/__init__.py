"""Coverage of intervals of functionals where the truth is known."""
