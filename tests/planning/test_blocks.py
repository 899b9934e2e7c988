"""How many pieces a catalogue is cut into: exact shares of people and support, and a choice that reacts to baskets."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations
from math import comb

import numpy as np
import pytest

from assocpriv.planning.blocks import Survey, best_choice, blocks_of, designed, partitions, piece_choices
from assocpriv.planning.designs import Focus, fixed_size_families, insertion_families, pattern_errors, patterns_of
from assocpriv.plans.transition import SupportModel
from assocpriv.plans.view import MOST_CUT, Blocks
from assocpriv.promise.errors import PlanError
from assocpriv.server.undo_sampling import Sampling, SizeShares

LIMIT = Fraction(19)
PAIRS = Focus(((1, 0.5, (0.9, 0.1)), (2, 0.5, (0.85, 0.1, 0.05))))


def lengths(n: int, pieces: int) -> list[int]:
    """Return the lengths of pieces by the rule that a plan publishes."""
    return list(Counter(rank * pieces // n for rank in range(n)).values())


def drawn(n: int, pieces: int) -> list[tuple[int, ...]]:
    """Return the blocks that a device can draw, one for each way to order the entries, all equally likely."""
    ends = np.cumsum(lengths(n, pieces)).tolist()
    orders = permutations(range(n))
    return [order[end - length : end] for order in orders for end, length in zip(ends, lengths(n, pieces), strict=True)]


@pytest.mark.parametrize(("n", "pieces"), [(6, 2), (6, 4), (5, 3), (7, 3)])
def test_asked_share(n: int, pieces: int) -> None:
    """q_k is exactly the share of all equally likely blocks that hold k given entries."""
    blocks = drawn(n, pieces)
    for k in (1, 2, 3):
        held = sum(set(range(k)) <= set(block) for block in blocks)
        assert Sampling(1, n, pieces).asked(k) == Fraction(held, len(blocks))


@pytest.mark.parametrize(("n", "pieces", "m"), [(6, 2, 2), (6, 2, 1), (7, 2, 3), (7, 3, 2)])
def test_kept_share(n: int, pieces: int, m: int) -> None:
    """κ(c) is the mean chance that sampling to M keeps A, over all blocks that hold it, for transactions that do."""
    blocks, k = drawn(n, pieces), min(m, 2)
    for c in range(k, n + 1):
        kept, held = Fraction(0), 0
        for block in blocks:
            if set(range(k)) <= set(block):
                inside, held = len(set(range(c)) & set(block)), held + 1
                kept += Fraction(comb(m, k), comb(inside, k)) if inside > m else 1
        assert Sampling(m, n, pieces).kept(np.array([c]), k)[0] == pytest.approx(float(kept / held), rel=1e-12)


def test_nobody_holds_any() -> None:
    """Of no transactions there are no shares, as where the only basket of a file is shorter than the itemsets."""
    assert Sampling(2, 6, 2).kept(np.array([], dtype=np.int64), 2).shape == (0,)
    assert Sampling(2, 6, 2).longer(np.array([], dtype=np.int64)).shape == (0,)


def test_real_blocks() -> None:
    """Over all itemsets of a real catalogue's blocks the share of them that hold one is q_k, whatever the seed."""
    n, blocks = 11, Blocks(partitions=4, pieces=3, seed=5)
    members = [set(blocks.members(block, n).tolist()) for block in range(blocks.count)]
    for k in (1, 2, 3):
        held = [sum(set(itemset) <= block for block in members) for itemset in combinations(range(n), k)]
        assert Fraction(sum(held), len(held) * blocks.count) == Sampling(1, n, 3).asked(k)


def test_no_blocks() -> None:
    """One piece is no blocks: all are asked, and what is left is what sampling leaves; by a model for frequent ones."""
    sizes = SizeShares(np.array([2, 9]), np.array([0.5, 0.5]))
    whole = Sampling(3, 20)
    assert whole.asked(2) == 1
    assert whole.kept(sizes.sizes, 2).tolist() == [1, comb(3, 2) / comb(9, 2)]
    assert sizes.left(whole, 2) == pytest.approx((1 + 3) / (1 + 36))
    # 1 − (1 − θ)^C(c,2) is .8 of the short ones and all of the long ones where θ = .8
    assert sizes.left(whole, 2, support=0.9) == pytest.approx((0.8 + 3 / 36) / 1.8, rel=0.03)


def test_grouped() -> None:
    """Long sizes taken together keep the mean, and lose nothing of the shares."""
    sizes = SizeShares(np.arange(300), np.full(300, 1 / 300))
    grouped = sizes.grouped()
    assert len(grouped.sizes) < 80
    assert (np.diff(grouped.sizes) > 0).all()
    assert grouped.shares.sum() == pytest.approx(1)
    assert grouped.mean == pytest.approx(sizes.mean, rel=0.002)


