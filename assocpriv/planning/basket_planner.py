"""The planner of basket collections: the plan with the least expected error within a guarantee.

The planner chooses M, the operator and the form of responses by the expected error of supports in whole baskets
(expected_error.py). It evaluates every M from K on, both operators, and every default probability or report size, each
with its best pattern. M is that of the design with the least error. Among designs with this M and an error within 5%,
the one with the shortest report is chosen. A smaller M would save more bytes, but the error of the truncation
correction is the least certain part of the forecast. A report type about basket sizes is added. The planner sees no
record: basket sizes are given, or assumed and stated as such.

If reports go through an anonymous channel, designs with many γ compete, each with the blanket that its γ needs. The
local guarantee then follows from the chosen γ.

The paper's choice minimizes the largest lowest detectable support within M sampled items over k, by thresholds and
independent insertion. Among designs within 2% of the minimum it takes the shortest report (EGS03, section 5). It has no
report type about sizes.

Example guarantees, from strict to lenient, come with their costs: the detection threshold in default whole baskets.
Costs are the detection thresholds of plans made here (estimation/supports.py), times the factor of the truncation
correction. The verdicts are a judgement, not a result.

A central guarantee is proved from γ and the blanket λ of a plan (guarantees/shuffle_model.py). A larger γ needs a
larger λ: up to some γ the clones alone suffice, then λ must grow, and finally no λ suffices. So designs with several γ
compete: from the largest ε for which any λ suffices, in steps of 1/4 up to the cap, but at most six steps. Errors are
smallest at most four steps up, and then increase again. A design's λ is 1 over the sum of its weights over pure noise,
which the search computes anyway (operator_designs.py). λ of a plan is the mean over its report types. The report type
about sizes has a small share and may have the same γ. Its λ is taken as 0, so that of the report type about items must
be larger: λ ≥ λ_least/(1 − share).

The cap bounds the information in one person's reports if the channel fails, that is, if the relay, which knows the
senders, and the collector, which reads the contents, collude. The default is 8: it raises 1 in 1,000 to at most 3 in 4.
A cap of 10 would raise it to 24 in 25, which protects next to nothing, and lower expected errors by a fifth with a
million reports. With 100,000 reports or fewer the central guarantee has no use for more than 8.

Padding items in reports about items estimate how many baskets hold fewer than M items, with the same error as for
items. They give no information on longer baskets, which are truncated. So the size classes of the report type about
basket sizes begin at M (estimation/size_distribution.py defines them). Its share is small, because these reports do not
help to estimate items: 2,000 people suffice for the basket-size distribution, with a share of at most 5% and at least
1%. For one of B classes and the padding item, the best operators within γ report ℓ of the B + 1 entries (subset
selection, Ye and Barg 2018); ℓ = 1 is generalized randomized response.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.estimation.size_distribution import size_classes
from assocpriv.estimation.supports import detectable_supports
from assocpriv.guarantees.amplification import (
    Guarantee,
    amplification_from_epsilon,
    check_guarantee,
    epsilon_from_amplification,
    highest_posterior,
    parse_number,
    parse_probability,
    root_of_limit,
)
from assocpriv.guarantees.errors import PlanError, check_type, pluralize
from assocpriv.guarantees.exact_numbers import as_whole, check_range
from assocpriv.guarantees.shuffle_model import CentralGuarantee
from assocpriv.planning.expected_error import (
    MOST_MEAN,
    BasketSizes,
    ExpectedError,
    design_errors,
    design_objective,
    expected_errors,
)
from assocpriv.planning.operator_designs import (
    DEFAULT_REPORTS,
    MOST_REPORTS,
    Design,
    Family,
    WorstSupport,
    fixed_size_family,
    insertion_family,
    paper_family,
    reachable_amplification,
    runs,
    thresholds,
)
from assocpriv.plans import result_display as display
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import Catalogue, Names, name_itemsets
from assocpriv.plans.baskets.operator import MAX_TRANSACTION_SIZE
from assocpriv.plans.baskets.report_type import ReportType, SizesView
from assocpriv.plans.published_plan import MOST_REPORTS_PER_PERSON

if TYPE_CHECKING:
    import pandas as pd

_ITEMSET_SIZE = 3  # default
_NEARLY_ALL, _MANY = 0.95, 0.1  # of a sample's baskets
_ROOT_BITS = 64  # binary places of the limit of γ for each of several reports
_NEAR, _NEAR_OF_PAPER = 1.05, 1.02  # times the least error, up to which designs compete on report length
SHORT_BYTES = 8  # report length whose cost in error is stated
# with padding items; for more items, fixed sizes gain 3% and take longer on client and server
_MOST_FIXED_ITEMS = 256

VERDICTS = {  # by prior and posterior
    ("5%", "10%"): "very strict: for highly sensitive data",
    ("5%", "20%"): "strict: for embarrassing purchases",
    ("10%", "50%"): "firm: for private habits",
    ("5%", "50%"): "default: for everyday shopping",
    ("1%", "50%"): "lenient: for data known to friends",
    ("1%", "90%"): "weak: for data disclosed on request",
}
PEOPLE = (10**4, 10**5, 10**6, 10**7)  # numbers of reports
ITEMS = 1000
Thresholds = Mapping[int, float]  # detection threshold in whole baskets, by itemset size
_PEOPLE, _LEAST_SHARE, _MOST_SHARE = 2000, Fraction(1, 100), Fraction(1, 20)
_PARTS = 1000  # shares are multiples of 1/1000
LOCAL_CAP = 8  # default of the largest local ε of all reports of one person
PRIOR = Fraction(1, 20)  # of the local guarantee that follows
_STEP, _MOST_STEPS = 0.25, 6  # of ε
_HUNDREDTHS = 100  # ε is rounded to hundredths, to be readable
_GAIN = 1.1  # a channel is useful for a local ε above this multiple of the central ε
_ROUNDED = 1 + 2**-14  # integer weights may make an operator's blanket smaller than its design's by this factor
_SLACK = Fraction(19, 20)  # of δ: the bound has integer steps, so a slightly smaller γ may prove less
_MOST_DOUBLINGS = 40


# ---- the request


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """A request for a plan; the checked fields are those of :func:`assocpriv.plan`."""

    catalogue: Catalogue
    guarantee: Any  # a Guarantee; with central the cap on the plan's local guarantee
    central: CentralGuarantee | None = None
    reports: int = DEFAULT_REPORTS
    reports_per_person: int = 1
    mean_size: float | None = None
    sample: BasketSizes | None = None
    itemset_size: int | None = None
    transaction_size: int | None = None
    names: Names = field(default_factory=Names)
    paper: bool = False
    other_means: bool = True
    sizes: BasketSizes = field(init=False)  # known or assumed
    limit: Fraction = field(init=False)  # strict upper bound of γ for each report of a person
    largest: int = field(init=False)  # K

    def __post_init__(self) -> None:
        check_guarantee(self.guarantee)
        check_type("names", self.names, Names).check_catalogue(self.catalogue)
        set_to = object.__setattr__
        for name, most in (("reports", MOST_REPORTS), ("reports_per_person", MOST_REPORTS_PER_PERSON)):
            set_to(self, name, check_range(name, getattr(self, name), 1, most))
        if self.transaction_size is not None:
            size = check_range("transaction_size (M)", self.transaction_size, 1, MAX_TRANSACTION_SIZE)
            set_to(self, "transaction_size", size)
        elif self.paper:
            raise PlanError("paper needs transaction_size")
        if self.paper and self.central is not None:
            raise PlanError("the paper has no anonymous channel; give paper or central, not both")
        mean: Any = self.mean_size
        if not isinstance(mean, Real | None):
            raise TypeError(f"mean_size must be a number, got a {type(mean).__name__}")
        if self.mean_size is not None and self.sample is not None:
            raise PlanError("a sample has its own mean size; give mean_size or sample, not both")
        most_items = min(len(self.catalogue), self.transaction_size or MAX_TRANSACTION_SIZE)
        largest = min(_ITEMSET_SIZE, most_items) if self.itemset_size is None else self.itemset_size
        set_to(self, "largest", check_range("itemset_size (K)", largest, 1, most_items))
        set_to(self, "sizes", self.sample or BasketSizes.from_mean(len(self.catalogue), self.mean_size))
        set_to(self, "limit", limit_per_report(self.guarantee, self.reports_per_person))

    @property
    def transaction_sizes(self) -> range:
        """The possible M: the given one, or all from K up to the number of items or the maximum."""
        if self.transaction_size is not None:
            return range(self.transaction_size, self.transaction_size + 1)
        return range(self.largest, min(len(self.catalogue), MAX_TRANSACTION_SIZE) + 1)

    @property
    def record_size(self) -> int | None:
        """The common size of all baskets, such as the number of columns of records; None if sizes differ.

        All baskets have one size if nearly all of a sample do, or if all items are named ``column=value``.
        """
        if self.sample is not None:
            size = int(self.sample.shares.argmax())
            return size if size > 1 and self.sample.shares[size] >= _NEARLY_ALL else None
        columns = Counter(name.partition("=")[0] for name in self.catalogue if "=" in name)
        is_table = columns.total() == len(self.catalogue) and min(columns.values(), default=0) > 1
        return len(columns) if is_table else None

    @property
    def common_sizes(self) -> list[int]:
        """The known sizes of many baskets."""
        if self.sample is not None:
            return np.flatnonzero(self.sample.shares >= _MANY).tolist()
        return [int(size) for size in (self.record_size, self.mean_size) if size is not None and size == int(size)]


def limit_per_report(guarantee: Guarantee, reports_per_person: int) -> Fraction:
    """Return the strict upper bound of γ for each of R reports that keep a guarantee together.

    It is the R-th root of the guarantee's limit, for R > 1 rounded down to a multiple of 2^-64, computed in integers.

    >>> limit_per_report(Guarantee("5%", "95%"), 2)
    Fraction(19, 1)
    """
    return root_of_limit(guarantee.amplification_limit, reports_per_person, _ROOT_BITS)


def as_catalogue(items: int | Iterable[str]) -> Catalogue:
    """Return the catalogue of a number of items or of their names."""
    if isinstance(items, Catalogue):
        return items
    if (count := as_whole(items)) is not None:
        return Catalogue.numbered(count)
    if isinstance(items, Mapping) and "columns" in items:
        raise TypeError("items must be a number or names; use assocpriv.numeric.plan_table for a table's columns")
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise TypeError(f"items must be a number of items or a list of their names, got a {type(items).__name__}")
    # names from numpy or pandas are subclasses of str; numbers may be names, too
    names = [str(item) if isinstance(item, str | int | np.integer) else item for item in items]
    # a set of text has another order in each process, but equal requests must give equal plans
    return Catalogue(frozenset(names) if isinstance(items, Set) else names)


# ---- reports about sizes


def sizes_share(reports: int) -> Fraction:
    """Return the share of people who report on basket sizes, a multiple of 1/1000.

    >>> str(sizes_share(100_000)), str(sizes_share(100))
    ('1/50', '1/20')
    """
    share = min(max(Fraction(_PEOPLE, reports), _LEAST_SHARE), _MOST_SHARE)
    return Fraction(math.ceil(share * _PARTS), _PARTS)


def add_sizes_report_type(
    report_type: ReportType, share: Fraction, limit: Fraction, reports: int, common_sizes: Iterable[int] = ()
) -> tuple[ReportType, ...]:
    """Return a report type about items together with one about sizes that has the given share.

    ``limit`` is the strict upper bound of γ; ``common_sizes``, known sizes of many baskets, become separate classes. No
    report type about sizes is added if no transaction can hold more than M items.
    """
    if report_type.transaction_size >= report_type.n_items:
        return (report_type,)
    classes = size_classes(report_type.transaction_size, common_sizes)
    bounds = tuple(classes[classes <= report_type.n_items].tolist())
    objective, family = WorstSupport(1, max(1, int(reports * share))), fixed_size_family(1, len(bounds) + 1)
    operator = min(family.search(limit, objective, runs(1)), key=lambda design: design.error).operator(limit)
    sizes = ReportType(len(bounds), operator, view=SizesView(bounds), weight=share.numerator)
    return replace(report_type, weight=share.denominator - share.numerator), sizes


# ---- an anonymous channel


@dataclass(frozen=True, slots=True)
class OperatorConstraint:
    """A constraint on operators: γ strictly below ``limit``, and a mean blanket of at least ``blanket`` over the plan.

    ``share`` is the share of people who report on sizes.
    """

    limit: Fraction
    blanket: float = 0.0
    share: Fraction = Fraction(0)

    def items_blanket(self, has_sizes: bool) -> float:
        """Return the blanket that the report type about items must have, if that about sizes may have none."""
        return self.blanket / float(1 - self.share) if has_sizes else self.blanket


def central_constraints(request: PlanRequest, share: Fraction) -> list[OperatorConstraint]:
    """Return alternative constraints on designs for a central guarantee and a cap, in increasing order of γ.

    Raises:
        PlanError: there are too few reports, or the cap is too low, for a channel to gain anything.
    """
    assert request.central is not None
    count = request.reports_per_person
    central = replace(request.central, delta=request.central.delta * _SLACK)
    cap = epsilon_from_amplification(request.guarantee.amplification_limit)
    if cap <= _GAIN * central.epsilon:
        raise PlanError(
            f"a local cap of {cap:.3g} gains nothing over a central epsilon of {float(central.epsilon):.3g}, which a "
            f"plan without a channel keeps, too; give epsilon={float(central.epsilon):.3g} instead of central=, a "
            f"smaller epsilon in central=, or local_cap= above {_GAIN * float(central.epsilon):.3g}"
        )
    free = _largest_free(central, cap, count)
    steps = (free + _STEP * step for step in range(_MOST_STEPS + 1))
    limits = [_limit(each) for each in steps if each < cap - _STEP / 2]
    if free + _STEP * _MOST_STEPS >= cap:
        limits.append(request.guarantee.amplification_limit)
    constraints = []
    for limit in limits:
        each = root_of_limit(limit, count, _ROOT_BITS)
        blanket = central.least_blanket(reachable_amplification(each), count)
        if blanket is not None and blanket * Fraction(_ROUNDED) < 1 - share:
            constraints.append(OperatorConstraint(each, float(blanket) * _ROUNDED, share))
    if not constraints or epsilon_from_amplification(constraints[-1].limit) * count <= _GAIN * central.epsilon:
        raise _too_few(central, count)
    return constraints


def _limit(value: float) -> Fraction:
    """Return the limit of γ for an ε that is rounded down to hundredths."""
    return amplification_from_epsilon(Fraction(math.floor(value * _HUNDREDTHS), _HUNDREDTHS))


def _largest_free(central: CentralGuarantee, cap: float, count: int) -> float:
    """Return the largest ε of all reports of a person for which any blanket suffices, up to a cap; rounded down."""
    low, high = float(central.epsilon), cap
    while high - low > 1 / _HUNDREDTHS:
        middle = (low + high) / 2
        holds = central.holds(
            reachable_amplification(root_of_limit(_limit(middle), count, _ROOT_BITS)), Fraction(0), count
        )
        low, high = (middle, high) if holds else (low, middle)
    return low


def _too_few(central: CentralGuarantee, count: int) -> PlanError:
    """Return an error with a sufficient number of reports, found by doubling; fewer may suffice."""
    least = _GAIN * float(central.epsilon) + 3 / _HUNDREDTHS  # limits are rounded to hundredths, twice
    wanted = root_of_limit(_limit(max(1.5 * float(central.epsilon), least)), count, _ROOT_BITS)
    for enough in (central.reports << doublings for doublings in range(1, _MOST_DOUBLINGS + 1)):
        if enough * central.delta >= 1:
            break
        if replace(central, reports=enough).holds(wanted, Fraction(0), count):
            return PlanError(
                f"{central.reports:,} reports are too few for a central guarantee of ({float(central.epsilon):.3g}, "
                f"{float(central.delta):.1g}): an anonymous channel then gains nothing over a plan without one. Give "
                f"reports={enough}, the minimum size of a batch that is read; or a larger epsilon in central=; or "
                f"epsilon={float(central.epsilon):.3g} instead of central="
            )
    return PlanError("no number of reports proves this central guarantee; give a larger epsilon or delta in central=")


def local_guarantee(amplification: Fraction) -> Guarantee:
    """Return the guarantee of reports with a joint amplification, with a prior of 5% and a short posterior.

    The posterior's distance to 1 is rounded down to two digits.

    >>> str(local_guarantee(Fraction(2980)).posterior)
    '9937/10000'
    """
    left, unit = 1 - highest_posterior(PRIOR, amplification), 1
    while left * unit < 10:
        unit *= 10
    return Guarantee(PRIOR, 1 - Fraction(math.ceil(left * unit) - 1, unit))


# ---- the plan


@dataclass(frozen=True, slots=True)
class PlannedCollection:
    """A chosen plan with its assumptions and alternatives.

    Attributes:
        plan: the plan.
        request: the request, with the known or assumed basket sizes.
        expected: expected error of a reference support, by itemset size.
        other_means: what would have been chosen for half and twice the assumed mean size, by mean size.
        short_costs: expected error with reports of at most 8 bytes, relative to this plan's; infinite if no design has
            such reports, 1 if this one has; None for the paper's choice.
        rounds: what follows if this is the first of two rounds; None for a collection in one round.
    """

    plan: Plan
    request: PlanRequest
    expected: dict[int, ExpectedError]
    other_means: "dict[float, OtherMean]"
    short_costs: float | None
    rounds: "TwoRounds | None" = None

    @property
    def reports(self) -> int:
        """The number of reports that the plan was made for."""
        return self.request.reports

    _repr_html_ = display.html_renderer("assocpriv.show.plan_views:choice")

    def __repr__(self) -> str:
        return display.short_repr(self, f"{pluralize(self.reports, 'report')}, {display.plan_bound(self.plan)}", [
            f"{pluralize(self.plan.n_items, 'item')}, baskets cut to {self.plan.items.transaction_size}", *self.lines()
        ])  # fmt: skip

    def lines(self) -> list[str]:
        """Return the expected error by itemset size as text.

        Returns:
            One line an itemset size, without line feeds.
        """
        return [
            f"{name_itemsets(k)}: standard error {100 * each.total:.2f} percentage points at a support of "
            f"{each.support:.1%}"
            for k, each in self.expected.items()
        ]

    def to_frame(self) -> "pd.DataFrame":
        """Return a row an itemset size: a common support, its standard error and that by cause, in whole baskets.

        Returns:
            A pandas frame with the columns ``itemset_size``, ``support``, ``std_error``, ``randomization_error``,
            ``truncation_error`` and ``detection_threshold``, all but the first shares of whole baskets; NaN without a
            threshold.
        """
        thresholds = whole_basket_thresholds(self.plan, self.reports, self.request.sizes)
        columns = "itemset_size support std_error randomization_error truncation_error detection_threshold"
        return display.rows_frame(columns, (
            (k, each.support, each.total, each.noise, each.truncation, display.share_or_nan(thresholds[k]))
            for k, each in self.expected.items()
        ))  # fmt: skip


@dataclass(frozen=True, slots=True)
class OtherMean:
    """Another mean basket size than the assumed one.

    Attributes:
        transaction_size: the M that would have been chosen for it.
        cost: expected error of the chosen plan in such baskets, relative to that of the plan for them; at least 1.
    """

    transaction_size: int
    cost: float


@dataclass(frozen=True, slots=True)
class TwoRounds:
    """What is expected of two rounds, beside one (collection_rounds.py).

    Attributes:
        then: the expected plan of the second round.
        alone: the plan of all people in one round.
        items: number of items of the second round.
        share: share of all purchases that falls on them, as assumed.
        gain: ρ, the ratio of variances of a pair's support, for one round to the second of two.
    """

    then: PlannedCollection
    alone: PlannedCollection
    items: int
    share: float
    gain: float


def make_plan(items: int | Iterable[str], guarantee: Guarantee | None, **options: Any) -> Plan:
    """Return the plan of :func:`choose_plan`."""
    return choose_plan(items, guarantee, **options).plan


def choose_plan(
    items: int | Iterable[str],
    guarantee: Guarantee | None,
    *,
    central: "CentralGuarantee | Sequence[str | float | Fraction] | None" = None,
    local_cap: "str | float | Fraction | Guarantee | None" = None,
    reports: int = DEFAULT_REPORTS,
    reports_per_person: int = 1,
    mean_size: float | None = None,
    sample: Mapping[int, int] | BasketSizes | None = None,
    itemset_size: int | None = None,
    transaction_size: int | None = None,
    names: Names | None = None,
    paper: bool = False,
    other_means: bool = True,
) -> PlannedCollection:
    """Return the plan with the least expected error that keeps the guarantee, with its assumptions.

    Args:
        items: number of items (then named 0 … n−1) or their names.
        guarantee: privacy guarantee of all reports of one person together; None with ``central``.
        central: central guarantee (ε, δ) of batches of at least ``reports`` from an anonymous channel, as a pair or a
            :class:`CentralGuarantee`. The plan's local guarantee follows from it.
        local_cap: with ``central``, the largest local ε of all reports of one person, in case the channel fails.
        reports: expected number of reports N.
        reports_per_person: R, the number of reports that one person may send, 1..1000; each then carries less
            information.
        mean_size: mean number of items in a basket; 6 by default.
        sample: a sample of basket sizes instead: the number of baskets by size, or a basket-size distribution.
        itemset_size: K, the largest itemsets to be estimated; 3 (or M if that is less) by default.
        transaction_size: M, the number of items that every transaction is padded or sampled to, 1..15; chosen by
            default.
        names: rules for a basket's names; by default they are looked up among the items.
        paper: use the paper's choice for this M.
        other_means: also plan for half and for twice the mean size, to compare.

    Returns:
        The plan with its request and expected errors.

    Raises:
        PlanError: an argument is out of range, or no operator fits.
        TypeError: an argument has a wrong type.

    Source: EGS03, sections 4 to 6.
    """
    batch = _central_of(central, reports)
    request = PlanRequest(
        catalogue=as_catalogue(items),
        guarantee=_cap_of(guarantee, batch, local_cap),
        central=batch,
        reports=reports if batch is None else batch.reports,
        reports_per_person=reports_per_person,
        mean_size=mean_size,
        sample=sample if sample is None or isinstance(sample, BasketSizes) else BasketSizes.from_sample(sample),
        itemset_size=itemset_size,
        transaction_size=transaction_size,
        names=names or Names(),
        paper=paper,
        other_means=other_means,
    )
    report_types, others, short_costs = _report_types(request)
    amplification = max(each.amplification for each in report_types) ** request.reports_per_person
    plan = Plan(
        catalogue=request.catalogue,
        report_types=report_types,
        guarantee=request.guarantee if batch is None else local_guarantee(amplification),
        names=request.names,
        reports_per_person=request.reports_per_person,
        central=batch,
    )
    plan.check_central()
    responses = request.reports * float(plan.share(plan.items))
    expected = expected_errors(plan.items, request.sizes, responses, request.largest)
    return PlannedCollection(plan, request, expected, others, short_costs)


def _central_of(
    central: "CentralGuarantee | Sequence[str | float | Fraction] | None", reports: int
) -> CentralGuarantee | None:
    if central is None or isinstance(central, CentralGuarantee):
        return central
    if isinstance(central, str) or len(central) != 2:
        raise TypeError("central must be a pair (ε, δ) such as (1, 1e-8), or a CentralGuarantee")
    epsilon, delta = central
    return CentralGuarantee(
        parse_number(epsilon, "central epsilon", "a number of nats such as 1"),
        parse_probability(delta, "central delta"),
        check_range("reports", reports, 1, MOST_REPORTS),
    )


def _cap_of(
    guarantee: Guarantee | None, central: CentralGuarantee | None, cap: "str | float | Fraction | Guarantee | None"
) -> Guarantee | None:
    """Return the guarantee that a plan must keep; with ``central`` the cap on its local guarantee."""
    if central is None:
        if cap is not None:
            raise PlanError("local_cap needs central; without an anonymous channel, guarantee bounds ε")
        return guarantee
    if guarantee is not None:
        raise PlanError("with central the local guarantee follows from the plan; use local_cap to bound it")
    return cap if isinstance(cap, Guarantee) else Guarantee.from_epsilon(LOCAL_CAP if cap is None else cap)


def _report_types(request: PlanRequest) -> tuple[tuple[ReportType, ...], "dict[float, OtherMean]", float | None]:
    """Return the report types, M by other mean sizes, and the relative error with 8 bytes; the paper has one type."""
    if request.paper:
        return (_items_report_type(_paper_design(request), request, request.limit),), {}, None
    share = sizes_share(request.reports)
    constraints = [OperatorConstraint(request.limit)]
    if request.central is not None:
        constraints = central_constraints(request, share)
    design, limit, other_means, short_costs = _best_design(request, constraints, request.reports * float(1 - share))
    of_items = _items_report_type(design, request, limit)
    report_types = add_sizes_report_type(of_items, share, limit, request.reports, request.common_sizes)
    return report_types, other_means, short_costs


def _items_report_type(design: Design, request: PlanRequest, limit: Fraction) -> ReportType:
    """Return a design's report type about items."""
    m, n_items = design.transaction_size, len(request.catalogue)
    return ReportType(
        n_items, design.operator(limit), design.generator(n_items + m, m + request.largest), request.largest
    )


