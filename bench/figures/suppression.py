"""Figures 3a and 3b of WFY05 and the gap to the best suppression, as CSV and pictures.

The paper's figures are drawn as far as its text gives them: the base error, and the highest suppression error (1.1
points above it for credit approvals, 0.8 for Adult).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.accuracy import suppression, suppression_gap, suppression_peers
from bench.figures import run, svg
from bench.tables import table

PAPER = {
    "crx": (15.4, 1.1),
    "adult": (17.6, 0.8),
}  # base error, and by how much suppression errors are above it at most
TITLES = {"crx": "credit approvals (figure 3a)", "adult": "Adult (figure 3b)"}
AXES = {"crx": (10, 50, 5), "adult": (16, 26, 2)}
STYLES = {
    "base": svg.Style("#a3a3a3", 4.5, ""),
    "paper's highest": svg.Style("#d9b38c", 4.5, ""),
    "released": svg.Style("#00558c", 1.8, "square"),
    "bare": svg.Style("#007a5a", 1.2, "dot"),
    "removed": svg.Style("#c24e00", 1.8, "triangle"),
}
LINES = {"released": "suppression", "bare": "bare", "removed": "removal"}


def picture(name: str, means: Sequence[Mapping[str, Any]]) -> str:
    """Return figure 3a or 3b: errors by TopN, a panel for each classifier and choice of sensitive values."""
    low, high, step = AXES[name]
    across = svg.Axis("sensitive columns", 1, 4, {n: f"Top{n}" for n in range(1, 5)}, False)
    upward = svg.Axis("error, %", low, high, {v: str(v) for v in range(low, high + 1, step)}, False)
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for classifier in dict.fromkeys(row["classifier"] for row in means):
        for most in suppression.READINGS[name]:
            chosen = [
                row
                for row in means
                if (row["table"], row["classifier"], row["most_percent"]) == (name, classifier, most)
            ]
            base, above = PAPER[name]
            heading = classifier if most == 100 else f"{classifier}, values of at most {most}%"
            panels[heading] = {
                "base": [(row["top"], row["base"]) for row in chosen],
                "paper's highest": [(row["top"], base + above) for row in chosen],
            } | {line: [(row["top"], row[key]) for row in chosen] for line, key in LINES.items()}
    return svg.plot(f"Errors of trees on suppressed {TITLES[name]}", across, upward, panels, STYLES)


def compute(folder: Path, data: Path, *, quick: bool, anjana_python: str | None) -> dict[str, Any]:
    """Compute errors, gaps and peers, write them to a folder unless quick, and return the rows."""
    gaps = list(suppression_gap.rows(2 if quick else 20))
    found: dict[str, Any] = {"set": "suppression", "gap": suppression_gap.summary(gaps)}
    if (data / "crx.data").is_file():
        found["errors"] = list(suppression.rows(data, quick=quick))
        found["means"] = suppression.means(found["errors"])
        found["cells"] = [] if quick else list(suppression.cells(data))
        found["peers"] = list(suppression_peers.rows(data, anjana_python)) if anjana_python else []
    if not quick:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("errors", "means", "cells", "peers", "gap"):
            if found.get(name):
                (folder / f"{name}.csv").write_text(run.as_csv(found[name]), encoding="utf-8", newline="\n")
        for name in TITLES if "means" in found else ():
            (folder / f"{name}.svg").write_text(picture(name, found["means"]), encoding="utf-8", newline="\n")
    return found


def markdown(found: Mapping[str, Any]) -> str:
    """Return mean errors, the gaps and the peers."""
    parts = ["# Suppression by templates\n"]
    for title, name in (
        ("Errors of trees, %", "means"),
        ("Gap to the best suppression", "gap"),
        ("Cells shown", "cells"),
        ("Beside", "peers"),
    ):
        rows = found.get(name)
        if rows:
            parts.append(f"## {title}\n\n" + table({key: key for key in rows[-1]}, rows))
    return "\n".join(parts)
