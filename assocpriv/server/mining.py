"""Mining: from reports of one or several collections to a table of itemsets.

What is wanted is checked when it is stated, and against the plan before anything is counted. How supports are told is
in posterior.py, how itemsets are found and listed in search.py, what a table says in itemsets.py.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.promise.errors import EstimateError
from assocpriv.promise.numbers import as_whole
from assocpriv.server import false_discovery
from assocpriv.server.counting import CountingBackend, Part
from assocpriv.server.intervals import ErrorOptions, read_share
from assocpriv.server.itemsets import CERTAIN_COLUMNS, Certainty, MiningFacts, SizeFacts, itemset_frame
from assocpriv.server.posterior import Level, Reading
from assocpriv.server.search import Found, automatic_minimum, listed, search
from assocpriv.server.selection import EVERYTHING, ItemsetFilter, read_sizes
from assocpriv.server.waves import Waves, independent_enough, longest_first

if TYPE_CHECKING:
    from assocpriv.files.itemsets import LightFrame
    from assocpriv.plans.baskets import Plan
    from assocpriv.plans.catalogue import Catalogue

AUTO = "auto"
Rows = NDArray[np.int64]
_PAIRS_OF_ONE = 20  # counted at first, for each itemset that is wanted
_FIRST_PAIRS = 5_000
_USUAL_TOP = 64  # itemsets that are looked for where nobody says which
_BEST_ITEMS = 100  # that it has in any case
_MOST_RARE = 1_000  # rows of a table that go on below the minimum support


# ---- requests


@dataclass(frozen=True, slots=True)
class MiningRequest:
    """What to mine, in the words of :func:`assocpriv.mine`.

    Raises:
        EstimateError: words that contradict each other, or a number out of range.
    """

    min_support: "float | str | None" = None
    top: int | None = None
    max_itemset: int | None = None
    certain: "float | str | None" = None
    certain_by: str = false_discovery.SPLIT
    errors: ErrorOptions = field(default_factory=ErrorOptions)
    among: ItemsetFilter = EVERYTHING

    def __post_init__(self) -> None:
        certainty, least, wanted = (
            self.certainty,
            self.threshold,
            as_whole(self.top),
        )  # these refuse what is out of range
        if self.top is not None and (wanted is None or wanted < 1):
            raise EstimateError(f"top must be a whole number from 1, got {self.top!r}")
        if certainty is not None and wanted is not None:
            raise EstimateError("certain goes with a minimum support, not with top")
        if certainty is not None and least is None and not self.is_split:
            raise EstimateError(
                "what is certain needs a minimum support that the testing reports did not choose; give it as a "
                "number, or let others choose (certain_by 'split')"
            )
        if least is not None and wanted is not None:
            raise EstimateError("give a minimum support or top, how many itemsets are wanted, not both")

    @property
    def threshold(self) -> float | None:
        """The minimum support; None where it is to be found."""
        if self.min_support is None or (isinstance(self.min_support, str) and self.min_support.strip() == AUTO):
            return None
        return check_min_support(self.min_support)

    @property
    def certainty(self) -> Fraction | None:
        """1 less the share of false ones allowed among what is called certain."""
        return false_discovery.parse_certainty(self.certain, self.certain_by)

    @property
    def is_split(self) -> bool:
        """Whether some reports choose the itemsets and others test them."""
        return self.certainty is not None and self.certain_by == false_discovery.SPLIT

    def largest(self, plan: "Plan") -> int:
        """Return the largest itemset size to mine; EstimateError if the plan cannot answer for what is asked."""
        return check_max_itemset(plan, self.max_itemset)


def check_min_support(min_support: "float | str") -> float:
    """Read a minimum support in (0, 1]; anything else raises EstimateError."""
    threshold = read_share(min_support, "the minimum support")
    if threshold == 0:
        raise EstimateError("the minimum support must be above 0; every itemset has support 0 or more")
    return float(threshold)


def check_max_itemset(plan: "Plan", max_itemset: int | None) -> int:
    """Return the largest itemset size to mine, the plan's by default; EstimateError if it cannot answer for that."""
    if max_itemset is None:
        return plan.items.itemset_size
    largest_size, m = as_whole(max_itemset), plan.items.transaction_size
    if largest_size is None or not 1 <= largest_size <= m:
        raise EstimateError(
            f"the largest itemset must have 1..{m} items (the plan's transaction size), got {max_itemset}"
        )
    if not independent_enough(plan.items, largest_size):
        raise EstimateError(
            f"itemsets of {largest_size} items need more independent items than the plan's generator gives; "
            f"it was made for itemsets of up to {plan.items.itemset_size} (a plan with "
            f"itemset_size={largest_size} allows more, for new reports)"
        )
    return largest_size


