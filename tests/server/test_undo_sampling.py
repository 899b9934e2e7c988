"""Tests of the sampling undone: supports of whole baskets, told the distribution of sizes."""

from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fit import FALSE_ALARM, Z_LIMIT
from quiet import mine
from scipy.stats import binom

import assocpriv as ap
from assocpriv import plan_histogram
from assocpriv.client.bulk import randomize_chunks
from assocpriv.client.transactions import view_baskets
from assocpriv.planning.baskets import make_plan
from assocpriv.promise.errors import EstimateError
from assocpriv.server.itemsets import CORRECTED
from assocpriv.server.rounds import correct_table, histogram_of_table
from assocpriv.server.undo_sampling import (
    Histogram,
    Sampling,
    SizeShares,
    fit_sizes,
    kept_shares,
    shares_from_dummies,
    support_bounds,
    undo_sampling,
)
from assocpriv.simulation.enumeration import SeededEntropy

WEAK = ap.Breach("1%", "90%")


BOUNDS = np.array([0, 1, 2, 3, 4, 6, 8, 11, 16, 24, 40])


def shares(**numbers: float) -> Histogram:
    """Return a histogram without errors, of a bucket for every size up to one above the largest, as size_3=0.5."""
    by_size = {int(name[5:]): share for name, share in numbers.items()}
    sizes = np.arange(max(by_size) + 2)
    return Histogram(sizes, np.array([by_size.get(size, 0.0) for size in sizes.tolist()]), np.zeros(len(sizes)))


def mined(sets: list[list[int]], plan: ap.Plan, least: float, seed: int) -> pd.DataFrame:
    """Randomize baskets of numbers and mine what single entries of the plan their reports show."""
    transactions, _ = view_baskets([[str(item) for item in one] for one in sets], plan)
    chunks = randomize_chunks(transactions, plan, entropy=SeededEntropy(seed))
    return mine(ap.Reports(plan, np.concatenate([chunk.packed for chunk in chunks])), least, max_itemset=1)


def corrected(sets: list[list[int]], n_items: int, histogram: Histogram, least: float) -> pd.DataFrame:
    """Randomize baskets to three items, mine single items and correct them; in the order of the items."""
    plan = make_plan(n_items, 3, WEAK, reports=len(sets), itemset_size=2)
    table = correct_table(mined(sets, plan, least, 5), histogram)
    return table.set_index(table["itemsets"].map(lambda names: int(next(iter(names))))).sort_index()


def test_errors_cover_where_the_model_holds() -> None:
    """Where every item is as likely in every place of a basket, truths lie within 1.96 errors at the stated rate.

    What was mined does not cover them, so the test would notice if nothing were corrected.
    """
    rng, n_items = np.random.default_rng(2), 120
    sets = [rng.choice(n_items, size, replace=False).tolist() for size in rng.choice([2, 6, 12], 60_000)]
    truth = np.bincount(np.concatenate(sets), minlength=n_items) / len(sets)
    table = corrected(sets, n_items, shares(size_2=1 / 3, size_6=1 / 3, size_12=1 / 3), 0.005)
    assert len(table) == n_items
    allowed = binom.ppf(FALSE_ALARM, n_items, 0.95)
    assert (np.abs(table["corrected_support"] - truth) <= 1.96 * table["corrected_std_error"]).sum() >= allowed
    assert (np.abs(table["support"] - truth) <= 1.96 * table["std_error"]).sum() < allowed
    assert ((table["corrected_low"] <= truth) & (truth <= table["corrected_high"])).all()


def test_baskets_of_ten_equal_items_are_told_as_such() -> None:
    """Of 20,000 baskets of the same ten items three are reported each: .3 becomes 1 but for errors that are stated."""
    table = corrected([list(range(10))] * 20_000, 10, shares(size_10=1.0), 0.1)
    assert table["support"].between(0.25, 0.35).all()
    bias = np.abs(table["corrected_support"] - 1)
    assert (bias <= Z_LIMIT * table["corrected_std_error"] + table["model_error"]).all()
    assert (table["model_error"] >= bias).all()


