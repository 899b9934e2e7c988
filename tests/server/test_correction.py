"""Supports before sampling: errors that hold where the model does, and bounds where it does not."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fit import FALSE_ALARM, Z_LIMIT
from quiet import mine
from scipy.stats import binom

import assocpriv as ap
from assocpriv.client.baskets.bulk import randomize_chunks
from assocpriv.core.errors import EstimateError
from assocpriv.lab.seeded_entropy import SeededEntropy
from assocpriv.planning.planner import make_plan
from assocpriv.rounds import plan_histogram
from assocpriv.server.itemsets.frames import CORRECTED
from assocpriv.server.rounds.combine import correct_table
from assocpriv.server.rounds.sampling_model import SizeShares, support_bounds

WEAK = ap.Breach("1%", "90%")


def shares(**numbers: float) -> SizeShares:
    """Return a distribution of sizes, as size_3=0.5."""
    return SizeShares(np.array([int(name[5:]) for name in numbers]), np.array(list(numbers.values())))


def corrected(sets: list[list[int]], n_items: int, sizes: SizeShares, least: float) -> pd.DataFrame:
    """Randomize baskets to three items, mine single items and correct them; in the order of the items."""
    plan = make_plan(n_items, 3, WEAK, reports=len(sets), itemset_size=2)
    chunks = randomize_chunks(ap.Baskets.from_sets(sets, plan.catalogue), plan, entropy=SeededEntropy(5))
    table = mine(ap.Reports(plan, np.concatenate([chunk.packed for chunk in chunks])), least, max_itemset=1)
    table = correct_table(table, sizes)
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
    """An item of long baskets alone: the model is wrong by more than it states, and the bounds say how much is open."""
    sets = [[0, *range(2, 11)], [1, 11, 12]] * 30_000
    table = corrected(sets, 13, shares(size_3=0.5, size_10=0.5), 0.05)
    bias = abs(table.loc[0, "corrected_support"] - 0.5)
    assert bias > table.loc[0, "model_error"] + Z_LIMIT * table.loc[0, "corrected_std_error"]
    assert table.loc[0, "corrected_low"] < 0.2
    assert table.loc[0, "corrected_high"] > 0.48
    assert table.loc[1, "corrected_low"] < 0.5


@pytest.mark.parametrize("k", [1, 2])
def test_bounds_are_those_of_all_ways_to_hold_an_itemset(k: int) -> None:
    """No choice of who holds an itemset leaves the bounds, and some choices reach them."""
    rng, sizes = np.random.default_rng(k), shares(size_1=0.1, size_2=0.2, size_4=0.3, size_7=0.4)
    held = rng.random((500, 4)) ** 3 * (sizes.sizes >= k)
    after = held @ (sizes.shares * sizes.surviving(2, k))
    least, largest = support_bounds(after, sizes, 2, k)
    before = held @ sizes.shares
    assert (least <= before + 1e-12).all()
    assert (before <= largest + 1e-12).all()
    for order in (range(4), range(3, -1, -1)):
        full = np.zeros(4)
        for place in order:
            full[place] = float(sizes.sizes[place] >= k)
            ends = support_bounds(np.array([full @ (sizes.shares * sizes.surviving(2, k))]), sizes, 2, k)
            assert np.isclose(ends[int(order[0] != 0)][0], full @ sizes.shares)


def test_the_door_corrects_and_files_keep_it(tmp_path: Path) -> None:
    """A histogram's table or file gives the same columns, which a file keeps; without it there are none."""
    rng = np.random.default_rng(4)
    sets = [rng.choice(8, size, replace=False).tolist() for size in rng.choice([1, 5], 8_000)]
    first, second = sets[:4000], sets[4000:]
    sizes_plan, plan = plan_histogram(WEAK, 4000), make_plan(8, 2, WEAK, reports=4000)
    sizes = ap.mine(ap.randomize_baskets([set(map(str, one)) for one in first], sizes_plan), "10%")
    ap.write_itemsets(sizes, tmp_path / "sizes.csv")
    with pytest.warns(UserWarning, match="are sampled to 2; .* more than 5% is lost"):
        reports = ap.randomize_baskets([set(map(str, one)) for one in second], plan)
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
    with pytest.raises(EstimateError, match="this plan asks for something else"):
        correct_table(sizes, shares(size_2=1.0))


def test_baskets_that_lose_little_warn_of_nothing() -> None:
    """Short baskets are randomized in silence (warnings are errors here)."""
    assert len(ap.randomize_baskets([{"1", "2"}, {"0"}], make_plan(5, 2, WEAK))) == 2
