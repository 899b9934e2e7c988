"""Tests of the plan that tells most of whole baskets inside a promise, and of the paper's choice."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import assocpriv as ap
from assocpriv.planning.baskets import Choice, choose_plan, explain_promises, make_plan, whole_levels
from assocpriv.planning.designs import WorstSupport, papers_family, thresholds
from assocpriv.planning.expected import Sizes, design_errors, design_objective
from assocpriv.planning.information import spent
from assocpriv.plans.transition import SupportModel
from assocpriv.promise.breaches import Breach, Epsilon
from assocpriv.promise.errors import PlanError
from assocpriv.server.supports import Respondents, lowest_discoverable_support
from assocpriv.show.plans import choice as shown_choice

USUAL = Breach("5%", "50%")
N = 5_000_000


def error_of(choice: Choice, sizes: Sizes) -> float:
    """Return the expected error of a choice, by the moments of its operator."""
    question, wanted = choice.plan.items, design_objective(3, sizes.frequency(choice.plan.n_items)).wanted
    model, m = SupportModel.of(question.operator), question.transaction_size
    moments = [
        sum(chance * float(model.second_moment(k, held)) for held, chance in enumerate(law)) for k, law in wanted
    ]
    answers = choice.reports * float(choice.plan.share(question))
    frequency = sizes.frequency(choice.plan.n_items)
    return float(design_errors(sizes, answers, frequency, np.array([m]), np.array([moments]))[0])


# ---- the choice


@pytest.mark.parametrize("n_items", [100, 1000, 20_000])
@pytest.mark.parametrize("reports", [10**5, 10**7])
def test_the_chosen_size_is_within_5_percent_of_every_other(n_items: int, reports: int) -> None:
    """No M has an expected error lower by more than the 5% that are given away for short reports."""
    chosen = choose_plan(n_items, USUAL, reports=reports, mean_size=6)
    sizes = chosen.request.sizes
    others = [choose_plan(n_items, USUAL, reports=reports, mean_size=6, transaction_size=m) for m in range(3, 16)]
    least = min(error_of(other, sizes) for other in others)
    assert error_of(chosen, sizes) <= 1.05**2 * least  # of each M the shortest was taken, too
    assert chosen.plan.items.transaction_size in range(5, 16)


def test_more_reports_and_larger_baskets_sample_more_items() -> None:
    """M grows with N and with the mean size; a longer report is taken where it tells more."""
    by_reports = [choose_plan(1000, USUAL, reports=n).plan.items.transaction_size for n in (10**5, 10**7, 10**9)]
    assert by_reports == sorted(by_reports)
    assert by_reports[0] < by_reports[-1]
    by_mean = [choose_plan(1000, USUAL, mean_size=mean).plan.items.transaction_size for mean in (2, 4, 8, 16)]
    assert by_mean == sorted(by_mean)
    assert by_mean[0] < by_mean[-1]


def test_the_usual_plan() -> None:
    """README's plan: at most 16 bytes, 1% asked about sizes, γ below 19; half and twice the mean are told."""
    choice = choose_plan(1000, USUAL)
    plan = choice.plan
    assert plan.report_bytes <= 16
    assert plan.share(plan.sizes) == Fraction(1, 100)
    assert plan.amplification < 19
    assert choice.request.sizes.source == "usual"
    assert choice.other_means == {
        mean: choose_plan(1000, USUAL, mean_size=mean).plan.items.transaction_size for mean in (3, 12)
    }
    assert choice.short_costs >= 1
    assert sum(spent(plan).values()) < 1


def test_a_sample_and_its_mean_choose_alike() -> None:
    """A sample whose sizes are usual ones gives the plan of its mean; one that holds no more items than M has F = 1."""
    law = Sizes.usual(1000, 6)
    sample = {size: round(10**6 * share) for size, share in enumerate(law.shares.tolist())}
    assert make_plan(1000, USUAL, like=sample) == make_plan(1000, USUAL, mean_size=6)
    assert list(choose_plan(5000, USUAL, mean_size=900).other_means) == [pytest.approx(450, rel=0.01)]
    short = choose_plan(1000, USUAL, like={3: 5})
    assert (short.plan.items.transaction_size, short.expected[2].factor, short.expected[2].undoing) == (3, 1, 0)


def test_eight_bytes() -> None:
    """What reports of 8 bytes cost is the least error among designs that have such, over that of the chosen one."""
    long = choose_plan(20_000, Epsilon(4), reports=10**7, mean_size=6)
    assert long.plan.items.report_bits > 64
    assert long.short_costs > 1.05
    assert choose_plan(200, USUAL, reports=1000, mean_size=2).short_costs == 1
    none = choose_plan(20_000, Epsilon(4), itemset_size=12)
    assert none.short_costs == math.inf
    assert shown_choice(none).content["eight_bytes_cost"] is None


def test_few_items_have_reports_of_a_fixed_size_where_these_tell_more() -> None:
    """100 items of large baskets are told better by sets of a fixed size; 300 are never asked so."""
    plan = make_plan(100, USUAL, reports=10**6, mean_size=6)
    assert plan.items.operator.kind == "fixed-size"
    assert make_plan(300, USUAL, reports=10**6, mean_size=6).items.operator.kind == "select-a-size"


