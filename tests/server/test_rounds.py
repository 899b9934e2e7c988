"""Rounds put together: inverse variances exactly, what may not be averaged, corrections, histograms, files.

Synthetic holdings have the supports that are known, and tell what sampling leaves of itemsets as entries.
"""

import csv
import json
from itertools import pairwise
from math import sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from fit import Z_LIMIT
from quiet import mine

import assocpriv as ap
from assocpriv.client.bulk import randomize_chunks
from assocpriv.files.reports import Reports
from assocpriv.planning.baskets import make_plan
from assocpriv.plans.operator import Operator
from assocpriv.promise.errors import EstimateError, FileError
from assocpriv.server.itemsets import read_itemsets
from assocpriv.server.posterior import Knowledge, measured
from assocpriv.server.rounds import (
    Shown,
    SyntheticHoldings,
    combine_tables,
    sizes_held,
    sizes_of_table,
    surviving_entries,
    surviving_shares,
    write_combined,
)
from assocpriv.server.undo_sampling import Sampling, SizeShares, undo_sampling
from assocpriv.simulation.enumeration import SeededEntropy


def table(rows, plan="a", *, reports=1000, population=True, m=3, **more):
    """Return a mined table of {names: (support, standard error)} with made-up counts."""
    frame = pd.DataFrame(
        {
            "support": [support for support, _ in rows.values()],
            "itemsets": pd.Series([frozenset(names) for names in rows], dtype=object),
            "std_error": [error for _, error in rows.values()],
            "ci_low": 0.0,
            "ci_high": 1.0,
            "length": [len(names) for names in rows],
            "frequent": True,
            "count": [
                int(np.nan_to_num(support) * reports) + place for place, (support, _) in enumerate(rows.values())
            ],
        }
    )
    frame.attrs["assocpriv"] = {
        "format": "assocpriv-itemsets", "version": 3, "plan_id": plan * 64, "reports": reports, "transaction_size": m,
        "population": population, "min_support": 0.01, "confidence_level": 0.95, "itemset_size": 2, "levels": [],
        "operator": Operator(1, 1, 1, 3, (1, 7)).to_json(), **more,
    }  # fmt: skip
    return frame


def row_of(frame, names):
    """Return the row of an itemset."""
    (row,) = [row for row in frame.to_dict("records") if row["itemsets"] == frozenset(names)]
    return row


# ---- averages


def test_inverse_variances_by_hand() -> None:
    """Weights 16 and 4 of the supports 1/4 and 3/4 give 7/20, with a variance of 1/20."""
    both = combine_tables([table({"x": (0.25, 0.25)}), table({"x": (0.75, 0.5)})])
    assert row_of(both, "x")["support"] == pytest.approx(7 / 20, rel=1e-15)
    assert row_of(both, "x")["std_error"] == pytest.approx(sqrt(1 / 20), rel=1e-15)
    assert (row_of(both, "x")["support_2"], row_of(both, "x")["std_error_1"]) == (0.75, 0.25)
    assert "model_error" not in both.columns


def test_three_tables_are_as_two_and_one() -> None:
    """An average does not depend on the order of the tables, and equal errors give the plain mean."""
    values = [(0.1, 0.02), (0.2, 0.02), (0.3, 0.02)]
    parts = [table({"x": value}, reports=1000 + place) for place, value in enumerate(values)]
    for order in ([0, 1, 2], [2, 0, 1]):
        both = combine_tables([parts[place] for place in order])
        assert row_of(both, "x")["support"] == pytest.approx(0.2, rel=1e-14)
        assert row_of(both, "x")["std_error"] == pytest.approx(0.02 / sqrt(3), rel=1e-14)


def test_errors_at_hand_become_those_of_the_population() -> None:
    """Other people were asked each time: s(1 − s)/N is added to errors for the people at hand, and only to those."""
    for population in (False, True):
        first = table({"x": (0.5, 0.01)}, reports=100, population=population)
        both = combine_tables([first, table({"y": (0.5, 0.01)}, reports=200)])
        variance = 0.01**2 + (0 if population else 0.25 / 100)
        assert row_of(both, "x")["std_error"] == pytest.approx(sqrt(variance), rel=1e-14)


