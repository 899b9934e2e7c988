"""What a thief of the disk sees of the order in which reports came through a relay: the raw bytes of all files.

A process stores reports whose ids have a mark, and the files are searched for it, whatever their formats: while it
runs, after a stop, after kill -9. Orders are compared by their correlation, whose standard deviation by chance is
1/√(N − 1); a bound of 4.9 of these is exceeded once in 10^6 times.
"""

import re
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from running_collector import PLAN, RECORD

from assocpriv.collect import batch_closing
from assocpriv.collect.slots import SlotBatch
from assocpriv.collect.sqlite import SqliteStore
from assocpriv.collect.store import read_upload
from assocpriv.files import open_batches

MARK = b"mArK"
CHILD = """
import sys
from pathlib import Path
from collect.test_order_on_disk import store_in_order
data, sizes = Path(sys.argv[1]), sys.argv[2:]
killed, stopped = [[store_in_order(data / end / size, int(size)) for size in sizes] for end in ("kill", "stop")]
print("stored", flush=True)
input()
for store in stopped:
    store.close()
print("stopped", flush=True)
input()
"""
SIZES = 60, 1000, 20_000


def record(number: int) -> bytes:
    """Return a record with a number."""
    return MARK + number.to_bytes(4, "big") + bytes(RECORD - 8)


def store_in_order(folder: Path, reports: int, *, oblivious: bool = True) -> SqliteStore:
    """Return an open store of numbered reports, at most 50 of them in one commit."""
    store, number, size = SqliteStore(folder, PLAN, oblivious=oblivious), 0, 1
    while number < reports:
        group = range(number, min(number + size, reports))
        assert store.add([read_upload(record(each), PLAN, own_row=True) for each in group]) == [1] * len(group)
        number, size = group.stop, size % 50 + 1
    return store


def orders(folder: Path) -> list[list[int]]:
    """Return the numbers of reports in each file that has any, in the order of its bytes."""
    files = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    found = [[int.from_bytes(each, "big") for each in re.findall(MARK + b"(....)", file, re.DOTALL)] for file in files]
    return [each for each in found if each]


def deviations(order: list[int]) -> float:
    """Return the correlation of an order with that of arrival, in its standard deviations by chance."""
    return float(np.corrcoef(order, np.arange(len(order)))[0, 1]) * (len(order) - 1) ** 0.5


def test_no_file_shows_the_order(tmp_path: Path) -> None:
    """All reports are in one file, in an order that is unrelated to their arrival; its time is midnight."""
    data, seen = tmp_path / "data", tmp_path / "seen"
    for end in ("kill", "stop"):
        (data / end).mkdir(parents=True)
    command = [sys.executable, "-c", CHILD, str(data), *map(str, SIZES)]
    pipes, environment = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE), {"PYTHONPATH": ":".join(sys.path)}
    with subprocess.Popen(command, **pipes, env=environment) as child:
        assert child.stdout.readline() == b"stored\n"
        shutil.copytree(data, seen)
        child.stdin.write(b"\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"stopped\n"
        child.kill()
    for end, reports in product(("kill", "stop"), SIZES):
        folder = data / end / str(reports)
        for place in (seen / end / str(reports), folder):
            (order,) = orders(place)
            assert sorted(order) == list(range(reports))
            assert abs(deviations(order)) < 4.9
        assert {path.stat().st_mtime % 86400 for path in (folder / "open").iterdir()} == {0}
        store = SqliteStore(folder, PLAN)
        assert store.status().reports == reports
        store.close()


def test_of_two_reports_either_may_stand_first(tmp_path: Path) -> None:
    """In 64 collections of two reports; outside 12 to 52 once in 10^6 times."""
    first = 0
    for place in range(64):
        store_in_order(tmp_path / str(place), 2).close()
        (order,) = orders(tmp_path / str(place))
        first += order[0] == 0
    assert 12 < first < 52


def test_a_database_shows_the_order(tmp_path: Path) -> None:
    """The same search finds the order in SQLite's files, which collectors without a relay have."""
    store = store_in_order(tmp_path / "data", 60, oblivious=False)
    assert max(abs(deviations(order)) for order in orders(tmp_path / "data")) > 4.9
    store.close()


def test_a_form_is_changed_at_the_next_start(tmp_path: Path) -> None:
    """Reports of a database move into slots, and back, also if both files are there after a crash."""
    store_in_order(tmp_path, 60, oblivious=False).close()
    shutil.copy(tmp_path / "open/1.sqlite", tmp_path / "before.sqlite")
    for oblivious, name in ((True, "1.slots"), (None, "1.slots"), (False, "1.sqlite"), (True, "1.slots")):
        store = SqliteStore(tmp_path, PLAN, oblivious=oblivious)
        assert store.status().reports == 60
        assert store.add([read_upload(record(7), PLAN)]) == [0]
        store.close()
        assert [path.name for path in open_batches.batch_files(tmp_path)] == [name]
    shutil.move(tmp_path / "before.sqlite", tmp_path / "open/1.sqlite")
    assert len(open_batches.read_open_batches(tmp_path)[1]) == 1
    store = SqliteStore(tmp_path, PLAN, oblivious=True)
    assert store.status().reports == 60
    store.close()
    (order,) = orders(tmp_path)
    assert abs(deviations(order)) < 4.9


def test_a_slot_whose_write_broke_off_is_no_report(tmp_path: Path) -> None:
    """It was not acknowledged: the report can be sent again, and counts once."""
    store_in_order(tmp_path, 60).close()
    path = tmp_path / "open/1.slots"
    content = bytearray(path.read_bytes())
    content[content.index(record(7)) + RECORD - 1] ^= 1
    path.write_bytes(content)
    store = SqliteStore(tmp_path, PLAN)
    assert store.status().reports == 59
    assert store.add([read_upload(record(each), PLAN) for each in (7, 8)]) == [1, 0]
    store.close()
    assert SqliteStore(tmp_path, PLAN).status().reports == 60


def full(_: object) -> None:
    """Fail as a full disk does."""
    raise OSError(28, "full")


def test_an_error_of_the_disk_adds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report is refused, and can be sent again."""
    store = store_in_order(tmp_path, 60)
    monkeypatch.setattr(SlotBatch, "erase_order", full)
    with pytest.raises(open_batches.FileError, match="not stored"):
        store.add([read_upload(record(100), PLAN)])
    monkeypatch.undo()
    assert store.status().reports == 60
    assert store.add([read_upload(record(100), PLAN)]) == [1]
    store.close()
    assert SqliteStore(tmp_path, PLAN).status().reports == 61


def test_a_file_that_cannot_grow_keeps_its_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the larger file has the name already: reports stored later are in the file that is read at a start."""
    store = store_in_order(tmp_path, 2048)
    monkeypatch.setattr(batch_closing, "sync_folder", full)
    with pytest.raises(open_batches.FileError, match="disk full"):
        store.add([read_upload(record(3000), PLAN)])
    monkeypatch.undo()
    assert store.add([read_upload(record(3001), PLAN)]) == [1]
    store.close()
    (order,) = orders(tmp_path)
    assert sorted(order) == [*range(2048), 3001]
