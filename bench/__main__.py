"""Measure: ``python -m bench [SET] [--json] [--save] [...]``; ``--help`` lists the sets.

Machines are shared and noisy, so every figure is a ratio against a peer or a ceiling measured in the same run; medians
of several rounds, the sides taken in turn. Each measurement has a process of its own. ``figures`` measures nothing: it
computes what plans can discover, the same everywhere, and always keeps it. ``accuracy`` compares what methods find at
equal privacy; it takes hours and goes on where it was. ``planted`` plants faults in copies of the source.
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
    planted,
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
    growth,
    javascript,
    mining,
    pages,
    reading,
    reconstruction,
    spark,
    startup,
    suppression,
)
from bench.speed import guided as guided_speed
from bench.speed import tables as table_speed
from bench.speed import trees as tree_speed
from bench.speed.child import measure
from bench.speed.peers import PEERS

RESULTS = Path(__file__).parent / "results"
STORE = Path(__file__).parent / "accuracy" / "runs.jsonl"  # not kept in the repository
TITLES = {
    "kernels": "The compiled loops",
    "mining": "Mining end to end",
    "growth": "How mining grows",
    "startup": "Start-up",
    "numeric": "Tables randomized",
    "reading": "Files of baskets read",
    "spark": "Mining on Spark",
    "reconstruct": "Distributions from a file of released records",
    "tree-speed": "Trees grown",
    "guided-speed": "Guided perturbation, file to file",
    "suppression-speed": "Suppression by templates, file to file",
    "collector": "The collector under load",
    "channel": "The anonymous channel from end to end",
    "device": "What a device's time tells",
    "js": "The client in JavaScript",
    "pages": "Pages of large tables",
    "liars": "Crafted reports",
    "noise": "Noise without γ on columns that go together",
    "planted": "Planted faults",
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
        choices=["baskets", "numeric", "sizes", "choices", "lists", "compared", "central", "substitutes"],
        default="baskets",
        help="accuracy: of what",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a set, on one line")
    parser.add_argument("--save", action="store_true", help="keep JSON and a table under bench/results/")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything works")
    parser.add_argument("--large", action="store_true", help="mining and growth: also 10^8 reports")
    parser.add_argument("--reports", type=int, help="kernels, numeric, liars, noise: how many people")
    parser.add_argument(
        "--cases", default="", help="mining, planted: only these, with commas (quest-1e6,retail,randomized)"
    )
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
    "growth": lambda options: growth.run(quick=options.quick, large=options.large),
    "startup": lambda options: startup.run(quick=options.quick),
    "tree-speed": lambda options: tree_speed.run(10_000 if options.quick else 100_000),
    "guided-speed": lambda options: guided_speed.run(5_000 if options.quick else 100_000),
    "suppression-speed": lambda options: suppression.run(quick=options.quick),
    "numeric": lambda options: table_speed.run(options.reports or (20_000 if options.quick else 1_000_000)),
    "reading": lambda options: reading.run(100_000 if options.quick else 10_000_000),
    "spark": lambda options: spark.run(options.reports or (1_000_000 if options.quick else 20_000_000)),
    "reconstruct": lambda options: reconstruction.run(options.reports or (100_000 if options.quick else 10_000_000)),
    "collector": lambda options: collector.run(quick=options.quick, reports=options.reports or 10_000_000),
    "channel": lambda options: channel.run(quick=options.quick),
    "device": lambda options: device_timing.run(quick=options.quick),
    "js": lambda options: javascript.run(quick=options.quick),
    "pages": lambda options: pages.run(quick=options.quick),
    "liars": lambda options: liars.run(options.reports or (20_000 if options.quick else 1_000_000)),
    "noise": lambda options: additive_noise.run(options.reports or (20_000 if options.quick else 200_000)),
    "planted": lambda options: planted.run(options.cases),
}


def as_markdown(name: str, result: dict[str, Any]) -> str:
    """Return a set's figures, with what they were measured on, as Markdown."""
    sets = {
        "mining": mining,
        "growth": growth,
        "startup": startup,
        "device": device_timing,
        "liars": liars,
        "noise": additive_noise,
    }
    sets |= {"channel": channel, "spark": spark, "pages": pages}
    sets |= {"collector": collector, "planted": planted, "js": javascript, "suppression-speed": suppression}
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
    """Run the accuracy bench and print or save it."""
    about = {"set": "accuracy", "machine": machine(), "versions": versions()}
    found = about | accuracy.run(options.store, accuracy_choice(options))
    halves = {half: {name: value for name, value in of_half.items() if name != "tables"}
              for half, of_half in found["halves"].items()}  # fmt: skip
    text = tables.heading(found, "What methods find at equal privacy") + accuracy.markdown(found)
    show(found, found | {"halves": halves}, text, "accuracy", options)


