"""Posteriors of supports: sampling undone, rounds averaged, estimates shrunk, what may be published.

Supports before sampling have errors that hold where the model does, and bounds where it does not: the model's own
baskets give exact answers, real ones the right direction. Several rounds give averages, rankings, and estimates that
may be published after a choice: fresh ones with the whole correction in their errors, or what subsets allow.
Shrinking is tested by guesses from subsets, two modes, growth.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from fit import FALSE_ALARM
from scipy.stats import binom

from assocpriv.server.posterior import (
    MOST_GUESSED,
    Average,
    Estimate,
    Evidence,
    Itemset,
    Knowledge,
    Prior,
    after_choice,
    average,
    believed,
    guessed,
    measured,
    pair_bounds,
    published,
    ranked,
    shrunk,
)


def test_estimates_are_averaged_by_inverse_variance() -> None:
    """The average of estimates of one support has the least variance that weights allow, by fractions."""
    values = [(Fraction(1, 8), Fraction(1, 4)), (Fraction(1, 2), Fraction(1, 16)), (Fraction(1, 4), Fraction(1, 8))]
    weights = [1 / variance for _, variance in values]
    mean = sum(w * value for w, (value, _) in zip(weights, values, strict=True)) / sum(weights)
    found = average([Average(float(value), float(variance)) for value, variance in values])
    assert found.support == pytest.approx(float(mean), rel=1e-15)
    assert found.variance == pytest.approx(float(1 / sum(weights)), rel=1e-15)
    assert found.variance < min(float(variance) for _, variance in values)


def test_bias_does_not_average_out() -> None:
    """Of estimates that one model has corrected noise averages out and bias stays."""
    found = average([Average(0.2, 0.03, 0.1, 0.2), Average(0.3, 0.03, 0.1, 0.2)])
    assert found == pytest.approx((0.25, 0.015, 0.1, 0.2))
    assert found.error == pytest.approx(0.015 + 0.01)


def test_ranking_is_by_what_is_expected() -> None:
    """Expected supports rank, of equals smaller itemsets and first ones come first."""
    known = {
        (3,): Estimate(0.9, 1.0, 0.1, 1.0),
        (1, 2): measured(0.5, 1.0),
        (2,): measured(0.5, 1.0),
        (0, 1): measured(0.5, 1.0),
    }
    assert ranked(known, 3) == [(2,), (0, 1), (1, 2)]
    assert ranked(known, 9)[-1] == (3,)


def test_two_modes_reach_further_than_their_mean() -> None:
    """A pair that is probably rare and perhaps a pattern has that chance to be frequent, not a normal law's."""
    mean, spread = 0.1 * 0.2, 0.1 * 0.9 * 0.2**2
    pair = Estimate(mean, spread, mean, spread, ((0.9, 0.0, 1e-8), (0.1, 0.2, 1e-8)))
    assert pair.chance(0.15) == pytest.approx(0.1)
    assert Estimate(mean, spread, mean, spread).chance(0.15) < 0.02


@pytest.mark.parametrize("truth", [-0.5, 0.0, 0.7])
def test_estimate_after_choice_is_unbiased(truth: float, rng: np.random.Generator) -> None:
    """Given that the first of two estimates lay above 0, its mean is the truth; that of their average is not."""
    earlier, later, n = 0.36, 0.25, 20_000
    before = truth + 0.6 * rng.standard_normal(n)
    chosen = before[before > 0]
    now = truth + 0.5 * rng.standard_normal(len(chosen))
    pairs = [(Average(x, earlier), Average(y, later)) for x, y in zip(chosen.tolist(), now.tolist(), strict=True)]
    found = [after_choice(x, y, 0.0) for x, y in pairs]

    def off(values: list[float]) -> float:
        return float((np.mean(values) - truth) / np.std(values) * math.sqrt(len(values)))

    assert FALSE_ALARM == 1e-6
    assert abs(off([each.support for each in found])) < 4.9
    assert abs(off([average(pair).support for pair in pairs])) > 4.9
    assert np.var([each.support for each in found]) < later * 1.02
    far = after_choice(Average(9.0, earlier), Average(9.5, later), 0.0)
    assert far == pytest.approx(average([Average(9.0, earlier), Average(9.5, later)]))


