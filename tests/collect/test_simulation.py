"""Run random operations on a real collector, and compare it with a model after each.

An operation is a name and two numbers that choose among the possibilities, so any part of a list of operations is a
list of operations: a failing one can be shortened by omitting some. No clock affects what a collector counts; the
operation ``clock`` changes the only times that it could use after a restart, those of its files.
"""

import os
import random
import resource
import signal
import socket
import tempfile
import time
import traceback
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest
from running_collector import MEMORY, Collector, Forks, records, stored, stored_at_rest

import assocpriv as ap

Operation = tuple[str, int, int]
_WEIGHTS = {
    "upload": 6, "replay": 3, "split": 2, "twice": 1, "other_bytes": 2, "together": 2, "lost": 3, "cut_off": 1,
    "clock": 1, "rotate": 2, "close": 2, "crash": 2, "crash_under_load": 2, "stop": 1,
    "stop_under_load": 1, "full": 2, "space": 3,
}  # fmt: skip
_BATCH = 12  # reports
_LIMITS = (0, 4096, 13_000, 20_000, 33_000, 45_000, 70_000)  # bytes a file may have when the disk is full
Item = tuple[int, int]  # a report: the number of its id, and its variant among the reports with this id


def draw(seed: int, length: int) -> list[Operation]:
    """Return operations."""
    source = random.Random(seed)
    names = source.choices(list(_WEIGHTS), list(_WEIGHTS.values()), k=length)
    return [(name, source.randrange(1 << 16), source.randrange(1 << 16)) for name in names]


def body_of(items: Iterable[Item]) -> bytes:
    """Return the records of reports."""
    return b"".join(records([number], variant) for number, variant in items)


