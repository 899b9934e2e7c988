"""Pages of mined tables: what they say, that no name breaks them, how large they are, and Chromium's own look."""

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

import assocpriv as ap
from assocpriv.planning.discovery import foresee
from assocpriv.promise.errors import EstimateError, FileError, PlanError
from assocpriv.show.charts import Edge, Point, Strip, graph, matrix, scatter, strips
from assocpriv.show.figures import share
from assocpriv.show.pages import page, write_page
from bench.speed.pages import large_table

pytestmark = [pytest.mark.filterwarnings("ignore:itemsets of"), pytest.mark.filterwarnings("ignore:nothing was")]
PROMISE = ap.Breach("5%", "90%")


def mined(names: list[str], min_support: float = 0.1) -> tuple[pd.DataFrame, Any]:
    """Mine reports of baskets in which neighbours of a catalogue come together."""
    plan = ap.plan(items=names, transaction_size=3, promise=PROMISE)
    rng = np.random.default_rng(5)
    first = rng.integers(len(names), size=20_000) ** 2 // len(names)
    baskets = [{names[at], names[(at + 1) % len(names)]} if at % 2 else {names[at]} for at in first.tolist()]
    return ap.mine(ap.randomize_baskets(baskets, plan), min_support), plan


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
    """What was found stands before anything else; the promise, noise and what more people would show follow."""
    frame, plan = hostile
    text = page(frame, plan, min_confidence="20%")
    sure = text.count("<td>yes\n")
    assert f"20,000 reports show {sure} itemset" in text
    assert sure > 3
    for said in ("5% likely", "90% likely", "γ is at most", "4 × as many", "twice the ε", plan.plan_id):
        assert said in text
    headings = re.findall(r"<h2[^>]*>(?:<span[^>]*></span>)?([^<]+)", text)
    assert [each.split()[0] for each in headings] == ["What", "What", "Which", "Is", "How", "May"]


def test_figures_are_the_tables(hostile: tuple[pd.DataFrame, Any]) -> None:
    """Every frequent itemset is a row with its estimate and interval, the surest first."""
    frame, _ = hostile
    text = page(frame)
    rows = re.findall(r'<tr><th scope="row">.*?<td>(\d+)<td>([\d.]+)%<td>([\d.]+)%<td>([\d.]+)%', text)
    wanted = frame.loc[frame["frequent"], ["length", "support", "ci_low", "ci_high"]] * [1, 100, 100, 100]
    assert len(wanted) == len(rows)
    found = np.array(rows, dtype=float)
    assert np.sort(found, axis=0) == pytest.approx(np.sort(wanted.to_numpy().clip(0, 100), axis=0), abs=0.0051)


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
        if any(name in itemset for itemset in frame.loc[frame["frequent"], "itemsets"]):
            assert name[:40] in shown
    assert "x" * 100 not in text
    assert max(map(len, text.splitlines())) < 100_000


def test_a_page_is_small() -> None:
    """A thousand itemsets with rules take less than 300 KB; of more the surest are shown, and how many are not."""
    assert len(page(large_table(1_000, 200)).encode()) < 300_000
    text = page(large_table(5_000, 1_000))
    assert len(text.encode()) < 300_000
    told = re.search(r"show ([\d,]+) itemsets for sure; ([\d,]+) more may be chance", text)
    assert told
    assert sum(int(each.replace(",", "")) for each in told.groups()) == 5_000
    assert "the 1000 surest, 4,000 more are in the table" in text
    assert re.search(r"the 250 surest, [\d,]+ more are left out", text)


def test_nothing_found(hostile: tuple[pd.DataFrame, Any]) -> None:
    """A table without a find says so, and what could have been seen."""
    _, plan = hostile
    baskets = [{name} for name in ("milk", "bread", "tea") * 700]
    text = page(ap.mine(ap.randomize_baskets(baskets, plan), 0.9, max_itemset=2), plan)
    assert re.search(r"From 2,100 reports nothing was found; the largest estimate of a single item is \d", text)
    assert "No itemset of the wanted support was found" in text


