"""Mutual and worst-case information: how much a report tells about a basket, on average and at worst.

X is the private value with its prior P, Y the report, KL(A ‖ B) = Σ A log(A/B):

    I   = E_y KL(P[X|y] ‖ P[X])        mutual information, the average: small even where some reports tell all
    WI  = max_y KL(P[X|y] ‖ P[X])      worst-case information: bounds upward breaches
    IWI = max_y KL(P[X] ‖ P[X|y])      inverse worst-case information: bounds downward breaches

In place of log any f with t·f(t) convex may stand: WI^f = max_y Σ_x P(x|y) f(P(x|y)/P(x)) and
IWI^f = max_y Σ_x P(x) f(P(x)/P(x|y)). Statements 6 and 7: a ρ1 → ρ2 breach implies that WI^f (upward) or IWI^f
(downward) is at least ρ2 f(ρ2/ρ1) + (1−ρ2) f((1−ρ2)/(1−ρ1)). Reports of probability 0 are ignored.

γ-amplifying means WI, IWI ≤ log γ, and more exactly ≤ log((γ−1)/ln γ) − 1 + ln γ/(γ−1) nats whatever the prior: for a
given mean of the likelihoods l(x) = p[x → y] ∈ [a, γa] the convex functions l·log l and −log l have their largest mean
where l takes both ends only; the rest is one variable, the prior of the end γa.

Of a plan, with the prior that all transactions of s of the n real items are equally likely, symmetry does the sum over
reports. A report that shows m' real items and k of the M − s dummies that the transactions hold is likely in proportion
to w_(i+k), i the number of a transaction's real items that it shows, and C(m',i) C(n−m',s−i) transactions have that i.
So KL depends on (m', k) alone. All measures are in bits, or in units of the ``base`` given (e for nats).

Source: EGS03, section 7; the bounds over all priors and what plans tell are ours.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assocpriv.core.errors import PlanError
from assocpriv.core.privacy import Breach, float_up, parse_probability
from assocpriv.plans.baskets.codes import item_columns
from assocpriv.plans.baskets.operator import AnyOperator, FixedSizeOperator
from assocpriv.plans.baskets.plan import IN_CLEAR, Plan

BITS = 2.0
MOST_SEED_WORK = 1 << 24  # seeds · bits of items that are enumerated: under half a second
_TINY = float(np.finfo(np.float64).tiny)
_DIGITS = 60
# doubles err by far less; so much is added to figures of privacy
_RELATIVE, _ABSOLUTE = 1e-9, 1e-12

Array = NDArray[np.float64]
Function = Callable[[Array], Array]


# ---- any prior and randomizer


def mutual_information(prior: ArrayLike, transition: ArrayLike, *, base: float = BITS) -> float:
    """Return I(X; Y).

    Args:
        prior: P[X = x], shape (values,); floats or Fractions.
        transition: p[x → y], shape (values, outputs).
        base: of the logarithm; 2 for bits, e for nats.

    >>> mutual_information([0.5, 0.5], [[1, 0], [0, 1]])
    1.0
    """
    before, outputs, after = _posteriors(prior, transition)
    return float(outputs @ _divergences(before, after, _logarithm(base)))


def worst_information(
    prior: ArrayLike, transition: ArrayLike, f: Function | None = None, *, base: float = BITS
) -> float:
    """Return WI(X; Y), or WI^f for a function f of an array with t·f(t) convex; ``base`` is that of the logarithm.

    >>> worst_information([0.5, 0.5], [[1, 0], [0.5, 0.5]])
    1.0
    """
    before, _, after = _posteriors(prior, transition)
    return float(_divergences(before, after, f or _logarithm(base)).max())


def inverse_worst_information(
    prior: ArrayLike, transition: ArrayLike, f: Function | None = None, *, base: float = BITS
) -> float:
    """Return IWI(X; Y), or IWI^f; with the logarithm infinite where a report rules a value out.

    >>> inverse_worst_information([0.5, 0.5], [[1, 0], [0.5, 0.5]])
    inf
    """
    before, _, after = _posteriors(prior, transition)
    with np.errstate(divide="ignore", over="ignore"):
        values = (f or _logarithm(base))(before[:, None] / after)
    return float((before[:, None] * values).sum(axis=0).max())


def _posteriors(prior: ArrayLike, transition: ArrayLike) -> tuple[Array, Array, Array]:
    """Return P[X], P[Y] and P[X | Y] (values, outputs), of values and outputs that can occur."""
    before, rows = np.asarray(prior, dtype=np.float64), np.asarray(transition, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[:1] != before.shape:
        raise PlanError(
            f"a randomizer needs a row for each value of the prior, got shapes {rows.shape}, {before.shape}"
        )
    sums = np.append(rows.sum(axis=1), before.sum())
    if not ((before >= 0).all() and (rows >= 0).all() and np.abs(sums - 1).max() <= _RELATIVE):
        raise PlanError("the prior and the rows of a randomizer must be probabilities that add up to 1")
    joint = (before[:, None] * rows)[before > 0]
    outputs = joint.sum(axis=0)
    return before[before > 0], outputs[outputs > 0], joint[:, outputs > 0] / outputs[outputs > 0]


def _logarithm(base: float) -> Function:
    scale = 1 / math.log(base)
    return lambda ratios: np.log(ratios) * scale


def _divergences(before: Array, after: Array, f: Function) -> Array:
    """Return Σ_x P(x|y) f(P(x|y)/P(x)) for every y; at 0, t·f(t) is its limit."""
    ratios = np.maximum(after / before[:, None], _TINY)
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray((before[:, None] * (ratios * f(ratios))).sum(axis=0))


# ---- breaches


def upward_threshold(breach: Breach, f: Function | None = None, *, base: float = BITS) -> float:
    """Return the least WI^f of a randomizer and prior with an upward breach; below it none occurs (statement 6).

    >>> round(upward_threshold(Breach("5%", "50%")), 6)
    1.197964
    """
    return _two_values(float(breach.prior), float(breach.posterior), f or _logarithm(base))


def downward_threshold(breach: Breach, f: Function | None = None, *, base: float = BITS) -> float:
    """Return the least IWI^f with a downward breach, from ``posterior`` to ``prior``: the same number (statement 7)."""
    return upward_threshold(breach, f, base=base)


def _two_values(low: float, high: float, f: Function) -> float:
    ratios = np.array([high / low, (1 - high) / (1 - low)])
    return float(high * f(ratios)[0] + (1 - high) * f(ratios)[1])


def excluded_posterior(worst: float, prior: "str | float | Fraction", *, base: float = BITS) -> float | None:
    """Return the smallest posterior that a WI excludes: no report lifts a property of at most ``prior`` to it.

    Rounded up. None where the WI excludes nothing, which is so from log(1/prior) on.

    >>> round(excluded_posterior(1.2, "5%"), 6)
    0.500479
    """
    low = float(_inside(prior))
    return _bisect(lambda high: _two_values(low, high, _logarithm(base)), worst, low, 1 - 2**-53)


def excluded_fall(inverse_worst: float, prior: "str | float | Fraction", *, base: float = BITS) -> float | None:
    """Return the largest posterior that an IWI excludes: no report takes a property of at least ``prior`` down to it.

    Rounded down. None where the IWI excludes nothing that a float can tell from 0.

    >>> round(excluded_fall(1.2, "50%"), 6)
    0.049851
    """
    high = float(_inside(prior))
    return _bisect(lambda low: _two_values(low, high, _logarithm(base)), inverse_worst, high, 1e-300)


def _inside(prior: "str | float | Fraction") -> Fraction:
    number = parse_probability(prior, "prior")
    if not 0 < number < 1:
        raise PlanError("prior must lie strictly between 0 and 1: what is certain, no report changes")
    return number


def _bisect(threshold: Callable[[float], float], measured: float, near: float, far: float) -> float | None:
    """Return the number nearest to ``near``, towards ``far``, whose threshold is safely above what was measured."""
    least = measured * (1 + _ABSOLUTE) + _ABSOLUTE
    if not threshold(far) > least:
        return None
    for _ in range(1100):  # also where far is tiny, and halving takes a thousand steps
        middle = (near + far) / 2
        if middle in (near, far):
            break
        near, far = (near, middle) if threshold(middle) > least else (middle, far)
    return far


# ---- what γ alone says


def information_limit(amplification: Fraction, *, base: float = BITS) -> float:
    """Return the largest WI, and IWI, that a γ-amplifying randomizer can have under any prior, rounded up.

    It is log((γ−1)/ln γ) − 1 + ln γ/(γ−1) nats, at most log γ, and attained.

    >>> round(information_limit(Fraction(19)), 6)
    1.405233
    """
    if amplification == 1:
        return 0.0
    # near γ = 1 the result, about (γ−1)²/8, is left of numbers near 1; that takes 4 · 0.3 digits a bit of 1/(γ−1)
    digits = _DIGITS + 2 * (1 // (amplification - 1)).bit_length()
    with localcontext(prec=digits) as context:
        above = context.divide(Decimal((amplification - 1).numerator), Decimal((amplification - 1).denominator))
        log = (above + 1).ln()
        nats = context.divide(above, log).ln() - 1 + context.divide(log, above)
        return float_up(context.divide(nats, Decimal(base).ln()) + Decimal(1).scaleb(20 - digits))


def mutual_limit(operator: AnyOperator, *, base: float = BITS) -> float:
    """Return a bound for I(X; Y) under any prior: Σ_j p[j] log w_j, with w_j normalized; rounded up.

    I is at most the mean of KL(P[Y|x] ‖ Q) for every distribution Q of reports. Take for Q what is drawn for nobody's
    basket (items by chance, any seed, any set): the divergence is then the same for every transaction of M items, and
    for baskets that are sampled to M it is a mixture's, hence no larger.
    """
    weights = normalized_likelihoods(operator)
    total = sum(float(p) * _log_of(w) for p, w in zip(operator.size_distribution, weights, strict=True) if w)
    return _up(total / math.log(base))


def normalized_likelihoods(operator: AnyOperator) -> tuple[Fraction, ...]:
    """Return w_j: how much likelier a report is that shows j of the items than where nobody's items are in it.

    Of a fixed size, a j that cannot occur has 0.
    """
    if isinstance(operator, FixedSizeOperator):
        sets, total = comb(operator.items, operator.report_size), operator.cumulative[-1]
        return tuple(Fraction(v * sets, total) for v in operator.keep_weights)
    m, rho = operator.size, operator.default_probability
    return tuple(p / (comb(m, j) * rho**j * (1 - rho) ** (m - j)) for j, p in enumerate(operator.size_distribution))


def _log_of(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _up(value: float) -> float:
    return value * (1 + _RELATIVE) + _ABSOLUTE


# ---- plans


@dataclass(frozen=True, slots=True)
class PlanInformation:
    """What one report tells when all transactions of ``basket_size`` items are equally likely.

    Attributes:
        basket_size: s, real items of every transaction.
        exact: whether the figures are the measures themselves. Otherwise the plan's seeds are too many to go through:
            ``worst`` and ``inverse_worst`` are upper bounds, and the mutual information lies between two bounds.
        mutual_least: I, or a lower bound; rounded down.
        mutual: I, or an upper bound; rounded up, as are the others.
        worst: WI.
        inverse_worst: IWI.
        base: of the logarithm; 2 for bits.
    """

    basket_size: int
    exact: bool
    mutual_least: float
    mutual: float
    worst: float
    inverse_worst: float
    base: float


@dataclass(frozen=True, slots=True)
class _Shown:
    """Classes of reports by real items shown (rows, 0..n) and by dummies shown that transactions hold (columns, 0..d).

    ``chance`` is the share of each class before anybody's items are in a report, None where only the code's seeds know;
    ``possible`` tells which classes have reports (rounding may make a chance 0).
    """

    possible: NDArray[np.bool_]
    chance: Array | None


def plan_information(plan: Plan, basket_size: int | None = None, *, base: float = BITS) -> PlanInformation:
    """Return mutual and worst-case information of one report, all transactions of s items being equally likely.

    The work grows with n·M², not with the number of reports.

    Args:
        plan: the plan; with sizes in clear, the operator of this size is asked about.
        basket_size: s, 1..M and at most n; the largest of these by default.
        base: of the logarithm; 2 for bits.

    Raises:
        PlanError: a size that no transaction has.
    """
    largest = min(plan.transaction_size, plan.n_items)
    size = largest if basket_size is None else basket_size
    if not 1 <= size <= largest:
        raise PlanError(f"basket size must lie in 1..{largest} (the plan's transactions and items), got {size}")
    group = plan.groups[size - 1] if plan.sizes == IN_CLEAR else plan
    shown = _shown(group, group.transaction_size - size)
    average_limit, most = mutual_limit(group.operator, base=math.e), information_limit(group.amplification, base=base)
    worst = inverse = total = mutual = 0.0
    least = math.inf
    overlaps = _overlaps(plan.n_items, size)
    for dummies in range(shown.possible.shape[1]):
        possible = shown.possible[:, dummies]
        up, down, mean = _class_information(group.operator, overlaps[:, possible], dummies)
        worst, inverse = max(worst, up.max(initial=0)), max(inverse, down.max(initial=0))
        least = min(least, up.min(initial=math.inf))
        if shown.chance is not None:
            probabilities = shown.chance[possible, dummies] * mean
            total, mutual = total + probabilities.sum(), mutual + probabilities @ up
    known = shown.chance is not None
    average = (mutual / total, mutual / total) if known else (least, min(worst, average_limit))
    scale = math.log(base)
    return PlanInformation(
        basket_size=size,
        exact=known,
        mutual_least=max(0.0, float(average[0] / scale) * (1 - _RELATIVE) - _ABSOLUTE),
        mutual=_up(float(average[1] / scale)),
        worst=min(_up(float(worst / scale)), most),
        inverse_worst=min(_up(float(inverse / scale)), most),
        base=base,
    )


def _class_information(operator: AnyOperator, overlaps: Array, dummies: int) -> tuple[Array, Array, Array]:
    """Return KL(P[X|y] ‖ P[X]), KL(P[X] ‖ P[X|y]) in nats and E[w], for classes that show so many held dummies.

    ``overlaps`` holds P[i of the transaction's items are shown], i = 0..s, shape (s + 1, classes).
    """
    weights = normalized_likelihoods(operator)[dummies : dummies + len(overlaps)]
    logs = np.array([_log_of(w) if w else 0.0 for w in weights])  # w = 0: no class of reports overlaps so
    values = np.array([float(w) for w in weights])
    mean = values @ overlaps
    ratios = logs[:, None] - np.log(mean)
    # of rounding alone a divergence could come out below 0
    up = np.maximum((overlaps * values[:, None] * ratios).sum(axis=0) / mean, 0)
    return up, np.maximum(-(overlaps * ratios).sum(axis=0), 0), mean


def _overlaps(n: int, s: int) -> Array:
    """Return C(m',i) C(n−m',s−i) / C(n,s) for i = 0..s and m' = 0..n, shape (s + 1, n + 1)."""
    shown = np.arange(n + 1, dtype=np.float64)
    falling = np.ones((s + 1, n + 1))  # m'(m'−1)…, by number of factors
    for factors in range(s):
        falling[factors + 1] = falling[factors] * np.maximum(shown - factors, 0)
    ways = np.array([comb(s, i) for i in range(s + 1)], dtype=np.float64)
    return np.asarray(ways[:, None] * falling * falling[::-1, ::-1] / float(math.perm(n, s)))


def _shown(plan: Plan, held: int) -> _Shown:
    """Return the classes of a plan's reports where transactions hold so many dummies."""
    n = plan.n_items
    if plan.kind == "fixed-size":
        chance = _fixed_size_chances(plan.fixed, n, held)
        return _Shown(chance > 0, chance)
    operator = plan.independent
    if plan.generator.kind == "none":
        rho = float(operator.default_probability)
        chance = np.outer(_binomial(n, rho), _binomial(held, rho))
        return _Shown(np.ones(chance.shape, dtype=np.bool_), chance)
    if (n + held) * operator.insert_bits << plan.generator.seed_bits > MOST_SEED_WORK:
        return _Shown(np.ones((n + 1, held + 1), dtype=np.bool_), None)
    counts = _count_seeds(plan, held)
    return _Shown(counts > 0, counts / (1 << plan.generator.seed_bits))


def _binomial(n: int, rho: float) -> Array:
    """Return the probabilities of 0..n successes; built up from the likeliest, so that rounding stays in the tails."""
    x = np.arange(n, dtype=np.float64)
    steps = np.log((n - x) / (x + 1) * (rho / (1 - rho)))
    mode = min(int((n + 1) * rho), n)
    logs = np.concatenate([-np.cumsum(steps[:mode][::-1])[::-1], [0.0], np.cumsum(steps[mode:])])
    chances = np.exp(logs)
    return np.asarray(chances / chances.sum())


def _fixed_size_chances(operator: FixedSizeOperator, n: int, held: int) -> Array:
    """Return the share of the sets of ℓ items that show m' real items and k held dummies; the others are idle."""
    idle, size = operator.items - n - held, operator.report_size
    chances = np.zeros((n + 1, held + 1))
    total = comb(operator.items, size)
    for k in range(min(held, size) + 1):
        for m in range(max(0, size - k - idle), min(n, size - k) + 1):
            chances[m, k] = Fraction(comb(n, m) * comb(held, k) * comb(idle, size - k - m), total)
    return chances


def _count_seeds(plan: Plan, held: int) -> NDArray[np.int64]:
    """Return how many seeds show m' real items and k held dummies, int64 of shape (n + 1, held + 1)."""
    operator, n = plan.independent, plan.n_items
    columns = item_columns(plan.generator, operator.insert_bits, np.arange(n + held, dtype=np.int64))
    seeds = np.arange(1 << plan.generator.seed_bits, dtype=np.uint64)
    shown = np.zeros(len(seeds), dtype=np.int64)
    for item, digits in enumerate(columns[:, :, 0]):  # so few seeds take one word
        value = np.zeros(len(seeds), dtype=np.int64)
        for digit in digits:
            value = 2 * value + (np.bitwise_count(seeds & digit) & 1)
        shown += np.where(value < operator.insert_num, held + 1 if item < n else 1, 0)
    return np.bincount(shown, minlength=(n + 1) * (held + 1)).reshape(n + 1, held + 1)
