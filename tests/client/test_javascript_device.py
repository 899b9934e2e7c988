"""The device's book in JavaScript: one file with the client in Python."""

import json
import subprocess
from dataclasses import replace

import command_line
import pytest
from naive import small_plan

from assocpriv.client.ledger import Ledger
from assocpriv.files.plans import write_plan
from assocpriv.promise.errors import FileError

PLAN = replace(small_plan("none", 4, 2, 2), reports_per_person=5)


def till(folder, *asked):
    """Return what a till on node answers that has the ledger in a folder."""
    command = [command_line.node(), command_line.CLIENT / "test/till.js", folder / "ledger.bin", folder / "plan.json"]
    lines = "".join(json.dumps({"occasion": occasion, "record": record}) + "\n" for occasion, record in asked)
    return subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout.split()


def test_one_file_for_both_languages(tmp_path):
    """What one wrote the other sends as the same bytes, of the same occasion, and adds no byte that differs."""
    write_plan(PLAN, tmp_path / "plan.json")
    occasions = ["2026-W47", " caf\u00e9\u0085", "cafe\u0301s\u2003", "\ufeffx", "\u1fee\x1c"]
    told = till(tmp_path, *((occasion, ["1"]) for occasion in occasions))
    with Ledger.open(tmp_path / "ledger.bin") as ledger:
        waiting = ledger.unsent()
        assert [part for each in waiting for part in (each.submission_id.hex(), each.report.hex())] == told
        assert tuple(ledger.submit(["2"], PLAN, occasion=occasion) for occasion in occasions) == waiting
        assert ledger.amplification == PLAN.amplification**5
        ledger.acknowledge(waiting[0])
    content = (tmp_path / "ledger.bin").read_bytes()
    assert till(tmp_path, *((occasion, None) for occasion in occasions)) == told
    assert (tmp_path / "ledger.bin").read_bytes() == content


def test_one_language_at_a_time_has_the_file(tmp_path):
    """While one has the ledger open the other refuses, and when its process ends, however it does, the file is free."""
    write_plan(PLAN, tmp_path / "plan.json")
    with Ledger.open(tmp_path / "ledger.bin"):
        assert till(tmp_path) == ["LedgerError"]
    command = [
        command_line.node(),
        command_line.CLIENT / "test/till.js",
        tmp_path / "ledger.bin",
        tmp_path / "plan.json",
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        running.stdin.write(json.dumps({"occasion": "a", "record": ["1"]}) + "\n")
        running.stdin.flush()
        sent = running.stdout.readline().split()
        with pytest.raises(FileError, match="in use"):
            Ledger.open(tmp_path / "ledger.bin", wait_seconds=0)
        running.kill()
    with Ledger.open(tmp_path / "ledger.bin") as ledger:
        assert [ledger.unsent()[0].submission_id.hex(), ledger.unsent()[0].report.hex()] == sent
