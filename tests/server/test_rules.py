"""Rules: mlxtend's metrics, and standard errors that hold."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fit import Z_LIMIT
from mlxtend.frequent_patterns import association_rules as mlxtend_rules
from planned import planned
from quiet import mine
from scipy.special import ndtr

from assocpriv import association_rules
from assocpriv.client.bulk import randomize_chunks
from assocpriv.files.reports import Reports
from assocpriv.plans.baskets import Plan
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import EstimateError, FileError
from assocpriv.records.baskets import Baskets
from assocpriv.server.itemsets import mining_facts, read_itemsets, write_itemsets
from assocpriv.server.rules import write_rules
from assocpriv.server.selection import METRICS
from assocpriv.server.supports import covariance
from assocpriv.simulation.enumeration import SeededEntropy
from assocpriv.simulation.simulate import simulate

NAMES = ["bread", "milk", 'eggs, "free range"', "Käse", "tea", "jam"]


@pytest.fixture(scope="module")
def plan() -> Plan:
    """A plan over six items with a weak promise, so that a small collection shows something."""
    return planned(NAMES, 3, Breach("1%", "90%"), reports=20_000)


@pytest.fixture(scope="module")
def baskets(plan: Plan) -> Baskets:
    """20,000 baskets in which the first three items go together."""
    rng = np.random.default_rng(7)
    sets = []
    for _ in range(20_000):
        basket = set(NAMES[:3]) if rng.random() < 0.3 else set()
        basket |= {name for name in NAMES if rng.random() < 0.12}
        sets.append(sorted(basket)[:3])
    return Baskets.from_sets(sets, plan.catalogue)


@pytest.fixture(scope="module")
def itemsets(baskets: Baskets, plan: Plan) -> pd.DataFrame:
    """Return mined itemsets."""
    frame = simulate(baskets, plan, 0.1, seed=3).itemsets
    return frame.drop(columns=["true_support", "raw_support"])


def by_sides(rules: pd.DataFrame) -> pd.DataFrame:
    """Index rules by their sides, as text."""
    sides = zip(rules["antecedents"], rules["consequents"], strict=True)
    return rules.set_index(pd.Index([f"{sorted(a)} → {sorted(c)}" for a, c in sides]))


def test_metrics_are_mlxtends(itemsets: pd.DataFrame) -> None:
    """On the same table mlxtend finds the same rules with the same metrics, its columns in its order."""
    assert itemsets["length"].max() == 3
    frequent = set(itemsets.loc[itemsets["frequent"], "itemsets"])
    theirs = mlxtend_rules(itemsets, metric="confidence", min_threshold=0.5)
    unions = [a | c for a, c in zip(theirs["antecedents"], theirs["consequents"], strict=True)]
    theirs = theirs[[union in frequent for union in unions]]
    ours = association_rules(itemsets, "50%")
    assert list(ours.columns[: len(theirs.columns)]) == list(theirs.columns)
    left, right = by_sides(ours), by_sides(theirs)
    assert set(left.index) == set(right.index)
    pd.testing.assert_frame_equal(left.loc[right.index, METRICS], right[METRICS])


def test_standard_errors_hold(baskets: Baskets, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over 200 collections confidence and lift spread as stated; not as if the antecedent's support were known.

    The variance of a sample of n has relative standard deviation √(2/(n−1)); 4.9 of them at a false-alarm rate of
    1e-6.
    """
    runs = 200
    monkeypatch.setattr("assocpriv.server.intervals.NORMAL_UP_TO", np.inf)  # intervals, not asked for here, in no time
    rows, naive = [], []
    for seed in range(runs):
        chunks = randomize_chunks(baskets[:6_000], plan, entropy=SeededEntropy(seed))
        frame = mine(Reports(plan, np.concatenate([chunk.packed for chunk in chunks])), 0.1)
        rules = by_sides(association_rules(frame))
        rows.append(rules.loc[f"{sorted(NAMES[:2])} → {NAMES[2:3]}"])
        support = dict(zip(frame["itemsets"], zip(frame["support"], frame["std_error"], strict=True), strict=True))
        b, a = support[frozenset(NAMES[:3])], support[frozenset(NAMES[:2])]
        naive.append(b[1] / a[0])
    table = pd.DataFrame(rows)
    band = 4.9 * np.sqrt(2 / (runs - 1))
    for name in ("support", "confidence", "lift"):
        stated = float((table[f"{name}_std_error"] ** 2).mean())
        assert abs(table[name].astype(float).var() / stated - 1) < band
    assert abs(table["confidence"].astype(float).var() / np.mean(np.square(naive)) - 1) > band


