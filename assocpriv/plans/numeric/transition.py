"""An operator's exact transition matrix for the k items of one itemset, and the estimator that inverts it.

Symbols: m transaction size, ρ default probability, p[j] probability of keeping j items, A an itemset of k
items, l the number of items of A in the transaction, l' the number in the report.

    π_i = Σ_j p[j] C(m−i, j−i) / C(m, j)        probability that i given items of the transaction are all kept
    P[l',l] = Σ_j p[j] Σ_q C(l,q) C(m−l,j−q)/C(m,j) · I_j(k−l, l'−q)
    I_j(o, x) = C(o,x) ρ^x (1−ρ)^(o−x)          x of o items outside the transaction shown: independent insertion
              = C(o,x) C(n−m−o, ℓ−j−x) / C(n−m, ℓ−j)           reports of exactly ℓ of n items

With the last row q of P⁻¹, Z_A = q[l'] is the unbiased estimate of [A ⊆ t] from one report: Σ_l' q[l'] P[l',l] = [l =
k]. If P is invertible, it is the only unbiased estimate that is a function of l'.

With independent insertion q has a closed form. Let x_i ∈ {0,1} say whether item i is in the report. Items outside the
transaction have E[x_i − ρ] = 0, independently of everything else, so for every transaction t

    E[ Π_{i∈A} (x_i − ρ) ] = μ_k · [A ⊆ t],     μ_k = Σ_i C(k,i) (−ρ)^(k−i) π_i

and Z_A = Π_{i∈A} (x_i − ρ) / μ_k, that is q[l'] = (1−ρ)^l' (−ρ)^(k−l') / μ_k. P is triangular in the basis of these
products, with diagonal μ_0 … μ_k up to scaling, so P is singular iff one of them is 0.

Source: Evfimievski, Srikant, Agrawal, Gehrke, Privacy Preserving Mining of Association Rules, KDD 2002,
section 4 (P and its inverse); the closed form of the inverse and reports of a fixed size are ours.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Any

from assocpriv.guarantees.errors import EstimateError
from assocpriv.plans.baskets.operator import AnyOperator, Operator

# below this, even 10^12 reports have a standard error above 100%, and doubles lose the estimate
SMALLEST_CONTRAST = Fraction(1, 10**9)
ERRORS_OF_ONE = 4.0  # standard errors from 0 at which EGS03 calls one itemset detectable


def _keep_all_probability(p: Sequence[Fraction], i: int) -> Fraction:
    """Return π_i."""
    m = len(p) - 1
    return sum((p[j] * Fraction(comb(m - i, j - i), comb(m, j)) for j in range(i, m + 1)), Fraction(0))


def transition_matrix(operator: AnyOperator, k: int) -> list[list[Fraction]]:
    """Return P, P[l'][l] = probability that a report has l' of k items if the transaction has l of them.

    Raises:
        EstimateError: k is not in 1..m.
    """
    _check_size(operator, k)
    return [list(row) for row in _transition_rows(operator, k)]


@lru_cache(maxsize=256)
def _transition_rows(operator: AnyOperator, k: int) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(_transition(operator, k, to, held) for held in range(k + 1)) for to in range(k + 1))


def _transition(operator: AnyOperator, k: int, to: int, held: int) -> Fraction:
    m, total = operator.size, Fraction(0)
    for j, p in enumerate(operator.size_distribution):
        for q in range(max(0, j + held - m, held + to - k), min(j, held, to) + 1):
            kept = Fraction(comb(held, q) * comb(m - held, j - q), comb(m, j))
            total += p * kept * operator.insertion(j, k - held, to - q)
    return total


def _uninformative(k: int) -> EstimateError:
    return EstimateError(
        f"this plan's operator carries no information about itemsets of {k} items (its transition matrix is singular "
        "or ill-conditioned); make a plan for this size, with a larger itemset_size"
    )


@lru_cache(maxsize=256)
def estimator_row(operator: AnyOperator, k: int) -> tuple[Fraction, ...]:
    """Return q, the last row of P⁻¹: the estimated support is Σ q[l'] s'[l'] (see the module's docstring).

    Raises:
        EstimateError: k is not in 1..m, or the operator carries no information about itemsets of k items.
    """
    _check_size(operator, k)
    if isinstance(operator, Operator):
        rho, p = operator.default_probability, operator.size_distribution
        mu = sum((comb(k, i) * (-rho) ** (k - i) * _keep_all_probability(p, i) for i in range(k + 1)), Fraction(0))
        if abs(mu) < SMALLEST_CONTRAST:
            raise _uninformative(k)
        return tuple((1 - rho) ** to * (-rho) ** (k - to) / mu for to in range(k + 1))
    return _last_row_of_inverse(transition_matrix(operator, k))


def _last_row_of_inverse(matrix: list[list[Fraction]]) -> tuple[Fraction, ...]:
    """Solve Σ_l' q[l'] P[l'][l] = [l = k] by Gauss–Jordan elimination."""
    k = len(matrix) - 1
    rows = [[matrix[to][held] for to in range(k + 1)] + [Fraction(int(held == k))] for held in range(k + 1)]
    for column in range(k + 1):
        pivot = max(range(column, k + 1), key=lambda i: abs(rows[i][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        if not rows[column][column]:
            raise _uninformative(k)
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for other in range(k + 1):
            factor = rows[other][column]
            if other != column and factor:
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[column], strict=True)]
    row = tuple(values[-1] for values in rows)
    if max(abs(value) for value in row) * SMALLEST_CONTRAST > 1:
        raise _uninformative(k)
    return row


@lru_cache(maxsize=256)
def _second_moments(operator: AnyOperator, k: int) -> tuple[Fraction, ...]:
    """Return E[Z_A² | the transaction has l of the k items] for l = 0..k."""
    row, matrix = estimator_row(operator, k), transition_matrix(operator, k)
    return tuple(sum((matrix[to][held] * q * q for to, q in enumerate(row)), Fraction(0)) for held in range(k + 1))


def _check_size(operator: AnyOperator, k: int) -> None:
    if not 1 <= k <= operator.size:
        raise EstimateError(f"itemset size must be in 1..{operator.size} (the plan's transaction size), got {k}")


def lowest_support(outside: Any, inside: Any, n_reports: int, errors: float = ERRORS_OF_ONE) -> Any:
    """Return the positive root s of s² = z²/N · ((1−s)·outside + s·inside), z = ``errors``; arrays work elementwise."""
    scale = errors * errors / n_reports
    half = scale * (inside - outside) / 2
    return half + (half * half + scale * outside) ** 0.5


@dataclass(frozen=True, slots=True)
class SupportModel:
    """The values q of the estimate Z_A under an operator and their moments, for every itemset size.

    Without an operator, reports are unrandomized transactions, and supports have no error. An itemset larger than the
    operator's transactions certainly has support 0. If the operator carries no information about itemsets of k items,
    methods that need P⁻¹ raise EstimateError.

    With c_D the number of reports that show all of D, the mean over N reports of a product of estimates Z is a linear
    combination of superset counts: a function f of the set E of A's items shown has the mean Σ_D w_D c_D / N with
    w_D = Σ_{E⊆D} (−1)^(|D|−|E|) f(E).
    """

    operator: AnyOperator | None

    @classmethod
    def unrandomized(cls) -> "SupportModel":
        """Return the model of unrandomized transactions."""
        return cls(None)

    def row(self, k: int) -> tuple[Fraction, ...]:
        """Return q, the values of Z_A by the number l' = 0..k of A's items that a report shows."""
        return (*[Fraction(0)] * k, Fraction(1)) if self.operator is None else estimator_row(self.operator, k)

    def transition(self, k: int) -> list[list[Fraction]]:
        """Return P for itemsets of k items (see :func:`transition_matrix`)."""
        if self.operator is None:
            return [[Fraction(int(to == held)) for held in range(k + 1)] for to in range(k + 1)]
        return transition_matrix(self.operator, k)

    def size_weights(self, k: int, power: int = 1) -> list[Fraction]:
        """Return the weight of C_j = Σ_{D⊆A, |D|=j} c_D, j = 0..k, in N times the mean of Z_A^power.

        >>> SupportModel.unrandomized().size_weights(2)
        [Fraction(0, 1), Fraction(0, 1), Fraction(1, 1)]
        """
        terms = [value**power for value in self.row(k)]
        return [sum(((-1) ** (j - i) * comb(j, i) * terms[i] for i in range(j + 1)), Fraction(0)) for j in range(k + 1)]

    def second_moment(self, k: int, held: int) -> Fraction:
        """Return E[Z_A² | the transaction has ``held`` of the k items]."""
        return Fraction(int(held == k)) if self.operator is None else _second_moments(self.operator, k)[held]

    def variances(self, k: int) -> tuple[float, float]:
        """Return Var Z_A if the transaction has none of A, and if it has all of A; infinite if P is singular."""
        try:
            return float(self.second_moment(k, 0)), float(self.second_moment(k, k) - 1)
        except EstimateError:
            return math.inf, math.inf
