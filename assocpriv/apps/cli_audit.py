"""The command audit: does a plan keep its promise, and does a client keep to the plan?"""

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import PATH, json_option
from assocpriv.apps.progress import Progress

if TYPE_CHECKING:
    from assocpriv.audit.black_box import BlackBox
    from assocpriv.audit.findings import Finding
    from assocpriv.core.plan import Plan

_DEPTHS = ("exact", "conformance", "empirical")


@click.command()
@click.argument("plan", type=PATH)
@click.option(
    "--depth", type=click.Choice([*_DEPTHS, "all"]), default="all", show_default=True, help="How deep to look."
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
    type=click.Choice(["bulk", "single"]),
    default="bulk",
    show_default=True,
    help="Which of our clients: that for many baskets, or that for one.",
)
@click.option("--program", help="Audit this program and its arguments instead; docs/formats.md says what it reads.")
@json_option
@click.pass_context
def audit(context: click.Context, /, as_json: bool, **options: Any) -> None:
    """Audit PLAN, and a client of it as a black box: is the promise kept, and does the client follow the plan?

    Ends with status 1 if anything is broken. The client runs on transactions made here, never on anybody's baskets.

    \b
    Example:
      assocpriv audit plan.json --depth exact
      assocpriv audit plan.json --program ./client --trials 200000
    """
    from assocpriv.apps.show_audit import audit_lines, audit_record
    from assocpriv.audit.empirical import check_request
    from assocpriv.audit.findings import BROKEN, verdict
    from assocpriv.core.privacy import format_fraction
    from assocpriv.files.plans import read_plan_text

    chosen, program = options["client"], options["program"]
    if program is not None and context.get_parameter_source("client") is not click.core.ParameterSource.DEFAULT:
        raise click.UsageError("--client names one of our clients; it does not go with --program")
    if program is not None and options["depth"] == "exact":
        raise click.UsageError("--depth exact does not run a program; it does not go with --program")
    confidence = check_request(options["trials"], options["confidence"])
    text = read_plan_text(options["plan"])
    made = _plan_of(options)
    asked = {
        "depth": options["depth"],
        "trials": options["trials"],
        "confidence": format_fraction(confidence),
        "client": chosen if program is None else "program",
    }
    findings = _findings(made, text, options)
    show_result(as_json, lambda: audit_record(made, findings, asked), lambda: audit_lines(made, findings, asked))
    if verdict(findings) == BROKEN:
        context.exit(1)


def _plan_of(options: dict[str, Any]) -> "Plan | None":
    """Read the plan; what is none, or breaks its promise, is for the exact depth to judge, if that is asked for."""
    from assocpriv.core.errors import PlanError
    from assocpriv.files.plans import read_plan

    try:
        return read_plan(options["plan"])
    except PlanError:
        if options["depth"] in ("exact", "all"):
            return None
        raise


def _findings(plan: "Plan | None", text: str, options: dict[str, Any]) -> "list[Finding]":
    from assocpriv.apps.warm_up import compile_told
    from assocpriv.audit.conformance import audit_conformance
    from assocpriv.audit.empirical import audit_client
    from assocpriv.audit.exact import audit_exact, audit_plan

    depths, progress = _DEPTHS if options["depth"] == "all" else (options["depth"],), Progress()
    box = _box(plan, options) if plan else None
    compile_told()
    found: list[Finding] = []
    if "exact" in depths and options["program"] is not None:
        found += audit_plan(plan, text)[2]  # what our client does says nothing of the program
    elif "exact" in depths:
        found += audit_exact(plan, text=text, progress=progress.stage("exact"))
    if plan and "conformance" in depths:
        found += audit_conformance(plan, box, progress=progress)
    if plan and "empirical" in depths:
        found += audit_client(plan, box, trials=options["trials"], confidence=options["confidence"], progress=progress)
    return found


def _box(plan: "Plan", options: dict[str, Any]) -> "BlackBox":
    from assocpriv.audit.black_box import BulkClient, SingleClient
    from assocpriv.audit.pipe import Program

    path: Path = options["plan"]
    if options["program"] is None:
        return BulkClient(plan) if options["client"] == "bulk" else SingleClient(plan)
    try:
        command = shlex.split(options["program"], posix=os.name == "posix")
    except ValueError:
        raise click.UsageError("--program has a quotation mark that is not closed") from None
    if not command:
        raise click.UsageError("--program is empty")
    return Program(command, path, plan)
