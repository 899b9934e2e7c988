"""Tests of what is expected of supports: shrinking, guesses from subsets, two modes, growth."""

import numpy as np
import pytest

from assocpriv.server.posterior import (
    MOST_GUESSED,
    Average,
    Evidence,
    Itemset,
    Knowledge,
    Prior,
    believed,
    guessed,
    measured,
    pair_bounds,
    shrunk,
)


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
