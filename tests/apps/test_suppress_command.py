"""Tests of the command suppress: what it says, its exit status, and that it writes nothing where it refuses."""

import json

import pytest
from command_line import refused, run, run_json

from assocpriv.cli.main import main

TABLE = "job,country,debt,age,rating\n" + (
    "cook,US,current,30,bad\n" * 4 + "doctor,US,never,41,good\n" * 4 + "doctor,US,never,41,bad\n" * 2
    + "trader,UK,none left,52,good\n" * 4 + "trader,UK,never,53,good\n" + "trader,CA,never,52,good\n"
    + "clerk,CA,never,27,good\n" * 3 + "clerk,CA,none left,28,good\n"
)  # fmt: skip
TEMPLATE = '[[template]]\nchannel = ["job", "country"]\nsensitive = {debt = ["none left"]}\nconfidence = "75%"\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with a table and a template, in which commands run."""
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "t.toml").write_text(TEMPLATE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_table_is_published(folder):
    """The released table holds the mark in place of what is suppressed, and the text says why."""
    said = run("suppress", "table.csv", "--templates", "t.toml", "--class", "rating", "-o", "out.csv").stdout
    wanted = TABLE
    for value in ("trader", "clerk", "UK", "CA"):
        wanted = wanted.replace(value, "*")
    assert (folder / "out.csv").read_text() == wanted
    assert "suppressed  4 values, 20 cells" in said
    assert "80.0%    50.0%    75%      job, country -> debt = none left" in said
    assert "       80.0%        5  country = UK: *, UK" in said
    assert "  job = clerk, trader: nothing of the class" in said


def test_json_and_report_say_the_same(folder):
    """--report writes what --json prints."""
    arguments = ["suppress", "table.csv", "--templates", "t.toml", "--class", "rating", "-o", "out.csv"]
    record = run_json(*arguments, "--report", "report.json")
    assert json.loads((folder / "report.json").read_text()) == record
    assert {(each["column"], each["value"], each["cells"]) for each in record["suppressed"]} == {
        ("job", "clerk", 4), ("job", "trader", 6), ("country", "CA", 5), ("country", "UK", 5),
    }  # fmt: skip
    assert record["bounds"][0] | {"before": 0.8, "after": 0.5, "support": 10, "hits": 5} == record["bounds"][0]


def test_check_says_by_its_status(folder):
    """--check lists inferences with status 1 where one is above its bound, and passes what was published with 0."""
    from click.testing import CliRunner

    found = CliRunner().invoke(main, ["suppress", "table.csv", "--templates", "t.toml", "--check"])
    assert found.exit_code == 1
    assert "       80.0%        5  trader, UK" in found.stdout
    assert found.stderr == ""
    run("suppress", "table.csv", "--templates", "t.toml", "-o", "out.csv")
    assert "no inference is above its bound" in run("suppress", "out.csv", "--templates", "t.toml", "--check").stdout
    listed = CliRunner().invoke(main, ["suppress", "table.csv", "--templates", "t.toml", "--check", "--json"])
    assert json.loads(listed.stdout)["violations"][0]["channel"] == {"job": "trader", "country": "UK"}


def test_numbers_are_binned_on_request(folder):
    """A column of numbers in a channel is refused, until it is said what it is."""
    (folder / "t.toml").write_text(TEMPLATE.replace('"country"', '"age"'))
    arguments = ["suppress", "table.csv", "--templates", "t.toml", "--class", "rating", "-o", "out.csv"]
    assert "column age of a channel holds numbers; pass --bins" in refused(*arguments)
    assert not (folder / "out.csv").exists()
    assert run_json(*arguments, "--bins", "age=2")["bins"] == {"age": ["<41", ">=41"]}
    assert run_json(*arguments, "--bins", "entropy", "--force")["bins"]["age"]
    assert run_json(*arguments, "--category", "age", "--force")["bins"] == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--templates", "no.toml", "-o", "out.csv"], "no.toml: templates cannot be read"),
        (["--templates", "t.toml", "-o", "out.parquet"], "must end in .csv, .tsv, .data or .txt"),
        (["--templates", "t.toml", "-o", "table.csv", "--force"], "table.csv is an input"),
        (["--templates", "t.toml", "-o", "t.toml", "--force"], "t.toml is an input"),
        (["--templates", "t.toml", "-o", "out.csv", "--report", "out.csv"], "cannot be both"),
        (["--templates", "t.toml", "-o", "out.csv", "--mark", "cook"], "column job holds the mark cook"),
        (["--templates", "t.toml", "-o", "out.csv", "--class", "job"], "the class job is in the channel"),
        (["--templates", "t.toml", "-o", "out.csv", "--class", "size"], "lacks column size"),
        (["--templates", "t.toml", "-o", "out.csv", "--bins", "many"], "bins must be a number of intervals"),
        (["--templates", "t.toml", "-o", "out.csv", "--separator", "tab"], "lacks columns job, country, debt"),
    ],
)  # fmt: skip
def test_bad_input(folder, options, message):
    """What cannot be done is one line of error, and nothing is written."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert message in refused("suppress", "table.csv", *options)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("options", [[], ["--check", "-o", "out.csv"], ["--check", "--mark", "x"]])
def test_usage(folder, options):
    """A table is either checked or released."""
    refused("suppress", "table.csv", "--templates", "t.toml", *options, status=2)
