"""Both sides of guided perturbation on a table at hand: what each level discloses, and what can be learned from it.

A part of the records is held back, raw, to test on. The others are people, who answer one batch after the other: the
miner publishes guidance of a fixed level, the shipping client answers, the miner adds it up and goes on. A classifier
is fitted on what arrived. It is done several times with other people held back, so that every figure has an error.

Source: Zhang, Wang, Zhao, A New Scheme on Privacy-Preserving Data Classification, KDD 2005, section 6.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assocpriv.client.guided import randomize_tuples
from assocpriv.files.reports import Reports
from assocpriv.lab.guided_columns import People
from assocpriv.lab.guided_measures import Information, disclosure, disclosure_bound, errors, information
from assocpriv.lab.seeded_entropy import SeededEntropy
from assocpriv.plans.guidance import MIXED_TOTAL, Guidance, bit_weights, coin_of, mixed, mixing
from assocpriv.plans.guided import GuidedPlan
from assocpriv.promise.errors import RecordError
from assocpriv.server.guided import (
    MinerState,
    bit_frame,
    class_sums,
    collect,
    new_classifier,
    publish,
    random_start,
    spectrum,
    start,
    train,
)

HELD_BACK = 3  # one in so many people, to test on
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """How a trial is made.

    Attributes:
        classifier: a name of ``server.guided.training.CLASSIFIERS``.
        repeats: how often, each time with other people held back.
        most_people: people at most, who are then a random sample.
        unconcerned: people whose raw tuples the miner starts with; 0 for random tuples instead.
        seed: of all draws; None for new ones.
    """

    classifier: str = "naive-bayes"
    repeats: int = 5
    most_people: int = 5000
    unconcerned: int = 0
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """A mean over repeats, and its standard error."""

    mean: float
    std_error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Measured":
        """Return the mean of a value of each repeat."""
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
        return cls(float(np.mean(values)), spread / math.sqrt(len(values)))


@dataclass(frozen=True, slots=True)
class Level:
    """What one level came to: measured values beside the published bounds, all shares.

    ``share`` is the μ from which on the miner, knowing all raw tuples, would ask for no more than this level.
    """

    level: int
    share: float
    disclosure: Measured
    disclosure_bound: float
    information: Information
    accuracy: Measured
    error_of_values: Measured
    error_of_pairs: Measured
    error_bound: float | None


@dataclass(frozen=True, slots=True)
class Trial:
    """What a trial found: a level for each number of eigenvectors, and the accuracy of learning from raw tuples."""

    plan: GuidedPlan
    request: TrialRequest
    people: int
    held_back: int
    original_accuracy: Measured
    majority: Measured
    levels: tuple[Level, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Split:
    """People whose raw tuples the miner starts with, those who answer, and those held back."""

    unconcerned: People
    answering: People
    held_back: People


def split_people(people: People, rng: np.random.Generator, request: TrialRequest) -> Split:
    """Divide people at random, a third of them held back.

    Raises:
        RecordError: a class that some part lacks.
    """
    mixed = people[rng.permutation(len(people))[: request.most_people]]
    back = len(mixed) // HELD_BACK
    split = Split(mixed[back : back + request.unconcerned], mixed[back + request.unconcerned :], mixed[:back])
    classes = len(np.unique(people.classes))
    if any(len(np.unique(part.classes)) < classes for part in (split.answering, split.held_back)):
        raise RecordError("there are too few people of some class to learn from and to test on; take more records")
    return split


def begin(plan: GuidedPlan, split: Split, rng: np.random.Generator) -> MinerState:
    """Return the miner's state before anybody answers."""
    if not len(split.unconcerned):
        return random_start(plan, int(rng.integers(1 << 62)))
    return start(plan, split.unconcerned.classes, plan.to_bits(split.unconcerned.raw_positions))


@dataclass(frozen=True, eq=False, slots=True)
class Answers:
    """What a collection of one level came to."""

    state: MinerState
    reports: Reports


def answer_all(plan: GuidedPlan, split: Split, level: int, rng: np.random.Generator) -> Answers:
    """Let everybody answer guidance of one level, a batch after the other."""
    entropy = SeededEntropy(int(rng.integers(1 << 62)))
    state, packed = begin(plan, split, rng), []
    for first in range(0, len(split.answering), plan.batch):
        state = publish(state, level)
        batch = split.answering[first : first + plan.batch]
        packed.append(randomize_tuples(batch.raw_positions, batch.classes, plan, state.guidances[-1], entropy=entropy))
        state = collect(state, Reports(plan, packed[-1]))
    return Answers(state, Reports(plan, np.concatenate(packed)))


