"""Tests of the client under guidance: exact distributions, γ by enumeration, equal bytes in bulk, refusals."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from naive import ReplayEntropy
from numpy.typing import NDArray

from assocpriv.client.guided.guided_client import (
    GuidedRecord,
    LevelError,
    Perturbation,
    TupleRandomizer,
    check_guidance,
    randomize_guided,
    randomize_inputs,
)
from assocpriv.guarantees.amplification import Guarantee
from assocpriv.guarantees.errors import GuidanceError
from assocpriv.plans.guided.guided_plan import (
    MIXING_UNIT,
    UNIT,
    Guidance,
    GuidedPlan,
    category,
    class_label,
    largest_ratio,
    mix_weights,
    mixing_weight,
    number,
    plan_guided,
    weight_bounds,
)
from assocpriv.simulation.enumeration import SeededEntropy, distribution

ATTRIBUTES = (category("vote", ["n", "y"]), number("age", [30, 60]))
LABEL = class_label("party", ["left", "right"])
PLAIN = plan_guided(ATTRIBUTES, LABEL)
GUARANTEE = Guarantee("5%", "50%")
TUPLE, BITS = (plan_guided(ATTRIBUTES, LABEL, guarantee=GUARANTEE, keep=keep) for keep in ("tuple", "bits"))
TUPLES = list(product(range(2), range(3)))


def guidance_of(plan: GuidedPlan, columns: Any, serial: int = 1) -> Guidance:
    """Return guidance of the orthonormal columns that some vectors span."""
    return Guidance.from_vectors(plan, serial, np.linalg.qr(np.array(columns, dtype=float).T)[0])


def identity(plan: GuidedPlan, places: Any = None) -> Guidance:
    """Return guidance that asks for some bits as they are, all by default."""
    return Guidance.from_vectors(plan, 1, np.eye(plan.width)[:, slice(None) if places is None else places])


def some(plan: GuidedPlan) -> list[Guidance]:
    """Return guidance that asks for one bit, for all bits, and for directions across attributes."""
    slanted = [[1, -1, 0, 2, -1]], [[1, -1, 0, 0.5, -0.5], [0, 0, 1, 0, -1]]
    return [identity(plan, [0]), identity(plan), *(guidance_of(plan, columns) for columns in slanted)]


def release_distribution(plan: GuidedPlan, guidance: Guidance, values: Any) -> dict[Any, Fraction]:
    """Return the exact probability of each vector of released bits, if it is not 0."""
    perturbation = Perturbation(plan, guidance)
    chances = distribution(lambda entropy: tuple(perturbation.release(values, entropy)))
    return {bits: chance for bits, chance in chances.items() if chance}


def worst(distributions: list[dict[Any, Fraction]]) -> Fraction | None:
    """Return the largest ratio of two tuples' probabilities of one output; None where one is 0."""
    outcomes = {bits for chances in distributions for bits in chances}
    columns = [[chances.get(bits, Fraction(0)) for chances in distributions] for bits in outcomes]
    return None if any(min(column) == 0 for column in columns) else max(max(c) / min(c) for c in columns)


@pytest.mark.parametrize("place", range(4))
def test_bits_have_the_probabilities_of_the_paper(place: int) -> None:
    """Bit j is 1 with probability (t V V')_j², of equation (8), to 2^-15, clipped at 1; and bits are independent."""
    guidance = some(PLAIN)[place]
    V = guidance.vectors / UNIT
    for values in TUPLES:
        bits = PLAIN.to_bits(np.array([values]))[0]
        wanted = np.minimum((bits @ V @ V.T) ** 2, 1.0)
        chances = release_distribution(PLAIN, guidance, values)
        ones = [sum((p for y, p in chances.items() if y[j]), Fraction(0)) for j in range(PLAIN.width)]
        assert np.abs(np.array(ones, dtype=float) - wanted).max() < 2.0**-14
        for y, chance in chances.items():
            factors = [p if bit else 1 - p for p, bit in zip(ones, y, strict=True)]
            assert chance == np.prod(np.array(factors, dtype=object))


