"""The figures of the literature that need no data: what can be discovered, and how long seeds are."""
