"""Table plans and guided plans against their vectors: ids and invalid inputs."""

import json
from typing import Any

import pytest
from command_line import VECTORS

from assocpriv.files.report_files import Reports
from assocpriv.guarantees.errors import PlanError, WireError
from assocpriv.plans.registry import parse_plan
from tests.vectors import make_guided, make_tables

MADE = {"tables": make_tables.make_all, "guided": make_guided.make_all}
KINDS = {name: json.loads((VECTORS / f"{name}.json").read_text(encoding="ascii")) for name in MADE}
PLANS = {entry["name"]: json.dumps(entry["plan"]) for kind in KINDS.values() for entry in kind["plans"]}


def cases(which: str) -> Any:
    """Return the vectors of both plan types."""
    entries = [entry for kind in KINDS.values() for entry in kind[which]]
    return pytest.mark.parametrize(
        "entry", entries, ids=lambda entry: f"{entry.get('plan', '')!s:.9} {entry['breaks']}"
    )


@pytest.mark.parametrize("name", KINDS)
def test_vectors_are_up_to_date(name: str) -> None:
    """The file equals the script's present output; ids do not depend on the layout."""
    assert make_tables.as_text(MADE[name]()) == make_tables.as_text(KINDS[name])
    for entry in KINDS[name]["plans"]:
        assert parse_plan(json.dumps(dict(reversed(entry["plan"].items())), indent=3)).plan_id == entry["id"]


@cases("bad_plans")
def test_bad_plans_are_refused(entry: dict[str, Any]) -> None:
    """A plan that breaks one rule is refused in one clear line."""
    with pytest.raises(PlanError) as caught:
        parse_plan(json.dumps(entry["plan"]))
    assert 20 < len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


@cases("bad_reports")
def test_bad_reports_are_refused(entry: dict[str, Any]) -> None:
    """Bytes that no client sends are refused: wrong lengths, and codes that a column does not have."""
    with pytest.raises(WireError):
        Reports.from_bytes([bytes.fromhex(entry["report"])], parse_plan(PLANS[entry["plan"]]))
