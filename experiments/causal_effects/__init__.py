"""Coverage of intervals of average treatment effects on graphs with a known truth."""
