"""Clients of tables."""
