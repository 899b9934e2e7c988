"""Intervals with their tails: against exact laws by convolution, and by simulated counts.

From which support on a whole size's finds can be believed: exact tails, brute force and many empty collections. The
normal distribution's tails are scipy's, for few and for many values.
"""

from fractions import Fraction
from math import comb, inf

import numpy as np
import pytest
from fit import FALSE_ALARM, Z_LIMIT
from planned import planned
from scipy.special import bdtrc, ndtr, ndtri
from scipy.stats import binom, norm, poisson

from assocpriv.planning.designs import InsertionDesign
from assocpriv.plans.operator import Operator
from assocpriv.plans.transition import SupportModel, estimator_row, transition_matrix
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import EstimateError
from assocpriv.records.baskets import Baskets
from assocpriv.server.apriori import mine_levels
from assocpriv.server.counting import ItemsetCounter
from assocpriv.server.intervals import (
    _MANY,
    FALSE_ITEMSETS,
    Observed,
    _Fit,
    _Law,
    errors_for,
    errors_of,
    level_discoverable_support,
    lower_tails,
    score_intervals,
    scores_of_tails,
    upper_tail,
)
from assocpriv.server.itemsets import describe_undecided, mining_facts
from assocpriv.server.supports import Respondents, foreseen_error, lowest_discoverable_support
from assocpriv.simulation.simulate import simulate


def make_operator(insert_num: int, insert_bits: int, pattern: str, limit: int) -> Operator:
    """Return a two-level operator."""
    return InsertionDesign(pattern, insert_num=insert_num, insert_bits=insert_bits).operator(Fraction(limit))


SPARSE = make_operator(7, 8, "001000", 396)  # what make_plan finds for M = 5 and a 1% → 80% promise
QUARTER = make_operator(1, 2, "000111", 19)
COIN = make_operator(1, 1, "000001", 19)
NEAR_COIN = make_operator(31, 6, "100000", 19)


def observed(operator: Operator, counts: np.ndarray) -> Observed:
    """Return partial counts, int64 (itemsets, k + 1), with what the operator says of them."""
    k = counts.shape[1] - 1
    matrix = np.array([[float(x) for x in row] for row in transition_matrix(operator, k)])
    return Observed(counts.astype(np.int64), matrix, np.array([float(x) for x in estimator_row(operator, k)]))


def groups_of(operator: Operator, n: int, shares: list[float]) -> list[int]:
    """Return how many of n transactions hold l of the items."""
    groups = np.round(n * np.array(shares)).astype(int)
    groups[0] += n - groups.sum()
    return groups.tolist()


def draw_counts(rng, operator: Operator, groups: list[int], runs: int, *, population: bool) -> np.ndarray:
    """Draw the partial counts of independent collections, int64 (runs, k + 1)."""
    matrix = observed(operator, np.zeros((0, len(groups)))).transition
    if population:
        return rng.multinomial(sum(groups), matrix @ (np.array(groups) / sum(groups)), size=runs)
    return np.sum([rng.multinomial(n, matrix[:, held], size=runs) for held, n in enumerate(groups)], axis=0)


