"""Plans for baskets under audit: which baskets are asked about, their reports made anew, and what reports show.

A record is a transaction, a tuple of increasing item ids. Asked about often are those that are hardest to hide and
those that a mistake would tell apart: a full one, one that shares nothing with it, one item changed, longer than M,
beyond 64 and 1,024 items, an empty one, the first and the last item. Made anew are the reports of all sizes, and of
every item of the shuffled catalogue, alone, with one other and with M − 1.

Of a plan of several questions the coin is looked at for each record, and then each question's answers by themselves.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.clients import Batch, ClientReports, Ours
from assocpriv.auditing.recompute_promise import QuestionNumbers, check_integers, read_numbers
from assocpriv.auditing.recompute_reports import Draws, masks, weights_drawn, words_at
from assocpriv.auditing.subject import Look, Subject
from assocpriv.client.baskets import Randomizer
from assocpriv.client.bulk import randomize_chunks
from assocpriv.promise.entropy import SystemEntropy
from assocpriv.records.baskets import Baskets
from assocpriv.server.bitmaps import ItemTables, planes_of

if TYPE_CHECKING:
    from assocpriv.auditing.findings import Finding
    from assocpriv.plans.baskets import Plan
    from assocpriv.plans.question import Question

_LONG = (63, 64, 65, 100, 257, 1000, 1023, 1024, 1025, 1500, 4096)  # sizes of baskets that are asked about besides
_ANY = 100  # sizes from 8 on that are drawn, each time
_MOST_ITEMS = 8192  # of the catalogue, that are asked about in one audit
_WATCHED, _COINS = 24, 64  # other items, and seed bits, that are looked at

Record = tuple[int, ...]


class BasketSubject(Subject):
    """A plan for baskets."""

    plan: "Plan"

    def __init__(self, plan: "Plan", text: str, chance: np.random.Generator) -> None:
        super().__init__(plan, text, chance)
        self.numbers = read_numbers(text)
        shown = (float(each.form.shown_probability(1, 0)) for each in self.numbers.questions)
        inside = max(max(chance, 1 - chance) for chance in shown)
        self.each = max(64, math.ceil(-23 / math.log(inside)))  # e^-23 is about 10^-10
        self._looks: dict[tuple[int, Record], _Entries] = {}

    @staticmethod
    def promise(_plan: Any, text: str) -> "list[Finding]":
        """Recompute γ from the text's integers, and look at what it states."""
        return check_integers(text)

    @cached_property
    def clients(self) -> Mapping[str, Ours]:
        """Our clients of baskets."""
        randomizer = Randomizer(self.plan)

        def bulk(batch: Batch) -> Iterator[ClientReports]:
            for chunk in randomize_chunks(batch.given, self.plan, entropy=SystemEntropy()):
                yield ClientReports.of_packed(chunk.packed)

        def single(batch: Batch) -> Iterator[ClientReports]:
            made = [randomizer.randomize(items, entropy=SystemEntropy()) for items in batch.records]
            yield ClientReports.of_reports(made, self.plan.report_bytes)

        return {"bulk": Ours(bulk), "single": Ours(single)}

    def batch(self, records: Sequence[Record]) -> Batch:
        """Return transactions over the plan's catalogue."""
        offsets = np.append(0, np.cumsum([len(items) for items in records])).astype(np.int64)
        flat = np.array([item for items in records for item in items], dtype=np.int64)
        return Batch(Baskets(self.plan.catalogue, offsets, flat), records)

    def lines(self, batch: Batch) -> bytes:
        """Return a transaction a line, ids with a blank between two."""
        return "".join(" ".join(map(str, items)) + "\n" for items in batch.records).encode("ascii")

    def device_record(self, record: Record) -> list[str]:
        """Return the names of a basket."""
        return [self.plan.catalogue[item] for item in record]

    # ---- words

    def various(self, count: int) -> list[list[Record]]:
        """Return baskets of all sizes, and every item of the shuffled catalogue alone and in baskets of 2 and M."""
        n, m, some = self.numbers.n_items, self._largest, count // 8
        dealt = self.chance.permutation(n)[: min(_MOST_ITEMS, count // 2)].tolist()
        full = [tuple(sorted(dealt[at : at + size])) for size in (2, m) for at in range(0, len(dealt), size)]
        long = [*_LONG, *(2 ** self.chance.uniform(3, 12, _ANY)).astype(int).tolist()]
        sizes = {*range(min(n, 6 * m + 3) + 1), *(size for size in long if size <= n), n * (n <= _LONG[-1])}
        sizes |= {
            size
            for each in self.numbers.questions
            for bound in each.bounds
            for size in (bound - 1, bound)
            if size <= 4096
        }
        others = [
            self._some(size) for size in sorted(sizes) for _ in range(1 + (size <= 64) * min(20, some // len(sizes)))
        ]
        listed = [*full, *((item,) for item in dealt), *others]
        order = self.chance.permutation(np.resize(np.arange(len(listed)), max(count, len(listed))))
        return [[listed[place] for place in order.tolist()]]

    @property
    def _largest(self) -> int:
        return min(self.numbers.n_items, max(each.transaction_size for each in self.numbers.questions))

    def _some(self, size: int) -> Record:
        return tuple(np.sort(self.chance.choice(self.numbers.n_items, size, replace=False)).tolist())

    def remake(self, record: Record, words: Draws) -> bytes:
        """Return the report of docs/formats/client.md."""
        several = len(self.numbers.questions) > 1
        return self._report(words.pick(self.numbers.cumulative) if several else 0, record, words)

    def _report(self, number: int, record: Record, words: Draws) -> bytes:
        question = self.numbers.questions[number]
        entries, m = question.entries(record), question.transaction_size
        for place in range(m if len(entries) > m else 0):
            other = place + words.below(len(entries) - place)
            entries[place], entries[other] = entries[other], entries[place]
        fitted = [*entries[:m], *range(question.n_items, question.n_items + m - len(entries))]
        answer = question.form.drawn(fitted, words).to_bytes(question.report_bytes, "little")
        return self.numbers.report(number, answer)

    def edges(self) -> list[int]:
        """Return words at the ends of the weights of questions and of kept subsets, of 512 at most."""
        found = list(words_at(self.numbers.cumulative))
        for question in self.numbers.questions:
            sums = weights_drawn(question.form)
            found += words_at([sums[place] for place in np.linspace(0, len(sums) - 1, 256).astype(int)])
        return found

    def remake_many(self, records: Sequence[Record], words: Draws) -> Iterator[tuple[int, bytes]]:
        """Yield reports; of several questions those of all records are drawn first, then answered one by one."""
        if len(self.numbers.questions) == 1:
            yield from super().remake_many(records, words)
            return
        drawn = [words.pick(self.numbers.cumulative) for _ in records]
        for number in range(len(self.numbers.questions)):
            for place, record in enumerate(records):
                if drawn[place] == number:
                    yield place, self._report(number, record, words)

    # ---- laws

    def chosen(self) -> list[list[Record]]:
        """Return baskets that are hardest to hide, and some that a mistake would tell apart."""
        n, m = self.numbers.n_items, self._largest
        first, last = tuple(range(m)), tuple(range(n - m, n))
        spare = next((item for item in (n // 2, n - 1) if item not in first), None)
        changed = first if spare is None else (*first[:-1], spare)
        long = [tuple(range(size)) for size in (2 * m + 3, 65, 1025) if m < size <= n]
        return [list(dict.fromkeys([first, last, tuple(sorted(changed)), *long, (), (0,), (n - 1,), self._some(m)]))]

    def looks(self, packed: NDArray[np.uint8], record: Record) -> Iterator[Look]:
        """Yield how often each question is asked, and what its answers show."""
        several = len(self.numbers.questions) > 1
        drawn = packed[:, 0] if several else np.zeros(len(packed), np.uint8)
        if several:
            shares = np.array([float(share) for share in self.numbers.shares])
            yield Look("questions", (drawn[:, None] == np.arange(len(shares))).astype(np.uint8), shares)
        for number in range(len(self.plan.questions)):
            answers = packed[drawn == number, several : several + self.numbers.questions[number].report_bytes]
            if len(answers):
                yield from self._of(number, record).looks(
                    np.ascontiguousarray(answers), f", question {number}" * several
                )

    def _of(self, number: int, record: Record) -> "_Entries":
        if (number, record) not in self._looks:
            numbers, question = self.numbers.questions[number], self.plan.questions[number]
            self._looks[number, record] = _Entries(numbers, question, record, self.chance)
        return self._looks[number, record]

    def kept(self, packed: NDArray[np.uint8], record: Record) -> NDArray[np.int64]:
        """Return how many of its items reports show, of a plan of one question."""
        if len(self.numbers.questions) > 1:
            return super().kept(packed, record)
        kept: NDArray[np.int64] = np.minimum(self._of(0, record).kept(packed), 15)
        return kept

    def equal(self, record: Record, power: int) -> Fraction | None:
        """Return Σ P^power over reports, where the basket is no longer than M: a sample makes it smaller."""
        parts = zip(self.numbers.shares, self.numbers.questions, strict=True)
        if any(len(each.entries(record)) > each.transaction_size for each in self.numbers.questions):
            return None
        return sum((share**power * each.form.collision_moment(power) for share, each in parts), Fraction(0))

    def coins(self, packed: NDArray[np.uint8], record: Record) -> NDArray[np.uint8]:
        """Return free bits of seeds, or items shown one time in two."""
        question = self.numbers.questions[0]
        if len(self.numbers.questions) > 1 or len(record) > question.transaction_size:
            return super().coins(packed, record)
        free = self._of(0, record).coins[:16]
        return np.unpackbits(packed, axis=1, bitorder="little")[:, free]


class _Entries:
    """What answers to a question show of one record: its own items, some others, and bits that its items leave free."""

    def __init__(
        self, numbers: QuestionNumbers, question: "Question", record: Record, chance: np.random.Generator
    ) -> None:
        form, entries = numbers.form, numbers.entries(record)
        self._question, self._sampled = question, len(entries) > form.size
        self._own = [*entries, *range(numbers.n_items, numbers.n_items + form.size - len(entries))]
        others = np.setdiff1d(np.arange(form.items), self._own)
        self._own = [self._own[place] for place in np.unique(np.linspace(0, len(self._own) - 1, 64).astype(int))]
        self._others = chance.permutation(others)[:_WATCHED].tolist()
        self._tables = ItemTables(question, np.array([*self._own, *self._others], dtype=np.int64))
        inside, outside = (form.shown_probability(a, 1 - a) for a in (1, 0))
        if self._sampled:
            share = Fraction(form.size, len(entries))
            inside = share * inside + (1 - share) * outside
        self._chances = np.array([float(inside)] * len(self._own) + [float(outside)] * len(self._others))
        self._together: NDArray[np.float64] | None = None
        if not self._sampled and (not form.seed_bits or numbers.itemset_size > 1):
            held = np.arange(len(self._chances)) < len(self._own)
            both = [float(form.shown_probability(a, 2 - a)) if a <= form.size else np.nan for a in range(3)]
            self._together = np.array(both)[held[:, None].astype(int) + held]
            np.fill_diagonal(self._together, np.nan)
        self._sizes = np.array([float(chance) for chance in form.size_distribution])
        self.coins: list[int] = []
        if form.seed_bits and not self._sampled:
            basis: list[int] = []
            for mask in (mask for item in self._own for mask in masks(form, item)):
                if left := _reduced(mask, basis):
                    basis.append(left)
            places = np.unique(np.linspace(0, form.seed_bits - 1, _COINS).astype(int)).tolist()
            self.coins = [place for place in places if _reduced(1 << place, basis)]
        elif form.has_coins and form.others_shown(0, 1) == Fraction(1, 2):
            self.coins = others[:_COINS].tolist()

    def looks(self, packed: NDArray[np.uint8], which: str) -> Iterator[Look]:
        """Yield what some answers show."""
        shown = self._shown(packed)
        yield Look("items shown" + which, shown, self._chances, self._together)
        if not self._sampled:
            kept = shown[:, : len(self._own)].sum(axis=1)
            yield Look(
                "number kept" + which, (kept[:, None] == np.arange(len(self._sizes))).astype(np.uint8), self._sizes
            )
        if self.coins:
            bits = np.unpackbits(packed, axis=1, bitorder="little")[:, self.coins]
            yield Look("seed" + which, bits, np.full(len(self.coins), 0.5))

    def kept(self, packed: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return how many of the record's items answers show."""
        kept: NDArray[np.int64] = self._shown(packed)[:, : len(self._own)].sum(axis=1, dtype=np.int64)
        return kept

    def _shown(self, packed: NDArray[np.uint8]) -> NDArray[np.uint8]:
        rows = self._tables.rows(planes_of(packed, self._question), len(packed))
        lines = np.ascontiguousarray(rows.transpose(1, 0, 2)).reshape(rows.shape[1], -1)
        octets = lines.astype("<u8", copy=False).view(np.uint8)
        return np.unpackbits(octets, axis=1, count=len(packed), bitorder="little").T


def _reduced(vector: int, basis: list[int]) -> int:
    for other in basis:
        vector = min(vector, vector ^ other)
    return vector
