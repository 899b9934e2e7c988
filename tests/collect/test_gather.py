"""Gathering: each report exactly once, whoever dies when and however many gather; nothing else of its file is kept."""

import errno
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from naive import fixed_plan, small_plan

import assocpriv as ap
from assocpriv.collect import gather as gathering
from assocpriv.collect import sealing as output_module
from assocpriv.collect.gather import Batch
from assocpriv.collect.sealing import BATCHES_KEY, shuffled
from assocpriv.files.plans import write_plan
from assocpriv.files.reports import LEDGER_NAME, PLAN_KEY, read_reports
from assocpriv.promise.errors import AssocprivError, FileError, PlanError, WireError

NOBODY = "has a bit set beyond the plan's 127; no client of this plan can have sent it: was it made with another plan?"
fcntl = pytest.importorskip("fcntl")  # files are taken where there is flock
PLAN = small_plan("none", 125, 2, 2)  # 127 bits: reports of 16 bytes, whose highest bit is 0
OTHER = small_plan("none", 250, 2, 2)  # 32 bytes
SAME_LENGTH = small_plan("none", 124, 2, 2)
RANKS = fixed_plan(5, 2, 1, 2)  # a byte, of which few values are ranks
MARKED = "till-CANARY-0815"  # a name that must not survive


def report(number: int, plan: Any = PLAN) -> bytes:
    """Return a report that says its number."""
    return number.to_bytes(plan.report_bytes, "little")


def fill(inbox: Path, numbers: Any, plan: Any = PLAN) -> None:
    """Put reports into an inbox, a file each."""
    inbox.mkdir(exist_ok=True)
    for number in numbers:
        (inbox / f"r{number}.bin").write_bytes(report(number, plan))


def held(collection: Path) -> Counter[int]:
    """Return how often the collection has the report of which number."""
    if not collection.exists() or not any(collection.glob("*.parquet")):
        return Counter()
    batches = read_reports(collection).batches(1 << 20)
    return Counter(int.from_bytes(row.tobytes(), "little") for batch in batches for row in batch)


def all_files(folder: Path) -> list[str]:
    """Return all names below a folder, hidden ones too."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


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
    """Reports that devices wrote are gathered, their files are gone, and a later run adds to them."""
    done = ap.gather(inbox, PLAN, out)
    assert (done.gathered, done.refused_count) == (5, 0)
    assert [(each.plan, each.path, each.gathered, each.reports) for each in done.collections] == [(PLAN, out, 5, 5)]
    assert all_files(inbox) == []
    fill(inbox, range(5, 7))
    again = ap.gather(str(inbox), PLAN, str(out)).collections[0]
    assert (again.gathered, again.reports) == (2, 7)
    assert held(out) == Counter(range(7))
    assert len(list(out.iterdir())) == 2


def test_an_empty_inbox_makes_nothing(inbox: Path, out: Path) -> None:
    """Where there is nothing to gather, nothing is written anywhere."""
    ap.gather(inbox, PLAN, out)
    before = all_files(out)
    assert ap.gather(inbox, PLAN, out).gathered == 0
    assert (all_files(inbox), all_files(out)) == ([], before)


def test_files_that_are_no_reports_stay(inbox: Path, out: Path) -> None:
    """Wrong lengths, bits that no client sets and links are named and left; folders and hidden files are not met."""
    bad = {
        "short": (b"x", "has 1 byte, where a report has 16"),
        "long": (bytes(17), "has 17 bytes, where a report has 16"),
        "empty": (b"", "has 0 bytes, where a report has 16"),
        "several": (bytes(48), "has 48 bytes, where a report has 16"),
        "unused-bit": (b"\xff" * 16, "has a bit set beyond the plan's 127"),
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
    assert (done.gathered, done.refused_count, all_files(inbox)) == (5, 7, stay)
    assert {name for name, (_, reason) in bad.items() if reasons[name].startswith(reason)} == set(bad)
    assert reasons["link"].startswith("is a link")
    assert reasons["pipe"] == "is no regular file"


def test_a_file_that_grows_is_taken_when_it_is_whole(inbox: Path, out: Path) -> None:
    """Half a report is left, and gathered by a later run once the rest is there."""
    (inbox / "slow").write_bytes(report(7)[:9])
    assert ap.gather(inbox, PLAN, out).refused_count == 1
    with (inbox / "slow").open("ab") as stream:
        stream.write(report(7)[9:])
    assert ap.gather(inbox, PLAN, out).gathered == 1
    assert held(out) == Counter([*range(5), 7])


@pytest.mark.parametrize(
    ("more", "reason"),
    [(b"more", "has 20 bytes, where a report has 16 or 32"), (bytes(16), "was written to while it was taken")],
    ids=["no report", "another plan's report"],
)
def test_a_file_written_to_while_it_is_taken_is_given_back(
    inbox: Path, out: Path, monkeypatch: pytest.MonkeyPatch, more: bytes, reason: str
) -> None:
    """What was a report and is none any more when it is read again comes back, under its name, and is named."""
    take = Batch.take

    def grow(self: Batch, name: str) -> None:
        take(self, name)
        if name == "r3.bin":
            with (self.folder / name).open("ab") as stream:
                stream.write(more)

    monkeypatch.setattr(Batch, "take", grow)
    done = ap.gather(inbox, [PLAN, OTHER], out)
    assert (done.gathered, done.refused_count) == (4, 1)
    assert (done.refused[0].file, done.refused[0].reason) == (str(inbox / "r3.bin"), reason)
    assert (inbox / "r3.bin").read_bytes() == report(3) + more
    assert all_files(inbox) == ["r3.bin"]


def test_named_files(inbox: Path, out: Path) -> None:
    """Files are taken by name, each once, also beside their folder; one that is missing is named."""
    done = ap.gather([inbox / "r1.bin", inbox / "r1.bin", inbox / "none"], PLAN, out)
    assert (done.gathered, [each.reason for each in done.refused]) == (1, ["is not there"])
    assert ap.gather([inbox / "r2.bin", inbox, inbox.parent / "inbox"], PLAN, out).gathered == 4
    assert held(out) == Counter(range(5))


def test_several_plans_are_sorted_by_length(inbox: Path, out: Path) -> None:
    """Each plan's reports get a folder; what has the length of none is refused."""
    fill(inbox, range(10, 13), OTHER)
    (inbox / "bad").write_bytes(b"x")
    done = ap.gather(inbox, [PLAN, OTHER], out)
    assert [(each.plan, each.gathered) for each in done.collections] == [(PLAN, 5), (OTHER, 3)]
    assert done.refused[0].reason == "has 1 byte, where a report has 16 or 32"
    assert held(out / PLAN.plan_id[:12]) == Counter(range(5))
    assert held(out / OTHER.plan_id[:12]) == Counter(range(10, 13))
    assert sorted(path.name for path in out.iterdir()) == sorted([PLAN.plan_id[:12], OTHER.plan_id[:12]])


