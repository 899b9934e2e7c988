"""Reports of one plan in PostgreSQL, which several front ends store into; one of them seals into its folder.

A plan has a schema of its own. A group of uploads is one transaction: its new ids go into the table ``ids``, whose key
makes each count once whoever stores it, and its reports into the table ``reports``, a row a key. No column links the
two or tells a time or an order, and the order in which PostgreSQL itself keeps ``reports`` ends with the epoch:

    end     ``reports`` is renamed to ``epoch_<token>`` and a new one made; this waits for all who are storing
    seal    the epoch is read, and written as report files whose names hold the token; then they are on disk
    forget  its counts are added to ``sealed`` and the table is dropped, in one transaction

Whatever breaks off, an epoch's table is there until its report files are, and a file that is there is not written
again. Only the folder that the schema names as its home gets them, so a report is in one collection.

A connection is made when it is needed and again when it has broken, and never tells the password. A server that can
lose what it has acknowledged, or that keeps the times of transactions, is refused at each connection.
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

from assocpriv.collect.sealing import sealed_counts, sweep, write_sealed
from assocpriv.collect.sqlite import prepare_folder
from assocpriv.collect.store import NAMES_KEY_BYTES, EpochSizes, StoreFullError, StoreStatus, accept, count_conflicts
from assocpriv.collect.wire import NO_KEY, Refused, Upload, ids_of, records_of
from assocpriv.files.unsealed import new_mark, other_version, read_mark
from assocpriv.plans.published import ID_BYTES
from assocpriv.promise.errors import FileError, PlanError

if TYPE_CHECKING:
    from psycopg import Connection

    from assocpriv.plans.published import PublishedPlan

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

_DIGITS = 12  # of a plan's id, in the name of its schema
_LOOKS = 16  # for a full epoch while one fills
_LOG = logging.getLogger("assocpriv")
_VERSION = 1  # of the tables
_EPOCH = "epoch_"  # then a token: the table of an epoch that has ended
_REPORTS = "CREATE TABLE IF NOT EXISTS reports(key int NOT NULL, count int NOT NULL, packed bytea NOT NULL)"
_TABLES = (
    "CREATE TABLE IF NOT EXISTS collection(plan text NOT NULL, home text NOT NULL, names_key bytea NOT NULL, "
    "epochs bigint NOT NULL DEFAULT 0)",
    f"ALTER TABLE collection ADD COLUMN IF NOT EXISTS version int NOT NULL DEFAULT {_VERSION}",
    "CREATE TABLE IF NOT EXISTS ids(id uuid PRIMARY KEY)",
    _REPORTS,
    "CREATE TABLE IF NOT EXISTS used(key int PRIMARY KEY, count bigint NOT NULL)",
    "CREATE TABLE IF NOT EXISTS epochs(token text PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS sealed(key int PRIMARY KEY, count bigint NOT NULL)",
)
_IS_OURS = "SELECT pg_get_userbyid(nspowner) = current_user FROM pg_namespace WHERE nspname = %s"
_NEW_IDS = (  # in order, so that two who store the same ids wait for each other and neither for both
    "WITH added AS (INSERT INTO ids SELECT id FROM unnest(%s::uuid[]) AS given(id) ORDER BY id "
    "ON CONFLICT DO NOTHING RETURNING id) SELECT string_agg(uuid_send(id), ''::bytea) FROM added"
)
_USE = "INSERT INTO used SELECT key, 0 FROM unnest(%s::int[]) AS given(key) ORDER BY key ON CONFLICT DO NOTHING"
_USED = "SELECT key, count FROM used WHERE key = ANY(%s) ORDER BY key FOR UPDATE"


# ---- the connection


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
        self.noted = f"@{Path(url[1:]).absolute()}" if url.startswith("@") else self.without_password

    @classmethod
    def of_mark(cls, store: str) -> "PostgresUrl":
        """Return what ``noted`` told; the password is in that file, or libpq's to find, as in that of PGPASSFILE."""
        if store.startswith("@"):
            return cls(store)
        url = cls.__new__(cls)
        url._take(store)
        url.noted = store
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
        return text + "; name it in the URL of store=, or in a file PGPASSFILE" * ("no password" in text)


def _first_line(path: Path) -> str:
    try:
        return (path.read_text(encoding="utf-8").splitlines() or [""])[0].strip()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FileError(f"{path} is no text; its first line is the URL of the store") from None


class _Link:
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


# ---- the store


