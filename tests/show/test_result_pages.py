"""Pages of mined tables, columns, trees and suppressions: content, names, size, and Chromium's own look."""

import json
import os
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import command_line
import numpy as np
import pandas as pd
import pytest
import shown
from command_line import program, refused
from naive import planned
from shown import AGE, HOSTILE, Balanced, reports_of_neighbours

import assocpriv as ap
from assocpriv import numeric
from assocpriv.files.mined_tables import LightFrame
from assocpriv.guarantees.errors import EstimateError, FileError, PlanError
from assocpriv.show.charts import intervals, rules_chart, rules_graph, supports_chart
from assocpriv.show.result_pages import page, write_page

pytestmark = [pytest.mark.filterwarnings("ignore:itemsets of"), pytest.mark.filterwarnings("ignore:nothing was")]
GUARANTEE = ap.Guarantee("5%", "90%")


@pytest.fixture(scope="module")
def hostile() -> tuple[pd.DataFrame, Any]:
    """Return a mined table with names that are markup, scripts, direction marks, or very long; and its plan."""
    reports = reports_of_neighbours([*HOSTILE, "milk", "bread", "tea"], GUARANTEE)
    return ap.mine(reports, 0.05), reports.plan


def test_it_answers_first(hostile: tuple[pd.DataFrame, Any]) -> None:
    """Results come first with the expected number of false ones; intervals and the guarantee follow."""
    frame, plan = hostile
    text = page(frame, plan, min_confidence="20%")
    selected, derived = int(frame["selected"].sum()), ap.association_rules(frame, "20%")
    found = f"20,000 reports: {selected} itemsets selected with a support of at least 5%; expected below this minimum: "
    assert found in text
    assert f"{derived['selected'].sum()} rules selected with a confidence of at least 20%; expected below " in text
    rules = text.partition('<table id="rules-table"')[2]
    assert rules.count("<td>*") == derived["selected_strict"].sum() > 3
    for message in ("a probability of 5%", "a probability of less than 90%", "γ &lt; ", plan.plan_id):
        assert message in text
    headings = re.findall(r"<h2[^>]*>([^<]+)", text)
    assert [each.split()[0] for each in headings] == ["What", "Which", "How", "The", "What", "May"]


def large_table(*first: int) -> pd.DataFrame:
    """Return a mined table: all itemsets of one of the first names, of two, and of three."""
    plan = ap.plan(items=3, transaction_size=3, guarantee=ap.Guarantee("5%", "99%"))
    light = LightFrame.from_frame(ap.mine(ap.randomize([{0, 1, 2}] * 6_000, plan), 0.2))
    names = [f"item number {place}" for place in range(first[0])]
    found = [frozenset(each) for k, n in enumerate(first, 1) for each in combinations(names[:n], k)]
    small = pd.DataFrame({name: [*each] for name, each in light.columns.items()})
    of_size = small.drop_duplicates("length").set_index("length")
    frame = of_size.loc[[len(each) for each in found]].reset_index()[list(small.columns)]
    support = np.sort(np.random.default_rng(1).uniform(0.001, 0.1, len(found)))[::-1]
    low, high = support - 2 * frame["std_error"], support + 2 * frame["std_error"]
    frame = frame.assign(itemsets=found, support=support, ci_low=low, ci_high=high)
    frame.attrs = light.attrs
    return frame


def test_a_page_is_small() -> None:
    """A thousand itemsets with rules need less than 300 KB; for more, and long names, omitted rows are counted."""
    assert len(page(large_table(200, 36, 11)).encode()) < 300_000
    table = large_table(1_000, 75, 21)
    wide = table.assign(itemsets=[frozenset("🍞" * 50 + name for name in each) for each in table["itemsets"]])
    wide.attrs = table.attrs
    text = page(wide)
    assert len(text.encode()) < 300_000
    assert f"{len(table):,} itemsets selected with a support" in text
    shown = text.partition('<table id="rules-table"')[0].count('<tr><th scope="row"><bdi>')
    assert 50 < shown <= 1_000
    left = re.findall(r"([\d,]+) more (?:single items|pairs|triples|itemsets of \d+)", text)
    assert sum(int(each.replace(",", "")) for each in left) == len(table) - shown
    assert re.search(r"… and [\d,]+ more", text)


def test_no_share_exceeds_one_and_intervals_have_the_given_level() -> None:
    """Items in all baskets have no share above 100%; the level of the intervals is stated."""
    plan = planned(["milk", "bread", "tea"], 3, GUARANTEE)
    frame = ap.mine(ap.randomize([["milk", "bread"]] * 6_000, plan), "50%", confidence_level="99%")
    text = page(frame)
    shares = [float(each) for each in re.findall(r">([\d.]+)%–([\d.]+)%<", text) for each in each]
    assert len(shares) == 2 * (2 * 3 + 2)  # of itemsets also the intervals if they were chosen beforehand
    assert max(shares) <= 100
    assert len(re.findall("99% interval", text)) == 2
    baskets = [{name} for name in ("milk", "bread", "tea") * 2_000]
    assert "(none)" in page(ap.mine(ap.randomize(baskets, plan), 0.9, max_itemset=2), plan)


