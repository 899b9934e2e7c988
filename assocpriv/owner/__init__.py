"""A data owner's raw records -> records that may be published.

All modules here see raw records. Their errors name columns, places, counts and what the owner's own requests hold,
and no other cell.
"""
