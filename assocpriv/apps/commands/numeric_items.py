"""The command numeric items: columns of a table as items of baskets, for association rules."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import say, show_result
from assocpriv.apps.options import OUTPUT, PATH, WholeRange, result_options, separator_option


@click.command()
@click.argument("table", type=PATH)
@click.option("--schema", type=PATH, required=True, help="Schema of the table (TOML); releases are not looked at.")
@click.option("-o", "--output", type=OUTPUT, required=True, help="File of baskets to write (Parquet).")
@click.option("--names", type=OUTPUT, help="File for the names of all items: a catalogue.")
@click.option("--baskets", type=PATH, help="Baskets of the same people in the same order, whose items come beside.")
@click.option("--bins", type=WholeRange(1), help="Intervals of each column of numbers.  [default: the schema's, or 5]")
@click.option("--clip", is_flag=True, help="Move values outside a column's range to its ends, instead of an error.")
@click.option(
    "--missing", metavar="WORD", multiple=True, help="A word that stands for a missing value, as ?; may be repeated."
)
@separator_option
@result_options
def items(table: Path, schema: Path, output: Path, **options: Any) -> None:
    """Turn the columns of TABLE into items, as age=30–39 and region=north, a basket a record.

    The baskets are raw data: plan for them, randomize and mine them as any others.

    \b
    Example:
      assocpriv numeric items table.csv --schema schema.toml -o baskets.parquet --names names.txt
    """
    from assocpriv.apps.render.tables import items_record, value_lines
    from assocpriv.numeric import check_writable, items_file

    inputs = [path for path in (table, schema, options["baskets"]) if path is not None]
    for path in (output, options["names"]):
        if path is not None:
            check_writable(path, force=options["force"], inputs=inputs)
    made, counts = items_file(table, schema, output, **options)
    say(value_lines(counts))
    show_result(
        lambda: items_record(made, counts),
        lambda: [f"{len(made):,} baskets over {len(made.catalogue):,} items written to {output}"],
    )
