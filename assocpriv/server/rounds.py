"""Rounds put together: supports of several tables side by side, averaged where they estimate the same thing.

Sees mined tables only. Reports of other people to the same plan estimate the same support, that within at most M
sampled entries, and so may be averaged. Reports to different plans do not: M differs, and what it is sampled from. A
distribution of sizes (of a sizes plan's table, from reports too) allows to correct each table's supports for what
sampling lost (posterior.py), and to average those:

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

**Synthetic holdings** say which entries of a later round's catalogue a basket holds, drawn from estimates alone. No
basket is seen: items are drawn along the tree of the strongest pairs that are known of (Chow and Liu 1968). What the
later round's reports show then weighs these baskets: whoever holds a pattern holds all entries that are parts of it, so
that sampling takes more from those than from others, and earlier rounds may not have seen the pattern.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.itemsets import COMBINED, itemset_records, write_plain
from assocpriv.promise.errors import EstimateError
from assocpriv.server import posterior
from assocpriv.server.itemsets import ATTRIBUTE, CORRECTED, MiningFacts, mining_facts, with_facts
from assocpriv.server.supports import sampling_variance
from assocpriv.server.undo_sampling import LEFT_BIAS, Histogram, Sampling, SizeShares, support_bounds, undo_sampling

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_array


Floats = NDArray[np.float64]
_LEAST_VARIANCE = 1e-18  # where reports are not noisy at all
_ALIKE = 3  # itemsets with equal counts from equally many reports: the same reports
# Of what undoing the sampling of entries changes, this much may be wrong, as a weight beside noise. On 15 generated
# sets of seven families (300,000 people, ln 19 and 1, one seed) the root mean square error of the true top 64 was .15
# to .7 of it where it was half a standard error or more, and .5 to 4.4 before reports weighed the baskets. With .5 a
# pattern's estimates counted for too little: on 11 sets precision .716 against .744.
FITTED_BIAS = 0.25
_BASKETS = 20_000
_MOST_TILT = 3.0
_LEAST_LEFT = 0.1  # share of an entry's support: what is lost beyond, no model tells
_LEAST_ERROR = 1e-6
_STEPS = 200


# ---- sizes


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


# ---- correction


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


# ---- combination


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

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> tables = [ap.mine(ap.randomize([{"tea"}] * count, made), 0.5) for count in (20_000, 30_000)]
    >>> ap.write_combined(ap.combine(tables), f"{mkdtemp()}/both.csv")
    """
    plain = frame.copy()
    plain.attrs = {}

    def text() -> str:
        return json.dumps(combined_records(frame), indent=1, allow_nan=False)

    write_plain(plain, ["itemsets"], text, path, force=force)


# ---- synthetic holdings


@dataclass(frozen=True, slots=True)
class Shown:
    """What reports of sampled entries show: each entry's support among what was sampled, with standard errors.

    ``at_most`` are P(≤ 0 entries held), … P(≤ m − 1 held), the dummies' supports, last first; empty where nobody
    counted them. All float64.
    """

    supports: Floats
    errors: Floats
    at_most: Floats
    at_most_errors: Floats


