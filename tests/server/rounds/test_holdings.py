"""Synthetic holdings have the supports that are known, and tell what sampling leaves of itemsets as entries."""

import numpy as np
import pytest

from assocpriv.server.rounds.holdings import SyntheticHoldings, surviving_entries
from assocpriv.server.rounds.knowledge import Knowledge, measured
from assocpriv.server.rounds.sampling_model import Sampling, SizeShares


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
    assert holdings.surviving(Sampling(4), np.cumsum(holdings.sizes.shares)[:4]) == pytest.approx(np.ones(4))
    assert (holdings.surviving(Sampling(1), np.cumsum(holdings.sizes.shares)[:1]) < 1).all()


def test_long_baskets_are_foreseen() -> None:
    """Baskets are as long as their sizes say, and hold as many entries as the supports add up to, in blocks too."""
    known: Knowledge = {(item,): measured(0.1, 1e-6) for item in range(30)}
    sizes = SizeShares(np.array([0, 2, 24]), np.array([0.5, 0.4, 0.1]))  # a tenth of the baskets hold four fifths
    holdings = SyntheticHoldings.of([(item,) for item in range(30)], known, sizes)
    held = holdings.holds.sum(axis=1)
    assert np.average(held, weights=holdings.weights) == pytest.approx(3.0, rel=0.01)
    assert np.average(held > 12, weights=holdings.weights) == pytest.approx(0.1, abs=0.03)
    cumulative = np.array([0.5, 0.6, 0.9])
    assert holdings.surviving(Sampling(3), cumulative).mean() == pytest.approx(0.2 + 0.8 * 3 / 24, abs=0.1)
    assert holdings.surviving(Sampling(3, 30, 15), cumulative).min() > 0.9  # in a block of two entries


def test_surviving_shares_are_what_sampling_leaves() -> None:
    """Of entries held by all M are left; what is held alone survives whole, and what other tables say counts."""
    pair, sizes = frozenset(["a", "b"]), SizeShares(np.arange(1, 13), np.full(12, 1 / 12))
    sure = {frozenset(["a"]): 0.99, frozenset(["b"]): 0.99, pair: 0.98}
    two = SizeShares(np.array([2]), np.array([1.0]))
    assert surviving_entries(sure, {}, two, 1) == pytest.approx(np.full(3, 1 / 3), abs=0.02)
    alone = {frozenset(["a"]): 0.01, frozenset(["b"]): 0.01}
    assert surviving_entries(alone, {}, sizes, 1).min() > 0.9
    known = {frozenset(["a"]): 0.9, frozenset(["b"]): 0.9, pair: 0.85}
    assert surviving_entries(alone, known, sizes, 1).max() < 0.7
    assert len(surviving_entries({}, known, sizes, 1)) == 0
