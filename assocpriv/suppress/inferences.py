"""Inferences ic → π: the share of a sensitive value among the records that agree on a channel.

Source: Wang, Fung, Yu, Template-Based Privacy Preservation in Classification Problems, 2005, definition 3.1.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.suppress.coded_table import CodedColumn, CodedTable, text_order
from assocpriv.suppress.release_checks import Inference

if TYPE_CHECKING:
    from assocpriv.suppress.inference_templates import ConfidenceBound

_DENSE = 4  # cells per record of a histogram over all value combinations; beyond, records are sorted
_MAX_KEYS = 2**62
_BLOCK = 1 << 16  # records at a time, so that they stay in the cache
Ints = NDArray[np.int64]


def inferences(table: CodedTable, bound: "ConfidenceBound", *, above: Fraction | None = None) -> list[Inference]:
    """Return a bound's inferences, ordered by confidence, then by support, both falling, then by text.

    Args:
        table: A table with the columns of the bound.
        bound: A channel and a sensitive value.
        above: Return only inferences with a confidence above this.
    """
    columns = [table.column(name) for name in bound.channel]
    patterns, support, hits = _counted(table, bound)
    found = [
        Inference(
            bound,
            int(support[place]),
            int(hits[place]),
            tuple(column.values[code] for column, code in zip(columns, patterns[:, place], strict=True)),
        )
        for place in (range(len(support)) if above is None else np.flatnonzero(hits))
    ]
    chosen = [each for each in found if above is None or each.confidence > above]
    return sorted(chosen, key=lambda each: (-each.confidence, -each.support, [*map(text_order, each.values)]))


def highest_confidence(table: CodedTable, bound: "ConfidenceBound") -> Fraction:
    """Return the highest confidence of a bound's inferences, exactly."""
    _, support, hits = _counted(table, bound)
    return max(Fraction(*pair) for pair in set(zip(hits.tolist(), support.tolist(), strict=True)))


def _counted(table: CodedTable, bound: "ConfidenceBound") -> tuple[Ints, Ints, Ints]:
    groups, patterns = group_records([table.column(name) for name in bound.channel], table.n_records)
    hits = groups[table.column(bound.column).has(bound.value)]
    return patterns, np.bincount(groups), np.bincount(hits, minlength=patterns.shape[1])


def group_records(columns: Sequence[CodedColumn], n_records: int) -> tuple[Ints, Ints]:
    """Return the group number of each record, int64 (n,), and the codes of each group, int64 (columns, groups).

    Records of a group agree on all columns. Groups are ordered by their codes, first by those of the first column.
    """
    groups, span = np.zeros(n_records, dtype=np.int64), 1
    for column in columns:
        if span * len(column.values) >= _MAX_KEYS:
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
    """Return keys below a span as consecutive numbers from 0, in order, and the count of distinct keys."""
    if span > _DENSE * len(keys):
        found, groups = np.unique(keys, return_inverse=True)
        return groups, len(found)
    present = np.zeros(span, dtype=np.int64)
    present[keys] = 1
    places = np.cumsum(present)
    return (places - 1)[keys], int(places[-1])


def masking_columns(bounds: "Iterable[ConfidenceBound]") -> tuple[str, ...]:
    """Return the columns of channels that are sensitive in no bound: those whose values may be hidden."""
    every = list(bounds)
    sensitive = {bound.column for bound in every}
    return tuple(dict.fromkeys(name for bound in every for name in bound.channel if name not in sensitive))
