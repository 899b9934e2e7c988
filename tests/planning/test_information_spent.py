"""Tests of mutual and worst-case information: the paper's numbers and statements, and plans against enumeration."""

import math
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import naive
import numpy as np
import pytest
from naive import client_distribution, inverse_worst_information, mutual_information, planned, worst_information

from assocpriv.guarantees.amplification import Channel, Guarantee, information_limit
from assocpriv.guarantees.errors import PlanError
from assocpriv.planning import information_spent
from assocpriv.planning.basket_planner import choose_plan
from assocpriv.planning.information_spent import information_shares, mutual_limit, plan_information
from assocpriv.plans.baskets.basket_plan import Plan


def measured(prior: Any, rows: Any) -> list[float]:
    """Return I, WI and IWI of a prior and a matrix."""
    return [measure(prior, rows) for measure in (mutual_information, worst_information, inverse_worst_information)]


# ---- the paper's numbers


def first_example() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return prior and matrix of R1 (80% over all numbers), R2 and R3 of the paper's first example."""
    n = 1001
    prior = np.full(n, 0.00099)
    prior[0] = 0.01
    away = (np.arange(n)[None] - np.arange(n)[:, None] + 100) % n
    added = np.where(away <= 200, 1 / 201, 0.0)
    rows = {"R1": 0.2 * np.eye(n) + 0.8 / n, "R2": added, "R3": added / 2 + 0.5 / n}
    return {name: (prior, row) for name, row in rows.items()}


@pytest.mark.parametrize(
    ("name", "mutual", "worst", "inverse"),
    [("R1", 1.277, 3.911, 1.729), ("R2", 2.316, 2.329, math.inf), ("R3", 0.549, 0.551, 0.489)],
)
def test_information_of_the_first_example(name: str, mutual: float, worst: float, inverse: float) -> None:
    """I, WI and IWI of the three randomizers, in bits, to the published digits; the infinite one gives no warning."""
    assert [round(value, 3) for value in measured(*first_example()[name])] == [mutual, worst, inverse]


def test_a_bit_that_is_rarely_disclosed() -> None:
    """A bit disclosed with 60% has more I than one disclosed with 99% once in 10,000; WI and breaches order them the
    other way.
    """
    often = [[0.6, 0.4], [0.4, 0.6]]
    rarely = [[0.9999, 0.000099, 0.000001], [0.9999, 0.000001, 0.000099]]
    fair = [0.5, 0.5]
    assert round(mutual_information(fair, often), 5) == 0.02905
    assert round(mutual_information(fair, rarely), 7) == 0.0000919
    assert round(worst_information(fair, rarely), 4) == 0.9192 > 30 * worst_information(fair, often)
    exact = [[Fraction(n, 10**6) for n in row] for row in ([999900, 99, 1], [999900, 1, 99])]
    assert Channel([Fraction(1, 2)] * 2, exact).breaks(Guarantee("50%", "99%"), {0})


# ---- bounds by γ


@pytest.mark.parametrize("gamma", [Fraction(1001, 1000), Fraction(2), Fraction(19), Fraction(361), Fraction(10**9)])
def test_the_limit_of_information_is_attained(gamma: Fraction) -> None:
    """Two values attain it in IWI if the likelier one has the prior 1/ln γ − 1/(γ−1); their mirror image does in WI."""
    share = 1 / math.log(gamma) - 1 / float(gamma - 1)
    high = float(gamma / (1 + gamma))
    rows = [[high, 1 - high], [1 - high, high]]
    reached = inverse_worst_information([share, 1 - share], rows)
    assert reached == pytest.approx(information_limit(gamma), rel=1e-6, abs=1e-12)
    mirrored = (1 - share) / (1 - share + float(gamma) * share)
    assert worst_information([mirrored, 1 - mirrored], rows) == pytest.approx(reached, rel=1e-6, abs=1e-12)
    others = [worst_information([p, 1 - p], rows) for p in np.linspace(0.01, 0.99, 99)]
    assert max(others) <= information_limit(gamma) * (1 + 1e-9)


def test_the_limit_of_information_for_small_epsilon() -> None:
    """The limit is 0 for γ = 1, and ε²/8 nats near it, to the last digits."""
    assert information_limit(Fraction(1)) == 0.0
    small = Fraction(1, 10**12)
    assert information_limit(1 + small, base=math.e) == pytest.approx(float(small) ** 2 / 8, rel=1e-11)
    tiny = Fraction(1, 10**150)
    assert information_limit(1 + tiny, base=math.e) == pytest.approx(1e-300 / 8, rel=1e-15)
    assert information_limit(1 + tiny**2) == math.ulp(0.0)  # rounded up


