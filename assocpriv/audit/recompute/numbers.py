"""A plan's integers, and what its generator does with them, by the definitions of docs/formats.md alone.

Nothing of the package computes here: an audit that asks the plan repeats the plan's mistakes. A field is walked through
element by element; the masks that give an item its bits are computed one by one.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb

NONE, FIXED, BCH, REED_SOLOMON = "none", "fixed-size", "bch", "reed-solomon"


@dataclass(frozen=True, slots=True)
class Group:
    """One operator of a plan and what its reports are made with, as integers.

    Attributes:
        kind: ``none``, ``bch``, ``reed-solomon`` or ``fixed-size``.
        size: m, the items of a transaction, dummies included.
        items: N, those of the catalogue, dummies included.
        weights: v_0 … v_m.
        insert_num, insert_bits, weight_bits: a, r and b; 0 for reports of a fixed size.
        report_size: ℓ of reports of a fixed size, else 0.
        field_bits, polynomial, blocks, ones_row: of the generator, else 0.
    """

    kind: str
    size: int
    items: int
    weights: tuple[int, ...]
    insert_num: int = 0
    insert_bits: int = 0
    weight_bits: int = 0
    report_size: int = 0
    field_bits: int = 0
    polynomial: int = 0
    blocks: int = 0
    ones_row: int = 0

    @property
    def seed_bits(self) -> int:
        """Length s of a seed."""
        return self.field_bits * self.blocks + self.ones_row

    @property
    def total(self) -> int:
        """What the weights of all single choices add up to: 2^b, or T of reports of a fixed size."""
        return added_weights(self) if self.kind == FIXED else 1 << self.weight_bits

    def choices(self, j: int) -> int:
        """Return how many choices share the weight v_j: kept subsets, or sets of ℓ items."""
        if self.kind != FIXED:
            return comb(self.size, j)
        if j > self.report_size:
            return 0
        return comb(self.size, j) * comb(self.items - self.size, self.report_size - j)

    def matching(self, j: int) -> Fraction:
        """Return how many seeds show just j given items of m, if the items' bits are independent."""
        a, rest = self.insert_num, (1 << self.insert_bits) - self.insert_num
        agreeing: int = a**j * rest ** (self.size - j)
        return Fraction(agreeing << self.seed_bits, 1 << self.size * self.insert_bits)

    def chance(self, j: int, shown: int, outside: int) -> Fraction:
        """Return the probability of a report that shows j given items of a transaction's m and no others of them.

        Without a generator, only ``outside`` of the other items are looked at; ``shown`` given ones of them show.
        """
        weight = Fraction(self.weights[j], self.total)
        if self.kind == FIXED:
            return weight
        if self.kind != NONE:
            return weight / self.matching(j)
        a, q = self.insert_num, 1 << self.insert_bits
        return weight * Fraction(a**shown * (q - a) ** (outside - shown), q**outside)

    def probability(self, transaction: frozenset[int], shown: frozenset[int]) -> Fraction:
        """Return P[t → y] of a transaction of m items and of a report (with a seed: of one) that shows given items."""
        j = len(transaction & shown)
        return self.chance(j, len(shown) - j, self.items - self.size)

    @property
    def report_bits(self) -> int:
        """Length of a report, without the byte of a size in clear."""
        if self.kind == FIXED:
            return max(1, (comb(self.items, self.report_size) - 1).bit_length())
        return self.items if self.kind == NONE else self.seed_bits

    def report_items(self, report: int) -> frozenset[int]:
        """Return the items that a report shows, by the definitions of docs/formats.md."""
        if self.kind == FIXED:
            return frozenset(set_of(report, self.items, self.report_size))
        if self.kind == NONE:
            return frozenset(item for item in range(self.items) if report >> item & 1)
        return frozenset(item for item in range(self.items) if value(self, item, report) < self.insert_num)


@lru_cache(maxsize=32)
def added_weights(group: Group) -> int:
    """Return what the weights of all choices add up to."""
    return sum(group.choices(j) * weight for j, weight in enumerate(group.weights))


@dataclass(frozen=True, slots=True)
class Numbers:
    """A plan's integers.

    Attributes:
        n_items: n, without dummies.
        transaction_size, itemset_size: M and K.
        in_clear: whether reports tell their transaction's size.
        groups: one for each operator.
        prior, posterior: of the promise.
        reports_per_person: how many reports of a person the promise covers together.
    """

    n_items: int
    transaction_size: int
    itemset_size: int
    in_clear: bool
    groups: tuple[Group, ...]
    prior: Fraction
    posterior: Fraction
    reports_per_person: int

    @property
    def report_bytes(self) -> int:
        """Length of every report in bytes, that of a size in clear among them."""
        return -(-self.groups[-1].report_bits // 8) + self.in_clear

    @property
    def limit(self) -> Fraction:
        """What γ must stay below: the posterior's odds over the prior's."""
        return (self.posterior / (1 - self.posterior)) / (self.prior / (1 - self.prior))


# ---- the field and the masks


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


@lru_cache(maxsize=1 << 14)
def masks(group: Group, item: int) -> tuple[int, ...]:
    """Return an item's r masks: the parity of a seed's bits in mask j is the j-th digit of the item's value."""
    w, polynomial, r = group.field_bits, group.polynomial, group.insert_bits
    if group.kind == BCH:
        return tuple(_bch_mask(group, item * r + j) for j in range(r))
    found = [0] * r
    element = 1  # item^d
    for d in range(group.blocks):
        shifted = element  # α^e · item^d
        for e in range(w):
            for j in range(r):
                found[j] |= (shifted >> (r - 1 - j) & 1) << (d * w + e)
            shifted = times(shifted, 2, w, polynomial)
        element = times(element, item, w, polynomial)
    return tuple(found)


def _bch_mask(group: Group, column: int) -> int:
    w, polynomial = group.field_bits, group.polynomial
    power = 1
    for bit in bin(column)[2:]:  # α^column by repeated squares
        power = times(power, power, w, polynomial)
        power = times(power, 2, w, polynomial) if bit == "1" else power
    square, mask = times(power, power, w, polynomial), 0
    for t in range(group.blocks):
        mask |= power << t * w
        power = times(power, square, w, polynomial)
    return mask | group.ones_row << group.blocks * w


def value(group: Group, item: int, seed: int) -> int:
    """Return the value of an item under a seed; the item is shown iff it is below a."""
    u = 0
    for mask in masks(group, item):
        u = u << 1 | (mask & seed).bit_count() & 1
    return u


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
