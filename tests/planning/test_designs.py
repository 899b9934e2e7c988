"""Tests of planning for expected supports: the fast search says what the operators' own moments say."""

from fractions import Fraction

import numpy as np
import pytest

from assocpriv.planning.blocks import Survey, designed
from assocpriv.planning.designs import (
    FixedSizeDesign,
    FixedSizeFamily,
    Focus,
    InsertionDesign,
    InsertionFamily,
    patterns_of,
)
from assocpriv.planning.rounds import single_focus
from assocpriv.plans.operator import AnyOperator, FixedSizeOperator, Operator
from assocpriv.plans.transition import SupportModel, estimator_row, transition_matrix
from assocpriv.promise.errors import PlanError
from assocpriv.server.undo_sampling import Sampling, SizeShares

LIMIT = Fraction(19)
MIXED = Focus(((1, 0.5, (0.9, 0.1)), (2, 0.5, (0.75, 0.2, 0.05))))


def focused_operator(m: int, items: int, limit: Fraction, focus: Focus) -> AnyOperator:
    """Return the operator with the least error in a focus, of all for m of ``items`` items, dummies included."""
    sizes = SizeShares(np.array([m]), np.ones(1))  # sampling loses nothing
    survey = Survey(items - m, 1_000_000, limit, sizes, focus)
    return designed(survey, Sampling(m, items - m), fine=True).design.operator(limit)


def test_error_is_the_variance_of_the_estimate() -> None:
    """The error of a focus is Σ weight (Σ_l s_l Σ_l' P[l',l] q_l'² − s_k), from P itself."""
    operator = InsertionDesign(1, 2, "0011").operator(LIMIT)
    expected = 0.0
    for k, weight, shares in MIXED.sizes:
        row, matrix = estimator_row(operator, k), transition_matrix(operator, k)
        squares = [sum(matrix[to][held] * row[to] ** 2 for to in range(k + 1)) for held in range(k + 1)]
        expected += weight * (sum(s * float(square) for s, square in zip(shares, squares, strict=True)) - shares[-1])
    assert MIXED.error(operator) == pytest.approx(expected, rel=1e-12)


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
    every = Focus(tuple((k, 1.0, (0.0,) * k + (1.0,)) for k in range(1, largest + 1)))
    patterns = patterns_of(len(family.numbers))
    moments, singular = family.moments(float(LIMIT), every)(patterns)
    assert singular.sum() < len(patterns)
    for row in np.flatnonzero(~singular):
        model = SupportModel.of(family.design(patterns[row], 0.0).operator(LIMIT))
        for k, held in every.wanted:
            assert moments[k, held][row] == pytest.approx(float(model.second_moment(k, held)), rel=1e-3)


def test_the_search_finds_the_least_error() -> None:
    """No operator of either kind, tried one by one, errs less; the promise is kept strictly."""
    m, items = 2, 9
    found = focused_operator(m, items, LIMIT, MIXED)
    assert found.amplification < LIMIT
    others: list[float] = []
    for name in ("001", "010", "011", "100", "101", "110"):
        for bits in (1, 2, 3, 5):
            for num in range(1, (1 << bits), 2):
                others.append(_error_or_inf(InsertionDesign(num, bits, name).operator(LIMIT)))
        others += [_error_or_inf(FixedSizeDesign(items, size, name).operator(LIMIT)) for size in range(2, 8)]
    assert MIXED.error(found) <= min(others) * (1 + 1e-4)


def _error_or_inf(operator: Operator | FixedSizeOperator) -> float:
    try:
        return MIXED.error(operator)
    except ValueError:
        return np.inf


def test_popular_items_want_another_operator() -> None:
    """An operator planned for supports near 0 errs more on popular items than one planned for them."""
    rare, popular = (focused_operator(4, 100, Fraction(54), single_focus(s)) for s in (0.001, 0.4))
    assert rare != popular
    assert single_focus(0.4).error(popular) < single_focus(0.4).error(rare)
    assert single_focus(0.001).error(rare) < single_focus(0.001).error(popular)


def test_short_catalogues_take_reports_of_fixed_size() -> None:
    """With few items a report of fixed size errs least; with very many, independent insertion is planned."""
    assert isinstance(focused_operator(3, 40, LIMIT, single_focus(0.02)), FixedSizeOperator)
    assert isinstance(focused_operator(3, 5_000, LIMIT, single_focus(0.02)), Operator)


def test_nothing_can_be_planned_without_amplification() -> None:
    """At γ = 1 reports say nothing, and the search says so."""
    with pytest.raises(PlanError, match="no operator"):
        focused_operator(2, 5_000, Fraction(1), MIXED)
