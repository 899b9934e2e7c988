"""Figures as Markdown."""

from collections.abc import Iterable, Mapping
from typing import Any


def shown(value: object) -> str:
    """Write a figure with three digits, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def table(columns: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return a table of the columns {heading: key}; a missing figure leaves a cell empty."""
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    lines += ["| " + " | ".join(shown(row.get(key)) for key in columns.values()) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def flat(figures: Mapping[str, Any], prefix: str = "") -> list[dict[str, Any]]:
    """Return nested figures as rows of name and figure."""
    rows = []
    for key, value in figures.items():
        name = f"{prefix}{key}"
        rows += flat(value, f"{name}, ") if isinstance(value, dict) else [{"name": name, "value": value}]
    return rows


def heading(result: Mapping[str, Any], title: str) -> str:
    """Return the title and what the figures were measured on."""
    about = result["machine"]
    caches = ", ".join(f"{name} {size}" for name, size in about["caches"].items())
    packages = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    return (
        f"# {title}\n\n{about['cpu']}, {about['cores']} cores ({caches}), {about['memory_gib']} GiB, "
        f"{about['system']}, Python {about['python']}; {packages}.\n\n"
    )


def all_figures(result: Mapping[str, Any]) -> str:
    """Return every figure of a result as a row."""
    figures = {key: value for key, value in result.items() if key not in ("set", "machine", "versions")}
    return table({"figure": "name", "value": "value"}, flat(figures))
