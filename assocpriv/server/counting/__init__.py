"""Counting itemsets in reports."""
