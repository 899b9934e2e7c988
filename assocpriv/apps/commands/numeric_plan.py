"""The command numeric plan: from a schema of a table to its plan."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.kinds import describe_plan
from assocpriv.apps.options import PATH, epsilon_option, plan_output_options, take_promise, usual


def _to_answer(_context: click.Context, _option: click.Parameter, text: str | None) -> "int | str | None":
    """Take a number of columns, or the word all."""
    if text is None or text == "all":
        return text
    if not (text.isascii() and text.isdigit()):
        raise click.BadParameter("give a number of columns, or all")
    return int(text)


@click.command()
@click.argument("schema", type=PATH)
@click.option("--prior", help="Belief before a report, as 5% or 0.05.  [default: 5%]")
@click.option("--posterior", help="Belief that no report may lift the prior to.  [default: 50%]")
@epsilon_option
@usual("--reports", default=1_000_000, help="Reports that are expected; they set the number of intervals.")
@usual("--reports-per-person", default=1, help="R: the promise covers all R reports of one person together.")
@click.option(
    "--answer",
    metavar="K|all",
    callback=_to_answer,
    help="Protected columns that a report answers, labels apart.  [default: whichever errs least]",
)
@plan_output_options
def plan(schema: Path, output: Path, force: bool, **options: Any) -> None:
    """Choose how each column of a table is released: SCHEMA (TOML) names its columns.

    Columns released by square-wave or response are protected: the promise covers all of them together. Columns with
    added noise promise an average only; the plan says so.

    \b
    Example:
      assocpriv numeric plan schema.toml -o plan.json
      assocpriv numeric plan schema.toml --prior 5% --posterior 50% -o plan.json
    """
    from assocpriv.baskets import check_writable, write_plan
    from assocpriv.numeric import plan as plan_table

    promise = take_promise(options)
    check_writable(output, force=force, inputs=[schema])
    made = plan_table(schema, promise, **options)
    write_plan(made, output, force=force)
    described = describe_plan(made, options["reports"])
    show_result(described.record, described.lines)
