"""Tests of the commands plan, refine and catalogue: what they say, and which requests are refused."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import GUARANTEE, N_ITEMS, PLAN_ARGUMENTS, refused, refused_without_output, run, run_json

import assocpriv as ap


def test_plan_record(tmp_path: Path) -> None:
    """A plan's record has its id, its exact amplification below the guarantee's limit, and its detection limits."""
    record = run_json(*PLAN_ARGUMENTS, "-o", tmp_path / "p.json", "--people", 50_000)
    report_type, sizes = record["report_types"]
    assert "/" in record["amplification"]
    assert 1 < Fraction(record["amplification"]) < Fraction(record["amplification_limit"]) == 19
    assert 2.9 < record["epsilon"] < 2.9445
    assert re.fullmatch(r"[0-9a-f]{64}", record["plan_id"])
    assert re.fullmatch(r"[01]{4}", report_type["pattern"])
    assert (record["plan_type"], record["transaction_size"], record["reports"]) == ("baskets", 3, 50_000)
    assert record["report_bytes"] == 1 + -(-max(q["report_bits"] for q in record["report_types"]) // 8)
    assert (report_type["view"]["kind"], sizes["view"]["kind"], sizes["share"]) == ("items", "sizes", 0.04)
    one, whole = record["detectable_support"], record["detection_threshold"]
    assert list(one) == list(whole) == ["1", "2", "3"]
    assert all(0 < one[k] <= whole[k] for k in one)


def test_plan_options_matter(tmp_path: Path) -> None:
    """Each option shows in the plan: the paper's method, itemset size, basket sizes, reports per person."""
    plain = ["plan", "--items", 200, *GUARANTEE, "--rounds", 1, "--force", "-o", tmp_path / "p.json"]
    usual = run_json(*plain)
    [report_type] = run_json(*plain, "--paper", "--transaction-size", 3)["report_types"]
    assert re.fullmatch("0*1*", report_type["pattern"])
    assert (report_type["operator"], report_type["report_size"]) == ("select-a-size", None)
    assert "/" in report_type["default_probability"]
    assert list(run_json(*plain, "--itemset-size", 2)["expected"]) == ["1", "2"]
    short = run_json(*plain, "--mean-size", 2)
    assert short["transaction_size"] < usual["transaction_size"]
    assert (usual["assumed_sizes"]["source"], short["assumed_sizes"]["source"]) == ("default", "mean")
    assert [each["mean"] for each in short["other_means"]] == [1, 4]
    assert run_json(*plain, "--reports-per-person", 2)["expected"]["2"]["noise"] > usual["expected"]["2"]["noise"]


def test_the_text_states_assumptions_and_errors(tmp_path: Path) -> None:
    """The text states the assumed sizes, the M for other sizes, and errors in whole baskets."""
    asked = ["plan", "--items", 200, *GUARANTEE, "--rounds", 1, "--force", "-o", tmp_path / "p.json"]
    output, verbose = run(*asked).stdout, run("-v", *asked).stdout
    for words in (
        "1% of reports: a randomized answer about the number of items",
        "6 items on average, the default. Give `--mean-size`: the mean number of different items on a receipt.",
        f"baskets are cut to {run_json('inspect', tmp_path / 'p.json')['transaction_size']} items",
        "itemsets      example support  standard error  randomization  truncation  detection threshold",
    ):
        assert words in output
    assert re.search(r"if the mean is 3: errors are 1\.\d\d times those of a plan for it, which would cut to", output)
    assert "3 items on average, as given" in run(*asked, "--mean-size", 3).stdout
    for words in ("operator", "of the information that any local method with this guarantee can have"):
        assert (words in output, words in verbose) == (False, True)


