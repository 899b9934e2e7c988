"""The plan of baskets with the least error inside a promise.

Of the question about items every design of either kind is tried, and the least max over k of the lowest discoverable
support wins; among designs within 2% of it the shortest report (EGS03, section 5). That about sizes follows from it
(sizes.py). No record is seen, only what is wished of the plan.

Worked promises are those to choose from, from strict to lenient, with what each costs: from which support on finds can
be believed. Costs are the level's figures (server/intervals.py) of plans made here, each for its number of reports, for
one shape of baskets. Planning them all takes longer than a person waits, so they lie beside this file; a test makes
every plan again. The verdicts are a judgement, not a result: what people would accept is theirs to say.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

from assocpriv.planning.designs import (
    LARGEST_INSERT_BITS,
    AnyDesign,
    InsertionDesign,
    Progress,
    search_designs,
    search_fixed_designs,
)
from assocpriv.planning.request import (
    DEFAULT_REPORTS,
    FIXED_SIZE,
    INDEPENDENT,
    PlanRequest,
    PlanWishes,
    Target,
    catalogue_of,
    limit_of_each,
    worst_support,
)
from assocpriv.planning.sizes import share_asked, with_sizes
from assocpriv.plans.baskets import Plan
from assocpriv.plans.generator import MAX_SEED_BITS
from assocpriv.plans.names import Names
from assocpriv.plans.question import Question
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import PlanError
from assocpriv.server.intervals import discoverable_supports

if TYPE_CHECKING:
    from assocpriv.plans.operator import Operator

_WITHIN = 1.02  # designs this near the least error compete on report length
_D = TypeVar("_D", bound=AnyDesign)

VERDICTS = {  # by prior and posterior
    ("5%", "10%"): "very strict: a guess stays a guess",
    ("5%", "20%"): "strict: for what could embarrass",
    ("10%", "50%"): "firm: for habits that are private",
    ("5%", "50%"): "usual here: for everyday shopping",
    ("1%", "50%"): "lenient: for what friends may know",
    ("1%", "90%"): "weak: for what people tell when asked",
}
PEOPLE = (10**4, 10**5, 10**6, 10**7)  # reports
ITEMS, TRANSACTION_SIZE = 1000, 5
WEEKS, WEEKLY_PEOPLE, WEEKLY = 52, 10**6, ("5%", "50%")
COSTS = "worked_promises.json"
Levels = Mapping[int, float]  # the level's figure, by itemset size


# ---- the plan


def make_plan(
    items: int | Iterable[str],
    transaction_size: int,
    promise: Breach,
    *,
    itemset_size: int | None = None,
    reports: int = DEFAULT_REPORTS,
    code: str = "auto",
    pattern: str = "any",
    target: Target = None,
    largest_insert_bits: int = LARGEST_INSERT_BITS,
    kind: str = "auto",
    names: Names | None = None,
    reports_per_person: int = 1,
    sizes: str | float | Fraction | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Return the plan with the least error among those that keep the promise.

    The error is the lowest discoverable support (LDS): the support that equals four of its standard errors, the
    largest over the itemset sizes asked for.

    Args:
        items: number of items (then named 0 … n−1) or their names.
        transaction_size: M, the number of items every transaction is padded or sampled to, 1..15.
        promise: the breach that no report may cause, nor all reports of one person together.
        itemset_size: K, the largest itemsets to be estimated; 3 (or M if that is less) by default.
        reports: number of reports N that the planner counts on.
        code: ``bch``, ``reed-solomon``, ``none`` (one bit an item), or ``auto``: whichever makes the shortest report.
        pattern: ``any`` two-level pattern, or ``threshold`` as in the paper.
        target: itemset sizes to plan for (``"pairs"``, 2, [1, 2]); 1..K by default. With more items than could all
            be paired, the sizes below count too: mining must leave most items out on the way.
        largest_insert_bits: r is at most this, 1..8.
        kind: ``independent`` (every other item is added independently), ``fixed-size`` (as many are added as make the
            report hold some number of items), or ``auto``: the better one of both where the catalogue is short enough.
        names: what becomes of a basket's names; by default they are looked up among the items.
        reports_per_person: R, how many reports one person may send, 1..1000; each then tells less.
        sizes: the share of the people who are asked how many items they hold instead of which, as "2%", or ``auto``;
            what sampling to M loses can then be undone. By default nobody is.
        progress: called with (done, total) steps.

    Raises:
        PlanError: arguments out of range, or no operator fits.
        TypeError: arguments of another type.
    """
    wishes = PlanWishes(
        promise=promise,
        itemset_size=itemset_size,
        reports=reports,
        pattern=pattern,
        target=target,
        reports_per_person=reports_per_person,
    )
    request = PlanRequest(
        catalogue_of(items),
        transaction_size,
        wishes,
        code,
        kind,
        names or Names(),
        largest_insert_bits,
    )
    share = None if sizes is None else share_asked(sizes, wishes.reports)
    design = _best_design(request, progress)
    question = Question(
        n_items=len(request.catalogue),
        operator=design.operator(wishes.limit),
        generator=design.generator(request.code, request.padded_items, request.independent_items),
        itemset_size=request.itemset_size,
    )
    return Plan(
        catalogue=request.catalogue,
        questions=(question,) if share is None else with_sizes(question, share, wishes.limit, wishes.reports),
        promise=promise,
        names=request.names,
        reports_per_person=wishes.reports_per_person,
    )


