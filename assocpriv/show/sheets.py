"""Pages in one file, made of plain figures.

They share frame, style and script, and load nothing from elsewhere. A page forbids itself to
(content-security-policy); its one script, which sorts and filters, is allowed by its hash. It holds no report, no
basket and no record.

A page of a mined table: what was found, and how sure that is. Of reconstructed
distributions: how the values of each column are spread, and how sure that is. Of a decision tree that was grown on
reports: its questions and answers, as nested lists. Of a suppression: what was withheld, why, and the information that
is left; it stays with the owner.
"""

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from assocpriv.promise.breaches import epsilon
from assocpriv.promise.errors import counted
from assocpriv.show import charts
from assocpriv.show.figures import belief, errors_of, number, share, short_figure_up

if TYPE_CHECKING:
    from assocpriv.plans.published import PublishedPlan

_MOST_BYTES = 300_000  # of a page; where names are long it shows fewer rows
MOST_ITEMSETS, MOST_RULES = 1000, 250  # to show, the surest of them
_MOST_ROWS = 500  # of a table
_MOST_COLUMNS = 40  # shown
_MOST_LINES = 400  # of a tree
_METHODS = {"smooth": "the smoothest curve that the reports bear out", "least-squares": "unbiased least squares"}
_Record = Mapping[str, Any]


# ---- the frame


