"""Sentences about what reports cannot decide: the door warns with them, and commands print them."""

import math

from assocpriv.server.itemsets.apriori import Level
from assocpriv.server.itemsets.facts import MiningFacts


def describe_undecided(facts: MiningFacts) -> list[str]:
    """Say, a line each, what these reports cannot decide at this minimum support."""
    false_ones = "expect false ones among " + ("them" if facts.certain is None else "those not certain")
    consequence = {"undecidable": "none are reported", "uncertain": false_ones}
    n_reports = facts.reports if facts.certain is None else facts.certain.selecting_reports
    return [
        f"itemsets of {level.size}: {level.status} at {level.min_support:.4g} from {n_reports:,} reports "
        f"({_reach(level)}); {consequence[level.status]}"
        for level in facts.levels
        if level.status == "undecidable" or (level.status == "uncertain" and level.candidates)
    ]


def _reach(level: Level) -> str:
    """Say what the reports can tell of one itemset of a size, and of all of them."""
    lowest, whole = level.lowest_discoverable_support, level.level_discoverable_support
    spread = "" if math.isinf(level.std_error) else f"standard error {level.std_error:.2%}; "
    if lowest >= 1:
        return f"{spread}nothing below 100% is discoverable"
    asked = f"all {level.candidates:,} counted" if level.candidates else "all that there are"
    believed = "cannot be believed below 100%" if whole >= 1 else f"can be believed from {whole:.2%}"
    return f"{spread}{lowest:.2%} is the lowest discoverable of one itemset, {asked} {believed}"
