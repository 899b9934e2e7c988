"""Tests of all commands together: the whole way, what is printed where, usage, and files that are written."""

import contextlib
import csv
import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import (
    N_BASKETS,
    PLAN_ARGUMENTS,
    PROMISE,
    TREE,
    make_baskets,
    python,
    refused,
    refused_without_output,
    run,
    run_json,
)

import assocpriv as ap
from assocpriv.files import atomic
from assocpriv.files.itemsets import LightFrame
from assocpriv.show import progress


def test_the_whole_way(home: Path, tmp_path: Path) -> None:
    """Baskets become reports, itemsets and rules; the plan's id goes along, and the planted rule comes out."""
    plan_id = run_json("inspect", home / "plan.json")["plan_id"]
    reports = tmp_path / "r.parquet"
    sent = run_json("randomize", home / "b.dat", "--plan", home / "plan.json", "-o", reports)
    assert (sent["plan_id"], sent["reports"], sent["sampled_baskets"]) == (plan_id, N_BASKETS, 0)
    mined = run_json("mine", reports, "--min-support", "20%", "-o", tmp_path / "i.parquet")
    assert (mined["plan_ids"], mined["reports"], mined["min_support"]) == ([plan_id], N_BASKETS, 0.2)
    for row in mined["itemsets"]:
        assert 0 <= row["ci_low"] < row["support"] < row["ci_high"] <= 1
        assert row["itemset"] == sorted(row["itemset"])
    found = {tuple(row["itemset"]): row for row in mined["itemsets"]}
    # z = 4.9 standard errors: false alarm 1e-6; the truth is 60% up to the draw of 3000 baskets, here known
    truth = sum({1, 2} <= set(basket) for basket in make_baskets()) / N_BASKETS
    assert abs(found["1", "2"]["unbiased"] - truth) < 4.9 * found["1", "2"]["unbiased_error"]
    rules = run_json("rules", tmp_path / "i.parquet")["rules"]
    assert (["1"], ["2"]) in [(rule["antecedents"], rule["consequents"]) for rule in rules if rule["sure"]]
    assert [rule["confidence_ci_low"] for rule in rules] == sorted(
        (rule["confidence_ci_low"] for rule in rules), reverse=True
    )


