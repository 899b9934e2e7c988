"""The two randomization operators for transactions of one size, as integers, the forms of responses, and transitions.

Both operators keep j of the m items of a transaction and add others. A report's likelihood depends only on j.

A response is B bits in ⌈B/8⌉ bytes; bit b is bit b mod 8 (least significant first) of byte b div 8, the unused high
bits of the last byte are 0. The bits are one of these:

    bits     bit i says whether item i is shown
    seed     a generator's seed, which determines every item's bits
    rank     the rank of a set of fixed size (guarantees/exact_numbers.py), which is below the number of sets

The exact transition matrix P is for the items of one itemset. Symbols: m transaction size, ρ default probability, p[j]
probability of keeping j items, A an itemset of k items, l the number of items of A in the transaction, l' the number
in the report.

    π_i = Σ_j p[j] C(m−i, j−i) / C(m, j)        probability that i given items of the transaction are all kept
    P[l',l] = Σ_j p[j] Σ_q C(l,q) C(m−l,j−q)/C(m,j) · I_j(k−l, l'−q)
    I_j(o, x) = C(o,x) ρ^x (1−ρ)^(o−x)          x of o items outside the transaction shown: independent insertion
              = C(o,x) C(n−m−o, ℓ−j−x) / C(n−m, ℓ−j)           reports of exactly ℓ of n items

With the last row q of P⁻¹, Z_A = q[l'] is the unbiased estimate of [A ⊆ t] from one report: Σ_l' q[l'] P[l',l] = [l =
k]. If P is invertible, it is the only unbiased estimate that is a function of l'.

With independent insertion q has a closed form. Let x_i ∈ {0,1} say whether item i is in the report. Items outside the
transaction have E[x_i − ρ] = 0, independently of everything else, so for every transaction t

    E[ Π_{i∈A} (x_i − ρ) ] = μ_k · [A ⊆ t],     μ_k = Σ_i C(k,i) (−ρ)^(k−i) π_i

and Z_A = Π_{i∈A} (x_i − ρ) / μ_k, that is q[l'] = (1−ρ)^l' (−ρ)^(k−l') / μ_k. P is triangular in the basis of these
products, with diagonal μ_0 … μ_k up to scaling, so P is singular iff one of them is 0.

Source: Evfimievski, Srikant, Agrawal, Gehrke, Privacy Preserving Mining of Association Rules, KDD 2002,
section 4 (P and its inverse); the closed form of the inverse and reports of a fixed size are ours.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from math import comb
from typing import Any, ClassVar, Self

import numpy as np
from bitarray import bitarray
from bitarray.util import ba2int, int2ba
from numpy.typing import NDArray

from assocpriv.guarantees.errors import EstimateError, PlanError, WireError, pluralize
from assocpriv.guarantees.exact_numbers import set_of_rank
from assocpriv.plans.baskets.generator import Generator, item_columns
from assocpriv.plans.published_plan import check_fields, check_integer

MAX_TRANSACTION_SIZE = 15  # 2^M kept subsets are tabulated; for larger M, γ leaves nothing to detect
_MAX_INSERT_BITS = 16
MAX_WEIGHT_BITS = 1024
MAX_FIXED_ITEMS = 1 << 12  # of fixed-size reports, which gain nothing for larger catalogues
MAX_FIXED_BITS = 512
_MAX_RANKING_BITS = 1 << 28  # items · ℓ · bits of a report: limits the table of binomials for ranks to 32 MiB
_WEIGHT = re.compile(r"[1-9][0-9]{0,399}|0", re.ASCII)
# below this, even 10^12 reports have a standard error above 100%, and doubles lose the estimate
SMALLEST_CONTRAST = Fraction(1, 10**9)
ERRORS_OF_ONE = 4.0  # standard errors from 0 at which EGS03 calls one itemset detectable
_Naming = Callable[[int], str]  # a report's name in errors, by its row
_ANOTHER = "was it made with another plan?"
_NO_CLIENT = f"no client of this plan can have sent it: {_ANOTHER}"


# ---- forms of responses


def refuse(wrong: Any, naming: _Naming, what: str) -> None:
    """Raise WireError naming the first row at which ``wrong`` holds."""
    if wrong.any():
        raise WireError(f"{naming(int(np.flatnonzero(wrong)[0]))} {what}; {_NO_CLIENT}")


def check_length(report: bytes, length: int) -> None:
    """Raise WireError for a report of another length in bytes."""
    if len(report) != length:
        raise WireError(f"a report of this plan has {pluralize(length, 'byte')}, got {len(report):,}; {_ANOTHER}")


@dataclass(frozen=True)
class ReportForm(ABC):
    """The form of a response of ``bits`` bits."""

    bits: int
    name: ClassVar[str]

    @property
    def length(self) -> int:
        """Length of a response in bytes."""
        return -(-self.bits // 8)

    def encode(self, bits: int) -> bytes:
        """Return the response whose bit b is bit b of an integer."""
        return int2ba(bits, length=self.bits, endian="little").tobytes()

    def decode(self, report: bytes) -> int:
        """Return a response's bits as an integer.

        Raises:
            WireError: the length is wrong, the rank is too large, or an unused bit is not 0.
        """
        check_length(report, self.length)
        self.check(np.frombuffer(report, dtype=np.uint8)[None], lambda _: "a report")
        return ba2int(bitarray(buffer=report, endian="little"))

    def check(self, packed: NDArray[np.uint8], naming: _Naming) -> None:
        """Raise WireError if :meth:`decode` would refuse one of the packed responses, uint8 of shape (n, length)."""
        if used := self.bits % 8:
            refuse(packed[:, -1] >> used, naming, f"has a bit set beyond the plan's {self.bits}")

    @abstractmethod
    def items(self, report: bytes) -> frozenset[int]:
        """Return the items in a response, padding items included: the transaction t'; raise as :meth:`decode`."""