def test_a_missing_value_is_replaced_by_a_uniform_one() -> None:
    """The output distribution of a tuple with a missing value is exactly the mean over all its completions."""
    guidance = guidance_of(PLAIN, [[1, -1, 0, 2, -1]])
    found = release_distribution(PLAIN, guidance, (1, 3))
    parts = [release_distribution(PLAIN, guidance, (1, value)) for value in range(3)]
    assert found == {y: sum((p.get(y, Fraction(0)) for p in parts), Fraction(0)) / 3 for y in found}
    assert sum(found.values()) == 1


def test_one_bit_is_disclosed_without_a_guarantee() -> None:
    """V = e₁ passes every check of the client and discloses the bit: the plain scheme has no γ."""
    guidance = identity(PLAIN, [0])
    check_guidance(guidance, PLAIN, max_level=1, announced_level=1)
    shown = {values: {y[0] for y in release_distribution(PLAIN, guidance, values)} for values in TUPLES}
    assert shown == {values: {1 - values[0]} for values in TUPLES}
    assert PLAIN.amplification is None
    assert worst([release_distribution(PLAIN, guidance, values) for values in TUPLES]) is None


SMALL = [category("a", ["0", "1"]), category("b", ["0", "1"])]


@pytest.mark.parametrize("keep", ["tuple", "bits"])
@pytest.mark.parametrize("limit", [Guarantee("5%", "50%"), Guarantee("40%", "50%")])
def test_guarantees_hold_under_any_guidance(keep: str, limit: Guarantee) -> None:
    """Enumerated γ is at most the stated one for every V; with keep="tuple", V = I reaches it exactly."""
    plan = plan_guided(SMALL, LABEL, guarantee=limit, keep=keep)
    assert plan.amplification is not None
    assert 1 < plan.amplification < limit.amplification_limit
    slanted = (guidance_of(plan, [direction]) for direction in ([1, -1, 1, -1], [3, 1, 2, 0]))
    tried, values = [identity(plan, [0]), identity(plan), *slanted], list(product(range(2), repeat=2))
    ratios = [worst([release_distribution(plan, guidance, each) for each in values]) for guidance in tried]
    assert all(ratio is not None and ratio <= plan.amplification for ratio in ratios)
    if keep == "tuple":
        assert ratios[1] == plan.amplification
    else:  # one bit alone is mixed no more than it needs
        coin = mixing_weight(tried[0], plan)
        low, high = weight_bounds(tried[0], plan)
        assert largest_ratio(low, high, coin - 1) is None or largest_ratio(low, high, coin - 1) > plan.amplification
        assert ratios[0] == largest_ratio(low, high, coin)


