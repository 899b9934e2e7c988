"""What is proved or can be checked: the commands privacy, inspect, audit.

privacy: what a plan proves. inspect: what a file is, what it promises and what can be learned from it. audit: does a
plan keep its promise, and does a client keep to the plan?
"""

import os
import shlex
from pathlib import Path
from typing import Any

import click

from assocpriv.cli.options import PATH, WHOLE, WholeRange, choice, json_option, refuse_given, show_result, usual
from assocpriv.promise.errors import FileError
from assocpriv.show.terminal import Progress


@click.command()
@click.argument("plan", type=PATH, nargs=-1)
@click.option("--prior", "priors", multiple=True, help="Belief to show in the table, as 1% or 0.01; may be repeated.")
@click.option(
    "--times",
    "--reports-per-person",
    "times",
    type=WHOLE,
    multiple=True,
    help="Reports of one person, 52 for a year of weeks: once for all plans, or once for each.  [default: the plan's]",
)
@click.option(
    "--shuffled",
    type=WholeRange(1, 10**12),
    metavar="N",
    help="Add what holds if a trusted channel mixes N people's reports.",
)
@click.option("--delta", help="δ of that guarantee.  [default: 1e-9]")
@click.option("--explain", is_flag=True, help="Say plainly what promises mean and cost: PLAN's, or some to choose.")
@json_option
def privacy(plan: tuple[Path, ...], explain: bool, **options: Any) -> None:
    """Say what PLAN proves: how far beliefs can move, what several reports tell, and information in bits.

    Of several PLANs: what all answers of one person to them tell together. All figures err on the side of less privacy.

    \b
    Example:
      assocpriv privacy --explain
      assocpriv privacy plan.json --prior 1% --prior 10%
      assocpriv privacy plan.json --times 52
      assocpriv privacy weekly.json survey.json --times 52 --times 1
      assocpriv privacy plan.json --reports-per-person 2 --shuffled 1000000
    """
    if explain:
        _explain(plan)
        return
    if not plan:
        raise click.UsageError("give a PLAN, or --explain for promises to choose from")
    if options["delta"] is not None and options["shuffled"] is None:
        raise click.UsageError("--delta goes with --shuffled")
    if len(options["times"]) not in (0, 1, len(plan)):
        raise click.UsageError(f"give --times once for all plans or once for each, {len(plan)} in all")
    from assocpriv.api import Plan, read_any_plan

    plans = [read_any_plan(path) for path in plan]
    if len(plans) == 1 and isinstance(plans[0], Plan):
        _one(plans[0], **options)
    else:
        _several(plan, plans, **options)


def _explain(paths: tuple[Path, ...]) -> None:
    from assocpriv.api import explain_promises, read_plan
    from assocpriv.show.promises import explain_lines, explain_record

    refuse_given(("priors", "times", "shuffled", "delta"), "does not go with --explain")
    if len(paths) > 1:
        raise click.UsageError("--explain goes with one PLAN, or without any")
    explained = explain_promises(*(read_plan(path) for path in paths))
    show_result(lambda: explain_record(explained), lambda: explain_lines(explained))


def _one(plan: Any, times: tuple[int, ...], delta: str | None, **options: Any) -> None:
    from assocpriv.api import DEFAULT_DELTA, describe_privacy
    from assocpriv.show.promises import privacy_lines, privacy_record

    count, delta_asked = times[0] if times else None, DEFAULT_DELTA if delta is None else delta
    proved = describe_privacy(plan, reports_per_person=count, delta=delta_asked, **options)
    show_result(lambda: privacy_record(proved), lambda: privacy_lines(proved))


