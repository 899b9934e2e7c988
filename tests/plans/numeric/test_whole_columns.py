"""Columns of whole numbers: cells, grids, exact estimates for single values, and invalid input."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from naive import exact_transition, released_table

from assocpriv import inspect, randomize, write_plan
from assocpriv.guarantees.errors import PlanError, RecordError
from assocpriv.numeric import TablePlan, grow_tree, plan_table, tree_lines
from assocpriv.planning.table_planner import CONFIDENCES
from assocpriv.plans.numeric.table_plan import Clear, Mechanism, UniformNoise, WholeColumn, Window, transition
from assocpriv.records.table_files import CellOptions, column_inputs, read_value
from assocpriv.server.numeric.confidence_bands import ClassCounts, estimate_moments
from assocpriv.server.numeric.distributions import _estimate_column
from assocpriv.server.numeric.maximum_likelihood import coarse_channel


def whole(mechanism: Mechanism, high: int, intervals: int, *, low: int = 0, optional: bool = False) -> WholeColumn:
    """Return a column of whole numbers from low to high."""
    return WholeColumn("x", mechanism, optional, Fraction(low), Fraction(high), intervals)


COLUMNS = {  # cells of one value; of three, the last of one; one cell more than values
    "points": whole(Clear(5), 5, 5, low=1),
    "threes": whole(Clear(4), 6, 2, low=-3),
    "spare": whole(Clear(102), 100, 51),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_a_whole_number_has_one_cell(column: WholeColumn) -> None:
    """Each value lies between its cell's edges, alone and in bulk; values of a cell are neighbours."""
    values = range(int(column.low), int(column.high) + 1)
    cells = [read_value(value, column) for value in values]
    assert cells == column_inputs(pa.array(values), column, CellOptions(), int)[0].tolist()
    assert all(column.edges[cell] < value < column.edges[cell + 1] for value, cell in zip(values, cells, strict=True))
    assert sorted(set(cells)) == list(range(column.used))
    assert column.interval_edges[-1] == column.high + 0.5
    beyond = [-math.inf, float(column.low - 1), float(column.high + 1), math.inf, math.nan]
    inputs, numbers, found = column_inputs(pa.array(beyond, from_pandas=False), column, CellOptions(clip=True), int)
    assert inputs.tolist() == [0, 0, cells[-1], cells[-1], column.inputs]
    assert numbers.tolist()[:4] == [column.low] * 2 + [column.high] * 2
    assert (found.outside, set(found.problems)) == (4, {"missing"})


