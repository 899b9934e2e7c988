"""Plans of tables: schemas read or refused, guarantees divided and kept exactly, grids, and facts about plans."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from naive import exact_transition

from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import PlanError
from assocpriv.numeric import plan_table
from assocpriv.planning import table_planner
from assocpriv.plans.numeric.table_plan import Clear, GaussianNoise, UniformNoise, Window, transition

AGE = {"kind": "number", "low": 20, "high": 80}
WAVE = AGE | {"release": "square-wave", "cells": 20, "intervals": 10}
NOISE = AGE | {"release": "gaussian", "privacy": "100%"}
REGION = {"kind": "category", "values": ["north", "south", "east"], "release": "response"}
CLASS = {"kind": "label", "values": ["A", "B"], "release": "response"}


def schema(**columns: Any) -> dict[str, Any]:
    """Return a schema of some columns."""
    return {"columns": columns}


# ---- schemas


def test_a_schema_is_read_exactly(tmp_path: Path) -> None:
    """Numbers keep their decimal form, whole numbers of a category become text, and a file reads like a dict."""
    text = (
        "[columns.x]\nkind = 'number'\nlow = -0.1\nhigh = 1e2\nrelease = 'uniform'\nprivacy = 0.5\n"
        "confidence = '99.9%'\noptional = true\n[columns.'the region']\n"
        "kind = 'category'\nvalues = [1, '2']\nrelease = 'as-is'\n"
    )
    (tmp_path / "s.toml").write_text(text)
    x, region = table_planner.read_schema(tmp_path / "s.toml")
    assert (x.low, x.high, x.privacy, x.confidence) == (Fraction(-1, 10), 100, Fraction(1, 2), Fraction(999, 1000))
    assert (x.optional, region.name, region.values) == (True, "the region", ("1", "2"))
    plain = {"kind": "number", "low": -0.1, "high": 100, "release": "uniform", "privacy": "50%", "confidence": 0.999}
    assert table_planner.read_schema(schema(x=plain | {"optional": True}))[0] == x


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "no columns"),
        ({"x": 3}, "column x: must be a table of keys"),
        ({"x": {"release": "as-is"}}, "column x: kind is missing; give one of number, category, label"),
        ({"x": AGE | {"kind": "date"}}, "column x: kind must be one of number, category, label, got 'date'"),
        ({"x": AGE | {"release": "response"}}, "release must be one of as-is, membership, .* for a number"),
        ({"x": REGION | {"release": "gaussian"}}, "release must be one of as-is, response for a category"),
        ({"x": NOISE | {"hihg": 3}}, "column x: a number has no key 'hihg'; its keys are cells, confidence"),
        ({"x": NOISE | {"low": 80}}, "low must be below high, got 80 and 80"),
        ({"x": NOISE | {"low": "20"}}, "low must be a number, got '20'"),
        ({"x": NOISE | {"high": float("inf")}}, "high must be a finite number"),
        ({"x": NOISE | {"high": 1e-40}}, "high must be a number of at most 30 digits"),
        ({"x": {k: v for k, v in NOISE.items() if k != "low"}}, "column x: low is missing"),
        ({"x": AGE | {"release": "uniform"}}, "privacy is missing; release uniform needs it"),
        ({"x": NOISE | {"privacy": "0%"}}, "privacy must be above 0"),
        ({"x": NOISE | {"privacy": 50}}, "privacy must be a share of the range of at most 10"),
        ({"x": NOISE | {"privacy": [1]}}, "privacy must be a share such as 50%"),
        ({"x": NOISE | {"confidence": "100%"}}, "confidence must lie between 0 and 1"),
        ({"x": WAVE | {"privacy": "50%"}}, "privacy cannot be given with release square-wave, which has"),
        ({"x": AGE | {"release": "as-is", "confidence": "50%"}}, "confidence cannot be given with release as-is"),
        ({"x": NOISE | {"intervals": 0}}, "intervals must be a whole number from 1"),
        ({"x": NOISE | {"intervals": 7, "cells": 20}}, "cells must be a multiple of intervals, got 20 and 7"),
        ({"x": REGION | {"values": []}}, "values must be a list"),
        ({"x": REGION | {"values": ["a", "a"]}}, "values must differ"),
        ({"x": REGION | {"values": [1, "1"]}}, "values must differ"),
        ({"x": REGION | {"values": [0.5, 1]}}, "values must be texts or whole numbers"),
        ({"x": REGION | {"values": ["a "]}}, "a value of values must be text"),
        ({"x": REGION | {"values": ["a"]}}, "release response needs at least two values"),
        ({"x": REGION | {"optional": "yes"}}, "optional must be true or false"),
    ],
)  # fmt: skip
def test_invalid_schemas(columns: dict[str, Any], message: str) -> None:
    """The message of an invalid schema is one line with the column and the key."""
    with pytest.raises(PlanError, match=message) as refused:
        plan_table({"columns": columns})
    assert "\n" not in str(refused.value)


def test_other_files_are_no_schema(tmp_path: Path) -> None:
    """A file that is no TOML, or has other content, is refused; the message names the file."""
    for text, message in [("[columns", "not TOML"), ("title = 'x'\n", "only columns"), ("", "has no columns")]:
        (tmp_path / "s.toml").write_text(text)
        with pytest.raises(PlanError, match=rf"s\.toml: .*{message}"):
            table_planner.read_schema(tmp_path / "s.toml")
    with pytest.raises(PlanError, match="cannot read the schema"):
        table_planner.read_schema(tmp_path / "none.toml")
    with pytest.raises(TypeError, match="schema must be the path of a TOML file or a mapping, got a int"):
        plan_table(5)


@pytest.mark.parametrize("options", [{"guarantee": Guarantee("5%", "50%")}, {"columns_per_report": "all"}])
def test_tables_without_protected_columns_have_no_guarantee(options: dict[str, Any]) -> None:
    """A guarantee and a number of columns per report are refused if no column is protected."""
    with pytest.raises(PlanError, match="no column is protected"):
        plan_table(schema(x=NOISE), **options)
    assert plan_table(schema(x=NOISE)).amplification is None


@pytest.mark.parametrize("columns", [0, 3, "both", True])
def test_invalid_columns_per_report(columns: Any) -> None:
    """A report has at least one of the protected columns, and at most all of them."""
    with pytest.raises(PlanError, match=r"columns_per_report must be in 1\.\.2 or 'all'"):
        plan_table(schema(x=WAVE, y=REGION), columns_per_report=columns)


# ---- guarantees


@pytest.mark.parametrize(
    "guarantee", [Guarantee("5%", "50%"), Guarantee("1%", "2%"), Guarantee.from_epsilon(1), Guarantee.from_epsilon(4)]
)
@pytest.mark.parametrize("reports_per_person", [1, 3])
@pytest.mark.parametrize("columns_per_report", [1, 2, "all", None])
def test_the_guarantee_covers_the_record(
    guarantee: Guarantee, reports_per_person: int, columns_per_report: Any
) -> None:
    """γ of all reports of a person, enumerated from the plan's integers, is strictly below the limit and near it."""
    columns = schema(x=WAVE | {"optional": True}, y=REGION, z=REGION | {"optional": True}, label=CLASS, free=NOISE)
    plan = plan_table(columns, guarantee, reports_per_person=reports_per_person, columns_per_report=columns_per_report)
    worst = []
    for column in plan.columns[:4]:
        codes = zip(*exact_transition(column), strict=True)
        worst.append(max(max(code) / min(code) for code in codes))
    label = worst.pop()
    gamma = label
    for ratio in sorted(worst)[-plan.columns_per_report :]:
        gamma *= ratio
    assert gamma == plan.amplification
    assert float(guarantee.amplification_limit) * (1 - 1e-6) < gamma**reports_per_person < guarantee.amplification_limit


