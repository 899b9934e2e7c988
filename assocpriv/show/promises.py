"""Promises in words, as text for a person or as JSON content; every figure errs against us.

What a plan promises, in sentences for anybody; promises in plain words with what each costs; and all that a plan's γ
proves about privacy, or that several plans prove together.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from assocpriv.planning import baskets
from assocpriv.planning.discovery import DEFAULT_PRIORS, Budget, Privacy, Together
from assocpriv.planning.expected import USUAL_MEAN
from assocpriv.plans.catalogue import itemsets_of
from assocpriv.promise.breaches import Breach, epsilon, float_up, format_fraction, highest_posterior, parse_probability
from assocpriv.promise.errors import counted
from assocpriv.show.figures import (
    chance_up,
    fields,
    figure,
    figure_below,
    finite,
    percent_up,
    percent_within,
    written,
)
from assocpriv.show.plans import LEVEL, promise_record
from assocpriv.show.terminal import paragraph_width

if TYPE_CHECKING:
    from assocpriv.plans.baskets import Plan
    from assocpriv.plans.published import PublishedPlan

_WIDTH, _SAID = 80, 82  # columns: of paragraphs, and of sentences, so that those to choose from stay on a line
_BELIEFS = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 2))
_OF_ONE_PLAN = (
    "             Instead: a promise for all R reports (plan --reports-per-person R), a",
    "             smaller ε for all, or other people each time.",
)
_OF_SEVERAL = (
    "             To promise less: a smaller ε for each plan, or other people for each; a",
    "             device keeps a limit over all plans (report --prior --posterior).",
)
_USELESS = 99**2  # γ with which a belief of 1% may become 99%


# ---- costs


def explain_record(explained: baskets.WorkedPromises) -> dict[str, Any]:
    """Return promises and their costs as JSON content."""
    plan = explained.plan
    return {
        "plan_id": plan and plan.plan_id,
        "items": plan.n_items if plan else baskets.ITEMS,
        "mean_size": min(USUAL_MEAN, (plan.n_items if plan else baskets.ITEMS) / 2),
        "reports_per_person": plan.reports_per_person if plan else 1,
        "promises": [_promise_record(each) for each in explained.promises],
        "weekly": [_weekly_record(each) for each in explained.weekly],
    }


def _promise_record(worked: baskets.WorkedPromise) -> dict[str, Any]:
    limit = worked.promise.amplification_limit
    return {
        **promise_record(worked.promise),
        "amplification_limit": format_fraction(limit),
        "epsilon": epsilon(limit),
        "verdict": worked.verdict,
        "beliefs": [
            {"prior": format_fraction(prior), "highest_posterior": float_up(highest_posterior(prior, limit))}
            for prior in _BELIEFS
        ],
        LEVEL: {str(reports): finite(dict(levels)) for reports, levels in worked.levels.items()},
    }


def _weekly_record(way: baskets.WeeklyWay) -> dict[str, Any]:
    return {
        "reports_of_a_person": way.reports,
        "covered": way.covered,
        "epsilon": epsilon(way.limit),
        "weekly_reports": way.weekly_reports,
        LEVEL: finite(dict(way.levels)),
    }


def explain_lines(explained: baskets.WorkedPromises) -> list[str]:
    """Say what promises mean, in words that people can accept or not, and what each costs."""
    plan = explained.plan
    lines = [*_what_it_is(plan), ""] + ([] if plan is None else [f"plan {plan.plan_id[:12]}…"])
    for each in explained.promises:
        hang = " " * 14
        said = wrap(_sentence(each.promise, plan), paragraph_width(_SAID), initial_indent=hang, subsequent_indent=hang)
        lines += [f"{_name(each.promise):<14}{each.verdict}", *said]
    lines += ["", "What a belief becomes at most:", ""]
    lines.append(f"{'':<14}{'γ <':>8}{'ε <':>8}" + "".join(f"{f'from {chance_up(belief)}':>16}" for belief in _BELIEFS))
    lines += [_belief_line(each.promise) for each in explained.promises]
    lines += [
        "",
        *_cost_heading(plan),
        "",
        f"{'':<28}" + "".join(f"{people:>12,}" for people in baskets.PEOPLE),
    ]
    for each in explained.promises:
        lines += _cost_lines(each)
    return lines + (_weekly_lines(explained.weekly) if explained.weekly else []) + _advice_lines()


def _what_it_is(plan: "Plan | None") -> list[str]:
    """Say what is bounded, of a plan as its promise has it: of how many reports."""
    several = plan.reports_per_person if plan else 1
    what, whose, never = "one report", "its", "no report is γ times likelier under one basket than under any other"
    if several > 1:
        what, whose = f"all {several:,} reports of a person together", "their"
        never = "they are never γ times likelier under some baskets than under any others"
    said = (
        f"A promise bounds what {what} can do to a belief about {whose} sender, whatever the data are and whatever "
        f"else is known. It is one number, γ: {never}; ε is ln γ."
    )
    return wrap(said, paragraph_width(_WIDTH))


def _cost_heading(plan: "Plan | None") -> list[str]:
    items = plan.n_items if plan else baskets.ITEMS
    return [
        "What it costs: the least support in whole baskets that can be believed, of",
        f"{items:,} items, {min(USUAL_MEAN, items / 2):g} a basket on average, all itemsets of a size together; by the",
        "number of reports:",
    ]


def _name(promise: Breach) -> str:
    return f"{percent_within(promise.prior, up=False)} → {percent_within(promise.posterior, up=True)}"


def _sentence(promise: Breach, plan: "Plan | None") -> str:
    """Say what the promise makes of one belief, in words for those who will report."""
    then, later = "then ", ""
    if plan is not None and plan.reports_per_person > 1:
        then, later = "", f" after all {plan.reports_per_person:,} reports"
    return f'Who thinks "1 in 100 that you buy X" {then}thinks at most {_after(promise.amplification_limit)}{later}.'


def _belief_line(promise: Breach) -> str:
    limit = promise.amplification_limit
    cells = (chance_up(highest_posterior(belief, limit)) for belief in _BELIEFS)
    return (
        f"{_name(promise):<14}{written(limit, 4, up=True):>8}{written(Fraction(epsilon(limit)), 4, up=True):>8}"
        + "".join(f"{cell:>16}" for cell in cells)
    )


def _cost_lines(worked: baskets.WorkedPromise) -> list[str]:
    sizes = sorted({k for levels in worked.levels.values() for k in levels})
    return [
        f"{_name(worked.promise) if k == sizes[0] else '':<14}{itemsets_of(k):<14}"
        + "".join(f"{_least(levels[k]):>12}" for levels in worked.levels.values())
        for k in sizes
    ]


def _least(level: float) -> str:
    return percent_up(level, 3) if level < 1 else "none"


def _weekly_lines(ways: tuple[baskets.WeeklyWay, ...]) -> list[str]:
    everybody, covered, fresh = ways
    return [
        "",
        f"Every week for a year, {baskets.WEEKLY_PEOPLE:,} people, 5% → 50%:",
        "",
        f"- All report every week, and the promise is for one report. {baskets.WEEKS} of them have",
        f"  γ < {figure(everybody.limit)} and ε < {figure(epsilon(everybody.limit))} together: 1 in 100 becomes",
        f"  {_after(everybody.limit)}. Nothing useful is promised.",
        f"- All report every week, and the promise is for all {baskets.WEEKS} (--reports-per-person {baskets.WEEKS}).",
        f"  Each report has ε < {figure(epsilon(covered.each_limit))}. A week shows {_shows(covered.levels)}.",
        f"- Other people each week, {fresh.weekly_reports:,} of them, each once: the promise stands as it is.",
        f"  A week shows {_shows(fresh.levels)}.",
    ]


def _after(amplification: Fraction) -> str:
    """Write what a belief of 1 in 100 becomes at most."""
    return chance_up(highest_posterior(_BELIEFS[0], amplification))


def _shows(levels: baskets.Levels) -> str:
    """Say which supports can be believed."""
    told = [f"{itemsets_of(k)} from {percent_up(level, 3)}" for k, level in levels.items() if level < 1]
    return ", ".join(told) or "nothing"


def _advice_lines() -> list[str]:
    return [
        "",
        "To choose: read the sentences aloud to those who will report, and take the",
        "strictest promise whose cost you can pay. assocpriv plan --find 1% tells how",
        "many reports a promise needs, or which promise so many reports allow.",
    ]


# ---- proofs


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


def _below(plan: "PublishedPlan", part: Together) -> str:
    """Write γ of some reports of a person, below the promise's limit if it covers so many."""
    if plan.promise is None or part.reports > plan.reports_per_person:
        return f"≤ {figure(part.amplification)}"
    return figure_below(part.amplification, plan.promise.amplification_limit)


