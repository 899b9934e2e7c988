"""Schedules tried on baskets: the truth is right, what sampling keeps is right, and privacy at both ends."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

import assocpriv as ap
from assocpriv.planning.baskets import make_plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.view import View
from assocpriv.promise.errors import AssocprivError, EstimateError
from assocpriv.records.baskets import Baskets
from assocpriv.server.posterior import measured
from assocpriv.simulation.rounds import (
    RoundScore,
    RoundsTrial,
    ScheduleTrial,
    of_used_items,
    true_itemsets,
    true_surviving_shares,
    try_rounds,
)
from assocpriv.simulation.synthetic import QuestSettings, generate_quest

PROMISE = ap.Breach("5%", "50%")


@pytest.fixture(scope="module")
def baskets() -> Baskets:
    """Return baskets made here."""
    return generate_quest(QuestSettings(n_baskets=30_000, n_items=60, mean_size=4, seed=5))


def small(rng: np.random.Generator, count: int, n_items: int) -> list[list[int]]:
    """Return baskets of few items, lower ones likelier, some empty."""
    holds = rng.random((count, n_items)) < 0.6 / np.sqrt(np.arange(1, n_items + 1))
    return [np.flatnonzero(row).tolist() for row in holds]


@pytest.mark.parametrize("top", [1, 3, 10, 25, 1000])
def test_the_truth_is_the_most_frequent_itemsets(rng: np.random.Generator, top: int) -> None:
    """They are those of a naive count, all above some support, at least as many as wanted if there are."""
    listed = small(rng, 200, 7)
    found = true_itemsets(Baskets.from_sets(listed), top)
    counts = {
        a: sum(set(a) <= set(basket) for basket in listed) for k in range(1, 5) for a in combinations(range(7), k)
    }
    least = min(found.values())
    assert found == {a: n / 200 for a, n in counts.items() if n and n / 200 >= least - 1e-12}
    assert len(found) >= min(top, sum(n > 0 for n in counts.values()))
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_kept_shares_by_hand(rng: np.random.Generator) -> None:
    """They are the mean over holders of C(M,k)/C(c,k); of entries M/c; of what is not asked for nothing."""
    listed = small(rng, 300, 8)
    data = Baskets.from_sets(listed)
    n = len(data.catalogue)
    itemsets = [(0,), (1,), (0, 1), (0, 1, 2), (4,)]
    items = make_plan([str(i) for i in range(n)], 2, PROMISE, itemset_size=2)
    short = make_plan(["0", "1", "2"], 2, PROMISE, itemset_size=2, view=View(others="drop"))
    entries = (("0",), ("0", "1"), ("1",))
    whole = make_plan(["a", "b", "c"], 1, PROMISE, view=View(kind="itemsets", others="drop", itemsets=entries))

    def expected(itemset, size_of, m, k):
        sizes = [size_of(set(basket)) for basket in listed if set(itemset) <= set(basket)]
        return np.mean([1.0 if c <= m else comb(m, k) / comb(c, k) for c in sizes])

    for itemset, told in zip(itemsets, true_surviving_shares(data, items, itemsets), strict=True):
        assert told == pytest.approx(expected(itemset, len, 2, len(itemset)))
    told = true_surviving_shares(data, short, itemsets)
    assert told[:4] == pytest.approx([expected(a, lambda t: len(t & {0, 1, 2}), 2, len(a)) for a in itemsets[:4]])
    held = [{int(name) for name in entry} for entry in entries]
    asked = true_surviving_shares(data, whole, itemsets)
    assert asked[:3] == pytest.approx([expected(a, lambda t: sum(e <= t for e in held), 1, 1) for a in itemsets[:3]])
    assert (told[4], asked[3], asked[4]) == (0, 0, 0)


def test_gaps_between_numbers_are_no_items(rng: np.random.Generator) -> None:
    """Baskets over the items that occur hold the same names, in parts of baskets too."""
    listed = [[3 * item + 5 for item in basket] for basket in small(rng, 50, 6)]
    data = Baskets.from_sets(listed)
    for part in (data, data[10:30]):
        used = of_used_items(part)
        assert len(used.catalogue) == len({item for basket in part for item in basket})
        named = [{used.catalogue[item] for item in basket} for basket in used]
        assert named == [{data.catalogue[item] for item in basket} for basket in part]
    assert of_used_items(used) is used


def test_rounds_are_told_and_repeat(baskets: Baskets) -> None:
    """All three schedules ask everybody once; a seed repeats them; each keeps the promise."""
    steps = []
    trial = try_rounds(baskets, PROMISE, top=10, seed=3, progress=lambda *step: steps.append(step))
    again = try_rounds(baskets, PROMISE, top=10, seed=3)
    assert [each.count for each in trial.schedules] == [1, 2, 3]
    assert [each.rounds for each in trial.schedules] == [each.rounds for each in again.schedules]
    for tried in trial.schedules:
        assert abs(sum(each.people for each in tried.rounds) - len(baskets)) <= 1
        assert all(each.plan.promise == PROMISE for each in tried.rounds)
        assert tried.rounds[0].hits is None
        assert all(0 <= each.hits <= 10 and each.hits / 10 == each.precision for each in tried.rounds[1:])
    assert trial.tells
    assert [step[1:] for step in steps] == [(done, 4) for done in range(5)]
    one = try_rounds(baskets, PROMISE, rounds=2, top=10, seed=3)
    assert one.schedules[0].rounds == trial.schedules[1].rounds


def test_the_proposal_has_most_hits_and_then_fewest_rounds() -> None:
    """Of schedules with equally many true itemsets the shortest is proposed."""
    plan = make_plan(3, 1, PROMISE)
    sizes = RoundScore("sizes", plan, 1)

    def tried(*hits: int) -> ScheduleTrial:
        rounds = tuple(RoundScore("items", plan, 1, hit, 0.0, 0.0, 1.0, 1.0, 0) for hit in hits)
        return ScheduleTrial((sizes, *rounds), {(0,): measured(0.1, 0.1)}, 0.0)

    data = Baskets.from_sets([[0]])
    for hits, expected in (
        (((3,), (1, 3), (1, 2, 3)), 1),
        (((3,), (1, 4), (1, 2, 4)), 2),
        (((3,), (4, 4), (0, 0, 5)), 3),
    ):
        schedules = tuple(tried(*each) for each in hits)
        assert RoundsTrial(data, PROMISE, 5, {(0,): 1.0}, {(0,): 1.0}, schedules).proposed.count == expected


def test_almost_no_privacy_loss_tells_nothing(baskets: Baskets) -> None:
    """Where γ is just above 1 no true itemset is tellable in any round, and it is said."""
    from assocpriv.show.rounds import trial_lines, trial_record

    trial = try_rounds(baskets, ap.Breach("5%", "5.01%"), top=10, seed=3)
    assert not trial.tells
    assert all(not each.discoverable for tried in trial.schedules for each in tried.rounds)
    assert any("nothing can be told" in line for line in trial_lines(trial, 3))
    assert trial_record(trial)["anything_told"] is False


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_hardly_any_privacy_tells_the_truth(baskets: Baskets, rounds: int) -> None:
    """Where γ is huge the most frequent items come out as they are, up to who happened to be asked."""
    trial = try_rounds(baskets, ap.Breach("1e-9", "0.999999999"), rounds=rounds, top=5, seed=3)
    last = trial.schedules[0].rounds[-1]
    assert last.hits == 5
    assert last.discoverable == 5
    for itemset, truth in trial.truth.items():
        told = trial.schedules[0].known[itemset].support
        # 20% of 30,000 are asked at least; sampling to M loses up to some percent of what the model undoes
        assert abs(told - truth) < 4.9 * (truth * (1 - truth) / 6_000) ** 0.5 + 0.03 * truth


def test_refusals() -> None:
    """No items, too few people and numbers out of range are refused."""
    for data, options, wrong in (
        ([[0, 1]] * 3, {}, "too few"),
        ([[0, 1]] * 500, {"top": 0}, "top must be"),
        ([[0, 1]] * 500, {"rounds": 4}, "rounds must be"),
        ([[0, 1]] * 500, {"rounds": "many"}, "rounds must be"),
    ):
        with pytest.raises(AssocprivError, match=wrong):
            ap.simulate_rounds(data, PROMISE, **options)
    for empty in ([[]] * 500, []):
        with pytest.raises(EstimateError, match="no basket holds any item"):
            ap.simulate_rounds(Baskets.from_sets(empty, Catalogue(["a"])), PROMISE)
