"""Exact output distributions of the JavaScript client, enumerated over all outcomes of its draws, equal Python's."""

import json
from fractions import Fraction
from functools import cache
from itertools import combinations

import command_line
import naive
import pytest

from assocpriv.client.baskets.basket_client import Randomizer
from assocpriv.simulation.enumeration import distribution
from tests.whole import test_exact_distributions as exact

PLANS = {name: exact.PLANS[name] for name in exact.CODES} | {
    "fixed size": naive.fixed_plan(4, 2, 1, 2, shares=[1, 2, 3]),
    "fixed size, one place": naive.fixed_plan(4, 1, 1, 2, shares=[1, 4]),
    "three report types": command_line.vector_plan("asks-three"),
}
# many draws, of plans whose form other plans have too
SLOW = ("bch of length 15", "reed-solomon, 3 bits", "reed-solomon, rho 3/4")


def transactions_of(plan):
    """Return all baskets of a small catalogue, or enough of a larger one: empty, short, full, too long."""
    if len(plan.report_types) > 1:
        return [[], [3], [6, 7], [0, 1, 2, 4, 5]]
    if plan.n_items > 5:
        return [sorted(each) for each in exact.transactions_of(plan)]
    items = range(plan.n_items)
    return [list(each) for size in range(plan.n_items + 1) for each in combinations(items, size)]


@cache
def enumerated(names):
    """Return what the client enumerates for plans, by name, from one process."""
    records = [[" ".join(map(str, items)) for items in transactions_of(PLANS[name])] for name in names]
    given = [
        {"plan": json.dumps(PLANS[name].to_json()), "records": each} for name, each in zip(names, records, strict=True)
    ]
    return dict(zip(names, command_line.lines_of_script("output-distributions.js", given), strict=True))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in PLANS]
)
def test_distributions_are_equal(name):
    """Every basket's exact output distribution is that of the Python client, and the largest ratio is within γ.

    A report type is drawn with its share, for every basket.
    """
    plan = PLANS[name]
    randomizer, transactions = Randomizer(plan), transactions_of(plan)
    found = enumerated((name,) if name in SLOW else tuple(each for each in PLANS if each not in SLOW))[name]
    assert found["id"] == plan.plan_id
    assert Fraction(found["amplification"]) == plan.amplification
    shown = [{report: Fraction(text) for report, text in each.items()} for each in found["distributions"]]
    for items, probabilities in zip(transactions, shown, strict=True):
        expected = distribution(lambda entropy, t=items: randomizer.randomize(t, entropy=entropy))
        assert probabilities == {report.hex(): probability for report, probability in expected.items()}
        for number, report_type in enumerate(plan.report_types):
            number_text = "", f"{number:02x}"
            of_type = [p for report, p in probabilities.items() if report[: 2 * plan.number_bytes] in number_text]
            assert sum(of_type) == plan.share(report_type)
    worst = max(max(each[report] for each in shown) / min(each[report] for each in shown) for report in shown[0])
    assert 1 < worst <= plan.amplification