class PostgresStore:
    """See :class:`assocpriv.collect.store.ReportStore`; a commit whose answer is lost may hold all the same."""

    def __init__(self, folder: Path, plan: "PublishedPlan", url: PostgresUrl, sizes: EpochSizes) -> None:
        """Open a plan's schema, or make it; the first folder that does is the one that reports are sealed into.

        Raises:
            FileError: no such server, one that loses what it has acknowledged, or a schema or folder of another plan.
        """
        self.folder, self.plan, self._sizes, self.conflicts = folder, plan, sizes, 0
        self._most, self._unseen = sizes.most_of(plan), 0
        schema = f"assocpriv_{plan.plan_id[:_DIGITS]}"
        self._writing, self._reading, self._sealing = (_Link(url, schema) for _ in range(3))
        self._mark = replace(read_mark(folder) or new_mark(), store=url.noted, unsealed=None)
        try:
            with self._writing.transaction() as database:
                self._prepare(database, schema)
        except StoreFullError as error:
            raise FileError(str(error)) from None
        except FileError:
            self._writing.close()
            raise
        self._has_ended = self.is_home

    def _prepare(self, database: "Connection[Any]", schema: str) -> None:
        # several front ends may start at a time, and IF NOT EXISTS alone fails then
        database.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (schema,))
        database.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        if database.execute(_IS_OURS, (schema,)).fetchone() != (True,):
            raise FileError(
                f"the schema {schema} of the database belongs to another role, whose tables could keep more than "
                f"reports; see what it is, and drop it or ALTER SCHEMA {schema} OWNER TO the collector's role"
            )
        for statement in _TABLES:
            database.execute(statement)
        found = database.execute("SELECT plan, home, version FROM collection").fetchone()
        text = self.plan.canonical_json
        if found is None:
            row = (text, self._mark.folder_id, secrets.token_bytes(NAMES_KEY_BYTES))
            database.execute("INSERT INTO collection(plan, home, names_key) VALUES (%s, %s, %s)", row)
        elif found[0] != text:
            raise FileError(f"the schema {schema} of the database is of another plan; name another database")
        elif found[2] != _VERSION:
            raise other_version(f"the schema {schema} of the database", found[2], _VERSION)
        self.is_home = found is None or found[1] == self._mark.folder_id
        prepare_folder(self.folder, self.plan)
        sweep(self.folder)
        self._mark.write(self.folder)  # before the database may name this folder its home

    # ---- storing

    def add(self, uploads: Sequence[Upload]) -> list[int | Refused]:
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
            accepted = accept(uploads, ids, set(ids) - added, used)
            if refused := added - {ids[place] for place in np.flatnonzero(accepted.stored).tolist()}:
                listed = [each.hex() for each in refused]
                database.execute("DELETE FROM ids WHERE id = ANY(%s::uuid[])", (listed,))
            self._insert(database, uploads, records, accepted.stored)
        self._unseen += int(accepted.stored.sum())
        return accepted.results

    def _insert(
        self,
        database: "Connection[Any]",
        uploads: Sequence[Upload],
        records: NDArray[np.uint8],
        stored: NDArray[np.bool_],
    ) -> None:
        of_key = np.repeat([upload.key for upload in uploads], [upload.count for upload in uploads])
        for key in np.unique(of_key[stored]).tolist():
            chosen = records[stored & (of_key == key), ID_BYTES:]
            row = (key, len(chosen), chosen.tobytes())
            database.execute("INSERT INTO reports VALUES (%s, %s, %s)", row, binary=True)
            if key != NO_KEY:
                database.execute("UPDATE used SET count = count + %s WHERE key = %s", (len(chosen), key))

    # ---- counting

    def status(self) -> StoreStatus:
        """Return how many reports there are; of those that are set aside only the home's front end knows."""
        by_key, epochs, waiting, unsealed = self._look()
        return StoreStatus(by_key.total() - unsealed, unsealed, epochs, waiting)

    def counts_by_key(self) -> dict[int, int]:
        """Return how many reports came with each key."""
        return {key: count for key, count in sorted(self._look()[0].items()) if count}

    def _look(self) -> tuple[Counter[int], int, int, int]:
        """Return how many reports came with each key, how many epochs are sealed, wait, and reports unsealed."""
        with self._reading.transaction() as database:
            database.execute("LOCK TABLE epochs IN SHARE MODE")  # no epoch ends or is dropped meanwhile
            (epochs,) = database.execute("SELECT epochs FROM collection").fetchone() or (0,)
            waiting = _ended(database)
            sealed = Counter[int](dict(database.execute("SELECT key, count FROM sealed").fetchall()))
            unsealed = sum((_counts(database, table) for table in ("reports", *waiting)), Counter[int]())
            if self.is_home:
                sealed, _ = sealed_counts(self.folder, {table.removeprefix(_EPOCH) for table in waiting})
        return sealed + unsealed, epochs, len(waiting), unsealed.total()

    # ---- sealing

    def rotate(self, *, few: bool = False) -> None:
        """End the open epoch; see the protocol. Only the front end of the collection's home does."""
        with self._sealing.transaction() as database:
            self._check_home(database)
            database.execute("LOCK TABLE epochs IN EXCLUSIVE MODE")
            database.execute("LOCK TABLE reports IN ACCESS EXCLUSIVE MODE")
            if reports := _counts(database, "reports").total():
                self._sizes.check(reports, self.plan, few=few)
                token = secrets.token_hex(8)
                database.execute(f"ALTER TABLE reports RENAME TO {_EPOCH}{token}")
                database.execute(_REPORTS)
                database.execute("INSERT INTO epochs VALUES (%s)", (token,))
        self._has_ended = True

    def settle(self) -> None:
        """Do nothing: the database has its own files; see the protocol."""

    def must_seal(self) -> bool:
        """Tell whether there are epochs to seal here; looks at what other front ends store now and then."""
        if self.is_home and self._unseen * _LOOKS >= self._most:
            self._unseen = 0
            try:
                with self._writing.transaction() as database:
                    full = _counts(database, "reports").total() >= self._most
                if full:
                    self.rotate()
            except FileError as error:
                _LOG.error("%s", error)
        return self.is_home and self._has_ended

    def seal(self) -> int:
        """Seal the epochs that have ended; see the protocol."""
        with self._sealing.holding(f"assocpriv sealing {self.plan.plan_id}"):
            with self._sealing.transaction() as database:
                self._check_home(database)
                ended = _ended(database)
            for table in ended:
                with self._sealing.transaction() as database:
                    by_key = self._read(database, table)
                write_sealed(by_key, self.folder, table.removeprefix(_EPOCH), self.plan, self._sizes)
                with self._sealing.transaction() as database:
                    _forget(database, table, by_key)
            self._has_ended = False
        return len(ended)

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
                f"reports of this database are sealed into the folder of another front end, not into {self.folder}"
            )

    def names_key(self) -> bytes:
        """Return the secret of names, the same to all front ends; see the protocol."""
        with self._reading.transaction() as database:
            (key,) = database.execute("SELECT names_key FROM collection").fetchone() or (b"",)
        return bytes(key)

    def close(self) -> None:
        """Let go of the server, and note in the folder how many reports are not sealed."""
        try:
            unsealed: int | None = self.status().unsealed
        except FileError:
            unsealed = None
        replace(self._mark, unsealed=unsealed).write(self.folder)
        for link in (self._writing, self._reading, self._sealing):
            link.close()


