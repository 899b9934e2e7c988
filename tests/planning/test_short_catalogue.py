"""Short catalogues for a second collection: the guarantee, the composed guarantee, the items and the rule."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from naive import planned

import assocpriv as ap
from assocpriv.client.baskets.one_basket import transaction_of
from assocpriv.files.mined_tables import COLUMNS, MiningFacts, SizeFacts, with_facts
from assocpriv.guarantees.errors import AssocprivError, EstimateError, PlanError
from assocpriv.planning.basket_planner import make_plan
from assocpriv.planning.expected_error import BasketSizes, expected_error
from assocpriv.planning.short_catalogue import refine, short_catalogue
from assocpriv.plans.baskets.catalogue import Names

GUARANTEE = ap.Guarantee("5%", "50%")
NAMES = [f"i{place:02}" for place in range(40)]
PLAN = planned(NAMES, 4, GUARANTEE, itemset_size=2)


def mined(supports, *plans, sizes=None):
    """Return a mined table of {names: support}, by default with PLAN."""
    plans = plans or (PLAN,)
    own = {
        "support": np.array(list(supports.values()), dtype=float),
        "itemsets": pd.Series([frozenset(names) for names in supports], dtype=object),
        "length": [len(names) for names in supports],
        "selected": True,
        "posterior": [[1.0] * 9] * len(supports),
    }
    ids, m = [plan.plan_id for plan in plans], plans[0].items.transaction_size
    facts = MiningFacts(ids, m, 1000, 0.01, 0.95, [[len(supports)] * 2], sizes is not None, [], sizes=sizes)
    return with_facts(pd.DataFrame(dict.fromkeys(COLUMNS, 0.0) | own, columns=COLUMNS), facts)


def singles(supports):
    """Return single items with these supports."""
    return {(name,): support for name, support in zip(NAMES, supports, strict=False)}


FALLING = [0.5 - 0.01 * place for place in range(40)]
PAIRS = {("i00", "i01"): 0.3, ("i01", "i02"): 0.25, ("i00", "i02"): 0.05}


# ---- the guarantee


@pytest.mark.parametrize("guarantee", [("5%", "50%"), ("10%", "25%"), ("1/3", "2/5"), ("1e-6", "0.999999")], ids=str)
def test_the_next_plan_keeps_the_guarantee(guarantee: tuple[str, str]) -> None:
    """The second plan has exactly the first plan's guarantee, and keeps it."""
    first = planned(NAMES, 2, ap.Guarantee(*guarantee), itemset_size=2)
    made = refine(mined(singles(FALLING) | PAIRS, first), first, best=8, reports=10_000)
    assert made.plan.guarantee == first.guarantee
    assert made.plan.amplification < first.guarantee.amplification_limit


def test_the_composed_guarantee_is_bayes_rule() -> None:
    """The composed bounds are Bayes' rule for two independent reports, each at the limit of its guarantee."""
    made = refine(mined(singles(FALLING)), PLAN, best=8)
    limit, prior, posterior = Fraction(19), Fraction(1, 20), Fraction(1, 2)
    assert made.amplification_limit == 361
    likelihoods = Fraction(limit**2), Fraction(1)
    up = prior * likelihoods[0] / (prior * likelihoods[0] + (1 - prior) * likelihoods[1])
    down = posterior * likelihoods[1] / (posterior * likelihoods[1] + (1 - posterior) * likelihoods[0])
    assert (made.highest_posterior, made.lowest_posterior) == (up, down) == (Fraction(19, 20), Fraction(1, 362))


# ---- the short catalogue


def test_the_most_frequent_items_are_kept() -> None:
    """The catalogue has the ``best`` items of largest support, in the order of the first catalogue."""
    made = refine(mined(singles(FALLING[::-1])), PLAN, best=8)
    assert list(made.plan.catalogue) == NAMES[-8:]
    assert made.plan.names.unlisted == "drop"
    assert made.reports == 1000
    assert made.short.share == pytest.approx(sum(FALLING[:8]) / BasketSizes.from_mean(40, sum(FALLING)).mean)
    assert made.short.held == pytest.approx(sum(FALLING[:8]), rel=0.01)
    assert refine(mined(singles(FALLING)), PLAN).plan.n_items == 40