def test_large_whole_numbers_have_exact_cells() -> None:
    """From −2^53 to 2^53 the ends of cells equal those in integer arithmetic, also in bulk."""
    column = whole(Clear(4), 1 << 53, 4, low=-(1 << 53))
    step = int(column.cell_width)
    ends = [int(column.low) + step * place + offset for place in range(1, 4) for offset in (-2, -1, 0)]
    wanted = [(value - int(column.low)) // step for value in map(int, map(float, ends))]
    assert column.cells_of(np.array(ends, dtype=np.float64))[0].tolist() == wanted
    assert [column.cell_of(float(value)) for value in ends] == wanted


@pytest.mark.parametrize("value", [2.5, "2.5", 1e-9])
def test_fractions_are_refused_without_the_value(value: Any, tmp_path: Path) -> None:
    """A fraction is refused with column, line and remedy, alone and in a file, even if values are clipped."""
    plan = TablePlan((COLUMNS["points"],), 0)
    (tmp_path / "t.csv").write_text(f"x\n3\n{value}\n4\n{value}\n")
    with pytest.raises(RecordError) as refused:
        randomize(tmp_path / "t.csv", plan, clip=True)
    assert str(refused.value) == (
        "t.csv: column x has a value that is not a whole number in 2 records, first in line 3; round such values, or "
        "plan the column without whole = true"
    )
    with pytest.raises(RecordError, match="column x has a value that is not a whole number; round it") as refused:
        read_value(float(value), plan.columns[0])
    assert str(value) not in str(refused.value)
    with pytest.raises(RecordError, match="outside its range"):
        read_value(6, plan.columns[0])


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("name", COLUMNS)
def test_moments_are_exact_for_points(name: str, optional: bool) -> None:
    """Exact rates under any mechanism give the mean and variance of the values, if all cells are full."""
    own = COLUMNS[name]
    values = np.arange(int(own.low), int(own.high) + 1)
    values = values[: len(values) // int(own.cell_width) * int(own.cell_width)]  # full cells
    cells = np.bincount([own.cell_of(float(value)) for value in values], minlength=own.inputs) / len(values)
    for mechanism in (Clear(own.inputs), UniformNoise(own.inputs, 2), Window(own.inputs, 3, 9, 2)):
        column = whole(mechanism, int(own.high), own.intervals, low=int(own.low), optional=optional)
        matrix = np.array([[float(chance) for chance in row] for row in exact_transition(column)]).T
        counts = 3000 * (matrix @ (np.append(0.75 * cells, 0.25) if optional else cells))
        moments = estimate_moments(ClassCounts(counts, counts, 3000), column)
        assert moments.of_mean[0] == pytest.approx(values.mean())
        assert moments.of_variance[0] == pytest.approx(values.var())
        assert moments.mean_unknown == ((float(column.cell_width) - 1) / 2 if isinstance(mechanism, Clear) else 0)


def test_intervals_are_means_over_the_cells_that_hold_values() -> None:
    """An interval's probabilities are the mean of those of its cells, without cells beyond the highest value."""
    for mechanism in (UniformNoise(102, 9), Window(102, 5, 9, 2), Clear(102), Clear(102, 34)):
        column = whole(mechanism, 100, 51)
        fine = np.array([[float(chance) for chance in row] for row in exact_transition(column)]).T
        wanted = [fine[:, [2 * place, 2 * place + 1]].mean(axis=1) for place in range(50)] + [fine[:, 100]]
        assert transition(column) == pytest.approx(np.array(wanted).T)


@pytest.mark.parametrize("intervals", [9, 3])
def test_unrandomized_values_are_estimated_exactly(rng: np.random.Generator, intervals: int) -> None:
    """Unrandomized values give their exact mean and variance; quantiles and their intervals' ends are values."""
    for _ in range(20):
        values = rng.choice(9, 300, p=rng.dirichlet(np.full(9, 0.5))) - 4
        column = whole(Clear(9), 4, intervals, low=-4)
        found = _estimate_column(column, np.bincount(values + 4, minlength=9), "auto", 0.95)
        assert found.numbers.mean.value == pytest.approx(values.mean())
        assert found.numbers.variance.value == pytest.approx(values.var())
        assert found.numbers.is_whole
        for each in found.numbers.quantiles:
            true = np.quantile(values, each.level, method="inverted_cdf")
            assert each.low <= true <= each.high
            assert abs(each.value - true) <= 9 // intervals - 1
            assert all(float(at).is_integer() for at in (each.low, each.value, each.high))


WHOLE = {"kind": "number", "whole": True}


@pytest.mark.parametrize(
    ("own", "reports", "cells", "intervals"),
    [
        ({"low": 1, "high": 5}, 10**6, 5, 5),
        ({"low": 0, "high": 100}, 10**6, 102, 51),  # 101 values, at most 100 intervals
        ({"low": 0, "high": 100}, 4000, 102, 34),
        ({"low": 0, "high": 1998}, 10**6, 2000, 100),
        ({"low": 0, "high": 5_000_000}, 10**6, 1001, 91),  # 5,000 values each, the last with one
        ({"low": 0, "high": 99, "cells": 30, "intervals": 5}, 10**6, 25, 5),
    ],
)
def test_grids_of_whole_numbers(own: dict[str, int], reports: int, cells: int, intervals: int) -> None:
    """A cell holds one value, or several from 2,000 values on; intervals hold equally many cells."""
    plan = plan_table({"columns": {"x": WHOLE | own | {"release": "square-wave"}}}, reports=reports)
    column = plan.columns[0]
    assert (column.inputs, column.intervals) == (cells, intervals)
    assert TablePlan.parse(plan.canonical_json) == plan
    assert coarse_channel(column).edges[-1] == column.high + 0.5


@pytest.mark.parametrize("release", ["membership", "uniform", "gaussian"])
@pytest.mark.parametrize("privacy", ["20%", "40%"])
def test_whole_numbers_have_the_requested_privacy(release: str, privacy: str) -> None:
    """Noise and classes, read back from the plan, give at least the requested privacy."""
    own = {"low": 0, "high": 100, "release": release, "privacy": privacy}
    column = plan_table({"columns": {"x": WHOLE | own}}).columns[0]
    assert column.known_width(CONFIDENCES[1]) >= Fraction(int(privacy[:-1]), 100)
    assert not isinstance(column.mechanism, Clear) or column.mechanism.width > 1


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"low": 0.5}, "low must be a whole number from -2^53 to 2^53 if whole = true, got 0.5; give the smallest"),
        ({"high": 2**53 + 1}, "high must be a whole number from"),
        ({"cells": 6}, "cells must be at most the number of whole values, 5, got 6"),
        ({"intervals": 6}, "intervals must be at most the number of whole values, 5, got 6"),
        ({"whole": "yes"}, "whole must be true or false"),
        ({"release": "membership", "privacy": "10%"}, "classes of one value each; request more"),
    ],
)
def test_invalid_grids_of_whole_numbers_are_refused(own: dict[str, Any], message: str) -> None:
    """Bounds and grids that do not fit whole numbers are refused on one line."""
    with pytest.raises(PlanError, match=f"^column x: .*{message.replace('^', '.')}"):
        plan_table({"columns": {"x": WHOLE | {"low": 1, "high": 5, "release": "as-is"} | own}})


def test_whole_edges_without_whole_are_reported(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    """If edges are whole numbers and the schema does not set ``whole``, one message names all such columns."""
    caplog.set_level("INFO", "assocpriv")
    wave = {"kind": "number", "low": 1, "high": 6, "release": "square-wave", "intervals": 5}
    for own, reported in (({}, True), ({"whole": False}, False), ({"high": 5.5}, False), ({"whole": True}, False)):
        caplog.clear()
        plan = plan_table({"columns": {"x": wave | own, "y": wave | own}})
        assert ("edges of intervals are whole numbers in x, y" in caplog.text) is reported
        assert len(caplog.records) == reported
    write_plan(plan, tmp_path / "plan.json")
    assert inspect(tmp_path / "plan.json").plan == plan


def test_thresholds_of_trees_lie_between_values(rng: np.random.Generator) -> None:
    """A tree of a protected whole column splits between 3 and 4, where the class changes."""
    people = pd.DataFrame({"stars": rng.integers(1, 6, 4000)})
    people["class"] = np.where(people["stars"] <= 3, "low", "high")
    label = {"kind": "label", "values": ["low", "high"], "release": "as-is"}
    schema = {"columns": {"stars": WHOLE | {"low": 1, "high": 5, "release": "square-wave"}, "class": label}}
    model = grow_tree(released_table(people, plan_table(schema), 1), "class")
    assert [line.partition(":")[0] for line in tree_lines(model)] == ["stars < 3.5", "stars >= 3.5"]
