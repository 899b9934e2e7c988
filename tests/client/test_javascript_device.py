"""The device's ledger in JavaScript: it shares its file with the Python client."""

import json
import subprocess
from dataclasses import replace

import command_line
import pytest
from naive import small_plan

from assocpriv.client.ledger import Ledger
from assocpriv.files.plan_files import write_plan
from assocpriv.guarantees.errors import FileError

PLAN = replace(small_plan("none", 4, 2, 2), reports_per_person=5)


def command(folder):
    """Return the command of a till on node that uses the ledger in a folder."""
    return [command_line.node(), command_line.CLIENT / "test/till.js", folder / "ledger.bin", folder / "plan.json"]


def till(folder, *reports):
    """Return the output of a till."""
    lines = "".join(json.dumps({"period": period, "record": record}) + "\n" for period, record in reports)
    return subprocess.run(command(folder), input=lines, capture_output=True, text=True, check=True).stdout.split()


def test_one_file_for_both_languages(tmp_path):
    """Each language resends the other's reports as the same bytes, finds their periods and leaves the file as it is."""
    write_plan(PLAN, tmp_path / "plan.json")
    periods = ["2026-W47", " caf\u00e9\u0085", "cafe\u0301s\u2003", "\ufeffx", "\u1fee\x1c"]
    printed = till(tmp_path, *((period, ["1"]) for period in periods))
    with Ledger.open(tmp_path / "ledger.bin") as ledger:
        queued = ledger.queued()
        assert [part for each in queued for part in (each.submission_id.hex(), each.report.hex())] == printed
        assert tuple(ledger.submit(["2"], PLAN, period=period) for period in periods) == queued
        assert ledger.amplification == PLAN.amplification**5
        ledger.acknowledge(queued[0])
    content = (tmp_path / "ledger.bin").read_bytes()
    assert till(tmp_path, *((period, None) for period in periods)) == printed
    assert (tmp_path / "ledger.bin").read_bytes() == content


def test_one_language_at_a_time_opens_the_file(tmp_path):
    """While one language has the ledger open the other refuses; when its process ends in any way, the file is free."""
    write_plan(PLAN, tmp_path / "plan.json")
    with Ledger.open(tmp_path / "ledger.bin"):
        assert till(tmp_path) == ["LedgerError"]
    with subprocess.Popen(command(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        running.stdin.write(json.dumps({"period": "a", "record": ["1"]}) + "\n")
        running.stdin.flush()
        sent = running.stdout.readline().split()
        with pytest.raises(FileError, match="in use"):
            Ledger.open(tmp_path / "ledger.bin", wait_seconds=0)
        running.kill()
    with Ledger.open(tmp_path / "ledger.bin") as ledger:
        assert [ledger.queued()[0].submission_id.hex(), ledger.queued()[0].report.hex()] == sent
