"""Randomize many transactions at once, in compiled code fed with blocks of entropy.

This module sees raw items and the persons' ids. Its errors contain neither. For the same random words the reports equal
those of client/baskets/basket_client.py, one transaction after the other. With several report types, those of all
transactions of a chunk are drawn first, and then the responses are made for one report type after the other.

A shop's file holds many baskets of one customer, and reports of fifty baskets have the γ of one report to the power 50.
So the reports of each person are limited to what the guarantee covers. Which baskets are reported depends only on the
operating system's entropy and on whose they are, never on their items.
"""

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.baskets.basket_client import (
    Responder,
    SetDraws,
    fit_transaction,
    kept_subsets,
    subsets_by_size,
)
from assocpriv.client.baskets.transactions import BasketCounts, transactions_of
from assocpriv.files.report_files import Reports, check_report_output, write_reports
from assocpriv.guarantees.entropy import MOST_REFILLS, GivenWords, SystemEntropy, WordEntropy, broken_source
from assocpriv.guarantees.errors import BasketError, PlanError, build_options
from assocpriv.guarantees.exact_numbers import MOST_MEMORY, binomial_words, check_range, to_words, words_for
from assocpriv.kernels.loops import DRAWS_AGAIN, IS_COMPILED, OUT_OF_WORDS, kernels
from assocpriv.kernels.parallel import default_memory, parallel_map, workers_within
from assocpriv.plans.baskets.generator import WORD_BITS, item_columns
from assocpriv.records.basket_sources import is_file
from assocpriv.records.baskets import Baskets, count_sizes
from assocpriv.records.columns import as_table
from assocpriv.records.layout import ReadOptions
from assocpriv.records.persons import limit_per_person

if TYPE_CHECKING:
    from assocpriv.plans.baskets.basket_plan import Plan
    from assocpriv.plans.baskets.report_type import ReportType

_Ints: TypeAlias = NDArray[np.int64]
_Words: TypeAlias = NDArray[np.uint64]
CHUNK = 1 << 15  # largest number of transactions in a task
_CHUNK_WORDS = 1 << 20  # of their reports: 8 MiB
_SPARE_WORDS = 64
_MOST_SOLVED = 1024  # transactions
SOLVED_WORDS = 1 << 15  # of their equations: 256 KiB, to stay in a level-2 cache
_LOG = logging.getLogger("assocpriv")


@dataclass(frozen=True)
class RandomizedChunk:
    """Reports of consecutive transactions, uint8 (n, report_bytes), and data that must stay on the device.

    ``raw_fitted`` holds for each report type the M entries, padding items included, to which each transaction with that
    report type was cut or padded, int64 (n, M).
    """

    packed: NDArray[np.uint8]
    raw_fitted: tuple[NDArray[np.int64], ...] = field(repr=False)


