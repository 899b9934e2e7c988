"""Tests of the command line: the whole way, what is printed where, bad input, and that docs/cli.md tells it all."""

import csv
import errno
import gzip
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from assocpriv.apps import progress
from assocpriv.apps.cli import main
from assocpriv.client.baskets.bulk import BulkRandomizer
from assocpriv.files import atomic

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"
N_BASKETS, N_ITEMS = 3000, 12
PROMISE = ["--prior", "5%", "--posterior", "50%"]
PLAN_ARGUMENTS = ["plan", "--items", str(N_ITEMS), "--transaction-size", "3", *PROMISE]
TREE = ["name, with comma", "crème", "🍞", '"quoted"', "milk"]


def run(*arguments: Any) -> Result:
    """Run a command and return its result; it must succeed."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result


def no_constant(name: str) -> None:
    """Refuse NaN and Infinity, which are not JSON."""
    raise AssertionError(f"{name} is not JSON")


def run_json(*arguments: Any) -> dict[str, Any]:
    """Run a command with --json and return its record; standard output must be exactly that one object."""
    result = run(*arguments, "--json")
    record = json.loads(result.stdout, parse_constant=no_constant)
    assert isinstance(record, dict)
    assert result.stdout.count("\n") == 1
    return record


def python(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a Python of its own."""
    command = [sys.executable, "-m", "assocpriv", *map(str, arguments)]
    options = {"encoding": "utf-8"} | options
    return subprocess.run(command, text=True, capture_output=True, check=False, **options)


def refused(*arguments: Any, status: int | None = 1) -> str:
    """Run a command that must refuse; return its one line of error."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code in ((1, 2) if status is None else (status,))
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert result.stderr.splitlines()[-1] == errors[0]
    assert "Traceback" not in result.output
    assert "Error: " not in result.stdout
    return errors[0].removeprefix("Error: ")


def refused_without_output(folder: Path, *arguments: Any, status: int | None = 1) -> str:
    """Run a command that must refuse and leave a folder as it was, file by file; return its error."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    message = refused(*arguments, status=status)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    return message


# ---- one data set for all tests


def make_baskets() -> list[list[int]]:
    """Return baskets of at most three numbers, in which 1 and 2 go together."""
    rng = np.random.default_rng(20030609)
    baskets = []
    for first, kind in zip(rng.integers(3, N_ITEMS, N_BASKETS), rng.random(N_BASKETS), strict=True):
        baskets.append([1, 2, int(first)] if kind < 0.6 else [0, int(first)] if kind < 0.8 else [int(first)])
    return baskets


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with baskets in every format, a plan, reports, itemsets and rules."""
    folder = tmp_path_factory.mktemp("cli")
    baskets = make_baskets()
    lines = [" ".join(map(str, basket)) for basket in baskets]
    pairs = [(f"t{row:05}", item) for row, basket in enumerate(baskets) for item in basket]
    (folder / "b.dat").write_text("\n".join(lines) + "\n")
    (folder / "b.dat.gz").write_bytes(gzip.compress((folder / "b.dat").read_bytes()))
    (folder / "b.csv").write_text("\n".join(",".join(line.split()) for line in lines) + "\n")
    (folder / "long.csv").write_text("transaction,item\n" + "".join(f"{name},{item}\n" for name, item in pairs))
    names, items = zip(*pairs, strict=True)
    pq.write_table(pa.table({"transaction": names, "item": items}), folder / "long.parquet")
    pq.write_table(pa.table({"items": baskets}), folder / "lists.parquet")
    (folder / "names.txt").write_text("\n".join(TREE) + "\n", encoding="utf-8")
    run(*PLAN_ARGUMENTS, "-o", folder / "plan.json")
    run("randomize", folder / "b.dat", "--plan", folder / "plan.json", "-o", folder / "r.parquet")
    for ending in ("parquet", "csv", "json"):
        run("mine", folder / "r.parquet", "--min-support", "15%", "-o", folder / f"i.{ending}")
    run("randomize", folder / "b.dat", "--plan", folder / "plan.json", "-o", folder / "others.pq.parquet")
    run("mine", folder / "others.pq.parquet", "--min-support", "15%", "-o", folder / "other.csv")
    return folder


# ---- the whole way


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


def test_the_whole_way(home: Path, tmp_path: Path) -> None:
    """Baskets become reports, itemsets and rules; the plan's id goes along, and the planted rule comes out."""
    plan_id = run_json("inspect", home / "plan.json")["plan_id"]
    reports = tmp_path / "r.parquet"
    sent = run_json("randomize", home / "b.dat", "--plan", home / "plan.json", "-o", reports)
    assert (sent["plan_id"], sent["reports"], sent["sampled_baskets"]) == (plan_id, N_BASKETS, 0)
    mined = run_json("mine", reports, "--min-support", "20%", "-o", tmp_path / "i.parquet")
    assert (mined["plan_id"], mined["reports"], mined["min_support"]) == (plan_id, N_BASKETS, 0.2)
    for row in mined["itemsets"]:
        assert {"itemset", "support", "std_error", "ci_low", "ci_high"} <= set(row)
        assert row["ci_low"] < row["support"] < row["ci_high"]
        assert row["std_error"] > 0
        assert row["itemset"] == sorted(row["itemset"])
    found = {tuple(row["itemset"]): row for row in mined["itemsets"]}
    # z = 4.9 standard errors: false alarm 1e-6; the truth is 60% up to the draw of 3000 baskets, here known
    truth = sum({1, 2} <= set(basket) for basket in make_baskets()) / N_BASKETS
    assert abs(found["1", "2"]["support"] - truth) < 4.9 * found["1", "2"]["std_error"]
    rules = run_json("rules", tmp_path / "i.parquet", "--min-confidence", "50%")["rules"]
    fields = {"antecedents", "consequents"}
    fields |= {name + end for name in ("support", "confidence", "lift") for end in ("", "_std_error")}
    assert all(fields <= set(rule) for rule in rules)
    assert (["1"], ["2"]) in [(rule["antecedents"], rule["consequents"]) for rule in rules]
    assert [rule["confidence"] for rule in rules] == sorted((rule["confidence"] for rule in rules), reverse=True)


def test_simulate_finds_the_truth(home: Path) -> None:
    """A simulation tells truth beside estimate, and the same seed gives the same supports."""
    question = ["simulate", home / "b.dat", "--plan", home / "plan.json", "--min-support", "20%", "--seed", 1]
    record, again = run_json(*question), run_json(*question)
    assert record["itemsets"] == again["itemsets"]
    assert {"found_count", "missed_count", "false_count", "missed", "seconds"} <= set(record)
    pair = next(row for row in record["itemsets"] if row["itemset"] == ["1", "2"])
    assert pair["true_support"] == pair["raw_support"]
    assert pair["true_support"] == pytest.approx(0.6, abs=0.05)  # of fixed data
    other = run_json(*question[:-1], 2)
    assert other["itemsets"] != record["itemsets"]
    assert "found" in run(*question).stdout


def test_every_basket_format_says_the_same(home: Path) -> None:
    """The same baskets in every format give the same simulation, so the same baskets were read."""
    question = ["--plan", home / "plan.json", "--min-support", "20%", "--seed", 3]
    expected = run_json("simulate", home / "b.dat", *question)["itemsets"]
    others: list[list[Any]] = [
        [home / "b.dat.gz"],
        [home / "b.csv"],
        [home / "long.csv", "--format", "long"],
        [home / "long.parquet"],
        [home / "lists.parquet"],
        [home / "lists.parquet", "--format", "parquet"],
        [home / "b.csv", "--format", "basket"],
    ]
    for other in others:
        assert run_json("simulate", *other, *question)["itemsets"] == expected


