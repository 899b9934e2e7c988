"""Inferences ic → π: what the records that agree on a channel tell about a sensitive value."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from assocpriv.owner.suppression.coded import CodedColumn, CodedTable
from assocpriv.owner.suppression.templates import Bound

_DENSE = 4  # a histogram over all combinations of values has at most so many cells a record; beyond, records are sorted

_MOST_KEYS = 2**62
_BLOCK = 1 << 16  # records at a time, so that they stay in the cache
_FLOAT_ERROR = 1e-12

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Inference:
    """One pattern of a channel's values, the number of records that hold it, and of those with the sensitive value."""

    bound: Bound
    values: tuple[str | None, ...]
    support: int
    hits: int

    @property
    def confidence(self) -> Fraction:
        """The share of the pattern's records that have the sensitive value."""
        return Fraction(self.hits, self.support)


def inferences(table: CodedTable, bound: Bound, *, above: Fraction | None = None) -> list[Inference]:
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
    return sorted(
        chosen, key=lambda each: (-each.confidence, -each.support, [(c is None, c or "") for c in each.values])
    )


def highest_confidence(table: CodedTable, bound: Bound) -> Fraction:
    """Return the highest confidence of a bound's inferences: Conf(IC → π) of definition 3.1."""
    _columns, _patterns, support, hits = _count(table, bound)
    return Fraction(*highest_share(hits, support))


def highest_share(hits: NDArray[np.integer], totals: NDArray[np.integer]) -> tuple[int, int]:
    """Return the hits and the total of the highest share of all; exact, totals being above 0.

    >>> highest_share(np.array([1, 2, 0]), np.array([3, 4, 1]))
    (2, 4)
    """
    shares = hits / totals
    near = np.flatnonzero(
        shares >= shares.max() * (1 - _FLOAT_ERROR)
    )  # floats only leave out what cannot be the highest
    pairs = np.unique(np.stack((hits[near], totals[near]), axis=1), axis=0).tolist()
    best = max(pairs, key=lambda pair: (Fraction(*pair), -pair[1]))
    return best[0], best[1]


def _count(table: CodedTable, bound: Bound) -> tuple[list[CodedColumn], Ints, Ints, Ints]:
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


def group_records(columns: Sequence[CodedColumn], n_records: int) -> tuple[Ints, Ints]:
    """Return for each record the number of its group, int64 (n,), and each group's codes, int64 (columns, groups).

    Records of a group agree on all columns. Groups are in order of their codes, the first column's first.
    """
    keys, span, taken = combine_codes(columns, n_records)
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


def combine_codes(columns: Sequence[CodedColumn], n_records: int) -> tuple[Ints, int, int]:
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
