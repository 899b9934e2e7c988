"""Tests of the command suppress on tables and baskets: output, exit status, and no file where it refuses."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from command_line import refused, refused_without_output, run, run_json

from assocpriv.cli.main import main

JOB = '[[template]]\nchannel = ["{}"]\nsensitive = {{ill = ["yes"]}}\nconfidence = "{}%"\n'
TABLE = "job,country,debt,age,rating\n" + (
    "cook,US,current,30,bad\n" * 4 + "doctor,US,never,41,good\n" * 4 + "doctor,US,never,41,bad\n" * 2
    + "trader,UK,none left,52,good\n" * 4 + "trader,UK,never,53,good\n" + "trader,CA,never,52,good\n"
    + "clerk,CA,never,27,good\n" * 3 + "clerk,CA,none left,28,good\n"
)  # fmt: skip
TEMPLATE = '[[template]]\nchannel = ["job", "country"]\nsensitive = {debt = ["none left"]}\nconfidence = "75%"\n'


@pytest.fixture
def table_folder(tmp_path, monkeypatch):
    """Return a folder with a table and a template, in which commands run."""
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "t.toml").write_text(TEMPLATE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_table_is_published(table_folder):
    """The released table has the mark in hidden cells and another order; the text describes the method."""
    arguments = ["suppress", "table.csv", "--templates", "t.toml", "--deterministic-only", "-o", "out.csv"]
    output = run(*arguments, "--class", "rating")
    wanted = re.sub("(doctor|trader|clerk),(US|UK|CA)", "*,*", TABLE).splitlines()
    found = (table_folder / "out.csv").read_text().splitlines()
    assert sorted(found) == sorted(wanted)
    assert found != wanted
    assert output.stdout.startswith("20.0% of the channel cells shown, 32 cells hidden, in 20 records; ")
    assert " 80.0%  35.8%      75%  job, country → debt = none left\n" in output.stdout
    assert "random order" in output.stderr


def test_tests_and_epsilon_are_reported(table_folder):
    """By default the text states tests, refusals, ε, and uncovered adversaries; further releases are counted."""
    arguments = ["suppress", "table.csv", "--templates", "t.toml", "-o", "out.csv", "--force"]
    output = run(*arguments)
    assert re.search(r"\d+ tests?, \d+ refused; ε spent per group: at most \d\.\d\d of 3\.00\n", output.stdout)
    assert "no guarantee against an adversary who knows columns that are in no channel" in output.stdout
    assert "warning" not in output.stderr
    assert run_json(*arguments)["release"] == 1
    assert run_json(*arguments, "--new-key")["release"] == 2
    assert "release 2 of these data" in run(*arguments).stderr
    assert run_json(*arguments, "--deterministic-only", "--min-group-size", 4)["tests"] == 0


def test_check_sets_the_exit_status(table_folder):
    """--check lists inferences, with status 1 if one is above its bound, and 0 for a release."""
    found = CliRunner().invoke(main, ["suppress", "table.csv", "--templates", "t.toml", "--check"])
    assert found.exit_code == 1
    assert "     80.0%      75%        5  job = trader, country = UK → debt = none left" in found.stdout
    assert found.stderr == "each record counts as one person; the bounds do not hold for a person with several\n"
    run("suppress", "table.csv", "--templates", "t.toml", "-o", "out.csv")
    assert "no inference is above its bound" in run("suppress", "out.csv", "--templates", "t.toml", "--check").stdout
    selected = CliRunner().invoke(main, ["suppress", "table.csv", "--templates", "t.toml", "--check", "--json"])
    assert json.loads(selected.stdout)["violations"][0]["channel"] == {"job": "trader", "country": "UK"}


def test_bad_input(table_folder):
    """Invalid input is one line of error, and nothing is written; a table is either checked or released."""
    given, out = ["suppress", "table.csv", "--templates", "t.toml"], ["-o", "out.csv"]
    for options, message in (
        (["--templates", "no.toml", *out], "no.toml: templates cannot be read"),
        (["-o", "out.parquet"], "must end in .csv, .tsv, .data or .txt"),
        (["-o", "t.toml", "--force"], "t.toml is an input"),
        ([*out, "--class", "job"], "the class job is in a channel"),
        ([*out, "--column", "many"], "give a number of intervals"),
        ([*out, "--layout", "separator=tab"], "lacks columns job, country, debt"),
        ([*out, "--layout", "sheet=#1"], "sheet= applies only to workbooks"),
        (["-o", "out.xlsx"], "released as text; use an output name that ends in .csv"),
        (["-o", "out.dat"], "the file's name must end in .csv"),
    ):
        assert message in refused_without_output(table_folder, *given, *options)
    for options in ([], ["--check", *out], ["--check", "--deterministic-only"], [*out, "--layout", "lines sheet=#1"]):
        refused(*given, *options, status=2)


BASKETS = "beer,test\nmilk\ntest,beer,milk\nbeer\nbeer,test\nmilk,test\negg\negg,milk\n"
TOML = '[[template]]\nchannel = ["beer"]\nsensitive = ["test"]\nconfidence = "60%"\n'


@pytest.fixture
def baskets_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with baskets and templates, in which commands run."""
    for name, text in {"b.csv": BASKETS, "t.toml": TOML, "old.csv": ""}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


