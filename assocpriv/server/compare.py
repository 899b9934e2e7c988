"""Comparison: what differs between stores, regions or seasons, and how sure that is, from mined tables.

Of T sides, in their order, with x_t ± e_t the estimates before any prior of an itemset's support, the difference is the
change along a straight line from the first side to the last,

    d = Σ_t c_t x_t,   c_t = (T − 1) (t − t̄) / Σ_t (t − t̄)²,

which for two sides is x_2 − x_1. Sides are of different people, so their noise is independent.

**What sides share.** x = F s' undoes the sampling to M items (undoing.py). What is wrong with ln F of an itemset,
beyond what the law of sizes says of its size, is the same on all sides where M is the same: whether its holders have
small baskets. There the ln F of the sides, less the median of their size, are averaged by their precision, so their
errors move all supports of an itemset by one factor, and a difference by no more. How far sides differ in truth is
fitted to what they differ by: ω², the mean square of the deviations less their errors, and none if that is negative.
Where M differs nothing is shared, and all errors count. The laws of sizes are told by different people.

**Which differences are believed.** Most are small, and the largest of many noisy ones are noise. So d is told by its
posterior, under a mixture of normal laws around 0, whose weights are fitted by EM to all differences of a size
(Stephens, False discovery rates: a new deal, Biostatistics 18 (2017)). Where nothing was promoted, what sells much
changes by more points than what sells little, but by a smaller share; so they are as wide as a support to the ¾, but
for the narrowest. That stands for no change, which a
difference in truth hardly is, so intervals have its width. ``probability`` is that of a change of more than
``at_least`` in the direction of its mean. The list goes by falling probability, as long as it is at least one half and
about one in twenty of the list is expected to be false.

**What is certain** rests on no prior. The hypothesis "the difference is at most ``at_least``" has the p-value
Φ((δ − |d|)/σ) + Φ((−δ − |d|)/σ). Reports choose what is compared, so all itemsets of the catalogue up to the largest
size count as tested, those not compared with p = 1; each size has the same share of the level: weights n/(K·n_k) in
the rule of Benjamini and Hochberg (Genovese, Roeder, Wasserman, False discovery control with p-value weighting,
Biometrika 93 (2006)).

A rule's confidence b/a has the difference Σ_t c_t x_t(b)/m_t(a), m_t(a) the posterior mean, with variances by the delta
method: what is wrong with both supports in the same way cancels, too.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import comb
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.itemsets import AnyFrame, LightFrame, as_column, plain_record, put_together, write_plain
from assocpriv.plans.kind import shown_by
from assocpriv.promise.errors import EstimateError
from assocpriv.server.ask import Reader
from assocpriv.server.counting import CountingBackend
from assocpriv.server.false_discovery import SPLIT, false_discoveries_controlled, parse_certainty
from assocpriv.server.intervals import ErrorOptions, read_share
from assocpriv.server.itemsets import MiningFacts, mining_facts, parts_of
from assocpriv.server.mining import MiningRequest
from assocpriv.server.mixtures import Mixtures, chances, fit_weights, posterior, quantiles_of
from assocpriv.server.rules import MIN_CONFIDENCE, SIDES, asked_confidences, derive_rules
from assocpriv.server.search import listed
from assocpriv.server.supports import normal_quantile
from assocpriv.server.undoing import shared_errors

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
_LEAST_VARIANCE = 1e-16
_NARROWEST, _FIRST, _STEP = 0.2, 0.09, 2.0**0.5  # the prior's parts: of the median error; how far they are apart
_POWER = 0.75  # of a level by which its changes are larger: between changes of points and of shares
_NONE_SHARE, _PSEUDO, _STEPS = 0.9, 10.0, 300  # of the narrowest part before anything is fitted
POWER = 0.8
_LEAST_SIZES = 3


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """What is asked of a comparison, in the words of :func:`assocpriv.compare`.

    Raises:
        EstimateError: a number out of range.
    """

    at_least: "float | str" = 0.0
    certain: "float | str | None" = None
    min_confidence: "float | str" = MIN_CONFIDENCE
    errors: ErrorOptions = field(default_factory=ErrorOptions)

    def __post_init__(self) -> None:
        if self.least >= 1:
            raise EstimateError(f"at_least, the difference that matters, must be below 1, got {self.at_least!r}")
        parse_certainty(self.certain, SPLIT)

    @property
    def least(self) -> float:
        """The difference that matters, a share of baskets."""
        return float(read_share(self.at_least, "at_least, the difference that matters,"))


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between sides.

    Attributes:
        names: of the sides.
        itemsets, rules: one row each, the surest first. Both have ``difference``, ``std_error``, ``ci_low``,
            ``ci_high``, ``probability``, ``listed``, ``raw`` and ``raw_error`` (before any prior), ``holds`` (of each
            side the probability to reach the minimum) and, if asked for, ``p_value`` and ``certain``; lists of
            ``supports`` or ``confidences`` and their ``lows`` and ``highs`` have one number a side.
        facts: what they come from, as JSON content.
    """

    names: list[str]
    itemsets: LightFrame
    rules: LightFrame
    facts: dict[str, Any]

    _repr_html_ = shown_by("assocpriv.show.comparisons:compared")

    def __repr__(self) -> str:
        listed = [f"{int(table['listed'].sum())} of {len(table)}" for table in (self.itemsets, self.rules)]
        return f"Comparison({', '.join(self.names)}; {listed[0]} itemsets listed, {listed[1]} rules)"

    def to_pandas(self) -> "pd.DataFrame":
        """Return itemsets and then rules as one data frame, what is of a side in columns of its own."""
        return flat(self).to_pandas()


