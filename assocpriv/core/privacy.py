"""Breach levels and amplification: what a promise allows a reader of one report to learn.

A randomizer is at most γ-amplifying if p[x1 → y] ≤ γ·p[x2 → y] for all inputs x1, x2 and outputs y, which
is ε-local differential privacy with ε = ln γ. An upward ρ1 → ρ2 breach: a property held with prior
probability ≤ ρ1 has posterior ≥ ρ2 after one report. Statement 1: if

    γ < ρ2 (1 − ρ1) / (ρ1 (1 − ρ2))

no report causes an upward ρ1 → ρ2 or a downward ρ2 → ρ1 breach, for any property and any prior. At
equality the posterior can reach ρ2, so everything here keeps γ strictly below the limit.

Source: Evfimievski, Gehrke, Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining,
PODS 2003, sections 3 and 4.
"""

import math
import re
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

from assocpriv.core.errors import PlanError

_LARGEST_DENOMINATOR = 10**24  # a/b then stays short in every plan
_LOG_DIGITS = 400
_PLAIN_NUMBER = re.compile(r"-?[0-9./]{1,60}(e-?[0-9]{1,2})?", re.ASCII)


def parse_probability(value: "str | float | Fraction", name: str) -> Fraction:
    """Read a probability given as ``"5%"``, ``"0.05"``, ``"1/20"``, 0.05 or a Fraction, exactly as written.

    A float means its shortest decimal form: 0.05 is 1/20, not the binary number beside it.

    Raises:
        PlanError: not a number between 0 and 1.

    >>> parse_probability("5%", "prior"), parse_probability(0.05, "prior")
    (Fraction(1, 20), Fraction(1, 20))
    """
    # the digits of a very long int would take longer to write than they are worth
    text = str(value).strip() if not isinstance(value, int) or 0 <= value <= 1 else "a whole number above 1"
    if isinstance(value, int) and 1 < value <= 100:
        raise PlanError(f"{name} must be a probability such as 5% or 0.05, got {value}; is '{value}%' meant?")
    digits = text.removesuffix("%")
    try:
        # a long exponent would ask for a number of a billion digits
        number = Fraction(digits if _PLAIN_NUMBER.fullmatch(digits) else "") / (100 if digits != text else 1)
    except (ValueError, ZeroDivisionError):
        raise PlanError(f"{name} must be a probability such as 5% or 0.05, got {text[:40]!r}") from None
    if number.denominator > _LARGEST_DENOMINATOR:
        raise PlanError(f"{name} must be a fraction with a denominator of at most 10^24; round it")
    if not 0 <= number <= 1:
        raise PlanError(f"{name} must lie between 0 and 1 (0% and 100%), got {text[:40]}")
    return number


def format_fraction(value: Fraction) -> str:
    """Write a fraction as ``a/b``, also where b is 1."""
    return f"{value.numerator}/{value.denominator}"


@dataclass(frozen=True, slots=True)
class Breach:
    """The promise: no report lifts a belief from at most ``prior`` to at least ``posterior``, or the reverse.

    Both are probabilities, written as ``"5%"``, ``0.05`` or a Fraction, and kept as exact fractions.

    Raises:
        PlanError: not 0 < prior < posterior < 1.

    Source: EGS03, definition 3.

    >>> Breach("5%", "50%").amplification_limit
    Fraction(19, 1)
    """

    prior: Fraction
    posterior: Fraction

    def __init__(self, prior: "str | float | Fraction", posterior: "str | float | Fraction") -> None:
        low, high = parse_probability(prior, "prior"), parse_probability(posterior, "posterior")
        if not 0 < low < high < 1:
            raise PlanError(
                "a promise needs 0 < prior < posterior < 1, "
                f"got prior {float(low):g} and posterior {float(high):g}; "
                "the prior is the belief before a report, the posterior the belief no report may reach"
            )
        object.__setattr__(self, "prior", low)
        object.__setattr__(self, "posterior", high)

    @property
    def amplification_limit(self) -> Fraction:
        """The γ that an operator must stay strictly below (EGS03, statement 1)."""
        return self.posterior * (1 - self.prior) / (self.prior * (1 - self.posterior))


def highest_posterior(prior: Fraction, amplification: Fraction) -> Fraction:
    """Return the largest posterior that one γ-amplifying report can give a property: γπ / (1 + (γ−1)π).

    >>> highest_posterior(Fraction(1, 20), Fraction(19))
    Fraction(1, 2)
    """
    return amplification * prior / (1 + (amplification - 1) * prior)


def lowest_posterior(prior: Fraction, amplification: Fraction) -> Fraction:
    """Return the smallest posterior that one γ-amplifying report can leave a property: π / (γ − (γ−1)π).

    >>> lowest_posterior(Fraction(1, 2), Fraction(19))
    Fraction(1, 20)
    """
    return prior / (amplification - (amplification - 1) * prior)


def epsilon(amplification: Fraction) -> float:
    """Return ε = ln γ in nats, rounded up: a figure of privacy never errs in our favour.

    >>> round(epsilon(Fraction(19)), 6)
    2.944439
    """
    with localcontext(prec=_LOG_DIGITS) as context:
        # each logarithm is right to its last digit, so the digits that cancel cannot reach the first seventeen
        exact = context.subtract(Decimal(amplification.numerator).ln(), Decimal(amplification.denominator).ln())
        exact += Decimal(1).scaleb(10 - _LOG_DIGITS)
    nearest = float(exact)
    return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)
