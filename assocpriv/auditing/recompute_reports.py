"""Reports by their form: bits, the seed of a code, or the rank of a set, computed anew.

A form knows, by the definitions of docs/formats alone, the chance of a report, what a report shows, and what a
client draws for it. With m the items of a (padded) transaction t, N those of the catalogue with its dummies,
j = |t ∩ y| and q = 2^r:

    bits   P[t → y] = v_j / 2^b · a^(|y|−j) (q−a)^(N−m−|y|+j) / q^(N−m)
    seed   P[t → ξ] = v_j / 2^b / (2^(s−mr) a^j (q−a)^(m−j)), over how many seeds agree on t's items
    set    P[t → y] = v_j / T,  T = Σ_j C(m,j) C(N−m, ℓ−j) v_j

Codes of seeds are those of docs/formats/reports.md, one step at a time: GF(2^w), masks, independent items.

Source: EGS03, sections 3 and 6.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import comb, lcm, prod
from typing import ClassVar, Self

_PLAIN_BITS = 1 << 12  # of a report of bits that take a client as long as all else


@dataclass(frozen=True, slots=True)
class Form(ABC):
    """One operator of a plan, and the form of its reports."""

    ranks_kept: ClassVar[int] = 0  # of the first uniform numbers, which decide beside the pick what is kept
    has_coins: ClassVar[bool] = False  # whether each item outside the transaction shows by a coin of its own

    size: int  # m, the items of a transaction, dummies included
    items: int  # N, those of the catalogue, dummies included
    weights: tuple[int, ...]  # v_0 … v_m

    @property
    @abstractmethod
    def total(self) -> int:
        """What the weights of all single choices add up to: 2^b, or T of sets."""

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """Length of an answer."""

    @property
    def seed_bits(self) -> int:
        """Length s of a seed; 0 of other reports."""
        return 0

    @property
    def run_work(self) -> int:
        """How many runs for a short report of bits take about the time of one of this form."""
        return 1 + self.report_bits // _PLAIN_BITS

    def choices(self, j: int) -> int:
        """Return how many choices share the weight v_j: kept subsets, or sets of ℓ items."""
        return comb(self.size, j)

    @property
    def possible(self) -> list[int]:
        """Which numbers of items can be kept."""
        return [j for j in range(self.size + 1) if self.choices(j)]

    @abstractmethod
    def chance(self, j: int, shown: int, outside: int) -> Fraction:
        """Return the probability of a report that shows j given items of a transaction's m and no others of them.

        Of bits, only ``outside`` of the other items are looked at; ``shown`` given ones of them show.
        """

    @property
    def size_distribution(self) -> tuple[Fraction, ...]:
        """p[j], the probability of keeping j items."""
        return tuple(Fraction(self.choices(j) * weight, self.total) for j, weight in enumerate(self.weights))

    def kept_probability(self, j: int) -> Fraction:
        """Return the probability of keeping one given subset of j items."""
        return Fraction(self.choices(j) * self.weights[j], comb(self.size, j) * self.total)

    @abstractmethod
    def others_shown(self, kept: int, others: int) -> Fraction:
        """Return the probability that so many given items outside the transaction all show where ``kept`` are kept."""

    def shown_probability(self, inside: int, outside: int) -> Fraction:
        """Return the probability of showing ``inside`` given items of the transaction and ``outside`` given others."""
        m = self.size
        chances = (
            self.kept_probability(j) * comb(m - inside, j - inside) * self.others_shown(j, outside)
            for j in self.possible
            if j >= inside
        )
        return sum(chances, Fraction(0))

    def collisions(self, j: int, power: int) -> Fraction:  # noqa: ARG002
        """Return Σ P^power over the reports that one choice of j kept items can lead to, over (v_j / Σ v)^power."""
        return Fraction(1)  # where each choice is a report

    def collision_moment(self, power: int) -> Fraction:
        """Return Σ P^power over all reports of one transaction: the chance that so many reports are equal."""
        levels = (
            self.choices(j) * Fraction(self.weights[j], self.total) ** power * self.collisions(j, power)
            for j in self.possible
        )
        return sum(levels, Fraction(0))

    def probability(self, transaction: frozenset[int], shown: frozenset[int]) -> Fraction:
        """Return P[t → y] of a transaction of m items and of a report (with a seed: of one) that shows given items."""
        j = len(transaction & shown)
        return self.chance(j, len(shown) - j, self.items - self.size)

    def can_show(self, given: int, others: int) -> bool:  # noqa: ARG002
        """Whether a report that shows so many of given items can show what it then must of so many others."""
        return True

    def is_report(self, report: int) -> bool:  # noqa: ARG002
        """Whether a number of ``report_bits`` bits is that of a report."""
        return True

    @abstractmethod
    def shown_of(self, items: Sequence[int], report: int) -> frozenset[int]:
        """Return which places of some items a report shows."""

    # ---- what a client draws

    @property
    def picked_weights(self) -> list[int]:
        """The weights that a pick is made by: of each kept subset in the order of sizes, or of each number kept."""
        return [weight for j, weight in enumerate(self.weights) for _ in range(self.choices(j))]

    def picked_index(self, j: int) -> int:
        """Return an index of a pick that keeps j items, the last one."""
        return sum(comb(self.size, i) for i in range(j + 1)) - 1

    @property
    def drawn_below(self) -> set[int]:
        """The bounds of the uniform numbers that are drawn for a report of m items, beside coins."""
        return set()

    @property
    @abstractmethod
    def ways(self) -> int:
        """In how many ways all draws for a report of m items can fall."""

    @property
    def ways_in_stages(self) -> dict[int, int]:
        """In how many ways the draws after the pick can fall, over one kept subset of each size.

        In two stages all of them together; in three all values of the items, and all seeds for one choice of values.
        """
        return {}

    def shrunk(self, n_items: int) -> Self | None:
        """Return the form over a catalogue of few items, or None if its reports could not keep as many items then."""
        return replace(self, items=n_items + self.size)


# ---- bits


@dataclass(frozen=True, slots=True)
class SelectASize(Form):
    """A form that adds each other item independently: ``insert_num``, ``insert_bits``, ``weight_bits`` are a, r, b."""

    insert_num: int
    insert_bits: int
    weight_bits: int

    @property
    def total(self) -> int:
        return 1 << self.weight_bits

    @property
    def default_probability(self) -> Fraction:
        """ρ, of an item outside the transaction."""
        return Fraction(self.insert_num, 1 << self.insert_bits)

    def others_shown(self, kept: int, others: int) -> Fraction:  # noqa: ARG002
        return self.default_probability**others


@dataclass(frozen=True, slots=True)
class Bits(SelectASize):
    """Reports of a bit for each item."""

    has_coins = True

    @property
    def report_bits(self) -> int:
        return self.items

    def collisions(self, j: int, power: int) -> Fraction:  # noqa: ARG002
        rho = self.default_probability
        return (rho**power + (1 - rho) ** power) ** (self.items - self.size)

    def chance(self, j: int, shown: int, outside: int) -> Fraction:
        a, q = self.insert_num, 1 << self.insert_bits
        return Fraction(self.weights[j], self.total) * Fraction(a**shown * (q - a) ** (outside - shown), q**outside)

    def shown_of(self, items: Sequence[int], report: int) -> frozenset[int]:
        return frozenset(place for place, item in enumerate(items) if report >> item & 1)

    @property
    def ways(self) -> int:
        return 1 << self.size + self.items

    @property
    def ways_in_stages(self) -> dict[int, int]:
        return {2: (self.size + 1) << self.items}


# ---- sets


@dataclass(frozen=True, slots=True)
class Sets(Form):
    """Reports of the rank of a set of ``report_size`` items, ℓ."""

    ranks_kept = 1
    report_size: int

    @property
    def total(self) -> int:
        return added_weights(self)

    @property
    def report_bits(self) -> int:
        return max(1, (comb(self.items, self.report_size) - 1).bit_length())

    def choices(self, j: int) -> int:
        if j > self.report_size:
            return 0
        return comb(self.size, j) * comb(self.items - self.size, self.report_size - j)

    def chance(self, j: int, shown: int, outside: int) -> Fraction:  # noqa: ARG002 -- ℓ − j others show
        return Fraction(self.weights[j], self.total)

    def others_shown(self, kept: int, others: int) -> Fraction:
        n, shown = self.items - self.size, self.report_size - kept
        return Fraction(comb(n - others, shown - others), comb(n, shown)) if 0 <= others <= shown else Fraction(0)

    def can_show(self, given: int, others: int) -> bool:
        return 0 <= self.report_size - given <= others

    def is_report(self, report: int) -> bool:
        return report < comb(self.items, self.report_size)

    def shown_of(self, items: Sequence[int], report: int) -> frozenset[int]:
        shown = set(set_of(report, self.items, self.report_size))
        return frozenset(place for place, item in enumerate(items) if item in shown)

    @property
    def picked_weights(self) -> list[int]:
        return [self.choices(j) * weight for j, weight in enumerate(self.weights) if weight]

    def picked_index(self, j: int) -> int:
        return self.possible.index(j)

    def set_choices(self, j: int) -> tuple[int, int]:
        """Return of how many numbers it is chosen which j items are kept, and which others are added."""
        outside = self.items - self.size
        multiple = lcm(*(comb(outside, self.report_size - i) for i in self.possible))
        return 2 * comb(self.size, j), multiple * (3 if multiple > 1 and multiple & (multiple - 1) == 0 else 1)

    @property
    def drawn_below(self) -> set[int]:
        return {n for j in self.possible for n in self.set_choices(j)}

    @property
    def ways(self) -> int:
        return sum(prod(self.set_choices(j)) for j in self.possible)

    def shrunk(self, n_items: int) -> Self | None:
        m, n, size = self.size, self.items - self.size, self.report_size
        if n_items >= n:
            return self if n_items == n else None
        for smaller in range(1, n_items + m):
            if (max(0, smaller - n_items), min(m, smaller)) == (max(0, size - n), min(m, size)):
                return replace(self, items=n_items + m, report_size=smaller)
        return None


def set_of(rank: int, n_items: int, size: int) -> list[int]:
    """Return the set of numbers below ``n_items`` with a rank: for i = size … 1 the largest c with C(c, i) ≤ rank.

    >>> set_of(3, 4, 2)
    [3, 0]
    """
    members, c, i = [], n_items - 1, size
    ways = comb(c, i) if size else 0  # C(c, i) throughout, without a new product each time
    while i:
        if ways > rank:
            c, ways = c - 1, ways * (c - i) // c
        else:
            members.append(c)
            rank -= ways
            c, i, ways = c - 1, i - 1, ways * i // c if ways else 0  # C(c, i) = 0 stays 0 for all that follow
    return members


@lru_cache(maxsize=32)
def added_weights(form: Form) -> int:
    """Return what the weights of all choices add up to."""
    return sum(form.choices(j) * weight for j, weight in enumerate(form.weights))


# ---- seeds of codes


def times(x: int, y: int, width: int, polynomial: int) -> int:
    """Multiply two elements of GF(2^width), bit i of a number being the coefficient of x^i.

    >>> times(2, 3, 2, 0b111)
    1
    """
    product = 0
    while y:
        if y & 1:
            product ^= x
        x <<= 1
        if x >> width:
            x ^= polynomial
        y >>= 1
    return product


def order_of_x(width: int, polynomial: int) -> int:
    """Return after how many steps the powers of x come back to 1; 0 if they never do. It walks through them all.

    >>> order_of_x(4, 0b10011), order_of_x(4, 0b11111), order_of_x(4, 0b10000)
    (15, 5, 0)
    """
    power = 1
    for step in range(1, 1 << width):
        power <<= 1
        if power >> width:
            power ^= polynomial
        if power == 1:
            return step
    return 0


def rank_over_gf2(vectors: list[int]) -> int:
    """Return the rank of vectors over GF(2), by elimination.

    >>> rank_over_gf2([0b011, 0b101, 0b110])
    2
    """
    by_length: dict[int, int] = {}
    for vector in vectors:
        left = vector
        while left and left.bit_length() in by_length:
            left ^= by_length[left.bit_length()]
        if left:
            by_length[left.bit_length()] = left
    return len(by_length)


@dataclass(frozen=True, slots=True)
class Seed(SelectASize):
    """Reports of a seed, from which a code makes each item's value; an item is shown if its value is below a."""

    field_bits: int
    polynomial: int
    blocks: int
    ones_row: int = 0

    @property
    def seed_bits(self) -> int:
        return self.field_bits * self.blocks + self.ones_row

    @property
    def report_bits(self) -> int:
        return self.seed_bits

    def matching(self, j: int) -> Fraction:
        """Return how many seeds show just j given items of m, if the items' bits are independent."""
        a, rest = self.insert_num, (1 << self.insert_bits) - self.insert_num
        agreeing: int = a**j * rest ** (self.size - j)
        return Fraction(agreeing << self.seed_bits, 1 << self.size * self.insert_bits)

    def collisions(self, j: int, power: int) -> Fraction:
        return self.matching(j) ** (1 - power)

    def chance(self, j: int, shown: int, outside: int) -> Fraction:  # noqa: ARG002 -- others follow from the seed
        return Fraction(self.weights[j], self.total) / self.matching(j)

    def shown_of(self, items: Sequence[int], report: int) -> frozenset[int]:
        return frozenset(place for place, item in enumerate(items) if self.value(item, report) < self.insert_num)

    def value(self, item: int, seed: int) -> int:
        """Return the value of an item under a seed."""
        u = 0
        for mask in masks(self, item):
            u = u << 1 | (mask & seed).bit_count() & 1
        return u

    @abstractmethod
    def mask(self, item: int) -> tuple[int, ...]:
        """Return an item's r masks; :func:`masks` keeps them."""

    @abstractmethod
    def fits_field(self, width: int) -> bool:
        """Whether a field of 2^width elements has room for the items."""

    @property
    @abstractmethod
    def independent_items(self) -> int:
        """How many items' bits are independent, by the theorem on the code."""

    @abstractmethod
    def blocks_for(self, independent: int) -> tuple[int, int]:
        """Return the least blocks and rows of ones that make so many items independent."""

    @property
    def value_choices(self) -> int:
        """Of how many numbers an item's value is made: multiples of a for a kept, of 2^r − a for a dropped item."""
        return self.insert_num * ((1 << self.insert_bits) - self.insert_num)

    @property
    def drawn_below(self) -> set[int]:
        return {self.value_choices, 1 << self.seed_bits}

    @property
    def _ways_of_values(self) -> int:
        ways: int = self.value_choices**self.size
        return ways

    @property
    def ways(self) -> int:
        return self._ways_of_values << self.size + self.seed_bits

    @property
    def ways_in_stages(self) -> dict[int, int]:
        kept, values = self.size + 1, self._ways_of_values
        return {2: kept * values << self.seed_bits, 3: kept * (values + (1 << self.seed_bits))}


