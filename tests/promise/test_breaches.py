"""Tests of the breach calculus: limits both ways, composition, any prior and randomizer, and what the command says."""

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

from assocpriv.promise.breaches import (
    Breach,
    Channel,
    Epsilon,
    amplification_of,
    breach_curve,
    compose,
    epsilon,
    highest_posterior,
    largest_rise,
    lowest_posterior,
    parse_probability,
)
from assocpriv.promise.errors import PlanError
from assocpriv.promise.information import excluded_fall, excluded_posterior, information_limit

PROBABILITIES = st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000)
AMPLIFICATIONS = st.fractions(Fraction(101, 100), 500, max_denominator=100)
STEP = Fraction(1, 10**24)


def two_values(prior: Fraction, gamma: Fraction) -> Channel:
    """Return the worst γ-amplifying randomizer of a bit: an output γ times likelier under 1 than under 0."""
    high = gamma / (1 + gamma)
    return Channel([1 - prior, prior], [[high, 1 - high], [1 - high, high]])


# ---- levels, γ and ε


@given(PROBABILITIES, AMPLIFICATIONS)
def test_prior_and_posterior_undo_each_other(prior: Fraction, gamma: Fraction) -> None:
    """From a prior to the posterior that γ allows and back, exactly; both are a breach whose limit is γ."""
    posterior = highest_posterior(prior, gamma)
    assert lowest_posterior(posterior, gamma) == prior
    assert Breach(prior, posterior).amplification_limit == gamma


@given(PROBABILITIES, AMPLIFICATIONS)
def test_a_randomizer_attains_the_curve(prior: Fraction, gamma: Fraction) -> None:
    """At each prior some γ-amplifying randomizer reaches both ends of the curve, so no smaller figure would be true."""
    worst = two_values(prior, gamma)
    assert worst.amplification == gamma
    (row,) = breach_curve(gamma, [prior])
    assert worst.posterior_range({1}) == (row.lowest, row.highest)
    assert row.lowest == lowest_posterior(prior, gamma) < prior < row.highest


@pytest.mark.parametrize("text", ["1", "2.9", "0.5", "0.01", 2.5, 0.3, "1/3", Fraction(7, 2), "1e-3", "60", "700"])
def test_amplification_of_errs_against_us(text: Any) -> None:
    """The γ of an ε is the largest multiple of 10^-24 not above e^ε, by a logarithm taken with 1000 digits."""
    gamma, given_epsilon = amplification_of(text), Fraction(text if isinstance(text, str) else str(text))
    with localcontext(prec=1000):
        exponent = Decimal(given_epsilon.numerator) / Decimal(given_epsilon.denominator)
        logs = [Decimal(g.numerator).ln() - Decimal(g.denominator).ln() for g in (gamma, gamma + STEP)]
        assert logs[0] < exponent < logs[1]
    assert 10**24 % gamma.denominator == 0


@pytest.mark.parametrize("value", [0.5, 1.0, 2.0, 2.5, 20.25])
def test_an_epsilon_comes_back(value: float) -> None:
    """An ε that a double holds exactly is the ε of its γ, and the ε of nothing above it."""
    assert epsilon(amplification_of(value)) == value
    assert epsilon(amplification_of(value) + STEP) > value


def test_no_epsilon_is_no_difference() -> None:
    """ε = 0 is γ = 1, also where e^ε lies below the first step above 1."""
    assert [amplification_of(zero) for zero in (0, "0", 0.0, "1e-30")] == [1] * 4


@pytest.mark.parametrize("wrong", ["", "-1", -0.5, "nan", math.inf, "701", "1e9", "ln 19", "1/0", None, "5%", True])
def test_no_epsilon_is_refused(wrong: Any) -> None:
    """What is no number of nats from 0 to 700 is refused by name."""
    with pytest.raises(PlanError, match="epsilon must"):
        amplification_of(wrong)


