"""Collections in two rounds: the guarantee, the composed guarantee, the items, the rule, and what they gain."""

from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from naive import planned

import assocpriv as ap
from assocpriv.client.baskets.one_basket import transaction_of
from assocpriv.estimation.size_distribution import LearnedItems, SizeDistribution
from assocpriv.guarantees.errors import AssocprivError
from assocpriv.planning.basket_planner import choose_plan
from assocpriv.planning.collection_rounds import NextRound, choose_rounds, plan_next_round
from assocpriv.planning.expected_error import BasketSizes, expected_error
from assocpriv.plans.baskets.catalogue import Catalogue, Names
from assocpriv.records.baskets import Baskets
from assocpriv.simulation.basket_rounds import randomize_rounds
from assocpriv.simulation.basket_simulation import RawCounter, TrueSupports
from assocpriv.simulation.enumeration import SeededEntropy
from assocpriv.simulation.synthetic import QuestSettings, generate_quest

GUARANTEE = ap.Guarantee("5%", "50%")
NAMES = [f"i{place:02}" for place in range(40)]
PLAN = planned(NAMES, 4, GUARANTEE, itemset_size=1)
FALLING = [0.5 - 0.01 * place for place in range(40)]


def following(
    supports: list[float], plan: ap.Plan = PLAN, best: int | None = None, people: int | None = None, mean: int = 12
) -> NextRound:
    """Return the second round after a first one that estimates these supports, and that all baskets have one size."""
    sizes = SizeDistribution(np.array([mean]), np.array([[1.0]]))
    learned = LearnedItems(tuple(plan.catalogue)[: len(supports)], np.array(supports), sizes, 1000)
    return plan_next_round(learned, plan, best, people)


# ---- the guarantee


@pytest.mark.parametrize("guarantee", [("1/3", "2/5"), ("1e-6", "0.999999")], ids=str)
def test_the_next_plan_keeps_the_guarantee(guarantee: tuple[str, str]) -> None:
    """The second plan has exactly the first plan's guarantee, and keeps it."""
    first = planned(NAMES, 2, ap.Guarantee(*guarantee), itemset_size=1)
    made = following(FALLING, first, best=8, people=10_000)
    assert made.plan.guarantee == first.guarantee
    assert made.plan.amplification < first.guarantee.amplification_limit


def test_the_composed_guarantee_is_bayes_rule() -> None:
    """The composed bounds are Bayes' rule for two independent reports, each at the limit of its guarantee."""
    made = following(FALLING, best=8)
    likelihood, prior, posterior = Fraction(19**2), Fraction(1, 20), Fraction(1, 2)
    assert made.amplification_limit == likelihood
    up = prior * likelihood / (prior * likelihood + 1 - prior)
    down = posterior / (posterior + (1 - posterior) * likelihood)
    assert (made.highest_posterior, made.lowest_posterior) == (up, down) == (Fraction(19, 20), Fraction(1, 362))


# ---- the second round


def test_the_likeliest_items_are_kept() -> None:
    """The catalogue has the ``best`` items of largest support, in the order of the first catalogue."""
    made = following(FALLING[::-1], best=8)
    assert list(made.plan.catalogue) == NAMES[-8:]
    assert made.plan.names.unlisted == "drop"
    assert (made.reports, made.mean_size, made.plan.items.itemset_size) == (1000, 12, 3)
    assert made.share == pytest.approx(sum(FALLING[:8]) / 12)
    assert made.held == pytest.approx(sum(FALLING[:8]))
    assert following(FALLING).plan.n_items == 32
    assert following(FALLING, best=60).plan.n_items == 40
    assert following(FALLING, best=60).share == 1


