"""Samples of supports from the posterior of a mined table.

Supports are drawn from small itemsets to large ones. The error common to all itemsets of a size shifts them together,
by one number per sample. The distribution of a larger itemset depends on the sampled value of its upper bound, the
rarest subset: it is interpolated between the two nodes of mixtures.py that enclose that value. Values above a sampled
subset are cut to it.
"""

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.mixtures import NODES
from assocpriv.estimation.truncation import shared_errors
from assocpriv.files.itemset_files import LightFrame
from assocpriv.files.mined_tables import posterior_components
from assocpriv.guarantees.errors import EstimateError
from assocpriv.guarantees.exact_numbers import as_whole

_MOST = 10_000_000  # samples

Floats = NDArray[np.float64]


def draw_supports(frame: LightFrame, count: int, seed: int) -> Floats:
    """Return sampled supports, float64 (samples, itemsets), as :func:`assocpriv.draws`."""
    number, chosen = as_whole(count), as_whole(seed)
    if number is None or not 1 <= number <= _MOST or chosen is None or chosen < 0:
        raise EstimateError(f"give 1 to {_MOST:,} samples and a seed of at least 0, got {count!r} and {seed!r}")
    rng = np.random.default_rng(chosen)
    rows = {itemset: row for row, itemset in enumerate(frame["itemsets"].tolist())}
    support, error = frame["support"], frame["std_error"]
    common = shared_errors(frame["common_error"] * support, frame["truncation_error"])
    components, samples = posterior_components(frame), np.zeros((number, len(frame)))
    common_normal = rng.standard_normal(number)
    for itemset in sorted(rows, key=len):
        row = rows[itemset]
        shared = min(common[row], error[row])
        own = rng.standard_normal(number)
        if len(itemset) == 1:
            value = support[row] + shared * common_normal + np.sqrt(error[row] ** 2 - shared**2) * own
            samples[:, row] = np.clip(value, 0.0, 1.0)
            continue
        subsets = [rows.get(itemset - {name}, -1) for name in sorted(itemset)]
        if -1 in subsets:
            raise EstimateError(f"the table lacks a subset of the itemset in row {row}; pass the whole table")
        rarest = min(subsets, key=lambda each: (support[each], each))
        scores = (samples[:, rarest] - support[rarest]) / max(error[rarest], 1e-12)
        mean, variance = _interpolate(components[row], scores)
        value = mean + shared * common_normal + np.sqrt(np.maximum(variance - shared**2, 0.0)) * own
        samples[:, row] = np.clip(value, 0.0, samples[:, subsets].min(axis=1))
    return samples


def _interpolate(components: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """Return means and variances where the bound lies this many deviations from its mean, (samples,) each."""
    order = np.argsort(NODES)
    means, deviations = (np.interp(scores, NODES[order], components[order, column]) for column in (1, 2))
    return means, deviations**2
