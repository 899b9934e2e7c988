"""What the shipping clients are made of, on the plan under audit: draws from words, columns, and the bulk client.

lab/enumeration.py takes draws for what promise/entropy.py says they are. Here the plan's own draws are made of chosen
words:

    coins(count, a, r)  words that spell all numbers below 2^r, each once: just those below a are 1
    below(n)            the least words of a number, as docs/formats/client.md has it, after a word that is rejected
    pick(c)             numbers on both sides of every bound

The bulk client must report what the client of a single transaction does for equal words. The shuffled catalogue is
dealt into transactions of 0 to 2M items, over and over, so that every item takes part several times; and full
transactions get words that pick the first and the last number of each kept subset, so that a bound that is off by one
shows. The deal and all other words are others in every audit. Whatever differs is raised as a Fault.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.enumerate.draws_by_form import Device
from assocpriv.auditing.findings import Fault, client_at_work
from assocpriv.auditing.recompute.codes import Seed, masks
from assocpriv.auditing.recompute.plan_text import Numbers
from assocpriv.auditing.recompute.report_forms import Bits, Form
from assocpriv.client.bulk import randomizer_of
from assocpriv.lab.seeded_entropy import SeededEntropy
from assocpriv.plans.baskets import Plan
from assocpriv.plans.generator import item_columns
from assocpriv.promise.entropy import WordEntropy
from assocpriv.records.baskets import Baskets

_MOST_COLUMNS = 2000  # items whose columns are compared
_LEAST_DEALT = 300  # transactions, from a small catalogue dealt over and over
_DEALS = 6  # of the catalogue: a fault with one item changes two reports in three, say, of those that it could change
_MOST_ENDS = 1024  # numbers picked


class Replayed(WordEntropy):
    """Hands out given words, and no more."""

    __slots__ = ("_left",)

    def __init__(self, given: Iterable[int]) -> None:
        self._left = list(given)

    @property
    def left(self) -> int:
        """How many words are left."""
        return len(self._left)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next words."""
        if count > len(self._left):
            raise Fault("A client or a draw takes more random words than docs/formats/client.md says.")
        handed, self._left = self._left[:count], self._left[count:]
        return np.array(handed, dtype=np.uint64)


class Noted(WordEntropy):
    """Hands out given words, then a source's, and keeps them all."""

    __slots__ = ("_first", "_source", "given")

    def __init__(self, first: Sequence[int], source: WordEntropy) -> None:
        self._first, self._source = list(first[::-1]), source
        self.given: list[int] = []

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next words."""
        handed = [self._first.pop() for _ in range(min(count, len(self._first)))]
        if len(handed) < count:
            handed += self._source.words(count - len(handed)).tolist()
        self.given += handed
        return np.array(handed, dtype=np.uint64)


# ---- draws and columns


def check_words(numbers: Numbers) -> int:
    """Make the plan's draws of chosen words; return how many draws were compared with their definition."""
    coins = _check_coins(numbers.form) if isinstance(numbers.form, Bits) else 0
    return coins + _check_below(numbers.form) + _check_pick(numbers.form)


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


def _check_pick(form: Form) -> int:
    cumulative = list(accumulate(form.picked_weights))
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
        columns = item_columns(plan.generator, form.insert_bits, items)
    for item, own in zip(items.tolist(), columns, strict=True):
        if tuple(int.from_bytes(words.astype("<u8").tobytes(), "little") for words in own) != masks(form, item):
            raise Fault("A column of the generator differs from its definition.")
    return len(items)


# ---- the bulk client


class Case(NamedTuple):
    """A transaction, the words that its block is drawn from, if one is, and the words that it gets then."""

    items: list[int]
    words: list[int]
    of_block: list[int] = []  # noqa: RUF012 -- a default that nobody changes


Drawn = Callable[[list[Case], np.random.Generator], list[Case]]


