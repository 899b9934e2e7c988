"""Promises in plain words, with what each costs, as text for a person and as JSON content. Figures err against us."""

from fractions import Fraction
from textwrap import wrap
from typing import Any

from assocpriv.apps.render.figures import chance_up, figure, finite, percent_up, percent_within, written
from assocpriv.apps.render.plan import LEVEL, SIZES, promise_record
from assocpriv.apps.terminal import paragraph_width
from assocpriv.planning.baskets import (
    ITEMS,
    PEOPLE,
    TRANSACTION_SIZE,
    WEEKLY_PEOPLE,
    WEEKS,
    Levels,
    WeeklyWay,
    WorkedPromise,
    WorkedPromises,
)
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import itemsets_of
from assocpriv.promise.breaches import Breach, epsilon, float_up, format_fraction, highest_posterior

_WIDTH, _SAID = 80, 82  # columns: of paragraphs, and of sentences, so that those to choose from stay on a line
_BELIEFS = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 2))


def explain_record(explained: WorkedPromises) -> dict[str, Any]:
    """Return promises and their costs as JSON content."""
    plan = explained.plan
    return {
        "plan_id": plan and plan.plan_id,
        "items": plan.n_items if plan else ITEMS,
        "transaction_size": plan.transaction_size if plan else TRANSACTION_SIZE,
        "reports_per_person": plan.reports_per_person if plan else 1,
        "promises": [_promise_record(each) for each in explained.promises],
        "weekly": [_weekly_record(each) for each in explained.weekly],
    }


def _promise_record(worked: WorkedPromise) -> dict[str, Any]:
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


def _weekly_record(way: WeeklyWay) -> dict[str, Any]:
    return {
        "reports_of_a_person": way.reports,
        "covered": way.covered,
        "epsilon": epsilon(way.limit),
        "weekly_reports": way.weekly_reports,
        LEVEL: finite(dict(way.levels)),
    }


def explain_lines(explained: WorkedPromises) -> list[str]:
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
        f"{'':<28}" + "".join(f"{people:>12,}" for people in PEOPLE),
    ]
    for each in explained.promises:
        lines += _cost_lines(each, plan)
    return lines + (_weekly_lines(explained.weekly) if explained.weekly else []) + _advice_lines()


def _what_it_is(plan: Plan | None) -> list[str]:
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


def _cost_heading(plan: Plan | None) -> list[str]:
    if plan is not None and plan.view.kind == SIZES:
        return [
            f"What it costs: the least share of baskets that can be believed, of {plan.n_items:,} classes",
            "of sizes, all of them together; by the number of reports:",
        ]
    items, size = (ITEMS, TRANSACTION_SIZE) if plan is None else (plan.n_items, plan.transaction_size)
    return [
        f"What it costs: the least support that can be believed, of {items:,} items, at most",
        f"{size} a basket, all itemsets of a size together; by the number of reports:",
    ]


def _name(promise: Breach) -> str:
    return f"{percent_within(promise.prior, up=False)} → {percent_within(promise.posterior, up=True)}"


def _sentence(promise: Breach, plan: Plan | None) -> str:
    """Say what the promise makes of one belief, in words for those who will report."""
    after = chance_up(highest_posterior(_BELIEFS[0], promise.amplification_limit))
    what, then, later = "you buy X", "then ", ""
    if plan is not None:
        if plan.view.kind == SIZES:
            what = f"you bought {plan.catalogue[plan.n_items // 2]} things"
        if plan.reports_per_person > 1:
            then, later = "", f" after all {plan.reports_per_person:,} reports"
    return f'Who thinks "1 in 100 that {what}" {then}thinks at most {after}{later}.'


def _belief_line(promise: Breach) -> str:
    limit = promise.amplification_limit
    cells = (chance_up(highest_posterior(belief, limit)) for belief in _BELIEFS)
    return (
        f"{_name(promise):<14}{written(limit, 4, up=True):>8}{written(Fraction(epsilon(limit)), 4, up=True):>8}"
        + "".join(f"{cell:>16}" for cell in cells)
    )


def _cost_lines(worked: WorkedPromise, plan: Plan | None) -> list[str]:
    sizes = sorted({k for levels in worked.levels.values() for k in levels})
    classes = "sizes" if plan is not None and plan.view.kind == SIZES else ""
    return [
        f"{_name(worked.promise) if k == sizes[0] else '':<14}{classes or itemsets_of(k):<14}"
        + "".join(f"{_least(levels[k]):>12}" for levels in worked.levels.values())
        for k in sizes
    ]


def _least(level: float) -> str:
    return percent_up(level, 3) if level < 1 else "none"


def _weekly_lines(ways: tuple[WeeklyWay, ...]) -> list[str]:
    everybody, covered, fresh = ways
    return [
        "",
        f"Every week for a year, {WEEKLY_PEOPLE:,} people, 5% → 50%:",
        "",
        f"- All report every week, and the promise is for one report. {WEEKS} of them have",
        f"  γ < {figure(everybody.limit)} and ε < {figure(epsilon(everybody.limit))} together: 1 in 100 becomes",
        f"  {_after(everybody)}. Nothing useful is promised.",
        f"- All report every week, and the promise is for all {WEEKS} (--reports-per-person {WEEKS}).",
        f"  Each report has ε < {figure(epsilon(covered.each_limit))}. A week shows {_shows(covered.levels)}.",
        f"- Other people each week, {fresh.weekly_reports:,} of them, each once: the promise stands as it is.",
        f"  A week shows {_shows(fresh.levels)}.",
    ]


def _after(way: WeeklyWay) -> str:
    return chance_up(highest_posterior(_BELIEFS[0], way.limit))


def _shows(levels: Levels) -> str:
    """Say which supports can be believed."""
    told = [f"{itemsets_of(k)} from {percent_up(level, 3)}" for k, level in levels.items() if level < 1]
    return ", ".join(told) or "nothing"


def _advice_lines() -> list[str]:
    return [
        "",
        "To choose: read the sentences aloud to those who will report, and take the",
        "strictest promise whose cost you can pay. assocpriv plan --discover 1% tells how",
        "many reports a promise needs, or which promise so many reports allow.",
    ]
