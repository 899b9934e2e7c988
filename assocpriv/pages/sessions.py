"""Who may see the operator's page: a token in a file, sessions in memory, a token in every form.

Nothing of a visitor is kept. Failed logins are limited for all together, as no address is looked at. Who has the token
is let in all the same, or anybody could lock the operator out; what keeps others out are its 256 random bits.
"""

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from assocpriv.promise.errors import FileError

TOKEN_FILE = "admin-token"  # noqa: S105  # its name
_LEAST_LETTERS = 32
_MOST_SESSIONS = 64  # the oldest ends when another begins
_SESSION_SECONDS = 12 * 3600.0
_FAILURES, _SECONDS_EACH = 5.0, 10.0  # failed logins at once, and seconds after which one more may fail


class TooManyFailuresError(Exception):
    """Logins failed too often; after ``seconds`` one may be tried again."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many failed logins; try again in {seconds} seconds")
        self.seconds = seconds


def read_or_make_token(folder: Path) -> str:
    """Return the token of a collection's folder, made if there is none.

    Raises:
        FileError: the file cannot be read or written, was cut off, or others may read it.
    """
    path = folder / TOKEN_FILE
    try:
        if not path.exists():
            return _make_token(path)
        mode, token = path.stat().st_mode, path.read_text(encoding="ascii").strip()
    except FileExistsError:
        return read_or_make_token(folder)
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot use the operator's token {path}: {getattr(error, 'strerror', error)}") from None
    if os.name == "posix" and mode & 0o077:
        raise FileError(f"others than its owner may read {path}; remove it, and a new token is made at the next start")
    if len(token) < _LEAST_LETTERS:
        raise FileError(f"{path} holds no whole token; remove it, and a new one is made at the next start")
    return token


def _make_token(path: Path) -> str:
    token = secrets.token_urlsafe(32)
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(token + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(unfinished, path)  # unlike a rename, fails where another process made one meanwhile
    finally:
        unfinished.unlink()
    return token


class Sessions:
    """Logins that go on. All is lost with the process: the operator logs in again."""

    def __init__(self, token: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._token, self._clock = _digest(token), clock
        self._key = secrets.token_bytes(32)
        self._open: dict[bytes, float] = {}  # digest of a session -> when it ends
        self._failures, self._since = _FAILURES, clock()

    def admits(self, token: str) -> bool:
        """Tell whether a token is the operator's, who is let in however often others failed.

        Raises:
            TooManyFailuresError: it is not, like too many before it.
        """
        if hmac.compare_digest(_digest(token), self._token):
            return True
        now = self._clock()
        self._failures = min(_FAILURES, self._failures + (now - self._since) / _SECONDS_EACH)
        self._since = now
        if self._failures < 1:
            raise TooManyFailuresError(max(1, round((1 - self._failures) * _SECONDS_EACH)))
        self._failures -= 1
        return False

    @staticmethod
    def new_value() -> str:
        """Return a value for a cookie, of no session so far."""
        return secrets.token_urlsafe(32)

    def begin(self) -> str:
        """Begin a session and return the value of its cookie."""
        while len(self._open) >= _MOST_SESSIONS:
            del self._open[next(iter(self._open))]
        value = self.new_value()
        self._open[_digest(value)] = self._clock() + _SESSION_SECONDS
        return value

    def is_open(self, value: str) -> bool:
        """Tell whether a cookie's value is that of a session that goes on."""
        return self._open.get(_digest(value), -1.0) > self._clock()

    def end(self, value: str) -> None:
        """End a session."""
        self._open.pop(_digest(value), None)

    def form_token(self, value: str) -> str:
        """Return what a form must hold that is sent with this cookie; other sites cannot know it."""
        return hmac.new(self._key, value.encode(), hashlib.sha256).hexdigest()

    def is_own_form(self, value: str, offered: str) -> bool:
        """Tell whether a form came from a page that was sent with this cookie."""
        return bool(value) and hmac.compare_digest(self.form_token(value).encode(), offered.encode())


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
