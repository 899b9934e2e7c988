"""assocpriv in one collection or two, by the plans that it proposes, and by the 2003 design, in the accuracy bench.

The planner is given what every peer is given: the number of items, the number of people, ε, and that itemsets of up to
four items are wanted. It assumes its default basket sizes, as ``assocpriv plan --items N --reports N --itemset-size 4``
does. With ``sizes_known`` it is given the exact sizes of the very baskets that report, which no collector has.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

import numpy as np

from assocpriv.client.bulk import randomize_chunks
from assocpriv.files.reports import Reports
from assocpriv.planning.baskets import make_plan
from assocpriv.planning.shortlist import refine
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.breaches import Breach
from assocpriv.records.baskets import Baskets, count_sizes
from assocpriv.server.counting import LocalBackend
from assocpriv.server.mining import MiningRequest, mine
from assocpriv.simulation.enumeration import SeededEntropy
from bench.accuracy.metrics import Estimates
from bench.accuracy.transactions import Transactions
from bench.accuracy.truth import LARGEST


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """How to plan: the options of ``make_plan``, and whether it is given the exact sizes of the baskets that report."""

    transaction_size: int | None = None
    itemset_size: int = LARGEST
    paper: bool = False
    sizes_known: bool = False

    def plan(self, baskets: Baskets, epsilon: float) -> Plan:
        """Return the plan for one report of each basket."""
        options = asdict(self)
        like = count_sizes(baskets) if options.pop("sizes_known") else None
        return make_plan(baskets.catalogue, promise_of(epsilon), reports=len(baskets), like=like, **options)


PAPER = PlanSettings(5, itemset_size=3, paper=True)
SIZES_KNOWN = PlanSettings(sizes_known=True)


def collect(
    transactions: Transactions, epsilon: float, top: int, rng: np.random.Generator, settings: PlanSettings
) -> Estimates:
    """Ask everybody once under one plan: its shipping client, its server code, supports in whole baskets if known."""
    baskets = baskets_of(transactions)
    return _told([reports_of(baskets, settings.plan(baskets, epsilon), _seed(rng))], 2 * top)


def collect_twice(
    transactions: Transactions, epsilon: float, top: int, rng: np.random.Generator, settings: PlanSettings
) -> Estimates:
    """Ask 40% of the people first, then the others about the likeliest items if that pays, else the same again."""
    order = rng.permutation(len(transactions))  # files may have one kind of people first
    first, others = (transactions.take(rows) for rows in np.split(order, [round(0.4 * len(order))]))
    baskets = baskets_of(first)
    plan = settings.plan(baskets, epsilon)
    reports = reports_of(baskets, plan, _seed(rng))
    refined = refine(mine(LocalBackend.of(reports), MiningRequest()), plan, reports=len(others))
    if not refined.short.pays:
        more = reports_of(baskets_of(others), plan, _seed(rng))
        return _told([Reports(plan, np.concatenate([reports.packed, more.packed]))], 2 * top)
    kept = np.array(sorted(map(int, refined.plan.catalogue)))
    fewer = others.restricted(kept)
    asked = Baskets(Catalogue(map(str, kept.tolist())), fewer.offsets, fewer.items)
    return _told([reports, reports_of(asked.aligned(refined.plan.catalogue)[0], refined.plan, _seed(rng))], 2 * top)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(1 << 62))


def reports_of(baskets: Baskets, plan: Plan, seed: int) -> Reports:
    """Return the reports of all baskets by the shipping client, from random words of a seed."""
    entropy = SeededEntropy(seed)
    return Reports(plan, np.concatenate([chunk.packed for chunk in randomize_chunks(baskets, plan, entropy=entropy)]))


def _told(collections: Sequence[Reports], top: int) -> Estimates:
    """Return what is mined of collections together, supports in whole baskets if known."""
    found = mine([LocalBackend.of(each) for each in collections], MiningRequest(top=top))
    named = [tuple(sorted(int(name) for name in names)) for names in found["itemsets"]]
    return Estimates(
        dict(zip(named, found["support"].tolist(), strict=True)),
        dict(zip(named, found["std_error"].tolist(), strict=True)),
    )


def baskets_of(transactions: Transactions) -> Baskets:
    """Return the same baskets as the package takes them, items named by their ids."""
    return Baskets(Catalogue.numbered(transactions.n_items), transactions.offsets, transactions.items)


def promise_of(epsilon: float) -> Breach:
    """Return the promise of a given ε: the posterior 1/2 from the prior 1 / (1 + e^ε), rounded against us."""
    limit = Fraction(math.floor(math.exp(epsilon) * 10**9), 10**9)
    return Breach(1 / (1 + limit), Fraction(1, 2))
