"""Clients as an audit sees them: records go in, reports come out, in the same order.

Nothing here looks at how a client works. Our own are functions of a batch; :class:`Program` runs any other, in any
language. What they are asked about is made by the audit, nobody's data.

A program gets the path of the plan as its last argument. It reads a record a line, of baskets item ids with blanks
between them in increasing order, an empty line being an empty transaction, until its input ends; it writes a report a
line, in lowercase hexadecimal, in the same order, and ends with status 0. It may write at any time, also all at the
end. A first line ``plan`` and the plan's id, if there is one, must name the plan (docs/write-and-audit-a-client.md).

Its input is written to a temporary file first, and a thread reads its output: no program can make it and the audit wait
for each other. What is held in memory is a batch, or a line, at a time.
"""

import contextlib
import os
import queue
import re
import signal
import subprocess
import threading
from binascii import unhexlify
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.findings import client_at_work
from assocpriv.promise.errors import FileError, WireError

if TYPE_CHECKING:
    from assocpriv.plans.published import PublishedPlan

PATIENCE_SECONDS = 60.0  # for which a program may write nothing
_LAST_SECONDS = 2.0  # for which the thread of an ended program is waited for
_BLOCK, _BLOCKS_AHEAD = 1 << 16, 16  # of a program's output: bytes, and how many are read ahead
_LONGEST_LINE = 1 << 20
_LONGEST_KEPT = 256  # bytes of a report
_HEXADECIMAL = re.compile(rb"(?:[0-9a-f]{2})*")

BoxProgress = Callable[[int, int], None]


# ---- reports


@dataclass(frozen=True, slots=True)
class ClientReports:
    """Reports of a batch of transactions, of whatever length they came."""

    octets: NDArray[np.uint8]  # (n, width), width at least the plan's report_bytes; zeros after the end of a report
    lengths: NDArray[np.int64]  # of the reports in bytes, (n,)

    @classmethod
    def of_packed(cls, packed: NDArray[np.uint8]) -> "ClientReports":
        """Take reports that are all of one length, uint8 (n, report_bytes)."""
        return cls(packed, np.full(len(packed), packed.shape[1], dtype=np.int64))

    @classmethod
    def of_reports(cls, reports: Sequence[bytes], least_width: int) -> "ClientReports":
        """Take single reports of any lengths.

        >>> ClientReports.of_reports([b"a", b"bc"], 1).lengths
        array([1, 2])
        """
        lengths = np.array([len(report) for report in reports], dtype=np.int64)
        width = max(least_width, int(lengths.max(initial=0)))
        joined = b"".join(report.ljust(width, b"\0") for report in reports)
        return cls(np.frombuffer(joined, dtype=np.uint8).reshape(len(reports), width), lengths)

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True, slots=True)
class Batch:
    """Records to be asked about: as our clients take them, and one by one, each hashable."""

    given: Any
    records: Sequence[Any]

    def __len__(self) -> int:
        return len(self.records)


class BlackBox(Protocol):
    """A client under audit."""

    starts_anew: bool  # whether each call of reports starts the client anew, as a program of its own

    def reports(self, batches: Iterable[Batch]) -> Iterator[ClientReports]:
        """Yield one :class:`ClientReports` for each batch, in order; one client serves all of them.

        Raises:
            WireError: what came back is not a report for each record.
        """


@dataclass(frozen=True, slots=True)
class Ours:
    """A client of ours, a function of a batch that yields reports in parts."""

    starts_anew: ClassVar[bool] = False
    make: Callable[[Batch], Iterable[ClientReports]]

    def reports(self, batches: Iterable[Batch]) -> Iterator[ClientReports]:
        """Yield the reports of each batch."""
        for batch in batches:
            parts = list(self.make(batch))
            yield ClientReports(
                np.concatenate([part.octets for part in parts]), np.concatenate([part.lengths for part in parts])
            )


def answered(
    box: BlackBox, batches: Iterator[Batch], progress: BoxProgress | None = None, total: int = 0
) -> Iterator[ClientReports]:
    """Yield a client's answers, tell how many of a total there are, and check that each record has one."""
    asked: list[int] = []

    def noted() -> Iterator[Batch]:
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
            raise WireError("the client did not answer with one report for each record")
        given, done = given + 1, done + len(answers)
        yield answers
        if progress:
            progress(min(done, total), total)
    if given != len(asked) or next(batches, None) is not None:
        raise WireError("the client stopped before it had answered for all records")


# ---- other programs