def test_intervals_hold_for_the_maxima_of_noise(rng: np.random.Generator) -> None:
    """Of 4,000 items that few have the 80 largest estimates are noise: fresh intervals hold, of averages they do not.

    At least 90% do: below the bound fewer would with a probability of 10^-6.
    """

    truth = np.concatenate([np.linspace(0.0, 4.0, 60), np.zeros(3_940)])
    held, naive, asked = 0, 0, 0
    for _ in range(10):
        first = truth + rng.standard_normal(len(truth))
        places = np.argsort(-first)[:80]
        items = [(int(place),) for place in places]
        nothing = [-math.inf] * len(truth)
        singles = [Average(x, 1.0) for x in first.tolist()]
        evidence = Evidence({}, {}).joined([(i,) for i in range(len(truth))], singles, nothing)
        second = truth[places] + rng.standard_normal(80)
        cut = float(first[places].min())
        evidence = evidence.joined(items, [Average(x, 1.0) for x in second.tolist()], [cut] * 80)
        for item in items:
            fresh, every = evidence.fresh[item], evidence.all[item]
            held += abs(fresh.support - truth[item[0]]) <= 1.96 * math.sqrt(fresh.variance)
            naive += abs(every.support - truth[item[0]]) <= 1.96 * math.sqrt(every.variance)
            asked += 1
    assert held >= binom.ppf(FALSE_ALARM, asked, 0.9)
    assert naive < binom.ppf(FALSE_ALARM, asked, 0.9)


PUBLISHED: Knowledge = {
    (0,): measured(0.35, 1e-4),
    (1,): measured(0.3, 1e-4),
    (0, 1): Estimate(0.12, 0.01, 0.12, 0.01),
}
FRESH = {(0,): Average(0.4, 1e-6), (1,): Average(0.25, 1e-6, 0.02, 0.04)}


def test_fresh_estimates_are_published_as_they_are() -> None:
    """Not what is expected, and not the average with what the choice was made by; the error has all that was undone."""
    evidence = Evidence({(0,): Average(0.38, 1e-7), (1,): Average(0.28, 1e-7)}, FRESH)
    told = published(PUBLISHED, evidence)
    assert told[0,].support == 0.4
    assert told[0,].variance == 1e-6
    assert told[0,].expected == 0.35
    assert told[1,].variance == pytest.approx(1e-6 + 0.04**2)


def test_unmeasured_itemsets_are_as_uncertain_as_their_subsets_allow() -> None:
    """The interval of a pair that nobody was asked about holds all that its items' intervals allow."""
    told = published(PUBLISHED, Evidence(FRESH, FRESH))
    pair = told[0, 1]
    reach = 1.96 * math.sqrt(pair.variance)
    assert pair.support == 0.12
    assert pair.support + reach >= 0.25
    assert pair.support - reach <= 0
    dense = {(0,): Average(0.9, 1e-8), (1,): Average(0.9, 1e-8)}
    told = published(PUBLISHED, Evidence(dense, dense))
    low, high = (told[0, 1].support + sign * 1.96 * math.sqrt(told[0, 1].variance) for sign in (-1, 1))
    assert low <= 0.8 + 1e-3
    assert high >= 0.9 - 1e-3
    assert high - low < 0.25


def test_a_noisy_measurement_tells_less_than_the_subsets() -> None:
    """A pair measured with an error far beyond its items' supports is published by these; a sharp one as measured."""
    noisy = FRESH | {(0, 1): Average(-0.8, 1.0)}
    assert published(PUBLISHED, Evidence(noisy, noisy))[0, 1].support == 0.12
    sharp = FRESH | {(0, 1): Average(0.05, 1e-6)}
    assert published(PUBLISHED, Evidence(sharp, sharp))[0, 1].support == 0.05