def test_error() -> None:
    """The expected squared errors are those of the plan's own model, of so many people, and of what sampling loses."""
    sizes = SizeShares(np.array([12]), np.ones(1))
    survey = Survey(40, 10_000, LIMIT, sizes, PAIRS, bias=2.0)
    choice = designed(survey, sampling := Sampling(4, 40, 5), fine=True)
    model = SupportModel.of(choice.design.operator(LIMIT))
    for k, _, shares in PAIRS.sizes:
        support, left, q = shares[-1], float(sampling.kept(sizes.sizes, k)[0]), float(sampling.asked(k))
        noise = sum(share * float(model.second_moment(k, held)) for held, share in enumerate(shares)) - support
        people = _people_for_one(5, q, partitions(40, 5, 2))
        asked = noise / left**2 * people + support * (1 - support) * (people - 1)
        expected = asked / survey.count + (2.0 * (1 - left) * support) ** 2
        assert choice.errors[k] == pytest.approx(expected, rel=1e-4)
    assert choice.error == pytest.approx(sum(choice.errors.values()) / 2)


def _people_for_one(pieces: int, q: float, cuts: int) -> float:
    """Return the mean of the blocks' number over those that hold an itemset, which are binomial, 0 left out."""
    chances = [comb(cuts, x) * (pieces * q) ** x * (1 - pieces * q) ** (cuts - x) for x in range(1, cuts + 1)]
    return sum(chance * cuts * pieces / x for x, chance in enumerate(chances, 1)) / sum(chances)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_few_changes(k: int) -> None:
    """No pattern of more than k changes is better for itemsets of k items; those of fewer are all tried."""
    for family in (insertion_families(5, 4)[3], *fixed_size_families(5, 20, [7])):
        focus = Focus(((k, 1.0, (0.8, *[0.2 / k] * k)),))
        patterns = patterns_of(len(family.numbers))
        moments, singular = family.moments(3.0, focus)(patterns)
        errors = np.where(singular, np.inf, focus.errors(moments))
        changes = np.abs(np.diff(patterns)).sum(axis=1)
        tried, least = pattern_errors(family, Fraction(3), focus)
        assert {tuple(row) for row in tried} == {tuple(row) for row in patterns[changes <= k]}
        assert least.min() == pytest.approx(errors.min(), rel=1e-9)


def survey_of(size: int, n_items: int, count: int = 1_000_000, bias: float = 4.0) -> Survey:
    """Return a survey of baskets of one size."""
    return Survey(n_items, count, LIMIT, SizeShares(np.array([size]), np.ones(1)), PAIRS, bias)


def test_long_baskets_want_blocks() -> None:
    """Short baskets need no blocks; dense ones do, the smaller the longer they are; few people want larger ones."""
    short, dense, denser = (best_choice(survey_of(size, 200)).sampling for size in (3, 40, 90))
    assert short.pieces == 1
    assert short.m == 3
    assert 1 < dense.pieces < denser.pieces
    few = best_choice(survey_of(40, 200, count=2_000)).sampling
    assert few.pieces <= dense.pieces
    assert best_choice(survey_of(40, 200, bias=0.0), pieces=[1]).sampling.pieces == 1


def test_choice_is_the_least() -> None:
    """No other numbers of pieces and items tried have an error 5% lower, with designs searched as finely."""
    survey = survey_of(30, 60)
    best = best_choice(survey)
    for pieces in piece_choices(survey):
        for m in (2, 4, 8, 15):
            assert best.error <= designed(survey, Sampling(m, 60, pieces)).error * 1.05


def test_partitions() -> None:
    """Itemsets lie in 20 blocks on average where 4,096 blocks suffice, and tables of a plan stay within its limit."""
    for n, pieces, k in ((100, 4, 3), (97, 5, 2), (30, 3, 3), (10, 2, 1)):
        held = pieces * Sampling(1, n, pieces).asked(k)
        assert 20 <= partitions(n, pieces, k) * held < 20 + held
    assert partitions(1000, 64, 3) * 64 == 4096
    assert partitions(1_000_000, 4, 3) == MOST_CUT // 1_000_000
    assert blocks_of(Sampling(4, 100, 4), 3) == Blocks(352, 4)
    assert blocks_of(Sampling(4, 100), 3) is None


def test_nothing_can_be_estimated() -> None:
    """A limit under which every report is independent of the basket is refused."""
    survey = Survey(20, 1000, Fraction(1), SizeShares(np.array([3]), np.ones(1)), PAIRS)
    with pytest.raises(PlanError, match="no operator within this promise"):
        best_choice(survey, [2, 3], [1])
