"""The plan of baskets with the least error inside a promise.

Every design of either kind is tried, and the least max over k of the lowest discoverable support wins; among designs
within 2% of it the shortest report. Source: EGS03, section 5. No record is seen, only what is wished of the plan.

Worked promises are those to choose from, from strict to lenient, with what each costs: from which support on finds can
be believed. Costs are the level's figures (server/intervals.py) of plans made here, each for its number of reports, for
one shape of baskets. Planning them all takes longer than a person waits, so they lie beside this file; a test makes
every plan again. The verdicts are a judgement, not a result: what people would accept is theirs to say.

Blocks: the number of pieces and of items M for one collection, whose supports are read as those of whole baskets, are
chosen from what is known of baskets' sizes before any report: by a sample, or by the mined histogram of a round of
sizes. The choice has the least expected squared error V_k (blocks.py) of typical frequent itemsets, of support s_k, as
the mean of V_k / (V_k + s_k²) over the sizes that matter: all count alike, and of a size that reports cannot tell
anyway more noise is no worse. The plan's design has the least error by the same measure, not the least LDS, which looks
at rare itemsets. Nothing undoes here what sampling loses, so what is lost is bias, and counts _BIAS = 6 times: an
interval of 95% is one of 94% with a bias of a quarter of a standard error, of 83% with a whole one. A million reports
about 13 sets (the four of ``bench accuracy blocks`` and nine of its tuning half) leave biases of 0.21 standard errors
and less on average with it, coverage .940 and more; 4 left up to .53 and .884, for errors that were 1.0 to 2.0 times as
small.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from assocpriv.planning.blocks import (
    TRANSACTION_SIZES,
    Choice,
    Survey,
    best_of,
    choices,
    people_for_one,
    typical_shares,
)
from assocpriv.planning.designs import (
    LARGEST_INSERT_BITS,
    AnyDesign,
    Focus,
    InsertionDesign,
    Progress,
    WorstSupport,
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
from assocpriv.planning.transaction_size import SizeRow
from assocpriv.plans.baskets import Plan
from assocpriv.plans.generator import MAX_SEED_BITS
from assocpriv.plans.transition import SupportModel, lowest_support
from assocpriv.plans.view import View
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import PlanError
from assocpriv.promise.numbers import as_whole
from assocpriv.server.intervals import discoverable_supports
from assocpriv.server.posterior import LIFT
from assocpriv.server.undo_sampling import SizeShares

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

AUTO = "auto"
_BIAS = 6.0
_LEAST_SLOPE = 0.05
_TOP = 20  # itemsets of each size that are typical frequent ones
_MOST_SUPPORT, _LEAST_SUPPORT = 0.9, 1e-4


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
    view: View | None = None,
    reports_per_person: int = 1,
    blocks: int | None = None,
    focus: Focus | None = None,
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
        view: how clients make a transaction of a basket; by default they look its items up.
        reports_per_person: R, how many reports one person may send, 1..1000; each then tells less.
        blocks: number of pieces that the catalogue is cut into, again and again at random: a report is about one piece
            alone, so that less of a long basket is lost and fewer people are asked; None or 1 for none.
        focus: itemsets that are expected, whose mean squared error is made least instead; by default the LDS.
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
        view or View(),
        largest_insert_bits,
        1 if blocks is None else blocks,
        focus,
    )
    design = _best_design(request, progress)
    return Plan(
        catalogue=request.catalogue,
        transaction_size=request.transaction_size,
        itemset_size=request.itemset_size,
        operator=design.operator(wishes.limit),
        generator=design.generator(request.code, request.padded_items, request.independent_items),
        promise=promise,
        view=request.published_view,
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
    objective, only = request.objective(m), wishes.thresholds_only
    if isinstance(objective, WorstSupport):
        objective = replace(objective, itemset_size=request.itemset_size)
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


# ---- blocks for known sizes of baskets


@dataclass(frozen=True, slots=True)
class KnownSizes:
    """What is known of baskets: the sizes of all, and by itemset size k of those that hold typical frequent itemsets.

    ``supports`` are these itemsets' by k. Without ``holders`` a model tells their sizes (server/posterior.py).
    """

    sizes: SizeShares
    supports: Mapping[int, float]
    holders: Mapping[int, SizeShares] = field(default_factory=dict)

    @classmethod
    def of_sample(cls, sizes: Counter[int], holders: Mapping[int, Counter[int]], n_items: int) -> "KnownSizes":
        """Return what a sample tells, of how many baskets have each size and how many of these hold its top itemsets.

        ``holders`` count the 20 most frequent itemsets of each size together (:func:`top_holders`).
        """
        supports = {
            k: _within(held.total() / sizes.total() / min(_TOP, math.comb(n_items, k))) for k, held in holders.items()
        }
        return cls(_shares(sizes), supports, {k: _shares(held) for k, held in holders.items() if held.total()})

    @classmethod
    def of_histogram(cls, sizes: SizeShares, n_items: int, largest: int) -> "KnownSizes":
        """Return what sizes alone tell: the most frequent items have what Zipf's law gives them of the mean size.

        Pairs and triples of them are held a little more often than independent items would be.
        """
        ranks = 1 / np.arange(1.0, n_items + 1)
        item = _within(sizes.mean * float(ranks[:_TOP].mean()) / float(ranks.sum()))
        return cls(sizes.grouped(), {k: _together(item, k) for k in range(1, largest + 1)})


@dataclass(frozen=True, slots=True)
class Proposal:
    """Rows, one of them proposed, and what its design is to make least."""

    rows: tuple[SizeRow, ...]
    focus: Focus

    @property
    def proposed(self) -> SizeRow:
        """The row that is proposed."""
        return next(row for row in self.rows if row.proposed)


def plan_for_sizes(
    names: int | Iterable[str],
    promise: Breach,
    known: "KnownSizes | SizeShares",
    *,
    transaction_size: int | None = None,
    blocks: str | int | None = AUTO,
    progress: Progress | None = None,
    **asked: Any,
) -> tuple[Plan, Proposal]:
    """Return the plan whose supports come nearest to those of whole baskets of these sizes, and the choice made.

    Args:
        names: of the items, or their number.
        promise: the breach that no report may cause.
        known: the sizes of baskets.
        transaction_size: M; by default chosen with the blocks.
        blocks: ``auto``, the number of pieces, or None for no blocks.
        progress: called with (done, total) steps.
        asked: all else that :func:`assocpriv.plan` takes.

    Raises:
        PlanError: arguments out of range, or no operator fits.
    """
    catalogue, wishes = catalogue_of(names), PlanWishes(promise=promise, **_wished(asked))
    if isinstance(known, SizeShares):
        known = KnownSizes.of_histogram(known, len(catalogue), _largest(wishes, known, transaction_size))
    pieces = None if blocks == AUTO else 1 if blocks is None else as_whole(blocks)
    if pieces is None and blocks != AUTO:
        raise PlanError(f"blocks must be {AUTO!r}, a number of pieces, or None for no blocks")
    made = partial(make_plan, catalogue, promise=promise, progress=progress)
    if pieces is not None:  # refused here if it does not fit the catalogue
        size = transaction_size or max(known.supports)
        PlanRequest(catalogue, size, replace(wishes, itemset_size=max(known.supports)), pieces=pieces)
    proposal = propose_blocks(known, len(catalogue), wishes, transaction_size=transaction_size, pieces=pieces)
    row = proposal.proposed
    return made(transaction_size=row.transaction_size, blocks=row.pieces, focus=proposal.focus, **asked), proposal


def _wished(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the arguments of a plan that are wishes of a plan of any M."""
    shared = {each.name for each in fields(PlanWishes) if each.init} - {"promise"}
    return {name: value for name, value in asked.items() if name in shared}