# ---- the search


def _best_design(
    request: PlanRequest, constraints: Sequence[OperatorConstraint], responses: float
) -> tuple[Design, Fraction, "dict[float, OtherMean]", float | None]:
    """Return the best design under some constraint, its limit of γ, M by other mean sizes, and the cost of 8 bytes."""
    n_items = len(request.catalogue)
    (design, constraint), short = _best_for(request, constraints, request.sizes, responses)
    others = {}
    for mean in (round(factor * request.sizes.mean, 6) for factor in (0.5, 2.0) if request.other_means):
        if 0 < mean <= min(n_items, MOST_MEAN):
            sizes = BasketSizes.from_mean(n_items, mean)
            (other, _), _ = _best_for(request, [constraint], sizes, responses)
            ms = np.array([design.transaction_size, other.transaction_size])
            moments = np.array([design.moments, other.moments])
            errors = design_errors(sizes, responses, sizes.frequency(n_items), ms, moments)
            others[mean] = OtherMean(other.transaction_size, float(max(errors[0] / errors[1], 1.0)))
    return design, constraint.limit, others, short


def _best_for(
    request: PlanRequest, constraints: Sequence[OperatorConstraint], sizes: BasketSizes, responses: float
) -> tuple[tuple[Design, OperatorConstraint], float]:
    """Return the best design for these basket sizes, and the relative error of the best one with 8 bytes."""
    n_items, frequency = len(request.catalogue), sizes.frequency(len(request.catalogue))
    found = [
        (design, constraint)
        for constraint in constraints
        for m in request.transaction_sizes
        for design in _designs(n_items, request.largest, frequency, constraint, m)
    ]
    designs = [design for design, _ in found]
    if not designs:
        raise _no_operator()
    ms, bits = np.array([d.transaction_size for d in designs]), np.array([_report_bits(d, request) for d in designs])
    errors = design_errors(sizes, responses, frequency, ms, np.array([design.moments for design in designs]))
    near = np.flatnonzero((errors <= _NEAR * errors.min()) & (ms == ms[errors.argmin()]))
    best = min(near.tolist(), key=lambda place: (bits[place], errors[place]))
    short = errors[bits <= 8 * SHORT_BYTES].min(initial=math.inf) / errors[best]
    return found[best], float(max(short, 1.0))


