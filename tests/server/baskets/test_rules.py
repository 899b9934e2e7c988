"""Rules from the posterior: confidences against samples, selection, files, and tables without rules."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from mlxtend.frequent_patterns import apriori
from mlxtend.frequent_patterns import association_rules as mlxtend_rules
from naive import planned, reports_of

import assocpriv as ap
from assocpriv.files.mined_tables import mining_facts
from assocpriv.files.model_files import read_device_rules
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import EstimateError, FileError
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.server.baskets.counting import LocalBackend
from assocpriv.server.baskets.mining import MiningRequest, mine
from assocpriv.server.baskets.rules import SIDES, derive_rules
from assocpriv.server.baskets.tables import METRICS

NAMES = ["bread", "milk", 'eggs, "free range"', "Käse", "tea", "jam"]


@pytest.fixture(scope="module")
def plan() -> Plan:
    """A plan over six items with a weak guarantee, so that a small collection has detectable itemsets."""
    return planned(NAMES, 3, Guarantee("1%", "90%"), reports=20_000)


@pytest.fixture(scope="module")
def itemsets(plan: Plan) -> pd.DataFrame:
    """Return the mined table of 20,000 baskets in which the first three items are bought together."""
    rng = np.random.default_rng(7)
    sets = []
    for _ in range(20_000):
        basket = set(NAMES[:3]) if rng.random() < 0.3 else set()
        basket |= {name for name in NAMES if rng.random() < 0.12}
        sets.append(sorted(basket)[:3])
    return mine(LocalBackend.from_reports(reports_of(sets, plan, 3)), MiningRequest(top=41)).to_pandas()


def by_sides(rules: pd.DataFrame) -> pd.DataFrame:
    """Return rules indexed by their sides, as text."""
    sides = zip(rules["antecedents"], rules["consequents"], strict=True)
    return rules.set_index(pd.Index([f"{sorted(left)} {sorted(right)}" for left, right in sides]))


def test_rules_are_those_that_mlxtend_derives(itemsets: pd.DataFrame) -> None:
    """Without a minimum the rules are mlxtend's, with nearly its measures where the antecedent is frequent."""
    ours = by_sides(ap.association_rules(itemsets, 0))
    theirs = by_sides(mlxtend_rules(itemsets[["support", "itemsets"]], metric="confidence", min_threshold=0))
    assert set(ours.index) == set(theirs.index)
    assert ours["support"].to_numpy() == pytest.approx(theirs.loc[ours.index, "support"].to_numpy(), rel=1e-12)
    known = ours[ours["antecedent support"] > 0.3]
    assert len(known) > 10
    for name in ("antecedent support", "confidence", "jaccard", "kulczynski"):
        assert known[name].to_numpy() == pytest.approx(theirs.loc[known.index, name].to_numpy(), abs=3e-3)
    assert set(METRICS) <= set(ours.columns)


def test_confidences_agree_with_samples(itemsets: pd.DataFrame) -> None:
    """Confidences agree with independent samples; upper ends too, where the reports exclude b = a and b = c."""
    rules, samples = ap.association_rules(itemsets, "30%"), ap.draws(itemsets, 4_000, seed=2)
    estimates = itemsets.set_index("itemsets")[["unbiased", "unbiased_error"]].T
    assert len(rules) > 10
    for row in rules.itertuples():
        whole = row.antecedents | row.consequents
        shares = samples[whole] / np.maximum(samples[row.antecedents], 1e-9)
        wide = row.confidence_ci_high - row.confidence_ci_low
        assert row.confidence == pytest.approx(shares.mean(), abs=0.1 * wide + 0.005)
        low, high = np.quantile(shares, [0.025, 0.975])
        assert row.confidence_ci_low == pytest.approx(low, abs=0.15 * wide + 0.01)
        (x, error), each = estimates[whole], np.array([estimates[row.antecedents], estimates[row.consequents]])
        apart = each[:, 0] - x > 1.96 * np.hypot(each[:, 1], error)
        assert row.confidence_ci_high >= high - 0.15 * wide - 0.01
        assert not apart.all() or row.confidence_ci_high == pytest.approx(high, abs=0.15 * wide + 0.01)
        reached = (shares >= 0.3).mean()
        sharper = reached**1.3 / (reached**1.3 + (1 - reached) ** 1.3)
        assert row.probability == pytest.approx(sharper, abs=0.1)


def test_values_agree_with_samples(itemsets: pd.DataFrame) -> None:
    """A rule's value per thousand baskets is 1000 p (b − a c) of samples; not p b, nor p (b − a)."""
    prices = {name: 1 + place for place, name in enumerate(NAMES)}
    rules, samples = ap.association_rules(itemsets, "30%", prices=prices), ap.draws(itemsets, 4_000, seed=2)
    for row in rules.itertuples():
        b, a, c = (samples[each] for each in (row.antecedents | row.consequents, row.antecedents, row.consequents))
        price = 1000 * sum(prices[name] for name in row.consequents)
        gain, wide = price * (b - a * c), row.value_ci_high - row.value_ci_low
        assert row.value == pytest.approx(gain.mean(), abs=0.15 * wide)
        assert [row.value_ci_low, row.value_ci_high] == pytest.approx(np.quantile(gain, [0.025, 0.975]), abs=0.3 * wide)
    surely = rules["value_ci_low"][rules["selected"]]
    assert surely.is_monotonic_decreasing
    best = rules.iloc[0]
    assert best["value"] < 0.9 * 1000 * best["support"] * sum(prices[name] for name in best["consequents"])


