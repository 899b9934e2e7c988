"""Tests of upgrade and rollback: data of another version is reported as such, stays unchanged, and works there."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from collect.postgres_server import Server
from running_collector import PLAN, numbers_in, upload

import assocpriv as ap
from assocpriv.collect import close_batches, collection_status, make_service
from assocpriv.collect.folder import open_store
from assocpriv.collect.sqlite import SqliteStore
from assocpriv.collect.store import BatchSizes, close_all_batches
from assocpriv.files.open_batches import batch_files
from assocpriv.guarantees.errors import FileError

USES: list[Callable[[Path], Any]] = [
    ap.read_reports, collection_status, lambda folder: make_service(PLAN, folder),
    lambda folder: SqliteStore(folder, PLAN), lambda folder: close_batches(folder, allow_small=True),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a collector that holds a closed batch of three reports and an open one of two."""
    store = open_store(tmp_path / "collection", PLAN, sizes=BatchSizes(3, 100))
    store.add([upload(range(3))])
    close_all_batches(store)
    store.add([upload(range(3, 5))])
    store.close()
    return tmp_path / "collection"


def changed(path: Path, *statements: str) -> bytes:
    """Change a database, and return its bytes."""
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()
    return path.read_bytes()


def test_a_batch_of_a_later_version(folder: Path) -> None:
    """After a rollback all name the other version and change nothing; after an upgrade all reports are there."""
    (path,) = batch_files(folder)
    later = changed(path, "PRAGMA user_version = 2", "ALTER TABLE uploads RENAME TO arrived")
    for use in USES:
        with pytest.raises(FileError, match=r"made by another version.* format is 2, known here is 1") as caught:
            use(folder)
        assert "is damaged" not in str(caught.value)
        assert path.read_bytes() == later
    changed(path, "PRAGMA user_version = 1", "ALTER TABLE arrived RENAME TO uploads")
    assert numbers_in(folder) == list(range(5))


def test_a_batch_of_the_previous_version(folder: Path) -> None:
    """An upgraded collector continues it: each report counts once, and it is closed."""
    changed(batch_files(folder)[0], "PRAGMA user_version = 0", "ALTER TABLE batch ADD COLUMN ids_token TEXT")
    store = SqliteStore(folder, PLAN)
    assert store.add([upload(range(2, 7))]) == [2]
    assert close_all_batches(store, allow_small=True) == 1
    store.close()
    assert numbers_in(folder) == list(range(7))


@pytest.mark.parametrize(
    ("name", "unknown"),
    [
        ("batches.json", {"minimum": 3, "maximum": 100, "x": 1}),
        ("removed.json", {"files": {}, "x": 1}),
        ("removed.json", {"files": {"a": {"key": 1, "reports": 1, "closed": "2026-01-01", "x": 1}}}),
        ("keys.json", {"keys": [], "x": 1}),
        ("keys.json", {"keys": [{"number": 1, "name": "a", "sha256": "0" * 64, "x": 1}]}),
        ("store.json", {"folder_id": "a", "store": "", "open_reports": 0, "x": 1}),
    ],
)
def test_notes_of_another_version(folder: Path, name: str, unknown: dict[str, Any]) -> None:
    """So are other JSON files of a folder; in this version's, unknown fields are refused at any level."""
    form = f"assocpriv-{name.removesuffix('.json')}"
    for content, message in (
        ({"version": 7, "new": True}, "was made by another version.* format is 7, known here is 1"),
        ({"version": 1, **unknown}, "is damaged"),
    ):
        (folder / name).write_text(json.dumps({"format": form, **content}))
        with pytest.raises(FileError, match=f"{name} {message}"):
            make_service(PLAN, folder)


def test_tables_of_another_version(folder: Path, database: Server) -> None:
    """So are the tables in PostgreSQL."""
    place = folder.with_name("front")
    open_store(place, PLAN, database.url).close()
    (schema,) = database.ask("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'assocpriv%'")[0]
    database.ask(f"UPDATE {schema}.collection SET version = 2 RETURNING 1")
    with pytest.raises(FileError, match=f"the schema {schema} of the database was made by another version"):
        open_store(place, PLAN, database.url)
