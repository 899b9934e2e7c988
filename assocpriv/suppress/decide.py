"""Which cells of a coded table are hidden, in each mode, and what the owner is told of it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.promise.errors import TemplateError, counted
from assocpriv.suppress import paper
from assocpriv.suppress.coins import KEEP, OF, Coins
from assocpriv.suppress.inferences import group_records, highest_confidence, masking_columns
from assocpriv.suppress.local import limits_of, search_cells, search_columns
from assocpriv.suppress.table import MARKS, CodedTable
from assocpriv.suppress.templates import Bound, check_spellings

LOCAL, FREE, PAPER, GLOBAL = "local", "free", "paper", "global"
_MOST_RECORDS = 2**31 - 1  # products of two counts fit 64 bits
_UNIT = log(OF / KEEP)


@dataclass(frozen=True, slots=True)
class Wishes:
    """How cells are chosen: the mode, records of a group at least, and ε that refusals may cost a group at most."""

    mode: str = LOCAL
    least: int = 2
    cap: float = 3.0

    def __post_init__(self) -> None:
        if self.mode not in (LOCAL, FREE, PAPER, GLOBAL):
            raise TemplateError(f"mode must be {LOCAL}, {FREE} or {PAPER}, got {self.mode!r}")
        if type(self.least) is not int or self.least < 1:
            raise TemplateError(f"least must be a whole number, 1 or more, got {self.least!r}")
        if not isinstance(self.cap, int | float) or not 0 < self.cap <= 10:
            raise TemplateError(f"cap must be above 0 and at most 10, got {self.cap!r}")


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Which cells are hidden, bool (n,) by column, what is checked of the release, and what that took.

    Attributes:
        hidden: of each column that may be hidden.
        promised: bounds as the release is checked for: over all that a reader knows of it.
        before: of each bound asked for the highest share in the table as it is.
        told: groups of records that cannot be told apart, records of the smallest, tests, refusals, and ε spent.
    """

    hidden: Mapping[str, NDArray[np.bool_]]
    promised: tuple[Bound, ...]
    before: tuple[Fraction, ...]
    told: dict[str, Any]


def check_columns(table: CodedTable, bounds: Sequence[Bound], class_column: str | None) -> None:
    """Refuse bounds that do not fit a table; TemplateError says which and why."""
    for bound in bounds:
        for name in (*bound.channel, bound.column):
            table.column(name)
        if bound.value not in table.column(bound.column).values:
            raise TemplateError(f"no record has {bound.value!r} in column {bound.column}; correct the template")
    for name in dict.fromkeys(bound.column for bound in bounds):
        named = {bound.value for bound in bounds if bound.column == name}
        check_spellings(named, table.column(name).values, f"column {name} also writes")
    if class_column is not None:
        table.column(class_column)
    if table.n_records > _MOST_RECORDS:
        raise TemplateError(f"the table has {table.n_records:,} records; {_MOST_RECORDS:,} is the most")


def choose_mark(table: CodedTable, bounds: Sequence[Bound], missing: frozenset[str]) -> str:
    """Return a text for hidden cells that no column in question holds and that stands for no missing value."""
    values = {value for name in masking_columns(bounds) for value in table.column(name).values}
    for mark in MARKS:
        if mark not in values and mark not in missing:
            return mark
    raise TemplateError(f"the columns of channels hold all of {', '.join(MARKS)} as values; rename one of them")


