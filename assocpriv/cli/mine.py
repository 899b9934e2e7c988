"""The server's side of baskets: the commands mine, rules, ask, page.

mine: frequent itemsets from reports alone. rules: association rules from mined itemsets. ask: chosen itemsets and
rules, without mining. page: what was found, or withheld, as a page for a browser.
"""

import csv
from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_ARROW = "=>"


@click.command()
@opt.reports_argument
@click.option(
    "--min-support", metavar="S", help=f"{opt.LEAST_SUPPORT} auto: the lowest at which finds can be believed."
)
@click.option("--max-itemset", type=opt.WHOLE, help="Largest itemsets.  [default: the plan's]")
@click.option("--certain", metavar="C", help="Mark what is frequent for sure, as 95%: on average at most 5% false.")
@opt.choice(
    "--certain-by",
    ["split", "all"],
    "Which reports choose and test: 3 in 10 choose and the others test, or all do both.",
)
@opt.error_options
@opt.memory_option
@opt.backend_options
@opt.table_output_option
@click.option(
    "--html", type=opt.OUTPUT, help="Page to write (.html): what was found, for a browser, as assocpriv page."
)
@click.option(
    "--top",
    type=opt.WholeRange(0),
    metavar="K",
    help="Without --min-support: mine the K itemsets of the largest estimates, with what is known of their order. "
    f"Else the rows shown as text.  [default: {opt.ROWS}]",
)
@opt.row_options
@opt.usual("--sort", default="sure", help="Order of the rows: sure, support, size or name.")
@opt.result_options
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
    if options["min_support"] is None and not top:
        raise click.UsageError(
            "give --min-support S, --min-support auto (the lowest at which what is found can be believed) or --top K, "
            "from 1 (the K itemsets of the largest estimates)"
        )
    wanted = top if options["min_support"] is None else None
    shown = ap.ItemsetFilter(*(options.pop(name) for name in ("contains", "size", "sort")))
    opt.check_table_output(output, force, reports)
    opt.check_page_output(html, force, reports)
    collection = opt.open_reports(reports, backend, master)
    shown.check(collection.plan)
    asked: Any = {"top": wanted, "memory_bytes": memory, "progress": opt.Progress()}
    frame = ap.mine(collection, light=True, **asked, **options)
    if output is not None:
        ap.write_itemsets(frame, output, force=force)
        opt.say_written(output)
    if html is not None:
        ap.show.pages.write_page(frame, html, collection.plan, force=force)
        opt.say_written(html, "page")
    rows = len(frame) if wanted else opt.ROWS if top is None else top
    opt.show_result(
        lambda: ap.show.itemsets.mined_record(frame, shown), lambda: ap.show.itemsets.mined_lines(frame, rows, shown)
    )


@click.command()
@click.argument("itemsets", type=opt.PATH)
@click.option("--min-confidence", help="Least confidence of a rule, as 60% or 0.6. This or --metric is required.")
@click.option("--metric", help="Another metric that must reach --min-threshold, as lift.")
@click.option("--min-threshold", metavar="X", help="Least value of the metric, as 1.2 or 5%.")
@opt.row_options
@click.option("--antecedent-size", metavar="K", help="Rules with so many items in the antecedent, as 1 or 1..2.")
@click.option("--antecedent", multiple=True, metavar="ITEM", help="Rules with this item in the antecedent; repeatable.")
@click.option("--consequent", multiple=True, metavar="ITEM", help="Rules with this item in the consequent; repeatable.")
@click.option("--prune", is_flag=True, help="Leave out rules that fewer items, or none, predict as well.")
@opt.usual("--sort", default="sure", help="Order: sure (confidence less two standard errors), a metric, size or name.")
@click.option(
    "--certain", metavar="C", help="Mark rules that have it for sure, as 95%: on average at most 5% false ones."
)
@opt.table_options
def rules(itemsets: Path, output: Path | None, top: int, force: bool, **wanted: Any) -> None:
    """Derive association rules from mined ITEMSETS.

    \b
    Example:
      assocpriv rules itemsets.parquet --min-confidence 60% -o rules.csv
      assocpriv rules itemsets.parquet --metric lift --min-threshold 1.2 --sort lift --antecedent-size 1..2
      assocpriv rules itemsets.parquet --min-confidence 30% --consequent eggs --prune
    """

    if wanted["min_confidence"] is None:
        if wanted["metric"] is None:
            raise click.UsageError("give --min-confidence C, or --metric NAME with --min-threshold X")
        wanted["min_confidence"] = 0.0
    opt.check_table_output(output, force, [itemsets])
    frame = ap.read_itemsets(itemsets, light=True)
    derived = ap.association_rules(frame, light=True, **wanted)
    if output is not None:
        ap.write_rules(derived, output, force=force)
        opt.say_written(output)
    opt.show_result(
        lambda: ap.show.itemsets.derived_record(frame, derived),
        lambda: ap.show.itemsets.derived_lines(frame, derived, top),
    )


