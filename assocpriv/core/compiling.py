"""How kernels are compiled: once for each processor, kept on disk, never stale, and called without the compiler.

A kernel that Python calls is an :func:`entry`, declared for one list of argument types (others are a TypeError); what
only kernels call is a :func:`kernel` or an :func:`intrinsic`, whose code lies within that of entries. An entry is
compiled, or loaded from disk, when it is first called or by :func:`compile_kernels`. What is kept is machine code
(core/machine_code.py): numba is loaded where something is to be compiled, and nowhere else.

A file's name has a digest of all that its code depends on: the code of the kernel's module, of all modules of this
package that it imports, and so on, this one included, as Python loaded them; the versions of Python, numpy and numba
with its compiler, the processor and numba's settings. Other files of core/kernels/ need not be in it: a kernel is made
of what its own file defines and imports. Hence another code is another file, whoever is interrupted meanwhile.

Code is kept in the first of these folders that can be used: what the environment variable NUMBA_CACHE_DIR names; the
__pycache__ beside this file; the user's cache folder. The files hold machine code, which does what it likes. So of a
folder that another user than root can write nothing is read, and nothing is written there, whoever named it; nor of one
with a file of this code that another user can write (core/code_places.py). Numba's own choice does not count
(core/numba_settings.py). A folder that cannot be written will do where the code lies there already (an image filled as
root and run read-only). Without a folder, or on a full disk, each process compiles for itself.
"""

import contextlib
import functools
import hashlib
import os
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from assocpriv.core import kernel_types, machine_code, numba_settings, through_numba
from assocpriv.core.code_places import CodePlace, find_folder
from assocpriv.core.kernel_types import (
    KernelType,
    const,
    float64,
    int32,
    int64,
    tuple_of,
    uint8,
    uint16,
    uint64,
)
from assocpriv.core.machine_code import MachineCode
from assocpriv.core.second_compiler import second_compiler

__all__ = [
    "CodePlace", "Entry", "Ints", "Later", "Words", "compile_kernels", "const", "entry", "float64", "int32", "int64",
    "intrinsic", "is_switched_off", "kernel", "tuple_of", "uint8", "uint16", "uint64",
]  # fmt: skip

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
_F = TypeVar("_F", bound=Callable[..., Any])


# ---- declaring kernels


@dataclass(frozen=True, eq=False, slots=True)
class _Module:
    """A module as Python loaded it: its code, with that of its functions, its globals, what it imports from here."""

    code: CodeType
    variables: dict[str, Any]
    imported: tuple["_Module", ...] = ()


_COMPILER = tuple(
    _Module(each.LOADED, vars(each)) for each in (kernel_types, machine_code, numba_settings, through_numba)
)
_THIS_MODULE = _Module(sys._getframe().f_code, globals(), _COMPILER)
_MODULES = {__name__: _THIS_MODULE}  # that hold kernels
_PACKAGE = f"{__name__.partition('.')[0]}."


def _loading_module() -> _Module:
    """Return the module that declares a kernel; it imports modules of kernels alone (another is a KeyError)."""
    stack = (frame for frame, _ in traceback.walk_stack(sys._getframe()))
    frame = next(frame for frame in stack if frame.f_code.co_name == "<module>")
    name, code = frame.f_globals["__name__"], frame.f_code
    if name not in _MODULES or _MODULES[name].code is not code:
        # of the names in a module's code only those that it imports have dots
        imported = tuple(_MODULES[each] for each in code.co_names if each.startswith(_PACKAGE))
        _MODULES[name] = _Module(code, frame.f_globals, imported)
    return _MODULES[name]


class Later:
    """A module of the compiler's, for kernels that write instructions; it is loaded when the first of its names is."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Return what the module has by this name."""
        return getattr(import_module(self._name), name)


types = Later("numba.core.types")


