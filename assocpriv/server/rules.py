"""Association rules of mined itemsets: which there are, with metrics that tell how sure they are.

A rule is known by the table's rows of its sides until the frame is made. Of its confidence and lift there are standard
errors, tests and intervals. For a rule A → C with B = A ∪ C and estimates b, a, c of the supports of B, A, C:

    confidence = b/a, lift = b/(a·c)
    Var(confidence) ≈ (V_bb − 2 conf V_ab + conf² V_aa) / a²
    Var(lift)       ≈ gᵀ V g with g = (1/(ac), −b/(a²c), −b/(ac²))         (delta method)

V is the joint covariance of the three estimates (supports.py), which come from the same reports; every count it needs
is that of a subset of B.

Whether a confidence reaches C is tested by D = b − C·a, whose expectation is negative if it does not, with
p = Φ(−D/σ) and σ² the larger of two estimates: (1, −C) V (1, −C)ᵀ, and Var D as it would be with D = 0. For the latter,
one report adds W = Z_B − C·Z_A to N·D; its variance is estimated without bias by the mean of U = W² (population) or
U = W² − (1 − 2C)·Z_B − C²·Z_A (transactions at hand), and regression, mean U − D·Cov(U, W)/Var W, tells what it would
be had D come out as 0. Without that, few of the rare reports that count most against a rule make D large and its noise
seem small. It remains a normal approximation: where only some tens of reports show all items of a side, p-values
below 1% are not to be taken literally.

The interval of a confidence is Fieller's: all shares C that the estimate of b − C·a does not speak against,

    (b − C·a)² ≤ z² (V_bb − 2C·V_ab + C²·V_aa)

cut to [0, 1]. Where a itself is not told from 0 that is everything, as it should be.

Source: Fieller, Some problems in interval estimation, J. R. Stat. Soc. B 1954.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.itemsets import AnyFrame, LightFrame, as_column, plain_record, write_plain
from assocpriv.promise.errors import EstimateError
from assocpriv.server.counting import find_itemsets
from assocpriv.server.false_discovery import SPLIT, all_rules, false_discoveries_controlled, parse_certainty
from assocpriv.server.intervals import lower_tails, read_share
from assocpriv.server.itemsets import ATTRIBUTE, CERTAIN_COLUMNS, MiningFacts, mining_facts
from assocpriv.server.selection import METRICS, RuleFilter
from assocpriv.server.supports import (
    Respondents,
    covariance,
    estimate_supports,
    mask_of,
    normal_quantile,
    subset_sums,
)

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Counts = NDArray[np.int64]
Three = tuple[Floats, Floats, Floats]
LEAST_SUPPORT = 2.0  # standard errors: a side not told from 0 says nothing about a share of it
SIDES = ["antecedents", "consequents"]
ERRORS = ["support_std_error", "confidence_std_error", "lift_std_error"]


# ---- rules


def check_rules(table: AnyFrame) -> None:
    """Refuse what is no table of rules (EstimateError)."""
    if not {*SIDES, "support", "confidence", "lift"} <= set(getattr(table, "columns", ())):
        raise EstimateError("this is no table of rules; association_rules makes one of the itemsets that mine returns")


def derive_rules(
    itemsets: LightFrame,
    min_confidence: "float | str" = 0.0,
    *,
    certain: "float | str | None" = None,
    wanted: RuleFilter | None = None,
) -> LightFrame:
    """Derive the rules A → C, A ∪ C frequent, of some confidence, and give those of them that are wanted.

    :func:`assocpriv.association_rules` says what the table holds. A rule needs both its sides to be supported by at
    least two standard errors. ``attrs`` say how many rules a filter hides, and what is claimed before it filters.

    Raises:
        EstimateError: the table does not carry what standard errors or tests need, or a number is out of range.
    """
    threshold, level = float(read_share(min_confidence, "the minimum confidence")), parse_certainty(certain, SPLIT)
    facts = mining_facts(itemsets)
    if level is not None and facts.certain is None:
        raise EstimateError(
            "rules can be certain only if their itemsets were mined with certain (--certain) too: this table's were "
            "chosen by the same reports that would test their rules"
        )
    table = _Table.of(itemsets, facts)
    tested = level is not None
    derived = [part for rows in _subset_rows(itemsets) for part in _rules_of_size(rows, table, threshold, tested)]
    rules = _sorted_frame(itemsets, derived, tested=tested)
    if level is not None:
        assert facts.certain is not None
        # all of the itemsets' splits, or of all possible itemsets; rules left out for what the testing reports say of
        # them count too, as p = 1
        splits, certain_by = sum((1 << int(k)) - 2 for k in itemsets["length"]), facts.certain.by
        hypotheses = splits if certain_by == SPLIT else all_rules(facts.certain.items, facts.certain.largest)
        rules = rules.assign(certain=false_discoveries_controlled(rules["p_value"], float(1 - level), hypotheses))
        claim = {"level": float(level), "min_confidence": threshold, "hypotheses": hypotheses}
        rules.attrs[ATTRIBUTE] = {"certain": claim | {"found": int(rules["certain"].sum())}}
    said, n_rules = rules.attrs.get(ATTRIBUTE, {}), len(rules)
    if wanted is not None:
        rules = wanted.select(rules)
        said |= {"hidden": n_rules - len(rules)}
    if not len(rules):
        said |= {"none": _why_none(itemsets, wanted or RuleFilter(), 0.0 if n_rules else threshold)}
    rules.attrs[ATTRIBUTE] = said
    return rules


def rules_of_table(
    itemsets: AnyFrame, min_confidence: "float | str", certain: "float | str | None", wanted: RuleFilter
) -> LightFrame:
    """Derive the rules that a filter wants, as :func:`assocpriv.association_rules`, without pandas."""
    mining_facts(itemsets)  # refuses what is no such table
    given = None if wanted == RuleFilter() else wanted
    return derive_rules(LightFrame.of(itemsets), min_confidence, certain=certain, wanted=given)


def _why_none(itemsets: LightFrame, wanted: RuleFilter, threshold: float) -> str:
    """Say why there is no rule: none reaches a threshold above 0, or else none is wanted; empty if nothing tells."""
    if itemsets["length"].max(initial=0) < 2:  # also of an empty table
        return "the table has no itemset of two items or more, of which rules are made"
    named = sorted({str(name) for name in (*wanted.contains, *wanted.antecedent, *wanted.consequent)})
    missing = [name for name in named if not any(name in itemset for itemset in itemsets["itemsets"])]
    if missing:
        return f"no itemset of the table has {missing[0]!r}: it is not frequent there, or written otherwise"
    if threshold:
        found = derive_rules(itemsets)["confidence"].max(initial=-math.inf)
        return "no rule's sides are told from nobody" if math.isinf(found) else f"the largest confidence is {found:.1%}"
    return ""


@dataclass(frozen=True, slots=True)
class _Table:
    """What rules need of a mined table, by row; ``clear`` are supports told from 0, which sides must have."""

    counts: Counts
    supports: Floats
    clear: NDArray[np.bool_]
    respondents: Respondents
    population: bool

    @classmethod
    def of(cls, itemsets: LightFrame, facts: MiningFacts) -> "_Table":
        supports, errors = (itemsets[name] for name in ("support", "std_error"))
        clear = (supports > 0) & (supports >= LEAST_SUPPORT * errors)
        return cls(itemsets["count"], supports, clear, facts.respondents, facts.errors.population)


def _subset_rows(itemsets: LightFrame) -> Iterator[Rows]:
    """Yield for each size from 2 on the rows of all subsets of the frequent itemsets, int64 (itemsets, 2^k).

    Subsets go by mask, bit i for the i-th item by name; the empty one, which has no row, is given as 0.
    """
    sets, frequent = itemsets["itemsets"].tolist(), itemsets["frequent"]
    number = {name: place for place, name in enumerate(sorted({name for itemset in sets for name in itemset}))}
    known: dict[int, tuple[Rows, Rows]] = {}  # of each size the itemsets in lexicographic order, and their rows
    for k in sorted(set(map(len, sets))):
        rows = np.flatnonzero([len(itemset) == k for itemset in sets])
        items = np.array([sorted(number[name] for name in sets[row]) for row in rows], dtype=np.int64)
        order = np.lexsort(items.T[::-1])
        known[k] = items[order], rows[order]
        chosen, own = items[frequent[rows]], rows[frequent[rows]]
        if k < 2 or not len(chosen):
            continue
        subsets = np.zeros((len(chosen), 1 << k), dtype=np.int64)
        for mask in range(1, 1 << k):
            smaller, places = known.get(mask.bit_count(), (items[:0, : mask.bit_count()], rows))
            at = find_itemsets(smaller, chosen[:, [i for i in range(k) if mask >> i & 1]])
            subsets[:, mask] = np.where(at < 0, -1, places[at])
        lacking = np.flatnonzero((subsets < 0).any(axis=1))
        if len(lacking):
            raise EstimateError(
                f"the table lacks a subset of the itemset in row {own[lacking[0]]}; rules need the whole table as it "
                "was mined"
            )
        yield subsets


def _rules_of_size(rows: Rows, table: _Table, threshold: float, tested: bool) -> Iterator[tuple[Rows, Floats]]:
    """Yield the rules within itemsets of k items, pattern by pattern, given the rows of all subsets of each itemset.

    These are the sides' rows, int64 (2, rules), and b, a, c, three standard errors (ERRORS) and, where rules are to be
    tested, p: float64 (6 or 7, rules).
    """
    k, whole = (rows.shape[1] - 1).bit_length(), rows.shape[1] - 1
    counts = table.counts[rows]
    counts[:, 0] = table.respondents.n_reports
    for members in (members for size in range(1, k) for members in combinations(range(k), size)):
        mask = sum(1 << i for i in members)
        sides = rows[:, [mask, whole - mask]].T
        b, a, c = (table.supports[row] for row in (rows[:, whole], *sides))
        good = np.flatnonzero(table.clear[sides].all(axis=0) & (b >= threshold * a))
        if len(good):
            inside, supports = [int(i in members) for i in range(k)], (b[good], a[good], c[good])
            found = RuleEstimates.of(counts[good], table.respondents, inside, supports, table.population)
            p = [found.p_values(threshold)] if tested else []
            yield sides[:, good], np.stack([*supports, *found.std_errors(), *p])


def _sorted_frame(itemsets: LightFrame, derived: list[tuple[Rows, Floats]], *, tested: bool) -> LightFrame:
    """Put rules into a table, those first whose confidence is surely high."""
    p_value = CERTAIN_COLUMNS[:1] if tested else []
    if not derived:
        return empty_rules([*METRICS, *ERRORS, *p_value])
    sides, values = (np.concatenate(parts, axis=1) for parts in zip(*derived, strict=True))
    # by confidence alone, the noisiest rules would come first
    surely = values[0] / values[1] - LEAST_SUPPORT * values[4]
    order = np.argsort(-surely, kind="stable")
    names, (b, a, c, *more) = itemsets["itemsets"], values[:, order]
    rules = rule_frame([names[row] for row in sides[:, order]], (b, a, c), more[:3])
    return rules.assign(**dict(zip(p_value, more[3:], strict=True)))


def empty_rules(numbers: Sequence[str]) -> LightFrame:
    """Return a table of no rules, with these columns beside its sides."""
    sides = {name: np.empty(0, dtype=object) for name in SIDES}
    return LightFrame(sides | {name: np.empty(0) for name in numbers})


def rule_frame(sides: Sequence[Any], supports: tuple[Floats, Floats, Floats], errors: Sequence[Floats]) -> LightFrame:
    """Put rules into a table: antecedents and consequents, metrics, and standard errors."""
    columns = dict(zip(SIDES, map(as_column, sides), strict=True))
    return LightFrame(columns | _rule_metrics(*supports) | dict(zip(ERRORS, errors, strict=True)))


def _rule_metrics(b: Floats, a: Floats, c: Floats) -> dict[str, Floats]:
    """Compute mlxtend's metrics from supports of A ∪ C, A and C, float64 arrays of one shape; a, c > 0.

    >>> metrics = _rule_metrics(np.array([0.25]), np.array([0.5]), np.array([0.5]))
    >>> metrics["confidence"].tolist(), metrics["lift"].tolist()
    ([0.5], [1.0])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        confidence = b / a
        leverage = b - a * c
        scale = np.maximum(b * (1 - a), a * (c - b))
        certainty = np.where(c < 1, (confidence - c) / (1 - c), 0.0)
        return {
            "antecedent support": a,
            "consequent support": c,
            "support": b,
            "confidence": confidence,
            "lift": confidence / c,
            "representativity": np.ones_like(b),
            "leverage": leverage,
            "conviction": np.where(confidence < 1, (1 - c) / (1 - confidence), np.inf),
            "zhangs_metric": np.where(scale != 0, leverage / scale, 0.0),
            "jaccard": b / (a + c - b),
            "certainty": certainty,
            "kulczynski": (b / a + b / c) / 2,
        }


