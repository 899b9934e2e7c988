"""The shipping client on the plan under audit: what it draws, and what a report shows of each draw.

A real plan has too many draws to walk through them all. What can be walked through is which items are kept. The rest is
checked by its structure, a transaction and a kept subset at a time:

* without a generator the report must be the coins, with the kept items set and the dropped ones cleared;
* a report of a fixed size must be the rank of the drawn kept and added items;
* of a long transaction the M first places of the drawn shuffle must be the items that a report keeps;
* a seed ξ must give the transaction's items the values drawn, and be an affine function of the uniform seed ξ0 drawn,
  with a linear part of rank s − m·r: then ξ is uniform among the 2^(s−mr) seeds that have these values.

The client is anything that has ``randomize``; reports are read by audit/recompute/numbers.py alone.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from itertools import product
from math import comb, lcm
from typing import Protocol

import numpy as np

from assocpriv.audit.recompute.numbers import FIXED, NONE, Group, Numbers, rank_over_gf2, set_of, value
from assocpriv.core.entropy import Entropy
from assocpriv.lab.enumeration import distribution
from assocpriv.lab.seeded_entropy import SeededEntropy
from assocpriv.plans.baskets.plan import Plan

RANDOM_POINTS = 32  # of each case: a client that errs on one draw in four is missed with a chance of 10^-4


class Device(Protocol):
    """A device's side of one plan."""

    def randomize(self, transaction: Collection[int], *, entropy: Entropy) -> bytes:
        """Return the report of one transaction."""


Client = Callable[[Plan], Device]


class Fault(Exception):  # noqa: N818 - found, not raised by a user's mistake
    """What a check found broken, as a sentence without any item."""


class _KeptOnly:
    """Passes on the draws that decide what is kept, and answers all others by a random source."""

    def __init__(self, walked: Entropy, others: Entropy, ranks: int) -> None:
        self._walked, self._others, self._ranks = walked, others, ranks

    def pick(self, cumulative: Sequence[int]) -> int:
        return self._walked.pick(cumulative)

    def below(self, n: int) -> int:
        self._ranks -= 1  # of a report of a fixed size the first number below n is which items are kept
        return (self._walked if self._ranks >= 0 else self._others).below(n)

    def coins(self, count: int, num: int, bits: int) -> int:
        return self._others.coins(count, num, bits)


class Told:
    """Answers one pick with a given index, and other draws from a list; notes what was asked.

    Attributes:
        asked: of each draw but the pick its n, or (count, num, bits); ``below(1)`` is none.
    """

    def __init__(self, index: int, answers: Sequence[int]) -> None:
        self._index, self._answers = index, list(answers)
        self.asked: list[object] = []

    def _next(self, draw: object) -> int:
        self.asked.append(draw)
        if not self._answers:
            raise Fault("The client draws more than docs/formats.md says.")
        return self._answers.pop(0)

    def pick(self, cumulative: Sequence[int]) -> int:
        """Return the index given."""
        return min(self._index, len(cumulative) - 1)

    def below(self, n: int) -> int:
        """Return the next answer, reduced below n."""
        return self._next(n) % n if n > 1 else 0

    def coins(self, count: int, num: int, bits: int) -> int:
        """Return the next answer, cut to its coins."""
        return self._next((count, num, bits)) & ((1 << count) - 1)


def report_number(report: bytes, numbers: Numbers, group: Group) -> int:
    """Return a report's bits as an integer, without the size in clear.

    Raises:
        Fault: it has another length, another size, a bit beyond its own or the number of no set.
    """
    if len(report) != numbers.report_bytes:
        raise Fault(f"A report has {len(report)} bytes, not {numbers.report_bytes}.")
    if numbers.in_clear and report[0] != group.size:
        raise Fault("A report states another size than its transaction's.")
    bits = int.from_bytes(report[int(numbers.in_clear) :], "little")
    if bits >> group.report_bits:
        raise Fault("A report has a bit set beyond its own.")
    if group.kind == FIXED and bits >= comb(group.items, group.report_size):
        raise Fault("A report of a fixed size is the number of no set.")
    return bits


