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
_KNOWN = ("reports", "reports_per_person", "mean_size", "itemset_size", "transaction_size", "paper")


def _to_answer(_context: click.Context, _option: click.Parameter, text: str | None) -> "int | str | None":
    """Take a number of columns, or the word all."""
    if text is None or text == "all":
        return text
    if not (text.isascii() and text.isdigit()):
        raise click.BadParameter("give a number of columns, or all")
    return int(text)


_names_options = opt.joined(
    click.option("--schema", type=opt.PATH, help="Of a table instead: TOML that names its columns."),
    click.option("--items", type=opt.WHOLE, help="Number of items, named 0 … N−1."),
    click.option("--catalogue", type=opt.PATH, help="File of item names, one a line."),
)
_promise_options = opt.joined(
    click.option("--prior", help="Belief before a report, as 5% or 0.05."),
    click.option("--posterior", help="Belief that no report may lift the prior to."),
    opt.epsilon_option,
)
_known_options = opt.joined(
    opt.usual("--reports", default=1_000_000, help="Reports that are expected."),
    opt.usual(
        "--reports-per-person",
        default=1,
        help="R: reports of one person; the promise covers all of them together.",
    ),
    click.option(
        "--mean-size", type=opt.NUMBER, help="Items of a basket on average, items sold over receipts.  [default: 6]"
    ),
)
_rare_options = opt.rare(
    click.option("--taxonomy", type=opt.PATH, help="CSV: in each line a name, its parent, the parent's parent …"),
    click.option("--like", type=opt.PATH, help="In place of --mean-size: a sample of baskets, which says how large."),
    click.option("--itemset-size", type=opt.WHOLE, help="K: largest itemsets to estimate.  [default: 3]"),
    click.option("--transaction-size", type=opt.WHOLE, help="M: baskets are sampled to M items.  [default: chosen]"),
    click.option(
        "--find",
        metavar="SUPPORT",
        help="Look for what finds this support of pairs (of --itemset-size items) in whole baskets, as 1%: a small ε "
        "for --reports, or few reports for a promise.",
    ),
    click.option(
        "--leave-out", type=opt.PATH, help="File of names that clients drop, with all below them, one a line."
    ),
    opt.choice("--others", ["error", "drop"], "What clients do with names that lead to no item."),
    click.option("--paper", is_flag=True, help="The choice of the 2003 paper for this --transaction-size."),
    opt.layout_option,
    click.option(
        "--answer",
        metavar="K|all",
        callback=_to_answer,
        help="Of a schema: protected columns that a report answers, labels apart.  [default: whichever errs least]",
    ),
)
_OF_SCHEMA = ("answer",)
_OF_BASKETS = (
    *_NAMES, "others", "mean_size", "like", "itemset_size", "transaction_size", "find", "paper", "layout",
)  # fmt: skip


@opt.command()
@click.argument("baskets", type=opt.PATH, nargs=-1)
@click.option("-o", "--output", type=opt.OUTPUT, help="File of names to write, one a line.  [default: standard output]")
@opt.usual("--min-count", default=1, help="Baskets that a name must be in.", type=opt.WholeRange(1))
@click.option("--best", type=opt.WholeRange(1), help="Only so many names, those in most baskets or sold most.")
@click.option("--sales", type=opt.PATH, help="A list of sales in place of BASKETS: CSV, in each line a name, how many.")
@click.option("--check", type=opt.PATH, help="Check this catalogue instead, against BASKETS if there are any.")
@opt.layout_option
@opt.result_options
def catalogue(
    baskets: tuple[Path, ...],
    output: Path | None,
    min_count: int,
    best: int | None,
    sales: Path | None,
    check: Path | None,
    force: bool,
    layout: str | None,
) -> None:
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
        _check(check, baskets, layout)
        return
    if bool(baskets) == (sales is not None):
        raise click.UsageError("give files of baskets, a list of --sales, or --check a catalogue")
    if output is not None:
        opt.check_writable(output, force=force, inputs=[*baskets, *([] if sales is None else [sales])])
    if sales is not None:
        opt.refuse_given(("layout",), "says how BASKETS are written; a list of sales is CSV")
        draft = ap.best_sold(sales, best, min_count)
    else:
        draft = ap.draft_catalogue(baskets, min_count, layout, opt.Progress().stage("reading"), best=best)
    opt.say(ap.show.collections.draft_talk(draft))
    if output is not None:
        ap.write_catalogue(draft.catalogue, output, force=force)
    written = f"{len(draft.catalogue):,} names written to {output}; they get published: read them first"
    opt.show_result(
        lambda: ap.show.collections.draft_record(draft, output), lambda: [written] if output else list(draft.catalogue)
    )


def _check(path: Path, baskets: tuple[Path, ...], layout: str | None) -> None:

    checked = ap.check_catalogue(ap.read_catalogue(path))
    use = ap.try_catalogue(checked.catalogue, baskets, layout, opt.Progress().stage("reading")) if baskets else None
    opt.show_result(
        lambda: ap.show.collections.check_record(checked, use), lambda: ap.show.collections.check_lines(checked, use)
    )


