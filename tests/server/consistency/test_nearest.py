"""Consistent supports: nearest to the estimates, and such that transactions can have them."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_array

from assocpriv.core.errors import EstimateError
from assocpriv.server.consistency import inequalities
from assocpriv.server.consistency import nearest as consistent
from assocpriv.server.consistency.inequalities import subset_rows
from assocpriv.server.consistency.nearest import consistent_supports, sparse_covariance

THREE = [frozenset(s) for s in ("a", "b", "c", "ab", "ac", "bc", "abc")]
ACCURACY = 1e-5  # standard errors: ten times what the documentation promises


@pytest.fixture
def local(monkeypatch):
    """Take every table for one that does not fit the program of transactions: inequalities alone remain."""
    monkeypatch.setattr(consistent, "parts_of", lambda *args: None)


def projected(*args, **options):
    """The consistent supports alone."""
    return consistent_supports(*args, **options).supports


def atoms_by_definition(sets, x):
    """Σ_{E⊆B⊆A} (−1)^{|B|−|E|} x_B for every A in the table and E ⊆ A, the obvious way."""
    value = {frozenset(s): v for s, v in zip(sets, x, strict=True)} | {frozenset(): 1.0}
    found = []
    for whole in map(frozenset, sets):
        for size in range(len(whole) + 1):
            for inner in map(frozenset, combinations(sorted(whole), size)):
                rest = sorted(whole - inner)
                more = [frozenset(extra) for k in range(len(rest) + 1) for extra in combinations(rest, k)]
                found.append(sum((-1) ** len(extra) * value[inner | extra] for extra in more))
    return np.array(found)


def random_table(rng, n_items, n_generators, largest=4):
    """A table closed under subsets, in random order, and its supports in 200 random transactions."""
    sets = {frozenset([i]) for i in range(n_items)}
    for _ in range(n_generators):
        whole = rng.choice(n_items, size=min(n_items, int(rng.integers(2, largest + 1))), replace=False).tolist()
        sets |= {frozenset(part) for k in range(1, len(whole) + 1) for part in combinations(whole, k)}
    ordered = sorted(sets, key=sorted)
    chosen = [ordered[i] for i in rng.permutation(len(ordered))]
    shown = rng.random((200, n_items)) < rng.random(n_items)
    return chosen, np.array([shown[:, sorted(s)].all(axis=1).mean() for s in chosen])


def random_covariance(rng, sigma):
    """A positive definite covariance with these standard errors."""
    factors = rng.normal(size=(len(sigma), 2 * len(sigma)))
    product = factors @ factors.T
    scale = sigma / np.sqrt(np.diag(product))
    return product * scale[:, None] * scale


def distance(x, y, covariance):
    """‖x − y‖_V."""
    return float(np.sqrt((x - y) @ np.linalg.solve(covariance, x - y)))


@pytest.mark.parametrize(
    ("supports", "variance", "nearest"),
    [
        # the pair is above a: both move to their mean, by 1/20 each, or in the proportion of their variances
        ([0.2, 0.5, 0.3], [1, 1, 1], [0.25, 0.5, 0.25]),
        ([0.2, 0.5, 0.3], [3, 1, 1], [0.275, 0.5, 0.275]),
        # the pair is above both, all three meet at their mean
        ([0.2, 0.2, 0.5], [1, 1, 1], [0.3, 0.3, 0.3]),
        # below 0: the pair moves alone
        ([0.2, 0.3, -0.1], [1, 1, 1], [0.2, 0.3, 0.0]),
        # a + b − ab ≤ 1 is short by 0.3
        ([0.9, 0.8, 0.4], [1, 1, 1], [0.8, 0.7, 0.5]),
        # and with errors 1, 1, 2: by the variances, 0.05, 0.05, 0.2
        ([0.9, 0.8, 0.4], [1, 1, 4], [0.85, 0.75, 0.6]),
        # a is above 1
        ([1.4, 0.5, 0.5], [1, 1, 1], [1.0, 0.5, 0.5]),
    ],
)
@pytest.mark.parametrize("unit", [1e-6, 1.0])
def test_cases_solved_by_hand(supports, variance, nearest, unit):
    """Two items and their pair go where a hand calculation sends them, whatever the unit of the variance."""
    x = projected(["a", "b", "ab"], np.array(supports), unit * np.array(variance, dtype=float))
    np.testing.assert_allclose(x, nearest, rtol=0, atol=1e-9)


def test_covariance_moves_what_is_free():
    """With x_ab ≤ x_a broken by 1/10, b follows in proportion of Cov(b, a − ab), as Vg/(g'Vg) says."""
    covariance = np.array([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1.0]])
    x = projected(["a", "b", "ab"], np.array([0.2, 0.5, 0.3]), covariance)
    np.testing.assert_allclose(x, [0.25, 0.525, 0.25], atol=1e-9)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("full", [False, True])
