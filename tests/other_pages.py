"""Files of what other systems found, whose names are markup, scripts and endless: of each a page is made."""

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
from command_line import run
from operator_page import HOSTILE

import assocpriv as ap
from assocpriv import numeric
from assocpriv.files.plans import write_plan
from assocpriv.files.tree_models import write_tree

CELLS = {"td", "th", "tr", "dt", "dd"}
VOID = {"meta", "link", "input", "br"}
CLASSES = ("<b>yes</b>", "no & more")


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
        """Close a tag, and cells within it, which need no end tags."""
        while self.open[-1] != tag and self.open[-1] in CELLS:
            self.open.pop()
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.text += data


def made(folder: Path) -> dict[str, Path]:
    """Write distributions, by class too, a tree and two reports of suppressions; return the files by name."""
    rng = np.random.default_rng(3)
    n = 4_000
    age, shop = rng.uniform(0, 100, n).round(1), rng.choice(HOSTILE[:3], n)
    label = np.where(rng.random(n) < np.where(age > 50, 0.9, 0.1), *CLASSES)
    table = pd.DataFrame({HOSTILE[0]: age, "shop": shop, "class": label})
    columns = {
        HOSTILE[0]: {"kind": "number", "low": 0, "high": 100, "intervals": 20, "release": "square-wave"},
        "shop": {"kind": "category", "values": list(HOSTILE[:3]), "release": "response"},
        "class": {"kind": "label", "values": list(CLASSES), "release": "as-is"},
    }
    plan = numeric.plan_table({"columns": columns}, ap.Breach("5%", "95%"), reports=n)
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
    table.assign(old=np.where(table[HOSTILE[0]] > 50, "old", "young")).to_csv(folder / "table.csv", index=False)
    (folder / "cells.toml").write_text(
        f'[[template]]\nchannel = ["shop", "old"]\nsensitive = {{ class = ["{CLASSES[0]}"] }}\nconfidence = "60%"\n'
    )
    (folder / "items.toml").write_text(
        '[[template]]\nchannel = ["tea", "<i>"]\nsensitive = ["milk"]\nconfidence = "60%"\n'
    )
    baskets = ["tea,<i>,milk", "tea,<i>,milk", "tea,milk", "tea", "<i>", "bread", "bread", "bread,milk"] * 5
    (folder / "baskets.csv").write_text("\n".join(baskets) + "\n")
    for name, source, templates, options in (
        ("cells", "table.csv", "cells.toml", ()),
        ("items", "baskets.csv", "items.toml", ("--layout", "lines")),
    ):
        out = folder / f"{name}-released.csv"
        said = run("suppress", folder / source, "--templates", folder / templates, "-o", out, "--json", *options)
        files[name].write_text(said.stdout)
