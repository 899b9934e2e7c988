"""Measure: ``python -m bench [SET] [--json] [--save] [...]``; ``--help`` lists the sets.

Machines are shared and noisy, so every figure is a ratio against a peer or a ceiling measured in the same run; medians
of several rounds, the sides taken in turn. Each measurement has a process of its own. ``figures`` measures nothing: it
computes what plans can discover, the same everywhere, and always keeps it. ``accuracy`` compares what methods find at
equal privacy; it takes hours and goes on where it was.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import tables
from bench.accuracy import (
    additive_noise,
    central,
    choices,
    compared,
    liars,
    lists,
    numeric,
    sizes,
    substitutes,
)
from bench.accuracy import run as accuracy
from bench.figures import guided_plots, tree_plots
from bench.figures import run as figures
from bench.figures import suppression as suppression_figures
from bench.machine import machine, versions
from bench.speed import (
    channel,
    collector,
    datasets,
    device_timing,
    javascript,
    mining,
    spark,
    startup,
    suppression,
)
from bench.speed import tables as table_speed
from bench.speed.child import measure
from bench.speed.peers import PEERS

RESULTS = Path(__file__).parent / "results"
STORE = Path(__file__).parent / "accuracy" / "runs.jsonl"  # not kept in the repository
TITLES = {
    "kernels": "The compiled loops",
    "mining": "Mining end to end",
    "startup": "Start-up",
    "numeric": "Tables randomized",
    "spark": "Mining on Spark",
    "suppression-speed": "Suppression by templates, file to file",
    "collector": "The collector under load",
    "channel": "The anonymous channel from end to end",
    "device": "What a device's time tells",
    "js": "The client in JavaScript",
    "liars": "Crafted reports",
    "noise": "Noise without γ on columns that go together",
}


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "set",
        nargs="?",
        choices=[*TITLES, "figures", "trees", "guided", "suppression", "accuracy", "all"],
        default="kernels",
        help="what to measure",
    )
    parser.add_argument(
        "subject",
        nargs="?",
        choices=list(ACCURACY),
        default="baskets",
        help="accuracy: of what",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a set, on one line")
    parser.add_argument("--save", action="store_true", help="keep JSON and a table under bench/results/")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything works")
    parser.add_argument("--large", action="store_true", help="mining: also 10^8 reports")
    parser.add_argument("--reports", type=int, help="kernels, numeric, liars, noise: how many people")
    parser.add_argument("--cases", default="", help="mining: only these, with commas (quest-1e6,retail,randomized)")
    parser.add_argument("--peers", default=",".join(PEERS), help="mining: only these, with commas; none for none")
    parser.add_argument("--seeds", type=int, default=3, help="accuracy, trees, guided: runs of each cell (default 3)")
    parser.add_argument(
        "--half",
        choices=["tuning", "held-out", "fresh", "both"],
        default="held-out",
        help="accuracy: which half of the sets",
    )
    parser.add_argument(
        "--tops", type=whole_numbers, default="32,64,128", help="accuracy: itemsets wanted, with commas"
    )
    parser.add_argument(
        "--people", type=people_number, default=10**6, help="accuracy: in resampled sets (default 1,000,000)"
    )
    parser.add_argument("--methods", type=method_names, default="", help="accuracy: only these, with semicolons")
    parser.add_argument("--workers", type=int, default=2, help="accuracy: processes (default 2)")
    parser.add_argument("--anjana-python", help="suppression: a Python with anjana, which needs an older pandas")
    parser.add_argument("--store", type=Path, default=STORE, help="accuracy: file of runs to go on with")
    parser.add_argument("--limit", type=float, default=300.0, help="mining: seconds a peer may take (default 300)")
    return parser.parse_args()


def people_number(text: str) -> int:
    """Read how many people there are, enough to be split into groups."""
    if (number := int(text)) < 1_000:
        raise argparse.ArgumentTypeError(f"there must be 1,000 people or more, got {number:,}")
    return number


def whole_numbers(text: str) -> tuple[int, ...]:
    """Read numbers with commas."""
    return tuple(int(part) for part in text.split(","))


def method_names(text: str) -> tuple[str, ...]:
    """Read names of methods with semicolons; none is all."""
    found = tuple(name.strip() for name in text.split(";") if name.strip())
    if unknown := [name for name in found if name not in accuracy.method_names()]:
        raise argparse.ArgumentTypeError(f"no method {'; '.join(unknown)}, but {'; '.join(accuracy.method_names())}")
    return found


def kernels(options: argparse.Namespace) -> dict[str, Any]:
    """Run the kernels in a process of their own."""
    return measure("bench.speed.kernels:run", n_reports=options.reports or (100_000 if options.quick else 1_000_000))


def mining_settings(options: argparse.Namespace) -> mining.Settings:
    """Return what the command line says of mining."""
    cases = [name for name in options.cases.split(",") if name]
    peers = [name.strip() for name in options.peers.split(",")]
    return mining.Settings(options.quick, options.large, cases, peers, options.limit)


RUNS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "kernels": kernels,
    "mining": lambda options: mining.run(mining_settings(options)),
    "startup": lambda options: startup.run(quick=options.quick),
    "suppression-speed": lambda options: suppression.run(quick=options.quick),
    "numeric": lambda options: table_speed.run(options.reports or (20_000 if options.quick else 1_000_000)),
    "spark": lambda options: spark.run(options.reports or (1_000_000 if options.quick else 20_000_000)),
    "collector": lambda options: collector.run(quick=options.quick, reports=options.reports or 10_000_000),
    "channel": lambda options: channel.run(quick=options.quick),
    "device": lambda options: device_timing.run(quick=options.quick),
    "js": lambda options: javascript.run(quick=options.quick),
    "liars": lambda options: liars.run(options.reports or (20_000 if options.quick else 1_000_000)),
    "noise": lambda options: additive_noise.run(options.reports or (20_000 if options.quick else 200_000)),
}


def as_markdown(name: str, result: dict[str, Any]) -> str:
    """Return a set's figures, with what they were measured on, as Markdown."""
    sets = {
        "mining": mining, "startup": startup, "device": device_timing, "liars": liars, "noise": additive_noise,
        "channel": channel, "spark": spark, "collector": collector, "js": javascript, "suppression-speed": suppression,
    }  # fmt: skip
    write = sets[name].markdown if name in sets else tables.all_figures
    return tables.heading(result, TITLES[name]) + write(result)


