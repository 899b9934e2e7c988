"""The command line as on Windows, as far as the package can tell.

Standard input is a JSON list of commands, each its arguments and its own input; standard output a list of exit statuses
and what was printed. What the package imports and opens is Windows'; other libraries stay on the system that they were
made for. It finds no fcntl and no resource, in os none of what POSIX alone has; files of text are in Windows-1252 with
CR LF by default, and files that are open can be neither removed nor replaced.
"""

import builtins
import errno
import io
import json
import os
import sys
from types import ModuleType
from typing import Any

_MISSING = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "termios", "tty"}
_POSIX_ONLY = {
    "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "chown", "fchmod", "fork", "getegid", "geteuid", "getgid", "getuid",
    "killpg", "mkfifo", "nice", "sched_getaffinity", "setsid", "statvfs", "sysconf", "uname", "SIGKILL", "SIGHUP",
}  # fmt: skip
_CHANGED = {"os": {"name": "nt", "linesep": "\r\n"}, "sys": {"platform": "win32"}, "signal": {}}


class _AsThere(ModuleType):
    """A module of the standard library with what it has on Windows."""

    def __init__(self, real: ModuleType) -> None:
        super().__init__(real.__name__)
        self.__dict__.update(_real=real, **_CHANGED[real.__name__])

    def __getattr__(self, name: str) -> Any:
        if name in _POSIX_ONLY:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self._real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._real, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._real, name)


_THERE = {name: _AsThere(__import__(name)) for name in _CHANGED}
_import, _open = builtins.__import__, io.open


def _is_ours(depth: int) -> bool:
    """Return whether the package called, itself or through pathlib."""
    frame = sys._getframe(depth)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("pathlib"):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "")).startswith("assocpriv")


def _import_there(name: str, globals: Any = None, *rest: Any, **more: Any) -> Any:  # noqa: A002
    if not str((globals or {}).get("__name__", "")).startswith("assocpriv"):
        return _import(name, globals, *rest, **more)
    if name in _MISSING:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return _THERE.get(name) or _import(name, globals, *rest, **more)


def _open_there(file: Any, mode: str = "r", *rest: Any, **more: Any) -> Any:
    given = dict(zip(("buffering", "encoding", "errors", "newline", "closefd", "opener"), rest, strict=False)) | more
    if "b" not in mode and _is_ours(2):
        given["encoding"] = "cp1252" if given.get("encoding") in (None, "locale") else given["encoding"]
        given["newline"] = "\r\n" if given.get("newline") is None and mode[0] in "wax" else given.get("newline")
    return _open(file, mode, **given)


def _keep_open_files(name: str) -> None:
    change = getattr(os, name)

    def changed(path: Any, *rest: Any, **more: Any) -> Any:
        opened = [os.stat(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd") if _is_there(each)]
        for place in (path, *rest[:1]):
            if os.path.isfile(place) and any(os.path.samestat(os.stat(place), each) for each in opened):
                raise PermissionError(errno.EACCES, "the file is open", str(place))
        return change(path, *rest, **more)

    setattr(os, name, changed)


def _is_there(descriptor: str) -> bool:
    return os.path.exists(f"/proc/self/fd/{descriptor}")


if __name__ == "__main__":
    for each in ("unlink", "remove", "rename", "replace"):
        _keep_open_files(each)
    builtins.__import__, builtins.open, io.open = _import_there, _open_there, _open_there
    from click.testing import CliRunner

    from assocpriv.cli.main import main

    done = [CliRunner().invoke(main, arguments, input=given) for arguments, given in json.load(sys.stdin)]
    print(json.dumps([(each.exit_code, each.output) for each in done]))
