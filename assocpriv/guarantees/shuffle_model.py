"""The central (ε, δ) guarantee of shuffled reports (shuffle model of differential privacy).

It comes on top of a plan's local guarantee and needs one more assumption: **a trusted shuffler** (docs/privacy.md)
forwards one report of each of N people as a multiset without senders. Exchanging one person's basket then changes the
multiset's distribution by an (ε', δ) with ε' far below ε = ln γ. Colluding users do not count towards N.

The bound. Write R_x(y) for the probability of report y under basket x, and μ(y) = min_x R_x(y), a measure of mass λ,
the blanket. Each of the other people sends a draw from μ/λ with probability λ, whatever the basket. Revealing who does
not can only help the reader, and leaves

    δ(ε') ≤ E[(X_1 + … + X_N)_+] / N,   X_i = (R_0 − e^ε' R_1)(Y_i)/μ(Y_i) with probability λ, else 0,   Y_i ~ μ/λ.

R_0/μ and R_1/μ lie in [1, γ] and have mean 1/λ. The function x ↦ (s + x)_+ is convex. So the worst of these
distributions puts q = (1−λ)/(γ−1) on each of the corners (γ, 1) and (1, γ) and the rest of λ on (1, 1), for
λ ≥ 2/(γ+1). Its spread is largest at λ = 2/(γ+1). So λ = 2/(γ+1) is valid for every γ-amplifying randomizer: each of
N − 1 people is a clone with probability 2/(γ+1), of either basket with probability 1/2. That is the pair
(A + Δ, C − A + 1 − Δ) of the clones papers, with the clones of the second. A known blanket λ > 2/(γ+1) gives a
smaller ε'.

The sum depends on three counts: a and b of the corners, c of the rest. With κ = (e^ε' − 1)/(γ − 1)

    Σ X_i = (γ − 1) · (a − e^ε' b − κ (a + b + c)),   a ~ Bin(C, 1/2) given C = a + b ~ Bin(N, 2q).

Sources: Feldman, McMillan, Talwar, Hiding Among the Clones, FOCS 2021 (theorem 3.1), and Stronger Privacy Amplification
by Shuffling, SODA 2023; Balle, Bell, Gascón, Nissim, The Privacy Blanket of the Shuffle Model, CRYPTO 2019.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assocpriv.guarantees.amplification import (
    LARGEST_DENOMINATOR,
    amplification_from_epsilon,
    epsilon_from_amplification,
    format_fraction,
    read_fraction,
)
from assocpriv.guarantees.errors import PlanError, pluralize

_MOST_REPORTS = 10**12
_LARGEST_AMPLIFICATION = 10**12  # beyond it shuffling even the most reports gains nothing, and floats lose precision
_STRATA = 512  # of the number of clones; a finer division changes ε' in the fifth digit
_LOST = 1e-3  # share of δ given to each of two tails that are cut off
_POINTS = np.array([-1e9, *range(-9, 10), 1e9])[:, None]  # of a chord over c, in standard deviations from its mean
_SLACK = 1e-7  # relative; scipy's binomial is correct to half of it even for 10^9 draws (a test compares)
_HALVINGS = 60
_UP = 1 + 1e-12
_MOST_EPSILON = 100  # a larger ε protects nothing
_MOST_DELAY = 7 * 86400  # seconds
_STEPS = 20  # binary digits of a blanket, in the search for it


@dataclass(frozen=True, slots=True)
class CentralGuarantee:
    """A central (ε, δ) guarantee: (ε, δ)-differential privacy of each closed batch of anonymous reports.

    Exchanging one person's basket changes the distribution of that person's reports in a batch by at most (ε, δ),
    whatever the reader's background knowledge. This holds as long as the relay, which knows the senders, and the
    collector, which knows the contents, do not collude.

    Attributes:
        epsilon: ε in nats, above 0, at most 100.
        delta: δ above 0 and below 1/``reports``; a larger δ would permit publishing one person's basket.
        reports: the minimum batch size in reports, 1..10^12.
        colluding: the share of these reports whose senders may collude with the reader, above 0 and below 1.
        delay: seconds within which a device draws the moment of sending, 1..604800.

    Raises:
        PlanError: a value is outside its range.

    >>> CentralGuarantee(Fraction(1), Fraction(1, 10**8), 100_000).people
    90000
    """

    epsilon: Fraction
    delta: Fraction
    reports: int
    colluding: Fraction = Fraction(1, 10)
    delay: int = 3600

    fractions: ClassVar = ("epsilon", "delta", "colluding")
    numbers: ClassVar = {"reports": _MOST_REPORTS, "delay": _MOST_DELAY}

    def __post_init__(self) -> None:
        for name, most in self.numbers.items():
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= most:
                raise PlanError(f"plan field {name} of a central guarantee must be a whole number in 1..{most}")
        if any(getattr(self, name).denominator > LARGEST_DENOMINATOR for name in self.fractions):
            raise PlanError("numbers of a central guarantee must be fractions with a denominator of at most 10^24")
        if not 0 < self.epsilon <= _MOST_EPSILON:
            raise PlanError(
                f"a central guarantee needs an epsilon above 0, at most {_MOST_EPSILON}, got "
                f"{float(self.epsilon):.3g}; a typical value is 1"
            )
        if not 0 < self.delta * self.reports < 1:
            raise PlanError(
                f"a central guarantee of {self.reports:,} reports needs a delta above 0 and below 1/reports, got "
                f"{float(self.delta):.3g}: a larger one would permit publishing one person's basket; a typical value "
                "is 1e-8"
            )
        if not 0 < self.colluding < 1:
            raise PlanError("a central guarantee needs a share of colluding people, above 0 and below 1")
        if not self.people:
            raise PlanError(
                f"{pluralize(self.reports, 'report')} cannot have a central guarantee: none is left without the share "
                "of colluding people; give a larger minimum batch size, as reports=100000"
            )

    @property
    def people(self) -> int:
        """The number of reports that it is proved for: those of a batch without the colluding ones, rounded down."""
        return math.floor(self.reports * (1 - self.colluding))

    def limits_per_report(self, reports_per_person: int) -> tuple[float, float]:
        """Return the (ε', δ') that each of one person's R reports must keep, rounded down.

        A batch may hold all R. Exchanging them in turn is R steps, each of one report among ``people``, so
        P_0 ≤ e^ε' P_1 + δ' ≤ … gives ε = Rε' and δ = δ'(1 + e^ε' + … + e^((R−1)ε')). In several batches it is less.

        Args:
            reports_per_person: R, 1 or more.

        Returns:
            ε' in nats and δ', a probability.

        >>> [f"{each:.3g}" for each in CentralGuarantee(Fraction(1), Fraction(1, 10**8), 100_000).limits_per_report(2)]
        ['0.5', '3.78e-09']
        """
        each = float(self.epsilon / reports_per_person) / _UP
        sums = 1.0 if reports_per_person == 1 else math.expm1(float(self.epsilon)) / math.expm1(each)
        return each, float(self.delta) / sums / _UP

    def holds(self, amplification: Fraction, blanket: Fraction, reports_per_person: int = 1) -> bool:
        """Return whether it is proved for reports of this γ and blanket; floats are rounded to the safe side.

        Args:
            amplification: γ of one report, 1 or more.
            blanket: lower bound λ of Σ_y min_x P[x → y], in 0..1.
            reports_per_person: R, the number of reports of one person, 1 or more.

        Returns:
            True if it is proved; False if it is not, which is no proof of the contrary.

        >>> guarantee = CentralGuarantee(Fraction(1), Fraction(1, 10**8), 100_000)
        >>> guarantee.holds(Fraction(19), Fraction(1, 10)), guarantee.holds(Fraction(19**3), Fraction(1, 10))
        (True, False)
        """
        if amplification**reports_per_person <= amplification_from_epsilon(self.epsilon):  # γ alone suffices
            return True
        return amplification <= _LARGEST_AMPLIFICATION and self._is_proved(amplification, blanket, reports_per_person)

    def _is_proved(self, amplification: Fraction, blanket: Fraction, reports_per_person: int) -> bool:
        (epsilon, delta), clones = self.limits_per_report(reports_per_person), 2 / (amplification + 1)
        return any(
            shuffled_delta(epsilon, amplification, self.people, mass, _LOST * delta) <= delta
            for mass in sorted({clones, max(blanket, clones)})
        )

    def least_blanket(self, amplification: Fraction, reports_per_person: int = 1) -> Fraction | None:
        """Return nearly the smallest blanket for which it is proved at this γ: 0 if any suffices, None if none does.

        Args:
            amplification: γ of one report, 1 or more.
            reports_per_person: R, the number of reports of one person, 1 or more.

        Returns:
            A blanket in 0..1 for which :meth:`holds` is true, or None.

        >>> guarantee = CentralGuarantee(Fraction(1), Fraction(1, 10**8), 100_000)
        >>> [round(float(guarantee.least_blanket(Fraction(gamma))), 2) for gamma in (19, 2980)]
        [0.0, 0.43]
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
        """Return the guarantee as JSON content.

        Returns:
            The fields: ``epsilon``, ``delta`` and ``colluding`` as exact text, ``reports`` and ``delay`` as whole
            numbers.
        """
        written = {name: format_fraction(getattr(self, name)) for name in self.fractions}
        return written | {name: getattr(self, name) for name in self.numbers}

    @classmethod
    def from_json(cls, content: object) -> "CentralGuarantee":
        """Read what :meth:`to_json` wrote.

        Args:
            content: JSON content, an object with all fields of the guarantee.

        Returns:
            The guarantee, checked.

        Raises:
            PlanError: content of another form, or a value outside its range.
        """
        if not isinstance(content, dict) or set(content) != {*cls.fractions, *cls.numbers}:
            names = ", ".join(sorted({*cls.fractions, *cls.numbers}))
            raise PlanError(f"a plan's central guarantee must have exactly the fields {names}")
        epsilon, delta, colluding = (read_fraction(content[name], name) for name in cls.fractions)
        return cls(epsilon, delta, content["reports"], colluding, content["delay"])


