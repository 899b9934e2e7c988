"""What is proved or can be checked: the commands privacy, inspect, audit.

privacy: what a plan proves. inspect: what a file is, what it promises and what can be learned from it. audit: does a
plan keep its promise, and does a client keep to the plan?
"""

import os
import shlex
from pathlib import Path
from typing import Any

import click

import assocpriv as ap
from assocpriv.cli import options as opt


@opt.command()
@click.argument("plan", type=opt.PATH, nargs=-1)
@click.option("--prior", "priors", multiple=True, help="Belief to show in the table, as 1% or 0.01; may be repeated.")
@click.option(
    "--reports-per-person",
    "times",
    type=opt.WHOLE,
    multiple=True,
    help="Reports of one person, 52 for a year of weeks: once for all plans, or once for each.  [default: the plan's]",
)
@click.option(
    "--shuffled",
    type=opt.WholeRange(1, 10**12),
    metavar="N",
    help="Add what holds if a trusted channel mixes N people's reports.",
)
@click.option("--delta", help="δ of that guarantee.  [default: 1e-9]")
@click.option("--explain", is_flag=True, help="Say plainly what promises mean and cost: PLAN's, or some to choose.")
@opt.takes("json")
def privacy(plan: tuple[Path, ...], explain: bool, **options: Any) -> None:
    """Say what PLAN proves: how far beliefs can move, what several reports tell, and information in bits.

    Of several PLANs: what all answers of one person to them tell together. All figures err on the side of less privacy.

    \b
    Example:
      assocpriv privacy --explain
      assocpriv privacy plan.json --prior 1% --prior 10%
      assocpriv privacy plan.json --reports-per-person 52
      assocpriv privacy weekly.json survey.json --reports-per-person 52 --reports-per-person 1
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
        raise click.UsageError(f"give --reports-per-person once for all plans or once for each, {len(plan)} in all")

    plans = [ap.read_plan(path) for path in plan]
    if len(plans) == 1 and isinstance(plans[0], ap.Plan):
        _one(plans[0], **options)
    else:
        _several(plan, plans, **options)


def _explain(paths: tuple[Path, ...]) -> None:

    opt.refuse_given(("priors", "times", "shuffled", "delta"), "does not go with --explain")
    if len(paths) > 1:
        raise click.UsageError("--explain goes with one PLAN, or without any")
    explained = ap.explain_promises(*(ap.read_plan(path, ap.Plan) for path in paths))
    opt.show_result(
        lambda: ap.show.promises.explain_record(explained), lambda: ap.show.promises.explain_lines(explained)
    )


def _one(plan: Any, times: tuple[int, ...], delta: str | None, **options: Any) -> None:

    asked = options | ({} if delta is None else {"delta": delta})
    proved = ap.privacy(plan, reports_per_person=times[0] if times else None, **asked)
    opt.show_result(lambda: ap.show.promises.privacy_record(proved), lambda: ap.show.promises.privacy_lines(proved))


def _several(
    paths: tuple[Path, ...], plans: list[Any], priors: tuple[str, ...], times: tuple[int, ...], **_options: Any
) -> None:

    opt.refuse_given(("shuffled",), "goes with one PLAN, of baskets")
    counts = times * len(plans) if len(times) == 1 else times
    budget = ap.privacy(list(zip(plans, counts, strict=True)) if counts else plans, priors)
    names = {plan.plan_id: path.name for plan, path in zip(plans, paths, strict=True)}
    opt.show_result(
        lambda: ap.show.promises.budget_record(budget), lambda: ap.show.promises.budget_lines(budget, names)
    )


@opt.command()
@click.argument("path", type=opt.PATH)
@opt.usual("--reports", default=1_000_000, help="Reports to plan for (of a plan).")
@click.option("--discover", metavar="S", help="Of a plan of baskets: how many reports discover this support, as 1%.")
@click.option("--check-crafted", is_flag=True, help="Of reports: test whether honest people could have sent them.")
@click.option("--html", type=opt.OUTPUT, help="Instead: page to write (.html) of what a command found and wrote.")
@click.option("--plan", "plan_path", type=opt.PATH, help="Of a page: the plan it was found with, for its promise.")
@opt.result_options
def inspect(
    path: Path, reports: int, discover: str | None, check_crafted: bool, html: Path | None, plan_path: Path | None,
    force: bool,
) -> None:  # fmt: skip
    """Say what PATH is (a plan, reports, itemsets or a tree), what it promises and what can be learned from it.

    With --html it makes a page of a file of itemsets (mine -o), distributions (reconstruct -o found.json), a tree (tree
    -o) or the report of a suppression (suppress --report). A page is one file, loads nothing from elsewhere, and holds
    no report, no basket and no record.

    \b
    Example:
      assocpriv inspect plan.json --reports 50000 --discover 1%
      assocpriv inspect reports.parquet
      assocpriv inspect reports.parquet --check-crafted
      assocpriv inspect itemsets.parquet --html itemsets.html --plan plan.json
    """
    if html is not None:
        opt.refuse_given(("reports", "discover", "check_crafted"), "does not go with --html")
        opt.check_page_output(html, force, [path, *([] if plan_path is None else [plan_path])])
        ap.show.pages.write_page(path, html, plan_path, force=force)
        opt.show_result(lambda: {"page": str(html)}, lambda: [f"page written to {html}"])
        return
    opt.refuse_given(("plan_path",), "goes with --html")
    if reports < 1:
        raise opt.FileError(f"--reports must be at least 1, got {reports}")
    content = ap.inspect(path, check_crafted=check_crafted, progress=opt.Progress())
    if content.kind != "plan":
        opt.refuse_given(("reports", "discover"), f"describes a plan; {path} holds {content.said}")
    needed = None if discover is None else ap.reports_to_discover(ap.Plan.of(content.plan), discover)
    described = ap.show.audits.describe(content, reports)
    opt.show_result(
        lambda: {"kind": content.kind} | described.record() | ap.show.plans.needed_record(needed),
        lambda: [*described.lines(), *ap.show.plans.needed_lines(needed, discover)],
    )


@opt.command()
@click.argument("plan", type=opt.PATH)
@opt.choice("--depth", ["exact", "conformance", "empirical", "all"], "How deep to look.", default="all")
@opt.usual("--trials", default=1_000_000, help="Reports for empirical.", type=opt.WholeRange(1000))
@opt.usual(
    "--confidence", default="99.9%", help="Chance, at least, that a client that follows the plan is not called broken."
)
@opt.choice(
    "--client",
    ["both", "bulk", "single"],
    "Which of our clients: for many baskets, for one, or both (of the latter what reports some seconds give).",
)
@click.option(
    "--program", help="Audit this program and its arguments instead; docs/formats/pipe.md says what it reads."
)
@opt.takes("json")
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
    if program is not None and context.get_parameter_source("client") is not click.core.ParameterSource.DEFAULT:
        raise click.UsageError("--client names one of our clients; it does not go with --program")
    if program is not None and options["depth"] == "exact":
        raise click.UsageError("--depth exact does not run a program; it does not go with --program")
    words = None if program is None else _words(program)
    done = ap.audit(plan, program=words, progress=opt.Progress(), **options)
    opt.show_result(lambda: ap.show.audits.audit_record(done), lambda: ap.show.audits.audit_lines(done))
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
