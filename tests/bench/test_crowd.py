"""Devices of both languages with several reports each, behind a relay, while collector and relay are killed."""

from dataclasses import replace
from pathlib import Path

import command_line
import pytest

import assocpriv as ap
from assocpriv.promise.errors import BudgetError
from bench.speed import crowd

DEVICES, OF_NODE, EACH = 24, 8, 2


def test_nothing_is_lost_or_doubled_and_nobody_has_what_is_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two reports a person: 48 arrive once, as one batch that can be read, and no party has what names or tells one."""
    command_line.tools()
    made = ap.plan(5, central=(4, "1e-3"), reports=DEVICES * EACH, reports_per_person=EACH)
    plan = replace(made, central=replace(made.central, delay=3))
    baskets = [["1", "2"] if number % 2 else ["3"] for number in range(DEVICES)]
    monkeypatch.chdir(Path(__file__).parents[2])
    told = crowd.run(tmp_path, plan, baskets, of_node=OF_NODE, every=2.0)
    assert told["killed"] > 0
    assert {name: told[name] for name in ("reports", "lost", "foreign", "doubled", "sealed", "read")} == {
        "reports": 48, "lost": 0, "foreign": 0, "doubled": 0, "sealed": 48, "read": 48,
    }  # fmt: skip
    assert [told[name] for name in ("collector_has", "relay_has", "relay_has_of_reports", "relay_files")] == [
        [],
        [],
        0,
        0,
    ]
    with pytest.warns(UserWarning, match="48 reports tell little"):
        assert len(ap.mine(tmp_path / "collector" / "data", top=3)) >= 3
    proved = ap.privacy(plan)
    assert proved.together.reports == EACH
    assert proved.central.epsilon <= 4
    with ap.Ledger.open(tmp_path / "python" / "0.bin") as ledger, pytest.raises(BudgetError):
        ledger.report(["1"], plan, occasion="a third")
