"""Tests of the commands of guided perturbation.

The miner's commands, and simulate with a guided plan. The client's commands: randomize from a table to a file, queued
records, bad input, and one device with its ledger.
"""

import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from command_line import refused, refused_without_output, run, run_json, section
from naive import random_people, randomize_tuples

import assocpriv as ap
from assocpriv import guided
from assocpriv.cli.main import main
from assocpriv.client.guided import guided_client
from assocpriv.client.guided.guided_client import queued_inputs
from assocpriv.client.ledger import Ledger
from assocpriv.files.plan_files import write_plan
from assocpriv.files.report_files import Reports
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import BudgetError, FileError, PlanError
from assocpriv.plans.guided.guided_plan import GuidedPlan
from assocpriv.simulation.enumeration import SeededEntropy

VOTES = 6


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table of 240 people's yes and no, a few of them missing, in which two votes predict the party."""
    rng, path = np.random.default_rng(20050821), tmp_path_factory.mktemp("guide") / "votes.csv"
    right = rng.random(240) < 0.5
    votes = rng.random((240, VOTES)) < np.where(np.arange(VOTES) < 2, np.where(right, 0.9, 0.1)[:, None], 0.5)
    cells = np.where(rng.random(votes.shape) < 0.02, "?", np.where(votes, "n", "y"))
    frame = pd.DataFrame(cells, columns=[f"v{place}" for place in range(VOTES)])
    frame.insert(0, "party", np.where(right, "right", "left"))
    frame.to_csv(path, index=False)
    return path


def outputs(folder: Path) -> list[Any]:
    """Return the options that name a plan and a state to write in a folder."""
    return ["-o", folder / "p.json", "--state", folder / "s.json"]


def begin(table: Path, folder: Path, *more: object) -> Path:
    """Begin a collection in a folder and return its state file."""
    state = folder / "state.json"
    run("guide", "start", table, "--class", "party", "--missing", "?", "--batch", 20, *more,
        "-o", folder / "plan.json", "--state", state)  # fmt: skip
    return state


def answer(state: Path, path: Path, n: int = 30, seed: int = 1) -> Path:
    """Write the reports of random people to a state's guidance."""
    known = guided.read_state(state)
    positions, classes = random_people(known.plan, n, np.random.default_rng(seed))
    entropy = SeededEntropy(seed)
    packed = randomize_tuples(positions.astype(np.int32), classes, known.plan, known.guidance, entropy=entropy)
    Reports(known.plan, packed).write(path)
    return path


SCHEMA = '[columns.party]\nkind = "label"\nvalues = ["left", "right"]\nrelease = "as-is"\n' + "".join(
    f'[columns.v{place}]\nkind = "category"\nvalues = ["n", "y"]\nrelease = "as-is"\n' for place in range(VOTES - 1)
) + f'[columns.v{VOTES - 1}]\nkind = "number"\nlow = 0\nhigh = 10\nintervals = 5\nrelease = "as-is"\n'  # fmt: skip


def test_a_plan_of_a_schema_holds_no_value_of_a_table(tmp_path: Path) -> None:
    """With a schema the plan has its values and equal intervals, with and without a table, which must fit."""
    (tmp_path / "schema.toml").write_text(SCHEMA)
    votes = "n,n,y,y,n"
    rows = f"left,{votes},3.25\nright,{votes},99\n" * 8
    (tmp_path / "t.csv").write_text(f"party,v0,v1,v2,v3,v4,v5\n{rows}")
    (tmp_path / "bad.csv").write_text(f"party,v0,v1,v2,v3,v4,v5\nleft,canary,{votes[2:]},3\n")
    given = ["--schema", tmp_path / "schema.toml", "--class", "party", *outputs(tmp_path)]
    alone = run("guide", "start", *given)
    assert "publish" not in alone.stderr
    plan = (tmp_path / "p.json").read_text()
    assert json.loads(plan)["attributes"][-1] == {"name": "v5", "kind": "number", "cuts": ["2/1", "4/1", "6/1", "8/1"]}
    known = run_json("guide", "start", tmp_path / "t.csv", "--known", *given, "--force")
    assert known["classes"] == {"left": 8, "right": 8}
    assert (tmp_path / "p.json").read_text() == plan
    output = refused("guide", "start", tmp_path / "bad.csv", *given, "--force")
    assert "column v0 has a value that is not in the plan" in output
    assert "canary" not in output
    for label in ("v5", "other"):  # a number, and a column that the schema lacks
        assert "the schema lacks the class" in refused("guide", "start", *given, "--class", label, "--force")


