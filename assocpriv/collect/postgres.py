"""Reports of one plan in PostgreSQL, where several collectors store them; one of them closes batches into its folder.

Each plan has its own schema. A group of uploads is one transaction: its new ids go into the table ``ids``, whose
primary key makes each count once, whichever collector stores it, and its reports into the table ``reports``, one row
for each key. No column links the two or shows a time or an order. The order in which PostgreSQL itself keeps
``reports`` is lost when the batch is closed:

    rotate  ``reports`` is renamed to ``batch_<token>`` and made anew; this waits for all who are storing
    close   the batch is read, and written as report files whose names hold the token
    drop    once they are on disk, its counts are added to ``closed`` and its table is dropped, in one transaction

After any interruption, a batch's table exists until its report files do, and an existing file is not written again.
Only the folder that the schema names as its home gets them, so a report is in one collection.

A connection is made on use, and again after it breaks; no error shows the password. A server that can lose acknowledged
data, or that keeps the times of transactions, is refused at each connection.
"""

import logging
import secrets
import select
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.collect.batch_closing import closed_counts, remove_partial_files, write_batch_files
from assocpriv.collect.sqlite import prepare_folder
from assocpriv.collect.store import (
    NAMES_KEY_BYTES,
    NO_KEY,
    BatchSizes,
    RequestRefused,
    StoreFullError,
    StoreStatus,
    Upload,
    accept,
    count_conflicts,
    ids_of,
    records_of,
)
from assocpriv.files.open_batches import new_mark, other_version, read_mark
from assocpriv.guarantees.errors import FileError, PlanError
from assocpriv.plans.published_plan import ID_BYTES

if TYPE_CHECKING:
    from psycopg import Connection

    from assocpriv.plans.published_plan import PublishedPlan

_SECRETS = ("password", "sslpassword")
_SCHEMES = ("postgresql://", "postgres://")
_REFUSED = {  # settings of the server, refused values and those to set, and what would happen
    "fsync": ("off", "on", "a crash of its machine would lose acknowledged reports"),
    "full_page_writes": ("off", "on", "a crash of its machine could tear pages, and lose acknowledged reports"),
    "track_commit_timestamp": ("on", "off", "it would keep the time at which each report arrived"),
    "synchronous_commit": ("off", "on", "a crash would lose acknowledged reports"),
}
_LOCK_SECONDS = 2
_PATIENCE = {  # seconds, but for the last: milliseconds
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}

_DIGITS = 12  # of a plan's id, in the name of its schema
_CHECKS = 16  # for a full batch while it fills
_LOG = logging.getLogger("assocpriv")
_VERSION = 1  # of the tables
_BATCH = "batch_"  # then a token: the table of a pending batch
_REPORTS = "CREATE TABLE IF NOT EXISTS reports(key int NOT NULL, count int NOT NULL, packed bytea NOT NULL)"
_TABLES = (
    "CREATE TABLE IF NOT EXISTS collection(plan text NOT NULL, home text NOT NULL, names_key bytea NOT NULL, "
    "batches bigint NOT NULL DEFAULT 0)",
    f"ALTER TABLE collection ADD COLUMN IF NOT EXISTS version int NOT NULL DEFAULT {_VERSION}",
    "CREATE TABLE IF NOT EXISTS ids(id uuid PRIMARY KEY)",
    _REPORTS,
    "CREATE TABLE IF NOT EXISTS used(key int PRIMARY KEY, count bigint NOT NULL)",
    "CREATE TABLE IF NOT EXISTS batches(token text PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS closed(key int PRIMARY KEY, count bigint NOT NULL)",
)
_IS_OURS = "SELECT pg_get_userbyid(nspowner) = current_user FROM pg_namespace WHERE nspname = %s"
_NEW_IDS = (  # in order, so that two transactions with the same ids do not deadlock
    "WITH added AS (INSERT INTO ids SELECT id FROM unnest(%s::uuid[]) AS given(id) ORDER BY id "
    "ON CONFLICT DO NOTHING RETURNING id) SELECT string_agg(uuid_send(id), ''::bytea) FROM added"
)
_USE = "INSERT INTO used SELECT key, 0 FROM unnest(%s::int[]) AS given(key) ORDER BY key ON CONFLICT DO NOTHING"
_USED = "SELECT key, count FROM used WHERE key = ANY(%s) ORDER BY key FOR UPDATE"


