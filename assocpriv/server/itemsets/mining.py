"""Mined itemsets as a table, in memory and in files.

The table has mlxtend's columns ``support`` and ``itemsets`` and is closed under taking subsets. Its
``attrs["assocpriv"]`` say which plan, operator and number of reports it came from: rules need them, together
with each itemset's ``count``, for the joint covariance of supports. Files carry the same facts: Parquet in its
metadata, JSON as fields, CSV in a first line that starts with ``# assocpriv-itemsets``.
"""

import csv
import math
from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import EstimateError, FileError, PlanError
from assocpriv.core.machine import LEAST_MEMORY, default_memory
from assocpriv.core.privacy import parse_probability
from assocpriv.files.atomic import atomic_output
from assocpriv.files.basket_reports import basket_groups
from assocpriv.files.parquet import parquet_errors
from assocpriv.files.reports import Reports
from assocpriv.files.tables import FORMAT, GROUP_COUNTS, READERS, WRITERS, output_format
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.operator import operator_from_json
from assocpriv.plans.baskets.plan import Plan
from assocpriv.plans.baskets.transition import SupportModel
from assocpriv.plans.baskets.view import View
from assocpriv.server.consistency.nearest import consistent_supports, sparse_covariance
from assocpriv.server.counting.backend import LocalCounter, Packed, Progress
from assocpriv.server.estimates.false_discovery import false_discoveries_controlled
from assocpriv.server.estimates.intervals import support_intervals
from assocpriv.server.estimates.supports import Group, SupportEstimates, covariance
from assocpriv.server.itemsets.apriori import (
    MOST_CANDIDATES,
    STATUSES,
    FoundItemsets,
    Level,
    candidates_within,
    measure,
)
from assocpriv.server.itemsets.sample_splitting import (
    ALL,
    SPLIT,
    ReportPart,
    all_itemsets,
    itemset_p_values,
    parse_certainty,
)
from assocpriv.server.itemsets.thresholds import Aim, mine_for, rank_sets

if TYPE_CHECKING:
    import pandas as pd

ATTRIBUTE = "assocpriv"
VERSION = 3
COLUMNS = ["support", "itemsets", "std_error", "ci_low", "ci_high", "length", "frequent", "count"]
CERTAIN_COLUMNS = ["p_value", "certain"]  # where it was asked for
RANKS = ["rank", "rank_low", "rank_high"]  # where the largest estimates were asked for
AUTO = "auto"
CONSISTENT = "consistent_support"
REALIZABLE, LOCAL = "realizable", "local"  # the fact "consistent": some transactions have them, or that is not proven
MOST_COVARIANCES = 3_000  # itemsets; above, variances alone: with covariances 5,000 take the solver 14 s
_NUMBERS = dict.fromkeys(("support", "std_error", "ci_low", "ci_high", "p_value", CONSISTENT), np.float64)
_TYPES: dict[str, Any] = _NUMBERS | dict.fromkeys(("frequent", "certain"), np.bool_)
_TYPES |= dict.fromkeys(("length", "count", *RANKS), np.int64)
_FACTS: dict[str, Any] = {
    "plan_id": str,
    "transaction_size": int,
    "itemset_size": int,
    "reports": int,
    "min_support": float,
    "confidence_level": float,
    "population": bool,
    "groups": list,
    "levels": list,
}
_LEVEL_COUNTS = ("size", "candidates", "kept", "frequent")
_MAY_BE_UNKNOWN = ("std_error", "lowest_discoverable_support", "level_discoverable_support")
_LEVEL_NUMBERS = (*_MAY_BE_UNKNOWN, "errors", "min_support")
_COUNTS = ("items", "largest", "selecting_reports", "hypotheses")
_CERTAIN_FACTS: dict[str, Any] = {"level": float, "by": str} | dict.fromkeys(_COUNTS, int)


