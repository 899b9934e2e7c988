"""Tests of the plan with the smallest expected error for whole baskets within a guarantee, and of the paper's plan."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import assocpriv as ap
from assocpriv.estimation.supports import Respondents, detectable_support
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import PlanError
from assocpriv.planning import basket_planner, expected_error
from assocpriv.planning.basket_planner import choose_plan, make_plan
from assocpriv.planning.expected_error import BasketSizes
from assocpriv.planning.information_spent import information_shares
from assocpriv.planning.operator_designs import WorstSupport, paper_family, thresholds
from assocpriv.plans.baskets.operator import SupportModel
from assocpriv.show.plan_views import choice as shown_choice

DEFAULT = Guarantee("5%", "50%")
N = 5_000_000


def planned_error(choice: basket_planner.PlannedCollection, sizes: BasketSizes) -> float:
    """Return the expected error of a planned collection, by the moments of its operator."""
    report_type, wanted = (
        choice.plan.items,
        expected_error.design_objective(3, sizes.frequency(choice.plan.n_items)).wanted,
    )
    model, m = SupportModel(report_type.operator), report_type.transaction_size
    moments = [
        sum(probability * float(model.second_moment(k, held)) for held, probability in enumerate(distribution))
        for k, distribution in wanted
    ]
    responses = choice.reports * float(choice.plan.share(report_type))
    frequency = sizes.frequency(choice.plan.n_items)
    return float(expected_error.design_errors(sizes, responses, frequency, np.array([m]), np.array([moments]))[0])


# ---- the choice of a plan


@pytest.mark.parametrize("n_items", [100, 1000, 20_000])
@pytest.mark.parametrize("reports", [10**5, 10**7])
def test_the_chosen_size_is_within_5_percent_of_every_other(n_items: int, reports: int) -> None:
    """No M has an expected error lower by more than the 5% that the planner trades for short reports."""
    chosen = choose_plan(n_items, DEFAULT, reports=reports, mean_size=6)
    sizes = chosen.request.sizes
    others = [choose_plan(n_items, DEFAULT, reports=reports, mean_size=6, transaction_size=m) for m in range(3, 16)]
    least = min(planned_error(other, sizes) for other in others)
    assert planned_error(chosen, sizes) <= 1.05**2 * least  # for each M the shortest report was taken, too
    assert chosen.plan.items.transaction_size in range(5, 16)


def test_the_default_plan() -> None:
    """README's plan: at most 16 bytes, 1% of reports about sizes, γ below 19, and M for half and twice the mean."""
    choice = choose_plan(1000, DEFAULT)
    plan = choice.plan
    assert plan.report_bytes <= 16
    assert plan.share(plan.sizes) == Fraction(1, 100)
    assert plan.amplification < 19
    assert choice.request.sizes.source == "default"
    assert {mean: each.transaction_size for mean, each in choice.other_means.items()} == {
        mean: choose_plan(1000, DEFAULT, mean_size=mean).plan.items.transaction_size for mean in (3, 12)
    }
    assert choice.short_costs >= 1
    assert sum(information_shares(plan).values()) < 1


def test_a_sample_and_its_mean_give_the_same_plan() -> None:
    """A sample with default sizes gives the plan of its mean; F = 1 for a sample with at most M items a basket."""
    default = BasketSizes.from_mean(1000, 6)
    sample = {size: round(10**6 * share) for size, share in enumerate(default.shares.tolist())}
    assert make_plan(1000, DEFAULT, sample=sample) == make_plan(1000, DEFAULT, mean_size=6)
    assert list(choose_plan(5000, DEFAULT, mean_size=900).other_means) == [pytest.approx(450, rel=0.01)]
    short = choose_plan(1000, DEFAULT, sample={3: 5})
    assert (short.plan.items.transaction_size, short.expected[2].factor, short.expected[2].truncation) == (3, 1, 0)


def test_eight_bytes() -> None:
    """``short_costs`` is the smallest error of designs with reports of 8 bytes, divided by that of the chosen one."""
    long = choose_plan(20_000, Guarantee.from_epsilon(4), reports=10**7, mean_size=6)
    assert long.plan.items.report_bits > 64
    assert long.short_costs > 1.05
    assert choose_plan(200, DEFAULT, reports=1000, mean_size=2).short_costs == 1
    none = choose_plan(20_000, Guarantee.from_epsilon(4), itemset_size=12)
    assert none.short_costs == math.inf
    assert shown_choice(none).content["eight_bytes_cost"] is None


def test_few_items_have_reports_of_a_fixed_size_if_their_error_is_smaller() -> None:
    """Sets of a fixed size are better for 100 items in large baskets; they are never chosen for 300 items."""
    plan = make_plan(100, DEFAULT, reports=10**6, mean_size=6)
    assert plan.items.operator.kind == "fixed-size"
    assert make_plan(300, DEFAULT, reports=10**6, mean_size=6).items.operator.kind == "select-a-size"


@pytest.mark.parametrize(
    ("items", "options", "m", "k"),
    [
        (1, {}, 1, 1), (2, {}, 2, 2), (["a", "b", "c"], {}, 3, 3), (1000, {"transaction_size": 2}, 2, 2),
        (1000, {"itemset_size": 5, "transaction_size": 5}, 5, 5), (1000, {"itemset_size": 1, "mean_size": 0.01}, 1, 1),
        (300, {"itemset_size": 15}, 15, 15),
    ],
)  # fmt: skip
def test_default_sizes(items: Any, options: dict[str, Any], m: int, k: int) -> None:
    """K is 3, or less if M or the catalogue is smaller; M is at least K and at most the number of items."""
    plan = make_plan(items, Guarantee.from_epsilon(4), **options)
    assert (plan.items.transaction_size, plan.items.itemset_size) == (m, k)
    assert (plan.sizes is None) == (m >= plan.n_items)


