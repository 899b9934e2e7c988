"""Amplification and privacy breaches: limits in both directions, composition, and any prior and randomizer."""

import math
from collections.abc import Callable
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assocpriv.guarantees.amplification import (
    Channel,
    Guarantee,
    amplification_from_epsilon,
    compose,
    epsilon_from_amplification,
    highest_posterior,
    information_limit,
    largest_rise,
    lowest_posterior,
    parse_probability,
    posterior_curve,
)
from assocpriv.guarantees.errors import PlanError

PROBABILITIES = st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000)
AMPLIFICATIONS = st.fractions(Fraction(101, 100), 500, max_denominator=100)
STEP = Fraction(1, 10**24)


def two_values(prior: Fraction, gamma: Fraction) -> Channel:
    """Return the worst γ-amplifying randomizer of a bit: an output γ times likelier under 1 than under 0."""
    high = gamma / (1 + gamma)
    return Channel([1 - prior, prior], [[high, 1 - high], [1 - high, high]])


# ---- priors, posteriors, γ and ε


@given(PROBABILITIES, AMPLIFICATIONS)
def test_a_randomizer_attains_the_curve(prior: Fraction, gamma: Fraction) -> None:
    """At each prior some γ-amplifying randomizer reaches both ends of the curve, so the bounds are tight."""
    worst = two_values(prior, gamma)
    assert worst.amplification == gamma
    (row,) = posterior_curve(gamma, [prior])
    assert worst.posterior_range({1}) == (row.lowest, row.highest)
    assert row.lowest == lowest_posterior(prior, gamma) < prior < row.highest == highest_posterior(prior, gamma)
    assert Guarantee(prior, row.highest).amplification_limit == gamma


@pytest.mark.parametrize("text", ["1", "2.9", "0.5", "0.01", 2.5, 0.3, "1/3", Fraction(7, 2), "1e-3", "60", "700"])
def test_amplification_from_epsilon_is_rounded_down(text: Any) -> None:
    """The γ of an ε is the largest multiple of 10^-24 not above e^ε, by a logarithm with 1000 digits."""
    gamma, given_epsilon = amplification_from_epsilon(text), Fraction(text if isinstance(text, str) else str(text))
    with localcontext(prec=1000):
        exponent = Decimal(given_epsilon.numerator) / Decimal(given_epsilon.denominator)
        logs = [Decimal(g.numerator).ln() - Decimal(g.denominator).ln() for g in (gamma, gamma + STEP)]
        assert logs[0] < exponent < logs[1]
    assert 10**24 % gamma.denominator == 0


@pytest.mark.parametrize("value", [0.5, 1.0, 2.0, 2.5, 20.25])
def test_epsilon_is_recovered_from_its_amplification(value: float) -> None:
    """An ε that a double holds exactly is the ε of its γ, and of no larger γ."""
    assert epsilon_from_amplification(amplification_from_epsilon(value)) == value
    assert epsilon_from_amplification(amplification_from_epsilon(value) + STEP) > value


def test_epsilon_zero_is_amplification_one() -> None:
    """ε = 0 is γ = 1; so is a positive ε if e^ε lies below the first step above 1."""
    assert [amplification_from_epsilon(zero) for zero in (0, "0", 0.0, "1e-30")] == [1] * 4


@pytest.mark.parametrize("wrong", ["", "-1", -0.5, "nan", math.inf, "701", "1e9", "ln 19", "1/0", None, "5%", True])
def test_an_epsilon_out_of_range_is_refused(wrong: Any) -> None:
    """What is no number of nats from 0 to 700 is refused by name."""
    with pytest.raises(PlanError, match="epsilon must"):
        amplification_from_epsilon(wrong)


@pytest.mark.parametrize("wrong", [0, "0", "1e-20", 56, "1e6", -1, "ln 1"])
def test_an_epsilon_that_no_guarantee_can_have_is_refused(wrong: Any) -> None:
    """The error states the range of ε, and an argument with a typical value."""
    with pytest.raises(PlanError, match=r"epsilon must .* 55, got .*; typical values are 1 to 5; epsilon=2\.9 raises"):
        Guarantee.from_epsilon(wrong)
    assert 0.48 < Guarantee.from_epsilon("2.9").posterior < 0.49


