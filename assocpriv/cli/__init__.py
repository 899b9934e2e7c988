"""The command line: a command parses, calls a front, shows its record."""