def test_too_small_a_support() -> None:
    """What more people would show is what the plan foresees, of all itemsets there are; it says which support to ask.

    A page that counted one candidate foresaw single items from half of that.
    """
    plan = ap.plan(items=1000, transaction_size=3, promise=ap.Breach("5%", "50%"))
    text = page(ap.mine(ap.randomize_baskets([[0, 1], [2]] * 5_000, plan), 0.001), plan)
    assert re.search(r"estimates can be believed from [\d.]+% on: try", text)
    assert "too small a support was asked for" in text
    assert "Asked for: itemsets with a support of 0.100% or more" in text
    times = [foresee(plan, times * 10_000).discoverable.level for times in (2, 4, 10)]
    for size, name in ((1, "single items"), (2, "pairs"), (3, "triples")):
        row = "".join(f'<td class="number">{share(level[size])}</td>' for level in times)
        assert re.search(rf'<th scope="row">{name}</th><td class="number">[^<]*</td>{row}</tr>', text), name


def test_an_estimate_beyond_everybody() -> None:
    """Noise may say more than 100%: that is shown as the table has it, and not as none."""
    plan = ap.plan(["milk", "bread"], 2, PROMISE)
    for _ in range(40):
        frame = ap.mine(ap.randomize_baskets([["milk"]] * 400, plan), "50%")
        if frame["support"].iloc[0] > 1:
            break
    else:
        pytest.fail("40 tables of what everybody has, none beyond 100%: a chance of 1e-12")
    assert f"<td>{100 * frame['support'].iloc[0]:.2f}%<td>" in page(frame)


def test_what_is_certain_is_called_so() -> None:
    """With a level of certainty the page says which support is claimed at which level, not what is chance."""
    plan = ap.plan(["milk", "bread", "tea"], 2, PROMISE)
    reports = ap.randomize_baskets([["milk"], ["bread"]] * 9_000 + [["milk", "tea"]] * 2_000, plan)
    text = page(ap.mine(reports, "9.5%", certain="95%", confidence_level="99%"), plan, min_confidence="5%")
    assert re.search(r"14,000 reports show \d+ itemsets with a support of 9.50% or more, at 95%", text)
    assert "may be chance" not in text
    assert "intervals of about 99%" in text


def test_long_names_leave_fewer_rows() -> None:
    """Names of letters that take four bytes: a page stays below 300 KB, and says how many rows are left out."""
    table = large_table(2_000, 300)
    wide = table.assign(itemsets=[frozenset(f"{'🍞' * 50}{name}" for name in each) for each in table["itemsets"]])
    wide.attrs = table.attrs
    text = page(wide)
    assert len(text.encode()) < 300_000
    shown = int(re.search(r"the ([\d,]+) surest, ([\d,]+) more are in the table", text).group(1))
    assert 50 < shown < 1000
    assert text.count('<tr><th scope="row"><bdi>') == shown


def test_bad_input(hostile: tuple[pd.DataFrame, Any], tmp_path: Path) -> None:
    """Another plan, another ending, a table from elsewhere, a file that is there: one clear line, nothing written."""
    frame, _ = hostile
    with pytest.raises(PlanError, match="the table was mined with plan"):
        page(frame, ap.plan(items=3, transaction_size=1, promise=PROMISE))
    with pytest.raises(FileError, match=r"must end in \.html"):
        write_page(frame, tmp_path / "page.txt")
    with pytest.raises(EstimateError):
        page(pd.DataFrame({"support": [0.5], "itemsets": [frozenset({"milk"})]}))
    assert not list(tmp_path.iterdir())
    ap.write_itemsets(frame, tmp_path / "itemsets.parquet")
    run("page", tmp_path / "itemsets.parquet", "-o", tmp_path / "page.html")
    assert "exists already" in refused("page", tmp_path / "itemsets.parquet", "-o", tmp_path / "page.html")


def test_charts_of_odd_numbers() -> None:
    """Estimates may be negative, above 1 or unknown; a chart of nothing is nothing."""
    assert strips([]) == scatter([]) == graph([], []) == ""
    assert strips([Strip("pairs", [], [], None)]) == ""
    drawn = strips([Strip("pairs", [-0.1, 1.4, 1e-9], [True, False, True], 0.02), Strip("triples", [], [], None)])
    assert "nan" not in drawn + scatter([Point(0.1, 1.7, float("nan"), "a → b"), Point(-1, 0.2, 1, "c")])
    assert matrix([], [], []) == ""
    assert matrix(["<a>"], ["b"], [Edge(0, 0, 1.7, float("nan"), "<a>")]).count("&lt;a&gt;") == 2
    assert graph(["<a>", "b"], [Edge(0, 1, 2.0, 3.0, "<a>")]).count("&lt;a&gt;") == 2


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
