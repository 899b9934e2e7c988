"""Results of simulations, inspections and audits, as records.

A simulation runs clients and server on given data; a demo also makes a plan and rules. An inspection describes a file
and tests its reports for manipulation. An audit has findings.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from assocpriv.auditing.findings import BROKEN, CANNOT_SEE, CANNOT_SEE_OF_RELEASES, UNDECIDED, count_undecided
from assocpriv.auditing.inspection import ITEMSETS, MODEL, PLAN, RELEASE, REPORTS, FileContent
from assocpriv.files.mined_tables import describe_limits, mining_facts
from assocpriv.files.releases import Release
from assocpriv.guarantees.amplification import epsilon_from_amplification
from assocpriv.planning.operator_designs import DEFAULT_REPORTS
from assocpriv.plans.registry import Entry
from assocpriv.show import itemset_views, plan_views, release_views, table_views
from assocpriv.show.collection_views import losses, randomized
from assocpriv.show.number_format import fields
from assocpriv.show.result_record import Column, Part, Record, Say, Section, Table, more

if TYPE_CHECKING:
    from assocpriv.auditing.audit import Audit
    from assocpriv.plans.published_plan import PublishedPlan
    from assocpriv.server.baskets.manipulation import ManipulationCheck
    from assocpriv.simulation.basket_simulation import Demo, DemoStart, Simulation

_SHOW_SIMULATION: Entry[Callable[[Any], Record]] = Entry("show_simulation", "shown")
_ROWS = 20
_CLIENTS = {
    "both": "our clients for many records (bulk) and for one (single)",
    "bulk": "our client for many records (bulk)",
    "single": "our client for one record (single)",
    "program": "the given program",
}


# ---- simulations


def simulation(done: Any, plan: "PublishedPlan") -> Record:
    """Return the result of :func:`assocpriv.simulate` for a plan of any type.

    Raises:
        PlanError: simulations of this plan type cannot be shown.
    """
    return _SHOW_SIMULATION.of(plan.kind)(done)


def simulated(result: "Simulation", top: int = 50) -> Record:
    """Return a simulation: selected itemsets with true supports, missed itemsets, counts and times."""
    mined = itemset_views.mined(result.itemsets, top)
    plan: Any = result.reports.plan
    cut = None if result.rounds is None else losses(result.rounds.losses)
    read = cut or Record({}) if result.read is None else randomized(result.read, plan, "", cut)
    missed = [
        {"itemset": sorted(row["itemsets"]), "true_support": row["true_support"]}
        for row in result.missed.to_dict("records")
    ]
    counts = fields(result, "found_count missed_count false_count truncated_baskets seconds")
    frequent = result.found_count + result.missed_count
    content = {**read.content, **mined.content, "missed": missed, **counts, "frequent_count": frequent}
    score = (
        "{frequent_count:#itemset} truly frequent: {found_count:#} selected, {missed_count:#} missed; {false_count:#} "
        "selected below the minimum support"
    )
    columns = [Column("true support", "{true_support:.3%}"), Column("missed itemset", "{itemset:names}", "name")]
    lost = [Table(columns, missed[:top]), *more(len(missed) - top)] if missed else []
    parts: list[Part] = [*mined.parts, *lost, score, _times(result.seconds)]
    if result.rounds is not None:
        following = result.rounds.next_round
        content["rounds"] = {
            "first": len(result.reports), "second": len(result.rounds.second), "items": following.plan.n_items,
            **fields(following, "mean_size share held"),
        }  # fmt: skip
        parts.append(
            "round 1: {rounds[first]:#report} about single items, {rounds[mean_size]:.3g} a basket on average; round "
            "2: {rounds[second]:#report} about the {rounds[items]:#} likeliest, with {rounds[share]:.0%} of purchases"
        )
    if result.read is not None and result.people != result.read.reported:
        content["people_drawn"] = result.people
        parts.append(
            "{people_drawn:#} simulated people, each with one of {baskets:#basket} drawn at random; supports of rare "
            "items vary with this draw"
        )
    return replace(mined, content=content, parts=parts, notes=read.notes)


def _times(seconds: Iterable[str]) -> str:
    return "time: " + ", ".join(f"{stage} {{seconds[{stage}]:.2f}} s" for stage in seconds)


def demo_start(start: "DemoStart") -> Record:
    """Return a demo's baskets and its plan."""
    raw, plan = start.baskets, plan_views.plan(start.prospects)
    title = "{baskets:#} baskets over {items:#} items, {mean_size:.2f} items on average"
    content: dict[str, Any] = {"baskets": len(raw), "items": len(raw.catalogue), "mean_size": float(raw.sizes.mean())}
    return Record(content | {"plan": plan.to_json()}, [title, plan])


def demo(done: "Demo", top: int) -> Record:
    """Return a demo: the simulation, rules with true confidences, the times and the files."""
    start, rules = demo_start(done.start), itemset_views.rules(done.rules, top=top)
    found = simulated(done.simulation, top)
    files = [str(path) for path in done.start.paths]
    limits = describe_limits(mining_facts(done.simulation.itemsets))
    written = Say("files: {names}", {"names": ", ".join(files)})
    shown: list[list[Part]] = [[*found.parts[:-1], *limits], [rules], [_times(done.seconds), written]]
    content = {**start.content, **found.content, "seconds": done.seconds, "rule_list": rules.content, "files": files}
    parts = [Section("", each) for each in shown]
    return replace(found, content=content, parts=parts, more=lambda: {**found.more(), **rules.more()})


# ---- inspections