def test_the_bounds_hold_where_the_model_is_wrong() -> None:
    """Sizes in two humps, told by mined reports: an item of long baskets is within its bounds, not near the model.

    A smooth law of sizes has no second hump; a fit that takes it for noise puts truth outside (so it once was).
    """
    rng = np.random.default_rng(3)
    # 0 in all long baskets and no other, 1 in the short ones that hold anything, 2 in every one of these
    sets = [[0, 2, *range(3, 31)] if rng.random() < 0.1 else list(range(1, 1 + rng.poisson(3))) for _ in range(60_000)]
    truth = np.mean([[item in one for item in range(3)] for one in sets], axis=0)
    histogram = mined(sets[:20_000], plan_histogram(WEAK, 20_000), 0.002, 1)
    table = corrected(sets[20_000:], 31, histogram_of_table(histogram), 0.002)
    low, high = table["corrected_low"], table["corrected_high"]
    assert (low[:3] <= truth).all()
    assert (truth <= high[:3]).all()
    assert low[0] < 0.025 < 0.09 < truth[0] < high[0] < 0.17  # of 30 items 3 are kept
    bias = abs(table.loc[0, "corrected_support"] - truth[0])
    assert bias > table.loc[0, "model_error"] + Z_LIMIT * table.loc[0, "corrected_std_error"]
    # a plan that drops names: baskets may hold no more than M of its own, so that nothing was lost
    facts = table.attrs["assocpriv"] | {"others": "drop"}
    dropping = table.drop(columns=[*CORRECTED])
    dropping.attrs["assocpriv"] = {name: value for name, value in facts.items() if name != "corrected"}
    again = correct_table(dropping, histogram_of_table(histogram))
    assert (again["corrected_low"] <= table["support"]).all()
    assert (again["corrected_low"] < low).any()
    pd.testing.assert_series_equal(again["corrected_high"], high)


def test_bounds_hold_at_their_rate() -> None:
    """Under the noise of both tables truth leaves its bounds as seldom as is said, where long baskets alone hold A.

    Where the histogram is taken for exact it leaves them more often.
    """
    rng, runs, m, error = np.random.default_rng(6), 1000, 3, 0.004
    sizes = Histogram(BOUNDS, np.array([0.05, 0.1, 0.2, 0.2, 0.2, 0.05, 0.0, 0.0, 0.1, 0.07, 0.03]), np.full(11, error))
    longest = np.append(BOUNDS[1:] - 1, 10**6)
    held = np.array([*[0.0] * 9, 1.0, 1.0])  # by all baskets of at least 24 items, each as long as can be
    truth, after = held @ sizes.shares, held @ (sizes.shares * kept_shares(longest, m, 1))
    misses = dict.fromkeys((3.05, 0.0), 0)  # at 95%, and of sizes taken as they are shown
    for support in after + error / 40 * rng.standard_normal(runs):
        noisy = Histogram(BOUNDS, sizes.shares + error * rng.standard_normal(11), sizes.errors)
        ends = np.array([support - 2.24 * error / 40]), np.array([support + 2.24 * error / 40])
        for errors in misses:
            low, high = support_bounds(ends, noisy, m, 1, errors=errors)
            misses[errors] += not low[0] <= truth <= high[0]
    most = binom.ppf(1 - FALSE_ALARM, runs, 0.05)
    assert misses[3.05] <= most < misses[0.0]


@pytest.mark.parametrize("k", [1, 2])
def test_bounds_are_those_of_all_ways_to_hold_an_itemset(k: int) -> None:
    """No choice of who holds an itemset leaves the bounds, wherever in its bucket a size lies; some reach them."""
    rng = np.random.default_rng(k)
    exact = shares(size_1=0.1, size_2=0.2, size_4=0.3, size_7=0.4)
    wide = Histogram(np.array([0, 3, 6, 8]), np.array([0.3, 0.3, 0.3, 0.1]), np.zeros(4))
    for _ in range(300):
        sizes = np.array([rng.integers(0, 3), rng.integers(3, 6), rng.integers(6, 8), rng.integers(8, 200)])
        held = rng.random(4) ** 3 * (sizes >= k)
        before, after = held @ wide.shares, np.array([held @ (wide.shares * kept_shares(sizes, 2, k))])
        least, largest = support_bounds((after, after), wide, 2, k, errors=0.0)
        assert least[0] - 1e-12 <= before <= largest[0] + 1e-12
    sizes = exact.bounds
    for order in (sizes, sizes[::-1]):
        full = np.zeros(len(sizes))
        for place in order.tolist():
            full[place] = float(place >= k)
            after = np.array([full @ (exact.shares * kept_shares(sizes, 2, k))])
            ends = support_bounds((after, after), exact, 2, k, errors=0.0)
            assert np.isclose(ends[int(order[0] != 0)][0], full @ exact.shares)