def compare(sides: Mapping[str, AnyFrame], request: CompareRequest) -> Comparison:
    """Compare mined tables by the names of their sides, as :func:`assocpriv.compare`.

    Raises:
        EstimateError: nothing in common, or of different meaning.
    """
    names, facts = list(sides), [mining_facts(table) for table in sides.values()]
    if len({each.whole for each in facts}) > 1:
        raise EstimateError(
            "some of these supports are of whole baskets and some of sampled items, which are not the same; compare "
            "tables of plans that ask about sizes, of enough reports that some people answer"
        )
    told = [{*table["itemsets"]} for table in sides.values()]
    known = set.intersection(*told)
    if not known:
        raise EstimateError("no itemset is told on all sides; compare reports, of plans that have items in common")
    tables = [_rows_of(LightFrame.of(table), known) for table in sides.values()]
    least = max(each.min_support for each in facts)
    sizes = [each.transaction_size if len(each.plan_ids) == 1 else 0 for each in facts]
    shared = len({*sizes}) == 1 and sizes[0] > 0 and facts[0].whole
    evidence = _Evidence.of(tables, _contrast(len(sides)), shared)
    itemsets = _itemset_rows(tables, evidence, request, facts, least)
    rules = _rule_rows(tables, evidence, request, facts)
    counts = {"compared": len(known), "left_out": len(set.union(*told)) - len(known)}
    content = _content(names, sizes, request, facts) | {"min_support": least, "shared": shared} | counts
    return Comparison(names, itemsets, rules, content)


def _contrast(sides: int) -> Floats:
    """Return the weights of the change along a straight line, float64 (sides,).

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


def _content(
    names: Sequence[str], sizes: Sequence[int], request: CompareRequest, facts: Sequence[MiningFacts]
) -> dict[str, Any]:
    level = parse_certainty(request.certain, SPLIT)
    return {
        "sides": [
            {
                "name": name, "reports": each.reports, "plan_ids": each.plan_ids, "transaction_size": size,
                "mean_size": each.sizes and each.sizes.mean,
            }
            for name, size, each in zip(names, sizes, facts, strict=True)
        ],
        "whole": facts[0].whole,
        "min_confidence": float(read_share(request.min_confidence, "the minimum confidence")),
        "at_least": request.least,
        "confidence_level": request.errors.confidence_level,
        "certain_level": None if level is None else float(level),
    }  # fmt: skip


# ---- collections


def read_sides(
    collections: Mapping[str, Sequence[CountingBackend]], tables: Mapping[str, AnyFrame], errors: ErrorOptions
) -> dict[str, AnyFrame]:
    """Return for each collection a table of what is found in any of them, or in a table, and can be told of all.

    Raises:
        EstimateError: no reports.
    """
    request = MiningRequest(errors=errors)
    readers = {name: Reader.of(backends, request) for name, backends in collections.items()}
    found = {itemset for table in tables.values() for itemset in table["itemsets"]}
    if readers:
        # whoever chose by one side's reports would choose what its noise makes large, and find that it differs
        together = Reader.of([each for backends in collections.values() for each in backends], request)
        found |= together.mined(request) | {frozenset([name]) for name in together.catalogue}
    read: dict[str, AnyFrame] = {}
    largest = min((len(reader.found.levels) for reader in readers.values()), default=0)
    for name, reader in readers.items():
        ids = reader.catalogue.index_of
        asked = [each for each in found if len(each) <= largest and all(item in ids for item in each)]
        read[name] = reader.table([tuple(sorted(ids[item] for item in each)) for each in asked])
    return read


# ---- evidence


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Of the sides of a comparison what is known of each itemset, float64 (sides, itemsets).

    Attributes:
        contrast: (sides,), the difference's weights.
        x: supports before any prior, the undoing of sampling shared.
        noise: variances that are the sides' own.
        pooled: (itemsets,), the relative error that all sides share.
        supports, errors: posterior means and standard deviations.
    """

    contrast: Floats
    x: Floats
    noise: Floats
    pooled: Floats
    supports: Floats
    errors: Floats

    @classmethod
    def of(cls, tables: Sequence[LightFrame], contrast: Floats, shared: bool) -> "_Evidence":
        x, error, support, undoing, unsure, spread = (
            np.array([table[name] for table in tables], dtype=np.float64)
            for name in (
                "unbiased", "unbiased_error", "support", "undoing", "undoing_error", "std_error",
            )
        )  # fmt: skip
        own, pooled = error**2, np.zeros(x.shape[1])
        if shared:
            own = np.maximum(own - shared_errors(unsure, unsure) ** 2, _LEAST_VARIANCE)
            for rows in _by_length(tables[0]):
                moved, apart, pooled[rows] = _share(
                    undoing[:, rows], unsure[:, rows] / np.maximum(support[:, rows], 1e-9)
                )
                x[:, rows] *= moved
                own[:, rows] += apart * support[:, rows] ** 2
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
    """Return means of sides by their precision, which do not depend on the noise of differences."""
    precision = 1 / np.maximum(variances, _LEAST_VARIANCE)
    return np.asarray((precision * values).sum(axis=0) / precision.sum(axis=0))


