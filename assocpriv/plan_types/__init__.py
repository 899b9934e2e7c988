"""The parts of each plan type, in all packages: a stub a type, from which ``plans/registry.py`` loads them on use."""
