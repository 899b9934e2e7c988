"""Gain from an anonymous channel: true top 20 pairs and rules found, against a local plan and a release.

    python -m bench central [--seeds 3] [--save]

Each person reports once. The plan knows only the numbers of items and people (``assocpriv plan --items N --reports
N``) and has either the central guarantee (1, 10⁻⁸) through a channel or ε = ln 19 without one. Without a channel, up to
20 times more people report. A second table gives the number of them that match the channel in pairs of the true top 20
and itemsets of the true top 64. It interpolates in log N over the running maximum of the means over seeds.

The release is what ``assocpriv release`` publishes for who holds all raw baskets, with (1, 10⁻⁸) for one basket.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from assocpriv import plan
from assocpriv.files.mined_tables import LightFrame
from assocpriv.guarantees.amplification import epsilon_from_amplification
from assocpriv.planning.basket_planner import PlannedCollection
from assocpriv.releasing.basket_release import ReleaseOptions, release_baskets
from assocpriv.server.baskets.counting import LocalBackend
from assocpriv.server.baskets.mining import MiningRequest, mine
from assocpriv.server.baskets.released_rounds import ReleaseBackend
from assocpriv.server.baskets.rules import derive_rules
from assocpriv.simulation.basket_rounds import randomize_rounds
from assocpriv.simulation.enumeration import SeededEntropy
from bench.accuracy.data import load, sized
from bench.accuracy.metrics import Estimates, exact_supports, precision, true_itemsets
from bench.accuracy.ours import baskets_of, guarantee_of, reports_of
from bench.accuracy.transactions import Itemset, Transactions
from bench.speed.measuring import log_progress
from bench.tables import Row, grouped, table

PEOPLE, SETS = (5_000, 20_000, 100_000), ("quest-7", "groceries", "msweb", "retail")
TIMES = (1, 2, 5, 10, 20)  # multiples of the number of people, without a channel
LOCAL, CHANNEL, RELEASE = "local, ln 19", "channel, (1, 1e-8)", "release, (1, 1e-8)"
CENTRAL, EPSILON = (1, "1e-8"), 2.944
OWN, TRUE_PAIRS, TRUE_RULES, LEAST_CONFIDENCE = 64, 20, 20, 0.5
_KNOWN = 300
_MATCHED = ("pairs", "precision")
_COLUMNS = (*_MATCHED, "rules", "rules_selected", "rules_false", "coverage", "rmse", "M", "epsilon", "blanket")


def run(seeds: int = 3, people: Sequence[int] = PEOPLE, sets: Sequence[str] = SETS) -> dict[str, Any]:
    """Return a row per set, number of people and method (means over seeds), and the numbers that match the channel."""
    rows = list[Row]()
    for name in sets:
        for count in sorted({count * times for count in people for times in TIMES}):
            baskets = load(sized(name, count))
            for way, done in _ways(baskets, is_local=count not in people).items():
                found = [done(baskets, seed) for seed in range(seeds)]
                means = {each: float(np.mean([row[each] for row in found])) for each in found[0]}
                rows.append({"set": name, "people": count, "way": way} | means)
            log_progress(f"{name}, {count:,} people")
    return {"seeds": seeds, "rows": rows, "matching": matching(rows)}


def _ways(baskets: Transactions, *, is_local: bool) -> dict[str, Callable[[Transactions, int], Row]]:
    """Return the methods for these people: all of them, or only the one without a channel."""
    n_items, count = baskets.n_items, len(baskets)
    ways: dict[str, Callable[[Transactions, int], Row]] = {
        LOCAL: partial(_asked, choice=plan(n_items, guarantee_of(EPSILON), reports=count, rounds=None, explain=True))
    }
    if is_local:
        return ways
    channel = partial(_asked, choice=plan(n_items, central=CENTRAL, reports=count, rounds=None, explain=True))
    return {**ways, CHANNEL: channel, RELEASE: _released}


def matching(rows: Sequence[Row]) -> list[Row]:
    """Return, per set and number of people with a channel, the multiple of people that matches it without one.

    None where a multiple of 20 does not suffice, and 1 where the same number does.
    """
    found = list[Row]()
    for (name,), same in grouped(rows, ("set",)).items():
        ladder = [row for row in same if row["way"] == LOCAL]
        for row in same:
            if row["way"] == CHANNEL:
                line: Row = {"set": name, "people": row["people"]}
                for figure in _MATCHED:
                    line[figure] = row[figure]
                    line[f"{figure}_times"] = _matched(ladder, figure, row[figure], row["people"])
                found.append(line)
    return found


def _matched(ladder: Sequence[Row], figure: str, wanted: float, people: int) -> float | None:
    """Return the multiple of ``people`` at which the rows of a ladder reach a figure."""
    rungs = [row for row in ladder if people <= row["people"] <= TIMES[-1] * people]
    reached = np.maximum.accumulate([row[figure] for row in rungs])
    above = int(np.searchsorted(reached, wanted))
    if above in (0, len(rungs)):
        return 1.0 if above == 0 else None
    low, high = (math.log(row["people"] / people) for row in rungs[above - 1 : above + 1])
    part = (wanted - reached[above - 1]) / (reached[above] - reached[above - 1])
    return math.exp(low + part * (high - low))


def _asked(baskets: Transactions, seed: int, choice: PlannedCollection) -> Row:
    """Return the figures of one collection, in two rounds where the planner chooses them."""
    made, raw = choice.plan, baskets_of(baskets)
    if choice.rounds is None:
        collections = [reports_of(raw, made, seed)]
    else:
        both = randomize_rounds(raw, made, entropy=SeededEntropy(seed))
        collections = [both.first, both.second]
    found = figures(baskets, mine([LocalBackend.from_reports(each) for each in collections], MiningRequest()))
    epsilon = epsilon_from_amplification(made.amplification)
    return found | {"M": made.items.transaction_size, "epsilon": epsilon, "blanket": float(made.blanket)}


def _released(baskets: Transactions, seed: int) -> Row:
    """Return the figures of a release."""
    options = ReleaseOptions(Fraction(CENTRAL[0]), Fraction(CENTRAL[1]))
    made = release_baskets(baskets_of(baskets), options, entropy=SeededEntropy(seed))
    return figures(baskets, mine(ReleaseBackend(made), MiningRequest()))


def figures(baskets: Transactions, found: LightFrame) -> Row:
    """Return the figures of mined itemsets and of the rules derived from them."""
    rules, known = derive_rules(found, LEAST_CONFIDENCE), true_itemsets(baskets, _KNOWN)
    named = [ids_of(names) for names in found["itemsets"]]
    selected = rules.take(np.flatnonzero(rules["selected"]))
    claimed = {(ids_of(a), ids_of(c)) for a, c in zip(selected["antecedents"], selected["consequents"], strict=True)}
    truth = exact_supports(baskets, {*named, *(a for a, _ in claimed), *(ids_of([*a, *c]) for a, c in claimed)})
    own = np.argsort(-found["support"], kind="stable")[:OWN]
    true = np.array([truth[named[place]] for place in own])
    pairs = np.flatnonzero(found["length"] == 2)
    supports = dict(zip(named, found["support"].tolist(), strict=True))
    best = {named[place] for place in pairs[np.argsort(-found["support"][pairs], kind="stable")][:TRUE_PAIRS]}
    return {
        "pairs": len({*best_pairs(known)} & best),
        "precision": precision(Estimates(supports), dict(list(known.items())[:OWN])),
        "rules": len(claimed & true_rules(known)), "rules_selected": len(claimed),
        "rules_false": sum(truth[ids_of([*a, *c])] < LEAST_CONFIDENCE * truth[a] for a, c in claimed),
        "coverage": float(((found["ci_low"][own] <= true) & (true <= found["ci_high"][own])).mean()),
        "rmse": float(np.sqrt(np.mean((found["support"][own] - true) ** 2))),
    }  # fmt: skip


def ids_of(names: Any) -> Itemset:
    """Return the itemset of names that are numbers."""
    return tuple(sorted(int(name) for name in names))


def best_pairs(known: dict[Itemset, float]) -> list[Itemset]:
    """Return the true pairs with the largest supports."""
    return [each for each in known if len(each) == 2][:TRUE_PAIRS]


def true_rules(known: dict[Itemset, float]) -> set[tuple[Itemset, Itemset]]:
    """Return the true rules with the largest supports."""
    rules = [
        (support, left, ids_of({*whole} - {*left}))
        for whole, support in known.items()
        for size in range(1, len(whole))
        for left in combinations(whole, size)
        if support >= LEAST_CONFIDENCE * known[left]
    ]
    return {(left, right) for _, left, right in sorted(rules, key=lambda rule: -rule[0])[:TRUE_RULES]}


def markdown(result: dict[str, Any]) -> str:
    """Return the table of matching numbers of people and the table of all rows."""
    caption = (
        f"Means of {result['seeds']} seeds. pairs: true top {TRUE_PAIRS} pairs among the estimated top {TRUE_PAIRS}; "
        f"precision: share of the true top {OWN} itemsets among the estimated top {OWN}; rules: true top {TRUE_RULES} "
        "rules that were selected; rules_selected, rules_false: numbers of selected rules and of false ones."
    )
    heads = {"set": "set", "people with channel": "people"}
    for figure in _MATCHED:
        heads |= {figure: figure, f"{figure}: multiple without channel": f"{figure}_times"}
    lines = [
        {key: f"over {TIMES[-1]}" if value is None else value for key, value in line.items()}
        for line in result["matching"]
    ]
    columns = {name: name for name in ("set", "people", "way", *_COLUMNS)}
    return f"{caption}\n\n{table(heads, lines)}\n{table(columns, result['rows'])}"
