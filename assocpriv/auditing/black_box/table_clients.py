"""Clients of tables as an audit sees them: records go in, reports come out; and the records that are asked about.

The records are made here, nobody's: inputs of the plan's columns, and as JSON the middle of a cell or a value's text.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.black_box.clients import Answers
from assocpriv.client.tables import randomize_inputs, randomize_record
from assocpriv.plans.columns import CategoryColumn, Column, NumberColumn
from assocpriv.plans.tables import TablePlan
from assocpriv.promise.entropy import Entropy, SystemEntropy, WordEntropy

Inputs = NDArray[np.int32]  # (records, columns)


class TableBox(Protocol):
    """A client of tables under audit."""

    def reports(self, batches: Iterable[Inputs]) -> Iterator[Answers]:
        """Yield one :class:`Answers` for each batch of records, in order; a call may start the client anew."""


class BulkTables:
    """Our client for many records, with the operating system's entropy unless another is given."""

    def __init__(self, plan: TablePlan, entropy: WordEntropy | None = None) -> None:
        self._plan, self._entropy = plan, entropy or SystemEntropy()

    def reports(self, batches: Iterable[Inputs]) -> Iterator[Answers]:
        """Yield the reports of each batch."""
        for batch in batches:
            parts = list(randomize_inputs([batch], self._plan, entropy=self._entropy))
            yield Answers.of_packed(np.concatenate(parts))


class SingleTables:
    """Our client for one record at a time."""

    def __init__(self, plan: TablePlan, entropy: Entropy | None = None) -> None:
        self._plan, self._entropy = plan, entropy or SystemEntropy()

    def reports(self, batches: Iterable[Inputs]) -> Iterator[Answers]:
        """Yield the reports of each batch."""
        for batch in batches:
            known: dict[tuple[int, ...], dict[str, Any]] = {}
            made = []
            for row in map(tuple, batch.tolist()):
                if row not in known:
                    known[row] = record_of(row, self._plan)
                made.append(randomize_record(known[row], self._plan, entropy=self._entropy))
            yield Answers.of_reports(made, self._plan.report_bytes)


def record_of(row: Sequence[int], plan: TablePlan) -> dict[str, Any]:
    """Return a record with these inputs; a missing value is None."""
    return {column.name: _value(value, column) for value, column in zip(row, plan.columns, strict=True)}


def _value(value: int, column: Column) -> Any:
    if value == column.inputs:
        return None
    if isinstance(column, NumberColumn):
        return float(column.low + (2 * value + 1) * column.cell_width / 2)
    assert isinstance(column, CategoryColumn)
    return column.values[value]


def lines_of(batch: Inputs, plan: TablePlan) -> bytes:
    """Return records as a program gets them: a JSON object a line, in ASCII, keys in the plan's order."""
    known: dict[tuple[int, ...], str] = {}
    for row in map(tuple, batch.tolist()):
        if row not in known:
            known[row] = json.dumps(record_of(row, plan)) + "\n"
    return "".join(known[row] for row in map(tuple, batch.tolist())).encode("ascii")


def chosen_records(plan: TablePlan) -> Inputs:
    """Return the records that are asked about: two that differ everywhere, each with one column of the other, and some
    with missing values.

    So what one column does to another's release shows as another law of it.
    """
    low = [0 for _ in plan.columns]
    high = [column.inputs - 1 for column in plan.columns]
    absent = [column.inputs if column.optional else column.inputs // 2 for column in plan.columns]
    mixed = [high[place] if place % 2 else low[place] for place in range(len(low))]
    crossed = [low[place] if place % 2 else high[place] for place in range(len(low))]
    alone = [[high[at] if at == place else low[at] for at in range(len(low))] for place in range(min(len(low), _ALONE))]
    rows = {tuple(row): None for row in [low, high, absent, mixed, crossed, *alone]}
    return np.array(list(rows), dtype=np.int32)


_ALONE = 11  # columns that differ from a record alone