@opt.command()
@_names_options
@_promise_options
@_known_options
@click.option("-o", "--output", type=opt.OUTPUT, help="Plan file to write (JSON); required without --find.")
@_rare_options
@opt.result_options
def plan(output: Path | None, force: bool, schema: Path | None, answer: "int | str | None", **options: Any) -> None:
    """Choose the plan that tells most of whole baskets inside a promise; with --schema, of a table's columns.

    The promise: no report lifts a belief from PRIOR to POSTERIOR, or a belief's opposite the other way; or as EPSILON
    of local differential privacy. 5% to 10% is strict, 5% to 50% (which is ln 19) usual, 1% to 50% lenient; what each
    means and costs: assocpriv privacy --explain

    On a terminal, without options, it asks.

    \b
    Example:
      assocpriv plan --items 1000 --prior 5% --posterior 50% -o plan.json
      assocpriv plan --catalogue names.txt --epsilon 2.5 --reports 50000 -o plan.json
      assocpriv plan --schema schema.toml -o plan.json
    """
    if asking.is_wanted():
        asking.run_answers()
        return
    if schema is not None:
        opt.refuse_given(_OF_BASKETS, "is said of baskets, and --schema of a table")
        opt.require(("output",))
        _plan_table(schema, output, force=force, answer=answer, **options)
        return
    opt.refuse_given(_OF_SCHEMA, "goes with --schema")
    if options["like"] is None:
        opt.refuse_given(("layout",), "goes with --like, whose layout it says")
    names = ap.NameSource(**{name: options[name] for name in _NAMES})
    if options["find"] is None:
        opt.require(("output",))
    if (options["items"] is None) == (options["catalogue"] is None):
        raise click.UsageError("give one of --items and --catalogue, or --schema for a table")
    if output is not None:
        sample = [] if options["like"] is None else [options["like"]]
        opt.check_writable(output, force=force, inputs=[*names.paths, *sample])
    # what is not given of the two is what is looked for
    is_open = options["find"] and opt.given("reports") and options["posterior"] is None and options["epsilon"] is None
    promise = None if is_open else opt.require_promise(dict(options))
    items, rules = names.read(options["others"])
    known = {name: options[name] for name in _KNOWN} | {"names": rules}
    if options["like"] is not None:
        known["like"] = _sizes_of(options["like"], items, rules, options["layout"])
    found = None if options["find"] is None else _found(items, promise, known, options)
    choice = ap.choose_plan(items, promise, **known) if found is None else found.choice
    if output is not None:
        ap.write_plan(choice.plan, output, force=force)
    opt.show_result(
        lambda: ap.show.plans.choice_record(choice, found),
        lambda: ap.show.plans.choice_lines(choice, found, verbose=opt.is_verbose()),
    )


def _plan_table(
    schema: Path, output: Path | None, *, force: bool, reports: int, reports_per_person: int, **options: Any
) -> None:
    """Choose how each column of a table is released."""
    assert output is not None
    promise = opt.take_promise(options)
    opt.check_writable(output, force=force, inputs=[schema])
    told = {"reports": reports, "reports_per_person": reports_per_person, "answer": options["answer"]}
    made = ap.numeric.plan_table(schema, promise, **told)
    ap.write_plan(made, output, force=force)
    described = ap.show.plans.describe_plan(made, reports)
    opt.show_result(described.record, described.lines)


def _sizes_of(path: Path, items: Any, rules: Any, layout: str | None) -> Any:
    """Return how large the sample's baskets are; say how many there are, and what of them is not in the catalogue."""
    counts = ap.sample_sizes(path, items, rules, layout, opt.Progress().stage("reading"))
    left = f"; {counts.read.unknown_dropped:,} items outside the catalogue do not count" * bool(
        counts.read.unknown_dropped
    )
    opt.say([f"sample of {counts.sizes.total():,} baskets{left}"])
    return counts.sizes


def _found(items: Any, promise: Any, known: dict[str, Any], options: dict[str, Any]) -> Any:
    """Return the plan that finds a support, looking for what is not given: the reports or the promise."""
    known = known | {"size": options["itemset_size"] or 2, "promise": promise}
    for name in ("reports", "itemset_size"):
        if not opt.given(name):
            del known[name]
    if options["prior"] is not None and promise is None:
        known["prior"] = options["prior"]
    return ap.find_plan(options["find"], items, progress=opt.Progress().stage("planning"), **known)


@opt.command()
@click.argument("itemsets", type=opt.PATH)
@click.option("--plan", "plan_path", type=opt.PATH, required=True, help="The plan that ITEMSETS were mined with.")
@opt.usual("--best", default=100, help="Items of the short catalogue.")
@click.option("--reports", type=opt.WHOLE, help="People who will answer.  [default: as many as in ITEMSETS]")
@click.option("-o", "--output", type=opt.OUTPUT, required=True, help="Plan file to write (JSON).")
@opt.result_options
def refine(itemsets: Path, plan_path: Path, best: int, reports: int | None, output: Path, force: bool) -> None:
    """Plan a collection of OTHER people: the likeliest items of mined ITEMSETS become its short catalogue.

    It says whether that pays; if not, ask the other people what the first were asked.

    \b
    Example:
      assocpriv refine itemsets.parquet --plan plan.json -o plan2.json
    """
    before = opt.read_plan(plan_path, [itemsets], ap.Plan)
    opt.check_writable(output, force=force, inputs=[itemsets, plan_path])
    with opt.Progress.while_busy("planning"):
        refinement = ap.refine(itemsets, before, best=best, reports=reports)
    ap.write_plan(refinement.plan, output, force=force)
    opt.show_result(
        lambda: ap.show.plans.refinement_record(refinement), lambda: ap.show.plans.refinement_lines(refinement)
    )
