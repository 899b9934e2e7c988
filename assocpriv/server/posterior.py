"""Posteriors of supports: what all rounds of reports let expect of them, with what may be published.

**What sampling lost.** A transaction of c > M items keeps a k-itemset with probability κ(c) = C(M,k)/C(c,k), so what
reports estimate without bias is s' = Σ_c P(c)·P(A ⊆ t | c)·κ(c) (κ = 1 up to M), less than the support
s = Σ_c P(c)·P(A ⊆ t | c). With the distribution of sizes known from reports (never from raw data) one number an itemset
is left to guess, how P(A ⊆ t | c) grows with c. The model: every k-subset of a transaction is A with the same small
probability θ,

    P(A ⊆ t | c) = 1 − (1 − θ)^C(c,k)

so θ follows from s', and s from θ. It is a model: on real baskets a few percent to a fifth of what sampling loses is
left as bias, in either direction (bench/accuracy), and no standard error covers that.

Where sizes are hidden, the dummies tell them: dummy d is in the padded transaction iff it holds at most M − 1 − d
items, so their supports are the distribution function of the size up to M − 1.

**Rounds.** An estimate is a support with the variance of its error, the bias that undoing the sampling may leave
included. Two estimates of the same support from different people are averaged, each weighted by the inverse of its
variance. What is asked about in a later round was chosen because earlier estimates of it came out high: of thousands of
noisy items the largest are mostly noise. The average of all rounds ranks, after shrinking, which allows for that.
Published is what is unbiased given the choice (:func:`after_choice`), with errors that hold, whatever ranked it.

**Shrinking** draws estimates toward what other itemsets let expect. Items are many and most of them rare; how their
supports are distributed is estimated from all of them (Prior). Pairs are many and noisy, so a pair is shrunk toward the
product of its items' supports with a lift of LIFT on average, spread as widely as it is large, or less widely where all
pairs that were measured tell so; or, for a few pairs in a hundred that are patterns, toward any support that their
items allow. Which of the two it is, the estimate tells by its likelihood (Bayes). Both remain, as two modes: a pair may
be unlikely to be frequent and yet worth asking about. An itemset of k ≥ 3 items is guessed from its subsets: the
geometric mean of the most that they allow and the least of

    s(A∖i)·s(A∖j) / s(A∖ij),    i, j ∈ A,

the support were i and j independent given the rest; what was measured is averaged with the guess in the same way. All
this lowers the error of a ranking, and it is no longer unbiased.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, groupby
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.baskets import asked_share
from assocpriv.server.supports import normal_quantile

Floats = NDArray[np.float64]
# Of what undoing the sampling changes, this much may be wrong: for the choice of M, as a weight beside noise, and as
# what tables of several rounds state. One number for the three: over Groceries, T10I4D100K and generated baskets
# (300,000 people, three rounds, ε = 1 and ln 19, three seeds) .3 as the weight finds .780 of the top 64, .5 finds .793,
# with a standard error of .008 of the difference; 1.0 for the choice of M had cost 15 to 25 points. Rounds publish
# all of the change (:func:`published`): a choice should be near the best, an interval should hold.
LEFT_BIAS = 0.5
_LARGEST_SIZE = 200
_THETA = np.geomspace(1e-12, 1.0, 2048)[:-1]
Itemset = tuple[int, ...]
_LEAST_VARIANCE = 1e-10  # a variance is never taken for zero
_FAR = 8.0  # standard deviations: beyond, the tail of a normal law is taken by its asymptote
# how much likelier a pair is than its items' product, for shrinking pairs and for planning to ask about them; 1.5 for
# planning finds .793 of the top 64 and 1.3 finds .796 (data and noise as of LEFT_BIAS)
LIFT = 1.3
MOST_GUESSED = 5_000  # itemsets of one size, those of the largest upper bounds
_POOL = 3  # as many times the itemsets wanted are items that pairs are made of
_EXPLORED = 0.5  # itemsets grow where they may have this share of the support of the last wanted one
_PATTERNS = 0.02  # share of pairs that are more than chance
_SPREAD = 0.8  # of a pair's support around its guess, relative
_LARGER_PATTERNS = 0.2  # of larger itemsets whose subsets are all frequent
_CLOSER = 0.5  # of a larger itemset's
_SCALES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.125)  # times these spreads: reports tell which
_POINTS, _STEPS, _CLEAR = 161, 200, 8.0
_LEVEL = 0.95
_REACH = normal_quantile(_LEVEL)


# ---- sampling


@dataclass(frozen=True, slots=True)
class Sampling:
    """What of a basket a report is about: at most ``m`` sampled items, with blocks of those in the block it names.

    The catalogue has ``items`` entries, cut into ``pieces`` at random (plans/view.py); 1 is no blocks.
    """

    m: int
    items: int = 0
    pieces: int = 1

    @property
    def block_items(self) -> int:
        """Number of entries that a report is made for: those of the longest blocks."""
        return -(-self.items // self.pieces)

    def asked(self, k: int) -> Fraction:
        """Return q_k, the share of the people who are asked about an itemset of k items: whose block holds it whole.

        Of the g pieces n mod g have ⌈n/g⌉ entries and the others ⌊n/g⌋; one of b holds it with Π_{i<k} (b − i)/(n − i).

        >>> [str(Sampling(2, 7, 3).asked(k)) for k in (1, 2, 3)]
        ['1/3', '5/63', '1/105']
        """
        return asked_share(self.items, self.pieces, k) if self.pieces > 1 else Fraction(1)

    def kept(self, sizes: NDArray[np.int64], k: int) -> Floats:
        """Return κ(c) for sizes c: the share of its k-itemsets that a report keeps of those that it is about.

        Of a transaction of c items that holds an itemset A, and a block of b entries that holds A, the c − k others lie
        in the block as b − k of the n − k other entries do, drawn at random: hypergeometrically.
        """
        if self.pieces == 1:
            return kept_shares(sizes, self.m, k)
        asked, total = float(self.asked(k)), np.zeros(len(sizes))
        if not asked:
            return np.ones(len(sizes))
        others = tuple(np.clip(sizes - k, 0, self.items - k).tolist())
        for block, share in self._lengths(k):
            if share:
                chances = _chances_within(others, self.items - k, block - k)
                total += float(share) / asked * (chances @ kept_shares(k + np.arange(chances.shape[1]), self.m, k))
        return total

    def longer(self, sizes: NDArray[np.int64]) -> Floats:
        """Return for sizes c the chance that such a transaction has more than m items of what it is asked about."""
        if self.pieces == 1:
            return (sizes > self.m).astype(np.float64)
        total, others = np.zeros(len(sizes)), tuple(np.clip(sizes, 0, self.items).tolist())
        for block, share in self._lengths(0):
            total += float(share) * _chances_within(others, self.items, block)[:, self.m + 1 :].sum(axis=1)
        return total

    def _lengths(self, k: int) -> list[tuple[int, Fraction]]:
        """Return the blocks' two lengths, and for each the chance that a device draws such a one and A lies in it."""
        short, longer = divmod(self.items, self.pieces)
        counts = [(short + 1, longer), (short, self.pieces - longer)]
        return [(b, Fraction(count, self.pieces) * Fraction(comb(b, k), comb(self.items, k))) for b, count in counts]