def padded(transaction: Collection[int], numbers: Numbers, group: Group) -> list[int]:
    """Return a transaction of at most m items with the dummies that it is padded with."""
    n = numbers.n_items
    return sorted(transaction) + list(range(n, n + group.size - len(transaction)))


def shown_of(items: Sequence[int], report: int, group: Group) -> frozenset[int]:
    """Return which places of some items a report shows."""
    if group.kind == FIXED:
        shown = set(set_of(report, group.items, group.report_size))
        return frozenset(place for place, item in enumerate(items) if item in shown)
    if group.kind == NONE:
        return frozenset(place for place, item in enumerate(items) if report >> item & 1)
    return frozenset(place for place, item in enumerate(items) if value(group, item, report) < group.insert_num)


# ---- which items are kept


def check_kept(device: Device, transaction: Collection[int], numbers: Numbers, group: Group) -> int:
    """Compare the law of which items of a transaction are kept with the stated one; return how often the client ran.

    Args:
        device: runs once for every subset that can be kept, other draws being random.
        transaction: at most m items.
        numbers: the plan's.
        group: the transaction's.

    Raises:
        Fault: a subset of j items does not have just the probability v_j / 2^b, or that of a fixed-size operator.
    """
    items, others, runs = padded(transaction, numbers, group), SeededEntropy(1), 0

    def run(entropy: Entropy) -> frozenset[int]:
        nonlocal runs
        runs += 1
        if runs > 2 << group.size:  # two answers for each subset of a report of a fixed size
            raise Fault("The client's draws are not those of docs/formats.md.")  # they would not come to an end
        steered = _KeptOnly(entropy, others, int(group.kind == FIXED))
        report = report_number(device.randomize(transaction, entropy=steered), numbers, group)
        return shown_of(items, report, group)

    law = distribution(run)
    for kept, probability in law.items():
        if probability != kept_probability(len(kept), group):
            raise Fault(
                f"A kept subset of {len(kept)} of {group.size} items has the probability {float(probability):.6g}, "
                f"and should have {float(kept_probability(len(kept), group)):.6g}."
            )
    return runs


def kept_probability(j: int, group: Group) -> Fraction:
    """Return the probability of keeping one given subset of j items."""
    return Fraction(group.choices(j) * group.weights[j], comb(group.size, j) * group.total)


def set_choices(group: Group, j: int) -> tuple[int, int]:
    """Return of how many numbers a report of a fixed size is made that keeps j items: for these, and for the others."""
    outside = group.items - group.size
    multiple = lcm(*(comb(outside, group.report_size - i) for i in range(group.size + 1) if group.choices(i)))
    return 2 * comb(group.size, j), multiple * (3 if multiple > 1 and multiple & (multiple - 1) == 0 else 1)


def value_choices(group: Group) -> int:
    """Return how many numbers an item's value is made of: multiples of a for a kept, of 2^r − a for a dropped item."""
    return group.insert_num * ((1 << group.insert_bits) - group.insert_num)


# ---- what else is drawn


def check_others(device: Device, transaction: Collection[int], kept: int, numbers: Numbers, group: Group) -> int:
    """Check the structure of all draws but the pick, given that ``kept`` items are kept; return the client's runs.

    Raises:
        Fault: the report is not what the draws say, or the draws are not those of docs/formats.md.
    """
    case = _Case(device, transaction, kept, numbers, group)
    if group.kind == NONE:
        case.check_coins()
    elif group.kind == FIXED:
        case.check_sets()
    else:
        case.check_seeds()
    return case.runs


def walk_seeds(device: Device, transaction: Collection[int], kept: int, numbers: Numbers, group: Group) -> int:
    """Walk through all values that a transaction's items can have, and all seeds for one choice of these.

    Returns:
        How often the client ran, but for once to see what is kept.

    Raises:
        Fault: a seed does not give the values drawn, or those that do are not equally likely.
    """
    case = _Case(device, transaction, kept, numbers, group)
    case.walk_seeds()
    return case.runs


