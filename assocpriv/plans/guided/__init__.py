"""Guided plans and their guidance."""
