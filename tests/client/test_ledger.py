"""A device's ledger: whatever stops when, it tells nothing twice as new, forgets nothing told, keeps no item.

What names an occasion and what spends nothing; the command that reports, of baskets and of tables.
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Collection
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner
from command_line import NAME, marked_files, marks_in, shown_by
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from naive import fixed_plan, small_plan

import assocpriv as ap
from assocpriv import report as device_report
from assocpriv.cli.main import main
from assocpriv.client import ledger as ledger_module
from assocpriv.client import ledger_file
from assocpriv.client.baskets import Randomizer
from assocpriv.client.ledger import Ledger, hash_occasion, parse_record
from assocpriv.client.ledger_book import Submission
from assocpriv.client.ledger_file import HEADER, parse_ledger
from assocpriv.client.transactions import transaction_of
from assocpriv.files.plans import write_plan
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.columns import CategoryColumn, NumberColumn, Window
from assocpriv.plans.names import Names
from assocpriv.plans.tables import TablePlan
from assocpriv.promise.breaches import Breach
from assocpriv.promise.entropy import Entropy, SystemEntropy
from assocpriv.promise.errors import AssocprivError, BasketError, BudgetError, FileError, PlanError, RecordError
from assocpriv.simulation.enumeration import SeededEntropy

ENTROPY = SystemEntropy()
BUDGET = 3
NAMED = replace(
    small_plan("none", 5, 2, 2), catalogue=Catalogue(["milk", "bread", NAME, "eggs", "a, b"]), reports_per_person=BUDGET
)
# 125 items and no code: 16 bytes, so that two reports are equal by chance with probability 2^-100 or so
PLAN = replace(small_plan("none", 125, 2, 2), reports_per_person=BUDGET)
BASKET = ["1", "3"]


def tell(path: Path, *occasions: str) -> list[bytes]:
    """Open a ledger, report on occasions, close it."""
    with Ledger.open(path, wait_seconds=0) as ledger:
        return [ledger.report(BASKET, PLAN, occasion=occasion, entropy=ENTROPY) for occasion in occasions]


# ---- what it is for


def test_a_report_is_the_clients(path: Path) -> None:
    """From the same words the ledger makes the report that the client makes, along the plan's view."""
    rules = Names(others="drop", parents=(("brie", "eggs"), ("stout", "milk")))
    for plan in (replace(NAMED, names=rules), replace(fixed_plan(5, 2, 2, 3), catalogue=NAMED.catalogue, names=rules)):
        with Ledger.open(path.with_name(plan.plan_id)) as ledger:
            found = ledger.report(["stout", "nothing", "eggs"], plan, occasion="now", entropy=SeededEntropy(5))
        transaction = transaction_of(["milk", "eggs"], plan)
        assert found == Randomizer(plan).randomize(transaction, entropy=SeededEntropy(5))
        assert len(found) == plan.report_bytes == len(ap.randomize(["stout"], plan))


@pytest.mark.parametrize(
    ("basket", "occasion", "kind"),
    [(["nothing"], "a", BasketError), (["milk", "milk"], "a", BasketError)]
    + [(each, "a", TypeError) for each in ("milk", b"\1", bytearray(b"\1"), memoryview(b"\1"), 3)]
    + [(["milk"], 7, TypeError)]
    + [(["milk"], each, PlanError) for each in ("", " \n", "x" * 1001)],
)
def test_what_is_refused_spends_nothing(path: Path, basket: Any, occasion: Any, kind: type[Exception]) -> None:
    """A basket or an occasion that cannot be used leaves the ledger as it was, on disk too."""
    with Ledger.open(path) as ledger:
        before = path.read_bytes()
        with pytest.raises(kind):
            ledger.report(basket, NAMED, occasion=occasion)
        assert (path.read_bytes(), ledger.left(NAMED)) == (before, BUDGET)


