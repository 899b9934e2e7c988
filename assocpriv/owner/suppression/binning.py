"""Columns of numbers -> intervals, so that they may stand in a channel: of equal frequency, or by class entropy.

Source of the latter: Fayyad and Irani, Multi-Interval Discretization of Continuous-Valued Attributes for
Classification Learning, 1993: cuts that lower the entropy of the class most, where their description length allows.
Bins decide what is released, and are counted as any other value; no promise rests on how they were found.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.owner.suppression.coded import CodedColumn, CodedTable, smallest_unsigned
from assocpriv.owner.suppression.tables import SourceTable
from assocpriv.promise.errors import TemplateError

ENTROPY = "entropy"
_MOST_BINS = 1000
Method = int | str


@dataclass(frozen=True, slots=True)
class Binning:
    """Which columns of numbers become intervals: all of ``everywhere``'s method, or some by name; or stay categories.

    A method is a number of intervals of about equally many records, or ``entropy``.
    """

    everywhere: Method | None = None
    columns: Mapping[str, Method] | None = None
    categories: frozenset[str] = frozenset()

    def method(self, column: str) -> Method | None:
        """Return how a column is binned, None if it is not."""
        named = (self.columns or {}).get(column)
        return named if named is not None or column in self.categories else self.everywhere

    @property
    def named(self) -> set[str]:
        """All columns that are named."""
        return {*(self.columns or {}), *self.categories}


def read_binning(bins: Any, categories: str | Collection[str] = ()) -> Binning:
    """Return what is meant by a number or ``entropy``, a mapping of these by column, or texts as ``5`` and ``age=5``.

    Raises:
        TemplateError: it is neither, or a column is binned and a category.

    >>> read_binning(["entropy", "age=4"]).method("age"), read_binning(3).method("age")
    (4, 3)
    """
    kept = frozenset([categories] if isinstance(categories, str) else categories)
    if bins is None:
        return Binning(categories=kept)
    if isinstance(bins, Mapping):
        pairs: list[tuple[str | None, Any]] = [(str(column), method) for column, method in bins.items()]
    else:
        words = bins if isinstance(bins, list | tuple) else [bins]
        pairs = [_pair(word) for word in words]
    everywhere = [_method(method) for column, method in pairs if column is None]
    if len(everywhere) > 1:
        raise TemplateError("bins: one number of intervals, or entropy, for all columns; others by name, as age=5")
    columns = {column: _method(method) for column, method in pairs if column is not None}
    if both := kept & set(columns):
        raise TemplateError(f"column {min(both)} is to be binned and to be a category; choose one")
    return Binning(everywhere[0] if everywhere else None, columns, kept)


def _pair(word: Any) -> tuple[str | None, Any]:
    if not isinstance(word, str):
        return None, word
    column, mark, method = word.rpartition("=")
    return (column.strip() if mark else None), method.strip()


def _method(method: Any) -> Method:
    if method == ENTROPY:
        return ENTROPY
    if isinstance(method, str) and method.isascii() and method.isdigit() and len(method) < 6:
        method = int(method)
    if isinstance(method, bool) or not isinstance(method, int) or not 1 < method <= _MOST_BINS:
        raise TemplateError(
            f"bins must be a number of intervals from 2 to {_MOST_BINS:,}, or entropy, as 8 or age=entropy"
        )
    return method


def bin_columns(
    source: SourceTable, channels: Sequence[str], masking: Collection[str], binning: Binning, class_column: str | None
) -> tuple[SourceTable, dict[str, tuple[str, ...]]]:
    """Return the table with its columns of numbers binned as asked, and the intervals by column.

    Args:
        source: the table.
        channels: columns that stand in a channel.
        masking: those of them that may be suppressed: only these are binned.
        binning: what is asked for.
        class_column: whose entropy decides.

    Raises:
        TemplateError: a column of numbers or times in a channel that nothing is said of, or one that cannot be binned.
    """
    for name in sorted(binning.named - set(channels)):
        raise TemplateError(
            f"column {name} stands in no channel; take it out of --bins or --category (bins=, category=)"
        )
    columns, labels = [], {}
    for column in source.coded.columns:
        method = binning.method(column.name) if column.name in masking and column.name in source.numbers else None
        if column.name in channels and method is None:
            _check_category(source, column.name, binning, column.name in masking)
        if method is not None:
            binned, labels[column.name] = _binned(source, column, method, class_column)
        columns.append(column if method is None else binned)
    if binning.everywhere is not None and not set(labels) - set(binning.columns or {}):
        raise TemplateError(
            f"--bins {binning.everywhere} (bins=) is of no use: no further column of a channel holds numbers to be "
            "binned; leave it out"
        )
    coded = CodedTable(tuple(columns), source.coded.n_records)
    return replace(source, coded=coded, respelled=source.respelled | set(labels)), labels


def _check_category(source: SourceTable, name: str, binning: Binning, is_masking: bool) -> None:
    if name in (binning.columns or {}):
        why = "it holds no three numbers and nothing else" if is_masking else "it is sensitive in another template"
        raise TemplateError(
            f"column {name} cannot be binned: {why}; if a word stands for missing values, pass --missing"
        )
    if name in binning.categories or (name not in source.numbers and name not in source.times):
        return
    what = "numbers" if name in source.numbers else "times"
    category = f"--category {name} (category=) takes each of them as a category"
    bins = "pass --bins N or --bins entropy (bins=) to release intervals; " if what == "numbers" and is_masking else ""
    raise TemplateError(f"column {name} of a channel holds {what}; {bins}{category}")


def _binned(
    source: SourceTable, column: CodedColumn, method: Method, class_column: str | None
) -> tuple[CodedColumn, tuple[str, ...]]:
    numbers = source.numbers[column.name]
    written = np.flatnonzero(~np.isnan(numbers))
    distinct, places = np.unique(numbers[written], return_inverse=True)
    if method == ENTROPY:
        if class_column is None:
            raise TemplateError("--bins entropy needs a class (--class, class_column=); or pass a number of intervals")
        starts = entropy_starts(
            _class_counts(column, source.coded.column(class_column), written, places, len(distinct))
        )
    else:
        assert isinstance(method, int)
        counts = np.bincount(column.codes, minlength=len(column.values))
        starts = equal_starts(np.bincount(places, counts[written], len(distinct)).astype(np.int64), method)
    labels = bin_labels(distinct[starts].tolist())
    bins = np.full(len(column.values), len(labels))  # where no number is: missing
    bins[written] = np.searchsorted(starts, places, side="right")
    values = (*labels, None) if len(written) < len(column.values) else labels
    return CodedColumn(column.name, values, bins.astype(smallest_unsigned(len(values)))[column.codes]), labels


def _class_counts(
    column: CodedColumn, classes: CodedColumn, written: NDArray[Any], places: NDArray[Any], n_distinct: int
) -> NDArray[np.int64]:
    """Return how many records of each class have each number, int64 (numbers, classes)."""
    width = len(classes.values)
    joint = column.codes.astype(np.int64) * width + classes.codes
    by_code = np.bincount(joint, minlength=len(column.values) * width).reshape(-1, width)
    counts = np.zeros((n_distinct, width), dtype=np.int64)
    np.add.at(counts, places, by_code[written])
    return counts


def bin_labels(cuts: Sequence[float]) -> tuple[str, ...]:
    """Return the names of the intervals between cuts; a number on a cut lies above it.

    >>> bin_labels([28.0, 37.5])
    ('<28', '28 to <37.5', '>=37.5')
    """
    texts = [f"{cut:.15g}" for cut in cuts]
    if not texts:
        return ("any",)
    between = [f"{low} to <{high}" for low, high in pairwise(texts)]
    return (f"<{texts[0]}", *between, f">={texts[-1]}")


def equal_starts(counts: NDArray[np.int64], bins: int) -> list[int]:
    """Return at which of the rising numbers the second and later intervals begin, of about equally many records each.

    >>> equal_starts(np.array([1, 1, 1, 1]), 2)
    [2]
    """
    below = np.r_[0, np.cumsum(counts)]
    shares = np.arange(1, bins) * below[-1] / bins
    after = np.searchsorted(below, shares)
    nearest = after - (shares - below[after - 1] <= below[after] - shares)
    return sorted(set(nearest.tolist()) - {0, len(counts)})


def entropy_starts(counts: NDArray[np.int64]) -> list[int]:
    """Return where intervals begin by class entropy, for counts, int64 (numbers, classes), by rising number.

    Source: Fayyad and Irani 1993, an interval is cut where the entropy left is least, if the gain exceeds
    (log2(N − 1) + log2(3^k − 2) − k·H + k1·H1 + k2·H2) / N.
    """
    found, waiting = [], [(0, len(counts))]
    while waiting:
        low, high = waiting.pop()
        cut = _cut(counts[low:high])
        if cut is not None:
            found.append(low + cut)
            waiting += [(low, low + cut), (low + cut, high)]
    return sorted(found)


def _cut(counts: NDArray[np.int64]) -> int | None:
    total = counts.sum(axis=0)
    n = int(total.sum())
    if len(counts) < 2:
        return None
    left = np.cumsum(counts, axis=0)[:-1]
    sides = np.stack([left, total - left])  # (2, cuts, classes)
    entropies, sizes = _entropy(sides), sides.sum(axis=2)
    after = (entropies * sizes).sum(axis=0) / n
    place = int(np.argmin(after))
    before = float(_entropy(total))
    kinds = [int((row > 0).sum()) for row in (total, sides[0, place], sides[1, place])]
    spent = kinds[0] * before - kinds[1] * entropies[0, place] - kinds[2] * entropies[1, place]
    needed = (np.log2(n - 1) + np.log2(3.0 ** kinds[0] - 2) - spent) / n
    return place + 1 if before - after[place] > needed else None


def _entropy(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the entropy in bits along the last axis."""
    shares = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    entropy: NDArray[np.float64] = -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=-1)
    return entropy
