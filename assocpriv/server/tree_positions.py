"""What trees know of a column: its positions, how released codes speak of them, and which one a record is given.

A *position* is an interval of numbers or a value of a category, counted from 0; the one after the last stands for a
missing value. Splits lie between positions, so edges of intervals are all the thresholds that a tree can have. Named
values stand in the order that a tree splits them by.

**Corrected positions.** The shares of all positions are reconstructed from a histogram of codes. Records are then given
positions so that each gets its share of them, with as little change as possible:

* numbers: released values are sorted, and the lowest N·Pr(I₁) get the first interval, and so on (AS00, section 4.2);
  equal ones are taken in random order;
* categories: of those released as v as many stay there as v has, chosen at random; the others fill the values that
  have too few. No assignment with these counts moves fewer records;
* missing values: as many as the reconstruction says, of those released as missing if there are enough;
* who was not asked, or said "missing" although fewer are: spread by the shares, in random order. One column's spread
  has nothing to do with another's, so joint splits see these records as noise around the class, not as a pattern.

Random order is numpy's with a seed: the reports are what they are, nobody's privacy depends on it.

**By class.** Noise is taken off each class alone, as in AS00. A column under a promise is taken by what classes have in
common, and what they are sure to differ by (class_distributions.py).

Source: AS00, section 4.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.columns import CategoryColumn, Clear, NumberColumn, Window, transition
from assocpriv.plans.tree_model import CategoryInput, Input, NumberInput
from assocpriv.server.class_distributions import ClassDistributions, class_distributions, pooled_shares
from assocpriv.server.histograms import release_grid
from assocpriv.server.maximum_likelihood import stopped_early

if TYPE_CHECKING:
    from assocpriv.plans.tables import TablePlan

Codes = NDArray[np.unsignedinteger]
Floats = NDArray[np.float64]
Positions = NDArray[np.int32]


# ---- channels


@dataclass(frozen=True, eq=False)
class Channel:
    """A column as trees see it.

    ``edges`` are those of its intervals, float64 (positions + 1,); None for a category. ``positions`` gives the
    position of a code taken at its word, int64 (codes,); what it says of missing and unasked codes is not looked at.
    ``matrix`` is P(code | position), float64 (codes, positions, and one more for a missing value if there may be one);
    None where codes can be taken at their word. ``is_promised`` tells a square wave or randomized response, on which a
    promise rests. ``order`` are a category's values by position, int64 (positions,); empty for numbers.
    """

    column: Input
    edges: Floats | None
    positions: NDArray[np.int64]
    matrix: Floats | None = None
    missing_code: int | None = None
    unasked_code: int | None = None
    is_promised: bool = False
    order: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def transition(self) -> Floats:
        """P(code | position), float64 (codes, inputs), where codes taken at their word are positions, missing last."""
        if self.matrix is not None:
            return self.matrix
        return np.eye(self.n_positions + (self.missing_code is not None))

    @property
    def readable(self) -> NDArray[np.int64]:
        """The row of ``transition`` that a released code is, int64 (codes,); one more for who was not asked."""
        n = len(self.transition)
        rows = np.arange(n + 1) if self.matrix is not None else np.append(self.positions, [n, n])
        if self.matrix is None and self.missing_code is not None:
            rows[self.missing_code] = self.n_positions
        if self.unasked_code is not None:
            rows[self.unasked_code] = n
        return rows

    @property
    def contrast(self) -> float:
        """How much of a correlation with the value a code keeps, 0 … 1: the channel's second singular value."""
        if self.matrix is None:
            return 1.0
        chances = self.matrix[:, : self.n_positions] / self.n_positions
        scaled = chances / np.sqrt(np.maximum(chances.sum(axis=1, keepdims=True), 1e-300) / self.n_positions)
        return float(np.sort(np.linalg.svd(scaled, compute_uv=False))[-2:][0])

    @property
    def ordered(self) -> int:
        """How many inputs are intervals in a row: none of a category."""
        return 0 if self.edges is None else self.n_positions

    @property
    def n_positions(self) -> int:
        """Number of intervals or values."""
        return len(self.order) if self.edges is None else len(self.edges) - 1

    def by_class(self, counts: NDArray[np.int64], inverse: Floats, of_classes: Floats) -> ClassDistributions:
        """Return the column's distributions by class; see :func:`class_distributions`."""
        return class_distributions(counts, self.transition, self.ordered, inverse, of_classes)

    def in_order(self, way: NDArray[np.int64]) -> "Channel":
        """Return the channel with inputs in another order, which is that of a category's values."""
        if self.edges is not None:
            return self
        n = self.n_positions
        positions = np.argsort(way[:n])[np.minimum(self.positions, n - 1)]
        matrix = None if self.matrix is None else self.matrix[:, way]
        return replace(self, positions=positions, matrix=matrix, order=self.order[way[:n]])