@dataclass(frozen=True)
class BitForm(ReportForm):
    """One bit for each item, padding items included."""

    name = "bits"

    def items(self, report: bytes) -> frozenset[int]:
        """Return the items whose bits are 1."""
        bits = self.decode(report)
        return frozenset(item for item in range(self.bits) if bits >> item & 1)


@dataclass(frozen=True)
class SeedForm(ReportForm):
    """A generator's seed: each of ``n_items`` items has ``insert_bits`` bits, and is shown below ``insert_num``."""

    n_items: int
    generator: Generator
    insert_num: int
    insert_bits: int
    name = "seed"

    def items(self, report: bytes) -> frozenset[int]:
        """Return the items whose values are below ``insert_num``."""
        r, bits = self.insert_bits, self.decode(report)
        columns = item_columns(self.generator, r, np.arange(self.n_items, dtype=np.int64))
        seed = np.frombuffer(bits.to_bytes(columns.shape[2] * 8, "little"), dtype="<u8")
        products = np.bitwise_count(columns & seed).sum(axis=2) & 1
        return frozenset(np.flatnonzero(products @ (1 << np.arange(r - 1, -1, -1)) < self.insert_num).tolist())


@dataclass(frozen=True)
class RankForm(ReportForm):
    """The rank of a set of ``report_size`` of ``n_items`` items."""

    n_items: int
    report_size: int
    name = "rank"

    @cached_property
    def largest(self) -> int:
        """The rank of the last set."""
        return comb(self.n_items, self.report_size) - 1

    def check(self, packed: NDArray[np.uint8], naming: _Naming) -> None:
        """Raise WireError also for ranks that are too large. Most are decided by their highest byte."""
        super().check(packed, naming)
        largest = self.largest.to_bytes(self.length, "little")
        rows = np.flatnonzero(packed[:, -1] >= largest[-1])  # equal to the largest in all higher bytes
        wrong = []
        for byte in range(self.length - 1, -1, -1):
            values = packed[rows, byte]
            wrong += rows[values > largest[byte]][:1].tolist()
            rows = rows[values == largest[byte]]
        if wrong:
            raise WireError(f"{naming(min(wrong))} is no rank of a set of the plan's size; {_NO_CLIENT}")

    def items(self, report: bytes) -> frozenset[int]:
        """Return the set."""
        return frozenset(set_of_rank(self.decode(report), self.n_items, self.report_size))


