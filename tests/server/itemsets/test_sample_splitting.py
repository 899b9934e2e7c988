"""Intervals and certainty of mined tables, through the shipping pipeline."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fit import Z_LIMIT
from quiet import ask, mine
from scipy.special import ndtr

from assocpriv.api import association_rules
from assocpriv.client.bulk import randomize_chunks
from assocpriv.files.reports import Reports, read_reports
from assocpriv.planning.baskets import make_plan
from assocpriv.plans.baskets import Plan
from assocpriv.plans.transition import SupportModel
from assocpriv.plans.view import View
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import EstimateError
from assocpriv.records.baskets import Baskets
from assocpriv.server import supports as estimate
from assocpriv.server.counting import ReportPart, choosing
from assocpriv.server.false_discovery import all_itemsets, all_rules, false_discoveries_controlled
from assocpriv.server.intervals import LONGER_BY, NORMAL_UP_TO, observed_of, score_intervals, support_intervals
from assocpriv.server.itemsets import describe_undecided, mining_facts, read_itemsets, write_itemsets
from assocpriv.server.supports import Respondents, estimate_supports
from assocpriv.simulation.enumeration import SeededEntropy
from assocpriv.simulation.simulate import simulate

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
    return make_plan(18, 3, Breach("1%", "80%"), reports=5000, code="none")


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
    plan = make_plan(18 * BLOCK, BLOCK, Breach("1%", "80%"), reports=n, code="none")
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
    plan = make_plan(6 * BLOCK, BLOCK, Breach("1%", "80%"), reports=n, code="none")
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

    Ten triples of 0.5% each beside baskets of two items; 2.5 to 3.5% miss on each side (tails.py). Normal intervals do
    not cover with the root of the unbiased variance; with the standard errors of the table they do, and are too long.
    """
    plan = make_plan(30, 5, Breach("1%", "80%"), reports=20_000, code="none", kind="independent")
    assert plan.independent.default_probability == 7 / 256
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
    plan = make_plan(12, 3, Breach("5%", "50%"), reports=60_000, code="none")
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
    plan = make_plan(1_000, 2, Breach("1%", "99%"), reports=300_000, kind="independent")
    model = SupportModel.of(plan.operator)
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
    plan = make_plan(12, 3, Breach("1%", "99.9999%"), reports=4000, code="none")
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
    plan = make_plan(12, 3, Breach("5%", "5.5%"), reports=4000, code="none")
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


# ---- plans that ask for chosen itemsets


@pytest.fixture(scope="module")
def chosen() -> tuple[Plan, Reports, Baskets]:
    """A plan whose entries are itemsets, with reports of 4000 people: 40% hold bread and milk, 20% the three."""
    entries = (("bread", "milk"), ("bread", "eggs", "milk"), ("tea",))
    view = View(kind="itemsets", itemsets=entries, others="drop")
    plan = make_plan(["a", "b", "c"], 2, Breach("1%", "80%"), reports=4000, code="none", view=view)
    transactions = Baskets.from_sets([["a", "b"]] * 800 + [["a"]] * 800 + [["c"]] * 2400, plan.catalogue)
    return plan, Reports(plan, randomize(transactions, plan, 15)), transactions


def test_entries_that_are_itemsets(chosen: tuple[Plan, Reports, Baskets], tmp_path: Path) -> None:
    """The table shows the names each entry is made of; only single entries can be had, and no rules."""
    plan, reports, transactions = chosen
    for certain in (None, "95%"):
        table = mine(reports, 0.1, certain=certain)
        assert set(table["itemsets"]) == {frozenset(names) for names in plan.view.itemsets}
        assert dict(zip(map(len, table["itemsets"]), table["length"], strict=True)) == {1: 1, 2: 2, 3: 3}
    for suffix in (".parquet", ".csv", ".json"):
        write_itemsets(table, tmp_path / f"i{suffix}")
        pd.testing.assert_frame_equal(read_itemsets(tmp_path / f"i{suffix}"), table, rtol=1e-12)
    with pytest.raises(EstimateError, match="each entry of this plan's catalogue is an itemset"):
        mine(reports, 0.1, max_itemset=2)
    with pytest.raises(EstimateError, match="one by one"):
        association_rules(table, 0.5)
    known = simulate(transactions, plan, 0.1, seed=16)
    truth = dict(zip(known.itemsets["itemsets"], known.itemsets["true_support"], strict=True))
    assert truth[frozenset(["bread", "milk"])] == 0.4
    assert known.found_count == 3


def test_asking_for_entries(chosen: tuple[Plan, Reports, Baskets]) -> None:
    """An entry is asked for by all its names; parts, unions and rules are refused."""
    _, reports, _ = chosen
    answer = ask(reports, [["milk", "bread"]]).itemsets.to_dict()[0]
    assert answer["itemsets"] == frozenset(["bread", "milk"])
    assert abs(answer["support"] - 0.4) < Z_LIMIT * answer["std_error"]
    for names in (["milk"], ["milk", "tea"], ["a"]):
        with pytest.raises(EstimateError, match="is not one that this plan asks for"):
            ask(reports, [names])
    with pytest.raises(EstimateError, match="one by one"):
        ask(reports, rules=[(["tea"], ["milk", "bread"])])
