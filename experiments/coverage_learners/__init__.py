"""Coverage of intervals for learners that are tuned and for learners that are not."""
