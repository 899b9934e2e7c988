"""The promise and the estimator, exactly: the shipping client is run for every way its draws can fall."""

from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb

import naive
import numpy as np
import pytest

from assocpriv.client.baskets import Randomizer
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.generator import Generator, bch_generator, reed_solomon_generator
from assocpriv.plans.operator import FixedSizeOperator, Operator
from assocpriv.plans.question import Question
from assocpriv.plans.transition import SupportModel, estimator_row, transition_matrix
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import PrivacyLimitError
from assocpriv.server.supports import Respondents, estimate_supports
from assocpriv.simulation.enumeration import distribution

Law = dict[bytes, Fraction]
Shown = dict[frozenset[int], Fraction]


def make(n_items: int, k: int, operator: Operator, kind: str) -> Plan:
    """Make a plan by hand, with a promise just beyond its amplification."""
    m, r = operator.size, operator.insert_bits
    build = {"bch": bch_generator, "reed-solomon": reed_solomon_generator}
    generator = build[kind](n_items + m, r, m + k) if kind in build else Generator()
    limit = operator.amplification * Fraction(1001, 1000)
    question = Question(n_items, operator, generator, k)
    return Plan(Catalogue.numbered(n_items), (question,), Breach(1 / (1 + limit), Fraction(1, 2)))


# name: number of real items, K, operator, generator
OPERATORS = {
    "m1": Operator(1, 1, 2, 4, (5, 11)),
    "m2": Operator(2, 1, 1, 5, (3, 5, 19)),
    "m2 dropping": Operator(2, 3, 2, 6, (20, 14, 16)),
    "m3": Operator(3, 1, 1, 6, (5, 3, 6, 32)),
}
PLANS = {
    "none, 3 items": (3, 2, "m2", "none"), "none, rho 3/4": (3, 1, "m2 dropping", "none"),
    "none, M=3 of 4": (4, 2, "m3", "none"), "none, M=1": (4, 1, "m1", "none"), "bch": (4, 2, "m2", "bch"),
    "bch with a row of ones": (5, 1, "m2", "bch"),
    "bch, r=2": (3, 1, "m1", "bch"), "reed-solomon, r=1": (3, 1, "m2", "reed-solomon"),
    "reed-solomon, r=2": (3, 1, "m1", "reed-solomon"), "reed-solomon, rho 3/4": (2, 1, "m2 dropping", "reed-solomon"),
}  # fmt: skip
FIXED = {  # reports of a fixed size
    "m=2, 2 of 5": naive.fixed_plan(3, 2, 2, 2, shares=(3, 1, 4)),
    "m=2, 3 of 6": naive.fixed_plan(4, 2, 2, 3, shares=(1, 5, 2)),
    "m=3, 3 of 7": naive.fixed_plan(4, 3, 3, 3, shares=(1, 5, 2, 9)),
    "m=3, 2 of 6": naive.fixed_plan(3, 3, 2, 2, shares=(7, 1, 2, 1)),
    "m=3, 5 of 6, none or one kept never": naive.fixed_plan(3, 3, 1, 5, shares=(1, 1, 7, 2)),
    "m=1, subset selection": naive.fixed_plan(5, 1, 1, 2, shares=(1, 4)),
    "l=1, randomized response": naive.fixed_plan(4, 2, 1, 1, shares=(1, 6, 1)),
}


@pytest.fixture(scope="module", params=[*PLANS, *FIXED])
def plan(request: pytest.FixtureRequest) -> Plan:
    """One plan of each kind."""
    if request.param in FIXED:
        return FIXED[request.param]
    n_items, k, operator, kind = PLANS[request.param]
    return make(n_items, k, OPERATORS[operator], kind)


def transactions_of(plan: Plan) -> list[frozenset[int]]:
    """Return all baskets of a small universe, or enough of a larger one: empty, short, full, too long."""
    if plan.n_items <= 4:
        items = range(plan.n_items)
        return [frozenset(t) for size in range(plan.n_items + 1) for t in combinations(items, size)]
    longest = tuple(range(plan.items.transaction_size + 1))
    return [frozenset(t) for t in [(), (0,), longest[:-1], longest[1:], (1, plan.n_items - 1), longest]]


