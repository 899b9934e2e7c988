"""Privacy guarantees in words; every figure is rounded against us.

What a plan of any type guarantees, for planners, for participants, and on a page to sign; guarantees to choose from,
with their costs; and what the γ of a plan, or of several plans together, proves.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from assocpriv.guarantees.amplification import (
    LARGEST_DENOMINATOR,
    VERY_WEAK_EPSILON,
    Guarantee,
    epsilon_from_amplification,
    float_up,
    highest_posterior,
    parse_probability,
    round_amplification_up,
)
from assocpriv.planning import basket_planner
from assocpriv.planning.detection_limits import DEFAULT_PRIORS, ComposedGuarantee, ComposedPlans, Privacy
from assocpriv.planning.expected_error import DEFAULT_MEAN
from assocpriv.plans.baskets.catalogue import name_itemsets
from assocpriv.show.number_format import fields, finite, plain, written
from assocpriv.show.result_record import Column, Facts, Page, Part, Record, Say, Section, Table, write

if TYPE_CHECKING:
    from assocpriv.plans.published_plan import PublishedPlan

LEVEL = "detection_threshold"
_PRIORS = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 2))
_BECOMES = ("1 in 100", "1 in 20", "1 in 2")
_GUARANTEE = Column("prior → posterior", "{prior:from} → {posterior:to}", "text")
_INSTEAD = (
    "Spend less budget: a guarantee for all R reports (`plan --reports-per-person R`), a smaller ε, or other people "
    "each time."
)
_SMALLER = (
    "To spend less budget: a smaller ε for each plan, or other people for each. A device keeps a limit over all plans "
    "(`report --prior --posterior`)."
)
_USELESS = 99**2  # γ with which a prior of 1% may become a posterior of 99%


# ---- in words


def guarantee_content(plan: "PublishedPlan") -> dict[str, Any]:
    """Return what a plan of any kind guarantees, as JSON content; figures are exact, or err against us."""
    plan.check_central()
    guarantee, gamma, together = plan.guarantee, plan.amplification, plan.composed_amplification
    if together is not None and plan.reports_per_person > 1:
        together = round_amplification_up(
            together, LARGEST_DENOMINATOR
        )  # the exact one of many reports has a million digits
    highest = guarantee and together and highest_posterior(guarantee.prior, together)
    return (
        fields(plan, "plan_id guarantee amplification reports_per_person report_bytes uncovered")
        | {
            "plan_type": plan.kind,
            "highest_posterior": plain(highest),
            "amplification_limit": guarantee and plain(guarantee.amplification_limit),
            "epsilon": gamma and epsilon_from_amplification(gamma),
            "composed_amplification": plain(together),
            "composed_epsilon": together and epsilon_from_amplification(together),
            "unbounded": plan.unbounded if gamma is None else None,
        }
        | ({"central": plan.central.to_json()} if plan.central else {})
    )


def guarantee_facts(content: Mapping[str, Any]) -> Facts:
    """Return the guarantee of :func:`guarantee_content` for planners: posterior, γ, ε, and what it does not cover."""
    if content["amplification"] is None:
        return Facts([("none", ["{unbounded}"])])
    if content["guarantee"] is None:
        return Facts([("one report", [_figures(content)])])
    several, outside = content["reports_per_person"] > 1, content["uncovered"]
    who = "all {reports_per_person:#report} of a person together raise" if several else "one report raises"
    limit, composed = (
        written(Fraction(content[name]), 6, up=True) for name in ("amplification_limit", "composed_amplification")
    )
    figure = "γ < {amplification_limit:up}" if composed == limit else "γ ≤ {composed_amplification:up}"  # ε is ln of it
    rows = [
        ("posterior", [f"{who} {becomes(content)}, whatever the data and the background knowledge"]),
        (
            "ε",
            ["at most {composed_epsilon:up} (ε = ln γ, amplification " + figure + ", of all together" * several + ")"],
        ),
        *[("one report", [_figures(content)])] * several,
    ]
    if Fraction(content["amplification"]) == 1:
        rows.append(("note", ["γ is 1: reports are independent of the data, so nothing can be estimated"]))
    if not content.get("central") and Guarantee(**content["guarantee"]).epsilon > VERY_WEAK_EPSILON:
        rows.append(("note", ["very weak: with ε above 8 a prior of 1 in 1,000 may reach 3 in 4"]))
    left = (
        [("not covered", ["{uncovered}: the guarantee does not bound what a report discloses of this"])]
        if outside
        else []
    )
    central = [
        ("central DP", _central(content)),
        ("without it", ["each report alone, or if relay and collector collude:"]),
    ]
    return Facts([*(central if content.get("central") else []), *rows, *left])


def _central(content: Mapping[str, Any]) -> list[str]:
    """Return the central guarantee and its conditions; nothing for a plan without one."""
    if not content.get("central"):
        return []
    times = written(Fraction(math.nextafter(math.exp(Fraction(content["central"]["epsilon"])), math.inf)), 4, up=True)
    return [
        "(ε, δ)-DP with ε = {central[epsilon]:up} and δ = {central[delta]:up} against all who read closed batches, as "
        "long as relay and collector do not collude. If they do, the local guarantee remains: {guarantee[prior]:from} "
        "→ {guarantee[posterior]:to}.",
        f"Any set of outcomes of a batch has, with your data, at most e^ε = {times} times the probability that it "
        "has with any other data in place of yours, plus δ ({central[delta]:chance}).",
        "It is proved for batches of {central[reports]:#report} or more, of which {central[colluding]:to} may come "
        "from people who collude with the reader. Smaller batches are not closed, mined or shown.",
    ]


def _figures(content: Mapping[str, Any]) -> str:
    """Return γ and ε of one report; where rounding up reaches the guarantee's γ, that it stays below."""
    limit = content["amplification_limit"] or 0
    is_reached = written(Fraction(content["amplification"]), 6, up=True) == written(Fraction(limit), 6, up=True)
    return f"γ {'< {amplification_limit:up}' if is_reached else '≤ {amplification:up}'}, ε ≤ {{epsilon:up}}"


