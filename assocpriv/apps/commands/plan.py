"""The command plan: the operator with the least error inside a promise."""

from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import refuse_given, say, show_result
from assocpriv.apps.kinds import describe_plan
from assocpriv.apps.options import LAYOUT, PATH, choice, joined, layout_options, plan_output_options, usual
from assocpriv.apps.progress import Progress

_NAMES = ("items", "catalogue", "taxonomy", "level", "leave_out")
_CHOICES = ("itemset_size", "reports", "reports_per_person", "code", "pattern", "kind")
_NOT_OF_SIZES = (
    "others", "transaction_size", "itemset_size", "code", "pattern", "kind", "target", "sizes", "baskets", "unknown",
    "reports_per_person", *LAYOUT,
)  # fmt: skip
_names_options = joined(
    click.option("--items", type=int, help="Number of items, named 0 … N−1."),
    click.option("--catalogue", type=PATH, help="File of item names, one a line."),
    click.option("--taxonomy", type=PATH, help="CSV: in each line a name, its parent, the parent's parent …"),
    click.option("--level", type=int, help="Column of the taxonomy, from 1, whose names are the items."),
    click.option("--leave-out", type=PATH, help="File of names that clients drop, with all below them, one a line."),
    choice("--others", ["error", "drop"], "What clients do with names that lead to no item."),
)
_promise_options = joined(
    click.option("--transaction-size", type=int, help="M: baskets are sampled to M items.  [default: by --baskets]"),
    click.option("--prior", required=True, help="Belief before a report, as 5% or 0.05."),
    click.option("--posterior", required=True, help="Belief that no report may lift the prior to."),
    click.option("--itemset-size", type=int, help="K: largest itemsets to estimate.  [default: 3, at most M]"),
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
    choice("--sizes", ["hidden", "in-clear"], "A basket's size; in clear, nothing is promised about it."),
)


@click.command()
@_names_options
@_promise_options
@_design_options
@click.option("--baskets", type=PATH, help="A sample of baskets: proposes M, or says what sampling to M would lose.")
@layout_options
@choice("--unknown", ["error", "drop"], "Items of the sample outside the catalogue.")
@click.option("--histogram", is_flag=True, help="Ask only how many items baskets hold, of a small share of the people.")
@plan_output_options
def plan(histogram: bool, output: Path, force: bool, **options: Any) -> None:
    """Choose the operator with the least error inside a promise.

    The promise: no report lifts a belief from PRIOR to POSTERIOR, or a belief's opposite the other way.

    \b
    Example:
      assocpriv plan --items 1000 --transaction-size 5 --prior 5% --posterior 50% -o plan.json
      assocpriv plan --histogram --prior 5% --posterior 50% -o sizes.json
    """
    from assocpriv.baskets import Breach, NameSource, check_writable, write_plan
    from assocpriv.rounds import plan_histogram

    names = NameSource(**{name: options[name] for name in _NAMES})
    _check_usage(histogram, options)
    check_writable(output, force=force, inputs=names.paths)
    promise = Breach(options["prior"], options["posterior"])
    sizes: dict[str, Any] = {}
    if histogram:
        chosen = plan_histogram(promise, options["reports"], *(() if names.is_empty else names.read("drop")))
    else:
        chosen, sizes = _collection(names, promise, options)
    write_plan(chosen, output, force=force)
    described = describe_plan(chosen, options["reports"])
    show_result(lambda: described.record() | sizes, described.lines)


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
    elif options["transaction_size"] is None and options["baskets"] is None:
        raise click.UsageError("give --transaction-size, or a sample of --baskets to choose it by")


def _collection(names: Any, promise: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the plan, and what each transaction size would mean as JSON content, if the sample was to choose it."""
    from assocpriv.apps.render.sizes import sample_lines, size_records
    from assocpriv.trials import plan_for_sample

    items, view = names.read(options["others"])
    done = plan_for_sample(
        items,
        promise,
        None if options["baskets"] is None else (options["baskets"], {name: options[name] for name in LAYOUT}),
        unknown=options["unknown"],
        transaction_size=options["transaction_size"],
        progress=Progress(),
        view=view,
        target=None if options["target"] is None else options["target"].split(","),
        sizes=options["sizes"].replace("-", " "),
        **{name: options[name] for name in _CHOICES},
    )
    say(sample_lines(done, options["reports"]))
    return done.plan, {"transaction_sizes": size_records(done.size_rows)} if done.size_rows else {}
