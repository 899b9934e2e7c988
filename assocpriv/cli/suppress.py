"""The command suppress: tables and baskets of which no named inference can be drawn, to be published."""

from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_OF_TABLES = ("class_column", "bins", "category", "mark", "missing", "memory_bytes")
_OF_BASKETS = ("repeats", "empty")
_WRITING = ("output", "report", "mark", "force")
_basket_options = opt.joined(
    opt.layout_option,
    opt.choice("--repeats", ["error", "merge"], "Items repeated in a basket."),
    opt.choice("--empty", ["error", "keep"], "Empty baskets."),
)


@opt.command()
@click.argument("table", type=opt.PATH)
@click.option("--templates", type=opt.PATH, required=True, help="File of templates, TOML or JSON.")
@click.option("--check", "only_check", is_flag=True, help="List the inferences above their bounds; write nothing.")
@click.option("--class", "class_column", metavar="COLUMN", help="Column whose classification shall remain possible.")
@click.option("-o", "--output", type=opt.OUTPUT, help="File to write, CSV or Parquet as the table.")
@click.option("--report", type=opt.OUTPUT, help="File for the report (JSON); it names what is suppressed.")
@click.option(
    "--bins",
    metavar="BINS",
    multiple=True,
    help="Intervals of columns of numbers, 8 or entropy, or of one: age=8, age=entropy; may be repeated.",
)
@click.option(
    "--category", metavar="COLUMN", multiple=True, help="A column of numbers that are categories; repeatable."
)
@opt.usual("--mark", default="*", help="Text that stands for suppressed values.")
@opt.missing_option
@opt.memory_option
@_basket_options
@opt.result_options
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
    if ap.suppress.are_of_items(templates):
        opt.refuse_given(_OF_TABLES, "is said of tables, and these templates are over items")
        _suppress_items(table, templates, output, options)
    else:
        opt.refuse_given(_OF_BASKETS, "is said of baskets, and these templates are over columns of a table")
        _suppress_table(table, templates, output, options)


def _suppress_table(table: Path, templates: Path, output: Path | None, options: dict[str, Any]) -> None:

    progress = opt.Progress()
    shared = {name: options[name] for name in ("class_column", "bins", "category", "missing", "memory_bytes")}
    shared |= {"bins": list(options["bins"]) or None} | opt.table_reading(options)
    if output is None:
        found = ap.suppress.check(table, templates, progress=progress.stage("reading"), **shared)
        opt.show_result(lambda: ap.suppress.check_record(found), lambda: ap.show.suppression.check_lines(found))
        _exit_with(found.passed)
        return
    ap.suppress.read_templates(templates)
    opt.check_writable(output, force=options["force"], inputs=[table, templates])
    own = {name: options[name] for name in ("mark", "report", "force")}
    done = ap.suppress.suppress_file(table, templates, output, progress=progress.stage("reading"), **own, **shared)
    opt.say(ap.show.suppression.talk_lines(done))
    opt.show_result(
        lambda: ap.suppress.publication_record(done), lambda: ap.show.suppression.publication_lines(done, output)
    )


def _suppress_items(data: Path, templates: Path, output: Path | None, options: dict[str, Any]) -> None:

    reading = {name: options[name] for name in ("layout", "repeats", "empty")}
    reading |= {"progress": opt.Progress().stage("reading")}
    if output is None:
        found = ap.suppress.check_items(data, templates, **reading)
        opt.show_result(lambda: ap.suppress.item_record(found), lambda: ap.show.suppression.item_check_lines(found))
        _exit_with(found.passed)
        return
    own = {name: options[name] for name in ("report", "force")}
    done = ap.suppress.suppress_items(data, templates, output, **own, **reading)
    opt.show_result(lambda: ap.suppress.item_record(done), lambda: ap.show.suppression.item_release_lines(done, output))


def _exit_with(passed: bool) -> None:
    if not passed:
        click.get_current_context().exit(1)
