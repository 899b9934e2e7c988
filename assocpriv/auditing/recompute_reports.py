"""Report forms recomputed: bits, the seed of a code, or the rank of a set.

A form gives, by the definitions of docs/formats alone, the probability of a report and the report that random words
make. With m items of a (padded) transaction t, N items of the catalogue with its padding items, j = |t ∩ y| and
q = 2^r:

    bits   P[t → y] = v_j / 2^b · a^(|y|−j) (q−a)^(N−m−|y|+j) / q^(N−m)
    seed   P[t → ξ] = v_j / 2^b / (2^(s−mr) a^j (q−a)^(m−j)), divided by the number of seeds that agree on t's items
    set    P[t → y] = v_j / T,  T = Σ_j C(m,j) C(N−m, ℓ−j) v_j

Codes of seeds are those of docs/formats/reports.md, computed step by step: GF(2^w), masks, independent items.

Source: EGS03, sections 3 and 6.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import comb, lcm
from typing import ClassVar, Protocol

from assocpriv.auditing.findings import Fault


@dataclass(frozen=True, slots=True)
class Form(ABC):
    """One operator of a plan, and the form of its responses."""

    others_independent: ClassVar[bool] = False  # whether items outside the transaction are shown independently

    size: int  # m, the items of a transaction, padding items included
    items: int  # N, those of the catalogue, padding items included
    weights: tuple[int, ...]  # v_0 … v_m

    @property
    @abstractmethod
    def total(self) -> int:
        """The sum of the weights of all single choices: 2^b, or T for sets."""

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """Length of a response in bits."""

    @property
    def seed_bits(self) -> int:
        """Length s of a seed; 0 for other forms."""
        return 0

    def choices(self, j: int) -> int:
        """Return the number of choices of weight v_j: kept subsets, or sets of ℓ items."""
        return comb(self.size, j)

    @property
    def possible(self) -> list[int]:
        """The numbers of items that can be kept."""
        return [j for j in range(self.size + 1) if self.choices(j)]

    @abstractmethod
    def probability(self, j: int, shown: int, outside: int) -> Fraction:
        """Return the probability of a report that shows j given items of a transaction and none of its other items.

        For bits only ``outside`` other items count, of which ``shown`` given ones are shown.
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
        """Return the probability that ``others`` given items outside the transaction all show if ``kept`` are kept."""

    def shown_probability(self, inside: int, outside: int) -> Fraction:
        """Return the probability of showing ``inside`` given items of the transaction and ``outside`` given others."""
        m = self.size
        terms = (
            self.kept_probability(j) * comb(m - inside, j - inside) * self.others_shown(j, outside)
            for j in self.possible
            if j >= inside
        )
        return sum(terms, Fraction(0))

    def collisions(self, j: int, power: int) -> Fraction:  # noqa: ARG002
        """Return Σ P^power over the reports of one choice of j kept items, divided by (v_j / Σ v)^power."""
        return Fraction(1)  # each choice is one report

    def collision_moment(self, power: int) -> Fraction:
        """Return Σ P^power over all reports of a transaction: the probability that ``power`` reports are equal."""
        shares = ((j, Fraction(self.weights[j], self.total)) for j in self.possible)
        return sum((self.choices(j) * share**power * self.collisions(j, power) for j, share in shares), Fraction(0))

    def can_show(self, given: int, others: int) -> bool:  # noqa: ARG002
        """Return whether a report can show ``given`` items, and the rest of its items among ``others``."""
        return True

    @abstractmethod
    def drawn(self, fitted: Sequence[int], words: "Draws") -> int:
        """Return the report that random words make of m items (docs/formats/client.md), as an integer."""


class Draws(Protocol):
    """Draws from given words, as docs/formats/client.md defines them (replay.py)."""

    def below(self, n: int) -> int:
        """Return a uniform number below n."""

    def pick(self, sums: Sequence[int]) -> int:
        """Return a place, drawn by cumulative weights."""

    def random_bits(self, count: int, num: int, bits: int) -> int:
        """Return bits, each 1 with probability num / 2^bits."""


