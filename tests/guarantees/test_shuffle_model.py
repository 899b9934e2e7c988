"""The central guarantee of shuffled reports against exact multisets, and its numerics against exact arithmetic."""

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, product
from math import comb, exp, lcm, log, pi
from typing import Any

import numpy as np
import pytest
from naive import NO_GUARANTEE, client_distribution, items_plan
from scipy.stats import binom

from assocpriv.guarantees import shuffle_model
from assocpriv.guarantees.amplification import Guarantee, epsilon_from_amplification
from assocpriv.guarantees.shuffle_model import _SLACK, CentralGuarantee, central_guarantee, closed_form, shuffled_delta
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.generator import Generator, bch_generator
from assocpriv.plans.baskets.operator import AnyOperator, FixedSizeOperator, Operator
from assocpriv.plans.baskets.report_type import ReportType

Row = Sequence[Fraction]  # the distribution of one report, by output
GAMMAS = [Fraction(3, 2), Fraction(3), Fraction(9), Fraction(19)]
EPSILON_SHARES = [0.0, 0.1, 0.3, 0.6, 0.9]  # of ln γ


def shuffled(rows: Iterable[Sequence[Any]]) -> dict[tuple[int, ...], Any]:
    """Return the exact distribution of the multiset of one report of each row: counts of each output → probability."""
    multisets: dict[tuple[int, ...], Any] = {}
    for row in rows:
        multisets = multisets or {(0,) * len(row): 1}
        wider: dict[tuple[int, ...], Any] = {}
        for counts, probability in multisets.items():
            for output, chance in enumerate(row):
                more = (*counts[:output], counts[output] + 1, *counts[output + 1 :])
                wider[more] = wider.get(more, 0) + probability * chance
        multisets = wider
    return multisets


def hockey_stick(first: Row, second: Row, others: Sequence[Row], factor: Fraction) -> Fraction:
    """Return Σ (P − factor · Q)_+ of the multisets when one person's row is ``first`` (P) or ``second`` (Q)."""
    p, q = shuffled([first, *others]), shuffled([second, *others])
    return sum((max(p[counts] - factor * q[counts], Fraction(0)) for counts in p), Fraction(0))


def exact_delta(factor: Fraction, gamma: Fraction, reports: int, mass: Fraction) -> Fraction:
    """Return E[(X_1 + … + X_N)_+]/N of the three-point distribution, by summing over all counts."""
    corner = (1 - mass) / (gamma - 1)
    chances, gains = [corner, corner, mass - 2 * corner, 1 - mass], [gamma - factor, 1 - factor * gamma, 1 - factor]
    unit, step = (lcm(*(each.denominator for each in some)) for some in (chances, gains))
    powers = [[int(each * unit) ** n for n in range(reports + 1)] for each in chances]  # fast, as whole numbers
    one, other, neutral = (int(each * step) for each in gains)
    total = 0
    for a, b, c in product(range(reports + 1), repeat=3):
        if a + b + c <= reports and (excess := a * one + b * other + c * neutral) > 0:
            ways = comb(reports, a) * comb(reports - a, b) * comb(reports - a - b, c)
            total += ways * excess * powers[0][a] * powers[1][b] * powers[2][c] * powers[3][reports - a - b - c]
    return Fraction(total, unit**reports * step * reports)


def response(gamma: Fraction, choices: int) -> list[Row]:
    """Return the rows of generalized randomized response: the truth is γ times as likely as each other choice."""
    unit = 1 / (gamma + choices - 1)
    return [[unit * (gamma if x == y else 1) for y in range(choices)] for x in range(choices)]


def factors(gamma: Fraction) -> list[tuple[float, Fraction]]:
    """Return values of ε', each with a fraction of at least e^ε', so that the exact δ is not too large."""
    shares = [share * epsilon_from_amplification(gamma) for share in EPSILON_SHARES]
    return [(value, Fraction(exp(value)) * Fraction(10**12 + 1, 10**12)) for value in shares]


