"""The choice of a coded table's hidden cells: single cells are shown after tests with randomized refusals.

The adversary knows the program and the channel of every record: all columns that are in some channel. The adversary
knows neither a record's other cells, its *payload*, nor the random bits. A priori every assignment of the payloads to
the records is equally likely. Then, for each released table, record and bound, the posterior probability that the
record has the sensitive value is at most h.

Records are split into groups; a group shows the columns in which all its records agree. Let odds(p) = p/(1 − p). A
group of n records with k hits (records with the value) is within its bound after ε if odds(k/n)·e^ε ≤ odds(h). A *test*
decides whether the records with one value of a column may be split off. The choice of the test depends only on what the
adversary knows: sizes of parts and the group's hits. A part is *dangerous* if its limit is below the group's hits. A
split without a dangerous part needs no test. Otherwise let d be the number of further hits that a dangerous part could
take, plus one (0 if it has too many), the smallest over all of them. The test is refused with probability e^{−εd}.

Proof. Let records i and j of one final group exchange payloads. In passed tests both are in the same part, so no count
changes. In a refused test of value v in column J a count changes only if one of i and j has v. Then d changes by at
most 1, and the probability by a factor of at most e^ε. So among the refused tests in J only those of i's and j's own
values matter, and the total factor is at most the product of e^ε over these. *Charge* a group, for each column in which
its records differ, the two largest sums of ε over refused tests of one value that is present. Then the probability of
the release changes by at most e^charge. In a group with k hits, pair each table in which i has the value with the
tables in which i's payload is exchanged with that of a record without it. The odds of i are at most e^charge·k/(n − k),
which is within the bound. ∎

Wong, Fu, Wang and Pei (2007) describe the attack that this prevents. ε is counted in units of ln(1024/1023), so that
all probabilities are rational, and limits are fractions. Floats decide the order of tests only, not the guarantee.

Inferences are those of Wang, Fung, Yu, Template-Based Privacy Preservation in Classification Problems, 2005, definition
3.1: ic → π is the share of a sensitive value among the records that agree on a channel.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.errors import TemplateError, pluralize
from assocpriv.suppress.coded_table import CodedColumn, CodedTable, text_order
from assocpriv.suppress.inference_templates import ConfidenceBound, check_spellings
from assocpriv.suppress.randomization import KEEP, OF, RandomBits
from assocpriv.suppress.release_checks import Inference

LOCAL, DETERMINISTIC, GLOBAL = "local", "deterministic", "global"
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Refuses = Callable[[int], bool]
_MAX_RECORDS = 2**31 - 1  # products of two counts fit 64 bits
_UNIT = math.log(OF / KEEP)
_PRECISION = 1 << 64
_WIDE = 2**31 - 1
_MIN_SCORE = 1e-9  # score of a column with one value, which may be shown
UNITS_OF_ONE = 1023.5  # units in a factor of e, nearly
# a test's target of units times distance, with which 1 in 400 is refused by chance; on CRX and Adult factors of 5 to 8
# show equally many cells, 3 shows fewer
TARGET = 6 * UNITS_OF_ONE
ENTROPY_SHARE = 0.05  # weight of a split's own entropy besides its gain for strata, so that splits go on at zero gain
_DENSE = 4  # cells per record of a histogram over all value combinations; beyond, records are sorted
_MAX_KEYS = 2**62
_BLOCK = 1 << 16  # records at a time, so that they stay in the cache


@dataclass(frozen=True, slots=True)
class SuppressionOptions:
    """Options of the choice: the mode, the minimum number of records in a group, and the maximum ε of a group."""

    mode: str = LOCAL
    min_group_size: int = 2
    max_epsilon: float = 3.0

    def __post_init__(self) -> None:
        if self.mode not in (LOCAL, DETERMINISTIC, GLOBAL):
            raise TemplateError(f"mode must be {LOCAL} or {DETERMINISTIC}, got {self.mode!r}")
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


def describe_choice(outcome: SuppressionOutcome, table: CodedTable, options: SuppressionOptions) -> dict[str, Any]:
    """Return the choice of hidden cells as JSON content."""
    return {
        "mode": options.mode,
        "min_group_size": options.min_group_size,
        "max_epsilon": options.max_epsilon,
        "cells": {name: int(hidden.sum()) for name, hidden in outcome.hidden.items()},
        "shown": 1 - sum(int(each.sum()) for each in outcome.hidden.values()) / (len(outcome.hidden) * table.n_records),
    } | outcome.figures


# ---- single cells


@dataclass(frozen=True, slots=True, eq=False)
class CellGroups:
    """The shown cells, the groups, and figures of the search.

    Attributes:
        shown: which cells are shown, bool (rows, columns), one row for each combination of channel values.
        groups: the group number of each row, int64 (rows,).
        tests, refused: numbers of tests and of refused tests.
        charged: the highest charge of a group, in units.
    """

    shown: NDArray[np.bool_]
    groups: Ints
    tests: int
    refused: int
    charged: int


def limit_fractions(bounds: Sequence[Fraction], most: int) -> Ints:
    """Return p and q, int64 (bounds, most + 1, 2): after u units ⌊a·p/q⌋ of a records may have the value.

    After u units k of a records are within h if k/a ≤ h/(h + (1024/1023)^u·(1 − h)). At u = 0 this is exact for bounds
    of up to nine digits; otherwise powers are rounded up, and shares down.

    >>> limit_fractions([Fraction(2, 3)], 1)[0, 0].tolist()
    [2, 3]
    """
    found = np.empty((len(bounds), most + 1, 2), dtype=np.int64)
    power = _PRECISION
    for units in range(most + 1):
        for place, bound in enumerate(bounds):
            above, below = bound.numerator * _PRECISION, (bound.denominator - bound.numerator) * power
            found[place, units] = above * _WIDE // (above + below), _WIDE
            if not units and bound.denominator <= _WIDE:
                found[place, 0] = bound.as_integer_ratio()
        power = -(-power * OF // KEEP)
    return found


def search_cells(
    codes: Codes, weights: Ints, limits: Ints, refuses: Refuses | None, min_size: int
) -> CellGroups:  # fmt: skip
    """Split records into groups by tests of single values.

    Args:
        codes: The values of each combination of channel values, (rows, columns), numbered over all columns.
        weights: For each stratum the records and those with each sensitive value, int64 (rows, strata·(1 + bounds)).
            Strata are further background knowledge, the class; bounds hold in each stratum.
        limits: The result of :func:`limit_fractions`; its length also limits the charge of a group.
        refuses: Draws whether to refuse, for a number of units; None shows only cells that need no test.
        min_size: Minimum number of records in a group.
    """
    rows, columns = codes.shape
    column_of = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    column_of[codes] = np.arange(columns)
    shown, groups = np.zeros((rows, columns), dtype=np.bool_), np.zeros(rows, dtype=np.int64)
    every = np.arange(rows)
    pending = [_Group(every, *_count_values(codes, weights, every, len(limits)), np.zeros_like(column_of))]
    tests = refused = charged = n_groups = 0
    while pending:
        group = pending.pop()
        test = _choose(group, column_of, limits, min_size, may_refuse=refuses is not None)
        if test is None:
            _, sizes, spent = _charges(group, column_of)
            charged = max(charged, int(spent))
            shown[group.rows[:, None], np.flatnonzero(sizes == 1)] = True
            groups[group.rows], n_groups = n_groups, n_groups + 1
            continue
        if test.units and refuses is not None:
            tests += 1
            distance = _distance(group, test, limits)
            if distance <= 0 or refuses(distance * test.units):
                refused += 1
                more = group.charged.copy()
                more[group.values[test.place]] = test.units
                pending.append(group._replace(charged=more))
                continue
        pending += _split_group(group, test.place, codes, weights, column_of)
    return CellGroups(shown, groups, tests, refused, charged)


class _Group(NamedTuple):
    """Records that may still be split.

    Attributes:
        rows: the rows, int64 (rows,).
        values: the values that occur, rising, int64 (values,).
        counts: for each value and stratum the records and those with each sensitive value, int64 (values, strata, 1 +
            bounds).
        whole: the same of the whole group, int64 (strata, 1 + bounds).
        charged: units of the refused test of each value of all columns, int64; 0 if there was none.
    """

    rows: Ints
    values: Ints
    counts: Ints
    whole: Ints
    charged: Ints


class _Test(NamedTuple):
    """The value to split off, as its place, the test's units, and what records with it and others spent before."""

    place: int
    units: int
    spent_with: int
    spent_without: int


