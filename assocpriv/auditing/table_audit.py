"""Table plans under audit: recomputed γ, test records, recomputed reports, output distributions of the columns.

A record is a tuple of inputs, one per column; an input equal to a column's number of inputs means a missing value. The
distribution tests use records that differ in all columns, in one column, and records of middle and missing values, so
that an effect of one column on another one's release shows. The replay uses records in which every column takes all its
inputs, where there are not too many.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.audit_subject import Observation, Subject
from assocpriv.auditing.findings import BROKEN, CONSISTENT, GUARANTEE, LARGEST_SHOWN, Finding, format_ratio
from assocpriv.auditing.recompute_guarantee import limit_of
from assocpriv.auditing.recompute_reports import Draws, words_at
from assocpriv.auditing.recompute_tables import ColumnNumbers, read_table, recompute_record
from assocpriv.auditing.tested_clients import ClientReports, OwnClient, RecordBatch
from assocpriv.client.numeric.table_client import randomize_inputs, randomize_record
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.guarantees.errors import PlanError
from assocpriv.plans.guided.guided_plan import CutColumn
from assocpriv.plans.numeric.table_plan import CategoryColumn, Column, NumberColumn, TableColumns

if TYPE_CHECKING:
    from assocpriv.plans.numeric.table_plan import TablePlan

_FEW_CHOICES = 64  # inputs of a column whose weights are all compared
_SINGLE_CHANGES = 8  # columns that are changed alone in a test record
_TAILS = (1e-4, 1e-3, 1e-2)  # clipped noise shows there
_CELLS = np.array([*_TAILS, *(np.arange(1, 16) / 16), *(1 - tail for tail in reversed(_TAILS))])  # probabilities
_COARSE = np.array([1 / 3, 2 / 3])  # the same, for pairs of columns
_MAX_PAIRED = 24  # columns that are tested in pairs

Record = tuple[int, ...]


class TableSubject(Subject):
    """A table plan."""

    plan: "TablePlan"

    def __init__(self, plan: "TablePlan", text: str, rng: np.random.Generator) -> None:
        super().__init__(plan, text, rng)
        self.table = read_table(text)

    @staticmethod
    def check_guarantee(plan: Any, text: str) -> list[Finding]:
        """Compare γ from the text's numbers with the guarantee."""
        try:
            table = read_table(text)
        except PlanError as error:
            return [ratio_finding(False, f"The text is not a table plan: {error}.")]
        if any(column.choices <= _FEW_CHOICES and _worst_ratio(column) != column.ratio for column in table.columns):
            return [ratio_finding(False, "The weights of a column have another ratio than its numbers state.")]
        scope = f" with {table.columns_per_report} of {len(table.protected_positions)} protected columns"
        return check_ratio(plan, table.amplification, table.guarantee, table.reports_per_person, scope)

    @cached_property
    def clients(self) -> Mapping[str, OwnClient]:
        """Our clients of records."""

        def bulk(batch: RecordBatch) -> Iterator[ClientReports]:
            for packed in randomize_inputs([batch.given], self.plan, entropy=SystemEntropy()):
                yield ClientReports.from_packed(packed)

        def single(batch: RecordBatch) -> Iterator[ClientReports]:
            records = (self.device_record(row) for row in batch.records)
            made = [randomize_record(record, self.plan, entropy=SystemEntropy()) for record in records]
            yield ClientReports.from_reports(made, self.plan.report_bytes)

        return {"bulk": OwnClient(bulk), "single": OwnClient(single)}

    def batch(self, records: Sequence[Record]) -> RecordBatch:
        """Return records as inputs of the plan's columns."""
        return RecordBatch(np.array(records, dtype=np.int32), records)

    def program_input(self, batch: RecordBatch) -> bytes:
        """Return one JSON object per line, in ASCII, keys in the plan's order."""
        known = {row: json.dumps(self.device_record(row)) + "\n" for row in dict.fromkeys(batch.records)}
        return "".join(known[row] for row in batch.records).encode("ascii")

    def device_record(self, record: Record) -> dict[str, Any]:
        """Return a record by its columns' names."""
        return named_record(record, self.plan)

    def sample_records(self, count: int) -> list[list[Record]]:
        """Return records in which each column takes all its inputs in its own order, and the worst-case records."""
        held = [[*range(each.used), *[each.inputs] * each.optional] for each in self.table.columns]
        orders = [np.resize(self.rng.permutation(inputs), count) for inputs in held]
        mixed = [self.rng.permutation(order) for order in orders]
        return [[*self.worst_case_records()[0], *map(tuple, np.stack(mixed, axis=1).tolist())]]

    def recompute_report(self, record: Record, words: Draws) -> bytes:
        """Return the report that docs/formats/table-plan.md defines."""
        return recompute_record(record, self.table, words)

    def edge_words(self) -> list[int]:
        """Return words at the boundaries between outcomes, for some inputs of each column."""
        found: set[int] = set()
        for column in self.table.columns:
            for value in np.unique(np.linspace(0, column.choices - 1, 8).astype(int)).tolist():
                found |= set(words_at(list(accumulate(count * weight for _, count, weight in column.blocks(value)))))
        return sorted(found)

    def worst_case_records(self) -> list[list[Record]]:
        """Return two records that differ in all columns, mixtures of them, and one with missing values."""
        columns = self.table.columns
        low, high = [0 for _ in columns], [column.used - 1 for column in columns]
        absent = [column.inputs if column.optional else column.used // 2 for column in columns]
        mixed = [high[place] if place % 2 else low[place] for place in range(len(low))]
        alone = [[*low[:place], high[place], *low[place + 1 :]] for place in range(min(len(low), _SINGLE_CHANGES))]
        return [list(dict.fromkeys(map(tuple, [low, high, absent, mixed, *alone])))]

    def observations(self, packed: NDArray[np.uint8], record: Record) -> Iterator[Observation]:
        """Yield which columns a report has, the values of each, and the values of each pair."""
        table, chosen = self.table, self.table.columns_per_report
        codes = [self.plan.codes(packed, place).astype(np.int64) for place in range(len(table.columns))]
        if table.is_sampled:
            m = len(table.protected_positions)
            shown = np.stack([codes[place] < table.columns[place].codes for place in table.protected_positions], axis=1)
            both = np.full((m, m), chosen * (chosen - 1) / (m * (m - 1)))
            np.fill_diagonal(both, np.nan)
            yield Observation("columns reported", shown.astype(np.uint8), np.full(m, chosen / m), both)
        for place, column in enumerate(table.columns):
            present = codes[place] < column.codes
            cells, probabilities = _cells_of(column, record[place], _CELLS)
            yield Observation("columns", _in_cells(cells[codes[place][present]], len(probabilities)), probabilities)
        paired = [place for place, column in enumerate(table.columns) if column.draws][:_MAX_PAIRED]
        parts = [_cells_of(table.columns[place], record[place], _COARSE) for place in paired]
        for one in range(len(paired)):
            for other in range(one):
                sides = [(paired[each], *parts[each]) for each in (one, other)]
                present = np.all([codes[place] < table.columns[place].codes for place, _, _ in sides], axis=0)
                first, second = (cells[codes[place][present]] for place, cells, _ in sides)
                joint = np.outer(sides[0][2], sides[1][2])
                yield Observation("columns", _in_cells(first * joint.shape[1] + second, joint.size), joint.ravel())

    def probability_all_equal(self, record: Record, power: int) -> Fraction | None:
        """Return the probability that ``power`` reports have the same columns with the same values.

        It sums over the choices of k columns: an elementary symmetric polynomial of the columns' own probabilities.
        """
        ways, table = [Fraction(1)] + [Fraction(0)] * self.table.columns_per_report, self.table
        always = Fraction(1)
        for place, column in enumerate(table.columns):
            equal = sum(count * weight**power for _, count, weight in column.blocks(record[place]))
            same = Fraction(equal, column.total**power)
            if column.mechanism == "gaussian-noise" and record[place] < column.inputs:
                same = Fraction(sum(weight**power for _, weight in column.runs(record[place])), column.total**power)
            if place not in table.protected_positions:
                always *= same
                continue
            ways[1:] = [after + same * before for before, after in pairwise(ways)]
        choices = Fraction(1)
        for step in range(table.columns_per_report):
            choices = choices * (len(table.protected_positions) - step) / (step + 1)
        return always * ways[-1] / choices**power


# ---- guarantees of tables and tuples


def ratio_finding(kept: bool, message: str, figures: dict[str, Any] | None = None) -> Finding:
    """Return a finding about γ."""
    return Finding(GUARANTEE, "amplification", CONSISTENT if kept else BROKEN, message, figures or {})


def check_ratio(
    plan: Any, ratio: Fraction | None, guarantee: tuple[Fraction, Fraction] | None, times: int, scope: str
) -> list[Finding]:
    """Compare γ from a text's numbers with the guarantee, and with the γ that the package reads from the plan."""
    limit = guarantee and limit_of(*guarantee)
    if plan is not None and plan.amplification != ratio:
        return [ratio_finding(False, "The package reads another γ from this plan than its text states.")]
    if ratio is None or limit is None:
        message = "The plan states neither γ nor a guarantee: nothing bounds what an adversary learns from reports."
        if ratio is not limit:
            message = "The plan states a guarantee without a γ that keeps it, or a γ without a guarantee."
        return [ratio_finding(ratio is limit and plan is not None, message)]
    composed = ratio**times
    message = f"γ is {format_ratio(ratio)} for one report{scope}"
    if times > 1:
        message += f", and {format_ratio(composed)} for {times} reports of a person"
    message += f"; the guarantee needs less than {format_ratio(limit)}"
    if plan is None and composed < limit:
        message += ", but the text breaks another rule of plans"
    elif plan is not None and plan.uncovered:
        message += f"; it does not cover {plan.uncovered}"
    figures = {"amplification": float(min(ratio, LARGEST_SHOWN)), "limit": float(min(limit, LARGEST_SHOWN))}
    return [ratio_finding(plan is not None and composed < limit, f"{message}.", figures)]


def _worst_ratio(column: ColumnNumbers) -> Fraction | None:
    """Return the largest ratio of two inputs' weights of one output, over all weights; None where one is 0."""
    rows = [dict(column.runs(value)) for value in range(column.choices)]
    columns = [[row.get(code, 0) for row in rows] for code in range(column.codes)]
    if any(min(weights) == 0 for weights in columns) or column.ratio is None:
        return None  # a single input has no ratio, and none is stated
    return max(Fraction(max(weights), min(weights)) for weights in columns)


# ---- records and codes


def named_record(row: Sequence[int], plan: TableColumns) -> dict[str, Any]:
    """Return a record with these inputs, by column name: the middle of a cell or a value's text; None if missing."""
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
    """Group codes into cells by cumulative probability; return each code's cell and the cells' probabilities.

    Codes that the input cannot have are in the last cell, of probability 0.
    """
    probabilities = np.zeros(column.codes)
    for code, weight in column.runs(value):
        probabilities[code] = weight / column.total
    cells = np.unique(np.searchsorted(ends, np.cumsum(probabilities) - probabilities / 2), return_inverse=True)[1]
    cells[probabilities == 0] = cells.max() + 1
    added = np.zeros(int(cells.max()) + 1)
    np.add.at(added, cells, probabilities)
    return cells, np.minimum(added, 1.0)


def _in_cells(cells: NDArray[np.int64], count: int) -> NDArray[np.uint8]:
    return np.asarray(cells[:, None] == np.arange(count), dtype=np.uint8)