def templates(*packages: str) -> Environment:
    """Return the templates of packages, and those that all pages share; what they are given is escaped."""
    loaders = [PackageLoader(package) for package in (*packages, "assocpriv.show")]
    return Environment(
        loader=ChoiceLoader(loaders), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


_TEMPLATES = templates()


def _sheet(template: str, title: str, answer: str, view: Mapping[str, Any]) -> str:
    """Return a page, HTML: its title, what it answers first, and the template's sections of a view."""
    script = _TEMPLATES.get_template("mined.js").render()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    frame: dict[str, Any] = {"title": title, "answer": answer, "script": Markup(script), "script_hash": digest}
    return _TEMPLATES.get_template(template).render(frame | dict(view))


def drawn(chart: Callable[..., str], *given: Any) -> Markup:
    """Return a chart as markup; the charts escape what they are given."""
    return Markup(chart(*given))


def promise_sentences(plan: "PublishedPlan") -> list[str]:
    """Say what a plan promises, in words, and what lies outside it."""
    sentences = []
    if plan.promise is not None:
        before, after = belief(plan.promise.prior, up=False), belief(plan.promise.posterior, up=True)
        seen = "all that the person sends" if plan.reports_per_person > 1 else "the person’s report"
        sentences.append(
            f"Somebody thinks that something about a person is {before} likely, and then sees {seen}: that cannot make "
            f"it {after} likely, whatever the thing is, and whatever else is known."
        )
    gamma = plan.amplification
    if gamma is None:
        sentences.append(f"{plan.unbounded[:1].upper()}{plan.unbounded[1:]}.")
    else:
        sentences.append(
            f"In figures: γ is at most {short_figure_up(float(gamma))} and ε at most "
            f"{short_figure_up(epsilon(gamma))}, for each report; a person may send "
            f"{counted(plan.reports_per_person, 'report')}."
        )
    if plan.uncovered:
        sentences.append(f"Outside the promise: {plan.uncovered}.")
    return sentences


def bound_clause(plan: "PublishedPlan | None") -> str:
    """Say, after that a page tells no more of a person than the report did, whether a promise bounds that."""
    if plan is None:
        return ", and that is what its plan’s promise bounds (see above)"
    if plan.amplification is None:
        return "; but no promise bounds that (see above)"
    if plan.uncovered:
        return ", and the promise bounds that, but for what lies outside it (see above)"
    return ", and that is what the promise bounds"


# ---- mined tables


@dataclass(frozen=True)
class Found:
    """What a page is made of.

    ``facts`` are those that a mined table carries; ``itemsets`` and ``rules`` are the rows shown as plain objects.
    ``said`` is the page's answer, ``rules_said`` stands above the ``all_rules`` rules. ``marks`` are size, support and
    whether it is listed of all itemsets.
    """

    title: str
    facts: Mapping[str, Any]
    itemsets: Sequence[Mapping[str, Any]]
    rules: Sequence[Mapping[str, Any]]
    said: str
    all_rules: int
    min_confidence: str
    rules_said: str
    plan: "PublishedPlan | None" = None
    marks: Sequence[tuple[int, float, bool]] = ()
    limits: Sequence[str] = ()


def mined_page(found: Found) -> str:
    """Return the page, HTML."""
    page = _page(found)
    while len(page.encode()) > _MOST_BYTES and len(found.itemsets) + len(found.rules) > 1:
        part = 0.9 * _MOST_BYTES / len(page.encode())
        found = replace(
            found,
            itemsets=found.itemsets[: int(part * len(found.itemsets))],
            rules=found.rules[: int(part * len(found.rules))],
        )
        page = _page(found)
    return page


def _page(found: Found) -> str:
    view = {
        "promise": [] if found.plan is None else promise_sentences(found.plan),
        "bound": bound_clause(found.plan),
        "facts": found.facts,
        "plan_id": found.facts["plan_ids"][0],
        "meaning": str(found.facts["meaning"]),
        "level": f"{100 * found.facts['confidence_level']:g}%",
        "itemsets": charts.itemset_rows(found.itemsets),
        "more_itemsets": len(found.marks) - len(found.itemsets),
        "has_truth": any("true_support" in row for row in found.itemsets[:1]),
        "rules": [charts.rule_row(row) for row in found.rules],
        "more_rules": found.all_rules - len(found.rules),
        "min_confidence": found.min_confidence,
        "rules_said": found.rules_said,
        "doubtful": sum(not is_listed for _, _, is_listed in found.marks),
        "limits": found.limits,
        "strips": charts.supports_chart(found.facts["min_support"], found.marks),
        "scatter": charts.rules_chart(found.rules),
        "graph": charts.rules_graph(found.rules),
        "matrix": charts.rules_matrix(found.rules),
        "legend": charts.SHADED_LEGEND,
    }
    answer = f"{counted(found.facts['reports'], 'report')} show {found.said}."
    return _sheet("mined.html", found.title, answer, view)


# ---- distributions


def spread_page(record: Mapping[str, Any], title: str, plan: "PublishedPlan | None") -> str:
    """Return the page of what ``reconstruct --json`` prints of single columns."""
    columns = record["columns"]
    classes = {name: of_class["columns"] for name, of_class in record.get("classes", {}).items()}
    shown = list(columns)[:_MOST_COLUMNS]
    reach = errors_of(record["confidence_level"])
    view = {
        "columns": [_column(name, columns[name], classes, reach) for name in shown],
        "more_columns": len(columns) - len(shown),
        "by": record.get("by", ""),
        "classes": list(classes)[: charts.MOST_CLASSES],
        "more_classes": max(len(classes) - charts.MOST_CLASSES, 0),
        "level": f"{100 * record['confidence_level']:g}%",
        "promise": [] if plan is None else promise_sentences(plan),
        "bound": bound_clause(plan),
        "plan_id": "" if plan is None else plan.plan_id,
    }
    return _sheet("spread.html", title, _spread_answer(record), view)


def _spread_answer(record: Mapping[str, Any]) -> str:
    columns = record["columns"]
    bands = [band for each in columns.values() if (band := _widest(each)) is not None]
    told = f"{counted(record['reports'], 'report')} tell how the values of {counted(len(columns), 'column')} are spread"
    return f"{told}; shares below a value are known to {share(max(bands) / 2)} or better." if bands else f"{told}."


def _widest(column: Mapping[str, Any]) -> float | None:
    band = column.get("distribution")
    return None if band is None else max(high - low for low, high in zip(band["low"], band["high"], strict=True))


def _column(
    name: str, column: Mapping[str, Any], classes: Mapping[str, Mapping[str, Any]], reach: float
) -> dict[str, Any]:
    mean, band = column.get("mean"), _widest(column)
    own = [
        (each, of_class[name]) for each, of_class in list(classes.items())[: charts.MOST_CLASSES] if name in of_class
    ]
    return {
        "name": name,
        "reports": f"{column['reports']:,}",
        "is_empty": band is not None and mean is None,
        "mean": "" if mean is None else number(mean["value"]),
        "interval": "" if mean is None else f"{number(mean['low'])} to {number(mean['high'])}",
        "quantiles": [_quantile(each) for each in column.get("quantiles", ())],
        "band": "" if band is None else f"± {share(band / 2)}",
        "basis": _METHODS.get((column.get("distribution") or {}).get("basis", ""), ""),
        "chart": drawn(charts.column_chart, name, column, own, reach),
        "of_classes": [
            (each, number(of["mean"]["value"]), f"{number(of['mean']['low'])} to {number(of['mean']['high'])}")
            for each, of in own
            if of.get("mean") is not None
        ],
        "more_values": max(len(column.get("values", ())) - charts.MOST_VALUES, 0),
    }


def _quantile(quantile: Mapping[str, Any]) -> str:
    between = f"{number(quantile['low'])} to {number(quantile['high'])}"
    return f"{100 * quantile['level']:g}% below {number(quantile['value'])} ({between})"


# ---- decision trees


class Line(NamedTuple):
    """A side of a split: how deep, what it asks, how many records took it, and each class's share of these."""

    depth: int
    test: str
    records: float
    shares: Sequence[float]
    is_leaf: bool


def tree_page(facts: Mapping[str, Any], lines: Sequence[Line], title: str, plan: "PublishedPlan | None") -> str:
    """Return the page; ``facts`` are ``class``, ``classes``, ``records``, ``shares``, ``undecidable``, ``method``."""
    shown = lines[:_MOST_LINES]
    view = {
        "facts": facts,
        "classes": facts["classes"],
        "lines": [
            {
                "deeper": line.depth - (shown[place - 1].depth if place else -1),
                "test": line.test,
                "records": f"{line.records:,.0f}",
                "answer": _likeliest(facts["classes"], line.shares) if line.is_leaf else "",
                "parts": [f"{100 * part:.1f}" for part in line.shares],
            }
            for place, line in enumerate(shown)
        ],
        "last_depth": shown[-1].depth + 1 if shown else 0,
        "more_lines": len(lines) - len(shown),
        "whole": [f"{each}: {part:.1%}" for each, part in zip(facts["classes"], facts["shares"], strict=True)],
        "promise": [] if plan is None else promise_sentences(plan),
        "bound": bound_clause(plan),
        "plan_id": facts["plan_id"],
    }
    return _sheet("tree.html", title, _tree_answer(facts, lines), view)


def _likeliest(classes: Sequence[str], shares: Sequence[float]) -> str:
    best = max(range(len(classes)), key=lambda place: shares[place])
    return f"{classes[best]} ({shares[best]:.1%})"


def _tree_answer(facts: Mapping[str, Any], lines: Sequence[Line]) -> str:
    records = counted(round(facts["records"]), "report")
    if facts["undecidable"]:
        return f"From {records} nothing can be told of {facts['class']}: no tree was better than the commonest class."
    leaves = sum(line.is_leaf for line in lines) or 1
    return f"{records} tell {facts['class']} by a tree of {counted(leaves, 'answer')}."


# ---- suppression


def withheld_page(record: _Record, title: str) -> str:
    """Return the page of what ``suppress --report`` writes: of a table, or of baskets."""
    bounds = [_bound(each) for each in record["bounds"]]
    rows = list(_withheld(record))
    kept = list(_kept(record))
    view = {
        "bounds": bounds[:_MOST_ROWS],
        "more_bounds": max(len(bounds) - _MOST_ROWS, 0),
        "rows": rows[:_MOST_ROWS],
        "more_rows": max(len(rows) - _MOST_ROWS, 0),
        "kept": kept,
        "class_name": record.get("class") or "",
    }
    return _sheet("withheld.html", title, _withheld_answer(record, len(rows)), view)


def _withheld_answer(record: _Record, withheld: int) -> str:
    bounds = counted(len(record["bounds"]), "inference")
    below = "stays below its bound" if len(record["bounds"]) == 1 else "stay below their bounds"
    cells = record["cells"]
    if isinstance(cells, int):
        what, places, total = "item", cells, counted(record["baskets"], "basket")
    else:
        what, places, total = "value", sum(cells.values()), counted(record["records"], "record")
    return f"{counted(withheld, what)} withheld in {places:,} places of {total}: {bounds} {below}."


def _side(side: Any) -> str:
    """Write a side of an inference: columns, columns with values, or items."""
    if isinstance(side, Mapping):
        return ", ".join(f"{name} = {value}" for name, value in side.items())
    return ", ".join(map(str, side))


def _bound(bound: _Record) -> dict[str, str]:
    about = f"{bound['column']} = {bound['value']}" if "column" in bound else _side(bound["sensitive"])
    before, after = (_percent(bound.get(name)) for name in ("before", "after"))
    return {"name": f"{_side(bound['channel'])} → {about}", "most": _percent(bound["confidence"]),
            "before": before, "after": after}  # fmt: skip


def _percent(value: float | None) -> str:
    return "—" if value is None else f"{value:.1%}"


def _withheld(record: _Record) -> Iterator[dict[str, str]]:
    for each in record.get("suppressed", ()):
        yield _withheld_row(f"{each['column']} = {each['value']}", each)
    for each in record.get("dropped", ()):
        yield _withheld_row(str(each["item"]), each)


def _withheld_row(name: str, each: _Record) -> dict[str, str]:
    told = each.get("inference")
    if told is None:
        return {"name": name, "cells": f"{each['cells']:,}", "why": "", "would": ""}
    if "channel" in told:
        why = f"{_side(told['channel'])} → {told['column']} = {told['value']}"
    else:
        without = f" without {_side(told['without'])}" if told["without"] else ""
        why = f"{_side(told['with'])}{without} → {_side(told['sensitive'])}"
    would = f"{told['confidence']:.1%} of {told['support']:,}, at most {told['bound']:.1%}"
    return {"name": name, "cells": f"{each['cells']:,}", "why": why, "would": would}


def _kept(record: _Record) -> Iterator[dict[str, str]]:
    """Yield what is left of each column's information, or of each item's."""
    for name, bits in record.get("information", {}).items():
        yield _part(name, bits["before"], bits["after"])
    entropy, kept = record.get("entropy_bits"), record.get("kept_bits")
    if isinstance(entropy, Mapping) and isinstance(kept, int | float):
        yield _part("all items", sum(entropy.values()), kept)


def _part(name: str, before: float, after: float) -> dict[str, str]:
    left = after / before if before > 0 else 1.0
    return {"name": name, "before": f"{before:.4g}", "after": f"{after:.4g}", "left": f"{left:.0%}",
            "bar": f"{160 * min(max(left, 0.0), 1.0):.0f}"}  # fmt: skip
