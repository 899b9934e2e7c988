"""Privacy breaches: what a promise of amplification allows a reader of one report to learn.

A randomizer is at most γ-amplifying if p[x1 → y] ≤ γ·p[x2 → y] for all inputs x1, x2 and outputs y, which is ε-local
differential privacy with ε = ln γ. An upward ρ1 → ρ2 breach: a property held with prior probability ≤ ρ1 has posterior
≥ ρ2 after one report. Statement 1: if

    γ < ρ2 (1 − ρ1) / (ρ1 (1 − ρ2))

no report causes an upward ρ1 → ρ2 or a downward ρ2 → ρ1 breach, for any property and any prior. At equality the
posterior can reach ρ2, so everything here keeps γ strictly below the limit.

Background knowledge Z, which the randomizer's draws do not depend on, changes nothing but the prior, to P[· | z]:
P[y | x, z] = p[x → y], so γ is the same for whoever knows Z = z.

Several reports of one person, drawn with independent draws, compose: p[x → (y, y')] = p[x → y]·p'[x → y'], so their γ
multiply, also where the second randomizer was chosen by what the first one showed.

EGS03: Evfimievski, Gehrke, Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining, PODS 2003.

A randomizer and a prior are a :class:`Channel`, which answers exactly. Three ways to randomize a number from 0 to 50
(after Evfimievski, Gehrke, Srikant 2003, section 2): keep it with probability 1/5, else show any number; add noise from
−5 to 5, around the circle; with probability 1/2 that, else show any number.

>>> from fractions import Fraction
>>> from assocpriv.promise.breaches import Channel
>>> numbers, prior = range(51), [Fraction(1, 50), *[Fraction(49, 2500)] * 50]
>>> kept = [[Fraction(1, 5) * (x == y) + Fraction(4, 255) for y in numbers] for x in numbers]
>>> moved = [[Fraction((y - x + 5) % 51 <= 10, 11) for y in numbers] for x in numbers]
>>> mixed = [[p / 2 + Fraction(1, 102) for p in row] for row in moved]
>>> channels = [Channel(prior, rows) for rows in (kept, moved, mixed)]
>>> [round(float(channel.posterior_range({0})[1]), 3) for channel in channels]  # from a prior of 0.02
[0.219, 0.093, 0.056]
>>> [round(float(channel.posterior_range(range(25))[1]), 3) for channel in channels]  # from a prior of 0.490
[0.594, 1.0, 0.745]
>>> [round(float(channel.amplification), 1) for channel in channels]  # only the second one promises nothing
[13.8, inf, 5.6]
"""

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from numbers import Real

from assocpriv.promise.errors import PlanError, listed

NO_AMPLIFICATION = "the plan promises an average: it states no bound on what one report may tell"
LARGEST_DENOMINATOR = 10**24  # a/b then stays short in every plan
_LARGEST_WRITTEN = 10**500  # of a γ, above and below, that is written exactly
_LOG_DIGITS = 400
_ROOT_BITS = 1200
_LARGEST_EPSILON = 700  # e^700 is still a double
_MOST_WRITTEN = 55  # ε of a promise: beyond it posteriors have no denominator of 24 digits
_USUAL = "1 to 5 is usual, as epsilon=2.9, with which 5% becomes 49% at most"
_LARGEST_ROUNDING = 1e-9  # by which floats may miss a sum of 1
_LIMIT_DECIMALS = 12  # of a limit of γ given as ε: as many as the posteriors of usual priors have room for
_WRITTEN_LOGARITHM = re.compile(r"ln ?\(?([0-9]{1,24}(?:\.[0-9]{1,24})?)\)?", re.ASCII)
_WRITTEN_FRACTION = re.compile(r"[1-9][0-9]{0,24}/[1-9][0-9]{0,24}", re.ASCII)
_PLAIN_NUMBER = re.compile(r"-?[0-9./]{1,60}(e-?[0-9]{1,2})?", re.ASCII)


def parse_probability(value: "str | float | Fraction", name: str) -> Fraction:
    """Read ``"5%"``, ``"0.05"``, ``"1/20"``, a Fraction or a float, which means its shortest decimal form (here 1/20).

    Raises:
        PlanError: not a number between 0 and 1, or a fraction too long for a plan.

    >>> parse_probability("5%", "prior"), parse_probability(0.05, "prior")
    (Fraction(1, 20), Fraction(1, 20))
    """
    number = parse_share(value, name)
    if number.denominator > LARGEST_DENOMINATOR:
        raise PlanError(f"{name} must be a fraction with a denominator of at most 10^24; round it")
    return number


