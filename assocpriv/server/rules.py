"""Association rules of mined itemsets, with how sure they are.

For a rule A → C with B = A ∪ C its confidence is b/a, of which the posteriors of the supports b and a tell. The support
of B is known for each node of the bound on it (posterior.py), m_z ± √v_z with weight w_z. Where A is the bound, a is
that node, a_z = a + z σ_a; elsewhere the two are apart, and a_z = a. Then

    P(b/a ≥ q) = Σ_z w_z Φ((m_z − q a_z) / √V),   V = v_z − 2q τ_b τ_a b a [+ q² σ_a² where A is not the bound]

and V at least a tenth of v_z, τ being the error that all itemsets of a size have in common: what is wrong with both in
the same way does not change their ratio. The confidence shown is the mean of this law on [0, 1], its interval is
central. A lift is the confidence over the support of C.

**Worth.** At prices of items the consequents that are bought with the antecedent, beyond as many as there would be if
the two had nothing to do with each other, earn b − a c times what C's items cost. Its law is that of b − a c, likewise
by nodes, with the variance V = v_z + a² σ_c² [+ c² σ_a² where A is not the bound]; that errors of b and of a and c go
together is left out, which makes intervals wider.

Rules are listed while P(confidence ≥ the minimum) is at least .5 and about one in ten of them is expected to be false;
those within one in twenty are marked as sure. What is likely but not listed is there too, as not listed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.itemsets import AnyFrame, LightFrame, as_column, plain_record, write_plain
from assocpriv.files.rules import published
from assocpriv.promise.errors import EstimateError, counted
from assocpriv.server.counting import find_itemsets
from assocpriv.server.intervals import read_share
from assocpriv.server.itemsets import ATTRIBUTE, mining_facts, parts_of
from assocpriv.server.mixtures import NODE_WEIGHTS, NODES, chances, quantiles_of
from assocpriv.server.search import LEAST_PROBABILITY, listed
from assocpriv.server.selection import METRICS, RuleFilter

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
SIDES = ["antecedents", "consequents"]
INTERVALS = ["confidence_ci_low", "confidence_ci_high", "lift_ci_low", "lift_ci_high"]
VALUES = ["value", "value_ci_low", "value_ci_high"]  # per thousand baskets, where prices are known
FALSE_RULES, SURE_RULES = 0.10, 0.05
MIN_CONFIDENCE = "50%"
_LEAST_SUPPORT, _LEAST_PART = 1e-6, 10  # of a support, and of its mean, that nodes go down to
_LEAST_VARIANCE = 0.1  # of the larger itemset's, however much is common
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_TAIL = 1e-4  # on either side, where there is nothing left to integrate
_AT_ONCE = 1 << 15  # rules


# ---- rules


def check_rules(table: AnyFrame) -> None:
    """Refuse what is no table of rules (EstimateError)."""
    if not {*SIDES, "support", "confidence", "lift", *INTERVALS} <= set(getattr(table, "columns", ())):
        raise EstimateError("this is no table of rules; association_rules makes one of the itemsets that mine returns")


def derive_rules(
    itemsets: AnyFrame,
    min_confidence: "float | str" = MIN_CONFIDENCE,
    wanted: RuleFilter | None = None,
    prices: Mapping[str, float] | None = None,
) -> LightFrame:
    """Derive the rules that are likely to have some confidence, and give those of them that are wanted.

    :func:`assocpriv.association_rules` says what the table holds. ``attrs`` say how many rules are listed, how many of
    these are expected to be false, and how many a filter hides.

    Raises:
        EstimateError: the table does not carry what is needed, or a number is out of range.
    """
    threshold = float(read_share(min_confidence, "the minimum confidence"))
    facts = mining_facts(itemsets)
    frame = LightFrame.of(itemsets)
    table = _Table.of(frame)
    parts = [
        _Rules.of(table, sides, whole, is_bound)
        for subsets in _subset_rows(frame)
        for sides, whole, is_bound in _splits(subsets, table.support)
    ]
    worth = None if prices is None else _worth_of(frame, prices)
    rules = _rule_frame(frame, _likely(parts, threshold), table, threshold, facts.confidence_level, worth)
    said: dict[str, Any] = {
        "min_confidence": threshold,
        "listed": int(rules["listed"].sum()),
        "expected_false": float((1 - rules["probability"])[rules["listed"]].sum()),
    }
    n_rules = len(rules)
    if wanted is not None:
        rules = wanted.select(rules)
    said |= {"hidden": n_rules - len(rules)}
    if not len(rules):
        said |= {"none": _why_none(frame, wanted or RuleFilter())}
    rules.attrs[ATTRIBUTE] = said
    return rules


def _why_none(itemsets: LightFrame, wanted: RuleFilter) -> str:
    """Say why there is no rule; empty if nothing tells."""
    if itemsets["length"].max(initial=0) < 2:  # also of an empty table
        return "the table has no itemset of two items or more, of which rules are made"
    named = sorted({str(name) for name in (*wanted.contains, *wanted.antecedent, *wanted.consequent)})
    missing = [name for name in named if not any(name in itemset for itemset in itemsets["itemsets"])]
    if missing:
        return f"no itemset of the table has {missing[0]!r}: it was not found, or is written otherwise"
    return ""


@dataclass(frozen=True, slots=True)
class _Table:
    """What rules need of a mined table, by row: means, deviations, common errors, (rows,); parts (rows, nodes, 3)."""

    support: Floats
    error: Floats
    common: Floats
    parts: Floats

    @classmethod
    def of(cls, frame: LightFrame) -> "_Table":
        return cls(frame["support"], frame["std_error"], frame["common_error"], parts_of(frame))


def _subset_rows(itemsets: LightFrame) -> Iterator[Rows]:
    """Yield for each size from 2 on the rows of all subsets of the itemsets, int64 (itemsets, 2^k).

    Subsets go by mask, bit i for the i-th item by name; the empty one, which has no row, is given as 0.
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
        lacking = np.flatnonzero((subsets < 0).any(axis=1))
        if len(lacking):
            raise EstimateError(
                f"the table lacks a subset of the itemset in row {rows[lacking[0]]}; rules need the whole table as it "
                "was mined"
            )
        yield subsets


