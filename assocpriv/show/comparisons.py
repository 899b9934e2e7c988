"""Comparisons as records: which supports and rules differ between sides, and how sure that is."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assocpriv.server.compare import Comparison, comparison_records
from assocpriv.show.figures import interval
from assocpriv.show.record import Column, Facts, Part, Record, Say, Section, Table, more

_MOST_SIDES = 4  # whose figures a table has; of more there are the first, the last and the line
_RECORDS = 1_000  # of JSON
_HOLDS = 0.95
CHANGED = "Did it change from day to day?"
_OTHERS = "Assumed: the people of each side are others than those of the rest."
_ITEMSET = Column("itemset", "{itemsets:names}", "name")


def compared(told: Comparison, top: int = 50) -> Record:
    """Return what differs, the surest first."""
    content = _content(told)
    parts = [*_sides(content), *_assumptions(content)]
    for _, found in _found(told, content, top):
        parts += found
    return Record(content, parts, more=lambda: _records(told))


def page(told: Comparison, title: str, rows: int) -> Record:
    """Return what differs as a page shows it."""
    content = _content(told)
    sections = [Section(name, found, name.lower()) for name, found in _found(told, content, rows)]
    return Record(content, [*_sides(content), *_assumptions(content), *sections], title, more=lambda: _records(told))


def _records(told: Comparison) -> dict[str, Any]:
    frames = {"itemsets": told.itemsets, "rules": told.rules}
    return {name: comparison_records(frame.head(_RECORDS)) for name, frame in frames.items()}


def _found(told: Comparison, content: Mapping[str, Any], top: int) -> list[tuple[str, list[Part]]]:
    """Return itemsets and rules, each as how many differ and a table, under their names."""
    found = []
    rule = Column("rule", "{antecedents:names} → {consequents:names}", "name")
    for what, frame, name, values in (
        ("itemset", told.itemsets, _ITEMSET, "supports"),
        ("rule", told.rules, rule, "confidences"),
    ):
        shown = np.flatnonzero(frame["listed"] | frame.columns.get("certain", False))
        count = len(shown)
        rows = [_row(row, content) for row in comparison_records(frame.take(shown[:top]))]
        if len(frame):
            tables = [_table(rows, content, name, values)] * bool(rows)
            found.append((f"{what.capitalize()}s", [_answer(content, what), *tables, *more(count - top)]))
    return found


def section(told: Mapping[str, Any]) -> Section:
    """Return the surest rows of a comparison's JSON content, as the operator's page has them."""
    rows = [_row(row, told) for row in told["itemsets"] if row["listed"] or row.get("certain")]
    tables = [_table(rows, told, _ITEMSET, "supports")] * bool(rows)
    return Section(CHANGED, [Record(told, [_answer(told, "itemset"), *tables, *_assumptions(told)])], "changed")


def _content(told: Comparison) -> dict[str, Any]:
    content = dict(told.facts)
    for what, frame in (("itemset", told.itemsets), ("rule", told.rules)):
        content[f"{what}s_compared"] = len(frame)
        content[f"{what}s_listed"] = int(frame["listed"].sum())
        content[f"{what}s_expected_false"] = float((1 - frame["probability"])[frame["listed"]].sum())
        if content["certain_level"] is not None:
            content[f"{what}s_certain"] = int(frame["certain"].sum())
    content["certain_false"] = None if content["certain_level"] is None else 1 - content["certain_level"]
    return content


def _sides(content: Mapping[str, Any]) -> list[Part]:
    rows = []
    for place, side in enumerate(content["sides"]):
        size = f", {{sides[{place}][mean_size]:.2f}} items a basket" if side["mean_size"] else ""
        rows.append((side["name"], [f"{{sides[{place}][reports]:#report}}{size}"]))
    return [Facts(rows)]


def _answer(content: Mapping[str, Any], what: str) -> Say:
    """Say how many differ, and how sure that is."""
    than = " by more than {at_least:given}" if content["at_least"] else ""
    differ = "differs" if content[f"{what}s_listed"] == 1 else "differ"
    said = f"{{{what}s_listed:#{what}}} of {{{what}s_compared:#}} {differ}{than}"
    if what == "rule":
        said += " in a confidence that is {min_confidence:given} or more on some side"
    if content[f"{what}s_listed"]:
        said += f"; about {{{what}s_expected_false:about}} of them expected to be false"
    if content["certain_level"] is not None:
        said += (
            f"; *: certain, {{{what}s_certain:#}} of all; on average at most {{certain_false:given}} of these are false"
        )
    return Say(said, kind="answer")


def _assumptions(content: Mapping[str, Any]) -> list[Part]:
    """Say what is assumed, and what somebody on all sides gave away."""
    sides = len(content["sides"])
    parts: list[Part] = []
    if sides > 2:
        parts.append("a difference is the change along a straight line from the first side to the last")
    given = " Who answered on all of them gave away ε ≤ {epsilon_in_all:up} in all: ε adds up."
    parts.append(_OTHERS + (given if content["epsilon_in_all"] is not None else ""))
    if content["shared"]:
        parts.append("errors of undoing the sampling that all sides share are taken once and cancel")
    elif content["whole"]:
        parts.append(
            "sampled to different sizes, or by several plans on a side: errors of undoing it count in full on each side"
        )
    if content["left_out"]:
        parts.append(
            "{left_out:#itemset} not told on all sides: of other catalogues, or of tables, which hold what was mined"
        )
    return parts


def _row(row: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    values = row["supports"] if "supports" in row else row["confidences"]
    triples = [list(each) for each in zip(row["lows"], values, row["highs"], strict=True)]
    return {**row, "line": triples, "mark": "*" * bool(row.get("certain")) + _only(row["holds"], content)}


def _only(holds: Sequence[float], content: Mapping[str, Any]) -> str:
    """Say on which sides alone the minimum is reached, where that is sure of all."""
    if not all(each >= _HOLDS or each <= 1 - _HOLDS for each in holds):
        return ""
    names = [side["name"] for side, each in zip(content["sides"], holds, strict=True) if each >= _HOLDS]
    return f" only {', '.join(names)}" if 0 < len(names) < len(holds) else ""


def _table(rows: Sequence[Mapping[str, Any]], content: Mapping[str, Any], name: Column, values: str) -> Table:
    sides = content["sides"]
    chosen = range(len(sides)) if len(sides) <= _MOST_SIDES else (0, len(sides) - 1)
    columns = [
        Column("difference", "{difference:+.1%}"),
        Column(interval(content["confidence_level"]), "{ci_low:+.1%} to {ci_high:+.1%}"),
        Column("sure", "{probability:.1%}"),
        *(Column(sides[place]["name"], f"{{{values}[{place}]:estimate}}") for place in chosen),
        name,
    ]
    if any(row["mark"] for row in rows):
        columns.append(Column("", "{mark}", "text"))
    line = "line" if len(sides) > 2 else ""
    return Table(columns, rows, name=values, lines=line)
