"""The command mine: frequent itemsets from reports alone."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import say_written, show_result, warn
from assocpriv.apps.options import (
    LEAST_SUPPORT,
    OUTPUT,
    ROWS,
    WHOLE,
    WholeRange,
    backend_options,
    check_page_output,
    check_table_output,
    choice,
    error_options,
    histogram_table_option,
    memory_option,
    open_reports,
    reports_argument,
    result_options,
    row_options,
    table_output_option,
    usual,
)
from assocpriv.apps.progress import Progress


@click.command()
@reports_argument
@click.option("--min-support", metavar="S", help=f"{LEAST_SUPPORT} auto: the lowest at which finds can be believed.")
@click.option("--max-itemset", type=WHOLE, help="Largest itemsets.  [default: the plan's]")
@click.option("--certain", metavar="C", help="Mark what is frequent for sure, as 95%: on average at most 5% false.")
@choice(
    "--certain-by",
    ["split", "all"],
    "Which reports choose and test: 3 in 10 choose and the others test, or all do both.",
)
@histogram_table_option
@error_options
@memory_option
@backend_options
@table_output_option
@click.option("--html", type=OUTPUT, help="Page to write (.html): what was found, for a browser, as assocpriv page.")
@click.option(
    "--top",
    type=WholeRange(0),
    metavar="K",
    help="Without --min-support: mine the K itemsets of the largest estimates, with what is known of their order. "
    f"Else the rows shown as text.  [default: {ROWS}]",
)
@row_options
@usual("--sort", default="sure", help="Order of the rows: sure, support, size or name.")
@result_options
def mine(
    reports: tuple[Path, ...],
    memory: int | None,
    backend: str,
    master: str | None,
    output: Path | None,
    html: Path | None,
    top: int | None,
    force: bool,
    **options: Any,
) -> None:
    """Find frequent itemsets from REPORTS (files, or folders of them): the server's side.

    \b
    Example:
      assocpriv mine reports.parquet --min-support 2% -o itemsets.parquet
      assocpriv mine reports.parquet --min-support 2% --html itemsets.html
      assocpriv mine reports.parquet --min-support auto
      assocpriv mine reports.parquet --top 64
      assocpriv mine reports.parquet --min-support 2% --certain 95%
      assocpriv mine reports.parquet --min-support 2% --contains milk --size 2..3
      assocpriv mine reports --min-support 2% --backend spark --master spark://host:7077
    """
    from assocpriv.apps.render.itemsets import mined_lines, mined_record
    from assocpriv.mining import (
        ErrorOptions,
        ItemsetFilter,
        MiningRequest,
        describe_undecided,
        mine_reports,
        write_itemsets,
    )
    from assocpriv.showing import write_page

    if options["min_support"] is None and not top:
        raise click.UsageError(
            "give --min-support S, --min-support auto (the lowest at which what is found can be believed) or --top K, "
            "from 1 (the K itemsets of the largest estimates)"
        )
    wanted, histogram = top if options["min_support"] is None else None, options.pop("histogram")
    shown = ItemsetFilter(*(options.pop(name) for name in ("contains", "size", "sort")))
    errors = ErrorOptions(options.pop("confidence_level"), options.pop("population"))
    request = MiningRequest(top=wanted, errors=errors, **options)
    inputs = [*reports, *([] if histogram is None else [histogram])]
    check_table_output(output, force, inputs)
    check_page_output(html, force, inputs)
    collection = open_reports(reports, backend, master)
    shown.check(collection.plan)
    frame = mine_reports(collection, request, memory, Progress(), histogram=histogram)
    warn(describe_undecided(frame))
    if output is not None:
        write_itemsets(frame, output, force=force)
        say_written(output)
    if html is not None:
        write_page(frame, html, collection.plan, force=force)
        say_written(html, "page")
    rows = len(frame) if wanted else ROWS if top is None else top
    show_result(lambda: mined_record(frame, shown), lambda: mined_lines(frame, rows, shown))
