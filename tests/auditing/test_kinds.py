"""Which auditor judges which kind of plan, and who is blamed for what fails."""

import json
from dataclasses import replace
from pathlib import Path

import faults
import pytest

from assocpriv import audit
from assocpriv.auditing import audit as kinds
from assocpriv.auditing import exact_draws, exact_walk
from assocpriv.auditing.bounds import audit_client, audit_conformance
from assocpriv.auditing.counts import Tallies
from assocpriv.auditing.findings import BROKEN, CONSISTENT, AuditRequest, Finding
from assocpriv.plans import kind as registry
from assocpriv.promise.errors import PlanError


def audit_answers(plan, text, request, progress):
    """Audit a plan of a kind that is nobody's."""
    return [Finding(request.depth, "answer", CONSISTENT, json.loads(text)["question"])]


def test_another_kind_takes_an_entry(monkeypatch):
    """A kind that the registry names is judged by its auditor alone, loaded when a text of that kind is audited."""
    monkeypatch.setitem(registry.KINDS, "answer", {"auditing.audit": "tests.auditing.test_kinds:audit_answers"})
    text = json.dumps({"kind": "answer", "question": "Do you agree?"})
    assert kinds.audit(None, text, AuditRequest("exact")) == [Finding("exact", "answer", CONSISTENT, "Do you agree?")]


def test_what_is_no_plan():
    """None, or anything else, is a TypeError that says what a plan is."""
    with pytest.raises(TypeError, match="read_plan reads one from a file"):
        audit(None)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": 5}', '{"kind": "unknown"}', "[" * 100_000])
def test_a_text_of_no_known_kind_is_broken(text):
    """What names no kind that is known is broken, and no client is run."""
    found = kinds.audit(None, text, AuditRequest())
    assert {finding.name for finding in found if finding.verdict == BROKEN} == {"plan text", "accepted by clients"}


def test_every_kind_of_baskets_has_its_auditor():
    """All plans are judged by the auditor of their kind, in every depth, and each client shares the false alarms."""
    plan = faults.PLANS["fixed-size"]
    stages = set()
    request = AuditRequest(trials=1000, confidence="99.9999%")
    found = kinds.audit(plan, plan.canonical_json, request, lambda stage, *_: stages.add(stage))
    assert {(finding.depth, finding.client) for finding in found} == {
        ("exact", ""), *((depth, client) for depth in ("conformance", "empirical") for client in ("bulk", "single"))
    }  # fmt: skip
    rates = {finding.client: 0.0 for finding in found if finding.client}
    for finding in found:
        if finding.client:
            rates[finding.client] += finding.figures.get("false_alarm", 0)
    assert rates == {client: pytest.approx(5e-7) for client in ("bulk", "single")}
    assert {"exact", "form", "testing"} <= stages


def test_a_plan_file_is_read_once(monkeypatch):
    """What clients are judged by is the text that is judged itself, whatever the file holds by then."""
    text = faults.PLANS["fixed-size"].canonical_json
    monkeypatch.setattr(kinds, "read_plan_text", lambda _path: text)
    found = kinds.audit_file(Path("no such file"), AuditRequest("conformance"))
    assert (found.verdict, found.plan) == (CONSISTENT, faults.PLANS["fixed-size"])


def test_a_request_is_checked():
    """What an audit cannot use is refused before it begins."""
    for wrong in ({"trials": 999}, {"confidence": "20%"}, {"confidence": "sure"}):
        with pytest.raises(PlanError):
            AuditRequest(**wrong)
    assert replace(AuditRequest(), depth="empirical").depths == ("empirical",)


def test_the_audits_own_failure_is_not_the_clients(monkeypatch):
    """What the audit's own code raises is said to be its own, and what a client raises the client's."""
    plan = faults.PLANS["bch"]

    def failing(*given):
        raise ZeroDivisionError("canary")

    box = faults.Single(lambda plan: faults.Failing(plan, error=OverflowError), plan)
    for found in (audit_client(plan, box, trials=1000), audit_conformance(plan, box)):
        assert [finding.said[:37] for finding in found] == ["The client failed with OverflowError "]
    monkeypatch.setattr(Tallies, "_add", failing)
    [finding] = audit_client(plan, trials=1000)
    assert (finding.verdict, finding.said[:62]) == (
        BROKEN,
        "This audit itself, not the client, failed with ZeroDivisionErr",
    )
    monkeypatch.setattr(exact_draws, "check_kept", failing)
    found = exact_walk.audit_exact(plan, work=3000)
    assert [f.name for f in found if "This audit itself" in f.said] == ["client, every draw", "client, kept items"]
    assert "canary" not in str(found) + str(finding)