def test_catalogue_of_names(home: Path, tmp_path: Path) -> None:
    """Names with commas, quotes and letters of any script go the whole way, through every kind of output."""
    plan = tmp_path / "p.json"
    assert (
        run_json("plan", "--catalogue", home / "names.txt", "--transaction-size", 2, *PROMISE, "-o", plan)["items"] == 5
    )
    with (tmp_path / "b.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([TREE[:2], TREE[2:4], TREE[4:], TREE[:1]] * 2000)
    run("randomize", tmp_path / "b.csv", "--plan", plan, "-o", tmp_path / "r.parquet")
    kept = []
    for ending in ("parquet", "csv", "json"):
        mined = run_json("mine", tmp_path / "r.parquet", "--min-support", "5%", "-o", tmp_path / f"i.{ending}")
        kept.append(run_json("rules", tmp_path / f"i.{ending}", "--min-confidence", "30%")["rules"])
    assert {name for row in mined["itemsets"] for name in row["itemset"]} == set(TREE)
    assert [(rule["antecedents"], rule["consequents"]) for rule in kept[0]]
    for other in kept[1:]:
        assert [rule["antecedents"] for rule in other] == [rule["antecedents"] for rule in kept[0]]
        assert [rule["lift"] for rule in other] == pytest.approx([rule["lift"] for rule in kept[0]], rel=1e-9)
    assert "crème" in run("mine", tmp_path / "r.parquet", "--min-support", "5%").stdout


def test_outputs_by_extension(home: Path, tmp_path: Path) -> None:
    """Itemsets and rules are written as the extension says, and other programs can read them."""
    assert pq.read_table(home / "i.parquet").num_rows == len(run_json("inspect", home / "i.json")["itemsets"])
    assert json.loads((home / "i.json").read_text(), parse_constant=no_constant)["itemsets"]
    assert (home / "i.csv").read_text().splitlines()[1].startswith("support,itemsets,")
    for ending in ("parquet", "csv", "json"):
        run("rules", home / "i.parquet", "--min-confidence", "10%", "-o", tmp_path / f"rules.{ending}")
    rows = run_json("rules", home / "i.parquet", "--min-confidence", "10%")["rules"]
    assert pq.read_table(tmp_path / "rules.parquet").num_rows == len(rows)
    assert json.loads((tmp_path / "rules.json").read_text(), parse_constant=no_constant)["rules"] == rows
    with (tmp_path / "rules.csv").open() as stream:
        assert len(list(csv.DictReader(stream))) == len(rows)


def test_inspect_says_what_a_file_is(home: Path, tmp_path: Path) -> None:
    """Plan, reports, a folder of them and itemsets of every kind are told apart."""
    assert run_json("inspect", home / "plan.json", "--reports", 7)["kind"] == "plan"
    reports = run_json("inspect", home / "r.parquet")
    assert (reports["kind"], reports["reports"], reports["files"]) == ("reports", N_BASKETS, 1)
    for copy in ("a", "b"):
        (tmp_path / f"{copy}.parquet").write_bytes((home / "r.parquet").read_bytes())
    assert run_json("inspect", tmp_path)["reports"] == 2 * N_BASKETS
    for ending in ("parquet", "csv", "json"):
        assert run_json("inspect", home / f"i.{ending}")["kind"] == "itemsets"
        assert "minimum support" in run("inspect", home / f"i.{ending}").stdout
    assert "promise" in run("inspect", home / "plan.json").stdout
    assert "each whole" in run("inspect", home / "r.parquet").stdout
    for name, kind in (("r.parquet", "reports"), ("i.csv", "itemsets")):
        assert f"holds {kind}" in refused("inspect", home / name, "--reports", 7, status=2)


def test_mining_a_folder_adds_up(home: Path, tmp_path: Path) -> None:
    """Reports in several files, or a folder of them, are mined as one collection."""
    for copy in ("a", "b"):
        (tmp_path / f"{copy}.parquet").write_bytes((home / "r.parquet").read_bytes())
    folder = run_json("mine", tmp_path, "--min-support", "20%")
    files = run_json("mine", tmp_path / "a.parquet", tmp_path / "b.parquet", "--min-support", "20%")
    assert folder == files
    assert folder["reports"] == 2 * N_BASKETS


def test_mine_options(home: Path) -> None:
    """Largest itemsets, level of the intervals and population errors show in the result; --top cuts the text."""
    question = ["mine", home / "r.parquet", "--min-support", "20%"]
    usual = run_json(*question)
    assert {row["length"] for row in run_json(*question, "--max-itemset", 1)["itemsets"]} == {1}
    wide = run_json(*question, "--confidence-level", 0.999)["itemsets"][0]
    assert wide["ci_high"] - wide["ci_low"] > usual["itemsets"][0]["ci_high"] - usual["itemsets"][0]["ci_low"]
    assert run_json(*question, "--population")["population"] is True
    shown = run(*question, "--top", 1).stdout.splitlines()
    assert sum(line.endswith(("  1", "  2", "  1, 2")) for line in shown) == 1
    assert shown[-1].startswith("… and ")


def test_the_lowest_minimum_support(home: Path, tmp_path: Path) -> None:
    """With auto the support taken is said, every size mined at it is decided; so in files and simulations."""
    record = run_json("mine", home / "r.parquet", "--min-support", "auto", "-o", tmp_path / "i.csv")
    assert record["auto"] is True
    assert {level["status"] for level in record["levels"]} == {"decided"}
    assert all(level["min_support"] >= level["level_discoverable_support"] for level in record["levels"])
    assert record["min_support"] == record["levels"][0]["min_support"]
    shown = run("mine", home / "r.parquet", "--min-support", "auto", "--top", 2).stdout.splitlines()
    assert shown[1].startswith(f"minimum support {record['min_support']:.4%} for single items, ")
    assert shown[-1].startswith("… and ")
    assert shown[1] in run("inspect", tmp_path / "i.csv").stdout
    tried = ["simulate", home / "b.dat", "--plan", home / "plan.json", "--min-support", "auto", "--seed", 1]
    tried_record = run_json(*tried)
    assert tried_record["auto"] is True
    assert all(row["true_support"] > 0 for row in tried_record["itemsets"] if row["frequent"])
    assert f"minimum support {tried_record['min_support']:.4%} for single items, " in run(*tried).stdout


def test_the_largest_estimates(home: Path, tmp_path: Path) -> None:
    """Without a minimum support --top mines the largest estimates of all sizes, each with the ranks it may have."""
    record = run_json("mine", home / "r.parquet", "--top", 4, "-o", tmp_path / "i.parquet")
    listed = sorted((row for row in record["itemsets"] if row["frequent"]), key=lambda row: row["rank"])
    places = [1 + sum(other["support"] > row["support"] for other in listed) for row in listed]
    assert [row["rank"] for row in listed] == places  # equal estimates share a place
    assert [row["support"] for row in listed] == sorted((row["support"] for row in listed), reverse=True)
    assert {tuple(row["itemset"]) for row in listed} == {("0",), ("1",), ("2",), ("1", "2")}
    assert all(row["rank_low"] <= row["rank"] <= row["rank_high"] for row in record["itemsets"])
    assert record["top"] == {"wanted": 4, "ranked": sum(level["candidates"] for level in record["levels"])}
    shown = run("mine", home / "r.parquet", "--top", 4).stdout.splitlines()
    assert shown[1].startswith(f"the 4 largest estimates of {record['top']['ranked']:,} itemsets counted")
    first = listed[0]
    assert shown[3].lstrip().startswith(f"1 ({first['rank_low']}–{first['rank_high']})")
    assert [line.rsplit("  ", 1)[1] for line in shown[3:7]] == [", ".join(row["itemset"]) for row in listed]
    assert len(shown) == 7
    assert shown[1] in run("inspect", tmp_path / "i.parquet").stdout
    assert run_json("rules", tmp_path / "i.parquet", "--min-confidence", "50%")["rules"]
    for key in ("rank", "rank_low", "rank_high", "wanted", "ranked", "auto", *record["levels"][0]):
        assert f"`{key}`" in section("assocpriv mine")


def test_what_to_mine_must_be_said(home: Path, tmp_path: Path) -> None:
    """Without a minimum support and --top, or with none wanted, usage names both and auto; words are refused."""
    for more in ([], ["--top", 0]):
        message = refused_without_output(tmp_path, "mine", home / "r.parquet", *more, status=2)
        assert all(word in message for word in ("--min-support S", "--min-support auto", "--top K"))
    assert "'many'" in refused("mine", home / "r.parquet", "--top", "many", status=2)
    assert "minimum support" in refused("mine", home / "r.parquet", "--min-support", "some")
    assert "not with top" in refused("mine", home / "r.parquet", "--top", 3, "--certain", "95%")
    plan = ["plan", "--items", 30, "--transaction-size", 5, "--prior", "5%", "--posterior", "5.01%"]
    run(*plan, "-o", tmp_path / "p.json")
    run("randomize", home / "b.dat", "--plan", tmp_path / "p.json", "-o", tmp_path / "r.parquet")
    for wanted in (["--min-support", "auto"], ["--top", 3]):
        assert "decide about no itemset below a support of 100%" in refused("mine", tmp_path / "r.parquet", *wanted)


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


def test_certain_and_consistent(home: Path, tmp_path: Path) -> None:
    """What is certain is marked and explained, in itemsets and rules; new columns go through files and inspect."""
    question = ["mine", home / "r.parquet", "--min-support", "20%", "--certain", "95%", "--consistent"]
    record = run_json(*question, "-o", tmp_path / "i.csv")
    assert record["reports"] + record["certain"]["selecting_reports"] == N_BASKETS
    pair = next(row for row in record["itemsets"] if row["itemset"] == ["1", "2"])
    assert pair["certain"] is True
    assert pair["p_value"] < 1e-6
    assert abs(pair["consistent_support"] - pair["support"]) < 4 * pair["std_error"]
    assert record["consistent"] == "realizable"
    shown = run(*question).stdout
    assert "  * 1, 2" in shown
    assert "consistent: the nearest supports that some baskets of at most" in shown
    assert "on average at most 5% have a support below 20%" in shown
    assert f"({record['certain']['selecting_reports']:,} others chose the itemsets)" in shown
    described = run_json("inspect", tmp_path / "i.csv")
    assert described["certain"] == record["certain"]
    assert [row["p_value"] for row in described["itemsets"]] == [row["p_value"] for row in record["itemsets"]]
    assert "on average at most 5%" in run("inspect", tmp_path / "i.csv").stdout
    rules = run_json("rules", tmp_path / "i.csv", "--min-confidence", "50%", "--certain", "90%")
    assert rules["certain"]["level"] == 0.9
    assert any(rule["certain"] for rule in rules["rules"])
    shown = run("rules", tmp_path / "i.csv", "--min-confidence", "50%", "--certain", "90%").stdout
    assert "* 1 → 2" in shown
    assert "on average at most 10% have a confidence below 50%" in shown
    everything = run_json(*question, "--certain-by", "all")
    assert everything["reports"] == N_BASKETS
    assert everything["certain"]["hypotheses"] == 12 + 66 + 220
    hopeless = run("mine", home / "r.parquet", "--min-support", "99%", "--certain", "95%").stdout
    assert "none is certain" in hopeless


def test_certain_needs_what_it_rests_on(home: Path, tmp_path: Path) -> None:
    """Rules are certain only where their itemsets are; a level that is none is refused before anything is read."""
    message = refused("rules", home / "i.parquet", "--min-confidence", "50%", "--certain", "95%")
    assert "chosen by the same reports" in message
    for level in ("0", "100%", "x", "nan", ""):
        question = ["mine", home / "r.parquet", "--min-support", "20%", f"--certain={level}"]
        assert "certain" in refused_without_output(tmp_path, *question, "-o", tmp_path / "i.parquet")
    refused("mine", home / "r.parquet", "--min-support", "20%", "--certain-by", "half", status=2)


@pytest.mark.parametrize("size", ["64MiB", "0.5 GB", "67108864", "1.5gib", "70000k"])
def test_memory_is_a_size(home: Path, tmp_path: Path, size: str) -> None:
    """Both commands take a size and say the same whatever it is."""
    options = ["--plan", home / "plan.json", "-o", tmp_path / "r.parquet", "--memory", size]
    assert run_json("randomize", home / "b.dat", *options)["reports"] == N_BASKETS
    records = [run_json("mine", home / "r.parquet", "--min-support", "15%", *more) for more in ([], ["--memory", size])]
    assert records[0] == records[1]


@pytest.mark.parametrize("size", ["lots", "", "1", "63MiB", "1iB", "-1GB", "1PB", "1e9", "nan", "9" * 400])
def test_memory_that_is_no_size(home: Path, tmp_path: Path, size: str) -> None:
    """Another word, or too little, is wrong usage and says what a size looks like."""
    for question in (
        ["randomize", home / "b.dat", "--plan", home / "plan.json", "-o", tmp_path / "r.parquet"],
        ["mine", home / "r.parquet", "--min-support", "15%"],
    ):
        message = refused_without_output(tmp_path, *question, f"--memory={size}", status=2)
        assert "MiB" in message or "GB" in message


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="a system without /dev/stdin")
def test_baskets_may_come_through_a_pipe(home: Path, tmp_path: Path) -> None:
    """What another program writes is read as a file is."""
    options = ["--plan", home / "plan.json", "-o", tmp_path / "r.parquet", "--format", "dat", "--json"]
    done = python("randomize", "/dev/stdin", *options, input=(home / "b.dat").read_text())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["reports"] == N_BASKETS


