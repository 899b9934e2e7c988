"""Commands on a collection in two rounds: its plans, its folder, and its reports."""

from pathlib import Path

import pytest
from command_line import DOCS, GUARANTEE, refused, refused_without_output, run, run_json

from assocpriv.files.report_files import group_by_plan


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
        assert "expected_support_lost" not in record
        lost = sum(loss["truncated_baskets"] for loss in record["losses"])
        assert record.get("truncated_baskets", lost) == lost > 0


# ---- what a plan states


def test_the_guide_states_what_its_central_plan_prints(tmp_path: Path) -> None:
    """The example of an anonymous channel has two rounds, each proved for half of the people."""
    text = " ".join((DOCS / "choose-a-guarantee.md").read_text(encoding="utf-8").split())
    asked = "plan --items 1000 --central 1,1e-8 --people 100000"
    assert asked in text
    for options, limit, batch in ((), "98%", "50,000"), (("--rounds", 1), "99.37%", "100,000"):
        printed = run(*asked.split(), *options, "-o", tmp_path / f"{limit}.json").stdout
        assert f"5% → {limit}" in printed
        assert f"batches of {batch} reports" in printed
        assert f"5% → {limit}" in text
    assert "for batches of 50,000" in text


def test_few_reports_about_all_sizes(tmp_path: Path) -> None:
    """Three sizes that cannot be estimated are a list with one "and"."""
    text = run("plan", "--items", 30, "--epsilon", 0.5, "--people", 50, "--rounds", 1, "-o", tmp_path / "p.json").stdout
    assert "Single items, pairs and triples: 50 reports are too few" in text


def test_a_first_round_about_sizes(tmp_path: Path) -> None:
    """The first round is described as about basket sizes only if some reports are."""
    for items in (2, 60):
        text = run("plan", "--items", items, *GUARANTEE, "--people", 20000, "--force", "-o", tmp_path / "p.json").stdout
        assert "people drawn at random: single items" in text
        assert ("single items and basket sizes" in text) == (items == 60)


def test_the_correction_for_assumed_sizes_is_called_so(shop: Path) -> None:
    """An inspection states for which mean size its factor holds, as those of mine are for the estimated one."""
    text = run("inspect", shop / "two" / "first.parquet").stdout
    assert "If baskets have 6 items on average, the default assumption, the truncation correction" in text


# ---- the folder of both rounds


@pytest.mark.parametrize(
    "command", [["mine"], ["ask", "--itemset", "1,2"], ["rules", "--substitutes"]], ids=lambda command: command[0]
)
def test_a_folder_of_both_rounds_is_both_files(command: list[str], shop: Path) -> None:
    """Mining and its relatives read each plan's reports of the folder apart."""
    second = run_json("mine", shop / "two" / "second.parquet", "--top", 2)["itemsets"]
    name = ",".join(item for row in second[:2] for item in row["itemset"])
    command = [name if each == "1,2" else each for each in command]
    files = run_json(command[0], shop / "two" / "first.parquet", shop / "two" / "second.parquet", *command[1:])
    assert run_json(command[0], shop / "two", *command[1:]) == files
    assert len(files["plan_ids"]) == 2


def test_a_folder_of_one_plan_stays_a_folder(shop: Path, tmp_path: Path) -> None:
    """A folder of one plan, as a collector's, is named as it is; one of two plans stands for its files."""
    (tmp_path / "a.parquet").write_bytes((shop / "two" / "first.parquet").read_bytes())
    assert group_by_plan([tmp_path]) == [[tmp_path]]
    files = [[shop / "two" / name] for name in ("first.parquet", "second.parquet")]
    assert group_by_plan(shop / "two") == files


def test_refine_and_inspect_want_one_of_the_files(shop: Path, tmp_path: Path) -> None:
    """Refusals of the folder name the file of the first round, or say that one plan's files are needed."""
    first = shop / "two" / "first.parquet"
    assert f"give those of the first round alone: {first}" in refused("refine", shop / "two", "-o", tmp_path / "p.json")
    message = refused("inspect", shop / "two")
    assert "name the files of one plan" in message
    assert "mine" not in message
    assert "several are REPORTS" in refused("rules", first, shop / "two" / "second.parquet", status=2)
    reports = refused("privacy", first)
    assert f"if it holds reports, assocpriv inspect {first} states their guarantee" in reports


# ---- the second round