@pytest.mark.parametrize("gamma", GAMMAS, ids=str)
@pytest.mark.parametrize("reports", [1, 2, 3, 7])
def test_the_bound_is_tight_for_a_randomizer_that_reveals_non_clones(gamma: Fraction, reports: int) -> None:
    """If people who are no clones reveal it, the exact hockey-stick divergence equals the bound, in fractions."""
    unit = 1 / (gamma + 1)
    rows: list[Row] = [[gamma * unit, unit, Fraction(0)], [unit, gamma * unit, Fraction(0)]]
    other: Row = [unit, unit, 1 - 2 * unit]
    for value, factor in factors(gamma):
        exact = exact_delta(factor, gamma, reports, 2 * unit)
        assert hockey_stick(rows[0], rows[1], [other] * (reports - 1), factor) == exact
        # with more clones, or one more person, the bound would be too small
        wrong = exact_delta(factor, gamma, reports + 1, 2 * unit)
        assert wrong < exact if reports > 1 or value > 0 else wrong <= exact
        assert exact_delta(factor, gamma, reports, min(3 * unit, Fraction(1))) <= exact


@pytest.mark.parametrize("gamma", GAMMAS, ids=str)
@pytest.mark.parametrize("reports", [1, 2, 5, 12])
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 10), Fraction(1, 2)], ids=str)
def test_the_floats_are_the_exact_sum_rounded_up(gamma: Fraction, reports: int, share: Fraction) -> None:
    """The numerical bound is at least the exact sum; for clones alone it is slightly above it."""
    mass = 2 / (gamma + 1) * (1 - share) + share
    for value in [share * epsilon_from_amplification(gamma) for share in EPSILON_SHARES]:
        exact = exact_delta(Fraction(exp(value)), gamma, reports, mass)
        bound = shuffled_delta(value, gamma, reports, mass)
        assert exact <= bound
        if share == 0:
            assert bound <= float(exact) * (1 + 1e-4)


@pytest.mark.parametrize("gamma", GAMMAS, ids=str)
@pytest.mark.parametrize("reports", [2, 5, 12])
def test_binary_randomized_response_never_exceeds_the_bound(gamma: Fraction, reports: int) -> None:
    """The exact divergence is below the bound for all bits of the others; half the bound's δ would be unsafe."""
    rows, largest = response(gamma, 2), 0.0
    for value, factor in factors(gamma):
        bound = shuffled_delta(value, gamma, reports, 2 / (gamma + 1))
        for ones in range(reports):
            others = [rows[1]] * ones + [rows[0]] * (reports - 1 - ones)
            exact = float(hockey_stick(rows[0], rows[1], others, factor))
            assert exact <= bound
            largest = max(largest, exact / bound)
    assert largest > 0.5


def random_rows(rng: np.random.Generator) -> list[Row]:
    """Return three random rows over 4 outputs, with any γ and λ."""
    ratios = [[Fraction(int(v), 4) for v in rng.integers(4, 37, size=4)] for _ in range(3)]
    weights = [Fraction(int(v)) for v in rng.integers(1, 6, size=4)]
    powers = [[r * w for r, w in zip(row, weights, strict=True)] for row in ratios]
    return [[power / sum(row) for power in row] for row in powers]


def lies(gamma: Fraction, choices: int) -> list[Row]:
    """Return the rows of a response whose true choice is γ times rarer than each other one: a small blanket."""
    unit = 1 / (1 + gamma * (choices - 1))
    return [[unit * (1 if x == y else gamma) for y in range(choices)] for x in range(choices)]


