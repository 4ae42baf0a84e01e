"""Interventions on synthetic causal models whose truth is known."""
