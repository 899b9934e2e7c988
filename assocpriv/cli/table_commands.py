"""Analysis of released tables: the commands reconstruct, tree and predict.

reconstruct: distributions of columns. tree: a decision tree. predict: a published tree applied to raw records.
"""

from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt


def _to_pair(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, ...] | None:
    """Return the names of two columns."""
    names = None if text is None else tuple(name.strip() for name in text.split(","))
    if names is not None and len(names) != 2:
        raise click.BadParameter("give two columns, as age,salary")
    return names


@opt.command()
@opt.reports_argument
@click.option("--by", metavar="COLUMN", help="Also distributions within the classes of a label or category.")
@click.option("--joint", metavar="A,B", callback=_to_pair, help="Only the joint distribution of two columns.")
@opt.choice("--method", ["auto", "smooth", "em", "ems", "bayes", "least-squares"], "Estimator of shares.")
@opt.level_option
@opt.spark_option
@opt.table_output_option
def reconstruct(reports: tuple[Path, ...], spark: str | None, output: Path | None, force: bool, **options: Any) -> None:
    """Estimate the distribution of each column of a table.

    REPORTS are files of released records, or folders of them. The result has shares with standard errors, a band that
    holds the whole distribution function, and quantiles, mean and variance with intervals. The method auto is smooth
    for numbers with noise.

    \b
    Example:
      assocpriv reconstruct released.parquet
      assocpriv reconstruct released.parquet --by class -o distributions.csv
      assocpriv reconstruct released.parquet --joint age,salary --json

    Next: assocpriv tree released.parquet --class class -o model.json
    """
    opt.check_output(output, force, reports)
    progress = opt.Progress().stage("counting")
    found = ap.reconstruct(opt.open_reports(reports, spark), progress=progress, **options)
    if output is not None:
        found.write(output, force=force)
        opt.say_written(output)
    opt.show(ap.show.table_views.distributions(found))


@opt.command()
@opt.reports_argument
@opt.class_option
@opt.choice(
    "--method",
    ["by-class", "global", "local", "joint"],
    "Records over which columns are reconstructed.",
)
@click.option("--max-depth", type=opt.WholeRange(1), help="Maximum number of splits on a path.")
@opt.choice("--pruning", ["description-length", "none"], "Pruning of the tree.")
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Model file to write (JSON).")
def tree(reports: tuple[Path, ...], class_column: str, output: Path, force: bool, **growth: Any) -> None:
    """Grow a decision tree on the reports of a table.

    REPORTS are files of released records, or folders of them. The result is a model file that predicts the class of raw
    records. The methods reconstruct columns by class, over all records (global), at nodes (local) or in leaves (joint).

    \b
    Example:
      assocpriv tree released.parquet --class class -o model.json

    Next: assocpriv predict model.json table.csv -o out.csv
    """
    opt.check_output(output, force, reports)
    with opt.Progress.while_busy("growing the tree"):
        model = ap.numeric.grow_tree(reports, class_column, **growth)
    ap.numeric.write_tree(model, output, force=force)
    opt.show(ap.show.table_views.tree(model, output))


@opt.command()
@click.argument("model", type=opt.PATH)
@click.argument("table", type=opt.PATH)
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Table to write: .csv or .parquet.")
@opt.missing_option
@opt.layout_option
def predict(model: Path, table: Path, output: Path, force: bool, **reading: Any) -> None:
    """Predict the class of raw records with a decision tree.

    MODEL is a file of assocpriv tree. TABLE holds raw records, as CSV with a header line or as Parquet. The output is
    TABLE with a column predicted. The command runs where the records are, and sends no data.

    \b
    Example:
      assocpriv predict model.json table.csv -o out.csv

    Next: assocpriv inspect model.json
    """
    opt.check_output(output, force, [model, table])
    reading |= opt.table_reading(reading)
    counts = ap.numeric.predict_file(ap.numeric.read_tree(model), table, output, force=force, **reading)
    opt.show(ap.show.table_views.predictions(counts, output))
