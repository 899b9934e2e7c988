"""What results show of themselves in notebooks: small, without script.

Plans, finds, rules, audits, distributions, trees: each is one table with what it is of above and what it leaves out
below. Colours are the notebook's own.
"""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any

from assocpriv.auditing.findings import count_undecided
from assocpriv.files.itemsets import LightFrame, itemset_records
from assocpriv.plans.tree_model import TreeModel, tree_lines
from assocpriv.promise.errors import counted
from assocpriv.server.itemsets import describe_limits, mining_facts
from assocpriv.server.rules import rule_records
from assocpriv.show.charts import itemset_rows, rule_row
from assocpriv.show.figures import names, number, share
from assocpriv.show.itemsets import list_line, rule_line
from assocpriv.show.sheets import promise_sentences

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.plans.published import PublishedPlan
    from assocpriv.server.distributions import Distributions


_ROWS = 15
_NAMES = 8  # of an itemset that are shown
_LETTERS = 8_000  # of HTML in a table or a text: rows of long names are fewer


def itemsets_html(frame: "pd.DataFrame") -> str:
    """Show the first itemsets of a mined table, how many of it are listed, and what its reports cannot tell."""
    facts, first = mining_facts(frame), LightFrame.of(frame.head(_ROWS))
    records = [row | {"sure": row["listed"]} for row in itemset_records(first)]
    level = f"{100 * facts.confidence_level:g}%"
    head = ("itemset", "support", f"{level} interval", "", "sure?")
    rows = [
        (_items(row["names"]), row["support"], f"{row['low']} to {row['high']}", _drawn(row["bar"]),
         "yes" if row["sure"] else "less")
        for row in itemset_rows(records)
    ]  # fmt: skip
    said = f"{counted(facts.reports, 'report')}, plan {facts.plan_ids[0][:12]}…; supports are {facts.meaning}"
    lines = map(escape, [said, list_line(LightFrame.of(frame))])
    return _card("Itemsets", lines, head, rows, len(frame) - len(rows), describe_limits(facts))


def rules_html(frame: "pd.DataFrame") -> str:
    """Show the first rules of a table of rules; of a whole one also how many of it are expected to be false."""
    head = ("who has", "also has", "confidence", "interval", "", "support", "lift", "sure?")
    whole = LightFrame.of(frame)
    said = [rule_line(whole)] if whole.attrs["assocpriv"]["listed"] == whole["listed"].sum() else []
    rows = [
        (_items(row["antecedent"]), _items(row["consequent"]), row["confidence"], f"{row['low']} to {row['high']}",
         _drawn(row["bar"]), row["support"], row["lift"], "yes" if row["sure"] else "less")
        for row in map(rule_row, rule_records(frame.head(_ROWS)))
    ]  # fmt: skip
    return _card("Association rules", map(escape, said), head, rows, len(frame) - len(rows))


def plan_html(plan: "PublishedPlan") -> str:
    """Show what a plan promises."""
    said = f"a report of {counted(plan.report_bytes, 'byte')}; kind {plan.kind}, id {plan.plan_id[:12]}…"
    return _card("Plan", map(escape, [*promise_sentences(plan), said]))


def audit_html(audit: Any) -> str:
    """Show the verdict of an audit, and each of its findings; the broken ones first."""
    order = {"broken": 0, "not decided": 1}
    found = sorted(audit.findings, key=lambda each: order.get(each.verdict, 2))
    rows = [(each.verdict, each.depth, escape(_cut(each.name)), escape(_cut(each.said))) for each in found[:_ROWS]]
    head = ("verdict", "depth", "check", "said")
    notes = ["not decided: the check could not be made, and speaks for nothing"] if count_undecided(found) else []
    return _card(f"Audit: {audit.verdict}", [], head, rows, len(found) - len(rows), notes)


def distributions_html(found: "Distributions") -> str:
    """Show the mean and quantiles of each column, or its commonest values."""
    columns = found.record()["columns"]
    rows = []
    for name, column in islice(columns.items(), _ROWS):
        if column.get("mean") is not None:
            mean = column["mean"]
            middle = [f"{100 * each['level']:g}% below {number(each['value'])}" for each in column["quantiles"] or ()]
            rows.append((_items([name]), number(mean["value"]), f"{number(mean['low'])} to {number(mean['high'])}",
                         "; ".join(middle)))  # fmt: skip
        else:
            pairs = sorted(zip(column["share"], column.get("values", ()), strict=False), reverse=True)[:5]
            rows.append(
                (_items([name]), "", "", "; ".join(f"{_items([value])} {share(part)}" for part, value in pairs))
            )
    level = f"{100 * found.confidence_level:g}%"
    said = f"{counted(found.reports, 'report')}" + (f", by {_items([found.by])}" if found.by else "")
    more = ["two columns together: .frame() has the pairs"] if found.joint is not None else []
    head = ("column", "mean", f"{level} interval", "spread")
    return _card("Distributions", [said], head, rows, len(columns) - len(rows), more)


def tree_html(model: TreeModel) -> str:
    """Show a decision tree as text."""
    lines = list(islice(tree_lines(model), 2 * _ROWS + 1))
    shown = _within_size([escape(_cut(line)) for line in lines[: 2 * _ROWS]])
    said = [f"answers {_items([model.class_name])}, grown {model.method} on {model.nodes[0].records:,} records"]
    if model.undecidable:
        said.append("no tree was better than the commonest class, by reports it was not grown on")
    rest = "<div>… and more; export_text has all of it</div>" if len(lines) > len(shown) else ""
    return _card("Decision tree", said).removesuffix("</div>") + "<pre>{}</pre>{}</div>".format("\n".join(shown), rest)


def _card(
    title: str,
    said: Iterable[str],
    head: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
    left_out: int = 0,
    notes: Iterable[str] = (),
) -> str:
    """Return a title, sentences and a table; cells and sentences are HTML already."""
    parts = [f"<div><strong>{escape(title)}</strong>", *(f"<div>{each}</div>" for each in said)]
    if head:
        lines = _within_size([_line("td", row) for row in rows])
        left_out += len(rows) - len(lines)
        parts.append(f"<table>{_line('th', head)}{''.join(lines)}</table>")
    if left_out:
        parts.append(f"<div>… and {left_out:,} more</div>")
    return "".join([*parts, *(f"<div><em>{escape(each)}</em></div>" for each in notes), "</div>"])


def _line(tag: str, cells: Sequence[str]) -> str:
    opened = f'<{tag} style="padding:.15em .6em;text-align:left">'
    return f"<tr>{''.join(f'{opened}{cell}</{tag}>' for cell in cells)}</tr>"


def _within_size(lines: Sequence[str]) -> list[str]:
    """Return the first lines that are small enough together, one at least."""
    sizes = list(accumulate(map(len, lines)))
    return [line for place, (line, size) in enumerate(zip(lines, sizes, strict=True)) if not place or size <= _LETTERS]


def _items(items: Iterable[str]) -> str:
    ordered = sorted(items)
    more = f" and {len(ordered) - _NAMES:,} more" if len(ordered) > _NAMES else ""
    return ", ".join(f"<bdi>{escape(name)}</bdi>" for name in names(ordered[:_NAMES])) + more


def _drawn(bar: str) -> str:
    path = f'<path d="{bar}" stroke="currentColor" stroke-width="2"/>'
    return f'<svg width="160" height="16" aria-hidden="true">{path}</svg>'


def _cut(text: str, most: int = 200) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