def test_two_rounds_are_the_default_where_they_find_more(tmp_path: Path) -> None:
    """The text says who reports in which round, what is detected then, and the commands; JSON has the figures."""
    asked = ["plan", *GUARANTEE, "--people", 100_001, "-o", tmp_path / "p.json", "--force", "--items"]
    output = run(*asked, 1000).stdout
    assert "50,001 reports of this plan, from people drawn at random" in output
    assert "`assocpriv refine first.parquet --people 50000 -o plan2.json`" in output
    assert "pairs of these items" in output
    record = run_json(*asked, 1000)
    rounds = record["rounds"]
    assert (record["reports"], record["itemset_size"]) == (rounds["first"], 1) == (50_001, 1)
    assert (rounds["second"], rounds["items"]) == (50_000, 32)
    assert [each["itemset_size"] for each in rounds["detection_thresholds"]] == [2, 3]
    assert all(each["two_rounds"] < each["one_round"] for each in rounds["detection_thresholds"])
    assert run_json(*asked, 1000, "--rounds", 1)["rounds"] is None
    assert rounds["second_people"] == 50_000
    assert "`assocpriv randomize --rounds 2`" in output
    several = run(*asked, 1000, "--reports-per-person", 3).stdout  # 300,003 reports: 150,001 in the second round
    assert "`assocpriv refine first.parquet --people 50001 -o plan2.json`" in several
    assert "randomize --rounds 2" not in several  # it takes plans of one report per person


def test_a_sample_gives_the_basket_sizes(home: Path, tmp_path: Path) -> None:
    """With --sample the sizes are the sample's, counting catalogue items; a sample without any of these is refused."""
    asked = ["plan", *GUARANTEE, "-o", tmp_path / "p.json"]
    sizes = [len({*line.split()}) for line in (home / "b.dat").read_text().splitlines()]
    assumed = run_json(*asked, "--items", N_ITEMS, "--sample", home / "b.dat")["assumed_sizes"]
    assert (assumed["source"], assumed["mean"]) == ("sample", pytest.approx(sum(sizes) / len(sizes)))
    (tmp_path / "n.txt").write_text("bread\nmilk\n")
    (tmp_path / "b.csv").write_text("bread,milk\nbread\ntea,milk,bread\n")
    like = [*asked, "--force", "--sample", tmp_path / "b.csv", "--catalogue"]
    result = run(*like, tmp_path / "n.txt")
    assert "sample of 3 baskets; items outside the catalogue, not counted: 1" in result.stderr
    assert "as in the sample, 1.67 items on average" in result.stdout
    (tmp_path / "n.txt").write_text("rye\noil\n")
    assert "none of the 6 items is in the catalogue of 2" in refused(*like, tmp_path / "n.txt")


def test_help_shows_the_usual_options() -> None:
    """For the five most used commands --help shows fewer options than --help-all, and fits a terminal of 80 by 40."""
    few, all_of_them = (set(re.findall(r"--[a-z-]+", run("plan", word).stdout)) for word in ("--help", "--help-all"))
    assert {"--taxonomy", "--paper", "--columns-per-report"} <= all_of_them - few
    assert few <= all_of_them | {"--help-all"}
    for command in ("plan", "randomize", "mine", "rules", "simulate"):
        assert len(run(command, "--help").stdout.splitlines()) <= 40


WRONG = {  # by exit status
    1: ["--prior=1e-999999999", "--posterior=5%", "--transaction-size=16", f"--items={10**30}", "--people=0",
        "--mean-size=nan", "--sample=missing.dat"],
    2: ["--transaction-size=x", "--items=1.5", "--unlisted=new", "--size=2", "--catalogue=names.txt"],
}  # fmt: skip


@pytest.mark.parametrize(("status", "wrong"), [(status, each) for status, words in WRONG.items() for each in words])
def test_bad_plan_requests(tmp_path: Path, status: int, wrong: str) -> None:
    """An impossible plan and invalid usage, also --items with --catalogue, are refused, and no file is written."""
    refused_without_output(tmp_path, *PLAN_ARGUMENTS, wrong, "-o", tmp_path / "p.json", status=status)


def test_refine_states_the_composed_guarantee(home: Path, tmp_path: Path) -> None:
    """The text names the other people, what was learned and the composed guarantee; the record has exact values."""
    command = ["refine", home / "r.parquet", "--best", 3, "-o", tmp_path / "p.json"]
    output = run(*command).stdout
    assert "For people who sent no report of plan" in output
    assert "γ < 361, ε ≤" in output
    assert "a prior of 5% becomes at most 95%" in output
    record = run_json(*command, "--force", "--people", 77)
    assert record["both"]["amplification_limit"] == "361/1"
    assert (record["both"]["highest_posterior"], record["both"]["lowest_posterior"]) == ("19/20", "1/362")
    assert (record["reports"], record["items"]) == (77, 3)
    assert record["held"] == pytest.approx(record["share"] * record["mean_size"], rel=0.01)
    assert run_json("inspect", tmp_path / "p.json")["plan_id"] == record["plan_id"]


