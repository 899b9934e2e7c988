"""The command refine: a next round's plan, for other people."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import PATH, WANTED, WHOLE, histogram_table_option, plan_output_options, usual
from assocpriv.apps.progress import Progress


@click.command()
@click.argument("itemsets", type=PATH)
@click.option("--plan", "plan_path", type=PATH, required=True, help="The plan that ITEMSETS were mined with.")
@usual("--top", default=WANTED, help="Itemsets wanted.")
@click.option("--itemsets", "candidates", is_flag=True, help="Ask for the itemsets themselves, not their items.")
@histogram_table_option
@click.option("--reports", type=WHOLE, help="People who will answer; after sizes, in all rounds to come.")
@click.option("--items", type=WHOLE, help="After sizes of all names: number of items, named 0 … N−1.")
@click.option("--catalogue", type=PATH, help="After sizes of all names: file of item names, one a line.")
@plan_output_options
def refine(
    itemsets: Path, plan_path: Path, items: int | None, catalogue: Path | None, output: Path, force: bool, **wishes: Any
) -> None:
    """Plan a next round for OTHER people: the items of mined ITEMSETS become its short catalogue.

    After a round of sizes (plan --histogram) the next one asks about all items; says how to split the people.

    \b
    Example:
      assocpriv refine sizes.csv --plan plan0.json --items 1000 --reports 980000 -o plan1.json
      assocpriv refine itemsets.parquet --plan plan.json -o plan2.json
      assocpriv refine itemsets2.parquet --plan plan2.json --itemsets -o plan3.json
    """
    from assocpriv.apps.render.rounds import refinement_lines, refinement_record
    from assocpriv.baskets import check_writable, foresee, read_catalogue, read_plan, write_plan
    from assocpriv.rounds import refine as plan_next

    if items is not None and catalogue is not None:
        raise click.UsageError("give one of --items and --catalogue")
    read = [itemsets, plan_path, *(path for path in (wishes["histogram"], catalogue) if path is not None)]
    before = read_plan(plan_path)
    check_writable(output, force=force, inputs=read)
    names = items if catalogue is None else read_catalogue(catalogue)
    with Progress.while_busy("planning"):
        refinement = plan_next(itemsets, before, items=names, **wishes)
    write_plan(refinement.plan, output, force=force)
    prospects = foresee(refinement.plan, refinement.reports)
    show_result(lambda: refinement_record(refinement, prospects), lambda: refinement_lines(refinement, prospects))
