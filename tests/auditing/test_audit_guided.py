"""The audit of guided plans: honest clients pass, and each planted fault is found by the check that is to find it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assocpriv import audit as audit_plan
from assocpriv.auditing import exact_tables
from assocpriv.auditing import guided as auditor
from assocpriv.auditing.findings import BROKEN, CONSISTENT, UNDECIDED, AuditRequest, Finding
from assocpriv.auditing.guided import BulkTuples, SingleTuples, audit_form, audit_guided, audit_laws
from assocpriv.auditing.recompute_tables import read_guided
from assocpriv.client import guided
from assocpriv.client.guided import TupleRandomizer
from assocpriv.files.plans import write_plan
from assocpriv.plans.guidance import coin_of
from assocpriv.plans.guided import BitMix, GuidedPlan, category, class_label, number, plan_guided
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import WireError
from assocpriv.simulation.enumeration import SeededEntropy

ATTRIBUTES = (category("a", ["0", "1"]), number("x", [0]))
LABEL = class_label("c", ["l", "r"])
PROMISE = Breach("5%", "50%")
PLANS = {
    "plain": plan_guided(ATTRIBUTES, LABEL),
    "bits": plan_guided(ATTRIBUTES, LABEL, promise=PROMISE, reports_per_person=2),
    "tuple": plan_guided(ATTRIBUTES, LABEL, promise=PROMISE, keep="tuple"),
}


def exact(plan: GuidedPlan | None, text: str = "", **options: Any) -> list[Finding]:
    """Return the findings of the exact depth."""
    wanted: dict[str, Any] = {"depth": "exact", **options}
    return audit_guided(plan, text or (plan.canonical_json if plan else ""), AuditRequest(**wanted))


def verdicts(findings: list[Finding]) -> dict[str, str]:
    """Return verdicts by check."""
    return {finding.name: finding.verdict for finding in findings}


@pytest.mark.parametrize("name", PLANS)
def test_honest_clients_pass(name: str) -> None:
    """Every check of the exact depth is made, and finds nothing; γ by enumeration stands beside the stated one."""
    findings = exact(PLANS[name])
    wanted = {"amplification", "client, every draw", "client, whole tuples"} | ({"coins"} if name == "bits" else set())
    assert verdicts(findings) == dict.fromkeys(wanted, CONSISTENT)
    numbers = read_guided(PLANS[name].canonical_json)
    assert numbers.amplification == PLANS[name].amplification


def test_many_tuples_are_said_not_to_be_walked() -> None:
    """Where there are too many tuples the check is not decided, and words are compared all the same."""
    wide = plan_guided([category(f"a{n}", ["0", "1", "2"]) for n in range(12)], LABEL, promise=PROMISE)
    found = verdicts(exact(wide))
    assert found.pop("client, every draw") == UNDECIDED
    assert set(found.values()) == {CONSISTENT}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c["safeguard"].update(amplification="5/1"), "5 for one report"),
        (lambda c: c.update(reports_per_person=3), "for 3 reports"),
        (lambda c: c["promise"].update(posterior="1/15"), "the promise needs less than 1.3"),
        (lambda c: c.update(safeguard=None), "nothing that keeps it"),
        (lambda c: c.update(promise=None), "nothing that keeps it"),
        (lambda c: c.update(attributes=[]), "no guided plan"),
        (lambda c: c["safeguard"].update(kind="coins"), "no guided plan"),
        (lambda c: c.update(mu="2/1"), "breaks a rule of plans"),
    ],
)
def test_broken_texts_are_found(change: Callable[[dict[str, Any]], Any], said: str) -> None:
    """A text whose promise is broken, or that breaks a rule, is broken, whoever cannot read it."""
    content = PLANS["bits"].to_json()
    change(content)
    [finding] = exact(None, json.dumps(content))
    assert finding.verdict == BROKEN
    assert said in finding.said


def changed_weights(change: Callable[[Any, Any, Any], Any]) -> type[guided.Perturbation]:
    """Return the client with other weights of bits."""

    class Faulty(guided.Perturbation):
        def weights(self, raw_positions: Any) -> Any:
            weights, clipped = super().weights(raw_positions)
            return change(weights, raw_positions, self.total), clipped

    return Faulty


def unmixed(weights: Any, _raw: Any, total: int) -> Any:
    """Return weights that are a little nearer to the ends."""
    return np.clip(weights + np.where(2 * weights > total, 1, -1) * (total >> 20), 0, total)


FAULTS: dict[str, Any] = {
    "one weight is off by one": lambda w, raw, total: w + ((w < total) & (np.arange(w.shape[1]) == 2)),
    "a value of one attribute shows in another's bit": lambda w, raw, total: np.where(
        (np.arange(w.shape[1]) == 0) & (raw[:, 1:2] == 1), total // 3, w
    ),
    "less is mixed in": unmixed,
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", PLANS)
def test_faults_in_weights_are_found(monkeypatch: pytest.MonkeyPatch, name: str, fault: str) -> None:
    """A weight that is wrong by the least amount is found by walking every draw, and by words."""
    monkeypatch.setattr(exact_tables, "Perturbation", changed_weights(FAULTS[fault]))
    found = verdicts(exact(PLANS[name]))
    assert found["client, every draw"] == BROKEN
    assert found["client, whole tuples"] == BROKEN


def test_a_missing_value_that_is_not_uniform_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that takes the first value for a missing one is found."""

    class Faulty(guided.Perturbation):
        def release(self, raw_positions: Any, entropy: Any) -> Any:
            known = [0 if value == size else value for value, size in zip(raw_positions, self.plan.sizes, strict=True)]
            return super().release(known, entropy)

    monkeypatch.setattr(exact_tables, "Perturbation", Faulty)
    found = verdicts(exact(PLANS["plain"]))
    assert (found["client, every draw"], found["client, whole tuples"]) == (BROKEN, BROKEN)


