"""The number of random words that a client draws must not depend on the basket or on the kept items."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from naive import items_plan, planned
from numpy.typing import NDArray

from assocpriv.client.baskets.basket_client import Randomizer
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.entropy import Entropy, WordEntropy
from assocpriv.plans.baskets.basket_plan import Plan
from assocpriv.plans.baskets.generator import Generator, bch_generator, reed_solomon_generator
from assocpriv.plans.baskets.operator import FixedSizeOperator, Operator
from assocpriv.plans.baskets.report_type import ReportType, SizesView

SINGLE, ODD = Operator(3, 1, 3, 6, (5, 3, 6, 32)), Operator(3, 5, 3, 6, (5, 3, 6, 32))
GENERATORS = {
    "none": (Generator(), SINGLE),
    "bch, rho 1/8": (bch_generator(23, 3, 5), SINGLE),
    "reed-solomon, rho 1/8": (reed_solomon_generator(23, 3, 5), SINGLE),
    "reed-solomon, rho 5/8": (reed_solomon_generator(23, 3, 5), ODD),
}


class _Counted(WordEntropy):
    """Counted words that reject no draw; the kept subset is given."""

    def __init__(self, kept: int) -> None:
        self.used, self._kept, self._rng = 0, kept, np.random.default_rng(0)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return words and count them."""
        self.used += count
        return self._rng.integers(1, 1 << 63, size=count, dtype=np.uint64)

    def pick(self, cumulative: Sequence[int]) -> int:
        """Draw as usual, and return the given value."""
        super().pick(cumulative)
        return self._kept


def plan_of(name: str) -> Plan:
    """Make a plan of 20 items with a limit of twice its amplification."""
    generator, operator = GENERATORS[name]
    limit = operator.amplification * 2
    return items_plan(20, operator, generator, 2, Guarantee(1 / (1 + limit), "1/2"))


def words_drawn(plan: Plan, baskets: Iterable[Sequence[int]], subsets: Iterable[int] = range(8)) -> set[int]:
    """Return the numbers of words of a report, for baskets and the subsets that can be kept."""
    randomizer, drawn = Randomizer(plan), set()
    for basket, kept in product(baskets, subsets):
        entropy = _Counted(kept)
        randomizer.randomize(basket, entropy=entropy)
        drawn.add(entropy.used)
    return drawn


@pytest.mark.parametrize("name", GENERATORS)
def test_the_number_of_words_does_not_depend_on_kept_items(name: str) -> None:
    """The number of words is equal for every kept subset and every basket of up to M items."""
    assert len(words_drawn(plan_of(name), ((), (0,), (0, 1, 2), (7, 18, 19)))) == 1


def test_the_number_of_words_does_not_depend_on_the_size() -> None:
    """A response about sizes uses the same number of words for every size class."""
    plan = plan_of("bch, rho 1/8")
    sizes = ReportType(3, FixedSizeOperator(1, 4, 1, (1, 9)), view=SizesView((1, 3, 8)))
    both = replace(plan, report_types=(plan.items, sizes))
    assert len(words_drawn(both, [range(size) for size in (0, 1, 2, 3, 8, 20)], [1])) == 1


@pytest.mark.parametrize(("n_items", "m"), [(3, 2), (27, 5), (64, 3), (200, 5), (250, 4)])
def test_the_number_of_words_of_a_fixed_size_operator_is_constant(n_items: int, m: int) -> None:
    """The fixed-size operator, too, uses a constant number of words, for one and for several words of a report."""
    plan = planned(n_items, m, Guarantee("5%", "50%"), kind="fixed-size")
    counts = range(len(Randomizer(plan)._responders[0].sets.cumulative))
    assert len(words_drawn(plan, ((), (0,), range(n_items - m, n_items)), counts)) == 1


def test_a_draw_that_depends_on_kept_items_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above detects a client that draws below a for kept and below 2^r − a for dropped items."""

    def draw_seed(items: list[int], kept: list[bool], report_type: ReportType, _field: object, entropy: Entropy) -> int:
        num, span = report_type.independent.insert_num, 1 << report_type.independent.insert_bits
        for keep in kept:
            entropy.below(num if keep else span - num)
        return 0

    monkeypatch.setattr("assocpriv.client.baskets.basket_client.draw_seed", draw_seed)
    assert len(words_drawn(plan_of("bch, rho 1/8"), [(0, 1, 2)])) > 1
