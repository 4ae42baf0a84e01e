"""Width of intervals of a regression function, at equal coverage, against BART and others."""
