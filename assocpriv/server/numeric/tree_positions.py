"""Columns of trees: their positions, the channel from positions to released codes, and the position of each record.

A *position* is an interval of numbers or a value of a category, counted from 0; the one after the last stands for a
missing value. Splits lie between positions, so a tree's thresholds are edges of intervals. Named values are in the
order in which a tree splits them.

**Corrected positions.** The shares of all positions are reconstructed from a histogram of codes. Then records get
positions with these shares, with as few changes as possible:

* numbers: released values are sorted, and the lowest N·Pr(I₁) get the first interval, and so on (AS00, section 4.2);
  equal values are in random order;
* categories: of the records released as v, the number that v should have stay, chosen at random; the others fill the
  values that have too few. No assignment with these counts moves fewer records;
* missing values: the reconstructed number, from records released as missing if there are enough;
* records that omit the column, or more records released as missing than there should be: distributed by the shares, in
  random order. This is independent between columns, so joint splits see these records as noise around the class.

Random order is numpy's with a seed: reports are already randomized, so privacy does not depend on it.

**By class.** The noise of each class is corrected separately, as in AS00. For a column under a guarantee, classes share
one distribution, and their differences have a prior, fitted by empirical Bayes. Reconstructed for each class alone, a
distribution fits the noise of that class. With many values, few responses or a strong guarantee, classes then seem to
differ that do not. So f, the distribution that classes share, is estimated from all reports, and differences have a
prior. Let n[y, r] be the counts of codes and released classes, C the channel of the class and π the shares of the true
classes. A class k differs from the others by

    D_y = Σ_r n[y, r] (C⁻¹[k, r] / π_k − (1 − C⁻¹[k, r]) / (1 − π_k)) / n,     E[D] = T (f ∘ Σ_b β_b φ_b)

where T is the column's channel; variances follow from T f. For numbers φ_b = √2 cos(b π F), with F the distribution
function of f, and β_b ~ N(0, τ²/b²): differences are smooth on the scale of the people, not of the values. For named
values every φ is one value, and β ~ N(0, τ²). Posteriors are averaged over a grid of τ by evidence. So a column without
a difference stays the same in all classes, and a clear difference is kept. Then f_k = f ∘ (1 + (1 − π_k) Σ_b β_b φ_b),
but at least a thirtieth of f.

Source: AS00, section 4.2; empirical Bayes as in Efron, Large-Scale Inference, 2010, chapter 1; MacKay, Neural
Computation 1992, for the evidence."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.numeric.table_plan import CategoryColumn, Clear, NumberColumn, Window, transition
from assocpriv.plans.numeric.tree_model import CategoryInput, Input, NumberInput
from assocpriv.server.numeric.histograms import release_grid
from assocpriv.server.numeric.maximum_likelihood import early_stopped_em, maximize_likelihood, merge_bins
from assocpriv.server.numeric.smoothing import smooth_shares

if TYPE_CHECKING:
    from assocpriv.plans.numeric.table_plan import TablePlan

Codes = NDArray[np.unsignedinteger]
Floats = NDArray[np.float64]
Positions = NDArray[np.int32]
_SPREADS = (0.03, 0.1, 0.2, 0.4, 0.8, 1.6)  # τ, in units of f
_COSINES = 16  # basis functions of a number
_LEAST = 1 / 30  # of f
_RAREST = 0.01  # least share of a class in the scale of differences
_LEAST_VARIANCE = 1e-12  # of a difference of shares, against division by 0


# ---- distributions by class


@dataclass(frozen=True, eq=False, slots=True)
class ClassDistributions:
    """Distributions of a column within each class, float64 (classes, inputs), each adding up to 1.

    ``covariances``, (classes, inputs, inputs), include the errors of f and of the differences.
    """

    shares: Floats
    covariances: Floats

    def in_order(self, order: NDArray[np.int64]) -> "ClassDistributions":
        """Return the distributions with inputs in another order."""
        return ClassDistributions(self.shares[:, order], self.covariances[:, order][:, :, order])


def class_distributions(
    counts: NDArray[np.int64], matrix: Floats, ordered: int, inverse: Floats, class_shares: Floats
) -> ClassDistributions:
    """Return the distributions of a column by class.

    Args:
        counts: Counts of codes and released classes, (codes, classes); without any, all inputs have equal shares.
        matrix: P(code | input), float64 (codes, inputs).
        ordered: Number of inputs that are consecutive intervals, 0 for a category; without the input of missing values.
        inverse: Inverse of the class's channel, float64 (true classes, released classes); its columns add up to 1.
        class_shares: π, the shares of the true classes.
    """
    counts, matrix = merge_bins(counts, matrix, ordered)
    every, n = counts.sum(axis=1).astype(np.float64), float(counts.sum())
    if not n:
        return _unknown(matrix.shape[1], len(inverse))
    pooled, covariance = _pooled(every, matrix, ordered)
    basis, precision = _difference_basis(pooled, ordered)
    expected = np.maximum(matrix @ pooled, 1e-12)
    design = matrix @ (pooled[:, None] * basis)
    shares, covariances = np.empty((len(inverse), len(pooled))), np.empty((len(inverse), len(pooled), len(pooled)))
    for k, row in enumerate(inverse):
        share = float(np.clip(class_shares[k], _RAREST, 1 - _RAREST))
        weights = (row / share - (1 - row) / (1 - share)) / n
        variance = max(float(counts.sum(axis=0) @ weights**2), _LEAST_VARIANCE) * expected
        mean, beta_covariance = _posterior(design, counts @ weights, variance, precision)
        shape = (1 - share) * pooled[:, None] * basis
        found = np.maximum(pooled + shape @ mean, _LEAST * pooled)
        shares[k] = found / found.sum()
        covariances[k] = covariance + shape @ beta_covariance @ shape.T
    return ClassDistributions(shares, covariances)


def pooled_shares(counts: NDArray[np.int64], matrix: Floats, ordered: int) -> Floats:
    """Return f from counts of codes, (codes,), smooth over consecutive intervals."""
    return _pooled(*merge_bins(counts.astype(np.float64), matrix, ordered), ordered)[0]


def _unknown(inputs: int, classes: int) -> ClassDistributions:
    even = np.full((classes, inputs), 1 / inputs)
    return ClassDistributions(even, np.tile(np.eye(inputs) / inputs - 1 / inputs**2, (classes, 1, 1)))


def _pooled(counts: Floats, matrix: Floats, ordered: int) -> tuple[Floats, Floats]:
    """Return f and its covariance."""
    if ordered:
        found = smooth_shares(counts[:, None], matrix, ordered=(ordered, 0))
        return np.maximum(found.shares[:, 0], 1e-9), found.covariance
    shares = np.maximum(maximize_likelihood(counts, matrix), 1e-9)
    inverse = np.linalg.pinv(matrix)
    expected = matrix @ shares
    return shares, (inverse * expected) @ inverse.T / counts.sum() - np.outer(shares, shares) / counts.sum()


def _difference_basis(pooled: Floats, ordered: int) -> tuple[Floats, Floats]:
    """Return φ, float64 (inputs, functions), each with mean 0 under f, and the precisions of β for τ = 1."""
    named = np.eye(len(pooled))[:, ordered:]
    middle = (np.cumsum(pooled[:ordered]) - pooled[:ordered] / 2) / max(float(pooled[:ordered].sum()), 1e-12)
    orders = np.arange(1, min(_COSINES, ordered - 1) + 1)
    rows = np.zeros((len(pooled), len(orders)))
    rows[:ordered] = np.sqrt(2) * np.cos(np.pi * np.outer(middle, orders))
    basis = np.concatenate([rows, named], axis=1)
    return basis - pooled @ basis, np.concatenate([orders.astype(np.float64) ** 2, np.ones(named.shape[1])])


def _posterior(design: Floats, observed: Floats, variance: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """Return the mean and the covariance of β, averaged over τ by evidence."""
    weighted = design / variance[:, None]
    information, pull = weighted.T @ design, weighted.T @ observed
    means, covariances, evidence = [], [], []
    for spread in _SPREADS:
        prior = precision / spread**2
        covariance = np.linalg.inv(information + np.diag(prior))
        means.append(covariance @ pull)
        covariances.append(covariance)
        evidence.append((pull @ means[-1] + np.linalg.slogdet(covariance)[1] + np.log(prior).sum()) / 2)
    weights = np.exp(np.array(evidence) - max(evidence))
    weights /= weights.sum()
    mean = weights @ np.array(means)
    apart = np.array(means) - mean
    covariance = np.tensordot(weights, np.array(covariances), 1) + (apart.T * weights) @ apart
    return mean, covariance


# ---- channels


@dataclass(frozen=True, eq=False)
class TreeChannel:
    """A column of a tree with the channel of its release.

    Attributes:
        column: Name and range or values of the column.
        edges: Edges of its intervals, float64 (positions + 1,); None for a category.
        positions: The position of an uncorrected code, int64 (codes,); entries of missing and omitted codes are not
            used.
        matrix: P(code | position), float64 (codes, positions), with a further position for a missing value in an
            optional column. None if codes need no correction.
        missing_code, omitted_code: Codes of a missing value and of a column that the report omits.
        is_guaranteed: Whether the mechanism (square wave or randomized response) has a γ.
        order: A category's values by position, int64 (positions,); empty for numbers.
    """

    column: Input
    edges: Floats | None
    positions: NDArray[np.int64]
    matrix: Floats | None = None
    missing_code: int | None = None
    omitted_code: int | None = None
    is_guaranteed: bool = False
    order: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def transition(self) -> Floats:
        """P(code | position), float64 (codes, inputs); uncorrected codes are positions, with missing last."""
        return np.eye(self.n_positions + (self.missing_code is not None)) if self.matrix is None else self.matrix

    @property
    def readable(self) -> NDArray[np.int64]:
        """The row of ``transition`` for each released code, int64 (codes,); omitted columns have one more row."""
        n = len(self.transition)
        rows = np.arange(n + 1) if self.matrix is not None else np.append(self.positions, [n, n])
        if self.matrix is None and self.missing_code is not None:
            rows[self.missing_code] = self.n_positions
        if self.omitted_code is not None:
            rows[self.omitted_code] = n
        return rows

    @property
    def contrast(self) -> float:
        """The factor by which a code keeps a correlation with the value, 0 … 1: the channel's second singular value."""
        if self.matrix is None:
            return 1.0
        joint = self.matrix[:, : self.n_positions] / self.n_positions
        scaled = joint / np.sqrt(np.maximum(joint.sum(axis=1, keepdims=True), 1e-300) / self.n_positions)
        return float(np.sort(np.linalg.svd(scaled, compute_uv=False))[-2:][0])

    @property
    def ordered(self) -> int:
        """Number of inputs that are consecutive intervals, 0 for a category."""
        return 0 if self.edges is None else self.n_positions

    @property
    def n_positions(self) -> int:
        """Number of intervals or values."""
        return len(self.order) if self.edges is None else len(self.edges) - 1

    def includes(self, codes: Codes) -> NDArray[np.bool_]:
        """Return which reports include the column, by their codes, bool (n,)."""
        return np.asarray(codes != (-1 if self.omitted_code is None else self.omitted_code))

    def by_class(self, counts: NDArray[np.int64], inverse: Floats, class_shares: Floats) -> ClassDistributions:
        """Return the column's distributions by class; see :func:`class_distributions`."""
        return class_distributions(counts, self.transition, self.ordered, inverse, class_shares)

    def in_order(self, order: NDArray[np.int64]) -> "TreeChannel":
        """Return the channel with a category's values in another order; numbers keep theirs."""
        if self.edges is not None:
            return self
        n = self.n_positions
        positions = np.argsort(order[:n])[np.minimum(self.positions, n - 1)]
        matrix = None if self.matrix is None else self.matrix[:, order]
        return replace(self, positions=positions, matrix=matrix, order=self.order[order[:n]])


