"""Tables, from released records to what is learned of them: the commands reconstruct, tree, predict.

reconstruct: distributions of columns. tree: a decision tree. predict: a published tree applied to raw records.
"""

from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt


def _to_pair(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, ...] | None:
    """Take the names of two columns."""
    names = None if text is None else tuple(name.strip() for name in text.split(","))
    if names is not None and len(names) != 2:
        raise click.BadParameter("give two columns, as age,salary")
    return names


@opt.command()
@opt.reports_argument
@click.option("--by", metavar="COLUMN", help="Also the distributions within each class of a label or category.")
@click.option("--joint", metavar="A,B", callback=_to_pair, help="Instead: how two columns are spread together.")
@opt.choice("--method", ["auto", "smooth", "em", "ems", "bayes", "least-squares"], "How shares are estimated.")
@opt.level_option
@opt.spark_option
@opt.table_output_option
def reconstruct(reports: tuple[Path, ...], spark: str | None, output: Path | None, force: bool, **options: Any) -> None:
    """Reconstruct how the values of each column are spread, from REPORTS (files of released records, or folders).

    Shares come with standard errors, the distribution function with a band that holds everywhere at once, and
    quantiles, mean and variance with intervals. The method auto takes smooth behind noise.

    \b
    Example:
      assocpriv reconstruct released.parquet
      assocpriv reconstruct released.parquet --by class -o distributions.csv
      assocpriv reconstruct released.parquet --joint age,salary --json
    """
    opt.check_output(output, force, reports)
    progress = opt.Progress().stage("counting")
    found = ap.reconstruct(opt.open_reports(reports, spark), progress=progress, **options)
    if output is not None:
        found.write(output, force=force)
        opt.say_written(output)
    opt.show(ap.show.tables.distributions(found))


@opt.command()
@opt.reports_argument
@opt.class_option
@opt.choice(
    "--method",
    ["by-class", "global", "local", "joint"],
    "Reconstruct columns by class, over all, at nodes, or in leaves.",
)
@click.option("--max-depth", type=opt.WholeRange(1), help="Splits that a record meets at most.")
@opt.choice("--pruning", ["description-length", "none"], "How the tree is pruned.")
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Model file to write (JSON).")
def tree(reports: tuple[Path, ...], class_column: str, output: Path, force: bool, **growth: Any) -> None:
    """Grow a decision tree on REPORTS of a table.

    \b
    Example:
      assocpriv tree released.parquet --class class -o model.json
    """
    opt.check_output(output, force, reports)
    with opt.Progress.while_busy("growing the tree"):
        model = ap.numeric.grow_tree(reports, class_column, **growth)
    ap.numeric.write_tree(model, output, force=force)
    opt.show(ap.show.tables.tree(model, output))


@opt.command()
@click.argument("model", type=opt.PATH)
@click.argument("table", type=opt.PATH)
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Table to write: .csv or .parquet.")
@opt.missing_option
@opt.layout_option
def predict(model: Path, table: Path, output: Path, force: bool, **reading: Any) -> None:
    """Apply a tree, the file MODEL, to raw records, the file TABLE; adds a column predicted, their class.

    Runs where the records lie; nothing leaves. TABLE is CSV with a header line, or Parquet.

    \b
    Example:
      assocpriv predict model.json table.csv -o out.csv
    """
    opt.check_output(output, force, [model, table])
    reading |= opt.table_reading(reading)
    counts = ap.numeric.predict_file(ap.numeric.read_tree(model), table, output, force=force, **reading)
    opt.show(ap.show.tables.predictions(counts, output))
