"""A page of a decision tree that was grown on reports: its questions and answers, as nested lists."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assocpriv.pages.facts import bound_clause, promise_sentences
from assocpriv.pages.sheet import sheet
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.errors import counted

MOST_LINES = 400


class Line(NamedTuple):
    """A side of a split: how deep, what it asks, how many records took it, and each class's share of these."""

    depth: int
    test: str
    records: float
    shares: Sequence[float]
    is_leaf: bool


def tree_page(facts: Mapping[str, Any], lines: Sequence[Line], title: str, plan: PublishedPlan | None) -> str:
    """Return the page; ``facts`` are ``class``, ``classes``, ``records``, ``shares``, ``undecidable``, ``method``."""
    shown = lines[:MOST_LINES]
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
    return sheet("tree.html", title, _answer(facts, lines), view)


def _likeliest(classes: Sequence[str], shares: Sequence[float]) -> str:
    best = max(range(len(classes)), key=lambda place: shares[place])
    return f"{classes[best]} ({shares[best]:.1%})"


def _answer(facts: Mapping[str, Any], lines: Sequence[Line]) -> str:
    records = counted(round(facts["records"]), "report")
    if facts["undecidable"]:
        return f"From {records} nothing can be told of {facts['class']}: no tree was better than the commonest class."
    leaves = sum(line.is_leaf for line in lines) or 1
    return f"{records} tell {facts['class']} by a tree of {counted(leaves, 'answer')}."
