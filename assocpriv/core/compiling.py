"""How kernels are compiled: once for each processor, kept on disk, never stale.

A kernel that Python calls is an :func:`entry`, declared for one list of argument types; kernels that only kernels
call are a :func:`kernel`, and their code lies within that of their entries. An entry is compiled, or loaded from
disk, when it is first called or by :func:`compile_kernels`. Other types than the declared ones are a TypeError,
not a second compilation in the middle of a run.

Compiled code is kept in the first of these folders that can be used:

1. what the environment variable NUMBA_CACHE_DIR names;
2. the package's own __pycache__;
3. the user's cache folder.

The files hold pickles, which run what they say. So of a folder that another user than root can write nothing is read,
and nothing is written there, whoever named it; nor of one with a file of this code that another user can write. What
numba itself takes for its folder does not count: it may come from a file beside the data (core/numba_settings.py).

A folder that cannot be written is used as well where the code lies there already (an image filled as root and run
read-only). Without a folder, or on a full disk, each process compiles for itself.

A file's name has a digest of all that its code depends on: the code of the kernels' module and of this one as
Python loaded it (so neither times nor sizes of files matter), the versions of Python, numpy and numba with its
compiler, the processor and numba's settings. Hence another code is another file, whoever writes or is interrupted
meanwhile.
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
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import IO, Any, TypeVar

import llvmlite  # type: ignore[import-untyped]
import numpy as np

from assocpriv.core.numba_settings import load_numba

numba = load_numba()

_F = TypeVar("_F", bound=Callable[..., Any])


def const(argument: Any) -> Any:
    """Return an array type whose arrays the kernel only reads: it takes read-only arrays and others."""
    return argument.copy(readonly=True)


def kernel(function: _F) -> _F:
    """Compile a kernel that only other kernels call."""
    compiled: _F = numba.njit(nogil=True, forceinline=True)(function)
    return compiled


def entry(*arguments: Any) -> Callable[[_F], _F]:
    """Compile a kernel that Python calls, for one list of argument types; to be used at a module's top level."""
    module = sys._getframe(1).f_code  # the code now running, a module's, holds that of all its functions

    def decorate(function: _F) -> _F:
        if numba.config.DISABLE_JIT:
            return function
        made: Any = Entry(function, arguments, module)
        _ENTRIES[made.__name__] = made
        return made  # type: ignore[no-any-return]

    return decorate


@dataclass(frozen=True, slots=True)
class Kept:
    """Where an entry's compiled code is kept on disk.

    Attributes:
        folder: the folder, or None.
        trouble: with no folder, what prevents it.
        passed_over: with a folder, which better ones are not safe, and why.
    """

    folder: Path | None
    trouble: str = ""
    passed_over: str = ""


class Entry:
    """A kernel that Python calls: a callable that is compiled, or loaded from disk, when first called."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], module: CodeType) -> None:
        functools.update_wrapper(self, function)
        self.__name__ = function.__name__
        self.py_func = function
        self._arguments = arguments
        self._module = module
        self._compiled: Any = None
        self._kept = Kept(None)
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel; TypeError for other types than the declared ones."""
        compiled = self._compiled
        if compiled is None:
            self.load()
            compiled = self._compiled
        return compiled(*arguments)

    def load(self) -> Kept:
        """Compile this kernel or load it from disk, once in a process."""
        with self._lock:
            if self._compiled is None:
                compiled, self._kept = _compile(self.py_func, self._arguments, self._module)
                self._compiled = compiled
            return self._kept


_ENTRIES: dict[str, Entry] = {}


def compile_kernels(
    names: Iterable[str] | None = None, progress: Callable[[int, int], None] | None = None
) -> dict[str, Kept]:
    """Compile entries, or load them from disk, now rather than when they are first called.

    Args:
        names: entries of the modules imported so far; all of them by default.
        progress: called with (entries done, entries).

    Returns:
        Where the code of each is kept. Empty if compilation is switched off.
    """
    if numba.config.DISABLE_JIT:
        return {}
    chosen = list(_ENTRIES if names is None else names)
    kept = {}
    for done, name in enumerate(chosen, start=1):
        kept[name] = _ENTRIES[name].load()
        if progress:
            progress(done, len(chosen))
    return kept


def _compile(function: Callable[..., Any], arguments: tuple[Any, ...], module: CodeType) -> tuple[Any, Kept]:
    """Return a function compiled for these types and no others, and where its code is kept."""
    compiled = numba.njit(nogil=True)(function)
    kept = _keep_on_disk(compiled, module)
    try:
        try:
            compiled.compile(arguments)
        except (EOFError, ValueError, pickle.UnpicklingError):  # a damaged file
            compiled.recompile()  # with nothing compiled yet, this only empties the cache
            compiled.compile(arguments)
    except OSError as error:
        kept = Kept(None, f"{kept.folder}: {error.strerror}")
        if not compiled.signatures:  # a file could not be read; otherwise the code is there and was not written
            compiled = numba.njit(nogil=True)(function)
            compiled.compile(arguments)
    compiled.disable_compile()
    return compiled, kept


# ---- where code is kept


def _keep_on_disk(compiled: Any, module: CodeType) -> Kept:
    """Give a function that is to be compiled a cache on disk, if there is a place for one."""
    function = compiled.py_func
    digest = _digest(module, function.__globals__)
    kept = _find_folder(inspect.getfile(function), f"*.{function.__qualname__}-{digest}.*.nb[ic]")
    if kept.folder is None:
        return kept
    try:
        compiled._cache = _cache_class(digest, kept.folder)(function)
    except (ImportError, AttributeError, TypeError):  # its own cache has other rules than ours
        return Kept(None, f"numba {numba.__version__} keeps code in another way")
    return kept


