"""Intervals of the probability of a rare class, and of learners with class weights."""
