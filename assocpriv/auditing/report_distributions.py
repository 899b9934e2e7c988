"""Black-box tests of a client: counts of its reports against the plan's exact output distribution.

The count of an event of known probability among independent reports is binomial. Its p-value is twice the smaller tail,
so that no test relies on large numbers. Tests are grouped in families. A family's p-value is its smallest one times the
number of tests (Bonferroni), and families and clients share the false-alarm probability equally. So the audit calls a
client that follows the plan broken with at most the stated probability.

Tests for all plan types (:class:`Subject` supplies records, features and their probabilities):

* the frequency of each feature and of each pair of features, for the records hardest to hide, requested in turn;
* the same for many records with some tens of reports each, which shows a fault with one item, value or size;
* for one record, requested many times: equal reports; correlations between a report and an earlier one at any lag,
  with lags chosen on one half of the reports and tested on the other; bits of probability 1/2 from a shift register;
* for a program: equal reports at the same place of separate starts, above all the first ones;
* lower bounds of ε: P[report ∈ S | t1] ≤ γ·P[report ∈ S | t2] must hold for every set S of reports, so any S proves
  ε ≥ ln(P1 / P2), with Clopper–Pearson bounds for both. S is a set of a byte's values, or of numbers of kept items of
  both records, chosen on separate reports.

docs/privacy-claims.md lists what no such audit can see.
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

from assocpriv.auditing.audit_subject import (
    BlackBox,
    Observation,
    RecordBatch,
    Subject,
    collect_reports,
    packed_reports,
)
from assocpriv.auditing.findings import BROKEN, CONSISTENT, DISTRIBUTIONS, UNDECIDED, Finding, Progress
from assocpriv.guarantees.amplification import epsilon_from_amplification

_BATCH, _BATCH_BYTES = 1 << 15, 1 << 23  # reports of a batch
_STREAM_BYTES = 1 << 26  # reports of one record kept in memory
_SECONDS = 12.0  # time limit for a client's reports
_TIMED = 256
_LAGS = 8
_BIT_REPORTS = 40_960  # more than twice the state of the Mersenne Twister, 19,937 bits
_LARGEST_LOG = 1000.0
_STARTS, _START_SECONDS, _START_REPORTS = 1024, 4.0, 64
_ERRORS = 4.0  # standard errors of safety when a set is chosen
_ROUNDING = 1e-9  # far more than the error of an inverse beta function

Counts = NDArray[np.int64]


# ---- tests


@dataclass(frozen=True, slots=True)
class TestFamily:
    """A family of tests with one common p-value."""

    name: str
    what: str  # the statement that is tested
    p_value: float
    tests: int
    figures: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_p_values(cls, name: str, what: str, parts: Iterable[NDArray[np.float64]], **figures: Any) -> "TestFamily":
        """Return the family of tests with these p-values."""
        values = np.concatenate([np.zeros(0), *parts])
        return cls(name, what, joint_p_value(values), len(values), figures)

    def finding(self, false_alarm: float) -> Finding:
        """Return the finding: broken if a correct client would give this result with at most this probability."""
        figures = {"p_value": self.p_value, "tests": self.tests, "false_alarm": false_alarm} | self.figures
        if not self.tests:
            return Finding(DISTRIBUTIONS, self.name, UNDECIDED, f"Nothing to test: {self.what}.", figures)
        if self.p_value > false_alarm:
            return Finding(DISTRIBUTIONS, self.name, CONSISTENT, f"Agrees with the plan: {self.what}.", figures)
        p_value = f"at most {self.p_value:.1e}" if self.p_value else "less than 1e-300"
        message = f"Contradicts the plan: {self.what} (p-value {p_value})."
        return Finding(DISTRIBUTIONS, self.name, BROKEN, message, figures)


def joint_p_value(p_values: NDArray[np.float64]) -> float:
    """Return the Bonferroni p-value of n tests: n times the smallest one, at most 1.

    >>> joint_p_value(np.array([0.5, 0.01])), joint_p_value(np.array([]))
    (0.02, 1.0)
    """
    return float(min(1.0, len(p_values) * p_values.min())) if len(p_values) else 1.0


def p_values(counts: Any, trials: Any, probabilities: Any) -> NDArray[np.float64]:
    """Return two-sided binomial p-values of counts; 1 or 0 for events of probability 0 or 1.

    >>> p_values([0, 5, 5], 5, [0.5, 1.0, 0.0]).tolist()
    [0.0625, 1.0, 0.0]
    """
    from scipy.stats import binom

    count, trial, share = np.broadcast_arrays(np.ravel(counts), trials, np.ravel(probabilities))
    tails = np.minimum(binom.cdf(count, trial, share), binom.sf(count - 1, trial, share))
    right = count == np.where(share >= 1, trial, 0)
    found = np.where((share <= 0) | (share >= 1), right, np.minimum(1.0, 2 * tails))
    return np.asarray(found[trial > 0], dtype=np.float64)


def repeats_p_value(equal_pairs: int, n: int, second: Fraction, third: Fraction) -> float:
    """Return an upper bound of the p-value of a number of equal pairs among n independent reports.

    ``second`` and ``third`` are the probabilities that two, or three, reports are equal. The result is the smaller of
    two bounds: the Poisson distribution with its largest error (Arratia, Goldstein, Gordon 1989, by Chen and Stein),
    sharp where few pairs are expected; and Cantelli's inequality, sharp where many are.
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
    """Return the length of the shortest linear feedback shift register that produces a sequence of bits.

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
    """Return the probability that n fair bits have a linear complexity of at most ``length``: (2·4^L + 1) / (3·2^n).

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
class _ObservationCounts:
    """Counts of the features that reports show, by record and observation, and their p-values."""

    counts: dict[tuple[Any, int, str], list[Any]] = field(default_factory=dict)

    def add(self, record: Any, observations: Iterable[Observation]) -> None:
        """Count the features of some reports."""
        for number, each in enumerate(observations):
            shown = each.shown.astype(np.float32)
            both = None if each.joint is None else (shown.T @ shown).astype(np.int64)  # exact below 2^24 reports
            key = (record, number, each.name)
            known = self.counts.setdefault(key, [each, 0, 0, 0])
            known[1] += len(shown)
            known[2] = known[2] + each.shown.sum(axis=0, dtype=np.int64)
            known[3] = known[3] + (0 if both is None else both)

    def values(self) -> dict[str, list[NDArray[np.float64]]]:
        """Return p-values by family."""
        found: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
        for each, n, single, both in self.counts.values():
            found[each.name].append(p_values(single, n, each.probabilities))
            if each.joint is not None:
                upper = np.triu(~np.isnan(each.joint), 1)
                found[f"{each.name}, in pairs"].append(p_values(both[upper], n, each.joint[upper]))
        return found