@pytest.mark.parametrize("mean", [1, 6, 20])
def test_baskets_of_the_second_round_are_cut_to_five_items_or_more(mean: int) -> None:
    """M follows from the learned sizes, thinned by the share of purchases, and is at least 5."""
    made = following([0.9 * mean / 40] * 40, mean=mean)
    sizes = BasketSizes.from_sample({mean: 1}).thinned(made.share)
    names = tuple(made.plan.catalogue)
    free = choose_plan(names, GUARANTEE, reports=1000, sample=sizes, itemset_size=3).plan
    assert made.plan.items.transaction_size == max(5, free.items.transaction_size)


@pytest.mark.parametrize("count", [1, 2])
def test_as_many_people_as_before_are_planned_for(count: int) -> None:
    """Without a number of people all reports of the first round count, also those about sizes, R for each person."""
    plan = ap.plan(NAMES, GUARANTEE, reports=2000, reports_per_person=count, rounds=2)
    assert plan.sizes is not None
    made = ap.refine(ap.randomize([{*NAMES[:2]}] * 2000, plan), best=2)
    assert (made.reports, made.plan.reports_per_person) == (2000, count)


def test_supports_of_0_give_the_smallest_share() -> None:
    """Reports that show nothing still give a plan."""
    assert following([0.0] * 40, best=8).share == 0.01


def test_the_taxonomy_keeps_its_meaning() -> None:
    """A name that was an item does not become its ancestor when the short catalogue lacks it."""
    rules = Names(
        unlisted="error",
        parents=(("brie", "cheese"), ("cheese", "dairy"), ("milk", "dairy"), ("skim", "milk"), ("yogurt", "dairy")),
        left_out=("yogurt",),
    )
    first = planned(["bread", "dairy", "milk"], 2, GUARANTEE, names=rules, itemset_size=1)
    made = following([0.4, 0.3, 0.01], first, best=2)
    assert list(made.plan.catalogue) == ["bread", "dairy"]
    for names in (["brie"], ["milk"], ["skim"], ["yogurt"], ["bread", "skim"], ["dairy", "skim", "brie"]):
        before = {first.catalogue[item] for item in transaction_of(names, first)} - {"milk"}
        assert {made.plan.catalogue[item] for item in transaction_of(names, made.plan)} == before
    assert made.plan.names.left_out == ("milk", "yogurt")
    assert transaction_of(["salt"], made.plan) == []


# ---- the rule


@pytest.mark.parametrize(("n_items", "mean"), [(1000, 12), (20_000, 3), (60, 20)])
def test_the_rule(n_items: int, mean: int) -> None:
    """Two rounds are chosen if the second's plan lowers a pair's variance 1.7 times; the first is about items."""
    wanted: dict[str, Any] = {"reports": 10**6, "mean_size": mean}
    made = choose_rounds(n_items, GUARANTEE, rounds=2, **wanted)
    assert (made.reports, made.rounds.then.reports, made.plan.items.itemset_size) == (500_000, 500_000, 1)
    ranks = [1 / rank for rank in range(1, n_items + 1)]
    assert made.rounds.share == pytest.approx(sum(ranks[:32]) / sum(ranks))
    alone, then = choose_plan(n_items, GUARANTEE, **wanted), made.rounds.then
    thinned = BasketSizes.from_mean(n_items, mean).thinned(made.rounds.share)
    noises = [
        expected_error(plan.items, sizes, float(plan.share(plan.items)), 2).noise
        for plan, sizes in ((alone.plan, alone.request.sizes), (then.plan, thinned))
    ]
    assert made.rounds.gain == pytest.approx((noises[0] / noises[1]) ** 2)
    assert made.rounds.alone.plan == alone.plan
    chosen = choose_rounds(n_items, GUARANTEE, rounds=None, **wanted)
    assert chosen.plan == (made.plan if made.rounds.gain >= 1.7 else alone.plan)
    assert choose_rounds(n_items, GUARANTEE, rounds=None, reports=10**6).rounds  # of unknown sizes


@pytest.mark.parametrize("options", [{"itemset_size": 2}, {"transaction_size": 4}], ids=str)
def test_what_is_fixed_stays(options: dict[str, int]) -> None:
    """With an itemset size or M there is one round."""
    assert choose_rounds(1000, GUARANTEE, rounds=None, reports=10**5, **options).rounds is None
    with pytest.raises(AssocprivError, match="the first of two rounds is about single items"):
        choose_rounds(1000, GUARANTEE, rounds=2, reports=10**5, **options)


