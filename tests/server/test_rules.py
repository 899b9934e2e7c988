"""Rules from the posterior: what confidences are, against draws; lists; files; what has no rule."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mlxtend.frequent_patterns import association_rules as mlxtend_rules
from naive import planned, reports_of

import assocpriv as ap
from assocpriv.plans.baskets import Plan
from assocpriv.promise.breaches import Breach
from assocpriv.promise.errors import EstimateError, FileError
from assocpriv.server.counting import LocalBackend
from assocpriv.server.itemsets import mining_facts
from assocpriv.server.mining import MiningRequest, mine
from assocpriv.server.rules import derive_rules, write_rules
from assocpriv.server.selection import METRICS

NAMES = ["bread", "milk", 'eggs, "free range"', "Käse", "tea", "jam"]


@pytest.fixture(scope="module")
def plan() -> Plan:
    """A plan over six items with a weak promise, so that a small collection shows something."""
    return planned(NAMES, 3, Breach("1%", "90%"), reports=20_000)


@pytest.fixture(scope="module")
def itemsets(plan: Plan) -> pd.DataFrame:
    """Return what is mined of 20,000 baskets in which the first three items go together."""
    rng = np.random.default_rng(7)
    sets = []
    for _ in range(20_000):
        basket = set(NAMES[:3]) if rng.random() < 0.3 else set()
        basket |= {name for name in NAMES if rng.random() < 0.12}
        sets.append(sorted(basket)[:3])
    return mine(LocalBackend.of(reports_of(sets, plan, 3)), MiningRequest(top=41)).to_pandas()


def by_sides(rules: pd.DataFrame) -> pd.DataFrame:
    """Index rules by their sides, as text."""
    sides = zip(rules["antecedents"], rules["consequents"], strict=True)
    return rules.set_index(pd.Index([f"{sorted(left)} {sorted(right)}" for left, right in sides]))


def test_rules_are_those_that_mlxtend_derives(itemsets: pd.DataFrame) -> None:
    """Without a minimum they are the same rules, with nearly mlxtend's measures where the antecedent is frequent."""
    ours = by_sides(ap.association_rules(itemsets, 0))
    theirs = by_sides(mlxtend_rules(itemsets[["support", "itemsets"]], metric="confidence", min_threshold=0))
    assert set(ours.index) == set(theirs.index)
    assert ours["support"].to_numpy() == pytest.approx(theirs.loc[ours.index, "support"].to_numpy(), rel=1e-12)
    known = ours[ours["antecedent support"] > 0.3]
    assert len(known) > 10
    for name in ("antecedent support", "confidence", "jaccard", "kulczynski"):
        assert known[name].to_numpy() == pytest.approx(theirs.loc[known.index, name].to_numpy(), abs=3e-3)
    assert set(METRICS) <= set(ours.columns)


def test_confidences_are_those_of_draws(itemsets: pd.DataFrame) -> None:
    """Confidences agree with draws, which are made otherwise; upper ends where the reports exclude b = a and b = c."""
    rules, drawn = ap.association_rules(itemsets, "30%"), ap.draws(itemsets, 4_000, seed=2)
    place = {names: row for row, names in enumerate(itemsets["itemsets"])}
    assert len(rules) > 10
    for row in rules.itertuples():
        whole, left = (
            drawn.to_numpy()[:, place[names]] for names in (row.antecedents | row.consequents, row.antecedents)
        )
        shares, sides = whole / np.maximum(left, 1e-9), [place[row.antecedents], place[row.consequents]]
        wide = row.confidence_ci_high - row.confidence_ci_low
        assert row.confidence == pytest.approx(shares.mean(), abs=0.1 * wide + 0.005)
        low, high = np.quantile(shares, [0.025, 0.975])
        assert row.confidence_ci_low == pytest.approx(low, abs=0.15 * wide + 0.01)
        estimates = itemsets[["unbiased", "unbiased_error"]].to_numpy()
        (x, error), each = estimates[place[row.antecedents | row.consequents]], estimates[sides]
        apart = each[:, 0] - x > 1.96 * np.hypot(each[:, 1], error)
        assert row.confidence_ci_high >= high - 0.15 * wide - 0.01
        assert not apart.all() or row.confidence_ci_high == pytest.approx(high, abs=0.15 * wide + 0.01)
        assert row.probability == pytest.approx((shares >= 0.3).mean(), abs=0.08)


def test_values_are_those_of_draws(itemsets: pd.DataFrame) -> None:
    """What a rule earns of a thousand baskets is 1000 p (b − a c) of draws, surest first; not p b, nor p (b − a)."""
    prices = {name: 1 + place for place, name in enumerate(NAMES)}
    rules, drawn = ap.association_rules(itemsets, "30%", prices=prices), ap.draws(itemsets, 4_000, seed=2).to_numpy()
    place = {names: row for row, names in enumerate(itemsets["itemsets"])}
    for row in rules.itertuples():
        b, a, c = (
            drawn[:, place[each]] for each in (row.antecedents | row.consequents, row.antecedents, row.consequents)
        )
        price = 1000 * sum(prices[name] for name in row.consequents)
        gain, wide = price * (b - a * c), row.value_ci_high - row.value_ci_low
        assert row.value == pytest.approx(gain.mean(), abs=0.15 * wide)
        assert [row.value_ci_low, row.value_ci_high] == pytest.approx(np.quantile(gain, [0.025, 0.975]), abs=0.3 * wide)
    surely = rules["value_ci_low"][rules["listed"]]
    assert surely.is_monotonic_decreasing
    best = rules.iloc[0]
    assert best["value"] < 0.9 * 1000 * best["support"] * sum(prices[name] for name in best["consequents"])


