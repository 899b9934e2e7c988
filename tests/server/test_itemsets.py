"""Tables of itemsets with their facts, also as other programs have them: the same itemsets, counts and measures.

Of plans with blocks tables, rules and answers: how many reports tell of what, and what sampling takes.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from math import comb
from pathlib import Path

import naive
import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from fit import FALSE_ALARM, Z_LIMIT
from numpy.typing import NDArray
from quiet import mine
from scipy.stats import binom, chi2

import assocpriv as ap
from assocpriv import answer, to_arules, to_efficient_apriori, to_frame, write_fimi, write_spmf
from assocpriv.client.bulk import randomize_chunks
from assocpriv.files.itemsets import itemset_records
from assocpriv.files.reports import Reports
from assocpriv.plans.baskets import AskedReports, Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.view import Blocks, View
from assocpriv.promise.errors import EstimateError
from assocpriv.records.baskets import Baskets
from assocpriv.server.ask import count_subsets
from assocpriv.server.counting import LocalBackend
from assocpriv.server.itemsets import describe_undecided, mining_facts
from assocpriv.server.supports import SizesInBlocks
from assocpriv.show.itemsets import answer_lines, mined_lines
from assocpriv.simulation.enumeration import SeededEntropy

NAMES = ["tea", "jam", "ale", "fig", "oat", "nut", "rye", "pea", "egg", "cod", "yam", "bun"]
BLOCKS = Blocks(24, 2, 8)
CHANCES = np.array([0.95, 0.9, 0.8, 0.6, 0.5, 0.4, 0.4, 0.3, 0.3, 0.2, 0.1, 0.05])


def plan_of(blocks: Blocks = BLOCKS, m: int = 6) -> Plan:
    """Return a plan with little noise: blocks of six items, and reports of all that a basket holds of one at M = 6."""
    shares = [1] * m + [4000]
    inside = naive.small_plan("bch", blocks.longest(len(NAMES)), m, 3, insert=(1, 4), shares=shares)
    return replace(inside, catalogue=Catalogue(NAMES), view=View(blocks=blocks))


def baskets_of(count: int, rng: np.random.Generator) -> Baskets:
    """Return dense baskets, of about half of the items, as long ones hold more of everything."""
    held = rng.random((count, len(NAMES))) < CHANCES * rng.uniform(0.6, 1.05, (count, 1))
    return Baskets.from_sets([[NAMES[item] for item in np.flatnonzero(row)] for row in held], Catalogue(NAMES))


def reports_of(plan: Plan, baskets: Baskets, seed: int) -> Reports:
    """Return the reports of baskets."""
    chunks = randomize_chunks(baskets, plan, entropy=SeededEntropy(seed))
    return Reports(plan, np.concatenate([chunk.packed for chunk in chunks]))


def raw_supports(baskets: Baskets, itemsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of baskets that hold each itemset."""
    held = np.zeros((len(baskets), len(NAMES)), dtype=np.bool_)
    held[np.repeat(np.arange(len(baskets)), baskets.sizes), baskets.items] = True
    return np.array([held[:, row].all(axis=1).mean() for row in itemsets])


@pytest.fixture(scope="module")
def baskets() -> Baskets:
    """Return the baskets of most tests here."""
    return baskets_of(6000, np.random.default_rng(1))


@pytest.fixture(scope="module")
def reports(baskets: Baskets) -> Reports:
    """Return their reports."""
    return reports_of(plan_of(), baskets, 2)


def test_a_table_says_how_many_reports_tell(reports: Reports) -> None:
    """Rows have their reports and subset counts; itemsets that too few tell of are left out, which is said."""
    table = mine(reports, "20%")
    facts, asked = mining_facts(table), AskedReports(BLOCKS, len(NAMES))
    assert facts.blocks is not None
    assert facts.blocks.asked == asked
    named = reports.plan.form.numbers(reports.packed)  # type: ignore[attr-defined]
    told = [{NAMES[item] for item in BLOCKS.members(block, len(NAMES)).tolist()} for block in range(BLOCKS.count)]
    for row in table.to_dict("records"):
        assert row["reports"] == sum(row["itemsets"] <= told[block] for block in named)
        assert row["subset_counts"][0] == row["reports"]
        assert row["subset_counts"][-1] == row["count"]
    for level in facts.levels:
        least = asked.fewest(level.size, len(reports))
        inside = [sum(set(a) <= told[block] for block in named) for a in combinations(NAMES, level.size)]
        assert level.left_out <= sum(n < least for n in inside)
        assert (table.loc[table["length"] == level.size, "reports"] >= least).all()
        assert asked.fewest(level.size, len(reports)) < asked.least(level.size, len(reports))
    assert facts.levels[0].left_out == 0
    pairs = facts.levels[1]
    assert pairs.left_out > 0
    assert any(f"{pairs.left_out} itemset" in line for line in describe_undecided(facts))


