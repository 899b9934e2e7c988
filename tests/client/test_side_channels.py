"""What a device does must not tell what it keeps: how much randomness it draws."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from naive import items_plan, planned
from numpy.typing import NDArray

from assocpriv.client.baskets import Randomizer
from assocpriv.plans.baskets import Plan
from assocpriv.plans.generator import Generator, bch_generator, reed_solomon_generator
from assocpriv.plans.operator import FixedSizeOperator, Operator
from assocpriv.plans.question import Question
from assocpriv.plans.sizes_view import SizesView
from assocpriv.promise.breaches import Breach
from assocpriv.promise.entropy import Entropy, WordEntropy

SINGLE, ODD = Operator(3, 1, 3, 6, (5, 3, 6, 32)), Operator(3, 5, 3, 6, (5, 3, 6, 32))
GENERATORS = {
    "none": (Generator(), SINGLE),
    "bch, rho 1/8": (bch_generator(23, 3, 5), SINGLE),
    "reed-solomon, rho 1/8": (reed_solomon_generator(23, 3, 5), SINGLE),
    "reed-solomon, rho 5/8": (reed_solomon_generator(23, 3, 5), ODD),
}


class _Counted(WordEntropy):
    """Words that reject no draw, counted; the subset that is kept is given."""

    def __init__(self, kept: int) -> None:
        self.used, self._kept, self._rng = 0, kept, np.random.default_rng(0)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return words and count them."""
        self.used += count
        return self._rng.integers(1, 1 << 63, size=count, dtype=np.uint64)

    def pick(self, cumulative: Sequence[int]) -> int:
        """Draw as usual, and return what was given."""
        super().pick(cumulative)
        return self._kept


def plan_of(name: str) -> Plan:
    """Make a plan of 20 items with a promise just beyond its amplification."""
    generator, operator = GENERATORS[name]
    limit = operator.amplification * 2
    return items_plan(20, operator, generator, 2, Breach(1 / (1 + limit), "1/2"))


def words_drawn(randomizer: Randomizer, basket: tuple[int, ...]) -> Iterator[int]:
    """Yield how many words a report takes, for every subset that can be kept."""
    for kept in range(8):
        yield _used(randomizer, basket, kept)


def _used(randomizer: Randomizer, basket: tuple[int, ...], kept: int) -> int:
    entropy = _Counted(kept)
    randomizer.randomize(basket, entropy=entropy)
    return entropy.used


@pytest.mark.parametrize("name", GENERATORS)
def test_words_do_not_tell_what_is_kept(name: str) -> None:
    """Whatever is kept, whichever and however many items up to M are held, as many words are drawn."""
    randomizer = Randomizer(plan_of(name))
    drawn = {words for basket in ((), (0,), (0, 1, 2), (7, 18, 19)) for words in words_drawn(randomizer, basket)}
    assert len(drawn) == 1


def test_words_do_not_tell_the_size_that_is_asked() -> None:
    """An answer about sizes takes as many words whichever class a basket is of."""
    plan = plan_of("bch, rho 1/8")
    sizes = Question(3, FixedSizeOperator(1, 4, 1, (1, 9)), view=SizesView((1, 3, 8)))
    randomizer = Randomizer(replace(plan, questions=(plan.items, sizes)))
    baskets = [tuple(range(size)) for size in (0, 1, 2, 3, 8, 20)]
    assert len({_used(randomizer, basket, 1) for basket in baskets}) == 1


@pytest.mark.parametrize(("n_items", "m"), [(3, 2), (27, 5), (64, 3), (200, 5), (250, 4)])
def test_words_of_fixed_sizes_do_not_tell_how_many_are_kept(n_items: int, m: int) -> None:
    """Nor do they with reports of a fixed size, of one word and of several."""
    randomizer = Randomizer(planned(n_items, m, Breach("5%", "50%"), kind="fixed-size"))
    counts = range(len(randomizer._answerers[0].sets.cumulative))
    baskets = ((), (0,), tuple(range(n_items - m, n_items)))
    assert len({_used(randomizer, basket, kept) for basket in baskets for kept in counts}) == 1


def test_a_draw_for_kept_items_alone_would_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above sees the client that draws below a for kept and below 2^r − a for dropped items."""

    def draw_seed(items: list[int], kept: list[bool], question: Question, _field: object, entropy: Entropy) -> int:
        num, span = question.independent.insert_num, 1 << question.independent.insert_bits
        for keep in kept:
            entropy.below(num if keep else span - num)
        return 0

    monkeypatch.setattr("assocpriv.client.baskets.draw_seed", draw_seed)
    assert len(set(words_drawn(Randomizer(plan_of("bch, rho 1/8")), (0, 1, 2)))) > 1
