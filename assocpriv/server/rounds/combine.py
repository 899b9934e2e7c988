"""Tables of several rounds as one: supports side by side, and averaged where they estimate the same thing.

Sees mined tables only. Reports of other people to the same plan estimate the same support, that within at most M
sampled entries, and so may be averaged. Reports to different plans do not: M differs, and what it is sampled from. A
distribution of sizes (of a sizes plan's table, from reports too) allows to correct each table's supports for what
sampling lost (sampling_model.py), and to average those:

    x_i   corrected support of table i,  v_i  variance of its error for the population
    b_i   half of the correction: r_i·m/2, where r_i = 1 − (support as mined)/x_i is the share that sampling lost and m
          the average by 1/v_i, so that no table weighs more for having come out low
    support = Σ w_i x_i / Σ w_i,  w_i = 1 / (v_i + b_i²)
    std_error² = Σ w_i² v_i / (Σ w_i)²,  model_error = Σ w_i b_i / Σ w_i

The correction is a model. Up to about half of it may be wrong, in either direction, and as the same model corrects
every table no average takes that away: hence b_i, and model_error beside std_error. What is averaged is the support in
the population that all were drawn from: v_i contains s(1 − s)/N_i also where the table's own errors are for the people
at hand. An itemset that a table lacks was below its minimum support there, which is not counted: near it supports come
out high.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.itemsets import COMBINED, itemset_records, write_plain
from assocpriv.promise.errors import EstimateError
from assocpriv.server.estimates.supports import sampling_variance
from assocpriv.server.itemsets.facts import MiningFacts
from assocpriv.server.itemsets.frames import ATTRIBUTE, CORRECTED, mining_facts, with_facts
from assocpriv.server.rounds.holdings import surviving_entries
from assocpriv.server.rounds.sampling_model import (
    LEFT_BIAS,
    Histogram,
    Sampling,
    SizeShares,
    support_bounds,
    undo_sampling,
)

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
_LEAST_VARIANCE = 1e-18  # where reports are not noisy at all
_ALIKE = 3  # itemsets with equal counts from equally many reports: the same reports


def histogram_of_table(frame: "pd.DataFrame") -> Histogram:
    """Return the histogram of baskets' sizes that a mined table of a sizes plan shows, its errors for the population.

    Buckets that are not in the table were below its minimum support: they share what the others leave of 1, each with
    an error of half that minimum and the largest of the others' together.

    Raises:
        EstimateError: not the table of a sizes plan, or an empty one.
    """
    facts = mining_facts(frame)
    buckets, least = facts.buckets, facts.min_support
    if not isinstance(buckets, dict) or not _are_bounds(list(buckets.values())):
        raise EstimateError(
            "the histogram must be a mined table of a sizes plan (plan --histogram); this one is of another plan"
        )
    rows = zip(frame["support"].tolist(), np.sqrt(_population_variance(frame, facts)).tolist(), strict=True)
    support = {name: row for (name,), row in zip(frame["itemsets"], rows, strict=True)}
    if not support or not support.keys() <= buckets.keys():
        raise EstimateError(
            "the histogram shows none of its plan's buckets; mine its reports with a minimum support that they can "
            "decide (mine tells which), or ask more people"
        )
    missing = len(buckets) - len(support)
    rest = max(0.0, 1 - sum(share for share, _ in support.values()))
    unseen = (min(rest / missing, least) if missing else 0.0, least / 2 + max(error for _, error in support.values()))
    shares, errors = np.array([support.get(name, unseen) for name in buckets], dtype=np.float64).T
    return Histogram(np.array(list(buckets.values()), dtype=np.int64), shares, errors)


def sizes_of_table(frame: "pd.DataFrame") -> SizeShares:
    """Return the smooth distribution of sizes nearest to a mined histogram (:func:`histogram_of_table`)."""
    return histogram_of_table(frame).fitted()


def _are_bounds(bounds: list[Any]) -> bool:
    return all(type(bound) is int for bound in bounds) and bounds[:1] == [0] and bounds == sorted(set(bounds))


def check_correctable(view: str, *, blocks: bool = False) -> None:
    """Refuse a plan whose supports no histogram corrects, as EstimateError; ``view`` is what it asks for."""
    if view != "items":
        raise EstimateError("a histogram corrects supports of itemsets of items; this plan asks for something else")
    if blocks:
        raise EstimateError(
            "a histogram of baskets' sizes says nothing of what a block holds; these reports themselves tell what was "
            "lost (sampling_loss), so leave the histogram out"
        )


def sizes_held(frame: "pd.DataFrame", sizes: SizeShares) -> SizeShares:
    """Return the distribution of the sizes of a table's transactions, before they were sampled, from whole baskets'.

    Where the plan drops other names they are thinned until the mean of min(size, M) is the table's; with blocks its
    supports are of whole transactions, and their mean size that of the table.
    """
    facts = mining_facts(frame)
    entries = _entries(facts)
    if facts.others != "drop":
        return sizes.capped(entries)
    from scipy.optimize import brentq

    support = frame.loc[frame["length"] == 1, "support"].to_numpy(np.float64)
    sampled_mean = float(np.clip(support[np.isfinite(support)], 0.0, 1.0).sum())

    def excess(mean: float) -> float:
        left = sizes.thinned(mean).capped(entries)
        shown = left.sizes if facts.blocks is not None else np.minimum(left.sizes, facts.transaction_size)
        return float(shown @ left.shares) - sampled_mean

    if sizes.mean <= 0 or excess(sizes.mean) <= 0:
        return sizes.capped(entries)
    return sizes.thinned(float(brentq(excess, 0.0, sizes.mean, xtol=1e-6))).capped(entries)


def _entries(facts: MiningFacts) -> int:
    """Return how many entries the catalogue has, which no transaction exceeds; many where that is not said."""
    if facts.blocks is not None:
        return facts.blocks.asked.n_items
    return next((level.candidates for level in facts.levels if level.size == 1), 1 << 30)


def undo_table(frame: "pd.DataFrame", sizes: SizeShares) -> tuple[Floats, Floats]:
    """Return a table's supports before transactions of these sizes were sampled, and the factors of their errors.

    Of a plan with blocks little was lost of what a block holds, and the table says itself how much: ``sampling_loss``.
    """
    if mining_facts(frame).blocks is not None:
        return (frame["support"] + frame["sampling_loss"]).to_numpy(np.float64), np.ones(len(frame))
    m, lengths = mining_facts(frame).transaction_size, frame["length"].to_numpy(np.int64)
    supports, factors = frame["support"].to_numpy(np.float64).copy(), np.ones(len(frame))
    for k in np.unique(lengths).tolist():
        rows = np.flatnonzero((lengths == k) & np.isfinite(supports))
        supports[rows], factors[rows] = undo_sampling(supports[rows], sizes, Sampling(m), k)
    return supports, factors


def correct_table(frame: "pd.DataFrame", histogram: Histogram) -> "pd.DataFrame":
    """Add to a mined table its supports before sampling, what is uncertain of them, and their bounds.

    Errors are for the population; ``model_error`` is half of the correction, as in combined tables. Each itemset's
    bounds hold with the table's confidence level, whatever baskets hold: half of what may fail is the support's error,
    half the histogram's, of all sums of buckets together (Bonferroni). Where the plan drops other names, baskets may
    hold as few of its names as they like, so the low bound is the support as mined.
    """
    facts = mining_facts(frame)
    undone, factors = undo_table(frame, sizes_held(frame, histogram.fitted()))
    support, errors = frame["support"].to_numpy(np.float64), np.sqrt(_population_variance(frame, facts))
    miss = (1 - facts.errors.confidence_level) / 4  # of the bounds' two sides, by supports and by sizes
    reach, widened = (-NormalDist().inv_cdf(tail) for tail in (miss, miss / len(histogram.bounds)))
    between, lengths = (
        np.array([support - reach * errors, support + reach * errors]),
        frame["length"].to_numpy(np.int64),
    )
    ends = np.clip(between, 0.0, 1.0)
    for k in np.unique(lengths).tolist():
        rows = lengths == k
        low, high = between[:, rows]
        ends[:, rows] = support_bounds((low, high), histogram, facts.transaction_size, k, errors=widened)
    if facts.others == "drop":
        ends[0] = np.clip(between[0], 0.0, 1.0)
    columns = undone, errors * factors, LEFT_BIAS * np.abs(undone - support), *ends
    return with_facts(frame.assign(**dict(zip(CORRECTED, columns, strict=True))), replace(facts, corrected=True))


def combine_tables(frames: "Sequence[pd.DataFrame]", sizes: SizeShares | None = None) -> "pd.DataFrame":
    """Put mined tables side by side and average, as :func:`assocpriv.combine`; ``sizes`` are those of whole baskets."""
    if len(frames) < 2:
        raise EstimateError(f"combining takes two tables or more, got {len(frames)}")
    all_facts = [mining_facts(frame) for frame in frames]
    _check_tables(frames, all_facts)
    columns = _side_by_side(frames, all_facts, _corrections(frames, all_facts, sizes))
    allowed = np.isfinite(columns.values) & np.isfinite(columns.noise)
    if sizes is None:
        allowed &= _of_one_plan(allowed, [facts.plan_id for facts in all_facts])[:, None]
    rough, _, _ = _average(columns.values, columns.noise, np.zeros(allowed.shape), allowed)
    bias = LEFT_BIAS * np.abs(columns.lost * np.maximum(rough, 0.0)[:, None])
    averages = _average(columns.values, columns.noise, bias, allowed)
    frame = _combined_frame(columns, averages, corrected=sizes is not None)
    frame.attrs[ATTRIBUTE] = {
        "format": COMBINED,
        "version": 1,
        "corrected": sizes is not None,
        "population": True,
        "tables": [_table_facts(facts, len(table)) for facts, table in zip(all_facts, frames, strict=True)],
        "notes": _notes(all_facts, sizes is not None),
    }
    return frame


@dataclass(frozen=True, slots=True)
class _Columns:
    """What each table says of each itemset, float64 (itemsets, tables), NaN where it does not have it.

    ``values`` are before sampling, with the variance ``noise`` for the population; ``lost`` is the share lost.
    """

    names: list[frozenset[str]]
    support: Floats
    errors: Floats
    values: Floats
    noise: Floats
    lost: Floats


def _side_by_side(
    frames: "Sequence[pd.DataFrame]", all_facts: Sequence[MiningFacts], corrections: Sequence[tuple[Floats, Floats]]
) -> _Columns:
    names = list(dict.fromkeys(itemset for frame in frames for itemset in frame["itemsets"]))
    place = {itemset: row for row, itemset in enumerate(names)}
    columns = _Columns(names, *(np.full((len(names), len(frames)), np.nan) for _ in range(5)))
    for column, (frame, facts, (undone, factors)) in enumerate(zip(frames, all_facts, corrections, strict=True)):
        rows = [place[itemset] for itemset in frame["itemsets"]]
        support = frame["support"].to_numpy(np.float64)
        columns.support[rows, column], columns.errors[rows, column] = support, frame["std_error"].to_numpy(np.float64)
        columns.values[rows, column] = undone
        columns.noise[rows, column] = _population_variance(frame, facts) * factors**2
        # a support of exactly 0 is corrected to 0; the slope there tells the share
        safe = np.where(undone != 0, undone, 1.0)
        columns.lost[rows, column] = np.where(undone != 0, 1 - support / safe, 1 - 1 / factors)
    return columns


def _combined_frame(columns: _Columns, averages: tuple[Floats, Floats, Floats], *, corrected: bool) -> "pd.DataFrame":
    """Return the table, larger supports first; rows without an average last, by the largest that a table says."""
    import pandas as pd

    table: dict[str, Any] = {
        "itemsets": pd.Series(columns.names, dtype=object),
        "length": np.array([len(itemset) for itemset in columns.names], dtype=np.int64),
    }
    table |= dict(zip(["support", "std_error", *(["model_error"] if corrected else [])], averages, strict=False))
    for column in range(columns.support.shape[1]):
        table[f"support_{column + 1}"] = columns.support[:, column]
        table[f"std_error_{column + 1}"] = columns.errors[:, column]
        table |= {f"corrected_{column + 1}": columns.values[:, column]} if corrected else {}
    largest = np.nan_to_num(np.fmax.reduce(columns.support, axis=1), nan=-np.inf)
    order = np.lexsort([-largest, -np.nan_to_num(averages[0], nan=-np.inf)])
    return pd.DataFrame(table).iloc[order].reset_index(drop=True)


def _check_tables(frames: "Sequence[pd.DataFrame]", all_facts: Sequence[MiningFacts]) -> None:
    for number, facts in enumerate(all_facts, 1):
        if facts.view == "sizes":
            raise EstimateError(
                f"table {number} tells how many items baskets hold, not which; give it as the histogram (--histogram)"
            )
    for second, right in enumerate(frames, 1):
        for first, left in enumerate(frames[: second - 1], 1):
            if _same_reports(left, right):
                raise EstimateError(
                    f"tables {first} and {second} were mined from the same reports; each report counts once, so "
                    "give one of them"
                )


def _same_reports(left: "pd.DataFrame", right: "pd.DataFrame") -> bool:
    """Tell whether two tables count equally much of everything that both count."""
    one, other = mining_facts(left), mining_facts(right)
    if one.plan_id != other.plan_id or _reports_in_all(one) != _reports_in_all(other):
        return False
    if one.reports != other.reports:
        return True  # one of them was split into reports that chose and reports that tested
    counts = dict(zip(left["itemsets"], left["count"], strict=True))
    both = [(counts[a], count) for a, count in zip(right["itemsets"], right["count"], strict=True) if a in counts]
    return len(both) >= min(_ALIKE, max(len(left), len(right))) > 0 and all(a == b for a, b in both)


def _reports_in_all(facts: MiningFacts) -> int:
    return facts.reports + (facts.certain.selecting_reports if facts.certain else 0)


def _corrections(
    frames: "Sequence[pd.DataFrame]", all_facts: Sequence[MiningFacts], sizes: SizeShares | None
) -> list[tuple[Floats, Floats]]:
    """Return each table's supports before sampling and the factors of their errors; as they stand without sizes."""
    corrections = [(frame["support"].to_numpy(np.float64), np.ones(len(frame))) for frame in frames]
    if sizes is None:
        return corrections
    # of several tables the latest counts: its catalogue is the shortest, so that sampling lost least of it
    known: dict[frozenset[str], float] = {}
    for number, (frame, facts) in enumerate(zip(frames, all_facts, strict=True)):
        if not facts.are_entries or facts.blocks is not None:
            held = sizes if facts.blocks is not None else sizes_held(frame, sizes)
            undone, _ = corrections[number] = undo_table(frame, held)
            known |= {a: s for a, s in zip(frame["itemsets"], undone.tolist(), strict=True) if np.isfinite(s)}
    for number, (frame, facts) in enumerate(zip(frames, all_facts, strict=True)):
        if facts.are_entries and facts.blocks is None:
            values = zip(frame["support"].tolist(), frame["std_error"].tolist(), strict=True)
            own = dict(zip(frame["itemsets"], values, strict=True))
            surviving = surviving_entries(own, known, sizes, facts.transaction_size)
            corrections[number] = frame["support"].to_numpy(np.float64) / surviving, 1 / surviving
    return corrections


