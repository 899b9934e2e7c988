"""Tests of the command suppress on baskets and on lists of itemsets and rules."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from command_line import refused_without_output, run, run_json, section

from assocpriv.apps.cli import main

BASKETS = "beer,test\nmilk\ntest,beer,milk\nbeer\nbeer,test\nmilk,test\negg\negg,milk\n"
TOML = '[[template]]\nchannel = ["beer"]\nsensitive = ["test"]\nconfidence = "60%"\n'
RULES = 'antecedents,consequents,support,confidence\nbeer,test,0.375,0.75\n"beer,milk",test,0.125,1\n'
LIST = 'support,itemsets\n0.5,beer\n0.5,test\n0.375,"beer,test"\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with baskets, a list of itemsets, rules and templates, in which commands run."""
    for name, text in {"b.csv": BASKETS, "t.toml": TOML, "rules.csv": RULES, "list.csv": LIST}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


BASKET = ["suppress", "b.csv", "--format", "basket", "--templates", "t.toml"]


def test_baskets_are_released(folder: Path) -> None:
    """The released file lacks the item, and the text says what it would tell."""
    said = run(*BASKET, "-o", "out.csv").stdout
    assert (folder / "out.csv").read_text() == BASKETS.replace("beer,", "").replace(",beer", "").replace("beer", "")
    assert "dropped  1 item of the 1 in channels, from 4 places" in said
    assert "75.0%    50.0%    60%      beer -> test" in said
    assert "  beer: test given beer: 75.0% of 4 baskets" in said
    assert "fewest   no choice drops fewer" in run(*BASKET, "--exact", "-o", "out.csv", "--force").stdout


def test_check_has_the_exit_status_of_its_verdict(folder: Path) -> None:
    """--check lists what is above, of baskets and of lists, with status 1, or says that nothing is, with 0."""
    for arguments, line in (
        (BASKET, "75.0%        4  beer"),
        (["suppress", "list.csv", "--templates", "t.toml"], "75.0%"),
    ):
        found = CliRunner().invoke(main, [*arguments, "--check"])
        assert found.exit_code == 1
        assert line in found.stdout
    run(*BASKET, "-o", "out.csv")
    (folder / "higher.toml").write_text(TOML.replace("60", "75"))
    for data, reading in (("b.csv", ["--format", "basket"]), ("list.csv", [])):
        said = run("suppress", data, *reading, "--templates", "higher.toml", "--check").stdout
        assert "nothing above a bound" in said or "no inference is above" in said
    assert sorted(path.name for path in folder.iterdir()) == [
        "b.csv", "higher.toml", "list.csv", "out.csv", "rules.csv", "t.toml",
    ]  # fmt: skip


def test_a_list_is_released(folder: Path) -> None:
    """The line that would tell too much is withheld, and it is said how far that was checked."""
    said = run("suppress", "list.csv", "--templates", "t.toml", "-o", "out.csv").stdout
    assert (folder / "out.csv").read_text() == LIST.replace('0.375,"beer,test"\n', "")
    assert "withheld  1 line" in said
    assert "   3  beer, test  [beer -> test]" in said
    assert "  beer -> test: 2 items, no other could tell more" in said


def test_rules_become_templates_in_one_step(folder: Path) -> None:
    """--from-rules bounds each rule of a file by --confidence."""
    arguments = ["suppress", "b.csv", "--format", "basket", "--from-rules", "rules.csv", "--confidence", "60%"]
    record = run_json(*arguments, "-o", "out.csv", "--report", "report.json")
    assert json.loads((folder / "report.json").read_text()) == record
    bounds = [(each["channel"], each["sensitive"], each["confidence"]) for each in record["bounds"]]
    assert bounds == [(["beer"], ["test"], 0.6), (["beer", "milk"], ["test"], 0.6)]
    assert [each["item"] for each in record["dropped"]] == ["beer"]
    assert [each["item"] for each in record["steps"]] == ["milk"]