def test_a_long_file_must_fit_the_memory(tmp_path: Path) -> None:
    """A long file that would need more than the memory is refused with what to do."""
    rows = "".join(f"{row // 3},{row % 9}\n" for row in range(1_000_000))
    (tmp_path / "long.csv").write_text("transaction,item\n" + rows)
    run("plan", "--items", 9, "--transaction-size", 3, *PROMISE, "-o", tmp_path / "plan.json")
    question = ["randomize", tmp_path / "long.csv", "--plan", tmp_path / "plan.json", "-o", tmp_path / "r.parquet"]
    message = refused_without_output(tmp_path, *question, "--format=long", "--memory=64MiB")
    assert "long.csv" in message
    assert "--memory" in message
    assert run_json(*question, "--format=long")["reports"] == 333_334


def test_reading_options(home: Path, tmp_path: Path) -> None:
    """Unknown, repeated and empty are refused unless asked for, then counted on standard error."""
    (tmp_path / "b.csv").write_text("1,1,2\n\n99,3\n")
    question = ["randomize", tmp_path / "b.csv", "--plan", home / "plan.json", "-o", tmp_path / "r.parquet"]
    result = run(*question, "--unknown", "drop", "--repeats", "merge", "--empty", "keep", "--json")
    assert json.loads(result.stdout)["reports"] == 3
    for said in ("1 items outside the catalogue dropped", "1 repeated items merged", "1 empty baskets kept"):
        assert said in result.stderr


def test_generate(tmp_path: Path) -> None:
    """Generated baskets repeat with their seed, and both kinds of file hold the same number of them."""
    size = ["--baskets", 500, "--items", 20, "--mean-size", 4, "--patterns", 10, "--mean-pattern-size", 2]
    for name, seed in (("a.dat", 1), ("b.dat", 1), ("c.dat", 2), ("a.csv", 1)):
        run("generate", "quest", *size, "--seed", seed, "-o", tmp_path / name)
    assert (tmp_path / "a.dat").read_bytes() == (tmp_path / "b.dat").read_bytes()
    assert (tmp_path / "a.dat").read_bytes() != (tmp_path / "c.dat").read_bytes()
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 500


# ---- rounds


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
    run("plan", "--histogram", "--items", 3, *PROMISE, "-o", tmp_path / "n.json")
    assert json.loads((tmp_path / "n.json").read_text())["view"]["counted"] == ["0", "1", "2"]