class SetTables:
    """Tables for reports of a fixed size, in the kernel's form.

    ``words`` is the largest number of words for a report if no draw is rejected; sampling needs none.
    """

    def __init__(self, report_type: "ReportType") -> None:
        operator, draws = report_type.fixed, SetDraws.from_operator(report_type.fixed)
        bounds = (draws.cumulative[-1], *draws.added_choices, draws.added_bound)
        bits = [(bound - 1).bit_length() for bound in bounds]
        self._words = [-(-length // WORD_BITS) for length in bits]
        self.words = self._words[0] + 1 + self._words[-1]
        limits = [(1 << WORD_BITS * words) % bound for words, bound in zip(self._words, bounds, strict=True)]
        n_words, n_total = words_for(max(bits)), words_for(draws.cumulative[-1].bit_length())
        self._draws = (
            np.array([to_words(total, n_total) for total in draws.cumulative], dtype=np.uint64),
            # a power of two may not fit; its bit length is enough
            np.array([[to_words(n, n_words) for n in pair] for pair in zip(bounds, limits, strict=True)], np.uint64),
            np.array([[b, 1 << b == bound] for b, bound in zip(bits, bounds, strict=True)], dtype=np.int64),
            np.array(subsets_by_size(operator.size), dtype=np.int64),
        )
        self._numbers = report_type.n_items, draws.fewest
        self._binomials = binomial_words(operator.items, operator.report_size)
        # for each draw the chance that it is rejected and drawn again, which a power of two never is
        self._again = [
            0.0 if 1 << b == bound else limit / (1 << WORD_BITS * words)
            for b, bound, limit, words in zip(bits, bounds, limits, self._words, strict=True)
        ]

    def spare_words(self, n_reports: int) -> int:
        """Return how many further words replace rejected ones, except with a probability below 2^-1000.

        The repeated draws are a sum of geometric variables, each with a rejection probability below 1/2: they exceed
        their mean by 40 standard errors and 3,000 with a probability below e^-700 (Bernstein).
        """
        again = [self._again[0], self._again[-1]]
        mean = n_reports * sum(chance / (1 - chance) for chance in again)
        deviation = math.sqrt(n_reports * sum(chance / (1 - chance) ** 2 for chance in again))
        return max(self._words) * math.ceil(mean + 40 * deviation + 3000) if mean else 0

    def run(self, offsets: _Ints, items: _Ints, words: _Words, fitted: _Ints, reports: _Words, result: _Ints) -> int:
        """Run the kernel."""
        scratch, tables = self._scratch(offsets, fitted.shape[1]), (*self._draws, self._binomials)
        return kernels.randomize_sets(offsets, items, words, *tables, *scratch, fitted, reports, result, *self._numbers)

    def _scratch(self, offsets: _Ints, m: int) -> tuple[_Ints, _Ints, _Words, _Words, _Words, _Ints]:
        cumulative, bounds = self._draws[:2]
        n_items, _, n_words = self._binomials.shape
        return (
            np.empty(_longest(offsets, m), dtype=np.int64),
            np.empty(m + 2, dtype=np.int64),
            np.empty((4, max(bounds.shape[2], cumulative.shape[1], n_words)), dtype=np.uint64),
            np.empty((4, n_items), dtype=np.uint64),
            np.empty((2 * n_words + 3, 64), dtype=np.uint64),
            np.empty(n_items, dtype=np.int64),
        )


class SubsetTables:
    """Tables for reports of a kept subset, as bits or by a seed, in the kernel's form; ``words`` as in SetTables."""

    def __init__(self, report_type: "ReportType") -> None:
        operator = report_type.independent
        subsets = kept_subsets(operator)
        n_words = -(-operator.weight_bits // WORD_BITS)
        # the last total is 2^weight_bits, which may not fit; no draw reaches it, so any value does
        cumulative = np.array([to_words(total, n_words) for total in subsets.cumulative], dtype=np.uint64)
        self._subsets = (cumulative, np.array(subsets.masks, dtype=np.int64))
        self._columns = _columns_of(report_type)
        numbers = (operator.insert_num, operator.insert_bits, operator.weight_bits, report_type.report_bits)
        self._numbers, self._slots = (report_type.n_items, *numbers), _solved_slots(report_type)
        report_words, r = -(-report_type.report_bits // WORD_BITS), operator.insert_bits
        shown = (
            report_words * r
            if report_type.generator.is_seedless
            else report_words + report_type.transaction_size * int(r > 1)
        )
        self.words = n_words + shown

    def spare_words(self, _n_reports: int) -> int:
        """Return 0: rejected draws are few, and BulkResponder adds spare words for them."""
        return 0

    def run(self, offsets: _Ints, items: _Ints, words: _Words, fitted: _Ints, reports: _Words, result: _Ints) -> int:
        """Run the kernel."""
        scratch, tables = self._scratch(offsets, fitted.shape[1]), (*self._subsets, self._columns)
        return kernels.randomize_transactions(
            offsets, items, words, *tables, *scratch, fitted, reports, result, *self._numbers
        )

    def _scratch(self, offsets: _Ints, m: int) -> tuple[_Ints, _Ints, _Words, _Ints, _Words, _Ints, _Words]:
        _, _, insert_bits, weight_bits, report_bits = self._numbers
        rows, slots = m * insert_bits, self._slots
        n_words = words_for(report_bits) + words_for(rows)
        return (
            np.empty(_longest(offsets, m), dtype=np.int64),
            np.empty(m, dtype=np.int64),
            np.empty(max(n_words, words_for(weight_bits)), dtype=np.uint64),
            np.full((slots, m), -1, dtype=np.int64),
            np.empty((slots, n_words, rows), dtype=np.uint64),
            np.empty((slots, rows), dtype=np.int64),
            np.empty(rows, dtype=np.uint64),
        )


_TABLES: "dict[str, Callable[[ReportType], SetTables | SubsetTables]]" = {
    "bits": SubsetTables,
    "seed": SubsetTables,
    "rank": SetTables,
}


class BulkResponder:
    """Tables of one report type, built once for any number of chunks."""

    def __init__(self, report_type: "ReportType") -> None:
        self.report_type = report_type
        self._tables = _TABLES[report_type.form.name](report_type)
        self._responder = Responder(report_type)

    def words_needed(self, offsets: NDArray[np.int64]) -> int:
        """Return the largest number of words for these transactions' entries if no draw is rejected."""
        m = self.report_type.transaction_size
        return (len(offsets) - 1) * self._tables.words + int((np.diff(offsets) > m).sum()) * m

    def spare_words(self, n_transactions: int) -> int:
        """Return how many further words replace rejected ones, except with a probability below 2^-1000."""
        return _SPARE_WORDS + self._tables.spare_words(n_transactions)

    def run(
        self, offsets: _Ints, entries: _Ints, words: _Words, fitted: _Ints, reports: _Words
    ) -> tuple[int, int, int]:
        """Randomize transactions as long as words last; return (transactions done, words used, status)."""
        result, done, used = np.empty(2, dtype=np.int64), 0, 0
        while True:
            if IS_COMPILED or isinstance(self._tables, SubsetTables):
                rest = fitted[done:], reports[done:], result
                done += self._tables.run(offsets[done:], entries, words[used:], *rest)
                used += int(result[0])
                if result[1] != DRAWS_AGAIN:
                    return done, used, int(result[1])
            if done == len(offsets) - 1:
                return done, used, 0
            transaction, source = entries[offsets[done] : offsets[done + 1]].tolist(), GivenWords(words[used:])
            try:
                octets = self._responder.respond(transaction, source)
            except EOFError:
                return done, used, OUT_OF_WORDS
            fitted[done] = fit_transaction(transaction, self.report_type, GivenWords(words[used:]))
            reports[done] = np.frombuffer(octets.ljust(8 * reports.shape[1], b"\0"), dtype="<u8")
            done, used = done + 1, used + source.used

    def respond(
        self, offsets: NDArray[np.int64], entries: NDArray[np.int64], words: NDArray[np.uint64], entropy: WordEntropy
    ) -> "ResponseBatch":
        """Randomize transactions with the given words first, then with further words of ``entropy``."""
        reports = np.zeros((len(offsets) - 1, -(-self.report_type.report_bits // WORD_BITS)), dtype=np.uint64)
        fitted = np.zeros((len(offsets) - 1, self.report_type.transaction_size), dtype=np.int64)
        done = stuck = 0
        while stuck < MOST_REFILLS:
            rest = fitted[done:], reports[done:]
            more, used, status = self.run(offsets[done:], entries, words, *rest)
            done, stuck = done + more, 0 if more else stuck + 1
            if status == 0:
                break
            if status != OUT_OF_WORDS:
                raise PlanError("the plan's generator does not have the independence it states")
            words = np.concatenate([words[used:], entropy.words(_SPARE_WORDS + len(words) // 16)])
        else:
            raise broken_source()
        packed = reports.astype("<u8", copy=False).view(np.uint8)[:, : self.report_type.form.length]
        return ResponseBatch(packed, fitted, words[used:])


class ResponseBatch(NamedTuple):
    """Packed responses, uint8 (n, bytes), of fitted transactions, int64 (n, M), and the unused words."""

    packed: NDArray[np.uint8]
    fitted: NDArray[np.int64]
    words: NDArray[np.uint64]


def _longest(offsets: NDArray[np.int64], least: int) -> int:
    """Return the size of the largest transaction, and at least ``least``."""
    return max(least, int(np.diff(offsets).max(initial=0)))


def _columns_of(report_type: "ReportType") -> NDArray[np.uint64]:
    if report_type.generator.is_seedless:
        return np.empty((0, 1, 1), dtype=np.uint64)
    items = np.arange(report_type.padded_items, dtype=np.int64)
    return item_columns(report_type.generator, report_type.independent.insert_bits, items)


class BulkRandomizer:
    """Tables of one plan; it draws a report type for each transaction."""

    def __init__(self, plan: "Plan") -> None:
        self.plan = plan
        self._responders = [BulkResponder(report_type) for report_type in plan.report_types]

    def words_needed(self, baskets: Baskets) -> int:
        """Return the largest number of words for these transactions under any report types, if no draw is rejected."""
        # a view has no more entries than the transaction has items
        most = max(each.words_needed(baskets.offsets) for each in self._responders)
        return most + (len(baskets) if len(self._responders) > 1 else 0)

    def spare_words(self, baskets: Baskets) -> int:
        """Return how many further words replace rejected ones, except with a probability below 2^-1000."""
        return sum(each.spare_words(len(baskets)) for each in self._responders)

    def randomize(self, baskets: Baskets, words: NDArray[np.uint64], entropy: WordEntropy) -> RandomizedChunk:
        """Randomize transactions with the given words first, then with further words of ``entropy``."""
        if len(self._responders) == 1:
            [responder] = self._responders
            offsets, entries = responder.report_type.view.entries_of_many(baskets.offsets, baskets.items)
            responses = responder.respond(offsets, entries, words, entropy)
            return RandomizedChunk(np.ascontiguousarray(responses.packed), (responses.fitted,))
        drawn, words = numbers_below(self.plan.total_weight, len(baskets), words, entropy)
        numbers = np.searchsorted(self.plan.cumulative_weights, drawn, side="right")
        packed = np.zeros((len(baskets), self.plan.report_bytes), dtype=np.uint8)
        packed[:, 0], start, fitted = numbers, self.plan.number_bytes, []
        for number, responder in enumerate(self._responders):
            rows = np.flatnonzero(numbers == number)
            part = baskets.take(rows)
            offsets, entries = responder.report_type.view.entries_of_many(part.offsets, part.items)
            responses = responder.respond(offsets, entries, words, entropy)
            packed[rows, start : start + responses.packed.shape[1]] = responses.packed
            words = responses.words
            fitted.append(responses.fitted)
        return RandomizedChunk(packed, tuple(fitted))


def numbers_below(
    bound: int, count: int, words: NDArray[np.uint64], entropy: WordEntropy
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return ``count`` numbers below a bound of at most 2^32, drawn as by ``Entropy.below``, and the unused words."""
    low, half = np.uint64((1 << 32) - 1), np.uint64(32)
    drawn, stuck = np.empty(0, dtype=np.int64), 0
    while len(drawn) < count:
        if stuck == MOST_REFILLS:
            raise broken_source()
        if not len(words):
            words = entropy.words(_SPARE_WORDS)
        some = words[: count - len(drawn)]
        words = words[len(some) :]
        n = np.uint64(bound)
        if bound & (bound - 1) == 0:
            numbers = some & (n - np.uint64(1))
        else:
            # the upper half of word · bound, without draws that the lower half rejects
            numbers = ((some >> half) * n + ((some & low) * n >> half)) >> half
            numbers = numbers[some * n >= np.uint64((1 << WORD_BITS) % bound)]
        drawn, stuck = np.append(drawn, numbers.astype(np.int64)), 0 if len(numbers) else stuck + 1
    return drawn, words


def _solved_slots(report_type: "ReportType") -> int:
    """Return how many transactions' solved equations to keep, a power of two."""
    equations = report_type.transaction_size * report_type.independent.insert_bits
    each = equations * (-(-report_type.report_bits // WORD_BITS) + -(-equations // WORD_BITS) + 1)
    return 1 << max(1, min(_MOST_SOLVED, SOLVED_WORDS // each)).bit_length() - 1


def _check_batch(baskets: Baskets, plan: "Plan") -> None:
    """Refuse another catalogue, and arrays that no constructor makes: compiled code would read outside its tables."""
    if baskets.catalogue != plan.catalogue:
        raise BasketError("the baskets do not use the plan's catalogue; align them with Baskets.aligned first")
    offsets = baskets.offsets - baskets.offsets[0]
    items = baskets.items[baskets.offsets[0] : baskets.offsets[-1]]
    rising = np.diff(items) > 0
    starts = offsets[1:-1]
    rising[starts[(starts > 0) & (starts < len(items))] - 1] = True
    in_range = not len(items) or (items.min() >= 0 and items.max() < len(baskets.catalogue))
    if (np.diff(offsets) < 0).any() or not in_range or not rising.all():
        raise BasketError("ids must lie in the catalogue and rise within each basket; use Baskets.from_sets")


def randomize_chunks(
    baskets: Baskets | Iterable[Baskets],
    plan: "Plan",
    *,
    entropy: WordEntropy,
    chunk: int | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[RandomizedChunk]:
    """Randomize all transactions, given at once or in batches, in order, on all cores (or ``workers`` threads).

    The system's entropy is drawn on all cores. Words of a seeded source are drawn here, chunk by chunk, so that it
    gives the same reports on any number of cores (for one chunk size; threads draw for themselves only if more draws
    are rejected than there are spare words, which has a probability below 2^-1000).

    ``progress`` is called with (baskets done, baskets so far) when the next chunk is requested.

    Raises:
        BasketError: the baskets do not use the plan's catalogue, or hold ids outside it.
    """
    randomizer = BulkRandomizer(plan)
    chunk = chunk or min(CHUNK, max(1, _CHUNK_WORDS * WORD_BITS // (8 * plan.report_bytes)))

    done = total = 0

    def draw(part: Baskets) -> NDArray[np.uint64]:
        return entropy.words(randomizer.words_needed(part) + randomizer.spare_words(part))

    def parts() -> Iterator[tuple[Baskets, NDArray[np.uint64] | None]]:
        nonlocal total
        for batch in [baskets] if isinstance(baskets, Baskets) else baskets:
            _check_batch(batch, plan)
            total += len(batch)
            for start in range(0, len(batch), chunk):
                part = batch[start : start + chunk]
                yield part, None if entropy.is_shared else draw(part)

    def work(given: tuple[Baskets, NDArray[np.uint64] | None]) -> RandomizedChunk:
        part, words = given
        return randomizer.randomize(part, draw(part) if words is None else words, entropy)

    for randomized in parallel_map(work, parts(), workers):
        yield randomized
        done += len(randomized.packed)
        if progress:
            progress(done, total)


# ---- baskets into reports


def randomize_records(
    baskets: Any,
    plan: "Plan",
    output: str | PathLike[str] | None = None,
    *,
    memory_bytes: int | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
    person: str | int | None = None,
    person_as: str = "checked",
    **reading: Any,
) -> tuple[Reports | None, BasketCounts]:
    """Randomize many baskets with the operating system's entropy, into memory or a file; see assocpriv.randomize.

    Baskets are files, :class:`Baskets`, lists of sets or tables; ``reading`` are the fields of :class:`ReadOptions`.
    With a column ``person`` each person gets at most the reports that the plan's guarantee allows; ``person_as`` is as
    in :func:`limit_per_person`.
    """
    if person is None and person_as != "checked":
        raise BasketError("person_as needs person, the column of persons; name it, too")
    if output is not None:
        check_report_output(output)
    memory = default_memory() if memory_bytes is None else check_range("memory_bytes", memory_bytes, 1, MOST_MEMORY)
    in_file = is_file(baskets)
    of_files = {"memory_bytes": memory, "progress": progress} if in_file else {}
    options, people = build_options(ReadOptions, reading | of_files), None
    if person is not None and not in_file:
        baskets = as_table(baskets, BasketError)  # read twice
    batches, read = transactions_of(baskets, plan, options)
    if person is not None:
        kept = limit_per_person(
            baskets, person, plan.reports_per_person, plan.catalogue, replace(options, progress=None), person_as
        )
        batches, people = map(kept.select, batches), kept.people
    sizes: Counter[int] = Counter()

    def count_batches() -> Iterator[Baskets]:
        for batch in batches:
            sizes.update(count_sizes(batch))
            yield batch

    workers, show = workers_within(memory), None if in_file else progress
    chunks = randomize_chunks(count_batches(), plan, entropy=SystemEntropy(), workers=workers, progress=show)
    packed = (chunk.packed for chunk in chunks)
    if output is not None:
        write_reports(packed, plan, output, force=force)
        return None, BasketCounts(read(), sizes, people)
    reports = Reports(plan, np.concatenate([np.empty((0, plan.report_bytes), np.uint8), *packed]))
    return reports, BasketCounts(read(), sizes, people)