def test_catalogue_of_names(home: Path, tmp_path: Path) -> None:
    """Names with commas, quotes and letters of any script go the whole way.

    Rules are the same from every kind of file and from memory, to the last bit.
    """
    plan, reports = tmp_path / "p.json", tmp_path / "r.parquet"
    assert (
        run_json("plan", "--catalogue", home / "names.txt", "--transaction-size", 2, *PROMISE, "-o", plan)["items"] == 5
    )
    with (tmp_path / "b.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([TREE[:2], TREE[2:4], TREE[4:], TREE[:1]] * 2000)
    run("randomize", tmp_path / "b.csv", "--plan", plan, "-o", reports)
    found = ap.mine(reports, "5%")
    rules = ap.association_rules(found, "30%", light=True)
    derived = json.loads(json.dumps(ap.show.itemsets.rules(rules, LightFrame.of(found)).to_json()))
    assert derived["rules"]
    for ending in ("parquet", "csv", "json"):
        mined = run_json("mine", reports, "--min-support", "5%", "-o", tmp_path / f"i.{ending}")
        assert {name for row in mined["itemsets"] for name in row["itemset"]} == set(TREE)
        assert run_json("rules", tmp_path / f"i.{ending}", "--min-confidence", "30%") == derived
    assert "crème" in run("mine", reports, "--min-support", "5%").stdout


def test_options_of_all_commands_stand_anywhere(home: Path) -> None:
    """Before or after the command's name, they mean the same; where one is of no use, it is refused by name."""
    for words in (["--json", "-q", "mine", home / "r.parquet"], ["mine", "-q", home / "r.parquet", "--json"]):
        assert json.loads(run(*words).stdout)["reports"] == N_BASKETS
        assert all(line.startswith("warning:") for line in run(*words).stderr.splitlines())
    assert "took" in run("inspect", home / "plan.json", "-v").stderr
    assert "ask writes no file; leave --force out" in refused("ask", home / "r.parquet", "--force", status=2)
    assert "serve prints no result" in refused("--json", "serve", home / "plan.json", "--data", "x", status=2)
    swapped = refused("randomize", home / "plan.json", "--plan", home / "b.dat", "-o", "r.parquet", status=2)
    assert swapped.endswith(f"is none: give --plan {home / 'plan.json'}")


def test_progress_never_goes_to_stdout(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal progress is drawn on standard error, and standard output still holds the record alone."""

    monkeypatch.setattr(progress.Progress, "_may_show", lambda _: True)
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    result = run(*PLAN_ARGUMENTS, "--find", "20%", "-o", tmp_path / "p.json", "--json")
    assert "planning" in result.stderr
    assert json.loads(result.stdout)["plan_id"]
    assert "\r" not in result.stdout


def test_progress_is_silent_without_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where standard error is no terminal, a plan says nothing on it."""
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.0)
    assert run(*PLAN_ARGUMENTS, "-o", tmp_path / "p.json").stderr == ""


def test_module_runs_as_a_program(home: Path, tmp_path: Path) -> None:
    """``python -m assocpriv`` works as the command: results, talk and exit statuses 0, 1 and 2."""
    good = python("mine", home / "r.parquet", "--min-support", "20%", "--json")
    assert good.returncode == 0
    assert json.loads(good.stdout)["reports"] == N_BASKETS
    bad = python("mine", tmp_path / "none.parquet", "--min-support", "20%")
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr.startswith("Error: ")
    assert bad.stderr.count("\n") == 1
    wrong = python("mine")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "REPORTS" in wrong.stderr


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


RESULTS = [["inspect", "plan.json"], ["privacy", "plan.json"], ["privacy", "plan.json", "--json"], ["--help"],
           ["--version"], ["privacy", "--help"]]  # fmt: skip


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", RESULTS, ids=str)
def test_full_standard_output(home: Path, arguments: list[str]) -> None:
    """A result or a help that cannot be printed is an error, not a traceback."""
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "assocpriv", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=home)
    assert done.returncode == 1
    assert done.stderr == f"Error: {os.strerror(errno.ENOSPC)}\n"


@pytest.mark.skipif(os.name != "posix", reason="a shell of POSIX")
@pytest.mark.parametrize("arguments", [*RESULTS, [*PLAN_ARGUMENTS, "-o", "closed.json"]], ids=str)
def test_closed_standard_output(home: Path, arguments: list[str]) -> None:
    """A result that nobody can see is an error, and is told before anything is done."""
    command = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "assocpriv", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=home)
    assert (done.returncode, done.stderr) == (1, "Error: standard output is closed; nothing was done\n")
    assert not (home / "closed.json").exists()


