"""Mining: from reports of one or several collections to a table of itemsets.

A request is checked when it is made, and against the plan before anything is counted. Supports are estimated in
posterior.py, the table is described in tables.py.

**Counting.** All items are counted; larger itemsets as in Apriori, joined from smaller ones that may reach the
threshold: the minimum support, or the least support wanted. The likeliest candidates come first: of pairs half by the
product of their items' supports, half by the smaller of the two; of larger itemsets those with the largest subsets.
Their number is doubled until at most one in a hundred of the new ones reaches the threshold.

**Selection** at a minimum support S: by falling posterior probability P(s ≥ S), as long as P ≥ .5 and the mean of 1 − P
is at most .05 (Bayesian FDR). So at most one in twenty of the selected itemsets is expected to be below S.

**The default minimum support** is the least t, from the items' median standard error on, at which the itemsets with
mean t or more are below t/2 with a probability of at most 5% on average.

**Tests** control the false discovery rate (FDR) among itemsets marked as frequent, whatever the supports of the others.
The posterior (posterior.py) is the probability of a support under priors fitted to the same reports. The tests here
assume no prior. They test supports within truncated baskets; those of whole baskets are no smaller.

An itemset that looks frequent in some reports does so partly by chance, so the same reports cannot test it as if it had
been chosen beforehand. Two ways:

    split   3 of every 10 reports choose the candidates; the other 7 alone measure and test them. The n hypotheses are
            the candidates: given the reports that chose them, they are fixed.
    all     all reports choose and test; the hypotheses are all itemsets up to the largest size, Σ_k C(items, k), and
            those that were not found count as p = 1.

Reports are randomized independently, so given the transactions both parts (counting.py) are independent. The people
whose reports test are a sample of all, so tests are those for the population that people were drawn from. They also
hold for the people whose reports were collected, whose supports are closer to the estimates.

The null hypothesis of an itemset is "its support is below S". Its p-value is the probability, at support S, of an
estimate at least as large as the observed one (supports.py). The rule of Benjamini and Hochberg keeps the expected
share of false ones among the marked itemsets below the FDR level: with p-values p_(1) ≤ p_(2) ≤ … of n hypotheses,
reject the i smallest for the largest i with p_(i) ≤ i/n · level.

Sources: Cox, A note on data-splitting for the evaluation of significance levels, Biometrika 1975; Benjamini, Hochberg,
Controlling the false discovery rate, J. R. Stat. Soc. B 1995; Benjamini, Yekutieli, The control of the false discovery
rate in multiple testing under dependency, Ann. Stat. 2001.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.size_distribution import LearnedItems
from assocpriv.estimation.supports import ErrorOptions, observed_counts, read_share, upper_tail
from assocpriv.files.mined_tables import ALL, FDR_COLUMNS, SPLIT, FdrControl, MiningFacts, SizeFacts
from assocpriv.files.releases import Release
from assocpriv.guarantees.errors import EstimateError
from assocpriv.guarantees.exact_numbers import as_whole
from assocpriv.kernels.itemset_counts import find_itemsets, group_sizes, join_candidates
from assocpriv.server.baskets.counting import CountingBackend, Part
from assocpriv.server.baskets.posterior import ItemsetLevel, PosteriorModel
from assocpriv.server.baskets.rounds import Round, Rounds, longest_catalogue_first
from assocpriv.server.baskets.tables import NO_FILTER, ItemsetFilter, itemset_frame, read_sizes

if TYPE_CHECKING:
    from assocpriv.files.mined_tables import LightFrame
    from assocpriv.plans.baskets.basket_plan import Plan
    from assocpriv.plans.baskets.catalogue import Catalogue

AUTO = "auto"
_PAIRS_OF_ONE = 20  # counted initially, for each itemset wanted
_FIRST_PAIRS = 5_000
_DEFAULT_TOP = 64  # itemsets searched for by default
_BEST_ITEMS = 100  # always kept in a table
_MOST_RARE = 1_000  # rows kept below the automatic minimum support
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Levels = Sequence[ItemsetLevel]
Threshold = Callable[[list[ItemsetLevel]], float]
LEAST_PROBABILITY, DEFAULT_FDR = 0.5, 0.05
_NEW_SHARE = 0.01  # of new candidates above the threshold, up to which no more are counted
_STEP = 1.02  # ratio of successive minimum supports tried


# ---- requests


@dataclass(frozen=True, slots=True)
class MiningRequest:
    """What to mine, with the arguments of :func:`assocpriv.mine`.

    Attributes:
        min_support: S in (0, 1], as 0.02 or ``"2%"``; None or ``"auto"``: the smallest distinguishable from noise.
        top: instead of a minimum support, the number of itemsets of largest support.
        max_itemset: maximum itemset size; None: the plan's ``itemset_size``.
        fdr: expected share of false itemsets among those marked significant, as 0.05 or ``"5%"``; None: no tests.
        fdr_by: ``split`` or ``all``: which reports choose, and which measure and test.
        errors: the probability of intervals.
        among: with ``top``, count only the itemsets that match.

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
        return parse_fdr(self.fdr, self.fdr_by)

    @property
    def is_split(self) -> bool:
        """Whether some reports choose the itemsets and the others test them."""
        return self.fdr_level is not None and self.fdr_by == SPLIT

    def largest(self, plans: "Iterable[Plan | Release]") -> int:
        """Return the largest itemset size to mine.

        Args:
            plans: the plans of the reports.

        Returns:
            Number of items, from 1 to the largest transaction size of the plans.

        Raises:
            EstimateError: no plan can estimate itemsets of this size.
        """
        return check_max_itemset(plan_of_largest_sets(plans), self.max_itemset)


