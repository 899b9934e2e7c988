"""A plan's report type: a view of the transaction, the operator that randomizes it, the form of the response, a weight.

A device draws one of its plan's report types by their weights, independently of the basket, and sends a response of
this type only. The view's entries of the transaction are padded with padding items (ids ``n_items`` … ``n_items`` + M −
1) or sampled to exactly M, the operator's size. The operator randomizes these.

A view is the aspect of a transaction that is reported. A transaction is the set of the catalogue's items in a basket
(plans/baskets/catalogue.py). A view turns it into entries, numbered from 0. γ holds whatever the view, because
randomization protects any two sets of entries. A view is a class, and an entry of ``VIEWS``.

Entry i of the view of basket sizes is the class of sizes from ``bounds[i]`` up to the next bound; the last class is
open. A transaction with fewer items than ``bounds[0]`` has no entry, so that a padding item is added, as in every
report type. If ``bounds[0]`` is the number M that reports of items are padded to, the padding items in those reports
estimate the smaller sizes.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.amplification import round_amplification_up
from assocpriv.guarantees.errors import PlanError
from assocpriv.plans.baskets.generator import Generator
from assocpriv.plans.baskets.operator import AnyOperator, FixedSizeOperator, Operator, ReportForm, operator_from_json
from assocpriv.plans.published_plan import check_fields, check_integer

Ids = NDArray[np.int64]
MOST_CLASSES = 64  # of sizes
MOST_WEIGHT = 1 << 32  # of all report types together
_SHARE = re.compile(r"([1-9][0-9]{0,9}) of ([1-9][0-9]{0,9})", re.ASCII)
_FIELDS = {"view", "share", "amplification", "report_bits", "itemset_size", "operator", "generator"}
_SHOWN_DIGITS = 9  # of γ after the point


# ---- views


class View(ABC):
    """The aspect of a transaction that a report type is about; ``kind`` is its name in a plan."""

    kind: ClassVar[str]

    @abstractmethod
    def n_entries(self, n_items: int) -> int:
        """Return the number of entries for a catalogue of ``n_items``; raise PlanError if the view does not fit it."""

    @abstractmethod
    def entries(self, transaction: list[int]) -> list[int]:
        """Return a transaction's entries; both are in increasing order."""

    @abstractmethod
    def entries_of_many(self, offsets: Ids, items: Ids) -> tuple[Ids, Ids]:
        """Return offsets and entries of many transactions; the i-th has the items from ``offsets[i]`` on."""

    @abstractmethod
    def entry_name(self, entry: int, names: Sequence[str]) -> str:
        """Return an entry's name; ``names`` are the catalogue's."""

    @abstractmethod
    def describe(self, size: int) -> str:
        """Return a description of what is reported, with at most ``size`` entries, as in "which items …"."""

    def to_json(self) -> dict[str, Any]:
        """Return the view as canonical JSON content."""
        return {"kind": self.kind}

    @classmethod
    def from_json(cls, content: object) -> Self:
        """Read what :meth:`to_json` wrote."""
        check_fields(content, f"a view of {cls.kind}", {"kind"})
        return cls()


@dataclass(frozen=True, slots=True)
class ItemsView(View):
    """The items of a transaction: the entries are the items themselves.

    >>> ItemsView().entries([2, 7])
    [2, 7]
    """

    kind: ClassVar[str] = "items"

    def n_entries(self, n_items: int) -> int:
        """Return the number of items."""
        return n_items

    def entries(self, transaction: list[int]) -> list[int]:
        """Return the items."""
        return transaction

    def entries_of_many(self, offsets: Ids, items: Ids) -> tuple[Ids, Ids]:
        """Return the arguments unchanged."""
        return offsets, items

    def entry_name(self, entry: int, names: Sequence[str]) -> str:
        """Return the item's name."""
        return names[entry]

    def describe(self, size: int) -> str:
        """Return a description: the items in the basket."""
        return f"a randomized answer about the basket's items, {size} at most"


