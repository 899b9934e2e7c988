"""Tests of rounds: the plans keep the promise, and a schedule on baskets finds what is there."""

from fractions import Fraction

import numpy as np
import pytest
from fit import FALSE_ALARM
from scipy.stats import binom

from assocpriv.planning.rounds import (
    EntryRule,
    People,
    PeopleSplit,
    expected_focus,
    guessed_least,
    items_share,
    plan_items,
    plan_itemsets,
    plan_shortlist,
    plan_sizes,
    sizes_share,
)
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import EstimateError
from assocpriv.records.baskets import Baskets
from assocpriv.server.posterior import Estimate, Knowledge, SizeShares, measured, ranked
from assocpriv.simulation.rounds import run_rounds

PROMISE = Breach("5%", "50%")
STRONG = Breach(Fraction(1, 10**6), Fraction(1, 2))
SIZES = SizeShares(np.array([1, 2, 4, 8]), np.array([0.3, 0.3, 0.3, 0.1]))


def baskets_of(n: int, rng: np.random.Generator) -> tuple[Baskets, dict[tuple[int, ...], float]]:
    """Make baskets over 60 items, some popular, with a pattern of three; and the true supports of its itemsets."""
    chances = np.concatenate([[0.4, 0.3, 0.2], np.full(57, 0.01)])
    held = rng.random((n, 60)) < chances
    held[rng.random(n) < 0.15, 10:13] = True
    baskets = Baskets.from_sets([np.flatnonzero(row).tolist() for row in held], Catalogue.numbered(60))
    wanted = [(0,), (1,), (2,), (0, 1), (10,), (11,), (12,), (10, 11), (10, 12), (11, 12), (10, 11, 12)]
    return baskets, {itemset: float(held[:, list(itemset)].all(axis=1).mean()) for itemset in wanted}


def test_plans_of_all_rounds_keep_the_promise() -> None:
    """Every round's plan is strictly within the promise; catalogues and views are what the round asks for."""
    names = [f"item {i}" for i in range(30)]
    people = People(PROMISE, 10_000, SIZES)
    plans = [
        plan_sizes(PROMISE),
        plan_items(Catalogue(names), people),
        plan_items(Catalogue(names), people, pairs=True),
        plan_shortlist(names[:12], np.linspace(0.3, 0.02, 12), people, 20)[0],
        plan_itemsets([names[:1], names[:2], names[1:3]], np.array([0.2, 0.1, 0.1]), people),
    ]
    for plan in plans:
        assert plan.amplification < PROMISE.amplification_limit
    assert [plan.view.kind for plan in plans] == ["sizes", "items", "items", "items", "itemsets"]
    assert plans[0].transaction_size == plans[0].itemset_size == 1
    assert plans[2].itemset_size == 3
    assert plans[3].view.others == "drop"
    assert plans[4].view.itemsets == tuple(tuple(sorted(names[a:b])) for a, b in ((0, 1), (0, 2), (1, 3)))


def test_longer_baskets_get_a_larger_m() -> None:
    """M grows with what baskets hold, and shrinks with γ: noise then costs more than sampling."""
    catalogue = Catalogue.numbered(200)
    long = SizeShares(np.array([10]), np.ones(1))
    short = SizeShares(np.array([1, 2]), np.array([0.8, 0.2]))
    sizes = [plan_items(catalogue, People(PROMISE, 100_000, shares)).transaction_size for shares in (short, long)]
    assert sizes[0] <= 2 < sizes[1]


def test_focus_foresees_which_sizes_are_wanted() -> None:
    """With a few very popular items pairs and triples are among the wanted; with many rare ones single items are."""
    weights = {k: weight for k, weight, _ in expected_focus(np.array([0.6, 0.5, 0.4, 0.05, 0.02]), 8).sizes}
    assert weights[2] >= weights[1] * 0.5
    rare = {k: weight for k, weight, _ in expected_focus(np.full(100, 0.02), 64).sizes}
    assert rare[1] > 1 > rare[2] > rare[3]
    for _, _, shares in expected_focus(np.array([0.6, 0.5, 0.4]), 5).sizes:
        assert sum(shares) == pytest.approx(1)
        assert min(shares) >= 0


