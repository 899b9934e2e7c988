"""Frequent itemsets and rules from reports."""
