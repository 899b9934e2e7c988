"""A published decision tree over raw values.

A number goes left if it is below a threshold, a category if it is one of several values. A node says where missing
values and unknown categories go. Nodes are in preorder: the left child follows its parent. Applying a tree does not
need the table it was grown on; for a single record it does not need numpy.

A tree can be printed as indented lines, or as a graph in the DOT language of Graphviz.
"""

import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from assocpriv.guarantees.errors import EstimateError
from assocpriv.guarantees.exact_numbers import rounded
from assocpriv.plans.result_display import html_renderer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MOST_NODES = 1 << 20
EVERY_NUMBER = sys.float_info.max  # as a threshold: every smaller number goes left, missing values right
_NEAR_ONE = 1e-6  # tolerance of the sum of a leaf's shares
_MOST_VALUES = 4  # of a category in a line


# ---- the tree


@dataclass(frozen=True, slots=True)
class NumberInput:
    """A column of numbers with its range; values beyond it go where the nearest one goes."""

    name: str
    low: float
    high: float
    optional: bool = False  # whether a value could be missing when the tree was grown

    kind = "number"


@dataclass(frozen=True, slots=True)
class CategoryInput:
    """A column of named values."""

    name: str
    values: tuple[str, ...]
    optional: bool = False

    kind = "category"


Input = NumberInput | CategoryInput


@dataclass(frozen=True, slots=True)
class Split:
    """A node's split: left if below a threshold, or if among some values (positions in the column's values)."""

    column: int
    below: float | None
    among: frozenset[int] | None
    missing_left: bool
    right: int  # the right child's position; the left child follows its parent

    def goes_left(self, value: float) -> bool:
        """Return whether a value goes left: a number, or the position of a category; NaN if missing or unknown."""
        if math.isnan(value):
            return self.missing_left
        return value < self.below if self.among is None else value in self.among  # type: ignore[operator]

    def go_left(self, values: "NDArray[np.float64]") -> "NDArray[np.bool_]":
        """Return which values go left, bool (n,)."""
        import numpy as np

        missing = np.isnan(values)
        chosen = values < self.below if self.among is None else np.isin(values, sorted(self.among))  # type: ignore[operator]
        return np.where(missing, self.missing_left, chosen)


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its number of records, the share of each class among them, and its split; a leaf has no split."""

    records: int
    shares: tuple[float, ...]
    split: Split | None = None


@dataclass(frozen=True)
class TreeModel:
    """A decision tree with its columns and classes.

    Attributes:
        class_name: name of the class column.
        classes: the classes.
        columns: the columns that the tree uses of a record.
        nodes: nodes in preorder; their ``shares`` are those of the true classes, estimated if the class is protected.
        method: the records for which columns were reconstructed (AS00, section 4.2).
        grown_leaves: number of leaves before pruning.
        plan_id: id of the plan of the reports; empty for a tree grown on released records.
        accuracy: ends of a 95% interval of the share of people that the tree classifies correctly; None for a tree
            grown on released records, which do not allow an estimate.

    Raises:
        EstimateError: the nodes form no tree over these columns and classes.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> ages, classes = pd.DataFrame({"age": range(20)}), [0] * 10 + [1] * 10
    >>> model = ap.numeric.ReleasedTreeClassifier(pruning="none").fit(ages, classes).model_
    >>> model.n_leaves, model.depth, model.columns[0].name
    (2, 1, 'age')
    """

    class_name: str
    classes: tuple[str, ...]
    columns: tuple[Input, ...] = field(repr=False)
    nodes: tuple[Node, ...] = field(repr=False)
    method: str
    grown_leaves: int
    plan_id: str = ""
    accuracy: tuple[float, float] | None = None

    _repr_html_ = html_renderer("assocpriv.show.table_views:tree")

    def __post_init__(self) -> None:
        if not 1 <= len(self.nodes) <= MOST_NODES:
            raise EstimateError(f"a tree has 1 to {MOST_NODES:,} nodes, got {len(self.nodes):,}")
        if len(set(self.classes)) != len(self.classes) or not self.classes:
            raise EstimateError("a tree needs at least one class, and its classes must differ")
        names = [column.name for column in self.columns]
        if len({*names, self.class_name}) != len(names) + 1:
            raise EstimateError("a tree's columns and its class must have different names")
        if self.accuracy is not None and not 0 <= self.accuracy[0] <= self.accuracy[1] <= 1:
            raise EstimateError("a tree's accuracy needs an interval within 0..1")
        for place, node in enumerate(self.nodes):
            self._check_node(place, node)
        if _preorder_ends([node.split.right if node.split else None for node in self.nodes]) != len(self.nodes):
            raise EstimateError("a tree's nodes must be in preorder, and each except the first must have one parent")

    def _check_node(self, place: int, node: Node) -> None:
        if len(node.shares) != len(self.classes) or not all(0 <= share <= 1 for share in node.shares):
            raise EstimateError(f"node {place} of the tree needs a share in 0..1 for each of the classes")
        if abs(sum(node.shares) - 1) > _NEAR_ONE or node.records < 0:
            raise EstimateError(f"node {place} of the tree needs shares that add up to 1, and no negative records")
        if (split := node.split) is None:
            return
        if not 0 <= split.column < len(self.columns):
            raise EstimateError(f"node {place} of the tree splits by a column that the model does not have")
        column = self.columns[split.column]
        if isinstance(column, NumberInput):
            fits = split.among is None and split.below is not None and math.isfinite(split.below)
        else:
            fits = split.below is None and split.among is not None and split.among <= set(range(len(column.values)))
        if not fits:
            raise EstimateError(f"node {place} of the tree has a split that does not fit column {column.name}")

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return sum(node.split is None for node in self.nodes)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Number of splits above each node."""
        depths = [0] * len(self.nodes)
        for place, node in enumerate(self.nodes):
            if node.split:
                depths[place + 1] = depths[node.split.right] = depths[place] + 1
        return tuple(depths)

    @property
    def depth(self) -> int:
        """The largest number of splits that a record passes."""
        return max(self.depths)

    def likeliest(self, node: int) -> int:
        """Return the position of a node's most probable class; the first of equal ones.

        Args:
            node: position of the node in ``nodes``.

        Returns:
            A position in ``classes``.
        """
        shares = self.nodes[node].shares
        return shares.index(max(shares))

    def leaf(self, values: Sequence[float]) -> int:
        """Return the leaf of one record.

        Args:
            values: for each column of ``columns`` a number or the position of a category; NaN if missing or unknown.

        Returns:
            Position of the leaf in ``nodes``.
        """
        at = 0
        while (split := self.nodes[at].split) is not None:
            at = at + 1 if split.goes_left(values[split.column]) else split.right
        return at

    def leaves(self, values: "NDArray[np.float64]") -> "NDArray[np.int64]":
        """Return the leaves of many records.

        Args:
            values: values as for :meth:`leaf`, float64 (n, columns).

        Returns:
            Positions of leaves in ``nodes``, int64 (n,).
        """
        import numpy as np

        found = np.zeros(len(values), dtype=np.int64)
        rows = {0: np.arange(len(values))}
        for place, node in enumerate(self.nodes):
            here = rows.pop(place)
            if node.split is None:
                found[here] = place
            else:
                left = node.split.go_left(values[here, node.split.column])
                rows[place + 1], rows[node.split.right] = here[left], here[~left]
        return found


