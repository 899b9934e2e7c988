"""Tests of the command suppress on baskets."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from command_line import refused_without_output, run, run_json, section

from assocpriv.cli.main import main

BASKETS = "beer,test\nmilk\ntest,beer,milk\nbeer\nbeer,test\nmilk,test\negg\negg,milk\n"
TOML = '[[template]]\nchannel = ["beer"]\nsensitive = ["test"]\nconfidence = "60%"\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with baskets and templates, in which commands run."""
    for name, text in {"b.csv": BASKETS, "t.toml": TOML, "old.csv": ""}.items():
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


def test_check_has_the_exit_status_of_its_verdict(folder: Path) -> None:
    """--check lists what is above with status 1, or says that nothing is, with 0; it writes nothing."""
    found = CliRunner().invoke(main, [*BASKET, "--check"])
    assert found.exit_code == 1
    assert "75.0%        4  beer" in found.stdout
    (folder / "t.toml").write_text(TOML.replace("60", "75"))
    assert "no inference is above its bound" in run(*BASKET, "--check").stdout
    assert sorted(path.name for path in folder.iterdir()) == ["b.csv", "old.csv", "t.toml"]


def test_json_and_report_say_the_same(folder: Path) -> None:
    """--report writes what --json prints."""
    record = run_json(*BASKET, "-o", "out.csv", "--report", "report.json")
    assert json.loads((folder / "report.json").read_text()) == record
    assert [each["item"] for each in record["dropped"]] == ["beer"]


def keys_of(value: Any) -> Iterator[str]:
    """Yield all keys of an object, those of objects by name aside."""
    for key, part in value.items() if isinstance(value, dict) else ():
        yield key
        if key != "entropy_bits":
            yield from keys_of(part)
    for part in value if isinstance(value, list) else ():
        yield from keys_of(part)


def test_docs_name_all_json_keys(folder: Path) -> None:
    """The command's section names every key of what it prints of baskets."""
    text = section("assocpriv suppress")
    checked = json.loads(CliRunner().invoke(main, [*BASKET, "--check", "--json"]).stdout)
    record = run_json(*BASKET, "-o", "out.csv")
    assert {key for key in (*keys_of(checked), *keys_of(record)) if f"`{key}`" not in text} == set()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([*BASKET[:-2], "-o", "out.csv"], 2, "Missing option '--templates'"),
        (BASKET, 2, "give -o FILE"),
        ([*BASKET, "--class", "beer", "-o", "out.csv"], 2, "--class is said of tables"),
        ([*BASKET, "--mark", "?", "-o", "out.csv"], 2, "--mark is said of tables"),
        ([*BASKET, "-o", "b.csv", "--force"], 1, "b.csv is an input"),
        ([*BASKET, "-o", "t.toml", "--force"], 1, "t.toml is an input"),
        ([*BASKET, "-o", "old.csv"], 1, "old.csv exists already"),
        ([*BASKET, "-o", "out.csv", "--report", "b.csv", "--force"], 1, "b.csv is an input"),
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