# ---- operators


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
    def size_distribution(self) -> tuple[Fraction, ...]:
        """p[j], the probability of keeping j items, j = 0..size."""
        total = self.total
        return tuple(Fraction(self.sets_keeping(j) * v, total) for j, v in enumerate(self.keep_weights))

    @property
    def amplification(self) -> Fraction:
        """γ = max w_j / min w_j over the possible j, exactly (EGS03, section 5)."""
        smallest, largest = self._extremes
        return largest / smallest

    @property
    @abstractmethod
    def normalized_likelihoods(self) -> tuple[Fraction, ...]:
        """w_j, how many times as likely a report with j of the items is as under pure noise; 0 for an impossible j."""

    @property
    def _extremes(self) -> tuple[Fraction, Fraction]:
        """The smallest and the largest w_j of a possible j."""
        possible = [w for w in self.normalized_likelihoods if w]
        return min(possible), max(possible)

    @property
    def blanket(self) -> Fraction:
        """A lower bound λ of Σ_y min_x p[x → y] for every catalogue and generator; exact for long catalogues.

        A report's likelihood relative to pure noise is w_j, j the number of the transaction's items it shows, so noise
        times the smallest w_j is below every row. Padding and sampling mix rows, which keeps the bound valid. For
        reports of a fixed size, and for reports with room for every j, it is the blanket itself
        (guarantees/shuffle_model.py).
        """
        return self._extremes[0]

    @property
    def pattern(self) -> str:
        """Which kept sizes j are the likelier ones: ``1`` if w_j is nearer to the largest w."""
        smallest, largest = self._extremes
        return "".join("01"[w * w > smallest * largest] for w in self.normalized_likelihoods)

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
    def normalized_likelihoods(self) -> tuple[Fraction, ...]:
        """w_j = v_j / (2^weight_bits ρ^j (1−ρ)^(m−j))."""
        a, rest, m = self.insert_num, (1 << self.insert_bits) - self.insert_num, self.size
        scale = Fraction(1 << self.insert_bits * m, 1 << self.weight_bits)
        return tuple(scale * Fraction(v, a**j * rest ** (m - j)) for j, v in enumerate(self.keep_weights))

    def insertion(self, _kept: int, given: int, shown: int) -> Fraction:
        """Return the probability that ``shown`` of ``given`` items outside the transaction are in the report."""
        rho = self.default_probability
        return comb(given, shown) * rho**shown * (1 - rho) ** (given - shown)

    def check_plan(self, n_items: int, itemset_size: int, generator: Generator) -> None:
        """Raise PlanError if the generator has too few items, or too few independent ones."""
        generator.check_items(n_items + self.size, self.insert_bits, self.size + itemset_size, itemset_size)

    def report_form(self, padded_items: int, generator: Generator) -> ReportForm:
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

    def check_plan(self, n_items: int, itemset_size: int, generator: Generator) -> None:
        """Raise PlanError for a plan with a generator, or with another number of items."""
        if not generator.is_seedless:
            raise PlanError("reports of a fixed size need the generator none")
        if n_items < itemset_size:
            raise PlanError(f"itemsets of {itemset_size} items need a catalogue of at least as many, got {n_items}")
        if self.items != (padded := n_items + self.size):
            raise PlanError(f"the operator is for {self.items} items, but the plan has {padded} with padding items")

    def report_form(self, padded_items: int, _generator: Generator) -> ReportForm:
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
    def normalized_likelihoods(self) -> tuple[Fraction, ...]:
        """w_j, how many times as likely a report with j of the items is as a random set."""
        sets, total = comb(self.items, self.report_size), self.total
        return tuple(Fraction(v * sets, total) for v in self.keep_weights)

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
    operator: type[AnyOperator]
    for operator in (Operator, FixedSizeOperator):
        if kind == operator.kind:
            return operator.from_json(content)
    raise PlanError("an operator must have the kind select-a-size or fixed-size; a newer release may know it")


# ---- transition matrices


def _keep_all_probability(p: Sequence[Fraction], i: int) -> Fraction:
    """Return π_i."""
    m = len(p) - 1
    return sum((p[j] * Fraction(comb(m - i, j - i), comb(m, j)) for j in range(i, m + 1)), Fraction(0))


def transition_matrix(operator: AnyOperator, k: int) -> list[list[Fraction]]:
    """Return P, P[l'][l] = probability that a report has l' of k items if the transaction has l of them.

    Raises:
        EstimateError: k is not in 1..m.
    """
    _check_size(operator, k)
    return [list(row) for row in _transition_rows(operator, k)]


@lru_cache(maxsize=256)
def _transition_rows(operator: AnyOperator, k: int) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(_transition(operator, k, to, held) for held in range(k + 1)) for to in range(k + 1))


def _transition(operator: AnyOperator, k: int, to: int, held: int) -> Fraction:
    m, total = operator.size, Fraction(0)
    for j, p in enumerate(operator.size_distribution):
        for q in range(max(0, j + held - m, held + to - k), min(j, held, to) + 1):
            kept = Fraction(comb(held, q) * comb(m - held, j - q), comb(m, j))
            total += p * kept * operator.insertion(j, k - held, to - q)
    return total


def _uninformative(k: int) -> EstimateError:
    return EstimateError(
        f"this plan's operator carries no information about itemsets of {k} items (its transition matrix is singular "
        "or ill-conditioned); make a plan for this size, with a larger itemset_size"
    )


@lru_cache(maxsize=256)
def estimator_row(operator: AnyOperator, k: int) -> tuple[Fraction, ...]:
    """Return q, the last row of P⁻¹: the estimated support is Σ q[l'] s'[l'] (see the module's docstring).

    Raises:
        EstimateError: k is not in 1..m, or the operator carries no information about itemsets of k items.
    """
    _check_size(operator, k)
    if isinstance(operator, Operator):
        rho, p = operator.default_probability, operator.size_distribution
        mu = sum((comb(k, i) * (-rho) ** (k - i) * _keep_all_probability(p, i) for i in range(k + 1)), Fraction(0))
        if abs(mu) < SMALLEST_CONTRAST:
            raise _uninformative(k)
        return tuple((1 - rho) ** to * (-rho) ** (k - to) / mu for to in range(k + 1))
    return _last_row_of_inverse(transition_matrix(operator, k))


