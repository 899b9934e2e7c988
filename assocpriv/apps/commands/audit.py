"""The command audit: does a plan keep its promise, and does a client keep to the plan?"""

import os
import shlex
from typing import TYPE_CHECKING, Any

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import PATH, json_option
from assocpriv.apps.progress import Progress

if TYPE_CHECKING:
    from assocpriv.plans.baskets.plan import Plan


@click.command()
@click.argument("plan", type=PATH)
@click.option(
    "--depth",
    type=click.Choice(["exact", "conformance", "empirical", "all"]),
    default="all",
    show_default=True,
    help="How deep to look.",
)
@click.option(
    "--trials", type=click.IntRange(1000), default=1_000_000, show_default=True, help="Reports for empirical."
)
@click.option(
    "--confidence",
    default="99.9%",
    show_default=True,
    help="Chance, at least, that a client that follows the plan is not called broken.",
)
@click.option(
    "--client",
    type=click.Choice(["both", "bulk", "single"]),
    default="both",
    show_default=True,
    help="Which of our clients: for many baskets, for one, or both (of the latter what reports some seconds give).",
)
@click.option("--program", help="Audit this program and its arguments instead; docs/formats.md says what it reads.")
@json_option
@click.pass_context
def audit(context: click.Context, /, as_json: bool, **options: Any) -> None:
    """Audit PLAN, and clients of it as black boxes: is the promise kept, and do the clients follow the plan?

    Ends with status 1 if anything is broken. The clients run on transactions made here, never on anybody's baskets.
    What no audit can see is printed with the verdict.

    \b
    Example:
      assocpriv audit plan.json --depth exact
      assocpriv audit plan.json --program ./client --trials 200000
    """
    from assocpriv.apps.commands.warm_up import compile_told
    from assocpriv.apps.render.audit import audit_lines, audit_record
    from assocpriv.audit.findings import BROKEN, verdict
    from assocpriv.audit.kinds import audit as audit_kind
    from assocpriv.audit.request import AuditRequest
    from assocpriv.core.privacy import format_fraction
    from assocpriv.files.plans import read_plan_text

    path, depth, chosen, program = (options[name] for name in ("plan", "depth", "client", "program"))
    if program is not None and context.get_parameter_source("client") is not click.core.ParameterSource.DEFAULT:
        raise click.UsageError("--client names one of our clients; it does not go with --program")
    if program is not None and depth == "exact":
        raise click.UsageError("--depth exact does not run a program; it does not go with --program")
    command = () if program is None else _command(program)
    request = AuditRequest(depth, options["trials"], options["confidence"], chosen, command, path)
    text = read_plan_text(path)
    plan = _plan_of(options)
    asked = {
        "depth": depth,
        "trials": request.trials,
        "confidence": format_fraction(request.level),
        "client": chosen if program is None else "program",
    }
    compile_told()
    findings = audit_kind(plan, text, request, Progress())
    show_result(as_json, lambda: audit_record(plan, findings, asked), lambda: audit_lines(plan, findings, asked))
    if verdict(findings) == BROKEN:
        context.exit(1)


def _plan_of(options: dict[str, Any]) -> "Plan | None":
    """Read the plan; what is none, or breaks its promise, is for the exact depth to judge, if that is asked for."""
    from assocpriv.core.errors import FileError
    from assocpriv.files.plans import read_plan
    from assocpriv.plans.baskets.plan import Plan

    try:
        return read_plan(options["plan"], Plan)
    except FileError:
        raise
    except Exception:
        if options["depth"] in ("exact", "all"):
            return None
        raise


def _command(program: str) -> tuple[str, ...]:
    try:
        command = tuple(shlex.split(program, posix=os.name == "posix"))
    except ValueError:
        raise click.UsageError("--program has a quotation mark that is not closed") from None
    if not command:
        raise click.UsageError("--program is empty")
    return command
