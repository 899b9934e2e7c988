"""Clients that are other programs, in any language: transactions to their standard input, reports from their output.

The program gets the path of the plan as its last argument. It reads a transaction a line, item ids with blanks between
them in increasing order, an empty line being an empty transaction, until its input ends; it writes a report a line, in
lowercase hexadecimal, in the same order, and ends with status 0. It may write at any time, also all at the end. A first
line ``plan`` and the plan's id, if there is one, must name the plan (docs/formats.md).

One thread writes, one reads, and a third takes what was read: no program can make them wait for each other. What is
held is a batch, or a line, at a time.
"""

import contextlib
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from time import monotonic
from typing import IO

import numpy as np
from numpy.typing import NDArray

from assocpriv.audit.black_box.clients import Answers
from assocpriv.core.errors import FileError, WireError
from assocpriv.plans.baskets.plan import Plan
from assocpriv.records.baskets import Baskets

PATIENCE_SECONDS = 60.0
_LAST_SECONDS = 2.0
_BLOCK = 1 << 16
_BLOCKS_AHEAD = 16
_LONGEST_LINE = 1 << 20
_NO_DIGIT = 255
_LONGEST_KEPT = 256  # bytes of a report
_DIGITS = np.full(256, _NO_DIGIT, dtype=np.uint8)
_DIGITS[np.frombuffer(b"0123456789abcdef", dtype=np.uint8)] = np.arange(16)


class Program:
    """A client that is another program; each call of :meth:`reports` runs it once.

    Args:
        command: the program and its arguments; the plan's path is added.
        plan_path: the plan's file.
        plan: the plan in it.
        patience_seconds: how long it may write nothing before it counts as stuck.
    """

    starts_anew = True

    def __init__(
        self, command: Sequence[str], plan_path: str | Path, plan: Plan, *, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self._command, self._plan, self._patience = [*command, str(plan_path)], plan, patience_seconds

    def reports(self, batches: Iterable[Baskets]) -> Iterator[Answers]:
        """Yield the reports of each batch.

        Raises:
            FileError: the program cannot be started.
            WireError: it wrote no report for each transaction, ended with another status than 0, or is stuck.
        """
        try:
            process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
            told = (error.strerror if isinstance(error, OSError) else None) or "the system refused"
            raise FileError(f"cannot start the program under audit, {self._command[0]}: {told}") from None
        assert process.stdin is not None
        assert process.stdout is not None
        writer, lines = _Writer(process.stdin, batches), _Lines(process.stdout, self._patience)
        try:
            yield from self._answers(writer, lines)
            self._check_end(process)
        finally:
            _end(process)
            lines.stop()
            writer.join(_LAST_SECONDS)

    def _answers(self, writer: "_Writer", lines: "_Lines") -> Iterator[Answers]:
        done, first = 0, True
        for size in writer.sizes():
            if first and size:
                lines.skip_plan_line(self._plan.plan_id)
                first = False
            yield _decoded(lines.take(size, done), self._plan.report_bytes, done)
            done += size
        if lines.rest():
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


class _Writer(threading.Thread):
    """Writes batches to a program, which may take them or not."""

    def __init__(self, stream: IO[bytes], batches: Iterable[Baskets]) -> None:
        super().__init__(daemon=True)
        self._stream, self._batches = stream, batches
        self._sizes: queue.SimpleQueue[int | BaseException | None] = queue.SimpleQueue()  # numbers only: any many
        self.start()

    def run(self) -> None:
        failure: BaseException | None = None
        try:
            # a program that has ended, or will not read on, is for the reader to judge
            with contextlib.suppress(OSError), self._stream:
                for batch in self._batches:
                    self._sizes.put(len(batch))
                    self._stream.write(_lines_of(batch))
        except BaseException as error:  # noqa: BLE001 -- raised again by whoever reads
            failure = error
        self._sizes.put(failure)

    def sizes(self) -> Iterator[int]:
        """Yield the sizes of the batches written or begun, and raise what the batches raised."""
        while (size := self._sizes.get()) is not None:
            if isinstance(size, BaseException):
                raise size
            yield size


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

    def _more(self, read: int) -> bytes:
        try:
            return self._blocks.get(timeout=self._patience)
        except queue.Empty:
            raise WireError(
                f"the program wrote nothing for {self._patience:g} seconds after {read:,} reports; is it stuck?"
            ) from None

    def take(self, count: int, before: int) -> list[bytes]:
        """Return the next lines, without their ends; ``before`` were read."""
        lines: list[bytes] = []
        while len(lines) < count:
            parts = self._waiting.split(b"\n", count - len(lines))
            lines += parts[:-1]
            self._waiting = parts[-1]
            if len(lines) == count:
                break
            if len(self._waiting) > _LONGEST_LINE:
                raise WireError(f"line {before + len(lines) + 1:,} of the program is longer than any report")
            block = self._more(before + len(lines))
            if not block:
                self._blocks.put(b"")
                raise WireError(
                    f"the program's output ended after {before + len(lines):,} lines; it owes one for each transaction"
                )
            self._waiting += block
        return [line.removesuffix(b"\r") for line in lines]

    def skip_plan_line(self, plan_id: str) -> None:
        """Check a first line that names the plan, if there is one, and take it away."""
        while b"\n" not in self._waiting and len(self._waiting) < _LONGEST_LINE:
            block = self._more(0)
            if not block:
                self._blocks.put(b"")
                return
            self._waiting += block
        line, _, rest = self._waiting.partition(b"\n")
        if line.startswith(b"plan "):
            if line.removeprefix(b"plan ").strip() != plan_id.encode("ascii"):
                raise WireError("the program says that it uses another plan")
            self._waiting = rest

    def rest(self) -> bool:
        """Wait for the end of the output; tell whether there is more before it."""
        return bool(self._waiting or self._more(0))

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
    """Return the reports that lines of hexadecimal digits are."""
    # beyond this a length tells no more, and each line is padded to the longest one
    longest = 2 * max(least_width + 1, _LONGEST_KEPT)
    lines = [line[: longest - len(line) % 2] for line in lines]
    lengths = np.array([len(line) for line in lines], dtype=np.int64)
    width = 2 * max(least_width, -(-int(lengths.max(initial=0)) // 2))
    joined = b"".join(line.ljust(width, b"0") for line in lines)
    digits: NDArray[np.uint8] = _DIGITS[np.frombuffer(joined, dtype=np.uint8).reshape(len(lines), width)]
    wrong = np.flatnonzero((digits == _NO_DIGIT).any(axis=1) | (lengths % 2 == 1))
    if len(wrong):
        raise WireError(
            f"line {before + int(wrong[0]) + 1:,} of the program is no report in lowercase hexadecimal, "
            "two digits a byte"
        )
    octets: NDArray[np.uint8] = np.bitwise_or(digits[:, ::2] << 4, digits[:, 1::2], dtype=np.uint8)
    return Answers(octets, lengths // 2)