@pytest.mark.parametrize("wrong", [0, "0", "1e-20", 56, "1e6", -1, "ln 1"])
def test_an_epsilon_that_is_no_promise_is_refused_with_one_that_is(wrong: Any) -> None:
    """The error says between which numbers ε lies, and names an option with a usual value."""
    with pytest.raises(PlanError, match=r"epsilon must .* 55, got .*; 1 to 5 is usual, as epsilon=2\.9, with which"):
        Epsilon(wrong)
    assert 0.48 < Epsilon("2.9").posterior < 0.49


@given(AMPLIFICATIONS)
def test_the_largest_rise_is_where_it_is_said_to_be(gamma: Fraction) -> None:
    """No prior rises by more; the prior 1/(1+√γ) rises by it, but for the last digit."""
    most = largest_rise(gamma)
    priors = [Fraction(k, 64) for k in range(1, 64)]
    assert all(row.highest - row.prior <= most for row in breach_curve(gamma, priors))
    assert all(row.prior - row.lowest <= most for row in breach_curve(gamma, priors))
    (row,) = breach_curve(gamma, [Fraction(1 / (1 + math.sqrt(gamma)))])
    assert float(row.highest - row.prior) == pytest.approx(most, abs=1e-14)


def test_the_largest_rise_is_rounded_up() -> None:
    """With γ = 2 it is 3 − 2√2, to the next double above; at a square it is exact."""
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


def test_background_knowledge_changes_the_prior_alone() -> None:
    """Knowing Z = f(X) gives the posterior of the prior P[· | Z] under the same randomizer, within the same bound."""
    known = {0, 2}  # Z tells that X is not 1
    prior = [Fraction(1, 2), Fraction(0), Fraction(1, 2)]
    informed = Channel(prior, FIRST.transition)
    rows = list(zip(THIRDS, FIRST.transition, strict=True))
    for y in range(3):
        joint = [p * row[y] if x in known else Fraction(0) for x, (p, row) in enumerate(rows)]
        assert informed.posterior(y) == tuple(part / sum(joint) for part in joint)
    assert informed.posterior_range({0})[1] <= highest_posterior(Fraction(1, 2), FIRST.amplification)


# ---- any prior, any randomizer


def random_channel(rng: np.random.Generator, zeros: bool) -> Channel:
    """Return a random prior and randomizer of 2 to 5 values as Fractions, with some zeros if asked."""
    n_x, n_y = (int(n) for n in rng.integers(2, 6, 2))

    def distribution(size: int, least: int) -> list[Fraction]:
        weights = rng.integers(least, 9, size)
        weights[rng.integers(size)] += 1
        return [Fraction(int(w), int(weights.sum())) for w in weights]

    return Channel(distribution(n_x, 1), [distribution(n_y, 0 if zeros else 1) for _ in range(n_x)])


def test_no_breach_beyond_the_limit_on_random_instances() -> None:
    """A breach that occurs has a limit of at most γ (statement 1), and some limits are met exactly."""
    rng = np.random.default_rng(4)
    occurred = met = 0
    for _ in range(150):
        channel = random_channel(rng, zeros=False)
        gamma = channel.amplification
        values = range(len(channel.prior))
        for held in [set(c) for size in range(1, len(channel.prior)) for c in combinations(values, size)]:
            prior, (low, high) = channel.probability(held), channel.posterior_range(held)
            assert lowest_posterior(prior, gamma) <= low <= prior <= high <= highest_posterior(prior, gamma)
            for one, other in ((prior, high), (low, prior)):
                if one < other:
                    breach = Breach(one, other)
                    assert channel.causes(breach, held)
                    assert breach.amplification_limit <= gamma
                    occurred += 1
                    above = Breach(one, other + (1 - other) / 1000)
                    assert not channel.causes(above, held)
                    met += breach.amplification_limit == gamma
    assert occurred > 1000
    assert met > 10


def test_a_zero_beside_a_positive_number_amplifies_without_bound() -> None:
    """An output that one value rules out has γ = ∞; an output that never occurs counts for nothing."""
    half, none = Fraction(1, 2), Fraction(0)
    assert Channel([half, half], [[half, half], [1, none]]).amplification == math.inf
    assert Channel([half, half], [[1, none], [1, none]]).amplification == 1
    channel = Channel([half, half], [[half, half, none], [1, none, none]])
    assert channel.posterior_range({0}) == (Fraction(1, 3), 1)
    with pytest.raises(PlanError, match="output 2 has probability 0"):
        channel.posterior(2)