def test_shortlist_asks_what_can_matter() -> None:
    """Items that may reach the last wanted itemset: of sharp estimates few, of noisy ones more, up to a bound."""

    def known(sigma: float) -> Knowledge:
        return {(i,): measured(0.9 / (i + 1), sigma**2) for i in range(100)}

    rule = EntryRule(most=4.0)
    sharp = rule.shortlisted(known(1e-6), 10)
    assert sharp == list(range(len(sharp)))
    assert len(sharp) <= 10
    assert len(sharp) < len(rule.shortlisted(known(0.03), 10)) < 40
    assert len(rule.shortlisted(known(1.0), 10)) == 40


def test_dense_baskets_need_few_items() -> None:
    """Of items that nearly everybody has nine make 255 itemsets of up to four: no other item can be among the top."""
    assert guessed_least(np.full(9, 0.9), 64) > 0.6
    known: Knowledge = {(i,): measured(0.9 if i < 9 else 0.3, 1e-8) for i in range(60)}
    assert EntryRule().shortlisted(known, 64) == list(range(9))


def test_candidates_are_those_that_may_be_wanted() -> None:
    """A pair that is probably rare but may be a pattern is asked about; without exploring it is not."""
    known: Knowledge = {(i,): measured(0.1 - 0.004 * i, 1e-8) for i in range(20)}
    known[0, 1] = Estimate(0.01, 1e-3, 0.01, 1e-3, ((0.9, 0.0, 1e-8), (0.1, 0.09, 1e-5)))
    assert (0, 1) in EntryRule().candidates(known, 10)
    assert (0, 1) not in EntryRule(explore=False).candidates(known, 10)
    assert len(EntryRule(chance=0.0, most_entries=1.5).candidates(known, 10)) == 15


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_rounds_find_what_is_there(rounds: int, rng: np.random.Generator) -> None:
    """At γ = 10^6 − 1 the eleven itemsets lead the ranking with about their true supports."""
    baskets, truth = baskets_of(20_000, rng)
    last = run_rounds(baskets, STRONG, 11, PeopleSplit(rounds=rounds), seed=1)[-1]
    assert set(ranked(last.knowledge, 11)) == set(truth)
    for itemset, support in truth.items():
        assert last.knowledge[itemset].support == pytest.approx(support, abs=0.03)


def test_later_rounds_err_less(rng: np.random.Generator) -> None:
    """At γ = 19 two rounds have a lower error on the true itemsets than one, and three not a higher than two."""
    baskets, truth = baskets_of(60_000, rng)
    errors = []
    for rounds in (1, 3):
        squares = []
        for seed in range(3):
            last = run_rounds(baskets, PROMISE, 11, PeopleSplit(rounds=rounds), seed=seed)[-1].knowledge
            squares += [(last[a].support - s) ** 2 if a in last else s**2 for a, s in truth.items()]
        errors.append(np.sqrt(np.mean(squares)))
    assert errors[1] < 0.85 * errors[0]  # about 0.66; of three seeds 0.5 to 0.8


