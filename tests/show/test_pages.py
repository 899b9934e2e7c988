"""Tests of pages in one file: of mined tables, of columns, trees and what is withheld.

Pages of mined tables: what they say, that no name breaks them, how large they are, and Chromium's own look.

Pages of distributions, trees and suppressions: their figures are those of the files, and no name breaks them.
"""

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import javascript
import numpy as np
import other_pages
import pandas as pd
import pytest
from command_line import refused, run
from debian_packages import program
from operator_page import HOSTILE
from other_pages import Balanced
from planned import planned

import assocpriv as ap
from assocpriv import numeric
from assocpriv.files.itemsets import LightFrame
from assocpriv.files.tree_models import read_tree
from assocpriv.plans.tree_model import tree_lines
from assocpriv.promise.errors import EstimateError, FileError, PlanError
from assocpriv.show.charts import Edge, Point, Strip, graph, matrix, scatter, strips
from assocpriv.show.figures import number
from assocpriv.show.itemsets import derived_lines
from assocpriv.show.pages import page, write_page
from assocpriv.show.sheets import Line, tree_page
from bench.speed.pages import large_table

pytestmark = [pytest.mark.filterwarnings("ignore:itemsets of"), pytest.mark.filterwarnings("ignore:nothing was")]
PROMISE = ap.Breach("5%", "90%")


def mined(names: list[str], min_support: float = 0.1) -> tuple[pd.DataFrame, Any]:
    """Mine reports of baskets in which neighbours of a catalogue come together."""
    plan = planned(items=names, transaction_size=3, promise=PROMISE)
    rng = np.random.default_rng(5)
    first = rng.integers(len(names), size=20_000) ** 2 // len(names)
    baskets = [{names[at], names[(at + 1) % len(names)]} if at % 2 else {names[at]} for at in first.tolist()]
    return ap.mine(ap.randomize(baskets, plan), min_support), plan


@pytest.fixture(scope="module")
def hostile() -> tuple[pd.DataFrame, Any]:
    """A table whose names are markup, scripts, marks that turn text, and endless."""
    return mined([*HOSTILE, "milk", "bread", "tea"], 0.05)


