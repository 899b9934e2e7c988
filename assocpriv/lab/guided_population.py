"""People of mixed caution: who answers at once, who waits and for how long, and what is learned meanwhile.

People come one after the other and ask for the level k*. Who accepts it answers; who does not, waits, and asks again
whenever guidance is published anew. As guidance comes once per batch of answers, a group that never accepts can stop
nothing but itself.

Source: Zhang, Wang, Zhao, A New Scheme on Privacy-Preserving Data Classification, KDD 2005, sections 2.2 and 3, where
17% of people are fundamentalists, 56% pragmatists and 27% marginally concerned (Cranor, Reagle, Ackerman 1999).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from assocpriv.client.guided import randomize_tuples
from assocpriv.files.reports import Reports
from assocpriv.lab.guided_columns import People
from assocpriv.lab.guided_trial import Split, TrialRequest, accuracy, begin, split_people
from assocpriv.lab.seeded_entropy import SeededEntropy
from assocpriv.plans.guided import GuidedPlan
from assocpriv.promise.breaches import parse_share
from assocpriv.promise.errors import RecordError
from assocpriv.server.guided import MinerState, collect, publish, train

ANY = "any"
_MOMENTS = 20  # at which a classifier is tested, at most


@dataclass(frozen=True, slots=True)
class Group:
    """A share of the people, and the largest level that they accept, as many as there are bits for any."""

    share: Fraction
    most_level: int


def parse_groups(text: str, width: int) -> tuple[Group, ...]:
    """Read groups as ``17%:2,56%:8,27%:any``.

    Raises:
        RecordError: not so written, or shares that do not sum to one.

    >>> [group.most_level for group in parse_groups("17%:2,83%:any", 32)]
    [2, 32]
    """
    groups = []
    for part in text.split(","):
        share, _, level = part.strip().partition(":")
        most = width if level == ANY else int(level) if level.isascii() and level.isdigit() else None
        if most is None or not 1 <= most <= width:
            raise RecordError(f"groups are written as 17%:2,56%:8,27%:{ANY}, with levels from 1 to {width}")
        groups.append(Group(parse_share(share, "a group's share"), most))
    if sum(group.share for group in groups) != 1:
        raise RecordError("the shares of the groups must sum to 100%")
    return tuple(groups)


@dataclass(frozen=True, slots=True)
class GroupOutcome:
    """What became of a group; waits are counted in people who came meanwhile."""

    group: Group
    people: int
    at_once: int
    waited: int
    never: int
    mean_wait: float
    longest_wait: int


@dataclass(frozen=True, slots=True)
class Moment:
    """After a batch: how many came and answered, the level they answered, and the accuracy of what can be learned."""

    came: int
    received: int
    level: int
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class PopulationTrial:
    """What one collection came to."""

    plan: GuidedPlan
    groups: tuple[GroupOutcome, ...]
    moments: tuple[Moment, ...]


def run_population(people: People, plan: GuidedPlan, request: TrialRequest, groups: Sequence[Group]) -> PopulationTrial:
    """Let people of several groups come in random order, and collect from who accepts.

    Raises:
        RecordError: too few people of a class.
    """
    rng = np.random.default_rng(request.seed)
    split = split_people(people, rng, request)
    n = len(split.answering)
    member = rng.choice(len(groups), n, p=[float(group.share) for group in groups])
    queue = _Queue(np.array([group.most_level for group in groups])[member], plan.batch)
    moments = _collect_all(plan, split, request, queue, rng)
    outcomes = [_outcome(group, queue.waits[member == place]) for place, group in enumerate(groups)]
    return PopulationTrial(plan, tuple(outcomes), tuple(moments))


class _Queue:
    """Who came, who waits, and how long each who answered had waited: −1 for who has not answered."""

    def __init__(self, most_levels: NDArray[np.int64], batch: int) -> None:
        self._most, self._batch = most_levels, batch
        self._waiting: list[int] = []
        self.came = 0
        self.waits = np.full(len(most_levels), -1)

    def next_batch(self, level: int) -> list[int]:
        """Return who answers guidance of a level, a batch at most: who waits first, then who comes."""
        chosen: list[int] = []
        still: list[int] = []
        for place in self._waiting:
            accepts = self._most[place] >= level and len(chosen) < self._batch
            (chosen if accepts else still).append(place)
        self.waits[chosen] = self.came - np.array(chosen, dtype=np.int64)
        while len(chosen) < self._batch and self.came < len(self._most):
            accepts = self._most[self.came] >= level
            (chosen if accepts else still).append(self.came)
            self.waits[self.came] = 0 if accepts else -1
            self.came += 1
        self._waiting = still
        return chosen


def _collect_all(
    plan: GuidedPlan, split: Split, request: TrialRequest, queue: _Queue, rng: np.random.Generator
) -> list[Moment]:
    entropy = SeededEntropy(int(rng.integers(1 << 62)))
    state, packed, moments = publish(begin(plan, split, rng)), [], []
    apart = max(1, len(split.answering) // plan.batch // _MOMENTS)
    while chosen := queue.next_batch(state.guidances[-1].level):
        asked = state.guidances[-1]
        batch = split.answering[chosen]
        packed.append(randomize_tuples(batch.raw_positions, batch.classes, plan, asked, entropy=entropy))
        state = collect(state, Reports(plan, packed[-1]))
        tested = len(packed) % apart == 0 and state.received.all()
        found = _tested(state, packed, split, request) if tested else None
        moments.append(Moment(queue.came, state.tuples, asked.level, found))
        state = publish(state)
    return moments


def _tested(state: MinerState, packed: list[NDArray[np.uint8]], split: Split, request: TrialRequest) -> float:
    model = train(state, Reports(state.plan, np.concatenate(packed)), request.classifier)
    return accuracy(model, split.held_back, state.plan)


def _outcome(group: Group, waits: NDArray[np.int64]) -> GroupOutcome:
    waited = waits[waits > 0]
    return GroupOutcome(
        group,
        len(waits),
        int((waits == 0).sum()),
        len(waited),
        int((waits < 0).sum()),
        float(waited.mean()) if len(waited) else 0.0,
        int(waited.max(initial=0)),
    )
