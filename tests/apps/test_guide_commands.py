"""Tests of the commands of guided perturbation at the miner's side, and of the trial of both."""

from pathlib import Path

import numpy as np
import pytest
from command_line import refused, refused_without_output, run, run_json
from guided_tables import random_people

from assocpriv import guided
from assocpriv.client.guided import randomize_tuples
from assocpriv.files.reports import Reports
from assocpriv.simulation.enumeration import SeededEntropy

VOTES = 6


def table_of(path: Path, n: int = 240) -> Path:
    """Write a table of yes and no, a few of them missing, in which two questions tell the party."""
    rng = np.random.default_rng(20050821)
    lines = ["party," + ",".join(f"v{place}" for place in range(VOTES))]
    for _ in range(n):
        right = rng.random() < 0.5
        votes = rng.random(VOTES) < np.where(np.arange(VOTES) < 2, 0.9 if right else 0.1, 0.5)
        cells = ["?" if rng.random() < 0.02 else "yn"[int(vote)] for vote in votes]
        lines.append(",".join([["left", "right"][int(right)], *cells]))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 240 people."""
    return table_of(tmp_path_factory.mktemp("guide") / "votes.csv")


def begin(table: Path, folder: Path, *more: object) -> Path:
    """Begin a collection in a folder and return its state file."""
    state = folder / "state.json"
    run("guide", "start", table, "--class", "party", "--missing", "?", "--batch", 20, *more,
        "-o", folder / "plan.json", "--state", state)  # fmt: skip
    return state


def answer(state: Path, path: Path, n: int = 30, seed: int = 1) -> Path:
    """Write the reports of people who are nobody to a state's guidance."""
    known = guided.read_state(state)
    positions, classes = random_people(known.plan, n, np.random.default_rng(seed))
    asked, entropy = known.guidance, SeededEntropy(seed)
    packed = randomize_tuples(positions.astype(np.int32), classes, known.plan, asked, entropy=entropy)
    Reports(known.plan, packed).write(path)
    return path


def test_a_collection_from_its_start(table: Path, tmp_path: Path) -> None:
    """start, publish, collect and publish again: guidance is new once a batch has come in."""
    state = begin(table, tmp_path)
    first = run_json("guide", "publish", state, "-o", tmp_path / "g1.json")
    assert (first["serial"], first["new"], first["columns"], first["received"]) == (1, True, 2 * VOTES, 0)
    again = run_json("guide", "publish", state, "-o", tmp_path / "g2.json")
    assert again == first | {"new": False}
    assert (tmp_path / "g1.json").read_bytes() == (tmp_path / "g2.json").read_bytes()
    said = run("guide", "collect", answer(state, tmp_path / "r.parquet"), "--state", state).stdout
    assert said.startswith("received  30 tuples: left ")
    assert "next      new guidance is due" in said
    text = run("guide", "publish", state, "-o", tmp_path / "g3.json").stdout
    assert "guidance  2\n" in text
    assert "received  30 tuples" in text


def test_messages_are_collected_as_reports_are(table: Path, tmp_path: Path) -> None:
    """The whole way by commands: answers as messages and as reports add up to the same kind of sums, each file once."""
    state = begin(table, tmp_path)
    run("guide", "publish", state, "-o", tmp_path / "g.json")
    for name in ("r.parquet", "m.jsonl"):
        run("guide", "answer", table, "--plan", tmp_path / "plan.json", "--guidance", tmp_path / "g.json",
            "--missing", "?", "-o", tmp_path / name)  # fmt: skip
    done = run_json("guide", "collect", tmp_path / "r.parquet", tmp_path / "m.jsonl", "--state", state)
    assert done["received"] == 480
    assert all(count % 2 == 0 for count in done["classes"].values())
    assert "collected before" in refused_without_output(
        tmp_path, "guide", "collect", tmp_path / "m.jsonl", "--state", state
    )


