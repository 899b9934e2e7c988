"""Crafted reports: what liars can do to estimates, exactly; and the tests for such reports.

These are never wrong about honest people but for the stated rate, whatever their baskets, and right about planted
attacks.
"""

import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import comb

import naive
import numpy as np
import pytest
from click.testing import CliRunner
from naive import planned, reports_of
from scipy.stats import binom

from assocpriv.cli.main import main
from assocpriv.client.baskets import Randomizer
from assocpriv.files.reports import Reports
from assocpriv.planning.discovery import foresee
from assocpriv.plans.operator import FixedSizeOperator
from assocpriv.plans.transition import SupportModel
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import EstimateError
from assocpriv.records.baskets import Baskets
from assocpriv.server import crafted as liars
from assocpriv.server.bitmaps import report_rows
from assocpriv.server.counting import Answers
from assocpriv.server.crafted import (
    check_reports,
    influence_of,
    items_shown,
    likeliest_report,
    log_share_chance,
    most_targets,
    partial_support_rows,
    repeated_reports,
    total_law,
    weight_counts,
)
from assocpriv.server.supports import Respondents, estimate_supports
from assocpriv.show import audits, text
from assocpriv.show.plans import plan as shown_plan
from assocpriv.simulation.enumeration import SeededEntropy, distribution
from bench.accuracy.attacks import crafted_reports

MEMORY = 1 << 24


@pytest.fixture(autouse=True)
def _wrap_around():
    """Without compilation numpy warns where unsigned integers wrap around, as they are meant to."""
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
    """One plan of each kind."""
    return PLANS[request.param]


def is_fixed(plan):
    """Tell whether all answers about items show as many of them."""
    return isinstance(plan.items.operator, FixedSizeOperator)


def law_of(plan, basket):
    """Return the exact law of one basket's report, from the shipping client."""
    randomizer = Randomizer(plan)
    return distribution(lambda entropy: randomizer.randomize(sorted(basket), entropy=entropy))


def baskets_of(plan):
    """Return all baskets, or of larger catalogues those of three items."""
    items = range(min(plan.n_items, 3))
    return [frozenset(t) for size in range(len(items) + 1) for t in combinations(items, size)]


def every_report(plan):
    """Return every report that a plan knows."""
    asked = plan.items
    every = comb(asked.padded_items, asked.fixed.report_size) if is_fixed(plan) else 1 << asked.report_bits
    return [asked.form.encode(number) for number in range(every)]


# ---- influence


def estimated(plan, itemset, reports):
    """Return the shipping estimate of an itemset's support as a fraction."""
    k = len(itemset)
    sums = np.zeros((1, k + 1), dtype=np.int64)
    for report in reports:
        hits = len(itemset & plan.items.form.items(report))
        sums[0] += [comb(hits, j) for j in range(k + 1)]
    return estimate_supports(sums, Respondents.of(plan, len(reports)), exact=True).support[0]


def test_one_report_moves_an_estimate_as_far_as_stated(plan):
    """Over all ways to replace or add one report the shipping estimator moves exactly as far as the formula says."""
    every = every_report(plan)
    others = [every[0], every[-1]]
    for k in range(1, plan.items.itemset_size + 1):
        itemset = frozenset(range(k))
        influence = influence_of(plan, k)
        shown = {len(plan.items.form.items(report) & itemset): report for report in every}.values()
        after = [estimated(plan, itemset, [*others, report]) for report in shown]
        assert max(after) - min(after) == influence.of_one(3)
        assert influence.largest > 1 >= 0 >= influence.least or plan.n_items == k
        before = estimated(plan, itemset, others)
        assert max(after) - before == (influence.largest - before) / 3
        assert min(after) - before == (influence.least - before) / 3
        assert max(after) - min(after) != influence.largest / 3  # what hiding adds must not be forgotten


