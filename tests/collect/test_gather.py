"""Gathering: each report exactly once, whenever a run dies; what is no report stays; nothing else of a file is kept."""

import errno
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from naive import small_plan
from running_collector import Forks

import assocpriv as ap
from assocpriv.collect import close_collection, gather, sealing, set_aside
from assocpriv.collect import folder as folder_of
from assocpriv.collect.sealing import shuffled
from assocpriv.collect.sqlite import SqliteStore
from assocpriv.collect.store import EpochSizes, FolderLock
from assocpriv.files.plans import write_plan
from assocpriv.files.reports import LEDGER_NAME, PLAN_KEY, read_reports
from assocpriv.files.unsealed import write_note
from assocpriv.promise.errors import FileError, PlanError

PLAN = small_plan("none", 125, 2, 2)  # 127 bits: reports of 16 bytes, whose highest bit is 0
OTHER = small_plan("none", 250, 2, 2)  # 32 bytes
SAME_LENGTH = small_plan("none", 124, 2, 2)


def report(number: int, plan: Any = PLAN) -> bytes:
    """Return a report that says its number."""
    return number.to_bytes(plan.report_bytes, "little")


def fill(inbox: Path, numbers: Any, plan: Any = PLAN) -> None:
    """Put reports into an inbox, a file each."""
    inbox.mkdir(exist_ok=True)
    for number in numbers:
        (inbox / f"r{number}.bin").write_bytes(report(number, plan))


def rows(collection: Path) -> list[int]:
    """Return the numbers of a collection's reports, in its order."""
    batches = read_reports(collection).batches(1 << 20)
    return [int.from_bytes(row.tobytes(), "little") for batch in batches for row in batch]


def names(folder: Path) -> list[str]:
    """Return all names below a folder, hidden ones too."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.fixture(autouse=True)
def sealed_however_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let collections seal any number of reports, so that few are enough for a test."""
    monkeypatch.setattr(folder_of, "epoch_sizes", lambda _: EpochSizes(1))


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    """An inbox with five reports."""
    fill(tmp_path / "inbox", range(5))
    return tmp_path / "inbox"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A place for a collection."""
    return tmp_path / "collection"


# ---- what it is for


def test_an_inbox_becomes_a_collection(inbox: Path, out: Path) -> None:
    """Reports that devices wrote are gathered and sealed, their files are gone, and a later run adds to them."""
    told = list[tuple[str, int, int]]()
    done = ap.gather(inbox, PLAN, out, progress=lambda *given: told.append(given))
    assert (done.gathered, done.repeated, done.refused_count) == (5, 0, 0)
    assert [(each.plan, each.path, each.gathered, each.reports) for each in done.collections] == [(PLAN, out, 5, 5)]
    assert names(inbox) == []
    assert told == [*(("gathering", at, 5) for at in range(5)), ("gathering", 5, 5)]
    fill(inbox, range(5, 7))
    again = ap.gather(str(inbox), PLAN, str(out)).collections[0]
    assert (again.gathered, again.reports) == (2, 7)
    assert sorted(rows(out)) == list(range(7))
    assert ap.collect.collection_status(out).sealed == 7


def test_a_file_that_comes_again_counts_once(inbox: Path, out: Path) -> None:
    """A name is known in later runs, in another inbox and with other bytes: the first report stays."""
    ap.gather(inbox, PLAN, out)
    fill(inbox, [0, 5])
    other = inbox.with_name("other")
    other.mkdir()
    (other / "r1.bin").write_bytes(report(9))
    done = ap.gather([inbox, other], PLAN, out)
    assert (done.gathered, done.repeated, names(inbox), names(other)) == (1, 2, [], [])
    assert sorted(rows(out)) == list(range(6))
    fill(inbox, range(5))
    assert ap.gather(inbox, PLAN, out.with_name("second")).gathered == 5


def test_what_is_gathered_and_what_is_sent_are_one_collection(inbox: Path, out: Path) -> None:
    """What a collector stored and what files bring is counted, read and sealed together; keys' reports stay apart."""
    ap.gather(inbox, PLAN, out)
    store = SqliteStore(out, PLAN)
    store.add([gather.read_upload(bytes([1]) * 16 + report(7), PLAN, 3)])
    store.close()
    fill(inbox, [5])
    assert ap.gather(inbox, PLAN, out).collections[0].reports == 7
    assert set_aside(out, 3) == 1
    assert sorted(rows(out)) == list(range(6))