def _population_variance(frame: "pd.DataFrame", facts: MiningFacts) -> Floats:
    variance = frame["std_error"].to_numpy(np.float64) ** 2
    if not facts.errors.population:
        variance = variance + sampling_variance(frame["support"].to_numpy(np.float64), facts.reports)
    result: Floats = np.maximum(variance, _LEAST_VARIANCE)
    return result


def _of_one_plan(listed: NDArray[np.bool_], plans: Sequence[str]) -> NDArray[np.bool_]:
    """Tell of each row whether all tables that list it are of one plan."""
    numbers = np.unique(plans, return_inverse=True)[1]
    low = np.where(listed, numbers, len(plans)).min(axis=1)
    alike: NDArray[np.bool_] = low == np.where(listed, numbers, -1).max(axis=1)
    return alike


def _average(values: Floats, noise: Floats, bias: Floats, allowed: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Return the average of each row, its standard error and what bias may be in it; NaN where nothing is allowed."""
    weights = np.where(allowed, 1 / np.where(allowed, noise + bias**2, 1.0), 0.0)
    total = weights.sum(axis=1)
    shares = weights / np.where(total > 0, total, 1.0)[:, None]
    mean, left = ((shares * np.where(allowed, part, 0.0)).sum(axis=1) for part in (values, bias))
    error = np.sqrt((shares**2 * np.where(allowed, noise, 0.0)).sum(axis=1))
    return tuple(np.where(total > 0, part, np.nan) for part in (mean, error, left))  # type: ignore[return-value]


def _table_facts(facts: MiningFacts, rows: int) -> dict[str, Any]:
    content = {name: getattr(facts, name) for name in ("plan_id", "reports", "transaction_size", "min_support")}
    return content | {"population": facts.errors.population, "entries": facts.view, "itemsets": rows}


def _notes(all_facts: Sequence[MiningFacts], corrected: bool) -> list[str]:
    plans = list(dict.fromkeys(facts.plan_id for facts in all_facts))
    lines = []
    if corrected:
        lines.append(
            "supports are corrected for what sampling to M entries lost, by a model: up to about half of the "
            "correction may remain as bias, in either direction; the standard error does not cover it, the model error "
            "says how much it may be"
        )
    elif len(plans) > 1:
        sizes = ", ".join(f"{number}: M={facts.transaction_size}" for number, facts in enumerate(all_facts, 1))
        lines.append(
            f"tables of different plans are not averaged ({sizes}): their supports are those within at most M sampled "
            "entries, of different catalogues; with a histogram of sizes (--histogram) they can be corrected "
            "and averaged"
        )
    lines.append(
        "a table lists what reached its minimum support: of itemsets near it those that chance lifted, so that their "
        "supports come out high"
    )
    if len(plans) < len(all_facts):
        lines.append("tables of the same plan: mining their reports together loses nothing that one table left out")
    return lines


def combined_records(frame: "pd.DataFrame") -> dict[str, Any]:
    """Return a combined table as JSON content."""
    return dict(frame.attrs[ATTRIBUTE], itemsets=itemset_records(frame))


def write_combined(frame: "pd.DataFrame", path: str | Path, *, force: bool = False) -> None:
    """Write a combined table as Parquet, CSV or JSON by extension, a plain table that other programs read.

    Raises:
        FileError: unknown extension, existing file without ``force``, or the disk refuses.
    """
    plain = frame.copy()
    plain.attrs = {}

    def text() -> str:
        return json.dumps(combined_records(frame), indent=1, allow_nan=False)

    write_plain(plain, ["itemsets"], text, path, force=force)
