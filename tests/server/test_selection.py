"""Filters and orders of itemsets and rules: what is shown changes, what is claimed does not."""

import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from planned import planned
from quiet import mine

import assocpriv as ap
from assocpriv import answer, association_rules
from assocpriv.client.bulk import randomize_chunks
from assocpriv.promise.errors import EstimateError
from assocpriv.server.itemsets import describe_undecided, mining_facts
from assocpriv.server.selection import METRICS, ItemsetFilter, RuleFilter, read_sizes, redundant
from assocpriv.show.itemsets import answer_lines, itemset_lines, mined_record, rule_lines
from assocpriv.show.terminal import fitted
from assocpriv.simulation.enumeration import SeededEntropy

NAMES = [str(number) for number in range(30)]


@pytest.fixture(scope="module")
def reports() -> ap.Reports:
    """Reports of 30,000 people: items 1, 2, 3 and 11 go together, every item is held by some."""
    plan = planned(NAMES, 4, ap.Breach("1%", "90%"), reports=30_000, itemset_size=4)
    rng = np.random.default_rng(11)
    held = rng.random((30_000, 30)) < 0.06
    held[rng.random(30_000) < 0.3] |= np.isin(np.arange(30), [1, 2, 3, 11])
    baskets = ap.Baskets.from_sets([np.flatnonzero(row)[:4].tolist() for row in held], plan.catalogue)
    chunks = randomize_chunks(baskets, plan, entropy=SeededEntropy(3))
    return ap.Reports(plan, np.concatenate([chunk.packed for chunk in chunks]))


@pytest.fixture(scope="module")
def itemsets(reports: ap.Reports) -> pd.DataFrame:
    """Return what was mined, with what is certain."""
    return mine(reports, "3%", certain="95%")


def sides(rules: pd.DataFrame) -> list[tuple[frozenset[str], frozenset[str]]]:
    """Return antecedents and consequents."""
    return list(zip(rules["antecedents"], rules["consequents"], strict=True))


@pytest.mark.parametrize("given", ["", "..", "0", "3..2", "two", "1.5", -1, True, "2...3", "٣"])
def test_a_size_that_is_none_is_refused(given: object) -> None:
    """Numbers from 1 and ranges of them are sizes, nothing else, and the text says what is."""
    with pytest.raises(EstimateError, match=r"as 2.*\.\.3"):
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
        least = float(rules[metric].median())
        chosen = association_rules(itemsets, 0.2, metric=metric, min_threshold=least, sort=metric)
        assert sorted(map(str, sides(chosen))) == sorted(map(str, sides(rules[rules[metric] >= least])))
        assert chosen[metric].is_monotonic_decreasing


def test_redundant_rules_are_those_that_a_smaller_antecedent_predicts(itemsets: pd.DataFrame) -> None:
    """A rule goes iff part of its antecedent, or nothing, tells its consequent with at least its confidence."""
    rules = association_rules(itemsets, 0.2)
    naive = [
        any(c == d and b < a and y >= x for (b, d), y in zip(sides(rules), rules["confidence"], strict=True))
        for (a, c), x in zip(sides(rules), rules["confidence"], strict=True)
    ]
    assert 0 < sum(naive) < len(rules)
    for support, pruned in ((0.5, True), (0.3, True), (0.29, False)):
        alone = pd.DataFrame({"antecedents": [frozenset("a")], "consequents": [frozenset("c")], "confidence": [0.3]})
        assert redundant(alone.assign(**{"consequent support": support})).tolist() == [pruned]
    assert redundant(rules).tolist() == naive
    assert sides(association_rules(itemsets, 0.2, prune=True)) == sides(rules[~np.array(naive)])


