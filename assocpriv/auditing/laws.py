"""Laws of a plan beside counts of a client's reports, as of a black box: how far these are from exact chances.

Among independent reports an event with a known probability happened so many times: its p-value is twice the smaller
tail of the binomial law, so no test relies on large numbers. Tests come in families; each has one p-value for all of
its tests, the least of theirs times their number (Bonferroni), and families and clients share the false alarms equally.
So a client that follows the plan is called broken with no more than the chance stated.

What is looked at, whatever the kind of plan (:class:`Subject` supplies records, features and their chances):

* how often each feature shows, and each two together, of records that are hardest to hide, asked about in turn;
* the same of many records, each asked about some tens of times: a fault with one item, value or size;
* of one record asked about over and over: reports that are equal; whether a feature of a report goes with one of the
  report so many before, at every lag: one half of the reports chooses the lags, the other is tested; and whether bits
  that should be fair coins come from a shift register;
* of a program: what separate starts give, place by place, their first reports above all;
* and lower bounds of ε: a client promises P[report ∈ S | t1] ≤ γ·P[report ∈ S | t2] for every set S of reports, so any
  S shows ε ≥ ln(P1 / P2), with Clopper–Pearson bounds of both. S, of a byte's values or of how many items of both are
  kept, is chosen on reports of its own.

docs/privacy.md says what no such audit can see.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import repeat
from math import comb
from time import monotonic, perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.clients import Batch, BlackBox, ClientReports, answered
from assocpriv.auditing.findings import BROKEN, CONSISTENT, LAWS, UNDECIDED, Finding, Progress
from assocpriv.auditing.subject import Look, Subject
from assocpriv.promise.breaches import epsilon
from assocpriv.promise.errors import WireError

_BATCH, _BATCH_BYTES = 1 << 15, 1 << 23  # reports of a batch
_STREAM_BYTES = 1 << 26  # of reports of one record that are kept
_SECONDS = 12.0  # of a client's reports
_TIMED = 256
_LAGS = 8
_COIN_LENGTH = 40_960  # more than twice the state of the Mersenne Twister, 19,937 bits
_LARGEST_LOG = 1000.0
_STARTS, _START_SECONDS, _START_REPORTS = 1024, 4.0, 64
_ERRORS = 4.0  # standard errors by which a promising set may still disappoint
_ROUNDING = 1e-9  # far more than the error of an inverse beta function

Counts = NDArray[np.int64]


# ---- tests


@dataclass(frozen=True, slots=True)
class Law:
    """A family of tests, with one p-value for all of them."""

    name: str
    what: str
    p_value: float
    tests: int
    figures: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, what: str, parts: Iterable[NDArray[np.float64]], **figures: Any) -> "Law":
        """Put p-values together."""
        values = np.concatenate([np.zeros(0), *parts])
        return cls(name, what, joint_p_value(values), len(values), figures)

    def judged(self, false_alarm: float) -> Finding:
        """Return the finding: broken where a client that follows the plan would look so no more often than stated."""
        figures = {"p_value": self.p_value, "tests": self.tests, "false_alarm": false_alarm} | self.figures
        if not self.tests:
            return Finding(LAWS, self.name, UNDECIDED, f"There is nothing to test here: {self.what}.", figures)
        if self.p_value > false_alarm:
            return Finding(LAWS, self.name, CONSISTENT, f"As the plan says: {self.what}.", figures)
        chance = f"at most {self.p_value:.1e}" if self.p_value else "less than 1e-300"
        said = f"Not as the plan says: {self.what}. A client that follows it would look so with a chance of {chance}."
        return Finding(LAWS, self.name, BROKEN, said, figures)


def joint_p_value(p_values: NDArray[np.float64]) -> float:
    """Return a bound of the chance that any of n tests is as far off as the farthest: n times the least, at most 1.

    >>> joint_p_value(np.array([0.5, 0.01])), joint_p_value(np.array([]))
    (0.02, 1.0)
    """
    return float(min(1.0, len(p_values) * p_values.min())) if len(p_values) else 1.0


def p_values(counts: Any, trials: Any, chances: Any) -> NDArray[np.float64]:
    """Return two-sided p-values of counts; what must never, or always, happen is judged by that alone.

    >>> p_values([0, 5, 5], 5, [0.5, 1.0, 0.0]).tolist()
    [0.0625, 1.0, 0.0]
    """
    from scipy.stats import binom

    count, trial, chance = np.broadcast_arrays(np.ravel(counts), trials, np.ravel(chances))
    tails = np.minimum(binom.cdf(count, trial, chance), binom.sf(count - 1, trial, chance))
    right = count == np.where(chance >= 1, trial, 0)
    sure = np.where((chance <= 0) | (chance >= 1), right, np.minimum(1.0, 2 * tails))
    return np.asarray(sure[trial > 0], dtype=np.float64)


def repeats_p_value(equal_pairs: int, n: int, second: Fraction, third: Fraction) -> float:
    """Bound the chance of so many equal pairs among n independent reports, of which two, or three, are equal by chance.

    Two bounds, the smaller counts: the Poisson law with its largest error (Arratia, Goldstein, Gordon 1989, by
    Chen and Stein), sharp where few pairs are expected; and Cantelli's inequality, where many are.
    """
    from scipy.stats import poisson

    pairs = comb(n, 2)
    mean = pairs * second
    if equal_pairs <= mean:
        return 1.0
    error = pairs * ((2 * n - 3) * second**2 + 2 * max(0, n - 2) * third) / max(Fraction(1), mean)
    # 2n − 3 pairs meet a given one, itself included
    variance = pairs * (second - second**2) + n * (n - 1) * (n - 2) * (third - second**2)
    cantelli = float(variance / (variance + (equal_pairs - mean) ** 2))
    return min(1.0, cantelli, float(poisson.sf(equal_pairs - 1, float(mean))) + float(error))


def linear_complexity(bits: Sequence[int]) -> int:
    """Return the length of the shortest linear feedback shift register that makes a sequence of bits.

    Source: Massey, Shift-register synthesis and BCH decoding, 1969.

    >>> linear_complexity([1, 0, 1, 1, 1, 0, 0, 1, 0, 1]), linear_complexity([0, 0, 0, 1])
    (3, 4)
    """
    register, before, length, since, window = 1, 1, 0, 1, 0
    for place, bit in enumerate(bits):
        window = window << 1 | bit  # bit i is the one i places ago
        if (register & window).bit_count() & 1:
            changed = register ^ before << since
            if 2 * length <= place:
                length, before, since = place + 1 - length, register, 0
            register = changed
        since += 1
    return length


def complexity_p_value(length: int, n_bits: int) -> float:
    """Return the chance that n fair coins have a linear complexity of at most ``length``: (2·4^L + 1) / (3·2^n).

    From n/2 on, which half of all sequences exceed, it is given as 1.

    Source: Rueppel, Analysis and Design of Stream Ciphers, 1986, chapter 4.

    >>> complexity_p_value(0, 3), complexity_p_value(1, 4), complexity_p_value(20, 40)
    (0.125, 0.1875, 1.0)
    """
    if 2 * length >= n_bits:
        return 1.0
    return float(Fraction(2 * 4**length + 1, 3 << n_bits)) if n_bits - 2 * length < _LARGEST_LOG else 0.0


# ---- the black box


@dataclass
class _Seen:
    """Counts of what reports of records show, by record and look, and the p-values that they lead to."""

    counts: dict[tuple[Any, int, str], list[Any]] = field(default_factory=dict)

    def add(self, record: Any, looks: Iterable[Look]) -> None:
        """Count what some reports show."""
        for number, look in enumerate(looks):
            shown = look.shown.astype(np.float32)
            both = None if look.together is None else (shown.T @ shown).astype(np.int64)  # exact below 2^24 reports
            key = (record, number, look.name)
            known = self.counts.setdefault(key, [look, 0, 0, 0])
            known[1] += len(shown)
            known[2] = known[2] + look.shown.sum(axis=0, dtype=np.int64)
            known[3] = known[3] + (0 if both is None else both)

    def values(self) -> dict[str, list[NDArray[np.float64]]]:
        """Return p-values by family."""
        found: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
        for look, n, single, both in self.counts.values():
            found[look.name].append(p_values(single, n, look.chances))
            if look.together is not None:
                upper = np.triu(~np.isnan(look.together), 1)
                found[f"{look.name}, in pairs"].append(p_values(both[upper], n, look.together[upper]))
        return found


def audit_laws(
    subject: Subject, box: BlackBox, trials: int, false_alarm: float, progress: Progress
) -> Iterator[Finding]:
    """Ask a client for about so many reports, and yield what they show beside the plan's law."""
    groups = subject.chosen()
    trials = min(trials, _in_time(subject, box, groups[0]))
    laws, part = [], trials // 4
    often, bound = _ask_often(subject, box, groups, 2 * part, false_alarm, partial(progress, "in turn"))
    laws += [Law.of(name, f"{name}, of records that are hardest to hide", values) for name, values in often.items()]
    many = _ask_many(subject, box, part, partial(progress, "many records"))
    laws += [
        Law.of(f"{name}, many records", f"{name}, of records of all kinds", values) for name, values in many.items()
    ]
    laws += _follow(subject, box, groups[-1][0], part, partial(progress, "one record"))
    if box.starts_anew:
        laws += _starts(subject, box, groups[-1][0])
    if bound is not None:
        yield bound
    yield from (law.judged(false_alarm / 2 / len(laws)) for law in laws)


