"""All that a plan's γ proves about privacy, as text for a person and as JSON content. Every figure errs against us."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from assocpriv.apps.render.figures import chance_up, fields, figure, figure_below, percent_within, written
from assocpriv.apps.render.plan import promise_record
from assocpriv.planning.discovery import DEFAULT_PRIORS, Budget, Privacy, Together
from assocpriv.plans.published import PublishedPlan
from assocpriv.promise.breaches import float_up, format_fraction, highest_posterior, parse_probability
from assocpriv.promise.errors import counted

_SMALL = Fraction(1, 100)
_OF_ONE_PLAN = (
    "             Instead: a promise for all R reports (plan --reports-per-person R), a",
    "             smaller ε for all, or other people each time.",
)
_OF_SEVERAL = (
    "             To promise less: a smaller ε for each plan, or other people for each; a",
    "             device keeps a limit over all plans (report --prior --posterior).",
)
_USELESS = 99**2  # γ with which a belief of 1% may become 99%


def privacy_record(privacy: Privacy) -> dict[str, Any]:
    """Return what a plan proves as JSON content."""
    plan = privacy.plan
    return {
        "plan_id": plan.plan_id,
        "promise": promise_record(plan.promise) | fields(plan, "reports_per_person"),
        "amplification_limit": format_fraction(plan.promise.amplification_limit),
        "amplification": format_fraction(plan.amplification),
        "one_report": _together_record(privacy.one),
        "together": _together_record(privacy.together),
        "information": {
            "unit": "bits",
            "mutual_limit": privacy.mutual_limit,
            "equally_likely": fields(privacy.information, "basket_size exact mutual_least mutual worst inverse_worst"),
        },
        "shuffled": privacy.central
        and fields(privacy, "people")
        | fields(privacy.central, "epsilon delta method")
        | {"part_of_the_promise": False},
    }


def _together_record(part: Together) -> dict[str, Any]:
    return {
        **fields(part, "reports epsilon largest_rise log_amplification_bits"),
        "worst_limit": part.information_limit,
        "beliefs": [
            {
                "prior": format_fraction(row.prior),
                "highest_posterior": float_up(row.highest),
                "lowest_posterior": -float_up(-row.lowest),
            }
            for row in part.beliefs
        ],
    }


def privacy_lines(privacy: Privacy) -> list[str]:
    """Say what a plan proves."""
    plan, promise = privacy.plan, privacy.plan.promise
    who = "no report lifts"
    if plan.reports_per_person > 1:
        who = f"{plan.reports_per_person} reports of a person together do not lift"
    lines = [
        f"plan         {plan.plan_id}",
        f"promise      {who} a belief from "
        f"{percent_within(promise.prior, up=False)} to {percent_within(promise.posterior, up=True)}, "
        "nor its opposite the other way, whatever the data and whatever else is known",
        f"one report   γ {_below(plan, privacy.one)}, ε = ln γ ≤ {figure(privacy.one.epsilon)}: "
        f"no report is more than γ times likelier under one basket than another",
    ]
    lines += _belief_lines(privacy)
    lines += _composition_lines(privacy)
    lines += _information_lines(privacy)
    return lines + _shuffled_lines(privacy)


def _belief_lines(privacy: Privacy) -> list[str]:
    """Show how far beliefs can move, by one report and by several."""
    parts = [privacy.one] if privacy.together.reports == 1 else [privacy.one, privacy.together]
    return _table_lines(parts, ["one report", f"{privacy.together.reports} reports"][: len(parts)])


def _table_lines(
    parts: Sequence[Together], names: Sequence[str], promised: Mapping[Fraction, str] | None = None
) -> list[str]:
    """Show the table of beliefs, two columns for each part, and behind a belief whose promise names it."""
    lines = [
        f"beliefs      {'':>12}" + "".join(f"{name:>30}" for name in names),
        f"             {'a belief of':>12}" + f"{'at most':>14}{'at least':>16}" * len(parts),
    ]
    for rows in zip(*(part.beliefs for part in parts), strict=True):
        cells = "".join(
            f"{percent_within(row.highest, up=True):>14}{percent_within(row.lowest, up=False):>16}" for row in rows
        )
        whose = f"  {whose}" if (whose := (promised or {}).get(rows[0].prior, "")) else ""
        lines.append(f"             {f'{float(100 * rows[0].prior):.10g}%':>12}{cells}{whose}")
    moves = [written(100 * Fraction(part.largest_rise), 4, up=True) for part in parts]
    moved = "; ".join(f"{name}: {points} points" for name, points in zip(names, moves, strict=True))
    return [*lines, f"             the most that any belief moves, {moved}"]


def _composition_lines(privacy: Privacy) -> list[str]:
    """Say what several reports of one person prove together."""
    part, allowed = privacy.together, privacy.plan.reports_per_person
    if part.reports == 1:
        return ["together     each further report of a person multiplies γ and adds ε: two reports have γ² and 2ε"]
    covered = "within" if part.reports <= allowed else "MORE THAN"
    return [
        f"together     {part.reports} reports of a person: γ^{part.reports} {_below(privacy.plan, part)}, "
        f"ε ≤ {figure(part.epsilon)}, {covered} the {allowed} that the promise covers",
        *([] if part.reports <= allowed else [*_beyond(part), *_OF_ONE_PLAN]),
    ]


def _below(plan: PublishedPlan, part: Together) -> str:
    """Write γ of some reports of a person, below the promise's limit if it covers so many."""
    if plan.promise is None or part.reports > plan.reports_per_person:
        return f"≤ {figure(part.amplification)}"
    return figure_below(part.amplification, plan.promise.amplification_limit)