def _count_values(codes: Codes, weights: Ints, rows: Ints, bounds: int) -> tuple[Ints, Ints, Ints]:
    values, places = np.unique(codes[rows].astype(np.int64), return_inverse=True)
    of_rows, places = weights[rows], places.reshape(len(rows), -1)
    counts: Ints = np.zeros((len(values), weights.shape[1]), dtype=np.int64)
    for column in places.T:
        np.add.at(counts, column, of_rows)
    return values, counts.reshape(len(values), -1, 1 + bounds), of_rows.sum(axis=0).reshape(-1, 1 + bounds)


def _split_group(group: _Group, place: int, codes: Codes, weights: Ints, column_of: Ints) -> list[_Group]:
    """Return the part without a value and the part with it, the one with fewer rows last; only that one is counted."""
    value = group.values[place]
    is_inside = codes[group.rows, column_of[value]] == value
    parts = [group.rows[~is_inside], group.rows[is_inside]]
    parts.sort(key=len, reverse=True)
    values, counts, whole = _count_values(codes, weights, parts[1], group.counts.shape[2] - 1)
    rest = group.counts.copy()
    rest[np.searchsorted(group.values, values)] -= counts
    kept = rest[:, :, 0].any(axis=1)
    large = _Group(parts[0], group.values[kept], rest[kept], group.whole - whole, group.charged)
    return [large, _Group(parts[1], values, counts, whole, group.charged)]


