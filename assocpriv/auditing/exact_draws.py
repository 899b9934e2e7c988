"""The draws of the shipping client on the plan under audit, beside what a report shows of each.

A real plan has too many draws to walk through them all. What can be walked through is which items are kept. The rest is
checked by its structure, a transaction and a kept subset at a time, by the form of the reports:

* bits must be the coins, with the kept items set and the dropped ones cleared;
* a set's rank must be that of the drawn kept and added items;
* a seed ξ must give the transaction's items the values drawn, and be an affine function of the uniform seed ξ0 drawn,
  with a linear part of rank s − m·r: then ξ is uniform among the 2^(s−mr) seeds that have these values;
* of a long transaction the M first places of the drawn shuffle must be the items that a report keeps.

The client is anything that has ``randomize``; reports are read by recompute_reports.py alone.

simulation/enumeration.py takes draws for what promise/entropy.py says they are. Here the plan's own draws are
made of chosen words:

    coins(count, a, r)  words that spell all numbers below 2^r, each once: just those below a are 1
    below(n)            the least words of a number, as docs/formats/client.md has it, after a word that is rejected
    pick(c)             numbers on both sides of every bound

All that is about one question, whose entries are the items here. The bulk client must report what the client of a
single transaction does for equal words, whichever question these draw. The shuffled catalogue is dealt into
transactions of 0 to 2M items, over and over, so that every item takes part several times, beside some at the ends of
classes of sizes; and transactions that have M entries of a question get words that pick the first and the last number
of each of its kept subsets, so that a bound that is off by one shows. The deal and all other words are others in every
audit.

Whatever a report, a client's draws, words, columns or the bulk client are wrong in is raised as a Fault.
"""

import secrets
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, chain, pairwise, product
from math import comb
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.findings import Fault, client_at_work
from assocpriv.auditing.recompute_reports import Bch, Bits, Form, ReedSolomon, Seed, Sets, masks, rank_over_gf2, set_of
from assocpriv.client.bulk import BulkRandomizer
from assocpriv.plans.baskets import Plan
from assocpriv.plans.generator import item_columns
from assocpriv.promise.entropy import Entropy, WordEntropy
from assocpriv.records.baskets import Baskets
from assocpriv.simulation.enumeration import SeededEntropy, distribution

if TYPE_CHECKING:
    from assocpriv.auditing.recompute_promise import Numbers, QuestionNumbers

RANDOM_POINTS = 32  # of each case: a client that errs on one draw in four is missed with a chance of 10^-4
_Form = TypeVar("_Form", bound=Form)
_Outcome = TypeVar("_Outcome", bound=Hashable)
_MOST_COLUMNS = 2000  # items whose columns are compared
_LEAST_DEALT = 300  # transactions, from a small catalogue dealt over and over
_DEALS = 6  # of the catalogue: a fault with one item changes two reports in three, say, of those that it could change
_MOST_ENDS = 1024  # numbers picked
_MOST_HELD = 1 << 18  # items of all transactions at the ends of classes of sizes


# ---- a device


class Device(Protocol):
    """A device's side of one plan."""

    def randomize(self, transaction: Collection[int], *, entropy: Entropy) -> bytes:
        """Return the report of one transaction."""


Client = Callable[[Plan], Device]


class Guarded:
    """A client's device; what it raises is told from what the audit raises."""

    def __init__(self, client: Client, plan: Plan) -> None:
        with client_at_work():
            self._device = client(plan)

    def randomize(self, transaction: Collection[int], *, entropy: Entropy) -> bytes:
        with client_at_work():
            return self._device.randomize(transaction, entropy=entropy)


class _KeptOnly:
    """Passes on the draws that decide what is kept, the first ``ranks`` numbers among them; others draws the rest."""

    def __init__(self, walked: Entropy, others: Entropy, ranks: int) -> None:
        self._walked, self._others, self._ranks = walked, others, ranks
        self.pick, self.coins = walked.pick, others.coins

    def below(self, n: int) -> int:
        self._ranks -= 1
        return (self._walked if self._ranks >= 0 else self._others).below(n)


