"""Suppression as records: what data tell above their bounds, and what was withheld so that they do not.

Each is made of the JSON content that ``assocpriv.suppress`` gives, of a table with its values or of baskets with their
items, which is also what the file of a report holds.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assocpriv.show.record import Column, Facts, Page, Part, Record, Say, Section, Table, more

_ROWS = 50  # of a table
_CONFIDENCE, _MOST = Column("confidence", "{confidence:above}"), Column("at most", "{bound:given}")
_INFERENCE = Column("inference", "{inference:text}", "name")
_OWN = "This page names what is withheld. It stays with the owner of the table and is not published."
_PUBLIC = (
    "The released file may be published as far as these bounds go: they are all that was promised, and bind only "
    "inferences of this form from this file alone. This page, and the report that it was made of, may not."
)


def check(content: Mapping[str, Any]) -> Record:
    """Return the inferences above their bounds, highest confidence first."""
    things = _things(content)
    rows = sorted(map(_row, content["violations"]), key=lambda row: -row["confidence"])
    columns = [_CONFIDENCE, _MOST, Column(things, "{support:,}"), _INFERENCE]
    found = _table("above", columns, rows, _ROWS, "Inferences above the highest confidence allowed:")
    passed: list[Part] = ["no inference is above its bound"]
    return Record(content, [f"{{{things}:#{things[:-1]}}}", *_bins(content), *(found if rows else passed)])


def release(content: Mapping[str, Any], output: Path) -> Record:
    """Return what was withheld and why, and what the written file tells at most."""
    note = "cells written anew, as the file has quotes or writes a value in several ways: {respelled:some}"
    written = Section("", [Say("written to {output}", {"output": output})])
    return Record(content, [*_released(content, _ROWS), written], notes=[note] if content.get("respelled") else [])


def page(content: Mapping[str, Any], title: str = "What is withheld", rows: int = 500) -> Record:
    """Return the report of a suppression as a page shows it, to the owner."""
    answer, *rest = _released(content, rows)
    last = Section("May I publish this?", [_PUBLIC], "publish")
    return Record(content, [answer, Page([Say(_OWN, kind="wrong")]), *rest, Page([last])], title)


def _released(content: Mapping[str, Any], rows: int) -> list[Part]:
    things, cells = _things(content), content["cells"]
    what, withheld = ("value", content["suppressed"]) if "suppressed" in content else ("item", content["dropped"])
    given = {"withheld": len(withheld), "places": sum(cells.values()) if isinstance(cells, Mapping) else cells}
    of_all = f"{{{things}:#{things[:-1]}}}; all bounds hold in the file."
    answer = f"{{withheld:#{what}}} withheld in {{places:#place}} of {of_all}"
    bounds = [Column("before", "{before:.1%}"), Column("after", "{after:.1%}"), _MOST, _INFERENCE]
    reasons = [
        Column("places", "{cells:,}"), _CONFIDENCE, Column(things, "{support:,}"), _MOST,
        Column("would tell", "{inference:text}", "text"), Column("withheld", "{name:text}", "name"),
    ]  # fmt: skip
    implied = ["{redundant:#bound} implied by others"] * bool(content.get("redundant"))
    caption = "Highest confidence of each inference, before and after:"
    told = [*_table("bounds", bounds, list(map(_row, content["bounds"])), rows, caption), *implied]
    why = _table("withheld", reasons, list(map(_reason, withheld)), rows)
    return [
        Say(answer, given, "answer"), *_bins(content), Section("What may nobody infer?", told),
        Section("What is withheld, and what would it tell?", why), Section("What is left?", _left(content)),
    ]  # fmt: skip


def _things(content: Mapping[str, Any]) -> str:
    return "records" if "records" in content else "baskets"


def _bins(content: Mapping[str, Any]) -> list[Part]:
    """Return the intervals of columns of numbers."""
    said = Facts([("bins", ["{column:text}: {bins:some}"])])
    return [Record({"column": column, "bins": labels}, [said]) for column, labels in content.get("bins", {}).items()]


def _table(
    name: str, columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], most: int, caption: str = ""
) -> list[Part]:
    return [Table(columns, rows[:most], caption, name), *more(len(rows) - most)]


def _row(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return an inference, or a bound of one, with what is inferred from what in words."""
    without = [f"no {item}" for item in told.get("without", ())]
    about = f"{told['column']} = {told['value']}" if "column" in told else _side(told["sensitive"])
    words = f"{_side(told.get('channel', told.get('with')), *without)} → {about}"
    return {"bound": told["confidence"], **told, "inference": words}


def _side(side: Any, *more: str) -> str:
    """Write a side of an inference: columns, columns with values, or items."""
    names = [f"{name} = {_value(value)}" for name, value in side.items()] if isinstance(side, Mapping) else side
    return ", ".join(map(str, [*names, *more])) or "(any basket)"


def _value(value: str | None) -> str:
    return "(missing)" if value is None else value


def _reason(withheld: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is withheld, in how many places, and what showing it would tell."""
    name = f"{withheld['column']} = {_value(withheld['value'])}" if "column" in withheld else withheld["item"]
    told = withheld["inference"]
    nothing = {"confidence": None, "support": None, "bound": None, "inference": "nothing"}
    return (nothing if told is None else _row(told)) | {"cells": withheld["cells"], "name": name}


def _left(content: Mapping[str, Any]) -> list[Part]:
    """Return what is left of the information of each column, or of all items."""
    if "information" not in content:
        total = sum(content["entropy_bits"].values())
        return [Say("{kept_bits:.4f} of {total:.4f} bits of the items in channels", {"total": total})]
    rows = [
        {"name": name, "cells": content["cells"].get(name, 0), **bits} for name, bits in content["information"].items()
    ]
    columns = [
        Column("cells withheld", "{cells:,}"), Column("before", "{before:.4g}"), Column("after", "{after:.4g}"),
        Column("column", "{name:text}", "name"),
    ]  # fmt: skip
    about = Say("Bits of information about {class:text}:") if content["class"] else "Bits of information:"
    return [about, Table(columns, rows, bars=("", "after", "before"))]