def test_a_filter_does_not_change_what_is_certain(itemsets: pd.DataFrame) -> None:
    """Rules keep their p-values and marks, all hypotheses count, and the claim is one of all that are certain."""
    rules = association_rules(itemsets, 0.5, certain="95%")
    few = association_rules(itemsets, 0.5, certain="95%", consequent=["11"], metric="lift", min_threshold=1.1)
    assert 0 < few["certain"].sum() < rules["certain"].sum()
    claims = [each.attrs["assocpriv"]["certain"] for each in (rules, few)]
    assert claims[0] == claims[1]
    assert claims[0]["found"] == rules["certain"].sum()
    known = dict(zip(sides(rules), rules[["p_value", "certain"]].to_numpy(), strict=True))
    for pair, row in zip(sides(few), few[["p_value", "certain"]].to_numpy(), strict=True):
        assert known[pair].tolist() == row.tolist()
    text = rule_lines(few, 50)
    assert f"hidden by the filters: {len(rules) - len(few)} rows" in text
    assert f"of all {claims[0]['found']}, of which {few['certain'].sum()} are shown" in text[-1]
    marked = itemset_lines(itemsets, 99, ItemsetFilter(contains=["11"]))
    assert f"certain, {itemsets['certain'].sum()} of" in marked[-1]
    assert "are shown" in marked[-1]


def test_every_size_has_its_share_of_few_rows(reports: ap.Reports) -> None:
    """Where there is room for few rows, each size has as many as the others, the largest of its own, by turns."""
    table = mine(reports, "2%")
    numbers = table[table["frequent"]]["length"].value_counts()
    assert numbers[1] > 6
    assert {2, 3} <= set(numbers.index)
    shown = [row.count(",") + 1 for row in itemset_lines(table, 6) if row.strip()[0].isdigit()]
    assert len(shown) == 6
    assert all(shown.count(k) >= min(2, numbers[k]) - (len(numbers) > 3) for k in numbers.index)
    assert "more single items" in itemset_lines(table, 6)[-1]
    names = [row.rsplit("  ", 1)[1] for row in itemset_lines(table, 99, ItemsetFilter(size=1, sort="name"))[1:-1]]
    assert names == sorted(names, key=int)
    record = mined_record(table, ItemsetFilter(contains=["11"], size="2.."))
    assert record["hidden"] == len(table) - len(record["itemsets"])
    assert all("11" in row["itemset"] and len(row["itemset"]) >= 2 for row in record["itemsets"])


def test_advised_supports_are_rounded_so_that_they_show_what_is_said(itemsets: pd.DataFrame) -> None:
    """The largest estimate is rounded down and what can be believed up; where nothing can be, that is what is said."""
    facts = mining_facts(itemsets)

    def said(largest: float, needed: float) -> str:
        least = max(0.5, 2 * largest)
        level = replace(facts.levels[0], std_error=0.0, min_support=least, level_discoverable_support=needed)
        return describe_undecided(replace(facts, levels=(level,), largest_estimate=largest))[0]

    assert "is 19.2%: try at most that; estimates can be believed from 10.5% on" in said(0.19279, 0.10401)
    assert "is 0.0123%: try at most that; estimates can be believed from 0.00457% on" in said(0.00012399, 0.0000456001)
    assert "is 9.99%, and estimates can be believed from 10.1% on: to find more, collect" in said(0.09999, 0.10001)
    for needed in (1.2749, np.inf):
        assert "is -0.124%, and these reports show no support below 100%: collect more" in said(-0.001234, needed)


@pytest.mark.parametrize("given", ["٣", "1_0", True, "nan", "inf", "two", "", pytest.param(10**5000, id="long")])
def test_a_threshold_is_a_plain_number(given: object) -> None:
    """What Python would read as a number but people do not write as one is refused; percentages have no limit."""
    with pytest.raises(EstimateError, match="the least value of the metric must be a number such as"):
        RuleFilter("lift", given)  # type: ignore[arg-type]
    rules = pd.DataFrame({
        "antecedents": [frozenset("a"), frozenset("b")], "consequents": [frozenset("c")] * 2, "lift": [1.1, 1.3]
    })  # fmt: skip
    for same in ("120%", 1.2, "1.2", "6/5", np.float64(1.2)):
        assert len(RuleFilter("lift", same).select(rules)) == 1
    assert len(RuleFilter("lift", -1).select(rules)) == 2