def test_margins_may_be_below_zero_and_none_may_lack(itemsets: pd.DataFrame, tmp_path: Path) -> None:
    """An interval's ends stand in order, prices are read from a file with a header, and what has none is named."""
    (tmp_path / "p.csv").write_text(
        "item,margin\n" + "".join(f'"{n.replace(chr(34), chr(34) * 2)}",-2.5\n' for n in NAMES)
    )
    rules = ap.association_rules(itemsets, "30%", prices=tmp_path / "p.csv")
    assert (rules["value_ci_low"] <= rules["value"]).all()
    assert (rules["value"] <= rules["value_ci_high"]).all()
    assert set(ap.association_rules(itemsets, 1, prices=str(tmp_path / "p.csv")).columns) == set(rules.columns)
    with pytest.raises(EstimateError, match="no price of 5 items of the table, as of 'Käse'"):
        ap.association_rules(itemsets, prices={"bread": 1})


def test_rules_are_listed_by_their_probability(itemsets: pd.DataFrame) -> None:
    """As many as leave one in ten of the listed false, one in twenty of the sure; the head says how many."""
    likely = ap.association_rules(itemsets, "80%")
    begins = dict(zip(itemsets["itemsets"], itemsets["ci_low"], strict=True))
    known = likely[
        (likely["antecedents"].map(begins) > 0) & (likely.eval("confidence_ci_high - confidence_ci_low") < 0.95)
    ]
    false = np.sort(1 - known["probability"])
    shares = np.cumsum(false) / np.arange(1, len(false) + 1)
    assert (likely["probability"] >= 0.5).all()
    assert likely["listed"].sum() == (shares <= 0.10).sum() < len(known)
    assert likely["sure"].sum() == (shares <= 0.05).sum() < likely["listed"].sum()
    rules = ap.association_rules(itemsets, "55%")
    said = rules.attrs["assocpriv"]
    assert said["listed"] == rules["listed"].sum() > 0
    assert said["expected_false"] == pytest.approx((1 - rules["probability"])[rules["listed"]].sum())
    fewer = ap.association_rules(itemsets, "55%", contains=["milk"])
    assert fewer.attrs["assocpriv"]["listed"] == said["listed"]
    assert fewer.attrs["assocpriv"]["hidden"] == len(rules) - len(fewer) > 0


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".json"])
def test_listed_rules_are_written_in_every_format(
    itemsets: pd.DataFrame, tmp_path: Path, suffix: str, everything: bool
) -> None:
    """A file has the listed rules; with ``everything`` also the others, and a column that says which are listed."""
    rules, file = ap.association_rules(itemsets, "80%"), tmp_path / f"rules{suffix}"
    write_rules(rules, file, everything=everything)
    readers = {
        ".parquet": pd.read_parquet,
        ".csv": pd.read_csv,
        ".json": lambda f: pd.DataFrame(json.loads(f.read_text())["rules"]),
    }
    read, listed = readers[suffix](file), rules[rules["listed"]]
    written = rules if everything else listed
    assert 0 < len(listed) < len(rules)
    assert read["confidence"].to_numpy() == pytest.approx(written["confidence"].to_numpy(), rel=1e-3)
    assert read.get("listed", written["listed"]).tolist() == written["listed"].tolist()
    assert ("listed" in read) is (everything or suffix != ".json")  # devices get no rule that is not
    if suffix == ".json":
        assert [each.antecedents for each in ap.read_rules(file)] == listed["antecedents"].tolist()
    with pytest.raises(FileError, match="exists"):
        write_rules(rules, file)


def test_tables_without_what_rules_need_are_refused(itemsets: pd.DataFrame) -> None:
    """A bare table, one that lacks a subset, and something else."""
    bare = itemsets.copy()
    bare.attrs.clear()
    with pytest.raises(EstimateError, match="does not carry"):
        ap.association_rules(bare)
    lacking = itemsets[itemsets["length"] > 1]
    with pytest.raises(EstimateError, match="lacks a subset"):
        ap.association_rules(lacking)


@pytest.mark.parametrize("confidence", [-0.1, 1.1, "x", None, float("nan"), "101%"])
def test_bad_confidence_is_refused(itemsets: pd.DataFrame, confidence: object) -> None:
    """A share is from 0 to 1."""
    with pytest.raises(EstimateError, match="confidence"):
        ap.association_rules(itemsets, confidence)


def test_what_has_no_rule(itemsets: pd.DataFrame) -> None:
    """Without pairs there is none; nor of a name that no itemset has, which is said."""
    singles = derive_rules(itemsets[itemsets["length"] == 1])
    assert len(singles) == 0
    assert "two items" in singles.attrs["assocpriv"]["none"]
    assert list(singles.columns) == list(ap.association_rules(itemsets).columns)
    assert mining_facts(itemsets).top == 41
