"""A ledger's file: damaged, truncated and hostile bytes; one process at a time opens it, also if it is moved."""

import json
import os
import stat
import threading
import time
from fractions import Fraction
from pathlib import Path

import pytest

from assocpriv.client import ledger_file
from assocpriv.client.ledger import Ledger
from assocpriv.client.ledger_file import HEADER, MARK, MOST_BYTES, Entry, parse_ledger
from assocpriv.guarantees.errors import FileError
from tests.client.test_ledger import BASKET, BUDGET, PLAN, report_periods
from tests.vectors import make_devices

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "devices.json").read_text(encoding="ascii"))
MOST_SECONDS = 60


def test_vectors_are_up_to_date() -> None:
    """The file of vectors has the current ledgers, spent budgets and refusals; JavaScript checks it too."""
    assert json.loads(json.dumps(make_devices.make_all())) == VECTORS


def test_ledgers_are_written_as_they_were_read() -> None:
    """Parsed records give the same bytes again, except for a last mark that was not written."""
    for name, case in VECTORS["ledgers"].items():
        content = bytes.fromhex(case["bytes"])
        if case["found"] != "refuse" and case["found"][1]:
            records, end, marked = parse_ledger(content)
            written = content[:20] + b"".join(record.to_bytes() + MARK for record in records)
            assert written[: end if marked else -len(MARK)] == content[:end], name


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_only_the_owner_may_read_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under any umask, and after others could read it, unless the system forbids the change of permissions."""

    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    before = os.umask(0)
    made = report_periods(path, "w1")
    os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for mode in (0o644, 0o660, 0o602):
        path.chmod(mode)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fchmod", refused)
            assert report_periods(path, "w1") == made
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert report_periods(path, "w1") == made
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


# ---- contents


def test_a_write_may_stop_at_every_byte(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut at every length of the last write: a partial record leaves its period free, a whole one spends it."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # nothing stops here, and hundreds of syncs take seconds
    made = report_periods(path, "w1")
    before = path.read_bytes()
    made += report_periods(path, "w2")
    after = path.read_bytes()
    whole = len(after) - len(MARK)
    for length in range(len(before) - len(MARK) - 5, len(after) + 1):
        path.write_bytes(after[:length])
        with Ledger.open(path) as ledger:
            spent = 0 if length < len(before) - len(MARK) else 1 if length < whole else 2
            assert ledger.reports_made(PLAN) == spent
            assert path.read_bytes() == [HEADER, before, after][spent]  # the partial record is cut off
            again = [ledger.report(BASKET, PLAN, period=name) for name in ("w1", "w2")]
            assert [again[place] == made[place] for place in (0, 1)] == [spent > 0, spent > 1]
            assert ledger.remaining(PLAN) == BUDGET - 2
        assert len(parse_ledger(path.read_bytes())[0]) == 2


def test_any_damaged_byte_is_harmless_or_refused(path: Path) -> None:
    """With any single byte changed, the ledger is refused or still has all records."""
    made = report_periods(path, "w1", "w2", "w3")
    content = path.read_bytes()
    harmless = 0
    for place in range(len(content)):
        for flip in {0x01, 0x80, 0xFF, content[place]} - {0}:
            damaged = content[:place] + bytes([content[place] ^ flip]) + content[place + 1 :]
            try:
                entries, _, _ = parse_ledger(damaged)
            except FileError:
                continue
            assert [entry.report for entry in entries] == made
            assert place >= len(content) - len(MARK)
            harmless += 1
    assert harmless


@pytest.mark.parametrize(
    ("content", "message"),
    [(each, "is not a ledger; name another file") for each in (b"x", b"PAR1" * 40, b"\0" * 21)]
    + [(HEADER[:16] + b"\x02\0\0\0", "format is 2, known here is 4"), (HEADER[:-1] + b"\x01", "make no new one")],
)
def test_other_files_stay_unchanged(path: Path, content: bytes, message: str) -> None:
    """Another file is refused and not changed; the error about another version says to keep it."""
    path.write_bytes(content)
    path.chmod(0o644)
    with pytest.raises(FileError, match=message):
        Ledger.open(path)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (content, 0o644)


def test_hostile_files_cost_little(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the smallest records is read in linear time, and a file above the maximum is refused.

    A record that would exceed the maximum is not written.
    """
    assert MOST_BYTES == 1 << 24
    most = MOST_BYTES >> 4
    monkeypatch.setattr(ledger_file, "MOST_BYTES", most)

    def record(number: int) -> bytes:
        return Entry(number, "ab" * 32, bytes(32), Fraction(3, 2), b"r", bytes(16)).to_bytes() + MARK

    content = HEADER + b"".join(map(record, range(1, most // len(record(1)))))
    path.write_bytes(content)
    start = time.process_time()
    with Ledger.open(path) as ledger:
        assert ledger.amplification == 2**192
    assert time.process_time() - start < MOST_SECONDS
    path.write_bytes(content + bytes(most))
    with pytest.raises(FileError, match="larger than 1 MiB"):
        Ledger.open(path)
    path.unlink()
    report_periods(path, "w1")
    monkeypatch.setattr(ledger_file, "MOST_BYTES", path.stat().st_size + 100)
    with pytest.raises(FileError, match="is full"):
        report_periods(path, "w2")
    assert len(report_periods(path, "w1")) == 1


# ---- names and locks


@pytest.fixture(params=["flock", "a lock file"])
def lock_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Lock with flock or with a lock file."""
    if request.param != "flock":
        monkeypatch.setattr(ledger_file, "_HAS_FLOCK", False)
    elif not ledger_file._HAS_FLOCK:
        pytest.skip("no flock here")
    return str(request.param)


NAMES = ["a\0b", "\ud800", ".", "", "..", "/", "folder", "folder/", "link", "loop", "none/l.bin", "pipe"]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_an_invalid_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock_kind: str, name: str) -> None:
    """Zero bytes, lone surrogates, folders, links to folders and circular links: a clear error, no file left."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("link").symlink_to("folder")
    Path("loop").symlink_to("loop")
    os.mkfifo("pipe")
    with pytest.raises(FileError, match=r"cannot open the ledger|not a regular file") as caught:
        Ledger.open(name, wait_seconds=0)
    assert str(caught.value).isprintable()
    assert {file.name for file in tmp_path.iterdir()} == {"folder", "link", "loop", "pipe"}


def test_an_open_ledger_is_locked(path: Path, lock_kind: str) -> None:
    """While it is open, opening it by any name fails; closed, or after a failed opening, it is free."""
    (folder := path.with_name("linked")).symlink_to(path.parent)
    (link := path.with_name("link.bin")).symlink_to(path)
    (link_of_link := path.with_name("link2.bin")).symlink_to("link.bin")
    names = [path, link, link_of_link, folder / path.name, folder / "linked" / "link.bin"]
    for held in (path, link):
        with Ledger.open(held) as first:
            for name in names:
                with pytest.raises(FileError, match="is in use by another process"):
                    Ledger.open(name, wait_seconds=0)
            made = first.report(BASKET, PLAN, period="w1")
    assert [report_periods(name, "w1") for name in names] == [[made]] * len(names)
    assert not list(path.parent.glob("*.lock"))
    path.write_bytes(b"no ledger")
    for _ in range(2):
        with pytest.raises(FileError, match="not a ledger"):
            Ledger.open(path, wait_seconds=0)


@pytest.mark.parametrize("change", ["moved away", "replaced", "linked elsewhere"])
def test_a_file_moved_during_the_wait(path: Path, monkeypatch: pytest.MonkeyPatch, lock_kind: str, change: str) -> None:
    """After a wait the report goes into the file that now has the name, never into one that lost it."""
    held, other = path.with_name("held.bin"), path.with_name("other.bin")
    first_report = report_periods(other, "w0")
    if change == "linked elsewhere":
        path.symlink_to(held)
    first = Ledger.open(path)

    def change_it(_deadline: float, _path: Path) -> None:
        first.report(BASKET, PLAN, period="w1")
        if change == "linked elsewhere":
            path.unlink()
            path.symlink_to(other)
        else:
            path.rename(held)
        if change == "replaced":
            other.rename(path)
        first.close()

    monkeypatch.setattr(ledger_file, "_wait", change_it)
    made = report_periods(path, "w2")
    before = first_report if change != "moved away" else []
    assert [item.report for item in parse_ledger(path.read_bytes())[0]] == before + made
    assert len(parse_ledger(held.read_bytes())[0]) == 1
    assert not list(path.parent.glob("*.lock"))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files")
def test_a_file_that_is_replaced_repeatedly_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch, lock_kind: str
) -> None:
    """If the name is another file each time, opening fails; nothing stays open or locked."""
    before = os.listdir("/proc/self/fd")
    with monkeypatch.context() as patch:
        patch.setattr(os.path, "samestat", lambda *_: False)
        with pytest.raises(FileError, match="is replaced repeatedly"):
            Ledger.open(path)
    assert os.listdir("/proc/self/fd") == before
    assert len(report_periods(path, "w1")) == 1


def test_waiting_for_a_ledger(path: Path, lock_kind: str) -> None:
    """A waiting process gets the ledger when it is closed, with the reports written meanwhile."""
    first, found = Ledger.open(path), []

    def wait() -> None:
        with Ledger.open(path, wait_seconds=60) as ledger:
            found.append(ledger.report(BASKET, PLAN, period="w1"))

    waiting = threading.Thread(target=wait)
    waiting.start()
    made = first.report(BASKET, PLAN, period="w1")
    first.close()
    waiting.join()
    assert found == [made]


def test_a_forked_process_makes_no_report(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that inherits an open ledger neither writes nor unlocks it; after its parent closes it, it is free."""
    with Ledger.open(path) as ledger:
        inherited = os.dup(ledger._file._file)  # as a fork does, it shares the lock
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: -1)
            with pytest.raises(FileError, match="belongs to another process"):
                ledger.report(BASKET, PLAN, period="w1")
            ledger.close()
        with pytest.raises(FileError, match="is in use"):
            Ledger.open(path, wait_seconds=0)
    assert len(report_periods(path, "w1")) == 1
    os.close(inherited)
    with pytest.raises(FileError, match="closed"):
        ledger.report(BASKET, PLAN, period="w1")
    ledger.close()