def _cache_class(digest: str, folder: Path) -> Any:
    """Return numba's cache of a function, with our folder and with the digest in the names of files.

    As a class of its own it leaves the caches of other packages alone.
    """
    from numba.core import caching

    class Locator(caching._CacheLocator):  # type: ignore[misc]
        """Tells numba where a function's code is kept, and what it depends on."""

        def __init__(self, py_file: str) -> None:
            self._py_file = py_file  # for numba's warnings

        def ensure_cache_path(self) -> None:
            _make(folder)

        def get_cache_path(self) -> str:
            return str(folder)

        def get_source_stamp(self) -> str:
            return digest

        def get_disambiguator(self) -> str:
            return digest

    class Names(caching.CompileResultCacheImpl):  # type: ignore[misc]
        """Names the files; unlike numba's own it asks no setting who locates them, which would import what it says."""

        def __init__(self, function: Any) -> None:
            py_file = inspect.getfile(function)
            self._lineno = function.__code__.co_firstlineno
            self._locator = Locator(py_file)
            self._filename_base = self.get_filename_base(
                f"{Path(py_file).stem}.{function.__qualname__}", getattr(sys, "abiflags", "")
            )

    class Files(caching.IndexDataCacheFile):  # type: ignore[misc]
        """Reads and writes the files; what it writes no group can write, whatever the umask."""

        @contextlib.contextmanager
        def _open_for_write(self, path: str) -> Iterator[IO[bytes]]:
            temporary = f"{path}.tmp.{uuid.uuid4().hex[:16]}"
            try:
                with open(os.open(temporary, _NEW_FILE, 0o644), "wb") as file:
                    yield file
                os.replace(temporary, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise

    class Cache(caching.FunctionCache):  # type: ignore[misc]
        """Keeps the code of one function."""

        _impl_class = Names

        def __init__(self, function: Any) -> None:
            super().__init__(function)
            self._cache_file = Files(self._cache_path, self._impl.filename_base, digest)

    return Cache


_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def _find_folder(py_file: str, files: str) -> Kept:
    """Return the first folder that is safe and can be written or holds some files already; without one, the reasons."""
    troubles: list[str] = []
    unsafe: list[str] = []
    for named, mode in _folders(py_file):
        folder = Path(os.path.realpath(named))  # a link that others can change would lead elsewhere later
        danger = _danger_of(folder, files)
        trouble = danger or _trouble_with(folder, mode, files) or _danger_of(folder, files)  # made meanwhile by others
        if not trouble:
            return Kept(folder, passed_over="; ".join(unsafe))
        troubles.append(f"{folder}: {trouble}")
        unsafe += troubles[-1:] if danger else []
    return Kept(None, "; ".join(troubles))


def _folders(py_file: str) -> Iterator[tuple[Path, int]]:
    """Yield the folders that code may be kept in, best first, and the mode of each if it has to be made."""
    named = os.environ.get("NUMBA_CACHE_DIR")  # not numba.config: a file in the current folder may have set that
    if named:
        yield Path(named).absolute() / "assocpriv", 0o755
    yield Path(py_file).parent / "__pycache__", 0o755
    from numba.misc.appdirs import AppDirs

    users = Path(AppDirs("assocpriv", appauthor=False).user_cache_dir)
    if users.is_absolute():  # without a home it is relative to wherever we are
        yield users, 0o700


def _trouble_with(folder: Path, mode: int, files: str) -> str:
    """Return why a folder is of no use, or nothing; make it if it is not there."""
    try:
        _make(folder, mode)
    except OSError as error:
        if not any(folder.glob(files)):
            return error.strerror or "cannot be written"
    return ""


def _make(folder: Path, mode: int = 0o755) -> None:
    """Make a folder; raise OSError where it cannot be written."""
    folder.mkdir(mode, parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=folder).close()


def _danger_of(folder: Path, files: str) -> str:
    """Return why compiled code of a folder, which need not be there yet, could be another user's; or nothing.

    The folder is given without links.
    """
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


# ---- what code depends on

_SETTINGS = ("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT", "USING_SVML")


def _digest(module: CodeType, variables: dict[str, Any]) -> str:
    """Return a digest of all that decides what a module's kernels are compiled to."""
    from numba.core.registry import cpu_target

    facts = (
        *(sys.implementation.cache_tag, np.__version__, numba.__version__, llvmlite.__version__),
        cpu_target.target_context.codegen().magic_tuple(),  # operating system, processor and its features
        [getattr(numba.config, name, None) for name in _SETTINGS],
        _facts(module),
        _facts(_THIS_MODULE),
        sorted((name, repr(value)) for name, value in variables.items() if isinstance(value, int | np.integer)),
    )
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def _facts(value: Any) -> Any:
    """Return what a code object does, constants and inner functions included, alike in every process."""
    if isinstance(value, CodeType):
        code = (value.co_name, value.co_code, value.co_exceptiontable, value.co_flags, value.co_names)
        variables = (value.co_varnames, value.co_freevars, value.co_cellvars)
        counts = (value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount)
        return (code, variables, counts, [_facts(constant) for constant in value.co_consts])
    return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)


_THIS_MODULE = sys._getframe().f_code
