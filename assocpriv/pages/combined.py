"""A page of several rounds side by side: what each asked, what each says of an itemset, and what all say together."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import NormalDist
from typing import Any

from assocpriv.pages import charts
from assocpriv.pages.facts import bound_clause
from assocpriv.pages.sheet import drawn, sheet
from assocpriv.pages.wording import NORMAL, estimate, names, share
from assocpriv.promise.errors import counted

MOST_ROWS, MOST_DRAWN = 500, 15
Row = Mapping[str, Any]


def combined_page(record: Mapping[str, Any], title: str) -> str:
    """Return the page of what ``combine`` writes as JSON."""
    tables, rows = record["tables"], record["itemsets"]
    different = apart(rows, tables)
    shown = [_row(row, len(tables)) | {"apart": each} for row, each in zip(rows[:MOST_ROWS], different, strict=False)]
    together = sum(row["support"] is not None for row in rows)
    averaged = sum(row["support"] is not None and _tellers(row, len(tables)) > 1 for row in rows)
    view = {
        "tables": [_table(number, table) for number, table in enumerate(tables, 1)],
        "notes": record["notes"],
        "corrected": bool(record["corrected"]),
        "rows": shown,
        "more_rows": max(len(rows) - MOST_ROWS, 0),
        "together": together,
        "apart": sum(different),
        "chart": drawn(charts.rounds, [_drawing(row, len(tables)) for row in rows[:MOST_DRAWN]], _TITLE),
        "drawn": min(len(rows), MOST_DRAWN),
        "promise": [],
        "bound": bound_clause(None),
        "plan_id": "",
    }
    return sheet("combined.html", title, _answer(tables, len(rows), averaged, sum(different)), view)


_TITLE = "What each round says of the most frequent itemsets, with intervals of 95%"


def _answer(tables: Sequence[Row], itemsets: int, averaged: int, apart: int) -> str:
    reports = sum(table["reports"] for table in tables)
    said = f"{counted(len(tables), 'table')} of {reports:,} reports name {counted(itemsets, 'itemset')}"
    said += f"; {averaged:,} are averages of several" if averaged < itemsets else ", all averages of several"
    return f"{said}; {apart:,} differ between tables by more than chance." if apart else f"{said}."


def apart(rows: Sequence[Row], tables: Sequence[Row]) -> list[bool]:
    """Tell of each itemset whether two tables of one plan differ by more than chance, in 5% of collections at one.

    Errors are for the populations that people were drawn from. All differences are told from 0 at once (Bonferroni).
    """
    pairs = [pair for pair in combinations(range(len(tables)), 2) if len({tables[at]["plan_id"] for at in pair}) == 1]
    said = [_each(row, len(tables)) for row in rows]
    known = [[pair for pair in pairs if all(None not in each[at] for at in pair)] for each in said]
    reach = NormalDist().inv_cdf(1 - 0.025 / max(sum(map(len, known)), 1))
    return [any(_differ(each, tables, pair, reach) for pair in some) for each, some in zip(said, known, strict=True)]


def _differ(said: Sequence[Any], tables: Sequence[Row], pair: Sequence[int], reach: float) -> bool:
    variance = 0.0
    for at in pair:
        support, error = said[at]
        people = 0.0 if tables[at]["population"] else max(support * (1 - support), 0.0) / tables[at]["reports"]
        variance += error**2 + people
    first, second = (said[at][0] for at in pair)
    return bool(abs(first - second) > reach * math.sqrt(variance))


def _table(number: int, table: Row) -> dict[str, str]:
    return {
        "name": f"Table {number}",
        "shade": f"line{(number - 1) % 5 + 1}",
        "reports": f"{table['reports']:,}",
        "entries": str(table["entries"]),
        "size": f"{table['transaction_size']:,}",
        "itemsets": f"{table['itemsets']:,}",
        "least": share(table["min_support"]),
        "plan_id": str(table["plan_id"])[:16],
    }


def _row(row: Row, tables: int) -> dict[str, Any]:
    support, error = row["support"], row["std_error"]
    return {
        "names": names(row["itemset"]),
        "support": "—" if support is None else estimate(support),
        "reach": "—" if support is None else estimate(_reach(error, row.get("model_error"))),
        "each": [_said(*each) for each in _each(row, tables)],
    }


def _each(row: Row, tables: int) -> list[tuple[float | None, float | None]]:
    """Return the support and standard error that each table has of an itemset."""
    return [(row[f"support_{number}"], row[f"std_error_{number}"]) for number in range(1, tables + 1)]


def _reach(error: float, model: float | None = None) -> float:
    """Return how far an interval of 95% reaches to each side; what a model may have left is added to it."""
    return NORMAL * error + (model or 0.0)


def _said(support: float | None, error: float | None) -> str:
    return "not listed" if support is None or error is None else f"{estimate(support)} ± {estimate(_reach(error))}"


def _tellers(row: Row, tables: int) -> int:
    """Return how many tables say something of an itemset."""
    return sum(None not in each for each in _each(row, tables))


def _drawing(row: Row, tables: int) -> charts.Rounds:
    lines = [
        None if support is None or error is None else (support - _reach(error), support, support + _reach(error))
        for support, error in _each(row, tables)
    ]
    return charts.Rounds(", ".join(names(row["itemset"])), lines)
