"""Faults of tests/faults that the audit must find, seeded in process, or in a copy of the code that is scanned or run.

The tests of output distributions need many reports; only the default audit makes them. ``--slow`` runs it per fault.
"""

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import command_line
import pytest
from auditing.audited import LESS, PLANS, make_subject
from faults.run import Fault, kept

import assocpriv as ap
from assocpriv.auditing import replay, source_checks
from assocpriv.auditing.audit_subject import Program
from assocpriv.auditing.findings import BROKEN, CONSISTENT
from assocpriv.auditing.findings import Fault as FoundFault
from assocpriv.auditing.replay import compare
from assocpriv.files.plan_files import write_plan

BY_DISTRIBUTIONS = "chunks share their words"  # chunks of one length, which depend on each audit's baskets
SEEDED = {f"{client}: {fault.name}": (fault, client, plan) for fault in kept() for client, plan in fault.audit}
# of the JavaScript client, whose reports tests/client compares with Python's, each time the plans with a fault
EACH_TIME = {"plain", *(plan for _, client, plan in SEEDED.values() if client == "javascript")}
RECOMPUTED = [
    pytest.param(client, name, marks=[pytest.mark.slow] * (client == "javascript" and name not in EACH_TIME))
    for client in ("bulk", "single", "javascript") for name in PLANS
]  # fmt: skip


