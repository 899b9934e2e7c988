"""Results as text for a person and as JSON content for a program."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.apps.render.crafted import influence_lines, influence_record
from assocpriv.apps.render.limits import (
    LOWEST,
    discoverable,
    finite,
    itemsets_of,
    limit_lines,
    limit_records,
    limits_of,
)
from assocpriv.core.privacy import epsilon, format_fraction, highest_posterior
from assocpriv.planning.sampling_loss import SamplingLoss
from assocpriv.plans.baskets.operator import AnyOperator, FixedSizeOperator, Operator
from assocpriv.plans.baskets.plan import IN_CLEAR, Plan
from assocpriv.server.itemsets.facts import MiningFacts
from assocpriv.server.itemsets.frames import mining_facts, sizes_of, sure_rows

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.planning.transaction_size import SizeRow
    from assocpriv.server.itemsets.ask import AnswerFacts, Answers

_MORE_COLUMNS = {"true_support": "true", "raw_support": "raw", "consistent_support": "consistent"}
_CONSISTENT_CLAIMS = {
    "realizable": "consistent: the nearest supports that some baskets of at most {} items have",
    "local": "consistent: the nearest supports within the bounds that were checked, for baskets of at most {} items; "
    "that some baskets have them is not proven",
}
_RULE_HEADER = f"{'confidence':>10} {'± error':>8} {'lift':>8} {'± error':>8} {'support':>8}"
_ENTRIES = {"items": "items", "itemsets": "itemsets", "sizes": "sizes of baskets"}
_DECIMALS = 10**24
_CODE_NAMES = {"none": "no code (one bit an item)", "bch": "BCH", "reed-solomon": "Reed–Solomon"}


def plan_record(plan: Plan, reports: int, group_reports: Sequence[int] | None = None) -> dict[str, Any]:
    """Return what a plan promises and what N reports of it can show, for ``--json``.

    Args:
        plan: the plan.
        reports: N.
        group_reports: with sizes in clear, how many reports there are of each size; all of the largest by default.
    """
    in_clear = {"groups": _group_records(plan, reports, group_reports)} if plan.sizes == IN_CLEAR else {}
    return {
        "plan_id": plan.plan_id,
        "items": plan.n_items,
        "view": plan.view.kind,
        "sizes": plan.sizes,
        "transaction_size": plan.transaction_size,
        "itemset_size": plan.itemset_size,
        "promise": {
            "prior": format_fraction(plan.promise.prior),
            "posterior": format_fraction(plan.promise.posterior),
        },
        "amplification_limit": format_fraction(plan.promise.amplification_limit),
        "amplification": format_fraction(plan.amplification),
        "epsilon": epsilon(plan.amplification),
        "reports_per_person": plan.reports_per_person,
        "composed_amplification": format_fraction(_of_all_reports(plan)),
        "plan_kind": plan.kind,
        "default_probability": format_fraction(plan.operator.default_probability)
        if isinstance(plan.operator, Operator)
        else None,
        "report_size": plan.operator.report_size if isinstance(plan.operator, FixedSizeOperator) else None,
        "pattern": plan.operator.pattern,
        "code": plan.generator.kind,
        "report_bits": plan.report_bits,
        "report_bytes": plan.report_bytes,
        "reports": reports,
        **limit_records(limits_of(plan, reports, group_reports)),
        "influence": influence_record(plan, reports),
    } | in_clear


def _group_records(plan: Plan, reports: int, group_reports: Sequence[int] | None) -> list[dict[str, Any]]:
    """Say of each size what its operator is and what N reports of it alone could show."""
    return [
        {
            "size": group.transaction_size,
            "reports": None if group_reports is None else group_reports[place],
            "default_probability": format_fraction(group.independent.default_probability),
            "pattern": group.operator.pattern,
            "amplification": format_fraction(group.amplification),
            **limit_records(limits_of(group, reports)),
            "influence": influence_record(group, reports),
        }
        for place, group in enumerate(plan.groups)
    ]


def plan_lines(plan: Plan, reports: int, group_reports: Sequence[int] | None = None) -> list[str]:
    """Say what a plan promises and what N reports of it can show (see :func:`plan_record`)."""
    original = -(-plan.n_items // 8)
    in_clear = plan.sizes == IN_CLEAR
    lines = [
        f"plan        {plan.plan_id}",
        f"            {plan.n_items:,} {_ENTRIES[plan.view.kind]}, at most "
        f"{plan.transaction_size} a transaction (its size is {'sent in clear' if in_clear else 'hidden'})",
        *_promise_lines(plan),
        f"report      {plan.report_bytes:,} byte{'s' * (plan.report_bytes != 1)} "
        f"({plan.report_bits:,} bits, {_size_of(plan)}{_code_of(plan)}); "
        f"the basket as {plan.n_items:,} bits would take {original:,} bytes",
    ]
    if in_clear:
        lines.insert(-1, _size_warning(plan))
        return lines + _group_lines(plan, reports, group_reports) + influence_lines(plan, reports)
    lines += [
        f"operator    {_insertion_of(plan.operator)}, "
        f"kept sizes 0…{plan.transaction_size} made likelier: {plan.operator.pattern}",
        f"from {reports:,} reports, within at most {plan.transaction_size} sampled items a basket, "
        "the lowest discoverable support is",
    ]
    return lines + limit_lines(limits_of(plan, reports), plan.n_items) + influence_lines(plan, reports)


def _promise_lines(plan: Plan) -> list[str]:
    """Say what is promised of all reports of one person, and of one report where there may be several."""
    promise, together, several = plan.promise, _of_all_reports(plan), plan.reports_per_person
    prior, posterior = (f"{float(level):.10g}" for level in (promise.prior, promise.posterior))
    limit = figure_up(float(promise.amplification_limit))
    in_clear = plan.sizes == IN_CLEAR

    def worst(amplification: Fraction) -> str:
        return figure_up(float(highest_posterior(promise.prior, amplification)))

    if several == 1:
        return [
            f"promise     {'among baskets of one size ' if in_clear else ''}no report lifts a belief from {prior} "
            f"to {posterior}, whatever the data: {prior} becomes at most {worst(together)}",
            f"            γ < {limit}, ε = ln γ ≤ {figure_up(epsilon(together))}",
        ]
    return [
        f"promise     {several:,} reports of one person together: "
        f"{'among baskets of equal sizes, report by report, ' if in_clear else ''}they lift no belief from {prior} "
        f"to {posterior}, whatever the data: {prior} becomes at most {worst(together)}",
        f"            γ of all < {limit}, ε = ln γ ≤ {figure_up(epsilon(together))}",
        f"            one report alone: γ ≤ {figure_up(float(plan.amplification))}, "
        f"ε ≤ {figure_up(epsilon(plan.amplification))}; {prior} becomes at most {worst(plan.amplification)}",
    ]


def _of_all_reports(plan: Plan) -> Fraction:
    """Return γ^R; of several reports rounded up to 24 decimals, for its digits grow with R."""
    if plan.reports_per_person == 1:
        return plan.amplification
    together = plan.composed_amplification
    return Fraction(-(-together.numerator * _DECIMALS // together.denominator), _DECIMALS)


def _size_warning(plan: Plan) -> str:
    m = plan.transaction_size
    return (
        f"            a basket's size (1 … {m}; 1 if it is empty, {m} if it is longer) is sent in clear: NOTHING is "
        "promised about it, it lies outside γ"
    )


def _group_lines(plan: Plan, reports: int, group_reports: Sequence[int] | None) -> list[str]:
    """Show the operator of each size, and what the reports can show."""
    names = [itemsets_of(k) for k in range(1, plan.itemset_size + 1)]
    width = max(plan.transaction_size + 1, len("made likelier"))
    lines = [
        f"operators   {'size':>4}"
        + (f" {'reports':>12}" if group_reports else "")
        + f" {'default':>8}  {'made likelier':<{width}}"
        + "".join(f" {name:>14}" for name in names)
    ]
    for record in _group_records(plan, reports, group_reports):
        limits = [discoverable(limit) for limit in record[LOWEST].values()]
        lines.append(
            f"            {record['size']:>4}"
            + (f" {record['reports']:>12,}" if group_reports else "")
            + f" {record['default_probability']:>8}  {record['pattern']:<{width}}"
            + "".join(f" {limit:>14}" for limit in limits)
        )
    lines.append(
        f"            lowest discoverable support of one itemset were all of {reports:,} reports of that size, within "
        f"at most {plan.transaction_size} sampled items a basket"
    )
    if group_reports and any(group_reports):
        lines += ["of these reports together, the lowest discoverable support is"]
        lines += limit_lines(limits_of(plan, reports, group_reports), plan.n_items)
    return lines


def _size_of(plan: Plan) -> str:
    return "8 of them the size, " if plan.sizes == IN_CLEAR else ""


def _code_of(plan: Plan) -> str:
    return "the number of a set" if plan.kind == "fixed-size" else _CODE_NAMES[plan.generator.kind]


def _insertion_of(operator: AnyOperator) -> str:
    if isinstance(operator, FixedSizeOperator):
        return f"reports of exactly {operator.report_size:,} of {operator.items:,} items"
    return f"default probability {format_fraction(operator.default_probability)}"


def figure_up(value: float) -> str:
    """Write a figure of privacy with at least six digits, rounded up."""
    digits = 6 - math.floor(math.log10(value)) - 1
    return f"{math.ceil(value * 10**digits) / 10**digits:.6g}"


def loss_lines(loss: SamplingLoss) -> list[str]:
    """Say how many baskets are sampled and what share of support that loses."""
    size = loss.transaction_size
    if not loss.sampled:
        return [f"no basket is longer than {size} items: nothing is lost by sampling"]
    lost = ", ".join(f"{share:.1%} of {itemsets_of(k)}" for k, share in loss.shares.items())
    lines = [
        f"{loss.sampled:,} of {loss.baskets:,} baskets are longer than {size} items and are sampled to {size}; "
        f"expected support lost, averaged over itemsets: {lost}"
    ]
    if max(loss.shares.values()) > 0.05:
        lines.append(
            f"warning: more than 5% is lost; estimated supports are those within at most {size} sampled items, "
            "lower than in the whole baskets (a larger --transaction-size loses less but needs more reports)"
        )
    return lines


def size_records(rows: "Sequence[SizeRow]") -> list[dict[str, Any]]:
    """Return what each transaction size would mean for baskets like a sample's, for ``--json``."""
    return [
        {
            "transaction_size": row.transaction_size,
            "longer_share": row.longer,
            "surviving_support": finite(row.surviving),
            LOWEST: finite(row.lowest_discoverable_support),
            "lowest_raw_support": finite(row.lowest_raw_support),
            "proposed": row.proposed,
        }
        for row in rows
    ]