@click.command()
@opt.reports_argument
@click.option("--itemset", "itemsets", multiple=True, metavar="NAMES", help='Names with commas, as "milk,bread".')
@click.option("--rule", "rules", multiple=True, metavar="RULE", help='Two itemsets, as "milk,bread => eggs".')
@opt.error_options
@opt.memory_option
@opt.backend_options
@opt.json_option
def ask(
    reports: tuple[Path, ...],
    itemsets: tuple[str, ...],
    rules: tuple[str, ...],
    memory: int | None,
    backend: str,
    master: str | None,
    **errors: Any,
) -> None:
    """Estimate the supports of chosen itemsets, and rules, from REPORTS (files, or folders of them) without mining.

    \b
    Example:
      assocpriv ask reports.parquet --itemset milk,bread --itemset eggs --rule milk=>eggs
    """

    if not itemsets and not rules:
        raise click.UsageError("give at least one --itemset or --rule")
    questions = [_names(text, "--itemset") for text in itemsets], [_rule(text) for text in rules]
    collection = opt.open_reports(reports, backend, master)
    answers = ap.answer(collection, *questions, memory_bytes=memory, progress=opt.Progress(), **errors)
    opt.show_result(lambda: ap.show.itemsets.answer_record(answers), lambda: ap.show.itemsets.answer_lines(answers))


def _names(text: str, option: str) -> list[str]:
    """Read names written as a CSV line."""
    try:
        lines = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise click.UsageError(f"{option} {text!r} is not a line of names with commas between: {error}") from None
    names = lines[0] if len(lines) == 1 else []
    if not all(names) or not names:
        raise click.UsageError(f'{option} {text!r} must be names with commas between, as "milk,bread"')
    return names


def _rule(text: str) -> tuple[list[str], list[str]]:
    """Read a rule: the arrow stands once, outside of quotes."""
    pieces = text.split('"')  # every other one is inside
    arrows = [place for place in range(0, len(pieces), 2) for _ in range(pieces[place].count(_ARROW))]
    if len(arrows) != 1:
        raise click.UsageError(f'--rule {text!r} must be two itemsets with one arrow between, as "milk,bread => eggs"')
    at = arrows[0]
    left, right = pieces[at].split(_ARROW)
    sides = '"'.join([*pieces[:at], left]), '"'.join([right, *pieces[at + 1 :]])
    return _names(sides[0].strip(), "--rule"), _names(sides[1].strip(), "--rule")


@click.command()
@click.argument("found", type=opt.PATH)
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Page to write (.html), whole in one file.")
@click.option("--plan", type=opt.PATH, help="The plan it was found with: its promise is said on the page.")
@opt.usual("--min-confidence", default="50%", help="Least confidence of the rules shown, as 60% or 0.6.")
@click.option("--title", help="The page's heading.")
@opt.force_option
def page(found: Path, output: Path, plan: Path | None, min_confidence: str, title: str | None, force: bool) -> None:
    """Make a page of what was FOUND: how sure it is, the promise, what could not be seen, whether it may be published.

    FOUND is a file of itemsets (mine -o), of distributions (numeric reconstruct -o found.json), of a tree (numeric tree
    -o), or the report of a suppression (suppress --report). The page is one file, loads nothing from elsewhere, and
    holds no report, no basket and no record.

    \b
    Example:
      assocpriv mine reports.parquet --min-support 2% -o itemsets.parquet
      assocpriv page itemsets.parquet --plan plan.json -o itemsets.html
      assocpriv page distributions.json -o distributions.html
    """
    opt.check_page_output(output, force, [found, *([] if plan is None else [plan])])
    ap.show.pages.write_page(found, output, plan, force=force, min_confidence=min_confidence, title=title)
    opt.say_written(output, "page")
