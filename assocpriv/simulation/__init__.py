"""Both sides at once, on data at hand: synthetic data, trials, exact enumeration, the demonstration."""