@pytest.mark.parametrize(
    "wrong",
    ["--transaction-size=3", "--itemset-size=1", "--target=pairs", "--sizes=hidden", "--baskets=b.dat", "--code=none",
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


def test_refine_says_what_both_answers_tell(home: Path, tmp_path: Path) -> None:
    """The text names other people, the catalogue and the composed promise; the record has them exactly."""
    question = ["refine", home / "i.parquet", "--plan", home / "plan.json", "--top", 3, "-o", tmp_path / "p.json"]
    said = run(*question).stdout
    assert "OTHER people" in said
    assert "answering both plans: γ < 361" in said
    assert "0.05 becomes at most 0.95" in said
    record = run_json(*question, "--force", "--reports", 77)
    assert record["both"]["amplification_limit"] == "361/1"
    assert (record["both"]["highest_posterior"], record["both"]["lowest_posterior"]) == ("19/20", "1/362")
    assert record["reports"] == 77
    assert run_json("inspect", tmp_path / "p.json")["plan_id"] == record["plan_id"]


def test_refine_refuses(home: Path, tmp_path: Path) -> None:
    """A table of another plan, what is no table, no histogram, and an existing file are refused."""
    run("plan", "--items", 9, "--transaction-size", 2, *PROMISE, "-o", tmp_path / "o.json")
    refuse = ["-o", tmp_path / "p.json"]
    plan = ["--plan", home / "plan.json"]
    other = refused_without_output(tmp_path, "refine", home / "i.csv", "--plan", tmp_path / "o.json", *refuse)
    assert "not with the plan given" in other
    refused_without_output(tmp_path, "refine", home / "b.csv", *plan, *refuse)
    refused_without_output(tmp_path, "refine", home / "i.csv", "--plan", home / "r.parquet", *refuse)
    refused_without_output(tmp_path, "refine", home / "i.csv", *plan, "--top", 0, *refuse)
    for histogram in ("i.csv", "b.dat", "none.csv"):
        refused_without_output(tmp_path, "refine", home / "i.csv", *plan, "--histogram", home / histogram, *refuse)


def test_combine_averages_one_plan(home: Path, tmp_path: Path) -> None:
    """Two collections of one plan give smaller errors; files hold what is printed; rules do not come of it."""
    record = run_json("combine", home / "i.parquet", home / "other.csv", "-o", tmp_path / "c.json")
    row = next(row for row in record["itemsets"] if row["itemset"] == ["1", "2"])
    assert min(row["support_1"], row["support_2"]) <= row["support"] <= max(row["support_1"], row["support_2"])
    assert row["std_error"] < min(row["std_error_1"], row["std_error_2"])
    assert json.loads((tmp_path / "c.json").read_text())["itemsets"] == record["itemsets"]
    assert "1, 2" in run("combine", home / "i.parquet", home / "other.csv", "--top", 3).stdout
    for ending in ("csv", "parquet"):
        run("combine", home / "i.parquet", home / "other.csv", "-o", tmp_path / f"c.{ending}")
    for ending in ("json", "csv", "parquet"):
        for command in (
            ["rules", tmp_path / f"c.{ending}", "--min-confidence", 0],
            ["inspect", tmp_path / f"c.{ending}"],
        ):
            assert "combined table of several rounds" in refused(*command)


def test_combine_refuses(home: Path, tmp_path: Path) -> None:
    """One table, a table twice, the same reports twice and no histogram are refused."""
    for tables, wrong in (
        (["i.csv"], "two tables or more"),
        (["i.csv", "i.csv"], "named twice"),
        (["i.csv", "i.json"], "mined from the same reports"),
        (["i.csv", "b.csv"], "not a file of mined itemsets"),
        (["i.csv", "other.csv", "--histogram", "i.csv"], "must be a mined table of a sizes plan"),
    ):
        question = [word if word.startswith("--") else home / word for word in tables]
        assert wrong in refused_without_output(tmp_path, "combine", *question, "-o", tmp_path / "c.csv")


def test_simulated_rounds(home: Path) -> None:
    """Schedules are compared beside the truth; a seed repeats them; the text marks the proposal."""
    question = ["simulate", home / "b.dat", "--rounds", "auto", *PROMISE, "--top", 5, "--seed", 1]
    record, again = run_json(*question), run_json(*question)
    assert record["itemsets"] == again["itemsets"]
    assert [each["rounds"] for each in record["schedules"]] == [1, 2, 3]
    (best,) = [each for each in record["schedules"] if each["proposed"]]
    assert best["rounds"] == record["proposed_rounds"]
    assert best["hits"] == max(each["hits"] for each in record["schedules"])
    assert best["hits"] == sum(row["wanted"] for row in record["itemsets"]) == 5 - len(record["missed"])
    assert [step["name"] for step in record["schedules"][2]["steps"]] == ["sizes", "items", "shortlist", "itemsets"]
    assert record["schedules"][2]["steps"][0]["rmse"] is None
    said = run(*question).stdout
    assert said.count("← proposed") == 1
    assert len(run_json(*question[:3], "1", *question[4:])["schedules"]) == 1


def test_nothing_can_be_told_is_said(home: Path) -> None:
    """With hardly any amplification allowed, text and record say that what is found is chance."""
    question = ["simulate", home / "b.dat", "--rounds", "2", "--prior", "5%", "--posterior", "5.01%", "--top", 5]
    assert "nothing can be told" in run(*question, "--seed", 1).stdout
    record = run_json(*question, "--seed", 1)
    assert record["anything_told"] is False


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ("--rounds=4", 2), ("--rounds=auto --min-support=2%", 2), ("--rounds=1 --max-itemset=2", 2),
        ("--rounds=1 --unknown=drop", 2), ("--rounds=1 --plan=plan.json", 2), ("--rounds=1 --top=0", 1),
        ("--rounds=1 --posterior=5%", 1), ("--rounds=1 --prior=abc", 1),
    ],
)  # fmt: skip
def test_bad_rounds(home: Path, wrong: str, status: int) -> None:
    """Rounds take no plan, and their numbers are checked."""
    refused("simulate", home / "b.dat", *PROMISE, *wrong.split(), status=status)


def test_a_promise_needs_rounds(home: Path) -> None:
    """Without rounds a plan says what is promised."""
    question = ["simulate", home / "b.dat", "--plan", home / "plan.json", "--min-support", "20%", "--prior", "5%"]
    assert "--rounds" in refused(*question, status=2)


# ---- the demo


DEMO = ["demo", "--size", 20_000, "--items", 50, "--min-support", "10%", "--seed", 1]
DEMO_FILES = ["itemsets.parquet", "plan.json", "reports.parquet", "rules.csv"]


def test_demo(tmp_path: Path) -> None:
    """The demo leaves its four files, says what it found and missed, and does not replace them unless forced."""
    folder = tmp_path / "deep" / "demo"
    said = run(*DEMO, "-o", folder).stdout
    assert re.search(r"[0-9]+ found, [0-9]+ missed", said)
    assert sorted(path.name for path in folder.iterdir()) == DEMO_FILES
    assert run_json("inspect", folder / "reports.parquet")["reports"] == 20_000
    assert "exists already" in refused_without_output(folder, *DEMO, "-o", folder)
    (folder / "plan.json").write_text("old")
    run(*DEMO, "-o", folder, "--force")
    assert run_json("inspect", folder / "plan.json")["kind"] == "plan"
    assert sorted(path.name for path in folder.iterdir()) == DEMO_FILES
    assert "true_support" not in pq.read_table(folder / "itemsets.parquet").column_names


def test_demo_record(tmp_path: Path) -> None:
    """With --json the demo prints the plan, itemsets, rules, score and files as one object."""
    record = run_json(*DEMO, "-o", tmp_path / "demo")
    assert {"plan", "itemsets", "rules", "found_count", "missed_count", "seconds"} <= set(record)
    assert sorted(Path(name).name for name in record["files"]) == DEMO_FILES


def test_demo_with_own_baskets(home: Path, tmp_path: Path) -> None:
    """The demo takes one's own baskets, in any format."""
    own = ["demo", "--baskets", home / "long.csv", "--format", "long", "--min-support", "20%", "--seed", 1]
    said = run(*own, "--transaction-size", 3, "-o", tmp_path / "demo").stdout
    assert said.startswith(f"{N_BASKETS:,} baskets over {N_ITEMS} items")
    assert "1 → 2" in said


@pytest.mark.parametrize(
    "wrong", [["--min-support", "nan"], ["--min-confidence", "3"], ["--prior", "60%"], ["--size", "0"]], ids=str
)
def test_demo_refuses_before_it_works(tmp_path: Path, wrong: list[str]) -> None:
    """A demo's wrong number is refused before anything is generated or written."""
    result = CliRunner().invoke(main, ["demo", "--size", "1000", *wrong, "-o", str(tmp_path / "demo")])
    assert (result.exit_code, result.stdout) == (1, "")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


# ---- what goes where


def test_progress_never_goes_to_stdout(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal progress is drawn on standard error, and standard output still holds the record alone."""

    class Terminal:
        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> int:
            return sys.stderr.write(text)

        def flush(self) -> None:
            sys.stderr.flush()

    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=Terminal()))
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(progress, "_BETWEEN_SECONDS", 0.0)
    result = run(*PLAN_ARGUMENTS, "-o", tmp_path / "p.json", "--json")
    assert "planning [" in result.stderr
    assert json.loads(result.stdout)["plan_id"]
    assert "\r" not in result.stdout


def test_progress_is_silent_without_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where standard error is no terminal, a plan says nothing on it."""
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.0)
    assert run(*PLAN_ARGUMENTS, "-o", tmp_path / "p.json").stderr == ""


