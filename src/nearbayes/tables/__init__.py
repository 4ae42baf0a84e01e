"""Tables of inputs, whatever their kind."""
