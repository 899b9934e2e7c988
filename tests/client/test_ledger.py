"""Tests of a device's ledger, of baskets and of tables.

The client's ledger: whatever crashes when, it tells nothing twice as new, forgets nothing told, keeps no item.

The ledger and the command report for tables: the same bytes again, limits, and records as JSON.

What a ledger keeps for sending: ids of submissions, what waits.
"""

import json
import os
import signal
import stat
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from canary import NAME, marked_files, marks_in, shown_by
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from naive import fixed_plan, small_plan

import assocpriv as ap
from assocpriv import report as device_report
from assocpriv.cli.main import main
from assocpriv.client import ledger as ledger_module
from assocpriv.client import ledger_file
from assocpriv.client.baskets import Randomizer
from assocpriv.client.ledger import Ledger, hash_occasion, parse_record
from assocpriv.client.ledger_book import multiply
from assocpriv.client.ledger_file import (
    HEADER,
    MARK,
    MOST_BYTES,
    Entry,
    parse_ledger,
)
from assocpriv.client.transactions import transaction_of
from assocpriv.files.plans import write_plan
from assocpriv.planning.tables import design_window
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.columns import CategoryColumn, Clear, LabelColumn, NumberColumn, UniformNoise, Window
from assocpriv.plans.names import Names
from assocpriv.plans.tables import TablePlan
from assocpriv.promise.breaches import Breach
from assocpriv.promise.entropy import Entropy, SystemEntropy
from assocpriv.promise.errors import AssocprivError, BasketError, BudgetError, FileError, PlanError, RecordError
from assocpriv.simulation.enumeration import SeededEntropy
from tests.vectors import make_devices

ENTROPY = SystemEntropy()
BUDGET = 3
MOST_SECONDS = 60
BASE = small_plan("none", 5, 2, 2)
NAMED = replace(BASE, catalogue=Catalogue(["milk", "bread", NAME, "eggs", "a, b"]), reports_per_person=BUDGET)
# 125 items and no code: 16 bytes, so that two reports are equal by chance with probability 2^-100 or so
PLAN = replace(small_plan("none", 125, 2, 2), reports_per_person=BUDGET)
OTHER = replace(small_plan("none", 126, 2, 2), reports_per_person=BUDGET)
CLEAR = TablePlan(
    (
        NumberColumn("age", design_window(40, Fraction(3), optional=True), True, Fraction(20), Fraction(80), 20),
        LabelColumn("class", Clear(2), False, ("A", "B")),
    ),
    1, Breach("1e-6", "1/2"), reports_per_person=BUDGET,
)  # fmt: skip
RECORD = {"age": 37, "class": "B"}
BASKET = ["1", "3"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A place for a ledger."""
    return tmp_path / "ledger.bin"


def tell(path: Path, *occasions: str, plan: Plan = PLAN, limit: Breach | None = None) -> list[bytes]:
    """Open a ledger, report on occasions, close it."""
    with Ledger.open(path, limit=limit, wait_seconds=0) as ledger:
        return [ledger.report(BASKET, plan, occasion=occasion, entropy=ENTROPY) for occasion in occasions]


# ---- what it is for


def test_a_retry_returns_the_same_bytes(path: Path) -> None:
    """The same occasion under the same plan gets the same report, also later and from another basket, for free."""
    (first,) = tell(path, "w1")
    with Ledger.open(path) as ledger:
        assert ledger.report(["2", "4"], PLAN, occasion="w1", entropy=ENTROPY) == first
        assert (ledger.spent(PLAN), ledger.left(PLAN)) == (1, BUDGET - 1)
        second = ledger.report(BASKET, PLAN, occasion="w2", entropy=ENTROPY)
        assert second != first
        assert (ledger.spent(PLAN), ledger.left(PLAN)) == (2, BUDGET - 2)
        assert ledger.report([], PLAN, occasion="w2", entropy=ENTROPY) == second


def test_the_budget_is_kept(path: Path) -> None:
    """After as many occasions as the plan allows a further one is refused; retries go on."""
    made = tell(path, "w1", "w2", "w3")
    with Ledger.open(path) as ledger:
        with pytest.raises(BudgetError, match=f"made 3 of the 3 reports that plan {PLAN.plan_id[:12]} allows a person"):
            ledger.report(BASKET, PLAN, occasion="w4", entropy=ENTROPY)
        assert (ledger.spent(PLAN), ledger.left(PLAN)) == (3, 0)
    assert tell(path, "w3", "w2", "w1") == made[::-1]


def test_a_republished_plan_gets_nothing(path: Path) -> None:
    """A device is asked about one occasion under three plans: one report; what else it tells costs a limit, in ε."""
    plans = [replace(fixed_plan(2, 1, 1, 1, shares=[1, 18]), catalogue=Catalogue([f"{k}a", f"{k}b"])) for k in range(3)]
    for k, plan in enumerate(plans):
        with Ledger.open(path) as ledger:
            before = path.read_bytes()
            if not k:
                ledger.report([], plan, occasion="2026-W47", entropy=ENTROPY)
                continue
            with pytest.raises(BudgetError, match="an occasion is answered once, whatever the plan"):
                ledger.report([], plan, occasion="2026-W47", entropy=ENTROPY)
            with pytest.raises(BudgetError, match=r"no other without a limit; a limit of epsilon 5\.79"):
                ledger.has(plan, "2026-W48")
            assert (ledger.left(plan), ledger.amplification, path.read_bytes()) == (0, 18, before)
    with Ledger.open(path, limit=ap.Epsilon("5.79")) as ledger:
        with pytest.raises(BudgetError, match="an occasion is answered once"):
            ledger.report([], plans[1], occasion="2026-W47", entropy=ENTROPY)
        ledger.report([], plans[1], occasion="2026-W48", entropy=ENTROPY)
        assert ledger.amplification == 18**2
        with pytest.raises(BudgetError, match="would reach the limit"):
            ledger.report([], plans[2], occasion="2026-W49", entropy=ENTROPY)


def test_a_report_is_the_clients(path: Path) -> None:
    """From the same words the ledger makes the report that the client makes, along the plan's view."""
    rules = Names(others="drop", parents=(("brie", "eggs"), ("stout", "milk")))
    for plan in (replace(NAMED, names=rules), replace(fixed_plan(5, 2, 2, 3), catalogue=NAMED.catalogue, names=rules)):
        with Ledger.open(path.with_name(plan.plan_id)) as ledger:
            found = ledger.report(["stout", "nothing", "eggs"], plan, occasion="now", entropy=SeededEntropy(5))
        transaction = transaction_of(["milk", "eggs"], plan)
        assert found == Randomizer(plan).randomize(transaction, entropy=SeededEntropy(5))
        assert len(found) == plan.report_bytes == len(ap.randomize(["stout"], plan))


def test_a_limit_counts_all_plans(path: Path) -> None:
    """With a limit for the device the product over all plans stays below it, exactly: at equality it is refused."""
    plan, other = fixed_plan(2, 1, 1, 1, shares=[1, 3]), fixed_plan(3, 1, 1, 1, shares=[2, 7])
    plan, other = replace(plan, reports_per_person=9), replace(other, reports_per_person=9)
    gammas = Fraction(3), Fraction(7, 2)
    assert (plan.amplification, other.amplification) == gammas

    def tried(limit: Fraction) -> list[str]:
        target = path.with_name(f"{limit.numerator}-{limit.denominator}")
        with Ledger.open(target, limit=Breach(1 / (1 + limit), Fraction(1, 2))) as ledger:
            ledger.report(["1"], plan, occasion="a", entropy=ENTROPY)
            ledger.report(["1"], other, occasion="b", entropy=ENTROPY)
            left = [ledger.left(each) for each in (plan, other)]
            done = []
            for each in (other, plan):
                try:
                    ledger.report(["1"], each, occasion=each.plan_id, entropy=ENTROPY)
                except BudgetError as error:
                    done.append("refused" if "would reach the limit" in str(error) else str(error))
                else:
                    done.append("made")
            assert (left[1] > 0) == (done[0] == "made")
            assert ledger.amplification < limit
            assert ledger.report(["0"], plan, occasion="a", entropy=ENTROPY)
        return done

    product = gammas[0] * gammas[1]
    assert tried(product * gammas[1]) == ["refused", "made"]  # 36.75 reached exactly; 31.5 fits
    assert tried(product * gammas[1] + Fraction(1, 10**9)) == ["made", "refused"]
    assert tried(product * gammas[0]) == ["refused", "refused"]
    assert tried(product * gammas[1] * gammas[0] + 1) == ["made", "made"]


def test_a_limit_refuses_columns_in_clear(path: Path) -> None:
    """What a column in clear tells is outside γ: with a limit no new report tells it; one made before is sent again."""
    with Ledger.open(path) as ledger:
        made = ledger.report(RECORD, CLEAR, occasion="w1", entropy=ENTROPY)
    limit = Breach("1e-24", "0.999999")
    with Ledger.open(path, limit=limit) as ledger:
        before = path.read_bytes()
        with pytest.raises(PlanError, match=f"plan {CLEAR.plan_id[:12]} sends column class, .* or set no limit"):
            ledger.report(RECORD, CLEAR, occasion="w2", entropy=ENTROPY)
        assert path.read_bytes() == before
        assert (ledger.left(CLEAR), ledger.left(PLAN)) == (0, 0)
        assert ledger.report({}, CLEAR, occasion="w1", entropy=ENTROPY) == made
    with Ledger.open(path) as ledger:
        assert ledger.left(CLEAR) == BUDGET - 1
        ledger.report(RECORD, CLEAR, occasion="w2", entropy=ENTROPY)


@given(st.lists(st.fractions(1, 50, max_denominator=10**40), max_size=30))
def test_products_are_never_too_small(factors: list[Fraction]) -> None:
    """A product of γ is at least the exact one, by a hair only, and does not grow longer with their number."""
    found, exact = Fraction(1), Fraction(1)
    for factor in factors:
        found, exact = multiply(found, factor), exact * factor
    assert found.denominator.bit_length() <= 193
    if exact < 2**150:
        assert exact <= found <= exact * (1 + Fraction(1, 2**180))
    else:
        assert found > 2**149


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda ledger: ledger.report(["nothing"], NAMED, occasion="a", entropy=ENTROPY), BasketError),
        (lambda ledger: ledger.report(["milk", "milk"], NAMED, occasion="a", entropy=ENTROPY), BasketError),
        (lambda ledger: ledger.report("milk", NAMED, occasion="a", entropy=ENTROPY), TypeError),
        (lambda ledger: ledger.report(b"\1", PLAN, occasion="a", entropy=ENTROPY), TypeError),
        (lambda ledger: ledger.report(bytearray(b"\1"), PLAN, occasion="a", entropy=ENTROPY), TypeError),
        (lambda ledger: ledger.report(memoryview(b"\1"), PLAN, occasion="a", entropy=ENTROPY), TypeError),
        (lambda ledger: ledger.report(3, NAMED, occasion="a", entropy=ENTROPY), TypeError),
        (lambda ledger: ledger.report(["milk"], "plan.json", occasion="a", entropy=ENTROPY), TypeError),
        (lambda ledger: ledger.report(["milk"], NAMED, occasion=7, entropy=ENTROPY), TypeError),
        (lambda ledger: ledger.report(["milk"], NAMED, occasion="", entropy=ENTROPY), PlanError),
        (lambda ledger: ledger.report(["milk"], NAMED, occasion=" \n", entropy=ENTROPY), PlanError),
        (lambda ledger: ledger.report(["milk"], NAMED, occasion="x" * 1001, entropy=ENTROPY), PlanError),
    ],
)
def test_what_is_refused_spends_nothing(path: Path, call: Callable[[Ledger], Any], kind: type[Exception]) -> None:
    """A basket or an occasion that cannot be used leaves the ledger as it was, on disk too."""
    with Ledger.open(path) as ledger:
        before = path.read_bytes()
        with pytest.raises(kind):
            call(ledger)
        assert path.read_bytes() == before
        assert ledger.left(NAMED) == BUDGET


