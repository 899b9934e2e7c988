"""One record of a table → one report, on the device.

This module sees raw values. The steps, each an exact draw (see promise/entropy.py):

1. where a report answers some of the protected columns only, these are drawn: the first places of a Fisher–Yates
   shuffle, whatever the record holds;
2. column by column, in the plan's order, a released code is drawn with the integer weights of the column's law. Of a
   missing value as much is drawn as of any other.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assocpriv.plans.columns import Clear, Column, GaussianNoise, Law, UniformNoise, Window
from assocpriv.plans.tables import TablePlan, shortened
from assocpriv.promise.entropy import Entropy
from assocpriv.promise.errors import RecordError, counted
from assocpriv.records.table_cells import read_value


def randomize_record(record: Mapping[str, Any], plan: TablePlan, *, entropy: Entropy) -> bytes:
    """Return the report of one record: a value for each of the plan's columns, by name.

    A number is a real number in the column's range, a category one of its values: as text, a whole number that it
    writes, or True and False where it is true and false. A missing value is None, NaN, or a column that is left out.

    Raises:
        RecordError: a value that the column does not have, a missing one that is not optional, or a further column.
        TypeError: no mapping.
    """
    if not isinstance(record, Mapping):
        raise TypeError("a record must be a mapping from column names to values; randomize_table takes many of them")
    others = len(set(record) - set(plan.names))
    if others:
        raise RecordError(
            f"the record has {counted(others, 'column')} beside the plan's, which are {shortened(plan.names)}; leave "
            "such values out"
        )
    values = [read_value(record.get(column.name), column) for column in plan.columns]
    return encode(release(values, plan, entropy), plan)


def release(values: Sequence[int], plan: TablePlan, entropy: Entropy) -> list[int]:
    """Return the released code of every column, of inputs that fit the plan."""
    unasked = _choose_unasked(plan, entropy)
    return [
        unasked[place] if place in unasked else release_value(value, column, entropy)
        for place, (value, column) in enumerate(zip(values, plan.columns, strict=True))
    ]


def _choose_unasked(plan: TablePlan, entropy: Entropy) -> dict[int, int]:
    """Return the positions of the columns that are not answered, with the code that says so."""
    if not plan.is_sampled:
        return {}
    order = list(plan.asked)
    for place in range(plan.answered):
        other = place + entropy.below(len(order) - place)
        order[place], order[other] = order[other], order[place]
    return {place: plan.columns[place].codes for place in order[plan.answered :]}


def release_value(value: int, column: Column, entropy: Entropy) -> int:
    """Return the released code of an input of a column; the column's number of inputs is a missing value."""
    return _RELEASES[type(column.law)](column.law, value, column.optional, entropy)


def _release_clear(law: Clear, value: int, _optional: bool, _entropy: Entropy) -> int:
    return law.outputs if value == law.inputs else value // law.width


def _release_even(law: UniformNoise, value: int, _optional: bool, entropy: Entropy) -> int:
    noise = entropy.below(2 * law.reach + 1)
    return law.outputs if value == law.inputs else value + noise


def _release_weighted(law: GaussianNoise, value: int, _optional: bool, entropy: Entropy) -> int:
    noise = entropy.pick(law.cumulative)
    return law.outputs if value == law.inputs else value + noise


def _release_window(law: Window, value: int, optional: bool, entropy: Entropy) -> int:
    drawn = entropy.below(law.total(optional=optional))
    if drawn < law.near * law.high:
        return law.outputs if value == law.inputs else value + drawn // law.high
    far = (drawn - law.near * law.high) // law.low  # among all others, in order
    if far < value or value == law.inputs:
        return far
    return far + law.near if far < law.inputs - 1 else law.outputs


_RELEASES: dict[type[Law], Callable[[Any, int, bool, Entropy], int]] = {
    Clear: _release_clear,
    UniformNoise: _release_even,
    GaussianNoise: _release_weighted,
    Window: _release_window,
}


def encode(codes: Sequence[int], plan: TablePlan) -> bytes:
    """Return codes as a report: one or two bytes each, the lowest first."""
    sizes = (plan.record_type[place].itemsize for place in range(len(codes)))
    return b"".join(code.to_bytes(size, "little") for code, size in zip(codes, sizes, strict=True))
