"""The command line: parse, call one function of a door, render its result."""
