"""Exact laws: run for every way its draws can fall, the client in JavaScript makes each report as often as ours."""

import json
from fractions import Fraction
from itertools import combinations

import command_line
import naive
import pytest

from assocpriv.client.baskets import Randomizer
from assocpriv.simulation.enumeration import distribution
from tests.whole import test_exact_laws as exact

PLANS = {name: exact.make(n, k, exact.OPERATORS[m], kind) for name, (n, k, m, kind) in exact.PLANS.items()} | {
    "fixed size": naive.fixed_plan(4, 2, 1, 2, shares=[1, 2, 3]),
    "fixed size, one place": naive.fixed_plan(4, 1, 1, 2, shares=[1, 4]),
    "three questions": command_line.vector_plan("asks-three"),
}
# many draws of plans whose forms others have, too
SLOW = ("bch of length 15", "reed-solomon, r=1", "reed-solomon, rho 3/4")


def transactions_of(plan):
    """Return all baskets of a small catalogue, or enough of a larger one: empty, short, full, too long."""
    if len(plan.questions) > 1:
        return [[], [3], [6, 7], [0, 1, 2, 4, 5]]
    if plan.n_items > 5:
        return [sorted(each) for each in exact.transactions_of(plan)]
    items = range(plan.n_items)
    return [list(each) for size in range(plan.n_items + 1) for each in combinations(items, size)]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in PLANS]
)
def test_laws_are_equal(name):
    """Every basket's law over all reports is that of the client in Python, fraction for fraction, and within γ.

    A question is drawn by its share, whatever the basket.
    """
    plan = PLANS[name]
    randomizer, transactions = Randomizer(plan), transactions_of(plan)
    records = [" ".join(map(str, items)) for items in transactions]
    [found] = command_line.lines_of_script("laws.js", [{"plan": json.dumps(plan.to_json()), "records": records}])
    assert found["id"] == plan.plan_id
    assert Fraction(found["amplification"]) == plan.amplification
    laws = [{report: Fraction(text) for report, text in law.items()} for law in found["laws"]]
    for items, law in zip(transactions, laws, strict=True):
        expected = distribution(lambda entropy, t=items: randomizer.randomize(t, entropy=entropy))
        assert law == {report.hex(): probability for report, probability in expected.items()}
        for number, question in enumerate(plan.questions):
            answers = [p for report, p in law.items() if report[: 2 * plan.number_bytes] in ("", f"{number:02x}")]
            assert sum(answers) == plan.share(question)
    worst = max(max(law[report] for law in laws) / min(law[report] for law in laws) for report in laws[0])
    assert 1 < worst <= plan.amplification
