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

from assocpriv.planning.blocks import LEAST_BLOCKS
from assocpriv.planning.discovery import EPSILON_STEPS, REPORTS, Discovery, Prospects, foresee
from assocpriv.planning.transaction_size import SizeRow
from assocpriv.plans.catalogue import itemsets_of
from assocpriv.plans.kind import load_for
from assocpriv.plans.view import NUMBER_BYTES
from assocpriv.promise.breaches import Breach, epsilon, format_fraction, highest_posterior
from assocpriv.promise.errors import counted
from assocpriv.show import figures
from assocpriv.show.outcomes import count_lines, loss_lines

if TYPE_CHECKING:
    from assocpriv.plans.baskets import Plan
    from assocpriv.server.intervals import DiscoverableSupports
    from assocpriv.simulation.samples import SamplePlan

LOWEST, LEVEL = "lowest_discoverable_support", "level_discoverable_support"
_ENTRIES, SIZES = {"items": "items", "itemsets": "itemsets"}, "sizes"
_CODE_NAMES = {"none": "no code (one bit an item)", "bch": "BCH", "reed-solomon": "Reed–Solomon"}
_ONE = {1: "single item", 2: "pair", 3: "triple"}
_DISCOVERED = {False: ("itemset", "of its size", ""), True: ("class", "classes", "classes of sizes")}
_FAR = 10  # times more reports than a sample has baskets, from which the number is likely no choice
_SIZES_EXPLAINED = {
    False: "longer: baskets with more than M items; surviving: what sampling to M leaves of the support of the most "
    "frequent itemsets; discoverable: the lowest support from {reports} reports, within the M sampled items, and raw, "
    "in whole baskets (the former over what survives)",
    True: "blocks: parts of the catalogue, of which a report is about one; longer: baskets with more than M items of "
    "it; surviving: what sampling to M leaves of the support of the most frequent itemsets; discoverable: the lowest "
    "support from {reports} reports, within the M sampled items, and raw, in whole baskets (the former over what "
    "survives)",
}


# ---- plans


def plan_record(prospects: Prospects) -> dict[str, Any]:
    """Return what a plan promises and what so many reports of it can show, for ``--json``."""
    plan = prospects.plan
    return {
        "plan_id": plan.plan_id,
        "items": plan.n_items,
        "view": plan.view.kind,
        "blocks": _blocks_record(prospects),
        **figures.fields(plan, "transaction_size itemset_size"),
        "promise": promise_record(plan.promise),
        "amplification_limit": format_fraction(plan.promise.amplification_limit),
        "amplification": format_fraction(plan.amplification),
        "epsilon": epsilon(plan.amplification),
        "reports_per_person": plan.reports_per_person,
        "composed_amplification": format_fraction(prospects.composed_amplification),
        "plan_kind": plan.kind,
        **_INSERTION[plan.kind](plan).record,
        "pattern": plan.operator.pattern,
        "code": plan.generator.kind,
        **figures.fields(plan, "report_bits report_bytes"),
        "reports": prospects.reports,
        **_discoverable_record(prospects.discoverable),
        "influence": _influence_record(prospects),
    }


def _blocks_record(prospects: Prospects) -> dict[str, Any] | None:
    """Say how the catalogue is cut, and of how many people which itemsets are asked; None without blocks."""
    blocks = prospects.plan.view.blocks
    if blocks is None:
        return None
    asked = {str(k): float(share) for k, share in prospects.asked.items()}
    return blocks.to_json() | {"block_items": prospects.plan.asked_items, "asked_share": asked}


def promise_record(promise: Breach) -> dict[str, str]:
    """Return both sides of a promise."""
    return {"prior": format_fraction(promise.prior), "posterior": format_fraction(promise.posterior)}


def _discoverable_record(limits: "DiscoverableSupports") -> dict[str, dict[str, float | None]]:
    return {LOWEST: figures.finite(limits.lowest), LEVEL: figures.finite(limits.level)}


def plan_lines(prospects: Prospects) -> list[str]:
    """Say what a plan promises and what so many reports of it can show."""
    plan = prospects.plan
    m, insertion, of_sizes = plan.transaction_size, _INSERTION[plan.kind](plan.block_plan), plan.view.kind == SIZES
    head = f"{8 * NUMBER_BYTES} of them the part, " * (plan.view.blocks is not None)
    within = f"within at most {counted(m, 'sampled item')} {'of its part ' * bool(prospects.asked)}a basket"
    return [
        f"plan        {plan.plan_id}",
        _asked_line(plan),
        *_block_lines(prospects),
        *_promise_lines(prospects),
        f"report      {counted(plan.report_bytes, 'byte')} "
        f"({plan.report_bits:,} bits, {head}{insertion.code}); "
        f"the {'size' if of_sizes else 'basket'} as {plan.n_items:,} bits would take "
        f"{counted(-(-plan.n_items // 8), 'byte')}",
        f"operator    {insertion.operator}, kept sizes 0…{m} made likelier: {plan.operator.pattern}",
        f"from {prospects.reports:,} reports, the lowest discoverable share of baskets is"
        if of_sizes
        else f"from {prospects.reports:,} reports, {within}, the lowest discoverable support is",
        *_discoverable_lines(prospects),
        *influence_lines(prospects),
    ]


