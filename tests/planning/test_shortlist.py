"""A short catalogue for other people: its promise, what both answers of one person tell, its items, its rule."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from naive import planned

import assocpriv as ap
from assocpriv.client.transactions import transaction_of
from assocpriv.planning.baskets import make_plan
from assocpriv.planning.expected import Sizes, expected_error
from assocpriv.planning.shortlist import refine, short_catalogue
from assocpriv.plans.names import Names
from assocpriv.promise.errors import AssocprivError, EstimateError, PlanError
from assocpriv.server.itemsets import COLUMNS, MiningFacts, SizeFacts, with_facts

PROMISE = ap.Breach("5%", "50%")
NAMES = [f"i{place:02}" for place in range(40)]
PLAN = planned(NAMES, 4, PROMISE, itemset_size=2)


def mined(supports, *plans, sizes=None):
    """Return a table of {names: support} that was mined with plans, PLAN by default."""
    plans = plans or (PLAN,)
    own = {
        "support": np.array(list(supports.values()), dtype=float),
        "itemsets": pd.Series([frozenset(names) for names in supports], dtype=object),
        "length": [len(names) for names in supports],
        "listed": True,
        "posterior": " ".join(["1.0"] * 9),
    }
    ids, m = [plan.plan_id for plan in plans], plans[0].items.transaction_size
    facts = MiningFacts(ids, m, 1000, 0.01, 0.95, [[len(supports)] * 2], sizes is not None, [], sizes=sizes)
    return with_facts(pd.DataFrame(dict.fromkeys(COLUMNS, 0.0) | own, columns=COLUMNS), facts)


def singles(supports):
    """Return the first names, each by itself, with these supports."""
    return {(name,): support for name, support in zip(NAMES, supports, strict=False)}


FALLING = [0.5 - 0.01 * place for place in range(40)]
PAIRS = {("i00", "i01"): 0.3, ("i01", "i02"): 0.25, ("i00", "i02"): 0.05}


# ---- the promise


@pytest.mark.parametrize("promise", [("5%", "50%"), ("10%", "25%"), ("1/3", "2/5"), ("1e-6", "0.999999")], ids=str)
def test_the_next_plan_keeps_the_promise(promise: tuple[str, str]) -> None:
    """The next plan promises what the first did, exactly, and keeps it."""
    first = planned(NAMES, 2, ap.Breach(*promise), itemset_size=2)
    made = refine(mined(singles(FALLING) | PAIRS, first), first, best=8, reports=10_000)
    assert made.plan.promise == first.promise
    assert made.plan.amplification < first.promise.amplification_limit


def test_both_answers_are_bayes_by_hand() -> None:
    """What two answers may tell is Bayes' rule for two independent reports, each at the limit of its promise."""
    made = refine(mined(singles(FALLING)), PLAN, best=8)
    limit, prior, posterior = Fraction(19), Fraction(1, 20), Fraction(1, 2)
    assert made.amplification_limit == 361
    likelihoods = Fraction(limit**2), Fraction(1)
    up = prior * likelihoods[0] / (prior * likelihoods[0] + (1 - prior) * likelihoods[1])
    down = posterior * likelihoods[1] / (posterior * likelihoods[1] + (1 - posterior) * likelihoods[0])
    assert (made.highest_posterior, made.lowest_posterior) == (up, down) == (Fraction(19, 20), Fraction(1, 362))


# ---- the short catalogue


def test_the_likeliest_items_are_asked() -> None:
    """The catalogue has the items of largest support, as many as wanted, in the order of the first one."""
    made = refine(mined(singles(FALLING[::-1])), PLAN, best=8)
    assert list(made.plan.catalogue) == NAMES[-8:]
    assert made.plan.names.others == "drop"
    assert made.reports == 1000
    assert made.short.share == pytest.approx(sum(FALLING[:8]) / Sizes.usual(40, sum(FALLING)).mean)
    assert made.short.held == pytest.approx(sum(FALLING[:8]), rel=0.01)
    assert refine(mined(singles(FALLING)), PLAN).plan.n_items == 40