@given(AMPLIFICATIONS)
def test_the_largest_rise_is_attained(gamma: Fraction) -> None:
    """No prior rises by more; the prior 1/(1+√γ) rises by it, up to the last digit."""
    most = largest_rise(gamma)
    rows = posterior_curve(gamma, [Fraction(k, 64) for k in range(1, 64)])
    assert all(max(row.highest - row.prior, row.prior - row.lowest) <= most for row in rows)
    (row,) = posterior_curve(gamma, [Fraction(1 / (1 + math.sqrt(gamma)))])
    assert float(row.highest - row.prior) == pytest.approx(most, abs=1e-14)


def test_the_largest_rise_is_rounded_up() -> None:
    """With γ = 2 it is 3 − 2√2, rounded up to a double; for a square γ it is exact."""
    with localcontext(prec=60):
        exact = 3 - 2 * Decimal(2).sqrt()
        assert Decimal(math.nextafter(largest_rise(Fraction(2)), 0)) < exact <= Decimal(largest_rise(Fraction(2)))
        third = Decimal(1) / 3
        assert Decimal(math.nextafter(largest_rise(Fraction(4)), 0)) < third <= Decimal(largest_rise(Fraction(4)))
    assert (largest_rise(Fraction(9)), largest_rise(Fraction(1))) == (0.5, 0.0)
    assert getcontext().prec == 28


# ---- several reports, background knowledge


def both(one: Channel, other: Channel) -> Channel:
    """Return the randomizer whose output is a report of each, drawn independently."""
    rows = [[a * b for a in left for b in right] for left, right in zip(one.transition, other.transition, strict=True)]
    return Channel(one.prior, rows)


THIRDS = [Fraction(1, 3)] * 3
FIRST = Channel(THIRDS, [[Fraction(n, 12) for n in row] for row in ([2, 4, 6], [6, 4, 2], [3, 3, 6])])
SECOND = Channel(THIRDS, [[Fraction(n, 10) for n in row] for row in ([1, 9], [5, 5], [4, 6])])


def test_reports_multiply() -> None:
    """Two reports have at most the product of their γ; two of one randomizer have exactly its square."""
    assert (FIRST.amplification, SECOND.amplification) == (3, 5)
    assert both(FIRST, SECOND).amplification == compose([Fraction(3), Fraction(5)]) == 15
    assert both(FIRST, FIRST).amplification == 9
    assert both(both(FIRST, SECOND), SECOND).amplification <= compose([Fraction(3), Fraction(5), Fraction(5)])
    assert compose([]) == 1


def test_background_knowledge_changes_only_the_prior() -> None:
    """Knowing Z = f(X) gives the posterior of the prior P[· | Z] under the same randomizer, within the same bound."""
    known = {0, 2}  # given Z, X is not 1
    prior = [Fraction(1, 2), Fraction(0), Fraction(1, 2)]
    informed = Channel(prior, FIRST.transition)
    rows = list(zip(THIRDS, FIRST.transition, strict=True))
    for y in range(3):
        joint = [p * row[y] if x in known else Fraction(0) for x, (p, row) in enumerate(rows)]
        assert informed.posterior(y) == tuple(part / sum(joint) for part in joint)
    assert informed.posterior_range({0})[1] <= highest_posterior(Fraction(1, 2), FIRST.amplification)


# ---- any prior, any randomizer


def random_channel(rng: np.random.Generator, zeros: bool) -> Channel:
    """Return a random prior and randomizer of 2 to 5 values as Fractions, with some zeros if ``zeros``."""
    n_x, n_y = (int(n) for n in rng.integers(2, 6, 2))

    def distribution(size: int, least: int) -> list[Fraction]:
        weights = rng.integers(least, 9, size)
        weights[rng.integers(size)] += 1
        return [Fraction(int(w), int(weights.sum())) for w in weights]

    return Channel(distribution(n_x, 1), [distribution(n_y, 0 if zeros else 1) for _ in range(n_x)])


