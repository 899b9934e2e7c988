"""A device's ledger: after any interruption it repeats no report as new, forgets no spent budget and stores no item.

Also: names of reporting periods, refusals that spend nothing, and the command for baskets and tables.
"""

import json
import os
import sys
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
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
from assocpriv.cli.main import main
from assocpriv.client import ledger as ledger_module
from assocpriv.client import ledger_file
from assocpriv.client.baskets.basket_client import Randomizer
from assocpriv.client.baskets.one_basket import transaction_of
from assocpriv.client.ledger import Ledger, Submission, hash_period, parse_record
from assocpriv.client.ledger_file import HEADER, RECORDS_AT, parse_ledger
from assocpriv.device import report as device_report
from assocpriv.files.plan_files import write_plan
from assocpriv.guarantees.entropy import Entropy, SystemEntropy
from assocpriv.guarantees.errors import AssocprivError, BasketError, BudgetError, FileError, PlanError, RecordError
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import Catalogue, Names
from assocpriv.plans.numeric.table_plan import CategoryColumn, NumberColumn, TablePlan, Window
from assocpriv.simulation.enumeration import SeededEntropy

ENTROPY = SystemEntropy()
BUDGET = 3
NAMED = replace(
    small_plan("none", 5, 2, 2), catalogue=Catalogue(["milk", "bread", NAME, "eggs", "a, b"]), reports_per_person=BUDGET
)
# 125 items and no code: 16 bytes, so that two reports are equal by chance with probability 2^-100 or so
PLAN = replace(small_plan("none", 125, 2, 2), reports_per_person=BUDGET)
BASKET = ["1", "3"]


def report_periods(path: Path, *periods: str, wait_seconds: float = 0) -> list[bytes]:
    """Open a ledger, report once for each reporting period, close it."""
    with Ledger.open(path, wait_seconds=wait_seconds) as ledger:
        return [ledger.report(BASKET, PLAN, period=period, entropy=ENTROPY) for period in periods]


# ---- reports and periods


def test_a_report_is_the_clients(path: Path) -> None:
    """From the same random words the ledger makes the client's report, along the plan's view."""
    rules = Names(unlisted="drop", parents=(("brie", "eggs"), ("stout", "milk")))
    for plan in (replace(NAMED, names=rules), replace(fixed_plan(5, 2, 2, 3), catalogue=NAMED.catalogue, names=rules)):
        with Ledger.open(path.with_name(plan.plan_id)) as ledger:
            found = ledger.report(["stout", "nothing", "eggs"], plan, period="now", entropy=SeededEntropy(5))
        transaction = transaction_of(["milk", "eggs"], plan)
        assert found == Randomizer(plan).randomize(transaction, entropy=SeededEntropy(5))
        assert len(found) == plan.report_bytes == len(ap.randomize(["stout"], plan))


@pytest.mark.parametrize(
    ("basket", "period", "kind"),
    [(["nothing"], "a", BasketError), (["milk", "milk"], "a", BasketError)]
    + [(each, "a", TypeError) for each in ("milk", b"\1", bytearray(b"\1"), memoryview(b"\1"), 3)]
    + [(["milk"], 7, TypeError)]
    + [(["milk"], each, PlanError) for each in ("", " \n", "x" * 1001)],
)
def test_a_refused_record_spends_nothing(path: Path, basket: Any, period: Any, kind: type[Exception]) -> None:
    """An invalid basket or reporting period leaves the ledger unchanged, also on disk."""
    with Ledger.open(path) as ledger:
        before = path.read_bytes()
        with pytest.raises(kind):
            ledger.report(basket, NAMED, period=period)
        assert (path.read_bytes(), ledger.remaining(NAMED)) == (before, BUDGET)


def test_wrong_types_of_plan_and_limit_are_refused(path: Path) -> None:
    """A number is no limit; the error about a ledger that is constructed directly names Ledger.open."""
    with pytest.raises(TypeError, match="limit must be a Guarantee"):
        Ledger.open(path, limit=19)  # type: ignore[arg-type]
    with Ledger.open(path) as ledger, pytest.raises(TypeError):
        ledger.report(["milk"], "plan.json", period="a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Ledger\.open"):
        Ledger(path)