def channel_of(plan: "TablePlan", place: int, *, corrected: bool = True) -> TreeChannel:
    """Return the channel of a plan's column; without correction released values count as raw values.

    A code outside the range then has an interval there, of the same width.
    """
    column = plan.columns[place]
    missing, omitted = column.missing_code, plan.omitted_code(place)
    guaranteed = corrected and isinstance(column.mechanism, Window)
    if isinstance(column, CategoryColumn):
        category, codes = CategoryInput(column.name, column.values, column.optional), np.arange(column.codes)
        matrix = transition(column) if guaranteed else None
        return TreeChannel(category, None, codes, matrix, missing, omitted, guaranteed, np.arange(len(column.values)))
    assert isinstance(column, NumberColumn)
    values = NumberInput(column.name, float(column.low), float(column.high), column.optional)
    if isinstance(column.mechanism, Clear):
        return TreeChannel(values, *_classes(column, column.mechanism), None, missing, omitted)
    if corrected:
        positions = np.zeros(column.codes, dtype=np.int64)
        return TreeChannel(values, column.interval_edges, positions, transition(column), missing, omitted, guaranteed)
    return TreeChannel(values, *_extended(column), None, missing, omitted)


def _classes(column: NumberColumn, mechanism: Clear) -> tuple[Floats, NDArray[np.int64]]:
    """Return the edges and positions of codes that are cells or classes: intervals, if these consist of whole ones."""
    cells = column.inputs // column.intervals
    codes = np.arange(column.codes)
    if cells % mechanism.width == 0:
        return column.interval_edges, codes * mechanism.width // cells
    return column.edges[:: mechanism.width], codes


