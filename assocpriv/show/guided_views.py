"""Guided perturbation as records.

The guarantee of a plan (privacy figures are rounded to the safe side), the miner's state and guidance, counts of
responses to guidance, and trials of miner and people.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from assocpriv.show.guarantee_views import guarantee_content, guarantee_facts
from assocpriv.show.number_format import fields, plain
from assocpriv.show.result_record import Column, Facts, Part, Record, Say, Section, Table
from assocpriv.simulation.guided_simulation import RoundMean, Trial

if TYPE_CHECKING:
    from assocpriv.client.guided.report_queue import ResponseCounts
    from assocpriv.planning.table_planner import GuidedFacts
    from assocpriv.plans.guided.guided_plan import GuidedPlan
    from assocpriv.server.guided.collection import LevelAccuracy, MinerState

_LEGEND = (
    "μ: from here on, a miner who knew all tuples would request at most this level",
    "disclosure: released share of the squared norm of tuples (mean ± standard error)",
    "bound: the paper's bound on disclosure, which can fail",
    "information: share of a tuple's information in its release, or bounds on it",
    "accuracy: of the classifier on held-out raw tuples (mean ± standard error)",
    "estimate: the miner's estimate of naive Bayes' accuracy from released tuples",
)


# ---- plans


def plan(facts: "GuidedFacts") -> Record:
    """Return the guarantee, attributes and guidance rules of a plan."""
    made, share = facts.plan, facts.random_share
    content = guarantee_content(made) | fields(made, "keep width batch") | fields(facts, "reports guidances") | {
        "random_share": None if share is None else float(share),
        "mu": float(made.mu),
        "class": {"name": made.label.name, "labels": list(made.labels)},
        "attributes": [{"name": column.name, "values": column.inputs} for column in made.attributes],
    }  # fmt: skip
    mechanism = "random bits mixed into every bit, in the share that the guidance needs"
    if share is not None:
        mechanism = "{random_share:least_up} of reports are about a random tuple"
    rows = [
        *[("mechanism", [mechanism])] * (made.guarantee is not None),
        ("attributes", ["{names:some}; {width:#bit} in total"]),
        ("raw", ["the class {class[name]}: {class[labels]:some}"]),
        ("guidance", [
            "directions in which classes differ by more than {mu:given} of the largest difference",
            "new after every {batch:#report}, {guidances:#time} in {reports:#report}",
        ]),
    ]  # fmt: skip
    first = Facts([("plan", ["{plan_id}", "a report has {report_bytes:#byte}"])])
    names = {"names": [column.name for column in made.attributes]}
    return Record(content, [first, guarantee_facts(content), Facts(rows, names)])


# ---- the miner


def started(state: "MinerState", output: Path, path: Path, *, is_of_table: bool) -> Record:
    """Return a new state; with ``is_of_table`` its plan publishes values of a table."""
    made = state.plan
    content = guarantee_content(made) | {
        "attributes": len(made.attributes),
        "width": made.width,
        "classes": dict(zip(made.labels, state.started.tolist(), strict=True)),
    }
    rows = [
        ("columns", ["{attributes:#attribute}, {width:#column} of bits"]),
        ("tuples", ["known at the start: {classes:each}" if state.started.any() else "none known at the start"]),
        *guarantee_facts(content).rows,
        ("plan", ["{output}"]),
        ("state", ["{path}"]),
    ]
    public = (
        "{output} will publish the table's classes, and categories and cut points of {attributes:#column}; check it "
        "before publication, or take them from a schema instead (--schema, schema=)"
    )
    notes = [Say(public, {"output": output})] * is_of_table
    return Record(content, [Facts(rows, {"output": output, "path": path})], notes=notes)


def published(state: "MinerState", accuracies: "list[LevelAccuracy]", new: bool, output: Path) -> Record:
    """Return the current guidance, and the estimated accuracy by level."""
    guidance = state.guidance
    assert guidance is not None
    content = fields(state.plan, "plan_id width batch") | fields(guidance, "serial level")
    content |= {"new": new, "received": state.tuples, "amplification": plain(state.amplification_bound)}
    content["level_accuracy"] = [fields(each) for each in accuracies]
    rows = [
        ("guidance", ["{serial}" + ", unchanged until {batch:#tuple} have arrived since" * (not new)]),
        ("level", ["{level} of {width}"]),
        ("γ", ["unbounded" if state.amplification_bound is None else "≤ {amplification:up}"]),
        ("received", ["{received:#tuple}"]),
        ("written", ["{output}"]),
    ]
    columns = [
        Column("level", "{name}", "text"), Column("accuracy", "{accuracy:.1%}"),
        Column("standard error", "{std_error:.1%}"),
    ]  # fmt: skip
    levels = [each | {"name": f"{each['level'] or 'now'}"} for each in content["level_accuracy"]]
    title = "Estimated accuracy of naive Bayes now, and at each level once the same number of people responds again"
    accuracy = [Section(title, [Table(columns, levels)])] * bool(levels)
    return Record(content, [Facts(rows, {"output": output}), *accuracy])


def collected(state: "MinerState") -> Record:
    """Return the counts of collected tuples."""
    content = {
        "plan_id": state.plan.plan_id,
        "received": state.tuples,
        "classes": dict(zip(state.plan.labels, state.received.tolist(), strict=True)),
        "due": state.is_due,
        "left": max(state.published_at + state.plan.batch - state.tuples, 0),
    }
    then = "new guidance is due" if state.is_due else "new guidance after {left:#further tuple}"
    return Record(content, [Facts([("received", ["{received:#tuple}: {classes:each}"]), ("next", [then])])])


# ---- responses


def answered(done: "ResponseCounts", plan: "GuidedPlan", output: Path) -> Record:
    """Return the counts of responses, and of missing and clipped values."""
    sent = {"plan_id": plan.plan_id, "sent": done.records, "queued": 0, "report_bytes": plan.report_bytes}
    written = (
        "{sent:#report} of {report_bytes:#byte} written to {output}: responses to guidance {serial}, level {level}"
    )
    more = {
        "missing values, drawn uniformly: {missing:each}": done.missing,
        "{clipped:#bit} had a probability above 1, reduced to 1": done.clipped,
        "the queue is empty, and its key is deleted": done.from_queue,
        "no γ: {unbounded}": plan.amplification is None,
    }
    given = {"output": output, "unbounded": plan.unbounded}
    lines = [Say(line, given) for line in (written, *(line for line, applies in more.items() if applies))]
    return Record(sent | fields(done, "serial level clipped missing from_queue"), lines)


def queued(count: int, plan: "GuidedPlan", folder: Path, reason: str) -> Record:
    """Return the number of queued records, with folder and reason."""
    content = {"plan_id": plan.plan_id, "sent": 0, "queued": count}
    line = "{queued:#record} queued in {folder}, encrypted; nothing was sent: {reason}"
    return Record(content, [Say(line, {"folder": folder, "reason": reason})])


# ---- trials


def simulated(trial: Trial) -> Record:
    """Return a trial of every level."""
    levels, wanted = trial.levels, [each.level for each in trial.levels if each.share <= trial.plan.mu]
    content = fields(trial.plan, "plan_id width") | fields(trial, "request people held_out original_accuracy majority")
    content |= {
        "mu": float(trial.plan.mu),
        "wanted_level": wanted[0] if wanted else trial.plan.width,
        "levels": [fields(each) for each in levels],
    }
    whole = next((place for place, each in enumerate(levels, 1) if each.disclosure == RoundMean(1, 0)), len(levels))
    information = "{information[low]:.1%}"
    if any(each.information.low < each.information.high for each in levels):
        information = "{information[low]:.0%}–{information[high]:.0%}"
    columns = [
        Column("level", "{level}"), Column("μ", "{share:.1%}"),
        Column("disclosure", "{disclosure[mean]:.1%} ± {disclosure[std_error]:.1%}"),
        Column("bound", "{disclosure_bound:.1%}"), Column("information", information),
        Column("accuracy", "{accuracy[mean]:.1%} ± {accuracy[std_error]:.1%}"),
        Column("estimate", "{estimate[mean]:.1%}"),
    ]  # fmt: skip
    higher: list[Part] = ["higher levels also disclose everything"] if whole < len(levels) else []
    parts: list[Part] = [
        "{people:#} people respond, {held_out:#} are held out for testing; {request[rounds]:#round} of "
        "{request[classifier]}",
        "accuracy on raw tuples {original_accuracy[mean]:.1%} ± {original_accuracy[std_error]:.1%}; of the most "
        "frequent class {majority[mean]:.1%}",
        "at the plan's μ of {mu:given} a miner who knew all tuples would request level {wanted_level}",
        Section("", [Table(columns, content["levels"][:whole]), *higher]),
        Section("", _LEGEND),
    ]
    return Record(content, parts)
