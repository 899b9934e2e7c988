"""The command plan: the operator with the least error inside a promise."""

from pathlib import Path
from typing import Any, NamedTuple

import click

from assocpriv.apps.console import given, refuse_given, require, say, show_result
from assocpriv.apps.kinds import describe_plan
from assocpriv.apps.options import (
    BLOCKS,
    LAYOUT,
    OUTPUT,
    PATH,
    WHOLE,
    choice,
    epsilon_option,
    joined,
    layout_options,
    require_promise,
    result_options,
    usual,
)
from assocpriv.apps.progress import Progress

_NAMES = ("items", "catalogue", "taxonomy", "level", "leave_out")
_CHOICES = ("itemset_size", "reports_per_person", "code", "pattern", "kind", "blocks")
_NOT_OF_SIZES = (
    "others", "transaction_size", "itemset_size", "code", "pattern", "kind", "target", "baskets", "unknown",
    "reports_per_person", "discover", "blocks", "histogram_table", *LAYOUT,
)  # fmt: skip
_names_options = joined(
    click.option("--items", type=WHOLE, help="Number of items, named 0 … N−1."),
    click.option("--catalogue", type=PATH, help="File of item names, one a line."),
    click.option("--taxonomy", type=PATH, help="CSV: in each line a name, its parent, the parent's parent …"),
    click.option("--level", type=WHOLE, help="Column of the taxonomy, from 1, whose names are the items."),
    click.option("--leave-out", type=PATH, help="File of names that clients drop, with all below them, one a line."),
    choice("--others", ["error", "drop"], "What clients do with names that lead to no item."),
)
_promise_options = joined(
    click.option("--transaction-size", type=WHOLE, help="M: baskets are sampled to M items.  [default: by --baskets]"),
    click.option("--prior", help="Belief before a report, as 5% or 0.05."),
    click.option("--posterior", help="Belief that no report may lift the prior to."),
    epsilon_option,
    click.option("--itemset-size", type=WHOLE, help="K: largest itemsets to estimate.  [default: 3, at most M]"),
    usual("--reports", default=1_000_000, help="Reports that are expected."),
    usual(
        "--reports-per-person",
        default=1,
        help="R: reports that one person may send; the promise covers all of them together.",
    ),
)
_design_options = joined(
    choice("--code", ["auto", "bch", "reed-solomon", "none"], "How a report is compressed; auto takes the shortest."),
    choice("--pattern", ["any", "threshold"], "Operators to search; threshold is the choice of the 2003 paper."),
    choice(
        "--kind",
        ["auto", "independent", "fixed-size"],
        "How items are added to a report: each by chance, or to a fixed number of items.",
    ),
    click.option("--target", help="Itemset sizes that matter most: singles, pairs, triples or numbers, with commas."),
    click.option(
        "--blocks",
        type=BLOCKS,
        help="Parts that the catalogue is cut into at random; a report is about one of them. auto chooses by sizes.  "
        "[default: none; auto with --histogram-table]",
    ),
)


@click.command()
@_names_options
@_promise_options
@_design_options
@click.option("--baskets", type=PATH, help="A sample of baskets: proposes M, or says what sampling to M would lose.")
@layout_options
@click.option("--histogram-table", type=PATH, help="Mined table of a sizes plan: proposes M and blocks in its place.")
@choice("--unknown", ["error", "drop"], "Items of the sample outside the catalogue.")
@click.option("--histogram", is_flag=True, help="Ask only how many items baskets hold, of a small share of the people.")
@click.option(
    "--discover",
    metavar="SUPPORT",
    help="Solve for what discovers this support, as 1%: about the fewest reports for a promise, or with --reports "
    "instead of a promise about the strictest promise.",
)
@click.option("-o", "--output", type=OUTPUT, help="Plan file to write (JSON); required without --discover.")
@result_options
def plan(histogram: bool, output: Path | None, force: bool, **options: Any) -> None:
    """Choose the operator with the least error inside a promise.

    The promise: no report lifts a belief from PRIOR to POSTERIOR, or a belief's opposite the other way; or as EPSILON
    of local differential privacy. 5% to 10% is strict, 5% to 50% (which is ln 19) usual, 1% to 50% lenient; what each
    means and costs: assocpriv privacy --explain

    \b
    Example:
      assocpriv plan --items 1000 --transaction-size 5 --prior 5% --posterior 50% -o plan.json
      assocpriv plan --items 1000 --transaction-size 5 --epsilon 2.5 -o plan.json
      assocpriv plan --items 1000 --transaction-size 5 --prior 5% --posterior 50% --discover 1%
      assocpriv plan --items 1000 --baskets sample.dat --blocks auto --epsilon 2.5 -o plan.json
      assocpriv plan --histogram --prior 5% --posterior 50% -o sizes.json
    """
    from assocpriv.baskets import NameSource, check_writable, write_plan

    names = NameSource(**{name: options[name] for name in _NAMES})
    if options["discover"] is None:
        require(("output",))
    _check_usage(histogram, options)
    if output is not None:
        check_writable(output, force=force, inputs=names.paths)
    found = (_histogram if histogram else _collection if options["discover"] is None else _discovery)(names, options)
    if output is not None:
        write_plan(found.plan, output, force=force)
    described = describe_plan(found.plan, found.reports)
    show_result(lambda: described.record() | found.record, lambda: [*found.lines, *described.lines()])