def save(name: str, result: dict[str, Any], options: argparse.Namespace) -> None:
    """Keep a result as JSON and as Markdown."""
    RESULTS.mkdir(exist_ok=True)
    marks = "".join(f"-{mark}" for mark in ("quick", "large") if getattr(options, mark))
    stem = RESULTS / f"{name}{marks}"
    stem.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    stem.with_suffix(".md").write_text(as_markdown(name, result), encoding="utf-8")
    mining.tell(f"kept as {stem.name}.json and {stem.name}.md")


def accuracy_choice(options: argparse.Namespace) -> accuracy.Choice:
    """Return what the command line says of the accuracy bench."""
    return accuracy.Choice(
        halves=accuracy.halves_of(options.half),
        tops=options.tops,
        people=options.people,
        methods=options.methods,
        seeds=options.seeds,
        quick=options.quick,
        workers=options.workers,
    )


def compare(options: argparse.Namespace) -> None:
    """Run an accuracy bench and print or save it."""
    subject = options.subject
    title, module, measured = ACCURACY[subject]
    stem = "accuracy" + ("" if subject == "baskets" else f"-{subject}")
    about = {"set": stem.replace("-", " "), "machine": machine(), "versions": versions()}
    kept = found = about | measured(options)
    if subject == "baskets":
        halves = {half: {name: value for name, value in of_half.items() if name != "tables"}
                  for half, of_half in found["halves"].items()}  # fmt: skip
        kept = found | {"halves": halves}
    text = tables.heading(found, title) + module.markdown(found)
    print(json.dumps(found) if options.json else text, flush=True)
    if options.save:
        half = f"-{options.half}" if subject == "lists" else ""
        path = RESULTS / f"{stem}{half}{'-quick' if options.quick else ''}"
        path.with_suffix(".json").write_text(json.dumps(kept) + "\n", encoding="utf-8")
        path.with_suffix(".md").write_text(text, encoding="utf-8")
        mining.tell(f"kept as {path.name}.json and {path.name}.md")


