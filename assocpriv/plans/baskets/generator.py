"""The generator of a report's bits, a matrix over GF(2): bits are the products of a seed with its columns.

Item i owns r columns; the report's value for it is u_i = Σ_j ⟨column(i,j), seed⟩ · 2^(r−1−j), uniform in
0..2^r − 1, and the item is present iff u_i < a. With α = x a primitive element of GF(2^w):

    BCH            column c = i·r + j stacks α^c, α^(3c), …, α^((2τ−1)c), w bits each, and a 1 if there is a row
                   of ones: any 2τ (+1) columns are linearly independent (the BCH bound)
    Reed–Solomon   the seed is a polynomial f of q coefficients of w bits (lowest degree first); u_i is the low
                   r bits of f at the field element whose bits are those of the integer i: any q items'
                   values are independent (interpolation)

Bit b of the seed is bit b mod 64 of word b div 64.

Source: EGS03, section 6, statement 5; MacWilliams and Sloane, The Theory of Error-Correcting Codes, ch. 7
and 10.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.errors import PlanError
from assocpriv.plans.published_plan import check_fields, check_integer

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
_MAX_FIELD_BITS = 24
MAX_SEED_BITS = 4096
_NAMES = "none, bch or reed-solomon"
WORD_BITS = 64
_TABLED_BITS = 16  # tables of a field up to this size are made in milliseconds
# Conway polynomials of GF(2), GF(4), …, GF(2^32), those of galois; no plan has a larger field than GF(2^24)
_CONWAY = (
    0x3, 0x7, 0xB, 0x13, 0x25, 0x5B, 0x83, 0x11D, 0x211, 0x46F, 0x805, 0x10EB, 0x201B, 0x40A9, 0x8035, 0x1002D,
    0x20009, 0x41403, 0x80027, 0x1006F3, 0x200065, 0x401F61, 0x800021, 0x101E6A9, 0x2000145, 0x40045D3, 0x80016AD,
    0x100020E5, 0x20000005, 0x400328AF, 0x80000009, 0x100008299,
)  # fmt: skip


# ---- kinds


class _Bch:
    """Bits are columns of a code, numbered item by item; the BCH bound says how many are independent."""

    fields: tuple[str, ...] = ("field_bits", "field_polynomial", "blocks", "ones_row")

    def independent_items(self, columns: int, _blocks: int, bits_per_item: int) -> int:
        return columns // bits_per_item

    def capacity(self, field_bits: int, bits_per_item: int) -> int:
        return ((1 << field_bits) - 1) // bits_per_item

    def least_field_bits(self, n_items: int, bits_per_item: int) -> int:
        return max(2, (n_items * bits_per_item).bit_length())


class _ReedSolomon(_Bch):
    """Items are elements of the field; an item's value is that of a polynomial with ``blocks`` coefficients there."""

    fields = ("field_bits", "field_polynomial", "blocks")

    def independent_items(self, _columns: int, blocks: int, _bits_per_item: int) -> int:
        return blocks

    def capacity(self, field_bits: int, bits_per_item: int) -> int:
        return 1 << field_bits if bits_per_item <= field_bits else 0

    def least_field_bits(self, n_items: int, bits_per_item: int) -> int:
        return max(2, bits_per_item, (n_items - 1).bit_length())


class _Seedless(_Bch):
    """No seed: a report consists of the bits themselves."""

    fields = ()


_CODES = {"none": _Seedless(), "bch": _Bch(), "reed-solomon": _ReedSolomon()}


