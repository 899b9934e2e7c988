"""Synthetic holdings have the supports that are known, and tell what sampling leaves of itemsets as entries."""

import numpy as np
import pytest

from assocpriv.server.posterior import Knowledge, Sampling, SizeShares, measured
from assocpriv.server.rounds import Shown, SyntheticHoldings, surviving_entries, surviving_shares


def test_synthetic_baskets_have_the_known_supports() -> None:
    """Entries held by baskets along the tree of pairs have about the supports of items and of the tree's pairs."""
    known: Knowledge = {(0,): measured(0.4, 1e-6), (1,): measured(0.3, 1e-6), (2,): measured(0.1, 1e-6)}
    known |= {(0, 1): measured(0.25, 1e-6), (0, 2): measured(0.04, 1e-6), (1, 2): measured(0.09, 1e-6)}
    sizes = SizeShares(np.array([10]), np.ones(1))  # that baskets are equally long changes nothing
    holdings = SyntheticHoldings.of([(0,), (1,), (0, 1), (1, 2)], known, sizes)
    assert np.average(holdings.holds, axis=0, weights=holdings.weights) == pytest.approx(
        [0.4, 0.3, 0.25, 0.09], abs=0.03
    )
    assert (holdings.holds[:, 2] == holdings.holds[:, 0] & holdings.holds[:, 1]).all()
    assert holdings.surviving(Sampling(4)) == pytest.approx(np.ones(4))
    assert (holdings.surviving(Sampling(1)) < 1).all()


def test_long_baskets_are_foreseen() -> None:
    """Baskets are as long as their sizes say, and hold as many entries as the supports add up to, in blocks too."""
    known: Knowledge = {(item,): measured(0.1, 1e-6) for item in range(30)}
    sizes = SizeShares(np.array([0, 2, 24]), np.array([0.5, 0.4, 0.1]))  # a tenth of the baskets hold four fifths
    holdings = SyntheticHoldings.of([(item,) for item in range(30)], known, sizes)
    held = holdings.holds.sum(axis=1)
    assert np.average(held, weights=holdings.weights) == pytest.approx(3.0, rel=0.01)
    assert np.average(held > 12, weights=holdings.weights) == pytest.approx(0.1, abs=0.03)
    assert holdings.surviving(Sampling(3)).mean() == pytest.approx(0.2 + 0.8 * 3 / 24, abs=0.1)
    assert holdings.surviving(Sampling(3, 30, 15)).min() > 0.9  # in a block of two entries


def test_weights_are_those_that_reports_show() -> None:
    """Weighted baskets show what reports do, how many entries are held included; vague reports say nothing."""
    known: Knowledge = {(item,): measured(0.2, 1e-6) for item in range(6)}
    first = SyntheticHoldings.of([(item,) for item in range(6)], known, SizeShares(np.array([2]), np.ones(1)))
    told, few = np.array([0.3, 0.1, 0.2, 0.2, 0.2, 0.2]), np.array([0.2, 0.6])
    near = first.weighted(Sampling(2), Shown(told, np.full(6, 1e-4), few, np.full(2, 1e-4)))
    assert near.supports * near.surviving(Sampling(2)) == pytest.approx(told, abs=1e-3)
    assert np.cumsum(near.sizes.shares)[:2] == pytest.approx(few, abs=1e-3)
    vague = first.weighted(Sampling(2), Shown(told, np.full(6, 100.0), few, np.full(2, 100.0)))
    assert vague.weights == pytest.approx(first.weights, rel=1e-3)


def test_patterns_that_no_earlier_round_saw(rng: np.random.Generator) -> None:
    """Reports of a pattern's parts tell that its holders lose more; by pairs as known before they lose too little.

    Each of 48 supports lies within 4.9 stated errors, bias included: by chance one does not in some 21,000 runs.
    """
    entries = [(item,) for item in range(20)] + [(i, j) for i in range(8) for j in range(i + 1, 8)]
    pattern = rng.random(200_000) < 0.05
    items = (rng.random((200_000, 20)) < 0.06) | (pattern[:, None] & (np.arange(20) < 8))
    holds = np.stack([items[:, list(entry)].all(axis=1) for entry in entries], axis=1)
    sampling, counts = Sampling(6), holds.sum(axis=1)
    kept = sampling.kept(np.maximum(np.arange(49), 1), 1)[counts]
    few, error = np.array([np.mean(counts <= j) for j in range(6)]), 0.001
    shares = (holds * kept[:, None]).mean(axis=0)
    shown = Shown(rng.normal(shares, error), np.full(48, error), rng.normal(few, error), np.full(6, error))
    known: Knowledge = {(item,): measured(0.11 if item < 8 else 0.06, 1e-6) for item in range(20)}
    known |= {pair: measured(0.11**2, 1e-6) for pair in entries if len(pair) == 2}  # as if nothing went together
    sizes = SizeShares(np.arange(len(np.bincount(items.sum(axis=1)))), np.bincount(items.sum(axis=1)) / 200_000)

    def furthest(left: np.ndarray) -> float:
        raw = shown.supports / left
        errors = np.hypot(error / left, raw - shown.supports)
        return float(np.abs((raw - holds.mean(axis=0)) / errors).max())

    assert furthest(surviving_shares(entries, known, sizes, sampling, shown)) < 4.9
    assert furthest(SyntheticHoldings.of(entries, known, sizes).surviving(sampling)) > 4.9


def test_surviving_shares_are_what_sampling_leaves() -> None:
    """Of entries held by all M are left; what is held alone survives whole, and what other tables say counts."""
    a, b = frozenset(["a"]), frozenset(["b"])
    pair, sizes = frozenset(["a", "b"]), SizeShares(np.arange(1, 13), np.full(12, 1 / 12))
    two = SizeShares(np.array([2]), np.array([1.0]))
    shown = {a: (0.33, 0.01), b: (0.33, 0.01), pair: (0.33, 0.01)}
    sure = {a: 0.99, b: 0.99, pair: 0.98}
    assert surviving_entries(shown, sure, two, 1) == pytest.approx(np.full(3, 1 / 3), abs=0.02)
    alone = {a: (0.01, 0.001), b: (0.01, 0.001)}
    assert surviving_entries(alone, {}, sizes, 1).min() > 0.9
    shown = {a: (0.5, 0.02), b: (0.45, 0.02)}
    assert surviving_entries(shown, {a: 0.9, b: 0.9, pair: 0.85}, sizes, 1).max() < 0.7
    assert len(surviving_entries({}, sure, sizes, 1)) == 0
