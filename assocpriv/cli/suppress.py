"""The command suppress: tables and baskets of which no named inference can be drawn, to be published."""

from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_TAKES = {
    "a table": ("class_column", "columns", "missing", "paper"),
    "baskets": ("incomplete", "repeats"),
}  # by what templates are over
_WRITING = ("output", "least", "cap", "free_only", "paper", "new_key", "force")


@opt.command()
@click.argument("table", type=opt.PATH)
@click.option("--templates", type=opt.PATH, required=True, help="File of templates, TOML or JSON.")
@click.option("--check", "only_check", is_flag=True, help="List the inferences above their bounds; write nothing.")
@click.option("-o", "--output", type=opt.OUTPUT, help="File to write, in the format of TABLE.")
@click.option("--class", "class_column", metavar="COLUMN", help="Column that readers know, to be told well.")
@click.option(
    "--column", "columns", metavar="NAME=HOW", multiple=True,
    help="age=8 makes intervals, zip=category takes each text as a value, id=drop; 8 is for all; repeatable.",
)  # fmt: skip
@opt.usual("--least", default=2, help="Records that cannot be told apart, at least.")
@opt.usual("--cap", default=3.0, help="ε that refusals may cost a group at most.", type=opt.NUMBER)
@click.option("--free-only", is_flag=True, help="Show only what needs no coin.")
@click.option("--paper", is_flag=True, help="Hide whole values as WFY05; does not hold against who knows how.")
@click.option("--new-key", is_flag=True, help="Take another key for the coins: a further release.")
@opt.missing_option
@opt.memory_option
@opt.reading_options
@opt.repeats_option
def suppress(table: Path, templates: Path, only_check: bool, output: Path | None, **options: Any) -> None:
    """Hide cells of TABLE until no inference that the templates name is above its confidence.

    A row is one person: bounds count rows. TABLE is the owner's, CSV with a header line or Parquet; of templates over
    items it is a file of baskets. The output has its records in a random order, and is checked as written before it
    takes its name. The key of the coins lies beside TABLE, and is the owner's. With --check the exit status is 1 where
    an inference is above its bound.

    \b
    Example:
      assocpriv suppress table.csv --templates templates.toml --check
      assocpriv suppress table.csv --templates templates.toml -o released.csv
      assocpriv suppress table.csv --templates templates.toml --column age=8 --class rating -o released.csv
      assocpriv suppress baskets.csv --templates items.toml -o released.csv
    """
    if only_check:
        opt.refuse_given(_WRITING, "writes, and --check does not")
    elif output is None:
        raise click.UsageError("give -o FILE to write what is released, or --check to list inferences")
    if options["paper"] and options["free_only"]:
        raise click.UsageError("--paper and --free-only are two modes; give one of them")
    is_of_items = ap.suppress.are_of_items(templates)
    own = opt.of_kind(options, "baskets" if is_of_items else "a table", _TAKES)
    mode = "paper" if own.pop("paper", False) else "free" if own.pop("free_only") else "local"
    own.pop("free_only", None)
    if not is_of_items:
        own |= {"columns": list(own["columns"]) or None} | opt.table_reading(own)
    own["progress"] = opt.Progress().stage("reading")
    if output is None:
        content = ap.suppress.record(
            ap.suppress.check(table, templates, **{name: own[name] for name in own if name not in _WRITING})
        )
        opt.show(ap.show.suppression.check(content))
        if not content["passed"]:
            click.get_current_context().exit(1)
        return
    opt.check_output(output, own["force"], [table, templates])
    content = ap.suppress.record(ap.suppress.suppress_file(table, templates, output, mode=mode, **own))
    opt.show(ap.show.suppression.release(content, output))
