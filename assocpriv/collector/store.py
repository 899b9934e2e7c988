"""What a collector asks of the place where reports are kept: durable when it says so, each submission id once."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from assocpriv.collector.wire import Refused, Upload
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.errors import FileError


class StoreFullError(FileError):
    """Nothing can be stored now, as on a full disk; nothing of the group was, and later it may go again."""


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """How many reports there are: in sealed epochs, and in the open one with those that wait to be sealed."""

    sealed: int
    unsealed: int
    sealed_epochs: int
    waiting_epochs: int

    @property
    def reports(self) -> int:
        """How many reports, each counted once."""
        return self.sealed + self.unsealed


class ReportStore(Protocol):
    """Reports of one plan. Methods may be called from several threads."""

    def add(self, uploads: Sequence[Upload]) -> list[int | Refused]:
        """Store uploads and return of each how many of its reports are new, or why it was refused.

        When this returns, what it returned holds after any crash. An id that is there, or comes twice, counts once,
        and its first report stays. An upload is stored whole or not at all.

        Raises:
            StoreFullError: the disk refuses; nothing of the uploads is stored.
        """

    def status(self) -> StoreStatus:
        """Return how many reports there are."""

    def counts_by_key(self) -> dict[int, int]:
        """Return how many reports came with each key."""

    def rotate(self) -> None:
        """End the open epoch, if it has reports, and begin another."""

    def seal(self) -> int:
        """Turn the epochs that have ended into report files, and return how many.

        Raises:
            StoreFullError: the disk refuses; the reports stay where they are, and the next call tries again.
        """

    def must_seal(self) -> bool:
        """Tell whether epochs have ended that are not sealed."""

    def close(self) -> None:
        """Let go of the store; what was stored stays."""


@dataclass(frozen=True, slots=True)
class Collecting:
    """A plan, where its reports are kept, and the ``folder`` of what is sealed and of its guidance.

    One that is ``closed`` takes no reports any more.
    """

    plan: PublishedPlan
    store: ReportStore
    folder: Path
    closed: bool = False
