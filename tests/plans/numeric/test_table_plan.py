"""Table plans: vectors, invalid plans, limits of time and memory, and equal cells for equal numbers."""

import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from naive import ReplayEntropy

from assocpriv.auditing.findings import BROKEN
from assocpriv.auditing.table_audit import TableSubject
from assocpriv.client.ledger import Ledger
from assocpriv.client.numeric.table_client import randomize_record
from assocpriv.files.report_files import Reports
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import PlanError, RecordError
from assocpriv.planning.table_planner import forecast_table, plan_table
from assocpriv.plans.numeric.table_plan import CategoryColumn, Clear, NumberColumn, TablePlan, Window
from assocpriv.plans.registry import parse_plan
from assocpriv.records.table_files import CellOptions, TableOptions, column_inputs, read_value, stream_table
from assocpriv.server.numeric.histograms import released_frame, released_values
from assocpriv.show import table_views

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "tables.json").read_text(encoding="ascii"))
TEXTS = {entry["name"]: json.dumps(entry["plan"]) for entry in VECTORS["plans"]}


@pytest.mark.parametrize("entry", VECTORS["bad_records"], ids=lambda entry: f"{entry['plan']}-{entry['breaks']}")
def test_bad_records_are_refused(entry: dict[str, Any]) -> None:
    """Records that do not fit the plan are refused before any random word is drawn."""
    plan = parse_plan(TEXTS[entry["plan"]])
    with pytest.raises(RecordError):
        randomize_record(entry["record"], plan, entropy=ReplayEntropy([]))


def test_released_values_are_the_middles(rng: np.random.Generator) -> None:
    """Without noise a released number is the middle of its cell; missing and omitted values are distinguished."""
    wave = NumberColumn("w", Window(4, 3, 9, 1), True, Fraction(0), Fraction(8), 2)
    other = NumberColumn("v", Window(4, 1, 9, 1), False, Fraction(0), Fraction(8), 2)
    plan = TablePlan(
        (NumberColumn("x", Clear(4, 2), True, Fraction(0), Fraction(8), 2), wave, other), 1, Guarantee("1%", "50%")
    )
    assert released_values(plan.columns[0]).tolist()[:2] == [2.0, 6.0]
    assert released_values(wave).tolist()[:-1] == [-1.0, 1.0, 3.0, 5.0, 7.0, 9.0]
    reports = Reports(plan, np.array([[1, 0, 4], [2, 6, 4], [0, 7, 3]], dtype=np.uint8))
    frame = released_frame(reports)
    assert list(frame) == ["x", "w", "w included", "v", "v included"]
    assert frame["x"].tolist()[:1] == [6.0]
    assert frame.isna().to_numpy().tolist() == [
        [False, False, False, True, False], [True, True, False, True, False], [False, True, False, False, False],
    ]  # fmt: skip
    assert frame["w included"].tolist() == [True, True, False]


def test_bounds_are_exact() -> None:
    """Integers become fractions, so that a column equals that of its plan's text; floats are refused."""
    whole = NumberColumn("age", Clear(60), False, 20, 80, 60)
    assert whole == NumberColumn("age", Clear(60), False, Fraction(20), Fraction(80), 60)
    assert whole.edges.tolist() == list(range(20, 81))
    with pytest.raises(TypeError, match="low of column age must be a Fraction or an int, got a float"):
        NumberColumn("age", Clear(60), False, 0.5, 80, 60)


ALMOST = {"prior": f"1/{10**24}", "posterior": f"{10**24 - 1}/{10**24}"}
NEAR_ONE = {"mechanism": "window", "near": 1, "high": (1 << 31) - 1, "low": (1 << 31) - 99}  # γ just above 1


def text_of(n_columns: int, cells: int, release: dict[str, Any], **fields: Any) -> str:
    """Return the text of a plan of equal columns."""
    bounds = {"kind": "number", "optional": False, "low": "-1/3", "high": "1/7", "cells": cells, "intervals": 1}
    columns = [bounds | {"name": f"x{place}", "release": release} for place in range(n_columns)]
    content = {"format": "assocpriv-plan", "version": 1, "kind": "table", "columns": columns}
    return json.dumps(content | {"columns_per_report": 0, "guarantee": None, "reports_per_person": 1} | fields)