def _largest(wishes: PlanWishes, sizes: SizeShares, transaction_size: int | None) -> int:
    """Return K where none is asked for: 3, or the longest basket or M if that is less."""
    longest = int(sizes.sizes[sizes.shares > 0].max())
    return wishes.itemset_size or max(min(3, longest, transaction_size or 3), 1)


def propose_blocks(
    known: KnownSizes,
    n_items: int,
    wishes: PlanWishes,
    *,
    transaction_size: int | None = None,
    pieces: int | None = None,
) -> Proposal:
    """Return a row for each number of pieces tried, with its best M; one of them proposed.

    Args:
        known: the sizes of baskets.
        n_items: number of items.
        wishes: of the plan; the itemset size is known.supports' largest where it is not given.
        transaction_size: M, where it is given.
        pieces: number of pieces, where it is given; then there is a row for each M.

    Raises:
        PlanError: no operator fits.
    """
    survey = _survey(known, n_items, wishes)
    largest, longest = max(known.supports), int(known.sizes.sizes[known.sizes.shares > 0].max())
    sizes = [m for m in TRANSACTION_SIZES if largest <= m] if transaction_size is None else [transaction_size]
    fitting = [m for m in sizes if m <= max(longest, largest)] or sizes[:1]
    if pieces is None:
        found = choices(survey, fitting)
    else:
        found = [choice for m in fitting for choice in choices(survey, [m], [pieces])]
    best = best_of(found) if pieces is None else min(found, key=lambda choice: choice.error)
    rows = tuple(replace(_row(choice, survey, known, wishes), proposed=choice is best) for choice in found)
    return Proposal(rows, _focus_at(best, survey))


