"""The central guarantee that an anonymous channel adds to shuffled reports.

It is an addition, no part of a plan's promise, and assumes what nothing else here does: **a shuffler that is trusted**
(docs/privacy.md) to hand on one report of each of N people as a multiset that tells no sender. Exchanging one person's
basket then changes its law by an (ε', δ) with ε' far below ε = ln γ. People who work with the reader hide nobody: they
do not count among the N.

The bound. Write R_x(y) for the chance of report y under basket x, and μ(y) = min_x R_x(y), a measure of mass λ, the
blanket. Each of the other people sends a draw from μ/λ with probability λ, whatever the basket. Telling the reader who
does not only helps the reader, and leaves

    δ(ε') ≤ E[(X_1 + … + X_N)_+] / N,   X_i = (R_0 − e^ε' R_1)(Y_i)/μ(Y_i) with probability λ, else 0,   Y_i ~ μ/λ.

R_0/μ and R_1/μ lie in [1, γ] and have mean 1/λ. x ↦ (s + x)_+ is convex, so among all such laws that one is worst
which puts q = (1−λ)/(γ−1) on each of the corners (γ, 1) and (1, γ), the rest of λ on (1, 1), as long as
λ ≥ 2/(γ+1). A smaller λ is a larger spread until λ = 2/(γ+1), and a still smaller one a smaller spread again. So
λ = 2/(γ+1) holds for every γ-amplifying randomizer: N − 1 people are each a clone with probability 2/(γ+1), an even
coin says of which basket. That is the pair (A + Δ, C − A + 1 − Δ) of the clones papers, with the clones of the second.
A known blanket λ > 2/(γ+1) does better.

The sum depends on three counts: a and b of the corners, c of the neutral rest. With κ = (e^ε' − 1)/(γ − 1)

    Σ X_i = (γ − 1) · (a − e^ε' b − κ (a + b + c)),   a ~ Bin(C, 1/2) given C = a + b ~ Bin(N, 2q).

Sources: Feldman, McMillan, Talwar, Hiding Among the Clones, FOCS 2021 (theorem 3.1), and Stronger Privacy Amplification
by Shuffling, SODA 2023; Balle, Bell, Gascón, Nissim, The Privacy Blanket of the Shuffle Model, CRYPTO 2019.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.promise.breaches import LARGEST_DENOMINATOR, amplification_of, format_fraction, read_fraction
from assocpriv.promise.breaches import epsilon as local_epsilon
from assocpriv.promise.errors import EstimateError, PlanError, counted

_MOST_REPORTS = 10**12
_LARGEST_AMPLIFICATION = 10**12  # beyond it even the most reports hide nobody, and floats run short
_STRATA = 512  # of the number of clones; a finer division changes ε' in the fifth digit
_LOST = 1e-3  # share of δ given to each of three tails that are cut off
_SLACK = 1e-7  # relative; scipy's binomial is right to 1e-8 even for 10^9 draws (a test compares)
_HALVINGS = 60
_UP = 1 + 1e-12
_MOST_EPSILON = 100  # a promise of more is none
_MOST_DELAY = 7 * 86400
_STEPS = 20  # binary digits of a blanket that is looked for


@dataclass(frozen=True, slots=True)
class CentralPromise:
    """What whoever reads a batch of sealed reports may learn of one person, where none of them tells its sender.

    Exchanging one person's basket changes the law of all that a batch holds of a person by an (ε, δ) at most, whatever
    else is known, as long as those who know the senders, and those who know the contents, do not work together.

    Attributes:
        epsilon: in nats, above 0, at most 100.
        delta: above 0; below 1/``reports``, else it would allow to publish somebody's basket.
        reports: the least reports of a batch, 1..10^12.
        helping: the share of them whose senders may help the reader and hide nobody, above 0 and below 1.
        delay: seconds within which a device draws the moment of sending, 1..604800.

    Raises:
        PlanError: a value outside its range.

    >>> CentralPromise(Fraction(1), Fraction(1, 10**8), 100_000).people
    90000
    """

    epsilon: Fraction
    delta: Fraction
    reports: int
    helping: Fraction = Fraction(1, 10)
    delay: int = 3600

    fractions: ClassVar = ("epsilon", "delta", "helping")
    numbers: ClassVar = {"reports": _MOST_REPORTS, "delay": _MOST_DELAY}

    def __post_init__(self) -> None:
        for name, most in self.numbers.items():
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= most:
                raise PlanError(f"plan field {name} of a central promise must be a whole number in 1..{most}")
        if any(getattr(self, name).denominator > LARGEST_DENOMINATOR for name in self.fractions):
            raise PlanError("numbers of a central promise must be fractions of a denominator of at most 10^24")
        if not 0 < self.epsilon <= _MOST_EPSILON:
            raise PlanError(
                f"a central promise needs an epsilon above 0, at most {_MOST_EPSILON}, got {float(self.epsilon):.3g}; "
                "1 is usual"
            )
        if not 0 < self.delta * self.reports < 1:
            raise PlanError(
                f"a central promise of {self.reports:,} reports needs a delta above 0 and below 1/reports, got "
                f"{float(self.delta):.3g}: with more it would allow to publish the basket of one of these people; 1e-8 "
                "is usual"
            )
        if not 0 < self.helping < 1:
            raise PlanError("a central promise needs a share that may help the reader, above 0 and below 1")
        if not self.people:
            raise PlanError(
                f"{counted(self.reports, 'report')} cannot keep a central promise: without the share that may help the "
                "reader none is left; expect more together, as reports=100000"
            )

    @property
    def people(self) -> int:
        """The reports that it is proved for: a batch without those of who may help the reader, rounded down."""
        return math.floor(self.reports * (1 - self.helping))

    def of_each(self, reports_per_person: int) -> tuple[float, float]:
        """Return the (ε', δ') that each of R reports of a person must keep, rounded down.

        A batch may hold all R. Exchanging them one after the other is R steps, each of one report among ``people``, so
        P_0 ≤ e^ε' P_1 + δ' ≤ … gives ε = Rε' and δ = δ'(1 + e^ε' + … + e^((R−1)ε')); in several batches it is less.

        >>> [f"{each:.3g}" for each in CentralPromise(Fraction(1), Fraction(1, 10**8), 100_000).of_each(2)]
        ['0.5', '3.78e-09']
        """
        each = float(self.epsilon / reports_per_person) / _UP
        sums = 1.0 if reports_per_person == 1 else math.expm1(float(self.epsilon)) / math.expm1(each)
        return each, float(self.delta) / sums / _UP

    def holds(self, amplification: Fraction, blanket: Fraction, reports_per_person: int = 1) -> bool:
        """Tell whether it is proved for reports of this γ and blanket; floats are rounded against us.

        >>> promise = CentralPromise(Fraction(1), Fraction(1, 10**8), 100_000)
        >>> promise.holds(Fraction(19), Fraction(1, 10)), promise.holds(Fraction(19**3), Fraction(1, 10))
        (True, False)
        """
        if amplification**reports_per_person <= amplification_of(self.epsilon):  # nothing need be hidden
            return True
        return amplification <= _LARGEST_AMPLIFICATION and self._is_proved(amplification, blanket, reports_per_person)

    def _is_proved(self, amplification: Fraction, blanket: Fraction, reports_per_person: int) -> bool:
        (epsilon, delta), clones = self.of_each(reports_per_person), 2 / (amplification + 1)
        return any(
            shuffled_delta(epsilon, amplification, self.people, mass, _LOST * delta) <= delta
            for mass in sorted({clones, max(blanket, clones)})
        )

    def least_blanket(self, amplification: Fraction, reports_per_person: int = 1) -> Fraction | None:
        """Return a blanket, near the least, for which it is proved at this γ: 0 where any will do, None where none.

        >>> promise = CentralPromise(Fraction(1), Fraction(1, 10**8), 100_000)
        >>> [round(float(promise.least_blanket(Fraction(gamma))), 2) for gamma in (19, 2980)]
        [0.0, 0.44]
        """
        low, high = Fraction(0), Fraction(1)
        if self.holds(amplification, low, reports_per_person):
            return low
        if not self.holds(amplification, high, reports_per_person):
            return None
        for _ in range(_STEPS):
            middle = (low + high) / 2
            holds = self.holds(amplification, middle, reports_per_person)
            low, high = (low, middle) if holds else (middle, high)
        return high

    def to_json(self) -> dict[str, Any]:
        """Return the promise as JSON content."""
        written = {name: format_fraction(getattr(self, name)) for name in self.fractions}
        return written | {name: getattr(self, name) for name in self.numbers}

    @classmethod
    def from_json(cls, content: object) -> "CentralPromise":
        """Read what :meth:`to_json` wrote."""
        if not isinstance(content, dict) or set(content) != {*cls.fractions, *cls.numbers}:
            names = ", ".join(sorted({*cls.fractions, *cls.numbers}))
            raise PlanError(f"the central promise of a plan must hold exactly the fields {names}")
        epsilon, delta, helping = (read_fraction(content[name], name) for name in cls.fractions)
        return cls(epsilon, delta, content["reports"], helping, content["delay"])


@dataclass(frozen=True, slots=True)
class Central:
    """What the multiset of all reports allows: (ε, δ)-differential privacy when one person's basket is exchanged.

    ``epsilon`` in nats, rounded up; ``reports`` is the number of people it counts on; ``method`` is ``local`` (nothing
    gained: ln γ), ``closed form``, ``clones`` or ``blanket``.
    """

    epsilon: float
    delta: float
    reports: int
    method: str


def central_guarantee(
    amplification: Fraction, reports: int, delta: float, *, blanket: Fraction | None = None
) -> Central:
    """Return the least ε' that is proved for shuffled reports at a given δ.

    R reports of each person count as R steps of one report each, among ``reports`` people: ask with the γ of one report
    for the δ of :meth:`CentralPromise.of_each`, and multiply ε' by R. Asking once with γ^R and no blanket is valid as
    well, and usually worse. R · N reports are never R · N people.

    Args:
        amplification: γ ≥ 1 of one report.
        reports: N, the people whose reports are shuffled together, one each, without those who help the reader.
        delta: δ in (0, 1); far below 1/N to mean anything.
        blanket: a number that Σ_y min_x p[x → y] is not below, as an operator's or a plan's ``blanket``.

    Raises:
        EstimateError: an argument outside its range.

    >>> central = central_guarantee(Fraction(19), 1_000_000, 1e-9)
    >>> round(central.epsilon, 4), central.method
    (0.0272, 'clones')
    """
    _check(amplification, reports, delta, blanket)
    best = Central(local_epsilon(amplification), delta, reports, "local")
    if amplification == 1 or amplification > _LARGEST_AMPLIFICATION:
        return best
    worst = 2 / (amplification + 1)
    masses = {"clones": worst} | ({"blanket": blanket} if blanket is not None and blanket > worst else {})
    bounds = [(closed_form(amplification, reports, delta), "closed form")]
    bounds += [(_least_epsilon(amplification, reports, delta, mass), name) for name, mass in masses.items()]
    for value, method in bounds:
        if value is not None and value < best.epsilon:
            best = Central(value, delta, reports, method)
    return best


def _check(amplification: Fraction, reports: int, delta: float, blanket: Fraction | None) -> None:
    if amplification < 1:
        raise EstimateError(f"amplification must be 1 or more, got {amplification}")
    if not 1 <= reports <= _MOST_REPORTS:
        raise EstimateError(f"reports must be 1 … {_MOST_REPORTS}, got {reports}")
    if not 1e-100 <= delta < 1:
        raise EstimateError(f"delta must be at least 1e-100 and below 1, got {delta}")
    if blanket is not None and not 0 <= blanket <= 1:
        raise EstimateError(f"blanket must be a probability, got {blanket}; take it from a plan's blanket")


def closed_form(amplification: Fraction, reports: int, delta: float) -> float | None:
    """Return the ε' of FMT21, theorem 3.1, None where it does not hold: γ ≤ N / (16 ln(2/δ)) is needed.

    ε' = ln(1 + (γ−1)/(γ+1) · (8 √(γ ln(4/δ)/N) + 8γ/N)).
    """
    gamma = float(amplification)
    if gamma > reports / (16 * math.log(4 / delta)):  # stricter than needed: 4 for 2, as the authors' program has it
        return None
    share = 8 * math.sqrt(gamma * math.log(4 / delta) / reports) + 8 * gamma / reports
    return math.log1p((gamma - 1) / (gamma + 1) * share) * _UP


def _least_epsilon(amplification: Fraction, reports: int, delta: float, mass: Fraction) -> float | None:
    """Return an ε' whose δ is proved to be at most ``delta``, by bisection; its upper end. None if ln γ is none."""
    low, high = 0.0, local_epsilon(amplification)
    proved = partial(shuffled_delta, amplification=amplification, reports=reports, mass=mass, lost=_LOST * delta)
    if proved(high) > delta or proved(low) <= delta:
        return None if proved(high) > delta else 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high or high - low < 1e-9 * high:
            break
        low, high = (low, middle) if proved(middle) <= delta else (middle, high)
    return high * _UP  # more than what rounding e^ε' to a float can hide