def test_a_limit_must_be_a_promise(path: Path) -> None:
    """A number is not taken for a limit in silence."""
    with pytest.raises(TypeError, match="limit must be a Breach"):
        Ledger.open(path, limit=19)  # type: ignore[arg-type]


def test_one_name_is_one_occasion(path: Path) -> None:
    """Blanks around a name and the ways to compose é spend nothing; what reads otherwise is another occasion."""
    made, *others = tell(path, "caf\u00e9 7", " caf\u00e9 7", "cafe\u0301 7\n", "\u2003cafe\u0301 7\xa0\r\n")
    assert others == [made] * 3
    with Ledger.open(path) as ledger:
        assert ledger.spent(PLAN) == 1
    assert hash_occasion("\te\u0301 ") == sha256("\u00e9".encode()).digest()
    apart = ["a b", "ab", "a  b", "A b", "a\xa0b", "a\u200bb", "2", "\xb2", "\ufb01", "fi", "e", "\u00e9"]
    assert len(set(map(hash_occasion, apart))) == len(apart)


# ---- the file


def test_the_file_is_what_the_docs_say(path: Path) -> None:
    """Header, record and mark stand there byte for byte as docs/formats.md has them."""
    (report,) = tell(path, "2026-W47")
    gamma = f"{PLAN.amplification.numerator}/{PLAN.amplification.denominator}".encode()
    content, header = path.read_bytes(), b"assocpriv-ledger\x03\0\0\0"
    submission_id = content[20 + 4 + 4 + 1 + 32 + 32 :][:16]
    body = struct.pack("<IIB", 4 + 4 + 1 + 32 + 32 + 16 + 2 + len(gamma) + len(report) + 32, 1, 1)
    body += bytes.fromhex(PLAN.plan_id) + sha256(b"2026-W47").digest() + submission_id
    body += struct.pack("<H", len(gamma)) + gamma + report
    mark = bytes.fromhex("A7 6F 6E 20 64 69 73 6B")
    assert content == header + body + sha256(header + body).digest() + mark
    assert b"W47" not in content


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_only_the_owner_may_read_it(path: Path) -> None:
    """A new ledger has the permissions 0600 under any umask, and its folder is put on disk."""
    before = os.umask(0)
    try:
        tell(path, "w1")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_others_lose_their_permissions(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that others may read is closed to them on opening, where that is allowed; no other file is touched."""

    def refused(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    made = tell(path, "w1")
    for mode in (0o644, 0o660, 0o602):
        path.chmod(mode)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fchmod", refused)
            assert tell(path, "w1") == made
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert tell(path, "w1") == made
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_bytes(b"no ledger")
    path.chmod(0o644)
    with pytest.raises(FileError):
        Ledger.open(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_report_is_on_disk_before_it_is_handed_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening syncs file and folder; a report is written, synced and marked, in this order."""
    steps: list[str] = []
    write, sync = os.write, os.fsync

    def note_write(file: int, content: bytes) -> int:
        steps.append("mark" if bytes(content) == MARK else "header" if bytes(content) == HEADER else "record")
        return write(file, content)

    def note_sync(file: int) -> None:
        steps.append("folder on disk" if stat.S_ISDIR(os.fstat(file).st_mode) else "on disk")
        sync(file)

    monkeypatch.setattr(os, "write", note_write)
    monkeypatch.setattr(os, "fsync", note_sync)
    tell(path, "w1", "w2")
    record = ["record", "on disk", "mark"]
    assert steps == ["header", "on disk", "folder on disk", *record, *record]
    steps.clear()
    tell(path, "w1")
    assert steps == ["on disk", "folder on disk"]


def test_any_damaged_byte_is_harmless_or_refused(path: Path) -> None:
    """With any single byte changed, in whatever way, the ledger is refused or still knows everything."""
    made = tell(path, "w1", "w2", "w3")
    content = path.read_bytes()
    harmless = 0
    for place in range(len(content)):
        for flip in (0x01, 0x80, 0xFF, content[place]):
            if not flip:
                continue
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
    ("content", "said"),
    [(each, "is not a ledger; name another file") for each in (b"x", b"PAR1" * 40, b"\0" * 21)]
    + [
        (HEADER[:16] + b"\x02\0\0\0", "format is 2, known here is 3"),
        (HEADER[:-1] + b"\x01", "begin no new one, and use"),
    ],
)
def test_other_files_are_left_alone(path: Path, content: bytes, said: str) -> None:
    """What is no ledger is refused and not touched; one of another version is to be kept, not replaced."""
    path.write_bytes(content)
    with pytest.raises(FileError, match=said):
        Ledger.open(path)
    assert path.read_bytes() == content