def test_rules_of_a_table_are_those_asked(reports: Reports) -> None:
    """Rules derived from a table have the estimates and errors of the same rules asked of the reports."""
    table = mine(reports, "20%")
    rules = pd.concat([ap.association_rules(table, antecedent_size=size).head(15) for size in (1, 2)])
    asked = ap.ask_rules(reports, list(zip(rules["antecedents"], rules["consequents"], strict=True)))
    for name in ["support", "antecedent support", "confidence", "lift", "support_std_error", "confidence_std_error"]:
        assert rules[name].to_numpy() == pytest.approx(asked[name].to_numpy(), rel=1e-9)
    assert set(map(len, rules["antecedents"])) == {1, 2}


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.json"])
def test_tables_in_files(reports: Reports, tmp_path: Path, name: str) -> None:
    """A table is read as it was written; one whose counts its reports cannot show is refused."""
    table = mine(reports, "30%")
    ap.write_itemsets(table, tmp_path / name)
    read = ap.read_itemsets(tmp_path / name)
    assert mining_facts(read) == mining_facts(table)
    pd.testing.assert_frame_equal(ap.association_rules(read), ap.association_rules(table))
    for column, value in [("reports", 10**6), ("sampling_loss", -1.0), ("subset_counts", [1, 2])]:
        worse = table.copy()
        worse.attrs = table.attrs
        worse.at[0, column] = value
        ap.write_itemsets(worse, tmp_path / name, force=True)
        with pytest.raises(EstimateError, match="out of range"):
            ap.read_itemsets(tmp_path / name)
    worse, content = table.copy(), table.attrs["assocpriv"]
    worse.attrs = {"assocpriv": content | {"blocks": content["blocks"] | {"held": [1]}}}
    with pytest.raises(EstimateError, match="people by what they hold"):
        mining_facts(worse)


def test_all_ways_of_mining(reports: Reports) -> None:
    """Splitting and ranking go with blocks, and auto finds a minimum for what it can decide."""
    split = mine(reports, "30%", certain="95%")
    assert split["certain"].any()
    assert (split["reports"] < 0.4 * len(reports)).all()
    ranked = mine(reports, top=10)
    assert (ranked["rank_low"] <= ranked["rank_high"]).all()
    levels = mining_facts(mine(reports, "auto")).levels
    assert levels[0].status == "decided"
    assert levels[0].min_support < levels[1].min_support


def test_what_no_block_holds_is_not_asked(baskets: Baskets) -> None:
    """Of a single partition a pair of two pieces has no estimate, text and JSON say so, and a rule of it neither."""
    blocks = Blocks(1, 2, 0)
    few = reports_of(plan_of(blocks), baskets, 3)
    first, second = ([NAMES[item] for item in blocks.members(block, len(NAMES)).tolist()] for block in (0, 1))
    apart, together = [first[0], second[0]], first[:2]
    answers = answer(few, [apart, together], [([apart[0]], [apart[1]]), ([first[0]], [first[1]])])
    assert np.isnan(answers.itemsets["support"]).tolist() == [True, False]
    assert answers.itemsets["reports"].tolist()[0] == 0
    assert np.isnan(answers.rules["confidence"]).tolist() == [True, False]
    assert not np.isnan(answers.rules["antecedent support"]).any()
    text = answer_lines(answers)
    assert sum("not asked" in line for line in text) == 4
    assert any("no report is about a block that holds all of these items" in line for line in text)
    assert itemset_records(answers.itemsets)[0]["support"] is None


def test_whole_baskets_are_claimed_where_nothing_is_lost(baskets: Baskets, reports: Reports) -> None:
    """With room for all of a block supports are of whole baskets; where many have more it is said what may be lost."""
    whole, short = mine(reports, "30%"), mine(reports_of(plan_of(m=3), baskets, 4), "2%")
    assert "supports are those of whole baskets" in mined_lines(whole, 5)[0]
    assert whole.attrs["assocpriv"]["blocks"]["whole_baskets"]
    assert "within at most 3 sampled items a block" in mined_lines(short, 5)[0]
    assert "may take up to" in mined_lines(short, 5)[1]
    assert not short.attrs["assocpriv"]["blocks"]["whole_baskets"]
    first = short[short["length"] == 1]
    raw = raw_supports(baskets, np.array([[NAMES.index(min(names))] for names in first["itemsets"]]))
    lost, said = (raw - first["support"].to_numpy()).sum(), first["sampling_loss"].sum()
    error = np.sqrt((first["std_error"] ** 2).sum())
    assert lost > 10 * error
    assert 0.8 * lost - Z_LIMIT * error < said < 1.3 * lost + Z_LIMIT * error


