"""What the audit tests: a plan type's subject, and clients as black boxes.

The driver (audit.py), the replay (replay.py) and the distribution tests (report_distributions.py) are the same for all
plan types. A plan type is one subclass of :class:`Subject`, named ``subject`` in plan_types/. It supplies the
recomputed guarantee, test records, recomputed reports and output distributions.

Records go into a client, reports come out in the same order. Our own clients are functions of a batch; :class:`Program`
runs any other client, in any language. The audit generates all records; no real data are used.

A program gets the path of the plan as its last argument. It reads one record per line until its input ends: for
baskets, increasing item ids separated by blanks; an empty line is an empty transaction. It writes one report per line,
in lowercase hexadecimal and in the same order, and ends with status 0. It may write at any time, also all at the end.
An optional first line ``plan`` with the plan's id must name the plan (docs/write-and-audit-a-client.md).

The audit first writes the input to a temporary file, and a thread reads the output, so that program and audit cannot
deadlock. Memory holds one batch, or one line, at a time.
"""

import contextlib
import os
import queue
import re
import signal
import subprocess
import threading
from abc import ABC, abstractmethod
from binascii import unhexlify
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.findings import Finding, catch_client_errors
from assocpriv.auditing.recompute_reports import Draws
from assocpriv.guarantees.errors import FileError, WireError

if TYPE_CHECKING:
    from assocpriv.plans.published_plan import PublishedPlan

PATIENCE_SECONDS = 60.0  # the longest time in which a program may write nothing
_LAST_SECONDS = 2.0  # the longest wait for the thread of an ended program
_BLOCK, _BLOCKS_AHEAD = 1 << 16, 16  # bytes of a program's output per block, and blocks read ahead
_LONGEST_LINE = 1 << 20
_LONGEST_KEPT = 256  # bytes of a report
_HEXADECIMAL = re.compile(rb"(?:[0-9a-f]{2})*")

BoxProgress = Callable[[int, int], None]


# ---- reports


@dataclass(frozen=True, slots=True)
class ClientReports:
    """Reports of a batch of records, of any lengths."""

    octets: NDArray[np.uint8]  # (n, width), width at least the plan's report_bytes; zeros after the end of a report
    lengths: NDArray[np.int64]  # of the reports in bytes, (n,)

    @classmethod
    def from_packed(cls, packed: NDArray[np.uint8]) -> "ClientReports":
        """Return reports of one length, uint8 (n, report_bytes)."""
        return cls(packed, np.full(len(packed), packed.shape[1], dtype=np.int64))

    @classmethod
    def from_reports(cls, reports: Sequence[bytes], min_width: int) -> "ClientReports":
        """Return single reports of any lengths.

        >>> ClientReports.from_reports([b"a", b"bc"], 1).lengths
        array([1, 2])
        """
        lengths = np.array([len(report) for report in reports], dtype=np.int64)
        width = max(min_width, int(lengths.max(initial=0)))
        joined = b"".join(report.ljust(width, b"\0") for report in reports)
        return cls(np.frombuffer(joined, dtype=np.uint8).reshape(len(reports), width), lengths)

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Test records: as our clients take them, and one by one, each hashable."""

    given: Any
    records: Sequence[Any]

    def __len__(self) -> int:
        return len(self.records)


class BlackBox(Protocol):
    """A client under audit."""

    restarts_each_call: bool  # whether each call of ``reports`` starts a new process

    def reports(self, batches: Iterable[RecordBatch]) -> Iterator[ClientReports]:
        """Yield one :class:`ClientReports` for each batch, in order, all from one run of the client.

        Raises:
            WireError: the output is not one report for each record.
        """


@dataclass(frozen=True, slots=True)
class OwnClient:
    """One of our clients, a function of a batch that yields reports in parts."""

    restarts_each_call: ClassVar[bool] = False
    make: Callable[[RecordBatch], Iterable[ClientReports]]

    def reports(self, batches: Iterable[RecordBatch]) -> Iterator[ClientReports]:
        """Yield the reports of each batch."""
        for batch in batches:
            parts = list(self.make(batch))
            yield ClientReports(
                np.concatenate([part.octets for part in parts]), np.concatenate([part.lengths for part in parts])
            )


def collect_reports(
    box: BlackBox, batches: Iterator[RecordBatch], progress: BoxProgress | None = None, total: int = 0
) -> Iterator[ClientReports]:
    """Yield a client's reports, show the progress, and check that each record has one report."""
    sizes: list[int] = []

    def with_sizes() -> Iterator[RecordBatch]:
        for batch in batches:
            sizes.append(len(batch))
            yield batch

    stream, given, done = box.reports(with_sizes()), 0, 0
    while True:
        with catch_client_errors():
            reports = next(stream, None)
        if reports is None:
            break
        if given >= len(sizes) or len(reports) != sizes[given]:
            raise WireError("the client did not return one report for each record")
        given, done = given + 1, done + len(reports)
        yield reports
        if progress:
            progress(min(done, total), total)
    if given != len(sizes) or next(batches, None) is not None:
        raise WireError("the client stopped before it had returned all reports")


