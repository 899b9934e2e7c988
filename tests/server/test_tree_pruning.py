"""Counts of a tree's leaves by EM, against loops, truth, and what is known exactly."""

from fractions import Fraction

import numpy as np
import pytest

from assocpriv.plans.columns import CategoryColumn, Clear, NumberColumn, UniformNoise, Window
from assocpriv.plans.tables import TablePlan
from assocpriv.promise.breaches import Breach
from assocpriv.server.tree_growth import Branch, Limits, Tree, as_released, channel_of, correct, grow, reconstruct
from assocpriv.server.tree_pruning import STEPS, recount

QUARTERS: Tree = [
    Branch((0.0, 0.0), 0, 5, False, 4),
    Branch((0.0, 0.0), 1, 5, False, 3), Branch((0.0, 0.0)), Branch((0.0, 0.0)),
    Branch((0.0, 0.0), 1, 5, False, 6), Branch((0.0, 0.0)), Branch((0.0, 0.0)),
]  # fmt: skip
LEAVES = (2, 3, 5, 6)


def numbers(law, n_asked=0):
    """Return the channels of two numbers of ten intervals."""
    columns = tuple(NumberColumn(name, law, False, Fraction(0), Fraction(1), 10) for name in "xy")
    plan = TablePlan(columns, n_asked, Breach("1%", "99%") if n_asked else None)
    return [channel_of(plan, place) for place in range(2)]


def exclusive(rng, n, reach=4):
    """Return raw intervals, released codes and classes of records whose class is an exclusive or of both halves."""
    raw = rng.integers(0, 10, (n, 2))
    labels = ((raw[:, 0] < 5) ^ (raw[:, 1] < 5)).astype(np.int64)
    codes = [(raw[:, place] + rng.integers(0, 2 * reach + 1, n)).astype(np.uint16) for place in range(2)]
    return raw, codes, labels


def naive_recount(codes, channels, cells, known):
    """Return the shares of boxes, each a range of intervals by column, of one class's records, by loops."""
    inside, prior = [], []
    for place, channel in enumerate(channels):
        shares = known[place]
        of_class = [sum(shares[low:high]) for low, high in (cell[place] for cell in cells)]
        rows = []
        for code in codes[place]:
            joint = [channel.matrix[code, i] * shares[i] for i in range(len(shares))]
            rows.append([sum(joint[low:high]) / sum(joint) for low, high in (cell[place] for cell in cells)])
        inside.append(rows)
        prior.append(of_class)
    found = [prior[0][cell] * prior[1][cell] for cell in range(len(cells))]
    for _ in range(STEPS):
        gains = [0.0] * len(cells)
        for row in range(len(codes[0])):
            ratio = [inside[0][row][c] / prior[0][c] * inside[1][row][c] / prior[1][c] for c in range(len(cells))]
            expected = sum(share * r for share, r in zip(found, ratio, strict=True))
            gains = [gain + r / expected for gain, r in zip(gains, ratio, strict=True)]
        found = [share * gain / len(codes[0]) for share, gain in zip(found, gains, strict=True)]
    return found


def test_counts_are_those_of_a_naive_twin(rng: np.random.Generator) -> None:
    """The leaves' counts by class are what loops over records, leaves and steps give."""
    channels, (_, codes, labels) = numbers(UniformNoise(10, 4)), exclusive(rng, 300)
    found = recount(QUARTERS, codes, labels, channels, rng)
    cells = [((0, 5), (0, 5)), ((0, 5), (5, 10)), ((5, 10), (0, 5)), ((5, 10), (5, 10))]
    for k in (0, 1):
        mine = labels == k
        counts = [np.bincount(column[mine], minlength=len(channels[0].matrix)) for column in codes]
        known = [reconstruct(*pair) for pair in zip(counts, channels, strict=True)]
        shares = naive_recount([column[mine] for column in codes], channels, cells, known)
        assert [found[leaf].counts[k] for leaf in LEAVES] == pytest.approx(mine.sum() * np.array(shares), rel=1e-4)
    assert found[0].counts == pytest.approx(np.bincount(labels))
    assert found[1].counts == pytest.approx(np.add(found[2].counts, found[3].counts))


def test_boxes_of_two_columns_are_nearer_the_truth_than_by_positions(rng: np.random.Generator) -> None:
    """Of an exclusive or a quarter of a record's class is empty: EM says so; positions by one code each do not.

    20,000 records: a share's standard error is below 0.01, the bounds are 0.05 and 0.15 of a class.
    """
    channels, (raw, codes, labels) = numbers(UniformNoise(10, 4)), exclusive(rng, 20_000)
    found = recount(QUARTERS, codes, labels, channels, rng)
    n = np.bincount(labels)
    positions = np.empty(raw.shape)
    for place, channel in enumerate(channels):
        for k in (0, 1):
            positions[labels == k, place] = correct(codes[place][labels == k], channel, rng)
    quarter, by_position = (2 * (values[:, 0] >= 5) + (values[:, 1] >= 5) for values in (raw, positions))
    for k in (0, 1):
        true, smeared = (np.bincount(q[labels == k], minlength=4) / n[k] for q in (quarter, by_position))
        em = np.array([found[leaf].counts[k] for leaf in LEAVES]) / n[k]
        assert abs(em - true).max() < 0.05
        assert abs(smeared - true).max() > 0.15


def test_columns_never_answered_together_stay_independent(rng: np.random.Generator) -> None:
    """Where each record answers one of two columns the boxes have the product of their shares."""
    channels, (raw, codes, labels) = numbers(Window(10, 3, 9, 1), n_asked=1), exclusive(rng, 8_000, reach=1)
    asked = rng.random(len(raw)) < 0.5
    for place, answered in enumerate((asked, ~asked)):
        codes[place][~answered] = channels[place].unasked_code
    found = recount(QUARTERS, codes, labels, channels, rng)
    for k in (0, 1):
        low = []
        for place, channel in enumerate(channels):
            counts = np.bincount(codes[place][labels == k], minlength=channel.unasked_code + 1)[:-1]
            low.append(reconstruct(counts, channel)[:5].sum())
        product = [a * b for a in (low[0], 1 - low[0]) for b in (low[1], 1 - low[1])]
        shares = np.array([found[leaf].counts[k] for leaf in LEAVES]) / (labels == k).sum()
        assert shares == pytest.approx(product, abs=0.02)


def test_what_is_known_is_counted(rng: np.random.Generator) -> None:
    """Of columns as they are, missing values and categories among them, the counts are the tree's own."""
    columns = (
        NumberColumn("x", Clear(10), True, Fraction(0), Fraction(1), 10),
        CategoryColumn("c", Clear(3), True, ("red", "green", "blue")),
    )
    channels = [channel_of(TablePlan(columns, 0), place) for place in range(2)]
    codes = [rng.integers(0, size, 3000).astype(np.uint8) for size in (11, 4)]  # the last code is a missing value
    labels = ((codes[0] > 6) ^ (codes[1] == 1) ^ (rng.random(3000) < 0.2)).astype(np.int64)
    positions = np.stack([as_released(column, channel) for column, channel in zip(codes, channels, strict=True)], 1)
    tree = grow(positions, labels, 2, Limits(4, 2, 20, 0))
    assert any(branch.missing_left for branch in tree)
    found = recount(tree, codes, labels, channels, rng)
    for branch, again in zip(tree, found, strict=True):
        assert again.counts == pytest.approx(branch.counts, rel=1e-4, abs=0.01)
