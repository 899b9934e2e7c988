"""The command combine: tables of several rounds side by side."""

import os
from pathlib import Path

import click

from assocpriv.apps.console import say_written, show_result
from assocpriv.apps.options import PATH, check_table_output, histogram_table_option, table_options
from assocpriv.apps.progress import Progress
from assocpriv.promise.errors import FileError


@click.command()
@click.argument("tables", type=PATH, nargs=-1, required=True)
@histogram_table_option
@table_options
def combine(tables: tuple[Path, ...], histogram: Path | None, output: Path | None, top: int, force: bool) -> None:
    """Put mined TABLES of several rounds side by side, and average what estimates the same.

    \b
    Example:
      assocpriv combine itemsets.parquet itemsets2.parquet --histogram sizes.csv -o combined.csv
    """
    from assocpriv import rounds
    from assocpriv.apps.render.rounds import combined_lines

    check_table_output(output, force, [*tables, *([histogram] if histogram is not None else [])])
    if len(set(map(os.path.realpath, tables))) != len(tables):
        raise FileError("a table is named twice; each counts once")
    with Progress.while_busy("combining"):
        frame = rounds.combine(tables, histogram=histogram)
    if output is not None:
        rounds.write_combined(frame, output, force=force)
        say_written(output)
    show_result(lambda: rounds.combined_records(frame), lambda: combined_lines(frame, top))