def test_a_bulk_client_that_differs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bulk client that moves one bit is found by words."""

    class Faulty(TupleRandomizer):
        def randomize(self, *given: Any) -> Any:
            bits, clipped = super().randomize(*given)
            return np.roll(bits, 1, axis=1), clipped

    monkeypatch.setattr(exact_tables, "TupleRandomizer", Faulty)
    found = verdicts(exact(PLANS["bits"]))
    assert found["client, whole tuples"] == BROKEN
    assert found["client, every draw"] == CONSISTENT


def test_too_few_coins_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that mixes one step less than γ needs is found from guidance alone."""
    monkeypatch.setattr(auditor, "coin_of", lambda guidance, plan: max(0, coin_of(guidance, plan) - 1))
    assert verdicts(exact(PLANS["bits"]))["coins"] == BROKEN


def test_a_wrong_amplification_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that reads a smaller γ from the plan is found from the text."""
    monkeypatch.setattr(BitMix, "amplification", lambda self, tuples: self.limit / 2)
    plan = GuidedPlan.parse(PLANS["bits"].canonical_json)
    assert verdicts(exact(plan))["amplification"] == BROKEN


# ---- black boxes


class Changed:
    """Our bulk client, its reports changed."""

    def __init__(self, plan: GuidedPlan, change: Callable[[Any, Any, Any], Any], entropy: Any = None) -> None:
        self._plan, self._change = plan, change
        self._box = BulkTuples(plan, entropy or SeededEntropy(11))

    def reports(self, batches: Any) -> Any:
        """Yield the changed reports."""
        for asked in batches:
            [answers] = list(self._box.reports([asked]))
            yield type(answers).of_packed(self._change(answers.octets.copy(), asked, self._plan))


def judged(plan: GuidedPlan, box: Any, trials: int = 60_000) -> dict[str, str]:
    """Return the verdicts of a black box under fixed guidance."""
    numbers = read_guided(plan.canonical_json)
    guidances = exact_tables.tried(plan, np.random.default_rng(3))
    found = audit_form(plan, guidances, box)
    return verdicts(found + audit_laws(plan, numbers, guidances, box, trials=trials, false_alarm=1e-6))


@pytest.mark.parametrize("name", PLANS)
def test_honest_black_boxes_pass(name: str) -> None:
    """Both clients show the plan's laws."""
    plan = PLANS[name]
    wanted = dict.fromkeys(("answers", "bits", "pairs", "repeats"), CONSISTENT)
    assert judged(plan, BulkTuples(plan, SeededEntropy(1))) == wanted
    assert judged(plan, SingleTuples(plan, SeededEntropy(2)), 800) == wanted


def flip_some(packed: Any, _asked: Any, _plan: Any) -> Any:
    """Set the first bit a little more often."""
    packed[::20, -1] |= 1
    return packed


def repeat_some(packed: Any, asked: Any, _plan: Any) -> Any:
    """Give the second half of the answers the first half's bits."""
    half = len(packed) // 2
    packed[half : 2 * half, 5:] = packed[:half, 5:]
    return packed


def tie_bits(packed: Any, _asked: Any, _plan: Any) -> Any:
    """Deal the other bits of each record's reports out in order of the first bit: they are then no longer apart."""
    first = packed[:, -1] & 1
    for start in range(4):
        mine = np.arange(start, len(packed), 4)
        rest = np.sort(packed[mine, -1] >> 1)
        packed[mine[np.argsort(first[mine], kind="stable")], -1] = np.sort(first[mine]) | rest << 1
    return packed


@pytest.mark.parametrize(("change", "law"), [(flip_some, "bits"), (repeat_some, "repeats"), (tie_bits, "pairs")])
def test_faulty_black_boxes_are_found(change: Any, law: str) -> None:
    """A bit set too often, reports given twice, and bits that go together are found by their laws."""
    assert judged(PLANS["bits"], Changed(PLANS["bits"], change))[law] == BROKEN


def other_class(packed: Any, _asked: Any, _plan: Any) -> Any:
    """Name another class."""
    packed[:, 4] ^= 1
    return packed


@pytest.mark.parametrize(
    "change", [other_class, lambda packed, _a, _p: packed[:-1], lambda packed, _a, _p: packed[:, 1:]]
)
def test_answers_of_another_form_are_found(change: Any) -> None:
    """Another class, too few answers, and answers too short are refused."""
    with pytest.raises(WireError):
        judged(PLANS["plain"], Changed(PLANS["plain"], change))


PROGRAM = """
import json, sys
from assocpriv.client.ledger import make_report, parse_record
from assocpriv.promise.entropy import SystemEntropy
from assocpriv.files.plans import read_plan
plan = read_plan(sys.argv[-1])
for line in sys.stdin.buffer:
    print(make_report(parse_record(line, plan), plan, entropy=SystemEntropy()).hex())
"""


def test_programs_are_audited(tmp_path: Path) -> None:
    """Any program that reads records with their guidance is audited as a black box, by its reports alone."""
    write_plan(PLANS["bits"], tmp_path / "p.json")
    found = audit_plan(tmp_path / "p.json", program=[sys.executable, "-c", PROGRAM], trials=1000, confidence="99.9999%")
    assert not found.is_broken
    assert {finding.client for finding in found.findings if finding.depth != "exact"} == {"program"}
    wrong = PROGRAM.replace(".hex())", ".hex().replace('0', '1', 1))")  # other guidance
    found = audit_plan(tmp_path / "p.json", program=[sys.executable, "-c", wrong], depth="conformance")
    assert found.is_broken
