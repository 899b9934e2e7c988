"""Measure speed and accuracy: ``python -m bench SET [--json] [--save] [...]``; ``--help`` lists the sets.

Machines are shared and noisy. So every speed is a ratio to a peer measured in the same run: medians of several rounds,
the sides taking turns, each measurement in its own process. ``accuracy`` takes hours and resumes an interrupted run.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from psutil import virtual_memory

import assocpriv
from bench import tables
from bench.accuracy import (
    additive_noise,
    calibration,
    central,
    compared,
    links,
    manipulation,
    releases,
    single_items,
    substitutes,
)
from bench.accuracy import run as accuracy
from bench.figures import curves, guided, picture, suppression, trees
from bench.speed import channel, collector, device_timing, mining, reading, spark
from bench.speed.datasets import SHARED
from bench.speed.measuring import log_progress, measure
from bench.speed.miners import PEERS

RESULTS = Path(__file__).parent / "results"
STORE = Path(__file__).parent / "accuracy" / "runs.jsonl"  # not kept in the repository
Options = argparse.Namespace


class Bench(NamedTuple):
    """A set of measurements: its title, and the functions that measure it and write it."""

    title: str
    run: Callable[[Options], dict[str, Any]]
    markdown: Callable[[dict[str, Any]], str] = tables.all_figures


def reports(options: Options, usual: int, quick: int) -> int:
    """Return the number of reports of a set."""
    return int(options.reports or (quick if options.quick else usual))


def some(module: Any, options: Options) -> Any:
    """Return the numbers of people that a bench measures, only the first of them with --quick."""
    return module.PEOPLE[:1] if options.quick else module.PEOPLE


def mining_settings(options: Options) -> mining.Settings:
    """Return the settings of the mining bench from the command line."""
    cases = [name for name in options.cases.split(",") if name]
    return mining.Settings(options.quick, options.large, cases, options.peers.split(","), options.limit)


def accuracy_choice(options: Options) -> accuracy.Choice:
    """Return the settings of the accuracy bench from the command line."""
    tops = tuple(int(part) for part in options.tops.split(","))
    named = tuple(name.strip() for name in options.methods.split(";") if name.strip())
    if unknown := {*named} - {method.name for method in accuracy.methods()}:
        sys.exit(
            f"unknown method {'; '.join(unknown)}; known: {'; '.join(method.name for method in accuracy.methods())}"
        )
    halves = (options.half,)
    return accuracy.Choice(halves, tops, options.people, named, options.seeds, options.quick, options.workers)


SETS = {
    "reading": Bench("Reading basket files", lambda options: reading.run(reports(options, 10_000_000, 100_000))),
    "kernels": Bench(
        "The compiled loops",
        lambda options: measure("bench.speed.kernels:run", n_reports=reports(options, 1_000_000, 20_000)),
    ),
    "mining": Bench("Mining end to end", lambda options: mining.run(mining_settings(options)), mining.markdown),
    "spark": Bench(
        "Mining on Spark", lambda options: spark.run(reports(options, 20_000_000, 1_000_000)), spark.markdown
    ),
    "collector": Bench(
        "The collector under load", lambda options: collector.run(quick=options.quick), collector.markdown
    ),
    "channel": Bench(
        "The anonymous channel from end to end", lambda options: channel.run(quick=options.quick), channel.markdown
    ),
    "links": Bench(
        "What each party of the channel can link",
        lambda options: links.run(reports(options, 20_000, 2_000)), links.markdown,
    ),
    "device": Bench(
        "What device timing reveals", lambda options: device_timing.run(quick=options.quick), device_timing.markdown
    ),
    "manipulation": Bench(
        "Manipulated reports",
        lambda options: manipulation.run(reports(options, 1_000_000, 20_000)), manipulation.markdown,
    ),
    "noise": Bench(
        "Noise without γ on correlated columns",
        lambda options: additive_noise.run(reports(options, 200_000, 20_000)), additive_noise.markdown,
    ),
    "accuracy": Bench(
        "What methods find at equal privacy",
        lambda options: accuracy.run(options.store, accuracy_choice(options)), accuracy.markdown,
    ),
    "central": Bench(
        "Gain from an anonymous channel",
        lambda options: central.run(options.seeds, some(central, options)), central.markdown,
    ),
    "releases": Bench(
        "Releases under central privacy",
        lambda options: releases.run(options.seeds, some(releases, options)), releases.markdown,
    ),
    "calibration": Bench(
        "Calibration on difficult baskets",
        lambda options: calibration.run(some(calibration, options), options.seeds, options.workers),
    ),
    "single-items": Bench(
        "Precision of single items",
        lambda options: single_items.run(reports(options, single_items.PEOPLE, 20_000)), single_items.markdown,
    ),
    "compared": Bench(
        "Changes detected between two collections",
        lambda options: compared.run(
            "tuning" if options.half == "tuning" else "fresh", options.seeds, some(compared, options),
            1 if options.quick else compared.UNCHANGED,
        ),
        compared.markdown,
    ),
    "substitutes": Bench(
        "Substitutes, and the value of rules",
        lambda options: substitutes.run(options.seeds, some(substitutes, options)), substitutes.markdown,
    ),
    "figures": Bench("What plans can detect", lambda _: curves.run()),
    "trees": Bench("Accuracy of trees, %", lambda options: trees.run(options.seeds, quick=options.quick)),
    "guided": Bench(
        "Guided perturbation", lambda options: guided.run(SHARED, seeds=options.seeds, quick=options.quick)
    ),
    "suppression": Bench("Suppression by templates", lambda options: suppression.run(SHARED, quick=options.quick)),
    "demo": Bench("The README's picture", lambda _: picture.run()),
}  # fmt: skip


# ---- the machine


CPU = Path("/sys/devices/system/cpu/cpu0/cache")
MEASURED = ("numpy", "scipy", "pyarrow", "pandas", "pyfim", "mlxtend", "efficient-apriori", "pyspark")


def machine() -> dict[str, object]:
    """Return processor, cores, caches and memory."""
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "caches": caches(),
        "memory_gib": round(virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
    }


def cpu_model() -> str:
    """Return the processor's name, with its family and model where the system reports them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    fields = dict(reversed([(part.strip() for part in line.split(":", 1)) for line in lines if ":" in line]))
    name = fields.get("model name", platform.processor())
    return f"{name}, family {fields.get('cpu family', '?')} model {fields.get('model', '?')}"


