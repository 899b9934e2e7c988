"""The audit of a plan's promise, then of its clients: code that computes nothing as these do."""
