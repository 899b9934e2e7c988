"""Devices in both languages with several reports each, through a relay, while collector and relay are killed."""

from dataclasses import replace
from pathlib import Path

import command_line
import pytest

import assocpriv as ap
from assocpriv.guarantees.errors import BudgetError
from bench.speed import crowd

DEVICES, OF_NODE, EACH = 24, 8, 2


@pytest.mark.slow
def test_no_report_is_lost_or_duplicated_and_data_stay_separate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two reports per person: 48 arrive once, as one readable batch, and no party holds identifying or report data."""
    command_line.tools()
    made = ap.plan(5, central=(4, "1e-3"), reports=DEVICES * EACH, reports_per_person=EACH)
    plan = replace(made, central=replace(made.central, delay=3))
    baskets = [["1", "2"] if number % 2 else ["3"] for number in range(DEVICES)]
    monkeypatch.chdir(Path(__file__).parents[2])
    result = crowd.run(tmp_path, plan, baskets, of_node=OF_NODE, every=2.0)
    assert result["killed"] > 0
    assert {name: result[name] for name in ("reports", "lost", "foreign", "doubled", "closed", "read")} == {
        "reports": 48, "lost": 0, "foreign": 0, "doubled": 0, "closed": 48, "read": 48,
    }  # fmt: skip
    assert result["collector_has"] == result["relay_has"] == []
    assert result["relay_has_of_reports"] == result["relay_files"] == 0
    with pytest.warns(UserWarning, match="48 reports: below 5,000"):
        assert len(ap.mine(tmp_path / "collector" / "data", top=3)) >= 3
    proved = ap.privacy(plan)
    assert proved.together.reports == EACH
    assert proved.central.epsilon <= 4
    with ap.device.Ledger.open(tmp_path / "python" / "0.bin") as ledger, pytest.raises(BudgetError):
        ledger.report(["1"], plan, period="a third")
