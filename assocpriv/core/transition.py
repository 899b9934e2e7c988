"""Exact probabilities of what select-a-size does to the k items of one itemset.

Symbols: m transaction size, ρ default probability, p[j] probability of keeping j items, A an itemset of k
items, l the number of items of A in the transaction, l' the number in the report.

    π_i = Σ_j p[j] C(m−i, j−i) / C(m, j)        probability that i given items of the transaction are all kept
    P[l',l] = Σ_j p[j] Σ_q C(l,q) C(m−l,j−q)/C(m,j) · C(k−l,l'−q) ρ^(l'−q) (1−ρ)^(k−l−l'+q)

With x_i ∈ {0,1} telling whether item i is in the report, items outside the transaction have E[x_i − ρ] = 0,
independently of everything else, so for every transaction t

    E[ Π_{i∈A} (x_i − ρ) ] = μ_k · [A ⊆ t],     μ_k = Σ_i C(k,i) (−ρ)^(k−i) π_i

and Z_A = Π_{i∈A} (x_i − ρ) / μ_k estimates [A ⊆ t] without bias. Its values q_l' = (1−ρ)^l' (−ρ)^(k−l') / μ_k
are the last row of P⁻¹: when P is invertible the unbiased linear estimator is unique. P is triangular in the
basis of these products, with diagonal μ_0 … μ_k up to scaling, so P is singular iff one of them is 0.

Source: Evfimievski, Srikant, Agrawal, Gehrke, Privacy Preserving Mining of Association Rules, KDD 2002,
section 4 (P and its inverse); the closed form of the inverse is ours.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Any

from assocpriv.core.errors import EstimateError

if TYPE_CHECKING:
    from assocpriv.core.operator import Operator

# below this, even 10^12 reports leave a standard error above 100%, and doubles lose the estimate
SMALLEST_CONTRAST = Fraction(1, 10**9)


def keep_all_probability(size_distribution: Sequence[Fraction], i: int) -> Fraction:
    """Return π_i, the probability that i given items of the transaction are all kept.

    Args:
        size_distribution: p[j] for j = 0..m.
        i: number of given items, 0..m.

    >>> keep_all_probability([Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)], 1)
    Fraction(5, 8)
    """
    m = len(size_distribution) - 1
    terms = (p * Fraction(comb(m - i, j - i), comb(m, j)) for j, p in enumerate(size_distribution) if j >= i)
    return sum(terms, Fraction(0))


def transition_matrix(operator: "Operator", k: int) -> list[list[Fraction]]:
    """Return P, P[l'][l] = probability that a report holds l' of k items of which the transaction holds l.

    Raises:
        EstimateError: k is not in 1..m.
    """
    _check_size(operator, k)
    return [[_transition(operator, k, to, held) for held in range(k + 1)] for to in range(k + 1)]


def _transition(operator: "Operator", k: int, to: int, held: int) -> Fraction:
    m, rho, total = operator.size, operator.default_probability, Fraction(0)
    for j, p in enumerate(operator.size_distribution):
        for q in range(max(0, j + held - m, held + to - k), min(j, held, to) + 1):
            kept = Fraction(comb(held, q) * comb(m - held, j - q), comb(m, j))
            inserted = comb(k - held, to - q) * rho ** (to - q) * (1 - rho) ** (k - held - to + q)
            total += p * kept * inserted
    return total


def contrast(operator: "Operator", k: int) -> Fraction:
    """Return μ_k, the mean of Π (x_i − ρ) over k items that the transaction holds.

    Raises:
        EstimateError: k is not in 1..m, or μ_k is too near 0 for anything to be learned (P is singular or
            ill-conditioned).
    """
    _check_size(operator, k)
    rho, p = operator.default_probability, operator.size_distribution
    mu = sum((comb(k, i) * (-rho) ** (k - i) * keep_all_probability(p, i) for i in range(k + 1)), Fraction(0))
    if abs(mu) < SMALLEST_CONTRAST:
        raise EstimateError(
            f"this plan's operator says nothing about itemsets of {k} items (its transition matrix is singular "
            "or ill-conditioned); make a plan for that size with --itemset-size or --target"
        )
    return mu


def estimator_row(operator: "Operator", k: int) -> list[Fraction]:
    """Return q, the last row of P⁻¹: the estimated support is Σ q[l'] s'[l'] (see the module's text)."""
    rho, mu = operator.default_probability, contrast(operator, k)
    return [(1 - rho) ** to * (-rho) ** (k - to) / mu for to in range(k + 1)]


def _check_size(operator: "Operator", k: int) -> None:
    if not 1 <= k <= operator.size:
        raise EstimateError(f"itemset size must be in 1..{operator.size} (the plan's transaction size), got {k}")


def lowest_support(outside: Any, inside: Any, n_reports: int) -> Any:
    """Solve s² = 16/N · ((1−s)·outside + s·inside) for the positive root; arrays work elementwise."""
    scale = 16.0 / n_reports
    half = scale * (inside - outside) / 2
    return half + (half * half + scale * outside) ** 0.5


@dataclass(frozen=True, slots=True)
class SupportModel:
    """What estimation needs of an operator: ρ and μ_1 … μ_m (0 where nothing can be learned).

    With c_D the number of reports that show all of D, the mean over N reports of a product of centred
    presences is a linear combination of superset counts:

        mean Π_{i∈A} (x_i − ρ)^e_i = (1/N) Σ_{D⊆A} c_D Π_{i∈D} d(e_i) Π_{i∈A\\D} (−ρ)^e_i,
        d(e) = (1−ρ)^e − (−ρ)^e
    """

    rho: Fraction
    contrasts: tuple[Fraction, ...]

    @classmethod
    def of(cls, operator: "Operator") -> "SupportModel":
        """Return the model of an operator."""
        contrasts = []
        for k in range(1, operator.size + 1):
            try:
                contrasts.append(contrast(operator, k))
            except EstimateError:
                contrasts.append(Fraction(0))
        return cls(operator.default_probability, tuple(contrasts))

    @classmethod
    def plain(cls, largest: int) -> "SupportModel":
        """Return the model of transactions that were not randomized: supports are counts over N, without error."""
        return cls(Fraction(0), (Fraction(1),) * largest)

    def contrast(self, k: int) -> Fraction:
        """Return μ_k; μ_0 = 1.

        Raises:
            EstimateError: k is above m, or nothing can be learned about itemsets of k items.
        """
        mu = self.contrasts[k - 1] if 0 < k <= len(self.contrasts) else Fraction(int(k == 0))
        if not mu:
            raise EstimateError(f"this plan's reports say nothing about itemsets of {k} items")
        return mu

    def moment_weights(self, *members: Sequence[int]) -> list[Fraction]:
        """Return the weight of every c_D, D by mask, in the mean over reports of Π_s Z_s.

        Args:
            members: for each factor Z_s, 0 or 1 for every item: whether it belongs to s.

        >>> SupportModel(Fraction(1, 2), (Fraction(1, 4),)).moment_weights([1])
        [Fraction(-2, 1), Fraction(4, 1)]
        """
        exponents = [sum(column) for column in zip(*members, strict=True)]
        scale = math.prod((self.contrast(sum(member)) for member in members), start=Fraction(1))
        weights = []
        for mask in range(1 << len(exponents)):
            weight = 1 / scale
            for i, e in enumerate(exponents):
                outside = (-self.rho) ** e
                weight *= (1 - self.rho) ** e - outside if mask >> i & 1 else outside
            weights.append(weight)
        return weights

    def keep_all_probability(self, i: int) -> Fraction:
        """Return π_i = E Π x over i held items = Σ_j C(i,j) ρ^(i−j) μ_j, from the contrasts."""
        terms = (comb(i, j) * self.rho ** (i - j) * (self.contrasts[j - 1] if j else 1) for j in range(i + 1))
        return sum(terms, Fraction(0))

    def second_moment(self, k: int, held: int) -> Fraction:
        """Return E[Z_A² | l of the k items held] = (ρ(1−ρ))^(k−l) Σ_i C(l,i) ρ^(2(l−i)) (1−2ρ)^i π_i / μ_k².

        Raises:
            EstimateError: nothing can be learned about itemsets of k items.
        """
        rho = self.rho
        inside = sum(
            (
                comb(held, i) * rho ** (2 * (held - i)) * (1 - 2 * rho) ** i * self.keep_all_probability(i)
                for i in range(held + 1)
            ),
            Fraction(0),
        )
        return (rho * (1 - rho)) ** (k - held) * inside / self.contrast(k) ** 2

    def least_variance(self, k: int, support: Any) -> Any:
        """Return a lower bound of N·Var ŝ at support s, whatever else the transactions hold; arrays work elementwise.

        A transaction without A holds some l < k of its items: (1−s)·min_l E[Z²|l] + s·(E[Z²|k] − 1).

        Raises:
            EstimateError: nothing can be learned about itemsets of k items.
        """
        without = min(self.second_moment(k, held) for held in range(k))
        return (1 - support) * float(without) + support * float(self.second_moment(k, k) - 1)

    def std_error(self, k: int, support: float, n_reports: int) -> float:
        """Return σ_k(s), the standard error at support s when no other transaction holds an item of A.

        This is the best case: who holds some of the items adds to it where ρ < 1/2. Infinite where nothing can be
        learned about itemsets of k items.
        """
        try:
            outside, inside = self.second_moment(k, 0), self.second_moment(k, k) - 1
        except EstimateError:
            return math.inf
        return math.sqrt(((1 - support) * float(outside) + support * float(inside)) / n_reports)

    def lowest_discoverable_support(self, k: int, n_reports: int) -> float:
        """Return LDS_k: the support s with s = 4σ_k(s).

        May exceed 1 or be infinite: then nothing of this size can be discovered from N reports.

        Source: EGS03, section 5.
        """
        try:
            outside, inside = self.second_moment(k, 0), self.second_moment(k, k) - 1
        except EstimateError:
            return math.inf
        return float(lowest_support(float(outside), float(inside), n_reports))
