"""The server's side of baskets: the commands mine, rules, ask, compare.

mine: itemsets from reports alone. rules: association rules from mined itemsets. ask: chosen itemsets and rules.
compare: what differs between collections.
"""

import csv
from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_ARROW = "=>"


@opt.command()
@opt.reports_argument
@opt.min_support_option
@opt.max_itemset_option
@click.option("--certain", metavar="C", help="Mark what is frequent for sure, as 95%: on average at most 5% false.")
@opt.table_output_option
@click.option("--html", type=opt.PAGE, help="Page to write (.html): what was found, for a browser.")
@click.option("--top", type=opt.WholeRange(0), metavar="K", help="Find the K largest supports; or show so many rows.")
@opt.all_option
@opt.row_options
@opt.usual("--sort", default="sure", help="Order of the rows: sure (of every size its share), support, size or name.")
@opt.rare(opt.level_option, opt.memory_option, opt.spark_option)
def mine(
    reports: tuple[Path, ...], spark: str | None, output: Path | None, html: Path | None, top: int | None,
    everything: bool, force: bool, **options: Any,
) -> None:  # fmt: skip
    """Find itemsets from REPORTS (files, or folders of them), with how sure each is: the server's side.

    Reports of several plans, as of a first collection and a second that refine planned, are read together. Without
    --min-support, --top K finds the K itemsets of the largest supports; else it shows K rows as text, by default 50.

    \b
    Example:
      assocpriv mine reports.parquet -o itemsets.parquet
      assocpriv mine reports.parquet --min-support 2% --certain 95%
      assocpriv mine reports.parquet --contains milk --size 2..3
    """
    wanted = top if options["min_support"] is None and top else None
    shown = ap.ItemsetFilter(*(options.pop(name) for name in ("contains", "size", "sort")))
    for path in (output, html):
        opt.check_output(path, force, reports)
    collections = opt.open_collections(reports, spark)
    shown.check([each.plan for each in collections])
    frame = ap.mine(collections, light=True, top=wanted, among=shown, progress=opt.Progress(), **options)
    if output is not None:
        ap.write_itemsets(frame, output, force=force)
        opt.say_written(output)
    if html is not None:
        first = max((each.plan for each in collections), key=lambda plan: plan.n_items)  # of whom the table names first
        ap.show.pages.write_page(frame, html, first, force=force)
        opt.say_written(html, "page")
    if options["min_support"] is None and not frame["listed"].any():
        found = ap.show.plans.nothing_found(collections[0].plan, frame.attrs["assocpriv"]["reports"])
        opt.say(ap.show.text.lines(found))
    rows = len(frame) if wanted else opt.ROWS if top is None else top
    opt.show(ap.show.itemsets.mined(frame, rows, shown, everything=everything or bool(wanted)))


_OF_RULES = ("min_confidence", "contains", "size", "antecedent", "consequent", "prune", "sort", "prices")


@opt.command()
@click.argument("given", metavar="ITEMSETS|REPORTS", type=opt.PATH)
@opt.usual("--min-confidence", default="50%", help="Least confidence of a rule, as 60% or 0.6.")
@opt.row_options
@click.option("--antecedent", multiple=True, metavar="ITEM", help="Rules with this item in the antecedent; repeatable.")
@click.option("--consequent", multiple=True, metavar="ITEM", help="Rules with this item in the consequent; repeatable.")
@click.option("--prune", is_flag=True, help="Leave out rules that fewer items, or none, predict as well.")
@opt.usual("--sort", default="sure", help="Order: sure (by the interval's lower end), a metric, size or name.")
@click.option("--prices", type=opt.PATH, help="CSV of item and price, or margin: tell what rules are worth.")
@click.option("--substitutes", is_flag=True, help="Of reports: pairs bought together less than expected.")
@click.option("--all", "everything", is_flag=True, help="Show and write also rules, or pairs, that are not listed.")
@opt.top_option
@opt.table_output_option
def rules(
    given: Path, output: Path | None, top: int, everything: bool, force: bool, substitutes: bool, **wanted: Any
) -> None:
    """Derive association rules from mined ITEMSETS, with how sure each is; or substitutes, from REPORTS.

    With --prices each has its value: what its consequent earns per thousand baskets, beyond chance. A file .json has
    the listed rules for devices, which match them at home.

    \b
    Example:
      assocpriv rules itemsets.parquet --min-confidence 60% -o rules.csv
      assocpriv rules itemsets.parquet --sort lift --size 2..3
      assocpriv rules itemsets.parquet --min-confidence 30% --consequent eggs --prune
      assocpriv rules itemsets.parquet --prices margins.csv -o rules.json
      assocpriv rules reports.parquet --substitutes
    """
    opt.check_output(output, force, [given])
    if substitutes:
        opt.refuse_given(_OF_RULES, "does not go with --substitutes")
        [collection] = opt.open_collections((given,), None)
        found = ap.substitutes(collection, light=True, progress=opt.Progress())
        if output is not None:
            ap.write_substitutes(found, output, everything=everything, force=force)
            opt.say_written(output)
        opt.show(ap.show.itemsets.substitutes(found, top, everything=everything))
        return
    frame = ap.read_itemsets(given, light=True)
    derived = ap.association_rules(frame, light=True, **wanted)
    if output is not None:
        ap.write_rules(derived, output, everything=everything, force=force)
        opt.say_written(output)
        if output.suffix == ".json":
            opt.say([f"its digest is {ap.digest_of(output)}"])
    opt.show(ap.show.itemsets.rules(derived, frame, top, everything=everything))