def mine(
    reports: Reports,
    min_support: "float | str | None" = None,
    *,
    top: int | None = None,
    max_itemset: int | None = None,
    certain: "float | str | None" = None,
    certain_by: str = SPLIT,
    consistent: bool = False,
    confidence_level: float = 0.95,
    population: bool = False,
    memory_bytes: int | None = None,
    progress: Progress | None = None,
) -> "pd.DataFrame":
    """Find frequent itemsets from reports alone.

    Supports are shares of transactions *within at most M sampled items* (the plan's transaction size): a longer
    basket reported only M of its items. Estimates are unbiased and not clipped to [0, 1].

    Args:
        reports: the collection.
        min_support: s_min in (0, 1], as 0.02 or ``"2%"``; or ``"auto"``, the lowest at which what is found can be
            believed, of each size that these reports can decide at all.
        top: instead of a minimum support, how many itemsets of the largest estimates are wanted; what ties with the
            last of them comes too. Each gets its rank among all that were counted, and the ranks that it may have.
        max_itemset: largest itemsets; the plan's ``itemset_size`` by default, which its generator supports.
        certain: also test which itemsets are frequent, such that among those called certain the expected share of
            false ones is at most 1 less this: ``"95%"`` allows 5%.
        certain_by: ``split`` (a part of the reports chooses the itemsets, the rest alone measures and tests them) or
            ``all`` (all do both, and every possible itemset counts as tested).
        consistent: also give the nearest supports that some transactions have, or of tables too large for that
            supports that satisfy what is known to be necessary; the fact ``consistent`` says which.
        confidence_level: of the intervals ``ci_low`` … ``ci_high`` (server/estimates/intervals.py).
        population: standard errors, intervals and tests for the population that the transactions were drawn from,
            instead of for the transactions that were collected.
        memory_bytes: what of reports, bitmaps and candidates may be held; a quarter of the free memory by default.
        progress: called with (what is done, done, total).

    Returns:
        One row an itemset, columns ``support``, ``itemsets`` (frozenset of names), ``std_error``, ``ci_low``,
        ``ci_high``, ``length``, ``frequent`` and ``count`` (reports showing the itemset). Subsets of frequent
        itemsets that noise pushes below s_min are there with ``frequent`` False. If asked for, also ``p_value`` and
        ``certain``, ``consistent_support``, and with ``top`` ``rank``, ``rank_low`` and ``rank_high`` (0 of a size
        that these reports cannot decide).

    Raises:
        EstimateError: no reports, or sizes that the plan cannot answer.
    """
    plan = reports.plan.as_a(Plan)
    aim = check_aim(min_support, top)
    largest = check_max_itemset(plan, max_itemset)
    level = parse_certainty(certain, certain_by)
    check_confidence_level(confidence_level)
    if level is not None and (aim.top is not None or (aim.min_support is None and certain_by == ALL)):
        raise EstimateError(
            "certain goes with a minimum support, not with top"
            if aim.top is not None
            else "what is certain needs a minimum support that the testing reports did not choose; give it as a "
            "number, or let others choose (certain_by 'split')"
        )
    if consistent and plan.view.kind == "itemsets":
        raise EstimateError(
            "consistent supports need the subsets of every itemset measured too; this plan asks for chosen itemsets"
        )
    open_parts = partial(collections_of, memory_bytes=memory_bytes, progress=progress)
    # what is free at the moment decides how fast, not whether
    most = MOST_CANDIDATES if memory_bytes is None else candidates_within(memory_bytes)
    parts: Sequence[Packed] = basket_groups(reports)
    split = level is not None and certain_by == SPLIT
    if split:
        choosing = [ReportPart(part, True) for part in parts]
        parts = [ReportPart(part, False) for part in parts]
        if not (any(map(len, choosing)) and any(map(len, parts))):
            raise EstimateError(
                f"{len(reports)} reports are too few to be split into some that choose and some that test"
            )
        mined = mine_for(aim, open_parts(choosing), plan.n_items, largest, most)
        collections = open_parts(parts)
        found = measure(collections, [one.itemsets for one in mined.found], mined.min_support)
    else:
        collections = open_parts(parts)
        mined = mine_for(aim, collections, plan.n_items, largest, most)
        found = mined.found
    groups = [Group(counter.n_reports, model) for counter, model in collections]
    facts: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "plan_id": plan.plan_id,
        "transaction_size": plan.transaction_size,
        "itemset_size": plan.itemset_size,
        "reports": sum(map(len, parts)),
        "groups": [
            {"reports": len(part), "operator": group.operator.to_json()}
            for part, group in zip(parts, plan.groups, strict=True)
        ],
        "min_support": mined.min_support,
        "confidence_level": confidence_level,
        # those who test are a sample of all (server/itemsets/sample_splitting.py)
        "population": population or split,
        "levels": [_level_record(one) for one in mined.levels],
    }
    facts |= _view_facts(plan)
    if aim.min_support is None and aim.top is None:
        facts["auto"] = True
    more: list[dict[str, NDArray[Any]]] = [{} for _ in found]
    if aim.top is not None:
        ranks = rank_sets(mined, groups, confidence_level, population=population)
        facts["top"] = {"wanted": aim.top, "ranked": mined.ranked}
        more = [dict(zip(RANKS, one.T, strict=True)) for one in ranks]
    if level is not None:
        candidates = sum(len(one.itemsets) for one in found)
        facts["certain"] = {
            "level": float(level),
            "by": certain_by,
            "items": plan.n_items,
            "largest": largest,
            "selecting_reports": len(reports) - facts["reports"] if split else len(reports),
            "hypotheses": candidates if split else all_itemsets(plan.n_items, largest),
        }
        more = _certain_columns(found, groups, facts, 1 - level)
    frame = to_frame(found, plan, groups, facts, more)
    return _with_consistent(frame, facts) if consistent else frame


