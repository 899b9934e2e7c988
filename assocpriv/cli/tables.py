"""Tables, from released records to what is learned of them: the commands reconstruct, tree, predict.

reconstruct: distributions of columns. tree: a decision tree. predict: a published tree applied to raw records.
"""

from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt


def _to_pair(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, str] | None:
    """Take the names of two columns."""
    names = [] if text is None else [name.strip() for name in text.split(",")]
    if text is not None and len(names) != 2:
        raise click.BadParameter("give two columns, as age,salary")
    return (names[0], names[1]) if names else None


@opt.command()
@opt.reports_argument
@click.option("--by", metavar="COLUMN", help="Also the distributions within each class of a label or category.")
@click.option("--joint", metavar="A,B", callback=_to_pair, help="Instead: how two columns are spread together.")
@opt.choice(
    "--method",
    ["auto", "smooth", "em", "ems", "bayes", "least-squares"],
    "How shares are estimated; auto takes smooth behind noise.",
)
@opt.usual("--confidence-level", default="95%", help="Of intervals and bands, as 95% or 0.95.")
@opt.spark_option
@opt.table_output_option
@opt.result_options
def reconstruct(
    reports: tuple[Path, ...],
    by: str | None,
    joint: tuple[str, str] | None,
    method: str,
    confidence_level: str,
    spark: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Reconstruct how the values of each column are spread, from REPORTS (files of released records, or folders).

    Shares come with standard errors, the distribution function with a band that holds everywhere at once, and
    quantiles, mean and variance with intervals.

    \b
    Example:
      assocpriv reconstruct released.parquet
      assocpriv reconstruct released.parquet --by class -o distributions.csv
      assocpriv reconstruct released.parquet --joint age,salary --json
    """
    opt.check_table_output(output, force, reports)
    found = ap.reconstruct(
        opt.open_reports(reports, spark), by=by, joint=joint, method=method,
        confidence_level=confidence_level, progress=opt.Progress().stage("counting"),
    )  # fmt: skip
    opt.warn(ap.show.tables.left_out_lines(found))
    if output is not None:
        found.write(output, force=force)
        opt.say_written(output)
    opt.show_result(found.record, lambda: ap.show.tables.distribution_lines(found))


@opt.command()
@opt.reports_argument
@click.option("--class", "class_column", metavar="COLUMN", required=True, help="The class: a label or a category.")
@opt.choice("--method", ["by-class", "global", "local"], "Reconstruct columns by class, over all records, or at nodes.")
@click.option("--max-depth", type=opt.WholeRange(1), help="Splits that a record meets at most.")
@click.option(
    "--min-samples-leaf",
    type=opt.WholeRange(1),
    help="Records of a leaf at least.  [default: one in a thousand, 1 to 100]",
)
@opt.choice("--pruning", ["description-length", "none"], "How the tree is pruned.")
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Model file to write (JSON).")
@opt.result_options
def tree(reports: tuple[Path, ...], class_column: str, output: Path, force: bool, **growth: Any) -> None:
    """Grow a decision tree on REPORTS of a table; needs scikit-learn: pip install assocpriv[trees].

    \b
    Example:
      assocpriv tree released.parquet --class class -o model.json
    """

    opt.check_writable(output, force=force, inputs=reports)
    with opt.Progress.while_busy("growing the tree"):
        model = ap.numeric.grow_tree(reports, class_column, **growth)
    ap.numeric.write_tree(model, output, force=force)
    opt.show_result(
        lambda: ap.show.tables.tree_record(model) | {"output": str(output)},
        lambda: [*ap.show.tables.tree_text(model, list(ap.numeric.tree_lines(model))), f"model     {output}"],
    )


@opt.command()
@click.argument("model", type=opt.PATH)
@click.argument("table", type=opt.PATH)
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Table to write: .csv or .parquet.")
@opt.usual("--column", metavar="NAME", default="predicted", help="Name of the column to add; TABLE must not have it.")
@opt.missing_option
@opt.layout_option
@opt.result_options
def predict(model: Path, table: Path, output: Path, force: bool, **reading: Any) -> None:
    """Apply a tree, the file MODEL, to raw records, the file TABLE; adds a column, their class.

    Runs where the records lie, without scikit-learn; nothing leaves. TABLE is CSV with a header line, or Parquet.

    \b
    Example:
      assocpriv predict model.json table.csv -o out.csv
    """

    opt.check_writable(output, force=force, inputs=[model, table])
    reading |= opt.table_reading(reading)
    counts = ap.numeric.predict_file(ap.numeric.read_tree(model), table, output, force=force, **reading)
    opt.say(ap.show.tables.prediction_notes(counts))
    opt.show_result(
        lambda: ap.show.tables.prediction_record(counts, str(output)),
        lambda: ap.show.tables.prediction_lines(counts, str(output)),
    )
