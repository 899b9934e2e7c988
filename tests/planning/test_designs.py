"""Tests of families of designs: the fast search says what the operators' own moments say."""

from fractions import Fraction

import numpy as np
import pytest

from assocpriv.planning.designs import (
    FixedSizeFamily,
    InsertionFamily,
    WorstSupport,
    patterns_of,
)
from assocpriv.plans.transition import SupportModel

LIMIT = Fraction(19)


@pytest.mark.parametrize(
    "family",
    [
        *(InsertionFamily(3, num, bits) for num, bits in ((1, 2), (1, 1), (3, 7))),
        *(FixedSizeFamily(3, 12, size) for size in (1, 3, 6)),
    ],
)
def test_moments_are_those_of_the_operators(family: InsertionFamily | FixedSizeFamily) -> None:
    """For every pattern of either kind the vectorized moments are those of the rounded operator."""
    largest = min(3, getattr(family, "report_size", 3))
    every = WorstSupport(range(1, largest + 1), 1000)
    patterns = patterns_of(len(family.numbers))
    moments, singular = family.moments(float(LIMIT), every)(patterns)
    assert singular.sum() < len(patterns)
    for row in np.flatnonzero(~singular):
        model = SupportModel.of(family.design(patterns[row], 0.0).operator(LIMIT))
        for k, held in every.wanted:
            assert moments[k, held][row] == pytest.approx(float(model.second_moment(k, held)), rel=1e-3)