def test_published_intervals_hold(rng: np.random.Generator) -> None:
    """Of what is published of noisy items at least 90% lies within 95% intervals, and of shrunk supports it does not.

    Of items on the shortlist, most of which noise has brought there: fewer would with a probability of 10^-6 if 90% do.
    """
    chances = np.concatenate([np.full(12, 0.12), np.full(388, 0.004)])
    held = rng.random((20_000, 400)) < chances
    baskets = Baskets.from_sets([np.flatnonzero(row).tolist() for row in held], Catalogue.numbered(400))
    covered, every, shrunk = [], [], []
    for seed in range(4):
        last = run_rounds(baskets, PROMISE, 12, PeopleSplit(rounds=2), seed=seed)[-1]
        for itemset, value in last.knowledge.items():
            truth = held[:, list(itemset)].all(axis=1).mean()
            every.append(abs(value.support - truth) <= 1.96 * value.variance**0.5)
            if len(itemset) == 1 and str(itemset[0]) in last.plan.catalogue:
                covered.append(every[-1])
                shrunk.append(abs(value.expected - truth) <= 1.96 * value.spread**0.5)
    assert sum(covered) >= binom.ppf(FALSE_ALARM, len(covered), 0.9)
    assert sum(shrunk) < binom.ppf(FALSE_ALARM, len(shrunk), 0.9)
    assert np.mean(every) >= 0.9


def test_nothing_is_found_where_nothing_is_told(rng: np.random.Generator) -> None:
    """Just above γ = 1 supports shown are shrunk to what is expected: no pattern is made of noise."""
    baskets, _ = baskets_of(5_000, rng)
    last = run_rounds(baskets, Breach("50%", "51%"), 5, PeopleSplit(rounds=2), seed=3)[-1]
    assert all(len(itemset) == 1 for itemset in ranked(last.knowledge, 5))
    assert max(last.knowledge[a].spread for a in ranked(last.knowledge, 5)) > 0


def test_people_are_asked_once(rng: np.random.Generator) -> None:
    """The groups of a schedule are disjoint and together all people; equal seeds give equal knowledge."""
    baskets, _ = baskets_of(3_000, rng)
    split = PeopleSplit(rounds=3)
    first, again = (run_rounds(baskets, STRONG, 5, split, seed=5) for _ in range(2))
    assert sum(done.people for done in first) == round(0.98 * 3_000)  # with hardly any noise sizes take their least
    assert first[-1].knowledge == again[-1].knowledge


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("items", [0.0, 0.5, 1.0])
def test_shares_add_up(rounds: int, items: float) -> None:
    """Nobody is left out, nobody asked twice; rounds that there are not ask nobody."""
    shares = PeopleSplit(rounds=rounds).shares(0.02, items)
    assert sum(shares) == pytest.approx(1)
    assert min(shares) >= 0
    assert all(share == 0 for share in shares[rounds + 1 :])


def test_more_are_asked_about_sizes_the_larger_the_noise() -> None:
    """Fewer people and a stronger promise ask a larger share about sizes, between 2 and 6 in a hundred."""
    shares = [sizes_share(PROMISE, people) for people in (10**3, 250_000, 10**8)]
    assert shares[0] == 0.06 > shares[1] > shares[2] == 0.02
    assert sizes_share(Breach("5%", "20%"), 250_000) > shares[1]


def test_sizes_decide_how_many_are_asked_about_all_items() -> None:
    """Fewer people, a weaker plan and longer baskets at equal supports ask for more of them, within bounds."""
    short, long = SizeShares(np.array([4]), np.ones(1)), SizeShares(np.array([2, 30]), np.array([0.93, 0.07]))
    at = [items_share(1_000, People(PROMISE, people, short), 64) for people in (10**3, 10**5, 10**6, 10**8)]
    assert at[0] == 0.6 > at[1] > at[2] > at[3] == 0.3
    assert items_share(1_000, People(Breach("5%", "20%"), 10**6, short), 64) > at[2]
    # so weak a promise has no noise that a float could show
    assert items_share(10, People(Breach("1e-24", f"0.{'9' * 24}"), 1_000, short), 64) == 0.3
    assert short.mean == pytest.approx(long.mean, abs=0.05)
    assert items_share(1_000, People(PROMISE, 10**6, long), 64) > at[2]


def test_too_few_baskets_are_refused() -> None:
    """A schedule needs people in every round."""
    with pytest.raises(EstimateError, match="too few"):
        run_rounds(Baskets.from_sets([["a"], ["b"]]), PROMISE, 2)
