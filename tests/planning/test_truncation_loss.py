"""The support lost by truncation of long baskets, and the warning of it."""

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from naive import planned

from assocpriv.guarantees.amplification import Guarantee
from assocpriv.planning.truncation_loss import describe_truncation_loss, measure_truncation_loss
from assocpriv.plans.baskets.catalogue import Catalogue
from assocpriv.records.baskets import Baskets, count_sizes

GUARANTEE = Guarantee("5%", "50%")


def test_the_loss_is_that_of_all_samples(rng: np.random.Generator) -> None:
    """The shares are those of k-itemsets that survive, averaged over all samples of M items of each basket."""
    chances = np.linspace(0.6, 0.05, 6)
    sets = [np.flatnonzero(rng.random(6) < chances).tolist() for _ in range(12)]
    sizes = count_sizes(Baskets.from_sets(sets, Catalogue.numbered(6), empty="keep"))
    for m in range(3, 7):
        loss = measure_truncation_loss(sizes, planned(6, m, GUARANTEE))
        assert (loss.baskets, loss.truncated) == (12, sum(len(items) > m for items in sets))
        for k in range(1, 4):
            whole, left = 0, Fraction(0)
            for items in sets:
                drawn = list(combinations(items, min(m, len(items))))
                whole += comb(len(items), k)
                left += Fraction(sum(comb(len(sample), k) for sample in drawn), len(drawn))
            assert loss.shares[k] == pytest.approx(1 - float(left / whole) if whole else 0.0, rel=1e-12)


@pytest.mark.parametrize(("sizes", "warnings"), [(None, 1), ("auto", 0)])
def test_a_warning_without_correction(sizes: str | None, warnings: int) -> None:
    """Reports about sizes allow a correction; without them there is a warning of a loss above 5%."""
    plan = planned(20, 3, GUARANTEE, sizes=sizes)
    baskets = Baskets.from_sets([range(9)], Catalogue.numbered(20))
    lines, warning = describe_truncation_loss(measure_truncation_loss(count_sizes(baskets), plan))
    assert "1 of 1 baskets have more than 3 items and are cut to 3" in lines[0]
    assert len(warning) == warnings
    assert ("corrects this" in lines[0]) == (not warnings)
