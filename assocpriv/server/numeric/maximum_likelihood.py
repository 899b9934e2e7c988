"""Maximum-likelihood estimate of a distribution observed through a channel: EM, smoothed EM and iterated Bayes.

**Channels.** The cost must not grow with a plan's cells. So neighbouring intervals are merged, and neighbouring codes
are merged into bins that are narrow against the noise. This adds no bias, as the probabilities of bins follow exactly
from those of codes; only the position of a report within its bin is lost.

**EM.** With counts n_y of N released codes and A[y, i] = P(y | input i), the log-likelihood Σ_y n_y log (A f)_y is
concave in the shares f. One step of EM:

    f_i ← f_i · g_i,   g_i = (1/N) Σ_y n_y A[y, i] / (A f)_y

It is the iterated Bayes of AS00, section 3.2, with exact interval masses in place of densities at midpoints (Agrawal
and Aggarwal, PODS 2001). Steps are extrapolated as in SQUAREM (Varadhan and Roland, Scandinavian Journal of Statistics
2008, scheme S3); an extrapolation that lowers the likelihood is dropped. The steps end when a bound shows that the
log-likelihood is near its maximum: it is concave, so no distribution exceeds it by more than N·(max_i g_i − 1).

With smoothing each step of EM is followed by S, an average of neighbours with weights 1, 2, 1, until the log-likelihood
changes by less than 1/1000. EMS: Silverman, Jones, Wilson and Nychka, JRSS B 1990; Li et al., SIGMOD 2020, section 5.5.
The amount of smoothing depends on the grid: with a hundred intervals S removes peaks, with a thousand cells noise
remains. So EMS runs on several grids, in which each interval is split into more parts. The estimate is their mean,
weighted by how well each predicts other reports: by exp(Akaike's criterion) (Buckland, Burnham, Augustin, Biometrics
1997). The criterion is the log-likelihood less Σ_y n_y ∂ log (A f)_y / ∂n_y, where at the fixed point

    (I − S J) ∂f/∂n = S diag(f) Aᵀ diag(1/Af) / N,     J = diag(g) − diag(f) Aᵀ diag(n / (N (Af)²)) A

**Iterated Bayes** is the reconstruction of AS00, section 3, on interval midpoints, with their rule for stopping early:

    Pr'(I_p) = (1/N) Σ_s N(I_s) · f_Y(m(I_s) − m(I_p)) Pr(I_p) / Σ_t f_Y(m(I_s) − m(I_t)) Pr(I_t)

N(I_s) released values lie in interval I_s. Intervals of released values have the same width and extend beyond the
range. m is the midpoint, f_Y the density of the noise. The iteration stops when the χ² statistic between successive
estimates is below 1% of the threshold of its test. Mechanisms other than additive noise have no density at midpoints;
for them the probabilities of whole intervals are used.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.matrices import solve
from assocpriv.plans.numeric.table_plan import Column, Noise, NumberColumn, transition

Floats = NDArray[np.float64]
Counts = NDArray[np.int64] | Floats

_MOST_INTERVALS = 100  # AS00, section 3.2
_SAME = 1e-12
MOST_BINS = 600  # loss of least squares against all codes: 2 to 4% in the distribution function, up to double at 200
FEW_BINS = 200  # loss of smooth estimates: at most 0.5% at 10 to 100% privacy and square waves of ε 0.5 to 4
_NEAR = 1e-3  # allowed distance to the maximum of the log-likelihood; one standard error lowers it by 1/2
_MOST_ROUNDS = 2000  # of two steps and an extrapolation
_EMS_CHANGE = 1e-3  # Li et al., section 6.1
_EMS_STEPS = 10_000  # Li et al., in their program
_FINEST, _EMS_BINS = 1000, 300  # inputs and bins of EMS
_LEAST = 1e-300  # against 0/0 when a share reaches 0
_STOP_LEVEL, _STOP_PART = 0.95, 0.01  # of the χ² test; of its threshold (AS00, sections 3.2 and 5.1)
_STOP_STEPS = 10_000
_LEAST_KEPT = 0.1  # of a share after EM's own step: the minimum after an extrapolation


# ---- channels


@dataclass(frozen=True, eq=False, slots=True)
class CoarseChannel:
    """The channel of a column's release, on merged intervals and bins.

    Attributes:
        column: The plan's column.
        matrix: P(bin | interval or value), float64 (bins, inputs). An optional column has a last input for a missing
            value.
        bin_of: The bin of each code, int64 (codes,), increasing.
        edges: Edges of the intervals, float64 (intervals + 1,); None for named values.
        group: How many of the plan's intervals make up one; the last may have fewer.
    """

    column: Column
    matrix: Floats
    bin_of: NDArray[np.int64]
    edges: Floats | None
    group: int

    @property
    def n_values(self) -> int:
        """Number of intervals or values: all inputs except that of a missing value."""
        return int(self.matrix.shape[1]) - self.column.optional

    @property
    def ordered(self) -> int:
        """Number of inputs that are consecutive intervals: those of a number."""
        return 0 if self.edges is None else self.n_values

    @property
    def cells(self) -> int:
        """Number of cells in an interval of the plan."""
        return self.column.inputs // self.column.intervals if isinstance(self.column, NumberColumn) else 1

    @property
    def places(self) -> "Floats | tuple[str, ...]":
        """The edges of the intervals, or the named values; for whole numbers the labels of the intervals."""
        if self.edges is None:
            return self.column.values  # type: ignore[attr-defined, no-any-return]
        is_whole = isinstance(self.column, NumberColumn) and self.column.grain
        return whole_number_labels(self.edges) if is_whole else self.edges

    @property
    def known_edges(self) -> NDArray[np.bool_]:
        """Edges that the channel distinguishes, bool (intervals + 1,): all except those within a class of values."""
        inner = (np.abs(np.diff(self.matrix[:, : self.ordered], axis=1)) > _SAME).any(axis=0)
        return np.concatenate([[True], inner, [True]])

    def merged(self, shares: Floats) -> Floats:
        """Return shares of merged intervals from shares of the plan's intervals."""
        if self.group == 1:
            return shares
        row = len(shares) - self.column.optional
        joined = np.add.reduceat(shares[:row], np.arange(0, row, self.group))
        return np.concatenate([joined, shares[row:]])

    def bin_counts(self, counts: Counts) -> Floats:
        """Return counts of bins from counts of codes, (codes, …)."""
        starts = np.flatnonzero(np.diff(self.bin_of, prepend=-1))
        return np.add.reduceat(np.asarray(counts, dtype=np.float64), starts, axis=0)


