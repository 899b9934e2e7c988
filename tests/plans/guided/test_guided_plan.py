"""The plan of guided perturbation: its text, reports and guarantee, guidance in files, and the vectors."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive import ReplayEntropy

from assocpriv import guided
from assocpriv.client.guided.guided_client import TupleRandomizer, check_guidance, parse_guided, randomize_guided
from assocpriv.files.plan_files import read_guidance, write_guidance
from assocpriv.files.report_files import Reports, message_lines, read_messages
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import FileError, GuidanceError, PrivacyLimitError, WireError
from assocpriv.plans.guided.guided_plan import BitMix, GuidedPlan, TupleMix, mixing_weight, safeguard_for
from assocpriv.plans.registry import parse_plan
from assocpriv.records.table_files import read_value

ATTRIBUTES = (guided.category("vote", ["n", "y"]), guided.number("age", [30, 45.5, 60]))
LABEL = guided.class_label("party", ["left", "right"])
GUARANTEE = Guarantee("5%", "50%")
PLAIN = guided.plan_guided(ATTRIBUTES, LABEL)
PLANS = [PLAIN, *(guided.plan_guided(ATTRIBUTES, LABEL, guarantee=GUARANTEE, keep=keep) for keep in ("bits", "tuple"))]


@pytest.mark.parametrize("plan", PLANS)
def test_the_text_is_the_plan(plan: GuidedPlan) -> None:
    """The registry reads a plan's text back as the same plan."""
    assert parse_plan(plan.canonical_json) == plan
    assert (plan.width, plan.sizes, plan.tuples, plan.report_bytes) == (6, (2, 4), 8, 6)
    assert plan.bit_names == ("vote=n", "vote=y", "age=<30", "age=30–45.5", "age=45.5–60", "age=≥60")


def test_numbers_are_cut_at_the_plans_points() -> None:
    """A cut point belongs to the interval above it, for single numbers and in bulk; infinities lie outside."""
    column = guided.number("x", [0.1, 2, 1e29])
    values = [-1e308, 0.1, np.nextafter(0.1, 0), 1.9, 2.0, 1e29, 1.7e308]
    wanted = [0, 1, 0, 1, 2, 3, 3]
    assert [column.cell_of(value) for value in values] == wanted
    cells, outside = column.cells_of(np.array([*values, np.nan, np.inf, -np.inf]))
    assert cells[:-2].tolist() == [*wanted, 4]
    assert outside == 2
    assert [column.cell_of(value) for value in (np.inf, -np.inf)] == [None, None]


@pytest.mark.parametrize("reports", [1, 3])
@pytest.mark.parametrize("kind", ["bits", "tuple"])
def test_no_weaker_safeguard_keeps_the_guarantee(kind: str, reports: int) -> None:
    """The chosen safeguard stays below the limit for all reports together; the next weaker one does not."""
    found = safeguard_for(kind, GUARANTEE, 8, reports)
    step = TupleMix(found.honest + 1) if isinstance(found, TupleMix) else BitMix(found.limit + Fraction(1, 1 << 16))
    assert found.amplification(8) ** reports < GUARANTEE.amplification_limit <= step.amplification(8) ** reports


def test_too_many_tuples_are_refused() -> None:
    """If reports would be entirely random, the plan is refused instead of collecting noise."""
    with pytest.raises(PrivacyLimitError, match="would be entirely random"):
        safeguard_for("tuple", GUARANTEE, 10**12)


def test_invalid_reports_are_refused() -> None:
    """The serial number 0, an unknown class, and bits beyond the last are refused with the report's position."""
    good = PLAIN.pack(258, np.array([0, 1]), np.ones((2, 6), dtype=np.uint8))
    assert good[1].tolist() == [2, 1, 0, 0, 1, 63]
    assert [part.tolist() for part in PLAIN.unpack(good)] == [[258, 258], [0, 1], [[1] * 6] * 2]
    for place, value in ((slice(0, 2), 0), (4, 2), (5, 127)):
        bad = good.copy()
        bad[1, place] = value
        with pytest.raises(WireError, match="report 1 has no guidance's serial number"):
            Reports(PLAIN, bad)
    many = guided.plan_guided(ATTRIBUTES, guided.class_label("c", [str(place) for place in range(300)]))
    packed = many.pack(1, np.array([299]), np.zeros((1, 6), dtype=np.uint8))
    assert packed.tolist() == [[1, 0, 0, 0, 43, 1, 0]]
    assert many.unpack(packed)[1].tolist() == [299]


def test_guidance_reads_back(tmp_path: Path) -> None:
    """Guidance is read back from its file exactly, and the file is not replaced by default."""
    guidance = guided.Guidance.from_vectors(PLAIN, 3, np.linalg.qr(np.arange(12.0).reshape(6, 2) ** 2)[0])
    write_guidance(guidance, tmp_path / "g.json")
    read = read_guidance(tmp_path / "g.json")
    assert (read.plan_id, read.serial, read.level) == (PLAIN.plan_id, 3, 2)
    assert read.guidance_id == guidance.guidance_id
    assert np.array_equal(read.projection, guidance.vectors @ guidance.vectors.T)
    with pytest.raises(FileError, match="exists"):
        write_guidance(guidance, tmp_path / "g.json")


