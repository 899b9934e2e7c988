"""Clients of guided plans."""
