"""Upgrade and rollback: what another version made is told as that, stays as it is, and goes on with that version."""

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
from assocpriv.collect import collection_status, make_service, seal_collection
from assocpriv.collect.folder import open_store
from assocpriv.collect.sqlite import SqliteStore
from assocpriv.collect.store import EpochSizes, seal_all
from assocpriv.files.unsealed import epoch_files
from assocpriv.promise.errors import FileError

USES: list[Callable[[Path], Any]] = [
    ap.read_reports, collection_status, lambda folder: make_service(PLAN, folder),
    lambda folder: SqliteStore(folder, PLAN), lambda folder: seal_collection(folder, few=True),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a collector that holds a sealed epoch of three reports and an open one of two."""
    store = open_store(tmp_path / "collection", PLAN, sizes=EpochSizes(3, 100))
    store.add([upload(range(3))])
    seal_all(store)
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


def test_an_epoch_of_a_later_version(folder: Path) -> None:
    """Rolled back, a collector and whoever reads say whose it is, and touch nothing; upgraded again, all is there."""
    (path,) = epoch_files(folder)
    later = changed(path, "PRAGMA user_version = 2", "ALTER TABLE uploads RENAME TO arrived")
    for use in USES:
        with pytest.raises(
            FileError, match=r"sqlite was made by another version.* format is 2, known here is 1"
        ) as told:
            use(folder)
        assert "damaged" not in str(told.value)
        assert path.read_bytes() == later
    changed(path, "PRAGMA user_version = 1", "ALTER TABLE arrived RENAME TO uploads")
    assert numbers_in(folder) == list(range(5))


def test_an_epoch_of_the_version_before(folder: Path) -> None:
    """An upgraded collector goes on with it: each report counts once, and it is sealed."""
    changed(epoch_files(folder)[0], "PRAGMA user_version = 0", "ALTER TABLE epoch ADD COLUMN ids_token TEXT")
    store = SqliteStore(folder, PLAN)
    assert store.add([upload(range(2, 7))]) == [2]
    assert seal_all(store, few=True) == 1
    store.close()
    assert numbers_in(folder) == list(range(7))


@pytest.mark.parametrize(
    ("name", "unknown"),
    [
        ("epochs.json", {"fewest": 3, "most": 100, "x": 1}),
        ("removed.json", {"files": {}, "x": 1}),
        ("removed.json", {"files": {"a": {"key": 1, "reports": 1, "sealed": "2026-01-01", "x": 1}}}),
        ("keys.json", {"keys": [], "x": 1}),
        ("keys.json", {"keys": [{"number": 1, "name": "a", "sha256": "0" * 64, "x": 1}]}),
        ("store.json", {"folder_id": "a", "store": "", "unsealed": 0, "x": 1}),
    ],
)
def test_notes_of_another_version(folder: Path, name: str, unknown: dict[str, Any]) -> None:
    """So with what a folder notes beside the reports; of this version, unknown fields are refused at any level."""
    form = f"assocpriv-{name.removesuffix('.json')}"
    for content, said in (
        ({"version": 7, "new": True}, "was made by another version.* format is 7, known here is 1"),
        ({"version": 1, **unknown}, "is damaged"),
    ):
        (folder / name).write_text(json.dumps({"format": form, **content}))
        with pytest.raises(FileError, match=f"{name} {said}"):
            make_service(PLAN, folder)


def test_tables_of_another_version(folder: Path, database: Server) -> None:
    """So with the tables in PostgreSQL."""
    place = folder.with_name("front")
    open_store(place, PLAN, database.url).close()
    (schema,) = database.ask("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'assocpriv%'")[0]
    database.ask(f"UPDATE {schema}.collection SET version = 2 RETURNING 1")
    with pytest.raises(FileError, match=f"the schema {schema} of the database was made by another version"):
        open_store(place, PLAN, database.url)