@dataclass(frozen=True, slots=True)
class Bch(Seed):
    """A BCH code: of designed distance 2τ + 1 (one more with the row of ones) any 2τ (+ 1) columns are independent."""

    def mask(self, item: int) -> tuple[int, ...]:
        return tuple(self._column(item * self.insert_bits + j) for j in range(self.insert_bits))

    def _column(self, place: int) -> int:
        w, polynomial = self.field_bits, self.polynomial
        power = 1
        for bit in bin(place)[2:]:  # α^place by repeated squares
            power = times(power, power, w, polynomial)
            power = times(power, 2, w, polynomial) if bit == "1" else power
        square, column = times(power, power, w, polynomial), 0
        for t in range(self.blocks):
            column |= power << t * w
            power = times(power, square, w, polynomial)
        return column | self.ones_row << self.blocks * w

    def fits_field(self, width: int) -> bool:
        return self.items * self.insert_bits <= (1 << width) - 1  # a nonzero element for each bit of an item

    @property
    def independent_items(self) -> int:
        return (2 * self.blocks + self.ones_row) // self.insert_bits

    def blocks_for(self, independent: int) -> tuple[int, int]:
        columns = independent * self.insert_bits
        return max(1, columns // 2), int(columns > 1 and columns % 2 == 1)

    @property
    def run_work(self) -> int:
        return 4 + self.blocks // 3 + (self.size * self.insert_bits) ** 2 // 400


@dataclass(frozen=True, slots=True)
class ReedSolomon(Seed):
    """A Reed–Solomon code: τ values at distinct elements fix a polynomial of τ coefficients."""

    def mask(self, item: int) -> tuple[int, ...]:
        w, r = self.field_bits, self.insert_bits
        made = [0] * r
        element = 1  # item^d
        for d in range(self.blocks):
            shifted = element  # α^e · item^d
            for e in range(w):
                for j in range(r):
                    made[j] |= (shifted >> (r - 1 - j) & 1) << (d * w + e)
                shifted = times(shifted, 2, w, self.polynomial)
            element = times(element, item, w, self.polynomial)
        return tuple(made)

    def fits_field(self, width: int) -> bool:
        return self.insert_bits <= width and self.items <= 1 << width

    @property
    def independent_items(self) -> int:
        return self.blocks

    def blocks_for(self, independent: int) -> tuple[int, int]:
        return independent, 0

    @property
    def run_work(self) -> int:
        return 4 + self.seed_bits * self.insert_bits // 4 + (self.size * self.insert_bits) ** 2 // 400


@lru_cache(maxsize=1 << 14)
def masks(form: Seed, item: int) -> tuple[int, ...]:
    """Return an item's r masks: the parity of a seed's bits in mask j is the j-th digit of the item's value."""
    return form.mask(item)