def test_what_is_refused_changes_nothing(table: Path, tmp_path: Path) -> None:
    """A file collected before, a state cut off, a wrong class and a file that exists: one line, nothing written."""
    state = begin(table, tmp_path)
    run("guide", "publish", state, "-o", tmp_path / "g.json")
    reports = answer(state, tmp_path / "r.parquet")
    run("guide", "collect", reports, "--state", state)
    assert "collected before" in refused_without_output(tmp_path, "guide", "collect", reports, "--state", state)
    assert "exists already" in refused_without_output(tmp_path, "guide", "publish", state, "-o", tmp_path / "g.json")
    (tmp_path / "none.jsonl").write_text("\n")
    command = ["collect", tmp_path / "none.jsonl", "--state", state]
    assert "holds no message" in refused_without_output(tmp_path, "guide", *command)
    state.write_bytes(state.read_bytes()[:-40])
    for command in (["collect", reports, "--state", state], ["publish", state, "-o", tmp_path / "h.json"]):
        assert "cut off" in refused_without_output(tmp_path, "guide", *command)
    outputs = ["-o", tmp_path / "p.json", "--state", tmp_path / "s.json"]
    assert "no column 'partei'" in refused_without_output(
        tmp_path, "guide", "start", table, "--class", "partei", *outputs
    )
    one = tmp_path / "one.csv"
    one.write_text("party,v0\nleft,y\nleft,n\n")
    assert "has 1 class" in refused_without_output(tmp_path, "guide", "start", one, "--class", "party", *outputs)
    one.write_text("party,v0\n" + "".join(f"{100 + place},y\n{place},n\n" for place in range(6)))
    assert "has 12 different numbers" in refused_without_output(
        tmp_path, "guide", "start", one, "--class", "party", *outputs
    )
    one.write_text("party,v0,v0\nleft,y,n\nright,n,y\n")
    assert "names must differ" in refused_without_output(tmp_path, "guide", "start", one, "--class", "party", *outputs)


def test_a_start_with_people_who_do_not_mind(table: Path, tmp_path: Path) -> None:
    """With --known the table's own tuples are the first, of each class; a promise is kept by the plan."""
    (tmp_path / "known").mkdir()
    state = guided.read_state(begin(table, tmp_path / "known", "--known"))
    assert state.started.sum() == 240
    (tmp_path / "kept").mkdir()
    kept = guided.read_state(begin(table, tmp_path / "kept", "--epsilon", 2, "--keep", "tuple"))
    assert kept.plan.amplification < np.e**2


def test_simulate_prints_accuracy_against_disclosure(table: Path) -> None:
    """--json has original_accuracy and, for every level, disclosure, accuracy and their errors; a seed repeats it."""
    command = [
        "guide",
        "simulate",
        table,
        "--class",
        "party",
        "--missing",
        "?",
        "--classifier",
        "naive-bayes",
        "--seed",
        1,
    ]
    found = run_json(*command)
    assert 0.7 < found["original_accuracy"] <= 1
    assert found["original_accuracy_std_error"] > 0
    assert [each["level"] for each in found["levels"]] == list(range(1, 2 * VOTES + 1))
    last = found["levels"][-1]
    assert (last["disclosure"], last["accuracy"]) == (1, found["original_accuracy"])
    assert {"disclosure_std_error", "accuracy_std_error"} <= set(last)
    assert run_json(*command) == found
    text = run(*command, "--level", 2, "--repeats", 2).stdout
    assert len(text.splitlines()) == 5
    assert max(map(len, text.splitlines())) <= 80


def test_simulate_a_population(table: Path) -> None:
    """People of mixed caution are accounted for, and the batches tell what is learned."""
    command = ["guide", "simulate", table, "--class", "party", "--missing", "?", "--batch", 20, "--seed", 1]
    found = run_json(*command, "--population", "40%:1,60%:any")
    assert sum(group["people"] for group in found["groups"]) == 160
    assert found["batches"][-1]["received"] == sum(group["at_once"] + group["waited"] for group in found["groups"])
    assert "never" in run(*command, "--population", "40%:1,60%:any").stdout
    assert "goes with --population only" in refused(*command, "--mu", "5%", status=2)
    assert "groups are written as" in refused(*command, "--population", "40%,60%")
