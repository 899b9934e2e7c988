"""The test vectors of both clients; clients/js/test/vectors has the tests of JavaScript."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from command_line import VECTORS

from assocpriv import audit
from assocpriv.auditing.findings import BROKEN
from assocpriv.auditing.recompute_guarantee import check_integers, read_numbers
from assocpriv.client.baskets.one_basket import transaction_of
from assocpriv.client.baskets.transactions import transactions_of_many
from assocpriv.files.plan_files import read_plan
from assocpriv.guarantees.errors import BasketError, PlanError, WireError
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.published_plan import pack_reports
from assocpriv.records.layout import ReadOptions
from tests.vectors import make_vectors

LARGEST_FILE = 200_000
PLANS = json.loads((VECTORS / "plans.json").read_text(encoding="ascii"))
REPORTS = json.loads((VECTORS / "reports.json").read_text(encoding="ascii"))
PLAN_OF = {entry["name"]: entry["plan"] for entry in PLANS["plans"]}


def label(entry: dict[str, Any]) -> str:
    """Return the name of a vector in pytest's output."""
    return " ".join(str(entry[key]) for key in ("name", "plan", "case", "breaks") if isinstance(entry.get(key), str))


def ids_of(names: Iterable[str], plan: Plan, unknown: str = "error") -> list[int]:
    """Return the transaction of a basket by the bulk client."""
    transactions, _ = transactions_of_many([list(names)], plan, ReadOptions(unknown=unknown, empty="keep"))
    return transactions.items.tolist()


def test_vectors_are_up_to_date() -> None:
    """Running make_vectors.py gives the stored bytes."""
    for name, text in make_vectors.make_all().items():
        assert (VECTORS / name).read_bytes() == text.encode("ascii"), f"run tests/vectors/make_vectors.py: {name}"
        assert len(text) < LARGEST_FILE


def test_plans_keep_their_ids() -> None:
    """New releases keep the ids of the first eleven plans."""
    ids = "".join(entry["id"] for entry in PLANS["plans"][:11])
    assert hashlib.sha256(ids.encode()).hexdigest()[:16] == "5408101eeff9b40a"


@pytest.mark.parametrize("entry", PLANS["other_texts"], ids=lambda entry: entry["id"][:8])
def test_other_layouts_have_the_same_id(entry: dict[str, Any]) -> None:
    """A plan in another layout has the id of its canonical form."""
    assert Plan.parse(entry["text"]).plan_id == entry["id"]
    assert entry["id"] in {known["id"] for known in PLANS["plans"]}


@pytest.mark.parametrize("entry", PLANS["refused"], ids=label)
def test_bad_plan_is_refused(entry: dict[str, Any]) -> None:
    """Every bad plan is refused, texts and guarantees of a bad form by the audit's own parser, too."""
    text = entry["text"] if "text" in entry else json.dumps(entry["plan"])
    with pytest.raises(PlanError):
        Plan.parse(text)
    if "text" in entry or "is written" in entry["breaks"] or "posterior" in entry["breaks"]:
        with pytest.raises(PlanError):
            read_numbers(text)


def test_fields_that_are_too_large_are_found_by_the_audit() -> None:
    """The audit finds every field that is larger than necessary, before it enumerates its elements."""
    found = [(entry["breaks"], entry.get("plan")) for entry in PLANS["refused"] if "field" in entry["breaks"]]
    large = [plan for breaks, plan in found if "must" in breaks or "field of the most elements" in breaks]
    assert len(large) == 3
    for plan in large:
        found = {finding.name: finding for finding in check_integers(json.dumps(plan))}
        assert found["field"].verdict == BROKEN
        assert "suffice; clients refuse the plan" in found["field"].message
    for plan in PLAN_OF.values():
        assert all("suffice" not in finding.message for finding in check_integers(json.dumps(plan)))


def test_a_plan_file_with_a_byte_order_mark_is_refused(tmp_path: Path) -> None:
    """A byte order mark before the JSON is refused with the remedy, also by the audit."""
    path = tmp_path / "plan.json"
    text = json.dumps(PLANS["plans"][1]["plan"])
    path.write_text(text, encoding="utf-8-sig")
    with pytest.raises(PlanError, match=r"byte order mark; save it as UTF-8 without one"):
        read_plan(path)
    with pytest.raises(PlanError, match="byte order mark"):
        audit(path)
    path.write_text(text, encoding="utf-8")
    assert read_plan(path).plan_id == PLANS["plans"][1]["id"]


def test_vectors_show_kept_items_and_hide_dropped_ones() -> None:
    """Every vector's report shows its kept items and none of its dropped ones."""
    for entry in REPORTS["reports"]:
        for place, item in enumerate(entry["fitted"]):
            assert (item in entry["shows"]) == bool(entry["kept_mask"] >> place & 1), label(entry)


@pytest.mark.parametrize("entry", REPORTS["refused"], ids=label)
def test_bad_report_is_refused(entry: dict[str, Any]) -> None:
    """Every bad report is refused, alone and among others."""
    report, plan = bytes.fromhex(entry["report"]), Plan.from_json(PLAN_OF[entry["plan"]])
    with pytest.raises(WireError):
        plan.unpack_report(report)
    with pytest.raises(WireError, match="report 0"):
        pack_reports([report], plan)


@pytest.mark.parametrize("entry", REPORTS["decoded"], ids=lambda entry: f"{entry['plan']} {entry['report'][:8]}")
def test_reports_show_the_items_of_the_vectors(entry: dict[str, Any]) -> None:
    """The smallest and largest reports of a plan show the items of the vector."""
    report, plan = bytes.fromhex(entry["report"]), Plan.from_json(PLAN_OF[entry["plan"]])
    report_type, response = plan.unpack_report(report)
    found = plan.report_types.index(report_type), sorted(report_type.form.items(response))
    assert found == (entry["report_type"], entry["shows"])
    assert pack_reports([report], plan).tobytes() == report


@pytest.mark.parametrize("entry", REPORTS["baskets"], ids=label)
def test_baskets_become_the_transactions(entry: dict[str, Any]) -> None:
    """A basket of names becomes the vector's transaction, in bulk, and alone if no name is dropped."""
    names, plan = entry["names"], Plan.from_json(PLAN_OF[entry["plan"]])
    assert ids_of(names, plan, entry["unknown"]) == entry["transaction"]
    if entry["unknown"] != "drop":
        assert transaction_of(names, plan) == entry["transaction"]
    else:
        with pytest.raises(BasketError):
            transaction_of(names, plan)


@pytest.mark.parametrize("entry", REPORTS["refused_baskets"], ids=label)
def test_bad_basket_is_refused(entry: dict[str, Any]) -> None:
    """Every bad basket is refused, alone and in bulk."""
    for read in (transaction_of, ids_of):
        with pytest.raises(BasketError):
            read(entry["names"], Plan.from_json(PLAN_OF[entry["plan"]]))
