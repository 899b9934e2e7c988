"""What was found in baskets, as rows of tables and as charts: for the page of a mined table and for the operator's.

Rows come as mining and ``rules`` tell them, plain objects. How they look is in templates/found.html and found.css.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from assocpriv.pages import charts
from assocpriv.pages.wording import NORMAL, estimate, names, share, size_name

LEGEND = list(zip(charts.LEGEND, charts.SHADES, strict=True))
_EDGES, _NODES = 40, 24  # of the graph
_LEFTS, _RIGHTS = 20, 11  # of the matrix
_BAR = 160  # pixels, of an interval drawn in a table


def itemset_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what is shown of itemsets, all intervals on one scale; each says ``sure``, maybe ``true_support``."""
    scale = max((min(row["ci_high"], 1.0) for row in rows), default=1.0) or 1.0
    return [
        {
            "names": names(row["itemset"]),
            "size": len(row["itemset"]),
            "support": estimate(row["support"]),
            "low": share(max(row["ci_low"], 0.0)),
            "high": share(min(row["ci_high"], 1.0)),
            "bar": _bar(row["ci_low"] / scale, row["ci_high"] / scale, row["support"] / scale),
            "sure": bool(row["sure"]),
            "truth": share(row["true_support"]) if "true_support" in row else "",
        }
        for row in rows
    ]


def _bar(low: float, high: float, middle: float | None) -> Markup:
    """Draw an interval and the estimate in it, as an SVG path: unlike a style, no policy of a page forbids it."""
    start, end = _pixel(low), _pixel(high)
    tick = "" if middle is None else f"M{_pixel(middle)} 3v10"
    return Markup(f"M{start} 8h{max(end - start, 1)}{tick}")


def _pixel(part: float) -> int:
    return round(_BAR * min(max(part, 0.0), 1.0))


def rule_row(row: Mapping[str, Any], reach: float = NORMAL) -> dict[str, Any]:
    """Return the row of a rule, its confidence with so many standard errors to each side."""
    known = _is_known(row)
    low, high = _confidence_interval(row, reach)
    return {
        "antecedent": names(row["antecedents"]),
        "consequent": names(row["consequents"]),
        "confidence": f"{min(max(row['confidence'], 0.0), 1.0):.1%}" if known else "not known",
        "low": f"{low:.1%}",
        "high": f"{high:.1%}",
        "bar": _bar(low, high, row["confidence"] if known else None),
        "support": estimate(row["support"]),
        "lift": f"{row['lift']:.2f}" if known else "—",
        "shade": charts.shade(row["lift"] if known else math.nan),
    }


def _confidence_interval(row: Mapping[str, Any], reach: float) -> tuple[float, float]:
    """Return the interval that the table has, or so many standard errors to each side."""
    if row.get("confidence_ci_low") is not None:
        return row["confidence_ci_low"], row["confidence_ci_high"]
    error = row.get("confidence_std_error")
    if row["confidence"] is None or error is None:
        return 0.0, 1.0
    low, high = (min(max(row["confidence"] + side * reach * error, 0.0), 1.0) for side in (-1, 1))
    return low, high


def supports_chart(levels: Sequence[Mapping[str, Any]], marks: Sequence[tuple[int, float, bool]]) -> Markup:
    """Draw the supports of each size beside what was asked for and what can be told; marks: size, support, is sure."""
    rows = []
    for level in levels:
        mine = [(support, sure) for size, support, sure in marks if size == level["size"]]
        least = level["level_discoverable_support"]
        least = None if least is None or least >= 1 else least
        name = size_name(level["size"]).removeprefix("single ")
        name = f"{level['size']} items" if name.startswith("itemsets of") else name
        rows.append(charts.Strip(name, [support for support, _ in mine], [bool(sure) for _, sure in mine], least,
                                 level.get("min_support") or 0.0))  # fmt: skip
    return Markup(charts.strips(rows))


def rules_chart(rules: Sequence[Mapping[str, Any]]) -> Markup:
    """Draw rules by support and confidence."""
    points = [
        charts.Point(row["support"], row["confidence"], row["lift"], _name(row)) for row in rules if _is_known(row)
    ]
    return Markup(charts.scatter(points))


def _is_known(rule: Mapping[str, Any]) -> bool:
    return rule["confidence"] is not None and rule["lift"] is not None


def _name(row: Mapping[str, Any]) -> str:
    sides = (", ".join(names(row[side])) for side in ("antecedents", "consequents"))
    return f"{' → '.join(sides)}: {_measures(row)}"


def _measures(row: Mapping[str, Any]) -> str:
    return f"confidence {min(max(row['confidence'], 0.0), 1.0):.1%}, lift {row['lift']:.2f}"


def rules_matrix(rules: Sequence[Mapping[str, Any]]) -> Markup:
    """Draw the first rules by both sides, of as many sides as there is room for."""
    lefts: dict[str, int] = {}
    rights: dict[str, int] = {}
    cells = []
    for row in rules:
        left, right = (", ".join(names(row[side])) for side in ("antecedents", "consequents"))
        if not _is_known(row) or len({*lefts, left}) > _LEFTS or len({*rights, right}) > _RIGHTS:
            continue
        source, target = lefts.setdefault(left, len(lefts)), rights.setdefault(right, len(rights))
        cells.append(charts.Edge(source, target, row["confidence"], row["lift"], _measures(row)))
        if len(cells) == _EDGES:
            break
    return Markup(charts.matrix(list(lefts), list(rights), cells))


def rules_graph(rules: Sequence[Mapping[str, Any]]) -> Markup:
    """Draw the first rules between single items, of as many items as there is room for."""
    items: dict[str, int] = {}
    edges = []
    for row in rules:
        if len(row["antecedents"]) + len(row["consequents"]) > 2 or not _is_known(row):
            continue
        ends = [row["antecedents"][0], row["consequents"][0]]
        if len({*items, *ends}) > _NODES:
            continue
        source, target = (items.setdefault(name, len(items)) for name in ends)
        edges.append(charts.Edge(source, target, row["confidence"], row["lift"], _name(row)))
        if len(edges) == _EDGES:
            break
    return Markup(charts.graph(list(items), edges))
