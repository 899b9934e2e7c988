"""Estimates from reports of blocks, exactly: all blocks, all draws, in fractions; and the errors that they state."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import naive
import numpy as np
import pytest

from assocpriv.client.baskets import Randomizer
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.transition import SupportModel
from assocpriv.plans.view import Blocks, View
from assocpriv.server.supports import Respondents, SubsetCounts, covariance, estimate_supports
from assocpriv.simulation.enumeration import distribution

N_ITEMS, BLOCKS = 5, Blocks(3, 2, 3)
PAIR = (0, 1)
TRANSACTIONS = [frozenset({0, 1}), frozenset({0, 3}), frozenset({4}), frozenset({0, 1, 2, 3, 4})]
Outcome = tuple[bool, ...] | None  # which items of the pair a report shows, None where its block lacks one


def plan_of(m: int) -> Plan:
    """Return a plan of blocks of two or three items."""
    shares = [1, 2, 6] if m == 2 else None
    inside = naive.small_plan("none", BLOCKS.longest(N_ITEMS), m, 2, weight_bits=5, shares=shares)
    return replace(inside, catalogue=Catalogue.numbered(N_ITEMS), view=View(blocks=BLOCKS))


@cache
def joint_law(m: int, transaction: frozenset[int]) -> dict[tuple[bool | None, ...], Fraction]:
    """Return the law of what a person's report shows of each of the pair's items, None for one that its block lacks."""
    plan, result = plan_of(m), dict[tuple[bool | None, ...], Fraction]()
    randomizer = Randomizer(plan)
    for report, p in distribution(lambda entropy: randomizer.randomize(sorted(transaction), entropy=entropy)).items():
        block, shown = set(BLOCKS.members(report[0], N_ITEMS).tolist()), plan.form.items(report)
        seen = tuple(item in shown if item in block else None for item in PAIR)
        result[seen] = result.get(seen, Fraction(0)) + p
    return result


def law(m: int, transaction: frozenset[int]) -> dict[Outcome, Fraction]:
    """Return the law of what a person's report shows of the pair."""
    result = dict[Outcome, Fraction]()
    for seen, p in joint_law(m, transaction).items():
        whole = tuple(bool(each) for each in seen) if None not in seen else None
        result[whole] = result.get(whole, Fraction(0)) + p
    return result


def collections(laws: list[dict[Outcome, Fraction]]) -> Iterator[tuple[list[Outcome], Fraction]]:
    """Yield what the reports of people with these laws show together, with its probability."""
    for outcomes in product(*(law.items() for law in laws)):
        probability = Fraction(1)
        for _, p in outcomes:
            probability *= p
        yield [seen for seen, _ in outcomes], probability


def sums_of(outcomes: list[Outcome]) -> np.ndarray:
    """Return C_0, C_1, C_2 of the pair."""
    told = [seen for seen in outcomes if seen is not None]
    return np.array([[len(told), sum(map(sum, told)), sum(map(all, told))]], dtype=np.int64)


def moments(laws: list[dict[Outcome, Fraction]], asked: int, field: str) -> tuple[Fraction, Fraction, Fraction]:
    """Return mean and variance of the estimate, and the mean stated variance, given how many reports tell."""
    respondents = Respondents(len(laws), SupportModel.of(plan_of(3).operator))
    weight = mean = square = stated = Fraction(0)
    for outcomes, p in collections(laws):
        sums = sums_of(outcomes)
        if sums[0, 0] == asked:
            estimate = estimate_supports(sums, respondents, exact=True)
            support = estimate.support[0]
            weight, mean, square = weight + p, mean + p * support, square + p * support**2
            stated += p * getattr(estimate, field)[0]
    mean, square, stated = mean / weight, square / weight, stated / weight
    return mean, square - mean**2, stated


@pytest.mark.parametrize("asked", [1, 2, 3])
def test_estimates_are_unbiased_for_whole_baskets(asked: int) -> None:
    """Where no block holds more than M of anybody's items, the mean is the raw support however many reports tell."""
    laws = [law(3, transaction) for transaction in (TRANSACTIONS[3], TRANSACTIONS[0], TRANSACTIONS[1])]
    mean, variance, _ = moments(laws, asked, "support")
    assert mean == Fraction(2, 3)
    assert variance > 0
    # the wrong divisor, all reports, is told from it
    assert mean * asked / 3 != Fraction(2, 3) or asked == 3


