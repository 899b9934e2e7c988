"""Candidates for disclosure: the values of the masking columns, numbered, with what they tell about the class."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from assocpriv.owner.suppression.coded import CodedColumn, CodedTable
from assocpriv.owner.suppression.inferences import combine_codes
from assocpriv.owner.suppression.templates import Bound

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def masking_columns(bounds: Iterable[Bound]) -> tuple[str, ...]:
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


def text_order(value: str | None) -> tuple[bool, str]:
    """Return the key that sorts values as text, a missing one last."""
    return value is None, value or ""


def _count_pairs(column: CodedColumn, klass: CodedColumn | None) -> Ints:
    pairs, span, _taken = combine_codes([column] if klass is None else [column, klass], len(column.codes))
    return np.bincount(pairs, minlength=span).reshape(len(column.values), -1)


def _mass(counts: Ints) -> Floats:
    """Return Σ c log₂ c over the last axis: an entropy times its total is the total's mass less that of the counts."""
    terms: Floats = (counts * np.log2(np.maximum(counts, 1))).sum(-1)
    return terms
