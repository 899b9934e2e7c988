"""What a device waits for: a plan checked, and one report, in Chromium and in node, beside our own client."""

import json
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assocpriv.client.baskets import Randomizer
from assocpriv.planning.baskets import make_plan
from assocpriv.plans.kind import parse_plan
from assocpriv.promise.entropy import SystemEntropy
from bench.plans import PROMISE, coded, fixed_size
from bench.speed.mining import tell
from bench.tables import table

CLIENT = Path(__file__).parents[2] / "clients" / "js"
BASKET = [3, 141, 59, 265, 35]
PLACES = ("chromium", "node", "python")
_NAMED = 10_000


def run(*, quick: bool = False) -> dict[str, Any]:
    """Return milliseconds of loads and reports, the ratios to our client's, and the size of the module."""
    if not (node := shutil.which("node")) or not (CLIENT / "node_modules").is_dir():
        return {"failure": "needs node, and `npm ci` in clients/js"}
    tell("js: plans")
    asked = {"plans": plans(), "rounds": 5 if quick else 50, "reports": 200 if quick else 5_000}
    tell("js: Chromium and node")
    command = [node, str(CLIENT / "bench" / "device.js")]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    tell("js: Python")
    found["python"] = of_python(asked)
    result: dict[str, Any] = {"engines": {place: found[place].pop("version") for place in ("chromium", "node")}}
    for what in ("load", "report"):
        result[what] = {
            name: {place: figures(found[place][what][name]) for place in PLACES} for name in asked["plans"][what]
        }
    result["first_report"] = {name: figures(taken) for name, taken in found["chromium"]["first"].items()}
    with TemporaryDirectory() as folder:
        bundle = [node, str(CLIENT / "tools" / "bundle.js"), folder]
        told = json.loads(subprocess.run(bundle, capture_output=True, text=True, check=True).stdout)
    return result | {"module": {name: told[name] for name in ("bytes", "gzip", "brotli")}}


def plans() -> dict[str, dict[str, str]]:
    """Return plans as text, by what is timed: 5% → 50%, five items but where it is chosen."""
    names = [f"item number {place:05d}" for place in range(_NAMED)]
    chosen = make_plan(1_000, PROMISE)
    made = {
        "load": {"1,000 numbered items": chosen, f"{_NAMED:,} named items": make_plan(names, PROMISE)},
        "report": {
            "as planned": chosen,
            "a bit an item (bch)": coded(1_000),
            "a bit an item (none)": coded(1_000, "none"),
            "fixed size": fixed_size(100),
        },
    }
    return {what: {name: json.dumps(plan.to_json()) for name, plan in some.items()} for what, some in made.items()}


def of_python(asked: dict[str, Any]) -> dict[str, Any]:
    """Return what the scripts return of node and Chromium, of our own client."""
    found: dict[str, Any] = {"load": {}, "report": {}}
    for name, text in asked["plans"]["load"].items():
        found["load"][name] = times(lambda text=text: parse_plan(text), asked["rounds"])
    for name, text in asked["plans"]["report"].items():
        call = partial(one_report, Randomizer(parse_plan(text)))
        found["report"][name] = times(call, asked["reports"])
    return found


def one_report(randomizer: Randomizer) -> bytes:
    """Make a report of words of its own."""
    return randomizer.randomize(BASKET, entropy=SystemEntropy())


def times(call: Callable[[], object], rounds: int) -> list[float]:
    """Return milliseconds of each of some calls."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        taken.append(1_000 * (time.perf_counter() - start))
    return taken


def figures(taken: Iterable[float]) -> dict[str, float]:
    """Return the median and the 99th percentile."""
    ordered = sorted(taken)
    return {"median": statistics.median(ordered), "p99": ordered[-(-99 * len(ordered) // 100) - 1]}


def markdown(result: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    if "failure" in result:
        return f"{result['failure']}\n"
    engines, module = result["engines"], result["module"]
    parts = [
        f"Chromium {engines['chromium']} in a page, node {engines['node']}. Milliseconds, 5% → 50%, M = 5. The first "
        "report in a page makes what later ones use again, by code that is not compiled yet: medians of eleven pages. "
        "Ratios are of medians, over the client in Python, one report at a time.\n",
        _table("A plan loaded and checked", result["load"]),
        _table("One report, 1,000 items", result["report"], result["first_report"]),
        f"The module in one file: {module['bytes']:,} bytes, {module['gzip']:,} with gzip, {module['brotli']:,} with "
        "Brotli.\n",
    ]
    return "\n".join(parts)


def _table(title: str, rows: dict[str, Any], first: dict[str, Any] | None = None) -> str:
    lines = []
    for name, of in rows.items():
        line = {title: name} | {f"{place} {figure}": of[place][figure] for place in PLACES for figure in of[place]}
        line |= {"first in a new page, median": first[name]["median"]} if first else {}
        line |= {f"{place} ÷ python": of[place]["median"] / of["python"]["median"] for place in PLACES[:2]}
        lines.append(line)
    return table({heading: heading for heading in lines[0]}, lines)