def test_no_distribution_of_ratios_is_worse_than_the_clones() -> None:
    """The bound holds for blankets of any mass, also below 2/(γ+1), and any distribution of the ratios (convexity)."""
    rng, reports, sides = np.random.default_rng(1), 3, set()
    for rows in [random_rows(rng) for _ in range(30)] + [lies(Fraction(9), 4), lies(Fraction(2), 5)]:
        gamma = max(x[y] / z[y] for x, z in product(rows, repeat=2) for y in range(len(x)))
        mass = sum(map(min, zip(*rows, strict=True)))
        sides.add(mass > 2 / (gamma + 1))
        for value, factor in factors(gamma):
            for other in rows[2:]:
                exact = hockey_stick(rows[0], rows[1], [other] * (reports - 1), factor)
                assert exact <= shuffled_delta(value, gamma, reports, 2 / (gamma + 1))
                if mass > 2 / (gamma + 1):
                    assert exact <= shuffled_delta(value, gamma, reports, mass)
    assert sides == {True, False}


M1, M2 = Operator(1, 1, 2, 4, (5, 11)), Operator(2, 1, 1, 5, (3, 5, 19))
CASES: dict[str, tuple[int, AnyOperator, str, int]] = {  # real items, operator, generator, maximum number of people
    "one item of two": (2, M1, "none", 4),
    "two items of two": (2, M2, "none", 3),
    "seeds": (3, M1, "bch", 2),
    "fixed size": (3, FixedSizeOperator(2, 5, 2, (1, 3, 5)), "none", 4),
}


@cache
def plan_of(name: str) -> tuple[Plan, int]:
    """Return a tiny plan, with a guarantee slightly above its amplification, and the maximum number of people."""
    items, operator, kind, people = CASES[name]
    generator = Generator()
    if kind == "bch":
        generator = bch_generator(items + operator.size, operator.insert_bits, operator.size + 1)
    prior = 1 / (1 + operator.amplification * Fraction(1001, 1000))
    guarantee = Guarantee(prior.limit_denominator(10**6) * Fraction(999, 1000), Fraction(1, 2))
    return items_plan(items, operator, generator, guarantee=guarantee), people


@cache
def report_rows(plan: Plan) -> list[Row]:
    """Return the exact output distribution of the client for every basket, over a common list of outputs."""
    baskets = (basket for size in range(plan.n_items + 1) for basket in combinations(range(plan.n_items), size))
    rows = [client_distribution(plan, basket) for basket in baskets]
    outputs = sorted(set().union(*rows))
    return [[row.get(output, Fraction(0)) for output in outputs] for row in rows]


@pytest.mark.parametrize("name", CASES)
def test_shuffled_reports_of_plans_never_exceed_the_bound(name: str) -> None:
    """Exact divergences are below both bounds, for every pair of baskets and all baskets of other people.

    Σ min over all baskets, padded or truncated, is at least the blanket's mass, which is at least 1/γ.
    """
    plan, most = plan_of(name)
    rows, mass, gamma = report_rows(plan), plan.items.operator.blanket, plan.amplification
    assert 1 / gamma <= mass <= sum(map(min, zip(*rows, strict=True)))
    masses = {2 / (gamma + 1), max(mass, 2 / (gamma + 1))}
    scale, distinct = in_integers(rows)
    for reports in range(2, most + 1):
        some = distinct if reports == 2 else distinct[-4:]  # the last baskets are the longest
        for value, factor in factors(gamma)[1:4:2]:
            exact = worst_delta(some, scale, reports, factor)
            assert all(exact <= shuffled_delta(value, gamma, reports, each) for each in masses)


REPORT_TYPES = (  # about one item: γ = 2 and blanket 2/3 for a quarter of people, 9 and 1/5 for the others
    ReportType(1, FixedSizeOperator(1, 2, 1, (1, 2))),
    ReportType(1, FixedSizeOperator(1, 2, 1, (1, 9)), weight=3),
)


@pytest.fixture(scope="module")
def several() -> tuple[Plan, int, list[list[int]]]:
    """Return a plan with two report types, a denominator, and its output distributions as integers over it."""
    plan = Plan(Catalogue.numbered(1), REPORT_TYPES, NO_GUARANTEE)
    return plan, *in_integers(report_rows(plan))