def test_no_breach_beyond_the_limit_on_random_instances() -> None:
    """A guarantee that is broken has a limit of at most γ (statement 1), and some limits are met exactly."""
    rng = np.random.default_rng(4)
    occurred = met = 0
    for _ in range(60):
        channel = random_channel(rng, zeros=False)
        gamma = channel.amplification
        values = range(len(channel.prior))
        for held in [set(c) for size in range(1, len(channel.prior)) for c in combinations(values, size)]:
            prior, (low, high) = channel.probability(held), channel.posterior_range(held)
            assert lowest_posterior(prior, gamma) <= low <= prior <= high <= highest_posterior(prior, gamma)
            for one, other in ((prior, high), (low, prior)):
                if one < other:
                    breach = Guarantee(one, other)
                    assert channel.breaks(breach, held)
                    assert breach.amplification_limit <= gamma
                    occurred += 1
                    above = Guarantee(one, other + (1 - other) / 1000)
                    assert not channel.breaks(above, held)
                    met += breach.amplification_limit == gamma
    assert occurred > 400
    assert met > 4


def test_a_column_with_zero_and_positive_probabilities_has_infinite_amplification() -> None:
    """An output that is impossible under one value has γ = ∞; an output that never occurs is ignored."""
    half, none = Fraction(1, 2), Fraction(0)
    assert Channel([half, half], [[half, half], [1, none]]).amplification == math.inf
    assert Channel([half, half], [[1, none], [1, none]]).amplification == 1
    channel = Channel([half, half], [[half, half, none], [1, none, none]])
    assert channel.posterior_range({0}) == (Fraction(1, 3), 1)
    with pytest.raises(PlanError, match="output 2 has probability 0"):
        channel.posterior(2)


def test_breaches_reach_from_both_sides() -> None:
    """A breach needs the prior on one side of ρ1 or ρ2 and the posterior on the other, ends included."""
    channel = two_values(Fraction(1, 20), Fraction(19))
    assert channel.breaks(Guarantee("5%", "50%"), {1})
    assert channel.breaks(Guarantee("6%", "50%"), {1})
    assert not channel.breaks(Guarantee("5%", "50.001%"), {1})
    assert not channel.breaks(Guarantee("4.999%", "50%"), {1})
    # 95% goes to 50%: downward
    assert channel.breaks(Guarantee("50%", "95%"), {0})
    assert not channel.breaks(Guarantee("49.999%", "95%"), {0})
    assert not channel.breaks(Guarantee("50%", "95.001%"), {0})


@pytest.mark.parametrize(
    ("prior", "rows", "message"),
    [
        ([0.5, 0.6], [[1], [1]], "the prior must be probabilities"),
        ([Fraction(3, 2), Fraction(-1, 2)], [[1], [1]], "the prior must be probabilities"),
        ([math.nan, 1], [[1], [1]], "the prior must be probabilities"),
        ([0.5, 0.5], [[1]], "a row for each of the 2 values, got 1"),
        ([0.5, 0.5], [[1], [0.5, 0.5]], "row 1 of the randomizer has 2 outputs, row 0 1"),
        ([0.5, 0.5], [[1, 0], [Fraction(1, 3), Fraction(1, 3)]], "row 1 of the randomizer must be probabilities"),
    ],
)
def test_an_invalid_channel_is_refused(prior: Any, rows: Any, message: str) -> None:
    """Priors and rows that are no distributions of one length are refused."""
    with pytest.raises(PlanError, match=message):
        Channel(prior, rows)


# ---- the paper's first example: a number from 0 to 1000, randomized in three ways

N = 1001
PRIOR = [Fraction(1, 100)] + [Fraction(99, 100_000)] * 1000


def keep_or_other(x: int, y: int) -> Fraction:
    """R1: the number with probability 20%, otherwise another one."""
    return Fraction(1, 5) if x == y else Fraction(4, 5) / 1000


def keep_or_any(x: int, y: int) -> Fraction:
    """R1 with the other 80% spread over all numbers."""
    return Fraction(4, 5) / N + (Fraction(1, 5) if x == y else 0)


def add(x: int, y: int) -> Fraction:
    """R2: the number plus one of −100 … 100, modulo 1001."""
    return Fraction(int((y - x + 100) % N <= 200), 201)


def add_or_any(x: int, y: int) -> Fraction:
    """R3: with probability 1/2 R2, else any number."""
    return add(x, y) / 2 + Fraction(1, 2 * N)