def becomes(content: Mapping[str, Any]) -> str:
    """Return the largest posterior; where rounding up reaches the guarantee's posterior, that it stays below."""
    after, guaranteed = Fraction(content["highest_posterior"]), Fraction(content["guarantee"]["posterior"])
    if after < guaranteed and write(after, "to") == write(guaranteed, "to"):
        return "a prior of {guarantee[prior]:from} to less than {guarantee[posterior]:to}"
    return "a prior of {guarantee[prior]:from} to at most {highest_posterior:to}"


def guarantee_sentences(plan: "PublishedPlan") -> list[Part]:
    """Return what a plan guarantees to participants, and what the guarantee does not cover."""
    lines = _sentences(plan)
    if plan.amplification is not None:
        lines.append("A person sends at most {reports_per_person:#report}.")
    if plan.uncovered:
        lines.append("Not covered by the guarantee: {uncovered}.")
    return [Page([Record(guarantee_content(plan), lines)])]


def _sentences(plan: "PublishedPlan") -> list[Part]:
    if plan.amplification is None:
        return ["There is no guarantee: {unbounded}."]
    central: list[Part] = list(_central({"central": plan.central and plan.central.to_json()}))
    seen = "all your reports" if plan.reports_per_person > 1 else "your report"
    knows = " knows what the guarantee does not cover," if plan.uncovered else ""
    other = "any other statement" if plan.uncovered else "a statement"
    local = "If relay and collector collude, an" if plan.central else "An"
    local += (
        f" adversary who{knows} gives {other} about your data a probability of {{guarantee[prior]:from}}, and then "
        f"sees {seen}, gives it a probability of less than {{guarantee[posterior]:to}}, whatever the statement and "
        "whatever else the adversary knows."
    )
    return [*central, *([local] if plan.guarantee else []), f"For each report: {_figures(guarantee_content(plan))}."]