def test_one_name_is_one_period(path: Path) -> None:
    """Blanks around a name and ways to compose é do not matter; any other difference is another reporting period."""
    ways = "caf\u00e9 7", " caf\u00e9 7", "cafe\u0301 7\n", "\u2003cafe\u0301 7\xa0\r\n"
    assert len({*report_periods(path, *ways)}) == 1
    assert hash_period("\te\u0301 ") == sha256("\u00e9".encode()).digest()
    apart = ["a b", "ab", "a  b", "A b", "a\xa0b", "a\u200bb", "2", "\xb2", "\ufb01", "fi", "e", "\u00e9"]
    assert len(set(map(hash_period, apart))) == len(apart)


def test_threads_cannot_both_spend_the_last_report(path: Path) -> None:
    """Threads that share a ledger make exactly the number of new reports that the plan allows."""
    with Ledger.open(path) as ledger, ThreadPoolExecutor(12) as pool:
        tried = [pool.submit(ledger.report, BASKET, PLAN, period=f"w{place}") for place in range(12)]
        errors = [each.exception() for each in tried]
        assert errors.count(None) == ledger.reports_made(PLAN) == BUDGET
        assert all(isinstance(each, BudgetError) for each in errors if each)


def test_the_file_holds_no_item(path: Path) -> None:
    """Neither the file nor the repr holds an item or the name of a reporting period; errors show none."""
    with Ledger.open(path) as ledger:
        ledger.report([NAME, "milk"], NAMED, period=NAME)
        assert not marks_in(repr([ledger, *parse_ledger(path.read_bytes())[0]]).replace(repr(path), ""))
        for basket in ([NAME, NAME], [f"{NAME}x"], [f"{NAME}\n{NAME}"], NAME, [NAME.encode()], [["milk", NAME]]):
            with pytest.raises((AssocprivError, TypeError)) as caught:
                ledger.report(basket, NAMED, period="now")
            assert not marks_in(shown_by(caught.value))
        for period in ("a", "b"):
            ledger.report([NAME], NAMED, period=period)
        with pytest.raises(BudgetError) as refusal:
            ledger.report([NAME], NAMED, period="c")
        assert not marks_in(shown_by(refusal.value))
    assert marked_files(path.parent, set()) == []
    assert hash_period(NAME) in path.read_bytes()


# ---- interruptions at any time


class StoppedError(BaseException):
    """The device stops: power is lost, or the process is killed."""