def test_invalid_guidance_is_refused(tmp_path: Path) -> None:
    """A file that is no guidance, or is cut off, is refused with its name."""
    path, text = tmp_path / "g.json", guided.Guidance.from_vectors(PLAIN, 1, np.eye(6)[:, :1]).canonical_json
    for old, new, problem in (
        ("assocpriv-guidance", "assocpriv-plan", "the format is not"), ('"serial":1', '"serial":"1"', "serial number"),
        ('"level":1', '"level":2,"level":1', "or repeats a field"), (text[-9:], "", "cut off"),
    ):  # fmt: skip
        assert old in text
        path.write_text(text.replace(old, new))
        with pytest.raises(GuidanceError, match=f"g.json: .*{problem}"):
            read_guidance(path)


VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "guided.json").read_text(encoding="ascii"))
TEXTS = {entry["name"]: json.dumps(entry["plan"]) for entry in VECTORS["plans"]}
VECTOR_PLANS = {name: GuidedPlan.parse(text) for name, text in TEXTS.items()}
GUIDANCE = {(entry["plan"], entry["guidance"]["serial"]): entry["guidance"] for entry in VECTORS["guidance"]}


@pytest.mark.parametrize("entry", VECTORS["bad_guidance"], ids=lambda entry: entry["breaks"])
def test_bad_guidance_is_refused(entry: dict[str, Any]) -> None:
    """Guidance that breaks one rule is refused."""
    plan = VECTOR_PLANS[entry["plan"]]
    with pytest.raises(GuidanceError):
        check_guidance(guided.Guidance.from_json(entry["guidance"]), plan)


@pytest.mark.parametrize("entry", VECTORS["mixing_weights"], ids=lambda entry: f"{entry['plan']}-{entry['guidance']}")
def test_mixing_weights_agree_with_the_vectors(entry: dict[str, Any]) -> None:
    """The mixing weight equals that of the vectors; it is positive if the guarantee is kept by bits."""
    guidance = GUIDANCE[entry["plan"], entry["guidance"]]
    assert mixing_weight(guided.Guidance.from_json(guidance), VECTOR_PLANS[entry["plan"]]) == entry["mixing_weight"]
    if entry["plan"].startswith("bits"):
        assert 0 < entry["mixing_weight"] < 1 << 16
    else:
        assert entry["mixing_weight"] == 0


@pytest.mark.parametrize("entry", VECTORS["reports"], ids=lambda entry: f"{entry['plan']}-{entry['report']}")
def test_reports_agree_with_the_vectors(entry: dict[str, Any]) -> None:
    """With equal random words, single and bulk randomization give the bytes of the vectors."""
    plan, content = VECTOR_PLANS[entry["plan"]], GUIDANCE[entry["plan"], entry["guidance"]]
    guidance, words = guided.Guidance.from_json(content), [int(word, 16) for word in entry["words"]]
    record = parse_guided(json.dumps({"values": entry["record"], "guidance": content}).encode())
    entropy = ReplayEntropy(words)
    assert randomize_guided(record, plan, entropy=entropy).hex() == entry["report"]
    assert entropy.used == len(words)

    randomizer = TupleRandomizer(plan, guidance)
    inputs = np.array([[read_value(entry["record"][c.name], c) for c in plan.attributes]], dtype=np.int32)
    given = np.array(words, dtype=np.uint64)
    if len(words) == randomizer.words:  # a rejected draw takes more, tested with the client
        assert randomizer.randomize(inputs, given, ReplayEntropy([]))[0].tolist() == [entry["bits"]]


@pytest.mark.parametrize("name", VECTOR_PLANS)
def test_messages_are_equivalent_to_reports(tmp_path: Path, name: str) -> None:
    """Reports written as messages are read back byte for byte; a message lists the set bits."""
    plan = VECTOR_PLANS[name]
    packed = np.array([list(bytes.fromhex(e["report"])) for e in VECTORS["reports"] if e["plan"] == name], np.uint8)
    lines = list(message_lines(packed, plan))
    assert json.loads(lines[0])["ones"] == np.flatnonzero(plan.unpack(packed)[2][0]).tolist()
    path = tmp_path / "m.jsonl"
    path.write_text("".join(lines))
    assert np.array_equal(read_messages(path, plan).packed, packed)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[]", "is not a message"),
        ('{"guidance": 1, "class": "left"}', "is not a message"),
        ('{"guidance": 0, "class": "left", "ones": []}', "has no guidance number"),
        ('{"guidance": 1, "class": "canary", "ones": []}', "has no guidance number"),
        ('{"guidance": 1, "class": "left", "ones": [9]}', "0 to 8"),
        ('{"guidance": 1, "class": "left", "ones": [2, 1]}', "increasing order"),
        ('{"guidance": 1, "class": "left", "ones": [1, 1]}', "increasing order"),
        ('{"guidance": 1, "class": "left", "ones": [true]}', "0 to 8"),
    ],
)
def test_bad_messages_are_refused(tmp_path: Path, line: str, problem: str) -> None:
    """A line that is no message is refused with its number, without its content."""
    path = tmp_path / "m.jsonl"
    path.write_text('{"guidance": 1, "class": "left", "ones": [0, 3]}\n\n' + line + "\n")
    with pytest.raises(WireError, match=f"line 3 .*{problem}") as caught:
        read_messages(path, VECTOR_PLANS["plain"])
    assert "canary" not in str(caught.value)