def test_tables_of_different_plans_stand_side_by_side() -> None:
    """Without sizes what two plans measured is not averaged and a note says why; what one plan measured stays."""
    one, other = table({"x": (0.2, 0.01), "y": (0.1, 0.01)}), table({"x": (0.4, 0.01), "z": (0.3, 0.02)}, "b", m=5)
    third = table({"z": (0.5, 0.02)}, "b", m=5, reports=999)
    both = combine_tables([one, other, third])
    assert np.isnan(row_of(both, "x")["support"])
    assert np.isnan(row_of(both, "x")["std_error"])
    assert (row_of(both, "x")["support_1"], row_of(both, "x")["support_2"]) == (0.2, 0.4)
    assert np.isnan(row_of(both, "x")["support_3"])
    assert row_of(both, "y")["support"] == pytest.approx(0.1)
    assert row_of(both, "z")["support"] == pytest.approx(0.4)
    notes = " ".join(both.attrs["assocpriv"]["notes"])
    assert "not averaged (1: M=3, 2: M=5, 3: M=5)" in notes
    assert "mining their reports together" in notes
    assert "those that chance lifted" in notes
    assert [row["itemsets"] for row in both.to_dict("records")] == [{"z"}, {"y"}, {"x"}]


def test_two_collections_of_one_plan_estimate_the_population(rng: np.random.Generator) -> None:
    """The average of two collections lies within its errors of the population's support; one's own error is larger."""
    plan = make_plan(4, 2, ap.Breach("5%", "50%"))
    truth, frames = 0.4, []
    for size in (30_000, 10_000):
        baskets = ap.Baskets.from_sets(
            [[0] if chance < truth else [1, 2] for chance in rng.random(size)], plan.catalogue
        )
        entropy = SeededEntropy(int(rng.integers(1 << 30)))
        packed = np.concatenate([chunk.packed for chunk in randomize_chunks(baskets, plan, entropy=entropy)])
        frames.append(mine(Reports(plan, packed), 0.05))
    row = row_of(combine_tables(frames), "0")
    assert abs(row["support"] - truth) < Z_LIMIT * row["std_error"]  # false alarm 1e-6
    assert row["std_error"] < row["std_error_1"] * 1.05
    # the sum of both would be just as near only if the weights were wrong
    assert abs(row["support"] - 1.2 * truth) > Z_LIMIT * row["std_error"]


# ---- corrections

SIZES = SizeShares(np.array([1, 4, 8]), np.array([0.3, 0.4, 0.3]))


def test_tables_of_two_plans_are_corrected_and_averaged() -> None:
    """With sizes each support is what it was before sampling, and half of the correction enters the weights alone."""
    supports, errors, sizes_m = (0.2, 0.25), (0.01, 0.02), (2, 5)
    frames = [table({"x": (s, e)}, plan, m=m) for s, e, plan, m in zip(supports, errors, "ab", sizes_m, strict=True)]
    row = row_of(combine_tables(frames, SIZES), "x")
    found = [undo_sampling(np.array([s]), SIZES, Sampling(m), 1) for s, m in zip(supports, sizes_m, strict=True)]
    values, factors = ([float(part[0]) for part in parts] for parts in zip(*found, strict=True))
    noise = [(e * f) ** 2 for e, f in zip(errors, factors, strict=True)]
    rough = sum(x / v for x, v in zip(values, noise, strict=True)) / sum(1 / v for v in noise)
    bias = [0.5 * (1 - s / x) * rough for s, x in zip(supports, values, strict=True)]
    weights = [1 / (v + b * b) for v, b in zip(noise, bias, strict=True)]
    total = sum(weights)
    assert values[0] > supports[0] * 1.5
    assert [row["corrected_1"], row["corrected_2"]] == pytest.approx(values, rel=1e-12)
    assert row["support"] == pytest.approx(sum(w * x for w, x in zip(weights, values, strict=True)) / total, rel=1e-12)
    variance = sum(w * w * v for w, v in zip(weights, noise, strict=True)) / total**2
    assert row["std_error"] == pytest.approx(sqrt(variance), rel=1e-12)
    assert row["model_error"] == pytest.approx(
        sum(w * b for w, b in zip(weights, bias, strict=True)) / total, rel=1e-12
    )
    assert (row["support_1"], row["std_error_1"]) == (supports[0], errors[0])


