"""Basket plans under audit: the test baskets, their recomputed reports, and the features that reports show.

A record is a transaction, a tuple of increasing item ids. The distribution tests use the baskets that are hardest to
hide and those that an error would make distinguishable: a full one, one that shares nothing with it, one item changed,
longer than M, beyond 64 and 1,024 items, an empty one, the first and the last item. The replay uses baskets of all
sizes, and every item of the shuffled catalogue, alone, with one other and with M − 1 others.

For a plan of several report types the audit tests the draw of the report type, then the responses of each report type.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.audit_subject import Observation, RecordBatch, Subject
from assocpriv.auditing.recompute_guarantee import ReportTypeNumbers, check_integers, read_numbers
from assocpriv.auditing.recompute_reports import (
    Draws,
    basis_over_gf2,
    cumulative_weights,
    masks,
    reduced,
    words_at,
)
from assocpriv.client.baskets.basket_client import Randomizer
from assocpriv.client.baskets.bulk_client import randomize_chunks
from assocpriv.guarantees.entropy import SystemEntropy
from assocpriv.records.baskets import Baskets
from assocpriv.server.baskets.bitmaps import ItemTables, planes_of

if TYPE_CHECKING:
    from assocpriv.auditing.findings import Finding
    from assocpriv.plans.baskets.basket_plan import Plan
    from assocpriv.plans.baskets.report_type import ReportType

_LONG = (63, 64, 65, 100, 257, 1000, 1023, 1024, 1025, 1500, 4096)  # further basket sizes to test
_RANDOM_SIZES = 100  # sizes from 8 on, drawn anew each time
_MAX_ITEMS = 8192  # items of the catalogue that one audit tests
_OTHER_ITEMS, _SEED_BITS = 24, 64  # items outside the record, and seed bits, that are tested

Record = tuple[int, ...]


class BasketSubject(Subject):
    """A basket plan."""

    plan: "Plan"

    def __init__(self, plan: "Plan", text: str, rng: np.random.Generator) -> None:
        super().__init__(plan, text, rng)
        self.numbers = read_numbers(text)
        shown = (float(each.form.shown_probability(1, 0)) for each in self.numbers.report_types)
        inside = max(max(each, 1 - each) for each in shown)
        self.repetitions = max(64, math.ceil(-23 / math.log(inside)))  # e^-23 is about 10^-10
        self._features: dict[tuple[int, Record], _Features] = {}

    @staticmethod
    def check_guarantee(_plan: Any, text: str) -> "list[Finding]":
        """Recompute γ from the text's integers, and compare it with the stated figures."""
        return check_integers(text)

    def randomize_bulk(self, given: Baskets) -> Iterable[NDArray[np.uint8]]:
        """Yield reports of baskets."""
        return (chunk.packed for chunk in randomize_chunks(given, self.plan, entropy=SystemEntropy()))

    @cached_property
    def _randomizer(self) -> Randomizer:
        return Randomizer(self.plan)

    def randomize_one(self, record: Record) -> bytes:
        """Return the report of a basket."""
        return self._randomizer.randomize(record, entropy=SystemEntropy())

    def batch(self, records: Sequence[Record]) -> RecordBatch:
        """Return transactions over the plan's catalogue."""
        offsets = np.append(0, np.cumsum([len(items) for items in records])).astype(np.int64)
        flat = np.array([item for items in records for item in items], dtype=np.int64)
        return RecordBatch(Baskets(self.plan.catalogue, offsets, flat), records)

    def program_input(self, batch: RecordBatch) -> bytes:
        """Return a transaction a line, ids with a blank between two."""
        return "".join(" ".join(map(str, items)) + "\n" for items in batch.records).encode("ascii")

    def device_record(self, record: Record) -> list[str]:
        """Return the names of a basket."""
        return [self.plan.catalogue[item] for item in record]

    # ---- replay of random words

    def sample_records(self, count: int) -> list[list[Record]]:
        """Return baskets of all sizes, and every item of the shuffled catalogue, alone and in baskets of 2 and M."""
        n, m, some = self.numbers.n_items, self._largest, count // 8
        dealt = self.rng.permutation(n)[: min(_MAX_ITEMS, count // 2)].tolist()
        full = [tuple(sorted(dealt[at : at + size])) for size in (2, m) for at in range(0, len(dealt), size)]
        long = [*_LONG, *(2 ** self.rng.uniform(3, 12, _RANDOM_SIZES)).astype(int).tolist()]
        sizes = {*range(min(n, 6 * m + 3) + 1), *(size for size in long if size <= n), n * (n <= _LONG[-1])}
        bounds = {bound for each in self.numbers.report_types for bound in each.bounds}
        sizes |= {size for bound in bounds for size in (bound - 1, bound) if size <= 4096}
        times = min(20, some // len(sizes))
        others = [self._draw(size) for size in sorted(sizes) for _ in range(1 + (size <= 64) * times)]
        baskets = [*full, *((item,) for item in dealt), *others]
        order = self.rng.permutation(np.resize(np.arange(len(baskets)), max(count, len(baskets))))
        return [[baskets[place] for place in order.tolist()]]

    @property
    def _largest(self) -> int:
        return min(self.numbers.n_items, max(each.transaction_size for each in self.numbers.report_types))

    def _draw(self, size: int) -> Record:
        return tuple(np.sort(self.rng.choice(self.numbers.n_items, size, replace=False)).tolist())

    def recompute_report(self, record: Record, words: Draws) -> bytes:
        """Return the report that docs/formats/client.md defines."""
        several = len(self.numbers.report_types) > 1
        return self._report(words.pick(self.numbers.cumulative) if several else 0, record, words)

    def _report(self, number: int, record: Record, words: Draws) -> bytes:
        report_type = self.numbers.report_types[number]
        entries, m = report_type.entries(record), report_type.transaction_size
        for place in range(m if len(entries) > m else 0):
            other = place + words.below(len(entries) - place)
            entries[place], entries[other] = entries[other], entries[place]
        fitted = [*entries[:m], *range(report_type.n_items, report_type.n_items + m - len(entries))]
        answer = report_type.form.drawn(fitted, words).to_bytes(report_type.report_bytes, "little")
        return self.numbers.report(number, answer)

    def edge_words(self) -> list[int]:
        """Return words at the boundaries of the weights of report types and of kept subsets, 512 at most."""
        found = list(words_at(self.numbers.cumulative))
        for report_type in self.numbers.report_types:
            sums = cumulative_weights(report_type.form)
            found += words_at([sums[place] for place in np.linspace(0, len(sums) - 1, 256).astype(int)])
        return found

    def recompute_batch(self, records: Sequence[Record], words: Draws) -> Iterator[tuple[int, bytes]]:
        """Yield reports. With several report types the client first draws that of each record, then the responses."""
        if len(self.numbers.report_types) == 1:
            yield from super().recompute_batch(records, words)
            return
        drawn = [words.pick(self.numbers.cumulative) for _ in records]
        for number in range(len(self.numbers.report_types)):
            for place, record in enumerate(records):
                if drawn[place] == number:
                    yield place, self._report(number, record, words)

    # ---- output distributions

    def worst_case_records(self) -> list[list[Record]]:
        """Return the baskets hardest to hide, and some that an error would make distinguishable."""
        n, m = self.numbers.n_items, self._largest
        first, last = tuple(range(m)), tuple(range(n - m, n))
        spare = next((item for item in (n // 2, n - 1) if item not in first), None)
        changed = first if spare is None else (*first[:-1], spare)
        long = [tuple(range(size)) for size in (2 * m + 3, 65, 1025) if m < size <= n]
        return [list(dict.fromkeys([first, last, tuple(sorted(changed)), *long, (), (0,), (n - 1,), self._draw(m)]))]

    def observations(self, packed: NDArray[np.uint8], record: Record) -> Iterator[Observation]:
        """Yield how often each report type is drawn, and the features that its responses show."""
        several = len(self.numbers.report_types) > 1
        drawn = packed[:, 0] if several else np.zeros(len(packed), np.uint8)
        if several:
            shares = np.array([float(share) for share in self.numbers.shares])
            yield Observation("report type", (drawn[:, None] == np.arange(len(shares))).astype(np.uint8), shares)
        for number in range(len(self.plan.report_types)):
            responses = packed[drawn == number, several : several + self.numbers.report_types[number].report_bytes]
            if len(responses):
                yield from self._features_of(number, record).observations(
                    np.ascontiguousarray(responses), f", report type {number}" * several
                )

    def _features_of(self, number: int, record: Record) -> "_Features":
        if (number, record) not in self._features:
            numbers, report_type = self.numbers.report_types[number], self.plan.report_types[number]
            self._features[number, record] = _Features(numbers, report_type, record, self.rng)
        return self._features[number, record]

    def items_kept(self, packed: NDArray[np.uint8], record: Record) -> NDArray[np.int64]:
        """Return how many of the record's items reports show, for a plan of one report type."""
        if len(self.numbers.report_types) > 1:
            return super().items_kept(packed, record)
        return np.minimum(self._features_of(0, record).items_kept(packed), 15)

    def probability_all_equal(self, record: Record, power: int) -> Fraction | None:
        """Return Σ P^power over reports; None for a basket longer than M, whose sampling makes the sum smaller."""
        parts = zip(self.numbers.shares, self.numbers.report_types, strict=True)
        if any(len(each.entries(record)) > each.transaction_size for each in self.numbers.report_types):
            return None
        return sum((share**power * each.form.collision_moment(power) for share, each in parts), Fraction(0))

    def fair_bits(self, packed: NDArray[np.uint8], record: Record) -> NDArray[np.uint8]:
        """Return free bits of seeds, or items that are shown with probability 1/2."""
        report_type = self.numbers.report_types[0]
        if len(self.numbers.report_types) > 1 or len(record) > report_type.transaction_size:
            return super().fair_bits(packed, record)
        return np.unpackbits(packed, axis=1, bitorder="little")[:, self._features_of(0, record).fair_bits[:16]]


class _Features:
    """The features of a report type's responses that are tested for one record.

    They are the record's own items, some other items, and bits that the own items leave free.
    """

    def __init__(
        self, numbers: ReportTypeNumbers, report_type: "ReportType", record: Record, rng: np.random.Generator
    ) -> None:
        form, entries = numbers.form, numbers.entries(record)
        self._report_type, self._sampled = report_type, len(entries) > form.size
        self._own = [*entries, *range(numbers.n_items, numbers.n_items + form.size - len(entries))]
        others = np.setdiff1d(np.arange(form.items), self._own)
        self._own = [self._own[place] for place in np.unique(np.linspace(0, len(self._own) - 1, 64).astype(int))]
        self._others = rng.permutation(others)[:_OTHER_ITEMS].tolist()
        self._tables = ItemTables(report_type, np.array([*self._own, *self._others], dtype=np.int64))
        inside, outside = (form.shown_probability(a, 1 - a) for a in (1, 0))
        if self._sampled:
            share = Fraction(form.size, len(entries))
            inside = share * inside + (1 - share) * outside
        self._probabilities = np.array([float(inside)] * len(self._own) + [float(outside)] * len(self._others))
        self._joint: NDArray[np.float64] | None = None
        if not self._sampled and (not form.seed_bits or numbers.itemset_size > 1):
            held = np.arange(len(self._probabilities)) < len(self._own)
            both = [float(form.shown_probability(a, 2 - a)) if a <= form.size else np.nan for a in range(3)]
            self._joint = np.array(both)[held[:, None].astype(int) + held]
            np.fill_diagonal(self._joint, np.nan)
        self._sizes = np.array(list(map(float, form.size_distribution)))
        self.fair_bits: list[int] = []
        if form.seed_bits and not self._sampled:
            basis = basis_over_gf2(mask for item in self._own for mask in masks(form, item))
            places = np.unique(np.linspace(0, form.seed_bits - 1, _SEED_BITS).astype(int)).tolist()
            self.fair_bits = [place for place in places if reduced(1 << place, basis)]
        elif form.others_independent and form.others_shown(0, 1) == Fraction(1, 2):
            self.fair_bits = others[:_SEED_BITS].tolist()

    def observations(self, packed: NDArray[np.uint8], which: str) -> Iterator[Observation]:
        """Yield the features that some responses show."""
        shown = self._shown(packed)
        yield Observation("items shown" + which, shown, self._probabilities, self._joint)
        if not self._sampled:
            kept = shown[:, : len(self._own)].sum(axis=1)
            equal = (kept[:, None] == np.arange(len(self._sizes))).astype(np.uint8)
            yield Observation("number kept" + which, equal, self._sizes)
        if self.fair_bits:
            bits = np.unpackbits(packed, axis=1, bitorder="little")[:, self.fair_bits]
            yield Observation("seed" + which, bits, np.full(len(self.fair_bits), 0.5))

    def items_kept(self, packed: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return how many of the record's items responses show."""
        return np.asarray(self._shown(packed)[:, : len(self._own)].sum(axis=1), dtype=np.int64)

    def _shown(self, packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
        rows = self._tables.rows(planes_of(packed, self._report_type), len(packed))
        lines = np.ascontiguousarray(rows.transpose(1, 0, 2)).reshape(rows.shape[1], -1)
        octets = lines.astype("<u8", copy=False).view(np.uint8)
        return np.unpackbits(octets, axis=1, count=len(packed), bitorder="little").T