def test_an_empty_inbox_makes_nothing(inbox: Path, out: Path) -> None:
    """Where there is no report, nothing is written anywhere."""
    bad = inbox / "bad"
    bad.write_bytes(b"bad")
    assert ap.gather(bad, PLAN, out).refused_count == 1
    assert not out.exists()
    ap.gather(inbox, PLAN, out)
    reports = sorted(out.glob("*.parquet"))
    assert ap.gather(inbox, PLAN, out).gathered == 0
    assert (names(inbox), sorted(out.glob("*.parquet"))) == (["bad"], reports)


def test_files_that_are_no_reports_stay(inbox: Path, out: Path) -> None:
    """Wrong lengths, bits that no client sets, links and ledgers are named and left; hidden files are not met."""
    assert PLAN.report_bytes == len(LEDGER_NAME)
    bad = {
        "short": (b"x", "has 1 byte, where a report has 16"),
        "long": (bytes(17), "has 17 bytes, where a report has 16"),
        "empty": (b"", "has 0 bytes, where a report has 16"),
        "several": (bytes(48), "has 48 bytes, where a report has 16"),
        "unused-bit": (b"\xff" * 16, "has a bit set beyond the plan's 127"),
        "ledger": (LEDGER_NAME, "is a device's ledger"),
    }
    for name, (content, _) in bad.items():
        (inbox / name).write_bytes(content)
    (inbox / ".hidden").write_bytes(report(9))
    (inbox / "below").mkdir()
    (inbox / "below" / "deep.bin").write_bytes(report(9))
    (inbox / "link").symlink_to(inbox / "below" / "deep.bin")
    os.mkfifo(inbox / "pipe")
    stay = sorted([*bad, ".hidden", "below", "below/deep.bin", "link", "pipe"])
    done = ap.gather(inbox, PLAN, out)
    reasons = {Path(each.file).name: each.reason for each in done.refused}
    assert (done.gathered, done.refused_count, names(inbox)) == (5, 8, stay)
    assert {name for name, (_, reason) in bad.items() if reasons[name].startswith(reason)} == set(bad)
    assert reasons["link"].startswith("is a link")
    assert reasons["pipe"] == "is no regular file"


def test_named_files(inbox: Path, out: Path) -> None:
    """Files are taken by name, each once, also beside their folder; one that is missing is named."""
    done = ap.gather([inbox / "r1.bin", inbox / "r1.bin", inbox / "none"], PLAN, out)
    assert (done.gathered, [each.reason for each in done.refused]) == (1, ["is not there"])
    assert ap.gather([inbox / "r2.bin", inbox, inbox.parent / "inbox"], PLAN, out).gathered == 4
    assert sorted(rows(out)) == list(range(5))


def test_several_plans_are_sorted_by_length(inbox: Path, out: Path) -> None:
    """Each plan's reports get a collection; what has the length of none is refused, and so is a mixture of ways."""
    fill(inbox, range(10, 13), OTHER)
    (inbox / "bad").write_bytes(b"x")
    done = ap.gather(inbox, [PLAN, OTHER, PLAN], out)
    assert [(each.plan, each.gathered) for each in done.collections] == [(PLAN, 5), (OTHER, 3)]
    assert done.refused[0].reason.startswith("has 1 byte, where a report has 16 or 32; it is half-written")
    places = [out / plan.plan_id[:12] for plan in (PLAN, OTHER)]
    assert [sorted(rows(place)) for place in places] == [list(range(5)), [10, 11, 12]]
    assert sorted(out.iterdir()) == sorted(places)
    with pytest.raises(FileError, match=f"name .*{PLAN.plan_id[:12]}"):
        ap.gather(inbox, PLAN, out)
    with pytest.raises(FileError, match="is the collection of one plan"):
        ap.gather(inbox, [PLAN, OTHER], places[0])


