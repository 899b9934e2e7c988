"""Itemsets with their rules, as text for a person or as JSON content.

Mined or asked for: supports with intervals, how sure they are, what they are shares of.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.files.itemsets import AnyFrame, LightFrame, itemset_records
from assocpriv.plans.catalogue import itemsets_of
from assocpriv.promise.errors import counted
from assocpriv.server.itemsets import MiningFacts, mining_facts
from assocpriv.server.rules import rule_records
from assocpriv.server.selection import EVERYTHING, ItemsetFilter, rows_to_show
from assocpriv.show import figures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assocpriv.server.ask import AskOutcome

_INTERNAL = ("posterior", "common_error")  # of a table: what rules and draws need


# ---- itemsets


def mined_record(mined: AnyFrame, wanted: ItemsetFilter = EVERYTHING) -> dict[str, Any]:
    """Return a mined table for ``--json``, of which a filter leaves some rows, in its order."""
    rows = frame = LightFrame.of(mined)
    if wanted != EVERYTHING:
        rows = frame.take(rows_to_show(frame, wanted, len(frame)))
    return mining_facts(frame).to_json() | {"hidden": len(frame) - len(rows), "itemsets": _records(rows)}


def _records(frame: LightFrame) -> list[dict[str, Any]]:
    return itemset_records(LightFrame({name: each for name, each in frame.columns.items() if name not in _INTERNAL}))


def mined_lines(
    mined: AnyFrame, top: int, wanted: ItemsetFilter = EVERYTHING, *, everything: bool = False
) -> list[str]:
    """Show a mined table: what is listed, or also what is likely but would make more of the list false."""
    frame = LightFrame.of(mined)
    facts = mining_facts(frame)
    return [*meaning_lines(facts), list_line(frame), *itemset_lines(frame, top, wanted, everything=everything)]


def meaning_lines(facts: MiningFacts) -> list[str]:
    """Say what supports are shares of, and what reports tell of the sizes of baskets."""
    chosen = ""
    if facts.certain is not None and facts.certain.by == "split":
        chosen = f" ({facts.certain.selecting_reports:,} others chose the itemsets)"
    lines = [f"from {counted(facts.reports, 'report')}{chosen}; supports are {facts.meaning}"]
    if facts.sizes is not None:
        factors = [
            f"{factor:.2f} ± {factor * error:.2f} for {itemsets_of(int(k))}"
            for k, (factor, error) in facts.sizes.undoing.items()
        ]
        lines.append(
            f"from {facts.sizes.answers:,} answers about sizes: {facts.sizes.mean:.2f} items a basket; undoing the "
            f"sampling multiplies supports by about {', '.join(factors)}"
        )
    return lines


def list_line(frame: LightFrame) -> str:
    """Say which minimum support was taken, how many itemsets are listed, and how many of these may be below it."""
    facts, listed = mining_facts(frame), frame["listed"]
    wrong, more = float((1 - frame["probability"][listed]).sum()), int((~listed & is_likely(frame)).sum())
    return figures.list_sentence(facts.to_json(), int(listed.sum()), wrong, more)


def is_likely(frame: LightFrame) -> "NDArray[np.bool_]":
    """Tell which rows are listed or likely: of a mean of at least S, or all of the largest that were asked for."""
    facts = mining_facts(frame)
    return np.asarray(frame["listed"] | (frame["support"] >= facts.min_support) | (facts.top > 0))


def itemset_lines(
    itemsets: AnyFrame, top: int, wanted: ItemsetFilter = EVERYTHING, *, everything: bool = False
) -> list[str]:
    """Show itemsets, of every size its share, beside the truth where it is there."""
    frame = LightFrame.of(itemsets)
    facts = mining_facts(frame)
    shown = frame.take(np.flatnonzero(is_likely(frame) if everything else frame["listed"]))
    rows = rows_to_show(shown, wanted, top)
    first = shown.take(rows)
    lines = [_itemset_header(shown, facts)]
    for row in first.to_dict():
        certain = "* " if row.get("certain") else "  " if facts.certain is not None else ""
        doubt = "" if row["listed"] else f"  ? {row['probability']:.0%}"
        lines.append(f"{_support_line(row)}  {certain}{figures.listed(row['itemsets'])}{doubt}")
    lines += _rest_lines(shown, wanted, rows)
    lines += _doubt_lines(first, f"support of {figures.percent_as_given(facts.min_support, 4)}")
    return lines + _certain_lines(frame, facts)


def _doubt_lines(first: LightFrame, least: str) -> list[str]:
    """Say what stands beside what is not listed."""
    return [] if first["listed"].all() else [f"?: not listed; beside it how likely a {least} or more is"]


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


def _itemset_header(frame: LightFrame, facts: MiningFacts) -> str:
    truth = f" {'true':>8}" if "true_support" in frame.columns else ""
    return f"{_support_header(facts.confidence_level)}{truth}  itemset"


def _support_header(level: float) -> str:
    """Head a table of supports with intervals."""
    return f"{'support':>9}  {_interval_title(level):>17}"


def _interval_title(level: float) -> str:
    """Head a column of intervals."""
    return f"{figures.percent_as_given(level, 4)} interval"


def _support_line(row: dict[Any, Any]) -> str:
    """Show a support with its interval, and the truth where it is known."""
    low, high = (figures.percent(row[name], width=8) for name in ("ci_low", "ci_high"))
    truth = f" {figures.percent(row['true_support'], width=8)}" if "true_support" in row else ""
    return f"{figures.percent(row['support'], width=9)}  {low}–{high}{truth}"


def _certain_lines(frame: LightFrame, facts: MiningFacts) -> list[str]:
    """Say what is claimed of what is certain, with which certainty, and how many hypotheses it rests on."""
    if facts.certain is None:
        return []
    found, rests = int(frame["certain"].sum()), f"{facts.certain.hypotheses:,} itemsets tested"
    if not found:
        return [f"*: none is certain; {rests}"]
    share, least = figures.percent_as_given(1 - facts.certain.level), figures.percent_as_given(facts.min_support)
    return [f"*: certain, {found:,} of {rests}; of these on average at most {share} have a support below {least}"]


# ---- rules


def derived_record(itemsets: LightFrame, rules: LightFrame) -> dict[str, Any]:
    """Return rules and what their itemsets come from, for ``--json``."""
    record = figures.fields(mining_facts(itemsets), "plan_ids reports transaction_size min_support whole")
    record |= rules.attrs.get("assocpriv", {})
    return record | {"rules": rule_records(rules)}


def derived_lines(itemsets: LightFrame, rules: LightFrame, top: int, *, everything: bool = False) -> list[str]:
    """Show rules, and what the supports of their itemsets are."""
    facts = mining_facts(itemsets)
    return [*meaning_lines(facts), *rule_lines(rules, top, everything=everything, level=facts.confidence_level)]


def rule_lines(derived: AnyFrame, top: int, *, everything: bool = False, level: float = 0.95) -> list[str]:
    """Show rules: what is listed, or also what is likely but less sure; with the truth where the table holds it."""
    rules = LightFrame.of(derived)
    said = rules.attrs.get("assocpriv", {})
    shown = rules if everything else rules.take(np.flatnonzero(rules["listed"]))
    truth = "true_confidence" in rules.columns
    lines = [rule_line(rules, marked=True)] if said else []
    lines.append(_rule_header(level) + (f" {'true':>8}" if truth else "") + "    rule")
    first = shown.head(top)
    for row in first.to_dict():
        true = f" {figures.percent(row['true_confidence'], 1, 8)}" if truth else ""
        mark, doubt = "* " if row["sure"] else "  ", "" if row["listed"] else f"  ? {row['probability']:.0%}"
        lines.append(f"{_rule_line(row)}{true}  {mark}{_sides(row)}{doubt}")
    lines += figures.rest_line(len(shown), top)
    if why := said.get("none"):
        lines[-1] += f": {why}"
    if said:
        lines += _doubt_lines(first, f"confidence of {figures.percent_as_given(said['min_confidence'])}")
    return lines + _hidden_lines(said.get("hidden", 0))


def rule_line(rules: LightFrame, *, marked: bool = False) -> str:
    """Say how many rules are listed, and about how many of them are expected to be false; a filter does not matter."""
    said = rules.attrs["assocpriv"]
    return figures.rule_sentence(said, len(rules) + said["hidden"] - said["listed"], marked=marked)


def _rule_header(level: float) -> str:
    return f"{'confidence':>10}  {_interval_title(level):>15} {'lift':>8} {'support':>8}"


def _rule_line(row: dict[Any, Any]) -> str:
    """Show a rule's figures."""
    low, high = (figures.percent(row[end], 1, 7) for end in ("confidence_ci_low", "confidence_ci_high"))
    return (
        f"{figures.percent(row['confidence'], 1, 10)}  {low}–{high} {row['lift']:8.2f} "
        f"{figures.percent(row['support'], 2, 8)}"
    )