def test_nothing_is_nearer_than_the_projection(seed, full, local):
    """A general optimizer finds no consistent supports nearer, and the ones it finds are these."""
    rng = np.random.default_rng(seed)
    sets, truth = random_table(rng, 4, 2, largest=3)
    sigma = 10 ** rng.uniform(-2, -0.5, len(sets))
    estimates = truth + sigma * rng.normal(size=len(sets))
    covariance = random_covariance(rng, sigma) if full else np.diag(sigma**2)
    x = projected(sets, estimates, covariance if full else sigma**2)
    assert atoms_by_definition(sets, x).min() >= -1e-9

    inverse = np.linalg.inv(covariance / np.outer(sigma, sigma))
    start = (np.array([0.5 ** len(s) for s in sets]) - estimates) / sigma
    found = minimize(
        lambda y: y @ inverse @ y,
        start,
        jac=lambda y: 2 * inverse @ y,
        constraints={"type": "ineq", "fun": lambda y: atoms_by_definition(sets, estimates + sigma * y)},
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    assert distance(x, estimates, covariance) ** 2 <= found.fun + 1e-7
    np.testing.assert_allclose((x - estimates) / sigma, found.x, atol=1e-3)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 7), st.integers(0, 5), st.booleans())
def test_projection_is_consistent_and_nearer_to_the_truth(seed, n_items, n_generators, full):
    """Every atom is non-negative, and the distance to the true supports, measured in V, never grows."""
    rng = np.random.default_rng(seed)
    sets, truth = random_table(rng, n_items, n_generators)
    sigma = 10 ** rng.uniform(-3, 0, len(sets))
    covariance = random_covariance(rng, sigma) if full else np.diag(sigma**2)
    estimates = truth + np.linalg.cholesky(covariance) @ rng.normal(size=len(sets))
    x = projected(sets, estimates, csr_array(covariance) if full else sigma**2)
    assert atoms_by_definition(sets, x).min() >= -1e-9
    assert distance(x, truth, covariance) <= distance(estimates, truth, covariance) * (1 + ACCURACY) + ACCURACY


def test_error_is_lower_on_average():
    """Over 100 noisy tables the root mean square error falls clearly, here below 0.8 of that of the estimates."""
    rng = np.random.default_rng(3)
    raw_error, error = [], []
    for _ in range(100):
        sets, truth = random_table(rng, 6, 4, largest=3)
        estimates = truth + 0.1 * rng.normal(size=len(sets))
        raw_error.append(np.mean((estimates - truth) ** 2))
        error.append(np.mean((projected(sets, estimates, np.full(len(sets), 0.01)) - truth) ** 2))
    assert np.sqrt(np.mean(error)) < 0.8 * np.sqrt(np.mean(raw_error))


@pytest.mark.parametrize("seed", range(5))
def test_consistent_estimates_stay_as_they_are(seed):
    """Supports of transactions are returned to the last bit, and a second projection changes nothing."""
    rng = np.random.default_rng(seed)
    sets, truth = random_table(rng, 6, 4)
    sigma = np.full(len(sets), 0.05)
    assert np.array_equal(projected(sets, truth, sigma**2), truth)
    once = projected(sets, truth + sigma * rng.normal(size=len(sets)), sigma**2)
    assert np.array_equal(projected(sets, once, sigma**2), once)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("full", [False, True])
