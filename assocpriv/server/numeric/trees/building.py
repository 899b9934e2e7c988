"""From codes and classes to a finished tree: positions, growth, pruning, and the shares of the true classes.

A protected class. Symmetric randomized response of K classes turns the share p of a class, in any part of the table,
into l + (h − l)·p, where h and l are the probabilities of releasing the own class and each other one. Every gini index
is then 1 − Σ(l + (h − l)p)² = a constant − (h − l)²·Σp², and constants cancel from a split's gain: all gains are the
true ones times (h − l)². So the tree grows on the released classes, and the shares of its nodes are inverted
afterwards.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.columns import CategoryColumn, Window
from assocpriv.plans.tree_model import EVERY_NUMBER, Node, Split, TreeModel
from assocpriv.promise.errors import EstimateError
from assocpriv.server.numeric.trees.channels import Channel
from assocpriv.server.numeric.trees.correction import Codes
from assocpriv.server.numeric.trees.growing import (
    METHODS,
    Branch,
    Limits,
    LocalGrowth,
    Positions,
    Tree,
    corrected_positions,
    grow,
)
from assocpriv.server.numeric.trees.held_out import LEAST_GAIN, held_out_gain, in_doubt
from assocpriv.server.numeric.trees.pruning import PRUNINGS, prune_by_complexity, prune_by_description
from assocpriv.server.numeric.trees.recounting import recount

LARGEST_LEAST_LEAF = 100  # records; the points that an interval has on average in AS00, section 4.2


@dataclass(frozen=True, slots=True)
class TreeRequest:
    """How a tree is grown; see :class:`assocpriv.server.numeric.trees.estimator.ReleasedTreeClassifier`.

    Raises:
        EstimateError: a word that is none of those known, or a number out of range.
    """

    method: str = "by-class"
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int | None = None
    pruning: str = "description-length"
    ccp_alpha: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, words in (("method", METHODS), ("pruning", PRUNINGS)):
            if getattr(self, name) not in words:
                raise EstimateError(f"{name} must be one of {', '.join(words)}")
        for name, least in (("max_depth", 1), ("min_samples_split", 2), ("min_samples_leaf", 1)):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | np.integer) and value >= least):
                raise EstimateError(f"{name} must be a whole number of at least {least}")
        if not 0 <= self.ccp_alpha < np.inf:
            raise EstimateError("ccp_alpha must be a number of at least 0")
        if self.ccp_alpha and self.pruning != "cost-complexity":
            raise EstimateError('ccp_alpha goes with pruning="cost-complexity"')

    def limits(self, n_records: int) -> Limits:
        """Return the limits of growth on so many records."""
        leaf = self.min_samples_leaf or min(LARGEST_LEAST_LEAF, max(1, n_records // 1000))
        return Limits(self.max_depth, self.min_samples_split, leaf, self.seed)


@dataclass(frozen=True)
class ClassColumn:
    """The class: its name, values, and the law that released it; None for one that was not randomized."""

    name: str
    values: tuple[str, ...]
    law: Window | None = None

    @classmethod
    def of(cls, column: CategoryColumn) -> "ClassColumn":
        """Return the class that a plan's column states."""
        return cls(column.name, column.values, column.law if isinstance(column.law, Window) else None)

    @property
    def contrast(self) -> float:
        """How much more often a class is released by who has it than by who has another: 1 without noise."""
        return 1.0 if self.law is None else (self.law.high - self.law.low) / self.law.total(optional=False)

    def true_shares(self, counts: Sequence[float]) -> tuple[float, ...]:
        """Return the shares of the true classes, of counts of released ones: inverted, and clipped to 0 … 1."""
        shares = np.array(counts) / sum(counts)
        if self.law is not None:
            total = self.law.total(optional=False)
            low, high = self.law.low / total, self.law.high / total
            shares = np.clip((shares - low) / (high - low), 0, 1)
            shares /= shares.sum()
        return tuple(shares.tolist())


def build(
    codes: Sequence[Codes],
    labels: NDArray[np.int64],
    channels: Sequence[Channel],
    target: ClassColumn,
    request: TreeRequest,
    plan_id: str = "",
) -> TreeModel:
    """Return the tree of records: a released code of every column, (n,), and a released class, int64 (n,).

    Raises:
        EstimateError: no records, records of one class only, no columns, or more intervals than records.
    """
    _check(labels, channels, target)
    rng = np.random.default_rng(request.seed)
    growth = _Growth(channels, len(target.values), request, rng)
    grown, pruned, places = growth.on(codes, labels)
    undecidable = growth.can_doubt and len(pruned) > 1 and in_doubt(pruned, codes, labels, channels)
    if undecidable:
        gain = held_out_gain(codes, labels, growth.halves, rng) / target.contrast
        undecidable = gain < LEAST_GAIN * (1 - max(target.true_shares(pruned[0].counts)))
    if undecidable:
        pruned = [Branch(pruned[0].counts)]
    nodes = tuple(node_of(branch, channels, places, target) for branch in pruned)
    leaves = sum(branch.feature < 0 for branch in grown)
    columns = tuple(channel.column for channel in channels)
    return TreeModel(target.name, target.values, columns, nodes, request.method, leaves, plan_id, undecidable)


