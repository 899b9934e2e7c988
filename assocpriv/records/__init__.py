"""Raw baskets and tables, read in."""