def test_what_the_last_bucket_holds_may_leave_no_trace() -> None:
    """Baskets of any size lie in the last bucket, so the largest support counts all of it, also below 0."""
    open_ended = Histogram(np.array([0, 40]), np.array([0.9, 0.1]), np.zeros(2))
    low, high = support_bounds((np.array([-0.02]), np.array([-0.01])), open_ended, 3, 1, errors=0.0)
    assert (low.tolist(), high.tolist()) == ([0.0], [0.1])
    assert support_bounds((low, low), open_ended, 3, 1, errors=0.0)[1].tolist() == pytest.approx([0.1])


def test_the_door_corrects_and_files_keep_it(tmp_path: Path) -> None:
    """A histogram's table or file gives the same columns, which a file keeps; without it there are none."""
    rng = np.random.default_rng(4)
    sets = [rng.choice(8, size, replace=False).tolist() for size in rng.choice([1, 5], 8_000)]
    first, second = sets[:4000], sets[4000:]
    sizes_plan, plan = plan_histogram(WEAK, 4000), make_plan(8, 2, WEAK, reports=4000)
    sizes = ap.mine(ap.randomize([set(map(str, one)) for one in first], sizes_plan), "10%")
    ap.write_itemsets(sizes, tmp_path / "sizes.csv")
    with pytest.warns(UserWarning, match="are sampled to 2; .* more than 5% is lost"):
        reports = ap.randomize([set(map(str, one)) for one in second], plan)
    table = mine(reports, "5%", max_itemset=1)
    assert not {*CORRECTED} & {*table.columns}
    assert table.attrs["assocpriv"]["meaning"] == "supports are those within at most 2 sampled items a basket"
    by_table, by_file = (
        ap.mine(reports, "5%", max_itemset=1, histogram=each) for each in (sizes, tmp_path / "sizes.csv")
    )
    pd.testing.assert_frame_equal(by_table, by_file, rtol=1e-9)
    pd.testing.assert_frame_equal(by_table[table.columns], table)
    assert (by_table["corrected_support"] > by_table["support"]).all()
    for name in ("t.parquet", "t.csv", "t.json"):
        ap.write_itemsets(by_table, tmp_path / name)
        pd.testing.assert_frame_equal(ap.read_itemsets(tmp_path / name), by_table, rtol=1e-9)
    with pytest.raises(EstimateError, match="must be a mined table of a sizes plan"):
        ap.mine(reports, "5%", histogram=table)
    with pytest.raises(EstimateError, match="this plan asks for something else"):  # before anything is counted
        ap.mine(ap.Reports(sizes_plan, reports.packed[:0]), "5%", histogram=sizes)


def test_baskets_that_lose_little_warn_of_nothing() -> None:
    """Short baskets are randomized in silence (warnings are errors here)."""
    assert len(ap.randomize([{"1", "2"}, {"0"}], make_plan(5, 2, WEAK))) == 2


MIXED = SizeShares(np.array([0, 1, 2, 4, 8]), np.array([0.1, 0.2, 0.3, 0.25, 0.15]))


def of_model(theta: float, sizes: SizeShares, m: int, k: int) -> tuple[float, float]:
    """Return the support before and after sampling to m items under the model, by its definition."""
    before = after = 0.0
    for size, share in zip(sizes.sizes.tolist(), sizes.shares.tolist(), strict=True):
        held = 1 - (1 - theta) ** comb(size, k)
        before += share * held
        after += share * held * (1 if size <= m else comb(m, k) / comb(size, k))
    return before, after


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("m", [3, 5])
def test_the_model_is_inverted(k: int, m: int) -> None:
    """From the support after sampling comes the one before, at any θ, and the factor is the slope between them."""
    thetas = np.array([1e-5, 1e-3, 0.02, 0.1, 0.4])
    before, after = np.array([of_model(theta, MIXED, m, k) for theta in thetas]).T
    found, factor = undo_sampling(after, MIXED, Sampling(m), k)
    assert found == pytest.approx(before, rel=1e-3)
    ahead = np.array([of_model(theta * 1.001, MIXED, m, k) for theta in thetas]).T
    slopes = (ahead[0] - before) / (ahead[1] - after)
    assert factor == pytest.approx(np.maximum(slopes, 1), rel=0.02)