def rule_records(rules: AnyFrame) -> list[dict[str, Any]]:
    """Return rules as plain objects, sides being sorted lists of names; an infinite conviction is null."""
    records = [plain_record(row) for row in LightFrame.of(rules).to_dict()]
    for record in records:
        record |= {side: sorted(record[side]) for side in SIDES}
    return records


def write_rules(rules: AnyFrame, path: str | Path, *, force: bool = False) -> None:
    """Write rules as Parquet, CSV or JSON by extension.

    Raises:
        EstimateError: no table of rules.
        FileError: unknown extension, existing file without ``force``, or the disk refuses.

    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, promise=ap.Breach("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> ap.write_rules(ap.association_rules(found, "60%"), f"{mkdtemp()}/rules.csv")
    """
    check_rules(rules)

    def as_json() -> str:
        return json.dumps({"rules": rule_records(rules)}, indent=1, ensure_ascii=False)

    write_plain(rules, SIDES, as_json, path, force=force)


# ---- errors


@dataclass(frozen=True, slots=True)
class RuleEstimates:
    """Rules of one pattern, which says which of the k items of A ∪ C are in A.

    Attributes:
        counts: c_D for every subset D of A ∪ C by mask, int64 (rules, 2^k).
        inside: 0 or 1 for each of the k items: membership of A.
        supports: b, a, c, float64 (rules,) each.
        covariance: V of these, each entry float64 (rules,), for the population or the transactions at hand.
    """

    counts: Counts
    respondents: Respondents
    inside: list[int]
    supports: Three
    covariance: list[list[Floats]]
    population: bool

    @classmethod
    def of(
        cls, counts: Counts, respondents: Respondents, inside: list[int], supports: Three, population: bool
    ) -> "RuleEstimates":
        """Return estimates with their covariance."""
        joint = _joint_covariance(counts, respondents, inside, supports, population=population)
        return cls(counts, respondents, inside, supports, joint, population)

    def std_errors(self) -> list[Floats]:
        """Return the standard errors of support, confidence and lift, float64 (rules,) each."""
        b, a, c = self.supports
        one, nothing = np.ones_like(b), np.zeros_like(b)
        of_lift = [1 / (a * c), -b / (a * a * c), -b / (a * c * c)]
        gradients = [[one, nothing, nothing], [1 / a, -b / a**2, nothing], of_lift]
        return [np.sqrt(_quadratic_form(gradient, self.covariance)) for gradient in gradients]

    def p_values(self, threshold: float) -> Floats:
        """Return p-values against "the confidence is below the threshold", float64 (rules,)."""
        b, a, _ = self.supports
        difference = b - threshold * a
        variance = np.maximum(_quadratic_form([1.0, -threshold], self.covariance), self._variance_at_zero(threshold))
        p: Floats = lower_tails(-difference / np.sqrt(np.maximum(variance, 1e-300)))
        return p

    def _variance_at_zero(self, threshold: float) -> Floats:
        """Return Var D, or what it would be had D come out as 0 if that is more."""
        k, shown = len(self.inside), np.arange(1 << len(self.inside))
        n_reports, of_a = self.respondents.n_reports, shown & mask_of(self.inside)
        z_b, z_a = (
            np.array([float(x) for x in self.respondents.model.row(size)])[np.bitwise_count(masks)]
            for size, masks in ((k, shown), (sum(self.inside), of_a))
        )
        w = z_b - threshold * z_a
        u = w * w - (0.0 if self.population else (1 - 2 * threshold) * z_b + threshold**2 * z_a)
        w, u, ww, uw = np.stack([w, u, w * w, u * w]) @ _exactly(self.counts).T / n_reports
        spread = ww - w * w
        slope = (uw - u * w) / np.where(spread > 0, spread, np.inf)
        variance: Floats = np.maximum(u, u - slope * w) / n_reports
        return variance

    def confidence_intervals(self, level: float) -> Floats:
        """Return the ends of the confidences' intervals, float64 (rules, 2); all of [0, 1] where a may be 0."""
        (b, a, _), cov, z = self.supports, self.covariance, normal_quantile(level)
        square, middle = a * a - z * z * cov[1][1], a * b - z * z * cov[0][1]
        inner = middle * middle - square * (b * b - z * z * cov[0][0])
        known = (square > 0) & (a > 0) & (inner >= 0)
        root, scale = np.sqrt(np.where(known, inner, 0.0)), np.where(known, square, 1.0)
        low, high = (np.clip((middle + side * root) / scale, 0.0, 1.0) for side in (-1, 1))
        return np.column_stack([np.where(known, low, 0.0), np.where(known, high, 1.0)])


