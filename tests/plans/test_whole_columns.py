"""Columns of whole numbers: cells, grids, estimates that are exact for points, and what is refused."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from assocpriv import inspect, randomize, reconstruct, write_plan
from assocpriv.client.tables import randomize_inputs
from assocpriv.files.reports import Reports
from assocpriv.numeric import grow_tree, plan_table, released_frame, tree_lines
from assocpriv.planning.tables import CONFIDENCES
from assocpriv.plans.columns import Clear, Law, UniformNoise, WholeColumn, Window, exact_transition, transition
from assocpriv.plans.tables import TablePlan
from assocpriv.promise.errors import PlanError, RecordError
from assocpriv.records.tables import CellOptions, column_inputs, read_value
from assocpriv.server.confidence_bands import ClassCounts, estimate_moments, moment_weights
from assocpriv.server.distributions import _whole
from assocpriv.server.maximum_likelihood import coarse_channel
from assocpriv.simulation.enumeration import SeededEntropy


def whole(law: Law, high: int, intervals: int, *, low: int = 0, optional: bool = False) -> WholeColumn:
    """Return a column of whole numbers from low to high."""
    return WholeColumn("x", law, optional, Fraction(low), Fraction(high), intervals)


COLUMNS = {  # cells of one value; of three, the last of one; one cell more than values
    "points": whole(Clear(5), 5, 5, low=1),
    "threes": whole(Clear(4), 6, 2, low=-3),
    "spare": whole(Clear(102), 100, 51),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_a_whole_number_has_one_cell(column: WholeColumn) -> None:
    """Alone and in bulk each value has the cell between whose edges it lies; values of a cell are its neighbours."""
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
    """From −2^53 to 2^53 the ends of cells are those of integers, in bulk too."""
    column = whole(Clear(4), 1 << 53, 4, low=-(1 << 53))
    step = int(column.cell_width)
    ends = [int(column.low) + step * place + beside for place in range(1, 4) for beside in (-2, -1, 0)]
    wanted = [(value - int(column.low)) // step for value in map(int, map(float, ends))]
    assert column.cells_of(np.array(ends, dtype=np.float64))[0].tolist() == wanted
    assert [column.cell_of(float(value)) for value in ends] == wanted


@pytest.mark.parametrize("value", [2.5, "2.5", 1e-9])
def test_fractions_are_refused_without_the_value(value: Any, tmp_path: Path) -> None:
    """A value with a fraction is refused by column, line and remedy, alone and in a file, clipped or not."""
    plan = TablePlan((COLUMNS["points"],), 0)
    (tmp_path / "t.csv").write_text(f"x\n3\n{value}\n4\n{value}\n")
    with pytest.raises(RecordError) as refused:
        randomize(tmp_path / "t.csv", plan, clip=True)
    assert str(refused.value) == (
        "t.csv: column x has a value that is no whole number in 2 records, first in line 3; round such values, or plan "
        "the column without whole = true"
    )
    with pytest.raises(RecordError, match="column x has a value that is no whole number; round it") as refused:
        read_value(float(value), plan.columns[0])
    assert str(value) not in str(refused.value)
    with pytest.raises(RecordError, match="outside its range"):
        read_value(6, plan.columns[0])


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("name", COLUMNS)
def test_moments_are_exact_for_points(name: str, optional: bool) -> None:
    """From the exact rates of any law mean and variance are those of the values: of all cells that are full."""
    own = COLUMNS[name]
    values = np.arange(int(own.low), int(own.high) + 1)
    values = values[: len(values) // int(own.cell_width) * int(own.cell_width)]  # full cells
    cells = np.bincount([own.cell_of(float(value)) for value in values], minlength=own.inputs) / len(values)
    for law in (Clear(own.inputs), UniformNoise(own.inputs, 2), Window(own.inputs, 3, 9, 2)):
        column = whole(law, int(own.high), own.intervals, low=int(own.low), optional=optional)
        matrix = np.array([[float(chance) for chance in row] for row in exact_transition(column)]).T
        counts = 3000 * (matrix @ (np.append(0.75 * cells, 0.25) if optional else cells))
        moments = estimate_moments(ClassCounts(counts, counts, 3000), column)
        assert moments is not None
        assert moments.of_mean[0] == pytest.approx(values.mean())
        assert moments.of_variance is not None
        assert moments.of_variance[0] == pytest.approx(values.var())
        assert moments.mean_unknown == ((float(column.cell_width) - 1) / 2 if isinstance(law, Clear) else 0)


def test_intervals_are_means_over_the_cells_that_hold_values() -> None:
    """The chances of an interval are the mean of its cells', but for those beyond the highest value."""
    for law in (UniformNoise(102, 9), Window(102, 5, 9, 2), Clear(102), Clear(102, 34)):
        column = whole(law, 100, 51)
        fine = np.array([[float(chance) for chance in row] for row in exact_transition(column)]).T
        wanted = [fine[:, [2 * place, 2 * place + 1]].mean(axis=1) for place in range(50)] + [fine[:, 100]]
        assert transition(column) == pytest.approx(np.array(wanted).T)