def exact_law(operator: Operator, groups: list[int], *, population: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of T and their probabilities, by convolution over the whole numbers T consists of."""
    k, n = len(groups) - 1, sum(groups)
    rest = (1 << operator.insert_bits) - operator.insert_num
    units = np.array([rest**to * (-operator.insert_num) ** (k - to) for to in range(k + 1)], dtype=np.int64)
    step = int(np.gcd.reduce(units - units.min()))
    place = (units - units.min()) // step
    matrix = observed(operator, np.zeros((0, k + 1))).transition
    parts = [(n, matrix @ (np.array(groups) / n))] if population else list(zip(groups, matrix.T, strict=True))
    length = 1 << int(n * place.max()).bit_length()
    transform = np.ones(length // 2 + 1, dtype=complex)
    for count, cells in parts:
        one = np.zeros(length)
        np.add.at(one, place, cells)
        transform *= np.fft.rfft(one) ** count
    law = np.clip(np.fft.irfft(transform, length), 0, None)
    kept = np.flatnonzero(law > 1e-11)
    scale = float(estimator_row(operator, k)[-1]) / float(units[-1])
    values, law = (n * units.min() + step * kept) * scale, law[kept]
    return (values, law) if scale > 0 else (values[::-1], law[::-1])


def compare(operator: Operator, groups: list[int], *, population: bool, with_steps: bool = True) -> dict:
    """Return values, law, exact and computed P(T ≥ t) for every value, the shares known."""
    values, law = exact_law(operator, groups, population=population)
    n, k = sum(groups), len(groups) - 1
    stratum = observed(operator, np.array([[n] + [0] * k]))
    shares = np.repeat((np.array(groups) / n)[:, None], len(values), axis=1)
    known = _Law(stratum, shares, population)
    span = known.span() if with_steps else np.zeros(len(values))
    return {
        "law": law,
        "exact": np.cumsum(law[::-1])[::-1],
        "tail": ndtr(-known.score(values - span / 2, span)),
        "span": span[0] / np.ptp(stratum.row),
    }


LATTICES = [
    (SPARSE, 50, [1, 0], 0.01),
    (SPARSE, 300, [0.95, 0.05], 4e-4),
    (COIN, 50, [1, 0], 5e-5),
    (COIN, 100, [0.9, 0.07, 0.03], 2e-5),
    (COIN, 300, [0.8, 0.1, 0.06, 0.04], 1e-5),
    (QUARTER, 100, [0.9, 0.07, 0.03], 2e-4),
    (QUARTER, 300, [1, 0, 0], 5e-5),
    (QUARTER, 100, [0.8, 0.1, 0.06, 0.04], 5e-4),
    (NEAR_COIN, 300, [0.95, 0.05], 1e-5),
]


@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize(("operator", "n", "shares", "within"), LATTICES)
def test_tails_are_exact_where_estimates_move_in_steps(operator, n, shares, within, population) -> None:
    """Tails agree with the exact ones to the stated error, and to 1% of themselves down to 1e-6."""
    result = compare(operator, groups_of(operator, n, shares), population=population)
    exact, tail = result["exact"], result["tail"]
    assert np.abs(tail - exact).max() < within
    far = (exact < 0.2) & (exact > 1e-6)
    assert far.sum() > 3
    assert np.abs(tail[far] / exact[far] - 1).max() < 0.01
    # leaving the steps out is found out
    smooth = compare(operator, groups_of(operator, n, shares), population=population, with_steps=False)["tail"]
    assert np.abs(smooth - exact).max() > 2 * within


BLURRED = [
    (NEAR_COIN, 300, [1, 0, 0], 2e-3),
    (NEAR_COIN, 100, [0.9, 0.07, 0.03], 0.02),
    (SPARSE, 5000, [0.9, 0.08, 0.02], 0.01),
    (SPARSE, 300, [1, 0, 0], 1.0),
    (SPARSE, 300, [0.9, 0.07, 0.03], 1.0),
]


@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize(("operator", "n", "shares", "within"), BLURRED)
def test_tails_err_upwards_where_steps_are_blurred(operator, n, shares, within, population) -> None:
    """A p-value from known shares is at most α with probability at most α, but for 2% of α; steps fade out."""
    result = compare(operator, groups_of(operator, n, shares), population=population)
    assert np.abs(result["tail"] - result["exact"]).max() < within
    for alpha in (0.2, 0.05, 0.025, 0.01, 1e-3, 1e-4):
        assert result["law"][result["tail"] <= alpha].sum() < 1.02 * alpha
    assert result["span"] < 0.95


def test_both_tails_of_single_items() -> None:
    """For one item nothing is left to estimate: the tails of every count are binomial, also at both ends."""
    n = 60
    counts = np.stack([n - np.arange(n + 1), np.arange(n + 1)], axis=1)
    stratum = observed(SPARSE, counts)
    _, law = exact_law(SPARSE, [n - 9, 9], population=True)
    upper = upper_tail(stratum, 0.15, population=True)
    fit = _Fit.of(stratum)
    span = fit.law(np.clip(fit.support, 0, 1), population=True).span()
    lower = ndtr(fit.law(np.full(n + 1, 0.15), population=True).score(fit.support * n + span / 2, span))
    known = len(law)
    assert np.abs(upper[:known] - np.cumsum(law[::-1])[::-1]).max() < 4e-3
    assert np.abs(lower[:known] - np.cumsum(law)).max() < 4e-3
    assert upper[0] == 1.0
    assert lower[-1] == 1.0
    assert (np.diff(upper) < 0).all()
    assert 0 < upper[-1] < 1e-40


def test_interval_ends_of_single_items_are_mid_p() -> None:
    """For one item, the exact tail at an end of the interval, what was observed counted half, is (1 − level)/2."""
    n, shown = 400, np.arange(90, 330)
    stratum = observed(QUARTER, np.stack([n - shown, shown], axis=1))
    chance, other = stratum.transition[1]
    low, high = score_intervals(stratum, 0.9, population=True).T

    def middle(support: np.ndarray) -> np.ndarray:
        p = chance + (other - chance) * support
        return (bdtrc(shown - 1, n, p) + bdtrc(shown, n, p)) / 2

    inner_low, inner_high = ((end > 0) & (end < 1) for end in (low, high))
    assert min(inner_low.sum(), inner_high.sum()) > 20
    assert np.abs(middle(low)[inner_low] - 0.05).max() < 2e-3
    assert np.abs(middle(high)[inner_high] - 0.95).max() < 2e-3


def test_shares_are_shares() -> None:
    """Whatever the counts and the support in question: shares are ≥ 0, sum to 1, and make up that support."""
    rng = np.random.default_rng(5)
    for operator, shown in ((SPARSE, [0.7, 0.2, 0.1]), (COIN, [0.1, 0.3, 0.6])):
        fit = _Fit.of(observed(operator, rng.multinomial(400, shown, size=50)))
        for support in (0.0, 1e-6, 0.2, 0.5, 1.0):
            shares = fit.law(np.full(50, support), population=True).shares
            assert (shares >= 0).all()
            assert np.allclose(shares.sum(axis=0), 1)
            assert np.allclose(shares[-1], support)


# (shares, least coverage): regression leaves the noise of the shares, which costs up to 1.5% in the fourth case
BAD = [
    ([1, 0, 0, 0], 0.95),
    ([0.999, 0, 0, 0.001], 0.95),
    ([0.9, 0.08, 0.015, 0.005], 0.95),
    ([0.95, 0, 0.03, 0.02], 0.935),
    ([0.7, 0.2, 0.07, 0.03], 0.945),
]


def normal_intervals(stratum: Observed, *, population: bool) -> np.ndarray:
    """Return ŝ ± 1.96 standard errors, these from the unbiased variances and bounded below by the plan alone."""
    q, n = stratum.row, stratum.n_reports
    support, square = stratum.counts @ q / n, stratum.counts @ (q * q) / n
    variance = (square - support**2) / (n - 1) if population else (square - support) / n
    moments = (q * q) @ stratum.transition
    clipped = np.clip(support, 0, 1)
    least = (1 - clipped) * moments[:-1].min() + clipped * (moments[-1] - (not population)) - clipped**2 * population
    width = 1.959964 * np.sqrt(np.maximum(variance, least / n))
    return np.stack([support - width, support + width], axis=1)


def covers(intervals: np.ndarray, support: float) -> np.ndarray:
    """Tell which intervals contain a support."""
    return (intervals[:, 0] <= support) & (support <= intervals[:, 1])


def z_of(hits: np.ndarray, share: float) -> float:
    """Return how many standard errors the share of hits is above a given one; a test at Z_LIMIT errs once in 1e6."""
    return float((hits.mean() - share) / np.sqrt(share * (1 - share) / len(hits)))


@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize(("shares", "least"), BAD)
def test_intervals_cover_where_reports_are_few(shares, least, population) -> None:
    """95% intervals cover in the known bad case (triples, ρ = 7/256, N = 20,000), where normal ones do not."""
    rng = np.random.default_rng(7)
    groups = groups_of(SPARSE, 20_000, shares)
    stratum = observed(SPARSE, draw_counts(rng, SPARSE, groups, 8000, population=population))
    truth = groups[-1] / 20_000
    intervals = score_intervals(stratum, 0.95, population=population)
    assert z_of(covers(intervals, truth), least) > -Z_LIMIT
    assert (intervals >= 0).all()
    assert (intervals[:, 0] <= intervals[:, 1]).all()
    if truth > 0.002:
        assert z_of(covers(normal_intervals(stratum, population=population), truth), least) < -Z_LIMIT


@pytest.mark.parametrize(
    ("operator", "n", "shares"),
    [
        (SPARSE, 20_000, [0.98, 0.02]),
        (SPARSE, 2000, [0.9, 0.08, 0.02]),
        (SPARSE, 20_000, [0.9, 0.08, 0.02]),
        (QUARTER, 2000, [0.6, 0.15, 0.15, 0.1]),
        (NEAR_COIN, 20_000, [0.7, 0.1, 0.1, 0.1]),
    ],
)
@pytest.mark.parametrize("population", [False, True])
def test_intervals_cover_no_more_than_they_should(operator, n, shares, population) -> None:
    """With more reports 95% intervals cover in 94% to 96.5%; the other kind or other widths are found out."""
    rng = np.random.default_rng(11)
    groups = groups_of(operator, n, shares)
    stratum = observed(operator, draw_counts(rng, operator, groups, 10_000, population=population))
    ends = score_intervals(stratum, 0.95, population=population)
    inside = ends[:, 1] <= groups[-1] / n, groups[-1] / n <= ends[:, 0]
    assert z_of(covers(ends, groups[-1] / n), 0.94) > -Z_LIMIT
    assert z_of(covers(ends, groups[-1] / n), 0.965) < Z_LIMIT
    assert max(side.mean() for side in inside) < 0.035
    narrow = score_intervals(stratum, 0.92, population=population)
    wide = score_intervals(stratum, 0.98, population=population)
    assert z_of(covers(narrow, groups[-1] / n), 0.94) < -Z_LIMIT
    assert z_of(covers(wide, groups[-1] / n), 0.965) > Z_LIMIT


@pytest.mark.parametrize("population", [False, True])
def test_many_reports_give_normal_intervals(population) -> None:
    """With 10^8 reports interval ends are normal ones to 1e-3 of a standard error."""
    n = 10**8
    rng = np.random.default_rng(17)
    groups = groups_of(NEAR_COIN, n, [0.8, 0.1, 0.06, 0.04])
    stratum = observed(NEAR_COIN, draw_counts(rng, NEAR_COIN, groups, 50, population=population))
    normal = normal_intervals(stratum, population=population)
    error = np.diff(normal, axis=1) / 2 / 1.959964
    ends = score_intervals(stratum, 0.95, population=population)
    assert (np.abs(ends - normal) < 1e-3 * error).all()


def test_intervals_stay_inside_what_is_possible() -> None:
    """Ends lie between 0 and 1; an estimate in between lies between its ends."""
    n = 40
    counts = np.array([(n - i - j, i, j) for i in range(0, n + 1, 4) for j in range(0, n + 1 - i, 4)])
    stratum = observed(QUARTER, counts)
    estimate = counts @ stratum.row / n
    for population in (False, True):
        low, high = score_intervals(stratum, 0.9, population=population).T
        assert (low >= 0).all()
        assert (high <= 1).all()
        inside = (estimate >= 0) & (estimate <= 1)
        assert inside.sum() > 5
        assert (low <= estimate)[inside].all()
        assert (estimate <= high)[inside].all()


def test_nothing_and_nonsense() -> None:
    """No itemsets give no tails; no reports and mixed sizes are refused."""
    stratum = observed(COIN, np.array([[40, 60]]))
    assert upper_tail(observed(COIN, np.zeros((0, 2))), 0.1, population=True).shape == (0,)
    assert score_intervals(observed(COIN, np.zeros((0, 2))), 0.9, population=True).shape == (0, 2)
    with pytest.raises(EstimateError, match="no reports"):
        upper_tail(observed(QUARTER, np.array([[0, 0]])), 0.1, population=True)
    with pytest.raises(EstimateError, match="one itemset size"):
        Observed(np.array([[1, 2, 3]]), stratum.transition, stratum.row)


# items, M, promise, reports: ρ near 1/2 with σ_k(s) falling, ρ = .09, .02 (skewed estimates), and few candidates
PLANS = [
    (1_000, 5, ("5%", "50%"), 100_000),
    (330_000, 3, ("1%", "50%"), 77_512),
    (10_000, 2, ("1%", "99%"), 20_000),
    (100_000, 2, ("1%", "99%"), 3_000),
    (20, 3, ("1%", "99%"), 3_000),
]


def respondents_to(plan):
    """Return those who answer a plan of PLANS."""
    items, m, promise, n_reports = plan
    made = planned(items, m, Breach(*promise), reports=n_reports, itemset_size=min(3, m), kind="independent")
    return Respondents(n_reports, SupportModel.of(made.items.operator))


def exact_tail(respondents, k, support):
    """Return P(ŝ ≥ support) of an itemset of whose items nobody has any, k = 1 or 2, by sums of binomial laws."""
    n, q = respondents.n_reports, [float(x) for x in respondents.model.row(k)]
    law = [float(row[0]) for row in respondents.model.transition(k)]
    both = np.arange(n + 1) if k == 2 else np.zeros(1, dtype=np.int64)
    chance = binom.pmf(both, n, law[2]) if k == 2 else np.ones(1)
    both, chance = both[chance > 1e-40], chance[chance > 1e-40]
    rest, step = n - both, q[1] - q[0]
    # of the others x show one item: ŝ ≥ support where x ≥ least (step > 0) or x ≤ least (step < 0)
    least = (support * n - (q[2] * both if k == 2 else 0.0) - q[0] * rest) / step
    one = law[1] / (law[0] + law[1])
    tails = binom.sf(np.ceil(least - 1e-9) - 1, rest, one) if step > 0 else binom.cdf(np.floor(least + 1e-9), rest, one)
    return float(chance @ tails)


def test_how_many_errors_many_candidates_ask_for() -> None:
    """z is 4.3 at 1,000 candidates and 5.4 at 330,000, never below four, and c·Φ(−z) is 0.01 above that."""
    assert round(errors_for(1_000), 1) == 4.3
    assert round(errors_for(330_000), 1) == 5.4
    assert errors_for(0) == errors_for(1) == errors_for(300) == 4.0
    for candidates in (400, 10**6, comb(330_000, 3), comb(100_000, 15)):
        assert candidates * norm.sf(errors_for(candidates)) == pytest.approx(FALSE_ITEMSETS, rel=1e-6)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("k", [1, 2])
def test_the_figure_of_a_level_against_exact_tails(plan, k) -> None:
    """At the figure less than 0.01 empty itemsets are expected by the exact law; z normal errors alone allow more.

    The figure is the larger of s = zσ_k(s), found here by bisection, and what the tail asks for, to 1% or a step.
    """
    respondents = respondents_to(plan)
    candidates = comb(plan[0], k)
    figure, z = level_discoverable_support(respondents, k, candidates), errors_for(candidates)
    assert candidates * exact_tail(respondents, k, figure) <= FALSE_ITEMSETS
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle < z * foreseen_error(respondents, k, middle) else (low, middle)
    assert lowest_discoverable_support(respondents, k, z) == pytest.approx(high, rel=1e-9)
    assert figure >= high * (1 - 1e-12)
    if figure > high * (1 + 1e-9):
        values = sorted(abs(float(x)) for x in respondents.model.row(k))
        step = values[-1] + values[-2] if k == 1 else 0.0
        lower = figure * 0.99 - step / respondents.n_reports
        assert exact_tail(respondents, k, lower) > norm.sf(z)
    assert errors_of(respondents, k, figure, candidates) >= z
    assert errors_of(respondents, k, figure, candidates) * foreseen_error(respondents, k, figure) == pytest.approx(
        max(figure, z * foreseen_error(respondents, k, figure))
    )


def test_normal_tails_would_not_do() -> None:
    """The wrong model, z·σ_k(s) alone, lets more than one false itemset in a hundred collections pass."""
    worst = 0.0
    for plan in PLANS:
        respondents = respondents_to(plan)
        for k in (1, 2):
            candidates = comb(plan[0], k)
            normal = lowest_discoverable_support(respondents, k, errors_for(candidates))
            worst = max(worst, candidates * exact_tail(respondents, k, normal))
    assert worst > 3 * FALSE_ITEMSETS


def test_sizes_nothing_is_known_of() -> None:
    """Where the operator says nothing of a size there is no figure; of few reports it is not below one of them."""
    operator = Operator(3, 1, 1, 6, (2, 4, 5, 35))
    model = SupportModel.of(operator)
    whole = Respondents(20_000, model)
    assert level_discoverable_support(whole, 4, 5_000) == inf
    assert level_discoverable_support(Respondents(500, SupportModel.plain()), 2, 5_000) == 0.0
    assert errors_of(whole, 4, inf, 1_000) == errors_for(1_000)
    few = level_discoverable_support(Respondents(30, model), 2, 10**9)
    assert few >= 1 / 30


class EmptyCollection(ItemsetCounter):
    """Counts what reports of empty baskets show of single items and pairs of a plan that shows each with chance ρ."""

    n_reports = 0

    def __init__(self, n_reports, default_probability, rng):
        self.n_reports, self.shown, self.rng = n_reports, float(default_probability), rng
        self.singles = np.empty(0, dtype=np.int64)

    def count(self, itemsets):
        """Draw the counts: of pairs, given those of their items."""
        if itemsets.shape[1] == 1:
            self.singles = self.rng.binomial(self.n_reports, self.shown, len(itemsets))
            return self.singles
        left, right = self.singles[itemsets.T]
        return self.rng.hypergeometric(left, self.n_reports - left, right)


def false_finds(respondents, operator, n_items, at, rng, runs, largest=1):
    """Mine empty collections: false finds of each size, and how often a size with false finds was called decided."""
    found, trusted, support = np.zeros(largest, dtype=np.int64), 0, at
    for _ in range(runs):
        counter = EmptyCollection(respondents.n_reports, operator.default_probability, rng)
        _, levels = mine_levels((counter, respondents.model), n_items, support, largest)
        for level in levels:
            found[level.size - 1] += level.frequent
            trusted += level.frequent > 0 and level.status == "decided"
    return found, trusted


def test_many_items_that_nobody_has(rng) -> None:
    """Of 20,000 empty items some reach the paper's figure in most collections, and it is said; nearly none the level's.

    The wrong model is the paper's figure for the whole level: rejected by the count that holds the level's figure.
    """
    n_items, runs = 20_000, 400
    respondents = respondents_to((n_items, 2, ("1%", "99%"), 20_000))
    operator = respondents.model.operator
    most = poisson.isf(FALSE_ALARM, runs * FALSE_ITEMSETS)
    figure = level_discoverable_support(respondents, 1, n_items)
    assert most < 20
    found, _ = false_finds(respondents, operator, n_items, figure, rng, runs)
    assert found[0] <= most
    found, trusted = false_finds(respondents, operator, n_items, lowest_discoverable_support(respondents, 1), rng, 100)
    assert found[0] > most
    assert trusted == 0


def test_empty_pairs_of_items_that_noise_let_through(rng) -> None:
    """Pairs are counted where their items' estimates were large by chance; their own are no larger for that.

    All items go on (a size of nothing but noise, cut low); per pair counted fewer pass than the figure allows.
    """
    respondents = respondents_to((300, 2, ("5%", "50%"), 5_000))
    model, operator = respondents.model, respondents.model.operator
    low = 2.05 * max(foreseen_error(respondents, k, 0.0) for k in (1, 2))
    counted, passed = 0, 0
    at = 3 * foreseen_error(respondents, 2, 0.0)  # fewer errors than the level's, so that there is something to count
    for _ in range(60):
        counter = EmptyCollection(5_000, operator.default_probability, rng)
        found, levels = mine_levels((counter, model), 300, low, 2)
        counted += levels[1].candidates
        passed += sum(int((level.estimates.support >= at).sum()) for level in found if level.itemsets.shape[1] == 2)
    expected = counted * exact_tail(respondents, 2, at)
    assert counted > 1_000
    assert passed <= poisson.isf(FALSE_ALARM, 1.1 * expected)


def test_the_listing_of_the_issue_is_warned_of() -> None:
    """Empty baskets over 60,000 items, mined at the paper's figure: what is found is called uncertain, and why.

    At the level's figure nothing is found: a false alarm of at most 1 in 100 on a fresh seed.
    """
    n_items, n_reports = 60_000, 20_000
    plan = planned(n_items, 2, Breach("1%", "99%"), itemset_size=1, reports=n_reports, code="reed-solomon")
    respondents = Respondents(n_reports, SupportModel.of(plan.items.operator))
    baskets = Baskets.from_sets([[]] * n_reports, plan.catalogue)
    paper = lowest_discoverable_support(respondents, 1)
    facts = mining_facts(mined := simulate(baskets, plan, paper, seed=1).itemsets)
    assert mined["frequent"].sum() >= 1
    assert not mined["true_support"].any()
    (level,) = facts.levels
    assert level.status == "uncertain"
    assert level.lowest_discoverable_support == pytest.approx(paper)
    (line,) = describe_undecided(facts)
    assert f"{paper:.2%} is the lowest discoverable of one itemset" in line
    assert f"all 60,000 counted can be believed from {level.level_discoverable_support:.2%}" in line
    quiet = simulate(baskets, plan, level.level_discoverable_support, seed=1).itemsets
    assert not quiet["frequent"].any()
    assert mining_facts(quiet).levels[0].status == "decided"


SIZES = [(3,), (7, 11), (_MANY + 1,)]


@pytest.mark.parametrize("shape", SIZES)
def test_tails_are_those_of_scipy(rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    """To some units in the last place of the smaller tail, as far out as numbers go."""
    scores = rng.uniform(-37, 37, size=shape)
    scores.ravel()[:3] = 0.0, np.inf, -np.inf
    assert lower_tails(scores).shape == shape
    np.testing.assert_allclose(lower_tails(scores), ndtr(scores), rtol=1e-13)


@pytest.mark.parametrize("shape", SIZES)
def test_scores_are_those_of_scipy(rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    """Of probabilities down to 1e-300, 0 and 1; what is no probability has none."""
    tails = np.where(rng.random(shape) < 0.5, rng.random(shape), 10 ** rng.uniform(-300, 0, size=shape))
    tails.ravel()[:3] = 0.0, 1.0, -0.5
    assert scores_of_tails(tails).shape == shape
    np.testing.assert_allclose(scores_of_tails(tails), ndtri(tails), rtol=1e-13, atol=1e-15)