def _quadratic_form(gradient: "Sequence[Floats | float]", cov: list[list[Floats]]) -> Floats:
    indices = range(len(gradient))
    whole: Floats = np.sum([gradient[i] * gradient[j] * cov[i][j] for i in indices for j in indices], axis=0)
    # noise can make a joint estimate contradict itself; then without the covariances
    alone: Floats = np.sum([gradient[i] ** 2 * cov[i][i] for i in indices], axis=0)
    return np.where(whole > 0, whole, alone)


def _joint_covariance(
    counts: Counts, respondents: Respondents, inside: list[int], supports: Three, *, population: bool
) -> list[list[Floats]]:
    """Estimate the covariance matrix of b, a, c; raised to the bounds that itemsets have, its correlations stay."""
    members = [[1] * len(inside), inside, [1 - i for i in inside]]
    raw = [
        [covariance(counts, respondents, left, right, population=population) for right in members] for left in members
    ]
    scales = []
    for i, (member, support) in enumerate(zip(members, supports, strict=True)):
        within = estimate_supports(subset_sums(counts, mask_of(member)), respondents)
        floored = np.maximum(raw[i][i], within.least(support, population=population))
        with np.errstate(invalid="ignore"):  # a single report: infinite errors
            scales.append(np.sqrt(floored / np.where(raw[i][i] > 0, raw[i][i], np.inf)))
        raw[i][i] = floored
    return [[raw[i][j] * (1.0 if i == j else scales[i] * scales[j]) for j in range(3)] for i in range(3)]


def _exactly(counts: Counts) -> Counts:
    """Turn counts of reports showing all of D into counts of those showing exactly D, by mask, int64 (sets, 2^k)."""
    exact = counts.copy()
    for i in range((counts.shape[1] - 1).bit_length()):
        without = [mask for mask in range(counts.shape[1]) if not mask >> i & 1]
        exact[:, without] -= exact[:, [mask | 1 << i for mask in without]]
    return exact


def to_arules(rules: Any) -> Any:
    """Return rules as the R package arules writes them: ``rules`` as ``{a,b} => {c}``, then its measures.

    Standard errors come after them, under their own names.

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
    errors = [name for name in rules.columns if str(name).endswith("_std_error")]
    columns = {name: rules[ours].to_numpy() for name, ours in measures.items()}
    return pd.DataFrame({"rules": texts} | columns | {name: rules[name].to_numpy() for name in errors})