@pytest.mark.parametrize(
    ("items", "wishes", "m", "k"),
    [
        (1, {}, 1, 1), (2, {}, 2, 2), (["a", "b", "c"], {}, 3, 3), (1000, {"transaction_size": 2}, 2, 2),
        (1000, {"itemset_size": 5, "transaction_size": 5}, 5, 5), (1000, {"itemset_size": 1, "mean_size": 0.01}, 1, 1),
        (300, {"itemset_size": 15}, 15, 15),
    ],
)  # fmt: skip
def test_sizes_that_follow(items: Any, wishes: dict[str, Any], m: int, k: int) -> None:
    """K is 3 or what M and the catalogue allow; M is at least K and at most what a basket can hold."""
    plan = make_plan(items, Epsilon(4), **wishes)
    assert (plan.items.transaction_size, plan.items.itemset_size) == (m, k)
    assert (plan.sizes is None) == (m >= plan.n_items)


def test_hopeless_promises_are_planned_for_too() -> None:
    """A promise at which nothing can be told still has a plan, and its errors say so."""
    choice = choose_plan(10, Breach("49%", "50%"), reports=1_000)
    assert all(each.noise > 0.4 for each in choice.expected.values())
    assert all(level > 1 for level in whole_levels(choice.plan, 1_000, choice.request.sizes).values())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"transaction_size": 16}, r"transaction_size \(M\) must be in 1..15"),
        ({"transaction_size": 0}, r"transaction_size \(M\) must be in 1..15"),
        ({"transaction_size": 5, "itemset_size": 6}, r"itemset_size \(K\) must be in 1..5"),
        ({"itemset_size": 11}, r"itemset_size \(K\) must be in 1..10"), ({"reports": 0}, "reports must be in"),
        ({"reports_per_person": 0}, "reports_per_person must be in"), ({"mean_size": 11}, "mean size of baskets"),
        ({"mean_size": 3, "like": {3: 1}}, "not both"), ({"like": {0: 1}}, "not empty"),
        ({"paper": True}, "needs a transaction size"), ({"items": []}, "a catalogue must hold"),
        ({"items": ["a", "a"]}, "repeats an earlier name"),
    ],
)  # fmt: skip
def test_bad_requests_are_refused(change: dict[str, Any], message: str) -> None:
    """Each argument out of range is refused with its rule."""
    arguments = {"items": 10, "promise": USUAL} | change
    with pytest.raises(PlanError, match=message):
        make_plan(**arguments)


def test_other_means_are_those_that_would_be_told() -> None:
    """Half and twice the mean have the M that the planner takes for them, in short catalogues too."""
    choice = choose_plan(20, USUAL, reports=10**6, mean_size=6)
    assert len(choice.other_means) == 2
    for mean, m in choice.other_means.items():
        assert make_plan(20, USUAL, reports=10**6, mean_size=mean).items.transaction_size == m


# ---- the paper's choice


def test_the_papers_plan() -> None:
    """1,000 items, M=5, 5%→50%: one bit an item, a 40-bit seed, within 2% of the least LDS; one question."""
    choice = choose_plan(1_000, USUAL, reports=N, transaction_size=5, paper=True)
    plan = choice.plan
    assert (plan.items.report_bits, plan.items.generator.kind, plan.items.operator.insert_bits) == (40, "bch", 1)
    assert (plan.sizes, choice.other_means, choice.short_costs) == (None, {}, None)
    lds = max(lowest_discoverable_support(Respondents(N, SupportModel.of(plan.items.operator)), k) for k in (1, 2, 3))
    designs = papers_family(5).search(Fraction(19), WorstSupport(3, N), thresholds(5))
    least = min(design.error for design in designs)
    assert least <= lds <= 1.02 * least * (1 + 1e-5)
    assert lds * 100 == pytest.approx(0.497, abs=1e-3)


def test_few_reports_take_no_noisy_design() -> None:
    """With too few reports for triples, the paper's choice errs about as little as one for twenty times as many.

    The root of the LDS's equation beyond 100% forgets the noise of who holds nothing: by it such plans erred ten times
    as much on every itemset.
    """
    few, many = (make_plan(100, Epsilon(1), transaction_size=5, reports=n, paper=True) for n in (300, 6_000))
    for k in (1, 2, 3):
        ours, best = (sum(SupportModel.of(plan.items.operator).variances(k), start=0) for plan in (few, many))
        assert ours < 4 * best, k


# ---- worked promises


def test_worked_promises_cost_more_the_stricter_they_are() -> None:
    """Levels are those of the plans that the planner makes, fall with reports, and with a weaker promise."""
    explained = explain_promises()
    for each in explained.promises:
        for k in (1, 2, 3):
            costs = [each.levels[n][k] for n in sorted(each.levels)]
            assert costs == sorted(costs, reverse=True)
    usual = explained.promises[3]
    choice = choose_plan(1000, usual.promise, reports=10**6)
    told = shown_choice(choice).content["expected"]
    assert {str(k): level for k, level in usual.levels[10**6].items()} == {k: told[k]["believed_from"] for k in told}
    for stricter, weaker in pairwise(sorted(explained.promises, key=lambda each: each.promise.amplification_limit)):
        assert stricter.levels[10**7][2] > weaker.levels[10**7][2]


@pytest.mark.parametrize("size", [None, 1, 2, 5])
@pytest.mark.parametrize("items", [1, 2])
def test_few_items_have_no_larger_itemsets(items: int, size: int | None) -> None:
    """The largest itemsets that are planned for hold all items at most, however many a report shows."""
    made = ap.choose_plan(items, ap.Epsilon(0.1), transaction_size=size)
    assert made.plan.items.itemset_size <= items
    assert ap.show.plans.choice(made, None, verbose=True).to_json()
    with pytest.raises(PlanError, match=f"itemset_size .K. must be in 1..{min(items, size or items)}, got 3"):
        ap.plan(items, ap.Epsilon(0.1), transaction_size=size, itemset_size=3)
