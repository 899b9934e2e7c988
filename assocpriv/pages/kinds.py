"""What the operator's page asks and shows of a collection, by the plan's kind: a new kind is a line in ``KINDS``.

Of a kind without a line the page shows what it does of all: how many reports, the promise, what is sealed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from assocpriv.pages.analysis import Answer, Question
from assocpriv.pages.found import LEGEND, itemset_rows, rule_row, rules_chart, rules_graph, rules_matrix, supports_chart
from assocpriv.pages.wording import names, number, share, size_name, span
from assocpriv.plans.published import PublishedPlan

AUTO = "auto"
_EXAMPLE = "10%"  # the support that it is told for how many reports it takes, where none is wanted
NEXT_PLAN = "next-plan.json"
_ROWS, _ROWS_EACH, _BINS = 50, 20, 5  # rows of rules and columns, of itemsets of each size
Steps = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Wishes:
    """What the operator asked for: the least support and confidence, as they were typed."""

    support: str = AUTO
    confidence: str = "50%"


class Kind(NamedTuple):
    """How reports of a kind are analysed: commands, what their answer shows, the template that shows it."""

    steps: Callable[[PublishedPlan, Path, Wishes], Steps]
    view: Callable[[Answer, float | None], dict[str, Any]]
    template: str


def question_of(plan: PublishedPlan, folder: Path, wishes: Wishes) -> Question | None:
    """Return what to ask of a collection; None of a kind of which nothing is."""
    kind = KINDS.get(plan.kind)
    steps = kind.steps(plan, folder, wishes) if kind is not None else ()
    return Question("now", steps) if steps else None


def next_round(folder: Path, wishes: Wishes, *, itemsets: bool, people: str) -> Question:
    """Return the question what another round should ask other people."""
    itemsets_file, options = "{made}/itemsets.parquet", ["--itemsets"] * itemsets
    options += ["--reports", people] if people else []
    mine = ("mine", str(folder), "--min-support", wishes.support, "-o", itemsets_file)
    refine = ("refine", itemsets_file, "--plan", str(folder / "plan.json"), *options, "-o", f"{{made}}/{NEXT_PLAN}")
    return Question("round", (("mined", mine), ("plan", refine)))


def first_error(answer: Answer) -> str:
    """Return what went wrong first, or nothing; what fails after it fails of it."""
    return next(iter(answer.errors.values()), "")


# ---- baskets


def _basket_steps(_plan: PublishedPlan, folder: Path, wishes: Wishes) -> Steps:
    wanted = _EXAMPLE if wishes.support == AUTO else wishes.support
    mined = "{made}/itemsets.parquet"
    return (
        ("plan", ("inspect", str(folder / "plan.json"), "--reports", "{reports}", "--discover", wanted)),
        ("mined", ("mine", str(folder), "--min-support", wishes.support, "-o", mined)),
        ("rules", ("rules", mined, "--min-confidence", wishes.confidence)),
        ("crafted", ("inspect", str(folder), "--check-crafted")),
    )


def _basket_view(answer: Answer, per_second: float | None) -> dict[str, Any]:
    mined = answer.records.get("mined", {})
    levels = mined.get("levels", [])
    frequent = [row | {"sure": _is_sure(row, level)} for level in levels for row in mined["itemsets"]
                if row["frequent"] and row["length"] == level["size"]]  # fmt: skip
    first = [row for _, rows in groupby(frequent, itemgetter("length")) for row in list(rows)[:_ROWS_EACH]]
    rules = answer.records.get("rules", {}).get("rules", [])[:_ROWS]
    return {
        "reports": mined.get("reports", answer.reports),
        "sharp": _sharpness(answer, per_second),
        "example": _EXAMPLE,
        "decided": any(level["status"] != "undecidable" for level in levels),
        "largest_estimate": share(mined.get("largest_estimate")) if "largest_estimate" in mined else "",
        "least": share(mined.get("min_support")),
        "level": f"{100 * mined['confidence_level']:g}%" if mined else "",
        "itemsets": itemset_rows(first),
        "more_itemsets": sum(level["frequent"] for level in levels) - len(first),
        "strips": supports_chart(levels, [(row["length"], row["support"], row["sure"]) for row in frequent]),
        "doubtful": not all(row["sure"] for row in frequent),
        "rules": [rule_row(row) for row in rules],
        "more_rules": max(answer.records.get("rules", {}).get("rules_count", 0) - _ROWS, 0),
        "scatter": rules_chart(rules),
        "graph": rules_graph(rules),
        "matrix": rules_matrix(rules),
        "legend": LEGEND,
        "crafted": answer.records.get("crafted", {}).get("crafted"),
        "crafted_error": answer.errors.get("crafted", ""),
        "meaning": mined.get("meaning", ""),
        "error": answer.errors.get("mined") or answer.errors.get("plan", ""),
    }


def _sharpness(answer: Answer, per_second: float | None) -> list[dict[str, Any]]:
    """Return a row for each itemset size: what can be told now, and when what is wanted can."""
    record = answer.records.get("crafted") or answer.records.get("plan") or {}
    needed = answer.records.get("plan", {}).get("reports_needed", {})
    return [
        {
            "size": size_name(int(k)),
            "one": share(one),
            "all": share(record["level_discoverable_support"][k]),
            "reached": k in needed and needed[k] is not None and needed[k] <= answer.reports,
            "needed": needed.get(k),
            "when": _when(needed[k], answer.reports, per_second) if k in needed else "",
        }
        for k, one in record.get("lowest_discoverable_support", {}).items()
    ]


def _when(needed: int | None, reports: int, per_second: float | None) -> str:
    """Say when so many reports will be there."""
    if needed is None:
        return "never under this plan"
    if needed <= reports:
        return "now"
    if per_second is None:
        return "not known yet"
    if per_second <= 0:
        return "no reports come"
    return f"in {span((needed - reports) / per_second)}"


def _is_sure(row: Mapping[str, Any], level: Mapping[str, Any]) -> bool:
    """Whether an itemset is sure (docs/cli/server.md, mine)."""
    least = level["level_discoverable_support"]
    return least is not None and row["support"] >= max(least, level["errors"] * row["std_error"])


# ---- tables of numbers and categories


def _table_steps(_plan: PublishedPlan, folder: Path, _wishes: Wishes) -> Steps:
    return (("columns", ("numeric", "reconstruct", str(folder))),)


def _table_view(answer: Answer, _per_second: float | None) -> dict[str, Any]:
    columns = answer.records.get("columns", {}).get("columns", {})
    shown = [_column(name, column) for name, column in list(columns.items())[:_ROWS]]
    return {"columns": shown, "more_columns": len(columns) - len(shown), "error": first_error(answer)}


def _column(name: str, column: Mapping[str, Any]) -> dict[str, Any]:
    [shown] = names([name])
    if "mean" in column and column["mean"] is not None:
        mean = column["mean"]
        interval = f"{number(mean['low'])} to {number(mean['high'])}"
        middle = [f"{100 * each['level']:g}% < {number(each['value'])}" for each in column.get("quantiles") or []]
        return {"name": shown, "mean": number(mean["value"]), "interval": interval, "spread": middle}
    pairs = sorted(zip(column["share"], column.get("values", []), strict=False), reverse=True)[:_BINS]
    said = [f"{names([str(value)])[0]}: {share(part)}" for part, value in pairs]
    return {"name": shown, "mean": "", "interval": "", "spread": said}


def _no_steps(_plan: PublishedPlan, _folder: Path, _wishes: Wishes) -> Steps:
    return ()


def _no_view(_answer: Answer, _per_second: float | None) -> dict[str, Any]:
    return {}


_BASKETS = Kind(_basket_steps, _basket_view, "baskets.html")
KINDS = {
    "select-a-size": _BASKETS,
    "fixed-size": _BASKETS,
    "table": Kind(_table_steps, _table_view, "table.html"),
    "guided": Kind(_no_steps, _no_view, "guided.html"),  # its sums are in the miner's state
}