@pytest.mark.parametrize("asked", [2, 3])
def test_stated_variances_are_those_of_the_estimates(asked: int) -> None:
    """Given how many reports tell, the mean stated variance is the variance, at hand and for the population."""
    chosen = [TRANSACTIONS[0], TRANSACTIONS[1], TRANSACTIONS[3]]
    laws = [law(3, transaction) for transaction in chosen]
    _, variance, stated = moments(laws, asked, "variance")
    assert variance == stated
    mixed: dict[Outcome, Fraction] = {}
    for each in laws:
        for seen, p in each.items():
            mixed[seen] = mixed.get(seen, Fraction(0)) + p / 3
    mean, of_population, stated = moments([mixed] * 3, asked, "population_variance")
    assert (mean, of_population) == (Fraction(2, 3), stated)
    # without the sampling of people, (1/N_A − 1/N)·S with S = 1/3 here, it would be less
    assert variance - _by_chance(laws, asked) == (Fraction(1, asked) - Fraction(1, 3)) / 3
    assert of_population > variance


def _by_chance(laws: list[dict[Outcome, Fraction]], asked: int) -> Fraction:
    """Return R/N_A: the mean variance of Z given the transaction and that the report tells of the pair, over N_A."""
    row, total = SupportModel.of(plan_of(3).operator).row(2), Fraction(0)
    for each in laws:
        told = {seen: p for seen, p in each.items() if seen is not None}
        weight = sum(told.values(), Fraction(0))
        values = [(row[sum(seen)], p / weight) for seen, p in told.items()]
        total += sum((p * z * z for z, p in values), Fraction(0)) - sum((p * z for z, p in values), Fraction(0)) ** 2
    return total / len(laws) / asked


def test_an_overfull_block_loses_what_it_should() -> None:
    """Where a block holds three items and M is 2, the pair survives in one of three: the mean says so exactly."""
    held = law(2, TRANSACTIONS[3])
    blocks = [set(BLOCKS.members(b, N_ITEMS).tolist()) for b in range(BLOCKS.count)]
    surviving = [Fraction(1) if len(block) == 2 else Fraction(1, 3) for block in blocks if set(PAIR) <= block]
    row = SupportModel.of(plan_of(2).operator).row(2)
    told = sum((p for seen, p in held.items() if seen is not None), Fraction(0))
    mean = sum((p * row[sum(seen)] for seen, p in held.items() if seen is not None), Fraction(0)) / told
    assert mean == sum(surviving) / len(surviving)
    assert told == Fraction(len(surviving), BLOCKS.count)


def test_covariances_of_a_rule_and_its_sides() -> None:
    """Cov(b, a) and Cov(a, c) are estimated without bias although fewer reports tell of the rule than of a side."""
    people = [TRANSACTIONS[0], TRANSACTIONS[1], TRANSACTIONS[3]]
    model = SupportModel.of(plan_of(3).operator)
    row_1, row_2 = ([float(q) for q in model.row(k)] for k in (1, 2))
    laws = [joint_law(3, person) for person in people]
    seen: dict[tuple[int, int, int], list[tuple[float, np.ndarray, dict[bool, np.ndarray]]]] = {}
    for outcomes in product(*(law.items() for law in laws)):
        p = float(np.prod([float(p) for _, p in outcomes]))
        shown = [each for each, _ in outcomes]
        n_b, n_a, n_c = (
            sum(all(each[i] is not None for i in items) for each in shown) for items in [(0, 1), (0,), (1,)]
        )
        if n_b < 2:
            continue
        b = np.mean([row_2[sum(each)] for each in shown if None not in each])
        a, c = (np.mean([row_1[each[i]] for each in shown if each[i] is not None]) for i in (0, 1))
        both = [each for each in shown if None not in each]
        counts = np.array(
            [[n_b, sum(e[0] for e in both), sum(e[1] for e in both), sum(map(all, both))]], dtype=np.int64
        )
        counted = SubsetCounts(counts, np.array([[3, n_a, n_c, n_b]], dtype=np.int64))
        stated = np.array([covariance(counted, Respondents(3, model), left, right, population=False)[0]
                           for left, right in [([1, 1], [1, 0]), ([1, 0], [0, 1]), ([1, 0], [1, 0])]])  # fmt: skip
        seen.setdefault((n_b, n_a, n_c), []).append((p, np.array([b, a, c]), stated))
    assert len(seen) > 3
    for found in seen.values():
        weights = np.array([p for p, *_ in found]) / sum(p for p, *_ in found)
        values, stated = (np.array([each[place] for each in found]) for place in (1, 2))
        centred = values - weights @ values
        wanted = weights @ np.stack(
            [centred[:, 0] * centred[:, 1], centred[:, 1] * centred[:, 2], centred[:, 1] ** 2], 1
        )
        assert weights @ stated == pytest.approx(wanted, rel=1e-9, abs=1e-12)