def test_few_reports_do_not_tell_that_nothing_is_lost(baskets: Baskets) -> None:
    """Where none of ten people is seen to hold M of the block, a third of all may: that is what is judged by."""
    asked = reports_of(plan_of(m=4), baskets[:10], 4)
    facts = answer(asked, [[NAMES[0]]], []).facts.blocks
    assert facts is not None
    assert facts.held_at_most is not None
    assert facts.held.full < 0.1 < 0.3 < facts.held_at_most.full
    assert facts.largest_loss > facts.held.lost(np.ones(1), 1)[0]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_what_is_lost_of_the_average_itemset(baskets: Baskets, k: int) -> None:
    """Sizes up to M say about what sampling takes from the sum of all itemsets of a size."""
    plan = plan_of(m=4)
    rng, sizes = np.random.default_rng(5), []
    for start, stop in pairwise(baskets.offsets.tolist()):
        block = BLOCKS.members(int(rng.integers(BLOCKS.count)), len(NAMES))
        sizes.append(len(np.intersect1d(block, baskets.items[start:stop])))
    held = np.array(sizes)
    at_least = tuple(float((held >= j).mean()) for j in range(plan.transaction_size + 1))
    binomial = [np.array([comb(int(size), k) for size in np.minimum(held, most)]) for most in (12, 4)]
    lost = (binomial[0].sum() - binomial[1].sum()) / binomial[1].sum()
    assert 0.7 * lost <= SizesInBlocks(at_least, 6).lost_share(k) <= 1.5 * lost


def test_errors_cover_raw_supports_of_dense_baskets(rng: np.random.Generator) -> None:
    """Over collections of the same people intervals cover raw supports and errors are right; two wrong models are not.

    Wrong are all reports as the divisor, and errors that forget that blocks sample the people.
    """
    baskets, plan = baskets_of(1500, rng), plan_of()
    itemsets = [np.array(list(combinations(range(4), k)), dtype=np.int64) for k in (1, 2)]
    raw, runs = [raw_supports(baskets, rows) for rows in itemsets], 60
    scores, shares, forgetful = [], [], []
    for run in range(runs):
        collections = LocalBackend.of(reports_of(plan, baskets, run)).open()
        for rows, truth in zip(itemsets, raw, strict=True):
            estimates = count_subsets(collections, rows).estimates()
            scores.append((estimates.support - truth) / estimates.std_error(population=False))
            divided = estimates.support * estimates.asked / len(baskets)
            shares.append(((divided - truth) / estimates.std_error(population=False)).max())
            share = 1 / estimates.asked - 1 / len(baskets)
            by_chance = np.maximum(estimates.variance - truth * (1 - truth) * share, 1e-12)
            forgetful.append((estimates.support - truth) / np.sqrt(by_chance))
    single = np.array(scores[::2])[:, 2]  # one itemset: its scores are independent from run to run
    assert abs(single.mean()) * np.sqrt(runs) < Z_LIMIT
    assert chi2.ppf(FALSE_ALARM, runs) < (single**2).sum() < chi2.isf(FALSE_ALARM, runs)
    assert binom.cdf((np.abs(single) <= 1.96).sum(), runs, 0.94) > FALSE_ALARM
    wrong = np.array(forgetful[::2])[:, 2]
    assert (wrong**2).sum() > chi2.isf(FALSE_ALARM, runs)
    assert np.mean(shares[::2]) * np.sqrt(runs) < -Z_LIMIT
    assert binom.cdf((np.array(shares[::2]) >= -1.96).sum(), runs, 0.94) < FALSE_ALARM


def test_histograms_are_refused(reports: Reports) -> None:
    """Sizes of whole baskets do not correct supports of blocks."""
    with pytest.raises(EstimateError, match="says nothing of what a block holds"):
        ap.mine(reports, "30%", histogram=pd.DataFrame())


def asked_shares(blocks: Blocks, n_items: int, k: int) -> Sequence[float]:
    """Return which share of all blocks holds each itemset of k entries."""
    members = [set(blocks.members(block, n_items).tolist()) for block in range(blocks.count)]
    return [sum(set(a) <= block for block in members) / len(members) for a in combinations(range(n_items), k)]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_how_many_reports_are_to_be_expected(k: int) -> None:
    """The mean share of reports is that of random partitions, and 99 of 100 itemsets have the least that is stated."""
    blocks, asked = Blocks(60, 3, 11), AskedReports(Blocks(60, 3, 11), 14)
    shares, reports = np.array(asked_shares(blocks, 14, k)), 200_000
    assert shares.mean() == pytest.approx(float(asked.share(k)), abs=1e-12)  # exact for every partition
    least = asked.least(k, reports)
    fewer = (shares * reports < least - 3 * np.sqrt(least)).mean()
    assert fewer <= 0.02
    assert np.quantile(shares, 0.05) * reports >= least * 0.95
    assert asked.least(k, 0) == 0