def _sides(row: dict[Any, Any]) -> str:
    left, right = (figures.listed(row[side]) for side in ("antecedents", "consequents"))
    return f"{left} → {right}"


# ---- questions


def answer_record(answers: "AskOutcome") -> dict[str, Any]:
    """Return what was asked for ``--json``."""
    content: dict[str, Any] = answers.itemsets.attrs.get("assocpriv", {})
    return content | {"itemsets": _records(answers.itemsets), "rules": rule_records(answers.rules)}


def answer_lines(answers: "AskOutcome") -> list[str]:
    """Show what was asked: itemsets, then rules, in the order asked."""
    facts = answers.facts
    lines = meaning_lines(facts)
    if len(answers.itemsets):
        lines.append(_support_header(facts.confidence_level) + f" {'unbiased':>9} {'± error':>8}  itemset")
        for row in answers.itemsets.to_dict():
            unbiased = figures.percent(row["unbiased"], width=9), figures.percent(row["unbiased_error"], width=8)
            lines.append(f"{_support_line(row)} {' '.join(unbiased)}  {figures.listed(row['itemsets'])}")
    if len(answers.rules):
        lines.append(f"{_rule_header(facts.confidence_level)}  rule")
        lines += [f"{_rule_line(row)}  {_sides(row)}" for row in answers.rules.to_dict()]
    return lines
