"""All that a plan's γ proves about privacy, as text for a person and as JSON content. Every figure errs against us."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from assocpriv.core.errors import PlanError
from assocpriv.core.information import information_limit
from assocpriv.core.privacy import (
    BeliefRange,
    breach_curve,
    epsilon,
    float_up,
    format_fraction,
    largest_rise,
    parse_probability,
)
from assocpriv.plans.baskets.information import PlanInformation, mutual_limit, plan_information
from assocpriv.plans.baskets.plan import IN_CLEAR, MOST_REPORTS_PER_PERSON, Plan

if TYPE_CHECKING:
    from assocpriv.planning.shuffling import Central

DEFAULT_PRIORS = ("0.1%", "1%", "5%", "10%", "25%", "50%", "75%", "90%", "99%")
DEFAULT_DELTA = 1e-9
_PLAIN = range(-5, 16)  # powers of ten of figures that are written without an exponent
_LONGEST = 1 << 16  # bits of a composed γ that is kept exact


@dataclass(frozen=True, slots=True)
class Together:
    """What so many reports of one person, each with its own draws, prove together."""

    reports: int
    amplification: Fraction
    beliefs: tuple[BeliefRange, ...]


@dataclass(frozen=True, slots=True)
class Privacy:
    """What a plan proves.

    Attributes:
        plan: the plan.
        one: what one report can do to a property's probability.
        together: the same of several reports of one person.
        information: by size of the transactions, all of one size being equally likely; with hidden sizes of one size.
        people: how many people's reports are shuffled; None if no channel is spoken of.
        central: what holds for their shuffled reports, R of each person; an addition to the promise, not part of it.
    """

    plan: Plan
    one: Together
    together: Together
    information: tuple[PlanInformation, ...]
    people: int | None
    central: "Central | None"


def describe_privacy(
    plan: Plan,
    priors: Iterable["str | float | Fraction"] = (),
    *,
    reports_per_person: int | None = None,
    shuffled: int | None = None,
    delta: float = DEFAULT_DELTA,
) -> Privacy:
    """Return what a plan proves about privacy.

    Args:
        plan: the plan.
        priors: probabilities of a property before a report, for the table; by default usual ones and the promise's.
        reports_per_person: R, reports of one person to look at together; by default as many as the plan allows.
        shuffled: number of people whose reports pass a channel that hides who sent which.
        delta: δ of the guarantee for shuffled reports.

    Raises:
        PlanError: a number out of range, or shuffled reports that tell their sizes.
        EstimateError: a number of people or δ that the guarantee is not made for.
    """
    asked = {parse_probability(prior, "prior") for prior in priors}
    asked |= set() if asked else {plan.promise.prior, plan.promise.posterior, *map(Fraction, _defaults())}
    count = plan.reports_per_person if reports_per_person is None else reports_per_person
    if not 1 <= count <= MOST_REPORTS_PER_PERSON:
        raise PlanError(f"reports per person must lie in 1..{MOST_REPORTS_PER_PERSON}, got {count}")
    largest = min(plan.transaction_size, plan.n_items)
    one, several = (
        Together(number, gamma, breach_curve(gamma, sorted(asked)))
        for number, gamma in ((1, plan.amplification), (count, _power_up(plan.amplification, count)))
    )
    return Privacy(
        plan=plan,
        one=one,
        together=several,
        information=tuple(
            plan_information(plan, size) for size in range(1 if plan.sizes == IN_CLEAR else largest, largest + 1)
        ),
        people=shuffled,
        central=None if shuffled is None else _shuffled(plan, count, shuffled, delta),
    )


def _defaults() -> list[Fraction]:
    return [parse_probability(prior, "prior") for prior in DEFAULT_PRIORS]


def _power_up(amplification: Fraction, count: int) -> Fraction:
    """Return γ^R, or a number slightly above it where γ^R itself would have a hundred thousand bits."""
    if count > 1 and amplification.numerator.bit_length() * count > _LONGEST:
        amplification = Fraction(math.ceil(amplification * (1 << 128)), 1 << 128)
    return amplification**count


def _shuffled(plan: Plan, count: int, people: int, delta: float) -> "Central":
    """Return what shuffled reports guarantee: R reports of each person are R shuffles, whose ε and δ add up."""
    from dataclasses import replace

    from assocpriv.planning.shuffling import blanket_mass, central_guarantee

    if plan.sizes == IN_CLEAR:
        raise PlanError(
            "reports of this plan tell their sizes, which no channel hides, so its people are no single crowd; "
            "leave --shuffled away"
        )
    share = delta if count == 1 else math.nextafter(delta / count, 0)
    each = central_guarantee(plan.amplification, people, share, blanket=blanket_mass(plan.operator))
    total = each.epsilon if count == 1 else math.nextafter(count * each.epsilon, math.inf)
    return replace(each, epsilon=total, delta=delta)


def privacy_record(told: Privacy) -> dict[str, Any]:
    """Return what a plan proves as JSON content."""
    plan = told.plan
    return {
        "plan_id": plan.plan_id,
        "sizes": plan.sizes,
        "covers": "baskets of one size" if plan.sizes == IN_CLEAR else "all baskets",
        "promise": {
            "prior": format_fraction(plan.promise.prior),
            "posterior": format_fraction(plan.promise.posterior),
            "reports_per_person": plan.reports_per_person,
        },
        "amplification_limit": format_fraction(plan.promise.amplification_limit),
        "amplification": format_fraction(plan.amplification),
        "one_report": _together_record(told.one),
        "together": _together_record(told.together),
        "information": {
            "unit": "bits",
            "mutual_limit": _mutual_limit(plan),
            "equally_likely": [
                {
                    "basket_size": part.basket_size,
                    "exact": part.exact,
                    "mutual_least": part.mutual_least,
                    "mutual": part.mutual,
                    "worst": part.worst,
                    "inverse_worst": part.inverse_worst,
                }
                for part in told.information
            ],
        },
        "shuffled": None
        if told.central is None
        else {
            "people": told.people,
            "epsilon": told.central.epsilon,
            "delta": told.central.delta,
            "method": told.central.method,
            "part_of_the_promise": False,
        },
    }


def _together_record(part: Together) -> dict[str, Any]:
    return {
        "reports": part.reports,
        "epsilon": epsilon(part.amplification),
        "largest_rise": largest_rise(part.amplification),
        "log_amplification_bits": _log_bits(part.amplification),
        "worst_limit": information_limit(part.amplification),
        "beliefs": [
            {
                "prior": format_fraction(row.prior),
                "highest_posterior": float_up(row.highest),
                "lowest_posterior": -float_up(-row.lowest),
            }
            for row in part.beliefs
        ],
    }


def _mutual_limit(plan: Plan) -> float:
    """Return what one report tells at most on average, in bits, under any prior."""
    return min(max(mutual_limit(operator) for operator in plan.operators), information_limit(plan.amplification))


def _log_bits(amplification: Fraction) -> float:
    return epsilon(amplification) / math.log(2) * (1 + 1e-15)


def privacy_lines(told: Privacy) -> list[str]:
    """Say what a plan proves."""
    plan, promise = told.plan, told.plan.promise
    in_clear = plan.sizes == IN_CLEAR
    of_one_size = " of one size" if in_clear else ""
    who = "no report lifts"
    if plan.reports_per_person > 1:
        who = f"{plan.reports_per_person} reports of a person together do not lift"
    lines = [
        f"plan         {plan.plan_id}",
        f"promise      {'among baskets of one size ' if in_clear else ''}{who} a belief from "
        f"{_percent(promise.prior, up=False)} to {_percent(promise.posterior, up=True)}, "
        "nor its opposite the other way, whatever the data and whatever else is known",
        f"one report   γ ≤ {_figure(plan.amplification)}, ε = ln γ ≤ {_figure(epsilon(plan.amplification))}: "
        f"no report is more than γ times likelier under one basket than another{of_one_size}",
    ]
    if in_clear:
        lines.append("             the size is sent in clear: NOTHING is promised about it, γ holds within a size only")
    lines += _belief_lines(told)
    lines += _composition_lines(told)
    lines += _information_lines(told)
    return lines + _shuffled_lines(told)


def _belief_lines(told: Privacy) -> list[str]:
    """Show how far beliefs can move, by one report and by several."""
    parts = [told.one] if told.together.reports == 1 else [told.one, told.together]
    names = ["one report", f"{told.together.reports} reports"][: len(parts)]
    lines = [
        f"beliefs      {'':>12}" + "".join(f"{name:>30}" for name in names),
        f"             {'a belief of':>12}" + f"{'at most':>14}{'at least':>16}" * len(parts),
    ]
    for rows in zip(*(part.beliefs for part in parts), strict=True):
        cells = "".join(f"{_percent(row.highest, up=True):>14}{_percent(row.lowest, up=False):>16}" for row in rows)
        lines.append(f"             {f'{float(100 * rows[0].prior):.10g}%':>12}{cells}")
    moves = [_written(100 * Fraction(largest_rise(part.amplification)), 4, up=True) for part in parts]
    told_of = "; ".join(f"{name}: {points} points" for name, points in zip(names, moves, strict=True))
    return [*lines, f"             the most that any belief moves, {told_of}"]


def _composition_lines(told: Privacy) -> list[str]:
    """Say what several reports of one person prove together."""
    part, allowed = told.together, told.plan.reports_per_person
    if part.reports == 1:
        return ["together     each further report of a person multiplies γ and adds ε: two reports have γ² and 2ε"]
    covered = "within" if part.reports <= allowed else "MORE THAN"
    return [
        f"together     {part.reports} reports of a person: γ^{part.reports} ≤ {_figure(part.amplification)}, "
        f"ε ≤ {_figure(epsilon(part.amplification))}, {covered} the {allowed} that the promise covers"
        + (" (if their sizes are equal, report by report)" if told.plan.sizes == IN_CLEAR else "")
    ]


def _information_lines(told: Privacy) -> list[str]:
    """Show worst-case and mutual information."""
    plan, limit = told.plan, _figure(information_limit(told.one.amplification))
    whatever = "whatever the prior" + (" among baskets of one size" if plan.sizes == IN_CLEAR else "")
    lines = [
        "information  in bits: WI and IWI of the report that tells most, I on average",
        f"             of one report, {whatever}: WI and IWI ≤ {limit} (log2 γ ≤ "
        f"{_figure(_log_bits(told.one.amplification))}), I ≤ {_figure(_mutual_limit(plan))}",
    ]
    if told.together.reports > 1:
        limit = _figure(information_limit(told.together.amplification))
        lines.append(f"             of {told.together.reports} reports, {whatever}: WI and IWI ≤ {limit}")
    for part in told.information:
        entries = "item" if part.basket_size == 1 else "items"
        sign, note = ("", "") if part.exact else ("≤ ", " (bounds: the code has too many seeds to go through)")
        figures = [("WI", part.worst), ("IWI", part.inverse_worst), ("I", part.mutual)]
        lines.append(
            f"             of one, all transactions of {part.basket_size} {entries} equally likely: "
            + ", ".join(f"{name} {sign}{_figure(value)}" for name, value in figures)
            + note
        )
    return lines


def _shuffled_lines(told: Privacy) -> list[str]:
    """Say what a trusted channel would add."""
    if told.central is None:
        return []
    of_each = f", {told.together.reports} reports of each," if told.together.reports > 1 else ""
    return [
        "in addition, NOT part of the promise, and only if a channel that you trust hides who sent which report:",
        f"shuffled     reports of {told.people:,} people{of_each} are ({_figure(told.central.epsilon)}, "
        f"{told.central.delta!r})-differentially private for each person ({told.central.method}); "
        "if the channel leaks, the above is all there is",
    ]


def _figure(value: Fraction | float) -> str:
    """Write a figure of privacy with six digits, rounded up."""
    return _written(Fraction(value), 6, up=True)


def _percent(value: Fraction, *, up: bool) -> str:
    """Write a share with four digits, rounded up or down."""
    return _written(100 * value, 4, up=up) + "%"


def _written(value: Fraction, digits: int, *, up: bool) -> str:
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    # a division, so that only one rounding takes place; the numerator may be longer than the context
    rounded = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)
    return f"{rounded:f}" if rounded.adjusted() in _PLAIN else f"{rounded:g}"