def _extended(column: NumberColumn) -> tuple[Floats, NDArray[np.int64]]:
    cells = column.inputs // column.intervals
    width, first = release_grid(column)
    intervals = (np.arange(column.codes) + int(first / width)) // cells
    lowest, highest = int(intervals[0]), int(intervals[-1])
    edges = [float(column.origin + step * width * cells) for step in range(lowest, highest + 2)]
    return np.array(edges), intervals - lowest


# ---- records


def reconstruct(counts: NDArray[np.int64], channel: TreeChannel) -> Floats:
    """Return the shares of all positions, and of missing values in an optional column, float64 (inputs,).

    Noise: EM with the stopping rule of AS00. A square wave: the smooth estimate. Categories: maximum likelihood, which
    inverts the randomized response within 0 … 1. Without reports all shares are equal.
    """
    if not counts.any():
        n = channel.transition.shape[1]
        return np.full(n, 1 / n)
    if channel.matrix is None:
        return np.asarray(counts / counts.sum(), dtype=np.float64)
    if channel.is_guaranteed:
        return pooled_shares(counts, channel.matrix, channel.ordered)
    return early_stopped_em(counts, channel.matrix)


@dataclass(frozen=True, eq=False, slots=True)
class ReleasedRecords:
    """Released records: a code for each column, (n,), and a released class, int64 (n,)."""

    codes: Sequence[Codes]
    labels: NDArray[np.int64]
    channels: Sequence[TreeChannel]
    n_classes: int

    @property
    def masses(self) -> Floats:
        """Number of records of each class, float64 (classes,)."""
        return np.bincount(self.labels, minlength=self.n_classes).astype(np.float64)

    @property
    def counts(self) -> list[NDArray[np.int64]]:
        """Counts of each column's codes by class, int64 (codes, classes), without records that omit the column."""
        found = []
        for codes, channel in zip(self.codes, self.channels, strict=True):
            n, pairs = len(channel.transition), channel.readable[codes] * self.n_classes + self.labels
            every = np.bincount(pairs, minlength=(n + 1) * self.n_classes)
            found.append(every[: n * self.n_classes].reshape(n, self.n_classes))
        return found

    @property
    def shares(self) -> list[Floats]:
        """The shares of each column's inputs in each released class, float64 (classes, inputs)."""
        class_shares, found = self.masses / len(self.labels), []
        for counts, channel in zip(self.counts, self.channels, strict=True):
            if channel.is_guaranteed and counts.any():
                found.append(channel.by_class(counts, np.eye(self.n_classes), class_shares).shares)
            else:
                found.append(np.array([reconstruct(each, channel) for each in counts.T]))
        return found

    def select(self, rows: NDArray[np.int64], places: Sequence[int]) -> "ReleasedRecords":
        """Return some of the records and columns."""
        codes, channels = [self.codes[u][rows] for u in places], [self.channels[u] for u in places]
        return ReleasedRecords(codes, self.labels[rows], channels, self.n_classes)

    def in_order(self, orders: Sequence[NDArray[np.int64]]) -> "ReleasedRecords":
        """Return the records with the inputs of each column in another order."""
        channels = [channel.in_order(order) for channel, order in zip(self.channels, orders, strict=True)]
        return replace(self, channels=channels)

    def corrected(self, distributions: Sequence[Floats], rng: np.random.Generator) -> Positions:
        """Return the positions of all records, int32 (n, columns).

        ``distributions`` are the shares of inputs, float64 (inputs,) over all records, or (classes, inputs) by class.
        """
        found = np.empty((len(self.labels), len(self.codes)), dtype=np.int32, order="F")
        for place, (codes, channel, shares) in enumerate(zip(self.codes, self.channels, distributions, strict=True)):
            if shares.ndim == 1 or channel.matrix is None:
                found[:, place] = correct(codes, channel, rng, shares)
                continue
            for k in np.unique(self.labels).tolist():
                rows = np.flatnonzero(self.labels == k)
                found[rows, place] = correct(codes[rows], channel, rng, shares[k])
        return found


