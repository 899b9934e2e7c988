"""The peers of the accuracy bench have the distributions, privacy and estimates of their sources.

Sampling tests reject a correct method once in a million runs.
"""

import doctest
import math
from itertools import chain, combinations, product

import numpy as np
import pytest
from naive import Z_LIMIT, binomial_sum, held_by, random_transactions, rejects, transactions_of

from bench.accuracy import data, metrics, oracles, peers, tuning
from bench.accuracy.oracles import Wheel
from bench.accuracy.transactions import Transactions


@pytest.mark.parametrize("module", [oracles, peers, tuning, data])
def test_examples_hold(module):
    """The examples in the bench's docstrings hold (pytest collects doctests only elsewhere)."""
    assert doctest.testmod(module).failed == 0


# ---- frequency oracles


def mixed(keys):
    """Mix 64 bits well (the finalizer of SplitMix64)."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def hashed_reports(values, n_values, epsilon, cells, rng):
    """Report by real hashing, one seed per person; return which values each report supports, bool (people, values)."""
    seeds = rng.integers(1 << 64, size=len(values), dtype=np.uint64)
    table = mixed(mixed(seeds)[:, None] + np.arange(n_values, dtype=np.uint64)) % np.uint64(cells)
    own = table[np.arange(len(values)), values].astype(np.int64)
    stays = rng.random(len(values)) < math.exp(epsilon) / (math.exp(epsilon) + cells - 1)
    other = (own + rng.integers(1, cells, size=len(values))) % cells
    return table == np.where(stays, own, other)[:, None].astype(np.uint64)


def test_simulated_hashing_counts_have_the_exact_distribution(rng):
    """Simulated counts and counts of real hashes have the exact distribution; one with p of another g is rejected."""
    held, n, runs = np.array([5, 3, 0]), 8, 6_000
    oracle = oracles.hashing(1.0, 4)
    drawn = np.array([oracle.support(held, n, rng) for _ in range(runs)])
    shown = hashed_reports(np.tile(np.repeat(np.arange(3), held), runs), 3, 1.0, 4, rng)
    real = shown.reshape(runs, n, 3).sum(axis=1)
    wrong = oracles.hashing(1.0, 3).p
    for value in range(3):
        expected = binomial_sum(held[value], oracle.p, n - held[value], oracle.q)
        for counts in (drawn, real):
            assert not rejects(np.bincount(counts[:, value], minlength=n + 1), expected)
    assert rejects(np.bincount(drawn[:, 0], minlength=n + 1), binomial_sum(5, wrong, 3, oracle.q))


def test_simulated_response_counts_have_the_exact_distribution(rng):
    """A report is the own value with probability p, each other with q; p and q of twice the domain are rejected."""
    oracle = oracles.grr(1.0, 4)
    counts = oracle.support(np.array([30_000, 0, 0, 0]), 30_000, rng)
    assert counts.sum() == 30_000
    assert not rejects(counts, [oracle.p, *[oracle.q] * 3])
    wrong = oracles.grr(1.0, 8)
    assert rejects(counts, [1 - 3 * wrong.q, *[wrong.q] * 3])
    pair = np.array([oracle.support(np.array([1, 1, 0, 0]), 2, rng)[0] for _ in range(20_000)])
    assert not rejects(np.bincount(pair, minlength=3), binomial_sum(1, oracle.p, 1, oracle.q))


def test_hashing_takes_the_best_number_of_cells():
    """No other number of cells has a smaller variance, and it is close to 4e^ε/(e^ε − 1)²."""
    for epsilon in (0.5, 1.0, 2.0, math.log(19), 4.0):
        best = oracles.olh(epsilon).variance
        assert best == pytest.approx(min(oracles.hashing(epsilon, g).variance for g in range(2, 200)))
        assert best == pytest.approx(4 * math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2, rel=0.03)


def test_the_oracle_is_chosen_as_in_the_source():
    """GRR is chosen where d < L(4L − 1)e^ε + 1, except in cases near the boundary."""
    for epsilon, length, values in product((1.0, 2.0, 4.0), (1, 2, 4), (4, 64, 256, 4096)):
        bound = length * (4 * length - 1) * math.exp(epsilon) + 1
        if not 0.8 < values / bound < 1.25:
            is_grr = oracles.best_oracle(epsilon, values, length, padding_items=length).domain > 0
            assert is_grr == (values < bound), (epsilon, length, values)


def probabilities(basket, n_items, length, shared_padding_item):
    """Return the distribution of the padded sample of a basket, over items and padding items."""
    values = np.zeros(n_items + (1 if shared_padding_item else length))
    values[list(basket)] = 1 / max(length, len(basket))
    missing = max(length - len(basket), 0)
    if shared_padding_item:
        values[n_items] = missing / length
    else:
        values[n_items : n_items + missing] = 1 / length
    return values


def worst_ratio(epsilon, n_items, length, *, shared_padding_item):
    """Return the largest ratio of the probabilities of one report under two baskets, over all baskets."""
    amplified = math.log(length * (math.exp(epsilon) - 1) + 1)
    oracle = oracles.grr(amplified, n_items + (1 if shared_padding_item else length))
    baskets = chain.from_iterable(combinations(range(n_items), k) for k in range(n_items + 1))
    shares = np.array([probabilities(each, n_items, length, shared_padding_item) for each in baskets])
    rows = oracle.q + (oracle.p - oracle.q) * shares
    return (np.max(rows, axis=0) / np.min(rows, axis=0)).max()


@pytest.mark.parametrize("length", [1, 2, 3])
def test_amplified_randomized_response_is_private(length):
    """Over all baskets, reports with the amplified budget satisfy ε-LDP; with a single padding item they do not."""
    epsilon = 1.5
    assert worst_ratio(epsilon, 4, length, shared_padding_item=False) == pytest.approx(math.exp(epsilon))
    if length > 1:
        assert worst_ratio(epsilon, 4, length, shared_padding_item=True) > 1.2 * math.exp(epsilon)


@pytest.mark.parametrize("basket", [set(), {2}, {0, 1, 3}])
def test_padded_samples_have_their_distribution(rng, basket):
    """All items of a padded basket are equally likely, padding items are distinct; unpadded sampling is rejected."""
    source = transactions_of([basket] * 9_000, 4)
    counts = np.bincount(oracles.sample_padded(source, 2, rng), minlength=6)
    assert not rejects(counts, probabilities(basket, 4, 2, shared_padding_item=False))
    if basket == {2}:
        assert rejects(counts, np.eye(6)[2])


@pytest.mark.parametrize(("n_items", "length", "is_grr"), [(6, 6, True), (400, 2, False)])
def test_padded_shares_are_unbiased(rng, n_items, length, is_grr):
    """Estimates are within their errors if no basket is too long; without the factor L they are not."""
    source = random_transactions(rng, 30_000, n_items, share=0.9 / n_items)
    source = source.take(np.flatnonzero(source.sizes <= length))
    assert (oracles.best_oracle(2.0, n_items, length, padding_items=length).domain > 0) == is_grr
    supports, errors = oracles.padded_shares(source, 2.0, length, rng)
    truth = source.item_counts() / len(source)
    assert (np.abs(supports - truth) < Z_LIMIT * errors).all()
    if is_grr:
        assert (np.abs(supports / length - truth) > Z_LIMIT * errors / length).any()


# ---- the wheel, the set-valued oracle


def test_the_wheel_is_private_for_all_hashes():
    """Arcs cover p to m·p of the ring; densities differ by at most a factor e^ε, which is reached without overlap."""
    for epsilon, length in ((0.5, 1), (1.0, 5), (math.log(19), 3), (4.0, 8)):
        wheel = Wheel(epsilon, length)
        covered = np.linspace(wheel.q, length * wheel.q, 20)
        elsewhere = (1 - covered * wheel.density) / (1 - covered)  # the density of the point on no own arc
        assert elsewhere.min() > 0
        assert max(wheel.density, *elsewhere) / min(wheel.density, *elsewhere) == pytest.approx(math.exp(epsilon))
        assert wheel.density / elsewhere[-1] == pytest.approx(math.exp(epsilon))


def test_the_arcs_of_the_wheel_have_the_best_length():
    """No other length reduces the variance of rare items by half a percent; twice and half the length increase it."""

    def variance(length, epsilon, arc):
        p = arc * math.exp(epsilon) / (1 + length * arc * math.expm1(epsilon))
        return arc * (1 - arc) / (p - arc) ** 2

    for epsilon, length in ((1.0, 5), (math.log(19), 3), (4.0, 8)):
        wheel = Wheel(epsilon, length)
        mine = variance(length, epsilon, wheel.q)
        assert mine == pytest.approx(wheel.oracle.variance)
        factors = np.linspace(0.5, 1.5, 201)
        assert mine < 1.005 * min(variance(length, epsilon, wheel.q * factor) for factor in factors)
        assert 1.05 * mine < min(variance(length, epsilon, wheel.q * factor) for factor in (0.5, 2.0))


def test_hits_of_the_wheel_have_the_distribution_of_overlapping_arcs(rng):
    """The point hits two own items with p²·density, where their arcs overlap; independent hits are rejected."""
    wheel = Wheel(1.0, 2)
    hits = wheel.own_hits(60_000, rng)
    both = wheel.q**2 * wheel.density
    expected = [1 - 2 * wheel.p + both, wheel.p - both, wheel.p - both, both]
    counts = np.bincount(hits @ np.array([2, 1]), minlength=4)
    assert not rejects(counts, expected)
    p = wheel.p
    assert rejects(counts, [(1 - p) ** 2, p * (1 - p), p * (1 - p), p * p])


def test_counts_have_the_distribution_of_reports(rng):
    """Each value's count is that of own and other reports; probabilities of sets twice as long are rejected."""
    people = transactions_of([{0, 1, 2}, {0, 2}, {0}, {1, 2}, set(), {0, 1}], 9)
    oracle, other = Wheel(1, 3), Wheel(1, 6)
    drawn = np.array([oracles.set_support(oracle, people, rng) for _ in range(5_000)])
    for value, held in enumerate(people.item_counts()[:4]):
        counts = np.bincount(drawn[:, value], minlength=7)
        assert not rejects(counts, binomial_sum(held, oracle.p, 6 - held, oracle.q))
    assert rejects(np.bincount(drawn[:, 0], minlength=7), binomial_sum(4, other.p, 2, other.q))


