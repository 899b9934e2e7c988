"""Amplification and privacy breaches: bounds on what a reader of one report can learn.

A randomizer is at most γ-amplifying if p[x1 → y] ≤ γ·p[x2 → y] for all inputs x1, x2 and outputs y. This is ε-local
differential privacy with ε = ln γ. In an upward ρ1 → ρ2 breach, one report raises a property's prior probability of at
most ρ1 to a posterior of at least ρ2. Statement 1: if

    γ < ρ2 (1 − ρ1) / (ρ1 (1 − ρ2))

no report causes an upward ρ1 → ρ2 or a downward ρ2 → ρ1 breach, for any property and any prior. At equality the
posterior can reach ρ2, so the code keeps γ strictly below the limit.

Background knowledge Z, on which the randomizer's draws do not depend, changes only the prior, to P[· | z]. Since
P[y | x, z] = p[x → y], γ is the same for an adversary who knows Z = z.

Several reports of one person, randomized independently, compose: p[x → (y, y')] = p[x → y]·p'[x → y'], so their γ
multiply. This also holds if the second randomizer was chosen from what the first one showed.

Information in a report Y about a private value X with the prior P, with KL(A ‖ B) = Σ A log(A/B):

    I   = E_y KL(P[X|y] ‖ P[X])        mutual information, an average: small even if some reports reveal everything
    WI  = max_y KL(P[X|y] ‖ P[X])      worst-case information: bounds upward breaches
    IWI = max_y KL(P[X] ‖ P[X|y])      inverse worst-case information: bounds downward breaches

A γ-amplifying randomizer has WI, IWI ≤ log γ, and more exactly ≤ log((γ−1)/ln γ) − 1 + ln γ/(γ−1) nats under every
prior. For a given mean of the likelihoods l(x) = p[x → y] ∈ [a, γa] the convex functions l·log l and −log l have their
largest mean where l takes the two end values only. One variable remains, the prior of the end γa. Source: EGS03,
section 7; the bounds are ours.

EGS03: Evfimievski, Gehrke, Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining, PODS 2003.

:class:`Channel` is a randomizer with a prior; its results are exact. The example compares three randomizers of a number
from 0 to 50 (EGS03, section 2):

- keep it with probability 1/5, else show a uniformly random number;
- add noise from −5 to 5, modulo 51;
- with probability 1/2 do the latter, else show a uniformly random number.

>>> from fractions import Fraction
>>> from assocpriv.guarantees.amplification import Channel
>>> numbers, prior = range(51), [Fraction(1, 50), *[Fraction(49, 2500)] * 50]
>>> kept = [[Fraction(1, 5) * (x == y) + Fraction(4, 255) for y in numbers] for x in numbers]
>>> moved = [[Fraction((y - x + 5) % 51 <= 10, 11) for y in numbers] for x in numbers]
>>> mixed = [[p / 2 + Fraction(1, 102) for p in row] for row in moved]
>>> channels = [Channel(prior, rows) for rows in (kept, moved, mixed)]
>>> [round(float(channel.posterior_range({0})[1]), 3) for channel in channels]  # from a prior of 0.02
[0.219, 0.093, 0.056]
>>> [round(float(channel.posterior_range(range(25))[1]), 3) for channel in channels]  # from a prior of 0.490
[0.594, 1.0, 0.745]
>>> [round(float(channel.amplification), 1) for channel in channels]  # the second has no finite γ: no guarantee
[13.8, inf, 5.6]
"""

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from numbers import Real

from assocpriv.guarantees.errors import PlanError, as_list