def check_sampling(device: Device, transaction: Collection[int], numbers: Numbers, group: Group) -> int:
    """Check random samples of a transaction of more than m items, all of which are kept; return the client's runs.

    The sample is the first m places of a Fisher–Yates shuffle, of which every order is equally likely.

    Raises:
        Fault: the report does not keep the items that the draws say.
    """
    kept = max(j for j in range(group.size + 1) if group.choices(j))
    runs = 0
    for seed in range(RANDOM_POINTS):
        case = _Case(device, transaction, kept, numbers, group, seed)
        case.check_once()
        runs += case.runs
    return runs


class _Case:
    """One transaction, the sample drawn of it if it is long, and one pick that keeps a given number of its items."""

    def __init__(
        self,
        device: Device,
        transaction: Collection[int],
        kept: int,
        numbers: Numbers,
        group: Group,
        seed: int = 0,
    ) -> None:
        self._device, self._transaction, self._kept = device, transaction, kept
        self._numbers, self._group = numbers, group
        self._random = np.random.default_rng([kept, seed])
        self.runs = 0
        # the pick is of a size; or of a subset in the order of sizes, and this is the last of its size
        impossible = sum(not group.choices(j) for j in range(kept))
        last = sum(comb(group.size, j) for j in range(kept + 1)) - 1
        self._index = kept - impossible if group.kind == FIXED else last
        long = len(transaction) > group.size
        self._choices_of_sample = [len(transaction) - place for place in range(group.size)] if long else []
        self._sample = [int(self._random.integers(n)) for n in self._choices_of_sample]
        items = sorted(transaction)
        for place, answer in enumerate(self._sample):
            items[place], items[place + answer] = items[place + answer], items[place]
        self._items = items[: group.size] if long else padded(transaction, numbers, group)

    def _run(self, answers: Sequence[int], draws: Sequence[object]) -> int:
        self.runs += 1
        entropy = Told(self._index, [*self._sample, *answers])
        report = self._device.randomize(self._transaction, entropy=entropy)
        if entropy.asked != [*self._choices_of_sample, *draws]:
            raise Fault("The client's draws are not those of docs/formats.md.")
        return report_number(report, self._numbers, self._group)

    def _uniform(self, bits: int) -> int:
        return int.from_bytes(self._random.bytes(-(-bits // 8)), "little") & ((1 << bits) - 1)

    def check_once(self) -> None:
        """One random run that keeps as many items as can be kept: these are the transaction's."""
        if self._group.kind == NONE:
            self._check_coins_of(self._uniform(self._group.items), sum(1 << item for item in self._items))
        elif self._group.kind == FIXED:
            self._check_set(*self._ways(lambda n: self._uniform(600) % n))
        else:
            every = frozenset(range(self._group.size))
            self._seed(every, self._values(), self._uniform(self._group.seed_bits))

    def check_coins(self) -> None:
        """All coins 0, all 1 and random ones: the report is the coins but on the transaction's items."""
        kept = self._coins(0)
        if kept & ~sum(1 << item for item in self._items) or kept.bit_count() != self._kept:
            raise Fault("With all coins 0 a report shows other items than the kept ones.")
        n = self._group.items
        for coins in ((1 << n) - 1, *(self._uniform(n) for _ in range(RANDOM_POINTS))):
            self._check_coins_of(coins, kept)

    def _check_coins_of(self, coins: int, kept: int) -> None:
        if self._coins(coins) != coins & ~sum(1 << item for item in self._items) | kept:
            raise Fault("A report is not its coins with the kept items set and the dropped ones cleared.")

    def _coins(self, coins: int) -> int:
        return self._run([coins], [(self._group.items, self._group.insert_num, self._group.insert_bits)])

    def check_sets(self) -> None:
        """First, last and random choices: the report is the rank of the kept and the added items."""
        self._check_set(*self._ways(lambda _: 0))
        self._check_set(*self._ways(lambda n: n - 1))
        for _ in range(RANDOM_POINTS):
            self._check_set(*self._ways(lambda n: self._uniform(600) % n))

    def _ways(self, answer: Callable[[int], int]) -> list[tuple[int, int]]:
        """Return an answer, and of how many, for which items are kept and for which are added."""
        return [(answer(n), n) for n in set_choices(self._group, self._kept)]

    def _check_set(self, keep: tuple[int, int], add: tuple[int, int]) -> None:
        group, j = self._group, self._kept
        drawn = [each for each in (keep, add) if each[1] > 1]
        rank = self._run([answer for answer, _ in drawn], [n for _, n in drawn])
        inside = set(self._items)
        others = [item for item in range(group.items) if item not in inside]
        kept = {self._items[place] for place in set_of(keep[0] // 2, group.size, j)}
        place_of = add[0] * comb(len(others), group.report_size - j) // add[1]
        added = {others[place] for place in set_of(place_of, len(others), group.report_size - j)}
        if set(set_of(rank, group.items, group.report_size)) != kept | added:
            raise Fault("A report of a fixed size is not the set that was drawn.")

    def check_seeds(self) -> None:
        """The seed sent is an affine function of the seed drawn, onto the seeds with the values drawn."""
        group, s = self._group, self._group.seed_bits
        kept = self._kept_places()
        values = self._values()
        base = self._seed(kept, values, 0)
        columns = [base ^ self._seed(kept, values, 1 << bit) for bit in range(s)]
        if rank_over_gf2(columns) != s - group.size * group.insert_bits:
            raise Fault("The seeds sent are not spread over all seeds that agree with the transaction's items.")
        for _ in range(RANDOM_POINTS):
            other = self._values()
            drawn = self._uniform(s)
            moved = 0
            for bit in range(s):
                moved ^= columns[bit] if drawn >> bit & 1 else 0
            if self._seed(kept, other, drawn) != self._seed(kept, other, 0) ^ moved:
                raise Fault("The seed sent is no affine function of the seed drawn, so it may not be uniform.")

    def walk_seeds(self) -> None:
        """Each seed with the values drawn is sent for equally many of the seeds drawn; all values are kept to."""
        group, s = self._group, self._group.seed_bits
        kept = self._kept_places()
        some = self._values()
        sent = Counter(self._seed(kept, some, drawn) for drawn in range(1 << s))
        fixed = group.size * group.insert_bits
        if set(sent.values()) != {1 << fixed}:  # so there are 2^(s−mr) of them, all that there are
            raise Fault("The seeds that agree with the transaction's items are not sent equally often.")
        for values in product(*map(range, self._choices)):
            self._seed(kept, values, self._uniform(s))

    def _kept_places(self) -> frozenset[int]:
        """Return the places that the pick keeps: those shown when all values and the seed are drawn as 0."""
        entropy = Told(self._index, [0] * (self._group.size + 1))
        report = self._device.randomize(self._transaction, entropy=entropy)
        kept = shown_of(self._items, report_number(report, self._numbers, self._group), self._group)
        if len(kept) != self._kept:
            raise Fault(f"A pick that keeps {self._kept} items shows {len(kept)}.")
        return kept

    @property
    def _choices(self) -> list[int]:
        """Of how many numbers each place's item has its value: as many for a kept item as for a dropped one."""
        return [value_choices(self._group)] * self._group.size

    def _values(self) -> list[int]:
        """Draw the number that makes the value of each place's item."""
        return [int(self._random.integers(n)) for n in self._choices]

    def _seed(self, kept: frozenset[int], drawn_values: Sequence[int], drawn: int) -> int:
        """Return the seed that is sent for given numbers and a given seed drawn."""
        group, (n, *_) = self._group, self._choices
        a, rest = group.insert_num, (1 << group.insert_bits) - group.insert_num
        numbers, draws = (drawn_values, self._choices) if n > 1 else ((), [])
        seed = self._run([*numbers, drawn], [*draws, 1 << group.seed_bits])
        values = [x % a if place in kept else a + x % rest for place, x in enumerate(drawn_values)]
        for place, item in enumerate(self._items):
            if value(group, item, seed) != values[place]:
                raise Fault("A seed does not give the transaction's items the values that were drawn.")
        return seed