def worst_delta(rows: list[list[int]], scale: int, reports: int, factor: Fraction, own: int = 1) -> Fraction:
    """Return the largest hockey-stick divergence of batches over all baskets; one person sent ``own`` reports."""
    a, b = factor.as_integer_ratio()
    worst = 0
    for others in combinations_with_replacement(rows, reports - own):
        batches = [shuffled([*[row] * own, *others]) for row in rows]
        for p, q in product(batches, repeat=2):
            worst = max(worst, sum(max(b * p[counts] - a * q[counts], 0) for counts in p))
    return Fraction(worst, b * scale**reports)


@pytest.mark.parametrize("reports", [2, 3, 4, 5, 6])
def test_plans_of_several_report_types_never_exceed_the_bound(
    several: tuple[Plan, int, list[list[int]]], reports: int
) -> None:
    """γ is the largest of the report types', λ their mean; the blanket of the best type and colluding people fail."""
    plan, scale, rows = several
    gamma, mass = plan.amplification, plan.blanket
    assert (gamma, mass) == (9, Fraction(19, 60))
    best = max(each.operator.blanket for each in plan.report_types)
    wrong = []
    for value, factor in factors(gamma)[1:4]:
        exact = worst_delta(rows, scale, reports, factor)
        assert exact <= shuffled_delta(value, gamma, reports, mass)
        # if half of the people collude, the reader knows their reports, and N/2 others are left
        wrong.append((exact > shuffled_delta(value, gamma, reports, best),
                      exact > shuffled_delta(value, gamma, 2 * reports, mass)))  # fmt: skip
    of_best, of_colluding = (any(each) for each in zip(*wrong, strict=True))
    assert of_best
    assert of_colluding


@pytest.mark.parametrize("reports", [3, 4, 5])
def test_a_batch_may_hold_all_reports_of_a_person(several: tuple[Plan, int, list[list[int]]], reports: int) -> None:
    """Two reports of a person are two steps: δ'(1 + e^ε') at 2ε' is a bound; the δ of one report is not."""
    plan, scale, rows = several
    refuted = False
    for share in (0.05, 0.2, 0.4):
        each = share * epsilon_from_amplification(plan.amplification)
        step = shuffled_delta(each, plan.amplification, reports, plan.blanket)
        exact = worst_delta(rows, scale, reports, Fraction(exp(2 * each)) * Fraction(10**12 + 1, 10**12), own=2)
        assert exact <= step * (1 + exp(each))
        refuted |= exact > step
    assert refuted


@pytest.mark.parametrize(("gamma", "times"), [(2000, 1), (90, 3)])
def test_a_central_guarantee_holds_if_it_is_proved(gamma: int, times: int) -> None:
    """It holds for the smallest blanket found, not for 5% less; the proved ε is within 2% of the guaranteed one."""
    guarantee, amplification = CentralGuarantee(Fraction(1), Fraction(1, 10**8), 20_000), Fraction(gamma)
    least = guarantee.least_blanket(amplification, times)
    assert least
    assert guarantee.holds(amplification, least, times)
    assert not guarantee.holds(amplification, least * Fraction(95, 100), times)
    each, delta = guarantee.limits_per_report(times)
    assert Fraction(each) * times < 1
    assert Fraction(delta) * sum(Fraction(exp(each)) ** step for step in range(times)) < guarantee.delta
    proved = central_guarantee(amplification, guarantee.people, delta, blanket=least).epsilon * times
    assert 0.98 < proved < 1.001


def in_integers(rows: list[Row]) -> tuple[int, list[list[int]]]:
    """Return distinct rows as integers over a common denominator; outputs with equal columns are merged."""
    columns = Counter(zip(*rows, strict=True))
    merged = zip(*([chance * count for chance in column] for column, count in columns.items()), strict=True)
    distinct = list(dict.fromkeys(merged))
    scale = lcm(*(chance.denominator for row in distinct for chance in row))
    return scale, [[int(chance * scale) for chance in row] for row in distinct]


