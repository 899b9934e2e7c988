"""Tests of simulations of table plans: the truth is that of the raw records."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import assocpriv as ap
from assocpriv.simulation.table_simulation import TableSimulation, compare_with_truth

AGES = {"kind": "number", "whole": True, "low": 0, "high": 99, "intervals": 20, "release": "square-wave"}
REGION = {"kind": "category", "values": ["north", "south", "east"], "release": "response", "optional": True}


def people(n: int = 20_000) -> pd.DataFrame:
    """Return whole ages and regions, some of them missing."""
    rng = np.random.default_rng(5)
    region = rng.choice(np.array(["north", "south", "east", None], dtype=object), n, p=[0.5, 0.3, 0.1, 0.1])
    return pd.DataFrame({"age": np.minimum(rng.poisson(30, n), 99), "region": region})


def simulated(epsilon: float, **options: Any) -> TableSimulation:
    """Simulate a plan that reports both columns."""
    made = ap.numeric.plan_table(
        {"columns": {"age": AGES, "region": REGION}}, ap.Guarantee.from_epsilon(epsilon), columns_per_report="all"
    )
    found: TableSimulation = ap.simulate(people(), made, **options)
    return found


def test_the_truth_is_that_of_the_raw_records() -> None:
    """True shares, mean and quantiles come from the records' values, not from cells."""
    table, found = people(), simulated(2, seed=1)
    age, region = found.columns["age"], found.columns["region"]
    assert age.true_share == pytest.approx(np.bincount(table["age"] // 5, minlength=20) / len(table))
    assert age.true_mean == pytest.approx(table["age"].mean())
    quantiles = table["age"].quantile([0.05, 0.25, 0.5]).tolist()
    assert age.true_quantiles[:3] == pytest.approx(quantiles, abs=1)
    named = table["region"].value_counts(normalize=True)
    assert region.true_share.tolist() == [pytest.approx(named[name]) for name in REGION["values"]]
    assert region.true_missing == table["region"].isna().mean()
    assert (age.tested, region.tested) == (19, 3)
    assert found.read.missing == {"region": table["region"].isna().sum()}
    for each in (found.found["age"], age):
        assert "\n" not in repr(each)
        assert len(repr(each)) < 250


def test_without_noise_the_truth_is_found() -> None:
    """Raw releases, and releases with a very large γ, give the truth up to smoothing."""
    clear = {"columns": {"age": AGES | {"release": "as-is"}, "region": REGION}}
    counted = ap.simulate(people(), ap.numeric.plan_table(clear, ap.Guarantee.from_epsilon(20)), seed=1)
    age, region = counted.columns["age"], counted.columns["region"]
    for each, most in ((age, 1e-12), (region, 1e-6), (simulated(40).columns["age"], 1e-3)):
        assert each.distance < most
        assert each.covered == each.tested
    assert age.found.numbers.mean.value == pytest.approx(age.true_mean)
    assert [each.value for each in age.found.numbers.quantiles] == pytest.approx(list(age.true_quantiles), abs=5)
    assert region.found.missing.value == pytest.approx(region.true_missing)


def test_a_wrong_truth_is_distinguished() -> None:
    """Estimates are near the truth, and far from that of ages ten years higher and of shuffled regions."""
    found, table = simulated(2, seed=1), people()
    columns = dict(zip(found.columns, found.reports.plan.columns, strict=True))
    shuffled = table["region"].dropna().map({"north": 1, "south": 2, "east": 0}).to_numpy(np.int32)
    for name, raw in (("age", table["age"].to_numpy(np.int32) + 10), ("region", shuffled)):
        each = found.columns[name]
        wrong = compare_with_truth(each.found, columns[name], raw, raw.astype(float), 0.95)
        assert each.distance < 0.1 < 0.2 < wrong.distance
        assert wrong.covered < each.tested - 2 < each.covered


@pytest.mark.parametrize("wrong", [{"min_support": 0.5}, {"classifier": "tree"}])
def test_options_of_another_kind_are_refused(wrong: dict[str, Any]) -> None:
    """A table has no minimum support and no classifier."""
    with pytest.raises(TypeError, match=f"no argument '{next(iter(wrong))}'"):
        simulated(2, **wrong)


RATINGS = {"kind": "number", "release": "square-wave"}


def ratings(n: int = 30_000) -> pd.DataFrame:
    """Return ratings from 1 to 5."""
    return pd.DataFrame({"stars": np.random.default_rng(17).choice(5, n, p=[0.1, 0.1, 0.15, 0.25, 0.4]) + 1})


def test_the_true_mean_does_not_come_from_cells() -> None:
    """Ratings on the cells 1 … 6 have a mean half a cell too high, which the truth shows; whole numbers do not.

    The interval for whole numbers covers at this seed; the other mean is off by more than 30 standard errors.
    """
    true = ratings()["stars"].mean()
    for own, off in (({"low": 1, "high": 6, "cells": 5}, 0.5), ({"whole": True, "low": 1, "high": 5}, 0.0)):
        plan = ap.numeric.plan_table({"columns": {"stars": RATINGS | own}})
        found = ap.simulate(ratings(), plan, seed=2)
        each = found.columns["stars"]
        assert each.true_mean == pytest.approx(true)
        mean = each.found.numbers.mean
        assert abs(mean.value - off - true) < 5 * mean.std_error < 0.08
        assert bool(mean.low <= true <= mean.high) == (off == 0)
        assert found.read.looks_whole == ["stars"] * (off > 0)


def test_whole_numbers_are_recognised_in_a_sample() -> None:
    """A column with a whole sample is whole, unless the schema states otherwise or has fractional bounds."""
    kinds = {"as is": {}, "false": {"whole": False}, "halves": {"low": 0.5}, "grams": {}}
    schema = {"columns": {name: RATINGS | {"low": 1, "high": 5} | own for name, own in kinds.items()}}
    sample = pd.DataFrame({name: [1.0, 5.0, 9.0] for name in kinds} | {"grams": [1.0, 2.5, 3.0]})
    whole = ap.numeric.find_whole_columns(schema, sample)
    assert whole == ["as is", "halves"]
    made = ap.numeric.plan_table(schema, whole=whole)
    assert [column.kind for column in made.columns] == ["whole-number", "number", "number", "number"]


def test_a_column_without_values() -> None:
    """A column without any value has no true mean and no true quantiles."""
    made = ap.numeric.plan_table({"columns": {"age": AGES | {"optional": True}}}, ap.Guarantee.from_epsilon(2))
    each = ap.simulate(pd.DataFrame({"age": [None] * 500}), made, seed=1).columns["age"]
    assert (each.true_mean, each.true_quantiles, each.true_missing) == (None, (), 1)