def _charges(group: _Group, column_of: Ints) -> tuple[Ints, Ints, Any]:
    """Return the two largest charges of each column, (columns, 2), its number of values, and the charges' sum.

    The sum is the number of units by which two records of the group may differ. A column with one value has none.
    """
    charges, columns = group.charged[group.values], column_of[group.values]
    sizes = np.bincount(columns, minlength=int(column_of.max(initial=-1)) + 1)
    largest = np.zeros((len(sizes), 2), dtype=np.int64)
    if charges.any():
        ranked, ends = charges[np.lexsort((charges, columns))], np.cumsum(sizes)
        many = sizes > 1
        largest[many] = np.stack([ranked[ends[many] - 1], ranked[ends[many] - 2]], axis=1)
    return largest, sizes, largest.sum()


def _parts(group: _Group, limits: Ints, places: Any, spent: tuple[Any, Any]) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Return what remains of a split by each value: records, limits plus one, and whether the part is dangerous.

    All are (2, values, strata, bounds): first the records with the value, then those without. A part is dangerous if
    its limit is below the whole group's count of a sensitive value.
    """
    inside = group.counts[places][..., :1]
    records = np.stack([inside, group.whole[:, :1] - inside])
    room = np.stack(
        [each * limits[:, units, 0].T[..., None, :] // limits[:, units, 1].T[..., None, :] + 1
         for each, units in zip(records, spent, strict=True)]
    )  # fmt: skip
    return records, room, (group.whole[:, 1:] >= room) & (records > 0)


def _choose(group: _Group, column_of: Ints, limits: Ints, min_size: int, *, may_refuse: bool) -> _Test | None:
    """Choose the value to split the group by; None if there is none. A split without a dangerous part needs no units.

    The choice uses only what the reader knows: sizes of parts, hits of the whole group, and charged units.
    """
    largest, sizes, spent = _charges(group, column_of)
    columns, charges = column_of[group.values], group.charged[group.values]
    of_value, is_first = sizes[columns], np.diff(columns, prepend=-1) > 0
    is_charged = np.where(of_value == 2, largest[columns, 0], charges) > 0
    inside, whole = group.counts[:, :, 0].sum(axis=1), group.whole[:, 0].sum()
    usable = ~is_charged & (inside >= min_size) & (whole - inside >= min_size)
    places = np.flatnonzero(usable & ((of_value > 2) | ((of_value == 2) & is_first)))
    if not len(places):
        return None
    many = of_value[places] > 2
    first, second = largest[columns[places]].T
    others = spent - first - second
    after = others + np.where(many, first + second, 0)
    records, room, dangerous = _parts(group, limits, places, (others, after))
    expected = group.whole[:, 1:] * records / np.maximum(group.whole[:, :1], 1)
    gap = np.where(dangerous, room - expected, np.inf).min(axis=(0, 2, 3))
    score = _scores(group, places)
    free = np.isinf(gap)
    if free.any():
        best = int(np.flatnonzero(free)[score[free].argmax()])
        return _Test(int(places[best]), 0, int(others[best]), int(after[best]))
    if not may_refuse:
        return None
    within = (group.whole[:, 1:, None] <= group.whole[:, :1, None] * limits[:, :, 0] // limits[:, :, 1]).all(
        axis=(0, 1)
    )
    left = max(int(within.sum()) - 1, int(spent)) - others - first
    with np.errstate(divide="ignore"):
        wanted = np.ceil(np.where(gap > 0, TARGET / gap, 0))
    units = np.maximum(np.minimum(left, wanted.astype(np.int64)), np.where(many, second, 0))
    score = np.where((gap > 0) & (units >= 1), score * -np.expm1(-units * np.maximum(gap, 0) / UNITS_OF_ONE), 0)
    best = int(score.argmax())
    return _Test(int(places[best]), int(units[best]), int(others[best]), int(after[best])) if score[best] > 0 else None


def _scores(group: _Group, places: Ints) -> NDArray[np.float64]:
    """Return how well a split by each value is worth: its entropy, or what it tells of the stratum."""
    from scipy.special import xlogy

    of_all, inside = group.whole[:, 0], group.counts[places, :, 0]
    n, part = of_all.sum(), inside.sum(axis=1)
    entropy = -(xlogy(part / n, part / n) + xlogy(1 - part / n, 1 - part / n))
    if len(of_all) == 1:
        return np.asarray(entropy)
    outside = of_all - inside
    share, rest = of_all / n * part[:, None], of_all / n * (n - part)[:, None]  # expected records
    gain = (xlogy(inside, inside / np.maximum(share, 1e-300)) + xlogy(outside, outside / np.maximum(rest, 1e-300))) / n
    return np.asarray(gain.sum(axis=1) + ENTROPY_SHARE * entropy)


def _distance(group: _Group, test: _Test, limits: Ints) -> int:
    """Return one plus the hits that the dangerous part nearest to its limit can still take; 0 if it is above it."""
    spent = np.array([test.spent_with]), np.array([test.spent_without])
    _, room, dangerous = _parts(group, limits, [test.place], spent)
    inside = group.counts[[test.place]][..., 1:]
    return max(0, int((room - np.stack([inside, group.whole[:, 1:] - inside]))[dangerous].min()))


# ---- whole columns


def search_columns(codes: Codes, weights: Ints, limits: Ints, refuses: Refuses | None, min_size: int) -> CellGroups:
    """Split records into groups by tests of whole columns, each shown or hidden for all records.

    This is the mode GLOBAL, for layouts that cannot mark a hidden cell. A test splits all groups at once; d is the
    smallest over all of them. Exchanging two records of a final group changes no count of a passed test, and d of a
    refused one by at most 1, so every group is charged the sum of all refusals. Arguments as in :func:`search_cells`.
    """
    rows, columns = codes.shape
    weights = weights.reshape(rows, -1, 1 + len(limits))
    groups, shown = np.zeros(rows, dtype=np.int64), np.zeros(columns, dtype=np.bool_)
    waiting, spent, tests, refused = list(range(columns)), 0, 0, 0
    while True:
        whole = _sums(groups, weights)
        left = _units_left(whole, limits, spent) if refuses else 0
        room = limits[:, spent], left, min_size
        splits = ((place, _split(codes[:, place], groups, weights, *room)) for place in waiting)
        found = [(place, split) for place, split in splits if split is not None]
        if not found:
            break
        column, chosen = max(found, key=lambda each: (each[1].units == 0, each[1].score))
        waiting.remove(column)
        if chosen.units and refuses is not None:
            tests += 1
            if refuses(chosen.units * chosen.distance):  # always at a distance of 0
                spent, refused = spent + chosen.units, refused + 1
                continue
        groups, shown[column] = chosen.parts, True
    return CellGroups(np.tile(shown, (rows, 1)), groups, tests, refused, spent)


class _Split(NamedTuple):
    """The parts of all groups if a column is shown, and the column's test; 0 units if it needs no test."""

    score: float
    parts: Ints
    units: int = 0
    distance: int = 0


