"""Numba without the settings of whatever folder we are in.

Where PyYAML is installed numba takes settings from a file .numba_config.yaml in the current folder, when it is loaded
and whenever it compiles. Such a file may lie beside data that somebody else gave us, and it says from where compiled
code is loaded (pickles, which run what they say), which modules are imported, and which files are written. So whoever
needs numba here, or galois, which needs it, calls :func:`load_numba` first. The environment's settings (NUMBA_…) hold.
A program that loaded numba before this package has had it read that file already; see core/compiling.py.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

LOADED = sys._getframe().f_code  # for the digest of compiled code
_MODULE = "numba.core.config"
_FILE = ".numba_config.yaml"  # a constant of that module, a path relative to wherever we are


class _Loader(SourceFileLoader):
    """Loads numba's settings with the file's name taken out of the code, for no other module or thread to notice."""

    def get_code(self, fullname: str) -> CodeType | None:
        code = super().get_code(fullname)
        return code and code.replace(co_consts=tuple("" if const == _FILE else const for const in code.co_consts))


class _Finder(MetaPathFinder):
    """Finds one module, to be loaded by our loader."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname == _MODULE else None
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def load_numba() -> Any:
    """Return numba, loaded such that it never reads settings from a file; if it was loaded before, as it is."""
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        import numba
    finally:
        sys.meta_path.remove(finder)
    return numba