def test_infinite_values_are_null(home: Path, tmp_path: Path) -> None:
    """What nothing can be learned from, and an infinite conviction, is null and never Infinity or NaN."""
    hopeless = run_json("inspect", home / "plan.json", "--reports", 1)
    assert all(s is None or s >= 0 for s in hopeless["lowest_discoverable_support"].values())
    plan = tmp_path / "p.json"
    run("plan", "--items", 12, "--transaction-size", 1, *PROMISE, "-o", plan)
    (tmp_path / "b.csv").write_text("1\n" * 50)
    run("randomize", tmp_path / "b.csv", "--plan", plan, "-o", tmp_path / "r.parquet")
    run_json("mine", tmp_path / "r.parquet", "--min-support", "1%", "-o", tmp_path / "i.json")
    run_json("rules", tmp_path / "i.json", "--min-confidence", "0")
    rules = run_json("rules", home / "i.parquet", "--min-confidence", "0")["rules"]
    assert all((rule["conviction"] is None) == (rule["confidence"] >= 1) for rule in rules)


def test_module_runs_as_a_program(home: Path, tmp_path: Path) -> None:
    """``python -m assocpriv`` works as the command: results, talk and exit statuses 0, 1 and 2."""
    good = python("mine", home / "r.parquet", "--min-support", "20%", "--json")
    assert good.returncode == 0
    assert json.loads(good.stdout)["reports"] == N_BASKETS
    bad = python("mine", tmp_path / "none.parquet", "--min-support", "20%")
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr.startswith("Error: ")
    assert bad.stderr.count("\n") == 1
    wrong = python("mine", home / "r.parquet")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "--min-support" in wrong.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["plan", "--help"], ["inspect", "plan.json"]], ids=str)
def test_narrow_encodings_do_not_break_text(home: Path, arguments: list[str]) -> None:
    """Where output cannot say γ, as in a pipe on Windows, a question mark stands for it."""
    done = python(*arguments, cwd=home, encoding="cp1252", env=os.environ | {"PYTHONIOENCODING": "cp1252"})
    assert (done.returncode, done.stderr) == (0, "")


def test_json_is_ascii(home: Path, tmp_path: Path) -> None:
    """JSON escapes what is not ASCII, so that no encoding of the output can damage a name."""
    run("plan", "--catalogue", home / "names.txt", "--transaction-size", 1, *PROMISE, "-o", tmp_path / "p.json")
    (tmp_path / "b.csv").write_text("crème\n" * 2000, encoding="utf-8")
    question = ["simulate", tmp_path / "b.csv", "--plan", tmp_path / "p.json", "--min-support", "50%", "--json"]
    result = run(*question)
    assert result.stdout.isascii()
    assert json.loads(result.stdout)["itemsets"][0]["itemset"] == ["crème"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_standard_output(home: Path) -> None:
    """A result that cannot be printed is an error, not a traceback."""
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "assocpriv", "inspect", str(home / "plan.json")]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"Error: {os.strerror(errno.ENOSPC)}\n"


# ---- bad baskets


