"""The plan of baskets that tells most of whole baskets inside a promise.

Chosen are M, the operator and the report's form, by the expected error of supports in whole baskets (expected.py): for
every M from K on, either kind of operator and every default probability or report size the best pattern. The design
with the least error says M; of those with this M and an error within 5% the one with the shortest report is taken. A
smaller M would save more bytes, but what undoing the sampling leaves wrong is what is known least beforehand. The
question about sizes goes with it (sizes.py). No record is seen: how large baskets are is given, or assumed and said.
Where reports go through an anonymous channel, designs of many γ compete, each with the blanket that its γ needs
(central.py), and the local promise is what the chosen γ keeps.

The paper's choice is the least max over k of the lowest discoverable support within M sampled items, by thresholds and
independent insertion, among designs within 2% of it the shortest report (EGS03, section 5). It asks nobody for sizes.

Worked promises are those to choose from, from strict to lenient, with what each costs: from which support in usual
whole baskets on finds can be believed. Costs are the level's figures (server/intervals.py), times what undoing the
sampling multiplies them by, of plans made here. The verdicts are a judgement, not a result: what people would accept is
theirs to say.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from assocpriv.planning.central import LOCAL_CAP, Bound, central_bounds, kept_promise
from assocpriv.planning.designs import (
    MOST_REPORTS,
    Design,
    Family,
    WorstSupport,
    fixed_size_family,
    insertion_family,
    papers_family,
    runs,
    thresholds,
)
from assocpriv.planning.expected import (
    MOST_MEAN,
    ExpectedError,
    Sizes,
    design_errors,
    design_objective,
    expected_errors,
)
from assocpriv.planning.request import DEFAULT_REPORTS, PlanRequest, catalogue_of
from assocpriv.planning.sizes import share_asked, with_sizes
from assocpriv.plans.baskets import Plan
from assocpriv.plans.names import Names
from assocpriv.plans.question import Question
from assocpriv.promise.breaches import Breach, Epsilon, parse_number, parse_probability
from assocpriv.promise.errors import PlanError
from assocpriv.promise.numbers import check_range
from assocpriv.promise.shuffling import CentralPromise
from assocpriv.server.intervals import discoverable_supports

_NEAR, _NEAR_OF_PAPER = 1.05, 1.02  # times the least error, up to which designs compete on report length
SHORT_BYTES = 8  # what reports of so many would cost in error is told
# with the dummies; beyond, fixed sizes gain 3% and take longer both sides
_MOST_FIXED_ITEMS = 256

VERDICTS = {  # by prior and posterior
    ("5%", "10%"): "very strict: a guess stays a guess",
    ("5%", "20%"): "strict: for what could embarrass",
    ("10%", "50%"): "firm: for habits that are private",
    ("5%", "50%"): "usual here: for everyday shopping",
    ("1%", "50%"): "lenient: for what friends may know",
    ("1%", "90%"): "weak: for what people tell when asked",
}
PEOPLE = (10**4, 10**5, 10**6, 10**7)  # reports
ITEMS = 1000
Levels = Mapping[int, float]  # the level's figure in whole baskets, by itemset size


# ---- the plan


@dataclass(frozen=True, slots=True)
class Choice:
    """A plan, what it was chosen for, and what else could have been.

    Attributes:
        request: what was wished, with the sizes of baskets that were known or assumed.
        expected: by itemset size what is expected of the support of a usual itemset.
        other_means: by mean size, half and twice the one assumed, the M that would have been chosen.
        short_costs: how many times as large the expected error is where reports may take 8 bytes; infinite where no
            design has such, 1 where this one has; None of the paper's choice.
    """

    plan: Plan
    request: PlanRequest
    expected: dict[int, ExpectedError]
    other_means: dict[float, int]
    short_costs: float | None

    @property
    def reports(self) -> int:
        """Reports that the plan was made for."""
        return self.request.reports


def make_plan(items: int | Iterable[str], promise: Breach | None, **wishes: Any) -> Plan:
    """Return the plan of :func:`choose_plan`."""
    return choose_plan(items, promise, **wishes).plan


def choose_plan(
    items: int | Iterable[str],
    promise: Breach | None,
    *,
    central: "CentralPromise | Sequence[str | float | Fraction] | None" = None,
    local_cap: "str | float | Fraction | Breach | None" = None,
    reports: int = DEFAULT_REPORTS,
    reports_per_person: int = 1,
    mean_size: float | None = None,
    like: Mapping[int, int] | Sizes | None = None,
    itemset_size: int | None = None,
    transaction_size: int | None = None,
    names: Names | None = None,
    paper: bool = False,
) -> Choice:
    """Return the plan with the least expected error among those that keep the promise, and what it was chosen for.

    Args:
        items: number of items (then named 0 … n−1) or their names.
        promise: the breach that no report may cause, nor all reports of one person together; None with ``central``.
        central: what a reader of whole batches may learn where reports come through an anonymous channel: (ε, δ) for
            batches of ``reports`` at least, or a promise that says more. The plan's own promise follows.
        local_cap: with ``central`` the most ε of all that one person sends, should the channel tell who sent it.
        reports: number of reports N that the planner counts on.
        reports_per_person: R, how many reports one person may send, 1..1000; each then tells less.
        mean_size: how many items a basket holds on average; 6 is assumed where it is not known.
        like: a sample instead: how many baskets have each size, or a law of sizes.
        itemset_size: K, the largest itemsets to be estimated; 3 (or M if that is less) by default.
        transaction_size: M, the number of items every transaction is padded or sampled to, 1..15; chosen by default.
        names: what becomes of a basket's names; by default they are looked up among the items.
        paper: take the paper's choice for this M.

    Raises:
        PlanError: arguments out of range, or no operator fits.
        TypeError: arguments of another type.
    """
    batch = _central_of(central, reports)
    request = PlanRequest(
        catalogue=catalogue_of(items),
        promise=_cap_of(promise, batch, local_cap),
        central=batch,
        reports=reports if batch is None else batch.reports,
        reports_per_person=reports_per_person,
        mean_size=mean_size,
        like=like if like is None or isinstance(like, Sizes) else Sizes.of_sample(like),
        itemset_size=itemset_size,
        transaction_size=transaction_size,
        names=names or Names(),
        paper=paper,
    )
    share = share_asked(request.reports)
    bounds = [Bound(request.limit)] if batch is None else central_bounds(request, share)
    (design, bound), other_means, short_costs = (
        ((_papers_design(request), bounds[0]), {}, None)
        if paper
        else _best_design(request, bounds, request.reports * float(1 - share))
    )
    question = _question_of(design, request, bound.limit)
    questions = (
        (question,) if paper else with_sizes(question, share, bound.limit, request.reports, request.common_sizes)
    )
    amplification = max(each.amplification for each in questions) ** request.reports_per_person
    plan = Plan(
        catalogue=request.catalogue,
        questions=questions,
        promise=request.promise if batch is None else kept_promise(amplification),
        names=request.names,
        reports_per_person=request.reports_per_person,
        central=batch,
    )
    plan.check_central()
    answers = request.reports * float(plan.share(plan.items))
    expected = expected_errors(question, request.sizes, answers, request.largest)
    return Choice(plan, request, expected, other_means, short_costs)


def _central_of(
    central: "CentralPromise | Sequence[str | float | Fraction] | None", reports: int
) -> CentralPromise | None:
    if central is None or isinstance(central, CentralPromise):
        return central
    if isinstance(central, str) or len(central) != 2:
        raise TypeError("central must be a pair of ε and δ, as (1, 1e-8), or a CentralPromise")
    epsilon, delta = central
    return CentralPromise(
        parse_number(epsilon, "central epsilon", "a number of nats such as 1"),
        parse_probability(delta, "central delta"),
        check_range("reports", reports, 1, MOST_REPORTS),
    )


def _cap_of(
    promise: Breach | None, central: CentralPromise | None, cap: "str | float | Fraction | Breach | None"
) -> Breach | None:
    """Return the promise that a plan must keep, or that of a channel may not exceed."""
    if central is None:
        if cap is not None:
            raise PlanError("local_cap goes with central; the promise bounds ε of a plan without an anonymous channel")
        return promise
    if promise is not None:
        raise PlanError("with central the local promise follows from the plan; give local_cap to bound it")
    return cap if isinstance(cap, Breach) else Epsilon(LOCAL_CAP if cap is None else cap)


def _question_of(design: Design, request: PlanRequest, limit: Fraction) -> Question:
    """Return the question about items that a design is for."""
    m, n_items = design.transaction_size, len(request.catalogue)
    return Question(
        n_items=n_items,
        operator=design.operator(limit),
        generator=design.generator(n_items + m, m + request.largest),
        itemset_size=request.largest,
    )


# ---- the search


def _best_design(
    request: PlanRequest, bounds: Sequence[Bound], answers: float
) -> tuple[tuple[Design, Bound], dict[float, int], float]:
    """Return the best design within one of some bounds, what other mean sizes would have M be, what 8 bytes cost."""
    n_items = len(request.catalogue)
    (design, bound), short = _best_for(request, bounds, request.sizes, answers)
    halves = (round(factor * request.sizes.mean, 6) for factor in (0.5, 2.0))
    laws = {mean: Sizes.usual(n_items, mean) for mean in halves if 0 < mean <= min(n_items, MOST_MEAN)}
    others = {mean: _best_for(request, [bound], sizes, answers)[0][0].transaction_size for mean, sizes in laws.items()}
    return (design, bound), others, short


def _best_for(
    request: PlanRequest, bounds: Sequence[Bound], sizes: Sizes, answers: float
) -> tuple[tuple[Design, Bound], float]:
    """Return the best design for baskets of these sizes, and how many times its error the best of 8 bytes has."""
    n_items, frequency = len(request.catalogue), sizes.frequency(len(request.catalogue))
    found = [
        (design, bound)
        for bound in bounds
        for m in request.transaction_sizes
        for design in _designs_of(n_items, request.largest, frequency, bound, m)
    ]
    designs = [design for design, _ in found]
    if not designs:
        raise _no_operator()
    ms, bits = np.array([d.transaction_size for d in designs]), np.array([_report_bits(d, request) for d in designs])
    errors = design_errors(sizes, answers, frequency, ms, np.array([design.moments for design in designs]))
    near = np.flatnonzero((errors <= _NEAR * errors.min()) & (ms == ms[errors.argmin()]))
    best = min(near.tolist(), key=lambda place: (bits[place], errors[place]))
    short = errors[bits <= 8 * SHORT_BYTES].min(initial=math.inf) / errors[best]
    return found[best], float(max(short, 1.0))


@lru_cache(maxsize=256)
def _designs_of(n_items: int, largest: int, frequency: float, bound: Bound, m: int) -> list[Design]:
    """Return the best design for M = m of either kind, by default probability or report size, for whole baskets."""
    families: list[Family] = [insertion_family(m)]
    if largest <= n_items and n_items + m <= _MOST_FIXED_ITEMS:  # itemsets exist outside a transaction
        families.append(fixed_size_family(m, n_items + m))
    objective = design_objective(largest, frequency)
    blanket = bound.blanket_of_items(m < n_items)
    return [design for family in families for design in family.search(bound.limit, objective, runs(m), blanket)]


def _papers_design(request: PlanRequest) -> Design:
    """Return the shortest of the designs by thresholds within 2% of the least of the largest LDS."""
    (m,) = request.transaction_sizes
    objective = WorstSupport(request.largest, request.reports)
    designs = papers_family(m).search(request.limit, objective, thresholds(m))
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
        "no operator within this promise lets supports be estimated; lower the transaction size or weaken the promise"
    )


# ---- worked promises


@dataclass(frozen=True, slots=True)
class WorkedPromise:
    """A promise, what is said of it, and from which supports on so many reports can be believed."""

    promise: Breach
    verdict: str
    levels: Mapping[int, Levels]


@dataclass(frozen=True, slots=True)
class WorkedPromises:
    """Promises from strict to lenient; or a plan's promise."""

    promises: tuple[WorkedPromise, ...]
    plan: Plan | None = None


