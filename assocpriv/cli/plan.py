"""What is published before reports come: the commands catalogue, plan, refine.

catalogue: the names of items, made of baskets or checked. plan: the operator with the least error inside a promise.
refine: a plan of what mattered, for other people.
"""

from pathlib import Path
from typing import Any, NamedTuple

import click

import assocpriv as ap
from assocpriv.cli import options as opt

_NAMES = ("items", "catalogue", "taxonomy", "level", "leave_out")
_CHOICES = ("itemset_size", "reports_per_person", "code", "pattern", "kind", "sizes")
_names_options = opt.joined(
    click.option("--items", type=opt.WHOLE, help="Number of items, named 0 … N−1."),
    click.option("--catalogue", type=opt.PATH, help="File of item names, one a line."),
    click.option("--taxonomy", type=opt.PATH, help="CSV: in each line a name, its parent, the parent's parent …"),
    click.option("--level", type=opt.WHOLE, help="Column of the taxonomy, from 1, whose names are the items."),
    click.option(
        "--leave-out", type=opt.PATH, help="File of names that clients drop, with all below them, one a line."
    ),
    opt.choice("--others", ["error", "drop"], "What clients do with names that lead to no item."),
)
_promise_options = opt.joined(
    click.option(
        "--transaction-size", type=opt.WHOLE, help="M: baskets are sampled to M items.  [default: by --baskets]"
    ),
    click.option("--prior", help="Belief before a report, as 5% or 0.05."),
    click.option("--posterior", help="Belief that no report may lift the prior to."),
    opt.epsilon_option,
    click.option("--itemset-size", type=opt.WHOLE, help="K: largest itemsets to estimate.  [default: 3, at most M]"),
    click.option(
        "--sizes",
        metavar="SHARE",
        help="Ask this share of the people how many items they hold, not which, as 2% or auto: it tells what sampling "
        "to M loses.",
    ),
    opt.usual("--reports", default=1_000_000, help="Reports that are expected."),
    opt.usual(
        "--reports-per-person",
        default=1,
        help="R: reports that one person may send; the promise covers all of them together.",
    ),
)
_design_options = opt.joined(
    opt.choice(
        "--code", ["auto", "bch", "reed-solomon", "none"], "How a report is compressed; auto takes the shortest."
    ),
    opt.choice("--pattern", ["any", "threshold"], "Operators to search; threshold is the choice of the 2003 paper."),
    opt.choice(
        "--kind",
        ["auto", "independent", "fixed-size"],
        "How items are added to a report: each by chance, or to a fixed number of items.",
    ),
    click.option("--target", help="Itemset sizes that matter most: singles, pairs, triples or numbers, with commas."),
)


@click.command()
@click.argument("baskets", type=opt.PATH, nargs=-1)
@click.option("-o", "--output", type=opt.OUTPUT, help="File of names to write, one a line.  [default: standard output]")
@opt.usual("--min-count", default=1, help="Baskets that a name must be in.", type=opt.WholeRange(1))
@click.option("--check", type=opt.PATH, help="Check this catalogue instead, against BASKETS if there are any.")
@opt.layout_options
@opt.result_options
def catalogue(
    baskets: tuple[Path, ...], output: Path | None, min_count: int, check: Path | None, force: bool, **layout: Any
) -> None:
    """Make a catalogue, the names of all items, of BASKETS that may be looked at.

    It shows names of items, because a catalogue gets published with its plan: read it before you do.

    \b
    Example:
      assocpriv catalogue baskets.csv --min-count 10 -o names.txt
      assocpriv catalogue --check names.txt
    """
    if check is not None:
        opt.refuse_given(("output", "min_count"), "does not go with --check, which makes no catalogue")
        _check(check, baskets, layout)
        return
    if not baskets:
        raise click.UsageError("give files of baskets, or --check a catalogue")
    if output is not None:
        opt.check_writable(output, force=force, inputs=baskets)
    draft = ap.draft_catalogue(baskets, min_count, layout, opt.Progress().stage("reading"))
    opt.say(ap.show.collections.draft_talk(draft))
    if output is not None:
        ap.write_catalogue(draft.catalogue, output, force=force)
    written = f"{len(draft.catalogue):,} names written to {output}; they get published: read them first"
    opt.show_result(
        lambda: ap.show.collections.draft_record(draft, output), lambda: [written] if output else list(draft.catalogue)
    )


def _check(path: Path, baskets: tuple[Path, ...], layout: dict[str, Any]) -> None:

    checked = ap.check_catalogue(ap.read_catalogue(path))
    use = ap.try_catalogue(checked.catalogue, baskets, layout, opt.Progress().stage("reading")) if baskets else None
    opt.show_result(
        lambda: ap.show.collections.check_record(checked, use), lambda: ap.show.collections.check_lines(checked, use)
    )