def test_supports_lose_the_items_cut_from_longer_baskets(rng):
    """Baskets within the length are estimated without bias, longer ones with the share that sampling keeps."""
    people = transactions_of([({0, 1}, {2, 3, 4, 5}, {0}, set())[t % 4] for t in range(80_000)], 40)
    supports, errors = oracles.wheel_shares(people, 4.0, 2, rng)
    expected = np.zeros(40)
    expected[:6] = 0.5, 0.25, 0.125, 0.125, 0.125, 0.125
    assert (np.abs(supports - expected) < Z_LIMIT * errors).all()
    assert supports[2] < 0.25 - Z_LIMIT * errors[2]  # support in whole baskets
    assert errors[6:].mean() == pytest.approx(math.sqrt(Wheel(4.0, 2).oracle.variance / len(people)), rel=0.02)


def test_sampled_baskets_are_uniform_subsets(rng):
    """Every choice of M items of a longer basket is equally likely, taking the first ones is rejected; others stay."""
    source = transactions_of([{0, 1, 2, 3}, {4}, set()] * 4_000, 5)
    fitted = oracles.sample_down(source, 2, rng)
    assert fitted.sizes.tolist() == [2, 1, 0] * 4_000
    pairs = [tuple(sorted(basket)) for basket in held_by(fitted)[::3]]
    counts = [pairs.count(pair) for pair in combinations(range(4), 2)]
    assert not rejects(counts, [1 / 6] * 6)
    assert rejects(counts, [1, 0, 0, 0, 0, 0])


