"""Other programs on a pipe, and the command: what a program may do, and what the audit prints of it."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from auditing.audited import PLANS
from click.testing import CliRunner

from assocpriv import audit as audit_plan
from assocpriv.auditing import audit as driver
from assocpriv.auditing import clients, replay
from assocpriv.auditing.audit import audit, audit_file
from assocpriv.auditing.baskets import BasketSubject
from assocpriv.auditing.clients import Program, answered
from assocpriv.auditing.findings import BROKEN, CHECKS, CONSISTENT, AuditRequest
from assocpriv.cli.main import main
from assocpriv.client.baskets import Randomizer
from assocpriv.files.plans import write_plan
from assocpriv.promise.errors import FileError, NotAPlanError, PlanError, WireError

SUBJECT = BasketSubject(PLANS["seeds"], PLANS["seeds"].canonical_json, np.random.default_rng(1))

READ_ALL = "import sys\nlines = sys.stdin.read().split('\\n')[:-1]\n"
ANSWER = f"{READ_ALL}print('\\n'.join('00' * WIDTH for line in lines))"
PROGRAMS = {
    "import time\ntime.sleep(60)": "wrote nothing for",
    "raise SystemExit(3)": "ended after 0 lines",
    f"{READ_ALL}print('00' * WIDTH)": "ended after 1 lines",
    f"{READ_ALL}print('zz' * WIDTH)\nprint('\\n'.join('00' * WIDTH for line in lines))": "line 1 of",
    f"{READ_ALL}print('\\n'.join('AA' * WIDTH for line in lines))": "line 1 of the program is no report in lowercase",
    f"{READ_ALL}print('\\n'.join('0' for line in lines))": "no report in lowercase hexadecimal",
    f"{ANSWER}\nprint('00')": "wrote more than the 300 reports",
    f"{ANSWER}\nraise SystemExit(4)": "ended with status 4",
    f"{ANSWER}\nimport os, time\nsys.stdout.close()\nos.close(1)\ntime.sleep(60)": "did not end",
    "print('plan', '0' * 64)": "another plan",
    "while True: print('x' * 99999, end='')": "longer than any report",
}


@pytest.fixture(scope="module")
def plan_path(tmp_path_factory):
    """Return the file of a small plan."""
    path = tmp_path_factory.mktemp("audit") / "plan.json"
    write_plan(PLANS["seeds"], path)
    return path


def program(code, plan_path, **options):
    """Return a client that runs some Python."""
    plan = PLANS["seeds"]
    code = code.replace("WIDTH", str(plan.report_bytes))
    return Program([sys.executable, "-c", code], plan_path, plan, SUBJECT.lines, **options)


def batches(count=3, rows=100):
    """Return batches of small transactions."""
    return [SUBJECT.batch([(0, 1), (), (5,), (1, 2, 3, 4)] * (rows // 4))] * count


@pytest.mark.parametrize("code", PROGRAMS)
def test_a_program_that_breaks_the_protocol_is_refused(plan_path, code):
    """Whatever a program does wrong, it is told as one error, within its patience, and the program is gone."""
    patience = {"wrote nothing for": 0.5, "did not end": 6.0}.get(PROGRAMS[code], 120.0)  # others end by themselves
    with pytest.raises(WireError, match=PROGRAMS[code]):
        list(answered(program(code, plan_path, patience_seconds=patience), iter(batches())))


@pytest.mark.parametrize("ending", ["\\n", "\\r\\n"])
def test_a_program_may_answer_at_the_end(plan_path, ending):
    """Reports come in the order of transactions, of whatever length, also where none is written before all is read."""
    code = f"{READ_ALL}sys.stdout.write(''.join(line.replace(' ', '').encode().hex() + '{ending}' for line in lines))"
    given = list(program(code, plan_path).reports(iter(batches())))
    assert [len(answers) for answers in given] == [100] * 3
    for answers in given:
        assert answers.lengths.tolist() == [2, 0, 1, 4] * 25
        assert answers.octets[3].tobytes() == b"1234"
        assert answers.octets[2].tobytes() == b"5\0\0\0"


def test_a_program_gets_the_transactions_as_they_are(plan_path, tmp_path):
    """Standard input holds a line a transaction, nothing else; the last argument is the plan's path."""
    code = f"{ANSWER}\nopen({str(tmp_path / 'seen')!r}, 'w').write(sys.argv[-1] + '\\n' + '\\n'.join(lines))"
    list(program(code, plan_path).reports(iter(batches(1, 4))))
    assert (tmp_path / "seen").read_text() == f"{plan_path}\n0 1\n\n5\n1 2 3 4"


