"""Plans, which collections publish, and their parts."""