def test_plans_of_one_length_are_refused(inbox: Path, out: Path) -> None:
    """Bytes of one length do not tell their plan, and nothing is guessed; the same plan twice is one plan."""
    with pytest.raises(PlanError, match="both have 16 bytes, so nothing tells which is which"):
        ap.gather(inbox, [PLAN, SAME_LENGTH], out)
    assert len(all_files(inbox)) == 5
    assert ap.gather(inbox, [PLAN, PLAN], out).gathered == 5
    assert held(out) == Counter(range(5))


def test_what_else_a_collection_may_hold(inbox: Path, out: Path) -> None:
    """Mined tables beside the reports do not count, nor how a plan's text is laid out; a damaged file stops the run."""
    reports = ap.Reports.from_bytes([report(9)], PLAN)
    reports.write(make(out) / "r.parquet")
    table = pq.read_table(out / "r.parquet")
    layout = json.dumps(json.loads(table.schema.metadata[PLAN_KEY]), indent=1)
    pq.write_table(table.replace_schema_metadata({PLAN_KEY: layout}), out / "r.parquet")
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # one report shows nothing
        ap.write_itemsets(ap.mine(reports, 0.5), out / "mined.parquet")
    (out / ".hidden.parquet").write_bytes(b"unfinished")
    assert ap.gather(inbox, PLAN, out).collections[0].reports == 6
    for content in (b"PAR1", (out / "r.parquet").read_bytes()[:-9]):
        (out / "cut.parquet").write_bytes(content)
        fill(inbox, [10])
        with pytest.raises(WireError, match=r"cut.parquet is damaged .*; move it out of the collection"):
            ap.gather(inbox, PLAN, out)
        assert all_files(inbox) == ["r10.bin"]
    pq.write_table(pa.table({"x": [1]}), out / "cut.parquet")
    with pytest.raises(WireError, match=r"cut.parquet is no report file: .*; move it out of the collection"):
        ap.gather(inbox, PLAN, out)


def test_an_output_is_for_one_plan_or_for_several(inbox: Path, out: Path) -> None:
    """Neither way splits a collection in silence: what was there would not be mined with what comes."""
    ap.gather(inbox, PLAN, out)
    with pytest.raises(FileError, match="is the collection of one plan"):
        ap.gather(inbox, [PLAN, OTHER], out)
    ap.gather(inbox, [PLAN, OTHER], out.with_name("several"), keep=True)
    (out.with_name("several") / PLAN.plan_id[:12]).mkdir(exist_ok=True, parents=True)
    with pytest.raises(FileError, match=f"name .*{PLAN.plan_id[:12]}"):
        ap.gather(inbox, PLAN, out.with_name("several"))