def size_lines(rows: "Sequence[SizeRow]", reports: int) -> list[str]:
    """Show what each transaction size would mean for baskets like a sample's."""
    largest = max(rows[0].surviving)
    names = ["singles", "pairs", "triples", *(f"k={k}" for k in range(4, largest + 1))][:largest]
    parts = ["surviving", "discoverable of M", "discoverable raw"]
    width = 9 * largest
    lines = [
        f"{'':>3} {'':>7}" + "".join(f" |{part:>{width}}" for part in parts),
        f"{'M':>3} {'longer':>7}" + (" |" + "".join(f"{name:>9}" for name in names)) * 3,
    ]
    for row in rows:
        shown = [
            [f"{share:.1%}" for share in row.surviving.values()],
            [discoverable(limit) for limit in row.lowest_discoverable_support.values()],
            [discoverable(limit) for limit in row.lowest_raw_support.values()],
        ]
        cells = "".join(" |" + "".join(f"{text:>9}" for text in texts) for texts in shown)
        lines.append(f"{row.transaction_size:>3} {row.longer:7.1%}{cells}" + ("  ← proposed" if row.proposed else ""))
    return [
        *lines,
        "longer: baskets with more than M items; surviving: what sampling to M leaves of the support of the sample's "
        f"most frequent itemsets; discoverable: the lowest support from {reports:,} reports, within the M sampled "
        "items, and raw, in whole baskets (the former over what survives)",
    ]


