"""Clients of baskets."""