def test_an_unknown_number_is_no_category(tmp_path: Path) -> None:
    """One word among ages would publish each age; the refusal names the option that reads the column as numbers."""
    lines = "".join(f"{'ab'[place % 2]},{20 + place}\n" for place in range(40))
    (tmp_path / "t.csv").write_text(f"party,age\n{lines}a,unknown\n")
    given = ["guide", "start", tmp_path / "t.csv", "--class", "party", *outputs(tmp_path)]
    assert "column age holds numbers, but something else in 1 record, first in record" in refused(*given)
    assert "pass --missing unknown; --schema takes" in refused(*given)
    assert "column age holds numbers, but" in refused(*[{"party": "age"}.get(str(each), each) for each in given])
    assert run_json(*given, "--missing", "unknown")["width"] == 4


def test_one_number_written_twice_is_refused(tmp_path: Path) -> None:
    """7 and 7.0 would be two categories, each rarer than the number; many different numbers are cut instead."""
    given = ["guide", "start", tmp_path / "t.csv", "--class", "party", *outputs(tmp_path)]
    for numbers, columns in ((["7", "7.0", "8"], 0), (["7", "9", "8"], 3), ([*map(str, range(20)), "7.0"], 4)):
        lines = "".join(f"{'ab'[place % 2]},{numbers[place % len(numbers)]}\n" for place in range(60))
        (tmp_path / "t.csv").write_text(f"party,floor\n{lines}")
        if columns:
            assert run_json(*given, "--force")["width"] == columns
        else:
            assert "column floor writes a number in several ways" in refused(*given)


def test_a_collection_from_its_start(table: Path, tmp_path: Path) -> None:
    """start, which notes that values are published, publish, collect and publish: guidance is new after a batch."""
    note = run("guide", "start", table, "--class", "party", "--missing", "?", *outputs(tmp_path)).stderr
    assert all(words in note for words in (f"cut points of {VOTES} columns", "--schema"))
    state = begin(table, tmp_path)
    first = run_json("guide", "publish", state, "-o", tmp_path / "g1.json")
    assert (first["serial"], first["new"], first["width"], first["received"]) == (1, True, 2 * VOTES, 0)
    assert run_json("guide", "publish", state, "-o", tmp_path / "g2.json") == first | {"new": False}
    assert (tmp_path / "g1.json").read_bytes() == (tmp_path / "g2.json").read_bytes()
    output = run("guide", "collect", answer(state, tmp_path / "r.parquet"), "--state", state).stdout
    assert output.startswith("received    30 tuples: ")
    assert "guidance    2\n" in run("guide", "publish", state, "-o", tmp_path / "g3.json").stdout


def test_messages_are_collected_as_reports_are(table: Path, tmp_path: Path) -> None:
    """Responses as messages and as reports add up alike, and each file counts once."""
    state = begin(table, tmp_path)
    run("guide", "publish", state, "-o", tmp_path / "g.json")
    for name in ("r.parquet", "m.jsonl"):
        run("randomize", table, "--plan", tmp_path / "plan.json", "--guidance", tmp_path / "g.json",
            "--missing", "?", "-o", tmp_path / name)  # fmt: skip
    done = run_json("guide", "collect", tmp_path / "r.parquet", tmp_path / "m.jsonl", "--state", state)
    assert done["received"] == 480
    assert all(count % 2 == 0 for count in done["classes"].values())


