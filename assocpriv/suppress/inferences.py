"""Inferences ic → π: what the records that agree on a channel tell about a sensitive value.

During disclosure a channel's distinct records lie in leaves, and each bound has its highest confidence. Candidates for
disclosure are the values of the masking columns, numbered, with what they tell about the class. Corollary 3.1 makes
this incremental: confidence never falls as more is disclosed. So a candidate that violates a bound once violates it for
ever; and after a disclosure the highest confidence that a candidate would bring, Conf_x, is the largest of what it was,
of the confidence now, and of what the leaves give that the disclosure has just split.

Source: Wang, Fung, Yu, Template-Based Privacy Preservation in Classification Problems, 2005, sections 4.2 and 4.3.
Their value-indexed partitions and trees of inference channels are rows of integer codes here, sorted by leaf.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.kernels.suppression import CANDIDATE, DISCLOSED, split_leaves, weigh_candidates
from assocpriv.suppress.table import CodedColumn, CodedTable, text_order

if TYPE_CHECKING:
    from assocpriv.suppress.templates import Bound

_DENSE = 4  # a histogram over all combinations of values has at most so many cells a record; beyond, records are sorted
_MOST_KEYS = 2**62
_EXACT = 2**62  # products of counts and of a confidence's parts below this fit int64
_BLOCK = 1 << 16  # records at a time, so that they stay in the cache
_FLOAT_ERROR = 1e-12
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
State = NDArray[np.uint8]


# ---- inferences


@dataclass(frozen=True, slots=True)
class Inference:
    """One pattern of a channel's values, the number of records that hold it, and of those with the sensitive value."""

    bound: "Bound"
    values: tuple[str | None, ...]
    support: int
    hits: int

    @property
    def confidence(self) -> Fraction:
        """The share of the pattern's records that have the sensitive value."""
        return Fraction(self.hits, self.support)


def inferences(table: CodedTable, bound: "Bound", *, above: Fraction | None = None) -> list[Inference]:
    """Return a bound's inferences, those of highest confidence first, then of largest support, then in order of text.

    Args:
        table: has the columns of the bound.
        bound: a channel and a sensitive value.
        above: only inferences of a confidence above this one.
    """
    columns, patterns, support, hits = _count(table, bound)
    found = [
        Inference(bound, _cells(columns, patterns[:, place]), int(support[place]), int(hits[place]))
        for place in (range(patterns.shape[1]) if above is None else np.flatnonzero(hits))
    ]
    chosen = [each for each in found if above is None or each.confidence > above]
    return sorted(chosen, key=lambda each: (-each.confidence, -each.support, [*map(text_order, each.values)]))


def highest_confidence(table: CodedTable, bound: "Bound") -> Fraction:
    """Return the highest confidence of a bound's inferences: Conf(IC → π) of definition 3.1."""
    _columns, _patterns, support, hits = _count(table, bound)
    return Fraction(*_highest_share(hits, support))


def _highest_share(hits: NDArray[np.integer], totals: NDArray[np.integer]) -> tuple[int, int]:
    """Return the hits and the total of the highest share of all; exact, totals being above 0.

    >>> _highest_share(np.array([1, 2, 0]), np.array([3, 4, 1]))
    (2, 4)
    """
    shares = hits / totals
    near = np.flatnonzero(shares >= shares.max() * (1 - _FLOAT_ERROR))  # only what cannot be the highest is left out
    pairs = np.unique(np.stack((hits[near], totals[near]), axis=1), axis=0).tolist()
    best = max(pairs, key=lambda pair: (Fraction(*pair), -pair[1]))
    return best[0], best[1]


def _count(table: CodedTable, bound: "Bound") -> tuple[list[CodedColumn], Ints, Ints, Ints]:
    """Return a channel's columns, its patterns' codes, how many records have each, and how many of these the value."""
    columns = [table.column(name) for name in bound.channel]
    sensitive = table.column(bound.column)
    groups, patterns = group_records(columns, table.n_records)
    support = np.bincount(groups, minlength=patterns.shape[1])
    hits = np.zeros(patterns.shape[1], dtype=np.int64)
    if bound.value in sensitive.values:
        members = groups[sensitive.codes == sensitive.values.index(bound.value)]
        hits = np.bincount(members, minlength=patterns.shape[1])
    return columns, patterns, support, hits


