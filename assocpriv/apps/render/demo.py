"""A demo as text for a person, before and after it ran, and as JSON content."""

from typing import Any

from assocpriv.apps.render.figures import percent
from assocpriv.apps.render.itemsets import itemset_lines, threshold_lines
from assocpriv.apps.render.plan import plan_lines, plan_record
from assocpriv.apps.render.rules import rule_lines
from assocpriv.apps.render.simulation import missed_lines, score_line, simulation_record
from assocpriv.apps.render.sizes import loss_lines
from assocpriv.lab.demo import Demo, DemoStart
from assocpriv.server.itemsets.facts import describe_undecided
from assocpriv.server.itemsets.frames import mining_facts
from assocpriv.server.itemsets.rules import rule_records


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
    itemsets = demo.simulation.itemsets
    facts = mining_facts(itemsets)
    lines = ["", "Found in the reports; true: support within the sampled items, raw: in the whole baskets"]
    lines += threshold_lines(facts)
    for k in sorted(set(itemsets["length"])):
        lines += ["", *itemset_lines(itemsets[itemsets["length"] == k], top)]
    if not itemsets["frequent"].any():
        lines += [
            "nothing reaches this support: more baskets, a smaller --transaction-size (shorter baskets need fewer "
            "reports) or a weaker promise (a higher --posterior) make lower supports discoverable"
        ]
    lines += ["", *missed_lines(demo.simulation.missed, top), score_line(demo.simulation)]
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
