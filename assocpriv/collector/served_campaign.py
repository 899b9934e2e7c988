"""A campaign that is served: its document, and the collections of its plans, also of those that join meanwhile."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from assocpriv.collector.campaign_folder import ROUNDS_FILE, open_campaign
from assocpriv.collector.lock import FolderLock
from assocpriv.collector.store import Collecting
from assocpriv.core.errors import AssocprivError
from assocpriv.files.open_epochs import PLAN_FILE
from assocpriv.files.plans import read_plan
from assocpriv.plans.campaign import Campaign
from assocpriv.plans.published import PublishedPlan

_LOG = logging.getLogger("assocpriv")


class ServedCampaign:
    """The folder of a campaign, locked, and which of its plans have been taken up."""

    def __init__(self, folder: Path, collect: Callable[[PublishedPlan, Path], Collecting]) -> None:
        """Lock a campaign's folder; ``collect`` opens the collection of a plan in a folder of its own.

        Raises:
            FileError: it is no campaign's, or is served already.
            PlanError: its document is none.
        """
        self.campaign: Campaign = open_campaign(folder).campaign
        self._folder, self._collect = folder, collect
        self._locks = [FolderLock.take(folder)]
        self._guard = threading.Lock()
        self._stamp: tuple[int, ...] = ()
        self._rounds: tuple[str | None, ...] = ()
        self._taken: set[str] = set()

    def release(self) -> None:
        """Unlock the folder and those of its plans."""
        for lock in self._locks:
            lock.release()

    abandon = release  # the folder was there before

    def has_changed(self) -> bool:
        """Tell whether a plan may have joined since the last :meth:`take_up`."""
        return self._now() != self._stamp

    def _now(self) -> tuple[int, ...]:
        try:
            found = (self._folder / ROUNDS_FILE).stat()
        except OSError:
            return self._stamp
        return found.st_ino, found.st_mtime_ns, found.st_size

    def take_up(self) -> list[Collecting]:
        """Return the collections of plans that have joined since the last call; takes time.

        What cannot be opened is logged, and tried again at the next call.
        """
        with self._guard:
            stamp, new = self._now(), list[Collecting]()
            try:
                there = open_campaign(self._folder)
                for plan_id in there.plan_ids:
                    if plan_id is not None and plan_id not in self._taken:
                        new.append(self._open(there.folder_of(plan_id)))
                        self._taken.add(plan_id)
            except AssocprivError as error:
                _LOG.error("a plan of the campaign cannot be served: %s", error)
                return new
            self._rounds, self._stamp = there.plan_ids, stamp
            return new

    def _open(self, folder: Path) -> Collecting:
        lock = FolderLock.take(folder)
        try:
            opened = self._collect(read_plan(folder / PLAN_FILE), folder)
        except BaseException:
            lock.release()
            raise
        self._locks.append(lock)
        return opened

    def to_json(self) -> dict[str, object]:
        """Return what ``GET /campaign`` answers."""
        return {"campaign": self.campaign.to_json(), "plans": list(self._rounds)}
