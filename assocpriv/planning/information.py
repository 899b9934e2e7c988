"""What one report of a plan tells about a basket, as mutual information.

Worst-case information stands beside it (promise/information.py). With the prior that all transactions of s of the n
real items are equally likely, symmetry does the sum over reports. A report that shows m' real items and k of the M − s
dummies that the transactions hold is likely in proportion to w_(i+k), i the number of a transaction's real items that
it shows, and C(m',i) C(n−m',s−i) transactions have that i. So KL depends on (m', k) alone. All measures are in bits, or
in units of the ``base`` given (e for nats).

Source: ours, on the measures of EGS03, section 7.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.generator import item_columns
from assocpriv.plans.transition import SupportModel
from assocpriv.plans.view import ItemsView
from assocpriv.promise.errors import PlanError
from assocpriv.promise.information import ABSOLUTE_ERROR, BITS, RELATIVE_ERROR, Array, information_limit

if TYPE_CHECKING:
    from assocpriv.plans.baskets import Plan
    from assocpriv.plans.operator import AnyOperator
    from assocpriv.plans.question import Question

MOST_SEED_WORK = 1 << 24  # seeds · bits of items that are enumerated: under half a second


def mutual_limit(operator: "AnyOperator", *, base: float = BITS) -> float:
    """Return a bound for I(X; Y) under any prior: Σ_j p[j] log w_j, with w_j normalized; rounded up.

    I is at most the mean of KL(P[Y|x] ‖ Q) for every distribution Q of reports. Take for Q what is drawn for nobody's
    basket (items by chance, any seed, any set): the divergence is then the same for every transaction of M items, and
    for baskets that are sampled to M it is a mixture's, hence no larger.
    """
    weights = operator.normalized_likelihoods
    total = sum(float(p) * _log_of(w) for p, w in zip(operator.size_distribution, weights, strict=True) if w)
    return _up(total / math.log(base))


def _log_of(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _up(value: float) -> float:
    return value * (1 + RELATIVE_ERROR) + ABSOLUTE_ERROR


def spent(plan: "Plan") -> dict[int, float] | None:
    """Return what share of all that any local method with this amplification could tell goes to itemsets of 1..K items.

    With v_k = N Var of the average k-itemset's estimate, baskets being any M of the n items with equal chances,
    Σ_k b_k/v_k ≤ 1 for every method that answers once and whose reports are γ-amplifying, with

        b_k = (C(n,k) − C(n,k−1))² C(n−2k, M−k) / (C(n,k) C(n,M)) · 4γ/(γ−1)²

    (proof in docs/why-it-works.md). Returned are the b_k/v_k of a plan's question about items; None of a catalogue of
    fewer than 2M items, where the bound has another form, and of a plan of several reports a person.
    """
    asked, n, gamma = plan.items, plan.n_items, plan.amplification
    m = asked.transaction_size
    if n < 2 * m or gamma == 1 or plan.reports_per_person > 1:
        return None
    model, share, told = SupportModel.of(asked.operator), plan.share(asked), {}
    for k in range(1, asked.itemset_size + 1):
        held = [Fraction(comb(k, shown) * comb(n - k, m - shown), comb(n, m)) for shown in range(k + 1)]
        moments = [model.second_moment(k, shown) for shown in range(k + 1)]
        variance = sum((p * moment for p, moment in zip(held, moments, strict=True)), -(held[k] ** 2))
        directions = (comb(n, k) - comb(n, k - 1)) ** 2 * comb(n - 2 * k, m - k)
        most = Fraction(directions, comb(n, k) * comb(n, m)) * 4 * gamma / (gamma - 1) ** 2
        told[k] = float(most * share / variance)
    return told


@dataclass(frozen=True, slots=True)
class PlanInformation:
    """What one report tells when all transactions of ``basket_size`` items are equally likely.

    If it is not ``exact``, the plan's seeds are too many to go through: ``worst`` (WI) and ``inverse_worst`` (IWI) are
    upper bounds, and I lies between ``mutual_least``, rounded down, and ``mutual``, rounded up as are the others.
    """

    basket_size: int
    exact: bool
    mutual_least: float
    mutual: float
    worst: float
    inverse_worst: float
    base: float


# Classes of reports by real items shown (rows, 0..n) and by dummies shown that transactions hold (columns, 0..d): which
# have reports (rounding may make a chance 0), and the share of each before anybody's items are in a report, None where
# only the code's seeds know
_Shown = tuple[NDArray[np.bool_], Array | None]


def plan_information(plan: "Plan", basket_size: int | None = None, *, base: float = BITS) -> PlanInformation:
    """Return mutual and worst-case information of one report, all transactions of s items being equally likely.

    s is in 1..M and at most n; the largest of these by default. The work grows with n·M², not with the number of
    reports. Of several questions a device draws one whatever the basket: mutual information is the mean of theirs, the
    worst case the worst. Of sizes, which are known here, an answer tells nothing.

    Raises:
        PlanError: a size that no transaction has.
    """
    asked = [question for question in plan.questions if question.view.kind == ItemsView.kind]
    largest = min(plan.n_items, *(question.transaction_size for question in asked))
    size = largest if basket_size is None else basket_size
    if not 1 <= size <= largest:
        raise PlanError(f"basket size must lie in 1..{largest} (the plan's transactions and items), got {size}")
    told = [(float(plan.share(question)), _told(question, size)) for question in asked]
    most, scale = information_limit(plan.amplification, base=base), math.log(base)

    def mean(values: Iterable[float]) -> float:
        return sum(share * value for (share, _), value in zip(told, values, strict=True)) / scale

    return PlanInformation(
        basket_size=size,
        exact=all(each.exact for _, each in told),
        mutual_least=max(0.0, mean(each.mutual_least for _, each in told) * (1 - RELATIVE_ERROR) - ABSOLUTE_ERROR),
        mutual=_up(mean(each.mutual for _, each in told)),
        worst=min(_up(max(each.worst for _, each in told) / scale), most),
        inverse_worst=min(_up(max(each.inverse_worst for _, each in told) / scale), most),
        base=base,
    )


def _told(question: "Question", size: int) -> PlanInformation:
    """Return what an answer about items tells of transactions of so many, in nats and not rounded."""
    operator = question.operator
    possible_classes, chances = _CLASSES[question.form.name](question, question.transaction_size - size)
    worst = inverse = total = mutual = 0.0
    least = math.inf
    overlaps = _overlaps(question.n_items, size)
    for dummies, possible in enumerate(possible_classes.T):
        up, down, mean = _class_information(operator, overlaps[:, possible], dummies)
        worst, inverse = max(worst, up.max(initial=0)), max(inverse, down.max(initial=0))
        least = min(least, up.min(initial=math.inf))
        if chances is not None:
            probabilities = chances[possible, dummies] * mean
            total, mutual = total + probabilities.sum(), mutual + probabilities @ up
    known = chances is not None
    average = (mutual / total,) * 2 if known else (least, min(worst, mutual_limit(operator, base=math.e)))
    return PlanInformation(size, known, average[0], average[1], float(worst), float(inverse), math.e)


def _class_information(operator: "AnyOperator", overlaps: Array, dummies: int) -> tuple[Array, Array, Array]:
    """Return KL(P[X|y] ‖ P[X]), KL(P[X] ‖ P[X|y]) in nats and E[w], for classes that show so many held dummies.

    ``overlaps`` holds P[i of the transaction's items are shown], i = 0..s, shape (s + 1, classes).
    """
    weights = operator.normalized_likelihoods[dummies : dummies + len(overlaps)]
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


def _shown_bits(question: "Question", held: int) -> _Shown:
    """Return the classes of reports whose items are shown independently of each other; ``held`` dummies count."""
    rho = float(question.independent.default_probability)
    chance = np.outer(_binomial(question.n_items, rho), _binomial(held, rho))
    return np.ones(chance.shape, dtype=np.bool_), chance


def _binomial(n: int, rho: float) -> Array:
    """Return the probabilities of 0..n successes; built up from the likeliest, so that rounding stays in the tails."""
    x = np.arange(n, dtype=np.float64)
    steps = np.log((n - x) / (x + 1) * (rho / (1 - rho)))
    mode = min(int((n + 1) * rho), n)
    logs = np.concatenate([-np.cumsum(steps[:mode][::-1])[::-1], [0.0], np.cumsum(steps[mode:])])
    chances = np.exp(logs)
    return np.asarray(chances / chances.sum())


def _shown_sets(question: "Question", held: int) -> _Shown:
    """Return the classes of sets of ℓ items, by real items and by held dummies shown; the other dummies are idle."""
    n, size = question.n_items, question.fixed.report_size
    idle, total = question.padded_items - n - held, comb(question.padded_items, size)
    chances = np.zeros((n + 1, held + 1))
    for k in range(min(held, size) + 1):
        for m in range(max(0, size - k - idle), min(n, size - k) + 1):
            chances[m, k] = Fraction(comb(n, m) * comb(held, k) * comb(idle, size - k - m), total)
    return chances > 0, chances


def _shown_seeds(question: "Question", held: int) -> _Shown:
    """Return the classes of seeds; how many each has is counted where the seeds are few."""
    operator, n = question.independent, question.n_items
    if (n + held) * operator.insert_bits << question.generator.seed_bits > MOST_SEED_WORK:
        return np.ones((n + 1, held + 1), dtype=np.bool_), None
    columns = item_columns(question.generator, operator.insert_bits, np.arange(n + held, dtype=np.int64))
    seeds = np.arange(1 << question.generator.seed_bits, dtype=np.uint64)
    shown = np.zeros(len(seeds), dtype=np.int64)
    for item, digits in enumerate(columns[:, :, 0]):  # so few seeds take one word
        value = np.zeros(len(seeds), dtype=np.int64)
        for digit in digits:
            value = 2 * value + (np.bitwise_count(seeds & digit) & 1)
        shown += np.where(value < operator.insert_num, held + 1 if item < n else 1, 0)
    counts = np.bincount(shown, minlength=(n + 1) * (held + 1)).reshape(n + 1, held + 1)
    return counts > 0, counts / len(seeds)


_CLASSES: "dict[str, Callable[[Question, int], _Shown]]" = {
    "bits": _shown_bits,
    "seed": _shown_seeds,
    "rank": _shown_sets,
}
