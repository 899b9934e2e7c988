"""The whole way on data with known truth: unbiased, with intervals that cover, and the truth itself is right."""

from itertools import combinations

import numpy as np
import pytest
from naive import frequent_itemsets
from planned import planned

from assocpriv.client.bulk import randomize_chunks
from assocpriv.files.reports import Reports
from assocpriv.plans.baskets import Plan
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import BasketError, EstimateError
from assocpriv.records.baskets import Baskets
from assocpriv.server.apriori import find_itemsets
from assocpriv.server.counting import LocalBackend
from assocpriv.server.supports import Respondents, estimate_supports, normal_quantile
from assocpriv.simulation.enumeration import SeededEntropy
from assocpriv.simulation.simulate import PlainCounter, simulate
from assocpriv.simulation.synthetic import QuestSettings, generate_quest


def itemsets_to_watch(counter: PlainCounter, n_items: int) -> list[np.ndarray]:
    """Return the 20 most frequent items, and pairs and triples of the first of them."""
    singles = np.arange(n_items, dtype=np.int64)[:, None]
    top = np.sort(np.argsort(-counter.count(singles))[:20])
    pairs = np.array(list(combinations(top[:8], 2)))
    triples = np.array(list(combinations(top[:6], 3)))
    return [top[:, None], pairs, triples]


def deviations(baskets: Baskets, plan: Plan, seed: int, watched: list[np.ndarray]) -> np.ndarray:
    """Return (ŝ − truth) / standard error of the watched itemsets in one collection."""
    chunks = list(randomize_chunks(baskets, plan, entropy=SeededEntropy(seed)))
    fitted = np.concatenate([chunk.raw_fitted[0] for chunk in chunks])
    m, n = plan.items.transaction_size, len(baskets)
    truth = PlainCounter(np.arange(n + 1, dtype=np.int64) * m, fitted.ravel(), plan.items.padded_items)
    counter, model = LocalBackend.of(Reports(plan, np.concatenate([chunk.packed for chunk in chunks]))).open()
    result = []
    for itemsets in watched:
        k = itemsets.shape[1]
        sums = np.zeros((len(itemsets), k + 1), dtype=np.int64)
        sums[:, 0] = n
        for mask in range(1, 1 << k):
            members = [i for i in range(k) if mask >> i & 1]
            distinct = np.unique(itemsets[:, members], axis=0)
            counts = counter.count(distinct)
            sums[:, len(members)] += counts[find_itemsets(distinct, itemsets[:, members])]
        estimates = estimate_supports(sums, Respondents(n, model))
        result.append((estimates.support - truth.count(itemsets) / n) / estimates.std_error(population=False))
    return np.concatenate(result)


@pytest.mark.parametrize(
    ("n_baskets", "runs", "promise"),
    [
        (20_000, 60, ("5%", "50%")),
        # its operator has ρ near 1/37: intervals of triples need more reports before the normal approximation holds
        pytest.param(200_000, 60, ("1%", "80%"), marks=pytest.mark.slow),
        pytest.param(1_000_000, 40, ("5%", "50%"), marks=pytest.mark.slow),
        pytest.param(1_000_000, 40, ("1%", "80%"), marks=pytest.mark.slow),
    ],
)
def test_intervals_cover(n_baskets: int, runs: int, promise: tuple[str, str]) -> None:
    """95% intervals cover the truth after sampling in 95% of cases, and 10% narrower ones do not.

    The runs are independent, itemsets within a run are not: the band is 4.9 standard errors of the mean over runs
    (false-alarm rate 1e-6).
    """
    baskets = generate_quest(QuestSettings(n_baskets=n_baskets, n_items=200, n_patterns=100, seed=11))
    plan = planned(baskets.catalogue, 5, Breach(*promise), reports=n_baskets)
    watched = itemsets_to_watch(PlainCounter(baskets.offsets, baskets.items, 200), 200)
    z = np.array([deviations(baskets, plan, seed, watched) for seed in range(runs)])
    limit = normal_quantile(0.95)

    def off(width: float) -> float:
        covered = (np.abs(z) <= limit * width).mean(axis=1)
        return float((covered.mean() - 0.95) / (covered.std(ddof=1) / np.sqrt(runs)))

    assert abs(off(1.0)) < 4.9
    assert off(0.9) < -4.9
    assert off(1.12) > 4.9
    mean = z.mean(axis=1)
    assert abs(mean.mean() / (mean.std(ddof=1) / np.sqrt(runs))) < 4.9
    # a bias of a third of a standard error in every itemset would be seen
    shifted = mean + 1 / 3
    assert shifted.mean() / (shifted.std(ddof=1) / np.sqrt(runs)) > 4.9


