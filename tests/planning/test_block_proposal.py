"""Blocks and M proposed for one collection: from a sample or from a histogram, and the plan made so."""

from collections import Counter
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from assocpriv.planning.baskets import KnownSizes, make_plan, plan_for_sizes, propose_blocks
from assocpriv.planning.blocks import people_for_one, typical_shares
from assocpriv.planning.designs import WorstSupport
from assocpriv.planning.request import PlanRequest, PlanWishes
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.transition import SupportModel, lowest_support
from assocpriv.promise.breaches import Breach, Epsilon
from assocpriv.promise.errors import PlanError
from assocpriv.server.posterior import Sampling, SizeShares

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
