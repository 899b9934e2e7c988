"""Plans of baskets, as text for a person or as JSON content.

What a plan promises, what so many reports of it can show, and how far crafted ones move that. Of the sizes of baskets:
what sampling them to M items loses, what each M would mean, and what reading left out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

from assocpriv.planning.discovery import EPSILON_STEPS, REPORTS, Discovery, Prospects, foresee
from assocpriv.planning.transaction_size import SizeRow
from assocpriv.plans.catalogue import itemsets_of
from assocpriv.plans.kind import load_for
from assocpriv.promise.breaches import Breach, epsilon, format_fraction, highest_posterior
from assocpriv.promise.errors import counted
from assocpriv.show import figures
from assocpriv.show.outcomes import count_lines, loss_lines

if TYPE_CHECKING:
    from assocpriv.planning.shortlist import Refinement
    from assocpriv.plans.baskets import Plan
    from assocpriv.plans.question import Question
    from assocpriv.server.intervals import DiscoverableSupports
    from assocpriv.simulation.samples import SamplePlan

LOWEST, LEVEL = "lowest_discoverable_support", "level_discoverable_support"
_CODE_NAMES = {"none": "no code (one bit an item)", "bch": "BCH", "reed-solomon": "Reed–Solomon"}
_FAR = 10  # times more reports than a sample has baskets, from which the number is likely no choice
_SIZES_EXPLAINED = (
    "longer: baskets with more than M items; surviving: what sampling to M leaves of the support of the most frequent "
    "itemsets; discoverable: the lowest support from {reports} reports, within the M sampled items, and raw, in whole "
    "baskets (the former over what survives)"
)


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
    plan = prospects.plan
    m, items = plan.items.transaction_size, plan.items
    insertion = _INSERTION[items.operator.kind](items)
    within = f"within at most {counted(m, 'sampled item')} a basket"
    return [
        f"plan        {plan.plan_id}",
        f"            {plan.n_items:,} items, at most {m} a transaction (its size is hidden)",
        *_promise_lines(prospects),
        f"report      {counted(plan.report_bytes, 'byte')} "
        f"({items.report_bits:,} bits, {insertion.code}); the basket as {plan.n_items:,} bits would take "
        f"{counted(-(-plan.n_items // 8), 'byte')}",
        f"operator    {insertion.operator}, kept sizes 0…{m} made likelier: {items.operator.pattern}",
        *_question_lines(plan),
        f"from {prospects.reports:,} reports, {within}, the lowest discoverable support is",
        *_discoverable_lines(prospects),
        *influence_lines(prospects),
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
        return ["            none: nothing below 100% can be discovered"]
    rows = [("of one itemset", "of all of its size", "")]
    rows += [
        (figures.discoverable(one), figures.discoverable(limits.level[k]), f"{itemsets_of(k)} ({comb(n_items, k):,})")
        for k, one in limits.lowest.items()
    ]
    return [
        *(f"            {one:>14}  {whole:>18}  {name}".rstrip() for one, whole, name in rows),
        "            first column: one itemset that was named beforehand; second: all of its size, with fewer than one",
        "            false find in 100 collections",
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
        f"liars       one crafted report of {prospects.reports:,} moves {moved} "
        f"by up to {one}{several * (per_person > 1)},",
        f"            1% of them move it by {share}; each can show {counted(targets, 'item')} at once",
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


# ---- discovery


def discovery_record(found: Discovery) -> dict[str, Any]:
    """Return which support was to be discovered, of which itemset sizes, and what was solved for."""
    support = format_fraction(found.support)
    return {"discover": {"support": support, "itemset_sizes": list(found.targets), "solved_for": found.solved}}


def discovery_lines(found: Discovery) -> list[str]:
    """Say which reports or which promise a support needs."""
    support, promise = figures.percent_as_given(float(found.support)), found.promise
    if found.solved == REPORTS:
        needs = f"{support} with {found.reports:,} reports (the plan for one fewer: not)"
    else:
        least = epsilon(promise.amplification_limit)
        beliefs = (
            f"{figures.percent_within(promise.prior, up=False)} → {figures.percent_within(promise.posterior, up=True)}"
        )
        stricter = f"(plan for {least - 1 / EPSILON_STEPS:.2f}: not)"
        needs = f"{support} with {found.reports:,} reports, ε {least:.2f}, {beliefs} {stricter}"
    sizes = _and([itemsets_of(k) for k in found.targets])
    return [f"discover    {needs}", f"            for {sizes}, all of a size together"]


def _and(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


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


def refinement_record(refinement: "Refinement", prospects: Prospects) -> dict[str, Any]:
    """Return a plan of a shortlist, and what its reports can show, for ``--json``."""
    return plan_record(prospects) | {
        "before": refinement.before.plan_id,
        "entries": list(refinement.plan.catalogue),
        "entries_held": refinement.held,
        "least_min_support": figures.finite(prospects.least_min_supports),
        "both": {
            "amplification_limit": format_fraction(refinement.amplification_limit),
            "epsilon": epsilon(refinement.amplification_limit),
            "highest_posterior": format_fraction(refinement.highest_posterior),
            "lowest_posterior": format_fraction(refinement.lowest_posterior),
        },
    }


def refinement_lines(refinement: "Refinement", prospects: Prospects) -> list[str]:
    """Say what a plan of a shortlist asks, and what it means for whoever answers both collections."""
    plan, before, both = refinement.plan, refinement.before, refinement.amplification_limit
    posterior = figures.percent_within(plan.promise.posterior, up=True)
    least = ", ".join(
        f"{figures.percent_up(support)} for {itemsets_of(k)}" for k, support in prospects.least_min_supports.items()
    )
    return [
        f"for OTHER people than those of plan {before.plan_id[:16]}…",
        *plan_lines(prospects),
        f"catalogue   {plan.n_items:,} items; a person is expected to hold {refinement.held:.2f}, by a Poisson law: "
        "nothing is known of sizes",
        f"            mine with a --min-support of at least {least}; with less, none of that size are reported",
        f"answering both plans: γ < {figures.figure_up(float(both))}, ε ≤ {figures.figure_up(epsilon(both))}; "
        f"{figures.becomes(plan.promise.prior, refinement.highest_posterior, Fraction(1))}, not {posterior}. "
        "Each further answer multiplies γ again",
        *[f"            that holds for {before.reports_per_person:,} reports of the first plan and one of this"]
        * (before.reports_per_person > 1),
    ]


# ---- sizes of baskets


def sample_lines(done: "SamplePlan", reports: int, *, by_default: bool = False) -> list[str]:
    """Say what was left out of a sample, what each transaction size would mean for it, and what sampling loses.

    Also what so few reports could show, where the sample is far below a number of reports that is a default.
    """
    sizes = _size_lines(done.size_rows, reports) if done.size_rows else []
    if done.sample is None or done.loss is None:
        return sizes
    counts = count_lines(done.sample.counts, done.sample.empty, done.plan)
    read = f"sample of {done.sample.counts.baskets:,} baskets, plan for {reports:,} reports (--reports)"
    few = _few_lines(done.plan, done.sample.counts.baskets, reports) if by_default else []
    return [read, *few, *counts, *sizes, *loss_lines(done.loss)]


def _few_lines(plan: "Plan", baskets: int, reports: int) -> list[str]:
    if not 0 < baskets * _FAR <= reports:
        return []
    limits = foresee(plan, baskets).discoverable.lowest
    shown = ", ".join(f"{itemsets_of(k)} {figures.discoverable(limit)}" for k, limit in limits.items())
    return [
        f"warning: {reports:,} reports are the default; for as many as the sample has give --reports {baskets}",
        f"from {baskets:,} reports the lowest discoverable support would be: {shown}",
    ]


def size_records(rows: "Sequence[SizeRow]") -> list[dict[str, Any]]:
    """Return what each transaction size would mean for baskets like a sample's, for ``--json``."""
    return [
        {
            "transaction_size": row.transaction_size,
            "longer_share": row.longer,
            "surviving_support": figures.finite(row.surviving),
            LOWEST: figures.finite(row.lowest_discoverable_support),
            "lowest_raw_support": figures.finite(row.lowest_raw_support),
            "proposed": row.proposed,
        }
        for row in rows
    ]


