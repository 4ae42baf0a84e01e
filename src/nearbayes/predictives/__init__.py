"""What is around a prediction: noise, counts, classes."""
