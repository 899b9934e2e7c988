"""Promises in words; every figure errs against us.

What a plan of any kind promises, for who plans, for who answers, and on a page to sign; promises to choose from, with
what each costs; and all that a plan's γ proves about privacy, or that several plans prove together.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from assocpriv.planning import baskets
from assocpriv.planning.discovery import DEFAULT_PRIORS, Budget, Privacy, Together
from assocpriv.planning.expected import USUAL_MEAN
from assocpriv.plans.catalogue import itemsets_of
from assocpriv.promise.breaches import (
    LARGEST_DENOMINATOR,
    epsilon,
    float_up,
    highest_posterior,
    parse_probability,
    round_up,
)
from assocpriv.show.figures import fields, finite, plain, written
from assocpriv.show.record import Column, Facts, Page, Part, Record, Say, Section, Table, write

if TYPE_CHECKING:
    from assocpriv.plans.published import PublishedPlan

LEVEL = "level_discoverable_support"
_BELIEFS = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 2))
_BECOMES = ("1 in 100", "1 in 20", "1 in 2")
_PROMISE = Column("promise", "{prior:from} → {posterior:to}", "text")
_INSTEAD = (
    "Promise less per report: a promise for all R reports (`plan --reports-per-person R`), a smaller ε, or other "
    "people each time."
)
_SMALLER = (
    "To tell less: a smaller ε for each plan, or other people for each. A device keeps a limit over all plans "
    "(`report --prior --posterior`)."
)
_USELESS = 99**2  # γ with which a belief of 1% may become 99%


# ---- in words


def promise_content(plan: "PublishedPlan") -> dict[str, Any]:
    """Return what a plan of any kind promises, as JSON content; figures are exact, or err against us."""
    plan.check_central()
    promise, gamma, together = plan.promise, plan.amplification, plan.composed_amplification
    if together is not None and plan.reports_per_person > 1:
        together = round_up(together, LARGEST_DENOMINATOR)  # the exact one of many reports has a million digits
    highest = promise and together and highest_posterior(promise.prior, together)
    return (
        fields(plan, "plan_id promise amplification reports_per_person report_bytes uncovered")
        | {
            "plan_kind": plan.kind,
            "highest_posterior": plain(highest),
            "amplification_limit": promise and plain(promise.amplification_limit),
            "epsilon": gamma and epsilon(gamma),
            "composed_amplification": plain(together),
            "composed_epsilon": together and epsilon(together),
            "unbounded": plan.unbounded if gamma is None else None,
        }
        | ({"central": plan.central.to_json()} if plan.central else {})
    )


def promise_facts(content: Mapping[str, Any]) -> Facts:
    """Return what :func:`promise_content` says, for who plans: beliefs, γ and ε, and what lies outside."""
    if content["amplification"] is None:
        return Facts([("no γ", ["{unbounded}"])])
    if content["promise"] is None:
        return Facts([("promise", [f"{_FIGURES} for one report"])])
    several, outside = content["reports_per_person"] > 1, content["uncovered"]
    who = "all {reports_per_person:#report} of a person together lift no" if several else "no report lifts a"
    limit, told = (
        written(Fraction(content[name]), 6, up=True) for name in ("amplification_limit", "composed_amplification")
    )
    figure = "γ < {amplification_limit:up}" if told == limit else "γ ≤ {composed_amplification:up}"  # ε is ln of it
    lines = [
        f"{who} belief from {{promise[prior]:from}} to {{promise[posterior]:to}}, whatever the data: "
        f"{becomes(content)}",
        figure + ", ε = ln γ ≤ {composed_epsilon:up}" + " of all together" * several,
        *[f"one report alone: {_FIGURES}"] * several,
    ]
    if Fraction(content["amplification"]) == 1:
        lines.append("γ is 1: such reports tell nothing, for each is as likely whatever the data")
    left = (
        [("outside γ", ["{uncovered}: nothing bounds what a report tells of this, nor what this tells of the rest"])]
        if outside
        else []
    )
    if content.get("central"):
        return Facts([("promise", [*_central(content), "alone, or where they do:", *lines]), *left])
    return Facts([("promise", lines), *left])


def _central(content: Mapping[str, Any]) -> list[str]:
    """Say the central promise, and on what it rests; nothing of a plan that has none."""
    if not content.get("central"):
        return []
    times = written(Fraction(math.nextafter(math.exp(Fraction(content["central"]["epsilon"])), math.inf)), 4, up=True)
    return [
        "Whoever reads the sealed reports: ε = {central[epsilon]:up} and δ = {central[delta]:up}, whatever else is "
        "known, as long as relay and collector do not work together. If they do: {promise[prior]:from} → "
        "{promise[posterior]:to}.",
        "That is differential privacy of all that one person sends. Whatever the reports show together is at most e^ε "
        f"times, {times} times, as likely with what one person sends as with anything else they could send, except in "
        "a case whose chance is δ, {central[delta]:chance}, and which nothing bounds.",
        "It is proved for {central[reports]:#report} or more together, {central[helping]:to} of them of people who "
        "help the reader. Fewer are not sealed, mined or shown.",
    ]


_FIGURES = "γ ≤ {amplification:up}, ε ≤ {epsilon:up}"


def becomes(content: Mapping[str, Any]) -> str:
    """Say what the prior becomes at most; where rounding up reaches the promise's posterior, that it stays below."""
    after, promised = Fraction(content["highest_posterior"]), Fraction(content["promise"]["posterior"])
    if after < promised and write(after, "to") == write(promised, "to"):
        return "{promise[prior]:from} stays below {promise[posterior]:to}"
    return "{promise[prior]:from} becomes at most {highest_posterior:to}"