def test_prior_finds_few_frequent_items_among_many(rng: np.random.Generator) -> None:
    """Of 5,000 noisy items a posterior mean errs less than the estimate, and noise is not taken for support."""
    truth = np.zeros(5_000)
    truth[:40] = np.linspace(0.02, 0.06, 40)
    variances = np.full(5_000, 0.008**2)
    supports = truth + 0.008 * rng.standard_normal(5_000)
    prior = Prior.of(supports, variances)
    assert prior.weights.sum() == pytest.approx(1)
    mean, spread = prior.posterior(supports, variances)
    assert np.mean((mean - truth) ** 2) < np.mean((supports - truth) ** 2) / 10
    assert np.sort(mean[40:])[-100:].mean() < np.sort(supports[40:])[-100:].mean() / 2
    assert (np.diff(mean[np.argsort(supports)]) >= -1e-12).all()  # equal errors: the order stays
    assert (spread > 0).all()


def test_prior_leaves_clear_estimates_alone(rng: np.random.Generator) -> None:
    """An estimate many standard errors above all noise is its own posterior mean."""
    supports = np.concatenate([0.001 * rng.standard_normal(1_000), [0.5, 0.02]])
    variances = np.full(1_002, 0.001**2)
    mean, spread = Prior.of(supports, variances).posterior(supports, variances)
    assert mean[-2:].tolist() == [0.5, 0.02]
    assert spread[-2:].tolist() == variances[-2:].tolist()