def itemset_lines(frame: "pd.DataFrame", top: int) -> list[str]:
    """Show itemsets, frequent ones only: what is sure first, then the others; with the truth where it is there."""
    facts = mining_facts(frame)
    certain = facts.certain
    if certain is None:
        shown = frame[frame["frequent"]]
        sure, marks, others = sure_rows(shown), ("", "  ?"), _not_sure(shown, facts)
    else:
        shown = frame[frame["frequent"] | frame["certain"]]
        sure, marks, others = shown["certain"].to_numpy(np.bool_), ("* ", "  "), "not certain:"
    by_rank = shown["rank"].to_numpy() if "rank" in shown.columns else np.arange(len(shown))
    n_sure = int(sure.sum())
    lines = [_itemset_header(frame)]
    for place, row in enumerate(shown.iloc[np.lexsort((by_rank, ~sure))[:top]].to_dict("records")):
        if place == n_sure:
            lines.append(others)
        names, mark = ", ".join(sorted(row["itemsets"])), marks[0 if place < n_sure else 1]
        lines.append(
            f"{_itemset_line(row)}  {names}{mark}" if certain is None else f"{_itemset_line(row)}  {mark}{names}"
        )
    lines += _rest(len(shown), top)
    if facts.consistent is not None:
        lines.append(_CONSISTENT_CLAIMS[facts.consistent].format(facts.transaction_size))
    if certain is not None:
        lines += _claim_lines(
            int(frame["certain"].sum()),
            certain.level,
            certain.hypotheses,
            "itemsets",
            f"support below {100 * facts.min_support:.6g}%",
        )
    return lines


