"""Claims about many estimates: what can be believed, the largest ones with the ranks they may have, false discoveries.

Mining without a given minimum support, p-values, the control of false discoveries, and, through the shipping
pipeline, intervals and certainty of mined tables.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import naive
import numpy as np
import pandas as pd
import pytest
from fit import FALSE_ALARM, Z_LIMIT
from planned import planned
from quiet import ask, mine
from scipy.special import ndtr
from scipy.stats import binom

import assocpriv as ap
from assocpriv import association_rules
from assocpriv.client.bulk import randomize_chunks
from assocpriv.files.reports import Reports, read_reports
from assocpriv.planning.designs import InsertionDesign
from assocpriv.plans.baskets import Plan
from assocpriv.plans.operator import Operator
from assocpriv.plans.transition import SupportModel, estimator_row, transition_matrix
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import EstimateError
from assocpriv.records.baskets import Baskets
from assocpriv.server import false_discovery
from assocpriv.server import supports as estimate
from assocpriv.server.apriori import least_decidable, mine_levels
from assocpriv.server.counting import MOST_CANDIDATES, ItemsetCounter, ReportPart, choosing
from assocpriv.server.false_discovery import (
    all_itemsets,
    all_rules,
    coherent,
    false_discoveries_controlled,
    mine_believable,
    mine_largest,
    p_values,
    rank_sets,
)
from assocpriv.server.intervals import (
    LONGER_BY,
    NORMAL_UP_TO,
    Observed,
    level_discoverable_support,
    observed_of,
    score_intervals,
    support_intervals,
)
from assocpriv.server.itemsets import describe_undecided, mining_facts, read_itemsets, sure_rows, write_itemsets
from assocpriv.server.supports import Respondents, estimate_supports
from assocpriv.show.itemsets import itemset_lines, threshold_lines
from assocpriv.simulation.enumeration import SeededEntropy
from assocpriv.simulation.simulate import simulate

OPERATOR = Operator(3, 1, 1, 6, (2, 4, 5, 35))
MODEL = SupportModel.of(OPERATOR)
MARKET = {
    frozenset({0, 1, 2}): Fraction(3, 10),
    frozenset({0, 1, 3}): Fraction(2, 10),
    frozenset({2, 4, 5}): Fraction(1, 10),
    frozenset({6, 7, 8}): Fraction(4, 10),
}


class NoisyCounter(ItemsetCounter):
    """Draws what N reports of MARKET show, each count by itself: true supports with the noise of the randomizer."""

    n_reports = 0

    def __init__(self, n_reports, rng=None, market=MARKET):
        self.n_reports, self.rng, self.market = n_reports, rng, market

    def count(self, itemsets):
        """Return the reports that show all items; at their means without a generator."""
        k = itemsets.shape[1]
        shown = [float(x) for x in transition_matrix(OPERATOR, k)[k]]
        counts = np.zeros(len(itemsets))
        for held, share in self.market.items():
            people = round(share * self.n_reports)
            inside = np.array([len(held & set(row)) for row in itemsets.tolist()])
            chance = np.array(shown)[inside]
            counts += people * chance if self.rng is None else self.rng.binomial(people, chance)
        return np.round(counts).astype(np.int64)


def supports_of(market, n_items, largest):
    """Return the true support of every itemset."""
    itemsets = (i for k in range(1, largest + 1) for i in combinations(range(n_items), k))
    return {i: float(sum(share for t, share in market.items() if set(i) <= t)) for i in itemsets}


def rows_of(mined, values):
    """Return one value of each itemset found that is frequent."""
    return {
        tuple(row): value
        for level, of_level in zip(mined.found, values, strict=True)
        for row, value, frequent in zip(level.itemsets.tolist(), of_level.tolist(), level.frequent, strict=True)
        if frequent
    }


@pytest.mark.parametrize("top", [1, 2, 3, 5, 8, 12])
def test_the_largest_estimates_are_those_of_all_sizes(top) -> None:
    """From counts at their means the K largest true supports are found, closed under subsets."""
    mined = mine_largest((NoisyCounter(10**12), MODEL), 9, top, 3, MOST_CANDIDATES)
    truth = supports_of(MARKET, 9, 3)
    least = sorted(truth.values())[-top]
    found = rows_of(mined, [level.estimates.support for level in mined.found])
    assert {i for i, s in truth.items() if s > least + 1e-5} <= set(found)
    assert len(found) >= top
    assert found == pytest.approx({i: truth[i] for i in found}, abs=1e-5)
    assert min(truth[i] for i in found) >= least - 1e-5
    assert mined.min_support == pytest.approx(least, abs=1e-5)
    everything = {tuple(row) for level in mined.found for row in level.itemsets.tolist()}
    assert all(set(combinations(i, k)) <= everything for i in everything for k in range(1, len(i)))


def test_what_ties_with_the_last_comes_too() -> None:
    """Items with equal counts are listed together, and share a rank."""
    mined = mine_largest((NoisyCounter(10**12), MODEL), 9, 3, 1, MOST_CANDIDATES)
    assert mined.found[0].itemsets[:, 0].tolist() == [0, 1, 2, 6, 7, 8]
    (ranks,) = rank_sets(mined, Respondents(10**12, MODEL), 0.95, population=False)
    assert ranks.tolist() == [[1, 1, 2], [1, 1, 2], [3, 3, 6], [3, 3, 6], [3, 3, 6], [3, 3, 6]]


def test_the_largest_of_noise_are_what_trying_everything_gives(rng) -> None:
    """Under noise too: no candidate that was pruned has an estimate among the K largest, but for the limit's odds."""
    for top in (4, 20, 60):
        seed = int(rng.integers(2**32))
        mined = mine_largest((NoisyCounter(40_000, np.random.default_rng(seed)), MODEL), 9, top, 2, MOST_CANDIDATES)
        floors = {k: least_decidable(Respondents(40_000, MODEL), k) for k in (1, 2)}
        estimates = rows_of(mined, [level.estimates.support for level in mined.found])
        assert all(support >= floors[len(row)] for row, support in estimates.items())
        kept = sorted(estimates.values(), reverse=True)
        assert len(kept) <= top
        assert mined.min_support == kept[-1]
        for level in mined.levels[:2]:
            assert level.min_support == max(floors[level.size], kept[-1] if len(kept) == top else 0.0)


