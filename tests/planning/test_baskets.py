"""Tests of the plan with the least error inside a promise.

The planner finds the designs of the literature and better ones, and rounds them on the safe side.

Blocks and M proposed for one collection: from a sample or from a histogram, and the plan made so.
"""

from collections import Counter
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from assocpriv.planning.baskets import KnownSizes, make_plan, plan_for_sizes, propose_blocks
from assocpriv.planning.blocks import people_for_one, typical_shares
from assocpriv.planning.designs import WorstSupport, choose_generator, search_designs
from assocpriv.planning.request import PlanRequest, PlanWishes
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.generator import bch_seed_bits, reed_solomon_seed_bits
from assocpriv.plans.transition import SupportModel, lowest_support, transition_matrix
from assocpriv.promise.breaches import Breach, Epsilon
from assocpriv.promise.errors import PlanError
from assocpriv.server.supports import Respondents, lowest_discoverable_support
from assocpriv.server.undo_sampling import Sampling, SizeShares

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
    assert (plan.report_bits, plan.generator.kind, plan.operator.insert_bits) == (40, "bch", 1)
    lds = max(lowest_discoverable_support(Respondents(N, SupportModel.of(plan.operator)), k) for k in (1, 2, 3))
    least = min(d.error for d in search_designs(5, Fraction(19), WorstSupport((1, 2, 3), N)))
    assert least <= lds <= 1.02 * least * (1 + 1e-5)
    assert lds * 100 == pytest.approx(0.497, abs=1e-3)


def test_single_items_of_single_item_baskets() -> None:
    """With m = 1 the planner finds the optimized unary encoding: ρ near 1/(1+γ)."""
    plan = make_plan(100, 1, Breach("5%", "50%"), kind="independent", code="none")
    assert float(plan.operator.default_probability) == pytest.approx(1 / 20, abs=1 / 256)
    assert plan.operator.pattern == "01"


@pytest.mark.parametrize("m", [1, 4, 10])
@pytest.mark.parametrize("code", ["auto", "bch", "reed-solomon", "none"])
def test_plans_of_every_kind_are_valid(m: int, code: str) -> None:
    """The planner's plans pass the plan's own checks for every code, and say which code they use."""
    plan = make_plan(["bread", "milk", "eggs"], m, Breach("10%", "60%"), code=code, pattern="threshold")
    assert code in ("auto", plan.generator.kind)
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
        SupportModel.of(make_plan(50, 5, promise, target=t, kind="independent", code="none").operator)
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
    model = SupportModel.of(plan.operator)
    assert all(lowest_discoverable_support(Respondents(1_000, model), k) > 1 for k in (1, 2, 3))


def test_targets_over_many_items_keep_mining_possible() -> None:
    """With more items than can be paired, a plan for pairs must let mining leave single items out."""
    plan = make_plan(20_000, 5, Breach("5%", "50%"), target="pairs", reports=N)
    assert lowest_discoverable_support(Respondents(N, SupportModel.of(plan.operator)), 1) < 0.01


PROMISE = Breach("5%", "50%")
LONG, SHORT = (SizeShares(np.array([size]), np.ones(1)) for size in (24, 3))
PAIRS = PlanWishes(promise=PROMISE, itemset_size=2)


def known(sizes: SizeShares, n_items: int = 60) -> KnownSizes:
    """Return what a histogram tells, of single items and pairs."""
    return KnownSizes.of_histogram(sizes, n_items, 2)


def test_long_baskets_get_blocks_and_short_ones_none() -> None:
    """Where all baskets are longer than M there are blocks, and nearly nothing is lost; short ones need none."""
    dense = propose_blocks(known(LONG), 60, PAIRS).proposed
    assert dense.pieces > 1
    assert min(dense.surviving.values()) > 0.95
    short = propose_blocks(known(SHORT), 60, PAIRS).proposed
    assert (short.pieces, short.transaction_size) == (1, 3)
    assert short.surviving == {1: 1.0, 2: 1.0}


def test_rows_say_what_is_lost_and_what_can_be_discovered() -> None:
    """Each row's shares and supports are those of its design, its people and its sampling, recomputed."""
    proposal = propose_blocks(known(LONG), 60, PAIRS, pieces=3)
    assert [row.transaction_size for row in proposal.rows] == [2, 3, 4, 5, 6, 7, 8, 10, 12, 15]
    for row in proposal.rows:
        sampling = Sampling(row.transaction_size, 60, 3)
        assert row.pieces == 3
        assert row.longer == pytest.approx(float(sampling.longer(np.array([24]))[0]))
        for k in (1, 2):
            assert row.surviving[k] == pytest.approx(float(sampling.kept(np.array([24]), k)[0]))
            assert row.lowest_raw_support[k] == pytest.approx(row.lowest_discoverable_support[k] / row.surviving[k])
    one = proposal.proposed
    plan, _ = plan_for_sizes(60, PROMISE, LONG, blocks=3, itemset_size=2)
    assert plan.transaction_size == one.transaction_size
    model = SupportModel.of(plan.operator)
    for k in (1, 2):
        people = people_for_one(Sampling(one.transaction_size, 60, 3), k, 2)
        outside, inside = model.variances(k)
        lowest = lowest_support(outside * people, inside * people + people - 1, 1_000_000)
        assert one.lowest_discoverable_support[k] == pytest.approx(lowest, rel=0.1)  # of a few designs, the plan of all


