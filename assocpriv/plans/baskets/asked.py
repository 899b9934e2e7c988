"""How many reports tell of an itemset, where each tells of a random block: fewer than there are, and not of all alike.

Of R partitions into g pieces each, an itemset of k entries lies whole in a piece of B of them, B ~ Bin(R, p_k) over all
itemsets of the size, and a report is about one of those B of R·g blocks with probability B/(R·g):

    p_k = Σ_pieces C(n_j, k) / C(n, k)         about g^(1−k); p_1 = 1
    N_A | B ~ Bin(N, B/(R·g)),     E N_A = N·p_k/g
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb

import numpy as np

from assocpriv.plans.baskets.blocks import Blocks
from assocpriv.plans.baskets.plan import Plan

TOO_FEW_SHARE = 0.01  # of the itemsets of a size, which lie in the fewest blocks
_SURELY = 1e-6  # so seldom fewer reports are about so many blocks


@dataclass(frozen=True, slots=True)
class AskedReports:
    """Of which itemsets reports tell: the blocks, and how many entries are cut into them."""

    blocks: Blocks
    n_items: int

    @classmethod
    def of(cls, plan: Plan) -> "AskedReports | None":
        """Return those of a plan with blocks, None where every report tells of every itemset."""
        return None if plan.view.blocks is None else cls(plan.view.blocks, plan.n_items)

    def share(self, k: int) -> Fraction:
        """Return E N_A / N for an itemset of k entries, over random blocks of these numbers and sizes.

        >>> AskedReports(Blocks(4, 2), 6).share(2)
        Fraction(1, 5)
        """
        return asked_share(self.n_items, self.blocks.pieces, k)

    def least(self, k: int, n_reports: int) -> int:
        """Return how many of N reports tell of at least 99 of 100 itemsets of k entries: N_A is seldom less.

        >>> AskedReports(Blocks(64, 2), 100).least(1, 10_000), AskedReports(Blocks(64, 2), 100).least(2, 10_000)
        (4884, 1745)
        """
        return _least(self, k, n_reports)

    def fewest(self, k: int, n_reports: int) -> int:
        """Return how many of N reports surely tell of an itemset of k entries that does not lie in too few blocks.

        Too few are fewer than 99 of 100 itemsets of the size lie in.

        >>> AskedReports(Blocks(64, 2), 100).fewest(1, 10_000), AskedReports(Blocks(64, 2), 100).fewest(2, 10_000)
        (4762, 1542)
        """
        return _fewest(self, k, n_reports)


def asked_share(n_entries: int, pieces: int, k: int) -> Fraction:
    """Return p_k/g, the share of blocks that hold an itemset of k entries whole, on average; 0 of more than there are.

    >>> [str(asked_share(7, 3, k)) for k in (1, 2, 3)]
    ['1/3', '5/63', '1/105']
    """
    short, longer = divmod(n_entries, pieces)
    held = longer * comb(short + 1, k) + (pieces - longer) * comb(short, k)
    return Fraction(held, comb(n_entries, k) * pieces) if k <= n_entries else Fraction(0)


@lru_cache(maxsize=256)
def _fewest(asked: AskedReports, k: int, n_reports: int) -> int:
    from scipy.stats import binom

    partitions, pieces = asked.blocks.partitions, asked.blocks.pieces
    blocks = binom.ppf(TOO_FEW_SHARE, partitions, float(asked.share(k) * pieces))
    return max(0, int(binom.ppf(_SURELY, n_reports, float(blocks) / (partitions * pieces))))


@lru_cache(maxsize=256)
def _least(asked: AskedReports, k: int, n_reports: int) -> int:
    from scipy.stats import binom

    partitions, pieces = asked.blocks.partitions, asked.blocks.pieces
    in_blocks = np.arange(partitions + 1)
    weights = binom.pmf(in_blocks, partitions, float(asked.share(k) * pieces))
    low, high = 0, n_reports
    while low < high:  # the most reports that fewer than one of 100 lack
        middle = (low + high + 1) // 2
        fewer = float(weights @ binom.cdf(middle - 1, n_reports, in_blocks / (partitions * pieces)))
        low, high = (middle, high) if fewer <= TOO_FEW_SHARE else (low, middle - 1)
    return low
