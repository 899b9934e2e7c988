"""A second kind of plan, to test the seam: one yes or no by randomized response. Nothing here is of the package."""
