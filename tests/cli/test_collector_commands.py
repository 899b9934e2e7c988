"""Tests of the command gather: output, exit status, and commands that refer to it for single reports."""

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest
from command_line import python, refused, run, run_json

import assocpriv as ap

GOOD, BAD = bytes(2), bytes(3)  # reports of the plan have 2 bytes
WHY = "has 3 bytes, where a report has 2; it is no single report, or of another plan: name that plan"


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    """Return an inbox whose name needs quotes in a shell, with three reports and another file."""
    folder = tmp_path / "in box"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.bin").write_bytes(GOOD)
    (folder / "bad").write_bytes(BAD)
    return folder


def test_reports_of_devices_are_gathered_and_mined(home: Path, tmp_path: Path) -> None:
    """Reports of the command report become a collection that inspect, ask and mine read."""
    (tmp_path / "in").mkdir()
    for number in range(3):
        device = ["--ledger", tmp_path / f"{number}", "--period", "w", "-o", tmp_path / "in" / f"{number}.bin"]
        run("report", "--plan", home / "plan.json", "--empty", "keep", *device)
    output = run("gather", tmp_path / "in", "--plan", home / "plan.json", "-o", tmp_path / "c").stdout
    assert f"3 reports gathered into {tmp_path / 'c'}, which holds 3 now" in output
    assert "gathered files are removed: the collection holds their bytes" in output
    assert list((tmp_path / "in").iterdir()) == []
    assert run_json("inspect", tmp_path / "c")["reports"] == 3
    assert run_json("ask", tmp_path / "c", "--itemset", "1")["itemsets"]


def test_the_record(home: Path, inbox: Path, tmp_path: Path) -> None:
    """The record has gathered and refused files; standard error names the remaining ones."""
    command = ["gather", inbox, "--plan", home / "plan.json", "-o", tmp_path / "c", "--json"]
    result = run(*command)
    record = json.loads(result.stdout)
    assert record["plan_id"] == ap.read_plan(home / "plan.json").plan_id
    assert record["refused"] == [{"file": str(inbox / "bad"), "reason": WHY}]
    assert [(each["path"], each["open"]) for each in record["collections"]] == [(str(tmp_path / "c"), 3)]
    assert result.stderr == f"warning: not gathered: {inbox / 'bad'} {WHY}\n"
    for name in ("0.bin", "4.bin"):
        (inbox / name).write_bytes(GOOD)
    again = run(*command)
    record = json.loads(again.stdout)
    assert (record["gathered"], record["repeated"], record["reports"]) == (1, 1, 4)
    assert "warning: 1 file removed without counting: files of these names were gathered before" in again.stderr


def test_exit_status(home: Path, inbox: Path, tmp_path: Path) -> None:
    """Nothing to do is not an error; files of which none can be gathered are."""
    arguments = ["--plan", home / "plan.json", "-o", tmp_path / "c"]
    run("gather", inbox, *arguments)
    message = refused("gather", inbox, *arguments)
    assert message == f"no file was gathered: {inbox / 'bad'} {WHY}"
    (inbox / "bad2").write_bytes(BAD)
    assert refused("gather", inbox, *arguments) == f"{message}; 1 other file refused"
    assert "does not exist" in refused("gather", tmp_path / "typo", *arguments)
    (inbox / "bad2").write_bytes(GOOD[:1])
    assert "partly written and stays in place until complete" in refused("gather", inbox / "bad2", *arguments)
    for bad in inbox.iterdir():
        bad.unlink()
    assert "nothing to do" in run("gather", inbox, *arguments).stdout
    assert "holds 3 now" in run("gather", inbox, *arguments).stdout


def test_file_names_stay_on_one_line(home: Path, tmp_path: Path) -> None:
    """A name with line ends, escape sequences or invalid bytes stays on one line; JSON has it unchanged."""
    (tmp_path / "in").mkdir()
    name = b"a\nError: b\x1b[31m\xff"
    (tmp_path / "in" / os.fsdecode(name)).write_bytes(BAD)
    (tmp_path / "in" / "good").write_bytes(GOOD)
    done = python("gather", tmp_path / "in", "--plan", home / "plan.json", "-o", tmp_path / "c", "--json")
    left = f"{tmp_path / 'in'}/a?Error: b?[31m?"
    assert done.stderr == f"warning: not gathered: {left} {WHY}\n"
    assert os.fsencode(json.loads(done.stdout)["refused"][0]["file"]).endswith(name)


def test_single_reports_refer_to_gather(home: Path, inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If an inbox or its file is given as a collection, the error gives the exact command, and that command works."""
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
def test_bytes_in_python_refer_to_a_collection(reports: Any) -> None:
    """Single reports in memory are named as such, with the function that makes a collection."""
    for call in (lambda: ap.mine(reports, 0.1), lambda: ap.ask(reports, [["1"]])):
        with pytest.raises(TypeError, match=r"Reports.from_bytes\(\[report, …\], plan\)"):
            call()


def test_small_batches_are_closed_by_an_option_only(inbox: Path, home: Path, tmp_path: Path) -> None:
    """Closing a small batch is refused with the name of the option, which serve lacks; with it the cost is stated."""
    data = tmp_path / "c"
    run("gather", inbox, "--plan", home / "plan.json", "-o", data)
    for end in ([], ["--end"]):
        message = refused("collector", "close", data, *end)
        assert "the open batch has 3 reports, below the minimum of 1,000" in message
        assert "(collector close, --allow-small)" in message
    few = ["serve", home / "plan.json", "--data", data, "--batch-reports", 50, 100]
    assert "fewer than 100 reports" in refused(*few)
    assert run_json("collector", "status", data)["ended"] is False
    done = run("collector", "close", data, "--end", "--allow-small")
    assert "below the minimum of 1,000: someone who has a device's ledger" in done.stderr
    assert run_json("collector", "remove", data, 30)["removed"] == 0
    assert run_json("collector", "status", data)["closed"] == 3
    assert "no one may send any more" in run("collector", "status", data).stdout
