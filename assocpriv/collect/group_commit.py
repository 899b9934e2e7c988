"""Group commit: uploads that arrive while the disk is busy are stored together, by one thread.

They are answered together, too. The event loop queues uploads and gets a result for each once it is on disk. The queue
is bounded: beyond that an upload is refused at once, and the client tries again.
"""

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from assocpriv.collect.store import (
    ReportStore,
    RequestRefused,
    StoreFullError,
    Upload,
    close_all_batches,
    store_uploads,
)
from assocpriv.guarantees.errors import AssocprivError, pluralize

if TYPE_CHECKING:
    from assocpriv.plans.published_plan import PublishedPlan

_GROUP_BYTES = 4 << 20  # stored by one commit
_GROUP_UPLOADS = 4096
_WAITING_BYTES = 64 << 20
_RETRY_SECONDS = 5
_QUIET_SECONDS = 1.0  # without an upload, after which the store erases the order of arrival
STOPPING = "the collector is stopping; send it again later"
_LOG = logging.getLogger("assocpriv")
_Waiting = tuple[Upload, "asyncio.Future[int | RequestRefused]"]


class Intake:
    """Takes uploads of one plan into a store; made and used on an event loop."""

    def __init__(
        self,
        plan: "PublishedPlan",
        store: ReportStore,
        *,
        on_commit: Callable[[float], None] | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        """Start the threads that write uploads and close batches.

        ``on_commit`` gets the seconds of each commit; ``on_close`` is called when batches were closed. Both run in the
        thread of their event.
        """
        self.plan, self.store = plan, store
        self._on_commit, self._on_close = on_commit or (lambda _: None), on_close or (lambda: None)
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._must_close = threading.Event()
        self.queued_bytes, self._stopping = 0, False
        self.cannot_close = False  # and tries again
        self._writer = threading.Thread(target=self._write_all, name="assocpriv-writer")
        self._closer = threading.Thread(target=self._close_all, name="assocpriv-closer")
        self._writer.start()
        self._closer.start()

    @property
    def waiting(self) -> int:
        """How many requests wait for the writing thread."""
        return self._queue.qsize()

    def submit(self, upload: Upload) -> "asyncio.Future[int | RequestRefused]":
        """Return a future: the number of new reports once an upload is on disk, or its refusal.

        Raises:
            RequestRefused: the queue is full, or the collector is stopping.
        """
        if self._stopping:
            raise RequestRefused(503, "stopping", STOPPING, retry_after=30)
        if self.queued_bytes > _WAITING_BYTES:
            raise RequestRefused(
                503, "busy", "reports arrive faster than the disk stores them; send it again later", retry_after=1
            )
        future = self._loop.create_future()
        self.queued_bytes += len(upload.body)
        self._queue.put((upload, future))
        return future

    async def close_batches(self) -> int:
        """Close the pending batches and the open one; return the number of batches.

        Raises:
            StoreFullError: the disk refuses; closing is tried again automatically.
            BatchTooSmallError: the open batch is below the minimum size.
        """
        try:
            return self._report_closed(await asyncio.to_thread(close_all_batches, self.store))
        except StoreFullError:
            self._must_close.set()
            raise

    async def close(self) -> None:
        """Store queued uploads, then close the store."""
        self._stopping = True
        self._queue.put(None)
        await asyncio.to_thread(self._writer.join)
        self._must_close.set()
        await asyncio.to_thread(self._closer.join)
        self.store.close()

    def _write_all(self) -> None:
        """Store groups of uploads until the intake is closed."""
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
            self._loop.call_soon_threadsafe(self._deliver_results, group, size, results)
            if self.store.has_pending():
                self._must_close.set()
            if last:
                return

    def _next(self) -> _Waiting | None:
        """Wait for an upload; the store erases the order of arrival when none has come for a while."""
        again = True
        while again:
            with suppress(queue.Empty):
                return self._queue.get(timeout=_QUIET_SECONDS)
            again = self.store.erase_order()
        return self._queue.get()

    def _store(self, uploads: list[Upload]) -> list[int | RequestRefused]:
        began = time.perf_counter()
        try:
            return store_uploads(uploads, self.plan, self.store)
        except Exception as error:  # noqa: BLE001  # this thread must go on after any error
            _LOG.error("%s", error if isinstance(error, StoreFullError) else f"cannot store: {type(error).__name__}")
            message = "the collector cannot store reports now; send it again later"
            return [RequestRefused(503, "full", message, retry_after=_RETRY_SECONDS)] * len(uploads)
        finally:
            self._on_commit(time.perf_counter() - began)

    def _deliver_results(self, group: list[_Waiting], size: int, results: list[int | RequestRefused]) -> None:
        self.queued_bytes -= size
        for (_, future), result in zip(group, results, strict=True):
            if not future.done():  # done: the connection was lost
                future.set_result(result)

    def _report_closed(self, closed: int) -> int:
        """Log and count closed batches, and return their number."""
        if closed:
            self._on_close()
            _LOG.info("%s closed", pluralize(closed, "batch"))
        return closed

    def _close_all(self) -> None:
        """Close pending batches when signalled; after a failure, logged once, try again every second."""
        while self._must_close.wait() and not self._stopping:
            self._must_close.clear()
            try:
                self._report_closed(self.store.close_pending())
            except (AssocprivError, OSError) as error:
                if not self.cannot_close:
                    _LOG.error("%s", error)
                self.cannot_close = True
                time.sleep(1)
                self._must_close.set()
            else:
                self.cannot_close = False
