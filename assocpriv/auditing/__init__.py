"""The audit of a plan's guarantee, then of its clients: code that computes nothing as these do."""