@lru_cache(maxsize=128)
def _chances_within(others: tuple[int, ...], entries: int, block: int) -> Floats:
    """Return the chances that 0, 1, … of so many others lie in so long a part of entries, (sizes, most + 1)."""
    from scipy.special import gammaln

    logs = gammaln(np.arange(entries + 2.0))[1:]  # of 0!, 1!, …
    c = np.array(others, dtype=np.int64)[:, None]
    x = np.arange(min(c.max(initial=0), block) + 1)[None, :]
    possible = (x <= c) & (block - x <= entries - c)
    rest, outside = np.maximum(c - x, 0), np.maximum(entries - c - block + x, 0)
    ways = logs[c] - logs[x] - logs[rest] + logs[entries - c] - logs[block - x] - logs[outside]
    chances: Floats = np.where(possible, np.exp(ways - logs[entries] + logs[block] + logs[entries - block]), 0.0)
    return chances


@dataclass(frozen=True, slots=True)
class SizeShares:
    """Estimated distribution of transactions' sizes: ``shares[i]`` of them have ``sizes[i]`` items; shares sum to 1.

    ``sizes`` int64 increasing, ``shares`` float64, not negative.
    """

    sizes: NDArray[np.int64]
    shares: Floats

    @property
    def mean(self) -> float:
        """Mean size."""
        return float(self.sizes @ self.shares)

    @property
    def variance(self) -> float:
        """Variance of the size."""
        return float((self.sizes - self.mean) ** 2 @ self.shares)

    def thinned(self, mean: float) -> "SizeShares":
        """Return the sizes' distribution if every item stayed with the same probability, so that ``mean`` are left."""
        from scipy.special import gammaln, xlog1py, xlogy

        keep = min(1.0, mean / self.mean) if self.mean > 0 else 0.0
        largest = int(self.sizes[-1])
        left = np.zeros(largest + 1)
        for size, share in zip(self.sizes.tolist(), self.shares.tolist(), strict=True):
            if share > 0:
                x = np.arange(size + 1)
                ways = gammaln(size + 1) - gammaln(x + 1) - gammaln(size - x + 1)
                left[: size + 1] += share * np.exp(ways + xlogy(x, keep) + xlog1py(size - x, -keep))
        return SizeShares(np.arange(largest + 1), left / left.sum())

    def within(self, supports: Floats) -> "SizeShares":
        """Return the distribution of how many of some items transactions hold, the items having these supports.

        Of transactions of c items each item's odds are multiplied by one number, so that c / (mean size) times as many
        are held as on average, and given c items are held independently.
        """
        chances = np.clip(supports, 1e-9, 1 - 1e-9)
        held = np.minimum(self.sizes * chances.sum() / max(self.mean, 1e-9), 0.999 * len(chances))
        shifts = _shifts(np.log(chances / (1 - chances)), held)
        each = 1 / (1 + np.exp(-(np.log(chances / (1 - chances))[None, :] + shifts[:, None])))
        each[self.sizes == 0] = 0.0
        counts = np.zeros((len(self.sizes), len(chances) + 1))
        counts[:, 0] = 1.0
        for chance in each.T[:, :, None]:
            counts[:, 1:] = counts[:, 1:] * (1 - chance) + counts[:, :-1] * chance
            counts[:, :1] *= 1 - chance
        shares = self.shares @ counts
        return SizeShares(np.arange(len(shares)), shares / shares.sum())

    def left(self, sampling: Sampling, k: int, support: float = 0.0) -> float:
        """Return which share of an itemset's support is left of what is asked about, k items being held by this model.

        Where ``support`` is small, transactions hold it in proportion to their k-subsets; a larger one spreads.
        """
        held = self.shares * self._holding(k, support)
        total = float(held.sum())
        return max(float(held @ sampling.kept(self.sizes, k)) / total, 1e-3) if total > 0 else 1.0

    def held(self, sampling: Sampling, k: int) -> float:
        """Return which share is left of the support of itemsets of k items that transactions of these sizes hold."""
        return float(self.shares @ sampling.kept(self.sizes, k))

    def _holding(self, k: int, support: float) -> Floats:
        """Return P(A ⊆ t | c) for every size, in proportion: that of the θ whose support comes nearest, and C(c, k)."""
        ways = np.array([float(comb(c, k)) for c in self.sizes.tolist()])
        if support <= 0:
            return ways
        holding = -np.expm1(np.log1p(-_THETA[::4])[:, None] * ways)
        nearest: Floats = holding[int(np.abs(holding @ self.shares - support).argmin())]
        return nearest

    def capped(self, most: int) -> "SizeShares":
        """Return the distribution of the lesser of the size and a number."""
        if self.sizes[-1] <= most:
            return self
        sizes, place = np.unique(np.minimum(self.sizes, most), return_inverse=True)
        shares = np.bincount(place, self.shares).astype(np.float64)
        return SizeShares(sizes, shares)

    def grouped(self) -> "SizeShares":
        """Return a distribution of some dozens of sizes at most: beyond 32 those are one that lie a sixteenth apart."""
        beyond = np.floor(16 * np.log(np.maximum(self.sizes, 32) / 32))
        _, group = np.unique(np.minimum(self.sizes, 32) + beyond, return_inverse=True)
        shares = np.bincount(group, self.shares)
        means = np.bincount(group, self.shares * self.sizes) / np.maximum(shares, 1e-300)
        some = shares > 1e-9
        return SizeShares(np.rint(means[some]).astype(np.int64), shares[some] / shares[some].sum())


