"""Which generator makes a report's bits of its seed: a description; plans/baskets/codes.py builds its matrix."""

from dataclasses import dataclass
from typing import Any

from assocpriv.plans.published import check_fields, check_integer
from assocpriv.promise.errors import PlanError

MAX_FIELD_BITS = 24
MAX_SEED_BITS = 4096
GENERATOR_NAMES = "none, bch or reed-solomon"


class _Bch:
    """Bits are columns of a code, numbered item by item; any so many are independent by the BCH bound."""

    fields: tuple[str, ...] = ("field_bits", "field_polynomial", "blocks", "ones_row")

    def independent_items(self, columns: int, _blocks: int, bits_per_item: int) -> int:
        return columns // bits_per_item

    def capacity(self, field_bits: int, bits_per_item: int) -> int:
        return ((1 << field_bits) - 1) // bits_per_item

    def least_field_bits(self, n_items: int, bits_per_item: int) -> int:
        return max(2, (n_items * bits_per_item).bit_length())


class _ReedSolomon(_Bch):
    """Items are elements of the field, each with the value there of a polynomial of ``blocks`` coefficients."""

    fields = ("field_bits", "field_polynomial", "blocks")

    def independent_items(self, _columns: int, blocks: int, _bits_per_item: int) -> int:
        return blocks

    def capacity(self, field_bits: int, bits_per_item: int) -> int:
        return 1 << field_bits if bits_per_item <= field_bits else 0

    def least_field_bits(self, n_items: int, bits_per_item: int) -> int:
        return max(2, bits_per_item, (n_items - 1).bit_length())


class _Seedless(_Bch):
    """No seed: a report is the bits."""

    fields = ()

    def least_field_bits(self, _n_items: int, _bits_per_item: int) -> int:
        return 0


_CODES = {"none": _Seedless(), "bch": _Bch(), "reed-solomon": _ReedSolomon()}


@dataclass(frozen=True, slots=True)
class Generator:
    """How a report's bits follow from its seed: ``none`` (the report is the bits), ``bch`` or ``reed-solomon``.

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
            raise PlanError(f"a plan's generator must be {GENERATOR_NAMES}; a newer release may know it")
        if self.is_seedless:
            if (self.field_bits, self.field_polynomial, self.blocks, self.ones_row) != (0, 0, 0, False):
                raise PlanError("generator none takes no other fields")
            return
        check_integer(self.field_bits, "field_bits", 2, MAX_FIELD_BITS)
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
        """Return how many items' bits are jointly independent under a uniform seed."""
        return self._code.independent_items(2 * self.blocks + int(self.ones_row), self.blocks, bits_per_item)

    def capacity(self, bits_per_item: int) -> int:
        """Return how many items the generator has bits for."""
        return self._code.capacity(self.field_bits, bits_per_item)

    def least_field_bits(self, n_items: int, bits_per_item: int) -> int:
        """Return how narrow the field of a generator of this kind may be for so many items; 0 for ``none``."""
        return self._code.least_field_bits(n_items, bits_per_item)

    def check_items(self, n_items: int, bits_per_item: int, independent: int, itemset_size: int) -> None:
        """Refuse fewer items than there are, or fewer independent ones than itemsets of a size need."""
        if self.is_seedless:
            return
        if self.capacity(bits_per_item) < n_items:
            raise PlanError(f"the generator is too short for {n_items} items of {bits_per_item} bits")
        if self.independent_items(bits_per_item) < min(independent, n_items):
            raise PlanError(
                f"itemsets of {itemset_size} items need a generator with any {independent} items independent"
            )

    def to_json(self) -> dict[str, Any]:
        """Return the generator as canonical JSON content."""
        return {name: getattr(self, name) for name in ("kind", *self._code.fields)}

    @classmethod
    def from_json(cls, content: object) -> "Generator":
        """Read what :meth:`to_json` wrote."""
        kind = content.get("kind") if isinstance(content, dict) else None
        if not isinstance(kind, str) or kind not in _CODES:
            raise PlanError(f"a plan's generator must be {GENERATOR_NAMES}; a newer release may know it")
        return cls(**check_fields(content, "generator", {"kind", *_CODES[kind].fields}))


def is_primitive(polynomial: int, degree: int) -> bool:
    """Tell whether x has order 2^degree − 1 modulo a polynomial over GF(2), bit i the coefficient of x^i.

    >>> is_primitive(0b10011, 4), is_primitive(0b11111, 4)
    (True, False)
    """
    order = (1 << degree) - 1
    powers = [_power_of_x(order // p, polynomial, degree) for p in _prime_factors(order)]
    return _power_of_x(order, polynomial, degree) == 1 and 1 not in powers


def _prime_factors(number: int) -> set[int]:
    factors, p = set(), 2
    while p * p <= number:
        if number % p == 0:
            factors.add(p)
            number //= p
        else:
            p += 1
    return factors | {number}


def _power_of_x(exponent: int, polynomial: int, degree: int) -> int:
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
