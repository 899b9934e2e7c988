"""Mining: from reports of one or several collections to a table of itemsets.

A request is checked when it is made, and against the plan before anything is counted. Supports are estimated in
posterior.py, itemsets are found and selected in search.py, the table is described in itemsets.py.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.intervals import ErrorOptions, read_share
from assocpriv.files.mined_tables import FDR_COLUMNS, SPLIT, FdrControl, MiningFacts, SizeFacts
from assocpriv.guarantees.errors import EstimateError
from assocpriv.guarantees.exact_numbers import as_whole
from assocpriv.server.baskets import false_discovery
from assocpriv.server.baskets.counting import CountingBackend, Part
from assocpriv.server.baskets.itemsets import itemset_frame
from assocpriv.server.baskets.posterior import ItemsetLevel, PosteriorModel
from assocpriv.server.baskets.rounds import Rounds, has_enough_independence, longest_catalogue_first
from assocpriv.server.baskets.search import SearchResult, automatic_min_support, search, select_by_fdr
from assocpriv.server.baskets.selection import NO_FILTER, ItemsetFilter, read_sizes

if TYPE_CHECKING:
    from assocpriv.files.itemset_files import LightFrame
    from assocpriv.plans.baskets.basket_plan import Plan
    from assocpriv.plans.baskets.catalogue import Catalogue

AUTO = "auto"
Rows = NDArray[np.int64]
Levels = Sequence[ItemsetLevel]
_PAIRS_OF_ONE = 20  # counted initially, for each itemset wanted
_FIRST_PAIRS = 5_000
_DEFAULT_TOP = 64  # itemsets searched for by default
_BEST_ITEMS = 100  # always kept in a table
_MOST_RARE = 1_000  # rows kept below the automatic minimum support


# ---- requests


@dataclass(frozen=True, slots=True)
class MiningRequest:
    """What to mine, with the arguments of :func:`assocpriv.mine`.

    Raises:
        EstimateError: arguments that contradict each other, or a number out of range.
    """

    min_support: "float | str | None" = None
    top: int | None = None
    max_itemset: int | None = None
    fdr: "float | str | None" = None
    fdr_by: str = SPLIT
    errors: ErrorOptions = field(default_factory=ErrorOptions)
    among: ItemsetFilter = NO_FILTER

    def __post_init__(self) -> None:
        level, least, wanted = self.fdr_level, self.threshold, as_whole(self.top)  # raises if out of range
        if self.top is not None and (wanted is None or wanted < 1):
            raise EstimateError(f"top must be a whole number of at least 1, got {self.top!r}")
        if level is not None and wanted is not None:
            raise EstimateError("fdr tests against a minimum support, so it does not go with top; give one of the two")
        if level is not None and least is None and not self.is_split:
            raise EstimateError(
                "fdr_by='all' needs a minimum support that the testing reports did not choose; give min_support, or "
                "fdr_by='split'"
            )
        if least is not None and wanted is not None:
            raise EstimateError("min_support and top (the number of itemsets) do not go together; give one of the two")

    @property
    def threshold(self) -> float | None:
        """The minimum support; None for the automatic one."""
        if self.min_support is None or (isinstance(self.min_support, str) and self.min_support.strip() == AUTO):
            return None
        threshold = read_share(self.min_support, "the minimum support")
        if threshold == 0:
            raise EstimateError("the minimum support must be above 0, as 2%")
        return float(threshold)

    @property
    def fdr_level(self) -> Fraction | None:
        """The expected share of false itemsets among the marked ones; None without tests."""
        return false_discovery.parse_fdr(self.fdr, self.fdr_by)

    @property
    def is_split(self) -> bool:
        """Whether some reports choose the itemsets and the others test them."""
        return self.fdr_level is not None and self.fdr_by == SPLIT

    def largest(self, plan: "Plan") -> int:
        """Return the largest itemset size to mine; EstimateError if the plan cannot estimate it."""
        return check_max_itemset(plan, self.max_itemset)


def check_max_itemset(plan: "Plan", max_itemset: int | None) -> int:
    """Return the largest itemset size to mine, the plan's by default; EstimateError if it cannot be estimated."""
    if max_itemset is None:
        return plan.items.itemset_size
    largest_size, m = as_whole(max_itemset), plan.items.transaction_size
    if largest_size is None or not 1 <= largest_size <= m:
        raise EstimateError(f"itemsets must have 1 to {m} items, the plan's transaction size; got {max_itemset!r}")
    if not has_enough_independence(plan.items, largest_size):
        raise EstimateError(
            f"the plan's generator makes too few items independent for itemsets of {largest_size} items; it supports "
            f"up to {plan.items.itemset_size}. For new reports, make a plan with itemset_size={largest_size}"
        )
    return largest_size