def test_weight_bounds_hold_for_every_tuple() -> None:
    """Every tuple's weights lie within the bounds; some tuple reaches the upper one; mixing moves both inwards."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        guidance = guidance_of(BITS, rng.normal(size=(int(rng.integers(1, 5)), 5)))
        low, high = weight_bounds(guidance, BITS)
        weights = Perturbation(PLAIN, guidance).weights(np.array(TUPLES))[0]
        assert (low <= weights).all()
        assert (weights.max(axis=0) == high).all()
    assert (mix_weights(high, MIXING_UNIT) == mix_weights(low, MIXING_UNIT)).all()


def raw_inputs(rng: np.random.Generator, plan: GuidedPlan, n: int) -> NDArray[np.int32]:
    """Return random records, some values of them missing."""
    columns = [rng.integers(0, size + 1, n) for size in plan.sizes]
    return np.column_stack([*columns, rng.integers(0, len(plan.labels), n)]).astype(np.int32)


@pytest.mark.parametrize("plan", [PLAIN, TUPLE, BITS])
def test_bulk_makes_the_same_bytes(rng: np.random.Generator, plan: GuidedPlan) -> None:
    """Single and bulk randomization consume the same words in the same order and give the same bytes."""
    guidance = guidance_of(plan, [[1, -1, 0, 2, -1], [0, 1, 1, 0, 1]], serial=7)
    inputs = raw_inputs(rng, plan, 500)
    [bulk] = randomize_inputs([inputs], plan, guidance, entropy=SeededEntropy(4))
    entropy, perturbation = SeededEntropy(4), Perturbation(plan, guidance)
    bits = np.array([perturbation.release(row[:-1], entropy) for row in inputs.tolist()], dtype=np.uint8)
    assert np.array_equal(bulk, plan.pack(7, inputs[:, -1], bits))
    serials, classes, unpacked = plan.unpack(bulk)
    assert set(serials.tolist()) == {7}
    assert np.array_equal(classes, inputs[:, -1])
    assert np.array_equal(unpacked, bits)


@pytest.mark.parametrize("plan", [PLAIN, TUPLE])
def test_rejected_words_are_drawn_again(plan: GuidedPlan) -> None:
    """A rejected word shifts all later words, in bulk and one by one alike."""
    guidance = identity(plan)
    randomizer = TupleRandomizer(plan, guidance)
    inputs = np.array([[0, 3], [2, 1], [1, 2]], dtype=np.int32)
    words = SeededEntropy(1).words(3 * randomizer.words)
    words[1] = 0  # 0 · 3 mod 2^64 is below 2^64 mod 3 = 1
    bits, _ = randomizer.randomize(inputs, words, SeededEntropy(2))

    source = ReplayEntropy([*words.tolist(), *SeededEntropy(2).words(50).tolist()])
    perturbation = Perturbation(plan, guidance)
    assert bits.tolist() == [perturbation.release(row, source) for row in inputs.tolist()]


def test_probabilities_above_one_are_clipped_and_counted() -> None:
    """A probability above 1, here of attributes that share a direction, always sets the bit and is counted."""
    plan = plan_guided([category(name, ["0", "1"]) for name in "abcdefg"], LABEL)
    guidance = guidance_of(plan, [[3, *[0, 1] * 6, 1]])
    counted: list[int] = []
    inputs = np.zeros((1, 8), dtype=np.int32)
    [packed] = randomize_inputs([inputs], plan, guidance, entropy=SeededEntropy(0), clipped=counted.append)
    assert sum(counted) == 1
    assert plan.unpack(packed)[2][0, 0] == 1


RECORD = {"vote": "y", "age": 45, "party": "left"}


def test_one_record_becomes_one_report() -> None:
    """A record by name becomes a report of the plan's length with its guidance's serial number and its class."""
    guidance = identity(PLAIN)
    report = randomize_guided(GuidedRecord(RECORD, guidance, 5, 5), PLAIN, entropy=SeededEntropy(0))
    assert report == bytes([1, 0, 0, 0, 0, 0b01010])
    without = {name: value for name, value in RECORD.items() if name != "age"}
    assert len(randomize_guided(GuidedRecord(without, guidance), PLAIN, entropy=SeededEntropy(0))) == 6


def test_the_level_must_be_the_announced_one_and_within_the_clients_maximum() -> None:
    """A level above the maximum raises LevelError, so that the record can be queued; other faults do not."""
    check_guidance(identity(PLAIN), PLAIN, max_level=5, announced_level=5)
    with pytest.raises(LevelError, match="level 5, above the maximum of 4"):
        check_guidance(identity(PLAIN), PLAIN, max_level=4)
    for guidance, options, reason in ((identity(PLAIN), {"announced_level": 4}, "level 4 was announced"),
                                    (identity(PLAIN), {"max_level": 0}, "at least 1"),
                                    (identity(TUPLE), {}, "belongs to plan")):  # fmt: skip
        with pytest.raises(GuidanceError, match=reason) as caught:
            check_guidance(guidance, PLAIN, **options)
        assert not isinstance(caught.value, LevelError)


@pytest.mark.parametrize("width", [2, 42, 200])
def test_rounded_orthonormal_columns_pass(rng: np.random.Generator, width: int) -> None:
    """Orthonormal columns rounded to the grid are always accepted."""
    plan = plan_guided([category(f"a{place}", ["0", "1"]) for place in range(width // 2)], LABEL)
    for level in {1, width // 2, width}:
        guidance_of(plan, rng.normal(size=(level, width))).check(plan)
