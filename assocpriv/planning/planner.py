"""The plan with the least error inside a privacy limit.

Every design of either kind is tried, and the least max over k of the lowest discoverable support wins; among designs
within 2% of it the shortest report.

Source: EGS03, section 5.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from assocpriv.planning.designs import (
    LARGEST_INSERT_BITS,
    Focus,
    InsertionDesign,
    Progress,
    WorstSupport,
    search_designs,
)
from assocpriv.planning.fixed_size_designs import AnyDesign, search_fixed_designs
from assocpriv.planning.request import (
    DEFAULT_REPORTS,
    FIXED_SIZE,
    INDEPENDENT,
    PlanRequest,
    PlanWishes,
    Target,
    catalogue_of,
    worst_support,
)
from assocpriv.plans.baskets import Plan
from assocpriv.plans.generator import MAX_SEED_BITS
from assocpriv.plans.operator import Operator
from assocpriv.plans.view import View
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import PlanError

_WITHIN = 1.02  # designs this near the least error compete on report length
_D = TypeVar("_D", bound=AnyDesign)


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
) -> dict[int, Operator]:
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
