"""Tests of the store in PostgreSQL, with a real server: several front ends, restarts under load, refusals."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from collect.postgres_server import PASSWORD, QUOTED, Server
from running_collector import PLAN, Visitor, numbers_in, records, upload

import assocpriv as ap
from assocpriv.collect import close_batches, collection_status, make_service, postgres
from assocpriv.collect.folder import open_store
from assocpriv.collect.postgres import PostgresStore, PostgresUrl
from assocpriv.collect.store import BatchSizes, StoreFullError, close_all_batches
from assocpriv.guarantees.errors import FileError, PlanError

Two = tuple[PostgresStore, PostgresStore]


def front_end(folder: Path, server: Server) -> PostgresStore:
    """Open a store as a front end with its own folder."""
    return PostgresStore(folder, PLAN, PostgresUrl(server.url), BatchSizes(1, 1000))


@pytest.fixture
def two(tmp_path: Path, database: Server) -> Iterator[Two]:
    """Yield two front ends; the first is the collection's home."""
    stores = front_end(tmp_path / "one", database), front_end(tmp_path / "two", database)
    yield stores
    for store in stores:
        store.close()


def in_threads(*works: Any) -> None:
    """Run functions at the same time."""
    with ThreadPoolExecutor(len(works)) as pool:
        for running in [pool.submit(work) for work in works]:
            running.result()


def test_two_front_ends_count_an_id_once(two: Two, tmp_path: Path) -> None:
    """The same ids at the same time, in other orders and groups: one of the two accepts each."""
    accepted = list[Any]()

    def send(store: PostgresStore, forwards: bool) -> None:
        for start in range(0, 3000, 500):
            numbers = list(range(start, start + 500))[:: 1 if forwards else -1]
            accepted.extend(store.add([upload(numbers[:9], 1, 1000), upload(numbers[9:])]))

    in_threads(lambda: send(two[0], True), lambda: send(two[1], False))
    assert sum(accepted) == 3000
    close_all_batches(two[0], allow_small=True)
    assert numbers_in(tmp_path / "one") == list(range(3000))


