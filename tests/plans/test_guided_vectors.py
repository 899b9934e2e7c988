"""The vectors of guided plans, and a second implementation that must agree with the package."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive import ReplayEntropy

from assocpriv.client.guided import GuidedRecord, TupleRandomizer, accept, parse_guided, randomize_guided
from assocpriv.files.reports import Reports, message_lines, read_messages
from assocpriv.plans.guidance import Guidance, coin_of
from assocpriv.plans.guided import GuidedPlan
from assocpriv.plans.kind import parse_plan
from assocpriv.promise.errors import GuidanceError, PlanError, WireError
from assocpriv.records.tables import read_value
from tests.vectors import guided_decoder as decoder
from tests.vectors import make_guided, make_tables
from tests.vectors.table_decoder import RefusedError

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "guided.json").read_text(encoding="ascii"))
TEXTS = {entry["name"]: json.dumps(entry["plan"]) for entry in VECTORS["plans"]}
PLANS = {name: GuidedPlan.parse(text) for name, text in TEXTS.items()}
GUIDANCE = {(entry["plan"], entry["guidance"]["serial"]): entry["guidance"] for entry in VECTORS["guidance"]}


def test_vectors_are_what_the_package_makes() -> None:
    """The file holds what the script makes of the package as it is."""
    assert make_tables.as_text(make_guided.make_all()) == make_tables.as_text(VECTORS)


@pytest.mark.parametrize("entry", VECTORS["plans"], ids=lambda entry: entry["name"])
def test_both_read_good_plans(entry: dict[str, Any]) -> None:
    """Ids stand, whatever the layout, and the second implementation takes the plan."""
    backwards = json.dumps(dict(reversed(entry["plan"].items())), indent=3)
    assert parse_plan(backwards).plan_id == entry["id"]
    decoder.load(backwards)


@pytest.mark.parametrize("entry", VECTORS["bad_plans"], ids=lambda entry: entry["breaks"])
def test_both_refuse_bad_plans(entry: dict[str, Any]) -> None:
    """A plan that breaks one rule is refused by both, here in one clear line."""
    with pytest.raises(PlanError) as caught:
        parse_plan(json.dumps(entry["plan"]))
    assert 20 < len(str(caught.value)) < 400
    with pytest.raises(RefusedError):
        decoder.load(json.dumps(entry["plan"]))


@pytest.mark.parametrize(
    "entry", VECTORS["guidance"], ids=lambda entry: f"{entry['plan']}-{entry['guidance']['level']}"
)
def test_both_take_good_guidance(entry: dict[str, Any]) -> None:
    """Guidance is accepted by both, and its text has the id of the vectors."""
    read, plan = Guidance.from_json(entry["guidance"]), PLANS[entry["plan"]]
    accept(read, plan)
    assert read.guidance_id == entry["id"]
    decoder.check(entry["guidance"], decoder.load(TEXTS[entry["plan"]]), plan.plan_id)


@pytest.mark.parametrize("entry", VECTORS["bad_guidance"], ids=lambda entry: entry["breaks"])
def test_both_refuse_bad_guidance(entry: dict[str, Any]) -> None:
    """Guidance that breaks one rule is refused by both."""
    plan = PLANS[entry["plan"]]
    with pytest.raises(GuidanceError):
        accept(Guidance.from_json(entry["guidance"]), plan)
    with pytest.raises(RefusedError):
        decoder.check(entry["guidance"], decoder.load(TEXTS[entry["plan"]]), plan.plan_id)


@pytest.mark.parametrize("entry", VECTORS["coins"], ids=lambda entry: f"{entry['plan']}-{entry['guidance']}")
def test_both_find_the_coin(entry: dict[str, Any]) -> None:
    """Package and second implementation mix as much."""
    guidance, text = GUIDANCE[entry["plan"], entry["guidance"]], TEXTS[entry["plan"]]
    assert coin_of(Guidance.from_json(guidance), PLANS[entry["plan"]]) == entry["coin"]
    if entry["plan"].startswith("bits"):
        assert decoder.coin_of(guidance["vectors"], decoder.load(text)) == entry["coin"]
        assert 0 < entry["coin"] < 1 << 16
    else:
        assert entry["coin"] == 0


@pytest.mark.parametrize("entry", VECTORS["reports"], ids=lambda entry: f"{entry['plan']}-{entry['report']}")
def test_both_make_the_reports(entry: dict[str, Any]) -> None:
    """For equal words the package, alone and in bulk, and the second implementation make the bytes of the vectors."""
    plan, content = PLANS[entry["plan"]], GUIDANCE[entry["plan"], entry["guidance"]]
    guidance, words = Guidance.from_json(content), [int(word, 16) for word in entry["words"]]
    record = parse_guided(json.dumps({"values": entry["record"], "guidance": content}).encode())
    assert isinstance(record, GuidedRecord)
    entropy = ReplayEntropy(words)
    assert randomize_guided(record, plan, entropy=entropy).hex() == entry["report"]
    assert entropy.used == len(words)

    own = decoder.load(TEXTS[entry["plan"]])
    weights, bits = decoder.randomize(entry["record"], content, own, iter(words))
    assert weights == entry["weights"]
    place = plan.labels.index(entry["record"][plan.label.name])
    assert decoder.encode(guidance.serial, place, bits, own).hex() == entry["report"]
    assert decoder.decode(bytes.fromhex(entry["report"]), own) == (guidance.serial, place, entry["bits"])

    randomizer = TupleRandomizer(plan, guidance)
    inputs = np.array([[read_value(entry["record"][c.name], c) for c in plan.attributes]], dtype=np.int32)
    given = np.array(words, dtype=np.uint64)
    if len(words) == randomizer.words:  # a rejected draw takes more; tests/client/test_guided.py has those
        assert randomizer.randomize(inputs, given, ReplayEntropy([]))[0].tolist() == [entry["bits"]]


@pytest.mark.parametrize("entry", VECTORS["bad_reports"], ids=lambda entry: f"{entry['plan']}-{entry['breaks']}")
def test_both_refuse_bad_reports(entry: dict[str, Any]) -> None:
    """Bytes that no client sends are refused by both."""
    report = bytes.fromhex(entry["report"])
    with pytest.raises(WireError):
        Reports.from_bytes([report], PLANS[entry["plan"]])
    with pytest.raises(RefusedError):
        decoder.decode(report, decoder.load(TEXTS[entry["plan"]]))


@pytest.mark.parametrize("name", PLANS)
def test_messages_hold_what_reports_do(tmp_path: Path, name: str) -> None:
    """Reports written as messages read back byte for byte; a message says which bits are set."""
    plan = PLANS[name]
    packed = np.array([list(bytes.fromhex(e["report"])) for e in VECTORS["reports"] if e["plan"] == name], np.uint8)
    lines = list(message_lines(packed, plan))
    assert json.loads(lines[0])["ones"] == np.flatnonzero(plan.unpack(packed)[2][0]).tolist()
    path = tmp_path / "m.jsonl"
    path.write_text("".join(lines))
    assert np.array_equal(read_messages(path, plan).packed, packed)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[]", "is no message"),
        ('{"guidance": 1, "class": "left"}', "is no message"),
        ('{"guidance": 0, "class": "left", "ones": []}', "names no guidance"),
        ('{"guidance": 1, "class": "canary", "ones": []}', "names no guidance"),
        ('{"guidance": 1, "class": "left", "ones": [9]}', "0 to 8"),
        ('{"guidance": 1, "class": "left", "ones": [2, 1]}', "rising order"),
        ('{"guidance": 1, "class": "left", "ones": [1, 1]}', "rising order"),
        ('{"guidance": 1, "class": "left", "ones": [true]}', "0 to 8"),
    ],
)
def test_bad_messages_are_refused(tmp_path: Path, line: str, problem: str) -> None:
    """A line that is no message is refused with its number, and not shown."""
    path = tmp_path / "m.jsonl"
    path.write_text('{"guidance": 1, "class": "left", "ones": [0, 3]}\n\n' + line + "\n")
    with pytest.raises(WireError, match=f"line 3 .*{problem}") as caught:
        read_messages(path, PLANS["plain"])
    assert "canary" not in str(caught.value)
