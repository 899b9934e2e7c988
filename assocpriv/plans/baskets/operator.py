"""The two randomization operators for transactions of one size, as integers.

Both keep j of the m items of a transaction and add others. A report's likelihood depends only on j.
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import accumulate
from math import comb
from typing import TYPE_CHECKING, Any, ClassVar, Self

from assocpriv.guarantees.errors import PlanError
from assocpriv.plans.baskets.report_form import BitForm, RankForm, ReportForm, SeedForm
from assocpriv.plans.published_plan import check_fields, check_integer

if TYPE_CHECKING:
    from assocpriv.plans.baskets.generator import Generator

MAX_TRANSACTION_SIZE = 15  # 2^M kept subsets are tabulated; for larger M, γ leaves nothing to detect
_MAX_INSERT_BITS = 16
MAX_WEIGHT_BITS = 1024
MAX_FIXED_ITEMS = 1 << 12  # of fixed-size reports, which gain nothing for larger catalogues
MAX_FIXED_BITS = 512
_MAX_RANKING_BITS = 1 << 28  # items · ℓ · bits of a report: limits the table of binomials for ranks to 32 MiB
_WEIGHT = re.compile(r"[1-9][0-9]{0,399}|0", re.ASCII)


class _KeepsSubsets(ABC):
    """The common base of both operators: weights of keeping j items, j = 0..size."""

    __slots__ = ()
    kind: ClassVar[str]
    size: int
    keep_weights: tuple[int, ...]

    @abstractmethod
    def sets_keeping(self, j: int) -> int:
        """Return the number of equally likely draws that keep j items, each with the weight of j."""

    @property
    def total(self) -> int:
        """The sum of the weights of all draws."""
        return sum(self.sets_keeping(j) * v for j, v in enumerate(self.keep_weights))

    @property
    @abstractmethod
    def likelihoods(self) -> tuple[Fraction, ...]:
        """w_j = p[t → t'] over the probability of t' by pure noise, up to a common factor, for each possible j."""

    @property
    def size_distribution(self) -> tuple[Fraction, ...]:
        """p[j], the probability of keeping j items, j = 0..size."""
        total = self.total
        return tuple(Fraction(self.sets_keeping(j) * v, total) for j, v in enumerate(self.keep_weights))

    @property
    def amplification(self) -> Fraction:
        """γ = max w_j / min w_j, exactly (EGS03, section 5)."""
        return max(self.likelihoods) / min(self.likelihoods)

    @property
    @abstractmethod
    def normalized_likelihoods(self) -> tuple[Fraction, ...]:
        """w_j relative to pure noise, j = 0..size; 0 for an impossible j."""

    @property
    def blanket(self) -> Fraction:
        """A lower bound λ of Σ_y min_x p[x → y] for every catalogue and generator; exact for long catalogues.

        A report's likelihood relative to pure noise is w_j, j the number of the transaction's items it shows, so noise
        times the smallest w_j is below every row. Padding and sampling mix rows, which keeps the bound valid. For
        reports of a fixed size, and for reports with room for every j, it is the blanket itself
        (guarantees/shuffle_model.py).
        """
        return min(w for w in self.normalized_likelihoods if w)

    @property
    def pattern(self) -> str:
        """Which kept sizes j are the likelier ones: ``1`` if w_j is nearer to the largest w."""
        middle = max(self.likelihoods) * min(self.likelihoods)
        return "".join("1" if w * w > middle else "0" for w in self.likelihoods)

    def to_json(self) -> dict[str, Any]:
        """Return the operator as canonical JSON content; weights are decimal text, as they exceed a double."""
        content = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return {"kind": self.kind} | content | {"keep_weights": [str(v) for v in self.keep_weights]}

    @classmethod
    def from_json(cls, content: object) -> Self:
        """Read what :meth:`to_json` wrote."""
        names = {each.name for each in fields(cls)}  # type: ignore[arg-type]
        read = check_fields(content, "an operator", {"kind", *names})
        weights = read["keep_weights"]
        if not isinstance(weights, list) or not all(isinstance(w, str) and _WEIGHT.fullmatch(w) for w in weights):
            raise PlanError("plan field keep_weights must be a list of whole numbers written as text")
        return cls(**{name: read[name] for name in names} | {"keep_weights": tuple(map(int, weights))})


@dataclass(frozen=True, slots=True)
class Operator(_KeepsSubsets):
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

    kind: ClassVar[str] = "select-a-size"

    def __post_init__(self) -> None:
        check_integer(self.size, "size", 1, MAX_TRANSACTION_SIZE)
        check_integer(self.insert_bits, "insert_bits", 1, _MAX_INSERT_BITS)
        check_integer(self.insert_num, "insert_num", 1, (1 << self.insert_bits) - 1)
        if self.insert_num % 2 == 0:
            raise PlanError(f"plan field insert_num must be odd, got {self.insert_num}; lower insert_bits")
        check_integer(self.weight_bits, "weight_bits", 1, MAX_WEIGHT_BITS)
        if len(self.keep_weights) != self.size + 1:
            raise PlanError(f"plan needs {self.size + 1} keep_weights, got {len(self.keep_weights)}")
        for weight in self.keep_weights:
            check_integer(weight, "keep_weights", 1, 1 << self.weight_bits)
        if self.total != 1 << self.weight_bits:
            raise PlanError("plan field keep_weights must satisfy sum of C(size, j) * weight = 2^weight_bits")

    @property
    def default_probability(self) -> Fraction:
        """ρ, the probability that an item outside the transaction appears in the report."""
        return Fraction(self.insert_num, 1 << self.insert_bits)

    def sets_keeping(self, j: int) -> int:
        """Return C(m, j), the number of subsets of j items."""
        return comb(self.size, j)

    @property
    def likelihoods(self) -> tuple[Fraction, ...]:
        """w_j = v_j / (ρ^j (1−ρ)^(m−j)) up to a common factor."""
        a, rest = self.insert_num, (1 << self.insert_bits) - self.insert_num
        return tuple(Fraction(v, a**j * rest ** (self.size - j)) for j, v in enumerate(self.keep_weights))

    @property
    def normalized_likelihoods(self) -> tuple[Fraction, ...]:
        """w_j, how many times as likely a report with j of the items is as under pure noise."""
        m, rho = self.size, self.default_probability
        return tuple(p / (comb(m, j) * rho**j * (1 - rho) ** (m - j)) for j, p in enumerate(self.size_distribution))

    def insertion(self, _kept: int, given: int, shown: int) -> Fraction:
        """Return the probability that ``shown`` of ``given`` items outside the transaction are in the report."""
        rho = self.default_probability
        return comb(given, shown) * rho**shown * (1 - rho) ** (given - shown)

    def check_plan(self, n_items: int, itemset_size: int, generator: "Generator") -> None:
        """Raise PlanError if the generator has too few items, or too few independent ones."""
        generator.check_items(n_items + self.size, self.insert_bits, self.size + itemset_size, itemset_size)

    def least_field_bits(self, n_items: int, generator: "Generator") -> int:
        """Return the smallest field of the generator for a number of items, in bits."""
        return generator.least_field_bits(n_items + self.size, self.insert_bits)

    def report_form(self, padded_items: int, generator: "Generator") -> ReportForm:
        """Return the form of reports: a seed, or one bit per item."""
        if generator.is_seedless:
            return BitForm(padded_items)
        return SeedForm(generator.seed_bits, padded_items, generator, self.insert_num, self.insert_bits)


@dataclass(frozen=True, slots=True)
class FixedSizeOperator(_KeepsSubsets):
    """Reports of exactly ℓ of the n items (padding items included), for transactions of m items, as integers.

    A single set t' of ``report_size`` = ℓ items has the probability ``keep_weights[j]`` / total, j = |t ∩ t'|, with
    total = Σ_j C(m,j)·C(n−m, ℓ−j)·keep_weights[j] the same for every transaction. An impossible j has weight 0.
    With two distinct weights, ℓ = 1 gives randomized response over n items, and m = 1 the subset selection of Ye and
    Barg 2018.
    """

    size: int
    items: int
    report_size: int
    keep_weights: tuple[int, ...]

    kind: ClassVar[str] = "fixed-size"

    def __post_init__(self) -> None:
        check_integer(self.size, "size", 1, MAX_TRANSACTION_SIZE)
        check_integer(self.items, "items", self.size + 1, MAX_FIXED_ITEMS)
        check_integer(self.report_size, "report_size", 1, self.items - 1)
        if self.report_bits > MAX_FIXED_BITS:
            raise PlanError(f"reports of a fixed size may take at most {MAX_FIXED_BITS} bits, got {self.report_bits}")
        if self.items * self.report_size * self.report_bits > _MAX_RANKING_BITS:
            raise PlanError(f"reports of {self.report_size} of {self.items} items need over 32 MiB; plan smaller ones")
        if len(self.keep_weights) != self.size + 1:
            raise PlanError(f"plan needs {self.size + 1} keep_weights, got {len(self.keep_weights)}")
        for j, weight in enumerate(self.keep_weights):
            low, high = (1, 1 << MAX_WEIGHT_BITS) if self.sets_keeping(j) else (0, 0)
            check_integer(weight, "keep_weights", low, high)

    def check_plan(self, n_items: int, itemset_size: int, generator: "Generator") -> None:
        """Raise PlanError for a plan with a generator, or with another number of items."""
        if not generator.is_seedless:
            raise PlanError("reports of a fixed size need the generator none")
        if n_items < itemset_size:
            raise PlanError(f"itemsets of {itemset_size} items need a catalogue of at least as many, got {n_items}")
        if self.items != (padded := n_items + self.size):
            raise PlanError(f"the operator is for {self.items} items, but the plan has {padded} with padding items")

    def least_field_bits(self, _n_items: int, _generator: "Generator") -> int:
        """Return 0: there is no field."""
        return 0

    def report_form(self, padded_items: int, _generator: "Generator") -> ReportForm:
        """Return the form of reports: the rank of a set."""
        return RankForm(self.report_bits, padded_items, self.report_size)

    def sets_keeping(self, j: int) -> int:
        """Return the number of sets of ℓ items that share exactly j with a transaction."""
        if self.report_size < j:
            return 0
        return comb(self.size, j) * comb(self.items - self.size, self.report_size - j)

    @property
    def report_bits(self) -> int:
        """Number of bits for the rank of a set of ℓ items."""
        return max(1, (comb(self.items, self.report_size) - 1).bit_length())

    @property
    def cumulative(self) -> tuple[int, ...]:
        """Cumulative weights of keeping j = 0..m items; the last is the total."""
        return tuple(accumulate(self.sets_keeping(j) * v for j, v in enumerate(self.keep_weights)))

    @property
    def likelihoods(self) -> tuple[Fraction, ...]:
        """The weights of each possible j."""
        return tuple(Fraction(v) for v in self.keep_weights if v)

    @property
    def normalized_likelihoods(self) -> tuple[Fraction, ...]:
        """w_j, how many times as likely a report with j of the items is as a random set; 0 for an impossible j."""
        sets = comb(self.items, self.report_size)
        return tuple(Fraction(v * sets, self.total) for v in self.keep_weights)

    @property
    def pattern(self) -> str:
        """Which kept sizes j = 0..m are the likelier ones; ``0`` for an impossible j."""
        middle = max(self.likelihoods) * min(self.likelihoods)
        return "".join("1" if v * v > middle else "0" for v in self.keep_weights)

    def insertion(self, kept: int, given: int, shown: int) -> Fraction:
        """Return the probability that ``shown`` of ``given`` items outside the transaction are in the report."""
        outside, added = self.items - self.size, self.report_size - kept
        if not (0 <= added <= outside and shown <= added):
            return Fraction(0)
        return Fraction(comb(given, shown) * comb(outside - given, added - shown), comb(outside, added))


AnyOperator = Operator | FixedSizeOperator


def operator_from_json(content: object) -> AnyOperator:
    """Read an operator of either kind."""
    kind = content.get("kind") if isinstance(content, dict) else None
    for operator in (Operator, FixedSizeOperator):
        if kind == operator.kind:
            return operator.from_json(content)
    raise PlanError("an operator must have the kind select-a-size or fixed-size; a newer release may know it")
