"""What a kind of plan supplies to the audit: its promise recomputed, its records, its reports made anew, its law.

The driver (audit.py), the comparison with words (replay.py) and the laws (laws.py) know no kind of plan. A kind is one
subclass of :class:`Subject`, named in plans/kind.py as ``auditing.subject``.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.clients import Batch, Ours

if TYPE_CHECKING:
    from assocpriv.auditing.findings import Finding
    from assocpriv.auditing.recompute_reports import Draws
    from assocpriv.plans.published import PublishedPlan


@dataclass(frozen=True, slots=True)
class Look:
    """What some reports of one record show, beside its law.

    ``shown`` says which report shows which feature, uint8 (n, features); ``chances`` how likely each is, float64
    (features,); ``together``, if it is known, how likely each two are, NaN where it is not, float64 (features,
    features).
    """

    name: str
    shown: NDArray[np.uint8]
    chances: NDArray[np.float64]
    together: NDArray[np.float64] | None = None


class Subject(ABC):
    """A plan of one kind under audit, its numbers read from the text; what is not supplied is said to be not made."""

    each = 64  # reports of each of many records, so that an item which is never or always shown is found

    def __init__(self, plan: Any, text: str, chance: np.random.Generator) -> None:
        self.plan, self.text, self.chance = plan, text, chance

    @staticmethod
    @abstractmethod
    def promise(plan: "PublishedPlan | None", text: str) -> "Sequence[Finding]":
        """Recompute the promise from the text alone; the plan is None where none can be made of it."""

    @property
    @abstractmethod
    def clients(self) -> Mapping[str, Ours]:
        """Our clients, ``bulk`` and ``single``, or one of them."""

    @abstractmethod
    def batch(self, records: Sequence[Any]) -> Batch:
        """Return records as our clients take them; those of one call answer one guidance, if any."""

    @abstractmethod
    def lines(self, batch: Batch) -> bytes:
        """Return records as a program reads them."""

    @abstractmethod
    def device_record(self, record: Any) -> Any:
        """Return a record as a device's ledger takes it."""

    # ---- words

    @abstractmethod
    def various(self, count: int) -> list[list[Any]]:
        """Return lists of records, ``count`` in all or a few more, that differ as far as records can."""

    @abstractmethod
    def remake(self, record: Any, words: "Draws") -> bytes:
        """Return the report that words make of a record, by docs/formats alone."""

    def edges(self) -> list[int]:
        """Return words at the ends of what draws lead to (:func:`assocpriv.auditing.recompute_reports.words_at`)."""
        return []

    def remake_many(self, records: Sequence[Any], words: "Draws") -> Iterator[tuple[int, bytes]]:
        """Yield the place and the report of each record of a part that was made in bulk, in the order of the words."""
        return ((place, self.remake(record, words)) for place, record in enumerate(records))

    # ---- laws

    @property
    def gamma(self) -> Fraction | None:
        """What tells the chosen records of one list apart at most; None where no γ covers all that differs there."""
        ratio: Fraction | None = None if self.plan.uncovered else self.plan.amplification
        return ratio

    @abstractmethod
    def chosen(self) -> list[list[Any]]:
        """Return lists of few records that are hardest to hide, to be asked about often."""

    @abstractmethod
    def looks(self, packed: NDArray[np.uint8], record: Any) -> Iterator[Look]:
        """Yield what reports of one record show."""

    def equal(self, record: Any, power: int) -> Fraction | None:  # noqa: ARG002
        """Return the chance that so many reports of a record are all equal; None if it is not known."""
        return None

    def kept(self, packed: NDArray[np.uint8], record: Any) -> NDArray[np.int64]:  # noqa: ARG002
        """Return how many items of a record reports show, whatever they are of, int64 (n,), below 16."""
        return np.zeros(len(packed), dtype=np.int64)

    def coins(self, packed: NDArray[np.uint8], record: Any) -> NDArray[np.uint8]:  # noqa: ARG002
        """Return bits of reports of one record that are fair coins, uint8 (n, ≤ 16)."""
        return np.zeros((len(packed), 0), dtype=np.uint8)