def channel_of(plan: "TablePlan", place: int, *, corrected: bool = True) -> Channel:
    """Return the channel of a plan's column; without correction every released code is taken at its word.

    A code beyond the range then has an interval there, of the same width.
    """
    column = plan.columns[place]
    missing, unasked = column.missing_code, plan.unasked_code(place)
    promised = corrected and isinstance(column.law, Window)
    if isinstance(column, CategoryColumn):
        values, codes = CategoryInput(column.name, column.values, column.optional), np.arange(column.codes)
        matrix = transition(column) if promised else None
        return Channel(values, None, codes, matrix, missing, unasked, promised, np.arange(len(column.values)))
    assert isinstance(column, NumberColumn)
    told = NumberInput(column.name, float(column.low), float(column.high), column.optional)
    if isinstance(column.law, Clear):
        return Channel(told, *_classes(column, column.law), None, missing, unasked)
    if corrected:
        positions = np.zeros(column.codes, dtype=np.int64)
        return Channel(told, column.interval_edges, positions, transition(column), missing, unasked, promised)
    return Channel(told, *_extended(column), None, missing, unasked)


def _classes(column: NumberColumn, law: Clear) -> tuple[Floats, NDArray[np.int64]]:
    """Return the edges and the positions of codes that are cells or classes: intervals where these hold whole ones."""
    cells = column.inputs // column.intervals
    codes = np.arange(column.codes)
    if cells % law.width == 0:
        return column.interval_edges, codes * law.width // cells
    return column.edges[:: law.width], codes


def _extended(column: NumberColumn) -> tuple[Floats, NDArray[np.int64]]:
    cells = column.inputs // column.intervals
    width, first = release_grid(column)
    intervals = (np.arange(column.codes) + int(first / width)) // cells
    lowest, highest = int(intervals[0]), int(intervals[-1])
    edges = [float(column.origin + step * width * cells) for step in range(lowest, highest + 2)]
    return np.array(edges), intervals - lowest


# ---- records


def reconstruct(counts: NDArray[np.int64], channel: Channel) -> Floats:
    """Return the shares of all positions, and of missing values if there may be any, float64 (inputs,).

    Noise: EM with the stopping rule of AS00. A square wave: the smooth estimate. Categories: the likeliest shares,
    which invert the randomized response within 0 … 1. Of no reports all are equal.
    """
    if not counts.any():
        n = channel.transition.shape[1]
        return np.full(n, 1 / n)
    if channel.matrix is None:
        return np.asarray(counts / counts.sum(), dtype=np.float64)
    if channel.is_promised:
        return pooled_shares(counts, channel.matrix, channel.ordered)
    return stopped_early(counts, channel.matrix)


@dataclass(frozen=True, eq=False, slots=True)
class Released:
    """Records: of each column a released code, (n,), and a released class, int64 (n,)."""

    codes: Sequence[Codes]
    labels: NDArray[np.int64]
    channels: Sequence[Channel]
    n_classes: int

    @property
    def masses(self) -> Floats:
        """How many records each class has, float64 (classes,)."""
        return np.bincount(self.labels, minlength=self.n_classes).astype(np.float64)

    @property
    def counts(self) -> list[NDArray[np.int64]]:
        """How often each code of each column was released with each class, int64 (codes, classes), of who was asked."""
        found = []
        for codes, channel in zip(self.codes, self.channels, strict=True):
            n, pairs = len(channel.transition), channel.readable[codes] * self.n_classes + self.labels
            every = np.bincount(pairs, minlength=(n + 1) * self.n_classes)
            found.append(every[: n * self.n_classes].reshape(n, self.n_classes))
        return found

    @property
    def shares(self) -> list[Floats]:
        """The shares of each column's inputs in each released class, float64 (classes, inputs); see *by class*."""
        of_classes, found = self.masses / len(self.labels), []
        for counts, channel in zip(self.counts, self.channels, strict=True):
            if channel.is_promised and counts.any():
                found.append(channel.by_class(counts, np.eye(self.n_classes), of_classes).shares)
            else:
                found.append(np.array([reconstruct(each, channel) for each in counts.T]))
        return found

    def of(self, rows: NDArray[np.int64], places: Sequence[int]) -> "Released":
        """Return some records, and some of their columns."""
        codes, channels = [self.codes[u][rows] for u in places], [self.channels[u] for u in places]
        return Released(codes, self.labels[rows], channels, self.n_classes)

    def in_order(self, ways: Sequence[NDArray[np.int64]]) -> "Released":
        """Return them with the inputs of each column in another order."""
        channels = [channel.in_order(way) for channel, way in zip(self.channels, ways, strict=True)]
        return replace(self, channels=channels)

    def corrected(self, told: Sequence[Floats], rng: np.random.Generator) -> Positions:
        """Return the positions of all records, int32 (n, columns).

        ``told`` are the shares of the inputs, float64 (inputs,) of all records, or (classes, inputs) of each class.
        """
        found = np.empty((len(self.labels), len(self.codes)), dtype=np.int32, order="F")
        for place, (codes, channel, shares) in enumerate(zip(self.codes, self.channels, told, strict=True)):
            if shares.ndim == 1 or channel.matrix is None:
                found[:, place] = correct(codes, channel, rng, shares)
                continue
            for k in np.unique(self.labels).tolist():
                rows = np.flatnonzero(self.labels == k)
                found[rows, place] = correct(codes[rows], channel, rng, shares[k])
        return found