def _cells(columns: list[CodedColumn], codes: Ints) -> tuple[str | None, ...]:
    return tuple(column.values[code] for column, code in zip(columns, codes, strict=True))


# ---- groups of agreeing records


def group_records(columns: Sequence[CodedColumn], n_records: int) -> tuple[Ints, Ints]:
    """Return for each record the number of its group, int64 (n,), and each group's codes, int64 (columns, groups).

    Records of a group agree on all columns. Groups are in order of their codes, the first column's first.
    """
    keys, span, taken = _combine_codes(columns, n_records)
    if span <= _DENSE * n_records:
        present = np.zeros(span, dtype=bool)
        present[keys] = True
        groups, found = (np.cumsum(present) - 1)[keys], np.flatnonzero(present)
    else:
        found, groups = np.unique(keys, return_inverse=True)
    patterns = np.empty((taken, len(found)), dtype=np.int64)
    for place in range(taken - 1, -1, -1):
        above = found // len(columns[place].values)
        np.subtract(found, above * len(columns[place].values), out=patterns[place])
        found = above
    if taken == len(columns):
        return groups, patterns
    so_far = CodedColumn("", (None,) * patterns.shape[1], groups.astype(np.uint32))
    groups, further = group_records([so_far, *columns[taken:]], n_records)
    return groups, np.concatenate((patterns[:, further[0]], further[1:]))


def _combine_codes(columns: Sequence[CodedColumn], n_records: int) -> tuple[Ints, int, int]:
    """Return one number a record for its codes in the first columns, what it is below, and how many columns it has.

    All columns, unless their combinations outnumber what 62 bits can count.
    """
    span, taken = 1, 0
    while taken < len(columns) and span * len(columns[taken].values) < _MOST_KEYS:
        span, taken = span * len(columns[taken].values), taken + 1
    keys = np.zeros(n_records, dtype=np.int64)
    for start in range(0, n_records, _BLOCK):
        block = keys[start : start + _BLOCK]
        for column in columns[:taken]:
            block *= len(column.values)
            block += column.codes[start : start + _BLOCK]
    return keys, span, taken


# ---- candidates for disclosure


def masking_columns(bounds: "Iterable[Bound]") -> tuple[str, ...]:
    """Return the columns of channels that are sensitive nowhere: those whose values may be suppressed."""
    every = list(bounds)
    sensitive = {bound.column for bound in every}
    return tuple(dict.fromkeys(name for bound in every for name in bound.channel if name not in sensitive))