def _itemset_header(frame: "pd.DataFrame") -> str:
    more = "".join(f" {label:>8}" for name, label in _MORE_COLUMNS.items() if name in frame.columns)
    rank = f"{'rank':>15}  " if "rank" in frame.columns else ""
    return f"{rank}{_support_header(mining_facts(frame).errors.confidence_level)}{more}  itemset"


def _itemset_line(row: dict[Any, Any]) -> str:
    more = "".join(f" {row[name]:{max(8, len(label))}.3%}" for name, label in _MORE_COLUMNS.items() if name in row)
    rank = ""
    if "rank" in row:
        place = f"{row['rank']:,} ({row['rank_low']:,}–{row['rank_high']:,})"
        rank = f"{place:>15}  "
    return f"{rank}{_support_line(row)}{more}"


def _not_sure(shown: "pd.DataFrame", facts: MiningFacts) -> str:
    """Say what itemsets are that stand below what is sure."""
    sizes = set(sizes_of(shown).tolist())
    asked = ", ".join(
        f"{level.errors:.1f} for {itemsets_of(level.size)}" for level in facts.levels if level.size in sizes
    )
    return f"? may be nothing: what is sure among so many candidates has more standard errors ({asked})"


def _support_header(confidence_level: float) -> str:
    interval = f"{100 * confidence_level:.4g}% interval"
    return f"{'support':>9} {'± error':>9}  {interval:>17}"


def _support_line(row: dict[Any, Any]) -> str:
    return f"{row['support']:9.3%} {row['std_error']:9.3%}  {row['ci_low']:8.3%}–{row['ci_high']:8.3%}"


def _claim_lines(found: int, level: float, hypotheses: int, what: str, false: str) -> list[str]:
    """Say what is claimed of what is marked, and what it rests on."""
    share = f"{100 * (1 - level):.6g}%"
    rests = f"{hypotheses:,} {what} tested"
    if not found:
        return [f"*: none is certain; {rests}"]
    return [f"*: certain, {found:,} of {rests}; of the {what} marked, on average at most {share} have a {false}"]