def test_margins_may_be_negative_and_must_be_complete(itemsets: pd.DataFrame, tmp_path: Path) -> None:
    """Interval ends are in order, prices are read from a file with a header, and missing prices are named."""
    pd.DataFrame({"item": NAMES, "margin": -2.5}).to_csv(tmp_path / "p.csv", index=False)
    rules = ap.association_rules(itemsets, "30%", prices=tmp_path / "p.csv")
    assert (rules["value_ci_low"] <= rules["value"]).all()
    assert (rules["value"] <= rules["value_ci_high"]).all()
    assert set(ap.association_rules(itemsets, 1, prices=str(tmp_path / "p.csv")).columns) == set(rules.columns)
    with pytest.raises(EstimateError, match="prices lack 5 items of the table, such as 'Käse'"):
        ap.association_rules(itemsets, prices={"bread": 1})


def test_rules_are_selected_by_their_probability(itemsets: pd.DataFrame) -> None:
    """Selected rules have an expected false share of at most 10%, the strict ones of 5%; attrs give the counts."""
    likely = ap.association_rules(itemsets, "80%")
    begins = dict(zip(itemsets["itemsets"], itemsets["ci_low"], strict=True))
    narrow = likely["confidence_ci_high"] - likely["confidence_ci_low"] < 0.95
    known = likely[(likely["antecedents"].map(begins) > 0) & narrow]
    false = np.sort(1 - known["probability"])
    shares = np.cumsum(false) / np.arange(1, len(false) + 1)
    assert (likely["probability"] >= 0.5).all()
    assert likely["selected"].sum() == (shares <= 0.10).sum() < len(known)
    assert likely["selected_strict"].sum() == (shares <= 0.05).sum() < likely["selected"].sum()
    rules = ap.association_rules(itemsets, "55%")
    facts = rules.attrs["assocpriv"]
    assert facts["selected"] == rules["selected"].sum() > 0
    assert facts["expected_false"] == pytest.approx((1 - rules["probability"])[rules["selected"]].sum())
    fewer = ap.association_rules(itemsets, "55%", contains=["milk"])
    assert fewer.attrs["assocpriv"]["selected"] == facts["selected"]
    assert fewer.attrs["assocpriv"]["hidden"] == len(rules) - len(fewer) > 0


def test_incomplete_tables_are_refused(itemsets: pd.DataFrame) -> None:
    """A table without facts, and one that lacks a subset, are refused."""
    bare = itemsets.copy()
    bare.attrs.clear()
    with pytest.raises(EstimateError, match=r"lacks the facts"):
        ap.association_rules(bare)
    lacking = itemsets[itemsets["length"] > 1]
    for read in (ap.association_rules, partial(ap.draws, seed=1)):
        with pytest.raises(EstimateError, match="lacks a subset"):
            read(lacking)


@pytest.mark.parametrize("confidence", [-0.1, 1.1, "x", None, float("nan"), "101%"])
def test_bad_confidence_is_refused(itemsets: pd.DataFrame, confidence: object) -> None:
    """A share lies between 0 and 1."""
    with pytest.raises(EstimateError, match="confidence"):
        ap.association_rules(itemsets, confidence)


def test_reasons_for_no_rule(itemsets: pd.DataFrame) -> None:
    """Without pairs there is no rule, and a reason is given."""
    singles = derive_rules(itemsets[itemsets["length"] == 1])
    assert len(singles) == 0
    assert "two items" in singles.attrs["assocpriv"]["why_none"]
    assert list(singles.columns) == list(ap.association_rules(itemsets).columns)
    assert mining_facts(itemsets).top == 41


