"""Who chooses the itemsets and who tests them, and what may then be claimed.

Sees reports only. What looks frequent in some reports looks so partly by chance, so the same reports cannot test it as
if it had been fixed beforehand. Two ways:

    split   3 of every 10 reports choose the candidates; the other 7 alone measure and test them. The n hypotheses are
            the candidates: given the reports that chose, they are fixed.
    all     all reports choose and test; the hypotheses are all itemsets up to the largest size, Σ_k C(items, k), and
            those that were not found count as p = 1.

Which 3 of ten consecutive reports choose is a fixed pseudo-random function of their position: it follows no order that
reports may have been kept in, and the same files in the same order are always split alike. With sizes in clear
positions are counted within each size. Reports are randomized independently, so given the transactions both parts are
independent.

The people who test are a sample of all, so their supports differ from those of all even without randomization. Errors,
intervals and tests of ``split`` are therefore those for a population that the testing people were drawn from. They hold
for the people whose reports were collected too, who are nearer.

Source: Cox, A note on data-splitting for the evaluation of significance levels, Biometrika 1975 (splitting); server/
discovery.py (control).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from assocpriv.core.errors import EstimateError, PlanError
from assocpriv.core.privacy import parse_probability
from assocpriv.plans.baskets.plan import Plan
from assocpriv.server.counting.backend import Packed
from assocpriv.server.estimates.false_discovery import coherent, p_values
from assocpriv.server.estimates.intervals import strata_of
from assocpriv.server.estimates.supports import Group
from assocpriv.server.itemsets.apriori import FoundItemsets

SPLIT, ALL = "split", "all"
SELECTING, OUT_OF = 3, 10


@dataclass(frozen=True, slots=True)
class ReportPart:
    """The reports that choose, or those that test: a view that holds no reports itself."""

    reports: Packed
    selecting: bool

    @property
    def plan(self) -> Plan:
        """The plan all of them were made with."""
        return self.reports.plan

    def __len__(self) -> int:
        whole, rest = divmod(len(self.reports), OUT_OF)
        selecting = whole * SELECTING + int(choosing(whole * OUT_OF, rest).sum())
        return selecting if self.selecting else len(self.reports) - selecting

    def batches(self, size: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports of this part as uint8 arrays of shape (≤ size, report_bytes)."""
        done = 0
        for batch in self.reports.batches(size):
            mine = batch[choosing(done, len(batch)) == self.selecting]
            done += len(batch)
            if len(mine):
                yield mine


def choosing(first: int, count: int) -> NDArray[np.bool_]:
    """Tell which of ``count`` reports from position ``first`` on choose: three neighbours of each ten, in a circle.

    Where they begin is a hash of the ten's number (the finalizer of SplitMix64: Steele, Lea, Flood, OOPSLA 2014).

    >>> [int(choosing(10 * ten, 10).sum()) for ten in range(4)]
    [3, 3, 3, 3]
    """
    ten, place = np.divmod(np.arange(first, first + count, dtype=np.uint64), np.uint64(OUT_OF))
    mixed = (ten + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    turned = (place + (mixed ^ mixed >> np.uint64(31)) % np.uint64(OUT_OF)) % np.uint64(OUT_OF)
    chosen: NDArray[np.bool_] = turned < SELECTING
    return chosen


def parse_certainty(certain: "float | str | None", certain_by: str) -> Fraction | None:
    """Read how certain claims are to be, such as ``"95%"``: 1 less the share of false ones allowed.

    Raises:
        EstimateError: not strictly between 0 and 1, or an unknown way.
    """
    if certain_by not in (SPLIT, ALL):
        raise EstimateError(f"certain_by must be {SPLIT!r} or {ALL!r}")
    if certain is None:
        return None
    try:
        level = parse_probability(certain, "how certain claims are to be")
    except PlanError as error:
        raise EstimateError(str(error)) from None
    if not 0 < level < 1:
        raise EstimateError(f"how certain claims are to be must lie between 0 and 1, got {float(level):g}")
    return level


def itemset_p_values(
    found: Sequence[FoundItemsets], groups: Sequence[Group], min_support: float, *, population: bool
) -> list[NDArray[np.float64]]:
    """Return p-values against "the support is below s_min", one array a size, none below that of a subset at hand."""
    p = [_level_p_values(level, groups, min_support, population=population) for level in found]
    return coherent(p, [level.itemsets for level in found])


def _level_p_values(
    level: FoundItemsets, groups: Sequence[Group], min_support: float, *, population: bool
) -> NDArray[np.float64]:
    nothing_known = np.ones(len(level.itemsets))
    if np.isnan(level.estimates.support).any():
        return nothing_known
    strata = strata_of(level.sums, groups)
    n_reports = level.estimates.n_reports
    return p_values(strata, n_reports, min_support, population=population) if strata else nothing_known


def all_itemsets(n_items: int, largest: int) -> int:
    """Return how many itemsets of 1 … largest items there are.

    >>> all_itemsets(4, 2)
    10
    """
    return sum(comb(n_items, k) for k in range(1, largest + 1))


def all_rules(n_items: int, largest: int) -> int:
    """Return how many rules there are between 2 … largest items: an itemset of k gives 2^k − 2.

    >>> all_rules(3, 3)
    12
    """
    return sum(comb(n_items, k) * (2**k - 2) for k in range(2, largest + 1))
