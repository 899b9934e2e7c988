"""Edges: parse, call one function, print. The system's entropy is handed to the client here."""