def _asked_line(plan: "Plan") -> str:
    """Say what a plan asks for."""
    if plan.view.kind == SIZES:
        classes = ", ".join(plan.catalogue[entry] for entry in range(plan.n_items))
        return f"            asks for the size of a basket, and nothing else, in {plan.n_items:,} classes: {classes}"
    entries, most = _ENTRIES[plan.view.kind], plan.transaction_size
    return f"            {plan.n_items:,} {entries}, at most {most} a transaction (its size is hidden)"


def _block_lines(prospects: Prospects) -> list[str]:
    """Say what a report is about, and of how many people which itemsets are asked."""
    blocks, plan = prospects.plan.view.blocks, prospects.plan
    if blocks is None:
        return []
    asked = ", ".join(f"1 of {_people(share)} about {_one_of(k)}" for k, share in prospects.asked.items() if share)
    parts, ways = f"{blocks.count:,} parts", counted(blocks.partitions, "way")
    held = {k: float(share * blocks.count) for k, share in prospects.asked.items()}
    rarely = [
        f"            {_one_of(k)} lies in {parts_held:.2g} of these parts on average: many lie in none; give fewer"
        for k, parts_held in held.items()
        if parts_held < LEAST_BLOCKS
    ]
    return [
        f"blocks      each report is about 1 of {blocks.pieces:,} random parts of the catalogue, "
        f"{plan.asked_items:,} {_ENTRIES[plan.view.kind]} at most;",
        f"            the device draws it from {parts} ({ways} to cut), whatever the basket, and names it in clear;",
        f"            so of all people are asked {asked}",
        *rarely,
    ]


def _people(share: Fraction) -> str:
    """Write how many people there are for one who is asked."""
    people = float(1 / share)
    return f"{people:.1f}".removesuffix(".0") if people < 10 else f"{round(people):,}"


def _one_of(k: int) -> str:
    return f"a {_ONE[k]}" if k in _ONE else f"{k} items"


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
    one_of, all_of, what = _DISCOVERED[prospects.plan.view.kind == SIZES]
    rows = [(f"of one {one_of}", f"of all {all_of}", "")]
    rows += [
        (
            figures.discoverable(one),
            figures.discoverable(limits.level[k]),
            f"{what or itemsets_of(k)} ({comb(n_items, k):,})",
        )
        for k, one in limits.lowest.items()
    ]
    return [
        *(f"            {one:>14}  {whole:>18}  {name}".rstrip() for one, whole, name in rows),
        f"            first column: one {one_of} that was named beforehand; second: all {all_of}, with fewer than one",
        "            false find in 100 collections",
    ]


@dataclass(frozen=True, slots=True)
class _Insertion:
    """How items that nobody has come into a report: its fields as JSON content, and two phrases of the text."""

    record: dict[str, Any]
    code: str
    operator: str


def _independent(plan: "Plan") -> _Insertion:
    chance = format_fraction(plan.independent.default_probability)
    record = {"default_probability": chance, "report_size": None}
    return _Insertion(record, _CODE_NAMES[plan.generator.kind], f"default probability {chance}")


def _fixed_size(plan: "Plan") -> _Insertion:
    size, items = plan.fixed.report_size, plan.fixed.items
    record = {"default_probability": None, "report_size": size}
    return _Insertion(record, "the number of a set", f"reports of exactly {size:,} of {items:,} items")


_INSERTION = {"select-a-size": _independent, "fixed-size": _fixed_size}  # by the kind of plan


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
    if prospects.plan.view.kind == SIZES:
        moved, shown = "the share of a class", ("class", "classes")
    else:
        moved = f"the support of itemsets of {', '.join(known)} item{'s' * (list(known) != ['1'])}"
        shown = ("item", "items")
    targets, per_person = prospects.most_targets, prospects.plan.reports_per_person
    several = f" (all {per_person} of one person that many times as far)"
    return [
        f"liars       one crafted report of {prospects.reports:,} moves {moved} "
        f"by up to {one}{several * (per_person > 1)},",
        f"            1% of them move it by {share}; each can show {targets:,} {shown[targets != 1]} at once",
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
            "blocks": row.pieces,
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
    largest, in_blocks = max(rows[0].surviving), any(row.pieces > 1 for row in rows)
    names = ["singles", "pairs", "triples", *(f"k={k}" for k in range(4, largest + 1))][:largest]
    parts = ["surviving", "discoverable of M", "discoverable raw"]
    width = 9 * largest
    lines = [
        f"{'':>6} " * in_blocks + f"{'':>3} {'':>7}" + "".join(f" |{part:>{width}}" for part in parts),
        f"{'blocks':>6} " * in_blocks
        + f"{'M':>3} {'longer':>7}"
        + (" |" + "".join(f"{name:>9}" for name in names)) * 3,
    ]
    for row in rows:
        shown = [
            [figures.percent(share, 1) for share in row.surviving.values()],
            [figures.discoverable(limit) for limit in row.lowest_discoverable_support.values()],
            [figures.discoverable(limit) for limit in row.lowest_raw_support.values()],
        ]
        cells = "".join(" |" + "".join(f"{text:>9}" for text in texts) for texts in shown)
        lines.append(
            f"{row.pieces if row.pieces > 1 else 'none':>6} " * in_blocks
            + f"{row.transaction_size:>3} {figures.percent(row.longer, 1, 7)}{cells}"
            + ("  ← proposed" if row.proposed else "")
        )
    return [*lines, _SIZES_EXPLAINED[in_blocks].format(reports=f"{reports:,}")]


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
