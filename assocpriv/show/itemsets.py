"""Itemsets with their rules, as text for a person or as JSON content.

Mined or asked for: supports with errors and intervals, what is sure, what they are shares of.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.files.itemsets import AnyFrame, LightFrame, itemset_records
from assocpriv.plans.catalogue import itemsets_of
from assocpriv.server.ask import AnswerFacts, AskOutcome, not_told
from assocpriv.server.itemsets import MiningFacts, meaning, mining_facts
from assocpriv.server.rules import rule_records
from assocpriv.server.selection import EVERYTHING, SURE, ItemsetFilter, rows_to_show, shown_rows
from assocpriv.show import figures

if TYPE_CHECKING:
    from numpy.typing import NDArray


_MORE_COLUMNS = {
    "true_support": "true",
    "raw_support": "raw",
    "whole_support": "whole",
    "whole_std_error": "± error",
    "model_error": "± model",
}
_CORRECTED = (
    "whole: supports in whole baskets, by a model of how baskets of each size hold an itemset; ± model: half of what "
    "the model changes, which may be wrong"
)
_NOT_TOLD = {
    "antecedent": "— with the interval 0–100%: the antecedent is not told from nobody, so nothing is known of the rule",
    "rule": "— with another interval: the whole rule is not told from nobody; its confidence lies in the interval",
}
_RULE_HEADER = f"{'confidence':>10} {'± error':>8} {'lift':>8} {'± error':>8} {'support':>8}"


# ---- itemsets


def mined_record(mined: AnyFrame, wanted: ItemsetFilter = EVERYTHING) -> dict[str, Any]:
    """Return a mined table for ``--json``, of which a filter leaves some rows, in its order."""
    rows = frame = LightFrame.of(mined)
    if wanted != EVERYTHING:
        rows = frame.take(rows_to_show(frame, wanted, shown_rows(frame)[1], len(frame)))
    return mining_facts(frame).to_json() | {"hidden": len(frame) - len(rows), "itemsets": itemset_records(rows)}


def mined_lines(frame: AnyFrame, top: int, wanted: ItemsetFilter = EVERYTHING) -> list[str]:
    """Show a mined table, and what its supports and the minimum support are."""
    facts = mining_facts(frame)
    return [_meaning_line(facts), *_size_lines(facts), *threshold_lines(facts), *itemset_lines(frame, top, wanted)]


def _size_lines(facts: MiningFacts) -> list[str]:
    """Say what reports tell of sizes, and by what supports are multiplied to be those of whole baskets."""
    if facts.sizes is None:
        return []
    factors = [
        f"{factor:.2f} ± {factor * error:.2f} for {itemsets_of(int(k))}"
        for k, (factor, error) in facts.sizes.undoing.items()
    ]
    return [
        f"from {facts.sizes.answers:,} answers about sizes: {facts.sizes.mean:.2f} items a basket; undoing the "
        f"sampling multiplies supports by about {', '.join(factors)}"
    ]


def itemset_lines(itemsets: AnyFrame, top: int, wanted: ItemsetFilter = EVERYTHING) -> list[str]:
    """Show itemsets, frequent ones only: what is sure first, then the others; with the truth where it is there."""
    frame = LightFrame.of(itemsets)
    facts = mining_facts(frame)
    certain = facts.certain
    finds, sure = shown_rows(frame)
    shown, sure = frame.take(finds), sure[finds]
    marks = ("", "  ?") if certain is None else ("* ", "  ")
    rows = rows_to_show(shown, wanted, sure, top)
    lines, parted = [_itemset_header(frame)], wanted.sort != SURE
    for row, is_sure in zip(shown.take(rows).to_dict(), sure[rows].tolist(), strict=True):
        if not (is_sure or parted):
            lines, parted = [*lines, _not_sure(shown, facts)], True
        names, mark = figures.listed(row["itemsets"]), marks[0 if is_sure else 1]
        lines.append(
            f"{_itemset_line(row)}  {names}{mark}" if certain is None else f"{_itemset_line(row)}  {mark}{names}"
        )
    lines += _rest_lines(shown, wanted, rows)
    lines += [_CORRECTED] if facts.sizes is not None else []
    if certain is not None:
        false = f"support below {figures.percent_as_given(facts.min_support)}"
        claimed = int(frame["certain"].sum()), int(sure[rows].sum())
        lines += _claim_lines(claimed, (certain.level, certain.hypotheses), "itemsets", false)
    return lines


def _rest_lines(shown: LightFrame, wanted: ItemsetFilter, rows: "NDArray[np.int64]") -> list[str]:
    """Say how many itemsets of which sizes are not shown for want of room, and how many a filter hides."""
    left = wanted.matches(shown)
    sizes = shown["length"]
    missing = np.bincount(sizes[left], minlength=1) - np.bincount(sizes[rows], minlength=sizes[left].max(initial=0) + 1)
    parts = [f"{count:,} more {itemsets_of(k, count)}" for k, count in enumerate(missing.tolist()) if count]
    lines = [] if left.any() else ["(none)"]
    lines += [f"… and {', '.join(parts)}"] if parts else []
    return lines + _hidden_lines(len(shown) - int(left.sum()))


def _hidden_lines(count: int) -> list[str]:
    """Say how many rows a filter hides."""
    return [f"hidden by the filters: {count:,} {'row' if count == 1 else 'rows'}"] if count else []


def _itemset_header(frame: LightFrame) -> str:
    more = "".join(f" {label:>8}" for name, label in _MORE_COLUMNS.items() if name in frame.columns)
    rank = f"{'rank':>15}  " if "rank" in frame.columns else ""
    return f"{rank}{_support_header(mining_facts(frame).errors.confidence_level)}{more}  itemset"


def _itemset_line(row: dict[Any, Any]) -> str:
    columns = [(row[name], max(8, len(label))) for name, label in _MORE_COLUMNS.items() if name in row]
    more = "".join(f" {figures.percent(share, width=width)}" for share, width in columns)
    rank = ""
    if "rank" in row:
        place = f"{row['rank']:,} ({row['rank_low']:,}–{row['rank_high']:,})"
        rank = f"{place:>15}  "
    return f"{rank}{_support_line(row)}{more}"


def _not_sure(shown: LightFrame, facts: MiningFacts) -> str:
    """Say what itemsets are that stand below what is sure."""
    if facts.certain is not None:
        return "not certain:"
    sizes = set(shown["length"].tolist())
    asked = ", ".join(
        f"{level.errors:.1f} for {itemsets_of(level.size)}" for level in facts.levels if level.size in sizes
    )
    return f"? may be nothing: what is sure among so many candidates has more standard errors ({asked})"


def _support_header(level: float) -> str:
    """Head a table of supports with errors and intervals."""
    return f"{'support':>9} {'± error':>9}  {_interval_title(level):>17}"


def _interval_title(level: float) -> str:
    """Head a column of intervals."""
    return f"{figures.percent_as_given(level, 4)} interval"


def _support_line(row: dict[Any, Any]) -> str:
    """Show a support with its error and interval."""
    support, error = (figures.percent(row[name], width=9) for name in ("support", "std_error"))
    low, high = (figures.percent(row[name], width=8) for name in ("ci_low", "ci_high"))
    return f"{support} {error}  {low}–{high}"


def _claim_lines(marked: tuple[int, int], certainty: tuple[float, int], what: str, false: str) -> list[str]:
    """Say what is claimed of what is certain, with which certainty, and how many hypotheses it rests on.

    ``marked`` are how many are certain, and how many of those are shown: of a part nothing is claimed.
    """
    (level, hypotheses), (found, shown) = certainty, marked
    share = figures.percent_as_given(1 - level)
    rests = f"{hypotheses:,} {what} tested"
    if not found:
        return [f"*: none is certain; {rests}"]
    of_all = f"the {what} marked" if shown == found else f"all {found:,}, of which {shown:,} are shown"
    return [f"*: certain, {found:,} of {rests}; of {of_all}, on average at most {share} have a {false}"]


def threshold_lines(facts: MiningFacts) -> list[str]:
    """Say which minimum support was taken where none was given, and of which sizes."""
    if facts.auto:
        decided = [level for level in facts.levels if level.status == "decided" and level.candidates]
        least = ", ".join(f"{figures.percent(level.min_support, 4)} for {itemsets_of(level.size)}" for level in decided)
        return [f"minimum support {least}: the lowest at which all that is found of the size can be believed"]
    if facts.top is None:
        return []
    levels = [level for level in facts.levels if level.status != "undecidable"]
    lines = [
        f"the {facts.top.wanted:,} largest estimates of {facts.top.ranked:,} itemsets counted; rank (and "
        "the ranks it may have, of all itemsets at once with "
        f"{figures.percent_as_given(facts.errors.confidence_level, 4)} confidence)"
    ]
    lines += [
        f"{itemsets_of(level.size)}: only from {figures.percent(level.min_support)} up, two standard errors"
        for level in levels
        if level.min_support > facts.min_support
    ]
    return lines


def _meaning_line(facts: "MiningFacts | AnswerFacts") -> str:
    """Say what the supports of a table of itemsets are shares of."""
    certain = facts.certain if isinstance(facts, MiningFacts) else None
    chosen = ""
    if certain is not None and certain.by == "split":
        chosen = f" ({certain.selecting_reports:,} others chose the itemsets)"
    shares = meaning(facts.transaction_size)
    return f"from {facts.reports:,} reports{chosen}; supports are {shares}; ± error: one standard error"


# ---- rules


def derived_record(itemsets: LightFrame, rules: LightFrame) -> dict[str, Any]:
    """Return rules and what their itemsets come from, for ``--json``."""
    facts = mining_facts(itemsets)
    record = figures.fields(facts, "plan_id reports transaction_size min_support")
    record |= rules.attrs.get("assocpriv", {})
    return record | {"rules": rule_records(rules)}


def derived_lines(itemsets: LightFrame, rules: LightFrame, top: int) -> list[str]:
    """Show rules, and what the supports of their itemsets are."""
    return [_meaning_line(mining_facts(itemsets)), *rule_lines(rules, top)]


def rule_lines(derived: AnyFrame, top: int) -> list[str]:
    """Show rules, with the truth where the table holds it, and what is certain marked."""
    rules = LightFrame.of(derived)
    truth = "true_confidence" in rules.columns
    certain = rules.attrs.get("assocpriv", {}).get("certain")
    lines = [_RULE_HEADER + (f" {'true':>8}" if truth else "") + "  rule"]
    for row in rules.head(top).to_dict():
        line = _rule_line(row)
        if truth:
            line += f" {figures.percent(row['true_confidence'], 1, 8)}"
        mark = "" if certain is None else "* " if row["certain"] else "  "
        lines.append(f"{line}  {mark}{_sides(row)}")
    lines += figures.rest_line(len(rules), top)
    if why := rules.attrs.get("assocpriv", {}).get("none"):
        lines[-1] += f": {why}"
    lines += _hidden_lines(rules.attrs.get("assocpriv", {}).get("hidden", 0))
    if certain is not None:
        false = f"confidence below {figures.percent_as_given(certain['min_confidence'])}"
        claimed = certain["found"], int(rules["certain"][:top].sum())
        lines += _claim_lines(claimed, (certain["level"], certain["hypotheses"]), "rules", false)
    return lines


def _rule_line(row: dict[Any, Any], not_told: str = "") -> str:
    """Show a rule's figures; of one that is not told from nobody, confidence and lift would be noise over noise."""
    if not_told:
        return f"{'—':>10} {'—':>8} {'—':>8} {'—':>8} {figures.percent(row['support'], 2, 8)}"
    return (
        f"{figures.percent(row['confidence'], 1, 10)} {figures.percent(row['confidence_std_error'], 1, 8)} "
        f"{row['lift']:8.2f} "
        f"{row['lift_std_error']:8.2f} {figures.percent(row['support'], 2, 8)}"
    )