# ---- the connection


class PostgresUrl:
    """Address and login of a server. No text of it shows the password."""

    def __init__(self, url: str, *, from_mark: bool = False) -> None:
        """Read ``postgresql://…``, or ``@FILE`` whose first line is such a URL.

        With ``from_mark`` it is as noted in a folder, without a password: this is in the noted file, or libpq finds it,
        as in PGPASSFILE.

        Raises:
            FileError: the file cannot be read.
            PlanError: it is no such URL, or the extra ``assocpriv[postgres]`` is missing.
        """
        in_file = url.startswith("@")
        text = _first_line(Path(url[1:])) if in_file else url
        if not text.startswith(_SCHEMES) and (in_file or not from_mark):
            raise PlanError("store must be sqlite, postgresql://USER@HOST/DATABASE, or @FILE that holds such a URL")
        try:
            from psycopg import Error
            from psycopg.conninfo import conninfo_to_dict, make_conninfo
        except ImportError:
            raise PlanError("a store in PostgreSQL needs psycopg: pip install 'assocpriv[postgres]'") from None
        try:
            self.parameters: dict[str, Any] = dict(conninfo_to_dict(text))
            self._secrets = {name: str(self.parameters.pop(name)) for name in _SECRETS if name in self.parameters}
            self.without_password = make_conninfo(**self.parameters)
        except Error:  # its text may show the password
            raise PlanError(
                "the URL of the store cannot be read; in its user, password and database write @ as %40, / as %2F and "
                "% as %25"
            ) from None
        self.noted = f"@{Path(url[1:]).absolute()}" if in_file else self.without_password

    def __repr__(self) -> str:
        return f"PostgresUrl({self.without_password})"

    def connect(self) -> "Connection[Any]":
        """Connect; raises psycopg's errors."""
        import psycopg

        return psycopg.connect(**({"application_name": "assocpriv"} | _PATIENCE | self.parameters | self._secrets))

    @staticmethod
    def describe_error(error: Exception) -> str:
        """Return an error's text on one line; libpq shows users and hosts, but no passwords."""
        text = " ".join(str(error).split()) or type(error).__name__
        return text + "; name it in the URL of store=, or in a file PGPASSFILE" * ("no password" in text)


def _first_line(path: Path) -> str:
    try:
        return (path.read_text(encoding="utf-8").splitlines() or [""])[0].strip()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FileError(f"{path} is not UTF-8 text; its first line must be the URL of the store") from None


