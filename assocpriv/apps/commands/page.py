"""The command page: what was found, or withheld, as a page for a browser."""

from pathlib import Path

import click

from assocpriv.apps.console import say_written
from assocpriv.apps.options import OUTPUT, PATH, check_page_output, force_option, usual


@click.command()
@click.argument("found", type=PATH)
@click.option("-o", "--output", type=OUTPUT, required=True, help="Page to write (.html), whole in one file.")
@click.option("--plan", type=PATH, help="The plan it was found with: its promise is said on the page.")
@usual("--min-confidence", default="50%", help="Least confidence of the rules shown, as 60% or 0.6.")
@click.option("--title", help="The page's heading.")
@force_option
def page(found: Path, output: Path, plan: Path | None, min_confidence: str, title: str | None, force: bool) -> None:
    """Make a page of what was FOUND: how sure it is, the promise, what could not be seen, whether it may be published.

    FOUND is a file of itemsets (mine -o), of rounds side by side (combine -o combined.json), of distributions (numeric
    reconstruct -o found.json), of a tree (numeric tree -o), or the report of a suppression (suppress --report). The
    page is one file, loads nothing from elsewhere, and holds no report, no basket and no record.

    \b
    Example:
      assocpriv mine reports.parquet --min-support 2% -o itemsets.parquet
      assocpriv page itemsets.parquet --plan plan.json -o itemsets.html
      assocpriv page distributions.json -o distributions.html
    """
    from assocpriv.showing import write_page

    check_page_output(output, force, [found, *([] if plan is None else [plan])])
    write_page(found, output, plan, force=force, min_confidence=min_confidence, title=title)
    say_written(output, "page")
