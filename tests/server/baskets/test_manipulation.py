"""Manipulated reports: their exact effect on estimates, and the tests that detect them.

For honest people the tests keep the stated false-alarm rate, whatever the baskets; they detect simulated attacks.
"""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import comb

import naive
import numpy as np
import pytest
from naive import planned, reports_of
from scipy.stats import binom

from assocpriv.estimation.manipulation_bounds import influence_of, log_share_probability, max_targets
from assocpriv.estimation.supports import Respondents, estimate_supports
from assocpriv.files.report_files import Reports
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import EstimateError
from assocpriv.planning.detection_limits import forecast
from assocpriv.plans.baskets.operator import FixedSizeOperator, SupportModel
from assocpriv.records.baskets import Baskets
from assocpriv.server.baskets import manipulation
from assocpriv.server.baskets.counting import Responses
from assocpriv.server.baskets.manipulation import (
    check_manipulation,
    count_items_shown,
    count_repeats,
    max_report_probability,
    partial_support_rows,
    total_contributions,
    weight_counts,
)
from assocpriv.show import audit_views, text_renderer
from assocpriv.show.plan_views import plan as shown_plan
from assocpriv.simulation.enumeration import SeededEntropy
from bench.accuracy.manipulation import manipulated_reports

MEMORY = 1 << 24


@pytest.fixture(autouse=True)
def _wrap_around():
    """Ignore warnings of numpy without compilation: unsigned integers are meant to wrap around."""
    with np.errstate(over="ignore"):
        yield


NONE = naive.small_plan("none", 3, 2, 2, weight_bits=6, shares=(3, 1, 9))
PLANS = {
    "none": NONE,
    "none, rho 3/4": naive.small_plan("none", 3, 2, 1, insert=(3, 2), weight_bits=6, shares=(5, 2, 3)),
    "bch": naive.small_plan("bch", 4, 2, 2, weight_bits=6, shares=(3, 1, 9)),
    "bch, r=2": naive.small_plan("bch", 3, 1, 1, insert=(1, 2), weight_bits=6),
    "reed-solomon, r=2": naive.small_plan("reed-solomon", 3, 1, 1, insert=(3, 2), weight_bits=6),
    "fixed, 2 of 5": naive.fixed_plan(3, 2, 2, 2, shares=(3, 1, 4)),
    "fixed, 3 of 7": naive.fixed_plan(4, 3, 3, 3, shares=(1, 5, 2, 9)),
}


@pytest.fixture(params=PLANS)
def plan(request):
    """A plan with each code and operator."""
    return PLANS[request.param]


def baskets_of(plan):
    """Return all baskets, or for larger catalogues those of the first three items."""
    items = range(min(plan.n_items, 3))
    return [frozenset(t) for size in range(len(items) + 1) for t in combinations(items, size)]


def every_report(plan):
    """Return every report that a plan allows."""
    asked, is_fixed = plan.items, isinstance(plan.items.operator, FixedSizeOperator)
    every = comb(asked.padded_items, asked.fixed.report_size) if is_fixed else 1 << asked.report_bits
    return [asked.form.encode(number) for number in range(every)]


def shown_by(plan, basket, items=None):
    """Return the probability of each report of a basket, and how many items, or of some items, the report shows."""
    distribution = naive.client_distribution(plan, frozenset(basket))
    shown = {report: plan.items.form.items(report) for report in distribution}
    return [(p, len(shown[report] if items is None else shown[report] & items)) for report, p in distribution.items()]


# ---- influence


def estimated(plan, itemset, reports):
    """Return the released estimator's support of an itemset as a fraction."""
    hits = [len(itemset & plan.items.form.items(report)) for report in reports]
    sums = np.array([[sum(comb(hit, j) for hit in hits) for j in range(len(itemset) + 1)]])
    return estimate_supports(sums, Respondents.from_plan(plan, len(reports)), exact=True).support[0]


