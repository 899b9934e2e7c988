"""Check what is shown: records from three renderers, pages in a browser, the operator's page."""

import base64
import html
import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from command_line import make_baskets, run
from naive import planned

import assocpriv as ap
from assocpriv import numeric
from assocpriv.client.baskets.bulk_client import randomize_chunks
from assocpriv.collect.store import BatchSizes
from assocpriv.files.mined_tables import LightFrame, as_column
from assocpriv.files.model_files import write_tree
from assocpriv.files.plan_files import write_plan
from assocpriv.guarantees.errors import AssocprivError
from assocpriv.pages.collector_page import AdminPage
from assocpriv.plans.published_plan import PublishedPlan
from assocpriv.show import comparison_views, text_renderer
from assocpriv.show.result_pages import fragment
from assocpriv.show.result_record import Facts, Page, Part, Picture, Record, Say, Section, Table, Writer, write
from assocpriv.simulation.enumeration import SeededEntropy

_FIGURE = re.compile(r"\d(?:[\d,.]*\d)?")
_WRITER = Writer()


def reports_of_neighbours(names: Sequence[str], guarantee: ap.Guarantee) -> ap.Reports:
    """Return reports of 20,000 baskets in which neighbours of a catalogue are bought together."""
    first = np.random.default_rng(5).integers(len(names), size=20_000) ** 2 // len(names)
    baskets = [{names[at], names[(at + 1) % len(names)]} if at % 2 else {names[at]} for at in first.tolist()]
    return ap.randomize(baskets, planned(list(names), 3, guarantee))


def check(record: Record) -> str:
    """Compare every figure of a record's text, JSON and HTML; return the text.

    Each field of a template is in the JSON content with the same value, and text and HTML show it in the form of its
    unit; the figures of text and HTML are the same, equally often.
    """
    content = json.loads(json.dumps(record.to_json(), allow_nan=False))
    leaves = set(_leaves(content))
    text, page = "\n".join(text_renderer.lines(record)), str(fragment(record))
    plain = _without_tags(page).lower()  # sentences begin with a capital there
    for value, unit, on_page in _fields(record.parts, record.content):
        shown = write(value, unit)
        if isinstance(value, int | float) and not isinstance(value, bool):
            assert value in leaves, (value, unit)
        if unit not in ("names", "name"):
            assert shown.lower() in plain, shown
            assert on_page or shown in text, shown
    own = Record(record.content, _without_pages(record.parts))
    figures = Counter(_FIGURE.findall("\n".join(text_renderer.lines(own)).replace("(none)", "")))
    drawn = Counter(_FIGURE.findall(_without_tags(str(fragment(own)))))
    assert figures == drawn, figures - drawn + (drawn - figures)
    return text


