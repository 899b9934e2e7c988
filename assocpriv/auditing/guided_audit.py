"""Guided plans under audit: recomputed γ and mixing weights, test tuples, recomputed reports, distributions of bits.

A record is guidance and a tuple of positions, the class last. A position equal to an attribute's number of values means
a missing value. The test guidances are one bit itself, all bits, one and several random directions. Two of them share a
serial number with another guidance, as a miner may publish it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing import recompute_tables
from assocpriv.auditing.audit_subject import Observation, Subject
from assocpriv.auditing.findings import BROKEN, CONSISTENT, GUARANTEE, Finding
from assocpriv.auditing.recompute_reports import Draws
from assocpriv.auditing.table_audit import check_ratio, named_record, ratio_finding
from assocpriv.auditing.tested_clients import ClientReports, OwnClient, RecordBatch
from assocpriv.client.guided.guided_client import GuidedRecord, randomize_guided, randomize_inputs
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.guarantees.errors import PlanError
from assocpriv.plans.guided.guided_plan import Guidance, mixing_weight

if TYPE_CHECKING:
    from assocpriv.plans.guided.guided_plan import GuidedPlan

_MAX_TUPLES = 5000  # tuples that a client may report in place of the own one
_MAX_LEVEL, _DIRECTIONS, _MAX_BITS = 256, 8, 128

Record = tuple[Guidance, tuple[int, ...]]


class GuidedSubject(Subject):
    """A guided plan."""

    plan: "GuidedPlan"

    def __init__(self, plan: "GuidedPlan", text: str, rng: np.random.Generator) -> None:
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

    @cached_property
    def clients(self) -> Mapping[str, OwnClient]:
        """Our clients of tuples."""

        def bulk(batch: RecordBatch) -> Iterator[ClientReports]:
            guidance, rows = batch.given
            for packed in randomize_inputs([rows], self.plan, guidance, entropy=SystemEntropy()):
                yield ClientReports.from_packed(packed)

        def single(batch: RecordBatch) -> Iterator[ClientReports]:
            records = map(self.device_record, batch.records)
            made = [randomize_guided(record, self.plan, entropy=SystemEntropy()) for record in records]
            yield ClientReports.from_reports(made, self.plan.report_bytes)

        return {"bulk": OwnClient(bulk), "single": OwnClient(single)}

    def batch(self, records: Sequence[Record]) -> RecordBatch:
        """Return the guidance of the records, and their positions."""
        return RecordBatch((records[0][0], np.array([row for _, row in records], dtype=np.int32)), records)

    def program_input(self, batch: RecordBatch) -> bytes:
        """Return one JSON object per line, in ASCII, with the guidance."""
        guidance = json.dumps(batch.given[0].to_json())
        values = (named_record(row, self.plan) for _, row in batch.records)
        return "".join(f'{{"values": {json.dumps(each)}, "guidance": {guidance}}}\n' for each in values).encode("ascii")

    def device_record(self, record: Record) -> GuidedRecord:
        """Return a record by its columns' names, with its guidance."""
        return GuidedRecord(named_record(record[1], self.plan), record[0])

    def sample_records(self, count: int) -> list[list[Record]]:
        """Return random tuples for each guidance, some with missing values."""
        sizes, each = np.array(self.plan.sizes), -(-count // len(self.guidances))
        found: list[list[Record]] = []
        for guidance in self.guidances:
            rows = self.rng.integers(0, sizes + (self.rng.random((each, 1)) < 0.3), (each, len(sizes)))
            classes = self.rng.integers(0, len(self.plan.labels), (each, 1))
            found.append([(guidance, tuple(row)) for row in np.hstack([rows, classes]).tolist()])
        return found

    def recompute_report(self, record: Record, words: Draws) -> bytes:
        """Return the report that docs/formats/table-plan.md defines."""
        return recompute_tables.recompute_tuple(record[1], record[0].serial, self._distributions[id(record[0])], words)

    def edge_words(self) -> list[int]:
        """Return words at the boundaries of the weights of some tuples' bits, and of the own tuple."""
        each, (low, high, *_) = self._distributions.values(), (row[:-1] for _, row in self.worst_case_records()[0])
        known = {weight for one in each for row in (low, high) for weight in one.weights(row)[:_MAX_BITS]}
        ends = {self.numbers.honest, *known} - {0, self.numbers.total}
        return [end - 1 + step | 1 << 63 for end in sorted(ends) for step in range(2)]

    def worst_case_records(self) -> list[list[Record]]:
        """Return per guidance two tuples that differ in all attributes, a mixture, and one with a missing value."""
        low, high = [0 for _ in self.plan.sizes], [size - 1 for size in self.plan.sizes]
        mixed = [high[place] if place % 2 else low[place] for place in range(len(low))]
        rows = [low, high, mixed, [self.plan.sizes[0], *mixed[1:]]]
        return [[(guidance, (*row, 0)) for row in rows] for guidance in self.guidances]

    @property
    def gamma(self) -> Fraction | None:
        """The plan's γ: the test tuples share one class, which is sent raw."""
        return self.plan.amplification

    def observations(self, packed: NDArray[np.uint8], record: Record) -> Iterator[Observation]:
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

    def probability_all_equal(self, record: Record, power: int) -> Fraction | None:
        """Return the probability that ``power`` reports are all equal, where the client reports the own tuple alone."""
        is_missing = any(v == size for v, size in zip(record[1], self.numbers.sizes, strict=False))
        if self.numbers.keep == "tuple" or is_missing:
            return None
        weights = self._distributions[id(record[0])].weights(record[1][:-1])
        ones = [Fraction(weight, self.numbers.total) for weight in weights]
        return prod((one**power + (1 - one) ** power for one in ones), start=Fraction(1))


def _test_guidances(plan: "GuidedPlan", rng: np.random.Generator) -> list[Guidance]:
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