@lru_cache(maxsize=256)
def _designs(n_items: int, largest: int, frequency: float, constraint: OperatorConstraint, m: int) -> list[Design]:
    """Return the best designs for M = m: one for each default probability or report size."""
    families: list[Family] = [insertion_family(m)]
    if largest <= n_items and n_items + m <= _MOST_FIXED_ITEMS:  # itemsets exist outside a transaction
        families.append(fixed_size_family(m, n_items + m))
    objective = design_objective(largest, frequency)
    blanket = constraint.items_blanket(m < n_items)
    return [design for family in families for design in family.search(constraint.limit, objective, runs(m), blanket)]


def _paper_design(request: PlanRequest) -> Design:
    """Return the shortest threshold design within 2% of the smallest maximum of lowest detectable supports (LDS)."""
    (m,) = request.transaction_sizes
    designs = paper_family(m).search(request.limit, WorstSupport(request.largest, request.reports), thresholds(m))
    if not designs:
        raise _no_operator()
    least = min(design.error for design in designs)
    near = [design for design in designs if design.error <= least * _NEAR_OF_PAPER]
    return min(near, key=lambda design: (_report_bits(design, request), design.error))


def _report_bits(design: Design, request: PlanRequest) -> int:
    m = design.transaction_size
    return design.report_bits(len(request.catalogue) + m, m + request.largest)


