"""Itemsets with their rules, as text for a person or as JSON content.

Mined or asked for: supports with errors and intervals, what is sure, what they are shares of. Of rounds: a next plan,
combined tables, schedules tried.
"""

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.files.itemsets import AnyFrame, LightFrame, itemset_records
from assocpriv.planning.rounds import HISTOGRAM, Refinement
from assocpriv.plans.catalogue import itemsets_of
from assocpriv.promise.breaches import epsilon, format_fraction
from assocpriv.promise.errors import counted
from assocpriv.server.ask import NOT_ASKED, AnswerFacts, AskOutcome, not_told
from assocpriv.server.itemsets import MiningFacts, meaning, mining_facts, sizes_of
from assocpriv.server.posterior import Itemset, ranked
from assocpriv.server.rounds import combined_records
from assocpriv.server.rules import rule_records
from assocpriv.server.selection import EVERYTHING, SURE, ItemsetFilter, rows_to_show, shown_rows
from assocpriv.server.supports import WHOLE_BELOW
from assocpriv.show import figures
from assocpriv.show.plans import plan_lines, plan_record, promise_record

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from assocpriv.planning.discovery import Prospects
    from assocpriv.plans.baskets import Plan
    from assocpriv.simulation.rounds import RoundScore, RoundsTrial, ScheduleTrial

_MORE_COLUMNS = {
    "true_support": "true",
    "raw_support": "raw",
    "corrected_support": "corrected",
    "corrected_std_error": "± error",
    "model_error": "± model",
}
_CORRECTED = (
    "corrected: supports in whole baskets, by a model of how baskets of each size hold an itemset; ± model: half of "
    "the correction, which may be wrong; --json has the bounds that hold without a model"
)
_NOT_ASKED = "not asked: no report is about a block that holds all of these items"
_NOT_TOLD = {
    "antecedent": "— with the interval 0–100%: the antecedent is not told from nobody, so nothing is known of the rule",
    NOT_ASKED: _NOT_ASKED,
    "rule": "— with another interval: the whole rule is not told from nobody; its confidence lies in the interval",
}
_RULE_HEADER = f"{'confidence':>10} {'± error':>8} {'lift':>8} {'± error':>8} {'support':>8}"
_SPLIT = {
    "items": "for this plan",
    "shortlist": "for the shortlist (refine)",
    "itemsets": "for itemsets (refine --itemsets)",
}


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
    return [_meaning_line(facts), *_block_lines(facts), *threshold_lines(facts), *itemset_lines(frame, top, wanted)]


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
    lines += [_CORRECTED] if facts.corrected else []
    if certain is not None:
        false = f"support below {figures.percent_as_given(facts.min_support)}"
        claimed = int(frame["certain"].sum()), int(sure[rows].sum())
        lines += _claim_lines(claimed, (certain.level, certain.hypotheses), "itemsets", false)
    return lines


def _rest_lines(shown: LightFrame, wanted: ItemsetFilter, rows: "NDArray[np.int64]") -> list[str]:
    """Say how many itemsets of which sizes are not shown for want of room, and how many a filter hides."""
    left = wanted.matches(shown)
    sizes = sizes_of(shown)
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
    sizes = set(sizes_of(shown).tolist())
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
    if math.isnan(row["support"]):
        return f"{'—':>9} {'—':>9}  {'not asked':>17}"
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
        least = ", ".join(
            f"{figures.percent(level.min_support, 4)} for {_entries_of(level.size, facts.view)}" for level in decided
        )
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


def _entries_of(size: int, view: str) -> str:
    return "sizes of baskets" if view == "sizes" else itemsets_of(size)


def _meaning_line(facts: "MiningFacts | AnswerFacts") -> str:
    """Say what the supports of a table of itemsets are shares of."""
    certain = facts.certain if isinstance(facts, MiningFacts) else None
    chosen = ""
    if certain is not None and certain.by == "split":
        chosen = f" ({certain.selecting_reports:,} others chose the itemsets)"
    return f"from {facts.reports:,} reports{chosen}; supports are {meaning(facts)}; ± error: one standard error"


