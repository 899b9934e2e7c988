"""Figures of the literature, recomputed with our designs."""
