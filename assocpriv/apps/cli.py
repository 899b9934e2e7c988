"""The command line. A command parses, calls one public function and prints its result.

Results go to standard output (text, or one JSON object with ``--json``), talk to standard error. Exit status: 0
done, 1 bad input or failure (one line, no traceback), 2 wrong usage.
"""

import signal
import sys
import threading
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assocpriv import __version__
from assocpriv.apps.commands.audit import audit
from assocpriv.apps.commands.lab import demo, generate, simulate
from assocpriv.apps.commands.privacy import privacy
from assocpriv.apps.commands.report import report
from assocpriv.apps.commands.rounds import combine, histogram_plan, refine, refuse_given
from assocpriv.apps.commands.server import ask, mine, rules
from assocpriv.apps.commands.warm_up import warm_up
from assocpriv.apps.console import count_lines, say, show_result
from assocpriv.apps.options import (
    PATH,
    basket_options,
    force_option,
    format_option,
    json_option,
    memory_option,
    plan_option,
)
from assocpriv.apps.progress import Progress
from assocpriv.core.errors import AssocprivError

if TYPE_CHECKING:
    from assocpriv.core.privacy import Breach
    from assocpriv.planning.transaction_size import SizeRow
    from assocpriv.plans.baskets.catalogue import Catalogue
    from assocpriv.plans.baskets.plan import Plan
    from assocpriv.plans.baskets.view import View
    from assocpriv.records.baskets import Baskets

_NOT_OF_SIZES = (
    "others", "transaction_size", "itemset_size", "code", "pattern", "kind", "target", "sizes", "baskets", "format_",
    "reports_per_person",
)  # fmt: skip


class _Group(click.Group):
    """Turns what the package or the system refuses into one line and exit status 1."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line; what the output's encoding lacks (γ in a Windows pipe) is shown as a question mark."""
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")
        if threading.current_thread() is not threading.main_thread():
            return super().main(*args, **options)
        # as Ctrl-C: what is unfinished is taken away on the way out
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            return super().main(*args, **options)
        finally:
            signal.signal(signal.SIGTERM, before or signal.SIG_DFL)  # None: set by another language

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader has left; click ends in silence
            raise
        except (AssocprivError, OSError, MemoryError) as error:
            problem = _problem(error)
        Progress.clear_terminal()
        raise click.ClickException(problem)


def _problem(error: AssocprivError | OSError | MemoryError) -> str:
    """Say on one line what was refused."""
    if isinstance(error, MemoryError):
        return "out of memory; take fewer baskets, a higher minimum support or less --memory"
    if isinstance(error, OSError):  # a name too long for the system, a full disk behind standard output
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror or 'the system refused'}"
    return " ".join(str(error).split())


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, package_name="assocpriv")
def main() -> None:
    """Mine association rules from baskets nobody may see.

    Clients randomize their baskets under a proven promise; the server finds frequent itemsets and rules from the
    reports alone.

    \b
    Example, from a file of baskets to rules:
      assocpriv plan --items 1000 --transaction-size 5 --prior 5% --posterior 50% -o plan.json
      assocpriv randomize baskets.dat --plan plan.json -o reports.parquet
      assocpriv mine reports.parquet --min-support 2% -o itemsets.parquet
      assocpriv rules itemsets.parquet --min-confidence 60%
    """


