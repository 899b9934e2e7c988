"""A simulation's outcome as text and as JSON content."""

from typing import TYPE_CHECKING, Any

from assocpriv.apps.render.figures import listed, percent, rest_line
from assocpriv.apps.render.itemsets import itemset_lines, threshold_lines
from assocpriv.files.tables import itemset_records
from assocpriv.lab.simulate import Simulation
from assocpriv.server.itemsets.frames import mining_facts

if TYPE_CHECKING:
    import pandas as pd


def simulation_record(result: Simulation) -> dict[str, Any]:
    """Return a simulation for ``--json``."""
    missed = [
        {
            "itemset": sorted(row["itemsets"]),
            "true_support": row["true_support"],
            "raw_support": row["raw_support"],
        }
        for row in result.missed.to_dict("records")
    ]
    return mining_facts(result.itemsets).to_json() | {
        "itemsets": itemset_records(result.itemsets),
        "missed": missed,
        "found_count": result.found_count,
        "missed_count": result.missed_count,
        "false_count": result.false_count,
        "sampled_baskets": result.sampled_baskets,
        "seconds": result.seconds,
    }


def score_line(result: Simulation) -> str:
    """Say how many truly frequent itemsets were found, missed and falsely reported."""
    truly = result.found_count + result.missed_count
    return (
        f"of {truly:,} itemsets truly frequent within the sampled items: {result.found_count:,} found, "
        f"{result.missed_count:,} missed; {result.false_count:,} reported that are below the minimum support"
    )


def missed_lines(missed: "pd.DataFrame", top: int) -> list[str]:
    """Show truly frequent itemsets that were not found."""
    lines = [
        f"{percent(row['true_support'], width=8)} {percent(row['raw_support'], width=8)}  {listed(row['itemsets'])}"
        for row in missed.head(top).to_dict("records")
    ]
    return [f"{'true':>8} {'raw':>8}  missed", *lines, *rest_line(len(missed), top)] if len(missed) else []


def simulation_lines(result: Simulation, top: int) -> list[str]:
    """Show a simulation: what was found beside the truth, what was missed, the score and the times."""
    times = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in result.seconds.items())
    return [
        "true: support within the sampled items, what is estimated; raw: support in the whole baskets",
        *threshold_lines(mining_facts(result.itemsets)),
        *itemset_lines(result.itemsets, top),
        *missed_lines(result.missed, top),
        score_line(result),
        f"time: {times}",
    ]
