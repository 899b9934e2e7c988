"""Make tests/vectors/tables.json: table plans, records with random words and reports, and invalid inputs.

PYTHONPATH=.:tests python tests/vectors/make_tables.py
"""

import json
import random
from copy import deepcopy
from pathlib import Path
from typing import Any

from naive import ReplayEntropy

from assocpriv.client.numeric.table_client import encode, randomize_record, release
from assocpriv.plans.numeric.table_plan import TablePlan
from assocpriv.records.table_files import read_value

_WAVE = {"mechanism": "window", "near": 3, "high": 9, "low": 2}


def number(name: str, release: dict[str, Any], n: int = 6, *, optional: bool = False, **own: Any) -> dict[str, Any]:
    """Return a column of numbers."""
    bounds = {"low": "-1/3", "high": "10/1", "cells": n, "intervals": 1} | own
    return {"name": name, "kind": "number", "optional": optional, "release": release} | bounds


def counts(name: str, release: dict[str, Any], n: int, intervals: int, **own: Any) -> dict[str, Any]:
    """Return a column of whole numbers."""
    return number(name, release, n, intervals=intervals, **own) | {"kind": "whole-number"}


def named(
    name: str, values: list[str], release: dict[str, Any], *, kind: str = "category", optional: bool = False
) -> Any:
    """Return a column of named values."""
    return {"name": name, "kind": kind, "optional": optional, "values": values, "release": release}


def plan(columns: list[Any], per_report: int = 0, posterior: str | None = None, repeats: int = 1) -> dict[str, Any]:
    """Return a plan as JSON content, written independently of the package."""
    guarantee = None if posterior is None else {"prior": "1/100", "posterior": posterior}
    envelope = {"format": "assocpriv-plan", "version": 1, "kind": "table", "reports_per_person": repeats}
    return envelope | {"columns": columns, "columns_per_report": per_report, "guarantee": guarantee}


def good_plans() -> dict[str, Any]:
    """Return plans by name."""
    noise = [
        number("u", {"mechanism": "uniform-noise", "reach": 2}),
        number("g", {"mechanism": "gaussian-noise", "half": [5, 3, 3, 1]}),
        number("m", {"mechanism": "clear", "width": 2}, optional=True),
        named("c", ["a", "é", "7"], {"mechanism": "clear", "width": 1}),
    ]  # fmt: skip
    far = number("far", {"mechanism": "uniform-noise", "reach": 200}, optional=True)
    protected = [
        number("w", _WAVE, optional=True),
        named("r", ["x", "true"], {"mechanism": "window", "near": 1, "high": 3, "low": 1}),
        number("v", _WAVE | {"high": 1 << 20}, low="0/1", high="1/1", intervals=3),
        named("class", ["A", "B", "C"], {"mechanism": "window", "near": 1, "high": 7, "low": 5}, kind="label"),
    ]  # fmt: skip
    whole = [
        counts("stars", _WAVE, 5, 5, optional=True, low="1/1", high="5/1"),
        counts("age", {"mechanism": "uniform-noise", "reach": 2}, 102, 51, low="0/1", high="100/1"),
        counts("pay", {"mechanism": "clear", "width": 2}, 4, 4, low="-9007199254740992/1", high="9007199254740992/1"),
    ]
    power = named("p", ["0", "1", "2", "3", "4"], {"mechanism": "window", "near": 1, "high": 4, "low": 1})
    return {
        "noise": plan(noise),
        "two-bytes": plan([far, *noise]),
        "waves": plan([protected[0], protected[1], protected[3]], 2, "1/2", 1),
        "sampled": plan([*protected[:2], noise[0], protected[3], power], 2, "3/4"),
        "whole": plan(whole, 1, "1/2"),
        "sampled-one": plan([protected[0], power, protected[1]], 1, "1/2", 2),
    }


