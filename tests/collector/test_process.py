"""Tests that break a running collector: killed, stopped, out of disk, damaged, asked by many and by the slow."""

import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import pytest
from collector.service_process import PLAN, Collector, Load, damage, post, record, stored

from assocpriv.files.open_epochs import epoch_files


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    """Give a collector that seals often."""
    running = Collector(tmp_path, "--epoch-reports", "500")
    yield running
    if running.process.poll() is None:
        running.stop()
    assert "Traceback" not in running.log.read_text()


@pytest.mark.parametrize("kills", [4, pytest.param(30, marks=pytest.mark.slow)])
def test_killed_under_load(collector: Collector, kills: int) -> None:
    """kill −9 at random moments: what was acknowledged is there once, what was sent at most once, and nothing else."""
    rng, following, acknowledged, sent = random.Random(17), 0, list[int](), list[int]()
    for _ in range(kills):
        load = Load(collector, following)
        time.sleep(rng.uniform(0.05, 0.7))
        collector.stop(signal.SIGKILL)
        following = load.end()
        acknowledged += load.acknowledged
        sent += load.sent
        there = stored(collector.folder)
        assert len(set(there)) == len(there)
        assert set(acknowledged) <= set(there) <= set(sent)
        collector.start()
        assert collector.get("/status")["reports"] == len(there)
        assert collector.send(there[:2000])["duplicates"] == len(there[:2000])
    assert len(acknowledged) > 100 * kills
    assert any(collector.folder.glob("*.parquet")), "nothing was sealed meanwhile, so half of it was not tested"


def test_stopped_under_load(collector: Collector) -> None:
    """SIGTERM ends it with status 0; all that was acknowledged is there."""
    load = Load(collector, 0)
    time.sleep(0.5)
    assert collector.stop() == 0
    load.end()
    there = stored(collector.folder)
    assert set(load.acknowledged) <= set(there) <= set(load.sent)
    assert len(set(there)) == len(there) > 100


