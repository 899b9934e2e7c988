"""Plans of baskets, as text for a person or as JSON content.

What a plan promises, what so many reports of it can show, and how far crafted ones move that; what it was chosen for.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

from assocpriv.planning.baskets import SHORT_BYTES, choose_plan, whole_levels
from assocpriv.planning.discovery import REPORTS, Prospects, foresee
from assocpriv.planning.expected import Sizes
from assocpriv.planning.information import spent
from assocpriv.planning.shortlist import short_catalogue
from assocpriv.plans.catalogue import itemsets_of
from assocpriv.plans.kind import load_for
from assocpriv.promise.breaches import Breach, epsilon, format_fraction, highest_posterior
from assocpriv.promise.errors import counted
from assocpriv.show import figures

if TYPE_CHECKING:
    from assocpriv.planning.baskets import Choice
    from assocpriv.planning.discovery import Found
    from assocpriv.planning.shortlist import Refinement
    from assocpriv.plans.baskets import Plan
    from assocpriv.plans.question import Question
    from assocpriv.server.intervals import DiscoverableSupports

LOWEST, LEVEL = "lowest_discoverable_support", "level_discoverable_support"
_MORE = tuple(10**k for k in range(3, 9))  # reports that may show more, or this promise does
_LENIENT = Breach("1%", "50%")
_CODE_NAMES = {"none": "no code (one bit an item)", "bch": "BCH", "reed-solomon": "Reed–Solomon"}


# ---- plans


def plan_record(prospects: Prospects) -> dict[str, Any]:
    """Return what a plan promises and what so many reports of it can show, for ``--json``."""
    plan = prospects.plan
    return {
        "plan_id": plan.plan_id,
        "items": plan.n_items,
        **figures.fields(plan.items, "transaction_size itemset_size"),
        "promise": promise_record(plan.promise),
        "amplification_limit": format_fraction(plan.promise.amplification_limit),
        "amplification": format_fraction(plan.amplification),
        "epsilon": epsilon(plan.amplification),
        "reports_per_person": plan.reports_per_person,
        "composed_amplification": format_fraction(prospects.composed_amplification),
        "plan_kind": plan.kind,
        "questions": [_question_record(question, plan) for question in plan.questions],
        "report_bytes": plan.report_bytes,
        "reports": prospects.reports,
        **_discoverable_record(prospects.discoverable),
        "influence": _influence_record(prospects),
        "forged_sizes": [
            {"share": each.share, "factors": {str(k): f for k, f in each.factors.items()}, "noticed": each.noticed}
            for each in prospects.forged
        ],
    }


def _question_record(question: "Question", plan: "Plan") -> dict[str, Any]:
    """Return what a question asks, of which share of the people, and how it is answered."""
    return {
        "asks": question.view.asks(question.transaction_size),
        "view": question.view.to_json(),
        "share": float(plan.share(question)),
        "amplification": format_fraction(question.amplification),
        "report_bits": question.report_bits,
        "operator": question.operator.kind,
        **_INSERTION[question.operator.kind](question).record,
        "pattern": question.operator.pattern,
        "code": question.generator.kind,
    }


def promise_record(promise: Breach) -> dict[str, str]:
    """Return both sides of a promise."""
    return {"prior": format_fraction(promise.prior), "posterior": format_fraction(promise.posterior)}


def _discoverable_record(limits: "DiscoverableSupports") -> dict[str, dict[str, float | None]]:
    return {LOWEST: figures.finite(limits.lowest), LEVEL: figures.finite(limits.level)}


def plan_lines(prospects: Prospects) -> list[str]:
    """Say what a plan promises and what so many reports of it can show."""
    return [*_made_lines(prospects), *_limit_lines(prospects)]


def _limit_lines(prospects: Prospects) -> list[str]:
    """Say how items are randomized, which support can be detected at least, and what fake reports do to that."""
    items = prospects.plan.items
    m, insertion = items.transaction_size, _INSERTION[items.operator.kind](items)
    return [
        f"operator    {insertion.operator}, kept sizes 0…{m} made likelier: {items.operator.pattern}",
        f"detect      from {prospects.reports:,} reports, within at most {counted(m, 'sampled item')} a basket",
        *_discoverable_lines(prospects),
        *influence_lines(prospects),
    ]


def _made_lines(prospects: Prospects) -> list[str]:
    """Say what a plan promises, how long a report is and what is asked."""
    plan = prospects.plan
    m, items = plan.items.transaction_size, plan.items
    insertion = _INSERTION[items.operator.kind](items)
    return [
        f"plan        {plan.plan_id}",
        f"            {plan.n_items:,} items, at most {m} a transaction (its size is hidden)",
        *_promise_lines(prospects),
        f"report      {counted(plan.report_bytes, 'byte')} "
        f"({items.report_bits:,} bits, {insertion.code}); the basket as {plan.n_items:,} bits would take "
        f"{counted(-(-plan.n_items // 8), 'byte')}",
        *_question_lines(plan),
    ]


def _question_lines(plan: "Plan") -> list[str]:
    """Say what each question asks, of which share of the people, where there are several."""
    if len(plan.questions) == 1:
        return []
    starts = ["questions  ", *[" " * 11] * len(plan.questions)]
    return [
        f"{start} {figures.percent_as_given(float(plan.share(question)))} of the people say "
        f"{question.view.asks(question.transaction_size)} ({question.report_bits:,} bits, "
        f"γ ≤ {figures.figure_up(float(question.amplification))})"
        for start, question in zip(starts, plan.questions, strict=False)
    ]


def _promise_lines(prospects: Prospects) -> list[str]:
    """Say what is promised of all reports of one person, and of one report where there may be several."""
    plan, together = prospects.plan, prospects.composed_amplification
    promise, several = plan.promise, plan.reports_per_person
    prior, posterior = (
        figures.percent_within(promise.prior, up=False),
        figures.percent_within(promise.posterior, up=True),
    )
    limit = figures.figure_up(float(promise.amplification_limit))

    def worst(amplification: Fraction) -> str:
        return figures.becomes(promise.prior, highest_posterior(promise.prior, amplification), promise.posterior)

    if several == 1:
        return [
            f"promise     no report lifts a belief from {prior} to {posterior}, whatever the data: {worst(together)}",
            f"            γ < {limit}, ε = ln γ ≤ {figures.figure_up(epsilon(together))}",
        ]
    return [
        f"promise     {several:,} reports of one person together: they lift no belief from {prior} "
        f"to {posterior}, whatever the data: {worst(together)}",
        f"            γ of all < {limit}, ε = ln γ ≤ {figures.figure_up(epsilon(together))}",
        f"            one report alone: γ ≤ {figures.figure_up(float(plan.amplification))}, "
        f"ε ≤ {figures.figure_up(epsilon(plan.amplification))}; {worst(plan.amplification)}",
    ]


def _discoverable_lines(prospects: Prospects) -> list[str]:
    """Show both figures of what can be discovered, a line an itemset size."""
    limits, n_items = prospects.discoverable, prospects.plan.n_items
    if all(limit >= 1 for limit in limits.lowest.values()):
        return ["            nothing below a support of 100%"]
    rows = [("chosen beforehand", "searching all", "smallest support of")]
    rows += [
        (figures.discoverable(one), figures.discoverable(limits.level[k]), f"{itemsets_of(k)} ({comb(n_items, k):,})")
        for k, one in limits.lowest.items()
    ]
    return [
        *(f"            {one:>17}  {whole:>13}  {name}" for one, whole, name in rows),
        "            chosen beforehand: one itemset; searching all: fewer than one false find in 100 collections",
    ]


@dataclass(frozen=True, slots=True)
class _Insertion:
    """How items that nobody has come into a report: its fields as JSON content, and two phrases of the text."""

    record: dict[str, Any]
    code: str
    operator: str


def _independent(question: "Question") -> _Insertion:
    chance = format_fraction(question.independent.default_probability)
    record = {"default_probability": chance, "report_size": None}
    return _Insertion(record, _CODE_NAMES[question.generator.kind], f"default probability {chance}")


def _fixed_size(question: "Question") -> _Insertion:
    size, items = question.fixed.report_size, question.fixed.items
    record = {"default_probability": None, "report_size": size}
    return _Insertion(record, "the number of a set", f"reports of exactly {size:,} of {items:,} items")


_INSERTION = {"select-a-size": _independent, "fixed-size": _fixed_size}  # by the kind of operator


# ---- crafted reports


def _influence_record(prospects: Prospects) -> dict[str, Any]:
    """Return how far crafted reports among N move estimates, by itemset size (docs/cli tells the fields)."""
    return {
        "targets_at_once": prospects.most_targets,
        "itemsets": {
            str(k): liars and figures.fields(liars, "one_report one_person") | {"one_percent": list(liars.one_percent)}
            for k, liars in prospects.liars.items()
        },
    }


def influence_lines(prospects: Prospects) -> list[str]:
    """Say how far crafted reports among N move estimates."""
    known = {str(k): liars for k, liars in prospects.liars.items() if liars is not None}
    if not known:
        return []
    one = _alike([_most(liars.one_report) for liars in known.values()])
    share = _alike([_changes(liars.one_percent) for liars in known.values()])
    moved = f"the support of itemsets of {', '.join(known)} item{'s' * (list(known) != ['1'])}"
    targets, per_person = prospects.most_targets, prospects.plan.reports_per_person
    several = f" (all {per_person} of one person that many times as far)"
    return [
        f"fake        one fake report of {prospects.reports:,} shifts {moved} by at most "
        f"{one}{several * (per_person > 1)};",
        f"            1% of them shift it by {share}; each can show {counted(targets, 'item')} at once",
        *_forged_lines(prospects),
    ]


def _forged_lines(prospects: Prospects) -> list[str]:
    """Say what forged answers about sizes do to what supports are multiplied by, those of the largest itemsets."""
    if not prospects.forged:
        return []
    honest, *others = prospects.forged
    k = max(honest.factors)
    return [
        f"            undoing the sampling multiplies the support of {itemsets_of(k)} in usual baskets by "
        f"{honest.factors[k]:.3g};",
        *(
            f"            by {forged.factors[k]:,.{3 if forged.factors[k] < 10 else 0}f} if "
            f"{figures.percent_as_given(forged.share, 2)} of all reports say that baskets are of the largest class"
            f"{', which is noticed' * forged.noticed}"
            for forged in others
        ),
    ]


def _most(change: float) -> str:
    return figures.percent_as_given(change, 2) if change <= 1 else "more than 100%"


def _changes(changes: Sequence[float]) -> str:
    """Write how far estimates move down and up; beyond 100% a figure would say no more."""
    if min(map(abs, changes)) > 1:
        return "more than 100% either way"
    return " … ".join(
        f"{100 * each:+.3g}%" if abs(each) <= 1 else f"beyond {math.copysign(1, each):+.0%}" for each in changes
    )


def _alike(texts: list[str]) -> str:
    return texts[0] if len(set(texts)) == 1 else ", ".join(texts)


# ---- the choice of a plan


def choice_record(choice: "Choice", found: "Found | None" = None) -> dict[str, Any]:
    """Return a plan as :func:`plan_record`, what it was chosen for and what is expected of it, for ``--json``."""
    plan, sizes, short = choice.plan, choice.request.sizes, short_catalogue(choice)
    believed: dict[str, float | None] = figures.finite(dict(whole_levels(plan, choice.reports, sizes)))
    told, costs = spent(plan), choice.short_costs
    record = plan_record(foresee(plan, choice.reports, forged=False)) | {
        "assumed_sizes": {"source": sizes.source, "mean": round(sizes.mean, 6)},
        "other_means": [{"mean": mean, "transaction_size": m} for mean, m in choice.other_means.items()],
        "expected": {
            str(k): figures.fields(each, "support noise undoing factor")
            | {"error": each.total, "believed_from": believed[str(k)]}
            for k, each in choice.expected.items()
        },
        "eight_bytes_cost": None if costs is None or math.isinf(costs) else costs - 1,
        "spent": None if told is None else {str(k): share for k, share in told.items()},
        "short_catalogue": short and figures.fields(short, "items share held gain pays"),
    }
    if found is None:
        return record
    support = format_fraction(found.support)
    return record | {"find": {"support": support, "itemset_size": found.size, "looked_for": found.solved}}


def choice_lines(choice: "Choice", found: "Found | None" = None, *, verbose: bool = False) -> list[str]:
    """Say what was looked for, the plan, what was assumed for it, what is expected and what else could be done."""
    plan, reports = choice.plan, choice.reports
    lines, prospects = [] if found is None else _found_lines(found), foresee(plan, reports, forged=False)
    lines += _made_lines(prospects)
    if choice.request.paper or verbose:
        lines += _limit_lines(prospects)
    if choice.request.paper:
        return lines
    lines += [*_sizes_lines(choice), *_expected_lines(choice), *_short_lines(choice)]
    told = spent(plan) if verbose else None
    if told is not None:
        parts = ", ".join(f"{itemsets_of(k)} {figures.percent(share, 0)}" for k, share in told.items())
        whole = figures.percent(sum(told.values()), 0)
        lines.append(f"bound       spends {whole} of what any local method with this promise could tell: {parts}")
    return lines


def _found_lines(found: "Found") -> list[str]:
    """Say which reports or which promise a support needs."""
    support, promise = figures.percent_as_given(float(found.support)), found.promise
    least = epsilon(promise.amplification_limit)
    beliefs = (
        f"{figures.percent_within(promise.prior, up=False)} → {figures.percent_within(promise.posterior, up=True)}"
    )
    need = f"about {found.reports:,} reports" if found.solved == REPORTS else f"ε {least:.2f}, {beliefs}"
    what = f"all {itemsets_of(found.size)} in {support} of baskets"
    with_them = f" with {found.reports:,} reports" * (found.solved != REPORTS)
    return [f"need        {need}, to find {what}{with_them}"]


def _sizes_lines(choice: "Choice") -> list[str]:
    """Say how large baskets are taken to be, and what others would have chosen."""
    sizes, m = choice.request.sizes, choice.plan.items.transaction_size
    said = {
        "usual": "assumed: baskets of {mean:.3g} items on average (say --mean-size, items sold over receipts)",
        "mean": "baskets of {mean:.3g} items on average, as told; their spread is assumed",
        "sample": "baskets as in the sample, of {mean:.3g} items on average",
    }[sizes.source].format(mean=sizes.mean)
    others = " and ".join(f"{other} for {mean:.3g}" for mean, other in choice.other_means.items())
    lines = [f"sizes       {said}"]
    if len(choice.request.transaction_sizes) > 1:
        lines.append(f"            at most {m} of a basket are sampled; it would be {others} items on average")
    return lines


def _expected_lines(choice: "Choice") -> list[str]:
    """Show what is expected of usual itemsets, and from where on all of a size can be believed."""
    levels = whole_levels(choice.plan, choice.reports, choice.request.sizes)
    lines = [
        f"expected    from {choice.reports:,} reports, in whole baskets",
        "            of one usual itemset  ± error   of it by noise, by undoing  all believed from",
    ]
    for k, each in choice.expected.items():
        parts = f"{figures.percent(each.noise, 2)}, {figures.percent(each.undoing, 2)}"
        told = f"{figures.percent(each.support, 1, 7)} {figures.percent(each.total, 2, 8)} {parts:>28}"
        lines.append(f"            {itemsets_of(k):<12} {told}  {figures.discoverable(levels[k]):>17}")
    return lines


def least_pairs(choice: "Choice") -> str:
    """Say from which support on pairs can be believed, single items where none are asked for; as in the table."""
    return _least_said(choice.plan, _least_level(choice.plan, choice.reports, choice.request.sizes))


def _least_level(plan: "Plan", reports: int, sizes: Sizes) -> float:
    return whole_levels(plan, reports, sizes)[min(2, plan.items.itemset_size)]


def _least_said(plan: "Plan", level: float) -> str:
    name = itemsets_of(min(2, plan.items.itemset_size))
    return f"no {name} (too few people)" if level >= 1 else f"{name} from {figures.discoverable(level)} on"


def nothing_found_lines(plan: "Plan", reports: int) -> list[str]:
    """Say what can be believed of so many reports, and what more of them, or a weaker promise, would show.

    Baskets are taken to be as large as usual.
    """
    sizes = Sizes.usual(plan.n_items)
    level = _least_level(plan, reports, sizes)
    lines = [f"nothing can be told from noise; {counted(reports, 'report')} can show {_least_said(plan, level)}"]
    tried = ((n, _least_level(plan, n, sizes)) for n in _MORE if n > 2 * reports)
    found = next(((n, each) for n, each in tried if each < min(1, level)), None)
    if found is not None:
        lines.append(f"{found[0]:,} reports would show {_least_said(plan, found[1])}")
    if plan.promise.amplification_limit < _LENIENT.amplification_limit:
        weaker = choose_plan(plan.n_items, _LENIENT, reports=reports, itemset_size=plan.items.itemset_size)
        level = _least_level(weaker.plan, reports, weaker.request.sizes)
        said = f"the promise 1% → 50% would show {_least_said(weaker.plan, level)}, for less privacy"
        lines += [said] if level < 1 else []
    return lines


def _short_lines(choice: "Choice") -> list[str]:
    """Say what shorter reports would cost, and what a short catalogue would gain."""
    lines, costs = [], choice.short_costs
    if costs is not None and choice.plan.items.report_bits > 8 * SHORT_BYTES:
        more = (
            f"would have errors larger by {costs - 1:.0%}" if math.isfinite(costs) else "are not enough for any design"
        )
        lines.append(f"shorter     reports of {SHORT_BYTES} bytes {more}")
    short = short_catalogue(choice)
    if short is not None and short.pays:
        lines += [
            f"best sold   asking only about the {short.items} best sold items would make errors of pairs "
            f"{1 - short.error:.0%} smaller, if {short.share:.0%} of all sales are theirs (Zipf's law):",
            f"            assocpriv catalogue --sales sales.csv --best {short.items} -o best.txt",
            f"            assocpriv plan --catalogue best.txt --others drop --mean-size {short.held:.2g} …",
        ]
    return lines


def needed_record(needed: dict[int, int | None] | None) -> dict[str, Any]:
    """Return how many reports of a plan discover a support, by itemset size, if that was asked."""
    return {} if needed is None else {"reports_needed": {str(k): count for k, count in needed.items()}}


def needed_lines(needed: dict[int, int | None] | None, support: str | None) -> list[str]:
    """Say it."""
    return [
        f"discover    {support} takes {'more than 10^15 reports' if count is None else counted(count, 'report')} "
        f"for {itemsets_of(k)}, all together"
        for k, count in (needed or {}).items()
    ]


# ---- a plan for other people


def refinement_record(refinement: "Refinement") -> dict[str, Any]:
    """Return a plan of a short catalogue, and what it gains, for ``--json``."""
    return plan_record(foresee(refinement.plan, refinement.reports, forged=False)) | {
        "before": refinement.before.plan_id,
        "short_catalogue": figures.fields(refinement.short, "items share held gain pays"),
        "both": {
            "amplification_limit": format_fraction(refinement.amplification_limit),
            "epsilon": epsilon(refinement.amplification_limit),
            "highest_posterior": format_fraction(refinement.highest_posterior),
            "lowest_posterior": format_fraction(refinement.lowest_posterior),
        },
    }


def refinement_lines(refinement: "Refinement") -> list[str]:
    """Say what a plan of a short catalogue asks, whether it pays, and what it means for whoever answers both."""
    plan, before, both = refinement.plan, refinement.before, refinement.amplification_limit
    posterior, short = figures.percent_within(plan.promise.posterior, up=True), refinement.short
    verdict = (
        f"pays: errors of pairs {1 - short.error:.0%} smaller than by asking as many people what the first were asked"
        if short.pays
        else "DOES NOT PAY: ask other people what the first were asked, and mine the reports of all together"
    )
    return [
        verdict,
        f"for OTHER people than those of plan {before.plan_id[:16]}…",
        *plan_lines(foresee(plan, refinement.reports, forged=False)),
        f"catalogue   {short.items:,} items, on which {short.share:.0%} of all items bought fall; a basket holds "
        f"{short.held:.3g} of them on average",
        f"answering both plans: γ < {figures.figure_up(float(both))}, ε ≤ {figures.figure_up(epsilon(both))}; "
        f"{figures.becomes(plan.promise.prior, refinement.highest_posterior, Fraction(1))}, not {posterior}. "
        "Each further answer multiplies γ again",
        *[f"            that holds for {before.reports_per_person:,} reports of each plan"]
        * (before.reports_per_person > 1),
    ]


# ---- kinds of plans


class Description(NamedTuple):
    """Something as JSON content and as text, whichever is asked for, and what is to be noted of it."""

    record: Callable[[], dict[str, Any]]
    lines: Callable[[], list[str]]
    notes: tuple[str, ...] = ()


def describe_plan(plan: Any, reports: int) -> Description:
    """Return both ways to describe a plan, and what so many reports of it can show.

    Raises:
        PlanError: plans of its kind are not known here.
    """
    entries = ("planning.foresee", "show.record", "show.lines")
    foresee, record, lines = (load_for(plan.kind, each, "described") for each in entries)
    prospects = foresee(plan, reports)
    if plan.amplification is not None:
        return Description(lambda: record(prospects), lambda: lines(prospects))
    return Description(
        lambda: record(prospects) | {"amplification": None},
        lambda: [f"no γ        {plan.unbounded}", *lines(prospects)],
    )


def describe_simulation(done: Any, plan: Any, top: int) -> Description:
    """Return both ways to describe what :func:`assocpriv.simulate` found, text with so many rows of a table."""
    found: Description = load_for(plan.kind, "show.simulated", "described")(done, plan, top)
    return found
