"""Commands on a plan with blocks, as a newcomer types them: randomize, mine, rules, ask, inspect, gather."""

import json
from dataclasses import replace
from pathlib import Path

import naive
import pytest
from click.testing import CliRunner

from assocpriv.cli.main import main
from assocpriv.client.baskets import Randomizer
from assocpriv.files.plans import write_plan
from assocpriv.planning.discovery import describe_privacy, foresee
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.view import Blocks, View
from assocpriv.promise.entropy import SystemEntropy

NAMES = ["tea", "jam", "ale", "fig", "oat", "nut"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a plan of blocks of three items and reports of baskets, most with tea and jam."""
    path = tmp_path_factory.mktemp("blocks")
    write_plan(plan(), path / "plan.json")
    rows = ["tea,jam", "tea,jam,ale", "tea,jam,fig,oat", "nut", "tea,ale,fig,oat,nut,jam"] * 400
    (path / "baskets.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    randomized = run(
        "randomize", path / "baskets.csv", "--plan", path / "plan.json", "-o", path / "r.parquet", "--format", "basket"
    )
    assert randomized.exit_code == 0, randomized.stderr
    return path


def plan() -> Plan:
    """Return a plan of blocks of three items, of which three are reported."""
    inside = naive.small_plan("bch", 3, 3, 2, insert=(1, 3), shares=[1, 1, 1, 500])
    return replace(inside, catalogue=Catalogue(NAMES), view=View(blocks=Blocks(20, 2, 5)))


def run(*arguments: object):
    """Run a command."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


def test_mined_and_rules(folder: Path) -> None:
    """Text says that supports are of whole baskets and what reports are about; JSON and the table say it in fields."""
    text = run("mine", folder / "r.parquet", "--min-support", "50%", "-o", folder / "m.csv").stdout
    assert "from 2,000 reports; supports are those of whole baskets; ± error: one standard error" in text
    assert "each report is about one of 40 random blocks of 3 items" in text
    assert "which takes less than 0.25 standard errors from any support" in text
    found = json.loads(run("mine", folder / "r.parquet", "--min-support", "50%", "--json").stdout)
    assert found["version"] == 4
    assert found["meaning"] == "supports are those of whole baskets"
    assert found["blocks"]["whole_baskets"] is True
    assert len(found["blocks"]["held"]) == 4
    (pair,) = [row for row in found["itemsets"] if row["itemset"] == ["jam", "tea"]]
    assert pair["reports"] < 0.4 * 2000
    assert abs(pair["support"] - 0.8) < 5 * pair["std_error"]
    rules = run("rules", folder / "m.csv", "--min-confidence", "80%").stdout
    assert "jam → tea" in rules
    assert "supports are those of whole baskets" in rules


def test_asked_and_inspected(folder: Path) -> None:
    """Answers stand with their reports; inspect counts the reports and says what liars can do."""
    text = run("ask", folder / "r.parquet", "--itemset", "tea,jam", "--rule", "tea => jam").stdout
    assert "supports are those of whole baskets" in text
    asked = json.loads(run("ask", folder / "r.parquet", "--itemset", "tea,jam", "--json").stdout)
    assert asked["blocks"]["items"] == 6
    assert asked["itemsets"][0]["reports"] < 0.4 * 2000
    inspected = run("inspect", folder / "r.parquet")
    assert inspected.exit_code == 0
    assert "2,000 reports" in inspected.stdout


def test_single_reports_are_gathered(folder: Path, tmp_path: Path) -> None:
    """Reports of a block are taken by their length; one of a block that there is not stays, and is named."""
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    report = Randomizer(plan()).randomize([0, 1], entropy=SystemEntropy())
    (inbox / "good").write_bytes(report)
    (inbox / "bad").write_bytes(b"\xff\xff" + report[2:])
    gathered = run("gather", inbox, "--plan", folder / "plan.json", "-o", tmp_path / "all", "--json")
    assert json.loads(gathered.stdout)["gathered"] == 1
    assert [path.name for path in inbox.iterdir()] == ["bad"]


def test_bad_input(folder: Path, tmp_path: Path) -> None:
    """A histogram is refused in one line, and nothing is written."""
    for arguments in (["--histogram", folder / "m.csv"],):
        out = tmp_path / "m.json"
        refused = run("mine", folder / "r.parquet", "--min-support", "50%", "-o", out, *arguments)
        assert refused.exit_code == 1
        assert "says nothing of what a block holds" in refused.stderr
        assert len(refused.stderr.strip().splitlines()) == 1
        assert not out.exists()


def test_what_a_report_tells_is_said_of_the_block_drawn(folder: Path) -> None:
    """Information, and what a liar can show at once, are those of a block's own plan: no report shows more items."""
    asked = plan()
    told = describe_privacy(asked).information
    assert told == describe_privacy(asked.block_plan).information
    assert foresee(asked, 100).most_targets == 3
    text = run("privacy", folder / "plan.json").stdout
    assert "of one, all transactions of 3 items of the part drawn equally likely: WI " in text
