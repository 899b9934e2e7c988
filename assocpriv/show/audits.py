"""What a trial, an inspection or an audit came to, as records.

Trials run both sides on data at hand: a simulation, and a demo before and after it ran. An inspection says what a file
holds and whether its reports may be crafted. An audit has findings.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from assocpriv.auditing.findings import BROKEN, CANNOT_SEE, UNDECIDED, count_undecided
from assocpriv.auditing.inspection import ITEMSETS, MODEL, PLAN, REPORTS, FileContent
from assocpriv.plans.kind import load_for
from assocpriv.promise.breaches import epsilon
from assocpriv.server.itemsets import describe_limits, mining_facts
from assocpriv.show import itemsets, plans, tables
from assocpriv.show.collections import loss_content, loss_parts, randomized
from assocpriv.show.figures import fields
from assocpriv.show.record import Column, Part, Record, Say, Section, Table, more

if TYPE_CHECKING:
    from assocpriv.auditing.audit import Audit
    from assocpriv.plans.published import PublishedPlan
    from assocpriv.server.crafted import CraftedCheck
    from assocpriv.simulation.demo import Demo, DemoStart
    from assocpriv.simulation.simulate import Simulation

_ROWS = 20
_CLIENTS = {
    "both": "our clients for many people (bulk) and for one (single)",
    "bulk": "our client for many people (bulk)",
    "single": "our client for one person (single)",
    "program": "the program given",
}


# ---- trials


def tried(done: Any, plan: "PublishedPlan") -> Record:
    """Return what :func:`assocpriv.simulate` found with a plan of any kind.

    Raises:
        PlanError: trials of plans of its kind cannot be shown here.
    """
    found: Record = load_for(plan.kind, "show.simulated", "shown")(done)
    return found


def simulated(result: "Simulation", top: int = 50) -> Record:
    """Return a simulation: what was found beside the truth, what was missed, the score and the times."""
    mined = itemsets.mined(result.itemsets, top)
    plan: Any = result.reports.plan
    read = Record({}) if result.read is None else randomized(result.read, plan, "")
    missed = [
        {"itemset": sorted(row["itemsets"]), "true_support": row["true_support"]}
        for row in result.missed.to_dict("records")
    ]
    counts = fields(result, "found_count missed_count false_count sampled_baskets seconds")
    frequent = result.found_count + result.missed_count
    content = {**read.content, **mined.content, "missed": missed, **counts, "frequent_count": frequent}
    score = (
        "of {frequent_count:#itemset} truly frequent: {found_count:#} listed, {missed_count:#} missed; {false_count:#} "
        "listed that are below the minimum support"
    )
    columns = [Column("true", "{true_support:.3%}"), Column("missed", "{itemset:names}", "name")]
    lost = [Table(columns, missed[:top]), *more(len(missed) - top)] if missed else []
    parts: list[Part] = [*mined.parts, *lost, score, _times(result.seconds)]
    if result.read is not None and len(result.reports) != result.read.reported:
        content["people_drawn"] = len(result.reports)
        parts.append(
            "{people_drawn:#} people answered, each with one of {baskets:#basket} drawn at random; what few of these "
            "hold remains chance"
        )
    return replace(mined, content=content, parts=parts, notes=read.notes)


def _times(seconds: Iterable[str]) -> str:
    return "time: " + ", ".join(f"{stage} {{seconds[{stage}]:.2f}} s" for stage in seconds)


def demo_start(start: "DemoStart") -> Record:
    """Return a demo's baskets and its plan."""
    raw, plan = start.baskets, plans.plan(start.prospects)
    said = "{baskets:#} baskets over {items:#} items, {mean_size:.2f} items on average"
    content: dict[str, Any] = {"baskets": len(raw), "items": len(raw.catalogue), "mean_size": float(raw.sizes.mean())}
    content |= {"plan": plan.to_json(), **loss_content(start.loss)}
    return Record(content, [said, plan, *loss_parts(start.loss)])


def demo(done: "Demo", top: int) -> Record:
    """Return what a demo found: the simulation, rules beside the truth, the times and the files."""
    start, rules = demo_start(done.start), itemsets.rules(done.rules, top=top)
    found = simulated(done.simulation, top)
    files = [str(path) for path in done.start.paths]
    limits = describe_limits(mining_facts(done.simulation.itemsets))
    listed = Say("files: {names}", {"names": ", ".join(files)})
    shown: list[list[Part]] = [[*found.parts[:-1], *limits], [rules], [_times(done.seconds), listed]]
    content = {**start.content, **found.content, "seconds": done.seconds, "rule_list": rules.content, "files": files}
    parts = [Section("", each) for each in shown]
    return replace(found, content=content, parts=parts, more=lambda: {**found.more(), **rules.more()})


# ---- inspections


