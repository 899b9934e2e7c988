"""The frozen plan: the one description of a collection that client, server, planner and audit all read.

A plan holds integers only: the operator's weights, the generator's field, the promise as fractions. Its
canonical JSON (sorted keys, no blanks, ASCII) is hashed into its id; the meaning of a published plan never
changes. docs/formats.md describes every field.
"""

import hashlib
import json
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from assocpriv.core.errors import NotAPlanError, PlanError, PrivacyLimitError
from assocpriv.core.privacy import Breach, format_fraction, read_fraction
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.generator import Generator
from assocpriv.plans.baskets.operator import (
    MAX_TRANSACTION_SIZE,
    AnyOperator,
    FixedSizeOperator,
    Operator,
    operator_from_json,
)
from assocpriv.plans.baskets.view import View
from assocpriv.plans.fields import check_fields, check_integer

FORMAT = "assocpriv-plan"
HIDDEN, IN_CLEAR = "hidden", "in clear"
VERSION = 1
KINDS = ("select-a-size", "fixed-size")
MOST_REPORTS_PER_PERSON = 1000
_MARKS = "{[:,"  # of these a text has one for each value, or more
_MOST_MARKS = (1 << 22) + (1 << 10)  # as a million items have with a pair of names each, or with two commas in a name


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
    """What a collection publishes: catalogue, transaction size, operators, generator, promise and view.

    Sizes ``hidden``: every transaction counts as exactly ``transaction_size`` items, shorter ones padded with
    dummy items (ids n_items … n_items + M − 1), longer ones sampled uniformly. The promise covers all that is sent.

    Sizes ``in clear``: a report begins with a byte that says the transaction's size, 1 … M (1 for an empty one, M for
    one sampled to M items), and each size has an operator of its own. The promise then covers which items a transaction
    of this size holds; **the size itself lies outside it**.

    The promise covers **all** reports of a person, who may send ``reports_per_person`` of them (client/ledger.py counts
    them): together they are amplified by at most γ^R, which stays below the promise's limit. With sizes in clear this
    holds within equal sizes only: for people whose baskets have the same sizes, report by report. What the sequence of
    their sizes tells lies outside the promise, as each size does.

    Raises:
        PlanError: fields that contradict each other.
        PrivacyLimitError: the amplification of all reports of a person is not strictly below the promise's limit.
    """

    catalogue: Catalogue
    transaction_size: int
    itemset_size: int
    operators: tuple[AnyOperator, ...]
    generator: Generator
    promise: Breach
    sizes: str = HIDDEN
    view: View = field(default_factory=View)
    reports_per_person: int = 1

    def __post_init__(self) -> None:
        check_integer(self.transaction_size, "transaction_size", 1, MAX_TRANSACTION_SIZE)
        check_integer(self.itemset_size, "itemset_size", 1, self.transaction_size)
        check_integer(self.reports_per_person, "reports_per_person", 1, MOST_REPORTS_PER_PERSON)
        self.view.check_catalogue(self.catalogue)
        if self.sizes not in (HIDDEN, IN_CLEAR):
            raise PlanError("plan field sizes must be 'hidden' or 'in clear'; a newer release may know other modes")
        m = self.transaction_size
        if [operator.size for operator in self.operators] != ([m] if self.sizes == HIDDEN else list(range(1, m + 1))):
            raise PlanError(
                "a plan with hidden sizes needs one operator, of size transaction_size; one with sizes in clear an "
                "operator for each size 1 … transaction_size, in order"
            )
        self._check_kind()
        self._check_promise()
        for operator in self.operators:
            self._check_generator(operator)

    def _check_promise(self) -> None:
        together = self.composed_amplification
        if together >= self.promise.amplification_limit:
            several = self.reports_per_person > 1
            of_all = f" of {self.reports_per_person} reports together" if several else ""
            raise PrivacyLimitError(
                f"the plan's amplification{of_all} {_about(together)} breaks its promise, "
                f"which needs less than {_about(self.promise.amplification_limit)}; do not use this plan"
            )

    def _check_kind(self) -> None:
        fixed = [operator for operator in self.operators if isinstance(operator, FixedSizeOperator)]
        if fixed and (self.sizes != HIDDEN or self.generator.kind != "none"):
            raise PlanError("reports of a fixed size need hidden sizes and the generator none")
        if fixed and self.n_items < self.itemset_size:
            raise PlanError(f"itemsets of {self.itemset_size} items need as many items, got {self.n_items}")
        if fixed and fixed[0].items != self.padded_items:
            raise PlanError(
                f"the operator is for {fixed[0].items} items, but the plan has {self.padded_items} with dummies"
            )

    def _check_generator(self, operator: AnyOperator) -> None:
        if self.generator.kind == "none" or isinstance(operator, FixedSizeOperator):
            return
        r, n_items = operator.insert_bits, len(self.catalogue) + operator.size
        largest = min(self.itemset_size, operator.size)
        needed = operator.size + largest
        if self.generator.capacity(r) < n_items:
            raise PlanError(f"the generator is too short for {n_items} items of {r} bits")
        if self.generator.independent_items(r) < min(needed, n_items):
            raise PlanError(f"itemsets of {largest} items need a generator with any {needed} items independent")

    @property
    def kind(self) -> str:
        """Which operators the plan has: ``select-a-size`` or ``fixed-size``."""
        return "fixed-size" if isinstance(self.operators[0], FixedSizeOperator) else "select-a-size"

    @property
    def operator(self) -> AnyOperator:
        """The operator for transactions of ``transaction_size`` items; of the groups, that of the largest."""
        return self.operators[-1]

    @property
    def independent(self) -> Operator:
        """The operator of a plan of the kind select-a-size."""
        assert isinstance(self.operator, Operator)
        return self.operator

    @property
    def fixed(self) -> FixedSizeOperator:
        """The operator of a plan of the kind fixed-size."""
        assert isinstance(self.operator, FixedSizeOperator)
        return self.operator

    @cached_property
    def groups(self) -> "tuple[Plan, ...]":
        """A plan of hidden size for each operator: those of one group's reports (without the byte of the size)."""
        if self.sizes == HIDDEN:
            return (self,)
        return tuple(
            replace(
                self,
                transaction_size=operator.size,
                itemset_size=min(self.itemset_size, operator.size),
                operators=(operator,),
                sizes=HIDDEN,
            )
            for operator in self.operators
        )

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
        """γ of one report, exactly: no report is more than γ times likelier under one basket than another."""
        return max(operator.amplification for operator in self.operators)

    @property
    def composed_amplification(self) -> Fraction:
        """γ^R of all that one person sends, exactly; with sizes in clear, within equal sizes report by report.

        Each report is drawn with entropy of its own, so the likelihoods of several multiply, whatever their baskets
        have to do with each other; and where each ratio can be γ, the product can be γ^R.
        """
        return self.amplification**self.reports_per_person

    @property
    def report_bits(self) -> int:
        """Length of a report in bits: the number of a set of fixed size, the seed, or one bit an item.

        Sizes in clear come before it, in a byte; without a generator their reports are as long as the largest group's.
        """
        size_bits = 0 if self.sizes == HIDDEN else 8
        if isinstance(self.operator, FixedSizeOperator):
            return self.operator.report_bits
        return size_bits + (self.padded_items if self.generator.kind == "none" else self.generator.seed_bits)

    @property
    def report_bytes(self) -> int:
        """Length of a report in bytes."""
        return -(-self.report_bits // 8)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON content."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
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
            "view": self.view.to_json(),
            "reports_per_person": self.reports_per_person,
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
        several = f" of {self.reports_per_person} reports together" if self.reports_per_person > 1 else ""
        return (
            f"Plan({self.plan_id[:12]}, {self.n_items} items, at most {self.transaction_size} a transaction, "
            f"γ{several} < {float(self.promise.amplification_limit):g}, {self.report_bits}-bit reports)"
        )

    @classmethod
    def from_json(cls, content: object) -> "Plan":
        """Read JSON content that :meth:`to_json` wrote.

        Raises:
            PlanError: not a plan, or of a format, version or kind this release does not know.
        """
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise NotAPlanError(f"not a plan: it does not say format {FORMAT!r}")
        if type(content.get("version")) is not int or content["version"] != VERSION or content.get("kind") not in KINDS:
            raise PlanError("this plan's version or kind is unknown here; a newer release of assocpriv may read it")
        names = {"format", "version", "kind", "catalogue", "sizes", "transaction_size", "itemset_size", "operators"}
        names |= {"generator", "promise", "view", "reports_per_person"}
        fields = check_fields(content, "the top level", names)
        promise = check_fields(fields["promise"], "promise", {"prior", "posterior"})
        if not isinstance(fields["operators"], list):
            raise PlanError("plan field operators must be a list")
        plan = cls(
            catalogue=Catalogue.from_json(fields["catalogue"]),
            transaction_size=fields["transaction_size"],
            itemset_size=fields["itemset_size"],
            operators=tuple(operator_from_json(entry) for entry in fields["operators"]),
            generator=Generator.from_json(fields["generator"]),
            promise=Breach(*(read_fraction(promise[name], name) for name in ("prior", "posterior"))),
            sizes=fields["sizes"],
            view=View.from_json(fields["view"]),
            reports_per_person=fields["reports_per_person"],
        )
        if plan.kind != fields["kind"]:
            raise PlanError("the plan's kind is not that of its operators")
        plan._check_width()
        return plan

    def _check_width(self) -> None:
        # not of every plan made here: a group of sizes in clear has the generator of the widest one
        n, generator = self.n_items, self.generator
        coded = [each for each in self.operators if isinstance(each, Operator) and generator.kind != "none"]
        least = max((generator.least_field_bits(n + each.size, each.insert_bits) for each in coded), default=0)
        if generator.field_bits > least:
            raise PlanError(
                f"plan field field_bits must be {least} for these items, the least that suffices, got "
                f"{generator.field_bits}; a larger field costs devices time and memory for nothing"
            )

    @classmethod
    def parse(cls, text: str) -> "Plan":
        """Read a plan from JSON text.

        JSON of little else than brackets takes 25 times the memory of its text, so the marks that stand between values
        are counted before it is read. A text may have 2^22 + 2^10 of them, which take half a GiB at most.

        Raises:
            PlanError: not JSON, or not a plan.
        """
        if sum(map(text.count, _MARKS)) > _MOST_MARKS:
            raise NotAPlanError(
                f"not a plan: it has more than {_MOST_MARKS:,} of the characters {' '.join(_MARKS)} which stand "
                "between values; a plan of a million items has room for four an item"
            )
        try:
            content = json.loads(text, object_pairs_hook=_without_doubles)
        except PlanError:
            raise
        except (ValueError, RecursionError):
            raise NotAPlanError("not a plan: the text is not valid JSON") from None
        return cls.from_json(content)
