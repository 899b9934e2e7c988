"""Other programs on a pipe, and the command: the rules for programs, and the output of the audit."""

import json
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from auditing.audited import LESS, PLANS
from click.testing import CliRunner

from assocpriv import audit as audit_plan
from assocpriv.auditing import audit as driver
from assocpriv.auditing import replay, report_distributions, source_checks
from assocpriv.auditing.audit import audit, audit_file
from assocpriv.auditing.audit_subject import Program, collect_reports
from assocpriv.auditing.basket_audit import BasketSubject
from assocpriv.auditing.findings import BROKEN, CHECKS, CONSISTENT, AuditRequest
from assocpriv.cli.main import main
from assocpriv.client.baskets.basket_client import Randomizer
from assocpriv.files.plan_files import write_plan
from assocpriv.guarantees.errors import FileError, NotAPlanError, WireError

SCAN = cache(source_checks.scan_package)
SUBJECT = BasketSubject(PLANS["seeds"], PLANS["seeds"].canonical_json, np.random.default_rng(1))

READ_ALL = "import sys\nlines = sys.stdin.read().split('\\n')[:-1]\n"
ANSWER = f"{READ_ALL}print('\\n'.join('00' * WIDTH for line in lines))"
PROGRAMS = {
    "import time\ntime.sleep(60)": "wrote nothing for",
    "raise SystemExit(3)": "ended after 0 lines",
    f"{READ_ALL}print('00' * WIDTH)": "ended after 1 lines",
    f"{READ_ALL}print('zz' * WIDTH)\nprint('\\n'.join('00' * WIDTH for line in lines))": "line 1 of",
    f"{READ_ALL}print('\\n'.join('AA' * WIDTH for line in lines))": "line 1 of the program is not lowercase",
    f"{READ_ALL}print('\\n'.join('0' for line in lines))": "not lowercase hexadecimal",
    f"{ANSWER}\nprint('00')": "wrote more than the 300 reports",
    f"{ANSWER}\nraise SystemExit(4)": "ended with status 4",
    f"{ANSWER}\nimport os, time\nsys.stdout.close()\nos.close(1)\ntime.sleep(60)": "did not end",
    "print('plan', '0' * 64)": "another plan",
    "while True: print('x' * 99999, end='')": "longer than any report",
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Replay less, scan once, and start programs less often, than an audit; test_seeded_faults.py replays as much."""
    monkeypatch.setattr(report_distributions, "_START_SECONDS", 0)
    monkeypatch.setattr(source_checks, "scan_package", SCAN)
    for name, less in LESS.items():
        monkeypatch.setattr(replay, name, less)


@pytest.fixture(scope="module")
def plan_path(tmp_path_factory):
    """Return the file of a small plan."""
    path = tmp_path_factory.mktemp("audit") / "plan.json"
    write_plan(PLANS["seeds"], path)
    return path


def program(code, plan_path, **options):
    """Return a client that runs some Python code."""
    plan = PLANS["seeds"]
    code = code.replace("WIDTH", str(plan.report_bytes))
    return Program([sys.executable, "-c", code], plan_path, plan, SUBJECT.program_input, **options)


def batches(count=3, rows=100):
    """Return batches of small transactions."""
    return [SUBJECT.batch([(0, 1), (), (5,), (1, 2, 3, 4)] * (rows // 4))] * count


@pytest.mark.parametrize("code", PROGRAMS)
def test_a_program_that_breaks_the_protocol_is_refused(plan_path, code):
    """Every violation of the protocol is one error within the time limit, and ends the program."""
    patience = {"wrote nothing for": 0.5, "did not end": 6.0}.get(PROGRAMS[code], 120.0)  # others end by themselves
    with pytest.raises(WireError, match=PROGRAMS[code]):
        list(collect_reports(program(code, plan_path, patience_seconds=patience), iter(batches())))


@pytest.mark.parametrize("ending", ["\\n", "\\r\\n"])
def test_a_program_may_answer_at_the_end(plan_path, ending):
    """Reports of any length come in the order of transactions, also if all are written after all input is read."""
    code = f"{READ_ALL}sys.stdout.write(''.join(line.replace(' ', '').encode().hex() + '{ending}' for line in lines))"
    given = list(program(code, plan_path).reports(iter(batches())))
    assert [len(answers) for answers in given] == [100] * 3
    for answers in given:
        assert answers.lengths.tolist() == [2, 0, 1, 4] * 25
        assert answers.octets[3].tobytes() == b"1234"
        assert answers.octets[2].tobytes() == b"5\0\0\0"


def test_a_program_gets_the_transactions_as_they_are(plan_path, tmp_path):
    """Standard input has one line per transaction and nothing else; the last argument is the plan's path."""
    code = f"{ANSWER}\nopen({str(tmp_path / 'seen')!r}, 'w').write(sys.argv[-1] + '\\n' + '\\n'.join(lines))"
    list(program(code, plan_path).reports(iter(batches(1, 4))))
    assert (tmp_path / "seen").read_text() == f"{plan_path}\n0 1\n\n5\n1 2 3 4"


def test_program_and_audit_do_not_deadlock(plan_path):
    """Input and output exceed the pipe's buffer: for a program that writes while it reads, and one that does not."""
    many = batches(10, 8000)
    echo = "import sys\nfor line in sys.stdin: print('00' * 99)"
    for code in (echo, ANSWER.replace("WIDTH", "99")):
        assert sum(len(answers) for answers in program(code, plan_path).reports(iter(many))) == 80_000


def test_stopping_early_ends_the_program(plan_path):
    """Closing the stream ends a program that would write for ever."""
    stream = program("while True: print('00' * WIDTH)", plan_path).reports(iter(batches()))
    next(stream)
    stream.close()


def test_errors_of_the_batches_are_raised(plan_path):
    """An error of the batches is not attributed to the program."""

    def failing():
        yield from batches(1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(program(ANSWER, plan_path).reports(failing()))


def test_a_program_that_cannot_be_started(plan_path, tmp_path):
    """A program that cannot be started is refused."""
    missing = Program([str(tmp_path / "nothing")], plan_path, PLANS["seeds"], SUBJECT.program_input)
    with pytest.raises(FileError, match="cannot start"):
        list(missing.reports(iter(batches())))


# ---- the driver


def test_every_check_is_made_of_every_client():
    """Each client gets all checks, the plan the guarantee; clients share the false alarms; progress is reported."""
    stages = set()
    request = AuditRequest(trials=1000, confidence="99.99999%")
    found = audit(PLANS["one item"].canonical_json, request, lambda stage, *_: stages.add(stage)).findings
    wanted = [("guarantee", ""), *((check, client) for check in CHECKS[1:] for client in ("bulk", "single"))]
    wanted.remove(("source", "single"))
    assert list(dict.fromkeys((finding.check, finding.client) for finding in found)) == wanted
    for client in ("bulk", "single"):
        rates = [finding.figures.get("false_alarm", 0) for finding in found if finding.client == client]
        assert sum(rates) == pytest.approx(5e-8)
    assert stages == {"in turn", "many records", "one record"}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": 5}', "[" * 100_000])
def test_texts_that_are_not_plans(text):
    """A text that does not claim to be a plan is refused, and so is None."""
    with pytest.raises(NotAPlanError):
        audit(text, AuditRequest())
    with pytest.raises(TypeError, match="read_plan reads one from a file"):
        audit_plan(None)


def test_a_plan_file_is_read_once(monkeypatch):
    """The clients are audited with the text that was read once, not with a later content of the file."""
    text = PLANS["one item"].canonical_json
    monkeypatch.setattr(driver, "read_plan_text", lambda _path: text)
    request = AuditRequest(trials=1000, client="single", confidence="99.99999%")
    found = audit_file(Path("no such file"), request)
    assert (found.verdict, found.plan) == (CONSISTENT, PLANS["one item"])


def broken_messages(request):
    """Return the messages of broken findings."""
    found = audit(PLANS["bits"].canonical_json, request).findings
    return [each.message for each in found if each.verdict == BROKEN]


def test_the_finding_names_who_failed(monkeypatch):
    """A finding attributes an exception to the client or to the audit's own code, and quotes neither."""

    def failing(*_given, **_options):
        raise ZeroDivisionError("canary")

    request = AuditRequest(trials=1000, client="single")
    with monkeypatch.context() as patch:
        patch.setattr(Randomizer, "randomize", failing)
        of_client = broken_messages(request)
    monkeypatch.setattr(replay, "WordStream", failing)
    of_audit = broken_messages(request)
    assert {message[:45] for message in of_client} == {"The client failed with ZeroDivisionError (tes"}
    assert [message[:62] for message in of_audit] == ["The audit itself, not the client, failed with ZeroDivisionErro"]
    assert "canary" not in str([*of_client, *of_audit])


# ---- the command


RARE_ALARM = ("--trials", 1000, "--confidence", "99.99999%")  # one false alarm in ten million runs on real entropy


def run(*arguments):
    """Run the audit; return its exit status and what it printed."""
    result = CliRunner().invoke(main, ["audit", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    return result.exit_code, result.stdout, result.stderr


def test_a_broken_client_ends_with_status_one(plan_path):
    """The findings are printed, as text and as JSON, and our own client is not run."""
    command = f"'{sys.executable}' -c \"import sys; [print('00') for line in sys.stdin]\""
    status, text, errors = run(plan_path, *RARE_ALARM, "--program", command)
    assert (status, errors) == (1, "")
    assert text.startswith(f"broken, 2 checks not made: plan {PLANS['seeds'].plan_id}, ")
    assert "length: Reports are 1 to 1 bytes long; the plan says 3." in text
    status, out, _ = run(plan_path, *RARE_ALARM, "--program", command, "--json")
    record = json.loads(out)
    assert (status, record["verdict"], record["not_decided"], record["client"]) == (1, BROKEN, 2, "program")
    assert {finding["client"] for finding in record["findings"]} == {None, "program"}


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("--trials 999", 2, "Error: "), ("--client single --program x", 2, "Error: "), ("--program=", 2, "Error: "),
        ("--program 'x", 2, "Error: "), ("--confidence 20%", 1, "Error: "), ("--confidence sure", 1, "Error: "),
        ("--program /nothing/here", 1, "Error: "), ("none.json", 1, "cannot read"),
    ],
)  # fmt: skip
def test_invalid_requests_are_refused(plan_path, arguments, status, message):
    """Wrong usage ends with status 2, invalid values and a missing file with 1; standard output stays empty."""
    found, out, errors = run(*([] if arguments == "none.json" else [plan_path]), *arguments.split(" "))
    assert (found, out) == (status, "")
    assert message in errors