def refusals(inbox: Path, out: Path) -> Iterator[tuple[Callable[[], Any], type[Exception], str]]:
    """Yield calls that are refused, and how."""
    theirs, file, closed = (out.with_name(name) for name in ("theirs", "file", "ended"))
    SqliteStore(theirs, OTHER).close()
    SqliteStore(closed, PLAN).close()
    close_collection(closed)
    file.write_text("x")
    yield lambda: ap.gather(inbox, PLAN, theirs), FileError, "collects reports of plan"
    yield lambda: ap.gather(inbox, PLAN, closed), FileError, "is closed: the collection has ended"
    yield lambda: ap.gather(inbox, PLAN, out.with_suffix(".parquet")), FileError, "is a folder; name a folder"
    yield lambda: ap.gather(inbox, PLAN, file), FileError, "cannot use the folder"
    yield lambda: ap.gather(inbox, PLAN, file / "x"), FileError, "does not exist; make it first"
    yield lambda: ap.gather(inbox, PLAN, out / "two" / "levels"), FileError, "does not exist; make it first"
    yield lambda: ap.gather(inbox, PLAN, inbox / ".." / "inbox"), FileError, "is an inbox"
    yield lambda: ap.gather(inbox, PLAN, inbox.parent), FileError, "holds files, and is no collector's folder"
    yield lambda: ap.gather(inbox, [PLAN, SAME_LENGTH], out), PlanError, "both have 16 bytes, so nothing tells which"
    yield lambda: ap.gather(inbox, [], out), TypeError, "plan must be a Plan, or a list of plans"
    yield lambda: ap.gather(inbox, ["plan.json"], out), TypeError, "plan must be a Plan"
    for sources in ([], "", [""], b"abc"):
        yield lambda given=sources: ap.gather(given, PLAN, out), TypeError, "must be names of files and folders"


def test_what_is_refused_moves_nothing(inbox: Path, out: Path) -> None:
    """Bad outputs and arguments are told before any file is touched."""
    for call, kind, match in refusals(inbox, out):
        with pytest.raises(kind, match=match):
            call()
        assert len(names(inbox)) == 5
    assert not out.exists()


def test_a_folder_that_is_in_use_is_refused(inbox: Path, out: Path) -> None:
    """While a collector serves it, or another run gathers into it, nothing is gathered and no file is touched."""
    lock = FolderLock.take(out)
    with pytest.raises(FileError, match=r"is in use by another process, which serves it or gathers into it"):
        ap.gather(inbox, PLAN, out)
    assert len(names(inbox)) == 5
    lock.release()
    assert ap.gather(inbox, PLAN, out).gathered == 5


# ---- nothing else is kept


def test_no_name_time_or_order_survives(tmp_path: Path, out: Path) -> None:
    """The collection holds neither the files' names nor their dates, nor their order; of names not even a bare hash."""
    inbox = tmp_path / "inbox"
    fill(inbox, range(64))
    marked = [inbox / f"till-CANARY-{number}" for number in range(64)]
    for number, path in enumerate(marked):
        os.rename(inbox / f"r{number}.bin", path)
        os.utime(path, (1_234_567_890 + number,) * 2)
    ap.gather(inbox, PLAN, out)
    (file,) = out.glob("*.parquet")
    assert file.stat().st_mtime % 86_400 == 0
    assert set(pq.read_schema(file).metadata) == {
        PLAN_KEY,
        *(b"assocpriv." + each for each in (b"epoch", b"fewest", b"sealed")),
    }
    assert not any(b"CANARY" in path.read_bytes() for path in out.rglob("*") if path.is_file())
    order = rows(out)
    assert sorted(order) == list(range(64))
    assert order != list(range(64))  # by chance once in 64! runs
    (ids,) = (out / "ids").glob("*.ids")
    key = (out / "ids" / "names.key").read_bytes()
    assert ids.read_bytes() == b"".join(sorted(gather.submission_id(path.name, key) for path in marked))
    assert gather.submission_id(marked[0].name, key) != gather.submission_id(marked[0].name, bytes(32))
    close_collection(out)
    assert names(out / "ids") == []