def _split(codes: Codes, groups: Ints, weights: Ints, limits: Ints, left: int, min_size: int) -> _Split | None:
    """Return the split by a column, None if the column may not be tested."""
    keys, first, parts = np.unique(groups * (int(codes.max()) + 1) + codes, return_index=True, return_inverse=True)
    inside, whole = _sums(parts, weights), _sums(groups, weights)[groups[first]]
    sizes = inside[:, :, 0].sum(1)
    if sizes.min() < min_size and len(keys) > groups.max() + 1:
        return None
    shares = sizes / sizes.sum()
    entropy = float(-(shares * np.log(shares)).sum()) + _MIN_SCORE
    records, hits = inside[:, :, :1], whole[:, :, 1:]
    room = records * limits[:, 0] // limits[:, 1] + 1
    dangerous = (hits >= room) & (records > 0)
    if not dangerous.any():
        return _Split(entropy, parts)
    gap = float((room - hits * records / whole[:, :, :1].clip(1))[dangerous].min())
    units = min(left, math.ceil(TARGET / gap)) if gap > 0 else 0
    if not units:
        return None
    passed = 1 - math.exp(-units * gap / UNITS_OF_ONE)
    return _Split(entropy * passed, parts, units, max(int((room - inside[:, :, 1:])[dangerous].min()), 0))


