"""The measures of rules: supports that some distribution has, mlxtend's formulas, and intervals that hold them."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlxtend.frequent_patterns import association_rules as mlxtend_rules
from naive import FALSE_ALARM, planned, reports_of
from numpy.typing import NDArray
from scipy.stats import binom

from assocpriv.files.mined_tables import COLUMNS, POSTERIOR, LightFrame, posterior_components
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.server.baskets.counting import LocalBackend
from assocpriv.server.baskets.mining import MiningRequest, mine, select_by_fdr
from assocpriv.server.baskets.rules import _chosen, _feasible, _measures, chosen_rules, derive_rules
from assocpriv.server.baskets.tables import METRICS

SHARES = st.floats(0, 1) | st.sampled_from([0.0, 1.0, 0.5, 1e-9, 1e-6, 1 - 1e-9])
MEASURES = [name for name in METRICS if "support" not in name]


def mlxtends(supports: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return mlxtend's measures of supports of A, C and A ∪ C, (rules, 3), all in one of its tables."""
    names = [[frozenset({f"a{row}"}), frozenset({f"c{row}"})] for row in range(len(supports))]
    itemsets = [name for left, right in names for name in (left, right, left | right)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of 0 / 0, which it replaces
        frame = mlxtend_rules(
            pd.DataFrame({"support": supports.ravel(), "itemsets": itemsets}), metric="support", min_threshold=-1
        )
    frame.index = [min(side) for side in frame["antecedents"]]
    frame["certainty"] = frame["certainty"].clip(lower=-1)  # the least of a certainty factor
    return {name: frame.loc[[f"a{row}" for row in range(len(supports))], name].to_numpy() for name in METRICS}


def check_measures(measures: "dict[str, NDArray[np.float64]] | LightFrame") -> None:
    """Assert that some distribution has the supports of each row, and that measures are in range and mlxtend's."""
    a, c, b = (measures[name] for name in ("antecedent support", "consequent support", "support"))
    assert ((b <= np.minimum(a, c)) & (b >= np.maximum(a + c - 1 - 1e-15, 0)) & (a <= 1) & (c <= 1)).all()
    theirs = mlxtends(np.column_stack([a, c, b]))
    for name in MEASURES:
        if name != "zhangs_metric":
            assert measures[name] == pytest.approx(theirs[name], rel=1e-12, abs=1e-12)
    scale = np.maximum(b * (1 - a), a * (c - b))  # of rounding errors, where everything cancels
    assert (np.abs(measures["zhangs_metric"] - theirs["zhangs_metric"]) * scale < 1e-15).all()
    both = np.sort([b / a, b / c], axis=0)
    lowest = {"leverage": -0.25, "zhangs_metric": -1, "certainty": -1, "kulczynski": both[0] - 1e-15}
    highest = {
        "conviction": np.inf, "leverage": 0.25, "lift": (1 + 1e-12) / np.maximum(a, c), "kulczynski": both[1] + 1e-15,
    }  # fmt: skip
    for name in MEASURES:
        assert ((measures[name] >= lowest.get(name, 0)) & (measures[name] <= highest.get(name, 1))).all(), name


def check_rules(rules: LightFrame) -> None:
    """Assert what holds of every table of rules."""
    check_measures(rules.columns)
    for name in ("confidence", "lift"):
        low, high = rules[f"{name}_ci_low"], rules[f"{name}_ci_high"]
        assert ((low >= 0) & (low <= rules[name] * (1 + 1e-12)) & (rules[name] <= high * (1 + 1e-12))).all()
    assert (rules["confidence_ci_high"] <= 1).all()
    c = rules["consequent support"]
    assert (rules["lift_ci_low"] <= rules["confidence_ci_low"] / c * (1 + 1e-12)).all()
    assert (rules["lift_ci_high"] >= rules["confidence_ci_high"] / c * (1 - 1e-12)).all()
    sides = list(zip(rules["antecedents"], rules["consequents"], strict=True))
    confidence = dict(zip(sides, rules["confidence"], strict=True))
    for (left, right), mean in zip(sides, rules["kulczynski"], strict=True):
        if (right, left) in confidence:  # the other way round the supports are the same
            assert mean == pytest.approx((confidence[left, right] + confidence[right, left]) / 2, rel=1e-12)


# ---- measures


def test_measures_of_all_small_counts_are_mlxtends() -> None:
    """All tables of four people, including supports, confidences and lifts of 1, and infinite convictions."""
    counts = [row for row in product(range(5), repeat=3) if sum(row) <= 4 and row[0] + row[1] and row[0] + row[2]]
    supports = np.array([(both + left, both + right, both) for both, left, right in counts]) / 4
    assert (_feasible(*supports.T) == supports).all()
    check_measures(measures := _measures(*supports.T))
    ours = np.array([measures[name] for name in ("confidence", "lift", "conviction", "certainty", "zhangs_metric")]).T
    row = dict(zip(map(tuple, (4 * supports).astype(int).tolist()), ours.tolist(), strict=True))
    assert row[4, 4, 4] == row[2, 4, 2] == [1, 1, np.inf, 0, 0]
    assert row[2, 2, 2] == [1, 2, np.inf, 1, 1]
    assert row[2, 2, 1] == [0.5, 1, 1, 0, 0]
    assert row[2, 2, 0] == [0, 0, 0.5, -1, -1]
    assert row[1, 3, 0] == [0, 0, 0.25, -1, -1]  # mlxtend's certainty is −3


@settings(max_examples=25)  # mlxtend is slow
@given(st.lists(st.tuples(SHARES, SHARES, SHARES), min_size=1, max_size=20))
def test_any_three_numbers_become_feasible_supports(rows: list[tuple[float, float, float]]) -> None:
    """For any three shares, measures agree with each other to rounding and keep their ranges."""
    check_measures(_measures(*_feasible(*np.array(rows).T).T))


# ---- rules


@pytest.fixture(scope="module")
def mined() -> LightFrame:
    """Return the mined table of 6,000 baskets: all itemsets of four items."""
    rng = np.random.default_rng(5)
    held = rng.random((6_000, 4)) < [0.5, 0.3, 0.1, 0.02]
    held[:, 1] &= held[:, 0]
    plan = planned([*"abcd"], 4, Guarantee("5%", "50%"), reports=6_000)
    return LightFrame.from_frame(mine(LocalBackend.from_reports(reports_of(held, plan, 2)), MiningRequest(top=14)))


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([1e-4, 0.01, 0.3]))
def test_rules_of_any_table_agree(mined: LightFrame, seed: int, spread: float) -> None:
    """For any supports, each row has the measures of one distribution, and intervals that hold them."""
    rng, n = np.random.default_rng(seed), len(mined)
    support = np.clip(rng.random(n) ** rng.integers(1, 5, n), 1e-7, 1)
    error = spread * rng.random(n)
    components = np.stack(
        [rng.dirichlet(np.ones(3), n), support[:, None] * rng.random((n, 3)), spread * rng.random((n, 3))], 2
    )
    table = mined.assign(
        support=support, std_error=error, ci_low=np.maximum(support - 2 * error, 0), common_error=rng.random(n) / 5,
        unbiased=support + error * rng.standard_normal(n), unbiased_error=error,
        **dict(zip(POSTERIOR, components.reshape(n, -1).T, strict=True)),
    )  # fmt: skip
    assert set(COLUMNS) <= set(table.columns)
    assert posterior_components(table) == pytest.approx(components)
    check_rules(derive_rules(table, 0))


