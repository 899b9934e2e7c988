"""Charts as files: each is XML with its own colours, names are escaped, and figures are those of the tables."""

import math
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from mlxtend.frequent_patterns import apriori, association_rules
from naive import planned
from shown import HOSTILE

import assocpriv as ap
from assocpriv import numeric
from assocpriv.files.mined_tables import LightFrame
from assocpriv.guarantees.errors import EstimateError, FileError
from assocpriv.server.baskets.result_frames import is_as_returned, to_result_frame
from assocpriv.server.baskets.rules import SIDES
from assocpriv.show.charts import Chart, intervals, join_items

pytestmark = pytest.mark.filterwarnings("ignore:itemsets of")
SVG = "{http://www.w3.org/2000/svg}"
NAMES = [*HOSTILE, "milk", "bread", "tea"]
AGE = "age <b> & $"


@pytest.fixture(scope="module")
def itemsets() -> pd.DataFrame:
    """Return a mined table of hostile names, in which neighbours are bought together."""
    plan = planned(NAMES, 2, ap.Guarantee("5%", "90%"))
    baskets = [{NAMES[at], NAMES[(at + 1) % len(NAMES)]} for at in (np.arange(20_000) ** 2 // 7 % len(NAMES)).tolist()]
    return ap.mine(ap.randomize(baskets, plan), 0.05)


@pytest.fixture(scope="module")
def reports() -> Any:
    """Return reports of a number and a protected class."""
    n = 9_000
    columns = {
        AGE: {"kind": "number", "low": 0, "high": 100, "release": "square-wave"},
        "class": {"kind": "category", "values": ["A<", "B", "C"], "release": "response"},
    }
    table = pd.DataFrame({AGE: np.arange(n) % 101, "class": np.resize(["A<", "A<", "B", "C"], n)})
    return ap.randomize(table, numeric.plan_table({"columns": columns}, ap.Guarantee("5%", "90%")))


def parsed(chart: Chart) -> ElementTree.Element:
    """Return a parsed chart; check that it runs and loads nothing, and that its elements have this class."""
    root = ElementTree.fromstring(chart._repr_html_())
    tags = {each.tag.removeprefix(SVG) for each in root.iter()}
    assert tags <= {"svg", "style", "rect", "path", "text", "title", "circle", "g", "marker"}
    assert not {name for each in root.iter() for name in each.attrib if name.startswith("on") or "href" in name}
    rules = root.findtext(f"{SVG}style")
    assert "var(" not in rules
    for selectors in re.findall(r"([^{}]+)\{", rules):
        assert all(each.strip().startswith((".chart", "@media (prefers-color-s")) for each in selectors.split(","))
    return root


def note(chart: Chart) -> str:
    """Return the sentences below a chart."""
    return " ".join(chart.notes)


def rules_of(*sides: tuple[list[str], list[str]], **columns: Any) -> pd.DataFrame:
    """Return a table of rules with these sides and columns."""
    given = {"support": 0.1, "confidence": 0.6, "confidence_ci_low": 0.5, "confidence_ci_high": 0.7, "selected": True}
    lift = {"lift": 3.0, "lift_ci_low": 2.0, "lift_ci_high": 4.0}
    names = [[frozenset(each) for each in rule] for rule in sides]
    return pd.DataFrame(names, columns=[*SIDES]).assign(**given | lift | columns)


def ends_of(path: ElementTree.Element) -> list[tuple[float, float]]:
    """Return the points of a path."""
    numbers = list(map(float, re.findall(r"[\d.]+", path.get("d"))))
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def texts(root: ElementTree.Element) -> list[str]:
    """Return the tooltips of a chart."""
    return [each.text or "" for each in root.iter(f"{SVG}text")]


def height_of(y: str) -> float:
    """Return the share at a height of a chart of rules."""
    return (300 - 34 - float(y)) / (300 - 50)


def spots_of(root: ElementTree.Element) -> list[tuple[float, float]]:
    """Return the centres of circles."""
    return [(float(each.get("cx")), float(each.get("cy"))) for each in marked(root, "circle")]


def marked(root: ElementTree.Element, tag: str, *names: str) -> list[ElementTree.Element]:
    """Return the marks of the chart without its legend."""
    inner = root.find(f"{SVG}g")
    return [each for each in inner.iter(f"{SVG}{tag}") if not names or each.get("class", "").split()[0] in names]


def test_intervals_are_the_tables(itemsets: pd.DataFrame) -> None:
    """One line each, pale if not selected, centred at the supports; omitted rows are counted."""
    root = parsed(ap.chart(itemsets, rows=5))
    ticks, grid = (
        [float(each.get("d").split()[0][1:]) for each in marked(root, "path", kind)] for kind in ("tick", "grid")
    )
    spans = [(float(each.get("x")), float(each.get("width"))) for each in marked(root, "rect", "span")]
    assert len(ticks) == len(spans) == 5
    assert all(low - 0.1 <= tick <= low + wide + 0.1 for tick, (low, wide) in zip(ticks, spans, strict=True))
    step = float(texts(root.find(f"{SVG}g"))[1].rstrip("%")) / 100
    assert max(ticks) - grid[0] == pytest.approx(itemsets["support"].max() / step * (grid[1] - grid[0]), abs=1)
    assert note(ap.chart(itemsets, rows=5)).endswith(f"Not drawn: {len(itemsets) - 5} further itemsets.")
    half = itemsets.assign(selected=np.arange(len(itemsets)) % 2 == 0)
    pale = ["doubt" in each.get("class") for each in marked(parsed(ap.chart(half)), "path", "tick")]
    assert pale == (~half["selected"]).tolist()
    assert "Pale: not selected." in note(ap.chart(half))


def test_every_kind_is_drawn(itemsets: pd.DataFrame, reports: Any) -> None:
    """Sizes; three charts of rules with a colour legend; one point per rule at its confidence; both column types."""
    assert {"items", "pairs"} <= set(texts(parsed(ap.chart(itemsets, "sizes"))))
    rules = ap.association_rules(itemsets, 0.1)
    for kind in ("scatter", "graph"):
        output = texts(parsed(ap.chart(rules, kind)))
        assert output.index("below 0.9") > [each[-5:] for each in output].index("Lift:")
    heights = [height_of(each.get("cy")) for each in marked(parsed(ap.chart(rules)), "circle")]
    assert heights == pytest.approx(rules["confidence"].to_numpy(), abs=1e-3)
    assert len(marked(parsed(ap.chart(rules, rows=3)), "circle")) == 3
    found, by = ap.reconstruct(reports), ap.reconstruct(reports, by="class")
    drawn = [each.get("class") for each in marked(parsed(ap.chart(by, column=AGE)), "path", "curve")]
    assert drawn == ["curve", "curve line1", "curve line2", "curve line3"]
    assert len(marked(parsed(ap.chart(found, column=AGE)), "path", "curve")) == 1
    assert ap.chart(found, column=AGE).title == f"Shares of people below each value of {AGE}"
    assert {"A<", "B"} <= set(texts(parsed(ap.chart(found, column="class"))))
    assert "2 rarer values are not drawn" in note(ap.chart(found, column="class", rows=1))


@pytest.mark.parametrize("sets", [frozenset, tuple, sorted, "list of Arrow"])
def test_tables_of_other_miners_are_drawn(sets: Any) -> None:
    """Itemsets and rules of mlxtend, and of rusket, which has lists of Arrow and tuples: points without intervals."""
    bought = pd.DataFrame({"tea": [1, 1, 0, 1], "milk": [1, 1, 1, 0], "rye": [0, 1, 1, 0]}).astype(bool)
    itemsets = apriori(bought, 0.25, use_colnames=True)
    rules = association_rules(itemsets, min_threshold=0.5)
    for table, names in ((itemsets, ["itemsets"]), (rules, SIDES)):
        for name in names:
            lists = table[name].map(sorted if isinstance(sets, str) else sets)
            table[name] = lists.astype(pd.ArrowDtype(pa.list_(pa.string()))) if isinstance(sets, str) else lists
    drawn = parsed(ap.chart(itemsets))
    assert len(marked(drawn, "path", "tick")) == len(itemsets) == 7
    assert {each.get("width") for each in marked(drawn, "rect", "span")} == {"1.0"}
    assert ap.chart(itemsets).title == "Supports"
    assert {"items", "pairs", "triples"} <= set(texts(parsed(ap.chart(itemsets, "sizes"))))
    assert len(marked(parsed(ap.chart(rules)), "circle")) == len(rules)
    assert "interval" not in note(ap.chart(rules))
    assert {"tea", "milk", "rye"} <= set(texts(parsed(ap.chart(rules, "graph"))))


def test_a_rule_of_several_items_has_a_dot() -> None:
    """Lines lead from its antecedents to its dot and arrows on to its consequents; other rules are single arrows."""
    chart = ap.chart(rules_of((["a", "b"], ["c", "d"]), (["a"], ["c"])), "graph")
    root = parsed(chart)
    dot, *items = spots_of(root)
    place = dict(zip(texts(root.find(f"{SVG}g")), items, strict=True))
    into, *arrows = marked(root, "path", "edge")
    ends = [ends_of(each) for each in arrows]
    assert ends_of(into) == [place["a"], dot, place["b"], dot]
    assert ends[:2] == [[dot, place["c"]], [dot, place["d"]]]
    assert (ends[2][0], ends[2][-1]) == (place["a"], place["c"])
    assert [each.get("marker-end") for each in (into, *arrows)] == [None] + 3 * ["url(#tip)"]
    assert "Not drawn" not in note(chart)
    both_ways = rules_of((["a", "b"], ["c", "d"]), (["c", "d"], ["a", "b"]))
    spots = spots_of(parsed(ap.chart(both_ways, "graph")))
    assert len(spots) == 2 + 4
    assert min(math.dist(*pair) for pair in combinations(spots, 2)) > 13


def test_what_is_not_selected_looks_so() -> None:
    """Its points and dots are hollow, its arrows dashed, and the note says so, but only where there are some."""
    rules = rules_of((["a", "b"], ["c"]), (["b"], ["c"]), (["c"], ["b"]), selected=[False, True, False])
    scatter, graph = (parsed(ap.chart(rules, kind)) for kind in ("scatter", "graph"))
    flags = [True, False, True]
    assert ["hollow" in each.get("class") for each in marked(scatter, "circle")] == flags
    assert ["hollow" in each.get("class") for each in marked(graph, "circle")][:1] == [True]
    assert ["dashed" in each.get("class") for each in marked(graph, "path", "edge")] == [True, *flags]
    rules_of_css = scatter.findtext(f"{SVG}style")
    assert rules_of_css.index(".hollow{fill:#fff") > rules_of_css.index(".most{fill:")
    assert "stroke-dasharray" in re.search(r"\.dashed{([^}]*)}", rules_of_css)[1]
    for kind, words in (("scatter", "Hollow: not selected."), ("graph", "Dashed: not selected.")):
        assert words in note(ap.chart(rules, kind))
        assert words not in note(ap.chart(rules[rules["selected"]], kind))
        assert words not in note(ap.chart(rules.drop(columns="selected"), kind))


def test_points_have_their_intervals() -> None:
    """A vertical line reaches over the confidence's interval; of more than 40 rules the first have one."""
    rules = rules_of(*[(["a"], [f"b{k}"]) for k in range(45)])
    rules["confidence_ci_low"] -= np.arange(45) / 1000
    few, many = ap.chart(rules.head(40)), ap.chart(rules)
    assert "intervals of the confidence." in note(few)
    assert "intervals of the confidence, for the first 40 rules." in note(many)
    for chart in (few, many):
        (drawn,) = marked(parsed(chart), "path", "range")
        lines = [re.findall(r"[\d.]+", each) for each in drawn.get("d").split("M")[1:]]
        ends = [[height_of(y) for y in each[1:]] for each in lines]
        assert ends == [pytest.approx([low, 0.7], abs=1e-3) for low in rules["confidence_ci_low"].head(40)]


def test_the_note_counts_what_is_not_drawn(itemsets: pd.DataFrame) -> None:
    """Unlikely itemsets, further rows, rules of support 0, and rules without a place in the graph."""
    light = LightFrame.from_frame(itemsets)
    rare = np.arange(len(light)) < 2
    table = light.assign(selected=~rare, support=np.where(rare, 0.01, light["support"]))
    mined = to_result_frame(table)
    left = "2 itemsets estimated below the minimum support."
    assert note(ap.chart(mined)) == f"20,000 reports; minimum support 5%. Not drawn: {left}"
    assert note(ap.chart(mined, "sizes")).endswith(f"Dashed: the minimum support. Not drawn: {left}")
    assert note(ap.chart(mined, rows=1)).endswith(f"Not drawn: {len(light) - 3} further itemsets, {left}")
    assert note(ap.chart(to_result_frame(table.take([0, 1])))).endswith(f"Not drawn: {left}")
    many = pd.concat([mined] * 3)
    assert note(ap.chart(many)).endswith(f"Not drawn: {len(many) - 30} further itemsets.")
    assert "Not drawn" not in note(ap.chart(many, "sizes"))
    assert note(ap.chart(many, "sizes", rows=4)).endswith(f"Not drawn: {len(many) - 4} further itemsets.")
    rules = rules_of(*[(["a"], [f"b{k}"]) for k in range(25)], support=[0.0, 0.0, *23 * [0.1]])
    assert "Not drawn: 2 rules with a support of 0. Lift:" in note(ap.chart(rules))
    assert "Not drawn: 2 rules with a support of 0, 5 further rules. Lift:" in note(ap.chart(rules, rows=20))
    assert note(ap.chart(rules.head(1))) == "Not drawn: 1 rule with a support of 0."
    assert "Not drawn: 6 rules without a place in the graph. Lift:" in note(ap.chart(rules, "graph"))
    assert "Not drawn: 20 rules with a support of 0, 25 further rules." in note(ap.chart(pd.concat([rules] * 11)))


def test_rows_and_their_order_are_the_callers(itemsets: pd.DataFrame) -> None:
    """Exactly these rows are drawn, likely or not; of a table as returned likely ones, selected first."""
    unlikely = itemsets.assign(selected=False, support=0.001)
    by_length = itemsets.sort_values("length", ascending=False, kind="stable").head(7)
    polar = pl.DataFrame(by_length.assign(itemsets=by_length["itemsets"].map(sorted)).to_dict("list"))
    plain = pd.DataFrame(by_length)
    plain.attrs.clear()
    rows = np.arange(len(itemsets))[::-1][:7]
    for table, wanted in (
        (unlikely, unlikely), (by_length, by_length), (polar, by_length), (plain, by_length),
        (plain[["ci_low", "ci_high", "support", "itemsets"]], by_length),
        (LightFrame.from_frame(itemsets).take(rows), itemsets.iloc[rows]),
    ):  # fmt: skip
        names = [join_items(sorted(each)) for each in wanted["itemsets"]]
        drawn = texts(parsed(ap.chart(table)).find(f"{SVG}g"))
        assert drawn[-len(names) :] == [re.sub("[\u202e\u2066]", "\ufffd", each) for each in names]
        ticks = [each.get("d").count("M") for each in marked(parsed(ap.chart(table, "sizes")), "path", "tick")]
        assert 0 < sum(ticks) <= len(names)
    assert ap.chart(plain).title == "Supports with intervals"
    assert note(ap.chart(plain)) == ""
    assert "minimum support" not in note(ap.chart(plain, "sizes"))
    assert not is_as_returned(itemsets.copy())
    assert not is_as_returned(pd.DataFrame(itemsets))
    assert is_as_returned(itemsets)


def test_names_can_be_read(itemsets: pd.DataFrame) -> None:
    """Labels of a graph are apart and inside the picture; long itemsets are cut item by item."""
    long = [f"number {k}, in a package of twelve, from our farm" for k in range(20)]
    chart = ap.chart(rules_of(*[([long[k]], [long[k + 1]]) for k in range(0, 20, 2)]), "graph")
    labels = list(parsed(chart).find(f"{SVG}g").iter(f"{SVG}text"))
    assert len({each.text for each in labels}) == 20
    assert {len(each.text) for each in labels} == {24}
    for anchor, way in (("start", 1), ("end", -1)):
        side = [each for each in labels if each.get("text-anchor") == anchor]
        heights = sorted(float(each.get("y")) for each in side)
        assert len(side) == 10
        assert min(np.diff(heights)) > 14
        assert all(0 <= float(each.get("x")) + way * 7 * 24 <= chart.width for each in side)
    assert join_items(["whole milk", "tea"]) == "whole milk, tea"
    assert join_items([f"{'a' * 40} 1", f"{'b' * 40} 2"]) == f"{'a' * 16}…{'a' * 3} 1, {'b' * 16}…{'b' * 3} 2"


def test_files_have_css_that_word_processors_know(itemsets: pd.DataFrame) -> None:
    """LibreOffice applies rules within @media always, and knows classes of the parent and of one's own only."""
    svg = ap.chart(itemsets).svg
    style = re.search("<style>(.*?)</style>", svg)[1]
    assert re.fullmatch(r"(\.chart( \.?\w+)?(,\.chart \.\w+)?\{[^{}]+\})+", style)
    assert "font-family:system-ui,Helvetica,Arial,sans-serif" in style
    parents = {each.get("class") for each in ElementTree.fromstring(svg).iter() if len(each) and each.tag != "circle"}
    assert parents <= {"chart"}
    assert "@media (prefers-color-scheme:dark){.chart{" in ap.chart(itemsets)._repr_html_()


def test_names_are_text(itemsets: pd.DataFrame) -> None:
    """Markup is shown as text; direction marks and characters invalid in XML are replaced."""
    output = ap.chart(itemsets).svg
    assert "<script" not in output
    assert "&lt;script&gt;" in output
    assert not set("\u202e\u2066") & set(output)
    odd = intervals([{"name": "a\x00\x0b\ud800b", "support": 0.2, "ci_low": 0.1, "ci_high": 0.3}], 'of "a\x01"')
    shown = set(texts(parsed(replace(odd, notes=["<\x02>"]))))
    assert shown == {"a\ufffd\ufffd\ufffdb", 'of "a\ufffd"', "<\ufffd>", "0%", "10%", "20%", "30%"}
    assert max(map(len, texts(parsed(ap.chart(itemsets))))) < 80


def test_a_chart_is_saved(itemsets: pd.DataFrame, tmp_path: Path) -> None:
    """The file equals the notebook's chart; another ending, and an existing file, are refused without a new file."""
    chart = ap.chart(itemsets)
    chart.save(tmp_path / "chart.svg")
    root = ElementTree.parse(tmp_path / "chart.svg").getroot()
    assert ElementTree.tostring(root) == ElementTree.tostring(ElementTree.fromstring(chart.svg))
    with pytest.raises(FileError, match="exists already"):
        chart.save(tmp_path / "chart.svg")
    chart.save(tmp_path / "chart.svg", force=True)
    with pytest.raises(FileError, match=r"must end in \.svg"):
        chart.save(tmp_path / "chart.png")
    assert [each.name for each in tmp_path.iterdir()] == ["chart.svg"]
    assert repr(chart) == "Chart(title='Supports with intervals of 95%')"


def test_invalid_charts_are_refused(itemsets: pd.DataFrame, reports: Any) -> None:
    """Invalid kinds, columns, numbers of rows and tables give one line with valid ones; an empty chart says so."""
    found, rules = ap.reconstruct(reports), ap.association_rules(itemsets, 0.1)
    assert texts(parsed(ap.chart(rules.head(0)))) == ["Nothing to draw"]
    assert texts(parsed(ap.chart(itemsets.head(0))))[0] == "Nothing to draw"
    for given, message in (
        ((itemsets, "scatter"), "it can be drawn as intervals, sizes"),
        ((rules, "sizes"), "scatter, graph"),
        ((found, "scatter"), "one kind$"),
        ((found, AGE), f"a column is named by column='{re.escape(AGE)}'"),
        ((found,), "column must be one of 'age <b> & \\$', 'class', got None"),
        ((pd.DataFrame({"support": [0.5]}),), "has no column 'itemsets'"),
        ((pd.DataFrame({"support": [0.5], "itemsets": [frozenset({3})]}),), "must hold sets or lists of names"),
        ((pd.DataFrame({"antecedents": [frozenset({"milk"})]}),), "not a table of rules"),
        ((rules.drop(columns="lift"),), "has no column 'lift'"),
    ):
        with pytest.raises(EstimateError, match=message):
            ap.chart(*given)
    with pytest.raises(EstimateError, match="rows must be a number of at least 1"):
        ap.chart(itemsets, rows=0)
    with pytest.raises(TypeError, match="must be a table"):
        ap.chart(found[AGE])