class _Inner:
    """A kernel that only kernels call, as numba finds it among their names when it compiles them."""

    def __init__(self, function: Callable[..., Any], make: Callable[[Callable[..., Any]], tuple[Any, Any]]) -> None:
        self._function = function
        self._make = make

    @functools.cached_property
    def _made(self) -> tuple[Any, Any]:
        return self._make(self._function)

    @property
    def _numba_type_(self) -> Any:
        return self._made[1]


def intrinsic(function: _F) -> _F:
    """Make a kernel of a function that writes the compiler's own instructions; only kernels call it."""
    _loading_module()
    return cast(_F, _Inner(function, through_numba.intrinsic_for_numba))


def kernel(function: _F) -> _F:
    """Compile a kernel that only other kernels call."""
    if is_switched_off():
        return function
    _loading_module()
    return cast(_F, _Inner(function, through_numba.kernel_for_numba))


def entry(*arguments: KernelType) -> Callable[[_F], _F]:
    """Compile a kernel that Python calls, for one list of argument types; to be used at a module's top level."""

    def decorate(function: _F) -> _F:
        if is_switched_off():
            return function
        compiled = _ENTRIES[function.__name__] = Entry(function, arguments, _loading_module())
        return cast(_F, compiled)

    return decorate


class Entry:
    """A kernel that Python calls: a callable that is compiled, or loaded from disk, when first called."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[KernelType, ...], module: _Module) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.was_kept = False  # on disk, before this process
        self._arguments = arguments
        self._module = module
        self._compiled: Any = None
        self._place = CodePlace(None)
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel; TypeError for other types than the declared ones."""
        if self._compiled is None:
            self.load()
        return self._compiled(*arguments)

    def load(self) -> CodePlace:
        """Compile this kernel or load it from disk, once in a process."""
        with self._lock:
            if self._compiled is None:
                self._compiled, self._place, self.was_kept = _compile(self.py_func, self._arguments, self._module)
            return self._place

    def load_kept(self) -> bool:
        """Load this kernel if its code is on disk, and tell whether it is here now."""
        with self._lock:
            if self._compiled is None:
                self._compiled, self._place, _ = _find_kept(self.py_func, self._arguments, self._module)
                self.was_kept = self._compiled is not None
            return self._compiled is not None


_ENTRIES: dict[str, Entry] = {}
_FEW = 2  # entries, for which starting a second Python and numba takes as long as it saves


def compile_kernels(
    names: Iterable[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    *,
    on_two_cores: bool = False,
) -> dict[str, CodePlace]:
    """Compile entries of the modules imported so far, by default all, or load them, now rather than when first called.

    Returns where the code of each is kept, nothing if compilation is switched off; ``progress`` is called with
    (entries done, entries). On two cores a second Python compiles some of them meanwhile, and leaves them on disk.
    """
    if is_switched_off():
        return {}
    chosen = list(_ENTRIES if names is None else names)
    if on_two_cores:
        missing = [name for name in chosen if not _ENTRIES[name].load_kept()]
        if len(missing) > _FEW and find_folder("any.code").folder is not None:  # where both find what one has made
            _compile_on_two_cores(missing)
    places = {}
    for done, name in enumerate(chosen, start=1):
        places[name] = _ENTRIES[name].load()
        if progress:
            progress(done, len(chosen))
    return places


def _compile_on_two_cores(names: list[str]) -> None:
    """Compile entries from the first one on, while a second process does so from the last one on."""
    left = deque(names)

    def hand_out() -> None:
        with second_compiler() as compile_there, contextlib.suppress(IndexError):
            while compile_there(_ENTRIES[name := left.pop()].py_func.__module__, name):
                pass

    thread = threading.Thread(target=hand_out, daemon=True)
    thread.start()
    with contextlib.suppress(IndexError):
        while True:
            _ENTRIES[left.popleft()].load()
    thread.join()


def _find_kept(
    function: Callable[..., Any], arguments: tuple[KernelType, ...], module: _Module
) -> tuple[Any, CodePlace, Path | None]:
    """Return a function whose code is on disk, else None; the folder of its code, and the file where it can be kept."""
    name = f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}-{_digest(module)}.code"
    place = find_folder(name)
    if place.folder is None:
        return None, place, None
    try:
        code = MachineCode.read(place.folder / name)
    except OSError as error:
        return None, CodePlace(None, f"{place.folder}: {error.strerror}"), None
    return code and code.link(arguments), place, place.folder / name


