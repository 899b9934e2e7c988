"""The device's book in JavaScript: in Chromium whatever pages do, and one file with the client in Python."""

import json
import os
import subprocess

import javascript
import pytest
from debian_packages import program
from naive import small_plan

from assocpriv.client.ledger import Ledger
from assocpriv.files.plans import write_plan
from assocpriv.promise.errors import FileError

PLAN = small_plan("none", 4, 2, 2)


def in_chromium(script, *given):
    """Run a script of clients/js/test that drives Chromium; every check of it must hold."""
    chromium = program("chromium", "chromium")
    done = javascript.run(
        javascript.node(), javascript.tools() / "test" / script, *given, env=os.environ | {"CHROMIUM": chromium}
    )
    assert "not ok" not in done.stdout
    return done.stdout.count("ok: ")


def test_the_ledger_in_chromium():
    """Pages and a worker at once, pages closed, storage that fails or is cleared: one report an occasion, or none."""
    assert in_chromium("ledger-chromium.js") == 9


def till(folder, *asked):
    """Return what a till on node answers that has the ledger in a folder."""
    command = [javascript.node(), javascript.CLIENT / "test/till.js", folder / "ledger.bin", folder / "plan.json"]
    lines = "".join(json.dumps({"occasion": occasion, "record": record}) + "\n" for occasion, record in asked)
    return subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("occasion", ["2026-W47", " caf\u00e9\u0085", "cafe\u0301\u2003", "\ufeffx", "\u1fee\x1c"])
def test_one_file_for_both_languages(tmp_path, occasion):
    """What one wrote the other sends as the same bytes, of the same occasion, and adds no byte that differs."""
    write_plan(PLAN, tmp_path / "plan.json")
    submission_id, report = till(tmp_path, (occasion, ["1"]))
    with Ledger.open(tmp_path / "ledger.bin") as ledger:
        (found,) = ledger.unsent()
        assert (found.submission_id.hex(), found.report.hex()) == (submission_id, report)
        assert ledger.submit(["2"], PLAN, occasion=occasion) == found
        assert ledger.amplification == PLAN.amplification
        ledger.acknowledge(found)
    content = (tmp_path / "ledger.bin").read_bytes()
    assert till(tmp_path, (occasion, None)) == [submission_id, report]
    assert (tmp_path / "ledger.bin").read_bytes() == content


def test_a_report_handed_out_here_is_sent_by_a_till(tmp_path):
    """A report of Python's, made without a collector, is sent under the id that it has."""
    write_plan(PLAN, tmp_path / "plan.json")
    with Ledger.open(tmp_path / "ledger.bin") as ledger:
        report = ledger.report(["1"], PLAN, occasion="a")
    submission_id, sent = till(tmp_path, ("a", None))
    with Ledger.open(tmp_path / "ledger.bin") as ledger:
        (found,) = ledger.unsent()
    assert (sent, found.report, found.submission_id.hex()) == (report.hex(), report, submission_id)


def test_one_language_at_a_time_has_the_file(tmp_path):
    """While one has the ledger open the other refuses, and when its process ends, however it does, the file is free."""
    write_plan(PLAN, tmp_path / "plan.json")
    with Ledger.open(tmp_path / "ledger.bin"):
        assert till(tmp_path) == ["LedgerError"]
    command = [javascript.node(), javascript.CLIENT / "test/till.js", tmp_path / "ledger.bin", tmp_path / "plan.json"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        running.stdin.write(json.dumps({"occasion": "a", "record": ["1"]}) + "\n")
        running.stdin.flush()
        sent = running.stdout.readline().split()
        with pytest.raises(FileError, match="in use"):
            Ledger.open(tmp_path / "ledger.bin", wait_seconds=0)
        running.kill()
    with Ledger.open(tmp_path / "ledger.bin") as ledger:
        assert [ledger.unsent()[0].submission_id.hex(), ledger.unsent()[0].report.hex()] == sent
