"""Association rules of mined itemsets, with credible intervals.

**Supports.** A rule A → C has three supports: a of A, c of C, b of B = A ∪ C. The posterior of B (posterior.py) has for
each node z of the upper bound on b a mean m_z, a variance v_z and a weight w_z. The bound is the support of the rarest
subset of B with one item less. If A is that subset, a_z = a + z σ_a; otherwise a_z = a; likewise for C. A row takes the
means of this joint posterior: Σ w_z a_z, Σ w_z c_z and b, moved as little as needed to max(0, a + c − 1) ≤ b ≤ min(a,
c), so that some distribution has all three. Every measure of the row is mlxtend's formula of these three numbers; only
the certainty ends at −1, the least value of a certainty factor (Berzal et al., Intelligent Data Analysis 6(3), 2002).
mlxtend's falls below that where C is frequent and A makes it rarer.

**Confidence.** The posterior probability of a confidence of at least q is

    P(b/a ≥ q) = Σ_z w_z Φ((m_z − q a_z) / √V),   V = v_z − 2q τ_b τ_a b a [+ q² σ_a² where A is not the bound]

V is at least a tenth of v_z. τ is the relative error that all itemsets of a size share; it cancels in ratios.
Confidences beyond 0 and 1 count as 0 and 1. The interval of the confidence is central, with three extensions:

- It reaches 100% where the reports allow b = a: the unbiased estimates of a and b differ by at most z standard errors,
  z the normal quantile of the level (1.96 at 95%). The prior seldom expects that A always implies C. Without this
  extension intervals ended below 100% for 27% of 1,019 exact implications of 40 simulated collections, with it for 1%.
- Likewise it reaches c/a, with the error of c, where the reports allow b = c.
- It holds the confidence of the row.

The lift is the confidence over c. Its interval takes c as independent, and holds the confidence's interval over c.

**Value.** With prices, the value of a rule is 1000 (b − a c) times the price of C's items: the sales of C per thousand
baskets together with A, beyond independence. The variance of b − a_z c is V = v_z + a² σ_c² [+ c² σ_a² where A is not
the bound]. The covariances are left out, which makes intervals wider.

**Selection.** A rule can be selected only if its row is informative: the interval of the antecedent's support excludes
0, and the confidence's interval is shorter than 95% of [0, 1]. Of these, rules are selected by falling P(confidence ≥
the minimum), while that is at least .5 and at most one in ten of the selected rules is expected to be false (Bayesian
FDR). ``selected_strict`` marks those within one in twenty. The other rules that are more likely than not stay in the
table, not selected.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.mixtures import NODE_WEIGHTS, NODES, find_intervals, find_quantiles, mixture_cdf
from assocpriv.estimation.supports import normal_quantile, read_share
from assocpriv.files.mined_tables import (
    ATTRIBUTE,
    AnyFrame,
    LightFrame,
    as_column,
    check_names,
    light_table,
    plain_record,
    posterior_components,
    write_plain,
)
from assocpriv.files.model_files import rules_to_text
from assocpriv.guarantees.errors import EstimateError, pluralize
from assocpriv.kernels.itemset_counts import find_itemsets
from assocpriv.server.baskets.mining import LEAST_PROBABILITY, select_by_fdr
from assocpriv.server.baskets.tables import METRICS, RuleFilter

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
SIDES = ["antecedents", "consequents"]
INTERVALS = ["confidence_ci_low", "confidence_ci_high", "lift_ci_low", "lift_ci_high"]
OF_ALL = ("min_confidence", "epsilon")  # facts that files keep
VALUES = ["value", "value_ci_low", "value_ci_high"]  # per thousand baskets, where prices are given
RULE_FDR, STRICT_FDR = 0.10, 0.05
MIN_CONFIDENCE = "50%"
_LEAST_SUPPORT, _LEAST_RATIO = 1e-6, 10  # lower limits of nodes: a support, and its mean over this
_UNINFORMATIVE = 0.95  # width from which an interval of a confidence is uninformative
_LEAST_VARIANCE = 0.1  # at least this share of the larger itemset's, whatever the shared error
_BLOCK = 1 << 15  # rules at a time


# ---- rules


def check_rules(table: AnyFrame) -> None:
    """Raise EstimateError for what is no table of rules, of :func:`derive_rules` or of another miner."""
    columns = list(getattr(table, "columns", ()))
    if not {*SIDES} <= {*columns}:
        raise EstimateError("this is not a table of rules; association_rules makes one from the itemsets of mine")
    if lacking := [name for name in ("support", "confidence", "lift") if name not in columns]:
        raise EstimateError(f"the table of rules has no column {lacking[0]!r}, which rules of any miner must have")
    check_names(table, *SIDES)


def derive_rules(
    itemsets: AnyFrame,
    min_confidence: "float | str" = MIN_CONFIDENCE,
    wanted: RuleFilter | None = None,
    prices: Mapping[str, float] | None = None,
) -> LightFrame:
    """Return the rules that are more likely than not to have the minimum confidence, those that match a filter.

    :func:`assocpriv.association_rules` describes the table. ``attrs`` hold how many rules are selected, how many of
    these are expected to be false, and how many the filter hides.

    Args:
        itemsets: a mined table, a LightFrame or a frame of pandas or polars.
        min_confidence: in [0, 1], as 0.6 or ``"60%"``.
        wanted: which rules to return, and in which order; None: all.
        prices: price or margin of each item, for the value of rules; None: no such columns.

    Returns:
        A row a rule, without pandas.

    Raises:
        EstimateError: the table does not carry what is needed, or a number is out of range.
    """
    threshold = float(read_share(min_confidence, "the minimum confidence"))
    frame = light_table(itemsets)
    level = float(frame["confidence_level"].max(initial=0.0))  # of an empty table any
    table = _Table.from_frame(frame)
    groups = [
        _Rules.from_table(table, sides, whole, rarest)
        for subsets in _subset_rows(frame)
        for sides, whole, rarest in _splits(subsets, table.support)
    ]
    worth = None if prices is None else _itemset_prices(frame, prices)
    rules = _rule_frame(frame, _likely_rules(groups, threshold), table, threshold, level, worth)
    content: dict[str, Any] = {
        "min_confidence": threshold,
        "epsilon": frame.attrs.get(ATTRIBUTE, {}).get("epsilon"),
        "sort": wanted.sort if wanted else None,
        "selected": int(rules["selected"].sum()),
        "expected_false": float((1 - rules["probability"])[rules["selected"]].sum()),
    }
    n_rules = len(rules)
    if wanted is not None:
        rules = wanted.select(rules)
    content |= {"hidden": n_rules - len(rules)}
    if not len(rules):
        content |= {"why_none": _why_none(frame, wanted or RuleFilter())}
    rules.attrs[ATTRIBUTE] = content
    return rules


def _why_none(itemsets: LightFrame, wanted: RuleFilter) -> str:
    """Return why there is no rule; empty if no reason is known."""
    if itemsets["length"].max(initial=0) < 2:  # also of an empty table
        return "rules need itemsets of two items or more, and the table has none"
    named = sorted({str(name) for name in (*wanted.contains, *wanted.antecedent, *wanted.consequent)})
    if missing := [name for name in named if not any(name in itemset for itemset in itemsets["itemsets"])]:
        return f"no itemset of the table has {missing[0]!r}: it was not found, or the name is misspelt"
    return ""


@dataclass(frozen=True, slots=True)
class _Table:
    """Columns of a mined table that rules need, float64 (itemsets,), and posterior components, (itemsets, nodes, 3)."""

    support: Floats
    std_error: Floats
    ci_low: Floats
    unbiased: Floats
    unbiased_error: Floats
    common_error: Floats
    components: Floats

    @classmethod
    def from_frame(cls, frame: LightFrame) -> "_Table":
        columns = {name: frame[name] for name in list(cls.__slots__) if name != "components"}
        return cls(**columns, components=posterior_components(frame))

    def nodes(self, rows: Rows, moves: NDArray[np.bool_]) -> Floats:
        """Return supports at the nodes, float64 (rules, nodes): the mean at each, except where ``moves``."""
        steps = np.where(moves[:, None], NODES, 0.0) * self.std_error[rows, None]
        return np.maximum(self.support[rows, None] + steps, _LEAST_SUPPORT)


def _subset_rows(itemsets: LightFrame) -> Iterator[Rows]:
    """Yield for each size from 2 on the rows of all subsets of the itemsets, int64 (itemsets, 2^k).

    Subsets are indexed by mask, bit i for the i-th item by name; the empty subset, which has no row, is 0.
    """
    sets = itemsets["itemsets"].tolist()
    number = {name: place for place, name in enumerate(sorted({name for itemset in sets for name in itemset}))}
    known: dict[int, tuple[Rows, Rows]] = {}  # of each size the itemsets in lexicographic order, and their rows
    for k in sorted(set(map(len, sets))):
        rows = np.flatnonzero([len(itemset) == k for itemset in sets])
        items = np.array([sorted(number[name] for name in sets[row]) for row in rows], dtype=np.int64)
        order = np.lexsort(items.T[::-1])
        known[k] = items[order], rows[order]
        if k < 2:
            continue
        subsets = np.zeros((len(items), 1 << k), dtype=np.int64)
        for mask in range(1, 1 << k):
            smaller, places = known.get(mask.bit_count(), (items[:0, : mask.bit_count()], rows))
            at = find_itemsets(smaller, items[:, [i for i in range(k) if mask >> i & 1]])
            subsets[:, mask] = np.where(at < 0, -1, places[at])
        if len(gaps := np.flatnonzero((subsets < 0).any(axis=1))):
            raise EstimateError(f"the table lacks a subset of the itemset in row {rows[gaps[0]]}; pass the whole table")
        yield subsets


def _splits(subsets: Rows, support: Floats) -> Iterator[tuple[Rows, Rows, Rows]]:
    """Yield the rows of the sides, int64 (2, rules), of the whole itemsets, and of their rarest subsets, (rules,)."""
    k, whole = (subsets.shape[1] - 1).bit_length(), subsets.shape[1] - 1
    without = subsets[:, [whole ^ 1 << i for i in range(k)]]
    least = without[np.arange(len(without)), support[without].argmin(axis=1)]
    for members in (members for size in range(1, k) for members in combinations(range(k), size)):
        mask = sum(1 << i for i in members)
        sides = subsets[:, [mask, whole - mask]].T
        yield sides, subsets[:, whole], least


@dataclass(frozen=True, slots=True)
class _Rules:
    """Rules: supports a, c, b, float64 (rules, 3), and confidence posteriors, (rules,) or (rules, nodes)."""

    sides: Rows
    whole: Rows
    supports: Floats
    weights: Floats
    means: Floats
    variances: Floats
    antecedents: Floats
    apart: Floats
    common: Floats

    @classmethod
    def from_table(cls, table: _Table, sides: Rows, whole: Rows, rarest: Rows) -> "_Rules":
        nodes, a = table.components[whole], sides[0]
        weights, (antecedents, consequents) = nodes[:, :, 0], (table.nodes(side, side == rarest) for side in sides)
        a_mean, c_mean = ((weights * each).sum(axis=1) for each in (antecedents, consequents))
        common = table.common_error[a] * table.common_error[whole] * table.support[a] * table.support[whole]
        apart = np.where(a == rarest, 0.0, table.std_error[a] ** 2)
        supports = _feasible(a_mean, c_mean, table.support[whole])
        return cls(sides, whole, supports, weights, nodes[:, :, 1], nodes[:, :, 2] ** 2, antecedents, apart, common)

    def take(self, rows: NDArray[Any]) -> "_Rules":
        """Return the rules of these rows."""
        return _Rules(self.sides[:, rows], *(getattr(self, name)[rows] for name in list(self.__slots__)[1:]))

    def above(self, confidence: "Floats | float") -> Floats:
        """Return P(confidence ≥ q), float64 (rules,)."""
        q = np.reshape(confidence, (-1, 1))
        spread = self.variances - 2 * q * self.common[:, None] + q**2 * self.apart[:, None]
        spread = np.maximum(spread, np.maximum(_LEAST_VARIANCE * self.variances, 1e-30))
        scores = (self.means - q * self.antecedents) / np.sqrt(spread)
        return mixture_cdf(self.weights, scores)

    def quantile(self, p: float) -> Floats:
        """Return the quantile of each confidence at this p, in [0, 1], float64 (rules,)."""
        inside = find_quantiles(self.above, p, np.zeros(len(self)), np.ones(len(self)))
        return np.where(self.above(1.0) > 1 - p, 1.0, np.where(self.above(0.0) > 1 - p, inside, 0.0))

    @property
    def confidence(self) -> Floats:
        """Confidences b/a, float64 (rules,)."""
        return np.asarray(self.supports[:, 2] / self.supports[:, 0])

    def may_equal(self, table: _Table, level: float) -> NDArray[np.bool_]:
        """Return for A and for C whether the reports allow that its support is that of A ∪ C, bool (2, rules)."""
        x, error = table.unbiased, table.unbiased_error
        reach = normal_quantile(level) * np.hypot(error[self.sides], error[self.whole])
        return np.asarray(x[self.sides] - x[self.whole] <= reach)

    def interval(self, table: _Table, level: float) -> tuple[Floats, Floats]:
        """Return the ends of the confidences' intervals, float64 (rules,) each."""
        (a, c, _), (always, only_then) = self.supports.T, self.may_equal(table, level)
        most = np.minimum((c + normal_quantile(level) * table.std_error[self.sides[1]]) / a, 1.0)
        high = np.where(always, 1.0, np.where(only_then, most, self.confidence))
        tails = self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)
        return np.minimum(tails[0], self.confidence), np.maximum(tails[1], np.maximum(high, self.confidence))

    def __len__(self) -> int:
        return len(self.whole)

    def gains_above(self, gain: Floats, consequents: Floats, errors: Floats) -> Floats:
        """Return P(b − a c ≥ gain), float64 (rules,), given consequents' supports and errors, float64 (rules,)."""
        c, a = consequents[:, None], self.antecedents
        spread = self.variances + (a * errors[:, None]) ** 2 + c**2 * self.apart[:, None]
        return mixture_cdf(self.weights, (self.means - a * c - gain[:, None]) / np.sqrt(np.maximum(spread, 1e-30)))


