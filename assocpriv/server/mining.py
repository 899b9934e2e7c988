"""Mining: from a collection of reports to a table of frequent itemsets.

What is wanted is checked when it is stated, and against the plan before anything is counted. How itemsets are found is
in apriori.py and false_discovery.py, what a table says in itemsets.py.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.promise.errors import EstimateError
from assocpriv.promise.numbers import as_whole
from assocpriv.server import false_discovery, itemsets
from assocpriv.server.apriori import ItemsetEstimates, measure
from assocpriv.server.counting import CountingBackend, Part, Source
from assocpriv.server.intervals import ErrorOptions, read_share
from assocpriv.server.whole_baskets import with_whole_baskets

if TYPE_CHECKING:
    from assocpriv.files.itemsets import LightFrame
    from assocpriv.plans.baskets import Plan

AUTO = "auto"
Columns = list[dict[str, NDArray[Any]]]  # of each size


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

    def __post_init__(self) -> None:
        certainty, aim = self.certainty, self.aim  # these refuse what is out of range
        if certainty is not None and aim.top is not None:
            raise EstimateError("certain goes with a minimum support, not with top")
        if certainty is not None and aim.min_support is None and not self.is_split:
            raise EstimateError(
                "what is certain needs a minimum support that the testing reports did not choose; give it as a "
                "number, or let others choose (certain_by 'split')"
            )

    @property
    def aim(self) -> false_discovery.Aim:
        """Which itemsets are wanted."""
        return check_aim(self.min_support, self.top)

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


def check_aim(min_support: "float | str | None", top: int | None) -> false_discovery.Aim:
    """Read what is to be mined: a minimum support, ``"auto"``, or how many of the largest estimates."""
    if (min_support is None) == (top is None):
        raise EstimateError(
            "give either a minimum support, as 2% or auto (the lowest at which what is found can be believed), or top, "
            "how many itemsets of the largest estimates are wanted"
        )
    wanted = as_whole(top)
    if top is not None and (wanted is None or wanted < 1):
        raise EstimateError(f"top must be a whole number from 1, got {top!r}")
    if min_support is None or (isinstance(min_support, str) and min_support.strip() == AUTO):
        return false_discovery.Aim(None, wanted)
    return false_discovery.Aim(check_min_support(min_support), None)


def check_max_itemset(plan: "Plan", max_itemset: int | None) -> int:
    """Return the largest itemset size to mine, the plan's by default; EstimateError if it cannot answer for that."""
    if max_itemset is None:
        return plan.items.itemset_size
    largest_size, m = as_whole(max_itemset), plan.items.transaction_size
    if largest_size is None or not 1 <= largest_size <= m:
        raise EstimateError(
            f"the largest itemset must have 1..{m} items (the plan's transaction size), got {max_itemset}"
        )
    if plan.items.generator.kind == "none":
        return largest_size
    needed = min(m + largest_size, plan.items.padded_items)
    independent = plan.items.generator.independent_items(plan.items.independent.insert_bits)
    if independent < needed:
        raise EstimateError(
            f"itemsets of {largest_size} items need any {needed} items of a report independent, but the plan's "
            f"generator gives {independent}; it was made for itemsets of up to {plan.items.itemset_size} "
            f"(plan --itemset-size {largest_size} allows more, for new reports)"
        )
    return largest_size


# ---- mining


