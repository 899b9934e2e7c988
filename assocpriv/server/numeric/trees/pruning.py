"""Pruning from the leaves up: a node stays split where that is the cheaper description of its records.

* By description length, as AS00 does it (Mehta, Agrawal, Rissanen, SLIQ, EDBT 1996, section 4.2): a leaf costs 1 for
  being one, and 1 for each record that is not of its class; a split costs 1 for being one, its test, and its two parts.
  A test of a number costs 1, a test of a category ln n, where n tests of the tree ask for this column.
* By cost complexity (Breiman and others 1984, chapter 3): a leaf costs its share of the records times its gini index,
  and α; a split costs its two parts. This is the smallest of the subtrees that are best for α, as in scikit-learn.

Equal costs are for the leaf.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace

from assocpriv.server.numeric.trees.growing import Branch, Tree

PRUNINGS = ("description-length", "cost-complexity", "none")


def prune(tree: Tree, leaf_cost: Callable[[Branch], float], test_cost: Callable[[Branch], float]) -> Tree:
    """Return the cheapest of the trees that are left when nodes become leaves."""
    costs, sizes, stays = [0.0] * len(tree), [1] * len(tree), [False] * len(tree)
    for place in reversed(range(len(tree))):
        branch = tree[place]
        costs[place] = leaf_cost(branch)
        if branch.feature >= 0:
            split = test_cost(branch) + costs[place + 1] + costs[branch.right]
            stays[place] = split < costs[place]
        if stays[place]:
            costs[place], sizes[place] = split, 1 + sizes[place + 1] + sizes[branch.right]
    kept: Tree = []
    waiting = [0]
    while waiting:
        place = waiting.pop()
        branch = tree[place]
        if stays[place]:
            kept.append(replace(branch, right=len(kept) + 1 + sizes[place + 1]))
            waiting += [branch.right, place + 1]
        else:
            kept.append(Branch(branch.counts))
    return kept


def prune_by_description(tree: Tree, categories: Collection[int]) -> Tree:
    """Prune by description length; ``categories`` are the columns of named values."""
    asked = Counter(branch.feature for branch in tree)
    return prune(
        tree,
        lambda branch: 1 + sum(branch.counts) - max(branch.counts),
        lambda branch: 1 + (math.log(asked[branch.feature]) if branch.feature in categories else 1),
    )


def prune_by_complexity(tree: Tree, alpha: float) -> Tree:
    """Prune by cost complexity."""
    n = sum(tree[0].counts)

    def cost(branch: Branch) -> float:
        here = sum(branch.counts)
        return (here - sum(count**2 for count in branch.counts) / here) / n + alpha

    return prune(tree, cost, lambda _: 0.0)
