"""The guarantee and the estimator, exactly: the client is run for all values of its random bits."""

from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb

import naive
import numpy as np
import pytest

from assocpriv.estimation.supports import Respondents, estimate_supports
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.operator import FixedSizeOperator, Operator, SupportModel, estimator_row, transition_matrix

Distribution = dict[bytes, Fraction]
Shown = dict[frozenset[int], Fraction]


def make(n_items: int, k: int, operator: Operator, kind: str) -> Plan:
    """Make a plan with given parameters and a guarantee slightly above its amplification."""
    generator = naive.small_generator(kind, n_items + operator.size, operator.insert_bits, operator.size + k)
    limit = operator.amplification * Fraction(1001, 1000)
    return naive.items_plan(n_items, operator, generator, k, Guarantee(1 / (1 + limit), Fraction(1, 2)))


OPERATORS = {
    "m1": Operator(1, 1, 2, 4, (5, 11)),
    "m2": Operator(2, 1, 1, 5, (3, 5, 19)),
    "m2 dropping": Operator(2, 3, 2, 6, (20, 14, 16)),
    "m3": Operator(3, 1, 1, 6, (5, 3, 6, 32)),
}
CODES = {  # number of real items, K, operator, generator
    "none, 3 items": (3, 2, "m2", "none"), "none, rho 3/4": (3, 1, "m2 dropping", "none"),
    "none, M=3 of 4": (4, 2, "m3", "none"), "none, M=1": (4, 1, "m1", "none"), "bch": (4, 2, "m2", "bch"),
    "bch with a row of ones": (5, 1, "m2", "bch"),
    "bch, r=2": (3, 1, "m1", "bch"), "reed-solomon, r=1": (2, 1, "m2", "reed-solomon"),
    "reed-solomon, 3 bits": (3, 1, "m2", "reed-solomon"),
    "reed-solomon, r=2": (3, 1, "m1", "reed-solomon"), "reed-solomon, rho 3/4": (2, 1, "m2 dropping", "reed-solomon"),
}  # fmt: skip
PLANS = {name: make(n_items, k, OPERATORS[operator], kind) for name, (n_items, k, operator, kind) in CODES.items()} | {
    # reports of a fixed size
    "m=2, 2 of 5": naive.fixed_plan(3, 2, 2, 2, shares=(3, 1, 4)),
    "m=2, 3 of 6": naive.fixed_plan(4, 2, 2, 3, shares=(1, 5, 2)),
    "m=3, 3 of 7": naive.fixed_plan(4, 3, 3, 3, shares=(1, 5, 2, 9)),
    "m=3, 2 of 6": naive.fixed_plan(3, 3, 2, 2, shares=(7, 1, 2, 1)),
    "m=3, 5 of 6, always two or more kept": naive.fixed_plan(3, 3, 1, 5, shares=(1, 1, 7, 2)),
    "m=1, subset selection": naive.fixed_plan(5, 1, 1, 2, shares=(1, 4)),
    "l=1, randomized response": naive.fixed_plan(4, 2, 1, 1, shares=(1, 6, 1)),
}


SLOW = "reed-solomon, 3 bits"  # many draws, and larger only by a bit of the field


@pytest.fixture(
    scope="module",
    params=[pytest.param(each, marks=[pytest.mark.slow] if each == SLOW else []) for each in PLANS],
)
def plan(request: pytest.FixtureRequest) -> Plan:
    """Return one plan of each operator and generator."""
    return PLANS[request.param]


def transactions_of(plan: Plan) -> list[frozenset[int]]:
    """Return all baskets of a small catalogue, or some of a larger one: empty, short, full, too long."""
    if plan.n_items <= 4:
        items = range(plan.n_items)
        return [frozenset(t) for size in range(plan.n_items + 1) for t in combinations(items, size)]
    longest = tuple(range(plan.items.transaction_size + 1))
    return [frozenset(t) for t in [(), (0,), longest[:-1], longest[1:], (1, plan.n_items - 1), longest]]


@pytest.fixture(scope="module")
def outputs(plan: Plan) -> dict[frozenset[int], Distribution]:
    """Return the exact output distribution of every tested transaction."""
    return {t: naive.client_distribution(plan, t) for t in transactions_of(plan)}