def shuffled_delta(epsilon: float, amplification: Fraction, reports: int, mass: Fraction, lost: float = 1e-30) -> float:
    """Return an upper bound of δ(ε') for a blanket of a given mass, at least 2/(γ+1).

    Cutting off the counts that are unlikely under R_0 costs their probability, ``lost`` for each of three tails at
    most. Within a stratum of C, a − C/2 is a martingale and grows more convex, what is subtracted grows with C: so
    the expectation is largest with the clones of its upper end and the drift of its lower one.
    """
    corner = (1 - mass) / (amplification - 1)
    growth, excess = math.expm1(epsilon), float(amplification - 1)
    kappa = growth / excess
    neutral, cut = _least_count(reports - 1, float(mass - 2 * corner), lost)
    lows, highs, masses, more_cut = _strata(reports, float(2 * corner), lost)
    drift = (growth / 2 + kappa) * lows + kappa * neutral
    parts = _mean_excess(highs, drift / (2 + growth))
    expected = float(np.sum(masses * parts)) * excess * (2 + growth) / reports
    return expected * (1 + _SLACK) + cut + more_cut


def _mean_excess(draws: NDArray[np.float64], over: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return E[(a − C/2 − x)_+], a ~ Bin(C, 1/2), rounded up: t·P[a = t]/2 − x·P[a ≥ t], t the least a above C/2 + x.

    ``draws`` are C and ``over`` x ≥ 0, shape (strata,).
    """
    from scipy.stats import binom

    least = np.floor(draws / 2 + over) + 1
    possible = least <= draws
    some = np.where(possible, least, 0.0)
    point = binom.pmf(some, draws, 0.5) * (1 + _SLACK)
    tail = binom.sf(some - 1, draws, 0.5) * (1 - _SLACK)
    return np.where(possible, np.maximum(some * point / 2 - over * tail, 0.0), 0.0)


def _least_count(draws: int, probability: float, lost: float) -> tuple[int, float]:
    """Return a count that Bin(draws, probability) is below with probability ``lost`` at most, and what is lost."""
    mean = draws * probability
    # Chernoff: P[X ≤ μ − √(2 μ ln(1/lost))] ≤ lost
    count = math.ceil(mean - math.sqrt(2 * mean * math.log(1 / lost)))
    return (count, lost) if count > 0 else (0, 0.0)


def _strata(
    reports: int, probability: float, lost: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]:
    """Divide the likely values of C ~ Bin(N, probability): first and last values, their probabilities, what is lost.

    Under R_0 C is Bin(N − 1, probability) or one more.
    """
    from scipy.stats import binom

    first, cut = _least_count(reports - 1, probability, lost)
    mean, logarithm = (reports - 1) * probability, math.log(1 / lost)
    last = math.ceil(mean + math.sqrt(2 * mean * logarithm) + logarithm)  # Bernstein
    last, cut = (last, cut + lost) if last < reports else (reports, cut)
    step = -(-(last - first + 1) // _STRATA)
    lows = np.arange(first, last + 1, step, dtype=np.float64)
    highs = np.minimum(lows + step - 1, last)
    below = binom.cdf(highs, reports, probability) - binom.cdf(lows - 1, reports, probability)
    above = binom.sf(lows - 1, reports, probability) - binom.sf(highs, reports, probability)
    apart = np.where(highs < mean, below, above)  # the difference of the smaller ones keeps its digits
    masses = binom.pmf(lows, reports, probability) if step == 1 else apart
    return lows, highs, masses, cut