def _by_length(table: LightFrame) -> list[Rows]:
    return [np.flatnonzero(table["length"] == k) for k in np.unique(table["length"])]


def _share(undoing: Floats, unsure: Floats) -> tuple[Floats, Floats, Floats]:
    """Share what is said of undoing the sampling of itemsets of one size.

    Args:
        undoing, unsure: F and its relative error τ, (sides, itemsets).

    Returns:
        By what each side's estimates are multiplied, and the relative variance that this leaves to each, both
        (sides, itemsets); the relative error that all share, (itemsets,).
    """
    log = np.log(np.maximum(undoing, 1e-9))
    log -= np.median(log, axis=1, keepdims=True)  # what a side's law of sizes says of the whole size
    variance = np.maximum(unsure**2, 1e-12)
    precision = 1 / variance
    mean = (precision * log).sum(axis=0) / precision.sum(axis=0)
    apart = log - mean
    freedom = (len(log) - 1) / len(log)
    truly = max(float(np.mean(apart**2 / freedom - variance)), 0.0) if log.size else 0.0
    kept = truly / (truly + variance)
    return np.exp((kept - 1) * apart), kept * variance, 1 / np.sqrt(precision.sum(axis=0))


# ---- what is believed


def believed(raw: Floats, error: Floats, levels: Floats) -> Mixtures:
    """Return the posteriors of differences raw ± error, float64 (n,), most of which are small.

    What is at high ``levels`` changes by more than what is rare. A level must not depend on the noise of the
    difference.

    >>> told = believed(np.append(np.zeros(99), 8.0), np.ones(100), np.zeros(100))
    >>> bool(told.mean[0] == 0), bool(told.mean[99] > 6)
    (True, True)
    """
    if not len(raw):
        return Mixtures(*(np.empty((0, 1)) for _ in range(3)))
    middle, scale = float(np.median(error)), np.maximum(levels, error) ** _POWER
    scale /= np.median(scale)
    first = _FIRST * middle
    parts = int(np.log(max(2 * float((np.abs(raw) / scale).max()) / first, 2.0)) / np.log(_STEP)) + 2
    wide = scale[:, None] * (first * _STEP ** np.arange(parts))
    spreads = np.column_stack([np.full(len(raw), _NARROWEST * middle), wide])
    total = error[:, None] ** 2 + spreads**2
    density = -(raw[:, None] ** 2) / (2 * total) - np.log(total) / 2
    start = np.append(_NONE_SHARE, np.full(parts, (1 - _NONE_SHARE) / parts))
    weights = fit_weights(np.exp(density - density.max(axis=1, keepdims=True)), start, _PSEUDO, _STEPS)
    kept = spreads**2 / total
    return posterior(density, weights, kept * raw[:, None], kept * error[:, None] ** 2)


