"""The command audit: does a plan keep its promise, and does a client keep to the plan?"""

import os
import shlex
from pathlib import Path
from typing import Any

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import PATH, WholeRange, choice, json_option, usual
from assocpriv.apps.progress import Progress


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
    from assocpriv.apps.render.assurance import audit_lines, audit_record
    from assocpriv.assurance import AuditRequest, audit_file

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
