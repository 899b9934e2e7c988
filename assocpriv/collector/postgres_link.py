"""A connection to PostgreSQL that is made when it is needed and again when it has broken, and never tells the password.

A server that can lose what it has acknowledged, or that keeps the times of transactions, is refused at each connection.
"""

import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.collector.store import StoreFullError
from assocpriv.promise.errors import FileError, PlanError

if TYPE_CHECKING:
    from psycopg import Connection

_SECRETS = ("password", "sslpassword")
_SCHEMES = ("postgresql://", "postgres://")
_MUST_BE = {  # settings of the server, what they must be, and what would happen otherwise
    "fsync": ("on", "reports that were acknowledged would be lost in a crash of its machine"),
    "full_page_writes": ("on", "a crash of its machine could tear pages, and lose reports that were acknowledged"),
    "track_commit_timestamp": ("off", "it would keep the time at which each report came"),
}
_LOCK_SECONDS = 2
_PATIENCE = {  # seconds, but for the last: milliseconds
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}


class PostgresUrl:
    """Where a server is and how to get in. The password is in no text of it."""

    def __init__(self, url: str) -> None:
        """Read ``postgresql://…``, or ``@FILE`` of which the first line is one.

        Raises:
            FileError: the file cannot be read.
            PlanError: it is no such URL, or the extra ``assocpriv[postgres]`` is missing.
        """
        text = _first_line(Path(url[1:])) if url.startswith("@") else url
        if not text.startswith(_SCHEMES):
            raise PlanError("a store is sqlite, postgresql://USER@HOST/DATABASE, or @FILE that holds such a URL")
        self._take(text)

    @classmethod
    def of_mark(cls, store: str) -> "PostgresUrl":
        """Return what ``without_password`` told; the password is libpq's to find, as in the file PGPASSFILE names."""
        url = cls.__new__(cls)
        url._take(store)
        return url

    def _take(self, text: str) -> None:
        try:
            from psycopg import Error
            from psycopg.conninfo import conninfo_to_dict, make_conninfo
        except ImportError:
            raise PlanError("a store in PostgreSQL needs psycopg: pip install 'assocpriv[postgres]'") from None
        try:
            self.parameters: dict[str, Any] = dict(conninfo_to_dict(text))
            self._secrets = {name: str(self.parameters.pop(name)) for name in _SECRETS if name in self.parameters}
            self.without_password = make_conninfo(**self.parameters)
        except Error:  # its text has parts of the URL, maybe of the password
            raise PlanError(
                "the URL of the store cannot be read; in a user, password or name of it write @ as %40, / as %2F and "
                "% as %25"
            ) from None

    def __repr__(self) -> str:
        return f"PostgresUrl({self.without_password})"

    def connect(self) -> "Connection[Any]":
        """Connect; psycopg's errors."""
        import psycopg

        return psycopg.connect(**({"application_name": "assocpriv"} | _PATIENCE | self.parameters | self._secrets))

    @staticmethod
    def told(error: Exception) -> str:
        """Return what an error says, on one line; libpq tells users and hosts, no passwords."""
        text = " ".join(str(error).split()) or type(error).__name__
        return text + "; name it in the URL of --store (store=), or in a file PGPASSFILE" * ("no password" in text)


def _first_line(path: Path) -> str:
    try:
        return (path.read_text(encoding="utf-8").splitlines() or [""])[0].strip()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FileError(f"{path} is no text; its first line is the URL of the store") from None


class Link:
    """One connection, for one thread at a time, whose tables are those of a schema."""

    def __init__(self, url: PostgresUrl, schema: str) -> None:
        self._url, self._schema, self._guard = url, schema, threading.RLock()
        self._connection: Connection[Any] | None = None

    @contextmanager
    def transaction(self) -> Iterator["Connection[Any]"]:
        """Give the connection, in a transaction that is on the server's disk when this ends.

        Raises:
            StoreFullError: the server is away, full or busy. A commit whose answer was lost may hold all the same.
            FileError: the server refuses what was asked.
        """
        import psycopg

        with self._guard:
            try:
                connection = self._connected()
                with connection.transaction():
                    yield connection
            except psycopg.OperationalError as error:
                self._drop_if_broken()
                raise StoreFullError(f"PostgreSQL cannot store now: {self._url.told(error)}") from None
            except psycopg.Error as error:
                self._drop_if_broken()
                raise FileError(f"PostgreSQL refuses: {self._url.told(error)}") from None

    @contextmanager
    def holding(self, name: str) -> Iterator[None]:
        """Hold a lock of this name, which one connection to the database has at a time.

        Raises:
            StoreFullError: another has it, or the server is away.
        """
        with self._guard:
            with self.transaction() as database:
                database.execute(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'")  # one that died lets go a little later
                database.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (name,))
            try:
                yield
            finally:
                try:
                    with self.transaction() as database:
                        database.execute("SELECT pg_advisory_unlock_all()")
                except FileError:
                    self.close()

    def _connected(self) -> "Connection[Any]":
        self._drop_if_broken()
        if self._connection is None:
            connection = self._url.connect()
            try:
                self._check(connection)
                connection.execute("SELECT set_config('search_path', %s, false)", (self._schema,))
                connection.execute("SET synchronous_commit = on")
                connection.commit()
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    @staticmethod
    def _check(connection: "Connection[Any]") -> None:
        """Refuse a server that does not do what is promised to those who send."""
        named = [*_MUST_BE, "synchronous_commit", "in_hot_standby"]
        found = {name: str((connection.execute(f"SHOW {name}").fetchone() or ("",))[0]) for name in named}
        for name, (wanted, why) in _MUST_BE.items():
            if found[name] != wanted:
                raise FileError(f"the PostgreSQL server has {name} = {found[name]}, with which {why}; set it {wanted}")
        if found["synchronous_commit"] == "off":
            raise FileError(
                "the PostgreSQL server has synchronous_commit = off, with which reports that were acknowledged would "
                "be lost in a crash; set it on"
            )
        if found["in_hot_standby"] == "on":
            raise StoreFullError("the PostgreSQL server is a standby, which stores nothing")

    def _drop_if_broken(self) -> None:
        if self._connection is None:
            return
        # a server that ends says so: there is something to read on a connection on which nothing was asked
        if self._connection.closed or _readable(self._connection.fileno()):
            self.close()

    def close(self) -> None:
        """Close the connection; the next use makes one again."""
        with self._guard:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def _readable(descriptor: int) -> bool:
    watched = select.poll()
    watched.register(descriptor, select.POLLIN)
    return bool(watched.poll(0))