def _without_tags(page: str) -> str:
    """Return a page's text, without its filter boxes and drawings."""
    page = re.sub(r'<p class="filter".*?</p>|<svg.*?</svg>|<figure.*?</figure>', "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"<(td|th|dd|dt|tr|p|caption|h2)\b[^>]*>", " ", page)))


def _leaves(content: Any) -> Iterator[Any]:
    if isinstance(content, Mapping):
        for name, value in content.items():
            yield name
            yield from _leaves(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from _leaves(value)
    else:
        yield content


def _without_pages(parts: Sequence[Part]) -> list[Part]:
    found: list[Part] = []
    for part in parts:
        match part:
            case Page() | Picture():
                pass
            case Section():
                found.append(Section(part.title, _without_pages(part.parts), part.name))
            case Record():
                found.append(Record(part.content, _without_pages(part.parts)))
            case _:
                found.append(part)
    return found


def _fields(
    parts: Sequence[Part], content: Mapping[str, Any], on_page: bool = False
) -> Iterator[tuple[Any, str, bool]]:
    for part in parts:
        match part:
            case Table():
                templates = [(column.cell, row) for column in part.columns for row in part.rows]
                templates += [(part.caption, content)]
            case Facts():
                templates = [(each, content) for _, texts in part.rows for each in texts]
            case Say():
                templates = [(part.text, content)]
            case str():
                templates = [(part, content)]
            case Section() | Page():
                yield from _fields(part.parts, content, on_page or isinstance(part, Page))
                continue
            case Record():
                yield from _fields(part.parts, part.content, on_page)
                continue
            case _:
                continue
        for template, source in templates:
            for _, name, unit, _ in _WRITER.parse(template):
                if name and name.partition("[")[0] in source:  # otherwise it is not part of the content
                    yield _WRITER.get_field(name, (), source)[0], unit or "", on_page


TOKEN = "a-token-of-the-operator-of-this-collection"
PLAN = planned(items=12, transaction_size=3, guarantee=ap.Guarantee("5%", "50%"))
HOSTILE = [
    "<script>document.title='broken'</script>", "\"'><img src=//evil.example/x onerror=alert(1)>", "{{ 7 * 7 }}",
    "\u202egnp.exe\u2066", "x" * 10_000, "السلام", "</bdi></table></html>",
]  # fmt: skip


class Collection:
    """A stub of a collector."""

    def __init__(self, folder: Path, plan: PublishedPlan = PLAN, reports: int = 5000) -> None:
        self.folder, self.plan, self.reports = folder, plan, reports
        self.closed, self.too_few = 0, False
        (folder / "plan.json").write_text(plan.canonical_json)

    def status(self) -> dict[str, Any]:
        """Return counts as a collector does."""
        return {"reports": self.reports, "closed": self.reports - 1, "batches_closed": 1, "guidance": None}

    async def close_batches(self) -> int:
        """Count how often it is closed; with ``too_few`` it is not."""
        if self.too_few:
            BatchSizes().check(412, self.plan, allow_small=False)
        self.closed += 1
        return 1

    def page(self) -> AdminPage:
        """Return the operator's page of this collection."""
        return AdminPage(self.plan, self.folder, self.status, self.close_batches, TOKEN)


def basic(token: str = TOKEN) -> str:
    """Return the header that a browser sends after a login."""
    return f"Basic {base64.b64encode(f'operator:{token}'.encode()).decode()}"


@cache
def reports() -> ap.Reports:
    """Return 3,000 reports of baskets, 60% of which hold items 1 and 2."""
    baskets = ap.Baskets.from_sets(make_baskets(), PLAN.catalogue)
    chunks = randomize_chunks(baskets, PLAN, entropy=SeededEntropy(1))
    return ap.Reports(PLAN, np.concatenate([chunk.packed for chunk in chunks]))


@cache
def mined(support: str) -> LightFrame:
    """Return the itemsets mined from them."""
    with warnings.catch_warnings(action="ignore"):  # of few reports
        return LightFrame.from_frame(ap.mine(reports(), None if support == "auto" else support))


class Commands:
    """A stub of commands that returns their output. ``names`` are those of the first items."""

    def __init__(self, names: list[str]) -> None:
        self.ran = list[list[str]]()
        self.names, self.failing = names, ""

    async def __call__(self, arguments: Any, seconds: float) -> bytes:
        """Return a command's output."""
        self.ran.append(list(arguments))
        if arguments[0] == self.failing:
            raise AssocprivError("no <b>reports</b> to read")
        answers = {"inspect": self.inspect, "mine": self.mine, "guide": self.guide, "compare": self.compare}
        return json.dumps(answers[arguments[0]](list(arguments))).encode()

    def inspect(self, arguments: list[str]) -> dict[str, Any]:
        """Test reports."""
        result = f"0.5% of the baskets would hold item {self.names[0]}"
        tests = [{"name": "shares", "result": result, "p_value": 1.0, "flagged": False}]
        return {"manipulation": {"flagged": False, "false_alarm": 0.001, "tests": tests}}

    def mine(self, arguments: list[str]) -> dict[str, Any]:
        """Return itemsets of 3,000 reports, under other names."""
        frame = mined(arguments[arguments.index("--min-support") + 1])
        others = dict(zip(PLAN.catalogue, self.names, strict=False))
        renamed = [frozenset(others.get(name, name) for name in each) for each in frame["itemsets"]]
        columns = frame.columns | {"itemsets": as_column(renamed)}
        ap.write_itemsets(LightFrame(columns, frame.attrs), arguments[arguments.index("-o") + 1])
        return {}

    def compare(self, arguments: list[str]) -> dict[str, Any]:
        """Compare two days: the first item is in fewer baskets on the second."""
        days = [reports(), ap.Reports(PLAN, reports().packed[::2])]
        comparison = ap.compare(*days, names=["monday", "tuesday"])
        comparison.itemsets.columns["itemsets"][0] = frozenset(self.names[:1])
        comparison.itemsets.columns["selected"][0] = True
        return comparison_views.compared(comparison).to_json()

    def guide(self, arguments: list[str]) -> dict[str, Any]:
        """Collect, or publish."""
        return {"serial": 4, "level": 2, "new": True} if arguments[1] == "publish" else {"received": 9}


CELLS = {"td", "th", "tr", "dt", "dd"}
VOID = {"meta", "link", "input", "br"}
CLASSES = ("<b>yes</b>", "no & more")


class Balanced(HTMLParser):
    """A page whose tags must close in order; ``text`` is its text, ``deepest`` the depth of nested lists."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text, self.deepest, self.tags = "", 0, set[str]()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag."""
        assert not any(name.startswith("on") for name, _ in attrs)
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.deepest = max(self.deepest, self.open.count("ul"))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a self-closing tag, as in charts."""
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close a tag, and the cells within it, which need no end tags."""
        while self.open[-1] != tag and self.open[-1] in CELLS:
            self.open.pop()
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Record text."""
        self.text += data


AGE = HOSTILE[0]
COLUMNS = {
    AGE: {"kind": "number", "low": 0, "high": 100, "intervals": 20, "release": "square-wave", "optional": True},
    "pay": {"kind": "number", "low": 0, "high": 5_000_000, "intervals": 10, "release": "gaussian", "privacy": "50%"},
    "shop": {"kind": "category", "values": HOSTILE[:3], "release": "response"},
    "class": {"kind": "label", "values": list(CLASSES), "release": "as-is"},
}


def people() -> pd.DataFrame:
    """Return 4,000 people whose class depends on their age."""
    rng = np.random.default_rng(3)
    age, pay = rng.uniform(0, 100, 4000).round(1), rng.integers(0, 5_000_000, 4000)
    label = np.where(rng.random(4000) < np.where(age > 50, 0.9, 0.1), *CLASSES)
    age[:40] = np.nan
    return pd.DataFrame({AGE: age, "pay": pay, "shop": rng.choice(HOSTILE[:3], 4000), "class": label})


def made(folder: Path) -> dict[str, Path]:
    """Write distributions, also by class, a tree and two suppression reports; return the files by name."""
    table = people().drop(columns="pay").dropna()
    columns = {name: COLUMNS[name] for name in table}  # a column of missing values is a wide table
    plan = numeric.plan_table({"columns": columns}, ap.Guarantee("5%", "95%"), reports=4000)
    reports = ap.randomize(table, plan)
    files = {name: folder / f"{name}.json" for name in ("plan", "spread", "classes", "tree", "cells", "items")}
    write_plan(plan, files["plan"])
    ap.reconstruct(reports).write(files["spread"])
    ap.reconstruct(reports, by="class").write(files["classes"])
    write_tree(numeric.grow_tree(reports, "class"), files["tree"])
    _suppressed(folder, files, table)
    return files


def _suppressed(folder: Path, files: dict[str, Path], table: pd.DataFrame) -> None:
    """Write the reports of a table and of baskets."""
    table.assign(old=np.where(table[AGE] > 50, "old", "young")).to_csv(folder / "table.csv", index=False)
    (folder / "cells.toml").write_text(
        f'[[template]]\nchannel = ["shop", "old"]\nsensitive = {{ class = ["{CLASSES[0]}"] }}\nconfidence = "60%"\n'
    )
    content = '[[template]]\nchannel = ["tea", "<i>"]\nsensitive = ["milk"]\nconfidence = "60%"\n'
    (folder / "items.toml").write_text(content)
    baskets = ["tea,<i>,milk", "tea,<i>,milk", "tea,milk", "tea", "<i>", "bread", "bread", "bread,milk"] * 5
    (folder / "baskets.csv").write_text("\n".join(baskets) + "\n")
    for name, source, templates, options in (
        ("cells", "table.csv", "cells.toml", ()),
        ("items", "baskets.csv", "items.toml", ("--layout", "lines")),
    ):
        out = folder / f"{name}-released.csv"
        done = run("suppress", folder / source, "--templates", folder / templates, "-o", out, "--json", *options)
        files[name].write_text(done.stdout)