def _beyond(part: Together) -> list[str]:
    """Say what is left beyond what a plan promises."""
    after = chance_up(highest_posterior(_SMALL, part.amplification))
    nothing = " Nothing useful is promised." * (part.amplification > _USELESS)
    return [f"             A belief of 1 in 100 may become {after}.{nothing}"]


def budget_record(budget: Budget) -> dict[str, Any]:
    """Return what one person's answers to several plans tell as JSON content."""
    return {
        "plans": [
            {
                **fields(answers.plan, "plan_id reports_per_person"),
                **fields(answers.together, "reports epsilon"),
                "covered": answers.covered,
                "uncovered": answers.plan.uncovered,
            }
            for answers in budget.answers
        ],
        "together": _together_record(budget.together),
    }


def budget_lines(budget: Budget, names: Mapping[str, str]) -> list[str]:
    """Say what one person's answers to several plans tell, each plan under a name, given by its id."""
    width = max(len("plan"), *map(len, names.values()))
    lines = [f"             {'plan':<{width}}  {'reports':>7}  {'γ':>16}  {'ε at most':>9}  its own promise"]
    for answers in budget.answers:
        part, name = answers.together, names[answers.plan.plan_id]
        covers = "covers these" if answers.covered else f"not covered, only {answers.plan.reports_per_person:,}"
        lines.append(
            f"             {name:<{width}}  {part.reports:>7,}  {_below(answers.plan, part):>16}  "
            f"{figure(part.epsilon):>9}  {covers}"
        )
        if answers.plan.uncovered:
            lines.append(f"             {'':<{width}}  outside γ, and so not counted here: {answers.plan.uncovered}")
    part = budget.together
    return [
        *lines,
        f"together     {counted(part.reports, 'report')} of a person: γ ≤ {figure(part.amplification)}, "
        f"ε ≤ {figure(part.epsilon)}",
        "             (a plan's promise is for its own reports alone)",
        *_table_lines([part], [counted(part.reports, "report")], _promised(budget, names)),
        *_beyond(part),
        *_OF_SEVERAL,
    ]


def _promised(budget: Budget, names: Mapping[str, str]) -> dict[Fraction, str]:
    """Return whose promise's posterior a belief is, where it is no usual one."""
    usual, found = {parse_probability(prior, "prior") for prior in DEFAULT_PRIORS}, dict[Fraction, str]()
    for answers in budget.answers:
        name = names[answers.plan.plan_id]
        if answers.plan.promise and (belief := answers.plan.promise.posterior) not in usual:
            found[belief] = f"{found[belief]}, {name}" if belief in found else f"posterior of {name}"
    return found


def _information_lines(privacy: Privacy) -> list[str]:
    """Show worst-case and mutual information."""
    plan, limit = privacy.plan, figure(privacy.one.information_limit)
    lines = [
        "information  in bits: WI and IWI of the report that tells most, I on average",
        f"             of one report, whatever the prior: WI and IWI ≤ {limit} (log2 γ ≤ "
        f"{figure(privacy.one.log_amplification_bits)}), I ≤ {figure(privacy.mutual_limit)}",
    ]
    if privacy.together.reports > 1:
        limit = figure(privacy.together.information_limit)
        lines.append(f"             of {privacy.together.reports} reports, whatever the prior: WI and IWI ≤ {limit}")
    of_block = "" if plan.view.blocks is None else " of the part drawn"
    part = privacy.information
    entries = ("item" if part.basket_size == 1 else "items") + of_block
    sign, note = ("", "") if part.exact else ("≤ ", " (bounds: the code has too many seeds to go through)")
    figures = [("WI", part.worst), ("IWI", part.inverse_worst), ("I", part.mutual)]
    told = ", ".join(f"{name} {sign}{figure(value)}" for name, value in figures)
    return [
        *lines,
        f"             of one, all transactions of {part.basket_size} {entries} equally likely: {told}{note}",
    ]


def _shuffled_lines(privacy: Privacy) -> list[str]:
    """Say what a trusted channel would add."""
    if privacy.central is None:
        return []
    of_each = f", {privacy.together.reports} reports of each," if privacy.together.reports > 1 else ""
    return [
        "in addition, NOT part of the promise, and only if a channel that you trust hides who sent which report:",
        f"shuffled     reports of {privacy.people:,} people{of_each} are ({figure(privacy.central.epsilon)}, "
        f"{privacy.central.delta!r})-differentially private for each person ({privacy.central.method}); "
        "if the channel leaks, the above is all there is",
    ]
