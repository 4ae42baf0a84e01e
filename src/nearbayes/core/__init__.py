"""The paper's Algorithm 1: data, schedule, engine, posterior. Knows protocols, not models."""
