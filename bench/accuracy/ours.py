"""assocpriv in one collection, by the plan that it proposes and by the 2003 design, in the accuracy bench."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.bulk import randomize_chunks
from assocpriv.files.reports import Reports
from assocpriv.planning.baskets import make_plan
from assocpriv.planning.request import PlanWishes
from assocpriv.planning.transaction_size import propose_transaction_size
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.breaches import Breach
from assocpriv.records.baskets import Baskets, count_sizes, top_holders
from assocpriv.server.apriori import join_candidates
from assocpriv.server.ask import count_subsets
from assocpriv.server.counting import LocalBackend
from assocpriv.simulation.enumeration import SeededEntropy
from bench.accuracy.metrics import Estimates
from bench.accuracy.transactions import Transactions


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """How to plan: ``transaction_size`` M, None for the one proposed for the baskets, and what designs are searched.

    Supports are of itemsets of up to ``itemset_size`` items.
    """

    transaction_size: int | None = None
    itemset_size: int = 3
    pattern: str = "any"
    kind: str = "auto"
    largest_insert_bits: int = 8


PAPER = PlanSettings(5, pattern="threshold", kind="independent", largest_insert_bits=6)  # EGS03's own design


def collect(
    transactions: Transactions, epsilon: float, top: int, rng: np.random.Generator, settings: PlanSettings
) -> Estimates:
    """Ask everybody once under one plan, of the least worst LDS: its shipping client, its server code."""
    baskets = baskets_of(transactions)
    plan = _plan(baskets, promise_of(epsilon), settings)
    entropy = SeededEntropy(int(rng.integers(1 << 62)))
    packed = [chunk.packed for chunk in randomize_chunks(baskets, plan, entropy=entropy)]
    source = LocalBackend.of(Reports(plan, np.concatenate(packed))).open()
    supports: dict[tuple[int, ...], float] = {}
    errors: dict[tuple[int, ...], float] = {}
    level = np.arange(plan.n_items, dtype=np.int64)[:, None]
    for _ in range(settings.itemset_size):
        estimates = count_subsets(source, level).estimates()
        found = [tuple(row) for row in level.tolist()]
        supports |= dict(zip(found, estimates.support.tolist(), strict=True))
        errors |= dict(zip(found, estimates.std_error(population=False).tolist(), strict=True))
        level = _larger(level, estimates.support, top)
        if not len(level):
            break
    return Estimates(supports, errors)


def _plan(baskets: Baskets, promise: Breach, settings: PlanSettings) -> Plan:
    largest, size = settings.itemset_size, settings.transaction_size
    if size is None:
        wishes = PlanWishes(promise=promise, itemset_size=largest, reports=len(baskets))
        rows = propose_transaction_size(count_sizes(baskets), wishes, holders=top_holders(baskets, largest))
        size = next(row.transaction_size for row in rows if row.proposed)
    return make_plan(
        baskets.catalogue,
        size,
        promise,
        itemset_size=largest,
        reports=len(baskets),
        pattern=settings.pattern,
        kind=settings.kind,
        largest_insert_bits=settings.largest_insert_bits,
    )


def _larger(level: NDArray[np.int64], supports: NDArray[np.float64], top: int) -> NDArray[np.int64]:
    """Join the most frequent itemsets, twice as many as are wanted, as Apriori does."""
    best = np.sort(np.argsort(-supports, kind="stable")[: 2 * top])
    return join_candidates(level[best], int(level.max()) + 1)


def baskets_of(transactions: Transactions) -> Baskets:
    """Return the same baskets as the package takes them, items named by their ids."""
    return Baskets(Catalogue.numbered(transactions.n_items), transactions.offsets, transactions.items)


def promise_of(epsilon: float) -> Breach:
    """Return the promise of a given ε: the posterior 1/2 from the prior 1 / (1 + e^ε), rounded against us."""
    limit = Fraction(math.floor(math.exp(epsilon) * 10**9), 10**9)
    return Breach(1 / (1 + limit), Fraction(1, 2))
