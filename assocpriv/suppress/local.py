"""What may be shown to a reader who knows the algorithm: single cells, with randomized refusals.

The reader knows everybody's channel, all columns that stand in any, and the program; neither a record's other cells,
its *payload*, nor the coins. To this reader payloads are alike before: every order of them over the records is as
likely. Then for each released table, record and bound: the chance that the record has the sensitive value is at most
h.

Records are split into groups; a group shows the columns in which all its records agree. Let odds(p) = p/(1 − p). A
group of n records, k of them with the value, is within its bound after ε if odds(k/n)·e^ε ≤ odds(h). A *test* asks
whether the records with one value of a column may stand apart from the rest. What the reader knows chooses it: sizes
of parts and the group's own hits. Only a part is looked at whose limit is below the group's hits, a *dangerous* one;
without one the split is free. With d, how many more hits such a part could take, plus one (0 if it has too many, of
all the least), it is refused with chance e^{−εd}.

Proof. Let i and j lie in one final group and exchange payloads. Tests that were passed have both on one side, so that
no count changes. A refused test of value v in column J counts otherwise only if one of i and j has v; then d changes
by at most 1, and the chance by at most e^ε. So of the refused tests in J only those of i's own value and of j's
matter, and what may have changed is at most the product of e^ε over these. *Charge* a group, in each column in which
its records differ, the two largest sums of ε over refused tests of one value that is present. Then the chance of the
release changes by e^charge at most. Of a group with k hits pair each table in which i has the value with those in
which i's payload and that of a record without it are exchanged: the odds of i are at most e^charge·k/(n − k), which
is within the bound. ∎

Wong, Fu, Wang and Pei (2007) found the attack that this meets. ε is counted in units of ln(1024/1023), so that all
chances are rational, and limits are fractions: no float decides what a reader may learn, only which test comes next.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assocpriv.kernels.compiling import Late
from assocpriv.suppress.coins import KEEP, OF

_kernels: Any = Late("assocpriv.kernels.groups")
Ints = NDArray[np.int64]
Refuses = Callable[[int], bool]
CAP = 3072  # units that a group is charged at most, by default: e³ = 20
_PRECISION = 1 << 64
_WIDE = 2**31 - 1
_LEAST_SCORE = 1e-9  # of a column of one value, which may be shown
_STACK = 80  # groups that wait: the smaller part comes first, so that they are at most two for each halving


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Which cells are shown, and what that took.

    Attributes:
        shown: bool, (rows, columns), of each kind of record.
        groups: int64 (rows,), the number of each row's group.
        tested, refused: tests, and those of them that were refused.
        charged: of the groups the highest charge, in units.
    """

    shown: NDArray[np.bool_]
    groups: Ints
    tested: int
    refused: int
    charged: int


def limits_of(bounds: Sequence[Fraction], most: int) -> Ints:
    """Return p and q, int64 (bounds, most + 1, 2): of a records ⌊a·p/q⌋ may have the value after u units.

    After u units k of a is within h if k/a ≤ h/(h + (1024/1023)^u·(1 − h)). At u = 0 this is exact for bounds of
    up to nine digits; else powers are rounded up, and shares down.

    >>> limits_of([Fraction(2, 3)], 1)[0, 0].tolist()
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
    codes: NDArray[np.int32], weights: Ints, limits: Ints, refuses: Refuses | None, least: int
) -> Groups:  # fmt: skip
    """Return the groups that tests of single values end with.

    Args:
        codes: (rows, columns), of each kind of record its values, numbered through all columns.
        weights: int64 (rows, strata·(1 + bounds)), of each stratum the records, and those with each sensitive value.
            Strata are what the reader knows beside the channel: bounds hold in each of them.
        limits: as of :func:`limits_of`; a group is charged at most as many units as these go to.
        refuses: tosses a coin for a number of units; None: only what is free is shown.
        least: records that a group has at least.
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
    state[_kernels.LEAST], state[_kernels.CAP] = least, limits.shape[1] - 1 if refuses else -1
    table = codes, weights, np.arange(rows)
    while (units := int(_kernels.search_groups(table, limits, scratch, known, state, shown, groups))) >= 0:
        assert refuses is not None
        state[_kernels.REFUSED] = refuses(units)
    tested, refused, charged = (int(state[place]) for place in (_kernels.TESTS, _kernels.REFUSALS, _kernels.CHARGED))
    return Groups(shown, groups, tested, refused, charged)