def some(module: Any, options: argparse.Namespace) -> Any:
    """Return a bench's numbers of people, with --quick the first alone."""
    return module.PEOPLE[:1] if options.quick else module.PEOPLE


# of each subject its title, who writes it, and how it is measured
ACCURACY: dict[str, tuple[str, Any, Callable[[argparse.Namespace], dict[str, Any]]]] = {
    "baskets": (
        "What methods find at equal privacy", accuracy,
        lambda options: accuracy.run(options.store, accuracy_choice(options)),
    ),
    "numeric": (
        "Distributions of numbers at equal privacy", numeric,
        lambda options: numeric.run(options.seeds, quick=options.quick),
    ),
    "sizes": (
        "The law of baskets' sizes from one collection", sizes,
        lambda options: sizes.run(options.seeds, 20_000 if options.quick else options.people),
    ),
    "choices": (
        "What the planner chooses, and the best in hindsight", choices,
        lambda options: choices.run(options.seeds, cells=choices.CELLS[:1] if options.quick else choices.CELLS),
    ),
    "lists": (
        "How true the lists of one collection are", lists,
        lambda options: lists.run(options.half, options.seeds, some(lists, options)),
    ),
    "compared": (
        "Changes that two collections show", compared,
        lambda options: compared.run(
            "tuning" if options.half == "tuning" else "fresh", options.seeds, some(compared, options),
            1 if options.quick else compared.UNCHANGED,
        ),
    ),
    "central": (
        "What an anonymous channel is worth", central,
        lambda options: central.run(options.seeds, some(central, options)),
    ),
    "substitutes": (
        "Substitutes, and what rules are worth", substitutes,
        lambda options: substitutes.run(options.seeds, some(substitutes, options)),
    ),
}  # fmt: skip


def main() -> None:
    """Run sets of measurements and print or save them."""
    options = arguments()
    if options.set == "figures":
        figures.draw_demo(RESULTS / "demo")
        found = figures.run(RESULTS / "figures")
        print(json.dumps(found) if options.json else figures.markdown(found))
        return
    if options.set == "trees":
        found = tree_plots.compute(RESULTS / "trees", datasets.SHARED, seeds=options.seeds, quick=options.quick)
        print(json.dumps(found) if options.json else tree_plots.markdown(found))
        return
    if options.set == "suppression":
        peers = {"anjana_python": options.anjana_python}
        found = suppression_figures.compute(RESULTS / "suppression", datasets.SHARED, quick=options.quick, **peers)
        print(json.dumps(found) if options.json else suppression_figures.markdown(found))
        return
    if options.set == "guided":
        found = guided_plots.compute(RESULTS / "guided", datasets.SHARED, seeds=options.seeds, quick=options.quick)
        print(json.dumps(found) if options.json else guided_plots.markdown(found))
        return
    if options.set == "accuracy":
        compare(options)
        return
    quick_enough = [name for name in TITLES if name not in ("suppression-speed", "js")]
    for name in quick_enough if options.set == "all" else [options.set]:
        about = {"set": name, "machine": machine(), "versions": versions()}
        result = about | RUNS[name](options)
        print(json.dumps(result) if options.json else as_markdown(name, result), flush=True)
        if options.save:
            save(name, result, options)
        if "failure" in result:
            sys.exit(f"{name}: {result['failure']}")


if __name__ == "__main__":
    main()