def _shifts(logits: Floats, sums: Floats) -> Floats:
    """Return what to add to logits so that their chances have these sums, by bisection, float64 as ``sums``."""
    low, high = np.full(len(sums), -40.0), np.full(len(sums), 40.0)
    for _ in range(50):
        middle = (low + high) / 2
        below = (1 / (1 + np.exp(-(logits[None, :] + middle[:, None])))).sum(axis=1) < sums
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    shifts: Floats = (low + high) / 2
    return shifts


@dataclass(frozen=True, slots=True)
class Histogram:
    """What reports say of transactions' sizes: ``shares`` of the buckets, not clipped, and their standard ``errors``.

    ``bounds`` are the buckets' least sizes, int64 (buckets,) from 0; the others are float64 (buckets,).
    """

    bounds: NDArray[np.int64]
    shares: Floats
    errors: Floats

    def fitted(self) -> SizeShares:
        """Return the smooth distribution of sizes nearest to it (:func:`fit_sizes`)."""
        return fit_sizes(self.shares, self.errors, self.bounds)


def kept_shares(sizes: NDArray[np.int64], m: int, k: int) -> Floats:
    """Return κ(c) for sizes c: the share of its k-itemsets that a transaction sampled to m items keeps."""
    return np.array([1.0 if c <= m else comb(m, k) / comb(c, k) for c in sizes.tolist()])


def undo_sampling(supports: Floats, sizes: SizeShares, sampling: Sampling, k: int) -> tuple[Floats, Floats]:
    """Return supports before transactions of these sizes were sampled, and the factor of their errors.

    ``supports`` are estimates of s' for itemsets of k items, float64 (itemsets,), not clipped.

    >>> half = SizeShares(np.array([2, 4]), np.array([0.5, 0.5]))
    >>> undo_sampling(np.array([0.0]), half, Sampling(2), 1)[1].round(3).tolist()
    [1.5]
    """
    surviving, ways = sampling.kept(sizes.sizes, k), np.array([float(comb(c, k)) for c in sizes.sizes.tolist()])
    holding = -np.expm1(np.log1p(-_THETA)[:, None] * ways)  # P(A ⊆ t | c), (θ, sizes)
    before, after = holding @ sizes.shares, holding @ (sizes.shares * surviving)
    if not before[-1] > 0:
        return supports.copy(), np.ones(len(supports))
    # the slope at support 0, for small ones
    first = float(sizes.shares @ ways) / float(sizes.shares @ (ways * surviving))
    rising = np.append(True, after[1:] > np.maximum.accumulate(after)[:-1])  # a θ that changes nothing has no slope
    before, after = before[rising], after[rising]
    slopes = np.gradient(before, after)
    inside = np.clip(supports, 0.0, after[-1])
    corrected = np.interp(inside, np.append(0.0, after), np.append(0.0, before))
    factors = np.interp(inside, np.append(0.0, after), np.append(first, slopes))
    corrected += np.where(supports < 0, supports * first, 0.0)
    corrected += np.maximum(supports - after[-1], 0.0)
    return corrected, np.maximum(factors, 1.0)