def test_all_orders_are_as_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each order of the random keys gives another order of the reports: of 3 reports all 6 come up once."""
    given = np.arange(3, dtype=np.uint8)[:, None]
    found = set()
    for keys in [(a, b, 3 - a - b) for a in range(3) for b in range(3) if a != b]:
        monkeypatch.setattr(
            "assocpriv.promise.entropy.SystemEntropy.words", lambda _, count, keys=keys: np.array(keys, dtype=np.uint64)
        )
        found.add(tuple(shuffled(given)[:, 0].tolist()))
    assert len(found) == 6


# ---- every step, every failure


class Killed(BaseException):
    """The process is gone."""


STEPS = [
    (gather, "take_in"), (Path, "unlink"), (SqliteStore, "rotate"), (sealing, "_keep_ids"), (sealing, "write_reports"),
    (sealing, "remove_epoch"),
]  # fmt: skip


def gather_failing(inbox: Path, out: Path, at: int, error: BaseException) -> bool:
    """Gather in blocks of two, with the ``at``-th step done and then failing; tell whether there was one."""
    done = 0

    def failing(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> Any:
            nonlocal done
            found = real(*arguments, **options)
            done += 1
            if done == at:
                raise error
            return found

        return step

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gather, "_BLOCK_FILES", 2)
        for place, name in STEPS:
            patch.setattr(place, name, failing(getattr(place, name)))
        with suppress(Killed, FileError, OSError):
            ap.gather(inbox, PLAN, out)
    return done >= at


@pytest.mark.parametrize("error", [Killed(), OSError(errno.EIO, "I/O error")], ids=repr)
def test_broken_off_after_every_step(tmp_path: Path, error: BaseException) -> None:
    """Whatever step a run breaks off after, and the next one too, the run after these has each report once."""
    at = 0
    while True:
        at += 1
        inbox, out = tmp_path / f"{at}" / "inbox", tmp_path / f"{at}" / "collection"
        inbox.parent.mkdir()
        fill(inbox, range(5))
        if not gather_failing(inbox, out, at, error):
            break
        there = rows(out) if (out / "open").exists() else []
        assert set(there) | {int(name[1:-4]) for name in names(inbox)} == set(range(5))
        gather_failing(inbox, out, 1 + at % 5, error)
        ap.gather(inbox, PLAN, out)
        assert Counter(rows(out)) == Counter(range(5))
        assert names(inbox) == []
    assert at > 12


def test_files_that_cannot_be_removed(inbox: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said, and costs nothing: the reports are in the collection, once, whenever the files can be removed."""

    real = Path.unlink

    def refused(path: Path, missing_ok: bool = False) -> None:
        if path.parent == inbox:
            raise PermissionError(errno.EACCES, "Permission denied")
        real(path, missing_ok=missing_ok)

    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", refused)
            with pytest.raises(FileError, match=r"Permission denied; what is stored of them counts once"):
                ap.gather(inbox, PLAN, out)
    done = ap.gather(inbox, PLAN, out)
    assert (done.gathered, done.repeated, names(inbox), sorted(rows(out))) == (0, 5, [], list(range(5)))


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_killed_at_random(forks: Forks, tmp_path: Path, out: Path, rng: np.random.Generator, kills: int) -> None:
    """Killed by kill −9 again and again while reports arrive, and sent again: each report is gathered exactly once."""
    inbox, dice, written = tmp_path / "inbox", Random(int(rng.integers(1 << 30))), 0
    write_plan(PLAN, tmp_path / "plan.json")
    SqliteStore(out, PLAN).close()
    write_note(out / "epochs.json", "assocpriv-epochs", 1, {"fewest": 1, "most": 100})
    command = ["gather", str(inbox), "--plan", str(tmp_path / "plan.json"), "-o", str(out)]
    for _ in range(kills):
        fill(inbox, [dice.randrange(written + 1), *range(written, written + 20)])
        running = forks("start", command, os.devnull, os.devnull, [], 0)
        time.sleep(dice.random() * 0.06)
        os.kill(running, signal.SIGKILL)
        forks("wait", running)
        written += 20
    ap.gather(inbox, PLAN, out)
    assert Counter(rows(out)) == Counter(range(written))
    assert names(inbox) == []
