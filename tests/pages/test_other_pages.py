"""Pages of distributions, trees and suppressions: their figures are those of the files, and no name breaks them."""

import json
from html.parser import HTMLParser
from pathlib import Path

import other_pages
import pytest
from command_line import refused
from operator_page import HOSTILE

import assocpriv as ap
from assocpriv import numeric
from assocpriv.core.errors import EstimateError, PlanError
from assocpriv.files.tree_models import read_tree
from assocpriv.pages.tree import Line, tree_page
from assocpriv.pages.wording import number
from assocpriv.server.numeric.trees.export import tree_lines
from assocpriv.showing import page

VOID = {"meta", "link", "input", "br"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the files that pages are made of."""
    return other_pages.made(tmp_path_factory.mktemp("found"))


class Balanced(HTMLParser):
    """A page whose tags must close in order; ``text`` is what it says, ``deepest`` how deep lists stand."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text, self.deepest, self.tags = "", 0, set[str]()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        assert not any(name.startswith("on") for name, _ in attrs)
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.deepest = max(self.deepest, self.open.count("ul"))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag that closes itself, as those of charts do."""
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close a tag."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.text += data


@pytest.mark.parametrize("name", ["spread", "classes", "tree", "cells", "items", "lines"])
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
    """Every suppressed value, dropped item and withheld line, with what it would tell; the page says whose it is."""
    for name, key, named in (
        ("cells", "suppressed", lambda each: f"{each['column']} = {each['value']}"),
        ("items", "dropped", lambda each: each["item"]),
        ("lines", "withheld", lambda each: each["label"]),
    ):
        record = json.loads(files[name].read_text())
        text = Balanced(page(files[name])).text
        assert record[key], name
        for each in record[key]:
            assert named(each) in text
            if each.get("inference"):
                assert f"{each['inference']['confidence']:.1%} of {each['inference']['support']:,}" in text
        assert "It stays with the owner" in text


def test_bad_input(files: dict[str, Path], tmp_path: Path) -> None:
    """Another plan, two columns together, a damaged file: one clear line, nothing written."""
    other = numeric.plan(
        {"columns": {"x": {"kind": "number", "low": 0, "high": 1, "release": "square-wave"}}}, ap.Breach("5%", "50%")
    )
    for name in ("spread", "tree"):
        with pytest.raises(PlanError, match=r"column|grown with plan"):
            page(files[name], other)
    joint = json.loads(files["spread"].read_text()) | {"joint": {}}
    with pytest.raises(EstimateError, match="leave --joint"):
        page(joint)
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({"confidence_level": 0.95, "reports": 3, "columns": {"x": {"share": [1]}}}))
    assert "is damaged" in refused("page", broken, "-o", tmp_path / "page.html")
    broken.write_text("{")
    assert "broken.json" in refused("page", broken, "-o", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