def accuracy(model: Any, people: People, plan: GuidedPlan) -> float:
    """Return the share of raw tuples whose class a classifier tells."""
    predicted = model.predict(bit_frame(plan.to_bits(people.raw_positions), plan))
    return float((predicted == np.array(plan.labels)[people.classes]).mean())


def run_trial(
    people: People,
    plan: GuidedPlan,
    request: TrialRequest,
    levels: Sequence[int] = (),
    progress: Progress | None = None,
) -> Trial:
    """Try levels, by default 1 to w, on people.

    Raises:
        RecordError: a level that there is not, or too few people of a class to learn from and to hold back.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    wanted = tuple(levels) or tuple(range(1, plan.width + 1))
    if not all(1 <= level <= plan.width for level in wanted):
        raise RecordError(f"levels lie between 1 and the table's {plan.width} columns of bits")
    rng = np.random.default_rng(request.seed)
    splits = [split_people(people, rng, request) for _ in range(request.repeats)]
    found = []
    with threadpool_limits(1):  # matrices of a few dozen rows: on several threads they wait for each other
        raw = [accuracy(_of_raw(split, plan, request), split.held_back, plan) for split in splits]
        for done, level in enumerate(wanted, 1):
            found.append(_level(splits, plan, request, level, rng))
            if progress:
                progress(done, len(wanted))
    commonest = [np.bincount(split.held_back.classes).max() / len(split.held_back) for split in splits]
    first = splits[0]
    counts = len(first.answering), len(first.held_back)
    return Trial(plan, request, *counts, Measured.of(raw), Measured.of(commonest), tuple(found))


def _of_raw(split: Split, plan: GuidedPlan, request: TrialRequest) -> Any:
    raw = split.answering
    X = bit_frame(plan.to_bits(raw.raw_positions), plan)
    return new_classifier(request.classifier, len(raw)).fit(X, np.array(plan.labels)[raw.classes])


def _level(
    splits: Sequence[Split], plan: GuidedPlan, request: TrialRequest, level: int, rng: np.random.Generator
) -> Level:
    answers = [answer_all(plan, split, level, rng) for split in splits]
    models = [train(each.state, each.reports, request.classifier) for each in answers]
    right = [accuracy(model, split.held_back, plan) for model, split in zip(models, splits, strict=True)]
    raw_bits = [plan.to_bits(split.answering.raw_positions) for split in splits]
    sums = [
        class_sums(split.answering.classes, bits, len(plan.labels))[1]
        for split, bits in zip(splits, raw_bits, strict=True)
    ]
    told = [disclosure(bits, plan.unpack(each.reports.packed)[2]) for bits, each in zip(raw_bits, answers, strict=True)]
    wrong = [
        errors(raw.astype(np.float64), each.state.sums, len(bits), plan.attribute_of)
        for raw, each, bits in zip(sums, answers, raw_bits, strict=True)
    ]
    known = spectrum(sums[0].astype(np.float64), plan.order).values
    following = max(float(known[level]), 0.0) if level < len(known) else 0.0
    return Level(
        level=level,
        share=following / float(known[0]),
        disclosure=Measured.of(told),
        disclosure_bound=disclosure_bound(raw_bits[0], level),
        information=_information(answers[0].state.guidances[-1], plan, splits[0].answering),
        accuracy=Measured.of(right),
        error_of_values=Measured.of([value for value, _ in wrong]),
        error_of_pairs=Measured.of([pair for _, pair in wrong]),
        error_bound=2 * following / len(raw_bits[0]) if len(plan.labels) == 2 else None,
    )


def _information(guidance: Guidance, plan: GuidedPlan, people: People) -> Information:
    """Return the share of information in what guidance releases; with tuples mixed in, bounds.

    Information is convex in the law of reports, so a share q of reports that tell nothing leaves 1 − q of it at most.
    """
    shares = mixed(bit_weights(guidance, plan, people.raw_positions), coin_of(guidance, plan)) / MIXED_TOTAL
    found = information(plan.to_bits(people.raw_positions), shares)
    if plan.keep != "tuple":
        return found
    return Information(0.0, found.high * float(1 - mixing(plan, guidance)))
