"""What is published before reports come: the commands catalogue, plan, refine.

catalogue: the names of items, made of baskets or checked. plan: the operator with the least error inside a promise.
refine: a plan of what mattered, for other people.
"""

from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import asking
from assocpriv.cli import options as opt

_NAMES = ("items", "catalogue", "taxonomy", "leave_out")
_FOUND = ("reports", "itemset_size")  # which --find looks for, unless they are given
_TAKES = {  # which options of plan a kind of plan has, beside those of all
    "baskets": (
        *_NAMES, "others", "mean_size", "like", "itemset_size", "transaction_size", "find", "paper", *opt.READING,
        "central", "local_cap",
    ),
    "table": ("schema", "answer", "like", "layout"),
}  # fmt: skip


def _to_answer(_context: click.Context, _option: click.Parameter, text: str | None) -> "int | str | None":
    """Take a number of columns, or the word all."""
    if text is None or text == "all":
        return text
    if not (text.isascii() and text.isdigit()):
        raise click.BadParameter("give a number of columns, or all")
    return int(text)


def _pair(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, ...] | None:
    """Take ε and δ, as 1,1e-8."""
    parts = None if text is None else tuple(text.split(","))
    if parts is not None and len(parts) != 2:
        raise click.BadParameter("give ε and δ, as 1,1e-8")
    return parts


_rare_options = opt.rare(
    click.option("--taxonomy", type=opt.PATH, help="CSV: in each line a name, its parent, the parent's parent …"),
    click.option(
        "--like", type=opt.PATH, help="A sample: of baskets, for their sizes; with --schema, for whole numbers."
    ),
    click.option("--itemset-size", type=opt.WHOLE, help="K: largest itemsets to estimate.  [default: 3]"),
    click.option("--transaction-size", type=opt.WHOLE, help="M: baskets are sampled to M items.  [default: chosen]"),
    click.option(
        "--find", metavar="SUPPORT", help="Look for reports, or for ε, that tell pairs of this support, as 1%."
    ),
    click.option("--local-cap", metavar="E", help="Of --central: most ε if relay and collector collude.  [default: 8]"),
    click.option("--leave-out", type=opt.PATH, help="File of names that clients drop, with all below, one a line."),
    opt.choice("--others", ["error", "drop"], "What clients do with names that lead to no item."),
    click.option("--paper", is_flag=True, help="The choice of the 2003 paper for this --transaction-size."),
    opt.reading_options,
    click.option("--answer", metavar="K|all", callback=_to_answer, help="Of a schema: protected columns of a report."),
)


@opt.command()
@click.argument("baskets", type=opt.PATH, nargs=-1)
@click.option("-o", "--output", type=opt.OUTPUT, help="File of names to write, one a line.  [default: standard output]")
@opt.usual("--min-count", default=1, help="Baskets that a name must be in.", type=opt.WholeRange(1))
@click.option("--best", type=opt.WholeRange(1), help="Only so many names, those in most baskets or sold most.")
@click.option("--sales", type=opt.PATH, help="A list of sales in place of BASKETS: CSV, in each line a name, how many.")
@click.option("--check", type=opt.PATH, help="Check this catalogue instead, against BASKETS if there are any.")
@opt.reading_options
def catalogue(
    baskets: tuple[Path, ...], output: Path | None, min_count: int, best: int | None, sales: Path | None,
    check: Path | None, force: bool, **reading: Any,
) -> None:  # fmt: skip
    """Make a catalogue, the names of all items, of BASKETS that may be looked at, or of a list of sales.

    It shows names of items, because a catalogue gets published with its plan: read it before you do.

    \b
    Example:
      assocpriv catalogue baskets.csv --min-count 10 -o names.txt
      assocpriv catalogue --sales sales.csv --best 100 -o best.txt
      assocpriv catalogue --check names.txt
    """
    if check is not None:
        opt.refuse_given(("output", "min_count", "best", "sales"), "does not go with --check, which makes no catalogue")
        checked = ap.check_catalogue(ap.read_catalogue(check))
        use = None
        if baskets:
            use = ap.try_catalogue(checked.catalogue, baskets, progress=opt.Progress().stage("reading"), **reading)
        opt.show(ap.show.collections.check(checked, use))
        return
    if bool(baskets) == (sales is not None):
        raise click.UsageError("give files of baskets, a list of --sales, or --check a catalogue")
    opt.check_output(output, force, [*baskets, sales])
    if sales is not None:
        opt.refuse_given(opt.READING, "says how BASKETS are read; a list of sales is CSV")
        draft = ap.best_sold(sales, best, min_count)
    else:
        draft = ap.draft_catalogue(baskets, min_count, progress=opt.Progress().stage("reading"), best=best, **reading)
    if output is not None:
        ap.write_catalogue(draft.catalogue, output, force=force)
    opt.show(ap.show.collections.draft(draft, output))