@pytest.fixture(scope="module")
def shown_items(plan: Plan, outputs: dict[frozenset[int], Distribution]) -> dict[frozenset[int], Shown]:
    """Return the exact distribution of the shown items for every tested transaction."""
    return {transaction: shown_distribution(plan, reports) for transaction, reports in outputs.items()}


def fitted(plan: Plan, transaction: frozenset[int]) -> list[frozenset[int]]:
    """Return the equally likely sets of M items to which a transaction is truncated or padded."""
    m, n = plan.items.transaction_size, plan.n_items
    if len(transaction) <= m:
        return [transaction | frozenset(range(n, n + m - len(transaction)))]
    return [frozenset(t) for t in combinations(sorted(transaction), m)]


@cache
def formula(plan: Plan, j: int, n_shown: int) -> Fraction:
    """Return P[t → report] by MATH: p[j] / C(m,j), divided among the reports with n_shown items, j of them in t.

    A set of a fixed size that shares j items has the probability v_j / total.
    """
    operator, m = plan.items.operator, plan.items.transaction_size
    if isinstance(operator, FixedSizeOperator):
        size, weights = operator.report_size, operator.keep_weights
        total = sum(comb(m, kept) * comb(plan.n_items, size - kept) * weights[kept] for kept in range(min(m, size) + 1))
        return Fraction(weights[j], total)
    rho = operator.default_probability
    kept = operator.size_distribution[j] / comb(m, j)
    if plan.items.generator.kind == "none":
        inserted = n_shown - j
        return kept * rho**inserted * (1 - rho) ** (plan.items.padded_items - m - inserted)
    return kept / ((1 << plan.items.generator.seed_bits) * rho**j * (1 - rho) ** (m - j))


def test_reports_follow_the_formula(plan: Plan, outputs: dict[frozenset[int], Distribution]) -> None:
    """The client's distribution over all reports is that of the formula, as fractions."""
    operator = plan.items.operator
    is_fixed = isinstance(operator, FixedSizeOperator)
    every = comb(plan.items.padded_items, operator.report_size) if is_fixed else 1 << plan.items.report_bits
    for transaction, reports in outputs.items():
        assert sum(reports.values()) == 1
        assert len(reports) == every
        sets = fitted(plan, transaction)
        for report, probability in reports.items():
            shown = plan.items.form.items(report)
            assert probability == sum(formula(plan, len(items & shown), len(shown)) for items in sets) / len(sets)


def test_largest_ratio_is_the_plans_amplification(plan: Plan, outputs: dict[frozenset[int], Distribution]) -> None:
    """The largest ratio over all pairs of transactions and all reports is exactly γ, below the limit."""
    rows = list(outputs.values())
    worst = max(max(row[report] for row in rows) / min(row[report] for row in rows) for report in rows[0])
    assert worst == plan.amplification
    assert plan.amplification < plan.guarantee.amplification_limit


@pytest.mark.parametrize("kind", ["none", "bch", "reed-solomon"])
def test_fewer_items_than_a_transaction_keep_the_bound(kind: str) -> None:
    """With fewer real items than M the largest ratio is above 1 and at most γ."""
    plan = make(1, 1, OPERATORS["m2"], kind)
    rows = [naive.client_distribution(plan, basket) for basket in ((), (0,))]
    ratios = [rows[x][report] / rows[1 - x][report] for report in rows[0] for x in (0, 1)]
    assert 1 < max(ratios) <= plan.amplification


def itemsets_of(plan: Plan) -> list[frozenset[int]]:
    """Return the itemsets of up to K of the first four real items."""
    items = range(min(plan.n_items, 4))
    return [frozenset(a) for k in range(1, plan.items.itemset_size + 1) for a in combinations(items, k)]


def shown_distribution(plan: Plan, reports: Distribution) -> Shown:
    """Return the distribution of the shown items."""
    result: Shown = {}
    for report, probability in reports.items():
        shown = plan.items.form.items(report)
        result[shown] = result.get(shown, Fraction(0)) + probability
    return result


def test_partial_supports_follow_the_transition_matrix(plan: Plan, shown_items: dict[frozenset[int], Shown]) -> None:
    """If a transaction holds l items of A, the report shows l' of them with probability P[l', l]."""
    for transaction, shown in shown_items.items():
        sets = fitted(plan, transaction)
        for itemset in itemsets_of(plan):
            matrix = transition_matrix(plan.items.operator, len(itemset))
            for to, probability in hit_distribution(itemset, shown).items():
                assert probability == sum(matrix[to][len(itemset & items)] for items in sets) / len(sets)