# ---- positions


def correct(codes: Codes, channel: Channel, rng: np.random.Generator, shares: Floats) -> Positions:
    """Return the positions of records of one class, or of all, int32 (n,), by the shares of all inputs."""
    if channel.matrix is None:
        return as_released(codes, channel)
    n = channel.n_positions
    positions = np.full(len(codes), n, dtype=np.int32)
    asked = np.ones(len(codes), dtype=np.bool_) if channel.unasked_code is None else codes != channel.unasked_code
    missing, shares = float(shares[n:].sum()), shares[:n]
    if not asked.any() or shares.sum() <= 0:
        return positions
    shares = shares / shares.sum()
    valued, spread = _divide(codes, asked, missing, channel, rng)
    assign = _fewest_moves if channel.edges is None else _sorted
    positions[valued] = assign(
        channel.positions[codes[valued]] if channel.edges is None else codes[valued], shares, rng
    )
    positions[spread] = rng.permutation(_filled(len(spread), shares))
    return positions


def _divide(
    codes: Codes, asked: NDArray[np.bool_], missing: float, channel: Channel, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the records whose codes say where their values lie, and those to be spread; the others' are missing."""
    unasked = rng.permutation(np.flatnonzero(~asked))
    spread = [unasked[round(missing * len(unasked)) :]]
    valued = np.flatnonzero(asked)
    if channel.missing_code is not None:
        said = codes[valued] == channel.missing_code
        wanted = round(missing * len(valued))
        silent, valued = rng.permutation(valued[said]), rng.permutation(valued[~said])
        spread.append(silent[wanted:])
        valued = valued[max(0, wanted - len(silent)) :]
    return valued, np.concatenate(spread)


def as_released(codes: Codes, channel: Channel) -> Positions:
    """Return the positions that codes say, int32 (n,), that of a missing value for who was not asked, too."""
    known = np.append(channel.positions, channel.n_positions).astype(np.int32)
    for code in (channel.missing_code, channel.unasked_code):
        if code is not None:
            known[code] = channel.n_positions
    return known[codes]


def quotas(n: int, shares: Floats) -> NDArray[np.int64]:
    """Return how many of n records each position gets, int64: cumulative shares of n, rounded.

    >>> quotas(10, np.array([0.25, 0.5, 0.25])).tolist()
    [2, 6, 2]
    """
    ends = np.rint(n * np.cumsum(shares)).astype(np.int64)
    ends[-1] = n
    return np.diff(ends, prepend=0)


def _filled(n: int, shares: Floats) -> Positions:
    return np.repeat(np.arange(len(shares), dtype=np.int32), quotas(n, shares))


def _in_turn(codes: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the records by rising code, equal ones in random order."""
    order = rng.permutation(len(codes))
    return order[np.argsort(codes[order], kind="stable")]


def _sorted(codes: NDArray[np.integer], shares: Floats, rng: np.random.Generator) -> Positions:
    positions = np.empty(len(codes), dtype=np.int32)
    positions[_in_turn(codes, rng)] = _filled(len(codes), shares)
    return positions


def _fewest_moves(own: NDArray[np.integer], shares: Floats, rng: np.random.Generator) -> Positions:
    n = len(shares)
    wanted, found = quotas(len(own), shares), np.bincount(own, minlength=n)
    order = _in_turn(own, rng)
    rank = np.arange(len(own)) - np.repeat(np.cumsum(found) - found, found)
    moving = order[rank >= wanted[own[order]]]
    positions = own.astype(np.int32)
    positions[moving] = rng.permutation(np.repeat(np.arange(n), np.maximum(wanted - found, 0)))
    return positions
