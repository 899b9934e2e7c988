"""Sums of released tuples, and what they are an unbiased estimate of where the plan mixes in chance.

A plan without a promise releases R(t) itself. Under a promise kept by ``tuple`` a report is R(u), of a uniformly random
tuple u, with probability q, so that E[r'r] = (1 − q)·E[R(t)'R(t)] + q·U with U = E[R(u)'R(u)], which the guidance
alone decides. Under one kept by ``bits`` each bit is that of R(t) with probability 1 − λ, else a fair coin's:
(r_j − λ/2)/(1 − λ) is unbiased for R(t)_j, independently for every bit, and its square is not needed, as a bit is its
own square.
"""

import math

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.guidance import WEIGHT_TOTAL, Guidance, bit_weights, mixing
from assocpriv.plans.guided import GuidedPlan

_TUPLES = 1 << 12  # of which U is a mean: all of them where there are no more


def class_sums(
    classes: NDArray[np.integer], bits: NDArray[np.uint8], n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of tuples of every class, int64 (classes,), and their sums of r'r, int64 (classes, w, w)."""
    counts = np.bincount(classes, minlength=n_classes).astype(np.int64)
    sums = np.zeros((n_classes, bits.shape[1], bits.shape[1]), dtype=np.int64)
    for place in np.flatnonzero(counts):
        rows = bits[classes == place].astype(np.float64)  # sums of bits are exact in floats, and faster there
        sums[place] = (rows.T @ rows).astype(np.int64)
    return counts, sums


def corrected(
    counts: NDArray[np.int64], sums: NDArray[np.int64], plan: GuidedPlan, guidance: Guidance
) -> NDArray[np.float64]:
    """Return what the classes' sums of R(t)'R(t) are estimated to be, float64 (classes, w, w), without bias.

    Args:
        counts: tuples of each class that answered the guidance, int64 (classes,).
        sums: their sums of r'r, int64 (classes, w, w).
        plan: the published plan.
        guidance: what they answered.
    """
    return _CORRECTIONS[plan.keep](counts, sums.astype(np.float64), plan, guidance)


def _as_they_are(
    _counts: NDArray[np.int64], sums: NDArray[np.float64], _plan: GuidedPlan, _guidance: Guidance
) -> NDArray[np.float64]:
    return sums


def _without_tuples(
    counts: NDArray[np.int64], sums: NDArray[np.float64], plan: GuidedPlan, guidance: Guidance
) -> NDArray[np.float64]:
    share = float(mixing(plan, guidance))
    expected = counts[:, None, None] * share * random_products(plan, guidance)
    return (sums - expected) / (1 - share)


def _without_coins(
    counts: NDArray[np.int64], sums: NDArray[np.float64], plan: GuidedPlan, guidance: Guidance
) -> NDArray[np.float64]:
    share = float(mixing(plan, guidance))
    if share == 1:  # nothing but coins: they say nothing of anybody
        return np.zeros_like(sums)
    ones, n = np.diagonal(sums, axis1=1, axis2=2), counts[:, None]
    off = sums - share / 2 * (ones[:, :, None] + ones[:, None, :]) + n[:, :, None] * share**2 / 4
    off /= (1 - share) ** 2
    places = np.arange(sums.shape[1])
    off[:, places, places] = (ones - n * share / 2) / (1 - share)
    return off


_CORRECTIONS = {None: _as_they_are, "tuple": _without_tuples, "bits": _without_coins}


def random_products(plan: GuidedPlan, guidance: Guidance) -> NDArray[np.float64]:
    """Return U = E[R(u)'R(u)], float64 (w, w), of uniformly random tuples u.

    It is the mean over all tuples of the plan, or, where there are more than 4,096, over so many random ones, other
    ones for each guidance and the same ones each time: without bias, and with the error of so many reports at most.
    """
    sizes = np.array(plan.sizes)
    if math.prod(plan.sizes) <= _TUPLES:
        positions = np.stack(np.unravel_index(np.arange(math.prod(plan.sizes)), plan.sizes), axis=1)
    else:
        rng = np.random.default_rng([int(guidance.plan_id, 16), guidance.serial])
        positions = rng.integers(0, sizes, (_TUPLES, len(sizes)))
    shares = bit_weights(guidance, plan, positions) / WEIGHT_TOTAL
    products: NDArray[np.float64] = shares.T @ shares / len(shares)
    np.fill_diagonal(products, shares.mean(axis=0))
    return products
