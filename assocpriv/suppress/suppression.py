"""The choice of hidden cells of a coded table, in each mode, and its description for the owner."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.errors import TemplateError, pluralize
from assocpriv.suppress import paper_method
from assocpriv.suppress.coded_table import MARKS, CodedTable
from assocpriv.suppress.inference_templates import ConfidenceBound, check_spellings
from assocpriv.suppress.inferences import group_records, highest_confidence, masking_columns
from assocpriv.suppress.local_search import Ints, limit_fractions, search_cells, search_columns
from assocpriv.suppress.randomization import KEEP, OF, RandomBits

LOCAL, DETERMINISTIC, PAPER, GLOBAL = "local", "deterministic", "paper", "global"
_MAX_RECORDS = 2**31 - 1  # products of two counts fit 64 bits
_UNIT = log(OF / KEEP)


@dataclass(frozen=True, slots=True)
class SuppressionOptions:
    """Options of the choice: the mode, the minimum number of records in a group, and the maximum ε of a group."""

    mode: str = LOCAL
    min_group_size: int = 2
    max_epsilon: float = 3.0

    def __post_init__(self) -> None:
        if self.mode not in (LOCAL, DETERMINISTIC, PAPER, GLOBAL):
            raise TemplateError(f"mode must be {LOCAL}, {DETERMINISTIC} or {PAPER}, got {self.mode!r}")
        if type(self.min_group_size) is not int or self.min_group_size < 1:
            raise TemplateError(f"min_group_size must be a whole number, 1 or more, got {self.min_group_size!r}")
        if not isinstance(self.max_epsilon, int | float) or not 0 < self.max_epsilon <= 10:
            raise TemplateError(f"max_epsilon must be above 0 and at most 10, got {self.max_epsilon!r}")


@dataclass(frozen=True, slots=True, eq=False)
class SuppressionOutcome:
    """The hidden cells, the bounds to check in the release, and figures of the choice.

    Attributes:
        hidden: which cells are hidden, bool (n,), by column.
        guaranteed: the bounds to check in the release, over all columns that an adversary knows.
        before: the highest share in the original table, for each requested bound.
        figures: numbers of groups, of records of the smallest one, of tests and refusals, and ε spent.
    """

    hidden: Mapping[str, NDArray[np.bool_]]
    guaranteed: tuple[ConfidenceBound, ...]
    before: tuple[Fraction, ...]
    figures: dict[str, Any]


def check_columns(table: CodedTable, bounds: Sequence[ConfidenceBound], class_column: str | None) -> None:
    """Check that bounds fit a table; TemplateError names the bound and the reason."""
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
    if table.n_records > _MAX_RECORDS:
        raise TemplateError(f"the table has {table.n_records:,} records, more than {_MAX_RECORDS:,}; split it")


def choose_mark(table: CodedTable, bounds: Sequence[ConfidenceBound], missing: frozenset[str]) -> str:
    """Return a text for hidden cells that occurs in no column of a channel and marks no missing value."""
    values = {value for name in masking_columns(bounds) for value in table.column(name).values}
    for mark in MARKS:
        if mark not in values and mark not in missing:
            return mark
    raise TemplateError(f"the columns of channels hold all of {', '.join(MARKS)} as values; rename one of them")


def choose_hidden_cells(
    table: CodedTable,
    bounds: Sequence[ConfidenceBound],
    class_column: str | None,
    options: SuppressionOptions,
    bits: RandomBits,
) -> SuppressionOutcome:
    """Choose the cells of a table to hide.

    Raises:
        TemplateError: bounds that do not fit the table, or that it violates even with all channels hidden.
    """
    check_columns(table, bounds, class_column)
    if options.mode == PAPER:
        return _progressive(table, bounds, class_column)
    channel = tuple(dict.fromkeys(name for bound in bounds for name in bound.channel))
    refuse_known_values(channel, (bound.column for bound in bounds))
    if table.n_records < options.min_group_size:
        raise TemplateError(
            f"the table has {pluralize(table.n_records, 'record')}, below the min_group_size {options.min_group_size}; "
            "lower min_group_size"
        )
    known, lowest = channel if class_column is None else (*channel, class_column), dict[tuple[str, str], Fraction]()
    for bound in sorted(bounds, key=lambda bound: -bound.confidence):
        lowest[bound.column, bound.value] = bound.confidence
    guaranteed = tuple(ConfidenceBound(known, *value, confidence) for value, confidence in lowest.items())
    columns = [table.column(name) for name in channel]
    groups, patterns = group_records(columns, table.n_records)
    weights = _weights(table, guaranteed, groups, patterns.shape[1], class_column)
    _check_possible(weights, guaranteed)
    codes = np.empty(patterns.shape[::-1], dtype=np.int32)
    for place, start in enumerate(np.cumsum([0, *(len(column.values) for column in columns[:-1])]).tolist()):
        codes[:, place] = patterns[place] + start
    is_random = options.mode != DETERMINISTIC
    limits = limit_fractions([bound.confidence for bound in guaranteed], is_random * int(options.max_epsilon / _UNIT))
    search = search_columns if options.mode == GLOBAL else search_cells
    found = search(codes, weights, limits, bits.refuses if is_random else None, options.min_group_size)
    sizes = np.bincount(found.groups, weights[:, :: 1 + len(guaranteed)].sum(1))
    hidden = {name: ~found.shown[groups, place] for place, name in enumerate(channel)}
    before = tuple(highest_confidence(table, bound) for bound in bounds)
    figures = {"groups": len(sizes), "smallest_group": int(sizes.min()), "tests": found.tests, "refused": found.refused}
    return SuppressionOutcome(hidden, guaranteed, before, figures | {"epsilon_spent": found.charged * _UNIT})


def refuse_known_values(channel: Collection[str], sensitive: Iterable[str]) -> None:
    """Refuse a sensitive column or item that stands in a channel: an adversary who knows the channels knows it."""
    for name in sensitive:
        if name in channel:
            raise TemplateError(
                f"{name} is sensitive and in the channel of another template, but adversaries know all channels; "
                "remove it from one of them"
            )


def _weights(
    table: CodedTable, bounds: Sequence[ConfidenceBound], groups: Ints, n_groups: int, class_column: str | None
) -> Ints:
    """Return the records and hits of each combination of channel values, one block of columns for each class."""
    strata = 1 if class_column is None else len(table.column(class_column).values)
    weights = np.empty((n_groups, strata * (1 + len(bounds))), dtype=np.int64)
    cells = groups if class_column is None else groups * strata + table.column(class_column).codes
    counted_cells = [cells, *(cells[table.column(bound.column).has(bound.value)] for bound in bounds)]
    for place, each in enumerate(counted_cells):
        counts = np.bincount(each, minlength=n_groups * strata).reshape(n_groups, strata)
        weights[:, place :: 1 + len(bounds)] = counts
    return weights


def _check_possible(weights: Ints, bounds: Sequence[ConfidenceBound]) -> None:
    """Refuse bounds that the table exceeds as a whole, or in a class that the adversary knows."""
    sums, width = weights.sum(0).tolist(), 1 + len(bounds)
    for start in range(0, len(sums), width):
        for bound, hits in zip(bounds, sums[start + 1 :], strict=False):
            if not bound.allows(hits, sums[start]):
                in_class, most = len(sums) > width, float(100 * bound.confidence)
                raise TemplateError(
                    "no suppression meets the templates: with all channels hidden "
                    f"{bound.column} = {bound.value} is in {-(-1000 * hits // sums[start]) / 10:.1f}% of "
                    f"{pluralize(sums[start], 'record')}{' of a class' * in_class}, {most:.6g}% allowed; "
                    f"raise the confidence{', or leave the class out' * in_class}"
                )


def _progressive(table: CodedTable, bounds: Sequence[ConfidenceBound], class_column: str | None) -> SuppressionOutcome:
    """Return the whole values that the paper's algorithm hides."""
    suppressed = paper_method.disclose(table, bounds, class_column)
    hidden = {name: values[table.column(name).codes] for name, values in suppressed.items()}
    before = tuple(highest_confidence(table, bound) for bound in bounds)
    return SuppressionOutcome(hidden, tuple(bounds), before, {})


def describe_choice(outcome: SuppressionOutcome, table: CodedTable, options: SuppressionOptions) -> dict[str, Any]:
    """Return the choice of hidden cells as JSON content."""
    return {
        "mode": options.mode,
        "min_group_size": options.min_group_size,
        "max_epsilon": options.max_epsilon,
        "cells": {name: int(hidden.sum()) for name, hidden in outcome.hidden.items()},
        "shown": 1 - sum(int(each.sum()) for each in outcome.hidden.values()) / (len(outcome.hidden) * table.n_records),
    } | outcome.figures
