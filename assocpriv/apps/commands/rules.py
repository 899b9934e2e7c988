"""The command rules: association rules from mined itemsets."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import say_written, show_result, warn
from assocpriv.apps.options import PATH, check_table_output, row_options, table_options, usual


@click.command()
@click.argument("itemsets", type=PATH)
@click.option("--min-confidence", help="Least confidence of a rule, as 60% or 0.6. This or --metric is required.")
@click.option("--metric", help="Another metric that must reach --min-threshold, as lift.")
@click.option("--min-threshold", metavar="X", help="Least value of the metric, as 1.2 or 5%.")
@row_options
@click.option("--antecedent-size", metavar="K", help="Rules with so many items in the antecedent, as 1 or 1..2.")
@click.option("--antecedent", multiple=True, metavar="ITEM", help="Rules with this item in the antecedent; repeatable.")
@click.option("--consequent", multiple=True, metavar="ITEM", help="Rules with this item in the consequent; repeatable.")
@click.option("--prune", is_flag=True, help="Leave out rules that fewer items, or none, predict as well.")
@usual("--sort", default="sure", help="Order: sure (confidence less two standard errors), a metric, size or name.")
@click.option(
    "--certain", metavar="C", help="Mark rules that have it for sure, as 95%: on average at most 5% false ones."
)
@table_options
def rules(itemsets: Path, output: Path | None, top: int, force: bool, **wanted: Any) -> None:
    """Derive association rules from mined ITEMSETS.

    \b
    Example:
      assocpriv rules itemsets.parquet --min-confidence 60% -o rules.csv
      assocpriv rules itemsets.parquet --metric lift --min-threshold 1.2 --sort lift --antecedent-size 1..2
      assocpriv rules itemsets.parquet --min-confidence 30% --consequent eggs --prune
    """
    from assocpriv.apps.render.itemsets import derived_lines, derived_record
    from assocpriv.mining import RuleFilter, describe_undecided, read_table, rules_of_table, write_rules

    if wanted["min_confidence"] is None:
        if wanted["metric"] is None:
            raise click.UsageError("give --min-confidence C, or --metric NAME with --min-threshold X")
        wanted["min_confidence"] = 0.0
    check_table_output(output, force, [itemsets])
    frame, least, certain = read_table(itemsets), wanted.pop("min_confidence"), wanted.pop("certain")
    derived = rules_of_table(frame, least, certain, RuleFilter(**wanted))
    if output is not None:
        write_rules(derived, output, force=force)
        say_written(output)
    warn(describe_undecided(frame))
    show_result(lambda: derived_record(frame, derived), lambda: derived_lines(frame, derived, top))
