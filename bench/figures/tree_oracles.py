"""What trees could reach at 100% privacy if part of what they estimate were known: which part costs the accuracy.

* *by-class, true distributions*: growth as by class, where the distribution of every column in every class is the true
  one, as if reconstruction were perfect;
* *true splits*: the splits of the tree on raw records, whose leaves are counted from released values alone.

The first is the ceiling of AS00's algorithm, the second shows how much of the classes the noise leaves in the data.
"""

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assocpriv.numeric import predict
from assocpriv.plans.columns import NumberColumn
from assocpriv.plans.tables import TablePlan
from assocpriv.plans.tree_model import TreeModel
from assocpriv.server import tree_growth, tree_pruning, trees
from assocpriv.server.histograms import released_codes
from assocpriv.server.tree_growth import Channel, channel_of
from assocpriv.server.trees import TreeRequest, grow_tree
from assocpriv.simulation.synthetic import CLASSES, LABEL, AgrawalSettings, generate_agrawal
from bench.figures.trees import NOISES, Row, accuracy, generated_columns, noisy_plan, release

Positions = NDArray[np.int64]


def oracle_rows(seed: int, *, records: int = 100_000, privacy: int = 100) -> Iterator[Row]:
    """Yield the accuracy of trees by class and of both oracles, for every function and noise."""
    for function in range(1, 6):
        train, test = (
            generate_agrawal(AgrawalSettings(function=function, n_records=n, seed=2 * seed + part))
            for part, n in enumerate((records, 5_000))
        )
        for noise in NOISES:
            plan = noisy_plan(generated_columns(), CLASSES, records, noise, privacy)
            reports = release(train, plan, 1000 + seed)
            shared = {"function": function, "noise": noise, "privacy": privacy, "seed": seed}
            raw, labels = raw_positions(train, plan), np.array([CLASSES.index(word) for word in train[LABEL]])
            yield shared | {"method": "by-class", "accuracy": accuracy(reports, "by-class", test)[0]}
            with patch.object(tree_growth, "class_shares", _truth(raw)):
                known = grow_tree(reports, LABEL)
            yield shared | {"method": "by-class, true distributions", "accuracy": _right(known, test)}
            codes = released_codes(reports, plan)
            splits = _true_splits(raw, labels, codes, plan)
            yield shared | {"method": "true splits", "accuracy": _right(splits, test)}


def raw_positions(table: pd.DataFrame, plan: TablePlan) -> dict[str, Positions]:
    """Return the true interval of every record, int64 (n,), by column."""
    found = {}
    for column in plan.columns:
        if isinstance(column, NumberColumn):
            edges = column.interval_edges
            place = np.searchsorted(edges, table[column.name].to_numpy(), side="right") - 1
            found[column.name] = np.clip(place, 0, len(edges) - 2)
    return found


def _truth(raw: dict[str, Positions]):  # type: ignore[no-untyped-def]
    """Return what stands in for the reconstruction: the true shares by class."""

    def known(_codes: object, labels: Positions, channel: Channel) -> dict[int, NDArray[np.float64]]:
        of_column = raw[channel.column.name]
        return {
            k: np.bincount(of_column[labels == k], minlength=channel.n_positions) / (labels == k).sum()
            for k in np.unique(labels).tolist()
        }

    return known


def _true_splits(
    raw: dict[str, Positions], labels: Positions, codes: list[NDArray[np.unsignedinteger]], plan: TablePlan
) -> TreeModel:
    """Return the tree that grows on raw intervals and is pruned, its leaves counted from released codes."""
    request, rng = TreeRequest(), np.random.default_rng(0)
    channels = [channel_of(plan, place) for place in range(len(raw))]
    positions = np.stack(list(raw.values()), axis=1).astype(np.float32)
    grown = tree_growth.grow(positions, labels, len(CLASSES), request.limits(len(labels)))
    counted = tree_pruning.recount(tree_pruning.prune_by_description(grown, ()), codes[:-1], labels, channels, rng)
    tree = tree_pruning.prune_by_description(counted, ())
    target = trees.ClassColumn(LABEL, CLASSES)
    nodes = tuple(trees.node_of(branch, channels, {}, target) for branch in tree)
    return TreeModel(LABEL, CLASSES, tuple(channel.column for channel in channels), nodes, "by-class", len(nodes))


def _right(model: TreeModel, test: pd.DataFrame) -> float:
    return 100 * float((predict(test, model) == test[LABEL].to_numpy()).mean())