@dataclass(frozen=True, slots=True)
class SizesView(View):
    """The size class of a transaction.

    Attributes:
        bounds: the smallest size of each class, increasing, 1 or more; at most 64.

    Raises:
        PlanError: bounds do not increase, or there are too many.

    >>> view = SizesView((5, 8))
    >>> view.entries([1, 2]), view.entries([0, 1, 2, 3, 4]), view.entries(list(range(20)))
    ([], [0], [1])
    """

    bounds: tuple[int, ...]

    kind: ClassVar[str] = "sizes"

    def __post_init__(self) -> None:
        if not 1 <= len(self.bounds) <= MOST_CLASSES:
            raise PlanError(f"plan field bounds must list 1 to {MOST_CLASSES} whole numbers")
        for bound in self.bounds:
            check_integer(bound, "bounds", 1, 1 << 30)
        if any(low >= high for low, high in pairwise(self.bounds)):
            raise PlanError("plan field bounds must increase")

    def n_entries(self, n_items: int) -> int:
        """Return the number of classes; raise PlanError if no transaction can reach the last one."""
        if self.bounds[-1] > n_items:
            raise PlanError(f"plan field bounds must be at most the number of items, {n_items}")
        return len(self.bounds)

    def entries(self, transaction: list[int]) -> list[int]:
        """Return the class of the transaction's size; nothing below the first."""
        reached = sum(bound <= len(transaction) for bound in self.bounds)
        return [reached - 1] if reached else []

    def entries_of_many(self, offsets: Ids, items: Ids) -> tuple[Ids, Ids]:  # noqa: ARG002 -- only sizes matter
        """Return the classes of many transactions' sizes."""
        reached = np.searchsorted(np.array(self.bounds), np.diff(offsets), side="right")
        held = reached > 0
        return np.append(0, np.cumsum(held)).astype(np.int64), (reached[held] - 1).astype(np.int64)

    def entry_name(self, entry: int, names: Sequence[str]) -> str:  # noqa: ARG002 -- classes have no item names
        """Return the name of a class: its sizes.

        >>> [SizesView((5, 6, 9)).entry_name(entry, ()) for entry in range(3)]
        ['5 items', '6–8 items', '9 or more items']
        """
        least, most = self.bounds[entry], [*self.bounds[1:], 0][entry] - 1
        return f"{least} or more items" if most < 0 else f"{least}{f'–{most}' if most > least else ''} items"

    def describe(self, size: int) -> str:  # noqa: ARG002 -- a transaction has one size
        """Return a description: the basket size by class."""
        classes = ", ".join(self.entry_name(place, ()).removesuffix(" items") for place in range(len(self.bounds)))
        return f"a randomized answer about the number of items, in classes: below {self.bounds[0]}, {classes}"

    def to_json(self) -> dict[str, Any]:
        """Return the view as canonical JSON content."""
        return {"kind": self.kind, "bounds": list(self.bounds)}

    @classmethod
    def from_json(cls, content: object) -> "SizesView":
        """Read what :meth:`to_json` wrote."""
        bounds = check_fields(content, "a view of sizes", {"kind", "bounds"})["bounds"]
        if not isinstance(bounds, list):
            raise PlanError("plan field bounds must be a list of whole numbers")
        return cls(tuple(bounds))


VIEWS: dict[str, type[View]] = {view.kind: view for view in (ItemsView, SizesView)}


# ---- report types


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

    def supports(self, k: int) -> bool:
        """Return whether reports show any M + k entries independently, as estimates of k-itemsets need.

        Args:
            k: size of the itemsets.

        Returns:
            True if the generator makes that number of entries independent.
        """
        if self.generator.kind == "none":
            return True
        needed = min(self.transaction_size + k, self.padded_items)
        return self.generator.independent_items(self.independent.insert_bits) >= needed

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
        if self.generator.is_seedless:
            return
        least = self.generator.least_field_bits(self.padded_items, self.independent.insert_bits)
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