def bad_plans() -> list[dict[str, Any]]:
    """Return plans that every reader must refuse, with the rule that each breaks."""
    good = good_plans()

    def changed(name: str, rule: str, *path: Any, value: Any = None, drop: bool = False) -> dict[str, Any]:
        made = deepcopy(good[name])
        if not path:
            return {"breaks": rule, "plan": value}
        at = made
        for step in path[:-1]:
            at = at[step]
        if drop:
            del at[path[-1]]
        else:
            at[path[-1]] = value
        return {"breaks": rule, "plan": made}

    return [
        changed("waves", "the guarantee is broken", "guarantee", "posterior", value="1/20"),
        changed("waves", "the guarantee is broken by many reports", "reports_per_person", value=9),
        changed("waves", "more than 10,000 protected values of a person", value=plan([
            number(f"x{place}", {"mechanism": "window", "near": 1, "high": (1 << 30) + 1, "low": 1 << 30}, n=2)
            for place in range(11)], 11, "1/2", 1000)),
        changed("waves", "no guarantee for a γ", "guarantee", value=None),
        changed("noise", "a guarantee without a γ", "guarantee", value={"prior": "1/100", "posterior": "1/2"}),
        changed("waves", "more columns per report than protected ones", "columns_per_report", value=3),
        changed("waves", "no column per report", "columns_per_report", value=0),
        changed("noise", "columns per report without protected columns", "columns_per_report", value=1),
        changed("noise", "no columns", "columns", value=[]),
        changed("noise", "two columns of one name", "columns", 0, "name", value="g"),
        changed("noise", "blanks around a name", "columns", 0, "name", value=" u"),
        changed("noise", "a long name", "columns", 0, "name", value="u" * 201),
        changed("noise", "an unknown kind", "columns", 0, "kind", value="date"),
        changed("noise", "an unknown mechanism", "columns", 0, "release", "mechanism", value="laplace"),
        changed("noise", "a field too many", "columns", 0, "release", "half", value=[2, 1]),
        changed("noise", "a field too few", "columns", 0, "optional", drop=True),
        changed("noise", "optional is no boolean", "columns", 0, "optional", value=0),
        changed("noise", "the range is empty", "columns", 0, "low", value="10/1"),
        changed("noise", "a bound not in lowest terms", "columns", 0, "high", value="20/2"),
        changed("noise", "a bound in digits", "columns", 0, "high", value=10),
        changed("noise", "minus zero", "columns", 0, "low", value="-0/1"),
        changed("noise", "cells that are too narrow", "columns", 0, "high", value=f"-{'3' * 21}/1{'0' * 21}"),
        changed("noise", "intervals that do not divide the cells", "columns", 0, "intervals", value=4),
        changed("noise", "no cells", "columns", 0, "cells", value=0),
        changed("noise", "a boolean for a number", "columns", 0, "release", "reach", value=True),
        changed("noise", "no noise", "columns", 0, "release", "reach", value=0),
        changed("noise", "too many outputs", "columns", 0, "release", "reach", value=32765),
        changed("noise", "weights that increase", "columns", 1, "release", "half", value=[1, 2]),
        changed("noise", "a weight of 0", "columns", 1, "release", "half", value=[1, 0]),
        changed("noise", "one weight", "columns", 1, "release", "half", value=[1]),
        changed("noise", "weights beyond 2^32", "columns", 1, "release", "half", value=[1 << 32, 1]),
        changed("noise", "a width that does not divide", "columns", 2, "release", "width", value=4),
        changed("noise", "values that are equal", "columns", 3, "values", value=["a", "a", "b"]),
        changed("noise", "a value that is a number", "columns", 3, "values", value=["a", "b", 7]),
        changed("noise", "a category with noise", "columns", 3, "release",
                value={"mechanism": "uniform-noise", "reach": 1}),
        changed("noise", "a category in classes", "columns", 3, "release", "width", value=3),
        changed("whole", "a bound that is no whole number", "columns", 0, "low", value="1/2"),
        changed("whole", "a whole number that is no double", "columns", 2, "high", value="9007199254740993/1"),
        changed("whole", "half of the cells are without a value", "columns", 0, "cells", value=10),
        changed("whole", "a range of one value", "columns", 0, "low", value="5/1"),
        changed("waves", "an even window", "columns", 0, "release", "near", value=2),
        changed("waves", "high is not above low", "columns", 0, "release", "high", value=2),
        changed("waves", "low is 0", "columns", 0, "release", "low", value=0),
        changed("waves", "a category with a wide window", "columns", 1, "release", "near", value=3),
        changed("waves", "a window's weights beyond 2^32", "columns", 2, "release",
                value={"mechanism": "window", "near": 1, "high": (1 << 32) - 3, "low": (1 << 32) - 4}),
    ]  # fmt: skip