def test_what_mine_and_rules_wrote_is_released(home: Path, tmp_path: Path) -> None:
    """Itemsets and rules mined from randomized reports go out, in each format, where they imply too little."""
    run("rules", home / "i.parquet", "--min-confidence", "50%", "-o", tmp_path / "rules.parquet")
    (tmp_path / "t.json").write_text('[{"channel": ["1"], "sensitive": ["2"], "confidence": "70%"}]')
    for source in (home / "i.csv", home / "i.json", home / "i.parquet", tmp_path / "rules.parquet"):
        output = tmp_path / f"{source.stem}-out{source.suffix}"
        record = run_json("suppress", source, "--templates", tmp_path / "t.json", "-o", output)
        labels = [re.split(", | -> ", each["label"]) for each in record["withheld"]]
        assert labels
        assert all({"1", "2"} & set(names) for names in labels)
        assert run_json("suppress", output, "--templates", tmp_path / "t.json", "--check")["passed"]


def keys_of(value: Any) -> Iterator[str]:
    """Yield all keys of an object, those of objects by name aside."""
    for key, part in value.items() if isinstance(value, dict) else ():
        yield key
        if key != "entropy_bits":
            yield from keys_of(part)
    for part in value if isinstance(value, list) else ():
        yield from keys_of(part)


def test_docs_name_all_json_keys(folder: Path) -> None:
    """The command's section names every key of what it prints of baskets and lists."""
    text = section("assocpriv suppress")
    for data in (["b.csv", "--format", "basket"], ["list.csv"]):
        arguments = ["suppress", *data, "--templates", "t.toml"]
        checked = json.loads(CliRunner().invoke(main, [*arguments, "--check", "--json"]).stdout)
        record = run_json(*arguments, "-o", "out.csv", "--force")
        assert {key for key in (*keys_of(checked), *keys_of(record)) if f"`{key}`" not in text} == set()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([*BASKET[:-2], "-o", "out.csv"], 2, "give --templates FILE, or --from-rules"),
        ([*BASKET, "--from-rules", "rules.csv", "--confidence", "1%", "-o", "out.csv"], 2, "give --templates FILE, or"),
        ([*BASKET[:-2], "--from-rules", "rules.csv", "-o", "out.csv"], 2, "--from-rules and --confidence go together"),
        ([*BASKET, "--confidence", "50%", "-o", "out.csv"], 2, "--from-rules and --confidence go together"),
        (BASKET, 2, "give -o FILE"),
        ([*BASKET, "--class", "beer", "-o", "out.csv"], 2, "--class is said of tables"),
        ([*BASKET, "--mark", "?", "-o", "out.csv"], 2, "--mark is said of tables"),
        ([*BASKET, "-o", "b.csv", "--force"], 1, "b.csv is an input"),
        ([*BASKET, "-o", "t.toml", "--force"], 1, "t.toml is an input"),
        ([*BASKET, "-o", "list.csv"], 1, "list.csv exists already"),
        ([*BASKET, "-o", "out.csv", "--report", "b.csv", "--force"], 1, "b.csv is an input"),
        (["suppress", "list.csv", "--templates", "t.toml", "-o", "out.json"], 1, "format it came in"),
        (["suppress", "list.csv", "--templates", "t.toml", "--exact", "-o", "out.csv"], 1, "exact=) are of baskets"),
        ([*BASKET[:-2], "--from-rules", "list.csv", "--confidence", "9%", "--check"], 1, "the list holds no rules"),
        ([*BASKET[:-2], "--from-rules", "b.csv", "--confidence", "9%", "--check"], 1, "b.csv: a list has columns"),
        (["suppress", "no.csv", "--templates", "t.toml", "--check"], 1, "no.csv"),
    ],
)  # fmt: skip
def test_bad_requests_are_refused(folder: Path, arguments: list[str], status: int, message: str) -> None:
    """What cannot be understood or done is refused in one line, and nothing is written or replaced."""
    assert message in refused_without_output(folder, *arguments, status=status)


def test_options_of_baskets_do_not_go_with_templates_of_tables(folder: Path) -> None:
    """A template over columns refuses what is said of baskets."""
    (folder / "t.toml").write_text(TOML.replace('["test"]', '{ill = ["yes"]}'))
    message = refused_without_output(folder, *BASKET, "-o", "out.csv", status=2)
    assert "--format is said of baskets" in message


def test_errors_show_no_item(folder: Path) -> None:
    """An error names items of templates only, no other of the baskets."""
    (folder / "b.csv").write_text(BASKETS + "canary,canary\n")
    message = refused_without_output(folder, *BASKET, "-o", "out.csv")
    assert "repeats an item" in message
    assert "canary" not in message