def _preorder_ends(rights: Sequence[int | None]) -> int | None:
    """Return the end of the tree that begins at node 0, or None if a right child does not follow its left subtree."""
    expected: list[int] = []  # pending right children, the nearest last
    for place, right in enumerate(rights):
        if right is not None:
            if not place + 1 < right < len(rights) or (expected and right >= expected[-1]):
                return None
            expected.append(right)
        elif not expected:
            return place + 1
        elif expected.pop() != place + 1:
            return None
    return None


# ---- text


def tree_lines(model: TreeModel) -> Iterator[str]:
    """Yield a tree's lines of text: one for each side of each split, indented by depth, with the classes of leaves.

    Args:
        model: the tree.

    Returns:
        An iterator of lines; a tree of one leaf has one line.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> ages, classes = pd.DataFrame({"age": range(20)}), [0] * 10 + [1] * 10
    >>> model = ap.numeric.ReleasedTreeClassifier(pruning="none").fit(ages, classes).model_
    >>> list(ap.numeric.tree_lines(model))
    ['age < 9.5: 0 (100.0% of 10)', 'age >= 9.5: 1 (100.0% of 10)']
    """
    if (first := model.nodes[0].split) is None:
        yield _prediction(model, 0)
        return
    pending = [(first, True, 0, first.right), (first, False, 0, 1)]  # sides of splits, the next last
    while pending:
        split, is_right, depth, place = pending.pop()
        line = f"{'  ' * depth}{_test(model, split, is_right)}"
        below = model.nodes[place].split
        yield line if below else f"{line}: {_prediction(model, place)}"
        if below:
            pending += [(below, True, depth + 1, below.right), (below, False, depth + 1, place + 1)]


def _prediction(model: TreeModel, place: int) -> str:
    best = model.likeliest(place)
    return f"{model.classes[best]} ({model.nodes[place].shares[best]:.1%} of {model.nodes[place].records:,})"


def _test(model: TreeModel, split: Split, is_right: bool) -> str:
    column = model.columns[split.column]
    missing = " or missing" if column.optional and split.missing_left != is_right else ""
    if split.below == EVERY_NUMBER:
        return f"{column.name} is {'missing' if is_right else 'present'}"
    if split.below is not None:
        return f"{column.name} {'>=' if is_right else '<'} {rounded(split.below, 6)}{missing}"
    assert isinstance(column, CategoryInput)
    assert split.among is not None
    chosen = [value for place, value in enumerate(column.values) if (place in split.among) != is_right]
    named = ", ".join(chosen[:_MOST_VALUES])
    others = len(chosen) - _MOST_VALUES
    return f"{column.name} is {named}{f' or {others} more' if others > 0 else ''}{missing}"


def tree_dot(model: TreeModel) -> str:
    """Return a tree as a graph in DOT for Graphviz: a box for each node, an edge for each side of a split.

    Args:
        model: the tree.

    Returns:
        The text of the graph, which ends with a line feed.

    >>> import pandas as pd
    >>> import assocpriv as ap
    >>> ages, classes = pd.DataFrame({"age": range(20)}), [0] * 10 + [1] * 10
    >>> model = ap.numeric.ReleasedTreeClassifier(pruning="none").fit(ages, classes).model_
    >>> ap.numeric.tree_dot(model).splitlines()[-3:-1]
    ['  n1 [label="0 (100.0% of 10)"];', '  n2 [label="1 (100.0% of 10)"];']
    """
    lines = ["digraph tree {", '  node [shape=box, fontname="sans-serif"];']
    for place, node in enumerate(model.nodes):
        test = "" if node.split is None else f"{_test(model, node.split, False)}\n"
        lines.append(f"  n{place} [label={json.dumps(test + _prediction(model, place), ensure_ascii=False)}];")
        if node.split is not None:
            lines += [f'  n{place} -> n{place + 1} [label="yes"];', f'  n{place} -> n{node.split.right} [label="no"];']
    return "\n".join([*lines, "}", ""])
