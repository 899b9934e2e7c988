"""Commands on a collection in two rounds: its plans, its folder, and its reports."""

from pathlib import Path

import pytest
from command_line import GUARANTEE, run, run_json


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with baskets, the plan of a first round, and the folder ``two`` with both rounds."""
    folder = tmp_path_factory.mktemp("shop")
    run("generate", "quest", "--people", 4000, "--items", 60, "--mean-size", 8, "-o", folder / "b.dat")
    run("plan", "--items", 60, *GUARANTEE, "--people", 4000, "-o", folder / "plan.json")
    run("randomize", folder / "b.dat", "--plan", folder / "plan.json", "--rounds", 2, "-o", folder / "two")
    return folder


def test_each_round_states_its_truncation_loss(shop: Path, tmp_path: Path) -> None:
    """Half of the baskets are cut to M of the first plan, half to M of the second."""
    asked = [shop / "b.dat", "--plan", shop / "plan.json", "--rounds", 2]
    randomized = run("randomize", *asked, "-o", tmp_path / "two").stderr
    for notes in (randomized, run("simulate", *asked).stderr):
        for name in ("round 1: ", "round 2, of its own items: "):
            assert "of 2,000 baskets" in next(line for line in notes.splitlines() if line.startswith(name))
        assert "of 4,000 baskets" not in notes
    for record in (run_json("randomize", *asked, "-o", tmp_path / "json"), run_json("simulate", *asked)):
        assert [[*loss["expected_support_lost"]] for loss in record["losses"]] == [["1"], ["1", "2", "3"]]
        assert "expected_support_lost" not in record
        lost = sum(loss["truncated_baskets"] for loss in record["losses"])
        assert record.get("truncated_baskets", lost) == lost > 0
