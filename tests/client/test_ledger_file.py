"""A ledger's file: damaged, truncated and hostile bytes; one process at a time opens it, also if it is moved."""

import json
import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from assocpriv.client import ledger_file
from assocpriv.client.ledger import Ledger, spent_budget
from assocpriv.client.ledger_file import HEADER, MOST_BYTES, RECORDS_AT, Entry, parse_ledger
from assocpriv.guarantees.errors import FileError
from tests.client.test_ledger import BASKET, PLAN, report_periods
from tests.vectors import make_devices

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "devices.json").read_text(encoding="ascii"))
MOST_SECONDS = 60
PERIODS = ["w1", "w2", "w3"]


def test_vectors_are_up_to_date() -> None:
    """The file of vectors has the current ledgers, spent budgets and refusals; JavaScript checks it too."""
    assert json.loads(json.dumps(make_devices.make_all())) == VECTORS


def test_ledgers_are_written_as_they_were_read(path: Path) -> None:
    """Parsed records give the same bytes again; opening a ledger leaves these, and a header that states them."""
    for name, case in VECTORS["ledgers"].items():
        content = bytes.fromhex(case["bytes"])
        if case["found"] != "refuse" and case["found"][1]:
            records, end, _ = parse_ledger(content)
            again = make_devices.write_ledger(records)
            assert again[RECORDS_AT:] == content[RECORDS_AT:end], name
            path.write_bytes(content)
            Ledger.open(path).close()
            assert path.read_bytes() == again or "torn older" in name, name


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


def test_a_kill_at_any_byte_of_a_write(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every prefix of all writes is a ledger with each report that was handed out, and goes on; none is a cut one."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # nothing stops here, and hundreds of syncs take seconds
    steps: list[tuple[int, bytes]] = []
    write, resize = ledger_file.LedgerFile.write, ledger_file.LedgerFile.resize
    with monkeypatch.context() as patch:
        patch.setattr(ledger_file.LedgerFile, "write", lambda *args: (steps.append(args[1:]), write(*args)))
        patch.setattr(ledger_file.LedgerFile, "resize", lambda *args: (steps.append((args[1], b"")), resize(*args)))
        with Ledger.open(path) as ledger:
            made, done = [], []
            for period in PERIODS:
                made.append(ledger.report(BASKET, PLAN, period=period))
                done.append(len(steps))
    assert len(steps) == 2 + 2 * len(PERIODS)  # length and header of a new file; each record, then the header
    content = b""
    for number, (start, part) in enumerate(steps):
        for length in range(len(part) or 1):
            path.write_bytes(content[:start] + part[:length] + content[start + length :])
            known = sum(number >= each for each in done)
            with Ledger.open(path) as ledger:
                assert known <= (spent := ledger.reports_made(PLAN)) <= known + 1
                again = [ledger.report(BASKET, PLAN, period=period) for period in PERIODS]
            assert [one == other for one, other in zip(again, made, strict=True)] == [at < spent for at in range(3)]
            assert [entry.report for entry in parse_ledger(path.read_bytes())[0]] == again
        content = content[:start].ljust(start, b"\0") + part + content[start + len(part) :]


def test_a_ledger_that_was_cut_short_is_refused(path: Path) -> None:
    """At every length but 0, also behind a record: it is no older ledger, and stays as it is."""
    report_periods(path, *PERIODS)
    content = path.read_bytes()
    for length in range(1, len(content)):
        path.write_bytes(content[:length])
        for refused in (Ledger.open, spent_budget):
            with pytest.raises(FileError, match=r"was cut short.* must not report; restore the ledger"):
                refused(path)
        assert path.read_bytes() == content[:length]
    path.write_bytes(content[: -(len(content) - RECORDS_AT) // 3])
    with pytest.raises(FileError, match="it has 2 of its 3 records"):
        Ledger.open(path)


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
            assert len(HEADER) <= place < RECORDS_AT  # a state of the header, of which the other holds
            harmless += 1
    assert harmless


@pytest.mark.parametrize(
    ("content", "message"),
    [(each, "is not a ledger; name another file") for each in (b"x", b"PAR1" * 40, b"\0" * 21)]
    + [(HEADER[:16] + b"\x02\0\0\0", "format is 2, known here is 5"), (HEADER[:-1] + b"\x01", "make no new one")],
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

    def entries(count: int) -> list[Entry]:
        each = Entry(1, "ab" * 32, bytes(32), Fraction(3, 2), b"r", bytes(16))
        return [replace(each, number=number) for number in range(1, count + 1)]

    one = len(make_devices.write_ledger(entries(1))) - RECORDS_AT
    content = make_devices.write_ledger(entries((most - RECORDS_AT) // one))
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
    with ThreadPoolExecutor() as pool, Ledger.open(path) as first:
        waiting = pool.submit(report_periods, path, "w1", wait_seconds=60)
        made = first.report(BASKET, PLAN, period="w1")
    assert waiting.result() == [made]


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