def _sums(groups: Ints, weights: Ints) -> Ints:
    sums = np.zeros((int(groups.max()) + 1, *weights.shape[1:]), dtype=np.int64)
    np.add.at(sums, groups, weights)
    return sums


def _units_left(sums: Ints, limits: Ints, spent: int) -> int:
    """Return how many more units may be spent so that no group's share exceeds its limit."""

    def exceeds(units: int) -> bool:
        return bool((sums[:, :, 1:] > sums[:, :, :1] * limits[:, units, 0] // limits[:, units, 1]).any())

    return bisect_left(range(spent + 1, limits.shape[1]), True, key=exceeds)


# ---- inferences of a table


def inferences(table: CodedTable, bound: ConfidenceBound, *, above: Fraction | None = None) -> list[Inference]:
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


def highest_confidence(table: CodedTable, bound: ConfidenceBound) -> Fraction:
    """Return the highest confidence of a bound's inferences, exactly."""
    _, support, hits = _counted(table, bound)
    return max(Fraction(*pair) for pair in set(zip(hits.tolist(), support.tolist(), strict=True)))


def _counted(table: CodedTable, bound: ConfidenceBound) -> tuple[Ints, Ints, Ints]:
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


def masking_columns(bounds: Iterable[ConfidenceBound]) -> tuple[str, ...]:
    """Return the columns of channels that are sensitive in no bound: those whose values may be hidden."""
    every = list(bounds)
    sensitive = {bound.column for bound in every}
    return tuple(dict.fromkeys(name for bound in every for name in bound.channel if name not in sensitive))
