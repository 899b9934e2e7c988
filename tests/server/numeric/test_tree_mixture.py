"""Mixtures of leaves: counts against loops, the truth and exact cases; joint growth box by box."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from assocpriv.guarantees.amplification import Guarantee
from assocpriv.numeric import ReleasedTreeClassifier
from assocpriv.plans.numeric.table_plan import CategoryColumn, Clear, NumberColumn, TablePlan, UniformNoise, Window
from assocpriv.plans.numeric.tree_model import NumberInput
from assocpriv.server.numeric.maximum_likelihood import early_stopped_em
from assocpriv.server.numeric.tree_growth import Box, GrowthLimits, Mixture, PositionedRecords, grow, prune
from assocpriv.server.numeric.tree_positions import ReleasedRecords, TreeChannel, _difference_basis, channel_of


def quarters(sizes):
    """Return the four boxes of two columns of ten intervals, with equal masses and uniform inside."""
    halves = [np.arange(10) < 5, np.arange(10) >= 5]
    pairs = product(halves, halves)
    return [
        Box(np.array(sizes) / 4, [np.tile(each / 5, (2, 1)) for each in pair], dict(enumerate(pair))) for pair in pairs
    ]


def released(columns, codes, labels, n_included=0):
    """Return records of a plan of these columns, categories in their own order."""
    plan = TablePlan(columns, n_included, Guarantee("1%", "99%") if n_included else None)
    return ReleasedRecords(codes, labels, [channel_of(plan, place) for place in range(len(columns))], 2)


def numbers(mechanism, optional=False):
    """Return two numbers of ten intervals."""
    return tuple(NumberColumn(name, mechanism, optional, Fraction(0), Fraction(1), 10) for name in "xy")


def exclusive(rng, n, reach=4):
    """Return raw intervals, released codes and classes of records whose class is an exclusive or of two halves."""
    raw = rng.integers(0, 10, (n, 2))
    labels = ((raw[:, 0] < 5) ^ (raw[:, 1] < 5)).astype(np.int64)
    codes = [(raw[:, place] + rng.integers(0, 2 * reach + 1, n)).astype(np.uint16) for place in range(2)]
    return raw, codes, labels


def test_raw_columns_are_counted(rng: np.random.Generator) -> None:
    """For raw columns, masses and distributions are those of the records."""
    codes, labels = list(rng.integers(0, 10, (2, 3000)).astype(np.uint8)), rng.integers(0, 2, 3000)
    columns = (numbers(Clear(10))[0], CategoryColumn("c", Clear(10), False, tuple("abcdefghij")))
    leaves = quarters(np.bincount(labels))
    Mixture(released(columns, codes, labels), rng).refit(leaves)
    for leaf in leaves:
        for k in (0, 1):
            here = (labels == k) & leaf.inside[0][codes[0]] & leaf.inside[1][codes[1]]
            assert leaf.mass[k] == pytest.approx(here.sum(), rel=1e-3)
            assert leaf.columns[1][k] == pytest.approx(np.bincount(codes[1][here], minlength=10) / here.sum(), abs=1e-4)


def test_boxes_together_have_the_results_of_single_boxes(rng: np.random.Generator) -> None:
    """Each row equals the reconstruction of AS00 on the channel of its box alone."""
    matrix = rng.dirichlet(np.ones(12), size=8).T
    counts = rng.multinomial(500, np.full(12, 1 / 12), size=3).astype(float)
    inside = np.array([np.arange(8) < 3, np.arange(8) >= 3, np.ones(8, dtype=bool)])
    found = early_stopped_em(counts, matrix, inside)
    for row, some, shares in zip(counts, inside, found, strict=True):
        assert shares[some] == pytest.approx(early_stopped_em(row, matrix[:, some]), abs=1e-9)
        assert not shares[~some].any()


def test_joint_growth_on_raw_records(rng: np.random.Generator) -> None:
    """Without noise the rule is found, also if missing values predict the class."""
    X = rng.random((4000, 2))
    X[rng.random(4000) < 0.2, 1] = np.nan
    y = (X[:, 0] < 0.5) ^ np.isnan(X[:, 1])
    tree = ReleasedTreeClassifier(method="joint").fit(X, y)
    assert tree.score(X, y) > 0.98


# ---- recount


def recounted(of, rng):
    """Return the quarters with the masses of a recount, and the shares at its start."""
    leaves, distributions = quarters(of.masses), of.shares
    Mixture(of, rng).recount(leaves, distributions)
    return leaves, distributions


def test_boxes_of_two_columns_are_closer_to_the_truth_than_positions(rng: np.random.Generator) -> None:
    """For an exclusive or, quarters of a class are empty: EM finds that, positions by single codes do not.

    With 20,000 records a share's standard error is below 0.01; the bounds are 0.05 and 0.15 of a class.
    """
    raw, codes, labels = exclusive(rng, 20_000)
    of = released(numbers(UniformNoise(10, 4)), codes, labels)
    leaves, distributions = recounted(of, rng)
    quarter, by_position = (
        2 * (values[:, 0] >= 5) + (values[:, 1] >= 5) for values in (raw, of.corrected(distributions, rng))
    )
    refitted = quarters(of.masses)
    Mixture(of, rng).refit(refitted)
    for k in (0, 1):
        true, smeared = (np.bincount(q[labels == k], minlength=4) / of.masses[k] for q in (quarter, by_position))
        for each in (leaves, refitted):
            assert abs(np.array([leaf.mass[k] for leaf in each]) / of.masses[k] - true).max() < 0.05
        inner = next(leaf for leaf, share in zip(refitted, true, strict=True) if share > 0).columns[0][k]
        assert inner[inner > 0] == pytest.approx(np.full(5, 0.2), abs=0.05)  # uniform, as it is
        assert abs(smeared - true).max() > 0.15


def test_columns_never_reported_together_stay_independent(rng: np.random.Generator) -> None:
    """If each report includes one of two columns, boxes have the product of their shares."""
    raw, codes, labels = exclusive(rng, 8_000, reach=1)
    of, first = released(numbers(Window(10, 3, 9, 1)), codes, labels, n_included=1), rng.random(len(raw)) < 0.5
    for place, included in enumerate((first, ~first)):
        codes[place][~included] = of.channels[place].omitted_code
    leaves, distributions = recounted(of, rng)
    for k in (0, 1):
        low = [each[k][:5].sum() / each[k].sum() for each in distributions]
        product = [a * b for a in (low[0], 1 - low[0]) for b in (low[1], 1 - low[1])]
        assert np.array([leaf.mass[k] for leaf in leaves]) / of.masses[k] == pytest.approx(product, abs=0.02)


def test_a_recount_of_raw_columns_changes_nothing(rng: np.random.Generator) -> None:
    """For raw columns, with missing values and categories, the counts are the tree's own."""
    columns = (numbers(Clear(10), optional=True)[0], CategoryColumn("c", Clear(3), True, ("red", "green", "blue")))
    codes = [rng.integers(0, size, 3000).astype(np.uint8) for size in (11, 4)]  # the last code is a missing value
    labels = ((codes[0] > 6) ^ (codes[1] == 1) ^ (rng.random(3000) < 0.2)).astype(np.int64)
    of = released(columns, codes, labels)
    records = PositionedRecords(of, 0, local=False)
    root = records.root(of.shares)
    grow(root, [10, 3], GrowthLimits(least_leaf=20, max_depth=4), records.divide)
    assert any(box.split and box.split.missing_left for box in root.in_preorder())
    before = [box.mass for box in root.in_preorder()]
    Mixture(of, rng).recount(root.leaves, of.shares)
    prune(root, [], whole=True)
    for box, counts in zip(root.in_preorder(), before, strict=True):
        assert box.mass == pytest.approx(counts, rel=1e-4, abs=0.01)