def test_a_share_of_crafted_reports_moves_the_mean_as_stated(plan):
    """Crafting one of two equal people's reports moves the expected estimate by (q − s)/2, down and up."""
    for basket, k in [((0,), 1), ((), 1), ((0, 1), 2)]:
        if k > min(plan.items.itemset_size, len(basket) or 1):
            continue
        itemset = frozenset(range(k))
        law = [(p, estimated(plan, itemset, [report])) for report, p in law_of(plan, basket).items()]
        honest = sum(p * value for p, value in law)
        assert honest == int(itemset <= frozenset(basket))
        influence = influence_of(plan, k)
        moved = [(honest + crafted) / 2 - honest for crafted in (influence.least, influence.largest)]
        assert moved == list(influence.of_share(Fraction(1, 2), honest))


def test_what_cannot_be_estimated_cannot_be_moved():
    """No influence is stated of itemsets larger than a transaction, or of a size that the operator tells nothing of."""
    assert influence_of(PLANS["bch, r=2"], 2) is None
    blind = naive.small_plan("none", 3, 2, 2, weight_bits=6, shares=(1, 1, 1))
    assert [influence_of(blind, k) for k in (1, 2)] == [None, None]
    shown = shown_plan(foresee(blind, 10))
    assert "Fake reports" not in "\n".join(text.lines(shown))
    assert shown.content["influence"]["itemsets"] == {"1": None, "2": None}


def test_one_report_can_show_as_many_targets_as_stated(plan):
    """The most real items that any report shows are what is stated: with a code all of them, by the seed 0."""
    most = max(len(plan.items.form.items(report) & frozenset(range(plan.n_items))) for report in every_report(plan))
    assert most == most_targets(plan)
    if plan.items.generator.kind != "none":
        assert plan.items.form.items(plan.items.form.encode(0)) == frozenset(range(plan.items.padded_items))


def test_a_person_of_several_reports_moves_several_times_as_far():
    """What one person can do is what all reports of this person can."""
    once = PLANS["none"]
    plan = replace(once, reports_per_person=3)
    shown = shown_plan(foresee(plan, 10))
    assert shown.content["influence"]["itemsets"]["2"]["one_person"] == float(3 * influence_of(once, 2).of_one(10))
    assert "(all of one person by" in "\n".join(text.lines(shown))


# ---- crafted reports


def test_crafted_reports_show_what_they_are_made_for(plan):
    """All crafted reports are valid and show the chosen items, and they are not copies of each other."""
    wanted = {0, 1} if not is_fixed(plan) else {1}
    packed = crafted_reports(plan, sorted(wanted), 40, entropy=SeededEntropy(5))
    assert packed.shape == (40, plan.report_bytes)
    assert all(wanted <= plan.items.form.items(row.tobytes()) for row in packed)
    assert len({row.tobytes() for row in packed}) > 1 or plan is PLANS["reed-solomon, r=2"]


# ---- what honest reports cannot do, exactly


def test_the_likeliest_report(plan):
    """No basket gives any report a larger probability than stated, and some basket attains it."""
    laws = [law_of(plan, basket) for basket in baskets_of(plan)]
    assert max(max(law.values()) for law in laws) == likeliest_report(plan.items)


def fitted(plan, basket):
    """Return the items of a padded transaction; the basket is not longer than M."""
    return basket | frozenset(range(plan.n_items, plan.items.padded_items - len(basket)))


