"""Mined itemsets as a table, in memory and in files.

A table has mlxtend's columns ``support`` and ``itemsets`` and is closed under taking subsets. With its facts (facts.py)
each itemset's ``count`` gives the joint covariance of supports that rules need. Files carry the same
(files/itemsets.py).
"""

import csv
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.arrow import parquet_errors
from assocpriv.files.atomic import atomic_output
from assocpriv.files.itemsets import (
    FORMAT,
    READERS,
    SUBSET_COUNTS,
    WRITERS,
    AnyFrame,
    LightFrame,
    as_column,
    output_format,
    put_together,
)
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.transition import SupportModel
from assocpriv.plans.view import View
from assocpriv.promise.errors import EstimateError, FileError
from assocpriv.server.estimates.intervals import ErrorOptions, support_intervals
from assocpriv.server.estimates.supports import SubsetCounts, SupportEstimates
from assocpriv.server.itemsets.apriori import ItemsetEstimates
from assocpriv.server.itemsets.facts import BLOCK_VERSION, VERSION, MiningFacts
from assocpriv.server.itemsets.sample_splitting import ALL, SPLIT

if TYPE_CHECKING:
    import pandas as pd

_Frame = TypeVar("_Frame", LightFrame, "pd.DataFrame")
ATTRIBUTE = "assocpriv"
COLUMNS = ["support", "itemsets", "std_error", "ci_low", "ci_high", "length", "frequent", "count"]
CERTAIN_COLUMNS = ["p_value", "certain"]  # where it was asked for
RANKS = ["rank", "rank_low", "rank_high"]  # where the largest estimates were asked for
BLOCKS = ["reports", "sampling_loss", SUBSET_COUNTS]  # of plans with blocks
CORRECTED = ["corrected_support", "corrected_std_error", "model_error", "corrected_low", "corrected_high"]
_NUMBERS = dict.fromkeys(
    ("support", "std_error", "ci_low", "ci_high", "p_value", "sampling_loss", *CORRECTED), np.float64
)
_TYPES: dict[str, Any] = _NUMBERS | dict.fromkeys(("frequent", "certain"), np.bool_)
_TYPES |= dict.fromkeys(("length", "count", "reports", *RANKS), np.int64)


def itemset_frame(
    found: Sequence[ItemsetEstimates], plan: Plan, facts: MiningFacts, columns: Sequence[dict[str, NDArray[Any]]]
) -> LightFrame:
    """Put found itemsets into a table, larger supports first within a size; ``columns`` are further ones of each."""
    parts, model = [], facts.respondents.model
    for level, more in zip(found, columns, strict=True):
        names = [names_of(plan.catalogue, plan.view, row) for row in level.itemsets.tolist()]
        part = estimate_columns(names, level.sums, level.estimates, model, facts.errors)
        # the order that files have
        part |= {"frequent": level.frequent, "count": part.pop("count")}
        if level.subsets is not None and facts.blocks is not None:
            loss = facts.blocks.held.lost(level.estimates.support, level.itemsets.shape[1])
            part |= dict(zip(BLOCKS, (level.subsets[:, 0], loss, level.subsets.tolist()), strict=True))
        order = np.argsort(-part["support"], kind="stable")
        parts.append(_typed(LightFrame.made(part | more)).take(order))
    frame = put_together(parts) if parts else _empty_frame(facts)
    if facts.blocks is not None:
        facts = replace(facts, blocks=facts.blocks.with_rows(frame))
    return with_facts(frame, facts)


def with_facts(frame: _Frame, facts: MiningFacts) -> _Frame:
    """Attach facts to a table."""
    frame.attrs[ATTRIBUTE] = facts.to_json()
    return frame


def estimate_columns(
    names: Sequence[frozenset[str]],
    sums: NDArray[np.int64],
    estimates: SupportEstimates,
    model: SupportModel,
    errors: ErrorOptions,
) -> dict[str, Any]:
    """Return the columns that tell what reports say of itemsets of one size, in the order of the itemsets."""
    ends = support_intervals(sums, estimates, model, errors.confidence_level, population=errors.population)
    return {
        "support": estimates.support.astype(np.float64),
        "itemsets": as_column(names),
        "std_error": estimates.std_error(population=errors.population),
        "ci_low": ends[:, 0],
        "ci_high": ends[:, 1],
        "length": np.array([len(itemset) for itemset in names], dtype=np.int64),
        "count": sums[:, -1],
    }


def names_of(catalogue: Catalogue, view: View, row: Sequence[int]) -> frozenset[str]:
    """Return the names of an itemset; where an entry of the catalogue is an itemset, the names that it is made of."""
    if view.itemsets:
        return frozenset(name for entry in row for name in view.itemsets[entry])
    return frozenset(catalogue[item] for item in row)


