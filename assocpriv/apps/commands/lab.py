"""Commands that see both sides: simulate, generate, demo."""

from functools import partial
from pathlib import Path
from typing import Any, Literal

import click

from assocpriv.apps.commands.rounds import WANTED, refuse_given, require, run_rounds_simulation
from assocpriv.apps.console import read_told, say, show_result
from assocpriv.apps.options import (
    LEAST_SUPPORT,
    PATH,
    ROWS,
    basket_options,
    force_option,
    format_option,
    json_option,
)
from assocpriv.apps.progress import Progress


@click.command()
@click.argument("baskets", type=PATH)
@click.option("--plan", "plan_path", type=PATH, help="The plan to try; required without --rounds.")
@click.option("--min-support", help=f"{LEAST_SUPPORT} auto: as for mine. Required without --rounds.")
@click.option("--max-itemset", type=int, help="Largest itemsets.  [default: the plan's]")
@click.option("--rounds", type=click.Choice(["auto", "1", "2", "3"]), help="Try rounds with other people each instead.")
@click.option("--prior", help="With --rounds: belief before a report, as 5%.")
@click.option("--posterior", help="With --rounds: belief that no report may lift the prior to.")
@click.option("--seed", type=click.IntRange(0), help="Makes the simulation repeatable.")
@basket_options
@click.option(
    "--top",
    type=click.IntRange(0),
    help=f"Rows shown as text; with --rounds, the itemsets wanted.  [default: {ROWS}, with --rounds {WANTED}]",
)
@json_option
def simulate(
    baskets: Path,
    plan_path: Path | None,
    min_support: str | None,
    max_itemset: int | None,
    rounds: str | None,
    prior: str | None,
    posterior: str | None,
    seed: int | None,
    format_: str | None,
    unknown: str,
    repeats: str,
    empty: str,
    top: int | None,
    as_json: bool,
) -> None:
    """Try a plan, or a schedule of rounds, on BASKETS like yours: both sides, and the truth beside what was found.

    \b
    Example:
      assocpriv simulate baskets.dat --plan plan.json --min-support 2% --seed 1
      assocpriv simulate baskets.dat --rounds auto --prior 5% --posterior 50% --top 64
    """
    from assocpriv.apps.commands.warm_up import compile_told
    from assocpriv.apps.render.results import loss_lines
    from assocpriv.apps.simulation import simulation_lines, simulation_record
    from assocpriv.files.plans import read_plan
    from assocpriv.lab.simulate import simulate as run
    from assocpriv.planning.sampling_loss import sampling_loss
    from assocpriv.plans.baskets.plan import Plan
    from assocpriv.records.basket_sizes import count_sizes
    from assocpriv.server.itemsets.frames import mining_facts
    from assocpriv.server.itemsets.requests import check_aim, check_max_itemset
    from assocpriv.server.itemsets.undecided import describe_undecided

    if rounds is not None:
        refuse_given(("plan_path", "min_support", "max_itemset", "unknown"), "does not go with --rounds")
        require(("prior", "posterior"))
        reading = {"format": format_, "repeats": repeats, "empty": empty}
        wanted = WANTED if top is None else top
        run_rounds_simulation(
            baskets, rounds, (prior, posterior), top=wanted, seed=seed, reading=reading, as_json=as_json
        )
        return
    refuse_given(("prior", "posterior"), "goes with --rounds only; a plan holds its promise")
    require(("plan_path", "min_support"))
    assert plan_path is not None
    assert min_support is not None
    made = read_plan(plan_path, Plan)
    check_aim(min_support, None)
    check_max_itemset(made, max_itemset)
    transactions = read_told(baskets, format_, made, unknown, repeats, empty)
    say(loss_lines(sampling_loss(count_sizes(transactions), made)))
    compile_told()
    result = run(transactions, made, min_support, max_itemset=max_itemset, seed=seed, progress=Progress())
    say(f"warning: {line}" for line in describe_undecided(mining_facts(result.itemsets)))
    show_result(
        as_json, lambda: simulation_record(result), lambda: simulation_lines(result, ROWS if top is None else top)
    )