def test_parts_in_partial_supports(plan):
    """Over every basket a report's part in ŝ_l has the mean [l], and a variance and depth within what is stated."""
    for k in range(1, plan.items.itemset_size + 1):
        itemset, rows = frozenset(range(k)), partial_support_rows(plan.items.operator, k)
        seen = [[] for _ in rows]
        for basket in baskets_of(plan):
            if len(basket) > plan.items.transaction_size:
                continue
            law = [(p, len(itemset & plan.items.form.items(report))) for report, p in law_of(plan, basket).items()]
            for held, row in enumerate(rows):
                mean = sum(p * row[shown] for p, shown in law)
                assert mean == int(len(itemset & basket) == held)
                variance = sum(p * row[shown] ** 2 for p, shown in law) - mean**2
                seen[held].append((float(variance), float(mean - min(row[shown] for _, shown in law))))
        for held, row in enumerate(rows):
            worst = liars._worst_case(plan.items.operator, row, held)
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
    """All baskets have the total C(M, k) in the mean; its variance is the bound where the law is known, or below it."""
    plan, known = TOTALS[name]
    for k in range(1, plan.items.itemset_size + 1):
        values, bound = total_law(plan.items, k)
        for basket in [frozenset(), frozenset({0}), frozenset(range(plan.items.transaction_size))]:
            law = [(float(p), len(plan.items.form.items(report))) for report, p in law_of(plan, basket).items()]
            mean = sum(p * values[shown] for p, shown in law)
            assert mean == pytest.approx(comb(plan.items.transaction_size, k), rel=1e-9)
            variance = sum(p * (values[shown] - mean) ** 2 for p, shown in law)
            enough = known or (name == "bch" and k == 1) or plan.items.generator.independent_items(
                plan.items.independent.insert_bits) >= plan.items.padded_items  # fmt: skip
            if enough:
                assert variance == pytest.approx(bound, rel=1e-9)
            else:
                assert variance <= bound * (1 + 1e-9)


# ---- the inequalities


@pytest.mark.parametrize(("n", "p"), [(10, 0.5), (200, 0.02), (1000, 0.3)])
def test_bounds_are_above_the_tails(n, p):
    """Both inequalities lie above the exact binomial tails, and near enough to be of use."""
    useful = {"bernstein": 0, "chernoff": 0}
    for count in range(int(n * p) + 1, min(n, int(n * p + 8 * math.sqrt(n * p))) + 1):
        exact = math.log(binom.sf(count - 1, n, p))
        bernstein = liars._bernstein(count / n - p, p * (1 - p), 1 - p, n)
        chernoff = liars.log_tail(count, n * p)
        assert exact <= min(bernstein, chernoff) + 1e-12
        useful["bernstein"] += bernstein < 0.6 * exact < -6
        useful["chernoff"] += chernoff < 0.6 * exact < -6
    assert all(useful.values()) or n == 10
    assert liars._bernstein(-0.1, 1.0, 1.0, n) == liars.log_tail(1, n * p) == 0


def test_copies_are_bounded():
    """Over all triples of reports two or three equal ones are no likelier than stated, whatever the three baskets."""
    plan = PLANS["fixed, 2 of 5"]
    laws = [law_of(plan, basket) for basket in ([0, 1], [2], [])]
    every = sorted({report for law in laws for report in law})
    for chosen in product(laws, repeat=3):
        chances = Counter()
        for reports in product(every, repeat=3):
            p = math.prod(law[report] for law, report in zip(chosen, reports, strict=True))
            chances[max(Counter(reports).values())] += p
        assert math.log(chances[3]) <= liars.log_copies_chance(plan.items, 3, 3) < 0
        assert math.log(chances[2] + chances[3]) <= max(0.0, liars.log_copies_chance(plan.items, 3, 2))
    assert liars.log_copies_chance(plan.items, 3, 1) == 0


# ---- counting


@pytest.mark.parametrize("n_items", [1, 2, 3, 7, 8, 9, 65])
@pytest.mark.parametrize("n_reports", [1, 63, 64, 65, 1000])
def test_items_shown(rng, n_items, n_reports):
    """Adding bits of many reports at once counts what each report shows."""
    plan = naive.small_plan("none", n_items, 1, 1)
    bits = rng.random((n_reports, plan.items.padded_items)) < rng.random()
    packed = np.packbits(bits, axis=1, bitorder="little")
    rows = report_rows(packed, plan.items, np.arange(plan.items.padded_items))
    assert np.array_equal(items_shown(rows, n_reports), bits.sum(axis=1))