def best_operators(
    transaction_sizes: Sequence[int], wishes: PlanWishes, targets: Sequence[int], progress: Progress | None = None
) -> "dict[int, Operator]":
    """Return for each transaction size the operator with the least worst error, whatever its reports' length."""
    limit, only, operators = wishes.limit, wishes.thresholds_only, {}
    for place, m in enumerate(transaction_sizes):
        objective, part = worst_support(targets, m, wishes.reports), part_of(progress, place, len(transaction_sizes))
        designs = search_designs(m, limit, objective, thresholds_only=only, progress=part)
        operators[m] = min(_near_the_best(designs), key=lambda design: design.error).operator(limit)
    return operators


def part_of(progress: Progress | None, place: int, parts: int) -> Progress | None:
    """Return the progress of one part of as many equal ones."""
    return progress and (lambda done, total: progress(place * total + done, parts * total))


# ---- the search


def _fixed_size(request: PlanRequest, progress: Progress | None) -> Sequence[AnyDesign]:
    m, wishes = request.transaction_size, request.wishes
    objective, only = replace(request.objective(m), itemset_size=request.itemset_size), wishes.thresholds_only
    return search_fixed_designs(
        m, request.padded_items, wishes.limit, objective, thresholds_only=only, progress=progress
    )


def _independent(request: PlanRequest, progress: Progress | None) -> list[InsertionDesign]:
    m = request.transaction_size
    return search_designs(
        m,
        request.wishes.limit,
        request.objective(m),
        thresholds_only=request.wishes.thresholds_only,
        largest_insert_bits=request.largest_insert_bits,
        progress=progress,
    )


_SEARCHES = {FIXED_SIZE: _fixed_size, INDEPENDENT: _independent}


def _best_design(request: PlanRequest, progress: Progress | None) -> AnyDesign:
    """Choose the kind among all designs, and the design among those of its kind."""
    *shorter, longest = request.searches  # the longest search alone shows its progress
    kinds = [*(_SEARCHES[name](request, None) for name in shorter), _SEARCHES[longest](request, progress)]
    chosen = _shortest([design for designs in kinds for design in designs], request)
    return next(_shortest(designs, request) for designs in kinds if chosen in designs)


def _shortest(designs: Sequence[AnyDesign], request: PlanRequest) -> AnyDesign:
    """Among designs within 2% of the least error take the shortest report, then the least error."""

    def bits(design: AnyDesign) -> int:
        return design.report_bits(request.code, request.padded_items, request.independent_items)

    any_length = request.code in ("none", "auto")
    near = _near_the_best([design for design in designs if any_length or bits(design) <= MAX_SEED_BITS])
    return min(near, key=lambda design: (bits(design), design.error))


def _near_the_best(designs: Sequence[_D]) -> list[_D]:
    """Return the designs within 2% of the least error."""
    least = min((design.error for design in designs), default=math.inf)
    if not math.isfinite(least):
        raise PlanError(
            "no operator within this promise lets supports be estimated; lower the transaction size or weaken "
            "the promise"
        )
    return [design for design in designs if design.error <= least * _WITHIN]


# ---- worked promises


@dataclass(frozen=True, slots=True)
class WorkedPromise:
    """A promise, what is said of it, and from which supports on so many reports can be believed."""

    promise: Breach
    verdict: str
    levels: Mapping[int, Levels]