def _splits(subsets: Rows, support: Floats) -> Iterator[tuple[Rows, Rows, NDArray[np.bool_]]]:
    """Yield the sides' rows, int64 (2, rules), the wholes' rows, and whether the antecedent is the bound."""
    k, whole = (subsets.shape[1] - 1).bit_length(), subsets.shape[1] - 1
    without = subsets[:, [whole ^ 1 << i for i in range(k)]]
    least = without[np.arange(len(without)), support[without].argmin(axis=1)]
    for members in (members for size in range(1, k) for members in combinations(range(k), size)):
        mask = sum(1 << i for i in members)
        sides = subsets[:, [mask, whole - mask]].T
        yield sides, subsets[:, whole], sides[0] == least


@dataclass(frozen=True, slots=True)
class _Rules:
    """Rules, and what their confidences follow from: arrays (rules,) or (rules, nodes)."""

    sides: Rows
    whole: Rows
    weights: Floats
    means: Floats
    variances: Floats
    antecedents: Floats
    apart: Floats
    common: Floats

    @classmethod
    def of(cls, table: _Table, sides: Rows, whole: Rows, is_bound: NDArray[np.bool_]) -> "_Rules":
        parts, a, b = table.parts[whole], sides[0], whole
        nodes = np.where(is_bound[:, None], NODES, 0.0)
        antecedents = np.maximum(table.support[a, None] + nodes * table.error[a, None], _LEAST_SUPPORT)
        common = table.common[a] * table.common[b] * table.support[a] * table.support[b]
        apart = np.where(is_bound, 0.0, table.error[a] ** 2)
        return cls(sides, whole, parts[:, :, 0], parts[:, :, 1], parts[:, :, 2] ** 2, antecedents, apart, common)

    def take(self, rows: NDArray[Any]) -> "_Rules":
        """Return some of them."""
        return _Rules(self.sides[:, rows], *(getattr(self, name)[rows] for name in list(self.__slots__)[1:]))

    def above(self, confidence: "Floats | float") -> Floats:
        """Return P(confidence ≥ q), float64 (rules,)."""
        q = np.reshape(confidence, (-1, 1))
        spread = self.variances - 2 * q * self.common[:, None] + q**2 * self.apart[:, None]
        spread = np.maximum(spread, np.maximum(_LEAST_VARIANCE * self.variances, 1e-30))
        scores = (self.means - q * self.antecedents) / np.sqrt(spread)
        return chances(self.weights, scores)

    def quantile(self, chance: float) -> Floats:
        """Return what each confidence is below with this probability, float64 (rules,)."""
        return quantiles_of(self.above, chance, np.zeros(len(self)), np.ones(len(self)))

    def mean(self) -> Floats:
        """Return the mean confidence, float64 (rules,): the integral of P(confidence ≥ q), which falls within ends."""
        low, high = self.quantile(_TAIL), self.quantile(1 - _TAIL)
        middle, half = (low + high) / 2, (high - low) / 2
        above = (w * self.above(middle + half * x) for x, w in zip(_POINTS, _WEIGHTS, strict=True))
        return np.asarray(low + half * sum(above))

    def __len__(self) -> int:
        return len(self.whole)

    def gains_above(self, gain: Floats, consequents: Floats, errors: Floats) -> Floats:
        """Return P(b − a c ≥ gain), float64 (rules,); of consequents their supports and errors, float64 (rules,)."""
        c, a = consequents[:, None], self.antecedents
        spread = self.variances + (a * errors[:, None]) ** 2 + c**2 * self.apart[:, None]
        return chances(self.weights, (self.means - a * c - gain[:, None]) / np.sqrt(np.maximum(spread, 1e-30)))


