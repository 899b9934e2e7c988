"""The command suppress: tables and baskets of which no named inference can be drawn, to be published."""

from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_TAKES = {  # which options templates have: over columns of a table, or over items
    "a table": ("class_column", "bins", "category", "mark", "missing", "memory_bytes"),
    "baskets": ("repeats", "empty"),
}
_WRITING = ("output", "report", "mark", "force")


@opt.command()
@click.argument("table", type=opt.PATH)
@click.option("--templates", type=opt.PATH, required=True, help="File of templates, TOML or JSON.")
@click.option("--check", "only_check", is_flag=True, help="List the inferences above their bounds; write nothing.")
@click.option("--class", "class_column", metavar="COLUMN", help="Column whose classification shall remain possible.")
@click.option("-o", "--output", type=opt.OUTPUT, help="File to write, CSV or Parquet as the table.")
@click.option("--report", type=opt.OUTPUT, help="File for the report (JSON); it names what is suppressed.")
@click.option("--bins", metavar="BINS", multiple=True, help="Intervals of numbers: 8, entropy or age=8; repeatable.")
@click.option("--category", metavar="COLUMN", multiple=True, help="Column of numbers that are categories; repeatable.")
@opt.usual("--mark", default="*", help="Text that stands for suppressed values.")
@opt.missing_option
@opt.memory_option
@opt.layout_option
@opt.repeats_option
@opt.empty_option
def suppress(table: Path, templates: Path, only_check: bool, output: Path | None, **options: Any) -> None:
    """Suppress values of TABLE until no inference that the templates name is above its confidence.

    TABLE is the owner's, CSV with a header line or Parquet. Of templates over items it is a file of baskets. The
    output is checked as written before it takes its name. With --check the exit status is 1 where an inference is above
    its bound.

    \b
    Example:
      assocpriv suppress table.csv --templates templates.toml --check
      assocpriv suppress table.csv --templates templates.toml --class rating -o released.csv
      assocpriv suppress table.csv --templates templates.toml --bins age=entropy --class rating -o released.csv
      assocpriv suppress baskets.csv --templates items.toml -o released.csv
    """
    if only_check:
        opt.refuse_given(_WRITING, "writes, and --check does not")
    elif output is None:
        raise click.UsageError("give -o FILE to write what is released, or --check to list inferences")
    is_of_items = ap.suppress.are_of_items(templates)
    own = opt.of_kind(options, "baskets" if is_of_items else "a table", _TAKES)
    if not is_of_items:
        own |= {"bins": list(own["bins"]) or None} | opt.table_reading(own)
    own["progress"] = opt.Progress().stage("reading")
    if output is None:
        _check(table, templates, **{name: value for name, value in own.items() if name not in _WRITING})
        return
    opt.check_output(output, own["force"], [table, templates])
    if is_of_items:
        content = ap.suppress.item_record(ap.suppress.suppress_items(table, templates, output, **own))
    else:
        content = ap.suppress.publication_record(ap.suppress.suppress_file(table, templates, output, **own))
    opt.show(ap.show.suppression.release(content, output))


def _check(table: Path, templates: Path, **options: Any) -> None:
    if ap.suppress.are_of_items(templates):
        content = ap.suppress.item_record(ap.suppress.check_items(table, templates, **options))
    else:
        content = ap.suppress.check_record(ap.suppress.check(table, templates, **options))
    opt.show(ap.show.suppression.check(content))
    if not content["passed"]:
        click.get_current_context().exit(1)