def threshold_lines(facts: MiningFacts) -> list[str]:
    """Say which minimum support was taken where none was given, and of which sizes."""
    if facts.auto:
        decided = [level for level in facts.levels if level.status == "decided" and level.candidates]
        least = ", ".join(f"{level.min_support:.4%} for {itemsets_of(level.size)}" for level in decided)
        return [f"minimum support {least}: the lowest at which all that is found of the size can be believed"]
    if facts.top is None:
        return []
    levels = [level for level in facts.levels if level.status != "undecidable"]
    lines = [
        f"the {facts.top.wanted:,} largest estimates of {facts.top.ranked:,} itemsets counted; rank (and "
        f"the ranks it may have, of all itemsets at once with {100 * facts.errors.confidence_level:.4g}% confidence)"
    ]
    lines += [
        f"{itemsets_of(level.size)}: only from {level.min_support:.3%} up, two standard errors"
        for level in levels
        if level.min_support > facts.min_support
    ]
    return lines


def meaning_line(facts: "MiningFacts | AnswerFacts") -> str:
    """Say what the supports of a table of itemsets are shares of."""
    certain = facts.certain if isinstance(facts, MiningFacts) else None
    chosen = ""
    if certain is not None and certain.by == "split":
        chosen = f" ({certain.selecting_reports:,} others chose the itemsets)"
    return (
        f"from {facts.reports:,} reports{chosen}; supports are those within at most {facts.transaction_size} "
        "sampled items a basket"
    )


def rule_lines(rules: "pd.DataFrame", top: int) -> list[str]:
    """Show rules, with the truth where the table holds it, and what is certain marked."""
    truth = "true_confidence" in rules.columns
    certain = rules.attrs.get("assocpriv", {}).get("certain")
    lines = [_RULE_HEADER + (f" {'true':>8}" if truth else "") + "  rule"]
    for row in rules.head(top).to_dict("records"):
        line = _rule_line(row)
        if truth:
            line += f" {row['true_confidence']:8.1%}"
        mark = "" if certain is None else "* " if row["certain"] else "  "
        lines.append(f"{line}  {mark}{_sides(row)}")
    lines += _rest(len(rules), top)
    if certain is not None:
        false = f"confidence below {100 * certain['min_confidence']:.6g}%"
        lines += _claim_lines(int(rules["certain"].sum()), certain["level"], certain["hypotheses"], "rules", false)
    return lines


def _rule_line(row: dict[Any, Any]) -> str:
    return (
        f"{row['confidence']:10.1%} {row['confidence_std_error']:8.1%} {row['lift']:8.2f} "
        f"{row['lift_std_error']:8.2f} {row['support']:8.2%}"
    )


def _sides(row: dict[Any, Any]) -> str:
    left, right = (", ".join(sorted(row[side])) for side in ("antecedents", "consequents"))
    return f"{left} → {right}"


def answer_lines(answers: "Answers") -> list[str]:
    """Show what was asked: itemsets, then rules, in the order asked."""
    lines, level = [], answers.facts.errors.confidence_level
    if len(answers.itemsets):
        lines.append(_support_header(level) + "  itemset")
        lines += [
            f"{_support_line(row)}  {', '.join(sorted(row['itemsets']))}" for row in answers.itemsets.to_dict("records")
        ]
    if len(answers.rules):
        interval = f"{100 * level:.4g}% interval"
        lines.append(f"{_RULE_HEADER}  {interval:>15}  rule")
        lines += [
            f"{_rule_line(row)}  {row['confidence_ci_low']:7.1%}–{row['confidence_ci_high']:7.1%}  {_sides(row)}"
            for row in answers.rules.to_dict("records")
        ]
    for k, limits in answers.facts.limits.items():
        one, asked, whole = map(discoverable, limits)
        lines.append(
            f"{itemsets_of(k)}: the lowest discoverable support is {one} of one itemset, {asked} of all that were "
            f"asked, {whole} of all there are"
        )
    return lines


def _rest(total: int, top: int) -> list[str]:
    if not total:
        return ["(none)"]
    return [f"… and {total - top:,} more"] if total > top else []
