"""Tests that every store must pass, SQLite's and PostgreSQL's: each report once, quotas, sealing."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from uploads import PLAN, records, stored, upload

import assocpriv as ap
from assocpriv.collect import collection_status, set_aside
from assocpriv.collect.folder import open_store
from assocpriv.collect.store import ReportStore
from assocpriv.collect.wire import Refused, read_upload

Opened = Callable[..., ReportStore]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a place for a store."""
    return tmp_path / "collection"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """Name a store, a new one."""
    return "sqlite" if request.param == "sqlite" else str(request.getfixturevalue("database").url)


@pytest.fixture
def opened(folder: Path, url: str) -> Iterator[Opened]:
    """Give a function that opens the store, also again; what is open at the end is closed."""
    stores: list[ReportStore] = []

    def open_it(**options: Any) -> ReportStore:
        while stores:
            stores.pop().close()
        stores.append(open_store(folder, PLAN, url, **options))
        return stores[-1]

    yield open_it
    for store in stores:
        store.close()


def found(store: ReportStore, folder: Path) -> list[int]:
    """Return the numbers of all reports, sealed for this."""
    store.rotate()
    store.seal()
    return stored(folder)


def results(store: ReportStore, *uploads: Any) -> list[Any]:
    """Store a group; a refusal becomes its reason."""
    return [each.reason if isinstance(each, Refused) else each for each in store.add(uploads)]


def test_each_id_counts_once(opened: Opened, folder: Path) -> None:
    """Within an upload, a group, an epoch, after rotation, after sealing and after a restart."""
    store = opened()
    assert results(store, upload(range(10)), upload([9, 10, 10])) == [10, 1]
    store.rotate()
    assert results(store, upload([3, 11])) == [1]
    assert store.seal() == 1
    assert results(store, upload([3, 11, 12])) == [1]
    assert results(store, upload([1])) == [0]
    assert (store.status().sealed, store.status().unsealed) == (11, 2)
    assert stored(folder)[:11] == list(range(11))
    store = opened()
    assert results(store, upload([0, 5, 11, 12, 13])) == [1]
    assert (store.status().reports, found(store, folder)) == (14, list(range(14)))


def test_files_are_gathered_into_either_store(folder: Path, url: str, tmp_path: Path) -> None:
    """A file that comes again counts once, as the secret behind the ids of names outlives the run."""
    (tmp_path / "inbox").mkdir()
    for found in ((2, 0), (0, 2)):
        for number in range(2):
            (tmp_path / "inbox" / f"{number}").write_bytes(records([number])[16:])
        done = ap.gather(tmp_path / "inbox", PLAN, folder, store=url)
        assert (done.gathered, done.repeated) == found
        assert collection_status(folder).sealed == 2
    assert stored(folder) == [0, 1]


def test_the_first_report_of_an_id_stays(opened: Opened, folder: Path) -> None:
    """An id that comes with other bytes is a duplicate, in the same request too."""
    store = opened()
    first, other = records([7]), records([7])[:16] + records([8])[16:]
    assert results(store, read_upload(first + other, PLAN), read_upload(other, PLAN)) == [1, 0]
    assert found(store, folder) == [7]


def test_what_is_sealed_tells_neither_ids_nor_order(opened: Opened, folder: Path) -> None:
    """Rows are shuffled: of 64 in a row the order of arrival is kept with chance 1/64!; ids are apart, or nowhere."""
    store = opened()
    store.add([upload(list(range(63, -1, -1)))])
    store.rotate()
    store.seal()
    (file,) = folder.glob("*.parquet")
    came = next(ap.read_reports(file).batches(100))[:, 0].tolist()
    assert sorted(came) == list(range(64))
    assert came not in (sorted(came), sorted(came, reverse=True))
    assert file.stat().st_mtime == 946_684_800
    ids = list((folder / "ids").iterdir())
    assert all(each.stem != file.stem for each in ids)
    assert all(each.read_bytes() == b"".join(sorted(records([n])[:16] for n in range(64))) for each in ids)


def test_epochs_end_by_their_number_of_reports(opened: Opened, folder: Path) -> None:
    """An epoch that is as long as it may be is ended, and then sealed, without being asked for."""
    store, sealed = opened(epoch_reports=4), 0
    for start in range(0, 36, 3):
        store.add([upload(range(start, start + 3))])
        sealed += store.seal() if store.must_seal() else 0
    assert sealed >= 5
    assert store.status().unsealed <= 6
    assert found(store, folder) == list(range(36))


def test_a_quota_is_exact(opened: Opened) -> None:
    """Up to it all is taken, beyond it nothing of a request; repeats are free; it outlives sealing and restart."""
    store = opened()
    assert results(store, upload(range(6), 1, 10), upload(range(6, 12), 1, 10), upload(range(6, 9), 1, 10)) == [
        6,
        "quota",
        3,
    ]
    assert results(store, upload(range(9), 1, 10), upload([9, 10], 1, 10), upload([9], 2, 1)) == [0, "quota", 1]
    store.rotate()
    store.seal()
    store = opened()
    (refusal,) = store.add([upload([10, 11], 1, 10)])
    assert isinstance(refusal, Refused)
    assert (refusal.status, refusal.details) == (429, {"quota": 10, "left": 1})
    assert results(store, upload([10], 1, 10), upload([11], 1, 10), upload([11])) == [1, "quota", 1]
    assert store.counts_by_key() == {0: 1, 1: 10, 2: 1}


def test_a_quota_holds_while_many_send(opened: Opened) -> None:
    """Eight at once, each with 20 reports of one key and 20 that all send: of the key just its quota is stored."""
    store, taken = opened(), list[Any]()

    def send(number: int) -> None:
        for each in range(20):
            taken.extend(results(store, upload([100 + 20 * number + each], 5, 50), upload([each])))

    threads = [threading.Thread(target=send, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.counts_by_key() == {0: 20, 5: 50}
    assert taken.count("quota") == 160 - 50
    assert sum(each for each in taken if each != "quota") == 70


def test_setting_one_source_aside(opened: Opened, folder: Path, url: str) -> None:
    """Its reports leave the collection and come back; its quota stays used, and what others sent stays."""
    store = opened()
    store.add([upload(range(5), 1, 10), upload(range(5, 8), 2), upload(range(8, 10))])
    store.rotate()
    store.seal()
    store.add([upload(range(10, 13), 1, 10)])
    store.close()
    assert set_aside(folder, 1, store=url) == 8
    assert stored(folder) == list(range(5, 10))
    status = collection_status(folder)
    assert (status.reports, status.by_key, status.set_aside) == (5, {0: 2, 2: 3}, {1: 8})
    store = opened()
    assert store.status().reports == 5
    assert results(store, upload(range(13, 16), 1, 10), upload([0], 1, 10)) == ["quota", 0]
    store.close()
    assert set_aside(folder, 1, restore=True, store=url) == 8
    assert stored(folder) == list(range(13))
    assert opened().counts_by_key() == {0: 2, 1: 8, 2: 3}
