"""The command suppress: a table that may be published, because no named inference can be drawn from it."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import compile_ahead, refuse_given, say, show_result
from assocpriv.apps.options import OUTPUT, PATH, memory_option, result_options, separator_option, usual
from assocpriv.apps.progress import Progress


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
@separator_option
@memory_option
@result_options  # fmt: skip
def suppress(
    table: Path, templates: Path, only_check: bool, output: Path | None, memory: int | None, **options: Any
) -> None:
    """Suppress values of TABLE until no inference that the templates name is above its confidence.

    TABLE is the owner's, CSV with a header line or Parquet. The output is checked as written before it takes its name.
    With --check the exit status is 1 where an inference is above its bound.

    \b
    Example:
      assocpriv suppress table.csv --templates templates.toml --check
      assocpriv suppress table.csv --templates templates.toml --class rating -o released.csv
      assocpriv suppress table.csv --templates templates.toml --bins age=entropy --class rating -o released.csv
    """
    from assocpriv import suppression
    from assocpriv.apps.render.suppression import check_lines, publication_lines, talk_lines

    progress = Progress()
    shared = {name: options[name] for name in ("class_column", "bins", "category", "separator", "missing")}
    shared |= {"bins": list(options["bins"]) or None, "memory_bytes": memory}
    if only_check:
        refuse_given(("output", "report", "mark", "force"), "writes, and --check does not")
        found = suppression.check(table, templates, progress=progress.stage("reading"), **shared)
        show_result(lambda: suppression.check_record(found), lambda: check_lines(found))
        if not found.passed:
            click.get_current_context().exit(1)
        return
    if output is None:
        raise click.UsageError("give -o FILE to write the released table, or --check to list inferences")
    suppression.read_templates(templates)
    suppression.check_writable(output, force=options["force"], inputs=[table, templates])
    compile_ahead("suppressing tables")
    own = {name: options[name] for name in ("mark", "report", "force")}
    done = suppression.suppress_file(table, templates, output, progress=progress.stage("reading"), **own, **shared)
    say(talk_lines(done))
    show_result(lambda: suppression.publication_record(done), lambda: publication_lines(done, output))
