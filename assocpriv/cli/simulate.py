"""Both sides at once: the commands demo, generate, simulate.

demo: the whole way on baskets made here. generate: synthetic baskets and records. simulate: a plan tried on baskets at
hand.
"""

from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_POSTERIOR = "50%"


@click.command()
@click.option("--baskets", type=opt.PATH, help="Your own baskets instead of generated ones.")
@opt.usual("--size", default=1_000_000, help="Number of baskets to generate.")
@opt.usual("--items", default=1_000, help="Number of items to generate.")
@click.option("--transaction-size", help="M, as for assocpriv plan.  [default: chosen]", type=opt.WholeRange(1, 15))
@opt.usual("--prior", default="5%", help="As for assocpriv plan.")
@click.option("--posterior", help=f"As for assocpriv plan.  [default: {_POSTERIOR}]")
@opt.epsilon_option
@click.option("--min-support", metavar="S", help="As for assocpriv mine.")
@opt.usual("--min-confidence", default="50%", help="Least confidence of a rule.")
@click.option("--seed", type=opt.WholeRange(0), help="Makes the randomization repeatable, for a demonstration only.")
@opt.layout_option
@opt.usual("-o", "--output", default=Path("assocpriv-demo"), help="Folder.", type=opt.OUTPUT)
@opt.usual("--top", default=15, help="Rows shown.", type=opt.WholeRange(0))
@opt.result_options
def demo(output: Path, top: int, force: bool, **options: Any) -> None:
    """Show the whole way on baskets made here (or your own), beside the truth only a demo may know.

    Leaves plan.json, reports.parquet, itemsets.parquet, rules.csv and a page to look at, itemsets.html, in a folder.

    \b
    Example:
      assocpriv demo
      assocpriv demo --baskets baskets.csv --min-support 5%
    """
    layout, path = options.pop("layout"), options.pop("baskets")
    if options["posterior"] is None and options["epsilon"] is None:
        options["posterior"] = _POSTERIOR
    promise = opt.require_promise(options)
    settings = ap.DemoSettings(baskets=None if path is None else (path, layout), promise=promise, **options)
    progress = opt.Progress()
    start = ap.start_demo(settings, output, force=force, progress=progress)
    (opt.say if opt.wants_json() else opt.show_lines)(ap.show.audits.start_lines(start))
    done = start.finish(progress)
    found = done.simulation.itemsets, start.paths[-1], start.prospects.plan
    ap.show.pages.write_page(
        *found, force=True, min_confidence=settings.min_confidence, title="What the demo's baskets have in common"
    )
    lines = ap.show.audits.found_lines(done, top)
    if opt.wants_json():
        opt.say(lines)
    opt.show_result(lambda: ap.show.audits.demo_record(done), lambda: lines)


@click.group()
def generate() -> None:
    """Make synthetic baskets, or records of a table.

    \b
    Example:
      assocpriv generate quest --baskets 100000 --items 1000 -o baskets.dat
      assocpriv generate agrawal --function 2 --records 100000 -o table.csv
    """


@generate.command()
@opt.usual("--baskets", "n_baskets", default=1_000_000, help="Number of baskets.")
@opt.usual("--items", "n_items", default=1_000, help="Number of items.")
@click.option("--mean-size", type=opt.NUMBER, help="Mean size of a basket.")
@click.option("--patterns", "n_patterns", type=opt.WHOLE, help="Number of patterns that baskets are made of.")
@click.option("--mean-pattern-size", type=opt.NUMBER, help="Mean size of a pattern.")
@opt.usual("--seed", default=0, help="Same seed, same baskets.", type=opt.WholeRange(0))
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="File to write: .dat (ids) or .csv (names).")
@opt.result_options
def quest(output: Path, force: bool, **settings: Any) -> None:
    """Baskets in the style of IBM's Quest generator: Poisson sizes, overlapping and corrupted patterns.

    \b
    Example:
      assocpriv generate quest --baskets 100000 --items 1000 -o baskets.dat
    """
    chosen = ap.QuestSettings(**{name: value for name, value in settings.items() if value is not None})
    count = len(ap.generate_file(chosen, output, force=force, progress=opt.Progress().stage("generating")))
    opt.show_result(
        lambda: {"baskets": count, "items": chosen.n_items, "seed": chosen.seed, "output": str(output)},
        lambda: [f"{count:,} baskets over {chosen.n_items:,} items written to {output}"],
    )


@generate.command()
@opt.usual("--function", default=1, help="Which function says the class.", type=opt.WholeRange(1, 5))
@opt.usual("--records", "n_records", default=100_000, help="Number of records.", type=opt.WholeRange(2))
@opt.usual("--seed", default=0, help="Same seed, same records.", type=opt.WholeRange(0))
@click.option("--schema", type=opt.OUTPUT, help="Also write a schema for numeric plan (TOML).")
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="File to write: .csv or .parquet.")
@opt.result_options
def agrawal(output: Path, schema: Path | None, force: bool, **settings: Any) -> None:
    """Records of loan applicants by Agrawal, Imielinski and Swami: nine attributes, and a class, half of each.

    \b
    Example:
      assocpriv generate agrawal --function 2 --records 100000 -o table.csv
    """
    chosen = ap.AgrawalSettings(**settings)
    show = opt.Progress().stage("generating")
    count = ap.generate_agrawal_file(chosen, output, schema=schema, force=force, progress=show)
    outputs = {"output": str(output)} | ({} if schema is None else {"schema": str(schema)})
    opt.show_result(
        lambda: {"records": count, "function": chosen.function, "seed": chosen.seed} | outputs,
        lambda: [
            f"{count:,} records of function {chosen.function} written to {output}",
            *([] if schema is None else [f"schema written to {schema}"]),
        ],
    )


@click.command()
@click.argument("baskets", type=opt.PATH)
@click.option("--plan", "plan_path", type=opt.PATH, required=True, help="The plan to try.")
@click.option("--min-support", metavar="S", help=opt.LEAST_SUPPORT)
@click.option("--max-itemset", type=opt.WHOLE, help="Largest itemsets.  [default: the plan's]")
@click.option("--seed", type=opt.WholeRange(0), help="Makes the simulation repeatable.")
@opt.basket_options
@opt.usual("--top", default=opt.ROWS, help="Rows shown as text.", type=opt.WholeRange(0))
@opt.json_option
def simulate(baskets: Path, plan_path: Path, top: int, **options: Any) -> None:
    """Try a plan on BASKETS like yours: both sides, and the truth beside what was found.

    \b
    Example:
      assocpriv simulate baskets.dat --plan plan.json --seed 1
    """
    plan = ap.read_plan(plan_path, ap.Plan)
    done = ap.simulate(baskets, plan, progress=opt.Progress(), **options)
    opt.say(ap.show.outcomes.outcome_lines(done.read, plan))
    opt.show_result(lambda: ap.show.audits.simulation_record(done), lambda: ap.show.audits.simulation_lines(done, top))
