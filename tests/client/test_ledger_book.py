"""What all reports of a ledger can have told by now: figures, what nothing bounds, what a limit leaves; only read."""

import json
import os
import threading
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from naive import fixed_plan

import assocpriv as ap
from assocpriv.cli.main import main
from assocpriv.client import ledger_file
from assocpriv.client.ledger import make_report
from assocpriv.client.ledger_book import LedgerBook, check_further, multiply
from assocpriv.client.ledger_file import HEADER, MARK
from assocpriv.plans.columns import Clear, LabelColumn
from assocpriv.plans.tables import TablePlan
from assocpriv.promise.errors import BudgetError, FileError, PlanError
from assocpriv.simulation.enumeration import distribution
from tests.client.test_ledger import AGE, NAMED, PLAN, tell

OCCASION = "occasion-777"
CLEAR = TablePlan((LabelColumn("class", Clear(2), False, ("A", "B")), AGE), 1, ap.Breach("1%", "60%"))


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


def largest_ratio(plan: Any) -> Fraction:
    """Return how much likelier one basket makes a report than another does, at most, as enumerated."""

    def law(items: list[str]) -> dict[bytes, Fraction]:
        return distribution(lambda entropy: make_report(items, plan, entropy=entropy))

    laws = [law([]), *(law([str(item)]) for item in range(len(plan.catalogue)))]
    return max(one[report] / other[report] for one in laws for other in laws for report in one)


@pytest.mark.parametrize(("limit", "most"), [(None, 9), (ap.Breach("1/10", "1/2"), Fraction(15, 2))])
def test_whatever_is_asked_the_promise_holds(monkeypatch: Any, limit: ap.Breach | None, most: Fraction) -> None:
    """Whichever plans are asked: the enumerated laws of all reports multiply to the first's γ^R, or below the limit."""
    monkeypatch.setattr("assocpriv.client.ledger_book._cost", lambda *_: "")  # what a refusal says takes long
    plans = [replace(fixed_plan(n, 1, 1, 1, shares=shares), reports_per_person=times)
             for n, shares, times in ((2, [1, 3], 2), (3, [1, 2], 1), (4, [2, 5], 2))]  # fmt: skip
    ratios, largest = [largest_ratio(plan) for plan in plans], Fraction(1)
    for begun, *later in product(range(3), *[list(product(range(3), range(3)))] * 2):  # occasions are but names
        asked = [(begun, 0), *later]
        book, told = LedgerBook(), Fraction(1)
        for which, occasion in asked:
            plan, name = plans[which], bytes([occasion]) * 32
            with suppress(BudgetError):
                check_further(book, plan, name, limit)
                book.add(
                    ledger_file.Entry(book.count + 1, plan.plan_id, name, plan.amplification, b"report", bytes(16))
                )
                told *= ratios[which]
        first = plans[begun]
        assert told < limit.amplification_limit if limit else told <= ratios[begun] ** first.reports_per_person
        largest = max(largest, told)
    assert largest == most


def test_what_is_left_is_what_may_be_made(path: Path) -> None:
    """A plan has a report left under a limit exactly where its γ is below what is left; at equality it has none."""
    plan = fixed_plan(2, 1, 1, 1, shares=[1, 3])  # γ = 3
    with ap.Ledger.open(path) as ledger:
        ledger.report(["1"], plan, occasion="w1")
    for limit, left in ((Fraction(2), Fraction(1)), (Fraction(3), Fraction(1)), (Fraction(9), Fraction(3)),
                        (Fraction(91, 10), Fraction(91, 30))):  # fmt: skip
        promise = ap.Breach(1 / (1 + limit), Fraction(1, 2))
        found = ap.told(path, limit=promise)
        assert found.left == left
        assert found.left_epsilon == pytest.approx(float(ap.epsilon(left)))
        with ap.Ledger.open(path, limit=promise) as ledger:
            other = fixed_plan(3, 1, 1, 1, shares=[1, 3])  # of another id, and the same γ
            assert (ledger.left(other) > 0) == (other.amplification < left)