def audit_distributions(
    subject: Subject, box: BlackBox, trials: int, false_alarm: float, progress: Progress
) -> Iterator[Finding]:
    """Request about ``trials`` reports from a client, and yield how they agree with the plan's output distribution."""
    groups = subject.worst_case_records()
    trials = min(trials, _affordable_trials(subject, box, groups[0]))
    families, part = [], trials // 4
    often, bound = _sample_hard_records(subject, box, groups, 2 * part, false_alarm, partial(progress, "in turn"))
    family = TestFamily.from_p_values
    families += [family(name, f"{name}, of the records hardest to hide", values) for name, values in often.items()]
    many = _sample_many_records(subject, box, part, partial(progress, "many records"))
    families += [family(f"{name}, many records", f"{name}, of many records", each) for name, each in many.items()]
    families += _check_sequence(subject, box, groups[-1][0], part, partial(progress, "one record"))
    if box.restarts_each_call:
        families += _check_restarts(subject, box, groups[-1][0])
    if bound is not None:
        yield bound
    yield from (each.finding(false_alarm / 2 / len(families)) for each in families)


def _reports(
    subject: Subject, box: BlackBox, batches: Iterator[RecordBatch], progress: Any = None, total: int = 0
) -> Iterator[NDArray[np.uint8]]:
    for reports in collect_reports(box, batches, progress, total):
        yield packed_reports(reports, subject.plan)


