"""Planted faults: each breaks the audit, by what the system gave or by the source; what is not planted breaks nothing.

Laws, which need many reports, are looked at by the default audit alone; ``--slow`` runs that for every fault.
"""

from pathlib import Path

import numpy as np
import planted_faults
import pytest
from planted_faults import FAULTS, PLANS, Fault

import assocpriv as ap
from assocpriv.auditing import audit, sources
from assocpriv.auditing.clients import Program
from assocpriv.auditing.findings import BROKEN, CONSISTENT
from assocpriv.auditing.findings import Fault as Found
from assocpriv.auditing.replay import compare
from assocpriv.auditing.subject import Subject
from assocpriv.files.plans import write_plan
from assocpriv.plans.kind import load_for

SUBJECTS = {name: load_for(plan.kind, "auditing.subject", "audited") for name, plan in PLANS.items()}
BY_LAWS = {"chunks share their words"}  # of chunks of one length: each audit's baskets make others of them


def subject_of(name: str) -> Subject:
    """Return a plan as the audit takes it, with a deal of its own."""
    plan = PLANS[name]
    made: Subject = SUBJECTS[name](plan, plan.canonical_json, np.random.default_rng())
    return made


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("client", ["bulk", "single", "javascript"])
def test_reports_are_those_of_the_systems_words(name: str, client: str, tmp_path: Path) -> None:
    """Each client's reports, of every kind of plan, are made again to the last bit."""
    subject = subject_of(name)
    box = program_of(subject, None, tmp_path) if client == "javascript" else subject.clients[client]
    [finding] = compare(subject, client, box)
    assert finding.verdict == CONSISTENT
    assert finding.figures["compared"] >= 500


def program_of(subject: Subject, fault: Fault | None, folder: Path) -> Program:
    """Return a copy of the client in JavaScript, with a fault."""
    write_plan(subject.plan, folder / "plan.json")
    command = planted_faults.planted_program(fault, folder / "client")
    return Program(command, folder / "plan.json", subject.plan, subject.lines)


def is_found(fault: Fault, monkeypatch: pytest.MonkeyPatch, folder: Path) -> bool:
    """Tell whether the source of a planted client, or its words, tell the fault."""
    if fault.client == "source":
        [finding] = sources.scan_package(planted_faults.planted_package(fault, folder, sources.PACKAGE))
        return finding.verdict == BROKEN
    subject = subject_of(fault.plan)
    if callable(fault.plant):
        fault.plant(monkeypatch)
        box = subject.clients[fault.client]
    else:
        box = program_of(subject, fault, folder)
        assert box.script is not None
        if sources.scan_script(box.script)[0].verdict == BROKEN:
            return True
    try:
        compare(subject, fault.client, box)
    except Found:
        return True
    return False


@pytest.mark.parametrize(
    "fault", [each for each in FAULTS if each.name not in BY_LAWS], ids=lambda each: f"{each.client}: {each.name}"
)
def test_a_planted_fault_is_found(fault: Fault, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever is planted, one by one, in bulk or in JavaScript, is found exactly: with no false alarm."""
    assert is_found(fault, monkeypatch, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: f"{each.client}: {each.name}")
def test_the_default_audit_finds_it(fault: Fault, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So does the audit as anybody runs it."""
    plan, options = PLANS[fault.plan], {}
    if fault.client == "javascript":
        write_plan(plan, tmp_path / "plan.json")
        options["program"] = planted_faults.planted_program(fault, tmp_path / "client")
    elif fault.client == "source":
        monkeypatch.setattr(sources, "PACKAGE", planted_faults.planted_package(fault, tmp_path, sources.PACKAGE))
    else:
        options["client"] = fault.client
        assert callable(fault.plant)
        fault.plant(monkeypatch)
    assert ap.audit(tmp_path / "plan.json" if "program" in options else plan, **options).is_broken


def test_the_sources_are_clean() -> None:
    """Neither of our clients names anything that changes by itself, but the system's entropy."""
    found = [*sources.scan_package(), *sources.scan_script(planted_faults.javascript.CLIENT / "pipe.js")]
    assert [finding.verdict for finding in found] == [CONSISTENT] * 2


PYTHON = (
    "import time", "import random", "from random import choice", "import numpy.random",
    "from numpy import random", "np.random.x(1)", "from os import getenv", "os.environ['x']", "hash('x')",
    "id(x)", "eval('1')", "getattr(np, name)",
    "getattr(np, 'random')", "x.__dict__", "datetime.now()", "import sys", "__import__('time')", "open.__globals__",
    "from datetime import datetime", "open('/proc/uptime')", "pathlib.Path('/proc/uptime').read_text()",
    "np.datetime64('now')", "threading._time()", "import asyncio", "import email.utils", "from .clock import now",
    "''.__hash__()", "os.listdir('/proc')", "from logging import time",
)  # fmt: skip
JAVASCRIPT = (
    "Math.random()", "Math['ran' + 'dom']()", "Math[name]()", "const { random } = Math;", "Date.now()", "new Date()",
    "globalThis['Da' + 'te']", "globalThis[name]", "globalThis.performance.now()", "eval('1')", "new Function('1')",
    "import('x')", "crypto.randomUUID()", "Reflect.get(x, y)", "(() => 1).constructor('return 1')", "process.env",
    "global[name].now()", "window[name]", "new Event('x').timeStamp", "new File([], '').lastModified",
    "x['constructor']", "`${Date}`.length, Math?.random",
)  # fmt: skip


@pytest.mark.parametrize("line", PYTHON)
def test_the_scan_of_python_finds(line: str, tmp_path: Path) -> None:
    """What changes by itself is found under every usual name, and under a name that is put together."""
    (tmp_path / "client").mkdir()
    (tmp_path / "client" / "one.py").write_text(f"import os\nimport numpy as np\n{line}\n")
    assert sources.scan_package(tmp_path)[0].verdict == BROKEN


@pytest.mark.parametrize("line", JAVASCRIPT)
def test_the_scan_of_javascript_finds(line: str, tmp_path: Path) -> None:
    """Likewise in a module that the program imports; in a comment, or as text, it harms nobody."""
    (tmp_path / "pipe.js").write_text('import { one } from "./one.js";\n')
    (tmp_path / "one.js").write_text(f"export const one = () => {{ {line} }};\n")
    assert sources.scan_script(tmp_path / "pipe.js")[0].verdict == BROKEN
    (tmp_path / "one.js").write_text(f"// {line}\nexport const one = 1;\n")
    assert sources.scan_script(tmp_path / "pipe.js")[0].verdict == CONSISTENT


def test_all_checks_run() -> None:
    """The driver's table has each check once, in the order in which they are told."""
    assert list(audit._CHECKS) == ["source", "words", "form", "laws"]