def _itemset_prices(frame: LightFrame, prices: Mapping[str, float]) -> Floats:
    """Return the price of all items of each itemset together, float64 (itemsets,)."""
    if lacking := sorted({name for itemset in frame["itemsets"] for name in itemset if name not in prices}):
        raise EstimateError(f"the prices lack {pluralize(len(lacking), 'item')} of the table, such as {lacking[0]!r}")
    return np.array([sum(prices[name] for name in itemset) for itemset in frame["itemsets"]], dtype=np.float64)


def _likely_rules(groups: Sequence[_Rules], threshold: float) -> list[_Rules]:
    """Return blocks of the rules whose confidence is more likely than not to reach the threshold."""
    rows = [np.flatnonzero(group.above(threshold) >= LEAST_PROBABILITY) for group in groups]
    return [
        group.take(kept[start : start + _BLOCK])
        for group, kept in zip(groups, rows, strict=True)
        for start in range(0, len(kept), _BLOCK)
    ]


def _rule_frame(
    frame: LightFrame, pieces: Sequence[_Rules], table: _Table, threshold: float, level: float, worth: Floats | None
) -> LightFrame:
    """Return a table of rules: selected ones first, by the lower end of the confidence's interval or of the value's."""
    if not pieces:
        return empty_rules() if worth is None else empty_rules().assign(**{name: np.empty(0) for name in VALUES})
    sides = np.concatenate([piece.sides for piece in pieces], axis=1)
    blocks = [rule_columns(piece, table, level) | {"probability": piece.above(threshold)} for piece in pieces]
    if worth is not None:
        blocks = [each | _values(piece, table, level, worth) for each, piece in zip(blocks, pieces, strict=True)]
    columns = {name: np.concatenate([each[name] for each in blocks]) for name in blocks[0]}
    width = columns["confidence_ci_high"] - columns["confidence_ci_low"]
    informative = (table.ci_low[sides[0]] > _LEAST_SUPPORT) & (width < _UNINFORMATIVE)
    for name, fdr in (("selected", RULE_FDR), ("selected_strict", STRICT_FDR)):
        columns[name] = np.zeros(len(informative), dtype=np.bool_)
        columns[name][informative] = select_by_fdr(columns["probability"][informative], fdr)
    names = frame["itemsets"]
    ranking = columns["confidence_ci_low" if worth is None else "value_ci_low"]
    order = np.lexsort((-ranking, ~columns["selected"]))
    named = {side: as_column([names[row] for row in rows]) for side, rows in zip(SIDES, sides, strict=True)}
    return LightFrame({name: values[order] for name, values in (named | columns).items()})


