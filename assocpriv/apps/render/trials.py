"""Both sides on data at hand, as text and as JSON content: a simulation, and a demo before and after it ran."""

from typing import TYPE_CHECKING, Any

from assocpriv.apps.render.figures import fields, listed, percent, rest_line
from assocpriv.apps.render.itemsets import itemset_lines, rule_lines, threshold_lines
from assocpriv.apps.render.plan import plan_lines, plan_record
from assocpriv.apps.render.sizes import loss_lines
from assocpriv.files.itemsets import itemset_records
from assocpriv.server.itemsets import describe_undecided, mining_facts
from assocpriv.server.rules import rule_records
from assocpriv.simulation.demo import Demo, DemoStart
from assocpriv.simulation.simulate import Simulation

if TYPE_CHECKING:
    import pandas as pd


def simulation_record(result: Simulation) -> dict[str, Any]:
    """Return a simulation for ``--json``."""
    missed = [
        {"itemset": sorted(row["itemsets"]), "true_support": row["true_support"], "raw_support": row["raw_support"]}
        for row in result.missed.to_dict("records")
    ]
    return mining_facts(result.itemsets).to_json() | {
        "itemsets": itemset_records(result.itemsets),
        "missed": missed,
        **fields(result, "found_count missed_count false_count sampled_baskets seconds"),
    }


def _score_line(result: Simulation) -> str:
    """Say how many truly frequent itemsets were found, missed and falsely reported."""
    truly = result.found_count + result.missed_count
    where = "in the whole baskets" if result.of_whole_baskets else "within the sampled items"
    return (
        f"of {truly:,} itemsets truly frequent {where}: {result.found_count:,} found, "
        f"{result.missed_count:,} missed; {result.false_count:,} reported that are below the minimum support"
    )


def _missed_lines(result: Simulation, top: int) -> list[str]:
    """Show truly frequent itemsets that were not found."""
    missed = result.missed
    names = ["true"] if result.of_whole_baskets else ["true", "raw"]
    lines = [
        f"{' '.join(percent(row[f'{name}_support'], width=8) for name in names)}  {listed(row['itemsets'])}"
        for row in missed.head(top).to_dict("records")
    ]
    head = " ".join(f"{name:>8}" for name in names)
    return [f"{head}  missed", *lines, *rest_line(len(missed), top)] if len(missed) else []


def _shown(result: Simulation) -> "pd.DataFrame":
    """Return the itemsets without the column of raw supports where these are what is estimated."""
    return result.itemsets.drop(columns="raw_support") if result.of_whole_baskets else result.itemsets


def _truth_line(result: Simulation) -> str:
    if result.of_whole_baskets:
        return "true: support in the whole baskets, what is estimated; ± error: one standard error"
    return (
        "true: support within the sampled items, what is estimated; raw: support in the whole baskets; ± error: one "
        "standard error"
    )


def simulation_lines(result: Simulation, top: int) -> list[str]:
    """Show a simulation: what was found beside the truth, what was missed, the score and the times."""
    times = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in result.seconds.items())
    return [
        _truth_line(result),
        *threshold_lines(mining_facts(result.itemsets)),
        *itemset_lines(_shown(result), top),
        *_missed_lines(result, top),
        _score_line(result),
        f"time: {times}",
    ]


def start_lines(start: DemoStart) -> list[str]:
    """Show the baskets and the plan."""
    raw, threshold = start.baskets, start.threshold
    return [
        f"{len(raw):,} baskets over {len(raw.catalogue):,} items, {raw.sizes.mean():.2f} items on average",
        "",
        *plan_lines(start.prospects),
        *loss_lines(start.loss),
        *([] if threshold is None else [f"minimum support {percent(threshold)}"]),
    ]


def found_lines(demo: Demo, top: int) -> list[str]:
    """Show what was found beside the truth, itemsets by size and then rules, the times and the files."""
    itemsets = _shown(demo.simulation)
    facts = mining_facts(itemsets)
    lines = ["", f"Found in the reports; {_truth_line(demo.simulation)}"]
    lines += threshold_lines(facts)
    for k in sorted(set(itemsets["length"])):
        lines += ["", *itemset_lines(itemsets[itemsets["length"] == k], top)]
    if not itemsets["frequent"].any():
        lines += [
            "nothing reaches this support: more baskets, a smaller --transaction-size (shorter baskets need fewer "
            "reports) or a weaker promise (a higher --posterior) make lower supports discoverable"
        ]
    lines += ["", *_missed_lines(demo.simulation, top), _score_line(demo.simulation)]
    lines += [*describe_undecided(facts), "", *rule_lines(demo.rules, top)]
    times = ", ".join(f"{stage} {taken:.2f} s" for stage, taken in demo.seconds.items())
    return [*lines, f"\ntime: {times}", f"files: {', '.join(map(str, demo.start.paths))}"]


def demo_record(demo: Demo) -> dict[str, Any]:
    """Return a demo for ``--json``."""
    return simulation_record(demo.simulation) | {
        "seconds": demo.seconds,
        "rules": rule_records(demo.rules),
        "plan": plan_record(demo.start.prospects),
        "files": [str(path) for path in demo.start.paths],
    }