@dataclass(frozen=True, slots=True)
class Generator:
    """The code that expands a report's seed into bits: ``none`` (the report is the bits), ``bch`` or ``reed-solomon``.

    ``field_polynomial`` is a primitive polynomial over GF(2) of degree ``field_bits``, bit i the coefficient
    of x^i. BCH stacks α^c, α^3c, … (``blocks`` of them) and, with ``ones_row``, a row of ones; its column c is
    bit c mod r of item c div r. Reed–Solomon evaluates a polynomial of ``blocks`` coefficients at the item.

    Source: EGS03, section 6.
    """

    kind: str = "none"
    field_bits: int = 0
    field_polynomial: int = 0
    blocks: int = 0
    ones_row: bool = False

    def __post_init__(self) -> None:
        if self.kind not in _CODES:
            raise PlanError(f"a plan's generator must be {_NAMES}; a newer release may know it")
        if self.is_seedless:
            if (self.field_bits, self.field_polynomial, self.blocks, self.ones_row) != (0, 0, 0, False):
                raise PlanError("generator none takes no other fields")
            return
        check_integer(self.field_bits, "field_bits", 2, _MAX_FIELD_BITS)
        low = 1 << self.field_bits
        check_integer(self.field_polynomial, "field_polynomial", low, 2 * low - 1)
        check_integer(self.blocks, "blocks", 1, MAX_SEED_BITS)
        if type(self.ones_row) is not bool or (self.ones_row and "ones_row" not in self._code.fields):
            raise PlanError("plan field ones_row must be true or false, and true only for bch")
        check_integer(self.seed_bits, "seed_bits", 1, MAX_SEED_BITS)
        if not is_primitive(self.field_polynomial, self.field_bits):
            raise PlanError("plan field field_polynomial is not a primitive polynomial of degree field_bits")

    @property
    def _code(self) -> _Bch:
        return _CODES[self.kind]

    @property
    def is_seedless(self) -> bool:
        """Whether the report is the bits themselves."""
        return self.kind == "none"

    @property
    def seed_bits(self) -> int:
        """Length of a seed in bits; 0 for ``none``."""
        return self.field_bits * self.blocks + int(self.ones_row)

    def independent_items(self, bits_per_item: int) -> int:
        """Return how many items have jointly independent bits under a uniform seed."""
        return self._code.independent_items(2 * self.blocks + int(self.ones_row), self.blocks, bits_per_item)

    def capacity(self, bits_per_item: int) -> int:
        """Return how many items the generator has bits for."""
        return self._code.capacity(self.field_bits, bits_per_item)

    def least_field_bits(self, n_items: int, bits_per_item: int) -> int:
        """Return the smallest field of a generator of this kind for a number of items, in bits."""
        return self._code.least_field_bits(n_items, bits_per_item)

    def check_items(self, n_items: int, bits_per_item: int, independent: int, itemset_size: int) -> None:
        """Raise PlanError if the generator has too few items, or too few independent ones for an itemset size."""
        if self.is_seedless:
            return
        if self.capacity(bits_per_item) < n_items:
            raise PlanError(f"the generator is too short for {n_items} items of {bits_per_item} bits")
        if self.independent_items(bits_per_item) < min(independent, n_items):
            raise PlanError(
                f"itemsets of {itemset_size} items need a generator in which any {independent} items are independent"
            )

    def to_json(self) -> dict[str, Any]:
        """Return the generator as canonical JSON content."""
        return {name: getattr(self, name) for name in ("kind", *self._code.fields)}

    @classmethod
    def from_json(cls, content: object) -> "Generator":
        """Read what :meth:`to_json` wrote."""
        kind = content.get("kind") if isinstance(content, dict) else None
        if not isinstance(kind, str) or kind not in _CODES:
            raise PlanError(f"a plan's generator must be {_NAMES}; a newer release may know it")
        return cls(**check_fields(content, "generator", {"kind", *_CODES[kind].fields}))


