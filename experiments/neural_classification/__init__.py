"""Class probabilities of networks with their uncertainty, on six data sets."""
