"""A page of a mined table, whole in one file: what was found and how sure it is, the promise, what could not be seen.

It is made of plain figures, and holds no report and no basket.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assocpriv.core.errors import counted
from assocpriv.pages.facts import promise_sentences
from assocpriv.pages.found import LEGEND, itemset_rows, rule_row, rules_chart, rules_graph, rules_matrix, supports_chart
from assocpriv.pages.sheet import sheet
from assocpriv.pages.wording import share, size_name
from assocpriv.plans.published import PublishedPlan

MOST_ITEMSETS, MOST_RULES = 1000, 250  # to show, the surest of them


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
        "itemsets": itemset_rows(found.itemsets),
        "more_itemsets": found.finds - len(found.itemsets),
        "has_truth": any("true_support" in row for row in found.itemsets[:1]),
        "rules": [rule_row(row) for row in found.rules],
        "more_rules": found.all_rules - len(found.rules),
        "min_confidence": found.min_confidence,
        "sizes": _size_rows(found),
        "times": found.times,
        "stronger": [(name, share(least)) for name, least in found.stronger],
        "doubtful": found.finds - found.sure,
        "strips": supports_chart(found.facts["levels"], found.itemsets),
        "scatter": rules_chart(found.rules),
        "graph": rules_graph(found.rules),
        "matrix": rules_matrix(found.rules),
        "legend": LEGEND,
    }
    return sheet("mined.html", found.title, _answer(found), view)


def _answer(found: Found) -> str:
    reports = counted(found.facts["reports"], "report")
    if not found.finds:
        return f"From {reports} nothing was found that can be told from chance."
    doubtful = found.finds - found.sure
    rest = f"; {counted(doubtful, 'more')} may be chance".replace("mores", "more") if doubtful else ""
    return f"{reports} show {counted(found.sure, 'itemset')} for sure{rest}."


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