def compose_central(guarantees: Iterable[CentralGuarantee | None]) -> tuple[Fraction, Fraction] | None:
    """Return (ε, δ) of one person's reports in batches of several plans together, by basic composition.

    Args:
        guarantees: of each plan, for all of the person's reports; None where it has none.

    Returns:
        The sums of ε and of δ; None if a plan has no central guarantee.

    Source: Dwork, Roth, The Algorithmic Foundations of Differential Privacy (2014), theorem 3.16 and appendix B.
    """
    known = list(guarantees)
    stated = [each for each in known if each is not None]
    if len(stated) < len(known):
        return None
    return sum((each.epsilon for each in stated), Fraction(0)), sum((each.delta for each in stated), Fraction(0))


@dataclass(frozen=True, slots=True)
class CentralBound:
    """The (ε, δ) proved for shuffled reports when one person's basket is exchanged.

    ``epsilon`` is in nats, rounded up; ``reports`` is the assumed number of people; ``method`` is ``local`` (ln γ: the
    shuffling gains nothing), ``closed form``, ``clones`` or ``blanket``.
    """

    epsilon: float
    delta: float
    reports: int
    method: str


def central_guarantee(
    amplification: Fraction, reports: int, delta: float, *, blanket: Fraction | None = None
) -> CentralBound:
    """Return the smallest ε' that is proved for shuffled reports at a given δ.

    R reports of each person count as R steps of one report each, among ``reports`` people: give the γ of one report
    and the δ of :meth:`CentralGuarantee.limits_per_report`, and multiply ε' by R. Giving γ^R and no blanket is valid as
    well, and usually worse. R · N reports never count as R · N people.

    Args:
        amplification: γ ≥ 1 of one report.
        reports: N, the people whose reports are shuffled together, one each, without colluding ones.
        delta: δ in (0, 1); it should be far below 1/N.
        blanket: a lower bound of Σ_y min_x p[x → y], such as an operator's or a plan's ``blanket``.

    >>> central = central_guarantee(Fraction(19), 1_000_000, 1e-9)
    >>> round(central.epsilon, 4), central.method
    (0.0272, 'clones')
    """
    best = CentralBound(epsilon_from_amplification(amplification), delta, reports, "local")
    if amplification == 1 or amplification > _LARGEST_AMPLIFICATION:
        return best
    worst = 2 / (amplification + 1)
    masses = {"clones": worst} | ({"blanket": blanket} if blanket is not None and blanket > worst else {})
    bounds = [(closed_form(amplification, reports, delta), "closed form")]
    bounds += [(_least_epsilon(amplification, reports, delta, mass), name) for name, mass in masses.items()]
    for value, method in bounds:
        if value is not None and value < best.epsilon:
            best = CentralBound(value, delta, reports, method)
    return best


