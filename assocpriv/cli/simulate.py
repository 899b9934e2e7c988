"""Both sides at once: the commands demo, generate, simulate.

demo: the whole way on baskets made here. generate: synthetic baskets and records. simulate: a plan tried on baskets at
hand.
"""

from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_ROWS = 15


@opt.command()
@click.option("--baskets", type=opt.PATH, help="Your own baskets instead of generated ones.")
@opt.usual("--size", default=1_000_000, help="Number of baskets to generate.")
@opt.usual("--items", default=1_000, help="Number of items to generate.")
@opt.min_support_option
@opt.seed_option
@opt.reading_options
@opt.usual("-o", "--output", default=Path("assocpriv-demo"), help="Folder.", type=opt.OUTPUT)
def demo(output: Path, force: bool, **options: Any) -> None:
    """Show the whole way on baskets made here (or your own), beside the truth only a demo may know.

    Leaves plan.json, reports.parquet, itemsets.parquet, rules.csv and a page to look at, itemsets.html, in a folder.

    \b
    Example:
      assocpriv demo
      assocpriv demo --baskets baskets.csv --min-support 5%
    """
    path, reading = options.pop("baskets"), {name: options.pop(name) for name in opt.READING}
    baskets = None if path is None else (path, reading)
    settings = ap.DemoSettings(baskets=baskets, promise=ap.Breach("5%", "50%"), **options)
    progress = opt.Progress()
    start = ap.start_demo(settings, output, force=force, progress=progress)
    if not opt.wants_json():
        opt.show(ap.show.audits.demo_start(start))
    done = start.finish(progress)
    found = done.simulation.itemsets, start.paths[-1], start.prospects.plan
    ap.show.pages.write_page(*found, force=True, title="What the demo's baskets have in common")
    opt.show(ap.show.audits.demo(done, _ROWS))


_MAKES = {"quest": ("items", "mean_size"), "agrawal": ("schema",)}


@opt.command()
@click.argument("kind", type=click.Choice(["quest", "agrawal"]))
@opt.usual("--people", default=100_000, help="Number of baskets or records.", type=opt.WholeRange(2))
@opt.usual("--items", default=1_000, help="quest: number of items.")
@opt.usual("--mean-size", default=5.0, help="quest: mean size of a basket.", type=opt.NUMBER)
@click.option("--schema", type=opt.OUTPUT, help="agrawal: also write a schema for plan --schema (TOML).")
@opt.usual("--seed", default=0, help="Same seed, same data.", type=opt.WholeRange(0))
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="File: .dat or .csv; agrawal: .csv or .parquet.")
def generate(kind: str, output: Path, force: bool, **options: Any) -> None:
    """Make synthetic baskets (KIND is quest) or records of a table (agrawal).

    quest: as of IBM's generator, Poisson sizes and overlapping, corrupted patterns. agrawal: loan applicants by
    Agrawal, Imielinski and Swami, nine attributes and a class, half of each.

    \b
    Example:
      assocpriv generate quest --people 100000 --items 1000 -o baskets.dat
      assocpriv generate agrawal -o table.csv
    """
    make = _generate_baskets if kind == "quest" else _generate_records
    make(output, force=force, progress=opt.Progress().stage("generating"), **opt.of_kind(options, kind, _MAKES))


def _generate_baskets(output: Path, people: int, items: int, mean_size: float, seed: int, **writing: Any) -> None:
    chosen = ap.QuestSettings(n_baskets=people, n_items=items, mean_size=mean_size, seed=seed)
    count = len(ap.generate_file(chosen, output, **writing))
    content = {"baskets": count, "items": items, "seed": seed, "output": str(output)}
    opt.show(opt.Record(content, ["{baskets:#basket} over {items:#item} written to {output}"]))


def _generate_records(output: Path, people: int, seed: int, schema: Path | None, **writing: Any) -> None:
    chosen = ap.AgrawalSettings(n_records=people, seed=seed)
    count = ap.generate_agrawal_file(chosen, output, schema=schema, **writing)
    content = {"records": count, "function": chosen.function, "seed": seed, "output": str(output)}
    content |= {} if schema is None else {"schema": str(schema)}
    written = ["schema written to {schema}"] * (schema is not None)
    opt.show(opt.Record(content, ["{records:#record} of function {function} written to {output}", *written]))


_TAKES = {  # which options a kind of plan has
    "baskets": ("people", "min_support", "max_itemset", "incomplete", "unknown", "repeats", "empty"),
    "table": ("missing", "clip"),
    "guided": ("missing", "classifier"),
}


@opt.command(takes=["json"])
@click.argument("file", type=opt.PATH)
@opt.plan_option
@click.option("--people", type=opt.WHOLE, help="Baskets: so many, each with one of FILE's drawn at random.")
@opt.seed_option
@opt.min_support_option
@opt.max_itemset_option
@opt.reading_options
@opt.missing_option
@opt.choice("--classifier", ["naive-bayes", "tree", "logistic"], "Guided: what is learned, by scikit-learn.")
@opt.rare(
    opt.rules_options,
    opt.clip_option,
)
def simulate(file: Path, plan_path: Path, **options: Any) -> None:
    """Try a plan on records like yours, in FILE: both sides, and the truth beside what was found.

    FILE holds baskets, or a table, as the plan says. Trying a guided plan needs assocpriv[trees].

    \b
    Example:
      assocpriv simulate baskets.dat --plan plan.json --seed 1
      assocpriv simulate receipts.csv --plan plan.json --people 20000
      assocpriv simulate table.csv --plan plan.json --seed 1
      assocpriv simulate votes.csv --plan guided.json --missing ? --classifier tree
    """
    plan = opt.read_plan(plan_path, [file])
    wishes = opt.of_kind(options, plan.kind, _TAKES)
    if plan.kind != "baskets":
        wishes |= opt.table_reading(wishes)
    done = ap.simulate(file, plan, progress=opt.Progress(), **wishes)
    opt.show(ap.show.audits.tried(done, plan))
