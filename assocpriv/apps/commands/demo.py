"""The command demo: the whole way on baskets made here."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import compile_ahead, show_result
from assocpriv.apps.options import PATH, force_option, format_option, json_option
from assocpriv.apps.progress import Progress


@click.command()
@click.option("--baskets", type=PATH, help="Your own baskets instead of generated ones.")
@click.option("--size", type=int, default=1_000_000, show_default=True, help="Number of baskets to generate.")
@click.option("--items", type=int, default=1_000, show_default=True, help="Number of items to generate.")
@click.option(
    "--transaction-size", type=click.IntRange(1, 15), default=5, show_default=True, help="M, as for assocpriv plan."
)
@click.option("--prior", default="5%", show_default=True, help="As for assocpriv plan.")
@click.option("--posterior", default="50%", show_default=True, help="As for assocpriv plan.")
@click.option(
    "--min-support",
    help="As for assocpriv mine.  [default: 2%, or what reports can be believed from if that is higher]",
)
@click.option("--min-confidence", default="60%", show_default=True, help="Least confidence of a rule.")
@click.option("--seed", type=click.IntRange(0), help="Makes the randomization repeatable, for a demonstration only.")
@format_option
@click.option("-o", "--output", type=PATH, default=Path("assocpriv-demo"), show_default=True, help="Folder.")
@click.option("--top", type=click.IntRange(0), default=15, show_default=True, help="Rows shown.")
@force_option
@json_option
def demo(output: Path, top: int, force: bool, as_json: bool, **options: Any) -> None:
    """Show the whole way on baskets made here (or your own), beside the truth only a demo may know.

    Leaves plan.json, reports.parquet, itemsets.parquet and rules.csv in a folder.

    \b
    Example:
      assocpriv demo
      assocpriv demo --baskets baskets.csv --min-support 5%
    """
    from assocpriv.apps.render.demo import demo_record, found_lines, start_lines
    from assocpriv.trials import DemoSettings, start_demo

    form, path = options.pop("format"), options.pop("baskets")
    settings = DemoSettings(baskets=None if path is None else (path, form), **options)
    tell: Callable[[str], None] = partial(click.echo, err=as_json)
    progress = Progress()
    start = start_demo(settings, output, force=force, progress=progress)
    for line in start_lines(start):
        tell(line)
    compile_ahead()
    done = start.finish(progress)
    for line in found_lines(done, top):
        tell(line)
    if as_json:
        show_result(True, lambda: demo_record(done), list)