class Tags(HTMLParser):
    """Which tags a page has, and what its cells say."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.data: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.data.append(data)


def test_it_answers_first(hostile: tuple[pd.DataFrame, Any]) -> None:
    """What was found stands before anything else, with how many may be false; how sure it is and the promise follow."""
    frame, plan = hostile
    text = page(frame, plan, min_confidence="20%")
    listed = int(frame["listed"].sum())
    assert f"20,000 reports show {listed} itemsets of a support of 5% or more; about " in text
    itemsets, rules = text.split('<table id="rules-table"')
    assert itemsets.count("<td>yes\n") == listed > 3
    derived = ap.association_rules(frame, "20%")
    assert f"{derived['listed'].sum()} rules of a confidence of 20% or more, about " in text
    assert rules.count("<td>yes\n") == derived["sure"].sum() > 3
    for said in ("5% likely", "90% likely", "γ is at most", plan.plan_id):
        assert said in text
    headings = re.findall(r"<h2[^>]*>(?:<span[^>]*></span>)?([^<]+)", text)
    assert [each.split()[0] for each in headings] == ["What", "How", "Which", "Is", "May"]


def test_figures_are_the_tables(hostile: tuple[pd.DataFrame, Any]) -> None:
    """Every itemset is a row with its support and interval."""
    frame, _ = hostile
    text = page(frame)
    rows = re.findall(r'<tr><th scope="row">.*?<td>(\d+)<td>([\d.]+)%<td>([\d.]+)%<td>([\d.]+)%', text)
    wanted = frame[["length", "support", "ci_low", "ci_high"]] * [1, 100, 100, 100]
    assert len(wanted) == len(rows)
    found = np.array(rows, dtype=float)
    assert np.sort(found, axis=0) == pytest.approx(np.sort(wanted.to_numpy(), axis=0), abs=0.0051)


def test_no_name_breaks_it(hostile: tuple[pd.DataFrame, Any]) -> None:
    """Names are text, apart from what is around them, and cut where they are endless; the page has one script."""
    frame, plan = hostile
    text = page(frame, plan, min_confidence="1%", title="</title><script>x</script>")
    parsed = Tags(text)
    assert parsed.tags.count("script") == 1
    assert "img" not in parsed.tags
    assert not {name for name in parsed.attributes if name.startswith("on")}
    shown = "".join(parsed.data)
    for name in HOSTILE:
        if any(name in itemset for itemset in frame["itemsets"]):
            assert name[:40] in shown
    assert "x" * 100 not in text
    assert max(map(len, text.splitlines())) < 100_000


def test_a_page_is_small() -> None:
    """A thousand itemsets with rules take less than 300 KB; of more the surest are shown, and how many are not."""
    assert len(page(large_table(1_000, 200)).encode()) < 300_000
    text = page(large_table(5_000, 1_000))
    assert len(text.encode()) < 300_000
    assert "show 5,000 itemsets of a support" in text
    assert "the 1,000 largest, 4,000 more are in the table" in text
    assert re.search(r"the 250 surest, [\d,]+ more are left out", text)


def test_nothing_found(hostile: tuple[pd.DataFrame, Any]) -> None:
    """A table in which nothing is listed says so."""
    _, plan = hostile
    baskets = [{name} for name in ("milk", "bread", "tea") * 2_000]
    text = page(ap.mine(ap.randomize(baskets, plan), 0.9, max_itemset=2), plan)
    assert "6,000 reports show 0 itemsets of a support of 90% or more." in text
    assert "No itemset is likely to have the wanted support" in text


def test_nothing_is_beyond_everybody_and_intervals_are_as_asked() -> None:
    """What everybody has: no share above 100%; the level of intervals that was asked for is said, as text too."""
    plan = planned(["milk", "bread", "tea"], 3, PROMISE)
    frame = ap.mine(ap.randomize([["milk", "bread"]] * 6_000, plan), "50%", confidence_level="99%")
    text = page(frame)
    shares = [float(each) for each in re.findall(r"<td>([\d.]+)%", text)]
    assert len(shares) == 3 * 3 + 2 * 4
    assert max(shares) <= 100
    assert len(re.findall("intervals of 99%", text)) == 2
    rules = ap.association_rules(frame, light=True)
    lines = derived_lines(LightFrame.of(frame), rules, 9)
    assert "99% interval" in lines[-3]
    for line, row in zip(lines[-2:], rules.to_dict(), strict=True):
        assert line.split()[:2] == [f"{row['confidence']:.1%}", f"{row['confidence_ci_low']:.1%}–"]


def test_long_names_leave_fewer_rows() -> None:
    """Names of letters that take four bytes: a page stays below 300 KB, and says how many rows are left out."""
    table = large_table(2_000, 300)
    wide = table.assign(itemsets=[frozenset(f"{'🍞' * 50}{name}" for name in each) for each in table["itemsets"]])
    wide.attrs = table.attrs
    text = page(wide)
    assert len(text.encode()) < 300_000
    shown = int(re.search(r"the ([\d,]+) largest, ([\d,]+) more are in the table", text).group(1))
    assert 50 < shown < 1000
    assert text.count('<tr><th scope="row"><bdi>') == shown


def test_bad_input(hostile: tuple[pd.DataFrame, Any], tmp_path: Path) -> None:
    """Another plan, another ending, a table from elsewhere, a file that is there: one clear line, nothing written."""
    frame, _ = hostile
    with pytest.raises(PlanError, match="the table was mined with plan"):
        page(frame, planned(items=3, transaction_size=1, promise=PROMISE))
    with pytest.raises(FileError, match=r"must end in \.html"):
        write_page(frame, tmp_path / "page.txt")
    with pytest.raises(EstimateError):
        page(pd.DataFrame({"support": [0.5], "itemsets": [frozenset({"milk"})]}))
    assert not list(tmp_path.iterdir())
    ap.write_itemsets(frame, tmp_path / "itemsets.parquet")
    run("inspect", tmp_path / "itemsets.parquet", "--html", tmp_path / "page.html")
    assert "exists already" in refused("inspect", tmp_path / "itemsets.parquet", "--html", tmp_path / "page.html")


def test_charts_of_odd_numbers() -> None:
    """Supports may be nothing or all; a chart of nothing is nothing, names are text."""
    assert strips([]) == scatter([]) == graph([], []) == ""
    assert strips([Strip("pairs", [], [], 0.0)]) == ""
    drawn = strips([Strip("pairs", [0.0, 1.0, 1e-9], [True, False, True], 0.02), Strip("triples", [], [], 0.02)])
    assert "nan" not in drawn + scatter([Point(0.1, 1.0, 3.0, "a → b"), Point(0, 0.2, 1, "c")])
    assert matrix([], [], []) == ""
    assert matrix(["<a>"], ["b"], [Edge(0, 0, 1.0, 3.0, "<a>")]).count("&lt;a&gt;") == 2
    assert graph(["<a>", "b"], [Edge(0, 1, 1.0, 3.0, "<a>")]).count("&lt;a&gt;") == 2


def test_chromium_shows_the_page(hostile: tuple[pd.DataFrame, Any], tmp_path: Path) -> None:
    """axe finds nothing at any width, in any colours, on paper; sorting and filtering; nothing runs or is asked for."""
    frame, plan = hostile
    write_page(frame, tmp_path / "page.html", plan, min_confidence="10%", title="Finds <b>")
    others = []
    for name, path in other_pages.made(tmp_path).items():
        if name != "plan":
            others.append(str(tmp_path / f"{name}.html"))
            write_page(path, others[-1])
    script = Path(__file__).with_name("mined_page.mjs")
    told = {"CHROMIUM": program("chromium", "chromium"), "TITLE": "Finds <b>", "ALSO": json.dumps(others)}
    done = javascript.run(
        javascript.node(), script, str(javascript.tools()), str(tmp_path / "page.html"), env=os.environ | told
    )
    assert done.stdout.count("ok: ") == 3, done.stdout + done.stderr


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the files that pages are made of."""
    return other_pages.made(tmp_path_factory.mktemp("found"))