def _view_facts(plan: Plan) -> dict[str, Any]:
    """Say what a transaction is made of where it is not a whole basket's items: later rounds need to know."""
    view = plan.view
    if view.kind == "sizes":
        return {"view": view.kind, "buckets": dict(zip(plan.catalogue, view.bounds, strict=True))}
    if view.kind == "itemsets":
        return {"view": view.kind}
    return {"others": view.others} if view.others == "drop" else {}


def collections_of(
    parts: Sequence[Packed], *, memory_bytes: int | None, progress: Progress | None
) -> list[tuple[LocalCounter, SupportModel]]:
    """Return for each operator's reports a counter over them, and the operator's model; they share the memory."""
    memory = default_memory() if memory_bytes is None else memory_bytes
    total = max(1, sum(map(len, parts)))
    shares = [max(memory * len(part) // total, min(memory, LEAST_MEMORY)) for part in parts]
    return [
        (LocalCounter(part, memory_bytes=share, progress=progress), SupportModel.of(part.plan.operator))
        for part, share in zip(parts, shares, strict=True)
    ]


def _certain_columns(
    found: Sequence[FoundItemsets], groups: Sequence[Group], facts: dict[str, Any], false_share: Fraction
) -> list[dict[str, NDArray[Any]]]:
    """Return the columns p_value and certain of every size."""
    p = itemset_p_values(found, groups, facts["min_support"], population=facts["population"])
    together = np.concatenate([np.empty(0), *p])
    sure = false_discoveries_controlled(together, float(false_share), facts["certain"]["hypotheses"])
    ends = np.cumsum([0, *(len(one) for one in p)]).tolist()
    return [
        dict(zip(CERTAIN_COLUMNS, (one, sure[start:end]), strict=True))
        for one, (start, end) in zip(p, pairwise(ends), strict=True)
    ]


def _with_consistent(frame: "pd.DataFrame", facts: dict[str, Any]) -> "pd.DataFrame":
    """Add the consistent supports nearest to the estimates; errors and intervals stay those of the estimates."""
    groups, itemsets = groups_of(facts), frame["itemsets"].tolist()
    variance: Any = frame["std_error"].to_numpy(np.float64) ** 2
    if 0 < len(frame) <= MOST_COVARIANCES and np.isfinite(variance).all():
        # the row beyond the last is the empty set's, which every report shows
        counts = np.vstack([counts_of(frame), [group.n_reports for group in groups]])

        def of_pattern(rows: NDArray[np.int64], left: list[int], right: list[int]) -> NDArray[np.float64]:
            subset_counts = counts[rows].transpose(0, 2, 1)
            return covariance(subset_counts, groups, left, right, population=facts["population"])

        variance = sparse_covariance(itemsets, variance, of_pattern)
    # every basket has a size, so where all buckets are in the table each transaction holds one of its items
    every = facts.get("view") == "sizes" and len(frame) == len(facts["buckets"])
    found = consistent_supports(
        itemsets,
        frame["support"].to_numpy(np.float64),
        variance,
        smallest=int(every),
        largest=facts["transaction_size"],
    )
    frame = frame.assign(**{CONSISTENT: found.supports})
    frame.attrs[ATTRIBUTE] = facts | {"consistent": REALIZABLE if found.realizable else LOCAL}
    return frame


def _level_record(level: Level) -> dict[str, Any]:
    """Return a level as JSON content, which has no infinity: null where nothing can be learned."""
    fields = asdict(level).items()
    return {name: None if isinstance(value, float) and math.isinf(value) else value for name, value in fields}


def check_min_support(min_support: "float | str") -> float:
    """Read a minimum support in (0, 1].

    Raises:
        EstimateError: anything else.
    """
    try:
        threshold = parse_probability(min_support, "the minimum support")
    except PlanError as error:
        raise EstimateError(str(error)) from None
    if threshold == 0:
        raise EstimateError("the minimum support must be above 0; every itemset has support 0 or more")
    return float(threshold)


def check_aim(min_support: "float | str | None", top: int | None) -> Aim:
    """Read what is to be mined: a minimum support, ``"auto"``, or how many of the largest estimates.

    Raises:
        EstimateError: neither or both, or one that is out of range.
    """
    if (min_support is None) == (top is None):
        raise EstimateError(
            "give either a minimum support, as 2% or auto (the lowest at which what is found can be believed), or top, "
            "how many itemsets of the largest estimates are wanted"
        )
    if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 1):
        raise EstimateError(f"top must be a whole number from 1, got {top!r}")
    if min_support is None or (isinstance(min_support, str) and min_support.strip() == AUTO):
        return Aim(None, top)
    return Aim(check_min_support(min_support), None)


def check_confidence_level(level: float) -> None:
    """Refuse the level of an interval that does not lie between 0 and 1.

    Raises:
        EstimateError: it does not.
    """
    if not (level > 0 and (1 + level) / 2 < 1):
        raise EstimateError(f"confidence_level must lie between 0 and 1, got {level:.17g}")


def check_max_itemset(plan: Plan, max_itemset: int | None) -> int:
    """Return the largest itemset size to mine, the plan's by default.

    Raises:
        EstimateError: the plan's reports cannot answer for that size.
    """
    entries = plan.view.kind == "itemsets"
    if max_itemset is None:
        return 1 if entries else plan.itemset_size
    if entries and max_itemset != 1:
        raise EstimateError(
            f"each entry of this plan's catalogue is an itemset by itself, so the largest must be 1 entry, got "
            f"{max_itemset}; ask for a union as an entry of its own, in a new plan"
        )
    m = plan.transaction_size
    if not 1 <= max_itemset <= m:
        raise EstimateError(
            f"the largest itemset must have 1..{m} items (the plan's transaction size), got {max_itemset}"
        )
    if plan.generator.kind == "none":
        return max_itemset
    for group in plan.groups:
        largest = min(max_itemset, group.transaction_size)
        needed = min(group.transaction_size + largest, group.padded_items)
        independent = plan.generator.independent_items(group.independent.insert_bits)
        if independent < needed:
            raise EstimateError(
                f"itemsets of {max_itemset} items need any {needed} items of a report independent, but the plan's "
                f"generator gives {independent}; it was made for itemsets of up to {plan.itemset_size} "
                f"(plan --itemset-size {max_itemset} allows more, for new reports)"
            )
    return max_itemset


def to_frame(
    found: Sequence[FoundItemsets],
    plan: Plan,
    groups: Sequence[Group],
    facts: dict[str, Any],
    more: Sequence[dict[str, NDArray[Any]]],
) -> "pd.DataFrame":
    """Put found itemsets into a table, larger supports first within a size; ``facts`` become its attrs.

    ``more`` holds further columns of each size.
    """
    import pandas as pd

    parts = []
    for level, columns in zip(found, more, strict=True):
        names = [names_of(plan.catalogue, plan.view, row) for row in level.itemsets.tolist()]
        part = pd.DataFrame(
            estimate_columns(names, level.sums, level.estimates, groups, facts) | {"frequent": level.frequent}
        )
        part["count"] = part.pop("count")  # the order that files have
        if level.counts.shape[1] > 1:
            part[GROUP_COUNTS] = level.counts.tolist()
        part = part.assign(**columns)
        parts.append(part.sort_values("support", ascending=False, kind="stable"))
    frame = pd.concat(parts, ignore_index=True) if parts else _empty_frame(facts)
    frame.attrs[ATTRIBUTE] = facts
    return frame


def estimate_columns(
    names: Sequence[frozenset[str]],
    sums: NDArray[np.int64],
    estimates: SupportEstimates,
    groups: Sequence[Group],
    facts: dict[str, Any],
) -> dict[str, Any]:
    """Return the columns that tell what reports say of itemsets of one size, in the order of the itemsets."""
    level, population = facts["confidence_level"], facts["population"]
    ends = support_intervals(sums, estimates, groups, level, population=population)
    return {
        "support": estimates.support.astype(np.float64),
        "itemsets": list(names),
        "std_error": estimates.std_error(population=population),
        "ci_low": ends[:, 0],
        "ci_high": ends[:, 1],
        "length": np.array([len(itemset) for itemset in names], dtype=np.int64),
        "count": sums[..., -1].sum(axis=1),
    }


def names_of(catalogue: Catalogue, view: View, row: Sequence[int]) -> frozenset[str]:
    """Return the names of an itemset; where an entry of the catalogue is an itemset, the names that it is made of."""
    if view.kind == "itemsets":
        return frozenset(name for entry in row for name in view.itemsets[entry])
    return frozenset(catalogue[item] for item in row)


def _columns_of(facts: dict[str, Any]) -> list[str]:
    """Return the columns that a table with these facts must have."""
    certain = CERTAIN_COLUMNS if facts.get("certain") is not None else []
    ranks = RANKS if facts.get("top") is not None else []
    return [*COLUMNS, *certain, *ranks, *([CONSISTENT] if facts.get("consistent") else [])]


def _empty_frame(facts: dict[str, Any]) -> "pd.DataFrame":
    import pandas as pd

    return _typed(pd.DataFrame({name: pd.Series(dtype=object) for name in _columns_of(facts)}))


def _typed(frame: "pd.DataFrame") -> "pd.DataFrame":
    return frame.astype({name: kind for name, kind in _TYPES.items() if name in frame.columns})


def mining_facts(frame: "pd.DataFrame") -> dict[str, Any]:
    """Return what a table of itemsets says of its plan, reports and operator.

    Raises:
        EstimateError: the table does not carry it.
    """
    facts = frame.attrs.get(ATTRIBUTE)
    missing = [name for name in COLUMNS if name not in frame.columns]
    if not isinstance(facts, dict) or facts.get("format") != FORMAT or facts.get("version") != VERSION or missing:
        raise EstimateError(
            "this table does not carry the plan, the number of reports and the counts that standard errors "
            "need; take it as assocpriv.mine returned it or read_itemsets read it"
        )
    return facts


def groups_of(facts: dict[str, Any]) -> list[Group]:
    """Return the groups of reports that a table of itemsets came from, with their models."""
    return [
        Group(group["reports"], SupportModel.of(operator_from_json(group["operator"]))) for group in facts["groups"]
    ]


def counts_of(frame: "pd.DataFrame") -> NDArray[np.int64]:
    """Return how many reports of each group show each itemset, int64 (itemsets, groups)."""
    if not len(frame):
        return np.empty((0, len(frame.attrs[ATTRIBUTE]["groups"])), dtype=np.int64)
    if GROUP_COUNTS in frame.columns:
        return np.array(frame[GROUP_COUNTS].tolist(), dtype=np.int64).reshape(len(frame), -1)
    return frame["count"].to_numpy(np.int64)[:, None]


def write_itemsets(frame: "pd.DataFrame", path: str | Path, *, force: bool = False) -> None:
    """Write a table of itemsets with all that rules need; Parquet, CSV or JSON by extension.

    Raises:
        FileError: unknown extension, existing file without ``force``, or the disk refuses.
        EstimateError: the table does not carry its facts.
    """
    kind = output_format(path)
    facts = mining_facts(frame)
    with atomic_output(path, force=force) as stream:
        WRITERS[kind](frame, facts, stream)


def read_itemsets(path: str | Path) -> "pd.DataFrame":
    """Read a table of itemsets that :func:`write_itemsets` wrote.

    Raises:
        EstimateError: the file is not such a table, or is damaged.
        FileError: it cannot be read, or has another extension.
    """
    source = Path(path)
    kind = output_format(source)
    damage: tuple[type[BaseException], ...] = (*parquet_errors(), csv.Error, AttributeError)
    try:
        frame, facts = READERS[kind](source)
        if kind == "json" and not len(frame):
            frame = _empty_frame(facts)
        chosen = _columns_of(facts)
        chosen[len(COLUMNS) : len(COLUMNS)] = [name for name in [GROUP_COUNTS] if name in frame.columns]
        frame = _typed(frame[chosen])
        frame.attrs[ATTRIBUTE] = facts
        _check_table(frame, mining_facts(frame))
    except OSError as error:
        raise FileError(f"cannot read {source}: {error.strerror or 'it is damaged'}") from None
    except damage as error:
        reason = str(error).splitlines()[0] if isinstance(error, EstimateError) else "it is damaged or not mined here"
        raise EstimateError(f"{source} is not a file of mined itemsets: {reason}") from None
    return frame


def _check_table(frame: "pd.DataFrame", facts: dict[str, Any]) -> None:
    """Refuse a table that no mining could have written."""
    for name, kind in _FACTS.items():
        if not isinstance(facts.get(name), kind) or (kind is int and isinstance(facts[name], bool)):
            raise EstimateError(f"it lacks the fact {name}, or has another kind of it")
    if not (facts["reports"] >= 1 and 0 < facts["min_support"] <= 1 and 0 < facts["confidence_level"] < 1):
        raise EstimateError("a number of reports, a minimum support or a confidence level is out of range")
    if sum(group.n_reports for group in groups_of(facts)) != facts["reports"]:
        raise EstimateError("its groups do not add up to its number of reports")
    itemsets = frame["itemsets"].tolist()
    named = all(itemset and all(isinstance(name, str) for name in itemset) for itemset in itemsets)
    sizes = [len(itemset) for itemset in itemsets]
    if not named or sizes != frame["length"].tolist() or len(set(itemsets)) != len(itemsets):
        raise EstimateError("an itemset is empty, repeated, not made of names or of another length than it says")
    if not frame["count"].between(0, facts["reports"]).all() or (frame["std_error"] < 0).any():
        raise EstimateError("a count or a standard error is out of range")
    _check_levels(facts["levels"])
    _check_ranks(frame, facts)
    if facts.get("consistent", LOCAL) not in (REALIZABLE, LOCAL):
        raise EstimateError("it does not say in which way its supports are consistent")
    _check_certain(frame, facts)
    counts = counts_of(frame)
    if counts.shape[1:] != (len(facts["groups"]),) or (counts.sum(axis=1) != frame["count"]).any():
        raise EstimateError("the counts of its groups do not add up")


def _check_levels(levels: list[Any]) -> None:
    """Refuse accounts of sizes that nothing could be said from."""
    for level in levels:
        whole = isinstance(level, dict) and all(type(level.get(name)) is int for name in _LEVEL_COUNTS)
        if not whole or not all(_is_share(level.get(name), name in _MAY_BE_UNKNOWN) for name in _LEVEL_NUMBERS):
            raise EstimateError("what it says of an itemset size is incomplete")
        if level.get("status") not in STATUSES:
            raise EstimateError("it decides about an itemset size in an unknown way")


def _is_share(value: Any, may_be_unknown: bool) -> bool:
    """Tell whether a fact is a number from 0, or null where that may be."""
    if value is None:
        return may_be_unknown
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _check_ranks(frame: "pd.DataFrame", facts: dict[str, Any]) -> None:
    """Refuse ranks that no itemset among those counted can have."""
    top = facts.get("top")
    if top is None:
        return
    if not isinstance(top, dict) or any(
        type(top.get(name)) is not int or top[name] < 0 for name in ("wanted", "ranked")
    ):
        raise EstimateError("it does not say of how many itemsets the largest were taken")
    rank, low, high = (frame[name] for name in RANKS)
    if not ((low >= 0) & (low <= rank) & (rank <= high) & (high <= top["ranked"])).all():
        raise EstimateError("a rank is out of range")


def _check_certain(frame: "pd.DataFrame", facts: dict[str, Any]) -> None:
    """Refuse claims without what they rest on."""
    certain = facts.get("certain")
    if certain is None:
        return
    for name, kind in _CERTAIN_FACTS.items():
        if not isinstance(certain.get(name), kind) or isinstance(certain[name], bool):
            raise EstimateError(f"it lacks the fact {name} of what is certain, or has another kind of it")
    if not (0 < certain["level"] < 1 and certain["by"] in (SPLIT, ALL) and certain["hypotheses"] >= len(frame)):
        raise EstimateError("what it says of what is certain is out of range")
    if not frame["p_value"].between(0, 1).all():
        raise EstimateError("a p-value is out of range")


def sizes_of(frame: "pd.DataFrame") -> NDArray[np.int64]:
    """Return k of each itemset, int64 (rows,): 1 where an entry of the catalogue is an itemset by itself."""
    entries = mining_facts(frame).get("view") == "itemsets"
    return np.ones(len(frame), dtype=np.int64) if entries else frame["length"].to_numpy(np.int64)


def sure_rows(frame: "pd.DataFrame") -> NDArray[np.bool_]:
    """Tell which itemsets' estimates nobody's itemset would have: fewer than one in a hundred collections.

    The estimate is at least the support from which the finds of its size can be believed, and at least as many of its
    own standard errors (server/estimates/limits.py).

    Returns:
        bool (rows,).
    """
    sizes, support = sizes_of(frame), frame["support"].to_numpy(np.float64)
    errors, sure = frame["std_error"].to_numpy(np.float64), np.zeros(len(frame), dtype=np.bool_)
    for level in mining_facts(frame)["levels"]:
        if level["level_discoverable_support"] is not None:
            least = np.maximum(level["level_discoverable_support"], level["errors"] * errors)
            sure |= (sizes == level["size"]) & (support >= least)
    return sure


def describe_undecided(facts: dict[str, Any]) -> list[str]:
    """Say, a line each, what these reports cannot decide at this minimum support."""
    certain = facts.get("certain")
    false_ones = "expect false ones among them" if certain is None else "expect false ones among those not certain"
    consequence = {"undecidable": "none are reported", "uncertain": false_ones}
    n_reports = facts["reports"] if certain is None else certain["selecting_reports"]
    return [
        f"itemsets of {level['size']}: {level['status']} at {level['min_support']:.4g} from {n_reports:,} reports "
        f"({_reach(level)}); {consequence[level['status']]}"
        for level in facts["levels"]
        if level["status"] == "undecidable" or (level["status"] == "uncertain" and level["candidates"])
    ]


def _reach(level: dict[str, Any]) -> str:
    """Say what the reports can tell of one itemset of a size, and of all of them."""
    lowest, whole = level["lowest_discoverable_support"], level["level_discoverable_support"]
    spread = "" if level["std_error"] is None else f"standard error {level['std_error']:.2%}; "
    if lowest is None or lowest >= 1:
        return f"{spread}nothing below 100% is discoverable"
    asked = f"all {level['candidates']:,} counted" if level["candidates"] else "all that there are"
    believed = "cannot be believed below 100%" if whole is None or whole >= 1 else f"can be believed from {whole:.2%}"
    return f"{spread}{lowest:.2%} is the lowest discoverable of one itemset, {asked} {believed}"