def support_bounds(
    supports: tuple[Floats, Floats], histogram: Histogram, m: int, k: int, *, errors: float
) -> tuple[Floats, Floats]:
    """Return the least and the largest support of baskets with such a histogram of sizes, whoever holds an itemset.

    Of s = Σ_c P(c)·p_c with Σ_c P(c)·p_c·κ(c) = s', 0 ≤ p_c ≤ 1, sizes c ≥ k: where the shortest baskets hold the
    itemset s is least, where the longest do it is largest. Buckets have their least sizes for the one and their
    greatest for the other. The last bucket has none: what it holds may vanish by sampling (κ = 0). Both bounds move
    outward as more baskets are short (long), so the shares added up from that end are taken at their upper limits,
    ``errors`` standard errors up. Buckets' errors count as independent: of reports that show one bucket each, as plans
    of a histogram have them, they are correlated negatively, and sums are surer.

    ``supports`` are the least and the largest s' that are possible, for itemsets of k items, float64 (itemsets,) each.

    >>> half = Histogram(np.array([0, 2, 3, 4, 5]), np.array([0.0, 0.5, 0.0, 0.5, 0.0]), np.zeros(5))
    >>> [bound.tolist() for bound in support_bounds((np.array([0.125]),) * 2, half, 2, 1, errors=0.0)]
    [[0.125], [0.25]]
    """
    greatest = histogram.bounds[1:] - 1
    kept = kept_shares(np.maximum(histogram.bounds, k), m, k), np.append(kept_shares(greatest, m, k), 0.0)
    able = np.flatnonzero(np.append(greatest >= k, True))

    def reached(wanted: Floats, order: NDArray[np.int64], kept: Floats) -> Floats:
        sums = np.cumsum(histogram.shares[order]) + errors * np.sqrt(np.cumsum(histogram.errors[order] ** 2))
        sums = np.clip(np.maximum.accumulate(sums), 0.0, 1.0)
        left = np.cumsum(np.diff(sums, prepend=0.0) * kept[order])
        result: Floats = np.interp(wanted, np.append(0.0, left), np.append(0.0, sums))
        return result

    # just above 0 the last bucket, of which nothing need be left, is held whole
    largest = np.maximum(supports[1], np.finfo(np.float64).tiny)
    return reached(supports[0], able, kept[0]), reached(largest, able[::-1], kept[1])


def shares_from_dummies(cumulative: Floats, tail: SizeShares) -> SizeShares:
    """Return the distribution of sizes from the dummies' supports, and beyond M − 1 from what is known elsewhere.

    ``cumulative`` are estimates of P(size ≤ 0), … P(size ≤ M − 1), float64 (M,): the dummies' supports, last first.
    """
    from scipy.optimize import isotonic_regression

    m = len(cumulative)
    rising = np.clip(isotonic_regression(cumulative).x, 0.0, 1.0)
    beyond = tail.sizes >= m
    shape = tail.shares[beyond]
    large = tail.sizes[beyond] if shape.sum() > 0 else np.array([m])
    shape = shape / shape.sum() if shape.sum() > 0 else np.array([1.0])
    return SizeShares(
        np.concatenate([np.arange(m), large]), np.concatenate([np.diff(rising, prepend=0.0), (1 - rising[-1]) * shape])
    )


def fit_sizes(shares: Floats, errors: Floats, bounds: NDArray[np.int64]) -> SizeShares:
    """Return a smooth distribution of sizes from a bucketed histogram: the negative binomial nearest to it.

    A histogram of few people is noisy; two parameters, weighted by the errors, keep what it does show. ``shares`` are
    estimates of each bucket's share, float64 (buckets,), not clipped, and ``errors`` theirs; ``bounds`` the least size
    of each bucket, int64 (buckets,), from 0. Sizes go up to 200 or five times the last.
    """
    from scipy.optimize import least_squares
    from scipy.special import gammaln, xlogy

    sizes = np.arange(max(_LARGEST_SIZE, 5 * int(bounds[-1])) + 1)
    bucket = np.searchsorted(bounds, sizes, side="right") - 1

    def law(parameters: Floats) -> Floats:
        mean, spread = np.exp(np.clip(parameters, -7.0, 7.0))
        logs = gammaln(sizes + spread) - gammaln(spread) - gammaln(sizes + 1.0)
        logs = logs + xlogy(sizes, mean / (mean + spread)) + spread * np.log(spread / (mean + spread))
        weights = np.maximum(np.exp(logs), 1e-300)  # so that each bucket can be given what was measured
        result: Floats = weights / weights.sum()
        return result

    def misfit(parameters: Floats) -> Floats:
        wanted = np.bincount(bucket, law(parameters), minlength=len(shares))
        return np.divide(wanted - shares, np.maximum(errors, 1e-9))

    rough = float(np.clip(shares, 0, 1) @ bounds)
    fits = [least_squares(misfit, np.log([max(rough, 0.5), spread])) for spread in (0.5, 2.0, 20.0)]
    best = min(fits, key=lambda fit: float(fit.cost))
    smooth = law(best.x)
    # what the histogram shows beyond its noise replaces the model, bucket by bucket
    modelled = np.bincount(bucket, smooth, minlength=len(shares))
    noise = np.maximum(errors, 1e-12) ** 2
    trust = 1 - noise / np.maximum((shares - modelled) ** 2, noise)
    smooth *= (np.clip(modelled + trust * (shares - modelled), 0.0, None) / modelled)[bucket]
    return SizeShares(sizes, smooth / smooth.sum())


