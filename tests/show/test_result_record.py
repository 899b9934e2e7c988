"""Records of itemsets and rules: text, JSON and HTML have the same figures, those of the table."""

import pickle
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from shown import HOSTILE, check, reports_of_neighbours

import assocpriv as ap
from assocpriv.api.mining import backends
from assocpriv.estimation.supports import ErrorOptions
from assocpriv.files.mined_tables import COLUMNS
from assocpriv.server.baskets.ask import ask
from assocpriv.server.baskets.result_frames import ItemsetFrame
from assocpriv.show import text_renderer
from assocpriv.show.itemset_views import answers, is_likely, mined, rules
from assocpriv.show.result_record import Facts, Record, Say, Writer, write

pytestmark = [pytest.mark.filterwarnings("ignore:itemsets of"), pytest.mark.filterwarnings("ignore:nothing was")]
GUARANTEE = ap.Guarantee("5%", "90%")


@pytest.fixture(scope="module")
def reports() -> ap.Reports:
    """Reports of hostile names, in which neighbours are bought together."""
    return reports_of_neighbours([*HOSTILE, "milk", "bread", "tea"], GUARANTEE)


def test_templates_take_figures_from_the_content() -> None:
    """Keys of JSON content are texts even if they are digits; item names are not templates."""
    content = {"sizes": {"1": [0.25, "{a}"]}, "n": 1}
    assert Writer().fill("{sizes[1][0]:given}: {sizes[1][1]:name}, {n:#report}", content) == "25%: {a}, 1 report"
    record = Record(content, [Say("{path} {n:#}", {"path": "{x}"}), Facts([("of", ["{n:#item}", "more"])])])
    assert text_renderer.lines(record) == ["{x} 1", "of          1 item", "            more"]
    assert [write(None, "#report"), write(0.1, "given"), write("19/1", "up")] == ["—", "10%", "19"]
    with pytest.raises(KeyError):
        text_renderer.lines(Record({}, ["{reports:#report}"]))


@pytest.mark.parametrize("wanted", [{}, {"min_support": "10%"}, {"top": 4}, {"min_support": "5%", "fdr": "5%"}])
def test_mined_tables_agree_in_three_formats(reports: ap.Reports, wanted: dict[str, Any]) -> None:
    """For each request; also with unselected rows, a filter, no rows, and true supports."""
    frame = ap.mine(reports, **wanted)
    output = check(mined(frame, 5, everything=True))
    assert "; supports are those within at most 3 items sampled from each basket" in output
    check(mined(frame, 100, ap.ItemsetFilter(contains=["milk"])))
    assert "(none)" in check(mined(frame.head(0)))
    shown = mined(frame.assign(true_support=0.25), 100)
    assert check(shown).count("25.00%") >= int(frame["selected"].sum())
    likely = check(mined(frame, 10_000, everything=True))
    unselected = int(is_likely(frame).sum() - frame["selected"].sum())
    assert likely.count("  ? ") == unselected
    assert (f"; {unselected} more are probable, but not selected (`--all`)" in likely) == (unselected > 0)


def test_figures_are_the_tables(reports: ap.Reports) -> None:
    """Each selected itemset is a row with its support and interval, in text and as JSON content."""
    frame = ap.mine(reports, "5%")
    record = mined(frame, 1000)
    rows = [line.split() for line in text_renderer.lines(record) if "%–" in line]
    selected = frame[frame["selected"]]
    assert [row[0] for row in rows] == [write(value, "estimate") for value in sorted(selected["support"], reverse=True)]
    kept = record.to_json()["itemsets"]
    assert [row["support"] for row in kept] == frame["support"].tolist()
    assert record.content["expected_false"] == pytest.approx((1 - selected["probability"]).sum())


