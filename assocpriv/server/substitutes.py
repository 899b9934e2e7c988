"""Substitutes: pairs that are bought together less than expected under independence, and how probable that is.

**Expected supports.** Large baskets hold more of everything, so two independent items have a lift above 1 (of 2 where
sizes vary as in a supermarket). So the support s of a pair is compared with g, its expected support under independence
given the basket size (independence.py). ``lift_by_size`` is s/g.

**How sure.** s has the posterior of posterior.py, its prior fitted to the pairs that can be told. g is as unsure as the
items' supports: with the lesser one s's own parts move, the error of the other and a tenth for what the null model
does not know add to its variance. P(s < r g) says how likely a lift below r is. Pairs are listed by it while it is at
least .5 and about one in twenty of the list is expected to be false.

**What cannot be told.** A pair that nobody buys together is seen as that only where r g is 2.5 of its standard errors:
a test at 5% then finds four of five. All others are counted, not listed: nothing that they show says anything.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.itemsets import AnyFrame, LightFrame, as_column, itemset_records, write_plain
from assocpriv.promise.errors import EstimateError
from assocpriv.server.counting import CountingBackend
from assocpriv.server.intervals import ErrorOptions, read_share
from assocpriv.server.itemsets import ATTRIBUTE
from assocpriv.server.mining import MiningRequest, facts_of
from assocpriv.server.mixtures import NODES, chances, quantiles_of
from assocpriv.server.posterior import Level, Reading
from assocpriv.server.search import Found, likeliest, listed
from assocpriv.server.waves import Waves, longest_first

if TYPE_CHECKING:
    from assocpriv.plans.catalogue import Catalogue

Floats = NDArray[np.float64]
SUBSTITUTES = "assocpriv-substitutes"
BELOW = 0.8
_MOST = 50_000  # pairs that are looked at, half by the product of their items' supports, half by the lesser
_TOLD_FROM = 2.5  # standard errors
# of g, whatever the reports: found by deviations of .10 to .14 on groceries, msweb, retail and Complete Journey with a
# million reports; less lists more pairs that are false, more hides true ones
_CHANCE_ERROR = 0.1
_LARGEST = 100.0  # lift


def find_substitutes(
    backends: Sequence[CountingBackend],
    below: "float | str",
    categories: Mapping[str, str] | None,
    errors: ErrorOptions,
) -> LightFrame:
    """Return pairs that are bought together less than expected under independence, as :func:`assocpriv.substitutes`.

    Raises:
        EstimateError: no reports, a plan that does not tell of pairs, or a bound out of range.
    """
    if categories is not None and not hasattr(categories, "get"):
        raise TypeError(
            f"categories must be a mapping from items to their categories, got a {type(categories).__name__}"
        )
    bound = float(read_share(below, "the bound on lift"))
    if not bound:
        raise EstimateError("the bound on lift must be above 0; a lift is 0 at least")
    request, plans = MiningRequest(errors=errors), longest_first(backend.plan for backend in backends)
    waves = Waves.of(backends, 2)
    if waves.waves[0].itemset_size < 2:
        raise EstimateError("this plan's reports do not tell of pairs; plan with itemset_size 2 or more")
    groups = _groups(waves.catalogue, plans[0].names.parent_of if categories is None else categories)
    if groups is None and categories is not None:
        raise EstimateError(
            "categories name none of the plan's items; write items as the plan does, each to its category"
        )
    reading = Reading(waves)
    n = len(waves.catalogue)
    possible = comb(n, 2) if groups is None else sum(comb(int(count), 2) for count in np.bincount(groups)[1:])
    level = _told(reading, groups, bound)
    found = Found([reading.items, level], [n, possible], [])
    facts = facts_of(backends, waves, request, 0.0, found)
    rows = _rows(reading, level, bound, facts.confidence_level, waves.catalogue)
    content = facts.to_json() | {
        "format": SUBSTITUTES, "below": bound, "by_category": groups is not None, "told": len(level),
        "untold": possible - len(level), "listed": int(rows["listed"].sum()),
        "expected_false": float((1 - rows["probability"])[rows["listed"]].sum()),
    }  # fmt: skip
    return LightFrame(rows.columns, {ATTRIBUTE: content})


def _groups(catalogue: "Catalogue", categories: Mapping[str, str]) -> NDArray[np.int64] | None:
    """Return the number of each item's category, from 1 on, 0 where it has none; None where no item has one."""
    names = [categories.get(name) for name in catalogue]
    numbers = {name: number for number, name in enumerate(sorted({*names} - {None}, key=str), 1)}
    return np.array([numbers.get(name, 0) for name in names], dtype=np.int64) if numbers else None


