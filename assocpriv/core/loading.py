"""Objects named by text: a registry has a line for each kind, and loads what a kind needs when it is asked for."""

from importlib import import_module
from typing import Any


def load(reference: str) -> Any:
    """Return the object that ``module:name`` stands for, importing the module.

    >>> load("fractions:Fraction")(1, 3)
    Fraction(1, 3)
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
