"""How far crafted reports can move estimates, and how many targets one hits.

Sees plans only. A report cannot be checked, and a crafted one weighs more than an honest one. With q the values that a
report can add to N·ŝ of an itemset of k items (plans/transition.py):

    one report replaced      moves ŝ by at most (max q − min q) / N
    one report added         by (q_l − ŝ) / (N + 1)
    a share f replaced       by f·(q_l − s) on average, s the support among the people replaced

Somebody who may send R reports moves R times as much. An *honest* liar, who randomizes a false basket as the plan says,
moves ŝ by at most 1/N on average, so max q is what crafting gains over that.

**Blocks.** A liar chooses the block, one that holds the target: of the N_A reports that tell of it, for which N stands
above, all the crafted ones are. One report moves ŝ by (max q − min q)/N_A, at g pieces about g^k times as much as
without blocks, and a share f of all reports is f·N among (1 − f)·N_A + f·N, most of them if f exceeds g^−k. Where they
are about one block the check tells (checks.py); spread over all blocks that hold the target they may be too few in
each.

**How many targets one report hits.** With a code an item is present where r linear functions of the seed, read as a
number, are below a. Any ``Generator.independent_items(r)`` items can be given any pattern; and as the functions have no
constant term, the seed 0 shows *all* items. So does a report of ones without a code. A report of a fixed size shows ℓ.
Items whose functions have rank h are all shown by at least 2^(s−h) of the 2^s seeds, so that crafted reports of some
targets need not be copies of each other.
"""

from dataclasses import dataclass
from fractions import Fraction

from assocpriv.plans.baskets import AskedReports, Plan
from assocpriv.plans.transition import SupportModel
from assocpriv.promise.errors import EstimateError
from assocpriv.server.crafted.repeats import shown_by_all

_PERCENT = Fraction(1, 100)


@dataclass(frozen=True, slots=True)
class Influence:
    """How far crafted reports move the estimate of an itemset of one size: min q and max q."""

    least: Fraction
    largest: Fraction

    def of_one(self, n_reports: int) -> Fraction:
        """Return the largest change, up or down, by replacing one of N reports."""
        return (self.largest - self.least) / n_reports

    def of_share(self, share: Fraction, support: Fraction = Fraction(0)) -> tuple[Fraction, Fraction]:
        """Return the average changes, down and up, by crafting a share f of the reports, of people of this support.

        >>> Influence(Fraction(-1), Fraction(3)).of_share(Fraction(1, 100), Fraction(1, 4))
        (Fraction(-1, 80), Fraction(11, 400))
        """
        return share * (self.least - support), share * (self.largest - support)


def among_asked(plan: Plan, k: int, reports: int, share: Fraction) -> tuple[int, Fraction]:
    """Return how many of N reports tell of an itemset of k items, and what share of them liars are, who choose blocks.

    Of 99 of 100 itemsets as many or more tell; all, where there are no blocks.
    """
    asked = AskedReports.of(plan)
    if asked is None:
        return reports, share
    honest = asked.least(k, reports)
    crafted = share * reports
    return honest, crafted / (honest * (1 - share) + crafted) if crafted else Fraction(0)


def influence_of(plan: Plan, k: int) -> Influence | None:
    """Return how far crafted reports move estimates of itemsets of k items; None if none of this size is estimated."""
    if k > plan.transaction_size:
        return None
    try:
        values = SupportModel.of(plan.operator).row(k)
    except EstimateError:
        return None
    return Influence(min(values), max(values))


def most_targets(plan: Plan) -> int:
    """Return how many real items one crafted report can show at once."""
    return min(plan.asked_items, shown_by_all(plan) or plan.asked_items)


@dataclass(frozen=True, slots=True)
class Liars:
    """The largest change by one report or all of one person, and the average ones by 1% of all, down and up."""

    one_report: float
    one_person: float
    one_percent: tuple[float, float]


def liars_among(plan: Plan, reports: int) -> dict[int, Liars | None]:
    """Return by itemset size how far crafted reports among N move estimates; None where nothing is estimated."""
    liars: dict[int, Liars | None] = {}
    for k in range(1, plan.itemset_size + 1):
        influence, liars[k] = influence_of(plan, k), None
        told, share = among_asked(plan, k, reports, _PERCENT)
        if influence is not None and told:
            one, (down, up) = influence.of_one(told), influence.of_share(share)
            liars[k] = Liars(float(one), float(one * plan.reports_per_person), (float(down), float(up)))
    return liars
