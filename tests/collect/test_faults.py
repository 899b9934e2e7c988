"""Faults that a collector survives: kill −9, a full disk, torn databases, slow clients, and a second collector."""

import asyncio
import json
import os
import random
import shutil
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from running_collector import NUMBER_AT, PLAN, RECORD, Collector, Forks, numbers, read_answer, records, stored

import assocpriv as ap
from assocpriv.collect import collector_app, serve
from assocpriv.collect.sqlite import SqliteStore
from assocpriv.collect.store import read_upload
from assocpriv.guarantees.errors import FileError, WireError

# ---- the disk


def noise_at(page: int) -> Callable[[bytes], bytes]:
    """Return a function that overwrites a page with noise; negative numbers count from the end."""

    def change(content: bytes) -> bytes:
        start = 4096 * page % len(content)
        return content[:start] + random.Random(0).randbytes(4096) + content[start + 4096 :]

    return change


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda content: content[: len(content) // 2],
    "first page": noise_at(0), "second page": noise_at(1), "fourth page": noise_at(3), "last page": noise_at(-1),
    "zeros": lambda content: content[:-4096] + bytes(4096),  # as on a disk that lost a page
    "one bit": lambda content: content.replace(records([700])[16:], records([700 ^ 256])[16:], 1),
}  # fmt: skip


def torn(home: Path, file: str, change: str) -> Path:
    """Return the folder of four uploads of 250 reports as a crash leaves it, with a change to one of its files."""
    store = SqliteStore(home / "served", PLAN)
    for start in range(0, 1000, 250):
        store.add([read_upload(records(range(start, start + 250)), PLAN)])
    if not file.endswith("-wal"):
        store.close()
    folder = Path(shutil.copytree(home / "served", home / "folder"))
    store.close()
    content = (folder / "open" / file).read_bytes()
    (folder / "open" / file).write_bytes(CHANGES[change](content))
    return folder


@pytest.mark.parametrize("change", CHANGES)
def test_a_torn_database_is_refused(tmp_path: Path, change: str) -> None:
    """The collector and readers report any damage, down to a bit of a report, with the file's name."""
    folder = torn(tmp_path, "1.sqlite", change)
    with pytest.raises(WireError, match=r"1\.sqlite is damaged"):
        SqliteStore(folder, PLAN)
    with pytest.raises(WireError, match=r"1\.sqlite is damaged"):
        ap.read_reports(folder)


@pytest.mark.parametrize("change", CHANGES)
def test_a_torn_log_keeps_whole_uploads(tmp_path: Path, change: str) -> None:
    """Uploads before the damage are read exactly; the rest looks as if it had never been synced."""
    folder = torn(tmp_path, "1.sqlite-wal", change)
    store = SqliteStore(folder, PLAN)
    found = store.status().reports
    assert found < 1000
    assert found % 250 == 0
    assert stored(folder) == [(number, 0) for number in range(found)]
    assert len(ap.read_reports(folder)) == found
    store.close()


def test_a_folder_has_one_collector(collector: Collector, forks: Forks) -> None:
    """A second one is refused and changes nothing; when the first is killed, another may take the folder at once."""
    second = Collector(forks, collector.home)
    assert not second.start()
    why = f"another process serves {second.data} or gathers into it; wait for it, or stop it"
    assert second.stderr == f"Error: {why}\n"
    assert collector.send(records(range(3)))[1] == {"accepted": 3, "duplicates": 0}
    collector.end(signal.SIGKILL)
    with second:
        assert second.reports() == 3


@pytest.mark.parametrize("host", ["", "nobody.invalid", "203.0.113.1", 80 * "\u00fc", "a\0b"], ids=range(5))
def test_addresses_that_cannot_be_listened_at(tmp_path: Path, host: str) -> None:
    """Empty, unknown or malformed names, another machine's address: one line with one reason, and no folder."""
    with pytest.raises(FileError, match=r"^cannot listen at [^()]*; choose another host or port$"):
        serve(PLAN, tmp_path / "data", host=host, port=0)
    assert not (tmp_path / "data").exists()


# ---- clients


def test_half_open_requests_do_not_block_others(forks: Forks, tmp_path: Path) -> None:
    """With more slow clients than the limit of open files others are answered; the slow ones store nothing."""
    collector = Collector(forks, tmp_path)
    collector.open_files = 64
    with collector:
        slow = [collector.raw() for _ in range(150)]
        for number, connection in enumerate(slow):
            connection.sendall(collector.head(2 * RECORD) + records([number]))
        assert collector.send(records([1000]))[1] == {"accepted": 1, "duplicates": 0}
        slow[0].sendall(records([1001]))
        assert read_answer(slow[0]) == (200, b'{"accepted": 2, "duplicates": 0}')
        for connection in slow:
            connection.close()
        assert numbers(stored(collector.data)) == [0, 1000, 1001]