def _columns_of(facts: MiningFacts) -> list[str]:
    """Return the columns that a table with these facts must have."""
    blocks = BLOCKS if facts.blocks is not None else []
    certain = CERTAIN_COLUMNS if facts.certain is not None else []
    ranks = RANKS if facts.top is not None else []
    return [*COLUMNS, *blocks, *certain, *ranks, *(CORRECTED if facts.corrected else [])]


def _empty_frame(facts: MiningFacts) -> LightFrame:
    return LightFrame({name: np.empty(0, dtype=_TYPES.get(name, object)) for name in _columns_of(facts)})


_KINDS = {np.float64: "fiu", np.bool_: "b", np.int64: "iu"}  # of numbers that a column may be made of


def _typed(frame: LightFrame) -> LightFrame:
    """Return a table with columns of the types that they have; ValueError where one holds anything else."""
    for name, kind in _TYPES.items():
        if name in frame.columns and len(frame) and frame[name].dtype.kind not in _KINDS[kind]:
            raise ValueError(f"the column {name} holds other values")
    return frame.assign(**{name: frame[name].astype(kind) for name, kind in _TYPES.items() if name in frame.columns})


def mining_facts(frame: AnyFrame) -> MiningFacts:
    """Return what a table of itemsets comes from; EstimateError where it does not carry that."""
    if not (hasattr(frame, "columns") and hasattr(frame, "attrs")):
        raise TypeError(
            "itemsets must be a table as mine returned it (read_itemsets reads one from a file), got a "
            f"{type(frame).__name__}"
        )
    missing = [name for name in COLUMNS if name not in frame.columns]
    return _read_facts({} if missing else frame.attrs.get(ATTRIBUTE))


def _read_facts(content: Any) -> MiningFacts:
    known = isinstance(content, dict) and content.get("format") == FORMAT
    if not known or content.get("version") != (BLOCK_VERSION if "blocks" in content else VERSION):
        raise EstimateError(
            "this table does not carry the plan, the number of reports and the counts that standard errors "
            "need; take it as assocpriv.mine returned it or read_itemsets read it"
        )
    return MiningFacts.from_json(content)


def subsets_of(frame: LightFrame) -> Callable[[NDArray[np.int64]], SubsetCounts]:
    """Return what tells the counts of all subsets of itemsets, given by their rows: int64 (sets, 2^k), by mask.

    The rows of single items say which item a bit is; that of the empty set, of whatever row, is every report's.
    """
    n_reports = mining_facts(frame).reports
    counts = np.append(frame["count"], n_reports)

    def of_all(rows: NDArray[np.int64]) -> SubsetCounts:
        shown = counts[rows]
        shown[:, 0] = n_reports
        return SubsetCounts.of_all(shown)

    if SUBSET_COUNTS not in frame.columns:
        return of_all
    lists, reports = frame[SUBSET_COUNTS].tolist(), np.append(frame["reports"], n_reports)
    names = [min(itemset) for itemset in frame["itemsets"]]  # of a single item its own
    rank = np.argsort(np.argsort(np.array(names, dtype=object), kind="stable"), kind="stable")

    def of_blocks(rows: NDArray[np.int64]) -> SubsetCounts:
        k = (rows.shape[1] - 1).bit_length()
        by_name = np.argsort(np.argsort(rank[rows[:, [1 << i for i in range(k)]]], axis=1), axis=1)
        masks = [sum((1 << by_name[:, i]) * (mask >> i & 1) for i in range(k)) for mask in range(1 << k)]
        own = np.array([lists[row] for row in rows[:, -1].tolist()], dtype=np.int64)
        shown = np.take_along_axis(own, np.stack(np.broadcast_arrays(rows[:, 0] * 0, *masks[1:]), axis=1), axis=1)
        asked = reports[rows]
        asked[:, 0] = n_reports
        return SubsetCounts(shown, asked)

    return of_blocks


def write_itemsets(frame: AnyFrame, path: str | Path, *, force: bool = False) -> None:
    """Write a table of itemsets with all that rules need; Parquet, CSV or JSON by extension.

    Raises:
        FileError: unknown extension, existing file without ``force``, or the disk refuses.
        EstimateError: the table does not carry its facts.
    """
    kind = output_format(path)
    content = mining_facts(frame).to_json()
    with atomic_output(path, force=force) as stream:
        WRITERS[kind](LightFrame.of(frame), content, stream)


def read_itemsets(path: str | Path) -> "pd.DataFrame":
    """Read a table of itemsets that :func:`write_itemsets` wrote, as pandas' data frame.

    Raises:
        EstimateError: the file is not such a table, or is damaged.
        FileError: it cannot be read, or has another extension.
    """
    from assocpriv.server.itemsets.shown_frames import shown

    return shown(read_table(path))