def promise_sentences(plan: "PublishedPlan") -> list[Part]:
    """Say what a plan promises, for who answers, and what lies outside it."""
    said = _sentences(plan)
    if plan.amplification is not None:
        said.append("A person sends {reports_per_person:#report} at most.")
    if plan.uncovered:
        said.append("Outside the promise: {uncovered}.")
    return [Page([Record(promise_content(plan), said)])]


def _sentences(plan: "PublishedPlan") -> list[Part]:
    if plan.amplification is None:
        return ["No γ is stated: {unbounded}."]
    central: list[Part] = list(_central({"central": plan.central and plan.central.to_json()}))
    seen = "everything that you send" if plan.reports_per_person > 1 else "your report"
    knows, other = ("knows what the promise does not cover, ", "else ") if plan.uncovered else ("", "")
    believed = "If relay and collector do work together, somebody" if plan.central else "Somebody"
    believed += (
        f" who {knows}is {{promise[prior]:from}} sure of something {other}about you, and then sees {seen}, stays "
        "less than {promise[posterior]:to} sure, whatever it is and whatever else is known."
    )
    return [*central, *([believed] if plan.promise else []), f"In figures, for each report: {_FIGURES}."]


def privacy_sections(plan: "PublishedPlan | None", plan_id: str, what: str = "basket") -> list[Part]:
    """Return what a page says of the promise, and of whether it may be published."""
    bound = "; the plan (`--plan plan.json`) says what bounds that"
    promise: list[Part] = ["The plan says what is promised: make the page with it (`--plan plan.json`)."]
    if plan is not None:
        promise = promise_sentences(plan)
        bound = "; but no promise bounds that" if plan.amplification is None else ", and the promise bounds that"
        bound += ", but for what lies outside it" if plan.uncovered else ""
    promise += [Say("Plan `{plan}`", {"plan": plan_id}, "hint")] * bool(plan_id)
    publish = (
        f"This page was computed from reports alone, so it tells no more of a person than the report did{bound}. It "
        f"holds no report and no {what}. Whether what it says of all together is a secret of yours is for you to judge."
    )
    return [
        Section("Is this promise good enough for my people?", promise, "promise", aside=True),
        Section("May I publish this?", [publish], "publish", aside=True),
    ]


def promised(plan: "PublishedPlan") -> Record:
    """Return what a plan of any kind promises, for who answers: what it shows of itself."""
    said = Say("A report has {report_bytes:#byte}. Plan of the kind {plan_kind}: `{plan_id}`", kind="hint")
    return Record(promise_content(plan), [*promise_sentences(plan), said], "What the plan promises")


# ---- a page to sign


