"""The number of blocks to cut a catalogue into, by expected squared error.

With it goes the number of items M that a report is made of. A report about one of g pieces (plans/view.py) is asked of
q_k·N people where an itemset of k items is estimated, q_k ≈ g^-k, and of a basket fewer items compete for M. For
itemsets of k items with support s, of which λ_k of their support is left of who is asked, the expected squared error is

    v_k(M; n_b) / (N q_k λ_k²)  +  s (1 − s) (1 / q_k − 1) / N  +  (β (1 − λ_k) s)²

The noise of the best design for the n_b = ⌈n/g⌉ entries of a block, whose M dummies follow; people as a sample of all;
and what undoing the loss may leave of it, β being LEFT_BIAS for rounds, which undo it, and more where supports are
read as those of whole baskets. g = 1 is no blocks. λ_k and q_k: server/undo_sampling.py.

How many blocks hold an itemset differs from one to the next, as partitions are random: a binomial number X. A design
that holds all triples equally often (an inversive plane, of order 7 on 50 points) would have the mean of X for all.
Against it random partitions make the variance E[1/X]·E[X] times as large: for 20 blocks that hold a triple 1.05 (its
error 2.6% larger), for 10 1.13; for pairs in the same blocks less than 1.01 (so against affine planes, of order 7 on 49
points). Designs exist for few n and g, so partitions are random, and the errors count it. Of 30 seeds the evenest
lowers the variance by 0.1% to 0.6% only, so there is one seed for all.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from assocpriv.planning.designs import (
    AnyDesign,
    Family,
    Floats,
    Focus,
    changing_patterns,
    fixed_size_families,
    insertion_families,
)
from assocpriv.plans.baskets import asked_share
from assocpriv.plans.view import MOST_CUT, Blocks
from assocpriv.promise.errors import PlanError
from assocpriv.server.posterior import LIFT
from assocpriv.server.undo_sampling import LEFT_BIAS, Sampling, SizeShares

TRANSACTION_SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15)
_MOST_USED_BLOCKS = 4096  # how many of them a server counts one by one
_BLOCKS_OF_AN_ITEMSET = 20  # that hold it, on average, of the largest itemsets
LEAST_BLOCKS = 5  # where even so many blocks do not hold it there would be itemsets in none
MOST_PIECES = 256
_MOST_FIXED_ITEMS = 400  # with the dummies; beyond, independent insertion is as good
_WORTH = 0.95  # blocks lower the squared error to this at least, or there are none
_NOTHING = "no operator within this promise lets supports be estimated"
_KEPT = 0.9995  # where so much is left a larger M only adds noise


@dataclass(frozen=True, slots=True)
class Survey:
    """What a collection is asked for, and whom: all that the expected squared error follows from.

    Attributes:
        n_items: entries of the catalogue.
        count: N, how many people report.
        limit: the γ that each report must stay strictly below.
        sizes: of baskets' transactions, before any sampling.
        focus: the itemset sizes k with their weights, and how many items of a typical itemset transactions hold.
        bias: β, how much of what sampling loses may be left as bias.
        holders: by k, of the transactions that hold a typical itemset, where that is known; by default a model says it.
        shrunk: whether estimates will be shrunk towards what was expected of supports, whose variance is about s²: a
            squared error V counts as V·s² / (V + s²) then.
    """

    n_items: int
    count: int
    limit: Fraction
    sizes: SizeShares
    focus: Focus
    bias: float = LEFT_BIAS
    shrunk: bool = False
    holders: Mapping[int, SizeShares] = field(default_factory=dict)

    def left(self, sampling: Sampling, k: int) -> float:
        """Return λ_k, which share of a typical itemset's support is left of who is asked about it."""
        if k in self.holders:
            return max(self.holders[k].held(sampling, k), 1e-3)
        return self.sizes.left(sampling, k, next(shares[-1] for size, _, shares in self.focus.sizes if size == k))

    def noise_weight(self, sampling: Sampling, k: int) -> float:
        """Return by how much noise N·v_k counts in the expected squared error of itemsets of k items."""
        return people_for_one(sampling, k, self.focus.largest) / (self.count * self.left(sampling, k) ** 2)

    def errors(self, sampling: Sampling, noise: Floats) -> Floats:
        """Return the expected squared errors of each itemset size, of noise N·v_k, float64 (designs, sizes)."""
        columns = []
        for (k, _, shares), of_size in zip(self.focus.sizes, noise.T, strict=True):
            support, left = shares[-1], self.left(sampling, k)
            people = people_for_one(sampling, k, self.focus.largest)
            error = of_size * self.noise_weight(sampling, k) + (self.bias * (1 - left) * support) ** 2
            error += support * (1 - support) * (people - 1) / self.count
            if self.shrunk:
                error = support**2 - support**4 / (error + support**2)  # of an infinite error, too
            columns.append(error)
        return np.column_stack(columns)