def test_rules_and_answers_agree_in_three_formats(reports: ap.Reports) -> None:
    """With marks of strictly selected and of unselected rules; likewise chosen itemsets."""
    frame = ap.mine(reports, "5%")
    derived = ap.association_rules(frame, "20%")
    output = check(rules(derived, frame, 1000, everything=True))
    assert output.count("*  ") == int(derived["selected_strict"].sum())
    selected = f"{int(derived['selected'].sum())} rules selected with a confidence of at least 20%"
    assert f"{selected}; expected below this minimum: " in output
    check(rules(derived.head(3)))
    with pytest.warns(UserWarning, match="there is no rule: rules need itemsets of two items or more"):
        none = ap.association_rules(frame[frame["length"] == 1])
    assert "rules need itemsets of two items" in check(rules(none, frame))
    found = ask(backends(reports), [["milk"], ["milk", "bread"]], [(["milk"], ["bread"])], ErrorOptions())
    assert "standard error" in check(answers(found))


def test_tables_show_themselves_in_notebooks(reports: ap.Reports) -> None:
    """The first rows and the number of others, without script, as long as the table is as it was returned."""
    frame = ap.mine(reports, "5%")
    for shown in (frame, ap.association_rules(frame, "20%")):
        html = shown._repr_html_()
        assert "<script" not in html
        assert 15 >= html.count('<th scope="row">') > 1
        assert len(html) < 20_000
        assert html == shown._repr_html_()
    assert "… and" in mined(ap.mine(reports, top=40), 5, everything=True)._repr_html_()
    assert isinstance(pickle.loads(pickle.dumps(frame)), ItemsetFrame)


CHANGES: dict[str, Callable[[pd.DataFrame], pd.DataFrame | None]] = {
    "rows": lambda frame: frame[~frame["selected"]],
    "order": lambda frame: frame.sort_values("length", kind="stable"),
    "a column": lambda frame: frame.assign(mine=1),
    "fewer columns": lambda frame: frame[["support", "length"]],
    "a name": lambda frame: frame.rename(columns={"support": "s"}),
    "an index": lambda frame: frame.set_index("length"),
    "values, in place": lambda frame: frame.__setitem__("support", frame["support"] * 100),
    "a cell, in place": lambda frame: frame.loc.__setitem__((0, "ci_low"), 0.5),
    "a set, in place": lambda frame: frame.__setitem__("itemsets", [frozenset({"x"})] * len(frame)),
    "a column less, in place": lambda frame: frame.__delitem__("probability"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changed_tables_are_shown_as_they_are(
    reports: ap.Reports, change: Callable[[pd.DataFrame], pd.DataFrame | None]
) -> None:
    """Rows, order, columns and values are the caller's, as pandas shows them; item sets without frozenset()."""
    frame = ap.mine(reports, "5%")
    result = change(frame)
    shown = frame if result is None else result
    html = shown._repr_html_()
    expected = pd.DataFrame(shown)
    if "itemsets" in expected:
        expected["itemsets"] = ["{" + ", ".join(sorted(names)) + "}" for names in expected["itemsets"]]
    known = [name for name in expected.columns if name in COLUMNS and expected[name].dtype == float]
    assert html == expected.round(dict.fromkeys(known, 5))._repr_html_()
    with pd.option_context("display.max_columns", None):
        assert repr(shown) == repr(expected.round(dict.fromkeys(known, 5)))


def test_tables_in_a_shell_show_the_main_columns(reports: ap.Reports) -> None:
    """Itemset or rule, estimate and interval fit 80 characters, whatever the names; omitted columns are counted."""
    frame = ap.mine(reports, "5%")
    derived = ap.association_rules(frame, "20%")
    long = [frozenset({"organic skimmed milk of the region", "bread"})]
    with pd.option_context("display.width", 80, "display.max_columns", 20):
        for shown, head in (
            (frame[frame["length"] == 1], "itemsets support ci_low ci_high selected"),
            (frame.assign(itemsets=long * len(frame)), "itemsets support ci_low ci_high selected"),
            (
                derived.assign(antecedents=long * len(derived), consequents=long * len(derived)),
                "antecedents consequents confidence confidence_ci selected",
            ),
        ):
            first, *lines, last = repr(shown).splitlines()
            assert first.split() == head.split()
            assert max(map(len, [first, *lines])) <= 80
            more = len(shown.columns) - len(head.split()) - ("confidence_ci" in head)
            assert last == f"({more} more in .columns; ε ≤ {reports.epsilon} for each person)"
        own = repr(frame.assign(mine=1, itemsets=frame["itemsets"].map(" & ".join)))
        assert " mine\n" in own
        assert "frozenset" not in own
