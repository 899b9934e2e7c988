"""Local suppression: single cells are shown after tests with randomized refusals.

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
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assocpriv.suppress.randomization import KEEP, OF

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Refuses = Callable[[int], bool]
MAX_UNITS = 3072  # default limit of a group's charge: e³ = 20
_PRECISION = 1 << 64
_WIDE = 2**31 - 1
_MIN_SCORE = 1e-9  # score of a column with one value, which may be shown
UNITS_OF_ONE = 1023.5  # units in a factor of e, nearly
# a test's target of units times distance, with which 1 in 400 is refused by chance; on CRX and Adult factors of 5 to 8
# show equally many cells, 3 shows fewer
TARGET = 6 * UNITS_OF_ONE
ENTROPY_SHARE = 0.05  # weight of a split's own entropy besides its gain for strata, so that splits go on at zero gain


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
        splits = (_split(codes[:, place], place, groups, weights, *room) for place in waiting)
        found = [split for split in splits if split.score > 0]
        if not found:
            break
        chosen = max(found, key=lambda split: (split.units == 0, split.score))
        waiting.remove(chosen.column)
        if chosen.units and refuses is not None:
            tests += 1
            if refuses(chosen.units * chosen.distance):  # always at a distance of 0
                spent, refused = spent + chosen.units, refused + 1
                continue
        groups, shown[chosen.column] = chosen.parts, True
    return CellGroups(np.tile(shown, (rows, 1)), groups, tests, refused, spent)


class _Split(NamedTuple):
    """The parts of all groups if a column is shown, and the column's test; 0 units if it needs no test.

    A score of 0 means that the column may not be tested.
    """

    score: float
    column: int
    parts: Ints
    units: int = 0
    distance: int = 0


def _split(codes: Codes, column: int, groups: Ints, weights: Ints, limits: Ints, left: int, min_size: int) -> _Split:
    keys, first, parts = np.unique(groups * (int(codes.max()) + 1) + codes, return_index=True, return_inverse=True)
    inside, whole = _sums(parts, weights), _sums(groups, weights)[groups[first]]
    sizes = inside[:, :, 0].sum(1)
    if sizes.min() < min_size and len(keys) > groups.max() + 1:
        return _Split(0, column, parts)
    shares = sizes / sizes.sum()
    entropy = float(-(shares * np.log(shares)).sum()) + _MIN_SCORE
    records, hits = inside[:, :, :1], whole[:, :, 1:]
    room = records * limits[:, 0] // limits[:, 1] + 1
    dangerous = (hits >= room) & (records > 0)
    if not dangerous.any():
        return _Split(entropy, column, parts)
    gap = float((room - hits * records / whole[:, :, :1].clip(1))[dangerous].min())
    units = min(left, math.ceil(TARGET / gap)) if gap > 0 else 0
    if not units:
        return _Split(0, column, parts)
    passed = 1 - math.exp(-units * gap / UNITS_OF_ONE)
    return _Split(entropy * passed, column, parts, units, max(int((room - inside[:, :, 1:])[dangerous].min()), 0))


def _sums(groups: Ints, weights: Ints) -> Ints:
    sums = np.zeros((int(groups.max()) + 1, *weights.shape[1:]), dtype=np.int64)
    np.add.at(sums, groups, weights)
    return sums


def _units_left(sums: Ints, limits: Ints, spent: int) -> int:
    """Return how many more units may be spent so that no group's share exceeds its limit."""

    def exceeds(units: int) -> bool:
        return bool((sums[:, :, 1:] > sums[:, :, :1] * limits[:, units, 0] // limits[:, units, 1]).any())

    return bisect_left(range(spent + 1, limits.shape[1]), True, key=exceeds)
