"""Standard errors where few reports show an itemset: not far below the truth, and as they were elsewhere."""

from math import comb

import numpy as np
import pytest
from planned import planned
from quiet import ask

from assocpriv import association_rules
from assocpriv.plans.transition import SupportModel
from assocpriv.promise.breaches import Breach
from assocpriv.records.baskets import Baskets
from assocpriv.server.supports import FEW_REPORTS, Respondents, estimate_supports, partial_counts
from assocpriv.simulation.simulate import simulate

WEAK = {"7/256": ("80%", 5), "1/128": ("99%", 4)}


def weak_model(name):
    """Return a weak promise's model for triples, with ρ as named: a report of three items counts for −172 or −328."""
    posterior, m = WEAK[name]
    plan = planned(30, m, Breach("1%", posterior), reports=20_000, itemset_size=3, kind="independent")
    assert str(plan.items.operator.default_probability) == name
    return SupportModel.of(plan.items.operator)


def collections(model, held, size, rng):
    """Return C_0 … C_3 of triples in ``size`` collections, ``held[l]`` transactions of each holding l of the items."""
    transition = np.array([[float(value) for value in row] for row in model.transition(3)])
    shown = sum(rng.multinomial(n, column / column.sum(), size) for column, n in zip(transition.T, held, strict=True))
    return shown @ np.array([[comb(p, j) for j in range(4)] for p in range(4)])


def true_error(model, held):
    """The standard deviation of the estimate, given how many transactions hold l of the items."""
    moments = [float(model.second_moment(3, some) - (some == 3)) for some in range(4)]
    return np.sqrt(np.dot(moments, held)) / sum(held)


@pytest.mark.parametrize("name", WEAK)
@pytest.mark.parametrize("two", [0, 200, 2_000, 4_000])
def test_errors_of_triples_are_not_far_too_small(name, two, rng):
    """Of 20,000 transactions some hold two of the items: at most 3% of collections state less than half the error."""
    model, held = weak_model(name), [16_000 - two, 4_000, two, 0]
    sums = collections(model, held, 4_000, rng)
    estimates = estimate_supports(sums, Respondents(20_000, model))
    stated = estimates.std_error(population=False) / true_error(model, held)
    # 1.5% do at most, measured on 40,000 collections: 3% of 4,000 is eight standard deviations off
    assert (stated < 0.5).mean() < 0.03
    assert (stated >= np.sqrt(estimates.variance.clip(0)) / true_error(model, held)).all()
    # unbiased as ever
    assert abs(estimates.support.mean()) < 4.9 * true_error(model, held) / np.sqrt(4_000)
    if (name, two) == ("1/128", 2_000):
        # the variance estimate and the plan's least alone: more than 10% state less than a ninth
        plan_least = np.sqrt((1 - estimates.support.clip(0, 1)) * float(model.second_moment(3, 0)) / 20_000)
        before = np.maximum(np.sqrt(estimates.variance.clip(0)), plan_least)
        assert (before < true_error(model, held) / 9).mean() > 0.1


def test_one_report_more_by_definition(rng):
    """The bound is the variance of counts with one report more of each kind, or what others allow if less."""
    model = weak_model("7/256")
    sums = collections(model, [17_000, 2_000, 900, 100], 50, rng)
    estimates = estimate_supports(sums, Respondents(20_000, model))
    q = [float(value) for value in model.row(3)]
    p = [[float(value) for value in row] for row in model.transition(3)]
    checked = 0
    for row, seen in enumerate(partial_counts(sums).tolist()):
        counts = list(map(float, seen))
        for a in range(4):
            allowed = [max(x / y for x, y in zip(p[a], p[b], strict=True)) * (seen[b] + 1) for b in range(4)]
            counts[a] = max(seen[a], min(allowed))
        wanted = sum((x * x - x) * seen_a for x, seen_a in zip(q, seen, strict=True)) + sum(
            max(x * x - x, 0) * (more - seen_a) for x, more, seen_a in zip(q, counts, seen, strict=True)
        )
        if wanted / 20_000**2 > estimates.least_variance[row] * (1 - 1e-9):
            assert estimates.least_variance[row] == pytest.approx(wanted / 20_000**2, rel=1e-9)
            checked += 1
    assert checked > 40


def test_many_reports_are_left_alone(rng):
    """Where one report changes the estimate by less than a tenth of its error, that is the unbiased estimate's root."""
    model = weak_model("7/256")
    sums = 200 * collections(model, [14_000, 4_000, 1_500, 500], 20, rng)
    estimates = estimate_supports(sums, Respondents(4_000_000, model))
    errors = estimates.std_error(population=False)
    assert (FEW_REPORTS * errors > 172 / 4_000_000).all()
    assert np.array_equal(errors, np.sqrt(estimates.variance))


def test_transactions_themselves_have_no_error():
    """Without randomization nothing is hidden: the error at hand is 0, however few transactions hold the itemset."""
    sums = np.array([[20, 3, 1], [20, 0, 0]])
    assert estimate_supports(sums, Respondents(20, SupportModel.plain())).std_error(population=False).tolist() == [0, 0]


def test_rules_have_the_errors_of_their_itemsets():
    """Of a rule that few reports show, the standard error of its support is the one in the table of itemsets."""
    plan = planned(6, 4, Breach("1%", "99%"), reports=2_000, itemset_size=3, kind="independent")
    baskets = Baskets.from_sets([[0, 1, 2]] * 300 + [[0, 1]] * 500 + [[3]] * 1_200, plan.catalogue)
    done = simulate(baskets, plan, 0.1, seed=3)
    error = dict(zip(done.itemsets["itemsets"], done.itemsets["std_error"], strict=True))
    rules = association_rules(done.itemsets, 0.1)
    assert (rules["antecedents"].map(len) + rules["consequents"].map(len) == 3).any()
    for row in rules.to_dict("records"):
        assert row["support_std_error"] == pytest.approx(error[row["antecedents"] | row["consequents"]], rel=1e-9)
    asked = ask(done.reports, rules=[(["0", "1"], ["2"])]).rules
    assert asked["support_std_error"][0] == pytest.approx(error[frozenset("012")], rel=1e-9)
