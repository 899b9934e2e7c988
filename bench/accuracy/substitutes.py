"""Estimated substitutes and values of rules against the truth, on baskets with and without inserted substitutes.

    python -m bench substitutes [--seeds 3] [--save]

Eight categories have three products each. Each person has a purchase rate (gamma, shape 1.5, so that sizes vary as in a
supermarket) and buys each product at random. Substitutes are inserted in every second category: four of five people
keep only one product of it. The searches cover all pairs (276) and the pairs within a category (24).

- ``estimated``: pairs with an estimated lift; ``true``: those of them whose true lift by size is below .8.
- ``selected``: pairs selected as substitutes; ``false``: false ones among them.
- ``coverage``: of the 95% intervals of the estimated lifts.
- ``value_coverage``: of the intervals of values, for the rules selected at 30% confidence; each item has a price of 1.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv import plan
from assocpriv.estimation.supports import ErrorOptions
from assocpriv.files.mined_tables import ATTRIBUTE, LightFrame
from assocpriv.server.baskets.counting import LocalBackend
from assocpriv.server.baskets.mining import MiningRequest, mine
from assocpriv.server.baskets.posterior import NullModel
from assocpriv.server.baskets.rules import derive_rules
from assocpriv.server.baskets.substitutes import BELOW, find_substitutes
from bench.accuracy.ours import baskets_of, guarantee_of, reports_of
from bench.accuracy.transactions import Transactions, offsets_of
from bench.tables import Row, grouped, plain

PEOPLE, EPSILONS = (20_000, 100_000, 1_000_000), (1.0, 2.944, 4.0)
CATEGORIES, PRODUCTS = 8, 3
_MEAN, _SHAPE, _KEEP = 6.0, 1.5, 0.8
_OF = {str(item): str(item // PRODUCTS) for item in range(CATEGORIES * PRODUCTS)}


def shop(people: int, seed: int, *, inserted: bool) -> Transactions:
    """Generate baskets, with substitutes in every second category or none."""
    rng, n = np.random.default_rng(seed), CATEGORIES * PRODUCTS
    rate = rng.gamma(_SHAPE, _MEAN / _SHAPE, people)
    shares = rng.dirichlet(np.full(n, 8.0))
    held = np.empty((people, n), dtype=np.bool_)
    for item in range(n):
        held[:, item] = rng.random(people) < -np.expm1(-rate * shares[item])
    for first in range(0, n if inserted else 0, 2 * PRODUCTS):
        own = held[:, first : first + PRODUCTS]
        one = np.arange(PRODUCTS) == (rng.random(own.shape) * own).argmax(axis=1)[:, None]
        own &= one | (rng.random(people) >= _KEEP)[:, None]
    return Transactions(offsets_of(held.sum(axis=1)), np.nonzero(held)[1], n)


def lifts(baskets: Transactions) -> NDArray[np.float64]:
    """Return the supports of pairs over those expected if items are independent given the size, (items, items).

    The odds of items are fitted to the baskets of each size, while the server distinguishes two groups of sizes.
    """
    held = baskets.matrix().astype(np.float32)
    together = (held @ held.T).astype(np.float64) / len(baskets)
    expected, pairs = np.zeros_like(together), np.argwhere(np.ones(together.shape, dtype=np.bool_))
    for size in np.unique(baskets.sizes[baskets.sizes > 1]):
        of_size = held[:, baskets.sizes == size]
        supports = of_size.sum(axis=1, dtype=np.float64) / len(baskets)
        model = NullModel.fit(np.array([size]), np.array([of_size.shape[1] / len(baskets)]), supports)
        expected += model.expected(supports, pairs).reshape(expected.shape)
    return np.asarray(together / np.maximum(expected, 1e-9))


def run(seeds: int = 3, people: Sequence[int] = PEOPLE) -> dict[str, Any]:
    """Return a row per number of people, ε, kind of baskets and search, means over seeds."""
    runs = []
    for count, epsilon, inserted, seed in product(people, EPSILONS, (True, False), range(seeds)):
        baskets = shop(count, seed, inserted=inserted)
        made = plan(baskets.n_items, guarantee_of(epsilon), reports=count)
        backend = LocalBackend.from_reports(reports_of(baskets_of(baskets), made, seed))
        true, values = lifts(baskets), _values(backend, baskets)
        for searched, categories in (("all", None), ("one category", _OF)):
            found = find_substitutes([backend], BELOW, categories, ErrorOptions())
            cell = {"people": count, "epsilon": epsilon, "inserted": inserted, "pairs": searched}
            runs.append(cell | _judged(found, true) | values)
    return {
        "rows": [_mean(key, rows) for key, rows in grouped(runs, ("people", "epsilon", "inserted", "pairs")).items()]
    }


def _judged(found: LightFrame, true: NDArray[np.float64]) -> Row:
    pairs = np.array([sorted(map(int, pair)) for pair in found["itemsets"]], dtype=np.int64).reshape(-1, 2)
    lift, is_selected = true[pairs[:, 0], pairs[:, 1]], found["selected"]
    held = (found["lift_ci_low"] <= lift) & (lift <= found["lift_ci_high"])
    return {"estimated": len(found), "true": int((lift < BELOW).sum()), "selected": int(is_selected.sum()),
            "false": int((lift >= BELOW)[is_selected].sum()), "expected": found.attrs[ATTRIBUTE]["expected_false"],
            "held": int(held.sum())}  # fmt: skip


def _values(backend: LocalBackend, baskets: Transactions) -> Row:
    """Return the number of selected rules, and of those whose value's interval holds the truth."""
    found = mine(backend, MiningRequest())
    rules = derive_rules(found, "30%", prices=dict.fromkeys(_OF, 1.0))
    rules = rules.take(np.flatnonzero(rules["selected"]))
    held, matrix = 0, baskets.matrix()
    for left, right, low, high in zip(
        *(rules[name] for name in ("antecedents", "consequents", "value_ci_low", "value_ci_high")), strict=True
    ):
        one, other = (matrix[[int(name) for name in side]].all(axis=0) for side in (left, right))
        gain = 1000 * len(right) * float((one & other).mean() - one.mean() * other.mean())
        held += low <= gain <= high
    return {"rules": len(rules), "rules_held": held}


def _mean(key: tuple[Any, ...], rows: Sequence[Row]) -> Row:
    """Return means over seeds; coverage is over all estimated lifts together."""
    sums = {name: sum(row[name] for row in rows) for name in ("estimated", "true", "selected", "false", "expected")}
    row = dict(zip(("people", "epsilon", "inserted", "pairs"), key, strict=True))
    row |= {name: value / len(rows) for name, value in sums.items()}
    for name, part, whole in (("coverage", "held", "estimated"), ("value_coverage", "rules_held", "rules")):
        total = sum(each[whole] for each in rows)
        row[name] = sum(each[part] for each in rows) / total if total else None
    return row | {"rules": sum(each["rules"] for each in rows) / len(rows)}


def markdown(result: dict[str, Any]) -> str:
    """Return the table."""
    caption = (
        f"Means over seeds, {CATEGORIES * PRODUCTS} products. estimated: pairs with an estimated lift; true: those "
        f"with a true lift below {BELOW:g}; selected: selected substitutes, false: false ones, expected: expected "
        "number; coverage: of the lifts' 95% intervals; value_coverage: of those of the selected rules' values."
    )
    return f"{caption}\n\n{plain(result['rows'])}\n"