@pytest.mark.parametrize(("n_items", "mean"), [(1000, 12), (20_000, 3)])
def test_the_rule(n_items: int, mean: int) -> None:
    """A short catalogue pays if it halves a pair's variance and baskets hold at most M of its items."""
    choice = ap.plan(n_items, GUARANTEE, reports=10**6, mean_size=mean, explain=True)
    short = short_catalogue(choice)
    assert short is not None
    ranks = [1 / rank for rank in range(1, n_items + 1)]
    assert short.share == pytest.approx(sum(ranks[:100]) / sum(ranks))
    assert short.held == pytest.approx(mean * short.share, rel=1e-3)
    thinned = BasketSizes.from_mean(n_items, mean).thinned(short.share)
    second = make_plan(100, GUARANTEE, reports=10**6, sample=thinned, transaction_size=6)
    noises = [
        expected_error(plan.items, sizes, float(plan.share(plan.items)), 2).noise
        for plan, sizes in ((choice.plan, choice.request.sizes), (second, thinned))
    ]
    assert short.gain == pytest.approx((noises[0] / noises[1]) ** 2)
    assert short.pays == (short.gain >= 2 and short.held <= 6)
    assert short.error == pytest.approx(noises[1] / noises[0])


def test_catalogues_that_are_short_already() -> None:
    """There is no short catalogue for 200 items."""
    assert short_catalogue(ap.plan(200, GUARANTEE, explain=True)) is None


def test_the_estimated_mean_size_is_used() -> None:
    """If the table has an estimated mean basket size, the share of purchases is computed with it."""
    made = refine(mined(singles(FALLING), sizes=SizeFacts(50, 20.0, {"1": [2.0, 0.1]})), PLAN, best=8)
    assert made.short.share == pytest.approx(sum(FALLING[:8]) / BasketSizes.from_mean(40, 20).mean)


def test_supports_of_0_give_the_smallest_share() -> None:
    """A table whose supports are all 0 still gives a plan."""
    made = refine(mined(singles([0.0] * 3)), PLAN)
    assert made.plan.n_items == 3
    assert made.short.share == 0.01


def test_a_table_of_several_plans() -> None:
    """The table may also contain reports of other plans."""
    other = planned(NAMES[:2], 2, ap.Guarantee("5%", "20%"), itemset_size=2)
    assert refine(mined(singles(FALLING), other, PLAN), PLAN, best=8).plan.guarantee == GUARANTEE


# ---- the view


def test_the_taxonomy_keeps_its_meaning() -> None:
    """A name that was an item does not become its ancestor when the short catalogue lacks it."""
    rules = Names(
        unlisted="error",
        parents=(("brie", "cheese"), ("cheese", "dairy"), ("milk", "dairy"), ("skim", "milk"), ("yogurt", "dairy")),
        left_out=("yogurt",),
    )
    first = planned(["bread", "dairy", "milk"], 2, GUARANTEE, names=rules, itemset_size=2)
    rows = {("bread",): 0.4, ("dairy",): 0.3, ("milk",): 0.01}
    made = refine(mined(rows, first), first, best=2)
    assert list(made.plan.catalogue) == ["bread", "dairy"]
    for names in (["brie"], ["milk"], ["skim"], ["yogurt"], ["bread", "skim"], ["dairy", "skim", "brie"]):
        before = {first.catalogue[item] for item in transaction_of(names, first)} - {"milk"}
        assert {made.plan.catalogue[item] for item in transaction_of(names, made.plan)} == before
    assert made.plan.names.left_out == ("milk", "yogurt")
    assert transaction_of(["salt"], made.plan) == []


# ---- refusals


@pytest.mark.parametrize(
    ("rows", "best", "wrong"),
    [
        ({("i00",): 0.5}, 8, "needs 2 single items, the table has 1"),
        ({}, 8, "needs 2 single items, the table has 0"),
        ({("i00", "i01"): 0.5}, 8, "needs 2 single items, the table has 0"),
        ({("x",): 0.5, ("y",): 0.5}, 8, "has items that are not in the plan"),
        (singles(FALLING), 1, "best must be"),
    ],
)
def test_refusals(rows, best, wrong) -> None:
    """A table without two items, a table with other items, and a number out of range are refused."""
    with pytest.raises(AssocprivError, match=wrong):
        refine(mined(rows), PLAN, best=best)


def test_more_refusals() -> None:
    """A table of another plan, 0 reports, and a path instead of a plan are refused."""
    frame = mined(singles(FALLING))
    other = planned(NAMES, 3, GUARANTEE)
    with pytest.raises(EstimateError, match=r"mined from reports of plan .* not of"):
        refine(frame, other)
    with pytest.raises(PlanError, match="reports must"):
        refine(frame, PLAN, reports=0)
    with pytest.raises(TypeError, match="plan must be a Plan"):
        ap.refine(frame, "plan.json")  # type: ignore[arg-type]