def test_variances_are_covariances_with_oneself(itemsets: pd.DataFrame) -> None:
    """The covariance of an itemset's estimate with itself is the square of its standard error in the table."""
    facts = mining_facts(itemsets)
    count = dict(zip(itemsets["itemsets"], itemsets["count"], strict=True)) | {frozenset(): facts.reports}
    for row in itemsets[itemsets["length"] == 2].to_dict("records"):
        one, other = sorted(row["itemsets"])
        subsets = [frozenset(), frozenset([one]), frozenset([other]), frozenset([one, other])]
        counts = np.array([[count[s] for s in subsets]])
        variance = covariance(counts, facts.respondents, [1, 1], [1, 1], population=False)[0]
        assert np.sqrt(variance) == pytest.approx(row["std_error"], rel=1e-9)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".json"])
def test_saved_itemsets_give_the_same_rules(itemsets: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    """Every file format keeps names, counts and facts, so that rules from it equal those from memory."""
    path = tmp_path / f"itemsets{suffix}"
    write_itemsets(itemsets, path)
    again = read_itemsets(path)
    assert mining_facts(again) == mining_facts(itemsets)
    assert list(again["itemsets"]) == list(itemsets["itemsets"])
    pd.testing.assert_frame_equal(association_rules(again, 0.3), association_rules(itemsets, 0.3), rtol=1e-12)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".json"])
