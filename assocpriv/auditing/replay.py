"""Replay: reports recomputed from the random words that the operating system gave, one by one and in bulk.

While one of our clients runs, the audit records every byte that the operating system gives (:func:`recorded_entropy`).
The plan type then recomputes each report from these bytes by docs/formats alone (:meth:`Subject.recompute_report`). The
reports differ if the client

- draws from another source, or shares or drops words,
- keeps items that it must drop, or
- treats one item of many differently.

This test is deterministic: the reports of a correct client are equal.

A fault may change reports rarely. The client therefore runs twice more on words that the audit supplies. First half of
them are boundaries of the range and of each weight (:meth:`Subject.edge_words`), which shows a weight that is off by
one in 2^64. Then nearly all are 1, which keeps no item where that is possible, and shows an item that is always kept.

In bulk each part of the records has its own block of words, and further blocks of its thread if draws were rejected.
It must be made of words that no other part used; short records give ten parts and more. For the JavaScript client node
first loads a module that records what ``crypto.getRandomValues`` gives.
"""

import json
import os
import random
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product
from operator import itemgetter
from pathlib import Path
from threading import get_ident
from time import monotonic
from typing import Any
from unittest import mock

import numpy as np

from assocpriv.auditing.audit_subject import ClientReports, OwnClient, Program, RecordBatch, Subject, collect_reports
from assocpriv.auditing.findings import CONSISTENT, REPLAY, Fault, Finding, catch_client_errors
from assocpriv.client.ledger import Ledger
from assocpriv.guarantees.entropy import PROBE_BYTES

# records for the system's words and for both substitutes; in bulk more than the bulk client's chunk of 2^15
_BULK, _SINGLE = (34_000, 12_000, 8000), (2000, 4000, 4000)
_PART = 1000  # records of one call with substitutes: an error at the end of a chunk then shows often
_SHORT, _TIMES = 500, 600  # short records, and their repetitions: ten of the largest chunks
_SYSTEM_EVERY = 1024  # among words that are 1 every 1,024th is the system's, so that a draw that rejects 1 ends
_SECONDS, _DEVICES = 12.0, 4  # time limit for each client's replay
_RECORDER = """
import { openSync, writeSync } from "node:fs";
const file = openSync(process.env.ASSOCPRIV_WORDS, "w");
const edges = JSON.parse(process.env.ASSOCPRIV_EDGES).map(BigInt);
const own = globalThis.crypto.getRandomValues.bind(globalThis.crypto);
Object.defineProperty(globalThis.crypto, "getRandomValues", { value: (array) => {
  own(array);
  const words = new BigUint64Array(array.buffer, array.byteOffset, array.byteLength >> 3);
  words.forEach((_, place) => {
    const put = Math.random() < (edges.length > 1 ? 1 / 2 : 1023 / 1024);
    if (put && edges.length) words[place] = edges[Math.floor(edges.length * Math.random())];
  });
  writeSync(file, new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
  return array;
} });
"""

Recorded = list[tuple[int, bytes]]  # the thread that drew, and the bytes that it got


