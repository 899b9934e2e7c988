"""Supports that some list of transactions can have."""