def test_nothing_is_corrected_where_nothing_was_sampled() -> None:
    """Where all baskets have at most M items, supports stay as they are and the model leaves no error."""
    frames = [table({"x": (0.2, 0.01), "xy": (0.0, 0.01)}, plan, m=8) for plan in "ab"]
    both = combine_tables(frames, SIZES)
    assert row_of(both, "x")["support"] == pytest.approx(0.2, rel=1e-3)
    assert both["model_error"].max() < 1e-4
    assert row_of(both, "xy")["support"] == 0


def test_a_tables_own_noise_does_not_weigh(rng: np.random.Generator) -> None:
    """Weights do not follow what came out low: the average of noisy tables is unbiased, as a naive rule's is not."""
    runs, error, truth = 4000, 0.02, 0.03
    draws = rng.normal(truth, error, (2, runs))
    names = [f"{place:05}" for place in range(runs)]
    frames = []
    for plan, values in zip("ab", draws, strict=True):
        frame = table({"x": (0.5, error)}, plan, m=2)
        rows = {(name,): (value, error) for name, value in zip(names, values.tolist(), strict=True)}
        frames.append(table(rows, plan, m=2))
        assert len(frame) == 1
    flat = SizeShares(np.array([4]), np.array([1.0]))
    both = combine_tables(frames, flat)
    expected = float(np.mean([undo_sampling(values, flat, Sampling(2), 1)[0].mean() for values in draws]))
    spread = 2 * error / sqrt(2 * runs)
    assert abs(both["support"].mean() - expected) < Z_LIMIT * spread
    weights = 1 / ((2 * error) ** 2 + draws**2)  # half of each one's own correction
    naive = float(((weights * 2 * draws).sum(axis=0) / weights.sum(axis=0)).mean())
    assert abs(naive - expected) > Z_LIMIT * spread


def test_an_unlearnable_size_is_no_support() -> None:
    """NaN with an infinite error, as of a size that a plan tells nothing of, takes no part."""
    both = combine_tables([table({"xy": (np.nan, np.inf)} | {"x": (0.2, 0.1)}), table({"xy": (0.1, 0.1)})], SIZES)
    assert np.isfinite(row_of(both, "xy")["support"])
    assert np.isnan(row_of(both, "xy")["support_1"])


def test_sizes_that_saturate_the_model_stay_finite() -> None:
    """Where all baskets are long the model comes to certainty early; corrections stay finite and warn of nothing."""
    long = SizeShares(np.array([0, 40, 200]), np.array([0.0, 0.5, 0.5]))
    both = combine_tables(
        [table({"x": (s, 0.01), "xy": (s, 0.01)}, plan) for s, plan in ((0.01, "a"), (0.9, "b"))], long
    )
    assert np.isfinite(both[["support", "std_error", "model_error", "corrected_1", "corrected_2"]].to_numpy()).all()


def test_entries_are_corrected_by_what_other_tables_say() -> None:
    """A table of itemset entries is divided by what sampling left of them, given its own and other estimates."""
    entries = table({"xy": (0.1, 0.01), "x": (0.2, 0.01)}, "b", m=1, view="itemsets")
    both = combine_tables([table({"x": (0.3, 0.01), "xy": (0.15, 0.02)}), entries], SIZES)
    others = {frozenset(names): row_of(both, names)["corrected_1"] for names in ("x", "xy")}
    own = {frozenset("xy"): (0.1, 0.01), frozenset("x"): (0.2, 0.01)}
    for names, share in zip(("xy", "x"), surviving_entries(own, others, SIZES, 1), strict=True):
        assert row_of(both, names)["corrected_2"] == pytest.approx(own[frozenset(names)][0] / share, rel=1e-15)
        assert share < 1