class _Link:
    """One connection, for one thread at a time, to the tables of a schema."""

    def __init__(self, url: PostgresUrl, schema: str) -> None:
        self._url, self._schema, self._guard = url, schema, threading.RLock()
        self._connection: Connection[Any] | None = None

    @contextmanager
    def transaction(self) -> Iterator["Connection[Any]"]:
        """Yield the connection in a transaction that is on the server's disk at the end.

        Raises:
            StoreFullError: the server is unreachable, full or busy. A commit whose response was lost may still hold.
            FileError: the server refuses the statement.
        """
        import psycopg

        with self._guard:
            try:
                connection = self._connected()
                with connection.transaction():
                    yield connection
            except psycopg.OperationalError as error:
                self._drop_if_broken()
                raise StoreFullError(f"PostgreSQL cannot store now: {self._url.describe_error(error)}") from None
            except psycopg.Error as error:
                self._drop_if_broken()
                raise FileError(f"PostgreSQL refuses: {self._url.describe_error(error)}") from None

    @contextmanager
    def holding(self, name: str) -> Iterator[None]:
        """Hold a lock of this name, which one connection to the database has at a time.

        Raises:
            StoreFullError: another connection has it, or the server is unreachable.
        """
        with self._guard:
            with self.transaction() as database:
                # a dead connection releases it a little later
                database.execute(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'")
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
        """Refuse a server that cannot keep the guarantees to senders."""
        named = (*_REFUSED, "in_hot_standby")
        found = {name: str((connection.execute(f"SHOW {name}").fetchone() or ("",))[0]) for name in named}
        for name, (refused, wanted, why) in _REFUSED.items():
            if found[name] == refused:
                raise FileError(f"the PostgreSQL server has {name} = {refused}, with which {why}; set it {wanted}")
        if found["in_hot_standby"] == "on":
            raise StoreFullError("the PostgreSQL server is a standby, which cannot store reports")

    def _drop_if_broken(self) -> None:
        if self._connection is None:
            return
        # a server that shuts down sends a message: there is input without a request
        if self._connection.closed or _readable(self._connection.fileno()):
            self.close()

    def close(self) -> None:
        """Close the connection; the next use connects again."""
        with self._guard:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def _readable(descriptor: int) -> bool:
    watched = select.poll()
    watched.register(descriptor, select.POLLIN)
    return bool(watched.poll(0))


# ---- the store


class PostgresStore:
    """See :class:`assocpriv.collect.store.ReportStore`; a commit whose response is lost may still hold."""

    def __init__(self, folder: Path, plan: "PublishedPlan", url: PostgresUrl, sizes: BatchSizes) -> None:
        """Open a plan's schema, or make it; the first folder that does is the home, which gets the report files.

        Raises:
            FileError: no such server, one that can lose acknowledged data, or a schema or folder of another plan.
        """
        self.folder, self.plan, self._sizes, self.conflicts = folder, plan, sizes, 0
        self._most, self._unseen = sizes.limit_for(plan), 0
        schema = f"assocpriv_{plan.plan_id[:_DIGITS]}"
        self._writing, self._reading, self._closing = (_Link(url, schema) for _ in range(3))
        self._mark = replace(read_mark(folder) or new_mark(), store=url.noted, open_reports=None)
        try:
            with self._writing.transaction() as database:
                self._prepare(database, schema)
        except StoreFullError as error:
            raise FileError(str(error)) from None
        except FileError:
            self._writing.close()
            raise
        self._has_pending = self.is_home

    def _prepare(self, database: "Connection[Any]", schema: str) -> None:
        # several collectors may start at a time, and then IF NOT EXISTS alone fails
        database.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (schema,))
        database.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        if database.execute(_IS_OURS, (schema,)).fetchone() != (True,):
            raise FileError(
                f"the schema {schema} of the database belongs to another role, whose tables could record more than "
                f"reports; inspect it, then drop it or ALTER SCHEMA {schema} OWNER TO the collector's role"
            )
        for statement in _TABLES:
            database.execute(statement)
        found = database.execute("SELECT plan, home, version FROM collection").fetchone()
        text = self.plan.canonical_json
        if found is None:
            row = (text, self._mark.folder_id, secrets.token_bytes(NAMES_KEY_BYTES))
            database.execute("INSERT INTO collection(plan, home, names_key) VALUES (%s, %s, %s)", row)
        elif found[0] != text:
            raise FileError(f"the schema {schema} of the database belongs to another plan; name another database")
        elif found[2] != _VERSION:
            raise other_version(f"the schema {schema} of the database", found[2], _VERSION)
        self.is_home = found is None or found[1] == self._mark.folder_id
        prepare_folder(self.folder, self.plan)
        remove_partial_files(self.folder)
        self._mark.write(self.folder)  # before the database can name this folder as its home

    # ---- storing

    def add(self, uploads: Sequence[Upload]) -> list[int | RequestRefused]:
        """Store uploads; see the protocol."""
        records = records_of(uploads, self.plan)
        ids = ids_of(records)
        keys = sorted({upload.key for upload in uploads} - {NO_KEY})
        with self._writing.transaction() as database:
            used = dict[int, int]()
            if keys:
                database.execute(_USE, (keys,))
                used = dict(database.execute(_USED, (keys,)).fetchall())
            added = _new_ids(database, dict.fromkeys(ids))
            if len(set(ids)) < len(ids):
                self.conflicts += count_conflicts(ids, records, {})
            results, stored = accept(uploads, ids, set(ids) - added, used)
            if refused := added - {ids[place] for place in np.flatnonzero(stored).tolist()}:
                selected = [each.hex() for each in refused]
                database.execute("DELETE FROM ids WHERE id = ANY(%s::uuid[])", (selected,))
            self._insert(database, uploads, records, stored)
        self._unseen += int(stored.sum())
        return results

    def _insert(
        self, database: "Connection[Any]", uploads: Sequence[Upload], rows: NDArray[np.uint8], stored: NDArray[np.bool_]
    ) -> None:
        of_key = np.repeat([upload.key for upload in uploads], [upload.count for upload in uploads])
        for key in np.unique(of_key[stored]).tolist():
            chosen = rows[stored & (of_key == key), ID_BYTES:]
            row = (key, len(chosen), chosen.tobytes())
            database.execute("INSERT INTO reports VALUES (%s, %s, %s)", row, binary=True)
            if key != NO_KEY:
                database.execute("UPDATE used SET count = count + %s WHERE key = %s", (len(chosen), key))

    # ---- counting

    def status(self) -> StoreStatus:
        """Return the numbers of reports and batches; only the home's collector knows those set aside."""
        by_key, closed, pending, open_count = self._count_all()
        return StoreStatus(by_key.total() - open_count, open_count, closed, pending)

    def counts_by_key(self) -> dict[int, int]:
        """Return the number of reports of each key."""
        return {key: count for key, count in sorted(self._count_all()[0].items()) if count}

    def _count_all(self) -> tuple[Counter[int], int, int, int]:
        """Return reports by key, numbers of closed and pending batches, and the number of open reports."""
        with self._reading.transaction() as database:
            database.execute("LOCK TABLE batches IN SHARE MODE")  # no batch is rotated or dropped meanwhile
            (batches,) = database.execute("SELECT batches FROM collection").fetchone() or (0,)
            pending = _pending(database)
            closed = Counter[int](dict(database.execute("SELECT key, count FROM closed").fetchall()))
            still_open = sum((_counts(database, table) for table in ("reports", *pending)), Counter[int]())
            if self.is_home:
                closed, _ = closed_counts(self.folder, {table.removeprefix(_BATCH) for table in pending})
        return closed + still_open, batches, len(pending), still_open.total()

    # ---- closing

    def rotate(self, *, allow_small: bool = False) -> None:
        """Start a new open batch; see the protocol. Only the home's collector does this."""
        with self._closing.transaction() as database:
            self._check_home(database)
            database.execute("LOCK TABLE batches IN EXCLUSIVE MODE")
            database.execute("LOCK TABLE reports IN ACCESS EXCLUSIVE MODE")
            if reports := _counts(database, "reports").total():
                self._sizes.check(reports, self.plan, allow_small=allow_small)
                token = secrets.token_hex(8)
                database.execute(f"ALTER TABLE reports RENAME TO {_BATCH}{token}")
                database.execute(_REPORTS)
                database.execute("INSERT INTO batches VALUES (%s)", (token,))
        self._has_pending = True

    def erase_order(self) -> bool:
        """Do nothing: the database has its own files; see the protocol."""
        return False

    def has_pending(self) -> bool:
        """Return whether batches are pending here; now and then, count what other collectors stored."""
        if self.is_home and self._unseen * _CHECKS >= self._most:
            self._unseen = 0
            try:
                with self._writing.transaction() as database:
                    full = _counts(database, "reports").total() >= self._most
                if full:
                    self.rotate()
            except FileError as error:
                _LOG.error("%s", error)
        return self.is_home and self._has_pending

    def close_pending(self) -> int:
        """Close the pending batches; see the protocol."""
        with self._closing.holding(f"assocpriv closing {self.plan.plan_id}"):
            with self._closing.transaction() as database:
                self._check_home(database)
                pending = _pending(database)
            for table in pending:
                with self._closing.transaction() as database:
                    by_key = self._read(database, table)
                write_batch_files(by_key, self.folder, table.removeprefix(_BATCH), self.plan, self._sizes)
                with self._closing.transaction() as database:
                    _drop_batch(database, table, by_key)
            self._has_pending = False
        return len(pending)

    def _read(self, database: "Connection[Any]", table: str) -> dict[int, NDArray[np.uint8]]:
        found = dict[int, list[bytes]]()
        cursor = database.cursor(binary=True)
        for key, packed in cursor.stream(f"SELECT key, packed FROM {table}"):
            found.setdefault(key, []).append(packed)
        shape = (-1, self.plan.report_bytes)
        return {key: np.frombuffer(b"".join(parts), np.uint8).reshape(shape) for key, parts in found.items()}

    def _check_home(self, database: "Connection[Any]") -> None:
        self.is_home = database.execute("SELECT home FROM collection").fetchone() == (self._mark.folder_id,)
        if not self.is_home:
            raise FileError(
                f"batches of this database are closed into another collector's folder, not into {self.folder}"
            )

    def names_key(self) -> bytes:
        """Return the secret key for file names, the same for all collectors; see the protocol."""
        with self._reading.transaction() as database:
            (key,) = database.execute("SELECT names_key FROM collection").fetchone() or (b"",)
        return bytes(key)

    def close(self) -> None:
        """Close the connections, and note in the folder how many reports are in open batches."""
        try:
            open_count: int | None = self.status().open
        except FileError:
            open_count = None
        replace(self._mark, open_reports=open_count).write(self.folder)
        for link in (self._writing, self._reading, self._closing):
            link.close()