# ---- mining


def mine(backends: "CountingBackend | Sequence[CountingBackend]", request: MiningRequest) -> "LightFrame":
    """Find itemsets from reports alone; :func:`assocpriv.mine` says what the table holds.

    Raises:
        EstimateError: no reports, or sizes that the plan cannot answer.
    """
    given = list(backends) if isinstance(backends, Sequence) else [backends]
    plans = [backend.plan for backend in given]
    widest = max(plans, key=lambda plan: (plan.items.itemset_size, plan.items.transaction_size))
    largest = request.largest(widest)
    if request.certainty is not None and len(given) > 1:
        raise EstimateError("what is certain is told of reports of one plan; mine each plan's by itself")
    request = replace(request, max_itemset=largest)
    if request.is_split:
        return _mine_split(given, request, largest)
    waves = Waves.of(given, largest)
    reading = Reading(waves)
    found, least = searched(reading, request, largest, given[0].most_candidates)
    return _table(found.levels, waves, request, facts_of(given, waves, request, least, found), 0)


def _mine_split(given: list[CountingBackend], request: MiningRequest, largest: int) -> "LightFrame":
    """Let some reports choose the itemsets and the others tell of them."""
    selecting, testing = Waves.of(given, largest, Part.SELECTING), Waves.of(given, largest, Part.TESTING)
    found, least = searched(Reading(selecting), request, largest, given[0].most_candidates)
    chosen = kept_rows(found.levels, least, request, selecting.catalogue)
    itemsets = [level.itemsets[rows] for level, rows in zip(found.levels, chosen, strict=True)]
    levels = Reading(testing).read_again(itemsets, [])
    facts = facts_of(given, testing, request, least, found)
    return _table(levels, testing, request, facts, selecting.n_reports, itemsets[0][:, 0])


def searched(reading: Reading, request: MiningRequest, largest: int, most: int) -> tuple[Found, float]:
    """Return what was counted, and the minimum support."""

    def floor(levels: list[Level]) -> float:
        return request.threshold or _half_of_largest(levels, request.top or _USUAL_TOP, request)

    found = search(reading, floor, largest, most, max(_FIRST_PAIRS, _PAIRS_OF_ONE * (request.top or 0)))
    return found, request.threshold or automatic_minimum(found.levels)


def _half_of_largest(levels: Sequence[Level], count: int, request: MiningRequest) -> float:
    """Return half of the last of the largest supports, but no more than the automatic minimum where that is wanted."""
    least = _last_of(levels, count) / 2
    counts_all = request.top is not None and request.among == EVERYTHING
    if counts_all or least <= np.median(levels[0].noise):  # from where the automatic minimum is looked for
        return least
    return min(least, automatic_minimum(levels))


def _last_of(levels: Sequence[Level], count: int) -> float:
    """Return the last of so many of the largest supports."""
    return _least_of_best([level.support for level in levels], count)


def _least_of_best(supports: Sequence[NDArray[np.float64]], count: int) -> float:
    best = np.sort(np.concatenate([np.empty(0), *supports]))[::-1]
    return float(best[min(count, len(best)) - 1]) if len(best) else math.inf


def _among(levels: Sequence[Level], wanted: ItemsetFilter, catalogue: "Catalogue") -> list[NDArray[np.float64]]:
    """Return the supports of the itemsets that a filter leaves."""
    least, most = read_sizes(wanted.size, "the size")
    ids = [catalogue.index_of[str(name)] for name in wanted.contains]
    sized = [level for level in levels if least <= level.itemsets.shape[1] <= most]
    return [level.support[np.isin(level.itemsets, ids).sum(axis=1) == len(ids)] for level in sized]


