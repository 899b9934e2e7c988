"""The privacy budget that a ledger has spent: figures, data without a bound, the rest under a limit; only read."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import fixed_plan

import assocpriv as ap
from assocpriv.cli.main import main
from assocpriv.client import ledger_file
from assocpriv.client.ledger import LedgerBook, check_further, make_report, multiply
from assocpriv.client.ledger_file import HEADER, RECORDS_AT
from assocpriv.guarantees.errors import BudgetError, FileError, PlanError
from assocpriv.plans.numeric.table_plan import Clear, LabelColumn, TablePlan
from assocpriv.simulation.enumeration import distribution
from tests.client.test_ledger import AGE, NAMED, PLAN, report_periods

PERIOD = "reporting-period-777"
CLEAR = TablePlan((LabelColumn("class", Clear(2), False, ("A", "B")), AGE), 1, ap.Guarantee("1%", "60%"))


@settings(max_examples=30)
@given(st.lists(st.fractions(1, 50, max_denominator=10**40), max_size=30))
def test_products_are_never_too_small(factors: list[Fraction]) -> None:
    """A rounded product of γ is slightly above the exact one, and its length does not grow with the factors."""
    found, exact = Fraction(1), Fraction(1)
    for factor in factors:
        found, exact = multiply(found, factor), exact * factor
    assert found.denominator.bit_length() <= 193
    if exact < 2**150:
        assert exact <= found <= exact * (1 + Fraction(1, 2**180))
    else:
        assert found > 2**149


def largest_ratio(plan: Any) -> Fraction:
    """Return the largest ratio of one report's probabilities under two baskets, by enumeration."""

    def shown(items: list[str]) -> dict[bytes, Fraction]:
        return distribution(lambda entropy: make_report(items, plan, entropy=entropy))

    outputs = [shown([]), *(shown([str(item)]) for item in range(len(plan.catalogue)))]
    return max(one[report] / other[report] for one in outputs for other in outputs for report in one)


@pytest.mark.parametrize(("limit", "most"), [(None, 9), (ap.Guarantee("1/10", "1/2"), Fraction(15, 2))])
def test_the_guarantee_holds_for_any_requests(monkeypatch: Any, limit: ap.Guarantee | None, most: Fraction) -> None:
    """For any order of plans, the ratios of all reports multiply to at most γ^R of the first, or below the limit."""
    monkeypatch.setattr("assocpriv.client.ledger._needed_limit", lambda *_: "")  # slow, and only text
    plans = [replace(fixed_plan(n, 1, 1, 1, shares=shares), reports_per_person=times)
             for n, shares, times in ((2, [1, 3], 2), (3, [1, 2], 1), (4, [2, 5], 2))]  # fmt: skip
    ratios, largest = [largest_ratio(plan) for plan in plans], Fraction(1)
    for begun, *later in product(range(3), *[list(product(range(3), range(3)))] * 2):  # periods are numbered
        requests = [(begun, 0), *later]
        book, spent = LedgerBook(), Fraction(1)
        for which, period in requests:
            plan, name = plans[which], bytes([period]) * 32
            with suppress(BudgetError):
                check_further(book, plan, name, limit)
                number, gamma = book.count + 1, plan.amplification
                book.add(ledger_file.Entry(number, plan.plan_id, name, gamma, b"report", bytes(16)))
                spent *= ratios[which]
        first = plans[begun]
        assert spent < limit.amplification_limit if limit else spent <= ratios[begun] ** first.reports_per_person
        largest = max(largest, spent)
    assert largest == most


def test_data_outside_the_guarantee_is_recorded(path: Path) -> None:
    """An unprotected column counts as uncovered, and after it no limit holds, also if set later."""
    with ap.device.Ledger.open(path) as ledger:
        ledger.report({"age": 37, "class": "B"}, CLEAR, period="w1")
    found = ap.device.spent_budget(path, limit=ap.Guarantee("1e-9", "1/2"))
    assert (found.uncovered, found.remaining, found.stated_amplification) == (1, None, CLEAR.amplification)
    with ap.device.Ledger.open(path, limit=ap.Guarantee("1e-9", "1/2")) as ledger:
        assert ledger.remaining(PLAN) == 0
        with pytest.raises(PlanError, match="follows a report of data that γ does not cover"):
            ledger.report(["1"], PLAN, period="w2")


