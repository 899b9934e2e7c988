"""Numbers of blocks and of items M for one collection, whose supports are read as those of whole baskets.

From what is known of baskets' sizes before any report: by a sample, or by the mined histogram of a round of sizes. The
choice has the least expected squared error V_k (blocks.py) of typical frequent itemsets, of support s_k, as the mean of
V_k / (V_k + s_k²) over the sizes that matter: all count alike, and of a size that reports cannot tell anyway more noise
is no worse. The plan's design has the least error by the same measure, not the least LDS, which looks at rare itemsets.
Nothing undoes here what sampling loses, so what is lost is bias, and counts BIAS = 6 times: an interval of 95% is one
of 94% with a bias of a quarter of a standard error, of 83% with a whole one. A million reports about 13 sets (the four
of ``bench accuracy blocks`` and nine of its tuning half) leave biases of 0.21 standard errors and less on average with
it, coverage .940 and more; 4 left up to .53 and .884, for errors that were 1.0 to 2.0 times as small.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

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
from assocpriv.planning.designs import Focus, Progress
from assocpriv.planning.planner import make_plan
from assocpriv.planning.request import PlanRequest, PlanWishes, catalogue_of
from assocpriv.planning.transaction_size import SizeRow
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.transition import SupportModel, lowest_support
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import PlanError
from assocpriv.promise.numbers import as_whole
from assocpriv.server.rounds.sampling_model import SizeShares
from assocpriv.server.rounds.shrinking import LIFT

AUTO = "auto"
BIAS = 6.0
_LEAST_SLOPE = 0.05
_TOP = 20  # itemsets of each size that are typical frequent ones
_MOST_SUPPORT, _LEAST_SUPPORT = 0.9, 1e-4


@dataclass(frozen=True, slots=True)
class KnownSizes:
    """What is known of baskets: the sizes of all, and by itemset size k of those that hold typical frequent itemsets.

    ``supports`` are these itemsets' by k. Without ``holders`` a model tells their sizes (server/rounds/sampling_model).
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


def plan_for_sizes(
    names: int | Catalogue,
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


def _survey(known: KnownSizes, n_items: int, wishes: PlanWishes) -> Survey:
    """Return the survey whose squared errors are relative to the supports, of the sizes that matter."""
    targets = set(wishes.targets(max(known.supports)))
    sizes = tuple(
        (k, support**-2 / len(targets) if k in targets else 0.0, typical_shares(k, support))
        for k, support in sorted(known.supports.items())
    )
    return Survey(
        n_items, wishes.reports, wishes.limit, known.sizes, Focus(sizes), BIAS, shrunk=True, holders=known.holders
    )


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
