"""Information in one report of a plan about a basket: mutual and worst-case (guarantees/amplification.py).

Under the prior that all transactions of s of the n real items are equally likely, the sum over reports follows by
symmetry. Take a report that shows m' real items and k of the transactions' M − s padding items. Its likelihood is
proportional to w_(i+k), i the number of the transaction's real items that it shows, and C(m',i) C(n−m',s−i)
transactions have this i. So KL depends only on (m', k). All measures are in bits.

Source: ours, on the measures of EGS03, section 7.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.amplification import BITS, information_limit
from assocpriv.guarantees.errors import PlanError
from assocpriv.plans.baskets.generator import item_columns
from assocpriv.plans.baskets.operator import SupportModel
from assocpriv.plans.baskets.report_type import ItemsView

if TYPE_CHECKING:
    from assocpriv.plans.baskets.basket_plan import Plan
    from assocpriv.plans.baskets.operator import AnyOperator
    from assocpriv.plans.baskets.report_type import ReportType

Array = NDArray[np.float64]
# added to privacy figures; far more than the rounding error of doubles
RELATIVE_ERROR, ABSOLUTE_ERROR = 1e-9, 1e-12
MOST_SEED_WORK = 1 << 24  # limit of seeds · bits of items for enumeration: under half a second


def mutual_limit(operator: "AnyOperator") -> float:
    """Return an upper bound of I(X; Y) in bits under any prior: Σ_j p[j] log w_j, with w_j normalized; rounded up.

    I is at most the mean of KL(P[Y|x] ‖ Q) for every distribution Q of reports. Let Q be pure noise (random items, any
    seed, any set). The divergence is then the same for every transaction of M items; for baskets that are truncated to
    M it is that of a mixture, hence no larger.
    """
    return _up(_mutual_nats(operator) / math.log(BITS))


def _mutual_nats(operator: "AnyOperator") -> float:
    weights = operator.normalized_likelihoods
    return sum(float(p) * _log_of(w) for p, w in zip(operator.size_distribution, weights, strict=True) if w)


def _log_of(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _up(value: float) -> float:
    return value * (1 + RELATIVE_ERROR) + ABSOLUTE_ERROR


def information_shares(plan: "Plan") -> dict[int, float] | None:
    """Return the share of the largest possible information at this amplification, for itemsets of 1..K items.

    Let v_k = N Var of the average k-itemset's estimate, baskets being uniformly random sets of M of the n items. Every
    local method whose reports are γ-amplifying, with one report per person, has Σ_k b_k/v_k ≤ 1 with

        b_k = (C(n,k) − C(n,k−1))² C(n−2k, M−k) / (C(n,k) C(n,M)) · 4γ/(γ−1)²

    (proof in docs/why-it-works.md). Returns b_k/v_k of a plan's report type about items; None for a catalogue of fewer
    than 2M items, where the bound has another form, and for several reports per person.
    """
    items, n, gamma = plan.items, plan.n_items, plan.amplification
    m = items.transaction_size
    if n < 2 * m or gamma == 1 or plan.reports_per_person > 1:
        return None
    model, share, shares = SupportModel(items.operator), plan.share(items), {}
    for k in range(1, items.itemset_size + 1):
        held = [Fraction(comb(k, shown) * comb(n - k, m - shown), comb(n, m)) for shown in range(k + 1)]
        moments = [model.second_moment(k, shown) for shown in range(k + 1)]
        variance = sum((p * moment for p, moment in zip(held, moments, strict=True)), -(held[k] ** 2))
        directions = (comb(n, k) - comb(n, k - 1)) ** 2 * comb(n - 2 * k, m - k)
        most = Fraction(directions, comb(n, k) * comb(n, m)) * 4 * gamma / (gamma - 1) ** 2
        shares[k] = float(most * share / variance)
    return shares


@dataclass(frozen=True, slots=True)
class PlanInformation:
    """Information in one report if all transactions of ``basket_size`` items are equally likely.

    If it is not ``exact``, the plan has too many seeds to enumerate: ``worst`` (WI) and ``inverse_worst`` (IWI) are
    upper bounds, and I lies between ``mutual_least``, rounded down, and ``mutual``. All others are rounded up.
    """

    basket_size: int
    exact: bool
    mutual_least: float
    mutual: float
    worst: float
    inverse_worst: float
    base: float


# Classes of reports by the numbers of real items shown (rows, 0..n) and of the transactions' padding items shown
# (columns, 0..d): whether a class has reports (rounding may make a probability 0), and its probability under pure
# noise, or None if that would need an enumeration of seeds
_Shown = tuple[NDArray[np.bool_], Array | None]


def plan_information(plan: "Plan", basket_size: int | None = None) -> PlanInformation:
    """Return mutual and worst-case information of one report if all transactions of s items are equally likely.

    s is in 1..M and at most n; by default the largest such size. The work grows with n·M², not with the number of
    reports. A device draws a report type independently of the basket, so mutual information is the mean over the report
    types, the worst case their maximum. Responses about sizes carry no information, as s is known.

    Raises:
        PlanError: no transaction has this size.
    """
    of_items = [report_type for report_type in plan.report_types if report_type.view.kind == ItemsView.kind]
    largest = min(plan.n_items, *(report_type.transaction_size for report_type in of_items))
    size = largest if basket_size is None else basket_size
    if not 1 <= size <= largest:
        raise PlanError(f"basket size must lie in 1..{largest} (the plan's transactions and items), got {size}")
    shares = [float(plan.share(report_type)) for report_type in of_items]
    each_type = [_type_information(report_type, size) for report_type in of_items]
    most, scale = information_limit(plan.amplification), math.log(BITS)

    def mean(values: Iterable[float]) -> float:
        return sum(share * value for share, value in zip(shares, values, strict=True)) / scale

    return PlanInformation(
        basket_size=size,
        exact=all(each.exact for each in each_type),
        mutual_least=max(0.0, mean(each.mutual_least for each in each_type) * (1 - RELATIVE_ERROR) - ABSOLUTE_ERROR),
        mutual=_up(mean(each.mutual for each in each_type)),
        worst=min(_up(max(each.worst for each in each_type) / scale), most),
        inverse_worst=min(_up(max(each.inverse_worst for each in each_type) / scale), most),
        base=BITS,
    )


def _type_information(report_type: "ReportType", size: int) -> PlanInformation:
    """Return the information in a response about items for transactions of ``size`` items, in nats and not rounded."""
    operator = report_type.operator
    possible_classes, chances = _CLASSES[report_type.form.name](report_type, report_type.transaction_size - size)
    worst = inverse = total = mutual = 0.0
    least = math.inf
    overlaps = _overlaps(report_type.n_items, size)
    for padding_items, possible in enumerate(possible_classes.T):
        up, down, mean = _class_information(operator, overlaps[:, possible], padding_items)
        worst, inverse = max(worst, up.max(initial=0)), max(inverse, down.max(initial=0))
        least = min(least, up.min(initial=math.inf))
        if chances is not None:
            probabilities = chances[possible, padding_items] * mean
            total, mutual = total + probabilities.sum(), mutual + probabilities @ up
    known = chances is not None
    average = (mutual / total,) * 2 if known else (least, min(worst, _up(_mutual_nats(operator))))
    return PlanInformation(size, known, average[0], average[1], float(worst), float(inverse), math.e)


def _class_information(operator: "AnyOperator", overlaps: Array, padding_items: int) -> tuple[Array, Array, Array]:
    """Return KL(P[X|y] ‖ P[X]), KL(P[X] ‖ P[X|y]) in nats and E[w], for classes with a number of padding items shown.

    ``overlaps`` holds P[i of the transaction's items are shown], i = 0..s, shape (s + 1, classes).
    """
    weights = operator.normalized_likelihoods[padding_items : padding_items + len(overlaps)]
    logs = np.array([_log_of(w) if w else 0.0 for w in weights])  # w = 0: no class of reports overlaps so
    values = np.array([float(w) for w in weights])
    mean = values @ overlaps
    ratios = logs[:, None] - np.log(mean)
    # rounding could make a divergence negative
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


def _shown_bits(report_type: "ReportType", held: int) -> _Shown:
    """Return the classes of reports that show items independently; ``held`` is the number of padding items."""
    rho = float(report_type.independent.default_probability)
    chance = np.outer(_binomial(report_type.n_items, rho), _binomial(held, rho))
    return np.ones(chance.shape, dtype=np.bool_), chance


def _binomial(n: int, rho: float) -> Array:
    """Return the probabilities of 0..n successes, computed outward from the mode to keep rounding in the tails."""
    x = np.arange(n, dtype=np.float64)
    steps = np.log((n - x) / (x + 1) * (rho / (1 - rho)))
    mode = min(int((n + 1) * rho), n)
    logs = np.concatenate([-np.cumsum(steps[:mode][::-1])[::-1], [0.0], np.cumsum(steps[mode:])])
    chances = np.exp(logs)
    return np.asarray(chances / chances.sum())


def _shown_sets(report_type: "ReportType", held: int) -> _Shown:
    """Return the classes of sets of ℓ items, by real items and held padding items shown; other ones are idle."""
    n, size = report_type.n_items, report_type.fixed.report_size
    idle, total = report_type.padded_items - n - held, comb(report_type.padded_items, size)
    chances = np.zeros((n + 1, held + 1))
    for k in range(min(held, size) + 1):
        for m in range(max(0, size - k - idle), min(n, size - k) + 1):
            chances[m, k] = Fraction(comb(n, m) * comb(held, k) * comb(idle, size - k - m), total)
    return chances > 0, chances


def _shown_seeds(report_type: "ReportType", held: int) -> _Shown:
    """Return the classes of seeds, with probabilities if the seeds are few enough to enumerate."""
    operator, n = report_type.independent, report_type.n_items
    if (n + held) * operator.insert_bits << report_type.generator.seed_bits > MOST_SEED_WORK:
        return np.ones((n + 1, held + 1), dtype=np.bool_), None
    columns = item_columns(report_type.generator, operator.insert_bits, np.arange(n + held, dtype=np.int64))
    seeds = np.arange(1 << report_type.generator.seed_bits, dtype=np.uint64)
    shown = np.zeros(len(seeds), dtype=np.int64)
    for item, digits in enumerate(columns[:, :, 0]):  # such short seeds take one word
        value = np.zeros(len(seeds), dtype=np.int64)
        for digit in digits:
            value = 2 * value + (np.bitwise_count(seeds & digit) & 1)
        shown += np.where(value < operator.insert_num, held + 1 if item < n else 1, 0)
    counts = np.bincount(shown, minlength=(n + 1) * (held + 1)).reshape(n + 1, held + 1)
    return counts > 0, counts / len(seeds)


_CLASSES = {"bits": _shown_bits, "seed": _shown_seeds, "rank": _shown_sets}