def test_order_of_rows_does_not_matter(seed, full):
    """Permuted rows give permuted results."""
    rng = np.random.default_rng(seed)
    sets, truth = random_table(rng, 6, 4)
    sigma = 10 ** rng.uniform(-2, -1, len(sets))
    covariance = random_covariance(rng, sigma) if full else np.diag(sigma**2)
    estimates = truth + sigma * rng.normal(size=len(sets))
    order = rng.permutation(len(sets))
    x = projected(sets, estimates, covariance)
    permuted = projected([sets[i] for i in order], estimates[order], covariance[np.ix_(order, order)])
    assert (abs(permuted - x[order]) <= ACCURACY * sigma[order]).all()


def test_forms_of_the_variance_agree():
    """A vector, a dense diagonal matrix and a sparse one say the same."""
    estimates = np.array([0.2, 0.5, 0.3, 0.4, 0.1, 0.2, 0.3])
    variance = np.linspace(0.5, 2, 7)
    results = [
        projected(THREE, estimates, form) for form in (variance, np.diag(variance), csr_array(np.diag(variance)))
    ]
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def test_maximal_itemsets_are_enough():
    """The atoms used are those of maximal itemsets; every other atom is a sum of them with weights 0 and 1."""
    sets = ["a", "b", "c", "d", "ab", "ac", "bc", "abc", "cd"]
    matrix, offset = inequalities.atoms_of(subset_rows(sets))
    assert matrix.shape == (8 + 4, 9)
    everything = np.column_stack([atoms_by_definition(sets, row) for row in np.vstack([np.eye(9), np.zeros(9)])])
    rows, constant = (everything[:, :9] - everything[:, 9:]), everything[:, 9]
    used = {(*row, c) for row, c in zip(matrix.toarray().tolist(), offset.tolist(), strict=True)}
    everyone = {(*row, c) for row, c in zip(rows.tolist(), constant.tolist(), strict=True)}
    assert used < everyone
    # that of A = E = a, x_a ≥ 0, is the sum of those atoms of abc (after the 4 of cd) that hold a: odd masks
    a_alone = rows[1].tolist()
    assert a_alone == [1.0] + [0.0] * 8
    assert (*a_alone, 0.0) not in used
    assert matrix.toarray()[5:12:2].sum(axis=0).tolist() == a_alone


def test_subsets_are_found_by_mask():
    """Every mask leads to the row of that subset, whatever the order of the table."""
    rng = np.random.default_rng(0)
    sets, _ = random_table(rng, 6, 5)
    for level in subset_rows(sets):
        for row, subsets in zip(level.rows, level.subsets, strict=True):
            items = [next(iter(sets[subsets[1 << i]])) for i in range(len(sets[row]))]
            for mask, found in enumerate(subsets[1:], start=1):
                assert sets[found] == {item for i, item in enumerate(items) if mask >> i & 1}
            assert subsets[0] == len(sets)


def test_unobserved_rows_are_unknown():
    """Without an estimate or a variance a row is NaN, the others agree with some value of it, and bounds hold."""
    estimates = np.array([np.nan, 0.2, 0.9, 0.6, 0.1, 0.4, 0.7])
    variance = np.array([1, 1, 1, np.inf, 1, 1, 1.0])
    x = projected(THREE, estimates, variance)
    assert np.isnan(x).tolist() == [True, False, False, True, False, False, False]
    value = dict(zip(THREE, x, strict=True))
    for small, large in combinations(THREE, 2):
        if small < large and not np.isnan(value[small] + value[large]):
            assert value[large] <= value[small] + 1e-9
    assert np.isnan(projected(THREE, np.full(7, np.nan), np.ones(7))).all()
    assert np.isnan(projected(THREE, estimates, np.full(7, np.inf))).all()


def test_unknown_row_does_not_pull():
    """A row of infinite variance gives way entirely: the other two of a chain stay where they are."""
    x = projected(["a", "b", "ab"], np.array([0.1, 0.5, 0.4]), np.array([np.inf, 1, 1]))
    np.testing.assert_allclose(x[1:], [0.5, 0.4], atol=1e-9)