class Program:
    """A client that is another program; each call of :meth:`reports` runs it once.

    Args:
        command: the program and its arguments; the plan's path is added.
        plan_path: the plan's file.
        plan: the plan in it.
        patience_seconds: how long it may write nothing before it counts as stuck.
        lines_of: what a batch is on the program's input.
    """

    starts_anew = True

    def __init__(
        self, command: Sequence[str], plan_path: str | Path, plan: "PublishedPlan", lines_of: Callable[[Batch], bytes],
        *, patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:  # fmt: skip
        self._command, self._plan, self._patience = [*command, str(plan_path)], plan, patience_seconds
        self._lines_of = lines_of

    @property
    def script(self) -> Path | None:
        """The file that node runs, if it is such a program."""
        is_node = len(self._command) > 2 and Path(self._command[0]).stem in ("node", "nodejs")
        return Path(self._command[1]) if is_node and self._command[1].endswith((".js", ".mjs")) else None

    def started_with(self, *options: str) -> "Program":
        """Return the same program, started with some options before its arguments."""
        command = [self._command[0], *options, *self._command[1:-1]]
        return Program(command, self._command[-1], self._plan, self._lines_of, patience_seconds=self._patience)

    def reports(self, batches: Iterable[Batch]) -> Iterator[ClientReports]:
        """Yield the reports of each batch.

        Raises:
            FileError: the program cannot be started.
            WireError: it wrote no report for each record, ended with another status than 0, or is stuck.
        """
        with TemporaryFile() as asked:
            sizes = []
            for batch in batches:
                sizes.append(len(batch))
                asked.write(self._lines_of(batch))
            asked.seek(0)
            try:
                process = subprocess.Popen(self._command, stdin=asked, stdout=subprocess.PIPE, start_new_session=True)
            except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
                reason = (error.strerror if isinstance(error, OSError) else None) or "the system refused"
                raise FileError(f"cannot start the program under audit, {self._command[0]}: {reason}") from None
        assert process.stdout is not None
        lines = _Lines(process.stdout, self._patience)
        try:
            yield from self._answers(sizes, lines)
            self._check_end(process)
        finally:
            _end(process)
            lines.stop()

    def _answers(self, sizes: Sequence[int], lines: "_Lines") -> Iterator[ClientReports]:
        done = 0
        if sum(sizes):
            lines.skip_plan_line(self._plan.plan_id)
        for size in sizes:
            yield _decoded(lines.take(size, done), self._plan.report_bytes, done)
            done += size
        if lines.has_more(done):
            raise WireError(f"the program wrote more than the {done:,} reports it was asked for")

    def _check_end(self, process: "subprocess.Popen[bytes]") -> None:
        try:
            status = process.wait(self._patience)
        except subprocess.TimeoutExpired:
            raise WireError("the program closed its output but did not end") from None
        if status:
            raise WireError(f"the program ended with status {status}; it must be 0")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a program that has not ended, and what it started: nobody wants the rest."""
    if process.poll() is None:
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    process.wait()


class _Lines:
    """Lines that a program writes, read ahead a little by a thread of its own."""

    def __init__(self, stream: IO[bytes], patience_seconds: float) -> None:
        self._stream, self._patience = stream, patience_seconds
        self._blocks: queue.Queue[bytes] = queue.Queue(_BLOCKS_AHEAD)
        self._waiting = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._stream:
            while block := self._stream.read1(_BLOCK):  # type: ignore[attr-defined]  # a pipe's buffered reader
                self._blocks.put(block)
        self._blocks.put(b"")

    def _reads(self, before: int) -> bool:
        """Wait for more output after so many reports; tell whether there is any before its end."""
        try:
            block = self._blocks.get(timeout=self._patience)
        except queue.Empty:
            raise WireError(
                f"the program wrote nothing for {self._patience:g} seconds after {before:,} reports; is it stuck?"
            ) from None
        if not block:
            self._blocks.put(b"")  # for whoever asks again
        self._waiting += block
        return bool(block)

    def take(self, count: int, before: int) -> list[bytes]:
        """Return the next lines, without their ends; ``before`` were read."""
        lines: list[bytes] = []
        while len(lines) < count:
            parts = self._waiting.split(b"\n", count - len(lines))
            lines += parts[:-1]
            self._waiting, done = parts[-1], before + len(lines)
            if len(lines) == count:
                break
            if len(self._waiting) > _LONGEST_LINE:
                raise WireError(f"line {done + 1:,} of the program is longer than any report")
            if not self._reads(done):
                raise WireError(f"the program's output ended after {done:,} lines; it owes one for each record")
        return [line.removesuffix(b"\r") for line in lines]

    def skip_plan_line(self, plan_id: str) -> None:
        """Check a first line that names the plan, if there is one, and take it away."""
        while b"\n" not in self._waiting and len(self._waiting) < _LONGEST_LINE:
            if not self._reads(0):
                return
        line, _, rest = self._waiting.partition(b"\n")
        if line.startswith(b"plan "):
            if line.removeprefix(b"plan ").strip() != plan_id.encode("ascii"):
                raise WireError("the program says that it uses another plan")
            self._waiting = rest

    def has_more(self, before: int) -> bool:
        """Tell whether there is more output after so many lines, once it has ended or goes on."""
        return bool(self._waiting) or self._reads(before)

    def stop(self) -> None:
        """End the thread, whose program has been ended."""
        last = monotonic() + _LAST_SECONDS  # what the program started may hold its output open
        while self._reader.is_alive() and monotonic() < last:
            with contextlib.suppress(queue.Empty):
                self._blocks.get(timeout=0.01)


def _decoded(lines: list[bytes], least_width: int, before: int) -> ClientReports:
    # beyond this a length tells no more, and each line is padded to the longest one
    longest = 2 * max(least_width + 1, _LONGEST_KEPT)
    reports = []
    for number, line in enumerate(lines, start=before + 1):
        if not _HEXADECIMAL.fullmatch(line, 0, longest - len(line) % 2):
            raise WireError(f"line {number:,} of the program is no report in lowercase hexadecimal, two digits a byte")
        reports.append(unhexlify(line[:longest]))
    return ClientReports.of_reports(reports, least_width)


def packed_reports(answers: ClientReports, plan: "PublishedPlan") -> NDArray[np.uint8]:
    """Return answers as packed reports; a WireError if they are none."""
    if (answers.lengths != plan.report_bytes).any():
        raise WireError("some answers have another length than the plan's reports")
    packed = np.ascontiguousarray(answers.octets[:, : plan.report_bytes])
    plan.check_form(packed, "of the client, ")
    return packed
