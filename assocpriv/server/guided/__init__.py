"""Guided perturbation at the server."""