# ---- the subject of a plan type


@dataclass(frozen=True, slots=True)
class Observation:
    """Features that reports of one record show, with their expected probabilities.

    ``shown`` says which report shows which feature, uint8 (n, features). ``probabilities`` of the features are float64
    (features,). ``joint`` has the probability of each pair, float64 (features, features), NaN where it is not known.
    """

    name: str
    shown: NDArray[np.uint8]
    probabilities: NDArray[np.float64]
    joint: NDArray[np.float64] | None = None


class Subject(ABC):
    """A plan under audit, with its numbers read from the text. A check that it omits is reported as not made."""

    repetitions = 64  # reports of each of many records: an item that is never or always shown is found

    def __init__(self, plan: Any, text: str, rng: np.random.Generator) -> None:
        self.plan, self.text, self.rng = plan, text, rng

    @staticmethod
    @abstractmethod
    def check_guarantee(plan: "PublishedPlan | None", text: str) -> Sequence[Finding]:
        """Recompute the guarantee from the text alone; the plan is None where the package refuses the text."""

    @property
    def clients(self) -> Mapping[str, OwnClient]:
        """Our clients, ``bulk`` and ``single``, or one of them."""

        def bulk(batch: RecordBatch) -> Iterable[ClientReports]:
            return map(ClientReports.from_packed, self.randomize_bulk(batch.given))

        def single(batch: RecordBatch) -> Iterable[ClientReports]:
            made = [self.randomize_one(record) for record in batch.records]
            return [ClientReports.from_reports(made, self.plan.report_bytes)]

        return {"bulk": OwnClient(bulk), "single": OwnClient(single)}

    @abstractmethod
    def randomize_bulk(self, given: Any) -> Iterable[NDArray[np.uint8]]:
        """Yield packed reports of a batch's records by our client for many records."""

    @abstractmethod
    def randomize_one(self, record: Any) -> bytes:
        """Return the report of our client for one record."""

    @abstractmethod
    def batch(self, records: Sequence[Any]) -> RecordBatch:
        """Return records as our clients take them. Those of one call answer one guidance, if the plan has any."""

    @abstractmethod
    def program_input(self, batch: RecordBatch) -> bytes:
        """Return records as a program reads them."""

    @abstractmethod
    def device_record(self, record: Any) -> Any:
        """Return a record as a device's ledger takes it."""

    # ---- replay of random words

    @abstractmethod
    def sample_records(self, count: int) -> list[list[Any]]:
        """Return lists of records, ``count`` in all or a few more, as different as possible."""

    @abstractmethod
    def recompute_report(self, record: Any, words: Draws) -> bytes:
        """Return the report that random words give for a record, computed by docs/formats alone."""

    def edge_words(self) -> list[int]:
        """Return words at the boundaries between outcomes (:func:`assocpriv.auditing.recompute_reports.words_at`)."""
        return []

    def recompute_batch(self, records: Sequence[Any], words: Draws) -> Iterator[tuple[int, bytes]]:
        """Yield the place and the report of each record of a part made in bulk, in the order of the words."""
        return ((place, self.recompute_report(record, words)) for place, record in enumerate(records))

    # ---- output distributions

    @property
    def gamma(self) -> Fraction | None:
        """γ between the worst-case records of one list; None where no γ covers all that they differ in."""
        return None if self.plan.uncovered else self.plan.amplification

    @abstractmethod
    def worst_case_records(self) -> list[list[Any]]:
        """Return lists of the few records that are hardest to hide; the audit asks for many reports of each."""

    @abstractmethod
    def observations(self, packed: NDArray[np.uint8], record: Any) -> Iterator[Observation]:
        """Yield the features that reports of one record show."""

    def probability_all_equal(self, record: Any, power: int) -> Fraction | None:  # noqa: ARG002
        """Return the probability that ``power`` reports of a record are all equal; None if it is not known."""
        return None

    def items_kept(self, packed: NDArray[np.uint8], record: Any) -> NDArray[np.int64]:  # noqa: ARG002
        """Return how many items of a record reports show, of whatever record they are, int64 (n,), below 16."""
        return np.zeros(len(packed), dtype=np.int64)

    def fair_bits(self, packed: NDArray[np.uint8], record: Any) -> NDArray[np.uint8]:  # noqa: ARG002
        """Return bits of reports of one record that are 1 with probability 1/2, uint8 (n, ≤ 16)."""
        return np.zeros((len(packed), 0), dtype=np.uint8)


# ---- other programs