def test_what_is_no_plan_or_limit_is_refused(path: Path) -> None:
    """A number is not taken for a limit in silence; a ledger that is called and not opened says how."""
    with pytest.raises(TypeError, match="limit must be a Breach"):
        Ledger.open(path, limit=19)  # type: ignore[arg-type]
    with Ledger.open(path) as ledger, pytest.raises(TypeError):
        ledger.report(["milk"], "plan.json", occasion="a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Ledger\.open"):
        Ledger(path)


def test_one_name_is_one_occasion(path: Path) -> None:
    """Blanks around a name and the ways to compose é spend nothing; what reads otherwise is another occasion."""
    assert len({*tell(path, "caf\u00e9 7", " caf\u00e9 7", "cafe\u0301 7\n", "\u2003cafe\u0301 7\xa0\r\n")}) == 1
    assert hash_occasion("\te\u0301 ") == sha256("\u00e9".encode()).digest()
    apart = ["a b", "ab", "a  b", "A b", "a\xa0b", "a\u200bb", "2", "\xb2", "\ufb01", "fi", "e", "\u00e9"]
    assert len(set(map(hash_occasion, apart))) == len(apart)


def test_threads_cannot_both_spend_the_last(path: Path) -> None:
    """Threads that share a ledger make as many new reports as the budget has, not one more."""
    told = []

    def ask(occasion: str) -> None:
        try:
            told.append(ledger.report(BASKET, PLAN, occasion=occasion))
        except BudgetError:
            told.append(b"")

    with Ledger.open(path) as ledger:
        threads = [threading.Thread(target=ask, args=(f"w{place}",)) for place in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(map(bool, told)) == ledger.spent(PLAN) == BUDGET


def test_nothing_of_a_basket_is_kept(path: Path) -> None:
    """Neither the file nor the repr holds an item or an occasion's name; refusals show none."""
    with Ledger.open(path) as ledger:
        ledger.report([NAME, "milk"], NAMED, occasion=NAME)
        assert not marks_in(repr([ledger, *parse_ledger(path.read_bytes())[0]]).replace(repr(path), ""))
        for basket in ([NAME, NAME], [f"{NAME}x"], [f"{NAME}\n{NAME}"], NAME, [NAME.encode()], [["milk", NAME]]):
            with pytest.raises((AssocprivError, TypeError)) as caught:
                ledger.report(basket, NAMED, occasion="now")
            assert not marks_in(shown_by(caught.value))
        for occasion in ("a", "b"):
            ledger.report([NAME], NAMED, occasion=occasion)
        with pytest.raises(BudgetError) as refusal:
            ledger.report([NAME], NAMED, occasion="c")
        assert not marks_in(shown_by(refusal.value))
    assert marked_files(path.parent, set()) == []
    assert hash_occasion(NAME) in path.read_bytes()


# ---- whatever stops when


class StoppedError(BaseException):
    """The device stops: power is lost, or the process is killed."""


class Disk:
    """A file of which only what was synced is sure to outlive a loss of power; the rest arrives in part, or as garbage.

    Attributes:
        shown: what the system shows to whoever reads.
        durable: what is on disk for sure.
        named: whether the folder is on disk, so that the file is found.
        steps: operations and bytes until something goes wrong; None for never.
        fault: what goes wrong then.
        lasts: whether it goes wrong again and again.
        drawn: reports that the client made.
    """

    def __init__(self, rng: Random, *, honest: bool) -> None:
        self.rng, self.honest, self.named = rng, honest, False
        self.shown, self.durable = b"", b""
        self.steps: int | None = None
        self.fault, self.lasts = StoppedError, False
        self.drawn: set[bytes] = set()

    def step(self, count: int = 1) -> None:
        """Go on, or stop, or fail."""
        if self.steps is not None and (left := self.steps - count) < 0:
            self.steps = 0 if self.lasts else None
            raise self.fault(28, "No space left on device")
        self.steps = self.steps and left

    def write(self, start: int, content: bytes) -> None:
        """Write as many bytes as there are steps."""
        done = content[: self.steps]
        self.shown = self.shown[:start].ljust(start, b"\0") + done + self.shown[start + len(done) :]
        self.step(len(content))

    def stop(self, *, power: bool) -> None:
        """Lose power: of what was not synced any part may be there, any may be zeros or garbage. Or just be killed."""
        if power:
            alike = (a == b for a, b in zip(self.shown, self.durable, strict=False))
            sure = len(list(takewhile(bool, alike)))
            short, long = sorted((self.shown, self.durable), key=len)
            length = self.rng.choice([len(long), self.rng.randint(max(sure, len(short)), len(long))])
            first, last = sorted(self.rng.randint(sure, length) for _ in range(2))
            lost = self.rng.choice([bytes, self.rng.randbytes])(last - first)
            self.shown = long[:first] + lost + self.rng.choice([long[last:length], bytes(length - last)])
            self.shown = self.durable = self.shown if self.named or self.rng.random() < 0.5 else b""
        self.steps = None


class DiskFile:
    """Stands in for LedgerFile."""

    disk: Disk

    def __init__(self, _path: Path, _wait_seconds: float) -> None:
        self.write = self.disk.write

    def read(self, most: int) -> bytes:
        """Return what the system shows."""
        return self.disk.shown[:most]

    def cut(self, length: int) -> None:
        """Shorten the file."""
        self.disk.step()
        self.disk.shown = self.disk.shown[:length]

    def sync(self) -> None:
        """Put what is shown on disk, unless the disk lies; it takes long, so much stops here."""
        self.disk.step(60)
        if self.disk.honest:
            self.disk.durable = self.disk.shown
        self.disk.step(60)

    @classmethod
    def sync_folder(cls, _path: Path) -> None:
        """Put the file's name on disk."""
        cls.disk.step(60)
        cls.disk.named = True

    def nothing(self, *_: object) -> None:
        """It has no permissions and no lock, and whoever stops cannot remove it."""

    keep_private = remove_new = release = nothing


class NotedRandomizer(Randomizer):
    """A client whose reports are noted."""

    def randomize(self, transaction: Collection[int], *, entropy: Entropy) -> bytes:
        """Return the report of one transaction."""
        report = super().randomize(transaction, entropy=entropy)
        DiskFile.disk.drawn.add(report)
        return report


# 62 or 63 items and no code: 8 bytes, so that two reports are equal by chance with probability 2^-50 or so; γ is 3
SHORT = [replace(small_plan("none", n, 2, 2), reports_per_person=BUDGET) for n in (62, 63)]
LIMITS = [None, Breach("1/82", "1/2"), Breach("1/83", "1/2")]  # γ below 81 and 82, where four reports reach 81
STEPS = st.none() | st.integers(0, 200) | st.integers(0, 1200)
AT = {"steps": STEPS, "fault": st.sampled_from([StoppedError, OSError]), "lasts": st.booleans()}


class Device(RuleBasedStateMachine):
    """A device that reports and stops, fails or starts again at any moment; what it told is the model."""

    honest = True

    @initialize(seed=st.integers(0, 1 << 32))
    def begin(self, seed: int) -> None:
        """Begin with an empty disk."""
        self.disk = DiskFile.disk = Disk(Random(seed), honest=self.honest)
        self.entropy, self.limit = SeededEntropy(seed), LIMITS[0]
        self.ledger: Ledger | None = None
        self.made: dict[str, tuple[Plan, bytes]] = {}  # by occasion
        self.ids: dict[str, bytes] = {}  # of submissions
        self.waiting: set[bytes] = set()  # those that no collector has
        self.begun: tuple[str, Plan | None] | None = None  # what was stopped: a report, or word that one arrived

    def opened(self) -> Ledger:
        """Open the ledger if it is closed, and see what became of what was stopped."""
        if self.ledger is not None:
            return self.ledger
        try:
            self.ledger = Ledger.open(Path("ledger"), limit=self.limit)
        except FileError as error:
            if "No space left" in str(error):
                raise
            # garbage in place of a header: somebody deletes it, for nothing was told
            assert (self.made, self.begun, len(self.disk.shown) <= len(HEADER)) == ({}, None, True)
            self.disk.shown = self.disk.durable = b""
            return self.opened()
        found = {each.submission_id for each in self.ledger.unsent()}
        if self.begun is not None:
            occasion, plan = self.begun
            if plan is None:
                self.waiting -= {self.ids[occasion]} - found
            else:
                if occasion not in self.made and self.ledger.spent(plan) > self.told(plan):
                    self.made[occasion] = plan, self.ledger.report([], plan, occasion=occasion)
                if found > self.waiting:
                    [self.ids[occasion]] = found - self.waiting
                    self.waiting = found
            self.begun = None
        assert found == self.waiting
        return self.ledger

    def told(self, plan: Plan) -> int:
        """Return how many reports of a plan are known to be made."""
        return sum(each == plan for each, _ in self.made.values())

    def refusal(self, plan: Plan, occasion: str) -> str:
        """Return what is said where no report may be made, else nothing."""
        if occasion in self.made:
            return "" if self.made[occasion][0] == plan else "an occasion is answered once, whatever the plan"
        if self.told(plan) == BUDGET:
            return "counts 3 of the 3 reports"
        if self.limit is None:
            return "without a limit" if len(self.made) > self.told(plan) else ""
        return "would reach the limit" if 3 ** (len(self.made) + 1) >= self.limit.amplification_limit else ""

    def attempt(self, act: Callable[[Ledger], None], steps: int | None, fault: Any, lasts: bool) -> None:
        """Do something with the open ledger, unless the disk fails or the device stops."""
        self.disk.steps, self.disk.fault, self.disk.lasts = steps, fault, lasts
        try:
            ledger = self.opened()
            before = self.disk.shown
            act(ledger)
            return
        except StoppedError:
            self.disk.stop(power=lasts)
        except FileError as error:
            self.disk.steps = None
            if "No space left on device" not in str(error):
                raise
            if self.ledger is not None:  # it was open, and must be opened again
                assert lasts or self.disk.shown == before
                for plan in SHORT:
                    with pytest.raises(FileError, match="open it"):
                        self.ledger.report(BASKET, plan, occasion="any", entropy=self.entropy)
        self.ledger = None

    @rule(occasion=st.sampled_from("abcde"), which=st.sampled_from(range(2)), submits=st.booleans(), **AT)
    def tell(self, occasion: str, which: int, submits: bool, **at: Any) -> None:
        """Report on an occasion, perhaps again and from another basket, to a collector or to nobody."""

        plan = SHORT[which]

        def act(ledger: Ledger) -> None:
            refusal, spent = self.refusal(plan, occasion), ledger.spent(plan)
            self.begun = occasion, plan
            try:
                make = ledger.submit if submits else ledger.report
                found = make([] if occasion in self.made else BASKET, plan, occasion=occasion, entropy=self.entropy)
            except BudgetError as error:
                self.begun = None
                if not refusal or refusal not in str(error):
                    raise
                return
            self.begun = None
            assert not refusal
            report, before = found if isinstance(found, bytes) else found.report, self.made.get(occasion)
            assert before is None or before[1] == report
            assert report in self.disk.drawn
            self.made[occasion] = plan, report
            assert ledger.spent(plan) == spent + (before is None) == self.told(plan)
            if isinstance(found, Submission):
                if occasion not in self.ids:
                    assert not found.acknowledged
                    self.waiting.add(found.submission_id)
                assert self.ids.setdefault(occasion, found.submission_id) == found.submission_id
                assert found.acknowledged == (found.submission_id not in self.waiting)

        self.attempt(act, **at)

    @rule(occasion=st.sampled_from("abcde"), **AT)
    def acknowledge(self, occasion: str, **at: Any) -> None:
        """A collector has a report, perhaps twice."""

        def act(ledger: Ledger) -> None:
            if occasion not in self.ids:
                return
            submission = ledger.submit([], self.made[occasion][0], occasion=occasion)
            self.begun = occasion, None
            ledger.acknowledge(submission)
            self.begun = None
            self.waiting.discard(self.ids[occasion])

        self.attempt(act, **at)

    @rule(limit=st.sampled_from(LIMITS), power=st.none() | st.booleans())
    def restart(self, limit: Breach | None, power: bool | None) -> None:
        """Close it, or stop it between two reports; begin again with another limit for the device."""
        if power is None and self.ledger is not None:
            self.ledger.close()
        elif power is not None:
            self.disk.stop(power=power)
        self.ledger, self.limit = None, limit

    @invariant()
    def holds(self) -> None:
        """An open ledger says what was told and what is left."""
        if self.ledger is not None:
            assert self.ledger.amplification == 3 ** len(self.made)
            assert {each.submission_id for each in self.ledger.unsent()} == self.waiting
            for plan in SHORT:
                assert (self.ledger.left(plan) > 0) == (self.refusal(plan, "another") == "")

    def teardown(self) -> None:
        """At last power is lost; all that was told is known."""
        self.restart(None, True)
        ledger = self.opened()
        for occasion, (plan, report) in self.made.items():
            assert ledger.report([], plan, occasion=occasion) == report


@pytest.mark.parametrize("honest", [True, False])
def test_no_stop_tells_twice_or_forgets(monkeypatch: pytest.MonkeyPatch, honest: bool) -> None:
    """Whatever is asked, fails or stops when: what was told is known and stays, within budget and limit.

    A disk that does not put on disk what it was told to is found out.
    """
    monkeypatch.setattr(ledger_file, "LedgerFile", DiskFile)
    monkeypatch.setattr("assocpriv.client.baskets.Randomizer", NotedRandomizer)
    monkeypatch.setattr(ledger_module, "sync_folder", DiskFile.sync_folder)
    monkeypatch.setattr(Device, "honest", honest)
    some = settings(
        max_examples=100, stateful_step_count=30, phases=[Phase.generate], suppress_health_check=[*HealthCheck]
    )
    with nullcontext() if honest else pytest.raises((AssertionError, BudgetError, FileError)):
        run_state_machine_as_test(Device, settings=some)


# ---- the command


AGE = NumberColumn("age", Window(8, 3, 5, 2), True, Fraction(0), Fraction(80), 8)
REGION = CategoryColumn("region", Window(2, 1, 3, 1), False, ("north", "south"))
TABLE = TablePlan((AGE, REGION), 2, Breach("5%", "80%"), reports_per_person=2)
CANARY = "7319.25"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a plan."""
    write_plan(NAMED, tmp_path / "plan.json")
    return tmp_path


def report(folder: Path, *options: str, basket: str | bytes = "milk\na, b\n", occasion: str = "w1") -> Any:
    """Run ``assocpriv report`` with a basket on standard input."""
    files = ["--plan", f"{folder}/plan.json", "--ledger", f"{folder}/l.bin", "-o", f"{folder}/r.bin"]
    return CliRunner().invoke(main, ["report", *files, "--occasion", occasion, *options], input=basket)


def test_the_command_reports(folder: Path) -> None:
    """A device's whole way: a new report, the same one again, others, the refusal; the file holds what is sent."""
    first = json.loads(report(folder, "--json").stdout)
    sent = (folder / "r.bin").read_bytes()
    assert first == {
        "plan_id": NAMED.plan_id, "new": True, "report_bytes": len(sent), "spent": 1, "left": 2,
        "amplification": "3/1", "epsilon": ap.epsilon(NAMED.amplification), "unbounded": None,
    }  # fmt: skip
    assert "exists already" in report(folder, occasion="w2").stderr
    assert json.loads(report(folder, "--json", "--force", basket="").stdout) == first | {"new": False}
    assert (folder / "r.bin").read_bytes() == sent
    limit = ["--prior", "1/10", "--posterior", "1/2", "--force"]  # γ of two is 9
    assert "would reach the limit" in report(folder, *limit, occasion="w2").stderr
    assert report(folder, "--prior", "5%").exit_code == 2
    for occasion in ("w2", "w3"):
        assert "a new report" in report(folder, "--force", occasion=occasion).stdout
    result = report(folder, "--force", occasion="w4")
    assert (result.exit_code, result.stdout, "counts 3 of the 3 reports" in result.stderr) == (1, "", True)
    assert "the report made before" in report(folder, "--force").stdout
    assert (folder / "r.bin").read_bytes() == sent


def test_text_is_a_basket_or_a_record() -> None:
    """A line is a name, with its commas; blanks and line ends of any system say nothing. A record is a JSON object."""
    for text in (b"milk\na, b\n", b"\xef\xbb\xbfmilk\r\n\r\na, b", b"\n milk \n\n\ta, b\n\n"):
        assert parse_record(text, NAMED) == ["milk", "a, b"]
    assert parse_record(b'{"age": 34.5, "region": "north"}\n', TABLE) == {"age": 34.5, "region": "north"}
    for text in (b"", b"[]", b'{"age": 1, "age": 2}', b'{"age": NaN}', b'{"age": 1', b"\xff",
                 b'{"age": ' + b"9" * 5000 + b"}", b"[" * 9999):  # fmt: skip
        with pytest.raises(RecordError, match="must be one JSON object") as caught:
            parse_record(text, TABLE)
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_an_empty_basket_is_no_accident(folder: Path) -> None:
    """A failed pipe spends nothing and leaves no ledger; said on purpose it is reported; a retry needs no basket."""
    result = report(folder, basket=" \n")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "the basket is empty" in result.stderr
    assert "--empty keep" in result.stderr
    assert [path.name for path in folder.iterdir()] == ["plan.json"]
    assert json.loads(report(folder, "--empty", "keep", "--json", basket="").stdout)["spent"] == 1
    assert json.loads(report(folder, "--force", "--json", basket="").stdout)["new"] is False
    before = (folder / "l.bin").read_bytes()
    assert report(folder, "--force", basket="", occasion="w2").exit_code == 1
    assert (folder / "l.bin").read_bytes() == before
    with pytest.raises(BasketError, match="empty must be 'error' or 'keep'"):
        device_report([], NAMED, ledger=folder / "x", occasion="w", output=folder / "y", empty="drop")


@pytest.mark.parametrize(
    ("options", "basket"),
    [([], f"{NAME}x\n"), ([], f"{NAME}\n{NAME}\n"), ([], NAME.encode() + b"\xff\n"), ([], f"{NAME}\n" * 2_000_000)]
    + [(["-o", each], f"{NAME}\n") for each in ("none/r.bin", ".", "loop", "l.bin")]
    + [(["--force", "-o", each], f"{NAME}\n") for each in ("plan.json", "l.bin", "linked/link.bin")]
    + [(["--occasion", " "], f"{NAME}\n"), (["--prior", "49%", "--posterior", "50%"], f"{NAME}\n")],
    ids=range(13),
)
def test_a_failure_leaves_no_new_ledger(folder: Path, monkeypatch: Any, options: list[str], basket: str) -> None:
    """What is refused shows no item and leaves no new ledger; one that is there stays, an empty file too."""
    monkeypatch.chdir(folder)
    for name, target in (("loop", "loop"), ("linked", "."), ("link.bin", "l.bin")):
        (folder / name).symlink_to(target)
    before, ledger = sorted(folder.iterdir()), folder / "l.bin"
    for begun in (None, b"", HEADER):
        if begun is not None:
            ledger.write_bytes(begun)
        result = report(folder, *options, basket=basket)
        assert result.exit_code == 1
        assert not marks_in(result.output + shown_by(result.exception))
        assert not marked_files(folder, {folder / "plan.json"})
        assert sorted(folder.iterdir()) == sorted({*before, *([] if begun is None else [ledger])})
    tell(ledger, "w0")
    content = ledger.read_bytes()
    assert report(folder, *options, basket=basket).exit_code == 1
    assert ledger.read_bytes() == content


def test_a_full_disk_leaves_no_new_ledger(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger whose header or first record could not be put on disk is taken away; with a record on disk it stays."""
    sync, left, output = os.fsync, 0, path.with_name("r.bin")

    def full(file: int) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise OSError(28, "No space left on device")
        sync(file)

    monkeypatch.setattr(os, "fsync", full)
    for failing in (1, 2, 3, 4):  # the header, its folder, the record; the output
        left = failing
        with pytest.raises(FileError, match="No space left on device"):
            device_report(BASKET, PLAN, ledger=path, occasion="w", output=output)
        assert list(path.parent.iterdir()) == ([path] if failing == 4 else [])
    assert not device_report(BASKET, PLAN, ledger=path, occasion="w", output=output).new


def test_a_new_ledger_that_others_use_stays(path: Path) -> None:
    """One in which a report was made meanwhile, one of another process, or another file by now is not removed."""
    made = tell(other := path.with_name("copy.bin"), "w1")
    first = Ledger.open(path)
    path.write_bytes(other.read_bytes())  # as if it had not been locked
    first.abandon()
    assert tell(path, "w1") == made
    path.unlink()
    second = Ledger.open(path)
    process, second._process = second._process, -1
    second.abandon()
    assert path.exists()
    second._process = process
    other.replace(path)
    second.abandon()
    assert tell(path, "w1") == made


def test_a_closed_standard_input_is_wrong_usage(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a standard input nobody reports an empty basket."""
    monkeypatch.setattr(sys, "stdin", None)  # as Python has it where whoever starts it has closed that
    monkeypatch.chdir(folder)
    words = ["report", "--plan", "plan.json", "--ledger", "l.bin", "-o", "r.bin", "--occasion", "w1"]
    with pytest.raises(click.UsageError, match="standard input is closed"):
        main.main(words, standalone_mode=False)
    assert not (folder / "l.bin").exists()


def test_the_command_takes_a_record(folder: Path) -> None:
    """A JSON object on standard input becomes a report; the same occasion gives it again."""
    write_plan(TABLE, folder / "plan.json", force=True)
    assert "a new report, 2 bytes" in report(folder, basket='{"age": 34.5, "region": "north"}\n').stdout
    sent = (folder / "r.bin").read_bytes()
    again = report(folder, "--force", "--json", basket='{"age": null, "region": "south"}')
    assert json.loads(again.stdout)["new"] is False
    assert (folder / "r.bin").read_bytes() == sent
    TABLE.check_form(np.frombuffer(sent, "u1").reshape(1, -1))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f'{{"age": {CANARY}, "region": "north"}}', "column age has a value outside its range"),
        (f'{{"age": "{CANARY}", "region": "north"}}', "column age takes numbers, got a str"),
        (f'{{"age": 1, "region": {{"{CANARY}": 1}}}}', "column region has a value that is none of its 2 values"),
        (f'{{"age": 1, "region": "north", "{CANARY}": 1}}', "the record has 1 column beside the plan's"),
        ('{"age": 1}', "column region has no value"), (f"age {CANARY}", "must be one JSON object"),
    ],
)  # fmt: skip
def test_bad_records_spend_nothing(folder: Path, text: str, said: str) -> None:
    """One line, exit status 1, no file, no ledger, and the value nowhere."""
    write_plan(TABLE, folder / "plan.json", force=True)
    done = report(folder, basket=text)
    assert (done.exit_code, said in done.stderr, CANARY in done.output) == (1, True, False)
    assert [each.name for each in folder.iterdir()] == ["plan.json"]