class _Listed:
    """Answers one pick with a given index, and other draws from a list.

    ``asked`` notes of each draw but the pick its n, or (count, num, bits); ``below(1)`` is none.
    """

    def __init__(self, index: int, answers: Sequence[int]) -> None:
        self._index, self._answers = index, list(answers)
        self.asked: list[object] = []

    def _next(self, draw: object) -> int:
        self.asked.append(draw)
        if not self._answers:
            raise Fault("The client draws more than docs/formats/client.md says.")
        return self._answers.pop(0)

    def pick(self, cumulative: Sequence[int]) -> int:
        return min(self._index, len(cumulative) - 1)

    def below(self, n: int) -> int:
        return self._next(n) % n if n > 1 else 0

    def coins(self, count: int, num: int, bits: int) -> int:
        return self._next((count, num, bits)) & ((1 << count) - 1)


@dataclass(frozen=True)
class Reader(Generic[_Form]):
    """A device of a plan of one question, and its reports as the audit reads them."""

    device: Device
    numbers: "QuestionNumbers"
    form: _Form  # of the numbers

    def report(self, transaction: Collection[int], entropy: Entropy) -> int:
        """Return the bits of a transaction's report as an integer."""
        report = self.device.randomize(transaction, entropy=entropy)
        if len(report) != self.numbers.report_bytes:
            raise Fault(f"A report has {len(report)} bytes, not {self.numbers.report_bytes}.")
        bits = int.from_bytes(report, "little")
        if bits >> self.form.report_bits:
            raise Fault("A report has a bit set beyond its own.")
        if not self.form.is_report(bits):
            raise Fault("A report of a fixed size is the number of no set.")
        return bits

    def padded(self, transaction: Collection[int]) -> list[int]:
        """Return a transaction of at most m items with the dummies that it is padded with."""
        n = self.numbers.n_items
        return sorted(transaction) + list(range(n, n + self.form.size - len(transaction)))


# ---- kept items


def bounded_law(run: Callable[[Entropy], _Outcome], most: int) -> tuple[dict[_Outcome, Fraction], int]:
    """Return the exact law of a run's outcome, and how often it was run: no more than ``most`` times."""
    runs = 0

    def counted(entropy: Entropy) -> _Outcome:
        nonlocal runs
        runs += 1
        if runs > most:  # they might not come to an end
            raise Fault("The client's draws are not those of docs/formats/client.md: they can fall in more ways.")
        return run(entropy)

    return distribution(counted), runs


def check_kept(reader: Reader[Any], transaction: Collection[int]) -> int:
    """Compare the law of which items of a transaction are kept with the stated one; return how often the client ran.

    The client runs once for every subset that can be kept of a transaction of at most m items, other draws being
    random. A subset of j items must have just the probability v_j / 2^b, or that of a fixed-size operator.
    """
    items, others = reader.padded(transaction), SeededEntropy(1)
    form: Form = reader.form

    def run(entropy: Entropy) -> frozenset[int]:
        return form.shown_of(items, reader.report(transaction, _KeptOnly(entropy, others, form.ranks_kept)))

    law, runs = bounded_law(run, 2 << form.size)  # two answers for each subset of a report of a fixed size
    for kept, probability in law.items():
        wanted = form.kept_probability(len(kept))
        if probability != wanted:
            raise Fault(
                f"A kept subset of {len(kept)} of {form.size} items has the probability {float(probability):.6g}, "
                f"and should have {float(wanted):.6g}."
            )
    return runs


# ---- all draws but the pick, by the form of the reports


def case_of(reader: Reader[Any], transaction: Collection[int], kept: int, seed: int = 0) -> "_Case[Any]":
    """Return the checks of all draws but the pick, given that ``kept`` items are kept; the seed is of random points."""
    return _CASES[type(reader.form)](reader, transaction, kept, seed)