def naive_ranks(support, low, high):
    """Return rank, least and greatest rank by comparing every pair."""
    rank = [1 + sum(other > own for other in support) for own in support]
    least = [1 + sum(other > own for other in low) for own in high]
    most = [len(support) - sum(other < own for other in high) for own in low]
    return np.column_stack([rank, least, most])


def test_rank_sets_by_comparing_every_pair(rng, monkeypatch) -> None:
    """Ranks and their limits are those of comparing all candidates' intervals two by two, at level 1 − α/C."""
    seen = []
    real = false_discovery.support_intervals

    def spy(sums, estimates, model, level, **options):
        ends = real(sums, estimates, model, level, **options)
        seen.append((level, estimates.support, ends))
        return ends

    monkeypatch.setattr(false_discovery, "support_intervals", spy)
    respondents = Respondents(30_000, MODEL)
    mined = mine_largest((NoisyCounter(30_000, rng), MODEL), 9, 12, 2, MOST_CANDIDATES)
    ranks = rank_sets(mined, respondents, 0.9, population=False)
    assert {level for level, *_ in seen} == {1 - (1 - 0.9) / mined.ranked}
    support = np.concatenate([of_size for _, of_size, _ in seen])
    ends = np.concatenate([of_size for *_, of_size in seen])
    wanted = naive_ranks(support, ends[:, 0], ends[:, 1])
    every = [tuple(row) for counted in mined.counted for row in counted.itemsets.tolist()]
    for level, of_level in zip(mined.found, ranks, strict=True):
        for row, got in zip(level.itemsets.tolist(), of_level.tolist(), strict=True):
            assert got == wanted[every.index(tuple(row))].tolist()
    assert (wanted[:, 1] <= wanted[:, 0]).all()
    assert (wanted[:, 0] <= wanted[:, 2]).all()


# near each other, so that neighbours are easily confused
STAIRS = {frozenset({item}): Fraction(1000 + item, 23 * 1011) for item in range(23)}


def uncovered(rng, runs):
    """Return in how many collections one of the rank sets listed misses the true rank."""
    truth = supports_of(STAIRS, 23, 1)
    true_rank = {i: 1 + sum(other > own for other in truth.values()) for i, own in truth.items()}
    missed = 0
    for _ in range(runs):
        mined = mine_largest((NoisyCounter(200_000, rng, STAIRS), MODEL), 23, 23, 1, MOST_CANDIDATES)
        ranks = rows_of(mined, rank_sets(mined, Respondents(200_000, MODEL), 0.95, population=False))
        missed += any(not low <= true_rank[i] <= high for i, (_, low, high) in ranks.items())
    return missed


def test_rank_sets_cover_all_ranks_at_once(rng, monkeypatch) -> None:
    """In at most 5% of collections a listed itemset's true rank lies outside; the wrong model halves the intervals."""
    runs = 150
    most = binom.isf(FALSE_ALARM, runs, 0.05)
    assert uncovered(rng, runs) <= most
    real = false_discovery.support_intervals

    def half(sums, estimates, *arguments, **options):
        middle = estimates.support[:, None]
        return middle + (real(sums, estimates, *arguments, **options) - middle) / 2

    monkeypatch.setattr(false_discovery, "support_intervals", half)
    assert uncovered(rng, runs) > most


def test_what_can_be_believed_is_decided_and_less_is_not() -> None:
    """Each size is decided at its own support, the figure of its candidates or that of the size before; not below."""
    source = NoisyCounter(400_000), MODEL
    mined = mine_believable(source, 2_000, 3, MOST_CANDIDATES)
    assert {level.status for level in mined.levels} == {"decided"}
    least = 0.0
    for level in mined.levels:
        if level.candidates:
            assert level.min_support == pytest.approx(max(least, level.level_discoverable_support), rel=1e-9)
            least = level.min_support
    assert mined.min_support == mined.levels[0].min_support
    _, levels = mine_levels(source, 2_000, 0.96 * mined.min_support, 3)
    assert levels[0].status == "uncertain"


def test_larger_sizes_take_nothing_from_smaller_ones() -> None:
    """What is believed of items, and of pairs, is the same whether triples are asked for or not."""
    plan = planned(20, 3, Breach("1%", "50%"), reports=200_000)
    baskets = [[0, 1, 2]] * 9_000 + [[0, 1]] * 9_000 + [[3, 4]] * 12_000 + [[5]] * 5_000 + [[]] * 165_000
    reports = simulate(Baskets.from_sets(baskets, plan.catalogue), plan, 0.9, seed=1).reports
    tables = [mine(reports, "auto", max_itemset=k) for k in (1, 2, 3)]
    found = [set(table["itemsets"][table["frequent"]]) for table in tables]
    assert found[0] == {itemset for itemset in found[2] if len(itemset) == 1}
    assert found[1] == {itemset for itemset in found[2] if len(itemset) <= 2}
    assert any(len(itemset) == 2 for itemset in found[1])


