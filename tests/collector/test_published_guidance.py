"""Tests of guidance as devices ask a collector for it, and of the way of their answers into the miner's state."""

import secrets
from pathlib import Path

import numpy as np
import pytest
from asgi import Visitor
from guided_tables import random_people

from assocpriv import guided
from assocpriv.client.guided import accept, randomize_tuples
from assocpriv.collect import make_service
from assocpriv.promise.errors import WireError
from assocpriv.server.guided import MinerState, random_start
from assocpriv.simulation.enumeration import SeededEntropy

PLAN = guided.plan(
    [guided.category("a", ["x", "y"]), guided.category("b", ["x", "y", "z"])],
    guided.class_label("c", ["no", "yes"]),
    batch=20,
)


def reports(asked: guided.Guidance, n: int, seed: int) -> np.ndarray:
    """Return answers of people who are nobody."""
    positions, classes = random_people(PLAN, n, np.random.default_rng(seed))
    return randomize_tuples(positions.astype(np.int32), classes, PLAN, asked, entropy=SeededEntropy(seed))


def send(visitor: Visitor, packed: np.ndarray) -> None:
    """Send reports, each under a new id."""
    body = b"".join(secrets.token_bytes(16) + bytes(row) for row in packed)
    answer = visitor.post("/reports", body, assocpriv_plan=PLAN.plan_id, content_type="application/octet-stream")
    assert answer.status == 200


def begin(folder: Path) -> Path:
    """Write the first state of a miner and return its file."""
    guided.write_state(random_start(PLAN, 1), folder / "state.json")
    return folder / "state.json"


def test_guidance_is_taken_up_without_a_restart(tmp_path: Path) -> None:
    """None at first; then what was published, with an ETag; then its successor; never another plan's."""
    state, published = begin(tmp_path), tmp_path / "data" / "guidance.json"
    with Visitor(make_service(PLAN, tmp_path / "data")) as visitor:
        for path in ("/guidance", "/guidance/level"):
            assert visitor.get(path).status == 404
            assert '"no-guidance"' in visitor.get(path).text
        first = guided.publish_file(state, published)[0].guidance
        answer = visitor.get("/guidance")
        assert answer.text == first.canonical_json
        accept(guided.Guidance.parse(answer.text), PLAN, announced=first.level)
        assert f'"level":{first.level}' in visitor.get("/guidance/level").text
        assert visitor.get("/guidance", if_none_match=answer.headers["etag"]).status == 304
        send(visitor, reports(first, 20, 1))
        visitor.run(visitor.application.seal())
        guided.collect_files(tmp_path / "data", state)
        second = guided.publish_file(state, published, force=True)[0].guidance
        assert second.serial == 2
        assert visitor.get("/guidance", if_none_match=answer.headers["etag"]).text == second.canonical_json
        assert '"serial":2' in visitor.get("/status").text.replace(" ", "")
        send(visitor, reports(first, 1, 2))  # of who asked before the second was published
        for wrong in ("{", second.canonical_json.replace(PLAN.plan_id, "0" * 64)):
            published.write_text(wrong)
            assert visitor.get("/guidance").status == 404
        assert '"guidance":null' in visitor.get("/status").text.replace(" ", "")


def test_a_growing_collection_is_collected_once(tmp_path: Path) -> None:
    """Sealed epochs are taken once each, open ones later, equal ones both, and reports to unknown guidance never."""
    state, data = begin(tmp_path), tmp_path / "data"

    def collected() -> int:
        after: MinerState = guided.collect_files(data, state)
        return after.tuples

    with Visitor(make_service(PLAN, data)) as visitor:
        asked = guided.publish_file(state, data / "guidance.json")[0].guidance
        send(visitor, reports(asked, 5, 1))
        assert collected() == 0  # nothing is sealed
        visitor.run(visitor.application.seal())
        assert [collected(), collected()] == [5, 5]
        same = reports(asked, 1, 2)
        for total in (6, 7):  # epochs of one report each, the same
            send(visitor, same)
            visitor.run(visitor.application.seal())
            assert collected() == total
        unknown = reports(asked, 3, 3)
        unknown[0, 0] = 9  # the serial number of guidance that was never published
        send(visitor, unknown)
        visitor.run(visitor.application.seal())
        assert [collected(), collected()] == [9, 9]
    one = next(data.glob("*.parquet"))
    with pytest.raises(WireError, match="was collected before"):
        guided.collect_files(one, state)
    (tmp_path / "empty").mkdir()
    with pytest.raises(WireError, match="no report files"):
        guided.collect_files(tmp_path / "empty", state)
