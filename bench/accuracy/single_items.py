"""Precision of single items: frequency oracles with padding and sampling, against plans of assocpriv.

    python -m bench single-items [--save]

A basket is padded or sampled to L items (assocpriv's M). An item of support s in whole baskets then has the support s/F
within sampled items, F = Σ P(c) c / Σ P(c) min(c, L) with P(c) the basket-size distribution, so that with N reports

    N·Var = F² · v(s/F),    v(f) = t(1 − t) / (p − q)²,    t = q + f(p − q),

p and q being the probabilities that a report supports an item that is held and one that is not. An oracle that takes
one of the L items has f/L in place of f and L·F in place of F:

- OUE and OLH with p = 1/2 and q = 1/(e^ε + 1), the same for both at ε = ln 19;
- GRR over items and padding items, which may spend ln(L(e^ε − 1) + 1), since each value is the sampled one with
  probability 1/L. OUE and OLH may not, since their reports can support several items of one basket.

The wheel mechanism takes all L items. For plans v is exact (planning/expected_error.py). The truncation error is the
error of F if an item's probability grows with the basket's size by an exponent of 1 ± .2 in place of 1, as the planner
assumes. L of the best oracle minimizes the root of the sum of both squares. Basket sizes are 1 for all, or negative
binomial with shape 1.5 and several means. Where sizes are unknown, all methods are designed for the default mean of 6.

*Measured* is the root mean square error over all items in one run of a million baskets of uniform items, divided by
that of the formulas. F is computed from the exact sizes of the baskets.

Sources: Wang, Blocki, Li & Jha, USENIX Security 2017; Wang, Li & Jha, S&P 2018; Wang, Yang, Wang, Hu, Nie & Xu, VLDB
2020.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from assocpriv.planning.basket_planner import choose_plan
from assocpriv.planning.expected_error import DEFAULT_MEAN, BasketSizes, variance
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.server.baskets.counting import LocalBackend
from bench.accuracy.data import merged
from bench.accuracy.oracles import Floats, Oracle, Wheel, grr, olh, sample_padded, wheel_shares
from bench.accuracy.ours import baskets_of, guarantee_of, reports_of
from bench.accuracy.transactions import Transactions
from bench.tables import plain

EPSILON, PEOPLE, SUPPORT, ITEMS = math.log(19), 1_000_000, 0.05, (100, 1_000)
MEANS, LENGTHS = (1.0, 2.0, 4.0, 6.0, 10.0), range(1, 21)
Estimate = Callable[[Transactions, np.random.Generator], Floats]


@dataclass(frozen=True, slots=True)
class Randomizer:
    """A method for single items: N times the variance at a support within sampled items, and the estimator."""

    name: str
    length: int
    variance: Callable[[float], float]
    estimate: Estimate

    def errors(self, sizes: BasketSizes, support: float) -> tuple[float, float]:
        """Return the standard errors of randomization and of truncation of a support in whole baskets."""
        factor, spread = sizes.truncation(self.length, 1)
        return factor * math.sqrt(self.variance(support / factor) / PEOPLE), support * spread


def oracles(n_items: int, length: int) -> Iterator[Randomizer]:
    """Yield the oracles for baskets of ``length`` items."""
    amplified = math.log(length * math.expm1(EPSILON) + 1)
    yield _sampling("OUE, OLH", olh(EPSILON), length)
    yield _sampling("GRR", grr(amplified, n_items + length), length)
    wheel = Wheel(EPSILON, length)
    yield Randomizer(
        "wheel", length, lambda held: _binomial(wheel.p, wheel.q, held),
        lambda baskets, rng: wheel_shares(baskets, EPSILON, length, rng)[0],
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


def best_oracle(n_items: int, sizes: BasketSizes) -> Randomizer:
    """Return the oracle and length with the least error for baskets of these sizes."""
    tried = [each for length in LENGTHS for each in oracles(n_items, length)]
    return min(tried, key=lambda each: math.hypot(*each.errors(sizes, SUPPORT)))


def planned(name: str, n_items: int, **options: Any) -> Randomizer:
    """Return a plan of assocpriv as a method for single items."""
    made = choose_plan(n_items, guarantee_of(EPSILON), reports=PEOPLE, **options).plan
    report_type, share = made.items, float(made.share(made.items))
    return Randomizer(
        name, report_type.transaction_size, lambda held: variance(report_type, 1, held) / share,
        lambda baskets, rng: _estimated(made, baskets, rng),
    )  # fmt: skip


def _estimated(made: Plan, baskets: Transactions, rng: np.random.Generator) -> Floats:
    """Return the unbiased supports within sampled items."""
    reports = reports_of(baskets_of(baskets), made, int(rng.integers(1 << 62)))
    counter, model = LocalBackend.from_reports(reports).open()
    shown = counter.count(np.arange(baskets.n_items)[:, None]) / counter.n_reports
    none, each = map(float, model.size_weights(1))
    return np.asarray(none + each * shown)


def cases(n_items: int) -> dict[str, BasketSizes]:
    """Return the basket-size distributions by name: one item in each basket, and default ones by their mean."""
    one = BasketSizes(np.array([0.0, 1.0]), "sample")
    return {"exactly 1": one} | {f"{mean:g}": BasketSizes.from_mean(n_items, mean) for mean in MEANS}


def randomizers(n_items: int, sizes: BasketSizes) -> Iterator[tuple[str, Randomizer]]:
    """Yield the prior knowledge and each compared method, for baskets of these sizes."""
    yield "sizes", next(oracles(n_items, 1))
    yield "sizes", best_oracle(n_items, sizes)
    yield "sizes", planned("assocpriv, single items", n_items, itemset_size=1, sample=sizes)
    yield "sizes", planned("assocpriv, up to triples", n_items, sample=sizes)
    yield "nothing", best_oracle(n_items, BasketSizes.from_mean(n_items, DEFAULT_MEAN))
    yield "nothing", planned("assocpriv, single items", n_items, itemset_size=1)
    yield "nothing", planned("assocpriv, up to triples", n_items)


def uniform(people: int, n_items: int, sizes: BasketSizes, rng: np.random.Generator) -> Transactions:
    """Generate baskets of about these sizes; duplicates count once."""
    drawn = rng.choice(len(sizes.shares), size=people, p=sizes.shares)
    baskets = np.repeat(np.arange(people), drawn)
    return merged([(baskets, rng.integers(n_items, size=len(baskets)))], people, n_items)


def measured(way: Randomizer, baskets: Transactions, rng: np.random.Generator) -> float:
    """Return the root mean square error of all items in a run, divided by that of the formula."""
    counted = np.bincount(baskets.sizes)
    factor = BasketSizes(counted / len(baskets), "sample").truncation(way.length, 1)[0]
    true = baskets.item_counts() / len(baskets)
    expected = factor * math.sqrt(way.variance(float(true.mean()) / factor) / len(baskets))
    return float(np.sqrt(np.mean((factor * way.estimate(baskets, rng) - true) ** 2))) / expected


def run(people: int = PEOPLE) -> dict[str, Any]:
    """Return a row per number of items, mean size, knowledge of it, and method."""
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
    caption = (
        f"An item in {SUPPORT:.0%} of baskets, ε = ln 19, {PEOPLE:,} people. length: items of a basket that a report "
        "represents; variance: N·Var in whole baskets; noise, truncation, total: standard errors in percentage points; "
        f"measured: root mean square error of a run of {result['people']:,} baskets divided by that of the formulas."
    )
    return f"{caption}\n\n{plain(result['rows'])}"