def test_what_was_being_written_is_cut_off(path: Path) -> None:
    """What a stop left of a record is gone once the ledger was opened."""
    tell(path, "w1")
    before = path.read_bytes()
    path.write_bytes(before + b"torn" * 20)
    Ledger.open(path).close()
    assert path.read_bytes() == before


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A folder, a missing folder, a pipe: one clear refusal each."""
    for target in (tmp_path, tmp_path / "none" / "l.bin"):
        with pytest.raises(FileError, match="cannot open the ledger"):
            Ledger.open(target)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="not a regular file"):
        Ledger.open(tmp_path / "pipe")


@pytest.mark.parametrize("name", ["a\0b", "\ud800", ".", "", "..", "/", "folder", "folder/", "link", "loop"], ids=ascii)
def test_a_name_that_no_file_has_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock_kind: str, name: str
) -> None:
    """Zero bytes, halves of surrogate pairs, folders, links to these or in circles: a clear refusal, nothing left."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("link").symlink_to("folder")
    Path("loop").symlink_to("loop")
    with pytest.raises(FileError, match="cannot open the ledger") as caught:
        Ledger.open(name, wait_seconds=0)
    assert str(caught.value).isprintable()
    assert {file.name for file in tmp_path.iterdir()} == {"folder", "link", "loop"}


def entry(number: int = 1, gamma: Fraction = Fraction(2), report: bytes = b"r") -> Entry:
    """Return an entry of no plan."""
    return Entry(number, "ab" * 32, bytes(32), gamma, report, bytes(16))