class Disk:
    """A file whose synced content survives a loss of power; the rest survives in part, or as garbage.

    Attributes:
        shown: content that a reader gets.
        durable: content that is certainly on disk.
        named: whether the folder is on disk, so that the file is found.
        steps: operations and bytes until something goes wrong; None for never.
        fault: what goes wrong then.
        lasts: whether it goes wrong again and again.
        drawn: reports that the client has made.
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
        """Write until the steps end."""
        done = content[: self.steps]
        self.shown = self.shown[:start].ljust(start, b"\0") + done + self.shown[start + len(done) :]
        self.step(len(content))

    def stop(self, *, power: bool) -> None:
        """Lose power, so that unsynced content is there in part, as zeros or garbage; or only be killed."""
        if power:
            short, long = sorted((self.shown, self.durable), key=len)
            old, new = ((each + long[len(each) :]) for each in (self.durable, self.shown))
            unsure = [place for place in range(len(long)) if place >= len(short) or old[place] != new[place]]
            first, last = sorted(self.rng.randint(0, len(unsure)) for _ in range(2))
            lost = self.rng.choice([bytes, self.rng.randbytes])(len(long))
            rest = self.rng.choice([new, old[: len(self.durable)].ljust(len(long), b"\0")])
            left = bytearray(new)
            for number, place in enumerate(unsure[first:], first):
                left[place] = (lost if number < last else rest)[place]
            self.shown = bytes(left[: self.rng.choice([len(long), self.rng.randint(len(short), len(long))])])
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

    def resize(self, length: int) -> None:
        """Shorten the file, or extend it by zeros."""
        self.disk.step()
        self.disk.shown = self.disk.shown[:length].ljust(length, b"\0")

    def sync(self) -> None:
        """Make the shown content durable, unless the disk lies; most interruptions fall here."""
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
        """Do nothing: there are no permissions, no lock and no removal."""

    keep_private = remove_new = release = nothing


class NotedRandomizer(Randomizer):
    """A client that records its reports."""

    def randomize(self, transaction: Collection[int], *, entropy: Entropy) -> bytes:
        """Return the report of one transaction."""
        report = super().randomize(transaction, entropy=entropy)
        DiskFile.disk.drawn.add(report)
        return report


# 62 or 63 items and no code: 8 bytes, so that two reports are equal by chance with probability 2^-50 or so; γ is 3
SHORT = [replace(small_plan("none", n, 2, 2), reports_per_person=BUDGET) for n in (62, 63)]
LIMITS = [
    None,
    ap.Guarantee("1/82", "1/2"),
    ap.Guarantee("1/83", "1/2"),
]  # γ below 81 and 82, where four reports reach 81
STEPS = st.none() | st.integers(0, 200) | st.integers(0, 1200)
AT = {"steps": STEPS, "fault": st.sampled_from([StoppedError, OSError]), "lasts": st.booleans()}


class Device(RuleBasedStateMachine):
    """A device that reports and stops, fails or restarts at any time; its reports are the model's state."""

    honest = True

    @initialize(seed=st.integers(0, 1 << 32))
    def begin(self, seed: int) -> None:
        """Begin with an empty disk."""
        self.disk = DiskFile.disk = Disk(Random(seed), honest=self.honest)
        self.entropy, self.limit = SeededEntropy(seed), LIMITS[0]
        self.ledger: Ledger | None = None
        self.made: dict[str, tuple[Plan, bytes]] = {}  # by reporting period
        self.ids: dict[str, bytes] = {}  # of submissions
        self.queued: set[bytes] = set()  # submissions that no collector has
        self.begun: tuple[str, Plan | None] | None = None  # interrupted: a report, or with None a confirmation

    def opened(self) -> Ledger:
        """Open the ledger if it is closed, and find out whether the interrupted action succeeded."""
        if self.ledger is not None:
            return self.ledger
        try:
            self.ledger = Ledger.open(Path("ledger"), limit=self.limit)
        except FileError as error:
            if "No space left" in str(error):
                raise
            # garbage in place of a header: a person deletes it, as nothing was spent
            assert (self.made, self.begun, len(self.disk.shown) <= RECORDS_AT) == ({}, None, True)
            self.disk.shown = self.disk.durable = b""
            return self.opened()
        found = {each.submission_id for each in self.ledger.queued()}
        if self.begun is not None:
            period, plan = self.begun
            if plan is None:
                self.queued -= {self.ids[period]} - found
            else:
                if period not in self.made and self.ledger.reports_made(plan) > self.count(plan):
                    self.made[period] = plan, self.ledger.report([], plan, period=period)
                if found > self.queued:
                    [self.ids[period]] = found - self.queued
                    self.queued = found
            self.begun = None
        assert found == self.queued
        return self.ledger

    def count(self, plan: Plan) -> int:
        """Return the number of reports of a plan that were certainly made."""
        return sum(each == plan for each, _ in self.made.values())

    def refusal(self, plan: Plan, period: str) -> str:
        """Return a part of the expected error where no report may be made, else an empty text."""
        if period in self.made:
            return "" if self.made[period][0] == plan else "a period is answered once, whatever the plan"
        if self.count(plan) == BUDGET:
            return "has made 3 of the 3 reports"
        if self.limit is None:
            return "without a limit" if len(self.made) > self.count(plan) else ""
        return "would reach its limit" if 3 ** (len(self.made) + 1) >= self.limit.amplification_limit else ""

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
            if self.ledger is not None:  # it was open and must be reopened
                assert lasts or before[RECORDS_AT:] == self.disk.shown[RECORDS_AT : len(before)]
                assert lasts or parse_ledger(self.disk.shown)[1] == len(self.disk.shown)
                for plan in SHORT:
                    with pytest.raises(FileError, match="open it"):
                        self.ledger.report(BASKET, plan, period="any", entropy=self.entropy)
        self.ledger = None

    @rule(period=st.sampled_from("abcde"), which=st.sampled_from(range(2)), submits=st.booleans(), **AT)
    def report(self, period: str, which: int, submits: bool, **at: Any) -> None:
        """Report on a reporting period, perhaps again and from another basket, with or without a collector."""

        plan = SHORT[which]

        def act(ledger: Ledger) -> None:
            refusal, spent = self.refusal(plan, period), ledger.reports_made(plan)
            self.begun = period, plan
            try:
                make = ledger.submit if submits else ledger.report
                found = make([] if period in self.made else BASKET, plan, period=period, entropy=self.entropy)
            except BudgetError as error:
                self.begun = None
                if not refusal or refusal not in str(error):
                    raise
                return
            self.begun = None
            assert not refusal
            report, before = found if isinstance(found, bytes) else found.report, self.made.get(period)
            assert before is None or before[1] == report
            assert report in self.disk.drawn
            self.made[period] = plan, report
            assert ledger.reports_made(plan) == spent + (before is None) == self.count(plan)
            if isinstance(found, Submission):
                if period not in self.ids:
                    assert not found.acknowledged
                    self.queued.add(found.submission_id)
                assert self.ids.setdefault(period, found.submission_id) == found.submission_id
                assert found.acknowledged == (found.submission_id not in self.queued)

        self.attempt(act, **at)

    @rule(period=st.sampled_from("abcde"), **AT)
    def acknowledge(self, period: str, **at: Any) -> None:
        """A collector confirms a report, perhaps twice."""

        def act(ledger: Ledger) -> None:
            if period not in self.ids:
                return
            submission = ledger.submit([], self.made[period][0], period=period)
            self.begun = period, None
            ledger.acknowledge(submission)
            self.begun = None
            self.queued.discard(self.ids[period])

        self.attempt(act, **at)

    @rule(limit=st.sampled_from(LIMITS), power=st.none() | st.booleans())
    def restart(self, limit: ap.Guarantee | None, power: bool | None) -> None:
        """Close the ledger or stop between two reports; restart with another limit for the device."""
        if power is None and self.ledger is not None:
            self.ledger.close()
        elif power is not None:
            self.disk.stop(power=power)
        self.ledger, self.limit = None, limit

    @invariant()
    def holds(self) -> None:
        """An open ledger states the spent and the remaining budget, and is on disk with its header."""
        if self.ledger is not None:
            assert self.ledger.amplification == 3 ** len(self.made)
            assert self.disk.durable == self.disk.shown or not self.honest
            assert {each.submission_id for each in self.ledger.queued()} == self.queued
            for plan in SHORT:
                assert (self.ledger.remaining(plan) > 0) == (self.refusal(plan, "another") == "")

    def teardown(self) -> None:
        """After a final loss of power, every report is known."""
        self.restart(None, True)
        ledger = self.opened()
        for period, (plan, report) in self.made.items():
            assert ledger.report([], plan, period=period) == report


