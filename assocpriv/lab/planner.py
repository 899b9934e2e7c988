"""The plan with the least error inside a privacy limit.

For a default probability ρ and a pattern of likelier sizes h ⊆ {0..m}, the operator with w_j = γc for j ∈ h and
w_j = c elsewhere is the sharpest with amplification γ. The search takes every ρ = a/2^r and every pattern (or
only thresholds h = {j ≥ j0}, the paper's choice) and looks for the least max over k of the lowest discoverable
support. Both enter through π_i (core/transition.py), which is linear in p, so all patterns of one ρ cost a
small matrix product. (ρ, h) and (1−ρ, h reversed) are mirror images: half of the ρ suffice for all patterns.

The chosen design is rounded to integers that stay strictly below the limit; what is reported is computed from
those integers.

Source: EGS03, section 5; patterns other than thresholds are ours.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.catalogue import Catalogue
from assocpriv.core.codes import (
    bch_generator,
    bch_seed_bits,
    blocks_independent,
    item_columns,
    reed_solomon_generator,
    reed_solomon_seed_bits,
)
from assocpriv.core.errors import PlanError
from assocpriv.core.generator import MAX_SEED_BITS, Generator
from assocpriv.core.operator import MAX_TRANSACTION_SIZE, MAX_WEIGHT_BITS, Operator
from assocpriv.core.plan import Plan
from assocpriv.core.privacy import Breach
from assocpriv.core.transition import lowest_support
from assocpriv.server.apriori import MOST_CANDIDATES

DEFAULT_REPORTS = 1_000_000
LARGEST_INSERT_BITS = 8
_WITHIN = 1.02  # designs this near the least error compete on report length
_LEAST_WEIGHT_BITS = 16  # every weight is at least 2^16, so rounding moves no probability by more than 2^-16
# designs whose μ_k is smaller for some k up to the largest target are left out: mining needs every size on the
# way, and a contrast that drowns in rounding would turn into a spuriously small LDS
_LEAST_CONTRAST = 1e-7
_CODES = ("auto", "bch", "reed-solomon", "none")
_NAMED_TARGETS = {"singles": 1, "pairs": 2, "triples": 3}
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Design:
    """A point of the search: ρ = insert_num / 2^insert_bits, the likelier sizes, and its worst LDS."""

    insert_num: int
    insert_bits: int
    pattern: str
    worst_support: float


def make_plan(
    items: int | Iterable[str],
    transaction_size: int,
    promise: Breach,
    *,
    itemset_size: int | None = None,
    reports: int = DEFAULT_REPORTS,
    code: str = "auto",
    pattern: str = "any",
    target: Iterable[int | str] | int | str | None = None,
    largest_insert_bits: int = LARGEST_INSERT_BITS,
    progress: Progress | None = None,
) -> Plan:
    """Return the plan with the least error among those that keep the promise.

    The error is the lowest discoverable support (LDS): the support that equals four of its standard errors, the
    largest over the itemset sizes asked for.

    Args:
        items: number of items (then named 0 … n−1) or their names.
        transaction_size: M, the number of items every transaction is padded or sampled to, 1..15.
        promise: the breach that no report may cause.
        itemset_size: K, the largest itemsets to be estimated; 3 (or M if that is less) by default.
        reports: number of reports N that the planner counts on.
        code: ``bch``, ``reed-solomon``, ``none`` (one bit an item), or ``auto``: whichever makes the shortest report.
        pattern: ``any`` two-level pattern, or ``threshold`` as in the paper.
        target: itemset sizes to plan for (``"pairs"``, 2, [1, 2]); 1..K by default. With more items than could all
            be paired, the sizes below count too: mining must leave most items out on the way.
        largest_insert_bits: r is at most this, 1..8.
        progress: called with (done, total) steps.

    Raises:
        PlanError: arguments out of range, or no operator fits.
        TypeError: arguments of another type.
    """
    if not isinstance(promise, Breach):
        raise TypeError(f"promise must be a Breach, as Breach('5%', '50%'), got a {type(promise).__name__}")
    catalogue = _catalogue(items)
    _check_range("transaction_size", transaction_size, 1, MAX_TRANSACTION_SIZE)
    largest = min(3, transaction_size) if itemset_size is None else itemset_size
    _check_range("itemset_size (K)", largest, 1, transaction_size)
    _check_range("reports", reports, 1, 10**15)
    _check_range("largest_insert_bits", largest_insert_bits, 1, LARGEST_INSERT_BITS)
    if code not in _CODES:
        raise PlanError(f"code must be one of {', '.join(_CODES)}, got {code!r}")
    sizes = _target_sizes(target, largest)
    if comb(len(catalogue), 2) > MOST_CANDIDATES:
        # with so many items mining must be able to leave most of them out before it comes to larger sizes
        sizes = list(range(1, max(sizes) + 1))
    designs = search_designs(
        transaction_size,
        promise.amplification_limit,
        sizes,
        reports,
        thresholds_only=_thresholds_only(pattern),
        largest_insert_bits=largest_insert_bits,
        progress=progress,
    )
    padded, independent = len(catalogue) + transaction_size, transaction_size + largest
    design = _shortest(designs, code, padded, independent)
    return Plan(
        catalogue=catalogue,
        transaction_size=transaction_size,
        itemset_size=largest,
        operators=(round_design(design, transaction_size, promise.amplification_limit),),
        generator=choose_generator(code, padded, design.insert_bits, independent),
        promise=promise,
    )


def _catalogue(items: int | Iterable[str]) -> Catalogue:
    if isinstance(items, Catalogue):
        return items
    if isinstance(items, int):
        return Catalogue.numbered(items)
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise TypeError(f"items must be a number of items or a list of their names, got a {type(items).__name__}")
    # names from numpy or pandas are subclasses of str; numbers are names too
    return Catalogue(str(item) if isinstance(item, str | int | np.integer) else item for item in items)


def _check_range(name: str, value: object, low: int, high: int) -> None:
    if type(value) is not int:
        raise TypeError(f"{name} must be an int, got {type(value).__name__}")
    if not low <= value <= high:
        raise PlanError(f"{name} must be in {low}..{high}, got {value}")


def _thresholds_only(pattern: str) -> bool:
    if pattern not in ("any", "threshold"):
        raise PlanError(f"pattern must be 'any' or 'threshold', got {pattern!r}")
    return pattern == "threshold"


def _target_sizes(target: Iterable[int | str] | int | str | None, largest: int) -> list[int]:
    if target is None:
        return list(range(1, largest + 1))
    listed = [target] if isinstance(target, int | str) else list(target)
    sizes = []
    for entry in listed:
        size = _NAMED_TARGETS.get(str(entry), entry)
        if isinstance(size, str) and size.isdecimal():
            size = int(size[:9])
        if not isinstance(size, int) or not 1 <= size <= largest:
            raise PlanError(f"target must name itemset sizes in 1..{largest} (or singles, pairs, triples)")
        sizes.append(size)
    if not sizes:
        raise PlanError("target must name at least one itemset size")
    return sorted(set(sizes))


def search_designs(
    m: int,
    limit: Fraction,
    sizes: Sequence[int],
    reports: int,
    *,
    thresholds_only: bool = False,
    largest_insert_bits: int = LARGEST_INSERT_BITS,
    progress: Progress | None = None,
) -> list[Design]:
    """Return the best design of every ρ, as (a, r) with a odd.

    Args:
        m: transaction size.
        limit: γ of the promise.
        sizes: itemset sizes k whose LDS counts; the worst of them is minimized.
        reports: number of reports N.
        thresholds_only: only patterns 0…01…1.
        largest_insert_bits: r ≤ this.
        progress: called with (done, total).
    """
    patterns = _patterns(m, thresholds_only)
    grid = [(a, r) for r in range(1, largest_insert_bits + 1) for a in range(1, 1 << r, 2)]
    if not thresholds_only:
        grid = [(a, r) for a, r in grid if 2 * a <= 1 << r]
    designs = []
    for done, (a, r) in enumerate(grid):
        worst = _worst_supports(patterns, a / (1 << r), float(limit), m, sizes, reports)
        # the last of equals keeps more items; the slack makes ties independent of rounding
        best = int(np.flatnonzero(worst <= worst.min() * (1 + 1e-12))[-1])
        designs.append(Design(a, r, "".join("01"[int(h)] for h in patterns[best]), float(worst[best])))
        if progress:
            progress(done + 1, len(grid))
    return designs


def _patterns(m: int, thresholds_only: bool) -> NDArray[np.float64]:
    """Return the patterns as 0/1 rows over j = 0..m, constant ones left out."""
    if thresholds_only:
        return np.array([[float(j >= j0) for j in range(m + 1)] for j0 in range(m, 0, -1)])
    numbers = np.arange(1, (1 << m + 1) - 1)
    return (numbers[:, None] >> np.arange(m + 1) & 1).astype(np.float64)


def _worst_supports(
    patterns: NDArray[np.float64], rho: float, gamma: float, m: int, sizes: Sequence[int], reports: int
) -> NDArray[np.float64]:
    """Return the worst LDS over the sizes for every pattern at one ρ, float64 (patterns,)."""
    j = np.arange(m + 1)
    chances = np.array([comb(m, i) for i in j]) * rho**j * (1 - rho) ** (m - j)
    weights = (1 + (gamma - 1) * patterns) * chances
    p = weights / weights.sum(axis=1, keepdims=True)
    keep = np.array([[comb(m - i, x - i) / comb(m, x) if x >= i else 0.0 for x in j] for i in j])
    pi = p @ keep.T
    worst = np.zeros(len(patterns))
    for k in range(1, max(sizes) + 1):
        mu = sum(comb(k, i) * (-rho) ** (k - i) * pi[:, i] for i in range(k + 1))
        worst[np.abs(mu) < _LEAST_CONTRAST] = np.inf
        if k not in sizes:
            continue
        inside = sum(comb(k, i) * rho ** (2 * (k - i)) * (1 - 2 * rho) ** i * pi[:, i] for i in range(k + 1))
        square = np.maximum(mu * mu, _LEAST_CONTRAST**2)
        support = lowest_support((rho * (1 - rho)) ** k / square, inside / square - 1, reports)
        worst = np.maximum(worst, support)
    return worst


def _shortest(designs: Sequence[Design], code: str, n_items: int, independent: int) -> Design:
    """Among designs within 2% of the least error take the shortest report, then the least error."""

    def bits(design: Design) -> int:
        return report_bits(code, n_items, design.insert_bits, independent)

    fitting = [d for d in designs if code in ("none", "auto") or bits(d) <= MAX_SEED_BITS]
    least = min((d.worst_support for d in fitting), default=math.inf)
    if not math.isfinite(least):
        raise PlanError(
            "no operator within this promise lets supports be estimated; lower the transaction size or weaken "
            "the promise"
        )
    near = [d for d in fitting if d.worst_support <= least * _WITHIN]
    return min(near, key=lambda d: (bits(d), d.worst_support))


def report_bits(code: str, n_items: int, insert_bits: int, independent: int) -> int:
    """Return the length of a report under a code; ``auto`` is the shortest of all."""
    lengths = {
        "bch": bch_seed_bits(n_items, insert_bits, independent),
        "reed-solomon": reed_solomon_seed_bits(n_items, insert_bits, independent),
        "none": n_items,
    }
    return lengths[code] if code in lengths else min(lengths.values())


def choose_generator(code: str, n_items: int, insert_bits: int, independent: int) -> Generator:
    """Return the generator asked for; ``auto`` takes the one with the shortest report, BCH where seeds tie.

    Args:
        code: ``auto``, ``bch``, ``reed-solomon`` or ``none``.
        n_items: items, dummies included.
        insert_bits: r.
        independent: items whose bits must be independent, m + k.
    """
    if code == "auto":
        order = ("none", "bch", "reed-solomon")  # without a code K is not limited, so it wins a tie
        code = min(order, key=lambda kind: report_bits(kind, n_items, insert_bits, independent))
    if code == "none":
        return Generator()
    build = bch_generator if code == "bch" else reed_solomon_generator
    generator = build(n_items, insert_bits, independent)
    # the theorem holds for every item; trying some of what was really built guards against a slip here
    sample = np.unique(np.linspace(0, n_items - 1, 24).astype(np.int64))
    built = item_columns(generator, insert_bits, sample)
    assert blocks_independent(built, independent, limit=200)
    return generator


def round_design(design: Design, m: int, limit: Fraction) -> Operator:
    """Return integer weights whose amplification is strictly below the limit.

    The weights aim a 2^-20 part below the limit, so that rounding cannot reach it; b grows until every weight
    is at least 2^16 and the exact amplification keeps the limit.
    """
    rest = (1 << design.insert_bits) - design.insert_num
    levels = [limit * (1 - Fraction(1, 1 << 20)) if h == "1" else Fraction(1) for h in design.pattern]
    shares = [design.insert_num**j * rest ** (m - j) * levels[j] for j in range(m + 1)]
    scale = sum((comb(m, j) * share for j, share in enumerate(shares)), Fraction(0))
    for weight_bits in range(64, MAX_WEIGHT_BITS + 1, 64):
        weights = [math.floor(share * (1 << weight_bits) / scale) for share in shares]
        _spread(weights, (1 << weight_bits) - sum(comb(m, j) * v for j, v in enumerate(weights)))
        if min(weights) >= 1 << _LEAST_WEIGHT_BITS:
            operator = Operator(m, design.insert_num, design.insert_bits, weight_bits, tuple(weights))
            if operator.amplification < limit:
                return operator
    raise PlanError(
        f"the operator cannot be written with weights of {MAX_WEIGHT_BITS} bits; lower the transaction size"
    )


def _spread(weights: list[int], missing: int) -> None:
    """Add a total to the weights in place: whole steps of C(m,j) where that is largest, the rest where it is 1."""
    m = len(weights) - 1
    for j in sorted(range(m + 1), key=lambda j: (-comb(m, j), -weights[j])):
        step, missing = divmod(missing, comb(m, j))
        weights[j] += step
