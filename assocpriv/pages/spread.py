"""A page of reconstructed distributions: how the values of each column are spread, and how sure that is."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from assocpriv.pages import charts
from assocpriv.pages.facts import bound_clause, promise_sentences
from assocpriv.pages.sheet import drawn, sheet
from assocpriv.pages.wording import NORMAL, errors_of, names, number, share
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.errors import counted

MOST_COLUMNS, MOST_CLASSES, MOST_VALUES = 40, 5, 30  # shown
_METHODS = {"smooth": "the smoothest curve that the reports bear out", "least-squares": "unbiased least squares"}


def spread_page(record: Mapping[str, Any], title: str, plan: PublishedPlan | None) -> str:
    """Return the page of what ``numeric reconstruct --json`` prints of single columns."""
    columns = record["columns"]
    classes = {name: of_class["columns"] for name, of_class in record.get("classes", {}).items()}
    shown = list(columns)[:MOST_COLUMNS]
    reach = errors_of(record["confidence_level"])
    view = {
        "columns": [_column(name, columns[name], classes, reach) for name in shown],
        "more_columns": len(columns) - len(shown),
        "by": record.get("by", ""),
        "classes": list(classes)[:MOST_CLASSES],
        "more_classes": max(len(classes) - MOST_CLASSES, 0),
        "level": f"{100 * record['confidence_level']:g}%",
        "promise": [] if plan is None else promise_sentences(plan),
        "bound": bound_clause(plan),
        "plan_id": "" if plan is None else plan.plan_id,
    }
    return sheet("spread.html", title, _answer(record), view)


def _answer(record: Mapping[str, Any]) -> str:
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
    own = [(each, of_class[name]) for each, of_class in list(classes.items())[:MOST_CLASSES] if name in of_class]
    return {
        "name": name,
        "reports": f"{column['reports']:,}",
        "is_empty": band is not None and mean is None,
        "mean": "" if mean is None else number(mean["value"]),
        "interval": "" if mean is None else f"{number(mean['low'])} to {number(mean['high'])}",
        "quantiles": [_quantile(each) for each in column.get("quantiles", ())],
        "band": "" if band is None else f"± {share(band / 2)}",
        "basis": _METHODS.get((column.get("distribution") or {}).get("basis", ""), ""),
        "chart": drawn(column_chart, name, column, own, reach),
        "of_classes": [
            (each, number(of["mean"]["value"]), f"{number(of['mean']['low'])} to {number(of['mean']['high'])}")
            for each, of in own
            if of.get("mean") is not None
        ],
        "more_values": max(len(column.get("values", ())) - MOST_VALUES, 0),
    }


def _quantile(quantile: Mapping[str, Any]) -> str:
    between = f"{number(quantile['low'])} to {number(quantile['high'])}"
    return f"{100 * quantile['level']:g}% below {number(quantile['value'])} ({between})"


def column_chart(
    name: str,
    column: Mapping[str, Any],
    own: Sequence[tuple[str, Mapping[str, Any]]] = (),
    reach: float = NORMAL,
    most: int = MOST_VALUES,
) -> str:
    """Draw a column: its distribution function, with those of classes, or its commonest values with their shares."""
    (shown,) = names([name])
    if "edges" not in column:
        rows = sorted(
            (
                charts.Interval(str(value), part, max(part - reach * error, 0.0), min(part + reach * error, 1.0))
                for value, part, error in zip(column["values"], column["share"], column["std_error"], strict=True)
            ),
            key=lambda row: -row.support,
        )
        return charts.intervals(rows[:most], f"Shares of the values of {shown}")
    band = column.get("distribution") or {"low": (), "high": ()}
    lines = [(each["edges"], [0.0, *accumulate(each["share"])]) for each in (column, *(of for _, of in own))]
    return charts.curves(charts.Curves(shown, lines, band["low"], band["high"]))
