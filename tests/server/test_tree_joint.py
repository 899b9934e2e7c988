"""Leaves whose columns are reconstructed inside: masses against the truth, and against AS00's rule box by box."""

from fractions import Fraction

import numpy as np
import pytest

from assocpriv.numeric import ReleasedTreeClassifier
from assocpriv.plans.columns import CategoryColumn, Clear, NumberColumn, UniformNoise
from assocpriv.plans.tables import TablePlan
from assocpriv.server.maximum_likelihood import stopped_early
from assocpriv.server.tree_boxes import Box
from assocpriv.server.tree_growth import channel_of
from assocpriv.server.tree_joint import Mixture


def quarters(sizes):
    """Return the four boxes of two columns of ten intervals, each of the same mass and even inside."""
    halves = [np.arange(10) < 5, np.arange(10) >= 5]
    return [
        Box(np.array(sizes) / 4, [np.tile(one / 5, (2, 1)), np.tile(other / 5, (2, 1))], {0: one, 1: other})
        for one in halves
        for other in halves
    ]


def mixture(columns, codes, labels):
    """Return the mixture of records of a plan of these columns, categories in their own order."""
    channels = [channel_of(TablePlan(columns, 0), place) for place in range(len(columns))]
    orders = [np.arange(channel.transition.shape[1]) for channel in channels]
    return Mixture(codes, labels, channels, orders, np.random.default_rng(0))


def test_noise_is_told_apart_by_both_columns(rng: np.random.Generator) -> None:
    """Of an exclusive or a quarter of a record's class is empty: the masses say so, and what lies inside is even.

    20,000 records behind noise as wide as nine tenths of the range; a share's standard error is below 0.01.
    """
    raw = rng.integers(0, 10, (20_000, 2))
    labels = ((raw[:, 0] < 5) ^ (raw[:, 1] < 5)).astype(np.int64)
    codes = [(raw[:, place] + rng.integers(0, 9, len(raw))).astype(np.uint16) for place in range(2)]
    columns = tuple(NumberColumn(name, UniformNoise(10, 4), False, Fraction(0), Fraction(1), 10) for name in "xy")
    leaves, n = quarters(np.bincount(labels)), np.bincount(labels)
    mixture(columns, codes, labels).refit(leaves)
    for k in (0, 1):
        true = np.bincount(2 * (raw[labels == k, 0] >= 5) + (raw[labels == k, 1] >= 5), minlength=4) / n[k]
        assert np.array([leaf.mass[k] for leaf in leaves]) / n[k] == pytest.approx(true, abs=0.05)
        inner = next(leaf for leaf, share in zip(leaves, true, strict=True) if share > 0).columns[0][k]
        assert inner[inner > 0] == pytest.approx(np.full(5, 0.2), abs=0.05)


def test_what_is_known_is_counted(rng: np.random.Generator) -> None:
    """Of columns as they are masses and distributions are the records' own."""
    codes = [rng.integers(0, 10, 3000).astype(np.uint8), rng.integers(0, 10, 3000).astype(np.uint8)]
    labels = rng.integers(0, 2, 3000)
    columns = (
        NumberColumn("x", Clear(10), False, Fraction(0), Fraction(1), 10),
        CategoryColumn("c", Clear(10), False, tuple("abcdefghij")),
    )
    leaves = quarters(np.bincount(labels))
    mixture(columns, codes, labels).refit(leaves)
    for leaf in leaves:
        for k in (0, 1):
            here = (labels == k) & leaf.inside[0][codes[0]] & leaf.inside[1][codes[1]]
            assert leaf.mass[k] == pytest.approx(here.sum(), rel=1e-3)
            assert leaf.columns[1][k] == pytest.approx(np.bincount(codes[1][here], minlength=10) / here.sum(), abs=1e-4)


def test_boxes_at_once_are_as_one_by_one(rng: np.random.Generator) -> None:
    """Each row is what the reconstruction of AS00 gives on the channel of its box alone."""
    matrix = rng.dirichlet(np.ones(12), size=8).T
    counts = rng.multinomial(500, np.full(12, 1 / 12), size=3).astype(float)
    inside = np.array([np.arange(8) < 3, np.arange(8) >= 3, np.ones(8, dtype=bool)])
    found = stopped_early(counts, matrix, inside)
    for row, some, shares in zip(counts, inside, found, strict=True):
        assert shares[some] == pytest.approx(stopped_early(row, matrix[:, some]), abs=1e-9)
        assert not shares[~some].any()


def test_joint_growth_on_records_as_they_are(rng: np.random.Generator) -> None:
    """Without noise the rule is found, where a missing value tells the class, too."""
    X = rng.random((4000, 2))
    X[rng.random(4000) < 0.2, 1] = np.nan
    y = (X[:, 0] < 0.5) ^ np.isnan(X[:, 1])
    tree = ReleasedTreeClassifier(method="joint").fit(X, y)
    assert tree.score(X, y) > 0.98
