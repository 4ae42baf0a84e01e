"""Tables of inputs, of any kind."""
