"""The command simulate: a plan, or schedules of rounds, tried on baskets at hand."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import (
    refuse_given,
    require,
    say,
    show_result,
    wants_json,
    warn,
)
from assocpriv.apps.options import (
    LAYOUT,
    LEAST_SUPPORT,
    PATH,
    ROWS,
    WANTED,
    WHOLE,
    WholeRange,
    basket_options,
    epsilon_option,
    json_option,
    require_promise,
)
from assocpriv.apps.progress import Progress


@click.command()
@click.argument("baskets", type=PATH)
@click.option("--plan", "plan_path", type=PATH, help="The plan to try; required without --rounds.")
@click.option("--min-support", help=f"{LEAST_SUPPORT} auto: as for mine. Required without --rounds.")
@click.option("--max-itemset", type=WHOLE, help="Largest itemsets.  [default: the plan's]")
@click.option("--rounds", type=click.Choice(["auto", "1", "2", "3"]), help="Try rounds with other people each instead.")
@click.option("--prior", help="With --rounds: belief before a report, as 5%.")
@click.option("--posterior", help="With --rounds: belief that no report may lift the prior to.")
@epsilon_option
@click.option("--seed", type=WholeRange(0), help="Makes the simulation repeatable.")
@basket_options
@click.option(
    "--top",
    type=WholeRange(0),
    help=f"Rows shown as text; with --rounds, the itemsets wanted.  [default: {ROWS}, with --rounds {WANTED}]",
)
@json_option
def simulate(baskets: Path, rounds: str | None, **options: Any) -> None:
    """Try a plan, or a schedule of rounds, on BASKETS like yours: both sides, and the truth beside what was found.

    \b
    Example:
      assocpriv simulate baskets.dat --plan plan.json --min-support 2% --seed 1
      assocpriv simulate baskets.dat --rounds auto --prior 5% --posterior 50% --top 64
    """
    if rounds is not None:
        refuse_given(("plan_path", "min_support", "max_itemset", "unknown"), "does not go with --rounds")
        _simulate_rounds(baskets, rounds, options)
    else:
        refuse_given(("prior", "posterior", "epsilon"), "goes with --rounds only; a plan holds its promise")
        require(("plan_path", "min_support"))
        _simulate_plan(baskets, options)


def _simulate_plan(baskets: Path, options: dict[str, Any]) -> None:
    from assocpriv.apps.render.sizes import outcome_lines
    from assocpriv.apps.render.trials import simulation_lines, simulation_record
    from assocpriv.baskets import read_plan
    from assocpriv.mining import check_aim, describe_undecided
    from assocpriv.trials import check_max_itemset, read_transactions, simulate_transactions

    plan = read_plan(options["plan_path"])
    check_aim(options["min_support"], None)
    check_max_itemset(plan, options["max_itemset"])
    transactions, outcome = read_transactions(baskets, plan, **_reading(options, "unknown"))
    say(outcome_lines(outcome, plan))
    done = simulate_transactions(
        transactions,
        plan,
        progress=Progress(),
        **{name: options[name] for name in ("min_support", "max_itemset", "seed")},
    )
    warn(describe_undecided(done.itemsets))
    rows = ROWS if options["top"] is None else options["top"]
    show_result(lambda: simulation_record(done), lambda: simulation_lines(done, rows))


def _simulate_rounds(baskets: Path, rounds: str, options: dict[str, Any]) -> None:
    from assocpriv.apps.render.rounds import trial_lines, trial_record
    from assocpriv.rounds import read_used_baskets, simulate_rounds

    promise = require_promise(options)
    raw = read_used_baskets(baskets, **_reading(options))
    wanted = WANTED if options["top"] is None else options["top"]
    count = rounds if rounds == "auto" else int(rounds)
    trial = simulate_rounds(raw, promise, rounds=count, top=wanted, seed=options["seed"], progress=Progress())
    if wants_json() and not trial.tells:  # the text says it itself
        warn(["with this promise and so many people nothing can be told"])
    show_result(lambda: trial_record(trial), lambda: trial_lines(trial, wanted))


def _reading(options: dict[str, Any], *more: str) -> dict[str, Any]:
    """Return how baskets are to be read."""
    reading = {name: options[name] for name in ("repeats", "empty", *LAYOUT, *more)}
    return reading | {"progress": Progress().stage("reading")}
