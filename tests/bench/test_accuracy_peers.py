"""The peers of the accuracy bench are what they are called: their laws, privacy and estimates, and how they are judged.

Sampling tests decide as fit.py does: a right method is rejected once in a million.
"""

import doctest
import json
import math
from itertools import chain, combinations, product

import numpy as np
import pytest
from fit import Z_LIMIT, rejects
from scipy.stats import binom

from bench.accuracy import bits, data, harness, metrics, oracles, peers, tuning
from bench.accuracy.data import Transactions
from bench.accuracy.harness import Method
from bench.accuracy.metrics import Estimates


def transactions_of(baskets, n_items):
    """Make transactions of sets."""
    offsets = np.concatenate(([0], np.cumsum([len(basket) for basket in baskets]))).astype(np.int64)
    flat = np.array([item for basket in baskets for item in sorted(basket)], dtype=np.int64)
    return Transactions(offsets, flat, n_items, "small")


def random_transactions(rng, n, n_items, share=0.3):
    """Make baskets that hold every item with a chance of its own, near ``share``."""
    held = rng.random((n, n_items)) < share * np.linspace(1.6, 0.4, n_items)
    return transactions_of([np.flatnonzero(row).tolist() for row in held], n_items)


def held_by(transactions):
    """Return the baskets as sets."""
    return [set(part.tolist()) for part in np.split(transactions.items, transactions.offsets[1:-1])]


@pytest.mark.parametrize("module", [oracles, peers, bits])
def test_examples_hold(module):
    """The examples in the bench's docstrings are right: pytest looks for doctests elsewhere only."""
    assert doctest.testmod(module).failed == 0


# ---- data


def test_taking_and_restricting_keep_baskets(rng):
    """Taken baskets are the named ones; restricted ones hold the kept items, renumbered."""
    source = random_transactions(rng, 40, 9)
    sets = held_by(source)
    chosen = rng.integers(40, size=60)
    assert held_by(source.take(chosen)) == [sets[at] for at in chosen]
    kept = np.array([1, 4, 5, 8])
    numbers = {int(item): number for number, item in enumerate(kept)}
    few = source.restricted(kept)
    assert held_by(few) == [{numbers[item] for item in basket if item in numbers} for basket in sets]
    assert [set(np.flatnonzero(column).tolist()) for column in few.matrix().T] == held_by(few)


def test_true_itemsets_are_the_most_frequent(rng):
    """The true top is what counting every itemset gives, with ties broken by size, then lexicographically."""
    source = random_transactions(rng, 50, 6, share=0.5)
    sets = held_by(source)
    counted = {
        itemset: sum(basket.issuperset(itemset) for basket in sets) / 50
        for itemset in chain.from_iterable(combinations(range(6), k) for k in range(1, 5))
    }
    ranked = sorted(counted, key=lambda itemset: (-counted[itemset], len(itemset), itemset))
    for k in (1, 5, 20):  # 20: more than there are items
        assert list(data.true_top(source, k).items()) == [(itemset, counted[itemset]) for itemset in ranked[:k]]
        known = data.true_itemsets(source, k)
        least = counted[ranked[k - 1]]
        assert {itemset for itemset, support in counted.items() if support >= least} <= known.keys()


def test_missing_data_are_told(monkeypatch):
    """A data set that is not there is an error of its own."""
    monkeypatch.setattr(data, "shared_file", lambda name: None)
    with pytest.raises(data.MissingDataError, match=r"retail\.dat"):
        data.from_file("retail.dat")


# ---- frequency oracles


