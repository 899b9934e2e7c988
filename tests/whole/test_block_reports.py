"""Reports of blocks: what a device sends, alone and in bulk, and what a plan with blocks refuses."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import naive
import numpy as np
import pytest

from assocpriv.client.baskets import Randomizer
from assocpriv.client.bulk import BlockRandomizer, numbers_below, randomize_chunks
from assocpriv.files.reports import Reports
from assocpriv.plans.baskets import Plan
from assocpriv.plans.catalogue import Catalogue
from assocpriv.plans.view import Blocks, View
from assocpriv.promise.errors import PlanError, WireError
from assocpriv.records.baskets import Baskets
from assocpriv.simulation.enumeration import SeededEntropy, distribution

N_ITEMS = 12


def with_blocks(code: str, m: int, k: int, blocks: Blocks, n_items: int = N_ITEMS) -> Plan:
    """Return a small plan whose reports are about blocks of a catalogue."""
    inside = naive.small_plan(code, blocks.longest(n_items), m, k, insert=(3, 3), weight_bits=8)
    return replace(inside, catalogue=Catalogue.numbered(n_items), view=View(blocks=blocks))


def random_baskets(rng: np.random.Generator, count: int) -> Baskets:
    """Return baskets of all sizes, empty and full ones among them."""
    sizes = [0, N_ITEMS, *rng.integers(0, N_ITEMS + 1, count - 2)]
    rows = [rng.choice(N_ITEMS, size, replace=False).tolist() for size in sizes]
    return Baskets.from_sets(rows, Catalogue.numbered(N_ITEMS))


@pytest.mark.parametrize("blocks", [Blocks(3, 3, 5), Blocks(4, 4), Blocks(1, 5)])
@pytest.mark.parametrize("code", ["none", "bch", "reed-solomon"])
def test_bulk_equals_the_client_after_the_blocks(rng: np.random.Generator, code: str, blocks: Blocks) -> None:
    """For equal words the reports are the one-report client's, the blocks of all transactions drawn first."""
    plan = with_blocks(code, 2, 2, blocks)
    baskets = random_baskets(rng, 60)
    words = rng.integers(0, 1 << 64, size=6000, dtype=np.uint64)
    words[rng.random(len(words)) < 0.2] = 0  # which every draw below no power of two rejects
    entropy = naive.ReplayEntropy(words)
    drawn = [entropy.below(blocks.count) for _ in range(len(baskets))]
    inside = Randomizer(plan.block_plan)
    wanted = [
        block.to_bytes(2, "little") + inside.randomize(blocks.places(block, sorted(basket), N_ITEMS), entropy=entropy)
        for block, basket in zip(drawn, baskets, strict=True)
    ]
    for given in [0, 1, 40, entropy.used // 2, entropy.used]:
        chunk = BlockRandomizer(plan).randomize(baskets, words[:given], naive.ReplayEntropy(words[given:]))
        assert [row.tobytes() for row in chunk.packed] == wanted
    for block, basket, row in zip(drawn, baskets, chunk.raw_fitted.tolist(), strict=True):
        real = {item for item in row if item < N_ITEMS}
        held = basket & set(blocks.members(block, N_ITEMS).tolist())
        assert real == held if len(held) <= 2 else real < held
        assert len(set(row)) == 2
        assert max(row) < plan.padded_items
    Reports(plan, chunk.packed)


def test_numbers_below_are_those_of_entropy(rng: np.random.Generator) -> None:
    """Drawn many at a time, wherever the words run out, numbers are those that are drawn one after the other."""
    words = rng.integers(0, 1 << 64, size=400, dtype=np.uint64)
    words[::3] = 0
    for bound in [2, 3, 1 << 16, 65_535, 40_000]:
        entropy = naive.ReplayEntropy(words)
        wanted = [entropy.below(bound) for _ in range(100)]
        for given in [0, 7, 100, entropy.used]:
            rest = naive.ReplayEntropy(words[given:])
            numbers, left = numbers_below(
                bound, 100, words[:given], SeededEntropy(1) if given == 400 else Endless(rest)
            )
            assert numbers.tolist() == wanted
            assert len(left) >= 0


class Endless(naive.ReplayEntropy):
    """Replays words, and draws of them as many as are left where more are asked for."""

    def __init__(self, rest: naive.ReplayEntropy) -> None:
        super().__init__(rest.given)

    def words(self, count: int) -> np.ndarray:
        """Return some of the words given."""
        return super().words(min(count, len(self.given) - self.used))


@pytest.mark.parametrize(("code", "fixed"), [("none", False), ("bch", False), ("none", True)])
def test_the_law_of_a_report_is_that_of_its_block(code: str, fixed: bool) -> None:
    """Exactly: a block is drawn evenly whatever is held, the rest is the block's plan; γ is the plan's, and is met."""
    blocks, n = Blocks(2, 2, 1), 6
    inside = naive.fixed_plan(3, 2, 1, 2) if fixed else naive.small_plan(code, 3, 2, 1, weight_bits=6)
    plan = replace(inside, catalogue=Catalogue.numbered(n), view=View(blocks=blocks))
    held = [[], [0], [0, 1, 2], [3, 5], [0, 2, 4, 5], [0, 1, 2, 3, 4, 5]]
    laws = {}
    for transaction in held:
        law = distribution(lambda entropy, t=transaction: Randomizer(plan).randomize(t, entropy=entropy))
        laws[tuple(transaction)] = law
        told = Counter[int]()
        for report, chance in law.items():
            told[report[0] + 256 * report[1]] += chance
        assert told == dict.fromkeys(range(4), Fraction(1, 4))
        for block in range(4):
            places = blocks.places(block, transaction, n)
            own = distribution(lambda entropy, p=places: Randomizer(plan.block_plan).randomize(p, entropy=entropy))
            named = {report[2:]: 4 * chance for report, chance in law.items() if report[0] == block}
            assert named == own
    ratios = [one[report] / other[report] for one in laws.values() for other in laws.values() for report in one]
    assert max(ratios) == plan.amplification < plan.promise.amplification_limit


def test_a_report_reads_back(rng: np.random.Generator) -> None:
    """What a report shows is shown of its block's items, and of dummies; a block that there is not is refused."""
    plan = with_blocks("none", 2, 2, Blocks(2, 3, 9), n_items=11)
    for block in range(6):
        members = plan.view.blocks.members(block, 11)
        everything = bytes([block, 0]) + plan.block_plan.form.encode((1 << 6) - 1)
        assert plan.form.items(everything) == {*members.tolist(), 11, 12}  # blocks of three have a place of nobody
    with pytest.raises(WireError, match=r"names a block outside 0\.\.5"):
        plan.form.items(bytes([6, 0, 0]))
    with pytest.raises(WireError, match="beyond the plan's"):
        plan.form.items(bytes([0, 0, 0xFF]))


def test_the_plan_keeps_its_blocks() -> None:
    """Blocks are in the plan's text and id; a plan without keeps the text that it had."""
    plan = with_blocks("bch", 2, 2, Blocks(3, 3, 5))
    assert plan.to_json()["view"]["blocks"] == {"partitions": 3, "pieces": 3, "seed": 5}
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.plan_id != replace(plan, view=View(blocks=Blocks(3, 3, 6))).plan_id
    assert "blocks" not in plan.block_plan.to_json()["view"]


def test_plans_that_cannot_have_blocks_are_refused() -> None:
    """Blocks too small for itemsets, an operator for the whole catalogue, a view of sizes."""
    plan = with_blocks("none", 2, 2, Blocks(3, 3))
    with pytest.raises(PlanError, match="fewer pieces"):
        replace(plan, catalogue=Catalogue.numbered(5))
    fixed = naive.fixed_plan(12, 2, 1, 2)
    with pytest.raises(PlanError, match="is for 14 items, but the plan has 8"):
        replace(fixed, view=View(blocks=Blocks(2, 2)))
    with pytest.raises(PlanError, match="nothing to cut"):
        View(kind="sizes", bounds=(0, 1), blocks=Blocks(2, 2))
    content = plan.to_json()
    content["view"]["blocks"]["turns"] = 1
    with pytest.raises(PlanError, match="exactly the fields"):
        Plan.from_json(content)


def test_chunks_and_slices_alike(rng: np.random.Generator) -> None:
    """Chunk by chunk, in the order of the baskets, and none for no baskets."""
    plan = with_blocks("bch", 3, 2, Blocks(5, 3))
    baskets = random_baskets(rng, 200)[20:190]
    chunks = list(randomize_chunks(baskets, plan, entropy=SeededEntropy(3), chunk=40))
    assert [len(chunk.packed) for chunk in chunks] == [40, 40, 40, 40, 10]
    assert list(randomize_chunks(baskets[:0], plan, entropy=naive.ReplayEntropy([]))) == []