def shows_zero(transition: Any) -> Channel:
    """Return the randomizer that shows only whether its output is 0; by symmetry all outputs have the same γ."""
    return Channel(PRIOR, [[transition(x, 0), 1 - transition(x, 0)] for x in range(N)])


FAR = set(range(N)) - set(range(200, 801))


@pytest.mark.parametrize(
    ("transition", "zero", "far"),
    [(keep_or_other, 71.6, 83.0), (keep_or_any, 71.7, 83.0), (add, 4.8, 100.0), (add_or_any, 2.9, 70.8)],
)
def test_posteriors_of_the_first_example(transition: Any, zero: float, far: float) -> None:
    """The output 0 raises P[X = 0] from 1% and P[X ∉ {200..800}] from 40.5% to the paper's figures."""
    after = shows_zero(transition).posterior(0)
    shares = [PRIOR[0], sum(PRIOR[x] for x in FAR), after[0], sum(after[x] for x in FAR)]
    assert [round(float(100 * share), 1) for share in shares] == [1.0, 40.5, zero, far]


def test_amplifications_of_the_first_example() -> None:
    """γ is 251.25, infinite and 1 + 1001/201 = 5.98; keeping or taking another number has 250."""
    assert [shows_zero(each).amplification for each in (keep_or_any, add, add_or_any, keep_or_other)] == [
        Fraction(1005, 4), math.inf, 1 + Fraction(1001, 201), 250,
    ]  # fmt: skip
    for each in (keep_or_any, add_or_any):  # symmetric, so 0 stands for every output
        assert {each(x, 0) for x in range(N)} == {each(x, 500) for x in range(N)}


def test_the_posterior_must_lie_above_the_prior() -> None:
    """With equal prior and posterior no report could carry information; such a guarantee is refused."""
    with pytest.raises(PlanError, match="0 < prior < posterior < 1"):
        Guarantee("50%", "50%")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("2,5%", "got '2,5%'; write decimals with a point"), ("1,000", "no thousands separator"),
        ("0,5", "write decimals with a point"), (-1, "must lie between 0 and 1 .* got -1$"),
        (101, "must lie between 0 and 1 .* got 101$"), (1.5, "did you mean '1.5%'"), (-(10**30), "got 'far more'"),
    ],
)  # fmt: skip
def test_an_invalid_probability_is_shown_in_the_error(value: Any, message: str) -> None:
    """A comma is neither skipped nor read as a point, and a number out of range is shown."""
    with pytest.raises(PlanError, match=message):
        parse_probability(value, "prior")


@pytest.mark.parametrize(
    "compute",
    [
        epsilon_from_amplification, largest_rise, information_limit, lambda value: compose([value]),
        lambda value: highest_posterior(Fraction(1, 20), value), lambda value: lowest_posterior(Fraction(1, 20), value),
        lambda value: posterior_curve(value, [Fraction(1, 20)]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", [0, -1, 0.5, math.nan, math.inf, "x", "", None, True, b"2"])
def test_an_invalid_amplification_is_refused(compute: Callable[[Any], object], value: Any) -> None:
    """γ must be a number of 1 or more."""
    with pytest.raises(PlanError, match="γ must be"):
        compute(value)


@pytest.mark.parametrize("compute", [highest_posterior, lowest_posterior])
@pytest.mark.parametrize("prior", [1.5, -0.5, math.nan, "x", None, Fraction(3, 2)])
def test_an_invalid_prior_is_refused(compute: Callable[[Any, Any], object], prior: Any) -> None:
    """A prior must lie between 0 and 1."""
    with pytest.raises(PlanError, match="prior must"):
        compute(prior, 19)


def test_an_amplification_may_be_given_in_several_forms() -> None:
    """A γ may be a whole number, a float in its shortest form, or text."""
    assert len({epsilon_from_amplification(gamma) for gamma in (19, "19", 19.0, Fraction(19))}) == 1
    assert compose([1.5, "2"]) == 3
    assert highest_posterior("5%", 19) == Fraction(1, 2)


@pytest.mark.parametrize("base", [0, 1, -2, math.nan, math.inf, "2", None, 10**400])
def test_a_base_is_above_one(base: Any) -> None:
    """A base of 1 or less, or that is no number, is refused."""
    with pytest.raises(PlanError, match="base must be a number above 1"):
        information_limit(Fraction(19), base=base)