def _several(
    paths: tuple[Path, ...], plans: list[Any], priors: tuple[str, ...], times: tuple[int, ...], **_options: Any
) -> None:
    from assocpriv.api import describe_budget
    from assocpriv.show.promises import budget_lines, budget_record

    refuse_given(("shuffled",), "goes with one PLAN, of baskets")
    counts = times * len(plans) if len(times) == 1 else times
    budget = describe_budget(list(zip(plans, counts, strict=True)) if counts else plans, priors)
    names = {plan.plan_id: path.name for plan, path in zip(plans, paths, strict=True)}
    show_result(lambda: budget_record(budget), lambda: budget_lines(budget, names))


@click.command()
@click.argument("path", type=PATH)
@usual("--reports", default=1_000_000, help="Reports to plan for (of a plan).")
@click.option("--discover", metavar="S", help="Of a plan of baskets: how many reports discover this support, as 1%.")
@click.option("--check-crafted", is_flag=True, help="Of reports: test whether honest people could have sent them.")
@json_option
def inspect(path: Path, reports: int, discover: str | None, check_crafted: bool) -> None:
    """Say what PATH is (a plan, reports, itemsets or a tree), what it promises and what can be learned from it.

    \b
    Example:
      assocpriv inspect plan.json --reports 50000 --discover 1%
      assocpriv inspect reports.parquet
      assocpriv inspect reports.parquet --check-crafted
    """
    from assocpriv import api
    from assocpriv.show.audits import describe
    from assocpriv.show.plans import needed_lines, needed_record

    if reports < 1:
        raise FileError(f"--reports must be at least 1, got {reports}")
    content = api.inspect(path, check_crafted=check_crafted, progress=Progress())
    if content.kind != api.PLAN:
        refuse_given(("reports", "discover"), f"describes a plan; {path} holds {content.said}")
    needed = None if discover is None else api.reports_to_discover(api.Plan.of(content.plan), discover)
    described = describe(content, reports)
    show_result(
        lambda: {"kind": content.kind} | described.record() | needed_record(needed),
        lambda: [*described.lines(), *needed_lines(needed, discover)],
    )


@click.command()
@click.argument("plan", type=PATH)
@choice("--depth", ["exact", "conformance", "empirical", "all"], "How deep to look.", default="all")
@usual("--trials", default=1_000_000, help="Reports for empirical.", type=WholeRange(1000))
@usual(
    "--confidence", default="99.9%", help="Chance, at least, that a client that follows the plan is not called broken."
)
@choice(
    "--client",
    ["both", "bulk", "single"],
    "Which of our clients: for many baskets, for one, or both (of the latter what reports some seconds give).",
)
@click.option(
    "--program", help="Audit this program and its arguments instead; docs/formats/pipe.md says what it reads."
)
@json_option
@click.pass_context
def audit(context: click.Context, /, plan: Path, program: str | None, **options: Any) -> None:
    """Audit PLAN, and clients of it as black boxes: is the promise kept, and do the clients follow the plan?

    Ends with status 1 if anything is broken. The clients run on records made here, never on anybody's.
    What no audit can see is printed with the verdict.

    \b
    Example:
      assocpriv audit plan.json --depth exact
      assocpriv audit plan.json --program ./client --trials 200000
    """
    from assocpriv.api import AuditRequest, audit_file
    from assocpriv.show.audits import audit_lines, audit_record

    if program is not None and context.get_parameter_source("client") is not click.core.ParameterSource.DEFAULT:
        raise click.UsageError("--client names one of our clients; it does not go with --program")
    if program is not None and options["depth"] == "exact":
        raise click.UsageError("--depth exact does not run a program; it does not go with --program")
    request = AuditRequest(program=None if program is None else _words(program), **options)
    done = audit_file(plan, request, Progress())
    show_result(lambda: audit_record(done), lambda: audit_lines(done))
    if done.is_broken:
        context.exit(1)


def _words(program: str) -> tuple[str, ...]:
    """Return a program and its arguments, as a shell would take them apart."""
    try:
        words = shlex.split(program, posix=os.name == "posix")
    except ValueError:
        raise click.UsageError("--program has a quotation mark that is not closed") from None
    if not words:
        raise click.UsageError("--program is empty")
    return tuple(words)
