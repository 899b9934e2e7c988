"""What reading a file of baskets may take, and how a file is opened for it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, TypeVar

from assocpriv.kernels.parallel import workers_within
from assocpriv.promise.errors import BasketError
from assocpriv.records.cells import Cells

Result = TypeVar("Result")
Work = Callable[[Cells], Result]
Opener = Callable[[], BinaryIO]
CHUNK_BYTES = 1 << 21  # text that a core parses at once, at most
LEAST_CHUNK_BYTES = 1 << 18
WORKING_BYTES = 32  # memory that a byte of text takes while it becomes baskets, at worst
NO_BASKETS = "the file holds no baskets; check that it is the right one"


@dataclass(frozen=True, slots=True)
class Budget:
    """What reading may take: text parsed at once, memory in all and threads; None for as much as it needs."""

    chunk_bytes: int
    memory_bytes: int | None = None
    workers: int | None = None

    @classmethod
    def within(cls, memory_bytes: int | None) -> "Budget":
        """Share memory out: a chunk a worker, one that waits and one that is cut; None for as much as reading needs."""
        if memory_bytes is None:
            return cls(CHUNK_BYTES)
        workers = workers_within(memory_bytes)
        share = memory_bytes // (WORKING_BYTES * (workers + 2))
        return cls(min(CHUNK_BYTES, max(LEAST_CHUNK_BYTES, share)), memory_bytes, workers)

    def units(self, unit_bytes: int) -> int:
        """Return how many units of some size fit, −1 if any number does."""
        return -1 if self.memory_bytes is None else self.memory_bytes // unit_bytes

    def refuse(self, what: str) -> None:
        """Refuse what does not fit."""
        remedy = "raise memory_bytes (--memory), or write the file as a basket a line"
        raise BasketError(f"{what}, more than the {(self.memory_bytes or 0) >> 20:,} MiB allowed; {remedy}")