@dataclass(frozen=True, slots=True)
class Choice:
    """How reports are made, the best design for it, and the expected squared errors by itemset size and weighted."""

    sampling: Sampling
    design: AnyDesign
    errors: dict[int, float]
    error: float


def best_choice(
    survey: Survey, transaction_sizes: Sequence[int] = TRANSACTION_SIZES, pieces: Sequence[int] | None = None
) -> Choice:
    """Return the numbers of pieces and of items M with the least expected squared error, the best of :func:`choices`.

    Raises:
        PlanError: nothing can be estimated within the limit.
    """
    return designed(survey, best_of(choices(survey, transaction_sizes, pieces)).sampling, fine=True)


def choices(
    survey: Survey, transaction_sizes: Sequence[int] = TRANSACTION_SIZES, pieces: Sequence[int] | None = None
) -> list[Choice]:
    """Return the choice of M for each number of pieces g tried, increasing; the designs are the best of a few.

    ``pieces`` are these numbers, by default those of :func:`piece_choices` and then those near the best.
    """
    found = [_best_size(survey, cut, transaction_sizes) for cut in pieces or piece_choices(survey)]
    near = best_of(found).sampling.pieces
    if pieces is None and near > 1:
        more = {cut for cut in _around(near) if cut in _possible(survey)} - {each.sampling.pieces for each in found}
        found += [_best_size(survey, cut, transaction_sizes) for cut in more]
    return sorted(found, key=lambda choice: choice.sampling.pieces)


def best_of(found: Sequence[Choice]) -> Choice:
    """Return the choice of the least expected squared error; that without blocks where these gain less than 5%."""
    best = min(found, key=lambda choice: choice.error)
    without = [choice for choice in found if choice.sampling.pieces == 1]
    return without[0] if without and without[0].error * _WORTH <= best.error else best


def blocks_of(sampling: Sampling, itemset_size: int) -> Blocks | None:
    """Return the blocks that a plan publishes for itemsets of up to so many items, None for one piece."""
    pieces = sampling.pieces
    return None if pieces == 1 else Blocks(partitions(sampling.items, pieces, itemset_size), pieces)


def designed(survey: Survey, sampling: Sampling, *, fine: bool = False) -> Choice:
    """Return the design with the least expected squared error where reports are made so; more are tried if ``fine``."""
    m, items, focus = sampling.m, sampling.block_items + sampling.m, _unweighted(survey.focus)
    tables = [_noise(m, 0, survey.limit, focus, fine)]
    if m + focus.largest <= items <= _MOST_FIXED_ITEMS:
        tables.append(_noise(m, items, survey.limit, focus, fine))
    weights, found = np.array([weight for _, weight, _ in survey.focus.sizes]), []
    for families, starts, noise in tables:
        errors = survey.errors(sampling, noise)
        totals = np.where(np.isfinite(noise).all(axis=1), errors @ weights, np.inf)
        row = int(totals.argmin())
        found.append((float(totals[row]), errors[row], families, starts, row))
    least, of_sizes, families, starts, row = min(found, key=lambda each: each[0])
    if not math.isfinite(least):
        raise PlanError(_NOTHING)
    place = int(np.searchsorted(starts, row, side="right")) - 1
    family = families[place]
    pattern = changing_patterns(len(family.numbers), focus.largest)[row - int(starts[place])]
    by_size = {k: float(error) for (k, _, _), error in zip(focus.sizes, of_sizes, strict=True)}
    return Choice(sampling, family.design(pattern, least), by_size, least)


