"""Plans of tables under audit: γ computed anew, records that are asked about, their reports made anew, columns' laws.

A record is a tuple of inputs, one a column; a column's number of inputs is a missing value. Asked about often are
records that differ everywhere, that have one column of the other, middle and missing values: so what one column does to
another's release shows. Made anew are records in which every column takes all its inputs, as far as there are not too
many.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.clients import Batch, ClientReports, Ours
from assocpriv.auditing.findings import BROKEN, CONSISTENT, LARGEST, PROMISE, Finding, shown_ratio
from assocpriv.auditing.recompute_promise import limit_of
from assocpriv.auditing.recompute_reports import Draws, words_at
from assocpriv.auditing.recompute_tables import ColumnNumbers, read_table, remade_record
from assocpriv.auditing.subject import Look, Subject
from assocpriv.client.tables import randomize_inputs, randomize_record
from assocpriv.plans.columns import CategoryColumn, Column, NumberColumn, TableColumns
from assocpriv.plans.guided import CutColumn
from assocpriv.promise.entropy import SystemEntropy
from assocpriv.promise.errors import PlanError

if TYPE_CHECKING:
    from assocpriv.plans.tables import TablePlan

_FEW_CHOICES = 64  # of a column whose weights are all looked at
_ALONE = 8  # columns that differ from a record alone
_TAILS = (1e-4, 1e-3, 1e-2)  # clipped noise shows there
_CELLS = np.array([*_TAILS, *(np.arange(1, 16) / 16), *(1 - tail for tail in reversed(_TAILS))])  # ends, of chances
_COARSE = np.array([1 / 3, 2 / 3])  # the same, of columns beside others
_MOST_PAIRED = 24  # columns that are looked at in pairs

Record = tuple[int, ...]


class TableSubject(Subject):
    """A plan of a table."""

    plan: "TablePlan"

    def __init__(self, plan: "TablePlan", text: str, chance: np.random.Generator) -> None:
        super().__init__(plan, text, chance)
        self.table = read_table(text)

    @staticmethod
    def promise(plan: Any, text: str) -> list[Finding]:
        """Compare γ, of the text's numbers, with the promise."""
        try:
            table = read_table(text)
        except PlanError as error:
            return [judged(False, f"The text is no plan of a table: {error}.")]
        if any(column.choices <= _FEW_CHOICES and _worst_ratio(column) != column.ratio for column in table.columns):
            return [judged(False, "A column's weights have another ratio than its numbers say.")]
        answered = f", with {table.answered} of {len(table.asked)} protected columns"
        return judge_ratio(plan, table.amplification, table.promise, table.reports_per_person, answered)

    @cached_property
    def clients(self) -> Mapping[str, Ours]:
        """Our clients of records."""

        def bulk(batch: Batch) -> Iterator[ClientReports]:
            for packed in randomize_inputs([batch.given], self.plan, entropy=SystemEntropy()):
                yield ClientReports.of_packed(packed)

        def single(batch: Batch) -> Iterator[ClientReports]:
            records = (self.device_record(row) for row in batch.records)
            made = [randomize_record(record, self.plan, entropy=SystemEntropy()) for record in records]
            yield ClientReports.of_reports(made, self.plan.report_bytes)

        return {"bulk": Ours(bulk), "single": Ours(single)}

    def batch(self, records: Sequence[Record]) -> Batch:
        """Return records as inputs of the plan's columns."""
        return Batch(np.array(records, dtype=np.int32), records)

    def lines(self, batch: Batch) -> bytes:
        """Return a JSON object a line, in ASCII, keys in the plan's order."""
        known = {row: json.dumps(self.device_record(row)) + "\n" for row in dict.fromkeys(batch.records)}
        return "".join(known[row] for row in batch.records).encode("ascii")

    def device_record(self, record: Record) -> dict[str, Any]:
        """Return a record by its columns' names."""
        return record_of(record, self.plan)

    def various(self, count: int) -> list[list[Record]]:
        """Return records in which each column takes all its inputs, in an order of its own, and the chosen ones."""
        held = [[*range(each.used), *[each.inputs] * each.optional] for each in self.table.columns]
        orders = [np.resize(self.chance.permutation(inputs), count) for inputs in held]
        mixed = [self.chance.permutation(order) for order in orders]
        return [[*self.chosen()[0], *map(tuple, np.stack(mixed, axis=1).tolist())]]

    def remake(self, record: Record, words: Draws) -> bytes:
        """Return the report of docs/formats/table-plan.md."""
        return remade_record(record, self.table, words)

    def edges(self) -> list[int]:
        """Return words at the ends of outcomes, of each column for some inputs."""
        found: set[int] = set()
        for column in self.table.columns:
            for value in np.unique(np.linspace(0, column.choices - 1, 8).astype(int)).tolist():
                found |= set(words_at(list(accumulate(count * weight for _, count, weight in column.blocks(value)))))
        return sorted(found)

    def chosen(self) -> list[list[Record]]:
        """Return two records that differ everywhere, each with a column of the other, and one with missing values."""
        columns = self.table.columns
        low, high = [0 for _ in columns], [column.used - 1 for column in columns]
        absent = [column.inputs if column.optional else column.used // 2 for column in columns]
        mixed = [high[place] if place % 2 else low[place] for place in range(len(low))]
        alone = [
            [high[at] if at == place else low[at] for at in range(len(low))] for place in range(min(len(low), _ALONE))
        ]
        return [list(dict.fromkeys(map(tuple, [low, high, absent, mixed, *alone])))]

    def looks(self, packed: NDArray[np.uint8], record: Record) -> Iterator[Look]:
        """Yield which columns are asked, what each that is asked shows, and what each two show."""
        table, answered = self.table, self.table.answered
        codes = [self.plan.codes(packed, place).astype(np.int64) for place in range(len(table.columns))]
        if table.is_sampled:
            m = len(table.asked)
            shown = np.stack([codes[place] < table.columns[place].codes for place in table.asked], axis=1)
            both = np.full((m, m), answered * (answered - 1) / (m * (m - 1)))
            np.fill_diagonal(both, np.nan)
            yield Look("asked", shown.astype(np.uint8), np.full(m, answered / m), both)
        for place, column in enumerate(table.columns):
            asked = codes[place] < column.codes
            cells, chances = _cells_of(column, record[place], _CELLS)
            yield Look("columns", _in_cells(cells[codes[place][asked]], len(chances)), chances)
        paired = [place for place, column in enumerate(table.columns) if column.draws][:_MOST_PAIRED]
        parts = [_cells_of(table.columns[place], record[place], _COARSE) for place in paired]
        for one in range(len(paired)):
            for other in range(one):
                sides = [(paired[each], *parts[each]) for each in (one, other)]
                asked = np.all([codes[place] < table.columns[place].codes for place, _, _ in sides], axis=0)
                first, second = (cells[codes[place][asked]] for place, cells, _ in sides)
                joint = np.outer(sides[0][2], sides[1][2])
                yield Look("columns", _in_cells(first * joint.shape[1] + second, joint.size), joint.ravel())

    def equal(self, record: Record, power: int) -> Fraction | None:
        """Return the chance that so many reports are equal: all answer the same columns, each of them the same.

        Over the choices of k columns, an elementary symmetric polynomial of the columns' own chances.
        """
        ways, table = [Fraction(1)] + [Fraction(0)] * self.table.answered, self.table
        always = Fraction(1)
        for place, column in enumerate(table.columns):
            same = Fraction(
                sum(count * weight**power for _, count, weight in column.blocks(record[place])), column.total**power
            )
            if column.law == "gaussian-noise" and record[place] < column.inputs:
                same = Fraction(sum(weight**power for _, weight in column.runs(record[place])), column.total**power)
            if place not in table.asked:
                always *= same
                continue
            ways[1:] = [after + same * before for before, after in pairwise(ways)]
        choices = Fraction(1)
        for step in range(table.answered):
            choices = choices * (len(table.asked) - step) / (step + 1)
        return always * ways[-1] / choices**power


# ---- promises of records


def judged(kept: bool, said: str, figures: dict[str, Any] | None = None) -> Finding:
    """Return what was found of γ."""
    return Finding(PROMISE, "amplification", CONSISTENT if kept else BROKEN, said, figures or {})


def judge_ratio(
    plan: Any, ratio: Fraction | None, promise: tuple[Fraction, Fraction] | None, times: int, of_what: str
) -> list[Finding]:
    """Compare γ, of a text's numbers, with the promise, and with what the package reads from the plan."""
    limit = promise and limit_of(*promise)
    if plan is not None and plan.amplification != ratio:
        return [judged(False, "The package reads another γ from this plan than its text has.")]
    if ratio is None or limit is None:
        said = "No γ is stated, and none is promised: whoever reads reports can learn more."
        if ratio is not limit:
            said = "The plan states a promise and nothing that keeps it, or the other way round."
        return [judged(ratio is limit and plan is not None, said)]
    together = ratio**times
    said = f"γ is {shown_ratio(ratio)} for one report{of_what}"
    if times > 1:
        said += f", and {shown_ratio(together)} for {times} reports of a person"
    said += f"; the promise needs less than {shown_ratio(limit)}"
    if plan is None and together < limit:
        said += ", but the text breaks another rule of plans"
    elif plan is not None and plan.uncovered:
        said += f"; it does not cover {plan.uncovered}"
    figures = {"amplification": float(min(ratio, LARGEST)), "limit": float(min(limit, LARGEST))}
    return [judged(plan is not None and together < limit, f"{said}.", figures)]


def _worst_ratio(column: ColumnNumbers) -> Fraction | None:
    """Return the largest ratio of two inputs' weights of one output, from all weights; None where one is 0."""
    rows = [dict(column.runs(value)) for value in range(column.choices)]
    columns = [[row.get(code, 0) for row in rows] for code in range(column.codes)]
    if any(min(weights) == 0 for weights in columns) or column.ratio is None:
        return None  # one input alone has no ratio, and none is claimed
    return max(Fraction(max(weights), min(weights)) for weights in columns)


# ---- records and codes


def record_of(row: Sequence[int], plan: TableColumns) -> dict[str, Any]:
    """Return a record with these inputs: the middle of a cell, or a value's text; a missing value is None."""
    return {column.name: _value(value, column) for value, column in zip(row, plan.columns, strict=True)}


def _value(value: int, column: Column) -> Any:
    if value == column.inputs:
        return None
    if isinstance(column, NumberColumn):
        inside = 0 if column.grain else column.cell_width / 2
        return float(column.low + value * column.cell_width + inside)
    if isinstance(column, CutColumn):
        return float(column.cuts[value - 1]) if value else float(column.cuts[0]) - 1 - abs(float(column.cuts[0]))
    assert isinstance(column, CategoryColumn)
    return column.values[value]


def _cells_of(
    column: ColumnNumbers, value: int, ends: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Cut a column's codes into cells, by the chance of all codes before: each code's cell, and the cells' chances.

    Codes that the input cannot have are in the last cell, of chance 0.
    """
    chances = np.zeros(column.codes)
    for code, weight in column.runs(value):
        chances[code] = weight / column.total
    cells = np.unique(np.searchsorted(ends, np.cumsum(chances) - chances / 2), return_inverse=True)[1]
    cells[chances == 0] = cells.max() + 1
    added = np.zeros(int(cells.max()) + 1)
    np.add.at(added, cells, chances)
    return cells, np.minimum(added, 1.0)


def _in_cells(cells: NDArray[np.int64], count: int) -> NDArray[np.uint8]:
    shown: NDArray[np.uint8] = (cells[:, None] == np.arange(count)).astype(np.uint8)
    return shown
