"""Guarantees to choose from, with their costs; and what the γ of a plan, or of several plans together, proves.

Every figure is rounded against us.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from assocpriv.guarantees.amplification import (
    epsilon_from_amplification,
    float_up,
    highest_posterior,
    parse_probability,
)
from assocpriv.planning import basket_planner
from assocpriv.planning.detection_limits import DEFAULT_PRIORS, ComposedGuarantee, ComposedPlans, Privacy
from assocpriv.planning.expected_error import DEFAULT_MEAN
from assocpriv.plans.baskets.catalogue import name_itemsets
from assocpriv.show.guarantee_views import (
    CENTRAL_TOGETHER,
    central_sentences,
    central_together,
    guarantee_content,
    guarantee_facts,
    posteriors_of_priors,
)
from assocpriv.show.number_format import fields, finite, plain
from assocpriv.show.result_record import Column, Facts, Part, Record, Section, Table

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
            *central_sentences(content),
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
                "posteriors": posteriors_of_priors(each.guarantee.amplification_limit),
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
        **central_together(budget.central),
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
            _may_become(budget.together), _SMALLER, *[CENTRAL_TOGETHER] * (budget.central is not None),
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