def test_refine_refuses(home: Path, tmp_path: Path) -> None:
    """Files that are no reports, reports of two plans, and no item at all are refused."""
    other, reports = tmp_path / "o.json", home / "r.parquet"
    run("plan", "--items", 9, "--transaction-size", 2, *GUARANTEE, "-o", other)
    run("-q", "randomize", home / "b.dat", "--unknown", "drop", "--plan", other, "-o", tmp_path / "o.parquet")
    for given, best, message in (
        ([home / "b.csv"], 3, "b.csv"), ([reports, tmp_path / "o.parquet"], 3, "reports of several plans"),
        ([reports], 1, "best"),
    ):  # fmt: skip
        words = ["refine", *given, "--best", best, "-o", tmp_path / "p.json"]
        assert message in refused_without_output(tmp_path, *words)


BASKETS = "Milk,bread,cafe\u0301\nmilk,bread\nbread,ice  cream\nbread,tea\n"
NAMES = ["Milk", "bread", "café", "ice cream", "milk", "tea"]


@pytest.fixture
def baskets(tmp_path: Path) -> Path:
    """Return a file of baskets with names that are near-duplicates, decomposed and with two blanks."""
    (tmp_path / "b.csv").write_text(BASKETS, encoding="utf-8")
    return tmp_path / "b.csv"


def test_a_catalogue_is_made(baskets: Path, tmp_path: Path) -> None:
    """Names are written in one form and sorted, numbers by value; without a file they are printed."""
    output = tmp_path / "names.txt"
    result = run("catalogue", baskets, "-o", output)
    assert output.read_text(encoding="utf-8").splitlines() == NAMES
    assert result.stdout == f"6 names written to {output}; the catalogue is published, so read the names first\n"
    assert "Milk | milk" in result.stderr
    assert run_json("plan", "--catalogue", output, *GUARANTEE, "-o", tmp_path / "p.json")["items"] == 6
    refused_without_output(tmp_path, "catalogue", baskets, "-o", output)
    refused_without_output(tmp_path, "catalogue", baskets, "-o", baskets, "--force")
    (tmp_path / "b.dat").write_text("10 9\n9 2\n")
    assert run("catalogue", tmp_path / "b.dat").stdout.split() == ["2", "9", "10"]


def test_rare_names_and_several_files(baskets: Path, tmp_path: Path) -> None:
    """Only names in enough baskets of all files are kept; a basket with a name in two Unicode forms counts once."""
    (tmp_path / "more.csv").write_text("tea;milk\n")
    record = run_json("catalogue", baskets, tmp_path / "more.csv", "--min-count", 2)
    assert (record["names"], record["rare"], record["baskets"]) == (["bread", "milk", "tea"], 3, 5)
    assert "no item has a count of 5 or more; lower --min-count" in refused("catalogue", baskets, "--min-count", 5)
    data = [["caf\u00e9", "cafe\u0301", "tea"], ["x", "tea"], ["x", " caf\u00e9"]]
    assert list(ap.catalogue(data, min_count=2)) == ["café", "tea", "x"]
    with pytest.raises(ap.AssocprivError, match="no item has a count of 3 or more"):
        ap.catalogue(data, min_count=3)


def test_a_catalogue_is_checked(baskets: Path, tmp_path: Path) -> None:
    """The fit of baskets is reported; a file that is not a catalogue is refused."""
    odd = tmp_path / "odd.txt"
    odd.write_text("Milk\nmilk\nice  cream\nbread\nsalt\n", encoding="utf-8")
    output = run_json("catalogue", "--check", odd, baskets)
    assert output == {
        "items": 5, "odd": ["ice  cream"], "near_duplicates": [["Milk", "milk"]], "baskets": 4, "unknown": 2,
        "unused": 1,
    }  # fmt: skip
    odd.write_text("milk\nbread\n")
    assert "no near-duplicate names" in run("catalogue", "--check", odd).stdout
    odd.write_text("milk\nmilk\n")
    assert "entry 2 repeats an earlier name" in refused("catalogue", "--check", odd)


def test_wrong_usage_of_catalogue(baskets: Path, tmp_path: Path) -> None:
    """Neither baskets nor a catalogue to check, and options of the other use, are wrong usage."""
    for words in (
        [], [baskets, "--min-count", 0], ["--check", baskets, "-o", tmp_path / "n.txt"], [baskets, "--best", 0],
        [baskets, "--sales", baskets], ["--sales", baskets, "--layout", "separator=tab"],
    ):  # fmt: skip
        refused("catalogue", *words, status=2)
    refused("catalogue", baskets, "--layout", "separator=x")
    assert "no such file" in refused("catalogue", tmp_path / "none.csv")