# ---- sizes

BOUNDS = [0, 1, 2, 4, 8]


def histogram(shares, error=1e-4, least=0.01):
    """Return the table of a sizes plan; buckets without a share are not in it."""
    names = [f"{low}.." for low in BOUNDS]
    rows = {(name,): (share, error) for name, share in zip(names, shares, strict=True) if share}
    buckets = dict(zip(names, BOUNDS, strict=True))
    return table(rows, "s", m=1, view="sizes", buckets=buckets) if rows else None


def test_sizes_follow_a_histogram() -> None:
    """A sharp histogram is met bucket by bucket; a bucket that is missing gets what the others leave of 1."""
    for shares in ([0.1, 0.2, 0.4, 0.25, 0.05], [0.1, 0.2, 0.4, 0.3, 0]):
        sizes = sizes_of_table(histogram(shares))
        ends = [*BOUNDS[1:], 10**9]
        met = [
            float(sizes.shares[(sizes.sizes >= low) & (sizes.sizes < high)].sum())
            for low, high in zip(BOUNDS, ends, strict=True)
        ]
        assert met == pytest.approx(shares, abs=0.012)
        assert sizes.shares.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "buckets", [None, {}, {"a": 1}, {"a": 0, "b": 0}, {"a": 0, "b": 2, "c": 1}, {"a": "0"}, {"x": 0}, []], ids=str
)
def test_what_is_no_histogram_is_refused(buckets) -> None:
    """A table without buckets that rise from 0, or with rows that are none of them, tells no sizes."""
    with pytest.raises(EstimateError, match="histogram"):
        sizes_of_table(table({"q": (0.5, 0.1)}, buckets=buckets))


def test_shortlists_are_thinned_to_what_they_hold() -> None:
    """Where a plan drops names, sizes are thinned until the items sampled are as many as the table shows."""
    m, mean = 2, 1.5
    left = SIZES.thinned(mean)
    shown = float(np.minimum(left.sizes, m) @ left.shares)
    frame = table({"x": (shown - 0.5, 0.01), "y": (0.5, 0.01), "xy": (0.3, 0.01)}, m=m, others="drop")
    assert sizes_held(frame, SIZES).mean == pytest.approx(mean, abs=1e-4)
    assert sizes_held(table({"x": (0.5, 0.01)}), SIZES) is SIZES
    full = table({(str(i),): (0.9, 0.01) for i in range(3)}, m=m, others="drop")
    assert sizes_held(full, SIZES).mean == SIZES.mean  # more than sizes allow


# ---- refusals


def test_fewer_than_two_tables() -> None:
    """One table is nothing to combine."""
    with pytest.raises(EstimateError, match="two tables or more, got 1"):
        combine_tables([table({"x": (0.5, 0.1)})])
    with pytest.raises(TypeError, match="a list of tables"):
        ap.combine("t.csv")
    with pytest.raises(TypeError, match="a list of tables"):
        ap.combine(table({"x": (0.5, 0.1)}))  # type: ignore[arg-type]


def test_the_same_reports_do_not_count_twice() -> None:
    """Two tables with equal counts of equally many reports are of the same people, also mined at another support."""
    rows = {"x": (0.5, 0.1), "y": (0.4, 0.1), "z": (0.3, 0.1), "w": (0.2, 0.1)}
    first = table(rows)
    shorter = first.iloc[:3].reset_index(drop=True)
    shorter.attrs = first.attrs
    for other in (first.copy(), shorter):
        other.attrs = first.attrs
        with pytest.raises(EstimateError, match="tables 1 and 2 were mined from the same reports"):
            combine_tables([first, other])
    combine_tables([first, table(rows, reports=1001)])
    combine_tables([first, table(rows, "b")])


def test_a_histogram_is_no_table() -> None:
    """Sizes are given as the histogram."""
    with pytest.raises(EstimateError, match="table 2 tells how many items"):
        combine_tables([table({"x": (0.5, 0.1)}), histogram([0.2] * 5)])


# ---- files


