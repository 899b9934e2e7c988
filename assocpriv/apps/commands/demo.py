"""The command demo: the whole way on baskets made here."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import say, show_lines, show_result, wants_json
from assocpriv.apps.options import (
    LAYOUT,
    OUTPUT,
    PATH,
    WholeRange,
    epsilon_option,
    layout_options,
    require_promise,
    result_options,
    usual,
)
from assocpriv.apps.progress import Progress

_POSTERIOR = "50%"


@click.command()
@click.option("--baskets", type=PATH, help="Your own baskets instead of generated ones.")
@usual("--size", default=1_000_000, help="Number of baskets to generate.")
@usual("--items", default=1_000, help="Number of items to generate.")
@usual("--transaction-size", default=5, help="M, as for assocpriv plan.", type=WholeRange(1, 15))
@usual("--prior", default="5%", help="As for assocpriv plan.")
@click.option("--posterior", help=f"As for assocpriv plan.  [default: {_POSTERIOR}]")
@epsilon_option
@click.option(
    "--min-support",
    help="As for assocpriv mine.  [default: 2%, or what reports can be believed from if that is higher]",
)
@usual("--min-confidence", default="60%", help="Least confidence of a rule.")
@click.option("--seed", type=WholeRange(0), help="Makes the randomization repeatable, for a demonstration only.")
@layout_options
@usual("-o", "--output", default=Path("assocpriv-demo"), help="Folder.", type=OUTPUT)
@usual("--top", default=15, help="Rows shown.", type=WholeRange(0))
@result_options
def demo(output: Path, top: int, force: bool, **options: Any) -> None:
    """Show the whole way on baskets made here (or your own), beside the truth only a demo may know.

    Leaves plan.json, reports.parquet, itemsets.parquet, rules.csv and a page to look at, itemsets.html, in a folder.

    \b
    Example:
      assocpriv demo
      assocpriv demo --baskets baskets.csv --min-support 5%
    """
    from assocpriv.apps.render.trials import demo_record, found_lines, start_lines
    from assocpriv.showing import write_page
    from assocpriv.trials import DemoSettings, start_demo

    layout, path = {name: options.pop(name) for name in LAYOUT}, options.pop("baskets")
    if options["posterior"] is None and options["epsilon"] is None:
        options["posterior"] = _POSTERIOR
    promise = require_promise(options)
    settings = DemoSettings(baskets=None if path is None else (path, layout), promise=promise, **options)
    progress = Progress()
    start = start_demo(settings, output, force=force, progress=progress)
    (say if wants_json() else show_lines)(start_lines(start))
    done = start.finish(progress)
    found = done.simulation.itemsets, start.paths[-1], start.prospects.plan
    write_page(
        *found, force=True, min_confidence=settings.min_confidence, title="What the demo's baskets have in common"
    )
    lines = found_lines(done, top)
    if wants_json():
        say(lines)
    show_result(lambda: demo_record(done), lambda: lines)
