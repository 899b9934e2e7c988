"""A page of a mined table, whole in one file: what was found and how sure it is, the promise, what could not be seen.

It is made of plain figures, and holds no report and no basket.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assocpriv.pages.facts import bound_clause, promise_sentences
from assocpriv.pages.found import LEGEND, itemset_rows, rule_row, rules_chart, rules_graph, rules_matrix, supports_chart
from assocpriv.pages.sheet import sheet
from assocpriv.pages.wording import errors_of, share, size_name
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.errors import counted

MOST_ITEMSETS, MOST_RULES = 1000, 250  # to show, the surest of them
_MOST_BYTES = 300_000  # of a page; where names are long it shows fewer rows


@dataclass(frozen=True)
class Found:
    """What a page is made of.

    ``facts`` are those that a mined table carries; ``itemsets`` and ``rules`` are the rows shown as plain objects,
    surest first, each itemset with ``sure``; ``finds``, ``sure`` and ``all_rules`` how many there are in all. ``more``
    is from which support on a size could be told by so many times as many people, by size a list like ``times``;
    ``stronger`` are other promises, and from which support on each tells single items. ``marks`` are size, support and
    whether it is sure of all finds; ``nothing`` says what to do where there are none.
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
    marks: Sequence[tuple[int, float, bool]] = ()
    nothing: Sequence[str] = ()


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
    certain = found.facts.get("certain")
    reach = errors_of(found.facts["confidence_level"])
    view = {
        "promise": [] if found.plan is None else promise_sentences(found.plan),
        "bound": bound_clause(found.plan),
        "facts": found.facts,
        "plan_id": found.facts["plan_id"],
        "meaning": str(found.facts["meaning"]),
        "asked": _asked(found.facts),
        "doubt": "may be chance" if certain is None else "not certain",
        "level": f"{100 * found.facts['confidence_level']:g}%",
        "itemsets": itemset_rows(found.itemsets),
        "more_itemsets": found.finds - len(found.itemsets),
        "has_truth": any("true_support" in row for row in found.itemsets[:1]),
        "rules": [rule_row(row, reach) for row in found.rules],
        "more_rules": found.all_rules - len(found.rules),
        "min_confidence": found.min_confidence,
        "sizes": _size_rows(found),
        "times": found.times,
        "stronger": [(name, share(least)) for name, least in found.stronger],
        "doubtful": found.finds - found.sure,
        "strips": supports_chart(found.facts["levels"], found.marks),
        "scatter": rules_chart(found.rules),
        "graph": rules_graph(found.rules),
        "matrix": rules_matrix(found.rules),
        "legend": LEGEND,
    }
    return sheet("mined.html", found.title, _answer(found), view)


def _asked(facts: Mapping[str, Any]) -> str:
    """Say which itemsets were asked for."""
    if facts.get("top"):
        return f"the {facts['top']['wanted']:,} largest estimates"
    auto = ", the lowest at which finds can be believed" if facts.get("auto") else ""
    return f"itemsets with a support of {share(facts['min_support'])} or more{auto}"


def _answer(found: Found) -> str:
    reports = counted(found.facts["reports"], "report")
    if not found.finds:
        why = found.nothing[0] if found.nothing else "nothing was found that can be told from chance"
        return f"From {reports} {why}."
    doubtful, certain = found.finds - found.sure, found.facts.get("certain")
    more = counted(doubtful, "more").replace("mores", "more")
    if certain:
        least, level = share(found.facts["min_support"]), f"{100 * certain['level']:g}%"
        rest = f"; {more} are not certain to" if doubtful else ""
        return f"{reports} show {counted(found.sure, 'itemset')} with a support of {least} or more, at {level}{rest}."
    rest = f"; {more} may be chance" if doubtful else ""
    return f"{reports} show {counted(found.sure, 'itemset')} for sure{rest}."


def _size_rows(found: Found) -> list[dict[str, Any]]:
    return [
        {
            "name": size_name(level["size"]),
            "candidates": f"{level['candidates']:,}",
            "frequent": f"{level['frequent']:,}",
            "one": share(level["lowest_discoverable_support"]),
            "all": share(level["level_discoverable_support"]) if _has_limit(level) else "—",
            "more": [share(each) for each in found.more.get(level["size"], ())] or ["—"] * len(found.times),
            "status": _STATUS.get(level["status"], level["status"]),
        }
        for level in found.facts["levels"]
    ]


def _has_limit(level: Mapping[str, Any]) -> bool:
    """Whether a size's limit is of all of something: of none that were counted there is no such thing."""
    return bool(level["candidates"]) or level["status"] == "undecidable"


_STATUS = {
    "decided": "what was found can be believed",
    "uncertain": "some of what was found may be chance",
    "undecidable": "too small a support was asked for to be told from these reports",
}