def inspected(content: FileContent, reports: int = DEFAULT_REPORTS) -> Record:
    """Return the content of a file; a plan is described for a number of reports."""
    found: Record = _INSPECTED[content.kind](content, reports)  # type: ignore[no-untyped-call]
    return replace(found, content={"kind": content.kind, **found.content})


def _reports(content: FileContent, _planned: int) -> Record:
    plan = plan_views.described(content.plan, max(content.reports, 1))
    title = "{reports:#report}" + " in {files:#file}" * (content.files > 0 or not content.open)
    title += ", {open:#} of them in an open batch" * (content.open > 0) + ", all complete and valid for the plan"
    found = Record({**plan.content, **fields(content, "reports files open")}, [title, plan], more=plan.more)
    if content.manipulation is None:
        return found
    tested = manipulation(manipulation_content(content.manipulation))
    return replace(found, content={**found.content, "manipulation": tested.content}, parts=[*found.parts, tested])


def _itemsets(content: FileContent, _planned: int) -> Record:
    assert content.table is not None
    mined = itemset_views.mined(content.table, _ROWS)
    ids = ", ".join(f"{{plan_ids[{place}]:id}}" for place in range(len(mined.content["plan_ids"])))
    title = Say(f"{{rows:#itemset}} mined with plan {ids}", {"rows": len(content.table)})
    return replace(mined, parts=[title, *mined.parts])


def _model(content: FileContent, _planned: int) -> Record:
    assert content.model is not None
    tree: Record = table_views.tree(content.model)
    title = "a decision tree, grown {method}" + " on reports of plan {plan_id:id}" * bool(tree.content["plan_id"])
    return replace(tree, parts=[title, *tree.parts])


_INSPECTED = {
    PLAN: lambda content, reports: plan_views.described(content.plan, reports),
    REPORTS: _reports,
    ITEMSETS: _itemsets,
    MODEL: _model,
    RELEASE: lambda content, _planned: release_views.released(content.release),
}


def manipulation_content(check: "ManipulationCheck") -> dict[str, Any]:
    """Return the results of the manipulation tests as JSON content."""
    tests = [{"name": test.name, "result": test.observed, **fields(test, "p_value flagged")} for test in check.tests]
    return {"flagged": check.flagged, "false_alarm": check.level, "tests": tests}


def manipulation(content: Mapping[str, Any]) -> Record:
    """Return the results of the manipulation tests."""
    verdict = "no test flags these reports as manipulated; honestly randomized false baskets cannot be detected"
    if content["flagged"]:
        verdict = "some of these reports were probably not made by the plan's clients (marked !)"
    columns = [
        Column("p-value ≤", "{p_value:.2g}"), Column("", "{mark}", "text"),
        Column("test for manipulated reports", "{name}: {result}", "name"),
    ]  # fmt: skip
    table = Table(columns, [test | {"mark": "!" * test["flagged"]} for test in content["tests"]])
    text = f"{verdict}; the false-alarm probability is at most {{false_alarm:given}}"
    return Record(content, [Say(text, kind="wrong" * content["flagged"]), table])


# ---- audits


def audit(done: "Audit", most: int = 15) -> Record:
    """Return an audit: the verdict, and at most ``most`` findings, the broken ones first."""
    findings = [fields(each) | {"client": each.client or None} for each in done.findings]
    plan, request = done.plan, done.request.to_json()
    gamma = None if plan is None or isinstance(plan, Release) else plan.amplification
    content = {
        "plan_id": plan and plan.plan_id,
        "verdict": done.verdict,
        "not_decided": count_undecided(done.findings),
        "cannot_see": list(CANNOT_SEE_OF_RELEASES if isinstance(plan, Release) else CANNOT_SEE),
        "epsilon": float(plan.epsilon) if isinstance(plan, Release) else gamma and epsilon_from_amplification(gamma),
        "delta": float(plan.delta) if isinstance(plan, Release) else None,
        **request,
        "false_alarm": float(1 - Fraction(request["confidence"])),
        "findings": findings,
    }
    # undecided findings come next, so that the verdict does not hide a check that was not made
    shown = sorted(findings, key=lambda each: (each["verdict"] != BROKEN, each["verdict"] != UNDECIDED))
    columns = [Column(name, f"{{{name}}}", "text") for name in ("verdict", "check", "client")]
    columns.append(Column("finding", "{name}: {message}", "text"))
    how = f"{_CLIENTS[request['client']]}; at most {{trials:#report}} per client, "
    if isinstance(plan, Release):
        how = "the file, and the program on this machine that makes releases, on generated baskets; "
    how += "false-alarm probability at most {false_alarm:given}"
    parts: list[Part] = [_verdict(content), how, "an audit cannot see: " + "; ".join(content["cannot_see"])]
    return Record(content, [*parts, Table(columns, shown[:most]), *more(len(shown) - most)], "Audit")


def _verdict(content: dict[str, Any]) -> Say:
    """Return the verdict with the plan's whole id, for comparison."""
    text = "{verdict}" + ", {not_decided:#check} not made" * (content["not_decided"] > 0)
    if content["plan_id"] is None:
        return Say(f"{text}: no usable plan", kind="answer")
    bound = "no γ stated" if content["epsilon"] is None else "ε ≤ {epsilon:up} for one report"
    if content["delta"] is not None:
        return Say(f"{text}: release {{plan_id}}, (ε, δ) = ({{epsilon:g}}, {{delta:g}})", kind="answer")
    return Say(f"{text}: plan {{plan_id}}, {bound}", kind="answer")
