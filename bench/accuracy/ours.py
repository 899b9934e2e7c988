"""assocpriv in one collection, by the plan that it proposes and by the 2003 design, in the accuracy bench."""

import math
from dataclasses import asdict, dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.bulk import randomize_chunks
from assocpriv.files.reports import Reports
from assocpriv.planning.baskets import make_plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.breaches import Breach
from assocpriv.records.baskets import Baskets, count_sizes
from assocpriv.server.apriori import join_candidates
from assocpriv.server.ask import count_subsets
from assocpriv.server.counting import LocalBackend
from assocpriv.server.whole_baskets import law_of_sizes, undo_sampling
from assocpriv.simulation.enumeration import SeededEntropy
from bench.accuracy.metrics import Estimates
from bench.accuracy.transactions import Transactions


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """How to plan: ``transaction_size`` M, None for the one chosen for the baskets, and whether by EGS03's own design.

    Supports are of itemsets of up to ``itemset_size`` items.
    """

    transaction_size: int | None = None
    itemset_size: int = 3
    paper: bool = False


PAPER = PlanSettings(5, paper=True)


def collect(
    transactions: Transactions, epsilon: float, top: int, rng: np.random.Generator, settings: PlanSettings
) -> Estimates:
    """Ask everybody once under one plan: its shipping client, its server code, supports in whole baskets if known."""
    baskets = baskets_of(transactions)
    plan = make_plan(
        baskets.catalogue, promise_of(epsilon), reports=len(baskets), like=count_sizes(baskets), **asdict(settings)
    )
    entropy = SeededEntropy(int(rng.integers(1 << 62)))
    packed = [chunk.packed for chunk in randomize_chunks(baskets, plan, entropy=entropy)]
    backend, m = LocalBackend.of(Reports(plan, np.concatenate(packed))), plan.items.transaction_size
    source, law = backend.open(), law_of_sizes(backend)
    supports: dict[tuple[int, ...], float] = {}
    errors: dict[tuple[int, ...], float] = {}
    level = np.arange(plan.n_items, dtype=np.int64)[:, None]
    for k in range(1, settings.itemset_size + 1):
        estimates = count_subsets(source, level).estimates()
        support, error = estimates.support, estimates.std_error(population=False)
        if law is not None:
            support, factors = undo_sampling(support, law, m, k)
            error = np.hypot(error * factors, support * law.undoing(m, k)[1])
        found = [tuple(row) for row in level.tolist()]
        supports |= dict(zip(found, support.tolist(), strict=True))
        errors |= dict(zip(found, error.tolist(), strict=True))
        level = _larger(level, support, top)
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
