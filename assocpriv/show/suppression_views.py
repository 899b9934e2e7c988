"""Suppression as records: inferences above their bounds, and releases with hidden cells.

Each record is made from a result, or from the JSON content that ``assocpriv.suppress.record`` returns and ``suppress
--json`` prints.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assocpriv.show.result_record import Column, Facts, Page, Part, Record, Say, Section, Table, more
from assocpriv.suppress.release import record

if TYPE_CHECKING:
    from assocpriv.suppress.release import CheckResult, ReleaseReport

_ROWS = 50  # of a table
_CONFIDENCE, _BOUND = Column("confidence", "{confidence:above}"), Column("allowed", "{bound:given}")
_INFERENCE = Column("inference", "{inference:text}", "name")
_OWN = "This page counts hidden cells. It is for the owner of the table only and must not be published."
_PUBLIC = (
    "The released file may be published under these bounds. They hold against an adversary who knows this program, the "
    "templates and the channels of all people, if this adversary could not distinguish people before. Do not publish "
    "this page, the report or the key."
)
_MODES = {
    "local": "single cells, by tests with randomized refusals",
    "deterministic": "single cells, only those that need no random test",
    "global": "whole items, by tests with randomized refusals, because this layout cannot mark a hidden cell",
}


def check(found: "CheckResult | Mapping[str, Any]") -> Record:
    """Return the inferences above their bounds, highest confidence first."""
    content = found if isinstance(found, Mapping) else record(found)
    things = _things(content)
    rows = sorted(map(_row, content["violations"]), key=lambda row: -row["confidence"])
    columns = [_CONFIDENCE, _BOUND, Column(things, "{support:,}"), _INFERENCE]
    table = _table("above", columns, rows, _ROWS, "Inferences above the highest confidence allowed:")
    passed: list[Part] = ["no inference is above its bound"]
    released = (
        "this is a release, counted over all columns of all channels; the check cannot verify that random bits chose "
        "the cells, that rows were shuffled, or that there is no other release"
    )
    notes = _people(content) + [released] * content["is_release"]
    notes += ["no basket has {absent:some}: dropped for all baskets, or misspelled"] * bool(content["absent"])
    return Record(content, [f"{{{things}:#{things[:-1]}}}", *_bins(content), *(table if rows else passed)], notes=notes)


def release(content: Mapping[str, Any], output: Path) -> Record:
    """Return the hidden cells, the tests, and the highest confidences in the released file."""
    notes = [*_people(content), "records are in random order; the file is not byte-identical to the input"]
    notes += ["columns rewritten, since they write a value in several ways: {respelled:some}"] * bool(
        content["respelled"]
    )
    notes += ["this is release {release} of these data; several releases together may disclose more"] * (
        content["release"] > 1
    )
    written = Section("", [Say("written to {output}", {"output": output})])
    return Record(content, [*_released(content, _ROWS), written], notes=notes)


def page(released: "ReleaseReport | Mapping[str, Any]", title: str = "Hidden cells", rows: int = 500) -> Record:
    """Return the report of a suppression as a page for the owner."""
    content = released if isinstance(released, Mapping) else record(released)
    answer, *rest = _released(content, rows)
    last = Section("May I publish this?", [_PUBLIC], "publish")
    people = Page([Say(each, kind="wrong") for each in _people(content)])
    return Record(content, [answer, Page([Say(_OWN, kind="wrong")]), people, *rest, Page([last])], title)


def _released(content: Mapping[str, Any], rows: int) -> list[Part]:
    things, cells = _things(content), content["cells"]
    given = {"places": sum(cells.values()), "how": _MODES[content["mode"]]}
    of_all = f"{{{things}:#{things[:-1]}}}; all bounds hold in the file."
    answer = f"{{shown:.1%}} of the channel cells shown, {{places:#cell}} hidden, in {of_all}"
    bounds = [Column("before", "{before:above}"), Column("after", "{after:above}"), _BOUND, _INFERENCE]
    caption = "Highest confidence of each inference before and after suppression:"
    method: list[Part] = [
        Say("{how:text}", given),
        "{groups:#group} of indistinguishable records, at least {smallest_group:#record} each",
        "{tests:#test}, {refused:,} refused; ε spent per group: at most {epsilon_spent:.2f} of {max_epsilon:.2f}",
        "no guarantee against an adversary {not_covered:some}",
    ]
    hidden = [{"name": name, "cells": count} for name, count in cells.items()]
    columns = [
        Column("cells hidden", "{cells:,}"),
        Column("column" if things == "records" else "item", "{name:text}", "name"),
    ]
    table = _table("bounds", bounds, list(map(_row, content["bounds"])), rows, caption)
    return [
        Say(answer, given, "answer"), *_bins(content),
        Section("Bounded inferences", table),
        Section("Method", method),
        Section("Hidden cells", _table("hidden", columns, hidden, rows)),
    ]  # fmt: skip


def _people(content: Mapping[str, Any]) -> list[str]:
    """Return the note that each row counts as one person, and a warning of columns that suggest otherwise."""
    notes = [f"each {_things(content)[:-1]} counts as one person; the bounds do not hold for a person with several"]
    drop = " ".join(f"columns='{name}=drop'" for name in content["weights"])
    weights = (
        "warning: {weights:some} may give the number of people of a row, but bounds count rows: repeat each row that "
        f"many times; then, or if the column has another meaning, leave the column out by {drop}"
    )
    return notes + [weights] * bool(drop)


def _things(content: Mapping[str, Any]) -> str:
    return "records" if "records" in content else "baskets"


def _bins(content: Mapping[str, Any]) -> list[Part]:
    """Return the intervals of columns of numbers."""
    facts = Facts([("bins", ["{column:text}: {bins:some}"])])
    return [Record({"column": column, "bins": labels}, [facts]) for column, labels in content.get("bins", {}).items()]


def _table(
    name: str, columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], most: int, caption: str = ""
) -> list[Part]:
    return [Table(columns, rows[:most], caption, name), *more(len(rows) - most)]


def _row(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an inference, or its bound, with the inference as text."""
    channel = entry["channel"]
    side = (
        [f"{name} = {'(missing)' if value is None else value}" for name, value in channel.items()]
        if isinstance(channel, Mapping)
        else channel
    )
    inference = f"{', '.join(side)} → {entry['column']} = {entry['value']}"
    return {"bound": entry["confidence"], **entry, "inference": inference}
