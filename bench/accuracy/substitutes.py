"""Substitutes and worth of rules beside the truth, on baskets with planted substitutes and on baskets with none.

    python -m bench substitutes [--seeds 3] [--save]

Eight categories have three products each. A person buys at a rate of their own (gamma, shape 1.5, so that sizes vary as
in a supermarket), each product by chance. Where substitutes are planted, four of five people keep of each second
category one product alone. Asked are all pairs, and those of one category.

Of 276 or 24 pairs so many are ``told``; of these ``true`` have a lift by size below .8 in all baskets; ``listed`` are
said to, ``false`` of them wrongly; ``coverage`` is that of the 95% intervals of the lifts told, ``value_coverage`` that
of the values of the rules listed at 30% confidence, each item at a price of 1.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv import plan
from assocpriv.files.itemsets import LightFrame
from assocpriv.server.counting import LocalBackend
from assocpriv.server.independence import NullModel
from assocpriv.server.intervals import ErrorOptions
from assocpriv.server.itemsets import ATTRIBUTE
from assocpriv.server.mining import MiningRequest, mine
from assocpriv.server.rules import derive_rules
from assocpriv.server.substitutes import BELOW, find_substitutes
from bench.accuracy.ours import baskets_of, promise_of, reports_of
from bench.accuracy.transactions import Transactions, offsets_of
from bench.tables import Row, grouped, table

PEOPLE, EPSILONS = (20_000, 100_000, 1_000_000), (1.0, 2.944, 4.0)
CATEGORIES, PRODUCTS = 8, 3
_MEAN, _SHAPE, _KEEP = 6.0, 1.5, 0.8
_OF = {str(item): str(item // PRODUCTS) for item in range(CATEGORIES * PRODUCTS)}


def shop(people: int, seed: int, *, planted: bool) -> Transactions:
    """Generate baskets, with substitutes in each second category or with none."""
    rng, n = np.random.default_rng(seed), CATEGORIES * PRODUCTS
    rate = rng.gamma(_SHAPE, _MEAN / _SHAPE, people)
    shares = rng.dirichlet(np.full(n, 8.0))
    held = np.empty((people, n), dtype=np.bool_)
    for item in range(n):
        held[:, item] = rng.random(people) < -np.expm1(-rate * shares[item])
    for first in range(0, n if planted else 0, 2 * PRODUCTS):
        own = held[:, first : first + PRODUCTS]
        one = np.arange(PRODUCTS) == (rng.random(own.shape) * own).argmax(axis=1)[:, None]
        own &= one | (rng.random(people) >= _KEEP)[:, None]
    return Transactions(offsets_of(held.sum(axis=1)), np.nonzero(held)[1], n)


def lifts(baskets: Transactions) -> NDArray[np.float64]:
    """Return the supports of pairs over those expected if items are independent given the size, (items, items).

    Unlike the server, which knows two groups of sizes, the odds of items are fitted to the baskets of each size.
    """
    held = baskets.matrix().astype(np.float32)
    together = (held @ held.T).astype(np.float64) / len(baskets)
    chance, pairs = np.zeros_like(together), np.argwhere(np.ones(together.shape, dtype=np.bool_))
    for size in np.unique(baskets.sizes[baskets.sizes > 1]):
        of_size = held[:, baskets.sizes == size]
        supports = of_size.sum(axis=1, dtype=np.float64) / len(baskets)
        model = NullModel.fit(np.array([size]), np.array([of_size.shape[1] / len(baskets)]), supports)
        chance += model.expected(supports, pairs).reshape(chance.shape)
    return np.asarray(together / np.maximum(chance, 1e-9))


def run(seeds: int = 3, people: Sequence[int] = PEOPLE) -> dict[str, Any]:
    """Return a row for each number of people, ε, kind of baskets and question, means over seeds."""
    runs = []
    for count, epsilon, planted, seed in product(people, EPSILONS, (True, False), range(seeds)):
        baskets = shop(count, seed, planted=planted)
        made = plan(baskets.n_items, promise_of(epsilon), reports=count)
        backend = LocalBackend.of(reports_of(baskets_of(baskets), made, seed))
        true, values = lifts(baskets), _values(backend, baskets)
        for asked, categories in (("all", None), ("one category", _OF)):
            found = find_substitutes([backend], BELOW, categories, ErrorOptions())
            cell = {"people": count, "epsilon": epsilon, "planted": planted, "pairs": asked}
            runs.append(cell | _judged(found, true) | values)
    return {
        "rows": [_mean(key, rows) for key, rows in grouped(runs, ("people", "epsilon", "planted", "pairs")).items()]
    }


def _judged(found: LightFrame, true: NDArray[np.float64]) -> Row:
    pairs = np.array([sorted(map(int, pair)) for pair in found["itemsets"]], dtype=np.int64).reshape(-1, 2)
    lift, is_listed = true[pairs[:, 0], pairs[:, 1]], found["listed"]
    held = (found["lift_ci_low"] <= lift) & (lift <= found["lift_ci_high"])
    return {"told": len(found), "true": int((lift < BELOW).sum()), "listed": int(is_listed.sum()),
            "false": int((lift >= BELOW)[is_listed].sum()), "expected": found.attrs[ATTRIBUTE]["expected_false"],
            "held": int(held.sum())}  # fmt: skip


def _values(backend: LocalBackend, baskets: Transactions) -> Row:
    """Return of how many listed rules the value's interval holds the truth."""
    found = mine(backend, MiningRequest())
    rules = derive_rules(found, "30%", prices=dict.fromkeys(_OF, 1.0))
    rules = rules.take(np.flatnonzero(rules["listed"]))
    held, matrix = 0, baskets.matrix()
    for left, right, low, high in zip(
        *(rules[name] for name in ("antecedents", "consequents", "value_ci_low", "value_ci_high")), strict=True
    ):
        one, other = (matrix[[int(name) for name in side]].all(axis=0) for side in (left, right))
        gain = 1000 * len(right) * float((one & other).mean() - one.mean() * other.mean())
        held += low <= gain <= high
    return {"rules": len(rules), "rules_held": held}


def _mean(key: tuple[Any, ...], rows: Sequence[Row]) -> Row:
    """Return means over seeds; coverage is of all that was told together."""
    sums = {name: sum(row[name] for row in rows) for name in ("told", "true", "listed", "false", "expected")}
    row = dict(zip(("people", "epsilon", "planted", "pairs"), key, strict=True))
    row |= {name: value / len(rows) for name, value in sums.items()}
    for name, part, whole in (("coverage", "held", "told"), ("value_coverage", "rules_held", "rules")):
        total = sum(each[whole] for each in rows)
        row[name] = sum(each[part] for each in rows) / total if total else None
    return row | {"rules": sum(each["rules"] for each in rows) / len(rows)}


def markdown(result: dict[str, Any]) -> str:
    """Return the table."""
    said = (
        f"Means over seeds, of {CATEGORIES * PRODUCTS} products. told: pairs that can be told; true: of these below "
        f"{BELOW:g} of the expected support in all baskets; listed, of these false, and how many were expected to be; "
        "coverage of the lifts' 95% intervals, and of those of the values of the rules listed."
    )
    return f"{said}\n\n{table({name: name for name in result['rows'][0]}, result['rows'])}\n"