@dataclass(frozen=True)
class SyntheticHoldings:
    """Which entries synthetic baskets hold, bool (baskets, entries), and what each counts for, float64 (baskets,)."""

    holds: NDArray[np.bool_]
    weights: Floats

    @classmethod
    def of(
        cls, entries: Sequence[posterior.Itemset], known: posterior.Knowledge, sizes: SizeShares
    ) -> "SyntheticHoldings":
        """Draw baskets of the entries' items that hold as many entries as expected on average.

        ``sizes`` are those of whole baskets: where they say that long ones differ more than pairs tell, baskets have
        the sizes that follow.
        The mean number of entries that a basket holds is the sum of their supports, whatever goes with what.
        """
        items = sorted({item for entry in entries for item in entry})
        rng = np.random.default_rng(0)  # nobody's baskets
        baskets = _tree_baskets(items, known, _BASKETS, rng)
        single = np.clip([known[item,].expected for item in items], 1e-5, 0.99)
        within = sizes.grouped().within(single)
        if within.variance > baskets.sum(axis=1).var():
            baskets = _of_sizes(baskets, single, within, rng)
        place = {item: column for column, item in enumerate(items)}
        holds = np.stack([baskets[:, [place[item] for item in entry]].all(axis=1) for entry in entries], axis=1)
        # shrunk supports of noisy items add up to too little
        supports = [known[entry].support if len(entry) == 1 else known[entry].expected for entry in entries]
        mean = float(np.clip(supports, 0.0, 1.0).sum())
        return cls(holds, _tilted(np.ones(_BASKETS), holds.sum(axis=1), mean))

    @property
    def sizes(self) -> SizeShares:
        """How many entries a basket holds."""
        shares = np.bincount(self.holds.sum(axis=1), self.weights)
        return SizeShares(np.arange(len(shares)), shares / shares.sum())

    @property
    def supports(self) -> Floats:
        """Each entry's support, float64 (entries,)."""
        shares: Floats = self.weights @ self.holds / self.weights.sum()
        return shares

    def weighted(self, sampling: Sampling, shown: Shown) -> "SyntheticHoldings":
        """Return the baskets with the nearest weights under which reports would show what they do.

        With blocks numbers of entries held are those within a block, and not looked at.
        """
        from scipy.sparse import csr_array, hstack

        counts = self.holds.sum(axis=1)
        means = csr_array(csr_array(self.holds).multiply(self._kept(sampling)[:, None]))
        told, errors = shown.supports, shown.errors
        if sampling.pieces == 1 and len(shown.at_most):
            few = counts[:, None] <= np.arange(len(shown.at_most))
            means = csr_array(hstack([means, csr_array(few.astype(np.float64))]))
            told, errors = np.append(told, shown.at_most), np.append(errors, shown.at_most_errors)
        return replace(self, weights=_nearest_weights(self.weights, means, told, errors))

    def surviving(self, sampling: Sampling) -> Floats:
        """Return the share of each entry's support that is left after sampling those held, float64 (entries,)."""
        total, left = self.weights @ self.holds, (self.weights * self._kept(sampling)) @ self.holds
        shares: Floats = np.where(total > 0, left / np.maximum(total, 1e-12), 1.0)
        return np.clip(shares, _LEAST_LEFT, 1.0)

    def _kept(self, sampling: Sampling) -> Floats:
        """Return which share of its entries each basket keeps, float64 (baskets,)."""
        sizes, place = np.unique(self.holds.sum(axis=1), return_inverse=True)
        return sampling.kept(np.maximum(sizes, 1), 1)[place]


def surviving_shares(
    entries: Sequence[posterior.Itemset],
    known: posterior.Knowledge,
    sizes: SizeShares,
    sampling: Sampling,
    shown: Shown,
) -> Floats:
    """Return the share of each entry's support that sampling left, from what was known and what reports show.

    Baskets are drawn by what was known, and once more by what the first ones' weights tell of the entries.
    """
    for _ in range(2):
        holdings = SyntheticHoldings.of(entries, known, sizes).weighted(sampling, shown)
        known = known | {
            entry: posterior.measured(s, 0.0) for entry, s in zip(entries, holdings.supports.tolist(), strict=True)
        }
    return holdings.surviving(sampling)


def surviving_entries(
    own: Mapping[frozenset[str], tuple[float, float]],
    others: Mapping[frozenset[str], float],
    sizes: SizeShares,
    m: int,
) -> Floats:
    """Return the share of each entry's support that sampling to m entries left, where entries are itemsets.

    ``own`` are estimates within what was sampled of the entries themselves, and their standard errors, ``others`` what
    other tables say; sizes are those of whole baskets.
    """
    if not own:
        return np.ones(0)
    supports = {entry: support for entry, (support, _) in own.items()}
    names = sorted({name for entry in own for name in entry})
    number = {name: place for place, name in enumerate(names)}
    known: posterior.Knowledge = {
        tuple(sorted(number[name] for name in itemset)): posterior.measured(support, 0.0)
        for itemset, support in {**supports, **others}.items()
        if itemset <= number.keys()
    }
    for name, place in number.items():
        if (place,) not in known:  # at least as frequent as what it is part of
            known[place,] = posterior.measured(
                max(support for itemset, support in supports.items() if name in itemset), 0.0
            )
    entries = [tuple(sorted(number[name] for name in entry)) for entry in own]
    none, (told, errors) = np.zeros(0), np.array(list(own.values())).T
    return surviving_shares(entries, known, sizes, Sampling(m), Shown(told, errors, none, none))