def _new_ids(database: "Connection[Any]", ids: Iterable[bytes]) -> set[bytes]:
    """Add ids, each given once, and return those that were not there."""
    listed = [each.hex() for each in ids]
    row = database.execute(_NEW_IDS, (listed,), binary=True).fetchone()
    added: bytes = (row and row[0]) or b""
    return {added[start : start + ID_BYTES] for start in range(0, len(added), ID_BYTES)}


def _forget(database: "Connection[Any]", table: str, by_key: Mapping[int, NDArray[np.uint8]]) -> None:
    """Remove an epoch of which the report files are on disk, and add up what it held."""
    database.execute("LOCK TABLE epochs IN EXCLUSIVE MODE")
    for key, reports in by_key.items():
        database.execute(
            "INSERT INTO sealed VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET count = sealed.count + excluded.count",
            (key, len(reports)),
        )
    database.execute("UPDATE collection SET epochs = epochs + 1")
    database.execute("DELETE FROM epochs WHERE token = %s", (table.removeprefix(_EPOCH),))
    database.execute(f"DROP TABLE {table}")


def _ended(database: "Connection[Any]") -> list[str]:
    """Return the tables of the epochs that have ended."""
    return [f"{_EPOCH}{token}" for (token,) in database.execute("SELECT token FROM epochs ORDER BY token")]


def _counts(database: "Connection[Any]", table: str) -> Counter[int]:
    """Return how many reports of each key a table has."""
    rows = database.execute(f"SELECT key, sum(count)::bigint FROM {table} GROUP BY key").fetchall()
    return Counter(dict(rows))
