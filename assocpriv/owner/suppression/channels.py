"""Inference channels during disclosure: distinct records in leaves, and the highest confidence of each bound.

Corollary 3.1 makes this incremental: confidence never falls as more is disclosed. So a candidate that violates a bound
once violates it for ever; and after a disclosure the highest confidence that a candidate would bring, Conf_x, is the
largest of what it was, of the confidence now, and of what the leaves give that the disclosure has just split.

Source: Wang, Fung, Yu, Template-Based Privacy Preservation in Classification Problems, 2005, sections 4.2 and 4.3.
Their value-indexed partitions and trees of inference channels are rows of integer codes here, sorted by leaf.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from assocpriv.kernels.suppression import CANDIDATE, DISCLOSED, split_leaves, weigh_candidates
from assocpriv.owner.suppression.candidates import Candidates, Floats, Ints
from assocpriv.owner.suppression.coded import CodedTable
from assocpriv.owner.suppression.inferences import Inference, group_records, highest_share
from assocpriv.owner.suppression.templates import Bound

_EXACT = 2**62  # products of counts and of a confidence's parts below this fit int64
State = NDArray[np.uint8]


class Channel:
    """The distinct records of one channel, and the bounds on it.

    ``now``, int64 (bounds, 2), has each bound's highest confidence as hits and total; ``best``, int64 (values, bounds,
    3), that of each candidate's disclosure. ``before`` has the highest confidences in the raw table.
    """

    def __init__(self, table: CodedTable, bounds: Sequence[Bound], candidates: Candidates) -> None:
        self.bounds = tuple(bounds)
        names = [name for name in table.names if name in bounds[0].channel]
        self.masking = tuple(name for name in names if name in candidates.numbers)
        self.fixed = tuple(name for name in names if name not in candidates.numbers)
        # the fixed columns first: the records of one of their patterns stand together, and stay so
        columns = [table.column(name) for name in (*self.fixed, *self.masking)]
        groups, patterns = group_records(columns, table.n_records)
        self.weights = _weights(table, self.bounds, groups, patterns.shape[1])
        self.before = tuple(Fraction(*highest_share(hits, self.weights[:, 0])) for hits in self.weights.T[1:])
        self._patterns = patterns[: len(self.fixed)]
        self._fixed = _changes(self._patterns)
        masked = patterns[len(self.fixed) :]
        self.codes = np.empty((len(self.masking), patterns.shape[1]), dtype=np.int32)
        for place, name in enumerate(self.masking):
            self.codes[place] = candidates.numbers[name][masked[place]]
        self.ends = np.zeros(patterns.shape[1], dtype=np.int64)
        self._touched = np.empty(patterns.shape[1], dtype=np.int64)
        self._counts = np.zeros((len(candidates.values) + 1, 1 + len(bounds)), dtype=np.int64)
        self._widest = max(max(bound.confidence.as_integer_ratio()) for bound in bounds) * table.n_records < _EXACT
        dtype = np.int64 if self._widest else object
        self._limits = np.array([bound.confidence.as_integer_ratio() for bound in bounds], dtype=dtype)
        self.now = self._highest(np.flatnonzero(self._fixed))
        self.best = self._no_shares(candidates)

    def start(self, state: State, spans: Mapping[str, tuple[int, int]]) -> None:
        """Weigh all candidates when all of them are suppressed."""
        starts = self._open_leaves(self._fixed)
        self._weigh(starts, state, spans, self.best)

    def disclose(self, name: str, value: int, state: State, spans: Mapping[str, tuple[int, int]]) -> None:
        """Disclose a candidate in a column of this channel, and weigh the others anew."""
        made = split_leaves(self.codes, self.weights, self.ends, self._touched, state, self.masking.index(name), value)
        state = state.copy()
        state[value] = DISCLOSED
        self.now = np.ascontiguousarray(self.best[value, :, :2])
        self._weigh(self._touched[:made], state, spans, self.best)

    def violations(self, best: Ints) -> NDArray[np.bool_]:
        """Say of each candidate and bound whether the disclosure's highest confidence is above the bound's; exact."""
        parts = best if self._widest else best.astype(object)
        over = parts[..., 0] * self._limits[:, 1] > parts[..., 1] * self._limits[:, 0]
        return np.asarray(over, dtype=bool)

    def losses(self, span: slice) -> Floats:
        """Return how much each candidate's disclosure adds to the highest confidence, summed over the bounds."""
        best = self.best[span]
        grown = best[..., 0] / best[..., 1] - self.now[:, 0] / self.now[:, 1]
        sums: Floats = grown.sum(1)
        return sums

    def reasons(self, state: State, candidates: Candidates, table: CodedTable, mark: str) -> dict[int, Inference]:
        """Return for suppressed values an inference above its bound that the disclosure would bring, if one exists."""
        spans, best = candidates.spans, self._no_shares(candidates)
        searched = np.where(state == DISCLOSED, DISCLOSED, CANDIDATE).astype(np.uint8)
        starts = self._open_leaves(self._fixed | _changes(np.where(state[self.codes] == DISCLOSED, self.codes, -1)))
        self._weigh(starts, searched, spans, best)
        over = self.violations(best)
        reasons = {}
        for value in np.flatnonzero(over.any(1)).tolist():
            place = int(np.flatnonzero(over[value])[0])
            hits, total, witness = best[value, place].tolist()
            row, is_rest = divmod(witness, 2)
            shown = {
                name: table.column(name).values[code]
                for name, code in zip(self.fixed, self._patterns[:, row].tolist(), strict=True)
            }
            for name, number in zip(self.masking, self.codes[:, row].tolist(), strict=True):
                low, high = spans[name]
                if low <= value < high:
                    shown[name] = mark if is_rest else candidates.values[value]
                else:
                    shown[name] = candidates.values[number] if state[number] == DISCLOSED else mark
            bound = self.bounds[place]
            reasons[value] = Inference(bound, tuple(shown[name] for name in bound.channel), total, hits)
        return reasons

    def _no_shares(self, candidates: Candidates) -> Ints:
        best = np.zeros((len(candidates.values), len(self.bounds), 3), dtype=np.int64)
        best[..., :2] = self.now
        return best

    def _open_leaves(self, first: NDArray[np.bool_]) -> Ints:
        starts = np.flatnonzero(first)
        self.ends[starts] = np.append(starts[1:], len(first))
        return starts

    def _highest(self, starts: Ints) -> Ints:
        sums = np.add.reduceat(self.weights, starts, axis=0, dtype=np.int64)
        return np.array([highest_share(hits, sums[:, 0]) for hits in sums.T[1:]], dtype=np.int64)

    def _weigh(self, leaves: Ints, state: State, spans: Mapping[str, tuple[int, int]], best: Ints) -> None:
        pairs = np.array([spans[name] for name in self.masking], dtype=np.int64).reshape(-1, 2)
        weigh_candidates(self.codes, self.weights, self.ends, leaves, state, pairs, self._counts, best)
        lower = best[..., 0] * self.now[:, 1] < best[..., 1] * self.now[:, 0]
        best[..., :2] = np.where(lower[..., None], self.now, best[..., :2])


def _weights(table: CodedTable, bounds: Sequence[Bound], groups: Ints, n_groups: int) -> NDArray[np.int32]:
    weights = np.empty((n_groups, 1 + len(bounds)), dtype=np.int32)
    weights[:, 0] = np.bincount(groups, minlength=n_groups)
    for place, bound in enumerate(bounds, 1):
        column = table.column(bound.column)
        members = groups[column.codes == column.values.index(bound.value)]
        weights[:, place] = np.bincount(members, minlength=n_groups)
    return weights


def _changes(columns: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Say of each row, (columns, rows), whether it differs from the one before; the first does."""
    first = np.zeros(columns.shape[1], dtype=bool)
    first[:1] = True
    for column in columns:
        first[1:] |= column[1:] != column[:-1]
    return first
