"""Plans of tables: the vectors, a second implementation that must agree with the package, and bad plans refused."""

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive import ReplayEntropy

from assocpriv.client.tables import randomize_record
from assocpriv.files.reports import Reports
from assocpriv.plans.columns import Clear, NumberColumn, Window
from assocpriv.plans.kind import parse_plan
from assocpriv.plans.published import pack_reports
from assocpriv.plans.tables import TablePlan
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import AssocprivError, PlanError, RecordError, WireError
from assocpriv.server.histograms import released_frame, released_values
from tests.vectors import make_tables, table_decoder

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "tables.json").read_text(encoding="ascii"))
TEXTS = {entry["name"]: json.dumps(entry["plan"]) for entry in VECTORS["plans"]}


def words(entry: dict[str, Any]) -> list[int]:
    """Return a case's words, and some that may not be needed."""
    return [*(int(word, 16) for word in entry["words"]), *range(1, 9)]


def test_vectors_are_what_the_package_makes() -> None:
    """The file holds what the script makes of the package as it is."""
    assert make_tables.as_text(make_tables.make_all()) == make_tables.as_text(VECTORS)


@pytest.mark.parametrize("entry", VECTORS["plans"], ids=lambda entry: entry["name"])
def test_both_read_good_plans(entry: dict[str, Any]) -> None:
    """Ids stand, whatever the layout, and the second implementation takes the plan."""
    backwards = json.dumps(dict(reversed(entry["plan"].items())), indent=3)
    assert parse_plan(backwards).plan_id == entry["id"]
    table_decoder.load(backwards)


@pytest.mark.parametrize("entry", VECTORS["bad_plans"], ids=lambda entry: entry["breaks"])
def test_both_refuse_bad_plans(entry: dict[str, Any]) -> None:
    """A plan that breaks one rule is refused by both, here in one clear line."""
    with pytest.raises(PlanError) as caught:
        parse_plan(json.dumps(entry["plan"]))
    assert 20 < len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)
    with pytest.raises(table_decoder.RefusedError):
        table_decoder.load(json.dumps(entry["plan"]))


@pytest.mark.parametrize("entry", VECTORS["reports"], ids=lambda entry: f"{entry['plan']}-{entry['report']}")
def test_both_make_the_reports(entry: dict[str, Any]) -> None:
    """For equal words package and second implementation make the bytes of the vectors of as many words."""
    plan, other = parse_plan(TEXTS[entry["plan"]]), table_decoder.load(TEXTS[entry["plan"]])
    entropy = ReplayEntropy(words(entry))
    assert isinstance(plan, TablePlan)
    assert randomize_record(entry["record"], plan, entropy=entropy).hex() == entry["report"]
    assert entropy.used == len(entry["words"])
    left = iter(words(entry))
    codes = table_decoder.randomize(entry["record"], other, left)
    assert codes == entry["codes"] == table_decoder.decode(bytes.fromhex(entry["report"]), other)
    assert table_decoder.encode(codes, other).hex() == entry["report"]
    assert list(left) == words(entry)[len(entry["words"]) :]


@pytest.mark.parametrize("entry", VECTORS["bad_reports"], ids=lambda entry: f"{entry['plan']}-{entry['breaks']}")
def test_both_refuse_bad_reports(entry: dict[str, Any]) -> None:
    """Other lengths and codes beyond a column's are refused."""
    plan, report = parse_plan(TEXTS[entry["plan"]]), bytes.fromhex(entry["report"])
    with pytest.raises(WireError):
        plan.check_form(pack_reports([report], plan))
    with pytest.raises(table_decoder.RefusedError):
        table_decoder.decode(report, table_decoder.load(TEXTS[entry["plan"]]))


@pytest.mark.parametrize("entry", VECTORS["bad_records"], ids=lambda entry: f"{entry['plan']}-{entry['breaks']}")
def test_both_refuse_bad_records(entry: dict[str, Any]) -> None:
    """Records that the plan does not take are refused before any word is drawn."""
    plan = parse_plan(TEXTS[entry["plan"]])
    assert isinstance(plan, TablePlan)
    with pytest.raises(RecordError):
        randomize_record(entry["record"], plan, entropy=ReplayEntropy([]))
    with pytest.raises(table_decoder.RefusedError):
        table_decoder.randomize(entry["record"], table_decoder.load(TEXTS[entry["plan"]]), iter([]))


def places(content: Any) -> list[tuple[Any, Any]]:
    """Return all places in JSON content: the list or object, and the key."""
    pairs = list(
        content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else []
    )
    return [(content, key) for key, _ in pairs] + [place for _, value in pairs for place in places(value)]


@pytest.mark.parametrize("name", TEXTS)
def test_both_take_the_same_plans(name: str, rng: np.random.Generator) -> None:
    """Of plans with one or two places changed, both take the same ones, and neither fails otherwise."""
    chance = random.Random(int(rng.integers(1 << 62)))
    odd = [0, 1, 2, 3, 5, -1, 1 << 33, True, False, None, "", "1/2", "a", [], {}, [1], 1.5, "99/100"]
    taken = 0
    for _ in range(1500):
        content = json.loads(TEXTS[name])
        for _ in range(chance.choice([1, 1, 2])):
            at, key = chance.choice(places(content))
            if chance.random() < 0.1:
                del at[key]
            elif isinstance(at[key], int) and chance.random() < 0.5:
                at[key] += chance.choice([-1, 1])
            else:
                at[key] = chance.choice(odd)
        text = json.dumps(content)
        try:
            plan: Any = parse_plan(text)
        except AssocprivError:
            plan = None
        try:
            other: Any = table_decoder.load(text)
        except table_decoder.RefusedError:
            other = None
        assert (plan is None) == (other is None), text
        taken += plan is not None
    assert 20 < taken < 1480


def test_released_values_are_the_middles(rng: np.random.Generator) -> None:
    """Without noise a released number is the middle of its cell; missing and not asked are told apart."""
    wave = NumberColumn("w", Window(4, 3, 9, 1), True, Fraction(0), Fraction(8), 2)
    other = NumberColumn("v", Window(4, 1, 9, 1), False, Fraction(0), Fraction(8), 2)
    plan = TablePlan(
        (NumberColumn("x", Clear(4, 2), True, Fraction(0), Fraction(8), 2), wave, other), 1, Breach("1%", "50%")
    )
    assert released_values(plan.columns[0]).tolist()[:2] == [2.0, 6.0]
    assert released_values(wave).tolist()[:-1] == [-1.0, 1.0, 3.0, 5.0, 7.0, 9.0]
    reports = Reports(plan, np.array([[1, 0, 4], [2, 6, 4], [0, 7, 3]], dtype=np.uint8))
    frame = released_frame(reports)
    assert list(frame) == ["x", "w", "w asked", "v", "v asked"]
    assert frame["x"].tolist()[:1] == [6.0]
    assert frame.isna().to_numpy().tolist() == [
        [False, False, False, True, False], [True, True, False, True, False], [False, True, False, False, False],
    ]  # fmt: skip
    assert frame["w asked"].tolist() == [True, True, False]


def test_bounds_are_exact() -> None:
    """Whole numbers become fractions, so that a column made of them is that of its plan's text; floats are refused."""
    whole = NumberColumn("age", Clear(60), False, 20, 80, 60)
    assert whole == NumberColumn("age", Clear(60), False, Fraction(20), Fraction(80), 60)
    assert whole.edges.tolist() == list(range(20, 81))
    with pytest.raises(TypeError, match="low of column age must be a Fraction or an int, got a float"):
        NumberColumn("age", Clear(60), False, 0.5, 80, 60)
