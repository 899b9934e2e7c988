"""Codes of seeds, as docs/formats/reports.md has them, one step at a time: GF(2^w), masks, independent items."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from assocpriv.auditing.recompute.report_forms import SelectASize


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