def test_errors_that_no_plan_foresees_raise_what_can_be_believed() -> None:
    """Where many hold two items of a triple, the support taken is what its measured errors need, above the plan's."""
    plan = planned(20, 3, Breach("1%", "50%"), reports=200_000)
    pairs = [[0, 1]] * 60_000 + [[0, 2]] * 60_000 + [[1, 2]] * 60_000 + [[]] * 20_000
    model = SupportModel.of(plan.items.operator)
    plain = max(level_discoverable_support(Respondents(200_000, model), k, 20) for k in (1, 2, 3))
    for seed in range(12):
        reports = simulate(Baskets.from_sets(pairs, plan.catalogue), plan, 0.9, seed=seed).reports
        facts = mining_facts(mine(reports, "auto"))
        assert {level.status for level in facts.levels} == {"decided"}
        assert facts.auto is True
        if facts.levels[2].min_support > 1.02 * plain:
            assert facts.min_support <= 1.02 * plain
            return
    pytest.fail("in 12 collections the triple's error never counted: the case does not show what it should")


@pytest.fixture(scope="module")
def few() -> ap.Reports:
    """Reports that can decide about single items only."""
    promise = Breach("5%", "30%")
    singles = InsertionDesign("011111", insert_num=7, insert_bits=8).operator(promise.amplification_limit)
    plan = naive.items_plan(12, singles, k=3, promise=promise)
    sets = [[0]] * 3_000 + [[1]] * 1_000
    return simulate(Baskets.from_sets(sets, plan.catalogue), plan, 0.9, seed=2).reports


def test_sizes_that_cannot_be_decided_are_left_out_and_named(few) -> None:
    """What would need 100% is undecidable in an automatic choice, is said, and does not raise what is taken."""
    respondents = Respondents(len(few), SupportModel.of(few.plan.items.operator))
    hopeless = [k for k in (1, 2, 3) if level_discoverable_support(respondents, k, 1) >= 1]
    assert hopeless == [2, 3]
    table = mine(few, "auto")
    facts = mining_facts(table)
    assert [level.status for level in facts.levels] == ["decided", "undecidable", "undecidable"]
    assert frozenset("0") in set(table["itemsets"])
    lines = describe_undecided(facts)
    assert len(lines) == 2
    assert all("none are reported" in line for line in lines)
    assert threshold_lines(facts)[0].endswith(
        "% for single items: the lowest at which all that is found of the size can be believed"
    )


def test_reports_that_decide_nothing_are_refused() -> None:
    """With a handful of reports neither an automatic minimum support nor the largest estimates mean anything."""
    plan = planned(12, 3, Breach("5%", "50%"), reports=1_000)
    reports = simulate(Baskets.from_sets([[0]] * 2, plan.catalogue), plan, 0.9, seed=2).reports
    for wanted in ({"min_support": "auto"}, {"top": 3}):
        with pytest.raises(EstimateError, match="2 reports of this plan decide about no itemset"):
            mine(reports, **wanted)


@pytest.mark.parametrize(
    ("wanted", "wrong"),
    [
        ({}, "either a minimum support.*auto.*top"),
        ({"min_support": 0.1, "top": 3}, "either a minimum support"),
        ({"top": 0}, "top must be a whole number from 1, got 0"),
        ({"top": True}, "top must be a whole number"),
        ({"top": "many"}, "top must be a whole number"),
        ({"min_support": "some"}, "minimum support"),
        ({"min_support": "Auto"}, "minimum support"),
        ({"min_support": 0}, "above 0"),
        ({"top": 3, "certain": 0.95}, "not with top"),
        ({"min_support": "auto", "certain": 0.95, "certain_by": "all"}, "did not choose"),
    ],
)
def test_what_cannot_be_mined(few, wanted, wrong) -> None:
    """Neither, both, words and what a test must not be asked of are refused with what is wrong."""
    with pytest.raises(EstimateError, match=wrong):
        mine(few, **wanted)


@pytest.fixture(scope="module")
def ranked() -> "ap.Reports":
    """Reports of a market with a few frequent items and pairs among 400."""
    plan = planned(400, 3, Breach("5%", "50%"), itemset_size=2, reports=100_000)
    sets = [[0, 1, 2]] * 30_000 + [[0, 1]] * 20_000 + [[3]] * 10_000 + [[]] * 40_000
    return simulate(Baskets.from_sets(sets, plan.catalogue), plan, 0.9, seed=5).reports


@pytest.mark.parametrize("ending", ["parquet", "csv", "json"])
def test_tables_of_the_largest_estimates_in_files(ranked, tmp_path: Path, ending) -> None:
    """Ranks survive every format, and a table whose ranks cannot be is refused."""

    table = ap.mine(ranked, top=7)
    ap.write_itemsets(table, tmp_path / f"t.{ending}")
    again = ap.read_itemsets(tmp_path / f"t.{ending}")
    pd.testing.assert_frame_equal(again, table)
    assert mining_facts(again) == mining_facts(table)
    facts = mining_facts(table)
    assert (facts.top.wanted, facts.top.ranked) == (7, sum(level.candidates for level in facts.levels))
    listed = table[table["frequent"]]
    assert sorted(listed["rank"]) == list(range(1, len(listed) + 1))
    assert dict(zip(listed["itemsets"], listed["rank"], strict=True))[frozenset("01")] <= 3
    wrong = table.assign(rank_low=table["rank"] + 1)
    wrong.attrs = table.attrs
    ap.write_itemsets(wrong, tmp_path / f"w.{ending}")
    with pytest.raises(EstimateError, match="a rank is out of range"):
        ap.read_itemsets(tmp_path / f"w.{ending}")


