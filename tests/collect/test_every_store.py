"""Tests of both stores, SQLite and PostgreSQL: each report counts once, quotas, closing."""

import os
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from running_collector import PLAN, Opened, numbers_in, read_upload, records, upload

import assocpriv as ap
from assocpriv.collect import batch_closing, collection_status, postgres, remove_reports, set_aside
from assocpriv.collect.folder import open_store
from assocpriv.collect.store import BatchSizes, BatchTooSmallError, ReportStore, RequestRefused, close_all_batches
from assocpriv.guarantees.errors import FileError


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """Return the URL of a new store."""
    return "sqlite" if request.param == "sqlite" else str(request.getfixturevalue("database").url)


def found(store: ReportStore, folder: Path) -> list[int]:
    """Close all batches, and return the numbers of all reports."""
    close_all_batches(store, allow_small=True)
    return numbers_in(folder)


def results(store: ReportStore, *uploads: Any) -> list[Any]:
    """Store a group; a refusal becomes its reason."""
    return [each.reason if isinstance(each, RequestRefused) else each for each in store.add(uploads)]


def test_each_id_counts_once(opened: Opened, folder: Path) -> None:
    """Within an upload, a group, a batch, after rotation, after closing and after a restart."""
    store = opened()
    assert results(store, upload(range(10)), upload([9, 10, 10])) == [10, 1]
    store.rotate(allow_small=True)
    assert results(store, upload([3, 11])) == [1]
    assert store.close_pending() == 1
    assert results(store, upload([3, 11, 12])) == [1]
    assert results(store, upload([1])) == [0]
    assert (store.status().closed, store.status().open) == (11, 2)
    assert numbers_in(folder)[:11] == list(range(11))
    store = opened()
    assert results(store, upload([0, 5, 11, 12, 13])) == [1]
    assert (store.status().reports, found(store, folder)) == (14, list(range(14)))


def test_ids_that_come_again_with_other_bytes(opened: Opened, folder: Path, url: str) -> None:
    """They count as conflicts, unlike repeats: always within a commit, in SQLite also later while the batch is open."""

    def other(number: int, key: int = 0) -> Any:
        return read_upload(records([number])[:16] + b"\x01" * PLAN.report_bytes, PLAN, key)

    store, kept = opened(), int(url == "sqlite")
    assert store.conflicts == 0
    assert results(store, upload(range(5)), upload(range(5, 9), key=2), upload([1, 2])) == [5, 4, 0]
    assert results(store, upload([1, 7])) == [0]
    assert store.conflicts == 0
    assert results(store, other(1), other(7, key=2)) == [0, 0]
    assert store.conflicts == 2 * kept
    assert results(store, upload([20]), upload([20]), other(20)) == [1, 0, 0]
    assert results(store, read_upload(records([21]) + records([21])[:16] + records([8])[16:], PLAN)) == [1]
    assert store.conflicts == 2 * kept + 2
    store.rotate(allow_small=True)
    for expected in (3 * kept + 2, 3 * kept + 2):
        assert results(store, other(1)) == [0]
        assert store.conflicts == expected
        store.close_pending()  # of closed reports only ids are stored
    assert found(store, folder) == [*range(9), 20, 21]  # the first report of each id
    assert results(store, upload([30])) == [1]
    store = opened()
    assert results(store, other(30)) == [0]
    assert store.conflicts == kept


def test_files_are_gathered_into_either_store(folder: Path, url: str, tmp_path: Path) -> None:
    """A batch of a thousand is closed. A repeated file counts once: the secret key of ids outlives the run."""
    (tmp_path / "inbox").mkdir()
    for numbers, found, closed in ((range(999), (999, 0), 0), (range(998, 1000), (1, 1), 1000)):
        for number in numbers:
            (tmp_path / "inbox" / f"{number}").write_bytes(records([number])[16:])
        done = ap.gather(tmp_path / "inbox", PLAN, folder, store=url)
        assert (done.gathered, done.repeated) == found
        assert (collection_status(folder).closed, done.collections[0].open) == (closed, 0 if closed else 999)
    assert numbers_in(folder) == list(range(1000))