def privacy_sections(plan: "PublishedPlan | None", plan_id: str, what: str = "basket") -> list[Part]:
    """Return the sections of a page about the guarantee, and about publishing the page."""
    bound = "; the plan (`--plan plan.json`) states the guarantee that bounds this"
    guarantee: list[Part] = ["The plan states the guarantee: make the page with it (`--plan plan.json`)."]
    if plan is not None:
        guarantee = guarantee_sentences(plan)
        bound = ", which no guarantee bounds" if plan.amplification is None else ", which the guarantee bounds"
        bound += ", except for what it does not cover" if plan.uncovered else ""
    guarantee += [Say("Plan `{plan}`", {"plan": plan_id}, "hint")] * bool(plan_id)
    publish = (
        "This page was computed from reports alone (post-processing), so it discloses no more about a person than "
        f"their report did{bound}. It holds no report and no {what}. Check whether the results about all people "
        "together are confidential to your business."
    )
    return [
        Section("What is guaranteed to participants?", guarantee, "guarantee", aside=True),
        Section("May I publish this?", [publish], "publish", aside=True),
    ]


def guaranteed(plan: "PublishedPlan") -> Record:
    """Return what a plan of any type guarantees to participants."""
    report = Say("A report has {report_bytes:#byte}. Plan of type {plan_type}: `{plan_id}`", kind="hint")
    return Record(guarantee_content(plan), [*guarantee_sentences(plan), report], "What the plan guarantees")


# ---- a page to sign


def to_sign(plan: "PublishedPlan") -> Record:
    """Return the page to sign for a plan: guarantee, contents and number of reports, what is not covered."""
    content = guarantee_content(plan)
    content["report_contents"] = [{"share": float(share), "content": text} for share, text in plan.contents]
    bounded, outside = plan.amplification is not None, bool(plan.uncovered)
    changed = "what the guarantee covers" if outside else "every report"
    changes = f"The device randomizes {changed} before it sends it. " * bounded
    against = "The guarantee holds all the same. It" if bounded else "What is stated here"
    hidden = f"The collector may see who sent which report. {against}"
    if plan.central:
        hidden = (
            "Relay and collector must be different companies and must not share what they see. An observer who sees "
            "when a device sends and when a report arrives may link the two. A person with two devices counts as two, "
            "with the guarantee for each. Either guarantee"
        )
    *sentences, figures = _sentences(plan)
    lines = [Column(title, "_" * 24, "text") for title in ("Name and role", "Date", "Signature")]
    senders = [Column("share of reports", "{share:given}"), Column("what", "{content}", "name")]
    parts = [
        Section("The guarantee", [*sentences, *_chances(plan, content), figures], "guarantee"),
        Section("What people send", [
            Table(senders, content["report_contents"]), f"{changes}Every report has {{report_bytes:#byte}}.",
        ], "asked"),
        Section("Number of reports", _number_of_reports(plan), "reports"),
        Section("What the guarantee does not cover", [
            *["The guarantee does not bound what a report discloses of {uncovered}."] * outside,
            f"The network and the {'relay' if plan.central else 'collector'} see that a person takes part, when, and "
            "from which address. The operator should keep no log of this.",
            "The results of all reports together may show something about everyone, also about people who sent none. "
            "That is the purpose of the collection.",
            f"{hidden} needs the published client, on a device that keeps its data to itself.",
        ], "outside"),
        Section("Signed", [
            "I consider this guarantee sufficient for the data of the collection _________________________, whose plan "
            "is `{plan_id}`.",
            Table(lines, [{}]),
        ], "signed"),
    ]  # fmt: skip
    return Record(content, [Page(parts)], "What this collection guarantees")


def _number_of_reports(plan: "PublishedPlan") -> list[Part]:
    """Return how many reports a person sends, and what keeps count of them."""
    bounded = plan.amplification is not None
    together = "; the guarantee is for all of them together" * (bounded and plan.reports_per_person > 1)
    more = ": multiply their γ, or add their ε" * bounded
    return [
        f"Under this plan a person sends at most {{reports_per_person:#report}}, ever{together}. Reports under other "
        f"plans spend budget, too{more}. Spent budget never comes back, and deleting a report does not restore it. The "
        "device's budget ledger counts reports and refuses further ones. A deleted ledger, a cleared browser and a "
        "second device start at zero: a person with two devices spends twice the budget, and nothing here detects it.",
        "To see the budget that your device has spent, run `assocpriv report --ledger L --spent`.",
        "You can stop at any time. Reports that were sent stay with the collector.",
    ]


