"""A page of a suppression: what was withheld, why, and the information that is left. It stays with the owner."""

from collections.abc import Iterator, Mapping
from typing import Any

from assocpriv.pages.sheet import sheet
from assocpriv.promise.errors import counted

MOST_ROWS = 500
Record = Mapping[str, Any]


def withheld_page(record: Record, title: str) -> str:
    """Return the page of what ``suppress --report`` writes: of a table, or of baskets."""
    bounds = [_bound(each) for each in record["bounds"]]
    rows = list(_withheld(record))
    kept = list(_kept(record))
    view = {
        "bounds": bounds[:MOST_ROWS],
        "more_bounds": max(len(bounds) - MOST_ROWS, 0),
        "rows": rows[:MOST_ROWS],
        "more_rows": max(len(rows) - MOST_ROWS, 0),
        "kept": kept,
        "class_name": record.get("class") or "",
    }
    return sheet("withheld.html", title, _answer(record, len(rows)), view)


def _answer(record: Record, withheld: int) -> str:
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


def _bound(bound: Record) -> dict[str, str]:
    about = f"{bound['column']} = {bound['value']}" if "column" in bound else _side(bound["sensitive"])
    before, after = (_percent(bound.get(name)) for name in ("before", "after"))
    return {"name": f"{_side(bound['channel'])} → {about}", "most": _percent(bound["confidence"]),
            "before": before, "after": after}  # fmt: skip


def _percent(value: float | None) -> str:
    return "—" if value is None else f"{value:.1%}"


def _withheld(record: Record) -> Iterator[dict[str, str]]:
    for each in record.get("suppressed", ()):
        yield _row(f"{each['column']} = {each['value']}", each)
    for each in record.get("dropped", ()):
        yield _row(str(each["item"]), each)


def _row(name: str, each: Record) -> dict[str, str]:
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


def _kept(record: Record) -> Iterator[dict[str, str]]:
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