def rule_columns(rules: _Rules, table: _Table, level: float) -> dict[str, Floats]:
    """Return measures and intervals of rules, float64 (rules,) each."""
    confidence = rules.interval(table, level)
    ends = [*confidence, *_lift_interval(rules, table, level, confidence)]
    return _measures(*rules.supports.T) | dict(zip(INTERVALS, ends, strict=True))


def _lift_interval(rules: _Rules, table: _Table, level: float, ends: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Return the ends of the lifts' intervals, which hold those of the confidences over the consequent's support."""
    c, zero = rules.supports[:, 1], np.zeros(len(rules))
    nodes = c[:, None] + NODES * table.std_error[rules.sides[1], None]
    nodes = np.maximum(nodes, np.maximum(c / _LEAST_RATIO, _LEAST_SUPPORT)[:, None])
    least = nodes.min(axis=1)

    def above(lift: Floats) -> Floats:
        each = [np.where(lift * node > 1, 0.0, rules.above(np.minimum(lift * node, 1.0))) for node in nodes.T]
        return np.asarray(NODE_WEIGHTS @ np.array(each))

    low, high = find_intervals(above, level, zero, 1 / least)
    extended = rules.may_equal(table, level).any(axis=0)
    return np.minimum(low, ends[0] / c), np.maximum(high, ends[1] / np.where(extended, least, c))


def _values(rules: _Rules, table: _Table, level: float, worth: Floats) -> dict[str, Floats]:
    """Return the value of rules per thousand baskets, and its interval, float64 (rules,) each."""
    rows, price = rules.sides[1], 1000 * worth[rules.sides[1]]
    (a, c, b), error, one = rules.supports.T, table.std_error[rows], np.ones(len(rules))
    ends = [price * gain for gain in find_intervals(lambda x: rules.gains_above(x, c, error), level, -one, one)]
    value = price * (b - a * c)
    low, high = np.minimum(*ends), np.maximum(*ends)
    return dict(zip(VALUES, [value, np.minimum(low, value), np.maximum(high, value)], strict=True))


def empty_rules() -> LightFrame:
    """Return a table without rules."""
    numbers = {name: np.empty(0) for name in [*METRICS, *INTERVALS, "probability"]}
    flags = {name: np.empty(0, dtype=np.bool_) for name in ("selected", "selected_strict")}
    return LightFrame({name: np.empty(0, dtype=object) for name in SIDES} | numbers | flags)


def _feasible(a: Floats, c: Floats, b: Floats) -> Floats:
    """Return supports of A, C and A ∪ C that one distribution can have, float64 (rules, 3).

    >>> _feasible(*(np.array([share]) for share in (0.9, 0.8, 0.6))).round(2).tolist()
    [[0.9, 0.8, 0.7]]
    """
    b = np.clip(b, 0.0, 1.0)
    a, c = (np.clip(side, np.maximum(b, _LEAST_SUPPORT), 1.0) for side in (a, c))
    return np.column_stack([a, c, np.minimum(np.maximum(b, a + c - 1), np.minimum(a, c))])


def _measures(a: Floats, c: Floats, b: Floats) -> dict[str, Floats]:
    """Return mlxtend's measures of supports of A, C and A ∪ C, float64 (rules,) each.

    >>> measures = _measures(*(np.array([share]) for share in (0.5, 0.5, 0.25)))
    >>> measures["confidence"].tolist(), measures["lift"].tolist()
    ([0.5], [1.0])
    """
    confidence, leverage = b / a, b - a * c
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.maximum(b * (1 - a), a * (c - b))
        return {
            "antecedent support": a,
            "consequent support": c,
            "support": b,
            "confidence": confidence,
            "lift": confidence / c,
            "representativity": np.ones_like(b),
            "leverage": leverage,
            "conviction": np.where(confidence < 1, (1 - c) / (1 - confidence), np.inf),
            "zhangs_metric": np.where(scale > 0, np.clip(leverage / scale, -1.0, 1.0), 0.0),
            "jaccard": b / (a + c - b),
            "certainty": np.where(c < 1, np.maximum((confidence - c) / (1 - c), -1.0), 0.0),
            "kulczynski": (confidence + b / c) / 2,
        }


def chosen_rules(frame: LightFrame, sides: Rows, whole: Rows, level: float) -> LightFrame:
    """Return chosen rules, by the rows of their sides, int64 (2, rules), and of their whole itemsets."""
    table, rules = _chosen(frame, sides, whole)
    sets = frame["itemsets"]
    named = {side: as_column([sets[row] for row in each]) for side, each in zip(SIDES, sides.tolist(), strict=True)}
    return LightFrame(named | rule_columns(rules, table, level))


def chosen_confidences(
    frame: LightFrame, sides: Rows, whole: Rows, level: float, least: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return P(confidence ≥ least), the confidence and its interval of chosen rules, float64 (rules,) each."""
    table, rules = _chosen(frame, sides, whole)
    return rules.above(least), rules.confidence, *rules.interval(table, level)


def _chosen(frame: LightFrame, sides: Rows, whole: Rows) -> tuple[_Table, _Rules]:
    table, sets = _Table.from_frame(frame), frame["itemsets"].tolist()
    rows = {itemset: row for row, itemset in enumerate(sets)}
    least = [
        min((rows[sets[row] - {name}] for name in sorted(sets[row])), key=lambda each: table.support[each])
        for row in whole.tolist()
    ]
    return table, _Rules.from_table(table, sides, whole, np.array(least, dtype=np.int64))


def selected_rules(rules: AnyFrame) -> LightFrame:
    """Return the selected rules; all rules of a table without the column ``selected``."""
    frame = LightFrame.from_frame(rules)
    return frame.take(np.flatnonzero(frame.columns.get("selected", np.ones(len(frame)))))


def rule_records(rules: AnyFrame) -> list[dict[str, Any]]:
    """Return rules as JSON objects with sorted lists of names; an infinite conviction is null."""
    records = [plain_record(row) for row in LightFrame.from_frame(rules).to_dict()]
    for record in records:
        record |= {side: sorted(record[side]) for side in SIDES}
    return records


def write_rules(rules: AnyFrame, path: str | Path, *, everything: bool = False, force: bool = False) -> None:
    """Write the selected rules as Parquet, CSV, or JSON for devices (files/model_files.py), by extension.

    Args:
        rules: a table that :func:`assocpriv.association_rules` returned; or one of mlxtend or rusket, all of whose
            rules are written.
        path: the file, ``.parquet``, ``.csv`` or ``.json``.
        everything: write the other rules too; the column ``selected`` distinguishes them, and devices skip them.
        force: replace an existing file.

    Raises:
        EstimateError: not a table of rules, or a side that holds something else than names.
        FileError: unknown extension, existing file without ``force``, or the file cannot be written.

    Warns:
        UserWarning: no rule is selected, so the file has none.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made))
    >>> ap.write_rules(ap.association_rules(found, "60%"), f"{mkdtemp()}/rules.csv")
    """
    check_rules(rules)
    chosen = LightFrame.from_frame(rules) if everything else selected_rules(rules)
    if not len(chosen) and len(rules):
        warnings.warn("no rule of the table is selected; everything=True writes all of them", stacklevel=2)
    facts = chosen.attrs.get(ATTRIBUTE, {})
    known = {name: facts[name] for name in OF_ALL if facts.get(name) is not None}
    counts = {name: each for name, each in counts_of_selected(chosen).items() if name == "expected_false"}
    chosen = chosen.assign(**{name: np.full(len(chosen), each) for name, each in known.items()})

    def as_json() -> str:
        return rules_to_text(rule_records(chosen), marked=everything, facts=known | counts)

    write_plain(chosen, SIDES, as_json, path, force=force)


def counts_of_selected(frame: LightFrame) -> dict[str, Any]:
    """Return how many rules are selected, and how many of these are expected to be false, if that is known."""
    chosen = np.asarray(frame.columns.get("selected", np.ones(len(frame))), dtype=np.bool_)
    counts: dict[str, Any] = {"selected": int(chosen.sum()), "hidden": 0}
    if "probability" in frame.columns:
        counts["expected_false"] = float((1 - frame["probability"])[chosen].sum())
    return counts


def to_arules(rules: Any) -> Any:
    """Return rules in the format of the R package arules: ``rules`` as ``{a,b} => {c}``, then its measures.

    Args:
        rules: a table that :func:`assocpriv.association_rules` returned.

    Returns:
        A pandas data frame. The ends of the intervals of confidence and lift follow the measures, under their own
            names.

    Raises:
        EstimateError: not a table of rules.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> sorted(ap.exports.to_arules(ap.association_rules(found, "60%"))["rules"])
    ['{milk} => {tea}', '{tea} => {milk}']
    """
    import pandas as pd

    check_rules(rules)
    sides = [[f"{{{','.join(sorted(side))}}}" for side in rules[name]] for name in ("antecedents", "consequents")]
    texts = [f"{left} => {right}" for left, right in zip(*sides, strict=True)]
    measures = {"support": "support", "confidence": "confidence", "coverage": "antecedent support", "lift": "lift"}
    columns = {name: rules[ours].to_numpy() for name, ours in measures.items()}
    columns |= {name: rules[name].to_numpy() for name in INTERVALS if name in rules}
    return pd.DataFrame({"rules": texts} | columns)
