"""Offline tools that hold both sides: planning, synthetic data, simulation, exact enumeration."""