MANY = text_of(1000, 2, NEAR_ONE, columns_per_report=1000, guarantee=ALMOST, reports_per_person=1000)


@pytest.mark.parametrize(
    ("cells", "release"),
    [(65534, {"mechanism": "clear", "width": 1}), (2, {"mechanism": "uniform-noise", "reach": 32766})],
)
def test_large_numbers_of_cells_cost_a_device_nothing(cells: int, release: dict[str, Any]) -> None:
    """A plan of a thousand columns of 65,534 cells is read, and a record randomized, without a table of cells."""
    begun = process_time()
    plan = TablePlan.parse(text_of(1000, cells, release))
    report = randomize_record(dict.fromkeys(plan.names, 0.125), plan, entropy=ReplayEntropy([1 << 63] * 1000))
    assert process_time() - begun < 3
    assert len(report) == 2000


def test_protected_values_of_a_person_are_limited() -> None:
    """Planner and reader refuse more than 10,000 protected values without computing γ, a number of megabits."""
    begun = process_time()
    with pytest.raises(PlanError, match="20,000 protected values, 20 in each of 1,000 reports"):
        plan_table({"columns": {f"x{i}": WAVE for i in range(20)}}, reports_per_person=1000, columns_per_report="all")
    with pytest.raises(PlanError, match="1,000,000 protected values"):
        TablePlan.parse(MANY)
    assert process_time() - begun < 3
    plan = TablePlan.parse(text_of(10, 2, NEAR_ONE, columns_per_report=10, guarantee=ALMOST, reports_per_person=1000))
    composed = plan.composed_amplification
    assert composed == Fraction((1 << 31) - 1, (1 << 31) - 99) ** 10_000
    shown = table_views.plan(forecast_table(plan, 1)).to_json()
    assert 0 <= Fraction(shown["composed_amplification"]) - composed < Fraction(1, 10**24)  # of 93,000 digits


def test_the_audit_limits_protected_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit's own reader refuses such a text before it computes a power."""
    powers: list[int] = []
    power = Fraction.__pow__

    def recorded(ratio: Fraction, exponent: int) -> Any:
        powers.append(ratio.numerator.bit_length() * exponent)
        return power(ratio, exponent)

    monkeypatch.setattr(Fraction, "__pow__", recorded)
    [finding] = TableSubject.check_guarantee(None, MANY)
    assert (finding.verdict, powers) == (BROKEN, [])
    assert "more than 10,000 protected values" in finding.message
    few = text_of(1000, 2, NEAR_ONE, columns_per_report=1000, guarantee=ALMOST, reports_per_person=10)
    assert "1.00" in TableSubject.check_guarantee(None, few)[0].message
    assert 0 < max(powers) <= 31 * 10_000


def test_a_ledger_rounds_a_long_ratio_up(tmp_path: Path) -> None:
    """A γ of 9,000 digits is rounded up to 500 in the ledger, and can be read again."""
    plan = TablePlan.parse(text_of(1000, 2, NEAR_ONE, columns_per_report=1000, guarantee=ALMOST))
    record = dict.fromkeys(plan.names, 0.125)
    for _ in range(2):
        with Ledger.open(tmp_path / "l") as ledger:
            ledger.report(record, plan, period="once")
            assert 0 < ledger.amplification - (plan.amplification or 0) < Fraction(1, 10**23)


WAVE = {"kind": "number", "low": 0, "high": 1, "release": "square-wave"}


def test_bounds_that_cannot_be_written_are_refused() -> None:
    """A column made in Python must have bounds that its text can hold."""
    with pytest.raises(PlanError, match="low must be text"):
        NumberColumn("x", Clear(2), False, Fraction(1, 10**31), Fraction(1), 1)


def cell(value: Any, column: NumberColumn) -> int | None:
    """Return the cell that the single-record client finds; None if it refuses."""
    try:
        return read_value(value, column)
    except RecordError:
        return None


