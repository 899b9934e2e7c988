"""The planner of basket collections: the plan with the least expected error within a guarantee.

The planner chooses M, the operator and the form of responses by the expected error of supports in whole baskets
(expected_error.py). It evaluates every M from K on, both operators, and every default probability or report size, each
with its best pattern. M is that of the design with the least error. Among designs with this M and an error within 5%,
the one with the shortest report is chosen. A smaller M would save more bytes, but the error of the truncation
correction is the least certain part of the forecast. A report type about basket sizes is added (size_reports.py). The
planner sees no record: basket sizes are given, or assumed and stated as such.

If reports go through an anonymous channel, designs with many γ compete, each with the blanket that its γ needs
(central_planner.py). The local guarantee then follows from the chosen γ.

The paper's choice minimizes the largest lowest detectable support within M sampled items over k, by thresholds and
independent insertion. Among designs within 2% of the minimum it takes the shortest report (EGS03, section 5). It has no
report type about sizes.

Example guarantees, from strict to lenient, come with their costs: the detection threshold in default whole baskets.
Costs are the detection thresholds of plans made here (estimation/intervals.py), times the factor of the truncation
correction. The verdicts are a judgement, not a result.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.estimation.intervals import detectable_supports
from assocpriv.guarantees.amplification import Guarantee, parse_number, parse_probability
from assocpriv.guarantees.errors import PlanError, pluralize
from assocpriv.guarantees.exact_numbers import check_range
from assocpriv.guarantees.shuffle_model import CentralGuarantee
from assocpriv.planning.central_planner import LOCAL_CAP, OperatorConstraint, central_constraints, local_guarantee
from assocpriv.planning.expected_error import (
    MOST_MEAN,
    BasketSizes,
    ExpectedError,
    design_errors,
    design_objective,
    expected_errors,
)
from assocpriv.planning.operator_designs import (
    MOST_REPORTS,
    Design,
    Family,
    WorstSupport,
    fixed_size_family,
    insertion_family,
    paper_family,
    runs,
    thresholds,
)
from assocpriv.planning.plan_request import DEFAULT_REPORTS, PlanRequest, as_catalogue
from assocpriv.planning.size_reports import add_sizes_report_type, sizes_share
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import name_itemsets
from assocpriv.plans.baskets.item_names import Names
from assocpriv.plans.baskets.report_type import ReportType
from assocpriv.plans.result_display import (
    bound_text,
    figure,
    html_renderer,
    plan_bound,
    rows_frame,
    share_or_nan,
    short_repr,
)

if TYPE_CHECKING:
    import pandas as pd

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


# ---- the plan


@dataclass(frozen=True, slots=True)
class PlannedCollection:
    """A chosen plan with its assumptions and alternatives.

    Attributes:
        plan: the plan.
        request: the request, with the known or assumed basket sizes.
        expected: expected error of a reference support, by itemset size.
        other_means: the M that would have been chosen for half and twice the assumed mean size, by mean size.
        short_costs: expected error with reports of at most 8 bytes, relative to this plan's; infinite if no design has
            such reports, 1 if this one has; None for the paper's choice.
    """

    plan: Plan
    request: PlanRequest
    expected: dict[int, ExpectedError]
    other_means: dict[float, int]
    short_costs: float | None

    @property
    def reports(self) -> int:
        """The number of reports that the plan was made for."""
        return self.request.reports

    _repr_html_ = html_renderer("assocpriv.show.plan_views:choice")

    def __repr__(self) -> str:
        return short_repr(self, f"{pluralize(self.reports, 'report')}, {plan_bound(self.plan)}", [
            f"{pluralize(self.plan.n_items, 'item')}, baskets cut to {self.plan.items.transaction_size}", *self.lines()
        ])  # fmt: skip

    def lines(self) -> list[str]:
        """Return the expected error by itemset size as text."""
        return [
            f"{name_itemsets(k)}: standard error {100 * each.total:.2f} percentage points at a support of "
            f"{each.support:.1%}"
            for k, each in self.expected.items()
        ]

    def to_frame(self) -> "pd.DataFrame":
        """Return a row an itemset size: a common support, its standard error and that by cause, in whole baskets."""
        thresholds = whole_basket_thresholds(self.plan, self.reports, self.request.sizes)
        columns = "itemset_size support std_error randomization_error truncation_error detection_threshold"
        return rows_frame(columns, (
            (k, each.support, each.total, each.noise, each.truncation, share_or_nan(thresholds[k]))
            for k, each in self.expected.items()
        ))  # fmt: skip


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
    )
    share = sizes_share(request.reports)
    if paper:
        design, limit, other_means, short_costs = _paper_design(request), request.limit, dict[float, int](), None
    else:
        constraints = [OperatorConstraint(request.limit)] if batch is None else central_constraints(request, share)
        design, limit, other_means, short_costs = _best_design(request, constraints, request.reports * float(1 - share))
    report_type = _report_type(design, request, limit)
    report_types: tuple[ReportType, ...] = (report_type,)
    if not paper:
        report_types = add_sizes_report_type(report_type, share, limit, request.reports, request.common_sizes)
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
    expected = expected_errors(report_type, request.sizes, responses, request.largest)
    return PlannedCollection(plan, request, expected, other_means, short_costs)


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


def _report_type(design: Design, request: PlanRequest, limit: Fraction) -> ReportType:
    """Return a design's report type about items."""
    m, n_items = design.transaction_size, len(request.catalogue)
    return ReportType(
        n_items, design.operator(limit), design.generator(n_items + m, m + request.largest), request.largest
    )