def show(found: dict[str, Any], kept: dict[str, Any], text: str, stem: str, options: argparse.Namespace) -> None:
    """Print what was found, and save what of it is kept and the text."""
    print(json.dumps(found) if options.json else text, flush=True)
    if options.save:
        path = RESULTS / f"{stem}{'-quick' if options.quick else ''}"
        path.with_suffix(".json").write_text(json.dumps(kept) + "\n", encoding="utf-8")
        path.with_suffix(".md").write_text(text, encoding="utf-8")
        mining.tell(f"kept as {path.name}.json and {path.name}.md")


def compare_choices(options: argparse.Namespace) -> None:
    """Run the bench of what the planner chooses and print or save it."""
    about = {"set": "accuracy choices", "machine": machine(), "versions": versions()}
    cells = choices.CELLS[:1] if options.quick else choices.CELLS
    found = about | choices.run(options.seeds, cells=cells)
    text = tables.heading(found, "What the planner chooses, and the best in hindsight") + choices.markdown(found)
    show(found, found, text, "accuracy-choices", options)


def compare_lists(options: argparse.Namespace) -> None:
    """Run the bench of how true lists are and print or save it."""
    about = {"set": "accuracy lists", "machine": machine(), "versions": versions()}
    half = "held-out" if options.half == "both" else options.half
    found = about | lists.run(half, options.seeds, lists.PEOPLE[:1] if options.quick else lists.PEOPLE)
    text = tables.heading(found, "How true the lists of one collection are") + lists.markdown(found)
    show(found, found, text, f"accuracy-lists-{half}", options)


def compare_central(options: argparse.Namespace) -> None:
    """Run the bench of what an anonymous channel is worth and print or save it."""
    about = {"set": "accuracy central", "machine": machine(), "versions": versions()}
    found = about | central.run(options.seeds, central.PEOPLE[:1] if options.quick else central.PEOPLE)
    text = tables.heading(found, "What an anonymous channel is worth") + central.markdown(found)
    show(found, found, text, "accuracy-central", options)


def compare_substitutes(options: argparse.Namespace) -> None:
    """Run the bench of substitutes and of what rules are worth and print or save it."""
    about = {"set": "accuracy substitutes", "machine": machine(), "versions": versions()}
    found = about | substitutes.run(options.seeds, substitutes.PEOPLE[:1] if options.quick else substitutes.PEOPLE)
    text = tables.heading(found, "Substitutes, and what rules are worth") + substitutes.markdown(found)
    show(found, found, text, "accuracy-substitutes", options)


def compare_changes(options: argparse.Namespace) -> None:
    """Run the bench of planted changes and print or save it."""
    about = {"set": "accuracy compared", "machine": machine(), "versions": versions()}
    half = "tuning" if options.half == "tuning" else "fresh"
    people, unchanged = (compared.PEOPLE[:1], 1) if options.quick else (compared.PEOPLE, compared.UNCHANGED)
    found = about | compared.run(half, options.seeds, people, unchanged)
    text = tables.heading(found, "Changes that two collections show") + compared.markdown(found)
    show(found, found, text, "accuracy-compared", options)


def compare_sizes(options: argparse.Namespace) -> None:
    """Run the bench of the law of baskets' sizes and print or save it."""
    about = {"set": "accuracy sizes", "machine": machine(), "versions": versions()}
    found = about | sizes.run(options.seeds, 20_000 if options.quick else options.people)
    text = tables.heading(found, "The law of baskets' sizes from one collection") + sizes.markdown(found)
    show(found, found, text, "accuracy-sizes", options)


def compare_numbers(options: argparse.Namespace) -> None:
    """Run the accuracy bench of numbers and print or save it."""
    about = {"set": "accuracy numeric", "machine": machine(), "versions": versions()}
    found = about | numeric.run(options.seeds, quick=options.quick)
    text = tables.heading(found, "Distributions of numbers at equal privacy") + numeric.markdown(found)
    print(json.dumps(found) if options.json else text, flush=True)
    if options.save:
        stem = RESULTS / f"accuracy-numeric{'-quick' if options.quick else ''}"
        stem.with_suffix(".csv").write_text(numeric.as_csv(found["rows"]), encoding="utf-8", newline="\n")
        stem.with_suffix(".md").write_text(text, encoding="utf-8")
        mining.tell(f"kept as {stem.name}.csv and {stem.name}.md")


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
        subjects = {"baskets": compare, "numeric": compare_numbers, "sizes": compare_sizes, "choices": compare_choices}
        subjects |= {
            "lists": compare_lists,
            "compared": compare_changes,
            "central": compare_central,
            "substitutes": compare_substitutes,
        }
        subjects[options.subject](options)
        return
    quick_enough = [name for name in TITLES if name not in ("planted", "suppression-speed", "js", "pages")]
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