def piece_choices(survey: Survey) -> list[int]:
    """Return the numbers of pieces tried first, about half apart, 1 among them."""
    possible = _possible(survey)
    tried = [1]
    while (following := max(tried[-1] + 1, tried[-1] * 3 // 2)) in possible:
        tried.append(following)
    return tried


def partitions(n_items: int, pieces: int, itemset_size: int) -> int:
    """Return how often to cut a catalogue: itemsets of this size lie in 20 blocks on average, if 4,096 are enough.

    >>> partitions(100, 4, 3), partitions(10_000, 16, 3)
    (352, 256)
    """
    held = pieces * asked_share(n_items, pieces, itemset_size)  # by the blocks of one partition
    wanted = math.ceil(_BLOCKS_OF_AN_ITEMSET / held) if held else _MOST_USED_BLOCKS
    return max(min(wanted, _MOST_USED_BLOCKS // pieces, MOST_CUT // n_items), 1)


def _possible(survey: Survey) -> range:
    """Return the numbers of pieces whose blocks hold the largest itemsets often enough, 1 first."""
    largest, most = survey.focus.largest, 1

    def held(pieces: int) -> float:
        return (
            partitions(survey.n_items, pieces, largest) * pieces * float(asked_share(survey.n_items, pieces, largest))
        )

    while most < MOST_PIECES and survey.n_items // (most + 1) >= largest and held(most + 1) >= LEAST_BLOCKS:
        most += 1
    return range(1, most + 1)


def _around(pieces: int) -> list[int]:
    """Return numbers of pieces a sixth more and less, and a third."""
    return sorted({round(pieces * factor) for factor in (0.75, 0.87, 1.15, 1.3)} - {1})


def _best_size(survey: Survey, pieces: int, transaction_sizes: Sequence[int]) -> Choice:
    """Return the choice of M for so many pieces."""
    best, largest = None, survey.focus.largest
    for m in sorted(transaction_sizes):
        sampling = Sampling(m, survey.n_items, pieces)
        choice = _designed_or_none(survey, sampling) if m >= min(largest, max(transaction_sizes)) else None
        if choice is not None and (best is None or choice.error < best.error):
            best = choice
        if best is not None and survey.left(sampling, largest) > _KEPT:
            break
    if best is None:
        raise PlanError(_NOTHING)
    return best


def _designed_or_none(survey: Survey, sampling: Sampling) -> Choice | None:
    """Return the best design, None where nothing can be estimated with so large an M within the limit."""
    try:
        return designed(survey, sampling)
    except PlanError:
        return None


@lru_cache(maxsize=4096)
def people_for_one(sampling: Sampling, k: int, largest: int) -> float:
    """Return how many people report for one who is asked of a k-itemset: the mean of R·g/X, X of R·g blocks holding it.

    X is binomial, of R with the chance g·q_k; R is that for itemsets of ``largest`` items. Those with X = 0 are none.
    """
    pieces = sampling.pieces
    count, chance = partitions(sampling.items, pieces, largest), pieces * float(sampling.asked(k))
    if chance >= 1:
        return float(pieces)
    from scipy.special import gammaln

    x = np.arange(1.0, count + 1)
    ways = gammaln(count + 1.0) - gammaln(x + 1) - gammaln(count - x + 1)
    chances = np.exp(ways + x * math.log(chance) + (count - x) * math.log1p(-chance))
    return float(chances @ (count * pieces / x)) / float(chances.sum())


def typical_shares(k: int, support: float) -> tuple[float, ...]:
    """Return shares s_0 … s_k for an itemset of this support whose items are held independently but for the lift."""
    item = min((support / LIFT ** (k * (k - 1) / 2)) ** (1 / k), 0.9)
    below = [math.comb(k, held) * item**held * (1 - item) ** (k - held) for held in range(k)]
    return (*(share * (1 - support) / sum(below) for share in below), support)


# ---- the noise of all designs


def _unweighted(focus: Focus) -> Focus:
    return Focus(tuple((k, 1.0, shares) for k, _, shares in focus.sizes))


@lru_cache(maxsize=1024)
def _noise(
    m: int, items: int, limit: Fraction, focus: Focus, fine: bool
) -> tuple[list[Family[AnyDesign]], NDArray[np.int64], Floats]:
    """Return families of designs, the row at which each begins, and N·v_k of each design, float64 (rows, sizes).

    Those of independent insertion without ``items``, else those of a fixed size. Infinite where P is singular.
    """
    families: list[Family[AnyDesign]]
    if items:
        families = [*fixed_size_families(m, items, _report_sizes(items, focus.largest, 8 if fine else 3))]
    else:
        families = [*insertion_families(m, 7 if fine else 4)]
    tables = []
    for family in families:
        moments, singular = family.moments(float(limit), focus)(changing_patterns(len(family.numbers), focus.largest))
        tables.append(np.where(singular[:, None], np.inf, focus.noise(moments)))
    starts = np.cumsum([0, *map(len, tables[:-1])])
    return families, starts, np.concatenate(tables) if tables else np.full((1, len(focus.sizes)), np.inf)


def _report_sizes(items: int, smallest: int, fineness: int) -> list[int]:
    """Return the report sizes tried: all small ones, then every second, …: the error changes slowly with large ℓ."""
    sizes, size = [], smallest
    while size <= items // 2:
        sizes.append(size)
        size += max(1, size // fineness)
    return sizes