def test_one_report_moves_an_estimate_as_far_as_stated(plan):
    """Over all ways to replace or add one report, the released estimator moves exactly as far as the formula states."""
    every = every_report(plan)
    others = [every[0], every[-1]]
    for k in range(1, plan.items.itemset_size + 1):
        itemset = frozenset(range(k))
        influence = influence_of(plan, k)
        shown = {len(plan.items.form.items(report) & itemset): report for report in every}.values()
        after = [estimated(plan, itemset, [*others, report]) for report in shown]
        assert max(after) - min(after) == influence.one_report(3)
        assert influence.largest > 1 >= 0 >= influence.least or plan.n_items == k
        before = estimated(plan, itemset, others)
        assert influence.share_of_reports(Fraction(1, 3), before) == (min(after) - before, max(after) - before)
        assert max(after) - min(after) != influence.largest / 3  # a report without the items moves it, too


def test_no_influence_without_an_estimate():
    """No influence is stated for itemsets above M items, or without information from the operator."""
    assert influence_of(PLANS["bch, r=2"], 2) is None
    blind = naive.small_plan("none", 3, 2, 2, weight_bits=6, shares=(1, 1, 1))
    assert [influence_of(blind, k) for k in (1, 2)] == [None, None]
    shown = shown_plan(forecast(blind, 10))
    assert "Manipulated reports" not in "\n".join(text_renderer.lines(shown))
    assert shown.content["manipulation_limits"]["itemsets"] == {"1": None, "2": None}


def test_one_report_shows_the_stated_number_of_targets(plan):
    """The largest number of real items in a report is as stated: with a code all of them, by the seed 0."""
    most = max(len(plan.items.form.items(report) & frozenset(range(plan.n_items))) for report in every_report(plan))
    assert most == max_targets(plan)
    if plan.items.generator.kind != "none":
        assert plan.items.form.items(plan.items.form.encode(0)) == frozenset(range(plan.items.padded_items))


def test_a_person_of_several_reports_moves_several_times_as_far():
    """The limit of one person is that of all reports of this person."""
    once = PLANS["none"]
    plan = replace(once, reports_per_person=3)
    shown = shown_plan(forecast(plan, 10))
    assert shown.content["manipulation_limits"]["itemsets"]["2"]["one_person"] == float(
        3 * influence_of(once, 2).one_report(10)
    )
    assert "(all reports of one person: " in "\n".join(text_renderer.lines(shown))


# ---- exact limits of honest reports


def test_the_most_probable_report(plan):
    """No basket gives any report a larger probability than stated, and some basket attains it."""
    distributions = [naive.client_distribution(plan, frozenset(basket)) for basket in baskets_of(plan)]
    assert max(max(exact.values()) for exact in distributions) == max_report_probability(plan.items)


def test_terms_of_partial_supports(plan):
    """For every basket a report's term in ŝ_l has the mean [l], and variance and shortfall within the stated bounds."""
    for k in range(1, plan.items.itemset_size + 1):
        itemset, rows = frozenset(range(k)), partial_support_rows(plan.items.operator, k)
        seen = [[] for _ in rows]
        for basket in baskets_of(plan):
            if len(basket) > plan.items.transaction_size:
                continue
            exact = shown_by(plan, basket, itemset)
            for held, row in enumerate(rows):
                mean = sum(p * row[shown] for p, shown in exact)
                assert mean == int(len(itemset & basket) == held)
                variance = sum(p * row[shown] ** 2 for p, shown in exact) - mean**2
                seen[held].append((float(variance), float(mean - min(row[shown] for _, shown in exact))))
        for held, row in enumerate(rows):
            worst = manipulation._worst_case(plan.items.operator, row, held)
            assert max(variance for variance, _ in seen[held]) == pytest.approx(worst[0], rel=1e-12)
            assert max(depth for _, depth in seen[held]) <= worst[1] * (1 + 1e-12)


TOTALS = {
    "none": (naive.small_plan("none", 4, 2, 2, weight_bits=6, shares=(3, 1, 9)), True),
    "none, rho 3/4": (naive.small_plan("none", 3, 2, 2, insert=(3, 2), weight_bits=6, shares=(5, 2, 3)), True),
    "bch, pairs too few": (naive.small_plan("bch", 10, 2, 1, weight_bits=6, shares=(3, 1, 9)), False),
    "bch": (naive.small_plan("bch", 10, 2, 2, weight_bits=6, shares=(3, 1, 9)), False),
    "reed-solomon": (naive.small_plan("reed-solomon", 3, 1, 1, insert=(3, 2), weight_bits=6), False),
}


