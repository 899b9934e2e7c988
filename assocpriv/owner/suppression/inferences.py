"""Inferences ic → π: what the records that agree on a channel tell about a sensitive value."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from assocpriv.owner.suppression.coded import CodedColumn, CodedTable
from assocpriv.owner.suppression.templates import Bound

_DENSE = 4  # a histogram over all combinations of values has at most so many cells a record; beyond, records are sorted


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
    columns = [table.column(name) for name in bound.channel]
    sensitive = table.column(bound.column)
    groups, patterns = group_records(columns, table.n_records)
    support = np.bincount(groups, minlength=len(patterns))
    hits = np.zeros(len(patterns), dtype=np.int64)
    if bound.value in sensitive.values:
        hits = np.bincount(groups[sensitive.codes == sensitive.values.index(bound.value)], minlength=len(patterns))
    found = [
        Inference(bound, _cells(columns, patterns[place]), int(support[place]), int(hits[place]))
        for place in (range(len(patterns)) if above is None else np.flatnonzero(hits))
    ]
    chosen = [each for each in found if above is None or each.confidence > above]
    return sorted(
        chosen, key=lambda each: (-each.confidence, -each.support, [(c is None, c or "") for c in each.values])
    )


def _cells(columns: list[CodedColumn], codes: NDArray[np.int64]) -> tuple[str | None, ...]:
    return tuple(column.values[code] for column, code in zip(columns, codes, strict=True))


def group_records(columns: list[CodedColumn], n_records: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each record the number of its group, int64 (n,), and each group's codes, int64 (groups, columns).

    Records of a group agree on all columns.
    """
    keys, span = np.zeros(n_records, dtype=np.int64), 1
    for column in columns:
        if span * len(column.values) >= 2**62:
            found, keys = np.unique(keys, return_inverse=True)
            span = len(found)
        keys, span = keys * len(column.values) + column.codes, span * len(column.values)
    if span <= _DENSE * n_records:
        present = np.bincount(keys, minlength=span) > 0
        groups, count = (np.cumsum(present) - 1)[keys], int(present.sum())
    else:
        found, groups = np.unique(keys, return_inverse=True)
        count = len(found)
    members = np.empty(count, dtype=np.int64)
    members[groups] = np.arange(n_records)  # some record of each group; which one does not matter
    patterns = np.empty((count, len(columns)), dtype=np.int64)
    for place, column in enumerate(columns):
        patterns[:, place] = column.codes[members]
    return groups, patterns
