"""Guided perturbation: what the miner learns of released tuples, and the guidance it publishes."""
