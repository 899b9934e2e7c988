"""The command line. A command parses, calls one public function and prints its result.

Results go to standard output (text, or one JSON object with ``--json``), talk to standard error. Exit status: 0
done, 1 bad input or failure (one line, no traceback), 2 wrong usage.
"""

import signal
import sys
import threading
from collections.abc import Iterable
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assocpriv import __version__
from assocpriv.apps.cli_lab import demo, generate, simulate
from assocpriv.apps.console import count_lines, say, show_result
from assocpriv.apps.options import (
    PATH,
    basket_options,
    force_option,
    format_option,
    json_option,
    memory_option,
    min_support_option,
    plan_option,
    top_option,
)
from assocpriv.apps.progress import Progress
from assocpriv.apps.warm_up import warm_up
from assocpriv.core.errors import AssocprivError

if TYPE_CHECKING:
    from assocpriv.core.plan import Plan


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
@click.option("--transaction-size", type=int, required=True, help="M: baskets are padded or sampled to M items.")
@click.option("--prior", required=True, help="Belief before a report, as 5% or 0.05.")
@click.option("--posterior", required=True, help="Belief that no report may lift the prior to.")
@click.option("--itemset-size", type=int, help="K: largest itemsets to estimate.  [default: 3, at most M]")
@click.option("--reports", type=int, default=1_000_000, show_default=True, help="Reports that are expected.")
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
@click.option("--target", help="Itemset sizes that matter most: singles, pairs, triples or numbers, with commas.")
@click.option("--baskets", type=PATH, help="A sample of baskets: says what sampling to M would lose.")
@format_option
@click.option("-o", "--output", type=PATH, required=True, help="Plan file to write (JSON).")
@force_option
@json_option
def plan(
    items: int | None,
    catalogue: Path | None,
    transaction_size: int,
    prior: str,
    posterior: str,
    itemset_size: int | None,
    reports: int,
    code: str,
    pattern: str,
    target: str | None,
    baskets: Path | None,
    format_: str | None,
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Choose the operator with the least error inside a promise.

    The promise: no report lifts a belief from PRIOR to POSTERIOR, or a belief's opposite the other way.

    \b
    Example:
      assocpriv plan --items 1000 --transaction-size 5 --prior 5% --posterior 50% -o plan.json
    """
    from assocpriv.apps import show
    from assocpriv.core.privacy import Breach
    from assocpriv.files.atomic import check_writable
    from assocpriv.files.plans import read_catalogue, write_plan
    from assocpriv.lab.planner import make_plan

    if (items is None) == (catalogue is None):
        raise click.UsageError("give either --items or --catalogue")
    check_writable(output, force=force)
    names = read_catalogue(catalogue) if catalogue is not None else items
    assert names is not None
    made = make_plan(
        names,
        transaction_size,
        Breach(prior, posterior),
        itemset_size=itemset_size,
        reports=reports,
        code=code,
        pattern=pattern,
        target=target.split(",") if target is not None else None,
        progress=Progress().stage("planning"),
    )
    if baskets is not None:
        say(_sample_lines(baskets, format_, made))
    write_plan(made, output, force=force)
    show_result(as_json, lambda: show.plan_record(made, reports), lambda: show.plan_lines(made, reports))


def _sample_lines(path: Path, format_: str | None, made: "Plan") -> list[str]:
    from assocpriv.apps.show import loss_lines
    from assocpriv.client.basket_files import read_baskets
    from assocpriv.client.sampling import count_sizes, sampling_loss

    progress = Progress().stage("reading", "B")
    sample = read_baskets(path, format=format_, repeats="merge", empty="keep", progress=progress)
    return loss_lines(sampling_loss(count_sizes(sample), made))


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
    from assocpriv.apps.api import randomize_file
    from assocpriv.apps.show import loss_lines
    from assocpriv.apps.warm_up import RANDOMIZING, compile_told
    from assocpriv.files.atomic import check_writable
    from assocpriv.files.plans import read_plan

    made = read_plan(plan_path)
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
    say([*count_lines(done.counts, done.empty), *loss_lines(done.loss)])
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
@click.argument("reports", type=PATH, nargs=-1, required=True)
@min_support_option()
@click.option("--max-itemset", type=int, help="Largest itemsets.  [default: the plan's]")
@click.option("--confidence-level", type=float, default=0.95, show_default=True, help="Of the intervals.")
@click.option("--population", is_flag=True, help="Errors for the population the baskets were drawn from.")
@memory_option
@click.option("-o", "--output", type=PATH, help="File to write: .parquet, .csv or .json.")
@top_option
@force_option
@json_option
def mine(
    reports: tuple[Path, ...],
    min_support: str,
    max_itemset: int | None,
    confidence_level: float,
    population: bool,
    memory: int | None,
    output: Path | None,
    top: int,
    force: bool,
    as_json: bool,
) -> None:
    """Find frequent itemsets from REPORTS (files, or folders of them): the server's side.

    \b
    Example:
      assocpriv mine reports.parquet --min-support 2% -o itemsets.parquet
    """
    from assocpriv.apps import show
    from assocpriv.apps.warm_up import COUNTING, compile_told
    from assocpriv.files.reports import read_reports
    from assocpriv.server import itemsets as mined

    _check_output(output, force, reports)
    collection = read_reports(reports)
    compile_told(COUNTING)
    frame = mined.mine(
        collection,
        min_support,
        max_itemset=max_itemset,
        confidence_level=confidence_level,
        population=population,
        memory_bytes=memory,
        progress=Progress(),
    )
    facts = mined.mining_facts(frame)
    say(f"warning: {line}" for line in mined.describe_undecided(facts))
    if output is not None:
        mined.write_itemsets(frame, output, force=force)
    show_result(
        as_json,
        lambda: facts | {"itemsets": mined.itemset_records(frame)},
        lambda: [show.meaning_line(facts), *show.itemset_lines(frame, top)],
    )


def _check_output(output: Path | None, force: bool, inputs: Iterable[Path]) -> None:
    from assocpriv.files.atomic import check_writable
    from assocpriv.server.itemsets import output_format

    if output is not None:
        output_format(output)
        check_writable(output, force=force, inputs=inputs)


@main.command()
@click.argument("itemsets", type=PATH)
@click.option("--min-confidence", required=True, help="Least confidence of a rule, as 60% or 0.6.")
@click.option("-o", "--output", type=PATH, help="File to write: .parquet, .csv or .json.")
@top_option
@force_option
@json_option
def rules(itemsets: Path, min_confidence: str, output: Path | None, top: int, force: bool, as_json: bool) -> None:
    """Derive association rules from mined ITEMSETS.

    \b
    Example:
      assocpriv rules itemsets.parquet --min-confidence 60% -o rules.csv
    """
    from assocpriv.apps import show
    from assocpriv.server.itemsets import describe_undecided, mining_facts, read_itemsets
    from assocpriv.server.rules import association_rules, rule_records, write_rules

    _check_output(output, force, [itemsets])
    frame = read_itemsets(itemsets)
    found = association_rules(frame, min_confidence)
    if output is not None:
        write_rules(found, output, force=force)
    facts = mining_facts(frame)
    say(f"warning: {line}" for line in describe_undecided(facts))
    told = {name: facts[name] for name in ("plan_id", "reports", "transaction_size", "min_support")}
    show_result(
        as_json,
        lambda: told | {"rules": rule_records(found)},
        lambda: [show.meaning_line(facts), *show.rule_lines(found, top)],
    )


@main.command()
@click.argument("path", type=PATH)
@click.option("--reports", type=int, default=1_000_000, show_default=True, help="Reports to plan for (of a plan).")
@json_option
def inspect(path: Path, reports: int, as_json: bool) -> None:
    """Say what PATH is (a plan, reports or itemsets), what it promises and what can be learned from it.

    \b
    Example:
      assocpriv inspect reports.parquet
    """
    from assocpriv.apps.inspect import inspect_path

    kind, record, lines = inspect_path(path, reports)
    show_result(as_json, lambda: {"kind": kind} | record(), lines)


for command in (simulate, generate, demo, warm_up):
    main.add_command(command)


if __name__ == "__main__":
    sys.exit(main())