@main.command()
@click.option("--items", type=int, help="Number of items, named 0 … N−1.")
@click.option("--catalogue", type=PATH, help="File of item names, one a line.")
@click.option("--taxonomy", type=PATH, help="CSV: in each line a name, its parent, the parent's parent …")
@click.option("--level", type=int, help="Column of the taxonomy, from 1, whose names are the items.")
@click.option("--leave-out", type=PATH, help="File of names that clients drop, with all below them, one a line.")
@click.option(
    "--others",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="What clients do with names that lead to no item.",
)
@click.option("--transaction-size", type=int, help="M: baskets are sampled to M items.  [default: by --baskets]")
@click.option("--prior", required=True, help="Belief before a report, as 5% or 0.05.")
@click.option("--posterior", required=True, help="Belief that no report may lift the prior to.")
@click.option("--itemset-size", type=int, help="K: largest itemsets to estimate.  [default: 3, at most M]")
@click.option("--reports", type=int, default=1_000_000, show_default=True, help="Reports that are expected.")
@click.option(
    "--reports-per-person",
    type=int,
    default=1,
    show_default=True,
    help="R: reports that one person may send; the promise covers all of them together.",
)
@click.option(
    "--code",
    type=click.Choice(["auto", "bch", "reed-solomon", "none"]),
    default="auto",
    show_default=True,
    help="How a report is compressed; auto takes the shortest.",
)
@click.option(
    "--pattern",
    type=click.Choice(["any", "threshold"]),
    default="any",
    show_default=True,
    help="Operators to search; threshold is the choice of the 2003 paper.",
)
@click.option(
    "--kind",
    type=click.Choice(["auto", "independent", "fixed-size"]),
    default="auto",
    show_default=True,
    help="How items are added to a report: each by chance, or to a fixed number of items.",
)
@click.option("--target", help="Itemset sizes that matter most: singles, pairs, triples or numbers, with commas.")
@click.option(
    "--sizes",
    type=click.Choice(["hidden", "in-clear"]),
    default="hidden",
    show_default=True,
    help="A basket's size; in clear, nothing is promised about it.",
)
@click.option("--baskets", type=PATH, help="A sample of baskets: proposes M, or says what sampling to M would lose.")
@format_option
@click.option("--histogram", is_flag=True, help="Ask only how many items baskets hold, of a small share of the people.")
@click.option("-o", "--output", type=PATH, required=True, help="Plan file to write (JSON).")
@force_option
@json_option
def plan(
    items: int | None,
    catalogue: Path | None,
    taxonomy: Path | None,
    level: int | None,
    leave_out: Path | None,
    others: str,
    transaction_size: int | None,
    prior: str,
    posterior: str,
    itemset_size: int | None,
    reports: int,
    reports_per_person: int,
    code: str,
    pattern: str,
    kind: str,
    target: str | None,
    sizes: str,
    baskets: Path | None,
    format_: str | None,
    histogram: bool,
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Choose the operator with the least error inside a promise.

    The promise: no report lifts a belief from PRIOR to POSTERIOR, or a belief's opposite the other way.

    \b
    Example:
      assocpriv plan --items 1000 --transaction-size 5 --prior 5% --posterior 50% -o plan.json
      assocpriv plan --histogram --prior 5% --posterior 50% -o sizes.json
    """
    from assocpriv.apps.render import results as show
    from assocpriv.core.privacy import Breach
    from assocpriv.files.atomic import check_writable
    from assocpriv.files.plans import write_plan
    from assocpriv.planning.planner import make_plan
    from assocpriv.planning.sampling_loss import sampling_loss
    from assocpriv.records.basket_sizes import count_sizes

    named = 3 - [items, catalogue, level].count(None)
    if named != 1 and not (histogram and named == 0):
        raise click.UsageError("give one of --items, --catalogue and --level")
    if level is not None and taxonomy is None:
        raise click.UsageError("--level names a column of --taxonomy; give both")
    if histogram:
        refuse_given(_NOT_OF_SIZES, "does not go with --histogram, which asks for sizes alone")
        if not named:
            refuse_given(("taxonomy", "leave_out"), "needs --items, --catalogue or --level: the names that count")
    if transaction_size is None and baskets is None and not histogram:
        raise click.UsageError("give --transaction-size, or a sample of --baskets to choose it by")
    check_writable(output, force=force, inputs=[path for path in (catalogue, taxonomy, leave_out) if path is not None])
    promise = Breach(prior, posterior)
    if histogram:
        counted = _names_and_view(items, catalogue, taxonomy, level, leave_out, "drop") if named else None
        asked = histogram_plan(promise, counted, reports)
        write_plan(asked, output, force=force)
        show_result(as_json, lambda: show.plan_record(asked, reports), lambda: show.plan_lines(asked, reports))
        return
    names, view = _names_and_view(items, catalogue, taxonomy, level, leave_out, others)
    wishes: dict[str, Any] = {"itemset_size": itemset_size, "reports": reports, "pattern": pattern}
    wishes["target"] = target.split(",") if target is not None else None
    wishes["reports_per_person"] = reports_per_person
    sample: Baskets | None = None
    rows: list[SizeRow] = []
    if transaction_size is None and baskets is not None:
        sample = _read_sample(baskets, format_, make_plan(names, 1, promise, code="none", view=view))
        rows, transaction_size = _propose(sample, promise, sizes, wishes)
        say(show.size_lines(rows, reports))
    assert transaction_size is not None
    made = make_plan(
        names,
        transaction_size,
        promise,
        code=code,
        kind=kind,
        sizes=sizes.replace("-", " "),
        view=view,
        progress=Progress().stage("planning"),
        **wishes,
    )
    if baskets is not None:
        sample = _read_sample(baskets, format_, made) if sample is None else sample
        say(show.loss_lines(sampling_loss(count_sizes(sample), made)))
    write_plan(made, output, force=force)
    tried = {"transaction_sizes": show.size_records(rows)} if rows else {}
    show_result(as_json, lambda: show.plan_record(made, reports) | tried, lambda: show.plan_lines(made, reports))


def _propose(sample: "Baskets", promise: "Breach", sizes: str, wishes: dict[str, Any]) -> "tuple[list[SizeRow], int]":
    """Return what each transaction size would mean for baskets like a sample's, and the one proposed."""
    from assocpriv.planning.request import PlanWishes
    from assocpriv.planning.transaction_size import default_itemset_size, propose_transaction_size
    from assocpriv.plans.baskets.operator import MAX_TRANSACTION_SIZE
    from assocpriv.records.basket_sizes import count_sizes, top_holders

    counted = count_sizes(sample)
    largest = default_itemset_size(counted) if wishes["itemset_size"] is None else wishes["itemset_size"]
    holders = top_holders(sample, min(largest, MAX_TRANSACTION_SIZE))
    progress = Progress().stage("comparing sizes")
    wished = PlanWishes(promise=promise, sizes=sizes.replace("-", " "), **wishes)
    rows = propose_transaction_size(counted, wished, holders=holders, progress=progress)
    return rows, next(row.transaction_size for row in rows if row.proposed)


def _names_and_view(
    items: int | None,
    catalogue: Path | None,
    taxonomy: Path | None,
    level: int | None,
    leave_out: Path | None,
    others: str,
) -> "tuple[int | Catalogue, View]":
    from assocpriv.files.plans import read_catalogue
    from assocpriv.files.taxonomy import read_taxonomy
    from assocpriv.plans.baskets.view import View

    tree = read_taxonomy(taxonomy) if taxonomy is not None else None
    names = read_catalogue(catalogue) if catalogue is not None else items
    if names is None:
        assert tree is not None
        assert level is not None
        names = tree.level(level)
    left_out = tuple(sorted(read_catalogue(leave_out))) if leave_out is not None else ()
    return names, View(others=others, parents=tree.parents if tree else (), left_out=left_out)


def _read_sample(path: Path, format_: str | None, made: "Plan") -> "Baskets":
    """Read a sample of baskets as a plan views them, telling what was left out."""
    from assocpriv.client.baskets.transactions import read_transactions
    from assocpriv.records.basket_files import ReadOptions, read_baskets

    progress = Progress().stage("reading", "B")
    if made.view.is_plain:
        return read_baskets(path, None, ReadOptions(format_, repeats="merge", empty="keep", progress=progress))[0]
    options = ReadOptions(format_, unknown="drop", repeats="merge", empty="keep", progress=progress)
    sample, counts = read_transactions(path, made, options)
    say(count_lines(counts, int((sample.sizes == 0).sum()), made))
    return sample


@main.command()
@click.argument("baskets", type=PATH)
@plan_option
@click.option("-o", "--output", type=PATH, required=True, help="Report file to write (Parquet).")
@basket_options
@memory_option
@force_option
@json_option
def randomize(
    baskets: Path,
    plan_path: Path,
    output: Path,
    format_: str | None,
    unknown: str,
    repeats: str,
    empty: str,
    memory: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Randomize BASKETS: the clients' side, in bulk, with the operating system's entropy.

    Files of any size are read, randomized and written batch by batch.

    \b
    Example:
      assocpriv randomize baskets.csv --plan plan.json -o reports.parquet
    """
    from assocpriv.apps.commands.warm_up import RANDOMIZING, compile_told
    from assocpriv.apps.render.results import loss_lines
    from assocpriv.baskets import randomize_file
    from assocpriv.files.atomic import check_writable
    from assocpriv.files.plans import read_plan
    from assocpriv.plans.baskets.plan import Plan

    made = read_plan(plan_path, Plan)
    check_writable(output, force=force, inputs=[baskets, plan_path])
    compile_told(RANDOMIZING)
    done = randomize_file(
        baskets,
        made,
        output,
        format=format_,
        unknown=unknown,
        repeats=repeats,
        empty=empty,
        memory_bytes=memory,
        force=force,
        progress=Progress().stage("randomizing", "B"),
    )
    say([*count_lines(done.counts, done.empty, made), *loss_lines(done.loss)])
    show_result(
        as_json,
        lambda: {
            "plan_id": made.plan_id,
            "reports": done.counts.baskets,
            "report_bytes": made.report_bytes,
            "sampled_baskets": done.loss.sampled,
            "expected_support_lost": {str(k): share for k, share in done.loss.shares.items()},
        },
        lambda: [f"{done.counts.baskets:,} reports of {made.report_bytes} bytes written to {output}"],
    )


@main.command()
@click.argument("path", type=PATH)
@click.option("--reports", type=int, default=1_000_000, show_default=True, help="Reports to plan for (of a plan).")
@click.option("--check-crafted", is_flag=True, help="Of reports: test whether honest people could have sent them.")
@json_option
def inspect(path: Path, reports: int, check_crafted: bool, as_json: bool) -> None:
    """Say what PATH is (a plan, reports or itemsets), what it promises and what can be learned from it.

    \b
    Example:
      assocpriv inspect reports.parquet
      assocpriv inspect reports.parquet --check-crafted
    """
    from assocpriv.apps.commands.warm_up import COUNTING, compile_told
    from assocpriv.apps.render.inspection import inspect_path

    if check_crafted:
        compile_told(COUNTING)
    kind, record, lines = inspect_path(path, reports, check_crafted=check_crafted)
    if kind != "plan":
        refuse_given(("reports",), f"describes a plan; {path} holds {kind}")
    show_result(as_json, lambda: {"kind": kind} | record(), lines)


for command in (audit, privacy, report, mine, rules, ask, refine, combine, simulate, generate, demo, warm_up):
    main.add_command(command)


if __name__ == "__main__":
    sys.exit(main())