def test_files_are_plain_tables(tmp_path: Path) -> None:
    """Every kind of file holds the same table, with names that need quotes, and rules are refused with the reason."""
    frames = [table({("a,b", "c"): (0.2, 0.1), ("c",): (0.4, 0.1)}, plan) for plan in "ab"]
    both = combine_tables(frames)
    for ending in ("csv", "json", "parquet"):
        path = tmp_path / f"c.{ending}"
        write_combined(both, path)
        with pytest.raises(EstimateError, match="combined table of several rounds"):
            read_itemsets(path)
        with pytest.raises(FileError, match="exists already"):
            write_combined(both, path)
    rows = json.loads((tmp_path / "c.json").read_text())["itemsets"]
    assert [row["itemset"] for row in rows] == [["c"], ["a,b", "c"]]
    assert [row["support"] for row in rows] == [None, None]
    with (tmp_path / "c.csv").open(newline="") as stream:
        read = list(csv.DictReader(stream))
    assert next(csv.reader([read[1]["itemsets"]])) == ["a,b", "c"]
    assert (read[0]["support"], float(read[0]["support_1"])) == ("", 0.4)
    assert pq.read_table(tmp_path / "c.parquet")["itemsets"].to_pylist() == [["c"], ["a,b", "c"]]
    with pytest.raises(FileError, match="must end in"):
        write_combined(both, tmp_path / "c.txt")


def test_larger_supports_come_first() -> None:
    """Rows fall by their average, those without one last, by the largest of their tables' supports."""
    one = table({"p": (0.1, 0.01), "q": (0.3, 0.01), "r": (0.2, 0.01), "s": (0.6, 0.01)})
    other = table({"r": (0.9, 0.01), "s": (0.5, 0.01)}, "b")
    both = combine_tables([one, other])
    assert ["".join(a) for a in both["itemsets"]] == ["q", "p", "r", "s"]
    known = both["support"].dropna().tolist()
    assert all(high >= low for high, low in pairwise(known))


def test_synthetic_baskets_have_the_known_supports() -> None:
    """Entries held by baskets along the tree of pairs have about the supports of items and of the tree's pairs."""
    known: Knowledge = {(0,): measured(0.4, 1e-6), (1,): measured(0.3, 1e-6), (2,): measured(0.1, 1e-6)}
    known |= {(0, 1): measured(0.25, 1e-6), (0, 2): measured(0.04, 1e-6), (1, 2): measured(0.09, 1e-6)}
    sizes = SizeShares(np.array([10]), np.ones(1))  # that baskets are equally long changes nothing
    holdings = SyntheticHoldings.of([(0,), (1,), (0, 1), (1, 2)], known, sizes)
    assert np.average(holdings.holds, axis=0, weights=holdings.weights) == pytest.approx(
        [0.4, 0.3, 0.25, 0.09], abs=0.03
    )
    assert (holdings.holds[:, 2] == holdings.holds[:, 0] & holdings.holds[:, 1]).all()
    assert holdings.surviving(Sampling(4)) == pytest.approx(np.ones(4))
    assert (holdings.surviving(Sampling(1)) < 1).all()


def test_long_baskets_are_foreseen() -> None:
    """Baskets are as long as their sizes say, and hold as many entries as the supports add up to, in blocks too."""
    known: Knowledge = {(item,): measured(0.1, 1e-6) for item in range(30)}
    sizes = SizeShares(np.array([0, 2, 24]), np.array([0.5, 0.4, 0.1]))  # a tenth of the baskets hold four fifths
    holdings = SyntheticHoldings.of([(item,) for item in range(30)], known, sizes)
    held = holdings.holds.sum(axis=1)
    assert np.average(held, weights=holdings.weights) == pytest.approx(3.0, rel=0.01)
    assert np.average(held > 12, weights=holdings.weights) == pytest.approx(0.1, abs=0.03)
    assert holdings.surviving(Sampling(3)).mean() == pytest.approx(0.2 + 0.8 * 3 / 24, abs=0.1)
    assert holdings.surviving(Sampling(3, 30, 15)).min() > 0.9  # in a block of two entries