@pytest.mark.parametrize(
    ("low", "high", "cells"),
    [
        ("-1/3", "1/7", 1000), ("0", "10", 100), ("1e15", "9007199254741004", 6), ("-1e-9", "1e20", 60),
        ("6.08", "7", 92),
    ],
)  # fmt: skip
def test_a_number_has_one_cell(low: str, high: str, cells: int, rng: np.random.Generator) -> None:
    """A number has the same cell alone, in bulk, and as decimal, fraction or numpy number, also at edges."""
    column = NumberColumn("x", Clear(cells), False, Fraction(low), Fraction(high), 1)
    edges = column.edges
    assert edges.tolist() == [float(column.low + place * column.cell_width) for place in range(cells + 1)]
    near = [math.nextafter(edge, way) for edge in edges.tolist() for way in (-math.inf, edge, math.inf)]
    numbers = [*near, *rng.uniform(edges[0], edges[-1], 200).tolist(), -0.0, 5e-324, 1e300, -1e300]
    bulk, _, _ = column_inputs(pa.array(numbers), column, CellOptions(clip=True), int)
    for number, found in zip(numbers, bulk.tolist(), strict=True):
        inside = edges[0] <= number <= edges[-1]
        wanted = min(int(np.searchsorted(edges, number, "right")) - 1, cells - 1) if inside else None
        assert found == (wanted if inside else cells - 1 if number > edges[0] else 0)
        assert {cell(made(number), column) for made in (float, np.float64, Decimal, Fraction)} == {wanted}


def test_arrow_decimals_have_the_cell_of_their_digits() -> None:
    """Arrow does not cast 6.09 and others to the nearest double, which would change the cell at an edge."""
    column = NumberColumn("x", Clear(9999), False, Fraction(0), Fraction(9999, 1000), 1)
    decimals = [Decimal(thousandths).scaleb(-3) for thousandths in range(9999)]
    bulk, _, _ = column_inputs(pa.array(decimals), column, CellOptions(), int)
    assert bulk.tolist() == [read_value(value, column) for value in decimals] == list(range(9999))
    missing = NumberColumn("x", Clear(2), True, Fraction(0), Fraction(1), 1)
    assert [read_value(value, missing) for value in (Decimal("nan"), np.float32("nan"), math.nan, None)] == [2] * 4


@pytest.mark.parametrize("values", [("a", "a", "b"), ("a", "b"), ("a", "b", "c", "d")])
def test_categories_are_as_many_as_their_cells(values: tuple[str, ...]) -> None:
    """And differ."""
    with pytest.raises(PlanError, match="needs values that differ"):
        CategoryColumn("c", Clear(3), False, values)


def test_categories_may_be_numpy_values() -> None:
    """Numpy's numbers and booleans are read like Python's; numbers longer than a name are no value."""
    column = CategoryColumn("c", Clear(3), False, ("7", "true", "False"))
    taken = [np.int64(7), np.float32(7), 7.0, np.True_, True, np.False_, False]
    assert [read_value(value, column) for value in taken] == [0, 0, 0, 1, 1, 2, 2]
    for value in (10**5000, -(10**5000), 1e300, np.float64("inf"), 7.5):
        with pytest.raises(RecordError, match="other than its 3 values"):
            read_value(value, column)


@pytest.mark.parametrize("written", ["nAn", "-nan", "NAN(7)", "INF", "-iNfinity", "1E400", "5.", "0x5", "1_0", "5f"])
def test_a_cell_does_not_depend_on_others(written: str, tmp_path: Path) -> None:
    """A cell is read in the same way if Arrow reads its column as numbers, or as text because of another cell."""
    wave = {"kind": "number", "low": 0, "high": 10, "cells": 10, "release": "square-wave", "optional": True}
    plan, found = plan_table({"columns": {"x": wave}}), []
    for other in ("3", "\u00a03"):  # Arrow does not read the second one as a number
        (tmp_path / "t.csv").write_text(f"x\n{other}\n{written}\n", encoding="utf-8")
        try:
            [batch] = stream_table(tmp_path / "t.csv", plan, TableOptions(clip=True))
            found.append(batch.tolist())
        except RecordError as error:
            found.append(str(error))
    assert found[0] == found[1]
