"""How kernels are compiled: once for each processor, kept on disk, never stale.

A kernel that Python calls is an :func:`entry`, declared for one list of argument types (others are a TypeError); what
only kernels call is a :func:`kernel` or an :func:`intrinsic`, whose code lies within that of entries. An entry is
compiled, or loaded from disk, when it is first called or by :func:`compile_kernels`.

A file's name has a digest of all that its code depends on: the code of the kernel's module, of all modules of this
package that it imports, and so on, this one included, as Python loaded them; the versions of Python, numpy and numba
with its compiler, the processor and numba's settings. Other files of core/kernels/ need not be in it: a kernel is made
of what its own file defines and imports. Hence another code is another file, whoever is interrupted meanwhile.

Code is kept in the first of these folders that can be used: what the environment variable NUMBA_CACHE_DIR names; the
__pycache__ beside this file; the user's cache folder. The files hold pickles, which run what they say. So of a folder
that another user than root can write nothing is read, and nothing is written there, whoever named it; nor of one with a
file of this code that another user can write. Numba's own choice does not count (core/numba_settings.py). A folder that
cannot be written will do where the code lies there already (an image filled as root and run read-only). Without a
folder, or on a full disk, each process compiles for itself.
"""

import contextlib
import functools
import hashlib
import inspect
import os
import pickle
import stat
import sys
import tempfile
import threading
import traceback
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import IO, Any, TypeVar, cast

import llvmlite  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray

from assocpriv.core.numba_settings import load_numba

numba = load_numba()

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
types = numba.types
uint8, uint16, uint64, int32, int64 = numba.uint8, numba.uint16, numba.uint64, numba.int32, numba.int64
float64 = numba.float64
_F = TypeVar("_F", bound=Callable[..., Any])


# ---- declaring kernels


@dataclass(frozen=True, eq=False, slots=True)
class _Module:
    """A module as Python loaded it: its code, with that of its functions, its globals, what it imports from here."""

    code: CodeType
    variables: dict[str, Any]
    imported: tuple["_Module", ...] = ()


_THIS_MODULE = _Module(sys._getframe().f_code, globals())
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


def const(argument: Any) -> Any:
    """Return an array type whose arrays the kernel only reads: it takes read-only arrays and others."""
    return argument.copy(readonly=True)


def intrinsic(function: _F) -> _F:
    """Make a kernel of a function that writes the compiler's own instructions; only kernels call it."""
    from numba.extending import intrinsic as write_instructions

    _loading_module()
    return cast(_F, write_instructions(function))


def kernel(function: _F) -> _F:
    """Compile a kernel that only other kernels call."""
    if numba.config.DISABLE_JIT:
        return function
    _loading_module()
    return cast(_F, numba.njit(nogil=True, forceinline=True)(function))


def entry(*arguments: Any) -> Callable[[_F], _F]:
    """Compile a kernel that Python calls, for one list of argument types; to be used at a module's top level."""

    def decorate(function: _F) -> _F:
        if numba.config.DISABLE_JIT:
            return function
        compiled = _ENTRIES[function.__name__] = Entry(function, arguments, _loading_module())
        return cast(_F, compiled)

    return decorate


@dataclass(frozen=True, slots=True)
class CodePlace:
    """Where an entry's compiled code is kept: a folder, and which better ones are not safe, or None and the trouble."""

    folder: Path | None
    trouble: str = ""
    passed_over: str = ""


class Entry:
    """A kernel that Python calls: a callable that is compiled, or loaded from disk, when first called."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], module: _Module) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
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
                self._compiled, self._place = _compile(self.py_func, self._arguments, self._module)
            return self._place


_ENTRIES: dict[str, Entry] = {}


def compile_kernels(
    names: Iterable[str] | None = None, progress: Callable[[int, int], None] | None = None
) -> dict[str, CodePlace]:
    """Compile entries of the modules imported so far, by default all, or load them, now rather than when first called.

    Returns where the code of each is kept, nothing if compilation is switched off; ``progress`` is called with
    (entries done, entries).
    """
    if numba.config.DISABLE_JIT:
        return {}
    chosen = list(_ENTRIES if names is None else names)
    places = {}
    for done, name in enumerate(chosen, start=1):
        places[name] = _ENTRIES[name].load()
        if progress:
            progress(done, len(chosen))
    return places


def _compile(function: Callable[..., Any], arguments: tuple[Any, ...], module: _Module) -> tuple[Any, CodePlace]:
    """Return a function compiled for these types and no others, and where its code is kept."""
    compiled = numba.njit(nogil=True)(function)
    place = _keep_on_disk(compiled, module)
    try:
        try:
            compiled.compile(arguments)
        except (EOFError, ValueError, pickle.UnpicklingError):  # a damaged file
            compiled.recompile()  # with nothing compiled yet, this only empties the cache
            compiled.compile(arguments)
    except OSError as error:
        place = CodePlace(None, f"{place.folder}: {error.strerror}")
        if not compiled.signatures:  # a file could not be read; otherwise the code is there and was not written
            compiled = numba.njit(nogil=True)(function)
            compiled.compile(arguments)
    compiled.disable_compile()
    return compiled, place


# ---- code on disk


def _keep_on_disk(compiled: Any, module: _Module) -> CodePlace:
    """Give a function that is to be compiled a cache on disk, if there is a place for one."""
    function, digest = compiled.py_func, _digest(module)
    place = find_folder(f"*.{function.__qualname__}-{digest}.*.nb[ic]")
    if place.folder is None:
        return place
    try:
        compiled._cache = _cache_class(digest, place.folder)(function)
    except (ImportError, AttributeError, TypeError):  # its own cache has other rules than ours
        return CodePlace(None, f"numba {numba.__version__} keeps code in another way")
    return place


def _cache_class(digest: str, folder: Path) -> Any:
    """Return numba's cache, with our folder and digest, as a class of its own: others' caches stay as they are."""
    from numba.core import caching

    class Names(caching.CompileResultCacheImpl):  # type: ignore[misc]
        """Names the files; unlike numba's own it asks no setting who locates them, which would import what it says."""

        def __init__(self, function: Any) -> None:
            self._locator, self._lineno = self, function.__code__.co_firstlineno
            self._py_file = inspect.getfile(function)  # for numba's warnings
            name = f"{Path(self._py_file).stem}.{function.__qualname__}"
            self._filename_base = self.get_filename_base(name, getattr(sys, "abiflags", ""))

        def ensure_cache_path(self) -> None:
            make_folder(folder)

        def get_cache_path(self) -> str:
            return str(folder)

        def get_disambiguator(self) -> str:
            return digest

        get_source_stamp = get_disambiguator

    class Files(caching.IndexDataCacheFile):  # type: ignore[misc]
        _open_for_write = staticmethod(open_for_write)

    class Cache(caching.FunctionCache):  # type: ignore[misc]
        _impl_class = Names

        def __init__(self, function: Any) -> None:
            super().__init__(function)
            self._cache_file = Files(self._cache_path, self._impl.filename_base, digest)

    return Cache


