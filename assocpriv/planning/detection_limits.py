"""The privacy that a plan proves, and the supports that its reports can detect.

Bounds of γ err on the safe side. They are given for one report, for all reports of one person, and for one person's
reports under several plans, also over weeks. Reports are randomized independently, so their γ multiply
(guarantees/amplification.py), even if the baskets of different weeks depend on each other, and also if a later plan was
made from the results of earlier ones.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count as counting
from math import comb
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from assocpriv.estimation.manipulation_bounds import (
    FALSE_ALARM,
    ManipulationLimits,
    bound_manipulation,
    log_share_probability,
    max_targets,
)
from assocpriv.estimation.size_distribution import fit_size_distribution
from assocpriv.estimation.supports import DetectableSupports, Respondents, detectable_supports, detection_threshold
from assocpriv.guarantees import amplification as amplifications
from assocpriv.guarantees.errors import PlanError, pluralize
from assocpriv.guarantees.exact_numbers import check_range
from assocpriv.guarantees.shuffle_model import CentralBound, central_guarantee, compose_central
from assocpriv.planning.basket_planner import PlannedCollection, as_catalogue, choose_plan, whole_basket_thresholds
from assocpriv.planning.expected_error import BasketSizes, Floats
from assocpriv.planning.information_spent import PlanInformation, mutual_limit, plan_information
from assocpriv.planning.operator_designs import MOST_REPORTS
from assocpriv.plans import result_display as display
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import name_itemsets
from assocpriv.plans.baskets.operator import MAX_TRANSACTION_SIZE, SupportModel
from assocpriv.plans.baskets.report_type import ReportType
from assocpriv.plans.published_plan import MOST_REPORTS_PER_PERSON, PublishedPlan

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_PRIORS = ("0.1%", "1%", "5%", "10%", "25%", "50%", "75%", "90%", "99%")
_LONGEST = 1 << 16  # maximum bits of a composed γ that is kept exact
PlanUse = PublishedPlan | tuple[PublishedPlan, int]

REPORTS, GUARANTEE = "reports", "guarantee"  # the unknown that is solved for
EPSILON_STEPS = 100  # per 1: ε has two decimals, so that people can read the guarantee
MOST_EPSILON = 20  # γ = 5·10^8 is no useful guarantee
_MOST_PLACES = 90 * 14 + 10  # place of 10^15 among numbers of two significant digits
_SEARCH_STEPS = 14  # approximately
_MANIPULATED_SHARES = (0.001, 0.01)
_Z_THOUSANDTH = 3.1  # standard errors, exceeded with probability 1/1000
_TESTS = 20  # approximate number of tests that share one false-alarm rate


# ---- one plan


@dataclass(frozen=True, slots=True)
class ComposedGuarantee:
    """The guarantee of several independently randomized reports of one person together."""

    reports: int
    amplification: Fraction
    posteriors: tuple[amplifications.PosteriorRange, ...]

    def __repr__(self) -> str:
        return display.short_repr(
            self, f"{pluralize(self.reports, 'report')}, {display.bound_text(self.amplification)}", self.lines()
        )

    def lines(self) -> list[str]:
        """Return for each prior the range of posteriors as text."""
        return [
            f"a prior of {display.figure(each.prior, 'from')} becomes {display.figure(each.lowest, 'from')} to "
            f"{display.figure(each.highest, 'to')}"
            for each in self.posteriors
        ]

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a prior, with the smallest and the largest posterior."""
        rows = [
            (float(row.prior), -amplifications.float_up(-row.lowest), amplifications.float_up(row.highest))
            for row in self.posteriors
        ]
        return display.rows_frame("prior lowest_posterior highest_posterior", rows)

    @property
    def epsilon(self) -> float:
        """ln γ, rounded up."""
        return amplifications.epsilon_from_amplification(self.amplification)

    @property
    def log_amplification_bits(self) -> float:
        """log2 γ, rounded up: worst-case information in bits of a report under any prior."""
        return self.epsilon / math.log(2) * (1 + 1e-15)

    @property
    def largest_rise(self) -> float:
        """Largest change of the probability of any property."""
        return amplifications.largest_rise(self.amplification)

    @property
    def information_limit(self) -> float:
        """Worst-case information in bits, of a report or its inverse, under any prior."""
        return amplifications.information_limit(self.amplification)


