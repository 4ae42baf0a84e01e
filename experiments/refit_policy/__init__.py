"""Which schedule, and which way to refit, suits boosted trees (docs/design.md)."""
