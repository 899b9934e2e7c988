"""What objects show of themselves in notebooks: small, escaped, without script, with the figures that they hold."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import other_pages
import pandas as pd
import pytest
from operator_page import HOSTILE
from other_pages import Balanced
from planned import planned

import assocpriv as ap
from assocpriv import numeric
from assocpriv.files.tree_models import read_tree
from assocpriv.server.data_frames import ItemsetFrame
from assocpriv.show.figures import number, share

MOST = 10_000  # letters


@pytest.fixture(scope="module")
def mined() -> pd.DataFrame:
    """Itemsets of hostile names, and of more items than are shown."""
    names = [*HOSTILE, *map(str, range(20))]
    plan = planned(names, 2, ap.Breach("5%", "50%"))
    rng = np.random.default_rng(4)
    baskets = [[names[at], names[(at + 1) % 27]] for at in (rng.integers(27, size=40_000) ** 2 // 27).tolist()]
    return ap.mine(ap.randomize(baskets, plan), 0.02)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"top": 2}, "the 2 largest supports; "),
        ({}, "% or more, the least that is likely to be told from noise"),
        ({"min_support": "40%"}, "itemsets of a support of 40% or more; about none of them may be below it"),
    ],
)
def test_a_mined_table_says_what_it_was_asked(wanted: dict[str, Any], said: str) -> None:
    """The minimum support, given or found, or how many; what supports are shares of; that few reports tell little."""
    plan = planned(4, 2, ap.Breach("5%", "90%"))
    with pytest.warns(UserWarning, match="tell little"):
        found = ap.mine(ap.randomize([{"0", "1"}, {"1", "2"}] * 2000, plan), **wanted)
    text = html_of(found)
    assert said in text
    assert "supports are those within at most 2 sampled items" in text
    assert "4,000 reports tell little" in text


def html_of(thing: Any) -> str:
    """Return what a notebook would show, which must be small, whole and harmless."""
    text = str(thing._repr_html_())
    parsed = Balanced(text.replace("<path ", "<input ").replace("/></svg>", "></svg>"))
    assert not parsed.tags & {"script", "img", "b", "i", "iframe", "style", "link"}
    assert len(text) < MOST
    return parsed.text


def test_a_mined_table_shows_its_finds(mined: pd.DataFrame) -> None:
    """The first rows with intervals, and how many are left out; a selection does so too."""
    text = html_of(mined)
    for row in mined.head(15).to_dict("records"):
        assert share(row["support"]) in text
    assert f"… and {len(mined) - 15} more" in text
    assert "40,000 reports" in text
    assert "… and" not in html_of(mined.head(3))
    assert len(mined[mined["length"] == 1]._repr_html_()) > 100
    assert isinstance(mined, pd.DataFrame)
    assert isinstance(pickle.loads(pickle.dumps(mined)), ItemsetFrame)


def test_what_is_no_such_table_any_more_is_shown_by_pandas(mined: pd.DataFrame) -> None:
    """Some columns, or other ones: as pandas shows them."""
    for other in (mined[["support", "length"]], mined.describe(), mined.rename(columns={"support": "s"})):
        assert other._repr_html_() == pd.DataFrame(other)._repr_html_()


def test_rules_show_confidence_with_its_interval(mined: pd.DataFrame) -> None:
    """A row a rule, and whether it is sure; of a whole table also how many are expected to be false."""
    rules = ap.association_rules(mined, 0.01)
    text = html_of(rules)
    first = rules.iloc[0]
    assert f"{first['confidence']:.1%}{first['confidence_ci_low']:.1%} to {first['confidence_ci_high']:.1%}" in text
    assert f"{rules['listed'].sum()} rules of a confidence of 1% or more, about" in text
    assert "expected to be false" not in html_of(rules.head(3))
    assert rules["sure"].iloc[0]
    assert "yes" in text


def test_plans_say_what_they_promise() -> None:
    """In words and figures; a plan without γ says what holds instead."""
    plan = planned(HOSTILE, 3, ap.Breach("5%", "50%"))
    text = html_of(plan)
    for said in ("5% likely", "50% likely", "γ is at most", plan.plan_id[:12]):
        assert said in text
    noise = numeric.plan_table(
        {"columns": {"x": {"kind": "number", "low": 0, "high": 1, "release": "gaussian", "privacy": "50%"}}}
    )
    assert noise.unbounded[1:] in html_of(noise)
    column = {"kind": "number", "low": 0, "high": 1}
    outside = {
        "<img src=x>": column | {"release": "gaussian", "privacy": "50%"},
        "x": column | {"release": "square-wave"},
    }
    shown = numeric.plan_table({"columns": outside}, ap.Breach("5%", "50%"))._repr_html_()
    assert "&lt;img src=x&gt;" in shown
    assert "<img" not in shown


def test_an_audit_shows_its_verdict_and_its_findings() -> None:
    """All findings of a small audit, each in a row."""
    audit = ap.audit(planned(4, 2, ap.Breach("5%", "50%")), depth="exact")
    text = html_of(audit)
    assert "Audit: consistent" in text
    assert all(finding.name in text for finding in audit.findings[:15])


def test_distributions_and_trees(tmp_path: Path) -> None:
    """Means, quantiles and commonest values; a tree's questions."""
    files = other_pages.made(tmp_path)
    model = read_tree(files["tree"])
    assert model.nodes[0].split is not None
    assert f"{model.nodes[0].records:,} records" in html_of(model)
    table = pd.DataFrame({HOSTILE[0]: np.linspace(0, 1, 999), "y": np.resize(HOSTILE[:2], 999)})
    columns = {
        HOSTILE[0]: {"kind": "number", "low": 0, "high": 1, "release": "square-wave"},
        "y": {"kind": "category", "values": HOSTILE[:2], "release": "response"},
    }
    plan = numeric.plan_table({"columns": columns}, ap.Breach("5%", "90%"))
    found = ap.reconstruct(ap.randomize(table, plan))
    text = html_of(found)
    assert number(found.columns[HOSTILE[0]].numbers.mean.value) in text
    assert "999 reports" in text


def test_what_is_endless_is_cut(mined: pd.DataFrame, tmp_path: Path) -> None:
    """Itemsets of many items, names that grow when they are escaped, and trees of such names: still small."""
    worst = [f"{place}{'&' * 70}" for place in range(40)]
    for items in (worst, worst[:3]):
        wide = mined.assign(itemsets=[frozenset(items)] * len(mined))
        text = html_of(wide)
        shown = text.count("% to ")
        assert 1 <= shown < 15
        assert f"… and {len(wide) - shown} more" in text
    assert "and 32 more" in html_of(mined.assign(itemsets=[frozenset(worst)] * len(mined)))
    model = read_tree(other_pages.made(tmp_path)["tree"])
    html_of(replace(model, class_name="&" * 500, classes=tuple("&" * 200 + each for each in model.classes)))