def law_of(plan: Plan, transaction: Iterable[int]) -> Law:
    """Return the exact distribution of one transaction's report, from the shipping client."""
    randomizer = Randomizer(plan)
    return distribution(lambda entropy: randomizer.randomize(list(transaction), entropy=entropy))


@pytest.fixture(scope="module")
def laws(plan: Plan) -> dict[frozenset[int], Law]:
    """Return the exact law of every transaction tried."""
    return {t: law_of(plan, t) for t in transactions_of(plan)}


@pytest.fixture(scope="module")
def shown_laws(plan: Plan, laws: dict[frozenset[int], Law]) -> dict[frozenset[int], Shown]:
    """Return the exact law of the items shown, of every transaction tried."""
    return {transaction: shown_law(plan, law) for transaction, law in laws.items()}


def fitted(plan: Plan, transaction: frozenset[int]) -> list[frozenset[int]]:
    """Return the equally likely sets of M items that a transaction may be cut or padded to."""
    m, n = plan.items.transaction_size, plan.n_items
    if len(transaction) <= m:
        return [transaction | frozenset(range(n, n + m - len(transaction)))]
    return [frozenset(t) for t in combinations(sorted(transaction), m)]


@cache
def formula(plan: Plan, j: int, n_shown: int) -> Fraction:
    """Return P[t → report] by MATH: p[j] / C(m,j) spread over the reports that show j items of t, of n_shown in all.

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
        others = n_shown - j
        return kept * rho**others * (1 - rho) ** (plan.items.padded_items - m - others)
    return kept / ((1 << plan.items.generator.seed_bits) * rho**j * (1 - rho) ** (m - j))


def test_reports_follow_the_formula(plan: Plan, laws: dict[frozenset[int], Law]) -> None:
    """The client's distribution over all reports is the stated one, fraction for fraction."""
    operator = plan.items.operator
    is_fixed = isinstance(operator, FixedSizeOperator)
    every = comb(plan.items.padded_items, operator.report_size) if is_fixed else 1 << plan.items.report_bits
    for transaction, law in laws.items():
        assert sum(law.values()) == 1
        assert len(law) == every
        sets = fitted(plan, transaction)
        for report, probability in law.items():
            shown = plan.items.form.items(report)
            assert probability == sum(formula(plan, len(items & shown), len(shown)) for items in sets) / len(sets)


def test_largest_ratio_is_the_stated_amplification(plan: Plan, laws: dict[frozenset[int], Law]) -> None:
    """Over all pairs of transactions and all reports the ratio reaches the plan's γ exactly, below the limit."""
    reports = next(iter(laws.values()))
    worst = max(
        max(law[report] for law in laws.values()) / min(law[report] for law in laws.values()) for report in reports
    )
    assert worst == plan.amplification
    assert plan.amplification < plan.promise.amplification_limit


@pytest.mark.parametrize("kind", ["none", "bch", "reed-solomon"])
def test_fewer_items_than_a_transaction_keep_the_bound(kind: str) -> None:
    """With fewer real items than M the ratio stays within γ, and with one item below it."""
    plan = make(1, 1, OPERATORS["m2"], kind)
    laws = [law_of(plan, ()), law_of(plan, (0,))]
    ratios = [laws[x][report] / laws[1 - x][report] for report in laws[0] for x in (0, 1)]
    assert 1 < max(ratios) <= plan.amplification


def test_a_likelier_kept_set_would_break_the_promise() -> None:
    """A plan whose weights exceed the limit by one unit in one weight is refused."""
    weights = (3, 5, 19)
    limit = Operator(2, 1, 1, 5, weights).amplification
    with pytest.raises(PrivacyLimitError, match="breaks its promise"):
        Plan(
            Catalogue.numbered(3), (Question(3, Operator(2, 1, 1, 5, weights)),),
            Breach(1 / (1 + limit), Fraction(1, 2)),
        )  # fmt: skip