def test_small_catalogues_have_a_pilot_where_sizes_are_unknown() -> None:
    """2% of the people, but at least 400, report first; the others report on all items."""
    made = choose_rounds(32, GUARANTEE, rounds=None, reports=10**5)
    assert (made.reports, made.rounds.then.reports, made.rounds.items) == (2000, 98_000, 32)
    assert choose_rounds(32, GUARANTEE, rounds=None, reports=10**5, mean_size=3).rounds is None
    assert choose_rounds(1, GUARANTEE, rounds=None, reports=10**5).rounds is None
    assert choose_rounds(32, GUARANTEE, rounds=None, reports=5000).reports == 400


def test_few_people_of_a_channel_report_in_one_round() -> None:
    """Where half of the people prove no central guarantee, all report together."""
    wanted: dict[str, Any] = {"central": ("0.1", "1e-8"), "reports": 80}
    assert choose_rounds(40, None, rounds=None, **wanted).rounds is None
    with pytest.raises(AssocprivError, match="reports are too few"):
        choose_rounds(40, None, rounds=2, **wanted)


# ---- both rounds of a file


def test_two_rounds_find_more() -> None:
    """With the same people and guarantee, errors of the true first 20 pairs are smaller."""
    baskets = generate_quest(QuestSettings(n_baskets=50_000, n_items=1000, seed=11))
    counted = TrueSupports(baskets.catalogue, RawCounter(baskets.offsets, baskets.items, len(baskets.catalogue)))
    pairs = [each for each in counted.frequent(0.005, 2) if len(each) == 2]
    truth = dict(sorted(zip(pairs, counted.supports(pairs), strict=True), key=lambda pair: -pair[1])[:20])
    one, two = (ap.plan(baskets.catalogue, GUARANTEE, reports=50_000, rounds=rounds) for rounds in (1, 2))
    both = randomize_rounds(baskets, two, entropy=SeededEntropy(0))
    errors = []
    for reports in (ap.simulate(baskets, one, seed=0).reports, [both.first, both.second]):
        found = ap.mine(reports, top=100)
        own = dict(zip(found["itemsets"], found["support"], strict=True))
        errors.append(sum((own.get(pair, 0.0) - support) ** 2 for pair, support in truth.items()))
    assert len(truth) == 20
    assert errors[1] < errors[0]


def test_everybody_reports_in_one_of_the_rounds() -> None:
    """Everybody reports once; the drawn half does not depend on the order of baskets; equal seeds give equal bytes."""
    baskets = Baskets.from_sets([{"a"}] * 501 + [{"b"}] * 500, catalogue=Catalogue([*"abcdef"]))
    plan = ap.plan(baskets.catalogue, GUARANTEE, reports=1001, rounds=2)
    made = [randomize_rounds(baskets, plan, entropy=SeededEntropy(seed), best=2) for seed in (1, 1, 2)]
    assert [(len(each.first), len(each.second)) for each in made] == [(400, 601)] * 3
    assert (made[0].first.packed == made[1].first.packed).all()
    assert (made[0].second.packed == made[1].second.packed).all()
    assert (made[0].first.packed != made[2].first.packed).any()


def test_each_round_has_its_own_truncation_loss() -> None:
    """The loss of a round is that of its own baskets, cut to its own M; the second round holds only its own items."""
    plan = ap.plan(NAMES, GUARANTEE, reports=2000, rounds=2)
    baskets = Baskets.from_sets([{*NAMES[:20]}] * 2000, catalogue=Catalogue(NAMES))
    made = randomize_rounds(baskets, plan, entropy=SeededEntropy(3), best=25)
    held = len({*made.next_round.plan.catalogue} & {*NAMES[:20]})
    for loss, own, size in zip(made.losses, (plan, made.next_round.plan), (20, held), strict=True):
        m = own.items.transaction_size
        assert (loss.baskets, loss.truncated, loss.transaction_size) == (1000, 1000, m)
        for k, share in loss.shares.items():
            assert share == pytest.approx(1 - comb(m, k) / comb(size, k))
    assert [len(loss.shares) for loss in made.losses] == [1, 3]


