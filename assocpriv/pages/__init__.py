"""Pages for people: what a collection's operator sees in a browser."""
