"""Clients and server in one run: the commands demo, generate, simulate.

demo: all steps on generated baskets. generate: synthetic baskets and records. simulate: a plan tested on given data.
"""

from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_ROWS = 15


@opt.command()
@click.option("--baskets", type=opt.PATH, help="File of baskets, in place of generated ones.")
@opt.usual("--size", default=1_000_000, help="Number of baskets to generate.")
@opt.usual("--items", default=1_000, help="Number of items to generate.")
@opt.min_support_option
@opt.seed_option
@opt.reading_options
@opt.usual("-o", "--output", default=Path("assocpriv-demo"), help="Folder to write.", type=opt.OUTPUT)
def demo(output: Path, force: bool, **options: Any) -> None:
    """Run all steps on generated baskets and compare with the truth.

    Makes a plan, randomizes half of the baskets, plans the second round from their reports, randomizes the others,
    mines the reports of both and derives rules. --baskets takes your own baskets. Writes both plans and reports,
    itemsets.parquet, rules.csv and the page itemsets.html to a folder.

    \b
    Example:
      assocpriv demo
      assocpriv demo --baskets baskets.csv --min-support 5%

    Next: assocpriv plan
    """
    path, reading = options.pop("baskets"), {name: options.pop(name) for name in opt.READING}
    baskets = None if path is None else (path, reading)
    settings = ap.simulation.DemoSettings(baskets=baskets, guarantee=ap.Guarantee("5%", "50%"), **options)
    progress = opt.text.Progress()
    start = ap.simulation.start_demo(settings, output, force=force, progress=progress)
    if not opt.wants_json():
        opt.show(ap.show.audit_views.demo_start(start))
    done = start.finish(progress)
    found = done.simulation.itemsets, start.paths[-1], start.prospects.plan
    ap.show.result_pages.write_page(*found, force=True, title="Itemsets and rules of the demo")
    opt.show(ap.show.audit_views.demo(done, _ROWS))


_MAKES = {"quest": ("items", "mean_size"), "T10I4D100K": (), "agrawal": ("schema",)}


@opt.command()
@click.argument("kind", type=click.Choice(list(_MAKES)))
@opt.usual("--people", default=100_000, help="Number of baskets or records.", type=opt.WholeRange(2))
@opt.usual("--items", default=1_000, help="quest: number of items.")
@click.option("--mean-size", type=opt.NUMBER, help="quest: mean number of items in a basket.  [default: about 5]")
@click.option("--schema", type=opt.OUTPUT, help="agrawal: also write a schema for plan --schema (TOML).")
@opt.usual("--seed", default=0, help="Random seed; the same seed gives the same data.", type=opt.WholeRange(0))
@click.option(
    "-o", "--output", type=opt.OUTPUT, required=True, help="File to write: .dat or .csv; agrawal: .csv or .parquet."
)
def generate(kind: str, output: Path, force: bool, **options: Any) -> None:
    """Generate synthetic baskets (KIND quest or T10I4D100K) or records (KIND agrawal).

    quest follows IBM's generator: Poisson sizes and overlapping, corrupted patterns; skewed items and patterns are
    ours. T10I4D100K has the settings of that published set, without our skew. agrawal gives loan applicants (Agrawal,
    Imielinski and Swami): nine attributes and a class, half of the records in each.

    \b
    Example:
      assocpriv generate quest --people 100000 --items 1000 -o baskets.dat
      assocpriv generate T10I4D100K -o published.dat
      assocpriv generate agrawal -o table.csv

    Next: assocpriv plan, or assocpriv simulate baskets.dat --plan plan.json
    """
    make = _generate_records if kind == "agrawal" else _generate_baskets
    make(output, force=force, progress=opt.text.Progress().stage("generating"), **opt.of_kind(options, kind, _MAKES))


def _generate_baskets(
    output: Path, people: int, seed: int, items: int | None = None, mean_size: float | None = None, **writing: Any
) -> None:
    settings = ap.simulation.QuestSettings
    if items is None:
        chosen = settings.like("T10I4D100K", n_baskets=people, seed=seed)
    elif mean_size is None:
        chosen = settings(n_baskets=people, n_items=items, seed=seed)
    else:
        chosen = settings.with_mean(mean_size, n_baskets=people, n_items=items, seed=seed)
    made = ap.simulation.generate_file(chosen, output, **writing)
    content = {"baskets": len(made), "items": chosen.n_items, "mean_size": float(made.sizes.mean()), "seed": seed}
    line = "{baskets:#basket} over {items:#item}, {mean_size:.2f} in a basket, written to {output}"
    opt.show(ap.show.result_record.Record(content | {"output": str(output)}, [line]))


def _generate_records(output: Path, people: int, seed: int, schema: Path | None, **writing: Any) -> None:
    chosen = ap.simulation.AgrawalSettings(n_records=people, seed=seed)
    count = ap.simulation.generate_agrawal_file(chosen, output, schema=schema, **writing)
    content = {"records": count, "function": chosen.function, "seed": seed, "output": str(output)}
    content |= {} if schema is None else {"schema": str(schema)}
    written = ["schema written to {schema}"] * (schema is not None)
    opt.show(
        ap.show.result_record.Record(
            content, ["{records:#record} of function {function} written to {output}", *written]
        )
    )


_TAKES = {  # the options of each plan type
    "baskets": ("people", "min_support", "max_itemset", "rounds", "incomplete", "unknown", "repeats", "empty"),
    "table": ("missing", "clip"),
    "guided": ("missing", "classifier"),
}


@opt.command(takes=["json"])
@click.argument("file", type=opt.PATH)
@opt.plan_option
@click.option("--people", type=opt.WHOLE, help="Number of people; each gets a random basket of FILE.")
@click.option("--rounds", type=opt.WholeRange(1, 2), help="2: both rounds, for the plan of the first.  [default: 1]")
@opt.seed_option
@opt.min_support_option
@opt.max_itemset_option
@opt.reading_options
@opt.missing_option
@opt.choice("--classifier", ["naive-bayes", "tree", "logistic"], "Classifier to fit, for a guided plan.")
@opt.advanced_options(opt.rules_options, opt.clip_option)
def simulate(file: Path, plan_path: Path, **options: Any) -> None:
    """Test a plan on the data in FILE and compare with the truth.

    FILE holds baskets or a table, as the plan needs. Prints the estimates from randomized reports with the true values.
    Guided plans need assocpriv[trees].

    \b
    Example:
      assocpriv simulate baskets.dat --plan plan.json --seed 1
      assocpriv simulate receipts.csv --plan plan.json --rounds 2 --people 20000
      assocpriv simulate table.csv --plan plan.json --seed 1
      assocpriv simulate votes.csv --plan guided.json --missing ? --classifier tree

    Next: assocpriv serve plan.json
    """
    plan = opt.read_plan(plan_path, [file])
    own = opt.of_kind(options, plan.kind, _TAKES)
    if plan.kind != "baskets":
        own |= opt.table_reading(own)
    done = ap.simulate(file, plan, progress=opt.text.Progress(), **own)
    opt.show(ap.show.audit_views.simulation(done, plan))