# ---- rounds


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is known of a support: what is published of it, and what is to be expected.

    ``support`` is published, with ``variance`` that of its error, what undoing the sampling may have left included.
    ``expected`` is the mean after shrinking, which ranks; ``spread`` the variance of the true support around that.
    ``modes`` is how the true support is distributed: (probability, mean, variance) of normal parts, none of it
    beyond ``most``.
    """

    support: float
    variance: float
    expected: float
    spread: float
    modes: tuple[tuple[float, float, float], ...] = ()
    most: float = 1.0

    def chance(self, least: float) -> float:
        """Return the probability that the true support is ``least`` or more."""
        if least > self.most:
            return 0.0
        modes = self.modes or ((1.0, self.expected, self.spread),)
        return sum(
            p * math.erfc((least - mean) / math.sqrt(2 * max(var, _LEAST_VARIANCE))) / 2 for p, mean, var in modes
        )


Knowledge = dict[Itemset, Estimate]


class Average(NamedTuple):
    """An average of estimates of one support: the variance of its noise, and the bias that is to be expected in it.

    ``change`` is all that undoing the sampling changed: it may be wrong by so much.
    """

    support: float
    variance: float
    bias: float = 0.0
    change: float = 0.0

    @property
    def error(self) -> float:
        """The mean squared error that is to be expected."""
        return self.variance + self.bias**2


def measured(support: float, variance: float) -> Estimate:
    """Return an estimate that nothing else is known about.

    >>> measured(0.25, 0.5).expected
    0.25
    """
    return Estimate(support, variance, support, variance)


def as_knowledge(itemsets: Sequence[Itemset], supports: Floats, variances: Floats) -> Knowledge:
    """Return what was measured of itemsets, float64 (itemsets,) each."""
    values = zip(itemsets, supports.tolist(), variances.tolist(), strict=True)
    return {itemset: measured(support, variance) for itemset, support, variance in values}


def average(estimates: Sequence[Average]) -> Average:
    """Return the average of estimates of one support, weighted by the inverse of their expected errors.

    Noise averages out, the bias does not: one model has corrected all of them.

    >>> average([Average(0.25, 1.0), Average(0.75, 1.0)])
    Average(support=0.5, variance=0.5, bias=0.0, change=0.0)
    """
    weights = [1 / max(each.error, _LEAST_VARIANCE) for each in estimates]
    shares = [weight / sum(weights) for weight in weights]
    return Average(
        sum(share * each.support for share, each in zip(shares, estimates, strict=True)),
        sum(share**2 * each.variance for share, each in zip(shares, estimates, strict=True)),
        sum(share * each.bias for share, each in zip(shares, estimates, strict=True)),
        sum(share * each.change for share, each in zip(shares, estimates, strict=True)),
    )


def ranked(knowledge: Knowledge, count: int) -> list[Itemset]:
    """Return the ``count`` itemsets expected to be the most frequent, of equals the smaller and first ones."""
    return sorted(knowledge, key=lambda itemset: (-knowledge[itemset].expected, len(itemset), itemset))[:count]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was measured, by itemset: ``all``, the average of all rounds, and ``fresh``, of what may be published.

    The fresh estimate is of people who were asked after the itemset had been chosen; earlier ones count as far as the
    choice tells nothing of them (:func:`after_choice`).
    """

    all: dict[Itemset, Average]
    fresh: dict[Itemset, Average]

    def joined(self, itemsets: Sequence[Itemset], estimates: Sequence[Average], cuts: Sequence[float]) -> "Evidence":
        """Return the evidence with a round's estimates of itemsets, chosen by estimates above these cuts."""
        every, fresh = dict(self.all), dict(self.fresh)
        for itemset, now, cut in zip(itemsets, estimates, cuts, strict=True):
            every[itemset] = average([every[itemset], now]) if itemset in every else now
            fresh[itemset] = after_choice(fresh[itemset], now, cut) if itemset in fresh else now
        return Evidence(every, fresh)


def after_choice(before: Average, now: Average, cut: float) -> Average:
    """Return an estimate that is unbiased given that the earlier one of two lay above a cut, and its variance.

    It is the mean of the later one given the average of both and the choice: the average, where the earlier one lies
    far above the cut, and hardly more than the later one near it. No other estimate that is unbiased given the choice
    has a smaller variance. Where the earlier one lies below the cut something else was chosen by, and the later one is
    left; so it is with a cut of infinity.

    Source: Cohen and Sackrowitz, Two stage conditionally unbiased estimators of the selected mean, 1989.

    >>> before, now = Average(0.5, 1.0), Average(0.25, 1.0)
    >>> [round(after_choice(before, now, cut).support, 3) for cut in (-math.inf, 0.5, math.inf)]
    [0.375, -0.271, 0.25]
    """
    if cut > before.support:
        return now
    mean = average([before, now])
    if cut == -math.inf:
        return mean
    earlier, later = max(before.error, _LEAST_VARIANCE), max(now.error, _LEAST_VARIANCE)
    both = math.sqrt(earlier + later)
    w = (mean.support - cut) * both / earlier
    ratio = _density_over_tail(w)
    slope = 1 + later / earlier * ratio * (w + ratio)
    variance = min(mean.variance * slope**2, max(now.variance, mean.variance))
    bias, change = max(mean.bias, now.bias), max(mean.change, now.change)
    return Average(mean.support - later / both * ratio, variance, bias, change)


def _density_over_tail(w: float) -> float:
    """Return φ(w)/Φ(w) of the standard normal law."""
    if w < -_FAR:
        return -w - 1 / w
    return math.exp(-w * w / 2) / math.sqrt(2 * math.pi) / (math.erfc(-w / math.sqrt(2)) / 2)


