"""Draws of supports from the posterior of a mined table.

Supports are drawn from small itemsets to large ones. The error that all itemsets of a size have in common moves them
together, by one number a draw. A larger itemset's law depends on where in its own law the bound on it came out: of the
nodes of mixtures.py those two are taken, in between, that enclose it. What exceeds the bound is cut to it.
"""

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.itemsets import AnyFrame, LightFrame
from assocpriv.promise.errors import EstimateError
from assocpriv.promise.numbers import as_whole
from assocpriv.server.itemsets import mining_facts, parts_of
from assocpriv.server.mixtures import NODES
from assocpriv.server.undoing import shared_errors

_MOST = 10_000_000  # draws

Floats = NDArray[np.float64]


def draw_supports(itemsets: AnyFrame, count: int, seed: int) -> Floats:
    """Return supports, float64 (draws, itemsets), as :func:`assocpriv.draws`."""
    mining_facts(itemsets)  # refuses what is no such table
    number, chosen = as_whole(count), as_whole(seed)
    if number is None or not 1 <= number <= _MOST or chosen is None or chosen < 0:
        raise EstimateError(
            f"draws takes a number of draws from 1 to {_MOST:,} and a seed from 0, got {count!r} and {seed!r}"
        )
    frame, rng = LightFrame.of(itemsets), np.random.default_rng(chosen)
    rows = {itemset: row for row, itemset in enumerate(frame["itemsets"].tolist())}
    support, error = frame["support"], frame["std_error"]
    common = shared_errors(frame["common_error"] * support, frame["undoing_error"])
    parts, drawn = parts_of(frame), np.zeros((number, len(frame)))
    together = rng.standard_normal(number)
    for itemset, row in rows.items():  # smaller ones stand before larger ones
        shared = min(common[row], error[row])
        own = rng.standard_normal(number)
        if len(itemset) == 1:
            value = support[row] + shared * together + np.sqrt(error[row] ** 2 - shared**2) * own
            drawn[:, row] = np.clip(value, 0.0, 1.0)
            continue
        subsets = [rows[itemset - {name}] for name in itemset]
        bound = min(subsets, key=lambda each: (support[each], each))
        place = (drawn[:, bound] - support[bound]) / max(error[bound], 1e-12)
        mean, variance = _at(parts[row], place)
        value = mean + shared * together + np.sqrt(np.maximum(variance - shared**2, 0.0)) * own
        drawn[:, row] = np.clip(value, 0.0, drawn[:, subsets].min(axis=1))
    return drawn


def _at(parts: Floats, places: Floats) -> tuple[Floats, Floats]:
    """Return means and variances where the bound came out at so many of its deviations, (draws,) each."""
    order = np.argsort(NODES)
    means, deviations = (np.interp(places, NODES[order], parts[order, column]) for column in (1, 2))
    return means, deviations**2
