"""The bench of single items: formulas equal those of their sources, and runs have the errors of the formulas."""

import math
from dataclasses import replace

import numpy as np
import pytest
from naive import Z_LIMIT

from assocpriv.planning.expected_error import BasketSizes
from bench.accuracy import single_items
from bench.accuracy.single_items import best_oracle, measured, oracles, planned, randomizers

ITEMS, PEOPLE = 1_000, 20_000


def test_oracles_have_the_variances_of_their_sources():
    """For an absent item, OUE of one item of L has 4L²e^ε/(e^ε − 1)², GRR L²(d − 2 + a)/(a − 1)², a = e^ε'."""
    power = math.exp(single_items.EPSILON)
    for length in (1, 4):
        unary, response, _ = oracles(ITEMS, length)
        assert unary.variance(0.0) == pytest.approx(length**2 * 4 * power / (power - 1) ** 2)
        amplified, values = length * (power - 1) + 1, ITEMS + length
        assert response.variance(0.0) == pytest.approx(length**2 * (values - 2 + amplified) / (amplified - 1) ** 2)


def test_runs_have_the_errors_of_the_formulas(rng):
    """The mean square of 1,000 items passes a test that rejects a right formula once in 10⁶; 20% off is rejected."""
    sizes = BasketSizes.from_mean(ITEMS, 4.0)
    baskets = single_items.uniform(PEOPLE, ITEMS, sizes, rng)
    most = Z_LIMIT * math.sqrt(2 / ITEMS)
    ways = [way for _, way in randomizers(ITEMS, sizes)]
    ways += [each for each in oracles(ITEMS, 3) if each.name == "GRR"]
    for way in ways:
        assert abs(measured(way, baskets, rng) ** 2 - 1) < most, way.name
    wrong = replace(ways[0], variance=lambda held: 1.5 * ways[0].variance(held))
    assert abs(measured(wrong, baskets, rng) ** 2 - 1) > most


def test_the_best_oracle_has_the_least_error():
    """No oracle of any length has a smaller error; the oracle of one item has a larger truncation error."""
    sizes = BasketSizes.from_mean(ITEMS, 2.0)
    best = math.hypot(*best_oracle(ITEMS, sizes).errors(sizes, 0.05))
    tried = [each.errors(sizes, 0.05) for length in single_items.LENGTHS for each in oracles(ITEMS, length)]
    assert best == min(math.hypot(*errors) for errors in tried)
    noise, truncation = next(oracles(ITEMS, 1)).errors(sizes, 0.05)
    assert truncation > noise


def test_plans_of_single_items_are_as_good_as_the_oracles_they_contain():
    """For baskets of one item the plan has the variance of OUE, for few items that of GRR with amplification."""
    one = single_items.cases(ITEMS)["exactly 1"]
    plan = planned("plan", ITEMS, itemset_size=1, sample=one)
    assert plan.errors(one, 0.05)[0] < 1.01 * next(oracles(ITEMS, 1)).errors(one, 0.05)[0]
    few = planned("plan", 100, itemset_size=1, mean_size=1.0)
    _, response, _ = oracles(100, few.length)
    assert few.variance(0.0) == pytest.approx(response.variance(0.0), rel=0.02)


def test_a_run_has_a_row_per_method(monkeypatch):
    """There is one row per number of items, basket size and method."""
    monkeypatch.setattr(single_items, "ITEMS", (100,))
    monkeypatch.setattr(single_items, "MEANS", (4.0,))
    found = single_items.run(2_000)
    assert [row["mean_size"] for row in found["rows"]] == ["exactly 1"] * 7 + ["4"] * 7
    assert all(row["total"] == pytest.approx(np.hypot(row["noise"], row["truncation"])) for row in found["rows"])
    assert "| 100 | exactly 1 | sizes | OUE, OLH | 1 |" in single_items.markdown(found)
