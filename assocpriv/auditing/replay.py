"""Reports made again from the words that the operating system gave, one by one and in bulk.

While a client of ours runs, every byte that the operating system gives is noted (:func:`noted`), and a kind of plan
makes each report anew from these, by docs/formats alone (:meth:`Subject.remake`). A client that draws from anything
else, shares or drops words, keeps what it must not, or treats one item of many otherwise makes other reports. There is
no chance in this: an honest client's reports are equal.

What a fault changes may be rare, so the client runs twice more, and words are put in their place by the audit: half of
them ends of the range and of each weight (:meth:`Subject.edges`), so a weight that is off by one in 2^64 shows; then
nearly all of them 1, which keeps nothing where it can, so an item shows that is always told.

In bulk a part of the records has a block of words of its own, and further ones of one thread if draws were rejected: it
must be made of words that no other part had; of short records there are ten parts and more. Of the client in JavaScript
node runs the file with a module before it, which notes what ``crypto.getRandomValues`` gives.
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

from assocpriv.auditing.clients import Batch, ClientReports, Ours, Program, answered
from assocpriv.auditing.findings import CONSISTENT, WORDS, Fault, Finding, client_at_work
from assocpriv.auditing.subject import Subject
from assocpriv.client.ledger import Ledger

# records for the system's words, and for either in their place: more than the bulk client's chunk of 2^15; one by one
_BULK, _ONES = (34_000, 12_000, 8000), (2000, 4000, 4000)
_PART = 1000  # of these, in a call by itself: what goes wrong at the end of a chunk goes wrong often
_FEW, _TIMES = 500, 600  # records, and how often: ten of the largest chunks
_OTHERS = 1024  # of so many words that are 1 one is the system's: a draw that rejects 1 comes to an end
_SECONDS, _DEVICES = 12.0, 4  # for which each client's reports are made again
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

Notes = list[tuple[int, bytes]]  # the thread that asked, and what it was given


class Given:
    """Draws of given words, as docs/formats/client.md defines them."""

    def __init__(self, octets: bytes) -> None:
        self._array = np.frombuffer(octets[: len(octets) // 8 * 8], dtype="<u8")
        self._words: list[int] = self._array.tolist()
        self.used, self.octets = 0, len(octets)

    def _take(self, count: int) -> slice:
        self.used += count
        if self.used > len(self._words):
            raise Fault("A report takes more words than the operating system gave for it.")
        return slice(self.used - count, self.used)

    def bits(self, k: int) -> int:
        """Return k bits of as many words as they need."""
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

    def coins(self, count: int, num: int, bits: int) -> int:
        """Return bits, each 1 with the chance num / 2^bits."""
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
def noted(edges: Sequence[int] = ()) -> Iterator[Notes]:
    """Note every byte that the operating system gives as random numbers, and who asked; put edges in their place."""
    notes: Notes = []
    own, chance, ends = os.urandom, np.random.default_rng(), np.array(edges, dtype="<u8")

    def give(count: int) -> bytes:
        given = own(count)
        if len(ends) and count % 8 == 0:
            words = np.frombuffer(given, dtype="<u8")
            put = chance.integers(0, 2 if len(ends) > 1 else _OTHERS, len(words)) > 0
            given = np.where(put, ends[chance.integers(0, len(ends), len(words))], words).tobytes()
        notes.append((get_ident(), given))
        return given

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(os, "urandom", give))
        stack.enter_context(mock.patch.object(random, "_urandom", give))  # secrets, SystemRandom
        yield notes


def compare(subject: Subject, client: str, box: Ours | Program) -> list[Finding]:
    """Make a client's reports again; a Fault where one differs."""
    compared = records = 0
    in_bulk, edges = client == "bulk", [1, (1 << 64) - 1, *subject.edges()]
    for count, ends in zip(_BULK if in_bulk else _ONES, ([], edges, [1]), strict=True):
        step, until = _PART if ends else count, monotonic() + _SECONDS
        parts = [(at, some[at : at + step]) for some in subject.various(count) for at in range(0, len(some), step)]
        for at, part in sorted(parts, key=itemgetter(0)):  # the first of each list, however slow the machine is
            if at and monotonic() > until:
                break
            run = _script if isinstance(box, Program) else _bulk if in_bulk else _single
            compared += run(subject, box, subject.batch(part), ends)  # type: ignore[arg-type]  # each of its kind
            records += len(part)
    if isinstance(box, Ours) and in_bulk:  # the words of many chunks, of short records
        short = sorted(subject.various(_FEW)[0], key=len)[:_FEW] * _TIMES
        compared, records = compared + _bulk(subject, box, subject.batch(short), [], 0), records + len(short)
    elif isinstance(box, Ours):
        _compare_devices(subject, subject.various(_DEVICES)[0][:_DEVICES])
    said = f"{compared:,} of {records:,} reports are those that the words make which the operating system gave."
    return [Finding(WORDS, "words", CONSISTENT, said, {"reports": records, "compared": compared})]


