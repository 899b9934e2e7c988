"""What a trial, an inspection or an audit came to, as text for a person or as JSON content.

Trials run both sides on data at hand: a simulation, and a demo before and after it ran. An inspection says what a file
holds and whether its reports may be crafted. An audit has findings.
"""

from fractions import Fraction
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from assocpriv.auditing.findings import ALL, CANNOT_SEE, count_undecided
from assocpriv.auditing.inspection import ITEMSETS, MODEL, PLAN, REPORTS, FileContent
from assocpriv.client.ledger import takes_names
from assocpriv.files.itemsets import LightFrame
from assocpriv.plans.tree_model import tree_lines
from assocpriv.promise.breaches import epsilon
from assocpriv.promise.errors import counted
from assocpriv.server.itemsets import describe_limits, mining_facts
from assocpriv.server.rules import rule_records
from assocpriv.show.figures import fields, figure_up, listed, percent, percent_as_given, rest_line
from assocpriv.show.itemsets import itemset_lines, list_line, meaning_lines, mined_lines, mined_record, rule_lines
from assocpriv.show.outcomes import loss_lines, outcome_lines
from assocpriv.show.plans import Description, describe_plan, plan_lines, plan_record
from assocpriv.show.tables import tree_record, tree_text
from assocpriv.show.terminal import paragraph_width

if TYPE_CHECKING:
    from assocpriv.auditing.audit import Audit
    from assocpriv.plans.baskets import Plan
    from assocpriv.server.crafted import CraftedCheck
    from assocpriv.simulation.demo import Demo, DemoStart
    from assocpriv.simulation.simulate import Simulation

_ROWS, _WIDTH = 20, 100
_CLIENTS = {
    "both": "our clients for many {record}s and for one",
    "bulk": "our client for many {record}s",
    "single": "our client for one {record}",
    "program": "the program given",
}


# ---- trials


def describe_baskets(result: "Simulation", plan: "Plan", top: int) -> Description:
    """Return both ways to describe a simulation, and what became of the baskets."""
    notes = () if result.read is None else tuple(outcome_lines(result.read, plan))
    return Description(lambda: simulation_record(result), lambda: simulation_lines(result, top), notes)


def simulation_record(result: "Simulation") -> dict[str, Any]:
    """Return a simulation for ``--json``."""
    missed = [
        {"itemset": sorted(row["itemsets"]), "true_support": row["true_support"]}
        for row in result.missed.to_dict("records")
    ]
    return mined_record(result.itemsets) | {
        "missed": missed,
        **fields(result, "found_count missed_count false_count sampled_baskets seconds"),
    }


def simulation_lines(result: "Simulation", top: int) -> list[str]:
    """Show a simulation: what was found beside the truth, what was missed, the score and the times."""
    times = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in result.seconds.items())
    return [
        *mined_lines(result.itemsets, top),
        *_missed_lines(result, top),
        _score_line(result),
        f"time: {times}",
    ]


def _missed_lines(result: "Simulation", top: int) -> list[str]:
    """Show truly frequent itemsets that were not listed."""
    missed = result.missed
    lines = [
        f"{percent(row['true_support'], width=8)}  {listed(row['itemsets'])}"
        for row in missed.head(top).to_dict("records")
    ]
    return [f"{'true':>8}  missed", *lines, *rest_line(len(missed), top)] if len(missed) else []


def _score_line(result: "Simulation") -> str:
    """Say how many truly frequent itemsets were listed, missed and falsely listed."""
    truly = result.found_count + result.missed_count
    return (
        f"of {truly:,} itemsets truly frequent: {result.found_count:,} listed, {result.missed_count:,} missed; "
        f"{result.false_count:,} listed that are below the minimum support"
    )


def start_lines(start: "DemoStart") -> list[str]:
    """Show the baskets and the plan."""
    raw = start.baskets
    return [
        f"{len(raw):,} baskets over {len(raw.catalogue):,} items, {raw.sizes.mean():.2f} items on average",
        "",
        *plan_lines(start.prospects),
        *loss_lines(start.loss),
    ]


def found_lines(demo: "Demo", top: int) -> list[str]:
    """Show what was found beside the truth, itemsets by size and then rules, the times and the files."""
    itemsets = demo.simulation.itemsets
    facts = mining_facts(itemsets)
    frame = LightFrame.of(itemsets)
    lines = ["", *meaning_lines(facts), list_line(frame)]
    for k in sorted(set(itemsets["length"][itemsets["listed"]])):
        lines += ["", *itemset_lines(itemsets[itemsets["length"] == k], top)]
    lines += ["", *_missed_lines(demo.simulation, top), _score_line(demo.simulation)]
    lines += [*describe_limits(facts), "", *rule_lines(demo.rules, top)]
    times = ", ".join(f"{stage} {taken:.2f} s" for stage, taken in demo.seconds.items())
    return [*lines, f"\ntime: {times}", f"files: {', '.join(map(str, demo.start.paths))}"]


def demo_record(demo: "Demo") -> dict[str, Any]:
    """Return a demo for ``--json``."""
    return simulation_record(demo.simulation) | {
        "seconds": demo.seconds,
        "rules": rule_records(demo.rules),
        "plan": plan_record(demo.start.prospects),
        "files": [str(path) for path in demo.start.paths],
    }


# ---- inspections


def describe(content: FileContent, reports: int) -> Description:
    """Return how to describe what a file holds; a plan for so many reports."""
    return _DESCRIBE[content.kind](content, reports)