class Simulation:
    """A collector, and a model of its content."""

    def __init__(self, forks: Forks, home: Path) -> None:
        self.collector = Collector(forks, home, batch=_BATCH)
        self.there = dict[int, set[int]]()  # acknowledged: id -> variants, one of which was stored
        self.maybe = dict[int, set[int]]()  # sent without an answer
        self.whole = list[set[int]]()  # ids of one unanswered request: all are stored, or none
        self.sent = list[list[Item]]()  # items of each request
        self.next = 0

    def run(self, operations: list[Operation]) -> None:
        """Do operations, and check after each; at the end restart with free space, and check again."""
        for operation in operations:
            self.do(operation)
            self.check()
        self._space(0, 0)
        self._stop(0, 0)
        assert self._up(), self.collector.stderr
        self.check()

    def do(self, operation: Operation) -> None:
        """Do an operation; most need a running collector, and do nothing if it cannot start on a full disk."""
        name, first, second = operation
        if name in {"clock", "full", "space", "stop"} or self._up():
            getattr(self, f"_{name}")(first, second)

    # ---- the model

    def _up(self) -> bool:
        if self.collector.pid or self.collector.start():
            return True
        assert self.collector.file_limit != resource.RLIM_INFINITY, self.collector.stderr
        assert self.collector.status == 1
        assert self.collector.stderr.startswith("Error: ") and self.collector.stderr.count("\n") == 1  # noqa: PT018
        assert "damaged" not in self.collector.stderr
        return False

    def _fresh(self, count: int) -> list[Item]:
        self.next += count
        return [(number, 0) for number in range(self.next - count, self.next)]

    def _known(self, first: int) -> list[Item]:
        """Return the items of an earlier request."""
        return list(self.sent[first % len(self.sent)]) if self.sent else self._fresh(1)

    def _post(self, items: list[Item]) -> None:
        self.sent.append(items)
        self._answered(items, *self.collector.send(body_of(items)))

    def _answered(self, items: list[Item], status: int, content: dict[str, int]) -> None:
        """Update the model by an answer: all of a request is stored, or nothing of it."""
        if status != 200:
            assert (status, content["error"]) == (503, "full")  # type: ignore[comparison-overlap]
            assert self.collector.file_limit != resource.RLIM_INFINITY
            return
        firsts = dict(reversed(items))  # of a repeated id its first report
        new = len(firsts.keys() - self.there.keys() - self.maybe.keys())
        pending = firsts.keys() & self.maybe.keys()
        assert content["accepted"] + content["duplicates"] == len(items)
        assert new <= content["accepted"] <= new + len(pending)
        for number, variant in firsts.items():
            if number in pending:
                before = self.maybe.pop(number)
                known = {new: before, new + len(pending): {variant}}
                self.there[number] = known.get(content["accepted"], before | {variant})
            else:
                self.there.setdefault(number, {variant})

    def _unanswered(self, items: list[Item]) -> None:
        ids = {number for number, _ in items} - self.there.keys()
        self.whole = [each for each in self.whole if each <= ids or not each & ids]
        if not ids & self.maybe.keys():
            self.whole.append(ids)
        for number, variant in dict(reversed(items)).items():
            if number not in self.there:
                self.maybe.setdefault(number, set()).add(variant)

    def check(self) -> None:
        """Compare the stored reports, read in three ways, with the model."""
        collector = self.collector
        if not collector.pid:
            self._compare(stored_at_rest(collector.data) if (collector.data / "plan.json").exists() else [])
            return
        for _ in range(400):  # an unanswered request may still be in progress
            count, found, ours = collector.reports(), stored(collector.data), len(ap.read_reports(collector.data))
            if collector.reports() == count == len(found) == ours:
                break
            time.sleep(0.005)
        else:
            raise AssertionError(f"/status has {count} reports, the files {len(found)}, assocpriv reads {ours}")
        self._compare(found)
        lines = collector.unexpected_log().splitlines(True)
        logged = "".join(line for line in lines if "the clock shows" not in line)  # said after the operation clock
        assert not logged or collector.file_limit != resource.RLIM_INFINITY or "cannot" in logged, logged
        assert "Traceback" not in logged, logged

    def _compare(self, found: list[Item]) -> None:
        once = dict(found)
        twice = [each for each in found if once[each[0]] != each[1] or found.count(each) > 1]
        assert not twice, f"twice: {twice}"
        lost = sorted(number for number, variants in self.there.items() if once.get(number) not in variants)
        assert not lost, f"acknowledged and not stored: {lost}"
        whole = [ids - self.there.keys() for ids in self.whole]
        parts = [each for each in whole if 0 < len(each & once.keys()) < len(each)]
        assert not parts, f"partly stored: {parts}"
        may = self.there | self.maybe
        extra = [each for each in found if each[1] not in may.get(each[0], ())]
        assert not extra, f"stored, though never sent or refused: {extra}"

    # ---- operations

    def _upload(self, first: int, _: int) -> None:
        self._post(self._fresh(1 + first % 6))

    def _replay(self, first: int, _: int) -> None:
        self._post(self._known(first))

    def _split(self, first: int, second: int) -> None:
        items = self._known(first)
        at = second % (len(items) + 1)
        self._post(items[:at] + self._fresh(1))
        self._post(self._fresh(1) + items[at:])

    def _twice(self, first: int, second: int) -> None:
        items = self._fresh(2) if second % 2 else self._known(first)
        self._post(items + [(number, 3) for number, _ in items])

    def _other_bytes(self, first: int, second: int) -> None:
        self._post([(number, 1 + second % 2) for number, _ in self._known(first)])

    def _together(self, first: int, second: int) -> None:
        """Send one request over three connections at once: at most one answer counts its reports as new."""
        items = self._fresh(3) if second % 2 else self._known(first)
        self.sent.append(items)
        with ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(self.collector.send, [body_of(items)] * 3))
        good = sorted((each for each in answers if each[0] == 200), key=lambda each: -each[1]["accepted"])
        assert not any(content["accepted"] for _, content in good[1:])
        for answer in good + [each for each in answers if each[0] != 200]:
            self._answered(items, *answer)

    def _lost(self, first: int, second: int) -> None:
        """Send a request and disconnect before the answer."""
        items = self._known(first) if second % 3 == 0 else self._fresh(1 + second % 5)
        self.sent.append(items)
        with closing(self.collector.raw()) as connection:
            body = body_of(items)
            connection.sendall(self.collector.head(len(body)) + body)
        self._unanswered(items)

    def _cut_off(self, first: int, second: int) -> None:
        """Send a part of a request, also whole records of it: nothing of it may be stored."""
        items = self._fresh(1 + first % 4)
        body = body_of(items)
        with closing(self.collector.raw()) as connection:
            connection.sendall(self.collector.head(len(body)) + body[: second % len(body)])

    def _clock(self, first: int, second: int) -> None:
        """Set random file times, as after a jump of the clock."""
        moved = random.Random(f"{first} {second}")
        for path in self.collector.data.rglob("*"):
            with suppress(FileNotFoundError):  # closed meanwhile
                os.utime(path, (moved.randrange(1 << 32), moved.randrange(1 << 32)))

    def _rotate(self, _: int, __: int) -> None:
        self._post(self._fresh(_BATCH))
        self._post(self._fresh(1))

    def _close(self, _: int, __: int) -> None:
        status = self.collector.close_batches()
        assert status == 200 or self.collector.file_limit != resource.RLIM_INFINITY

    def _stop(self, _: int, __: int) -> None:
        if self.collector.pid:
            assert self.collector.end(signal.SIGTERM) == 0

    def _crash(self, _: int, __: int) -> None:
        self.collector.end(signal.SIGKILL)

    def _crash_under_load(self, first: int, second: int) -> None:
        self._end_under_load(signal.SIGKILL, first, second)

    def _stop_under_load(self, first: int, second: int) -> None:
        assert self._end_under_load(signal.SIGTERM, first, second) == 0

    def _end_under_load(self, sent: signal.Signals, first: int, second: int) -> int:
        """End it during requests; answered ones must be stored, others may be."""
        batches = [self._fresh(1 + first % 5) for _ in range(4)] + [self._fresh(_BATCH)]
        connections = [self.collector.raw() for _ in batches]
        for items, connection in zip(batches, connections, strict=True):
            body = body_of(items)
            connection.sendall(self.collector.head(len(body)) + body)
        time.sleep(second % 16 / 1000)
        status = self.collector.end(sent)
        for items, connection in zip(batches, connections, strict=True):
            self.sent.append(items)
            answer = _rest_of(connection)
            if answer.startswith(b"HTTP/1.1 200"):
                self._answered(items, 200, {"accepted": len(items), "duplicates": 0})
            elif not answer.startswith(b"HTTP/1.1 503"):
                self._unanswered(items)
        return status

    def _full(self, first: int, _: int) -> None:
        self.collector.limit_files(_LIMITS[first % len(_LIMITS)])

    def _space(self, _: int, __: int) -> None:
        self.collector.limit_files(resource.RLIM_INFINITY)