NO_AMPLIFICATION = "the plan guarantees an average only: it has no bound on the information in one report"
VERY_WEAK_EPSILON = 8.0  # above it a prior of 1 in 1,000 may reach 3 in 4
LARGEST_DENOMINATOR = 10**24  # keeps a/b short in every plan
_LARGEST_WRITTEN = 10**500  # numerator and denominator of a γ that is written exactly
_LOG_DIGITS = 400
_INFORMATION_DIGITS, _LARGEST_BASE = 60, 1e300
_ROOT_BITS = 1200
_LARGEST_EPSILON = 700  # e^700 is still a double
_MOST_WRITTEN = 55  # largest ε of a guarantee: beyond it the posterior needs a denominator of over 24 digits
_TYPICAL = "typical values are 1 to 5; epsilon=2.9 raises a prior of 5% to at most 49%"
BITS = 2.0  # base of the logarithm of information
_LARGEST_ROUNDING = 1e-9  # tolerance of floats that should add up to 1
_LIMIT_DECIMALS = 12  # of a limit of γ given as ε: the most that posteriors of common priors can represent
_WRITTEN_LOGARITHM = re.compile(r"ln ?\(?([0-9]{1,24}(?:\.[0-9]{1,24})?)\)?", re.ASCII)
_WRITTEN_FRACTION = re.compile(r"[1-9][0-9]{0,24}/[1-9][0-9]{0,24}", re.ASCII)
_PLAIN_NUMBER = re.compile(r"-?[0-9./]{1,60}(e-?[0-9]{1,2})?", re.ASCII)


def parse_probability(value: "str | float | Fraction", name: str) -> Fraction:
    """Read a probability: ``"5%"``, ``"0.05"``, ``"1/20"``, a Fraction, or a float, read as its shortest decimal form.

    Raises:
        PlanError: the value is no number between 0 and 1, or its fraction is too long for a plan.

    >>> parse_probability("5%", "prior"), parse_probability(0.05, "prior")
    (Fraction(1, 20), Fraction(1, 20))
    """
    number = parse_share(value, name)
    if number.denominator > LARGEST_DENOMINATOR:
        raise PlanError(f"{name} must be a fraction with a denominator of at most 10^24; round it")
    return number


def parse_share(value: "str | float | Fraction", name: str) -> Fraction:
    """Read a probability like :func:`parse_probability`, but as small as 10^-90; for values that no plan states."""
    if isinstance(value, int) and 1 < value <= 100:
        raise PlanError(f"{name} must be a probability such as 5% or 0.05, got {value}; did you mean '{value}%'?")
    number, text = parse_number(value, name, "a probability such as 5% or 0.05"), _written(value)
    if not 0 <= number <= 1:
        hint = f"; did you mean '{text}%'?" if 1 < number <= 100 and not text.endswith("%") and len(text) < 10 else ""
        raise PlanError(f"{name} must lie between 0 and 1 (0% and 100%), got {text[:40]}{hint}")
    return number


def parse_number(value: "str | float | Fraction", name: str, kind: str = "a number such as 1.2 or 5%") -> Fraction:
    """Read a number of any size and sign, in the forms of :func:`parse_probability`; raise PlanError otherwise.

    >>> parse_number("120%", "lift"), parse_number(-0.5, "leverage")
    (Fraction(6, 5), Fraction(-1, 2))
    """
    text = _written(value)
    digits = text.removesuffix("%")
    number = _parse(digits.rstrip(), f"{name} must be {kind}, got {text[:40]!r}")
    return number / 100 if digits != text else number


def _written(value: object) -> str:
    """Return a number as text, but not the digits of a very long int, which take long to write."""
    return "far more" if isinstance(value, int) and abs(value) >= LARGEST_DENOMINATOR else str(value).strip()


def _parse(digits: str, refusal: str) -> Fraction:
    # the pattern excludes long exponents, which would make numbers of a billion digits
    try:
        return Fraction(digits if _PLAIN_NUMBER.fullmatch(digits) else "")
    except (ValueError, ZeroDivisionError):
        remedy = "; write decimals with a point and no thousands separator" if "," in digits else ""
        raise PlanError(refusal + remedy) from None


def check_amplification(value: "str | float | Fraction") -> Fraction:
    """Return γ as a Fraction; raise PlanError if it is no number of 1 or more.

    >>> check_amplification(1.5)
    Fraction(3, 2)
    """
    number = value if isinstance(value, Fraction) else parse_number(value, "γ", "a number of 1 or more, such as 19")
    if number < 1:
        raise PlanError(f"γ must be 1 or more, got {float(number):g}; it is 1 where reports do not depend on the data")
    return number


def _check_prior(value: "str | float | Fraction") -> Fraction:
    return value if isinstance(value, Fraction) and 0 <= value <= 1 else parse_share(value, "prior")