def _reports(content: FileContent, _reports_planned: int) -> Description:
    plan = describe_plan(content.plan, max(content.reports, 1))
    files, crafted = content.files, content.crafted
    where = f" in {counted(files, 'file')}" if files or not content.unsealed else ""
    unsealed = f", {content.unsealed:,} of them not sealed yet" if content.unsealed else ""
    title = f"{counted(content.reports, 'report')}{where}{unsealed}, each whole and as its plan says"
    return Description(
        lambda: (
            plan.record()
            | {"reports": content.reports, "files": files}
            | ({"crafted": crafted_record(crafted)} if crafted else {})
        ),
        lambda: [title, *plan.lines(), *(crafted_lines(crafted) if crafted else [])],
    )


def _itemsets(content: FileContent, _reports_planned: int) -> Description:
    frame = content.table
    assert frame is not None
    facts = mining_facts(frame)
    ids = ", ".join(f"{each[:16]}…" for each in facts.plan_ids)
    title = f"{len(frame):,} itemsets mined with plan{'s' * (len(facts.plan_ids) > 1)} {ids}"
    return Description(lambda: mined_record(frame), lambda: [title, *mined_lines(frame, _ROWS)])


def _model(content: FileContent, _reports_planned: int) -> Description:
    model = content.model
    assert model is not None
    plan = f" on reports of plan {model.plan_id[:16]}…" if model.plan_id else ""
    title = f"a decision tree, grown {model.method}{plan}"
    return Description(lambda: tree_record(model), lambda: [title, "", *tree_text(model, list(tree_lines(model)))])


_DESCRIBE = {
    PLAN: lambda content, reports: describe_plan(content.plan, reports),
    REPORTS: _reports,
    ITEMSETS: _itemsets,
    MODEL: _model,
}


def crafted_record(check: "CraftedCheck") -> dict[str, Any]:
    """Return what the tests for crafted reports say, for ``--json``."""
    return {
        "flagged": check.flagged,
        "false_alarm": check.level,
        "tests": [{"name": test.name, "seen": test.said, **fields(test, "p_value flagged")} for test in check.tests],
    }


def crafted_lines(check: "CraftedCheck") -> list[str]:
    """Say what the tests for crafted reports say."""
    verdict = "nothing speaks against these reports, which proves nothing: false baskets cannot be told"
    if check.flagged:
        verdict = "some of these reports are hardly honest"
    return [
        f"crafted     {verdict}; a false alarm has a chance of at most {percent_as_given(check.level)}",
        *(
            f"            {'! ' if test.flagged else '  '}{test.name}: {test.said} (p ≤ {test.p_value:.2g})"
            for test in check.tests
        ),
    ]


# ---- audits


def audit_record(audit: "Audit") -> dict[str, Any]:
    """Return an audit for ``--json``."""
    plan, findings = audit.plan, audit.findings
    return {
        "plan_id": plan.plan_id if plan else None,
        "verdict": audit.verdict,
        "not_decided": count_undecided(findings),
        "cannot_see": list(CANNOT_SEE),
        "epsilon": epsilon(plan.amplification) if plan and plan.amplification else None,
        **audit.request.to_json(),
        "findings": [
            {"depth": finding.depth, "client": finding.client or None, **fields(finding, "name verdict said figures")}
            for finding in findings
        ],
    }


def audit_lines(audit: "Audit") -> list[str]:
    """Return an audit as text: the verdict and on what, then a finding after the other, depth by depth."""
    count = count_undecided(audit.findings)  # told, so that no check that was not made hides behind the verdict
    left_out = f", {count} check{'s' * (count != 1)} not made" * (count > 0)
    lines = [f"{audit.verdict}{left_out}: {_plan_of(audit)}", _request_line(audit)]
    width = paragraph_width(_WIDTH)
    lines += wrap("cannot see: " + "; ".join(CANNOT_SEE), width, subsequent_indent=" " * 12)
    heading = ""
    for finding in audit.findings:
        about = finding.depth + (f", {_client(audit, finding.client)}" if finding.client else "")
        if about != heading:
            heading = about
            lines += ["", heading]
        head = f"  {finding.verdict:<11} {finding.name}: "
        lines += wrap(finding.said, width, initial_indent=head, subsequent_indent=" " * 14)
    return lines


def _plan_of(audit: "Audit") -> str:
    """Name the plan by its whole id: an officer compares it with another."""
    if audit.plan is None:
        return "no usable plan"
    if audit.plan.amplification is None:
        return f"plan {audit.plan.plan_id}, no γ stated"
    return f"plan {audit.plan.plan_id}, ε ≤ {figure_up(epsilon(audit.plan.amplification))} for one report"


def _request_line(audit: "Audit") -> str:
    """Say what was audited, and how."""
    request = audit.request.to_json()
    line = f"depth {request['depth']}; {_client(audit, request['client'])}"
    if request["depth"] not in (ALL, "empirical"):
        return line
    alarm = percent_as_given(float(1 - Fraction(request["confidence"])))
    return f"{line}; {request['trials']:,} reports asked for, a false alarm with a chance of at most {alarm}"


def _client(audit: "Audit", client: str) -> str:
    """Name a client, by the records that it takes."""
    record = "basket" if audit.plan is None or takes_names(audit.plan) else "record"
    return _CLIENTS[client].format(record=record)
