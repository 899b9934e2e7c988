"""What rounds show, as text for a person and as JSON content: a next plan, combined tables, schedules tried."""

import math
from typing import TYPE_CHECKING, Any

from assocpriv.apps.render.limits import itemsets_of
from assocpriv.apps.render.results import figure_up, plan_lines, plan_record
from assocpriv.core.privacy import epsilon, format_fraction
from assocpriv.lab.rounds_trial import RoundsTrial, RoundTrial, ScheduleTrial
from assocpriv.planning.refine import HISTOGRAM, Refinement
from assocpriv.plans.baskets.plan import IN_CLEAR
from assocpriv.plans.baskets.transition import SupportModel
from assocpriv.server.estimates.supports import Group, foreseen_error
from assocpriv.server.itemsets.apriori import UNDECIDABLE_BELOW
from assocpriv.server.rounds.combine import combined_records
from assocpriv.server.rounds.knowledge import Itemset, ranked

if TYPE_CHECKING:
    import pandas as pd

_SPLIT = {
    "items": "for this plan",
    "shortlist": "for the shortlist (refine)",
    "itemsets": "for itemsets (refine --itemsets)",
}
_NAMES = {"sizes": "sizes", "items": "all items", "shortlist": "shortlist", "itemsets": "itemsets"}


def refinement_record(made: Refinement) -> dict[str, Any]:
    """Return a plan for the next round for ``--json``."""
    return plan_record(made.plan, made.reports) | {
        "before": made.before.plan_id,
        "entries": list(made.plan.catalogue),
        "entries_held": made.entry_sizes.mean,
        "least_min_support": {
            str(k): least if math.isfinite(least) else None for k, least in _least_min_supports(made).items()
        },
        "sizes_from": made.basis,
        "both": {
            "amplification_limit": format_fraction(made.amplification_limit),
            "epsilon": epsilon(made.amplification_limit),
            "highest_posterior": format_fraction(made.highest_posterior),
            "lowest_posterior": format_fraction(made.lowest_posterior),
        },
        "people": made.people,
    }


def _least_min_supports(made: Refinement) -> dict[int, float]:
    """Return, by itemset size, the least minimum support that mining so many reports would not call undecidable."""
    groups = [Group(made.reports, SupportModel.of(made.plan.operator))]
    sizes = [1] if made.plan.view.kind == "itemsets" else range(1, made.plan.itemset_size + 1)
    return {k: UNDECIDABLE_BELOW * foreseen_error(groups, k, 0.0) for k in sizes}


def _percent_up(least: float) -> str:
    return f"{math.ceil(least * 1e4) / 1e4:.2%}" if least <= 1 else "more than 100%"


def _mining_line(made: Refinement) -> str:
    names = {1: "itemsets"} if made.plan.view.kind == "itemsets" else {}
    told = ", ".join(
        f"{_percent_up(least)} for {names.get(k, itemsets_of(k))}" for k, least in _least_min_supports(made).items()
    )
    return f"            mine with a --min-support of at least {told}; with less, none of that size are reported"


def refinement_lines(made: Refinement) -> list[str]:
    """Say what a plan for the next round asks, and what it means for whoever answers both rounds."""
    prior, posterior = (float(level) for level in (made.plan.promise.prior, made.plan.promise.posterior))
    what = "itemsets" if made.plan.view.kind == "itemsets" else "items"
    source = (
        "sizes of baskets from the histogram"
        if made.basis == HISTOGRAM
        else "a Poisson law around the sum of their supports: without --histogram nothing is known of sizes"
    )
    lines = plan_lines(made.plan, made.reports)
    return [
        f"for OTHER people than those of plan {made.before.plan_id[:16]}…",
        *lines,
        f"catalogue   {made.plan.n_items:,} {what}; "
        f"a person is expected to hold {made.entry_sizes.mean:.2f} ({source})",
        *_split_lines(made),
        _mining_line(made),
        f"answering both plans: γ < {figure_up(float(made.amplification_limit))}, "
        f"ε ≤ {figure_up(epsilon(made.amplification_limit))}; {prior:.10g} becomes at most "
        f"{figure_up(float(made.highest_posterior))}, not {posterior:.10g}. Each further answer multiplies γ again",
        *(
            ["            that holds among baskets of one size: the first plan sends the size in clear"]
            if made.before.sizes == IN_CLEAR
            else []
        ),
        *(
            [f"            that holds for {made.before.reports_per_person:,} reports of the first plan and one of this"]
            if made.before.reports_per_person > 1
            else []
        ),
    ]