@pytest.mark.filterwarnings("ignore:itemsets of")
def test_the_listing_shows_what_is_sure_first(ranked) -> None:
    """Rows at the level's figure come first; the others follow a line that says what they are, each with a mark."""
    for table in (ap.mine(ranked, 0.011), ap.mine(ranked, top=40)):
        sure = sure_rows(table)[table["frequent"].to_numpy()]
        assert 4 <= sure.sum() < len(sure)
        lines = itemset_lines(table, len(table))
        at = next(i for i, line in enumerate(lines) if line.startswith("? may be nothing"))
        assert at == 1 + sure.sum()
        assert not any(line.endswith("?") for line in lines[:at])
        assert all(line.endswith("  ?") for line in lines[at + 1 :])
        assert len(lines) == len(sure) + 2
        names = {frozenset(line.rsplit("%", 1)[1].strip(" ?").split(", ")) for line in lines[1:at]}
        truth = {frozenset("0"), frozenset("1"), frozenset("2"), frozenset("3")}
        assert truth <= names
        assert all(itemset <= frozenset("012") or itemset == frozenset("3") for itemset in names)
        levels = {level.size: level for level in mining_facts(table).levels}
        for row, is_sure in zip(table.to_dict("records"), sure_rows(table), strict=True):
            level = levels[row["length"]]
            enough = row["support"] >= max(level.level_discoverable_support, level.errors * row["std_error"])
            assert is_sure == enough
    assert sum(map(int, re.findall(r"(\d+) more", itemset_lines(table, 3)[-1]))) == len(sure) - 3


BLOCK = 3  # items that go together


def randomize(baskets: Baskets, plan: Plan, seed: int) -> np.ndarray:
    """Return the packed reports of all baskets."""
    return np.concatenate([chunk.packed for chunk in randomize_chunks(baskets, plan, entropy=SeededEntropy(seed))])


def blocks(n: int, n_blocks: int, holding: Sequence[int], rng: np.random.Generator) -> list[list[str]]:
    """Return n shuffled sets, of which holding[b] hold all items of block b and the others nothing."""
    sets = [[str(block * BLOCK + i) for i in range(BLOCK)] for block in range(n_blocks) for _ in range(holding[block])]
    sets += [[]] * (n - len(sets))
    return [sets[row] for row in rng.permutation(n)]


@pytest.fixture(scope="module")
def plan() -> Plan:
    """A plan over 18 items with a weak promise, so that small collections show something."""
    return planned(18, 3, Breach("1%", "80%"), reports=5000, code="none")


@pytest.fixture(scope="module")
def reports(plan: Plan) -> Reports:
    """5000 reports: supports of 20%, 12%, 6% and less, by block."""
    sets = blocks(5000, 6, [1000, 600, 300, 200, 100, 0], np.random.default_rng(1))
    return Reports(plan, randomize(Baskets.from_sets(sets, plan.catalogue), plan, 1))


# ---- who chooses


def test_three_of_ten_choose() -> None:
    """Of every ten consecutive reports three choose, however many are asked at once, of each place about 3 in 10."""
    chosen = choosing(0, 10_000)
    assert (chosen.reshape(-1, 10).sum(axis=1) == 3).all()
    assert (np.concatenate([choosing(first, 7) for first in range(0, 700, 7)]) == chosen[:700]).all()
    by_place = chosen.reshape(-1, 10).sum(axis=0)
    assert (np.abs(by_place - 300) < Z_LIMIT * np.sqrt(1000 * 0.3 * 0.7)).all()
    regular = np.arange(10_000) % 10 < 3  # is found out
    assert (np.abs(regular.reshape(-1, 10).sum(axis=0) - 300) > Z_LIMIT * np.sqrt(1000 * 0.3 * 0.7)).all()


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 1234, 5000])
def test_parts_are_the_reports(plan: Plan, reports: Reports, tmp_path: Path, count: int) -> None:
    """Every report is in one part, in order, from memory as from files, in batches of any size."""
    few = Reports(plan, reports.packed[:count])
    few.write(tmp_path / "r.parquet")
    chooses = choosing(0, count)
    for collection in (few, read_reports(tmp_path / "r.parquet")):
        for selecting in (True, False):
            part = ReportPart(collection, selecting)
            expected = few.packed[chooses == selecting]
            assert len(part) == len(expected)
            for size in (7, 100, 10_000):
                batches = list(part.batches(size))
                assert all(0 < len(batch) <= size for batch in batches)
                assert np.array_equal(np.concatenate([few.packed[:0], *batches]), expected)


def test_who_tests_has_no_say_in_what_is_tested(plan: Plan, reports: Reports) -> None:
    """Other testing reports leave the candidates as they are; supports are those of the testing reports alone."""
    table = mine(reports, 0.05, certain="95%")
    others = reports.packed.copy()
    testing = ~choosing(0, len(others))
    others[testing] = np.random.default_rng(0).choice(others[testing], testing.sum())
    again = mine(Reports(plan, others), 0.05, certain="95%")
    assert set(again["itemsets"]) == set(table["itemsets"])
    assert mining_facts(again).levels == mining_facts(table).levels
    assert again["support"].tolist() != table["support"].tolist()
    alone = ask(Reports(plan, reports.packed[testing]), table["itemsets"], population=True).itemsets
    for column in ("support", "std_error", "ci_low", "ci_high", "count"):
        np.testing.assert_allclose(table[column], alone[column], rtol=1e-12)
    facts = mining_facts(table)
    assert (facts.reports, facts.certain.selecting_reports, facts.errors.population) == (3500, 1500, True)
    assert facts.certain.hypotheses == len(table)


