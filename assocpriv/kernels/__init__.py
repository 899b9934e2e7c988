"""Compiled loops, and what compiles, keeps and loads them: arrays in, arrays out."""
