"""The linear-Gaussian inverse problem: a bound that is free of the dimension."""
