"""Tests of gathering: each report counts once even if a run is killed; other files stay; only reports are stored."""

import errno
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import count, permutations
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from naive import small_plan
from running_collector import Forks

import assocpriv as ap
from assocpriv.collect import batch_closing, end_collection, gather, set_aside
from assocpriv.collect import folder as folder_of
from assocpriv.collect.batch_closing import shuffle_rows
from assocpriv.collect.sqlite import SqliteStore
from assocpriv.collect.store import BatchSizes, FolderLock
from assocpriv.files.open_batches import write_note
from assocpriv.files.plan_files import write_plan
from assocpriv.files.report_files import LEDGER_NAME, PLAN_KEY, read_reports
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.guarantees.errors import FileError, PlanError

PLAN = small_plan("none", 125, 2, 2)  # 127 bits: reports of 16 bytes, whose highest bit is 0
OTHER = small_plan("none", 250, 2, 2)  # 32 bytes
SAME_LENGTH = small_plan("none", 124, 2, 2)


def report(number: int, plan: Any = PLAN) -> bytes:
    """Return a report that holds a number."""
    return number.to_bytes(plan.report_bytes, "little")


def fill(inbox: Path, numbers: Any, plan: Any = PLAN) -> None:
    """Write reports into an inbox, one file each."""
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
def closed_at_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the minimum batch size to 1, so that a few reports are enough for a test."""
    monkeypatch.setattr(folder_of, "batch_sizes", lambda _: BatchSizes(1))


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    """Return an inbox with five reports."""
    fill(tmp_path / "inbox", range(5))
    return tmp_path / "inbox"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Return a path for a collection."""
    return tmp_path / "collection"


# ---- inboxes


def test_an_inbox_becomes_a_collection(inbox: Path, out: Path) -> None:
    """Reports that devices wrote are gathered and closed, their files are removed, and a later run adds more."""
    steps = list[tuple[str, int, int]]()
    done = ap.gather(inbox, PLAN, out, progress=lambda *given: steps.append(given))
    assert (done.gathered, done.repeated, done.refused_count, names(inbox)) == (5, 0, 0, [])
    assert [(each.plan, each.path, each.gathered, each.reports) for each in done.collections] == [(PLAN, out, 5, 5)]
    assert steps == [*(("gathering", at, 5) for at in range(5)), ("gathering", 5, 5)]
    fill(inbox, range(5, 7))
    again = ap.gather(str(inbox), PLAN, str(out)).collections[0]
    assert (again.gathered, again.reports) == (2, 7)
    assert sorted(rows(out)) == list(range(7))
    assert ap.collect.collection_status(out).closed == 7


def test_a_file_that_comes_again_counts_once(inbox: Path, out: Path) -> None:
    """A name is known in later runs, in another inbox and with other bytes: the first report stays."""
    ap.gather(inbox, PLAN, out)
    fill(inbox, [0, 5])
    fill(other := inbox.with_name("other"), [])
    (other / "r1.bin").write_bytes(report(9))
    done = ap.gather([inbox, other], PLAN, out)
    assert (done.gathered, done.repeated, names(inbox), names(other)) == (1, 2, [], [])
    assert sorted(rows(out)) == list(range(6))
    fill(inbox, range(5))
    assert ap.gather(inbox, PLAN, out.with_name("second")).gathered == 5


def test_gathered_and_sent_reports_are_one_collection(inbox: Path, out: Path) -> None:
    """Sent and gathered reports are counted, read and closed together; those of a key stay separate."""
    ap.gather(inbox, PLAN, out)
    with closing(SqliteStore(out, PLAN)) as store:
        store.add([gather.read_upload(bytes([1]) * 16 + report(7), PLAN, 3)])
    fill(inbox, [5])
    assert ap.gather(inbox, PLAN, out).collections[0].reports == 7
    assert set_aside(out, 3) == 1
    assert sorted(rows(out)) == list(range(6))


def test_an_empty_inbox_makes_nothing(inbox: Path, out: Path) -> None:
    """Without a report nothing is written."""
    (bad := inbox / "bad").write_bytes(b"bad")
    assert ap.gather(bad, PLAN, out).refused_count == 1
    assert not out.exists()
    ap.gather(inbox, PLAN, out)
    reports = sorted(out.glob("*.parquet"))
    assert ap.gather(inbox, PLAN, out).gathered == 0
    assert (names(inbox), sorted(out.glob("*.parquet"))) == (["bad"], reports)


