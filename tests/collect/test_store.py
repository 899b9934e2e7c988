"""Tests of the store in SQLite: crashes while it seals, full disks, folders that are something else, readers beside."""

import asyncio
import mmap
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from naive import planned
from running_collector import PLAN, Visitor, numbers_in, records, upload

import assocpriv as ap
from assocpriv.collect import collection_status, make_service, sealing, sqlite
from assocpriv.collect.sqlite import SqliteStore
from assocpriv.collect.store import seal_all
from assocpriv.collect.wire import Refused, read_upload, refuse_malformed
from assocpriv.files import unsealed
from assocpriv.files.unsealed import epoch_files, open_epoch
from assocpriv.promise.errors import FileError, WireError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a place for a store."""
    return tmp_path / "collection"


def test_ids_of_epochs_lie_together(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorted in one file, so that none is known to be of an epoch; a full one stays, and another is begun."""
    monkeypatch.setattr(sealing, "_IDS_A_FILE", 6)
    store = SqliteStore(folder, PLAN)
    for numbers in ([5, 1, 3], [4, 0, 2], [7, 6], [8]):
        store.add([upload(numbers)])
        seal_all(store, few=True)
    found = sorted(path.read_bytes() for path in (folder / "ids").glob("*.ids"))
    assert found == [b"".join(records([number])[:16] for number in part) for part in (range(6), range(6, 9))]
    assert all(path.stat().st_mtime % 86_400 == 0 for path in (folder / "ids").iterdir())
    for _ in range(2):
        assert store.add([upload(range(9))]) == [0]
        store.close()
        store = SqliteStore(folder, PLAN)
    store.close()


def test_ids_that_begin_alike(folder: Path) -> None:
    """Sorted files are searched by all 16 bytes."""
    store = SqliteStore(folder, PLAN)
    alike = [bytes(15) + bytes([last]) + bytes(PLAN.report_bytes) for last in range(0, 200, 2)]
    store.add([read_upload(b"".join(alike), PLAN)])
    store.rotate(few=True)
    store.seal()
    odd = [each[:15] + bytes([each[15] + 1]) + each[16:] for each in alike]
    assert store.add([read_upload(b"".join(odd + alike), PLAN)]) == [100]
    store.close()


def test_a_full_disk_stores_nothing_of_a_group(folder: Path) -> None:
    """What could not be written is not known either: sent again, it is new."""
    store = SqliteStore(folder, PLAN)
    store.add([upload(range(10))])
    database = store._open.database
    database.execute(f"PRAGMA max_page_count = {database.execute('PRAGMA page_count').fetchone()[0]}")
    with pytest.raises(sqlite.StoreFullError):
        store.add([upload(range(5000, 20000))])
    database.execute("PRAGMA max_page_count = 1000000")
    assert store.add([upload(range(9, 5000))]) == [4990]
    assert numbers_in(folder) == list(range(5000))
    store.close()


def test_a_disk_that_is_full_at_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder in which no epoch can be begun is refused in a line; with room it is taken."""
    with monkeypatch.context() as patch:
        patch.setattr(unsealed, "SCHEMA", ("PRAGMA max_page_count = 1", *unsealed.SCHEMA))
        with pytest.raises(FileError, match=r"cannot begin an epoch in .*is full; is the disk full\?"):
            SqliteStore(folder, PLAN)
    SqliteStore(folder, PLAN).close()


def test_sealing_goes_on_after_it_failed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the system ends no thread: what could not be sealed is sealed after the next upload."""
    failing, now = [True], mmap.mmap

    def mapped(*arguments: Any, **options: Any) -> Any:
        if failing.pop() if failing else False:
            raise OSError(24, "Too many open files")
        return now(*arguments, **options)

    monkeypatch.setattr(mmap, "mmap", mapped)
    sent = {"assocpriv_plan": PLAN.plan_id, "content_type": "application/octet-stream"}
    with Visitor(make_service(PLAN, folder, epoch_reports=(1, 1), few=True, admin=False)) as visitor:
        taken = [visitor.post("/reports", records([0]), **sent).status == 200]
        while not visitor.get("/status").json["epochs_sealed"]:
            assert len(taken) < 100
            visitor.run(asyncio.sleep(0.1))
            taken.append(visitor.post("/reports", records([len(taken)]), **sent).status == 200)
    assert numbers_in(folder) == [number for number, is_taken in enumerate(taken) if is_taken]