def _split_lines(made: Refinement) -> list[str]:
    """Say how the people to come are split, where that was planned."""
    if made.people is None:
        return []
    total = max(sum(made.people.values()), 1)
    told = ", ".join(f"{count:,} ({count / total:.0%}) {_SPLIT[name]}" for name, count in made.people.items())
    return [f"people      {told}; split them by chance, before the first of these rounds"]


def combined_lines(frame: "pd.DataFrame", top: int) -> list[str]:
    """Show what tables say together, and each table's own support and error."""
    facts = combined_records(frame.head(0))
    tables = facts["tables"]
    corrected = facts["corrected"]
    lines = [
        f"{number}: {table['reports']:,} reports of plan {table['plan_id'][:16]}…, {table['itemsets']:,} itemsets, "
        f"within at most {table['transaction_size']} sampled {table['entries']}"
        for number, table in enumerate(tables, 1)
    ]
    lines += [f"note: {note}" for note in facts["notes"]]
    header = f"{'support':>9} {'± error':>9}" + (f" {'± model':>9}" if corrected else "")
    for number in range(1, len(tables) + 1):
        header += f" | {f'support {number}':>9} {'± error':>9}" + (f" {'corrected':>9}" if corrected else "")
    lines.append(header + "  itemset")
    for row in frame.head(top).to_dict("records"):
        cells = [row["support"], row["std_error"], *([row["model_error"]] if corrected else [])]
        text = " ".join(_share(value) for value in cells)
        for number in range(1, len(tables) + 1):
            names = [f"support_{number}", f"std_error_{number}", *([f"corrected_{number}"] if corrected else [])]
            text += " | " + " ".join(_share(row[name]) for name in names)
        lines.append(f"{text}  {', '.join(sorted(row['itemsets']))}")
    if not len(frame):
        return [*lines, "(none)"]
    return [*lines, *([f"… and {len(frame) - top:,} more"] if len(frame) > top else [])]


def _share(value: float) -> str:
    return f"{value:9.3%}" if math.isfinite(value) else f"{'—':>9}"


def trial_record(trial: RoundsTrial, rows: int | None = None) -> dict[str, Any]:
    """Return tried schedules for ``--json``, with the itemsets that the proposed one found."""
    promise = trial.promise
    best = trial.proposed
    return {
        "baskets": len(trial.baskets),
        "items": len(trial.baskets.catalogue),
        "wanted": trial.wanted,
        "true_count": len(trial.truth),
        "promise": {"prior": format_fraction(promise.prior), "posterior": format_fraction(promise.posterior)},
        "amplification_limit": format_fraction(promise.amplification_limit),
        "proposed_rounds": best.count,
        "anything_told": trial.tells,
        "schedules": [_schedule_record(each, each is best) for each in trial.schedules],
        "itemsets": [
            {
                "itemset": sorted(trial.baskets.catalogue[item] for item in itemset),
                "support": best.known[itemset].support,
                "true_support": trial.supports.get(itemset),
                "wanted": itemset in trial.truth,
            }
            for itemset in _found(trial)[:rows]
        ],
        "missed": [
            {"itemset": sorted(trial.baskets.catalogue[item] for item in itemset), "true_support": support}
            for itemset, support in trial.truth.items()
            if itemset not in set(_found(trial))
        ],
    }