def test_slow_requests_are_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A body that is not complete in time is answered 408, and the connection is closed."""
    monkeypatch.setattr(collector_app, "_BODY_SECONDS", 0.05)

    async def never() -> dict[str, Any]:
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def take() -> Any:
        with pytest.raises(collector_app.RequestRefused) as refused:
            await collector_app._Bodies().read(never)
        return refused.value

    refusal = asyncio.run(take())
    assert (refusal.status, refusal.reason) == (408, "slow")
    assert (b"connection", b"close") in collector_app._HEADERS_OF[408]


def test_memory_of_slow_requests_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes held of all incomplete large requests are bounded; a request beyond the bound gets 503."""
    monkeypatch.setattr(collector_app, "_COMING_BYTES", 25)

    async def sent(*parts: bytes) -> Any:
        left = list(parts)

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0)
            return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

        try:
            return await bodies.read(receive)
        except collector_app.RequestRefused as refused:
            return refused.status, refused.reason, bodies.held

    async def send_all() -> list[Any]:
        small, halves = sent(bytes(99)), [sent(bytes(10), bytes(10), bytes(5)) for _ in range(3)]
        return [*await asyncio.gather(small, *halves), await sent(bytes(9), bytes(25)), bodies.held]

    bodies = collector_app._Bodies()
    assert asyncio.run(send_all()) == [bytes(99), bytes(25), bytes(25), (503, "busy", 20), bytes(34), 0]


def test_bodies_may_arrive_in_any_parts(collector: Collector) -> None:
    """Pipelined, in chunks, one byte at a time, and after 100 Continue, over one connection."""
    connection = collector.raw()
    connection.sendall(b"".join(collector.head(RECORD) + records([number]) for number in range(5)))
    assert [read_answer(connection)[0] for _ in range(5)] == [200] * 5
    body = records([5, 6])
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:1], body[1:40], body[40:]))
    connection.sendall(collector.head(None, "Transfer-Encoding: chunked") + chunks + b"0\r\n\r\n")
    assert read_answer(connection) == (200, b'{"accepted": 2, "duplicates": 0}')
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in collector.head(RECORD) + records([7]):
        connection.sendall(bytes([byte]))
    assert read_answer(connection)[0] == 200
    connection.sendall(collector.head(RECORD, "Expect: 100-continue"))
    assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
    connection.sendall(records([8]))
    assert read_answer(connection)[0] == 200
    connection.close()
    assert numbers(stored(collector.data)) == list(range(9))


@pytest.mark.parametrize("chunked", [False, True])
def test_requests_beyond_4_mib(collector: Collector, chunked: bool) -> None:
    """Refused before they are read if a length is given, else once they are too long; 4 MiB are accepted."""
    most = (4 << 20) // RECORD * RECORD
    connection = collector.raw()
    if not chunked:
        connection.sendall(collector.head(most))
        connection.sendall(bytes(most))
        assert read_answer(connection) == (200, b'{"accepted": 1, "duplicates": %d}' % (most // RECORD - 1))
        connection.sendall(collector.head((4 << 20) + 1, "Expect: 100-continue"))
    else:
        connection.sendall(collector.head(None, "Transfer-Encoding: chunked"))
        for _ in range(5):
            connection.sendall(b"100000\r\n" + bytes(1 << 20) + b"\r\n")
        connection.sendall(b"0\r\n\r\n")
    status, answer = read_answer(connection)
    refusal = json.loads(answer)
    assert (status, refusal["error"], refusal["most_bytes"]) == (413, "too-large", 4 << 20)
    assert "at most 4 MiB" in refusal["message"]
    connection.close()


def test_malformed_reports_are_located_in_bounded_time(collector: Collector) -> None:
    """4 MiB of malformed reports take the writing thread under two seconds; an earlier version took four."""
    bad = records(range(1000, 1000 + (4 << 20) // RECORD))
    noise = bytearray(bad)
    for start in range(0, len(noise), RECORD):
        noise[start + 16 : start + RECORD] = b"\xff" * (RECORD - 16)
    status, answer = collector.send(bytes(noise))
    assert (status, answer["error"], answer["count"], len(answer["ids"])) == (400, "malformed-report", 100, 100)
    assert answer["ids"][0] == bad[:16].hex()
    spent = Path(f"/proc/{collector.pid}/stat").read_text().split()[13]
    assert int(spent) / os.sysconf("SC_CLK_TCK") < 2
    assert int.from_bytes(bytes.fromhex(answer["ids"][99])[NUMBER_AT : NUMBER_AT + 4], "little") == 1099