def test_ids_and_order_are_their_owners_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a folder that others may look into; whoever may not read open epochs is told, and not given the rest."""
    folder.mkdir(mode=0o755)
    store = SqliteStore(folder, PLAN)
    store.add([upload([1])])
    assert [(folder / name).stat().st_mode & 0o777 for name in ("open", "ids")] == [0o700] * 2

    def refused(_: Path) -> list[str]:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(unsealed.os, "listdir", refused)
        with pytest.raises(FileError, match=r"cannot read .*open: Permission denied; read the collection as the user"):
            ap.read_reports(folder)
    store.close()


def test_tables_beside_the_reports_are_not_counted(folder: Path) -> None:
    """Rules and other tables that somebody puts there are no reports whose ids are missing."""
    store = SqliteStore(folder, PLAN)
    store.add([upload(range(5))])
    store.rotate(few=True)
    store.seal()
    store.close()
    pq.write_table(pa.table({"confidence": [0.5, 0.6]}), folder / "rules.parquet")
    store = SqliteStore(folder, PLAN)
    assert (store.status().sealed, collection_status(folder).reports) == (5, 5)
    store.close()


def test_files_that_do_not_tell_their_day_stay(folder: Path) -> None:
    """Whatever is removed, and they are counted: who sealed them did not say when."""
    folder.mkdir()
    ap.Reports.from_bytes([records([1])[16:]], PLAN).write(folder / "undated.parquet")
    assert sealing.remove_before(folder, 1) == ({}, 1)
    assert numbers_in(folder) == [1]


def test_malformed_reports_are_named(folder: Path) -> None:
    """Of a group of uploads the one with a report that no client sends is refused, and names its id."""
    plan = planned(items=3, transaction_size=2, promise=ap.Breach("5%", "50%"))
    assert plan.report_bytes == 1
    good, bad = bytes(16) + b"\x01", bytes(15) + b"\x07" + b"\xff"
    refused = refuse_malformed([read_upload(each, plan) for each in (good, good + bad)], plan)
    assert refused[0] is None
    assert isinstance(refused[1], Refused)
    assert refused[1].to_json()["ids"] == [bad[:16].hex()]


def test_a_crash_while_a_folder_is_made(folder: Path) -> None:
    """Half a plan, as a kill leaves it in a new folder, is no file of somebody else's: the next start removes it."""
    folder.mkdir()
    (folder / "lock").touch()
    (folder / ".plan.json.01ab23cd.part").write_bytes(b"{")
    SqliteStore(folder, PLAN).close()
    assert sorted(each.name for each in folder.iterdir()) == ["ids", "lock", "open", "plan.json"]


def test_reading_beside_a_collector(folder: Path) -> None:
    """Readers have what was stored when they opened the folder, however often they read; an empty one has none."""
    store = SqliteStore(folder, PLAN)
    assert len(ap.read_reports(folder)) == 0
    store.add([upload(range(5))])
    reports = ap.read_reports(folder)
    store.add([upload(range(5, 9))])
    store.rotate(few=True)
    store.seal()
    assert len(reports) == 5
    assert sum(map(len, reports.batches(2))) == 5
    assert numbers_in(folder) == list(range(9))
    store.add([upload(range(9, 12))])
    both = ap.read_reports(folder)  # sealed and not
    assert (len(both), len(both.in_memory)) == (12, 3)
    assert np.array_equal(both.packed, np.concatenate(list(both.batches(5))))
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    other = planned(items=21, transaction_size=3, promise=ap.Breach("5%", "50%"))
    SqliteStore(folder.with_name("other"), other).close()
    with pytest.raises(WireError, match="different plans"):
        ap.read_reports([copy, folder.with_name("other")])
    store.close()


def test_databases_are_as_durable_as_promised(folder: Path) -> None:
    """The journal and its syncing are what an acknowledgement rests on."""
    store = SqliteStore(folder, PLAN)
    assert store._open.database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert store._open.database.execute("PRAGMA synchronous").fetchone() == (2,)
    store.close()
    with open_epoch(epoch_files(folder)[0]) as database, pytest.raises(Exception, match="readonly"):
        database.execute("DELETE FROM uploads")


def test_missing_ids_are_noticed(folder: Path) -> None:
    """A folder whose sealed reports have lost their ids is not served: a retry would count twice."""
    store = SqliteStore(folder, PLAN)
    store.add([upload(range(5))])
    store.rotate(few=True)
    store.seal()
    store.close()
    (ids,) = (folder / "ids").iterdir()
    ids.unlink()
    with pytest.raises(FileError, match="lacks the submission ids of 5 reports"):
        SqliteStore(folder, PLAN)
