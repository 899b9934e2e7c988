"""One basket, or many of them, to reports."""
