"""Suppression as records: what data tell above their bounds, and what was hidden so that they do not.

Each is made of the JSON content that ``assocpriv.suppress`` gives, which is also what the file of a report holds.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assocpriv.show.record import Column, Facts, Page, Part, Record, Say, Section, Table, more

_ROWS = 50  # of a table
_CONFIDENCE, _MOST = Column("confidence", "{confidence:above}"), Column("at most", "{bound:given}")
_INFERENCE = Column("inference", "{inference:text}", "name")
_OWN = "This page counts what is hidden. It stays with the owner of the table and is not published."
_PUBLIC = (
    "The released file may be published as far as these bounds go. Even who knows this program, the templates and "
    "everybody's channel cannot become more sure than they say, if people looked alike to them before. This page, the "
    "report and the key may not be published."
)
_MODES = {
    "local": "single cells, by tests with randomized refusals",
    "free": "single cells, only what needs no test",
    "global": "whole items, by tests with randomized refusals: this layout cannot say that a cell is hidden",
    "paper": "whole values, as Wang, Fung and Yu (2005)",
}


def check(content: Mapping[str, Any]) -> Record:
    """Return the inferences above their bounds, highest confidence first."""
    things = _things(content)
    rows = sorted(map(_row, content["violations"]), key=lambda row: -row["confidence"])
    columns = [_CONFIDENCE, _MOST, Column(things, "{support:,}"), _INFERENCE]
    found = _table("above", columns, rows, _ROWS, "Inferences above the highest confidence allowed:")
    passed: list[Part] = ["no inference is above its bound"]
    released = (
        "a release, counted over all columns of channels; a file cannot show that coins decided, that rows were "
        "shuffled, or that there is no other release"
    )
    notes = _people(content) + [released] * content["is_release"]
    notes += ["no basket has {absent:some}: dropped for everybody, or misspelled"] * bool(content["absent"])
    return Record(content, [f"{{{things}:#{things[:-1]}}}", *_bins(content), *(found if rows else passed)], notes=notes)


def release(content: Mapping[str, Any], output: Path) -> Record:
    """Return what was hidden and what that took, and what the written file tells at most."""
    notes = [*_people(content), "records are in a random order; the bytes of the file are not the input's"]
    notes += ["columns written anew, as they write a value in several ways: {respelled:some}"] * bool(
        content["respelled"]
    )
    notes += ["release {release} of these data: together they may tell more"] * (content["release"] > 1)
    notes += [f"warning: {content['warning']}"] * bool(content["warning"])
    written = Section("", [Say("written to {output}", {"output": output})])
    return Record(content, [*_released(content, _ROWS), written], notes=notes)


def page(content: Mapping[str, Any], title: str = "What is withheld", rows: int = 500) -> Record:
    """Return the report of a suppression as a page shows it, to the owner."""
    answer, *rest = _released(content, rows)
    last = Section("May I publish this?", [_PUBLIC], "publish")
    people = Page([Say(each, kind="wrong") for each in _people(content)])
    return Record(content, [answer, Page([Say(_OWN, kind="wrong")]), people, *rest, Page([last])], title)


def _released(content: Mapping[str, Any], rows: int) -> list[Part]:
    things, cells = _things(content), content["cells"]
    given = {"places": sum(cells.values()), "how": _MODES[content["mode"]]}
    of_all = f"{{{things}:#{things[:-1]}}}; all bounds hold in the file."
    answer = f"{{shown:.1%}} of the cells of channels shown, {{places:#cell}} hidden, of {of_all}"
    bounds = [Column("before", "{before:above}"), Column("after", "{after:above}"), _MOST, _INFERENCE]
    caption = "Highest confidence of each inference, before and after:"
    took: list[Part] = [Say("{how:text}", given)]
    if content["mode"] != "paper":
        took += [
            "{groups:#group} of records that cannot be told apart, the smallest of {smallest:#record}",
            "{tested:#test}, {refused:,} refused; ε of {spent:.2f} spent in a group at most, of {cap:.2f} allowed",
        ]
    took.append("not covered: a reader {not_covered:some}")
    hidden = [{"name": name, "cells": count} for name, count in cells.items()]
    columns = [
        Column("cells hidden", "{cells:,}"),
        Column("column" if things == "records" else "item", "{name:text}", "name"),
    ]
    told = _table("bounds", bounds, list(map(_row, content["bounds"])), rows, caption)
    return [
        Say(answer, given, "answer"), *_bins(content),
        Section("What may nobody infer?", told),
        Section("How was it decided?", took),
        Section("What is hidden?", _table("hidden", columns, hidden, rows)),
    ]  # fmt: skip


def _people(content: Mapping[str, Any]) -> list[str]:
    """Return what a row is taken for, and columns that say something else."""
    said = [f"each {_things(content)[:-1]} counts as one person; the bounds do not hold for a person with several"]
    drop = " ".join(f"columns='{name}=drop'" for name in content["weights"])
    weights = (
        "warning: {weights:some} may say how many people a row stands for, but bounds count rows: repeat each row as "
        f"often as it says; then, or if it says something else, leave the column out by {drop}"
    )
    return said + [weights] * bool(drop)


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
    channel = told["channel"]
    side = (
        [f"{name} = {'(missing)' if value is None else value}" for name, value in channel.items()]
        if isinstance(channel, Mapping)
        else channel
    )
    return {"bound": told["confidence"], **told, "inference": f"{', '.join(side)} → {told['column']} = {told['value']}"}
