"""Realizable supports: what comes out is what some transactions have, and nothing of that kind is nearer."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import distance_to_transactions, nearest_of_transactions, transactions_of

from assocpriv.core.errors import EstimateError
from assocpriv.server.consistency import nearest as consistent
from assocpriv.server.consistency import realizable
from assocpriv.server.consistency.inequalities import subset_rows
from assocpriv.server.consistency.nearest import consistent_supports
from assocpriv.server.consistency.realizable import parts_of
from tests.server.consistency.test_nearest import ACCURACY, distance, random_covariance, random_table

PAIRS = ["a", "b", "c", "ab", "ac", "bc"]
TWO_PARTS = ["a", "b", "ab", "c", "d", "cd"]


def realizable_table(rng, n_items, largest):
    """A table, its supports in some transactions of at most ``largest`` items, standard errors and a covariance."""
    sets = [s for s in random_table(rng, n_items, int(rng.integers(0, 6)))[0] if len(s) <= largest]
    held = transactions_of(sets, 0, largest)
    truth = held @ rng.dirichlet(np.full(held.shape[1], 0.3))
    sigma = 10 ** rng.uniform(-3, 0, len(sets))
    return sets, truth, random_covariance(rng, sigma) if rng.random() < 0.5 else np.diag(sigma**2)


@pytest.mark.parametrize("fits", [True, False])
def test_three_items_whose_pairs_are_too_rare(fits, monkeypatch):
    """Supports .66 of three items and .31 of their pairs, which no baskets have, move until Σ x_i − Σ x_ij is 1."""
    if not fits:
        monkeypatch.setattr(consistent, "parts_of", lambda *args: None)
    found = consistent_supports(PAIRS, np.array([0.66] * 3 + [0.31] * 3), np.full(6, 1e-4))
    assert found.realizable is fits
    np.testing.assert_allclose(found.supports, [0.66 - 0.05 / 6] * 3 + [0.31 + 0.05 / 6] * 3, atol=1e-9)
    assert distance_to_transactions(PAIRS, found.supports, 0, 3) < 1e-9
    assert distance_to_transactions(PAIRS, [0.66] * 3 + [0.31] * 3, 0, 3) > 0.04


@pytest.mark.parametrize("fits", [True, False])
def test_one_item_a_transaction(fits, monkeypatch):
    """At M = 1 the supports of 20 noisy tables sum to at most 1; clipping alone leaves 13 of them impossible."""
    if not fits:
        monkeypatch.setattr(consistent, "parts_of", lambda *args: None)
    sets, impossible = ["a", "b", "c", "d", "e"], 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth = rng.dirichlet(np.ones(5))
        estimates = truth + 0.1 * rng.normal(size=5)
        impossible += np.clip(estimates, 0, 1).sum() > 1
        found = consistent_supports(sets, estimates, np.full(5, 0.01), largest=1)
        assert found.realizable is fits
        assert distance_to_transactions(sets, found.supports, 0, 1) < 1e-9
        assert distance(found.supports, truth, np.eye(5)) <= distance(estimates, truth, np.eye(5))
    assert impossible == 13


def test_one_item_a_transaction_by_hand():
    """.66, .5 and .2 with equal errors each give .12 to sum to 1; where every basket has one, .3, .2, .2 gain .1."""
    found = consistent_supports("abc", np.array([0.66, 0.5, 0.2]), np.ones(3), largest=1)
    np.testing.assert_allclose(found.supports, [0.54, 0.38, 0.08], atol=1e-9)
    free, all_have = (
        consistent_supports("abc", np.array([0.3, 0.2, 0.2]), np.ones(3), smallest=least, largest=1).supports
        for least in (0, 1)
    )
    assert free.tolist() == [0.3, 0.2, 0.2]
    np.testing.assert_allclose(all_have, [0.4, 0.3, 0.3], atol=1e-9)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(1, 6))
def test_what_comes_out_is_realizable_and_nearest(seed, n_items, largest):
    """A program over all sets of items finds the result realizable, none nearer, and the truth never further."""
    rng, largest = np.random.default_rng(seed), min(largest, n_items)
    sets, truth, covariance = realizable_table(rng, n_items, largest)
    estimates = truth + np.linalg.cholesky(covariance) @ rng.normal(size=len(sets))
    found = consistent_supports(sets, estimates, covariance, largest=largest)
    assert found.realizable
    assert distance_to_transactions(sets, found.supports, 0, largest) < 1e-9
    assert distance(found.supports, truth, covariance) <= distance(estimates, truth, covariance) + ACCURACY
    # the gap that bounds the distance to the nearest point, by all transactions and an inverse of its own
    gradient = np.linalg.solve(covariance, estimates - found.supports)
    best = (gradient @ transactions_of(sets, 0, largest)).max()
    assert best - gradient @ found.supports < 1e-7
    again = consistent_supports(sets, found.supports, covariance, largest=largest)
    assert np.array_equal(again.supports, found.supports)


@pytest.mark.parametrize("seed", range(12))
def test_the_nearest_is_that_of_other_software(seed):
    """Non-negative least squares over all transactions of up to 4 of 5 items ends at the same supports."""
    rng = np.random.default_rng(seed)
    largest = 1 + seed % 4
    sets, truth, covariance = realizable_table(rng, 5, largest)
    covariance = covariance + np.diag(np.full(len(sets), 1e-3))
    estimates = truth + np.linalg.cholesky(covariance) @ rng.normal(size=len(sets))
    found = consistent_supports(sets, estimates, covariance, largest=largest).supports
    nearest = nearest_of_transactions(sets, estimates, covariance, 0, largest)
    assert distance(found, nearest, covariance) < 1e-4


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(1, 6))
def test_supports_of_transactions_stay(seed, n_items, largest):
    """What transactions have is returned to the last bit, where it fits and where it does not."""
    rng, largest = np.random.default_rng(seed), min(largest, n_items)
    sets, truth, covariance = realizable_table(rng, n_items, largest)
    found = consistent_supports(sets, truth, covariance, largest=largest)
    assert found.realizable
    assert np.array_equal(found.supports, truth)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consistent, "parts_of", lambda *args: None)
        found = consistent_supports(sets, truth, covariance, largest=largest)
    assert not found.realizable
    np.testing.assert_allclose(found.supports, truth, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_where_it_does_not_fit_known_bounds_hold(seed, monkeypatch):
    """Inequalities alone leave the truth no further, and Σ x_i ≤ M, Σ_j x_ij ≤ (M − 1) x_i and atoms hold."""
    monkeypatch.setattr(consistent, "parts_of", lambda *args: None)
    rng = np.random.default_rng(seed)
    sets = [frozenset(c) for k in (1, 2) for c in combinations(range(8), k)]
    held = transactions_of(sets, 0, 3)
    truth = held @ rng.dirichlet(np.full(held.shape[1], 0.1))
    estimates = truth + 0.1 * rng.normal(size=len(sets))
    found = consistent_supports(sets, estimates, np.full(len(sets), 0.01), largest=3)
    x = dict(zip(sets, found.supports, strict=True))
    assert not found.realizable
    assert sum(x[frozenset([i])] for i in range(8)) <= 3 + 1e-9
    for i in range(8):
        others = [j for j in range(8) if j != i]
        with_i = sum(x[frozenset([i, j])] for j in others)
        assert with_i <= 2 * x[frozenset([i])] + 1e-9
        assert sum(x[frozenset([j])] for j in others) - with_i <= 3 * (1 - x[frozenset([i])]) + 1e-9
    for a, b, c in combinations(range(8), 3):
        ab, ac, bc = x[frozenset([a, b])], x[frozenset([a, c])], x[frozenset([b, c])]
        singles = [x[frozenset([i])] for i in (a, b, c)]
        assert sum(singles) - ab - ac - bc <= 1 + 1e-8
        assert ab + ac - bc <= singles[0] + 1e-8
        assert ab + bc - ac <= singles[1] + 1e-8
        assert ac + bc - ab <= singles[2] + 1e-8
    assert distance(found.supports, truth, np.eye(len(sets))) <= distance(estimates, truth, np.eye(len(sets)))


def test_parts_meet_in_the_size():
    """Two pairs of .75 each hold 3 items on average, yet no baskets of at most 3 items have both."""
    found = consistent_supports(TWO_PARTS, np.full(6, 0.75), np.ones(6), largest=3)
    assert found.realizable
    assert distance_to_transactions(TWO_PARTS, np.full(6, 0.75), 0, 3) > 0.1
    assert distance_to_transactions(TWO_PARTS, found.supports, 0, 3) < 1e-9
    nearest = nearest_of_transactions(TWO_PARTS, np.full(6, 0.75), np.eye(6), 0, 3)
    np.testing.assert_allclose(found.supports, nearest, atol=1e-6)
    free = consistent_supports(TWO_PARTS, np.full(6, 0.75), np.ones(6), largest=4)
    assert free.supports.tolist() == [0.75] * 6


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("apart", [False, True])
def test_adding_transactions_ends_where_listing_them_all_does(seed, apart, monkeypatch):
    """From a program that begins with few transactions the same supports come out."""
    rng = np.random.default_rng(seed)
    items = [range(4), range(4, 8)] if apart else [range(8)]
    sets = [frozenset(c) for some in items for k in (1, 2, 3) for c in combinations(some, k)]
    estimates = 0.4 ** np.array([len(s) for s in sets]) + 0.1 * rng.normal(size=len(sets))
    options = {"variance": np.full(len(sets), 0.01), "largest": 4}
    everything = consistent_supports(sets, estimates, **options)
    monkeypatch.setattr(realizable, "_LISTED", 3)
    monkeypatch.setattr(realizable, "_ADDED", 2)
    few = consistent_supports(sets, estimates, **options)
    assert everything.realizable
    assert few.realizable
    np.testing.assert_allclose(few.supports, everything.supports, atol=1e-6)
    assert distance_to_transactions(sets, few.supports, 0, 4) < 1e-9
    # ended before the gap is closed, nothing is claimed
    monkeypatch.setattr(realizable, "ROUNDS", 1)
    assert not consistent_supports(sets, estimates, **options).realizable


@pytest.mark.parametrize("limit", ["MOST_SUBSETS", "MOST_INCIDENCES", "MOST_ITEMSETS", "MOST_STEPS"])
def test_what_does_not_fit_is_not_claimed(limit, monkeypatch):
    """Beyond any limit the result is consistent locally and says so."""
    assert consistent_supports(TWO_PARTS, np.full(6, 0.75), np.ones(6), largest=3).realizable
    monkeypatch.setattr(realizable, limit, 5)
    assert parts_of(subset_rows(TWO_PARTS), 0, 3) is None
    assert not consistent_supports(TWO_PARTS, np.full(6, 0.75), np.ones(6), largest=3).realizable


def test_a_solver_that_fails_claims_nothing(monkeypatch):
    """Without a solution of the program of transactions the inequalities alone are used."""
    monkeypatch.setattr(realizable, "minimize_quadratic", lambda *args, **options: (np.zeros(9), "NumericalError"))
    found = consistent_supports(["a", "b", "ab"], np.array([0.2, 0.5, 0.3]), np.ones(3))
    assert not found.realizable
    np.testing.assert_allclose(found.supports, [0.25, 0.5, 0.25], atol=1e-9)


@pytest.mark.parametrize("noise", [0.0, 1e-6, 0.3])
def test_any_shares_are_made_shares_of_transactions(noise):
    """Whatever a solver leaves, also nothing at all, supports are those of transactions."""
    parts = parts_of(subset_rows(TWO_PARTS), 0, 3)
    problem = realizable._Problem(parts, 0, 3, np.ones(6, dtype=bool), np.zeros(6), np.ones(6), None)
    chosen = [realizable._first(part) for part in parts]
    steps = realizable._steps(problem, chosen)
    held, _, _ = realizable._shares(problem, chosen, steps)
    rng = np.random.default_rng(0)
    for _ in range(20):
        w = realizable._drawn(problem, chosen, steps, noise * rng.normal(size=held.shape[1]))
        assert w.min() >= 0
        assert distance_to_transactions(TWO_PARTS, held[:, : len(w)] @ w, 0, 3) < 1e-9


def test_unobserved_rows_are_unknown_here_too():
    """A row without an estimate is NaN, and the others are those of some transactions."""
    x = consistent_supports(PAIRS, np.array([0.66] * 3 + [0.31, 0.31, np.nan]), np.full(6, 1e-4), largest=2)
    assert x.realizable
    assert np.isnan(x.supports).tolist() == [False] * 5 + [True]
    known = PAIRS[:5]
    assert distance_to_transactions(known, x.supports[:5], 0, 2) < 1e-9


def test_itemsets_larger_than_transactions_are_refused():
    """A pair at M = 1 is an error that names its row."""
    with pytest.raises(EstimateError, match="row 2 has more than the 1 items"):
        consistent_supports(["a", "b", "ab"], np.full(3, 0.2), np.ones(3), largest=1)
