"""A plan's central guarantee, proved again from docs/formats and the privacy blanket alone.

γ is the largest γ of the report types, and λ the mean of their blankets. For a response that shows j of the
transaction's items, P[t → y] is w_j times its probability under pure noise, so the smallest w_j is the mass of a
blanket. Let batches hold N reports of people who do not collude with the reader. Each of these reports is a draw from
the blanket with probability λ. With q = (1 − λ)/(γ − 1) and κ = (e^ε − 1)/(γ − 1)

    δ(ε) ≤ (γ − 1)/N · E[(a − e^ε (C − a) − κ (C + c))_+],   a ~ Bin(C, ½), C ~ Bin(N, 2q), c ~ Bin(N − C, …)

as guarantees/shuffle_model.py derives. This module sums over every C by itself and takes tails of a from the incomplete
beta function. It spends 1/1000 of δ on a small c, and the same on each tail of C.

Source: Balle, Bell, Gascón, Nissim, The Privacy Blanket of the Shuffle Model, CRYPTO 2019.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from assocpriv.auditing.recompute_reports import Form, SelectASize, Sets

_LOST = 1e-3  # share of δ for each of three tails
_ERRORS = 1e-6  # relative error of floats


@dataclass(frozen=True, slots=True)
class CentralNumbers:
    """The numbers of a central guarantee; a share ``colluding`` of a batch colludes with the reader."""

    epsilon: Fraction
    delta: Fraction
    colluding: Fraction
    reports: int

    @property
    def people(self) -> int:
        """N, the number of reports of people who do not collude."""
        return math.floor(self.reports * (1 - self.colluding))


def blanket(form: Form) -> Fraction:
    """Return the smallest ratio of a response's likelihood to that of pure noise.

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
    """Return the mean blanket of report types, weighted by their shares."""
    return sum((share * blanket(form) for share, form in forms), Fraction(0))


def proves(central: CentralNumbers, gamma: Fraction, mass: Fraction, reports_per_person: int) -> bool:
    """Return whether a plan of this γ and blanket keeps a central guarantee for all R reports of a person."""
    composed, epsilon = gamma**reports_per_person, float(central.epsilon)
    if composed.numerator <= math.exp(epsilon) * (1 - _ERRORS) * composed.denominator:
        return True
    each = epsilon / reports_per_person * (1 - _ERRORS)
    # replacing R reports one after the other costs δ' (1 + e^ε' + … + e^((R−1)ε'))
    share = 1.0 if reports_per_person == 1 else math.expm1(each) / math.expm1(epsilon)
    allowed, clones = float(central.delta) * share, 2 / (gamma + 1)
    masses = {clones, max(mass, clones)}
    return any(delta_of(each, gamma, known, central.people, allowed) <= allowed for known in masses)


def delta_of(epsilon: float, gamma: Fraction, mass: Fraction, people: int, delta: float) -> float:
    """Return an upper bound for δ(ε); ``delta``, the allowed value, sets the share that tails may cost."""
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
