"""Tests that the operator's page reads what the package's commands really say, here run in this process."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from asgi import Visitor
from click.testing import CliRunner
from command_line import make_baskets
from operator_page import TOKEN, Collection
from planned import planned

import assocpriv as ap
from assocpriv import numeric
from assocpriv.cli.main import main
from assocpriv.client.bulk import randomize_chunks
from assocpriv.pages import operator
from assocpriv.plans.published import PublishedPlan
from assocpriv.simulation.enumeration import SeededEntropy


@pytest.fixture(autouse=True)
def commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run commands without a process of their own."""

    async def run(arguments: list[str], seconds: float) -> dict[str, Any] | str:
        done = CliRunner().invoke(main, [*arguments, "--json"])
        return operator._read(done.exit_code, done.stdout_bytes, done.stderr_bytes)

    for module in (operator, operator):
        monkeypatch.setattr(module, "run_command", run)


def pages_of(folder: Path, plan: PublishedPlan, reports: ap.Reports, *paths: str) -> list[str]:
    """Return pages of a collection of reports, once they are computed."""
    reports.write(folder / "0123456789abcdef.parquet")
    with Visitor(Collection(folder, plan, len(reports)).page()) as visitor:
        form = re.findall(r'name="form" value="([0-9a-f]{64})"', visitor.get("/admin").text)[0]
        visitor.post("/admin/login", {"form": form, "token": TOKEN})
        return [visitor.get_computed(path).text for path in paths]


def test_a_collection_of_baskets(tmp_path: Path) -> None:
    """The pair that 60% have is listed, its rule and the next round are shown; all of 0.1% takes more reports."""
    plan = planned(items=12, transaction_size=3, promise=ap.Breach("5%", "50%"))
    baskets = ap.Baskets.from_sets(make_baskets(), plan.catalogue)
    chunks = randomize_chunks(baskets, plan, entropy=SeededEntropy(1))
    reports = ap.Reports(plan, np.concatenate([chunk.packed for chunk in chunks]))
    now, wanted, following = pages_of(
        tmp_path, plan, reports, "/admin", "/admin?support=0.1%25", "/admin/round?support=auto&people=9000"
    )
    assert "<h1>3,000 reports</h1>" in now
    assert re.search(r"<bdi>1</bdi>, <bdi>2</bdi><td>2<td>[56]\d\.\d\d%<td>.*<td>yes\n", now)
    assert re.search(r"<td><bdi>1</bdi><td><bdi>2</bdi><td>", now)
    assert "Nothing speaks against these reports" in now
    needed = ap.reports_to_discover(plan, "0.1%")
    assert f"single items {needed[1]:,} reports, pairs {needed[2]:,} reports" in wanted
    assert "3,000 reports tell little" in now
    assert "Asks 9,000 people about" in following


def test_a_collection_of_records(tmp_path: Path) -> None:
    """Columns of a table are shown with their means and shares."""
    columns = {
        "age": {"kind": "number", "low": 0, "high": 100, "release": "uniform", "privacy": "50%"},
        "town": {"kind": "category", "values": ["north", "south"], "release": "response"},
    }
    plan = numeric.plan_table({"columns": columns}, promise=ap.Breach("5%", "50%"))
    people = {"age": [30.0, 50.0] * 500, "town": ["north"] * 1000}
    [page] = pages_of(tmp_path, plan, ap.randomize(pd.DataFrame(people), plan), "/admin")
    assert re.search(r"<bdi>age</bdi></th><td class=\"number\">[34]\d(\.\d+)?</td>", page)  # ± 0.8
    assert re.search(r"<bdi>north: \d+\.\d\d%</bdi>", page)
