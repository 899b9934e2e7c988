"""The plan of baskets and its parts."""
