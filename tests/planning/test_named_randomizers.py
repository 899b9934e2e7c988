"""Tests of named randomizers: cut-and-paste against its own words, its γ, and the operator made of it."""

from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import pytest

from assocpriv.client.baskets.randomizer import Randomizer
from assocpriv.core.errors import PlanError
from assocpriv.core.privacy import Breach
from assocpriv.lab.enumeration import distribution
from assocpriv.planning.named_randomizers import cut_and_paste, cut_and_paste_amplification, cut_and_paste_sizes
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.plans.baskets.generator import Generator
from assocpriv.plans.baskets.plan import Plan

QUARTER, HALF, THIRD = Fraction(1, 4), Fraction(1, 2), Fraction(1, 3)
CASES = [
    (m, cutoff, rho) for m in (1, 2, 3) for cutoff in (0, 1, 2, 3, 5) for rho in (QUARTER, HALF, THIRD, Fraction(5, 8))
]
SUBSETS = {m: [frozenset(c) for size in range(m + 1) for c in combinations(range(m), size)] for m in range(6)}


def in_its_own_words(m: int, cutoff: int, rho: Fraction, n: int) -> dict[frozenset[int], Fraction]:
    """Return the law of the report of items 0..m−1 of n, by following the algorithm through every draw."""
    law: dict[frozenset[int], Fraction] = {}
    for drawn in range(cutoff + 1):
        size = min(drawn, m)
        for kept in combinations(range(m), size):
            others = [item for item in range(n) if item not in kept]
            for places in SUBSETS[len(others)]:
                report = frozenset(kept) | {others[place] for place in places}
                chance = rho ** len(places) * (1 - rho) ** (len(others) - len(places))
                law[report] = law.get(report, Fraction(0)) + chance / (cutoff + 1) / comb(m, size)
    return law


@pytest.mark.parametrize(("m", "cutoff", "rho"), CASES)
def test_sizes_follow_from_the_words(m: int, cutoff: int, rho: Fraction) -> None:
    """p[j] is the law of how many items show; given j every subset is equally likely, and others come with ρ."""
    sizes, n = cut_and_paste_sizes(m, cutoff, rho), m + 2
    assert sum(sizes) == 1
    for report, chance in in_its_own_words(m, cutoff, rho, n).items():
        j = len(report & set(range(m)))
        added = len(report) - j
        assert chance == sizes[j] / comb(m, j) * rho**added * (1 - rho) ** (n - m - added)


@pytest.mark.parametrize(("m", "cutoff", "rho"), [case for case in CASES if case[0] <= 2])
def test_amplification_of_the_words(m: int, cutoff: int, rho: Fraction) -> None:
    """The largest ratio over two disjoint transactions and all reports is γ; for K ≤ m it is Σ ρ^(−i), i = 0..K."""
    law = in_its_own_words(m, cutoff, rho, 2 * m)
    other = {frozenset((item + m) % (2 * m) for item in report): chance for report, chance in law.items()}
    gamma = cut_and_paste_amplification(m, cutoff, rho)
    assert max(max(law[r] / other[r], other[r] / law[r]) for r in law) == gamma
    if cutoff <= m:
        assert gamma == sum(rho**-i for i in range(cutoff + 1))
    else:
        assert gamma > sum(rho**-i for i in range(m + 1))


def test_amplifications_by_hand() -> None:
    """At ρ = 1/4, γ is 1, 5 and 21 for K = 0, 1, 2; with m = 1 and K = 3 an item stays with 3/4 or by chance."""
    assert [cut_and_paste_amplification(5, cutoff, QUARTER) for cutoff in (0, 1, 2)] == [1, 5, 21]
    shown = Fraction(3, 4) + QUARTER / 4
    assert cut_and_paste_sizes(1, 3, QUARTER) == (1 - shown, shown)
    assert cut_and_paste_amplification(1, 3, QUARTER) == shown / (1 - shown) * 3


@pytest.mark.parametrize(("m", "cutoff", "rho"), [(m, k, a) for m, k, a in CASES if a != THIRD] + [(15, 3, QUARTER)])
@pytest.mark.parametrize("bits", [32, 64, 200])
def test_the_operator_is_near_and_no_weaker(m: int, cutoff: int, rho: Fraction, bits: int) -> None:
    """Rounding moves no p[j] by more than 2^(m−b), leaves γ at most the exact one, and is exact where it can be."""
    operator, exact = cut_and_paste(m, cutoff, rho, bits), cut_and_paste_sizes(m, cutoff, rho)
    assert operator.default_probability == rho
    assert max(abs(p - q) for p, q in zip(operator.size_distribution, exact, strict=True)) <= Fraction(2**m, 2**bits)
    gamma, lost = cut_and_paste_amplification(m, cutoff, rho), Fraction(2**m, min(operator.keep_weights))
    assert gamma * (1 - lost) < operator.amplification
    assert operator.amplification <= (gamma if cutoff else 1 + lost)  # without a cutoff all likelihoods are 1
    if m < 3 and cutoff in (1, 3):  # K + 1 and C(m, j) are powers of two, so all weights are whole
        assert operator.amplification == gamma
        assert operator.size_distribution == exact


def test_likelihoods_grow_with_what_is_kept() -> None:
    """w_j of the exact operator is Σ u_i ρ^(−i) C(j,i)/C(m,i), so γ is between keeping all and keeping none."""
    weights = cut_and_paste(3, 3, QUARTER, 32).normalized_likelihoods
    expected = [
        sum(Fraction(comb(j, i), comb(3, i)) * 4**i for i in range(4)) / Fraction(4) for j in range(4)
    ]  # fmt: skip
    assert list(weights) == expected == sorted(expected)


def test_a_plan_of_it_randomizes_as_the_words_say() -> None:
    """The shipping client with such a plan has the law of the algorithm's words, fraction for fraction."""
    operator = cut_and_paste(2, 1, QUARTER, 5)
    plan = Plan(Catalogue.numbered(2), 2, 1, (operator,), Generator(), Breach("5%", "50%"))
    randomizer = Randomizer(plan)
    law = distribution(lambda entropy: plan.form.items(randomizer.randomize([0, 1], entropy=entropy)))
    assert law == in_its_own_words(2, 1, QUARTER, plan.padded_items)
    assert plan.amplification == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, QUARTER), "1..15 items, got 0"),
        ((16, 1, QUARTER), "1..15 items, got 16"),
        ((3, -1, QUARTER), "at least 0, got -1"),
        ((3, 1, Fraction(0)), "strictly between 0 and 1, got 0"),
        ((3, 1, Fraction(1)), "strictly between 0 and 1, got 1"),
        ((3, 1, THIRD), "rho must be a/2"),
        ((3, 1, Fraction(1, 1 << 17)), "rho must be a/2"),
        ((3, 1, QUARTER, 0), "weight_bits must lie in 1..1024, got 0"),
        ((3, 1, QUARTER, 1025), "weight_bits must lie in 1..1024, got 1025"),
        ((3, 1, QUARTER, 4), "too coarse"),
    ],
)
def test_what_is_no_cut_and_paste_is_refused(arguments: tuple[Any, ...], message: str) -> None:
    """Sizes, cutoffs, ρ and bits outside their ranges are refused by name."""
    with pytest.raises(PlanError, match=message):
        cut_and_paste(*arguments)