def test_reading_changes_nothing(path: Path) -> None:
    """Reading repairs no torn record, writes no header, changes no permissions; the file may be read-only."""
    report_periods(path, "w1", "w2")
    content = path.read_bytes()
    torn_state = content[:60] + bytes(28) + content[88:]
    new = HEADER.ljust(RECORDS_AT, b"\0")
    for left, reports in ((torn_state, 2), (content + b"torn record", 2), (new, 0), (b"", 0), (content, 2)):
        path.write_bytes(left)
        path.chmod(0o444)
        assert ap.device.spent_budget(path).reports == reports
        assert (path.read_bytes(), path.stat().st_mode & 0o777) == (left, 0o444)
        path.chmod(0o600)
    assert os.listdir(path.parent) == ["ledger.bin"]


@pytest.mark.parametrize("lock_kind", [True, False] if ledger_file._HAS_FLOCK else [False])
def test_reading_waits_for_a_report(path: Path, monkeypatch: pytest.MonkeyPatch, lock_kind: bool) -> None:
    """A reader waits while a device has its ledger open; two readers do not wait for each other."""
    monkeypatch.setattr(ledger_file, "_HAS_FLOCK", lock_kind)
    with ThreadPoolExecutor() as pool, ap.device.Ledger.open(path) as ledger:
        with pytest.raises(FileError, match="is in use by another process"):
            ap.device.spent_budget(path, wait_seconds=0)
        reading = pool.submit(ap.device.spent_budget, path)
        ledger.report(["1"], PLAN, period="w1")
    assert reading.result().reports == 1
    if lock_kind:
        held = ledger_file.LedgerFile(path, 0.0, only_read=True)
        assert ap.device.spent_budget(path, wait_seconds=0).reports == 1
        with pytest.raises(FileError, match="is in use"):
            ap.device.Ledger.open(path, wait_seconds=0)
        held.release()
    assert os.listdir(path.parent) == ["ledger.bin"]


def command(path: Path, *options: str) -> Any:
    """Run ``assocpriv report --spent``."""
    return CliRunner().invoke(main, ["report", "--ledger", str(path), "--spent", *options])


def test_the_command_prints_the_spent_budget(path: Path) -> None:
    """Two lines, with a limit also the rest; no item and no reporting period; JSON has the figures."""
    with ap.device.Ledger.open(path) as ledger:
        ledger.report(["milk"], NAMED, period=PERIOD)
    printed = command(path).stdout
    made, spent = printed.splitlines()
    assert made == f"This device's ledger holds 1 report, under plan {NAMED.plan_id[:12]}."
    assert spent.startswith("It spent at most ε = ")
    limited = command(path, "--prior", "1e-9", "--posterior", "50%")
    assert "further reports may spend less than ε = " in limited.stdout
    content = json.loads(command(path, "--epsilon", "20", "--json").stdout)
    assert content["stated_epsilon"] + content["remaining_epsilon"] == pytest.approx(20)
    for shown in (printed, limited.stdout, json.dumps(content)):
        assert PERIOD not in shown
        assert "milk" not in shown


@pytest.mark.parametrize("content", [None, b"a ledger", HEADER + b"damaged"])
def test_the_command_refuses(path: Path, content: bytes | None) -> None:
    """A missing, damaged or foreign ledger, and options of making or sending: an error of one line, nothing changes."""
    if content is not None:
        path.write_bytes(content)
    done = command(path)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert ("there is no ledger" if content is None else str(path)) in done.stderr
    for name, value in (("period", "w1"), ("plan", "p.json"), ("output", "r.bin"), ("collector", "https://a.example")):
        done = command(path, f"--{name}", value)
        assert done.exit_code == 2
        assert done.stderr.splitlines()[-1].startswith(f"Error: --{name} ")
        assert done.stderr.endswith("with --spent\n")
    assert [each.read_bytes() for each in path.parent.iterdir()] == [content] * (content is not None)
