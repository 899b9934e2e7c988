"""Guarantees, files and audits: the commands privacy, inspect, audit.

privacy: the privacy guarantee of a plan. inspect: the type of a file, its guarantee and its detection limits. audit:
does a plan keep its guarantee, and do clients follow the plan?
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
@click.option("--prior", "priors", multiple=True, help="Prior probability to show, as 1% or 0.01; repeatable.")
@click.option(
    "--reports-per-person", "times", type=opt.WHOLE, multiple=True, help="Reports of one person.  [default: the plan's]"
)
@click.option("--explain", is_flag=True, help="Explain meaning and cost of PLAN's guarantee; without PLAN, of six.")
@click.option("--html", type=opt.PAGE, help="Write an HTML page with a place to sign, instead of printing.")
def privacy(plan: tuple[Path, ...], explain: bool, html: Path | None, force: bool, **options: Any) -> None:
    """Show what PLAN guarantees for one report and for several, and what adversaries learn.

    PLAN may also be a release, several releases of the same people, or their ledger: shown is what they spend together.
    For several PLANs, show the composed guarantee of all reports of one person. Give --reports-per-person (52 for
    weekly reports of a year) once for all plans, or once for each. All figures are rounded towards less privacy.

    \b
    Example:
      assocpriv privacy --explain
      assocpriv privacy plan.json --prior 1% --prior 10%
      assocpriv privacy plan.json --reports-per-person 52
      assocpriv privacy weekly.json survey.json --reports-per-person 52 --reports-per-person 1
      assocpriv privacy plan.json --html guarantee.html
      assocpriv privacy counts.parquet --html guarantee.html
      assocpriv privacy shop.ledger

    Next: assocpriv audit plan.json
    """
    alone = "--html" if html is not None else "--explain" if explain else None
    if alone is not None:
        opt.refuse_given(("priors", "times"), f"does not go with {alone}")
        if len(plan) > 1:
            raise click.UsageError(f"{alone} goes with one PLAN")
    if not plan and (html is not None or not explain):
        raise click.UsageError("give a PLAN, or --explain for guarantees to choose from")
    if html is not None:
        opt.refuse_given(("explain",), "does not go with --html")
        opt.check_output(html, force, plan)
        ap.write_page(plan[0] if ap.tables.is_release(plan[0]) else ap.read_plan(plan[0]), html, force=force)
        opt.show(_written(html))
    elif explain:
        explained = ap.planning.explain_guarantees(*(ap.read_plan(path, ap.Plan) for path in plan))
        opt.show(ap.show.privacy_views.explained(explained))
    else:
        _prove(plan, **options)


def _written(html: Path) -> "ap.show.result_record.Record":
    return ap.show.result_record.Record({"page": str(html)}, ["page written to {page}"])


def _prove(paths: tuple[Path, ...], priors: tuple[str, ...], times: tuple[int, ...]) -> None:
    if len(times) not in (0, 1, len(paths)):
        raise click.UsageError(f"give --reports-per-person once for all plans or once for each, {len(paths)} in all")
    if all(map(ap.tables.is_release, paths)) or ap.tables.is_release_ledger(paths[0]):
        opt.refuse_given(("priors", "times"), "is about reports, not releases")
        opt.show(ap.show.release_views.budget(ap.release_budget(paths)))
        return
    plans = [ap.read_plan(path) for path in paths]
    if len(plans) == 1 and isinstance(plans[0], ap.Plan):
        count = times[0] if times else None
        proved = ap.privacy(plans[0], priors, reports_per_person=count)
        opt.show(ap.show.privacy_views.privacy(proved))
        return
    counts = times * len(plans) if len(times) == 1 else times
    budget = ap.privacy(list(zip(plans, counts, strict=True)) if counts else plans, priors)
    names = {plan.plan_id: path.name for plan, path in zip(plans, paths, strict=True)}
    opt.show(ap.show.privacy_views.budget(budget, names))


@opt.command()
@click.argument("path", type=opt.PATH)
@opt.usual("--people", "reports", default=1_000_000, help="For a plan: number of people.", type=opt.WholeRange(1))
@click.option("--detect", metavar="S", help="For a basket plan: reports that detect this support, as 1%.")
@click.option("--check-manipulation", is_flag=True, help="For reports: test for manipulated reports.")
@click.option("--html", type=opt.PAGE, help="Instead: page to write (.html) of a command's result.")
@click.option("--plan", "plan_path", type=opt.PATH, help="For a page: the plan, to show its guarantee.")
def inspect(
    path: Path, reports: int, detect: str | None, check_manipulation: bool, html: Path | None, plan_path: Path | None,
    force: bool,
) -> None:  # fmt: skip
    """Describe a plan, reports, itemsets, a tree or a release in PATH.

    Prints the type of the file, its privacy guarantee and its detection limits. With --html it writes a page of
    itemsets (mine -o), distributions (reconstruct -o found.json), a tree (tree -o) or a suppression (suppress --json).
    A page is one file, loads nothing from elsewhere, and holds no report, basket or record.

    \b
    Example:
      assocpriv inspect plan.json --people 50000 --detect 1%
      assocpriv inspect reports.parquet
      assocpriv inspect reports.parquet --check-manipulation
      assocpriv inspect itemsets.parquet --html itemsets.html --plan plan.json

    Next: assocpriv mine reports.parquet
    """
    if html is not None:
        opt.refuse_given(("reports", "detect", "check_manipulation"), "does not go with --html")
        opt.check_output(html, force, [path, plan_path])
        ap.show.result_pages.write_page(path, html, plan_path, force=force)
        opt.show(_written(html))
        return
    opt.refuse_given(("plan_path",), "goes with --html")
    content = ap.inspect(path, check_manipulation=check_manipulation, progress=opt.text.Progress())
    if content.kind != "plan":
        opt.refuse_given(("reports", "detect"), f"describes a plan; {path} holds {content.description}")
    found = ap.show.audit_views.inspected(content, reports)
    if detect is not None:
        needed = ap.planning.reports_to_detect(ap.Plan.require(content.plan), detect)
        found = ap.show.plan_views.needed(found, needed, detect)
    opt.show(found)


@opt.command(takes=["json"])
@click.argument("plan", type=opt.PATH)
@opt.usual("--trials", default=1_000_000, help="Reports to request from each client.", type=opt.WholeRange(1000))
@opt.usual("--confidence", default="99.9%", help="Probability that a correct client passes.")
@opt.choice("--client", ["both", "bulk", "single"], "Our client for many records (bulk), for one (single), or both.")
@click.option("--program", help="Program to audit, with its arguments (docs/write-and-audit-a-client.md).")
def audit(plan: Path, program: str | None, **options: Any) -> None:
    """Audit the guarantee of PLAN and the clients that follow it, or a release.

    Recomputes γ, checks the clients' code, and tests their reports. The clients run on generated records only. Of a
    release, ε and the choices are recomputed, and the program that makes releases is tested on generated baskets. The
    exit status is 1 if anything is broken. The limits of the audit are printed with the verdict.

    \b
    Example:
      assocpriv audit plan.json
      assocpriv audit counts.parquet
      assocpriv audit plan.json --program ./client --trials 200000

    Next: assocpriv serve plan.json
    """
    if program is not None:
        opt.refuse_given(("client",), "names one of our clients; it does not go with --program")
    arguments = None if program is None else _split_command(program)
    done = ap.audit(plan, program=arguments, progress=opt.text.Progress(), **options)
    opt.show(ap.show.audit_views.audit(done, len(done.findings)))
    if done.is_broken:
        click.get_current_context().exit(1)


def _split_command(program: str) -> tuple[str, ...]:
    """Return a program and its arguments, split as by a shell."""
    try:
        words = shlex.split(program, posix=os.name == "posix")
    except ValueError:
        raise click.UsageError("--program has a quotation mark that is not closed") from None
    if not words:
        raise click.UsageError("--program is empty")
    return tuple(words)