def plan_of_largest_sets(plans: "Iterable[Plan | Release]") -> "Plan | Release":
    """Return the plan that estimates the largest itemsets: a first round may ask for single items alone."""
    return max(plans, key=lambda plan: (plan.items.itemset_size, plan.items.transaction_size))


def check_max_itemset(plan: "Plan | Release", max_itemset: int | None) -> int:
    """Return the largest itemset size to mine, the plan's by default; EstimateError if it cannot be estimated."""
    if max_itemset is None:
        return plan.items.itemset_size
    largest_size, m = as_whole(max_itemset), plan.items.transaction_size
    if largest_size is None or not 1 <= largest_size <= m:
        raise EstimateError(f"itemsets must have 1 to {m} items, the plan's transaction size; got {max_itemset!r}")
    if not plan.items.supports(largest_size):
        raise EstimateError(
            f"the plan's generator makes too few items independent for itemsets of {largest_size} items; it supports "
            f"up to {plan.items.itemset_size}. For new reports, make a plan with itemset_size={largest_size}"
        )
    return largest_size


# ---- search


def select_by_fdr(probability: Floats, fdr: float = DEFAULT_FDR) -> NDArray[np.bool_]:
    """Return which rows are selected, given their probabilities to be true, float64 (n,), at a Bayesian FDR.

    >>> select_by_fdr(np.array([0.99, 0.4, 0.93, 0.6])).tolist()
    [True, False, True, False]
    """
    order = np.argsort(-probability, kind="stable")
    false_share = np.cumsum(1 - probability[order]) / np.arange(1, len(order) + 1)
    chosen = np.zeros(len(order), dtype=np.bool_)
    chosen[order] = (probability[order] >= LEAST_PROBABILITY) & (false_share <= fdr)
    return chosen


