"""Kernels compiled by numba when they are first called, and cached for later processes.

Numba caches code by function, and notices only changes of that function's own file. So the cache folder's name is a
digest of all kernel files and of numba's settings. The folder belongs to the user. It lies below NUMBA_CACHE_DIR if
that is an absolute path, else in the user's cache folder. Cached code is executed without a check. Where other users
can write, every process therefore compiles anew.

Where PyYAML is installed, numba reads settings from a file .numba_config.yaml in the current folder. Such a file may
come with data from another party, and determines where code is loaded from. So code that needs numba, or galois, which
needs numba, calls :func:`load_numba` first. A program that loaded numba before this package has already read the file.
"""

import functools
import os
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar, cast

_F = TypeVar("_F", bound=Callable[..., Any])
_CONFIG, _SETTINGS_FILE = "numba.core.config", ".numba_config.yaml"  # a constant there, relative to the current folder
_FREE_BYTES = 1 << 24  # free disk space needed to cache code
_lock = threading.Lock()


class LazyModule(ModuleType):
    """A module that is imported when one of its names is first used."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return import_module, (self.__name__,)  # Spark pickles functions with their globals


counting_kernels: Any = LazyModule("assocpriv.kernels.counting_kernels")  # kernels load numba, which takes .5 s
normal_kernels: Any = LazyModule("assocpriv.kernels.normal_distribution")
randomizing_kernels: Any = LazyModule("assocpriv.kernels.randomization_kernels")
text_kernels: Any = LazyModule("assocpriv.kernels.text_kernels")
word_kernels: Any = LazyModule("assocpriv.kernels.entropy_words")


def kernel(function: _F) -> _F:
    """Compile a function of arrays and integers, once for each list of argument types.

    Kernels allocate nothing, so numba's reference counting is off; an allocation then fails to compile. Functions that
    a kernel calls are always inlined.
    """
    numba = load_numba()
    options = {"nogil": True, "forceinline": True, "_nrt": False, "no_cfunc_wrapper": True}
    with _lock, _code_folder(numba.config) as folder:
        return cast(_F, numba.njit(cache=folder is not None, **options)(function))


_callbacks: list[Callable[[], None]] = []  # one at most


def notify_when_compiling(callback: Callable[[], None] | None) -> None:
    """Call a function once, in any thread, when a kernel is compiled; not when its code comes from the cache."""
    _callbacks[:] = [callback] if callback else []


@functools.cache
def _listen() -> None:
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, _event: Any) -> None:
            if _callbacks:
                _callbacks.pop()()

        def on_end(self, _event: Any) -> None:
            """Do nothing."""

    event.register("numba:compile", Listener())


# ---- the code cache


@contextmanager
def _code_folder(config: Any) -> Iterator[Path | None]:
    """Set numba's cache folder to ours for the functions declared meanwhile; yield it, or None without one."""
    folder, before = find_cache_folder(), config.CACHE_DIR
    try:
        config.CACHE_DIR = str(folder or "")
        yield folder
    finally:
        config.CACHE_DIR = before


def find_cache_folder() -> Path | None:
    """Return the cache folder of these kernels, created if missing; None if code cannot be cached safely."""
    named = Path(os.environ.get("NUMBA_CACHE_DIR", ""))
    place = named / "assocpriv" if named.is_absolute() else _users_folder()
    if not place.is_absolute() or "NUMBA_CACHE_LOCATOR_CLASSES" in os.environ:  # no home; or numba looks elsewhere
        return None
    folder = place.resolve() / f"kernels-{_digest()}"  # another user could change a link later
    try:
        for each in reversed((folder, *folder.parents)):  # create nothing in another user's folder
            each.mkdir(0o700, exist_ok=True)  # parents=True would apply the umask instead
            if not _is_ours(each, may_be_shared=each != folder):
                return None
        has_room = shutil.disk_usage(folder).free >= _FREE_BYTES
        return folder if has_room and os.access(folder, os.W_OK | os.X_OK) else None
    except OSError:
        return None


@functools.cache  # needed for each kernel
def _digest() -> str:
    """Return a digest of what compiled code depends on and numba does not check: other files and its settings."""
    import hashlib

    settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    facts = [each.read_bytes() for each in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256(repr((facts, settings)).encode()).hexdigest()[:32]


def _users_folder() -> Path:
    """Return the user's cache folder on this system; a relative path if the user has no home folder."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "")) / "assocpriv" / "Cache"
    if sys.platform == "darwin":
        return Path(os.path.expanduser("~/Library/Caches/assocpriv"))
    return Path(os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")) / "assocpriv"


def _is_ours(place: Path, *, may_be_shared: bool) -> bool:
    """Return whether only this user and root can replace files in a folder (Windows separates users' folders).

    In a shared folder with the sticky bit, such as /tmp, others can add files, but not replace ours.
    """
    status = place.stat()
    if not hasattr(os, "getuid"):
        return True
    is_sticky = may_be_shared and bool(status.st_mode & stat.S_ISVTX)
    return status.st_uid in (0, os.getuid()) and (is_sticky or not status.st_mode & (stat.S_IWOTH | stat.S_IWGRP))


# ---- numba without the settings of the current folder


class _Loader(SourceFileLoader):
    """Loads numba's configuration module without the settings file's name in its code."""

    def get_code(self, fullname: str) -> CodeType | None:
        code = super().get_code(fullname)
        return code and code.replace(
            co_consts=tuple("" if const == _SETTINGS_FILE else const for const in code.co_consts)
        )


class _Finder:
    """Finds numba's configuration module, and sets its loader to ours."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname == _CONFIG else None
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def load_numba() -> Any:
    """Return numba, loaded without reading a settings file; if it was loaded before, return it as it is."""
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        import numba
    finally:
        sys.meta_path.remove(finder)
    _listen()
    return numba