def _affordable_trials(subject: Subject, box: BlackBox, records: Sequence[Any]) -> int:
    """Return how many reports a client makes within the time limit."""
    batch = subject.batch([records[place % len(records)] for place in range(_TIMED)])
    list(_reports(subject, box, iter([batch])))  # the first call builds tables
    start = perf_counter()
    list(_reports(subject, box, iter([batch])))
    return max(4 * _TIMED, int(_SECONDS * _TIMED / (perf_counter() - start)))


def _sample_hard_records(
    subject: Subject, box: BlackBox, groups: list[list[Any]], trials: int, false_alarm: float, progress: Any
) -> tuple[dict[str, list[NDArray[np.float64]]], Finding | None]:
    seen, pairs = _ObservationCounts(), []
    for records in groups:
        most = min(_BATCH, _BATCH_BYTES // subject.plan.report_bytes, trials // len(groups) // 3)
        turns = max(1, most // len(records))
        rounds = max(3, trials // len(groups) // (turns * len(records)))
        batch = subject.batch([record for record in records for _ in range(2)] * (turns // 2 + 1))
        pair = _EpsilonCounts(subject, records)
        for number, packed in enumerate(_reports(subject, box, repeat(batch, rounds), progress, rounds * len(batch))):
            rows = packed.reshape(-1, len(records), 2, packed.shape[1])
            for place, record in enumerate(records):
                mine = np.ascontiguousarray(rows[:, place].reshape(-1, packed.shape[1]))
                seen.add(record, subject.observations(mine, record))
                pair.add(place, 2 * number // rounds, mine)
        pairs.append(pair)
    gamma = subject.gamma
    return seen.values(), None if gamma is None else _epsilon_finding(pairs, gamma, false_alarm / 2)


def _sample_many_records(
    subject: Subject, box: BlackBox, trials: int, progress: Any
) -> dict[str, list[NDArray[np.float64]]]:
    """Request some tens of reports of each of many records, within the trials."""
    seen = _ObservationCounts()
    lists = subject.sample_records(max(1, trials // subject.repetitions))
    for sampled in lists:
        records = list(dict.fromkeys(sampled))[: max(1, trials // subject.repetitions // len(lists))]
        step = max(1, min(_BATCH, _BATCH_BYTES // subject.plan.report_bytes) // subject.repetitions)
        parts = [records[first : first + step] for first in range(0, len(records), step)]
        batches = (subject.batch([record for record in part for _ in range(subject.repetitions)]) for part in parts)
        reports = _reports(subject, box, batches, progress, len(records) * subject.repetitions)
        for part, packed in zip(parts, reports, strict=True):
            for place, record in enumerate(part):
                mine = packed[place * subject.repetitions : (place + 1) * subject.repetitions]
                found = subject.observations(mine, record)
                seen.add(record, (Observation(each.name, each.shown, each.probabilities) for each in found))
    return seen.values()


# ---- one record, report after report


def _check_sequence(subject: Subject, box: BlackBox, record: Any, trials: int, progress: Any) -> Iterator[TestFamily]:
    n = min(trials, _STREAM_BYTES // subject.plan.report_bytes)
    step = min(n, _BATCH)
    batches = (subject.batch([record] * min(step, n - first)) for first in range(0, n, step))
    packed = np.concatenate(list(_reports(subject, box, batches, progress, n)))
    second, third = (subject.probability_all_equal(record, power) for power in (2, 3))
    if second is not None and third is not None:
        counts = np.unique(packed.view(f"V{packed.shape[1]}"), return_counts=True)[1]
        equal = int((counts * (counts - 1) // 2).sum())
        value = np.array([repeats_p_value(equal, n, second, third)])
        what = "the number of equal reports"
        yield TestFamily.from_p_values("repeats", what, [value], reports=n, equal_pairs=equal)
    widest = max(subject.observations(packed, record), key=lambda each: (len(each.shown) == n) * each.shown.shape[1])
    what = "a report is independent of earlier ones, at any lag"
    yield TestFamily.from_p_values("lags", what, _lagged(widest.shown, widest.probabilities), reports=n)
    bits = subject.fair_bits(packed[:_BIT_REPORTS], record) if box.restarts_each_call else np.zeros((0, 0), np.uint8)
    values = np.array([complexity_p_value(linear_complexity(column), len(bits)) for column in bits.T.tolist()])
    what = "bits of probability 1/2 do not come from a shift register, nor have a short period"
    if len(values):
        yield TestFamily.from_p_values("linear complexity", what, [values], bits=len(bits))


def _lagged(shown: NDArray[np.uint8], probabilities: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Choose lags by the correlations of the first half; test them in the second, on pairs that share no report."""
    half, varied = len(shown) // 2, (probabilities > 0) & (probabilities < 1)
    shown, probabilities = shown[:, varied], probabilities[varied]
    if half < 2 or not len(probabilities):
        return
    padded, sums = 1 << (2 * half - 1).bit_length(), np.zeros(half)
    for column, mean in zip(shown[:half].T, probabilities, strict=True):
        spectrum = np.fft.rfft((column - mean) / math.sqrt(mean * (1 - mean)), padded)
        sums += np.fft.irfft(np.abs(spectrum) ** 2, padded)[:half]
    strength = np.abs(sums[1:]) / np.sqrt(np.arange(half - 1, 0, -1))
    rest, places = shown[half:], np.arange(half)
    for lag in (np.argsort(-strength)[:_LAGS] + 1).tolist():
        for parity in range(2):  # pairs of these share no report
            first = places[(places // lag % 2 == parity) & (places + lag < half)]
            both = (rest[first] & rest[first + lag]).sum(axis=0, dtype=np.int64)
            yield p_values(both, len(first), probabilities**2)


# ---- separate starts


def _check_restarts(subject: Subject, box: BlackBox, record: Any) -> Iterator[TestFamily]:
    """Start a program many times; reports at the same place of two starts must be equal as seldom as any two."""
    second, third = (subject.probability_all_equal(record, power) for power in (2, 3))
    if second is None or third is None:
        return
    equal = max(float(second), 1e-9)  # with enough reports no two starts agree in all of them by chance
    length = min(_START_REPORTS, math.ceil(-60 / math.log2(equal))) if second < 1 else 1
    batch, seen, last = subject.batch([record] * length), list[NDArray[np.uint8]](), monotonic() + _START_SECONDS
    while len(seen) < 2 or (len(seen) < _STARTS and monotonic() < last):
        seen += _reports(subject, box, iter([batch]))
    n, values = len(seen), []
    for place in range(length):
        counts = np.unique([each[place].tobytes() for each in seen], return_counts=True)[1]
        values.append(repeats_p_value(int((counts * (counts - 1) // 2).sum()), n, second, third))
    what = f"reports at the same place of {n:,} starts are equal as seldom as any two reports"
    yield TestFamily.from_p_values("separate starts", what, [np.array(values)], starts=n, reports_each=length)
    whole = np.unique([each.tobytes() for each in seen], return_counts=True)[1]
    bits = max(0, math.floor(math.log2(n**2 / 6)))  # seeds of so few bits all differ with probability e^-3
    what = f"no start repeats another ({n:,} starts would repeat with seeds of at most {bits} bits)"
    value = min(1.0, comb(n, 2) * float(second) ** length) if whole.max() > 1 else 1.0
    yield TestFamily.from_p_values("many starts", what, [np.array([value])], starts=n, seed_bits=bits)


# ---- lower bounds of ε


class _EpsilonCounts:
    """Counts of bytes and kept items of some records' reports, in two parts: to choose sets, and to test them."""

    def __init__(self, subject: Subject, records: Sequence[Any]) -> None:
        self._subject, self._records, k = subject, records, len(records)
        self._octets = np.zeros((2, k, subject.plan.report_bytes, 256), dtype=np.int64)
        self._kept = np.zeros((2, k, k, 256), dtype=np.int64)  # by the other record, of reports of it and of the first

    def add(self, place: int, part: int, packed: NDArray[np.uint8]) -> None:
        """Count reports of one record."""
        for byte in range(packed.shape[1]):
            self._octets[part, place, byte] += np.bincount(packed[:, byte], minlength=256)
        first = 16 * self._subject.items_kept(packed, self._records[0])
        for other in range(1, len(self._records)):
            if place in (0, other):
                cells = first + self._subject.items_kept(packed, self._records[other])
                self._kept[part, other, place] += np.bincount(cells, minlength=256)

    def events(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield hits and totals in the test part, of sets that distinguish a record from the first, and reversed."""
        for other in range(1, len(self._records)):
            for sides in ((0, other), (other, 0)):
                for tables in (self._octets, self._kept[:, other, :, None]):
                    number, values = _best_set(*(tables[0, place] for place in sides))
                    likelier, rarer = (tables[1, place, number] for place in sides)
                    yield int(likelier[values].sum()), int(likelier.sum()), int(rarer[values].sum()), int(rarer.sum())


def _best_set(first: Counts, second: Counts) -> tuple[int, NDArray[np.bool_]]:
    """Return the set with the best expected bound: values in the order of their likelihood ratio, cut off."""
    order = np.argsort(-(first + 0.5) / (second + 0.5), axis=1, kind="stable")
    likelier = np.take_along_axis(first, order, axis=1).cumsum(axis=1)
    rarer = np.take_along_axis(second, order, axis=1).cumsum(axis=1)
    low = np.maximum(likelier - _ERRORS * np.sqrt(likelier), 0.5) / np.maximum(first.sum(axis=1), 1)[:, None]
    high = (rarer + _ERRORS * np.sqrt(rarer) + _ERRORS**2) / np.maximum(second.sum(axis=1), 1)[:, None]
    number, last = np.unravel_index(np.argmax(low / high), low.shape)
    values = np.zeros(first.shape[1], dtype=np.bool_)
    values[order[number, : last + 1]] = True
    return int(number), values


def _epsilon_finding(pairs: Sequence[_EpsilonCounts], gamma: Fraction, false_alarm: float) -> Finding:
    events = [event for pair in pairs for event in pair.events()]
    each, best, broken = false_alarm / (2 * max(1, len(events))), 0.0, False
    for hits, total, other_hits, other_total in events:
        likelier = lower_probability_bound(hits, total, each) * (1 - _ROUNDING)
        rarer = min(1.0, upper_probability_bound(other_hits, other_total, each) * (1 + _ROUNDING))
        broken |= Fraction(likelier) > gamma * Fraction(rarer)
        best = max(best, math.log(likelier / rarer) if likelier > rarer else 0.0)
    guaranteed = epsilon_from_amplification(gamma)
    message = f"The client's ε is at least {best:.4f}; the plan guarantees at most {guaranteed:.4f}."
    if broken:
        message = f"Reports distinguish two records by more than the plan's γ. {message}"
    figures = {"epsilon_low": best, "epsilon": guaranteed, "bounds": len(events), "false_alarm": false_alarm}
    return Finding(DISTRIBUTIONS, "amplification", BROKEN if broken else CONSISTENT, message, figures)


def lower_probability_bound(count: int, trials: int, alpha: float) -> float:
    """Return the lower Clopper–Pearson bound of a probability at one-sided level alpha."""
    from scipy.stats import beta

    return float(beta.ppf(alpha, count, trials - count + 1)) if count else 0.0


def upper_probability_bound(count: int, trials: int, alpha: float) -> float:
    """Return the upper Clopper–Pearson bound of a probability at one-sided level alpha.

    >>> bound = upper_probability_bound
    >>> round(bound(0, 10, 0.05), 4), bound(10, 10, 0.05)
    (0.2589, 1.0)
    """
    from scipy.stats import beta

    return float(beta.isf(alpha, count + 1, trials - count)) if count < trials else 1.0