def test_rules_are_written_in_every_format(itemsets: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    """Rules go to Parquet, CSV and JSON with as many rows as there are rules."""
    rules = association_rules(itemsets, 0.3)
    path = tmp_path / f"rules{suffix}"
    write_rules(rules, path)
    readers = {".parquet": pd.read_parquet, ".csv": pd.read_csv}
    rows = json.loads(path.read_text())["rules"] if suffix == ".json" else readers[suffix](path)
    assert len(rows) == len(rules) > 0


def test_tables_without_their_facts_are_refused(itemsets: pd.DataFrame, tmp_path: Path) -> None:
    """A bare table, one without counts, one that lacks a subset and a stranger's file are refused."""
    bare = itemsets.copy()
    bare.attrs = {}
    with pytest.raises(EstimateError, match="does not carry the plan"):
        association_rules(bare)
    with pytest.raises(EstimateError, match="does not carry the plan"):
        association_rules(itemsets.drop(columns="count"))
    with pytest.raises(EstimateError, match="lacks a subset"):
        association_rules(itemsets[itemsets["length"] > 1])
    for suffix, content in {".csv": "a,b\n1,2\n", ".json": '{"a": 1}', ".parquet": "PAR1 not really"}.items():
        path = tmp_path / f"strange{suffix}"
        path.write_text(content)
        with pytest.raises((EstimateError, FileError), match="strange"):
            read_itemsets(path)


@pytest.mark.parametrize("confidence", ["120%", -0.1, "much"])
def test_bad_confidence_is_refused(itemsets: pd.DataFrame, confidence: object) -> None:
    """A minimum confidence outside [0, 1] is refused."""
    with pytest.raises(EstimateError, match="minimum confidence"):
        association_rules(itemsets, confidence)  # type: ignore[arg-type]


def test_no_itemsets_give_no_rules(baskets: Baskets, plan: Plan, tmp_path: Path) -> None:
    """Mining that finds nothing gives an empty table that is saved, read and turned into no rules."""
    frame = simulate(baskets, plan, 0.9, seed=1).itemsets.drop(columns=["true_support", "raw_support"])
    assert len(frame) == 0
    for suffix in (".parquet", ".csv", ".json"):
        write_itemsets(frame, tmp_path / f"none{suffix}")
        assert len(association_rules(read_itemsets(tmp_path / f"none{suffix}"))) == 0


def test_every_split_of_a_frequent_itemset_is_a_rule(itemsets: pd.DataFrame) -> None:
    """Without a minimum confidence each frequent k-itemset gives 2^k − 2 rules."""
    rules = association_rules(itemsets)
    frequent = itemsets[itemsets["frequent"] & (itemsets["length"] > 1)]
    assert len(rules) == sum(2**k - 2 for k in frequent["length"])
    splits = {(a, c) for a, c in zip(rules["antecedents"], rules["consequents"], strict=True)}
    for itemset in frequent["itemsets"]:
        for size in range(1, len(itemset)):
            for left in combinations(sorted(itemset), size):
                assert (frozenset(left), itemset - set(left)) in splits


def test_rules_know_no_less_error_than_their_itemsets(baskets: Baskets) -> None:
    """With a small ρ and few reports a rule's support has exactly its itemset's standard error, bounded below."""
    plan = planned(NAMES, 3, Breach("1%", "50%"), itemset_size=2, code="none")
    small = Baskets(plan.catalogue, baskets.offsets[:3_001], baskets.items)
    for seed in range(5):
        for population in (False, True):
            chunks = randomize_chunks(small, plan, entropy=SeededEntropy(seed))
            reports = Reports(plan, np.concatenate([chunk.packed for chunk in chunks]))
            itemsets = mine(reports, 0.1, population=population)
            stated = dict(zip(itemsets["itemsets"], itemsets["std_error"], strict=True))
            for rule in association_rules(itemsets).to_dict("records"):
                union = rule["antecedents"] | rule["consequents"]
                assert rule["support_std_error"] == pytest.approx(stated[union], rel=1e-9)
                assert rule["confidence_std_error"] > 0
                assert rule["lift_std_error"] > 0


def test_sides_that_are_noise_give_no_rule(itemsets: pd.DataFrame) -> None:
    """A side supported by less than two standard errors gives no rule."""
    noisy = itemsets.copy()
    noisy.attrs = itemsets.attrs
    weak = noisy["itemsets"] == frozenset([NAMES[0]])
    noisy.loc[weak, "std_error"] = noisy.loc[weak, "support"] * 0.51
    rules = association_rules(noisy)
    assert frozenset([NAMES[0]]) not in {*rules["antecedents"], *rules["consequents"]}
    assert len(rules) > 0


def test_sides_without_support_give_no_rule(itemsets: pd.DataFrame) -> None:
    """A side whose support is 0, even without error, divides nothing: it gives no rule and no warning."""
    empty = itemsets.copy()
    empty.attrs = itemsets.attrs
    empty.loc[empty["itemsets"] == frozenset([NAMES[0]]), ["support", "std_error"]] = 0.0
    rules = association_rules(empty)
    assert frozenset([NAMES[0]]) not in {*rules["antecedents"], *rules["consequents"]}


def test_rules_are_certain_rarely_where_none_is_true() -> None:
    """With all confidences at C, or below by one person, p-values are small as rarely as they say, and so are claims.

    Ten rules within five pairs, and others of confidence 0. P(p ≤ α) is at most α for α = 10%, 5% and 1%, and a claim
    is made in at most 30% of runs (4.9 standard errors each). Taking the antecedent's support for known is found out.
    """
    n, runs, least, level = 10_000, 130, 0.9, 0.3
    plan = planned(10, 2, Breach("5%", "50%"), reports=n, code="none")
    both, alone = 1200, 134
    assert both / (both + alone) < least < (both + 1) / (both + alone)
    sets: list[list[str]] = []
    for x, y in zip(plan.catalogue[0::2], plan.catalogue[1::2], strict=True):
        sets += [[x, y]] * both + [[x]] * alone + [[y]] * alone
    sets += [[]] * (n - len(sets))
    order = np.random.default_rng(4).permutation(n)
    baskets = Baskets.from_sets([sets[row] for row in order] * runs, plan.catalogue)
    packed = np.concatenate([c.packed for c in randomize_chunks(baskets, plan, entropy=SeededEntropy(5))])
    claimed, right, wrong = [], [], []
    for run in range(runs):
        table = mine(Reports(plan, packed[run * n : (run + 1) * n]), 0.04, certain=1 - level)
        rules = association_rules(table, least, certain=1 - level)
        claimed.append(rules["certain"].any())
        number = [[int(next(iter(side))) // 2 for side in rules[sides]] for sides in ("antecedents", "consequents")]
        planted = rules[np.equal(*number)]
        right += planted["p_value"].tolist()
        surplus = planted["support"] - least * planted["antecedent support"]
        wrong += ndtr(-surplus / planted["support_std_error"]).tolist()

    def off(p: list[float], alpha: float) -> float:
        expected = alpha * 10 * runs
        return float((np.sum(np.array(p) <= alpha) - expected) / np.sqrt(expected))

    assert len(right) > 4 * runs
    assert all(off(right, alpha) < Z_LIMIT for alpha in (0.1, 0.05, 0.01))
    assert off(wrong, 0.01) > Z_LIMIT
    assert (np.mean(claimed) - level) / np.sqrt(level * (1 - level) / runs) < Z_LIMIT


def test_all_splits_count_as_tested(baskets: Baskets, plan: Plan) -> None:
    """The hypotheses are all rules of the table's itemsets, or of all itemsets that there could be."""
    chunks = randomize_chunks(baskets, plan, entropy=SeededEntropy(3))
    reports = Reports(plan, np.concatenate([chunk.packed for chunk in chunks]))
    table = mine(reports, 0.1, certain="95%")
    rules = association_rules(table, "70%", certain="95%")
    facts = rules.attrs["assocpriv"]["certain"]
    assert facts["hypotheses"] == sum(2**k - 2 for k in table["length"]) > len(rules) > 0
    assert (rules["p_value"].between(0, 1)).all()
    assert rules["certain"].any()
    assert association_rules(table, "99.9%", certain="95%").columns.tolist() == rules.columns.tolist()
    everything = mine(reports, 0.1, certain="95%", certain_by="all")
    facts = association_rules(everything, "70%", certain="95%").attrs["assocpriv"]["certain"]
    assert facts["hypotheses"] == 15 * 2 + 20 * 6
    with pytest.raises(EstimateError, match="how certain"):
        association_rules(table, "70%", certain="0%")
