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
@opt.usual("--epsilon", default="ln19", help="The promise as ε, as for assocpriv plan; ln 19 is from 5% to 50%.")
@click.option("--min-support", metavar="S", help="As for assocpriv mine.")
@click.option("--seed", type=opt.WholeRange(0), help="Makes the randomization repeatable, for a demonstration only.")
@opt.layout_option
@opt.usual("-o", "--output", default=Path("assocpriv-demo"), help="Folder.", type=opt.OUTPUT)
@opt.result_options
def demo(output: Path, force: bool, **options: Any) -> None:
    """Show the whole way on baskets made here (or your own), beside the truth only a demo may know.

    Leaves plan.json, reports.parquet, itemsets.parquet, rules.csv and a page to look at, itemsets.html, in a folder.

    \b
    Example:
      assocpriv demo
      assocpriv demo --baskets baskets.csv --min-support 5%
    """
    layout, path = options.pop("layout"), options.pop("baskets")
    promise = ap.Epsilon(options.pop("epsilon"))
    settings = ap.DemoSettings(baskets=None if path is None else (path, layout), promise=promise, **options)
    progress = opt.Progress()
    start = ap.start_demo(settings, output, force=force, progress=progress)
    (opt.say if opt.wants_json() else opt.show_lines)(ap.show.audits.start_lines(start))
    done = start.finish(progress)
    found = done.simulation.itemsets, start.paths[-1], start.prospects.plan
    ap.show.pages.write_page(*found, force=True, title="What the demo's baskets have in common")
    lines = ap.show.audits.found_lines(done, _ROWS)
    if opt.wants_json():
        opt.say(lines)
    opt.show_result(lambda: ap.show.audits.demo_record(done), lambda: lines)


_OF_QUEST, _OF_AGRAWAL = ("items", "mean_size"), ("function", "schema")


@opt.command()
@click.argument("kind", type=click.Choice(["quest", "agrawal"]))
@opt.usual("--people", default=100_000, help="Number of baskets or records.", type=opt.WholeRange(2))
@opt.usual("--items", default=1_000, help="quest: number of items.")
@click.option("--mean-size", type=opt.NUMBER, help="quest: mean size of a basket.")
@opt.usual("--function", default=1, help="agrawal: which function says the class.", type=opt.WholeRange(1, 5))
@click.option("--schema", type=opt.OUTPUT, help="agrawal: also write a schema for plan --schema (TOML).")
@opt.usual("--seed", default=0, help="Same seed, same data.", type=opt.WholeRange(0))
@click.option(
    "-o", "--output", type=opt.OUTPUT, required=True, help="File to write: .dat or .csv, of agrawal .csv or .parquet."
)
@opt.result_options
def generate(kind: str, output: Path, force: bool, **options: Any) -> None:
    """Make synthetic baskets (KIND is quest) or records of a table (agrawal).

    quest: as of IBM's generator, Poisson sizes and overlapping, corrupted patterns. agrawal: loan applicants by
    Agrawal, Imielinski and Swami, nine attributes and a class, half of each.

    \b
    Example:
      assocpriv generate quest --people 100000 --items 1000 -o baskets.dat
      assocpriv generate agrawal --function 2 -o table.csv
    """
    opt.refuse_given(_OF_AGRAWAL if kind == "quest" else _OF_QUEST, f"does not go with {kind}")
    make = _generate_baskets if kind == "quest" else _generate_records
    make(output, force, opt.Progress().stage("generating"), options)


def _generate_baskets(output: Path, force: bool, progress: Any, options: dict[str, Any]) -> None:
    more = {} if options["mean_size"] is None else {"mean_size": options["mean_size"]}
    chosen = ap.QuestSettings(n_baskets=options["people"], n_items=options["items"], seed=options["seed"], **more)
    count = len(ap.generate_file(chosen, output, force=force, progress=progress))
    opt.show_result(
        lambda: {"baskets": count, "items": chosen.n_items, "seed": chosen.seed, "output": str(output)},
        lambda: [f"{count:,} baskets over {chosen.n_items:,} items written to {output}"],
    )


def _generate_records(output: Path, force: bool, progress: Any, options: dict[str, Any]) -> None:
    schema = options["schema"]
    chosen = ap.AgrawalSettings(n_records=options["people"], function=options["function"], seed=options["seed"])
    count = ap.generate_agrawal_file(chosen, output, schema=schema, force=force, progress=progress)
    outputs = {"output": str(output)} | ({} if schema is None else {"schema": str(schema)})
    opt.show_result(
        lambda: {"records": count, "function": chosen.function, "seed": chosen.seed} | outputs,
        lambda: [
            f"{count:,} records of function {chosen.function} written to {output}",
            *([] if schema is None else [f"schema written to {schema}"]),
        ],
    )


_TAKES = {  # which options a kind of plan has
    "baskets": ("min_support", "max_itemset", "layout", "unknown", "repeats", "empty", "top"),
    "table": ("missing", "layout", "clip"),
    "guided": ("missing", "layout", "classifier", "population", "rounds", "people", "unconcerned"),
}


@opt.command()
@click.argument("file", type=opt.PATH)
@click.option("--plan", "plan_path", type=opt.PATH, required=True, help="The plan to try, of any kind.")
@click.option("--seed", type=opt.WholeRange(0), help="Makes the simulation repeatable.")
@click.option("--min-support", metavar="S", help=opt.LEAST_SUPPORT)
@click.option("--max-itemset", type=opt.WHOLE, help="Baskets: largest itemsets.  [default: the plan's]")
@opt.layout_option
@opt.usual("--top", default=opt.ROWS, help="Baskets: rows shown as text.", type=opt.WholeRange(0))
@opt.missing_option
@opt.choice("--classifier", ["tree", "naive-bayes", "logistic"], "Guided: what is learned, by scikit-learn.")
@click.option("--population", metavar="GROUPS", help="Guided: people of mixed caution, as 17%:2,56%:8,27%:any.")
@opt.rare(
    opt.rules_options,
    click.option("--clip", is_flag=True, help="Tables: move values outside a column's range to its ends."),
    opt.usual("--rounds", default=5, type=opt.WholeRange(2), help="Guided: each holds another third back to test on."),
    opt.usual("--people", default=5000, type=opt.WholeRange(3), help="Guided: so many records at most, at random."),
    opt.usual("--unconcerned", default=0, type=opt.WholeRange(0), help="Guided: people who start it with raw tuples."),
)
@opt.takes("json")
def simulate(file: Path, plan_path: Path, seed: int | None, top: int, **options: Any) -> None:
    """Try a plan on records like yours, in FILE: both sides, and the truth beside what was found.

    FILE holds baskets, or a table, as the plan says. Trying a guided plan needs assocpriv[trees].

    \b
    Example:
      assocpriv simulate baskets.dat --plan plan.json --seed 1
      assocpriv simulate table.csv --plan plan.json --seed 1
      assocpriv simulate votes.csv --plan guided.json --missing ? --classifier naive-bayes
    """
    plan = opt.read_plan(plan_path, [file])
    wishes = opt.of_kind(options | {"top": top}, plan.kind, _TAKES)
    wishes.pop("top", None)
    if plan.kind != "baskets":
        wishes |= opt.table_reading(wishes)
    if options["population"] is not None:
        opt.refuse_given(("rounds",), "does not go with --population, which is one collection")
    done = ap.simulate(file, plan, seed=seed, progress=opt.Progress(), **wishes)
    shown = ap.show.plans.describe_simulation(done, plan, top)
    opt.say(shown.notes)
    opt.show_result(shown.record, shown.lines)
