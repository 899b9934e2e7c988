"""assocpriv in one, two and three rounds, and the design of the 2003 paper, as methods of the accuracy bench."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.bulk import randomize_chunks
from assocpriv.files.reports import Reports
from assocpriv.planning.baskets import make_plan
from assocpriv.planning.rounds import PeopleSplit
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.breaches import Breach
from assocpriv.records.baskets import Baskets
from assocpriv.server.apriori import join_candidates
from assocpriv.server.ask import count_subsets
from assocpriv.server.counting import LocalBackend
from assocpriv.simulation.enumeration import SeededEntropy
from assocpriv.simulation.rounds import run_rounds
from bench.accuracy.metrics import Estimates
from bench.accuracy.transactions import Transactions


@dataclass(frozen=True, slots=True)
class PaperSettings:
    """The paper's plan: ``transaction_size`` M and itemsets of up to ``itemset_size`` items."""

    transaction_size: int = 5
    itemset_size: int = 3


def rounds(
    transactions: Transactions, epsilon: float, top: int, rng: np.random.Generator, settings: PeopleSplit
) -> Estimates:
    """Run the package's schedule: its shipping client, its server code, its plans."""
    seed = int(rng.integers(1 << 62))
    done = run_rounds(baskets_of(transactions), promise_of(epsilon), top, settings, seed=seed)
    known = done[-1].knowledge
    return Estimates(
        {itemset: estimate.support for itemset, estimate in known.items()},
        {itemset: math.sqrt(estimate.variance) for itemset, estimate in known.items()},
        {itemset: estimate.expected for itemset, estimate in known.items()},
    )


def paper(
    transactions: Transactions, epsilon: float, top: int, rng: np.random.Generator, settings: PaperSettings
) -> Estimates:
    """Run EGS03's own design: one round, threshold patterns, independent insertion, the least worst LDS."""
    baskets = baskets_of(transactions)
    plan = make_plan(
        baskets.catalogue,
        settings.transaction_size,
        promise_of(epsilon),
        itemset_size=settings.itemset_size,
        reports=len(baskets),
        pattern="threshold",
        kind="independent",
        largest_insert_bits=6,
    )
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
