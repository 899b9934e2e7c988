"""The frozen plan: the one description of a collection that client, server, planner and audit all read.

A plan holds integers only: the operator's weights, the generator's field, the promise as fractions. Its
canonical JSON (sorted keys, no blanks, ASCII) is hashed into its id; the meaning of a published plan never
changes. docs/formats.md describes every field.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import Any

from assocpriv.core.errors import PlanError, PrivacyLimitError
from assocpriv.core.privacy import Breach, format_fraction

FORMAT = "assocpriv-plan"
VERSION = 1
MAX_TRANSACTION_SIZE = 15  # 2^M kept subsets are tabulated; beyond this γ leaves nothing to discover
MAX_ITEMS = 1 << 20
MAX_INSERT_BITS = 16
MAX_WEIGHT_BITS = 1024
MAX_FIELD_BITS = 24
MAX_SEED_BITS = 4096
GENERATORS = ("none", "bch", "reed-solomon")
GENERATOR_NAMES = "none, bch or reed-solomon"
_NO_TEXT = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")  # control characters, halves of surrogate pairs


def _integer(value: object, name: str, low: int, high: int) -> int:
    if type(value) is not int:
        raise PlanError(f"plan field {name} must be an integer, got a {type(value).__name__}")
    if not low <= value <= high:
        got = str(value) if abs(value) < 10**18 else "a number of more than 18 digits"
        raise PlanError(f"plan field {name} must be in {low}..{high}, got {got}")
    return value


class Catalogue(Sequence[str]):
    """The items that can be reported: distinct names, an item's id being its position.

    ``Catalogue.numbered(n)`` names them ``"0"`` … ``"n−1"`` without storing the names.

    Raises:
        PlanError: no names, a repeated or empty one, one with control characters or blanks around it.
    """

    __slots__ = ("_count", "_index", "_names")

    def __init__(self, names: Iterable[str]) -> None:
        listed = tuple(names)
        _check_names(listed)
        self._count = len(listed)
        # names 0..n-1 are stored as a number, so equal catalogues have one canonical form
        numbered = all(name == str(position) for position, name in enumerate(listed))
        self._names: tuple[str, ...] | None = None if numbered else listed
        self._index: dict[str, int] | None = None

    @classmethod
    def numbered(cls, count: int) -> "Catalogue":
        """Return the catalogue of ``count`` items named 0 … count−1."""
        made = cls.__new__(cls)
        made._count = _integer(count, "catalogue count", 1, MAX_ITEMS)
        made._names = None
        made._index = None
        return made

    @property
    def is_numbered(self) -> bool:
        """Whether the items are named 0 … n−1."""
        return self._names is None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, item: Any) -> Any:
        if self._names is not None:
            return self._names[item]
        if isinstance(item, slice):
            return tuple(map(str, range(self._count)[item]))
        return str(range(self._count)[item])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names) if self._names is not None else map(str, range(self._count))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Catalogue):
            return NotImplemented
        return self._count == other._count and self._names == other._names

    def __hash__(self) -> int:
        return hash((self._count, self._names))

    def __repr__(self) -> str:
        return f"Catalogue({self._count} items)"

    @property
    def index_of(self) -> dict[str, int]:
        """Item id by name."""
        if self._index is None:
            self._index = {name: item for item, name in enumerate(self)}
        return self._index

    def to_json(self) -> dict[str, Any]:
        """Return the catalogue as canonical JSON content."""
        return {"count": self._count} if self._names is None else {"names": list(self._names)}

    @classmethod
    def from_json(cls, content: object) -> "Catalogue":
        """Read what :meth:`to_json` wrote."""
        if isinstance(content, dict) and set(content) == {"count"}:
            return cls.numbered(content["count"])
        if isinstance(content, dict) and set(content) == {"names"} and isinstance(content["names"], list):
            return cls(content["names"])
        raise PlanError("plan field catalogue must hold either a count or a list of names")


def _check_names(names: tuple[str, ...]) -> None:
    if not 1 <= len(names) <= MAX_ITEMS:
        raise PlanError(f"a catalogue must hold 1..{MAX_ITEMS} items, got {len(names)}")
    for position, name in enumerate(names):
        if type(name) is not str:
            raise PlanError(f"catalogue entry {position + 1} must be text, got a {type(name).__name__}")
        if not name or name != name.strip() or _NO_TEXT.search(name):
            raise PlanError(
                f"catalogue entry {position + 1} must be a name without control characters or blanks around it"
            )
    if len(set(names)) != len(names):
        seen: set[str] = set()
        position = next(i for i, name in enumerate(names) if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise PlanError(f"catalogue entry {position + 1} repeats an earlier name; names must be distinct")


@dataclass(frozen=True, slots=True)
class Operator:
    """Select-a-size for transactions of one size, as integers.

    ``insert_num / 2^insert_bits`` = ρ is the default probability of an item outside the transaction.
    ``keep_weights[j]`` = v_j is the weight of every single kept subset of j items, Σ C(m,j)·v_j =
    2^weight_bits, so p[j] = C(m,j)·v_j / 2^weight_bits.

    Source: EGS03, definition 5.
    """

    size: int
    insert_num: int
    insert_bits: int
    weight_bits: int
    keep_weights: tuple[int, ...]

    def __post_init__(self) -> None:
        _integer(self.size, "size", 1, MAX_TRANSACTION_SIZE)
        _integer(self.insert_bits, "insert_bits", 1, MAX_INSERT_BITS)
        _integer(self.insert_num, "insert_num", 1, (1 << self.insert_bits) - 1)
        if self.insert_num % 2 == 0:
            raise PlanError(f"plan field insert_num must be odd, got {self.insert_num}; lower insert_bits")
        _integer(self.weight_bits, "weight_bits", 1, MAX_WEIGHT_BITS)
        if len(self.keep_weights) != self.size + 1:
            raise PlanError(f"plan needs {self.size + 1} keep_weights, got {len(self.keep_weights)}")
        for weight in self.keep_weights:
            _integer(weight, "keep_weights", 1, 1 << self.weight_bits)
        if sum(comb(self.size, j) * v for j, v in enumerate(self.keep_weights)) != 1 << self.weight_bits:
            raise PlanError("plan field keep_weights must satisfy sum of C(size, j) * weight = 2^weight_bits")

    @property
    def default_probability(self) -> Fraction:
        """ρ, the probability that an item outside the transaction appears in the report."""
        return Fraction(self.insert_num, 1 << self.insert_bits)

    @property
    def size_distribution(self) -> tuple[Fraction, ...]:
        """p[j], the probability of keeping j items, j = 0..size."""
        total = 1 << self.weight_bits
        return tuple(Fraction(comb(self.size, j) * v, total) for j, v in enumerate(self.keep_weights))

    @property
    def likelihoods(self) -> tuple[Fraction, ...]:
        """w_j = v_j / (ρ^j (1−ρ)^(m−j)) up to a common factor: p[t → t'] over its default probability."""
        a, rest = self.insert_num, (1 << self.insert_bits) - self.insert_num
        return tuple(Fraction(v, a**j * rest ** (self.size - j)) for j, v in enumerate(self.keep_weights))

    @property
    def amplification(self) -> Fraction:
        """γ = max w_j / min w_j, exactly (EGS03, section 5)."""
        return max(self.likelihoods) / min(self.likelihoods)

    @property
    def pattern(self) -> str:
        """Which kept sizes j = 0..m are the likelier ones: ``1`` where w_j is nearer the largest w."""
        middle = max(self.likelihoods) * min(self.likelihoods)
        return "".join("1" if w * w > middle else "0" for w in self.likelihoods)

    def to_json(self) -> dict[str, Any]:
        """Return the operator as canonical JSON content; weights as decimal text, they outgrow a double."""
        return {
            "size": self.size,
            "insert_num": self.insert_num,
            "insert_bits": self.insert_bits,
            "weight_bits": self.weight_bits,
            "keep_weights": [str(v) for v in self.keep_weights],
        }

    @classmethod
    def from_json(cls, content: object) -> "Operator":
        """Read what :meth:`to_json` wrote."""
        fields = _fields(content, "operators", {"size", "insert_num", "insert_bits", "weight_bits", "keep_weights"})
        weights = fields["keep_weights"]
        if not isinstance(weights, list) or not all(
            isinstance(w, str) and re.fullmatch(r"[1-9][0-9]{0,399}", w, re.ASCII) for w in weights
        ):
            raise PlanError("plan field keep_weights must be a list of positive whole numbers written as text")
        return cls(
            size=fields["size"],
            insert_num=fields["insert_num"],
            insert_bits=fields["insert_bits"],
            weight_bits=fields["weight_bits"],
            keep_weights=tuple(int(w) for w in weights),
        )


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
        if self.kind not in GENERATORS:
            raise PlanError(f"a plan's generator must be {GENERATOR_NAMES}; a newer release may know it")
        if self.kind == "none":
            if (self.field_bits, self.field_polynomial, self.blocks, self.ones_row) != (0, 0, 0, False):
                raise PlanError("generator none takes no other fields")
            return
        _integer(self.field_bits, "field_bits", 2, MAX_FIELD_BITS)
        low = 1 << self.field_bits
        _integer(self.field_polynomial, "field_polynomial", low, 2 * low - 1)
        _integer(self.blocks, "blocks", 1, MAX_SEED_BITS)
        if type(self.ones_row) is not bool or (self.ones_row and self.kind != "bch"):
            raise PlanError("plan field ones_row must be true or false, and true only for bch")
        _integer(self.seed_bits, "seed_bits", 1, MAX_SEED_BITS)
        if not is_primitive(self.field_polynomial, self.field_bits):
            raise PlanError("plan field field_polynomial is not a primitive polynomial of degree field_bits")

    @property
    def seed_bits(self) -> int:
        """Length of a seed in bits; 0 for ``none``."""
        return self.field_bits * self.blocks + int(self.ones_row)

    def independent_items(self, bits_per_item: int) -> int:
        """Return how many items' bits are jointly independent under a uniform seed."""
        if self.kind == "reed-solomon":
            return self.blocks
        return (2 * self.blocks + int(self.ones_row)) // bits_per_item

    def capacity(self, bits_per_item: int) -> int:
        """Return how many items the generator has bits for."""
        if self.kind == "reed-solomon":
            return 1 << self.field_bits if bits_per_item <= self.field_bits else 0
        return ((1 << self.field_bits) - 1) // bits_per_item

    def to_json(self) -> dict[str, Any]:
        """Return the generator as canonical JSON content."""
        if self.kind == "none":
            return {"kind": "none"}
        content: dict[str, Any] = {
            "kind": self.kind,
            "field_bits": self.field_bits,
            "field_polynomial": self.field_polynomial,
            "blocks": self.blocks,
        }
        return content | {"ones_row": self.ones_row} if self.kind == "bch" else content

    @classmethod
    def from_json(cls, content: object) -> "Generator":
        """Read what :meth:`to_json` wrote."""
        kind = content.get("kind") if isinstance(content, dict) else None
        if kind not in GENERATORS:
            raise PlanError(f"a plan's generator must be {GENERATOR_NAMES}; a newer release may know it")
        names = {"kind"}
        if kind != "none":
            names |= {"field_bits", "field_polynomial", "blocks"}
        if kind == "bch":
            names |= {"ones_row"}
        return cls(**_fields(content, "generator", names))


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise PlanError("a field of the plan is given twice; two readers might take different ones")
    return fields


def _about(ratio: Fraction) -> str:
    try:
        return f"{float(ratio):.6g}"
    except OverflowError:
        return "beyond 1e308"


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


def _fields(content: object, where: str, names: set[str]) -> dict[str, Any]:
    if not isinstance(content, dict) or set(content) != names:
        raise PlanError(f"{where} of a plan must hold exactly the fields {', '.join(sorted(names))}")
    return content


@dataclass(frozen=True)
class Plan:
    """What a collection publishes: catalogue, transaction size, operator, generator and promise.

    Sizes are hidden: every transaction counts as exactly ``transaction_size`` items, shorter ones padded with
    dummy items (ids n_items … n_items + M − 1), longer ones sampled uniformly.

    Raises:
        PlanError: fields that contradict each other.
        PrivacyLimitError: the operator's amplification is not strictly below the promise's limit.
    """

    catalogue: Catalogue
    transaction_size: int
    itemset_size: int
    operators: tuple[Operator, ...]
    generator: Generator
    promise: Breach
    sizes: str = field(default="hidden")

    def __post_init__(self) -> None:
        _integer(self.transaction_size, "transaction_size", 1, MAX_TRANSACTION_SIZE)
        _integer(self.itemset_size, "itemset_size", 1, self.transaction_size)
        if self.sizes != "hidden":
            raise PlanError("plan field sizes must be 'hidden'; a newer release may know other modes")
        if len(self.operators) != 1 or self.operators[0].size != self.transaction_size:
            raise PlanError("a plan with hidden sizes needs one operator, of size transaction_size")
        if self.amplification >= self.promise.amplification_limit:
            raise PrivacyLimitError(
                f"the plan's amplification {_about(self.amplification)} breaks its promise, "
                f"which needs less than {_about(self.promise.amplification_limit)}; do not use this plan"
            )
        self._check_generator()

    def _check_generator(self) -> None:
        r, needed = self.operator.insert_bits, self.transaction_size + self.itemset_size
        if self.generator.kind == "none":
            return
        if self.generator.capacity(r) < self.padded_items:
            raise PlanError(f"the generator is too short for {self.padded_items} items of {r} bits")
        if self.generator.independent_items(r) < min(needed, self.padded_items):
            raise PlanError(
                f"itemsets of {self.itemset_size} items need a generator with any {needed} items independent"
            )

    @property
    def operator(self) -> Operator:
        """The operator for transactions of ``transaction_size`` items."""
        return self.operators[0]

    @property
    def n_items(self) -> int:
        """Number of real items."""
        return len(self.catalogue)

    @property
    def padded_items(self) -> int:
        """Number of items with the dummies that hide a transaction's size."""
        return len(self.catalogue) + self.transaction_size

    @property
    def amplification(self) -> Fraction:
        """γ of what is sent, exactly: no report is more than γ times likelier under one basket than another."""
        return max(operator.amplification for operator in self.operators)

    @property
    def report_bits(self) -> int:
        """Length of a report in bits: the seed, or one bit an item without a generator."""
        return self.padded_items if self.generator.kind == "none" else self.generator.seed_bits

    @property
    def report_bytes(self) -> int:
        """Length of a report in bytes."""
        return -(-self.report_bits // 8)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON content."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": "select-a-size",
            "catalogue": self.catalogue.to_json(),
            "sizes": self.sizes,
            "transaction_size": self.transaction_size,
            "itemset_size": self.itemset_size,
            "operators": [operator.to_json() for operator in self.operators],
            "generator": self.generator.to_json(),
            "promise": {
                "prior": format_fraction(self.promise.prior),
                "posterior": format_fraction(self.promise.posterior),
            },
        }

    @cached_property
    def canonical_json(self) -> str:
        """The one text that the plan's id hashes: sorted keys, no blanks, ASCII."""
        return json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    @cached_property
    def plan_id(self) -> str:
        """SHA-256 of the canonical JSON, 64 hexadecimal digits."""
        return hashlib.sha256(self.canonical_json.encode("ascii")).hexdigest()

    def __repr__(self) -> str:
        return (
            f"Plan({self.plan_id[:12]}, {self.n_items} items, at most {self.transaction_size} a transaction, "
            f"γ < {float(self.promise.amplification_limit):g}, {self.report_bits}-bit reports)"
        )

    @classmethod
    def from_json(cls, content: object) -> "Plan":
        """Read JSON content that :meth:`to_json` wrote.

        Raises:
            PlanError: not a plan, or of a format, version or kind this release does not know.
        """
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise PlanError(f"not a plan: it does not say format {FORMAT!r}")
        version = content.get("version")
        if type(version) is not int or version != VERSION or content.get("kind") != "select-a-size":
            raise PlanError("this plan's version or kind is unknown here; a newer release of assocpriv may read it")
        names = {"format", "version", "kind", "catalogue", "sizes", "transaction_size", "itemset_size"}
        fields = _fields(content, "the top level", names | {"operators", "generator", "promise"})
        promise = _fields(fields["promise"], "promise", {"prior", "posterior"})
        if not isinstance(fields["operators"], list):
            raise PlanError("plan field operators must be a list")
        return cls(
            catalogue=Catalogue.from_json(fields["catalogue"]),
            transaction_size=fields["transaction_size"],
            itemset_size=fields["itemset_size"],
            operators=tuple(Operator.from_json(entry) for entry in fields["operators"]),
            generator=Generator.from_json(fields["generator"]),
            promise=Breach(promise["prior"], promise["posterior"]),
            sizes=fields["sizes"],
        )

    @classmethod
    def parse(cls, text: str) -> "Plan":
        """Read a plan from JSON text.

        Raises:
            PlanError: not JSON, or not a plan.
        """
        try:
            content = json.loads(text, object_pairs_hook=_without_doubles)
        except PlanError:
            raise
        except (ValueError, RecursionError):
            raise PlanError("not a plan: the text is not valid JSON") from None
        return cls.from_json(content)
