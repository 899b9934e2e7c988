"""The command suppress: tables and baskets of which no named inference can be drawn, to be published."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import refuse_given, say, show_result
from assocpriv.apps.options import (
    LAYOUT,
    OUTPUT,
    PATH,
    choice,
    joined,
    layout_options,
    memory_option,
    result_options,
    usual,
)
from assocpriv.apps.progress import Progress

_OF_TABLES = ("class_column", "bins", "category", "mark", "missing", "memory")
_OF_BASKETS = (*(name for name in LAYOUT if name != "separator"), "repeats", "empty")
_WRITING = ("output", "report", "mark", "force")
_basket_options = joined(
    layout_options,
    choice("--repeats", ["error", "merge"], "Items repeated in a basket."),
    choice("--empty", ["error", "keep"], "Empty baskets."),
)


@click.command()
@click.argument("table", type=PATH)
@click.option("--templates", type=PATH, required=True, help="File of templates, TOML or JSON.")
@click.option("--check", "only_check", is_flag=True, help="List the inferences above their bounds; write nothing.")
@click.option("--class", "class_column", metavar="COLUMN", help="Column whose classification shall remain possible.")
@click.option("-o", "--output", type=OUTPUT, help="File to write, CSV or Parquet as the table.")
@click.option("--report", type=OUTPUT, help="File for the report (JSON); it names what is suppressed.")
@click.option(
    "--bins",
    metavar="BINS",
    multiple=True,
    help="Intervals of columns of numbers, 8 or entropy, or of one: age=8, age=entropy; may be repeated.",
)
@click.option(
    "--category", metavar="COLUMN", multiple=True, help="A column of numbers that are categories; repeatable."
)
@usual("--mark", default="*", help="Text that stands for suppressed values.")
@click.option(
    "--missing", metavar="WORD", multiple=True, help="A word that stands for a missing value, as ?; may be repeated."
)
@memory_option
@_basket_options
@result_options
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
    from assocpriv import suppress

    if only_check:
        refuse_given(_WRITING, "writes, and --check does not")
    elif output is None:
        raise click.UsageError("give -o FILE to write what is released, or --check to list inferences")
    if suppress.are_of_items(templates):
        refuse_given(_OF_TABLES, "is said of tables, and these templates are over items")
        _suppress_items(table, templates, output, options)
    else:
        refuse_given(_OF_BASKETS, "is said of baskets, and these templates are over columns of a table")
        _suppress_table(table, templates, output, options)


def _suppress_table(table: Path, templates: Path, output: Path | None, options: dict[str, Any]) -> None:
    from assocpriv import suppress
    from assocpriv.apps.render.suppression import check_lines, publication_lines, talk_lines

    progress = Progress()
    shared = {name: options[name] for name in ("class_column", "bins", "category", "separator", "missing")}
    shared |= {"bins": list(options["bins"]) or None, "memory_bytes": options["memory"]}
    if output is None:
        found = suppress.check(table, templates, progress=progress.stage("reading"), **shared)
        show_result(lambda: suppress.check_record(found), lambda: check_lines(found))
        _exit_with(found.passed)
        return
    suppress.read_templates(templates)
    suppress.check_writable(output, force=options["force"], inputs=[table, templates])
    own = {name: options[name] for name in ("mark", "report", "force")}
    done = suppress.suppress_file(table, templates, output, progress=progress.stage("reading"), **own, **shared)
    say(talk_lines(done))
    show_result(lambda: suppress.publication_record(done), lambda: publication_lines(done, output))


def _suppress_items(data: Path, templates: Path, output: Path | None, options: dict[str, Any]) -> None:
    from assocpriv import suppress
    from assocpriv.apps.render.suppressed_items import item_check_lines, item_release_lines

    reading = {name: options[name] for name in (*LAYOUT, "repeats", "empty")}
    reading |= {"progress": Progress().stage("reading")}
    if output is None:
        found = suppress.check_items(data, templates, **reading)
        show_result(lambda: suppress.item_record(found), lambda: item_check_lines(found))
        _exit_with(found.passed)
        return
    own = {name: options[name] for name in ("report", "force")}
    done = suppress.suppress_items(data, templates, output, **own, **reading)
    show_result(lambda: suppress.item_record(done), lambda: item_release_lines(done, output))


def _exit_with(passed: bool) -> None:
    if not passed:
        click.get_current_context().exit(1)