def _no_operator() -> PlanError:
    return PlanError(
        "no operator within this guarantee can estimate supports; use a smaller transaction_size or weaker guarantee"
    )


# ---- example guarantees


@dataclass(frozen=True, slots=True)
class GuaranteeExample:
    """A guarantee with a verdict and its detection thresholds, by number of reports and itemset size."""

    guarantee: Guarantee
    verdict: str
    thresholds: Mapping[int, Thresholds]


@dataclass(frozen=True, slots=True)
class GuaranteeExamples:
    """Example guarantees from strict to lenient, or a plan's guarantee.

    Attributes:
        guarantees: each guarantee with a verdict and its detection thresholds.
        plan: the plan whose guarantee it is; None for examples.
    """

    guarantees: tuple[GuaranteeExample, ...]
    plan: Plan | None = None

    _repr_html_ = display.html_renderer("assocpriv.show.privacy_views:explained")

    def __repr__(self) -> str:
        rows = []
        for each in self.guarantees:
            prior, posterior = (
                display.figure(each.guarantee.prior, "from"),
                display.figure(each.guarantee.posterior, "to"),
            )
            bound = display.bound_text(each.guarantee.amplification_limit, "<")
            rows.append(f"{prior} → {posterior}: {bound}, {each.verdict}")
        return display.short_repr(self, pluralize(len(self.guarantees), "guarantee"), rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a guarantee; ``thresholds`` of each have its cost.

        Returns:
            A pandas frame with the columns ``prior``, ``posterior``, ``epsilon`` (in nats), ``amplification_limit`` and
            ``verdict``.
        """
        known = [(each.guarantee, each.verdict) for each in self.guarantees]
        return display.rows_frame("prior posterior epsilon amplification_limit verdict", (
            (float(each.prior), float(each.posterior), each.epsilon, float(each.amplification_limit), verdict)
            for each, verdict in known
        ))  # fmt: skip


def explain_guarantees(plan: Plan | None = None) -> GuaranteeExamples:
    """Return example guarantees with their costs for 1,000 items and default basket sizes, or those of a plan.

    Args:
        plan: a basket plan, to explain its guarantee only.

    Returns:
        ``guarantees``, each with a ``verdict`` and ``thresholds``: the detection threshold in whole baskets, a share in
        0..1, by number of reports and itemset size. A plan's verdict compares it with the examples.

    Raises:
        PlanError: the plan is of another type.
        TypeError: no plan.

    >>> import assocpriv as ap
    >>> ap.planning.explain_guarantees().guarantees[3].verdict
    'default: for everyday shopping'
    """
    if plan is not None:
        return GuaranteeExamples((_explain_plan(Plan.require(plan)),), plan)
    return GuaranteeExamples(tuple(
        GuaranteeExample(Guarantee(*pair), verdict, {n: _thresholds(pair, n) for n in PEOPLE})
        for pair, verdict in VERDICTS.items()
    ))  # fmt: skip


def _explain_plan(plan: Plan) -> GuaranteeExample:
    limit, known = plan.guarantee.amplification_limit, [(Guarantee(*pair), pair) for pair in VERDICTS]
    stricter = [" → ".join(pair) for each, pair in known if each.amplification_limit < limit]
    weaker = [" → ".join(pair) for each, pair in known if each.amplification_limit > limit]
    equal = [VERDICTS[pair] for each, pair in known if each.amplification_limit == limit]
    verdict = equal[0] if equal else f"stricter than {weaker[0]}" if weaker else "weaker than all examples"
    if stricter and weaker and not equal:
        verdict = f"weaker than {stricter[-1]}, {verdict}"
    sizes = BasketSizes.from_mean(plan.n_items)
    return GuaranteeExample(plan.guarantee, verdict, {n: whole_basket_thresholds(plan, n, sizes) for n in PEOPLE})


def _thresholds(pair: tuple[str, str], reports: int) -> Thresholds:
    choice = choose_plan(ITEMS, Guarantee(*pair), reports=reports)
    return whole_basket_thresholds(choice.plan, reports, choice.request.sizes)


def whole_basket_thresholds(plan: Plan, reports: int, sizes: BasketSizes) -> Thresholds:
    """Return the detection thresholds in whole baskets for a number of reports of a plan, by itemset size."""
    thresholds, m = detectable_supports(plan, reports).threshold, plan.items.transaction_size
    return {k: threshold * sizes.truncation(m, k)[0] for k, threshold in thresholds.items()}
