"""Substitutes: pairs that are bought together less than expected under independence, and how probable that is.

**Expected supports.** Large baskets hold more of everything, so two independent items have a lift above 1 (of 2 where
sizes vary as in a supermarket). So the support s of a pair is compared with g, its expected support under independence
given the basket size (posterior.py). ``lift_by_size`` is s/g.

**Posterior.** s has the posterior of posterior.py, with its prior fitted to the detectable pairs. g has the error of
the items' supports. The mixture components of s move with the rarer item's support. The error of the other item, and a
tenth for what the null model misses, add to the variance. P(s < r g) is the probability of a lift below r. Pairs are
selected by it while it is at least .5 and the Bayesian FDR is at most 5%.

**Undetectable pairs.** A pair with true support 0 can be distinguished from its expected support only where r g is at
least 2.5 standard errors: a test at the 5% level then has a power of 80%. All other pairs are counted but not in the
table, as their estimates show nothing.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.mixtures import NODES, find_intervals, mixture_cdf
from assocpriv.estimation.supports import ErrorOptions, read_share
from assocpriv.files.mined_tables import ATTRIBUTE, AnyFrame, LightFrame, as_column, itemset_records, write_plain
from assocpriv.guarantees.errors import EstimateError
from assocpriv.server.baskets.counting import CountingBackend
from assocpriv.server.baskets.mining import (
    MiningRequest,
    SearchResult,
    collect_facts,
    likeliest_candidates,
    select_by_fdr,
)
from assocpriv.server.baskets.posterior import ItemsetLevel, PosteriorModel
from assocpriv.server.baskets.rounds import Rounds, longest_catalogue_first

if TYPE_CHECKING:
    from assocpriv.plans.baskets.catalogue import Catalogue

Floats = NDArray[np.float64]
SUBSTITUTES = "assocpriv-substitutes"
BELOW = 0.8
_MOST = 50_000  # candidate pairs, half by the product of their items' supports, half by the rarer item's
_DETECTABLE_FROM = 2.5  # standard errors
# relative error of g, whatever the reports: deviations were .10 to .14 on groceries, msweb, retail and Complete Journey
# with a million reports; a smaller value selects more false pairs, a larger one hides true ones
_NULL_MODEL_ERROR = 0.1
_LARGEST = 100.0  # lift


def find_substitutes(
    backends: Sequence[CountingBackend],
    below: float | str = BELOW,
    categories: Mapping[str, str] | None = None,
    errors: ErrorOptions = ErrorOptions(),  # noqa: B008  # frozen
) -> LightFrame:
    """Return pairs that are bought together less than expected under independence, as :func:`assocpriv.substitutes`.

    Args:
        backends: A counter of reports for each collection, as of :func:`assocpriv.tables.backends`.
        below: Upper bound on the lift, as 0.8 or ``"80%"`` of the expected support.
        categories: The category of each item; only pairs within a category are considered. None: the plan's taxonomy,
            or all pairs without one.
        errors: The probability of intervals.

    Returns:
        A row a detectable pair, by probability, with the columns of :func:`assocpriv.substitutes`, without pandas.

    Raises:
        EstimateError: There are no reports, the plan does not estimate pairs, or the bound is out of range.
        TypeError: The categories are no mapping.
    """
    if categories is not None and not hasattr(categories, "get"):
        raise TypeError(f"categories must be a mapping from items to categories, got a {type(categories).__name__}")
    bound = float(read_share(below, "the bound on lift"))
    if not bound:
        raise EstimateError("the bound on lift must be above 0; no lift is below 0")
    request, plans = MiningRequest(errors=errors), longest_catalogue_first(backend.plan for backend in backends)
    rounds = Rounds.from_backends(backends, 2)
    if max(round_.itemset_size for round_ in rounds.rounds) < 2:
        raise EstimateError("these reports do not estimate pairs; plan with itemset_size 2 or more")
    groups = _groups(rounds.catalogue, plans[0].names.parent_of if categories is None else categories)
    if groups is None and categories is not None:
        raise EstimateError(
            "categories name none of the plan's items; map items, spelled as in the plan, to categories"
        )
    model = PosteriorModel(rounds)
    n = len(rounds.catalogue)
    possible = comb(n, 2) if groups is None else sum(comb(int(count), 2) for count in np.bincount(groups)[1:])
    level = _detectable_pairs(model, groups, bound)
    facts = collect_facts(backends, rounds, request, 0.0, SearchResult([model.items, level], [n, possible], []))
    rows = _rows(model, level, bound, facts.confidence_level, rounds.catalogue)
    content = facts.to_json() | {
        "format": SUBSTITUTES, "below": bound, "by_category": groups is not None, "detectable": len(level),
        "undetectable": possible - len(level), "selected": int(rows["selected"].sum()),
        "expected_false": float((1 - rows["probability"])[rows["selected"]].sum()),
    }  # fmt: skip
    return LightFrame(rows.columns, {ATTRIBUTE: content})


def _groups(catalogue: "Catalogue", categories: Mapping[str, str]) -> NDArray[np.int64] | None:
    """Return each item's category number, from 1 on and 0 without a category; None if no item has one."""
    names = [categories.get(name) for name in catalogue]
    numbers = {name: number for number, name in enumerate(sorted({*names} - {None}, key=str), 1)}
    return np.array([numbers.get(name, 0) for name in names], dtype=np.int64) if numbers else None