LOOPS = [
    ["mine", "loop", "--min-support", "20%"], ["ask", "loop", "--itemset", "1"], ["inspect", "loop"],
    ["mine", "loop/r.parquet", "--min-support", "20%"], ["rules", "loop.csv", "--min-confidence", "20%"],
    ["refine", "loop.csv", "--plan", "plan.json", "-o", "x.json"],
    ["refine", "i.csv", "--plan", "loop", "-o", "x.json"],
    ["randomize", "loop", "--layout", "dat", "--plan", "plan.json", "-o", "x.parquet"],
    ["randomize", "b.dat", "--plan", "loop", "-o", "x.parquet"],
    ["randomize", "b.dat", "--plan", "plan.json", "-o", "loop"],
    ["simulate", "loop", "--layout", "dat", "--plan", "plan.json", "--min-support", "20%"],
    ["demo", "--baskets", "loop.csv"], ["demo", "-o", "loop"], ["privacy", "loop"], ["audit", "loop"],
    ["generate", "quest", "--people", "9", "-o", "loop.csv"], [*PLAN_ARGUMENTS, "-o", "loop"],
    ["plan", "--catalogue", "loop", "--transaction-size", "2", *PROMISE, "-o", "x.json"],
    ["plan", "--items", "9", "--taxonomy", "loop", *PROMISE, "-o", "x.json"],
    ["plan", "--items", "9", "--like", "loop.dat", *PROMISE, "-o", "x.json"],
    ["report", "--plan", "loop", "--ledger", "x", "--occasion", "w", "--empty", "keep", "-o", "y"],
    ["report", "--plan", "plan.json", "--ledger", "loop", "--occasion", "w", "--empty", "keep", "-o", "y"],
    ["report", "--plan", "plan.json", "--ledger", "x", "--occasion", "w", "--empty", "keep", "-o", "loop"],
    ["report", "--ledger", "loop", "--told"],
    ["gather", "loop", "--plan", "plan.json", "-o", "x"], ["gather", "b.dat", "--plan", "plan.json", "-o", "loop"],
    ["gather", "b.dat", "--plan", "loop", "-o", "x"], ["gather", "b.dat", "--plan", "plan.json", "-o", "loop/x"],
]  # fmt: skip


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
@pytest.mark.parametrize("arguments", LOOPS, ids=" ".join)
def test_links_in_a_circle(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    """A path that leads in a circle is an error in one line wherever a path is given; nothing is written."""
    for name in ("plan.json", "b.dat", "i.csv"):
        (tmp_path / name).write_bytes((home / name).read_bytes())
    for name in ("loop", "loop.csv", "loop.dat"):
        (tmp_path / name).symlink_to(name)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    refused(*arguments)
    assert sorted(path for path in tmp_path.iterdir() if path.name != "assocpriv-demo") == before


@pytest.mark.parametrize("name", ["plan", "randomize", "mine", "rules", "inspect", "simulate", "generate quest"])
def test_missing_options_are_named(name: str) -> None:
    """A command without what it requires ends with status 2 and names what is missing."""
    assert refused(*name.split(), status=2).startswith("Missing ")


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (["simulate", "b.dat"], "--plan"),
        (["refine", "i.parquet", "-o", "p.json"], "--plan"),
        (["refine", "i.parquet", "--plan", "plan.json"], "--output"),
        (["plan", "--items", "5", "--transaction-size", "2", "--prior", "5%", "-o", "p.json"], "--posterior"),
        (["plan", "--items", "5", *PROMISE], "--output"),
    ],
    ids=str,
)
def test_each_required_option_is_required(arguments: list[str], missing: str) -> None:
    """Leaving one required option out is wrong usage."""
    assert missing in refused(*arguments, status=2)


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
        "generate": (["generate", "quest", "--people", 100], ".dat"),
        "refine": (["refine", home / "i.parquet", "--plan", home / "plan.json", "--best", 3], ".json"),
    }


WRITING = [
    "plan", "randomize", "mine to parquet", "mine to csv", "mine to json", "rules to parquet", "rules to csv",
    "rules to json", "generate", "refine",
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
@pytest.mark.parametrize("command", ["mine to csv", "rules to csv"])
def test_unknown_extensions(home: Path, tmp_path: Path, command: str, name: str) -> None:
    """Tables are written as .parquet, .csv or .json only."""
    arguments, _ = writing_commands(home)[command]
    assert "must end in" in refused_without_output(tmp_path, *arguments, "-o", tmp_path / name, status=2)


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
    ):
        assert "is an input" in refused_without_output(tmp_path, *commands, "--force")


@pytest.mark.parametrize("output", ["-", ""])
@pytest.mark.parametrize(
    "command",
    [
        "report --plan plan.json --ledger l.bin --occasion w1 --empty keep", "randomize b.dat --plan plan.json",
        "mine r.parquet --min-support 15%", "rules i.csv", "gather inbox --plan plan.json", "catalogue b.dat", "demo",
        "plan --items 5 --transaction-size 2 --epsilon 2", "generate quest", "refine i.csv --plan plan.json",
    ],
)  # fmt: skip
def test_an_output_is_a_file(home: Path, command: str, output: str) -> None:
    """No command takes - or nothing for the name of a file to write, and nothing is spent or written."""
    with contextlib.chdir(home):
        assert "name" in refused_without_output(home, *command.split(), "-o", output, status=2)


def test_an_audit_is_of_a_plan(home: Path) -> None:
    """What is no plan at all is refused in one line; nothing is called broken."""
    for name in ("b.dat", "names.txt"):
        assert "not a plan" in refused("audit", home / name)