def _size_lines(rows: "Sequence[SizeRow]", reports: int) -> list[str]:
    """Show what each transaction size would mean for baskets like a sample's."""
    largest = max(rows[0].surviving)
    names = ["singles", "pairs", "triples", *(f"k={k}" for k in range(4, largest + 1))][:largest]
    parts = ["surviving", "discoverable of M", "discoverable raw"]
    width = 9 * largest
    lines = [
        f"{'':>3} {'':>7}" + "".join(f" |{part:>{width}}" for part in parts),
        f"{'M':>3} {'longer':>7}" + (" |" + "".join(f"{name:>9}" for name in names)) * 3,
    ]
    for row in rows:
        shown = [
            [figures.percent(share, 1) for share in row.surviving.values()],
            [figures.discoverable(limit) for limit in row.lowest_discoverable_support.values()],
            [figures.discoverable(limit) for limit in row.lowest_raw_support.values()],
        ]
        cells = "".join(" |" + "".join(f"{text:>9}" for text in texts) for texts in shown)
        lines.append(
            f"{row.transaction_size:>3} {figures.percent(row.longer, 1, 7)}{cells}"
            + ("  ← proposed" if row.proposed else "")
        )
    return [*lines, _SIZES_EXPLAINED.format(reports=f"{reports:,}")]


# ---- kinds of plans


class Description(NamedTuple):
    """Something as JSON content and as text, whichever is asked for."""

    record: Callable[[], dict[str, Any]]
    lines: Callable[[], list[str]]


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
