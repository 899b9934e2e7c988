"""assocpriv in the accuracy bench: one collection or two, with its own plans and with the 2003 design.

The planner gets the same information as every peer: the numbers of items and people, ε, and the size of wanted itemsets
(up to four items). It assumes its default basket sizes, as ``assocpriv plan --items N --reports N --itemset-size 4``
does. With ``sizes_known`` it gets the exact sizes of the baskets that report, which no collector has.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

import numpy as np

from assocpriv.client.baskets.bulk_client import randomize_chunks
from assocpriv.files.report_files import Reports
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.planning.basket_planner import make_plan
from assocpriv.planning.collection_rounds import choose_rounds
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.records.baskets import Baskets, count_sizes
from assocpriv.server.baskets.counting import LocalBackend
from assocpriv.server.baskets.mining import MiningRequest, mine
from assocpriv.simulation.basket_rounds import randomize_rounds
from assocpriv.simulation.enumeration import SeededEntropy
from bench.accuracy.metrics import LARGEST, Estimates
from bench.accuracy.transactions import Transactions


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """Options of ``make_plan``, and whether it gets the exact sizes of the baskets that report."""

    transaction_size: int | None = None
    itemset_size: int = LARGEST
    paper: bool = False
    sizes_known: bool = False

    def plan(self, baskets: Baskets, epsilon: float) -> Plan:
        """Return the plan for one report of each basket."""
        options = asdict(self)
        like = count_sizes(baskets) if options.pop("sizes_known") else None
        return make_plan(baskets.catalogue, guarantee_of(epsilon), reports=len(baskets), sample=like, **options)


PAPER = PlanSettings(5, itemset_size=3, paper=True)
SIZES_KNOWN = PlanSettings(sizes_known=True)


def collect(
    transactions: Transactions, epsilon: float, top: int, rng: np.random.Generator, settings: PlanSettings
) -> Estimates:
    """Collect one report per person under one plan with the released client and server; supports in whole baskets."""
    baskets = baskets_of(transactions)
    return _mined([reports_of(baskets, settings.plan(baskets, epsilon), _seed(rng))], 2 * top)


def collect_twice(
    transactions: Transactions, epsilon: float, top: int, rng: np.random.Generator, settings: PlanSettings
) -> Estimates:
    """Collect in two rounds: items and sizes from half of the people, the likeliest items from the others."""
    baskets = baskets_of(transactions)
    like = count_sizes(baskets) if settings.sizes_known else None
    first = choose_rounds(baskets.catalogue, guarantee_of(epsilon), rounds=2, reports=len(baskets), sample=like)
    both = randomize_rounds(baskets, first.plan, entropy=SeededEntropy(_seed(rng)))
    return _mined([both.first, both.second], 2 * top)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(1 << 62))


def reports_of(baskets: Baskets, plan: Plan, seed: int) -> Reports:
    """Return the reports of all baskets by the released client, with seeded random words."""
    entropy = SeededEntropy(seed)
    return Reports(plan, np.concatenate([chunk.packed for chunk in randomize_chunks(baskets, plan, entropy=entropy)]))


def _mined(collections: Sequence[Reports], top: int) -> Estimates:
    """Mine collections together; supports refer to whole baskets where the plan estimates them."""
    found = mine([LocalBackend.from_reports(each) for each in collections], MiningRequest(top=top))
    named = [tuple(sorted(int(name) for name in names)) for names in found["itemsets"]]
    return Estimates(
        dict(zip(named, found["support"].tolist(), strict=True)),
        dict(zip(named, found["std_error"].tolist(), strict=True)),
    )


def baskets_of(transactions: Transactions) -> Baskets:
    """Return the baskets in the package's type, items named by their ids."""
    return Baskets(Catalogue.numbered(transactions.n_items), transactions.offsets, transactions.items)


def guarantee_of(epsilon: float) -> Guarantee:
    """Return the guarantee of a given ε: the prior 1 / (1 + e^ε), rounded against us, to the posterior 1/2."""
    limit = Fraction(math.floor(math.exp(epsilon) * 10**9), 10**9)
    return Guarantee(1 / (1 + limit), Fraction(1, 2))