def automatic_min_support(levels: Sequence[ItemsetLevel]) -> float:
    """Return the least minimum support whose itemsets are likely to have more than half of it."""
    least = float(np.median(levels[0].noise))
    support = np.concatenate([level.support for level in levels])
    while True:
        at = [np.flatnonzero(level.support >= least) for level in levels]
        count = sum(map(len, at))
        if not count:
            return min(least, 1.0)
        reached = [level.posteriors.take(rows).above(least / 2) for level, rows in zip(levels, at, strict=True)]
        below = sum(float((1 - each).sum()) for each in reached)
        if below <= DEFAULT_FDR * count:
            return least
        larger = support[support > least * _STEP]
        least = max(least * _STEP, float(larger.min(initial=1.0)) if len(larger) == count else 0.0)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The counted levels; by size how many itemsets were possible; sizes with candidates cut for lack of memory."""

    levels: list[ItemsetLevel]
    possible: list[int]
    incomplete_sizes: list[int]

    @property
    def counted(self) -> list[list[int]]:
        """The numbers of itemsets counted and possible, [counted, possible] of each size."""
        return [[len(level), possible] for level, possible in zip(self.levels, self.possible, strict=True)]


def search(model: PosteriorModel, threshold: Threshold, largest: int, most: int, first: int) -> SearchResult:
    """Count and infer itemsets of up to ``largest`` items: ``first`` of each size initially, at most ``most``."""
    levels, possible, incomplete_sizes = [model.items], [model.n_items], []
    while len(levels) < largest:
        last, least = levels[-1], threshold(levels)
        frequent = np.flatnonzero(last.support + last.error >= least)
        joined = count_joins(last.itemsets[frequent])
        if not joined:
            break
        level, limit = _search_size(model, levels, frequent, threshold, min(first, most), most)
        incomplete_sizes += [len(levels) + 1] if most <= limit < joined else []
        possible.append(len(level) if len(levels) > 1 and joined <= most else joined)
        levels.append(level)
    return SearchResult(levels, possible, incomplete_sizes)


def _search_size(
    model: PosteriorModel, levels: list[ItemsetLevel], frequent: Ints, threshold: Threshold, limit: int, most: int
) -> tuple[ItemsetLevel, int]:
    """Infer more and more of the itemsets joined from some rows, as long as some of the new ones reach the threshold.

    Also return the last limit on their number.
    """
    last = levels[-1]
    all_joined = count_joins(last.itemsets[frequent])
    level, known = model.infer(model.covered(likeliest_candidates(last, frequent, limit)), levels), last.itemsets[:0]
    while limit < min(all_joined, most):
        new = find_itemsets(known, level.itemsets) < 0
        found = int((new & (level.support >= threshold([*levels, level]))).sum())
        if found <= _NEW_SHARE * int(new.sum()):
            break
        known, limit = level.itemsets, min(2 * limit, most)
        level = model.infer(model.covered(likeliest_candidates(last, frequent, limit)), levels, level)
    return level, limit


def likeliest_candidates(level: ItemsetLevel, frequent: Ints, count: int) -> Ints:
    """Return about ``count`` of the likeliest itemsets joined from these rows, in lexicographic order."""
    if level.itemsets.shape[1] == 1:
        return likeliest_pairs(frequent, level.support, count)
    ranked = frequent[np.argsort(-level.support[frequent], kind="stable")]
    few = len(ranked)  # number of sets to join
    if count_joins(level.itemsets[frequent]) > count:
        few = bisect_right(range(few), count, key=lambda n: count_joins(level.itemsets[np.sort(ranked[:n])])) - 1
    return join_candidates(level.itemsets[np.sort(ranked[:few])])


def likeliest_pairs(items: Ints, supports: Floats, count: int) -> Ints:
    """Return about ``count`` pairs of items, int64 (pairs, 2): half by product, half by the smaller support."""
    order = items[np.argsort(-supports[items], kind="stable")]
    n = len(order)
    if n * (n - 1) // 2 <= count:
        left, right = np.triu_indices(n, 1)
    else:
        few = int((1 + np.sqrt(1 + 4 * count)) / 2)  # t(t−1)/2 = count/2
        left, right = np.triu_indices(min(few, n), 1)
        by_product = _by_product(supports[order], count // 2)
        both = np.unique(np.concatenate([left * n + right, by_product[0] * n + by_product[1]]))
        left, right = np.divmod(both, n)
    pairs = np.sort(np.column_stack([order[left], order[right]]), axis=1)
    return np.asarray(pairs[np.lexsort(pairs.T[::-1])])


def _by_product(supports: Floats, count: int) -> tuple[Ints, Ints]:
    """Return places (i < j) of about ``count`` pairs of the largest products; supports fall."""
    rising, places = supports[::-1], np.arange(len(supports))

    def partners(least: float) -> Ints:
        reached = len(rising) - np.searchsorted(rising, least / np.maximum(supports, 1e-300))
        return np.asarray(np.maximum(reached - places - 1, 0))

    low, high = 1e-24, 1.0
    for _ in range(60):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if partners(middle).sum() > count else (low, middle)
    each = partners(high)
    left = np.repeat(places, each)
    return left, left + 1 + np.arange(len(left)) - np.repeat(np.cumsum(each) - each, each)


def count_joins(itemsets: Ints) -> int:
    """Return how many pairs of itemsets, in lexicographic order, share all items but the last."""
    groups = group_sizes(itemsets)
    return int((groups * (groups - 1) // 2).sum())


# ---- mining


def mine(backends: "CountingBackend | Sequence[CountingBackend]", request: MiningRequest) -> "LightFrame":
    """Find itemsets from reports alone, as a table that :func:`assocpriv.mine` describes.

    Raises:
        EstimateError: no reports, or sizes that the plan cannot estimate.
    """
    given = list(backends) if isinstance(backends, Sequence) else [backends]
    largest = request.largest(backend.plan for backend in given)
    if request.fdr_level is not None and (len(given) > 1 or isinstance(given[0].plan, Release)):
        raise EstimateError("fdr takes reports of one plan, and no release; mine the reports of each plan separately")
    request = replace(request, max_itemset=largest)
    if request.is_split:
        return _mine_split(given, request, largest)
    rounds = Rounds.from_backends(given, largest)
    result, least = search_reports(PosteriorModel(rounds), request, largest, given[0].most_candidates)
    return _table(result.levels, rounds, request, collect_facts(given, rounds, request, least, result), 0)


def learn_items(backends: "Sequence[CountingBackend]") -> LearnedItems:
    """Return estimates of single items and of basket sizes.

    Raises:
        EstimateError: no reports.
    """
    rounds = Rounds.from_backends(backends, 1)
    supports = PosteriorModel(rounds).items.support
    sent = rounds.n_reports + rounds.size_reports
    return LearnedItems(tuple(rounds.catalogue), supports, rounds.rounds[0].sizes, sent)


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


def _nth_largest(supports: Sequence[Floats], count: int) -> float:
    best = np.sort(np.concatenate([np.empty(0), *supports]))[::-1]
    return float(best[min(count, len(best)) - 1]) if len(best) else math.inf


def _filtered(levels: Levels, wanted: ItemsetFilter, catalogue: "Catalogue") -> list[Floats]:
    """Return the supports of the itemsets that match a filter."""
    least, most = read_sizes(wanted.size, "the size")
    ids = [catalogue.index_of[str(name)] for name in wanted.contains]
    sized = [level for level in levels if least <= level.itemsets.shape[1] <= most]
    return [level.support[np.isin(level.itemsets, ids).sum(axis=1) == len(ids)] for level in sized]


def rows_to_keep(levels: Levels, least: float, request: MiningRequest, catalogue: "Catalogue") -> list[Ints]:
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
        estimating = {k: round_ for round_ in reversed(rounds.rounds) for k in range(1, round_.itemset_size + 1)}
        truncation = {
            str(k): list(each.sizes.truncation_factor(each.transaction_size, k, each.kept(k)))
            for k, each in sorted(estimating.items())
            if k <= len(result.levels)
        }
        sizes = SizeFacts(rounds.size_reports, first.sizes.mean, truncation)
    return MiningFacts(
        [each.plan_id for each in plans], first.transaction_size, rounds.n_reports, least,
        request.errors.confidence_level, result.counted, rounds.whole, result.incomplete_sizes, plans[0].names.unlisted,
        request.threshold is None, int(request.top or 0), None, sizes,
        max(float(each.epsilon or 0.0) for each in plans),
        "basket" if all(isinstance(each, Release) for each in plans) else "report",
    )  # fmt: skip


def _table(
    levels: Levels,
    rounds: Rounds,
    request: MiningRequest,
    facts: MiningFacts,
    selecting: int,
    items: Ints | None = None,
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
    levels: Levels, rows: Sequence[Ints], rounds: Rounds, request: MiningRequest, facts: MiningFacts, selecting: int
) -> tuple[MiningFacts, list[dict[str, NDArray[Any]]]]:
    """Return the facts with the test's, and the columns p_value and significant of every size."""
    assert request.fdr_level is not None
    sums = [level.sums[0][chosen] for level, chosen in zip(levels, rows, strict=False)]
    itemsets = [level.itemsets[chosen] for level, chosen in zip(levels, rows, strict=False)]
    first = rounds.rounds[0]
    assert isinstance(first, Round)
    model = first.model
    p = make_monotone([upper_tail(observed_counts(each, model), facts.min_support) for each in sums], itemsets)
    ends, n_items = np.cumsum([0, *map(len, p)]).tolist(), len(rounds.catalogue)
    largest = request.max_itemset or len(facts.counted)  # as requested, whatever the reports show
    hypotheses = ends[-1] if request.is_split else sum(comb(n_items, k) for k in range(1, largest + 1))
    level = request.fdr_level
    rejected = benjamini_hochberg(np.concatenate([np.empty(0), *p]), float(level), hypotheses)
    control = FdrControl(float(level), request.fdr_by, n_items, largest, selecting or facts.reports, hypotheses)
    return replace(facts, fdr=control), [
        dict(zip(FDR_COLUMNS, (one, rejected[start:end]), strict=True))
        for one, (start, end) in zip(p, pairwise(ends), strict=True)
    ]