def test_closed_batches_show_neither_ids_nor_order(opened: Opened, folder: Path) -> None:
    """Rows are shuffled over uploads: neighbours are Poisson of mean 1, 20 in 10⁻¹⁸; ids are apart, or nowhere."""
    store = opened()
    for start in (48, 32, 16, 0):
        store.add([upload(range(start, start + 16))])
    close_all_batches(store, allow_small=True)
    (file,) = folder.glob("*.parquet")
    came = next(ap.read_reports(file).batches(100))[:, 0].tolist()
    assert sorted(came) == list(range(64))
    assert max(sum(b - a == step for a, b in pairwise(came)) for step in (1, -1)) < 20
    assert file.stat().st_mtime % 86_400 == 0
    ids = list((folder / "ids").iterdir())
    assert all(each.stem != file.stem for each in ids)
    assert all(each.read_bytes() == b"".join(sorted(records([n])[:16] for n in range(64))) for each in ids)


def test_small_batches_stay_open(opened: Opened, folder: Path) -> None:
    """A batch below the minimum size is closed only with allow_small; its file holds the minimum and the day."""
    store = opened(sizes=BatchSizes(10, 1000))
    store.add([upload(range(9), key=1)])
    for _ in range(2):
        with pytest.raises(
            BatchTooSmallError, match=r"^the open batch has 9 reports, below .* of 10: .*allow_small=True"
        ):
            close_all_batches(store)
        store = opened()  # the folder holds the minimum
    assert (store.status().closed, store.status().open, list(folder.glob("*.parquet"))) == (0, 9, [])
    store.add([upload([9])])
    assert [close_all_batches(store) for _ in range(2)] == [1, 0]
    store.add([upload([10], key=2)])
    assert close_all_batches(store, allow_small=True) == 1
    assert numbers_in(folder) == list(range(11))
    metadata = {path.name[16:]: pq.read_metadata(path).metadata for path in folder.glob("*.parquet")}
    minimum = {".parquet": b"10", "-key-1.parquet": b"10", "-key-2.parquet": b"1"}
    assert {name: each[b"assocpriv.minimum_batch_size"] for name, each in metadata.items()} == minimum
    days = {date.fromisoformat(each[b"assocpriv.closed"].decode()) for each in metadata.values()}
    assert all(timedelta(0) <= datetime.now(UTC).date() - day <= timedelta(1) for day in days)


