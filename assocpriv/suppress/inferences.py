"""Inferences ic → π: what the records that agree on a channel tell about a sensitive value.

Source: Wang, Fung, Yu, Template-Based Privacy Preservation in Classification Problems, 2005, definition 3.1.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.suppress.table import CodedColumn, CodedTable, text_order

if TYPE_CHECKING:
    from assocpriv.suppress.templates import Bound

_DENSE = 4  # a histogram over all combinations of values has at most so many cells a record; beyond, records are sorted
_MOST_KEYS = 2**62
_BLOCK = 1 << 16  # records at a time, so that they stay in the cache
Ints = NDArray[np.int64]


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
    columns = [table.column(name) for name in bound.channel]
    groups, patterns = group_records(columns, table.n_records)
    support = np.bincount(groups, minlength=patterns.shape[1])
    hits = np.bincount(groups[table.column(bound.column).has(bound.value)], minlength=patterns.shape[1])
    found = [
        Inference(
            bound,
            tuple(column.values[code] for column, code in zip(columns, patterns[:, place], strict=True)),
            int(support[place]),
            int(hits[place]),
        )
        for place in (range(patterns.shape[1]) if above is None else np.flatnonzero(hits))
    ]
    chosen = [each for each in found if above is None or each.confidence > above]
    return sorted(chosen, key=lambda each: (-each.confidence, -each.support, [*map(text_order, each.values)]))


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


def masking_columns(bounds: "Iterable[Bound]") -> tuple[str, ...]:
    """Return the columns of channels that are sensitive nowhere: those whose values may be suppressed."""
    every = list(bounds)
    sensitive = {bound.column for bound in every}
    return tuple(dict.fromkeys(name for bound in every for name in bound.channel if name not in sensitive))