def bad_baskets(home: Path) -> dict[str, bytes]:
    """Return files of baskets that must be refused, by name."""
    lists = (home / "lists.parquet").read_bytes()
    return {
        "empty.dat": b"",
        "empty.csv": b"",
        "empty.parquet": b"",
        "cut.parquet": lists[: len(lists) // 2],
        "cut-end.parquet": lists[:-9],
        "cut.dat.gz": (home / "b.dat.gz").read_bytes()[:-20],
        "not-gzip.dat.gz": b"1 2\n",
        "latin-1.csv": b"1,caf\xe9\n",
        "nul.dat": b"1 2\0\n",
        "nul.csv": b"1,2\0\n",
        "outside.dat": b"1 2\n12\n",
        "outside.csv": b"1,2\nx777x\n",
        "repeated.dat": b"1 2\n5 5\n",
        "repeated.csv": b"1,2\n5,5\n",
        "bare.dat": b"1 2\n\n3\n",
        "bare.csv": b"1 2\n\n3\n",
        "negative.dat": b"1 2\n-5\n",
        "negative.csv": b"1,2\n-5\n",
        "huge.dat": f"1 2\n{2**63}\n".encode(),
        "huge.csv": f"1,2\n{2**63}\n".encode(),
        "names.dat": b"milk bread\n",
        "unknown.ending": b"1 2\n",
    }


BAD_BASKETS = [
    "empty.dat", "empty.csv", "empty.parquet", "cut.parquet", "cut-end.parquet", "cut.dat.gz", "not-gzip.dat.gz",
    "latin-1.csv", "nul.dat", "nul.csv", "outside.dat", "outside.csv", "repeated.dat", "repeated.csv", "bare.dat",
    "bare.csv", "negative.dat", "negative.csv", "huge.dat", "huge.csv", "names.dat", "unknown.ending", "missing.dat",
    "folder", "folder.dat",
]  # fmt: skip


@pytest.mark.parametrize("command", ["randomize", "simulate"])
@pytest.mark.parametrize("name", BAD_BASKETS)
def test_bad_baskets(home: Path, tmp_path: Path, name: str, command: str) -> None:
    """Bad baskets end in one line that names the file, and in no file."""
    if name.startswith("folder"):
        (tmp_path / name).mkdir()
    elif not name.startswith("missing"):
        (tmp_path / name).write_bytes(bad_baskets(home)[name])
    rest = ["-o", tmp_path / "r.parquet"] if command == "randomize" else ["--min-support", "20%"]
    message = refused_without_output(tmp_path, command, tmp_path / name, "--plan", home / "plan.json", *rest)
    assert message.startswith(f"{name}: ")
    for raw in ("x777x", "caf", "milk", str(2**63)):
        assert raw not in message


# ---- bad plans


def bad_plans(home: Path) -> dict[str, str]:
    """Return plan files that must be refused, by name."""
    text = (home / "plan.json").read_text()
    plan = json.loads(text)

    def changed(**fields: Any) -> str:
        return json.dumps(plan | fields)

    return {
        "empty": "",
        "cut": text[: len(text) // 2],
        "cut-end": text.rstrip()[:-1],
        "not-json": "plan",
        "a-list": "[1]",
        "deep": "[" * 100_000,
        "broken-promise": changed(promise={"prior": "1/20", "posterior": "1/10"}),
        "version-3": changed(version=3),
        "unknown-kind": changed(kind="new"),
        "more-fields": changed(more=1),
        "fewer-fields": json.dumps({name: value for name, value in plan.items() if name != "sizes"}),
        "huge-exponent": changed(promise={"prior": "1e-999999999", "posterior": "1/2"}),
        "huge-float": text.replace('"transaction_size": 3', '"transaction_size": 1e999999999'),
        "huge-integer": text.replace('"transaction_size": 3', f'"transaction_size": {"9" * 5000}'),
        "long-integer": text.replace('"transaction_size": 3', f'"transaction_size": {"9" * 4000}'),
        "huge-weights": changed(operators=[plan["operators"][0] | {"keep_weights": ["9" * 400] * 4}]),
        "weight-exponent": changed(operators=[plan["operators"][0] | {"keep_weights": ["1e999999999"] * 4}]),
        "huge-weight-bits": changed(operators=[plan["operators"][0] | {"weight_bits": 10**12}]),
        "huge-field": changed(generator=plan["generator"] | {"field_bits": 10**9}),
        "huge-catalogue": changed(catalogue={"count": 2**40}),
        "repeated-name": changed(catalogue={"names": ["x"] * N_ITEMS}),
        "itemsets": (home / "i.json").read_text(),
    }


BAD_PLANS = [
    "empty", "cut", "cut-end", "not-json", "a-list", "deep", "broken-promise", "version-3", "unknown-kind",
    "more-fields", "fewer-fields", "huge-exponent", "huge-float", "huge-integer", "long-integer", "huge-weights",
    "weight-exponent", "huge-weight-bits", "huge-field", "huge-catalogue", "repeated-name", "itemsets",
]  # fmt: skip


@pytest.mark.parametrize("name", BAD_PLANS)
def test_bad_plans(home: Path, tmp_path: Path, name: str) -> None:
    """A bad plan is refused with one line that names the file, before any basket is read."""
    plan = tmp_path / "bad.json"
    plan.write_text(bad_plans(home)[name])
    message = refused_without_output(
        tmp_path, "randomize", tmp_path / "missing.dat", "--plan", plan, "-o", tmp_path / "r.parquet"
    )
    assert message.startswith(f"{plan}: ")
    assert len(message) < 500
    refused_without_output(tmp_path, "simulate", home / "b.dat", "--plan", plan, "--min-support", "20%")


@pytest.mark.parametrize("name", [name for name in BAD_PLANS if name not in ("itemsets", "deep")])
def test_bad_plans_are_not_described(home: Path, tmp_path: Path, name: str) -> None:
    """Inspect describes no bad plan."""
    plan = tmp_path / "bad.json"
    plan.write_text(bad_plans(home)[name])
    refused("inspect", plan)


@pytest.mark.parametrize("name", ["missing.json", "folder", "r.parquet"])
def test_files_that_are_no_plan(home: Path, tmp_path: Path, name: str) -> None:
    """A missing file, a folder and reports are no plan."""
    (tmp_path / "folder").mkdir()
    plan = home / name if name == "r.parquet" else tmp_path / name
    output = ["-o", tmp_path / "r.parquet"]
    assert str(plan) in refused_without_output(tmp_path, "randomize", home / "b.dat", "--plan", plan, *output)


# ---- bad reports


def test_reports_of_another_plan(home: Path, tmp_path: Path) -> None:
    """Reports of two plans are not mined together."""
    run("plan", "--items", N_ITEMS, "--transaction-size", 3, "--prior", "5%", "--posterior", "40%", "-o",
        tmp_path / "p.json")  # fmt: skip
    run("randomize", home / "b.dat", "--plan", tmp_path / "p.json", "-o", tmp_path / "a.parquet")
    other = [home / "r.parquet", "--min-support", "20%", "-o", tmp_path / "i.parquet"]
    assert "cannot be mixed" in refused_without_output(tmp_path, "mine", tmp_path / "a.parquet", *other)
    (tmp_path / "b.parquet").write_bytes((home / "r.parquet").read_bytes())
    for command in (["mine", tmp_path, "--min-support", "20%"], ["inspect", tmp_path]):
        assert "cannot be mixed" in refused(*command)


def damaged(whole: bytes, how: str) -> bytes:
    """Return a report file's bytes, damaged at some place."""
    middle, footer = len(whole) // 2, len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    at = {
        "page header": (4, b"\xff" * 8),
        "reports": (200, b"\xff" * 64),  # bits beyond the plan's
        "later reports": (middle, b"\xff" * 64),
        "footer": (footer, b"\xff" * 16),
        "footer length": (len(whole) - 8, b"\xff\xff\xff\x7f"),
        "last bytes": (len(whole) - 4, b"PAR0"),
    }
    if how == "cut":
        return whole[:middle]
    if how == "cut last byte":
        return whole[:-1]
    if how == "nothing":
        return b""
    start, bytes_there = at[how]
    return whole[:start] + bytes_there + whole[start + len(bytes_there) :]


@pytest.mark.parametrize(
    "how",
    ["page header", "reports", "later reports", "footer", "footer length", "last bytes", "cut", "cut last byte",
     "nothing"],
)  # fmt: skip
def test_damaged_reports(home: Path, tmp_path: Path, how: str) -> None:
    """Reports damaged at any of several places are refused, by mine and by inspect."""
    path = tmp_path / "r.parquet"
    path.write_bytes(damaged((home / "r.parquet").read_bytes(), how))
    refused_without_output(tmp_path, "mine", path, "--min-support", "20%", "-o", tmp_path / "i.parquet")
    refused("inspect", path)


@pytest.mark.parametrize("name", ["plan.json", "b.dat", "lists.parquet", "i.parquet", "none.parquet"])
def test_files_that_are_no_reports(home: Path, tmp_path: Path, name: str) -> None:
    """A plan, baskets, itemsets and a missing file are no reports."""
    message = refused("mine", home / name, "--min-support", "20%", "-o", tmp_path / "i.parquet")
    assert str(home / name) in message
    assert not any(tmp_path.iterdir())


def test_folder_without_reports(tmp_path: Path) -> None:
    """A folder without Parquet files has nothing to mine."""
    (tmp_path / "a.txt").write_text("")
    assert "no report files" in refused_without_output(tmp_path, "mine", tmp_path, "--min-support", "20%")


def test_itemsets_beyond_the_generator(home: Path, tmp_path: Path) -> None:
    """Itemsets that the plan's reports cannot answer for are refused, with the remedy."""
    question = [home / "r.parquet", "--min-support", "20%", "-o", tmp_path / "i.parquet", "--max-itemset"]
    for size in (4, 0, -1):
        refused_without_output(tmp_path, "mine", *question, size)
    run(*PLAN_ARGUMENTS, "--itemset-size", 1, "--code", "bch", "-o", tmp_path / "p.json")
    run("randomize", home / "b.dat", "--plan", tmp_path / "p.json", "-o", tmp_path / "r.parquet")
    message = refused("mine", tmp_path / "r.parquet", "--min-support", "20%", "--max-itemset", 3)
    assert "--itemset-size 3" in message
    refused("simulate", home / "b.dat", "--plan", tmp_path / "p.json", "--min-support", "20%", "--max-itemset", 3)


# ---- bad numbers


@pytest.mark.parametrize("support", ["0", "0%", "-1", "1.5", "abc", "nan", "inf", "", "1e999999999", "1/0", "200%"])
def test_bad_supports(home: Path, tmp_path: Path, support: str) -> None:
    """A minimum support is a number above 0 and at most 1."""
    output = ["-o", tmp_path / "i.parquet"]
    refused_without_output(tmp_path, "mine", home / "r.parquet", f"--min-support={support}", *output)
    refused("simulate", home / "b.dat", "--plan", home / "plan.json", f"--min-support={support}")


@pytest.mark.parametrize("confidence", ["2", "-0.5", "abc", "nan", "101%", ""])
def test_bad_confidences(home: Path, tmp_path: Path, confidence: str) -> None:
    """A minimum confidence is a number from 0 to 1."""
    output = ["-o", tmp_path / "rules.csv"]
    refused_without_output(tmp_path, "rules", home / "i.parquet", f"--min-confidence={confidence}", *output)


@pytest.mark.parametrize("level", ["0", "1", "-1", "nan", "inf"])
def test_bad_confidence_levels(home: Path, tmp_path: Path, level: str) -> None:
    """The level of an interval lies between 0 and 1."""
    question = ["mine", home / "r.parquet", "--min-support", "20%", "-o", tmp_path / "i.parquet"]
    refused_without_output(tmp_path, *question, f"--confidence-level={level}")


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


@pytest.mark.parametrize("name", ["plan", "randomize", "mine", "rules", "inspect", "simulate", "generate quest"])
def test_missing_options_are_named(name: str) -> None:
    """A command without what it requires ends with status 2 and names what is missing."""
    assert refused(*name.split(), status=2).startswith("Missing ")


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (["mine", "r.parquet"], "--min-support"),
        (["simulate", "b.dat", "--plan", "plan.json"], "--min-support"),
        (["simulate", "b.dat", "--min-support", "2%"], "--plan"),
        (["rules", "i.parquet"], "--min-confidence"),
        (["refine", "i.parquet", "-o", "p.json"], "--plan"),
        (["refine", "i.parquet", "--plan", "plan.json"], "--output"),
        (["simulate", "b.dat", "--rounds", "1", "--prior", "5%"], "--posterior"),
        (["simulate", "b.dat", "--rounds", "1", "--posterior", "5%"], "--prior"),
        (["plan", "--histogram", "--prior", "5%", "-o", "p.json"], "--posterior"),
        (["randomize", "b.dat", "--plan", "plan.json"], "--output"),
        (["plan", "--items", "5", *PROMISE, "-o", "p.json"], "--transaction-size"),
    ],
    ids=str,
)
def test_each_required_option_is_required(arguments: list[str], missing: str) -> None:
    """Leaving one required option out is wrong usage."""
    assert missing in refused(*arguments, status=2)


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
        (tmp_path / name).write_bytes(bad_baskets(home)[name])
    refused_without_output(tmp_path, *PLAN_ARGUMENTS, "--baskets", tmp_path / name, "-o", tmp_path / "p.json")


@pytest.mark.parametrize(
    "wrong",
    ["--baskets=0", "--baskets=-1", f"--baskets={10**30}", "--items=0", f"--items={10**30}", "--mean-size=nan",
     "--mean-size=-1", "--mean-size=inf", "--patterns=0", "--mean-pattern-size=0", "--mean-pattern-size=nan"],
)  # fmt: skip
def test_bad_generators(tmp_path: Path, wrong: str) -> None:
    """Baskets that cannot be generated are refused, and no file is made."""
    refused_without_output(tmp_path, "generate", "quest", "--baskets", 10, wrong, "-o", tmp_path / "b.dat")


# ---- bad outputs