def _survey(known: KnownSizes, n_items: int, wishes: PlanWishes) -> Survey:
    """Return the survey whose squared errors are relative to the supports, of the sizes that matter."""
    targets = set(wishes.targets(max(known.supports)))
    sizes = tuple(
        (k, support**-2 / len(targets) if k in targets else 0.0, typical_shares(k, support))
        for k, support in sorted(known.supports.items())
    )
    return Survey(
        n_items, wishes.reports, wishes.limit, known.sizes, Focus(sizes), _BIAS, shrunk=True, holders=known.holders
    )


def _focus_at(choice: Choice, survey: Survey) -> Focus:
    """Return the focus whose error changes with noise as the survey's does around a choice.

    A size that cannot be told counts a little, so that its estimates do not become worthless for next to nothing.
    """
    sizes = []
    for k, weight, shares in survey.focus.sizes:
        slope = (1 - choice.errors[k] / shares[-1] ** 2) ** 2  # of V s²/(V + s²), whose value errors[k] is
        slope = max(slope, _LEAST_SLOPE)
        sizes.append((k, weight * slope * survey.noise_weight(choice.sampling, k), shares))
    return Focus(tuple(sizes))


def _row(choice: Choice, survey: Survey, known: KnownSizes, wishes: PlanWishes) -> SizeRow:
    """Return what a choice would mean; the lowest discoverable supports are those of its design."""
    sampling, largest = choice.sampling, survey.focus.largest
    model = SupportModel.of(choice.design.operator(wishes.limit))
    surviving, lowest = {k: survey.left(sampling, k) for k in known.supports}, {}
    for k in known.supports:
        people = people_for_one(sampling, k, largest)
        outside, inside = model.variances(k)
        lowest[k] = float(lowest_support(outside * people, (inside + 1) * people - 1, wishes.reports))
    raw = {k: lowest[k] / surviving[k] for k in lowest}
    worst = max(raw[k] for k in wishes.targets(largest))
    longer = float(known.sizes.shares @ sampling.longer(known.sizes.sizes))
    return SizeRow(sampling.m, longer, surviving, lowest, raw, worst, pieces=sampling.pieces)


def _together(item: float, k: int) -> float:
    return _within(min(LIFT ** (k * (k - 1) / 2) * item**k, item))


def _within(support: float) -> float:
    return round(min(max(support, _LEAST_SUPPORT), _MOST_SUPPORT), 6)


def _shares(counts: Counter[int]) -> SizeShares:
    """Return numbers of baskets by size as shares."""
    sizes = np.array(sorted(counts), dtype=np.int64)
    numbers = np.array([counts[size] for size in sizes.tolist()], dtype=np.float64)
    if not numbers.sum() or not sizes[-1]:
        raise PlanError("a sample to choose the blocks from must hold baskets that are not empty")
    return SizeShares(sizes, numbers / numbers.sum())