def to_sign(plan: "PublishedPlan") -> Record:
    """Return one page for whoever signs for a plan of any kind: its promise, what it asks, and what lies outside."""
    content = promise_content(plan)
    content["asks"] = [{"share": float(share), "asks": asks} for share, asks in plan.asks]
    bounded, several, outside = plan.amplification is not None, plan.reports_per_person > 1, bool(plan.uncovered)
    changed = "what the promise covers" if outside else "each answer"
    changes = f"The device changes {changed} by chance before it sends it. " * bounded
    together = "; the promise is for all of them together" * (bounded and several)
    more = "also of another plan, tells more" + ": γ multiplies" * bounded
    against = "The promise holds without one, against the server itself. It" if bounded else "What is said here"
    hidden = f"No shuffler hides who sent which report. {against}"
    if plan.central:
        hidden = (
            "Relay and collector must not be the same company, nor give each other what they see. Whoever sees when a "
            "device sends and when a report arrives may link the two. Who answers from two devices counts as two, "
            "and is promised this for each. Either promise"
        )
    *said, figures = _sentences(plan)
    lines = [Column(title, "_" * 24, "text") for title in ("Name and role", "Date", "Signature")]
    parts = [
        Section("The promise", [*said, *_chances(plan, content), figures], "promise"),
        Section("What is asked", [
            Table([Column("of the people", "{share:given}"), Column("what", "{asks}", "name")], content["asks"]),
            f"{changes}Every report has {{report_bytes:#byte}}.",
        ], "asked"),
        Section("How many reports", [
            f"A person sends {{reports_per_person:#report}} at most, for life{together}. Each further report, {more}. "
            "What was told does not wear off, and deleting a report takes nothing back. The device's ledger counts, "
            "and refuses further reports. A ledger that was deleted, a browser that forgot and a second device begin "
            "anew: who has two tells twice as much, and nothing here notices.",
            "What your reports can have told by now: `assocpriv report --ledger L --told` says it on your device.",
            "You can stop at any time. What was sent stays told.",
        ], "reports"),
        Section("What lies outside", [
            *["Nothing bounds what a report tells of this, nor what this tells of the rest: {uncovered}."] * outside,
            f"The network and the {'relay' if plan.central else 'server'} see that a person takes part, when, and from "
            "which address. Keep no log of it.",
            "What all reports show together may tell something of everybody, also of those who sent none. They are "
            "collected for that.",
            f"{hidden} needs the published client, on a device that keeps its data to itself.",
        ], "outside"),
        Section("Signed", [
            "I hold this to be good enough for the data of the collection _________________________, whose plan is "
            "`{plan_id}`.",
            Table(lines, [{}]),
        ], "signed"),
    ]  # fmt: skip
    return Record(content, [Page(parts)], "What this collection promises")


def _chances(plan: "PublishedPlan", content: dict[str, Any]) -> list[Part]:
    """Say what a promise lets other beliefs become, in percent as the promise's own."""
    if plan.promise is None:
        return []
    content["beliefs"] = _beliefs(plan.promise.amplification_limit)
    after = "all {reports_per_person:#report}" if plan.reports_per_person > 1 else "your report"
    told = [
        f"whoever was {{beliefs[{n}][prior]:from}} sure is less than {{beliefs[{n}][highest_posterior]:to}} sure"
        for n, prior in enumerate(_BELIEFS)
        if prior != plan.promise.prior
    ]
    return [f"In the same way, after {after}, {' and '.join(told)}."]


def _beliefs(limit: Fraction) -> list[dict[str, str]]:
    """Return what usual beliefs become at most where γ stays below a limit."""
    return [{"prior": plain(prior), "highest_posterior": plain(highest_posterior(prior, limit))} for prior in _BELIEFS]


# ---- promises and their costs


def explained(explained: baskets.WorkedPromises) -> Record:
    """Return promises from strict to lenient, or a plan's own, in words that people can accept, and what each costs."""
    plan = explained.plan
    items = plan.n_items if plan else baskets.ITEMS
    content: dict[str, Any] = {
        "plan_id": plan and plan.plan_id,
        "items": items,
        "mean_size": min(USUAL_MEAN, items / 2),
        "reports_per_person": plan.reports_per_person if plan else 1,
        "promises": [
            fields(each.promise, "prior posterior amplification_limit") | {
                "epsilon": epsilon(each.promise.amplification_limit),
                "verdict": each.verdict,
                "beliefs": _beliefs(each.promise.amplification_limit),
                LEVEL: {str(reports): finite(levels) for reports, levels in each.levels.items()},
            }
            for each in explained.promises
        ],
    }  # fmt: skip
    if plan and plan.central:
        content |= {name: said for name, said in promise_content(plan).items() if name in ("central", "promise")}
    several = content["reports_per_person"] > 1
    what = "all {reports_per_person:#report} of a person together" if several else "one report"
    reads = "{promises[0][beliefs][0][highest_posterior]:chance}" if plan else "as the column of 1 in 100 says"
    shown = Table(
        [
            _PROMISE, Column("γ <", "{amplification_limit:up}"), Column("ε <", "{epsilon:up}"),
            *(Column(f"{chance} becomes", f"{{beliefs[{n}][highest_posterior]:chance}}")
              for n, chance in enumerate(_BECOMES)),
            Column("judged", "{verdict}", "name"),
        ], content["promises"], "What a belief becomes at most" + ", if they do" * ("central" in content) + ":",
    )  # fmt: skip
    parts: list[Part] = [
        f"A promise bounds what {what} can do to a belief about the sender, whatever the data are and whatever else is "
        f"known. It is one number, γ: no basket makes {'them' if several else 'a report'} γ times as likely as another "
        "basket does. ε is ln γ.",
        Section("", [
            *["plan {plan_id:id}"] * (plan is not None),
            *_central(content),
            shown,
            'Tell those who will report: whoever thinks "1 in 100 that you buy X" thinks, after '
            f"{'all {reports_per_person:#report}' if several else 'your report'}, at most {reads}.",
        ]),
        Section("", [_costs(content)]),
        Section("", [
            "To choose: take the strictest promise whose cost you can pay. `assocpriv plan --find 1%` says how many "
            "reports a promise needs, or which promise so many reports allow.",
        ]),
    ]  # fmt: skip
    return Record(content, parts, "Promises")