def test_a_folder_has_one_collector(collector: Collector) -> None:
    """A second one is refused in one line, and the first goes on."""
    command = [sys.executable, "-m", "assocpriv", "serve", str(collector.home / "plan.json"), "--port", "0"]
    second = subprocess.run([*command, "--data", str(collector.folder)], capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert second.stderr.splitlines()[-1].startswith("Error: ")
    assert "served by another process" in second.stderr
    assert collector.send([1])["accepted"] == 1


def test_replays_at_once_count_once(collector: Collector) -> None:
    """The same records over several connections at the same moment."""
    answers, start = [], threading.Barrier(8)

    def replay() -> None:
        connection = collector.connect()
        for round_ in range(20):
            start.wait()
            answers.append(post(connection, b"".join(map(record, range(round_, round_ + 5))), keep=True))
        connection.close()

    threads = [threading.Thread(target=replay) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer["status"] for answer in answers} == {200}
    assert sum(answer["accepted"] for answer in answers) == 24
    assert stored(collector.folder) == list(range(24))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a folder with two megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = os.name == "posix" and os.geteuid() == 0
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if not mounted or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small disk is a tmpfs, which needs root to be mounted")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    """503, nothing of it stored; with space again it goes on, and what was acknowledged before is there."""
    collector = Collector(small_disk, "--epoch-reports", "2000")
    filler, acknowledged = small_disk / "filler", 0
    with filler.open("wb") as file, suppress(OSError):
        file.write(bytes(1 << 20))
    answer = {"status": 200}
    while answer["status"] == 200:
        answer = collector.send(range(acknowledged, acknowledged + 1000))
        if answer["status"] == 200:
            acknowledged += answer["accepted"]
        assert acknowledged < 200_000
    assert (answer["status"], answer["error"]) == (503, "full")
    assert collector.get("/status")["reports"] == acknowledged > 2000
    filler.unlink()
    deadline = time.monotonic() + 20
    while collector.send(range(acknowledged, acknowledged + 1000))["status"] != 200:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    acknowledged += 1000
    assert stored(collector.folder) == list(range(acknowledged))
    assert collector.stop() == 0
    collector.start()
    assert collector.get("/status")["reports"] == acknowledged
    assert collector.send(range(1000))["duplicates"] == 1000
    collector.stop()


def test_a_damaged_database_is_named(collector: Collector) -> None:
    """Neither a collector nor a reader takes what is damaged; the line names the file."""
    collector.send(range(400))
    collector.stop()
    (database,) = epoch_files(collector.folder)
    damage(database, 0.0)
    for command in (["serve", str(collector.home / "plan.json"), "--port", "0", "--data"], ["inspect"]):
        done = subprocess.run(
            [sys.executable, "-m", "assocpriv", *command, str(collector.folder)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert database.name in done.stderr
        assert "Traceback" not in done.stderr


def test_a_torn_journal_loses_only_its_end(collector: Collector) -> None:
    """What a power cut may leave of a journal whose end was not synced: whole commits, in their order."""
    for start in range(0, 300, 10):
        assert collector.send(range(start, start + 10))["accepted"] == 10
    collector.stop(signal.SIGKILL)
    (journal,) = (collector.folder / "open").glob("*-wal")
    os.truncate(journal, int(journal.stat().st_size * 0.6))
    collector.start()
    there = stored(collector.folder)
    assert 0 < len(there) < 300
    assert there == list(range(len(there)))
    assert len(there) % 10 == 0
    assert collector.send(range(300))["accepted"] == 300 - len(there)


def test_the_slow_do_not_stop_others(collector: Collector) -> None:
    """Two hundred requests that never become whole: others are answered at once."""
    slow = [socket.create_connection(("127.0.0.1", collector.port)) for _ in range(200)]
    for number, connection in enumerate(slow):
        head = f"POST /reports HTTP/1.1\r\nHost: x\r\nAssocpriv-Plan: {PLAN.plan_id}\r\nContent-Length: 100\r\n"
        connection.sendall(head.encode() if number % 2 else f"{head}\r\nsome".encode())
    began = time.monotonic()
    assert collector.send(range(50))["accepted"] == 50
    assert time.monotonic() - began < 5
    for connection in slow:
        connection.close()
    assert collector.stop() == 0


def test_what_http_allows(collector: Collector) -> None:
    """Chunked bodies, 100-continue, several requests a connection, one after another without waiting."""
    head = (
        f"POST /reports HTTP/1.1\r\nHost: x\r\nAssocpriv-Plan: {PLAN.plan_id}\r\n"
        "Content-Type: application/octet-stream\r\n"
    ).encode()
    body = record(1) + record(2)
    chunked = b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(
        b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:5], body[5:40], body[40:])
    )
    with socket.create_connection(("127.0.0.1", collector.port), timeout=20) as connection:
        answers = connection.makefile("rb")
        connection.sendall(head + chunked + b"0\r\n\r\n")
        assert read_answer(answers) == {"accepted": 2, "duplicates": 0}
        connection.sendall(head + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body))
        assert answers.readline().startswith(b"HTTP/1.1 100")
        answers.readline()
        connection.sendall(body)
        assert read_answer(answers) == {"accepted": 0, "duplicates": 2}
        several = [head + b"Content-Length: %d\r\n\r\n" % len(body) + record(n) + record(n + 1) for n in (3, 4, 5)]
        connection.sendall(b"".join(several))
        assert [read_answer(answers)["accepted"] for _ in several] == [2, 1, 1]
        connection.sendall(head + b"Content-Length: 1000\r\n\r\n" + record(9))
    time.sleep(0.2)
    assert stored(collector.folder) == [1, 2, 3, 4, 5, 6]


def read_answer(answers: BinaryIO) -> dict[str, int]:
    """Read an answer from a stream."""
    length = 0
    while (line := answers.readline().strip()) != b"":
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    found: dict[str, int] = json.loads(answers.read(length))
    return found


def test_nothing_of_a_request_but_its_records_is_kept(collector: Collector) -> None:
    """No header, address or path is in any file of the folder or in what the process says."""
    connection, mark = collector.connect(), "canary-2718281"
    headers = {"User-Agent": mark, "Cookie": mark, "X-Forwarded-For": mark, "Referer": mark, "X-Time": mark}
    post(connection, b"".join(map(record, range(600))), keep=True, **headers)
    post(connection, record(601)[:-1], keep=True, **headers)
    connection.request("GET", f"/{mark}?{mark}", headers=headers)
    answer = connection.getresponse().read()
    connection.close()
    collector.send([602])
    collector.stop()
    kept = b"".join(path.read_bytes() for path in collector.folder.rglob("*") if path.is_file())
    for where in (kept, collector.log.read_bytes(), answer):
        assert mark.encode() not in where
        assert b"127.0.0.1" not in where.replace(b"http://127.0.0.1", b"")


def test_http_client_errors_are_json(collector: Collector) -> None:
    """Whatever is wrong with a request, the answer says in JSON why, and the connection can be used again."""
    connection = collector.connect()
    wrong = [
        ({"Assocpriv-Plan": ""}, 400, "no-plan"),
        ({"Assocpriv-Plan": "0" * 64}, 409, "other-plan"),
        ({"Content-Type": "application/json"}, 415, "content-type"),
    ]
    for headers, status, reason in wrong:
        answer = post(connection, record(1), keep=True, **headers)
        assert (answer["status"], answer["error"]) == (status, reason)
    for body, status, reason in ((b"", 400, "malformed-body"), (bytes(5 << 20), 413, "too-large")):
        try:
            answer = post(collector.connect(), body)
        except (OSError, http.client.HTTPException):
            assert status == 413  # it does not read on
            continue
        assert (answer["status"], answer["error"]) == (status, reason)
    for method, path, status in (("PUT", "/reports", 405), ("GET", "/nothing", 404), ("POST", "/plan", 405)):
        connection.request(method, path)
        response = connection.getresponse()
        assert response.status == status
        assert "error" in json.loads(response.read())
    connection.close()
