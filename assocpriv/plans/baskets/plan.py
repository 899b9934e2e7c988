"""The frozen plan of baskets: the one description of a collection that client, server, planner and audit all read.

A plan holds integers only: the operator's weights, the generator's field, the promise as fractions. The meaning of a
published plan never changes. docs/formats/plan.md describes every field.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import PlanError, PrivacyLimitError
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
from assocpriv.plans.baskets.report_form import BlockForm, ReportForm, SizedForm
from assocpriv.plans.baskets.view import View
from assocpriv.plans.published import PublishedPlan, check_fields, check_integer

HIDDEN, IN_CLEAR = "hidden", "in clear"
MOST_REPORTS_PER_PERSON = 1000


def _about(ratio: Fraction) -> str:
    try:
        return f"{float(ratio):.6g}"
    except OverflowError:
        return "beyond 1e308"


@dataclass(frozen=True)
class Plan(PublishedPlan):
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

    A view with **blocks**: a report is about the items of one block, which the device draws, of whatever it holds, and
    names in clear. The operator and the generator are made for the items of a block (``block_plan``).

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

    kinds: ClassVar = (Operator.kind, FixedSizeOperator.kind)
    field_names: ClassVar = frozenset(
        ("catalogue", "sizes", "transaction_size", "itemset_size", "operators", "generator", "promise", "view")
    )

    def __post_init__(self) -> None:
        check_integer(self.transaction_size, "transaction_size", 1, MAX_TRANSACTION_SIZE)
        check_integer(self.itemset_size, "itemset_size", 1, self.transaction_size)
        check_integer(self.reports_per_person, "reports_per_person", 1, MOST_REPORTS_PER_PERSON)
        self.view.check_catalogue(self.catalogue)
        if self.view.blocks is not None:
            self.view.blocks.check_catalogue(self.n_items, self.itemset_size)
            if self.sizes != HIDDEN:
                raise PlanError("a plan with blocks needs hidden sizes")
        if self.sizes not in (HIDDEN, IN_CLEAR):
            raise PlanError("plan field sizes must be 'hidden' or 'in clear'; a newer release may know other modes")
        m = self.transaction_size
        if [operator.size for operator in self.operators] != (list(range(1, m + 1)) if self.in_clear else [m]):
            raise PlanError(
                "a plan with hidden sizes needs one operator, of size transaction_size; one with sizes in clear an "
                "operator for each size 1 … transaction_size, in order"
            )
        self._check_promise()
        for operator in self.operators:
            operator.check_plan(self.asked_items, self.itemset_size, self.generator, hidden=not self.in_clear)

    def _check_promise(self) -> None:
        together = self.composed_amplification
        if together >= self.promise.amplification_limit:
            of_all = f" of {self.reports_per_person} reports together" if self.reports_per_person > 1 else ""
            raise PrivacyLimitError(
                f"the plan's amplification{of_all} {_about(together)} breaks its promise, "
                f"which needs less than {_about(self.promise.amplification_limit)}; do not use this plan"
            )

    @property
    def kind(self) -> str:
        """Which operators the plan has: ``select-a-size`` or ``fixed-size``."""
        return self.operator.kind

    @property
    def in_clear(self) -> bool:
        """Whether a report says its transaction's size, outside γ."""
        return self.sizes == IN_CLEAR

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
        """A plan of hidden size for each operator: those of one group's reports (without the byte of the size).

        With blocks that of a block's reports (without its number), ``block_plan``.
        """
        if not self.in_clear:
            return (self.block_plan,)
        k = self.itemset_size
        return tuple(
            replace(self, transaction_size=each.size, itemset_size=min(k, each.size), operators=(each,), sizes=HIDDEN)
            for each in self.operators
        )

    @cached_property
    def block_plan(self) -> "Plan":
        """The plan of what is reported of one block, its items numbered by their places; the plan itself without."""
        if self.view.blocks is None:
            return self
        return replace(self, catalogue=Catalogue.numbered(self.asked_items), view=View())

    @property
    def n_items(self) -> int:
        """Number of real items."""
        return len(self.catalogue)

    @property
    def asked_items(self) -> int:
        """Number of items that a report is made for: those of the longest blocks, or all."""
        return self.n_items if self.view.blocks is None else self.view.blocks.longest(self.n_items)

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
        """γ^R of all that one person sends, exactly; with sizes in clear, within equal sizes report by report."""
        return self.amplification**self.reports_per_person

    @property
    def uncovered(self) -> str:
        """Sizes in clear, which lie outside γ."""
        return "sizes in clear" if self.in_clear else ""

    @cached_property
    def form(self) -> ReportForm:
        """What the bits of a report say; those of sizes in clear are as long as the largest group's."""
        if self.view.blocks is not None:
            return BlockForm.of(self.view.blocks, self.n_items, self.block_plan.form)
        if not self.in_clear:
            return self.operator.report_form(self.padded_items, self.generator)
        groups = tuple(group.form for group in self.groups)
        return SizedForm(8 + groups[-1].bits, groups)

    @property
    def report_bits(self) -> int:
        """Length of a report in bits."""
        return self.form.bits

    @property
    def report_bytes(self) -> int:
        """Length of a report in bytes."""
        return self.form.length

    def check_form(self, packed: NDArray[np.uint8], source: str = "", first: int = 0) -> None:
        """Refuse reports whose bits the plan's form does not have."""
        self.form.check(packed, lambda row: f"{source}report {first + row}")

    def to_fields(self) -> dict[str, Any]:
        """Return the plan's fields as JSON content."""
        return {
            "catalogue": self.catalogue.to_json(),
            "sizes": self.sizes,
            "transaction_size": self.transaction_size,
            "itemset_size": self.itemset_size,
            "operators": [operator.to_json() for operator in self.operators],
            "generator": self.generator.to_json(),
            "promise": {name: format_fraction(getattr(self.promise, name)) for name in ("prior", "posterior")},
            "view": self.view.to_json(),
        }

    def __repr__(self) -> str:
        several = f" of {self.reports_per_person} reports together" if self.reports_per_person > 1 else ""
        return (
            f"Plan({self.plan_id[:12]}, {self.n_items} items, at most {self.transaction_size} a transaction, "
            f"γ{several} < {float(self.promise.amplification_limit):g}, {self.report_bits}-bit reports)"
        )

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "Plan":
        """Read what :meth:`to_fields` wrote, and refuse a field of the generator that is wider than it must be."""
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
        # not checked of every plan: a group of sizes in clear has the generator of the widest one
        least = max(operator.least_field_bits(plan.asked_items, plan.generator) for operator in plan.operators)
        if plan.generator.field_bits > least:
            raise PlanError(
                f"plan field field_bits must be {least} for these items, the least that suffices, got "
                f"{plan.generator.field_bits}; a larger field costs devices time and memory for nothing"
            )
        return plan
