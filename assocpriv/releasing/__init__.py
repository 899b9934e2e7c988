"""Counts of raw baskets with noise, under central differential privacy."""
