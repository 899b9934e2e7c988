"""Releases of baskets under central privacy, beside two baselines of equal privacy: pairs found, errors, coverage.

    python -m bench releases [--seeds 3] [--save]

Each method gets the baskets and a public catalogue, and is (ε, 10⁻⁸)-differentially private for one basket:

- ``release``: ``assocpriv release``, read by ``assocpriv mine``.
- ``gaussian top k``: baskets are cut to 8 random items. Items get Gaussian noise with .4 of ρ, then all pairs of the
  150 with the largest noisy counts with .6. Noisy counts are the result, without any correction.
- ``sample and threshold``: each basket is drawn with probability (1 − e^−ε)/2 and gives one random itemset of one or
  two of its items. Counts below a threshold are dropped, the others scaled up, as if all baskets had the mean size. The
  idea is that of Bharadwaj and Cormode (AISTATS 2022); the threshold here is the least one whose δ, summed exactly over
  binomial laws, is at most 10⁻⁸ for any number of other baskets.

Figures are ``pairs`` (of the true top 20 among the method's own), ``rmse`` of the true top 64 itemsets (in percent of
baskets; what a method lacks counts as 0), and for ``release`` the ``coverage`` of the 95% intervals of its 64 largest
estimates, ``rules`` of the true top 20 selected, all rules selected (confidence of 50% or more), and false ones.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import binom

from assocpriv.guarantees.integer_noise import rho_from_epsilon
from assocpriv.releasing.basket_release import ReleaseOptions, release_baskets
from assocpriv.server.baskets.mining import MiningRequest, mine
from assocpriv.server.baskets.released_rounds import ReleaseBackend
from assocpriv.simulation.enumeration import SeededEntropy
from bench.accuracy.central import best_pairs, figures, ids_of
from bench.accuracy.data import load, sized
from bench.accuracy.metrics import true_itemsets
from bench.accuracy.oracles import sample_down
from bench.accuracy.ours import baskets_of
from bench.accuracy.transactions import Itemset, Transactions
from bench.speed.measuring import log_progress
from bench.tables import Row, table

PEOPLE, SETS = (2_000, 20_000, 100_000), ("quest-7", "groceries", "retail", "BMS-WebView-2", "msweb")
EPSILONS, DELTA = (1, 4), Fraction(1, 10**8)
_KNOWN, _OWN, _PAIRS, _TOP = 600, 64, 20, 400
_CUT, _BEST, _OF_ITEMS = 8, 150, 0.4
Found = dict[Itemset, float]


def run(seeds: int = 3, people: Sequence[int] = PEOPLE, sets: Sequence[str] = SETS) -> dict[str, Any]:
    """Return a row per set, number of baskets, ε and method: means over seeds."""
    rows = list[Row]()
    ways: dict[str, Callable[[Transactions, int, int, dict[Itemset, float]], Row]] = {
        "release": _released, "gaussian top k": _gaussian, "sample and threshold": _sampled
    }  # fmt: skip
    for name in sets:
        for count in people:
            baskets = load(sized(name, count))
            known = true_itemsets(baskets, _KNOWN)
            for epsilon in EPSILONS:
                for way, done in ways.items():
                    found = [done(baskets, epsilon, seed, known) for seed in range(seeds)]
                    means = {each: float(np.mean([row[each] for row in found])) for each in found[0]}
                    rows.append({"set": name, "baskets": count, "epsilon": epsilon, "method": way} | means)
            log_progress(f"{name}, {count:,} baskets")
    return {"seeds": seeds, "rows": rows}


def markdown(result: dict[str, Any]) -> str:
    """Return the rows as a table."""
    names = (
        "set",
        "baskets",
        "epsilon",
        "method",
        "pairs",
        "rmse",
        "coverage",
        "rules",
        "rules_selected",
        "rules_false",
    )
    return table({name.replace("_", " "): name for name in names}, result["rows"])


def _figures(found: Found, known: dict[Itemset, float]) -> Row:
    pairs = sorted((each for each in found if len(each) == 2), key=lambda each: -found[each])[:_PAIRS]
    errors = [found.get(each, 0.0) - support for each, support in list(known.items())[:_OWN]]
    return {
        "pairs": len({*pairs} & {*best_pairs(known)}), "rmse": 100 * math.sqrt(float(np.mean(np.square(errors)))),
    }  # fmt: skip


def _released(baskets: Transactions, epsilon: int, seed: int, known: dict[Itemset, float]) -> Row:
    options = ReleaseOptions(Fraction(epsilon), DELTA)
    backend = ReleaseBackend(release_baskets(baskets_of(baskets), options, entropy=SeededEntropy(seed)))
    frame = mine(backend, MiningRequest(top=_TOP))
    named = [ids_of(names) for names in frame["itemsets"]]
    chosen = figures(baskets, mine(backend, MiningRequest()))
    return _figures(dict(zip(named, frame["support"].tolist(), strict=True)), known) | {
        name: chosen[name] for name in ("coverage", "rules", "rules_selected", "rules_false")
    }


def _gaussian(baskets: Transactions, epsilon: int, seed: int, known: dict[Itemset, float]) -> Row:
    rng, rho = np.random.default_rng(seed), float(rho_from_epsilon(Fraction(epsilon), DELTA))
    n = len(baskets)
    cut = sample_down(baskets, _CUT, rng)
    counts = cut.item_counts() + rng.normal(0, math.sqrt(_CUT / (2 * _OF_ITEMS * rho)), baskets.n_items)
    best = np.sort(np.argsort(-counts, kind="stable")[:_BEST])
    few = sample_down(baskets.restricted(best), _CUT, rng)
    rows = np.zeros((n, len(best)), dtype=np.float32)
    rows[np.repeat(np.arange(n), few.sizes), few.items] = 1
    spread = math.sqrt(math.comb(_CUT, 2) / (2 * (1 - _OF_ITEMS) * rho))
    both = rows.T @ rows + rng.normal(0, spread, (len(best), len(best)))
    found: Found = {(item,): float(counts[item]) / n for item in best.tolist()}
    found |= {(int(best[i]), int(best[j])): float(both[i, j]) / n for i, j in combinations(range(len(best)), 2)}
    return _figures(found, known)


def _sampled(baskets: Transactions, epsilon: int, seed: int, known: dict[Itemset, float]) -> Row:
    rng, rate = np.random.default_rng(seed), (1 - math.exp(-epsilon)) / 2
    threshold = least_threshold(epsilon, rate, float(DELTA))
    counts: Counter[Itemset] = Counter()
    sizes: Counter[int] = Counter()
    for place in np.flatnonzero(rng.random(len(baskets)) < rate).tolist():
        held = baskets.items[baskets.offsets[place] : baskets.offsets[place + 1]]
        k = min(len(held), int(rng.integers(1, 3)))
        if k:
            counts[ids_of(rng.choice(held, k, replace=False))] += 1
            sizes[len(held)] += 1
    mean = sum(size * count for size, count in sizes.items()) / max(sum(sizes.values()), 1)
    weight = {1: 2 * mean, 2: mean * max(mean - 1, 1.0)}  # of the chance that a basket gives just this itemset
    scale = rate * len(baskets)
    return _figures({q: count / scale * weight[len(q)] for q, count in counts.items() if count >= threshold}, known)


@lru_cache
def least_threshold(epsilon: float, rate: float, delta: float) -> int:
    """Return the least threshold for counts that sampling at this rate makes (ε, δ)-differentially private.

    One basket more of an itemset turns Bin(n, p) into Bin(n + 1, p). A basket less changes likelihoods by at most
    1/(1 − p) ≤ e^ε. A basket more changes that of a count y by (n + 1)(1 − p)/(n + 1 − y), which exceeds e^ε for y near
    n alone; what exceeds it, over all y from the threshold on, is δ, for the n with the most of it.
    """
    counts = np.arange(2_000)
    for least in range(1, len(counts)):
        others = np.arange(least - 1, 20 * least + 200)[:, None]
        shown = counts[least : 22 * least + 200]
        over = binom.pmf(shown, others + 1, rate) - math.exp(epsilon) * binom.pmf(shown, others, rate)
        if np.maximum(over, 0.0).sum(axis=1).max() <= delta:
            return least
    raise ValueError("no threshold up to 2,000 suffices")