def _told(
    seen: tuple[Floats, Floats, Floats], groups: Sequence[Rows], request: CompareRequest, hypotheses: Sequence[int]
) -> dict[str, NDArray[Any]]:
    """Return the columns that tell differences.

    ``seen`` are differences, their errors, and levels (:func:`believed`); each group of rows stands for so many
    ``hypotheses``.
    """
    raw, error, levels = seen
    names = ("difference", "std_error", "ci_low", "ci_high", "probability")
    columns: dict[str, NDArray[Any]] = {name: np.zeros(len(raw)) for name in names}
    for rows in filter(len, groups):
        told = believed(raw[rows], error[rows], levels[rows])
        mean = told.mean
        ends = [
            quantiles_of(told.above, tail, np.full(len(rows), -1.0), np.ones(len(rows)))
            for tail in ((1 - request.errors.confidence_level) / 2, (1 + request.errors.confidence_level) / 2)
        ]
        changed = told.weights * (np.arange(told.weights.shape[1]) > 0)  # the narrowest part is no change
        scores = [(sign * told.means - request.least) / np.sqrt(told.variances) for sign in (1, -1)]
        up, down = (chances(changed, each) for each in scores)
        found = mean, np.sqrt(told.variance), ends[0], ends[1], np.where(mean >= 0, up, down)
        for name, values in zip(columns, found, strict=True):
            columns[name][rows] = values
    columns |= {"listed": listed(columns["probability"]), "raw": raw, "raw_error": error}
    level = parse_certainty(request.certain, SPLIT)
    if level is not None:
        p = p_values(raw, error, request.least)
        columns |= {"p_value": p, "certain": certain_ones(p, groups, hypotheses, float(1 - level))}
    return columns


def p_values(raw: Floats, error: Floats, least: float) -> Floats:
    """Return p-values against "the difference is at most so large", float64 (n,).

    >>> p_values(np.array([0.0, 1.96]), np.ones(2), 0.0).round(3).tolist()
    [1.0, 0.05]
    """
    one = np.ones((len(raw), 1))
    size = np.abs(raw)
    tails = [chances(one, ((sign * least - size) / error)[:, None]) for sign in (1, -1)]
    return np.minimum(tails[0] + tails[1], 1.0)


def certain_ones(p: Floats, groups: Sequence[Rows], hypotheses: Sequence[int], level: float) -> NDArray[np.bool_]:
    """Tell which hypotheses are rejected, so that the share of wrong rejections is expected to be at most a level.

    Each group of rows stands for so many hypotheses, and has the same share of the level.
    """
    total, weighted = sum(hypotheses), np.ones(len(p))
    for rows, count in zip(groups, hypotheses, strict=True):
        weighted[rows] = p[rows] * (count * len(groups) / total)
    return false_discoveries_controlled(np.minimum(weighted, 1.0), level, total)


def least_differences(errors: Mapping[int, float], n_items: int, level: float = 0.95) -> dict[int, float]:
    """Return for each size the difference that two sides show for certain in four of five cases.

    ``errors`` are standard errors of each side's supports; all itemsets of the catalogue count as tested.

    >>> least_differences({1: 0.01}, 100)[1].__round__(3)
    0.065
    """
    z, sizes = normal_quantile(2 * POWER - 1), max(_LEAST_SIZES, *errors)
    tails = {k: (1 - level) / (2 * sizes * comb(n_items, k)) for k in errors}
    return {k: (z - NormalDist().inv_cdf(tails[k])) * 2**0.5 * error for k, error in errors.items()}


# ---- rows


def _itemset_rows(
    tables: Sequence[LightFrame],
    evidence: _Evidence,
    request: CompareRequest,
    facts: Sequence[MiningFacts],
    least: float,
) -> LightFrame:
    first, sizes = tables[0], _sizes(facts)
    groups = [np.flatnonzero(first["length"] == k) for k in sizes]
    told = _told(evidence.differences(), groups, request, [comb(_n_items(facts), k) for k in sizes])
    holds = np.array([_reaching(table, least) for table in tables])
    columns: dict[str, Any] = {"itemsets": first["itemsets"], "length": first["length"]}
    columns |= told | {"holds": _by_row(holds)}
    names = {"supports": "support", "lows": "ci_low", "highs": "ci_high"}
    columns |= {name: _by_row(np.array([table[source] for table in tables])) for name, source in names.items()}
    return _surest_first(LightFrame(columns))