@pytest.mark.parametrize("name", TOTALS)
def test_totals(name):
    """All baskets have the mean total C(M, k); its variance is the bound if the distribution is known, or below it."""
    plan, known = TOTALS[name]
    for k in range(1, plan.items.itemset_size + 1):
        values, bound = total_contributions(plan.items, k)
        for basket in [frozenset(), frozenset({0}), frozenset(range(plan.items.transaction_size))]:
            exact = [(float(p), shown) for p, shown in shown_by(plan, basket)]
            mean = sum(p * values[shown] for p, shown in exact)
            assert mean == pytest.approx(comb(plan.items.transaction_size, k), rel=1e-9)
            variance = sum(p * (values[shown] - mean) ** 2 for p, shown in exact)
            enough = known or (name == "bch" and k == 1) or plan.items.generator.independent_items(
                plan.items.independent.insert_bits) >= plan.items.padded_items  # fmt: skip
            if enough:
                assert variance == pytest.approx(bound, rel=1e-9)
            else:
                assert variance <= bound * (1 + 1e-9)


# ---- the inequalities


@pytest.mark.parametrize(("n", "p"), [(10, 0.5), (200, 0.02), (1000, 0.3)])
def test_bounds_are_above_the_tails(n, p):
    """Both inequalities lie above the exact binomial tails, and near enough to be useful."""
    useful = {"bernstein": 0, "chernoff": 0}
    for count in range(int(n * p) + 1, min(n, int(n * p + 8 * math.sqrt(n * p))) + 1):
        exact = math.log(binom.sf(count - 1, n, p))
        bernstein = manipulation.bernstein(count / n - p, p * (1 - p), 1 - p, n)
        chernoff = manipulation.log_tail_bound(count, n * p)
        assert exact <= min(bernstein, chernoff) + 1e-12
        useful["bernstein"] += bernstein < 0.6 * exact < -6
        useful["chernoff"] += chernoff < 0.6 * exact < -6
    assert all(useful.values()) or n == 10
    assert manipulation.bernstein(-0.1, 1.0, 1.0, n) == manipulation.log_tail_bound(1, n * p) == 0


def test_copies_are_bounded():
    """Two or three equal reports among three are no more probable than stated, whatever the three baskets."""
    plan = PLANS["fixed, 2 of 5"]
    distributions = [naive.client_distribution(plan, frozenset(basket)) for basket in ([0, 1], [2], [])]
    every = sorted({report for exact in distributions for report in exact})
    for chosen in product(distributions, repeat=3):
        equal = Counter()
        for reports in product(every, repeat=3):
            p = math.prod(exact[report] for exact, report in zip(chosen, reports, strict=True))
            equal[max(Counter(reports).values())] += p
        assert math.log(equal[3]) <= manipulation.log_copies_probability(plan.items, 3, 3) < 0
        assert math.log(equal[2] + equal[3]) <= max(0.0, manipulation.log_copies_probability(plan.items, 3, 2))
    assert manipulation.log_copies_probability(plan.items, 3, 1) == 0


# ---- counting


@pytest.mark.parametrize("n_items", [1, 2, 3, 7, 8, 9, 65])
@pytest.mark.parametrize("n_reports", [1, 63, 64, 65, 1000])
def test_items_shown(rng, n_items, n_reports):
    """Adding bits of many reports at once counts the items of each report."""
    plan = naive.small_plan("none", n_items, 1, 1)
    bits = rng.random((n_reports, plan.items.padded_items)) < rng.random()
    packed = np.packbits(bits, axis=1, bitorder="little")
    rows = naive.report_rows(packed, plan.items, np.arange(plan.items.padded_items))
    assert np.array_equal(count_items_shown(rows, n_reports), bits.sum(axis=1))


def test_weights_are_counted(plan):
    """The histogram of shown items, padding items included, equals that of reading the reports one by one."""
    reports = reports_of([(0,), (), (0, 1)] * 3000, plan)
    rows, often = np.unique(reports.packed, axis=0, return_counts=True)
    shown = [len(plan.items.form.items(row.tobytes())) for row in rows]
    wanted = np.bincount(shown, often, plan.items.padded_items + 1)
    assert weight_counts(Responses(reports, 0), 1 << 14).tolist() == wanted.tolist()


