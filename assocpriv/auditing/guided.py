"""Guided plans under audit: γ and coins computed anew, tuples that are asked about, their reports, the laws of bits.

A record is guidance and a tuple of positions, the class last; an attribute's number of values is a missing one. The
guidances are of several kinds: one bit itself, all of them, random directions, one and several, and under a serial
number that was used before another guidance, as a miner may publish it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.clients import Batch, ClientReports, Ours
from assocpriv.auditing.findings import BROKEN, CONSISTENT, PROMISE, Finding
from assocpriv.auditing.recompute_reports import Draws
from assocpriv.auditing.recompute_tables import GuidedLaw, bounds, product_of_ratios, read_guided, remade_tuple
from assocpriv.auditing.subject import Look, Subject
from assocpriv.auditing.tables import judge_ratio, judged, record_of
from assocpriv.client.guided import GuidedRecord, randomize_guided, randomize_inputs
from assocpriv.plans.guidance import Guidance, coin_of
from assocpriv.promise.entropy import SystemEntropy
from assocpriv.promise.errors import PlanError

if TYPE_CHECKING:
    from assocpriv.plans.guided import GuidedPlan

_MOST_ANSWERED = 5000  # tuples that may be answered for in place of one
_MOST_LEVEL, _DIRECTIONS, _MOST_BITS = 256, 8, 128

Record = tuple[Guidance, tuple[int, ...]]


class GuidedSubject(Subject):
    """A guided plan."""

    plan: "GuidedPlan"

    def __init__(self, plan: "GuidedPlan", text: str, chance: np.random.Generator) -> None:
        super().__init__(plan, text, chance)
        self.numbers = read_guided(text)
        self.guidances = _tried(plan, chance)
        self._laws = {id(guidance): GuidedLaw.of(self.numbers, guidance.vectors) for guidance in self.guidances}

    @staticmethod
    def promise(plan: Any, text: str) -> list[Finding]:
        """Compare γ, of the text's numbers, with the promise, and coins with what keeps it."""
        try:
            numbers = read_guided(text)
        except PlanError as error:
            return [judged(False, f"The text is no guided plan: {error}.")]
        times, of_what = numbers.reports_per_person, ", whatever the guidance"
        found = judge_ratio(plan, numbers.amplification, numbers.promise, times, of_what)
        if plan is None or numbers.stated is None:
            return found
        for guidance in _tried(plan, np.random.default_rng()):
            law, coin = GuidedLaw.of(numbers, guidance.vectors), coin_of(guidance, plan)
            ratio = product_of_ratios(bounds(numbers, law.shares), coin)
            if coin != law.coin or ratio is None or ratio > numbers.stated:
                said = "Under some guidance the package mixes bits with another coin than keeps the promise."
                return [*found, Finding(PROMISE, "coins", BROKEN, said)]
        said = "Under guidance of one bit itself, of all of them and of random directions, as many coins as γ needs."
        return [*found, Finding(PROMISE, "coins", CONSISTENT, said)]

    @cached_property
    def clients(self) -> Mapping[str, Ours]:
        """Our clients of tuples."""

        def bulk(batch: Batch) -> Iterator[ClientReports]:
            guidance, rows = batch.given
            for packed in randomize_inputs([rows], self.plan, guidance, entropy=SystemEntropy()):
                yield ClientReports.of_packed(packed)

        def single(batch: Batch) -> Iterator[ClientReports]:
            records = map(self.device_record, batch.records)
            made = [randomize_guided(record, self.plan, entropy=SystemEntropy()) for record in records]
            yield ClientReports.of_reports(made, self.plan.report_bytes)

        return {"bulk": Ours(bulk), "single": Ours(single)}

    def batch(self, records: Sequence[Record]) -> Batch:
        """Return the guidance that records answer, and their positions."""
        return Batch((records[0][0], np.array([row for _, row in records], dtype=np.int32)), records)

    def lines(self, batch: Batch) -> bytes:
        """Return a JSON object a line, in ASCII, with the guidance."""
        guidance, values = json.dumps(batch.given[0].to_json()), (record_of(row, self.plan) for _, row in batch.records)
        return "".join(f'{{"values": {json.dumps(each)}, "guidance": {guidance}}}\n' for each in values).encode("ascii")

    def device_record(self, record: Record) -> GuidedRecord:
        """Return a record by its columns' names, with its guidance."""
        return GuidedRecord(record_of(record[1], self.plan), record[0])

    def various(self, count: int) -> list[list[Record]]:
        """Return random tuples for each guidance, some with missing values."""
        sizes, each = np.array(self.plan.sizes), -(-count // len(self.guidances))
        found: list[list[Record]] = []
        for guidance in self.guidances:
            rows = self.chance.integers(0, sizes + (self.chance.random((each, 1)) < 0.3), (each, len(sizes)))
            classes = self.chance.integers(0, len(self.plan.labels), (each, 1))
            found.append([(guidance, tuple(row)) for row in np.hstack([rows, classes]).tolist()])
        return found

    def remake(self, record: Record, words: Draws) -> bytes:
        """Return the report of docs/formats/table-plan.md."""
        return remade_tuple(record[1], record[0].serial, self._laws[id(record[0])], words)

    def edges(self) -> list[int]:
        """Return words at the ends of the weights of some tuples' bits, and of the own tuple's."""
        laws, (low, high, *_) = self._laws.values(), (row[:-1] for _, row in self.chosen()[0])
        known = {weight for law in laws for row in (low, high) for weight in law.weights(row)[:_MOST_BITS]}
        ends = {self.numbers.honest, *known} - {0, self.numbers.total}
        return [end - 1 + step | 1 << 63 for end in sorted(ends) for step in range(2)]

    def chosen(self) -> list[list[Record]]:
        """Return for each guidance two tuples that differ everywhere, one between them, one with a missing value."""
        low, high = [0 for _ in self.plan.sizes], [size - 1 for size in self.plan.sizes]
        mixed = [high[place] if place % 2 else low[place] for place in range(len(low))]
        rows = [low, high, mixed, [self.plan.sizes[0], *mixed[1:]]]
        return [[(guidance, (*row, 0)) for row in rows] for guidance in self.guidances]

    @property
    def gamma(self) -> Fraction | None:
        """The plan's γ: the chosen tuples have one class, which is sent in clear."""
        return self.plan.amplification

    def looks(self, packed: NDArray[np.uint8], record: Record) -> Iterator[Look]:
        """Yield which bits are set: given the tuple that is answered for they are independent; and what is in clear."""
        serials, classes, bits = self.plan.unpack(packed)
        right = (serials == record[0].serial) & (classes == record[1][-1])
        yield Look("in clear", right[:, None].astype(np.uint8), np.ones(1))
        if self.numbers.keep == "tuple" and prod(self.numbers.sizes) > _MOST_ANSWERED:
            return
        law = self._laws[id(record[0])]
        answered = law.answered(record[1][:-1])
        shares = np.array([float(share) for _, share in answered])
        chances = (
            np.array([law.weights(each) for each, _ in answered], dtype=np.float64)[:, :_MOST_BITS] / self.numbers.total
        )
        both = (chances * shares[:, None]).T @ chances
        np.fill_diagonal(both, np.nan)
        yield Look("bits", bits[:, :_MOST_BITS], _within(shares @ chances), _within(both))

    def equal(self, record: Record, power: int) -> Fraction | None:
        """Return the chance that so many reports are equal, where they are of one tuple."""
        law = self._laws[id(record[0])]
        if self.numbers.keep == "tuple" or any(
            v == size for v, size in zip(record[1], self.numbers.sizes, strict=False)
        ):
            return None
        chances = [Fraction(weight, self.numbers.total) for weight in law.weights(record[1][:-1])]
        return prod((chance**power + (1 - chance) ** power for chance in chances), start=Fraction(1))


def _tried(plan: "GuidedPlan", chance: np.random.Generator) -> list[Guidance]:
    """Return guidance of several kinds: one bit itself, all of them, and random directions, one and several."""
    width = plan.width
    random = np.linalg.qr(chance.normal(size=(width, min(_DIRECTIONS, -(-width // 2)))))[0]
    one = chance.integers(0, width)
    found = [np.eye(width)[:, [one]], np.eye(width)[:, :_MOST_LEVEL], random[:, :1], random]
    serials = [1, 1, 2, 2]  # of one bit and of all of them, whose coins differ most, the serial is the same
    return [Guidance.of_vectors(plan, serial, vectors) for serial, vectors in zip(serials, found, strict=True)]


def _within(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return chances in [0, 1]: what is 0 or 1 but for rounding is so, as integers make it."""
    return np.where(chances > 1 - 1e-12, 1.0, np.where(chances < 1e-15, 0.0, chances))