def closed_form(amplification: Fraction, reports: int, delta: float) -> float | None:
    """Return the ε' of FMT21, theorem 3.1, or None if its condition γ ≤ N / (16 ln(2/δ)) fails.

    ε' = ln(1 + (γ−1)/(γ+1) · (8 √(γ ln(4/δ)/N) + 8γ/N)).
    """
    gamma = float(amplification)
    if gamma > reports / (16 * math.log(4 / delta)):  # stricter than needed: 4 for 2, as in the authors' program
        return None
    share = 8 * math.sqrt(gamma * math.log(4 / delta) / reports) + 8 * gamma / reports
    return math.log1p((gamma - 1) / (gamma + 1) * share) * _UP


def _least_epsilon(amplification: Fraction, reports: int, delta: float, mass: Fraction) -> float | None:
    """Return an ε' whose δ is proved to be at most ``delta``, the upper end of a bisection; None if ln γ fails."""
    low, high = 0.0, epsilon_from_amplification(amplification)
    proved = partial(shuffled_delta, amplification=amplification, reports=reports, mass=mass, lost=_LOST * delta)
    if proved(high) > delta or proved(low) <= delta:
        return None if proved(high) > delta else 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high or high - low < 1e-9 * high:
            break
        low, high = (low, middle) if proved(middle) <= delta else (middle, high)
    return high * _UP  # more than the rounding error of e^ε'


