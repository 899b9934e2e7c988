"""The command numeric reconstruct: distributions of columns from released records."""

from pathlib import Path

import click

from assocpriv.apps.console import say_written, show_result, warn
from assocpriv.apps.options import (
    backend_options,
    check_table_output,
    choice,
    open_reports,
    reports_argument,
    result_options,
    table_output_option,
    usual,
)
from assocpriv.apps.progress import Progress


def _to_pair(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, str] | None:
    """Take the names of two columns."""
    names = [] if text is None else [name.strip() for name in text.split(",")]
    if text is not None and len(names) != 2:
        raise click.BadParameter("give two columns, as age,salary")
    return (names[0], names[1]) if names else None


@click.command()
@reports_argument
@click.option("--by", metavar="COLUMN", help="Also the distributions within each class of a label or category.")
@click.option("--joint", metavar="A,B", callback=_to_pair, help="Instead: how two columns are spread together.")
@choice(
    "--method",
    ["auto", "smooth", "em", "ems", "bayes", "least-squares"],
    "How shares are estimated; auto takes smooth behind noise.",
)
@usual("--confidence-level", default="95%", help="Of intervals and bands, as 95% or 0.95.")
@backend_options
@table_output_option
@result_options
def reconstruct(
    reports: tuple[Path, ...],
    by: str | None,
    joint: tuple[str, str] | None,
    method: str,
    confidence_level: str,
    backend: str,
    master: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Reconstruct how the values of each column are spread, from REPORTS (files of released records, or folders).

    Shares come with standard errors, the distribution function with a band that holds everywhere at once, and
    quantiles, mean and variance with intervals.

    \b
    Example:
      assocpriv numeric reconstruct released.parquet
      assocpriv numeric reconstruct released.parquet --by class -o distributions.csv
      assocpriv numeric reconstruct released.parquet --joint age,salary --json
    """
    from assocpriv.apps.render.distributions import distribution_lines, left_out_lines
    from assocpriv.numeric import reconstruct as run

    check_table_output(output, force, reports)
    found = run(
        open_reports(reports, backend, master), by=by, joint=joint, method=method, confidence_level=confidence_level,
        progress=Progress().stage("counting"),
    )  # fmt: skip
    warn(left_out_lines(found))
    if output is not None:
        found.write(output, force=force)
        say_written(output)
    show_result(found.record, lambda: distribution_lines(found))