@dataclass(frozen=True)
class _Growth:
    """Growth and pruning as asked for, on whatever records of the same columns."""

    channels: Sequence[Channel]
    n_classes: int
    request: TreeRequest
    rng: np.random.Generator

    @property
    def can_doubt(self) -> bool:
        """Whether a tree that tells nothing is replaced: not where somebody asked for one as it grows."""
        return self.request.method in ("by-class", "local") and self.request.pruning == "description-length"

    def on(self, codes: Sequence[Codes], labels: NDArray[np.int64]) -> tuple[Tree, Tree, dict[int, NDArray[np.int64]]]:
        """Return the tree as grown, as pruned, and the orders of categories."""
        channels, request, rng = self.channels, self.request, self.rng
        method = "by-class" if request.method == "local" else request.method
        positions = corrected_positions(codes, labels, channels, method, rng)
        places = _category_orders(positions, labels, channels)
        for place, order in places.items():
            positions[:, place] = _ranks(order)[np.nan_to_num(positions[:, place], nan=len(order)).astype(np.int64)]
        limits = request.limits(len(labels))
        ranked = _all_ranked(channels, places)
        if request.method == "local" and _any_together(codes, channels):
            growth = LocalGrowth(codes, labels, ranked, self.n_classes, rng)
            grown = growth.grow(np.arange(len(labels)), positions, frozenset(), limits)
        else:
            grown = grow(positions, labels, self.n_classes, limits)
        pruned = _pruned(grown, request, set(places))
        if _needs_recount(pruned, channels, request):
            pruned = _pruned(recount(pruned, codes, labels, ranked, rng), request, set(places))
        return grown, pruned, places

    def halves(self, codes: Sequence[Codes], labels: NDArray[np.int64]) -> tuple[Tree, list[Channel]]:
        """Return the pruned tree, and the channels in the orders that it splits by."""
        _, pruned, places = self.on(codes, labels)
        return pruned, _all_ranked(self.channels, places)


def _check(labels: NDArray[np.int64], channels: Sequence[Channel], target: ClassColumn) -> None:
    if not len(labels):
        raise EstimateError("there are no records with a class to grow a tree on")
    if not channels:
        raise EstimateError(f"there is no column but the class {target.name}; a tree needs something to split on")
    if (labels == labels[0]).all():
        raise EstimateError(f"all {len(labels):,} records have one class; a tree needs two classes at least")
    for channel in channels:
        if channel.matrix is not None and channel.edges is not None and channel.n_positions > len(labels):
            raise EstimateError(
                f"column {channel.column.name} has {channel.n_positions} intervals, more than there are records "
                f"({len(labels):,}); gather more reports, or plan fewer intervals"
            )


def _category_orders(
    positions: Positions, labels: NDArray[np.int64], channels: Sequence[Channel]
) -> dict[int, NDArray[np.int64]]:
    """Return, by column of named values, its values by rising share of the commonest class among their records.

    For two classes the best split of a node into two sets of values is one of those between neighbours in the node's
    own order (Breiman and others 1984, section 9.4); the table's order is taken for all nodes.
    """
    commonest = labels == np.bincount(labels).argmax()
    orders = {}
    for place, channel in enumerate(channels):
        if channel.edges is None:
            n, known = channel.n_positions, ~np.isnan(positions[:, place])
            values = positions[known, place].astype(np.int64)
            every, of_class = (np.bincount(part, minlength=n) for part in (values, values[commonest[known]]))
            orders[place] = np.argsort(of_class / np.maximum(every, 1), kind="stable")
    return orders


def _ranks(order: NDArray[np.int64]) -> NDArray[np.float32]:
    ranks = np.full(len(order) + 1, np.nan, dtype=np.float32)
    ranks[order] = np.arange(len(order))
    return ranks


def _ranked(channel: Channel, order: NDArray[np.int64] | None) -> Channel:
    """Return a channel whose positions are ranks in an order, so that it corrects to ranks."""
    if order is None:
        return channel
    return replace(channel, ranks=_ranks(order)[:-1])


def _any_together(codes: Sequence[Codes], channels: Sequence[Channel]) -> bool:
    """Say whether anybody answered two columns; else a node's records tell of other columns what all of a class do."""
    answers = np.zeros(len(codes[0]), dtype=np.int64)
    for column, channel in zip(codes, channels, strict=True):
        answers += 1 if channel.unasked_code is None else column != channel.unasked_code
    return bool((answers > 1).any())


def _all_ranked(channels: Sequence[Channel], places: dict[int, NDArray[np.int64]]) -> list[Channel]:
    return [_ranked(channel, places.get(place)) for place, channel in enumerate(channels)]


def _needs_recount(tree: Tree, channels: Sequence[Channel], request: TreeRequest) -> bool:
    """Say whether boxes of several columns hold records by noise; a tree by one reconstruction for all stays AS00's."""
    noisy = any(branch.feature >= 0 and channels[branch.feature].matrix is not None for branch in tree)
    return noisy and request.method in ("by-class", "local") and request.pruning != "none"


def _pruned(tree: Tree, request: TreeRequest, categories: set[int]) -> Tree:
    if request.pruning == "description-length":
        return prune_by_description(tree, categories)
    return prune_by_complexity(tree, request.ccp_alpha) if request.ccp_alpha else tree


def node_of(
    branch: Branch, channels: Sequence[Channel], places: dict[int, NDArray[np.int64]], target: ClassColumn
) -> Node:
    """Return a model's node; ``places`` are the orders of categories by column."""
    shares, records = target.true_shares(branch.counts), round(sum(branch.counts))
    if branch.feature < 0:
        return Node(records, shares)
    edges, below, among = channels[branch.feature].edges, None, None
    if edges is None:
        among = frozenset(places[branch.feature][: branch.at].tolist())
    else:
        below = float(edges[branch.at]) if branch.at < len(edges) else EVERY_NUMBER
    return Node(records, shares, Split(branch.feature, below, among, branch.missing_left, branch.right))
