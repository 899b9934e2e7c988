"""A plan's central promise proved anew, by docs/formats and the privacy blanket alone.

From the integers of the questions come γ, the largest of theirs, and λ, the mean of their blankets: of an answer that
shows j of the transaction's items P[t → y] is w_j times its chance under pure noise, so the least w_j is a blanket's
mass. Where batches hold N reports of people who do not help the reader, of which each is a draw from the blanket with
probability λ, with q = (1 − λ)/(γ − 1) and κ = (e^ε − 1)/(γ − 1)

    δ(ε) ≤ (γ − 1)/N · E[(a − e^ε (C − a) − κ (C + c))_+],   a ~ Bin(C, ½), C ~ Bin(N, 2q), c ~ Bin(N − C, …)

as promise/shuffling.py derives. Here every C is summed over by itself, tails of a by the incomplete beta function; that
c may be small is paid for with 1/1000 of δ, and so is each end of C.

Source: Balle, Bell, Gascón, Nissim, The Privacy Blanket of the Shuffle Model, CRYPTO 2019.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from assocpriv.auditing.recompute_reports import Form, SelectASize, Sets

_LOST = 1e-3  # of δ, for each of three tails
_ERRORS = 1e-6  # relative, of floats


@dataclass(frozen=True, slots=True)
class CentralNumbers:
    """A central promise's numbers: of a batch of ``reports`` the share ``helping`` helps the reader."""

    epsilon: Fraction
    delta: Fraction
    helping: Fraction
    reports: int

    @property
    def people(self) -> int:
        """The reports that are left to hide among."""
        return math.floor(self.reports * (1 - self.helping))


def blanket(form: Form) -> Fraction:
    """Return the least likelihood of an answer over that of pure noise.

    >>> from assocpriv.auditing.recompute_reports import Bits
    >>> blanket(Bits(1, 3, (4, 12), 1, 2, 4))
    Fraction(1, 3)
    """
    if isinstance(form, Sets):
        noise = math.comb(form.items, form.report_size)
        return min(Fraction(form.weights[j] * noise, form.total) for j in form.possible)
    assert isinstance(form, SelectASize)
    rho, m = form.default_probability, form.size
    return min(Fraction(form.weights[j], form.total) / (rho**j * (1 - rho) ** (m - j)) for j in form.possible)


def mean_blanket(forms: Iterable[tuple[Fraction, Form]]) -> Fraction:
    """Return the mean blanket of questions by their shares."""
    return sum((share * blanket(form) for share, form in forms), Fraction(0))


def proved(central: CentralNumbers, gamma: Fraction, mass: Fraction, reports_per_person: int) -> bool:
    """Tell whether a plan of this γ and blanket keeps a central promise, of all R reports of a person."""
    composed, epsilon = gamma**reports_per_person, float(central.epsilon)
    if composed.numerator <= math.exp(epsilon) * (1 - _ERRORS) * composed.denominator:
        return True
    each = epsilon / reports_per_person * (1 - _ERRORS)
    # exchanging R reports one after the other: δ' (1 + e^ε' + … + e^((R−1)ε'))
    share = 1.0 if reports_per_person == 1 else math.expm1(each) / math.expm1(epsilon)
    allowed, clones = float(central.delta) * share, 2 / (gamma + 1)
    masses = {clones, max(mass, clones)}
    return any(delta_of(each, gamma, known, central.people, allowed) <= allowed for known in masses)


def delta_of(epsilon: float, gamma: Fraction, mass: Fraction, people: int, delta: float) -> float:
    """Return a bound for δ(ε); ``delta`` is what is allowed, for what tails may cost."""
    from scipy.special import betainc
    from scipy.stats import binom

    corner, growth, excess = (1 - mass) / (gamma - 1), math.exp(epsilon), float(gamma - 1)
    kappa, lost = math.expm1(epsilon) / excess, _LOST * delta
    neutral = int(binom.ppf(lost, people - 1, float(mass - 2 * corner)))
    clones = float(2 * corner)
    first, last = int(binom.ppf(lost, people - 1, clones)), int(binom.isf(lost, people - 1, clones)) + 2
    counts = np.arange(first, min(last, people) + 1, dtype=np.float64)
    # (1 + e^ε) (a − over)_+, and E[(a − over)_+] = C/2 P[a' ≥ t − 1] − over P[a ≥ t] with a' ~ Bin(C − 1, ½), t > over
    over = (growth * counts + kappa * (counts + neutral)) / (1 + growth)
    least = np.floor(over) + 1
    possible = least <= counts
    t, c = np.where(possible, least, 1.0), np.where(possible, counts, 1.0)
    above = betainc(t, c - t + 1, 0.5)
    before = np.where(t > 1, betainc(np.maximum(t - 1, 1), np.maximum(c - t + 1, 1), 0.5), 1.0)
    parts = np.where(possible, np.maximum(c / 2 * before * (1 + _ERRORS) - over * above * (1 - _ERRORS), 0), 0.0)
    expected = float(binom.pmf(counts, people, clones) @ parts)
    return expected * excess * (1 + growth) / people * (1 + _ERRORS) + 3 * lost