def kept_rows(levels: Sequence[Level], least: float, request: MiningRequest, catalogue: "Catalogue") -> list[Rows]:
    """Return the rows of each size that a table has.

    Those of mean S or more, or of the largest means. Where neither was given also smaller ones, as rules of rare
    itemsets can be sure too, and the best items, of which a next collection may be made.
    """
    lowest = [least] * len(levels)
    if request.top is not None:
        lowest = [_least_of_best(_among(levels, request.among, catalogue), request.top)] * len(levels)
    elif request.threshold is None:
        rare = min(least, max(_last_of(levels, _USUAL_TOP) / 2, _last_of(levels, _MOST_RARE)))
        lowest = [min(rare, _last_of(levels[:1], _BEST_ITEMS)), *[rare] * (len(levels) - 1)]
    return [np.flatnonzero(level.support >= each) for level, each in zip(levels, lowest, strict=True)]


def facts_of(
    given: Sequence[CountingBackend], waves: Waves, request: MiningRequest, least: float, found: Found
) -> MiningFacts:
    """Return what a table of these collections is to carry."""
    first = waves.waves[0]
    plans = longest_first(backend.plan for backend in given)
    sizes = None
    if waves.answers:
        m = first.transaction_size
        undoing = {str(k): list(first.law.undoing(m, k)) for k in range(1, min(len(found.levels), m) + 1)}
        sizes = SizeFacts(waves.answers, first.law.mean, undoing)
    return MiningFacts(
        [each.plan_id for each in plans], first.transaction_size, waves.n_reports, least,
        request.errors.confidence_level, found.counted, waves.whole, found.crowded, plans[0].names.others,
        request.threshold is None, int(request.top or 0), None, sizes,
    )  # fmt: skip


def _table(
    levels: list[Level],
    waves: Waves,
    request: MiningRequest,
    facts: MiningFacts,
    selecting: int,
    items: Rows | None = None,
) -> "LightFrame":
    """Put together what is shown; ``items`` are the only ones of them all that others chose, where others did."""
    rows = kept_rows(levels, facts.min_support, request, waves.catalogue)
    if items is not None:
        rows = [items, *(np.arange(len(level)) for level in levels[1:])]
    rows = [chosen for chosen in rows if len(chosen)]
    columns: list[dict[str, NDArray[Any]]] = [{} for _ in rows]
    if request.certainty is not None:
        facts, columns = _with_tests(levels, rows, waves, request, facts, selecting)
    table = itemset_frame(levels[: len(rows)], rows, waves.catalogue, facts, columns)
    probability = _coherent(table)
    return table.assign(probability=probability, listed=listed(probability))


def _coherent(table: "LightFrame") -> NDArray[np.float64]:
    """Return the probabilities to reach the minimum, none above that of a subset; rows go from small to large."""
    known: dict[frozenset[str], float] = {}
    for itemset, probability in zip(table["itemsets"].tolist(), table["probability"].tolist(), strict=True):
        subsets = [itemset - {name} for name in itemset] if len(itemset) > 1 else []
        known[itemset] = min([probability, *(known[subset] for subset in subsets)])
    return np.array(list(known.values()), dtype=np.float64)


def _with_tests(
    levels: Sequence[Level],
    rows: Sequence[Rows],
    waves: Waves,
    request: MiningRequest,
    facts: MiningFacts,
    selecting: int,
) -> tuple[MiningFacts, list[dict[str, NDArray[Any]]]]:
    """Return the columns p_value and certain of every size, and on what these claims rest."""
    assert request.certainty is not None
    sums = [level.sums[0][chosen] for level, chosen in zip(levels, rows, strict=False)]
    itemsets = [level.itemsets[chosen] for level, chosen in zip(levels, rows, strict=False)]
    p = false_discovery.itemset_p_values(sums, itemsets, waves.waves[0].model, facts.min_support)
    ends, n_items = np.cumsum([0, *map(len, p)]).tolist(), len(waves.catalogue)
    largest = request.max_itemset or len(facts.counted)  # as asked: no size is left out because of what reports show
    hypotheses = ends[-1] if request.is_split else false_discovery.all_itemsets(n_items, largest)
    level = request.certainty
    rejected = false_discovery.false_discoveries_controlled(
        np.concatenate([np.empty(0), *p]), float(1 - level), hypotheses
    )
    claim = Certainty(float(level), request.certain_by, n_items, largest, selecting or facts.reports, hypotheses)
    return replace(facts, certain=claim), [
        dict(zip(CERTAIN_COLUMNS, (one, rejected[start:end]), strict=True))
        for one, (start, end) in zip(p, pairwise(ends), strict=True)
    ]