@pytest.mark.filterwarnings("ignore:itemsets of")
def test_finding_nothing_says_which_support_to_try(reports: ap.Reports) -> None:
    """The largest estimate and the support that can be believed are said, and that support finds something."""
    with pytest.warns(UserWarning, match="nothing was found; the largest estimate of a single item is 3") as warned:
        assert not len(ap.mine(reports, "0.001%"))
    said = str(next(each.message for each in warned if "nothing was found" in str(each.message)))
    support = said.rsplit("try ", 1)[1].split(",", maxsplit=1)[0]
    assert len(ap.mine(reports, support))
    with pytest.warns(UserWarning, match="try at most that") as warned:
        assert not len(ap.mine(reports, "90%"))
    said = str(next(each.message for each in warned if "nothing was found" in str(each.message)))
    assert len(ap.mine(reports, re.findall(r"[0-9.]+%", said)[0]))
    few = ap.Reports(reports.plan, reports.packed[:20])
    with pytest.warns(UserWarning, match="collect more reports"):
        assert not len(ap.mine(few, "1%", max_itemset=1))


def test_what_is_not_told_from_nobody_has_no_confidence_in_the_text(reports: ap.Reports) -> None:
    """Confidence and lift are dashes where antecedent or rule may be nobody's; estimates stay in the table."""
    few = ap.Reports(reports.plan, reports.packed[:300])
    rules = [([str(a)], [str(b)]) for a, b in combinations(range(4, 12), 2)] + [(["1"], ["2"])]
    answers = answer(few, [], rules)
    lines = answer_lines(answers)
    rows = [line for line in lines if "→" in line]
    assert any("—        —" in line for line in rows)
    assert not any("%" in line.split("—")[0] and "-" in line.split("  ")[0] for line in rows)
    assert sum("not told from nobody" in line for line in lines) in (1, 2)
    assert "—        —" not in answer_lines(answer(reports, [], rules[-1:]))[2]


def test_long_names_are_whole_in_a_pipe_and_fit_a_terminal() -> None:
    """A terminal's lines break at blanks, names below names; a file's do not break."""
    line = "   1.234%    0.100%    1.000%–  1.500%  " + ", ".join(f"a long name of item {i}" for i in range(5))
    parts = fitted(line, 80)
    assert len(parts) > 2
    assert all(len(part) <= 80 for part in parts)
    assert all(part.startswith(" " * 40 + "a") or part.startswith(" " * 40) for part in parts[1:])
    assert " ".join(part.strip() for part in parts) == line.strip()
    assert fitted("x" * 200, 80) == ["x" * 200]


@pytest.mark.parametrize("wrong", [[1, 2], None, "itemsets.parquet", {"a": 1}])
def test_rules_of_no_table_are_a_type_error_that_says_what_to_pass(wrong: object) -> None:
    """What is no table is refused by its type, with where tables come from."""
    with pytest.raises(TypeError, match="must be a table as mine returned it"):
        association_rules(wrong)  # type: ignore[arg-type]
    plan = planned(5, 2, ap.Breach("5%", "50%"))
    if not isinstance(wrong, str):
        with pytest.raises(TypeError, match="must be a table as mine returned it"):
            ap.refine(wrong, plan)  # type: ignore[arg-type]


def test_no_rule_has_its_reason(reports: ap.Reports, itemsets: pd.DataFrame) -> None:
    """Where no rule is left, the table says why: no pairs, a name that none holds, or a threshold above all."""
    singles = itemsets[itemsets["length"] == 1]
    table = itemsets[itemsets["itemsets"].isin([frozenset(["1"]), frozenset(["11"]), frozenset(["1", "11"])])]
    largest = association_rules(table)["confidence"].max()
    for rows, arguments, why in (
        (singles, {}, "the table has no itemset of two items or more"),
        (itemsets, {"contains": ["nosuch"]}, "no itemset of the table has 'nosuch'"),
        (table, {"min_confidence": (1 + largest) / 2}, f"the largest confidence is {largest:.1%}"),
    ):
        assert association_rules(rows, **arguments).attrs["assocpriv"]["none"].startswith(why)
    assert "none" not in association_rules(table, largest).attrs.get("assocpriv", {})
    with pytest.raises(EstimateError, match="'nosuch' is not in the plan's catalogue"):
        ItemsetFilter(["nosuch"]).check(reports.plan)
    ItemsetFilter(["11", 3]).check(reports.plan)
