"""Mined itemsets as a table (files/mined_tables.py), and exports.

Selected itemsets can be exported with counts, in the formats of miners of unprotected baskets.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.estimation.supports import normal_quantile
from assocpriv.files.atomic import atomic_output
from assocpriv.files.itemset_files import LightFrame, as_column
from assocpriv.files.mined_tables import (
    FEW_REPORTS,
    MiningFacts,
    column_names,
    mining_facts,
    typed,
    with_facts,
)
from assocpriv.guarantees.errors import EstimateError

if TYPE_CHECKING:
    import pandas as pd

    from assocpriv.plans.baskets.catalogue import Catalogue
    from assocpriv.server.baskets.posterior import ItemsetLevel


# ---- facts


# ---- tables


def itemset_frame(
    levels: Sequence["ItemsetLevel"],
    rows: Sequence[NDArray[Any]],
    catalogue: "Catalogue",
    facts: MiningFacts,
    columns: Sequence[dict[str, NDArray[Any]]],
) -> LightFrame:
    """Return a table of rows of each size, by falling support; ``columns`` are further columns of each size."""
    parts = []
    for level, chosen, more in zip(levels, rows, columns, strict=True):
        order = chosen[np.argsort(-level.support[chosen], kind="stable")]
        place = np.empty(len(level), dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        part = posterior_columns(level, order, catalogue, facts)
        parts.append(part | {name: values[place[order]] for name, values in more.items()})
    empty = [name for name in column_names(facts) if not parts]
    together = {name: np.concatenate([part[name] for part in parts]) for name in column_names(facts) if parts}
    return with_facts(typed(LightFrame(together | {name: np.empty(0, dtype=object) for name in empty})), facts)


def posterior_columns(
    level: "ItemsetLevel", rows: NDArray[Any], catalogue: "Catalogue", facts: MiningFacts
) -> dict[str, NDArray[Any]]:
    """Return the estimate columns of itemsets of one size; ``selected`` is set later."""
    posteriors, error = level.posteriors.take(rows), level.unbiased_error[rows]
    ends = posteriors.intervals(facts.confidence_level)
    if facts.reports < FEW_REPORTS:  # else intervals would depend on the prior alone
        ends = _widened(ends, level.unbiased[rows], error, facts.confidence_level)
    nodes = posteriors.by_node()
    numbers = np.stack([nodes.weights, nodes.means, np.sqrt(nodes.variances)], axis=2).reshape(len(rows), -1)
    return {
        "support": level.support[rows],
        "itemsets": as_column([frozenset(catalogue[item] for item in row) for row in level.itemsets[rows].tolist()]),
        "std_error": level.error[rows],
        "ci_low": ends[:, 0],
        "ci_high": ends[:, 1],
        "length": np.full(len(rows), level.itemsets.shape[1], dtype=np.int64),
        "probability": posteriors.above(facts.min_support),
        "selected": np.zeros(len(rows), dtype=np.bool_),
        "expected_support": level.expected[rows],
        "unbiased": level.unbiased[rows],
        "unbiased_error": error,
        "sampled": level.sampled[rows],
        "sampled_error": level.sampled_error[rows],
        "common_error": level.common[rows],
        "truncation": level.truncation[rows],
        "truncation_error": level.truncation_error[rows],
        "confidence_level": np.full(len(rows), facts.confidence_level),
        "posterior": numbers,
    }


def with_named_intervals(frame: LightFrame, level: float, low: str = "ci_low", high: str = "ci_high") -> LightFrame:
    """Return the table with intervals for itemsets chosen beforehand, in the columns ``low`` and ``high``.

    Each holds the support of its itemset with this probability, whatever those of others: the unbiased estimate with
    its error, clipped to [0, 1] and extended to the posterior mean. The intervals of a mined table hold the support on
    average over the catalogue: less often for best sellers, which the prior shrinks towards the many rare items.
    """
    mean = np.column_stack([frame["support"], frame["support"]])
    ends = _widened(mean, frame["unbiased"], frame["unbiased_error"], level)
    return frame.assign(**{low: ends[:, 0], high: ends[:, 1]})


def _widened(ends: NDArray[np.float64], x: NDArray[Any], error: NDArray[Any], level: float) -> NDArray[np.float64]:
    """Return intervals extended to the normal ones of the unbiased estimates, clipped to [0, 1]."""
    reach = normal_quantile(level) * error
    both = np.column_stack([np.minimum(ends[:, 0], x - reach), np.maximum(ends[:, 1], x + reach)])
    return np.asarray(np.clip(both, 0.0, 1.0))


# ---- files


def counts_of_selected(itemsets: "pd.DataFrame") -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the sorted names of each selected itemset and the estimated number of baskets that hold it."""
    reports, frame = mining_facts(itemsets).reports, LightFrame.from_frame(itemsets)
    for row in frame.to_dict():
        if row["selected"]:
            yield tuple(sorted(row["itemsets"])), max(round(row["support"] * reports), 0)