@pytest.mark.parametrize("operator", [M1, M2, Operator(2, 3, 2, 6, (20, 14, 16))], ids=["m1", "m2", "rho 3/4"])
def test_the_blanket_is_exact_for_reports_with_every_overlap(operator: Operator) -> None:
    """Enumerated over a catalogue of 5: min_t p[t → y] is λ times the probability of report y under pure noise."""
    n, m, rho = 5, operator.size, operator.default_probability
    mass, sizes = operator.blanket, operator.size_distribution
    for shown in range(n + 1):
        noise = rho**shown * (1 - rho) ** (n - shown)
        overlaps = range(max(0, m - n + shown), min(m, shown) + 1)
        least = min(sizes[j] / comb(m, j) * rho ** (shown - j) * (1 - rho) ** (n - m - shown + j) for j in overlaps)
        assert least == mass * noise if len(overlaps) == m + 1 else least >= mass * noise


def test_the_blanket_of_fixed_size_reports_is_exact() -> None:
    """Enumerated: all 10 sets of 2 of 5 items under all 10 transactions of 2 items."""
    operator = FixedSizeOperator(2, 5, 2, (1, 3, 5))
    pairs = list(combinations(range(5), 2))
    weights = {(t, y): operator.keep_weights[len({*t} & {*y})] for t, y in product(pairs, repeat=2)}
    total = sum(weights[pairs[0], y] for y in pairs)
    assert operator.blanket == Fraction(sum(min(weights[t, y] for t in pairs) for y in pairs), total)


def log_choose(n: int, k: int) -> Decimal:
    """Return ln C(n, k) to 10^-11 by Stirling's series, for n, k, n − k ≥ 1000."""

    def log_factorial(x: int) -> Decimal:
        d = Decimal(x)
        return d * d.ln() - d + (2 * Decimal(pi) * d).ln() / 2 + 1 / (12 * d)

    return log_factorial(n) - log_factorial(k) - log_factorial(n - k)


@pytest.mark.parametrize("draws", [4000, 10**6, 10**8, 10**9])
@pytest.mark.parametrize("z", [0.5, 3.0, 6.0, 12.0])
def test_the_binomial_is_more_accurate_than_the_slack(draws: int, z: float) -> None:
    """scipy's point probabilities and tails are within half the slack of Stirling's series and a plain sum."""
    place = int(draws / 2 + z * draws**0.5 / 2)
    with localcontext(prec=50):
        point = float((log_choose(draws, place) - draws * Decimal(2).ln()).exp())
    steps = np.arange(min(int(12 * draws**0.5), draws - place), dtype=np.float64)
    ratios = (draws - place - steps) / (place + 1 + steps)
    tail = point * (1 + np.cumprod(ratios).sum())
    assert binom.pmf(place, draws, 0.5) == pytest.approx(point, rel=_SLACK / 2)
    assert binom.sf(place - 1, draws, 0.5) == pytest.approx(tail, rel=_SLACK / 2)