def test_sizes_of_a_second_round_are_of_its_items(shop: Path) -> None:
    """Basket sizes of a plan whose clients drop other items count the catalogue's only, which the text says."""
    first, second = (shop / "two" / name for name in ("first.parquet", "second.parquet"))
    assert "items of the catalogue (clients drop other items), estimated" in run("mine", second).stdout
    assert "items of the catalogue, estimated" in run("mine", first).stdout
    assert run("compare", first, second).stdout.count("items of its catalogue a basket") == 2


def test_a_second_round_is_no_first_one(shop: Path, tmp_path: Path) -> None:
    """The plan of a second round has no second round; refine excludes the people of both rounds before."""
    asked = [shop / "b.dat", "--plan", shop / "two" / "second-plan.json", "--rounds", 2, "--unknown", "drop"]
    for words in (["randomize", *asked, "-o", tmp_path / "no"], ["simulate", *asked]):
        assert "the first of two rounds is about single items" in refused(*words)
    assert not (tmp_path / "no").exists()
    third = run("refine", shop / "two" / "second.parquet", "-o", tmp_path / "p.json").stdout
    assert "nor of the first round if that is the plan of a second one" in third
    second = run("refine", shop / "two" / "first.parquet", "-o", tmp_path / "q.json").stdout
    assert "nor of the first round" not in second


# ---- central guarantees


@pytest.fixture(scope="module")
def channel(shop: Path) -> Path:
    """Return a folder with a central plan for 4,000 people in two rounds, and both rounds in ``two``."""
    folder = shop / "channel"
    folder.mkdir()
    run("plan", "--items", 60, "--central", "1,1e-8", "--people", 4000, "--rounds", 2, "-o", folder / "plan.json")
    run("randomize", shop / "b.dat", "--plan", folder / "plan.json", "--rounds", 2, "-o", folder / "two")
    return folder


def test_central_guarantees_add_up(channel: Path, tmp_path: Path) -> None:
    """For a person in both rounds ε and δ are those of both batches, also among other plans."""
    refined = ["refine", channel / "two" / "first.parquet", "--force", "-o", tmp_path / "p.json"]
    plans = [channel / "plan.json", channel / "two" / "second-plan.json"]
    for words in (refined, ["privacy", *plans]):
        assert run_json(*words)["central_together"] == {"epsilon": "2/1", "delta": "1/50000000"}
        assert "ε = 2, δ = 2e-8 (the sums)" in run(*words).stdout
    run("plan", "--items", 9, *GUARANTEE, "-o", tmp_path / "local.json")
    for more in (["--reports-per-person", 2], [tmp_path / "local.json"]):  # no plan covers two reports
        assert run_json("privacy", *plans, *more)["central_together"] is None
        assert "central DP" not in run("privacy", *plans, *more).stdout


def test_few_people_of_a_central_plan(channel: Path, shop: Path, tmp_path: Path) -> None:
    """With too few people for the first round the error names the plan to make, before anything is written."""
    (tmp_path / "few.dat").write_text("".join((shop / "b.dat").read_text().splitlines(keepends=True)[:3000]))
    asked = ["randomize", tmp_path / "few.dat", "--plan", channel / "plan.json", "--rounds", 2, "-o", tmp_path / "out"]
    message = refused(*asked)
    assert "1,500 of 3,000 people report in the first round, fewer than the 2,000" in message
    assert message.endswith("assocpriv plan --people 3000")
    assert not (tmp_path / "out").exists()


def test_refusals_leave_no_folder(shop: Path, tmp_path: Path) -> None:
    """A missing file, a single basket, and the name of a file for the folder leave nothing behind."""
    plan = tmp_path / "plan.json"
    plan.write_bytes((shop / "plan.json").read_bytes())
    (tmp_path / "one.dat").write_text("1 2\n")
    for baskets, output, message in (
        (tmp_path / "none.dat", tmp_path / "out", "none.dat"),
        (tmp_path / "one.dat", tmp_path / "out", "at least two baskets"),
        (shop / "b.dat", tmp_path / "out.parquet", "is the name of a file; name a folder"),
        (shop / "b.dat", plan, "is the name of a file; name a folder"),
    ):
        asked = ["randomize", baskets, "--plan", plan, "--rounds", 2, "-o", output]
        assert message in refused_without_output(tmp_path, *asked, status=None)
        assert not (tmp_path / "out").exists()