def _reports(
    subject: Subject, box: BlackBox, batches: Iterator[Batch], progress: Any = None, total: int = 0
) -> Iterator[NDArray[np.uint8]]:
    for answers in answered(box, batches, progress, total):
        yield packed_of(answers, subject)


def packed_of(answers: ClientReports, subject: Subject) -> NDArray[np.uint8]:
    """Return answers as packed reports; a WireError if they are none."""
    if (answers.lengths != subject.plan.report_bytes).any():
        raise WireError("some answers have another length than the plan's reports")
    packed = np.ascontiguousarray(answers.octets[:, : subject.plan.report_bytes])
    subject.plan.check_form(packed, "of the client, ")
    return packed


def _in_time(subject: Subject, box: BlackBox, records: Sequence[Any]) -> int:
    """Return how many reports a client makes in some seconds."""
    batch = subject.batch([records[place % len(records)] for place in range(_TIMED)])
    list(_reports(subject, box, iter([batch])))  # the first makes tables
    start = perf_counter()
    list(_reports(subject, box, iter([batch])))
    return max(4 * _TIMED, int(_SECONDS * _TIMED / (perf_counter() - start)))


def _ask_often(
    subject: Subject, box: BlackBox, groups: list[list[Any]], trials: int, false_alarm: float, progress: Any
) -> tuple[dict[str, list[NDArray[np.float64]]], Finding | None]:
    seen, pairs = _Seen(), []
    for records in groups:
        turns = max(
            1, min(_BATCH, _BATCH_BYTES // subject.plan.report_bytes, trials // len(groups) // 3) // len(records)
        )
        rounds = max(3, trials // len(groups) // (turns * len(records)))
        batch = subject.batch([record for record in records for _ in range(2)] * (turns // 2 + 1))
        pair = _Bounds(subject, records)
        for number, packed in enumerate(_reports(subject, box, repeat(batch, rounds), progress, rounds * len(batch))):
            rows = packed.reshape(-1, len(records), 2, packed.shape[1])
            for place, record in enumerate(records):
                mine = np.ascontiguousarray(rows[:, place].reshape(-1, packed.shape[1]))
                seen.add(record, subject.looks(mine, record))
                pair.add(place, 2 * number // rounds, mine)
        pairs.append(pair)
    gamma = subject.gamma
    return seen.values(), None if gamma is None else _judge_bounds(pairs, gamma, false_alarm / 2)


def _ask_many(subject: Subject, box: BlackBox, trials: int, progress: Any) -> dict[str, list[NDArray[np.float64]]]:
    """Ask about as many different records as trials allow, each some tens of times."""
    seen = _Seen()
    listed = subject.various(max(1, trials // subject.each))
    for various in listed:
        records = list(dict.fromkeys(various))[: max(1, trials // subject.each // len(listed))]
        step = max(1, min(_BATCH, _BATCH_BYTES // subject.plan.report_bytes) // subject.each)
        parts = [records[first : first + step] for first in range(0, len(records), step)]
        batches = (subject.batch([record for record in part for _ in range(subject.each)]) for part in parts)
        for part, packed in zip(
            parts, _reports(subject, box, batches, progress, len(records) * subject.each), strict=True
        ):
            for place, record in enumerate(part):
                looks = subject.looks(packed[place * subject.each : (place + 1) * subject.each], record)
                seen.add(record, (Look(each.name, each.shown, each.chances) for each in looks))
    return seen.values()


# ---- one record, report after report


def _follow(subject: Subject, box: BlackBox, record: Any, trials: int, progress: Any) -> Iterator[Law]:
    n = min(trials, _STREAM_BYTES // subject.plan.report_bytes)
    step = min(n, _BATCH)
    batches = (subject.batch([record] * min(step, n - first)) for first in range(0, n, step))
    packed = np.concatenate(list(_reports(subject, box, batches, progress, n)))
    second, third = (subject.equal(record, power) for power in (2, 3))
    if second is not None and third is not None:
        counts = np.unique(packed.view(f"V{packed.shape[1]}"), return_counts=True)[1]
        equal = int((counts * (counts - 1) // 2).sum())
        value = np.array([repeats_p_value(equal, n, second, third)])
        yield Law.of("repeats", "how many reports are equal", [value], reports=n, equal_pairs=equal)
    look = max(subject.looks(packed, record), key=lambda look: (len(look.shown) == n) * look.shown.shape[1])
    what = "a report tells nothing of the one so many before, at any lag"
    yield Law.of("lags", what, _lagged(look.shown, look.chances), reports=n)
    coins = subject.coins(packed[:_COIN_LENGTH], record) if box.starts_anew else np.zeros((0, 0), np.uint8)
    lengths = [linear_complexity(bits) for bits in coins.T.tolist()]
    values = np.array([complexity_p_value(length, len(coins)) for length in lengths])
    what = "bits that should be fair coins are not made by a shift register, nor with a short period"
    if len(values):
        yield Law.of("linear complexity", what, [values], bits=len(coins))


def _lagged(shown: NDArray[np.uint8], chances: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Choose lags by the correlations of the first half; test them in the second, where pairs share no report."""
    half, varied = len(shown) // 2, (chances > 0) & (chances < 1)
    shown, chances = shown[:, varied], chances[varied]
    if half < 2 or not len(chances):
        return
    padded, sums = 1 << (2 * half - 1).bit_length(), np.zeros(half)
    for column, chance in zip(shown[:half].T, chances, strict=True):
        spectrum = np.fft.rfft((column - chance) / math.sqrt(chance * (1 - chance)), padded)
        sums += np.fft.irfft(np.abs(spectrum) ** 2, padded)[:half]
    strength = np.abs(sums[1:]) / np.sqrt(np.arange(half - 1, 0, -1))
    rest, places = shown[half:], np.arange(half)
    for lag in (np.argsort(-strength)[:_LAGS] + 1).tolist():
        for parity in range(2):  # pairs of these share no report
            first = places[(places // lag % 2 == parity) & (places + lag < half)]
            both = (rest[first] & rest[first + lag]).sum(axis=0, dtype=np.int64)
            yield p_values(both, len(first), chances**2)


# ---- separate starts


def _starts(subject: Subject, box: BlackBox, record: Any) -> Iterator[Law]:
    """Start a program over and over; reports at one place of two starts are equal as seldom as any two."""
    second, third = (subject.equal(record, power) for power in (2, 3))
    if second is None or third is None:
        return
    chance = max(float(second), 1e-9)  # some reports in any case, or enough that no two starts give the same by chance
    length = min(_START_REPORTS, math.ceil(-60 / math.log2(chance))) if second < 1 else 1
    batch, seen, last = subject.batch([record] * length), list[NDArray[np.uint8]](), monotonic() + _START_SECONDS
    while len(seen) < 2 or (len(seen) < _STARTS and monotonic() < last):
        seen += _reports(subject, box, iter([batch]))
    n, values = len(seen), []
    for place in range(length):
        counts = np.unique([each[place].tobytes() for each in seen], return_counts=True)[1]
        values.append(repeats_p_value(int((counts * (counts - 1) // 2).sum()), n, second, third))
    what = f"reports at one place of {n:,} starts are equal as seldom as any"
    yield Law.of("separate starts", what, [np.array(values)], starts=n, reports_each=length)
    whole = np.unique([each.tobytes() for each in seen], return_counts=True)[1]
    bits = max(0, math.floor(math.log2(n**2 / 6)))  # e^-3 is then the chance that all seeds differ
    what = f"no start repeats another ({n:,} starts; seeds of at most {bits} bits would have)"
    value = min(1.0, comb(n, 2) * float(second) ** length) if whole.max() > 1 else 1.0
    yield Law.of("many starts", what, [np.array([value])], starts=n, seed_bits=bits)


# ---- lower bounds of ε


class _Bounds:
    """Counts of reports of some records in two parts, to choose sets and to test these: bytes, and what is kept."""

    def __init__(self, subject: Subject, records: Sequence[Any]) -> None:
        self._subject, self._records, k = subject, records, len(records)
        self._octets = np.zeros((2, k, subject.plan.report_bytes, 256), dtype=np.int64)
        self._kept = np.zeros((2, k, k, 256), dtype=np.int64)  # by the other record, of reports of it and of the first

    def add(self, place: int, part: int, packed: NDArray[np.uint8]) -> None:
        """Count reports of one record."""
        for byte in range(packed.shape[1]):
            self._octets[part, place, byte] += np.bincount(packed[:, byte], minlength=256)
        first = 16 * self._subject.kept(packed, self._records[0])
        for other in range(1, len(self._records)):
            if place in (0, other):
                cells = first + self._subject.kept(packed, self._records[other])
                self._kept[part, other, place] += np.bincount(cells, minlength=256)

    def events(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield hits and totals, when tested, of sets chosen to tell a record from the first, and the other way."""
        for other in range(1, len(self._records)):
            for sides in ((0, other), (other, 0)):
                for tables in (self._octets, self._kept[:, other, :, None]):
                    number, values = _best_set(*(tables[0, place] for place in sides))
                    likelier, rarer = (tables[1, place, number] for place in sides)
                    yield int(likelier[values].sum()), int(likelier.sum()), int(rarer[values].sum()), int(rarer.sum())


def _best_set(first: Counts, second: Counts) -> tuple[int, NDArray[np.bool_]]:
    """Take values in the order of their ratio of chances, and stop where the bound is likely to be best."""
    order = np.argsort(-(first + 0.5) / (second + 0.5), axis=1, kind="stable")
    likelier = np.take_along_axis(first, order, axis=1).cumsum(axis=1)
    rarer = np.take_along_axis(second, order, axis=1).cumsum(axis=1)
    low = np.maximum(likelier - _ERRORS * np.sqrt(likelier), 0.5) / np.maximum(first.sum(axis=1), 1)[:, None]
    high = (rarer + _ERRORS * np.sqrt(rarer) + _ERRORS**2) / np.maximum(second.sum(axis=1), 1)[:, None]
    number, last = np.unravel_index(np.argmax(low / high), low.shape)
    values = np.zeros(first.shape[1], dtype=np.bool_)
    values[order[number, : last + 1]] = True
    return int(number), values


def _judge_bounds(pairs: Sequence[_Bounds], gamma: Fraction, false_alarm: float) -> Finding:
    events = [event for pair in pairs for event in pair.events()]
    each, best, broken = false_alarm / (2 * max(1, len(events))), 0.0, False
    for hits, total, other_hits, other_total in events:
        likelier = smallest_chance(hits, total, each) * (1 - _ROUNDING)
        rarer = min(1.0, largest_chance(other_hits, other_total, each) * (1 + _ROUNDING))
        broken |= Fraction(likelier) > gamma * Fraction(rarer)
        best = max(best, math.log(likelier / rarer) if likelier > rarer else 0.0)
    promised = epsilon(gamma)
    said = f"The client's ε is at least {best:.4f}, which is within the plan's {promised:.4f}."
    if broken:
        said = (
            "Some reports are more likely of one record than of another by more than the plan's γ: ε is at least "
            f"{best:.4f}, and the plan says {promised:.4f}."
        )
    figures = {"epsilon_low": best, "epsilon": promised, "bounds": len(events), "false_alarm": false_alarm}
    return Finding(LAWS, "amplification", BROKEN if broken else CONSISTENT, said, figures)


def smallest_chance(count: int, trials: int, alpha: float) -> float:
    """Return the lower Clopper–Pearson bound: no smaller chance makes at least ``count`` as likely as alpha."""
    from scipy.stats import beta

    return float(beta.ppf(alpha, count, trials - count + 1)) if count else 0.0


def largest_chance(count: int, trials: int, alpha: float) -> float:
    """Return the upper Clopper–Pearson bound.

    >>> round(largest_chance(0, 10, 0.05), 4), largest_chance(10, 10, 0.05)
    (0.2589, 1.0)
    """
    from scipy.stats import beta

    return float(beta.isf(alpha, count + 1, trials - count)) if count < trials else 1.0