def _last_row_of_inverse(matrix: list[list[Fraction]]) -> tuple[Fraction, ...]:
    """Solve Σ_l' q[l'] P[l'][l] = [l = k] by Gauss–Jordan elimination."""
    k = len(matrix) - 1
    rows = [[matrix[to][held] for to in range(k + 1)] + [Fraction(int(held == k))] for held in range(k + 1)]
    for column in range(k + 1):
        pivot = max(range(column, k + 1), key=lambda i: abs(rows[i][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        if not rows[column][column]:
            raise _uninformative(k)
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for other in range(k + 1):
            factor = rows[other][column]
            if other != column and factor:
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[column], strict=True)]
    row = tuple(values[-1] for values in rows)
    if max(abs(value) for value in row) * SMALLEST_CONTRAST > 1:
        raise _uninformative(k)
    return row


@lru_cache(maxsize=256)
def _second_moments(operator: AnyOperator, k: int) -> tuple[Fraction, ...]:
    """Return E[Z_A² | the transaction has l of the k items] for l = 0..k."""
    row, matrix = estimator_row(operator, k), transition_matrix(operator, k)
    return tuple(sum((matrix[to][held] * q * q for to, q in enumerate(row)), Fraction(0)) for held in range(k + 1))


def _check_size(operator: AnyOperator, k: int) -> None:
    if not 1 <= k <= operator.size:
        raise EstimateError(f"itemset size must be in 1..{operator.size} (the plan's transaction size), got {k}")


def lowest_support(outside: Any, inside: Any, n_reports: int, errors: float = ERRORS_OF_ONE) -> Any:
    """Return the positive root s of s² = z²/N · ((1−s)·outside + s·inside), z = ``errors``; arrays work elementwise."""
    scale = errors * errors / n_reports
    half = scale * (inside - outside) / 2
    return half + (half * half + scale * outside) ** 0.5


@dataclass(frozen=True, slots=True)
class SupportModel:
    """The values q of the estimate Z_A under an operator and their moments, for every itemset size.

    Without an operator, reports are unrandomized transactions, and supports have no error. An itemset larger than the
    operator's transactions certainly has support 0. If the operator carries no information about itemsets of k items,
    methods that need P⁻¹ raise EstimateError.

    With c_D the number of reports that show all of D, the mean over N reports of a product of estimates Z is a linear
    combination of superset counts: a function f of the set E of A's items shown has the mean Σ_D w_D c_D / N with
    w_D = Σ_{E⊆D} (−1)^(|D|−|E|) f(E).
    """

    operator: AnyOperator | None

    @classmethod
    def unrandomized(cls) -> "SupportModel":
        """Return the model of unrandomized transactions."""
        return cls(None)

    def row(self, k: int) -> tuple[Fraction, ...]:
        """Return q, the values of Z_A by the number l' = 0..k of A's items that a report shows."""
        return (*[Fraction(0)] * k, Fraction(1)) if self.operator is None else estimator_row(self.operator, k)

    def transition(self, k: int) -> list[list[Fraction]]:
        """Return P for itemsets of k items (see :func:`transition_matrix`)."""
        if self.operator is None:
            return [[Fraction(int(to == held)) for held in range(k + 1)] for to in range(k + 1)]
        return transition_matrix(self.operator, k)

    def size_weights(self, k: int, power: int = 1) -> list[Fraction]:
        """Return the weight of C_j = Σ_{D⊆A, |D|=j} c_D, j = 0..k, in N times the mean of Z_A^power.

        >>> SupportModel.unrandomized().size_weights(2)
        [Fraction(0, 1), Fraction(0, 1), Fraction(1, 1)]
        """
        terms = [value**power for value in self.row(k)]
        return [sum(((-1) ** (j - i) * comb(j, i) * terms[i] for i in range(j + 1)), Fraction(0)) for j in range(k + 1)]

    def second_moment(self, k: int, held: int) -> Fraction:
        """Return E[Z_A² | the transaction has ``held`` of the k items]."""
        return Fraction(int(held == k)) if self.operator is None else _second_moments(self.operator, k)[held]

    def variances(self, k: int) -> tuple[float, float]:
        """Return Var Z_A if the transaction has none of A, and if it has all of A; infinite if P is singular."""
        try:
            return float(self.second_moment(k, 0)), float(self.second_moment(k, k) - 1)
        except EstimateError:
            return math.inf, math.inf