def test_the_supports_of_a_row_are_those_of_the_table(mined: LightFrame) -> None:
    """The whole itemset has exactly the table's support; the sides have it up to their errors."""
    rules, rows = derive_rules(mined, 0), {each: row for row, each in enumerate(mined["itemsets"])}
    assert len(rules) > 20
    columns = ("antecedents", "consequents", *METRICS[:3])
    for left, right, a, c, b in zip(*(rules[name] for name in columns), strict=True):
        assert b == mined["support"][rows[left | right]]
        for side, support in ((left, a), (right, c)):
            assert abs(support - mined["support"][rows[side]]) <= 1.8 * mined["std_error"][rows[side]]


def test_uninformative_rules_are_not_selected(mined: LightFrame) -> None:
    """Rules whose antecedent may not occur, or whose interval is nearly 0–100%, are not selected."""
    rules = derive_rules(mined, "5%")
    narrow = rules["confidence_ci_high"] - rules["confidence_ci_low"] < 0.95
    begins = dict(zip(mined["itemsets"], mined["ci_low"], strict=True))
    informative = np.array([begins[left] > 0 for left in rules["antecedents"]]) & narrow
    assert 0 < informative.sum() < len(rules)
    assert (rules["probability"][~informative] > 0.8).any()  # their probability alone would select them
    for name, fdr in (("selected", 0.10), ("selected_strict", 0.05)):
        assert not rules[name][~informative].any()
        assert (rules[name][informative] == select_by_fdr(rules["probability"][informative], fdr)).all()
    may_lack = mined.assign(ci_low=[0.0 if "a" in names else low for names, low in begins.items()])
    fewer = derive_rules(may_lack, "5%")
    assert rules["selected_strict"][["a" in left for left in rules["antecedents"]]].any()
    assert not fewer["selected"][["a" in left for left in fewer["antecedents"]]].any()
    assert fewer["selected_strict"].any()


