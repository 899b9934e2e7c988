"""Mining without a given minimum support: what can be believed, the largest estimates, and the ranks these may have."""

import re
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from fit import FALSE_ALARM
from quiet import mine
from scipy.stats import binom

import assocpriv as ap
from assocpriv.planning.baskets import make_plan
from assocpriv.plans.operator import Operator
from assocpriv.plans.transition import SupportModel, transition_matrix
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import EstimateError
from assocpriv.records.baskets import Baskets
from assocpriv.server import false_discovery
from assocpriv.server.apriori import least_decidable, mine_levels
from assocpriv.server.counting import MOST_CANDIDATES, CountsOfAll
from assocpriv.server.false_discovery import mine_believable, mine_largest, rank_sets
from assocpriv.server.intervals import level_discoverable_support
from assocpriv.server.itemsets import describe_undecided, mining_facts, sure_rows
from assocpriv.server.supports import Respondents
from assocpriv.show.itemsets import itemset_lines, threshold_lines
from assocpriv.simulation.simulate import simulate

OPERATOR = Operator(3, 1, 1, 6, (2, 4, 5, 35))
MODEL = SupportModel.of(OPERATOR)
MARKET = {
    frozenset({0, 1, 2}): Fraction(3, 10),
    frozenset({0, 1, 3}): Fraction(2, 10),
    frozenset({2, 4, 5}): Fraction(1, 10),
    frozenset({6, 7, 8}): Fraction(4, 10),
}


class NoisyCounter(CountsOfAll):
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
    plan = make_plan(20, 3, Breach("1%", "50%"), reports=200_000)
    baskets = [[0, 1, 2]] * 9_000 + [[0, 1]] * 9_000 + [[3, 4]] * 12_000 + [[5]] * 5_000 + [[]] * 165_000
    reports = simulate(Baskets.from_sets(baskets, plan.catalogue), plan, 0.9, seed=1).reports
    tables = [mine(reports, "auto", max_itemset=k) for k in (1, 2, 3)]
    found = [set(table["itemsets"][table["frequent"]]) for table in tables]
    assert found[0] == {itemset for itemset in found[2] if len(itemset) == 1}
    assert found[1] == {itemset for itemset in found[2] if len(itemset) <= 2}
    assert any(len(itemset) == 2 for itemset in found[1])


def test_errors_that_no_plan_foresees_raise_what_can_be_believed() -> None:
    """Where many hold two items of a triple, the support taken is what its measured errors need, above the plan's."""
    plan = make_plan(20, 3, Breach("1%", "50%"), reports=200_000)
    pairs = [[0, 1]] * 60_000 + [[0, 2]] * 60_000 + [[1, 2]] * 60_000 + [[]] * 20_000
    model = SupportModel.of(plan.operator)
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
    plan = make_plan(12, 5, Breach("5%", "30%"), itemset_size=3, reports=4_000, target="singles", kind="independent")
    sets = [[0]] * 3_000 + [[1]] * 1_000
    return simulate(Baskets.from_sets(sets, plan.catalogue), plan, 0.9, seed=2).reports


def test_sizes_that_cannot_be_decided_are_left_out_and_named(few) -> None:
    """What would need 100% is undecidable in an automatic choice, is said, and does not raise what is taken."""
    respondents = Respondents(len(few), SupportModel.of(few.plan.operator))
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
    plan = make_plan(12, 3, Breach("5%", "50%"), reports=1_000)
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
    plan = make_plan(400, 3, Breach("5%", "50%"), itemset_size=2, reports=100_000)
    sets = [[0, 1, 2]] * 30_000 + [[0, 1]] * 20_000 + [[3]] * 10_000 + [[]] * 40_000
    return simulate(Baskets.from_sets(sets, plan.catalogue), plan, 0.9, seed=5).reports


@pytest.mark.parametrize("ending", ["parquet", "csv", "json"])
def test_tables_of_the_largest_estimates_in_files(ranked, tmp_path: Path, ending) -> None:
    """Ranks survive every format, and a table whose ranks cannot be is refused."""
    import pandas as pd

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
    for table in (ap.mine(ranked, 0.012), ap.mine(ranked, top=40)):
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
