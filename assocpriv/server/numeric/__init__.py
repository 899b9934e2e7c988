"""Distributions and decision trees from released tables."""
