"""Exact laws: run for every way its draws can fall, the client in JavaScript makes each report as often as ours."""

import json
import subprocess
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import javascript
import naive
import pytest

from assocpriv.client.baskets import Randomizer
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.view import Blocks, View
from assocpriv.simulation.enumeration import distribution
from tests.whole import test_exact_laws as exact


def in_blocks(inside, n_items, blocks):
    """Return a plan whose blocks are what another plan is about."""
    return replace(inside, catalogue=Catalogue.numbered(n_items), view=View(blocks=blocks))


PLANS = {name: exact.make(n, k, exact.OPERATORS[m], kind) for name, (n, k, m, kind) in exact.PLANS.items()} | {
    "fixed size": naive.fixed_plan(4, 2, 1, 2, shares=[1, 2, 3]),
    "fixed size, one place": naive.fixed_plan(4, 1, 1, 2, shares=[1, 4]),
    "blocks": in_blocks(naive.small_plan("none", 2, 2, 1, weight_bits=5, shares=[1, 2, 6]), 4, Blocks(3, 2, 3)),
    "blocks, bch": in_blocks(naive.small_plan("bch", 3, 1, 1, weight_bits=5, shares=[1, 3]), 5, Blocks(2, 2, 7)),
}
# many draws of plans whose forms others have, too
SLOW = ("bch of length 15", "reed-solomon, r=1", "reed-solomon, rho 3/4")


def transactions_of(plan):
    """Return all baskets of a small catalogue, or enough of a larger one: empty, short, full, too long."""
    if plan.n_items > 5:
        return [sorted(each) for each in exact.transactions_of(plan)]
    items = range(plan.n_items)
    return [list(each) for size in range(plan.n_items + 1) for each in combinations(items, size)]


def laws_in_javascript(plan, records):
    """Return what laws.js says of records of a plan."""
    line = json.dumps({"plan": json.dumps(plan.to_json()), "records": records}) + "\n"
    command = [javascript.node(), javascript.CLIENT / "test/laws.js"]
    return json.loads(subprocess.run(command, input=line, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in PLANS]
)
def test_laws_are_equal(name):
    """Every basket's law over all reports is that of the client in Python, fraction for fraction, and within γ."""
    plan = PLANS[name]
    randomizer, transactions = Randomizer(plan), transactions_of(plan)
    found = laws_in_javascript(plan, [" ".join(map(str, items)) for items in transactions])
    assert found["id"] == plan.plan_id
    assert Fraction(found["amplification"]) == plan.amplification
    laws = [{report: Fraction(text) for report, text in law.items()} for law in found["laws"]]
    for items, law in zip(transactions, laws, strict=True):
        expected = distribution(lambda entropy, t=items: randomizer.randomize(t, entropy=entropy))
        assert law == {report.hex(): probability for report, probability in expected.items()}
    worst = max(max(law[report] for law in laws) / min(law[report] for law in laws) for report in laws[0])
    assert 1 < worst <= plan.amplification
