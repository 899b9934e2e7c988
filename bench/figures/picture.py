"""The README's picture: estimated supports of the demo with their intervals and the truth, drawn as on pages."""

from typing import Any

from assocpriv.files.mined_tables import LightFrame
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.planning.collection_rounds import choose_rounds
from assocpriv.server.baskets.tables import NO_FILTER, rows_to_show
from assocpriv.show import charts
from assocpriv.simulation.basket_simulation import simulate
from assocpriv.simulation.synthetic import QuestSettings, generate_quest

BASKETS, ITEMS, SHOWN, SEED = 1_000_000, 1_000, 14, 1


def rows() -> list[dict[str, Any]]:
    """Return the most probable selected itemsets of a demo, with their intervals and true supports."""
    baskets = generate_quest(QuestSettings(n_baskets=BASKETS, n_items=ITEMS, seed=SEED))
    plan = choose_rounds(baskets.catalogue, Guarantee("5%", "50%"), rounds=2, reports=BASKETS).plan
    found = simulate(baskets, plan, 0.02, seed=SEED, rounds=2).itemsets
    names = LightFrame.from_frame(found[found["selected"]])
    shown = names.take(rows_to_show(names, NO_FILTER, SHOWN))
    columns = ("support", "ci_low", "ci_high", "true_support")
    kept = [
        {"itemset": ", ".join(sorted(items)), "size": len(items)}
        | {name: float(f"{value:.4g}") for name, value in zip(columns, values, strict=True)}  # as stored
        for items, *values in zip(shown["itemsets"], *(shown[name].tolist() for name in columns), strict=True)
    ]
    return sorted(kept, key=lambda row: (row["size"], -row["support"]))


def run() -> dict[str, Any]:
    """Simulate the demo again; return its rows and picture."""
    found = rows()
    return {"tables": {"demo": found}, "pictures": {"demo": as_svg(found)}}


def as_svg(kept: list[dict[str, Any]]) -> str:
    """Draw rows as SVG."""
    numbers = ("support", "ci_low", "ci_high", "true_support")
    drawn = [{"name": row["itemset"]} | {name: float(row[name]) for name in numbers} for row in kept]
    title = f"Supports from {BASKETS:,} randomized baskets: estimates with 95% intervals, and true values (circles)"
    return f"{charts.intervals(drawn, title).svg}\n"
