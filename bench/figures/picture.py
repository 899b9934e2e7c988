"""The README's picture: what the demo's reports tell of some itemsets, beside the truth; drawn as pages are."""

from typing import Any

from assocpriv.files.itemsets import LightFrame
from assocpriv.planning.baskets import make_plan
from assocpriv.promise.breaches import Breach
from assocpriv.server.selection import EVERYTHING, rows_to_show
from assocpriv.show import charts
from assocpriv.simulation.simulate import simulate
from assocpriv.simulation.synthetic import QuestSettings, generate_quest

BASKETS, ITEMS, SHOWN, SEED = 1_000_000, 1_000, 14, 1


def rows() -> list[dict[str, Any]]:
    """Return the largest of the surest finds of a demo, with their intervals and truths."""
    baskets = generate_quest(QuestSettings(n_baskets=BASKETS, n_items=ITEMS, seed=SEED))
    plan = make_plan(baskets.catalogue, Breach("5%", "50%"), reports=BASKETS)
    found = simulate(baskets, plan, 0.02, seed=SEED).itemsets
    names = LightFrame.of(found[found["listed"]])
    shown = names.take(rows_to_show(names, EVERYTHING, SHOWN))
    columns = ("support", "ci_low", "ci_high", "true_support")
    kept = [
        {"itemset": ", ".join(sorted(items)), "size": len(items)}
        | {name: float(f"{value:.4g}") for name, value in zip(columns, values, strict=True)}  # as it is kept
        for items, *values in zip(shown["itemsets"], *(shown[name].tolist() for name in columns), strict=True)
    ]
    return sorted(kept, key=lambda row: (row["size"], -row["support"]))


def run() -> dict[str, Any]:
    """Simulate the demo once more; return what it found, and the picture of it."""
    found = rows()
    return {"tables": {"demo": found}, "pictures": {"demo": as_svg(found)}}


def as_svg(kept: list[dict[str, Any]]) -> str:
    """Draw rows."""
    numbers = ("support", "ci_low", "ci_high", "true_support")
    drawn = [{"name": row["itemset"]} | {name: float(row[name]) for name in numbers} for row in kept]
    title = f"What {BASKETS:,} randomized baskets tell: supports, their 95% intervals, and (circles) the truth"
    return f"{charts.intervals(drawn, title).svg}\n"