def _block_lines(facts: "MiningFacts | AnswerFacts") -> list[str]:
    """Say what each report is about, and what sampling within it takes from supports, of plans with blocks."""
    if facts.blocks is None:
        return []
    blocks, most = facts.blocks.asked.blocks, facts.transaction_size
    about = blocks.longest(facts.blocks.asked.n_items)
    full = f"{figures.percent(facts.blocks.held.full)} of people hold {most} or more of theirs"
    lost = f"which may take up to {figures.percent(facts.blocks.largest_loss)} from a support (--json: of each)"
    if facts.blocks.whole:
        lost = f"which takes less than {WHOLE_BELOW:g} standard errors from any support"
    return [f"each report is about one of {blocks.count:,} random blocks of {counted(about, 'item')}: {full}, {lost}"]


# ---- rules


def derived_record(itemsets: LightFrame, rules: LightFrame) -> dict[str, Any]:
    """Return rules and what their itemsets come from, for ``--json``."""
    facts = mining_facts(itemsets)
    record = figures.fields(facts, "plan_id reports transaction_size min_support")
    record |= rules.attrs.get("assocpriv", {})
    return record | {"rules": rule_records(rules)}


def derived_lines(itemsets: LightFrame, rules: LightFrame, top: int) -> list[str]:
    """Show rules, and what the supports of their itemsets are."""
    facts = mining_facts(itemsets)
    return [_meaning_line(facts), *_block_lines(facts), *rule_lines(rules, top)]


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
        support = f"{'—':>8}" if not_told == NOT_ASKED else figures.percent(row["support"], 2, 8)
        return f"{'—':>10} {'—':>8} {'—':>8} {'—':>8} {support}"
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
    lines = [_meaning_line(facts), *_block_lines(facts)]
    if len(answers.itemsets):
        lines.append(_support_header(level) + "  itemset")
        lines += [f"{_support_line(row)}  {figures.listed(row['itemsets'])}" for row in answers.itemsets.to_dict()]
        lines += [_NOT_ASKED] if np.isnan(answers.itemsets["support"]).any() else []
    if len(answers.rules):
        lines.append(f"{_RULE_HEADER}  {_interval_title(level):>15}  rule")
        missing = not_told(answers.rules)
        for row, lacks in zip(answers.rules.to_dict(), missing, strict=True):
            low, high = (figures.percent(row[end], 1, 7) for end in ("confidence_ci_low", "confidence_ci_high"))
            interval = f"{NOT_ASKED:>15}" if lacks == NOT_ASKED else f"{low}–{high}"
            lines.append(f"{_rule_line(row, lacks)}  {interval}  {_sides(row)}")
        lines += [line for lacks, line in _NOT_TOLD.items() if lacks in missing]
    for k, limits in facts.limits.items():
        one, asked, whole = map(figures.discoverable, limits)
        lines.append(
            f"{itemsets_of(k)}: the lowest discoverable support is {one} of one itemset, {asked} of all that were "
            f"asked, {whole} of all there are"
        )
    return lines


# ---- the next round


def refinement_record(refinement: Refinement, prospects: "Prospects") -> dict[str, Any]:
    """Return a plan for the next round, and what its reports can show, for ``--json``."""
    return plan_record(prospects) | {
        "before": refinement.before.plan_id,
        "entries": list(refinement.plan.catalogue),
        "entries_held": refinement.entry_sizes.mean,
        "least_min_support": figures.finite(prospects.least_min_supports),
        "sizes_from": refinement.basis,
        "both": {
            "amplification_limit": format_fraction(refinement.amplification_limit),
            "epsilon": epsilon(refinement.amplification_limit),
            "highest_posterior": format_fraction(refinement.highest_posterior),
            "lowest_posterior": format_fraction(refinement.lowest_posterior),
        },
        "people": refinement.people,
    }


def refinement_lines(refinement: Refinement, prospects: "Prospects") -> list[str]:
    """Say what a plan for the next round asks, and what it means for whoever answers both rounds."""
    plan, before, both = refinement.plan, refinement.before, refinement.amplification_limit
    posterior = figures.percent_within(plan.promise.posterior, up=True)
    what = "itemsets" if plan.view.kind == "itemsets" else "items"
    source = (
        "sizes of baskets from the histogram"
        if refinement.basis == HISTOGRAM
        else "a Poisson law around the sum of their supports: without --histogram nothing is known of sizes"
    )
    return [
        f"for OTHER people than those of plan {before.plan_id[:16]}…",
        *plan_lines(prospects),
        f"catalogue   {plan.n_items:,} {what}; "
        f"a person is expected to hold {refinement.entry_sizes.mean:.2f} ({source})",
        *_split_lines(refinement),
        _mining_line(prospects),
        f"answering both plans: γ < {figures.figure_up(float(both))}, ε ≤ {figures.figure_up(epsilon(both))}; "
        f"{figures.becomes(plan.promise.prior, refinement.highest_posterior, Fraction(1))}, not {posterior}. "
        "Each further answer multiplies γ again",
        *[f"            that holds for {before.reports_per_person:,} reports of the first plan and one of this"]
        * (before.reports_per_person > 1),
    ]