@pytest.mark.parametrize(("client", "name"), RECOMPUTED)
def test_reports_are_recomputed_from_random_words(
    client: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each client's reports, for every plan type, are recomputed to the last bit; an audit makes more of them."""
    for name_of, less in LESS.items():
        monkeypatch.setattr(replay, name_of, less)
    subject = make_subject(PLANS[name])
    box = program_of(subject, None, tmp_path) if client == "javascript" else subject.clients[client]
    [finding] = compare(subject, client, box)
    assert finding.verdict == CONSISTENT
    assert finding.figures["compared"] >= 500


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the time limit of comparisons, so that a busy machine compares the same number of reports."""
    monkeypatch.setattr(replay, "_SECONDS", 1e6)


def command_of(fault: Fault | None, folder: Path) -> tuple[str, str]:
    """Return the command of a copy of the JavaScript client with a fault."""
    client = folder / "clients" / "js"
    shutil.copytree(command_line.CLIENT / "src", client / "src")
    for name in ("package.json", "pipe.js"):
        shutil.copy(command_line.CLIENT / name, client)
    if fault:
        fault.apply_to(folder)
    return command_line.node(), str(client / "pipe.js")


def program_of(subject: Any, fault: Fault | None, folder: Path) -> Program:
    """Return the copy as the audit runs it."""
    write_plan(subject.plan, folder / "plan.json")
    return Program(command_of(fault, folder), folder / "plan.json", subject.plan, subject.program_input)


def package_of(fault: Fault, folder: Path) -> Path:
    """Return a copy of the package with a fault."""
    ignored = shutil.ignore_patterns("__pycache__", "bundle*")
    shutil.copytree(source_checks.PACKAGE, folder / "assocpriv", ignore=ignored)
    fault.apply_to(folder)
    return folder / "assocpriv"


@contextmanager
def in_process(fault: Fault) -> Iterator[None]:
    """Replace the functions of a module by those of its changed text; remove what they add to the module."""
    module = import_module(fault.file.removesuffix(".py").replace("/", "."))
    changed = ModuleType(module.__name__)
    exec(compile(fault.mutated(), module.__file__, "exec"), vars(changed))
    own, names = functions(module), set(vars(module))
    codes = {name: function.__code__ for name, function in own.items()}
    others = functions(changed)
    try:
        for name, function in own.items():
            function.__code__ = others[name].__code__
        yield
    finally:
        for name, function in own.items():
            function.__code__ = codes[name]
        for name in set(vars(module)) - names:
            delattr(module, name)


def functions(holder: Any) -> dict[str, FunctionType]:
    """Return by name the functions that a module's text defines, with those of its classes."""
    found, module = {}, getattr(holder, "__module__", holder.__name__)
    for each in vars(holder).values():
        if isinstance(each, type) and each.__module__ == module:
            found |= functions(each)
        function = next((own for name in ("__func__", "fget", "func") if (own := getattr(each, name, None))), each)
        if isinstance(function, FunctionType) and function.__module__ == module:
            found[function.__qualname__] = function
    return {name: each for name, each in found.items() if not each.__code__.co_filename.startswith("<")}


def seeded(fault: Fault, client: str) -> AbstractContextManager[None]:
    """Seed a fault in process, if its client runs there."""
    return in_process(fault) if client in ("bulk", "single") else nullcontext()


@pytest.mark.parametrize("name", [name for name in SEEDED if BY_DISTRIBUTIONS not in name])
def test_a_seeded_fault_is_found(name: str, tmp_path: Path) -> None:
    """Every seeded fault is found in the single, bulk or JavaScript client, with no false alarm.

    Records are the same in every run, and enough that random words miss a fault with a probability of at most 10^-6.
    """
    fault, client, plan = SEEDED[name]
    if client == "source":
        assert source_checks.scan_package(package_of(fault, tmp_path))[0].verdict == BROKEN
        return
    subject = make_subject(PLANS[plan], 1)
    box = program_of(subject, fault, tmp_path) if client == "javascript" else subject.clients[client]
    if client == "javascript" and source_checks.scan_script(box.script)[0].verdict == BROKEN:
        return
    with seeded(fault, client), pytest.raises(FoundFault):
        compare(subject, client, box)


@pytest.mark.parametrize("client", ["bulk", "single"])
def test_a_slow_machine_finds_it_too(client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some records of each guidance are compared without any time left: the second shows a kept mixing weight."""
    monkeypatch.setattr(replay, "_SECONDS", -1.0)
    fault, _, plan = SEEDED[f"{client}: a mixing weight kept by the guidance's serial"]
    subject = make_subject(PLANS[plan])
    with seeded(fault, client), pytest.raises(FoundFault):
        compare(subject, client, subject.clients[client])


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEDED)
def test_the_default_audit_finds_it(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The audit with default options finds it, too."""
    fault, client, plan = SEEDED[name]
    write_plan(PLANS[plan], tmp_path / "plan.json")
    options: dict[str, Any] = {"client": client}
    if client == "javascript":
        options = {"program": command_of(fault, tmp_path)}
    elif client == "source":
        options = {}
        monkeypatch.setattr(source_checks, "PACKAGE", package_of(fault, tmp_path))
    with seeded(fault, client):
        assert ap.audit(tmp_path / "plan.json", **options).is_broken


def test_the_sources_are_clean() -> None:
    """Neither of our clients names a changing input other than the system's entropy."""
    found = [*source_checks.scan_package(), *source_checks.scan_script(command_line.CLIENT / "pipe.js")]
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
    """A changing input is found under every usual name, and under a name built at run time."""
    (tmp_path / "client").mkdir()
    (tmp_path / "client" / "one.py").write_text(f"import os\nimport numpy as np\n{line}\n")
    assert source_checks.scan_package(tmp_path)[0].verdict == BROKEN


@pytest.mark.parametrize("line", JAVASCRIPT)
def test_the_scan_of_javascript_finds(line: str, tmp_path: Path) -> None:
    """Likewise in a module that the program imports; comments and strings are ignored."""
    (tmp_path / "pipe.js").write_text('import { one } from "./one.js";\n')
    (tmp_path / "one.js").write_text(f"export const one = () => {{ {line} }};\n")
    assert source_checks.scan_script(tmp_path / "pipe.js")[0].verdict == BROKEN
    (tmp_path / "one.js").write_text(f"// {line}\nexport const one = 1;\n")
    assert source_checks.scan_script(tmp_path / "pipe.js")[0].verdict == CONSISTENT
