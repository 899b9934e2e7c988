"""Objects named by text: a registry has a line for each kind, and loads what a kind needs when it is asked for."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def load(reference: str) -> Any:
    """Return the object that ``module:name`` stands for, importing the module.

    >>> load("fractions:Fraction")(1, 3)
    Fraction(1, 3)
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def on_first_use(
    variables: dict[str, Any], homes: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a module's ``__getattr__`` and ``__dir__``, which load the names of other modules on first use (PEP 562).

    Args:
        variables: the module's globals.
        homes: the names that each of the other modules has.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {variables['__name__']!r} has no attribute {name!r}")
        variables[name] = getattr(import_module(home_of[name]), name)  # looked up once
        return variables[name]

    return get, lambda: sorted({*variables, *home_of})