def _split_lines(refinement: Refinement) -> list[str]:
    """Say how the people to come are split, where that was planned."""
    if refinement.people is None:
        return []
    total = max(sum(refinement.people.values()), 1)
    shares = ", ".join(
        f"{count:,} ({figures.percent(count / total, 0)}) {_SPLIT[name]}" for name, count in refinement.people.items()
    )
    return [f"people      {shares}; split them by chance, before the first of these rounds"]


def _mining_line(prospects: "Prospects") -> str:
    names = {1: "itemsets"} if prospects.plan.view.kind == "itemsets" else {}
    least = ", ".join(
        f"{figures.percent_up(support)} for {names.get(k, itemsets_of(k))}"
        for k, support in prospects.least_min_supports.items()
    )
    return f"            mine with a --min-support of at least {least}; with less, none of that size are reported"


# ---- combined tables


def combined_lines(frame: "pd.DataFrame", top: int) -> list[str]:
    """Show what tables say together, and each table's own support and error."""
    facts = combined_records(frame.head(0))
    tables, corrected = facts["tables"], facts["corrected"]
    lines = [
        f"{number}: {table['reports']:,} reports of plan {table['plan_id'][:16]}…, {table['itemsets']:,} itemsets, "
        f"within at most {table['transaction_size']} sampled {table['entries']}"
        for number, table in enumerate(tables, 1)
    ]
    lines += [f"note: {note}" for note in facts["notes"]]
    header = f"{'support':>9} {'± error':>9}" + (f" {'± model':>9}" if corrected else "")
    for number in range(1, len(tables) + 1):
        header += f" | {f'support {number}':>9} {'± error':>9}" + (f" {'corrected':>9}" if corrected else "")
    lines.append(header + "  itemset")
    for row in frame.head(top).to_dict("records"):
        cells = [row["support"], row["std_error"], *([row["model_error"]] if corrected else [])]
        text = " ".join(figures.percent_or_dash(value) for value in cells)
        for number in range(1, len(tables) + 1):
            names = [f"support_{number}", f"std_error_{number}", *([f"corrected_{number}"] if corrected else [])]
            text += " | " + " ".join(figures.percent_or_dash(row[name]) for name in names)
        lines.append(f"{text}  {figures.listed(row['itemsets'])}")
    return lines + figures.rest_line(len(frame), top)


# ---- schedules of rounds


def trial_record(trial: "RoundsTrial") -> dict[str, Any]:
    """Return tried schedules for ``--json``, with the itemsets that the proposed one found."""
    promise, best = trial.promise, trial.proposed
    return {
        "baskets": len(trial.baskets),
        "items": len(trial.baskets.catalogue),
        "wanted": trial.wanted,
        "true_count": len(trial.truth),
        "promise": promise_record(promise),
        "amplification_limit": format_fraction(promise.amplification_limit),
        "proposed_rounds": best.count,
        "anything_told": trial.tells,
        "schedules": [_schedule_record(each, each is best) for each in trial.schedules],
        "itemsets": [
            {
                "itemset": sorted(trial.baskets.catalogue[item] for item in itemset),
                "support": best.known[itemset].support,
                "std_error": math.sqrt(best.known[itemset].variance),
                "true_support": trial.supports.get(itemset),
                "wanted": itemset in trial.truth,
            }
            for itemset in _found(trial)
        ],
        "missed": [
            {"itemset": sorted(trial.baskets.catalogue[item] for item in itemset), "true_support": support}
            for itemset, support in trial.truth.items()
            if itemset not in set(_found(trial))
        ],
    }


