"""Tests that the operator's page reads the real output of the package's commands, here run in this process."""

import re
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from running_collector import Visitor
from shown import PLAN, Collection, basic, reports

import assocpriv as ap
from assocpriv import numeric
from assocpriv.cli.main import main
from assocpriv.guarantees.errors import AssocprivError
from assocpriv.pages import collector_page
from assocpriv.plans.published_plan import PublishedPlan


@pytest.fixture(autouse=True)
def commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run commands without a process of their own."""

    async def run(arguments: list[str], seconds: float) -> bytes:
        done = CliRunner().invoke(main, arguments)
        if done.exit_code:
            raise AssocprivError(done.stderr)
        return done.stdout_bytes

    monkeypatch.setattr(collector_page, "run_command", run)


def pages_of(folder: Path, plan: PublishedPlan, found: ap.Reports, *paths: str) -> list[str]:
    """Return pages of a collection of reports, once they are computed."""
    found.write(folder / "0123456789abcdef.parquet")
    with Visitor(Collection(folder, plan, len(found)).page(), authorization=basic()) as visitor:
        return [visitor.get_computed(path).text for path in paths]


def test_a_collection_of_baskets(tmp_path: Path) -> None:
    """The pair with a support of 60% is selected, its rule is shown; a support of 0.1% needs more reports."""
    now, wanted = pages_of(tmp_path, PLAN, reports(), "/admin", "/admin?support=0.1%25")
    assert "<h1>3,000 reports</h1>" in now
    assert re.search(r"<bdi>1</bdi>, <bdi>2</bdi><td class=\"number\">[56]\d\.\d\d%", now)
    assert re.search(r"<bdi>1</bdi> → <bdi>2</bdi><td", now)
    assert "No test flags these reports as manipulated" in now
    assert "3,000 reports: below 5,000" in now
    needed = ap.planning.reports_to_detect(PLAN, "0.1%")
    assert all(f">{needed[size]:,}" in wanted for size in (1, 2))
    assert "When: not yet known." in wanted


def test_a_collection_of_records(tmp_path: Path) -> None:
    """Columns of a table are shown with their means and shares."""
    columns = {
        "age": {"kind": "number", "low": 0, "high": 100, "release": "uniform", "privacy": "50%"},
        "<b>": {"kind": "category", "values": ["north", "south"], "release": "response"},
    }
    plan = numeric.plan_table({"columns": columns}, guarantee=ap.Guarantee("5%", "50%"))
    people = {"age": [30.0, 50.0] * 500, "<b>": ["north"] * 1000}
    [page] = pages_of(tmp_path, plan, ap.randomize(pd.DataFrame(people), plan), "/admin")
    assert all(f"<bdi>{name}</bdi>" in page for name in ("age", "&lt;b&gt;"))
    assert "north" in page
    assert "style=" not in page
