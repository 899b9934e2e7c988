"""Filters and orders of itemsets and rules: they change the rows shown, not the statements about them."""

import numpy as np
import pandas as pd
import pytest
from command_line import mine
from naive import planned, reports_of

import assocpriv as ap
from assocpriv import association_rules
from assocpriv.files.mined_tables import LightFrame
from assocpriv.guarantees.errors import EstimateError
from assocpriv.server.baskets.tables import METRICS, ItemsetFilter, find_redundant, read_sizes, rows_to_show
from assocpriv.show.itemset_views import mined
from assocpriv.show.itemset_views import rules as shown_rules
from assocpriv.show.text_renderer import lines

NAMES = [str(number) for number in range(30)]


@pytest.fixture(scope="module")
def reports() -> ap.Reports:
    """Reports of 30,000 people: items 1, 2, 3 and 11 are bought together, every item by some."""
    plan = planned(NAMES, 4, ap.Guarantee("1%", "90%"), reports=30_000, itemset_size=4)
    rng = np.random.default_rng(11)
    held = rng.random((30_000, 30)) < 0.06
    held[rng.random(30_000) < 0.3] |= np.isin(np.arange(30), [1, 2, 3, 11])
    return reports_of(held & (held.cumsum(axis=1) <= 4), plan, 3)


@pytest.fixture(scope="module")
def itemsets(reports: ap.Reports) -> pd.DataFrame:
    """Return a mined table with FDR control."""
    return mine(reports, "3%", fdr="5%")


def sides(rules: pd.DataFrame) -> list[tuple[frozenset[str], frozenset[str]]]:
    """Return antecedents and consequents."""
    return list(zip(rules["antecedents"], rules["consequents"], strict=True))


@pytest.mark.parametrize("given", ["", "..", "0", "3..2", "two", "1.5", -1, True, "2...3", "٣"])
def test_invalid_sizes_are_refused(given: object) -> None:
    """Only numbers from 1 and ranges of them are sizes, and the message says so."""
    with pytest.raises(EstimateError, match=r"2, 2\.\.3, 2\.\. or \.\.3|such as 2\.\.3"):
        ItemsetFilter(size=given)  # type: ignore[arg-type]
    assert (read_sizes("2..", "k"), read_sizes("..3", "k")) == ((2, float("inf")), (1, 3))


def test_filters_are_those_of_pandas(itemsets: pd.DataFrame) -> None:
    """Each argument leaves the rules that a line of pandas leaves, in the same order."""
    rules = association_rules(itemsets, 0.2)
    whole = pd.Series([left | right for left, right in sides(rules)])
    left, right = rules["antecedents"], rules["consequents"]
    wanted = {
        "size": ("3..4", whole.map(len) >= 3),
        "antecedent_size": (1, left.map(len) == 1),
        "contains": ([1, "2"], whole.map({"1", "2"}.issubset)),
        "antecedent": (["11"], left.map({"11"}.issubset)),
        "consequent": (["11"], right.map({"11"}.issubset)),
    }
    for name, (given, mask) in wanted.items():
        chosen = association_rules(itemsets, 0.2, **{name: given})  # type: ignore[arg-type]
        assert 0 < len(chosen) < len(rules)
        assert sides(chosen) == sides(rules[mask])
        assert chosen.attrs["assocpriv"]["hidden"] == len(rules) - len(chosen)
    for metric in METRICS:
        assert association_rules(itemsets, 0.2, sort=metric)[metric].is_monotonic_decreasing


def test_redundant_rules_have_a_smaller_antecedent_that_predicts_as_well(itemsets: pd.DataFrame) -> None:
    """A rule is redundant iff part of its antecedent, or none, predicts its consequent with at least its confidence."""
    rules = association_rules(itemsets, 0.2)
    naive = [
        any(c == d and b < a and y >= x for (b, d), y in zip(sides(rules), rules["confidence"], strict=True))
        for (a, c), x in zip(sides(rules), rules["confidence"], strict=True)
    ]
    assert 0 < sum(naive) < len(rules)
    for antecedents, supports, pruned in (
        ("a", [0.5], [True]),
        ("a", [0.3], [True]),
        ("a", [0.29], [False]),
        (["a", "ab"], [0.1, 0.1], [False, True]),
        ("ab", [0.29, 0.31], [False, True]),  # each by its own lift
    ):
        few = pd.DataFrame({"antecedents": map(frozenset, antecedents), "consequent support": supports})
        few = few.assign(consequents=[frozenset("c")] * len(few), confidence=0.3)
        assert find_redundant(few).tolist() == pruned
    assert find_redundant(rules).tolist() == naive
    assert sides(association_rules(itemsets, 0.2, prune=True)) == sides(rules[~np.array(naive)])


