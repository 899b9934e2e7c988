"""Guided perturbation as records.

What a plan promises (figures of privacy err against us), the miner's state and its guidance, what came of answering
guidance, and trials of both sides.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from assocpriv.show.figures import fields, plain
from assocpriv.show.promises import promise_content, promise_facts
from assocpriv.show.record import Column, Facts, Part, Record, Say, Section, Table
from assocpriv.simulation.guided import Measured, Trial

if TYPE_CHECKING:
    from assocpriv.client.waiting import AnswerCounts
    from assocpriv.planning.tables import GuidedFacts
    from assocpriv.plans.guided import GuidedPlan
    from assocpriv.server.guided import MinerState, Worth

_LEGEND = (
    "disclosure: share of the squared norm of tuples that is released",
    "information: share of what a tuple tells that its release tells, or bounds of it",
    "bound: what the paper states for disclosure; it can fail",
    "estimate: of naive Bayes' accuracy, by the miner, from released tuples alone",
)


# ---- plans


def plan(facts: "GuidedFacts") -> Record:
    """Return what a plan promises."""
    made, share = facts.plan, facts.random_share
    content = promise_content(made) | fields(made, "keep width batch") | fields(facts, "reports guidances") | {
        "random_share": None if share is None else float(share),
        "mu": float(made.mu),
        "class": {"name": made.label.name, "labels": list(made.labels)},
        "attributes": [{"name": column.name, "values": column.inputs} for column in made.attributes],
    }  # fmt: skip
    kept = "by coins in every bit, as many as the guidance needs"
    if share is not None:
        kept = "{random_share:least_up} of reports answer for a random tuple"
    rows = [
        *[("kept", [kept])] * (made.promise is not None),
        ("attributes", ["{names:some}; {width:#bit} in all"]),
        ("in clear", ["the class {class[name]}: {class[labels]:some}"]),
        ("guidance", [
            "in directions in which classes differ by more than {mu:given} of the most",
            "new after every {batch:#report}, {guidances:#time} in {reports:#report}",
        ]),
    ]  # fmt: skip
    first = Facts([("plan", ["{plan_id}", "a report has {report_bytes:#byte}"])])
    names = {"names": [column.name for column in made.attributes]}
    return Record(content, [first, promise_facts(content), Facts(rows, names)])


# ---- the miner


def started(state: "MinerState", output: Path, path: Path, *, is_of_table: bool) -> Record:
    """Return a new state; ``is_of_table``: its plan holds values of a table."""
    made = state.plan
    content = promise_content(made) | {
        "attributes": len(made.attributes),
        "width": made.width,
        "classes": dict(zip(made.labels, state.started.tolist(), strict=True)),
    }
    rows = [
        ("columns", ["{attributes:#attribute}, {width:#column} of bits"]),
        ("tuples", ["to start with, {classes:each}" if state.started.any() else "none to start with"]),
        *promise_facts(content).rows,
        ("plan", ["{output}"]),
        ("state", ["{path}"]),
    ]
    public = (
        "the plan holds the table's own classes, and categories and cut points of {attributes:#column}: they get "
        "published with {output}, so read it first; schema=FILE takes them from a file instead"
    )
    notes = [Say(public, {"output": output})] * is_of_table
    return Record(content, [Facts(rows, {"output": output, "path": path})], notes=notes)


def published(state: "MinerState", worth: "list[Worth]", new: bool, output: Path) -> Record:
    """Return the current guidance, and what levels are worth."""
    guidance = state.guidance
    assert guidance is not None
    content = fields(state.plan, "plan_id width batch") | fields(guidance, "serial level")
    content |= {"new": new, "received": state.tuples, "amplification": plain(state.ratio)}
    content["worth"] = [fields(each) for each in worth]
    rows = [
        ("guidance", ["{serial}" + ", as before: {batch:#tuple} make a batch" * (not new)]),
        ("level", ["{level} of {width}"]),
        ("γ", ["infinite" if state.ratio is None else "≤ {amplification:up}"]),
        ("received", ["{received:#tuple}"]),
        ("written", ["{output}"]),
    ]
    told = [
        f"level {each.level} {each.accuracy:.1%} ± {each.std_error:.1%}" if each.level
        else f"now {each.accuracy:.1%} ± {each.std_error:.1%}" for each in worth
    ]  # fmt: skip
    said = "accuracy of naive Bayes, estimated; of levels, once as many people again have answered"
    return Record(content, [Facts(rows, {"output": output}), *([Section(said, told)] if told else [])])


def collected(state: "MinerState") -> Record:
    """Return what has been collected."""
    content = {
        "plan_id": state.plan.plan_id,
        "received": state.tuples,
        "classes": dict(zip(state.plan.labels, state.received.tolist(), strict=True)),
        "due": state.is_due,
        "left": max(state.published_at + state.plan.batch - state.tuples, 0),
    }
    then = "new guidance is due" if state.is_due else "new guidance after {left:#further tuple}"
    return Record(content, [Facts([("received", ["{received:#tuple}: {classes:each}"]), ("next", [then])])])


# ---- answers


def answered(done: "AnswerCounts", plan: "GuidedPlan", output: Path) -> Record:
    """Return what was answered, and what was made of values."""
    sent = {"plan_id": plan.plan_id, "sent": done.records, "waiting": 0, "report_bytes": plan.report_bytes}
    said = "{sent:#report} of {report_bytes:#byte} written to {output}: answers to guidance {serial}, level {level}"
    more = {
        "missing values, drawn uniformly: {missing:each}": done.missing,
        "{clipped:#bit} had a probability above 1, taken for 1": done.clipped,
        "no record waits any more; their key is gone": done.waited,
        "no γ: {unbounded}": plan.amplification is None,
    }
    given = {"output": output, "unbounded": plan.unbounded}
    lines = [Say(line, given) for line in (said, *(line for line, is_so in more.items() if is_so))]
    return Record(sent | fields(done, "serial level clipped missing waited"), lines)


def waiting(count: int, plan: "GuidedPlan", folder: Path, reason: str) -> Record:
    """Return how many records wait, where and why."""
    content = {"plan_id": plan.plan_id, "sent": 0, "waiting": count}
    said = "{waiting:#record} waiting in {folder}, encrypted; nothing was sent: {reason}"
    return Record(content, [Say(said, {"folder": folder, "reason": reason})])


# ---- trials


def simulated(trial: Trial) -> Record:
    """Return a trial of every level."""
    levels, wanted = trial.levels, [each.level for each in trial.levels if each.share <= trial.plan.mu]
    content = fields(trial.plan, "plan_id width") | fields(trial, "request people held_back original_accuracy majority")
    content |= {
        "mu": float(trial.plan.mu),
        "wanted_level": wanted[0] if wanted else trial.plan.width,
        "levels": [fields(each) for each in levels],
    }
    whole = next((place for place, each in enumerate(levels, 1) if each.disclosure == Measured(1, 0)), len(levels))
    told = "{information[low]:.1%}"
    if any(each.information.low < each.information.high for each in levels):
        told = "{information[low]:.0%}–{information[high]:.0%}"
    columns = [
        Column("level", "{level}"), Column("μ", "{share:.1%}"),
        Column("disclosure", "{disclosure[mean]:.1%} ± {disclosure[std_error]:.1%}"),
        Column("bound", "{disclosure_bound:.1%}"), Column("information", told),
        Column("accuracy", "{accuracy[mean]:.1%} ± {accuracy[std_error]:.1%}"),
        Column("estimate", "{estimate[mean]:.1%}"),
    ]  # fmt: skip
    higher: list[Part] = ["higher levels disclose everything, too"] if whole < len(levels) else []
    parts: list[Part] = [
        "{people:#} people answer, {held_back:#} are held back to test on; {request[rounds]:#round} of "
        "{request[classifier]}",
        "accuracy on raw tuples {original_accuracy[mean]:.1%} ± {original_accuracy[std_error]:.1%}; of always saying "
        "the commonest class {majority[mean]:.1%}",
        "at the plan's μ of {mu:given} a miner who knew all tuples would ask for level {wanted_level}",
        Section("", [Table(columns, content["levels"][:whole]), *higher]),
        Section("", _LEGEND),
    ]
    return Record(content, parts)