def test_charts_of_odd_numbers() -> None:
    """Supports may be 0 or 1; an empty chart is empty; names are escaped."""
    assert not any((supports_chart(0.1, []), rules_chart([]), rules_graph([]), intervals([], "none")))
    drawn = supports_chart(0.02, [(2, 0.0, True), (2, 1.0, False), (2, 1e-9, True), (3, 0.5, True)]).__html__()
    rule = {"antecedents": ["<a>"], "consequents": ["b"], "support": 0.1, "confidence": 1.0, "lift": 3.0}
    both = rules_chart([rule, rule | {"support": 0.0}]).__html__()
    assert "nan" not in drawn + both
    assert rules_graph([rule]).__html__().count("&lt;a&gt;") == 2


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the files of the pages."""
    return shown.made(tmp_path_factory.mktemp("found"))


def test_chromium_shows_the_page(hostile: tuple[pd.DataFrame, Any], files: dict[str, Path], tmp_path: Path) -> None:
    """axe finds no problem, in light and dark; pages fit phones and paper; filters work; no request is sent."""
    frame, plan = hostile
    write_page(frame, tmp_path / "page.html", plan, min_confidence="10%", title="Finds <b>")
    for name, path in files.items():
        write_page(path, tmp_path / f"{name}.html")
    script, given = Path(__file__).with_name("mined_page.mjs"), {"CHROMIUM": program("chromium", "chromium")}
    shown = [tmp_path / f"{name}.html" for name in ("page", *files)]
    options = {"env": os.environ | given | {"TITLE": "Finds <b>"}}
    done = command_line.run_program(command_line.node(), script, command_line.tools(), *shown, **options)
    assert done.stdout.count("ok: ") == 3, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["mined", "spread", "classes", "tree", "cells", "items"])
def test_no_name_breaks_a_page(files: dict[str, Path], hostile: tuple[pd.DataFrame, Any], name: str) -> None:
    """Tags close in order, names are escaped and cut; one script, no external content, no code in names."""
    frame, plan = hostile
    is_mined = name == "mined"
    text = page(frame, plan, min_confidence="1%", title="</title><script>x</script>") if is_mined else page(files[name])
    parsed = Balanced(text)
    assert not parsed.tags & {"img", "b", "iframe", "object", "form"}
    assert text.count("<script") == 1
    assert not any(f'{way}="http' in text for way in ("src", "href"))
    assert "x" * 100 not in text
    assert len(text) < (300_000 if is_mined else 60_000)
    if is_mined:
        assert all(each[:40] in parsed.text for each in HOSTILE if any(each in names for names in frame["itemsets"]))
        assert max(map(len, text.splitlines())) < 100_000


def test_bad_input(hostile: tuple[pd.DataFrame, Any], files: dict[str, Path], tmp_path: Path) -> None:
    """Another plan, ending or table, an existing file, a damaged one: one clear line, nothing written."""
    frame, _ = hostile
    with pytest.raises(FileError, match=r"must end in \.html"):
        write_page(frame, tmp_path / "page.txt")
    with pytest.raises(EstimateError):
        page(pd.DataFrame({"support": [0.5], "itemsets": [frozenset({"milk"})]}))
    (tmp_path / "there.html").touch()
    assert "exists already" in refused("inspect", files["spread"], "--html", tmp_path / "there.html")
    column = {"kind": "number", "low": 0, "high": 1, "release": "square-wave"}
    other = numeric.plan_table({"columns": {"x": column}}, ap.Guarantee("5%", "50%"))
    for given, wrong, message in (
        (frame, planned(items=3, transaction_size=1, guarantee=GUARANTEE), "the table was mined with plan"),
        (files["cells"], other, "leave the plan out"), (files["spread"], other, "column|reports were of plan"),
        (files["tree"], other, "grown with plan|column"),
    ):  # fmt: skip
        with pytest.raises(PlanError, match=message):
            page(given, wrong)
    spread = json.loads(files["spread"].read_text())
    with pytest.raises(EstimateError, match="leave out --joint"):
        page(spread | {"joint": {}})
    spread["columns"][AGE]["edges"] = [1.0] * len(spread["columns"][AGE]["edges"])
    with pytest.raises(EstimateError, match="damaged"):
        page(spread)
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({"confidence_level": 0.95, "reports": 3, "columns": {"x": {"share": [1]}}}))
    assert "is damaged" in refused("inspect", broken, "--html", tmp_path / "page.html")
    broken.write_text("{")
    assert "broken.json" in refused("inspect", broken, "--html", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
