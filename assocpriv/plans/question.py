"""A question of a plan: a view of the transaction, the operator that randomizes it, the form of its report, a weight.

A device draws one of its plan's questions by their weights, with a public coin that knows nothing of the basket, and
answers that alone. Given the question a report is what the operator makes of the entries that the view sees, padded
with dummies (ids ``n_items`` … ``n_items`` + M − 1) or sampled to exactly M, the operator's size.
"""

import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from assocpriv.plans.generator import Generator
from assocpriv.plans.operator import AnyOperator, FixedSizeOperator, Operator, operator_from_json
from assocpriv.plans.published import check_fields, check_integer
from assocpriv.plans.report_form import ReportForm
from assocpriv.plans.sizes_view import SizesView
from assocpriv.plans.view import ItemsView, View
from assocpriv.promise.breaches import round_up
from assocpriv.promise.errors import PlanError

VIEWS: dict[str, type[View]] = {view.kind: view for view in (ItemsView, SizesView)}
MOST_WEIGHT = 1 << 32  # of all questions together
_SHARE = re.compile(r"([1-9][0-9]{0,9}) of ([1-9][0-9]{0,9})", re.ASCII)
_FIELDS = {"view", "share", "amplification", "report_bits", "itemset_size", "operator", "generator"}
_SHOWN_DIGITS = 9  # of γ after the point


@dataclass(frozen=True)
class Question:
    """What a share of the devices is asked.

    Attributes:
        n_items: entries that the view makes, without dummies.
        operator: how many of a transaction's M entries stay, and how others are added; M is its size.
        generator: of the code that the answer is sent in.
        itemset_size: K, the largest sets of entries to be estimated, 1..M.
        view: what is asked about.
        weight: of those of all questions: which share of the devices draws this one.

    Raises:
        PlanError: fields that contradict each other.

    >>> from assocpriv.plans.operator import Operator
    >>> asked = Question(3, Operator(2, 1, 1, 4, (1, 5, 5)))
    >>> asked.transaction_size, asked.padded_items, asked.report_bits, asked.amplification
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
        """Number of entries with the dummies."""
        return self.n_items + self.transaction_size

    @property
    def independent(self) -> Operator:
        """The operator, where it is a select-a-size."""
        assert isinstance(self.operator, Operator)
        return self.operator

    @property
    def fixed(self) -> FixedSizeOperator:
        """The operator, where reports are of a fixed size."""
        assert isinstance(self.operator, FixedSizeOperator)
        return self.operator

    @property
    def amplification(self) -> Fraction:
        """γ of an answer, exactly: none is more than γ times likelier under one transaction than another."""
        return self.operator.amplification

    @cached_property
    def form(self) -> ReportForm:
        """What the bits of an answer say."""
        return self.operator.report_form(self.padded_items, self.generator)

    @property
    def report_bits(self) -> int:
        """Length of an answer in bits."""
        return self.form.bits

    def to_json(self, total: int) -> dict[str, Any]:
        """Return the question as JSON content; ``total`` is the weight of all questions.

        Share, γ (rounded up) and length are there for people; they follow from the rest.
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
    def from_json(cls, content: object, n_items: int) -> tuple["Question", int]:
        """Read what :meth:`to_json` wrote, of a catalogue of so many items; return also the weight of all questions.

        Raises:
            PlanError: also where γ or the length is another than follows, or the generator's field is too wide.
        """
        fields = check_fields(content, "a question", _FIELDS)
        share = _SHARE.fullmatch(fields["share"]) if isinstance(fields["share"], str) else None
        if share is None:
            raise PlanError('plan field share must be text such as "49 of 50"')
        view = _view_from_json(fields["view"])
        question = cls(
            n_items=view.n_entries(n_items),
            operator=operator_from_json(fields["operator"]),
            generator=Generator.from_json(fields["generator"]),
            itemset_size=fields["itemset_size"],
            view=view,
            weight=int(share[1]),
        )
        for name, follows in (
            ("amplification", _at_most(question.amplification)),
            ("report_bits", question.report_bits),
        ):
            if fields[name] != follows or type(fields[name]) is not type(follows):
                raise PlanError(f"plan field {name} of a question must be {follows!r}, which follows from its operator")
        question._check_field()
        return question, int(share[2])

    def _check_field(self) -> None:
        least = self.operator.least_field_bits(self.n_items, self.generator)
        if self.generator.field_bits > least:
            raise PlanError(
                f"plan field field_bits must be {least} for these items, the least that suffices, got "
                f"{self.generator.field_bits}; a larger field costs devices time and memory for nothing"
            )


def _view_from_json(content: object) -> View:
    kind = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in VIEWS:
        raise PlanError(f"a question's view must have the kind {' or '.join(VIEWS)}; a newer release may know it")
    return VIEWS[kind].from_json(content)


def _at_most(amplification: Fraction) -> str:
    whole, parts = divmod(int(round_up(amplification, 10**_SHOWN_DIGITS) * 10**_SHOWN_DIGITS), 10**_SHOWN_DIGITS)
    return f"at most {whole}.{parts:0{_SHOWN_DIGITS}d}"
