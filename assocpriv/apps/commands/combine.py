"""The command combine: tables of several rounds side by side."""

from pathlib import Path

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import (
    PATH,
    check_table_output,
    force_option,
    histogram_table_option,
    json_option,
    table_output_option,
    top_option,
)
from assocpriv.core.errors import FileError


@click.command()
@click.argument("tables", type=PATH, nargs=-1, required=True)
@histogram_table_option
@table_output_option
@top_option
@force_option
@json_option
def combine(
    tables: tuple[Path, ...],
    histogram: Path | None,
    output: Path | None,
    top: int,
    force: bool,
    as_json: bool,
) -> None:
    """Put mined TABLES of several rounds side by side, and average what estimates the same.

    \b
    Example:
      assocpriv combine itemsets.parquet itemsets2.parquet --histogram sizes.csv -o combined.csv
    """
    from assocpriv.apps.render.rounds import combined_lines, combined_record
    from assocpriv.rounds import combine as put_together
    from assocpriv.rounds import write_combined

    check_table_output(output, force, [*tables, *([histogram] if histogram is not None else [])])
    if len({path.resolve() for path in tables}) != len(tables):
        raise FileError("a table is named twice; each counts once")
    frame = put_together(tables, histogram=histogram)
    if output is not None:
        write_combined(frame, output, force=force)
    show_result(as_json, lambda: combined_record(frame), lambda: combined_lines(frame, top))