@opt.command()
@click.option("--schema", type=opt.PATH, help="Of a table instead: TOML that names its columns.")
@click.option("--items", type=opt.WHOLE, help="Number of items, named 0 … N−1.")
@click.option("--catalogue", type=opt.PATH, help="File of item names, one a line.")
@opt.promise_options
@opt.usual("--reports", default=1_000_000, help="Reports that are expected.")
@opt.usual("--reports-per-person", default=1, help="R: reports of one person; the promise covers them together.")
@click.option("--mean-size", type=opt.NUMBER, help="Different items of a basket on average.  [default: 6]")
@click.option(
    "--central", metavar="ε,δ", callback=_pair, help="Instead, through a relay: of --reports together, as 1,1e-8."
)
@click.option("-o", "--output", type=opt.OUTPUT, help="Plan file to write (JSON); required without --find.")
@_rare_options
def plan(output: Path | None, force: bool, **options: Any) -> None:
    """Choose the plan that tells most of whole baskets inside a promise; with --schema, of a table's columns.

    The promise: no report lifts a belief from PRIOR to POSTERIOR, or a belief's opposite the other way; or as EPSILON
    of local differential privacy. 5% to 10% is strict, 5% to 50% (which is ln 19) usual, 1% to 50% lenient; what each
    means and costs: assocpriv privacy --explain; with --central see docs/choose-a-promise.md

    --find looks for what tells a support of pairs (of --itemset-size items) in whole baskets: a small ε for --reports,
    or few reports for a promise. On a terminal, without options, it asks.

    \b
    Example:
      assocpriv plan --items 1000 --prior 5% --posterior 50% -o plan.json
      assocpriv plan --catalogue names.txt --epsilon 2.5 --reports 50000 -o plan.json
      assocpriv plan --items 1000 --central 1,1e-8 --reports 100000 -o plan.json
      assocpriv plan --schema schema.toml -o plan.json
    """
    if asking.is_wanted():
        asking.run_answers()
        return
    if options["find"] is None:
        opt.require(("output",))
    kind, make = ("baskets", _plan_baskets) if options["schema"] is None else ("table", _plan_table)
    own = opt.of_kind(options, kind, _TAKES)
    if own["like"] is None:
        opt.refuse_given(opt.READING, "goes with --like, and says how it is read")
    make(output, force, **own)


def _plan_baskets(
    output: Path | None, force: bool, find: str | None, like: Path | None, others: str, **known: Any
) -> None:
    names = ap.NameSource(**{name: known.pop(name) for name in _NAMES})
    reading = {name: known.pop(name) for name in opt.READING}
    if (names.items is None) == (names.catalogue is None):
        raise click.UsageError(
            "give one of --items and --catalogue (of the categories, with --taxonomy), or --schema for a table"
        )
    opt.check_output(output, force, [*names.paths, like])
    if known["central"] is not None:
        opt.refuse_given(("prior", "posterior", "epsilon", "find", "paper"), "does not go with --central")
        if not opt.given("reports"):
            raise click.UsageError(
                "--central is proved for so many reports together, and fewer are never read: give --reports"
            )
    stated = {name: known.pop(name) for name in ("prior", "posterior", "epsilon")}
    # what is not given of the two is what is looked for
    is_open = find and opt.given("reports") and stated["posterior"] is None and stated["epsilon"] is None
    promise = None if is_open else opt.take_promise(dict(stated))
    if promise is None and not is_open and known["central"] is None:
        raise click.UsageError("Missing promise: give --prior and --posterior, or --epsilon.")
    items, rules = names.read(others)
    known["names"] = rules
    if like is not None:
        known["like"] = _sizes_of(like, items, rules, reading)
    found = None
    if find is not None:
        size = known["itemset_size"] or 2
        known = {name: value for name, value in known.items() if name not in _FOUND or opt.given(name)}
        if is_open and stated["prior"] is not None:
            known["prior"] = stated["prior"]
        progress = opt.Progress().stage("planning")
        found = ap.find_plan(find, items, size=size, promise=promise, progress=progress, **known)
    with opt.Progress.while_busy("planning"):
        choice = ap.choose_plan(items, promise, **known) if found is None else found.choice
    if output is not None:
        ap.write_plan(choice.plan, output, force=force)
    opt.show(ap.show.plans.choice(choice, found, verbose=opt.verbosity() > 0))


def _plan_table(output: Path | None, force: bool, schema: Path, reports: int, like: Path | None, **known: Any) -> None:
    """Choose how each column of a table is released."""
    assert output is not None
    opt.check_output(output, force, [schema, like])
    reading = opt.table_reading(known)
    whole = () if like is None else ap.numeric.sample_whole(schema, like, **reading)
    made = ap.numeric.plan_table(schema, opt.take_promise(known), reports=reports, whole=whole, **known)
    ap.write_plan(made, output, force=force)
    opt.show(ap.show.plans.described(made, reports))


def _sizes_of(path: Path, items: Any, rules: Any, reading: dict[str, Any]) -> Any:
    """Return how large the sample's baskets are; say how many there are, and what of them is not in the catalogue."""
    counts = ap.sample_sizes(path, items, rules, progress=opt.Progress().stage("reading"), **reading)
    dropped = counts.read.unknown_dropped
    left = f"; {dropped:,} items outside the catalogue do not count" if dropped else ""
    opt.say([f"sample of {counts.sizes.total():,} baskets{left}"])
    return counts.sizes


@opt.command()
@click.argument("itemsets", type=opt.PATH)
@opt.plan_option
@opt.usual("--best", default=100, help="Items of the short catalogue.")
@click.option("--reports", type=opt.WHOLE, help="People who will answer.  [default: as many as in ITEMSETS]")
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Plan file to write (JSON).")
def refine(itemsets: Path, plan_path: Path, best: int, reports: int | None, output: Path, force: bool) -> None:
    """Plan a collection of OTHER people: the likeliest items of mined ITEMSETS become its short catalogue.

    It says whether that pays; if not, ask the other people what the first were asked.

    \b
    Example:
      assocpriv refine itemsets.parquet --plan plan.json -o plan2.json
    """
    before = opt.read_plan(plan_path, [itemsets], ap.Plan)
    opt.check_output(output, force, [itemsets, plan_path])
    with opt.Progress.while_busy("planning"):
        refinement = ap.refine(itemsets, before, best=best, reports=reports)
    ap.write_plan(refinement.plan, output, force=force)
    opt.show(ap.show.plans.refinement(refinement))