def test_hostile_files_cost_little(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the smallest records is read in a time linear in its length, and one that is too long not at all."""
    assert MOST_BYTES == 1 << 24
    most = MOST_BYTES >> 4
    monkeypatch.setattr(ledger_file, "MOST_BYTES", most)
    count = most // len(entry().to_bytes() + MARK) - 1
    content = HEADER + b"".join(entry(number, Fraction(3, 2)).to_bytes() + MARK for number in range(1, count))
    path.write_bytes(content)
    start = time.process_time()
    with Ledger.open(path) as ledger:
        assert ledger.amplification == 2**192
    assert time.process_time() - start < MOST_SECONDS
    path.write_bytes(content + bytes(most))
    with pytest.raises(FileError, match="larger than 1 MiB"):
        Ledger.open(path)


def test_a_full_ledger_makes_no_report(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that would not be read again is not written."""
    tell(path, "w1")
    monkeypatch.setattr(ledger_file, "MOST_BYTES", path.stat().st_size + 100)
    with pytest.raises(FileError, match="is full"):
        tell(path, "w2")
    assert len(tell(path, "w1")) == 1


# ---- crashes


def test_a_write_may_stop_at_every_byte(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut at every length of the last write: not whole, its occasion is free; whole, it is spent and found by retry."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # nothing stops here, and hundreds of syncs take seconds
    made = tell(path, "w1")
    before = path.read_bytes()
    made += tell(path, "w2")
    after = path.read_bytes()
    whole = len(after) - len(MARK)
    for length in range(len(before) - len(MARK) - 5, len(after) + 1):
        path.write_bytes(after[:length])
        with Ledger.open(path) as ledger:
            spent = 0 if length < len(before) - len(MARK) else 1 if length < whole else 2
            assert ledger.spent(PLAN) == spent
            again = [ledger.report(BASKET, PLAN, occasion=name, entropy=ENTROPY) for name in ("w1", "w2")]
            assert [again[place] == made[place] for place in (0, 1)] == [spent > 0, spent > 1]
            assert ledger.left(PLAN) == BUDGET - 2
        assert len(parse_ledger(path.read_bytes())[0]) == 2
        assert path.read_bytes().endswith(MARK)


@pytest.mark.parametrize(("failing", "call"), [("write", 0), ("write", 1), ("fsync", 0)])
def test_a_failing_disk_hands_out_nothing(path: Path, monkeypatch: pytest.MonkeyPatch, failing: str, call: int) -> None:
    """If a write or a sync fails nothing is returned, this ledger is done, and the next one is as before."""
    made = tell(path, "w1")
    original, calls = getattr(os, failing), []

    def fails(file: int, *content: Any) -> Any:
        calls.append(file)
        if len(calls) > call:
            if content:
                original(file, content[0][: len(content[0]) // 2])
            raise OSError(28, "No space left on device")
        return original(file, *content)

    with Ledger.open(path) as ledger:
        before = path.read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(os, failing, fails)
            with pytest.raises(FileError, match="No space left on device; nothing was sent"):
                ledger.report(BASKET, PLAN, occasion="w2", entropy=ENTROPY)
        assert path.read_bytes() == before
        for occasion in ("w1", "w2"):
            with pytest.raises(FileError, match="open it"):
                ledger.report(BASKET, PLAN, occasion=occasion, entropy=ENTROPY)
    assert tell(path, "w1") == made
    with Ledger.open(path) as ledger:
        assert ledger.spent(PLAN) == 1


def test_a_disk_that_cannot_even_cut_is_survived(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If what was half written cannot be taken away at once, the next opening does it."""
    made, write = tell(path, "w1"), os.write

    def fails(*_: Any) -> None:
        raise OSError(5, "Input/output error")

    def half(file: int, content: Any) -> int:
        write(file, content[:50])
        raise OSError(28, "No space left on device")

    with Ledger.open(path) as ledger, monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        patch.setattr(os, "ftruncate", fails)
        with pytest.raises(FileError, match="No space left"):
            ledger.report(BASKET, PLAN, occasion="w2", entropy=ENTROPY)
    assert tell(path, "w1") == made
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fails)
        with pytest.raises(FileError, match=r"cannot use the ledger .*: Input/output error"):
            Ledger.open(path)
    assert tell(path, "w1") == made


class StoppedError(BaseException):
    """The device stops: power is lost, or the process is killed."""


class Disk:
    """A file of which only what was synced is sure to outlive a stop; the rest arrives in part, or as garbage.

    Attributes:
        shown: what the system shows to whoever reads.
        durable: what is on disk for sure.
        steps: operations and bytes until it stops; None for never.
        honest: whether a sync puts anything on disk.
        drawn: reports that the client made.
    """

    def __init__(self, rng: Random, *, honest: bool = True) -> None:
        self.rng, self.honest = rng, honest
        self.shown, self.durable = b"", b""
        self.steps: int | None = None
        self.drawn: set[bytes] = set()

    def step(self, count: int = 1) -> None:
        """Go on, or stop."""
        if self.steps is not None:
            self.steps -= count
            if self.steps < 0:
                raise StoppedError

    def stop(self, *, power: bool) -> None:
        """Lose power: of what was not synced any part may be there, any may be zeros or garbage. Or just be killed."""
        if power:
            sure = 0
            while sure < min(len(self.shown), len(self.durable)) and self.shown[sure] == self.durable[sure]:
                sure += 1
            short, long = sorted((self.shown, self.durable), key=len)
            length = self.rng.choice([len(long), self.rng.randint(max(sure, len(short)), len(long))])
            first, last = sorted(self.rng.randint(sure, length) for _ in range(2))
            lost = self.rng.choice([bytes, self.rng.randbytes])(last - first)
            self.shown = long[:first] + lost + self.rng.choice([long[last:length], bytes(length - last)])
        self.durable = self.shown
        self.steps = None


class DiskFile:
    """Stands in for LedgerFile."""

    disk: Disk

    def __init__(self, _path: Path, _wait_seconds: float) -> None:
        self.disk.step()

    def read(self, most: int) -> bytes:
        """Return what the system shows."""
        return self.disk.shown[:most]

    def write(self, start: int, content: bytes) -> None:
        """Write byte by byte."""
        for place, byte in enumerate(content, start):
            self.disk.step()
            self.disk.shown = self.disk.shown[:place].ljust(place, b"\0") + bytes([byte]) + self.disk.shown[place + 1 :]

    def cut(self, length: int) -> None:
        """Shorten the file."""
        self.disk.step()
        self.disk.shown = self.disk.shown[:length]

    def keep_private(self) -> None:
        """It has no permissions."""

    def sync(self) -> None:
        """Put what is shown on disk, unless the disk lies; it takes long, so much stops here."""
        self.disk.step(60)
        if self.disk.honest:
            self.disk.durable = self.disk.shown
        self.disk.step(60)

    def remove_new(self, path: Path) -> None:
        """Whoever stops cannot remove it."""

    def release(self) -> None:
        """Close the file."""


class NotedRandomizer(Randomizer):
    """A client whose reports are noted."""

    def randomize(self, transaction: Collection[int], *, entropy: Entropy) -> bytes:
        """Return the report of one transaction."""
        report = super().randomize(transaction, entropy=entropy)
        DiskFile.disk.drawn.add(report)
        return report


SHORT = replace(small_plan("none", 62, 2, 2), reports_per_person=BUDGET)  # 8 bytes


def life_of_a_device(seed: int, *, honest: bool = True) -> list[str]:
    """Let a device report, stop, restart and retry; return what went wrong."""
    rng, entropy = Random(seed), SeededEntropy(seed)
    disk = DiskFile.disk = Disk(rng, honest=honest)
    sent: dict[str, set[bytes]] = {}
    submitted: dict[str, set[bytes]] = {}
    done: set[bytes] = set()
    for _ in range(12):
        disk.steps = rng.choice([None, rng.randint(0, 200), rng.randint(0, 1200)])
        try:
            with Ledger.open(Path("ledger")) as ledger:
                for _ in range(rng.randint(1, 3)):
                    occasion = f"w{rng.randint(1, BUDGET + 2)}"
                    try:
                        if rng.random() < 0.5:
                            report = ledger.report(BASKET, SHORT, occasion=occasion, entropy=entropy)
                        else:
                            submission = ledger.submit(BASKET, SHORT, occasion=occasion, entropy=entropy)
                            report = submission.report
                            submitted.setdefault(occasion, set()).add(submission.submission_id)
                            if rng.random() < 0.5:
                                ledger.acknowledge(submission)
                                done.add(submission.submission_id)
                    except BudgetError:
                        continue
                    sent.setdefault(occasion, set()).add(report)
        except StoppedError:
            disk.stop(power=rng.random() < 0.7)
        except FileError as error:
            if sent or len(disk.shown) > len(HEADER):
                return [str(error)]
            disk.shown = disk.durable = b""  # garbage in place of a header: somebody deletes it, nothing was told
    disk.stop(power=True)
    wrong = []
    if sum(map(len, sent.values())) > BUDGET:
        wrong.append("more reports than the budget")
    if not set().union(*sent.values()) <= disk.drawn:
        wrong.append("a report that nobody drew")
    with Ledger.open(Path("ledger")) as ledger:
        for occasion, reports in sent.items():
            if {ledger.report([], SHORT, occasion=occasion, entropy=entropy)} != reports:
                wrong.append("a report was forgotten")
        if done & {each.submission_id for each in ledger.unsent()}:
            wrong.append("what a collector has waits again")
        for occasion, ids in submitted.items():
            if {ledger.submit([], SHORT, occasion=occasion, entropy=entropy).submission_id} != ids:
                wrong.append("a submission's id was forgotten")
    assert disk.shown.startswith(HEADER)
    return wrong


@pytest.fixture
def on_a_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put ledgers on a simulated disk."""
    monkeypatch.setattr(ledger_file, "LedgerFile", DiskFile)
    monkeypatch.setattr("assocpriv.client.baskets.Randomizer", NotedRandomizer)
    monkeypatch.setattr(ledger_module, "sync_folder", lambda _: DiskFile.disk.step())


@pytest.mark.usefixtures("on_a_disk")
def test_no_stop_tells_twice_or_forgets() -> None:
    """Whenever power is lost, whatever then is on disk: never more reports than budget, and each sent one is kept."""
    for seed in range(400):
        assert life_of_a_device(seed) == [], seed


@pytest.mark.usefixtures("on_a_disk")
def test_a_disk_that_does_not_sync_is_caught() -> None:
    """The simulation sees a ledger that hands reports out before they are on disk."""

    def wrong(seed: int) -> bool:
        try:
            return life_of_a_device(seed, honest=False) != []
        except (BudgetError, FileError):
            return True

    assert sum(map(wrong, range(60))) > 20


# ---- processes

CHILD = """
import os, sys
from assocpriv.client.ledger import Ledger
from assocpriv.promise.entropy import SystemEntropy
from assocpriv.files.plans import read_plan
plan, entropy = read_plan(sys.argv[2]), SystemEntropy()
"""


def child(code: str, path: Path, plan: Plan, *arguments: str) -> "subprocess.Popen[str]":
    """Start a process that uses a ledger."""
    if not (plan_path := path.with_name("plan.json")).exists():
        write_plan(plan, plan_path)
    command = [sys.executable, "-c", CHILD + code, str(path), str(plan_path), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_killed_process_forgets_nothing(path: Path) -> None:
    """A process killed in the midst of reporting: all it handed out is found by retry, and the budget holds."""
    code = """
for place in range(1000):
    with Ledger.open(sys.argv[1]) as ledger:
        print(place, ledger.report(["1"], plan, occasion=str(place), entropy=entropy).hex(), flush=True)
"""
    asked = replace(PLAN.items, operator=LOW.items.operator)
    plan = replace(PLAN, reports_per_person=1000, promise=Breach("1e-24", "1/2"), questions=(asked,))
    process = child(code, path, plan)
    assert process.stdout is not None
    sent = [process.stdout.readline().split() for _ in range(20)]
    process.send_signal(signal.SIGKILL)
    sent += [line.split() for line in process.stdout.read().splitlines() if len(line.split()) == 2]
    process.communicate()
    with Ledger.open(path) as ledger:
        assert len(sent) <= ledger.spent(plan) <= len(sent) + 1
        for occasion, report in sent:
            assert ledger.report(["2"], plan, occasion=occasion, entropy=ENTROPY).hex() == report
        assert ledger.spent(plan) <= len(sent) + 1


LOW = small_plan("none", 125, 2, 2, shares=[100, 101, 102])  # γ of 1.02: a thousand reports may be promised something


def test_two_processes_cannot_both_spend_the_last(path: Path) -> None:
    """Of two processes that race for the last report exactly one makes a new one."""
    code = """
from assocpriv.promise.errors import BudgetError
sys.stdin.readline()
try:
    with Ledger.open(sys.argv[1]) as ledger:
        print(ledger.report(["1"], plan, occasion=sys.argv[3], entropy=entropy).hex())
except BudgetError:
    print("refused")
"""
    plan = replace(PLAN, reports_per_person=1)
    racers = [child(code, path, plan, occasion) for occasion in ("a", "b")]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = sorted(racer.communicate()[0].strip() for racer in racers)
    assert [line == "refused" for line in said] == [False, True]
    assert len(bytes.fromhex(said[0])) == plan.report_bytes
    with Ledger.open(path) as ledger:
        assert ledger.spent(plan) == 1


@pytest.fixture(params=["flock", "a file beside"])
def lock_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Lock in either way."""
    if request.param != "flock":
        monkeypatch.setattr(ledger_file, "_HAS_FLOCK", False)
    elif not ledger_file._HAS_FLOCK:
        pytest.skip("no flock here")
    return str(request.param)


def test_an_open_ledger_is_locked(path: Path, lock_kind: str) -> None:
    """While it is open nobody else can open it; once it is closed, or failed to open, all is as before."""
    with Ledger.open(path) as first:
        first.report(BASKET, PLAN, occasion="w1", entropy=ENTROPY)
        with pytest.raises(FileError, match="is in use by another process"):
            Ledger.open(path, wait_seconds=0)
        first.report(BASKET, PLAN, occasion="w2", entropy=ENTROPY)
    assert len(tell(path, "w1", "w2")) == 2
    assert [file.name for file in path.parent.iterdir()] == ["ledger.bin"]
    path.write_bytes(b"no ledger")
    for _ in range(2):
        with pytest.raises(FileError, match="not a ledger"):
            Ledger.open(path, wait_seconds=0)


def test_links_do_not_open_the_lock(path: Path, lock_kind: str) -> None:
    """Through a link, a linked folder or a longer way it is the same ledger, and locked."""
    (folder := path.with_name("linked")).symlink_to(path.parent)
    (link := path.with_name("link.bin")).symlink_to(path)
    (link_of_link := path.with_name("link2.bin")).symlink_to("link.bin")
    names = [link, link_of_link, folder / path.name, folder / "linked" / "link.bin", path.parent / "linked" / path.name]
    for held in (path, link):
        with Ledger.open(held) as first:
            for name in names:
                with pytest.raises(FileError, match="is in use"):
                    Ledger.open(name, wait_seconds=0)
            made = first.report(BASKET, PLAN, occasion="w1", entropy=ENTROPY)
    assert [tell(name, "w1") for name in names] == [[made]] * len(names)


@pytest.mark.parametrize("change", ["moved away", "replaced", "linked elsewhere"])
def test_what_is_moved_while_somebody_waits(
    path: Path, monkeypatch: pytest.MonkeyPatch, lock_kind: str, change: str
) -> None:
    """Whoever waited for a ledger writes into the file that now has its name, never into one that has lost it."""
    held, other = path.with_name("held.bin"), path.with_name("other.bin")
    told = tell(other, "w0")
    if change == "linked elsewhere":
        path.symlink_to(held)
    first = Ledger.open(path)

    def change_it(_deadline: float, _path: Path) -> None:
        first.report(BASKET, PLAN, occasion="w1", entropy=ENTROPY)
        if change == "linked elsewhere":
            path.unlink()
            path.symlink_to(other)
        else:
            path.rename(held)
        if change == "replaced":
            other.rename(path)
        first.close()

    monkeypatch.setattr(ledger_file, "_wait", change_it)
    made = tell(path, "w2")
    before = told if change != "moved away" else []
    assert [item.report for item in parse_ledger(path.read_bytes())[0]] == before + made
    assert len(parse_ledger(held.read_bytes())[0]) == 1
    assert not list(path.parent.glob("*.lock"))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files")
def test_a_name_that_never_rests_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch, lock_kind: str) -> None:
    """If each time another file has the name, opening ends; nothing stays open or locked."""
    before = os.listdir("/proc/self/fd")
    with monkeypatch.context() as patch:
        patch.setattr(os.path, "samestat", lambda *_: False)
        with pytest.raises(FileError, match="is replaced again and again"):
            Ledger.open(path)
    assert os.listdir("/proc/self/fd") == before
    assert len(tell(path, "w1")) == 1


def test_waiting_for_a_ledger(path: Path, lock_kind: str) -> None:
    """Who waits gets the ledger when it is closed, with what was written meanwhile."""
    first = Ledger.open(path)
    found = []
    waiting = threading.Thread(target=lambda: found.append(tell_waiting(path)))
    waiting.start()
    made = first.report(BASKET, PLAN, occasion="w1", entropy=ENTROPY)
    first.close()
    waiting.join()
    assert found == [made]


def tell_waiting(path: Path) -> bytes:
    """Report as :func:`tell` does, waiting for the ledger."""
    with Ledger.open(path, wait_seconds=60) as ledger:
        return ledger.report(BASKET, PLAN, occasion="w1", entropy=ENTROPY)


def test_threads_cannot_both_spend_the_last(path: Path) -> None:
    """Threads that share a ledger make as many new reports as the budget has, not one more."""
    told = []

    def ask(occasion: str) -> None:
        try:
            told.append(ledger.report(BASKET, PLAN, occasion=occasion, entropy=ENTROPY))
        except BudgetError:
            told.append(b"")

    with Ledger.open(path) as ledger:
        threads = [threading.Thread(target=ask, args=(f"w{place}",)) for place in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(map(bool, told)) == ledger.spent(PLAN) == BUDGET


def test_a_forked_process_makes_no_report(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that inherits an open ledger shares its lock, so it may not write; its parent goes on."""
    with Ledger.open(path) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: -1)
            with pytest.raises(FileError, match="belongs to another process"):
                ledger.report(BASKET, PLAN, occasion="w1", entropy=ENTROPY)
        ledger.report(BASKET, PLAN, occasion="w1", entropy=ENTROPY)
    with pytest.raises(FileError, match="closed"):
        ledger.report(BASKET, PLAN, occasion="w1", entropy=ENTROPY)
    ledger.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the fork of POSIX")
def test_a_forked_child_does_not_hold_the_lock(path: Path) -> None:
    """A child cannot unlock its parent's ledger; once the parent has closed it others can open it, child or no."""
    code = """
ledger, (end, other_end) = Ledger.open(sys.argv[1]), os.pipe()
if not os.fork():
    os.close(other_end)
    ledger.close()
    print("the child has closed", flush=True)
    os.read(end, 1)  # until its parent ends
    os._exit(0)
sys.stdin.readline()
ledger.close()
print("the parent has closed", flush=True)
sys.stdin.readline()
"""
    parent = child(code, path, PLAN)
    assert parent.stdin is not None
    assert parent.stdout is not None
    assert parent.stdout.readline() == "the child has closed\n"
    with pytest.raises(FileError, match="is in use"):
        Ledger.open(path, wait_seconds=0)
    parent.stdin.write("go on\n")
    parent.stdin.flush()
    assert parent.stdout.readline() == "the parent has closed\n"
    try:
        assert len(tell(path, "w1")) == 1
    finally:
        parent.communicate("end\n")


# ---- no item is shown or kept


def test_nothing_of_a_basket_is_kept(path: Path) -> None:
    """Neither the file nor the repr holds an item or an occasion's name; refusals show none."""
    with Ledger.open(path) as ledger:
        ledger.report([NAME, "milk"], NAMED, occasion=NAME, entropy=ENTROPY)
        assert not marks_in(repr([ledger, *parse_ledger(path.read_bytes())[0]]).replace(repr(path), ""))
        for basket in ([NAME, NAME], [f"{NAME}x"], [f"{NAME}\n{NAME}"], NAME, [NAME.encode()], [["milk", NAME]]):
            with pytest.raises((AssocprivError, TypeError)) as caught:
                ledger.report(basket, NAMED, occasion="now", entropy=ENTROPY)
            assert not marks_in(shown_by(caught.value))
        for occasion in ("a", "b"):
            ledger.report([NAME], NAMED, occasion=occasion, entropy=ENTROPY)
        with pytest.raises(BudgetError) as refusal:
            ledger.report([NAME], NAMED, occasion="c", entropy=ENTROPY)
        assert not marks_in(shown_by(refusal.value))
    assert marked_files(path.parent, set()) == []
    assert hash_occasion(NAME) in path.read_bytes()


# ---- the command line


@pytest.fixture
def plan_path(tmp_path: Path) -> Path:
    """A plan file."""
    write_plan(NAMED, tmp_path / "plan.json")
    return tmp_path / "plan.json"


def report(plan_path: Path, *options: str, basket: str | bytes = "milk\na, b\n", occasion: str = "w1") -> Any:
    """Run ``assocpriv report`` with a basket on standard input."""
    folder = plan_path.parent
    files = ["--plan", str(plan_path), "--ledger", str(folder / "l.bin"), "-o", str(folder / "r.bin")]
    return CliRunner().invoke(main, ["report", *files, "--occasion", occasion, *options], input=basket)


def test_the_command_reports(plan_path: Path) -> None:
    """A device's whole way: a new report, the same one again, others, the refusal; the file holds what is sent."""
    folder = plan_path.parent
    first = json.loads(report(plan_path, "--json").stdout)
    sent = (folder / "r.bin").read_bytes()
    gamma = f"{NAMED.amplification.numerator}/{NAMED.amplification.denominator}"
    assert first == {
        "plan_id": NAMED.plan_id, "new": True, "report_bytes": len(sent), "spent": 1, "left": 2,
        "amplification": gamma, "epsilon": ap.epsilon(NAMED.amplification), "unbounded": None,
    }  # fmt: skip
    assert "exists already" in report(plan_path, occasion="w2").stderr
    again = json.loads(report(plan_path, "--json", "--force", basket="").stdout)
    assert again == first | {"new": False}
    assert (folder / "r.bin").read_bytes() == sent
    for occasion in ("w2", "w3"):
        result = report(plan_path, "--force", basket="a, b\nmilk\n", occasion=occasion)
        assert "a new report" in result.stdout, result.output
    result = report(plan_path, "--force", occasion="w4")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "made 3 of the 3 reports" in result.stderr
    assert "the report made before" in report(plan_path, "--force").stdout
    assert (folder / "r.bin").read_bytes() == sent


def test_the_command_reads_names(plan_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line is a name, with its commas; blank lines and line ends of any system say nothing."""
    seen: list[Any] = []

    def note(_self: Ledger, basket: Any, plan: Plan, **_: Any) -> bytes:
        seen.append(basket)
        return bytes(plan.report_bytes)

    monkeypatch.setattr(Ledger, "report", note)
    for text in ("milk\na, b\n", "\ufeffmilk\r\n\r\na, b", "\n milk \n\n\ta, b\n\n"):
        assert report(plan_path, "--force", basket=text).exit_code == 0
    assert seen == [["milk", "a, b"]] * 3
    assert report(plan_path, "--force", basket=" \n").exit_code == 1
    assert report(plan_path, "--force", "--empty", "keep", basket=" \n").exit_code == 0
    assert seen[3:] == [[]]


def test_an_empty_basket_is_no_accident(plan_path: Path) -> None:
    """A failed pipe spends nothing and leaves no ledger; said on purpose it is reported; a retry needs no basket."""
    folder = plan_path.parent
    result = report(plan_path, basket="")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "the basket is empty" in result.stderr
    assert "--empty keep" in result.stderr
    assert [path.name for path in folder.iterdir()] == ["plan.json"]
    assert json.loads(report(plan_path, "--empty", "keep", "--json", basket="").stdout)["spent"] == 1
    assert json.loads(report(plan_path, "--force", "--json", basket="").stdout)["new"] is False
    before = (folder / "l.bin").read_bytes()
    assert report(plan_path, "--force", basket="", occasion="w2").exit_code == 1
    assert (folder / "l.bin").read_bytes() == before
    with pytest.raises(BasketError, match="empty must be 'error' or 'keep'"):
        device_report([], NAMED, ledger=folder / "x", occasion="w", output=folder / "y", empty="drop")


@pytest.mark.parametrize(
    ("options", "basket"),
    [
        ([], "nothing\n"),
        ([], "milk\nmilk\n"),
        ([], ""),
        (["-o", "none/r.bin"], "milk\n"),
        (["-o", "."], "milk\n"),
        (["-o", "loop"], "milk\n"),
        (["--occasion", " "], "milk\n"),
        (["--occasion", "x" * 1001], "milk\n"),
        (["--prior", "49%", "--posterior", "50%"], "milk\n"),
    ],
    ids=str,
)
def test_a_failure_leaves_no_new_ledger(
    plan_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], basket: str
) -> None:
    """Whatever is refused, a new ledger is not left; one that is there stays byte by byte, an empty file too."""
    folder = plan_path.parent
    monkeypatch.chdir(folder)
    (folder / "loop").symlink_to("loop")
    before = sorted(folder.iterdir())
    assert report(plan_path, *options, basket=basket).exit_code == 1
    assert sorted(folder.iterdir()) == before
    (folder / "l.bin").touch()
    assert report(plan_path, *options, basket=basket).exit_code == 1
    assert parse_ledger((folder / "l.bin").read_bytes())[0] == []
    with Ledger.open(folder / "l.bin") as ledger:
        ledger.report(["milk"], NAMED, occasion="w0", entropy=ENTROPY)
    content = (folder / "l.bin").read_bytes()
    assert report(plan_path, *options, basket=basket).exit_code == 1
    assert (folder / "l.bin").read_bytes() == content


def test_a_full_disk_leaves_no_new_ledger(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger whose header or first record could not be put on disk is taken away; with a record on disk it stays."""
    sync, left = os.fsync, 0

    def full(file: int) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise OSError(28, "No space left on device")
        sync(file)

    monkeypatch.setattr(os, "fsync", full)
    for failing in (1, 2, 3):  # the header, its folder, the record
        left = failing
        with pytest.raises(FileError, match="No space left on device"):
            device_report(BASKET, PLAN, ledger=path, occasion="w", output=path.with_name("r.bin"))
        assert list(path.parent.iterdir()) == []
    left = 4  # the output
    with pytest.raises(FileError, match="No space left on device"):
        device_report(BASKET, PLAN, ledger=path, occasion="w", output=path.with_name("r.bin"))
    assert [each.name for each in path.parent.iterdir()] == ["ledger.bin"]
    assert not device_report(BASKET, PLAN, ledger=path, occasion="w", output=path.with_name("r.bin")).new


def test_who_waits_for_a_new_ledger_keeps_it(path: Path) -> None:
    """A new ledger in which another process made a report meanwhile is not taken away, nor one of another process."""
    first = Ledger.open(path)
    (made,) = tell_beside(path)
    first.abandon()
    assert tell(path, "w1") == [made]
    path.unlink()
    begun = Ledger.open(path)
    process, begun._process = begun._process, -1
    begun.abandon()
    assert path.exists()
    begun._process = process
    begun.close()


def test_a_ledger_put_in_place_of_a_new_one_stays(path: Path) -> None:
    """What has the name of a new ledger, but is another file by now, is not removed with it."""
    made = tell(path.with_name("copy.bin"), "w1")
    new = Ledger.open(path)
    path.with_name("copy.bin").replace(path)
    new.abandon()
    assert tell(path, "w1") == made


def tell_beside(path: Path) -> list[bytes]:
    """Write a report of the occasion w1 into a ledger that somebody else has open, as if it had not been locked."""
    other = path.with_name("other.bin")
    made = tell(other, "w1")
    path.write_bytes(other.read_bytes())
    return made


def test_the_command_keeps_a_limit(plan_path: Path) -> None:
    """``--prior`` and ``--posterior`` bound all reports of the device; one without the other is wrong usage."""
    limit = Breach(1 / (1 + NAMED.amplification**2), Fraction(1, 2))
    options = ["--prior", str(limit.prior), "--posterior", "1/2", "--force"]
    assert report(plan_path, *options).exit_code == 0
    assert "would reach the limit" in report(plan_path, *options, occasion="w2").stderr
    assert report(plan_path, *options).exit_code == 0
    assert report(plan_path, "--force", occasion="w2").exit_code == 0
    assert report(plan_path, "--prior", "5%").exit_code == 2


@pytest.mark.parametrize(
    "basket",
    [f"{NAME}x\n", f"{NAME}\n{NAME}\n", f"{NAME}\x07\n", NAME.encode() + b"\xff\n", f"{NAME}\n" * 2_000_000],
    ids=range(5),
)
def test_the_command_shows_no_item(plan_path: Path, basket: str | bytes) -> None:
    """A basket that cannot be used is refused without showing it, and nothing is spent or left."""
    result = report(plan_path, basket=basket)
    assert result.exit_code == 1
    assert not marks_in(result.output)
    assert result.exception is None or not marks_in(shown_by(result.exception))
    assert not (plan_path.parent / "r.bin").exists()
    assert marked_files(plan_path.parent, {plan_path}) == []
    assert json.loads(report(plan_path, "--json").stdout)["spent"] == 1


@pytest.mark.parametrize("force", [[], ["--force"]], ids=str)
def test_a_new_ledger_is_not_an_output(plan_path: Path, force: list[str]) -> None:
    """Nor is a ledger that this very command makes, under any of its names; nothing is spent for the refusal."""
    folder = plan_path.parent
    (folder / "linked").symlink_to(folder)
    (folder / "link.bin").symlink_to("l.bin")
    for name in ("plan.json", "l.bin", "linked/l.bin", "linked/link.bin", "link.bin"):
        result = report(plan_path, *force, "-o", f"{folder}/{name}")
        assert "is an input" in result.stderr, result.output
        assert not (folder / "l.bin").exists()


@pytest.mark.skipif(os.name != "posix", reason="a shell of POSIX")
def test_a_closed_standard_input_is_wrong_usage(plan_path: Path) -> None:
    """Without a standard input nobody reports an empty basket, and no traceback is shown."""
    folder = plan_path.parent
    options = ["--plan", plan_path, "--ledger", folder / "l.bin", "-o", folder / "r.bin", "--occasion", "w1"]
    command = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "assocpriv", "report", *map(str, options)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert "standard input is closed" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (folder / "l.bin").exists()


def test_a_ledger_is_opened_and_draws_from_the_system(path: Path) -> None:
    """Without a source the system's entropy is drawn from; a ledger that is called and not opened says how."""
    with Ledger.open(path) as ledger:
        report = ledger.report(BASKET, PLAN, occasion="w1")
        assert ledger.report(BASKET, PLAN, occasion="w1") == report
    with pytest.raises(TypeError, match=r"Ledger\.open"):
        Ledger(path)


def test_the_first_report_may_be_too_much_alone(path: Path) -> None:
    """A limit that one report would reach is said to be reached by it, not by all of none."""
    with Ledger.open(path, limit=Breach("5%", "6%")) as ledger, pytest.raises(BudgetError) as refusal:
        ledger.report(BASKET, PLAN, occasion="w1")
    assert str(refusal.value).startswith(f"one report of plan {PLAN.plan_id[:12]} alone would reach the limit")


CANARY = "7319.25"
AGE = NumberColumn("age", Window(8, 3, 5, 2), True, Fraction(0), Fraction(80), 8)
REGION = CategoryColumn("region", Window(2, 1, 3, 1), False, ("north", "south"))
PROTECTED = TablePlan((AGE, REGION), 2, Breach("5%", "80%"), reports_per_person=2)
NOISE = TablePlan((NumberColumn("age", UniformNoise(8, 2), False, Fraction(0), Fraction(80), 8),), 0)


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b'{"age": 1, "age": 2}',
     b'{"age": NaN}', b'{"age": 1', b"\xff", b'{"age": ' + b"9" * 5000 + b"}", b"[" * 9999],
)  # fmt: skip
def test_text_that_is_no_record(text: bytes) -> None:
    """What is no JSON object is refused in one line that shows none of it."""
    with pytest.raises(RecordError, match="must be one JSON object") as caught:
        parse_record(text, PROTECTED)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def report_record(folder: Path, text: str, plan: TablePlan = PROTECTED, *options: Any) -> Result:
    """Run the command on a record."""
    write_plan(plan, folder / "plan.json", force=True)
    words = ["--plan", folder / "plan.json", "--ledger", folder / "l", "--occasion", "1", "-o", folder / "r.bin"]
    return CliRunner().invoke(main, ["report", *map(str, [*words, *options])], input=text, catch_exceptions=False)


def test_the_command_takes_a_record(tmp_path: Path) -> None:
    """A JSON object on standard input becomes a report; the same occasion gives it again."""
    made = report_record(tmp_path, '{"age": 34.5, "region": "north"}\n')
    assert "a new report, 2 bytes" in made.stdout
    sent = (tmp_path / "r.bin").read_bytes()
    again = report_record(tmp_path, '{"age": null, "region": "south"}', PROTECTED, "--force", "--json")
    assert json.loads(again.stdout)["new"] is False
    assert (tmp_path / "r.bin").read_bytes() == sent
    PROTECTED.check_form(np.frombuffer(sent, "u1").reshape(1, -1))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f'{{"age": {CANARY}, "region": "north"}}', "column age has a value outside its range"),
        (f'{{"age": "{CANARY}", "region": "north"}}', "column age takes numbers, got a str"),
        (f'{{"age": [{CANARY}], "region": "north"}}', "column age takes numbers, got a list"),
        (f'{{"age": 1, "region": "{CANARY}"}}', "column region has a value that is none of its 2 values"),
        (f'{{"age": 1, "region": {{"{CANARY}": 1}}}}', "column region has a value that is none of its 2 values"),
        (f'{{"age": 1, "region": "north", "{CANARY}": 1}}', "the record has 1 column beside the plan's"),
        ('{"age": 1}', "column region has no value"),
        (f"age {CANARY}", "must be one JSON object"),
        ("", "must be one JSON object"),
    ],
)
def test_bad_records_spend_nothing(tmp_path: Path, text: str, said: str) -> None:
    """One line, exit status 1, no file, no ledger, and the value nowhere."""
    done = report_record(tmp_path, text)
    assert done.exit_code == 1
    assert said in done.stderr
    assert CANARY not in done.output
    assert not (tmp_path / "r.bin").exists()
    assert not (tmp_path / "l").exists()


VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "devices.json").read_text(encoding="ascii"))
SUBMITTED_PLAN = replace(small_plan("none", 125, 2, 2), reports_per_person=3)


