"""Cut-and-paste, the randomizer of 2002, as select-a-size: its LDS under the guarantee of the other figures.

Draw a number from 0..K, at most m, and keep that number of random items of the transaction. Every other item, including
the rest of the transaction, is in the report with probability ρ. Let i = 0..min(K, m) items be kept, with probability
u_i = 1/(K+1), except u_m = 1 − m/(K+1) where K ≥ m. A report that shows j given items of the m exceeds its probability
under insertion alone by the factor

    w_j = Σ_i u_i ρ^(−i) C(j,i)/C(m,i),      which grows with j from u_0, so that γ = Σ_i (u_i/u_0) ρ^(−i).

Source: Evfimievski, Srikant, Agrawal, Gehrke, Privacy Preserving Mining of Association Rules, KDD 2002.
"""

import math
from fractions import Fraction
from math import comb
from typing import Any

from assocpriv.guarantees.amplification import Guarantee
from assocpriv.plans.baskets.operator import Operator
from bench.figures.curves import SIZES, Setting, lowest_supports

_WEIGHT_BITS = 256


def cut_and_paste(m: int, cutoff: int, rho: Fraction) -> Operator:
    """Return cut-and-paste with ρ = a/2^r, its weights rounded such that γ is no larger."""
    most = min(cutoff, m)
    chosen = [Fraction(1, cutoff + 1)] * most + [Fraction(cutoff + 1 - most, cutoff + 1)]
    likelihoods = [
        sum((u / rho**i * comb(j, i) / comb(m, i) for i, u in enumerate(chosen)), Fraction(0)) for j in range(m + 1)
    ]
    weights = [
        math.floor(rho**j * (1 - rho) ** (m - j) * likelihood * (1 << _WEIGHT_BITS))
        for j, likelihood in enumerate(likelihoods)
    ]
    weights[0] += (1 << _WEIGHT_BITS) - sum(comb(m, j) * weight for j, weight in enumerate(weights))
    return Operator(m, rho.numerator, rho.denominator.bit_length() - 1, _WEIGHT_BITS, tuple(weights))


def rows() -> list[dict[str, Any]]:
    """Return per cutoff the least ρ = a/256 that meets the guarantee, γ, and the LDS by itemset size in percent."""
    setting, found = Setting(), []
    limit = Guarantee(setting.prior, "50%").amplification_limit
    for cutoff in range(1, setting.m + 1):
        operators = (cut_and_paste(setting.m, cutoff, Fraction(a, 256)) for a in range(1, 256))
        operator = next(each for each in operators if each.amplification < limit)
        supports = {k: least for k, least in lowest_supports(operator, setting).items() if least < math.inf}
        found.append(
            {"cutoff": cutoff, "insert_probability": str(operator.default_probability)}
            | {"amplification": float(operator.amplification)}
            | {f"lds_{SIZES[k].replace(' ', '_')}_percent": supports.get(k) for k in SIZES}
        )
    return found
