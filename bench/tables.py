"""Write figures as Markdown and CSV, and average them."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

Row = dict[str, Any]


def shown(value: object) -> str:
    """Write a figure with three digits, and None as an empty string."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def table(columns: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return a Markdown table of the columns {heading: key}; a missing figure leaves its cell empty."""
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    lines += ["| " + " | ".join(shown(row.get(key)) for key in columns.values()) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def plain(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of all columns of the first row."""
    return table({name: name for name in rows[0]}, rows)


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write rows as CSV with their keys as header and numbers with four digits."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: f"{v:.4g}" if isinstance(v, float) else v for key, v in row.items()} for row in rows)
    return text.getvalue()


def flat(figures: Mapping[str, Any], prefix: str = "") -> list[Row]:
    """Return nested figures as rows of a name and a value."""
    rows = []
    for key, value in figures.items():
        name = f"{prefix}{key}"
        rows += flat(value, f"{name}, ") if isinstance(value, dict) else [{"name": name, "value": value}]
    return rows


def grouped(rows: Iterable[Row], names: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Group rows by the values of some columns, in order of first occurrence."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def spread(values: Iterable[float | None]) -> tuple[float, float] | None:
    """Return mean and standard error of the values that are not None; None if there are none."""
    known = [value for value in values if value is not None]
    error = stdev(known) / math.sqrt(len(known)) if len(known) > 1 else 0.0
    return (float(f"{fmean(known):.6g}"), float(f"{error:.3g}")) if known else None


def means(rows: Iterable[Row], keys: Sequence[str], values: Sequence[str]) -> list[Row]:
    """Return means of values over rows with equal keys, with their standard errors and the number of rows."""
    found = []
    for group, same in grouped(rows, keys).items():
        made: Row = dict(zip(keys, group, strict=True))
        for name in values:
            made[name], error = spread(row[name] for row in same) or (None, 0.0)
            made[f"{name}_std_error"] = error if len(same) > 1 else None
        found.append(made | {"seeds": len(same)})
    return found


def heading(result: Mapping[str, Any], title: str) -> str:
    """Return the title, the machine and the package versions."""
    about = result["machine"]
    caches = ", ".join(f"{name} {size}" for name, size in about["caches"].items())
    packages = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    return (
        f"# {title}\n\n{about['cpu']}, {about['cores']} cores ({caches}), {about['memory_gib']} GiB, "
        f"{about['system']}, Python {about['python']}; {packages}.\n\n"
    )


def all_figures(result: Mapping[str, Any]) -> str:
    """Return every figure of a result as a row, or the tables of a result with tables."""
    if "tables" in result:
        return "\n".join(f"## {name}\n\n{plain(rows)}" for name, rows in result["tables"].items())
    figures = {key: value for key, value in result.items() if key not in ("set", "machine", "versions")}
    return table({"figure": "name", "value": "value"}, flat(figures))