def test_truth_is_what_plain_counting_finds() -> None:
    """With a transaction size no basket exceeds, the truth equals a brute-force miner's on the raw baskets."""
    rng = np.random.default_rng(2)
    sets = [set(rng.choice(12, size=rng.integers(0, 5), replace=False).tolist()) for _ in range(400)]
    baskets = Baskets.from_sets(sets)
    plan = planned(len(baskets.catalogue), 4, Breach("5%", "50%"), reports=400)
    result = simulate(baskets, plan, 0.05, seed=1)
    naive = frequent_itemsets(sets, len(baskets.catalogue), 0.05, 3)
    assert result.truth.frequent(0.05, 3) == {frozenset(map(str, itemset)) for itemset in naive}
    for itemset, count in naive.items():
        names = [frozenset(map(str, itemset))]
        assert result.truth.supports(names, raw=True)[0] == pytest.approx(count / len(sets))
        assert result.truth.supports(names, raw=False)[0] == pytest.approx(count / len(sets))


def test_found_missed_and_false_add_up() -> None:
    """Found and missed together are the truly frequent itemsets, and false ones are below the minimum."""
    baskets = generate_quest(QuestSettings(n_baskets=30_000, n_items=60, n_patterns=40, seed=5))
    plan = planned(baskets.catalogue, 4, Breach("5%", "50%"), reports=30_000)
    result = simulate(baskets, plan, "8%", seed=9)
    assert result.found_count + result.missed_count == len(result.truth.frequent(0.08, 3))
    false = result.itemsets[result.itemsets["frequent"] & (result.itemsets["true_support"] < 0.08)]
    assert len(false) == result.false_count
    assert result.sampled_baskets == int((baskets.sizes > 4).sum())


def test_a_seed_repeats_a_simulation() -> None:
    """Equal seeds give equal reports, another seed and no seed give others."""
    baskets = generate_quest(QuestSettings(n_baskets=500, n_items=20, n_patterns=10, seed=5))
    plan = planned(baskets.catalogue, 3, Breach("5%", "50%"))
    packed = [simulate(baskets, plan, 0.5, seed=seed).reports.packed for seed in (1, 1, 2, None)]
    assert (packed[0] == packed[1]).all()
    assert (packed[0] != packed[2]).any()
    assert (packed[0] != packed[3]).any()


def test_bad_requests_are_refused() -> None:
    """Another catalogue, no baskets, a support outside (0, 1] and a size beyond the plan are refused."""
    baskets = Baskets.from_sets([["a"], ["b"]])
    plan = planned(baskets.catalogue, 2, Breach("5%", "50%"), itemset_size=1, code="bch")
    with pytest.raises(BasketError, match="catalogue"):
        simulate(Baskets.from_sets([["c"]]), plan, 0.5)
    with pytest.raises(EstimateError, match="no reports"):
        simulate(baskets[:0], plan, 0.5)
    for support in (0, "0%", 1.5, -1, "x", float("nan")):
        with pytest.raises(EstimateError, match="minimum support"):
            simulate(baskets, plan, support)
    with pytest.raises(EstimateError, match="generator gives"):
        simulate(baskets, plan, 0.5, max_itemset=2)
    with pytest.raises(EstimateError, match=r"1\.\.2 items"):
        simulate(baskets, plan, 0.5, max_itemset=3)
