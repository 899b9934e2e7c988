"""Inferences ic → π: what the records that agree on a channel tell about a sensitive value.

Source: Wang, Fung, Yu, Template-Based Privacy Preservation in Classification Problems, 2005, definition 3.1.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.suppress.checking import Checked
from assocpriv.suppress.table import CodedColumn, CodedTable, text_order

if TYPE_CHECKING:
    from assocpriv.suppress.templates import Bound

_DENSE = 4  # a histogram over all combinations of values has at most so many cells a record; beyond, records are sorted
_MOST_KEYS = 2**62
_BLOCK = 1 << 16  # records at a time, so that they stay in the cache
Ints = NDArray[np.int64]


def inferences(table: CodedTable, bound: "Bound", *, above: Fraction | None = None) -> list[Checked]:
    """Return a bound's inferences, those of highest confidence first, then of largest support, then in order of text.

    Args:
        table: has the columns of the bound.
        bound: a channel and a sensitive value.
        above: only inferences of a confidence above this one.
    """
    columns = [table.column(name) for name in bound.channel]
    patterns, support, hits = _counted(table, bound)
    found = [
        Checked(
            bound,
            int(support[place]),
            int(hits[place]),
            tuple(column.values[code] for column, code in zip(columns, patterns[:, place], strict=True)),
        )
        for place in (range(len(support)) if above is None else np.flatnonzero(hits))
    ]
    chosen = [each for each in found if above is None or each.confidence > above]
    return sorted(chosen, key=lambda each: (-each.confidence, -each.support, [*map(text_order, each.values)]))


def highest_confidence(table: CodedTable, bound: "Bound") -> Fraction:
    """Return the confidence of a bound's first inference, exactly."""
    _, support, hits = _counted(table, bound)
    return max(Fraction(*pair) for pair in set(zip(hits.tolist(), support.tolist(), strict=True)))


def _counted(table: CodedTable, bound: "Bound") -> tuple[Ints, Ints, Ints]:
    groups, patterns = group_records([table.column(name) for name in bound.channel], table.n_records)
    hits = groups[table.column(bound.column).has(bound.value)]
    return patterns, np.bincount(groups), np.bincount(hits, minlength=patterns.shape[1])


def group_records(columns: Sequence[CodedColumn], n_records: int) -> tuple[Ints, Ints]:
    """Return for each record the number of its group, int64 (n,), and each group's codes, int64 (columns, groups).

    Records of a group agree on all columns. Groups are in order of their codes, the first column's first.
    """
    groups, span = np.zeros(n_records, dtype=np.int64), 1
    for column in columns:
        if span * len(column.values) >= _MOST_KEYS:
            groups, span = _numbered(groups, span)
        span *= len(column.values)
        for start in range(0, n_records, _BLOCK):
            block = groups[start : start + _BLOCK]
            block *= len(column.values)
            block += column.codes[start : start + _BLOCK]
    groups, span = _numbered(groups, span)
    one = np.empty(span, dtype=np.int64)  # a record of each group
    one[groups] = np.arange(n_records)
    return groups, np.array([column.codes[one] for column in columns], dtype=np.int64).reshape(len(columns), span)


def _numbered(keys: Ints, span: int) -> tuple[Ints, int]:
    """Return keys below some span as numbers from 0 on, in their order, and how many of these there are."""
    if span > _DENSE * len(keys):
        found, groups = np.unique(keys, return_inverse=True)
        return groups, len(found)
    present = np.zeros(span, dtype=np.int64)
    present[keys] = 1
    places = np.cumsum(present)
    return (places - 1)[keys], int(places[-1])


def masking_columns(bounds: "Iterable[Bound]") -> tuple[str, ...]:
    """Return the columns of channels that are sensitive nowhere: those whose values may be suppressed."""
    every = list(bounds)
    sensitive = {bound.column for bound in every}
    return tuple(dict.fromkeys(name for bound in every for name in bound.channel if name not in sensitive))
