"""Clients under guidance as an audit sees them, and what their answers show beside the plan's laws.

Every test is a count of reports beside its exact chance, as of tables (auditing/black_box/table_laws.py).
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.black_box.clients import Answers
from assocpriv.auditing.black_box.laws import Events
from assocpriv.auditing.recompute.guided_text import GuidedLaw
from assocpriv.client.guided import GuidedRecord, randomize_guided, randomize_inputs
from assocpriv.plans.columns import Column
from assocpriv.plans.guidance import Guidance
from assocpriv.plans.guided import CutColumn, GuidedPlan
from assocpriv.promise.entropy import Entropy, SystemEntropy, WordEntropy

MOST_ANSWERED = 5000  # tuples that may be answered for in place of one
_MOST_PAIRS = 300


@dataclass(frozen=True, slots=True)
class Question:
    """Records, int32 (n, columns), the class last, that are to answer one guidance."""

    guidance: Guidance
    rows: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.rows)


class GuidedBox(Protocol):
    """A client under audit."""

    def reports(self, batches: Iterable[Question]) -> Iterator[Answers]:
        """Yield one :class:`Answers` for each batch of records, in order."""


class BulkTuples:
    """Our client for many records, with the operating system's entropy unless another is given."""

    def __init__(self, plan: GuidedPlan, entropy: WordEntropy | None = None) -> None:
        self._plan, self._entropy = plan, entropy or SystemEntropy()

    def reports(self, batches: Iterable[Question]) -> Iterator[Answers]:
        """Yield the reports of each batch."""
        for asked in batches:
            parts = list(randomize_inputs([asked.rows], self._plan, asked.guidance, entropy=self._entropy))
            yield Answers.of_packed(np.concatenate(parts))


class SingleTuples:
    """Our client for one record at a time."""

    def __init__(self, plan: GuidedPlan, entropy: Entropy | None = None) -> None:
        self._plan, self._entropy = plan, entropy or SystemEntropy()

    def reports(self, batches: Iterable[Question]) -> Iterator[Answers]:
        """Yield the reports of each batch."""
        for asked in batches:
            records = [GuidedRecord(record_of(row, self._plan), asked.guidance) for row in asked.rows.tolist()]
            made = [randomize_guided(record, self._plan, entropy=self._entropy) for record in records]
            yield Answers.of_reports(made, self._plan.report_bytes)


def record_of(row: list[int], plan: GuidedPlan) -> dict[str, Any]:
    """Return a record with these positions of values; a missing value is None."""
    return {column.name: _value(place, column) for place, column in zip(row, plan.columns, strict=True)}


def _value(place: int, column: Column) -> Any:
    if place == column.inputs:
        return None
    if isinstance(column, CutColumn):
        return float(column.cuts[place - 1]) if place else float(column.cuts[0]) - 1 - abs(float(column.cuts[0]))
    return column.to_fields()["values"][place]


def lines_of(asked: Question, plan: GuidedPlan) -> bytes:
    """Return records as a program gets them: a JSON object a line, in ASCII, with the guidance."""
    guidance = asked.guidance.to_json()
    records = (record_of(row, plan) for row in asked.rows.tolist())
    return "".join(json.dumps({"values": each, "guidance": guidance}) + "\n" for each in records).encode("ascii")


def chosen_records(plan: GuidedPlan) -> NDArray[np.int32]:
    """Return the records that are asked about: two that differ everywhere, one between them, one with a missing value.

    Each class is among their classes, as far as there are not more.
    """
    low, high = [0 for _ in plan.sizes], [size - 1 for size in plan.sizes]
    mixed = [high[place] if place % 2 else low[place] for place in range(len(low))]
    absent = [plan.sizes[0], *mixed[1:]]
    classes = len(plan.labels)
    return np.array([[*row, n % classes] for n, row in enumerate((low, high, mixed, absent))], dtype=np.int32)


def known_chances(law: GuidedLaw, row: tuple[int, ...]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the tuples' shares, float64 (m,), that answer for a record, and each one's chances of bits, (m, w)."""
    answered = law.answered(row)
    chances = np.array([law.weights(each) for each, _ in answered], dtype=np.float64) / law.numbers.total
    return np.array([float(share) for _, share in answered]), chances


def bit_events(bits: NDArray[np.uint8], shares: NDArray[np.float64], chances: NDArray[np.float64]) -> Events:
    """Return how often each bit is set."""
    return Events.of(bits.sum(axis=0, dtype=np.int64), len(bits), _within(shares @ chances))


def pair_events(bits: NDArray[np.uint8], shares: NDArray[np.float64], chances: NDArray[np.float64]) -> Events:
    """Return how often two bits are both set: given the tuple that is answered for they are independent."""
    pairs = list(combinations(range(bits.shape[1]), 2))[:_MOST_PAIRS]
    seen = [int((bits[:, i] & bits[:, j]).sum()) for i, j in pairs]
    wanted = np.array([shares @ (chances[:, i] * chances[:, j]) for i, j in pairs])
    return Events.of(seen, len(bits), _within(wanted))


def equal_chance(shares: NDArray[np.float64], chances: NDArray[np.float64]) -> float:
    """Return the chance that two reports of a record are equal."""
    together = 0.0
    for share, row in zip(shares, chances, strict=True):
        equal = (row * chances + (1 - row) * (1 - chances)).prod(axis=1)
        together += float(share * (shares @ equal))
    return float(_within(np.array(together)))


def _within(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return chances in [0, 1]: what is 0 or 1 but for rounding is so, as integers make it."""
    return np.where(chances > 1 - 1e-12, 1.0, np.where(chances < 1e-15, 0.0, chances))