def decide(
    table: CodedTable, bounds: Sequence[Bound], class_column: str | None, wishes: Wishes, coins: Coins
) -> Outcome:
    """Return which cells of a table are hidden.

    Raises:
        TemplateError: bounds that do not fit the table, or that it violates whatever is hidden.
    """
    check_columns(table, bounds, class_column)
    if wishes.mode == PAPER:
        return _progressive(table, bounds, class_column)
    channel = tuple(dict.fromkeys(name for bound in bounds for name in bound.channel))
    refuse_known(channel, (bound.column for bound in bounds))
    if table.n_records < wishes.least:
        raise TemplateError(f"{counted(table.n_records, 'record')} are fewer than least, {wishes.least}; choose less")
    known, lowest = channel if class_column is None else (*channel, class_column), dict[tuple[str, str], Fraction]()
    for bound in sorted(bounds, key=lambda bound: -bound.confidence):
        lowest[bound.column, bound.value] = bound.confidence
    promised = tuple(Bound(known, *told, confidence) for told, confidence in lowest.items())
    columns = [table.column(name) for name in channel]
    groups, patterns = group_records(columns, table.n_records)
    weights = _weights(table, promised, groups, patterns.shape[1], class_column)
    _check_possible(weights, promised)
    codes = np.empty(patterns.shape[::-1], dtype=np.int32)
    for place, start in enumerate(np.cumsum([0, *(len(column.values) for column in columns[:-1])]).tolist()):
        codes[:, place] = patterns[place] + start
    cap = int(wishes.cap / _UNIT) if wishes.mode != FREE else 0
    limits = limits_of([bound.confidence for bound in promised], cap)
    search = search_columns if wishes.mode == GLOBAL else search_cells
    found = search(codes, weights, limits, None if wishes.mode == FREE else coins.refuses, wishes.least)
    sizes = np.bincount(found.groups, weights[:, :: 1 + len(promised)].sum(1))
    hidden = {name: ~found.shown[groups, place] for place, name in enumerate(channel)}
    before = tuple(highest_confidence(table, bound) for bound in bounds)
    took = {"groups": len(sizes), "smallest": int(sizes.min()), "tested": found.tested, "refused": found.refused}
    return Outcome(hidden, promised, before, took | {"spent": found.charged * _UNIT})


def refuse_known(channel: Collection[str], sensitive: Iterable[str]) -> None:
    """Refuse what is sensitive, or a part of it, where a reader who knows all channels knows it."""
    for name in sensitive:
        if name in channel:
            raise TemplateError(
                f"{name} is sensitive and stands in the channel of another template: a reader who knows the channels "
                "knows it; take it out of one of them"
            )


def _weights(
    table: CodedTable, bounds: Sequence[Bound], groups: NDArray[np.int64], n_groups: int, class_column: str | None
) -> NDArray[np.int64]:
    """Return records and hits by kind of record, a block of columns for each class."""
    strata = 1 if class_column is None else len(table.column(class_column).values)
    weights = np.empty((n_groups, strata * (1 + len(bounds))), dtype=np.int64)
    cells = groups if class_column is None else groups * strata + table.column(class_column).codes
    counted_cells = [cells, *(cells[table.column(bound.column).has(bound.value)] for bound in bounds)]
    for place, each in enumerate(counted_cells):
        counts = np.bincount(each, minlength=n_groups * strata).reshape(n_groups, strata)
        weights[:, place :: 1 + len(bounds)] = counts
    return weights


def _check_possible(weights: NDArray[np.int64], bounds: Sequence[Bound]) -> None:
    """Refuse bounds that the table exceeds as a whole, or in a class that the reader knows."""
    sums, width = weights.sum(0).tolist(), 1 + len(bounds)
    for start in range(0, len(sums), width):
        for bound, hits in zip(bounds, sums[start + 1 :], strict=False):
            if not bound.allows(hits, sums[start]):
                in_class, most = len(sums) > width, float(100 * bound.confidence)
                raise TemplateError(
                    "no suppression meets the templates: in a table with all their channels suppressed "
                    f"{bound.column} = {bound.value} is in {-(-1000 * hits // sums[start]) / 10:.1f}% of "
                    f"{counted(sums[start], 'record')}{' of a class' * in_class}, {most:.6g}% allowed; "
                    f"ask for a higher confidence{', or leave the class out' * in_class}"
                )


def _progressive(table: CodedTable, bounds: Sequence[Bound], class_column: str | None) -> Outcome:
    """Return what the algorithm of the paper hides: whole values."""
    suppressed = paper.disclose(table, bounds, class_column)
    hidden = {name: values[table.column(name).codes] for name, values in suppressed.items()}
    before = tuple(highest_confidence(table, bound) for bound in bounds)
    return Outcome(hidden, tuple(bounds), before, {})


def facts(outcome: Outcome, table: CodedTable, wishes: Wishes) -> dict[str, Any]:
    """Return what a report says of the choice."""
    return {
        "mode": wishes.mode,
        "least": wishes.least,
        "cap": wishes.cap,
        "cells": {name: int(hidden.sum()) for name, hidden in outcome.hidden.items()},
        "shown": 1 - sum(int(each.sum()) for each in outcome.hidden.values()) / (len(outcome.hidden) * table.n_records),
    } | outcome.told