@click.group()
def generate() -> None:
    """Make synthetic baskets.

    \b
    Example:
      assocpriv generate quest --baskets 100000 --items 1000 -o baskets.dat
    """


@generate.command()
@click.option("--baskets", type=int, default=1_000_000, show_default=True, help="Number of baskets.")
@click.option("--items", type=int, default=1_000, show_default=True, help="Number of items.")
@click.option("--mean-size", type=float, help="Mean size of a basket.")
@click.option("--patterns", type=int, help="Number of patterns that baskets are made of.")
@click.option("--mean-pattern-size", type=float, help="Mean size of a pattern.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same baskets.")
@click.option("-o", "--output", type=PATH, required=True, help="File to write: .dat (ids) or .csv (names).")
@force_option
@json_option
def quest(
    baskets: int,
    items: int,
    mean_size: float | None,
    patterns: int | None,
    mean_pattern_size: float | None,
    seed: int,
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Baskets in the style of IBM's Quest generator: Poisson sizes, overlapping and corrupted patterns.

    \b
    Example:
      assocpriv generate quest --baskets 100000 --items 1000 -o baskets.dat
    """
    from assocpriv.files.atomic import atomic_output, check_writable
    from assocpriv.lab.synthetic import QuestSettings, generate_quest, write_baskets

    kinds: dict[str, Literal["dat", "basket"]] = {".dat": "dat", ".csv": "basket"}
    if output.suffix not in kinds:
        raise click.UsageError("-o must end in .dat or .csv")
    check_writable(output, force=force)
    given = {"mean_size": mean_size, "n_patterns": patterns, "mean_pattern_size": mean_pattern_size}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    settings = QuestSettings(n_baskets=baskets, n_items=items, seed=seed, **chosen)
    made = generate_quest(settings, progress=Progress().stage("generating"))
    with atomic_output(output, force=force) as stream:
        write_baskets(made, stream, kinds[output.suffix])
    show_result(
        as_json,
        lambda: {"baskets": len(made), "items": items, "seed": seed, "output": str(output)},
        lambda: [f"{len(made):,} baskets over {items:,} items written to {output}"],
    )


@click.command()
@click.option("--baskets", type=PATH, help="Your own baskets instead of generated ones.")
@click.option("--size", type=int, default=1_000_000, show_default=True, help="Number of baskets to generate.")
@click.option("--items", type=int, default=1_000, show_default=True, help="Number of items to generate.")
@click.option(
    "--transaction-size", type=click.IntRange(1, 15), default=5, show_default=True, help="M, as for assocpriv plan."
)
@click.option("--prior", default="5%", show_default=True, help="As for assocpriv plan.")
@click.option("--posterior", default="50%", show_default=True, help="As for assocpriv plan.")
@click.option(
    "--min-support",
    help="As for assocpriv mine.  [default: 2%, or what reports can be believed from if that is higher]",
)
@click.option("--min-confidence", default="60%", show_default=True, help="Least confidence of a rule.")
@click.option("--seed", type=click.IntRange(0), help="Makes the randomization repeatable, for a demonstration only.")
@format_option
@click.option("-o", "--output", type=PATH, default=Path("assocpriv-demo"), show_default=True, help="Folder.")
@click.option("--top", type=click.IntRange(0), default=15, show_default=True, help="Rows shown.")
@force_option
@json_option
def demo(as_json: bool, **options: Any) -> None:
    """Show the whole way on baskets made here (or your own), beside the truth only a demo may know.

    Leaves plan.json, reports.parquet, itemsets.parquet and rules.csv in a folder.

    \b
    Example:
      assocpriv demo
      assocpriv demo --baskets baskets.csv --min-support 5%
    """
    from assocpriv.apps.commands.demo import run_demo

    record = run_demo(say=partial(click.echo, err=as_json), **options)
    if as_json:
        show_result(True, lambda: record, list)