def _chances(plan: "PublishedPlan", content: dict[str, Any]) -> list[Part]:
    """Return the posteriors of other priors, in percent as the guarantee's own."""
    if plan.guarantee is None:
        return []
    content["posteriors"] = _posteriors_of_priors(plan.guarantee.amplification_limit)
    after = "all {reports_per_person:#report}" if plan.reports_per_person > 1 else "your report"
    parts = [
        f"{{posteriors[{n}][prior]:from}} becomes less than {{posteriors[{n}][highest_posterior]:to}}"
        for n, prior in enumerate(_PRIORS)
        if prior != plan.guarantee.prior
    ]
    return [f"In the same way, after {after}, a prior of {' and one of '.join(parts)}."]


def _posteriors_of_priors(limit: Fraction) -> list[dict[str, str]]:
    """Return the largest posteriors of the default priors where γ stays below a limit."""
    return [{"prior": plain(prior), "highest_posterior": plain(highest_posterior(prior, limit))} for prior in _PRIORS]


# ---- guarantees and their costs


def explained(explained: basket_planner.GuaranteeExamples) -> Record:
    """Return guarantees from strict to lenient, or a plan's own, each with the detection thresholds that it costs."""
    content, plan = _explained_content(explained), explained.plan
    several = content["reports_per_person"] > 1
    what = "all {reports_per_person:#report} of a person together" if several else "one report"
    reads = (
        "{guarantees[0][posteriors][0][highest_posterior]:chance}"
        if plan
        else "the probability in the column of 1 in 100"
    )
    chances = (Column(f"prior {chance}", f"{{posteriors[{n}][highest_posterior]:chance}}")
               for n, chance in enumerate(_BECOMES))  # fmt: skip
    shown = Table(
        [_GUARANTEE, Column("γ <", "{amplification_limit:up}"), Column("ε <", "{epsilon:up}"), *chances,
         Column("verdict", "{verdict}", "name")],
        content["guarantees"],
        "Largest posterior, by prior" + ", if relay and collector collude" * ("central" in content) + ":",
    )  # fmt: skip
    parts: list[Part] = [
        f"A guarantee bounds what an adversary learns about the sender from {what}, whatever the data and the "
        f"background knowledge. It is one number, γ: no report is more than γ times as "
        "likely under one basket as under another. ε = ln γ.",
        Section("", [
            *["plan {plan_id:id}"] * (plan is not None),
            *_central(content),
            shown,
            'To put it to participants: an adversary who gives "you buy X" a probability of 1 in 100 gives it, after '
            f"{'all {reports_per_person:#report}' if several else 'your report'}, at most {reads}.",
        ]),
        Section("", [_costs(content)]),
        Section("", [
            "To choose: take the strictest guarantee whose detection thresholds are low enough. `assocpriv plan "
            "--detect 1%` finds the number of reports for a guarantee, or the guarantee for a number of reports.",
        ]),
    ]  # fmt: skip
    return Record(content, parts, "Guarantees")


def _explained_content(explained: basket_planner.GuaranteeExamples) -> dict[str, Any]:
    plan = explained.plan
    items = plan.n_items if plan else basket_planner.ITEMS
    content: dict[str, Any] = {
        "plan_id": plan and plan.plan_id,
        "items": items,
        "mean_size": min(DEFAULT_MEAN, items / 2),
        "reports_per_person": plan.reports_per_person if plan else 1,
        "guarantees": [
            fields(each.guarantee, "prior posterior amplification_limit") | {
                "epsilon": epsilon_from_amplification(each.guarantee.amplification_limit),
                "verdict": each.verdict,
                "posteriors": _posteriors_of_priors(each.guarantee.amplification_limit),
                LEVEL: {str(reports): finite(values) for reports, values in each.thresholds.items()},
            }
            for each in explained.guarantees
        ],
    }  # fmt: skip
    if plan and plan.central:
        content |= {name: value for name, value in guarantee_content(plan).items() if name in ("central", "guarantee")}
    return content


def _costs(content: Mapping[str, Any]) -> Table:
    rows = [
        {**each, "of": name_itemsets(int(k)), "levels": {n: levels[k] for n, levels in each[LEVEL].items()}}
        for each in content["guarantees"]
        for k in sorted(each[LEVEL][str(basket_planner.PEOPLE[0])])
    ]
    return Table(
        [_GUARANTEE, Column("itemsets", "{of}", "text"),
         *(Column(f"{people:,} reports", f"{{levels[{people}]:least_up}}") for people in basket_planner.PEOPLE)],
        rows,
        "Detection thresholds, as supports in baskets before they are cut, for {items:#item} and {mean_size:g} items a "
        "basket; —: no support can be detected:",
    )  # fmt: skip