def test_closed_reports_are_removed_by_age(
    opened: Opened, folder: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those set aside, and after an interruption; ids stay known, and quotas stay used."""
    store, day = opened(), [date(2026, 1, 1)]
    monkeypatch.setattr(batch_closing, "_today", lambda: day[0])
    os.utime(folder / "plan.json", (0, 0))
    store.add([upload(range(5), 1, 10), upload([100])])
    close_all_batches(store, allow_small=True)
    store.close()
    assert set_aside(folder, 1, store=url) == 5
    store, day[0] = opened(), date(2026, 1, 31)
    store.add([upload(range(5, 8), 1, 10), upload([101])])
    close_all_batches(store, allow_small=True)
    store.add([upload([8], 1, 10)])
    store.close()
    with pytest.raises(BatchTooSmallError, match="the open batch has 1 report, below the minimum of 1,000"):
        set_aside(folder, 1, store=url)
    for days in (-1, 0):
        with pytest.raises(FileError, match="from 1 on"):
            remove_reports(folder, days)
    assert remove_reports(folder, 10**12) == ({}, 0)  # before the first date
    day[0], real = date(2026, 2, 10), Path.unlink

    def refused(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == ".parquet":
            raise PermissionError(13, "Permission denied")
        real(path, missing_ok=missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refused)
        with pytest.raises(FileError, match="run this again to finish"):
            remove_reports(folder, 30)
    assert (collection_status(folder).removed, collection_status(folder).set_aside) == (0, {1: 5})
    assert [remove_reports(folder, 30) for _ in range(2)] == [({"2026-01-01": 6}, 0), ({}, 0)]
    status = collection_status(folder)
    assert (status.removed, status.closed, status.set_aside) == (6, 4, {})
    store = opened()
    assert results(store, upload([0, 100]), upload([9, 10], 1, 10), upload([9], 1, 10)) == [0, "quota", 1]
    assert found(store, folder) == [5, 6, 7, 8, 9, 101]


def test_dates_of_a_wrong_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A batch is dated no earlier than an earlier one; leaps are said, and dates ahead when reports are removed."""
    store, day = open_store(tmp_path, PLAN), [date(2026, 1, 1)]
    monkeypatch.setattr(batch_closing, "_today", lambda: day[0])
    os.utime(tmp_path / "plan.json", (0, datetime(2025, 12, 30, tzinfo=UTC).timestamp()))
    said = []
    for number, (year, month) in enumerate([(2026, 1), (2020, 1), (2026, 2), (2031, 1), (2026, 3)]):
        caplog.clear()
        day[0] = date(year, month, 1)
        store.add([upload([number])])
        close_all_batches(store, allow_small=True)
        said.append("the clock shows" in caplog.text)
    assert said == [False, True, False, True, True]
    store.close()
    day[0] = date(2027, 2, 1)
    caplog.clear()
    assert remove_reports(tmp_path, 365) == ({"2026-01-01": 2}, 0)
    assert "2 reports dated after today" in caplog.text


class CrashError(BaseException):
    """The process ends."""


STEPS = {
    "sqlite": [(batch_closing, "_merge_ids"), (batch_closing, "write_reports"), (batch_closing, "remove_batch")],
    "postgresql": [(batch_closing, "write_reports"), (batch_closing, "sync_folder"), (postgres, "_drop_batch")],
}


def test_a_crash_while_closing_neither_loses_nor_doubles(
    opened: Opened, folder: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a crash at any step, also between two files, the next start finishes; each report and id is there once."""
    there = 0
    for place, name in STEPS[url.partition(":")[0]]:
        store = opened(sizes=BatchSizes(1, 1000))
        store.add([upload(range(there, there + 6), 1), upload(range(there + 6, there + 9))])
        store.rotate(allow_small=True)
        store.add([upload([there + 9])])
        real, left = getattr(place, name), [name == "write_reports"]

        def crash(*given: Any, real: Any = real, left: list[bool] = left, **options: Any) -> Any:
            if left.pop() if left else False:
                return real(*given, **options)
            raise CrashError

        with monkeypatch.context() as patch:
            patch.setattr(place, name, crash)
            with pytest.raises(CrashError):
                store.close_pending()
        there += 10
        store = opened(sizes=BatchSizes(1, 1000))
        assert store.add([upload(range(there))]) == [0]
        assert store.status().reports == there
        assert found(store, folder) == list(range(there))
        ids = sum(path.stat().st_size for path in (folder / "ids").glob("*.ids"))
        assert ids == (16 * there if url == "sqlite" else 0)


def test_batches_end_by_their_number_of_reports(opened: Opened, folder: Path) -> None:
    """A batch of the maximum size is rotated, and then closed, without a request."""
    store, closed = opened(sizes=BatchSizes(1, 4)), 0
    for start in range(0, 36, 3):
        store.add([upload(range(start, start + 3))])
        closed += store.close_pending() if store.has_pending() else 0
        assert start or not closed  # 3 of 4
    assert closed >= 5
    assert store.status().open <= 6
    assert found(store, folder) == list(range(36))


def test_a_quota_is_exact(opened: Opened) -> None:
    """Up to it all is accepted, beyond it nothing of a request; repeats are free; it outlives closing and restart."""
    store = opened()
    sent = [upload(range(*part), 1, 10) for part in ((6,), (6, 12), (6, 9))]
    assert results(store, *sent) == [6, "quota", 3]
    assert results(store, upload(range(9), 1, 10), upload([9, 10], 1, 10), upload([9], 2, 1)) == [0, "quota", 1]
    close_all_batches(store, allow_small=True)
    store = opened()
    (refusal,) = store.add([upload([10, 11], 1, 10)])
    assert isinstance(refusal, RequestRefused)
    assert (refusal.status, refusal.details) == (429, {"quota": 10, "remaining": 1})
    assert results(store, upload([10], 1, 10), upload([11], 1, 10), upload([11])) == [1, "quota", 1]
    assert store.counts_by_key() == {0: 1, 1: 10, 2: 1}


def test_setting_one_source_aside(opened: Opened, folder: Path, url: str) -> None:
    """Its reports leave the collection and come back; its quota stays used, and reports of other keys stay."""
    store = opened(sizes=BatchSizes(1))
    store.add([upload(range(5), 1, 10), upload(range(5, 8), 2), upload(range(8, 10))])
    close_all_batches(store, allow_small=True)
    store.add([upload(range(10, 13), 1, 10)])
    store.close()
    assert set_aside(folder, 1, store=url) == 8
    assert numbers_in(folder) == list(range(5, 10))
    status = collection_status(folder)
    assert (status.reports, status.by_key, status.set_aside) == (5, {0: 2, 2: 3}, {1: 8})
    store = opened()
    assert store.status().reports == 5
    assert results(store, upload(range(13, 16), 1, 10), upload([0], 1, 10)) == ["quota", 0]
    store.close()
    assert set_aside(folder, 1, restore=True, store=url) == 8
    assert numbers_in(folder) == list(range(13))
    assert opened().counts_by_key() == {0: 2, 1: 8, 2: 3}