def test_labels_alone_are_protected() -> None:
    """If only labels are protected, they get the whole guarantee."""
    plan = plan_table(schema(x=NOISE, label=CLASS))
    assert (plan.columns_per_report, plan.protected_positions, plan.uncovered) == (0, (), "column x")
    assert 18.99 < plan.amplification < 19  # type: ignore[operator]


def test_columns_per_report_of_the_smallest_cost() -> None:
    """The planner chooses the number of columns with the smallest cost; a strict guarantee is not divided."""
    columns = schema(**{f"x{place}": REGION for place in range(4)}, y=WAVE)
    for guarantee in (Guarantee.from_epsilon("0.5"), Guarantee.from_epsilon("ln 19"), Guarantee.from_epsilon(20)):
        plan = plan_table(columns, guarantee)
        costs = table_planner.sampling_costs(plan)
        assert [each.columns_per_report for each in costs] == [1, 2, 3, 4, 5]
        assert plan.columns_per_report == min(costs, key=lambda each: each.cost).columns_per_report
        assert table_planner.sampling_costs(plan_table(columns, guarantee, columns_per_report="all")) == costs
    assert plan_table(columns, Guarantee.from_epsilon("0.5")).columns_per_report == 1
    assert plan_table(columns, Guarantee.from_epsilon(20)).columns_per_report == 5