def test_keeping_waits_for_what_was_taken(inbox: Path, out: Path) -> None:
    """Files in a batch's folder are not passed over by a run that only reads."""
    (inbox / ".taking-0123456789abcdef").mkdir()
    with pytest.raises(FileError, match="holds files that another run has taken"):
        ap.gather(inbox, PLAN, out, keep=True)


@pytest.mark.parametrize("sources", [[], "", [""], b"abc"])
def test_sources_that_are_none(tmp_path: Path, sources: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty name, as of an unset variable, is not the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r1").write_bytes(report(1))
    with pytest.raises(TypeError, match="must be names of files and folders"):
        ap.gather(sources, PLAN, tmp_path / "out")
    assert (tmp_path / "r1").exists()


def test_one_report_file(inbox: Path, out: Path) -> None:
    """A name that ends in .parquet gets one file, which is never added to or replaced."""
    file = out.with_suffix(".parquet")
    ap.gather(inbox, PLAN, file)
    assert read_reports(file).plan.plan_id == PLAN.plan_id
    content = file.read_bytes()
    fill(inbox, [9])
    with pytest.raises(FileError, match="is never added to; name a folder"):
        ap.gather(inbox, PLAN, file)
    assert (file.read_bytes(), all_files(inbox)) == (content, ["r9.bin"])
    with pytest.raises(FileError, match="reports of one plan only"):
        ap.gather(inbox, [PLAN, OTHER], out.with_name("two.parquet"))


def test_keep_leaves_the_files(inbox: Path, out: Path) -> None:
    """With keep no file moves, of one plan or several; a second run, which would count all twice, is refused."""
    fill(inbox, [10], OTHER)
    before = all_files(inbox)
    ap.gather(inbox, PLAN, out, keep=True)
    with pytest.raises(FileError, match="would be in it twice"):
        ap.gather(inbox, PLAN, out, keep=True)
    assert held(out) == Counter(range(5))
    done = ap.gather(inbox, [PLAN, OTHER], out.with_name("two"), keep=True)
    assert ([each.gathered for each in done.collections], done.refused_count) == ([5, 1], 0)
    done = ap.gather(inbox, PLAN, out.with_name("one.parquet"), keep=True)
    assert (done.gathered, done.refused_count) == (5, 1)
    assert all_files(inbox) == before


@pytest.mark.parametrize("output", ["collection", "one.parquet"])
def test_of_two_that_keep_one_adds(inbox: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str) -> None:
    """Two runs with keep at once, which both begin to write where no reports are yet: one of them is refused."""
    write = output_module.write_reports

    def meanwhile(blocks: Iterator[Any], *arguments: Any, **options: Any) -> int:
        monkeypatch.setattr(output_module, "write_reports", write)

        def late() -> Iterator[Any]:
            yield from blocks
            ap.gather(inbox, PLAN, tmp_path / output, keep=True)

        return write(late(), *arguments, **options)

    monkeypatch.setattr(output_module, "write_reports", meanwhile)
    with pytest.raises(FileError, match="appeared while it was being written; nothing was replaced"):
        ap.gather(inbox, PLAN, tmp_path / output, keep=True)
    assert len(read_reports(tmp_path / output)) == 5
    assert len(all_files(inbox)) == 5


def refusals(inbox: Path, out: Path) -> Iterator[tuple[Callable[[], Any], type[Exception], str]]:
    """Yield calls that are refused, and how."""
    others = out.with_name("others")
    ap.Reports.from_bytes([report(1, OTHER)], OTHER).write(make(others) / "o.parquet")
    file = out.with_name("file")
    file.write_text("x")
    yield lambda: ap.gather(inbox, PLAN, others), WireError, "holds reports of plan .*, not of plan .*; name another"
    yield lambda: ap.gather(inbox, PLAN, others / "o.parquet"), WireError, "holds reports of plan"
    yield lambda: ap.gather(inbox, PLAN, file), FileError, "is no folder; name a folder, or a new file"
    yield lambda: ap.gather(inbox, PLAN, file / "x"), FileError, "does not exist; make it first"
    yield lambda: ap.gather(inbox, PLAN, out / "two" / "levels"), FileError, "does not exist; make it first"
    yield lambda: ap.gather(inbox, PLAN, inbox), FileError, "is in the inbox"
    yield lambda: ap.gather(inbox, PLAN, inbox / "all.parquet"), FileError, "is in the inbox"
    yield lambda: ap.gather(inbox, PLAN, inbox / ".." / "inbox"), FileError, "is in the inbox"
    yield lambda: ap.gather(inbox, [], out), TypeError, "plan must be a Plan, or a list of plans"
    yield lambda: ap.gather(inbox, ["plan.json"], out), TypeError, "plan must be a Plan"
    yield lambda: ap.gather(io.BytesIO(), PLAN, out, keep=True), FileError, "a stream has none"
    yield lambda: ap.gather(io.BytesIO(), [PLAN, OTHER], out), PlanError, "cannot be told apart in a stream"
    yield lambda: ap.gather(io.StringIO("xx"), PLAN, out), TypeError, "open for bytes"


def make(folder: Path) -> Path:
    """Make a folder and return it."""
    folder.mkdir()
    return folder


def test_what_is_refused_moves_nothing(inbox: Path, out: Path) -> None:
    """Bad outputs and arguments are told before any file is touched."""
    for call, kind, match in refusals(inbox, out):
        with pytest.raises(kind, match=match):
            call()
        assert len(all_files(inbox)) == 5
    assert not out.exists()


# ---- streams


def stream_of(numbers: Any, plan: Any = PLAN) -> bytes:
    """Return reports one after another."""
    return b"".join(report(number, plan) for number in numbers)


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_a_stream(out: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Reports one after another are gathered, whatever blocks they are read in; bad ones are named by position."""
    monkeypatch.setattr(gathering, "_MOST_ROWS", rows)
    content = stream_of(range(7)) + b"\xff" * 16 + stream_of(range(7, 9)) + b"\xff" * 16
    done = ap.gather(io.BytesIO(content + b"half"), PLAN, out)
    assert (done.gathered, done.refused_count) == (9, 3)
    assert [(each.file, each.reason) for each in done.refused] == [
        (
            "-",
            f"report 8 {NOBODY}",
        ),
        (
            "-",
            f"report 11 {NOBODY}",
        ),
        ("-", "the stream ends within report 12, of which it has 4 of 16 bytes"),
    ]
    assert held(out) == Counter(range(9))
    assert ap.gather(io.BytesIO(), PLAN, out).gathered == 0
    assert len(list(out.iterdir())) == 1


def test_every_form_is_checked_in_a_stream(out: Path) -> None:
    """Of all bytes those are gathered that the plan has as reports, each once."""
    done = ap.gather(io.BytesIO(bytes(range(256))), RANKS, out)
    good = {value for value in range(256) if not refuses(RANKS, value)}
    assert held(out) == Counter(good)
    assert 1 < len(good) < 256
    assert (done.refused_count, len(done.refused)) == (256 - len(good), 100)


def refuses(plan: Any, value: int) -> bool:
    """Tell whether a plan refuses a report of one byte."""
    try:
        plan.check_form(np.array([[value]], dtype=np.uint8))
    except WireError:
        return True
    return False


def test_short_reads_are_joined(out: Path) -> None:
    """A pipe that gives a few bytes at a time loses none."""

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(size or 0, 7))

    assert ap.gather(Slow(stream_of(range(9))), PLAN, out).gathered == 9
    assert held(out) == Counter(range(9))


# ---- nothing else is kept


def test_no_name_time_or_order_survives(inbox: Path, out: Path) -> None:
    """The collection holds neither the files' names nor their dates, nor that of the run, nor their order."""
    shutil.rmtree(inbox)
    fill(inbox, range(64))
    for number in range(64):
        os.rename(inbox / f"r{number}.bin", inbox / f"{MARKED}-{number}")
        os.utime(inbox / f"{MARKED}-{number}", (1_234_567_890 + number,) * 2)
    ap.gather(inbox, PLAN, out)
    (file,) = out.iterdir()
    assert file.stat().st_mtime == 946_684_800
    assert b"CANARY" not in file.read_bytes()
    assert MARKED not in file.name
    metadata = pq.read_schema(file).metadata
    assert set(metadata) == {PLAN_KEY, BATCHES_KEY}
    assert len(metadata[BATCHES_KEY]) == 16  # random
    assert all_files(inbox.parent) == ["collection", f"collection/{file.name}", "inbox"]
    order = [int.from_bytes(row.tobytes(), "little") for batch in read_reports(out).batches(64) for row in batch]
    assert sorted(order) == list(range(64))
    assert order != list(range(64))  # by chance once in 64! runs
    ap.gather(io.BytesIO(stream_of(range(64))), PLAN, out.with_name("other"))
    (other,) = out.with_name("other").iterdir()
    assert set(pq.read_schema(other).metadata) == {PLAN_KEY}
    second = [int.from_bytes(row.tobytes(), "little") for batch in read_reports(other).batches(64) for row in batch]
    assert second not in (order, list(range(64)))


def test_all_orders_are_as_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each order of the random keys gives another order of the reports: of 3 reports all 6 come up once."""
    rows = np.arange(3, dtype=np.uint8)[:, None]
    found = set()
    for keys in [(a, b, 3 - a - b) for a in range(3) for b in range(3) if a != b]:
        monkeypatch.setattr(
            "assocpriv.promise.entropy.SystemEntropy.words", lambda _, count, keys=keys: np.array(keys, dtype=np.uint64)
        )
        found.add(tuple(shuffled(rows)[:, 0].tolist()))
    assert len(found) == 6


# ---- every step, every failure

STEPS = ["rename", "replace", "link", "unlink", "rmdir", "mkdir", "fsync", "write", "utime"]


REAL = {name: getattr(os, name) for name in STEPS}
FLOCK = fcntl.flock


class Killed(BaseException):
    """The process is gone."""


class Steps:
    """Counts the steps that change the disk, and does something before the ``at``-th."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, at: int, event: Callable[[], None], *, locks: bool = False
    ) -> None:
        self.done, self.names = 0, []
        for name in STEPS:
            monkeypatch.setattr(os, name, self._counted(name, REAL[name], at, event))
        if locks:
            monkeypatch.setattr(fcntl, "flock", self._counted("flock", FLOCK, at, event))

    def _counted(self, name: str, real: Callable[..., Any], at: int, event: Callable[[], None]) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> Any:
            self.done += 1
            self.names.append(name)
            if self.done == at:
                event()
            return real(*arguments, **options)

        return step


def gather_dying(inbox: Path, out: Path, at: int) -> bool:
    """Gather and be killed before a step: no later one is done, none that tidies up either; tell whether it was."""
    dead = False

    def check() -> None:
        nonlocal dead
        dead = True
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        Steps(patch, at, check)
        for name in STEPS:
            real = getattr(os, name)

            def mortal(*arguments: Any, real: Callable[..., Any] = real, **options: Any) -> Any:
                if dead:
                    raise Killed
                return real(*arguments, **options)

            patch.setattr(os, name, mortal)
        try:
            ap.gather(inbox, PLAN, out)
        except Killed:
            return True
    assert not dead
    return False


def prepared(tmp_path: Path, number: int) -> tuple[Path, Path]:
    """Return an inbox of two reports and a file that is none, and a place for a collection."""
    folder = make(tmp_path / str(number))
    fill(folder / "inbox", range(2))
    (folder / "inbox" / "bad").write_bytes(b"bad")
    return folder / "inbox", folder / "collection"


def check_exact(inbox: Path, out: Path, most: int = 2) -> None:
    """All reports are in the collection once, and nothing else is left anywhere."""
    assert held(out) == Counter(range(most))
    assert all_files(inbox) == ["bad"]
    assert [path.name for path in out.iterdir() if path.suffix != ".parquet"] == []


def test_killed_at_every_step(tmp_path: Path) -> None:
    """Killed before any step, and the next run killed before any of its steps: the run after that has each once."""
    at = 0
    while True:
        at += 1
        inbox, out = prepared(tmp_path, at)
        if not gather_dying(inbox, out, at):
            break
        again = 0
        while True:
            again += 1
            folder = tmp_path / f"{at}-{again}"
            shutil.copytree(inbox.parent, folder)
            second = folder / "inbox", folder / "collection"
            move_marks(second[0], inbox.parent, folder)
            killed = gather_dying(*second, again)
            ap.gather(second[0], PLAN, second[1])
            check_exact(*second)
            if not killed:
                break
        assert again > 1
    assert at > 15


def move_marks(inbox: Path, before: Path, after: Path) -> None:
    """Let the marks of a copied inbox name the copied collection."""
    for mark in inbox.glob(".taking-*/.batch"):
        mark.write_text(mark.read_text().replace(f"{before}/", f"{after}/"))


def test_a_new_report_file_killed_at_every_step(tmp_path: Path) -> None:
    """So it is where the output is one report file: the next run finishes it, or says that it is there already."""
    at = 0
    while True:
        at += 1
        inbox, out = prepared(tmp_path, at)
        file = out.with_suffix(".parquet")
        killed = gather_dying(inbox, file, at)
        if file.exists():
            with pytest.raises(FileError, match="exists already"):
                ap.gather(inbox, PLAN, file)
        else:
            ap.gather(inbox, PLAN, file)
        assert Counter(int.from_bytes(row.tobytes(), "little") for row in next(read_reports(file).batches(9))) == (
            Counter(range(2))
        )
        assert all_files(inbox) == ["bad"]
        if not killed:
            break


@pytest.mark.parametrize("problem", [errno.ENOSPC, errno.EACCES, errno.EINTR], ids=errno.errorcode.get)
def test_failing_at_every_step(tmp_path: Path, problem: int) -> None:
    """A step that fails ends the run with our error; files are back, or in the collection; the next run has all."""

    def fail() -> None:
        raise OSError(problem, os.strerror(problem))

    at = 0
    while True:
        at += 1
        inbox, out = prepared(tmp_path, at)
        with pytest.MonkeyPatch.context() as patch:
            steps = Steps(patch, at, fail)
            with suppress(AssocprivError):
                ap.gather(inbox, PLAN, out)
        if steps.done < at:
            break
        if not held(out):
            assert [path.name for path in sorted(inbox.glob("*.bin"))] == ["r0.bin", "r1.bin"]
        ap.gather(inbox, PLAN, out)
        check_exact(inbox, out)


def hidden(inbox: Path) -> list[Path]:
    """Return the files that wait in an inbox for the next gatherer."""
    return [path for path in inbox.glob(".taking-*/*") if path.name != ".batch"]


@pytest.mark.parametrize("late", [False, True], ids=["reports there", "a report of the same name comes"])
def test_another_gatherer_at_every_step(tmp_path: Path, late: bool) -> None:
    """Whatever step of a gatherer another one runs before, both together have each report once."""
    at = 0
    while True:
        at += 1
        inbox, out = prepared(tmp_path, at)

        def other(inbox: Path = inbox, out: Path = out) -> None:
            if late:
                (inbox / "r1.bin").exists() or (inbox / "r1.bin").write_bytes(report(2))
            with pytest.MonkeyPatch.context() as patch:
                for name, real in REAL.items():
                    patch.setattr(os, name, real)
                patch.setattr(fcntl, "flock", FLOCK)
                ap.gather(inbox, PLAN, out)

        with pytest.MonkeyPatch.context() as patch:
            steps = Steps(patch, at, other, locks=True)
            ap.gather(inbox, PLAN, out)
        if steps.done < at:
            break
        ap.gather(inbox, PLAN, out)
        found = held(out)
        assert found in (Counter(range(2)), Counter(range(3)))
        check_exact(inbox, out, len(found))


def test_what_is_on_disk_when(inbox: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Taken names are on disk before the report file appears; this is before files go, and they before the mark."""
    steps: list[str] = []

    def note(name: str) -> None:
        real = getattr(os, name)

        def noted(*arguments: Any, **options: Any) -> Any:
            where = arguments[0]
            if isinstance(where, int):
                where = os.readlink(f"/proc/self/fd/{where}")
            steps.append(f"{name} {os.path.basename(where)}")
            return real(*arguments, **options)

        monkeypatch.setattr(os, name, noted)

    for name in ("rename", "link", "unlink", "rmdir", "fsync"):
        note(name)
    out.mkdir()
    ap.gather(inbox, PLAN, out)
    batch = next(step for step in steps if step.startswith("fsync .taking")).split()[1]
    (file,) = out.iterdir()
    part = next(step for step in steps if step.startswith("link")).split()[1]
    names = sorted(f"r{number}.bin" for number in range(5))
    taken, removed = (sorted(step for step in steps if step.startswith(f"{verb} r")) for verb in ("rename", "unlink"))
    assert taken == [f"rename {name}" for name in names]
    assert removed == [f"unlink {name}" for name in names]
    rest = [step for step in steps if step not in {*taken, *removed[1:]}]
    assert [removed[0] if step in removed else step for step in rest] == [
        "fsync .batch", f"fsync {batch}", "fsync inbox", f"fsync {part}", f"link {part}", f"unlink {part}",
        "fsync collection", removed[0], f"fsync {batch}", "unlink .batch", f"rmdir {batch}",
    ]  # fmt: skip
    assert file.name == f"{batch.removeprefix('.taking-')}.parquet"


# ---- what dead gatherers leave


def test_what_was_for_another_collection_is_not_touched(inbox: Path, out: Path) -> None:
    """Files taken for one collection do not get into another; it is said where they belong."""
    gather_dying(inbox, out, 12)
    waiting = all_files(inbox)
    assert hidden(inbox)
    other = out.with_name("other")
    with pytest.raises(FileError, match=f"being gathered into {out}, of plan {PLAN.plan_id[:12]}, when that broke off"):
        ap.gather(inbox, PLAN, other)
    with pytest.raises(FileError, match=f"first run assocpriv gather {inbox} -o {out} with that plan"):
        ap.gather(inbox, [PLAN, OTHER], out)
    assert (all_files(inbox), other.exists()) == (waiting, False)
    assert ap.gather(inbox, PLAN, out).gathered == 5
    assert held(out) == Counter(range(5))


def test_a_living_gatherer_is_left_alone(inbox: Path, out: Path) -> None:
    """What a gatherer that lives has taken is not taken from it; when it ends, it is."""
    batch = Batch.begin(inbox, (PLAN.plan_id, str(out)))
    batch.take("r1.bin")
    assert ap.gather(inbox, PLAN, out).gathered == 4
    assert [path.name for path in hidden(inbox)] == ["r1.bin"]
    batch.release()
    assert ap.gather(inbox, PLAN, out).gathered == 1
    assert held(out) == Counter(range(5))


@pytest.mark.parametrize("mark", ["", "[", "7", '["x"]', "\xff", "[" * 60_000], ids=lambda mark: mark[:5])
def test_a_torn_mark_gives_the_files_back(inbox: Path, out: Path, mark: str) -> None:
    """A batch whose mark a power cut took was in no collection: its files go back, and are gathered."""
    batch = Batch.begin(inbox, (PLAN.plan_id, str(out)))
    batch.take("r1.bin")
    batch.release()
    (batch.folder / ".batch").write_text(mark, encoding="latin-1")
    assert ap.gather(inbox, PLAN, out).gathered == 5
    assert (held(out), all_files(inbox)) == (Counter(range(5)), [])


@pytest.mark.parametrize(
    "batch_id", ["", ".x", "é", "a b", "*", "0123456789ABCDEF", "0" * 15, "0" * 17, "0" * 16 + "\n"]
)
def test_only_ids_of_ours_are_batches(inbox: Path, out: Path, batch_id: str) -> None:
    """A folder whose name has no id as gatherers draw it is hidden from them like any other, whatever is in it."""
    folder = make(inbox / f".taking-{batch_id}")
    (folder / ".batch").write_text(json.dumps([PLAN.plan_id, os.path.realpath(out)]))
    (folder / "r9.bin").write_bytes(report(9))
    assert ap.gather(inbox, PLAN, out).gathered == 5
    assert held(out) == Counter(range(5))
    assert all_files(inbox) == sorted(path.relative_to(inbox).as_posix() for path in (folder, *folder.iterdir()))
    assert (folder / "r9.bin").read_bytes() == report(9)


def test_a_folder_swapped_for_a_link_at_every_step(tmp_path: Path) -> None:
    """Whenever a batch's folder becomes a link to another one, dead gatherers' or new, nothing there is touched."""
    at, swaps = 0, 0
    names = [".batch", *(f"r{number}.bin" for number in range(5))]
    while True:
        at += 1
        inbox, out = prepared(tmp_path, at)
        victim = make(inbox.with_name("victim"))
        for name in names:
            (victim / name).write_bytes(report(9))
        gather_dying(inbox, out, 8)
        assert hidden(inbox)
        fill(inbox, range(2, 5))
        torn = Batch.begin(inbox, (PLAN.plan_id, str(out)))
        torn.take("r4.bin")
        (torn.folder / ".batch").write_text("")
        torn.release()

        def swap(inbox: Path = inbox, victim: Path = victim) -> None:
            nonlocal swaps
            for folder in [path for path in inbox.glob(".taking-*") if not path.is_symlink()]:
                REAL["rename"](folder, inbox / f".away{folder.name}")
                folder.symlink_to(victim)
                swaps += 1

        with pytest.MonkeyPatch.context() as patch:
            steps = Steps(patch, at, swap)
            for name in ("open", "lstat", "stat", "scandir"):
                patch.setattr(os, name, steps._counted(name, getattr(os, name), at, swap))
            with suppress(AssocprivError):
                ap.gather(inbox, PLAN, out)
        assert {path.name: path.read_bytes() for path in victim.iterdir()} == dict.fromkeys(names, report(9))
        assert set(held(out)) <= set(range(5))
        if steps.done < at:
            break
    assert swaps > 30


def test_what_is_another_users_is_nobodys_batch(inbox: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of another user is passed over until that one comes; where all folders become so, it is said."""
    gather_dying(inbox, out, 12)
    waiting = all_files(inbox)
    assert hidden(inbox)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert ap.gather(inbox, PLAN, out).gathered == 0
    assert all_files(inbox) == waiting
    fill(inbox, [5])
    with pytest.raises(FileError, match=r"or its file system makes it another user's; .* pass --keep"):
        ap.gather(inbox, PLAN, out)
    assert all_files(inbox) == sorted([*waiting, "r5.bin"])
    monkeypatch.undo()
    assert ap.gather(inbox, PLAN, out).gathered == 6
    assert held(out) == Counter(range(6))


def test_only_the_owner_enters_a_batch(inbox: Path, out: Path) -> None:
    """Who may write to the inbox cannot write to what is taken."""
    batch = Batch.begin(inbox, (PLAN.plan_id, str(out)))
    assert batch.folder.stat().st_mode & 0o777 == 0o700
    batch.release()


def test_a_listing_that_broke_off_hides_nothing(inbox: Path, out: Path) -> None:
    """Names are listed from the first on, also where an earlier listing was left in its midst."""
    batch = Batch.begin(inbox, (PLAN.plan_id, str(out)))
    for number in range(5):
        batch.take(f"r{number}.bin")
    first = batch.names()
    next(first)
    assert len(list(batch.names())) == 5
    assert len(list(first)) == 4
    batch.put_back_all()


def test_what_was_added_is_on_disk_before_its_files_go(inbox: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a run could not sync its collection, the next one does before it removes the files, or keeps them."""
    steps, failing = [], True

    def sync(file: int) -> None:
        where = os.readlink(f"/proc/self/fd/{file}")
        if failing and where == str(out):
            raise OSError(errno.EIO, "I/O error")
        steps.append(f"fsync {os.path.basename(where)}")
        REAL["fsync"](file)

    def unlink(path: Any, **options: Any) -> None:
        steps.append("unlink")
        REAL["unlink"](path, **options)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "unlink", unlink)
    for _ in range(2):
        with pytest.raises(FileError, match=f"cannot write {out}.*: I/O error"):
            ap.gather(inbox, PLAN, out)
        assert (held(out), len(hidden(inbox))) == (Counter(range(5)), 5)
    failing = False
    steps.clear()
    ap.gather(inbox, PLAN, out)
    assert steps[:2] == ["fsync collection", "unlink"]
    assert (held(out), all_files(inbox)) == (Counter(range(5)), [])


def test_a_name_in_use_again_is_not_replaced(inbox: Path, out: Path) -> None:
    """Where a new file has the name of one that is given back, both are there and both are gathered."""
    batch = Batch.begin(inbox, (PLAN.plan_id, str(out)))
    batch.take("r1.bin")
    (inbox / "r1.bin").write_bytes(report(9))
    batch.take("r1.bin")
    assert (inbox / "r1.bin").read_bytes() == report(9)
    batch.put_back_all()
    batch.release()
    assert ap.gather(inbox, PLAN, out).gathered == 6
    assert held(out) == Counter([*range(5), 9])


# ---- real processes

GATHERER = """
import sys, time
import assocpriv as ap
from assocpriv.files.plans import read_plan
inbox, plan, out = sys.argv[1:4]
plan = read_plan(plan)
print("ready", flush=True)
while True:
    ap.gather(inbox, plan, out)
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9 of POSIX")
@pytest.mark.parametrize("kills", [8, pytest.param(150, marks=pytest.mark.slow)])
def test_killed_at_random(tmp_path: Path, out: Path, rng: np.random.Generator, kills: int) -> None:
    """Two gatherers at once, killed again and again while reports arrive: each report is gathered exactly once."""
    inbox, dice = make(tmp_path / "inbox"), Random(int(rng.integers(1 << 30)))
    write_plan(PLAN, tmp_path / "plan.json")
    command = [sys.executable, "-c", GATHERER, str(inbox), str(tmp_path / "plan.json"), str(out)]
    alive: list[subprocess.Popen[str]] = []
    written, killed_with_files = 0, 0
    try:
        for _ in range(kills):
            while len(alive) < 2:
                alive.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
                assert alive[-1].stdout is not None
                assert alive[-1].stdout.readline() == "ready\n"
            end = time.monotonic() + dice.random() * 0.3
            while time.monotonic() < end:
                (inbox / f".{written}").write_bytes(report(written))
                os.rename(inbox / f".{written}", inbox / f"{written}")
                written += 1
            victim = alive.pop(dice.randrange(2))
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            victim.stdout.close()
            killed_with_files += bool(hidden(inbox))
    finally:
        for process in alive:
            process.kill()
            process.wait()
            process.stdout.close()
    ap.gather(inbox, PLAN, out)
    assert held(out) == Counter(range(written))
    assert all_files(inbox) == []
    assert written > 100
    assert killed_with_files


def test_a_ledger_is_no_report(inbox: Path, out: Path) -> None:
    """A ledger stays even where it is as long as a report, and a stream that begins as one is refused."""
    (inbox / "ledger").write_bytes(LEDGER_NAME)
    assert PLAN.report_bytes == len(LEDGER_NAME)
    done = ap.gather(inbox, PLAN, out)
    assert [Path(each.file).name for each in done.refused] == ["ledger"]
    assert done.refused[0].reason.startswith("is a device's ledger")
    assert (inbox / "ledger").exists()
    with pytest.raises(WireError, match="is a device's ledger"):
        ap.gather(io.BytesIO(LEDGER_NAME + bytes(16)), PLAN, out / "stream")