# ---- what is certain


@pytest.mark.parametrize("certain_by", ["split", "all"])
def test_certain_is_the_rule_of_benjamini_and_hochberg(reports: Reports, certain_by: str) -> None:
    """What is certain follows from the p-values; these do not fall from an itemset to a larger one."""
    table = mine(reports, 0.05, certain="90%", certain_by=certain_by)
    n = len(table) if certain_by == "split" else all_itemsets(18, 3)
    assert mining_facts(table).certain.hypotheses == n
    p = np.sort(table["p_value"])
    most = max((i for i in range(1, len(p) + 1) if p[i - 1] <= 0.1 * i / n), default=0)
    assert table["certain"].sum() == most > 5
    known = dict(zip(table["itemsets"], table["p_value"], strict=True))
    assert all(known[small] <= known[large] for small in known for large in known if small < large)


def test_all_counts_everything_that_could_have_been_found(reports: Reports) -> None:
    """With all reports at work the table is that of plain mining, and fewer itemsets are certain than by chance."""
    plain = mine(reports, 0.05)
    table = mine(reports, 0.05, certain="95%", certain_by="all")
    pd.testing.assert_frame_equal(table.drop(columns=["p_value", "certain"]), plain, check_like=False)
    assert all_itemsets(18, 3) == 18 + 153 + 816
    assert all_rules(18, 3) == 153 * 2 + 816 * 6
    assert 0 < table["certain"].sum() <= (table["p_value"] < 0.05).sum()


RUNS, LEVEL = 200, 0.3


@pytest.mark.parametrize("drawn", [True, False], ids=["drawn anew", "the same people"])
def test_false_claims_stay_below_the_level(drawn: bool) -> None:
    """With all supports at S, or one person below, every claim is false: one is made in at most 30% of runs.

    Items of a block have the same holders and supports. Testing with the reports that chose, as if what they chose had
    been fixed, is found out. False-alarm rate 1e-6 (4.9 standard errors of 200 runs).
    """
    n, support, rng = 1000, 0.05, np.random.default_rng(2)
    plan = planned(18 * BLOCK, BLOCK, Breach("1%", "80%"), reports=n, code="none")
    shares = [support] * 18 + [1 - 18 * support]
    fixed = blocks(n, 18, [int(n * support) - 1] * 18, rng)
    sets: list[list[str]] = []
    for _ in range(RUNS):
        sets += blocks(n, 18, rng.multinomial(n, shares)[:-1].tolist(), rng) if drawn else fixed
    packed = randomize(Baskets.from_sets(sets, plan.catalogue), plan, 3)
    split, same = [], []
    for run in range(RUNS):
        reports = Reports(plan, packed[run * n : (run + 1) * n])
        split.append(mine(reports, support, max_itemset=1, certain=1 - LEVEL)["certain"].any())
        if not drawn:
            both = mine(reports, support, max_itemset=1, certain=1 - LEVEL, certain_by="all")
            same.append(false_discoveries_controlled(both["p_value"].to_numpy(), LEVEL, len(both)).any())

    def off(found: list[bool]) -> float:
        return float((np.mean(found) - LEVEL) / np.sqrt(LEVEL * (1 - LEVEL) / RUNS))

    assert off(split) < Z_LIMIT
    if drawn:
        assert off(split) > -Z_LIMIT  # nothing is given away
    else:
        assert off(same) > 3  # of 200 runs some 95 make a claim, 5 standard errors too many


@pytest.mark.slow
@pytest.mark.parametrize("certain_by", ["split", "all"])
def test_false_claims_about_larger_itemsets(certain_by: str) -> None:
    """With singles, pairs and triples all at S, p-values made coherent, claims are rarer than the level allows."""
    n, support, rng = 1000, 0.1, np.random.default_rng(4)
    plan = planned(6 * BLOCK, BLOCK, Breach("1%", "80%"), reports=n, code="none")
    sets = blocks(n, 6, [int(n * support)] * 6, rng) * RUNS
    packed = randomize(Baskets.from_sets(sets, plan.catalogue), plan, 5)
    claimed = [
        mine(Reports(plan, packed[run * n : (run + 1) * n]), support, certain=1 - LEVEL, certain_by=certain_by)[
            "certain"
        ].any()
        for run in range(RUNS)
    ]
    assert (np.mean(claimed) - LEVEL) / np.sqrt(LEVEL * (1 - LEVEL) / RUNS) < Z_LIMIT


def test_bad_requests_are_refused(plan: Plan, reports: Reports) -> None:
    """A level that is none, an unknown way and too few reports to split are told."""
    for certain in ("100%", 0, "120%", "very", 1.0):
        with pytest.raises(EstimateError, match="how certain"):
            mine(reports, 0.05, certain=certain)
    with pytest.raises(EstimateError, match="'split' or 'all'"):
        mine(reports, 0.05, certain="95%", certain_by="half")
    for count in (0, 1):
        with pytest.raises(EstimateError, match="too few to be split"):
            mine(Reports(plan, reports.packed[:count]), 0.05, certain="95%")
    with pytest.raises(EstimateError, match="chosen by the same reports"):
        association_rules(mine(reports, 0.05), 0.5, certain="95%")


# ---- intervals


