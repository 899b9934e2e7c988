"""Trees as people read them: indented lines, and the DOT language of Graphviz."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from assocpriv.plans.tree_model import EVERY_NUMBER, CategoryInput, Split, TreeModel
from assocpriv.promise.numbers import rounded

_MOST_VALUES = 4  # of a category that a line names


class Side(NamedTuple):
    """A side of a split, as it is read: how deep, what it asks, the node that it leads to."""

    depth: int
    test: str
    place: int


def tree_sides(model: TreeModel) -> Iterator[Side]:
    """Yield the sides of all splits, each split's after the side that leads to it; none of a tree that is one leaf."""
    if model.nodes[0].split is None:
        return
    waiting = [(model.nodes[0].split.right, 0, True), (1, 0, False)]
    while waiting:
        place, parent, is_right = waiting.pop()
        split = model.nodes[parent].split
        assert split is not None
        yield Side(model.depths[parent], _test(model, split, is_right), place)
        if below := model.nodes[place].split:
            waiting += [(below.right, place, True), (place + 1, place, False)]


def tree_lines(model: TreeModel) -> Iterator[str]:
    """Yield a line for each side of each split, two blanks deeper than the split's; a leaf's class with its share."""
    if model.nodes[0].split is None:
        yield _answer(model, 0)
    for depth, test, place in tree_sides(model):
        line = f"{'  ' * depth}{test}"
        yield line if model.nodes[place].split else f"{line}: {_answer(model, place)}"


def _answer(model: TreeModel, place: int) -> str:
    best = model.likeliest(place)
    return f"{model.classes[best]} ({model.nodes[place].shares[best]:.1%} of {model.nodes[place].records:,})"


def _test(model: TreeModel, split: Split, is_right: bool) -> str:
    column = model.columns[split.column]
    missing = " or missing" if column.optional and split.missing_left != is_right else ""
    if split.below == EVERY_NUMBER:
        return f"{column.name} is {'missing' if is_right else 'there'}"
    if split.below is not None:
        return f"{column.name} {'>=' if is_right else '<'} {rounded(split.below, 6)}{missing}"
    assert isinstance(column, CategoryInput)
    assert split.among is not None
    chosen = [value for place, value in enumerate(column.values) if (place in split.among) != is_right]
    named = ", ".join(chosen[:_MOST_VALUES])
    others = len(chosen) - _MOST_VALUES
    return f"{column.name} is {named}{f' or {others} more' if others > 0 else ''}{missing}"


def tree_dot(model: TreeModel) -> str:
    """Return a graph in DOT: a box for each node, an edge for each side of a split."""
    lines = ["digraph tree {", '  node [shape=box, fontname="sans-serif"];']
    for place, node in enumerate(model.nodes):
        test = "" if node.split is None else f"{_test(model, node.split, False)}\n"
        lines.append(f"  n{place} [label={json.dumps(test + _answer(model, place), ensure_ascii=False)}];")
        if node.split is not None:
            lines += [f'  n{place} -> n{place + 1} [label="yes"];', f'  n{place} -> n{node.split.right} [label="no"];']
    return "\n".join([*lines, "}", ""])
