"""Table plans and guided plans under audit: recomputed γ, test records, recomputed reports, output distributions.

A record of a table plan is a tuple of inputs, one per column; an input equal to a column's number of inputs means a
missing value. The distribution tests use records that differ in all columns, in one column, and records of middle and
missing values, so that an effect of one column on another one's release shows. The replay uses records in which every
column takes all its inputs, where there are not too many.

A record of a guided plan is guidance and a tuple of positions, the class last. A position equal to an attribute's
number of values means a missing value. The test guidances are one bit itself, all bits, one and several random
directions. Two of them share a serial number with another guidance, as a miner may publish it.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing import recompute_tables
from assocpriv.auditing.audit_subject import Observation, RecordBatch, Subject
from assocpriv.auditing.findings import BROKEN, CONSISTENT, GUARANTEE, LARGEST_SHOWN, Finding, format_ratio
from assocpriv.auditing.recompute_guarantee import limit_of
from assocpriv.auditing.recompute_reports import Draws, words_at
from assocpriv.client.guided import guided_client
from assocpriv.client.numeric import table_client
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.guarantees.errors import PlanError
from assocpriv.plans.guided.guided_plan import CutColumn, Guidance, GuidedPlan, mixing_weight
from assocpriv.plans.numeric.table_plan import CategoryColumn, Column, NumberColumn, TableColumns

if TYPE_CHECKING:
    from assocpriv.plans.numeric.table_plan import TablePlan

_FEW_CHOICES = 64  # inputs of a column whose weights are all compared
_SINGLE_CHANGES = 8  # columns that are changed alone in a test record
_TAILS = (1e-4, 1e-3, 1e-2)  # clipped noise shows there
_CELLS = np.array([*_TAILS, *(np.arange(1, 16) / 16), *(1 - tail for tail in reversed(_TAILS))])  # probabilities
_COARSE = np.array([1 / 3, 2 / 3])  # the same, for pairs of columns
_MAX_PAIRED = 24  # columns that are tested in pairs

_MAX_TUPLES = 5000  # tuples that a client may report in place of the own one
_MAX_LEVEL, _DIRECTIONS, _MAX_BITS = 256, 8, 128

Record = tuple[int, ...]
GuidedTuple = tuple[Guidance, tuple[int, ...]]


class TableSubject(Subject):
    """A table plan."""

    plan: "TablePlan"

    def __init__(self, plan: "TablePlan", text: str, rng: np.random.Generator) -> None:
        super().__init__(plan, text, rng)
        self.table = recompute_tables.read_table(text)

    @staticmethod
    def check_guarantee(plan: Any, text: str) -> list[Finding]:
        """Compare γ from the text's numbers with the guarantee."""
        try:
            table = recompute_tables.read_table(text)
        except PlanError as error:
            return [ratio_finding(False, f"The text is not a table plan: {error}.")]
        if any(column.choices <= _FEW_CHOICES and _worst_ratio(column) != column.ratio for column in table.columns):
            return [ratio_finding(False, "The weights of a column have another ratio than its numbers state.")]
        scope = f" with {table.columns_per_report} of {len(table.protected_positions)} protected columns"
        return check_ratio(plan, table.amplification, table.guarantee, table.reports_per_person, scope)

    def randomize_bulk(self, given: NDArray[np.int32]) -> Iterable[NDArray[np.uint8]]:
        """Yield reports of inputs."""
        return table_client.randomize_inputs([given], self.plan, entropy=SystemEntropy())

    def randomize_one(self, record: Record) -> bytes:
        """Return the report of a record."""
        return table_client.randomize_record(self.device_record(record), self.plan, entropy=SystemEntropy())

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
        return recompute_tables.recompute_record(record, self.table, words)

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
        paired = [place for place, column in enumerate(table.columns) if column.total > 1][:_MAX_PAIRED]
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


def _worst_ratio(column: recompute_tables.ColumnNumbers) -> Fraction | None:
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
    column: recompute_tables.ColumnNumbers, value: int, ends: NDArray[np.float64]
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