def parse_share(value: "str | float | Fraction", name: str) -> Fraction:
    """Read a probability that stands in no plan, and may be as small as 10^-90; else as :func:`parse_probability`."""
    if isinstance(value, int) and 1 < value <= 100:
        raise PlanError(f"{name} must be a probability such as 5% or 0.05, got {value}; is '{value}%' meant?")
    number, text = parse_number(value, name, "a probability such as 5% or 0.05"), _written(value)
    if not 0 <= number <= 1:
        meant = f"; is '{text}%' meant?" if 1 < number <= 100 and not text.endswith("%") and len(text) < 10 else ""
        raise PlanError(f"{name} must lie between 0 and 1 (0% and 100%), got {text[:40]}{meant}")
    return number


def parse_number(value: "str | float | Fraction", name: str, kind: str = "a number such as 1.2 or 5%") -> Fraction:
    """Read a number of any size and sign, in the forms of :func:`parse_probability`; anything else raises PlanError.

    >>> parse_number("120%", "lift"), parse_number(-0.5, "leverage")
    (Fraction(6, 5), Fraction(-1, 2))
    """
    text = _written(value)
    digits = text.removesuffix("%")
    number = _parse(digits.rstrip(), f"{name} must be {kind}, got {text[:40]!r}")
    return number / 100 if digits != text else number


def _written(value: object) -> str:
    """Return a number as text; the digits of a very long int would take longer to write than they are worth."""
    return "far more" if isinstance(value, int) and abs(value) >= LARGEST_DENOMINATOR else str(value).strip()


def _parse(digits: str, refusal: str) -> Fraction:
    # a long exponent would ask for a number of a billion digits
    try:
        return Fraction(digits if _PLAIN_NUMBER.fullmatch(digits) else "")
    except (ValueError, ZeroDivisionError):
        remedy = "; write decimals with a point, and no mark between thousands" if "," in digits else ""
        raise PlanError(refusal + remedy) from None


def check_amplification(value: "str | float | Fraction") -> Fraction:
    """Return a γ, a number of 1 or more; anything else raises PlanError.

    >>> check_amplification(1.5)
    Fraction(3, 2)
    """
    number = value if isinstance(value, Fraction) else parse_number(value, "γ", "a number of 1 or more, such as 19")
    if number < 1:
        raise PlanError(f"γ must be 1 or more, got {float(number):g}; it is 1 where a report tells nothing")
    return number


def _check_prior(value: "str | float | Fraction") -> Fraction:
    return value if isinstance(value, Fraction) and 0 <= value <= 1 else parse_share(value, "prior")


def read_fraction(text: object, name: str) -> Fraction:
    """Read a probability of a plan, as :func:`format_fraction` writes it.

    Raises:
        PlanError: not a fraction ``a/b`` in lowest terms, in plain decimal digits, b being at most 10^24.

    >>> read_fraction("1/20", "prior")
    Fraction(1, 20)
    """
    number = Fraction(text) if isinstance(text, str) and _WRITTEN_FRACTION.fullmatch(text) else None
    if number is None or format_fraction(number) != text or number.denominator > LARGEST_DENOMINATOR:
        raise PlanError(
            f'plan field {name} must be text such as "1/20": a fraction in lowest terms without blanks, of a '
            "denominator of at most 10^24; assocpriv plan writes it so"
        )
    return number


def format_fraction(value: Fraction) -> str:
    """Write a fraction as ``a/b``, also where b is 1."""
    return f"{value.numerator}/{value.denominator}"


