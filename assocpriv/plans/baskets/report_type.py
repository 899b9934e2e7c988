"""A plan's report type: a view of the transaction, the operator that randomizes it, the form of the response, a weight.

A device draws one of its plan's report types by their weights, independently of the basket, and sends a response of
this type only. The view's entries of the transaction are padded with padding items (ids ``n_items`` … ``n_items`` + M −
1) or sampled to exactly M, the operator's size. The operator randomizes these.
"""

import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from assocpriv.guarantees.amplification import round_amplification_up
from assocpriv.guarantees.errors import PlanError
from assocpriv.plans.baskets.generator import Generator
from assocpriv.plans.baskets.operator import AnyOperator, FixedSizeOperator, Operator, operator_from_json
from assocpriv.plans.baskets.report_form import ReportForm
from assocpriv.plans.baskets.sizes_view import SizesView
from assocpriv.plans.baskets.view import ItemsView, View
from assocpriv.plans.published_plan import check_fields, check_integer

VIEWS: dict[str, type[View]] = {view.kind: view for view in (ItemsView, SizesView)}
MOST_WEIGHT = 1 << 32  # of all report types together
_SHARE = re.compile(r"([1-9][0-9]{0,9}) of ([1-9][0-9]{0,9})", re.ASCII)
_FIELDS = {"view", "share", "amplification", "report_bits", "itemset_size", "operator", "generator"}
_SHOWN_DIGITS = 9  # of γ after the point


@dataclass(frozen=True)
class ReportType:
    """A report type: what a share of the devices reports on, and how it is randomized.

    Attributes:
        n_items: number of entries of the view, without padding items.
        operator: the randomization operator; its size is M, the number of a transaction's entries.
        generator: generator of the code for responses.
        itemset_size: K, the largest sets of entries to be estimated, 1..M.
        view: the aspect of the transaction that is reported.
        weight: weight among all report types, which gives the share of devices that draw this one.

    Raises:
        PlanError: fields contradict each other.

    >>> from assocpriv.plans.baskets.operator import Operator
    >>> report_type = ReportType(3, Operator(2, 1, 1, 4, (1, 5, 5)))
    >>> report_type.transaction_size, report_type.padded_items, report_type.report_bits, report_type.amplification
    (2, 5, 5, Fraction(5, 1))
    """

    n_items: int
    operator: AnyOperator
    generator: Generator = field(default_factory=Generator)
    itemset_size: int = 1
    view: View = field(default_factory=ItemsView)
    weight: int = 1

    def __post_init__(self) -> None:
        check_integer(self.itemset_size, "itemset_size", 1, self.transaction_size)
        check_integer(self.weight, "share", 1, MOST_WEIGHT)
        self.operator.check_plan(self.n_items, self.itemset_size, self.generator)

    @property
    def transaction_size(self) -> int:
        """M, the number of entries that every transaction is padded or sampled to."""
        return self.operator.size

    @property
    def padded_items(self) -> int:
        """Number of entries with the padding items."""
        return self.n_items + self.transaction_size

    @property
    def independent(self) -> Operator:
        """The operator, if it is select-a-size."""
        assert isinstance(self.operator, Operator)
        return self.operator

    @property
    def fixed(self) -> FixedSizeOperator:
        """The operator, if reports have a fixed size."""
        assert isinstance(self.operator, FixedSizeOperator)
        return self.operator

    @property
    def amplification(self) -> Fraction:
        """γ of a response, exactly: none is more than γ times as likely under one transaction as under another."""
        return self.operator.amplification

    @cached_property
    def form(self) -> ReportForm:
        """The form of a response's bits."""
        return self.operator.report_form(self.padded_items, self.generator)

    @property
    def report_bits(self) -> int:
        """Length of a response in bits."""
        return self.form.bits

    def to_json(self, total: int) -> dict[str, Any]:
        """Return the report type as JSON content; ``total`` is the weight of all report types.

        Share, γ (rounded up) and length are for human readers; they follow from the rest.
        """
        return {
            "view": self.view.to_json(),
            "share": f"{self.weight} of {total}",
            "amplification": _at_most(self.amplification),
            "report_bits": self.report_bits,
            "itemset_size": self.itemset_size,
            "operator": self.operator.to_json(),
            "generator": self.generator.to_json(),
        }

    @classmethod
    def from_json(cls, content: object, n_items: int) -> tuple["ReportType", int]:
        """Read what :meth:`to_json` wrote, for a catalogue of ``n_items``; also return the weight of all report types.

        Raises:
            PlanError: as the class; γ or the length does not follow; or the generator's field is too large.
        """
        fields = check_fields(content, "a report type", _FIELDS)
        share = _SHARE.fullmatch(fields["share"]) if isinstance(fields["share"], str) else None
        if share is None:
            raise PlanError('plan field share must be text such as "49 of 50"')
        view = _view_from_json(fields["view"])
        report_type = cls(
            n_items=view.n_entries(n_items),
            operator=operator_from_json(fields["operator"]),
            generator=Generator.from_json(fields["generator"]),
            itemset_size=fields["itemset_size"],
            view=view,
            weight=int(share[1]),
        )
        derived = {"amplification": _at_most(report_type.amplification), "report_bits": report_type.report_bits}
        for name, due in derived.items():
            if fields[name] != due or type(fields[name]) is not type(due):
                raise PlanError(f"plan field {name} of a report type must be {due!r}, which follows from its operator")
        report_type._check_field()
        return report_type, int(share[2])

    def _check_field(self) -> None:
        least = self.operator.least_field_bits(self.n_items, self.generator)
        if self.generator.field_bits > least:
            raise PlanError(
                f"plan field field_bits must be {least}, the smallest field for these items, got "
                f"{self.generator.field_bits}; a larger field needlessly costs devices time and memory"
            )


def _view_from_json(content: object) -> View:
    kind = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in VIEWS:
        raise PlanError(f"a report type's view must have the kind {' or '.join(VIEWS)}; a newer release may know it")
    return VIEWS[kind].from_json(content)


def _at_most(amplification: Fraction) -> str:
    unit = 10**_SHOWN_DIGITS
    whole, parts = divmod(int(round_amplification_up(amplification, unit) * unit), unit)
    return f"at most {whole}.{parts:0{_SHOWN_DIGITS}d}"