def test_the_prior_of_differences_is_smooth() -> None:
    """Under equal frequencies its functions of 64 ordered values are orthonormal, and are cosines with 0, 1, 2 … roots.

    Values without an order have an indicator each, less its mean.
    """
    basis, precisions = _difference_basis(np.full(64, 1 / 64), 64)
    n = basis.shape[1]
    np.testing.assert_allclose(basis.T @ basis / 64, np.eye(n), atol=1e-12)
    assert [int((np.diff(np.sign(each)) != 0).sum()) for each in basis.T] == list(range(1, n + 1))
    assert precisions.tolist() == [place**2 for place in range(1, n + 1)]
    named, precisions = _difference_basis(np.array([0.5, 0.3, 0.2]), 0)
    np.testing.assert_allclose(named, np.eye(3) - [0.5, 0.3, 0.2])
    assert precisions.tolist() == [1.0, 1.0, 1.0]


def test_contrast_is_the_largest_correlation() -> None:
    """1 for a code that says exactly which half a position is in, and nothing else; 0 for one that says nothing."""
    column = NumberInput("x", 0.0, 1.0)
    halves = np.kron(np.eye(2), np.full((2, 2), 0.5))
    for matrix, contrast in ((halves, 1.0), (np.full((4, 4), 0.25), 0.0), (np.eye(4) * 0.6 + 0.1, 0.6), (None, 1.0)):
        channel = TreeChannel(column, np.linspace(0, 1, 5), np.arange(4), matrix)
        assert channel.contrast == pytest.approx(contrast, abs=1e-7)