@pytest.mark.parametrize("intervals", [9, 3])
def test_counted_values_are_told_exactly(rng: np.random.Generator, intervals: int) -> None:
    """Released as they are, values give their own mean, variance and, of single ones, quantiles; ends are values."""
    for _ in range(20):
        values = rng.choice(9, 300, p=rng.dirichlet(np.full(9, 0.5))) - 4
        column = whole(Clear(9), 4, intervals, low=-4)
        found = _whole(column, np.bincount(values + 4, minlength=9), "auto", 0.95)
        assert found.numbers is not None
        assert found.numbers.mean is not None
        assert found.numbers.variance is not None
        assert found.numbers.mean.value == pytest.approx(values.mean())
        assert found.numbers.variance.value == pytest.approx(values.var())
        assert found.numbers.is_whole
        for each in found.numbers.quantiles:
            true = np.quantile(values, each.level, method="inverted_cdf")
            assert each.low <= true <= each.high
            assert abs(each.value - true) <= 9 // intervals - 1
            assert all(float(at).is_integer() for at in (each.low, each.value, each.high))


def test_what_is_shown_are_values() -> None:
    """Rows of tables and bars of histograms have the values of an interval, pairs of columns their names."""
    plan = TablePlan((whole(Clear(102), 100, 51), WholeColumn("y", Clear(5), False, Fraction(1), Fraction(5), 5)), 0)
    inputs = np.array([[0, 0], [1, 4], [100, 2]] * 60, dtype=np.int32)
    batches = randomize_inputs([inputs], plan, entropy=SeededEntropy(1), workers=1)
    reports = Reports(plan, np.concatenate(list(batches)))
    found = reconstruct(reports)
    frame = found["x"].frame()
    assert (frame["low"].tolist()[-2:], frame["high"].tolist()[-2:]) == ([98, 100], [99, 100])
    assert [bar["low"] for bar in found["y"].record()["histogram"]] == [1, 2, 3, 4, 5]
    joint = reconstruct(reports, joint=("x", "y")).joint
    assert joint is not None
    assert joint.places[1] == ("1", "2", "3", "4", "5")
    assert joint.places[0][-1] == "96–100"
    assert set(released_frame(reports)["x"]) == {0.0, 1.0, 100.0}


ASKED = {"kind": "number", "whole": True}


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
    """A cell a value, or some neighbours from 2,000 values on; intervals of equally many cells, at most as asked."""
    plan = plan_table({"columns": {"x": ASKED | own | {"release": "square-wave"}}}, reports=reports)
    column = plan.columns[0]
    assert isinstance(column, WholeColumn)
    assert (column.inputs, column.intervals) == (cells, intervals)
    assert TablePlan.parse(plan.canonical_json) == plan
    assert coarse_channel(column).edges[-1] == column.high + 0.5


@pytest.mark.parametrize("release", ["membership", "uniform", "gaussian"])
@pytest.mark.parametrize("privacy", ["20%", "40%"])
def test_whole_numbers_have_the_privacy_asked_for(release: str, privacy: str) -> None:
    """Read back from the plan, noise and classes give at least the privacy that was asked for."""
    own = {"low": 0, "high": 100, "release": release, "privacy": privacy}
    column = plan_table({"columns": {"x": ASKED | own}}).columns[0]
    assert isinstance(column, WholeColumn)
    assert column.known_width(CONFIDENCES[1]) >= Fraction(int(privacy[:-1]), 100)
    assert not isinstance(column.law, Clear) or column.law.width > 1


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"low": 0.5}, "low must be a whole number from -2^53 to 2^53 where whole = true, got 0.5; give the least"),
        ({"high": 2**53 + 1}, "high must be a whole number from"),
        ({"cells": 6}, "cells must be at most the number of whole values, 5, got 6"),
        ({"intervals": 6}, "intervals must be at most the number of whole values, 5, got 6"),
        ({"whole": "yes"}, "whole must be true or false"),
        ({"release": "membership", "privacy": "10%"}, "hold one value each; ask for more"),
    ],
)
def test_grids_that_are_none(own: dict[str, Any], said: str) -> None:
    """What whole numbers cannot have is refused on one line."""
    with pytest.raises(PlanError, match=f"^column x: .*{said.replace('^', '.')}"):
        plan_table({"columns": {"x": ASKED | {"low": 1, "high": 5, "release": "as-is"} | own}})


def test_a_plan_without_whole_says_so_where_edges_are(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    """Where edges are whole numbers and the schema does not say if values are, it is told, of all columns at once."""
    caplog.set_level("INFO", "assocpriv")
    wave = {"kind": "number", "low": 1, "high": 6, "release": "square-wave", "intervals": 5}
    for own, told in (({}, True), ({"whole": False}, False), ({"high": 5.5}, False), ({"whole": True}, False)):
        caplog.clear()
        plan = plan_table({"columns": {"x": wave | own, "y": wave | own}})
        assert ("edges of intervals are whole numbers in x, y" in caplog.text) is told
        assert len(caplog.records) == told
    write_plan(plan, tmp_path / "plan.json")
    assert inspect(tmp_path / "plan.json").plan == plan


def test_thresholds_of_trees_lie_between_values(rng: np.random.Generator) -> None:
    """A tree of a protected whole column splits between 3 and 4, where the class changes."""
    people = pd.DataFrame({"stars": rng.integers(1, 6, 4000)})
    people["class"] = np.where(people["stars"] <= 3, "low", "high")
    label = {"kind": "label", "values": ["low", "high"], "release": "as-is"}
    schema = {"columns": {"stars": ASKED | {"low": 1, "high": 5, "release": "square-wave"}, "class": label}}
    model = grow_tree(randomize(people, plan_table(schema)), "class")
    assert [line.partition(":")[0] for line in tree_lines(model)] == ["stars < 3.5", "stars >= 3.5"]


def test_the_weights_of_moments_lie_on_the_cells() -> None:
    """As they are, whole numbers have the weights 1, x and x² of their cell's middle, over the width of all cells."""
    weights = moment_weights(COLUMNS["threes"])
    assert weights[1] == pytest.approx([0.125, 0.375, 0.625, 0.875])