def estimates_of(pairs: np.ndarray, singles: np.ndarray, supports: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return what is expected of pairs, and the variances around that, (2, pairs)."""
    bounds = pair_bounds(singles, np.zeros(len(singles)), pairs)
    found = shrunk(supports, variances, bounds, 0.02).estimates()
    return np.array([(value.expected, value.spread) for value in found]).T


def test_pairs_shrink_toward_their_items() -> None:
    """A noisy pair moves toward its items' product with a lift; a clear one stays; none exceeds its items."""
    singles = np.array([0.2, 0.3, 0.05])
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    supports, variances = np.array([0.1, 0.04, 0.2]), np.array([1.0, 1e-8, 1e-8])
    found, spread = estimates_of(pairs, singles, supports, variances)
    assert found[0] == pytest.approx((1 + 0.3 * 0.8 * 0.7) * 0.06, rel=0.03)
    assert found[1] == pytest.approx(0.04, rel=1e-3)  # far beyond the noise
    assert found[2] == pytest.approx(0.05, rel=1e-2)
    assert spread[0] < variances[0]


def test_popular_items_leave_pairs_little_room() -> None:
    """Two items that nine in ten have are held together by eight in ten at least, whatever was measured."""
    bounds = pair_bounds(np.array([0.9, 0.9]), np.array([0.0, 0.0]), np.array([[0, 1]]))
    assert (bounds.least[0], bounds.most[0]) == pytest.approx((0.8, 0.9))
    assert 0.8 < bounds.guess[0] < 0.9
    assert shrunk(np.array([0.1]), np.array([0.01]), bounds, 0.02).estimates()[0].expected >= 0.8
    unsure = pair_bounds(np.array([0.9, 0.9]), np.array([0.05, 0.05]), np.array([[0, 1]]))
    assert (unsure.least[0], unsure.most[0]) == pytest.approx((0.7, 0.95))


MARKET = {
    (0,): 0.4, (1,): 0.3, (2,): 0.2, (3,): 0.1, (0, 1): 0.2, (0, 2): 0.15, (1, 2): 0.12, (0, 3): 0.01,
}  # fmt: skip
KNOWN: Knowledge = {itemset: measured(support, 1e-9) for itemset, support in MARKET.items()}
EVIDENCE = Evidence({itemset: Average(support, 1e-9) for itemset, support in MARKET.items()}, {})
FLAT = Prior(np.linspace(0.0, 1.0, 11), np.full(11, 1 / 11))


def test_larger_itemsets_are_guessed_from_their_subsets() -> None:
    """The guess is the geometric mean of the least s(A∖i)·s(A∖j)/s(A∖ij) and of the most that the subsets allow."""
    independent = min(0.2 * 0.15 / 0.4, 0.2 * 0.12 / 0.3, 0.15 * 0.12 / 0.2)
    guess, least, most = guessed((0, 1, 2), KNOWN)
    assert most == pytest.approx(0.12, abs=1e-4)
    assert guess == pytest.approx((independent * 0.12) ** 0.5)
    assert least == pytest.approx(max(0.2 + 0.15 - 0.4, 0.2 + 0.12 - 0.3, 0.15 + 0.12 - 0.2))


def test_growing_joins_what_is_supported() -> None:
    """Only itemsets whose subsets may all be frequent grow; what is measured counts, and is part of the evidence."""
    asked = []

    def measure(itemsets: list[Itemset]) -> dict[Itemset, Average]:
        asked.append(itemsets)
        return {itemset: Average(0.11, 1e-9) for itemset in itemsets if len(itemset) == 3}

    known, evidence = believed(EVIDENCE, FLAT, 6, 4, measure)
    assert [(0, 1, 2)] in asked
    assert known[0, 1, 2].expected == pytest.approx(0.11, abs=1e-3)
    assert evidence.all[0, 1, 2] == evidence.fresh[0, 1, 2] == Average(0.11, 1e-9)
    assert known[1, 3].expected > 0  # a pair that nobody was asked about
    unasked, same = believed(EVIDENCE, FLAT, 6, 3)
    assert unasked[0, 1, 2].expected == pytest.approx(guessed((0, 1, 2), unasked)[0], rel=0.2)
    assert same == EVIDENCE


def test_candidates_are_cut_by_what_they_may_reach() -> None:
    """Of too many pairs those of the largest upper bounds remain, wherever their items stand in the catalogue."""
    n = 110
    supports = np.linspace(0.001, 0.9, n)  # the last items are the popular ones
    evidence = Evidence({(i,): Average(s, 1e-12) for i, s in enumerate(supports.tolist())}, {})
    known, _ = believed(evidence, FLAT, n, 2)
    pairs = [a for a in known if len(a) == 2]
    assert len(pairs) == MOST_GUESSED < n * (n - 1) // 2
    assert (n - 2, n - 1) in known
    assert (0, 1) not in known


def test_how_far_pairs_lie_from_their_product_is_learnt(rng: np.random.Generator) -> None:
    """Noise is not taken for support where pairs lie at their items' product, nor support for noise elsewhere."""
    n, noise, rises = 24, 0.06, {}
    singles: dict[Itemset, Average] = {(i,): Average(0.5, 1e-9) for i in range(n)}
    pairs: list[Itemset] = [(i, j) for i in range(n) for j in range(i + 1, n)]
    guess = 0.25 * (1 + 0.3 * 0.25)
    for spread in (0.0, 0.15):
        truth = np.clip(guess + spread * rng.standard_normal(len(pairs)), 0.02, 0.48)
        seen = truth + noise * rng.standard_normal(len(pairs))
        measured_pairs = {a: Average(s, noise**2) for a, s in zip(pairs, seen.tolist(), strict=True)}
        known, _ = believed(Evidence(singles | measured_pairs, {}), FLAT, n, 2)
        expected = np.array([known[a].expected for a in pairs])
        assert np.std(expected - truth) < 1.01 * noise
        rises[spread] = np.std(expected - guess)
    assert rises[0.0] < 0.35 * noise  # four fifths of the noise stayed with a spread as wide as pairs are large
    assert rises[0.15] > 0.1


def test_patterns_are_told_from_chance_by_their_likelihood(rng: np.random.Generator) -> None:
    """Of thousands of pairs of rare items noise makes none frequent, while a real pattern keeps its support."""
    singles = np.full(100, 0.03)
    left, right = np.triu_indices(100, 1)
    pairs = np.column_stack([left, right])
    supports = 0.005 * rng.standard_normal(len(pairs))
    supports[7] = 0.025
    found, _ = estimates_of(pairs, singles, supports, np.full(len(pairs), 0.005**2))
    assert found[7] > 0.02
    assert np.median(found) < 0.003
    assert (np.delete(found, 7) > 0.02).sum() <= 2