def test_breaches_reach_from_both_sides() -> None:
    """A breach needs the prior on its own side of ρ1 or ρ2 and the posterior at the other, ends included."""
    channel = two_values(Fraction(1, 20), Fraction(19))
    assert channel.causes(Breach("5%", "50%"), {1})
    assert channel.causes(Breach("6%", "50%"), {1})
    assert not channel.causes(Breach("5%", "50.001%"), {1})
    assert not channel.causes(Breach("4.999%", "50%"), {1})
    # 95% goes to 50%: downward
    assert channel.causes(Breach("50%", "95%"), {0})
    assert not channel.causes(Breach("49.999%", "95%"), {0})
    assert not channel.causes(Breach("50%", "95.001%"), {0})


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
def test_what_is_no_channel_is_refused(prior: Any, rows: Any, message: str) -> None:
    """Priors and rows that are no distributions of one length are refused."""
    with pytest.raises(PlanError, match=message):
        Channel(prior, rows)


# ---- the paper's first example: a number from 0 to 1000, randomized in three ways

N = 1001
PRIOR = [Fraction(1, 100)] + [Fraction(99, 100_000)] * 1000


def keep_or_other(x: int, y: int) -> Fraction:
    """R1: the number with 20%, otherwise another one."""
    return Fraction(1, 5) if x == y else Fraction(4, 5) / 1000


def keep_or_any(x: int, y: int) -> Fraction:
    """R1 where the other 80% are spread over all numbers."""
    return Fraction(4, 5) / N + (Fraction(1, 5) if x == y else 0)


def add(x: int, y: int) -> Fraction:
    """R2: the number plus one of −100 … 100, modulo 1001."""
    return Fraction(int((y - x + 100) % N <= 200), 201)


def add_or_any(x: int, y: int) -> Fraction:
    """R3: half the time R2, half the time any number."""
    return add(x, y) / 2 + Fraction(1, 2 * N)


def seeing_zero(law: Any) -> Channel:
    """Return the randomizer that tells only whether its output is 0; by symmetry all outputs amplify alike."""
    return Channel(PRIOR, [[law(x, 0), 1 - law(x, 0)] for x in range(N)])


FAR = set(range(N)) - set(range(200, 801))


def in_percent(values: list[Any]) -> list[float]:
    """Return percentages with one digit."""
    return [round(float(100 * value), 1) for value in values]


@pytest.mark.parametrize(
    ("law", "zero", "far"),
    [(keep_or_other, 71.6, 83.0), (keep_or_any, 71.7, 83.0), (add, 4.8, 100.0), (add_or_any, 2.9, 70.8)],
)
def test_posteriors_of_the_first_example(law: Any, zero: float, far: float) -> None:
    """Seeing 0 lifts P[X = 0] from 1% and P[X ∉ {200..800}] from 40.5% to the paper's figures."""
    after = seeing_zero(law).posterior(0)
    assert in_percent([PRIOR[0], sum(PRIOR[x] for x in FAR)]) == [1.0, 40.5]
    assert in_percent([after[0], sum(after[x] for x in FAR)]) == [zero, far]


def test_amplifications_of_the_first_example() -> None:
    """γ is 251.25, infinite and 1 + 1001/201 = 5.98; keeping or taking another number has 250."""
    assert [seeing_zero(law).amplification for law in (keep_or_any, add, add_or_any, keep_or_other)] == [
        Fraction(1005, 4), math.inf, 1 + Fraction(1001, 201), 250,
    ]  # fmt: skip
    for law in (keep_or_any, add_or_any):  # symmetric, so 0 stands for every output
        assert {law(x, 0) for x in range(N)} == {law(x, 500) for x in range(N)}