# ---- tests


def parse_fdr(fdr: "float | str | None", fdr_by: str) -> Fraction | None:
    """Return the FDR level, such as ``"5%"``: the expected share of false ones among marked itemsets; None without one.

    Raises:
        EstimateError: a level not strictly between 0 and 1, or an unknown way to test.
    """
    if fdr_by not in (SPLIT, ALL):
        raise EstimateError(f"fdr_by must be {SPLIT!r} or {ALL!r}, got {fdr_by!r}")
    if fdr is None:
        return None
    level = read_share(fdr, "fdr")
    if not 0 < level < 1:
        raise EstimateError(f"fdr must lie between 0 and 1, got {float(level):g}; 0.05 allows 5% false results")
    return level


def make_monotone(p: Sequence[Floats], itemsets: Sequence[Ints]) -> list[Floats]:
    """Raise p-values to those of the tested subsets, so that subsets of a significant itemset are significant too.

    An itemset with a subset below S is below S itself, and a larger p-value keeps a test valid. There is one array per
    size, sizes ascending: p-values float64 (n,), itemsets int64 (n, k), items ascending in every row.

    >>> singles, pairs = np.array([[0], [1], [2]]), np.array([[0, 1], [0, 2]])
    >>> make_monotone([np.array([0.01, 0.2, 0.03]), np.array([0.05, 0.01])], [singles, pairs])[1]
    array([0.2 , 0.03])
    """
    known: dict[tuple[int, ...], float] = {}
    result = []
    for values, rows in zip(p, itemsets, strict=True):
        raised = np.array(values, dtype=np.float64)
        for members in (list(c) for size in range(1, rows.shape[1]) for c in combinations(range(rows.shape[1]), size)):
            np.maximum(raised, [known.get(tuple(subset), 0.0) for subset in rows[:, members].tolist()], out=raised)
        known.update(zip(map(tuple, rows.tolist()), raised.tolist(), strict=True))
        result.append(raised)
    return result


def benjamini_hochberg(p: NDArray[np.float64], level: float, n_hypotheses: int) -> NDArray[np.bool_]:
    """Return which hypotheses are rejected, with an expected share of wrong rejections of at most ``level``.

    Proved for p-values that are independent, or positively regression dependent on those of true hypotheses (Benjamini,
    Yekutieli 2001, theorem 1.2). Itemsets that share items share reports, for which neither is proved. The tests
    simulate the worst case, all supports exactly S. Hypotheses without a p-value here count as p = 1.

    >>> benjamini_hochberg(np.array([0.9, 0.01, 0.04]), 0.1, 3)
    array([False,  True,  True])
    >>> benjamini_hochberg(np.array([0.9, 0.01, 0.04]), 0.1, 10)
    array([False,  True, False])
    """
    limits = level / max(n_hypotheses, 1) * np.arange(1, len(p) + 1)
    below = np.flatnonzero(np.sort(p) <= limits)
    return p <= limits[below[-1]] if len(below) else np.zeros(len(p), dtype=np.bool_)
