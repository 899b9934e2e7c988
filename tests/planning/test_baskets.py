"""Tests of the plan with the least error inside a promise.

The planner finds the designs of the literature and better ones, and rounds them on the safe side.
"""

from fractions import Fraction

import numpy as np
import pytest

from assocpriv.planning.baskets import make_plan
from assocpriv.planning.designs import WorstSupport, choose_generator, search_designs
from assocpriv.plans.generator import bch_seed_bits, reed_solomon_seed_bits
from assocpriv.plans.transition import SupportModel, transition_matrix
from assocpriv.promise.breaches import Breach, Epsilon
from assocpriv.promise.errors import PlanError
from assocpriv.server.supports import Respondents, lowest_discoverable_support

N = 5_000_000


def best(m: int, prior: str, sizes: tuple[int, ...], *, thresholds: bool, bits: int = 6):
    """Return the best design, its operator and the LDS per size in percent."""
    limit = Breach(prior, "50%").amplification_limit
    designs = search_designs(m, limit, WorstSupport(sizes, N), thresholds_only=thresholds, largest_insert_bits=bits)
    design = min(designs, key=lambda d: d.error)
    operator = design.operator(limit)
    model = SupportModel.of(operator)
    return design, operator, {k: 100 * lowest_discoverable_support(Respondents(N, model), k) for k in sizes}


@pytest.mark.parametrize(
    ("m", "prior", "expected"),
    [
        (5, "1%", (0.228, 0.198, 0.229)),
        (5, "2%", (0.298, 0.298, 0.298)),
        (5, "5%", (0.466, 0.481, 0.496)),
        (5, "10%", (0.653, 0.740, 0.839)),
        (5, "20%", (1.04, 1.34, 1.73)),
        (3, "5%", (0.233, 0.227, 0.235)),
        (10, "5%", (0.659, 1.094, 1.816)),
    ],
)
def test_thresholds_reproduce_the_papers_design(m: int, prior: str, expected: tuple[float, ...]) -> None:
    """Threshold patterns with ρ = a/64 give the paper's lowest discoverable supports (the maximum to 3 digits)."""
    _, operator, lds = best(m, prior, (1, 2, 3), thresholds=True)
    assert f"{max(lds.values()):.3g}" == f"{max(expected):.3g}"
    assert list(lds.values()) == pytest.approx(expected, rel=5e-3)
    assert operator.pattern == "".join(sorted(operator.pattern))


@pytest.mark.parametrize(
    ("m", "prior", "sizes", "threshold", "any_pattern"),
    [
        (7, "10%", (2,), 1.029, 0.720),
        (10, "10%", (2,), 1.542, 1.077),
        (5, "5%", (2,), 0.420, 0.339),
        (10, "5%", (3,), 1.816, 1.617),
        (10, "10%", (1, 2, 3), 2.948, 2.540),
    ],
)
def test_any_pattern_is_better(
    m: int, prior: str, sizes: tuple[int, ...], threshold: float, any_pattern: float
) -> None:
    """Free two-level patterns with ρ = a/64 reach the lower supports of MATH.md, which thresholds do not."""
    assert max(best(m, prior, sizes, thresholds=True)[2].values()) == pytest.approx(threshold, abs=1.5e-3)
    assert max(best(m, prior, sizes, thresholds=False)[2].values()) == pytest.approx(any_pattern, abs=1.5e-3)


def test_finer_default_probabilities_help_further() -> None:
    """With r up to 8 triples at m=10, γ=19 fall to 1.576%."""
    assert best(10, "5%", (3,), thresholds=False, bits=8)[2][3] == pytest.approx(1.576, abs=1e-3)


def test_search_agrees_with_the_matrix() -> None:
    """The vectorized search's LDS is the one that the transition matrix's explicit inverse gives."""
    design, operator, lds = best(4, "5%", (2,), thresholds=False)
    matrix = np.array([[float(x) for x in row] for row in transition_matrix(operator, 2)])
    q = np.linalg.inv(matrix)[-1]
    support = lds[2] / 100
    variance = ((1 - support) * (matrix[:, 0] @ q**2) + support * (matrix[:, 2] @ q**2 - 1)) / N
    assert support == pytest.approx(4 * np.sqrt(variance), rel=1e-9)
    assert design.error == pytest.approx(support, rel=1e-4)