def test_neither_side_waits_for_the_other(plan_path):
    """Far more than pipes hold goes in and out: a program that writes while it reads, and one that does not."""
    many = batches(10, 8000)
    echo = "import sys\nfor line in sys.stdin: print('00' * 99)"
    for code in (echo, ANSWER.replace("WIDTH", "99")):
        assert sum(len(answers) for answers in program(code, plan_path).reports(iter(many))) == 80_000


def test_stopping_early_ends_the_program(plan_path):
    """Whoever takes no more answers leaves no program behind, though it would write for ever."""
    stream = program("while True: print('00' * WIDTH)", plan_path).reports(iter(batches()))
    next(stream)
    stream.close()


def test_what_goes_wrong_with_the_transactions_is_told(plan_path):
    """An error of the batches themselves is not taken for the program's."""

    def failing():
        yield from batches(1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(program(ANSWER, plan_path).reports(failing()))


def test_a_program_that_is_none(plan_path, tmp_path):
    """A program that cannot be started is refused."""
    with pytest.raises(FileError, match="cannot start"):
        list(Program([str(tmp_path / "nothing")], plan_path, PLANS["seeds"], SUBJECT.lines).reports(iter(batches())))


# ---- the driver


def test_a_request_is_checked():
    """What an audit cannot use is refused before it begins."""
    for wrong in ({"trials": 999}, {"confidence": "20%"}, {"confidence": "sure"}, {"client": "other"}):
        with pytest.raises(PlanError):
            AuditRequest(**wrong)


def test_every_check_is_made_of_every_client():
    """Of each client all checks, of the plan the promise; clients share the false alarms; progress is told."""
    stages = set()
    request = AuditRequest(trials=1000, confidence="99.9999%")
    found = audit(PLANS["one item"].canonical_json, request, lambda stage, *_: stages.add(stage)).findings
    wanted = {(check, client) for check in CHECKS[1:] for client in ("bulk", "single")} | {("promise", "")}
    assert {(finding.check, finding.client) for finding in found} == wanted - {("source", "single")}
    for client in ("bulk", "single"):
        rates = [finding.figures.get("false_alarm", 0) for finding in found if finding.client == client]
        assert sum(rates) == pytest.approx(5e-7)
    assert stages == {"in turn", "many records", "one record"}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": 5}', "[" * 100_000])
def test_what_is_no_plan(text):
    """A text that does not say that it is a plan is refused, and so is None."""
    with pytest.raises(NotAPlanError):
        audit(text, AuditRequest())
    with pytest.raises(TypeError, match="read_plan reads one from a file"):
        audit_plan(None)


def test_a_plan_file_is_read_once(monkeypatch):
    """What clients are judged by is the text that is judged itself, whatever the file holds by then."""
    text = PLANS["one item"].canonical_json
    monkeypatch.setattr(driver, "read_plan_text", lambda _path: text)
    request = AuditRequest(trials=1000, client="single", confidence="99.9999%")
    found = audit_file(Path("no such file"), request)
    assert (found.verdict, found.plan) == (CONSISTENT, PLANS["one item"])


def test_who_failed_is_told(monkeypatch):
    """What a client raises is said to be the client's, what the audit's own code raises its own; neither is quoted."""

    def failing(*_given, **_options):
        raise ZeroDivisionError("canary")

    request = AuditRequest(trials=1000, client="single")
    with monkeypatch.context() as patch:
        patch.setattr(Randomizer, "randomize", failing)
        said = {
            each.said[:45] for each in audit(PLANS["bits"].canonical_json, request).findings if each.verdict == BROKEN
        }
        assert said == {"The client failed with ZeroDivisionError (tes"}
    monkeypatch.setattr(replay, "Given", failing)
    found = [each for each in audit(PLANS["bits"].canonical_json, request).findings if each.verdict == BROKEN]
    assert [each.said[:62] for each in found] == ["This audit itself, not the client, failed with ZeroDivisionErr"]
    assert "canary" not in str(found)


# ---- the command


SURE = ("--trials", 1000, "--confidence", "99.9999%")  # where real entropy is drawn: one false alarm in a million runs


def run(*arguments):
    """Run the audit; return its exit status and what it printed."""
    result = CliRunner().invoke(main, ["audit", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    return result.exit_code, result.stdout, result.stderr


def test_a_broken_client_ends_with_status_one(plan_path):
    """The findings are printed all the same, as text and as JSON, and our own client is not run."""
    command = f"'{sys.executable}' -c \"import sys; [print('00') for line in sys.stdin]\""
    status, text, errors = run(plan_path, *SURE, "--program", command)
    assert (status, errors) == (1, "")
    assert text.startswith(f"broken, 2 checks not made: plan {PLANS['seeds'].plan_id}, ")
    assert "length: Reports are 1 to 1 bytes long; the plan says 3." in text
    status, out, _ = run(plan_path, *SURE, "--program", command, "--json")
    record = json.loads(out)
    assert (status, record["verdict"], record["not_decided"], record["client"]) == (1, BROKEN, 2, "program")
    assert {finding["client"] for finding in record["findings"]} == {None, "program"}


def test_the_default_is_consistent(plan_path):
    """Both clients, all checks, as JSON."""
    status, out, _ = run(plan_path, *SURE, "--json")
    record = json.loads(out)
    assert (status, record["verdict"], record["client"], record["confidence"]) == (
        0,
        CONSISTENT,
        "both",
        "999999/1000000",
    )
    assert {finding["check"] for finding in record["findings"]} == set(CHECKS)


def test_a_plan_that_breaks_its_promise_is_broken(plan_path, tmp_path):
    """The text of a plan that nobody could use is judged, and no client is run."""
    spoiled = tmp_path / "plan.json"
    content = json.loads(plan_path.read_text())
    content["promise"] = {"prior": "5/100", "posterior": "6/100"}
    spoiled.write_text(json.dumps(content))
    status, out, _ = run(spoiled, "--json")
    record = json.loads(out)
    assert (status, record["verdict"], record["plan_id"]) == (1, BROKEN, None)
    assert "no usable plan" in run(spoiled)[1]


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--trials", "999"], 2),
        (["--client", "single", "--program", "x"], 2),
        (["--program", ""], 2),
        (["--program", "'x"], 2),
        (["--confidence", "20%"], 1),
        (["--confidence", "sure"], 1),
        (["--program", "/nothing/here"], 1),
    ],
)
def test_what_cannot_be_asked(plan_path, arguments, status):
    """Wrong usage has status 2, bad values status 1, as elsewhere; nothing goes to standard output."""
    result = run(plan_path, *arguments)
    assert (result[0], result[1]) == (status, "")
    assert "Error: " in result[2]


def test_an_audit_of_no_file(tmp_path):
    """A plan that is not there is an error, not a finding."""
    status, out, errors = run(tmp_path / "none.json")
    assert (status, out) == (1, "")
    assert "cannot read" in errors


def test_patience_is_a_minute():
    """docs/formats.md tells how long a program may be silent."""
    assert clients.PATIENCE_SECONDS == 60