# ---- mining


def mine(backends: "CountingBackend | Sequence[CountingBackend]", request: MiningRequest) -> "LightFrame":
    """Find itemsets from reports alone, as a table that :func:`assocpriv.mine` describes.

    Raises:
        EstimateError: no reports, or sizes that the plan cannot estimate.
    """
    given = list(backends) if isinstance(backends, Sequence) else [backends]
    plans = [backend.plan for backend in given]
    largest = request.largest(max(plans, key=lambda plan: (plan.items.itemset_size, plan.items.transaction_size)))
    if request.fdr_level is not None and len(given) > 1:
        raise EstimateError("fdr takes reports of one plan; mine the reports of each plan separately")
    request = replace(request, max_itemset=largest)
    if request.is_split:
        return _mine_split(given, request, largest)
    rounds = Rounds.from_backends(given, largest)
    result, least = search_reports(PosteriorModel(rounds), request, largest, given[0].most_candidates)
    return _table(result.levels, rounds, request, collect_facts(given, rounds, request, least, result), 0)


def _mine_split(given: list[CountingBackend], request: MiningRequest, largest: int) -> "LightFrame":
    """Choose the itemsets with some reports, and estimate and test them with the others."""
    selecting, testing = (Rounds.from_backends(given, largest, part) for part in (Part.SELECTING, Part.TESTING))
    result, least = search_reports(PosteriorModel(selecting), request, largest, given[0].most_candidates)
    chosen = rows_to_keep(result.levels, least, request, selecting.catalogue)
    itemsets = [level.itemsets[rows] for level, rows in zip(result.levels, chosen, strict=True)]
    levels = PosteriorModel(testing).infer_closed(itemsets, [])
    facts = collect_facts(given, testing, request, least, result)
    return _table(levels, testing, request, facts, selecting.n_reports, itemsets[0][:, 0])


def search_reports(model: PosteriorModel, request: MiningRequest, size: int, most: int) -> tuple[SearchResult, float]:
    """Return the search result and the minimum support."""

    def threshold_of(levels: list[ItemsetLevel]) -> float:
        return request.threshold or _search_threshold(levels, request.top or _DEFAULT_TOP, request)

    result = search(model, threshold_of, size, most, max(_FIRST_PAIRS, _PAIRS_OF_ONE * (request.top or 0)))
    return result, request.threshold or automatic_min_support(result.levels)


def _search_threshold(levels: Levels, count: int, request: MiningRequest) -> float:
    """Return half of the ``count``-th largest support, but at most the automatic minimum support if that applies."""
    least = _largest_support(levels, count) / 2
    counts_all = request.top is not None and request.among == NO_FILTER
    if counts_all or least <= np.median(levels[0].noise):  # where the automatic minimum support starts
        return least
    return min(least, automatic_min_support(levels))


def _largest_support(levels: Levels, count: int) -> float:
    """Return the ``count``-th largest support."""
    return _nth_largest([level.support for level in levels], count)


def _nth_largest(supports: Sequence[NDArray[np.float64]], count: int) -> float:
    best = np.sort(np.concatenate([np.empty(0), *supports]))[::-1]
    return float(best[min(count, len(best)) - 1]) if len(best) else math.inf


def _filtered(levels: Levels, wanted: ItemsetFilter, catalogue: "Catalogue") -> list[NDArray[np.float64]]:
    """Return the supports of the itemsets that match a filter."""
    least, most = read_sizes(wanted.size, "the size")
    ids = [catalogue.index_of[str(name)] for name in wanted.contains]
    sized = [level for level in levels if least <= level.itemsets.shape[1] <= most]
    return [level.support[np.isin(level.itemsets, ids).sum(axis=1) == len(ids)] for level in sized]