def test_estimates_without_error_stay_put():
    """What is known exactly moves by no more than 1e-4 squared of what the others move."""
    x = projected(["a", "b", "ab"], np.array([0.2, 0.5, 0.3]), np.array([0.0, 1, 1]))
    np.testing.assert_allclose(x, [0.2, 0.5, 0.2], atol=1e-8)
    np.testing.assert_allclose(
        projected(["a", "b", "ab"], np.array([0.2, 0.5, 0.3]), np.zeros(3)), [0.25, 0.5, 0.25], atol=1e-9
    )


def test_correlations_are_shrunk_until_positive():
    """Of an impossible covariance, all correlations are scaled by one factor, to a least eigenvalue of 1e-4."""
    correlation = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    off = csr_array(correlation - np.eye(3))
    used = consistent._shrunk(off).toarray()
    assert np.linalg.eigvalsh(used)[0] == pytest.approx(consistent.LEAST_EIGENVALUE, rel=1e-6)
    ratio = (used - np.eye(3))[off.toarray() != 0] / off.toarray()[off.toarray() != 0]
    assert np.ptp(ratio) < 1e-12
    fine = csr_array(np.array([[0, 0.5], [0.5, 0]]))
    np.testing.assert_array_equal(consistent._shrunk(fine).toarray(), np.eye(2) + fine.toarray())
    x = projected(["a", "b", "ab"], np.array([0.2, 0.5, 0.3]), correlation)
    assert atoms_by_definition(["a", "b", "ab"], x).min() >= -1e-9


def test_least_eigenvalue_of_a_large_matrix_is_bounded():
    """Where one eigenvalue is computed instead of all, the bound is below it and close."""
    rng = np.random.default_rng(5)
    n = consistent._DENSE + 100
    half = csr_array(np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.02), 1))
    matrix = half + half.T
    least = np.linalg.eigvalsh(matrix.toarray())[0]
    assert least - 1e-3 <= consistent._least_eigenvalue(matrix) <= least + 1e-9


def test_sparse_covariance_holds_what_is_at_hand():
    """Entries are where A ∪ B is in the table, with the values of their own pattern, and nowhere else."""
    sets = ["a", "b", "c", "d", "ab", "ac", "bc", "abc", "cd"]
    asked = []

    def product(rows, left, right):
        """Cov(A, B) = (row of A + 1)(row of B + 1)/1000, whoever asks."""
        a, b = (rows[:, sum(bit << i for i, bit in enumerate(m))] + 1.0 for m in (left, right))
        asked.append((left, right, len(rows)))
        return a * b / 1000

    rows = np.arange(1, 10)
    found = sparse_covariance(sets, rows**2 / 1000, product).toarray()
    table = {frozenset(s) for s in sets}
    for i, left in enumerate(sets):
        for j, right in enumerate(sets):
            there = i == j or frozenset(left) | frozenset(right) in table
            assert found[i, j] == pytest.approx((i + 1) * (j + 1) / 1000 if there else 0.0)
    assert ([1, 1], [1, 1], 4) in asked

    # a variance raised fourfold raises covariances twofold
    raised = sparse_covariance(sets, np.where(rows == 1, 4, 1) * rows**2 / 1000, product).toarray()
    np.testing.assert_allclose(raised[0, 1:], 2 * found[0, 1:])
    np.testing.assert_allclose(raised[1:, 1:], found[1:, 1:])


def test_single_items_are_clipped():
    """Items alone are independent of each other and only clipped; their covariance matrix is diagonal."""
    covariance = sparse_covariance(["a", "b", "c"], np.ones(3), lambda rows, a, b: np.ones(len(rows)))
    x = projected(["a", "b", "c"], np.array([-0.3, 1.2, 0.4]), covariance)
    np.testing.assert_allclose(x, [0, 1, 0.4], atol=1e-9)


