"""One record of a table, or many of them, to reports."""