def test_the_door_of_catalogues(baskets: Path, tmp_path: Path) -> None:
    """In Python, files, lists and frames make a catalogue, with near-duplicates warned of; it is written and read."""
    with pytest.warns(UserWarning, match=r"1 group of names differ in case") as warned:
        made = ap.catalogue(baskets)
    assert "milk" not in (str(warned[0].message) + repr(ap.catalogues.draft_catalogue([baskets]))).lower()
    frame = pd.DataFrame({"order": [1, 1, 2], "product": ["tea", "salt", "tea"]})
    assert list(ap.catalogue([["salt", "oil"], ["oil"]], frame, min_count=2)) == ["oil", "salt", "tea"]
    ap.write_catalogue(made, tmp_path / "n.txt")
    assert ap.read_catalogue(tmp_path / "n.txt") == made
    with pytest.raises(ap.AssocprivError, match="exists"):
        ap.write_catalogue(made, tmp_path / "n.txt")
    with pytest.raises(ap.AssocprivError, match="min_count"):
        ap.catalogue(baskets, min_count=0)


def test_the_best_of_baskets_and_of_sales(baskets: Path, tmp_path: Path) -> None:
    """--best takes the names in most baskets, or sold most; a header in a list of sales is skipped."""
    assert run("catalogue", baskets, "--best", 1).stdout.split() == ["bread"]
    sales = tmp_path / "sales.csv"
    sales.write_text("item,sold\nrye,10\nmilk,50\n\ntea,30\nmilk,10\n", encoding="utf-8")
    result = run("catalogue", "--sales", sales, "--best", 2)
    assert result.stdout.split() == ["milk", "tea"]
    record = run_json("catalogue", "--sales", sales)
    assert (record["names"], record["items"]) == (["milk", "rye", "tea"], 3)
    assert ap.catalogues.draft_catalogue(sales=sales, best=2).share == 0.9
    refused_without_output(tmp_path, "catalogue", "--sales", sales, "-o", sales, "--force")
    sales.write_bytes("Artikel;Menge\r\nKäse;10\r\nMilch 3,5%;50\r\n".encode("cp1252"))  # of a spreadsheet
    assert ap.catalogues.draft_catalogue(sales=sales, best=1).share == 5 / 6


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        *((f"milk,5\n{line}\n", "line 2 must be a name and a whole number")
          for line in ("tea", "tea,-3", "tea,1.5", "tea,3,4", ",3", "tea,many", "tea,٣", f"tea,{10**16}")),
        ("milk,5\n" + "tea" * 70_000 + ",3\n", "line 2 is not CSV"), ("tea,-5\nmilk,3\n", "line 1 must be a name"),
    ],
)  # fmt: skip
def test_a_bad_line_of_sales_is_named(tmp_path: Path, content: str, wanted: str) -> None:
    """A line that is not a name and a whole number is refused by its number, and not shown."""
    sales = tmp_path / "sales.csv"
    sales.write_text(content, encoding="utf-8")
    message = refused_without_output(tmp_path, "catalogue", "--sales", sales, "-o", tmp_path / "n.txt")
    assert wanted in message
    assert "tea" not in message
    assert "cannot read the list of sales" in refused("catalogue", "--sales", tmp_path / "none.csv")


def test_commands_state_the_layout(tmp_path: Path) -> None:
    """Every command that reads baskets takes layout options, and states the layout on standard error."""
    rows = "".join(f"{row};{item};2,5\n" for row in range(3000) for item in (row % 5, 5 + row % 3))
    (tmp_path / "sales.csv").write_text("kasse;sache;preis\n" + rows)
    columns = ["--layout", "long transaction=kasse item=#2"]
    output = "sales.csv: read as: long transaction=kasse item=#2 separator=; header=yes"
    plan, sales = tmp_path / "p.json", tmp_path / "sales.csv"
    assert output in run("plan", "--items", 8, "--sample", sales, *columns, *GUARANTEE, "-o", plan).stderr
    for report_type in (
        ["randomize", sales, "--plan", plan, "-o", tmp_path / "r.parquet"],
        ["simulate", sales, "--plan", plan, "--min-support", "20%"],
        ["catalogue", sales],
    ):
        result = run(*report_type, *columns, "--json")
        assert output in result.stderr
        assert json.loads(result.stdout)
        assert "as in a table" in refused(*report_type, "--force" if report_type[0] == "randomize" else "--json")
    ap.randomize(sales, ap.read_plan(plan), tmp_path / "q.parquet", layout="long transaction=1 item=sache")