def _sides(row: dict[Any, Any]) -> str:
    left, right = (figures.listed(row[side]) for side in ("antecedents", "consequents"))
    return f"{left} → {right}"


# ---- questions


def answer_record(answers: "AskOutcome") -> dict[str, Any]:
    """Return what was asked for ``--json``."""
    return answers.facts.to_json() | {
        "itemsets": itemset_records(answers.itemsets),
        "rules": rule_records(answers.rules),
    }


def answer_lines(answers: "AskOutcome") -> list[str]:
    """Show what was asked: itemsets, then rules, in the order asked."""
    facts, level = answers.facts, answers.facts.errors.confidence_level
    lines = [_meaning_line(facts)]
    if len(answers.itemsets):
        lines.append(_support_header(level) + "  itemset")
        lines += [f"{_support_line(row)}  {figures.listed(row['itemsets'])}" for row in answers.itemsets.to_dict()]
    if len(answers.rules):
        lines.append(f"{_RULE_HEADER}  {_interval_title(level):>15}  rule")
        missing = not_told(answers.rules)
        for row, lacks in zip(answers.rules.to_dict(), missing, strict=True):
            low, high = (figures.percent(row[end], 1, 7) for end in ("confidence_ci_low", "confidence_ci_high"))
            lines.append(f"{_rule_line(row, lacks)}  {low}–{high}  {_sides(row)}")
        lines += [line for lacks, line in _NOT_TOLD.items() if lacks in missing]
    for k, limits in facts.limits.items():
        one, asked, whole = map(figures.discoverable, limits)
        lines.append(
            f"{itemsets_of(k)}: the lowest discoverable support is {one} of one itemset, {asked} of all that were "
            f"asked, {whole} of all there are"
        )
    return lines