@click.command()
@_names_options
@_promise_options
@_design_options
@click.option(
    "--baskets", type=opt.PATH, help="A sample of baskets: proposes M, or says what sampling to M would lose."
)
@opt.layout_options
@opt.choice("--unknown", ["error", "drop"], "Items of the sample outside the catalogue.")
@click.option(
    "--discover",
    metavar="SUPPORT",
    help="Solve for what discovers this support, as 1%: about the fewest reports for a promise, or with --reports "
    "instead of a promise about the strictest promise.",
)
@click.option("-o", "--output", type=opt.OUTPUT, help="Plan file to write (JSON); required without --discover.")
@opt.result_options
def plan(output: Path | None, force: bool, **options: Any) -> None:
    """Choose the operator with the least error inside a promise.

    The promise: no report lifts a belief from PRIOR to POSTERIOR, or a belief's opposite the other way; or as EPSILON
    of local differential privacy. 5% to 10% is strict, 5% to 50% (which is ln 19) usual, 1% to 50% lenient; what each
    means and costs: assocpriv privacy --explain

    \b
    Example:
      assocpriv plan --items 1000 --transaction-size 5 --prior 5% --posterior 50% -o plan.json
      assocpriv plan --items 1000 --transaction-size 5 --epsilon 2.5 -o plan.json
      assocpriv plan --items 1000 --transaction-size 5 --prior 5% --posterior 50% --discover 1%
      assocpriv plan --items 1000 --baskets sample.dat --epsilon 2.5 -o plan.json
    """

    names = ap.NameSource(**{name: options[name] for name in _NAMES})
    if options["discover"] is None:
        opt.require(("output",))
    _check_usage(options)
    if output is not None:
        opt.check_writable(output, force=force, inputs=names.paths)
    found = (_collection if options["discover"] is None else _discovery)(names, options)
    if output is not None:
        ap.write_plan(found.plan, output, force=force)
    described = ap.show.plans.describe_plan(found.plan, found.reports)
    opt.show_result(lambda: described.record() | found.record, lambda: [*found.lines, *described.lines()])


class _Found(NamedTuple):
    """A plan, for how many reports it was made, and what is said of it beside."""

    plan: Any
    reports: int
    record: dict[str, Any]
    lines: list[str]


def _check_usage(options: dict[str, Any]) -> None:
    """Refuse options that do not go together."""
    if sum(options[name] is not None for name in ("items", "catalogue", "level")) != 1:
        raise click.UsageError("give one of --items, --catalogue and --level")
    if options["level"] is not None and options["taxonomy"] is None:
        raise click.UsageError("--level names a column of --taxonomy; give both")
    if options["discover"] is not None:
        opt.refuse_given(("baskets", "unknown", *opt.LAYOUT), "does not go with --discover; give --transaction-size")
        opt.require(("transaction_size",))
    elif options["baskets"] is None and options["transaction_size"] is None:
        raise click.UsageError("give --transaction-size, or a sample of --baskets to choose it by")


def _collection(names: Any, options: dict[str, Any]) -> _Found:
    """Return the plan, and what each transaction size would mean, if a sample was to choose it."""

    promise = opt.require_promise(options)
    items, rules = names.read(options["others"])
    done = ap.plan_for_sample(
        items,
        promise,
        None if options["baskets"] is None else (options["baskets"], {name: options[name] for name in opt.LAYOUT}),
        unknown=options["unknown"],
        transaction_size=options["transaction_size"],
        progress=opt.Progress(),
        names=rules,
        reports=options["reports"],
        **_choices(options),
    )
    opt.say(ap.show.plans.sample_lines(done, options["reports"], by_default=not opt.given("reports")))
    sizes = {"transaction_sizes": ap.show.plans.size_records(done.size_rows)} if done.size_rows else {}
    return _Found(done.plan, options["reports"], sizes, [])


def _discovery(names: Any, options: dict[str, Any]) -> _Found:
    """Return the plan that discovers a support, solving for what is not given: the reports or the promise."""

    support, size, reports = options["discover"], options["transaction_size"], options["reports"]
    choices = {**_choices(options), "progress": opt.Progress().stage("planning")}
    if opt.given("reports"):
        why = "does not go with --discover and --reports: give the promise or the reports, to solve for the other"
        opt.refuse_given(("posterior", "epsilon"), why)
        items, rules = names.read(options["others"])
        choices |= {} if options["prior"] is None else {"prior": options["prior"]}
        found = ap.promise_needed(support, items, size, reports, names=rules, **choices)
    else:
        promise = opt.require_promise(options)
        items, rules = names.read(options["others"])
        found = ap.reports_needed(support, items, size, promise, names=rules, **choices)
    return _Found(
        found.plan, found.reports, ap.show.plans.discovery_record(found), ap.show.plans.discovery_lines(found)
    )


def _choices(options: dict[str, Any]) -> dict[str, Any]:
    """Return what the planner may choose from."""
    return {
        "target": None if options["target"] is None else options["target"].split(","),
        **{name: options[name] for name in _CHOICES},
    }


@click.command()
@click.argument("itemsets", type=opt.PATH)
@click.option("--plan", "plan_path", type=opt.PATH, required=True, help="The plan that ITEMSETS were mined with.")
@opt.usual("--top", default=64, help="Itemsets wanted.")
@click.option("--reports", type=opt.WHOLE, help="People who will answer.  [default: as many as in ITEMSETS]")
@opt.plan_output_options
def refine(itemsets: Path, plan_path: Path, top: int, reports: int | None, output: Path, force: bool) -> None:
    """Plan a collection of OTHER people: the items of mined ITEMSETS that matter become its short catalogue.

    \b
    Example:
      assocpriv refine itemsets.parquet --plan plan.json -o plan2.json
    """
    before = ap.read_plan(plan_path, ap.Plan)
    opt.check_writable(output, force=force, inputs=[itemsets, plan_path])
    with opt.Progress.while_busy("planning"):
        refinement = ap.refine(itemsets, before, top=top, reports=reports)
    ap.write_plan(refinement.plan, output, force=force)
    prospects = ap.foresee(refinement.plan, refinement.reports)
    opt.show_result(
        lambda: ap.show.plans.refinement_record(refinement, prospects),
        lambda: ap.show.plans.refinement_lines(refinement, prospects),
    )
