"""Views of comparisons: the differences of supports and rules between sides."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assocpriv.server.baskets.comparison import Comparison, comparison_records
from assocpriv.show.number_format import interval
from assocpriv.show.result_record import Column, Facts, Part, Record, Say, Section, Table, more

_MOST_SIDES = 4  # with a column each; for more sides a table has the first, the last and the line chart
_COMPARED_RECORDS = 1_000  # rows in the JSON content
_PROBABLE = 0.95  # of reaching the minimum
CHANGED = "Did it change from day to day?"
_ASSUMED = "Assumed: each side is a disjoint sample of people."
_ONLY = "only: these sides alone reach the minimum (each side with a posterior probability of at least 95%)"
_ITEMSET = Column("itemset", "{itemsets:names}", "name")


# ---- comparisons


def compared(comparison: Comparison, top: int = 50, title: str = "") -> Record:
    """Return the differences of a comparison, the most probable first; with a title in sections, for a page."""
    content = _compared_content(comparison)
    parts = [*_sides(content), *_assumptions(content)]
    for name, found in _found(comparison, content, top):
        parts += [Section(name, found, name.lower())] if title else found
    return Record(content, parts, title, more=lambda: _compared_rows(comparison))


def _compared_rows(comparison: Comparison) -> dict[str, Any]:
    frames = {"itemsets": comparison.itemsets, "rules": comparison.rules}
    return {name: comparison_records(frame.head(_COMPARED_RECORDS)) for name, frame in frames.items()}


def _found(comparison: Comparison, content: Mapping[str, Any], top: int) -> list[tuple[str, list[Part]]]:
    """Return for itemsets and for rules the number of differences and a table, by name."""
    found = []
    rule = Column("rule", "{antecedents:names} → {consequents:names}", "name")
    for what, frame, name, values in (
        ("itemset", comparison.itemsets, _ITEMSET, "supports"),
        ("rule", comparison.rules, rule, "confidences"),
    ):
        shown = np.flatnonzero(frame["selected"] | frame.columns.get("significant", False))
        count = len(shown)
        rows = [_difference(row, content) for row in comparison_records(frame.take(shown[:top]))]
        if len(frame):
            tables = _difference_tables(rows, content, name, values)
            found.append((f"{what.capitalize()}s", [_answer(content, what), *tables, *more(count - top)]))
    return found


def changes(content: Mapping[str, Any]) -> Section:
    """Return the selected rows of a comparison's JSON content for the operator's page."""
    rows = [_difference(row, content) for row in content["itemsets"] if row["selected"] or row.get("significant")]
    parts = [
        _answer(content, "itemset"),
        *_difference_tables(rows, content, _ITEMSET, "supports"),
        *_assumptions(content),
    ]
    return Section(CHANGED, [Record(content, parts)], "changed")


def _compared_content(comparison: Comparison) -> dict[str, Any]:
    content = dict(comparison.facts)
    for what, frame in (("itemset", comparison.itemsets), ("rule", comparison.rules)):
        content[f"{what}s_compared"] = len(frame)
        content[f"{what}s_selected"] = int(frame["selected"].sum())
        content[f"{what}s_expected_false"] = float((1 - frame["probability"])[frame["selected"]].sum())
        if content["fdr"] is not None:
            content[f"{what}s_significant"] = int(frame["significant"].sum())
    return content


def _sides(content: Mapping[str, Any]) -> list[Part]:
    rows = []
    for place, side in enumerate(content["sides"]):
        size = f", {{sides[{place}][mean_size]:.2f}} items of its catalogue a basket" if side["mean_size"] else ""
        rows.append((side["name"], [f"{{sides[{place}][reports]:#{side['unit']}}}{size}"]))
    return [Facts(rows)]


def _answer(content: Mapping[str, Any], what: str) -> Say:
    """Return the sentence with the number of differences and the expected false discoveries."""
    than = " by more than {at_least:given}" if content["at_least"] else ""
    differ = "differs" if content[f"{what}s_selected"] == 1 else "differ"
    sentence = f"{{{what}s_selected:#{what}}} of {{{what}s_compared:#}} {differ}{than}"
    if what == "rule":
        sentence += " in a confidence that is {min_confidence:given} or more on some side"
    if content[f"{what}s_selected"]:
        sentence += f"; about {{{what}s_expected_false:about}} of them expected to be false"
    if content["fdr"] is not None:
        sentence += (
            f"; *: significant, {{{what}s_significant:#}} of all; on average at most {{fdr:given}} of these are false"
        )
    return Say(sentence, kind="answer")


def _assumptions(content: Mapping[str, Any]) -> list[Part]:
    """Return the assumptions, and the ε that a person on all sides has spent."""
    sides = len(content["sides"])
    parts: list[Part] = []
    if sides > 2:
        parts.append("a difference is the change along a straight line from the first side to the last")
    spent = " A person on all sides has spent ε ≤ {epsilon_in_all:up} in total: ε adds up."
    parts.append(_ASSUMED + (spent if content["epsilon_in_all"] is not None else ""))
    if content["shared_truncation"]:
        parts.append("errors of the truncation correction that all sides share count once and cancel")
    elif content["whole"]:
        parts.append(
            "truncated to different sizes, or by several plans on a side: errors of the truncation correction count in "
            "full on each side"
        )
    if content["left_out"]:
        parts.append(
            "{left_out:#itemset} left out, not estimated on all sides: other catalogues, or tables, which hold only "
            "mined itemsets"
        )
    return parts


def _difference(row: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    values = row["supports"] if "supports" in row else row["confidences"]
    triples = [list(each) for each in zip(row["lows"], values, row["highs"], strict=True)]
    return {**row, "line": triples, "mark": "*" * bool(row.get("significant")) + _only(row["above_minimum"], content)}


def _only(above_minimum: Sequence[float], content: Mapping[str, Any]) -> str:
    """Return "only" and the sides that reach the minimum, if each side reaches or misses it with 95% probability."""
    if not all(each >= _PROBABLE or each <= 1 - _PROBABLE for each in above_minimum):
        return ""
    names = [side["name"] for side, each in zip(content["sides"], above_minimum, strict=True) if each >= _PROBABLE]
    return f" only {', '.join(names)}" if 0 < len(names) < len(above_minimum) else ""


def _difference_tables(
    rows: Sequence[Mapping[str, Any]], content: Mapping[str, Any], name: Column, values: str
) -> list[Part]:
    """Return the table of differences with its legend, or nothing without rows."""
    if not rows:
        return []
    sides = content["sides"]
    chosen = range(len(sides)) if len(sides) <= _MOST_SIDES else (0, len(sides) - 1)
    columns = [
        Column("difference", "{difference:+.1%}"),
        Column(interval(content["confidence_level"]), "{ci_low:+.1%} to {ci_high:+.1%}"),
        Column("probability", "{probability:.1%}"),
        *(Column(sides[place]["name"], f"{{{values}[{place}]:estimate}}") for place in chosen),
        name,
    ]
    if any(row["mark"] for row in rows):
        columns.append(Column("", "{mark}", "text"))
    line = "line" if len(sides) > 2 else ""
    legend = [_ONLY] * any("only" in row["mark"] for row in rows)
    return [Table(columns, rows, name=values, lines=line), *legend]