def test_every_question_reads_both_rounds() -> None:
    """Named sets, substitutes and comparisons know the pairs of the second round, and only these.

    The first round asks about single items. A pair that no round asks about has no estimate.
    """
    baskets = generate_quest(QuestSettings(n_baskets=20_000, n_items=60, seed=5))
    plan = ap.plan(baskets.catalogue, GUARANTEE, reports=20_000, rounds=2)
    made = [randomize_rounds(baskets, plan, entropy=SeededEntropy(best), best=best) for best in (8, 9)]
    north, south = ([each.first, each.second] for each in made)
    asked = {*north[1].plan.catalogue}
    inside = [*north[1].plan.catalogue][:2]
    outside = next(name for name in plan.catalogue if name not in asked)
    named = ap.ask(north, [inside, [outside]])
    assert (named["unbiased_error"] < 0.1).all()
    assert np.isfinite(named["sampled_error"]).all()
    assert len(ap.ask_rules(north, [(inside[:1], inside[1:])])) == 1
    with pytest.raises(AssocprivError, match=f"itemset 2: no round estimates .*'{outside}'.* together"):
        ap.ask(north, [inside, [inside[0], outside]])
    with pytest.raises(AssocprivError, match="rule 1: no round estimates"):
        ap.ask_rules(north, [([outside], inside[:1])])
    assert {name for pair in ap.substitutes(north, "99%")["itemsets"] for name in pair} <= asked
    compared = ap.compare(north, south).to_frame()
    several = [itemset for itemset in compared["itemsets"] if len(itemset) > 1]
    assert several
    assert {name for itemset in several for name in itemset} <= asked & {*south[1].plan.catalogue}


# ---- refusals


@pytest.mark.parametrize(
    ("count", "best", "people", "wrong"),
    [(1, 8, None, "needs 2 items, the reports are about 1"), (9, 1, None, "best must be"), (9, 8, 0, "people must be")],
)
def test_refusals(count: int, best: int, people: int | None, wrong: str) -> None:
    """A single item, and numbers out of range, are refused."""
    with pytest.raises(AssocprivError, match=wrong):
        following(FALLING[:count], best=best, people=people)


def test_refusals_of_reports_and_files(tmp_path: Any) -> None:
    """Reports of both rounds, no reports, several reports per person in a file, and too few baskets are refused."""
    plan = ap.plan([*"abcdef"], GUARANTEE, reports=1000, rounds=2)
    first = ap.randomize([{"a", "b"}] * 500, plan)
    second = ap.randomize([{"a"}] * 500, ap.refine(first, best=2).plan)
    with pytest.raises(AssocprivError, match="give those of the first round alone"):
        ap.refine([first, second])  # type: ignore[list-item]
    with pytest.raises(AssocprivError, match="no reports"):
        ap.refine(ap.Reports(plan, first.packed[:0]))
    with pytest.raises(AssocprivError, match="at least two baskets"):
        ap.simulation.randomize_in_rounds([{"a"}], plan, tmp_path / "few")
    several = ap.plan([*"abcdef"], GUARANTEE, reports=1000, rounds=2, reports_per_person=2)
    with pytest.raises(AssocprivError, match="one report per person"):
        ap.simulation.randomize_in_rounds([{"a"}] * 9, several, tmp_path / "several")
    ap.simulation.randomize_in_rounds([{"a"}] * 9, plan, tmp_path / "there", best=2)
    with pytest.raises(AssocprivError, match="exists"):
        ap.simulation.randomize_in_rounds([{"a"}] * 9, plan, tmp_path / "there", best=2)