def _beyond(part: Together) -> list[str]:
    """Say what is left beyond what a plan promises."""
    nothing = " Nothing useful is promised." * (part.amplification > _USELESS)
    return [f"             A belief of 1 in 100 may become {_after(part.amplification)}.{nothing}"]


def _information_lines(privacy: Privacy) -> list[str]:
    """Show worst-case and mutual information."""
    limit = figure(privacy.one.information_limit)
    lines = [
        "information  in bits: WI and IWI of the report that tells most, I on average",
        f"             of one report, whatever the prior: WI and IWI ≤ {limit} (log2 γ ≤ "
        f"{figure(privacy.one.log_amplification_bits)}), I ≤ {figure(privacy.mutual_limit)}",
    ]
    if privacy.together.reports > 1:
        limit = figure(privacy.together.information_limit)
        lines.append(f"             of {privacy.together.reports} reports, whatever the prior: WI and IWI ≤ {limit}")
    part = privacy.information
    sign, note = ("", "") if part.exact else ("≤ ", " (bounds: the code has too many seeds to go through)")
    figures = [("WI", part.worst), ("IWI", part.inverse_worst), ("I", part.mutual)]
    told = ", ".join(f"{name} {sign}{figure(value)}" for name, value in figures)
    return [
        *lines,
        f"             of one, all transactions of {counted(part.basket_size, 'item')} equally likely: {told}{note}",
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


# ---- several plans


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
