"""Trials, inspections and audits say the same as text, JSON and HTML."""

from dataclasses import replace
from pathlib import Path

import pytest
from naive import planned
from shown import check

import assocpriv as ap
from assocpriv.auditing.audit import Audit
from assocpriv.auditing.findings import AuditRequest, Finding
from assocpriv.server.crafted import CraftedCheck, CraftedTest
from assocpriv.show import audits
from assocpriv.show.record import Record

PLAN = planned(6, 2, ap.Breach("5%", "50%"))
BASKETS = [["0", "1"], ["1", "2", "3"], ["0", "1"], ["4"]] * 800


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_simulation() -> None:
    """Finds beside the truth, what was missed, the score, and what became of the baskets."""
    done = ap.simulate(BASKETS, PLAN, min_support="20%", seed=1)
    missed = done.itemsets.head(3)[["itemsets", "true_support"]]
    record = audits.simulated(replace(done, missed=missed), 2)
    said = check(record)
    assert f"of {done.found_count + 3} itemsets truly frequent: {done.found_count} listed, 3 missed" in said
    assert "… and 1 more" in said
    assert "time: randomize " in said
    assert "truly frequent" in done._repr_html_()
    assert "800 of 3,200 baskets are longer than 2 items" in check(Record(record.content, record.notes))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_demo(tmp_path: Path) -> None:
    """Baskets and plan before it runs; finds, rules beside the truth, times and files after."""
    settings = ap.DemoSettings(None, 2000, 20, ap.Breach("5%", "50%"), "10%", seed=1)
    start = ap.start_demo(settings, tmp_path, force=False, progress=lambda *_: None)
    assert check(audits.demo_start(start)).startswith("2,000 baskets over 20 items, ")
    record = audits.demo(start.finish(lambda *_: None), 5)
    said = check(record)
    assert "truly frequent" in said
    assert "rules of a confidence of 50% or more" in said
    assert said.splitlines()[-1].startswith("files: ")
    assert {"itemsets", "rules", "plan", "files", "missed"} <= set(record.to_json())


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_inspections(tmp_path: Path) -> None:
    """Whatever a file holds says what it is."""
    reports = ap.randomize(BASKETS, PLAN)
    reports.write(tmp_path / "r.parquet")
    ap.write_plan(PLAN, tmp_path / "p.json")
    ap.write_itemsets(ap.mine(reports, "20%"), tmp_path / "i.csv")
    for name, kind in (("r.parquet", "reports"), ("p.json", "plan"), ("i.csv", "itemsets")):
        found = audits.inspected(ap.inspect(tmp_path / name), 1000)
        assert found.to_json()["kind"] == kind
        assert PLAN.plan_id[:16] in check(found)
    tested = audits.inspected(ap.inspect(tmp_path / "r.parquet", check_crafted=True), 1000)
    assert check(tested).startswith("3,200 reports in 1 file, each whole and as its plan says")
    assert not tested.to_json()["crafted"]["flagged"]


def test_crafted_reports() -> None:
    """The verdict, its false alarm, and each test with its p-value; those that flag are marked."""
    tests = (
        CraftedTest("repeats", "9 repeat an earlier one", 1e-9, True),
        CraftedTest("sizes", "as honest ones", 1.0, False),
    )
    said = check(audits.crafted(audits.crafted_content(CraftedCheck(tests, 0.001))))
    assert said.startswith("some of these reports are hardly honest; a false alarm has a chance of at most 0.1%")
    assert "1e-09  !  repeats: 9 repeat an earlier one" in said


def test_an_audit() -> None:
    """The verdict on the plan, what was asked, and findings, the broken ones first and no more than wanted."""
    good, left = Finding("promise", "amplification", "consistent", "γ is 18.9."), "not decided"
    findings = (good, Finding("laws", "law", left, "It took 3 minutes.", client="bulk"),
                Finding("laws", "form", "broken", "Byte 7 is 0.", client="program"))  # fmt: skip
    done = Audit(AuditRequest(trials=1234), PLAN, findings)
    said = check(audits.audit(done))
    assert said.startswith(f"broken, 1 check not made: plan {PLAN.plan_id}, ε ≤ ")
    assert "1,234 reports asked for at most, a false alarm with a chance of at most 0.1%" in said
    assert [line.split()[0] for line in said.splitlines()[-3:]] == ["broken", "not", "consistent"]
    assert "… and 2 more" in check(audits.audit(done, 1))
    assert check(audits.audit(Audit(AuditRequest(), None, (good,)))).startswith("consistent: no usable plan")
    assert "Byte 7 is 0." in done._repr_html_()
