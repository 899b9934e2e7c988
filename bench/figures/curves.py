"""The lowest detectable support (LDS) against breach level, transaction size and number of transactions.

Figures 1, 2 and 3 of EGS03. Each point has the paper's design and others, all chosen to minimize the worst LDS over
single items, pairs and triples. Every LDS is computed from the integers of the rounded operator.

Source: Evfimievski, Gehrke, Srikant, Limiting Privacy Breaches in Privacy Preserving Data Mining, PODS 2003, section 5.

Cut-and-paste, the randomizer of 2002, as select-a-size: its LDS under the guarantee of the other figures.

Draw a number from 0..K, at most m, and keep that number of random items of the transaction. Every other item, including
the rest of the transaction, is in the report with probability ρ. Let i = 0..min(K, m) items be kept, with probability
u_i = 1/(K+1), except u_m = 1 − m/(K+1) where K ≥ m. A report that shows j given items of the m exceeds its probability
under insertion alone by the factor

    w_j = Σ_i u_i ρ^(−i) C(j,i)/C(m,i),      which grows with j from u_0, so that γ = Σ_i (u_i/u_0) ρ^(−i).

Source: Evfimievski, Srikant, Agrawal, Gehrke, Privacy Preserving Mining of Association Rules, KDD 2002.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

from assocpriv.estimation.supports import Respondents, detectable_support
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.planning.operator_designs import (
    Family,
    FixedSizeFamily,
    Floats,
    WorstSupport,
    paper_family,
    runs,
    thresholds,
)
from assocpriv.plans.baskets.operator import AnyOperator, FixedSizeOperator, Operator, SupportModel

SIZES = {1: "single items", 2: "pairs", 3: "triples"}
PAPER, OURS = "threshold", "any run"


@dataclass(frozen=True, slots=True)
class Setting:
    """A point of a figure: reports of N transactions of M items, no breach from ``prior`` to 50%."""

    m: int = 5
    prior: str = "5%"
    reports: int = 5_000_000

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the itemsets in such transactions."""
        return tuple(k for k in SIZES if k <= self.m)


@dataclass(frozen=True, slots=True)
class Figure:
    """The varied quantity: its column name, and the settings by value."""

    column: str
    settings: Mapping[float, Setting]


FIGURES = {
    "breach-level": Figure("breach_level_percent", {level: Setting(prior=f"{level}%") for level in (1, 2, 5, 10, 20)}),
    "transaction-size": Figure("transaction_size", {m: Setting(m=m) for m in range(1, 11)}),
    "transactions": Figure(
        "transactions",
        {n: Setting(reports=n) for n in (c * 10**e for e in range(5, 9) for c in (1, 2, 5)) if n <= 10**8},
    ),
}


def paper_operator(setting: Setting) -> AnyOperator:
    """Return the paper's design: keeping j0 or more items is likelier, ρ = a/64."""
    return _best(paper_family(setting.m, 6), setting, thresholds(setting.m))


def our_operator(setting: Setting) -> AnyOperator:
    """Return the best design of independent insertion: any run of sizes may be likelier, ρ = a/256."""
    return _best(paper_family(setting.m), setting, runs(setting.m))


def fixed_operator(setting: Setting, items: int) -> AnyOperator:
    """Return the best design whose reports hold a fixed number of the items, M padding items included."""
    return _best(FixedSizeFamily(setting.m, items, tuple(range(1, items // 2 + 1))), setting, runs(setting.m))


def _best(family: Family, setting: Setting, patterns: Floats) -> AnyOperator:
    limit = Guarantee(setting.prior, "50%").amplification_limit
    designs = family.search(limit, WorstSupport(max(setting.sizes), setting.reports), patterns)
    return min(designs, key=lambda design: design.error).operator(limit)


DESIGNS: dict[str, Callable[[Setting], AnyOperator]] = {
    PAPER: paper_operator,
    OURS: our_operator,
    "fixed size (64 items)": lambda setting: fixed_operator(setting, 64),
    "fixed size (32 items)": lambda setting: fixed_operator(setting, 32),
}


def rows(figure: Figure) -> list[dict[str, Any]]:
    """Return one row per point and design: the operator and its LDS in percent, by itemset size and worst."""
    found = []
    for value, setting in figure.settings.items():
        least = None
        for name, search in DESIGNS.items():
            operator = search(setting)
            supports = lowest_supports(operator, setting)
            worst = max(supports.values())
            least = worst if name == PAPER else least
            found.append(
                {figure.column: value, "design": name}
                | _described(operator)
                | {f"lds_{SIZES[k].replace(' ', '_')}_percent": supports.get(k) for k in SIZES}
                | {"lds_worst_percent": worst, "worst_over_threshold": worst / (least or worst)}
            )
    return found


def lowest_supports(operator: AnyOperator, setting: Setting) -> dict[int, float]:
    """Return the LDS of every itemset size in percent."""
    model = SupportModel(operator)
    return {k: 100 * detectable_support(Respondents(setting.reports, model), k) for k in setting.sizes}


def _described(operator: AnyOperator) -> dict[str, Any]:
    """Return the design: the likelier numbers of kept items 0..M, and how others are inserted."""
    if isinstance(operator, FixedSizeOperator):
        probability, report_items = None, operator.report_size
    else:
        probability, report_items = f"{operator.insert_num}/{1 << operator.insert_bits}", None
    return {"likelier_kept": operator.pattern, "insert_probability": probability, "report_items": report_items}


# ---- cut-and-paste


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


def cut_and_paste_rows() -> list[dict[str, Any]]:
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


def run() -> dict[str, Any]:
    """Return one table per figure."""
    return {
        "tables": {name: rows(figure) for name, figure in FIGURES.items()} | {"cut-and-paste": cut_and_paste_rows()}
    }