def _worth_of(frame: LightFrame, prices: Mapping[str, float]) -> Floats:
    """Return what all items of each itemset earn together, float64 (itemsets,)."""
    lacking = sorted({name for itemset in frame["itemsets"] for name in itemset if name not in prices})
    if lacking:
        raise EstimateError(f"there is no price of {counted(len(lacking), 'item')} of the table, as of {lacking[0]!r}")
    return np.array([sum(prices[name] for name in itemset) for itemset in frame["itemsets"]], dtype=np.float64)


def _likely(parts: Sequence[_Rules], threshold: float) -> list[_Rules]:
    """Leave the rules that are more likely than not to have a confidence."""
    return [part.take(np.flatnonzero(part.above(threshold) >= LEAST_PROBABILITY)) for part in parts]


def _rule_frame(
    frame: LightFrame, parts: Sequence[_Rules], table: _Table, threshold: float, level: float, worth: Floats | None
) -> LightFrame:
    """Put rules into a table, the listed ones first, by what their confidence surely is, or their value."""
    pieces = [
        part.take(np.arange(start, min(start + _AT_ONCE, len(part))))
        for part in parts
        for start in range(0, len(part), _AT_ONCE)
    ]
    if not pieces:
        return empty_rules() if worth is None else empty_rules().assign(**{name: np.empty(0) for name in VALUES})
    sides = np.concatenate([piece.sides for piece in pieces], axis=1)
    told = [rule_columns(piece, table, level) | {"probability": piece.above(threshold)} for piece in pieces]
    if worth is not None:
        told = [each | _values(piece, table, level, worth) for each, piece in zip(told, pieces, strict=True)]
    columns = {name: np.concatenate([each[name] for each in told]) for name in told[0]}
    columns["listed"] = listed(columns["probability"], FALSE_RULES)
    columns["sure"] = listed(columns["probability"], SURE_RULES)
    names = frame["itemsets"]
    surely = columns["confidence_ci_low" if worth is None else "value_ci_low"]
    order = np.lexsort((-surely, ~columns["listed"]))
    named = {side: as_column([names[row] for row in rows]) for side, rows in zip(SIDES, sides, strict=True)}
    return LightFrame({name: values[order] for name, values in (named | columns).items()})


def rule_columns(rules: _Rules, table: _Table, level: float) -> dict[str, Floats]:
    """Return metrics and intervals of rules, float64 (rules,) each."""
    n, (a, c) = len(rules), rules.sides
    tails = (1 - level) / 2, (1 + level) / 2
    confidence = [rules.quantile(tail) for tail in tails]
    mean = table.support[c, None]
    consequents = np.maximum(mean + NODES * table.error[c, None], np.maximum(mean / _LEAST_PART, _LEAST_SUPPORT))

    def lift_above(lift: Floats) -> Floats:
        each = [rules.above(np.minimum(lift * node, 1e9)) for node in consequents.T]
        return np.asarray(NODE_WEIGHTS @ np.array(each))

    lifts = [quantiles_of(lift_above, tail, np.zeros(n), 1 / consequents.min(axis=1)) for tail in tails]
    supports = table.support[rules.whole], table.support[a], table.support[c]
    return _rule_metrics(*supports, rules.mean()) | dict(zip(INTERVALS, [*confidence, *lifts], strict=True))


def _values(rules: _Rules, table: _Table, level: float, worth: Floats) -> dict[str, Floats]:
    """Return what rules are worth per thousand baskets, and its interval, float64 (rules,) each."""
    c, price = rules.sides[1], 1000 * worth[rules.sides[1]]
    supports, errors = table.support[c], table.error[c]
    mean = (rules.weights * (rules.means - rules.antecedents * supports[:, None])).sum(axis=1)
    one = np.ones(len(rules))
    ends = [
        price * quantiles_of(lambda gain: rules.gains_above(gain, supports, errors), tail, -one, one)
        for tail in ((1 - level) / 2, (1 + level) / 2)
    ]
    return dict(zip(VALUES, [price * mean, np.minimum(*ends), np.maximum(*ends)], strict=True))


def empty_rules() -> LightFrame:
    """Return a table of no rules."""
    numbers = {name: np.empty(0) for name in [*METRICS, *INTERVALS, "probability"]}
    flags = {name: np.empty(0, dtype=np.bool_) for name in ("listed", "sure")}
    return LightFrame({name: np.empty(0, dtype=object) for name in SIDES} | numbers | flags)