@pytest.mark.parametrize("honest", [True, False])
def test_no_interruption_repeats_or_forgets_a_report(monkeypatch: pytest.MonkeyPatch, honest: bool) -> None:
    """After any failure or stop, reports are known and unchanged, within the budget and the limit.

    The model detects a disk that does not store synced content.
    """
    monkeypatch.setattr(ledger_file, "LedgerFile", DiskFile)
    monkeypatch.setattr("assocpriv.client.baskets.basket_client.Randomizer", NotedRandomizer)
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
TABLE = TablePlan((AGE, REGION), 2, ap.Guarantee("5%", "80%"), reports_per_person=2)
CANARY = "7319.25"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a plan."""
    write_plan(NAMED, tmp_path / "plan.json")
    return tmp_path


def report(folder: Path, *options: str, basket: str | bytes = "milk\na, b\n", period: str = "w1") -> Any:
    """Run ``assocpriv report`` with a basket on standard input."""
    files = ["--plan", f"{folder}/plan.json", "--ledger", f"{folder}/l.bin", "-o", f"{folder}/r.bin"]
    return CliRunner().invoke(main, ["report", *files, "--period", period, *options], input=basket)


def test_the_command_reports(folder: Path) -> None:
    """A new report, the same one again, others, the refusal; the output file holds the report."""
    first = json.loads(report(folder, "--json").stdout)
    sent = (folder / "r.bin").read_bytes()
    assert first == {
        "plan_id": NAMED.plan_id, "new": True, "report_bytes": len(sent), "spent": 1, "remaining": 2,
        "amplification": "3/1", "epsilon": ap.guarantees.epsilon_from_amplification(NAMED.amplification),
        "unbounded": None,
    }  # fmt: skip
    assert "exists already" in report(folder, period="w2").stderr
    assert json.loads(report(folder, "--json", "--force", basket="").stdout) == first | {"new": False}
    assert (folder / "r.bin").read_bytes() == sent
    limit = ["--prior", "1/10", "--posterior", "1/2", "--force"]  # γ of two is 9
    assert "would reach its limit" in report(folder, *limit, period="w2").stderr
    assert report(folder, "--prior", "5%").exit_code == 2
    for period in ("w2", "w3"):
        assert "new report" in report(folder, "--force", period=period).stdout
    result = report(folder, "--force", period="w4")
    assert (result.exit_code, result.stdout, "has made 3 of the 3 reports" in result.stderr) == (1, "", True)
    assert "report made before" in report(folder, "--force").stdout
    assert (folder / "r.bin").read_bytes() == sent


def test_text_is_a_basket_or_a_record() -> None:
    """A line is a name, commas included; blanks and line ends do not matter. A record is a JSON object."""
    for text in (b"milk\na, b\n", b"\xef\xbb\xbfmilk\r\n\r\na, b", b"\n milk \n\n\ta, b\n\n"):
        assert parse_record(text, NAMED) == ["milk", "a, b"]
    assert parse_record(b'{"age": 34.5, "region": "north"}\n', TABLE) == {"age": 34.5, "region": "north"}
    for text in (b"", b"[]", b'{"age": 1, "age": 2}', b'{"age": NaN}', b'{"age": 1', b"\xff",
                 b'{"age": ' + b"9" * 5000 + b"}", b"[" * 9999):  # fmt: skip
        with pytest.raises(RecordError, match="must be one UTF-8 JSON object") as caught:
            parse_record(text, TABLE)
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_an_empty_basket_must_be_intended(folder: Path) -> None:
    """A failed pipe spends nothing and leaves no ledger; --empty keep reports it; a retry needs no basket."""
    result = report(folder, basket=" \n")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "the basket is empty" in result.stderr
    assert "--empty keep" in result.stderr
    assert [path.name for path in folder.iterdir()] == ["plan.json"]
    assert json.loads(report(folder, "--empty", "keep", "--json", basket="").stdout)["spent"] == 1
    assert json.loads(report(folder, "--force", "--json", basket="").stdout)["new"] is False
    before = (folder / "l.bin").read_bytes()
    assert report(folder, "--force", basket="", period="w2").exit_code == 1
    assert (folder / "l.bin").read_bytes() == before
    with pytest.raises(BasketError, match="empty must be 'error' or 'keep'"):
        device_report([], NAMED, ledger=folder / "x", period="w", output=folder / "y", empty="drop")


@pytest.mark.parametrize(
    ("options", "basket"),
    [([], f"{NAME}x\n"), ([], f"{NAME}\n{NAME}\n"), ([], NAME.encode() + b"\xff\n"), ([], f"{NAME}\n" * 2_000_000)]
    + [(["-o", each], f"{NAME}\n") for each in ("none/r.bin", ".", "loop", "l.bin")]
    + [(["--force", "-o", each], f"{NAME}\n") for each in ("plan.json", "l.bin", "linked/link.bin")]
    + [(["--period", " "], f"{NAME}\n"), (["--prior", "49%", "--posterior", "50%"], f"{NAME}\n")],
    ids=range(13),
)
def test_a_failure_leaves_no_new_ledger(folder: Path, monkeypatch: Any, options: list[str], basket: str) -> None:
    """An error shows no item and leaves no new ledger; an existing one stays, also an empty file."""
    monkeypatch.chdir(folder)
    for name, target in (("loop", "loop"), ("linked", "."), ("link.bin", "l.bin")):
        (folder / name).symlink_to(target)
    before, ledger = sorted(folder.iterdir()), folder / "l.bin"
    for begun in (None, b"", HEADER.ljust(RECORDS_AT, b"\0")):
        if begun is not None:
            ledger.write_bytes(begun)
        result = report(folder, *options, basket=basket)
        assert result.exit_code == 1
        assert not marks_in(result.output + shown_by(result.exception))
        assert not marked_files(folder, {folder / "plan.json"})
        assert sorted(folder.iterdir()) == sorted({*before, *([] if begun is None else [ledger])})
    report_periods(ledger, "w0")
    content = ledger.read_bytes()
    assert report(folder, *options, basket=basket).exit_code == 1
    assert ledger.read_bytes() == content


def test_a_full_disk_leaves_no_new_ledger(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger whose header or first record could not be written is removed; with a record on disk it stays."""
    sync, left, output, stays = os.fsync, 0, path.with_name("r.bin"), False

    def full(file: int) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise OSError(28, "No space left on device")
        sync(file)

    monkeypatch.setattr(os, "fsync", full)
    # length, header and folder of a new ledger, the record, the header; the output, after an old ledger's first three
    for failing in (1, 2, 3, 4, 5, 4):
        left = failing
        with pytest.raises(FileError, match="No space left on device"):
            device_report(BASKET, PLAN, ledger=path, period="w", output=output)
        stays |= failing == 5
        assert list(path.parent.iterdir()) == [path] * stays
    assert not device_report(BASKET, PLAN, ledger=path, period="w", output=output).new


