"""Randomize records of a table into reports, on the device, one record or many.

This module sees raw values. The steps, each an exact draw (see guarantees/entropy.py):

1. if a report covers only some of the protected columns, these are drawn: the first places of a Fisher–Yates shuffle,
   independently of the record;
2. column by column, in the plan's order, a released code is drawn with the integer weights of the column's output
   distribution. A missing value uses the same number of draws.

Many records are inputs of the plan's columns, randomized by compiled code fed with blocks of entropy. For the same
random words their reports equal those of one record after the other.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.report_files import Reports, check_report_output, write_reports
from assocpriv.guarantees.entropy import (
    MOST_REFILLS,
    Entropy,
    GivenWords,
    SystemEntropy,
    WordEntropy,
    broken_source,
)
from assocpriv.guarantees.errors import RecordError, build_options, pluralize
from assocpriv.kernels.loops import CLEAR, EVEN_NOISE, IS_COMPILED, OUT_OF_WORDS, WEIGHTED_NOISE, WINDOW, kernels
from assocpriv.kernels.parallel import default_memory, parallel_map, workers_within
from assocpriv.plans.numeric.table_plan import (
    Clear,
    Column,
    GaussianNoise,
    Mechanism,
    TablePlan,
    UniformNoise,
    Window,
    shortened,
)
from assocpriv.records.table_files import TableCounts, TableOptions, read_value, stream_table
from assocpriv.records.table_files import parse_record as parse_record

CHUNK = 1 << 15  # largest number of records in a task
_SPARE_WORDS = 64
_GUIDE_BITS = 12  # of a draw, which index the cumulative weights: 32 KiB, half of the level-1 cache


# ---- one record


def randomize_record(record: Mapping[str, Any], plan: TablePlan, *, entropy: Entropy) -> bytes:
    """Return the report of one record: a value for each of the plan's columns, by name.

    A number must be a real number in the column's range; a category one of its values: as text, as a whole number of
    that text, or True and False for "true" and "false". A missing value is None, NaN, or an absent column.

    Raises:
        RecordError: a value that the column does not have, a missing one that is not optional, or a further column.
        TypeError: no mapping.
    """
    if not isinstance(record, Mapping):
        raise TypeError("a record must be a mapping from column names to values")
    others = len(set(record) - set(plan.names))
    if others:
        raise RecordError(
            f"the record has {pluralize(others, 'column')} that the plan does not have; give only "
            f"{shortened(plan.names)}"
        )
    values = [read_value(record.get(column.name), column) for column in plan.columns]
    return encode(release(values, plan, entropy), plan)


def release(values: Sequence[int], plan: TablePlan, entropy: Entropy) -> list[int]:
    """Return the released code of every column, for inputs that fit the plan."""
    omitted = _choose_omitted(plan, entropy)
    return [
        omitted[place] if place in omitted else release_value(value, column, entropy)
        for place, (value, column) in enumerate(zip(values, plan.columns, strict=True))
    ]


def _choose_omitted(plan: TablePlan, entropy: Entropy) -> dict[int, int]:
    """Return the positions of the columns that this report leaves out, each with its code for that."""
    if not plan.is_sampled:
        return {}
    order = list(plan.protected_positions)
    for place in range(plan.columns_per_report):
        other = place + entropy.below(len(order) - place)
        order[place], order[other] = order[other], order[place]
    return {place: plan.columns[place].codes for place in order[plan.columns_per_report :]}


def release_value(value: int, column: Column, entropy: Entropy) -> int:
    """Return the released code of a column's input; the column's number of inputs stands for a missing value."""
    return _RELEASES[type(column.mechanism)](column.mechanism, value, column.optional, entropy)


def _release_clear(mechanism: Clear, value: int, _optional: bool, _entropy: Entropy) -> int:
    return mechanism.outputs if value == mechanism.inputs else value // mechanism.width


def _release_even(mechanism: UniformNoise, value: int, _optional: bool, entropy: Entropy) -> int:
    noise = entropy.below(2 * mechanism.reach + 1)
    return mechanism.outputs if value == mechanism.inputs else value + noise


def _release_weighted(mechanism: GaussianNoise, value: int, _optional: bool, entropy: Entropy) -> int:
    noise = entropy.pick(mechanism.cumulative)
    return mechanism.outputs if value == mechanism.inputs else value + noise


def _release_window(mechanism: Window, value: int, optional: bool, entropy: Entropy) -> int:
    drawn = entropy.below(mechanism.total(optional=optional))
    if drawn < mechanism.near * mechanism.high:
        return mechanism.outputs if value == mechanism.inputs else value + drawn // mechanism.high
    far = (drawn - mechanism.near * mechanism.high) // mechanism.low  # among all other inputs, in order
    if far < value or value == mechanism.inputs:
        return far
    return far + mechanism.near if far < mechanism.inputs - 1 else mechanism.outputs


_RELEASES: dict[type[Mechanism], Callable[[Any, int, bool, Entropy], int]] = {
    Clear: _release_clear,
    UniformNoise: _release_even,
    GaussianNoise: _release_weighted,
    Window: _release_window,
}


def encode(codes: Sequence[int], plan: TablePlan) -> bytes:
    """Return codes as a report: one or two bytes each, the lower byte first."""
    sizes = (plan.record_type[place].itemsize for place in range(len(codes)))
    return b"".join(code.to_bytes(size, "little") for code, size in zip(codes, sizes, strict=True))


# ---- many records


class TableRandomizer:
    """Tables of one plan in the kernel's form, built once for any number of chunks."""

    def __init__(self, plan: TablePlan) -> None:
        self.plan = plan
        self._cumulative: list[int] = []
        self._guides: list[int] = []
        rows = [self._row(column, plan.record_type[place].itemsize) for place, column in enumerate(plan.columns)]
        self._columns = np.array(rows, dtype=np.int64)
        self._draws = tuple(np.array(each or [0], dtype=np.int64) for each in (self._cumulative, self._guides))
        self._protected = np.array(plan.protected_positions, dtype=np.int64)
        drawing = sum(not isinstance(column.mechanism, Clear) for column in plan.columns)
        # of a record, if no draw is rejected
        self.words = drawing + (plan.columns_per_report if plan.is_sampled else 0)

    def _row(self, column: Column, n_bytes: int) -> list[int]:
        mechanism, at, guide, shift = column.mechanism, len(self._cumulative), len(self._guides), 0
        numbers: tuple[int, ...]
        if isinstance(mechanism, Clear):
            form, numbers = CLEAR, (mechanism.width, 0, 0, 0)
        elif isinstance(mechanism, UniformNoise):
            form, numbers = EVEN_NOISE, (1, 0, 0, 2 * mechanism.reach + 1)
        elif isinstance(mechanism, GaussianNoise):
            self._cumulative += mechanism.cumulative
            shift = max(0, mechanism.cumulative[-1].bit_length() - _GUIDE_BITS)
            self._guides += _guide_of(mechanism.cumulative, shift)
            form, numbers = WEIGHTED_NOISE, (len(mechanism.cumulative), 0, 0, mechanism.cumulative[-1])
        else:
            assert isinstance(mechanism, Window)
            total = mechanism.total(optional=column.optional)
            form, numbers = WINDOW, (mechanism.near, mechanism.high, mechanism.low, total)
        return [form, mechanism.inputs, mechanism.outputs, *numbers, at, column.codes, n_bytes, guide, shift]

    def randomize(
        self, raw_inputs: NDArray[np.int32], words: NDArray[np.uint64], entropy: WordEntropy
    ) -> NDArray[np.uint8]:
        """Return the reports of inputs, int32 (n, columns), with the given words first, then with further ones."""
        reports = np.empty((len(raw_inputs), self.plan.report_bytes), dtype=np.uint8)
        done = stuck = 0
        while stuck < MOST_REFILLS:
            more, used, status = self.run(raw_inputs[done:], words, reports[done:])
            done, stuck = done + more, 0 if more else stuck + 1
            if not status:
                return reports
            words = np.concatenate([words[used:], entropy.words(_SPARE_WORDS + len(words) // 16)])
        raise broken_source()

    def run(
        self, raw_inputs: NDArray[np.int32], words: NDArray[np.uint64], reports: NDArray[np.uint8]
    ) -> tuple[int, int, int]:
        """Fill ``reports`` as long as words last; return (records done, words used, status)."""
        if IS_COMPILED:
            scratch = (np.zeros(len(each), dtype=np.int64) for each in (self._protected, self._columns))
            tables, result = (self._columns, *self._draws, self._protected), np.empty(2, dtype=np.int64)
            done = kernels.randomize_records(
                raw_inputs, words, *tables, *scratch, reports, result, self.plan.columns_per_report
            )
            return done, int(result[0]), int(result[1])
        source = GivenWords(words)
        for place, values in enumerate(raw_inputs.tolist()):
            used = source.used
            try:
                codes = release(values, self.plan, source)
            except EOFError:
                return place, used, OUT_OF_WORDS
            reports[place] = np.frombuffer(encode(codes, self.plan), dtype=np.uint8)
        return len(raw_inputs), source.used, 0


def _guide_of(cumulative: Sequence[int], shift: int) -> list[int]:
    """Return for each value of drawn >> shift the first place that such a draw can select (Chen and Asau 1974).

    >>> _guide_of([1, 4, 8], 1)
    [0, 1, 2, 2]
    """
    return [bisect_right(cumulative, start << shift) for start in range((cumulative[-1] - 1 >> shift) + 1)]


def randomize_inputs(
    batches: Iterable[NDArray[np.int32]],
    plan: TablePlan,
    *,
    entropy: WordEntropy,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[NDArray[np.uint8]]:
    """Yield the reports, uint8 (n, report_bytes), of batches of inputs, int32 (n, columns), in order, on all cores.

    Words are drawn here, chunk by chunk, so that a seeded source gives the same reports on any number of cores.
    ``progress`` is called with the number of records done.
    """
    randomizer = TableRandomizer(plan)
    most = [column.inputs - 1 + column.optional for column in plan.columns]

    def parts() -> Iterator[tuple[NDArray[np.int32], NDArray[np.uint64]]]:
        for batch in batches:
            check_inputs(batch, most)
            for start in range(0, len(batch), CHUNK):
                part = np.ascontiguousarray(batch[start : start + CHUNK])
                yield part, entropy.words(len(part) * randomizer.words + _SPARE_WORDS)

    done = 0
    for packed in parallel_map(lambda given: randomizer.randomize(*given, entropy), parts(), workers):
        yield packed
        done += len(packed)
        if progress:
            progress(done)


def check_inputs(inputs: NDArray[Any], most: Sequence[int]) -> None:
    """Refuse inputs outside a plan's columns, each from 0 to ``most``: compiled code would read outside its tables."""
    if inputs.dtype != "int32" or inputs.ndim != 2 or inputs.shape[1] != len(most):
        raise TypeError(f"inputs must be int32 of shape (records, {len(most)}), got {inputs.dtype} of {inputs.shape}")
    if len(inputs) and not ((inputs >= 0).all() and (inputs <= most).all()):
        raise ValueError("inputs must lie within the plan's columns")


def randomize_records(
    table: Any,
    plan: TablePlan,
    output: str | PathLike[str] | None = None,
    *,
    memory_bytes: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **reading: Any,
) -> tuple[Reports | None, TableCounts]:
    """Randomize a table's records with the operating system's entropy, into memory or a file; see assocpriv.randomize.

    ``table`` is a pandas, polars or pyarrow table, several, or a CSV or Parquet file; ``reading`` are the fields of
    :class:`TableOptions`.
    """
    if output is not None:
        check_report_output(output)
    memory = default_memory() if memory_bytes is None else memory_bytes
    options = build_options(TableOptions, {"memory_bytes": memory, "progress": progress, **reading})
    stream = stream_table(table, plan, options)
    packed = randomize_inputs(stream, plan, entropy=SystemEntropy(), workers=workers_within(memory))
    if output is not None:
        write_reports(packed, plan, output, force=force)
        return None, stream.counts
    return Reports(plan, np.concatenate(list(packed))), stream.counts
