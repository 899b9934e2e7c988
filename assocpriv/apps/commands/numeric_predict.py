"""The command numeric predict: a published tree applied to the records of a table."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import say, show_result
from assocpriv.apps.options import OUTPUT, PATH, result_options, separator_option, usual


@click.command()
@click.argument("model", type=PATH)
@click.argument("table", type=PATH)
@click.option("-o", "--output", type=OUTPUT, required=True, help="Table to write: .csv or .parquet.")
@usual("--column", metavar="NAME", default="predicted", help="Name of the column to add; TABLE must not have it.")
@click.option(
    "--missing", metavar="WORD", multiple=True, help="A word that stands for a missing value, as ?; may be repeated."
)
@separator_option
@result_options
def predict(model: Path, table: Path, output: Path, force: bool, **reading: Any) -> None:
    """Apply a tree, the file MODEL, to raw records, the file TABLE; adds a column, their class.

    Runs where the records lie, without scikit-learn; nothing leaves. TABLE is CSV with a header line, or Parquet.

    \b
    Example:
      assocpriv numeric predict model.json table.csv -o out.csv
    """
    from assocpriv.apps.render.trees import prediction_lines, prediction_notes, prediction_record
    from assocpriv.numeric import check_writable, predict_file, read_model

    check_writable(output, force=force, inputs=[model, table])
    counts = predict_file(read_model(model), table, output, force=force, **reading)
    say(prediction_notes(counts))
    show_result(
        lambda: prediction_record(counts, str(output)),
        lambda: prediction_lines(counts, str(output)),
    )
