"""Offline tools that hold both sides: exact enumeration, synthetic data, simulation."""