def _costs(content: Mapping[str, Any]) -> Table:
    rows = [
        {**each, "of": itemsets_of(int(k)), "levels": {n: levels[k] for n, levels in each[LEVEL].items()}}
        for each in content["promises"]
        for k in sorted(each[LEVEL][str(baskets.PEOPLE[0])])
    ]
    return Table(
        [_PROMISE, Column("all", "{of}", "text"),
         *(Column(f"{people:,} reports", f"{{levels[{people}]:least_up}}") for people in baskets.PEOPLE)],
        rows,
        "What it costs: the support in whole baskets from which all itemsets of a size can be believed (—: none); of "
        "{items:#item} and baskets of {mean_size:g}:",
    )  # fmt: skip


# ---- proofs


def privacy(privacy: Privacy) -> Record:
    """Return what a plan of baskets proves."""
    plan, several, likely, proved = privacy.plan, privacy.together.reports > 1, privacy.information, privacy.central
    content = promise_content(plan) | {
        "one_report": _together(privacy.one),
        "together": _together(privacy.together),
        "information": {"unit": "bits", "mutual_limit": privacy.mutual_limit, "equally_likely": plain(likely)},
        "proved": proved and fields(proved, "epsilon delta reports method") | {"blanket": float(plan.blanket)},
        "influence": plain(privacy.liars),
    }
    shown = {"one report": privacy.one}
    if several:
        shown[f"{privacy.together.reports:,} reports"] = privacy.together
    within = "within" if privacy.together.reports <= plan.reports_per_person else "MORE THAN"
    together = ["Each further report of a person multiplies γ and adds ε: two reports have γ² and 2ε."]
    if several:
        together = [
            "{together[reports]:#report} of a person: γ ≤ {together[amplification]:up}, ε ≤ {together[epsilon]:up}, "
            f"{within} the {{reports_per_person:#}} that the promise covers",
            *([] if within == "within" else [_may_become(privacy.together), _INSTEAD]),
        ]
    parts: list[Part] = [
        Facts([("plan", ["{plan_id}"])]),
        promise_facts(content),
        Facts([
            ("γ", ["no report is more than γ times likelier under one basket than another, whatever else is known"]),
            ("together", together),
        ]),
        _belief_table(shown),
        Facts([
            ("moves", [f"by {title} no belief moves more than {{{name}[largest_rise]:points}}"
                       for title, name in zip(shown, ("one_report", "together"), strict=False)]),
            ("information", _information(content, several=several)),
        ]),
    ]  # fmt: skip
    if proved is not None:
        known = [k for k, liars in privacy.liars.items() if liars]
        moved = ", ".join(f"{itemsets_of(k)} by {{influence[{k}][one_report]:points}}" for k in known)
        parts.append(Facts([
            ("sealed", [
                "ε ≤ {proved[epsilon]:up} at δ = {central[delta]:up} is proved for {proved[reports]:#report}, by γ and "
                "a blanket of {proved[blanket]:.3g} (method: {proved[method]})",
                *["of all {reports_per_person:#report} of a person together"] * (plan.reports_per_person > 1),
            ]),
            ("liars", [f"one crafted report among {{central[reports]:#report}} moves the support of {moved} at most"]),
        ]))  # fmt: skip
    return Record(content, parts, "What the plan proves")


def _together(part: Together) -> dict[str, Any]:
    return {
        **fields(part, "reports amplification epsilon largest_rise log_amplification_bits"),
        "worst_limit": part.information_limit,
        "beliefs": [
            {"prior": plain(row.prior), "highest_posterior": float_up(row.highest),
             "lowest_posterior": -float_up(-row.lowest)}
            for row in part.beliefs
        ],
        "one_in_100_becomes": float_up(highest_posterior(_BELIEFS[0], part.amplification)),
    }  # fmt: skip