def test_weights_are_counted(plan):
    """The histogram of items shown, dummies included, is that of the reports one by one, part by part."""
    reports = reports_of([(0,), (), (0, 1)] * 3000, plan)
    counts = weight_counts(Answers(reports, 0), 1 << 14)
    seen = Counter()
    for report, number in Counter(row.tobytes() for row in reports.packed).items():
        seen[len(plan.items.form.items(report))] += number
    assert counts.tolist() == [seen[w] for w in range(plan.items.padded_items + 1)]


@pytest.mark.parametrize("n_items", [9, 30, 90])
@pytest.mark.parametrize("memory", [MEMORY, 20_000])
def test_repeats_are_counted(rng, n_items, memory):
    """Repeated reports and copies are those of a counter, for reports of any length and in several parts."""
    plan = naive.small_plan("none", n_items, 2, 1)
    distinct = rng.integers(0, 256, (700, plan.report_bytes), dtype=np.uint8)
    distinct[:, -1] &= (1 << (plan.items.report_bits - 1) % 8 + 1) - 1
    packed = distinct[rng.integers(0, 700, 2000)]
    seen = Counter(row.tobytes() for row in packed)
    assert repeated_reports(Answers(Reports(plan, packed), 0), memory) == (2000 - len(seen), max(seen.values()))


