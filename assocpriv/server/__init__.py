"""The server, which handles reports but no raw records: counting, estimation, mining, rules."""
