"""Tests of what several rounds know together: averages, shrinking, guesses, rankings."""

from fractions import Fraction

import numpy as np
import pytest

from assocpriv.server.rounds.knowledge import (
    Estimate,
    Knowledge,
    Prior,
    combined,
    grown,
    guessed,
    measured,
    ranked,
    shrunk_pairs,
)


def test_estimates_are_averaged_by_inverse_variance() -> None:
    """The average of estimates of one support has the least variance that weights allow, by fractions."""
    values = [(Fraction(1, 8), Fraction(1, 4)), (Fraction(1, 2), Fraction(1, 16)), (Fraction(1, 4), Fraction(1, 8))]
    weights = [1 / variance for _, variance in values]
    mean = sum(w * value for w, (value, _) in zip(weights, values, strict=True)) / sum(weights)
    found = combined([measured(float(value), float(variance)) for value, variance in values])
    assert found.support == found.expected == pytest.approx(float(mean), rel=1e-15)
    assert found.variance == found.spread == float(1 / sum(weights))
    assert found.variance < min(float(variance) for _, variance in values)


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


def test_pairs_shrink_toward_their_items() -> None:
    """A noisy pair moves toward 1.3 times its items' product; a clear one stays; none exceeds its items."""
    singles = np.array([0.2, 0.3, 0.05])
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    supports, variances = np.array([0.1, 0.04, 0.2]), np.array([1.0, 1e-8, 1e-8])
    found, spread = shrunk_pairs(singles, pairs, supports, variances)
    assert found[0] == pytest.approx(1.3 * 0.06, rel=0.01)
    assert found[1] == pytest.approx(0.04, rel=1e-3)  # far beyond the noise
    assert found[2] == pytest.approx(0.05, rel=1e-2)
    assert spread[0] < variances[0]


MARKET: Knowledge = {
    (0,): measured(0.4, 1e-6),
    (1,): measured(0.3, 1e-6),
    (2,): measured(0.2, 1e-6),
    (3,): measured(0.1, 1e-6),
    (0, 1): measured(0.2, 1e-6),
    (0, 2): measured(0.15, 1e-6),
    (1, 2): measured(0.12, 1e-6),
    (0, 3): measured(0.01, 1e-6),
}


def test_larger_itemsets_are_guessed_from_their_subsets() -> None:
    """The guess is the geometric mean of the least s(A∖i)·s(A∖j)/s(A∖ij) and of the most that the subsets allow."""
    independent = min(0.2 * 0.15 / 0.4, 0.2 * 0.12 / 0.3, 0.15 * 0.12 / 0.2)
    guess, most = guessed((0, 1, 2), MARKET)
    assert most == 0.12
    assert guess == pytest.approx((independent * most) ** 0.5)


def test_growing_joins_what_is_supported() -> None:
    """Only itemsets all of whose subsets have the least support grow; what is measured is averaged with the guess."""
    asked = []

    def measure(itemsets: list[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray]:
        asked.append(itemsets)
        return np.full(len(itemsets), 0.1), np.full(len(itemsets), 1e-9)

    known = grown(MARKET, 0.05, 4, measure)
    assert asked == [[(0, 1, 2)]]
    assert known[0, 1, 2].expected == pytest.approx(0.1, abs=1e-4)  # the guess is far less certain
    assert MARKET.items() <= known.items()
    capped = grown(MARKET, 0.05, 3, lambda itemsets: (np.full(len(itemsets), 0.9), np.full(len(itemsets), 1e-9)))
    assert capped[0, 1, 2].expected == pytest.approx(0.12, abs=1e-3)
    unasked = grown(MARKET, 0.05, 3, lambda _: None)
    assert unasked[0, 1, 2].expected == pytest.approx(guessed((0, 1, 2), MARKET)[0])


def test_patterns_are_told_from_chance_by_their_likelihood(rng: np.random.Generator) -> None:
    """Of thousands of pairs of rare items noise makes none frequent, while a real pattern keeps its support."""
    singles = np.full(100, 0.03)
    left, right = np.triu_indices(100, 1)
    pairs = np.column_stack([left, right])
    supports = 0.005 * rng.standard_normal(len(pairs))
    supports[7] = 0.025
    found, _ = shrunk_pairs(singles, pairs, supports, np.full(len(pairs), 0.005**2))
    assert found[7] > 0.02
    assert np.median(found) < 0.003
    assert (np.delete(found, 7) > 0.02).sum() <= 2
