"""Rounds, as text for a person or as JSON content: a next plan, combined tables, schedules tried."""

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from assocpriv.planning.rounds import HISTOGRAM, Refinement
from assocpriv.plans.catalogue import itemsets_of
from assocpriv.promise.breaches import epsilon, format_fraction
from assocpriv.server.posterior import Itemset, ranked
from assocpriv.server.rounds import combined_records as combined_records
from assocpriv.show import figures
from assocpriv.show.plans import plan_lines, plan_record, promise_record

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.planning.discovery import Prospects
    from assocpriv.plans.baskets import Plan
    from assocpriv.simulation.rounds import RoundScore, RoundsTrial, ScheduleTrial

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


# ---- combined tables


def combined_lines(frame: "pd.DataFrame", top: int) -> list[str]:
    """Show what tables say together, and each table's own support and error."""
    facts = combined_records(frame.head(0))
    tables, corrected = facts["tables"], facts["corrected"]
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
        text = " ".join(figures.percent_or_dash(value) for value in cells)
        for number in range(1, len(tables) + 1):
            names = [f"support_{number}", f"std_error_{number}", *([f"corrected_{number}"] if corrected else [])]
            text += " | " + " ".join(figures.percent_or_dash(row[name]) for name in names)
        lines.append(f"{text}  {figures.listed(row['itemsets'])}")
    return lines + figures.rest_line(len(frame), top)


# ---- schedules of rounds


def trial_record(trial: "RoundsTrial") -> dict[str, Any]:
    """Return tried schedules for ``--json``, with the itemsets that the proposed one found."""
    promise, best = trial.promise, trial.proposed
    return {
        "baskets": len(trial.baskets),
        "items": len(trial.baskets.catalogue),
        "wanted": trial.wanted,
        "true_count": len(trial.truth),
        "promise": promise_record(promise),
        "amplification_limit": format_fraction(promise.amplification_limit),
        "proposed_rounds": best.count,
        "anything_told": trial.tells,
        "schedules": [_schedule_record(each, each is best) for each in trial.schedules],
        "itemsets": [
            {
                "itemset": sorted(trial.baskets.catalogue[item] for item in itemset),
                "support": best.known[itemset].support,
                "std_error": math.sqrt(best.known[itemset].variance),
                "true_support": trial.supports.get(itemset),
                "wanted": itemset in trial.truth,
            }
            for itemset in _found(trial)
        ],
        "missed": [
            {"itemset": sorted(trial.baskets.catalogue[item] for item in itemset), "true_support": support}
            for itemset, support in trial.truth.items()
            if itemset not in set(_found(trial))
        ],
    }


def _schedule_record(tried: "ScheduleTrial", proposed: bool) -> dict[str, Any]:
    return {
        "rounds": tried.count,
        "proposed": proposed,
        "hits": tried.hits,
        "anything_told": tried.tells,
        "seconds": tried.seconds,
        "steps": [_round_record(each) for each in tried.rounds],
    }


def _round_record(each: "RoundScore") -> dict[str, Any]:
    return {
        **figures.fields(each, "name people"),
        "entries": each.plan.n_items,
        "pieces": _pieces(each.plan),
        "transaction_size": each.plan.transaction_size,
        "plan_kind": each.plan.kind,
        "report_bytes": each.plan.report_bytes,
        **figures.fields(each, "hits precision rmse covered"),
        "support_kept": each.surviving,
        "discoverable": each.discoverable,
    }


def trial_lines(trial: "RoundsTrial", rows: int) -> list[str]:
    """Show the schedules tried, what each round bought, and the itemsets that the proposed one found."""
    best, count = trial.proposed, len(trial.truth)
    lines = [
        f"{len(trial.baskets):,} baskets over {len(trial.baskets.catalogue):,} items; each person answers once, "
        f"γ < {figures.figure_up(float(trial.promise.amplification_limit))}; "
        f"wanted: the {count:,} most frequent itemsets",
        f"{'rounds':>6} {'round':<10} {'people':>11} {'entries':>8} {'pieces':>6} {'M':>3} {'kind':<13} {'bytes':>6} "
        f"{'found':>6} {'precision':>9} {'RMSE':>8} {'covered':>7} {'kept':>6} {'tellable':>8}",
    ]
    for tried in trial.schedules:
        for place, each in enumerate(tried.rounds):
            plan, name = each.plan, "all items" if each.name == "items" else each.name
            line = (
                f"{tried.count if not place else '':>6} {name:<10} {each.people:>11,} {plan.n_items:>8,} "
                f"{_pieces(plan):>6} {plan.transaction_size:>3} {plan.kind:<13} {plan.report_bytes:>6,}"
            )
            if each.hits is not None and each.precision is not None and each.rmse is not None:
                line += (
                    f" {each.hits:>6,} {figures.percent(each.precision, 1, 9)} {figures.percent(each.rmse, 3, 8)} "
                    f"{figures.percent(each.covered or 0.0, 1, 7)} {figures.percent(each.surviving or 0.0, 1, 6)} "
                    f"{each.discoverable:>8,}"
                )
            last = place == len(tried.rounds) - 1
            lines.append(line + ("  ← proposed" if last and tried is best else ""))
    lines += [
        "pieces: a report is about one of so many of the catalogue; "
        f"found: of the {count:,} truly most frequent itemsets, how many are among the {count:,} best estimates after "
        "the round; RMSE: of the estimates, over the true ones; covered: true ones within the 95% interval of their "
        "estimate; kept: share of their support that what is reported keeps; "
        "tellable: true ones that this round alone could tell from 0",
        "one run: precision varies from run to run (3% at a million baskets, more with fewer): near ties are ties",
    ]
    if not trial.tells:
        lines.append(
            "warning: with this promise and so many people nothing can be told: every true support lies below the "
            "lowest that any round could discover; what is found is chance. Ask more people, or make a weaker promise"
        )
    return [*lines, *_found_lines(trial, rows)]


def _found_lines(trial: "RoundsTrial", rows: int) -> list[str]:
    found = _found(trial)
    rounds = "one round" if trial.proposed.count == 1 else f"{trial.proposed.count} rounds"
    lines = [f"{'support':>9} {'± error':>9} {'true':>9}  found by {rounds} (*: truly among the wanted)"]
    for itemset in found[:rows]:
        names = ", ".join(sorted(trial.baskets.catalogue[item] for item in itemset))
        true = trial.supports.get(itemset, math.nan)
        mark = "*" if itemset in trial.truth else " "
        known = trial.proposed.known[itemset]
        cells = (known.support, math.sqrt(known.variance), true)
        lines.append(f"{' '.join(figures.percent_or_dash(cell) for cell in cells)}  {mark} {names}")
    return lines + (figures.rest_line(len(found), rows) if found else [])


def _found(trial: "RoundsTrial") -> list[Itemset]:
    return ranked(trial.proposed.known, len(trial.truth))


def _pieces(plan: "Plan") -> int:
    return 1 if plan.view.blocks is None else plan.view.blocks.pieces
