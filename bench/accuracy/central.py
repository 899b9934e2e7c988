"""Gain from an anonymous channel: true top 20 pairs and rules found, against a local plan and a trusted curator.

    python -m bench central [--seeds 3] [--save]

Each person reports once. The plan knows only the numbers of items and people (``assocpriv plan --items N --reports
N``) and has either the central guarantee (1, 10⁻⁸) through a channel or ε = ln 19 without one. Without a channel, up to
20 times more people report. A second table gives the number of them that match the channel in pairs of the true top 20
and itemsets of the true top 64. It interpolates in log N over the running maximum of the means over seeds.

The curator gets all raw baskets and adds Laplace noise of ε = 1:

- Pairs: noise of scale 2·20/ε on the counts of all pairs (one-shot top k: Qiao, Su, Zhang, ICML 2021).
- Rules: half of ε selects 40 pairs in this way; the other half is noise on the counts of these pairs and their items.
  Baskets of more than 8 items are cut to 8, which bounds a basket's contribution. A rule counts if its noisy counts
  give 50% confidence and its pair exceeds a threshold that noise alone reaches once in forty times.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from scipy.sparse import csr_array, triu

from assocpriv import plan
from assocpriv.guarantees.amplification import epsilon_from_amplification
from assocpriv.planning.basket_planner import PlannedCollection
from assocpriv.server.baskets.counting import LocalBackend
from assocpriv.server.baskets.mining import MiningRequest, mine
from assocpriv.server.baskets.rules import derive_rules
from assocpriv.simulation.basket_rounds import randomize_rounds
from assocpriv.simulation.enumeration import SeededEntropy
from bench.accuracy.data import load, sized
from bench.accuracy.metrics import Estimates, exact_supports, precision, true_itemsets
from bench.accuracy.oracles import sample_down
from bench.accuracy.ours import baskets_of, guarantee_of, reports_of
from bench.accuracy.transactions import Itemset, Transactions
from bench.speed.measuring import log_progress
from bench.tables import Row, grouped, table

PEOPLE, SETS = (5_000, 20_000, 100_000), ("quest-7", "groceries", "msweb", "retail")
TIMES = (1, 2, 5, 10, 20)  # multiples of the number of people, without a channel
LOCAL, CHANNEL, CURATOR = "local, ln 19", "channel, (1, 1e-8)", "curator, ε = 1"
CENTRAL, EPSILON = (1, "1e-8"), 2.944
OWN, TRUE_PAIRS, TRUE_RULES, LEAST_CONFIDENCE = 64, 20, 20, 0.5
_KNOWN, _CHOSEN, _MOST_HELD = 300, 40, 8
_SURE = 3.0  # noise scales; noise alone reaches it once in 40 times
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
    return {**ways, CHANNEL: channel, CURATOR: _curated}


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
    found = mine([LocalBackend.from_reports(each) for each in collections], MiningRequest())
    rules, known = derive_rules(found, LEAST_CONFIDENCE), true_itemsets(baskets, _KNOWN)
    named = [_ids(names) for names in found["itemsets"]]
    selected = rules.take(np.flatnonzero(rules["selected"]))
    claimed = {(_ids(a), _ids(c)) for a, c in zip(selected["antecedents"], selected["consequents"], strict=True)}
    truth = exact_supports(baskets, {*named, *(a for a, _ in claimed), *(_whole(a, c) for a, c in claimed)})
    own = np.argsort(-found["support"], kind="stable")[:OWN]
    true = np.array([truth[named[place]] for place in own])
    pairs = np.flatnonzero(found["length"] == 2)
    supports = dict(zip(named, found["support"].tolist(), strict=True))
    best = {named[place] for place in pairs[np.argsort(-found["support"][pairs], kind="stable")][:TRUE_PAIRS]}
    return {
        "pairs": len({*best_pairs(known)} & best),
        "precision": precision(Estimates(supports), dict(list(known.items())[:OWN])),
        "rules": len(claimed & true_rules(known)), "rules_selected": len(claimed),
        "rules_false": sum(truth[_whole(a, c)] < LEAST_CONFIDENCE * truth[a] for a, c in claimed),
        "coverage": float(((found["ci_low"][own] <= true) & (true <= found["ci_high"][own])).mean()),
        "rmse": float(np.sqrt(np.mean((found["support"][own] - true) ** 2))), "M": made.items.transaction_size,
        "epsilon": epsilon_from_amplification(made.amplification), "blanket": float(made.blanket),
    }  # fmt: skip


def _ids(names: Any) -> Itemset:
    return tuple(sorted(int(name) for name in names))


def best_pairs(known: dict[Itemset, float]) -> list[Itemset]:
    """Return the true pairs with the largest supports."""
    return [each for each in known if len(each) == 2][:TRUE_PAIRS]


def true_rules(known: dict[Itemset, float]) -> set[tuple[Itemset, Itemset]]:
    """Return the true rules with the largest supports."""
    rules = [
        (support, left, _ids({*whole} - {*left}))
        for whole, support in known.items()
        for size in range(1, len(whole))
        for left in combinations(whole, size)
        if support >= LEAST_CONFIDENCE * known[left]
    ]
    return {(left, right) for _, left, right in sorted(rules, key=lambda rule: -rule[0])[:TRUE_RULES]}


def _curated(baskets: Transactions, seed: int) -> Row:
    """Return the figures of the curator."""
    rng, known = np.random.default_rng(seed), true_itemsets(baskets, _KNOWN)
    counts = _pair_counts(baskets)
    found = {divmod(place, baskets.n_items) for place in _noisy_top(counts, TRUE_PAIRS, 1.0, rng)}
    chosen = [divmod(place, baskets.n_items) for place in _noisy_top(counts, _CHOSEN, 0.5, rng)]
    items = sorted({item for pair in chosen for item in pair})
    few = sample_down(baskets.restricted(np.array(items)), _MOST_HELD, rng)
    # sensitivity: replacing one basket changes all counts together by at most the first factor
    scale = 2 * min(_MOST_HELD + comb(_MOST_HELD, 2), len(items) + len(chosen)) / 0.5
    of_items, of_pairs, place = few.item_counts(), _pair_counts(few), {item: row for row, item in enumerate(items)}
    noisy: dict[Itemset, float] = {(item,): of_items[row] + rng.laplace(0, scale) for item, row in place.items()}
    for a, b in chosen:
        noisy[a, b] = of_pairs.get(place[a] * len(items) + place[b], 0) + rng.laplace(0, scale)
    sides = [((a,), (c,)) for pair in chosen for a, c in (pair, pair[::-1])]
    claimed = {
        (a, c) for a, c in sides
        if noisy[_whole(a, c)] >= max(LEAST_CONFIDENCE * noisy[a], _SURE * scale)
    }  # fmt: skip
    holds = {(a, c) for a, c in claimed if known.get(_whole(a, c), 0) >= LEAST_CONFIDENCE * known.get(a, 1)}
    return {"pairs": len(found & {*best_pairs(known)}), "rules": len(claimed & true_rules(known)),
            "rules_selected": len(claimed), "rules_false": len(claimed - holds)}  # fmt: skip


def _pair_counts(baskets: Transactions) -> dict[int, int]:
    """Return the count of each pair that occurs, by i · n_items + j."""
    shape = len(baskets), baskets.n_items
    held = csr_array((np.ones(len(baskets.items), dtype=np.int64), baskets.items, baskets.offsets), shape=shape)
    pairs = triu(held.T @ held, 1, format="csr").sorted_indices().tocoo()
    return dict(
        zip((pairs.row.astype(np.int64) * baskets.n_items + pairs.col).tolist(), pairs.data.tolist(), strict=True)
    )


def _noisy_top(counts: dict[int, int], k: int, share: float, rng: np.random.Generator) -> list[int]:
    """Return the k pairs with the largest noisy counts; omitting pairs that do not occur favours the curator."""
    numbers, noise = list(counts), rng.laplace(0, 2 * k / share, len(counts))
    order = np.argsort(-(np.array(list(counts.values())) + noise), kind="stable")
    return [numbers[row] for row in order[:k].tolist()]


def _whole(antecedent: Itemset, consequent: Itemset) -> Itemset:
    return tuple(sorted(antecedent + consequent))


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
