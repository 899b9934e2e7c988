"""The plan of tables and its parts: columns, how each is released."""