def _bulk(subject: Subject, box: Ours, batch: Batch, edges: list[int], seconds: float = _SECONDS) -> int:
    with noted(edges) as notes, client_at_work():
        parts = list(box.make(batch))
    if sum(map(len, parts)) != len(batch):
        raise Fault("The client does not answer with one report for each record.")
    until, start, left, compared = monotonic() + seconds, 0, dict(enumerate(notes)), 0
    for part in parts:
        compared += _part(subject, batch.records[start : start + len(part)], part, left, until)
        start += len(part)
    return compared


def _part(
    subject: Subject, records: Sequence[Any], part: ClientReports, left: dict[int, tuple[int, bytes]], until: float
) -> int:
    """Find the words that a part was made of among those left, and take them away; return how many were compared."""
    farthest, why = -1, Fault("The operating system gave no words for some reports.")
    for first, thread in product(list(left), dict.fromkeys(thread for thread, _ in left.values())):
        blocks = [number for number in left if number == first or (number > first and left[number][0] == thread)]
        words, place = Given(b"".join(left[number][1] for number in blocks)), -1
        try:
            for place, (row, report) in enumerate(subject.remake_many(records, words)):
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


def _single(subject: Subject, box: Ours, batch: Batch, edges: list[int]) -> int:
    until, done = monotonic() + _SECONDS, 0
    while done < len(batch) and (not done or monotonic() < until):
        few = subject.batch(batch.records[done : done + 64])
        with noted(edges) as notes, client_at_work():
            [answers] = box.reports([few])
        words = Given(b"".join(given for _, given in notes))
        done += _again(subject, few.records, answers, words, until + _SECONDS)
        if 8 * words.used != words.octets:
            raise Fault("The client draws more words than its reports take.")
    return done


def _again(subject: Subject, records: Sequence[Any], answers: ClientReports, words: Given, until: float) -> int:
    for row, record in enumerate(records):
        _check(subject.remake(record, words), answers, row)
        if row % 64 == 63 and monotonic() > until:
            return row + 1
    return len(records)


def _compare_devices(subject: Subject, records: Sequence[Any]) -> None:
    """Let devices make a report each, to be sent to a collector: its id is 16 bytes of its own."""
    for record in records:
        with tempfile.TemporaryDirectory() as folder, Ledger.open(Path(folder) / "ledger") as ledger:
            raw = subject.device_record(record)
            with noted() as notes, client_at_work():
                sent = ledger.submit(raw, subject.plan, occasion="audit")
        octets = b"".join(given for _, given in notes)
        words = Given(octets[:-16])
        _check(subject.remake(record, words), ClientReports.of_reports([sent.report], subject.plan.report_bytes), 0)
        if 8 * words.used != words.octets or sent.submission_id != octets[-16:]:
            raise Fault("A device's submission has an id that is not 16 bytes of the operating system's alone.")


def _script(subject: Subject, box: Program, batch: Batch, edges: list[int]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        recorder, file = Path(folder) / "recorder.mjs", Path(folder) / "words"
        recorder.write_text(_RECORDER, encoding="ascii")
        told = {"ASSOCPRIV_WORDS": str(file), "ASSOCPRIV_EDGES": json.dumps([*map(str, edges)])}
        with mock.patch.dict(os.environ, told):
            [answers] = answered(box.started_with("--import", recorder.as_uri()), iter([batch]))
        words = Given(file.read_bytes())
    return _again(subject, batch.records, answers, words, monotonic() + _SECONDS)


def _check(report: bytes, answers: ClientReports, row: int) -> None:
    if answers.octets[row].tobytes() != report or answers.lengths[row] != len(report):
        raise Fault("A report is not the one that docs/formats makes of the operating system's words.")
