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

from assocpriv.kernels.compiling import LazyModule
from assocpriv.suppress.randomization import KEEP, OF

_kernels: Any = LazyModule("assocpriv.kernels.grouping")
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Refuses = Callable[[int], bool]
MAX_UNITS = 3072  # default limit of a group's charge: e³ = 20
_PRECISION = 1 << 64
_WIDE = 2**31 - 1
_MIN_SCORE = 1e-9  # score of a column with one value, which may be shown
_STACK = 80  # pending groups: the smaller part comes first, so there are at most two for each halving


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
    n_values, width = int(codes.max(initial=-1)) + 1, weights.shape[1]
    present = np.zeros((columns, max((len(np.unique(column)) for column in codes.T), default=0)), dtype=np.int64)
    stack = np.zeros((_STACK, 3), dtype=np.int64)
    scratch = np.zeros((n_values + 1, width), dtype=np.int64), present, np.zeros(columns, dtype=np.int64), stack
    known = np.zeros(n_values, dtype=np.int64), np.zeros(n_values + 1, dtype=np.int64)
    shown, groups = np.zeros((rows, columns), dtype=np.bool_), np.zeros(rows, dtype=np.int64)
    state = np.zeros(_kernels.STATE, dtype=np.int64)
    stack[0, 1], state[_kernels.DEPTH] = rows, 1
    state[_kernels.LEAST], state[_kernels.CAP] = min_size, limits.shape[1] - 1 if refuses else -1
    table = codes, weights, np.arange(rows)
    while (units := int(_kernels.search_groups(table, limits, scratch, known, state, shown, groups))) >= 0:
        assert refuses is not None
        state[_kernels.REFUSED] = refuses(units)
    tests, refused, charged = (int(state[place]) for place in (_kernels.TESTS, _kernels.REFUSALS, _kernels.CHARGED))
    return CellGroups(shown, groups, tests, refused, charged)


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
    units = min(left, math.ceil(_kernels.TARGET / gap)) if gap > 0 else 0
    if not units:
        return _Split(0, column, parts)
    passed = 1 - math.exp(-units * gap / _kernels.UNITS_OF_ONE)
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
