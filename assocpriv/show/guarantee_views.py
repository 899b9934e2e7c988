"""What a plan of any type guarantees, in words: for planners, for participants, and on a page to sign.

Every figure is rounded against us.
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
    highest_posterior,
    round_amplification_up,
)
from assocpriv.show.number_format import fields, plain, written
from assocpriv.show.result_record import Column, Facts, Page, Part, Record, Say, Section, Table, write

if TYPE_CHECKING:
    from assocpriv.plans.published_plan import PublishedPlan

_PRIORS = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 2))


# ---- in words


CENTRAL_TOGETHER = (
    "central DP of the batches of all these plans together: ε = {central_together[epsilon]:up}, δ = "
    "{central_together[delta]:up} (the sums), as long as relay and collector do not collude"
)


def central_together(central: tuple[Fraction, Fraction] | None) -> dict[str, Any]:
    """Return the composed (ε, δ) of one person's reports of several plans as JSON content, null without one."""
    found = None if central is None else {"epsilon": plain(central[0]), "delta": plain(central[1])}
    return {"central_together": found}


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
        ("central DP", central_sentences(content)),
        ("without it", ["each report alone, or if relay and collector collude:"]),
    ]
    return Facts([*(central if content.get("central") else []), *rows, *left])


def central_sentences(content: Mapping[str, Any]) -> list[str]:
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
    central: list[Part] = list(central_sentences({"central": plan.central and plan.central.to_json()}))
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
    content["posteriors"] = posteriors_of_priors(plan.guarantee.amplification_limit)
    after = "all {reports_per_person:#report}" if plan.reports_per_person > 1 else "your report"
    parts = [
        f"{{posteriors[{n}][prior]:from}} becomes less than {{posteriors[{n}][highest_posterior]:to}}"
        for n, prior in enumerate(_PRIORS)
        if prior != plan.guarantee.prior
    ]
    return [f"In the same way, after {after}, a prior of {' and one of '.join(parts)}."]


def posteriors_of_priors(limit: Fraction) -> list[dict[str, str]]:
    """Return the largest posteriors of the default priors where γ stays below a limit."""
    return [{"prior": plain(prior), "highest_posterior": plain(highest_posterior(prior, limit))} for prior in _PRIORS]