def value_of(place: int, column: Any, rng: random.Random) -> Any:
    """Return a JSON value for an input."""
    if place == column.inputs:
        return None
    if column.kind == "whole-number":
        step, place = int(column.cell_width), min(place, column.used - 1)
        return min(int(column.low) + step * place + rng.randrange(step), int(column.high))
    if column.kind != "number":
        text = column.values[place]
        return True if text == "true" else int(text) if text.isdigit() and rng.random() < 0.5 else text
    low, high = (float(edge) for edge in column.edges[[place, place + 1]])
    return rng.choice([low, high if place + 1 == column.inputs else (low + high) / 2])


def run_case(name: str, made: TablePlan, number_: int) -> dict[str, Any]:
    """Randomize one record with given words."""
    rng = random.Random(f"{name} {number_}")
    values = [value_of(rng.randrange(c.inputs + c.optional), c, rng) for c in made.columns]
    record = {column.name: value for column, value in zip(made.columns, values, strict=True)}
    words = [rng.choice([rng.getrandbits(64), rng.getrandbits(64), 0]) for _ in range(24)]
    inputs = [read_value(record[column.name], column) for column in made.columns]
    entropy = ReplayEntropy(words)
    codes = release(inputs, made, entropy)
    report = randomize_record(record, made, entropy=ReplayEntropy(words))
    assert encode(codes, made) == report
    used = [f"{word:016x}" for word in words[: entropy.used]]
    return {"plan": name, "record": record, "words": used, "codes": codes, "report": report.hex()}


def make_all() -> dict[str, Any]:
    """Return the content of tables.json."""
    plans, reports, refused, records = [], [], [], []
    for name, content in good_plans().items():
        made = TablePlan.parse(json.dumps(content))
        plans.append({"name": name, "id": made.plan_id, "plan": content})
        found = [run_case(name, made, each) for each in range(6)]
        reports += found
        whole = found[-1]["report"]
        bad = {"a byte short": whole[:-2], "a byte long": whole + "00", "no column's codes": "ff" * (len(whole) // 2)}
        refused += [{"plan": name, "breaks": rule, "report": report} for rule, report in bad.items()]
        record, first = found[0]["record"], made.columns[0].name
        wrong = (("beyond the range", 11), ("text", "1"), ("a boolean", False), ("a list", [1]))
        halves = (("no whole number", 2.5),) if made.columns[0].kind == "whole-number" else ()
        for rule, value in wrong + halves:
            records.append({"plan": name, "breaks": rule, "record": record | {first: value}})
        records.append({"plan": name, "breaks": "a further column", "record": record | {"other": 1}})
        records.append({"plan": name, "breaks": "a missing column", "record": {}})
    return {
        "plans": plans, "bad_plans": bad_plans(), "reports": reports, "bad_reports": refused, "bad_records": records,
    }  # fmt: skip


def as_text(content: dict[str, Any]) -> str:
    """Write vectors as JSON, one case per line."""
    parts = (f' "{key}": [\n  ' + ",\n  ".join(map(json.dumps, cases)) + "\n ]" for key, cases in content.items())
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    Path(__file__).with_name("tables.json").write_text(as_text(make_all()), encoding="ascii")
