"""The frozen plan: the one description of a collection that client, server, planner and audit all read.

A plan holds integers only: the operator's weights, the generator's field, the promise as fractions. Its
canonical JSON (sorted keys, no blanks, ASCII) is hashed into its id; the meaning of a published plan never
changes. docs/formats.md describes every field.
"""

import hashlib
import json
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from assocpriv.core.catalogue import Catalogue
from assocpriv.core.errors import PlanError, PrivacyLimitError
from assocpriv.core.fields import check_fields, check_integer
from assocpriv.core.generator import Generator
from assocpriv.core.operator import MAX_TRANSACTION_SIZE, Operator
from assocpriv.core.privacy import Breach, format_fraction

FORMAT = "assocpriv-plan"
VERSION = 1


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
        check_integer(self.transaction_size, "transaction_size", 1, MAX_TRANSACTION_SIZE)
        check_integer(self.itemset_size, "itemset_size", 1, self.transaction_size)
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
        fields = check_fields(content, "the top level", names | {"operators", "generator", "promise"})
        promise = check_fields(fields["promise"], "promise", {"prior", "posterior"})
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