def test_a_filter_does_not_change_probabilities(itemsets: pd.DataFrame) -> None:
    """Rules keep probabilities and marks; the first line and the line on significant itemsets count all of them."""
    rules = association_rules(itemsets, 0.5)
    few = association_rules(itemsets, 0.5, consequent=["11"])
    claims = ["probability", "selected", "selected_strict"]
    known = dict(zip(sides(rules), rules[claims].to_numpy().tolist(), strict=True))
    assert 0 < few["selected"].sum() < rules["selected"].sum()
    assert [known[pair] for pair in sides(few)] == few[claims].to_numpy().tolist()
    text = lines(shown_rules(few, top=50))
    assert text[0].startswith(f"{rules['selected'].sum()} rules selected with a confidence of at least 50%")
    assert text[-1] == f"hidden by the filters: {len(rules) - len(few)} rows"
    marked = lines(mined(itemsets, 99, ItemsetFilter(contains=["11"])))
    starred = [line for line in marked if "  *  " in line]
    assert 0 < len(starred) < itemsets["significant"].sum()
    assert any(line.startswith(f"*: significant, {itemsets['significant'].sum()} of") for line in marked)


def test_each_size_has_its_share_of_few_rows(itemsets: pd.DataFrame) -> None:
    """If rows are limited, each size gets as many as the others, its largest, in turn."""
    numbers = itemsets[itemsets["selected"]]["length"].value_counts()
    assert numbers[1] > 6
    assert {2, 3} <= set(numbers.index)
    few = lines(mined(itemsets, 6))
    shown = [row.count(",") + 1 for row in few if "%–" in row]
    assert len(shown) == 6
    assert all(shown.count(k) >= min(2, numbers[k]) - (len(numbers) > 3) for k in numbers.index)
    assert any(f"{numbers[1] - shown.count(1)} more single items" in line for line in few)
    by_name = lines(mined(itemsets, 99, ItemsetFilter(size=1, sort="name")))
    names = [int(row.split()[-1]) for row in by_name if "%–" in row]
    assert len(names) == numbers[1]
    assert names == sorted(names)
    record = mined(itemsets, wanted=ItemsetFilter(contains=["11"], size="2..")).to_json()
    assert record["hidden"] == len(itemsets) - len(record["itemsets"])
    assert all("11" in row["itemset"] and len(row["itemset"]) >= 2 for row in record["itemsets"])


def test_rows_by_support_or_size(itemsets: pd.DataFrame) -> None:
    """All rows by falling support, for the order of sizes within each size."""
    frame = LightFrame.from_frame(itemsets)
    for order, keys in (("support", ["support"]), ("size", ["length", "support"])):
        shown = frame.take(rows_to_show(frame, ItemsetFilter(sort=order), 40))
        wanted = itemsets.sort_values(keys, ascending=[key == "length" for key in keys], kind="stable")
        assert shown["support"].tolist() == wanted["support"].head(40).tolist()


def test_selected_rows_come_first(itemsets: pd.DataFrame) -> None:
    """Within each size selected rows come before the others, larger supports before smaller ones."""
    frame = LightFrame.from_frame(itemsets).assign(selected=itemsets["support"].rank().to_numpy() % 2 == 0)
    shown = frame.take(rows_to_show(frame, ItemsetFilter(), len(frame)))
    assert len(shown) == len(frame)
    for k in (1, 2):
        own = np.array([shown["selected"], shown["support"]])[:, shown["length"] == k].T.tolist()
        assert {selected for selected, _ in own} == {True, False}
        assert own == sorted(own, reverse=True)


def test_unknown_names_are_reported(reports: ap.Reports, itemsets: pd.DataFrame) -> None:
    """A name that no itemset has is given as the reason for no rule; a name outside the plan is refused."""
    with pytest.warns(UserWarning, match="there is no rule: no itemset of the table has 'nosuch'"):
        assert association_rules(itemsets, antecedent=["nosuch"]).empty
    other = planned(["nosuch", "tea"], 1, ap.Guarantee("5%", "50%"))
    with pytest.raises(EstimateError, match="'nosuch' is not in the plan's catalogue"):
        ap.mine(reports, top=3, among=ItemsetFilter(["nosuch"]))
    ItemsetFilter(["11", 3, "nosuch"]).check([reports.plan, other])
