"""A plan for the next round, as text for a person or as JSON content."""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from assocpriv.planning.rounds import HISTOGRAM, Refinement
from assocpriv.plans.catalogue import itemsets_of
from assocpriv.promise.breaches import epsilon, format_fraction
from assocpriv.show import figures
from assocpriv.show.plans import plan_lines, plan_record

if TYPE_CHECKING:
    from assocpriv.planning.discovery import Prospects

_SPLIT = {
    "items": "for this plan",
    "shortlist": "for the shortlist (refine)",
    "itemsets": "for itemsets (refine --itemsets)",
}


# ---- the next round


def refinement_record(refinement: Refinement, prospects: "Prospects") -> dict[str, Any]:
    """Return a plan for the next round, and what its reports can show, for ``--json``."""
    return plan_record(prospects) | {
        "before": refinement.before.plan_id,
        "entries": list(refinement.plan.catalogue),
        "entries_held": refinement.entry_sizes.mean,
        "least_min_support": figures.finite(prospects.least_min_supports),
        "sizes_from": refinement.basis,
        "both": {
            "amplification_limit": format_fraction(refinement.amplification_limit),
            "epsilon": epsilon(refinement.amplification_limit),
            "highest_posterior": format_fraction(refinement.highest_posterior),
            "lowest_posterior": format_fraction(refinement.lowest_posterior),
        },
        "people": refinement.people,
    }


def refinement_lines(refinement: Refinement, prospects: "Prospects") -> list[str]:
    """Say what a plan for the next round asks, and what it means for whoever answers both rounds."""
    plan, before, both = refinement.plan, refinement.before, refinement.amplification_limit
    posterior = figures.percent_within(plan.promise.posterior, up=True)
    what = "itemsets" if plan.view.kind == "itemsets" else "items"
    source = (
        "sizes of baskets from the histogram"
        if refinement.basis == HISTOGRAM
        else "a Poisson law around the sum of their supports: without --histogram nothing is known of sizes"
    )
    return [
        f"for OTHER people than those of plan {before.plan_id[:16]}…",
        *plan_lines(prospects),
        f"catalogue   {plan.n_items:,} {what}; "
        f"a person is expected to hold {refinement.entry_sizes.mean:.2f} ({source})",
        *_split_lines(refinement),
        _mining_line(prospects),
        f"answering both plans: γ < {figures.figure_up(float(both))}, ε ≤ {figures.figure_up(epsilon(both))}; "
        f"{figures.becomes(plan.promise.prior, refinement.highest_posterior, Fraction(1))}, not {posterior}. "
        "Each further answer multiplies γ again",
        *[f"            that holds for {before.reports_per_person:,} reports of the first plan and one of this"]
        * (before.reports_per_person > 1),
    ]


def _split_lines(refinement: Refinement) -> list[str]:
    """Say how the people to come are split, where that was planned."""
    if refinement.people is None:
        return []
    total = max(sum(refinement.people.values()), 1)
    shares = ", ".join(
        f"{count:,} ({figures.percent(count / total, 0)}) {_SPLIT[name]}" for name, count in refinement.people.items()
    )
    return [f"people      {shares}; split them by chance, before the first of these rounds"]


def _mining_line(prospects: "Prospects") -> str:
    names = {1: "itemsets"} if prospects.plan.view.kind == "itemsets" else {}
    least = ", ".join(
        f"{figures.percent_up(support)} for {names.get(k, itemsets_of(k))}"
        for k, support in prospects.least_min_supports.items()
    )
    return f"            mine with a --min-support of at least {least}; with less, none of that size are reported"
