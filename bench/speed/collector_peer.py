"""References for the collector: the bare framework with a bare durable store, and the bare store alone.

The framework is uvicorn with an application that reads a request's body and answers. The store is a thread that appends
queued bodies to one SQLite table, one commit per group, as durable as the collector's. It checks nothing and counts
duplicates twice. The difference is the cost of the collector's own work.
"""

import asyncio
import queue
import socket
import sqlite3
import sys
import threading
from os import urandom
from pathlib import Path
from time import perf_counter
from typing import Any


def open_store(path: Path) -> sqlite3.Connection:
    """Open a database that appends durably."""
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA wal_autocheckpoint = 4096")
    database.execute("CREATE TABLE uploads(number INTEGER PRIMARY KEY, records BLOB NOT NULL)")
    return database


def append(database: sqlite3.Connection, bodies: list[bytes]) -> None:
    """Store a group in one commit."""
    database.execute("BEGIN IMMEDIATE")
    database.execute("INSERT INTO uploads(records) VALUES (?)", (b"".join(bodies),))
    database.execute("COMMIT")


def ceiling(path: Path, record_bytes: int, batch: int, group: int, seconds: float) -> float:
    """Return the reports per second that the bare store takes, in groups of ``group`` batches."""
    database, bodies, done = open_store(path), [urandom(record_bytes * batch) for _ in range(group)], 0
    began = perf_counter()
    while (spent := perf_counter() - began) < seconds:
        append(database, bodies)
        done += batch * group
    database.close()
    return done / spent


class Bare:
    """The bare application."""

    def __init__(self, database: sqlite3.Connection, record_bytes: int) -> None:
        self._database, self._record_bytes = database, record_bytes
        self._queue: queue.SimpleQueue[tuple[bytes, asyncio.Future[int]]] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG002
        """Answer a request once its body is on disk."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            threading.Thread(target=self._write, daemon=True).start()
        message = await receive()
        body = message.get("body", b"")
        while message.get("more_body"):
            message = await receive()
            body += message.get("body", b"")
        future = self._loop.create_future()
        self._queue.put((body, future))
        await future
        answer = b'{"accepted": %d, "duplicates": 0}' % (len(body) // self._record_bytes)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    def _write(self) -> None:
        while True:
            group = [self._queue.get()]
            while len(group) < 4096:
                try:
                    group.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            append(self._database, [body for body, _ in group])
            self._loop.call_soon_threadsafe(self._deliver_results, [future for _, future in group])  # type: ignore[union-attr]

    @staticmethod
    def _deliver_results(futures: list[asyncio.Future[int]]) -> None:
        for future in futures:
            if not future.done():
                future.set_result(1)


def main() -> None:
    """Serve until killed: PATH RECORD_BYTES."""
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    application = Bare(open_store(Path(sys.argv[1])), int(sys.argv[2]))
    config = uvicorn.Config(application, log_level="error", access_log=False, server_header=False, lifespan="off")
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