# ---- proofs


def privacy(privacy: Privacy) -> Record:
    """Return all that a plan of baskets proves about privacy."""
    plan, several, likely, proved = privacy.plan, privacy.together.reports > 1, privacy.information, privacy.central
    content = guarantee_content(plan) | {
        "one_report": _together(privacy.one),
        "together": _together(privacy.together),
        "information": {"unit": "bits", "mutual_limit": privacy.mutual_limit, "equally_likely": plain(likely)},
        "proved": proved and fields(proved, "epsilon delta reports method") | {"blanket": float(plan.blanket)},
        "manipulation_limits": plain(privacy.manipulation_limits),
    }
    shown = {"one report": privacy.one}
    if several:
        shown[f"{privacy.together.reports:,} reports"] = privacy.together
    within = "within" if privacy.together.reports <= plan.reports_per_person else "MORE THAN"
    together = ["Each further report of a person multiplies γ and adds ε: two reports have γ² and 2ε."]
    if several:
        together = [
            "{together[reports]:#report} of a person: γ ≤ {together[amplification]:up}, ε ≤ {together[epsilon]:up}, "
            f"{within} the {{reports_per_person:#}} that the guarantee covers",
            *([] if within == "within" else [_may_become(privacy.together), _INSTEAD]),
        ]
    parts: list[Part] = [
        Facts([("plan id", ["{plan_id}"])]),
        guarantee_facts(content),
        Facts([
            ("γ", ["no report is more than γ times as likely under one basket as under another"]),
            ("composition", together),
        ]),
        _posterior_table(shown),
        Facts([
            ("difference", [f"{title}: posterior minus prior is at most {{{name}[largest_rise]:points}}"
                            for title, name in zip(shown, ("one_report", "together"), strict=False)]),
            ("information", _information(content, several=several)),
        ]),
    ]  # fmt: skip
    parts += [_batches(privacy)] if proved is not None else []
    return Record(content, parts, "What the plan proves")


def _batches(privacy: Privacy) -> Facts:
    """Return what is proved for batches, and how far one manipulated report moves supports there."""
    known = [k for k, limits in privacy.manipulation_limits.items() if limits]
    moved = ", ".join(f"{name_itemsets(k)} {{manipulation_limits[{k}][one_report]:points}}" for k in known)
    return Facts([
        ("batches", [
            "ε ≤ {proved[epsilon]:up} at δ = {central[delta]:up} is proved for {proved[reports]:#report}, from γ "
            "and a blanket of {proved[blanket]:.3g} (method: {proved[method]})",
            *["for all {reports_per_person:#report} of a person together"] * (privacy.plan.reports_per_person > 1),
        ]),
        ("poisoning", [f"one manipulated report of {{central[reports]:#}} moves supports by at most: {moved}"]),
    ])  # fmt: skip


def _together(part: ComposedGuarantee) -> dict[str, Any]:
    return {
        **fields(part, "reports amplification epsilon largest_rise log_amplification_bits"),
        "worst_limit": part.information_limit,
        "posteriors": [
            {"prior": plain(row.prior), "highest_posterior": float_up(row.highest),
             "lowest_posterior": -float_up(-row.lowest)}
            for row in part.posteriors
        ],
        "one_in_100_becomes": float_up(highest_posterior(_PRIORS[0], part.amplification)),
    }  # fmt: skip


def _posterior_table(parts: Mapping[str, ComposedGuarantee], guaranteed: Mapping[Fraction, str] | None = None) -> Table:
    """Return the table of posteriors, two columns for each part; exact figures, rounded once."""
    rows = [
        {"prior": row[0].prior, "most": [each.highest for each in row], "least": [each.lowest for each in row],
         "whose": (guaranteed or {}).get(row[0].prior, "")}
        for row in zip(*(part.posteriors for part in parts.values()), strict=True)
    ]  # fmt: skip
    columns = [
        column
        for n, name in enumerate(parts)
        for column in (
            Column(f"{name}: highest posterior", f"{{most[{n}]:to}}"),
            Column("lowest", f"{{least[{n}]:from}}"),
        )
    ]
    whose = [Column("", "{whose}", "text")] if any(row["whose"] for row in rows) else []
    return Table([Column("prior", "{prior:from}"), *columns, *whose], rows, "Posteriors, by prior:")


