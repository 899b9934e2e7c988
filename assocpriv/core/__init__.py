"""Shared mathematics and shapes: no raw data, no files, no sockets, no clock."""
