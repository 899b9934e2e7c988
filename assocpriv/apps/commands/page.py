"""The command page: what a mined table says, as a page for a browser."""

from pathlib import Path

import click

from assocpriv.apps.console import say_written
from assocpriv.apps.options import OUTPUT, PATH, check_page_output, force_option, usual


@click.command()
@click.argument("itemsets", type=PATH)
@click.option("-o", "--output", type=OUTPUT, required=True, help="Page to write (.html), whole in one file.")
@click.option("--plan", type=PATH, help="The plan the table was mined with: its promise is said on the page.")
@usual("--min-confidence", default="50%", help="Least confidence of the rules shown, as 60% or 0.6.")
@usual("--title", default="What baskets have in common", help="The page's heading.")
@force_option
def page(itemsets: Path, output: Path, plan: Path | None, min_confidence: str, title: str, force: bool) -> None:
    """Make a page of mined ITEMSETS: what was found and how sure it is, rules, the promise, what could not be seen.

    The page is one file, loads nothing from elsewhere, and holds no report and no basket.

    \b
    Example:
      assocpriv mine reports.parquet --min-support 2% -o itemsets.parquet
      assocpriv page itemsets.parquet --plan plan.json -o itemsets.html
    """
    from assocpriv.showing import write_page

    check_page_output(output, force, [itemsets, *([] if plan is None else [plan])])
    write_page(itemsets, output, plan, force=force, min_confidence=min_confidence, title=title)
    say_written(output, "page")