@opt.command(takes=["json"])
@opt.reports_argument
@click.option("--itemset", "itemsets", multiple=True, metavar="NAMES", help=opt.NAMES_HELP)
@click.option("--rule", "rules", multiple=True, metavar="RULE", help='Two itemsets, as "milk,bread => eggs".')
@opt.level_option
@opt.spark_option
def ask(
    reports: tuple[Path, ...], itemsets: tuple[str, ...], rules: tuple[str, ...], spark: str | None, **options: Any
) -> None:
    """Tell the supports of chosen itemsets, and rules, from REPORTS (files, or folders of them).

    \b
    Example:
      assocpriv ask reports.parquet --itemset milk,bread --itemset eggs --rule milk=>eggs
    """

    if not itemsets and not rules:
        raise click.UsageError("give at least one --itemset or --rule")
    questions = [_names(text, "--itemset") for text in itemsets], [_rule(text) for text in rules]
    collections = opt.open_collections(reports, spark)
    answers = ap.answer(collections, *questions, progress=opt.Progress(), **options)
    opt.show(ap.show.itemsets.answers(answers))


@opt.command()
@click.argument("sides", type=opt.PATH, nargs=-1, required=True)
@opt.usual("--at-least", metavar="D", default="0%", help="Difference that matters, as 1% of baskets.")
@click.option("--certain", metavar="C", help="Mark what differs for sure, as 95%: on average at most 5% false.")
@opt.top_option
@opt.table_output_option
@click.option("--html", type=opt.PAGE, help="Page to write (.html): what differs, for a browser.")
def compare(
    sides: tuple[Path, ...], output: Path | None, html: Path | None, top: int, force: bool, **options: Any
) -> None:
    """Tell what differs between SIDES, as two stores or seasons; of three or more, in their order, the trend.

    Each is a file of reports, a folder of them, several of these with commas between, or a table that mine wrote. A
    folder alone stands for its days. Of reports the same itemsets are read on all sides, so these tell more than
    tables. Plans may differ.

    \b
    Example:
      assocpriv compare summer.parquet winter.parquet
      assocpriv compare north south --at-least 1% --certain 95%
      assocpriv compare may.parquet june.parquet july.parquet --html trend.html
    """
    given = [_side(path) for path in sides]
    for path in (output, html):
        opt.check_output(path, force, [each for side in given for each in side])
    told = ap.compare(*(side[0] if len(side) == 1 else side for side in given), progress=opt.Progress(), **options)
    if output is not None:
        ap.write_comparison(told, output, force=force)
        opt.say_written(output)
    if html is not None:
        ap.write_page(told, html, force=force)
        opt.say_written(html, "page")
    opt.show(ap.show.comparisons.compared(told, top))


def _side(path: Path) -> list[Path]:
    """Return the files of a side: commas part them, where no file has a name with commas."""
    return [path] if path.exists() else [Path(each) for each in str(path).split(",")]


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