def check_bulk(
    device: Device, plan: Plan, numbers: Numbers, most: int, seed: int | None = None, drawn: "Drawn | None" = None
) -> dict[str, int]:
    """Compare the bulk client's reports with those of one transaction at a time, for equal words.

    The device answers for one transaction, and may run ``most`` times, at least; where the catalogue needs more, a part
    of it is dealt. The seed is of the deal and the words; fresh by default. With blocks the numbers are those of a
    report of one block, and ``drawn`` turns cases about it into cases in which a block is drawn first. How much was
    compared is returned: transactions, how many items they hold together, and numbers picked, of how many ends.
    """
    seed = secrets.randbits(64) if seed is None else seed
    chance = np.random.default_rng(seed)
    dealt = list(_dealt(numbers, max(most, _LEAST_DEALT), chance))
    ends = _ends(numbers.form)
    picks = list(_picks(numbers, ends, chance))
    cases = [*(Case(items, []) for items in dealt), *picks]
    if drawn is not None:
        cases = drawn(cases, chance)
    _compare(device, plan, cases, SeededEntropy(seed))
    items = len(set(chain.from_iterable(dealt)))
    return {"transactions": len(dealt), "items": items, "picks": len(picks), "ends": len(ends)}


def _dealt(numbers: Numbers, most: int, chance: np.random.Generator) -> Iterator[list[int]]:
    """Deal transactions of 0 to 2M items until every item was in six, and there are some, or ``most`` of them."""
    longest, left, deals = 2 * numbers.transaction_size, np.empty(0, dtype=np.int64), 0
    for done in range(most):
        if not len(left):
            if deals >= _DEALS and done >= _LEAST_DEALT:
                return
            left, deals = chance.permutation(numbers.n_items), deals + 1
        size = int(chance.integers(0, longest + 1))
        yield sorted(left[:size].tolist())
        left = left[size:]


def _ends(form: Form) -> list[int]:
    """Return the numbers on both sides of every bound of a pick."""
    bounds = [0, *accumulate(form.picked_weights)]
    return sorted({number for bound in bounds for number in (bound - 1, bound) if 0 <= number < bounds[-1]})


def _picks(numbers: Numbers, ends: list[int], chance: np.random.Generator) -> Iterator[Case]:
    """Yield full transactions with the words of these numbers, or of some of them where they are many.

    A transaction that is not sampled draws its pick first.
    """
    total = sum(numbers.form.picked_weights)
    for place in chance.permutation(len(ends))[:_MOST_ENDS].tolist():
        items = chance.choice(numbers.n_items, min(numbers.transaction_size, numbers.n_items), replace=False)
        yield Case(sorted(items.tolist()), words_of(ends[place], total))


class _Recorded(WordEntropy):
    """Hands out the first words of a case, then a source's, and keeps them all."""

    __slots__ = ("_source", "first", "given")

    def __init__(self, source: WordEntropy) -> None:
        self._source, self.first = source, np.empty(0, dtype=np.uint64)
        self.given: list[NDArray[np.uint64]] = []

    def words(self, count: int) -> NDArray[np.uint64]:
        led, self.first = self.first[:count], self.first[count:]
        self.given.append(np.concatenate([led, self._source.words(count - len(led))]))
        return self.given[-1]


def _compare(device: Device, plan: Plan, cases: list[Case], source: WordEntropy) -> None:
    entropy, wanted, of_blocks, others = _Recorded(source), [], [], []
    for case in cases:
        entropy.first, entropy.given = np.array([*case.of_block, *case.words], dtype=np.uint64), []
        wanted.append(device.randomize(case.items, entropy=entropy))
        words = np.concatenate([np.empty(0, dtype=np.uint64), *entropy.given])
        of_blocks.append(words[: len(case.of_block)])
        others.append(words[len(case.of_block) :])
    offsets = np.append(0, np.cumsum([len(case.items) for case in cases]))
    flat = np.array(list(chain.from_iterable(case.items for case in cases)), dtype=np.int64)
    with client_at_work():
        given = np.concatenate([*of_blocks, *others])  # the blocks of all of a chunk's transactions are drawn first
        chunk = randomizer_of(plan).randomize(Baskets(plan.catalogue, offsets, flat), given, Replayed([]))
    if [row.tobytes() for row in chunk.packed] != wanted:
        raise Fault("The bulk client's reports differ from those of one transaction at a time.")
