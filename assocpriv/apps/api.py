"""What a data scientist types first: the steps from baskets to itemsets, with their usual defaults."""

import warnings
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assocpriv.client.basket_files import read_baskets
from assocpriv.client.baskets import Baskets, to_baskets
from assocpriv.client.bulk import randomize_chunks
from assocpriv.client.itemset import Randomizer
from assocpriv.core.entropy import SystemEntropy
from assocpriv.core.errors import BasketError
from assocpriv.core.plan import Plan
from assocpriv.files.reports import Reports, read_reports
from assocpriv.lab.planner import make_plan as plan
from assocpriv.server import itemsets as mined

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.lab.simulate import Simulation

__all__ = ["mine", "plan", "randomize", "randomize_baskets", "read_baskets", "simulate", "to_baskets"]


def randomize(transaction: Collection[str | int], plan: Plan) -> bytes:
    """Randomize one transaction with the operating system's entropy.

    Args:
        transaction: names of items of the plan's catalogue (an int 7 is the name "7"), none repeated; any
            number of them, also none.
        plan: the published plan.

    Returns:
        The report: ``plan.report_bytes`` bytes, all that may leave the device.

    Raises:
        BasketError: an item outside the catalogue or repeated.
        TypeError: not a collection of names.

    Source: EGS03, sections 5 and 6.
    """
    if isinstance(transaction, str | bytes) or not isinstance(transaction, Collection):
        raise TypeError("a transaction must be a set or list of item names; randomize_baskets takes many of them")
    index = plan.catalogue.index_of
    items = []
    for position, name in enumerate(transaction, 1):
        if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
            raise TypeError(f"item {position} must be a name (text or int), got a {type(name).__name__}")
        if str(name) not in index:
            raise BasketError(f"item {position} of the basket is not in the plan's catalogue; leave it out")
        items.append(index[str(name)])
    return Randomizer(plan).randomize(items, entropy=SystemEntropy())


def randomize_baskets(
    baskets: Any, plan: Plan, *, unknown: str = "error", progress: Callable[[int, int], None] | None = None
) -> Reports:
    """Randomize many baskets with the operating system's entropy.

    Args:
        baskets: :class:`Baskets`, a list of sets, or a data frame (see :func:`to_baskets`).
        plan: the published plan.
        unknown: ``error`` or ``drop``: what to do with items outside the plan's catalogue.
        progress: called with (baskets done, baskets).

    Raises:
        BasketError: baskets that do not fit the plan.
    """
    aligned, _ = to_baskets(baskets).aligned(plan.catalogue, unknown=unknown)
    parts = []
    done = 0
    for chunk in randomize_chunks(aligned, plan, entropy=SystemEntropy()):
        parts.append(chunk.packed)
        done += len(chunk.packed)
        if progress:
            progress(done, len(aligned))
    packed = np.concatenate(parts) if parts else np.empty((0, plan.report_bytes), dtype=np.uint8)
    return Reports(plan, packed)


def mine(
    reports: Reports | str | Path | Iterable[str | Path], min_support: float | str, **options: Any
) -> "pd.DataFrame":
    """Find frequent itemsets from reports, or from report files; see :func:`assocpriv.server.itemsets.mine`.

    Warns (UserWarning) of itemset sizes that these reports cannot decide at this support.
    """
    collection = reports if isinstance(reports, Reports) else read_reports(reports)
    frame = mined.mine(collection, min_support, **options)
    for line in mined.describe_undecided(mined.mining_facts(frame)):
        warnings.warn(line, stacklevel=2)
    return frame


def simulate(baskets: Any, plan: Plan, min_support: float | str, **options: Any) -> "Simulation":
    """Randomize baskets, mine, and compare with the truth; see :func:`assocpriv.lab.simulate.simulate`."""
    from assocpriv.lab.simulate import simulate as run

    aligned, _ = to_baskets(baskets).aligned(plan.catalogue)
    return run(aligned, plan, min_support, **options)


def sampling_loss(baskets: Baskets, transaction_size: int, itemset_size: int) -> dict[int, float]:
    """Return the share of support that sampling to M items loses, by itemset size k, averaged over all itemsets.

    A basket of L > M items keeps a k-itemset with probability C(M,k)/C(L,k); summed over the itemsets of all
    baskets, Σ C(min(L,M), k) / Σ C(L, k) survives. Uses sizes only.
    """
    from math import comb

    sizes, counts = np.unique(baskets.sizes, return_counts=True)
    losses = {}
    for k in range(1, itemset_size + 1):
        whole = sum(comb(s, k) * c for s, c in zip(sizes.tolist(), counts.tolist(), strict=True))
        left = sum(comb(min(s, transaction_size), k) * c for s, c in zip(sizes.tolist(), counts.tolist(), strict=True))
        losses[k] = 1 - left / whole if whole else 0.0
    return losses
