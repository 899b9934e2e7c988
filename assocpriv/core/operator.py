"""Select-a-size for transactions of one size, as integers."""

import re
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

from assocpriv.core.errors import PlanError
from assocpriv.core.fields import check_fields, check_integer

MAX_TRANSACTION_SIZE = 15  # 2^M kept subsets are tabulated; beyond this γ leaves nothing to discover
MAX_INSERT_BITS = 16
MAX_WEIGHT_BITS = 1024


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
        check_integer(self.size, "size", 1, MAX_TRANSACTION_SIZE)
        check_integer(self.insert_bits, "insert_bits", 1, MAX_INSERT_BITS)
        check_integer(self.insert_num, "insert_num", 1, (1 << self.insert_bits) - 1)
        if self.insert_num % 2 == 0:
            raise PlanError(f"plan field insert_num must be odd, got {self.insert_num}; lower insert_bits")
        check_integer(self.weight_bits, "weight_bits", 1, MAX_WEIGHT_BITS)
        if len(self.keep_weights) != self.size + 1:
            raise PlanError(f"plan needs {self.size + 1} keep_weights, got {len(self.keep_weights)}")
        for weight in self.keep_weights:
            check_integer(weight, "keep_weights", 1, 1 << self.weight_bits)
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
        fields = check_fields(
            content, "operators", {"size", "insert_num", "insert_bits", "weight_bits", "keep_weights"}
        )
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
