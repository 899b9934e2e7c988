"""The number of random words that a client draws must not depend on the basket or on the kept items."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

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


def words_drawn(randomizer: Randomizer, basket: tuple[int, ...]) -> Iterator[int]:
    """Yield the number of words of a report, for every subset that can be kept."""
    for kept in range(8):
        yield _used(randomizer, basket, kept)


def _used(randomizer: Randomizer, basket: tuple[int, ...], kept: int) -> int:
    entropy = _Counted(kept)
    randomizer.randomize(basket, entropy=entropy)
    return entropy.used


@pytest.mark.parametrize("name", GENERATORS)
def test_the_number_of_words_does_not_depend_on_kept_items(name: str) -> None:
    """The number of words is equal for every kept subset and every basket of up to M items."""
    randomizer = Randomizer(plan_of(name))
    drawn = {words for basket in ((), (0,), (0, 1, 2), (7, 18, 19)) for words in words_drawn(randomizer, basket)}
    assert len(drawn) == 1


def test_the_number_of_words_does_not_depend_on_the_size() -> None:
    """A response about sizes uses the same number of words for every size class."""
    plan = plan_of("bch, rho 1/8")
    sizes = ReportType(3, FixedSizeOperator(1, 4, 1, (1, 9)), view=SizesView((1, 3, 8)))
    randomizer = Randomizer(replace(plan, report_types=(plan.items, sizes)))
    baskets = [tuple(range(size)) for size in (0, 1, 2, 3, 8, 20)]
    assert len({_used(randomizer, basket, 1) for basket in baskets}) == 1


@pytest.mark.parametrize(("n_items", "m"), [(3, 2), (27, 5), (64, 3), (200, 5), (250, 4)])
def test_the_number_of_words_of_a_fixed_size_operator_is_constant(n_items: int, m: int) -> None:
    """The fixed-size operator, too, uses a constant number of words, for one and for several words of a report."""
    randomizer = Randomizer(planned(n_items, m, Guarantee("5%", "50%"), kind="fixed-size"))
    counts = range(len(randomizer._responders[0].sets.cumulative))
    baskets = ((), (0,), tuple(range(n_items - m, n_items)))
    assert len({_used(randomizer, basket, kept) for basket in baskets for kept in counts}) == 1


def test_a_draw_that_depends_on_kept_items_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above detects a client that draws below a for kept and below 2^r − a for dropped items."""

    def draw_seed(items: list[int], kept: list[bool], report_type: ReportType, _field: object, entropy: Entropy) -> int:
        num, span = report_type.independent.insert_num, 1 << report_type.independent.insert_bits
        for keep in kept:
            entropy.below(num if keep else span - num)
        return 0

    monkeypatch.setattr("assocpriv.client.baskets.basket_client.draw_seed", draw_seed)
    assert len(set(words_drawn(Randomizer(plan_of("bch, rho 1/8")), (0, 1, 2)))) > 1
