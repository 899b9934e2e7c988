"""Read raw records: baskets and rows of tables.

All modules here see raw items, and no error discloses one. Errors name a file, a line, row, column or basket, a
position in it and a count. Messages of parsers are never passed on, because they quote the data.
"""