def test_two_front_ends_share_quotas(two: Two) -> None:
    """Both at once store four reports of each of 30 keys with a quota of five: exactly five of each are stored."""

    def send(store: PostgresStore, first: int) -> None:
        for number in range(first, first + 120):
            store.add([upload([number], 1 + number % 120 // 4, 5)])

    in_threads(lambda: send(two[0], 0), lambda: send(two[1], 120))
    assert two[1].counts_by_key() == dict.fromkeys(range(1, 31), 5)


def test_one_front_end_closes(two: Two, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It also closes reports that the other one stored; the other one refuses to close, and both counts are equal."""
    two[1].add([upload(range(7), 3)])
    assert not two[1].has_pending()
    with pytest.raises(FileError, match="into another collector's folder"):
        two[1].rotate(allow_small=True)
    two[0].rotate(allow_small=True)
    monkeypatch.setattr(postgres, "_LOCK_SECONDS", 0.05)
    held = two[0]._reading.holding(f"assocpriv closing {PLAN.plan_id}")
    with held, pytest.raises(StoreFullError, match="lock timeout"):
        two[0].close_pending()
    assert two[0].close_pending() == 1
    assert numbers_in(tmp_path / "one") == list(range(7))
    assert two[0].status() == two[1].status()
    assert two[0].counts_by_key() == two[1].counts_by_key() == {3: 7}


def test_no_column_shows_an_order_or_a_time(two: Two, database: Server) -> None:
    """All columns are of these types, and none has a sequence or a default time."""
    columns = database.ask(
        "SELECT table_name, column_name, data_type, column_default, is_identity FROM information_schema.columns "
        "WHERE table_schema LIKE 'assocpriv%'"
    )
    assert {kind for _, _, kind, _, _ in columns} == {"text", "uuid", "integer", "bigint", "bytea"}
    assert {(default, identity) for _, _, _, default, identity in columns} == {(None, "NO"), ("0", "NO"), ("1", "NO")}
    of_reports = {(name, kind) for table, name, kind, _, _ in columns if table == "reports"}
    assert of_reports == {("key", "integer"), ("count", "integer"), ("packed", "bytea")}


def test_the_server_restarted_under_load(two: Two, tmp_path: Path, database: Server) -> None:
    """After two crashes under load, clients that retry until acknowledged have each report stored once."""
    acknowledged, refusals, done = Counter[int](), list[int](), threading.Event()

    def send(store: PostgresStore, first: int) -> None:
        number = first
        while not done.is_set() or number < first + 60:
            try:
                acknowledged[number] += sum(store.add([upload([number]), upload([number])]))
            except StoreFullError:
                refusals.append(number)
                time.sleep(0.02)
            else:
                number += 2
        store.add([upload([number])])
        acknowledged[number] += 1

    def restart() -> None:
        for _ in range(2):
            time.sleep(0.1)
            database.stop()
            time.sleep(0.05)
            database.start()
        done.set()

    in_threads(lambda: send(two[0], 0), lambda: send(two[1], 1), restart)
    assert refusals
    close_all_batches(two[0], allow_small=True)
    assert numbers_in(tmp_path / "one") == sorted(acknowledged)
    # a commit whose answer was lost holds: the retry is then a duplicate
    assert list(acknowledged.values()).count(0) <= len(refusals)
    assert set(acknowledged.values()) <= {0, 1}


def test_unsafe_server_settings_are_refused(tmp_path: Path, database: Server) -> None:
    """fsync or synchronous_commit off, or commit times on: a front end neither starts nor continues after a restart."""
    store = front_end(tmp_path / "one", database)
    for setting, message in (
        ("fsync=off", "fsync = off, with which a crash of its machine would lose acknowledged reports"),
        ("synchronous_commit=off", "synchronous_commit = off, with which"),
        ("track_commit_timestamp=on", "track_commit_timestamp = on, with which it would keep the time at which"),
    ):
        database.stop("fast")
        database.start(setting)
        with pytest.raises(FileError, match=message):
            front_end(tmp_path / "two", database)
        with pytest.raises(FileError, match=message):
            store.add([upload([1])])
    assert not (tmp_path / "two").exists()
    database.stop("fast")
    database.start()
    assert store.add([upload([1])]) == [1]
    store.close()


def test_a_full_disk_stores_nothing_of_a_group(two: Two, database: Server) -> None:
    """PostgreSQL's error also rolls back the ids: the same reports, sent again, are new."""
    store, _ = two
    schema = f"assocpriv_{PLAN.plan_id[:12]}"
    database.ask(
        f"CREATE FUNCTION {schema}.full() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END $$"
    )
    database.ask(f"CREATE TRIGGER full_disk BEFORE INSERT ON {schema}.reports EXECUTE FUNCTION {schema}.full()")
    with pytest.raises(StoreFullError, match="No space left"):
        store.add([upload(range(5), 1, 9)])
    database.ask(f"DROP TRIGGER full_disk ON {schema}.reports")
    assert store.add([upload(range(5), 1, 9), upload(range(5, 10), 1, 9)])[0] == 5
    assert store.counts_by_key() == {1: 5}


def test_the_password_is_shown_nowhere(
    tmp_path: Path, database: Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in errors on a wrong password or a malformed URL, nor in texts of objects, logs and files."""
    caplog.set_level(logging.DEBUG)
    shown = [repr(PostgresUrl(database.url))]
    for url in (
        "postgresql://u:CANARY%zz@h/d", "CANARY", "postgresql://u:CANARY@h/d?nonsense=1", "postgresql://[CANARY",
    ):  # fmt: skip
        with pytest.raises(PlanError) as refused:
            PostgresUrl(url)
        shown.append(str(refused.value))
    wrong = database.url.replace(QUOTED, "CANARY2")
    for url in (wrong, "postgresql://u:CANARY@localhost:1/d", database.url.replace("/postgres", "/CANARY")):
        with pytest.raises(FileError) as refused_server:
            open_store(tmp_path / "none", PLAN, url)
        shown.append(str(refused_server.value).replace('"CANARY"', ""))  # a database's name may be shown
    assert not (tmp_path / "none").exists()
    (tmp_path / "url").write_text(database.url + "\n")
    with closing(open_store(tmp_path / "one", PLAN, f"@{tmp_path / 'url'}")) as store:
        store.add([upload(range(3))])
    shown += [path.read_bytes().decode("latin-1") for path in (tmp_path / "one").rglob("*") if path.is_file()]
    assert "CANARY" not in "".join(shown) + caplog.text
    assert collection_status(tmp_path / "one").in_database == 3
    assert close_batches(tmp_path / "one", allow_small=True) == 3  # with the file noted in the folder
    (tmp_path / "url").unlink()
    with closing(open_store(tmp_path / "one", PLAN, database.url)) as store:
        store.add([upload([3])])
    (tmp_path / "pass").write_text(f"*:*:*:*:{PASSWORD}\n".replace(":pw", "\\:pw"))
    (tmp_path / "pass").chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
    assert close_batches(tmp_path / "one", allow_small=True) == 1  # with the URL noted in the folder
    assert collection_status(tmp_path / "one").in_database == 0


def test_readers_report_what_is_not_in_the_folder(
    tmp_path: Path, database: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """While the collector runs, and after it stops with open batches; not when all are closed."""
    caplog.set_level(logging.INFO)
    store = front_end(tmp_path / "one", database)
    store.add([upload(range(3))])
    assert len(ap.read_reports(tmp_path / "one")) == 0
    assert "reports in PostgreSQL left out: assocpriv collector close" in caplog.text
    store.close()
    ap.read_reports(tmp_path / "one")
    assert "one: 3 reports in PostgreSQL left out" in caplog.text
    assert close_batches(tmp_path / "one", store=database.url, allow_small=True) == 3
    caplog.clear()
    assert len(ap.read_reports(tmp_path / "one")) == 3
    assert caplog.text == ""


def test_a_schema_that_another_role_made_is_refused(tmp_path: Path, database: Server) -> None:
    """Plans, and so the names of their schemas, are public: another role could add a column with the time first."""
    schema = f"assocpriv_{PLAN.plan_id[:12]}"
    database.ask("CREATE ROLE colleague")
    try:
        database.ask(f"CREATE SCHEMA {schema} AUTHORIZATION colleague")
        database.ask(f"CREATE TABLE {schema}.reports(key int, count int, packed bytea, at timestamptz DEFAULT now())")
        with pytest.raises(FileError, match=f"the schema {schema} .*belongs to another role"):
            open_store(tmp_path / "one", PLAN, database.url)
    finally:
        database.forget()
        database.ask("DROP ROLE colleague")


def test_stores_are_not_mixed_up(tmp_path: Path, database: Server) -> None:
    """A folder stays with its first store, because only that has its ids."""
    open_store(tmp_path / "one", PLAN).close()
    with pytest.raises(FileError, match="has reports in SQLite"):
        open_store(tmp_path / "one", PLAN, database.url)
    open_store(tmp_path / "two", PLAN, database.url).close()
    with pytest.raises(FileError, match="are kept in PostgreSQL"):
        open_store(tmp_path / "two", PLAN, "sqlite")
    with pytest.raises(PlanError, match="store must be sqlite, postgresql://"):
        make_service(PLAN, tmp_path / "three", store="mysql://x")
    assert not (tmp_path / "three").exists()


def test_the_service_recovers_with_its_server(tmp_path: Path, database: Server) -> None:
    """While PostgreSQL is unreachable it answers 503, and then recovers automatically."""
    with Visitor(make_service(PLAN, tmp_path / "one", store=database.url, admin=False)) as visitor:
        assert visitor.send(records([1, 2])).json["accepted"] == 2
        database.stop()
        away = [visitor.send(records([3])), visitor.get("/status"), visitor.get("/metrics")]
        assert [(each.status, each.headers["retry-after"]) for each in away] == [(503, "5")] * 3
        assert visitor.get("/healthz").status == 200
        database.start()
        assert visitor.send(records([2, 3])).json == {"accepted": 1, "duplicates": 1}
        assert visitor.get("/status").json["reports"] == 3
