"""Tests of the command plan: what a plan says, which requests are refused, and plans of sizes alone."""

import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import (
    N_BASKETS,
    N_ITEMS,
    PLAN_ARGUMENTS,
    PROMISE,
    make_baskets,
    refused,
    refused_without_output,
    run,
    run_json,
)

from assocpriv.cli.main import main
from assocpriv.files.plans import read_plan
from assocpriv.plans.baskets import Plan


def test_plan_record(home: Path, tmp_path: Path) -> None:
    """A plan's record tells its id, its exact amplification below the promise's limit, and what it can show."""
    record = run_json(*PLAN_ARGUMENTS, "-o", tmp_path / "p.json", "--reports", 50_000)
    gamma = Fraction(record["amplification"])
    assert "/" in record["amplification"]
    assert (record["plan_kind"] == "fixed-size") == (record["default_probability"] is None)
    assert 1 < gamma < Fraction(record["amplification_limit"]) == 19
    assert 2.9 < record["epsilon"] < 2.9445
    assert re.fullmatch(r"[0-9a-f]{64}", record["plan_id"])
    assert re.fullmatch(r"[01]{4}", record["pattern"])
    assert record["code"] in ("bch", "reed-solomon", "none")
    assert (record["transaction_size"], record["reports"]) == (3, 50_000)
    assert record["report_bytes"] == -(-record["report_bits"] // 8)
    assert list(record["lowest_discoverable_support"]) == ["1", "2", "3"]
    assert all(0 < value < 1 for value in record["lowest_discoverable_support"].values())


def test_plan_is_deterministic(home: Path, tmp_path: Path) -> None:
    """Equal questions give equal plan files, byte for byte, also with 0.05 instead of 5%."""
    run(*PLAN_ARGUMENTS, "-o", tmp_path / "again.json")
    plain = ["--prior", "0.05", "--posterior", ".5"]
    run("plan", "--items", N_ITEMS, "--transaction-size", 3, *plain, "-o", tmp_path / "plain.json")
    expected = (home / "plan.json").read_bytes()
    assert (tmp_path / "again.json").read_bytes() == expected
    assert (tmp_path / "plain.json").read_bytes() == expected


def test_plan_options_matter(tmp_path: Path) -> None:
    """Each choice of a plan shows in the plan: code, pattern, target, itemset size, promise."""
    usual = run_json(*PLAN_ARGUMENTS, "-o", tmp_path / "0.json")
    independent = run_json(*PLAN_ARGUMENTS, "--kind", "independent", "-o", tmp_path / "6.json")
    none = run_json(*PLAN_ARGUMENTS, "--kind", "independent", "--code", "none", "-o", tmp_path / "1.json")
    bch = run_json(*PLAN_ARGUMENTS, "--code", "bch", "-o", tmp_path / "2.json")
    threshold = run_json(*PLAN_ARGUMENTS, "--pattern", "threshold", "-o", tmp_path / "3.json")
    pairs = run_json(*PLAN_ARGUMENTS, "--target", "singles,pairs", "--itemset-size", 2, "-o", tmp_path / "4.json")
    strict = run_json("plan", "--items", 12, "--transaction-size", 3, "--prior", "5%", "--posterior", "20%", "-o",
                      tmp_path / "5.json")  # fmt: skip
    assert (none["code"], none["report_bits"], bch["code"]) == ("none", N_ITEMS + 3, "bch")
    assert re.fullmatch("0*1*", threshold["pattern"])
    assert list(pairs["lowest_discoverable_support"]) == ["1", "2"]
    assert strict["epsilon"] < usual["epsilon"]
    assert (independent["plan_kind"], independent["report_size"]) == ("select-a-size", None)
    assert "/" in independent["default_probability"]


def test_both_figures_of_what_can_be_discovered(home: Path, tmp_path: Path) -> None:
    """Plans and answers tell the figure of one itemset, and of all of its size, which is never the lower one."""
    record = run_json(*PLAN_ARGUMENTS, "-o", tmp_path / "p.json", "--reports", 50_000)
    one, whole = record["lowest_discoverable_support"], record["level_discoverable_support"]
    assert list(one) == list(whole)
    assert all(one[k] <= whole[k] for k in one)
    shown = run(*PLAN_ARGUMENTS, "-o", tmp_path / "q.json", "--reports", 50_000).stdout
    for k, name in (("1", "single items (12)"), ("2", "pairs (66)")):
        assert re.search(f"{one[k]:.3%} +{whole[k]:.3%}  {re.escape(name)}", shown)
    question = ["ask", home / "r.parquet", "--itemset", "1", "--itemset", "2", "--rule", "1=>2"]
    answers = run_json(*question)
    names = ["lowest_discoverable_support", "asked_discoverable_support", "level_discoverable_support"]
    assert [list(answers[name]) for name in names] == [["1", "2"]] * 3
    for k in ("1", "2"):
        figures = [answers[name][k] for name in names]
        assert figures == sorted(figures)
    assert f"pairs: the lowest discoverable support is {answers[names[0]]['2']:.3%} of one" in run(*question).stdout


@pytest.mark.parametrize(
    "wrong",
    [
        "--prior=50%", "--prior=60%", "--prior=0", "--prior=abc", "--prior=nan", "--prior=1e-999999999",
        "--posterior=1", "--posterior=5%", "--transaction-size=0", "--transaction-size=16", "--transaction-size=-1",
        "--itemset-size=4", "--itemset-size=0", "--items=0", "--items=-1", f"--items={2**40}", f"--items={10**30}",
        "--reports=0", f"--reports={10**30}", "--target=foo", "--target=9", "--target=",
    ],
)  # fmt: skip
def test_bad_plan_requests(tmp_path: Path, wrong: str) -> None:
    """A plan that cannot be is refused with status 1, and no file is made."""
    refused_without_output(tmp_path, *PLAN_ARGUMENTS, wrong, "-o", tmp_path / "p.json")


@pytest.mark.parametrize(
    "wrong",
    ["--transaction-size=x", "--items=1.5", "--reports=many", "--code=new", "--pattern=new", "--catalogue=names.txt",
     "--unknown-option=1"],
)  # fmt: skip
def test_wrong_usage(tmp_path: Path, wrong: str) -> None:
    """What click itself refuses, and both --items and --catalogue, end with status 2."""
    refused_without_output(tmp_path, *PLAN_ARGUMENTS, wrong, "-o", tmp_path / "p.json", status=2)


def test_neither_items_nor_catalogue(tmp_path: Path) -> None:
    """A plan needs items."""
    refused_without_output(tmp_path, "plan", "--transaction-size", 3, *PROMISE, "-o", tmp_path / "p.json", status=2)


@pytest.mark.parametrize("content", [b"", b"milk\n\nbread\n", b"milk\nmilk\n", b"caf\xe9\n", b"a\0b\n"], ids=range(5))
def test_bad_catalogues(tmp_path: Path, content: bytes) -> None:
    """A catalogue of no names, empty, repeated or unreadable ones is refused with the line's number."""
    names = tmp_path / "names.txt"
    names.write_bytes(content)
    question = ["plan", "--catalogue", names, "--transaction-size", 3, *PROMISE, "-o", tmp_path / "p.json"]
    assert "names.txt" in refused_without_output(tmp_path, *question)


@pytest.mark.parametrize("name", ["missing.dat", "cut.parquet"])
def test_bad_sample_of_baskets(home: Path, tmp_path: Path, name: str) -> None:
    """A plan whose sample of baskets cannot be read is not written."""
    if name == "cut.parquet":
        whole = (home / "lists.parquet").read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    refused_without_output(tmp_path, *PLAN_ARGUMENTS, "--baskets", tmp_path / name, "-o", tmp_path / "p.json")


def test_a_plan_of_sizes_needs_no_items(home: Path, tmp_path: Path) -> None:
    """It asks for buckets alone, is deterministic, keeps the promise, and works on any basket."""
    record = run_json("plan", "--histogram", *PROMISE, "-o", tmp_path / "a.json", "--reports", 500)
    run("plan", "--histogram", *PROMISE, "-o", tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert (record["view"], record["transaction_size"], record["itemset_size"]) == ("sizes", 1, 1)
    assert Fraction(record["amplification"]) < 19
    run("randomize", home / "b.csv", "--plan", tmp_path / "a.json", "-o", tmp_path / "r.parquet")
    for question in (["mine", "--min-support", "5%"], ["ask", "--itemset", "1", "--itemset", "2", "--itemset", "3"]):
        told = run_json(question[0], tmp_path / "r.parquet", *question[1:])["itemsets"]
        shares = {row["itemset"][0]: row["support"] for row in told}
        errors = {row["itemset"][0]: row["std_error"] for row in told}
        for name in ("1", "2", "3"):
            truth = sum(len(set(basket)) == int(name) for basket in make_baskets()) / N_BASKETS
            assert abs(shares[name] - truth) < 4.9 * errors[name]  # false alarm 1e-6


def test_a_plan_of_sizes_may_say_what_counts(tmp_path: Path) -> None:
    """With names and a taxonomy, what counts is how many of these names a basket comes to."""
    (tmp_path / "tree.csv").write_text("brie,cheese,dairy\nmilk,dairy\nrye,bread\n")
    (tmp_path / "out.txt").write_text("milk\n")
    question = ["plan", "--histogram", "--taxonomy", tmp_path / "tree.csv", "--level", 2, *PROMISE]
    run(*question, "-o", tmp_path / "p.json")
    view = json.loads((tmp_path / "p.json").read_text())["view"]
    assert (view["kind"], view["others"], view["counted"]) == ("sizes", "drop", ["bread", "cheese", "dairy"])
    assert view["parents"]["brie"] == "cheese"
    run(*question, "--leave-out", tmp_path / "out.txt", "-o", tmp_path / "q.json")
    assert json.loads((tmp_path / "q.json").read_text())["view"]["left_out"] == ["milk"]
    said = refused(*question, "--leave-out", "pills", "-o", tmp_path / "r.json")
    assert "cannot read the file of names to leave out pills" in said
    run("plan", "--histogram", "--items", 3, *PROMISE, "-o", tmp_path / "n.json")
    assert json.loads((tmp_path / "n.json").read_text())["view"]["counted"] == ["0", "1", "2"]


@pytest.mark.parametrize(
    "wrong",
    ["--transaction-size=3", "--itemset-size=1", "--target=pairs", "--baskets=b.dat", "--code=none",
     "--pattern=any", "--others=drop", "--format=dat", "--taxonomy=t.csv", "--leave-out=t.txt", "--items=3 --level=1"],
)  # fmt: skip
def test_what_does_not_go_with_a_histogram(tmp_path: Path, wrong: str) -> None:
    """Options that a plan of sizes has no use for are wrong usage."""
    question = ["plan", "--histogram", *PROMISE, *wrong.split(), "-o", tmp_path / "p.json"]
    refused_without_output(tmp_path, *question, status=2)


@pytest.mark.parametrize("reports", ["0", "-1", str(10**30)])
def test_a_plan_of_sizes_needs_reports(tmp_path: Path, reports: str) -> None:
    """A number of reports is out of range for it as for any plan."""
    refused_without_output(tmp_path, "plan", "--histogram", *PROMISE, f"--reports={reports}", "-o", tmp_path / "p.json")


@pytest.fixture(scope="module")
def long_baskets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with 2,000 baskets of 18 of 40 items, and the mined table of their sizes."""
    folder, rng = tmp_path_factory.mktemp("long"), np.random.default_rng(5)
    lines = (" ".join(map(str, np.sort(rng.permutation(40)[:18]))) for _ in range(2000))
    (folder / "b.dat").write_text("\n".join(lines) + "\n")
    run("plan", "--histogram", *PROMISE, "-o", folder / "h.json")
    run("randomize", folder / "b.dat", "--plan", folder / "h.json", "-o", folder / "h.parquet")
    run("mine", folder / "h.parquet", "--min-support", "20%", "-o", folder / "h.csv")
    return folder


@pytest.mark.parametrize("source", ["--baskets=b.dat", "--histogram-table=h.csv"])
def test_blocks_are_chosen_by_sizes(long_baskets: Path, tmp_path: Path, source: str) -> None:
    """By a sample or by mined sizes alone long baskets get blocks; rows and text say what they buy and cost."""
    name, file = source.split("=")
    asked = ["plan", "--items", "40", name, long_baskets / file, "--blocks", "auto", "--itemset-size", "2", *PROMISE]
    record = run_json(*asked, "-o", tmp_path / "p.json")
    plan, blocks = read_plan(tmp_path / "p.json"), record["blocks"]
    assert isinstance(plan, Plan)
    assert plan.view.blocks is not None
    assert {name: blocks[name] for name in ("partitions", "pieces", "seed")} == plan.view.blocks.to_json()
    assert blocks["block_items"] == plan.asked_items
    assert blocks["asked_share"]["1"] == 1 / blocks["pieces"]
    rows = record["transaction_sizes"]
    assert [row["blocks"] for row in rows if row["proposed"]] == [blocks["pieces"]]
    assert rows[0]["blocks"] == 1
    assert rows[0]["surviving_support"]["2"] < 0.8
    assert min(next(row for row in rows if row["proposed"])["surviving_support"].values()) > 0.95
    shown = run("inspect", tmp_path / "p.json").stdout
    assert f"each report is about 1 of {blocks['pieces']} random parts of the catalogue" in shown
    assert f"1 of {blocks['pieces']} about a single item" in shown
    assert json.loads(run("inspect", tmp_path / "p.json", "--json").stdout)["blocks"] == blocks


def test_blocks_by_number(long_baskets: Path, tmp_path: Path) -> None:
    """A number of blocks is taken as it is, alone or with the M that a sample proposes; none is no blocks."""
    plain = ["plan", "--items", "40", "--itemset-size", "2", *PROMISE, "-o", tmp_path / "p.json", "--force"]
    assert run_json(*plain, "--transaction-size", "5", "--blocks", "none")["blocks"] is None
    assert run_json(*plain, "--transaction-size", "5", "--blocks", "4")["blocks"]["block_items"] == 10
    thin = ["plan", "--items=120", "--transaction-size=2", "--blocks=40", *PROMISE, "-o", tmp_path / "t.json"]
    said = CliRunner().invoke(main, [str(argument) for argument in thin]).stdout
    assert "a pair lies in 1.7 of these parts on average: many lie in none" in said
    rows = run_json(*plain, "--baskets", long_baskets / "b.dat", "--blocks", "4")["transaction_sizes"]
    assert {row["blocks"] for row in rows} == {4}
    unasked = run_json(*plain, "--histogram-table", long_baskets / "h.csv")
    assert unasked["blocks"]["pieces"] > 1  # auto by default: what is wanted is whole baskets
    sampled = ["--blocks=2", "--transaction-size=3", "--baskets", long_baskets / "b.dat"]
    lost = CliRunner().invoke(main, [str(argument) for argument in (*plain, *sampled)])
    assert "hold more than 3 items of the block that is drawn (1 of 2 parts of the catalogue)" in lost.stderr
    assert "warning: more than 5% is lost" in lost.stderr


@pytest.mark.parametrize(
    ("wishes", "status", "said"),
    [
        (["--blocks=auto", "--transaction-size=3"], 2, "--blocks auto needs to know the sizes of baskets"),
        (["--blocks=many", "--transaction-size=3"], 2, "neither auto, none nor a whole number"),
        (["--blocks=30", "--transaction-size=3"], 1, "at most 13 blocks"),
        (["--blocks=auto", "--transaction-size=3", "--discover=5%"], 2, "give a number of blocks"),
        (["--blocks=4", "--histogram"], 2, "--blocks does not go with --histogram"),
        (["--histogram-table=h.json"], 1, "not a file of mined itemsets"),
        (["--histogram-table=h.csv", "--baskets=b.dat"], 2, "give one of --baskets and --histogram-table"),
    ],
)
def test_bad_blocks(long_baskets: Path, tmp_path: Path, wishes: list[str], status: int, said: str) -> None:
    """Blocks that no sizes choose, that do not fit, or that go with nothing are refused, and nothing is written."""
    named = [re.sub(r"=([bh]\.\w+)$", rf"={long_baskets}/\1", wish) for wish in wishes]
    assert said in refused("plan", "--items", "40", *named, *PROMISE, "-o", tmp_path / "p.json", status=status)
    assert not list(tmp_path.iterdir())