# ---- what code depends on

_SETTINGS = ("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT", "USING_SVML")


def _digest(module: _Module) -> str:
    """Return a digest of all that decides what a module's kernels are compiled to."""
    from numba.core.registry import cpu_target

    facts = (
        *(sys.implementation.cache_tag, np.__version__, numba.__version__, llvmlite.__version__),
        cpu_target.target_context.codegen().magic_tuple(),  # operating system, processor and its features
        [getattr(numba.config, name, None) for name in _SETTINGS],
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


# ---- the folder that code is kept in


def find_folder(files: str) -> CodePlace:
    """Return the first folder that is safe and can be written or holds some files already; without one, the reasons."""
    troubles: list[str] = []
    unsafe: list[str] = []
    for named, mode in _folders():
        folder = Path(os.path.realpath(named))  # a link that others can change would lead elsewhere later
        danger = _danger_of(folder, files)
        trouble = danger or _trouble_with(folder, mode, files) or _danger_of(folder, files)  # made meanwhile by others
        if not trouble:
            return CodePlace(folder, passed_over="; ".join(unsafe))
        troubles.append(f"{folder}: {trouble}")
        unsafe += troubles[-1:] if danger else []
    return CodePlace(None, "; ".join(troubles))


def _folders() -> Iterator[tuple[Path, int]]:
    """Yield the folders that code may be kept in, best first, and the mode of each if it has to be made."""
    named = os.environ.get("NUMBA_CACHE_DIR")  # not numba.config: a file in the current folder may have set that
    if named:
        yield Path(named).absolute() / "assocpriv", 0o755
    yield Path(__file__).parent / "__pycache__", 0o755
    from numba.misc.appdirs import AppDirs

    users = Path(AppDirs("assocpriv", appauthor=False).user_cache_dir)
    if users.is_absolute():  # without a home it is relative to wherever we are
        yield users, 0o700


def _trouble_with(folder: Path, mode: int, files: str) -> str:
    """Return why a folder is of no use, or nothing; make it if it is not there."""
    try:
        make_folder(folder, mode)
    except OSError as error:
        if not any(folder.glob(files)):
            return error.strerror or "cannot be written"
    return ""


def make_folder(folder: Path, mode: int = 0o755) -> None:
    """Make a folder; raise OSError where it cannot be written."""
    folder.mkdir(mode, parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=folder).close()


def _danger_of(folder: Path, files: str) -> str:
    """Return why compiled code of a link-free folder, perhaps not there yet, could be another user's; or nothing."""
    if not hasattr(os, "getuid"):
        return ""  # Windows keeps the folders of users apart
    if not all(_is_ours(place, inside=place != folder) for place in (folder, *folder.parents)):
        return "another user can write there"
    try:
        open_to_others = [file.name for file in folder.glob(files) if not _is_ours(file)]
    except OSError:
        return "another user may be able to write there"
    return f"another user can write {min(open_to_others)}" if open_to_others else ""


def _is_ours(place: Path, *, inside: bool = False) -> bool:
    """Tell whether only this user and root can write a folder or a file.

    Of a folder that a safe one lies ``inside`` of, members of its group may be able to write it: they cannot put
    another folder of ours there. Of a place that does not exist nothing is to be feared yet.
    """
    try:
        status = place.stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    if status.st_uid not in (0, os.getuid()):
        return False
    if not inside:
        return not status.st_mode & (stat.S_IWOTH | stat.S_IWGRP)
    # in a sticky folder such as /tmp only owners can exchange what is theirs
    return not status.st_mode & stat.S_IWOTH or bool(status.st_mode & stat.S_ISVTX)


_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


@contextlib.contextmanager
def open_for_write(path: str) -> Iterator[IO[bytes]]:
    """Write a file that appears whole or not at all, and that no group can write, whatever the umask."""
    temporary = f"{path}.tmp.{uuid.uuid4().hex[:16]}"
    try:
        with open(os.open(temporary, _NEW_FILE, 0o644), "wb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
