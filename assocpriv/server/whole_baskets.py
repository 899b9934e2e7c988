"""Supports of whole baskets: the sampling to at most M items undone, by the sizes that the same collection tells.

A transaction of c > M items keeps a k-itemset with probability κ(c) = C(M,k)/C(c,k), so what reports estimate without
bias is s' = Σ_c P(c)·P(A ⊆ t | c)·κ(c) (κ = 1 up to M), less than the support s = Σ_c P(c)·P(A ⊆ t | c). With the law
of sizes known (size_law.py, from the dummies of reports about items and from the answers about sizes) one number an
itemset is left to guess, how P(A ⊆ t | c) grows with c. The model: with the same small θ at every size,

    P(A ⊆ t | c) = 1 − (1 − θ)^(C(c,k)^(k^−.6))

so θ follows from s', and s from θ. Frequent pairs are patterns, not chance meetings: a pair's chance grows about as an
item's does, not with its square. It is a model all the same: up to about half of what the undoing changes may be wrong,
in either direction, which no standard error covers; hence ``model_error``. An itemset that a table lacks was below its
minimum support, near which supports come out high.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from assocpriv.files.itemsets import LightFrame
from assocpriv.server.counting import CountingBackend, Part, Source
from assocpriv.server.itemsets import CORRECTED, MiningFacts, SizeFacts, mining_facts, with_facts
from assocpriv.server.size_law import SizeLaw, fit_size_law, holding_ways, kept_shares
from assocpriv.server.supports import sampling_variance

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_LEAST_VARIANCE = 1e-18  # where reports are not noisy at all
_MODEL_ERROR = 0.5  # of what undoing the sampling changes, this much may be wrong
_THETA = np.geomspace(1e-12, 1.0, 2048)[:-1]


def law_of_sizes(backend: CountingBackend) -> SizeLaw | None:
    """Return the law of sizes that a collection's reports tell; None without answers about those from M on.

    Dummy d is in a padded basket iff that holds at most M − 1 − d items.
    """
    plan, bounds = backend.plan, np.array(backend.plan.size_bounds, dtype=np.int64)
    if plan.sizes is None or not (source := backend.open(Part.WHOLE, plan.sizes))[0].n_reports:
        return None
    m, n_items = plan.items.transaction_size, plan.n_items
    below, below_errors = _singles(backend.open(Part.WHOLE), np.arange(n_items, n_items + m, dtype=np.int64))
    classes, errors = _singles(source, np.arange(len(bounds), dtype=np.int64))
    return fit_size_law(below[::-1], below_errors[::-1, ::-1], classes, errors, bounds, n_items)


def _singles(source: Source, entries: Ints) -> tuple[Floats, Floats]:
    """Return estimates of the supports of some entries, (entries,), and their covariances for the population.

    An estimate is linear in the share of reports that show the entry, so covariances are those of what is shown.
    """
    counter, model = source
    n_reports, row = counter.n_reports, [float(value) for value in model.row(1)]
    shown = counter.count(entries[:, None]) / n_reports
    both, pairs = np.diag(shown), np.triu_indices(len(entries), 1)
    if len(pairs[0]):
        both[pairs] = counter.count(entries[np.column_stack(pairs)]) / n_reports
        both.T[pairs] = both[pairs]
    slope = row[1] - row[0]
    return row[0] + slope * shown, slope**2 * (both - np.outer(shown, shown)) / n_reports


def with_whole_baskets(table: LightFrame, backend: CountingBackend) -> LightFrame:
    """Add to a mined table its supports in whole baskets and what is uncertain of them, where reports tell sizes.

    Errors are for the population, that of the law of sizes among them; ``model_error`` is half of the correction.
    """
    law = law_of_sizes(backend)
    if law is None or backend.plan.sizes is None:
        return table
    facts, m = mining_facts(table), backend.plan.items.transaction_size
    answers = backend.open(Part.WHOLE, backend.plan.sizes)[0].n_reports
    sizes = SizeFacts(answers, law.mean, {str(k): list(law.undoing(m, k)) for k in range(1, facts.itemset_size + 1)})
    support, lengths = table["support"].astype(np.float64), table["length"]
    undone, errors = support.copy(), np.sqrt(_population_variance(table, facts))
    for k in np.unique(lengths).tolist():
        rows = np.flatnonzero((lengths == k) & np.isfinite(support))
        undone[rows], factors = undo_sampling(support[rows], law, m, k)
        errors[rows] = np.hypot(errors[rows] * factors, undone[rows] * law.undoing(m, k)[1])
    columns = undone, errors, _MODEL_ERROR * np.abs(undone - support)
    return with_facts(table.assign(**dict(zip(CORRECTED, columns, strict=True))), replace(facts, sizes=sizes))


def undo_sampling(supports: Floats, law: SizeLaw, m: int, k: int) -> tuple[Floats, Floats]:
    """Return supports before transactions of these sizes were sampled to m items, and the factor of their errors.

    ``supports`` are estimates of s' for itemsets of k items, float64 (itemsets,), not clipped.

    >>> half = SizeLaw(np.array([2, 4]), np.array([[0.5, 0.5]]))
    >>> undo_sampling(np.array([0.0]), half, 2, 1)[1].round(3).tolist()
    [1.5]
    """
    surviving, ways, shares = kept_shares(law.sizes, m, k), holding_ways(law.sizes, k), law.shares
    holding = -np.expm1(np.log1p(-_THETA)[:, None] * ways)  # P(A ⊆ t | c), (θ, sizes)
    before, after = holding @ shares, holding @ (shares * surviving)
    if not before[-1] > 0:
        return supports.copy(), np.ones(len(supports))
    # the slope at support 0, for small ones
    first = float(shares @ ways) / float(shares @ (ways * surviving))
    rising = np.append(True, after[1:] > np.maximum.accumulate(after)[:-1])  # a θ that changes nothing has no slope
    before, after = before[rising], after[rising]
    slopes = np.gradient(before, after)
    inside = np.clip(supports, 0.0, after[-1])
    corrected = np.interp(inside, np.append(0.0, after), np.append(0.0, before))
    factors = np.interp(inside, np.append(0.0, after), np.append(first, slopes))
    corrected += np.where(supports < 0, supports * first, 0.0)
    corrected += np.maximum(supports - after[-1], 0.0)
    return corrected, np.maximum(factors, 1.0)


def _population_variance(table: LightFrame, facts: MiningFacts) -> Floats:
    variance = table["std_error"].astype(np.float64) ** 2
    if not facts.errors.population:
        variance = variance + sampling_variance(table["support"].astype(np.float64), facts.reports)
    result: Floats = np.maximum(variance, _LEAST_VARIANCE)
    return result
