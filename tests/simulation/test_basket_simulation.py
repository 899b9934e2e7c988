"""Simulations on data with known truth: coverage of intervals, and correct true supports."""

from itertools import combinations

import numpy as np
import pytest
from naive import FALSE_ALARM, frequent_itemsets, planned
from scipy.stats import t

import assocpriv as ap
from assocpriv.estimation.supports import normal_quantile
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import BasketError, EstimateError, PlanError
from assocpriv.planning.basket_planner import make_plan
from assocpriv.records.baskets import Baskets, count_sizes
from assocpriv.simulation.basket_simulation import RawCounter, TrueSupports, simulate
from assocpriv.simulation.synthetic import QuestSettings, generate_quest
from bench.speed.miners import least_count


@pytest.mark.parametrize(
    ("n_baskets", "n_items", "itemset_size", "guarantee"),
    [(20_000, 60, 2, ("5%", "50%")), pytest.param(200_000, 200, 3, ("1%", "80%"), marks=pytest.mark.slow)],
)
def test_intervals_of_selected_itemsets_cover(
    n_baskets: int, n_items: int, itemset_size: int, guarantee: tuple[str, str]
) -> None:
    """93% to 98% of the 95% intervals of selected itemsets contain the support in whole baskets.

    Intervals of half or twice the width do not, nor do those around unbiased estimates within truncated baskets. Runs
    are independent, itemsets within a run are not: Student's t of the runs' shares (false-alarm rate 1e-6 per side).
    """
    baskets = generate_quest(QuestSettings(n_baskets=n_baskets, n_items=n_items, n_patterns=n_items // 2, seed=11))
    sizes = {"sample": count_sizes(baskets), "itemset_size": itemset_size}
    plan = make_plan(baskets.catalogue, Guarantee(*guarantee), reports=n_baskets, **sizes)
    covered = []
    for seed in range(16):
        table = simulate(baskets, plan, seed=seed).itemsets
        rows = table[table["selected"]]
        middle, half = (rows["ci_high"] + rows["ci_low"]) / 2, (rows["ci_high"] - rows["ci_low"]) / 2
        sampled = rows["sampled"], normal_quantile(0.95) * rows["sampled_error"]
        intervals = (middle, half), (middle, half / 2), (middle, 2 * half), sampled
        covered.append([((rows["true_support"] - at).abs() <= reach * (1 + 1e-9)).mean() for at, reach in intervals])
    means, errors = np.mean(covered, axis=0), np.std(covered, axis=0, ddof=1) / np.sqrt(len(covered))
    reach = t.isf(FALSE_ALARM, len(covered) - 1) * errors
    fits = (means + reach >= 0.93) & (means - reach <= 0.98)
    assert fits.tolist() == [True, False, False, False]


def test_true_supports_are_counts_of_raw_baskets() -> None:
    """They are of whole baskets if the plan has a report type about sizes, else of truncated baskets."""
    rng = np.random.default_rng(2)
    sets = [set(rng.choice(12, size=rng.integers(0, 5), replace=False).tolist()) for _ in range(400)]
    baskets = Baskets.from_sets(sets, empty="keep")
    naive = frequent_itemsets(sets, len(baskets.catalogue), 0.05, 3)
    with_sizes, without_sizes = (
        planned(baskets.catalogue, 2, Guarantee("5%", "50%"), reports=400, sizes=sizes) for sizes in ("10%", None)
    )
    whole = simulate(baskets, with_sizes, 0.05, seed=1).truth
    assert whole.frequent(0.05, 3) == {frozenset(map(str, itemset)) for itemset in naive}
    names = [frozenset(map(str, itemset)) for itemset in naive]
    assert whole.supports(names) == pytest.approx([count / len(sets) for count in naive.values()])
    sampled = simulate(baskets, without_sizes, 0.05, seed=1).truth
    at_most_two = np.minimum([len(each) for each in sets], 2)
    for k, held in ((1, at_most_two), (2, at_most_two == 2), (3, np.zeros(1))):
        every = [frozenset(map(str, itemset)) for itemset in combinations(range(12), k)]
        assert sampled.supports(every).sum() == pytest.approx(held.mean())


@pytest.mark.parametrize("n", [25, 100])
def test_an_itemset_at_exactly_the_minimum_support_is_frequent(n: int) -> None:
    """k of n baskets are at least the share k/n, also where 0.07 * 100 is above 7 in floats; so in the bench."""
    sets = [set(range(place, n)) for place in range(n)]  # item k - 1 is in the first k baskets
    counted = Baskets.from_sets(sets)
    counter = RawCounter(counted.offsets, counted.items, len(counted.catalogue))
    truth = TrueSupports(counted.catalogue, counter)
    at = [len(truth.frequent(k / n, 1)) for k in range(1, n + 1)]
    above = [len(truth.frequent((k + 0.5) / n, 1)) for k in range(1, n)]
    assert at == [n - k + 1 for k in range(1, n + 1)]
    assert above == [n - k for k in range(1, n)]
    assert [least_count(f"{100 * k // n}%", n) for k in range(1, n + 1)] == [*range(1, n + 1)]


def test_found_missed_and_false_add_up() -> None:
    """Found and missed itemsets together are the truly frequent ones; false ones are below the minimum support."""
    baskets = generate_quest(QuestSettings(n_baskets=30_000, n_items=60, n_patterns=40, seed=5))
    plan = make_plan(baskets.catalogue, Guarantee("5%", "50%"), sample=count_sizes(baskets), reports=30_000)
    result = simulate(baskets, plan, "4%", seed=9)
    selected, truth = result.itemsets["selected"], result.itemsets["true_support"]
    frequent = result.truth.frequent(0.04, plan.items.itemset_size)
    assert set(result.missed["itemsets"]) == frequent - set(result.itemsets["itemsets"][selected])
    assert result.found_count + result.missed_count == len(frequent)
    assert 0 < (selected & (truth < 0.04)).sum() == result.false_count
    assert (result.missed["true_support"] >= 0.04).all()
    assert result.truncated_baskets == int((baskets.sizes > plan.items.transaction_size).sum())


def test_more_people_than_baskets_are_drawn_from_them() -> None:
    """Baskets are drawn uniformly, so supports differ from the file's by sampling error only."""
    baskets, n = [{"tea", "milk"}] * 30 + [{"rye"}] * 70, 40_000
    plan = planned(["tea", "milk", "rye"], 2, Guarantee("5%", "50%"), reports=n)
    tried = ap.simulate(baskets, plan, "5%", people=n, seed=3)
    assert len(tried.reports) == n
    (true,) = tried.truth.supports([frozenset({"tea", "milk"})])
    assert true != 0.3
    assert abs(true - 0.3) < 4.9 * np.sqrt(0.3 * 0.7 / n)
    assert ap.simulate(baskets, plan, "5%", people=n, seed=3).itemsets.equals(tried.itemsets)
    with pytest.raises(PlanError, match="people must be in 1"):
        ap.simulate(baskets, plan, people=0)


def test_bad_requests_are_refused() -> None:
    """Another catalogue, no baskets and a size beyond the plan are refused."""
    baskets = Baskets.from_sets([["a"], ["b"]])
    plan = planned(baskets.catalogue, 2, Guarantee("5%", "50%"), itemset_size=1, code="bch")
    with pytest.raises(BasketError, match="catalogue"):
        simulate(Baskets.from_sets([["c"]]), plan, 0.5)
    with pytest.raises(EstimateError, match="no reports"):
        simulate(baskets[:0], plan, 0.5)
    with pytest.raises(EstimateError, match="too few items independent"):
        simulate(baskets, plan, 0.5, max_itemset=2)
    with pytest.raises(TypeError, match="seed must be a whole number"):
        ap.simulate(baskets, plan, 0.5, seed="x")
    with pytest.raises(TypeError, match="unexpected keyword argument 'random_state'"):
        ap.simulate(baskets, plan, 0.5, random_state=1)