def write_counts(itemsets: "pd.DataFrame", path: str | Path, line: str, *, force: bool) -> None:
    """Write a line for each selected itemset; EstimateError for a name with a blank."""
    found = list(counts_of_selected(itemsets))
    if any(len(name.split()) != 1 for items, _ in found for name in items):
        raise EstimateError("a name contains a blank, which this format reads as two names; write Parquet or JSON")
    with atomic_output(path, force=force) as stream:
        for items, count in found:
            stream.write((line.format(items=" ".join(items), count=count) + "\n").encode("utf-8"))


def to_efficient_apriori(itemsets: "pd.DataFrame") -> dict[int, dict[tuple[str, ...], int]]:
    """Return selected itemsets as efficient-apriori's ``itemsets_from_transactions`` does: counts by itemset, by size.

    Args:
        itemsets: a table that :func:`assocpriv.mine` returned.

    Returns:
        By itemset size, the estimated number of baskets that hold each itemset: support times reports, rounded.

    Raises:
        EstimateError: not a table that mine returned.

    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> sorted(ap.exports.to_efficient_apriori(found)[1]), list(ap.exports.to_efficient_apriori(found)[2])
    ([('milk',), ('tea',)], [('milk', 'tea')])
    """
    found: dict[int, dict[tuple[str, ...], int]] = {}
    for items, count in counts_of_selected(itemsets):
        found.setdefault(len(items), {})[items] = count
    return found


def write_spmf(itemsets: "pd.DataFrame", path: "str | Path", *, force: bool = False) -> None:
    """Write selected itemsets as SPMF's miners do: ``1 2 3 #SUP: 120``, a line each.

    Args:
        itemsets: a table that :func:`assocpriv.mine` returned.
        path: the file.
        force: replace an existing file.

    Raises:
        EstimateError: not a table that mine returned, or a name with a blank, which the format reads as two names.
        FileError: the file exists and ``force`` is not set, or cannot be written.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> ap.exports.write_spmf(found, file := Path(mkdtemp(), "found.txt"))
    >>> sorted(line.split(" #SUP: ")[0] for line in file.read_text().splitlines())
    ['milk', 'milk tea', 'tea']
    """

    write_counts(itemsets, path, "{items} #SUP: {count}", force=force)


def write_fimi(itemsets: "pd.DataFrame", path: "str | Path", *, force: bool = False) -> None:
    """Write selected itemsets as FIMI's miners do: ``1 2 3 (120)``, a line each.

    Args:
        itemsets, path, force: as for :func:`write_spmf`, and so the errors.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import assocpriv as ap
    >>> made = ap.plan(["milk", "tea"], transaction_size=2, guarantee=ap.Guarantee("5%", "50%"))
    >>> found = ap.mine(ap.randomize([{"milk", "tea"}] * 20_000, made), 0.5)
    >>> ap.exports.write_fimi(found, file := Path(mkdtemp(), "found.txt"))
    >>> sorted(line.split(" (")[0] for line in file.read_text().splitlines())
    ['milk', 'milk tea', 'tea']
    """

    write_counts(itemsets, path, "{items} ({count})", force=force)