def _rest_of(connection: socket.socket) -> bytes:
    """Return the unread data of a connection, and close it."""
    parts = list[bytes]()
    with connection, suppress(ConnectionError):
        while part := connection.recv(4096):
            parts.append(part)
    return b"".join(parts)


def failure(forks: Forks, operations: list[Operation]) -> str:
    """Run operations on a new folder; return the failure, empty if there is none."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as home:
        simulation = Simulation(forks, Path(home))
        with simulation.collector:
            try:
                simulation.run(operations)
            except AssertionError as error:
                return f"{error}\n{''.join(traceback.format_tb(error.__traceback__)[-2:])}"
    return ""


def assert_holds(forks: Forks, seed: int, length: int) -> None:
    """Fail, and show the operations, if those of a seed fail."""
    operations = draw(seed, length)
    found = failure(forks, operations)
    assert not found, f"seed {seed}: {found}\noperations: {operations}"


# ---- tests

CHOSEN: dict[str, list[Operation]] = {
    "a full disk at the start was reported as damage": [
        ("upload", 0, 0), ("crash", 0, 0), ("full", 0, 0), ("upload", 0, 0), ("space", 0, 0), ("replay", 0, 0),
    ],
    "a pending batch on a full disk was reported as damage": [
        ("rotate", 0, 0), ("full", 3, 0), ("together", 0, 0), ("crash", 0, 0), ("full", 0, 0), ("rotate", 0, 0),
    ],
    "the disk fills up while it runs": [("upload", 0, 0), ("full", 0, 0), ("upload", 0, 0), ("upload", 0, 0)],
    "killed and stopped under load": [
        (f"{end}_under_load", number, 5 * number) for number in range(4) for end in ("crash", "stop")
    ],
    "a stop signal right after the start killed it": [],
}  # fmt: skip


@pytest.mark.parametrize("found", CHOSEN)
def test_chosen_operations(forks: Forks, found: str) -> None:
    """Operations that found faults pass."""
    assert not failure(forks, CHOSEN[found])


@pytest.mark.parametrize(("seeds", "length"), [(1, 25), pytest.param(100, 60, marks=pytest.mark.slow)])
def test_each_report_counts_once_after_random_operations(
    forks: Forks, seeds: int, length: int, request: pytest.FixtureRequest
) -> None:
    """After each operation acknowledged reports are stored once, other sent ones at most once, and none else."""
    first = request.config.getoption("--soak-seed")
    for seed in range(first, first + seeds):
        assert_holds(forks, seed, length)