# ---- plans

PLANS = {
    "none": naive.small_plan("none", 4, 2, 1, weight_bits=8),
    "none, rho 1/4": naive.small_plan("none", 3, 2, 1, insert=(1, 2), weight_bits=8, shares=(1, 5, 2)),
    "none, fewer items than M": naive.small_plan("none", 2, 3, 1, weight_bits=8, shares=(2, 1, 7, 3)),
    "bch": naive.small_plan("bch", 4, 2, 1, weight_bits=8, shares=(3, 1, 9)),
    "bch, length 15": naive.small_plan("bch", 5, 3, 1, weight_bits=8),
    "bch, r=2": naive.small_plan("bch", 3, 1, 1, insert=(3, 2), weight_bits=8),
    "reed-solomon": naive.small_plan("reed-solomon", 3, 2, 1, weight_bits=8, shares=(1, 4, 1)),
    "reed-solomon, r=2": naive.small_plan("reed-solomon", 3, 1, 1, insert=(1, 2), weight_bits=8, shares=(1, 4)),
    "fixed-size": naive.fixed_plan(4, 2, 1, 3, shares=(1, 5, 2)),
    "fixed-size, none kept never": naive.fixed_plan(3, 3, 1, 5, shares=(1, 1, 7, 2)),
    "fixed-size, M=3": naive.fixed_plan(5, 3, 1, 2, shares=(7, 1, 2, 1)),
}


def channel_rows(plan: Plan, baskets: list[tuple[int, ...]]) -> list[list[Fraction]]:
    """Return the output distributions of baskets as rows over all reports."""
    outputs = [client_distribution(plan, basket) for basket in baskets]
    reports = sorted(set().union(*outputs))
    return [[each.get(report, Fraction(0)) for report in reports] for each in outputs]


def most_of(plan: Plan) -> int:
    """Return the number of items of the largest basket that is not cut."""
    return min(plan.items.transaction_size, plan.n_items)


def enumerated(plan: Plan, size: int) -> list[float]:
    """Return I, WI and IWI over all baskets of a size, equally likely, by enumerating the client's random bits."""
    baskets = list(combinations(range(plan.n_items), size))
    prior = [Fraction(1, len(baskets))] * len(baskets)
    return measured(prior, channel_rows(plan, baskets))


CASES = [(name, size) for name, plan in PLANS.items() for size in range(1, most_of(plan) + 1)]


@pytest.mark.parametrize(("name", "size"), CASES)
def test_symmetry_gives_what_enumeration_gives(name: str, size: int) -> None:
    """I, WI and IWI by classes of reports equal those by the client's output distribution over all reports."""
    plan = PLANS[name]
    found = plan_information(plan, size)
    assert found.exact
    expected = enumerated(plan, size)
    assert [found.mutual, found.worst, found.inverse_worst] == pytest.approx(expected, rel=1e-8, abs=1e-11)
    assert found.mutual_least <= expected[0] <= found.mutual
    assert expected[1] <= found.worst + 1e-12
    assert expected[2] <= found.inverse_worst + 1e-12