def explain_promises(plan: Plan | None = None) -> WorkedPromises:
    """Return promises to choose from with their costs, for 1,000 items and usual baskets; or a plan's own.

    Of a plan there is its promise alone, with what its own reports cost, and where it stands among the others.

    Returns:
        ``promises``, each with a ``verdict`` and ``levels``: by number of reports and itemset size the support in whole
        baskets from which finds can be believed.

    >>> import assocpriv as ap
    >>> ap.explain_promises().promises[3].verdict
    'usual here: for everyday shopping'
    """
    if plan is not None:
        return WorkedPromises((_promise_of(Plan.of(plan)),), plan)
    return WorkedPromises(tuple(
        WorkedPromise(Breach(*levels), verdict, {n: _cost(levels, n) for n in PEOPLE})
        for levels, verdict in VERDICTS.items()
    ))  # fmt: skip


def _promise_of(plan: Plan) -> WorkedPromise:
    limit, known = plan.promise.amplification_limit, [(Breach(*levels), levels) for levels in VERDICTS]
    stricter = [" → ".join(levels) for each, levels in known if each.amplification_limit < limit]
    weaker = [" → ".join(levels) for each, levels in known if each.amplification_limit > limit]
    equal = [VERDICTS[levels] for each, levels in known if each.amplification_limit == limit]
    verdict = equal[0] if equal else f"stricter than {weaker[0]}" if weaker else "weaker than all that are shown"
    if stricter and weaker and not equal:
        verdict = f"weaker than {stricter[-1]}, {verdict}"
    usual = Sizes.usual(plan.n_items)
    return WorkedPromise(plan.promise, verdict, {n: whole_levels(plan, n, usual) for n in PEOPLE})


def _cost(levels: tuple[str, str], reports: int) -> Levels:
    choice = choose_plan(ITEMS, Breach(*levels), reports=reports)
    return whole_levels(choice.plan, reports, choice.request.sizes)


def whole_levels(plan: Plan, reports: int, sizes: Sizes) -> Levels:
    """Return from which supports in whole baskets on so many reports of a plan can be believed, by itemset size."""
    levels, m = discoverable_supports(plan, reports).level, plan.items.transaction_size
    return {k: level * sizes.undoing(m, k)[0] for k, level in levels.items()}
