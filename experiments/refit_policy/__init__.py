"""Which schedule and refit policy is best for boosted trees (docs/design.md)."""