@dataclass(frozen=True, slots=True)
class WeeklyWay:
    """A way to collect every week of a year under one promise: plans, reports of a person, reports of a week.

    ``covered``: how many reports of one person the plan's promise is for; ``reports``: how many each person sends.
    """

    covered: int
    reports: int
    weekly_reports: int
    levels: Levels

    @property
    def each_limit(self) -> Fraction:
        """The γ that every report stays below."""
        return limit_of_each(Breach(*WEEKLY), self.covered)

    @property
    def limit(self) -> Fraction:
        """The γ that all reports of a person together stay below: that of the promise, if it covers all."""
        return Breach(*WEEKLY).amplification_limit ** max(1, self.reports // self.covered)


@dataclass(frozen=True, slots=True)
class WorkedPromises:
    """Promises from strict to lenient, and ways to collect every week under the usual one; or a plan's promise."""

    promises: tuple[WorkedPromise, ...]
    weekly: tuple[WeeklyWay, ...]
    plan: Plan | None = None


def explain_promises(plan: Plan | None = None) -> WorkedPromises:
    """Return promises to choose from with their costs, for 1,000 items and at most 5 a transaction; or a plan's own.

    Of a plan there is its promise alone, with what its own reports cost, and where it stands among the others.

    Returns:
        ``promises``, each with a ``verdict`` and ``levels``: by number of reports and itemset size the support from
        which finds can be believed; and ``weekly``, ways to ask the same people every week.

    >>> import assocpriv as ap
    >>> ap.explain_promises().promises[3].verdict
    'usual here: for everyday shopping'
    """
    return _worked_promises() if plan is None else WorkedPromises((_promise_of(plan),), (), plan)


def _promise_of(plan: Plan) -> WorkedPromise:
    limit, known = plan.promise.amplification_limit, [(Breach(*levels), levels) for levels in VERDICTS]
    stricter = [" → ".join(levels) for each, levels in known if each.amplification_limit < limit]
    weaker = [" → ".join(levels) for each, levels in known if each.amplification_limit > limit]
    equal = [VERDICTS[levels] for each, levels in known if each.amplification_limit == limit]
    verdict = equal[0] if equal else f"stricter than {weaker[0]}" if weaker else "weaker than all that are shown"
    if stricter and weaker and not equal:
        verdict = f"weaker than {stricter[-1]}, {verdict}"
    return WorkedPromise(plan.promise, verdict, {n: levels_of(plan, n) for n in PEOPLE})


def _worked_promises() -> WorkedPromises:
    content = json.loads(files("assocpriv.planning").joinpath(COSTS).read_text(encoding="utf-8"))
    costs = {Case(**row.pop("case")): {int(k): level for k, level in row["level"].items()} for row in content}
    promises = tuple(
        WorkedPromise(Breach(*levels), verdict, {n: costs[Case(*levels, 1, n)] for n in PEOPLE})
        for levels, verdict in VERDICTS.items()
    )
    ways = [(1, WEEKS, WEEKLY_PEOPLE), (WEEKS, WEEKS, WEEKLY_PEOPLE), (1, 1, WEEKLY_PEOPLE // WEEKS)]
    weekly = (WeeklyWay(r, each, n, costs[Case(*WEEKLY, r, n)]) for r, each, n in ways)
    return WorkedPromises(promises, tuple(weekly))


@dataclass(frozen=True, slots=True)
class Case:
    """A plan to make, and for how many reports."""

    prior: str
    posterior: str
    reports_per_person: int
    reports: int


def cases() -> Iterator[Case]:
    """Yield all cases of the file of costs, in its order."""
    for prior, posterior in VERDICTS:
        for reports in PEOPLE:
            yield Case(prior, posterior, 1, reports)
    yield Case(*WEEKLY, WEEKS, WEEKLY_PEOPLE)
    yield Case(*WEEKLY, 1, WEEKLY_PEOPLE // WEEKS)


def compute_cost(case: Case) -> dict[str, Any]:
    """Return a row of the file of costs, six digits of each rounded up, by making the plan."""

    promise = Breach(case.prior, case.posterior)
    plan = make_plan(ITEMS, TRANSACTION_SIZE, promise, reports=case.reports, reports_per_person=case.reports_per_person)
    levels, six_up = levels_of(plan, case.reports), Context(prec=6, rounding=ROUND_CEILING)
    return {
        "case": asdict(case),
        "level": {str(k): float(six_up.create_decimal(repr(float(cost)))) for k, cost in levels.items()},
    }


def levels_of(plan: Plan, reports: int) -> Levels:
    """Return from which supports on so many reports of a plan can be believed."""
    return discoverable_supports(plan, reports).level