@pytest.mark.parametrize("optional", [False, True])
def test_costs_are_those_of_the_channel(optional: bool) -> None:
    """The cost of a column is the ratio of two variances, computed here from its transition matrix."""
    ratio = 3.0
    columns = schema(x=WAVE | {"optional": optional, "intervals": 20}, y=REGION | {"optional": optional})
    plan = plan_table(columns, Guarantee("10%", "50%"), columns_per_report="all")  # γ is 9, and 3 for each column
    wave, response = plan.columns
    channel = transition(wave)[: wave.mechanism.outputs]
    values, places = np.arange(20), np.arange(len(channel)) - (len(channel) - 1) / 2
    means = places @ channel[:, :20]
    slope = (means[-1] - means[0]) / 19
    assert np.allclose(means, slope * (values - 9.5))  # so place / slope is unbiased
    spread = (places**2 @ channel[:, :20]).mean() / slope**2 / values.var()
    channel = transition(response)
    rows = len(channel)
    inverse, even = np.linalg.inv(channel), np.full(rows, 1 / rows)
    covariance = inverse @ (np.diag(even) - np.outer(even, even)) @ inverse.T
    trace = np.trace(covariance) / np.trace(np.diag(even) - np.outer(even, even))
    assert table_planner.sampling_costs(plan)[-1].cost == pytest.approx((spread + trace) / 2, rel=1e-6)
    assert table_planner.sampling_costs(plan)[-1].limit == pytest.approx(ratio)


# ---- grids


def test_grids_fit_the_schema() -> None:
    """Intervals follow the paper's rule, the number of cells is a multiple, and classes divide the cells."""
    noise = plan_table(schema(x=NOISE), reports=3000).columns[0]
    assert (noise.intervals, noise.inputs) == (30, 1020)
    classes = plan_table(schema(x=AGE | {"release": "membership", "privacy": "30%", "intervals": 10})).columns[0]
    assert classes.mechanism == Clear(30, 10)  # three classes: four would give 95%/4 < 30%
    alone = plan_table(schema(x=AGE | {"release": "membership", "privacy": "25%"})).columns[0]
    assert (alone.intervals, alone.mechanism) == (3, Clear(6, 2))
    given = plan_table(schema(x=AGE | {"release": "as-is", "cells": 61 * 4})).columns[0]
    assert (given.intervals, given.mechanism) == (61, Clear(244))


@pytest.mark.parametrize("release", ["membership", "uniform", "gaussian"])
@pytest.mark.parametrize("privacy", ["10%", "50%", "100%", "200%"])
def test_noise_has_the_requested_privacy(release: str, privacy: str) -> None:
    """Privacy is never below the request, and little above it; more privacy than two classes give is refused."""
    request = schema(x=AGE | {"release": release, "privacy": privacy, "confidence": "95%"})
    if release == "membership" and privacy != "10%":
        with pytest.raises(PlanError, match=r"column x: two classes give a privacy of at most 0\.475"):
            plan_table(request)
        return
    facts = table_planner.column_facts(plan_table(request).columns[0])
    wanted = Fraction(privacy.removesuffix("%")) / 100
    assert wanted <= facts.widths[1] <= wanted * Fraction(107, 100)


# ---- distances


