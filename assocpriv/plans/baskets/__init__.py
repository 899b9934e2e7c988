"""Plans of baskets."""
