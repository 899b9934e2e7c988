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
@click.option("--prior", "priors", multiple=True, help="Belief to show in the table, as 1% or 0.01; repeatable.")
@click.option(
    "--reports-per-person", "times", type=opt.WHOLE, multiple=True, help="Reports of one person.  [default: the plan's]"
)
@click.option("--explain", is_flag=True, help="Say plainly what promises mean and cost: PLAN's, or some to choose.")
@click.option("--html", type=opt.PAGE, help="Instead: one page to write (.html) and sign, of a PLAN of any kind.")
def privacy(plan: tuple[Path, ...], explain: bool, html: Path | None, force: bool, **options: Any) -> None:
    """Say what PLAN proves: how far beliefs can move, what several reports tell, and information in bits.

    Of several PLANs: what all answers of one person to them tell together. Give --reports-per-person (52 for a year of
    weeks) once for all plans, or once for each. All figures err on the side of less privacy.

    \b
    Example:
      assocpriv privacy --explain
      assocpriv privacy plan.json --prior 1% --prior 10%
      assocpriv privacy plan.json --reports-per-person 52
      assocpriv privacy weekly.json survey.json --reports-per-person 52 --reports-per-person 1
      assocpriv privacy plan.json --html promise.html
    """
    alone = "--html" if html is not None else "--explain" if explain else None
    if alone is not None:
        opt.refuse_given(("priors", "times"), f"does not go with {alone}")
        if len(plan) > 1:
            raise click.UsageError(f"{alone} goes with one PLAN")
    if not plan and (html is not None or not explain):
        raise click.UsageError("give a PLAN, or --explain for promises to choose from")
    if html is not None:
        opt.refuse_given(("explain",), "does not go with --html")
        opt.check_output(html, force, plan)
        ap.write_page(ap.read_plan(plan[0]), html, force=force)
        opt.show(_written(html))
    elif explain:
        explained = ap.explain_promises(*(ap.read_plan(path, ap.Plan) for path in plan))
        opt.show(ap.show.promises.explained(explained))
    else:
        _prove(plan, **options)


def _written(html: Path) -> opt.Record:
    return opt.Record({"page": str(html)}, ["page written to {page}"])


def _prove(paths: tuple[Path, ...], priors: tuple[str, ...], times: tuple[int, ...]) -> None:
    if len(times) not in (0, 1, len(paths)):
        raise click.UsageError(f"give --reports-per-person once for all plans or once for each, {len(paths)} in all")
    plans = [ap.read_plan(path) for path in paths]
    if len(plans) == 1 and isinstance(plans[0], ap.Plan):
        count = times[0] if times else None
        proved = ap.privacy(plans[0], priors, reports_per_person=count)
        opt.show(ap.show.promises.privacy(proved))
        return
    counts = times * len(plans) if len(times) == 1 else times
    budget = ap.privacy(list(zip(plans, counts, strict=True)) if counts else plans, priors)
    names = {plan.plan_id: path.name for plan, path in zip(plans, paths, strict=True)}
    opt.show(ap.show.promises.budget(budget, names))


@opt.command()
@click.argument("path", type=opt.PATH)
@opt.usual("--reports", default=1_000_000, help="Of a plan: reports to plan for.", type=opt.WholeRange(1))
@click.option("--discover", metavar="S", help="Of a plan of baskets: how many reports discover this support, as 1%.")
@click.option("--check-crafted", is_flag=True, help="Of reports: test whether honest people could have sent them.")
@click.option("--html", type=opt.PAGE, help="Instead: page to write (.html) of what a command found and wrote.")
@click.option("--plan", "plan_path", type=opt.PATH, help="Of a page: the plan it was found with, for its promise.")
def inspect(
    path: Path, reports: int, discover: str | None, check_crafted: bool, html: Path | None, plan_path: Path | None,
    force: bool,
) -> None:  # fmt: skip
    """Say what PATH is (a plan, reports, itemsets or a tree), what it promises and what can be learned from it.

    With --html it makes a page of a file of itemsets (mine -o), distributions (reconstruct -o found.json), a tree (tree
    -o) or the report of a suppression (suppress --json). A page is one file, loads nothing from elsewhere, and holds
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
        opt.check_output(html, force, [path, plan_path])
        ap.show.pages.write_page(path, html, plan_path, force=force)
        opt.show(_written(html))
        return
    opt.refuse_given(("plan_path",), "goes with --html")
    content = ap.inspect(path, check_crafted=check_crafted, progress=opt.Progress())
    if content.kind != "plan":
        opt.refuse_given(("reports", "discover"), f"describes a plan; {path} holds {content.said}")
    found = ap.show.audits.inspected(content, reports)
    if discover is not None:
        found = ap.show.plans.needed(found, ap.reports_to_discover(ap.Plan.of(content.plan), discover), discover)
    opt.show(found)


@opt.command(takes=["json"])
@click.argument("plan", type=opt.PATH)
@opt.usual("--trials", default=1_000_000, help="Reports to ask each client for.", type=opt.WholeRange(1000))
@opt.usual("--confidence", default="99.9%", help="Chance, at least, that an honest client is not called broken.")
@opt.choice("--client", ["both", "bulk", "single"], "Our client for many baskets, for one, or both.")
@click.option(
    "--program", help="Audit this program and its arguments; docs/write-and-audit-a-client.md says what it reads."
)
def audit(plan: Path, program: str | None, **options: Any) -> None:
    """Audit PLAN, and clients of it: is the promise kept, and do the clients follow the plan?

    Ends with status 1 if anything is broken. The clients run on records made here, never on anybody's.
    What no audit can see is printed with the verdict.

    \b
    Example:
      assocpriv audit plan.json
      assocpriv audit plan.json --program ./client --trials 200000
    """
    if program is not None:
        opt.refuse_given(("client",), "names one of our clients; it does not go with --program")
    words = None if program is None else _words(program)
    done = ap.audit(plan, program=words, progress=opt.Progress(), **options)
    opt.show(ap.show.audits.audit(done, len(done.findings)))
    if done.is_broken:
        click.get_current_context().exit(1)


def _words(program: str) -> tuple[str, ...]:
    """Return a program and its arguments, as a shell would take them apart."""
    try:
        words = shlex.split(program, posix=os.name == "posix")
    except ValueError:
        raise click.UsageError("--program has a quotation mark that is not closed") from None
    if not words:
        raise click.UsageError("--program is empty")
    return tuple(words)