@pytest.mark.parametrize(("name", "size"), [case for case in CASES if PLANS[case[0]].items.generator.kind != "none"])
def test_bounds_hold_for_too_many_seeds(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the seeds are not enumerated, the results are bounds and marked as such."""
    monkeypatch.setattr(information_spent, "MOST_SEED_WORK", 0)
    found = plan_information(PLANS[name], size)
    mutual, worst, inverse = enumerated(PLANS[name], size)
    assert not found.exact
    assert found.mutual_least <= mutual <= found.mutual
    assert worst <= found.worst + 1e-12
    assert inverse <= found.inverse_worst + 1e-12
    assert found.mutual <= mutual_limit(PLANS[name].items.operator) * (1 + 1e-8)


@pytest.mark.parametrize("name", PLANS)
def test_the_limits_hold_for_any_prior(name: str) -> None:
    """I is at most the plan's limit and WI at most that of γ, for any prior, also on empty and truncated baskets."""
    plan = PLANS[name]
    n, m = plan.n_items, most_of(plan)
    baskets = [b for size in range(m + 1) for b in list(combinations(range(n), size))[-2:]]
    if n > m < 3:  # sampling many takes long to enumerate
        baskets.append(tuple(range(m + 1)))
    rows = channel_rows(plan, baskets)
    rng = np.random.default_rng(3)
    limit, most = mutual_limit(plan.items.operator), information_limit(plan.amplification)
    for _ in range(20):
        mutual, worst, inverse = measured(rng.dirichlet(np.full(len(rows), 0.3)), rows)
        assert mutual <= limit
        assert max(worst, inverse) <= most + 1e-12


def test_the_limits_are_tight_for_many_items() -> None:
    """With 100,000 items and M = 5, the information is just below the limit for any prior."""
    shares = tuple(19 if kept in (0, 5) else 1 for kept in range(6))
    plan = naive.small_plan("none", 100_000, 5, 1, shares=shares)
    found, limit = plan_information(plan), mutual_limit(plan.items.operator)
    assert 0.9999 * limit < found.mutual_least < found.mutual <= limit
    most = information_limit(plan.amplification)
    assert 0.9999 * most < found.inverse_worst <= most
    assert 0.9999 * most < found.worst <= most


def test_impossible_transaction_sizes_are_refused() -> None:
    """A basket size outside 1..M is refused."""
    for size in (0, 3):
        with pytest.raises(PlanError, match=r"basket size must lie in 1\.\.2"):
            plan_information(PLANS["none"], size)


# ---- bounds of any local method


def channel_shares(channel: np.ndarray, n: int, m: int, gamma: float) -> dict[int, float]:
    """Return b_k/v_k; v_k is the mean Cramér–Rao variance of k-itemsets' supports at the uniform distribution."""
    baskets = list(combinations(range(n), m))
    inverse = np.linalg.pinv(
        (channel - channel.mean(axis=1, keepdims=True)).T @ (channel / channel.mean(axis=1)[:, None])
    )
    shares = {}
    for k in range(1, m + 1):
        holds = np.array([[set(items) <= set(basket) for basket in baskets] for items in combinations(range(n), k)])
        gradients = holds - holds.mean(axis=1, keepdims=True)
        variance = np.einsum("ax,xy,ay->a", gradients, inverse, gradients).mean()
        directions = (math.comb(n, k) - math.comb(n, k - 1)) ** 2 * math.comb(n - 2 * k, m - k)
        shares[k] = directions / (math.comb(n, k) * len(baskets)) * 4 * gamma / (gamma - 1) ** 2 / variance
    return shares


@pytest.mark.parametrize(
    "plan", [naive.small_plan("none", 5, 2, 2, shares=(9, 1, 2)), naive.fixed_plan(5, 2, 2, 3, shares=(1, 1, 9))]
)
def test_information_shares_of_a_plan(plan: Plan) -> None:
    """A plan's b_k/v_k are at most those by the Cramér–Rao bound for its client's channel."""
    shares = information_shares(plan)
    channel = np.array(channel_rows(plan, list(combinations(range(5), 2))), dtype=np.float64).T
    most = channel_shares(channel, 5, 2, float(plan.amplification))
    assert all(0 < share <= most[k] * (1 + 1e-9) for k, share in shares.items())
    assert sum(most.values()) <= 1 + 1e-9


def test_short_catalogues_have_no_such_bound() -> None:
    """The shares are None if M is more than half of the catalogue."""
    assert information_shares(planned(6, 4, Guarantee("5%", "50%"))) is None


def test_the_posterior_depends_on_background_knowledge() -> None:
    """At γ = 19 a prior of 5% about an item becomes 3% or 6%; with two possible baskets left, one becomes 95% or 5%."""
    operator = choose_plan(1000, Guarantee("5%", "50%"), reports=10**6).plan.items.operator
    m, rho, likelihoods = operator.size, operator.default_probability, operator.normalized_likelihoods
    kept = [Fraction(math.comb(m, j) * weight, operator.total) for j, weight in enumerate(operator.keep_weights)]
    absent = [math.comb(m, j) * rho**j * (1 - rho) ** (m - j) for j in range(m + 1)]
    shown = sum(share * Fraction(j, m) for j, share in enumerate(kept))
    assert [round(float(each / (each + 19)), 2) for each in (shown / rho, (1 - shown) / (1 - rho))] == [0.03, 0.06]
    strong = {True: Fraction(0), False: Fraction(0)}  # strong evidence for the true basket, and for the other one
    for j, i in product(range(m + 1), repeat=2):  # numbers of shown items of each basket
        ratio = likelihoods[j] / likelihoods[i]
        if max(ratio, 1 / ratio) > 18.9:
            strong[ratio > 1] += kept[j] * absent[i]
    assert sum(strong.values()) == pytest.approx(0.5, abs=0.01)
    assert strong[True] / sum(strong.values()) == pytest.approx(0.95, abs=0.001)
