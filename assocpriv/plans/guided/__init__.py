"""The plan of guided perturbation, and the guidance that its miner publishes."""