def writing_commands(home: Path) -> dict[str, tuple[list[Any], str]]:
    """Return every command that writes one file, without its -o, and the extension of what it writes."""
    return {
        "plan": (PLAN_ARGUMENTS, ".json"),
        "randomize": (["randomize", home / "b.dat", "--plan", home / "plan.json"], ".parquet"),
        "mine to parquet": (["mine", home / "r.parquet", "--min-support", "20%"], ".parquet"),
        "mine to csv": (["mine", home / "r.parquet", "--min-support", "20%"], ".csv"),
        "mine to json": (["mine", home / "r.parquet", "--min-support", "20%"], ".json"),
        "rules to parquet": (["rules", home / "i.parquet", "--min-confidence", "20%"], ".parquet"),
        "rules to csv": (["rules", home / "i.parquet", "--min-confidence", "20%"], ".csv"),
        "rules to json": (["rules", home / "i.parquet", "--min-confidence", "20%"], ".json"),
        "generate": (["generate", "quest", "--baskets", 100], ".dat"),
        "refine": (["refine", home / "i.parquet", "--plan", home / "plan.json", "--top", 3], ".json"),
        "histogram": (["plan", "--histogram", *PROMISE], ".json"),
        "combine to csv": (["combine", home / "i.parquet", home / "other.csv"], ".csv"),
        "combine to parquet": (["combine", home / "i.parquet", home / "other.csv"], ".parquet"),
        "combine to json": (["combine", home / "i.parquet", home / "other.csv"], ".json"),
    }


WRITING = [
    "plan", "randomize", "mine to parquet", "mine to csv", "mine to json", "rules to parquet", "rules to csv",
    "rules to json", "generate", "refine", "histogram", "combine to csv", "combine to parquet", "combine to json",
]  # fmt: skip


@pytest.mark.parametrize("command", WRITING)
def test_existing_outputs(home: Path, tmp_path: Path, command: str) -> None:
    """An existing file is left alone without --force and replaced with it."""
    arguments, ending = writing_commands(home)[command]
    output = tmp_path / f"out{ending}"
    output.write_text("keep me")
    assert "--force" in refused_without_output(tmp_path, *arguments, "-o", output)
    run(*arguments, "-o", output, "--force")
    assert output.read_bytes()[:7] != b"keep me"
    assert [path.name for path in tmp_path.iterdir()] == [output.name]


@pytest.mark.parametrize("command", WRITING)
def test_outputs_without_a_folder(home: Path, tmp_path: Path, command: str) -> None:
    """A missing folder is not made, and a folder is no file."""
    arguments, ending = writing_commands(home)[command]
    assert "does not exist" in refused_without_output(tmp_path, *arguments, "-o", tmp_path / "none" / f"out{ending}")
    (tmp_path / f"folder{ending}").mkdir()
    assert "is a folder" in refused_without_output(tmp_path, *arguments, "-o", tmp_path / f"folder{ending}", "--force")