def read_fraction(text: object, name: str) -> Fraction:
    """Read a plan's probability, in the form that :func:`format_fraction` writes.

    Raises:
        PlanError: the text is no fraction ``a/b`` in lowest terms, in decimal digits, with b at most 10^24.

    >>> read_fraction("1/20", "prior")
    Fraction(1, 20)
    """
    number = Fraction(text) if isinstance(text, str) and _WRITTEN_FRACTION.fullmatch(text) else None
    if number is None or format_fraction(number) != text or number.denominator > LARGEST_DENOMINATOR:
        raise PlanError(
            f'plan field {name} must be text such as "1/20": a fraction in lowest terms without blanks, with a '
            "denominator of at most 10^24, as assocpriv plan writes it"
        )
    return number


def format_fraction(value: Fraction) -> str:
    """Write a fraction as ``a/b``, even if b is 1."""
    return f"{value.numerator}/{value.denominator}"


def round_amplification_up(amplification: Fraction, unit: int) -> Fraction:
    """Return the smallest multiple of 1/unit that is at least γ; the exact γ of many reports has too many digits.

    >>> round_amplification_up(Fraction(1, 3), 10)
    Fraction(2, 5)
    """
    return Fraction(-(-amplification.numerator * unit // amplification.denominator), unit)


def format_amplification(amplification: Fraction) -> str:
    """Write γ like :func:`format_fraction`; round it up to a multiple of 10^-24 if it has more than 500 digits.

    The exact γ of a thousand reports has ten thousand digits. Python does not write that many, and ledgers do not hold
    them.

    >>> format_amplification(Fraction(10**9 + 1, 10**9) ** 1000)
    '125000125000062437520771/125000000000000000000000'
    """
    if max(amplification.numerator, amplification.denominator) < _LARGEST_WRITTEN:
        return format_fraction(amplification)
    return format_fraction(round_amplification_up(amplification, LARGEST_DENOMINATOR))


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A ρ1-to-ρ2 privacy guarantee.

    No report raises a property's probability from at most ``prior`` to at least ``posterior``, nor lowers it from at
    least ``posterior`` to at most ``prior``. All reports that one person may send are covered together.

    Args:
        prior: ρ1, in the forms of :func:`parse_probability`.
        posterior: ρ2, likewise.

    Raises:
        PlanError: unless 0 < prior < posterior < 1.

    Source: EGS03, definition 3.

    >>> Guarantee("5%", "50%").amplification_limit
    Fraction(19, 1)
    """

    prior: Fraction
    posterior: Fraction

    def __init__(self, prior: "str | float | Fraction", posterior: "str | float | Fraction") -> None:
        low, high = parse_probability(prior, "prior"), parse_probability(posterior, "posterior")
        if not 0 < low < high < 1:
            raise PlanError(
                f"a guarantee needs 0 < prior < posterior < 1, got prior {float(low):g} and posterior {float(high):g}; "
                "the prior is the probability before a report, the posterior the probability no report may reach"
            )
        object.__setattr__(self, "prior", low)
        object.__setattr__(self, "posterior", high)

    @property
    def amplification_limit(self) -> Fraction:
        """The limit that γ must stay strictly below (EGS03, statement 1)."""
        return self.posterior * (1 - self.prior) / (self.prior * (1 - self.posterior))

    @property
    def epsilon(self) -> float:
        """The limit as ε = ln γ, rounded up to six decimals.

        >>> Guarantee("5%", "50%").epsilon, Guarantee.from_epsilon(2).epsilon
        (2.944439, 2.0)
        """
        return round_epsilon_up(self.amplification_limit)

    @classmethod
    def from_epsilon(cls, epsilon: "str | float | Fraction", prior: "str | float | Fraction" = "5%") -> "Guarantee":
        """Return the guarantee of ε-local differential privacy: γ below e^ε, stated as a prior and a posterior.

        The limit of γ is e^ε rounded down to 12 decimals. It has fewer decimals if the posterior, a fraction with a
        denominator of at most 10^24, cannot represent them.

        Args:
            epsilon: ε in nats, above 0, as 2.5 or ``"2.5"``; or ``"ln 19"``, for a limit of exactly 19.
            prior: the prior probability to state the guarantee for; any prior states the same guarantee.

        Returns:
            The guarantee; plans publish its prior and posterior.

        Raises:
            PlanError: ``epsilon`` or ``prior`` is out of range, or fractions cannot express the guarantee.

        >>> Guarantee.from_epsilon("ln 19") == Guarantee("5%", "50%")
        True
        >>> [Guarantee.from_epsilon(1, prior).amplification_limit for prior in ("5%", "1%")]
        [Fraction(2718281828459, 1000000000000), Fraction(2718281828459, 1000000000000)]
        """
        low, limit = parse_probability(prior, "prior"), _limit_of(epsilon)
        for decimals in range(_LIMIT_DECIMALS, -1, -1):
            rounded = Fraction(math.floor(limit * 10**decimals), 10**decimals)
            if not (rounded > 1 and 0 < low < 1):
                break
            high = highest_posterior(low, rounded)
            if high.denominator <= LARGEST_DENOMINATOR:
                return cls(low, high)
        if not 0 < low < 1:
            raise PlanError(
                f"prior must lie between 0 and 1, both excluded, got {float(low):g}; the default is prior='5%'"
            )
        why = "reports would carry no information" if limit < 2 else "it would protect nothing"
        raise PlanError(
            f"epsilon must be above 0 and at most {_MOST_WRITTEN}, got {str(epsilon)[:40]}: {why}, and the posterior "
            f"cannot be written as a fraction; {_TYPICAL}"
        )


def read_guarantee(
    guarantee: Guarantee | None,
    epsilon: "str | float | Fraction | None",
    prior: "str | float | Fraction | None",
    posterior: "str | float | Fraction | None",
) -> Guarantee | None:
    """Return the guarantee that is given as such, as ε, or as prior and posterior; None if none is.

    Raises:
        TypeError: it is given twice or by halves.
        PlanError: a number is out of range.
    """
    by_priors = prior is not None and posterior is not None
    halves = posterior is not None and prior is None, prior is not None and epsilon is None and posterior is None
    if any(halves) or (epsilon is not None) + by_priors + (guarantee is not None) > 1:
        raise TypeError(
            'give the guarantee once: epsilon=2, prior="5%" and posterior="50%", or guarantee=Guarantee("5%", "50%")'
        )
    if epsilon is not None:
        return Guarantee.from_epsilon(epsilon) if prior is None else Guarantee.from_epsilon(epsilon, prior)
    if prior is not None and posterior is not None:
        return Guarantee(prior, posterior)
    return None if guarantee is None else check_guarantee(guarantee)


def check_guarantee(guarantee: object) -> Guarantee:
    """Return the guarantee; raise TypeError if it is none."""
    if not isinstance(guarantee, Guarantee):
        raise TypeError(
            "guarantee must be a Guarantee, as Guarantee('5%', '50%') or Guarantee.from_epsilon(2.5), got a "
            f"{type(guarantee).__name__}"
        )
    return guarantee


def _limit_of(epsilon_limit: "str | float | Fraction") -> Fraction:
    """Return e^ε rounded down to 24 decimals, or exactly 19 for ``"ln 19"``."""
    match = _WRITTEN_LOGARITHM.fullmatch(str(epsilon_limit).strip())
    return Fraction(match[1]) if match else _power(epsilon_limit, _MOST_WRITTEN)


def highest_posterior(prior: Fraction, amplification: Fraction) -> Fraction:
    """Return the largest posterior that one γ-amplifying report can give a property: γπ / (1 + (γ−1)π).

    Args:
        prior: π, the property's prior probability.
        amplification: γ, 1 or more.

    Returns:
        The posterior, exactly; it is attained.

    Raises:
        PlanError: γ is below 1, or the prior is outside 0..1.

    >>> highest_posterior(Fraction(1, 20), Fraction(19))
    Fraction(1, 2)
    """
    amplification, prior = check_amplification(amplification), _check_prior(prior)
    return amplification * prior / (1 + (amplification - 1) * prior)


def lowest_posterior(prior: Fraction, amplification: Fraction) -> Fraction:
    """Return the smallest posterior that one γ-amplifying report can give a property: π / (γ − (γ−1)π).

    Args:
        prior: π, the property's prior probability.
        amplification: γ, 1 or more.

    Returns:
        The posterior, exactly; it is attained.

    Raises:
        PlanError: as :func:`highest_posterior`.

    >>> lowest_posterior(Fraction(1, 2), Fraction(19))
    Fraction(1, 20)
    """
    amplification, prior = check_amplification(amplification), _check_prior(prior)
    return prior / (amplification - (amplification - 1) * prior)


def epsilon_from_amplification(amplification: Fraction) -> float:
    """Return ε = ln γ in nats, rounded up.

    Args:
        amplification: γ, 1 or more.

    Returns:
        ε in nats, from 0.

    Raises:
        PlanError: γ is below 1.

    >>> round(epsilon_from_amplification(Fraction(19)), 6), epsilon_from_amplification(Fraction(1))
    (2.944439, 0.0)
    """
    return log_up(check_amplification(amplification))


def round_epsilon_up(amplification: Fraction) -> float:
    """Return ε = ln γ, rounded up to six decimals.

    >>> round_epsilon_up(Fraction(19))
    2.944439
    """
    return math.ceil(epsilon_from_amplification(amplification) * 10**6) / 10**6


@lru_cache  # a millisecond each, and a planner asks for the same one again and again
def log_up(number: Fraction) -> float:
    """Return the natural logarithm of a positive number, rounded up.

    >>> log_up(Fraction(1, 19)) > -2.944440
    True
    """
    if number == 1:
        return 0.0
    with localcontext(prec=_LOG_DIGITS) as context:
        # both logarithms are correctly rounded, so cancellation leaves the first 17 digits correct
        exact = context.subtract(Decimal(number.numerator).ln(), Decimal(number.denominator).ln())
        exact += Decimal(1).scaleb(10 - _LOG_DIGITS)
    return float_up(exact)


def float_up(exact: Decimal | Fraction) -> float:
    """Return the smallest float that is at least a number.

    >>> float_up(Fraction(1, 3)) > Fraction(1, 3) > -float_up(-Fraction(1, 3))
    True
    """
    nearest = float(exact)
    return nearest if Fraction(nearest) >= Fraction(exact) else math.nextafter(nearest, math.inf)


def amplification_from_epsilon(epsilon_limit: "str | float | Fraction") -> Fraction:
    """Return e^ε as a limit for γ: the largest multiple of 10^-24 that is at most e^ε.

    Args:
        epsilon_limit: ε in nats, as ``"2.9"``, 2.9 or a Fraction; a float is read as its shortest decimal form.

    Returns:
        The limit as an exact fraction, 1 or more.

    Raises:
        PlanError: the value is no number from 0 to 700.

    >>> float(amplification_from_epsilon("1")), amplification_from_epsilon(0)
    (2.718281828459045, Fraction(1, 1))
    """
    return _power(epsilon_limit, _LARGEST_EPSILON)


def _power(epsilon_limit: "str | float | Fraction", most: int) -> Fraction:
    text = str(epsilon_limit).strip()[:80]
    exponent = _parse(text, f"epsilon must be a number of nats, got {text[:40]!r}; {_TYPICAL}")
    if not 0 <= exponent <= most:
        raise PlanError(f"epsilon must lie between 0 and {most}, got {text[:40]}; {_TYPICAL}")
    digits = 100 + math.ceil(exponent / 2)  # of which e^ε has fewer than ε/2 + 1 before the point
    with localcontext(prec=digits) as context:
        quotient = context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
        power = Fraction(context.exp(quotient)) * (1 - Fraction(1, 10 ** (digits - 5)))  # safely below e^ε
    return max(Fraction(1), Fraction(math.floor(power * LARGEST_DENOMINATOR), LARGEST_DENOMINATOR))


def compose(amplifications: Iterable[Fraction]) -> Fraction:
    """Return the γ of several reports of one person together: the product of their γ.

    Args:
        amplifications: the γ of each report, 1 or more.

    Returns:
        The product, exactly; 1 for no report.

    Raises:
        PlanError: a γ is below 1.

    >>> compose([Fraction(19), Fraction(19)])
    Fraction(361, 1)
    """
    return math.prod(map(check_amplification, as_list(amplifications, "amplifications")), start=Fraction(1))


@dataclass(frozen=True, slots=True)
class PosteriorRange:
    """The range of posteriors that one report can give a property of some prior probability, exactly.

    Attributes:
        prior: the property's prior probability.
        lowest: the smallest posterior.
        highest: the largest posterior.

    >>> import assocpriv as ap
    >>> from fractions import Fraction
    >>> (row,) = ap.guarantees.posterior_curve(Fraction(19), [Fraction(1, 20)])
    >>> str(row.prior), str(row.lowest), str(row.highest)
    ('1/20', '1/362', '1/2')
    """

    prior: Fraction
    lowest: Fraction
    highest: Fraction


def posterior_curve(amplification: Fraction, priors: Iterable[Fraction]) -> tuple[PosteriorRange, ...]:
    """Return the range of posteriors that a γ-amplifying report can cause at each prior; both ends are attained.

    Args:
        amplification: γ, 1 or more.
        priors: prior probabilities of a property.

    Returns:
        One entry a prior, in order: ``prior``, ``lowest`` and ``highest``, exactly.

    Raises:
        PlanError: γ is below 1, or a prior is outside 0..1.

    >>> [str(row.highest) for row in posterior_curve(Fraction(19), [Fraction(1, 100), Fraction(1, 20)])]
    ['19/118', '1/2']
    """
    return tuple(
        PosteriorRange(prior, lowest_posterior(prior, amplification), highest_posterior(prior, amplification))
        for prior in map(_check_prior, as_list(priors, "priors"))
    )


def largest_rise(amplification: Fraction) -> float:
    """Return the largest change that one γ-amplifying report makes to any probability, up or down, rounded up.

    The rise γπ/(1+(γ−1)π) − π is largest at π = 1/(1+√γ), where it is (√γ−1)/(√γ+1).

    Args:
        amplification: γ, 1 or more.

    Returns:
        A difference of probabilities, in 0..1.

    Raises:
        PlanError: γ is below 1.

    >>> largest_rise(Fraction(9))
    0.5
    """
    amplification = check_amplification(amplification)
    scale = amplification.denominator << _ROOT_BITS
    square = amplification.numerator * amplification.denominator << 2 * _ROOT_BITS  # of √γ · scale
    root = math.isqrt(square - 1) + 1  # rounded up; (r−1)/(r+1) grows with r
    return float_up(Fraction(root - scale, root + scale))


def information_limit(amplification: Fraction, *, base: float = BITS) -> float:
    """Return the largest WI, and IWI, of a γ-amplifying randomizer under any prior, rounded up; it is attained.

    Args:
        amplification: γ, 1 or more.
        base: of the logarithm; 2 gives bits, math.e nats.

    Returns:
        The limit in units of ``base``, bits by default; 0 for γ = 1.

    Raises:
        PlanError: γ is below 1, or the base is not above 1.

    >>> round(information_limit(Fraction(19)), 6)
    1.405233
    """
    amplification = check_amplification(amplification)
    given: object = base
    if not isinstance(given, int | float | Fraction) or not 1 < given < _LARGEST_BASE:
        raise PlanError("base must be a number above 1: 2 for bits, math.e for nats")
    if amplification == 1:
        return 0.0
    # near γ = 1 the result, about (γ−1)²/8, is a difference of numbers near 1: 4 · 0.3 more digits a bit of 1/(γ−1)
    digits = _INFORMATION_DIGITS + 2 * (1 // (amplification - 1)).bit_length()
    with localcontext(prec=digits) as context:
        above = context.divide(Decimal((amplification - 1).numerator), Decimal((amplification - 1).denominator))
        log = (above + 1).ln()
        nats = context.divide(above, log).ln() - 1 + context.divide(log, above)
        return float_up(context.divide(nats, Decimal(float(base)).ln()) + Decimal(1).scaleb(20 - digits))


Number = Fraction | float


@dataclass(frozen=True, slots=True)
class Channel:
    """A private value X with a finite prior, and its randomizer.

    With Fractions every result is exact; with floats it has their precision. Outputs of probability 0 are ignored.

    Attributes:
        prior: P[X = x], one probability for each value x.
        transition: p[x → y], a row for each value x and a column for each output y.

    Raises:
        PlanError: probabilities that are negative or do not add up to 1, or rows of different lengths.

    >>> fair = Channel([Fraction(1, 2)] * 2, [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]])
    >>> fair.amplification, fair.posterior_range({0})
    (Fraction(3, 1), (Fraction(1, 4), Fraction(3, 4)))
    """

    prior: Sequence[Number]
    transition: Sequence[Sequence[Number]]

    def __post_init__(self) -> None:
        _check_distribution(self.prior, "the prior")
        if len(self.transition) != len(self.prior):
            n_values, n_rows = len(self.prior), len(self.transition)
            raise PlanError(f"a randomizer needs a row for each of the {n_values} values, got {n_rows}")
        for x, row in enumerate(self.transition):
            _check_distribution(row, f"row {x} of the randomizer")
            if len(row) != len(self.transition[0]):
                raise PlanError(f"row {x} of the randomizer has {len(row)} outputs, row 0 {len(self.transition[0])}")

    @property
    def amplification(self) -> Number:
        """The largest ratio p[x1 → y] / p[x2 → y]; infinite if a column holds a zero and a positive number."""
        columns = [column for column in zip(*self.transition, strict=True) if any(column)]
        ratios: list[Number] = [max(column) / min(column) if min(column) else math.inf for column in columns]
        return max(ratios)

    def _joint(self, output: int) -> list[Number]:
        return [p * row[output] for p, row in zip(self.prior, self.transition, strict=True)]

    def probability(self, values: Collection[int]) -> Number:
        """Return the prior probability of a property.

        Args:
            values: the property, as the set of values x that have it.

        Returns:
            A probability in 0..1.
        """
        return sum((self.prior[x] for x in values), Fraction(0))

    def posterior(self, output: int) -> tuple[Number, ...]:
        """Return the posterior of the private value, given an output.

        Args:
            output: position of the output y, from 0.

        Returns:
            P[X = x | y] for every x, in the prior's order; they add up to 1.

        Raises:
            PlanError: the output has probability 0.
        """
        joint = self._joint(output)
        total = sum(joint, Fraction(0))
        if not total:
            raise PlanError(f"output {output} has probability 0, so it has no posterior")
        return tuple(part / total for part in joint)

    def posterior_range(self, values: Collection[int]) -> tuple[Number, Number]:
        """Return the smallest and the largest posterior of a property, over all outputs of positive probability.

        Args:
            values: the property, as the set of values x that have it.

        Returns:
            The two posteriors, in 0..1.
        """
        inside, found = set(values), []
        for joint in map(self._joint, range(len(self.transition[0]))):
            if total := sum(joint, Fraction(0)):
                found.append(sum((joint[x] for x in inside), Fraction(0)) / total)
        return min(found), max(found)

    def breaks(self, guarantee: Guarantee, values: Collection[int]) -> bool:
        """Return whether some output breaks a guarantee, up or down, for a property.

        Args:
            guarantee: ρ1-to-ρ2 privacy.
            values: the property, as the set of values x that have it.

        Returns:
            True if some output raises the property's probability from at most ρ1 to at least ρ2, or lowers it from at
            least ρ2 to at most ρ1.

        Source: EGS03, definitions 1–3.
        """
        before, (lowest, highest) = self.probability(values), self.posterior_range(values)
        low, high = guarantee.prior, guarantee.posterior
        return before <= low < high <= highest or lowest <= low < high <= before


def _check_distribution(values: Sequence[Number], name: str) -> None:
    if not all(isinstance(value, Real) for value in values):
        raise TypeError(f"{name} must be numbers")
    total = sum(values, Fraction(0))
    rounding = _LARGEST_ROUNDING if isinstance(total, float) else 0
    # written such that NaN fails
    if not (all(value >= 0 for value in values) and 1 - rounding <= total <= 1 + rounding):
        raise PlanError(f"{name} must be probabilities that add up to 1, got a sum of {float(total):.12g}")


def root_of_limit(limit: Fraction, parts: int, bits: int) -> Fraction:
    """Return the limit of γ for each of several columns or reports: the root of their joint limit, rounded down.

    For several parts the root is a multiple of 2^-bits, computed in integers.

    >>> root_of_limit(Fraction(81), 2, 48)
    Fraction(9, 1)
    """
    if parts == 1:
        return limit
    # root/2^bits ≤ limit^(1/parts) holds iff root^parts ≤ limit · 2^(bits·parts), that is, iff it is ≤ the integer part
    scaled = (limit.numerator << bits * parts) // limit.denominator
    length = scaled.bit_length()
    low, high = 1 << (length - 1) // parts, 1 << -(-length // parts)  # low^parts ≤ scaled < high^parts
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**parts <= scaled else (low, middle)
    return Fraction(low, 1 << bits)