def hit_distribution(itemset: frozenset[int], shown: Shown) -> dict[int, Fraction]:
    """Return the distribution of the number of shown items of an itemset."""
    result = dict.fromkeys(range(len(itemset) + 1), Fraction(0))
    for items, probability in shown.items():
        result[len(items & itemset)] += probability
    return result


def subset_sums(size: int, hits: Iterable[int]) -> np.ndarray:
    """Return C_0 … C_k of an itemset of k items over reports that each show ``hits`` of them."""
    return np.array([[sum(comb(hit, j) for hit in hits) for j in range(size + 1)]], dtype=np.int64)


def test_estimates_are_unbiased(plan: Plan, shown_items: dict[frozenset[int], Shown]) -> None:
    """E ŝ is the support after truncation, and E of the variance estimate is the variance, as fractions."""
    model = SupportModel(plan.items.operator)
    for transaction, shown in shown_items.items():
        sets = fitted(plan, transaction)
        for itemset in itemsets_of(plan):
            # an estimate uses only counts of subsets, which depend only on the number of shown items
            results = [
                (p, estimate_supports(subset_sums(len(itemset), [hits]), Respondents(1, model), exact=True))
                for hits, p in hit_distribution(itemset, shown).items()
            ]
            mean = sum(p * e.support[0] for p, e in results)
            truth = Fraction(sum(itemset <= items for items in sets), len(sets))
            assert mean == truth
            # the variance by randomization, without that by truncation
            square = sum(p * e.support[0] ** 2 for p, e in results)
            assert sum(p * e.variance[0] for p, e in results) == square - truth


@pytest.mark.parametrize("name", ["none, 3 items", "bch", "reed-solomon, r=2"])
def test_variances_of_two_reports(name: str) -> None:
    """The exact mean of both variance estimates over all pairs of reports is the variance of ŝ."""
    plan, k = PLANS[name], PLANS[name].items.itemset_size
    model, itemset = SupportModel(plan.items.operator), frozenset(range(k))
    baskets = itemset, frozenset({plan.n_items - 1})
    first, second = (shown_distribution(plan, naive.client_distribution(plan, basket)) for basket in baskets)
    mixed = {s: (first.get(s, Fraction(0)) + second.get(s, Fraction(0))) / 2 for s in {*first, *second}}

    def moments(left: dict, right: dict, field: str) -> tuple[Fraction, Fraction, Fraction]:
        by_hits: dict[tuple[int, int], Fraction] = {}
        for a, p in left.items():
            for b, q in right.items():
                key = (len(a & itemset), len(b & itemset))
                by_hits[key] = by_hits.get(key, Fraction(0)) + p * q
        mean = square = variance = Fraction(0)
        for (a, b), p in by_hits.items():
            estimate = estimate_supports(subset_sums(k, [a, b]), Respondents(2, model), exact=True)
            mean += p * estimate.support[0]
            square += p * estimate.support[0] ** 2
            variance += p * getattr(estimate, field)[0]
        return mean, square - mean**2, variance

    mean, variance, estimated = moments(first, second, "variance")
    assert (mean, variance) == (Fraction(1, 2), estimated)
    mean, variance, estimated = moments(mixed, mixed, "population_variance")
    assert (mean, variance) == (Fraction(1, 2), estimated)


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_closed_form_is_the_last_row_of_the_inverse(operator: Operator) -> None:
    """The estimator's row q satisfies qᵀP = (0, …, 0, 1), so it is the last row of P⁻¹; E[Z² | l held] agrees."""
    for k in range(1, operator.size + 1):
        row, matrix = estimator_row(operator, k), transition_matrix(operator, k)
        products = [sum(row[to] * matrix[to][held] for to in range(k + 1)) for held in range(k + 1)]
        assert products == [0] * k + [1]
        for held in range(k + 1):
            chances = [matrix[to][held] for to in range(k + 1)]
            assert sum(chances) == 1
            squares = sum(p * q**2 for p, q in zip(chances, row, strict=True))
            assert SupportModel(operator).second_moment(k, held) == squares