def _compile(
    function: Callable[..., Any], arguments: tuple[KernelType, ...], module: _Module
) -> tuple[Any, CodePlace, bool]:
    """Return a function compiled for these types and no others, where its code is kept, and whether it was already."""
    kept, place, file = _find_kept(function, arguments, module)
    if kept is not None:
        return kept, place, True
    try:
        code = through_numba.compile_alone(function, arguments)
    except through_numba.CannotKeepError as error:
        return through_numba.compile_here(function, arguments), CodePlace(None, str(error)), False
    try:
        if file is not None:
            code.write(file)
    except OSError as error:
        place = CodePlace(None, f"{place.folder}: {error.strerror}")
    return code.link(arguments), place, False


# ---- what code depends on

# of numba, by the names that they have in the environment, with what holds if nobody says
_SETTINGS = {"BOUNDSCHECK": None, "OPT": 3, "LOOP_VECTORIZE": 1, "SLP_VECTORIZE": 0, "DEBUGINFO": 0, "CPU_NAME": None}
_FURTHER_SETTINGS = ("CPU_FEATURES", "ENABLE_AVX", "DISABLE_INTEL_SVML", "ENABLE_PROFILING", "LLVM_REFPRUNE_PASS")


def is_switched_off() -> bool:
    """Tell whether kernels are to be run as Python: by the environment, or by who loaded numba before."""
    config = sys.modules.get("numba.core.config")
    if config is not None:
        return bool(config.DISABLE_JIT)
    try:
        return bool(int(os.environ.get("NUMBA_DISABLE_JIT", "0")))
    except ValueError:  # as numba takes it
        return False


def _settings() -> list[tuple[str, str | None]]:
    """Return numba's settings that change code: those of the environment, and what a program has set otherwise."""
    said = {name: os.environ.get(f"NUMBA_{name}") for name in (*_SETTINGS, *_FURTHER_SETTINGS)}
    loaded = sys.modules.get("numba.core.config")
    if loaded is None:  # no program has set anything yet
        return sorted(said.items())
    config = vars(loaded)
    for name, default in _SETTINGS.items():
        value = config.get("DEBUGINFO_DEFAULT" if name == "DEBUGINFO" else name, default)
        expected = default if said[name] is None else said[name]
        if str(int(value) if isinstance(value, int) else value) != str(expected).replace("max", "3"):
            said[f"{name} of a program"] = repr(value)
    return sorted(said.items())


def _version(library: str) -> str:
    """Return a library's version without loading it."""
    loaded = sys.modules.get(library)
    return str(loaded.__version__ if loaded else version(library))


def _digest(module: _Module) -> str:
    """Return a digest of all that decides what a module's kernels are compiled to."""
    facts = (
        *(sys.implementation.cache_tag, np.__version__, _version("numba"), _version("llvmlite")),
        machine_code.processor(),
        _settings(),
        _facts(module),
    )
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def _facts(value: Any) -> Any:
    """Return what a module or a code object does, inner functions and imports included, alike in every process."""
    if isinstance(value, _Module):
        numbers = [(name, repr(each)) for name, each in value.variables.items() if isinstance(each, int | np.integer)]
        return (_facts(value.code), sorted(numbers), [_facts(each) for each in value.imported])
    if isinstance(value, CodeType):
        code = (value.co_name, value.co_code, value.co_exceptiontable, value.co_flags, value.co_names)
        variables = (value.co_varnames, value.co_freevars, value.co_cellvars)
        counts = (value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount)
        return (code, variables, counts, [_facts(constant) for constant in value.co_consts])
    return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)
