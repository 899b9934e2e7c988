"""How true lists are: own largest supports, itemsets and rules that one collection lists, beside the truth.

    python -m bench accuracy lists [--half held-out] [--seeds 3] [--save]

One collection of a plan that knows the number of items and of reports alone, mined and turned into rules without any
option. Of its own 64 largest supports: coverage of the 95% intervals, by size too, their interval score (Gneiting and
Raftery, JASA 102 (2007)) and root mean square error; true top 20 pairs among own 20; of the itemsets listed those below
the minimum support, of the rules those below 50% confidence, and how many of the true top 20 rules are listed.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv import plan
from assocpriv.client.bulk import randomize_chunks
from assocpriv.files.itemsets import LightFrame
from assocpriv.files.reports import Reports
from assocpriv.plans.baskets import Plan
from assocpriv.server.counting import LocalBackend
from assocpriv.server.itemsets import mining_facts
from assocpriv.server.mining import MiningRequest, mine
from assocpriv.server.rules import derive_rules
from assocpriv.simulation.enumeration import SeededEntropy
from bench.accuracy.data import HALVES, MissingDataError, load, sized
from bench.accuracy.harness import Row, grouped
from bench.accuracy.metrics import Itemset
from bench.accuracy.ours import baskets_of, promise_of
from bench.accuracy.transactions import Transactions
from bench.accuracy.truth import exact_supports, true_itemsets
from bench.tables import table

PEOPLE, EPSILON = (20_000, 100_000, 1_000_000), 2.944
OWN, TRUE_PAIRS, TRUE_RULES, LEAST_CONFIDENCE = 64, 20, 20, 0.5
_KNOWN = 300  # itemsets that the truth's rules are made of
_COLUMNS = ("coverage", "single", "pair", "triple", "score", "rmse", "pairs", "rules")


def run(half: str = "held-out", seeds: int = 3, people: Sequence[int] = PEOPLE) -> dict[str, Any]:
    """Return a row for each set and number of people, means over seeds, and how often what is listed is true."""
    runs, chances = [], {"itemsets": [], "rules": []}  # type: tuple[list[Row], dict[str, list[NDArray[np.float64]]]]
    for count in people:
        for name in HALVES[half]:
            try:
                baskets = load(sized(name, count))
            except MissingDataError:
                continue
            made = plan(baskets.n_items, promise_of(EPSILON), reports=count, itemset_size=min(3, baskets.n_items))
            for seed in range(seeds):
                row, seen = judged(baskets, made, seed)
                runs.append({"set": name, "people": count} | row)
                for what, pairs in seen.items():
                    chances[what].append(pairs)
    return {"half": half, "rows": [_mean(key, rows) for key, rows in grouped(runs, ("set", "people")).items()],
            "calibration": {what: _calibration(np.concatenate(seen)) for what, seen in chances.items()}}  # fmt: skip


def judged(baskets: Transactions, made: Plan, seed: int) -> tuple[Row, dict[str, NDArray[np.float64]]]:
    """Return what one collection is worth, and with which probability what was true, (n, 2)."""
    packed = [chunk.packed for chunk in randomize_chunks(baskets_of(baskets), made, entropy=SeededEntropy(seed))]
    found = mine(LocalBackend.of(Reports(made, np.concatenate(packed))), MiningRequest())
    least, rules = mining_facts(found).min_support, derive_rules(found, LEAST_CONFIDENCE)
    named = [_ids(names) for names in found["itemsets"]]
    sides = [(_ids(a), _ids(c)) for a, c in zip(rules["antecedents"], rules["consequents"], strict=True)]
    truth = exact_supports(baskets, {*named, *(a for a, _ in sides), *(_ids(a + c) for a, c in sides)})
    supports = np.array([truth[each] for each in named])
    holds = np.array([truth[_ids(a + c)] >= LEAST_CONFIDENCE * truth[a] for a, c in sides], dtype=np.bool_)
    row = _own(found, supports) | {"listed": int(found["listed"].sum()), "rules_listed": int(rules["listed"].sum())}
    row |= {
        "false": int((supports < least)[found["listed"]].sum()),
        "rules_false": int((~holds)[rules["listed"]].sum()),
    }
    known = true_itemsets(baskets, _KNOWN)
    pairs = np.flatnonzero(found["length"] == 2)
    own = {named[place] for place in pairs[np.argsort(-found["support"][pairs], kind="stable")][:TRUE_PAIRS]}
    told = {side for side, is_listed in zip(sides, rules["listed"], strict=True) if is_listed}
    row |= {"pairs": len({*best_pairs(known)} & own), "rules": len(told & true_rules(known))}
    seen = np.column_stack([found["probability"], supports >= least]), np.column_stack([rules["probability"], holds])
    return row, dict(zip(("itemsets", "rules"), seen, strict=True))


def _ids(names: Any) -> Itemset:
    return tuple(sorted(int(name) for name in names))


def best_pairs(known: dict[Itemset, float]) -> list[Itemset]:
    """Return the true pairs of the largest supports."""
    return [each for each in known if len(each) == 2][:TRUE_PAIRS]


def true_rules(known: dict[Itemset, float]) -> set[tuple[Itemset, Itemset]]:
    """Return the true rules of the largest supports."""
    rules = [
        (support, left, _ids({*whole} - {*left}))
        for whole, support in known.items()
        for size in range(1, len(whole))
        for left in combinations(whole, size)
        if support >= LEAST_CONFIDENCE * known[left]
    ]
    return {(left, right) for _, left, right in sorted(rules, key=lambda rule: -rule[0])[:TRUE_RULES]}


def _own(found: LightFrame, truth: NDArray[np.float64]) -> Row:
    """Return how good the own largest supports are."""
    rows = np.argsort(-found["support"], kind="stable")[:OWN]
    true, low, high, sizes = truth[rows], found["ci_low"][rows], found["ci_high"][rows], found["length"][rows]
    held = (low <= true) & (true <= high)
    missed = np.maximum(low - true, 0) + np.maximum(true - high, 0)
    by_size = {
        name: float(held[sizes == size].mean()) if (sizes == size).any() else None
        for size, name in enumerate(("single", "pair", "triple"), start=1)
    }
    return {"coverage": float(held.mean()), "score": float((high - low + 40 * missed).mean()),
            "rmse": float(np.sqrt(np.mean((found["support"][rows] - true) ** 2)))} | by_size  # fmt: skip


def _mean(key: tuple[Any, ...], rows: Sequence[Row]) -> Row:
    """Return means over the runs that have a figure, and sums of what is listed."""
    line: Row = dict(zip(("set", "people"), key, strict=True))
    for name in _COLUMNS:
        known = [row[name] for row in rows if row[name] is not None]
        line[name] = float(np.mean(known)) if known else None
    sums = {name: sum(row[name] for row in rows) for name in ("listed", "false", "rules_listed", "rules_false")}
    return line | sums


def _calibration(seen: NDArray[np.float64]) -> list[Row]:
    """Return by bins of a tenth how many there are, their mean probability and the share that is true."""
    bins = np.minimum(seen[:, 0] * 10, 9).astype(np.int64)
    return [
        {"from": place / 10, "count": int((bins == place).sum()), "told": float(seen[bins == place, 0].mean()),
         "true": float(seen[bins == place, 1].mean())}
        for place in np.unique(bins).tolist()
    ]  # fmt: skip


def markdown(result: dict[str, Any]) -> str:
    """Return the tables."""
    rows = result["rows"]
    listed, false, rules, wrong = (
        sum(row[name] for row in rows) for name in ("listed", "false", "rules_listed", "rules_false")
    )
    said = (
        f"The {result['half']} half. Mean coverage {np.mean([row['coverage'] for row in rows]):.3f}, least "
        f"{min(row['coverage'] for row in rows):.3f}. Of {listed:,} itemsets listed {false / max(listed, 1):.1%} are "
        f"below the minimum support, of {rules:,} rules {wrong / max(rules, 1):.1%} below the minimum confidence."
    )
    columns = {name: name for name in ("set", "people", *_COLUMNS, "listed", "false", "rules_listed", "rules_false")}
    bins = {name: name for name in ("from", "count", "told", "true")}
    calibrated = "\n".join(f"{what}:\n\n{table(bins, each)}" for what, each in result["calibration"].items())
    return f"{said}\n\n{table(columns, rows)}\n\nWhat is true of what was told with which probability, {calibrated}\n"