@pytest.mark.parametrize("name", ["spread", "classes", "tree", "cells", "items"])
def test_no_name_breaks_a_page(files: dict[str, Path], name: str) -> None:
    """Tags close in order, names are text; one script, nothing from elsewhere, nothing that runs."""
    text = page(files[name])
    parsed = Balanced(text)
    assert not parsed.tags & {"img", "b", "iframe", "object", "form"}
    assert text.count("<script") == 1
    assert not any(f'{way}="http' in text for way in ("src", "href"))
    assert len(text) < 60_000


def test_distributions_are_those_of_the_file(files: dict[str, Path]) -> None:
    """Each mean, interval and quantile stands on the page, by class, too; the widest band leads."""
    text = Balanced(page(files["classes"], files["plan"])).text
    record = json.loads(files["classes"].read_text())
    column = record["columns"][HOSTILE[0]]
    found = [column["mean"], *(of["columns"][HOSTILE[0]]["mean"] for of in record["classes"].values())]
    for mean in found:
        assert number(mean["value"]) in text
        assert f"{number(mean['low'])} to {number(mean['high'])}" in text
    for each in column["quantiles"]:
        assert f"{100 * each['level']:g}% below {number(each['value'])}" in text
    band = column["distribution"]
    widest = max(high - low for low, high in zip(band["low"], band["high"], strict=True)) / 2
    assert f"known to {100 * widest:.2f}% or better" in text
    assert "5% likely" in text and "95% likely" in text  # noqa: PT018


def test_the_tree_is_that_of_the_file(files: dict[str, Path]) -> None:
    """Every question and answer of the text stands on the page, as deep as there; a tree that is one leaf says so."""
    model = read_tree(files["tree"])
    parsed = Balanced(page(model))
    for line in tree_lines(model):
        assert line.strip().partition(": ")[0] in parsed.text
    deep = [Line(depth, f"test {depth}", 10, (0.5, 0.5), depth == 5) for depth in range(6)]
    facts = {"class": "c", "classes": ("a", "b"), "records": 60, "shares": (0.5, 0.5), "undecidable": False,
             "method": "by-class", "plan_id": ""}  # fmt: skip
    assert Balanced(tree_page(facts, [*deep, Line(2, "again", 5, (1, 0), True)], "t", None)).deepest == 6
    nothing = tree_page(facts | {"undecidable": True}, [], "t", None)
    assert "no tree was better than the commonest class" in nothing
    assert "It asks nothing" in nothing