def itemsets_of(plan: Plan) -> list[frozenset[int]]:
    """Return the itemsets of up to K real items, some where there are many."""
    items = range(min(plan.n_items, 4))
    return [frozenset(a) for k in range(1, plan.items.itemset_size + 1) for a in combinations(items, k)]


def shown_law(plan: Plan, law: Law) -> Shown:
    """Return the distribution of the items shown."""
    result: Shown = {}
    for report, probability in law.items():
        shown = plan.items.form.items(report)
        result[shown] = result.get(shown, Fraction(0)) + probability
    return result


def test_partial_supports_follow_the_transition_matrix(plan: Plan, shown_laws: dict[frozenset[int], Shown]) -> None:
    """Given that a transaction holds l items of A, the report shows l' of them with probability P[l', l]."""
    for transaction, shown in shown_laws.items():
        sets = fitted(plan, transaction)
        for itemset in itemsets_of(plan):
            matrix = transition_matrix(plan.items.operator, len(itemset))
            for to, happens in hits_law(itemset, shown).items():
                assert happens == sum(matrix[to][len(itemset & items)] for items in sets) / len(sets)


def hits_law(itemset: frozenset[int], shown: Shown) -> dict[int, Fraction]:
    """Return the distribution of how many items of an itemset are shown."""
    result = dict.fromkeys(range(len(itemset) + 1), Fraction(0))
    for items, probability in shown.items():
        result[len(items & itemset)] += probability
    return result


def subset_sums(size: int, hits: Iterable[int]) -> np.ndarray:
    """Return C_0 … C_k of an itemset of k items over reports that show so many of them each."""
    return np.array([[sum(comb(hit, j) for hit in hits) for j in range(size + 1)]], dtype=np.int64)


def test_estimates_are_unbiased(plan: Plan, shown_laws: dict[frozenset[int], Shown]) -> None:
    """E ŝ is the support after sampling, and E of the variance estimate is the variance, as fractions."""
    model = SupportModel.of(plan.items.operator)
    for transaction, shown in shown_laws.items():
        sets = fitted(plan, transaction)
        for itemset in itemsets_of(plan):
            # counts of subsets, all that an estimate is made of, hang on the number of items shown alone
            results = [
                (p, estimate_supports(subset_sums(len(itemset), [hits]), Respondents(1, model), exact=True))
                for hits, p in hits_law(itemset, shown).items()
            ]
            mean = sum(p * e.support[0] for p, e in results)
            truth = Fraction(sum(itemset <= items for items in sets), len(sets))
            assert mean == truth
            # what randomization adds on top of which items were sampled
            square = sum(p * e.support[0] ** 2 for p, e in results)
            assert sum(p * e.variance[0] for p, e in results) == square - truth


@pytest.mark.parametrize("name", ["none, 3 items", "bch", "reed-solomon, r=2"])
def test_variances_of_two_reports(name: str) -> None:
    """Over all pairs of reports both variance estimates have the variance of ŝ as their exact mean."""
    n_items, k, operator, kind = PLANS[name]
    plan = make(n_items, k, OPERATORS[operator], kind)
    model, itemset = SupportModel.of(plan.items.operator), frozenset(range(k))
    first, second = (shown_law(plan, law_of(plan, t)) for t in (frozenset(range(k)), frozenset({n_items - 1})))
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
    """The estimator's row q satisfies qᵀP = (0, …, 0, 1), so it is the last row of P⁻¹; so does E[Z² | l held]."""
    for k in range(1, operator.size + 1):
        row, matrix = estimator_row(operator, k), transition_matrix(operator, k)
        products = [sum(row[to] * matrix[to][held] for to in range(k + 1)) for held in range(k + 1)]
        assert products == [0] * k + [1]
        for held in range(k + 1):
            chances = [matrix[to][held] for to in range(k + 1)]
            assert sum(chances) == 1
            squares = sum(p * q**2 for p, q in zip(chances, row, strict=True))
            assert SupportModel.of(operator).second_moment(k, held) == squares