@pytest.fixture(scope="module")
def mined() -> pd.DataFrame:
    """A table of names and of subsets that noise pushed below."""
    plan = ap.plan(["tea", "milk", "rye", "egg"], 3, ap.Breach("5%", "90%"))
    return ap.mine(ap.randomize([{"tea", "milk"}, {"rye"}, {"tea", "milk", "egg"}] * 4000, plan), "20%")


def test_frames_of_other_libraries(mined: pd.DataFrame) -> None:
    """The same columns and values, sets as sorted lists; and these frames are baskets again."""
    for backend in ("polars", "pyarrow", "pandas"):
        frame = to_frame(mined, backend)
        assert type(frame).__module__.split(".")[0] == backend
        shown = {name: nw.from_native(frame, eager_only=True)[name].to_list() for name in ("itemsets", "support")}
        assert [list(each) for each in shown["itemsets"]] == [sorted(each) for each in mined["itemsets"]]
        assert shown["support"] == mined["support"].tolist()
        baskets = nw.from_native(frame, eager_only=True).select("itemsets").to_native()
        assert len(ap.to_baskets(baskets)) == len(mined)
    with pytest.raises(ValueError, match="pandas, polars or pyarrow"):
        to_frame(mined, "dask")


def test_efficient_apriori_has_the_same_shape(mined: pd.DataFrame) -> None:
    """Keys and tuples are those that efficient-apriori gives of plain baskets; counts are near."""
    efficient = pytest.importorskip("efficient_apriori")
    plain, _ = efficient.itemsets_from_transactions(
        [("tea", "milk"), ("rye",), ("tea", "milk", "egg")] * 4000, min_support=0.2, max_length=2
    )
    ours = to_efficient_apriori(mined[mined["length"] <= 2])
    assert {size: set(each) for size, each in ours.items()} == {size: set(each) for size, each in plain.items()}
    assert all(abs(ours[k][items] - count) < 1500 for k, each in plain.items() for items, count in each.items())


def test_files_of_spmf_and_fimi(mined: pd.DataFrame, tmp_path: Path) -> None:
    """A line an itemset; a name with a blank is refused, and nothing written."""
    for write, mark in ((write_spmf, " #SUP: "), (write_fimi, " (")):
        write(mined, tmp_path / "found.txt", force=True)
        lines = (tmp_path / "found.txt").read_text().splitlines()
        found = [line.rstrip(")").split(mark) for line in lines]
        wanted = mined[mined["frequent"]]
        assert [items.split() for items, _ in found] == [sorted(each) for each in wanted["itemsets"]]
        assert [int(count) for _, count in found] == (wanted["support"] * 12_000).round().clip(0).astype(int).tolist()
    spaced = mined.assign(itemsets=[frozenset({"green tea"})] * len(mined))
    spaced.attrs = mined.attrs
    with pytest.raises(ap.AssocprivError, match="blank"):
        write_spmf(spaced, tmp_path / "no.txt")
    assert not (tmp_path / "no.txt").exists()


def test_rules_as_arules_writes_them(mined: pd.DataFrame) -> None:
    """Sides in braces, coverage is the antecedent's support; errors come last."""
    rules = ap.association_rules(mined, "10%")
    table = to_arules(rules)
    assert list(table.columns[:5]) == ["rules", "support", "confidence", "coverage", "lift"]
    assert table["rules"].iloc[0] == (
        f"{{{','.join(sorted(rules['antecedents'].iloc[0]))}}} => {{{','.join(sorted(rules['consequents'].iloc[0]))}}}"
    )
    assert table["coverage"].tolist() == rules["antecedent support"].tolist()
    assert table.columns[-1].endswith("_std_error")


def test_itemsets_are_no_rules(mined: pd.DataFrame, tmp_path: Path) -> None:
    """They are refused where rules are meant, and nothing is written."""
    for given in (mined, None):
        with pytest.raises(ap.AssocprivError, match="no table of rules; association_rules makes one"):
            to_arules(given)
        with pytest.raises(ap.AssocprivError, match="no table of rules"):
            ap.write_rules(given, tmp_path / "r.csv")
    assert not list(tmp_path.iterdir())