@pytest.mark.parametrize("m", [1, 2, 5, 10, 15])
@pytest.mark.parametrize("prior", ["1%", "5%", "20%", "45%"])
def test_rounding_stays_strictly_below_the_limit(m: int, prior: str) -> None:
    """Every rounded operator keeps the limit strictly, nearly reaches it, and has weights of at least 2^16."""
    limit = Breach(prior, "50%").amplification_limit
    designs = search_designs(m, limit, WorstSupport((1,), N), thresholds_only=m > 5)
    for design in designs[:: max(1, len(designs) // 12)]:
        operator = design.operator(limit)
        assert limit * (1 - Fraction(1, 1 << 16)) < operator.amplification < limit
        assert min(operator.keep_weights) >= 1 << 16
        assert operator.pattern == design.pattern


@pytest.mark.parametrize(
    ("n", "m", "r", "bch", "solomon"),
    [
        (1_000, 5, 1, 40, 80), (1_000, 5, 2, 88, 80), (1_000, 5, 4, 192, 80), (10_000, 5, 1, 56, 112),
        (10_000, 5, 3, 180, 112), (42_178, 5, 1, 64, 128), (1_000, 10, 1, 61, 130),
    ],
)  # fmt: skip
def test_seed_sizes(n: int, m: int, r: int, bch: int, solomon: int) -> None:
    """The seed sizes of MATH.md section 4, predicted and built; auto takes the shorter."""
    assert (bch_seed_bits(n + m, r, m + 3), reed_solomon_seed_bits(n + m, r, m + 3)) == (bch, solomon)
    built = [choose_generator(code, n + m, r, m + 3).seed_bits for code in ("bch", "reed-solomon", "auto")]
    assert built == [bch, solomon, min(bch, solomon)]


def test_default_plan_is_the_shortest_good_one() -> None:
    """1,000 items, M=5, K=3, 5%→50%: one bit an item, a 40-bit seed, within 2% of the least LDS."""
    plan = make_plan(1_000, 5, Breach("5%", "50%"), reports=N)
    assert (plan.items.report_bits, plan.items.generator.kind, plan.items.operator.insert_bits) == (40, "bch", 1)
    lds = max(lowest_discoverable_support(Respondents(N, SupportModel.of(plan.items.operator)), k) for k in (1, 2, 3))
    least = min(d.error for d in search_designs(5, Fraction(19), WorstSupport((1, 2, 3), N)))
    assert least <= lds <= 1.02 * least * (1 + 1e-5)
    assert lds * 100 == pytest.approx(0.497, abs=1e-3)


def test_single_items_of_single_item_baskets() -> None:
    """With m = 1 the planner finds the optimized unary encoding: ρ near 1/(1+γ)."""
    plan = make_plan(100, 1, Breach("5%", "50%"), kind="independent", code="none")
    assert float(plan.items.operator.default_probability) == pytest.approx(1 / 20, abs=1 / 256)
    assert plan.items.operator.pattern == "01"


@pytest.mark.parametrize("m", [1, 4, 10])
@pytest.mark.parametrize("code", ["auto", "bch", "reed-solomon", "none"])
def test_plans_of_every_kind_are_valid(m: int, code: str) -> None:
    """The planner's plans pass the plan's own checks for every code, and say which code they use."""
    plan = make_plan(["bread", "milk", "eggs"], m, Breach("10%", "60%"), code=code, pattern="threshold")
    assert code in ("auto", plan.items.generator.kind)
    assert plan.amplification < plan.promise.amplification_limit


def test_targets() -> None:
    """Planning for pairs gives a lower LDS for pairs than planning for all sizes, and names are understood."""
    promise = Breach("5%", "50%")
    pairs = make_plan(50, 5, promise, target="pairs", kind="independent", code="none")
    assert (
        make_plan(50, 5, promise, target=[2], kind="independent", code="none")
        == pairs
        == make_plan(50, 5, promise, target="2", kind="independent", code="none")
    )
    both = [
        SupportModel.of(make_plan(50, 5, promise, target=t, kind="independent", code="none").items.operator)
        for t in (None, "pairs")
    ]
    one, other = (lowest_discoverable_support(Respondents(N, model), 2) for model in both)
    assert other < 0.8 * one


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"transaction_size": 16}, "transaction_size must be in 1..15"),
        ({"transaction_size": 0}, "transaction_size must be in 1..15"),
        ({"itemset_size": 6}, r"itemset_size \(K\) must be in 1..5"),
        ({"reports": 0}, "reports must be in"),
        ({"code": "zip"}, "code must be one of"),
        ({"pattern": "best"}, "pattern must be"),
        ({"target": "quads"}, "target must name"),
        ({"target": []}, "at least one"),
        ({"target": [4]}, "target must name itemset sizes in 1..3"),
        ({"items": []}, "a catalogue must hold"),
        ({"items": ["a", "a"]}, "repeats an earlier name"),
    ],
)
def test_bad_requests_are_refused(change: dict, message: str) -> None:
    """Each argument out of range is refused with its rule."""
    arguments = {"items": 10, "transaction_size": 5, "promise": Breach("5%", "50%")} | change
    with pytest.raises(PlanError, match=message):
        make_plan(**arguments)


def test_hopeless_promises_are_stated() -> None:
    """A promise at which nothing below 100% can be discovered still plans, and its LDS says so."""
    plan = make_plan(10, 10, Breach("49%", "50%"), reports=1_000, pattern="threshold")
    model = SupportModel.of(plan.items.operator)
    assert all(lowest_discoverable_support(Respondents(1_000, model), k) > 1 for k in (1, 2, 3))


def test_targets_over_many_items_keep_mining_possible() -> None:
    """With more items than can be paired, a plan for pairs must let mining leave single items out."""
    plan = make_plan(20_000, 5, Breach("5%", "50%"), target="pairs", reports=N)
    assert lowest_discoverable_support(Respondents(N, SupportModel.of(plan.items.operator)), 1) < 0.01


def test_few_reports_take_no_noisy_design() -> None:
    """With too few reports for triples, the plan errs about as little as one for twenty times as many.

    The root of the LDS's equation beyond 100% forgets the noise of who holds nothing: by it such plans erred ten times
    as much on every itemset.
    """
    few, many = (make_plan(100, 5, Epsilon(1), itemset_size=3, reports=reports) for reports in (300, 6_000))
    for k in (1, 2, 3):
        ours, best = (sum(SupportModel.of(plan.items.operator).variances(k), start=0) for plan in (few, many))
        assert ours < 4 * best, k
