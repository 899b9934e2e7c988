"""A miner's commands: mine, rules, ask, compare for baskets, and the group guide for guided perturbation.

mine: itemsets from reports alone. rules: association rules from mined itemsets. ask: chosen itemsets and rules.
compare: differences between collections. guide: from the miner's plan to collected tuples.
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
@click.option("--fdr", metavar="SHARE", help="Also mark * by a stricter test, with this share expected false, as 5%.")
@opt.table_output_option
@click.option("--html", type=opt.PAGE, help="Page of results to write (.html).")
@click.option(
    "--top", type=opt.WholeRange(0), metavar="K", help="Find the K largest supports; with --min-support print K rows."
)
@opt.all_option
@opt.row_options
@opt.sort_option("support, size or name", "selected first, by support")
@opt.advanced_options(opt.level_option, opt.memory_option, opt.spark_option)
def mine(
    reports: tuple[Path, ...], spark: str | None, output: Path | None, html: Path | None, top: int | None,
    everything: bool, force: bool, **options: Any,
) -> None:  # fmt: skip
    """Find frequent itemsets from reports, with credible intervals.

    Input: REPORTS, report files or folders of them. Reports of several plans, such as those of refine, are combined.

    Output: a table of selected itemsets, at most 5% of them expected to be below the minimum support; -o writes it
    whole. The automatic minimum can be below the plan's detection thresholds, because those are stricter: at most one
    false detection in 100 collections.

    \b
    Example:
      assocpriv mine reports.parquet -o itemsets.parquet
      assocpriv mine reports.parquet --min-support 2% --fdr 5%
      assocpriv mine reports.parquet --contains milk --size 2..3

    Next: assocpriv rules itemsets.parquet
    """
    wanted = top if options["min_support"] is None and top else None
    shown = ap.ItemsetFilter(*(options.pop(name) for name in ("contains", "size", "sort")))
    for path in (output, html):
        opt.check_output(path, force, reports)
    collections = opt.open_collections(reports, spark)
    shown.check([each.plan for each in collections])
    limits = {name: options.pop(name) for name in ("min_support", "max_itemset", "fdr")}
    errors = ap.tables.ErrorOptions(options["confidence_level"])
    request = ap.tables.MiningRequest(top=wanted, among=shown, errors=errors, **limits)
    frame = ap.tables.mine_table(ap.tables.backends(collections, options["memory_bytes"], opt.text.Progress()), request)
    opt.write(output, lambda path: ap.write_itemsets(frame, path, force=force))
    first = max((each.plan for each in collections), key=lambda plan: plan.n_items)  # which the table names first
    stated = first if isinstance(first, ap.Plan) else None
    opt.write(html, lambda path: ap.write_page(frame, path, stated, force=force), "page")
    is_planned = stated is not None  # and so no release
    if is_planned and not frame["selected"].any():
        _say_nothing_selected(collections[0].plan, frame, is_given=limits["min_support"] is not None)
    elif is_planned and len(collections) == 1:
        _say_fitting_plan(collections[0].plan, frame)
    if is_planned and first.n_items > 1 and all(each.plan.items.itemset_size == 1 for each in collections):
        opt.say(
            ["the plan is for single items; for pairs, plan a second round: assocpriv refine REPORTS -o plan2.json"]
        )
    rows = len(frame) if wanted else opt.ROWS if top is None else top
    opt.show(ap.show.itemset_views.mined(frame, rows, shown, everything=everything or bool(wanted)))


def _say_nothing_selected(plan: "ap.Plan", frame: Any, *, is_given: bool) -> None:
    """Print what support these reports can detect, and the commands that help."""
    if is_given:
        opt.say(["no itemset is selected; leave --min-support out for the smallest support that these reports detect"])
        return
    facts = frame.attrs["assocpriv"]
    found = ap.show.plan_views.nothing_found(plan, facts["reports"], (facts.get("sizes") or {}).get("mean"))
    opt.say(opt.text.lines(found))
    opt.say(["Next: assocpriv plan --detect SUPPORT, for the reports or the ε that it needs; or show more with --all"])


def _say_fitting_plan(plan: "ap.Plan", frame: Any) -> None:
    """Say so if a plan for the basket sizes that the reports show would detect clearly more."""
    facts, m = frame.attrs["assocpriv"], plan.items.transaction_size
    mean = (facts.get("sizes") or {}).get("mean", m)
    if not mean <= m <= 3 * mean + 1:  # else the plan fits; planning takes a tenth of a second
        opt.say(opt.text.lines(ap.show.plan_views.fitting_plan(plan, facts["reports"], mean)))


_OPTIONS_OF_RULES = ("min_confidence", "contains", "size", "antecedent", "consequent", "prune", "sort", "prices")


@opt.command()
@click.argument("given", metavar="ITEMSETS|REPORTS...", type=opt.PATH, nargs=-1, required=True)
@opt.usual("--min-confidence", default="50%", help="Minimum confidence, as 60% or 0.6.")
@opt.row_options
@click.option("--antecedent", multiple=True, metavar="ITEM", help="Rules with this antecedent item; repeatable.")
@click.option("--consequent", multiple=True, metavar="ITEM", help="Rules with this consequent item; repeatable.")
@click.option("--prune", is_flag=True, help="Leave out redundant rules.")
@opt.sort_option("a metric, size or name", "selected first, by the lower end of the interval")
@click.option("--prices", type=opt.PATH, help="CSV of item and price, for the value of rules.")
@click.option("--substitutes", is_flag=True, help="Find substitutes in REPORTS instead.")
@click.option("--all", "everything", is_flag=True, help="Also rules that are not selected, marked ?.")
@opt.top_option
@opt.table_output_option
def rules(
    given: tuple[Path, ...],
    output: Path | None,
    top: int,
    everything: bool,
    force: bool,
    substitutes: bool,
    **wanted: Any,
) -> None:
    """Derive association rules from mined itemsets, or find substitutes.

    Input: ITEMSETS, a file that mine wrote. With --substitutes, give REPORTS instead, files or folders of them.

    Output: a table of selected rules with credible intervals, of which at most 10% are expected to be below the minimum
    confidence. With --prices each rule has a value: the extra money, per thousand of all baskets, that the consequent
    earns because it is bought with the antecedent more often than by chance. With -o rules.json a device can compare
    its basket with the rules.

    \b
    Example:
      assocpriv rules itemsets.parquet --min-confidence 60% -o rules.csv
      assocpriv rules itemsets.parquet --sort lift --size 2..3
      assocpriv rules itemsets.parquet --min-confidence 30% --consequent eggs --prune
      assocpriv rules itemsets.parquet --prices margins.csv -o rules.json
      assocpriv rules reports.parquet --substitutes

    Next: assocpriv inspect itemsets.parquet --html page.html
    """
    opt.check_output(output, force, given)
    if substitutes:
        opt.refuse_given(_OPTIONS_OF_RULES, "does not go with --substitutes")
        collections = opt.open_collections(given, None)
        found = ap.tables.find_substitutes(ap.tables.backends(collections, progress=opt.text.Progress()))
        opt.write(output, lambda path: ap.write_substitutes(found, path, everything=everything, force=force))
        opt.show(ap.show.itemset_views.substitutes(found, top, everything=everything))
        return
    if len(given) > 1:
        raise click.UsageError("give one file of ITEMSETS; several are REPORTS, which go with --substitutes")
    least, prices = wanted.pop("min_confidence"), wanted.pop("prices")
    frame = ap.tables.read_table(given[0])
    known = None if prices is None else ap.tables.read_prices(prices)
    derived = ap.tables.derive_rules(frame, least, ap.tables.RuleFilter(**wanted), known)
    opt.write(output, lambda path: ap.write_rules(derived, path, everything=everything, force=force))
    if output is not None and output.suffix == ".json":
        opt.say([f"SHA-256 digest: {ap.device.digest_of(output)}"])
    opt.show(ap.show.itemset_views.rules(derived, frame, top, everything=everything))


@opt.command(takes=["json"])
@opt.reports_argument
@click.option("--itemset", "itemsets", multiple=True, metavar="NAMES", help=opt.NAMES_HELP)
@click.option("--rule", "rules", multiple=True, metavar="RULE", help='Two itemsets, as "milk,bread => eggs".')
@opt.level_option
@opt.spark_option
def ask(
    reports: tuple[Path, ...], itemsets: tuple[str, ...], rules: tuple[str, ...], spark: str | None, **options: Any
) -> None:
    """Estimate the supports of chosen itemsets, and chosen rules.

    Input: REPORTS, report files or folders of them, and itemsets or rules by name.

    Output: supports and confidences in the order asked, with intervals for itemsets chosen beforehand.

    \b
    Example:
      assocpriv ask reports.parquet --itemset milk,bread --itemset eggs --rule "milk => eggs"

    Next: assocpriv mine reports.parquet
    """
    if not itemsets and not rules:
        raise click.UsageError("give at least one --itemset or --rule")
    chosen = [_names(text, "--itemset") for text in itemsets], [_rule(text) for text in rules]
    opened = ap.tables.backends(opt.open_collections(reports, spark), progress=opt.text.Progress())
    opt.show(ap.show.itemset_views.answers(ap.tables.ask(opened, *chosen, ap.tables.ErrorOptions(**options))))


@opt.command()
@click.argument("sides", type=opt.PATH, nargs=-1, required=True)
@opt.usual("--at-least", metavar="D", default="0%", help="Least difference of interest, as 1% of baskets.")
@click.option("--fdr", metavar="SHARE", help="Mark significant differences *, with this share expected false, as 5%.")
@opt.top_option
@opt.table_output_option
@click.option("--html", type=opt.PAGE, help="Page of results to write (.html).")
def compare(
    sides: tuple[Path, ...], output: Path | None, html: Path | None, top: int, force: bool, **options: Any
) -> None:
    """Find differences between stores, regions or seasons.

    Input: SIDES, two or more: report files, folders of them, several of these separated by commas, or tables that mine
    wrote. A folder alone stands for its days. From reports the same itemsets are estimated on all sides, which is more
    precise than from tables. Plans may differ.

    Output: tables of the itemsets and rules that differ; for three or more sides, in their order, the trend.

    \b
    Example:
      assocpriv compare summer.parquet winter.parquet
      assocpriv compare north south --at-least 1% --fdr 5%
      assocpriv compare may.parquet june.parquet july.parquet --html trend.html

    Next: assocpriv ask reports.parquet --itemset milk,bread
    """
    given = [_side(path) for path in sides]
    for path in (output, html):
        opt.check_output(path, force, [each for side in given for each in side])
    compared = ap.compare(
        *(side[0] if len(side) == 1 else side for side in given), progress=opt.text.Progress(), **options
    )
    opt.write(output, lambda path: ap.write_comparison(compared, path, force=force))
    opt.write(html, lambda path: ap.write_page(compared, path, force=force), "page")
    opt.show(ap.show.comparison_views.compared(compared, top))


def _side(path: Path) -> list[Path]:
    """Return the files of a side: commas separate them, unless a file has that name."""
    return [path] if path.exists() else [Path(each) for each in str(path).split(",")]


def _names(text: str, option: str) -> list[str]:
    """Return names written as a CSV line."""
    try:
        lines = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise click.UsageError(f"{option} {text!r} is not a list of names separated by commas: {error}") from None
    names = lines[0] if len(lines) == 1 else []
    if not all(names) or not names:
        raise click.UsageError(f'{option} {text!r} must be names separated by commas, as "milk,bread"')
    return names


def _rule(text: str) -> tuple[list[str], list[str]]:
    """Return the two sides of a rule: one arrow outside of quotes separates them."""
    pieces = text.split('"')  # every other one is inside
    arrows = [place for place in range(0, len(pieces), 2) for _ in range(pieces[place].count(_ARROW))]
    if len(arrows) != 1:
        raise click.UsageError(f'--rule {text!r} must be two itemsets separated by one arrow, as "milk,bread => eggs"')
    at = arrows[0]
    left, right = pieces[at].split(_ARROW)
    sides = '"'.join([*pieces[:at], left]), '"'.join([right, *pieces[at + 1 :]])
    return _names(sides[0].strip(), "--rule"), _names(sides[1].strip(), "--rule")


# ---- guided perturbation


@click.group(cls=opt.Group)
def guide() -> None:
    """Collect mainly the values that help to predict a chosen column.

    A miner publishes guidance: directions in which classes differ. People release their records in these directions
    only.

    \b
    Example, from a plan to collected tuples:
      assocpriv guide start sample.csv --class party -o plan.json --state state.json
      assocpriv guide publish state.json -o guidance.json
      assocpriv randomize table.csv --plan plan.json --guidance guidance.json -o released.parquet
      assocpriv guide collect released.parquet --state state.json

    Next: assocpriv guide start
    """


@guide.command()
@click.argument("table", type=opt.PATH, required=False)
@opt.class_option
@click.option("--schema", type=opt.PATH, help="Schema (TOML) with values and ranges, instead of TABLE's.")
@opt.missing_option
@opt.layout_option
@opt.usual("--mu", metavar="SHARE", default="15%", help="Ignore class differences below this share of the largest.")
@opt.usual("--batch", metavar="N", default=20, help="Tuples between two guidances.")
@opt.guarantee_options
@opt.choice("--keep", ["bits", "tuple"], "Mechanism of the guarantee: random bits, or random tuples.")
@click.option("--known", is_flag=True, help="Start with TABLE's records as known tuples.")
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Plan file to write (JSON).")
@click.option("--state", type=opt.OUTPUT, required=True, help="State file to write (JSON).")
def start(table: Path | None, schema: Path | None, output: Path, state: Path, force: bool, **options: Any) -> None:
    """Write a guided plan and the miner's first state.

    TABLE holds public records or records of people who consented: the plan publishes its values and quartiles. With
    --schema the plan publishes no value of TABLE, and TABLE may be left out. The class is collected raw. Without
    --prior and --posterior, or --epsilon, there is no privacy guarantee.

    \b
    Example:
      assocpriv guide start sample.csv --class party --missing ? -o plan.json --state state.json
      assocpriv guide start sample.csv --class party --epsilon 2 -o plan.json --state state.json
      assocpriv guide start --schema schema.toml --class party -o plan.json --state state.json

    Next: assocpriv guide publish state.json -o guidance.json
    """
    if table is None and (schema is None or options["known"]):
        raise click.UsageError("give TABLE, whose values the plan publishes, or --schema without --known")
    for path in (output, state):
        opt.check_output(path, force, [table, schema])
    reading = opt.table_reading(options)
    made = ap.guided.start(table, schema=schema, guarantee=opt.take_guarantee(options), **options, **reading)
    ap.guided.write_state(made, state, force=force)
    ap.write_plan(made.plan, output, force=force)
    opt.show(ap.show.table_views.started(made, output, state, is_of_table=schema is None))


@guide.command()
@click.argument("state", type=opt.PATH)
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Guidance file to write (JSON).")
@click.option("--level", type=opt.WholeRange(1), help="Number of directions.  [default: those above --mu]")
def publish(state: Path, output: Path, level: int | None, force: bool) -> None:
    """Write the current guidance to a file and to the state.

    STATE is the miner's state. New guidance is made once a batch of tuples has arrived since the last; before that the
    last is written again. The command also prints the estimated accuracy of other levels.

    \b
    Example:
      assocpriv guide publish state.json -o guidance.json

    Next: assocpriv randomize table.csv --plan plan.json --guidance guidance.json -o released.parquet
    """
    with opt.text.Progress.while_busy("finding directions in which classes differ"):
        done, new = ap.guided.publish_file(state, output, level=level, force=force)
        accuracies = ap.guided.estimate_accuracy(done)
    opt.show(ap.show.table_views.published(done, accuracies, new, output))


@guide.command(takes=["json"])
@opt.reports_argument
@click.option("--state", type=opt.PATH, required=True, help="State file to update.")
def collect(reports: tuple[Path, ...], state: Path) -> None:
    """Add released tuples to the miner's state.

    REPORTS are files of reports, folders of them, or messages (.jsonl). All are added, or none. In a folder, also that
    of a running collection, files that were collected before are skipped.

    \b
    Example:
      assocpriv guide collect released.parquet --state state.json

    Next: assocpriv guide publish state.json -o guidance.json --force
    """
    with opt.text.Progress.while_busy("adding up"):
        done = ap.guided.collect_files(reports, state)
    opt.show(ap.show.table_views.collected(done))