def test_what_lies_outside_is_noted(path: Path) -> None:
    """A column in clear is told to be bounded by nothing, and after it no limit holds, whenever that is set."""
    with ap.Ledger.open(path) as ledger:
        ledger.report({"age": 37, "class": "B"}, CLEAR, occasion="w1")
    found = ap.told(path, limit=ap.Breach("1e-9", "1/2"))
    assert (found.outside, found.left, found.stated_amplification) == (1, None, CLEAR.amplification)
    with ap.Ledger.open(path, limit=ap.Breach("1e-9", "1/2")) as ledger:
        assert ledger.left(PLAN) == 0
        with pytest.raises(PlanError, match="comes after a report that told what lies outside γ"):
            ledger.report(["1"], PLAN, occasion="w2")


def test_reading_changes_nothing(path: Path) -> None:
    """Neither a torn record is cut off nor a missing mark written, nor permissions changed; a file may be read-only."""
    tell(path, "w1", "w2")
    content = path.read_bytes()
    for left, reports in ((content[:-8], 2), (content[:-20], 1), (content[:20], 0), (content[:7], 0), (content, 2)):
        path.write_bytes(left)
        path.chmod(0o444)
        assert ap.told(path).reports == reports
        assert (path.read_bytes(), path.stat().st_mode & 0o777) == (left, 0o444)
        path.chmod(0o600)
    assert os.listdir(path.parent) == ["ledger.bin"]


@pytest.mark.parametrize("lock_kind", [True, False] if ledger_file._HAS_FLOCK else [False])
def test_reading_waits_for_a_report(path: Path, monkeypatch: pytest.MonkeyPatch, lock_kind: bool) -> None:
    """While a device has its ledger open it is waited for; two who only read do not wait for each other."""
    monkeypatch.setattr(ledger_file, "_HAS_FLOCK", lock_kind)
    found: list[int] = []
    with ap.Ledger.open(path) as ledger:
        with pytest.raises(FileError, match="is in use by another process"):
            ap.told(path, wait_seconds=0)
        reader = threading.Thread(target=lambda: found.append(ap.told(path).reports))
        reader.start()
        ledger.report(["1"], PLAN, occasion="w1")
    reader.join()
    assert found == [1]
    if lock_kind:
        held = ledger_file.LedgerFile(path, 0.0, only_read=True)
        assert ap.told(path, wait_seconds=0).reports == 1
        with pytest.raises(FileError, match="is in use"):
            ap.Ledger.open(path, wait_seconds=0)
        held.release()
    assert os.listdir(path.parent) == ["ledger.bin"]


def command(path: Path, *options: str) -> Any:
    """Run ``assocpriv report --told``."""
    return CliRunner().invoke(main, ["report", "--ledger", str(path), "--told", *options])


def test_the_command_tells(path: Path) -> None:
    """Two lines, with a limit also what it leaves; nothing of an item or an occasion; JSON has the figures."""
    with ap.Ledger.open(path) as ledger:
        ledger.report(["milk"], NAMED, occasion=OCCASION)
    said = command(path).stdout
    made, tells = said.splitlines()
    assert made == f"The ledger of this device counts 1 report, under plan {NAMED.plan_id[:12]}."
    assert tells.startswith("It can have told at most ε = ")
    limited = command(path, "--prior", "1e-9", "--posterior", "50%")
    assert "further reports may tell less than ε = " in limited.stdout
    content = json.loads(command(path, "--epsilon", "20", "--json").stdout)
    assert content["stated_epsilon"] + content["left_epsilon"] == pytest.approx(20)
    for shown in (said, limited.stdout, json.dumps(content)):
        assert OCCASION not in shown
        assert "milk" not in shown


@pytest.mark.parametrize("content", [None, b"a ledger", HEADER + b"damaged" + MARK])
def test_the_command_refuses(path: Path, content: bytes | None) -> None:
    """A ledger that is missing, damaged or none, and what reports are made or sent with: one line, nothing changes."""
    if content is not None:
        path.write_bytes(content)
    done = command(path)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert ("there is no ledger" if content is None else str(path)) in done.stderr
    for name, value in (
        ("occasion", "w1"),
        ("plan", "p.json"),
        ("output", "r.bin"),
        ("collector", "https://a.example"),
    ):
        done = command(path, f"--{name}", value)
        assert done.exit_code == 2
        assert done.stderr.splitlines()[-1].startswith(f"Error: --{name} ")
        assert done.stderr.endswith("with --told\n")
    assert [each.read_bytes() for each in path.parent.iterdir()] == [content] * (content is not None)
