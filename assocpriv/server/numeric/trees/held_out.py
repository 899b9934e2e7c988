"""Whether a tree tells more than the commonest class does: asked of records that it was not grown on.

A tree under a strong promise fits noise, and by its own records it seems sure all the same. So records are divided in
two halves at random. On each half a tree is grown, and its leaves are recounted from the other half: noise that one
half has and the other has not makes splits there no better than none. The recount takes columns that nobody answered
together as independent within a class; where they are not it promises too much, so a gain counts from LEAST_GAIN on.

Costs two trees of half the records. It is asked only where there is doubt: where what the column of the first split
says of classes is borne out by the released codes for less than SURE.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from assocpriv.server.numeric.trees.channels import Channel
from assocpriv.server.numeric.trees.correction import Codes
from assocpriv.server.numeric.trees.evidence import borne_out, codes_by_class
from assocpriv.server.numeric.trees.growing import Tree
from assocpriv.server.numeric.trees.recounting import recount

LEAST_GAIN = 0.05  # of the errors that the commonest class makes; .1 does as well on Adult at ε = 1 and 1.5
SURE = 0.9  # of a difference between classes
GrowOn = Callable[[Sequence[Codes], NDArray[np.int64]], tuple[Tree, list[Channel]]]


def in_doubt(tree: Tree, codes: Sequence[Codes], labels: NDArray[np.int64], channels: Sequence[Channel]) -> bool:
    """Say whether what a tree splits on first may be noise; a first split that is borne out tells of the class."""
    first = tree[0].feature
    channel = channels[first]
    if first < 0 or channel.matrix is None:
        return False
    counts = np.array(list(codes_by_class(codes[first], labels, channel).values()))
    return borne_out(counts, in_a_row=channel.edges is not None) < SURE


def held_out_gain(
    codes: Sequence[Codes], labels: NDArray[np.int64], grow_on: GrowOn, rng: np.random.Generator
) -> float:
    """Return how many more records trees get right than the commonest class does, as a share of all records.

    ``codes`` are a column's each, (n,); ``labels`` the released classes, int64 (n,). Means of both halves, 0 for a half
    with records of one class only.
    """
    halves = rng.permutation(len(labels)) % 2
    gains = [0.0, 0.0]
    for side in (0, 1):
        own, other = np.flatnonzero(halves == side), np.flatnonzero(halves != side)
        if len(np.unique(labels[own])) < 2 or len(np.unique(labels[other])) < 2:
            continue
        tree, ranked = grow_on([column[own] for column in codes], labels[own])
        again = recount(tree, [column[other] for column in codes], labels[other], ranked, rng)
        leaves = [(told, seen) for told, seen in zip(tree, again, strict=True) if told.feature < 0]
        right = sum(seen.counts[int(np.argmax(told.counts))] for told, seen in leaves)
        gains[side] = (right - int(np.bincount(labels[other]).max())) / len(other)
    return sum(gains) / 2