def _rule_metrics(b: Floats, a: Floats, c: Floats, confidence: Floats) -> dict[str, Floats]:
    """Compute mlxtend's metrics from supports of A ∪ C, A and C and the confidence, float64 arrays of one shape.

    >>> metrics = _rule_metrics(*(np.array([share]) for share in (0.25, 0.5, 0.5, 0.5)))
    >>> metrics["confidence"].tolist(), metrics["lift"].tolist()
    ([0.5], [1.0])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        leverage = b - a * c
        scale = np.maximum(b * (1 - a), a * (c - b))
        certainty = np.where(c < 1, (confidence - c) / (1 - c), 0.0)
        return {
            "antecedent support": a,
            "consequent support": c,
            "support": b,
            "confidence": confidence,
            "lift": confidence / np.maximum(c, _LEAST_SUPPORT),
            "representativity": np.ones_like(b),
            "leverage": leverage,
            "conviction": np.where(confidence < 1, (1 - c) / (1 - confidence), np.inf),
            "zhangs_metric": np.where(scale != 0, leverage / scale, 0.0),
            "jaccard": b / (a + c - b),
            "certainty": certainty,
            "kulczynski": (b / a + b / c) / 2,
        }


def asked_rules(frame: LightFrame, sides: Rows, whole: Rows, level: float) -> LightFrame:
    """Return rules that were asked for, by the rows of their sides, int64 (2, rules), and of their wholes."""
    table, rules = _asked(frame, sides, whole)
    sets = frame["itemsets"]
    named = {side: as_column([sets[row] for row in each]) for side, each in zip(SIDES, sides.tolist(), strict=True)}
    return LightFrame(named | rule_columns(rules, table, level))


def asked_confidences(
    frame: LightFrame, sides: Rows, whole: Rows, level: float, least: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return of such rules P(confidence ≥ the least), the mean confidence and its interval, float64 (rules,) each."""
    rules = _asked(frame, sides, whole)[1]
    return rules.above(least), rules.mean(), rules.quantile((1 - level) / 2), rules.quantile((1 + level) / 2)


def _asked(frame: LightFrame, sides: Rows, whole: Rows) -> tuple[_Table, _Rules]:
    table, sets = _Table.of(frame), frame["itemsets"].tolist()
    rows = {itemset: row for row, itemset in enumerate(sets)}
    least = [
        min((rows[sets[row] - {name}] for name in sorted(sets[row])), key=lambda each: table.support[each])
        for row in whole.tolist()
    ]
    return table, _Rules.of(table, sides, whole, sides[0] == np.array(least, dtype=np.int64))


def rule_records(rules: AnyFrame) -> list[dict[str, Any]]:
    """Return rules as plain objects, sides being sorted lists of names; an infinite conviction is null."""
    records = [plain_record(row) for row in LightFrame.of(rules).to_dict()]
    for record in records:
        record |= {side: sorted(record[side]) for side in SIDES}
    return records


def write_rules(rules: AnyFrame, path: str | Path, *, force: bool = False) -> None:
    """Write rules as Parquet or CSV, or as JSON those listed, for devices (files/rules.py), by extension.

    Raises:
        EstimateError: no table of rules.
        FileError: unknown extension, existing file without ``force``, or the disk refuses.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made))
    >>> ap.write_rules(ap.association_rules(found, "60%"), f"{mkdtemp()}/rules.csv")
    """
    check_rules(rules)
    frame = LightFrame.of(rules)
    write_plain(
        rules, SIDES, lambda: published(rule_records(frame.take(np.flatnonzero(frame["listed"])))), path, force=force
    )


def to_arules(rules: Any) -> Any:
    """Return rules as the R package arules writes them: ``rules`` as ``{a,b} => {c}``, then its measures.

    The ends of confidences' and lifts' intervals come after them, under their own names.

    Raises:
        EstimateError: no table of rules.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> sorted(ap.to_arules(ap.association_rules(found, "60%"))["rules"])
    ['{milk} => {tea}', '{tea} => {milk}']
    """
    import pandas as pd

    check_rules(rules)
    sides = [[f"{{{','.join(sorted(side))}}}" for side in rules[name]] for name in ("antecedents", "consequents")]
    texts = [f"{left} => {right}" for left, right in zip(*sides, strict=True)]
    measures = {"support": "support", "confidence": "confidence", "coverage": "antecedent support", "lift": "lift"}
    columns = {name: rules[ours].to_numpy() for name, ours in measures.items()}
    return pd.DataFrame({"rules": texts} | columns | {name: rules[name].to_numpy() for name in INTERVALS})