def mixed(keys):
    """Mix 64 bits well (the finalizer of SplitMix64)."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def hashed_reports(values, n_values, epsilon, cells, rng):
    """Report by real hashing, a seed a person; return whom each report supports, bool (people, values)."""
    seeds = rng.integers(1 << 64, size=len(values), dtype=np.uint64)
    table = mixed(mixed(seeds)[:, None] + np.arange(n_values, dtype=np.uint64)) % np.uint64(cells)
    own = table[np.arange(len(values)), values].astype(np.int64)
    stays = rng.random(len(values)) < math.exp(epsilon) / (math.exp(epsilon) + cells - 1)
    other = (own + rng.integers(1, cells, size=len(values))) % cells
    return table == np.where(stays, own, other)[:, None].astype(np.uint64)


def test_real_hashing_supports_values_independently(rng):
    """A hashed report supports its value with p and every other with 1/g, independently; 1/(g − 1) is rejected."""
    oracle = oracles.hashing(1.0, 4)
    shown = hashed_reports(np.zeros(40_000, dtype=np.int64), 3, 1.0, 4, rng)
    counts = np.bincount(shown @ np.array([4, 2, 1]), minlength=8)

    def law(q):
        chances = [(1 - oracle.p, oracle.p), (1 - q, q), (1 - q, q)]
        return [
            math.prod(chance[bit] for chance, bit in zip(chances, key, strict=True))
            for key in product((0, 1), repeat=3)
        ]

    assert not rejects(counts, law(oracle.q))
    assert rejects(counts, law(1 / 3))


def binomial_sum(first, p, second, q):
    """Return the law of Binomial(first, p) + Binomial(second, q)."""
    return np.convolve(binom.pmf(np.arange(first + 1), first, p), binom.pmf(np.arange(second + 1), second, q))


def test_drawn_counts_of_hashing_have_the_law_of_real_ones(rng):
    """Counts drawn at once and counts of real hashes both have the exact law; that of p from another g is rejected."""
    held, n, runs = np.array([5, 3, 0]), 8, 6_000
    oracle = oracles.hashing(1.0, 4)
    drawn = np.array([oracle.support(held, n, rng) for _ in range(runs)])
    shown = hashed_reports(np.tile(np.repeat(np.arange(3), held), runs), 3, 1.0, 4, rng)
    real = shown.reshape(runs, n, 3).sum(axis=1)
    wrong = oracles.hashing(1.0, 3).p
    for value in range(3):
        law = binomial_sum(held[value], oracle.p, n - held[value], oracle.q)
        for counts in (drawn, real):
            assert not rejects(np.bincount(counts[:, value], minlength=n + 1), law)
    assert rejects(np.bincount(drawn[:, 0], minlength=n + 1), binomial_sum(5, wrong, 3, oracle.q))


def test_drawn_counts_of_randomized_response_have_the_law_of_reports(rng):
    """A report is the own value with p, another with q each; p and q of twice the domain are rejected."""
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


def test_the_oracle_is_chosen_as_the_source_does():
    """GRR is taken where d < L(4L − 1)e^ε + 1, but for cases near the boundary."""
    for epsilon, length, values in product((1.0, 2.0, 4.0), (1, 2, 4), (4, 64, 256, 4096)):
        bound = length * (4 * length - 1) * math.exp(epsilon) + 1
        if not 0.8 < values / bound < 1.25:
            is_grr = oracles.best_oracle(epsilon, values, length, dummies=length).domain > 0
            assert is_grr == (values < bound), (epsilon, length, values)


def chances(basket, n_items, length, shared_dummy):
    """Return the law of the padded sample of a basket, over items and dummies."""
    law = np.zeros(n_items + (1 if shared_dummy else length))
    law[list(basket)] = 1 / max(length, len(basket))
    missing = max(length - len(basket), 0)
    if shared_dummy:
        law[n_items] = missing / length
    else:
        law[n_items : n_items + missing] = 1 / length
    return law


def worst_ratio(epsilon, n_items, length, *, shared_dummy):
    """Return the largest ratio of the chances of one report under two baskets, over all baskets."""
    amplified = math.log(length * (math.exp(epsilon) - 1) + 1)
    oracle = oracles.grr(amplified, n_items + (1 if shared_dummy else length))
    baskets = chain.from_iterable(combinations(range(n_items), k) for k in range(n_items + 1))
    laws = [oracle.q + (oracle.p - oracle.q) * chances(each, n_items, length, shared_dummy) for each in baskets]
    return (np.max(laws, axis=0) / np.min(laws, axis=0)).max()


@pytest.mark.parametrize("length", [1, 2, 3])
def test_amplified_randomized_response_is_private(length):
    """Over all baskets, reports are ε-private with the amplified budget; with one dummy for all they are not."""
    epsilon = 1.5
    assert worst_ratio(epsilon, 4, length, shared_dummy=False) == pytest.approx(math.exp(epsilon))
    if length > 1:
        assert worst_ratio(epsilon, 4, length, shared_dummy=True) > 1.2 * math.exp(epsilon)


@pytest.mark.parametrize("basket", [set(), {2}, {0, 1, 3}])
def test_padded_samples_have_their_law(rng, basket):
    """An item of a padded basket is as likely as any other, dummies are distinct; unpadded sampling is rejected."""
    source = transactions_of([basket] * 9_000, 4)
    counts = np.bincount(oracles.sample_padded(source, 2, rng), minlength=6)
    assert not rejects(counts, chances(basket, 4, 2, shared_dummy=False))
    if basket == {2}:
        assert rejects(counts, np.eye(6)[2])


@pytest.mark.parametrize(("n_items", "length", "is_grr"), [(6, 6, True), (400, 2, False)])
def test_padded_shares_are_unbiased(rng, n_items, length, is_grr):
    """Estimates are within their errors where no basket is too long; without the factor L they are not."""
    source = random_transactions(rng, 30_000, n_items, share=0.9 / n_items)
    source = source.take(np.flatnonzero(source.sizes <= length))
    assert (oracles.best_oracle(2.0, n_items, length, dummies=length).domain > 0) == is_grr
    supports, errors = oracles.padded_shares(source, 2.0, length, rng)
    truth = source.item_counts() / len(source)
    assert (np.abs(supports - truth) < Z_LIMIT * errors).all()
    if is_grr:
        assert (np.abs(supports / length - truth) > Z_LIMIT * errors / length).any()


def test_sizes_are_estimated(rng):
    """Sizes that occur are found about as they are, others are 0, and all sum to 1."""
    source = transactions_of([set(range(t % 4)) for t in range(100_000)], 40)
    shares = oracles.size_shares(source, 2.0, rng, most=32, least_z=4.0)
    assert shares.shape == (33,)
    assert shares.sum() == pytest.approx(1.0)
    error = Z_LIMIT * math.sqrt(oracles.olh(2.0).variance * 2 / len(source))
    assert np.abs(shares[:4] - 0.25).max() < error


# ---- SVIM and SVSM


def test_everybody_reports_once(rng):
    """Groups are disjoint, hold everybody and have the sizes asked for."""
    source = Transactions(np.arange(1001), np.arange(1000), 1000)
    groups = peers.split(source, (0.5, 0.1, 0.4), rng)
    assert [len(group) for group in groups] == [500, 100, 400]
    assert sorted(np.concatenate([group.items for group in groups]).tolist()) == list(range(1000))


def test_guessed_itemsets_are_the_greatest_products(rng):
    """Growing the best sets finds what looking at all sets does."""
    supports = rng.random(7)
    known = peers._Known(np.arange(10, 17), supports, np.zeros(7))
    settings = peers.SvsmSettings(largest=4)
    weights = dict(zip(range(10, 17), 0.9 * supports / supports.max(), strict=True))
    everything = [each for k in (2, 3, 4) for each in combinations(range(10, 17), k)]
    everything.sort(key=lambda itemset: -math.prod(weights[item] for item in itemset))
    for wanted in (1, 6, 30, 200):
        assert peers.guess_itemsets(known, 7, wanted, settings) == sorted(everything[:wanted])


def test_held_itemsets_are_those_that_baskets_contain(rng):
    """Baskets as transactions over itemsets hold the itemsets that are subsets of theirs."""
    source = random_transactions(rng, 60, 6, share=0.5)
    itemsets = [(0, 1), (0, 2, 3), (1, 4), (2, 3, 4, 5)]
    expected = [
        {number for number, itemset in enumerate(itemsets) if basket.issuperset(itemset)} for basket in held_by(source)
    ]
    assert held_by(peers.holding(source, itemsets)) == expected


def test_itemsets_are_found_and_estimated_without_bias(rng):
    """SVSM finds what is obvious, with supports within their errors; uncorrected ones of cut baskets are too low."""
    kinds = [{0, 1, 2}, {0, 1, 2}, {3, 4}, {3, 4}, {5}, {6, 7, 8, 9, 10, 11}]
    source = transactions_of([kinds[t % 6] for t in range(60_000)], 12)
    whole = peers.SvimSettings(percentile=1.0, least_size_z=4.0, corrected=False)
    settings = peers.SvsmSettings(items=whole, candidates=1.0, largest=3)
    estimates = peers.svsm(source, 4.0, 12, rng, settings)
    truth = data.true_top(source, 10)
    found = [itemset for itemset in truth if itemset in estimates.supports]
    assert {(0,), (0, 1), (3, 4)} <= set(found)
    for itemset in found:
        assert abs(estimates.supports[itemset] - truth[itemset]) < Z_LIMIT * estimates.errors[itemset]
    cut = peers.SvimSettings(percentile=0.3, corrected=False)
    items = peers.svim(source, 4.0, 12, rng, cut)
    assert items.supports[(6,)] < truth[(0,)] / 2 - Z_LIMIT * items.errors[(6,)]


# ---- independent bits


@pytest.mark.parametrize("optimized", [False, True])
def test_flipped_bits_are_private(optimized):
    """Two baskets that share nothing differ in 2M bits: the worst report has the ratio e^ε, with ε/M a bit e^2ε."""
    for epsilon, size in ((1.0, 1), (1.0, 3), (math.log(19), 5)):
        flip = bits.flip_for(epsilon, size, optimized=optimized)
        ratio = (flip.p / flip.q * (1 - flip.q) / (1 - flip.p)) ** size
        assert ratio == pytest.approx(math.exp(epsilon))
    wrong = bits.flip_for(2 * 1.0, 3)  # p/(1 − p) = e^{ε/M}
    assert (wrong.p / wrong.q) ** 6 == pytest.approx(math.exp(2.0))


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("flip", [bits.flip_for(1.0, 2), bits.flip_for(1.0, 2, optimized=True)])
def test_inverted_expectations_are_the_truth(k, flip):
    """From expected counts the estimate is the true support exactly, for baskets of 0 … k of the items."""
    for held in range(k + 1):
        sums = [
            sum(math.prod(flip.p if item < held else flip.q for item in subset) for subset in combinations(range(k), j))
            for j in range(k + 1)
        ]
        support, _ = bits._estimated(np.array([sums]), 1, flip)
        assert support[0] == pytest.approx(float(held == k), abs=1e-9)


def test_bits_given_their_counts_are_independent(rng):
    """Bits drawn after their counts have the joint law of independent flips; that of equal bits is rejected."""
    flip, n = bits.flip_for(2.0, 2), 30_000
    held = np.array([[True] * n, [False] * n])
    kept = np.array([rng.binomial(n, flip.p), 0])
    flipped = np.array([0, rng.binomial(n, flip.q)])
    rows = bits.shown_bits(held, kept, flipped, flip, rng)
    shown = np.unpackbits(rows.view(np.uint8), axis=1, count=n, bitorder="little")
    assert shown.sum(axis=1).tolist() == (kept + flipped).tolist()
    counts = np.bincount(2 * shown[0] + shown[1], minlength=4)
    p, q = flip.p, flip.q
    assert not rejects(counts, [(1 - p) * (1 - q), (1 - p) * q, p * (1 - q), p * q])
    assert rejects(counts, [1 - p, 0, p - q, q])


def test_sampled_baskets_are_uniform_subsets(rng):
    """Of longer baskets every choice of M items is as likely; taking the first ones is rejected; others stay."""
    source = transactions_of([{0, 1, 2, 3}, {4}, set()] * 4_000, 5)
    fitted = bits.sample_down(source, 2, rng)
    assert fitted.sizes.tolist() == [2, 1, 0] * 4_000
    pairs = [tuple(sorted(basket)) for basket in held_by(fitted)[::3]]
    counts = [pairs.count(pair) for pair in combinations(range(4), 2)]
    assert not rejects(counts, [1 / 6] * 6)
    assert rejects(counts, [1, 0, 0, 0, 0, 0])


def test_bit_flipping_is_unbiased(rng):
    """Items, pairs and triples are within their errors of the truth; pairs not freed of insertions are not."""
    source = transactions_of([({0, 1, 2}, {0, 1}, {3}, set())[t % 4] for t in range(80_000)], 5)
    estimates = bits.bit_flipping(source, 6.0, 8, rng, bits.BitSettings(size=3, least_z=-math.inf))
    sets = held_by(source)
    assert len(estimates.supports) == 5 + 10 + 10
    for itemset, support in estimates.supports.items():
        truth = sum(basket.issuperset(itemset) for basket in sets) / len(sets)
        assert abs(support - truth) < Z_LIMIT * estimates.errors[itemset]
    flip = bits.flip_for(6.0, 3)
    shown = estimates.supports[(0, 3)] * (flip.p - flip.q) ** 2 + flip.q * (0.75 * (flip.p - flip.q) + flip.q)
    assert shown / flip.p**2 > Z_LIMIT * estimates.errors[(0, 3)]  # nobody holds 0 and 3


# ---- judging


def test_figures_of_a_small_case():
    """Precision, ranks, errors, coverage and false finds are what they are by hand."""
    truth = {(0,): 0.5, (1,): 0.4, (0, 1): 0.3}
    estimates = Estimates({(0,): 0.6, (2,): 0.5, (0, 1): 0.25, (3,): 0.1}, {(0,): 0.04, (2,): 1, (0, 1): 0.03, (3,): 1})
    assert metrics.precision(estimates, truth) == pytest.approx(2 / 3)
    assert metrics.ncr(estimates, truth) == pytest.approx((3 + 1) / 6)
    assert metrics.misses(estimates, truth) == [pytest.approx(0.1), None, pytest.approx(-0.05)]
    assert metrics.rmse(estimates, truth) == pytest.approx(math.sqrt((0.01 + 0.16 + 0.0025) / 3))
    assert metrics.rmse_on(estimates, truth, [(0,), (0, 1)]) == pytest.approx(math.sqrt((0.01 + 0.0025) / 2))
    assert metrics.rmse_on(estimates, truth, []) is None
    assert metrics.coverage(estimates, truth) == 0.5
    assert metrics.coverage(Estimates({}, None), truth) is None
    assert metrics.false_discovery(estimates, truth, 0.3) == 0.5
    assert metrics.false_discovery(estimates, truth, 0.7) is None


def by_truth(transactions, epsilon, top, rng, settings):
    """Say the true supports, but for the items in the settings."""
    truth = data.true_top(transactions, top)
    return Estimates({itemset: support + 0.1 for itemset, support in truth.items() if itemset not in settings})


def test_runs_are_kept_and_not_done_again(rng, monkeypatch, tmp_path):
    """Runs in the file are taken from it, a cut line is left out, and common errors are over what all estimate."""
    source = random_transactions(rng, 200, 6)
    monkeypatch.setattr(harness, "load", lambda name: source)
    best = next(iter(data.true_top(source, 1)))
    methods = [Method("all", by_truth, ()), Method("some", by_truth, (), {1.0: (best,)})]
    store = tmp_path / "rows.jsonl"
    tasks = [harness._Task("small", 1.0, method, seed, (4, 8)) for seed in (0, 1) for method in methods]
    lines = [json.dumps(harness.run_task(task)) for task in tasks]
    store.write_text("\n".join(lines) + '\n{"dataset": "sm', encoding="utf-8")
    rows = harness.run_cells(methods, ["small"], [1.0], [0, 1], (4, 8), store=store)
    assert [row["method"] for row in rows] == ["all", "some"] * 2
    assert [row["precision@4"] for row in rows] == [1.0, 0.75] * 2
    assert {row["common@8"] for row in rows} == {7}
    assert all(row["rmse_common@8"] == pytest.approx(0.1) for row in rows)
    text = harness.summary(rows)
    assert "The 4 most frequent itemsets" in text
    assert "| small | 200 | 1 | some | 2 | 0.75 ± 0 |" in text


def test_settings_are_chosen_by_their_mean_over_data():
    """The best mean over data sets wins, and comes back from what is kept."""
    methods = [
        Method(f"SVSM #{number}", peers.svsm, settings) for number, settings in enumerate(tuning.GRIDS["SVSM"][:2])
    ]
    scores = {("SVSM #0", "a"): 0.9, ("SVSM #0", "b"): 0.1, ("SVSM #1", "a"): 0.6, ("SVSM #1", "b"): 0.6}
    rows = [{"method": name, "dataset": dataset, "ncr@64": score} for (name, dataset), score in scores.items()]
    chosen = tuning.choose(methods, rows, 1.0)
    assert chosen["ncr"] == pytest.approx(0.6)
    again = tuning.settings_from("SVSM", json.loads(json.dumps(chosen["settings"])))
    assert again == tuning.GRIDS["SVSM"][1]


def test_tuning_data_are_not_reported_on():
    """No data set is in both lists, and every grid holds the kept settings of its peer."""
    assert not data.TUNING.keys() & data.REPORTED.keys()
    for method in tuning.tuned():
        assert all(settings in tuning.GRIDS[method.name] for settings in method.by_epsilon.values())
