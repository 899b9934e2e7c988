"""Load modules on first use, and the public names of a module (PEP 562, as SPEC 1 has it), which its stub lists once.

Type checkers and editors read the stub, too. lazy_loader reads such stubs, but keeps what it loaded on the package it
loads from: ``assocpriv.guided.collect`` would become ``assocpriv.collect``.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any


class LazyModule(ModuleType):
    """A module that is imported when one of its names is first used."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return import_module, (self.__name__,)  # Spark pickles functions with their globals


def read_stub(
    variables: dict[str, Any], hints: Mapping[str, str] = MappingProxyType({})
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return a module's ``__getattr__``, ``__dir__`` and ``__all__``; ``variables`` are its globals.

    The stub has the module's name and holds only ``from .module import name as alias, …`` after its first lines.
    ``hints`` are what to do instead, for names that users of other packages expect.

    >>> from assocpriv import numeric
    >>> get, _, names = read_stub(vars(numeric))
    >>> get("TablePlan").__name__, "TablePlan" in names
    ('TablePlan', True)
    """
    package, module = variables["__package__"], variables["__name__"]
    with open(f"{variables['__file__']}i", encoding="utf-8") as stub:
        entries = [entry.partition(" import ") for entry in stub.read().split("\nfrom ")[1:]]
    pairs = [(home, each.split()) for home, _, names in entries for each in names.strip(" (),\n").split(",")]
    homes = {words[-1]: (home, words[0]) for home, words in pairs}  # words: name as alias

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}{hints.get(name, '')}")
        home, source = homes[name]
        found = import_module(f".{name}", package) if home == "." else getattr(import_module(home, package), source)
        variables[name] = found  # looked up once
        return found

    return get, lambda: sorted([*homes, *(name for name in variables if name.startswith("__"))]), sorted(homes)
