"""What compiled families share."""
