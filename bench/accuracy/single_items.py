"""How precisely single items are estimated: frequency oracles with padding and sampling, and plans of assocpriv.

    python -m bench single-items [--save]

A basket is padded or sampled to L items (assocpriv's M). An item of support s in whole baskets then has the support s/F
within sampled items, F = Σ P(c) c / Σ P(c) min(c, L) with P(c) the basket-size distribution, so that with N reports

    N·Var = F² · v(s/F),    v(f) = t(1 − t) / (p − q)²,    t = q + f(p − q),

p and q being the chances that a report supports an item that is held and one that is not. An oracle that takes one of
the L items has f/L in place of f and L·F in place of F. Such are

- OUE and OLH with p = 1/2 and q = 1/(e^ε + 1), the same for both at ε = ln 19;
- GRR over items and padding items, which may spend ln(L(e^ε − 1) + 1), as its value is the sampled one with 1/L only.
  That holds for no report that can support several items of one basket, as those of OUE and OLH can.

The wheel mechanism takes all L items. Of plans v is exact (planning/expected.py). The truncation error is what F is
wrong by where chances grow with the basket's size by an exponent of 1 ± .2 in place of 1, as the planner assumes; L of
the best oracle has the least root of the sum of both squares. Default basket sizes are negative binomial of shape 1.5,
beside baskets that all hold one item. Where sizes are not known, all are designed for the default mean of 6.

Measured is one run of a million baskets of uniform items: the root mean square error over all items, over that of the
formulas. F is taken of the baskets' exact sizes.

Sources: Wang, Blocki, Li & Jha, USENIX Security 2017; Wang, Li & Jha, S&P 2018; Wang, Yang, Wang, Hu, Nie & Xu, VLDB
2020.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from assocpriv.planning.baskets import choose_plan
from assocpriv.planning.expected import USUAL_MEAN, Sizes, variance
from assocpriv.plans.baskets import Plan
from assocpriv.server.counting import LocalBackend
from bench.accuracy.families import merged
from bench.accuracy.oracles import Floats, Oracle, grr, olh, sample_padded
from bench.accuracy.ours import baskets_of, promise_of, reports_of
from bench.accuracy.set_oracles import Wheel, set_shares
from bench.accuracy.transactions import Transactions
from bench.tables import table

EPSILON, PEOPLE, SUPPORT, ITEMS = math.log(19), 1_000_000, 0.05, (100, 1_000)
MEANS, LENGTHS = (1.0, 2.0, 4.0, 6.0, 10.0), range(1, 21)
Estimate = Callable[[Transactions, np.random.Generator], Floats]


@dataclass(frozen=True, slots=True)
class Randomizer:
    """A way to report single items: N times the variance at a support within sampled items, and what is estimated."""

    name: str
    length: int
    variance: Callable[[float], float]
    estimate: Estimate

    def errors(self, sizes: Sizes, support: float) -> tuple[float, float]:
        """Return the standard errors of randomization and of truncation of a support in whole baskets."""
        factor, spread = sizes.undoing(self.length, 1)
        return factor * math.sqrt(self.variance(support / factor) / PEOPLE), support * spread


def oracles(n_items: int, length: int) -> Iterator[Randomizer]:
    """Yield the oracles for baskets of ``length`` items."""
    amplified = math.log(length * math.expm1(EPSILON) + 1)
    yield _sampling("OUE, OLH", olh(EPSILON), length)
    yield _sampling("GRR", grr(amplified, n_items + length), length)
    wheel = Wheel(EPSILON, length)
    yield Randomizer(
        "wheel", length, lambda held: _binomial(wheel.p, wheel.q, held),
        lambda baskets, rng: set_shares(wheel, baskets, rng)[0],
    )  # fmt: skip


def _sampling(name: str, oracle: Oracle, length: int) -> Randomizer:
    def estimate(baskets: Transactions, rng: np.random.Generator) -> Floats:
        values = baskets.n_items + length
        held = np.bincount(sample_padded(baskets, length, rng), minlength=values).astype(np.int64)
        supports = oracle.estimate(oracle.support(held, len(baskets), rng), len(baskets))[0]
        return length * supports[: baskets.n_items]

    return Randomizer(name, length, lambda held: length**2 * _binomial(oracle.p, oracle.q, held / length), estimate)


def _binomial(p: float, q: float, held: float) -> float:
    shown = q + held * (p - q)
    return shown * (1 - shown) / (p - q) ** 2


def best_oracle(n_items: int, sizes: Sizes) -> Randomizer:
    """Return the oracle and the length of the least error for baskets of these sizes."""
    tried = [each for length in LENGTHS for each in oracles(n_items, length)]
    return min(tried, key=lambda each: math.hypot(*each.errors(sizes, SUPPORT)))


def planned(name: str, n_items: int, **options: Any) -> Randomizer:
    """Return what a plan of assocpriv is for single items."""
    made = choose_plan(n_items, promise_of(EPSILON), reports=PEOPLE, **options).plan
    question, share = made.items, float(made.share(made.items))
    return Randomizer(
        name, question.transaction_size, lambda held: variance(question, 1, held) / share,
        lambda baskets, rng: _estimated(made, baskets, rng),
    )  # fmt: skip


def _estimated(made: Plan, baskets: Transactions, rng: np.random.Generator) -> Floats:
    """Return the unbiased supports within sampled items."""
    reports = reports_of(baskets_of(baskets), made, int(rng.integers(1 << 62)))
    counter, model = LocalBackend.of(reports).open()
    shown = counter.count(np.arange(baskets.n_items)[:, None]) / counter.n_reports
    none, each = map(float, model.size_weights(1))
    return np.asarray(none + each * shown)


def cases(n_items: int) -> dict[str, Sizes]:
    """Return the basket-size distributions by what they are called: all of one item, and default ones by their mean."""
    one = Sizes(np.array([0.0, 1.0]), "sample")
    return {"exactly 1": one} | {f"{mean:g}": Sizes.usual(n_items, mean) for mean in MEANS}


def randomizers(n_items: int, sizes: Sizes) -> Iterator[tuple[str, Randomizer]]:
    """Yield what is known and each way that is compared, for baskets of these sizes."""
    yield "sizes", next(oracles(n_items, 1))
    yield "sizes", best_oracle(n_items, sizes)
    yield "sizes", planned("assocpriv, single items", n_items, itemset_size=1, like=sizes)
    yield "sizes", planned("assocpriv, up to triples", n_items, like=sizes)
    yield "nothing", best_oracle(n_items, Sizes.usual(n_items, USUAL_MEAN))
    yield "nothing", planned("assocpriv, single items", n_items, itemset_size=1)
    yield "nothing", planned("assocpriv, up to triples", n_items)


def uniform(people: int, n_items: int, sizes: Sizes, rng: np.random.Generator) -> Transactions:
    """Generate baskets of about these sizes; what is drawn twice is one item."""
    drawn = rng.choice(len(sizes.shares), size=people, p=sizes.shares)
    baskets = np.repeat(np.arange(people), drawn)
    return merged([(baskets, rng.integers(n_items, size=len(baskets)))], people, n_items)


def measured(way: Randomizer, baskets: Transactions, rng: np.random.Generator) -> float:
    """Return the root mean square error of all items of a run, over what the formula gives for so many people."""
    counted = np.bincount(baskets.sizes)
    factor = Sizes(counted / len(baskets), "sample").undoing(way.length, 1)[0]
    true = baskets.item_counts() / len(baskets)
    expected = factor * math.sqrt(way.variance(float(true.mean()) / factor) / len(baskets))
    return float(np.sqrt(np.mean((factor * way.estimate(baskets, rng) - true) ** 2))) / expected


def run(people: int = PEOPLE) -> dict[str, Any]:
    """Return a row for each number of items, mean size, what is known of it, and way."""
    rows = []
    for n_items in ITEMS:
        for seed, (name, sizes) in enumerate(cases(n_items).items()):
            rng = np.random.default_rng((n_items, seed))
            baskets = uniform(people, n_items, sizes, rng)
            for known, way in randomizers(n_items, sizes):
                noise, truncation = way.errors(sizes, SUPPORT)
                rows.append({
                    "items": n_items, "mean_size": name, "known": known, "method": way.name, "length": way.length,
                    "variance": PEOPLE * noise**2, "noise": 100 * noise, "truncation": 100 * truncation,
                    "total": 100 * math.hypot(noise, truncation), "measured": measured(way, baskets, rng),
                })  # fmt: skip
    return {"people": people, "rows": rows}


def markdown(result: dict[str, Any]) -> str:
    """Return the table."""
    said = (
        f"An item in {SUPPORT:.0%} of baskets, ε = ln 19, {PEOPLE:,} people. length: items of a basket that a report "
        "stands for; variance: N·Var in whole baskets; noise, truncation, total: standard errors in percentage points; "
        f"measured: root mean square error of a run of {result['people']:,} baskets over that of the formulas."
    )
    return f"{said}\n\n{table({name: name for name in result['rows'][0]}, result['rows'])}"
