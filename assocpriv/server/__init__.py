"""The side that sees reports, never baskets: counting, estimation, mining, rules."""
