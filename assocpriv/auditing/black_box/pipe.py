"""Clients that are other programs, in any language: transactions to their standard input, reports from their output.

The program gets the path of the plan as its last argument. It reads a transaction a line, item ids with blanks between
them in increasing order, an empty line being an empty transaction, until its input ends; it writes a report a line, in
lowercase hexadecimal, in the same order, and ends with status 0. It may write at any time, also all at the end. A first
line ``plan`` and the plan's id, if there is one, must name the plan (docs/formats/pipe.md).

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
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic
from typing import IO, Any

from assocpriv.auditing.black_box.clients import Answers
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.errors import FileError, WireError
from assocpriv.records.baskets import Baskets

PATIENCE_SECONDS = 60.0
_LAST_SECONDS = 2.0
_BLOCK = 1 << 16
_BLOCKS_AHEAD = 16
_LONGEST_LINE = 1 << 20
_LONGEST_KEPT = 256  # bytes of a report
_HEXADECIMAL = re.compile(rb"(?:[0-9a-f]{2})*")


class Program:
    """A client that is another program; each call of :meth:`reports` runs it once.

    Args:
        command: the program and its arguments; the plan's path is added.
        plan_path: the plan's file.
        plan: the plan in it.
        patience_seconds: how long it may write nothing before it counts as stuck.
        lines_of: what a batch is on the program's input; by default of baskets.
    """

    starts_anew = True

    def __init__(
        self,
        command: Sequence[str],
        plan_path: str | Path,
        plan: PublishedPlan,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        lines_of: Callable[[Any], bytes] | None = None,
    ) -> None:
        self._command, self._plan, self._patience = [*command, str(plan_path)], plan, patience_seconds
        self._lines_of = lines_of or _lines_of

    def reports(self, batches: Iterable[Any]) -> Iterator[Answers]:
        """Yield the reports of each batch.

        Raises:
            FileError: the program cannot be started.
            WireError: it wrote no report for each transaction, ended with another status than 0, or is stuck.
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

    def _answers(self, sizes: Sequence[int], lines: "_Lines") -> Iterator[Answers]:
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
                raise WireError(
                    f"the program's output ended after {done:,} lines; it owes one for each transaction or record"
                )
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


def _lines_of(batch: Baskets) -> bytes:
    flat, offsets = batch.items.tolist(), batch.offsets.tolist()
    lines = (" ".join(map(str, flat[start:stop])) for start, stop in pairwise(offsets))
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _decoded(lines: list[bytes], least_width: int, before: int) -> Answers:
    # beyond this a length tells no more, and each line is padded to the longest one
    longest = 2 * max(least_width + 1, _LONGEST_KEPT)
    reports = []
    for number, line in enumerate(lines, start=before + 1):
        if not _HEXADECIMAL.fullmatch(line, 0, longest - len(line) % 2):
            raise WireError(f"line {number:,} of the program is no report in lowercase hexadecimal, two digits a byte")
        reports.append(unhexlify(line[:longest]))
    return Answers.of_reports(reports, least_width)