def _new_ids(database: "Connection[Any]", ids: Iterable[bytes]) -> set[bytes]:
    """Add distinct ids, and return those that are new."""
    row = database.execute(_NEW_IDS, ([each.hex() for each in ids],), binary=True).fetchone()
    added: bytes = (row and row[0]) or b""
    return {added[start : start + ID_BYTES] for start in range(0, len(added), ID_BYTES)}


def _drop_batch(database: "Connection[Any]", table: str, by_key: Mapping[int, NDArray[np.uint8]]) -> None:
    """Drop a batch whose report files are on disk, and add its counts."""
    database.execute("LOCK TABLE batches IN EXCLUSIVE MODE")
    for key, reports in by_key.items():
        database.execute(
            "INSERT INTO closed VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET count = closed.count + excluded.count",
            (key, len(reports)),
        )
    database.execute("UPDATE collection SET batches = batches + 1")
    database.execute("DELETE FROM batches WHERE token = %s", (table.removeprefix(_BATCH),))
    database.execute(f"DROP TABLE {table}")


def _pending(database: "Connection[Any]") -> list[str]:
    """Return the tables of pending batches."""
    return [f"{_BATCH}{token}" for (token,) in database.execute("SELECT token FROM batches ORDER BY token")]


def _counts(database: "Connection[Any]", table: str) -> Counter[int]:
    """Return the number of reports of each key in a table."""
    return Counter(dict(database.execute(f"SELECT key, sum(count)::bigint FROM {table} GROUP BY key").fetchall()))
