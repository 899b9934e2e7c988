"""Tests of the commands plan, refine and catalogue.

Tests of the command plan: what a plan says, which requests are refused, and plans of sizes alone.

Tests of the command refine.

Tests of the command catalogue, and of its front.

Commands on a plan with blocks, as a newcomer types them: randomize, mine, rules, ask, inspect, gather.
"""

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import naive
import numpy as np
import pandas as pd
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

import assocpriv as ap
from assocpriv import check_catalogue, draft_catalogue
from assocpriv.cli.main import main
from assocpriv.client.baskets import Randomizer
from assocpriv.files.plans import read_plan, write_plan
from assocpriv.planning.discovery import describe_privacy, foresee
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.view import Blocks, View
from assocpriv.promise.entropy import SystemEntropy


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


def test_refine_says_what_both_answers_tell(home: Path, tmp_path: Path) -> None:
    """The text names other people, the catalogue and the composed promise; the record has them exactly."""
    question = ["refine", home / "i.parquet", "--plan", home / "plan.json", "--top", 3, "-o", tmp_path / "p.json"]
    said = run(*question).stdout
    assert "OTHER people" in said
    assert "answering both plans: γ < 361" in said
    assert "5% becomes at most 95%" in said
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


BASKETS = "Milk,bread,cafe\u0301\nmilk,bread\nbread,ice  cream\nbread,tea\n"
NAMES = ["Milk", "bread", "café", "ice cream", "milk", "tea"]


@pytest.fixture
def baskets(tmp_path: Path) -> Path:
    """Return a file of baskets with names that are twins, decomposed and with two blanks."""
    (tmp_path / "b.csv").write_text(BASKETS, encoding="utf-8")
    return tmp_path / "b.csv"


def test_a_catalogue_is_made(baskets: Path, tmp_path: Path) -> None:
    """Names are written in one form, sorted; what was rewritten and who are twins is said; a plan takes the file."""
    output = tmp_path / "names.txt"
    result = run("catalogue", baskets, "-o", output)
    assert output.read_text(encoding="utf-8").splitlines() == NAMES
    assert result.stdout == f"6 names written to {output}; they get published: read them first\n"
    for said in ("4 baskets, 6 items", "2 names put into Unicode form NFC", "1 group of names differ", "Milk | milk"):
        assert said in result.stderr
    record = run_json("plan", "--catalogue", output, "--transaction-size", 2, "--prior", "5%", "--posterior", "50%",
                      "-o", tmp_path / "p.json")  # fmt: skip
    assert record["items"] == 6
    refused_without_output(tmp_path, "catalogue", baskets, "-o", output)
    refused_without_output(tmp_path, "catalogue", baskets, "-o", baskets, "--force")


def test_rare_names_and_several_files(baskets: Path, tmp_path: Path) -> None:
    """Only names in enough baskets of all files stay; without a file they go to standard output."""
    (tmp_path / "more.csv").write_text("tea;milk\n")
    result = run("catalogue", baskets, tmp_path / "more.csv", "--min-count", 2)
    assert result.stdout.splitlines() == ["bread", "milk", "tea"]
    assert "3 rarer names left out" in result.stderr
    record = run_json("catalogue", baskets, "--min-count", 4)
    assert record == {
        "items": 1, "baskets": 4, "rare": 5, "rewritten": 2, "twins": [], "names": ["bread"], "output": None
    }  # fmt: skip
    assert "no item is in 5 baskets or more; lower min_count (--min-count)" in refused(
        "catalogue", baskets, "--min-count", 5
    )


def test_forms_of_a_name_in_one_basket_count_once() -> None:
    """A basket that holds a name in two Unicode forms is one basket of it."""
    forms = ["caf\u00e9", "cafe\u0301", " caf\u00e9"]
    data = [[*forms[:2], "tea"], ["x", "tea"], ["x", forms[2]]]
    assert list(ap.catalogue([forms[:2], ["x"], ["x"]], min_count=2)) == ["x"]
    for min_count, names in ((1, ["café", "tea", "x"]), (2, ["café", "tea", "x"]), (3, None)):
        if names is None:
            with pytest.raises(ap.AssocprivError, match="no item is in 3 baskets"):
                ap.catalogue(data, min_count=min_count)
        else:
            assert list(ap.catalogue(data, min_count=min_count)) == names


def test_numbers_are_sorted_by_value(tmp_path: Path) -> None:
    """Item numbers that occur become names, in the order of numbers."""
    (tmp_path / "b.dat").write_text("10 9\n9 2\n")
    assert run("catalogue", tmp_path / "b.dat").stdout.split() == ["2", "9", "10"]