def mine(backend: CountingBackend, request: MiningRequest) -> "LightFrame":
    """Find frequent itemsets from reports alone; :func:`assocpriv.mine` says what the table holds.

    Raises:
        EstimateError: no reports, or sizes that the plan cannot answer.
    """
    plan, largest = backend.plan, request.largest(backend.plan)
    measurement = (_mine_split if request.is_split else _mine_together)(backend, request, largest)
    facts = itemsets.MiningFacts(
        plan.plan_id,
        plan.items.transaction_size,
        plan.items.itemset_size,
        measurement.source[0].n_reports,
        plan.items.operator,
        measurement.mined.min_support,
        # those who test are a sample of all (false_discovery.py)
        replace(request.errors, population=request.errors.population or request.is_split),
        tuple(measurement.mined.levels),
        others=plan.names.others,
        auto=request.aim.min_support is None and request.aim.top is None,
    )
    columns: Columns = [{} for _ in measurement.found]
    if request.aim.top is not None:
        mined, level, population = measurement.mined, facts.errors.confidence_level, facts.errors.population
        ranks = false_discovery.rank_sets(mined, facts.respondents, level, population=population)
        columns = [dict(zip(itemsets.RANKS, one.T, strict=True)) for one in ranks]
        facts = replace(facts, top=itemsets.Ranking(request.aim.top, mined.ranked))
    if request.certainty is not None:
        facts, columns = _with_tests(facts, measurement, request, plan.n_items, largest)
    if not any(len(level.itemsets) for level in measurement.found):
        facts = replace(facts, largest_estimate=_largest_estimate(backend))
    return with_whole_baskets(itemsets.itemset_frame(measurement.found, plan, facts, columns), backend)


def _largest_estimate(backend: CountingBackend) -> float | None:
    """Return the largest estimate of single items, for telling what another minimum support would show."""
    source = backend.open(Part.WHOLE)
    items = np.arange(backend.plan.n_items, dtype=np.int64)[:, None]
    (singles,) = measure(source, [items], 1.0)
    support = singles.estimates.support
    return float(support.max()) if np.isfinite(support).all() else None


@dataclass(frozen=True, slots=True)
class _Measurement:
    """What was mined; its itemsets as measured, in which reports; and how many reports chose them."""

    mined: false_discovery.Mined
    found: list[ItemsetEstimates]
    selecting_reports: int
    source: Source


def _mine_together(backend: CountingBackend, request: MiningRequest, largest: int) -> _Measurement:
    source = backend.open(Part.WHOLE)
    mined = false_discovery.mine_for(request.aim, source, backend.plan.n_items, largest, backend.most_candidates)
    return _Measurement(mined, mined.found, source[0].n_reports, source)


def _mine_split(backend: CountingBackend, request: MiningRequest, largest: int) -> _Measurement:
    """Let some reports choose the itemsets and the others measure them."""
    selecting, testing = backend.open(Part.SELECTING), backend.open(Part.TESTING)
    n_selecting, n_testing = selecting[0].n_reports, testing[0].n_reports
    if not (n_selecting and n_testing):
        raise EstimateError(
            f"{n_selecting + n_testing} reports are too few to be split into some that choose and some that test"
        )
    mined = false_discovery.mine_for(request.aim, selecting, backend.plan.n_items, largest, backend.most_candidates)
    del selecting  # gives its memory back
    found = measure(testing, [level.itemsets for level in mined.found], mined.min_support)
    return _Measurement(mined, found, n_selecting, testing)


def _with_tests(
    facts: itemsets.MiningFacts, measurement: _Measurement, request: MiningRequest, n_items: int, largest: int
) -> tuple[itemsets.MiningFacts, Columns]:
    """Return the columns p_value and certain of every size, and on what these claims rest."""
    assert request.certainty is not None
    model, population = measurement.source[1], facts.errors.population
    p = false_discovery.itemset_p_values(measurement.found, model, facts.min_support, population=population)
    ends = np.cumsum([0, *map(len, p)]).tolist()
    hypotheses = ends[-1] if request.is_split else false_discovery.all_itemsets(n_items, largest)
    level, selecting = request.certainty, measurement.selecting_reports
    certain = itemsets.Certainty(float(level), request.certain_by, n_items, largest, selecting, hypotheses)
    rejected = false_discovery.false_discoveries_controlled(
        np.concatenate([np.empty(0), *p]), float(1 - level), hypotheses
    )
    return replace(facts, certain=certain), [
        dict(zip(itemsets.CERTAIN_COLUMNS, (one, rejected[start:end]), strict=True))
        for one, (start, end) in zip(p, pairwise(ends), strict=True)
    ]
