"""Rounds: variances at given supports, the size distribution of one collection, collections of several plans."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from naive import planned, reports_of

import assocpriv as ap
from assocpriv.estimation.size_distribution import SizeDistribution
from assocpriv.estimation.supports import Respondents, estimate_supports
from assocpriv.files.mined_tables import mining_facts
from assocpriv.plans.baskets.operator import SupportModel
from assocpriv.plans.baskets.report_type import SizesView
from assocpriv.server.baskets.counting import LocalBackend
from assocpriv.server.baskets.rounds import FirstCounts, Rounds, estimate_jointly

WEAK = ap.Guarantee("0.1%", "90%")
N_ITEMS, M = 200, 4


def collection(count: int, sizes: str | None = "5%", share: float = 0.3) -> tuple[ap.Reports, float]:
    """Return reports of baskets of two items, and of a share of twelve, all drawn from 200 alike, and the mean size."""
    rng = np.random.default_rng(1)
    held = np.where(rng.random(count) < share, 12, 2)
    chosen = rng.random((count, N_ITEMS)).argsort(axis=1).argsort(axis=1) < held[:, None]
    return reports_of(chosen, planned(N_ITEMS, M, WEAK, reports=count, itemset_size=2, sizes=sizes), 2), held.mean()


def size_distribution(reports: ap.Reports) -> tuple[SizeDistribution, int]:
    """Return the size distribution of a collection, and the number of size reports."""
    rounds = Rounds.from_backends([LocalBackend.from_reports(reports)], 2)
    return rounds.rounds[0].sizes, rounds.size_reports


@pytest.mark.parametrize("k", [1, 2, 3])
def test_variances_are_those_of_the_operator(k: int) -> None:
    """With known shares of transactions that hold 0 … k of the items, the variance is E Z² − (E Z)² of one report."""
    plan = planned(30, 5, ap.Guarantee("5%", "50%"))
    reports = ap.Reports(plan, np.zeros((100, plan.report_bytes), dtype=np.uint8))
    (round_,) = Rounds.from_backends([LocalBackend.from_reports(reports)], 3).rounds
    shares = np.arange(1, k + 2) / sum(range(1, k + 2))  # of those that hold 0 … k, any of them alike
    sums = np.array([[sum(shares[held] * comb(held, j) for held in range(k + 1)) for j in range(k + 1)]])
    row, transition = (np.array(each, dtype=np.float64) for each in (round_.model.row(k), round_.model.transition(k)))
    seen = transition @ shares
    assert row @ seen == pytest.approx(shares[k])
    assert round_.variances(sums)[0] == pytest.approx((row**2 @ seen - shares[k] ** 2) / 100, rel=1e-12)


def test_one_collection_estimates_the_size_distribution() -> None:
    """The mean size is estimated, and so are supports of whole baskets; those of truncated baskets are far below."""
    reports, mean = collection(40_000)
    sizes, size_reports = size_distribution(reports)
    assert 1_500 < size_reports < 2_500
    assert abs(sizes.mean / mean - 1) < 0.1
    table = ap.mine(reports, top=100, max_itemset=1)
    facts, truth = mining_facts(table), mean / N_ITEMS
    assert facts.whole
    _, error = facts.sizes.truncation["1"]
    assert abs(table["support"].mean() / truth - 1) < 3 * error + 0.02
    assert table["sampled"].mean() < 0.75 * truth


def test_without_size_reports_supports_refer_to_truncated_baskets() -> None:
    """Without size reports, or with size classes that begin beyond M, supports refer to truncated baskets."""
    for sizes in (None, "5%"):
        reports, _ = collection(6_000, sizes)
        plan = reports.plan.require_type(ap.Plan)
        assert Rounds.from_backends([LocalBackend.from_reports(reports)], 2).whole == (sizes is not None)
    view = SizesView(tuple(bound + 1 for bound in plan.size_bounds))
    assert replace(plan, report_types=(plan.items, replace(plan.report_types[1], view=view))).sizes is None
    no_sizes = ap.Reports(reports.plan, reports.packed[reports.packed[:, 0] == 0])
    sizes, size_reports = size_distribution(no_sizes)
    assert size_reports == 0
    assert sizes.sizes.max() == M
    assert sizes.shares @ (sizes.sizes == M) == pytest.approx(0.3, abs=0.1)


def test_covariances_are_those_of_the_reports() -> None:
    """Variances equal those of supports, for the population; padding items, which are nested, are correlated."""
    reports, _ = collection(4000, share=0.6)
    source, padding_items = LocalBackend.from_reports(reports).open(), np.arange(N_ITEMS, N_ITEMS + M)
    first = FirstCounts.from_counter(source[0], N_ITEMS, M, pairs=True)
    supports, covariances = estimate_jointly(first.padding_items, source[0].n_reports, source[1])
    n = source[0].n_reports
    estimates = estimate_supports(source[0].count_sums(padding_items[:, None]), Respondents(n, source[1]))
    assert supports == pytest.approx(estimates.support.astype(np.float64))
    variances = estimates.population_variance.astype(np.float64)
    assert np.diag(covariances) == pytest.approx(variances, rel=2 / n)  # of n reports, and one more
    assert covariances == pytest.approx(covariances.T)
    assert np.linalg.eigvalsh(covariances).min() > 0
    true = np.array([0.4, 0.4, 0, 0])  # two items are fewer than four and than three, not than two
    assert (np.abs(supports - true) < 5 * np.sqrt(np.diag(covariances))).all()


@pytest.mark.parametrize("count", [1, 2, 1000])
def test_reports_that_are_all_alike_have_errors(count: int) -> None:
    """Without spread in the counts, as with one report, an error is at least that of one report over √count."""
    plan = planned(N_ITEMS, M, WEAK, sizes=None)
    model = SupportModel(plan.items.operator)
    for shown in (0, count):
        supports, covariances = estimate_jointly(np.full((M, M), shown), count, model)
        assert np.ptp(supports) == 0
        chance, slope = float(model.transition(1)[1][0]), float(model.row(1)[1] - model.row(1)[0])
        least = slope**2 * chance * (1 - chance) / (count * (count + 1))
        assert np.linalg.eigvalsh(covariances).min() > 0.999 * least
        assert (covariances == covariances.T).all()


def test_a_plan_of_single_items_estimates_the_size_distribution() -> None:
    """Pairs of padding items are counted where the generator supports no pairs; they give covariances (ε = 8)."""
    plan, rng = ap.plan(400, ap.Guarantee.from_epsilon(8), reports=20_000, itemset_size=1), np.random.default_rng(5)
    baskets = [rng.choice(400, size=1 + place % 5, replace=False).astype(str) for place in range(20_000)]
    (round_,) = Rounds.from_backends([LocalBackend.from_reports(reports_of(baskets, plan))], 1).rounds
    assert not round_.first.small.any()
    assert np.triu(round_.first.padding_items, 1).sum() > 0
    assert round_.sizes.mean == pytest.approx(3, abs=0.1)