def _may_become(part: ComposedGuarantee) -> str:
    """Return the posterior beyond what a plan guarantees."""
    nothing = " This guarantee is too weak to be useful." * (part.amplification > _USELESS)
    return f"A prior of 1 in 100 may become {{together[one_in_100_becomes]:chance}}.{nothing}"


def _information(content: Mapping[str, Any], *, several: bool) -> list[str]:
    """Return worst-case and mutual information, in bits."""
    part = content["information"]["equally_likely"]
    sign, note = ("", "") if part["exact"] else ("≤ ", " (upper bounds: the plan is too large for exact values)")
    parts = [
        f"{name} {sign}{{information[equally_likely][{field}]:up}}"
        for name, field in (("WI", "worst"), ("IWI", "inverse_worst"), ("I", "mutual"))
    ]
    return [
        "about a basket, in bits: WI (worst case) is the Kullback–Leibler divergence of posterior from prior for the "
        "most informative report, IWI that of prior from posterior; I (average) is the mutual information",
        "one report, any prior: WI and IWI ≤ {one_report[worst_limit]:up}, I ≤ {information[mutual_limit]:up} (for "
        "comparison: log2 γ ≤ {one_report[log_amplification_bits]:up})",
        *["{together[reports]:#report}, any prior: WI and IWI ≤ {together[worst_limit]:up}"] * several,
        "one report, all baskets of {information[equally_likely][basket_size]:#item} equally likely: "
        f"{', '.join(parts)}{note}",
    ]


# ---- several plans


def budget(budget: ComposedPlans, names: Mapping[str, str] | None = None) -> Record:
    """Return the composed guarantee of one person's reports of several plans; ``names`` holds plan names by id."""
    names = names or {each.plan.plan_id: each.plan.plan_id[:12] for each in budget.plans}
    content: dict[str, Any] = {
        "plans": [
            {
                "name": names[answers.plan.plan_id],
                **fields(answers.plan, "plan_id reports_per_person uncovered"),
                **fields(answers.together, "reports amplification epsilon"),
                "covered": answers.covered,
            }
            for answers in budget.plans
        ],
        "together": _together(budget.together),
    }
    rows = [each | {"covers": "" if each["covered"] else "MORE THAN COVERED"} for each in content["plans"]]
    columns = [
        Column("plan", "{name:name}", "text"), Column("reports", "{reports:#}"),
        Column("covered", "{reports_per_person:#}"), Column("γ ≤", "{amplification:up}"),
        Column("ε ≤", "{epsilon:up}"), Column("", "{covers}", "text"),
    ]  # fmt: skip
    outside = [
        Record(each, ["not covered by the guarantee of {name}, and not counted here: {uncovered}"])
        for each in content["plans"]
        if each["uncovered"]
    ]
    parts: list[Part] = [
        Table(columns, rows, "Each plan's guarantee covers its own reports alone:"),
        *outside,
        Facts([("composition", [
            "{together[reports]:#report} of a person: γ ≤ {together[amplification]:up}, ε ≤ {together[epsilon]:up}",
            _may_become(budget.together), _SMALLER,
        ])]),
        _posterior_table({f"{budget.together.reports:,} reports": budget.together}, _posteriors(budget, names)),
        Facts([("difference", ["posterior minus prior is at most {together[largest_rise]:points}"])]),
    ]  # fmt: skip
    return Record(content, parts, "What several plans prove together")


def _posteriors(budget: ComposedPlans, names: Mapping[str, str]) -> dict[Fraction, str]:
    """Return, by prior, the plan whose guarantee has it as posterior, where it is no default prior."""
    usual, found = {parse_probability(prior, "prior") for prior in DEFAULT_PRIORS}, dict[Fraction, str]()
    for answers in budget.plans:
        name = names[answers.plan.plan_id]
        if answers.plan.guarantee and (posterior := answers.plan.guarantee.posterior) not in usual:
            found[posterior] = f"{found[posterior]}, {name}" if posterior in found else f"posterior of {name}"
    return found