@pytest.mark.parametrize("lost", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("mass", [Fraction(1, 2), Fraction(3, 5), Fraction(9, 10)], ids=str)
def test_the_bound_includes_the_tails_that_are_cut_off(lost: float, mass: Fraction) -> None:
    """The bound is at least the exact sum, however much of the tails is cut off."""
    gamma, reports = Fraction(3), 40
    exact = exact_delta(Fraction(exp(0.1)), gamma, reports, mass)
    assert exact <= shuffled_delta(0.1, gamma, reports, mass, lost)


@pytest.mark.parametrize(("gamma", "mass"), [(3, Fraction(3, 5)), (9, Fraction(2, 3)), (99, Fraction(9, 10))], ids=str)
@pytest.mark.parametrize("value", [0.1, 0.5])
def test_neutral_reports_are_summed_over(gamma: int, mass: Fraction, value: float) -> None:
    """The bound is the exact sum over all counts of 40 reports, in fractions, or at most 3% more."""
    exact = exact_delta(Fraction(exp(value)), Fraction(gamma), 40, mass)
    assert exact <= shuffled_delta(value, Fraction(gamma), 40, mass, 1e-12) <= exact * Fraction(103, 100)


@pytest.mark.parametrize(("reports", "gamma", "mass"), [(18_000, 478, 0.368), (90_000, 2441, 0.36)])
def test_neutral_reports_of_a_collection_are_summed_over(reports: int, gamma: int, mass: float) -> None:
    """The bound is at most 1% above a sum over all numbers of clones and of neutral reports that are likely."""
    corner, growth = (1 - mass) / (gamma - 1), np.expm1(1.0)
    total = 0.0
    for clones in range(400):
        if (chance := binom.pmf(clones, reports, 2 * corner)) < 1e-20:
            continue
        others, share = reports - clones, (mass - 2 * corner) / (1 - 2 * corner)
        neutral = np.arange(*binom.interval(1 - 1e-15, others, share))
        over = (growth / 2 * clones + growth / (gamma - 1) * (clones + neutral)) / (2 + growth)
        least = np.floor(clones / 2 + over) + 1
        excess = least * binom.pmf(least, clones, 0.5) / 2 - over * binom.sf(least - 1, clones, 0.5)
        total += chance * float(binom.pmf(neutral, others, share) @ excess)
    total *= (gamma - 1) * (2 + growth) / reports
    assert 1 <= shuffled_delta(1.0, Fraction(gamma), reports, Fraction(mass), 1e-12) / total < 1.01


@pytest.mark.parametrize(
    ("reports", "probability"), [(500, 0.1), (500, 0.9), (20, 0.1), (20, 0.9), (10**6, 0.3), (10**9, 0.1)]
)
@pytest.mark.parametrize("lost", [0.3, 1e-3, 1e-20])
def test_each_tail_that_is_cut_off_costs_its_share(reports: int, probability: float, lost: float) -> None:
    """The strata have the mass of all numbers from the first to the last; an end that is cut costs its largest mass."""
    lows, highs, masses, cut = shuffle_model._strata(reports, probability, lost)
    first, last = lows[0], highs[-1]
    assert (lows[1:] == highs[:-1] + 1).all()
    assert cut == lost * (int(first > 0) + int(last < reports))
    below, above = binom.cdf(first - 1, reports - 1, probability), binom.sf(last - 1, reports - 1, probability)
    assert below <= lost
    assert above <= lost or last == reports
    single = binom.pmf(np.arange(first, last + 1), reports, probability)
    np.testing.assert_allclose(
        masses, np.add.reduceat(single, (lows - first).astype(int)), rtol=_SLACK
    )  # in both tails


@pytest.mark.parametrize("mass", [Fraction(1, 10), Fraction(1, 5)], ids=str)
def test_strata_round_up_a_little(monkeypatch: pytest.MonkeyPatch, mass: Fraction) -> None:
    """Strata of several numbers of clones give a larger δ than strata of one number, by at most five percent."""
    delta = shuffled_delta.__wrapped__  # which keeps no results
    for value in (0.0, 0.02, 0.05):
        monkeypatch.setattr(shuffle_model, "_STRATA", 10**6)
        single = delta(value, Fraction(19), 10**5, mass)
        monkeypatch.setattr(shuffle_model, "_STRATA", 512)
        assert single < delta(value, Fraction(19), 10**5, mass) < 1.05 * single


@pytest.mark.parametrize(("gamma", "delta"), [(Fraction(6, 5), 1e-6), (Fraction(99), 1e-9)])
def test_the_numerical_bound_beats_the_closed_form_and_grows_tighter(gamma: Fraction, delta: float) -> None:
    """ε' is at most the closed form's and ln γ; more people or a larger blanket never increase it."""
    last = epsilon_from_amplification(gamma)
    for reports in [100, 10**4, 10**6, 10**9]:
        central = central_guarantee(gamma, reports, delta)
        simple = closed_form(gamma, reports, delta)
        assert central.epsilon <= last
        assert simple is None or central.epsilon < simple
        if reports <= 10**4:
            wider = central_guarantee(gamma, reports, delta, blanket=(2 / (gamma + 1) + 1) / 2)
            assert wider.epsilon <= central.epsilon
        last = central.epsilon
    assert central.method == "clones"
    assert wider.method == "blanket"


def test_the_closed_form_is_that_of_the_theorem() -> None:
    """The formula is evaluated here at γ = 3, N = 10^4 and δ = 10^-6."""
    value = closed_form(Fraction(3), 10_000, 1e-6)
    assert exp(value) == pytest.approx(1 + (8 * (3 * log(4e6)) ** 0.5 / 100 + 24 / 10_000) / 2, rel=1e-9)


def test_bisection_returns_a_proved_epsilon() -> None:
    """The returned ε' has at most the requested δ; an ε' one percent smaller has more."""
    gamma, delta = Fraction(9), 1e-6
    value = central_guarantee(gamma, 5000, delta).epsilon
    assert shuffled_delta(value, gamma, 5000, Fraction(1, 5), 1e-3 * delta) <= delta
    assert shuffled_delta(0.99 * value, gamma, 5000, Fraction(1, 5)) > delta


def test_shuffling_gains_nothing_without_other_people() -> None:
    """One person, γ = 1 and a huge γ keep the local guarantee."""
    # randomized response alone has δ = (γ − e^ε')/(γ + 1), so a δ of one in a million gains that little
    alone = central_guarantee(Fraction(9), 1, 1e-6).epsilon
    assert log(9 - 10 * 1e-6) <= alone < epsilon_from_amplification(Fraction(9))
    assert central_guarantee(Fraction(1), 100, 1e-6).epsilon == epsilon_from_amplification(Fraction(1))
    assert central_guarantee(Fraction(3), 100, 1e-6, blanket=Fraction(1)).epsilon == 0
    hair, mass = 1 + Fraction(1, 10**12), 2 / (2 + Fraction(1, 10**12))
    assert shuffled_delta(0.0, hair, 3, mass) == pytest.approx(float(exact_delta(Fraction(1), hair, 3, mass)), rel=1e-5)
    assert central_guarantee(Fraction(10**400), 10**9, 1e-6).method == "local"


def test_composed_reports_of_one_person_stay_below_the_composition() -> None:
    """For two reports a person, shuffled together, the exact δ at 2ε' is at most that of two shuffles, 2δ(ε')."""
    gamma, people = Fraction(3), 3
    rows = response(gamma, 2)
    value = 0.3 * log(3)
    factor = Fraction(exp(2 * value)) * Fraction(10**12 + 1, 10**12)
    for others in combinations_with_replacement(rows, people - 1):
        doubled = [row for row in others for _ in range(2)]
        p, q = shuffled([rows[0]] * 2 + doubled), shuffled([rows[1]] * 2 + doubled)
        exact = float(sum(max(p[c] - factor * q[c], Fraction(0)) for c in p))
        assert exact <= 2 * shuffled_delta(value, gamma, people, 2 / (gamma + 1))
        whole = shuffled_delta(2 * value, gamma**2, people, 2 / (gamma**2 + 1))
        assert exact <= whole  # a person's two reports as one of γ²


@pytest.mark.parametrize(("gamma", "reports_per_person"), [("7", 1), ("27/10", 2), ("37/25", 5)])
def test_reports_that_alone_keep_epsilon_need_no_others(gamma: str, reports_per_person: int) -> None:
    """Where few people hide a report, γ to the power of a person's reports must be at most e^ε, and that suffices."""
    guarantee, amplification = CentralGuarantee(Fraction(2), Fraction(1, 10**8), 10), Fraction(gamma)
    assert guarantee.holds(amplification, Fraction(0), reports_per_person)
    assert not guarantee.holds(amplification * Fraction(11, 10), Fraction(0), reports_per_person)
