"""Predictive distributions: noise, counts, positive outcomes and classes."""