def rows_to_keep(levels: Levels, least: float, request: MiningRequest, catalogue: "Catalogue") -> list[Rows]:
    """Return the rows of each size that the table keeps.

    With a minimum support S or a number of itemsets: those with mean S or more, or the largest means. Otherwise also
    smaller ones, as rules of rare itemsets can be selected too, and the best items, from which a next collection may be
    planned.
    """
    lowest = [least] * len(levels)
    if request.top is not None:
        lowest = [_nth_largest(_filtered(levels, request.among, catalogue), request.top)] * len(levels)
    elif request.threshold is None:
        rare = min(least, max(_largest_support(levels, _DEFAULT_TOP) / 2, _largest_support(levels, _MOST_RARE)))
        lowest = [min(rare, _largest_support(levels[:1], _BEST_ITEMS)), *[rare] * (len(levels) - 1)]
    return [np.flatnonzero(level.support >= each) for level, each in zip(levels, lowest, strict=True)]


def collect_facts(
    given: Sequence[CountingBackend], rounds: Rounds, request: MiningRequest, least: float, result: SearchResult
) -> MiningFacts:
    """Return the facts that a table of these collections carries."""
    first = rounds.rounds[0]
    plans = longest_catalogue_first(backend.plan for backend in given)
    sizes = None
    if rounds.size_reports:
        m = first.transaction_size
        estimated = range(1, min(len(result.levels), m) + 1)
        truncation = {str(k): list(first.sizes.truncation_factor(m, k)) for k in estimated}
        sizes = SizeFacts(rounds.size_reports, first.sizes.mean, truncation)
    return MiningFacts(
        [each.plan_id for each in plans], first.transaction_size, rounds.n_reports, least,
        request.errors.confidence_level, result.counted, rounds.whole, result.incomplete_sizes, plans[0].names.unlisted,
        request.threshold is None, int(request.top or 0), None, sizes, max(each.epsilon or 0.0 for each in plans),
    )  # fmt: skip


def _table(
    levels: Levels,
    rounds: Rounds,
    request: MiningRequest,
    facts: MiningFacts,
    selecting: int,
    items: Rows | None = None,
) -> "LightFrame":
    """Return the table; ``items`` are the single items that the selecting reports chose, if reports are split."""
    rows = rows_to_keep(levels, facts.min_support, request, rounds.catalogue)
    if items is not None:
        rows = [items, *(np.arange(len(level)) for level in levels[1:])]
    rows = [chosen for chosen in rows if len(chosen)]
    columns: list[dict[str, NDArray[Any]]] = [{} for _ in rows]
    if request.fdr_level is not None:
        facts, columns = _test_itemsets(levels, rows, rounds, request, facts, selecting)
    table = itemset_frame(levels[: len(rows)], rows, rounds.catalogue, facts, columns)
    probability = _cap_by_subsets(table)
    return table.assign(probability=probability, selected=select_by_fdr(probability))


def _cap_by_subsets(table: "LightFrame") -> NDArray[np.float64]:
    """Return the probabilities of the minimum support, none above that of a subset; small itemsets come first."""
    known: dict[frozenset[str], float] = {}
    for itemset, probability in zip(table["itemsets"].tolist(), table["probability"].tolist(), strict=True):
        subsets = [itemset - {name} for name in itemset] if len(itemset) > 1 else []
        known[itemset] = min([probability, *(known[subset] for subset in subsets)])
    return np.array(list(known.values()), dtype=np.float64)


def _test_itemsets(
    levels: Levels, rows: Sequence[Rows], rounds: Rounds, request: MiningRequest, facts: MiningFacts, selecting: int
) -> tuple[MiningFacts, list[dict[str, NDArray[Any]]]]:
    """Return the facts with the test's, and the columns p_value and significant of every size."""
    assert request.fdr_level is not None
    sums = [level.sums[0][chosen] for level, chosen in zip(levels, rows, strict=False)]
    itemsets = [level.itemsets[chosen] for level, chosen in zip(levels, rows, strict=False)]
    p = false_discovery.p_values_by_size(sums, itemsets, rounds.rounds[0].model, facts.min_support)
    ends, n_items = np.cumsum([0, *map(len, p)]).tolist(), len(rounds.catalogue)
    largest = request.max_itemset or len(facts.counted)  # as requested, whatever the reports show
    hypotheses = ends[-1] if request.is_split else false_discovery.count_all_itemsets(n_items, largest)
    level = request.fdr_level
    rejected = false_discovery.benjamini_hochberg(np.concatenate([np.empty(0), *p]), float(level), hypotheses)
    control = FdrControl(float(level), request.fdr_by, n_items, largest, selecting or facts.reports, hypotheses)
    return replace(facts, fdr=control), [
        dict(zip(FDR_COLUMNS, (one, rejected[start:end]), strict=True))
        for one, (start, end) in zip(p, pairwise(ends), strict=True)
    ]
