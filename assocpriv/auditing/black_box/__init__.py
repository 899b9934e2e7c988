"""Clients seen from outside: what they answer, and what the plan says of it."""
