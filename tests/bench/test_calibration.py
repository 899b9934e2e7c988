"""Cells of the calibration bench, with fixed seeds: estimates and intervals on difficult baskets."""

from functools import partial

import numpy as np
import pytest

from bench.accuracy import data
from bench.accuracy.calibration import Family, Task, records, run_task, summary, two_sizes, universal
from bench.tables import Row

BAG = Family("bag", partial(universal, share=0.97, items=40, mean_rest=0.83), (("mean_size", 1.8),))


def cell(family: Family, n: int, guarantee: str, runs: int) -> Row:
    """Return the figures of some runs."""
    return summary([run_task(Task(family, n, guarantee, seed)) for seed in range(200, 200 + runs)])


def test_rules_of_a_nearly_universal_item_are_covered() -> None:
    """Rules with an independent item in 97% of baskets: intervals cover confidence and lift (before: 5%)."""
    found = cell(BAG, 50_000, "5→99%", 2)
    assert found["rules"] > 60
    assert found["confidences held"] > 0.9
    assert found["lifts held"] > 0.9
    assert found["false"] <= 2 * found["announced"] + 2
    assert abs(found["z larger"]) < 0.5


@pytest.mark.parametrize(
    ("columns", "hints"),
    [
        pytest.param(8, {"mean_size": 8.0}, marks=pytest.mark.slow),
        (12, {"transaction_size": 6, "mean_size": 12.0}),
        pytest.param(5, {"transaction_size": 5}, marks=pytest.mark.slow),
        pytest.param(13, {}, marks=pytest.mark.slow),
    ],
)
def test_supports_of_records_add_up_to_the_number_of_columns(columns: int, hints: dict[str, float]) -> None:
    """With M = the columns, a hint at their number or none, and sampled to 6 of 12; items were 10% too large before.

    A run's sum is off by less than 5 of its errors where items' errors are independent, and z² is about 1.
    """
    family = Family("records", partial(records, columns=columns, values=3), tuple(hints.items()))
    found = cell(family, 100_000, "5→50%", 3)
    assert abs(found["sum − size"]) < 0.15
    assert abs(found["z items"]) < 0.5
    assert abs(found["z larger"]) < 0.5
    assert found["z² items"] < 1.5
    assert found["z² larger"] < 1.5
    assert found["items held"] > 0.9


@pytest.mark.slow
def test_two_sizes_are_distinguished() -> None:
    """Baskets of 1 and of 12 items: items and larger sets are unbiased within their errors."""
    family = Family("two", partial(two_sizes, sizes=(1, 12), share=0.6, items=60))
    found = cell(family, 50_000, "5→50%", 2)
    assert max(abs(found["z items"]), abs(found["z larger"])) < 0.5
    assert max(found["z² items"], found["z² larger"]) < 1.5


def test_dense_tables_are_covered() -> None:
    """With 15 columns of two values intervals cover selected rules and items; before, items in 73 of 100 cases."""
    family = Family("dense", partial(records, columns=15, values=2), (("transaction_size", 15),))
    found = cell(family, 20_000, "5→99%", 2)
    assert found["items held"] > 0.9
    assert found["confidences held"] > 0.88
    assert found["false"] <= 2 * found["announced"]


def test_preselected_itemsets_are_covered_at_every_support() -> None:
    """On heavy-tailed clicks at least 85 of 100 intervals hold in each tenth by true support, 48 itemsets per tenth."""
    family = Family("clicks", partial(data.long_tail, items=3_000, sigma=1.2, mean_log=0.6))
    found = cell(family, 50_000, "5→50%", 2)
    assert found["least decile"] > 0.85
    assert np.isclose(found["items held"], 0.96, atol=0.04)
