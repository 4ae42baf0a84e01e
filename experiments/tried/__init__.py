"""Tables that nobody here prepared, given to the command line as they are."""
