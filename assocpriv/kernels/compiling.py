"""Compiled kernels: made by numba when they are first called, kept for later processes.

Numba keeps code by the function that it is made of, and notices a change of that function's own file only. So the
folder that it is told to use is named by a digest of all files of kernels, and of numba's settings: another source is
another folder. It is the user's own, below NUMBA_CACHE_DIR if that is a full path, else in the user's cache folder.
What lies there is run without a question: where somebody else can write, every process compiles for itself.

Where PyYAML is installed numba takes settings from a file .numba_config.yaml in the current folder. Such a file may lie
beside data that somebody else gave us, and says from where code is loaded. So whoever needs numba, or galois, which
needs it, calls :func:`load_numba` first. A program that loaded numba before this package has read that file already.
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
_CONFIG, _SETTINGS_FILE = "numba.core.config", ".numba_config.yaml"  # a constant there, relative to wherever we are
_FREE_BYTES = 1 << 24  # that a disk must have for code to be kept on it
_lock = threading.Lock()


class Late(ModuleType):
    """A module that is imported when one of its names is first used; its names are kept."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self.__name__), name)
        setattr(self, name, found)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return import_module, (self.__name__,)  # Spark sends functions with what they name


counting_kernels: Any = Late("assocpriv.kernels.counting")  # they load numba, half a second
normal_kernels: Any = Late("assocpriv.kernels.normal")
randomizing_kernels: Any = Late("assocpriv.kernels.randomizing")
text_kernels: Any = Late("assocpriv.kernels.text")
word_kernels: Any = Late("assocpriv.kernels.words")


def kernel(function: _F) -> _F:
    """Compile a function of arrays and integers, for each list of types that it is called with.

    Kernels allocate nothing, so numba is told not to count references; an allocation then fails to be compiled. What a
    kernel calls becomes part of it, which it otherwise would only where LLVM thinks that it pays.
    """
    numba = load_numba()
    options = {"nogil": True, "forceinline": True, "_nrt": False, "no_cfunc_wrapper": True}
    with _lock, _code_folder(numba.config) as folder:
        return cast(_F, numba.njit(cache=folder is not None, **options)(function))


_tell: list[Callable[[], None]] = []  # one at most


def tell_when_compiling(tell: Callable[[], None] | None) -> None:
    """Have a function called once, in any thread, when a kernel is compiled; not where its code was kept."""
    _tell[:] = [tell] if tell else []


@functools.cache
def _listen() -> None:
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, _event: Any) -> None:
            if _tell:
                _tell.pop()()

        def on_end(self, _event: Any) -> None:
            """Stay silent."""

    event.register("numba:compile", Listener())


# ---- where code is kept


@contextmanager
def _code_folder(config: Any) -> Iterator[Path | None]:
    """Have numba take our folder for what is declared meanwhile, and its own again after that; None without one."""
    folder, before = find_folder(), config.CACHE_DIR
    try:
        config.CACHE_DIR = str(folder or "")
        yield folder
    finally:
        config.CACHE_DIR = before


def find_folder() -> Path | None:
    """Return the folder for code of these kernels, made if it is not there; None where code cannot be kept safely."""
    named = Path(os.environ.get("NUMBA_CACHE_DIR", ""))
    place = named / "assocpriv" if named.is_absolute() else _users_folder()
    if not place.is_absolute() or "NUMBA_CACHE_LOCATOR_CLASSES" in os.environ:  # no home; or numba looks elsewhere
        return None
    folder = place.resolve() / f"kernels-{_digest()}"  # a link that others can change would lead elsewhere later
    try:
        for each in reversed((folder, *folder.parents)):  # nothing is made in a folder of others
            each.mkdir(0o700, exist_ok=True)  # parents=True would let in whom the umask does
            if not _is_ours(each, may_be_shared=each != folder):
                return None
        has_room = shutil.disk_usage(folder).free >= _FREE_BYTES
        return folder if has_room and os.access(folder, os.W_OK | os.X_OK) else None
    except OSError:
        return None


@functools.cache  # asked for each kernel
def _digest() -> str:
    """Return a digest of all that code depends on and numba does not look at: other files, and its own settings."""
    import hashlib

    settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    facts = [each.read_bytes() for each in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256(repr((facts, settings)).encode()).hexdigest()[:32]


def _users_folder() -> Path:
    """Return the user's own cache folder, by the custom of the system; a relative one without a home."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "")) / "assocpriv" / "Cache"
    if sys.platform == "darwin":
        return Path(os.path.expanduser("~/Library/Caches/assocpriv"))
    return Path(os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")) / "assocpriv"


def _is_ours(place: Path, *, may_be_shared: bool) -> bool:
    """Tell whether only this user and root can exchange what lies in a folder (Windows keeps users apart).

    In a shared one, such as /tmp, others can add to it, but not exchange what is ours.
    """
    status = place.stat()
    if not hasattr(os, "getuid"):
        return True
    is_sticky = may_be_shared and bool(status.st_mode & stat.S_ISVTX)
    return status.st_uid in (0, os.getuid()) and (is_sticky or not status.st_mode & (stat.S_IWOTH | stat.S_IWGRP))


# ---- numba without the settings of the current folder


class _Loader(SourceFileLoader):
    """Loads numba's settings with the file's name taken out of the code."""

    def get_code(self, fullname: str) -> CodeType | None:
        code = super().get_code(fullname)
        return code and code.replace(
            co_consts=tuple("" if const == _SETTINGS_FILE else const for const in code.co_consts)
        )


class _Finder:
    """Finds one module, to be loaded by our loader."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname == _CONFIG else None
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
    _listen()
    return numba
