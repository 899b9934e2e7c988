"""Clients as an audit sees them: transactions go in, reports come out, in the same order.

Nothing here looks at how a client works. Two clients are our own; assocpriv/auditing/black_box/pipe.py runs any other
program. The transactions are chosen by the audit, nobody's baskets.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.findings import client_at_work
from assocpriv.auditing.request import LEAST_TRIALS
from assocpriv.client.baskets import Randomizer
from assocpriv.client.bulk import randomize_chunks
from assocpriv.plans.baskets import Plan
from assocpriv.promise.entropy import Entropy, SystemEntropy, WordEntropy
from assocpriv.promise.errors import WireError
from assocpriv.records.baskets import Baskets

# transactions; between batches our bulk client drops words, and a weak generator shows in an unbroken stream only
LARGEST_BATCH = 1 << 16
_BATCH_BITS = 1 << 24  # of their reports, and of the items looked at
_LOOKED_AT = 256
_SINGLE_SECONDS = 8.0  # of the one-report client, where it is not alone asked for
TIMED = 64  # of its reports: some with a code take a millisecond each

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Answers:
    """Reports of a batch of transactions, of whatever length they came."""

    octets: NDArray[np.uint8]  # (n, width), width at least the plan's report_bytes; zeros after the end of a report
    lengths: NDArray[np.int64]  # of the reports in bytes, (n,)

    @classmethod
    def of_packed(cls, packed: NDArray[np.uint8]) -> "Answers":
        """Take reports that are all of one length, uint8 (n, report_bytes)."""
        return cls(packed, np.full(len(packed), packed.shape[1], dtype=np.int64))

    @classmethod
    def of_reports(cls, reports: Sequence[bytes], least_width: int) -> "Answers":
        """Take single reports of any lengths.

        >>> Answers.of_reports([b"a", b"bc"], 1).lengths
        array([1, 2])
        """
        lengths = np.array([len(report) for report in reports], dtype=np.int64)
        width = max(least_width, int(lengths.max(initial=0)))
        joined = b"".join(report.ljust(width, b"\0") for report in reports)
        return cls(np.frombuffer(joined, dtype=np.uint8).reshape(len(reports), width), lengths)

    def __len__(self) -> int:
        return len(self.lengths)


class BlackBox(Protocol):
    """A client under audit."""

    starts_anew: bool  # whether each call of reports starts the client anew, as a program of its own

    def reports(self, batches: Iterable[Baskets]) -> Iterator[Answers]:
        """Yield one :class:`Answers` for each batch of transactions, in order; one client serves all of them.

        Raises:
            WireError: what came back is not a report for each transaction.
        """


class BulkClient:
    """Our client for many transactions, with the operating system's entropy unless another is given."""

    starts_anew = False

    def __init__(self, plan: Plan, entropy: WordEntropy | None = None) -> None:
        self._plan, self._entropy = plan, entropy or SystemEntropy()

    def reports(self, batches: Iterable[Baskets]) -> Iterator[Answers]:
        """Yield the reports of each batch."""
        for chunk in randomize_chunks(batches, self._plan, entropy=self._entropy, chunk=LARGEST_BATCH):
            yield Answers.of_packed(chunk.packed)


class SingleClient:
    """Our client for one transaction at a time."""

    starts_anew = False

    def __init__(self, plan: Plan, entropy: Entropy | None = None) -> None:
        self._randomizer, self._entropy = Randomizer(plan), entropy or SystemEntropy()

    def reports(self, batches: Iterable[Baskets]) -> Iterator[Answers]:
        """Yield the reports of each batch."""
        for batch in batches:
            made = [self._randomizer.randomize(basket, entropy=self._entropy) for basket in batch]
            yield Answers.of_reports(made, self._randomizer.plan.report_bytes)


def answered(
    box: BlackBox, batches: Iterator[Baskets], progress: Progress | None = None, total: int = 0
) -> Iterator[Answers]:
    """Yield a client's answers, tell how many of a total there are, and check that each transaction has one."""
    asked: list[int] = []

    def noted() -> Iterator[Baskets]:
        for batch in batches:
            asked.append(len(batch))
            yield batch

    stream, given, done = box.reports(noted()), 0, 0
    while True:
        with client_at_work():
            answers = next(stream, None)
        if answers is None:
            break
        if given >= len(asked) or len(answers) != asked[given]:
            raise WireError("the client did not answer with one report for each transaction")
        given, done = given + 1, done + len(answers)
        yield answers
        if progress:
            progress(min(done, total), total)
    if given != len(asked) or next(batches, None) is not None:
        raise WireError("the client stopped before it had answered for all transactions")


def trials_in_time(ask: Callable[[], Iterable[Answers]]) -> int:
    """Return how many reports a one-report client makes in a few seconds; ``ask`` has it make ``TIMED`` of them."""
    try:
        list(ask())  # the first makes tables
        start = perf_counter()
        list(ask())
        each = (perf_counter() - start) / TIMED
    except Exception:  # noqa: BLE001 -- a client that fails is a finding of the audit itself
        return LEAST_TRIALS
    return max(LEAST_TRIALS, int(_SINGLE_SECONDS / each))


def batch_length(plan: Plan) -> int:
    """Return how many transactions to ask about at a time; what is made of their reports takes tens of megabytes."""
    return max(64, min(LARGEST_BATCH, _BATCH_BITS // (_LOOKED_AT + plan.report_bits)))


def batch_of(transactions: Sequence[Sequence[int]], plan: Plan) -> Baskets:
    """Make baskets of increasing item ids."""
    offsets = np.zeros(len(transactions) + 1, dtype=np.int64)
    np.cumsum([len(items) for items in transactions], out=offsets[1:])
    flat = np.array([item for items in transactions for item in items], dtype=np.int64)
    return Baskets(plan.catalogue, offsets, flat)
