"""Compute the figures and keep them as CSV, SVG and Markdown."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.figures import curves, cut_and_paste, picture, reconstruction, seeds, svg
from bench.tables import table

Rows = Sequence[Mapping[str, Any]]
STYLES = {  # ours over the paper's: where both are equal, one sees both
    curves.PAPER: ("paper's design (threshold patterns)", svg.Style("#a3a3a3", 5.5, "circle")),
    curves.OURS: ("any run of sizes", svg.Style("#00558c", 1.8, "dot")),
    "fixed size (64 items)": ("fixed-size reports, 64 items", svg.Style("#007a5a", 1.8, "square")),
    "fixed size (32 items)": ("fixed-size reports, 32 items", svg.Style("#c24e00", 1.8, "triangle")),
}
SEED_COLUMNS = {
    "items": "items",
    "M": "M",
    "K": "K",
    "r": "r",
    "BCH, bits": "bch_bits",
    "BCH with a row of ones where it helps": "bch_ones_row_bits",
    "Reed–Solomon": "reed_solomon_bits",
    "no code": "no_code_bits",
}


def run(folder: Path) -> dict[str, Any]:
    """Compute all figures, write them to a folder and return their rows."""
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"set": "figures"}
    for name, figure in curves.FIGURES.items():
        found[name] = curves.rows(figure)
        _write(folder / f"{name}.csv", as_csv(found[name]))
        _write(folder / f"{name}.svg", as_svg(figure, found[name]))
    found["reconstruction"] = reconstruction.rows()
    _write(folder / "reconstruction.csv", as_csv(found["reconstruction"]))
    _write(folder / "reconstruction.svg", reconstruction.as_svg(found["reconstruction"]))
    found["cut-and-paste"] = cut_and_paste.rows()
    _write(folder / "cut-and-paste.csv", as_csv(found["cut-and-paste"]))
    found["seed-bits"] = seeds.rows()
    _write(folder / "seed-bits.csv", as_csv(found["seed-bits"]))
    _write(folder / "seed-bits.md", table(SEED_COLUMNS, found["seed-bits"]))
    return found


def draw_demo(folder: Path) -> None:
    """Simulate the demo once more, and write what it found and the README's picture of it to a folder."""
    found = picture.rows()
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "demo.csv", as_csv(found))
    _write(folder / "demo.svg", picture.as_svg(found))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def as_csv(rows: Rows) -> str:
    """Write rows with their keys above, supports and ratios with four digits."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in row.items()} for row in rows
    )
    return text.getvalue()


def as_svg(figure: curves.Figure, rows: Rows) -> str:
    """Plot a figure, a panel for every itemset size."""
    across = svg.Axis(figure.label, min(figure.settings), max(figure.settings), figure.ticks, figure.log_axis)
    keys = {name: f"lds_{name.replace(' ', '_')}_percent" for name in curves.SIZES.values()}
    values = [row[key] for row in rows for key in keys.values() if row[key] is not None]
    panels = {
        name: {
            label: [(row[figure.column], row[key]) for row in rows if row["design"] == design and row[key] is not None]
            for design, (label, _) in STYLES.items()
        }
        for name, key in keys.items()
    }
    upward = svg.value_axis("lowest discoverable support, %", values)
    return svg.plot(figure.title, across, upward, panels, dict(STYLES.values()))


def markdown(found: Mapping[str, Any]) -> str:
    """Return the worst LDS of every point and design, and the seeds' lengths, as tables."""
    parts = ["# Lowest discoverable supports and seeds\n"]
    for name, figure in curves.FIGURES.items():
        lines = [
            {"at": value}
            | {row["design"]: row["lds_worst_percent"] for row in found[name] if row[figure.column] == value}
            | {f"{row['design']} ÷": row["worst_over_threshold"] for row in found[name] if row[figure.column] == value}
            for value in figure.settings
        ]
        others = [design for design in curves.DESIGNS if design != curves.PAPER]
        columns = {figure.label: "at"} | {f"{design}, %": design for design in curves.DESIGNS}
        columns |= {f"{design} ÷ threshold": f"{design} ÷" for design in others}
        parts.append(f"## {figure.title}\n\nThe largest of single items, pairs and triples.\n\n{table(columns, lines)}")
    parts.append(f"## Bits of a report\n\n{table(SEED_COLUMNS, found['seed-bits'])}")
    return "\n".join(parts)
