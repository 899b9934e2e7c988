"""The search of ``assocpriv.suppress.local_search`` on arrays: groups are split until a random test is due."""

import math
from typing import Any

from assocpriv.kernels.compiling import kernel
from assocpriv.kernels.entropy_words import Ints

# places in the state of a search
(
    DEPTH, PHASE, REFUSED, VALUE, UNITS, START, STOP, TRAIL, LEAST, CAP, TESTS, REFUSALS,
    GROUP, COLUMN, WITH, WITHOUT, CHARGED, STATE,
) = range(18)  # fmt: skip
NEW, OPEN, WAITING = range(3)
UNITS_OF_ONE = 1023.5  # units in a factor of e, nearly
# a test's target of units times distance, with which 1 in 400 is refused by chance; on CRX and Adult factors of 5 to 8
# show equally many cells, 3 shows fewer
TARGET = 6 * UNITS_OF_ONE
ENTROPY_SHARE = 0.05  # weight of a split's own entropy besides its gain for strata, so that splits go on at zero gain
NO_GAP, FAR = 1e300, 1 << 62
FINISHED = -1


@kernel
def search_groups(table: Any, limits: Any, scratch: Any, known: Any, state: Ints, shown: Any, groups: Any) -> Any:
    """Split groups until a random test is due, and return its number of units; FINISHED if no group is left.

    The caller stores the test's outcome in ``state[REFUSED]`` and calls again.

    Args:
        table: codes, int32 (rows, columns), numbers of values across all columns; weights, int64 (rows, strata·(1 +
            bounds)), for each stratum the records and those with each sensitive value; order, int64 (rows,), the rows,
            with those of a group together.
        limits: int64 (bounds, units, 2), p and q: of a records at most ⌊a·p/q⌋ may have the value after these units.
        scratch: counts, int64 (values + 1, strata·(1 + bounds)), zeros, the last for the whole group; present, int64
            (columns, values), the values in the group; sizes, int64 (columns,), their numbers; stack, int64 (any, 3):
            first row, last row + 1 and length of the trail of pending groups.
        known: charged, int64 (values,), units of the refused test of each value; trail, int64 (values,), charged
            values, whose charges are removed on backtracking.
        state: int64, by the names above.
        shown: bool (rows, columns), which cells are shown.
        groups: int64 (rows,), the number of each row's final group.
    """
    if state[PHASE] == WAITING:
        _apply_outcome(table, scratch, known, state)
    while True:
        if state[PHASE] == NEW:
            if state[DEPTH] == 0:
                return FINISHED
            _open_group(table, scratch, known, state)
        _choose(limits, scratch, known[0], state)
        if state[VALUE] < 0:
            state[CHARGED] = max(state[CHARGED], _spent(scratch[1], scratch[2], known[0]))
            _close_group(table, scratch, state, shown, groups)
        elif state[UNITS] == 0:
            _split_group(table, scratch, state)
        else:
            state[TESTS] += 1
            distance = _distance(limits, scratch[0], state)
            if distance > 0:
                state[PHASE] = WAITING
                return distance * state[UNITS]
            state[REFUSED] = 1
            _apply_outcome(table, scratch, known, state)


@kernel
def _apply_outcome(table: Any, scratch: Any, known: Any, state: Ints) -> None:
    """Split the group by the tested value, or charge the information in its refusal."""
    charged, trail = known
    state[PHASE] = OPEN
    if state[REFUSED]:
        charged[state[VALUE]] = state[UNITS]
        trail[state[TRAIL]] = state[VALUE]
        state[TRAIL] += 1
        state[REFUSALS] += 1
    else:
        _split_group(table, scratch, state)


@kernel
def _open_group(table: Any, scratch: Any, known: Any, state: Ints) -> None:
    """Take the next group, remove charges of other branches, and count its records by value."""
    codes, weights, order = table
    counts, present, sizes, stack = scratch
    charged, trail = known
    state[DEPTH] -= 1
    start, stop, length = stack[state[DEPTH], 0], stack[state[DEPTH], 1], stack[state[DEPTH], 2]
    while state[TRAIL] > length:
        state[TRAIL] -= 1
        charged[trail[state[TRAIL]]] = 0
    state[START], state[STOP], state[PHASE] = start, stop, OPEN
    whole = counts[counts.shape[0] - 1]
    for column in range(codes.shape[1]):
        sizes[column] = 0
    for place in range(start, stop):
        row = order[place]
        for each in range(weights.shape[1]):
            whole[each] += weights[row, each]
        for column in range(codes.shape[1]):
            value, is_new = codes[row, column], True
            for each in range(weights.shape[1]):
                is_new = is_new and counts[value, each] == 0
            if is_new:
                present[column, sizes[column]] = value
                sizes[column] += 1
            for each in range(weights.shape[1]):
                counts[value, each] += weights[row, each]