def test_weights_are_those_that_reports_show() -> None:
    """Weighted baskets show what reports do, how many entries are held included; vague reports say nothing."""
    known: Knowledge = {(item,): measured(0.2, 1e-6) for item in range(6)}
    first = SyntheticHoldings.of([(item,) for item in range(6)], known, SizeShares(np.array([2]), np.ones(1)))
    told, few = np.array([0.3, 0.1, 0.2, 0.2, 0.2, 0.2]), np.array([0.2, 0.6])
    near = first.weighted(Sampling(2), Shown(told, np.full(6, 1e-4), few, np.full(2, 1e-4)))
    assert near.supports * near.surviving(Sampling(2)) == pytest.approx(told, abs=1e-3)
    assert np.cumsum(near.sizes.shares)[:2] == pytest.approx(few, abs=1e-3)
    vague = first.weighted(Sampling(2), Shown(told, np.full(6, 100.0), few, np.full(2, 100.0)))
    assert vague.weights == pytest.approx(first.weights, rel=1e-3)


def test_patterns_that_no_earlier_round_saw(rng: np.random.Generator) -> None:
    """Reports of a pattern's parts tell that its holders lose more; by pairs as known before they lose too little.

    Each of 48 supports lies within 4.9 stated errors, bias included: by chance one does not in some 21,000 runs.
    """
    entries = [(item,) for item in range(20)] + [(i, j) for i in range(8) for j in range(i + 1, 8)]
    pattern = rng.random(200_000) < 0.05
    items = (rng.random((200_000, 20)) < 0.06) | (pattern[:, None] & (np.arange(20) < 8))
    holds = np.stack([items[:, list(entry)].all(axis=1) for entry in entries], axis=1)
    sampling, counts = Sampling(6), holds.sum(axis=1)
    kept = sampling.kept(np.maximum(np.arange(49), 1), 1)[counts]
    few, error = np.array([np.mean(counts <= j) for j in range(6)]), 0.001
    shares = (holds * kept[:, None]).mean(axis=0)
    shown = Shown(rng.normal(shares, error), np.full(48, error), rng.normal(few, error), np.full(6, error))
    known: Knowledge = {(item,): measured(0.11 if item < 8 else 0.06, 1e-6) for item in range(20)}
    known |= {pair: measured(0.11**2, 1e-6) for pair in entries if len(pair) == 2}  # as if nothing went together
    sizes = SizeShares(np.arange(len(np.bincount(items.sum(axis=1)))), np.bincount(items.sum(axis=1)) / 200_000)

    def furthest(left: np.ndarray) -> float:
        raw = shown.supports / left
        errors = np.hypot(error / left, raw - shown.supports)
        return float(np.abs((raw - holds.mean(axis=0)) / errors).max())

    assert furthest(surviving_shares(entries, known, sizes, sampling, shown)) < 4.9
    assert furthest(SyntheticHoldings.of(entries, known, sizes).surviving(sampling)) > 4.9


def test_surviving_shares_are_what_sampling_leaves() -> None:
    """Of entries held by all M are left; what is held alone survives whole, and what other tables say counts."""
    a, b = frozenset(["a"]), frozenset(["b"])
    pair, sizes = frozenset(["a", "b"]), SizeShares(np.arange(1, 13), np.full(12, 1 / 12))
    two = SizeShares(np.array([2]), np.array([1.0]))
    shown = {a: (0.33, 0.01), b: (0.33, 0.01), pair: (0.33, 0.01)}
    sure = {a: 0.99, b: 0.99, pair: 0.98}
    assert surviving_entries(shown, sure, two, 1) == pytest.approx(np.full(3, 1 / 3), abs=0.02)
    alone = {a: (0.01, 0.001), b: (0.01, 0.001)}
    assert surviving_entries(alone, {}, sizes, 1).min() > 0.9
    shown = {a: (0.5, 0.02), b: (0.45, 0.02)}
    assert surviving_entries(shown, {a: 0.9, b: 0.9, pair: 0.85}, sizes, 1).max() < 0.7
    assert len(surviving_entries({}, sure, sizes, 1)) == 0
