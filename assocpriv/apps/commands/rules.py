"""The command rules: association rules from mined itemsets."""

from pathlib import Path

import click

from assocpriv.apps.console import show_result, warn
from assocpriv.apps.options import PATH, check_table_output, table_options


@click.command()
@click.argument("itemsets", type=PATH)
@click.option("--min-confidence", required=True, help="Least confidence of a rule, as 60% or 0.6.")
@click.option("--certain", metavar="C", help="Mark rules that have it for sure, as 95%: at most 5% false ones.")
@table_options
def rules(itemsets: Path, min_confidence: str, certain: str | None, output: Path | None, top: int, force: bool) -> None:
    """Derive association rules from mined ITEMSETS.

    \b
    Example:
      assocpriv rules itemsets.parquet --min-confidence 60% -o rules.csv
    """
    from assocpriv.apps.render.itemsets import derived_lines, derived_record
    from assocpriv.baskets import association_rules, describe_undecided, read_itemsets, write_rules

    check_table_output(output, force, [itemsets])
    frame = read_itemsets(itemsets)
    derived = association_rules(frame, min_confidence, certain=certain)
    if output is not None:
        write_rules(derived, output, force=force)
    warn(describe_undecided(frame))
    show_result(lambda: derived_record(frame, derived), lambda: derived_lines(frame, derived, top))
