"""Prediction of brain activity under stimulation, from activity at rest."""
