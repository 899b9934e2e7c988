"""Decision trees from released tables."""
