"""The plan with the least error inside a privacy limit.

Every operator of either kind is tried (planning/designs.py: independent insertion; planning/fixed_size_designs.py:
reports of a fixed size, which are better for short catalogues), and the least max over k of the lowest discoverable
support wins; among designs within 2% of it the shortest report.

With sizes in clear there is a design for each size, and one generator for all: the shortest under which every size
comes within 2% of its own least error; each size then takes its best design that this generator can serve. Sizes may
have different ρ, and different r where the generator has room.

Where a person sends R reports, each is designed for the R-th root of the promise's limit.

Source: EGS03, section 5.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import chain
from math import comb
from typing import TypeVar

import numpy as np

from assocpriv.core.errors import PlanError
from assocpriv.core.privacy import Breach
from assocpriv.planning.designs import LARGEST_INSERT_BITS, Design, round_design, search_designs
from assocpriv.planning.fixed_size_designs import FixedDesign, round_fixed_design, search_fixed_designs
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.codes import (
    bch_generator,
    bch_seed_bits,
    blocks_independent,
    item_columns,
    reed_solomon_generator,
    reed_solomon_seed_bits,
)
from assocpriv.plans.baskets.generator import MAX_SEED_BITS, Generator
from assocpriv.plans.baskets.operator import MAX_TRANSACTION_SIZE, Operator
from assocpriv.plans.baskets.plan import HIDDEN, IN_CLEAR, MOST_REPORTS_PER_PERSON, Plan
from assocpriv.plans.baskets.view import View
from assocpriv.server.counting.backend import MOST_CANDIDATES

DEFAULT_REPORTS = 1_000_000
_ROOT_BITS = 64  # after the point of the γ that each of several reports is designed for
_WITHIN = 1.02  # designs this near the least error compete on report length
_CODES = ("auto", "bch", "reed-solomon", "none")
_KINDS = ("auto", "independent", "fixed-size")
# with the dummies; for M=5, γ=19 the LDS of sizes 1..3 is lower than with independent insertion by 36% at 32 items, 22%
# at 64, 10% at 128, 3% at 256, 1% at 512, while the time that a report takes both sides grows with the items
_MOST_FIXED_ITEMS = 256
_NAMED_TARGETS = {"singles": 1, "pairs": 2, "triples": 3}
Progress = Callable[[int, int], None]


_AnyDesign = TypeVar("_AnyDesign", bound=Design | FixedDesign)


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
    sizes: str = HIDDEN,
    kind: str = "auto",
    view: View | None = None,
    reports_per_person: int = 1,
    progress: Progress | None = None,
) -> Plan:
    """Return the plan with the least error among those that keep the promise.

    The error is the lowest discoverable support (LDS): the support that equals four of its standard errors, the
    largest over the itemset sizes asked for.

    Args:
        items: number of items (then named 0 … n−1) or their names.
        transaction_size: M, the number of items every transaction is padded or sampled to, 1..15.
        promise: the breach that no report may cause, nor all reports of one person together.
        itemset_size: K, the largest itemsets to be estimated; 3 (or M if that is less) by default.
        reports: number of reports N that the planner counts on.
        code: ``bch``, ``reed-solomon``, ``none`` (one bit an item), or ``auto``: whichever makes the shortest report.
        pattern: ``any`` two-level pattern, or ``threshold`` as in the paper.
        target: itemset sizes to plan for (``"pairs"``, 2, [1, 2]); 1..K by default. With more items than could all
            be paired, the sizes below count too: mining must leave most items out on the way.
        largest_insert_bits: r is at most this, 1..8.
        sizes: ``hidden``, or ``in clear``: every report says its transaction's size, which **the promise then does not
            cover**, and each size has an operator of its own; errors are lower. The N reports count for each size.
        kind: ``independent`` (every other item is added independently), ``fixed-size`` (as many are added as make the
            report hold some number of items), or ``auto``: the better one of both where the catalogue is short enough.
        view: how clients make a transaction of a basket; by default they look its items up.
        reports_per_person: R, how many reports one person may send, 1..1000; each then tells less.
        progress: called with (done, total) steps.

    Raises:
        PlanError: arguments out of range, or no operator fits.
        TypeError: arguments of another type.
    """
    if not isinstance(promise, Breach):
        raise TypeError(f"promise must be a Breach, as Breach('5%', '50%'), got a {type(promise).__name__}")
    catalogue, view = catalogue_of(items), view or View()
    view.check_catalogue(catalogue)
    check_range("transaction_size", transaction_size, 1, MAX_TRANSACTION_SIZE)
    largest = min(3, transaction_size) if itemset_size is None else itemset_size
    check_range("itemset_size (K)", largest, 1, transaction_size)
    check_range("reports", reports, 1, 10**15)
    check_range("largest_insert_bits", largest_insert_bits, 1, LARGEST_INSERT_BITS)
    limit = limit_of_each(promise, reports_per_person)
    if code not in _CODES:
        raise PlanError(f"code must be one of {', '.join(_CODES)}, got {code!r}")
    if sizes not in (HIDDEN, IN_CLEAR):
        raise PlanError(f"sizes must be {HIDDEN!r} or {IN_CLEAR!r}, got {sizes!r}")
    targets = target_sizes(target, largest)
    if comb(len(catalogue), 2) > MOST_CANDIDATES:
        # with so many items mining must be able to leave most of them out before it comes to larger sizes
        targets = list(range(1, max(targets) + 1))
    padded, independent = len(catalogue) + transaction_size, transaction_size + largest
    thresholds = _thresholds_only(pattern)
    fixed: list[FixedDesign] = []
    if _tries_fixed_size(kind, code, sizes, thresholds, padded, independent):
        told = progress if kind == "fixed-size" else None  # it is the shorter one of two searches
        fixed = search_fixed_designs(
            transaction_size,
            padded,
            limit,
            targets,
            reports,
            itemset_size=largest,
            thresholds_only=thresholds,
            progress=told,
        )
    transaction_sizes = [transaction_size] if sizes == HIDDEN else list(range(1, transaction_size + 1))
    found = _search_sizes(
        transaction_sizes if kind != "fixed-size" else [],
        limit,
        targets,
        reports,
        thresholds_only=thresholds,
        largest_insert_bits=largest_insert_bits,
        progress=progress,
    )
    if fixed:
        candidates: list[Design | FixedDesign] = [*fixed, *chain(*found)]
        best = _shortest(candidates, code, padded, independent)
        if isinstance(best, FixedDesign):
            operator = round_fixed_design(best, transaction_size, limit)
            return Plan(
                catalogue,
                transaction_size,
                largest,
                (operator,),
                Generator(),
                promise,
                view=view,
                reports_per_person=reports_per_person,
            )
    if sizes == HIDDEN:
        designs = [_shortest(found[0], code, padded, independent)]
        generator = choose_generator(code, padded, designs[0].insert_bits, independent)
    else:
        designs, generator = _share_generator(found, code, len(catalogue), largest)
    return Plan(
        catalogue=catalogue,
        transaction_size=transaction_size,
        itemset_size=largest,
        operators=tuple(round_design(design, m, limit) for design, m in zip(designs, transaction_sizes, strict=True)),
        generator=generator,
        promise=promise,
        sizes=sizes,
        view=view,
        reports_per_person=reports_per_person,
    )


def limit_of_each(promise: Breach, reports_per_person: int) -> Fraction:
    """Return the γ that each of R reports must stay strictly below for all of them to keep a promise together.

    It is the R-th root of the promise's limit, rounded down to a multiple of 2^-64 by integers alone; of one report the
    limit itself.

    Args:
        promise: the breach that no R reports may cause.
        reports_per_person: R, 1..1000.

    Raises:
        PlanError: R is out of range.
        TypeError: R is no int.

    >>> limit_of_each(Breach("5%", "95%"), 2)
    Fraction(19, 1)
    """
    check_range("reports_per_person", reports_per_person, 1, MOST_REPORTS_PER_PERSON)
    limit = promise.amplification_limit
    if reports_per_person == 1:
        return limit
    # γ ≤ root/2^64 < limit^(1/R) holds iff root^R ≤ limit · 2^(64 R), and so iff root^R ≤ its whole part
    scaled = (limit.numerator << _ROOT_BITS * reports_per_person) // limit.denominator
    return Fraction(_whole_root(scaled, reports_per_person), 1 << _ROOT_BITS)


def _whole_root(value: int, degree: int) -> int:
    """Return the largest whole number whose power of this degree is at most ``value``, which is at least 1."""
    bits = value.bit_length()
    low, high = 1 << (bits - 1) // degree, 1 << -(-bits // degree)  # low^degree ≤ value < high^degree
    while high - low > 1:
        middle = (low + high) // 2
        if middle**degree <= value:
            low = middle
        else:
            high = middle
    return low


def _tries_fixed_size(kind: str, code: str, sizes: str, thresholds_only: bool, n_items: int, independent: int) -> bool:
    """Tell whether to search reports of a fixed size."""
    if kind not in _KINDS:
        raise PlanError(f"kind must be one of {', '.join(_KINDS)}, got {kind!r}")
    possible = code in ("auto", "none") and sizes == HIDDEN
    if kind == "fixed-size" and not possible:
        raise PlanError("reports of a fixed size take no code, and hide sizes; leave code at auto and sizes at hidden")
    affordable = independent <= n_items <= _MOST_FIXED_ITEMS  # all itemsets exist without dummies
    return kind == "fixed-size" or (kind == "auto" and possible and affordable and not thresholds_only)


def _search_sizes(
    transaction_sizes: Sequence[int],
    limit: Fraction,
    targets: Sequence[int],
    reports: int,
    *,
    thresholds_only: bool,
    largest_insert_bits: int = LARGEST_INSERT_BITS,
    progress: Progress | None = None,
) -> list[list[Design]]:
    """Search each transaction size m for the itemset sizes that matter, as far as m items hold them."""

    def part(place: int) -> Progress | None:
        if progress is None:
            return None
        return lambda done, total: progress(place * total + done, len(transaction_sizes) * total)

    return [
        search_designs(
            m,
            limit,
            [k for k in targets if k <= m] or [m],
            reports,
            thresholds_only=thresholds_only,
            largest_insert_bits=largest_insert_bits,
            progress=part(place),
        )
        for place, m in enumerate(transaction_sizes)
    ]


def best_operators(
    transaction_sizes: Sequence[int],
    promise: Breach,
    targets: Sequence[int],
    reports: int,
    *,
    pattern: str = "any",
    reports_per_person: int = 1,
    progress: Progress | None = None,
) -> dict[int, Operator]:
    """Return for each transaction size the operator with the least worst error, whatever its reports' length.

    Args:
        transaction_sizes: m, each 1..15.
        promise: the breach that no report may cause.
        targets: itemset sizes k whose LDS counts.
        reports: number of reports N.
        pattern: as for :func:`make_plan`.
        reports_per_person: as for :func:`make_plan`.
        progress: called with (done, total).

    Raises:
        PlanError: no operator fits.
    """
    limit, only = limit_of_each(promise, reports_per_person), _thresholds_only(pattern)
    found = _search_sizes(transaction_sizes, limit, targets, reports, thresholds_only=only, progress=progress)
    return {
        m: round_design(min(_near_the_best(designs), key=lambda design: design.worst_support), m, limit)
        for m, designs in zip(transaction_sizes, found, strict=True)
    }


def catalogue_of(items: int | Iterable[str]) -> Catalogue:
    """Return the catalogue of a number of items or of their names.

    Raises:
        PlanError: no items, or names that cannot be a catalogue's.
        TypeError: neither.
    """
    if isinstance(items, Catalogue):
        return items
    if isinstance(items, int):
        return Catalogue.numbered(items)
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise TypeError(f"items must be a number of items or a list of their names, got a {type(items).__name__}")
    # names from numpy or pandas are subclasses of str; numbers are names too
    return Catalogue(str(item) if isinstance(item, str | int | np.integer) else item for item in items)


def check_range(name: str, value: object, low: int, high: int) -> None:
    """Refuse what is no whole number within a range.

    Raises:
        PlanError: out of range.
        TypeError: no int.
    """
    if type(value) is not int:
        raise TypeError(f"{name} must be an int, got {type(value).__name__}")
    if not low <= value <= high:
        raise PlanError(f"{name} must be in {low}..{high}, got {value}")


def _thresholds_only(pattern: str) -> bool:
    if pattern not in ("any", "threshold"):
        raise PlanError(f"pattern must be 'any' or 'threshold', got {pattern!r}")
    return pattern == "threshold"


def target_sizes(target: Iterable[int | str] | int | str | None, largest: int) -> list[int]:
    """Return the itemset sizes that are planned for, as numbers; all of 1..largest by default.

    Raises:
        PlanError: none, or one out of range.
    """
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


def _shortest(designs: Sequence[_AnyDesign], code: str, n_items: int, independent: int) -> _AnyDesign:
    """Among designs within 2% of the least error take the shortest report, then the least error."""

    def bits(design: _AnyDesign) -> int:
        if isinstance(design, FixedDesign):
            return design.report_bits
        return report_bits(code, n_items, design.insert_bits, independent)

    near = _near_the_best([d for d in designs if code in ("none", "auto") or bits(d) <= MAX_SEED_BITS])
    return min(near, key=lambda d: (bits(d), d.worst_support))


def _near_the_best(designs: Sequence[_AnyDesign]) -> list[_AnyDesign]:
    """Return the designs within 2% of the least error."""
    least = min((d.worst_support for d in designs), default=math.inf)
    if not math.isfinite(least):
        raise PlanError(
            "no operator within this promise lets supports be estimated; lower the transaction size or weaken "
            "the promise"
        )
    return [d for d in designs if d.worst_support <= least * _WITHIN]


def _share_generator(
    found: Sequence[Sequence[Design]], code: str, n_items: int, itemset_size: int
) -> tuple[list[Design], Generator]:
    """Choose the generator that the transactions of 1, 2, … items share, and the design of each size.

    What a generator must hold grows with every size's r, so the least r near the best designs give the shortest.
    """
    bits = [min(design.insert_bits for design in _near_the_best(designs)) for designs in found]
    independent = [m + min(m, itemset_size) for m in range(1, len(found) + 1)]
    needs = {  # items, bits of each, independent items; BCH serves single columns
        "none": (n_items + len(found), 1, 0),
        "bch": (
            max((n_items + m) * r for m, r in enumerate(bits, 1)),
            1,
            max(count * r for count, r in zip(independent, bits, strict=True)),
        ),
        "reed-solomon": (n_items + len(found), max(bits), independent[-1]),
    }
    kinds = needs if code == "auto" else [code]
    kind = min(kinds, key=lambda kind: report_bits(kind, *needs[kind]))
    generator = choose_generator(kind, *needs[kind])
    designs = [
        min(
            (
                d
                for d in designs
                if kind == "none"
                or (
                    generator.capacity(d.insert_bits) >= n_items + m
                    and generator.independent_items(d.insert_bits) >= count
                )
            ),
            key=lambda d: d.worst_support,
        )
        for m, (designs, count) in enumerate(zip(found, independent, strict=True), 1)
    ]
    return designs, generator


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
