"""Tests of the store in SQLite: crashes while closing, full disks, unsuitable folders, and concurrent readers."""

import asyncio
import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from naive import planned
from running_collector import PLAN, Opened, Visitor, numbers_in, records, upload

import assocpriv as ap
from assocpriv.collect import batch_closing, collection_status, make_service
from assocpriv.collect.sqlite import SqliteStore
from assocpriv.collect.store import StoreFullError, close_all_batches, read_upload, refuse_malformed
from assocpriv.files import open_batches
from assocpriv.files.open_batches import batch_files, open_database
from assocpriv.guarantees.errors import FileError, WireError


def test_ids_of_batches_are_merged(opened: Opened, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorted in one file, so that no id is linked to a batch; a full file stays, and another begins."""
    monkeypatch.setattr(batch_closing, "_IDS_A_FILE", 6)
    store = opened()
    for numbers in ([5, 1, 3], [4, 0, 2], [7, 6], [8]):
        store.add([upload(numbers)])
        close_all_batches(store, allow_small=True)
    found = sorted(path.read_bytes() for path in (folder / "ids").glob("*.ids"))
    assert found == [b"".join(records([number])[:16] for number in part) for part in (range(6), range(6, 9))]
    assert all(path.stat().st_mtime % 86_400 == 0 for path in (folder / "ids").iterdir())
    for _ in range(2):
        assert store.add([upload(range(9))]) == [0]
        store = opened()


def test_ids_that_begin_alike(opened: Opened, folder: Path) -> None:
    """Sorted files are searched by all 16 bytes."""
    store = opened()
    alike = [bytes(15) + bytes([last]) + bytes(PLAN.report_bytes) for last in range(0, 200, 2)]
    store.add([read_upload(b"".join(alike), PLAN)])
    close_all_batches(store, allow_small=True)
    odd = [each[:15] + bytes([each[15] + 1]) + each[16:] for each in alike]
    assert store.add([read_upload(b"".join(odd + alike), PLAN)]) == [100]


def test_a_full_disk_stores_nothing_of_a_group(opened: Opened, folder: Path) -> None:
    """Ids of reports that were not written are unknown: the same reports, sent again, are new."""
    store = opened()
    store.add([upload(range(10))])
    database = store._open.database
    database.execute(f"PRAGMA max_page_count = {database.execute('PRAGMA page_count').fetchone()[0]}")
    with pytest.raises(StoreFullError):
        store.add([upload(range(5000, 20000))])
    database.execute("PRAGMA max_page_count = 1000000")
    assert store.add([upload(range(9, 5000))]) == [4990]
    assert numbers_in(folder) == list(range(5000))


def test_a_disk_that_is_full_at_the_start(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder in which no batch can be created is refused in one line; with free space it is accepted."""
    with monkeypatch.context() as patch:
        patch.setattr(open_batches, "SCHEMA", ("PRAGMA max_page_count = 1", *open_batches.SCHEMA))
        with pytest.raises(FileError, match=r"cannot create a batch in .*is full; is the disk full\?"):
            SqliteStore(folder, PLAN)
    SqliteStore(folder, PLAN).close()


def test_closing_continues_after_a_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system error ends no thread: the batch is closed after the next upload."""
    failing, now = [True], mmap.mmap

    def mapped(*arguments: Any, **options: Any) -> Any:
        if failing.pop() if failing else False:
            raise OSError(24, "Too many open files")
        return now(*arguments, **options)

    monkeypatch.setattr(mmap, "mmap", mapped)
    with Visitor(make_service(PLAN, folder, batch_reports=(1, 1), allow_small=True, admin=False)) as visitor:
        taken = [visitor.send(records([0])).status == 200]
        while not visitor.get("/status").json["batches_closed"]:
            assert len(taken) < 3000
            visitor.run(asyncio.sleep(0.1))
            taken.append(visitor.send(records([len(taken)])).status == 200)
    assert numbers_in(folder) == [number for number, is_taken in enumerate(taken) if is_taken]


def test_only_the_owner_reads_ids_and_order(opened: Opened, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a folder that others may list; readers without permission for open batches get an error, not a part."""
    folder.mkdir(mode=0o755)
    store = opened()
    store.add([upload([1])])
    assert [(folder / name).stat().st_mode & 0o777 for name in ("open", "ids")] == [0o700] * 2

    def refused(_: Path) -> list[str]:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(open_batches.os, "listdir", refused)
        with pytest.raises(FileError, match=r"cannot read .*open: .*; run this as the collector's user"):
            ap.read_reports(folder)


def test_other_tables_in_the_folder_are_not_counted(opened: Opened, folder: Path) -> None:
    """Rules and other tables in the folder are no reports with missing ids."""
    store = opened()
    store.add([upload(range(5))])
    close_all_batches(store, allow_small=True)
    pq.write_table(pa.table({"confidence": [0.5, 0.6]}), folder / "rules.parquet")
    assert (opened().status().closed, collection_status(folder).reports) == (5, 5)


def test_files_without_a_day_stay(folder: Path) -> None:
    """They are counted, and never removed by age."""
    folder.mkdir()
    ap.Reports.from_bytes([records([1])[16:]], PLAN).write(folder / "undated.parquet")
    assert batch_closing.remove_before(folder, 1) == ({}, 1)
    assert numbers_in(folder) == [1]


def test_malformed_reports_are_listed(folder: Path) -> None:
    """Of a group only the upload with a malformed report is refused, and the refusal lists its id."""
    plan = planned(items=3, transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    assert plan.report_bytes == 1
    good, bad = bytes(16) + b"\x01", bytes(15) + b"\x07" + b"\xff"
    refused = refuse_malformed([read_upload(each, plan) for each in (good, good + bad)], plan)
    assert [each and each.to_json()["ids"] for each in refused] == [None, [bad[:16].hex()]]


def test_a_crash_while_a_folder_is_made(folder: Path) -> None:
    """A partly written plan, which a kill leaves in a new folder, is no foreign file: the next start removes it."""
    folder.mkdir()
    (folder / "lock").touch()
    (folder / ".plan.json.01ab23cd.part").write_bytes(b"{")
    SqliteStore(folder, PLAN).close()
    assert sorted(each.name for each in folder.iterdir()) == ["ids", "lock", "open", "plan.json"]


def test_reading_while_a_collector_runs(opened: Opened, folder: Path) -> None:
    """Readers see the reports stored when they opened the folder, also on repeated reads; an empty folder has none."""
    store = opened()
    assert len(ap.read_reports(folder)) == 0
    store.add([upload(range(5))])
    reports = ap.read_reports(folder)
    store.add([upload(range(5, 9))])
    close_all_batches(store, allow_small=True)
    assert len(reports) == 5
    assert sum(map(len, reports.batches(2))) == 5
    assert numbers_in(folder) == list(range(9))
    store.add([upload(range(9, 12))])
    both = ap.read_reports(folder)  # closed and open batches
    assert (len(both), len(both.in_memory)) == (12, 3)
    assert np.array_equal(both.packed, np.concatenate(list(both.batches(5))))
    other = planned(items=21, transaction_size=3, guarantee=ap.Guarantee("5%", "50%"))
    SqliteStore(folder.with_name("other"), other).close()
    with pytest.raises(WireError, match="different plans"):
        ap.read_reports([folder, folder.with_name("other")])


def test_databases_are_durable(opened: Opened, folder: Path) -> None:
    """An acknowledgement relies on the journal and its syncing."""
    store = opened()
    asked = [store._open.database.execute(f"PRAGMA {name}").fetchone() for name in ("journal_mode", "synchronous")]
    assert asked == [("wal",), (2,)]
    with open_database(batch_files(folder)[0]) as database, pytest.raises(Exception, match="readonly"):
        database.execute("DELETE FROM uploads")


@pytest.mark.parametrize("lost", [1, 5])
def test_missing_ids_are_noticed(opened: Opened, folder: Path, lost: int) -> None:
    """A folder in which ids of closed reports are missing is not served: retries would count twice."""
    store = opened()
    store.add([upload(range(5))])
    close_all_batches(store, allow_small=True)
    store.close()
    (ids,) = (folder / "ids").iterdir()
    if lost == 5:
        ids.unlink()
    else:
        os.truncate(ids, (5 - lost) * 16)
    with pytest.raises(FileError, match=f"lacks submission ids of {lost} closed report"):
        opened()