def test_a_catalogue_is_checked(baskets: Path, tmp_path: Path) -> None:
    """Twins, names in other forms, and how baskets fit are told; a good one is called good."""
    odd = tmp_path / "odd.txt"
    odd.write_text("Milk\nmilk\nice  cream\nbread\nsalt\n", encoding="utf-8")
    said = run("catalogue", "--check", odd, baskets).stdout
    for line in ("5 items", "1 name not in Unicode form NFC with single blanks, as 'ice  cream'", "Milk | milk",
                 "4 baskets: 2 items not in the catalogue; 1 name of it in none of them"):  # fmt: skip
        assert line in said
    good = tmp_path / "good.txt"
    good.write_text("milk\nbread\n")
    assert "no names that people may take for one" in run("catalogue", "--check", good).stdout
    assert run_json("catalogue", "--check", good) == {
        "items": 2, "odd": [], "twins": [], "baskets": None, "unknown": None, "unused": None
    }  # fmt: skip
    good.write_text("milk\nmilk\n")
    assert "entry 2 repeats an earlier name" in refused("catalogue", "--check", good)


def test_wrong_usage_of_catalogue(baskets: Path, tmp_path: Path) -> None:
    """Neither baskets nor a catalogue to check, and options of the other, are wrong usage."""
    refused("catalogue", status=2)
    refused("catalogue", baskets, "--min-count", 0, status=2)
    refused("catalogue", "--check", baskets, "-o", tmp_path / "n.txt", status=2)
    refused("catalogue", baskets, "--separator", "x", status=2)
    assert "no such file" in refused("catalogue", tmp_path / "none.csv")


def test_the_door_of_catalogues(baskets: Path, tmp_path: Path) -> None:
    """In Python files, lists and frames make a catalogue, with a warning of twins, and it is written and read."""
    with pytest.warns(UserWarning, match=r"1 group of names differ in case") as warned:
        made = ap.catalogue(baskets)
    assert "milk" not in str(warned[0].message).lower()
    assert "Milk" not in repr(draft_catalogue([baskets]))
    assert list(made) == NAMES
    frame = pd.DataFrame({"order": [1, 1, 2], "product": ["tea", "salt", "tea"]})
    assert list(ap.catalogue([["salt", "oil"], ["oil"]], frame, min_count=2)) == ["oil", "salt", "tea"]
    ap.write_catalogue(made, tmp_path / "n.txt")
    assert ap.read_catalogue(tmp_path / "n.txt") == made
    with pytest.raises(ap.AssocprivError, match="exists"):
        ap.write_catalogue(made, tmp_path / "n.txt")
    with pytest.raises(ap.AssocprivError, match="min_count"):
        ap.catalogue(baskets, min_count=0)
    assert draft_catalogue([baskets]).rewritten == 2
    assert check_catalogue(ap.Catalogue.numbered(3)).twins == ()


def test_a_sample_is_held_against_the_catalogue(home: Path, tmp_path: Path) -> None:
    """A sample with other items is refused, with what to do; how many baskets it has is said beside the reports."""
    (tmp_path / "n.txt").write_text("bread\nmilk\n")
    (tmp_path / "b.csv").write_text("bread,milk\nbread\ntea,milk,bread\n")
    question = ["plan", "--catalogue", tmp_path / "n.txt", "--baskets", tmp_path / "b.csv", "--prior", "5%",
                "--posterior", "50%", "-o", tmp_path / "p.json"]  # fmt: skip
    message = refused_without_output(tmp_path, *question)
    assert "the 1st item of line 3 is not in the catalogue" in message
    assert "--unknown drop" in message
    said = run(*question, "--unknown", "drop").stderr
    assert "sample of 3 baskets, plan for 1,000,000 reports (--reports)" in said
    assert "1 items outside the catalogue dropped" in said
    assert "warning: 1,000,000 reports are the default; for as many as the sample has give --reports 3" in said
    assert "from 3 reports the lowest discoverable support would be: single items" in said
    assert "are the default" not in run(*question, "--unknown", "drop", "--force", "--reports", 1000).stderr
    assert run(*question, "--others", "drop", "--force").exit_code == 0
    assert refused("plan", "--items", 3, "--baskets", home / "b.dat", *question[5:], "--force").count("catalogue")


def test_commands_say_what_was_understood(tmp_path: Path) -> None:
    """Every command that reads baskets takes options of their layout, and says on standard error what it took."""
    rows = "".join(f"{row};{item};2,5\n" for row in range(3000) for item in (row % 5, 5 + row % 3))
    (tmp_path / "sales.csv").write_text("bon;ware;preis\n" + rows)
    columns = ["--transaction-column", "bon", "--item-column", "2"]
    promise = ["--prior", "5%", "--posterior", "50%"]
    said = "sales.csv: CSV with semicolons and a header; transactions in column 1, items in column 2"
    plan, sales = tmp_path / "p.json", tmp_path / "sales.csv"
    assert said in run("plan", "--items", 8, "--baskets", sales, *columns, *promise, "-o", plan).stderr
    for question in (
        ["randomize", sales, "--plan", plan, "-o", tmp_path / "r.parquet"],
        ["simulate", sales, "--plan", plan, "--min-support", "20%"],
        ["demo", "--baskets", sales, "-o", tmp_path / "demo", "--min-support", "20%", "--transaction-size", "2"],
        ["catalogue", sales],
    ):
        result = run(*question, *columns, "--json")
        assert said in result.stderr
        assert json.loads(result.stdout)
        assert "as in a table" in refused(*question, "--force" if question[0] in ("randomize", "demo") else "--json")
    ap.randomize(sales, ap.read_plan(plan), tmp_path / "q.parquet", transaction_column=1, item_column="ware")


