"""The demonstration at /demo: its files, refused plans and folders, and a visit in Chromium."""

import json
import os
import signal
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import command_line
import pytest
from command_line import program
from naive import planned
from running_collector import Collector, Forks, Visitor, free_port

import assocpriv as ap
from assocpriv.collect import make_service
from assocpriv.files.plan_files import write_plan
from assocpriv.guarantees.errors import FileError, PlanError
from assocpriv.pages.demo_page import MARK
from assocpriv.plans.baskets.operator import FixedSizeOperator, transition_matrix
from assocpriv.plans.baskets.report_type import ReportType, SizesView
from assocpriv.plans.registry import parse_plan

NAMES = ["milk", "bread", "butter", '<img src=x onerror="alert(1)">', "a, \u202eb", "tea"]
VECTORS = Path(__file__).parents[1] / "vectors"
GUARANTEE = ap.Guarantee("5%", "50%")
PLAN = planned(items=NAMES, transaction_size=3, guarantee=GUARANTEE)
SIZES = ReportType(2, FixedSizeOperator(1, 3, 1, (1, 6)), view=SizesView((2, 5)))
REPORT_TYPES = replace(PLAN, report_types=(*PLAN.report_types, SIZES))


def test_a_visit_from_page_to_rules(tmp_path: Path) -> None:
    """Two tabs, no network, cleared storage, other plans, axe; a silent console, and no other host."""
    chromium, tools, forks, port = program("chromium", "chromium"), command_line.tools(), Forks(), free_port()
    collector = Collector(forks, tmp_path, "--demo", "--listen", str(port), plan=PLAN)
    write_plan(REPORT_TYPES, tmp_path / "report_types.json")
    with collector, subprocess.Popen(
        [command_line.node(), tools / "test/demo-chromium.js", f"http://127.0.0.1:{port}", tmp_path],
        env=os.environ | {"CHROMIUM": chromium}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as visitor:  # fmt: skip
        output = []
        for line in visitor.stdout:
            if line == "stop\n":
                collector.end(signal.SIGKILL)
            elif line == "start\n":
                assert collector.start(), collector.stderr
            else:
                output.append(line)
                continue
            print(line, end="", file=visitor.stdin, flush=True)
        assert [line[:4] for line in output] == ["ok: "] * 5, "".join(output)
    forks.close()


def test_files_of_the_page(tmp_path: Path) -> None:
    """The client's module is served, no other file; every response forbids other hosts."""
    with Visitor(make_service(PLAN, tmp_path / "d", admin=False, demo=True)) as visitor:
        for path, status in {
            "/demo": 200, "/demo/demo.js": 200, "/demo/client/index.js": 200, "/demo/client/device/ledger.js": 200,
            "/demo/client/../package.json": 404, "/demo/client/..%2fpipe.js": 404, "/demo/nothing": 404,
        }.items():  # fmt: skip
            answer = visitor.get(path)
            assert answer.status == status, path
            assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; ")


def test_made_up_reports_and_those_of_people_are_separate(tmp_path: Path) -> None:
    """A marked folder is served only as a demonstration; a refused plan leaves no folder."""
    with Visitor(make_service(PLAN, tmp_path / "d", demo=True)):
        pass
    with pytest.raises(
        FileError, match=r"holds made-up reports of a demonstration; name another folder, or pass --demo"
    ):
        make_service(PLAN, tmp_path / "d")
    with pytest.raises(PlanError, match="visitors of a demonstration send directly; serve it without keys"):
        make_service(PLAN, tmp_path / "e", demo=True, keys=True)
    for name in ("tables", "guided"):
        plan = json.loads((VECTORS / f"{name}.json").read_text(encoding="ascii"))["plans"][0]["plan"]
        with pytest.raises(PlanError, match=r"needs a plan of baskets, for the items of a catalogue"):
            make_service(parse_plan(json.dumps(plan)), tmp_path / "e", demo=True)
    assert not (tmp_path / "e").exists()


def test_reports_of_people_are_no_demonstration(tmp_path: Path) -> None:
    """A folder with one report of a person, in a closed or open batch, is not marked, and is still served."""
    for closed in (False, True):
        folder = tmp_path / str(closed)
        with Visitor(make_service(PLAN, folder, admin=False, batch_reports=(1, 9), allow_small=True)) as device:
            assert device.send(bytes(16) + ap.randomize(["milk"], PLAN), PLAN).json == {"accepted": 1, "duplicates": 0}
            if closed:
                assert device.run(device.application.close_batches()) == 1
        with pytest.raises(FileError, match=r"holds reports of people; name a new folder for the demonstration"):
            make_service(PLAN, folder, demo=True)
        assert not (folder / MARK).exists()
        with Visitor(make_service(PLAN, folder, admin=False)) as device:
            assert device.get("/status").json["reports"] == 1
            assert device.get("/demo").status == 404


def test_posteriors_are_those_of_the_plan() -> None:
    """The page computes posteriors from the transition matrix's probabilities, as exact fractions."""
    code = (
        "import { shownProbabilities, loadPlan } from './src/index.js';"
        "for (const { operator } of (await loadPlan(process.argv[1])).reportTypes) {"
        "  const { held, notHeld } = shownProbabilities(operator);"
        "  console.log(JSON.stringify([...held, ...notHeld].map(String))); }"
    )
    for plan in (PLAN, command_line.vector_plan("fixed-3-of-8"), command_line.vector_plan("asks-three")):
        done = command_line.run_program(command_line.node(), "--input-type=module", "-e", code, plan.canonical_json)
        for report_type, line in zip(plan.report_types, done.stdout.splitlines(), strict=True):
            held, of_held, not_held, of_not_held = map(int, json.loads(line))
            matrix = transition_matrix(report_type.operator, 1)
            assert (Fraction(held, of_held), Fraction(not_held, of_not_held)) == (matrix[1][1], matrix[1][0])
