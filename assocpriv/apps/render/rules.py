"""Association rules, and answers to questions about chosen itemsets and rules, as text."""

from typing import TYPE_CHECKING, Any

from assocpriv.apps.render.figures import discoverable, itemsets_of, listed, percent, percent_as_given, rest_line
from assocpriv.apps.render.itemsets import claim_lines, interval_title, meaning_line, support_header, support_line
from assocpriv.files.tables import itemset_records
from assocpriv.server.itemsets.frames import mining_facts
from assocpriv.server.itemsets.rules import rule_records

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.server.itemsets.ask import Answers

_HEADER = f"{'confidence':>10} {'± error':>8} {'lift':>8} {'± error':>8} {'support':>8}"


def derived_record(itemsets: "pd.DataFrame", rules: "pd.DataFrame") -> dict[str, Any]:
    """Return rules and what their itemsets come from, for ``--json``."""
    facts = mining_facts(itemsets)
    record = {name: getattr(facts, name) for name in ("plan_id", "reports", "transaction_size", "min_support")}
    record |= rules.attrs.get("assocpriv", {})
    return record | {"rules": rule_records(rules)}


def derived_lines(itemsets: "pd.DataFrame", rules: "pd.DataFrame", top: int) -> list[str]:
    """Show rules, and what the supports of their itemsets are."""
    return [meaning_line(mining_facts(itemsets)), *rule_lines(rules, top)]


def rule_lines(rules: "pd.DataFrame", top: int) -> list[str]:
    """Show rules, with the truth where the table holds it, and what is certain marked."""
    truth = "true_confidence" in rules.columns
    certain = rules.attrs.get("assocpriv", {}).get("certain")
    lines = [_HEADER + (f" {'true':>8}" if truth else "") + "  rule"]
    for row in rules.head(top).to_dict("records"):
        line = _rule_line(row)
        if truth:
            line += f" {percent(row['true_confidence'], 1, 8)}"
        mark = "" if certain is None else "* " if row["certain"] else "  "
        lines.append(f"{line}  {mark}{_sides(row)}")
    lines += rest_line(len(rules), top)
    if certain is not None:
        false = f"confidence below {percent_as_given(certain['min_confidence'])}"
        lines += claim_lines(rules, (certain["level"], certain["hypotheses"]), "rules", false)
    return lines


def _rule_line(row: dict[Any, Any]) -> str:
    return (
        f"{percent(row['confidence'], 1, 10)} {percent(row['confidence_std_error'], 1, 8)} {row['lift']:8.2f} "
        f"{row['lift_std_error']:8.2f} {percent(row['support'], 2, 8)}"
    )


def _sides(row: dict[Any, Any]) -> str:
    left, right = (listed(row[side]) for side in ("antecedents", "consequents"))
    return f"{left} → {right}"


def answer_record(answers: "Answers") -> dict[str, Any]:
    """Return what was asked for ``--json``."""
    return answers.facts.to_json() | {
        "itemsets": itemset_records(answers.itemsets),
        "rules": rule_records(answers.rules),
    }


def answer_lines(answers: "Answers") -> list[str]:
    """Show what was asked: itemsets, then rules, in the order asked."""
    lines, level = [meaning_line(answers.facts)], answers.facts.errors.confidence_level
    if len(answers.itemsets):
        lines.append(support_header(level) + "  itemset")
        lines += [f"{support_line(row)}  {listed(row['itemsets'])}" for row in answers.itemsets.to_dict("records")]
    if len(answers.rules):
        lines.append(f"{_HEADER}  {interval_title(level):>15}  rule")
        lines += [
            f"{_rule_line(row)}  {percent(row['confidence_ci_low'], 1, 7)}–"
            f"{percent(row['confidence_ci_high'], 1, 7)}  {_sides(row)}"
            for row in answers.rules.to_dict("records")
        ]
    for k, limits in answers.facts.limits.items():
        one, asked, whole = map(discoverable, limits)
        lines.append(
            f"{itemsets_of(k)}: the lowest discoverable support is {one} of one itemset, {asked} of all that were "
            f"asked, {whole} of all there are"
        )
    return lines