@kernel
def _clear(scratch: Any) -> None:
    counts, present, sizes, _ = scratch
    for column in range(sizes.shape[0]):
        for place in range(sizes[column]):
            counts[present[column, place]] = 0
    counts[counts.shape[0] - 1] = 0


@kernel
def _close_group(table: Any, scratch: Any, state: Ints, shown: Any, groups: Any) -> None:
    """Show the columns in which all records of a group agree, and number it."""
    codes, _, order = table
    sizes = scratch[2]
    for place in range(state[START], state[STOP]):
        row = order[place]
        groups[row] = state[GROUP]
        for column in range(codes.shape[1]):
            shown[row, column] = sizes[column] == 1
    state[GROUP] += 1
    state[PHASE] = NEW
    _clear(scratch)


@kernel
def _split_group(table: Any, scratch: Any, state: Ints) -> None:
    """Move the rows with the chosen value to the front; push both parts, the one with fewer rows on top."""
    codes, _, order = table
    stack = scratch[3]
    value, middle = state[VALUE], state[START]
    column = state[COLUMN]
    for place in range(state[START], state[STOP]):
        if codes[order[place], column] == value:
            order[place], order[middle] = order[middle], order[place]
            middle += 1
    depth = state[DEPTH]
    is_small = 2 * middle < state[START] + state[STOP]
    stack[depth + is_small, 0], stack[depth + is_small, 1] = state[START], middle
    stack[depth + 1 - is_small, 0], stack[depth + 1 - is_small, 1] = middle, state[STOP]
    stack[depth, 2] = stack[depth + 1, 2] = state[TRAIL]
    state[DEPTH] = depth + 2
    state[PHASE] = NEW
    _clear(scratch)


@kernel
def _choose(limits: Any, scratch: Any, charged: Ints, state: Ints) -> None:
    """Choose the value to split the group by, and the units of its test: 0 if no part is at risk; value −1 for none.

    The choice uses only what the reader knows: sizes of parts, hits of the whole group, and charged units.
    """
    counts, present, sizes, _ = scratch
    spent = _spent(present, sizes, charged)
    most = _most_units(limits, counts, spent, state[CAP])
    state[VALUE], state[UNITS] = -1, 0
    best, is_free = 0.0, False
    for column in range(sizes.shape[0]):
        first, second = _largest(present[column], sizes[column], charged)
        others = spent - first - second
        for place in range(sizes[column] if sizes[column] > 2 else sizes[column] - 1):
            value = present[column, place]
            if charged[value] > 0 or (sizes[column] == 2 and charged[present[column, 1]] > 0):
                continue
            part, whole = (
                _records(counts, value, limits.shape[0]),
                _records(counts, counts.shape[0] - 1, limits.shape[0]),
            )
            if part < state[LEAST] or whole - part < state[LEAST]:
                continue
            after = others + (first + second if sizes[column] > 2 else 0)
            gap = _gap(limits, counts, value, others, after)
            share = part / whole
            score = -share * math.log(share) - (1 - share) * math.log(1 - share)
            if counts.shape[1] > limits.shape[0] + 1:
                score = _gain(counts, value, limits.shape[0]) + ENTROPY_SHARE * score
            units = 0
            if gap < NO_GAP:
                if is_free or gap <= 0 or state[CAP] < 0:
                    continue
                units = min(most - others - first, math.ceil(TARGET / gap))
                units = max(units, second if sizes[column] > 2 else 0)
                if units < 1:
                    continue
                score *= 1 - math.exp(-units * gap / UNITS_OF_ONE)
            if score > best or (units == 0 and not is_free):
                best, is_free = score, units == 0
                state[VALUE], state[UNITS], state[COLUMN] = value, units, column
                state[WITH], state[WITHOUT] = others, after


