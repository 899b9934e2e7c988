"""FDR control of itemsets: selecting and testing reports, p-values, and the share of false significant itemsets."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import ask, mine
from naive import Z_LIMIT, observed_counts, planned, reports_of
from scipy.special import ndtr

from assocpriv.estimation.supports import ObservedCounts, upper_tail
from assocpriv.files.mined_tables import mining_facts
from assocpriv.files.report_files import Reports, read_reports
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import EstimateError
from assocpriv.planning.operator_designs import InsertionDesign
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.operator import Operator
from assocpriv.server.baskets.counting import ReportPart, is_selecting
from assocpriv.server.baskets.mining import benjamini_hochberg, make_monotone

BLOCK = 3  # items that go together


def blocks(n: int, holding: Sequence[int], rng: np.random.Generator) -> list[list[str]]:
    """Return n shuffled sets, of which holding[b] hold all items of block b and the others no item."""
    sets = [[str(block * BLOCK + i) for i in range(BLOCK)] for block in range(len(holding))] + [[]]
    which = np.repeat(np.arange(len(sets)), [*holding, n - sum(holding)])
    return [sets[each] for each in rng.permutation(which)]


@pytest.fixture(scope="module")
def plan() -> Plan:
    """A plan over 18 items with a weak guarantee, so that small collections have detectable itemsets."""
    return planned(18, 3, Guarantee("1%", "80%"), reports=5000, code="none")


@pytest.fixture(scope="module")
def reports(plan: Plan) -> Reports:
    """5000 reports: supports of 20%, 12%, 6% and less, by block."""
    return reports_of(blocks(5000, [1000, 600, 300, 200, 100, 0], np.random.default_rng(1)), plan)


# ---- selecting and testing reports


def test_three_of_ten_reports_select() -> None:
    """Three of every ten consecutive reports select, for any batch size, each place in about 3 of 10 tens."""
    chosen = is_selecting(0, 10_000)
    assert (chosen.reshape(-1, 10).sum(axis=1) == 3).all()
    assert (np.concatenate([is_selecting(first, 7) for first in range(0, 700, 7)]) == chosen[:700]).all()
    by_place = chosen.reshape(-1, 10).sum(axis=0)
    assert (np.abs(by_place - 300) < Z_LIMIT * np.sqrt(1000 * 0.3 * 0.7)).all()
    regular = np.arange(10_000) % 10 < 3  # the test detects it
    assert (np.abs(regular.reshape(-1, 10).sum(axis=0) - 300) > Z_LIMIT * np.sqrt(1000 * 0.3 * 0.7)).all()


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 1234, 5000])
def test_parts_are_the_reports(plan: Plan, reports: Reports, tmp_path: Path, count: int) -> None:
    """Every report is in one part, in order, from memory as from files, in batches of any size."""
    few = Reports(plan, reports.packed[:count])
    few.write(tmp_path / "r.parquet")
    chooses = is_selecting(0, count)
    for collection in (few, read_reports(tmp_path / "r.parquet")):
        for selecting in (True, False):
            part, expected = ReportPart(collection, selecting), few.packed[chooses == selecting]
            assert len(part) == len(expected)
            for size in (7, 100, 10_000):
                batches = list(part.batches(size))
                assert all(0 < len(batch) <= size for batch in batches)
                assert np.array_equal(np.concatenate([few.packed[:0], *batches]), expected)


def test_testing_reports_do_not_select(plan: Plan, reports: Reports) -> None:
    """Other testing reports, of empty baskets, leave candidates and the automatic minimum support unchanged to the bit.

    Estimates are those of the testing reports alone.
    """
    table = mine(reports, fdr="5%")
    testing, others = ~is_selecting(0, len(reports)), reports.packed.copy()
    others[testing] = reports_of([[]] * int(testing.sum()), plan, 2).packed
    again = mine(Reports(plan, others), fdr="5%")
    assert set(again["itemsets"]) == set(table["itemsets"])
    facts, other = mining_facts(table), mining_facts(again)
    assert (other.counted, other.min_support) == (facts.counted, facts.min_support)
    assert again["support"].tolist() != table["support"].tolist()
    alone = ask(Reports(plan, reports.packed[testing]), table["itemsets"]).itemsets
    np.testing.assert_allclose(table["sampled"], alone["sampled"], rtol=1e-12)
    assert (facts.reports, facts.fdr.selecting_reports, facts.fdr.hypotheses) == (3500, 1500, len(table))


# ---- significant itemsets


@pytest.mark.parametrize("fdr_by", ["split", "all"])
def test_significant_follows_benjamini_and_hochberg(reports: Reports, fdr_by: str) -> None:
    """Significant itemsets follow from the p-values, which do not fall from an itemset to a larger one."""
    table = mine(reports, 0.05, fdr="10%", fdr_by=fdr_by)
    n = len(table) if fdr_by == "split" else 18 + 153 + 816
    assert mining_facts(table).fdr.hypotheses == n
    assert table["significant"].tolist() == naive_rejections(table["p_value"].tolist(), 0.1, n)
    assert table["significant"].sum() > 5
    known = dict(zip(table["itemsets"], table["p_value"], strict=True))
    assert all(known[small] <= known[large] for small in known for large in known if small < large)


def test_all_counts_every_possible_itemset(reports: Reports) -> None:
    """With all reports for both, the table is that of plain mining, and every possible itemset counts as tested."""
    table = mine(reports, 0.5, fdr="5%", fdr_by="all")
    assert len(mining_facts(table).counted) < 3  # itemsets not counted are hypotheses too
    assert mining_facts(table).fdr.hypotheses == 18 + 153 + 816
    table = mine(reports, 0.05, fdr="5%", fdr_by="all")
    pd.testing.assert_frame_equal(table.drop(columns=["p_value", "significant"]), mine(reports, 0.05))
    assert 0 < table["significant"].sum() <= (table["p_value"] < 0.05).sum()


RUNS, LEVEL = 50, 0.3


def test_false_claims_are_as_rare_as_stated() -> None:
    """With all supports at S every significant itemset is false: 30% of runs have one, no fewer.

    Items of a block have the same holders. Testing with the selecting reports, as if candidates had been fixed
    beforehand, fails. False-alarm rate 1e-6 (4.9 standard errors of 50 runs).
    """
    n, support, rng = 1000, 0.05, np.random.default_rng(2)
    plan = planned(6 * BLOCK, BLOCK, Guarantee("1%", "80%"), reports=n, code="none")
    shares, sets = [support] * 6 + [1 - 6 * support], []
    for _ in range(RUNS):
        sets += blocks(n, rng.multinomial(n, shares)[:-1].tolist(), rng)
    packed = reports_of(sets, plan, 3).packed
    split, same = [], []
    for run in range(RUNS):
        reports = Reports(plan, packed[run * n : (run + 1) * n])
        split.append(mine(reports, support, max_itemset=1, fdr=LEVEL)["significant"].any())
        if run % 2:  # half of them suffice to show the fault
            continue
        both = mine(reports, support, max_itemset=1, fdr=LEVEL, fdr_by="all")
        same.append(benjamini_hochberg(both["p_value"].to_numpy(), LEVEL, len(both)).any())

    def off(found: list[bool]) -> float:
        return float((np.mean(found) - LEVEL) / np.sqrt(LEVEL * (1 - LEVEL) / len(found)))

    assert abs(off(split)) < Z_LIMIT
    assert off(same) > Z_LIMIT


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_to_be_split(reports: Reports, count: int) -> None:
    """Without a selecting or a testing report there is nothing to mine."""
    with pytest.raises(EstimateError, match="no reports to mine"):
        mine(Reports(reports.plan, reports.packed[:count]), 0.05, fdr="5%")


# ---- p-values


SPARSE = InsertionDesign("001000", insert_num=7, insert_bits=8).operator(Fraction(396))
NEAR_COIN = InsertionDesign("100000", insert_num=31, insert_bits=6).operator(Fraction(19))


def observe(rng, operator: Operator, n: int, shares: list[float], itemsets: int) -> ObservedCounts:
    """Draw the counts of independent itemsets, for the transactions collected."""
    columns = observed_counts(operator, np.zeros((0, len(shares)))).transition.T
    groups = np.round(n * np.array(shares)).astype(int)
    counts = [rng.multinomial(g, column, size=itemsets) for g, column in zip(groups, columns, strict=True)]
    return observed_counts(operator, np.sum(counts, axis=0))


def normal_p_values(stratum: ObservedCounts, support: float) -> np.ndarray:
    """Return p-values from the normal approximation, with the standard errors of estimation/supports.py."""
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
        (SPARSE, 20_000, [0.7, 0.2, 0.07, 0.03], 2.0, True), (SPARSE, 20_000, [0.95, 0.0, 0.03, 0.02], 1.0, True),
        (SPARSE, 20_000, [0.9, 0.08, 0.015, 0.005], 1.0, True), (SPARSE, 2000, [0.9, 0.08, 0.02], 1.4, False),
        (NEAR_COIN, 20_000, [0.7, 0.15, 0.1, 0.05], 1.15, False), (NEAR_COIN, 2000, [0.9, 0.1], 1.0, False),
    ],
)  # fmt: skip
def test_p_values_are_small_rarely(operator, n, shares, slack, normal_fails) -> None:
    """At support S, P(p ≤ α) is at most α, times the stated slack, for α = 1% and 0.1%."""
    rng = np.random.default_rng(2)
    runs, alphas = 40_000, np.array([0.01, 0.001])
    stratum = observe(rng, operator, n, shares, runs)

    def off(p: np.ndarray) -> np.ndarray:
        expected = runs * alphas * slack
        return ((p[:, None] <= alphas).sum(axis=0) - expected) / np.sqrt(expected)

    assert (off(upper_tail(stratum, shares[-1])) < Z_LIMIT).all()
    # a minimum support above the truth is the easier case, one below it is no false discovery at all
    assert (off(upper_tail(stratum, shares[-1] * 1.2)) < Z_LIMIT).all()
    if normal_fails:
        assert (off(normal_p_values(stratum, shares[-1])) > 2 * Z_LIMIT).any()


def naive_rejections(p: list[float], level: float, n: int) -> list[bool]:
    """Return Benjamini–Hochberg rejections from the definition, missing hypotheses filled in as 1."""
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
        assert benjamini_hochberg(p, level, n).tolist() == naive_rejections(p.tolist(), level, n)


def test_monotone_p_values() -> None:
    """A p-value becomes the largest among those of all tested subsets, and no more."""
    rng = np.random.default_rng(6)
    sizes = [np.array([[0], [2], [5], [7]]), np.array([[0, 2], [2, 5], [5, 7]]), np.array([[0, 2, 5], [2, 5, 7]])]
    every = [set(row) for rows in sizes for row in rows.tolist()]
    for _ in range(20):
        p = [rng.random(len(rows)) for rows in sizes]
        known = list(zip(every, np.concatenate(p), strict=True))
        wanted = [max(x for subset, x in known if subset <= each) for each in every]
        assert np.concatenate(make_monotone(p, sizes)).tolist() == wanted
    empty = make_monotone([np.zeros(0), np.ones(1)], [np.zeros((0, 1), int), np.array([[1, 2]])])
    assert [len(x) for x in empty] == [0, 1]