def _detectable_pairs(model: PosteriorModel, groups: NDArray[np.int64] | None, bound: float) -> ItemsetLevel:
    """Return the detectable pairs, of one category where categories are known."""
    items = model.items
    pairs = model.covered(likeliest_candidates(items, np.arange(len(items)), _MOST))
    if groups is not None:
        categories = groups[pairs]
        pairs = pairs[(categories[:, 0] == categories[:, 1]) & (categories[:, 0] > 0)]
    level = model.infer(pairs, [items])
    detectable = bound * level.expected >= _DETECTABLE_FROM * level.noise
    return model.infer(pairs[detectable], [items], level)


def _rows(
    model: PosteriorModel, level: ItemsetLevel, bound: float, confidence: float, catalogue: "Catalogue"
) -> LightFrame:
    above, n = _lift_exceedance(model.items, level), len(level)
    low, high = find_intervals(above, confidence, np.zeros(n), np.full(n, _LARGEST))
    probability = 1 - above(np.full(n, bound))
    is_selected = select_by_fdr(probability)
    supports = model.items.support[level.itemsets].prod(axis=1)
    columns = {
        "itemsets": as_column([frozenset(catalogue[item] for item in row) for row in level.itemsets.tolist()]),
        "support": level.support, "expected_support": level.expected, "lift": level.support / supports,
        "lift_by_size": level.support / level.expected, "lift_ci_low": low, "lift_ci_high": high,
        "probability": probability, "selected": is_selected,
    }  # fmt: skip
    return LightFrame(columns).take(np.lexsort((high, ~is_selected)))


def _lift_exceedance(items: ItemsetLevel, level: ItemsetLevel) -> Callable[[Floats], Floats]:
    """Return a function from lifts r to P(s ≥ r g), both float64 (pairs,)."""
    rows = np.arange(len(level))
    posteriors = level.posteriors.take(rows)
    errors = (items.error / np.maximum(items.support, 1e-9))[level.itemsets]
    least = items.support[level.itemsets].argmin(axis=1)
    nodes = np.repeat(NODES, posteriors.means.shape[1] // len(NODES))
    moved = level.expected[:, None] * np.maximum(1 + nodes * errors[rows, least][:, None], 0.0)
    own = np.hypot(errors[rows, 1 - least], _NULL_MODEL_ERROR)[:, None]

    def above(lifts: Floats) -> Floats:
        thresholds = lifts[:, None] * moved
        scores = (posteriors.means - thresholds) / np.sqrt(posteriors.variances + (own * thresholds) ** 2)
        return mixture_cdf(posteriors.weights, scores)

    return above


def write_substitutes(frame: AnyFrame, path: str | Path, *, everything: bool = False, force: bool = False) -> None:
    """Write selected pairs as Parquet, CSV or JSON, chosen by extension.

    Args:
        frame: The table of :func:`assocpriv.substitutes`.
        path: The file to write: .parquet, .csv or .json.
        everything: Write all detectable pairs, not only the selected ones.
        force: Replace an existing file.

    Raises:
        FileError: The extension is unknown, the file exists and ``force`` is not set, or it cannot be written.
    """
    table = LightFrame.from_frame(frame)
    chosen = table if everything else table.take(np.flatnonzero(table["selected"]))

    def as_json() -> str:
        content = table.attrs[ATTRIBUTE] | {"pairs": itemset_records(chosen)}
        return json.dumps(content, indent=1, ensure_ascii=False)

    write_plain(chosen, ["itemsets"], as_json, path, force=force)