def whole_number_labels(edges: Floats) -> tuple[str, ...]:
    """Return the labels of the whole numbers between neighbouring edges, which lie halfway between whole numbers.

    >>> whole_number_labels(np.array([0.5, 1.5, 3.5]))
    ('1', '2–3')
    """
    ends = ((round(low + 0.5), round(high - 0.5)) for low, high in pairwise(edges.tolist()))
    return tuple(f"{low}" if low == high else f"{low}–{high}" for low, high in ends)


def bin_starts(matrix: Floats, ordered: int, most: int) -> NDArray[np.int64]:
    """Return where bins of codes begin: at most ``most`` for consecutive intervals, one for each other code."""
    row = len(matrix) - (matrix.shape[1] - ordered) if ordered else 0
    return np.array([*range(0, row, max(1, -(-row // most))), *range(row, len(matrix))])


def merge_bins(counts: NDArray[Any], matrix: Floats, ordered: int) -> tuple[NDArray[Any], Floats]:
    """Return counts of codes and a channel with neighbouring codes merged to about FEW_BINS bins."""
    starts = bin_starts(matrix, ordered, FEW_BINS)
    return np.add.reduceat(counts, starts), np.add.reduceat(matrix, starts)


def coarse_channel(column: Column, most_intervals: int = _MOST_INTERVALS, most_bins: int = MOST_BINS) -> CoarseChannel:
    """Return a column's channel with at most ``most_intervals`` and about ``most_bins``."""
    if not isinstance(column, NumberColumn):
        return CoarseChannel(column, transition(column), np.arange(column.codes), None, 1)
    return _grouped(column, -(-column.intervals // most_intervals), most_bins)


def _grouped(column: NumberColumn, group: int, most_bins: int) -> CoarseChannel:
    """Return a column's channel with ``group`` intervals merged into one."""
    fine, width = transition(column), -(-column.mechanism.outputs // most_bins)
    starts = np.arange(0, column.intervals, group)
    sizes = np.diff(starts, append=column.intervals)
    merged = np.add.reduceat(fine[:, : column.intervals], starts, axis=1) / sizes
    bin_of = np.arange(column.codes) // width
    if column.optional:
        merged = np.concatenate([merged, fine[:, -1:]], axis=1)
        bin_of[-1] = bin_of[-2] + 1
    matrix = np.add.reduceat(merged, np.flatnonzero(np.diff(bin_of, prepend=-1)), axis=0)
    edges = np.append(column.interval_edges[starts], column.interval_edges[-1])
    return CoarseChannel(column, matrix, bin_of, edges, group)


# ---- maximum likelihood


def maximize_likelihood(
    counts: Counts, matrix: Floats, *, smooth: bool = False, start: Floats | None = None, ordered: int | None = None
) -> Floats:
    """Return the shares of the inputs with the largest likelihood, float64 (inputs,); they add up to 1.

    Args:
        counts: Counts of released codes, (codes,), not all zero.
        matrix: P(code | input), float64 (codes, inputs); its columns add up to 1.
        smooth: Average neighbours after each step (EMS).
        start: Initial shares, all above 0; by default equal.
        ordered: Number of inputs, from the first, that are consecutive intervals and are smoothed; by default all. The
            input of a missing value is not one of them.

    >>> maximize_likelihood(np.array([70, 30]), np.array([[0.75, 0.25], [0.25, 0.75]])).round(3)
    array([0.9, 0.1])
    """
    seen: NDArray[np.bool_] = counts > 0
    step = _Step(counts[seen] / counts.sum(), np.ascontiguousarray(matrix[seen]), float(counts.sum()))
    n = matrix.shape[1]
    shares = np.full(n, 1 / n) if start is None else np.maximum(start, _LEAST) / start.sum()
    return _run_ems(step, shares, n if ordered is None else ordered) if smooth else _run_squarem(step, shares)


class _Step:
    """One step of EM for given counts."""

    def __init__(self, rates: Floats, matrix: Floats, n: float) -> None:
        self.rates, self.matrix, self.n = rates, matrix, n

    def __call__(self, shares: Floats) -> tuple[Floats, float, float]:
        """Return the next shares, the log-likelihood of the given ones, and a bound of its distance to the maximum."""
        expected = np.maximum(self.matrix @ shares, _LEAST)
        gain = (self.rates / expected) @ self.matrix
        return shares * gain, self.n * float(self.rates @ np.log(expected)), self.n * (float(gain.max()) - 1)


def _run_squarem(step: _Step, shares: Floats) -> Floats:
    for _ in range(_MOST_ROUNDS):
        first, _, distance = step(shares)
        if distance < _NEAR:
            return shares
        second, likelihood, _ = step(first)
        change, curvature = first - shares, second - 2 * first + shares
        length = max(1.0, float(np.linalg.norm(change) / max(float(np.linalg.norm(curvature)), _LEAST)))
        extrapolated = np.maximum(shares + 2 * length * change + length**2 * curvature, _LEAST_KEPT * second)
        third, extrapolated_likelihood, _ = step(extrapolated / extrapolated.sum())
        shares = third if extrapolated_likelihood >= likelihood else second
    return np.asarray(shares / shares.sum())


def _run_ems(step: _Step, shares: Floats, ordered: int) -> Floats:
    before = -np.inf
    for _ in range(_EMS_STEPS):
        following, likelihood, _ = step(shares)
        if abs(likelihood - before) < _EMS_CHANGE:
            break
        shares, before = average_neighbours(following, ordered), likelihood
    return shares


def average_neighbours(shares: Floats, ordered: int) -> Floats:
    """Return shares with the first ``ordered`` averaged with weights 1, 2, 1; their sum does not change.

    At both ends the weights are 2 and 1.

    >>> average_neighbours(np.array([0, 0.5, 0, 0, 0.5]), 4).round(3)
    array([0.154, 0.231, 0.115, 0.   , 0.5  ])
    """
    row = shares[:ordered]
    if ordered < 2 or row.sum() <= 0:
        return shares
    padded = np.concatenate([[0.0], row, [0.0]])
    smooth = (padded[:-2] + 2 * row + padded[2:]) / 4
    smooth[[0, -1]] *= 4 / 3
    return np.concatenate([smooth * (row.sum() / smooth.sum()), shares[ordered:]])


def ems_shares(counts: Counts, channel: CoarseChannel) -> Floats:
    """Return the shares of a channel's inputs by EMS on several grids, float64 (inputs,).

    ``counts`` are those of the column's codes, (codes,), not all zero.
    """
    scores, shares = [], []
    for fine in _grids(channel):
        bins, row, parts = fine.bin_counts(counts), fine.ordered, channel.group * channel.cells // fine.group
        found = maximize_likelihood(bins, fine.matrix, smooth=True, ordered=row)
        scores.append(_akaike_score(bins, fine.matrix, found, row))
        shares.append(np.append(np.add.reduceat(found[:row], np.arange(0, row, parts)), found[row:]))
    weights = np.exp(np.array(scores) - max(scores))
    return np.asarray(weights @ np.array(shares) / weights.sum())


def _grids(channel: CoarseChannel) -> list[CoarseChannel]:
    """Return channels with ever finer intervals, equal parts of the given ones, each of at most half the width."""
    column, cells = channel.column, channel.group * channel.cells
    assert isinstance(column, NumberColumn)
    widths = [cells]
    for width in range(cells // 2, 0, -1):
        if cells % width == 0 and 2 * width <= widths[-1] and column.inputs <= _FINEST * width:
            widths.append(width)
    return [_grouped(replace(column, intervals=column.inputs), width, _EMS_BINS) for width in widths]


def _akaike_score(counts: Floats, matrix: Floats, shares: Floats, row: int) -> float:
    """Return Akaike's criterion of shares by EMS: the log-likelihood less its gain from fitting the same counts."""
    seen: NDArray[np.bool_] = counts > 0
    counts, matrix = counts[seen], matrix[seen]
    n, expected = counts.sum(), np.maximum(matrix @ shares, _LEAST)
    gain = (counts / expected) @ matrix / n
    curved = matrix.T @ (matrix * (counts / expected**2 / n)[:, None])
    step = np.diag(gain) - shares[:, None] * curved
    moved = shares[:, None] * (matrix / (n * expected)[:, None]).T
    average = np.column_stack([average_neighbours(each, row) for each in np.eye(len(shares))])
    change = solve((1 + _SAME) * np.eye(len(shares)) - average @ step, average @ moved)
    change -= np.outer(shares, change.sum(axis=0))  # the sum of shares stays 1
    penalty = float(np.einsum("y,yi,iy->", counts / expected, matrix, change, optimize=True))
    return float(counts @ np.log(expected)) - penalty


# ---- iterated Bayes


def early_stopped_em(counts: Counts, likelihoods: Floats, inside: NDArray[np.bool_] | None = None) -> Floats:
    """Return the shares at which χ² between successive steps of EM falls below 1% of a threshold.

    Stopping early keeps the reconstruction smooth: with few records it takes few steps from even shares. Counts of
    several boxes, (boxes, codes), are estimated row by row, over the inputs that are ``inside``, bool (boxes, inputs).
    ``likelihoods``, float64 (codes, inputs), need not add up to 1; codes whose likelihoods are all 0 are ignored.
    Source: AS00, section 3.2.
    """
    from scipy.special import chdtri

    rows: NDArray[np.bool_] = np.ones((1, likelihoods.shape[1]), dtype=np.bool_) if inside is None else inside
    seen = np.flatnonzero(counts.reshape(len(rows), -1).any(axis=0))
    found, matrix = counts.reshape(len(rows), -1)[:, seen], np.ascontiguousarray(likelihoods[seen])
    shares: Floats = rows / rows.sum(axis=1, keepdims=True)
    n = np.maximum(found.sum(axis=1), _LEAST)
    enough = _STOP_PART * chdtri(np.maximum(1, rows.sum(axis=1) - 1), 1 - _STOP_LEVEL) / n
    going = np.flatnonzero(found.any(axis=1))
    for _ in range(_STOP_STEPS):
        before = shares[going]
        after = before * ((found[going] / np.maximum(before @ matrix.T, _LEAST)) @ matrix)
        after /= after.sum(axis=1, keepdims=True)
        shares[going] = after
        going = going[((after - before) ** 2 / np.maximum(before, _LEAST)).sum(axis=1) >= enough[going]]
        if not len(going):
            break
    return shares if inside is not None else shares.ravel()


def iterated_bayes(counts: Floats, column: NumberColumn) -> Floats:
    """Return the shares of the plan's intervals, and of a missing value in an optional column, float64 (inputs,).

    ``counts`` are those of the column's codes, float64 (codes,).
    """
    return early_stopped_em(*_midpoint_densities(counts, column))


def _midpoint_densities(counts: Floats, column: NumberColumn) -> tuple[Floats, Floats]:
    """Return the counts of intervals of released values, and the density of each for every interval of values."""
    mechanism, group = column.mechanism, column.inputs // column.intervals
    if not isinstance(mechanism, Noise):
        return counts, transition(column)
    beyond = -(-mechanism.largest // group)  # intervals on either side
    padded = np.zeros((column.intervals + 2 * beyond) * group)
    padded[beyond * group - mechanism.largest :][: mechanism.outputs] = counts[: mechanism.outputs]
    seen = padded.reshape(-1, group).sum(axis=1)
    weights = np.diff(np.append(0, np.array(mechanism.cumulative, dtype=np.float64))) / mechanism.cumulative[-1]
    shift = (np.arange(len(seen))[:, None] - beyond - np.arange(column.intervals)) * group + mechanism.largest
    density = np.where((shift >= 0) & (shift < len(weights)), group * weights[np.clip(shift, 0, len(weights) - 1)], 0.0)
    if column.optional:
        seen, density = np.append(seen, counts[-1]), np.pad(density, (0, 1))
        density[-1, -1] = 1
    return seen, density
