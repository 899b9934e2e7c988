"""Group commit: uploads that come while the disk is busy are stored together, by one thread.

They are answered together, too. The event loop hands uploads over and is told of each when it is on disk. What waits is
bounded: beyond that an upload is refused at once, and the client comes again.
"""

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from assocpriv.collect.store import ReportStore, StoreFullError, seal_all, take_in
from assocpriv.collect.wire import Refused, Upload
from assocpriv.promise.errors import AssocprivError, counted

if TYPE_CHECKING:
    from assocpriv.plans.published import PublishedPlan

_GROUP_BYTES = 4 << 20  # stored by one commit
_GROUP_UPLOADS = 4096
_WAITING_BYTES = 64 << 20
_RETRY_SECONDS = 5
_QUIET_SECONDS = 1.0  # without an upload, after which the store settles
STOPPING = "the collector is being stopped; send it again later"
_LOG = logging.getLogger("assocpriv")
_Waiting = tuple[Upload, "asyncio.Future[int | Refused]"]


class Intake:
    """Takes uploads of one plan into a store; made and used on an event loop."""

    def __init__(
        self,
        plan: "PublishedPlan",
        store: ReportStore,
        *,
        observe: Callable[[float], None] | None = None,
        sealed: Callable[[], None] | None = None,
    ) -> None:
        """Begin the threads that write and seal.

        ``observe`` is told the seconds of each commit, ``sealed`` that epochs were, both in the thread that does it.
        """
        self.plan, self.store = plan, store
        self._observe, self._sealed = observe or (lambda _: None), sealed or (lambda: None)
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._must_seal = threading.Event()
        self.waiting_bytes, self._stopping = 0, False
        self.cannot_seal = False  # and tries again
        self._writer = threading.Thread(target=self._write_all, name="assocpriv-writer")
        self._sealer = threading.Thread(target=self._seal_all, name="assocpriv-sealer")
        self._writer.start()
        self._sealer.start()

    @property
    def waiting(self) -> int:
        """How many requests wait for the thread that writes."""
        return self._queue.qsize()

    def submit(self, upload: Upload) -> "asyncio.Future[int | Refused]":
        """Return what will say, when an upload is on disk, how many of its reports are new, or why it was refused.

        Raises:
            Refused: too much waits already, or the collector stops.
        """
        if self._stopping:
            raise Refused(503, "stopping", STOPPING, retry_after=30)
        if self.waiting_bytes > _WAITING_BYTES:
            raise Refused(503, "busy", "more comes than the disk can take; send it again later", retry_after=1)
        future = self._loop.create_future()
        self.waiting_bytes += len(upload.body)
        self._queue.put((upload, future))
        return future

    async def seal(self) -> int:
        """End the open epoch, seal all that have ended and return their number.

        Raises:
            StoreFullError: the disk refuses; it is tried again without being asked.
            TooFewError: the open epoch has fewer reports than are sealed together.
        """
        try:
            return self._told(await asyncio.to_thread(seal_all, self.store))
        except StoreFullError:
            self._must_seal.set()
            raise

    async def close(self) -> None:
        """Store what waits, then close the store."""
        self._stopping = True
        self._queue.put(None)
        await asyncio.to_thread(self._writer.join)
        self._must_seal.set()
        await asyncio.to_thread(self._sealer.join)
        self.store.close()

    def _write_all(self) -> None:
        """Store groups of uploads until told to end."""
        while (first := self._next()) is not None:
            group, size, last = [first], len(first[0].body), False
            while size < _GROUP_BYTES and len(group) < _GROUP_UPLOADS and not last:
                try:
                    further = self._queue.get_nowait()
                except queue.Empty:
                    break
                if further is None:
                    last = True
                else:
                    group.append(further)
                    size += len(further[0].body)
            results = self._store([upload for upload, _ in group])
            self._loop.call_soon_threadsafe(self._tell, group, size, results)
            if self.store.must_seal():
                self._must_seal.set()
            if last:
                return

    def _next(self) -> _Waiting | None:
        """Wait for an upload; the store settles when none has come for a while."""
        with suppress(queue.Empty):
            return self._queue.get(timeout=_QUIET_SECONDS)
        self.store.settle()
        return self._queue.get()

    def _store(self, uploads: list[Upload]) -> list[int | Refused]:
        began = time.perf_counter()
        try:
            return take_in(uploads, self.plan, self.store)
        except Exception as error:  # noqa: BLE001  # whatever it is, this thread has to go on
            _LOG.error("%s", error if isinstance(error, StoreFullError) else f"cannot store: {type(error).__name__}")
            message = "the collector cannot store now; send it again later"
            return [Refused(503, "full", message, retry_after=_RETRY_SECONDS)] * len(uploads)
        finally:
            self._observe(time.perf_counter() - began)

    def _tell(self, group: list[_Waiting], size: int, results: list[int | Refused]) -> None:
        self.waiting_bytes -= size
        for (_, future), result in zip(group, results, strict=True):
            if not future.done():  # nobody waits for it where the connection has broken off
                future.set_result(result)

    def _told(self, sealed: int) -> int:
        """Tell that so many epochs were sealed, and return how many."""
        if sealed:
            self._sealed()
            _LOG.info("%s sealed", counted(sealed, "epoch"))
        return sealed

    def _seal_all(self) -> None:
        """Seal epochs that have ended, whenever told; what fails is told once, and tried again every second."""
        while self._must_seal.wait() and not self._stopping:
            self._must_seal.clear()
            try:
                self._told(self.store.seal())
            except (AssocprivError, OSError) as error:
                if not self.cannot_seal:
                    _LOG.error("%s", error)
                self.cannot_seal = True
                time.sleep(1)
                self._must_seal.set()
            else:
                self.cannot_seal = False