# ---- the guarantee: as probabilities, as ε, or solved for

USUAL = ap.Guarantee("5%", "50%")
SHAPE = ["plan", "--items", 40, "--transaction-size", 3]


def test_the_command_finds_reports(tmp_path: Path) -> None:
    """``plan --detect`` with a guarantee gives the number of reports, and writes that plan if a file is named."""
    found = ap.plan(40, detect="5%", itemset_size=2, guarantee=USUAL, transaction_size=3)
    record = run_json(*SHAPE, "--prior", "5%", "--posterior", "50%", "--detect", "5%", "-o", tmp_path / "p.json")
    assert record["detect"] == record["detect"] | {"support": "1/20", "size": 2, "solved": "reports"}
    assert (record["reports"], record["plan_id"]) == (found.reports, found.plan.plan_id)
    assert ap.read_plan(tmp_path / "p.json") == found.plan
    assert record["expected"]["2"]["detection_threshold"] <= 0.05


def test_the_command_finds_the_guarantee() -> None:
    """``plan --detect --people`` gives the smallest ε of two decimals, at the given prior."""
    report_type = [*SHAPE, "--detect", "30%", "--itemset-size", 1, "--people", 5_000]
    found = ap.plan(40, detect="30%", itemset_size=1, reports=5_000, prior="1%", transaction_size=3)
    record = run_json(*report_type, "--prior", "1%")
    assert record["guarantee"] == {"prior": "1/100", "posterior": str(found.guarantee.posterior)}
    assert record["detect"]["solved"] == "guarantee"
    least = ap.guarantees.epsilon_from_amplification(found.guarantee.amplification_limit)
    assert run(*report_type).stdout.startswith(f"needed      ε = {least:.2f} (prior 5%, posterior ")
    assert run_json(*report_type, "--epsilon", 5)["guarantee"]["prior"] == "1/20"


def test_too_few_reports_are_refused(tmp_path: Path) -> None:
    """Where no guarantee suffices, status is 1, and the message gives the number of reports that would."""
    report_type = [*SHAPE, "--detect", "1%", "-o", tmp_path / "p.json", "--people"]
    output = refused_without_output(tmp_path, *report_type, 100)
    assert "100 reports are too few" in output
    (needed,) = re.findall(r"about ([\d,]+) are needed", output)
    run(*report_type, needed.replace(",", ""))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--detect", "1%"], "Missing guarantee: give --prior and --posterior, or --epsilon"),
        (["--detect", "1%", "--prior", "5%"], "--prior and --posterior go together"),
        (["--detect", "1%", "--people", 9, "--posterior", "9%"], "--prior and --posterior go together"),
        (["--epsilon", 1], "Missing option '-o' / '--output'"),
        (["--epsilon", 1, "--columns-per-report", 2, "-o", "p.json"], "goes with table, not with baskets"),
        (["--epsilon", 1, "--posterior", "50%", "-o", "p.json"], "--epsilon and --posterior both"),
        (["-o", "p.json"], "Missing guarantee"),
        (["--central", "1,1e-8", "-o", "p.json"], "smaller batches are never read: give --people"),
    ],
)
def test_contradictory_options_are_refused(tmp_path: Path, options: list[Any], message: str) -> None:
    """Contradictory options, or options without a full guarantee, are wrong usage, and nothing is written."""
    assert message in refused_without_output(tmp_path, *SHAPE, *options, status=2)


def test_every_command_takes_an_epsilon(home: Path, tmp_path: Path) -> None:
    """``plan`` and ``report`` take the guarantee as ε."""
    run(*SHAPE, "--epsilon", "ln 19", "-o", tmp_path / "p.json")
    assert ap.read_plan(tmp_path / "p.json").guarantee == USUAL
    device = ["report", "--plan", home / "plan.json", "--ledger", tmp_path / "l.bin", "--empty", "keep"]
    run(*device, "--period", "one", "--epsilon", "ln 19", "-o", tmp_path / "r.bin")
    refused(*device, "--period", "two", "--epsilon", "ln 19", "-o", tmp_path / "r2.bin")