def read_table(path: str | Path) -> LightFrame:
    """Read a table of itemsets, without pandas; raises what :func:`read_itemsets` does."""
    source = Path(path)
    kind = output_format(source)
    damage: tuple[type[BaseException], ...] = (*parquet_errors(), csv.Error, AttributeError)
    try:
        frame, content = READERS[kind](source)
        facts = _read_facts(content)
        if kind == "json" and not len(frame):
            frame = _empty_frame(facts)
        frame = with_facts(_typed(LightFrame({name: frame[name] for name in _columns_of(facts)})), facts)
        _check_table(frame, facts)
    except OSError as error:
        raise FileError(f"cannot read {source}: {error.strerror or 'it is damaged'}") from None
    except damage as error:
        reason = str(error).splitlines()[0] if isinstance(error, EstimateError) else _what_else(source)
        raise EstimateError(f"{source} is not a file of mined itemsets: {reason}") from None
    return frame


def _what_else(source: Path) -> str:
    """Say what a file is that holds no itemsets, and what to do with it."""
    from assocpriv.files.reports import holds_reports

    if holds_reports(source):
        return "it holds reports; mine them first: assocpriv mine"
    return "it is damaged or not mined here"


def _check_table(frame: LightFrame, facts: MiningFacts) -> None:
    """Refuse a table that no mining could have written."""
    if not (facts.reports >= 1 and 0 < facts.min_support <= 1):
        raise EstimateError("a number of reports or a minimum support is out of range")
    itemsets = frame["itemsets"].tolist()
    named = all(itemset and all(isinstance(name, str) for name in itemset) for itemset in itemsets)
    sizes = [len(itemset) for itemset in itemsets]
    if not named or sizes != frame["length"].tolist() or len(set(itemsets)) != len(itemsets):
        raise EstimateError("an itemset is empty, repeated, not made of names or of another length than it says")
    if not _between(frame["count"], 0, facts.reports) or (frame["std_error"] < 0).any():
        raise EstimateError("a count or a standard error is out of range")
    if facts.top is not None:
        rank, low, high = (frame[name] for name in RANKS)
        if not ((low >= 0) & (low <= rank) & (rank <= high) & (high <= facts.top.ranked)).all():
            raise EstimateError("a rank is out of range")
    if facts.certain is not None:
        certain = facts.certain
        if not (0 < certain.level < 1 and certain.by in (SPLIT, ALL) and certain.hypotheses >= len(frame)):
            raise EstimateError("what it says of what is certain is out of range")
        if not _between(frame["p_value"], 0, 1):
            raise EstimateError("a p-value is out of range")
    if facts.blocks is not None:
        _check_blocks(frame, facts)


def _between(values: NDArray[Any], least: Any, most: Any) -> bool:
    return bool(((values >= least) & (values <= most)).all())


def _check_blocks(frame: LightFrame, facts: MiningFacts) -> None:
    """Refuse counts that reports about blocks cannot show."""
    if not _between(frame["reports"], frame["count"], facts.reports) or not (frame["sampling_loss"] >= 0).all():
        raise EstimateError("how many reports tell of an itemset, or what it lost, is out of range")
    columns = (frame[SUBSET_COUNTS], sizes_of(frame), frame["reports"], frame["count"])
    rows = zip(*(each.tolist() for each in columns), strict=True)
    for given, size, reports, count in rows:
        counts = list(given)
        whole = len(counts) == 1 << size and all(0 <= int(each) <= reports for each in counts)
        if not whole or (counts[0], counts[-1]) != (reports, count):
            raise EstimateError("the counts of an itemset's subsets are out of range")


def sizes_of(frame: AnyFrame) -> NDArray[np.int64]:
    """Return k of each itemset, int64 (rows,): 1 where an entry of the catalogue is an itemset by itself."""
    sizes = np.asarray(frame["length"], dtype=np.int64)
    return np.ones_like(sizes) if mining_facts(frame).are_entries else sizes


def sure_rows(frame: AnyFrame) -> NDArray[np.bool_]:
    """Tell which itemsets' estimates nobody's itemset would have but in one of a hundred collections, bool (rows,).

    The estimate is at least the support from which the finds of its size can be believed, and at least as many of its
    own standard errors (server/estimates/limits.py).
    """
    sizes, support = sizes_of(frame), np.asarray(frame["support"], dtype=np.float64)
    errors, sure = np.asarray(frame["std_error"], dtype=np.float64), np.zeros(len(frame), dtype=np.bool_)
    for level in mining_facts(frame).levels:
        least = np.maximum(level.level_discoverable_support, level.errors * errors)
        sure |= (sizes == level.size) & (support >= least)
    return sure