def test_a_new_ledger_that_others_use_stays(path: Path) -> None:
    """A ledger with a report made meanwhile, of another process, or replaced by another file is not removed."""
    made = report_periods(other := path.with_name("copy.bin"), "w1")
    first = Ledger.open(path)
    path.write_bytes(other.read_bytes())  # as if it had not been locked
    first.abandon()
    assert report_periods(path, "w1") == made
    path.unlink()
    second = Ledger.open(path)
    process, second._process = second._process, -1
    second.abandon()
    assert path.exists()
    second._process = process
    other.replace(path)
    second.abandon()
    assert report_periods(path, "w1") == made


def test_a_closed_standard_input_is_a_usage_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a standard input no empty basket is reported."""
    monkeypatch.setattr(sys, "stdin", None)  # as where the starting process has closed it
    monkeypatch.chdir(folder)
    words = ["report", "--plan", "plan.json", "--ledger", "l.bin", "-o", "r.bin", "--period", "w1"]
    with pytest.raises(click.UsageError, match="standard input is closed"):
        main.main(words, standalone_mode=False)
    assert not (folder / "l.bin").exists()


def test_the_command_reads_a_record(folder: Path) -> None:
    """A JSON object on standard input becomes a report; the same reporting period gives it again."""
    write_plan(TABLE, folder / "plan.json", force=True)
    assert "new report, 2 bytes" in report(folder, basket='{"age": 34.5, "region": "north"}\n').stdout
    sent = (folder / "r.bin").read_bytes()
    again = report(folder, "--force", "--json", basket='{"age": null, "region": "south"}')
    assert json.loads(again.stdout)["new"] is False
    assert (folder / "r.bin").read_bytes() == sent
    TABLE.check_form(np.frombuffer(sent, "u1").reshape(1, -1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'{{"age": {CANARY}, "region": "north"}}', "column age has a value outside its range"),
        (f'{{"age": "{CANARY}", "region": "north"}}', "column age takes numbers, got a str"),
        (f'{{"age": 1, "region": {{"{CANARY}": 1}}}}', "column region has a value other than its 2 values in the plan"),
        (f'{{"age": 1, "region": "north", "{CANARY}": 1}}', "the record has 1 column that the plan does not have"),
        ('{"age": 1}', "column region has no value"), (f"age {CANARY}", "must be one UTF-8 JSON object"),
    ],
)  # fmt: skip
def test_bad_records_spend_nothing(folder: Path, text: str, message: str) -> None:
    """The error is one line with exit status 1 and without the value; no file and no ledger is left."""
    write_plan(TABLE, folder / "plan.json", force=True)
    done = report(folder, basket=text)
    assert (done.exit_code, message in done.stderr, CANARY in done.output) == (1, True, False)
    assert [each.name for each in folder.iterdir()] == ["plan.json"]