class WordStream:
    """Draws from given words, as docs/formats/client.md defines them."""

    def __init__(self, octets: bytes) -> None:
        self._array = np.frombuffer(octets[: len(octets) // 8 * 8], dtype="<u8")
        self._words: list[int] = self._array.tolist()
        self.used, self.octets = 0, len(octets)

    def _take(self, count: int) -> slice:
        self.used += count
        if self.used > len(self._words):
            raise Fault("A report needs more random words than the operating system gave for it.")
        return slice(self.used - count, self.used)

    def bits(self, k: int) -> int:
        """Return k bits, from the number of words that they need."""
        if k <= 64:
            return self._words[self._take(1)][0] & (1 << k) - 1
        return int.from_bytes(self._array[self._take(-(-k // 64))].tobytes(), "little") & (1 << k) - 1

    def below(self, n: int) -> int:
        """Return a uniform number below n."""
        k = (n - 1).bit_length()
        if k == 0 or n == 1 << k:
            return self.bits(k) if k else 0
        width = 64 * -(-k // 64)
        while True:
            product = self.bits(width) * n
            if product & (1 << width) - 1 >= (1 << width) % n:
                return product >> width

    def pick(self, sums: Sequence[int]) -> int:
        """Return a place by cumulative weights."""
        return bisect_right(sums, self.below(sums[-1]))

    def random_bits(self, count: int, num: int, bits: int) -> int:
        """Return bits, each 1 with probability num / 2^bits."""
        planes = self._array[self._take(bits * -(-count // 64))].reshape(-1, bits)
        less, equal = np.zeros(len(planes), np.uint64), np.full(len(planes), (1 << 64) - 1, np.uint64)
        for place in range(bits):
            if num >> (bits - 1 - place) & 1:
                less |= equal & ~planes[:, place]
                equal &= planes[:, place]
            else:
                equal &= ~planes[:, place]
        return int.from_bytes(less.astype("<u8").tobytes(), "little") & (1 << count) - 1


@contextmanager
def recorded_entropy(edge_words: Sequence[int] = ()) -> Iterator[Recorded]:
    """Record every random byte that the operating system gives, and the thread; substitute edge words, if given.

    The further bytes after words that are 0 are not recorded: no draw uses them.
    """
    recorded: Recorded = []
    own, rng, ends = os.urandom, np.random.default_rng(), np.array(edge_words, dtype="<u8")

    def give(count: int) -> bytes:
        given = own(count)
        if len(ends) and count % 8 == 0:
            words = np.frombuffer(given, dtype="<u8")
            put = rng.integers(0, 2 if len(ends) > 1 else _SYSTEM_EVERY, len(words)) > 0
            given = np.where(put, ends[rng.integers(0, len(ends), len(words))], words).tobytes()
        if count != PROBE_BYTES:
            recorded.append((get_ident(), given))
        return given

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(os, "urandom", give))
        stack.enter_context(mock.patch.object(random, "_urandom", give))  # secrets, SystemRandom
        yield recorded


def compare(subject: Subject, client: str, box: OwnClient | Program) -> list[Finding]:
    """Recompute a client's reports; raise a Fault where one differs."""
    compared = records = 0
    in_bulk, edge_words = client == "bulk", [1, (1 << 64) - 1, *subject.edge_words()]
    for count, ends in zip(_BULK if in_bulk else _SINGLE, ([], edge_words, [1]), strict=True):
        step, until = _PART if ends else count, monotonic() + _SECONDS
        selected = subject.sample_records(count)
        parts = [(at, some[at : at + step]) for some in selected for at in range(0, len(some), step)]
        for at, part in sorted(parts, key=itemgetter(0)):  # the first part of each list even on a slow machine
            if at and monotonic() > until:
                break
            run = _compare_script if isinstance(box, Program) else _compare_bulk if in_bulk else _compare_single
            compared += run(subject, box, subject.batch(part), ends)  # type: ignore[arg-type]  # each of its type
            records += len(part)
    if isinstance(box, OwnClient) and in_bulk:  # many chunks of short records
        short = sorted(subject.sample_records(_SHORT)[0], key=len)[:_SHORT] * _TIMES
        compared, records = compared + _compare_bulk(subject, box, subject.batch(short), [], 0), records + len(short)
    elif isinstance(box, OwnClient):
        _compare_devices(subject, subject.sample_records(_DEVICES)[0][:_DEVICES])
    message = f"{compared:,} of {records:,} reports recomputed from the operating system's random words; all agree."
    return [Finding(REPLAY, "replay", CONSISTENT, message, {"reports": records, "compared": compared})]


def _compare_bulk(
    subject: Subject, box: OwnClient, batch: RecordBatch, edge_words: list[int], seconds: float | None = None
) -> int:
    with recorded_entropy(edge_words) as recorded, catch_client_errors():
        parts = list(box.make(batch))
    if sum(map(len, parts)) != len(batch):
        raise Fault("The client does not return one report for each record.")
    until = monotonic() + (_SECONDS if seconds is None else seconds)
    start, left, compared = 0, dict(enumerate(recorded)), 0
    for part in parts:
        compared += _compare_part(subject, batch.records[start : start + len(part)], part, left, until)
        start += len(part)
    return compared


def _compare_part(
    subject: Subject, records: Sequence[Any], part: ClientReports, left: dict[int, tuple[int, bytes]], until: float
) -> int:
    """Find and remove the words of a part among those left; return how many reports were compared."""
    farthest, why = -1, Fault("The operating system gave no random words for some reports.")
    for first, thread in product(list(left), dict.fromkeys(thread for thread, _ in left.values())):
        blocks = [number for number in left if number == first or (number > first and left[number][0] == thread)]
        words, place = WordStream(b"".join(left[number][1] for number in blocks)), -1
        try:
            for place, (row, report) in enumerate(subject.recompute_batch(records, words)):
                _check(report, part, row)
                if place % 64 == 63 and monotonic() > until:
                    break
        except Fault as fault:
            if place > farthest:
                farthest, why = place, fault
            continue
        ends = np.cumsum([len(left[number][1]) for number in blocks])
        for number in blocks[: int(np.searchsorted(ends, 8 * words.used)) + 1]:
            del left[number]
        return place + 1
    raise why


def _compare_single(subject: Subject, box: OwnClient, batch: RecordBatch, edge_words: list[int]) -> int:
    until, done = monotonic() + _SECONDS, 0
    while done < len(batch) and (not done or monotonic() < until):
        few = subject.batch(batch.records[done : done + 64])
        with recorded_entropy(edge_words) as recorded, catch_client_errors():
            [reports] = box.reports([few])
        words = WordStream(b"".join(given for _, given in recorded))
        done += _compare_rows(subject, few.records, reports, words, until + _SECONDS)
        if 8 * words.used != words.octets:
            raise Fault("The client draws more random words than its reports need.")
    return done


def _compare_rows(
    subject: Subject, records: Sequence[Any], reports: ClientReports, words: WordStream, until: float
) -> int:
    for row, record in enumerate(records):
        _check(subject.recompute_report(record, words), reports, row)
        if row % 64 == 63 and monotonic() > until:
            return row + 1
    return len(records)


def _compare_devices(subject: Subject, records: Sequence[Any]) -> None:
    """Compare reports that devices make for a collector; each has an id of 16 further random bytes."""
    for record in records:
        with tempfile.TemporaryDirectory() as folder, Ledger.open(Path(folder) / "ledger") as ledger:
            raw = subject.device_record(record)
            with recorded_entropy() as recorded, catch_client_errors():
                sent = ledger.submit(raw, subject.plan, period="audit")
        octets = b"".join(given for _, given in recorded)
        words = WordStream(octets[:-16])
        reports = ClientReports.from_reports([sent.report], subject.plan.report_bytes)
        _check(subject.recompute_report(record, words), reports, 0)
        if 8 * words.used != words.octets or sent.submission_id != octets[-16:]:
            raise Fault("The id of a device's submission is not 16 random bytes of the operating system.")


def _compare_script(subject: Subject, box: Program, batch: RecordBatch, edge_words: list[int]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        recorder, file = Path(folder) / "recorder.mjs", Path(folder) / "words"
        recorder.write_text(_RECORDER, encoding="ascii")
        settings = {"ASSOCPRIV_WORDS": str(file), "ASSOCPRIV_EDGES": json.dumps([*map(str, edge_words)])}
        with mock.patch.dict(os.environ, settings):
            [reports] = collect_reports(box.with_options("--import", recorder.as_uri()), iter([batch]))
        words = WordStream(file.read_bytes())
    return _compare_rows(subject, batch.records, reports, words, monotonic() + _SECONDS)


def _check(report: bytes, reports: ClientReports, row: int) -> None:
    if reports.octets[row].tobytes() != report or reports.lengths[row] != len(report):
        raise Fault("A report differs from the one that docs/formats defines for the operating system's random words.")