@lru_cache(maxsize=256)
def is_primitive(polynomial: int, degree: int) -> bool:
    """Return whether x has order 2^degree − 1 modulo a polynomial over GF(2), bit i the coefficient of x^i.

    >>> is_primitive(0b10011, 4), is_primitive(0b11111, 4)
    (True, False)
    """
    order = (1 << degree) - 1
    powers = [_power_modulo(order // p, polynomial, degree) for p in _prime_factors(order)]
    return _power_modulo(order, polynomial, degree) == 1 and 1 not in powers


def _prime_factors(number: int) -> set[int]:
    factors, p = set(), 2
    while p * p <= number:
        if number % p == 0:
            factors.add(p)
            number //= p
        else:
            p += 1
    return factors | {number}


def _power_modulo(exponent: int, polynomial: int, degree: int) -> int:
    result = 1
    for bit in bin(exponent)[2:]:
        product = 0
        for place in range(degree):  # the square has every coefficient at twice its place
            product ^= (result >> place & 1) << 2 * place
        product <<= int(bit)
        for place in range(2 * degree, degree - 1, -1):
            if product >> place & 1:
                product ^= polynomial << place - degree
        result = product
    return result


# ---- choice


def primitive_polynomial(field_bits: int) -> int:
    """Return the Conway polynomial of GF(2^field_bits), bit i the coefficient of x^i; 1 to 32 bits are known."""
    return _CONWAY[field_bits - 1]


def bch_generator(n_items: int, bits_per_item: int, independent: int) -> Generator:
    """Return the BCH generator in which any ``independent`` items are independent; ``n_items`` counts padding items."""
    columns, field_bits = independent * bits_per_item, _CODES["bch"].least_field_bits(n_items, bits_per_item)
    ones_row = columns > 1 and columns % 2 == 1
    return Generator("bch", field_bits, primitive_polynomial(field_bits), max(1, columns // 2), ones_row)


def reed_solomon_generator(n_items: int, bits_per_item: int, independent: int) -> Generator:
    """Return the Reed–Solomon generator in which any ``independent`` items are independent."""
    field_bits = _CODES["reed-solomon"].least_field_bits(n_items, bits_per_item)
    return Generator("reed-solomon", field_bits, primitive_polynomial(field_bits), independent)


BUILDERS = {"reed-solomon": reed_solomon_generator, "bch": bch_generator}


# ---- matrix


class Field:
    """``powers``, int64 (2^w − 1,), and ``logs``, int64 (2^w,) and −1 at 0, of α = x in a generator's field."""

    def __init__(self, generator: Generator) -> None:
        self.order = (1 << generator.field_bits) - 1
        powers = np.empty(self.order + 1, dtype=np.int64)
        powers[0], step, filled = 1, np.array([2]), 1
        while filled < len(powers):  # α^(filled + e) = α^filled · α^e; step is α^filled
            more = min(filled, len(powers) - filled)
            powers[filled : filled + more] = _product(powers[:more], step, generator)
            filled += more
            step = _product(step, step, generator)
        self.logs = np.full(self.order + 1, -1, dtype=np.int64)
        self.logs[powers[:-1]] = np.arange(self.order)
        assert powers[-1] == 1
        self.powers = powers[:-1]


def tables_pay(generator: Generator, columns: int) -> bool:
    """Return whether making a field's tables takes less time than multiplying for a number of columns.

    A plan of a few hundred bytes may use a field of 2^24 elements, whose tables take seconds and half a gigabyte. A
    device that makes one report does without them.
    """
    return generator.field_bits <= _TABLED_BITS or columns * generator.blocks >= 1 << generator.field_bits


def item_columns(generator: Generator, bits_per_item: int, items: Ints, field: Field | None = None) -> Words:
    """Return the columns of items, uint64 (items, bits_per_item, words of a seed); reuse ``field`` if given."""
    if field is None and tables_pay(generator, len(items) * bits_per_item):
        field = Field(generator)
    columns = np.zeros((len(items), bits_per_item, -(-generator.seed_bits // WORD_BITS)), dtype=np.uint64)
    _FILLS[generator.kind](generator, bits_per_item, items, field, columns)
    return columns


def _put(columns: Words, values: Ints, width: int, at: int) -> None:
    """Write ``width`` bits of values at bit ``at`` of the last axis' words."""
    word, shift = divmod(at, WORD_BITS)
    bits = values.astype(np.uint64)
    columns[..., word] |= bits << np.uint64(shift)
    if shift + width > WORD_BITS:
        columns[..., word + 1] |= bits >> np.uint64(WORD_BITS - shift)


def _fill_bch(generator: Generator, r: int, items: Ints, field: Field | None, columns: Words) -> None:
    numbers = items[:, None] * r + np.arange(r)
    for block, powers in enumerate(_odd_powers(generator, numbers, field)):
        _put(columns, powers, generator.field_bits, block * generator.field_bits)
    if generator.ones_row:
        _put(columns, np.ones_like(numbers), 1, generator.blocks * generator.field_bits)


def _odd_powers(generator: Generator, numbers: Ints, field: Field | None) -> Iterator[Ints]:
    """Yield α^c, α^(3c), … for the numbers c of columns."""
    if field is not None:
        for block in range(generator.blocks):
            yield field.powers[numbers * (2 * block + 1) % field.order]
        return
    power = _powers_of_x(numbers, generator)
    square = _product(power, power, generator)
    for _ in range(generator.blocks):
        yield power
        power = _product(power, square, generator)


def _fill_reed_solomon(generator: Generator, r: int, items: Ints, field: Field | None, columns: Words) -> None:
    w, places = generator.field_bits, np.arange(r - 1, -1, -1)
    for degree, power in enumerate(_item_powers(generator, items, field)):
        term = power  # bit b of the coefficient adds x^b · i^degree to f(i)
        for b in range(w):
            _put(columns, term[:, None] >> places & 1, 1, degree * w + b)
            term = _times_x(term, generator)


_FILLS = {"bch": _fill_bch, "reed-solomon": _fill_reed_solomon}


def _item_powers(generator: Generator, items: Ints, field: Field | None) -> Iterator[Ints]:
    """Yield i^0, i^1, … for the items i as field elements; 0^0 = 1."""
    power = np.ones_like(items)
    for degree in range(generator.blocks):
        if field is None:
            yield power
            power = _product(power, items, generator)
        else:
            powers = field.powers[np.where(items == 0, 0, field.logs[items] * degree) % field.order]
            yield np.where((items != 0) | (degree == 0), powers, 0)


def _times_x(values: Ints, generator: Generator) -> Ints:
    shifted = values << 1
    return shifted ^ (shifted >> generator.field_bits) * generator.field_polynomial


def _product(left: Ints, right: Ints, generator: Generator) -> Ints:
    """Multiply field elements one by one, bit by bit."""
    product = np.zeros_like(left)
    for b in range(generator.field_bits - 1, -1, -1):
        product = _times_x(product, generator) ^ left * (right >> b & 1)
    return product


def _powers_of_x(exponents: Ints, generator: Generator) -> Ints:
    """Return α to the given powers by repeated squares."""
    power = np.ones_like(exponents)
    for b in range(int(exponents.max(initial=0)).bit_length() - 1, -1, -1):
        power = _product(power, power, generator)
        power = np.where(exponents >> b & 1, _times_x(power, generator), power)
    return power


def blocks_independent(columns: Words, count: int, limit: int = 100_000) -> bool:
    """Return whether the columns of any ``count`` items (of :func:`item_columns`) are independent over GF(2).

    At most ``limit`` sets of items are tried.
    """
    vectors = [[int.from_bytes(column.astype("<u8").tobytes(), "little") for column in item] for item in columns]
    tried = islice(combinations(vectors, min(count, len(vectors))), limit)
    return all(_independent(list(chain.from_iterable(chosen))) for chosen in tried)


def _independent(vectors: list[int]) -> bool:
    basis: list[int] = []
    for vector in vectors:
        reduced = vector
        for other in basis:
            reduced = min(reduced, reduced ^ other)
        if reduced == 0:
            return False
        basis.append(reduced)
    return True