# ---- exact implications


def _implications(seed: int, people: int) -> tuple[NDArray[np.bool_], LightFrame]:
    """Return baskets in which each even item implies the next one, and the mined table of their reports."""
    rng = np.random.default_rng(seed)
    left = rng.random((people, 4)) < [0.3, 0.2, 0.1, 0.05]
    held = np.stack([left, left | (rng.random((people, 4)) < [0.1, 0.05, 0.2, 0.3])], axis=2).reshape(people, 8)
    plan = planned([f"i{number}" for number in range(8)], 8, Guarantee("5%", "50%"), reports=people, itemset_size=2)
    reports = reports_of(held, plan, seed)
    return held, LightFrame.from_frame(mine(LocalBackend.from_reports(reports), MiningRequest(top=36)))


@pytest.mark.filterwarnings("ignore:.*depend mostly on the prior")
def test_intervals_of_exact_implications_reach_100_percent() -> None:
    """95% intervals of exact implications reach 100%, those of their lifts 1/c, and those of the reverse rules c/a.

    Each of 64 implications may be missed with probability 5%; central intervals of the posterior alone miss too many.
    """
    missed = {"confidence": 0, "lift": 0, "reverse": 0, "central": 0}
    for seed in range(16):
        held, table = _implications(seed, 2_000)
        rows = {names: row for row, names in enumerate(table["itemsets"])}
        pairs = [(frozenset({f"i{k}"}), frozenset({f"i{k + 1}"})) for k in range(0, 8, 2)]
        sides = np.array([[rows[left], rows[right]] for left, right in pairs]).T
        whole = np.array([rows[left | right] for left, right in pairs])
        rules, back = chosen_rules(table, sides, whole, 0.95), chosen_rules(table, sides[::-1], whole, 0.95)
        a, c = held.mean(axis=0).reshape(4, 2).T
        missed["confidence"] += int((rules["confidence_ci_high"] < 1).sum())
        missed["lift"] += int(((rules["lift_ci_low"] > 1 / c) | (rules["lift_ci_high"] < 1 / c)).sum())
        missed["reverse"] += int(((back["confidence_ci_low"] > a / c) | (back["confidence_ci_high"] < a / c)).sum())
        missed["central"] += int((_chosen(table, sides, whole)[1].quantile(0.975) < 1).sum())
    most = binom.isf(FALSE_ALARM, 64, 0.05)
    assert missed.pop("central") > most
    assert max(missed.values()) <= most, missed