def _belief_table(parts: Mapping[str, Together], promised: Mapping[Fraction, str] | None = None) -> Table:
    """Return the table of beliefs, two columns for each part; of exact figures, which are rounded once."""
    rows = [
        {"prior": row[0].prior, "most": [each.highest for each in row], "least": [each.lowest for each in row],
         "whose": (promised or {}).get(row[0].prior, "")}
        for row in zip(*(part.beliefs for part in parts.values()), strict=True)
    ]  # fmt: skip
    columns = [
        column
        for n, name in enumerate(parts)
        for column in (Column(f"{name}: at most", f"{{most[{n}]:to}}"), Column("at least", f"{{least[{n}]:from}}"))
    ]
    whose = [Column("", "{whose}", "text")] if any(row["whose"] for row in rows) else []
    return Table([Column("a belief of", "{prior:from}"), *columns, *whose], rows, "What beliefs become:")


def _may_become(part: Together) -> str:
    """Say what is left beyond what a plan promises."""
    nothing = " Nothing useful is promised." * (part.amplification > _USELESS)
    return f"A belief of 1 in 100 may become {{together[one_in_100_becomes]:chance}}.{nothing}"


def _information(content: Mapping[str, Any], *, several: bool) -> list[str]:
    """Say worst-case and mutual information."""
    part = content["information"]["equally_likely"]
    sign, note = ("", "") if part["exact"] else ("≤ ", " (bounds: the code has too many seeds to go through)")
    told = [
        f"{name} {sign}{{information[equally_likely][{field}]:up}}"
        for name, field in (("WI", "worst"), ("IWI", "inverse_worst"), ("I", "mutual"))
    ]
    return [
        "in bits: WI and IWI of the report that tells most, I on average",
        "of one report, whatever the prior: WI and IWI ≤ {one_report[worst_limit]:up} (log2 γ ≤ "
        "{one_report[log_amplification_bits]:up}), I ≤ {information[mutual_limit]:up}",
        *["of {together[reports]:#report}, whatever the prior: WI and IWI ≤ {together[worst_limit]:up}"] * several,
        "of one, all transactions of {information[equally_likely][basket_size]:#item} being equally likely: "
        f"{', '.join(told)}{note}",
    ]


# ---- several plans


def budget(budget: Budget, names: Mapping[str, str]) -> Record:
    """Return what one person's answers to several plans tell, each plan under a name, given by its id."""
    content: dict[str, Any] = {
        "plans": [
            {
                "name": names[answers.plan.plan_id],
                **fields(answers.plan, "plan_id reports_per_person uncovered"),
                **fields(answers.together, "reports amplification epsilon"),
                "covered": answers.covered,
            }
            for answers in budget.answers
        ],
        "together": _together(budget.together),
    }
    rows = [each | {"covers": "" if each["covered"] else "MORE THAN PROMISED"} for each in content["plans"]]
    columns = [
        Column("plan", "{name:name}", "text"), Column("reports", "{reports:#}"),
        Column("promised for", "{reports_per_person:#}"), Column("γ ≤", "{amplification:up}"),
        Column("ε ≤", "{epsilon:up}"), Column("", "{covers}", "text"),
    ]  # fmt: skip
    outside = [
        Record(each, ["outside γ of {name}, and so not counted here: {uncovered}"])
        for each in content["plans"]
        if each["uncovered"]
    ]
    parts: list[Part] = [
        Table(columns, rows, "A plan's promise is for its own reports alone:"),
        *outside,
        Facts([("together", [
            "{together[reports]:#report} of a person: γ ≤ {together[amplification]:up}, ε ≤ {together[epsilon]:up}",
            _may_become(budget.together), _SMALLER,
        ])]),
        _belief_table({f"{budget.together.reports:,} reports": budget.together}, _posteriors(budget, names)),
        Facts([("moves", ["no belief moves more than {together[largest_rise]:points}"])]),
    ]  # fmt: skip
    return Record(content, parts, "What several plans prove together")


def _posteriors(budget: Budget, names: Mapping[str, str]) -> dict[Fraction, str]:
    """Return whose promise's posterior a belief is, where it is no usual one."""
    usual, found = {parse_probability(prior, "prior") for prior in DEFAULT_PRIORS}, dict[Fraction, str]()
    for answers in budget.answers:
        name = names[answers.plan.plan_id]
        if answers.plan.promise and (belief := answers.plan.promise.posterior) not in usual:
            found[belief] = f"{found[belief]}, {name}" if belief in found else f"posterior of {name}"
    return found