def test_intervals_cover_where_few_reports_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the known bad case (triples, ρ = 7/256, N = 20,000) the table's 95% intervals cover.

    Ten triples of 0.5% each beside baskets of two items; 2.5 to 3.5% miss on each side (intervals.py). Normal intervals
    do not cover with the root of the unbiased variance; with the table's standard errors they do, and are too long.
    """
    plan = planned(30, 5, Breach("1%", "80%"), reports=20_000, code="none", kind="independent")
    assert plan.items.independent.default_probability == 7 / 256
    rng = np.random.default_rng(8)
    n, runs = 20_000, 70
    triples = [[str(3 * t + i) for i in range(3)] for t in range(10)]
    sets = [
        triples[row // 20 % 10] if row % 20 == 0 else rng.permutation(30)[:2].astype(str).tolist() for row in range(n)
    ]
    truth = [sum(set(triple) <= set(basket) for basket in sets) / n for triple in triples]
    baskets = Baskets.from_sets(sets, plan.catalogue)
    hits, normal, unbiased = [], [], []
    for run in range(runs):
        reports = Reports(plan, randomize(baskets, plan, run))
        table = ask(reports, triples).itemsets
        hits += ((table["ci_low"] <= truth) & (truth <= table["ci_high"])).tolist()
        normal += (np.abs(table["support"] - truth) <= 1.959964 * table["std_error"]).tolist()
        with monkeypatch.context() as patch:
            patch.setattr(estimate, "_with_one_more", lambda sums, model, variance, least: variance)
            table = ask(reports, triples).itemsets
        unbiased += (np.abs(table["support"] - truth) <= 1.959964 * table["std_error"]).tolist()

    def off(covered: list[bool], share: float) -> float:
        return float((np.mean(covered) - share) / np.sqrt(share * (1 - share) / len(covered)))

    assert off(hits, 0.94) > -Z_LIMIT
    assert off(hits, 0.97) < Z_LIMIT
    assert off(normal, 0.94) > -Z_LIMIT
    assert off(unbiased, 0.94) < -Z_LIMIT


def test_mined_intervals_are_those_of_asking(reports: Reports) -> None:
    """What is mined and what is asked for have the same estimates, errors and intervals."""
    table = mine(reports, 0.05)
    asked = ask(reports, table["itemsets"]).itemsets
    for column in ("support", "std_error", "ci_low", "ci_high", "length", "count"):
        np.testing.assert_allclose(table[column], asked[column], rtol=1e-12)


def test_normal_intervals_where_many_reports_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the bound allows, intervals are normal and the others within 0.04 standard errors of them."""
    plan = planned(12, 3, Breach("5%", "50%"), reports=60_000, code="none")
    sets = blocks(60_000, 4, [12_000, 6000, 3000, 0], np.random.default_rng(9))
    # which reports they are does not matter here, so the same ones may come again
    packed = np.tile(randomize(Baskets.from_sets(sets, plan.catalogue), plan, 10), (60, 1))
    reports = Reports(plan, packed)
    table = mine(reports, 0.03)
    reach = 1.959964 * table["std_error"]
    inside = (table["support"] - reach > 0) & (table["support"] + reach < 1)
    inside &= table["length"] < 3  # of triples fewer reports decide
    assert inside.sum() > 10
    np.testing.assert_allclose(table["ci_low"][inside], (table["support"] - reach)[inside], rtol=1e-5)
    monkeypatch.setattr("assocpriv.server.intervals.NORMAL_UP_TO", 0.0)
    score = mine(reports, 0.03)
    for end in ("ci_low", "ci_high"):
        off = np.abs(score[end] - table[end]) / table["std_error"]
        assert 0 < off.max() < 4 * NORMAL_UP_TO
    assert (table["ci_low"] >= 0).all()


def test_wide_intervals_are_never_too_short() -> None:
    """At a million intervals' level they hold the score intervals, by half an error more at most, or are them."""
    plan = planned(1_000, 2, Breach("1%", "99%"), reports=300_000, kind="independent")
    model = SupportModel.of(plan.items.operator)
    level, took = 1 - 2 * float(ndtr(-5.4)), set()
    for n_reports in (20_000, 300_000, 30_000_000):
        respondents = Respondents(n_reports, model)
        chance = np.array([float(row[0]) for row in model.transition(2)])
        partial = np.random.default_rng(5).multinomial(n_reports, chance, 200)
        sums = np.stack([partial.sum(axis=1), partial[:, 1] + 2 * partial[:, 2], partial[:, 2]], axis=1)
        estimates = estimate_supports(sums, respondents)
        wide = support_intervals(sums, estimates, model, level, population=False, wide=True)
        score = score_intervals(observed_of(sums, model), level, population=False)
        error = estimates.std_error(population=False)
        longer = (wide[:, 1] - score[:, 1]) / error
        assert (longer >= -1e-6).all()
        assert (longer <= 2 * LONGER_BY).all()
        assert (wide[:, 0] <= score[:, 0] + 1e-6 * error).all()
        took.add(bool((longer > 1e-3).any()))
    assert took == {True, False}