# ---- whole columns


def search_columns(
    codes: NDArray[np.int32], weights: Ints, limits: Ints, refuses: Refuses | None, least: int
) -> Groups:
    """Return the groups that tests of whole columns end with, each shown or hidden for everybody: GLOBAL.

    For layouts that cannot say that a cell is hidden. A test splits all groups at once; d is the least over all of
    them. Exchanging two records of a final group changes no count of a test that was passed, and d of a refused one
    by at most 1, so that every group is charged the sum of all refusals. Arguments are those of :func:`search_cells`.
    """
    rows, columns = codes.shape
    weights = weights.reshape(rows, -1, 1 + len(limits))
    groups, shown = np.zeros(rows, dtype=np.int64), np.zeros(columns, dtype=np.bool_)
    waiting, spent, tested, refused = list(range(columns)), 0, 0, 0
    while True:
        whole = _sums(groups, weights)
        left = _units_left(whole, limits, spent) if refuses else 0
        splits = [_split(codes[:, place], place, groups, weights, limits[:, spent], left, least) for place in waiting]
        found = [split for split in splits if split.score > 0]
        if not found:
            break
        chosen = max(found, key=lambda split: (split.units == 0, split.score))
        waiting.remove(chosen.column)
        if chosen.units and refuses is not None:
            tested += 1
            if refuses(chosen.units * chosen.distance):  # at a distance of 0 always
                spent, refused = spent + chosen.units, refused + 1
                continue
        groups, shown[chosen.column] = chosen.parts, True
    return Groups(np.tile(shown, (rows, 1)), groups, tested, refused, spent)


class _Split(NamedTuple):
    """What showing a column does to all groups: their parts, and its test as of :func:`search_cells`, 0 units if free.

    A score of 0 is that of a column that may not be tested.
    """

    score: float
    column: int
    parts: Ints
    units: int = 0
    distance: int = 0


def _split(
    codes: NDArray[np.int32], column: int, groups: Ints, weights: Ints, limits: Ints, left: int, least: int
) -> _Split:
    keys, first, parts = np.unique(groups * (int(codes.max()) + 1) + codes, return_index=True, return_inverse=True)
    inside, whole = _sums(parts, weights), _sums(groups, weights)[groups[first]]
    sizes = inside[:, :, 0].sum(1)
    if sizes.min() < least and len(keys) > groups.max() + 1:
        return _Split(0, column, parts)
    shares = sizes / sizes.sum()
    entropy = float(-(shares * np.log(shares)).sum()) + _LEAST_SCORE
    records, hits = inside[:, :, :1], whole[:, :, 1:]
    room = records * limits[:, 0] // limits[:, 1] + 1
    dangerous = (hits >= room) & (records > 0)
    if not dangerous.any():
        return _Split(entropy, column, parts)
    gap = float((room - hits * records / whole[:, :, :1].clip(1))[dangerous].min())
    units = min(left, math.ceil(_kernels.WANTED / gap)) if gap > 0 else 0
    if not units:
        return _Split(0, column, parts)
    passed = 1 - math.exp(-units * gap / _kernels.UNITS_OF_ONE)
    return _Split(entropy * passed, column, parts, units, max(int((room - inside[:, :, 1:])[dangerous].min()), 0))


def _sums(groups: Ints, weights: Ints) -> Ints:
    sums = np.zeros((int(groups.max()) + 1, *weights.shape[1:]), dtype=np.int64)
    np.add.at(sums, groups, weights)
    return sums


def _units_left(sums: Ints, limits: Ints, spent: int) -> int:
    """Return how many more units may be spent: with them no share of any group may exceed its limit."""

    def exceeds(units: int) -> bool:
        return bool((sums[:, :, 1:] > sums[:, :, :1] * limits[:, units, 0] // limits[:, units, 1]).any())

    return bisect_left(range(spent + 1, limits.shape[1]), True, key=exceeds)