def test_breaches_of_the_first_example() -> None:
    """R1 lets 1% become 50%, R2 lets 40.5% become certain; R3 does neither, as its γ says."""
    known, certain = Breach("1%", "50%"), Breach("40.6%", "99.9%")
    assert [seeing_zero(law).causes(known, {0}) for law in (keep_or_other, add, add_or_any)] == [True, False, False]
    assert [seeing_zero(law).causes(certain, FAR) for law in (keep_or_other, add, add_or_any)] == [False, True, False]
    gamma = seeing_zero(add_or_any).amplification
    assert gamma < min(known.amplification_limit, certain.amplification_limit)


def test_a_promise_of_nothing_is_none() -> None:
    """The posterior lies above the prior: where both are one belief no report may tell anything, and none is made."""
    with pytest.raises(PlanError, match="0 < prior < posterior < 1"):
        Breach("50%", "50%")


@pytest.mark.parametrize(
    ("text", "number"), [("2 %", "1/50"), (" 2.5 % ", "1/40"), ("2.5%", "1/40"), ("1e-3", "1/1000"), (1, "1")]
)
def test_a_percent_sign_may_stand_apart(text: str | int, number: str) -> None:
    """Blanks around a number, and before its percent sign, mean nothing."""
    assert parse_probability(text, "prior") == Fraction(number)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("2,5%", "got '2,5%'; write decimals with a point"),
        ("1,000", "no mark between thousands"),
        ("0,5", "write decimals with a point"),
        (-1, "must lie between 0 and 1 .* got -1$"),
        (101, "must lie between 0 and 1 .* got 101$"),
        (1.5, "is '1.5%' meant"),
        (-(10**30), "got 'far more'"),
    ],
)
def test_what_is_no_probability_is_named(value: Any, said: str) -> None:
    """A comma is neither skipped nor taken for a point, and a number out of range is shown."""
    with pytest.raises(PlanError, match=said):
        parse_probability(value, "prior")


@pytest.mark.parametrize(
    "ask",
    [
        epsilon,
        largest_rise,
        lambda value: compose([value]),
        lambda value: highest_posterior(Fraction(1, 20), value),
        lambda value: lowest_posterior(Fraction(1, 20), value),
        lambda value: breach_curve(value, [Fraction(1, 20)]),
        information_limit,
    ],
)
@pytest.mark.parametrize("value", [0, -1, 0.5, math.nan, math.inf, "x", "", None, True, b"2"])
def test_what_is_no_amplification_is_refused(ask: Callable[[Any], object], value: Any) -> None:
    """γ is a number of 1 or more; anything else gets no answer."""
    with pytest.raises(PlanError, match="γ must be"):
        ask(value)


@pytest.mark.parametrize("ask", [highest_posterior, lowest_posterior])
@pytest.mark.parametrize("prior", [1.5, -0.5, math.nan, "x", None, Fraction(3, 2)])
def test_what_is_no_prior_is_refused(ask: Callable[[Any, Any], object], prior: Any) -> None:
    """No posterior follows from a prior outside 0 to 1."""
    with pytest.raises(PlanError, match="prior must"):
        ask(prior, 19)


def test_numbers_in_other_forms_mean_the_same() -> None:
    """A γ may be a whole number, a float in its shortest form, or text."""
    assert epsilon(19) == epsilon("19") == epsilon(19.0) == epsilon(Fraction(19))
    assert compose([1.5, "2"]) == 3
    assert highest_posterior("5%", 19) == Fraction(1, 2)


@pytest.mark.parametrize("base", [0, 1, -2, math.nan, math.inf, "2", None, 10**400])
def test_a_base_is_above_one(base: Any) -> None:
    """Logarithms to other bases measure nothing."""
    with pytest.raises(PlanError, match="base must be a number above 1"):
        information_limit(Fraction(19), base=base)


@pytest.mark.parametrize("measured", [-1, math.nan, "1", None])
def test_information_is_not_negative(measured: Any) -> None:
    """What is no information excludes nothing."""
    for ask in (excluded_posterior, excluded_fall):
        with pytest.raises(PlanError, match="must be a number of 0 or more"):
            ask(measured, "5%")
