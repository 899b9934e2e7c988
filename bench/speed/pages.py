"""How long the page of a large table takes to make, and how large it is, beside pandas' HTML of all its rows."""

import json
import shutil
import statistics
import subprocess
from collections.abc import Iterator
from functools import partial
from itertools import combinations, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.speed.javascript import CLIENT
from bench.speed.timing import TURNS, medians
from bench.tables import table

if TYPE_CHECKING:
    import pandas as pd


SIZES = {1_000: 200, 10_000: 2_000, 100_000: 10_000}  # itemsets: items


def run(*, quick: bool = False) -> dict[str, Any]:
    """Return seconds and bytes by number of itemsets, ours and pandas' by turns, and how long Chromium opens ours."""
    from assocpriv.show.pages import page

    rows = []
    turns = 1 if quick else TURNS
    for itemsets, items in list(SIZES.items())[: 1 if quick else None]:
        frame = large_table(itemsets, items)
        ours, theirs = medians(partial(page, frame), frame.to_html, rounds=turns)
        text = page(frame)
        rows.append({
            "itemsets": itemsets, "items": items, "page_s": ours, "page_kb": len(text.encode()) / 1000,
            "open_ms": opening(text, turns), "pandas_s": theirs, "pandas_kb": len(frame.to_html().encode()) / 1000,
        })  # fmt: skip
    return {"rows": rows}


def opening(text: str, turns: int) -> float | None:
    """Return milliseconds until Chromium has opened a page and drawn it; None without node and its tools."""
    if not (node := shutil.which("node")) or not (CLIENT / "node_modules").is_dir():
        return None
    with TemporaryDirectory(prefix="assocpriv-bench-") as folder:
        path = Path(folder) / "page.html"
        path.write_text(text, encoding="utf-8")
        command = [node, str(Path(__file__).with_name("open_page.mjs")), str(CLIENT), str(path), str(turns)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return statistics.median(json.loads(done.stdout))


def markdown(result: dict[str, Any]) -> str:
    """Return the figures as a table."""
    columns = {
        "itemsets": "itemsets", "items": "items", "page, s": "page_s", "KB": "page_kb", "opens in ms": "open_ms",
        "pandas' HTML of all rows, s": "pandas_s", "its KB": "pandas_kb",
    }  # fmt: skip
    return table(columns, result["rows"])


def large_table(itemsets: int, items: int) -> "pd.DataFrame":
    """Return a table as mining gives it: single items, then pairs and triples of the first, and all their parts."""
    import assocpriv as ap

    plan = ap.plan(items=3, transaction_size=3, promise=ap.Breach("5%", "99%"))
    small = ap.mine(ap.randomize([{0, 1, 2}] * 6_000, plan), 0.2)
    names = [f"item number {place}" for place in range(items)]
    found = list(islice(_closed(names), itemsets))
    support = np.sort(np.random.default_rng(1).uniform(0.001, 0.1, itemsets))[::-1]
    of_size = small.drop_duplicates("length").set_index("length")
    lengths = [len(each) for each in found]
    frame = of_size.loc[lengths].reset_index()[list(small.columns)]
    frame["itemsets"], frame["support"] = found, support
    frame["ci_low"], frame["ci_high"] = support - 2 * frame["std_error"], support + 2 * frame["std_error"]
    frame.attrs = small.attrs
    return frame


def _closed(names: list[str]) -> Iterator[frozenset[str]]:
    """Yield single items, then pairs and triples of ever more of them."""
    yield from (frozenset({name}) for name in names)
    for last in range(1, len(names)):
        yield from (frozenset({names[first], names[last]}) for first in range(last))
        yield from (frozenset({*pair, names[last]}) for pair in combinations(names[: min(last, 80)], 2))
