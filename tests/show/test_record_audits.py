"""Simulations, inspections, audits and suppressions give the same content as text, JSON and HTML."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from naive import planned
from shown import check

import assocpriv as ap
from assocpriv.auditing.audit import Audit
from assocpriv.auditing.findings import AuditRequest, Finding
from assocpriv.server.baskets.manipulation import ManipulationCheck, ManipulationTest
from assocpriv.show import audit_views, suppression_views
from assocpriv.show.result_pages import fragment
from assocpriv.show.result_record import Record

PLAN = planned(6, 2, ap.Guarantee("5%", "50%"))
BASKETS = [["0", "1"], ["1", "2", "3"], ["0", "1"], ["4"]] * 800


pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def test_a_simulation() -> None:
    """Itemsets with true supports, missed itemsets, counts, and a note on truncated baskets."""
    done = ap.simulate(BASKETS, PLAN, min_support="20%", seed=1)
    missed = done.itemsets.head(3)[["itemsets", "true_support"]]
    record = audit_views.simulated(replace(done, missed=missed), 2)
    output = check(record)
    assert f"{done.found_count + 3} itemsets truly frequent: {done.found_count} selected, 3 missed" in output
    assert "… and 1 more" in output
    assert "time: randomize " in output
    assert "truly frequent" in done._repr_html_()
    assert "800 of 3,200 baskets have more than 2 items" in check(Record(record.content, record.notes))


def test_a_demo(tmp_path: Path) -> None:
    """Baskets and plan before it runs; itemsets, rules with true confidences, times and files after."""
    settings = ap.simulation.DemoSettings(None, 2000, 20, ap.Guarantee("5%", "50%"), "10%", seed=1)
    start = ap.simulation.start_demo(settings, tmp_path, force=False, progress=lambda *_: None)
    assert check(audit_views.demo_start(start)).startswith("2,000 baskets over 20 items, ")
    record = audit_views.demo(start.finish(lambda *_: None), 5)
    output = check(record)
    assert "truly frequent" in output
    assert "rules selected with a confidence of at least 50%" in output
    assert output.splitlines()[-1].startswith("files: ")
    assert {"itemsets", "rules", "plan", "files", "missed"} <= set(record.to_json())


def test_inspections(tmp_path: Path) -> None:
    """A file of each kind is described."""
    reports = ap.randomize(BASKETS, PLAN)
    reports.write(tmp_path / "r.parquet")
    ap.write_plan(PLAN, tmp_path / "p.json")
    ap.write_itemsets(ap.mine(reports, "20%"), tmp_path / "i.csv")
    for name, kind in (("r.parquet", "reports"), ("p.json", "plan"), ("i.csv", "itemsets")):
        found = audit_views.inspected(ap.inspect(tmp_path / name), 1000)
        assert found.to_json()["kind"] == kind
        assert PLAN.plan_id[:16] in check(found)
    tested = audit_views.inspected(ap.inspect(tmp_path / "r.parquet", check_manipulation=True), 1000)
    assert check(tested).startswith("3,200 reports in 1 file, all complete and valid for the plan")
    assert not tested.to_json()["manipulation"]["flagged"]


def test_manipulated_reports() -> None:
    """The verdict, the false-alarm probability, and each test with its p-value; flags are marked."""
    tests = (
        ManipulationTest("repeats", "9 repeat an earlier one", 1e-9, True),
        ManipulationTest("sizes", "as honest ones", 1.0, False),
    )
    output = check(audit_views.manipulation(audit_views.manipulation_content(ManipulationCheck(tests, 0.001))))
    assert output.startswith(
        "some of these reports were probably not made by the plan's clients (marked !); the false-"
    )
    assert "false-alarm probability is at most 0.1%" in output
    assert "1e-09  !  repeats: 9 repeat an earlier one" in output


def test_an_audit() -> None:
    """The verdict on the plan, the request, and the findings, broken ones first, limited in number."""
    good, left = Finding("guarantee", "amplification", "consistent", "γ is 18.9."), "not decided"
    findings = (good, Finding("distributions", "lags", left, "It took 3 minutes.", client="bulk"),
                Finding("form", "form", "broken", "Byte 7 is 0.", client="program"))  # fmt: skip
    done = Audit(AuditRequest(trials=1234), PLAN, findings)
    output = check(audit_views.audit(done))
    assert output.startswith(f"broken, 1 check not made: plan {PLAN.plan_id}, ε ≤ ")
    assert "at most 1,234 reports per client, false-alarm probability at most 0.1%" in output
    assert [line.split()[0] for line in output.splitlines()[-3:]] == ["broken", "not", "consistent"]
    assert "… and 2 more" in check(audit_views.audit(done, 1))
    assert check(audit_views.audit(Audit(AuditRequest(), None, (good,)))).startswith("consistent: no usable plan")
    assert "Byte 7 is 0." in done._repr_html_()


# ---- suppressions

CELLS = pd.DataFrame(
    [("cook", 30, "bad", "no")] * 4 + [("<b>", 41, "good", "no")] * 6 + [("<b>", 52, "bad", "yes")] * 5
    + [(None, 27, "good", "no")] * 3,
    columns=["job", "age", "rating", "debt"],
)  # fmt: skip
OF_CELLS = [
    {"channel": ["job", "age"], "sensitive": {"debt": ["yes"]}, "confidence": "45%"},
    {"channel": ["job"], "sensitive": {"debt": ["yes"]}, "confidence": "45%"},
]
SUPPRESSED = [["tea", "<i>", "milk"]] * 2 + [["tea", "milk"], ["tea"], ["<i>"], ["bread"], ["bread"], ["bread", "milk"]]
OF_ITEMS = [{"channel": ["tea", "<i>"], "sensitive": ["milk"], "confidence": "60%"}]


def cells(**options: Any) -> dict[str, Any]:
    """Return the report of a released table."""
    _, done = ap.suppress.suppress(CELLS, OF_CELLS, columns=4, **options)
    return ap.suppress.record(done)


def test_a_check_lists_inferences_above_their_bounds() -> None:
    """The highest confidence first, with the number of records; also for baskets; or a note that none is above."""
    output = check(suppression_views.check(ap.suppress.record(ap.suppress.check(CELLS, OF_CELLS, columns=4))))
    assert "bins        age: " in output
    assert output.index(" 100.0%      45%        5  job = <b>, age =") < output.index(
        "  45.5%      45%       11  job = <b> →"
    )
    found = ap.suppress.record(ap.suppress.check(SUPPRESSED, OF_ITEMS))
    assert "100.0%      60%        2  <i> = yes, tea = yes → milk = yes" in check(suppression_views.check(found))
    passed = ap.suppress.record(ap.suppress.check(SUPPRESSED[-2:], [OF_ITEMS[0] | {"channel": ["bread"]}]))
    assert "no inference is above its bound" in check(suppression_views.check(passed))


@pytest.mark.parametrize("name", ["cells", "items"])
def test_a_release_shows_hidden_cells_and_method(name: str) -> None:
    """Hidden cells by column or item, and tests; the page is marked for the owner; names are escaped."""
    content = ap.suppress.record(ap.suppress.suppress(SUPPRESSED, OF_ITEMS)[1]) if name == "items" else cells()
    output = check(suppression_views.release(content, Path("out.csv")))
    assert "written to out.csv" in output
    page = suppression_views.page(content)
    check(page)
    shown = str(fragment(page))
    for each in content["cells"]:
        assert each in output
    assert "1 test" in output or " tests, " in output
    assert "It is for the owner" in shown
    assert "It is for the owner" not in output
    assert not any(tag in shown for tag in ("<b>", "<i>", "<script"))


def test_long_lists_are_cut() -> None:
    """A page of few rows states how many are left out."""
    assert "… and 1 more" in check(suppression_views.page(cells(), rows=1))