# ---- positions


def correct(codes: Codes, channel: TreeChannel, rng: np.random.Generator, shares: Floats) -> Positions:
    """Return the positions of records of one class, or of all, int32 (n,), by the shares of all inputs."""
    n = channel.n_positions
    if channel.matrix is None:  # omitted columns count as missing
        return np.minimum(channel.readable, n).astype(np.int32)[codes]
    positions = np.full(len(codes), n, dtype=np.int32)
    included, missing, shares = channel.includes(codes), float(shares[n:].sum()), shares[:n]
    if not included.any() or shares.sum() <= 0:
        return positions
    shares = shares / shares.sum()
    by_code, by_shares = _divide(codes, included, missing, channel, rng)
    is_category = channel.edges is None
    assign = _fewest_moves if is_category else _sorted
    positions[by_code] = assign(channel.positions[codes[by_code]] if is_category else codes[by_code], shares, rng)
    positions[by_shares] = rng.permutation(_filled(len(by_shares), shares))
    return positions


def _divide(
    codes: Codes, included: NDArray[np.bool_], missing: float, channel: TreeChannel, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the records positioned by their codes, and those positioned by the shares; the others are missing."""
    omitted = rng.permutation(np.flatnonzero(~included))
    by_shares = [omitted[round(missing * len(omitted)) :]]
    by_code = np.flatnonzero(included)
    if channel.missing_code is not None:
        is_missing = codes[by_code] == channel.missing_code
        wanted = round(missing * len(by_code))
        empty, by_code = rng.permutation(by_code[is_missing]), rng.permutation(by_code[~is_missing])
        by_shares.append(empty[wanted:])
        by_code = by_code[max(0, wanted - len(empty)) :]
    return by_code, np.concatenate(by_shares)


def quotas(n: int, shares: Floats) -> NDArray[np.int64]:
    """Return the number of n records for each position, int64: differences of the rounded cumulative shares of n.

    >>> quotas(10, np.array([0.25, 0.5, 0.25])).tolist()
    [2, 6, 2]
    """
    ends = np.rint(n * np.cumsum(shares)).astype(np.int64)
    ends[-1] = n
    return np.diff(ends, prepend=0)


def _filled(n: int, shares: Floats) -> Positions:
    return np.repeat(np.arange(len(shares), dtype=np.int32), quotas(n, shares))


def _in_turn(codes: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the records in the order of their codes, equal ones in random order."""
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
