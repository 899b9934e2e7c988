"""The command audit: does a plan keep its promise, and does a client keep to the plan?"""

import os
import shlex
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from assocpriv.apps.console import show_result
from assocpriv.apps.options import PATH, json_option
from assocpriv.apps.progress import Progress

if TYPE_CHECKING:
    from assocpriv.audit.black_box.clients import BlackBox
    from assocpriv.audit.findings import Finding
    from assocpriv.plans.baskets.plan import Plan

_DEPTHS = ("exact", "conformance", "empirical")
_SINGLE_SECONDS, _SINGLE_TRIALS = 8.0, 100_000  # of the one-report client, unless it alone is asked for
_TIMED = 64  # of its reports


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
    from assocpriv.apps.render.audit import audit_lines, audit_record
    from assocpriv.audit.black_box.empirical import check_request
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


def _findings(plan: "Plan | None", text: str, options: dict[str, Any]) -> "list[Finding]":
    from assocpriv.apps.commands.warm_up import compile_told
    from assocpriv.audit.enumerate.exact import audit_exact, audit_plan

    depths, progress = _DEPTHS if options["depth"] == "all" else (options["depth"],), Progress()
    boxes = _boxes(plan, options) if plan else {}
    compile_told()
    found: list[Finding] = []
    if "exact" in depths and options["program"] is not None:
        found += audit_plan(plan, text)[2]  # what our client does says nothing of the program
    elif "exact" in depths:
        found += audit_exact(plan, text=text, progress=progress.stage("exact"))
    for depth in depths:
        for client, box in boxes.items():
            found += [replace(finding, client=client) for finding in _asked(plan, depth, client, box, options)]
    return found


def _asked(plan: "Plan | None", depth: str, client: str, box: "BlackBox", options: dict[str, Any]) -> "list[Finding]":
    """Audit one client; where there are two they share the false alarms, and the slower gets fewer trials."""
    from assocpriv.audit.black_box.conformance import audit_conformance
    from assocpriv.audit.black_box.empirical import audit_client, check_request

    if depth == "exact" or plan is None:
        return []
    if depth == "conformance":
        return audit_conformance(plan, box, progress=Progress())
    trials, confidence = options["trials"], check_request(options["trials"], options["confidence"])
    if options["client"] == "both" and options["program"] is None:
        confidence = (1 + confidence) / 2
        trials = min(trials, _trials_in_time(plan, box)) if client == "single" else trials
    return audit_client(plan, box, trials=trials, confidence=confidence, progress=Progress())


def _trials_in_time(plan: "Plan", box: "BlackBox") -> int:
    """Return how many reports of the one-report client to ask for: some with a code take it a millisecond each."""
    from assocpriv.audit.black_box.clients import batch_of
    from assocpriv.audit.black_box.empirical import LEAST_TRIALS

    batch = batch_of([range(min(plan.n_items, plan.transaction_size))] * _TIMED, plan)
    try:
        list(box.reports([batch]))  # the first makes tables
        start = perf_counter()
        list(box.reports([batch]))
        each = (perf_counter() - start) / _TIMED
    except Exception:  # noqa: BLE001 -- a client that fails is a finding of the audit itself
        return LEAST_TRIALS
    return max(LEAST_TRIALS, min(_SINGLE_TRIALS, int(_SINGLE_SECONDS / each)))


def _boxes(plan: "Plan", options: dict[str, Any]) -> "dict[str, BlackBox]":
    from assocpriv.audit.black_box.clients import BulkClient, SingleClient
    from assocpriv.audit.black_box.pipe import Program

    if options["program"] is None:
        boxes: dict[str, BlackBox] = {"bulk": BulkClient(plan), "single": SingleClient(plan)}
        return {name: box for name, box in boxes.items() if options["client"] in (name, "both")}
    try:
        command = shlex.split(options["program"], posix=os.name == "posix")
    except ValueError:
        raise click.UsageError("--program has a quotation mark that is not closed") from None
    if not command:
        raise click.UsageError("--program is empty")
    path: Path = options["plan"]
    return {"program": Program(command, path, plan)}