BASKET = ["suppress", "b.csv", "--layout", "lines", "--templates", "t.toml"]


def test_baskets_are_released(baskets_folder: Path) -> None:
    """The released file lacks an item in all baskets or in none, and the text states it."""
    output = run(*BASKET, "-o", "out.csv").stdout
    wanted = [sorted(set(line.split(",")) - {"beer"}) for line in BASKETS.splitlines()]
    found = [sorted(set(line.split(",")) - {""}) for line in (baskets_folder / "out.csv").read_text().splitlines()]
    assert sorted(found) == sorted(wanted)
    assert output.startswith("0.0% of the channel cells shown, 8 cells hidden, in 8 baskets; ")
    assert " 75.0%  50.0%      60%  beer → test = yes\n" in output
    assert "whole items, by tests with randomized refusals, because this layout cannot mark a hidden cell" in output


def test_bad_requests_are_refused(baskets_folder: Path) -> None:
    """Invalid requests are refused in one line, and nothing is written or replaced."""
    for options, status, message in (
        ([], 2, "give -o FILE"),
        (["--class", "beer", "-o", "out.csv"], 2, "--class goes with a table, not with baskets"),
        (["-o", "b.csv", "--force"], 1, "b.csv is an input"), (["-o", "old.csv"], 1, "old.csv exists already"),
    ):  # fmt: skip
        assert message in refused_without_output(baskets_folder, *BASKET, *options, status=status)


def test_errors_show_no_item(baskets_folder: Path) -> None:
    """An error names items of templates only, no other items of the baskets."""
    (baskets_folder / "b.csv").write_text(BASKETS + "canary,canary\n")
    message = refused_without_output(baskets_folder, *BASKET, "-o", "out.csv")
    assert "repeats an item" in message
    assert "count repeated items once with --repeats merge" in message
    assert "canary" not in message
    run(*BASKET, "--repeats", "merge", "-o", "out.csv")
    lines = (baskets_folder / "out.csv").read_text().splitlines()
    assert sum(line.split(",").count("canary") for line in lines) == 1


def test_an_unknown_age_is_refused_with_an_option(table_folder):
    """The error names the options; with them the column is read as numbers, or as categories."""
    lines = "".join(f"{20 + place % 40},{'yes' if place % 5 == 0 else 'no'}\n" for place in range(100))
    (table_folder / "ages.csv").write_text(f"age,ill\n{lines}unknown,no\n")
    (table_folder / "ages.toml").write_text(JOB.format("age", 75))
    asked = ("suppress", "ages.csv", "--templates", "ages.toml", "--check")
    assert "pass --missing unknown; --column age=category treats" in refused(*asked)
    assert "--column age=8 releases 8 intervals" in refused(*asked, "--missing", "unknown")
    assert run(*asked, "--missing", "unknown", "--column", "age=8").exit_code == 0
    assert "age = 20" in CliRunner().invoke(main, [*asked, "--column", "age=category"]).stdout


def test_a_count_of_people_is_warned_about(table_folder):
    """A column named count with whole numbers is named in a warning, with the option that leaves it out."""
    (table_folder / "counted.csv").write_text("job,ill,count\n" + "cook,no,3\ncook,yes,1\nclerk,no,2\n" * 3)
    (table_folder / "ill.toml").write_text(JOB.format("job", 75))
    for last in (["--check"], ["--force", "-o", "out.csv"]):
        asked = ["suppress", "counted.csv", "--templates", "ill.toml", *last]
        assert "leave the column out by --column count=drop" in run(*asked).stderr
        assert "warning" not in run(*asked, "--column", "count=drop").stderr


def test_shares_are_rounded_up(table_folder):
    """The release and its check print one share, 544 of 987 or 55.12%, rounded up."""
    rows = "".join(f"cook,{'yes' if place < 544 else 'no'}\n" for place in range(987))
    (table_folder / "p.csv").write_text(f"job,ill\n{rows}")
    for bound in (50, 60):
        (table_folder / f"p{bound}.toml").write_text(JOB.format("job", bound))
    assert " 55.2%  55.2%      60%  job" in run("suppress", "p.csv", "--templates", "p60.toml", "-o", "o.csv").stdout
    strict = ["--templates", "p50.toml"]
    assert " 55.2%      50%" in CliRunner().invoke(main, ["suppress", "o.csv", *strict, "--check"]).stdout
    assert "is in 55.2% of 987 records, 50% allowed" in refused("suppress", "p.csv", *strict, "-o", "x.csv")