class Candidates:
    """The values of the masking columns that occur, numbered through: columns as in the table, then in order of text.

    ``numbers`` has for each masking column the number of each of its codes, int64; ``spans`` each column's first number
    and the one after its last; ``values`` the texts, ``places`` the place of each one's column; ``counts``, int64
    (values, classes), its records by class, in a single class where there is none.
    """

    def __init__(self, table: CodedTable, masking: Iterable[str], class_column: str | None) -> None:
        wanted = set(masking)
        self.columns = tuple(column for column in table.columns if column.name in wanted)
        self.has_class = class_column is not None
        klass = table.column(class_column) if class_column is not None else None
        self.numbers: dict[str, Ints] = {}
        self.spans: dict[str, tuple[int, int]] = {}
        values: list[str | None] = []
        places: list[int] = []
        tables = []
        for place, column in enumerate(self.columns):
            counts = _count_pairs(column, klass)
            present = np.flatnonzero(counts.sum(1))
            order = sorted(present.tolist(), key=lambda code: text_order(column.values[code]))
            self.spans[column.name] = (len(values), len(values) + len(order))
            self.numbers[column.name] = np.full(len(column.values), -1, dtype=np.int64)
            self.numbers[column.name][order] = np.arange(len(values), len(values) + len(order))
            values += [column.values[code] for code in order]
            places += [place] * len(order)
            tables.append(counts[order])
        self.values, self.places = tuple(values), np.array(places, dtype=np.int64)
        self.counts = np.concatenate(tables) if tables else np.zeros((0, 1), dtype=np.int64)

    def gains(self, name: str, suppressed: NDArray[np.bool_]) -> tuple[Floats, bool]:
        """Return the information gain (bits) of each value of a column, and whether disclosure there is beneficial.

        ``suppressed`` says of every candidate whether it is suppressed; gains of the others mean nothing.
        """
        low, high = self.spans[name]
        inside = self.counts[low:high]
        every = inside[suppressed[low:high]].sum(0)
        total = every.sum()
        if not total:
            return np.zeros(high - low), False
        if not self.has_class:
            parts = np.concatenate((inside, total - inside), axis=1)
            return (_mass(np.array([total])) - _mass(parts)) / total, True
        outside = np.maximum(every - inside, 0)
        masses = (_mass(every) - _mass(every.sum(keepdims=True))) - (
            _mass(inside) - _mass(inside.sum(1, keepdims=True)) + _mass(outside) - _mass(outside.sum(1, keepdims=True))
        )
        return np.maximum(-masses / total, 0.0), bool(np.count_nonzero(every) > 1)

    def information(self, name: str, suppressed: NDArray[np.bool_]) -> float:
        """Return a column's mutual information with the class (without one: its entropy), in bits, as it is shown."""
        low, high = self.spans[name]
        inside, hidden = self.counts[low:high], suppressed[low:high]
        shown = np.concatenate((inside[~hidden], inside[hidden].sum(0, keepdims=True)))
        total = shown.sum()
        by_value = (_mass(np.array([total])) - _mass(shown.sum(1))) / total if total else 0.0
        if not self.has_class or not total:
            return max(float(by_value), 0.0)
        by_class = (_mass(np.array([total])) - _mass(shown.sum(0))) / total
        joint = (_mass(np.array([total])) - _mass(shown.ravel())) / total
        return max(float(by_value + by_class - joint), 0.0)


def _count_pairs(column: CodedColumn, klass: CodedColumn | None) -> Ints:
    pairs, span, _taken = _combine_codes([column] if klass is None else [column, klass], len(column.codes))
    return np.bincount(pairs, minlength=span).reshape(len(column.values), -1)


def _mass(counts: Ints) -> Floats:
    """Return Σ c log₂ c over the last axis: an entropy times its total is the total's mass less that of the counts."""
    terms: Floats = (counts * np.log2(np.maximum(counts, 1))).sum(-1)
    return terms


# ---- channels


class Channel:
    """The distinct records of one channel, and the bounds on it.

    ``now``, int64 (bounds, 2), has each bound's highest confidence as hits and total; ``best``, int64 (values, bounds,
    3), that of each candidate's disclosure. ``before`` has the highest confidences in the raw table.
    """

    def __init__(self, table: CodedTable, bounds: "Sequence[Bound]", candidates: Candidates) -> None:
        self.bounds = tuple(bounds)
        names = [name for name in table.names if name in bounds[0].channel]
        self.masking = tuple(name for name in names if name in candidates.numbers)
        self.fixed = tuple(name for name in names if name not in candidates.numbers)
        # the fixed columns first: the records of one of their patterns stand together, and stay so
        columns = [table.column(name) for name in (*self.fixed, *self.masking)]
        groups, patterns = group_records(columns, table.n_records)
        self.weights = _weights(table, self.bounds, groups, patterns.shape[1])
        self.before = tuple(Fraction(*_highest_share(hits, self.weights[:, 0])) for hits in self.weights.T[1:])
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
        return np.array([_highest_share(hits, sums[:, 0]) for hits in sums.T[1:]], dtype=np.int64)

    def _weigh(self, leaves: Ints, state: State, spans: Mapping[str, tuple[int, int]], best: Ints) -> None:
        pairs = np.array([spans[name] for name in self.masking], dtype=np.int64).reshape(-1, 2)
        weigh_candidates(self.codes, self.weights, self.ends, leaves, state, pairs, self._counts, best)
        lower = best[..., 0] * self.now[:, 1] < best[..., 1] * self.now[:, 0]
        best[..., :2] = np.where(lower[..., None], self.now, best[..., :2])


def _weights(table: CodedTable, bounds: "Sequence[Bound]", groups: Ints, n_groups: int) -> NDArray[np.int32]:
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
