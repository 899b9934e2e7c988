"""Records of a table: exact output distributions, and the compiled bulk path against the one-report client."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from naive import exact_transition

from assocpriv.client.numeric.table_client import (
    encode,
    randomize_inputs,
    randomize_record,
    release,
    release_value,
)
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.plans.numeric.table_plan import (
    CategoryColumn,
    Clear,
    GaussianNoise,
    LabelColumn,
    Mechanism,
    NumberColumn,
    TablePlan,
    UniformNoise,
    Window,
    transition,
)
from assocpriv.simulation.enumeration import SeededEntropy, distribution

MECHANISMS: list[Mechanism] = [
    Clear(6), Clear(6, 2), UniformNoise(6, 2), GaussianNoise(6, (5, 3, 1)), Window(6, 3, 5, 2), Window(6, 1, 3, 1),
]  # fmt: skip


def number(mechanism: Mechanism, *, optional: bool = False, name: str = "x", intervals: int = 3) -> NumberColumn:
    """Return a column of numbers from 0 to 12 in cells of two."""
    return NumberColumn(name, mechanism, optional, Fraction(0), Fraction(12), intervals)


def table(*, optional: bool = False, protected: int = 2) -> TablePlan:
    """Return a plan with a column of every mechanism, three of them protected."""
    columns = (number(each, optional=optional, name=f"n{place}") for place, each in enumerate(MECHANISMS))
    region = CategoryColumn("region", Window(3, 1, 4, 1), optional, ("a", "b", "c"))
    label = LabelColumn("class", Window(2, 1, 2, 1), False, ("y", "n"))
    return TablePlan((*columns, region, label), protected, Guarantee("1%", "60%"))


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize(
    "mechanism", MECHANISMS, ids=lambda m: f"{m.kind}-{getattr(m, 'near', getattr(m, 'width', ''))}"
)
def test_the_client_has_the_exact_distribution(mechanism: Mechanism, optional: bool) -> None:
    """By enumeration of the client's draws, the probability of each code is its weight over the sum of weights."""
    column = number(mechanism, optional=optional)
    rows = exact_transition(column)
    for value in range(column.inputs + optional):
        got = distribution(lambda entropy, value=value: release_value(value, column, entropy))
        assert got == {code: chance for code, chance in enumerate(rows[value]) if chance}
    ratios = [max(codes) / min(codes) if min(codes) else None for codes in zip(*rows, strict=True)]
    assert mechanism.amplification == (None if None in ratios else max(ratios))


def test_the_transition_matrix_follows_the_weights() -> None:
    """The matrix of intervals is the mean of the exact matrix over their cells."""
    for mechanism in MECHANISMS:
        column = number(mechanism, optional=True)
        exact = np.array([[float(chance) for chance in row] for row in exact_transition(column)]).T
        means = exact[:, :6].reshape(-1, 3, 2).mean(axis=2)
        assert np.allclose(transition(column), np.hstack([means, exact[:, 6:]]), atol=1e-15)


@pytest.mark.parametrize(("optional", "protected"), [(False, 3), (False, 2), (True, 1)])
def test_bulk_makes_the_same_reports(optional: bool, protected: int) -> None:
    """From the same random words the compiled path writes the bytes of the one-report client."""
    plan = table(optional=optional, protected=protected)
    rng = np.random.default_rng(5)
    most = [column.inputs + column.optional for column in plan.columns]
    inputs = np.stack([rng.integers(0, n, 500, dtype=np.int32) for n in most], axis=1)
    packed = next(randomize_inputs([inputs], plan, entropy=SeededEntropy(7), workers=1))
    entropy = SeededEntropy(7)
    assert [encode(release(row, plan, entropy), plan) for row in inputs.tolist()] == [bytes(row) for row in packed]
    plan.check_form(packed)


def test_a_record_has_the_stated_amplification() -> None:
    """γ of a whole record, by enumeration: two of three protected columns and a protected label."""
    columns = (
        CategoryColumn("a", Window(2, 1, 3, 1), True, ("x", "y")),
        CategoryColumn("b", Window(2, 1, 2, 1), False, ("x", "y")),
        NumberColumn("c", Window(2, 1, 5, 1), False, Fraction(0), Fraction(1), 1),
        LabelColumn("d", Window(2, 1, 7, 2), False, ("x", "y")),
    )
    plan = TablePlan(columns, 2, Guarantee("1%", "60%"))
    records = [dict(zip("abcd", each, strict=True)) for each in product(("x", "y", None), "xy", (0.2, 0.7), "xy")]
    distributions = [distribution(lambda entropy, r=r: randomize_record(r, plan, entropy=entropy)) for r in records]
    outputs = set().union(*distributions)
    assert all(outputs == set(each) for each in distributions)
    worst = max(max(each[y] for each in distributions) / min(each[y] for each in distributions) for y in outputs)
    assert worst == plan.amplification == Fraction(3 * 5 * 7, 2)


@pytest.mark.parametrize("optional", [False, True])
def test_inputs_that_compiled_code_may_not_read(optional: bool) -> None:
    """Other types and shapes, inputs below 0, above the last one, or missing in a required column are refused."""
    plan = table(optional=optional)
    most = [column.inputs - 1 + column.optional for column in plan.columns]
    good = np.array([most, most], dtype=np.int32)
    list(randomize_inputs([good], plan, entropy=SeededEntropy(1), workers=1))
    bad: list[Any] = [good.astype(np.int64), good[0], good[:, 1:].copy(), np.hstack([good, good])]
    for place, wrong in ((0, -1), (len(most) - 1, most[-1] + 1), (0, most[0] + 1)):
        bad.append(good.copy())
        bad[-1][1, place] = wrong
    for number, inputs in enumerate(bad):
        with pytest.raises(TypeError if number < 4 else ValueError, match="inputs must"):
            next(randomize_inputs([inputs], plan, entropy=SeededEntropy(1), workers=1))
