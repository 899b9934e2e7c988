"""The plan of baskets, frozen: the one description of a collection that client, server, planner, audit read.

A plan holds integers only: the operator's weights, the generator's field, the promise as fractions. The meaning of a
published plan never changes. docs/formats/plan.md describes every field.

Where each report tells of one random block, fewer reports than there are tell of an itemset, and not equally many of
each. Of R partitions into g pieces each, an itemset of k entries lies whole in a piece of B of them, B ~ Bin(R, p_k)
over all itemsets of the size, and a report is about one of those B of R·g blocks with probability B/(R·g):

    p_k = Σ_pieces C(n_j, k) / C(n, k)         about g^(1−k); p_1 = 1
    N_A | B ~ Bin(N, B/(R·g)),     E N_A = N·p_k/g
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.generator import Generator
from assocpriv.plans.operator import MAX_TRANSACTION_SIZE, AnyOperator, FixedSizeOperator, Operator, operator_from_json
from assocpriv.plans.published import MOST_REPORTS_PER_PERSON, PublishedPlan, check_fields, check_integer
from assocpriv.plans.report_form import BlockForm, ReportForm
from assocpriv.plans.view import Blocks, View
from assocpriv.promise.breaches import Breach, read_fraction
from assocpriv.promise.errors import PlanError, PrivacyLimitError

_SIZES = "hidden"  # the one mode of the field
_TOO_FEW_SHARE = 0.01  # of the itemsets of a size, which lie in the fewest blocks
_SURELY = 1e-6  # so seldom fewer reports are about so many blocks


@dataclass(frozen=True)
class Plan(PublishedPlan):
    """What a collection publishes: catalogue, transaction size, operator, generator, promise and view.

    Every transaction counts as exactly ``transaction_size`` items, so that its size is hidden: shorter ones are padded
    with dummy items (ids n_items … n_items + M − 1), longer ones sampled uniformly.

    The promise covers all that is sent, in **all** reports of a person, who may send ``reports_per_person`` of them
    (client/ledger.py counts them): together they are amplified by at most γ^R, which stays below the promise's limit.

    A view with **blocks**: a report is about the items of one block, which the device draws, of whatever it holds, and
    names in clear. The operator and the generator are made for the items of a block (``block_plan``).

    Attributes:
        catalogue: the items.
        transaction_size: M, 1..15.
        itemset_size: K, the largest itemsets to be estimated, 1..M.
        operator: how many items of a transaction stay, and how others are added, in integer weights.
        generator: of the code that a report is sent in.
        promise: the breach that may not occur.
        view: how clients make a transaction of a basket.
        reports_per_person: R, 1..1000.

    Raises:
        PlanError: fields that contradict each other.
        PrivacyLimitError: the amplification of all reports of a person is not strictly below the promise's limit.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> isinstance(made, ap.Plan), made.n_items, made.transaction_size, made.itemset_size
    (True, 2, 2, 2)
    """

    catalogue: Catalogue
    transaction_size: int
    itemset_size: int
    operator: AnyOperator
    generator: Generator
    promise: Breach
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
        if self.operator.size != self.transaction_size:
            raise PlanError(f"the operator is of size {self.operator.size}, not transaction_size")
        self._check_promise()
        self.operator.check_plan(self.asked_items, self.itemset_size, self.generator)

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
        """Which operator the plan has: ``select-a-size`` or ``fixed-size``."""
        return self.operator.kind

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
        return self.operator.amplification

    @property
    def composed_amplification(self) -> Fraction:
        """γ^R of all that one person sends, exactly."""
        return self.amplification**self.reports_per_person

    @cached_property
    def form(self) -> ReportForm:
        """What the bits of a report say."""
        if self.view.blocks is not None:
            return BlockForm.of(self.view.blocks, self.n_items, self.block_plan.form)
        return self.operator.report_form(self.padded_items, self.generator)

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
            "sizes": _SIZES,
            "transaction_size": self.transaction_size,
            "itemset_size": self.itemset_size,
            "operators": [self.operator.to_json()],
            "generator": self.generator.to_json(),
            "promise": self._promise_to_json(),
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
        if fields["sizes"] != _SIZES:
            raise PlanError(f"plan field sizes must be {_SIZES!r}; a newer release may know other modes")
        if not isinstance(fields["operators"], list) or len(fields["operators"]) != 1:
            raise PlanError("plan field operators must be a list of one operator")
        plan = cls(
            catalogue=Catalogue.from_json(fields["catalogue"]),
            transaction_size=fields["transaction_size"],
            itemset_size=fields["itemset_size"],
            operator=operator_from_json(fields["operators"][0]),
            generator=Generator.from_json(fields["generator"]),
            promise=Breach(*(read_fraction(promise[name], name) for name in ("prior", "posterior"))),
            view=View.from_json(fields["view"]),
            reports_per_person=fields["reports_per_person"],
        )
        least = plan.operator.least_field_bits(plan.asked_items, plan.generator)
        if plan.generator.field_bits > least:
            raise PlanError(
                f"plan field field_bits must be {least} for these items, the least that suffices, got "
                f"{plan.generator.field_bits}; a larger field costs devices time and memory for nothing"
            )
        return plan


def _about(ratio: Fraction) -> str:
    try:
        return f"{float(ratio):.6g}"
    except OverflowError:
        return "beyond 1e308"


# ---- blocks


@dataclass(frozen=True, slots=True)
class AskedReports:
    """Of which itemsets reports tell: the blocks, and how many entries are cut into them."""

    blocks: Blocks
    n_items: int

    @classmethod
    def of(cls, plan: Plan) -> "AskedReports | None":
        """Return those of a plan with blocks, None where every report tells of every itemset."""
        return None if plan.view.blocks is None else cls(plan.view.blocks, plan.n_items)

    def share(self, k: int) -> Fraction:
        """Return E N_A / N for an itemset of k entries, over random blocks of these numbers and sizes.

        >>> AskedReports(Blocks(4, 2), 6).share(2)
        Fraction(1, 5)
        """
        return asked_share(self.n_items, self.blocks.pieces, k)

    def least(self, k: int, n_reports: int) -> int:
        """Return how many of N reports tell of at least 99 of 100 itemsets of k entries: N_A is seldom less.

        >>> AskedReports(Blocks(64, 2), 100).least(1, 10_000), AskedReports(Blocks(64, 2), 100).least(2, 10_000)
        (4884, 1745)
        """
        return _least(self, k, n_reports)

    def fewest(self, k: int, n_reports: int) -> int:
        """Return how many of N reports surely tell of an itemset of k entries that does not lie in too few blocks.

        Too few are fewer than 99 of 100 itemsets of the size lie in.

        >>> AskedReports(Blocks(64, 2), 100).fewest(1, 10_000), AskedReports(Blocks(64, 2), 100).fewest(2, 10_000)
        (4762, 1542)
        """
        return _fewest(self, k, n_reports)


def asked_share(n_entries: int, pieces: int, k: int) -> Fraction:
    """Return p_k/g, the share of blocks that hold an itemset of k entries whole, on average; 0 of more than there are.

    >>> [str(asked_share(7, 3, k)) for k in (1, 2, 3)]
    ['1/3', '5/63', '1/105']
    """
    short, longer = divmod(n_entries, pieces)
    held = longer * comb(short + 1, k) + (pieces - longer) * comb(short, k)
    return Fraction(held, comb(n_entries, k) * pieces) if k <= n_entries else Fraction(0)


@lru_cache(maxsize=256)
def _fewest(asked: AskedReports, k: int, n_reports: int) -> int:
    from scipy.stats import binom

    partitions, pieces = asked.blocks.partitions, asked.blocks.pieces
    blocks = binom.ppf(_TOO_FEW_SHARE, partitions, float(asked.share(k) * pieces))
    return max(0, int(binom.ppf(_SURELY, n_reports, float(blocks) / (partitions * pieces))))


@lru_cache(maxsize=256)
def _least(asked: AskedReports, k: int, n_reports: int) -> int:
    from scipy.stats import binom

    partitions, pieces = asked.blocks.partitions, asked.blocks.pieces
    in_blocks = np.arange(partitions + 1)
    weights = binom.pmf(in_blocks, partitions, float(asked.share(k) * pieces))
    low, high = 0, n_reports
    while low < high:  # the most reports that fewer than one of 100 lack
        middle = (low + high + 1) // 2
        fewer = float(weights @ binom.cdf(middle - 1, n_reports, in_blocks / (partitions * pieces)))
        low, high = (middle, high) if fewer <= _TOO_FEW_SHARE else (low, middle - 1)
    return low


def report_items(report: bytes, plan: Plan) -> frozenset[str]:
    """Return the names that one report shows, of items its sender has and of others that chance added.

    Args:
        report: ``plan.report_bytes`` bytes.
        plan: the published plan.

    Returns:
        Names of the plan's catalogue; dummies, which fill short transactions, are left out.

    Raises:
        WireError: bytes that no client of the plan can have sent.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> ap.report_items(ap.randomize({"milk"}, made), made) <= {"milk", "tea"}
    True
    """
    Plan.of(plan)
    if not isinstance(report, bytes):
        raise TypeError(f"a report is bytes, got a {type(report).__name__}")
    return frozenset(plan.catalogue[item] for item in plan.form.items(report) if item < plan.n_items)
