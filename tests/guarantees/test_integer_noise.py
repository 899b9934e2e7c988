"""Integer noise: its law against exact sums, draws that 64 digits do not decide, and its (ε, δ)."""

import math
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest
from naive import ReplayEntropy
from scipy.stats import chisquare

from assocpriv.guarantees.errors import PlanError
from assocpriv.guarantees.integer_noise import IntegerNoise, epsilon_from_rho, rho_from_epsilon, thresholds
from assocpriv.simulation.enumeration import SeededEntropy

RATES = [
    (Fraction(1, 8), True), (Fraction(2), True), (Fraction(1, 3200), True), (Fraction(1, 7), False),
    (Fraction(3), False),
]  # fmt: skip


def exact_law(rate: Fraction, squared: bool, reach: int) -> list[Decimal]:
    """Return P(X ≤ x) for x = −reach … reach with 80 digits, by Decimal's own exponential."""
    getcontext().prec = 80
    one = Decimal(rate.numerator) / Decimal(rate.denominator)
    weights = [(-one * (x * x if squared else abs(x))).exp() for x in range(-3 * reach, 3 * reach + 1)]
    total, sums, so_far = sum(weights), [], Decimal(0)
    for weight in weights:
        so_far += weight
        sums.append(so_far / total)
    return sums[2 * reach : -2 * reach]


@pytest.mark.parametrize(("rate", "squared"), RATES, ids=str)
@pytest.mark.parametrize("bits", [64, 128])
def test_thresholds_enclose_the_exact_law(rate: Fraction, squared: bool, bits: int) -> None:
    """Each cumulative probability lies between its bounds, which are two units apart."""
    first, low, width = thresholds(rate, squared, bits)
    exact = exact_law(rate, squared, -first)
    assert width == 2
    assert len(low) == len(exact) + 1
    assert all(below <= value * 2**bits <= below + width for below, value in zip(low[1:], exact, strict=True))
    assert low[0] == 0


def test_further_digits_decide_where_64_do_not() -> None:
    """A word on a boundary is decided by the next one; so are the first and the last word, by as many as it takes."""
    rate = Fraction(1, 8)
    noise, most = IntegerNoise(rate), (1 << 64) - 1
    first, low, width = thresholds(rate, True, 128)
    place = 20
    word, rest = divmod(low[place], 1 << 64)
    assert low[place] >> 64 == (low[place] + width - 1) >> 64
    assert noise.draw(1, ReplayEntropy([word, max(rest - 9, 0)])).tolist() == [first + place - 1]
    assert noise.draw(1, ReplayEntropy([word, min(rest + 9, most)])).tolist() == [first + place]
    assert noise.draw(1, ReplayEntropy([0, 1 << 63])).tolist()[0] < first + 20
    source = ReplayEntropy([word, rest, 0, 0])  # within the interval of the boundary's own error
    noise.draw(1, source)
    assert source.used > 2
    source = ReplayEntropy([most, most, 5, 5, 5])
    assert noise.draw(1, source).tolist()[0] > 20  # σ = 2
    assert source.used > 2


@pytest.mark.parametrize(("rate", "squared"), RATES, ids=str)
def test_draws_follow_the_law(rate: Fraction, squared: bool) -> None:
    """A chi-squared test of 200,000 draws at 10^-4; a rate that is a twentieth larger fails it."""
    drawn = IntegerNoise(rate, squared).draw(200_000, SeededEntropy(1))

    def p_value(tried: Fraction) -> float:
        values = np.arange(drawn.min(), drawn.max() + 1)
        weights = np.exp(-float(tried) * (values**2 if squared else np.abs(values)))
        expected = weights / weights.sum() * len(drawn)
        shown = np.bincount(drawn - drawn.min())
        usual = expected > 50
        parts = [np.append(each[usual], each[~usual].sum()) for each in (shown, expected)]
        parts = [each if parts[1][-1] > 5 else each[:-1] for each in parts]
        return float(chisquare(parts[0], parts[1] * parts[0].sum() / parts[1].sum()).pvalue)

    assert p_value(rate) > 1e-4
    assert p_value(rate * Fraction(21, 20)) < 1e-4


def test_the_variance_is_that_of_the_law() -> None:
    """The variance of discrete Gaussian noise is at most σ²; that of geometric noise is exact."""
    for rate, squared in RATES:
        values = np.arange(-400, 401)
        weights = np.exp(-float(rate) * (values**2 if squared else np.abs(values)))
        true = float((weights * values**2).sum() / weights.sum())
        stated = IntegerNoise(rate, squared).variance
        assert true <= stated * (1 + 1e-12)
        assert stated == pytest.approx(true, rel=1e-6) or rate == 2
    assert IntegerNoise.gaussian(Fraction(9)).rate == Fraction(1, 18)


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(-1), Fraction(1, 10**13)])
def test_hopeless_noise_is_refused(rate: Fraction) -> None:
    """A rate must be above 0, and noise smaller than any count."""
    with pytest.raises(PlanError, match="too large to be drawn"):
        IntegerNoise(rate)


# ---- (ε, δ)


@pytest.mark.parametrize(
    ("rho", "delta", "accountant"),
    [
        ("1/50", "1e-8", 1.0823086603902814), ("1/8", "1e-6", 2.4190931786345953), ("2", "1e-10", 14.870678618985487),
        ("1/3200", "1e-6", 0.0985749485520224),
    ],
)  # fmt: skip
def test_epsilon_is_that_of_the_accountant(rho: str, delta: str, accountant: float) -> None:
    """ε is that of dp_accounting 0.6.0, whose RdpAccountant took ZCDpEvent(ρ) at 4,000 orders."""
    found = float(epsilon_from_rho(Fraction(rho), Fraction(delta)))
    assert found == pytest.approx(accountant, rel=1e-6)
    assert found <= accountant * (1 + 1e-8)


@pytest.mark.parametrize("epsilon", ["1/10", "1", "4", "20"])
@pytest.mark.parametrize("delta", ["1e-6", "1e-12"])
def test_rho_is_the_largest_that_fits(epsilon: str, delta: str) -> None:
    """ρ keeps ε, and one part in a million more does not."""
    wanted, share = Fraction(epsilon), Fraction(delta)
    rho = rho_from_epsilon(wanted, share)
    assert epsilon_from_rho(rho, share) <= wanted
    assert epsilon_from_rho(rho * Fraction(1_000_001, 1_000_000), share) > wanted
    # a Gaussian of this ρ has at least the exact δ of its privacy loss: Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)
    mu, size = math.sqrt(2 * rho), float(wanted)

    def below(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    exact = below(mu / 2 - size / mu) - math.exp(size) * below(-mu / 2 - size / mu)
    assert exact < float(share) < 10 * exact