def total_variation(mechanism: Any, density: Any, offset: float) -> float:
    """Return the total variation between a mechanism's output, spread over cells, and a density.

    It is the largest over five places of the value in its cell. ``density`` is a function of (place, value); ``offset``
    is the start of output 0, in cells.
    """
    fine, worst = 200, 0.0
    places = (np.arange(-3 * mechanism.outputs * fine, 4 * mechanism.outputs * fine) + 0.5) / fine
    cells = np.floor(places - offset).astype(int)
    inside = (cells >= 0) & (cells < mechanism.outputs)
    for value in (0, mechanism.inputs // 2, mechanism.inputs - 1):
        row = np.array(mechanism.weights(value), dtype=float)
        grid = np.where(inside, (row / row.sum())[np.clip(cells, 0, mechanism.outputs - 1)], 0)
        for within in (0.0, 0.25, 0.5, 0.75, 1.0):
            worst = max(worst, float(np.abs(density(places, value + within) - grid).sum()) / fine / 2)
    return worst


@pytest.mark.parametrize("window", [Window(6, 3, 5, 1), Window(10, 1, 3, 1), Window(10, 5, 30, 2)])
def test_distance_of_a_square_wave(window: Window) -> None:
    """The distance is that of the two densities, integrated numerically."""

    def density(places: Any, value: float) -> Any:
        reach, total = window.near / 2, window.near * window.high + window.inputs * window.low
        near = np.where(np.abs(places - value) < reach, window.high, window.low) / total
        return np.where((places > -reach) & (places < window.inputs + reach), near, 0)

    assert table_planner.wave_distance(window) == pytest.approx(
        total_variation(window, density, -(window.near // 2)), rel=1e-3
    )


@pytest.mark.parametrize("window", [Window(6, 3, 5, 1), Window(15, 21, 85, 15)])
def test_distance_of_a_square_wave_with_missing_values(window: Window) -> None:
    """The output for missing values counts too: exact sums over pieces, for a value at the edge of its cell."""
    n, near, high, low = window.inputs, window.near, window.high, window.low
    grid, wave = window.total(optional=True), window.total(optional=True) + low
    pieces = [(near - 0.5, high, high), (0.5, high, low), (n - 1, low, low), (near, low, low)]
    outside = (low + high) / 2 / wave  # half a cell of the wave's range at each end is outside the grid's range
    distance = (sum(length * abs(a / grid - b / wave) for length, a, b in pieces) + outside) / 2
    assert table_planner.wave_distance(window, optional=True) == pytest.approx(distance, rel=1e-9)


@pytest.mark.parametrize("reach", [1, 4])
def test_distance_of_uniform_noise(reach: int) -> None:
    """The distance is that of the two densities, integrated numerically."""
    noise = UniformNoise(4, reach)
    width = 2 * reach + 1
    distance = total_variation(noise, lambda places, value: (np.abs(places - value) < width / 2) / width, -reach)
    assert table_planner.uniform_distance(noise) == pytest.approx(distance, rel=1e-3)


@pytest.mark.parametrize(("cells", "privacy"), [(10, 3), (12, 1), (4, 1)])
def test_distance_of_gaussian_noise(cells: int, privacy: int) -> None:
    """The distance is that of the two densities, integrated numerically, and σ is the requested one."""
    noise = table_planner.design_gaussian(cells, Fraction(privacy), Fraction(95, 100))
    deviation = table_planner.gaussian_deviation(noise)
    assert deviation == pytest.approx(privacy * cells / 3.92, rel=1e-3)

    def density(places: Any, value: float) -> Any:
        return np.exp(-(((places - value) / deviation) ** 2) / 2) / deviation / np.sqrt(2 * np.pi)

    distance = total_variation(noise, density, -noise.largest)
    assert distance <= table_planner.gaussian_distance(noise) + 1e-6
    assert table_planner.gaussian_distance(noise) == pytest.approx(distance, rel=1e-3)


def test_facts_of_a_plan() -> None:
    """Each column has its release as in the schema, with the scale in its own unit."""
    columns = schema(w=WAVE, g=NOISE, m=AGE | {"release": "membership", "privacy": "30%", "intervals": 10}, r=REGION)
    facts = table_planner.forecast_table(plan_table(columns, reports=5000), 5000)
    assert [each.release for each in facts.columns] == ["square-wave", "gaussian", "membership", "response"]
    assert facts.columns[1].scale == pytest.approx(60 / 3.92, rel=1e-3)
    assert facts.columns[2].scale == 20
    wave = facts.columns[0].column.mechanism
    assert facts.columns[0].scale == wave.near * 3 / 2
    assert isinstance(facts.columns[1].column.mechanism, GaussianNoise)
    with pytest.raises(PlanError, match="reports must be in 1"):
        table_planner.forecast_table(facts.plan, 0)


def test_windows_stay_below_any_limit() -> None:
    """A window's γ is strictly below any limit, or the limit is refused."""
    for limit in (Fraction(19), Fraction(3), Fraction(1001, 1000), Fraction(10**9)):
        assert table_planner.design_window(5, limit, optional=True, near=1).amplification < limit
    with pytest.raises(PlanError, match="almost no information"):
        table_planner.design_window(60_000, Fraction(2**20 + 1, 2**20), optional=False, near=1)
    with pytest.raises(PlanError, match="too weak to protect anything; choose a smaller ε"):
        table_planner.design_window(5, Fraction(2**80), optional=False, near=1)


@pytest.mark.parametrize(
    "values", [["north", "North"], ["Caf\u00e9", "Cafe\u0301"], ["new york", "new  york"], ["\uff21", "a"]]
)
def test_a_warning_of_near_duplicate_values(values):
    """A warning names values of a schema that differ only in case, Unicode form, blanks or zeros, and the column."""
    schema = {"columns": {"region": {"kind": "category", "values": [*values, "south"], "release": "response"}}}
    with pytest.warns(
        UserWarning, match="column region: 1 group of values differ only in case, Unicode form, blanks or leading zeros"
    ):
        plan_table(schema)
    schema["columns"]["region"]["values"] = ["north", "south"]
    plan_table(schema)