class Program:
    """A client that is another program; each call of :meth:`reports` runs it once.

    Args:
        command: The program and its arguments; the plan's path is added.
        plan_path: The plan's file.
        plan: The plan in it.
        encode_batch: Returns the program's input for a batch.
        patience_seconds: The longest time without output before the program counts as stuck.
    """

    restarts_each_call = True

    def __init__(
        self, command: Sequence[str], plan_path: str | Path, plan: "PublishedPlan",
        encode_batch: Callable[[RecordBatch], bytes], *, patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:  # fmt: skip
        self._command, self._plan, self._patience = [*command, str(plan_path)], plan, patience_seconds
        self._encode_batch = encode_batch

    @property
    def script(self) -> Path | None:
        """The script, if the program is node with a script."""
        is_node = len(self._command) > 2 and Path(self._command[0]).stem in ("node", "nodejs")
        return Path(self._command[1]) if is_node and self._command[1].endswith((".js", ".mjs")) else None

    def with_options(self, *options: str) -> "Program":
        """Return the same program with further options before its arguments."""
        command = [self._command[0], *options, *self._command[1:-1]]
        return Program(command, self._command[-1], self._plan, self._encode_batch, patience_seconds=self._patience)

    def reports(self, batches: Iterable[RecordBatch]) -> Iterator[ClientReports]:
        """Yield the reports of each batch.

        Raises:
            FileError: the program cannot be started.
            WireError: it did not write one report for each record, ended with a status other than 0, or is stuck.
        """
        with TemporaryFile() as given:
            sizes = []
            for batch in batches:
                sizes.append(len(batch))
                given.write(self._encode_batch(batch))
            given.seek(0)
            try:
                process = subprocess.Popen(self._command, stdin=given, stdout=subprocess.PIPE, start_new_session=True)
            except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
                reason = (error.strerror if isinstance(error, OSError) else None) or "the system refused"
                raise FileError(f"cannot start the program under audit, {self._command[0]}: {reason}") from None
        assert process.stdout is not None
        lines = _Lines(process.stdout, self._patience)
        try:
            yield from self._read_reports(sizes, lines)
            self._check_end(process)
        finally:
            _end(process)
            lines.stop()

    def _read_reports(self, sizes: Sequence[int], lines: "_Lines") -> Iterator[ClientReports]:
        done = 0
        if sum(sizes):
            lines.skip_plan_line(self._plan.plan_id)
        for size in sizes:
            yield _decode(lines.take(size, done), self._plan.report_bytes, done)
            done += size
        if lines.has_more(done):
            raise WireError(f"the program wrote more than the {done:,} reports of its input")

    def _check_end(self, process: "subprocess.Popen[bytes]") -> None:
        try:
            status = process.wait(self._patience)
        except subprocess.TimeoutExpired:
            raise WireError("the program closed its output but did not end") from None
        if status:
            raise WireError(f"the program ended with status {status}; it must be 0")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a running program and the processes that it started; the rest of its output is not needed."""
    if process.poll() is None:
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    process.wait()


class _Lines:
    """Lines that a program writes, read ahead by a separate thread."""

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

    def _read_more(self, before: int) -> bool:
        """Wait for more output, ``before`` reports were read; return whether there is any before its end."""
        try:
            block = self._blocks.get(timeout=self._patience)
        except queue.Empty:
            raise WireError(
                f"the program wrote nothing for {self._patience:g} seconds after {before:,} reports; is it stuck?"
            ) from None
        if not block:
            self._blocks.put(b"")  # for the next call
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
            if not self._read_more(done):
                raise WireError(f"the program's output ended after {done:,} lines; it must write one for each record")
        return [line.removesuffix(b"\r") for line in lines]

    def skip_plan_line(self, plan_id: str) -> None:
        """Check and remove the first line, if it names the plan."""
        while b"\n" not in self._waiting and len(self._waiting) < _LONGEST_LINE:
            if not self._read_more(0):
                return
        line, _, rest = self._waiting.partition(b"\n")
        if line.startswith(b"plan "):
            if line.removeprefix(b"plan ").strip() != plan_id.encode("ascii"):
                raise WireError("the first line of the program names another plan")
            self._waiting = rest

    def has_more(self, before: int) -> bool:
        """Return whether there is more output after ``before`` lines."""
        return bool(self._waiting) or self._read_more(before)

    def stop(self) -> None:
        """End the thread of an ended program."""
        last = monotonic() + _LAST_SECONDS  # a child of the program may hold its output open
        while self._reader.is_alive() and monotonic() < last:
            with contextlib.suppress(queue.Empty):
                self._blocks.get(timeout=0.01)


def _decode(lines: list[bytes], min_width: int, before: int) -> ClientReports:
    # longer reports are cut, since each line is padded to the longest one
    longest = 2 * max(min_width + 1, _LONGEST_KEPT)
    reports = []
    for number, line in enumerate(lines, start=before + 1):
        if not _HEXADECIMAL.fullmatch(line, 0, longest - len(line) % 2):
            raise WireError(f"line {number:,} of the program is not lowercase hexadecimal with two digits per byte")
        reports.append(unhexlify(line[:longest]))
    return ClientReports.from_reports(reports, min_width)


def packed_reports(reports: ClientReports, plan: "PublishedPlan") -> NDArray[np.uint8]:
    """Return reports in packed form; WireError if they do not have the plan's form."""
    if (reports.lengths != plan.report_bytes).any():
        raise WireError("some reports have another length than the plan's")
    packed = np.ascontiguousarray(reports.octets[:, : plan.report_bytes])
    plan.check_form(packed, "of the client, ")
    return packed