def test_chance_of_more_than_m_in_a_block() -> None:
    """Of 4 items of 6 in a block of 3 a basket has more than two with chance C(4,3)/C(6,3), none of 2 has."""
    assert Sampling(2, 6, 2).longer(np.array([2, 4])).tolist() == pytest.approx([0, 4 / 20])
    assert Sampling(2, 6).longer(np.array([2, 4])).tolist() == [0, 1]


def test_a_sample_tells_supports() -> None:
    """Twenty itemsets held together so often have that mean support, and their holders' sizes count."""
    sizes, holders = Counter({2: 50, 9: 50}), {1: Counter({2: 100, 9: 300})}
    sample = KnownSizes.of_sample(sizes, holders, 40)
    assert sample.supports == {1: 400 / 100 / 20}
    assert sample.holders[1].shares.tolist() == [0.25, 0.75]
    assert KnownSizes.of_sample(sizes, holders, 5).supports == {1: 400 / 100 / 5}
    with pytest.raises(PlanError, match="baskets that are not empty"):
        KnownSizes.of_sample(Counter({0: 9}), {1: Counter()}, 40)


def test_typical_shares() -> None:
    """They add up to 1 and end with the support; rarer itemsets are held whole more often than by chance."""
    for k, support in ((1, 0.2), (2, 0.04), (3, 0.01)):
        shares = typical_shares(k, support)
        assert shares[-1] == support
        assert sum(shares) == pytest.approx(1)
        item = sum(shares[held] * held / k for held in range(k + 1))
        assert support >= item**k * 0.99


def test_the_plan_is_the_best_for_what_is_expected() -> None:
    """The design of a plan by sizes errs less on typical itemsets than that with the lowest discoverable support."""
    asked = partial(plan_for_sizes, 60, PROMISE, LONG, itemset_size=2, transaction_size=7)
    plan, proposal = asked()
    pieces, m = proposal.proposed.pieces, plan.transaction_size
    assert plan.view.blocks is not None
    assert plan.view.blocks.pieces == pieces
    rare = make_plan(60, m, PROMISE, itemset_size=2, blocks=pieces)
    assert proposal.focus.error(plan.operator) < proposal.focus.error(rare.operator)
    assert asked()[0].plan_id == plan.plan_id
    assert asked(blocks=None)[0].view.blocks is None
    two = asked(blocks=2)[0].view.blocks
    assert two is not None
    assert (m, two.pieces) == (7, 2)


def test_request_asks_fewer_people() -> None:
    """With blocks the objective counts the people who are asked, and an LDS is that of so many reports."""
    request = PlanRequest(Catalogue.numbered(60), 4, PAIRS, pieces=5)
    objective = request.objective(4)
    assert isinstance(objective, WorstSupport)
    assert request.padded_items == 12 + 4
    for k in (1, 2):
        assert objective.asked[k] == pytest.approx(float(Sampling(4, 60, 5).asked(k)), rel=0.06)
    moments = {(k, held): np.array([5.0 + held]) for k in (1, 2) for held in (0, k)}
    alone = WorstSupport([1], 1000, asked={1: 0.25}).errors(moments)[0]
    # s² = 16·((1−s)·5 + s·(6 − 1) + s(1−s)(1 − 1/4)) / 250
    assert alone**2 * 250 / 16 == pytest.approx((1 - alone) * 5 + alone * 5 + alone * (1 - alone) * 0.75)
    view = request.published_view
    assert view.blocks is not None
    assert Fraction(view.blocks.partitions * view.blocks.pieces) >= 20 * 5


@pytest.mark.parametrize(("items", "m", "reports", "options"), [(20, 4, 5_000, {"blocks": 5}), (100, 5, 300, {})])
def test_few_reports_take_no_noisy_design(items: int, m: int, reports: int, options: dict[str, int]) -> None:
    """With too few reports for triples, the plan errs about as little as one for twenty times as many.

    The root of the LDS's equation beyond 100% forgets the noise of who holds nothing: by it such plans erred ten times
    as much on every itemset.
    """
    few, many = (
        make_plan(items, m, Epsilon(1 if not options else 3), itemset_size=3, reports=times * reports, **options)
        for times in (1, 20)
    )
    for k in (1, 2, 3):
        ours, best = (sum(SupportModel.of(plan.operator).variances(k), start=0) for plan in (few, many))
        assert ours < 4 * best, k


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({"blocks": "many"}, "blocks must be 'auto', a number of pieces, or None"),
        ({"blocks": 40}, "at most 30 blocks"),
        ({"blocks": 0}, r"blocks must be in 1\.\.256"),
    ],
)
def test_bad_wishes(wishes: dict[str, object], said: str) -> None:
    """What no plan with blocks can meet is refused in a sentence."""
    with pytest.raises(PlanError, match=said):
        plan_for_sizes(60, PROMISE, LONG, itemset_size=2, **wishes)  # type: ignore[arg-type]