Measure = Callable[[list[Itemset]], dict[Itemset, Average]]
_UNMEASURED = Average(0.0, 100.0)  # tells nothing


# ---- shrinking


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is expected of itemsets before they are measured, float64 (itemsets,) each.

    ``guess`` with a standard deviation of ``spread``, and the ``least`` and the ``most`` that their subsets allow.
    """

    guess: Floats
    spread: Floats
    least: Floats
    most: Floats

    def of(self, places: NDArray[np.int64]) -> "Bounds":
        """Return those of some itemsets."""
        return Bounds(self.guess[places], self.spread[places], self.least[places], self.most[places])

    def spread_by(self, factor: float) -> "Bounds":
        """Return them spread so many times as widely."""
        return replace(self, spread=factor * self.spread)


def pair_bounds(singles: Floats, reach: Floats, pairs: NDArray[np.int64]) -> Bounds:
    """Return what items of these supports let expect of pairs of them, positions int64 (pairs, 2).

    ``reach`` are standard deviations of the items' supports, float64 as these.
    """
    clipped = np.clip(singles, 1e-6, 1.0)
    left, right = clipped[pairs[:, 0]], clipped[pairs[:, 1]]
    low, high = (np.clip(clipped + sign * reach, 1e-6, 1.0)[pairs] for sign in (-1, 1))
    most, least = high.min(axis=1), np.maximum(low.sum(axis=1) - 1, 0.0)
    product = left * right
    guess = np.clip(product * (1 + (LIFT - 1) * (1 - left) * (1 - right)), least, most)
    return Bounds(guess, np.minimum(_SPREAD * guess, (most - least) / 2), least, most)


@dataclass(frozen=True, slots=True)
class Shrunk:
    """Posteriors of supports: near a guess or, with probability ``odds``, anywhere; float64 (itemsets,) each.

    ``likelihood`` is that of the estimates.
    """

    near: Floats
    near_variance: Floats
    far: Floats
    far_variance: Floats
    odds: Floats
    most: Floats
    likelihood: Floats

    def chances(self, least: float) -> Floats:
        """Return the probabilities that supports are ``least`` or more, as :meth:`Estimate.chance`."""
        from scipy.special import ndtr

        near, far = (
            ndtr((mean - least) / np.sqrt(np.maximum(variance, _LEAST_VARIANCE)))
            for mean, variance in ((self.near, self.near_variance), (self.far, self.far_variance))
        )
        chances: Floats = np.where(least > self.most, 0.0, self.odds * far + (1 - self.odds) * near)
        return chances

    def estimates(self) -> list[Estimate]:
        """Return them with means and variances; what is published is not known yet."""
        mean = self.odds * self.far + (1 - self.odds) * self.near
        square = self.odds * (self.far**2 + self.far_variance) + (1 - self.odds) * (self.near**2 + self.near_variance)
        spread = np.maximum(square - mean**2, _LEAST_VARIANCE)
        columns = (mean, spread, self.most, self.odds, self.near, self.near_variance, self.far, self.far_variance)
        return [
            Estimate(m, v, m, v, ((1 - p, near, nv), (p, far, fv)), most)
            for m, v, most, p, near, nv, far, fv in zip(*(column.tolist() for column in columns), strict=True)
        ]


def shrunk(supports: Floats, variances: Floats, bounds: Bounds, patterns: float) -> Shrunk:
    """Return what is known of supports given estimates and what was expected, each float64 (itemsets,).

    Before the estimate a support is normal around the guess, or, with probability ``patterns``, anything from the least
    to the most that its subsets allow.
    """
    from scipy.special import erf

    guess, spread, least, most = bounds.guess, bounds.spread, bounds.least, bounds.most
    noise, total = np.sqrt(variances), variances + spread**2 + _LEAST_VARIANCE
    precision = 1 / variances + 1 / (spread**2 + _LEAST_VARIANCE)
    near = (supports / variances + guess / (spread**2 + _LEAST_VARIANCE)) / precision
    near_likelihood = _density((supports - guess) / np.sqrt(total)) / np.sqrt(total)
    # a pattern: normal around what was measured, cut to what is possible
    low, high = (least - supports) / noise, (most - supports) / noise
    inside = np.maximum((erf(high / np.sqrt(2)) - erf(low / np.sqrt(2))) / 2, 1e-300)
    slope = np.clip((_density(low) - _density(high)) / inside, -1e100, 1e100)
    far = np.clip(supports + noise * slope, least, most)
    shape = 1 + (low * _density(low) - high * _density(high)) / inside - slope**2
    far_variance = np.clip(variances * shape, _LEAST_VARIANCE, (most - least) ** 2 / 12 + _LEAST_VARIANCE)
    odds = patterns * inside / np.maximum(most - least, 1e-6)
    likelihood = odds + (1 - patterns) * near_likelihood + 1e-300
    return Shrunk(np.clip(near, least, most), 1 / precision, far, far_variance, odds / likelihood, most, likelihood)


def _density(values: Floats) -> Floats:
    return np.divide(np.exp(-(values**2) / 2), np.sqrt(2 * np.pi))


@dataclass(frozen=True, slots=True)
class Prior:
    """How supports of items are distributed: ``weights`` over ``grid``, both float64 (points,).

    How many items are frequent reports tell more sharply than which; it says how much of a large estimate is noise.
    """

    grid: Floats
    weights: Floats

    @classmethod
    def of(cls, supports: Floats, variances: Floats) -> "Prior":
        """Return the distribution under which estimates of *all* items are likeliest (Kiefer and Wolfowitz 1956)."""
        # beyond some standard errors an estimate speaks for itself; all such supports count as one
        grid = np.linspace(0.0, _CLEAR * float(np.sqrt(variances.max(initial=_LEAST_VARIANCE))), _POINTS)
        # estimates half a step of the grid apart are taken together: tens of thousands become some hundreds
        places = np.rint(np.minimum(supports, grid[-1]) / (grid[1] / 2))
        distinct, group = np.unique(places, return_inverse=True)
        counts = np.bincount(group)
        noise = np.bincount(group, variances) / counts
        likelihoods = _likelihoods(grid, distinct * (grid[1] / 2), noise)
        weights = np.exp(-_CLEAR * grid / grid[-1])  # most items are rare
        weights /= weights.sum()
        for _ in range(_STEPS):
            weights = weights * (likelihoods.T @ (counts / (likelihoods @ weights))) / len(supports)
        return cls(grid, weights / weights.sum())

    def posterior(self, supports: Floats, variances: Floats) -> tuple[Floats, Floats]:
        """Return the mean and the variance of supports given estimates of theirs."""
        likelihoods = _likelihoods(self.grid, supports, variances) * self.weights
        likelihoods /= likelihoods.sum(axis=1, keepdims=True)
        mean = likelihoods @ self.grid
        spread = np.maximum(likelihoods @ self.grid**2 - mean**2, 0.0) + _LEAST_VARIANCE
        clear = supports + 2 * np.sqrt(variances) > self.grid[-1]
        return np.where(clear, supports, mean), np.where(clear, variances, spread)


def _likelihoods(grid: Floats, supports: Floats, variances: Floats) -> Floats:
    """Return normal likelihoods up to a factor for each estimate, (items, points)."""
    squares = (supports[:, None] - grid) ** 2 / (2 * variances[:, None])
    likelihoods: Floats = np.exp(-(squares - squares.min(axis=1, keepdims=True)))
    return likelihoods


def believed(
    evidence: Evidence, prior: Prior, wanted: int, largest: int, measure: Measure | None = None
) -> tuple[Knowledge, Evidence]:
    """Return what is to be expected of items, pairs and larger itemsets given all that was measured.

    ``measure`` says what reports say of those of some itemsets of one size that they tell of; it is added to the
    evidence, also returned. What is published is not decided here.
    """
    known = _items(evidence, prior)
    for k in range(2, largest + 1):
        candidates = _candidates(k, known, evidence, wanted)
        if not candidates:
            break
        if len(candidates) > MOST_GUESSED:
            places = np.sort(np.argsort(-_bounds(candidates, known).most, kind="stable")[:MOST_GUESSED])
            candidates = [candidates[place] for place in places.tolist()]
        if measure:
            found = measure(candidates)
            evidence = evidence.joined(list(found), list(found.values()), [math.inf] * len(found))
        supports, variances = _averages([evidence.all.get(a, _UNMEASURED) for a in candidates])
        bounds, patterns = _expected(candidates, known, evidence)
        known |= dict(zip(candidates, shrunk(supports, variances, bounds, patterns).estimates(), strict=True))
    return known, evidence


def cuts(chosen: Sequence[Itemset], known: Knowledge, evidence: Evidence, least: float) -> list[float]:
    """Return which earlier estimate each chosen itemset had at least: a lower one, all else equal, were not chosen.

    Chosen are those that have a support of ``least`` with the largest probabilities. Items are about equally noisy, so
    the lowest of those chosen is the cut; of other itemsets the estimate that would have given them the least
    probability of any chosen.
    """
    chance = min(known[a].chance(least) for a in chosen)
    found: dict[Itemset, float] = {}
    for k in sorted({len(a) for a in chosen}):
        sized = [a for a in chosen if len(a) == k and a in evidence.fresh]
        if k == 1:
            found |= dict.fromkeys(sized, min((evidence.fresh[a].support for a in sized), default=math.inf))
        elif sized:
            bounds, patterns = _expected(sized, known, evidence)
            _, errors = _averages([evidence.all[a] for a in sized])
            low, high = np.full(len(sized), -2.0), np.full(len(sized), 3.0)
            for _ in range(40):
                middle = (low + high) / 2
                reached = shrunk(middle, errors, bounds, patterns).chances(least) >= chance
                low, high = np.where(reached, low, middle), np.where(reached, middle, high)
            found |= dict(zip(sized, high.tolist(), strict=True))
    return [found.get(a, math.inf) for a in chosen]


def _items(evidence: Evidence, prior: Prior) -> Knowledge:
    singles = [a for a in evidence.all if len(a) == 1]
    values = (column.tolist() for column in prior.posterior(*_averages([evidence.all[a] for a in singles])))
    rows = zip(singles, *values, strict=True)
    return {a: Estimate(mean, spread, mean, spread) for a, mean, spread in rows}


def _averages(estimates: Sequence[Average]) -> tuple[Floats, Floats]:
    """Return supports and expected squared errors."""
    return np.array([each.support for each in estimates]), np.array([each.error for each in estimates])


def _candidates(k: int, known: Knowledge, evidence: Evidence, wanted: int) -> list[Itemset]:
    """Return the itemsets of k items that may be frequent, and those that were measured, in lexicographic order."""
    measured = {a for a in evidence.all if len(a) == k and all(part in known for part in combinations(a, k - 1))}
    if k == 2:
        singles: Knowledge = {a: value for a, value in known.items() if len(a) == 1}
        return sorted({*_joined(ranked(singles, _POOL * wanted)), *measured})
    least = known[ranked(known, wanted)[-1]].expected * _EXPLORED
    level = [a for a, value in known.items() if len(a) == k - 1 and value.expected + value.spread**0.5 >= least]
    return sorted({*_joined(level), *measured})


def _expected(candidates: list[Itemset], known: Knowledge, evidence: Evidence) -> tuple[Bounds, float]:
    """Return what subsets let expect of itemsets of one size, and which share of them are patterns.

    They spread as widely as makes all estimates of such itemsets likeliest (empirical Bayes), where any were measured:
    in dense data pairs lie near their items' product, and there a wide spread would take their noise for support.
    """
    k, scale = len(candidates[0]), 1.0
    patterns = _PATTERNS if k == 2 else _LARGER_PATTERNS
    measured = [a for a in evidence.all if len(a) == k and all(part in known for part in combinations(a, k - 1))]
    if measured:
        bounds, estimates = _bounds(measured, known), _averages([evidence.all[a] for a in measured])

        def fit(factor: float) -> float:
            return float(np.log(shrunk(*estimates, bounds.spread_by(factor), patterns).likelihood).sum())

        scale = max(_SCALES, key=fit)
    return _bounds(candidates, known).spread_by(scale), patterns


def _bounds(candidates: list[Itemset], known: Knowledge) -> Bounds:
    """Return what subsets let expect of itemsets of one size."""
    if len(candidates[0]) == 2:
        items = sorted({item for pair in candidates for item in pair})
        place = {item: row for row, item in enumerate(items)}
        singles = np.array([known[item,].expected for item in items])
        reach = np.sqrt([known[item,].spread for item in items])
        return pair_bounds(singles, reach, np.array([(place[i], place[j]) for i, j in candidates]))
    guess, least, most = np.array([guessed(itemset, known) for itemset in candidates]).T
    return Bounds(guess, np.minimum(_CLOSER * guess, (most - least) / 2), least, most)


def guessed(itemset: Itemset, known: Knowledge) -> tuple[float, float, float]:
    """Return what an itemset's subsets let expect of it, and the least and the most that they allow."""
    parts = [known[part] for part in combinations(itemset, len(itemset) - 1)]
    expected, most = (max(min(part.expected + reach * part.spread**0.5 for part in parts), 0.0) for reach in (0, 1))
    guesses, least = [], 0.0
    for i, j in combinations(itemset, 2):
        without_i, without_j = (known[tuple(x for x in itemset if x != out)].expected for out in (i, j))
        rest = known[tuple(x for x in itemset if x not in (i, j))].expected
        guesses.append(without_i * without_j / max(rest, 1e-6))
        least = max(least, without_i + without_j - rest)
    independent = min(max(0.0, min(guesses)), expected)
    least = min(least, expected)
    return max(math.sqrt(independent * expected), least), least, most