def words_at(sums: Sequence[int]) -> Iterator[int]:
    """Yield the words that give the numbers on both sides of each sum, for draws below the last sum, up to 2^64.

    No draw below another number of up to 2^32 rejects them, so 0 is not among them.

    >>> [word % 4 for word in words_at([1, 4])], list(words_at([1, 3]))
    ([0, 1, 3], [1, 6148914691236517206, 12297829382473034411])
    """
    n = sums[-1]
    for number in sorted({number for end in sums for number in (end - 1, end) if 0 <= number < n <= 1 << 64}):
        if n & (n - 1) == 0:
            yield max(1, number | (n < 1 << 64) << 63)
        else:
            yield max(1, -(-((number << 64) + (1 << 64) % n) // n))


@lru_cache(maxsize=64)
def subsets(form: Form) -> tuple[list[int], list[int]]:
    """Return all subsets of m places, ordered by size and then as numbers, and their cumulative weights."""
    masks = sorted(range(1 << form.size), key=lambda mask: (mask.bit_count(), mask))
    return masks, list(accumulate(form.weights[mask.bit_count()] for mask in masks))


def cumulative_weights(form: Form) -> list[int]:
    """Return the cumulative weights of a client's draw: of kept subsets, or of the number of items a set keeps."""
    return _set_weights(form)[0] if isinstance(form, Sets) else subsets(form)[1]


def _draw_kept(form: Form, words: Draws) -> int:
    masks, sums = subsets(form)
    return masks[words.pick(sums)]


# ---- bits


@dataclass(frozen=True, slots=True)
class SelectASize(Form):
    """A form with independent insertion: ``insert_num``, ``insert_bits`` and ``weight_bits`` are a, r and b."""

    insert_num: int
    insert_bits: int
    weight_bits: int

    @property
    def total(self) -> int:
        return 1 << self.weight_bits

    @property
    def default_probability(self) -> Fraction:
        """ρ, the probability of showing an item outside the transaction."""
        return Fraction(self.insert_num, 1 << self.insert_bits)

    def others_shown(self, kept: int, others: int) -> Fraction:  # noqa: ARG002
        return self.default_probability**others


@dataclass(frozen=True, slots=True)
class Bits(SelectASize):
    """Responses of one bit per item."""

    others_independent = True

    @property
    def report_bits(self) -> int:
        return self.items

    def collisions(self, j: int, power: int) -> Fraction:  # noqa: ARG002
        rho = self.default_probability
        return (rho**power + (1 - rho) ** power) ** (self.items - self.size)

    def probability(self, j: int, shown: int, outside: int) -> Fraction:
        a, q = self.insert_num, 1 << self.insert_bits
        return Fraction(self.weights[j], self.total) * Fraction(a**shown * (q - a) ** (outside - shown), q**outside)

    def drawn(self, fitted: Sequence[int], words: Draws) -> int:
        mask = _draw_kept(self, words)
        report = words.random_bits(self.items, self.insert_num, self.insert_bits)
        for place, item in enumerate(fitted):
            report = report | 1 << item if mask >> place & 1 else report & ~(1 << item)
        return report


# ---- sets


@dataclass(frozen=True, slots=True)
class Sets(Form):
    """Responses of the rank of a set of ``report_size`` items, ℓ."""

    report_size: int

    @property
    def total(self) -> int:
        return added_weights(self)

    @property
    def report_bits(self) -> int:
        return max(1, (comb(self.items, self.report_size) - 1).bit_length())

    def choices(self, j: int) -> int:
        return 0 if j > self.report_size else comb(self.size, j) * comb(self.items - self.size, self.report_size - j)

    def probability(self, j: int, shown: int, outside: int) -> Fraction:  # noqa: ARG002 -- ℓ − j others are shown
        return Fraction(self.weights[j], self.total)

    def others_shown(self, kept: int, others: int) -> Fraction:
        n, shown = self.items - self.size, self.report_size - kept
        return Fraction(comb(n - others, shown - others), comb(n, shown)) if 0 <= others <= shown else Fraction(0)

    def can_show(self, given: int, others: int) -> bool:
        return 0 <= self.report_size - given <= others

    def drawn(self, fitted: Sequence[int], words: Draws) -> int:
        m, outside, ell = self.size, self.items - self.size, self.report_size
        sums, bound = _set_weights(self)
        j = self.possible[words.pick(sums)]
        kept = set_of(words.below(2 * comb(m, j)) // 2, m, j)
        rank = words.below(bound) * comb(outside, ell - j) // bound
        held = set(fitted)
        others = [item for item in range(self.items) if item not in held]
        shown = [fitted[place] for place in kept] + [others[place] for place in set_of(rank, outside, ell - j)]
        return sum(comb(item, place) for place, item in enumerate(sorted(shown), 1))


@lru_cache(maxsize=64)
def _set_weights(form: Sets) -> tuple[list[int], int]:
    """Return the cumulative weights of each number kept, and the exclusive limit of the draw for inserted items."""
    multiple = lcm(*(comb(form.items - form.size, form.report_size - j) for j in form.possible))
    bound = multiple * (3 if multiple > 1 and multiple & (multiple - 1) == 0 else 1)
    return list(accumulate(form.choices(j) * form.weights[j] for j in form.possible)), bound


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
    """Return the sum of the weights of all choices."""
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
    """Return the order of x by enumerating its powers; 0 if they never return to 1.

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


def reduced(vector: int, basis: Iterable[int]) -> int:
    """Return what a basis over GF(2) leaves of a vector; 0 if they are dependent."""
    for other in basis:
        vector = min(vector, vector ^ other)
    return vector


def basis_over_gf2(vectors: Iterable[int]) -> list[int]:
    """Return a basis of vectors over GF(2), by elimination; no two have the same highest bit.

    >>> basis_over_gf2([0b011, 0b101, 0b110])
    [3, 5]
    """
    basis: list[int] = []
    for vector in vectors:
        if left := reduced(vector, basis):
            basis.append(left)
    return basis


@dataclass(frozen=True, slots=True)
class Seed(SelectASize):
    """Responses of a seed, from which a code computes each item's value; an item is shown if its value is below a."""

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
        """Return the number of seeds that show exactly j given items of m, if the items' bits are independent."""
        a, rest = self.insert_num, (1 << self.insert_bits) - self.insert_num
        agreeing: int = a**j * rest ** (self.size - j)
        return Fraction(agreeing << self.seed_bits, 1 << self.size * self.insert_bits)

    def collisions(self, j: int, power: int) -> Fraction:
        return self.matching(j) ** (1 - power)

    def probability(self, j: int, shown: int, outside: int) -> Fraction:  # noqa: ARG002 -- others follow from the seed
        return Fraction(self.weights[j], self.total) / self.matching(j)

    def drawn(self, fitted: Sequence[int], words: Draws) -> int:
        kept, a, rest, wanted = _draw_kept(self, words), self.insert_num, (1 << self.insert_bits) - self.insert_num, 0
        for place in range(len(fitted)):
            x = words.below(a * rest)
            wanted = wanted << self.insert_bits | (x % a if kept >> place & 1 else a + x % rest)
        seed = first = words.below(1 << self.seed_bits)
        for column, those, pivot in equations(self, tuple(fitted)):
            if ((column & first).bit_count() ^ (those & wanted).bit_count()) & 1:
                seed ^= pivot
        return seed

    @abstractmethod
    def mask(self, item: int) -> tuple[int, ...]:
        """Return an item's r masks; :func:`masks` caches them."""

    @abstractmethod
    def fits_field(self, width: int) -> bool:
        """Return whether a field of 2^width elements is large enough for the items."""

    @property
    @abstractmethod
    def independent_items(self) -> int:
        """The number of items whose bits are independent, by the code's theorem."""


@dataclass(frozen=True, slots=True)
class Bch(Seed):
    """A BCH code of designed distance 2τ + 1 (one more with the row of ones): any 2τ (+ 1) columns are independent."""

    def mask(self, item: int) -> tuple[int, ...]:
        return tuple(self._column(item * self.insert_bits + j) for j in range(self.insert_bits))

    def _column(self, place: int) -> int:
        w, polynomial = self.field_bits, self.polynomial
        power = 1
        for bit in bin(place)[2:]:  # α^place by repeated squaring
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


@dataclass(frozen=True, slots=True)
class ReedSolomon(Seed):
    """A Reed–Solomon code: values at τ distinct elements determine a polynomial of τ coefficients."""

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


@lru_cache(maxsize=1 << 14)
def masks(form: Seed, item: int) -> tuple[int, ...]:
    """Return an item's r masks: the parity of a seed's bits in mask j is the j-th digit of the item's value."""
    return form.mask(item)


@lru_cache(maxsize=1 << 13)
def equations(form: Seed, fitted: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Return the linear equations for a seed with given item values, as rows of a mask, value bits and a pivot.

    A pivot, the lowest bit that earlier rows leave, is in no other row's mask. The first item's bits are the highest.
    """
    rows: list[tuple[int, int, int]] = []
    columns = [mask for item in fitted for mask in masks(form, item)]
    for place, mask in enumerate(columns):
        column, those = mask, 1 << len(columns) - 1 - place
        for other, of_other, pivot in rows:
            if column & pivot:
                column, those = column ^ other, those ^ of_other
        if not column:
            raise Fault("The plan's generator does not have the independence that it states.")
        low = column & -column
        rows = [(o ^ column, t ^ those, p) if o & low else (o, t, p) for o, t, p in rows]
        rows.append((column, those, low))
    return rows