def test_guarantees_that_are_too_strict_have_plans_too() -> None:
    """A guarantee at which no support is detectable has a plan, whose errors and thresholds show it."""
    choice = choose_plan(10, Guarantee("49%", "50%"), reports=1_000)
    assert all(each.noise > 0.4 for each in choice.expected.values())
    smallest = basket_planner.whole_basket_thresholds(choice.plan, 1_000, choice.request.sizes)
    assert all(threshold > 1 for threshold in smallest.values())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"transaction_size": 16}, r"transaction_size \(M\) must be in 1..15"),
        ({"transaction_size": 0}, r"transaction_size \(M\) must be in 1..15"),
        ({"transaction_size": 5, "itemset_size": 6}, r"itemset_size \(K\) must be in 1..5"),
        ({"itemset_size": 11}, r"itemset_size \(K\) must be in 1..10"), ({"reports": 0}, "reports must be in"),
        ({"reports_per_person": 0}, "reports_per_person must be in"),
        *(({"mean_size": mean}, "mean_size, the average number .* must be above 0 and at most 10, got")
          for mean in (0, 11, math.nan)),
        ({"mean_size": 3, "sample": {3: 1}}, "not both"), ({"sample": {0: 1}}, "not empty"),
        ({"paper": True}, "paper needs transaction_size"), ({"items": []}, "a catalogue must hold"),
        ({"items": ["a", "a"]}, "repeats an earlier name"),
    ],
)  # fmt: skip
def test_bad_requests_are_refused(change: dict[str, Any], message: str) -> None:
    """Each argument out of range is refused with its rule."""
    arguments = {"items": 10, "guarantee": DEFAULT} | change
    with pytest.raises(PlanError, match=message):
        make_plan(**arguments)


def test_what_a_wrong_mean_costs() -> None:
    """The cost is the ratio of the expected errors of this plan and of the fitting one, in baskets of that mean."""
    choice = choose_plan(1000, DEFAULT, reports=20_000)
    for mean, other in choice.other_means.items():
        sizes, errors = BasketSizes.from_mean(1000, mean), []
        for plan in (choice.plan, make_plan(1000, DEFAULT, reports=20_000, mean_size=mean)):
            found = expected_error.expected_errors(plan.items, sizes, 20_000 * float(plan.share(plan.items)), 3)
            errors.append(expected_error.overall_error([np.array([each.relative**2]) for each in found.values()])[0])
        assert other.cost == pytest.approx(errors[0] / errors[1], rel=0.03)  # designs are scored before rounding
        assert other.cost > 1.05


# ---- the paper's choice


def test_the_papers_plan() -> None:
    """1,000 items, M=5, 5%→50%: one bit an item, a 40-bit seed, within 2% of the least LDS; one report type."""
    choice = choose_plan(1_000, DEFAULT, reports=N, transaction_size=5, paper=True)
    plan = choice.plan
    assert (plan.items.report_bits, plan.items.generator.kind, plan.items.operator.insert_bits) == (40, "bch", 1)
    assert (plan.sizes, choice.other_means, choice.short_costs) == (None, {}, None)
    lds = max(detectable_support(Respondents(N, SupportModel(plan.items.operator)), k) for k in (1, 2, 3))
    designs = paper_family(5).search(Fraction(19), WorstSupport(3, N), thresholds(5))
    least = min(design.error for design in designs)
    assert least <= lds <= 1.02 * least * (1 + 1e-5)
    assert lds * 100 == pytest.approx(0.497, abs=1e-3)


def test_few_reports_take_no_noisy_design() -> None:
    """With too few reports for triples, the paper's plan has an error near that of a plan for twenty times more
    reports.

    The root of the LDS's equation beyond 100% ignores the noise of baskets without any of the items: with it, such
    plans had ten times the error on every itemset.
    """
    few, many = (
        make_plan(100, Guarantee.from_epsilon(1), transaction_size=5, reports=n, paper=True) for n in (300, 6_000)
    )
    for k in (1, 2, 3):
        ours, best = (sum(SupportModel(plan.items.operator).variances(k), start=0) for plan in (few, many))
        assert ours < 4 * best, k


# ---- examples of guarantees


def test_stricter_guarantees_have_higher_thresholds() -> None:
    """They fall with the number of reports and with a weaker guarantee."""
    explained = basket_planner.explain_guarantees()
    for each in explained.guarantees:
        for k in (1, 2, 3):
            falling = [each.thresholds[n][k] for n in sorted(each.thresholds)]
            assert falling == sorted(falling, reverse=True)
    for stricter, weaker in pairwise(sorted(explained.guarantees, key=lambda each: each.guarantee.amplification_limit)):
        assert stricter.thresholds[10**7][2] > weaker.thresholds[10**7][2]


@pytest.mark.parametrize("size", [None, 1, 5])
@pytest.mark.parametrize("items", [1, 2])
def test_few_items_have_no_larger_itemsets(items: int, size: int | None) -> None:
    """K is at most the number of items, for any M."""
    made = ap.plan(items, ap.Guarantee.from_epsilon(0.1), transaction_size=size, explain=True)
    assert made.plan.items.itemset_size <= items
    assert ap.show.plan_views.choice(made, None, verbose=True).to_json()
    with pytest.raises(PlanError, match=f"itemset_size .K. must be in 1..{min(items, size or items)}, got 3"):
        ap.plan(items, ap.Guarantee.from_epsilon(0.1), transaction_size=size, itemset_size=3)
