"""Charts as files: each is XML with its own colours, names are escaped, and figures are those of the tables."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from naive import planned
from shown import HOSTILE

import assocpriv as ap
from assocpriv import numeric
from assocpriv.guarantees.errors import EstimateError, FileError
from assocpriv.show.charts import Chart, intervals

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
    assert all(
        selector.strip().startswith((".chart", "@media (prefers-color-scheme:dark)"))
        for selectors in re.findall(r"([^{}]+)\{", rules)
        for selector in selectors.split(",")
    )
    return root


def texts(root: ElementTree.Element) -> list[str]:
    """Return the tooltips of a chart."""
    return [each.text or "" for each in root.iter(f"{SVG}text")]


def marked(root: ElementTree.Element, tag: str, *names: str) -> list[ElementTree.Element]:
    """Return the marks of the chart without its legend."""
    inner = root.find(f"{SVG}g")
    return [each for each in inner.iter(f"{SVG}{tag}") if not names or each.get("class", "").split()[0] in names]


def test_intervals_are_the_tables(itemsets: pd.DataFrame) -> None:
    """One line each, pale if not selected, centred at the supports; omitted rows are counted."""
    root = parsed(ap.chart(itemsets, rows=5))
    ticks = [float(each.get("d").split()[0][1:]) for each in marked(root, "path", "tick")]
    spans = [(float(each.get("x")), float(each.get("width"))) for each in marked(root, "rect", "span")]
    assert len(ticks) == len(spans) == 5
    assert all(low - 0.1 <= tick <= low + wide + 0.1 for tick, (low, wide) in zip(ticks, spans, strict=True))
    zero, *others = [float(each.get("d").split()[0][1:]) for each in marked(root, "path", "grid")]
    step = float(texts(root.find(f"{SVG}g"))[1].rstrip("%")) / 100
    supports = itemsets["support"].nlargest(2).to_numpy()
    assert sorted(ticks)[-1] - zero == pytest.approx(supports[0] / step * (others[0] - zero), abs=1)
    assert f"; {len(itemsets) - 5} more are not drawn" in " ".join(texts(root))
    of_two = itemsets[itemsets["length"] == 2]
    half = of_two.assign(selected=np.arange(len(of_two)) % 2 == 0)
    pale = ["doubt" in each.get("class") for each in marked(parsed(ap.chart(half)), "path", "tick")]
    assert pale == sorted(~half["selected"])


def test_every_kind_is_drawn(itemsets: pd.DataFrame, reports: Any) -> None:
    """Sizes; three charts of rules with a colour legend; one point per rule at its confidence; both column types."""
    assert {"items", "pairs"} <= set(texts(parsed(ap.chart(itemsets, "sizes"))))
    rules = ap.association_rules(itemsets, 0.1)
    for kind in ("scatter", "graph"):
        output = texts(parsed(ap.chart(rules, kind)))
        assert output.index("below 0.9") > [each[-5:] for each in output].index("Lift:")
    points = marked(parsed(ap.chart(rules)), "circle")
    heights = [(300 - 34 - float(each.get("cy"))) / (300 - 50) for each in points]
    assert heights == pytest.approx(rules["confidence"].to_numpy(), abs=1e-3)
    assert len(marked(parsed(ap.chart(rules, rows=3)), "circle")) == 3
    found, by = ap.reconstruct(reports), ap.reconstruct(reports, by="class")
    drawn = [each.get("class") for each in marked(parsed(ap.chart(by, column=AGE)), "path", "curve")]
    assert drawn == ["curve", "curve line1", "curve line2", "curve line3"]
    curve = marked(parsed(ap.chart(found, column=AGE)), "path", "curve")
    assert len(curve) == 1
    assert ap.chart(found, column=AGE).title == f"Shares of people below each value of {AGE}"
    assert {"A<", "B"} <= set(texts(parsed(ap.chart(found, column="class"))))
    assert "2 rarer values are not drawn" in " ".join(texts(parsed(ap.chart(found, column="class", rows=1))))


def test_names_are_text(itemsets: pd.DataFrame) -> None:
    """Markup is shown as text; direction marks and characters invalid in XML are replaced."""
    output = ap.chart(itemsets).svg
    assert "<script" not in output
    assert "&lt;script&gt;" in output
    assert not set("\u202e\u2066") & set(output)
    odd = intervals([{"name": "a\x00\x0b\ud800b", "support": 0.2, "ci_low": 0.1, "ci_high": 0.3}], 'of "a\x01"')
    odd = replace(odd, notes=["<\x02>"])
    assert {"a\ufffd\ufffd\ufffdb", 'of "a\ufffd"', "<\ufffd>"} == set(texts(parsed(odd))) - {
        f"{each}%" for each in range(0, 31, 10)
    }
    assert max(map(len, texts(parsed(ap.chart(itemsets))))) < 80


def test_a_chart_is_saved(itemsets: pd.DataFrame, tmp_path: Path) -> None:
    """The file equals the notebook's chart; another ending, and an existing file, are refused without a new file."""
    chart = ap.chart(itemsets)
    chart.save(tmp_path / "chart.svg")
    root = ElementTree.parse(tmp_path / "chart.svg").getroot()
    assert ElementTree.tostring(root) == ElementTree.tostring(parsed(chart))
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
    for empty in (itemsets.head(0), rules.head(0)):
        assert texts(parsed(ap.chart(empty)))[0] == "Nothing to draw"
    for given, message in (
        ((itemsets, "scatter"), "it can be drawn as intervals, sizes"),
        ((rules, "sizes"), "scatter, graph"),
        ((found, "scatter"), "one kind$"),
        ((found, AGE), f"a column is named by column='{re.escape(AGE)}'"),
        ((found,), "column must be one of 'age <b> & \\$', 'class', got None"),
        ((pd.DataFrame({"support": [0.5], "itemsets": [frozenset({"milk"})]}),), "lacks the facts"),
        ((pd.DataFrame({"antecedents": [frozenset({"milk"})]}),), "not a table of rules"),
    ):
        with pytest.raises(EstimateError, match=message):
            ap.chart(*given)
    with pytest.raises(EstimateError, match="rows must be a number of at least 1"):
        ap.chart(itemsets, rows=0)
    with pytest.raises(TypeError, match="must be a table"):
        ap.chart(found[AGE])
