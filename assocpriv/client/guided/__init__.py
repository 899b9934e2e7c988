"""Tuples of a table, perturbed under guidance, on the device."""