@pytest.mark.parametrize(("n_items", "mean"), [(1000, 12), (20_000, 3)])
def test_the_rule(n_items: int, mean: int) -> None:
    """Asking only the best sold pays where a pair's variance halves and baskets hold no more of them than M."""
    choice = ap.choose_plan(n_items, PROMISE, reports=10**6, mean_size=mean)
    short = short_catalogue(choice)
    assert short is not None
    ranks = [1 / rank for rank in range(1, n_items + 1)]
    assert short.share == pytest.approx(sum(ranks[:100]) / sum(ranks))
    assert short.held == pytest.approx(mean * short.share, rel=1e-3)
    law = Sizes.usual(n_items, mean).thinned(short.share)
    second = make_plan(100, PROMISE, reports=10**6, like=law, transaction_size=6)
    noises = [
        expected_error(plan.items, sizes, float(plan.share(plan.items)), 2).noise
        for plan, sizes in ((choice.plan, choice.request.sizes), (second, law))
    ]
    assert short.gain == pytest.approx((noises[0] / noises[1]) ** 2)
    assert short.pays == (short.gain >= 2 and short.held <= 6)
    assert short.error == pytest.approx(noises[1] / noises[0])


def test_catalogues_that_are_short_already() -> None:
    """Of 200 items nothing is said."""
    assert short_catalogue(ap.choose_plan(200, PROMISE)) is None


def test_the_mean_size_that_reports_tell_is_taken() -> None:
    """Where the table has the mean size of baskets, the share of what is bought is by that."""
    made = refine(mined(singles(FALLING), sizes=SizeFacts(50, 20.0, {"1": [2.0, 0.1]})), PLAN, best=8)
    assert made.short.share == pytest.approx(sum(FALLING[:8]) / Sizes.usual(40, 20).mean)


def test_where_nothing_was_found_the_least_is_assumed() -> None:
    """Where the supports of all items are 0, a plan still comes of it."""
    made = refine(mined(singles([0.0] * 3)), PLAN)
    assert made.plan.n_items == 3
    assert made.short.share == 0.01


def test_one_of_several_plans_is_followed() -> None:
    """A table may have been mined with other plans' reports too."""
    other = planned(NAMES[:2], 2, ap.Breach("5%", "20%"), itemset_size=2)
    assert refine(mined(singles(FALLING), other, PLAN), PLAN, best=8).plan.promise == PROMISE


# ---- the view


def test_a_taxonomy_goes_along_and_means_the_same() -> None:
    """A name that was an item of its own does not become the item above it because the shortlist lacks it."""
    rules = Names(
        others="error",
        parents=(("brie", "cheese"), ("cheese", "dairy"), ("milk", "dairy"), ("skim", "milk"), ("yogurt", "dairy")),
        left_out=("yogurt",),
    )
    first = planned(["bread", "dairy", "milk"], 2, PROMISE, names=rules, itemset_size=2)
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
        ({("x",): 0.5, ("y",): 0.5}, 8, "names items that the plan does not have"),
        (singles(FALLING), 1, "best must be"),
    ],
)
def test_refusals(rows, best, wrong) -> None:
    """A table without two items, of other names, and a number out of range are refused."""
    with pytest.raises(AssocprivError, match=wrong):
        refine(mined(rows), PLAN, best=best)


def test_more_refusals() -> None:
    """A table of another plan, what is no plan and no people are refused."""
    frame = mined(singles(FALLING))
    other = planned(NAMES, 3, PROMISE)
    with pytest.raises(EstimateError, match="not with the plan given"):
        refine(frame, other)
    with pytest.raises(PlanError, match="reports must"):
        refine(frame, PLAN, reports=0)
    with pytest.raises(TypeError, match="plan must be a Plan"):
        ap.refine(frame, "plan.json")  # type: ignore[arg-type]
