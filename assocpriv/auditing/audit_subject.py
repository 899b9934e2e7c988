"""What a plan type supplies to the audit: recomputed guarantee, test records, recomputed reports, output distribution.

The driver (audit.py), the replay (replay.py) and the distribution tests (report_distributions.py) are the same for all
plan types. A plan type is one subclass of :class:`Subject`, named ``subject`` in plan_types/.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.tested_clients import OwnClient, RecordBatch

if TYPE_CHECKING:
    from assocpriv.auditing.findings import Finding
    from assocpriv.auditing.recompute_reports import Draws
    from assocpriv.plans.published_plan import PublishedPlan


@dataclass(frozen=True, slots=True)
class Observation:
    """Features that reports of one record show, with their expected probabilities.

    ``shown`` says which report shows which feature, uint8 (n, features). ``probabilities`` of the features are float64
    (features,). ``joint`` has the probability of each pair, float64 (features, features), NaN where it is not known.
    """

    name: str
    shown: NDArray[np.uint8]
    probabilities: NDArray[np.float64]
    joint: NDArray[np.float64] | None = None


class Subject(ABC):
    """A plan under audit, with its numbers read from the text. A check that it omits is reported as not made."""

    repetitions = 64  # reports of each of many records: an item that is never or always shown is found

    def __init__(self, plan: Any, text: str, rng: np.random.Generator) -> None:
        self.plan, self.text, self.rng = plan, text, rng

    @staticmethod
    @abstractmethod
    def check_guarantee(plan: "PublishedPlan | None", text: str) -> "Sequence[Finding]":
        """Recompute the guarantee from the text alone; the plan is None where the package refuses the text."""

    @property
    @abstractmethod
    def clients(self) -> Mapping[str, OwnClient]:
        """Our clients, ``bulk`` and ``single``, or one of them."""

    @abstractmethod
    def batch(self, records: Sequence[Any]) -> RecordBatch:
        """Return records as our clients take them. Those of one call answer one guidance, if the plan has any."""

    @abstractmethod
    def program_input(self, batch: RecordBatch) -> bytes:
        """Return records as a program reads them."""

    @abstractmethod
    def device_record(self, record: Any) -> Any:
        """Return a record as a device's ledger takes it."""

    # ---- replay of random words

    @abstractmethod
    def sample_records(self, count: int) -> list[list[Any]]:
        """Return lists of records, ``count`` in all or a few more, as different as possible."""

    @abstractmethod
    def recompute_report(self, record: Any, words: "Draws") -> bytes:
        """Return the report that random words give for a record, computed by docs/formats alone."""

    def edge_words(self) -> list[int]:
        """Return words at the boundaries between outcomes (:func:`assocpriv.auditing.recompute_reports.words_at`)."""
        return []

    def recompute_batch(self, records: Sequence[Any], words: "Draws") -> Iterator[tuple[int, bytes]]:
        """Yield the place and the report of each record of a part made in bulk, in the order of the words."""
        return ((place, self.recompute_report(record, words)) for place, record in enumerate(records))

    # ---- output distributions

    @property
    def gamma(self) -> Fraction | None:
        """γ between the worst-case records of one list; None where no γ covers all that they differ in."""
        return None if self.plan.uncovered else self.plan.amplification

    @abstractmethod
    def worst_case_records(self) -> list[list[Any]]:
        """Return lists of the few records that are hardest to hide; the audit asks for many reports of each."""

    @abstractmethod
    def observations(self, packed: NDArray[np.uint8], record: Any) -> Iterator[Observation]:
        """Yield the features that reports of one record show."""

    def probability_all_equal(self, record: Any, power: int) -> Fraction | None:  # noqa: ARG002
        """Return the probability that ``power`` reports of a record are all equal; None if it is not known."""
        return None

    def items_kept(self, packed: NDArray[np.uint8], record: Any) -> NDArray[np.int64]:  # noqa: ARG002
        """Return how many items of a record reports show, of whatever record they are, int64 (n,), below 16."""
        return np.zeros(len(packed), dtype=np.int64)

    def fair_bits(self, packed: NDArray[np.uint8], record: Any) -> NDArray[np.uint8]:  # noqa: ARG002
        """Return bits of reports of one record that are 1 with probability 1/2, uint8 (n, ≤ 16)."""
        return np.zeros((len(packed), 0), dtype=np.uint8)
