"""Raw records, read in: baskets, rows of tables.

All modules here see raw items. Nothing that they raise contains one: errors name a file, a line, row, column or basket,
a position in it and a count, and no parser's own message is passed on, because those quote the data.
"""