@pytest.mark.parametrize("read", [pd.read_parquet, pl.read_parquet], ids=["pandas", "polars"])
def test_rules_that_other_libraries_read_are_taken(
    itemsets: pd.DataFrame, tmp_path: Path, read: Callable[[Path], Any]
) -> None:
    """A file of rules, read by pandas or polars with lists of names, is a table of rules here."""
    rules, file, again = ap.association_rules(itemsets, "30%"), tmp_path / "r.parquet", tmp_path / "again.parquet"
    ap.write_rules(rules, file, everything=True)
    table = read(file)
    pd.testing.assert_frame_equal(ap.exports.to_arules(table), ap.exports.to_arules(rules))
    ap.write_rules(table, again, everything=True)
    assert pl.read_parquet(again).equals(pl.read_parquet(file))
    assert str(ap.chart(table)._repr_html_()) == str(ap.chart(rules)._repr_html_())
    pd.testing.assert_frame_equal(ap.read_rules(table), rules)
    itemset_file = tmp_path / "i.parquet"
    ap.write_itemsets(itemsets, itemset_file)
    pd.testing.assert_frame_equal(ap.association_rules(read(itemset_file), "30%"), rules)
    assert ap.draws(read(itemset_file), 3, seed=1).equals(ap.draws(itemsets, 3, seed=1))
    if read is pd.read_parquet:  # finds the other facts, in attrs
        pd.testing.assert_frame_equal(ap.read_itemsets(read(itemset_file)), itemsets)
        return
    with pytest.raises(EstimateError, match=r"lacks the facts .* or read its file with read_itemsets"):
        ap.read_itemsets(read(itemset_file))


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".json"])
@pytest.mark.parametrize("everything", [True, False])
def test_rules_come_back_from_files(itemsets: pd.DataFrame, tmp_path: Path, suffix: str, everything: bool) -> None:
    """Names, frozensets, numbers (in JSON four digits of some), their order, types and facts; the view is the same."""
    odd = itemsets.assign(itemsets=[frozenset(f"{name}, NA" for name in each) for each in itemsets["itemsets"]])
    rules, file = ap.association_rules(odd, "30%"), tmp_path / f"r{suffix}"
    rules["selected"] = rules.index % 3 > 0
    ap.write_rules(rules, file, everything=everything)
    again = ap.read_rules(file)
    kept = rules if everything else rules[rules["selected"]].reset_index(drop=True)
    assert list(again.columns) == list(rules.columns) or suffix == ".json"
    exactly = {"rtol": 1e-3} if suffix == ".json" else {"check_exact": True}
    pd.testing.assert_frame_equal(again, kept[list(again.columns)], **exactly)
    before, facts = rules.attrs["assocpriv"], again.attrs["assocpriv"]
    selected, false = rules["selected"].sum(), (1 - rules["probability"])[rules["selected"]].sum()
    assert before.pop("sort") is None
    assert facts == before | {"selected": selected, "expected_false": pytest.approx(false)}
    assert f"{selected} rules selected with a confidence of at least 30%" in again._repr_html_()
    ap.write_rules(rules[:0], file, everything=everything, force=True)
    assert len(ap.read_rules(file)) == 0


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".json"])
@pytest.mark.parametrize("sets", [frozenset, tuple])
def test_rules_of_other_miners_are_written(tmp_path: Path, suffix: str, sets: Any) -> None:
    """Rules of mlxtend, and of rusket with tuples of names, are read again; ids in place of names are refused."""
    bought = pd.DataFrame({"tea": [1, 1, 0, 1], "milk": [1, 1, 1, 0], "rye": [0, 1, 1, 0]}).astype(bool)
    rules = mlxtend_rules(apriori(bought, 0.25, use_colnames=True), min_threshold=0.5)
    ap.write_rules(rules.assign(**{side: rules[side].map(sets) for side in SIDES}), file := tmp_path / f"r{suffix}")
    again = ap.read_rules(file)
    pd.testing.assert_frame_equal(pd.DataFrame(again), rules[list(again.columns)], rtol=1e-3)
    assert "milk" in repr(again)
    if suffix == ".json":
        assert len(read_device_rules(file)) == len(rules)
    for wrong in (mlxtend_rules(apriori(bought, 0.25), min_threshold=0.5), rules.assign(consequents="tea")):
        with pytest.raises(EstimateError, match="sets or lists of names"):
            ap.write_rules(wrong, file, force=True)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".json"])
def test_facts_that_cannot_be_known_are_left_out(itemsets: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    """Without the probabilities nobody knows how many rules are false; a frame that is read again stays unchanged."""
    rules, file = ap.association_rules(itemsets, "30%"), tmp_path / f"r{suffix}"
    ap.write_rules(rules.drop(columns="probability"), file)
    again = ap.read_rules(file)
    assert again.attrs.get("assocpriv") is None
    assert "confidence" in again._repr_html_().lower()
    few = rules.head(1)
    assert ap.read_rules(few).attrs["assocpriv"]["selected"] == 1 < few.attrs["assocpriv"]["selected"]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".json"])
def test_other_files_hold_no_rules(itemsets: pd.DataFrame, tmp_path: Path, suffix: str) -> None:
    """Missing and damaged files, tables of itemsets, and other endings."""
    file = tmp_path / f"r{suffix}"
    with pytest.raises(FileError, match="must end in"):
        ap.read_rules(tmp_path / "r.txt")
    with pytest.raises(FileError, match="cannot read"):
        ap.read_rules(file)
    file.write_bytes(b"\xff{")
    with pytest.raises(EstimateError, match="holds no rules"):
        ap.read_rules(file)
    ap.write_itemsets(itemsets, file, force=True)
    with pytest.raises(EstimateError, match=r"holds no rules|not a table of rules"):
        ap.read_rules(file)
