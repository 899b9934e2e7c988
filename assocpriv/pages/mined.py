"""A page of a mined table, whole in one file: what was found and how sure it is, the promise, what could not be seen.

It is made of plain figures, and holds no report and no basket.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assocpriv.core.errors import counted
from assocpriv.pages import charts
from assocpriv.pages.facts import promise_sentences
from assocpriv.pages.sheet import drawn, sheet
from assocpriv.pages.wording import NORMAL, names, share, size_name
from assocpriv.plans.published import PublishedPlan

MOST_ITEMSETS, MOST_RULES = 1000, 300  # to show, the surest of them
_EDGES, _NODES = 40, 24  # of the graph


@dataclass(frozen=True)
class Found:
    """What a page is made of.

    ``facts`` are those that a mined table carries; ``itemsets`` and ``rules`` are the rows shown as plain objects,
    surest first, each itemset with ``sure``; ``finds``, ``sure`` and ``all_rules`` how many there are in all. ``more``
    is from which support on a size could be told by so many times as many people, by size a list like ``times``;
    ``stronger`` are other promises, and from which support on each tells single items.
    """

    title: str
    facts: Mapping[str, Any]
    itemsets: Sequence[Mapping[str, Any]]
    rules: Sequence[Mapping[str, Any]]
    finds: int
    sure: int
    all_rules: int
    min_confidence: str
    plan: PublishedPlan | None = None
    times: Sequence[int] = ()
    more: Mapping[int, Sequence[float]] = field(default_factory=dict)
    stronger: Sequence[tuple[str, float | None]] = ()


def mined_page(found: Found) -> str:
    """Return the page, HTML."""
    view = {
        "promise": [] if found.plan is None else promise_sentences(found.plan),
        "facts": found.facts,
        "plan_id": found.facts["plan_id"],
        "meaning": str(found.facts["meaning"]),
        "level": f"{100 * found.facts['confidence_level']:g}%",
        "itemsets": _itemset_rows(found.itemsets),
        "more_itemsets": found.finds - len(found.itemsets),
        "has_truth": any("true_support" in row for row in found.itemsets[:1]),
        "rules": [_rule_row(row) for row in found.rules],
        "more_rules": found.all_rules - len(found.rules),
        "min_confidence": found.min_confidence,
        "sizes": _size_rows(found),
        "times": found.times,
        "stronger": [(name, share(least)) for name, least in found.stronger],
        "doubtful": found.finds - found.sure,
        "strips": drawn(charts.strips, _strips(found)),
        "scatter": drawn(charts.scatter, _points(found.rules)),
        "graph": drawn(_graph, found.rules),
        "legend": list(zip(charts.LEGEND, ("below", "even", "some", "more", "most"), strict=True)),
    }
    return sheet("mined.html", found.title, _answer(found), view)


def _answer(found: Found) -> str:
    reports = counted(found.facts["reports"], "report")
    if not found.finds:
        return f"From {reports} nothing was found that can be told from chance."
    doubtful = found.finds - found.sure
    rest = f"; {counted(doubtful, 'more')} may be chance".replace("mores", "more") if doubtful else ""
    return f"{reports} show {counted(found.sure, 'itemset')} for sure{rest}."


def _itemset_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    scale = max((min(row["ci_high"], 1.0) for row in rows), default=1.0) or 1.0
    return [
        {
            "names": names(row["itemset"]),
            "size": len(row["itemset"]),
            "support": share(row["support"]),
            "low": share(max(row["ci_low"], 0.0)),
            "high": share(min(row["ci_high"], 1.0)),
            "bar": tuple(_percent(part / scale) for part in (row["ci_low"], row["ci_high"], row["support"])),
            "sure": bool(row["sure"]),
            "truth": share(row["true_support"]) if "true_support" in row else "",
        }
        for row in rows
    ]


def _percent(part: float) -> str:
    return f"{round(100 * min(max(part, 0.0), 1.0), 1):g}"


def _rule_row(row: Mapping[str, Any]) -> dict[str, Any]:
    known = row["confidence"] is not None and row["lift"] is not None
    low, high = _confidence_interval(row)
    return {
        "antecedent": names(row["antecedents"]),
        "consequent": names(row["consequents"]),
        "confidence": f"{min(max(row['confidence'], 0.0), 1.0):.1%}" if known else "not known",
        "low": f"{low:.1%}",
        "high": f"{high:.1%}",
        "bar": tuple(_percent(part) for part in (low, high, row["confidence"] if known else 0.0)),
        "support": share(row["support"]),
        "lift": f"{row['lift']:.2f}" if known else "—",
        "shade": charts.shade(row["lift"] if known else math.nan),
    }


def _confidence_interval(row: Mapping[str, Any]) -> tuple[float, float]:
    """Return the interval that the table has, or about two standard errors to each side."""
    if row.get("confidence_ci_low") is not None:
        return row["confidence_ci_low"], row["confidence_ci_high"]
    error = row.get("confidence_std_error")
    if row["confidence"] is None or error is None:
        return 0.0, 1.0
    low, high = (min(max(row["confidence"] + side * NORMAL * error, 0.0), 1.0) for side in (-1, 1))
    return low, high


def _size_rows(found: Found) -> list[dict[str, Any]]:
    return [
        {
            "name": size_name(level["size"]),
            "candidates": f"{level['candidates']:,}",
            "frequent": f"{level['frequent']:,}",
            "one": share(level["lowest_discoverable_support"]),
            "all": share(level["level_discoverable_support"]),
            "more": [share(each) for each in found.more.get(level["size"], ())],
            "status": _STATUS.get(level["status"], level["status"]),
        }
        for level in found.facts["levels"]
    ]


_STATUS = {
    "decided": "what was found can be believed",
    "uncertain": "some of what was found may be chance",
    "undecidable": "nothing can be told: more reports are needed",
}


def _strips(found: Found) -> list[charts.Strip]:
    rows = []
    for level in found.facts["levels"]:
        mine = [row for row in found.itemsets if len(row["itemset"]) == level["size"]]
        least = level["level_discoverable_support"]
        least = None if least is None or least >= 1 else least
        rows.append(charts.Strip(size_name(level["size"]).removeprefix("single "), [row["support"] for row in mine],
                                 [bool(row["sure"]) for row in mine], least))  # fmt: skip
    return rows


def _points(rules: Sequence[Mapping[str, Any]]) -> list[charts.Point]:
    return [
        charts.Point(row["support"], row["confidence"], row["lift"], _name(row))
        for row in rules
        if row["confidence"] is not None and row["lift"] is not None
    ]


def _name(row: Mapping[str, Any]) -> str:
    sides = (", ".join(names(row[side])) for side in ("antecedents", "consequents"))
    return f"{' → '.join(sides)}: confidence {min(max(row['confidence'], 0.0), 1.0):.1%}, lift {row['lift']:.2f}"


def _graph(rules: Sequence[Mapping[str, Any]]) -> str:
    """Draw the first rules between single items, of as many items as there is room for."""
    items: dict[str, int] = {}
    edges = []
    for row in rules:
        if len(row["antecedents"]) + len(row["consequents"]) > 2 or row["confidence"] is None or row["lift"] is None:
            continue
        ends = [row["antecedents"][0], row["consequents"][0]]
        if len({*items, *ends}) > _NODES:
            continue
        source, target = (items.setdefault(name, len(items)) for name in ends)
        edges.append(charts.Edge(source, target, row["confidence"], row["lift"], _name(row)))
        if len(edges) == _EDGES:
            break
    return charts.graph(list(items), edges)
