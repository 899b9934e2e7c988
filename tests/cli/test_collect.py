"""Tests of the command gather: what it says, its exit status, and who names it where single reports are met."""

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest
from command_line import python, refused, run, run_json

import assocpriv as ap

GOOD, BAD = bytes(2), bytes(3)  # reports of the plan have 2 bytes
WHY = "has 3 bytes, where a report has 2; it is of another plan, so name that one, or no single report"


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    """An inbox, whose name needs quotes in a shell, of three reports and a file that is none."""
    folder = tmp_path / "in box"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.bin").write_bytes(GOOD)
    (folder / "bad").write_bytes(BAD)
    return folder


def test_what_devices_write_is_gathered_and_mined(home: Path, tmp_path: Path) -> None:
    """Reports of the command report become a collection that inspect, ask and mine read."""
    (tmp_path / "in").mkdir()
    for number in range(3):
        device = ["--ledger", tmp_path / f"{number}", "--occasion", "w", "-o", tmp_path / "in" / f"{number}.bin"]
        run("report", "--plan", home / "plan.json", "--empty", "keep", *device)
    said = run("gather", tmp_path / "in", "--plan", home / "plan.json", "-o", tmp_path / "c")
    assert f"3 reports gathered into {tmp_path / 'c'}, which holds 3 now" in said.stdout
    assert "the files gathered are removed: the collection has their bytes" in said.stdout
    assert list((tmp_path / "in").iterdir()) == []
    assert run_json("inspect", tmp_path / "c")["reports"] == 3
    assert run_json("ask", tmp_path / "c", "--itemset", "1")["itemsets"]


def test_the_record(home: Path, inbox: Path, tmp_path: Path) -> None:
    """The record says what was gathered and refused; standard error names what was left."""
    command = ["gather", inbox, "--plan", home / "plan.json", "-o", tmp_path / "c", "--json"]
    result = run(*command)
    record = json.loads(result.stdout)
    assert record["plan_id"] == ap.read_plan(home / "plan.json").plan_id
    assert record["refused"] == [{"file": str(inbox / "bad"), "reason": WHY}]
    assert [(each["path"], each["unsealed"]) for each in record["collections"]] == [(str(tmp_path / "c"), 3)]
    assert result.stderr == f"warning: left where it is: {inbox / 'bad'} {WHY}\n"
    for name in ("0.bin", "4.bin"):
        (inbox / name).write_bytes(GOOD)
    again = run(*command)
    record = json.loads(again.stdout)
    assert (record["gathered"], record["repeated"], record["reports"]) == (1, 1, 4)
    assert "warning: 1 file removed without counting: reports under their names were gathered before" in again.stderr


def test_exit_status(home: Path, inbox: Path, tmp_path: Path) -> None:
    """Nothing to do is no failure; files of which none can be gathered are."""
    arguments = ["--plan", home / "plan.json", "-o", tmp_path / "c"]
    run("gather", inbox, *arguments)
    message = refused("gather", inbox, *arguments)
    assert message == f"nothing was gathered: {inbox / 'bad'} {WHY}"
    (inbox / "bad2").write_bytes(BAD)
    assert refused("gather", inbox, *arguments) == f"{message}; 1 other file refused, too"
    assert "is not there" in refused("gather", tmp_path / "typo", *arguments)
    (inbox / "bad2").write_bytes(GOOD[:1])
    assert "it is half-written, and stays there until it is whole" in refused("gather", inbox / "bad2", *arguments)
    for bad in inbox.iterdir():
        bad.unlink()
    assert "nothing to do" in run("gather", inbox, *arguments).stdout
    assert "holds 3 now" in run("gather", inbox, *arguments).stdout


def test_names_of_files_are_no_lines_of_ours(home: Path, tmp_path: Path) -> None:
    """A name with line ends, colours or bytes that are no text stays on one line, and JSON has it as it is."""
    (tmp_path / "in").mkdir()
    name = b"a\nError: b\x1b[31m\xff"
    (tmp_path / "in" / os.fsdecode(name)).write_bytes(BAD)
    (tmp_path / "in" / "good").write_bytes(GOOD)
    done = python("gather", tmp_path / "in", "--plan", home / "plan.json", "-o", tmp_path / "c", "--json")
    left = f"{tmp_path / 'in'}/a?Error: b?[31m?"
    assert done.stderr == f"warning: left where it is: {left} {WHY}\n"
    assert os.fsencode(json.loads(done.stdout)["refused"][0]["file"]).endswith(name)


def test_single_reports_are_told_what_to_do(home: Path, inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who takes an inbox or a file of it for a collection is told the very command to type, and it works."""
    for path in (inbox, inbox / "0.bin"):
        for command in (["mine", path], ["ask", path, "--itemset", "1"], ["inspect", path]):
            message = refused(*command)
            typed = shlex.split(message[message.index("assocpriv gather") :])
            assert typed == ["assocpriv", "gather", str(path), "--plan", "plan.json", "-o", "collection"]
    (inbox.parent / "plan.json").write_bytes((home / "plan.json").read_bytes())
    monkeypatch.chdir(inbox.parent)
    run(*typed[1:])
    run("inspect", "collection")


@pytest.mark.parametrize("reports", [b"\0\0", [b"\0\0"], (b"\0", b"\1")])
def test_bytes_in_python_are_told_what_to_do(reports: Any) -> None:
    """Single reports in memory are named as what they are, with what makes a collection of them."""
    for call in (lambda: ap.mine(reports, 0.1), lambda: ap.ask(reports, [["1"]])):
        with pytest.raises(TypeError, match=r"Reports.from_bytes\(\[report, …\], plan\)"):
            call()


def test_few_reports_are_sealed_by_an_option_alone(inbox: Path, home: Path, tmp_path: Path) -> None:
    """Closing with few is refused and names the option, serving so has none; then the cost is told."""
    data = tmp_path / "c"
    run("gather", inbox, "--plan", home / "plan.json", "-o", data)
    for close in ([], ["--close"]):
        assert "3 reports wait to be sealed" in (said := refused("collector", "seal", data, *close))
        assert "(collector seal, --few)" in said
    said = refused("serve", home / "plan.json", "--data", data, "--epoch-reports", 50, 100)
    assert "fewer than 100 reports" in said
    assert run_json("collector", "status", data)["closed"] is False
    done = run("collector", "seal", data, "--close", "--few")
    assert "fewer than 1,000: whoever has a device's ledger" in done.stderr
    assert run_json("collector", "remove", data, 30)["removed"] == 0
    assert run_json("collector", "status", data)["sealed"] == 3