def _sizes(facts: Sequence[MiningFacts]) -> range:
    """Return the sizes of itemsets that count as tested, whatever was found: up to those counted, and to triples."""
    return range(1, max(_LEAST_SIZES, *(len(each.counted) for each in facts)) + 1)


def _n_items(facts: Sequence[MiningFacts]) -> int:
    return max(each.counted[0][1] for each in facts)


def _reaching(table: LightFrame, least: float) -> Floats:
    """Return the probability of each support to reach a minimum, float64 (rows,)."""
    weights, means, spreads = np.moveaxis(parts_of(table), 2, 0)
    return chances(np.ascontiguousarray(weights), (means - least) / np.maximum(spreads, 1e-12))


def _by_row(values: NDArray[Any]) -> NDArray[Any]:
    return as_column([*map(list, values.T.tolist())])


def _surest_first(frame: LightFrame) -> LightFrame:
    by = [-np.abs(frame["difference"]), -frame["probability"].round(6), ~frame["listed"]]
    return frame.take(np.lexsort(by) if len(frame) else np.empty(0, dtype=np.int64))


def _rule_rows(
    tables: Sequence[LightFrame], evidence: _Evidence, request: CompareRequest, facts: Sequence[MiningFacts]
) -> LightFrame:
    """Compare the rules that hold on some side more likely than not."""
    derived = [derive_rules(table, request.min_confidence) for table in tables]
    rules = sorted(
        {pair for each in derived for pair in zip(*(each[side].tolist() for side in SIDES), strict=True)},
        key=lambda pair: [sorted(side) for side in pair],
    )
    rows = {itemset: row for row, itemset in enumerate(tables[0]["itemsets"].tolist())}
    sides = np.array([[rows[a], rows[c], rows[a | c]] for a, c in rules], dtype=np.int64).reshape(-1, 3).T
    length, n, sizes = tables[0]["length"][sides[2]], _n_items(facts), _sizes(facts)[1:]
    groups = [np.flatnonzero(length == k) for k in sizes]
    told = _told(evidence.ratios(sides[2], sides[0]), groups, request, [comb(n, k) * (2**k - 2) for k in sizes])
    threshold = float(read_share(request.min_confidence, "the minimum confidence"))
    seen = [
        asked_confidences(table, sides[:2], sides[2], request.errors.confidence_level, threshold) for table in tables
    ]
    columns = {name: as_column([pair[place] for pair in rules]) for place, name in enumerate(SIDES)}
    columns |= told
    for place, name in enumerate(("holds", "confidences", "lows", "highs")):
        columns[name] = _by_row(np.array([each[place] for each in seen]))
    return _surest_first(LightFrame(columns))


def flat(told: Comparison) -> LightFrame:
    """Return itemsets and rules as one table, what is of a side in columns of its own."""
    parts = []
    for frame, value in ((told.itemsets, "supports"), (told.rules, "confidences")):
        columns = {name: each for name, each in frame.columns.items() if each.dtype != object and name != "length"}
        empty = as_column([frozenset[str]()] * len(frame))
        if value == "supports":
            named = {"itemsets": frame["itemsets"], "antecedents": empty, "consequents": empty}
        else:
            whole = [left | right for left, right in zip(*(frame[side] for side in SIDES), strict=True)]
            named = {"itemsets": as_column(whole)} | {side: frame[side] for side in SIDES}
        of_sides = {
            f"{column} {name}": np.array([row[place] for row in frame[source]], dtype=np.float64)
            for place, name in enumerate(told.names)
            for column, source in (("value", value), ("ci_low", "lows"), ("ci_high", "highs"), ("holds", "holds"))
        }
        parts.append(LightFrame({"of": as_column([value[:-1]] * len(frame))} | named | columns | of_sides))
    return put_together(parts)


def comparison_records(frame: LightFrame) -> list[dict[str, Any]]:
    """Return rows as plain objects, names being sorted lists."""
    records = [plain_record(row) for row in frame.to_dict()]
    for record in records:
        record |= {name: sorted(record[name]) for name in ("itemsets", *SIDES) if name in record}
    return records


def write_comparison(told: Comparison, path: "str | Path", *, force: bool = False) -> None:
    """Write all that was compared, itemsets and then rules, as Parquet, CSV or JSON by extension.

    Raises:
        FileError: unknown extension, existing file without ``force``, or the disk refuses.
    """
    table = flat(told)

    def as_json() -> str:
        return json.dumps({**told.facts, "rows": comparison_records(table)}, indent=1, ensure_ascii=False)

    write_plain(table, ["itemsets", *SIDES], as_json, path, force=force)