# ---- files


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".json"])
@pytest.mark.parametrize("support", [0.05, 0.9], ids=["some", "none"])
@pytest.mark.parametrize("certain", [None, "95%"])
def test_new_columns_in_files(
    reports: Reports, tmp_path: Path, suffix: str, support: float, certain: str | None
) -> None:
    """Every format keeps all columns, their order and types, and the facts, also of an empty table."""
    table = mine(reports, support, certain=certain)
    assert (len(table) == 0) == (support == 0.9)
    path = tmp_path / f"i{suffix}"
    write_itemsets(table, path)
    again = read_itemsets(path)
    pd.testing.assert_frame_equal(again, table, rtol=1e-12)
    assert mining_facts(again) == mining_facts(table)
    if certain:
        ours, theirs = (association_rules(one, 0.4, certain="90%") for one in (table, again))
        pd.testing.assert_frame_equal(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize(
    ("column", "value"), [("p_value", 1.5), ("p_value", -0.1), ("level", 2.0), ("by", "me"), ("hypotheses", 0)]
)
def test_tampered_claims(reports: Reports, tmp_path: Path, column: str, value: object) -> None:
    """Claims out of range, or more than were tested, are refused on reading."""
    table = mine(reports, 0.05, certain="95%")
    if column == "p_value":
        table.loc[0, column] = value
    else:
        table.attrs["assocpriv"]["certain"][column] = value
    write_itemsets(table, tmp_path / "i.parquet")
    with pytest.raises(EstimateError, match=r"i\.parquet is not a file of mined itemsets"):
        read_itemsets(tmp_path / "i.parquet")


# ---- sanity: no privacy, and nothing but privacy


def test_hardly_any_noise_recovers_the_supports() -> None:
    """With a promise that promises next to nothing (1% → 99.9999%) supports are nearly exact, and all certain."""
    plan = planned(12, 3, Breach("1%", "99.9999%"), reports=4000, code="none")
    sets = blocks(4000, 4, [1200, 800, 400, 200], np.random.default_rng(11))
    reports = Reports(plan, randomize(Baskets.from_sets(sets, plan.catalogue), plan, 12))
    table = mine(reports, 0.03, certain="99%")
    truth = dict(
        zip([frozenset(map(str, range(3 * b, 3 * b + 3))) for b in range(4)], [0.3, 0.2, 0.1, 0.05], strict=True)
    )
    assert len(table) == 4 * 7
    assert table["certain"].all()
    plain = mine(reports, 0.03)
    for itemset, support in zip(plain["itemsets"], plain["support"], strict=True):
        (expected,) = [share for block, share in truth.items() if itemset <= block]
        assert abs(support - expected) < 0.005  # 10 standard errors of the randomization, 0.05% each
    assert plain["std_error"].max() < 0.001


def test_hardly_any_information_claims_nothing() -> None:
    """With a promise that lets next to nothing through (5% → 5.5%) no size can be decided, which is said."""
    plan = planned(12, 3, Breach("5%", "5.5%"), reports=4000, code="none")
    sets = blocks(4000, 4, [1200, 800, 400, 200], np.random.default_rng(13))
    reports = Reports(plan, randomize(Baskets.from_sets(sets, plan.catalogue), plan, 14))
    for certain_by in ("split", "all"):
        table = mine(reports, 0.1, certain="95%", certain_by=certain_by)
        assert len(table) == 0
        facts = mining_facts(table)
        assert {level.status for level in facts.levels} == {"undecidable"}
        *levels, nothing = describe_undecided(facts)
        assert len(levels) == 3
        assert all("none are reported" in line for line in levels)
        assert "nothing was found" in nothing
        assert len(association_rules(table, 0.5, certain="95%")) == 0
    answer = ask(reports, [["0"]]).itemsets.to_dict()[0]
    assert answer["ci_low"] == 0
    assert answer["ci_high"] > 0.5


SPARSE = InsertionDesign("001000", insert_num=7, insert_bits=8).operator(Fraction(396))
NEAR_COIN = InsertionDesign("100000", insert_num=31, insert_bits=6).operator(Fraction(19))


def observe(rng, operator: Operator, n: int, shares: list[float], itemsets: int) -> Observed:
    """Draw the counts of independent itemsets, for the transactions at hand."""
    k = len(shares) - 1
    matrix = np.array([[float(x) for x in row] for row in transition_matrix(operator, k)])
    groups = np.round(n * np.array(shares)).astype(int)
    counts = np.sum([rng.multinomial(g, matrix[:, held], size=itemsets) for held, g in enumerate(groups)], axis=0)
    return Observed(counts, matrix, np.array([float(x) for x in estimator_row(operator, k)]))


def normal_p_values(stratum: Observed, support: float) -> np.ndarray:
    """Return p-values by the normal approximation, with the standard errors of server/supports.py."""
    n, q = stratum.n_reports, stratum.row
    estimate = stratum.counts @ q / n
    moments = (q * q) @ stratum.transition
    least = (1 - support) * moments[:-1].min() + support * (moments[-1] - 1)
    variance = np.maximum(stratum.counts @ (q * q) / n - estimate, least) / n
    return ndtr((support - estimate) / np.sqrt(variance))


@pytest.mark.parametrize(
    ("operator", "n", "shares", "slack", "normal_fails"),
    [
        # known shares would err by 2% at most; their estimates add to the first, where 4 reports show the triple
        (SPARSE, 20_000, [0.7, 0.2, 0.07, 0.03], 2.0, True),
        (SPARSE, 20_000, [0.95, 0.0, 0.03, 0.02], 1.0, True),
        (SPARSE, 20_000, [0.9, 0.08, 0.015, 0.005], 1.0, True),
        (SPARSE, 2000, [0.9, 0.08, 0.02], 1.4, False),
        (NEAR_COIN, 20_000, [0.7, 0.15, 0.1, 0.05], 1.15, False),
        (NEAR_COIN, 2000, [0.9, 0.1], 1.0, False),
    ],
)
def test_p_values_are_small_rarely(operator, n, shares, slack, normal_fails) -> None:
    """At support S, P(p ≤ α) is at most α, times the stated slack, for α = 1% and 0.1%."""
    rng = np.random.default_rng(2)
    runs, alphas = 40_000, np.array([0.01, 0.001])
    stratum = observe(rng, operator, n, shares, runs)

    def off(p: np.ndarray) -> np.ndarray:
        expected = runs * alphas * slack
        return ((p[:, None] <= alphas).sum(axis=0) - expected) / np.sqrt(expected)

    assert (off(p_values(stratum, shares[-1], population=False)) < Z_LIMIT).all()
    # a minimum support above the truth is the easier case, one below it is no false discovery at all
    assert (off(p_values(stratum, shares[-1] * 1.2, population=False)) < Z_LIMIT).all()
    if normal_fails:
        assert (off(normal_p_values(stratum, shares[-1])) > 2 * Z_LIMIT).any()


def test_false_discoveries_stay_below_the_level() -> None:
    """With all supports exactly S every discovery is false: one happens in at most 10% of runs at level 10%.

    Counting only the itemsets whose estimates reach S as hypotheses is found out, although the same are tested.
    """
    rng = np.random.default_rng(3)
    runs, itemsets, n, level = 2500, 100, 5000, 0.1
    stratum = observe(rng, NEAR_COIN, n, [0.8, 0.15, 0.05], runs * itemsets)
    p = p_values(stratum, 0.05, population=False).reshape(runs, itemsets)
    looks_good = (stratum.counts @ stratum.row / n >= 0.05).reshape(runs, itemsets)

    def off(found: list[bool]) -> float:
        return float((np.mean(found) - level) / np.sqrt(level * (1 - level) / runs))

    right = [
        false_discoveries_controlled(row[good], level, itemsets).any() for row, good in zip(p, looks_good, strict=True)
    ]
    wrong = [
        false_discoveries_controlled(row[good], level, good.sum()).any()
        for row, good in zip(p, looks_good, strict=True)
    ]
    assert abs(off(right)) < Z_LIMIT
    assert off(wrong) > Z_LIMIT


def test_the_share_of_false_discoveries_stays_below_the_level() -> None:
    """With 20 itemsets of support 2S among 80 of support S, 20% · 80% of discoveries are false, on average."""
    rng = np.random.default_rng(4)
    runs, n, level = 1000, 5000, 0.2
    nulls = observe(rng, NEAR_COIN, n, [0.8, 0.15, 0.05], runs * 80)
    others = observe(rng, NEAR_COIN, n, [0.7, 0.1, 0.2], runs * 20)
    p = np.hstack([p_values(o, 0.05, population=False).reshape(runs, -1) for o in (nulls, others)])
    found = np.array([false_discoveries_controlled(row, level, 100) for row in p])
    share = found[:, :80].sum(axis=1) / np.maximum(found.sum(axis=1), 1)
    error = share.std() / np.sqrt(runs)
    assert found[:, 80:].mean() > 0.3
    assert share.mean() < level + Z_LIMIT * error
    assert abs(share.mean() - 0.8 * level) < Z_LIMIT * error
    uncorrected = (p[:, :80] <= level).sum(axis=1) / np.maximum((p <= level).sum(axis=1), 1)
    assert uncorrected.mean() > level + Z_LIMIT * uncorrected.std() / np.sqrt(runs)


def naive_rejections(p: list[float], level: float, n: int) -> list[bool]:
    """Benjamini–Hochberg by its definition, missing hypotheses filled in as 1."""
    filled = sorted(p + [1.0] * (n - len(p)))
    most = max((i for i in range(1, n + 1) if filled[i - 1] <= i * level / n), default=0)
    return [most > 0 and x <= filled[most - 1] for x in p]


def test_rejections_follow_the_definition() -> None:
    """The rule equals its definition on random p-values with ties, for any number of hypotheses."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        p = rng.integers(0, 12, size=rng.integers(0, 9)) / rng.choice([12, 60])
        n = len(p) + int(rng.integers(0, 9))
        level = float(rng.choice([0.07, 0.3, 0.61]))
        found = false_discoveries_controlled(p, level, n)
        assert found.tolist() == naive_rejections(p.tolist(), level, n)


def test_coherent_p_values() -> None:
    """A p-value becomes the largest among those of all subsets at hand, and no more."""
    rng = np.random.default_rng(6)
    sizes = [np.array([[0], [2], [5], [7]]), np.array([[0, 2], [2, 5], [5, 7]]), np.array([[0, 2, 5], [2, 5, 7]])]
    for _ in range(20):
        p = [rng.random(len(rows)) for rows in sizes]
        known = {
            tuple(row): x
            for rows, values in zip(sizes, p, strict=True)
            for row, x in zip(rows.tolist(), values, strict=True)
        }
        raised = coherent(p, sizes)
        for rows, values in zip(sizes, raised, strict=True):
            for row, value in zip(rows.tolist(), values, strict=True):
                assert value == max(x for subset, x in known.items() if set(subset) <= set(row))
    assert [len(x) for x in coherent([np.zeros(0), np.ones(1)], [np.zeros((0, 1), int), np.array([[1, 2]])])] == [0, 1]


def test_bad_levels_are_refused() -> None:
    """A minimum support or a level out of range and too few hypotheses are refused."""
    stratum = observe(np.random.default_rng(9), NEAR_COIN, 100, [0.5, 0.5], 2)
    for support in (0.0, 1.5, float("nan")):
        with pytest.raises(EstimateError, match="minimum support"):
            p_values(stratum, support, population=True)
    with pytest.raises(EstimateError, match="level"):
        false_discoveries_controlled(np.ones(2), 1.0, 2)
    with pytest.raises(EstimateError, match="hypotheses"):
        false_discoveries_controlled(np.ones(2), 0.1, 1)