@pytest.mark.parametrize("command", WRITING)
def test_full_disk(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """When the disk is full the final name stays free, or keeps what it had."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic.os, "fsync", full)
    arguments, ending = writing_commands(home)[command]
    output = tmp_path / f"out{ending}"
    message = refused_without_output(tmp_path, *arguments, "-o", output)
    assert os.strerror(errno.ENOSPC) in message
    assert not any(tmp_path.iterdir())
    output.write_text("keep me")
    refused_without_output(tmp_path, *arguments, "-o", output, "--force")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.parametrize("command", WRITING)
def test_unwritable_folder(home: Path, tmp_path: Path, command: str) -> None:
    """A folder that may not be written to is an error in one line."""
    arguments, ending = writing_commands(home)[command]
    tmp_path.chmod(0o500)
    try:
        refused_without_output(tmp_path, *arguments, "-o", tmp_path / f"out{ending}")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("name", ["out.txt", "out", "out.parquet.gz", ".csv"])
@pytest.mark.parametrize("command", ["mine to csv", "rules to csv", "combine to csv"])
def test_unknown_extensions(home: Path, tmp_path: Path, command: str, name: str) -> None:
    """Tables are written as .parquet, .csv or .json only."""
    arguments, _ = writing_commands(home)[command]
    assert "must end in" in refused_without_output(tmp_path, *arguments, "-o", tmp_path / name)


def test_generated_baskets_need_a_known_extension(tmp_path: Path) -> None:
    """Generated baskets are .dat or .csv."""
    refused_without_output(tmp_path, "generate", "quest", "--baskets", 9, "-o", tmp_path / "b.txt", status=2)


def test_a_name_too_long_for_the_system(home: Path, tmp_path: Path) -> None:
    """A path that the system refuses is an error in one line, for input and output."""
    long = tmp_path / ("x" * 300 + ".json")
    refused_without_output(tmp_path, *PLAN_ARGUMENTS, "-o", long)
    for command in (
        ["mine", long, "--min-support", "20%"],
        ["inspect", long],
        ["rules", long, "--min-confidence", "1"],
    ):
        refused(*command)


# ---- bad itemsets


def test_rules_need_what_mine_wrote(home: Path, tmp_path: Path) -> None:
    """A bare CSV, reports, a plan, baskets and damaged files are no itemsets."""
    (tmp_path / "bare.csv").write_text('support,itemsets\n0.5,"milk"\n')
    whole = (home / "i.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.parquet").write_bytes(b"")
    (tmp_path / "cut.csv").write_bytes((home / "i.csv").read_bytes()[:300])
    (tmp_path / "cut.json").write_bytes((home / "i.json").read_bytes()[:300])
    (tmp_path / "latin.csv").write_bytes(b"# assocpriv-itemsets {}\n\xe9\n")
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    files += [home / "r.parquet", home / "plan.json", home / "b.csv", home / "lists.parquet", tmp_path / "none.csv"]
    files += [home / "b.dat", tmp_path]
    for path in files:
        question = ["rules", path, "--min-confidence", "50%", "-o", tmp_path / "rules.csv"]
        assert str(path) in refused_without_output(tmp_path, *question)


def test_bare_tables_are_told_what_they_lack(tmp_path: Path) -> None:
    """A CSV of supports alone is told that rules need the plan, the number of reports and the counts."""
    (tmp_path / "bare.csv").write_text('support,itemsets\n0.5,"milk"\n')
    message = refused("rules", tmp_path / "bare.csv", "--min-confidence", "50%")
    assert "the number of reports and the counts" in message


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"groups": [{}]}, id="groups"),
        pytest.param({"format": "other"}, id="format"),
        pytest.param({"itemsets": None}, id="no itemsets"),
        pytest.param({"itemsets": 5}, id="itemsets a number"),
        pytest.param({"reports": "many"}, id="reports"),
        pytest.param({"reports": None}, id="no reports"),
        pytest.param({"population": None}, id="no population"),
        pytest.param({"plan_id": None}, id="no plan id"),
        pytest.param({"version": 4}, id="version"),
    ],
)
def test_tampered_itemsets(home: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    """A file of itemsets without a fact that rules need, or of a later version, is refused."""
    content = json.loads((home / "i.json").read_text()) | change
    content = {name: value for name, value in content.items() if value is not None}
    (tmp_path / "i.json").write_text(json.dumps(content))
    refused("rules", tmp_path / "i.json", "--min-confidence", "10%")


@pytest.mark.parametrize("command", [["inspect"], ["rules", "--min-confidence=1"]], ids=["inspect", "rules"])
def test_deeply_nested_json(tmp_path: Path, command: list[str]) -> None:
    """A JSON text nested deeper than Python reads is refused."""
    (tmp_path / "deep.json").write_text("[" * 100_000)
    refused(*command, tmp_path / "deep.json")


@pytest.mark.parametrize("name", ["b.dat", "b.csv", "names.txt", "lists.parquet", "none.json"])
def test_inspect_refuses_other_files(home: Path, name: str) -> None:
    """Inspect says what speaks against a file being anything it knows."""
    message = refused("inspect", home / name)
    assert str(home / name) in message
    assert not message.rstrip().endswith(":")


@pytest.mark.parametrize("reports", ["0", "-1"])
def test_inspect_needs_a_number_of_reports(home: Path, reports: str) -> None:
    """A plan is described for at least one report."""
    refused("inspect", home / "plan.json", f"--reports={reports}")


# ---- interrupts


def test_interrupted_randomizing(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt in the middle of randomizing ends with status 1 and leaves no file, finished or not."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(BulkRandomizer, "randomize", interrupt)
    question = ["randomize", home / "b.dat", "--plan", home / "plan.json", "-o", tmp_path / "r.parquet"]
    result = CliRunner().invoke(main, list(map(str, question)))
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    assert not any(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing_unfinished(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C or kill in the middle of a real run ends with status 1 and takes the unfinished file away."""
    (tmp_path / "b.dat").write_bytes(b"1 2 3\n5 7\n" * 2_000_000)
    run("plan", "--items", 9, "--transaction-size", 3, *PROMISE, "--code", "bch", "-o", tmp_path / "plan.json")
    (tmp_path / "out").mkdir()
    command = ["randomize", tmp_path / "b.dat", "--plan", tmp_path / "plan.json", "-o", tmp_path / "out" / "r.parquet"]
    with subprocess.Popen([sys.executable, "-m", "assocpriv", *map(str, command)], stderr=subprocess.PIPE) as process:
        until = monotonic() + 60
        while not any(tmp_path.glob("out/.*.part")) and process.poll() is None and monotonic() < until:
            sleep(0.01)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"Traceback" not in errors
    assert not any((tmp_path / "out").iterdir())


def test_out_of_memory(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Running out of memory is an error in one line."""

    def greedy(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(BulkRandomizer, "randomize", greedy)
    question = ["randomize", home / "b.dat", "--plan", home / "plan.json", "-o", tmp_path / "r.parquet"]
    assert "out of memory" in refused_without_output(tmp_path, *question)


# ---- help and docs


def commands(command: click.Command = main, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Yield every command, groups too, with its name as it is typed."""
    yield " ".join(("assocpriv", *path)), command
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from commands(below, (*path, name))


ALL = dict(commands())
LEAVES = [name for name, command in ALL.items() if not isinstance(command, click.Group)]


@pytest.mark.parametrize("name", sorted(ALL))
def test_help_shows_an_example(name: str) -> None:
    """Every command's help shows an example that can be typed: it begins with the program and parses."""
    said = run(*name.split()[1:], "--help").stdout
    examples = [line.strip().split() for line in said.splitlines() if line.strip().startswith("assocpriv ")]
    assert examples
    for example in examples:
        command: click.Command = main
        words = example[1:]
        while isinstance(command, click.Group):
            command, words = command.commands[words[0]], words[1:]
        assert parses(command, words)


def parses(command: click.Command, words: list[str]) -> bool:
    """Tell whether a command takes these words; click refuses them otherwise."""
    return bool(command.make_context("command", words, resilient_parsing=False))


def section(name: str) -> str:
    """Return a command's section of docs/cli.md."""
    parts = re.split(r"^## (.+)$", DOCS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[f"`{name}`"]


def test_docs_have_a_section_for_each_command() -> None:
    """docs/cli.md has one section for every command and none for others."""
    headings = re.findall(r"^## `(assocpriv .+)`$", DOCS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(headings) == sorted(LEAVES)


@pytest.mark.parametrize("name", LEAVES)
def test_docs_name_all_options(name: str) -> None:
    """A command's section names all its options, arguments and choices, and no option it does not have."""
    text, parameters = section(name), ALL[name].params
    cells = re.findall(r"^\| (`-[^|]+) \|", text, flags=re.MULTILINE)
    told = {word for cell in cells for word in re.findall(r"`(-[^ `]+)", cell)}
    has = {option for parameter in parameters for option in parameter.opts if option.startswith("-")}
    assert told == has | {"-h", "--help"}
    for parameter in parameters:
        if isinstance(parameter, click.Argument):
            assert f"`{parameter.name.upper()}" in text
        if isinstance(parameter.type, click.Choice):
            assert all(f"`{choice}`" in text for choice in parameter.type.choices)


@pytest.mark.parametrize("name", LEAVES)
def test_docs_have_examples_that_parse(name: str) -> None:
    """A command's section shows an example of it, and every example can be typed."""
    blocks = re.findall(r"```\n(.*?)```", section(name), flags=re.DOTALL)
    examples = [line for block in blocks for line in block.splitlines() if line.startswith("assocpriv ")]
    assert any(line.startswith(f"{name} ") or line == name for line in examples)
    for line in examples:
        if line.startswith(name):
            assert parses(ALL[name], line.removeprefix(name).split())


JSON_COMMANDS: dict[str, Callable[[Path, Path], list[Any]]] = {
    "assocpriv warm-up": lambda home, out: ["warm-up"],
    "assocpriv plan": lambda home, out: [*PLAN_ARGUMENTS, "-o", out / "p.json"],
    "assocpriv randomize": lambda home, out: [
        "randomize", home / "b.dat", "--plan", home / "plan.json", "-o", out / "r.parquet"
    ],
    "assocpriv report": lambda home, out: [
        "report", "--plan", home / "plan.json", "--ledger", out / "l.bin", "--occasion", "now", "--basket", "1,2",
        "-o", out / "r.bin",
    ],
    "assocpriv mine": lambda home, out: ["mine", home / "r.parquet", "--min-support", "20%"],
    "assocpriv rules": lambda home, out: ["rules", home / "i.parquet", "--min-confidence", "10%"],
    "assocpriv ask": lambda home, out: ["ask", home / "r.parquet", "--itemset", "1,2", "--rule", "1=>2"],
    "assocpriv refine": lambda home, out: [
        "refine", home / "i.parquet", "--plan", home / "plan.json", "--top", 3, "-o", out / "p.json"
    ],
    "assocpriv combine": lambda home, out: ["combine", home / "i.parquet", home / "other.csv"],
    "assocpriv privacy": lambda home, out: ["privacy", home / "plan.json", "--shuffled", 1000],
    "assocpriv inspect": lambda home, out: ["inspect", home / "r.parquet"],
    "assocpriv simulate": lambda home, out: [
        "simulate", home / "b.dat", "--plan", home / "plan.json", "--min-support", "20%"
    ],
    "assocpriv audit": lambda home, out: [
        "audit", home / "plan.json", "--trials", 1000, "--confidence", "99.9999%"
    ],
    "assocpriv generate quest": lambda home, out: ["generate", "quest", "--baskets", 9, "-o", out / "b.dat"],
    "assocpriv demo": lambda home, out: ["demo", "--baskets", home / "b.dat", "-o", out / "demo"],
}  # fmt: skip


@pytest.mark.parametrize("name", JSON_COMMANDS)
def test_docs_name_all_json_keys(home: Path, tmp_path: Path, name: str) -> None:
    """A command's section names every key that its --json prints."""
    record = run_json(*JSON_COMMANDS[name](home, tmp_path))
    assert [key for key in record if f"`{key}`" not in section(name)] == []


def test_every_json_command_is_tried() -> None:
    """The list above holds every command that has --json."""
    with_json = [name for name in LEAVES if any("--json" in parameter.opts for parameter in ALL[name].params)]
    assert sorted(JSON_COMMANDS) == sorted(with_json)


def test_an_input_is_never_overwritten(home: Path, tmp_path: Path) -> None:
    """Even with --force the output may not be a file that is read: baskets, plan, reports or itemsets."""
    for name in ("b.dat", "plan.json", "r.parquet", "i.json"):
        (tmp_path / name).write_bytes((home / name).read_bytes())
    baskets, plan, reports, itemsets = (tmp_path / name for name in ("b.dat", "plan.json", "r.parquet", "i.json"))
    for commands in (
        ["randomize", baskets, "--plan", plan, "-o", baskets],
        ["randomize", baskets, "--plan", plan, "-o", plan],
        ["mine", reports, "--min-support", "10%", "-o", reports],
        ["rules", itemsets, "--min-confidence", "10%", "-o", itemsets],
        ["refine", itemsets, "--plan", plan, "-o", plan],
        ["combine", itemsets, home / "other.csv", "-o", itemsets],
    ):
        assert "is an input" in refused_without_output(tmp_path, *commands, "--force")


def test_itemsets_may_lie_beside_their_reports(home: Path, tmp_path: Path) -> None:
    """A folder in which itemsets were kept beside reports is still one collection of those reports."""
    (tmp_path / "r.parquet").write_bytes((home / "r.parquet").read_bytes())
    run("mine", tmp_path / "r.parquet", "--min-support", "10%", "-o", tmp_path / "found.parquet")
    alone = run_json("mine", tmp_path / "r.parquet", "--min-support", "10%")
    assert run_json("mine", tmp_path, "--min-support", "10%") == alone