def test_nothing_to_undo() -> None:
    """Where no transaction is longer than M, supports and errors stay what they are."""
    supports = np.array([-0.01, 0.0, 0.2, 0.8])
    found, factor = undo_sampling(supports, MIXED, Sampling(8), 1)
    assert found == pytest.approx(supports, abs=1e-6)
    assert factor == pytest.approx(np.ones(4), abs=1e-3)


def test_negative_estimates_are_scaled_as_small_ones() -> None:
    """Around 0 the correction is one factor, so that noise stays centred."""
    found, factor = undo_sampling(np.array([-1e-4, 1e-4]), MIXED, Sampling(2), 1)
    assert found[0] == pytest.approx(-found[1], rel=1e-2)
    assert factor[0] == pytest.approx(found[1] / 1e-4, rel=1e-2)


def test_kept_shares_by_counting() -> None:
    """κ is the share of a transaction's k-itemsets that lie within m sampled items, by counting samples."""
    for k in (1, 2):
        for size, kept in zip(MIXED.sizes.tolist(), kept_shares(MIXED.sizes, 3, k).tolist(), strict=True):
            if size <= 3:
                assert kept == 1.0
                continue
            samples = list(combinations(range(size), 3))
            assert kept == pytest.approx(sum(set(range(k)) <= set(sample) for sample in samples) / len(samples))


def test_thinning_keeps_each_item_alike() -> None:
    """Thinned sizes are a binomial mixture with the mean that was asked for."""
    thinned = MIXED.thinned(1.0)
    assert thinned.mean == pytest.approx(1.0)
    keep = 1.0 / MIXED.mean
    empty = sum(s * (1 - keep) ** c for c, s in zip(MIXED.sizes.tolist(), MIXED.shares.tolist(), strict=True))
    assert thinned.shares[0] == pytest.approx(empty)
    assert MIXED.thinned(100.0).mean == pytest.approx(MIXED.mean)


def test_dummies_tell_sizes() -> None:
    """Noisy cumulative shares become a distribution; beyond M its shape is that of the tail."""
    found = shares_from_dummies(np.array([0.12, 0.1, 0.55]), MIXED)
    assert found.shares.sum() == pytest.approx(1)
    assert found.shares[:3] == pytest.approx([0.11, 0.0, 0.44])  # the two that fall are averaged
    assert found.sizes.tolist() == [0, 1, 2, 4, 8]
    assert found.shares[3:] == pytest.approx([0.45 * 0.625, 0.45 * 0.375])


def test_a_noisy_histogram_is_smoothed(rng: np.random.Generator) -> None:
    """Few people's buckets give a distribution with about the mean of the true one, and a sharp histogram is kept."""
    bounds = np.array([0, 1, 2, 3, 4, 6, 8, 11, 16, 24, 40])
    sizes = rng.negative_binomial(3, 3 / (3 + 6.0), size=200_000)
    true = np.bincount(np.searchsorted(bounds, sizes, side="right") - 1, minlength=len(bounds)) / len(sizes)
    errors = np.full(len(bounds), 0.01)
    rough = fit_sizes(true + errors * rng.standard_normal(len(bounds)), errors, bounds)
    assert rough.shares.sum() == pytest.approx(1)
    assert rough.mean == pytest.approx(sizes.mean(), rel=0.15)
    odd = np.array([0, 0.5, 0, 0, 0, 0, 0.5, 0, 0, 0, 0])  # no smooth law has it
    sharp = fit_sizes(odd, np.full(len(bounds), 1e-4), bounds)
    assert sharp.shares[1] == pytest.approx(0.5, abs=0.01)
    assert sharp.shares[8:11].sum() == pytest.approx(0.5, abs=0.01)
    humps = np.array([0.05, 0.13, 0.2, 0.2, 0.25, 0.06, 0.01, 0, 0, 0.1, 0])  # the law has nothing where the second is
    kept = fit_sizes(humps, np.full(len(bounds), 1e-3), bounds)
    assert kept.shares[24:40].sum() == pytest.approx(0.1, abs=0.002)