# ---- guided plans


class GuidedSubject(Subject):
    """A guided plan."""

    plan: GuidedPlan

    def __init__(self, plan: GuidedPlan, text: str, rng: np.random.Generator) -> None:
        super().__init__(plan, text, rng)
        self.numbers = recompute_tables.read_guided(text)
        self.guidances = _test_guidances(plan, rng)
        self._distributions = {
            id(guidance): recompute_tables.GuidedDistribution.from_vectors(self.numbers, guidance.vectors)
            for guidance in self.guidances
        }

    @staticmethod
    def check_guarantee(plan: Any, text: str) -> list[Finding]:
        """Compare γ from the text's numbers with the guarantee, and mixing weights with those that keep it."""
        try:
            numbers = recompute_tables.read_guided(text)
        except PlanError as error:
            return [ratio_finding(False, f"The text is not a guided plan: {error}.")]
        times, scope = numbers.reports_per_person, " under any guidance"
        found = check_ratio(plan, numbers.amplification, numbers.guarantee, times, scope)
        if plan is None or numbers.stated is None:
            return found
        for guidance in _test_guidances(plan, np.random.default_rng()):
            distribution = recompute_tables.GuidedDistribution.from_vectors(numbers, guidance.vectors)
            mixing = mixing_weight(guidance, plan)
            ratio = recompute_tables.product_of_ratios(recompute_tables.bounds(numbers, distribution.shares), mixing)
            if mixing != distribution.mixing or ratio is None or ratio > numbers.stated:
                message = "Under some guidance the package mixes in too few random bits to keep the guarantee."
                return [*found, Finding(GUARANTEE, "random bits", BROKEN, message)]
        message = "Under guidance of one bit, of all bits and of random directions, bits are mixed as γ needs."
        return [*found, Finding(GUARANTEE, "random bits", CONSISTENT, message)]

    def randomize_bulk(self, given: tuple[Guidance, NDArray[np.int32]]) -> Iterable[NDArray[np.uint8]]:
        """Yield reports of positions under one guidance."""
        guidance, rows = given
        return guided_client.randomize_inputs([rows], self.plan, guidance, entropy=SystemEntropy())

    def randomize_one(self, record: GuidedTuple) -> bytes:
        """Return the report of a tuple."""
        return guided_client.randomize_guided(self.device_record(record), self.plan, entropy=SystemEntropy())

    def batch(self, records: Sequence[GuidedTuple]) -> RecordBatch:
        """Return the guidance of the records, and their positions."""
        return RecordBatch((records[0][0], np.array([row for _, row in records], dtype=np.int32)), records)

    def program_input(self, batch: RecordBatch) -> bytes:
        """Return one JSON object per line, in ASCII, with the guidance."""
        guidance = json.dumps(batch.given[0].to_json())
        values = (named_record(row, self.plan) for _, row in batch.records)
        return "".join(f'{{"values": {json.dumps(each)}, "guidance": {guidance}}}\n' for each in values).encode("ascii")

    def device_record(self, record: GuidedTuple) -> guided_client.GuidedRecord:
        """Return a record by its columns' names, with its guidance."""
        return guided_client.GuidedRecord(named_record(record[1], self.plan), record[0])

    def sample_records(self, count: int) -> list[list[GuidedTuple]]:
        """Return random tuples for each guidance, some with missing values."""
        sizes, each = np.array(self.plan.sizes), -(-count // len(self.guidances))
        found: list[list[GuidedTuple]] = []
        for guidance in self.guidances:
            rows = self.rng.integers(0, sizes + (self.rng.random((each, 1)) < 0.3), (each, len(sizes)))
            classes = self.rng.integers(0, len(self.plan.labels), (each, 1))
            found.append([(guidance, tuple(row)) for row in np.hstack([rows, classes]).tolist()])
        return found

    def recompute_report(self, record: GuidedTuple, words: Draws) -> bytes:
        """Return the report that docs/formats/table-plan.md defines."""
        return recompute_tables.recompute_tuple(record[1], record[0].serial, self._distributions[id(record[0])], words)

    def edge_words(self) -> list[int]:
        """Return words at the boundaries of the weights of some tuples' bits, and of the own tuple."""
        each, (low, high, *_) = self._distributions.values(), (row[:-1] for _, row in self.worst_case_records()[0])
        known = {weight for one in each for row in (low, high) for weight in one.weights(row)[:_MAX_BITS]}
        ends = {self.numbers.honest, *known} - {0, self.numbers.total}
        return [end - 1 + step | 1 << 63 for end in sorted(ends) for step in range(2)]

    def worst_case_records(self) -> list[list[GuidedTuple]]:
        """Return per guidance two tuples that differ in all attributes, a mixture, and one with a missing value."""
        low, high = [0 for _ in self.plan.sizes], [size - 1 for size in self.plan.sizes]
        mixed = [high[place] if place % 2 else low[place] for place in range(len(low))]
        rows = [low, high, mixed, [self.plan.sizes[0], *mixed[1:]]]
        return [[(guidance, (*row, 0)) for row in rows] for guidance in self.guidances]

    @property
    def gamma(self) -> Fraction | None:
        """The plan's γ: the test tuples share one class, which is sent raw."""
        return self.plan.amplification

    def observations(self, packed: NDArray[np.uint8], record: GuidedTuple) -> Iterator[Observation]:
        """Yield the raw fields, and which bits are set; given the reported tuple, bits are independent."""
        serials, classes, bits = self.plan.unpack(packed)
        right = (serials == record[0].serial) & (classes == record[1][-1])
        yield Observation("raw fields", right[:, None].astype(np.uint8), np.ones(1))
        if self.numbers.keep == "tuple" and prod(self.numbers.sizes) > _MAX_TUPLES:
            return
        distribution = self._distributions[id(record[0])]
        tuples = distribution.reported_tuples(record[1][:-1])
        shares = np.array([float(share) for _, share in tuples])
        weights = np.array([distribution.weights(each) for each, _ in tuples], dtype=np.float64)[:, :_MAX_BITS]
        given = weights / self.numbers.total
        joint = (given * shares[:, None]).T @ given
        np.fill_diagonal(joint, np.nan)
        yield Observation("bits", bits[:, :_MAX_BITS], _round_ends(shares @ given), _round_ends(joint))

    def probability_all_equal(self, record: GuidedTuple, power: int) -> Fraction | None:
        """Return the probability that ``power`` reports are all equal, where the client reports the own tuple alone."""
        is_missing = any(v == size for v, size in zip(record[1], self.numbers.sizes, strict=False))
        if self.numbers.keep == "tuple" or is_missing:
            return None
        weights = self._distributions[id(record[0])].weights(record[1][:-1])
        ones = [Fraction(weight, self.numbers.total) for weight in weights]
        return prod((one**power + (1 - one) ** power for one in ones), start=Fraction(1))


def _test_guidances(plan: GuidedPlan, rng: np.random.Generator) -> list[Guidance]:
    """Return guidances of one bit itself, of all bits, of one random direction and of several."""
    width = plan.width
    random = np.linalg.qr(rng.normal(size=(width, min(_DIRECTIONS, -(-width // 2)))))[0]
    one = rng.integers(0, width)
    found = [np.eye(width)[:, [one]], np.eye(width)[:, :_MAX_LEVEL], random[:, :1], random]
    serials = [1, 1, 2, 2]  # one bit and all bits, whose mixing weights differ most, share a serial number
    return [Guidance.from_vectors(plan, serial, vectors) for serial, vectors in zip(serials, found, strict=True)]


def _round_ends(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities with rounding errors at 0 and 1 removed: the exact integers give 0 and 1 there."""
    return np.where(probabilities > 1 - 1e-12, 1.0, np.where(probabilities < 1e-15, 0.0, probabilities))