class _Case(ABC, Generic[_Form]):
    """One transaction, the sample drawn of it if it is long, and one pick that keeps a given number of its items.

    A sample is the first m places of a Fisher–Yates shuffle, of which every order is equally likely. Each check returns
    how often the client ran.
    """

    def __init__(self, reader: Reader[_Form], transaction: Collection[int], kept: int, seed: int = 0) -> None:
        self._reader, self._form, self._transaction, self._kept = reader, reader.form, transaction, kept
        self._random = np.random.default_rng([kept, seed])
        self.runs = 0
        m = self._form.size
        self._index = self._form.picked_index(kept)
        long = len(transaction) > m
        self._choices_of_sample = [len(transaction) - place for place in range(m)] if long else []
        self._sample = [int(self._random.integers(n)) for n in self._choices_of_sample]
        items = sorted(transaction)
        for place, answer in enumerate(self._sample):
            items[place], items[place + answer] = items[place + answer], items[place]
        self._items = items[:m] if long else reader.padded(transaction)

    def _run(self, answers: Sequence[int], draws: Sequence[object]) -> int:
        self.runs += 1
        entropy = _Listed(self._index, [*self._sample, *answers])
        report = self._reader.report(self._transaction, entropy)
        if entropy.asked != [*self._choices_of_sample, *draws]:
            raise Fault("The client's draws are not those of docs/formats/client.md.")
        return report

    def _uniform(self, bits: int) -> int:
        return int.from_bytes(self._random.bytes(-(-bits // 8)), "little") & ((1 << bits) - 1)

    @abstractmethod
    def check(self) -> int:
        """Check the structure of the draws in many runs, at extreme and at random ones."""

    @abstractmethod
    def check_once(self) -> int:
        """Check one random run that keeps as many items as can be kept: these are the transaction's."""


class _CoinCase(_Case[Bits]):
    """The report is the coins but on the transaction's items."""

    def check(self) -> int:
        kept = self._report(0)
        if kept & ~self._held or kept.bit_count() != self._kept:
            raise Fault("With all coins 0 a report shows other items than the kept ones.")
        n = self._form.items
        for coins in ((1 << n) - 1, *(self._uniform(n) for _ in range(RANDOM_POINTS))):
            self._check(coins, kept)
        return self.runs

    def check_once(self) -> int:
        self._check(self._uniform(self._form.items), self._held)
        return self.runs

    @property
    def _held(self) -> int:
        return sum(1 << item for item in self._items)

    def _check(self, coins: int, kept: int) -> None:
        if self._report(coins) != coins & ~self._held | kept:
            raise Fault("A report is not its coins with the kept items set and the dropped ones cleared.")

    def _report(self, coins: int) -> int:
        return self._run([coins], [(self._form.items, self._form.insert_num, self._form.insert_bits)])


class _SetCase(_Case[Sets]):
    """The report is the rank of the kept and the added items."""

    def check(self) -> int:
        self._check(lambda _: 0)
        self._check(lambda n: n - 1)
        for _ in range(RANDOM_POINTS):
            self.check_once()
        return self.runs

    def check_once(self) -> int:
        self._check(lambda n: self._uniform(600) % n)
        return self.runs

    def _check(self, answer: Callable[[int], int]) -> None:
        """Check an answer, of so many, for which items are kept and for which are added."""
        form, j = self._form, self._kept
        keep, add = ((answer(n), n) for n in form.set_choices(j))
        drawn = [each for each in (keep, add) if each[1] > 1]
        rank = self._run([number for number, _ in drawn], [n for _, n in drawn])
        inside = set(self._items)
        others = [item for item in range(form.items) if item not in inside]
        kept = {self._items[place] for place in set_of(keep[0] // 2, form.size, j)}
        place_of = add[0] * comb(len(others), form.report_size - j) // add[1]
        added = {others[place] for place in set_of(place_of, len(others), form.report_size - j)}
        if set(set_of(rank, form.items, form.report_size)) != kept | added:
            raise Fault("A report of a fixed size is not the set that was drawn.")


class SeedCase(_Case[Seed]):
    """The seed sent is an affine function of the seed drawn, onto the seeds with the values drawn."""

    def check(self) -> int:
        form, s = self._form, self._form.seed_bits
        kept = self._kept_places()
        values = self._values()
        base = self._report(kept, values, 0)
        columns = [base ^ self._report(kept, values, 1 << bit) for bit in range(s)]
        if rank_over_gf2(columns) != s - form.size * form.insert_bits:
            raise Fault("The seeds sent are not spread over all seeds that agree with the transaction's items.")
        for _ in range(RANDOM_POINTS):
            other = self._values()
            drawn = self._uniform(s)
            moved = 0
            for bit in range(s):
                moved ^= columns[bit] if drawn >> bit & 1 else 0
            if self._report(kept, other, drawn) != self._report(kept, other, 0) ^ moved:
                raise Fault("The seed sent is no affine function of the seed drawn, so it may not be uniform.")
        return self.runs

    def check_once(self) -> int:
        every = frozenset(range(self._form.size))
        self._report(every, self._values(), self._uniform(self._form.seed_bits))
        return self.runs

    def walk(self) -> int:
        """Walk through all seeds for one choice of values, each sent equally often, and through all values."""
        form, s = self._form, self._form.seed_bits
        kept = self._kept_places()
        some = self._values()
        sent = Counter(self._report(kept, some, drawn) for drawn in range(1 << s))
        fixed = form.size * form.insert_bits
        if set(sent.values()) != {1 << fixed}:  # so there are 2^(s−mr) of them, all that there are
            raise Fault("The seeds that agree with the transaction's items are not sent equally often.")
        for values in product(range(form.value_choices), repeat=form.size):
            self._report(kept, values, self._uniform(s))
        return self.runs

    def _kept_places(self) -> frozenset[int]:
        """Return the places that the pick keeps: those shown when all values and the seed are drawn as 0."""
        report = self._reader.report(self._transaction, _Listed(self._index, [0] * (self._form.size + 1)))
        kept = self._form.shown_of(self._items, report)
        if len(kept) != self._kept:
            raise Fault(f"A pick that keeps {self._kept} items shows {len(kept)}.")
        return kept

    def _values(self) -> list[int]:
        """Draw the number that makes the value of each place's item."""
        return [int(self._random.integers(self._form.value_choices)) for _ in range(self._form.size)]

    def _report(self, kept: frozenset[int], drawn_values: Sequence[int], drawn: int) -> int:
        """Return the seed that is sent for given numbers and a given seed drawn."""
        form, n = self._form, self._form.value_choices
        a, rest = form.insert_num, (1 << form.insert_bits) - form.insert_num
        answers, draws = (drawn_values, [n] * form.size) if n > 1 else ((), [])
        seed = self._run([*answers, drawn], [*draws, 1 << form.seed_bits])
        values = [x % a if place in kept else a + x % rest for place, x in enumerate(drawn_values)]
        for place, item in enumerate(self._items):
            if form.value(item, seed) != values[place]:
                raise Fault("A seed does not give the transaction's items the values that were drawn.")
        return seed


_CASES: dict[type[Form], type[_Case[Any]]] = {Bits: _CoinCase, Bch: SeedCase, ReedSolomon: SeedCase, Sets: _SetCase}


# ---- given words


class Replayed(WordEntropy):
    """Hands out given words, and no more."""

    __slots__ = ("_left",)

    def __init__(self, given: Sequence[int] | NDArray[np.uint64]) -> None:
        self._left = np.array(given, dtype=np.uint64)

    @property
    def left(self) -> int:
        """How many words are left."""
        return len(self._left)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next words."""
        if count > len(self._left):
            raise Fault("A client or a draw takes more random words than docs/formats/client.md says.")
        handed, self._left = self._left[:count], self._left[count:]
        return handed


class Noted(WordEntropy):
    """Hands out given words, then a source's, and keeps them all."""

    __slots__ = ("_first", "_handed", "_source")

    def __init__(self, first: Sequence[int], source: WordEntropy) -> None:
        self._first, self._source = np.array(first, dtype=np.uint64), source
        self._handed = [self._first[:0]]

    @property
    def given(self) -> NDArray[np.uint64]:
        """All words that were handed out."""
        return np.concatenate(self._handed)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next words."""
        led, self._first = self._first[:count], self._first[count:]
        self._handed.append(np.concatenate([led, self._source.words(count - len(led))]))
        return self._handed[-1]


# ---- draws and columns


def check_words(form: Form) -> int:
    """Make a question's draws of chosen words; return how many draws were compared with their definition."""
    coins = _check_coins(form) if isinstance(form, Bits) else 0
    return coins + _check_below(form) + check_pick(list(accumulate(form.picked_weights)))


def _check_coins(form: Bits) -> int:
    a, r = form.insert_num, form.insert_bits
    count = max(64, 1 << r)
    spelt = [
        sum((64 * part + place >> (r - 1 - digit) & 1) << place for place in range(64))
        for part in range(count // 64)
        for digit in range(r)
    ]
    wanted = sum(1 << number for number in range(count) if number % (1 << r) < a)
    if Replayed(spelt).coins(count, a, r) != wanted:
        raise Fault("Coins made of all words there can be do not show with the plan's probability.")
    return count


def _check_below(form: Form) -> int:
    bounds = form.drawn_below | set(range(2, 2 * form.size + 1))  # what long transactions are sampled with
    draws = [(n, number) for n in bounds for number in {0, 1, n // 3, n // 2, n - 2, n - 1} if 0 <= number < n]
    for n, number in draws:
        if Replayed(words_of(number, n)).below(n) != number:
            raise Fault(f"A number drawn below a bound of {n.bit_length()} bits is not that of its words.")
    return len(draws)


def check_pick(cumulative: Sequence[int]) -> int:
    """Make a pick of words at both ends of each of its choices; return how many."""
    for index, (low, high) in enumerate(pairwise([0, *cumulative])):
        for number in (low, high - 1):
            if Replayed(words_of(number, cumulative[-1])).pick(cumulative) != index:
                raise Fault("A pick is not that of its weights.")
    return 2 * len(cumulative)


def words_of(number: int, n: int) -> list[int]:
    """Return words that ``below(n)`` makes a number of: one draw that is rejected, if any is, then the least.

    >>> words_of(5, 8), words_of(0, 1), words_of(1, 3)
    ([5], [], [0, 6148914691236517206])
    """
    count = -(-(n - 1).bit_length() // 64)
    if n & (n - 1) == 0:
        return _split(number, count)
    span = 1 << 64 * count
    least = -(-(number * span + span % n) // n)  # of the x with ⌊x·n / span⌋ = number and x·n mod span ≥ span mod n
    return _split(0, count) + _split(least, count)


def _split(number: int, count: int) -> list[int]:
    return [number >> 64 * place & (1 << 64) - 1 for place in range(count)]


def check_columns(plan: Plan, form: Seed, chance: np.random.Generator) -> int:
    """Compare the generator's columns that client and server use with masks made by their definition.

    How many items were compared is returned: all of at most 2,000, else so many, others in every audit.
    """
    items = np.sort(chance.permutation(form.items)[:_MOST_COLUMNS])
    with client_at_work():
        columns = item_columns(plan.items.generator, form.insert_bits, items)
    for item, own in zip(items.tolist(), columns, strict=True):
        if tuple(int.from_bytes(words.astype("<u8").tobytes(), "little") for words in own) != masks(form, item):
            raise Fault("A column of the generator differs from its definition.")
    return len(items)


# ---- the bulk client


class Case(NamedTuple):
    """A transaction, the words that its question is drawn from, if one is, and the words that it gets then."""

    items: list[int]
    coin: list[int]
    words: list[int]


def check_bulk(device: Device, plan: Plan, numbers: "Numbers", most: int, seed: int | None = None) -> dict[str, int]:
    """Compare the bulk client's reports with those of one transaction at a time, for equal words.

    The device answers for one transaction, and may run ``most`` times, at least; where the catalogue needs more, a part
    of it is dealt. The seed is of the deal and the words; fresh by default. How much was compared is returned:
    transactions, how many items they hold together, and numbers picked, of how many ends.
    """
    seed = secrets.randbits(64) if seed is None else seed
    chance = np.random.default_rng(seed)
    dealt = list(_dealt(numbers, max(most, _LEAST_DEALT), chance))
    dealt += [some_items(numbers, size, chance) for size in told_sizes(numbers)]
    coins = [*_ends(numbers.cumulative), *chance.integers(numbers.cumulative[-1], size=len(dealt)).tolist()]
    ends = [(number, end) for number, each in enumerate(numbers.questions) for end in _ends(_bounds(each.form))]
    picks = list(_picks(numbers, ends, chance))
    cases = [Case(items, _coin(numbers, coin), []) for items, coin in zip(dealt, coins, strict=False)]
    _compare(device, plan, [*cases, *picks], SeededEntropy(seed))
    items = len(set(chain.from_iterable(dealt)))
    return {"transactions": len(dealt), "items": items, "picks": len(picks), "ends": len(ends)}


def _dealt(numbers: "Numbers", most: int, chance: np.random.Generator) -> Iterator[list[int]]:
    """Deal transactions of 0 to 2M items until every item was in six, and there are some, or ``most`` of them."""
    left, deals = np.empty(0, dtype=np.int64), 0
    longest = 2 * max(question.transaction_size for question in numbers.questions)
    for done in range(most):
        if not len(left):
            if deals >= _DEALS and done >= _LEAST_DEALT:
                return
            left, deals = chance.permutation(numbers.n_items), deals + 1
        size = int(chance.integers(0, longest + 1))
        yield sorted(left[:size].tolist())
        left = left[size:]


def told_sizes(numbers: "Numbers") -> list[int]:
    """Return the sizes at which something changes: none, one, M, the ends of classes of sizes, all items.

    The largest are left out where they would hold too many items.
    """
    sizes = {0, 1, numbers.n_items}
    for question in numbers.questions:
        first = question.transaction_size
        sizes |= {first, first + 1, *question.bounds, *(bound - 1 for bound in question.bounds)}
    rising = sorted(size for size in sizes if size <= numbers.n_items)
    return [size for size, held in zip(rising, accumulate(rising), strict=True) if held <= _MOST_HELD]


def some_items(numbers: "Numbers", size: int, chance: np.random.Generator) -> list[int]:
    """Return so many random items."""
    return sorted(chance.choice(numbers.n_items, size, replace=False).tolist())


def _coin(numbers: "Numbers", number: int) -> list[int]:
    """Return the words of a number that draws a question; none where there is no other."""
    return words_of(number, numbers.cumulative[-1]) if len(numbers.questions) > 1 else []


def _bounds(form: Form) -> list[int]:
    return list(accumulate(form.picked_weights))


def _ends(cumulative: Sequence[int]) -> list[int]:
    """Return the numbers on both sides of every bound of a pick."""
    bounds = [0, *cumulative]
    return sorted({number for bound in bounds for number in (bound - 1, bound) if 0 <= number < bounds[-1]})


def _picks(numbers: "Numbers", ends: list[tuple[int, int]], chance: np.random.Generator) -> Iterator[Case]:
    """Yield transactions with as many entries as a question takes, and words of these numbers, or of some of them.

    A transaction that is not sampled draws its pick first, after its question.
    """
    for place in chance.permutation(len(ends))[:_MOST_ENDS].tolist():
        number, end = ends[place]
        question = numbers.questions[number]
        size = min(question.transaction_size, numbers.n_items)
        if question.bounds:
            sizes = question.sizes([int(chance.integers(question.n_items))], numbers.n_items)
            size = sizes[int(chance.integers(min(len(sizes), sizes[0])))]
        coin = numbers.cumulative[number] - 1 - int(chance.integers(question.weight))
        words = words_of(end, sum(question.form.picked_weights))
        yield Case(some_items(numbers, size, chance), _coin(numbers, coin), words)


def _compare(device: Device, plan: Plan, cases: list[Case], source: WordEntropy) -> None:
    wanted, coins, others = [], [], []
    for case in cases:
        entropy = Noted([*case.coin, *case.words], source)
        wanted.append(device.randomize(case.items, entropy=entropy))
        coins.append(entropy.given[: len(case.coin)])
        others.append(entropy.given[len(case.coin) :])
    # the questions of all of a chunk's transactions are drawn first, then they are answered one after the other
    asked = sorted(range(len(cases)), key=lambda place: wanted[place][: plan.number_bytes])
    offsets = np.append(0, np.cumsum([len(case.items) for case in cases]))
    flat = np.array(list(chain.from_iterable(case.items for case in cases)), dtype=np.int64)
    with client_at_work():
        given = np.concatenate([*coins, *(others[place] for place in asked)])
        chunk = BulkRandomizer(plan).randomize(Baskets(plan.catalogue, offsets, flat), given, Replayed([]))
    if [row.tobytes() for row in chunk.packed] != wanted:
        raise Fault("The bulk client's reports differ from those of one transaction at a time.")