def round_up(amplification: Fraction, unit: int) -> Fraction:
    """Return the least multiple of 1/unit that is not below a γ: exact ones of many reports grow long.

    >>> round_up(Fraction(1, 3), 10)
    Fraction(2, 5)
    """
    return Fraction(-(-amplification.numerator * unit // amplification.denominator), unit)


def format_bound(amplification: Fraction) -> str:
    """Write a γ as :func:`format_fraction`; one of more than 500 digits is rounded up to a multiple of 10^-24.

    Exact γ of a thousand answers have ten thousand digits, which Python does not write, and ledgers do not hold.

    >>> format_bound(Fraction(10**9 + 1, 10**9) ** 1000)
    '125000125000062437520771/125000000000000000000000'
    """
    if max(amplification.numerator, amplification.denominator) < _LARGEST_WRITTEN:
        return format_fraction(amplification)
    return format_fraction(round_up(amplification, LARGEST_DENOMINATOR))


@dataclass(frozen=True, slots=True)
class Breach:
    """The promise: no report lifts a belief from at most ``prior`` to at least ``posterior``, or the reverse.

    Both are read by :func:`parse_probability`; PlanError if not 0 < prior < posterior < 1. Source: EGS03, definition 3.

    >>> Breach("5%", "50%").amplification_limit
    Fraction(19, 1)
    """

    prior: Fraction
    posterior: Fraction

    def __init__(self, prior: "str | float | Fraction", posterior: "str | float | Fraction") -> None:
        low, high = parse_probability(prior, "prior"), parse_probability(posterior, "posterior")
        if not 0 < low < high < 1:
            raise PlanError(
                f"a promise needs 0 < prior < posterior < 1, got prior {float(low):g} and posterior {float(high):g}; "
                "the prior is the belief before a report, the posterior the belief no report may reach"
            )
        object.__setattr__(self, "prior", low)
        object.__setattr__(self, "posterior", high)

    @property
    def amplification_limit(self) -> Fraction:
        """The γ that an operator must stay strictly below (EGS03, statement 1)."""
        return self.posterior * (1 - self.prior) / (self.prior * (1 - self.posterior))


def check_promise(promise: object) -> Breach:
    """Return a promise; a TypeError of anything else."""
    if not isinstance(promise, Breach):
        raise TypeError(
            f"promise must be a Breach, as Breach('5%', '50%') or Epsilon(2.5), got a {type(promise).__name__}"
        )
    return promise


def Epsilon(epsilon: "str | float | Fraction", prior: "str | float | Fraction" = "5%") -> Breach:  # noqa: N802
    """Return the promise of ε-local differential privacy: γ below e^ε, written as what a prior may become.

    It is a :class:`Breach` as any other, so plans publish the prior and the posterior that follows from it. Its limit
    of γ is e^ε rounded down to 12 decimals, whatever the prior; to fewer where the posterior, a fraction whose
    denominator is at most 10^24, has no room for them.

    Args:
        epsilon: ε in nats, above 0, as 2.5 or ``"2.5"``; or ``"ln 19"``, for a limit of exactly 19.
        prior: the belief that the promise is stated for; any prior makes the same promise.

    Raises:
        PlanError: no such number, or a promise so weak or so strict that it cannot be written as fractions.

    >>> Epsilon("ln 19") == Breach("5%", "50%")
    True
    >>> Epsilon(1).amplification_limit, Epsilon(1, prior="1%").amplification_limit == Epsilon(1).amplification_limit
    (Fraction(2718281828459, 1000000000000), True)
    """
    low, limit = parse_probability(prior, "prior"), _limit_of(epsilon)
    for decimals in range(_LIMIT_DECIMALS, -1, -1):
        rounded = Fraction(math.floor(limit * 10**decimals), 10**decimals)
        if not (rounded > 1 and 0 < low < 1):
            break
        high = highest_posterior(low, rounded)
        if high.denominator <= LARGEST_DENOMINATOR:
            return Breach(low, high)
    if not 0 < low < 1:
        raise PlanError(f"prior must lie between 0 and 1, both excluded, got {float(low):g}; 5% is usual: prior='5%'")
    why = (
        "with so small a one reports say nothing" if limit < 2 else "with so large a one any belief may become certain"
    )
    raise PlanError(
        f"epsilon must be above 0 and at most {_MOST_WRITTEN}, got {str(epsilon)[:40]}: {why}, and no posterior can be "
        f"written as a fraction; {_USUAL}"
    )


def _limit_of(epsilon_limit: "str | float | Fraction") -> Fraction:
    """Return e^ε rounded down to 24 decimals, or of ``"ln 19"`` 19 exactly."""
    match = _WRITTEN_LOGARITHM.fullmatch(str(epsilon_limit).strip())
    return Fraction(match[1]) if match else _power(epsilon_limit, _MOST_WRITTEN)


def highest_posterior(prior: Fraction, amplification: Fraction) -> Fraction:
    """Return the largest posterior that one γ-amplifying report can give a property: γπ / (1 + (γ−1)π).

    Raises:
        PlanError: a γ below 1, or a prior outside 0..1.

    >>> highest_posterior(Fraction(1, 20), Fraction(19))
    Fraction(1, 2)
    """
    amplification, prior = check_amplification(amplification), _check_prior(prior)
    return amplification * prior / (1 + (amplification - 1) * prior)


def lowest_posterior(prior: Fraction, amplification: Fraction) -> Fraction:
    """Return the smallest posterior that one γ-amplifying report can leave a property: π / (γ − (γ−1)π).

    Raises:
        PlanError: as :func:`highest_posterior`.

    >>> lowest_posterior(Fraction(1, 2), Fraction(19))
    Fraction(1, 20)
    """
    amplification, prior = check_amplification(amplification), _check_prior(prior)
    return prior / (amplification - (amplification - 1) * prior)


def epsilon(amplification: Fraction) -> float:
    """Return ε = ln γ in nats, rounded up.

    Raises:
        PlanError: a γ below 1.

    >>> round(epsilon(Fraction(19)), 6), epsilon(Fraction(1))
    (2.944439, 0.0)
    """
    return log_up(check_amplification(amplification))


def log_up(number: Fraction) -> float:
    """Return the natural logarithm of a number above 0, rounded up.

    >>> log_up(Fraction(1, 19)) > -2.944440
    True
    """
    if number == 1:
        return 0.0
    with localcontext(prec=_LOG_DIGITS) as context:
        # each logarithm is right to its last digit, so the digits that cancel cannot reach the first seventeen
        exact = context.subtract(Decimal(number.numerator).ln(), Decimal(number.denominator).ln())
        exact += Decimal(1).scaleb(10 - _LOG_DIGITS)
    return float_up(exact)


def float_up(exact: Decimal | Fraction) -> float:
    """Return the least float that is not below a number.

    >>> float_up(Fraction(1, 3)) > Fraction(1, 3) > -float_up(-Fraction(1, 3))
    True
    """
    nearest = float(exact)
    return nearest if Fraction(nearest) >= Fraction(exact) else math.nextafter(nearest, math.inf)


def amplification_of(epsilon_limit: "str | float | Fraction") -> Fraction:
    """Return e^ε as a limit for γ: the largest multiple of 10^-24 that is not above it.

    ε is in nats, given as ``"2.9"``, 2.9 or a Fraction, and taken as written, as :func:`parse_probability` does.

    Raises:
        PlanError: not a number from 0 to 700.

    >>> float(amplification_of("1")), amplification_of(0)
    (2.718281828459045, Fraction(1, 1))
    """
    return _power(epsilon_limit, _LARGEST_EPSILON)


def _power(epsilon_limit: "str | float | Fraction", most: int) -> Fraction:
    text = str(epsilon_limit).strip()[:80]
    exponent = _parse(text, f"epsilon must be a number of nats, got {text[:40]!r}; {_USUAL}")
    if not 0 <= exponent <= most:
        raise PlanError(f"epsilon must lie between 0 and {most}, got {text[:40]}; {_USUAL}")
    with localcontext(prec=2 * _LOG_DIGITS) as context:
        quotient = context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
        power = Fraction(context.exp(quotient)) * (1 - Fraction(1, 10**_LOG_DIGITS))  # safely below e^ε
    return max(Fraction(1), Fraction(math.floor(power * LARGEST_DENOMINATOR), LARGEST_DENOMINATOR))


def compose(amplifications: Iterable[Fraction]) -> Fraction:
    """Return the γ of several reports of one person together: the product.

    Raises:
        PlanError: a γ below 1.

    >>> compose([Fraction(19), Fraction(19)])
    Fraction(361, 1)
    """
    return math.prod(map(check_amplification, listed(amplifications, "amplifications")), start=Fraction(1))


@dataclass(frozen=True, slots=True)
class BeliefRange:
    """What one report can make of a property's prior probability: the least and the largest posterior, all exact.

    >>> import assocpriv as ap
    >>> from fractions import Fraction
    >>> (belief,) = ap.breach_curve(Fraction(19), [Fraction(1, 20)])
    >>> str(belief.prior), str(belief.lowest), str(belief.highest)
    ('1/20', '1/362', '1/2')
    """

    prior: Fraction
    lowest: Fraction
    highest: Fraction


def breach_curve(amplification: Fraction, priors: Iterable[Fraction]) -> tuple[BeliefRange, ...]:
    """Return the largest breach, up and down, that a γ-amplifying report can cause at each prior; both are attained.

    Raises:
        PlanError: a γ below 1, or a prior outside 0..1.

    >>> [str(row.highest) for row in breach_curve(Fraction(19), [Fraction(1, 100), Fraction(1, 20)])]
    ['19/118', '1/2']
    """
    return tuple(
        BeliefRange(prior, lowest_posterior(prior, amplification), highest_posterior(prior, amplification))
        for prior in map(_check_prior, listed(priors, "priors"))
    )


def largest_rise(amplification: Fraction) -> float:
    """Return the most that one γ-amplifying report adds to any probability, or takes from it, rounded up.

    The rise γπ/(1+(γ−1)π) − π is largest at π = 1/(1+√γ), where it is (√γ−1)/(√γ+1).

    Raises:
        PlanError: a γ below 1.

    >>> largest_rise(Fraction(9))
    0.5
    """
    amplification = check_amplification(amplification)
    scale = amplification.denominator << _ROOT_BITS
    square = amplification.numerator * amplification.denominator << 2 * _ROOT_BITS  # of √γ · scale
    root = math.isqrt(square - 1) + 1  # rounded up; (r−1)/(r+1) grows with r
    return float_up(Fraction(root - scale, root + scale))


Number = Fraction | float


@dataclass(frozen=True, slots=True)
class Channel:
    """A private value X of any finite prior, and a randomizer of it: P[X = x], and p[x → y] in rows x, columns y.

    Of Fractions every answer is exact; of floats it is as near as they are. Outputs of probability 0 are ignored.

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
        """The largest ratio p[x1 → y] / p[x2 → y]; infinite where a zero stands beside a positive number."""
        columns = [column for column in zip(*self.transition, strict=True) if any(column)]
        ratios: list[Number] = [max(column) / min(column) if min(column) else math.inf for column in columns]
        return max(ratios)

    def _joint(self, output: int) -> list[Number]:
        return [p * row[output] for p, row in zip(self.prior, self.transition, strict=True)]

    def probability(self, values: Collection[int]) -> Number:
        """Return the prior probability of a property, given by the set of values x that have it."""
        return sum((self.prior[x] for x in values), Fraction(0))

    def posterior(self, output: int) -> tuple[Number, ...]:
        """Return P[X = x | y] for every x; PlanError for an output of probability 0."""
        joint = self._joint(output)
        total = sum(joint, Fraction(0))
        if not total:
            raise PlanError(f"output {output} has probability 0, so nothing can be said after it")
        return tuple(part / total for part in joint)

    def posterior_range(self, values: Collection[int]) -> tuple[Number, Number]:
        """Return the smallest and the largest posterior of a property, over all outputs that can occur."""
        inside, found = set(values), []
        for joint in map(self._joint, range(len(self.transition[0]))):
            if total := sum(joint, Fraction(0)):
                found.append(sum((joint[x] for x in inside), Fraction(0)) / total)
        return min(found), max(found)

    def causes(self, breach: Breach, values: Collection[int]) -> bool:
        """Tell whether some output causes the breach, upward or downward, for a property (EGS03, definitions 1–3)."""
        before, (lowest, highest) = self.probability(values), self.posterior_range(values)
        return (
            before <= breach.prior < breach.posterior <= highest or lowest <= breach.prior < breach.posterior <= before
        )


def _check_distribution(values: Sequence[Number], name: str) -> None:
    if not all(isinstance(value, Real) for value in values):
        raise TypeError(f"{name} must be numbers")
    total = sum(values, Fraction(0))
    rounding = _LARGEST_ROUNDING if isinstance(total, float) else 0
    # written so that not-a-number is refused
    if not (all(value >= 0 for value in values) and 1 - rounding <= total <= 1 + rounding):
        raise PlanError(f"{name} must be probabilities that add up to 1, got a sum of {float(total):.12g}")


def share_limit(limit: Fraction, parts: int, bits: int) -> Fraction:
    """Return the share of a limit of γ that each of so many columns or reports gets: its root, rounded down.

    Of several parts the root is a multiple of 2^-bits, found by integers alone.

    >>> share_limit(Fraction(81), 2, 48)
    Fraction(9, 1)
    """
    if parts == 1:
        return limit
    # γ ≤ root/2^bits < limit^(1/parts) holds iff root^parts ≤ limit · 2^(bits·parts), and so iff it is ≤ the whole part
    scaled = (limit.numerator << bits * parts) // limit.denominator
    return Fraction(_whole_root(scaled, parts), 1 << bits)


def _whole_root(value: int, degree: int) -> int:
    """Return the largest whole number whose power of this degree is at most ``value``, which is at least 1."""
    bits = value.bit_length()
    low, high = 1 << (bits - 1) // degree, 1 << -(-bits // degree)  # low^degree ≤ value < high^degree
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= value else (low, middle)
    return low
