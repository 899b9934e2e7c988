"""Tests of all commands: a complete run, output streams, usage, and written files."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import N_BASKETS, PLAN_ARGUMENTS, make_baskets, python, refused, refused_without_output, run, run_json

from assocpriv.show import text_renderer


def test_a_complete_run(home: Path, tmp_path: Path) -> None:
    """Baskets become reports, itemsets and rules with the plan's id, and the known rule is found."""
    plan_id = run_json("inspect", home / "plan.json")["plan_id"]
    reports = tmp_path / "r.parquet"
    sent = run_json("randomize", home / "b.dat", "--plan", home / "plan.json", "-o", reports)
    assert (sent["plan_id"], sent["reports"], sent["truncated_baskets"]) == (plan_id, N_BASKETS, 0)
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
    assert (["1"], ["2"]) in [(rule["antecedents"], rule["consequents"]) for rule in rules if rule["selected_strict"]]
    lows = [rule["confidence_ci_low"] for rule in rules]
    assert lows == sorted(lows, reverse=True)


def test_options_of_all_commands_stand_anywhere(home: Path) -> None:
    """Global options work before and after the command's name; one without effect is refused by name."""
    for words in (["--json", "-q", "mine", home / "r.parquet"], ["mine", "-q", home / "r.parquet", "--json"]):
        assert json.loads(run(*words).stdout)["reports"] == N_BASKETS
        assert all(line.startswith("warning:") for line in run(*words).stderr.splitlines())
    assert "took" in run("inspect", home / "plan.json", "-v").stderr
    plan = home / "plan.json"
    for words, message in (
        (["ask", home / "r.parquet", "--force"], "ask writes no file; leave --force out"),
        (["--json", "serve", plan, "--data", "x"], "serve prints no result"),
        (["serve", plan, "--data", "x", "--port", 1], "No such option --port; give --listen or --admin-port"),
        (["randomize", plan, "--plan", home / "b.dat", "-o", "r.parquet"], f"is one: give --plan {plan}"),
    ):
        assert message in refused(*words, status=2)


def test_progress_never_goes_to_stdout(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal progress goes to standard error, and standard output has the record only."""
    monkeypatch.setattr(text_renderer.Progress, "_may_show", lambda _: True)
    monkeypatch.setattr(text_renderer, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    result = run(*PLAN_ARGUMENTS, "--detect", "20%", "-o", tmp_path / "p.json", "--json")
    assert "planning" in result.stderr
    assert json.loads(result.stdout)["plan_id"]
    assert "\r" not in result.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["inspect", "plan.json"]], ids=str)
def test_narrow_encodings_do_not_break_text(home: Path, arguments: list[str]) -> None:
    """If the output encoding lacks γ, as in a pipe on Windows, a question mark replaces it."""
    done = python(*arguments, cwd=home, encoding="cp1252", env=os.environ | {"PYTHONIOENCODING": "cp1252"})
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["privacy", "plan.json", "--json"], ["--help"]], ids=str)
def test_full_standard_output(home: Path, arguments: list[str]) -> None:
    """A result or a help that cannot be printed is an error, not a traceback."""
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "assocpriv", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=home)
    assert done.returncode == 1
    assert done.stderr == f"Error: {os.strerror(errno.ENOSPC)}\n"


@pytest.mark.skipif(os.name != "posix", reason="a shell of POSIX")
@pytest.mark.parametrize("arguments", [["--help"], [*PLAN_ARGUMENTS, "-o", "closed.json"]], ids=str)
def test_closed_standard_output(home: Path, arguments: list[str]) -> None:
    """A closed standard output is an error before any work is done."""
    command = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "assocpriv", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=home)
    assert (done.returncode, done.stderr) == (1, "Error: standard output is closed; nothing was done\n")
    assert not (home / "closed.json").exists()


LOOPS = [
    "mine loop", "rules loop.csv", "randomize b.dat --plan plan.json -o loop", "audit loop",
    "randomize loop --layout dat --plan plan.json -o x.parquet", "gather loop --plan plan.json -o x",
    "report --plan plan.json --ledger loop --period w --empty keep -o y", "gather b.dat --plan plan.json -o loop/x",
]  # fmt: skip


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_links_in_a_circle(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path with a symbolic link loop is an error in one line for every option; nothing is written."""
    for name in ("plan.json", "b.dat", "i.csv"):
        (tmp_path / name).write_bytes((home / name).read_bytes())
    for name in ("loop", "loop.csv", "loop.dat"):
        (tmp_path / name).symlink_to(name)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    for arguments in LOOPS:
        refused(*arguments.split())
        assert sorted(tmp_path.iterdir()) == before


WRITING = {  # every command that writes, and the extension of what it writes
    "plan --items 5 --transaction-size 2 --epsilon 2": ".json", "randomize b.dat --plan plan.json": ".parquet",
    "mine r.parquet --min-support 15%": ".csv", "rules i.csv": ".json", "generate quest --people 100": ".dat",
    "refine r.parquet --best 3": ".json", "catalogue b.dat": ".txt", "demo": "",
    "report --plan plan.json --ledger l.bin --period w1 --empty keep": "", "gather in --plan plan.json": "",
}  # fmt: skip


@pytest.mark.parametrize("command", [command for command, ending in WRITING.items() if ending])
def test_existing_outputs(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """An existing file stays without --force and is replaced with it."""
    monkeypatch.chdir(home)
    output = tmp_path / f"out{WRITING[command]}"
    output.write_text("keep me")
    assert "--force" in refused_without_output(tmp_path, *command.split(), "-o", output)
    run(*command.split(), "-o", output, "--force")
    assert output.read_bytes()[:7] != b"keep me"
    assert [path.name for path in tmp_path.iterdir()] == [output.name]


def test_an_input_is_never_overwritten(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even with --force the output may not be an input file: baskets, plan, reports or itemsets."""
    for name in ("b.dat", "plan.json", "r.parquet", "i.json"):
        (tmp_path / name).write_bytes((home / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    for command in (
        "randomize b.dat --plan plan.json -o b.dat", "randomize b.dat --plan plan.json -o plan.json",
        "mine r.parquet -o r.parquet", "rules i.json -o i.json", "refine r.parquet -o r.parquet",
    ):  # fmt: skip
        assert "is an input" in refused_without_output(tmp_path, *command.split(), "--force")


@pytest.mark.parametrize("command", WRITING)
def test_an_output_is_a_file(home: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """No command takes - or an empty name as output, and no budget is spent and nothing written."""
    monkeypatch.chdir(home)
    for output in ("-", ""):
        assert "name" in refused_without_output(home, *command.split(), "-o", output, status=2)


def test_an_audit_is_of_a_plan(home: Path) -> None:
    """A file that is not a plan is refused in one line; it is not called broken."""
    for name in ("b.dat", "names.txt"):
        assert "not a plan" in refused("audit", home / name)