def _tree_baskets(
    items: list[int], known: posterior.Knowledge, count: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree
    from scipy.special import entr

    n = len(items)
    single = np.clip([known[item,].expected for item in items], 1e-5, 0.99)
    joint = np.outer(single, single)
    for (a, i), (b, j) in combinations(enumerate(items), 2):
        if (i, j) in known:
            joint[a, b] = joint[b, a] = known[i, j].expected
    lowest = np.maximum(single[:, None] + single[None, :] - 1, 0)
    joint = np.clip(joint, lowest, np.minimum(single[:, None], single[None, :]))
    left, right = single[:, None], single[None, :]
    cells, sides = (joint, left - joint, right - joint, 1 - left - right + joint), (left, 1 - left, right, 1 - right)
    uncertainty = sum(entr(cell.clip(1e-15)) for cell in cells)
    for side in sides:
        uncertainty = uncertainty - entr(side.clip(1e-15))
    distance = 1.0 - np.clip(-uncertainty, 0.0, 0.999)
    np.fill_diagonal(distance, 0.0)
    root = int(single.argmax())
    order, before = breadth_first_order(minimum_spanning_tree(csr_array(distance)), root, directed=False)
    baskets = np.zeros((count, n), dtype=np.bool_)
    for item in order:
        if item == root:
            baskets[:, item] = rng.random(count) < single[root]
            continue
        parent = before[item]
        with_it = joint[parent, item] / single[parent]
        without = np.clip((single[item] - joint[parent, item]) / (1 - single[parent]), 0.0, 1.0)
        baskets[:, item] = rng.random(count) < np.where(baskets[:, parent], with_it, without)
    return baskets


def _tilted(weights: Floats, values: NDArray[np.int64], mean: float) -> Floats:
    """Return weights times e^(θ·value), of the same sum, under which values have a mean if θ need not go far."""
    scale = max(float(values.std()), 1e-9)

    def tilted(theta: float) -> Floats:
        tilt: Floats = weights * np.exp(np.clip(theta * (values - values.mean()) / scale, -50.0, 50.0))
        tilt *= weights.sum() / tilt.sum()
        return tilt

    low, high = -_MOST_TILT, _MOST_TILT
    for _ in range(40):
        middle = (low + high) / 2
        if tilted(middle) @ values < mean * weights.sum():
            low = middle
        else:
            high = middle
    return tilted((low + high) / 2)


def _of_sizes(
    baskets: NDArray[np.bool_], single: Floats, sizes: SizeShares, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return baskets of these sizes, the longest as the longest: items are added, or left out, as they are popular."""
    quantiles = (np.arange(len(baskets)) + 0.5) / len(baskets)
    place = np.minimum(np.searchsorted(np.cumsum(sizes.shares), quantiles), len(sizes.sizes) - 1)
    wanted = np.empty(len(baskets), dtype=np.int64)
    wanted[np.argsort(baskets.sum(axis=1) + rng.random(len(baskets)))] = sizes.sizes[place]
    keys = np.log(single / (1 - single)) + rng.gumbel(size=baskets.shape) + 1e3 * baskets
    ranks = np.empty(baskets.shape, dtype=np.int64)
    np.put_along_axis(ranks, np.argsort(-keys, axis=1), np.arange(baskets.shape[1])[None, :], axis=1)
    held: NDArray[np.bool_] = ranks < wanted[:, None]
    return held


def _nearest_weights(weights: Floats, means: "csr_array", told: Floats, errors: Floats) -> Floats:
    """Return weights, nearest to given ones by relative entropy, under which means come near to what is told.

    ``means`` are what each basket adds to them, (baskets, means), ``errors`` the standard errors of what is told.
    Weights are multiplied by e^(λ·means), where λ has the least log-partition function − λ·told + Σ (error·λ)²/2.

    Source: maximum entropy with a Gaussian prior, Chen and Rosenfeld, A survey of smoothing techniques, 2000.
    """
    from scipy.optimize import minimize

    start = np.log(np.maximum(weights / weights.sum(), 1e-300))
    errors = np.maximum(errors, _LEAST_ERROR)
    scale = np.sqrt(np.clip(told * (1 - told), 0.0, None) + errors**2)  # so that all means weigh alike

    def tilted(steps: Floats) -> tuple[Floats, float]:
        logs = start + means @ (steps / scale)
        most = float(logs.max())
        parts = np.exp(logs - most)
        return parts / parts.sum(), most + math.log(parts.sum())

    def misfit(steps: Floats) -> tuple[float, Floats]:
        shares, partition = tilted(steps)
        tilt = steps / scale
        value = partition - tilt @ told + ((errors * tilt) ** 2).sum() / 2
        return float(value), (means.T @ shares - told + errors**2 * tilt) / scale

    found = minimize(misfit, np.zeros(len(told)), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    nearest: Floats = tilted(found.x)[0] * weights.sum()
    return nearest