@lru_cache(maxsize=1024)  # milliseconds each, and a planner asks for the same one again
def shuffled_delta(epsilon: float, amplification: Fraction, reports: int, mass: Fraction, lost: float = 1e-30) -> float:
    """Return an upper bound of δ(ε') for a blanket of a given mass, at least 2/(γ+1).

    Cutting off C that are unlikely under R_0 costs their probability, at most ``lost`` for each of two tails. Within a
    stratum of C, a − C/2 is a martingale, so expectations of its convex functions grow with C. The subtracted term
    grows with C, too. So the expectation is at most that with the clones of the stratum's upper end and the drift of
    its lower end. Given C, c ~ Bin(N − C, (λ − 2q)/(1 − 2q)) falls with C, and the excess is convex and falls with c.
    So its mean is at most that of a chord over c, for the C of the stratum's upper end.
    """
    corner = (1 - mass) / (amplification - 1)
    growth, excess = math.expm1(epsilon), float(amplification - 1)
    kappa = growth / excess
    lows, highs, masses, cut = _strata(reports, float(2 * corner), lost)
    neutral, weights = _chord(reports - highs, float((mass - 2 * corner) / (1 - 2 * corner)))
    drift = (growth / 2 + kappa) * lows + kappa * neutral
    parts = _mean_excess(np.broadcast_to(highs, drift.shape), drift / (2 + growth))
    expected = float(np.sum(masses * weights * parts)) * excess * (2 + growth) / reports
    return expected * (1 + 2 * _SLACK) + cut


def _chord(draws: NDArray[np.float64], probability: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points and weights (points, strata) with E f(c) ≤ Σ weights · f(points) for convex and falling f ≥ 0.

    ``draws`` are n of shape (strata,), and c ~ Bin(n, probability). Between two points f lies below its chord, whose
    mean follows from E[c; l < c ≤ h] = n p P[l ≤ Bin(n − 1, p) < h]. Rounding moves weight to the lower point.
    """
    from scipy.stats import binom

    if not probability:
        return np.zeros((1, len(draws))), np.ones((1, len(draws)))

    def between(ends: NDArray[np.float64], draws: NDArray[np.float64]) -> NDArray[np.float64]:
        below, above = np.diff(binom.cdf(ends, draws, probability), axis=0), binom.sf(ends, draws, probability)
        return np.where(ends[1:] < draws * probability, below, -np.diff(above, axis=0))  # the smaller keep more digits

    mean = draws * probability
    points = np.clip(np.round(mean + np.sqrt(mean * (1 - probability)) * _POINTS), 0, draws)
    inside, lengths = between(points, draws), np.maximum(np.diff(points, axis=0), 1)
    moments = mean * between(points - 1, np.maximum(draws - 1, 0))
    shares = (moments - points[:-1] * inside - _SLACK * points[1:] * inside) / lengths
    upper = np.clip(shares, 0, inside)
    weights = np.concatenate([binom.cdf(points[:1], draws, probability), upper])
    weights[:-1] += inside - upper
    return points, weights


def _mean_excess(draws: NDArray[np.float64], over: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return E[(a − C/2 − x)_+], a ~ Bin(C, 1/2), rounded up: t·P[a = t]/2 − x·P[a ≥ t], t the smallest a > C/2 + x.

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
    """Return a count that Bin(draws, probability) is below with probability at most ``lost``, and that probability."""
    mean = draws * probability
    # Chernoff: P[X ≤ μ − √(2 μ ln(1/lost))] ≤ lost
    count = math.ceil(mean - math.sqrt(2 * mean * math.log(1 / lost)))
    return (count, lost) if count > 0 else (0, 0.0)


def _strata(
    reports: int, probability: float, lost: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]:
    """Divide the likely values of C ~ Bin(N, probability) into strata.

    Returns the first and last values and probabilities of the strata, and the probability of the values left out. Under
    R_0, C is Bin(N − 1, probability) or one more.
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
    differences = np.where(highs < mean, below, above)  # the smaller tails keep more digits
    masses = binom.pmf(lows, reports, probability) if step == 1 else differences
    return lows, highs, masses, cut