def _joined(level: Sequence[Itemset]) -> list[Itemset]:
    """Return the itemsets one larger all of whose subsets are given, in lexicographic order."""
    given = set(level)
    heads = groupby(sorted(level), key=lambda itemset: itemset[:-1])
    larger = ((*head, a[-1], b[-1]) for head, same in heads for a, b in combinations(same, 2))
    return [a for a in larger if all(part in given for part in combinations(a, len(a) - 1))]


# ---- publication


def published(known: Knowledge, evidence: Evidence) -> Knowledge:
    """Return what is known, with what is published of each support: as measured, or what its subsets allow.

    An itemset that nobody was asked about once it had been chosen, or with an error that tells less than its subsets'
    supports do, is published as it is expected, with an error that reaches all that these allow.

    Bias counts as all that undoing the sampling changed. With half of that intervals of 95% cover .77 on BMS-WebView-2
    at ε = 4, whose pairs live in long baskets; with all .93 or more on each of the data of EntryRule.
    """
    told: Knowledge = {}
    for itemset in sorted(known, key=len):
        value = known[itemset]
        support, variance = value.expected, math.inf
        if itemset in evidence.fresh:
            fresh = evidence.fresh[itemset]
            support, variance = fresh.support, fresh.variance + fresh.change**2
        if len(itemset) > 1:
            low, high = _allowed(itemset, told)
            middle = min(max(value.expected, low), high)
            surest = min(told[part].variance for part in combinations(itemset, len(itemset) - 1))
            wide = max((max(high - middle, middle - low) / _REACH) ** 2, surest)
            if wide < variance:
                support, variance = middle, wide
        told[itemset] = replace(value, support=support, variance=variance)
    return told


def _allowed(itemset: Itemset, told: Knowledge) -> tuple[float, float]:
    """Return the least and the largest support that the intervals of an itemset's subsets allow (Fréchet)."""

    def end(part: Itemset, sign: int) -> float:
        reached = told[part].support + sign * _REACH * math.sqrt(told[part].variance)
        return min(max(reached, 0.0), 1.0)

    high = min(end(part, 1) for part in combinations(itemset, len(itemset) - 1))
    low = max(end(tuple(x for x in itemset if x != i), -1) + end((i,), -1) - 1 for i in itemset)
    return min(max(low, 0.0), high), high