def caches() -> dict[str, str]:
    """Return the sizes of the first core's caches by level and kind."""
    found = {}
    for index in sorted(CPU.glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        found[f"L{level} {kind.lower()}"] = size
    return found


def versions() -> dict[str, str]:
    """Return the versions of all measured packages; peers that are not installed are left out."""
    found = {"assocpriv": assocpriv.__version__}  # metadata of an editable installation may be of an older version
    for name in MEASURED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


# ---- the command


def arguments() -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("set", choices=list(SETS), help="what to measure")
    parser.add_argument("--json", action="store_true", help="print one JSON object on one line")
    parser.add_argument("--save", action="store_true", help="keep the figures under bench/results/")
    parser.add_argument("--quick", action="store_true", help="small sizes, to check that everything works")
    parser.add_argument("--large", action="store_true", help="mining: also 10^8 reports")
    parser.add_argument(
        "--reports", type=int, help="kernels, spark, manipulation, noise, single-items: number of people"
    )
    parser.add_argument("--cases", default="", help="mining: comma-separated cases (quest-1e6,retail)")
    parser.add_argument("--peers", default=",".join(PEERS), help="mining: comma-separated peers, or none")
    parser.add_argument("--limit", type=float, default=300.0, help="mining: seconds a peer may take (default 300)")
    parser.add_argument("--seeds", type=int, default=3, help="accuracy and published figures: runs per cell (3)")
    parser.add_argument("--half", choices=["tuning", "held-out", "fresh"], default="held-out", help="accuracy: sets")
    parser.add_argument("--tops", default="32,64,128", help="accuracy: comma-separated numbers of top itemsets")
    parser.add_argument("--people", type=int, default=10**6, help="accuracy: people per resampled set (default 10⁶)")
    parser.add_argument("--methods", default="", help="accuracy: methods, separated by semicolons")
    parser.add_argument("--workers", type=int, default=2, help="accuracy: processes (default 2)")
    parser.add_argument("--store", type=Path, default=STORE, help="accuracy: file of finished runs to continue from")
    return parser.parse_args()


def save(name: str, result: dict[str, Any], text: str) -> None:
    """Save a result as Markdown and JSON; a result with tables as Markdown, CSV and pictures in its own folder."""
    files = {f"{name}.md": text}
    if "tables" in result:
        files |= {f"{name}/{each}.csv": tables.as_csv(rows) for each, rows in result["tables"].items()}
        files |= {f"{name}/{each}.svg": drawn for each, drawn in result.get("pictures", {}).items()}
    else:
        files[f"{name}.json"] = json.dumps(result, indent=None if "halves" in result else 1) + "\n"
    for file, content in files.items():
        (RESULTS / file).parent.mkdir(parents=True, exist_ok=True)
        (RESULTS / file).write_text(content, encoding="utf-8", newline="\n")
    log_progress(f"saved in {RESULTS}: {', '.join(files)}")


def main() -> None:
    """Run a set of measurements and print or save it."""
    options = arguments()
    bench = SETS[options.set]
    result = {"set": options.set, "machine": machine(), "versions": versions()} | bench.run(options)
    if "failure" in result:
        sys.exit(f"{options.set}: {result['failure']}")
    text = tables.heading(result, bench.title) + bench.markdown(result)
    print(json.dumps(result) if options.json else text, flush=True)
    if options.save:
        marks = "".join(f"-{mark}" for mark in ("quick", "large") if getattr(options, mark))
        save(options.set + marks, result, text)


if __name__ == "__main__":
    main()
