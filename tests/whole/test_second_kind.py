"""A new plan type needs new files and one line of the registry: files, ledger, audit and commands work unchanged."""

import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import run

from assocpriv import randomize
from assocpriv.auditing import audit as auditing
from assocpriv.auditing.findings import BROKEN, CHECKS, CONSISTENT, AuditRequest
from assocpriv.cli.main import main
from assocpriv.client.ledger import Ledger, make_report
from assocpriv.files.plan_files import write_plan
from assocpriv.files.report_files import Reports, read_reports
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import PlanError, WireError
from assocpriv.plans import registry
from assocpriv.server.baskets.counting import LocalBackend
from assocpriv.show.plan_views import described
from assocpriv.simulation.enumeration import SeededEntropy, distribution
from tests import second_kind
from tests.second_kind import AveragePlan, YesNoPlan

GUARANTEE = Guarantee("5%", "50%")
PLAN = YesNoPlan("Do you smoke?", 5, 2, GUARANTEE, 3)
AVERAGE = AveragePlan("Do you smoke?", 5, 2, GUARANTEE, 3)
KINDS = ("yes-no", "yes-no-average")
PARTS = {
    "plan": second_kind.YesNoPlan, "report": second_kind.randomize_answer, "forecast": second_kind.forecast,
    "subject": second_kind.AnswerSubject, "show_plan": second_kind.plan,
}  # fmt: skip


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the plan types, each by a module of its parts."""
    for kind, plan in zip(KINDS, (YesNoPlan, AveragePlan), strict=True):
        parts = ModuleType(f"parts_of_{kind}")
        vars(parts).update(PARTS | {"plan": plan})
        monkeypatch.setitem(sys.modules, parts.__name__, parts)
        monkeypatch.setitem(registry.KINDS, kind, parts.__name__)


def test_the_client_has_the_distribution_of_the_plan() -> None:
    """make_report calls the type's client, whose output distribution is that of the weights."""
    output = distribution(lambda entropy: make_report(["no"], PLAN, entropy=entropy))
    assert output == {b"\x00": Fraction(5, 7), b"\x01": Fraction(2, 7)}
    assert randomize(["yes"], PLAN) in (b"\x00", b"\x01")


def test_a_limit_refuses_a_plan_without_amplification(tmp_path: Path) -> None:
    """Without γ no limit can hold; without a limit the report is made, and the product of γ is unknown afterwards."""
    with Ledger.open(tmp_path / "limited", limit=GUARANTEE) as ledger:
        assert ledger.remaining(AVERAGE) == 0
        with pytest.raises(PlanError, match="has no γ, so no limit for this device"):
            ledger.report(["yes"], AVERAGE, period="w0", entropy=SeededEntropy(0))
        assert ledger.amplification == 1
    with Ledger.open(tmp_path / "free") as ledger:
        sent = ledger.report(["yes"], AVERAGE, period="w0", entropy=SeededEntropy(0))
        assert ledger.amplification is None
    with Ledger.open(tmp_path / "free", limit=GUARANTEE) as ledger:
        assert ledger.amplification is None
        assert ledger.report(["no"], AVERAGE, period="w0", entropy=SeededEntropy(1)) == sent
        assert ledger.remaining(PLAN) == 0
        with pytest.raises(PlanError, match="follows a report of a plan without γ"):
            ledger.report(["yes"], PLAN, period="w1", entropy=SeededEntropy(0))


def test_reports_are_stored_and_checked(tmp_path: Path) -> None:
    """Stored reports keep the plan and are read back; invalid ones are refused with their number."""
    packed = np.array([[1], [0], [1], [1]], dtype=np.uint8)
    Reports(PLAN, packed).write(tmp_path / "r.parquet")
    read = read_reports(tmp_path / "r.parquet")
    assert read.plan == PLAN
    assert np.array_equal(np.concatenate(list(read.batches(3))), packed)
    with pytest.raises(WireError, match="report 1 is neither yes nor no"):
        Reports.from_bytes([b"\x01", b"\x02"], PLAN)
    with pytest.raises(PlanError, match="cannot be used here"):
        LocalBackend.from_reports(read)


def test_the_audit_takes_the_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """All checks use the type's own functions; a client that lies more often and a broken guarantee are found.

    A fair coin's 1,000 answers to each word are 8.7 of its standard errors away from the threshold at 5/7. So a miss
    has a probability below 10⁻¹⁶ (250 answers, of 1,000 trials, missed about once in 1,000 runs).
    """
    request = AuditRequest(trials=4000, client="single", confidence="99.9999%")
    done = auditing.audit(PLAN.canonical_json, request)
    assert done.verdict == CONSISTENT
    assert {finding.check for finding in done.findings} == set(CHECKS)
    altered = PLAN.canonical_json.replace('"truth":5', '"truth":6')
    assert second_kind.AnswerSubject.check_guarantee(None, altered)[0].verdict == BROKEN
    monkeypatch.setattr(
        second_kind, "randomize_answer", lambda _record, _plan, *, entropy: bytes([entropy.pick([1, 2])])
    )
    broken = {each.check for each in auditing.audit(PLAN.canonical_json, request).findings if each.verdict == BROKEN}
    assert broken == {"replay", "distributions"}


def test_a_missing_entry_is_refused(tmp_path: Path) -> None:
    """A plan type without an entry is refused by name everywhere."""
    unknown = YesNoPlan("Do you smoke?", 5, 2, GUARANTEE)
    object.__setattr__(unknown, "kind", "new")
    with pytest.raises(PlanError, match="plans of the type new cannot be answered here"):
        randomize(["yes"], unknown)
    with pytest.raises(PlanError, match="plans of the type new cannot be described here"):
        described(unknown, 1)


def test_commands_take_the_type(tmp_path: Path) -> None:
    """inspect shows plans and reports of the type, report makes one."""
    write_plan(PLAN, tmp_path / "p.json")
    Reports(PLAN, np.array([[1], [0]], dtype=np.uint8)).write(tmp_path / "r.parquet")
    for name in ("p.json", "r.parquet"):
        assert "asks: Do you smoke?" in run("inspect", tmp_path / name).stdout
    options = ["--plan", tmp_path / "p.json", "--ledger", tmp_path / "l", "--period", "w1", "-o", tmp_path / "r.bin"]
    made = CliRunner().invoke(main, ["report", *map(str, options)], input="yes\n", catch_exceptions=False)
    assert made.exit_code == 0, made.stderr
    assert (tmp_path / "r.bin").read_bytes() in (b"\x00", b"\x01")