# ---- SVIM and SVSM


def test_each_person_reports_once(rng):
    """Groups are disjoint, cover all people and have the given sizes."""
    source = Transactions(np.arange(1001), np.arange(1000), 1000)
    groups = peers.split(source, (0.5, 0.1), rng)
    assert [len(group) for group in groups] == [500, 100, 400]
    assert sorted(np.concatenate([group.items for group in groups]).tolist()) == list(range(1000))


def test_candidate_itemsets_have_the_largest_products(rng):
    """Growing the best sets finds the same as an exhaustive search."""
    supports = rng.random(7)
    known = peers._Known(np.arange(10, 17), supports, np.zeros(7))
    settings = peers.SvsmSettings(largest=4)
    weights = dict(zip(range(10, 17), 0.9 * supports / supports.max(), strict=True))
    everything = [each for k in (2, 3, 4) for each in combinations(range(10, 17), k)]
    everything.sort(key=lambda itemset: -math.prod(weights[item] for item in itemset))
    for wanted in (1, 6, 30, 200):
        assert peers.guess_itemsets(known, 7, wanted, settings) == sorted(everything[:wanted])


def test_held_itemsets_are_subsets_of_the_baskets(rng):
    """Baskets as transactions over itemsets hold the itemsets that are subsets of the baskets."""
    source = random_transactions(rng, 60, 6, share=0.5)
    itemsets = [(0, 1), (0, 2, 3), (1, 4), (2, 3, 4, 5)]
    for basket, held in zip(held_by(source), held_by(peers.holding(source, itemsets)), strict=True):
        assert held == {number for number, itemset in enumerate(itemsets) if basket.issuperset(itemset)}


@pytest.mark.parametrize("oracle", oracles.ORACLES)
def test_itemsets_are_found_and_estimated_without_bias(rng, oracle):
    """SVSM finds obvious itemsets, with supports within their errors; uncorrected ones of cut baskets are too low."""
    kinds = [{0, 1, 2}, {0, 1, 2}, {3, 4}, {3, 4}, {5}, {6, 7, 8, 9, 10, 11}]
    source = transactions_of([kinds[t % 6] for t in range(60_000)], 12)
    whole = peers.SvimSettings(percentile=1.0, least_size_z=4.0, correction="none", oracle=oracle)
    settings = peers.SvsmSettings(items=whole, candidates=1.0, largest=3)
    estimates = peers.svsm(source, 4.0, 12, rng, settings)
    top = metrics.true_top(source, 10)
    found = [itemset for itemset in top if itemset in estimates.supports]
    assert {(0,), (0, 1), (3, 4)} <= set(found)
    for itemset in found:
        assert abs(estimates.supports[itemset] - top[itemset]) < Z_LIMIT * estimates.errors[itemset]
    cut = peers.SvimSettings(percentile=0.3, correction="none", oracle=oracle)
    known = peers._find_items(source, 4.0, 12, rng, cut)
    place = known.items.tolist().index(6)
    assert known.supports[place] < top[(0,)] / 2 - Z_LIMIT * known.errors[place]
