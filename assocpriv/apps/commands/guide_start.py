"""The command guide start: a plan and the miner's state, from a table of people who do not mind."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import (
    OUTPUT,
    PATH,
    choice,
    epsilon_option,
    joined,
    result_options,
    separator_option,
    take_promise,
    usual,
)

sample_options = joined(
    click.option("--class", "class_column", metavar="COLUMN", required=True, help="The class, collected in clear."),
    click.option("--missing", multiple=True, metavar="WORD", help="Stands for a missing value, as ?; repeatable."),
    separator_option,
)
promise_options = joined(
    click.option("--prior", help="Belief before a report, as 5%; without a promise none is made."),
    click.option("--posterior", help="Belief that no report may lift the prior to."),
    epsilon_option,
    choice("--keep", ["bits", "tuple"], "How a promise is kept: a coin mixed into every bit, or random tuples."),
)
scheme_options = joined(
    usual("--batch", metavar="N", default=100, help="Tuples after which guidance is published anew."),
    choice("--order", ["magnitude", "value"], "Of eigenvalues: value is the paper's, for two classes."),
)
mu_option = usual("--mu", metavar="SHARE", default="15%", help="Eigenvalues to this share of the largest are left out.")


@click.command()
@click.argument("table", type=PATH)
@sample_options
@mu_option
@scheme_options
@promise_options
@click.option("--known", is_flag=True, help="Start with TABLE's own tuples instead of random ones.")
@click.option("-o", "--output", type=OUTPUT, required=True, help="Plan file to write (JSON).")
@click.option("--state", type=OUTPUT, required=True, help="State file to write (JSON).")
@result_options
def start(table: Path, output: Path, state: Path, force: bool, **options: Any) -> None:
    """Make a plan of TABLE's columns, and the state that the miner keeps.

    TABLE holds records of people who do not mind, or public ones: its values and quartiles are published.

    \b
    Example:
      assocpriv guide start sample.csv --class party --missing ? -o plan.json --state state.json
      assocpriv guide start sample.csv --class party --epsilon 2 -o plan.json --state state.json
    """
    from assocpriv.apps.render.guidance import start_lines, start_record
    from assocpriv.guidance import check_writable, write_plan, write_state
    from assocpriv.guidance import start as begin

    for path in (output, state):
        check_writable(path, force=force, inputs=[table])
    made = begin(table, promise=take_promise(options), **options)
    write_state(made, state, force=force)
    write_plan(made.plan, output, force=force)
    show_result(lambda: start_record(made), lambda: start_lines(made, str(output), str(state)))