def test_vectors_are_what_the_package_makes() -> None:
    """What ledgers hold, good and bad, what was told and what is answered is what the file says, and JavaScript too."""
    assert json.loads(json.dumps(make_devices.make_all())) == VECTORS


@pytest.mark.parametrize("name", VECTORS["ledgers"])
def test_ledgers_are_written_as_they_were_read(name: str) -> None:
    """Records that were read make the same bytes again, but for a last mark that did not arrive."""
    content, wanted = bytes.fromhex(VECTORS["ledgers"][name]["bytes"]), VECTORS["ledgers"][name]["found"]
    if wanted != "refuse" and wanted[1]:
        records, end, marked = parse_ledger(content)
        written = content[:20] + b"".join(record.to_bytes() + MARK for record in records)
        assert written[: end if marked else -len(MARK)] == content[:end]


def test_a_submission_waits_until_it_is_acknowledged(path: Path) -> None:
    """The same id and bytes at every attempt, also after a restart; acknowledged, it waits no more."""
    with Ledger.open(path) as ledger:
        made = [ledger.submit(BASKET, SUBMITTED_PLAN, occasion=name) for name in ("w1", "w2")]
        assert len({each.submission_id for each in made}) == 2
        assert {len(each.submission_id) for each in made} == {16}
        assert ledger.submit([], SUBMITTED_PLAN, occasion="w1") == made[0]
        assert ledger.unsent() == tuple(made)
        assert ledger.report([], SUBMITTED_PLAN, occasion="w1") == made[0].report
    with Ledger.open(path) as ledger:
        assert ledger.unsent() == tuple(made)
        for _ in range(2):
            ledger.acknowledge(made[0])
        assert ledger.unsent() == (made[1],)
    with Ledger.open(path) as ledger:
        assert ledger.unsent() == (made[1],)
        assert ledger.submit([], SUBMITTED_PLAN, occasion="w1") == replace(made[0], acknowledged=True)
        assert (ledger.spent(SUBMITTED_PLAN), ledger.left(SUBMITTED_PLAN)) == (2, 1)


def test_what_was_handed_out_does_not_wait(path: Path) -> None:
    """A report for a file is not sent by --unsent; asked for by a collector, it is, under the id that it has."""
    with Ledger.open(path) as ledger:
        report = ledger.report(BASKET, SUBMITTED_PLAN, occasion="w1")
        assert ledger.unsent() == ()
        (record,) = parse_ledger(path.read_bytes())[0]
        assert isinstance(record, Entry)
        asked = ledger.submit([], SUBMITTED_PLAN, occasion="w1")
        assert (asked.report, asked.submission_id) == (report, record.submission_id)
    with Ledger.open(path) as ledger:
        assert ledger.unsent() == (asked,)