class _Found(NamedTuple):
    """A plan, for how many reports it was made, and what is said of it beside."""

    plan: Any
    reports: int
    record: dict[str, Any]
    lines: list[str]


def _check_usage(histogram: bool, options: dict[str, Any]) -> None:
    """Refuse options that do not go together."""
    named = sum(options[name] is not None for name in ("items", "catalogue", "level"))
    if named != 1 and not (histogram and named == 0):
        raise click.UsageError("give one of --items, --catalogue and --level")
    if options["level"] is not None and options["taxonomy"] is None:
        raise click.UsageError("--level names a column of --taxonomy; give both")
    if histogram:
        refuse_given(_NOT_OF_SIZES, "does not go with --histogram, which asks for sizes alone")
        if not named:
            refuse_given(("taxonomy", "leave_out"), "needs --items, --catalogue or --level: the names that count")
    elif options["discover"] is not None:
        without = ("baskets", "unknown", "histogram_table", *LAYOUT)
        refuse_given(without, "does not go with --discover; give --transaction-size")
        require(("transaction_size",))
        if options["blocks"] == "auto":
            raise click.UsageError("--blocks auto does not go with --discover; give a number of blocks")
    else:
        _check_sizes_known(options)


def _check_sizes_known(options: dict[str, Any]) -> None:
    """Refuse to choose M or blocks by sizes that nothing tells, or by two sources."""
    known = [name for name in ("baskets", "histogram_table") if options[name] is not None]
    if len(known) > 1:
        raise click.UsageError("give one of --baskets and --histogram-table: both say which sizes baskets have")
    if options["transaction_size"] is None and not known:
        raise click.UsageError(
            "give --transaction-size, or what to choose it by: a sample of --baskets, or the --histogram-table of a "
            "sizes plan"
        )
    if options["blocks"] == "auto" and not known:
        raise click.UsageError(
            "--blocks auto needs to know the sizes of baskets: give a sample of --baskets, or the --histogram-table of "
            "a sizes plan; or a number of blocks"
        )


def _histogram(names: Any, options: dict[str, Any]) -> _Found:
    from assocpriv.rounds import plan_histogram

    promise, reports = require_promise(options), options["reports"]
    return _Found(plan_histogram(promise, reports, *(() if names.is_empty else names.read("drop"))), reports, {}, [])


def _collection(names: Any, options: dict[str, Any]) -> _Found:
    """Return the plan, and what each transaction size would mean, if a sample was to choose it."""
    from assocpriv.apps.render.sizes import sample_lines, size_records
    from assocpriv.trials import plan_for_sample

    promise = require_promise(options)
    items, view = names.read(options["others"])
    if options["histogram_table"] is not None and not given("blocks"):
        options["blocks"] = "auto"
    done = plan_for_sample(
        items,
        promise,
        None if options["baskets"] is None else (options["baskets"], {name: options[name] for name in LAYOUT}),
        unknown=options["unknown"],
        transaction_size=options["transaction_size"],
        histogram=options["histogram_table"],
        progress=Progress(),
        view=view,
        reports=options["reports"],
        **_choices(options),
    )
    say(sample_lines(done, options["reports"], by_default=not given("reports")))
    sizes = {"transaction_sizes": size_records(done.size_rows)} if done.size_rows else {}
    return _Found(done.plan, options["reports"], sizes, [])


def _discovery(names: Any, options: dict[str, Any]) -> _Found:
    """Return the plan that discovers a support, solving for what is not given: the reports or the promise."""
    from assocpriv.apps.render.plan import discovery_lines, discovery_record
    from assocpriv.baskets import promise_needed, reports_needed

    support, size, reports = options["discover"], options["transaction_size"], options["reports"]
    choices = {**_choices(options), "progress": Progress().stage("planning")}
    if given("reports"):
        why = "does not go with --discover and --reports: give the promise or the reports, to solve for the other"
        refuse_given(("posterior", "epsilon"), why)
        items, view = names.read(options["others"])
        choices |= {} if options["prior"] is None else {"prior": options["prior"]}
        found = promise_needed(support, items, size, reports, view=view, **choices)
    else:
        promise = require_promise(options)
        items, view = names.read(options["others"])
        found = reports_needed(support, items, size, promise, view=view, **choices)
    return _Found(found.plan, found.reports, discovery_record(found), discovery_lines(found))


def _choices(options: dict[str, Any]) -> dict[str, Any]:
    """Return what the planner may choose from."""
    return {
        "target": None if options["target"] is None else options["target"].split(","),
        **{name: options[name] for name in _CHOICES},
    }