def test_files_that_are_no_reports_stay(inbox: Path, out: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Wrong lengths, bits that no client sets, links and ledgers are listed and stay; what is skipped is said."""
    assert PLAN.report_bytes == len(LEDGER_NAME)
    bad = {
        "short": (b"x", "has 1 byte, where a report has 16"),
        "long": (bytes(17), "has 17 bytes, where a report has 16"),
        "empty": (b"", "has 0 bytes, where a report has 16"),
        "several": (bytes(48), "has 48 bytes, where a report has 16"),
        "unused-bit": (b"\xff" * 16, "has a bit set beyond the plan's 127"),
        "ledger": (LEDGER_NAME, "is a device's privacy budget ledger"),
    }
    for name, (content, _) in bad.items():
        (inbox / name).write_bytes(content)
    (inbox / "below").mkdir()
    for name in (".hidden", "coming.tmp", "below/deep.bin"):
        (inbox / name).write_bytes(report(9))
    caplog.set_level("INFO")
    (inbox / "link").symlink_to(inbox / "below" / "deep.bin")
    os.mkfifo(inbox / "pipe")
    stay = sorted([*bad, ".hidden", "coming.tmp", "below", "below/deep.bin", "link", "pipe"])
    done = ap.gather(inbox, PLAN, out)
    reasons = {Path(each.file).name: each.reason for each in done.refused}
    assert (done.gathered, done.refused_count, names(inbox)) == (5, 8, stay)
    assert {name for name, (_, reason) in bad.items() if reasons[name].startswith(reason)} == set(bad)
    assert f"{inbox}: 3 skipped: hidden, .tmp or a folder, as '.hidden'" in caplog.text
    assert reasons["link"].startswith("is a link")
    assert reasons["pipe"] == "is no regular file"


def test_named_files(inbox: Path, out: Path) -> None:
    """Files are gathered by name, each once, also together with their folder; a missing one is listed."""
    done = ap.gather([inbox / "r1.bin", inbox / "r1.bin", inbox / "none"], PLAN, out)
    assert (done.gathered, [each.reason for each in done.refused]) == (1, ["does not exist"])
    assert ap.gather([inbox / "r2.bin", inbox, inbox.parent / "inbox"], PLAN, out).gathered == 4
    assert sorted(rows(out)) == list(range(5))


def test_several_plans_are_sorted_by_length(inbox: Path, out: Path) -> None:
    """Each plan's reports get a collection; other lengths are refused, and so is a folder of the other layout."""
    fill(inbox, range(10, 13), OTHER)
    (inbox / "bad").write_bytes(b"x")
    done = ap.gather(inbox, [PLAN, OTHER, PLAN], out)
    assert [(each.plan, each.gathered) for each in done.collections] == [(PLAN, 5), (OTHER, 3)]
    assert done.refused[0].reason.startswith("has 1 byte, where a report has 16 or 32; it is partly written")
    places = [out / plan.plan_id[:12] for plan in (PLAN, OTHER)]
    assert [sorted(rows(place)) for place in places] == [list(range(5)), [10, 11, 12]]
    assert sorted(out.iterdir()) == sorted(places)
    with pytest.raises(FileError, match=f"name .*{PLAN.plan_id[:12]}"):
        ap.gather(inbox, PLAN, out)
    with pytest.raises(FileError, match="is the collection of one plan"):
        ap.gather(inbox, [PLAN, OTHER], places[0])


def test_refused_calls_move_nothing(inbox: Path, out: Path) -> None:
    """Bad outputs and arguments are refused before any file is touched."""
    theirs, file, ended = (out.with_name(name) for name in ("theirs", "file", "past"))
    SqliteStore(theirs, OTHER).close()
    SqliteStore(ended, PLAN).close()
    end_collection(ended)
    file.write_text("x")
    for sources, plan, place, kind, match in (
        (inbox, PLAN, theirs, FileError, "collects reports of plan"),
        (inbox, PLAN, ended, FileError, "has ended: the collection takes no more reports"),
        (inbox, PLAN, out.with_suffix(".parquet"), FileError, "is a folder; name a folder"),
        (inbox, PLAN, file, FileError, "cannot use the folder"),
        (inbox, PLAN, file / "x", FileError, "does not exist; make it first"),
        (inbox, PLAN, out / "two" / "levels", FileError, "does not exist; make it first"),
        (inbox, PLAN, inbox / ".." / "inbox", FileError, "is an inbox"),
        (inbox, PLAN, inbox.parent, FileError, "holds other files, and is no collector's folder"),
        (inbox, [PLAN, SAME_LENGTH], out, PlanError, "16 bytes, so they cannot be distinguished"),
        (inbox, [], out, TypeError, "plan must be a Plan, or a list of plans"),
        (inbox, ["plan.json"], out, TypeError, "plan must be a Plan"),
        *((given, PLAN, out, TypeError, "must be names of files and folders") for given in ([], "", [""], b"abc")),
    ):
        with pytest.raises(kind, match=match):
            ap.gather(sources, plan, place)
        assert len(names(inbox)) == 5
    assert not out.exists()


def test_a_folder_that_is_in_use_is_refused(inbox: Path, out: Path) -> None:
    """While a collector serves it, or another run gathers into it, nothing is gathered and no file is touched."""
    lock = FolderLock.take(out)
    with pytest.raises(FileError, match=r"another process serves .* or gathers into it"):
        ap.gather(inbox, PLAN, out)
    assert len(names(inbox)) == 5
    lock.release()
    assert ap.gather(inbox, PLAN, out).gathered == 5


# ---- stored data


def test_no_name_time_or_order_survives(tmp_path: Path, out: Path) -> None:
    """The collection holds neither names, dates nor order of the files, and of names only a keyed hash."""
    inbox = tmp_path / "inbox"
    fill(inbox, range(64))
    marked = [(inbox / f"r{number}.bin").rename(inbox / f"till-CANARY-{number}") for number in range(64)]
    for number, path in enumerate(marked):
        os.utime(path, (1_234_567_890 + number,) * 2)
    ap.gather(inbox, PLAN, out)
    (file,) = out.glob("*.parquet")
    assert file.stat().st_mtime % 86_400 == 0
    names_of = (b"batch", b"minimum_batch_size", b"closed")
    assert set(pq.read_schema(file).metadata) == {PLAN_KEY, *(b"assocpriv." + each for each in names_of)}
    assert not any(b"CANARY" in path.read_bytes() for path in out.rglob("*") if path.is_file())
    assert rows(out) != sorted(rows(out)) == list(range(64))  # equal with chance 1/64!
    (ids,) = (out / "ids").glob("*.ids")
    key = (out / "ids" / "names.key").read_bytes()
    assert ids.read_bytes() == b"".join(sorted(gather.submission_id(path.name, key) for path in marked))
    assert gather.submission_id(marked[0].name, key) != gather.submission_id(marked[0].name, bytes(32))
    end_collection(out)
    assert names(out / "ids") == []


def test_all_orders_are_equally_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each order of the random sort keys gives another order of the reports: all 6 of 3 reports."""
    found = set()
    for keys in permutations(range(3)):
        monkeypatch.setattr(SystemEntropy, "words", lambda _, count, keys=keys: np.array(keys, dtype=np.uint64))
        found.add(tuple(shuffle_rows(np.arange(3, dtype=np.uint8)[:, None])[:, 0].tolist()))
    assert len(found) == 6


# ---- every step, every failure


class Killed(BaseException):
    """The process is killed."""


STEPS = [
    (gather, "store_uploads"), (Path, "unlink"), (SqliteStore, "rotate"), (batch_closing, "_merge_ids"),
    (batch_closing, "write_reports"), (batch_closing, "remove_batch"),
]  # fmt: skip


def gather_failing(inbox: Path, out: Path, at: int, error: BaseException) -> bool:
    """Gather in blocks of two, failing after step number ``at``; return whether there was such a step."""
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
def test_interrupted_after_every_step(tmp_path: Path, error: BaseException) -> None:
    """After two runs that fail after any steps, the next run has each report once."""
    for at in count(1):
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
    """The error is reported, and each report counts once when the files can be removed later."""

    real = Path.unlink

    def refused(path: Path, missing_ok: bool = False) -> None:
        if path.parent == inbox:
            raise PermissionError(errno.EACCES, "Permission denied")
        real(path, missing_ok=missing_ok)

    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", refused)
            with pytest.raises(FileError, match=r"Permission denied; .* gather again: each report counts once"):
                ap.gather(inbox, PLAN, out)
    done = ap.gather(inbox, PLAN, out)
    assert (done.gathered, done.repeated, names(inbox), sorted(rows(out))) == (0, 5, [], list(range(5)))


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_killed_at_random(forks: Forks, tmp_path: Path, out: Path, rng: np.random.Generator, kills: int) -> None:
    """With repeated kill −9 while reports arrive, also repeated ones, each report is gathered exactly once."""
    inbox, dice, written = tmp_path / "inbox", Random(int(rng.integers(1 << 30))), 0
    write_plan(PLAN, tmp_path / "plan.json")
    SqliteStore(out, PLAN).close()
    write_note(out / "batches.json", "assocpriv-batches", 1, {"minimum": 1, "maximum": 100})
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