def _found(trial: RoundsTrial) -> list[Itemset]:
    return ranked(trial.proposed.known, len(trial.truth))


def _schedule_record(tried: ScheduleTrial, proposed: bool) -> dict[str, Any]:
    return {
        "rounds": tried.count,
        "proposed": proposed,
        "hits": tried.hits,
        "anything_told": tried.tells,
        "seconds": tried.seconds,
        "steps": [_round_record(each) for each in tried.rounds],
    }


def _round_record(each: RoundTrial) -> dict[str, Any]:
    return {
        "name": each.name,
        "people": each.people,
        "entries": each.plan.n_items,
        "transaction_size": each.plan.transaction_size,
        "plan_kind": each.plan.kind,
        "report_bytes": each.plan.report_bytes,
        "hits": each.hits,
        "precision": each.precision,
        "rmse": each.rmse,
        "support_kept": each.surviving,
        "discoverable": each.discoverable,
    }


def trial_lines(trial: RoundsTrial, rows: int) -> list[str]:
    """Show the schedules tried, what each round bought, and the itemsets that the proposed one found."""
    best, count = trial.proposed, len(trial.truth)
    lines = [
        f"{len(trial.baskets):,} baskets over {len(trial.baskets.catalogue):,} items; each person answers once, "
        f"γ < {figure_up(float(trial.promise.amplification_limit))}; wanted: the {count:,} most frequent itemsets",
        f"{'rounds':>6} {'round':<10} {'people':>11} {'entries':>8} {'M':>3} {'kind':<13} {'bytes':>6} {'found':>6} "
        f"{'precision':>9} {'RMSE':>8} {'kept':>6} {'tellable':>8}",
    ]
    for tried in trial.schedules:
        for place, each in enumerate(tried.rounds):
            plan = each.plan
            line = (
                f"{tried.count if not place else '':>6} {_NAMES[each.name]:<10} {each.people:>11,} {plan.n_items:>8,} "
                f"{plan.transaction_size:>3} {plan.kind:<13} {plan.report_bytes:>6,}"
            )
            if each.hits is not None and each.precision is not None and each.rmse is not None:
                line += f" {each.hits:>6,} {each.precision:9.1%} {each.rmse:8.3%}"
                line += f" {each.surviving:6.1%} {each.discoverable:>8,}"
            last = place == len(tried.rounds) - 1
            lines.append(line + ("  ← proposed" if last and tried is best else ""))
    lines += [
        f"found: of the {count:,} truly most frequent itemsets, how many are among the {count:,} best estimates after "
        "the round; RMSE: of the estimates, over the true ones; kept: share of their support within M sampled entries; "
        "tellable: true ones that this round alone could tell from 0",
        "one run: precision varies from run to run (3% at a million baskets, more with fewer): near ties are ties",
    ]
    if not trial.tells:
        lines.append(
            "warning: with this promise and so many people nothing can be told: every true support lies below the "
            "lowest that any round could discover; what is found is chance. Ask more people, or make a weaker promise"
        )
    return [*lines, *_found_lines(trial, rows)]


def _found_lines(trial: RoundsTrial, rows: int) -> list[str]:
    found = _found(trial)
    rounds = "one round" if trial.proposed.count == 1 else f"{trial.proposed.count} rounds"
    lines = [f"{'support':>9} {'true':>9}  found by {rounds} (*: truly among the wanted)"]
    for itemset in found[:rows]:
        names = ", ".join(sorted(trial.baskets.catalogue[item] for item in itemset))
        true = trial.supports.get(itemset, math.nan)
        mark = "*" if itemset in trial.truth else " "
        lines.append(f"{_share(trial.proposed.known[itemset].support)} {_share(true)}  {mark} {names}")
    return [*lines, *([f"… and {len(found) - rows:,} more"] if len(found) > rows else [])]
