"""The shipping client on the plan under audit: what it draws, and what a report shows of each draw.

A real plan has too many draws to walk through them all. What can be walked through is which items are kept. The rest is
checked by its structure, a transaction and a kept subset at a time, by the form of the reports:

* bits must be the coins, with the kept items set and the dropped ones cleared;
* a set's rank must be that of the drawn kept and added items;
* a seed ξ must give the transaction's items the values drawn, and be an affine function of the uniform seed ξ0 drawn,
  with a linear part of rank s − m·r: then ξ is uniform among the 2^(s−mr) seeds that have these values;
* of a long transaction the M first places of the drawn shuffle must be the items that a report keeps.

The client is anything that has ``randomize``; reports are read by auditing/recompute/report_forms.py alone. Whatever a
report or a client's draws are wrong in is raised as a Fault.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from assocpriv.auditing.findings import Fault, client_at_work
from assocpriv.auditing.recompute.codes import Bch, ReedSolomon, Seed, rank_over_gf2
from assocpriv.auditing.recompute.plan_text import Numbers
from assocpriv.auditing.recompute.report_forms import Bits, Form, Sets, set_of
from assocpriv.lab.enumeration import distribution
from assocpriv.lab.seeded_entropy import SeededEntropy
from assocpriv.plans.baskets import Plan
from assocpriv.promise.entropy import Entropy

RANDOM_POINTS = 32  # of each case: a client that errs on one draw in four is missed with a chance of 10^-4
_Form = TypeVar("_Form", bound=Form)
_Outcome = TypeVar("_Outcome", bound=Hashable)


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


class KeptOnly:
    """Passes on the draws that decide what is kept, the first ``ranks`` numbers among them; others draws the rest."""

    def __init__(self, walked: Entropy, others: Entropy, ranks: int) -> None:
        self._walked, self._others, self._ranks = walked, others, ranks
        self.pick, self.coins = walked.pick, others.coins

    def below(self, n: int) -> int:
        self._ranks -= 1
        return (self._walked if self._ranks >= 0 else self._others).below(n)


class Listed:
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
    """A device, and the reports of a plan as the audit reads them."""

    device: Device
    numbers: Numbers
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
        return form.shown_of(items, reader.report(transaction, KeptOnly(entropy, others, form.ranks_kept)))

    law, runs = bounded_law(run, 2 << form.size)  # two answers for each subset of a report of a fixed size
    for kept, probability in law.items():
        wanted = form.kept_probability(len(kept))
        if probability != wanted:
            raise Fault(
                f"A kept subset of {len(kept)} of {form.size} items has the probability {float(probability):.6g}, "
                f"and should have {float(wanted):.6g}."
            )
    return runs


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
        entropy = Listed(self._index, [*self._sample, *answers])
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
        report = self._reader.report(self._transaction, Listed(self._index, [0] * (self._form.size + 1)))
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