# ---- the search


def _best_design(
    request: PlanRequest, constraints: Sequence[OperatorConstraint], responses: float
) -> tuple[Design, Fraction, dict[float, int], float | None]:
    """Return the best design under some constraint, its limit of γ, M by other mean sizes, and the cost of 8 bytes."""
    n_items = len(request.catalogue)
    (design, constraint), short = _best_for(request, constraints, request.sizes, responses)
    others = {}
    for mean in (round(factor * request.sizes.mean, 6) for factor in (0.5, 2.0)):
        if 0 < mean <= min(n_items, MOST_MEAN):
            (other, _), _ = _best_for(request, [constraint], BasketSizes.from_mean(n_items, mean), responses)
            others[mean] = other.transaction_size
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
    """Example guarantees from strict to lenient, or a plan's guarantee."""

    guarantees: tuple[GuaranteeExample, ...]
    plan: Plan | None = None

    _repr_html_ = html_renderer("assocpriv.show.guarantee_views:explained")

    def __repr__(self) -> str:
        rows = []
        for each in self.guarantees:
            prior, posterior = figure(each.guarantee.prior, "from"), figure(each.guarantee.posterior, "to")
            bound = bound_text(each.guarantee.amplification_limit, "<")
            rows.append(f"{prior} → {posterior}: {bound}, {each.verdict}")
        return short_repr(self, pluralize(len(self.guarantees), "guarantee"), rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a guarantee; ``thresholds`` of each have its cost."""
        known = ((each.guarantee, each.verdict) for each in self.guarantees)
        rows = (
            (float(each.prior), float(each.posterior), each.epsilon, float(each.amplification_limit), verdict)
            for each, verdict in known
        )
        return rows_frame("prior posterior epsilon amplification_limit verdict", rows)


def explain_guarantees(plan: Plan | None = None) -> GuaranteeExamples:
    """Return example guarantees with their costs for 1,000 items and default basket sizes, or those of a plan.

    Args:
        plan: a basket plan, to explain its guarantee only.

    Returns:
        ``guarantees``, each with a ``verdict`` and ``thresholds``: the detection threshold in whole baskets, a share in
        0..1, by number of reports and itemset size. A plan's verdict compares it with the examples.

    Raises:
        PlanError: the plan is of another type.

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
