"""What sampling long baskets loses of supports, and where that is warned of."""

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from naive import planned

from assocpriv.planning.sampling_loss import describe_loss, sampling_loss
from assocpriv.plans.catalogue import Catalogue
from assocpriv.promise.breaches import Breach
from assocpriv.records.baskets import Baskets, count_sizes

PROMISE = Breach("5%", "50%")


def test_what_survives_is_what_sampling_leaves(rng: np.random.Generator) -> None:
    """Over all M items that could be drawn of each basket, so large a share of its k-itemsets stays on average."""
    chances = np.linspace(0.6, 0.05, 6)
    sets = [np.flatnonzero(rng.random(6) < chances).tolist() for _ in range(12)]
    sizes = count_sizes(Baskets.from_sets(sets, Catalogue.numbered(6)))
    for m in range(3, 7):
        loss = sampling_loss(sizes, planned(6, m, PROMISE))
        assert (loss.baskets, loss.sampled) == (12, sum(len(items) > m for items in sets))
        for k in range(1, 4):
            whole, left = 0, Fraction(0)
            for items in sets:
                drawn = list(combinations(items, min(m, len(items))))
                whole += comb(len(items), k)
                left += Fraction(sum(comb(len(sample), k) for sample in drawn), len(drawn))
            assert loss.shares[k] == pytest.approx(1 - float(left / whole) if whole else 0.0, rel=1e-12)


@pytest.mark.parametrize(("sizes", "asked"), [(None, 1), ("auto", 0)])
def test_it_is_warned_of_where_nothing_undoes_it(sizes: str | None, asked: int) -> None:
    """Where some people are asked about sizes, mining undoes it; else a loss of more than 5% is warned of."""
    plan = planned(20, 3, PROMISE, sizes=sizes)
    baskets = Baskets.from_sets([range(9)], Catalogue.numbered(20))
    said, warning = describe_loss(sampling_loss(count_sizes(baskets), plan))
    assert "1 of 1 baskets are longer than 3 items" in said[0]
    assert len(warning) == asked
    assert ("undoes it" in said[0]) == (not asked)