def test_refusals_change_nothing(table: Path, tmp_path: Path) -> None:
    """A file collected before, a state cut off, a wrong class and an existing file: one line, nothing written."""

    def no(*words: object) -> str:
        return refused_without_output(tmp_path, "guide", *words)

    state = begin(table, tmp_path)
    run("guide", "publish", state, "-o", tmp_path / "g.json")
    reports = answer(state, tmp_path / "r.parquet")
    run("guide", "collect", reports, "--state", state)
    assert "collected before" in no("collect", reports, "--state", state)
    assert "exists already" in no("publish", state, "-o", tmp_path / "g.json")
    (tmp_path / "none.jsonl").write_text("\n")
    assert "holds no message" in no("collect", tmp_path / "none.jsonl", "--state", state)
    state.write_bytes(state.read_bytes()[:-40])
    for words in (["collect", reports, "--state", state], ["publish", state, "-o", tmp_path / "h.json"]):
        assert "cut off" in no(*words)
    one = tmp_path / "one.csv"
    assert "no class column 'partei'" in no("start", table, "--class", "partei", *outputs(tmp_path))
    for text, message in (
        ("party,v0\nleft,y\nleft,n\n", "has 1 class"),
        ("party,v0\n" + "".join(f"{100 + place},y\n{place},n\n" for place in range(6)), "has 12 different numbers"),
        ("party,v0,v0\nleft,y,n\nright,n,y\n", "names must differ"),
    ):
        one.write_text(text)
        assert message in no("start", one, "--class", "party", *outputs(tmp_path))


def test_a_start_with_known_tuples(table: Path, tmp_path: Path) -> None:
    """With --known the state has the table's tuples of each class; the plan keeps a guarantee."""
    assert guided.read_state(begin(table, tmp_path, "--known")).started.sum() == 240
    kept = guided.read_state(begin(table, tmp_path, "--epsilon", 2, "--keep", "tuple", "--force"))
    assert kept.plan.amplification < np.e**2


