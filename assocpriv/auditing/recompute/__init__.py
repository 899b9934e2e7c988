"""A plan's promise, computed anew by code that imports no other."""
