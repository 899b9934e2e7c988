"""The search for itemsets: candidates against brute force, the likeliest first, and the memory limit."""

from itertools import combinations

import numpy as np
from command_line import mine
from hypothesis import given
from hypothesis import strategies as st
from naive import planned

from assocpriv.files.mined_tables import describe_limits, mining_facts
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.kernels.itemset_counts import join_candidates
from assocpriv.records.baskets import Baskets
from assocpriv.server.baskets.mining import likeliest_pairs
from assocpriv.simulation.basket_simulation import simulate

itemsets_of_two = st.sets(st.sampled_from(list(combinations(range(6), 2))))
itemsets_of_three = st.sets(st.sampled_from(list(combinations(range(6), 3))))


@given(st.one_of(itemsets_of_two, itemsets_of_three, st.sets(st.tuples(st.integers(0, 5)))), st.integers(1, 3))
def test_candidates_are_all_itemsets_with_all_subsets(given_sets, fallback):
    """Join and prune return exactly the itemsets whose subsets one item smaller are all given, in order."""
    k = len(next(iter(given_sets))) if given_sets else fallback
    wanted = [c for c in combinations(range(6), k + 1) if all(s in given_sets for s in combinations(c, k))]
    candidates = join_candidates(np.array(sorted(given_sets), dtype=np.int64).reshape(-1, k))
    assert candidates.shape == (len(wanted), k + 1)
    assert list(map(tuple, candidates.tolist())) == wanted


def test_the_likeliest_pairs_come_first(rng):
    """Half of the pairs have the largest products, half the largest smaller supports; or all pairs are returned.

    The counts are approximate: t items give t(t − 1)/2 pairs, and ties of products are left out.
    """
    supports = rng.permutation(1.0 / np.arange(1, 61) ** 2)
    items = np.sort(rng.choice(60, 40, replace=False))
    every = list(combinations(items.tolist(), 2))
    for count in (30, 200, 600):
        pairs = list(map(tuple, likeliest_pairs(items, supports, count).tolist()))
        assert pairs == sorted(set(pairs))
        for key in (lambda a, b: supports[a] * supports[b], lambda a, b: min(supports[a], supports[b])):
            best = sorted(every, key=lambda pair, key=key: -key(*pair))[: int(0.8 * count / 2)]
            assert set(best) <= set(pairs)
        assert len(pairs) <= count
    assert list(map(tuple, likeliest_pairs(items, supports, len(every)).tolist())) == every


def test_the_memory_limits_the_candidates():
    """If memory holds only some itemsets, the likeliest are counted, and a line says so."""
    plan = planned(12, 3, Guarantee("1%", "99%"), itemset_size=3)
    baskets = Baskets.from_sets([range(12)] * 100_000 + [[0, 1, 2]] * 100_000, plan.catalogue)
    reports = simulate(baskets, plan, 0.9, seed=1).reports
    facts = mining_facts(mine(reports, "1%"))
    assert facts.counted == [[12, 12], [66, 66], [220, 220]]
    assert describe_limits(facts) == []
    few = mine(reports, "1%", memory_bytes=800_000)  # a quarter holds some 90
    counted, possible = mining_facts(few).counted[2]
    assert 0 < counted < 100 < possible == 220
    assert frozenset("012") in set(few["itemsets"])
    (line,) = describe_limits(mining_facts(few))
    assert line.startswith(f"only {counted} of 220 possible triples were counted")