# ---- never wrong about honest people but for the stated rate


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
    "nobody holds anything": lambda n, n_items: [()] * n,
    "none, one or all": lambda n, n_items: [(), (0,), (0, 1), (0, 1, 2)] * (n // 4),
    "all hold everything": lambda n, n_items: [tuple(range(n_items))] * n,
    "all differ": lambda n, n_items: [
        ((i * i) % n_items, (i * i + 1 + i % 5) % n_items)[: 1 + i % 2] for i in range(n)
    ],
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", LARGE)
def test_honest_people_are_not_accused(name, data):
    """Collections at the edges of what baskets can be, repeats and sampled ones included, are not flagged."""
    plan = LARGE[name]
    check = check_reports(reports_of(DATA[data](N, plan.n_items), plan))
    assert not check.flagged
    assert all(not test.flagged for test in check.tests)


@pytest.mark.parametrize("name", LARGE)
def test_false_alarms_are_as_rare_as_stated(name):
    """Of 60 honest collections no more are flagged at a level of 5% than such a rate explains, once in a million."""
    plan = LARGE[name]
    data = [make(200, plan.n_items) for make in DATA.values()]
    checks = [check_reports(reports_of(data[seed % len(data)], plan, seed), level=0.05) for seed in range(60)]
    assert binom.sf(sum(check.flagged for check in checks) - 1, 60, 0.05) > 1e-6


def test_wrong_bounds_accuse_honest_people(monkeypatch):
    """The rate above is no accident: with deviations reckoned twice their size, far more honest people are accused."""
    right = liars._bernstein
    monkeypatch.setattr(liars, "_bernstein", lambda excess, *rest: right(2 * excess, *rest))
    plan = LARGE["reed-solomon"]
    checks = [check_reports(reports_of([()] * 2000, plan, seed), level=0.05) for seed in range(60)]
    assert binom.sf(sum(check.flagged for check in checks) - 1, 60, 0.05) < 1e-6


# ---- right about planted attacks


def attacked(plan, shown, share, *, copies=False, data="all differ"):
    """Return honest reports of which a share is replaced by crafted ones, spread over the collection."""
    packed = reports_of(DATA[data](N, plan.n_items), plan).packed
    count = int(share * N)
    crafted = crafted_reports(plan, shown, 1 if copies else count, entropy=SeededEntropy(9))
    packed[:: N // count][:count] = crafted
    return Reports(plan, packed)


def shows(plan, packed, items):
    """Return which reports show some items, bool (items, reports)."""
    rows = report_rows(packed, plan.items, np.array(items)).transpose(1, 0, 2).reshape(len(items), -1)
    bits = np.unpackbits(np.ascontiguousarray(rows).view(np.uint8), axis=1, count=len(packed), bitorder="little")
    return bits.astype(bool)


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
def test_crafted_reports_are_found(attack):
    """Each test flags the attack that it is there for."""
    name, shown, share, copies, expected = ATTACKS[attack]
    check = check_reports(attacked(LARGE[name], list(shown), share, copies=copies))
    assert expected in flags(check)
    assert check.flagged
    assert "are hardly honest" in text.lines(audits.crafted(audits.crafted_content(check)))[0]


def test_a_flag_takes_the_tests_share_of_the_level():
    """A collection is flagged from the level on that is its least p-value times the tests planned, 2 + 2 + K."""
    reports = attacked(LARGE["reed-solomon"], list(range(8)), 0.03)
    least = min(test.p_value for test in check_reports(reports).tests)
    assert 0 < 7 * least < 0.9
    assert check_reports(reports, level=7 * least * 1.001).flagged
    assert not check_reports(reports, level=7 * least * 0.999).flagged


def test_totals_have_two_sides():
    """Too few items shown count as too many do: the p-value is twice the bound of one side."""
    plan = naive.small_plan("none", 11, 1, 1, shares=(1, 3))
    values, variance = total_law(plan.items, 1)
    found = []
    for shown in (2, 10):  # about 6 are expected
        bits = np.zeros((30, plan.items.padded_items), dtype=bool)
        bits[:, :shown] = True
        reports = Reports(plan, np.packbits(bits, axis=1, bitorder="little"))
        (test,) = (test for test in check_reports(reports).tests if test.name == "number of items shown")
        excess, bound = abs(values[shown] - 1), np.abs(values - 1).max()
        found.append(test.p_value / math.exp(liars._bernstein(excess, variance, bound, 30)))
    assert found == pytest.approx([2, 2])


def test_hidden_items_are_found():
    """Reports that never show an item that few hold make its share negative."""
    plan = LARGE["reed-solomon"]
    packed = reports_of([()] * N, plan).packed
    check = check_reports(Reports(plan, packed[~shows(plan, packed, [0])[0]]))
    assert SINGLES in flags(check)
    assert "hold item 0" in next(test.said for test in check.tests if test.name == SINGLES)


def test_named_triples_are_tested():
    """Triples are tested where they are named, and one that many crafted reports show is told by name."""
    reports = attacked(naive.fixed_plan(12, 3, 3, 5, shares=(1, 1, 8, 20)), [3, 4, 5], 0.1)
    assert TRIPLES not in {test.name for test in check_reports(reports).tests}
    check = check_reports(reports, [np.array([[0, 1, 2], [3, 4, 5]])])
    assert TRIPLES in flags(check)
    assert "3, 4, 5" in next(test.said for test in check.tests if test.name == TRIPLES)


def test_false_baskets_cannot_be_told():
    """People who randomize a false basket honestly move the support as any people do, and nothing flags."""
    plan = LARGE["reed-solomon"]
    baskets = DATA["all differ"](N, plan.n_items)
    baskets[: N // 4] = [(7, 8)] * (N // 4)
    reports = reports_of(baskets, plan)
    assert not check_reports(reports).flagged
    seen = shows(plan, reports.packed, [7, 8]).sum(axis=0)
    row = SupportModel.of(plan.items.operator).row(2)
    truth = sum({7, 8} <= set(basket) for basket in baskets) / N
    error = 4.9 * math.sqrt(max(float(value**2) for value in row) / N)
    assert abs(sum(float(row[hits]) for hits in seen) / N - truth) < error


def test_what_looks_like_baskets_passes():
    """At ρ = 1/2 reports that always show a pair look like baskets holding it, as the module says."""
    plan = naive.small_plan("bch", 40, 2, 2, shares=(1, 1, 20))
    assert [float(row[2]) for row in partial_support_rows(plan.items.operator, 2)][1] == pytest.approx(0, abs=1e-9)
    honest = reports_of(DATA["all differ"](N, 40), plan).packed
    honest[: N // 100] = crafted_reports(plan, [3, 4], N // 100, entropy=SeededEntropy(2))
    assert not check_reports(Reports(plan, honest)).flagged


# ---- what is refused, and the command


def test_what_is_refused():
    """No reports, a level that is none, and itemsets that are not the plan's are refused."""
    plan = LARGE["bch"]
    reports = reports_of([(0,)] * 5, plan)
    for level in (0, 1, -0.1, math.nan):
        with pytest.raises(EstimateError, match="level must lie"):
            check_reports(reports, level=level)
    with pytest.raises(EstimateError, match="no reports to check"):
        check_reports(Reports(plan, reports.packed[:0]))
    for rows in ([[0, 1, 2]], [[1, 0]], [[0, 40]], [[-1, 0]], [[0, 0]], [0, 1]):
        with pytest.raises(EstimateError, match="itemset"):
            check_reports(reports, [np.array(rows)])


def test_the_command(tmp_path):
    """Inspect tells of crafted reports where it is asked to, and of nothing but reports."""
    attacked(LARGE["fixed-size"], [3, 4], 0.3).write(tmp_path / "r.parquet")
    result = CliRunner().invoke(main, ["inspect", str(tmp_path / "r.parquet"), "--check-crafted", "--json"])
    assert json.loads(result.stdout)["crafted"]["flagged"]
    (tmp_path / "p.json").write_text(LARGE["bch"].canonical_json)
    refused = CliRunner().invoke(main, ["inspect", str(tmp_path / "p.json"), "--check-crafted"])
    assert refused.exit_code == 1
    assert "needs reports" in refused.stderr


# ---- questions


@pytest.mark.parametrize(("total", "share"), [(40, Fraction(1, 50)), (25, Fraction(1, 3)), (1, Fraction(1, 2))])
def test_shares_are_tested_by_their_exact_law(total, share):
    """The p-value is twice the lesser binomial tail, as fractions, so that it is below any level as rarely as that."""
    law = [comb(total, c) * share**c * (1 - share) ** (total - c) for c in range(total + 1)]
    p_values = [min(Fraction(1), 2 * min(sum(law[: c + 1]), sum(law[c:]))) for c in range(total + 1)]
    for count, p in enumerate(p_values):
        assert math.exp(log_share_chance(count, total, share)) == pytest.approx(float(p), rel=1e-9)
    for level in (Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)):
        assert sum(chance for chance, p in zip(law, p_values, strict=True) if p <= level) <= level


def sizes_collection(count, forged, claimed=(), seed=1):
    """Return reports of baskets of 2 or 9 of 30 items; of these ``forged`` more say that they are of the last class.

    Of the honest answers about sizes a part ``claimed`` is replaced by such.
    """
    plan = planned(30, 3, Breach("5%", "50%"), reports=count, itemset_size=2, sizes="5%")
    rng = np.random.default_rng(seed)
    sizes = np.where(rng.random(count) < 0.4, 9, 2)
    items = np.concatenate([np.sort(rng.choice(30, size, replace=False)) for size in sizes])
    packed = reports_of(Baskets(plan.catalogue, np.append(0, np.cumsum(sizes)), items), plan, seed + 1).packed
    last = plan.report_of(1, plan.sizes.form.encode(plan.sizes.n_items - 1))
    lies = np.tile(np.frombuffer(last, np.uint8), (forged, 1))
    packed[np.flatnonzero(packed[:, 0] == 1)[: len(claimed)]] = np.frombuffer(last, np.uint8)
    return Reports(plan, np.concatenate([packed[: count - forged], lies]))


def test_forged_sizes_are_noticed():
    """Honest people are not flagged in 20 collections (each may be with a chance below .001); forged answers are.

    Those beside the honest ones show in the questions' shares; those in place of honest ones, beside the dummies alone.
    """
    for seed in range(20):
        assert not flags(check_reports(sizes_collection(4000, 0, seed=10 * seed)))
    assert {"question 0, share", "question 1, share"} <= flags(check_reports(sizes_collection(20_000, 400)))
    instead = flags(check_reports(sizes_collection(20_000, 0, range(700))))
    assert "sizes beside dummies" in instead
    assert "question 1, share" not in instead