def inspected(content: FileContent, reports: int) -> Record:
    """Return what a file holds; a plan for so many reports."""
    found: Record = _INSPECTED[content.kind](content, reports)
    return replace(found, content={"kind": content.kind, **found.content})


def _reports(content: FileContent, _planned: int) -> Record:
    plan = plans.described(content.plan, max(content.reports, 1))
    title = "{reports:#report}" + " in {files:#file}" * (content.files > 0 or not content.unsealed)
    title += ", {unsealed:#} of them not sealed yet" * (content.unsealed > 0) + ", each whole and as its plan says"
    found = Record({**plan.content, **fields(content, "reports files unsealed")}, [title, plan], more=plan.more)
    if content.crafted is None:
        return found
    tested = crafted(crafted_content(content.crafted))
    return replace(found, content={**found.content, "crafted": tested.content}, parts=[*found.parts, tested])


def _itemsets(content: FileContent, _planned: int) -> Record:
    assert content.table is not None
    mined = itemsets.mined(content.table, _ROWS)
    ids = ", ".join(f"{{plan_ids[{place}]:id}}" for place in range(len(mined.content["plan_ids"])))
    title = Say(f"{{rows:#itemset}} mined with plan {ids}", {"rows": len(content.table)})
    return replace(mined, parts=[title, *mined.parts])


def _model(content: FileContent, _planned: int) -> Record:
    assert content.model is not None
    tree: Record = tables.tree(content.model)
    title = "a decision tree, grown {method}" + " on reports of plan {plan_id:id}" * bool(tree.content["plan_id"])
    return replace(tree, parts=[title, *tree.parts])


_INSPECTED = {
    PLAN: lambda content, reports: plans.described(content.plan, reports),
    REPORTS: _reports,
    ITEMSETS: _itemsets,
    MODEL: _model,
}


def crafted_content(check: "CraftedCheck") -> dict[str, Any]:
    """Return what the tests for crafted reports say as JSON content."""
    tests = [{"name": test.name, "seen": test.said, **fields(test, "p_value flagged")} for test in check.tests]
    return {"flagged": check.flagged, "false_alarm": check.level, "tests": tests}


def crafted(content: Mapping[str, Any]) -> Record:
    """Return what the tests for crafted reports say."""
    verdict = "nothing speaks against these reports, which proves nothing: false baskets cannot be told"
    if content["flagged"]:
        verdict = "some of these reports are hardly honest"
    columns = [
        Column("p ≤", "{p_value:.2g}"), Column("", "{mark}", "text"),
        Column("test for crafted reports", "{name}: {seen}", "name"),
    ]  # fmt: skip
    table = Table(columns, [test | {"mark": "!" * test["flagged"]} for test in content["tests"]])
    said = f"{verdict}; a false alarm has a chance of at most {{false_alarm:given}}"
    return Record(content, [Say(said, kind="wrong" * content["flagged"]), table])


# ---- audits


def audit(done: "Audit", most: int = 15) -> Record:
    """Return an audit: the verdict and on what, and so many findings at most, the broken ones first."""
    findings = [fields(each) | {"client": each.client or None} for each in done.findings]
    plan, request = done.plan, done.request.to_json()
    gamma = plan and plan.amplification
    content = {
        "plan_id": plan and plan.plan_id,
        "verdict": done.verdict,
        "not_decided": count_undecided(done.findings),
        "cannot_see": list(CANNOT_SEE),
        "epsilon": gamma and epsilon(gamma),
        **request,
        "false_alarm": float(1 - Fraction(request["confidence"])),
        "findings": findings,
    }
    # undecided ones are told, so that no check that was not made hides behind the verdict
    shown = sorted(findings, key=lambda each: (each["verdict"] != BROKEN, each["verdict"] != UNDECIDED))
    columns = [Column(name, f"{{{name}}}", "text") for name in ("verdict", "check", "client")]
    columns.append(Column("found", "{name}: {said}", "text"))
    how = f"{_CLIENTS[request['client']]}; {{trials:#report}} asked for at most, "
    how += "a false alarm with a chance of at most {false_alarm:given}"
    parts: list[Part] = [_verdict(content), how, "cannot see: " + "; ".join(CANNOT_SEE)]
    return Record(content, [*parts, Table(columns, shown[:most]), *more(len(shown) - most)], "Audit")


def _verdict(content: dict[str, Any]) -> Say:
    """Name the plan by its whole id: an officer compares it with another."""
    said = "{verdict}" + ", {not_decided:#check} not made" * (content["not_decided"] > 0)
    if content["plan_id"] is None:
        return Say(f"{said}: no usable plan", kind="answer")
    bound = "no γ stated" if content["epsilon"] is None else "ε ≤ {epsilon:up} for one report"
    return Say(f"{said}: plan {{plan_id}}, {bound}", kind="answer")