def test_simulate_prints_accuracy_against_disclosure(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--json has the accuracy on raw tuples, and disclosure and accuracy of every level; long runs are announced."""
    begin(table, tmp_path)
    command = ["simulate", table, "--plan", tmp_path / "plan.json", "--missing", "?", "--classifier", "naive-bayes"]
    done = run(*command, "--seed", 1, "--json")
    assert "in total" not in done.stderr
    found = json.loads(done.stdout)
    assert [key for key in found if f"`{key}`" not in section("assocpriv simulate")] == []
    assert 0.7 < found["original_accuracy"]["mean"] <= 1
    assert found["original_accuracy"]["std_error"] > 0
    assert [each["level"] for each in found["levels"]] == [1, 2, 3, 4, 6, 8, 2 * VOTES]
    last = found["levels"][-1]
    assert last["disclosure"]["mean"] == 1
    assert last["accuracy"]["mean"] == pytest.approx(found["original_accuracy"]["mean"], abs=0.02)
    monkeypatch.setattr("assocpriv.simulation.guided_simulation._LONG_SECONDS", 0.0)
    (tmp_path / "few.csv").write_text("".join(table.read_text().splitlines(keepends=True)[:50]))
    done = run("simulate", tmp_path / "few.csv", *command[2:])
    assert "s in total; fewer rounds or people take less" in done.stderr
    assert "higher levels also disclose everything" in done.stdout
    assert "--people goes with baskets, not with guided" in refused(*command, "--people", 3, status=2)


CANARY = "canary7731"
PLAN = guided.plan_guided(
    [guided.category("vote", ["n", "y"]), guided.number("age", [30, 60])], guided.class_label("c", "ab")
)
KEPT = guided.plan_guided(PLAN.attributes, PLAN.label, guarantee=Guarantee("5%", "50%"))
ROWS = ["n,20,a", "y,45,b", "?,60,a", "y,,b"]


def files(folder: Path, plan: GuidedPlan = PLAN, level: int = 5) -> list[Any]:
    """Write a table, a plan and guidance that requests the bits themselves; return the command's arguments."""
    (folder / "t.csv").write_text("\n".join(["vote,age,c", *ROWS]) + "\n")
    write_plan(plan, folder / "plan.json", force=True)
    V = guided.Guidance.from_vectors(plan, 2, np.eye(5)[:, :level])
    guided.write_guidance(V, folder / f"g{level}.json", force=True)
    given = [folder / "t.csv", "--plan", folder / "plan.json", "--guidance", folder / f"g{level}.json"]
    return ["randomize", *given, "--missing", "?"]


@pytest.mark.parametrize("name", ["r.parquet", "r.jsonl"])
def test_a_table_becomes_responses(tmp_path: Path, name: str) -> None:
    """Reports, or messages, name the guidance and the class, and hold what guidance of all bits discloses."""
    output = run_json(*files(tmp_path), "--max-level", 5, "--announced-level", 5, "-o", tmp_path / name)
    facts = {"sent": 4, "queued": 0, "level": 5, "serial": 2, "clipped": 0, "missing": {"vote": 1, "age": 1}}
    assert output == output | facts
    path = tmp_path / name
    reports = guided.read_messages(path, PLAN) if name.endswith("jsonl") else ap.read_reports(path)
    serials, classes, bits = PLAN.unpack(reports.packed)
    assert serials.tolist() == [2] * 4
    assert classes.tolist() == [0, 1, 0, 1]
    assert bits[:2].tolist() == [[1, 0, 1, 0, 0], [0, 1, 0, 1, 0]]
    assert bits.sum(axis=1).tolist() == [2] * 4
    again = ap.randomize(tmp_path / "t.csv", PLAN, guidance=guided.read_guidance(tmp_path / "g5.json"), missing="?")
    assert np.array_equal(again.packed[:2], PLAN.pack(2, np.array([0, 1]), bits[:2]))


def test_records_are_queued_for_a_lower_level(tmp_path: Path) -> None:
    """Records are queued, encrypted, until guidance requests less; then they are sent, and their key is deleted."""
    command = files(tmp_path)
    folder, out = tmp_path / "queue", tmp_path / "r.parquet"
    assert "level 5, above the maximum of 4" in refused(*command, "--max-level", 4, "-o", out)
    output = run_json(*command, "--max-level", 4, "--queue", folder, "-o", out)
    assert (output["sent"], output["queued"]) == (0, 4)
    assert not out.exists()
    assert stat.S_IMODE((folder / "key").stat().st_mode) == 0o600
    assert queued_inputs(folder, PLAN).tolist() == [[0, 0, 0], [1, 1, 1], [2, 2, 0], [1, 3, 1]]
    sealed = (folder / "records").read_bytes()
    assert queued_inputs(folder, PLAN).astype("<u4").tobytes() not in sealed
    still = [folder if part == tmp_path / "t.csv" else part for part in command]
    for more in ((), ("--queue", tmp_path / "other")):
        assert "above the maximum" in refused(*still, "--max-level", 4, *more, "-o", out)
    assert queued_inputs(folder, PLAN).shape == (4, 3)
    lower = [folder if part == tmp_path / "t.csv" else part for part in files(tmp_path, level=3)]
    output = run_json(*lower, "--max-level", 4, "-o", out)
    assert (output["sent"], output["from_queue"], output["level"]) == (4, True, 3)
    assert not folder.exists()
    assert len(ap.read_reports(out)) == 4


def test_records_are_queued_without_guidance(tmp_path: Path) -> None:
    """Without guidance records are queued, and an existing folder does not change."""
    files(tmp_path)
    command = ["randomize", tmp_path / "t.csv", "--plan", tmp_path / "plan.json", "--missing", "?"]
    assert "4 records queued in" in run(*command, "--queue", tmp_path / "w").stdout
    before = (tmp_path / "w" / "records").read_bytes()
    assert "exists" in refused(*command, "--queue", tmp_path / "w")
    assert (tmp_path / "w" / "records").read_bytes() == before
    assert "--queue alone" in refused(*command, status=2)


def test_damaged_queued_records_are_refused(tmp_path: Path) -> None:
    """Queued records that were cut off, lost their key or are of another plan are refused, and nothing is sent."""
    command, queue, out = files(tmp_path), tmp_path / "w", tmp_path / "r.parquet"
    run(*command, "--max-level", 1, "--queue", queue, "-o", out)
    records, key = ((queue / name).read_bytes() for name in ("records", "key"))
    for name, damaged in (("records", records[:-5]), ("records", b""), ("key", b"no key")):
        (queue / "records").write_bytes(records)
        (queue / "key").write_bytes(key)
        (queue / name).write_bytes(damaged)
        assert "cut, changed" in refused("randomize", queue, *command[2:], "-o", out)
    (queue / "key").unlink()
    assert "cannot read the queued records" in refused("randomize", queue, *command[2:], "-o", out)
    guided.queue_records(tmp_path / "t.csv", KEPT, tmp_path / "kept", missing="?")
    assert "are queued for plan" in refused("randomize", tmp_path / "kept", *command[2:], "-o", out)
    assert not out.exists()


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([f"{CANARY},20,a"], "column vote has a value that is not in the plan in 1 record, first in line 2"),
        (["n,20,a", f"n,20,{CANARY}"], "column c has a value that is not in the plan in 1 record, first in line 3"),
        (["n,inf,a"], "accepts all finite numbers"),
        (["n,20,"], "column c has no value in 1 record, first in line 2; leave out such records; "),
        ([], "no records"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, rows: list[str], problem: str) -> None:
    """A value that the plan does not have is named by column and line, and never shown; nothing is written."""
    command = files(tmp_path)
    (tmp_path / "t.csv").write_text("\n".join(["vote,age,c", *rows]) + "\n")
    output = refused_without_output(tmp_path, *command, "-o", tmp_path / "r.parquet")
    assert problem in output
    assert CANARY not in output


def test_the_announced_level_and_outputs_are_checked(tmp_path: Path) -> None:
    """Another level than announced, and an output of another ending or one that exists, are refused."""
    command = files(tmp_path)
    (tmp_path / "old.parquet").touch()
    for words, message in (
        (["--announced-level", 3, "-o", "r.parquet"], "level 3 was announced"),
        (["-o", "r.csv"], ".jsonl, for messages"), (["-o", tmp_path / "old.parquet"], "exists"),
    ):  # fmt: skip
        assert message in refused_without_output(tmp_path, *command, *words)


def test_wrong_types_of_guidance_and_records_raise(tmp_path: Path) -> None:
    """In Python, a file name instead of guidance, and a record without it, raise a TypeError."""
    table = files(tmp_path)[1]
    with pytest.raises(TypeError, match="must be a Guidance"):
        ap.randomize(table, PLAN, guidance="g.json")
    with pytest.raises(ap.AssocprivError, match="give guidance="):
        ap.randomize(table, PLAN)
    with pytest.raises(TypeError, match="must be a GuidedRecord"):
        ap.randomize({"vote": "y", "c": "a"}, PLAN)


def test_records_that_cannot_be_queued_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the encrypted records cannot be written, no records and no key remain."""

    monkeypatch.setattr(guided_client, "atomic_output", Mock(side_effect=FileError("no space")))
    with pytest.raises(FileError, match="no space"):
        guided.queue_records(files(tmp_path)[1], PLAN, tmp_path / "w", missing="?")
    assert not (tmp_path / "w").exists()


# ---- one device


def device(folder: Path, plan: GuidedPlan, *more: str, level: int = 5, **record: Any) -> Any:
    """Run assocpriv report with a record on its standard input."""
    files(folder, plan, level)
    content = {
        "values": {"vote": "y", "age": 45, "c": "b"},
        "guidance": json.loads((folder / f"g{level}.json").read_text()),
    }
    options = ["report", "--plan", folder / "plan.json", "--ledger", folder / "l.bin", "--period", "o", "-o"]
    arguments = [*map(str, options), str(folder / "r.bin"), *more]
    return CliRunner().invoke(main, arguments, input=json.dumps(content | record))


def test_one_device_responds_once(tmp_path: Path) -> None:
    """A device's report is the plan's; its ledger counts γ, or records that none is stated."""
    done = device(tmp_path, KEPT)
    assert done.exit_code == 0, done.stderr
    report = (tmp_path / "r.bin").read_bytes()
    assert (len(report), report[0], report[4]) == (6, 2, 1)
    with Ledger.open(tmp_path / "l.bin") as ledger:
        assert ledger.amplification == KEPT.amplification
        assert ledger.remaining(KEPT) == 0
    assert device(tmp_path, KEPT, "--force").exit_code == 0
    assert (tmp_path / "r.bin").read_bytes() == report
    assert "this device has made 1 of the 1 reports" in device(tmp_path, KEPT, "--force", "--period", "p").stderr
    with Ledger.open(tmp_path / "plain.bin") as ledger:
        answer_to(PLAN, ledger)
        assert ledger.amplification is None


def answer_to(plan: GuidedPlan, ledger: Ledger) -> None:
    """Make the report of a device to guidance that requests the bits themselves."""
    guidance = guided.Guidance.from_vectors(plan, 1, np.eye(5))
    ledger.report(guided.GuidedRecord({"vote": "y", "c": "a"}, guidance), plan, period="o")


def test_a_limit_holds_for_plans_with_a_guarantee(tmp_path: Path) -> None:
    """A device with a limit refuses a plan without a guarantee, and counts the γ of other plans up to the limit."""
    with Ledger.open(tmp_path / "l", limit=Guarantee("5%", "51%")) as ledger:
        with pytest.raises(PlanError, match="has no γ"):
            answer_to(PLAN, ledger)
        answer_to(KEPT, ledger)
        assert ledger.amplification == KEPT.amplification
        assert ledger.remaining(replace(KEPT, batch=KEPT.batch + 1)) == 0
    with Ledger.open(tmp_path / "low", limit=Guarantee("5%", "10%")) as ledger:
        with pytest.raises(BudgetError, match="would reach the limit"):
            answer_to(KEPT, ledger)
        assert ledger.reports_made(KEPT) == 0


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"announced_level": 4}, "level 4 was announced"),
        ({"max_level": "4"}, "must be one JSON object with the object values"),
        ({"more": 1}, "must be one JSON object with the object values"),
        ({"guidance": {}}, "the format is not 'assocpriv-guidance'"),
        ({"values": {"vote": CANARY, "c": "a"}}, "a value other than its 2 values"),
    ],
)
def test_bad_records_of_a_device_spend_nothing(tmp_path: Path, record: dict[str, Any], problem: str) -> None:
    """Bad records are refused in one line; the ledger has no report, and no value is shown."""
    done = device(tmp_path, KEPT, **record)
    assert done.exit_code == 1
    assert problem in done.stderr
    assert CANARY not in done.stderr
    assert not (tmp_path / "r.bin").exists()
    with Ledger.open(tmp_path / "l.bin") as ledger:
        assert ledger.reports_made(KEPT) == 0


# ---- descriptions


def test_plans_and_reports_are_described(tmp_path: Path) -> None:
    """inspect has the mechanism and the raw class; privacy takes the plan."""
    run(*files(tmp_path, KEPT), "-o", tmp_path / "r.parquet")
    output = run_json("inspect", tmp_path / "r.parquet")
    assert (output["keep"], output["uncovered"], output["width"]) == ("bits", "the class c", 5)
    assert "and not counted here: the class c" in run("privacy", tmp_path / "plan.json").stdout
