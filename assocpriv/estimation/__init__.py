"""Estimation: what planner and miner share, from transition matrices to intervals."""