def test_what_is_withheld_is_named_to_the_owner(files: dict[str, Path]) -> None:
    """Every suppressed value and dropped item, with what it would tell; the page says whose it is."""
    for name, key, named in (
        ("cells", "suppressed", lambda each: f"{each['column']} = {each['value']}"),
        ("items", "dropped", lambda each: each["item"]),
    ):
        record = json.loads(files[name].read_text())
        text = Balanced(page(files[name])).text
        assert record[key], name
        for each in record[key]:
            assert named(each) in text
            if each.get("inference"):
                assert f"{each['inference']['confidence']:.1%} of {each['inference']['support']:,}" in text
        assert "It stays with the owner" in text


def test_whether_a_promise_bounds_what_is_said() -> None:
    """An average promise bounds nothing of one report, and a column released as it is lies outside; it is said."""

    def made(release: dict[str, Any], more: dict[str, Any] | None = None) -> str:
        column = {"kind": "number", "low": 0, "high": 1, "intervals": 10} | release
        plan = numeric.plan_table(
            {"columns": {"x": column} | (more or {})}, None if "privacy" in release else ap.Breach("5%", "50%")
        )
        table = pd.DataFrame({"x": np.linspace(0, 1, 2000)} | {name: ["a", "b"] * 1000 for name in more or {}})
        return page(ap.reconstruct(ap.randomize(table, plan)), plan)

    bounded = made({"release": "square-wave"})
    assert "than the report did, and that is what the promise bounds." in bounded
    assert "but no promise bounds that (see above)" in made({"release": "gaussian", "privacy": "100%"})
    clear = {"y": {"kind": "category", "values": ["a", "b"], "release": "as-is"}}
    assert "but for what lies outside it (see above)" in made({"release": "square-wave"}, clear)


def test_one_plan_of_several_that_look_alike() -> None:
    """A page is made with the plan of the reports only; suppressions are of none."""
    plans = [
        numeric.plan_table(
            {"columns": {"x": {"kind": "number", "low": 0, "high": 1, "release": "square-wave"}}}, ap.Breach("5%", each)
        )
        for each in ("50%", "20%")
    ]
    table = pd.DataFrame({"x": np.linspace(0, 1, 2000)})
    found = ap.reconstruct(ap.randomize(table, plans[0]))
    assert "50% likely" in page(found, plans[0])
    with pytest.raises(PlanError, match=f"reports were of plan {plans[0].plan_id[:12]}"):
        page(found, plans[1])


def test_a_column_that_nobody_fills_in() -> None:
    """It has no curve and no quantiles, but a sentence."""
    plan = numeric.plan_table(
        {"columns": {"x": {"kind": "number", "low": 0, "high": 1, "release": "as-is", "optional": True}}}, reports=100
    )
    shown = page(ap.reconstruct(ap.randomize(pd.DataFrame({"x": [np.nan] * 100}), plan)), plan)
    assert "how values would be spread is undecidable" in shown
    assert "5% below" not in shown
    assert "<svg" not in shown.partition('id="columns"')[2].partition("</section>")[0]


def test_bad_input_of_other_pages(files: dict[str, Path], tmp_path: Path) -> None:
    """Another plan, two columns together, a damaged file: one clear line, nothing written."""
    other = numeric.plan_table(
        {"columns": {"x": {"kind": "number", "low": 0, "high": 1, "release": "square-wave"}}}, ap.Breach("5%", "50%")
    )
    with pytest.raises(PlanError, match="leave the plan out"):
        page(files["cells"], other)
    flat = json.loads(files["spread"].read_text())
    flat["columns"] = {
        name: each | {"edges": [1.0] * len(each["edges"])} for name, each in flat["columns"].items() if "edges" in each
    }
    with pytest.raises(EstimateError, match="damaged"):
        page(flat)
    for name in ("spread", "tree"):
        with pytest.raises(PlanError, match=r"column|grown with plan|reports were of plan"):
            page(files[name], other)
    joint = json.loads(files["spread"].read_text()) | {"joint": {}}
    with pytest.raises(EstimateError, match="leave --joint"):
        page(joint)
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({"confidence_level": 0.95, "reports": 3, "columns": {"x": {"share": [1]}}}))
    assert "is damaged" in refused("inspect", broken, "--html", tmp_path / "page.html")
    broken.write_text("{")
    assert "broken.json" in refused("inspect", broken, "--html", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
