"""Baskets at the server: counting, search, posterior, rules, comparison."""
