"""Association rules from mined itemsets: which there are, their metrics, and the table they are put into.

A rule is known by the table's rows of its sides until the frame is made; estimates/confidences.py says how sure it is.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.itemsets import AnyFrame, LightFrame, as_column, plain_record, write_plain
from assocpriv.promise.errors import EstimateError
from assocpriv.server.counting.sums import find_itemsets
from assocpriv.server.estimates.confidences import RuleEstimates
from assocpriv.server.estimates.intervals import read_share
from assocpriv.server.estimates.supports import Respondents, SubsetCounts
from assocpriv.server.itemsets.facts import MiningFacts
from assocpriv.server.itemsets.frames import ATTRIBUTE, CERTAIN_COLUMNS, mining_facts, subsets_of
from assocpriv.server.itemsets.sample_splitting import (
    SPLIT,
    all_rules,
    false_discoveries_controlled,
    parse_certainty,
)
from assocpriv.server.itemsets.selection import METRICS, RuleFilter

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
LEAST_SUPPORT = 2.0  # standard errors: a side not told from 0 says nothing about a share of it
SIDES = ["antecedents", "consequents"]
NEEDS_ITEMS = "rules compare an itemset with its subsets, from a plan that asks for items"
ERRORS = ["support_std_error", "confidence_std_error", "lift_std_error"]


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
    if facts.are_entries:
        raise EstimateError(f"these itemsets are entries that the plan asks for one by one; {NEEDS_ITEMS}")
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

    subsets: Callable[[Rows], SubsetCounts]
    supports: Floats
    clear: NDArray[np.bool_]
    respondents: Respondents
    population: bool

    @classmethod
    def of(cls, itemsets: LightFrame, facts: MiningFacts) -> "_Table":
        supports, errors = (itemsets[name] for name in ("support", "std_error"))
        clear = (supports > 0) & (supports >= LEAST_SUPPORT * errors)
        return cls(subsets_of(itemsets), supports, clear, facts.respondents, facts.errors.population)


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
    counted = table.subsets(rows)
    for members in (members for size in range(1, k) for members in combinations(range(k), size)):
        mask = sum(1 << i for i in members)
        sides = rows[:, [mask, whole - mask]].T
        b, a, c = (table.supports[row] for row in (rows[:, whole], *sides))
        good = np.flatnonzero(table.clear[sides].all(axis=0) & (b >= threshold * a))
        if len(good):
            inside, supports = [int(i in members) for i in range(k)], (b[good], a[good], c[good])
            found = RuleEstimates.of(counted.among(good), table.respondents, inside, supports, table.population)
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
    return LightFrame(columns | rule_metrics(*supports) | dict(zip(ERRORS, errors, strict=True)))


def rule_metrics(b: Floats, a: Floats, c: Floats) -> dict[str, Floats]:
    """Compute mlxtend's metrics from supports of A ∪ C, A and C, float64 arrays of one shape; a, c > 0.

    >>> metrics = rule_metrics(np.array([0.25]), np.array([0.5]), np.array([0.5]))
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
    """
    check_rules(rules)

    def as_json() -> str:
        return json.dumps({"rules": rule_records(rules)}, indent=1, ensure_ascii=False)

    write_plain(rules, SIDES, as_json, path, force=force)
