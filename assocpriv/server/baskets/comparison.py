"""Comparison of supports and rules between stores, regions or seasons (the sides), from mined tables.

There are T sides in a given order. Side t estimates an itemset's support as x_t ± e_t before any prior. The difference
is the change along a straight line from the first side to the last,

    d = Σ_t c_t x_t,   c_t = (T − 1) (t − t̄) / Σ_t (t − t̄)²,

which for two sides is x_2 − x_1. Sides have different people, so their noise is independent.

**Shared truncation errors.** x = F s' corrects for truncation to M items (truncation.py). The basket-size distribution
gives F for an itemset's size; the rest of the error in ln F depends on whether holders of the itemset have small
baskets. Where M is the same, all sides share that rest. So the ln F of the sides, less their median at that size, are
averaged by precision. The error of the mean multiplies all supports of an itemset, and their difference, by one factor.
ω² is how much the sides really differ: the mean square of the deviations less their errors, or 0 if that is negative.
Where M differs, nothing is shared and all errors count. Different people report the size distributions.

**Posterior of differences.** Most differences are small, and the largest of many noisy ones are noise. So d gets a
posterior under a mixture of normal distributions around 0. EM fits its weights to all differences of one size
(Stephens, False discovery rates: a new deal, Biostatistics 18 (2017)). Without promotions, frequent items change by
more points than rare ones, but by a smaller share. So components are as wide as a support to the power ¾. The narrowest
component is not scaled and stands for no change. True differences are hardly ever exactly 0, so intervals include its
width. ``probability`` is that of a change of more than ``at_least`` in the direction of the mean. Rows are selected by
falling probability while it is at least one half and the Bayesian FDR is at most 5%.

**Significance tests** use no prior. The hypothesis "the difference is at most ``at_least``" has the p-value
Φ((δ − |d|)/σ) + Φ((−δ − |d|)/σ). Reports decide which itemsets are compared. So all itemsets of the catalogue up to the
largest size count as tested, those not compared with p = 1. Each size has the same share of the level: weights
n/(K·n_k) in the rule of Benjamini and Hochberg (Genovese, Roeder, Wasserman, False discovery control with p-value
weighting, Biometrika 93 (2006)).

A rule's confidence b/a has the difference Σ_t c_t x_t(b)/m_t(a), where m_t(a) is the posterior mean. Variances follow
from the delta method: errors that both supports share cancel.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.mixtures import Mixtures, find_intervals, fit_weights, mixture_cdf, mixture_posteriors
from assocpriv.estimation.supports import ErrorOptions, read_share
from assocpriv.estimation.truncation import shared_errors
from assocpriv.files.mined_tables import (
    SPLIT,
    AnyFrame,
    LightFrame,
    MiningFacts,
    as_column,
    concat_frames,
    mining_facts,
    plain_record,
    posterior_components,
    write_plain,
)
from assocpriv.guarantees.errors import EstimateError
from assocpriv.plans.result_display import figure, html_renderer, short_repr
from assocpriv.server.baskets.ask import SearchedReports
from assocpriv.server.baskets.counting import CountingBackend
from assocpriv.server.baskets.mining import MiningRequest, benjamini_hochberg, parse_fdr, select_by_fdr
from assocpriv.server.baskets.rules import MIN_CONFIDENCE, SIDES, chosen_confidences, derive_rules

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
_LEAST_VARIANCE = 1e-16
_NARROWEST, _FIRST, _STEP = 0.2, 0.09, 2.0**0.5  # prior components: in median errors; ratio of successive widths
_POWER = 0.75  # of the support in a component's width: between changes in points and changes in shares
_NONE_SHARE, _PSEUDO, _STEPS = 0.9, 10.0, 300  # EM start: weight of the narrowest component, pseudo-counts, steps
_LEAST_SIZES = 3
_MOST_SHOWN = 4  # itemsets of a repr


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """Options of a comparison, named as in :func:`assocpriv.compare`.

    Raises:
        EstimateError: A number is out of range.
    """

    at_least: "float | str" = 0.0
    fdr: "float | str | None" = None
    min_confidence: "float | str" = MIN_CONFIDENCE
    errors: ErrorOptions = field(default_factory=ErrorOptions)

    def __post_init__(self) -> None:
        if self.least >= 1:
            raise EstimateError(f"at_least, the smallest relevant difference, must be below 1, got {self.at_least!r}")
        _ = self.level  # raises if out of range

    @property
    def level(self) -> float | None:
        """The expected share of false ones among significant rows; None without tests."""
        level = parse_fdr(self.fdr, SPLIT)
        return None if level is None else float(level)

    @property
    def least_confidence(self) -> float:
        """The minimum confidence of rules."""
        return float(read_share(self.min_confidence, "the minimum confidence"))

    @property
    def least(self) -> float:
        """The smallest relevant difference, a share of baskets."""
        return float(read_share(self.at_least, "at_least, the smallest relevant difference,"))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Differences in supports and rules between sides.

    Attributes:
        names: Names of the sides.
        itemsets, rules: One row each, the most probable difference first. Both have ``difference``, ``std_error``,
            ``ci_low``, ``ci_high``, ``probability``, ``selected``, ``unbiased`` and ``unbiased_error`` (the difference
            before any prior). Tests add ``p_value`` and ``significant``. Lists have one number a side:
            ``above_minimum`` (the probability of reaching the minimum), ``supports`` or ``confidences``, and their
            ``lows`` and ``highs``.
        facts: Reports, plans and options of the comparison, as JSON content.
    """

    names: list[str]
    itemsets: LightFrame
    rules: LightFrame
    facts: dict[str, Any]

    _repr_html_ = html_renderer("assocpriv.show.comparison_views:compared")

    def __repr__(self) -> str:
        selected = [f"{int(table['selected'].sum())} of {len(table)}" for table in (self.itemsets, self.rules)]
        spent = self.facts.get("epsilon_in_all")
        rows = [f"people on all sides: ε ≤ {figure(spent, 'up')} in total"] * (spent is not None)
        rows += [
            f"{{{figure(row['itemsets'], 'names')}}}: {row['difference']:+.2%} "
            f"({row['ci_low']:+.2%} to {row['ci_high']:+.2%})"
            for row in self.itemsets.head(_MOST_SHOWN).to_dict()
            if row["selected"]
        ]
        answer = f"{', '.join(self.names)}; {selected[0]} itemsets selected, {selected[1]} rules"
        return short_repr(self, answer, rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row an itemset, with separate columns for each side; ``rules.to_pandas()`` has the rules.

        Returns:
            A pandas frame in the order of ``itemsets``, with ``support NAME``, ``ci_low NAME``, ``ci_high NAME`` and
            ``above_minimum NAME`` for each name of a side.
        """
        flat = to_flat_table(self).head(len(self.itemsets))
        kept = [name for name in flat.columns if name not in ("of", *SIDES)]
        return LightFrame({name.replace("value ", "support ", 1): flat[name] for name in kept}).to_pandas()


def compare(sides: Mapping[str, AnyFrame], request: CompareRequest) -> Comparison:
    """Compare mined tables, given by the names of their sides, as :func:`assocpriv.compare`.

    Raises:
        EstimateError: The tables have no itemset in common, or their supports have different meanings.
    """
    names, facts = list(sides), [mining_facts(table) for table in sides.values()]
    light = [LightFrame.from_frame(table) for table in sides.values()]
    if len({each.whole for each in facts}) > 1:
        raise EstimateError(
            "some of these supports refer to whole baskets and some to truncated baskets, which cannot be compared; "
            "use plans with a report type about sizes, and enough reports of that type"
        )
    present = [{*table["itemsets"]} for table in light]
    known = set.intersection(*present)
    if not known:
        raise EstimateError("no itemset is estimated on all sides; compare reports whose plans have items in common")
    tables = [_rows_of(table, known) for table in light]
    least = max(each.min_support for each in facts)
    sizes = [each.transaction_size if len(each.plan_ids) == 1 else 0 for each in facts]
    shared = len({*sizes}) == 1 and sizes[0] > 0 and facts[0].whole
    evidence = _Evidence.from_tables(tables, _contrast(len(sides)), shared)
    itemsets = _itemset_rows(tables, evidence, request, facts, least)
    rules = _rule_rows(tables, evidence, request, facts)
    counts = {"compared": len(known), "left_out": len(set.union(*present)) - len(known)}
    content = _content(names, sizes, request, facts) | {"min_support": least, "shared_truncation": shared} | counts
    return Comparison(names, itemsets, rules, content)


def _contrast(sides: int) -> Floats:
    """Return the weights c_t of the change along a straight line, float64 (sides,).

    >>> _contrast(2).tolist(), _contrast(4).round(2).tolist()
    ([-1.0, 1.0], [-0.9, -0.3, 0.3, 0.9])
    """
    places = np.arange(sides) - (sides - 1) / 2
    return np.asarray((sides - 1) * places / (places @ places))


def _rows_of(table: LightFrame, known: set[frozenset[str]]) -> LightFrame:
    """Return the rows of these itemsets, small ones first, then by name."""
    sets = table["itemsets"].tolist()
    rows = [row for row, itemset in enumerate(sets) if itemset in known]
    return table.take(np.array(sorted(rows, key=lambda row: (len(sets[row]), sorted(sets[row]))), dtype=np.int64))


def _content(names: list[str], sizes: list[int], request: CompareRequest, facts: list[MiningFacts]) -> dict[str, Any]:
    return {
        "sides": [
            {
                "name": name, "reports": each.reports, "unit": each.unit, "plan_ids": each.plan_ids,
                "transaction_size": size, "mean_size": each.sizes and each.sizes.mean,
            }
            for name, size, each in zip(names, sizes, facts, strict=True)
        ],
        "whole": facts[0].whole,
        "min_confidence": request.least_confidence,
        "at_least": request.least,
        "confidence_level": request.errors.confidence_level,
        "fdr": request.level,
    }  # fmt: skip


# ---- collections


def read_sides(
    collections: Mapping[str, Sequence[CountingBackend]], tables: Mapping[str, AnyFrame], errors: ErrorOptions
) -> dict[str, AnyFrame]:
    """Return for each collection a table of all itemsets found in any collection or table that all plans can estimate.

    Raises:
        EstimateError: There are no reports.
    """
    request = MiningRequest(errors=errors)
    searched = {name: SearchedReports.search(backends, request) for name, backends in collections.items()}
    found = {itemset for table in tables.values() for itemset in table["itemsets"]}
    if searched:
        # a choice by one side's reports would favour itemsets that its noise makes large: false differences
        together = SearchedReports.search([each for backends in collections.values() for each in backends], request)
        found |= together.mined_itemsets(request) | {frozenset([name]) for name in together.catalogue}
    read: dict[str, AnyFrame] = {}
    largest = min((len(each.found.levels) for each in searched.values()), default=0)
    for name, reports in searched.items():
        ids = reports.catalogue.index_of
        chosen = [each for each in found if len(each) <= largest and all(item in ids for item in each)]
        read[name] = reports.estimate(reports.covered(tuple(sorted(ids[item] for item in each)) for each in chosen))
    return read


# ---- evidence


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Estimates of each itemset on each side, float64 (sides, itemsets).

    Attributes:
        contrast: Weights of the difference, (sides,).
        x: Supports before any prior, with the shared truncation correction.
        noise: Variances that are independent between sides.
        pooled: Relative error that all sides share, (itemsets,).
        supports, errors: Posterior means and standard deviations.
    """

    contrast: Floats
    x: Floats
    noise: Floats
    pooled: Floats
    supports: Floats
    errors: Floats

    @classmethod
    def from_tables(cls, tables: Sequence[LightFrame], contrast: Floats, shared: bool) -> "_Evidence":
        names = ("unbiased", "unbiased_error", "support", "truncation", "truncation_error", "std_error")
        x, error, support, truncation, truncation_error, spread = (
            np.array([table[name] for table in tables], dtype=np.float64) for name in names
        )
        own, pooled = error**2, np.zeros(x.shape[1])
        if shared:
            own = np.maximum(own - shared_errors(truncation_error, truncation_error) ** 2, _LEAST_VARIANCE)
            length = tables[0]["length"]
            for rows in (np.flatnonzero(length == k) for k in np.unique(length)):
                factors, variances, pooled[rows] = _pool_truncation(
                    truncation[:, rows], truncation_error[:, rows] / np.maximum(support[:, rows], 1e-9)
                )
                x[:, rows] *= factors
                own[:, rows] += variances * support[:, rows] ** 2
        pooled = np.minimum(shared_errors(pooled, pooled), 1.0)
        return cls(contrast, x, own, pooled, support, spread)

    def differences(self) -> tuple[Floats, Floats, Floats]:
        """Return differences of supports, their standard errors, and mean supports, float64 (itemsets,) each."""
        raw = self.contrast @ self.x
        variance = self.contrast**2 @ self.noise + (self.pooled * raw) ** 2
        return np.asarray(raw), np.sqrt(np.maximum(variance, _LEAST_VARIANCE)), _mean(self.x, self.noise)

    def ratios(self, whole: Rows, antecedents: Rows) -> tuple[Floats, Floats, Floats]:
        """Return differences of confidences b/a, their standard errors, and means, float64 (rules,) each."""
        held = np.maximum(self.supports[:, antecedents], 1e-9)
        confidence = self.x[:, whole] / held
        capped = np.clip(confidence, 0.0, 1.0)
        variance = (self.noise[:, whole] + capped**2 * self.errors[:, antecedents] ** 2) / held**2
        raw = self.contrast @ confidence
        error = np.sqrt(self.contrast**2 @ variance + (self.pooled[whole] * raw) ** 2)
        return np.asarray(raw), error, _mean(confidence, variance)


def _mean(values: Floats, variances: Floats) -> Floats:
    """Return precision-weighted means over sides, which do not depend on the noise of differences."""
    precision = 1 / np.maximum(variances, _LEAST_VARIANCE)
    return np.asarray((precision * values).sum(axis=0) / precision.sum(axis=0))


def _pool_truncation(truncation: Floats, relative_error: Floats) -> tuple[Floats, Floats, Floats]:
    """Pool the truncation corrections of itemsets of one size over the sides.

    Args:
        truncation, relative_error: F and its relative error τ, (sides, itemsets).

    Returns:
        The factor for each side's estimates and the relative variance that remains to each, both (sides, itemsets);
        the relative error that all sides share, (itemsets,).
    """
    log = np.log(np.maximum(truncation, 1e-9))
    log -= np.median(log, axis=1, keepdims=True)  # the part due to the side's basket-size distribution
    variance = np.maximum(relative_error**2, 1e-12)
    precision = 1 / variance
    mean = (precision * log).sum(axis=0) / precision.sum(axis=0)
    apart = log - mean
    freedom = (len(log) - 1) / len(log)
    true_spread = max(float(np.mean(apart**2 / freedom - variance)), 0.0) if log.size else 0.0  # ω²
    kept = true_spread / (true_spread + variance)
    return np.exp((kept - 1) * apart), kept * variance, 1 / np.sqrt(precision.sum(axis=0))


# ---- posteriors and tests


def difference_posteriors(unbiased: Floats, error: Floats, supports: Floats) -> Mixtures:
    """Return the posteriors of differences, float64 (n,), of which most are small.

    Frequent itemsets change by more than rare ones. ``supports`` must not depend on the noise of the difference.

    >>> posteriors = difference_posteriors(np.append(np.zeros(99), 8.0), np.ones(100), np.zeros(100))
    >>> bool(posteriors.mean[0] == 0), bool(posteriors.mean[99] > 6)
    (True, True)
    """
    if not len(unbiased):
        return Mixtures(*(np.empty((0, 1)) for _ in range(3)))
    middle, scale = float(np.median(error)), np.maximum(supports, error) ** _POWER
    scale /= np.median(scale)
    first = _FIRST * middle
    components = int(np.log(max(2 * float((np.abs(unbiased) / scale).max()) / first, 2.0)) / np.log(_STEP)) + 2
    wide = scale[:, None] * (first * _STEP ** np.arange(components))
    spreads = np.column_stack([np.full(len(unbiased), _NARROWEST * middle), wide])
    total = error[:, None] ** 2 + spreads**2
    density = -(unbiased[:, None] ** 2) / (2 * total) - np.log(total) / 2
    start = np.append(_NONE_SHARE, np.full(components, (1 - _NONE_SHARE) / components))
    weights = fit_weights(np.exp(density - density.max(axis=1, keepdims=True)), start, _PSEUDO, _STEPS)
    kept = spreads**2 / total
    return mixture_posteriors(density, weights, kept * unbiased[:, None], kept * error[:, None] ** 2)


def _difference_columns(
    estimates: tuple[Floats, Floats, Floats], groups: Sequence[Rows], request: CompareRequest, hypotheses: Sequence[int]
) -> dict[str, NDArray[Any]]:
    """Return the columns of differences that itemsets and rules share.

    ``estimates`` are differences, their errors and supports, as :func:`difference_posteriors` takes them;
    ``hypotheses`` is the number of hypotheses of each group of rows.
    """
    unbiased, error, supports = estimates
    names = ("difference", "std_error", "ci_low", "ci_high", "probability")
    columns: dict[str, NDArray[Any]] = {name: np.zeros(len(unbiased)) for name in names}
    for rows in filter(len, groups):
        posteriors = difference_posteriors(unbiased[rows], error[rows], supports[rows])
        mean = posteriors.mean
        one = np.ones(len(rows))
        ends = find_intervals(posteriors.above, request.errors.confidence_level, -one, one)
        changed = posteriors.weights * (np.arange(posteriors.weights.shape[1]) > 0)  # the narrowest means no change
        scores = [(sign * posteriors.means - request.least) / np.sqrt(posteriors.variances) for sign in (1, -1)]
        up, down = (mixture_cdf(changed, each) for each in scores)
        found = mean, np.sqrt(posteriors.variance), ends[0], ends[1], np.where(mean >= 0, up, down)
        for name, values in zip(columns, found, strict=True):
            columns[name][rows] = values
    columns |= {"selected": select_by_fdr(columns["probability"]), "unbiased": unbiased, "unbiased_error": error}
    if request.level is not None:
        p = p_values(unbiased, error, request.least)
        columns |= {"p_value": p, "significant": reject_by_size(p, groups, hypotheses, request.level)}
    return columns


def p_values(unbiased: Floats, error: Floats, least: float) -> Floats:
    """Return p-values of the hypotheses that a difference is at most ``least``, float64 (n,).

    >>> p_values(np.array([0.0, 1.96]), np.ones(2), 0.0).round(3).tolist()
    [1.0, 0.05]
    """
    one = np.ones((len(unbiased), 1))
    size = np.abs(unbiased)
    tails = [mixture_cdf(one, ((sign * least - size) / error)[:, None]) for sign in (1, -1)]
    return np.minimum(tails[0] + tails[1], 1.0)


def reject_by_size(p: Floats, groups: Sequence[Rows], hypotheses: Sequence[int], level: float) -> NDArray[np.bool_]:
    """Return which hypotheses are rejected with a false discovery rate of at most ``level``, bool (n,).

    Each group of rows has its number of hypotheses and the same share of the level.
    """
    total, weighted = sum(hypotheses), np.ones(len(p))
    for rows, count in zip(groups, hypotheses, strict=True):
        weighted[rows] = p[rows] * (count * len(groups) / total)
    return benjamini_hochberg(np.minimum(weighted, 1.0), level, total)


# ---- rows


def _itemset_rows(
    tables: list[LightFrame], evidence: _Evidence, request: CompareRequest, facts: list[MiningFacts], least: float
) -> LightFrame:
    first, sizes = tables[0], _sizes(facts)
    groups = [np.flatnonzero(first["length"] == k) for k in sizes]
    hypotheses = [comb(_n_items(facts), k) for k in sizes]
    columns: dict[str, Any] = {"itemsets": first["itemsets"], "length": first["length"]}
    columns |= _difference_columns(evidence.differences(), groups, request, hypotheses)
    columns["above_minimum"] = _by_row(np.array([_probability_above(table, least) for table in tables]))
    names = {"supports": "support", "lows": "ci_low", "highs": "ci_high"}
    columns |= {name: _by_row(np.array([table[source] for table in tables])) for name, source in names.items()}
    return _by_probability(LightFrame(columns))


def _sizes(facts: Sequence[MiningFacts]) -> range:
    """Return the sizes of itemsets that count as tested: up to the largest counted, and at least up to triples."""
    return range(1, max(_LEAST_SIZES, *(len(each.counted) for each in facts)) + 1)


def _n_items(facts: Sequence[MiningFacts]) -> int:
    return max(each.counted[0][1] for each in facts)


def _probability_above(table: LightFrame, least: float) -> Floats:
    """Return the probability that each support reaches a minimum, float64 (rows,)."""
    weights, means, spreads = np.moveaxis(posterior_components(table), 2, 0)
    return mixture_cdf(np.ascontiguousarray(weights), (means - least) / np.maximum(spreads, 1e-12))


def _by_row(values: NDArray[Any]) -> NDArray[Any]:
    return as_column([*map(list, values.T.tolist())])


def _by_probability(frame: LightFrame) -> LightFrame:
    by = [-np.abs(frame["difference"]), -frame["probability"].round(6), ~frame["selected"]]
    return frame.take(np.lexsort(by) if len(frame) else np.empty(0, dtype=np.int64))


def _rule_rows(
    tables: Sequence[LightFrame], evidence: _Evidence, request: CompareRequest, facts: Sequence[MiningFacts]
) -> LightFrame:
    """Compare the rules that probably reach the minimum confidence on at least one side."""
    derived = [derive_rules(table, request.min_confidence) for table in tables]
    rules = sorted(
        {pair for each in derived for pair in zip(*(each[side].tolist() for side in SIDES), strict=True)},
        key=lambda pair: [sorted(side) for side in pair],
    )
    rows = {itemset: row for row, itemset in enumerate(tables[0]["itemsets"].tolist())}
    sides = np.array([[rows[a], rows[c], rows[a | c]] for a, c in rules], dtype=np.int64).reshape(-1, 3).T
    length, n, sizes = tables[0]["length"][sides[2]], _n_items(facts), _sizes(facts)[1:]
    groups = [np.flatnonzero(length == k) for k in sizes]
    ratios, hypotheses = evidence.ratios(sides[2], sides[0]), [comb(n, k) * (2**k - 2) for k in sizes]
    level = request.errors.confidence_level
    by_side = [chosen_confidences(table, sides[:2], sides[2], level, request.least_confidence) for table in tables]
    columns = {name: as_column([pair[place] for pair in rules]) for place, name in enumerate(SIDES)}
    columns |= _difference_columns(ratios, groups, request, hypotheses)
    for place, name in enumerate(("above_minimum", "confidences", "lows", "highs")):
        columns[name] = _by_row(np.array([each[place] for each in by_side]))
    return _by_probability(LightFrame(columns))


def to_flat_table(comparison: Comparison) -> LightFrame:
    """Return itemsets and rules as one table with separate columns for each side."""
    parts = []
    sides = ("value", "ci_low", "ci_high", "above_minimum")
    for frame, value in ((comparison.itemsets, "supports"), (comparison.rules, "confidences")):
        columns = {name: each for name, each in frame.columns.items() if each.dtype != object and name != "length"}
        empty = as_column([frozenset[str]()] * len(frame))
        if value == "supports":
            named = {"itemsets": frame["itemsets"], "antecedents": empty, "consequents": empty}
        else:
            whole = [left | right for left, right in zip(*(frame[side] for side in SIDES), strict=True)]
            named = {"itemsets": as_column(whole)} | {side: frame[side] for side in SIDES}
        of_sides = {
            f"{column} {name}": np.array([row[place] for row in frame[source]], dtype=np.float64)
            for place, name in enumerate(comparison.names)
            for column, source in zip(sides, (value, "lows", "highs", "above_minimum"), strict=True)
        }
        parts.append(LightFrame({"of": as_column([value[:-1]] * len(frame))} | named | columns | of_sides))
    return concat_frames(parts)


def comparison_records(frame: LightFrame) -> list[dict[str, Any]]:
    """Return rows as plain objects, with names as sorted lists."""
    records = [plain_record(row) for row in frame.to_dict()]
    for record in records:
        record |= {name: sorted(record[name]) for name in ("itemsets", *SIDES) if name in record}
    return records


def write_comparison(comparison: Comparison, path: "str | Path", *, force: bool = False) -> None:
    """Write all compared itemsets, then rules, as Parquet, CSV or JSON, chosen by extension.

    Args:
        comparison: What :func:`assocpriv.compare` returned.
        path: The file to write: .parquet, .csv or .json.
        force: Replace an existing file.

    Raises:
        FileError: The extension is unknown, the file exists and ``force`` is not set, or it cannot be written.
    """
    table = to_flat_table(comparison)

    def as_json() -> str:
        return json.dumps({**comparison.facts, "rows": comparison_records(table)}, indent=1, ensure_ascii=False)

    write_plain(table, ["itemsets", *SIDES], as_json, path, force=force)