@pytest.mark.parametrize("n_items", [9, 30, 90])
@pytest.mark.parametrize("memory", [MEMORY, 20_000])
def test_repeats_are_counted(rng, n_items, memory):
    """Repeats and copies equal those of a Counter, for reports of any length and in several parts."""
    plan = naive.small_plan("none", n_items, 2, 1)
    distinct = rng.integers(0, 256, (700, plan.report_bytes), dtype=np.uint8)
    distinct[:, -1] &= (1 << (plan.items.report_bits - 1) % 8 + 1) - 1
    packed = distinct[rng.integers(0, 700, 2000)]
    seen = Counter(row.tobytes() for row in packed)
    assert count_repeats(Responses(Reports(plan, packed), 0), memory) == (2000 - len(seen), max(seen.values()))


# ---- false-alarm rate for honest people


N = 20_000
# K = 2, r = 1; K = 3 with the exact variance of pairs; no code; short reports of a fixed size
LARGE = {
    "bch": naive.small_plan("bch", 40, 3, 2, shares=(1, 1, 1, 40)),
    "reed-solomon": naive.small_plan("reed-solomon", 24, 3, 3, insert=(3, 3), shares=(2, 1, 3, 60)),
    "none": naive.small_plan("none", 30, 3, 2, insert=(1, 3), shares=(1, 1, 4, 60)),
    "fixed-size": naive.fixed_plan(12, 3, 3, 3, shares=(1, 1, 8, 20)),
}
DATA = {
    "all hold the same": lambda n, n_items: [(0, 1, 2)] * n,
    "all hold one item": lambda n, n_items: [(0,)] * n,
    "all baskets are empty": lambda n, n_items: [()] * n,
    "none, one or all": lambda n, n_items: [(), (0,), (0, 1), (0, 1, 2)] * (n // 4),
    "all hold everything": lambda n, n_items: [tuple(range(n_items))] * n,
    "all differ": lambda n, n_items: [
        ((i * i) % n_items, (i * i + 1 + i % 5) % n_items)[: 1 + i % 2] for i in range(n)
    ],
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", LARGE)
def test_honest_people_are_not_flagged(name, data):
    """Extreme collections of honest people, with repeated and truncated baskets, are not flagged."""
    plan = LARGE[name]
    check = check_manipulation(reports_of(DATA[data](N, plan.n_items), plan))
    assert not check.flagged
    assert not flags(check)


@pytest.mark.parametrize("name", LARGE)
def test_false_alarms_are_as_rare_as_stated(name):
    """Of 60 honest collections, flags at a level of 5% are no more than such a rate explains (false alarm 1e-6)."""
    plan = LARGE[name]
    data = [make(200, plan.n_items) for make in DATA.values()]
    checks = [check_manipulation(reports_of(data[seed % len(data)], plan, seed), level=0.05) for seed in range(60)]
    assert binom.sf(sum(check.flagged for check in checks) - 1, 60, 0.05) > 1e-6


def test_wrong_bounds_flag_honest_people(monkeypatch):
    """With deviations counted twice, far more honest collections are flagged, so the test above can fail."""
    right = manipulation.bernstein
    monkeypatch.setattr(manipulation, "bernstein", lambda excess, *rest: right(2 * excess, *rest))
    plan = LARGE["reed-solomon"]
    checks = [check_manipulation(reports_of([()] * 2000, plan, seed), level=0.05) for seed in range(60)]
    assert binom.sf(sum(check.flagged for check in checks) - 1, 60, 0.05) < 1e-6


# ---- detection of simulated attacks


def attacked(plan, shown, share, *, copies=False):
    """Return honest reports of which a share is replaced by manipulated ones, spread over the collection."""
    packed = reports_of(DATA["all differ"](N, plan.n_items), plan).packed
    count = int(share * N)
    packed[:: N // count][:count] = manipulated_reports(plan, shown, 1 if copies else count, entropy=SeededEntropy(9))
    return Reports(plan, packed)


def shows(plan, packed, items):
    """Return which reports show some items, bool (items, reports)."""
    rows = naive.report_rows(packed, plan.items, np.array(items))
    return naive.bits_of(naive.lines_of(rows))[:, : len(packed)].astype(bool)


def flags(check):
    """Return the names of the tests that flag."""
    return {test.name for test in check.tests if test.flagged}


SINGLES, PAIRS, TRIPLES = (f"shares of baskets holding 0 … {k} of {k} items" for k in (1, 2, 3))
ATTACKS = {
    "every item, bch": ("bch", range(40), 0.02, False, "number of items shown"),
    "many items, reed-solomon": ("reed-solomon", range(6), 0.1, False, "number of items shown"),
    "many items, none": ("none", range(10), 0.05, False, "its variance"),
    "copies, bch": ("bch", (3, 4), 0.05, True, "copies of one report"),
    "copies, reed-solomon": ("reed-solomon", (3, 4), 0.001, True, "repeated reports"),
    "copies, none": ("none", (3, 4), 0.1, True, "copies of one report"),
    "copies, fixed-size": ("fixed-size", (3, 4), 0.3, True, "copies of one report"),
    "a pair, fixed-size": ("fixed-size", (3, 4), 0.3, False, PAIRS),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_manipulated_reports_are_found(attack):
    """Each test flags the attack that it is meant for."""
    name, shown, share, copies, expected = ATTACKS[attack]
    check = check_manipulation(attacked(LARGE[name], shown, share, copies=copies))
    assert expected in flags(check)
    assert check.flagged
    text = text_renderer.lines(audit_views.manipulation(audit_views.manipulation_content(check)))
    assert "were probably not made by the plan's clients" in text[0]


def test_each_test_has_its_share_of_the_level():
    """A collection is flagged from the level of its smallest p-value times the number of tests, 2 + 2 + K."""
    reports = attacked(LARGE["reed-solomon"], range(8), 0.03)
    least = min(test.p_value for test in check_manipulation(reports).tests)
    assert 0 < 7 * least < 0.9
    assert check_manipulation(reports, level=7 * least * 1.001).flagged
    assert not check_manipulation(reports, level=7 * least * 0.999).flagged


def test_totals_have_two_sides():
    """Too few items count like too many: the p-value is twice the bound of one side."""
    plan = naive.small_plan("none", 11, 1, 1, shares=(1, 3))
    values, variance = total_contributions(plan.items, 1)
    found = []
    for shown in (2, 10):  # about 6 are expected
        bits = np.zeros((30, plan.items.padded_items), dtype=bool)
        bits[:, :shown] = True
        reports = Reports(plan, np.packbits(bits, axis=1, bitorder="little"))
        (test,) = (test for test in check_manipulation(reports).tests if test.name == "number of items shown")
        excess, bound = abs(values[shown] - 1), np.abs(values - 1).max()
        found.append(test.p_value / math.exp(manipulation.bernstein(excess, variance, bound, 30)))
    assert found == pytest.approx([2, 2])


def test_hidden_items_are_found():
    """Without the reports that show a rare item, its estimated share is negative."""
    plan = LARGE["reed-solomon"]
    packed = reports_of([()] * N, plan).packed
    check = check_manipulation(Reports(plan, packed[~shows(plan, packed, [0])[0]]))
    assert SINGLES in flags(check)
    assert "hold item 0" in next(test.observed for test in check.tests if test.name == SINGLES)


def test_given_triples_are_tested():
    """Triples are tested if given, and the message names one that many manipulated reports show."""
    reports = attacked(naive.fixed_plan(12, 3, 3, 5, shares=(1, 1, 8, 20)), [3, 4, 5], 0.1)
    assert TRIPLES not in {test.name for test in check_manipulation(reports).tests}
    check = check_manipulation(reports, [np.array([[0, 1, 2], [3, 4, 5]])])
    assert TRIPLES in flags(check)
    assert "3, 4, 5" in next(test.observed for test in check.tests if test.name == TRIPLES)


def test_false_baskets_cannot_be_detected():
    """Honestly randomized false baskets move the support as any basket does, and no test flags."""
    plan = LARGE["reed-solomon"]
    baskets = DATA["all differ"](N, plan.n_items)
    baskets[: N // 4] = [(7, 8)] * (N // 4)
    reports = reports_of(baskets, plan)
    assert not check_manipulation(reports).flagged
    row = np.array(SupportModel(plan.items.operator).row(2), dtype=float)
    found = row[shows(plan, reports.packed, [7, 8]).sum(axis=0)].mean()
    truth = sum({7, 8} <= set(basket) for basket in baskets) / N
    assert abs(found - truth) < 4.9 * np.abs(row).max() / math.sqrt(N)


def test_reports_that_look_like_baskets_pass():
    """At ρ = 1/2 reports that always show a pair look like baskets holding it, as the module states."""
    plan = naive.small_plan("bch", 40, 2, 2, shares=(1, 1, 20))
    assert [float(row[2]) for row in partial_support_rows(plan.items.operator, 2)][1] == pytest.approx(0, abs=1e-9)
    honest = reports_of(DATA["all differ"](N, 40), plan).packed
    honest[: N // 100] = manipulated_reports(plan, [3, 4], N // 100, entropy=SeededEntropy(2))
    assert not check_manipulation(Reports(plan, honest)).flagged


# ---- refusals, and the command


def test_refusals():
    """An empty collection, a level out of range and itemsets outside the plan are refused."""
    plan = LARGE["bch"]
    reports = reports_of([(0,)] * 5, plan)
    for level in (0, 1, -0.1, math.nan):
        with pytest.raises(EstimateError, match="level must lie"):
            check_manipulation(reports, level=level)
    with pytest.raises(EstimateError, match="no reports to check"):
        check_manipulation(Reports(plan, reports.packed[:0]))
    for rows in ([[0, 1, 2]], [[1, 0]], [[0, 40]], [[-1, 0]], [[0, 0]], [0, 1]):
        with pytest.raises(EstimateError, match="itemset"):
            check_manipulation(reports, [np.array(rows)])


# ---- report types


@pytest.mark.parametrize(("total", "share"), [(40, Fraction(1, 50)), (25, Fraction(1, 3)), (1, Fraction(1, 2))])
def test_shares_are_tested_by_their_exact_distribution(total, share):
    """The p-value is twice the smaller exact binomial tail, so it is below a level with at most that probability."""
    exact = [comb(total, c) * share**c * (1 - share) ** (total - c) for c in range(total + 1)]
    p_values = [min(Fraction(1), 2 * min(sum(exact[: c + 1]), sum(exact[c:]))) for c in range(total + 1)]
    for count, p in enumerate(p_values):
        assert math.exp(log_share_probability(count, total, share)) == pytest.approx(float(p), rel=1e-9)
    for level in (Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)):
        assert sum(chance for chance, p in zip(exact, p_values, strict=True) if p <= level) <= level


def sizes_collection(count, manipulated, claimed=(), seed=1):
    """Return reports of baskets of 2 or 9 of 30 items, ``manipulated`` of them size responses of the last class.

    A part ``claimed`` of the honest size responses is replaced by such responses.
    """
    plan = planned(30, 3, Guarantee("5%", "50%"), reports=count, itemset_size=2, sizes="5%")
    rng = np.random.default_rng(seed)
    sizes = np.where(rng.random(count) < 0.4, 9, 2)
    items = np.concatenate([np.sort(rng.choice(30, size, replace=False)) for size in sizes])
    packed = reports_of(Baskets(plan.catalogue, np.append(0, np.cumsum(sizes)), items), plan, seed + 1).packed
    last = plan.pack_report(1, plan.sizes.form.encode(plan.sizes.n_items - 1))
    added = np.tile(np.frombuffer(last, np.uint8), (manipulated, 1))
    packed[np.flatnonzero(packed[:, 0] == 1)[: len(claimed)]] = np.frombuffer(last, np.uint8)
    return Reports(plan, np.concatenate([packed[: count - manipulated], added]))


def test_manipulated_sizes_are_detected():
    """Honest people are not flagged in 20 collections (probability below .001 each); manipulated responses are.

    Added responses show in the shares of the report types; replaced ones only in the comparison with padding items.
    """
    for seed in range(20):
        assert not flags(check_manipulation(sizes_collection(4000, 0, seed=10 * seed)))
    assert {"report type 0, share", "report type 1, share"} <= flags(check_manipulation(sizes_collection(20_000, 400)))
    instead = flags(check_manipulation(sizes_collection(20_000, 0, range(700))))
    assert "sizes against padding items" in instead
    assert "report type 1, share" not in instead