BLOCK_NAMES = ["tea", "jam", "ale", "fig", "oat", "nut"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a plan of blocks of three items and reports of baskets, most with tea and jam."""
    path = tmp_path_factory.mktemp("blocks")
    write_plan(plan(), path / "plan.json")
    rows = ["tea,jam", "tea,jam,ale", "tea,jam,fig,oat", "nut", "tea,ale,fig,oat,nut,jam"] * 400
    (path / "baskets.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    randomized = invoke(
        "randomize", path / "baskets.csv", "--plan", path / "plan.json", "-o", path / "r.parquet", "--format", "basket"
    )
    assert randomized.exit_code == 0, randomized.stderr
    return path


def plan() -> Plan:
    """Return a plan of blocks of three items, of which three are reported."""
    inside = naive.small_plan("bch", 3, 3, 2, insert=(1, 3), shares=[1, 1, 1, 500])
    return replace(inside, catalogue=Catalogue(BLOCK_NAMES), view=View(blocks=Blocks(20, 2, 5)))


def invoke(*arguments: object):
    """Run a command."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


def test_mined_and_rules(folder: Path) -> None:
    """Text says that supports are of whole baskets and what reports are about; JSON and the table say it in fields."""
    text = invoke("mine", folder / "r.parquet", "--min-support", "50%", "-o", folder / "m.csv").stdout
    assert "from 2,000 reports; supports are those of whole baskets; ± error: one standard error" in text
    assert "each report is about one of 40 random blocks of 3 items" in text
    assert "which takes less than 0.25 standard errors from any support" in text
    found = json.loads(invoke("mine", folder / "r.parquet", "--min-support", "50%", "--json").stdout)
    assert found["version"] == 4
    assert found["meaning"] == "supports are those of whole baskets"
    assert found["blocks"]["whole_baskets"] is True
    assert len(found["blocks"]["held"]) == 4
    (pair,) = [row for row in found["itemsets"] if row["itemset"] == ["jam", "tea"]]
    assert pair["reports"] < 0.4 * 2000
    assert abs(pair["support"] - 0.8) < 5 * pair["std_error"]
    rules = invoke("rules", folder / "m.csv", "--min-confidence", "80%").stdout
    assert "jam → tea" in rules
    assert "supports are those of whole baskets" in rules


def test_asked_and_inspected(folder: Path) -> None:
    """Answers stand with their reports; inspect counts the reports and says what liars can do."""
    text = invoke("ask", folder / "r.parquet", "--itemset", "tea,jam", "--rule", "tea => jam").stdout
    assert "supports are those of whole baskets" in text
    asked = json.loads(invoke("ask", folder / "r.parquet", "--itemset", "tea,jam", "--json").stdout)
    assert asked["blocks"]["items"] == 6
    assert asked["itemsets"][0]["reports"] < 0.4 * 2000
    inspected = invoke("inspect", folder / "r.parquet")
    assert inspected.exit_code == 0
    assert "2,000 reports" in inspected.stdout


def test_single_reports_are_gathered(folder: Path, tmp_path: Path) -> None:
    """Reports of a block are taken by their length; one of a block that there is not stays, and is named."""
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    report = Randomizer(plan()).randomize([0, 1], entropy=SystemEntropy())
    (inbox / "good").write_bytes(report)
    (inbox / "bad").write_bytes(b"\xff\xff" + report[2:])
    gathered = invoke("gather", inbox, "--plan", folder / "plan.json", "-o", tmp_path / "all", "--json")
    assert json.loads(gathered.stdout)["gathered"] == 1
    assert [path.name for path in inbox.iterdir()] == ["bad"]


def test_bad_input(folder: Path, tmp_path: Path) -> None:
    """A histogram is refused in one line, and nothing is written."""
    for arguments in (["--histogram", folder / "m.csv"],):
        out = tmp_path / "m.json"
        refused = invoke("mine", folder / "r.parquet", "--min-support", "50%", "-o", out, *arguments)
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
    text = invoke("privacy", folder / "plan.json").stdout
    assert "of one, all transactions of 3 items of the part drawn equally likely: WI " in text