@kernel
def _records(counts: Any, value: int, bounds: int) -> Any:
    """Return the number of records with a value, in all strata."""
    total = 0
    for each in range(0, counts.shape[1], 1 + bounds):
        total += counts[value, each]
    return total


@kernel
def _largest(present: Any, size: int, charged: Ints) -> Any:
    """Return the two largest charges of the values present in a column; 0 for a single value."""
    first = second = 0
    if size > 1:
        for place in range(size):
            units = charged[present[place]]
            if units > first:
                first, second = units, first
            elif units > second:
                second = units
    return first, second


@kernel
def _spent(present: Any, sizes: Ints, charged: Ints) -> Any:
    """Return the units by which two records of the group may differ: the two largest charges of each column."""
    spent = 0
    for column in range(sizes.shape[0]):
        first, second = _largest(present[column], sizes[column], charged)
        spent += first + second
    return spent


@kernel
def _most_units(limits: Any, counts: Any, spent: int, cap: int) -> Any:
    """Return the most units that the group may spend without any share exceeding its limit."""
    low, high = spent, max(cap, spent)
    whole = counts.shape[0] - 1
    while low < high:
        middle, is_within = (low + high + 1) // 2, True
        for each in range(counts.shape[1]):
            bound = each % (limits.shape[0] + 1) - 1
            if bound >= 0 and counts[whole, each] > _limit(limits, counts[whole, each - bound - 1], bound, middle):
                is_within = False
        low, high = (middle, high) if is_within else (low, middle - 1)
    return low


@kernel
def _limit(limits: Any, records: int, bound: int, units: int) -> Any:
    return records * limits[bound, units, 0] // limits[bound, units, 1]


@kernel
def _gap(limits: Any, counts: Any, value: int, spent_with: int, spent_without: int) -> Any:
    """Return the smallest expected distance of parts at risk below their limits; NO_GAP if no part is at risk.

    A part is at risk if its limit is below the whole group's count of a sensitive value.
    """
    whole, gap = counts.shape[0] - 1, NO_GAP
    for each in range(counts.shape[1]):
        bound = each % (limits.shape[0] + 1) - 1
        hits, of_all = counts[whole, each], counts[whole, each - bound - 1]
        if bound >= 0 and hits > 0:
            part = counts[value, each - bound - 1]
            limit = _limit(limits, part, bound, spent_with)
            if part > 0 and hits > limit:
                gap = min(gap, limit + 1 - hits * part / of_all)
            part = of_all - part
            limit = _limit(limits, part, bound, spent_without)
            if part > 0 and hits > limit:
                gap = min(gap, limit + 1 - hits * part / of_all)
    return gap


@kernel
def _distance(limits: Any, counts: Any, state: Ints) -> Any:
    """Return one plus the hits that the part at risk nearest to its limit can still take; 0 if it is above it."""
    whole, value, distance = counts.shape[0] - 1, state[VALUE], FAR
    for each in range(counts.shape[1]):
        bound = each % (limits.shape[0] + 1) - 1
        hits, of_all = counts[whole, each], counts[whole, each - bound - 1]
        if bound >= 0 and hits > 0:
            part, inside = counts[value, each - bound - 1], counts[value, each]
            limit = _limit(limits, part, bound, state[WITH])
            if part > 0 and hits > limit:
                distance = min(distance, limit + 1 - inside)
            limit = _limit(limits, of_all - part, bound, state[WITHOUT])
            if of_all > part and hits > limit:
                distance = min(distance, limit + 1 - (hits - inside))
    return max(distance, 0)


@kernel
def _gain(counts: Any, value: int, bounds: int) -> Any:
    """Return by how much a split reduces the stratum's entropy, in nats."""
    whole = counts.shape[0] - 1
    n, part = _records(counts, whole, bounds), _records(counts, value, bounds)
    gain = 0.0
    for each in range(0, counts.shape[1], 1 + bounds):
        of_all, inside = counts[whole, each], counts[value, each]
        if inside > 0:
            gain += inside / n * math.log(inside * n / (part * of_all))
        if of_all > inside:
            gain += (of_all - inside) / n * math.log((of_all - inside) * n / ((n - part) * of_all))
    return gain
