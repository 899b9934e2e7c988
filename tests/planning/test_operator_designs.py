"""Tests of families of designs: the fast search agrees with the operators' moments, and finds the paper's design."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from assocpriv.guarantees.amplification import Guarantee
from assocpriv.planning import operator_designs
from assocpriv.planning.operator_designs import FixedSizeFamily, InsertionFamily, MeanVariance, WorstSupport, runs
from assocpriv.plans.baskets.generator import BUILDERS
from assocpriv.plans.baskets.operator import SupportModel

LIMIT, N = Fraction(19), 5_000_000


def every_pattern(m: int) -> np.ndarray:
    """Return all patterns that are not constant."""
    return np.array([h for h in product((0.0, 1.0), repeat=m + 1) if 0 < sum(h) <= m])


@pytest.mark.parametrize(
    "family",
    [
        InsertionFamily(3, ((1, 2), (1, 1), (3, 7))), InsertionFamily(1, ((3, 3),)), FixedSizeFamily(3, 12, (1, 3, 6)),
        FixedSizeFamily(1, 6, (1, 5)), FixedSizeFamily(5, 9, (4, 7)),
    ],
)  # fmt: skip
def test_moments_are_those_of_the_operators(family: InsertionFamily | FixedSizeFamily) -> None:
    """For every pattern of both families, the vectorized moments are those of the rounded operator."""
    largest, patterns = min(family.m, 3), every_pattern(family.m)
    for objective in (WorstSupport(largest, 1000), MeanVariance((0.1, 0.05, 0.02)[:largest], (1.0,) * largest, 0.2)):
        moments, singular = family.moments(float(LIMIT), objective, patterns)
        assert not singular.all()
        for row, member in np.argwhere(~singular).tolist():
            pattern = "".join("01"[int(h)] for h in patterns[row])
            model = SupportModel(family.design(member, pattern, 0.0, ()).operator(LIMIT))
            for (k, held), moment in zip(objective.wanted, moments, strict=True):
                exact = sum(chance * float(model.second_moment(k, count)) for count, chance in enumerate(held))
                assert moment[row, member] == pytest.approx(exact, rel=2e-3)


def test_the_distribution_of_held_items() -> None:
    """All k items are held with the support; other baskets hold each item independently, but not all of them."""
    expected = [0.9 * c / 0.992 for c in (0.512, 0.384, 0.096)] + [0.1]
    assert operator_designs.held_distribution(3, 0.1, 0.2) == pytest.approx(expected)


@pytest.mark.parametrize("m", [1, 2, 4])
def test_runs_are_all_patterns_with_two_changes(m: int) -> None:
    """``runs`` has every pattern whose ones, or whose zeros, are consecutive, and no pattern twice."""
    tried = [tuple(row) for row in runs(m).tolist()]
    wanted = {tuple(h) for h in every_pattern(m) if np.abs(np.diff(h)).sum() <= 2}
    assert len(tried) == len(wanted)
    assert set(tried) == wanted
    assert {tuple(row) for row in operator_designs.thresholds(m).tolist()} <= wanted


@pytest.mark.parametrize("gamma", [Fraction(27183, 10**4), LIMIT, Fraction(546, 10)])
@pytest.mark.parametrize("m", [3, 6, 8])
def test_runs_and_few_digits_lose_little(m: int, gamma: Fraction) -> None:
    """No pattern at any ρ = a/2^8 has a variance lower by 2%."""
    objective = MeanVariance((0.03, 0.02, 0.015), (1.0, 1.0, 0.1), 0.05)
    fine = InsertionFamily(m, tuple((a, 8) for a in range(1, 129)))
    least = [
        min(design.error for design in family.search(gamma, objective, patterns))
        for family, patterns in ((operator_designs.insertion_family(m), runs(m)), (fine, every_pattern(m)))
    ]
    assert least[0] <= 1.02 * least[1]


def test_few_report_sizes_lose_little() -> None:
    """No report size for 100 items has a variance lower by 3% than the best tried one."""
    objective = MeanVariance((0.03, 0.02, 0.015), (1.0, 1.0, 0.1), 0.05)
    every = FixedSizeFamily(6, 106, tuple(range(1, 54)))
    tried, best = (
        min(design.error for design in family.search(LIMIT, objective, runs(6)))
        for family in (operator_designs.fixed_size_family(6, 106), every)
    )
    assert tried <= 1.03 * best
    assert set(operator_designs.fixed_size_family(6, 106).sizes) < set(every.sizes)


@pytest.mark.parametrize("m", [1, 2, 5, 10, 15])
@pytest.mark.parametrize("prior", ["1%", "5%", "20%", "45%"])
def test_rounding_stays_strictly_below_the_limit(m: int, prior: str) -> None:
    """γ of every rounded operator is strictly below the limit and near it; weights are at least 2^16."""
    limit = Guarantee(prior, "50%").amplification_limit
    designs = operator_designs.insertion_family(m).search(limit, WorstSupport(1, N), runs(m))
    for design in designs[:: max(1, len(designs) // 12)]:
        operator = design.operator(limit)
        assert limit * (1 - Fraction(1, 1 << 16)) < operator.amplification < limit
        assert min(operator.keep_weights) >= 1 << 16
        assert operator.pattern == design.pattern


@pytest.mark.parametrize(
    ("n", "m", "r", "bch", "solomon"),
    [
        (1_000, 5, 1, 40, 80), (1_000, 5, 2, 88, 80), (10_000, 5, 3, 180, 112), (1_000, 10, 1, 61, 130),
    ],
)  # fmt: skip
def test_seed_sizes(n: int, m: int, r: int, bch: int, solomon: int) -> None:
    """Seed sizes are those of MATH.md section 4; the shorter one is chosen."""
    built = [BUILDERS[code](n + m, r, m + 3).seed_bits for code in ("bch", "reed-solomon")]
    assert built == [bch, solomon]
    assert operator_designs.choose_generator(n + m, r, m + 3).seed_bits == min(built)