@dataclass(frozen=True, slots=True)
class Privacy:
    """The privacy of one report, and of several reports of one person, under a plan.

    Attributes:
        plan: the plan.
        one: the guarantee of one report.
        together: the guarantee of several reports of one person.
        information: information in one report, if all transactions of M items are equally likely.
        mutual_limit: upper bound of the mutual information of one report, in bits, under any prior.
        central: the smallest proved ε for the δ of the plan's central guarantee, with R reports a person; None without
            a central guarantee.
        manipulation_limits: largest change of supports by manipulated reports in one batch, by itemset size; empty
            without a central guarantee.
    """

    plan: Plan
    one: ComposedGuarantee
    together: ComposedGuarantee
    information: PlanInformation
    mutual_limit: float
    central: CentralBound | None
    manipulation_limits: dict[int, ManipulationLimits | None]

    _repr_html_ = display.html_renderer("assocpriv.show.privacy_views:privacy")

    def __repr__(self) -> str:
        several, rows = self.together.reports > 1, []
        if self.central is not None and self.plan.central is not None:
            epsilon, delta = display.figure(self.central.epsilon, "up"), display.figure(self.plan.central.delta, "up")
            rows.append(f"batches of {self.central.reports:,}: ε ≤ {epsilon} at δ = {delta}")
        if several:
            rows.append(
                f"{self.together.reports:,} reports together: {display.bound_text(self.together.amplification)}"
            )
        who = f"{self.together.reports:,} reports" if several else "a report"
        rows.append(f"{who}: {_rise_text(self.plan.guarantee.prior, self.together.amplification)}")
        rows.append(f"one report: at most {display.figure(self.mutual_limit, 'up')} bits of mutual information")
        return display.short_repr(self, f"one report: {display.bound_text(self.one.amplification)}", rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a prior, with the posteriors after one report, and after several together.

        Returns:
            A pandas frame with the columns ``prior``, ``lowest_posterior`` and ``highest_posterior``, and both
            with the ending ``_together``, all in 0..1.
        """
        return self.one.to_frame().merge(self.together.to_frame(), on="prior", suffixes=("", "_together"))


def _rise_text(prior: Fraction, amplification: Fraction) -> str:
    highest = amplifications.highest_posterior(prior, amplification)
    return f"a prior of {display.figure(prior, 'from')} becomes at most {display.figure(highest, 'to')}"


def describe_privacy(
    plan: Plan, priors: Iterable["str | float | Fraction"] = (), *, reports_per_person: int | None = None
) -> Privacy:
    """Return the privacy of one report, and of several reports of one person, under a plan.

    Args:
        plan: the plan.
        priors: prior probabilities of a property for the table; by default ``DEFAULT_PRIORS`` and the guarantee's.
        reports_per_person: number of reports of one person, for ``together``; by default the plan's R.

    Raises:
        PlanError: a number is out of range.
        PrivacyLimitError: the central guarantee does not follow from the plan.
    """
    plan.check_central()
    shown = _table_priors(priors, [plan])
    count = plan.reports_per_person if reports_per_person is None else reports_per_person
    count = check_range("reports per person", count, 1, MOST_REPORTS_PER_PERSON)
    one, several = (
        ComposedGuarantee(number, gamma, amplifications.posterior_curve(gamma, shown))
        for number, gamma in ((1, plan.amplification), (count, _power_up(plan.amplification, count)))
    )
    # the report type is independent of the basket
    mutual = sum(float(plan.share(each)) * mutual_limit(each.operator) for each in plan.report_types)
    return Privacy(
        plan=plan,
        one=one,
        together=several,
        information=plan_information(plan),
        mutual_limit=min(mutual, one.information_limit),
        central=_central_bound(plan),
        manipulation_limits=bound_manipulation(plan, plan.central.reports) if plan.central else {},
    )


def _table_priors(priors: Iterable["str | float | Fraction"], plans: Iterable[PublishedPlan] = ()) -> list[Fraction]:
    """Return the given priors in order, or the default ones with those of the plans' guarantees."""
    shown = {amplifications.parse_probability(prior, "prior") for prior in priors}
    if not shown:
        shown = {amplifications.parse_probability(prior, "prior") for prior in DEFAULT_PRIORS}
        for plan in plans:
            if plan.guarantee is not None:
                shown |= {plan.guarantee.prior, plan.guarantee.posterior}
    return sorted(shown)


def _power_up(amplification: Fraction, count: int) -> Fraction:
    """Return γ^R, rounded up if γ^R itself has too many bits."""
    if count > 1 and amplification.numerator.bit_length() * count > _LONGEST:
        amplification = amplifications.round_amplification_up(amplification, amplifications.LARGEST_DENOMINATOR)
    return _shorten(amplification**count)


def _shorten(amplification: Fraction) -> Fraction:
    """Return γ, rounded up if it has too many bits."""
    if amplification.numerator.bit_length() <= _LONGEST:
        return amplification
    return amplifications.round_amplification_up(amplification, amplifications.LARGEST_DENOMINATOR)


def _central_bound(plan: Plan) -> CentralBound | None:
    """Return the smallest proved ε of a batch at the guarantee's δ, for all R reports of a person."""
    if plan.central is None:
        return None
    _, delta = plan.central.limits_per_report(plan.reports_per_person)
    each = central_guarantee(plan.amplification, plan.central.people, delta, blanket=plan.blanket)
    # rounding of floats may put ε above the guaranteed one, which is proved separately
    total = min(each.epsilon * plan.reports_per_person * (1 + 1e-15), float(plan.central.epsilon))
    return replace(each, epsilon=total, delta=float(plan.central.delta))


# ---- several plans


@dataclass(frozen=True, slots=True)
class PlanReports:
    """The reports of one person under one plan, and their guarantee."""

    plan: PublishedPlan
    together: ComposedGuarantee

    @property
    def covered(self) -> bool:
        """Whether the plan's own guarantee covers this number of reports of a person."""
        return self.together.reports <= self.plan.reports_per_person


@dataclass(frozen=True, slots=True)
class ComposedPlans:
    """The guarantee of one person's reports under several plans.

    Attributes:
        plans: the number of reports and the guarantee under each plan.
        together: the guarantee of all reports together.
    """

    plans: tuple[PlanReports, ...]
    together: ComposedGuarantee

    @property
    def central(self) -> tuple[Fraction, Fraction] | None:
        """(ε, δ) of the batches of all plans together; None if a plan has none for these reports."""
        return compose_central(each.plan.central if each.covered else None for each in self.plans)

    _repr_html_ = display.html_renderer("assocpriv.show.privacy_views:budget")

    def __repr__(self) -> str:
        count, rows = pluralize(self.together.reports, "report"), []
        for each in self.plans:
            reports, bound = pluralize(each.together.reports, "report"), display.bound_text(each.together.amplification)
            beyond = "" if each.covered else f" (guarantee for {each.plan.reports_per_person:,})"
            rows.append(f"plan {each.plan.plan_id[:12]}: {reports}{beyond}, {bound}")
        return display.short_repr(self, f"{count} together: {display.bound_text(self.together.amplification)}", rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a plan; ``together.to_frame()`` has the posteriors.

        Returns:
            A pandas frame with the columns ``plan_id``, ``reports``, ``reports_per_person``, ``covered``,
            ``amplification`` and ``epsilon`` (in nats).
        """
        columns = "plan_id reports reports_per_person covered amplification epsilon"
        return display.rows_frame(columns, (
            (each.plan.plan_id, each.together.reports, each.plan.reports_per_person, each.covered,
             *display.gamma_and_epsilon(each.together.amplification))
            for each in self.plans
        ))  # fmt: skip


def describe_composition(uses: Iterable[PlanUse], priors: Iterable["str | float | Fraction"] = ()) -> ComposedPlans:
    """Return the composed guarantee of one person's reports under several plans.

    Args:
        uses: plans, each alone (for the plan's R reports) or with a number of reports: a weekly collection over a year
            is ``(plan, 52)``. The reports of a plan that occurs twice are added.
        priors: prior probabilities of a property; by default ``DEFAULT_PRIORS`` and those of the guarantees.

    Raises:
        PlanError: there is no plan, a number is out of range, or a plan has no γ.
        TypeError: an item is no plan.
    """
    plans, counts = dict[str, PublishedPlan](), Counter[str]()  # by id: a guarantee is for all reports of its plan
    for plan, count in map(_plan_and_count, uses):
        plans[plan.plan_id] = plan
        counts[plan.plan_id] += count
    if not plans:
        raise PlanError("give at least one plan")
    shown = _table_priors(priors, plans.values())
    parts = [(plan, counts[name], _power_up(_amplification(plan), counts[name])) for name, plan in plans.items()]
    total = _shorten(amplifications.compose(gamma for _, _, gamma in parts))
    return ComposedPlans(
        tuple(
            PlanReports(plan, ComposedGuarantee(count, gamma, amplifications.posterior_curve(gamma, shown)))
            for plan, count, gamma in parts
        ),
        ComposedGuarantee(counts.total(), total, amplifications.posterior_curve(total, shown)),
    )


def _plan_and_count(use: object) -> tuple[PublishedPlan, int]:
    plan, count = use if isinstance(use, tuple) and len(use) == 2 else (use, None)
    if not isinstance(plan, PublishedPlan):
        raise TypeError(
            "give plans (read_plan reads one from a file), or pairs of a plan and a number of reports, as "
            f"[weekly, (monthly, 12)]; got a {type(use).__name__}"
        )
    count = plan.reports_per_person if count is None else count
    return plan, check_range("the number of reports", count, 1, MOST_REPORTS_PER_PERSON)


def _amplification(plan: PublishedPlan) -> Fraction:
    if plan.amplification is None:
        raise PlanError(
            f"plan {plan.plan_id[:12]} of type {plan.kind} has no γ, so the information in its reports has no bound"
        )
    return plan.amplification


# ---- manipulated responses


@dataclass(frozen=True, slots=True)
class ManipulatedSizes:
    """The effect on the truncation correction of manipulated reports that claim the largest size class.

    Attributes:
        share: share of all reports that are manipulated.
        factors: factors of the truncation correction by itemset size (estimation/size_distribution.py).
        detected: whether the test of the report types' shares detects this many responses about sizes with probability
            99.8% (estimation/manipulation_bounds.py).
    """

    share: float
    factors: Mapping[int, float]
    detected: bool


def manipulated_sizes(plan: Plan, reports: int) -> tuple[ManipulatedSizes, ...]:
    """Return the effect of manipulated responses about sizes; nothing if reports carry no information on them.

    The manipulated shares are 0, the largest one that passes the test of the report types' shares, .1% and 1%. Baskets
    have default sizes (expected_error.py). All manipulated reports are of the report type about sizes, which few honest
    ones are. Padding items limit how many baskets can be claimed to hold M items or more, but not how many items these
    hold.
    """
    sizes = plan.sizes
    if sizes is None or 1 in (sizes.amplification, plan.items.amplification):
        return ()
    share, limit = plan.share(sizes), math.log(FALSE_ALARM / _TESTS)
    expected = float(reports * share)
    step = most = max(1, round(math.sqrt(expected)) // 8)

    def is_detected(manipulated: int, fewer: float) -> bool:
        """Return whether manipulated ones are detected with honest responses ``fewer`` errors below the mean."""
        honest = (reports - manipulated) * share
        count = max(0, int(honest - fewer * math.sqrt(honest * (1 - share)))) + manipulated
        return log_share_probability(min(count, reports), reports, share) < limit

    while most < reports and not is_detected(most + step, 0):
        most += step
    return tuple(
        ManipulatedSizes(
            part, _factors(plan, sizes, reports, part), part > 0 and is_detected(round(part * reports), _Z_THOUSANDTH)
        )
        for part in sorted({0.0, most / reports, *_MANIPULATED_SHARES})
        if part < 1  # few reports may all be manipulated undetected, and no honest one is left
    )


def _factors(plan: Plan, report_type: ReportType, reports: int, manipulated: float) -> dict[int, float]:
    """Return the factors of the truncation correction if this share of the reports is manipulated."""
    sizes, bounds = BasketSizes.from_mean(plan.n_items).shares, np.array(plan.size_bounds)
    honest = reports * (1 - manipulated)
    claimed = np.append(np.zeros(len(bounds) - 1), reports * manipulated)
    below, classes = np.cumsum(sizes)[: bounds[0]], np.add.reduceat(sizes, bounds)
    of_items = _expected(plan.items, below, honest * float(plan.share(plan.items)), 0.0)
    of_sizes = _expected(report_type, classes, honest * float(plan.share(report_type)), claimed)
    fitted = fit_size_distribution(*of_items, *of_sizes, bounds, plan.n_items)
    return {k: fitted.truncation_factor(int(bounds[0]), k)[0] for k in range(1, plan.items.itemset_size + 1)}


def _expected(report_type: ReportType, shares: Floats, honest: float, claimed: Floats | float) -> tuple[Floats, Floats]:
    """Return expected estimates of supports and their errors, from honest and manipulated responses."""
    none, held = (float(value) for value in SupportModel(report_type.operator).row(1))
    count = honest + float(np.sum(claimed))
    shown = ((shares - none) / (held - none) * honest + claimed) / count
    return none + (held - none) * shown, (held - none) * np.sqrt(np.clip(shown * (1 - shown), 0, None) / count)


# ---- what reports can detect


@dataclass(frozen=True, slots=True)
class Forecast:
    """What N reports of a plan can detect.

    Attributes:
        plan: the plan.
        reports: N.
        composed_amplification: γ of all R reports of one person, rounded up.
        detectable: detectable supports and detection thresholds, by itemset size.
        manipulation_limits: largest change of supports by manipulated reports, from :func:`bound_manipulation`.
        max_targets: largest number of items that one manipulated report can show at once.
        manipulated_sizes: the effect of manipulated reports about basket sizes; empty without a report type for them.
    """

    plan: Plan
    reports: int
    composed_amplification: Fraction
    detectable: DetectableSupports
    manipulation_limits: dict[int, ManipulationLimits | None]
    max_targets: int
    manipulated_sizes: tuple[ManipulatedSizes, ...] = ()

    _repr_html_ = display.html_renderer("assocpriv.show.plan_views:plan")

    def __repr__(self) -> str:
        return display.short_repr(self, f"{pluralize(self.reports, 'report')}, {display.plan_bound(self.plan)}", [
            f"{name_itemsets(k)}: detectable support {display.figure(chosen, 'least')}, detection threshold "
            f"{display.figure(self.detectable.threshold[k], 'least')}"
            for k, chosen in self.detectable.chosen.items()
        ])  # fmt: skip

    def to_frame(self) -> "pd.DataFrame":
        """Return a row an itemset size; supports are shares of cut baskets, NaN where nothing is detectable.

        Returns:
            A pandas frame with the columns ``itemset_size``, ``candidates`` (a count), ``detectable_support`` and
            ``detection_threshold``.
        """
        return display.rows_frame("itemset_size candidates detectable_support detection_threshold", (
            (k, comb(self.plan.n_items, k), *map(display.share_or_nan, (chosen, self.detectable.threshold[k])))
            for k, chosen in self.detectable.chosen.items()
        ))  # fmt: skip


def forecast(plan: Plan, reports: int, *, manipulated: bool = True) -> Forecast:
    """Return what N reports of a plan can detect; the effect of ``manipulated`` sizes takes most of the time.

    Raises:
        PlanError: ``reports`` is below 1.
    """
    plan.check_central()
    reports = check_range("reports", reports, 1, MOST_REPORTS)
    return Forecast(
        plan=plan,
        reports=reports,
        composed_amplification=_composed_up(plan),
        detectable=detectable_supports(plan, reports),
        manipulation_limits=bound_manipulation(plan, reports),
        max_targets=max_targets(plan),
        manipulated_sizes=manipulated_sizes(plan, reports) if manipulated else (),
    )


def _composed_up(plan: Plan) -> Fraction:
    """Return γ^R of all R reports of a person; for R > 1 rounded up to 24 decimals, because its digits grow with R."""
    if plan.reports_per_person == 1:
        return plan.amplification
    return amplifications.round_amplification_up(plan.composed_amplification, amplifications.LARGEST_DENOMINATOR)


# ---- a support to detect


@dataclass(frozen=True, slots=True)
class PlanForDetection:
    """A plan that detects a support: with the fewest reports for a guarantee, or the smallest ε for N reports.

    Attributes:
        choice: the planned collection.
        support: the support to detect, a share of whole baskets.
        size: number of items of the itemsets.
        solved: the quantity that was solved for, ``reports`` or ``guarantee``.
    """

    choice: PlannedCollection
    support: Fraction
    size: int
    solved: str

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self.choice.plan

    @property
    def reports(self) -> int:
        """Number of reports."""
        return self.choice.reports

    @property
    def guarantee(self) -> amplifications.Guarantee:
        """The ρ1-to-ρ2 guarantee, for all reports of one person."""
        return self.plan.guarantee

    _repr_html_ = display.html_renderer("assocpriv.show.plan_views:solution")

    def __repr__(self) -> str:
        what = f"{pluralize(self.reports, 'report')}, {display.plan_bound(self.plan)}"
        found = "number of reports" if self.solved == REPORTS else "ε"
        share = f"{display.figure(self.support, 'to')} of baskets"
        why = f"the smallest {found} that detects all {name_itemsets(self.size)} in {share}"
        return display.short_repr(self, what, [why, *self.choice.lines()])

    def to_frame(self) -> "pd.DataFrame":
        """Return the expected errors of the plan, a row an itemset size.

        Returns:
            A pandas frame, as of :meth:`PlannedCollection.to_frame`.
        """
        return self.choice.to_frame()


def reports_to_detect(plan: Plan, support: "float | str | Fraction") -> dict[int, int | None]:
    """Return the number of reports that detects a support in a search over all itemsets of a size.

    With one report fewer, the detection threshold is above the support.

    Args:
        plan: a plan.
        support: in (0, 1], as 0.01 or ``"1%"``, within baskets truncated to M items.

    Returns:
        The number of reports by itemset size; None if 10^15 reports are too few.

    Raises:
        PlanError: the support is outside (0, 1].
        TypeError: no plan.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], ap.Guarantee("5%", "50%"), transaction_size=2, paper=True)
    >>> ap.planning.reports_to_detect(made, "10%")
    {1: 1858, 2: 853}
    """
    plan, wanted, needed = Plan.require(plan), _positive(support), dict[int, int | None]()
    for k in range(1, plan.items.itemset_size + 1):

        def detects(number: int, k: int = k) -> bool:
            return detection_threshold(Respondents.from_plan(plan, number), k, comb(plan.n_items, k)) <= wanted

        needed[k] = _least(detects, MOST_REPORTS)
    return needed


def _positive(support: "float | str | Fraction") -> Fraction:
    exact = amplifications.parse_probability(support, "the support to detect")
    if not exact:
        raise PlanError("the support to detect must be above 0")
    return exact


def solve_plan(
    support: "float | str | Fraction",
    items: int | Iterable[str],
    *,
    size: int = 2,
    reports: int | None = None,
    guarantee: amplifications.Guarantee | None = None,
    prior: "str | float | Fraction" = "5%",
    progress: Callable[[int, int], None] | None = None,
    **known: Any,
) -> PlanForDetection:
    """Return the plan of :func:`assocpriv.plan` with ``detect``; ``known`` holds further arguments of
    :func:`choose_plan`.

    A support is detected if the detection threshold (estimation/supports.py) times the truncation correction is at
    most the support. The planner may choose another design at each step, so the search is not monotone. The result
    holds and one step less does not, but a smaller result may hold as well.
    """
    wanted = _positive(support)
    if reports is None and guarantee is None:
        raise PlanError("give guarantee or reports; the other is solved for")
    size, catalogue = check_range("size", size, 1, MAX_TRANSACTION_SIZE), as_catalogue(items)
    tried = counting(1)

    def choice_for(guarantee: amplifications.Guarantee, number: int) -> PlannedCollection:
        if progress:
            progress(min(next(tried), _SEARCH_STEPS), _SEARCH_STEPS)
        return choose_plan(catalogue, guarantee, reports=number, itemset_size=size, **known)

    def detects(guarantee: amplifications.Guarantee, number: int) -> bool:
        choice = choice_for(guarantee, number)
        return whole_basket_thresholds(choice.plan, number, choice.request.sizes)[size] <= wanted

    def least_reports(guarantee: amplifications.Guarantee) -> int:
        place = _least(lambda place: detects(guarantee, _two_digits(place)), _MOST_PLACES)
        if place is None:
            raise PlanError("10^15 reports are too few; choose a larger support or smaller itemsets")
        return _two_digits(place)

    if reports is None:
        assert guarantee is not None
        return PlanForDetection(choice_for(guarantee, least_reports(guarantee)), wanted, size, REPORTS)
    number = check_range("reports", reports, 1, MOST_REPORTS)
    strictest = _strictest_guarantee(lambda each: detects(each, number), guarantee, prior)
    if strictest is None:
        weakest = guarantee or amplifications.Guarantee.from_epsilon(MOST_EPSILON, prior)
        most_epsilon = amplifications.epsilon_from_amplification(weakest.amplification_limit)
        raise PlanError(
            f"{number:,} reports are too few to detect all {name_itemsets(size)} in {float(wanted):.3%} of baskets; "
            f"with ε {most_epsilon:.2f} about {least_reports(weakest):,} are needed; or choose a larger support"
        )
    return PlanForDetection(choice_for(strictest, number), wanted, size, GUARANTEE)


def _strictest_guarantee(
    detects: Callable[[amplifications.Guarantee], bool],
    weakest: amplifications.Guarantee | None,
    prior: "str | float | Fraction",
) -> amplifications.Guarantee | None:
    """Return a guarantee that detects, with the least ε of two decimals, up to ``weakest``; None if none does."""
    most = MOST_EPSILON * EPSILON_STEPS
    if weakest is not None:
        most = int(amplifications.epsilon_from_amplification(weakest.amplification_limit) * EPSILON_STEPS)
        prior = weakest.prior

    def with_epsilon(steps: int) -> amplifications.Guarantee:
        return amplifications.Guarantee.from_epsilon(Fraction(steps, EPSILON_STEPS), prior)

    steps = _least(lambda step: detects(with_epsilon(step)), most)
    if steps is not None:
        return with_epsilon(steps)
    # the ε of the weakest may have more than two decimals
    return weakest if weakest is not None and detects(weakest) else None


def _two_digits(place: int) -> int:
    """Return the place-th number of at most two significant digits: 1, 2 … 99, 100, 110 …

    >>> [_two_digits(place) for place in (1, 99, 100, 101, 189, 190)]
    [1, 99, 100, 110, 990, 1000]
    """
    if place < 100:
        return place
    power, digits = divmod(place - 10, 90)
    return int((digits + 10) * 10**power)


def _least(holds: Callable[[int], bool], most: int) -> int | None:
    """Return a number in 1..most that holds while the one below does not; None if ``most`` does not hold."""
    low, high = 0, most
    if not holds(most):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@overload
def privacy(  # type: ignore[overload-overlap]  # a plan of baskets returns more than any other plan
    plans: Plan, priors: Iterable["str | float | Fraction"] = (), *, reports_per_person: int | None = None
) -> "Privacy": ...


@overload
def privacy(
    plans: "PublishedPlan | Iterable[PlanUse]", priors: Iterable["str | float | Fraction"] = ()
) -> "ComposedPlans": ...


def privacy(
    plans: "PublishedPlan | Iterable[PlanUse]",
    priors: Iterable["str | float | Fraction"] = (),
    *,
    reports_per_person: int | None = None,
) -> "Privacy | ComposedPlans":
    """Return the privacy that a plan proves, or the composed guarantee of one person's reports under several plans.

    Args:
        plans: a plan; or a list of plans, each alone (for the plan's R reports) or with a number of reports:
            ``[survey, (weekly, 52)]`` is one survey and a year of weekly reports.
        priors: prior probabilities of a property for the table; by default ``DEFAULT_PRIORS`` and those of the
            guarantees.
        reports_per_person: for one plan of baskets, the number of reports of one person; the plan's R by default.

    Returns:
        For one plan of baskets a :class:`Privacy`: ``one`` report, several ``together``, and information in bits.
        Otherwise a :class:`ComposedPlans`: ``plans``, and the guarantee of all ``together``: ``amplification`` (the
        product of all γ, rounded up), ``epsilon``, ``posteriors``.

    Raises:
        PlanError: a number is out of range, or a plan has no γ.
        TypeError: an item is no plan.

    >>> import assocpriv as ap
    >>> made = ap.plan(1000, ap.Guarantee("5%", "50%"))
    >>> ap.privacy([made, (made, 2)]).together.amplification == made.amplification**3
    True
    """

    if isinstance(plans, PublishedPlan):
        if isinstance(plans, Plan):
            return describe_privacy(plans, priors, reports_per_person=reports_per_person)
        plans = [plans]
    if reports_per_person is not None:
        raise TypeError(
            "reports_per_person applies only to one plan of baskets; give other plans as pairs (plan, reports)"
        )
    if not isinstance(plans, Iterable):
        raise TypeError(f"give a plan (read_plan reads one from a file) or a list, got a {type(plans).__name__}")
    return describe_composition(plans, priors)