def _schedule_record(tried: "ScheduleTrial", proposed: bool) -> dict[str, Any]:
    return {
        "rounds": tried.count,
        "proposed": proposed,
        "hits": tried.hits,
        "anything_told": tried.tells,
        "seconds": tried.seconds,
        "steps": [_round_record(each) for each in tried.rounds],
    }


def _round_record(each: "RoundScore") -> dict[str, Any]:
    return {
        **figures.fields(each, "name people"),
        "entries": each.plan.n_items,
        "pieces": _pieces(each.plan),
        "transaction_size": each.plan.transaction_size,
        "plan_kind": each.plan.kind,
        "report_bytes": each.plan.report_bytes,
        **figures.fields(each, "hits precision rmse covered"),
        "support_kept": each.surviving,
        "discoverable": each.discoverable,
    }


def trial_lines(trial: "RoundsTrial", rows: int) -> list[str]:
    """Show the schedules tried, what each round bought, and the itemsets that the proposed one found."""
    best, count = trial.proposed, len(trial.truth)
    lines = [
        f"{len(trial.baskets):,} baskets over {len(trial.baskets.catalogue):,} items; each person answers once, "
        f"γ < {figures.figure_up(float(trial.promise.amplification_limit))}; "
        f"wanted: the {count:,} most frequent itemsets",
        f"{'rounds':>6} {'round':<10} {'people':>11} {'entries':>8} {'pieces':>6} {'M':>3} {'kind':<13} {'bytes':>6} "
        f"{'found':>6} {'precision':>9} {'RMSE':>8} {'covered':>7} {'kept':>6} {'tellable':>8}",
    ]
    for tried in trial.schedules:
        for place, each in enumerate(tried.rounds):
            plan, name = each.plan, "all items" if each.name == "items" else each.name
            line = (
                f"{tried.count if not place else '':>6} {name:<10} {each.people:>11,} {plan.n_items:>8,} "
                f"{_pieces(plan):>6} {plan.transaction_size:>3} {plan.kind:<13} {plan.report_bytes:>6,}"
            )
            if each.hits is not None and each.precision is not None and each.rmse is not None:
                line += (
                    f" {each.hits:>6,} {figures.percent(each.precision, 1, 9)} {figures.percent(each.rmse, 3, 8)} "
                    f"{figures.percent(each.covered or 0.0, 1, 7)} {figures.percent(each.surviving or 0.0, 1, 6)} "
                    f"{each.discoverable:>8,}"
                )
            last = place == len(tried.rounds) - 1
            lines.append(line + ("  ← proposed" if last and tried is best else ""))
    lines += [
        "pieces: a report is about one of so many of the catalogue; "
        f"found: of the {count:,} truly most frequent itemsets, how many are among the {count:,} best estimates after "
        "the round; RMSE: of the estimates, over the true ones; covered: true ones within the 95% interval of their "
        "estimate; kept: share of their support that what is reported keeps; "
        "tellable: true ones that this round alone could tell from 0",
        "one run: precision varies from run to run (3% at a million baskets, more with fewer): near ties are ties",
    ]
    if not trial.tells:
        lines.append(
            "warning: with this promise and so many people nothing can be told: every true support lies below the "
            "lowest that any round could discover; what is found is chance. Ask more people, or make a weaker promise"
        )
    return [*lines, *_found_lines(trial, rows)]


def _found_lines(trial: "RoundsTrial", rows: int) -> list[str]:
    found = _found(trial)
    rounds = "one round" if trial.proposed.count == 1 else f"{trial.proposed.count} rounds"
    lines = [f"{'support':>9} {'± error':>9} {'true':>9}  found by {rounds} (*: truly among the wanted)"]
    for itemset in found[:rows]:
        names = ", ".join(sorted(trial.baskets.catalogue[item] for item in itemset))
        true = trial.supports.get(itemset, math.nan)
        mark = "*" if itemset in trial.truth else " "
        known = trial.proposed.known[itemset]
        cells = (known.support, math.sqrt(known.variance), true)
        lines.append(f"{' '.join(figures.percent_or_dash(cell) for cell in cells)}  {mark} {names}")
    return lines + (figures.rest_line(len(found), rows) if found else [])


def _found(trial: "RoundsTrial") -> list[Itemset]:
    return ranked(trial.proposed.known, len(trial.truth))


def _pieces(plan: "Plan") -> int:
    return 1 if plan.view.blocks is None else plan.view.blocks.pieces