def test_empty_table():
    """Nothing gives nothing."""
    assert projected([], np.array([]), np.array([])).shape == (0,)
    assert subset_rows([]) == []
    assert sparse_covariance([], np.array([]), lambda rows, a, b: np.ones(len(rows))).shape == (0, 0)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (["a", "ab"], "lacks one of its items"),
        (["a", "b", "c", "ab", "abc"], "lacks a subset of the itemset in row 4"),
        (["a", "b", "a"], "there twice"),
        (["a", "b", "ab", "ba"], "there twice"),
        (["a", "aa"], "there twice"),
        (["a", ""], "is empty"),
    ],
)
def test_tables_that_are_not_closed_are_refused(sets, message):
    """A missing subset, a repeated or an empty itemset is an error that names rows and no items."""
    with pytest.raises(EstimateError, match=message):
        projected(sets, np.full(len(sets), 0.5), np.ones(len(sets)))


@pytest.mark.parametrize(
    ("supports", "variance", "message"),
    [
        ([0.1, 0.2], [1, 1, 1], "one support for each"),
        ([0.1, 0.2, 0.3], [1, 1], "must be"),
        ([0.1, 0.2, 0.3], [[1, 1, 1]], "must be"),
        ([0.1, 0.2, 0.3], [1, -1, 1], "negative, as it is in row 1"),
    ],
)
def test_wrong_sizes_and_variances_are_refused(supports, variance, message):
    """Sizes must match and variances be at least 0."""
    with pytest.raises(EstimateError, match=message):
        projected(["a", "b", "ab"], np.array(supports), np.array(variance, dtype=float))


def test_solver_that_gives_up_is_an_error(monkeypatch, local):
    """A solver that ends without a solution, whatever is tried, is reported."""
    monkeypatch.setattr(consistent, "_projected", lambda *args, **options: (np.zeros(3), "MaxIterations"))
    covariance = np.eye(3) + 0.1
    with pytest.raises(EstimateError, match="ended with MaxIterations"):
        projected(["a", "b", "ab"], np.array([0.2, 0.5, 0.3]), covariance)


def test_small_errors_are_raised_where_the_solver_stops(monkeypatch, local):
    """After a failure, errors below a share of the largest one are raised, in steps, until the solver succeeds."""
    seen = []
    solve = consistent._projected

    def stubborn(s, sigma, *args, **options):
        seen.append(sigma.min() / sigma.max())
        x, status = solve(s, sigma, *args, **options)
        return x, status if len(seen) > 3 else "NumericalError"

    monkeypatch.setattr(consistent, "_projected", stubborn)
    x = projected(["a", "b", "ab"], np.array([0.2, 0.5, 0.3]), np.array([1e-4, 1, 1]) ** 2)
    np.testing.assert_allclose(seen, [1e-4, 1e-4, 1e-4, 1e-3])
    np.testing.assert_allclose(x, [0.2, 0.5, 0.2], atol=1e-5)


def test_correlations_are_given_up_last(monkeypatch, local):
    """Where no least error helps, the covariances are left out before giving up."""
    solve = consistent._projected

    def only_without(s, sigma, correlation, *args, **options):
        x, status = solve(s, sigma, correlation, *args, **options)
        return x, status if correlation is None else "NumericalError"

    monkeypatch.setattr(consistent, "_projected", only_without)
    covariance = np.array([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1.0]])
    x = projected(["a", "b", "ab"], np.array([0.2, 0.5, 0.3]), covariance)
    np.testing.assert_allclose(x, [0.25, 0.5, 0.25], atol=1e-9)


def test_mending_moves_no_further_than_needed():
    """What lies outside by 1e-8 comes back inside by a mix with weight near 1e-8; what lies inside stays."""
    sets = ["a", "b", "ab"]
    matrix, offset = inequalities.atoms_of(subset_rows(sets))
    outside = np.array([0.3, 0.5, 0.3 + 1e-8])
    within = consistent._inside(subset_rows(sets), 2)
    mended = consistent._mend(outside, within, matrix, offset)
    assert atoms_by_definition(sets, mended).min() >= -1e-16
    assert 0 < abs(mended - outside).max() < 1e-7
    inside = np.array([0.3, 0.5, 0.2])
    assert np.array_equal(consistent._mend(inside, within, matrix, offset), inside)
