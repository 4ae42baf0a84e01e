"""Whether diagnostics warn where they should, and forecast what more rows would buy."""