def _told(reading: Reading, groups: NDArray[np.int64] | None, bound: float) -> Level:
    """Return the pairs that can be told, of one category where categories are known."""
    items = reading.items
    pairs = reading.asked(likeliest(items, np.arange(len(items)), _MOST))
    if groups is not None:
        of = groups[pairs]
        pairs = pairs[(of[:, 0] == of[:, 1]) & (of[:, 0] > 0)]
    level = reading.read(pairs, [items])
    can = bound * level.expected >= _TOLD_FROM * level.noise
    return reading.read(pairs[can], [items], level)


def _rows(reading: Reading, level: Level, bound: float, confidence: float, catalogue: "Catalogue") -> LightFrame:
    above, n = _above(reading.items, level), len(level)
    low, high = (
        quantiles_of(above, tail, np.zeros(n), np.full(n, _LARGEST))
        for tail in ((1 - confidence) / 2, (1 + confidence) / 2)
    )
    probability = 1 - above(np.full(n, bound))
    is_listed = listed(probability)
    supports = reading.items.support[level.itemsets].prod(axis=1)
    columns = {
        "itemsets": as_column([frozenset(catalogue[item] for item in row) for row in level.itemsets.tolist()]),
        "support": level.support, "expected_support": level.expected, "lift": level.support / supports,
        "lift_by_size": level.support / level.expected, "lift_ci_low": low, "lift_ci_high": high,
        "probability": probability, "listed": is_listed,
    }  # fmt: skip
    return LightFrame(columns).take(np.lexsort((high, ~is_listed)))


def _above(items: Level, level: Level) -> Callable[[Floats], Floats]:
    """Return what gives P(s ≥ r g) of pairs, float64 (pairs,), for r of each, float64 (pairs,)."""
    told, rows = level.told, np.arange(len(level))
    errors = (items.error / np.maximum(items.support, 1e-9))[level.itemsets]
    least = items.support[level.itemsets].argmin(axis=1)
    nodes = np.repeat(NODES, told.means.shape[1] // len(NODES))
    moved = level.expected[:, None] * np.maximum(1 + nodes * errors[rows, least][:, None], 0.0)
    own = np.hypot(errors[rows, 1 - least], _CHANCE_ERROR)[:, None]

    def above(lifts: Floats) -> Floats:
        reached = lifts[:, None] * moved
        return chances(told.weights, (told.means - reached) / np.sqrt(told.variances + (own * reached) ** 2))

    return above


def write_substitutes(frame: AnyFrame, path: str | Path, *, everything: bool = False, force: bool = False) -> None:
    """Write the listed pairs as Parquet, CSV or JSON by extension; ``everything`` writes the others too.

    Raises:
        FileError: unknown extension, existing file without ``force``, or the disk refuses.
    """
    table = LightFrame.of(frame)
    chosen = table if everything else table.take(np.flatnonzero(table["listed"]))

    def as_json() -> str:
        content = table.attrs[ATTRIBUTE] | {"pairs": itemset_records(chosen)}
        return json.dumps(content, indent=1, ensure_ascii=False)

    write_plain(chosen, ["itemsets"], as_json, path, force=force)
