"""The shipping client under guidance: every draw of small tuples, γ of what it then sends, whole tuples of words."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np

from assocpriv.auditing.enumerate.table_walks import walk
from assocpriv.auditing.enumerate.words_and_bulk import Noted, Replayed
from assocpriv.auditing.findings import Fault, client_at_work
from assocpriv.auditing.recompute.guided_text import TUPLE, WORD, GuidedLaw, GuidedNumbers, Law
from assocpriv.client.guided import Perturbation, TupleRandomizer
from assocpriv.lab.seeded_entropy import SeededEntropy
from assocpriv.plans.guidance import Guidance
from assocpriv.plans.guided import GuidedPlan

MOST_OUTCOMES, _MOST_TUPLES = 3000, 40  # tuples times vectors of bits that are walked, and tuples
_RECORDS, _AT_ENDS = 200, 400  # tuples compared as words, and draws at a weight's end
_DIRECTIONS, _MOST_LEVEL = 3, 256


def tried(plan: GuidedPlan, chance: np.random.Generator) -> list[Guidance]:
    """Return guidance of several kinds: one bit itself, all of them, and random directions, one and several."""
    width = plan.width
    several = min(_DIRECTIONS, width)
    random = np.linalg.qr(chance.normal(size=(width, several)))[0]
    one = chance.integers(0, width)
    found = [np.eye(width)[:, [one]], np.eye(width)[:, :_MOST_LEVEL], random[:, :1], random]
    return [Guidance.of_vectors(plan, serial, vectors) for serial, vectors in enumerate(found, 1)]


def law_of(numbers: GuidedNumbers, guidance: Guidance) -> GuidedLaw:
    """Return how guidance is answered, computed anew."""
    return GuidedLaw.of(numbers, guidance.vectors)


def tuples_of(numbers: GuidedNumbers) -> list[tuple[int, ...]] | None:
    """Return all tuples, one with every value missing among them; None where they are too many to be walked."""
    count = prod(numbers.sizes)
    if count > _MOST_TUPLES or count << numbers.width > MOST_OUTCOMES:
        return None
    return [*product(*map(range, numbers.sizes)), numbers.sizes]


def check_draws(plan: GuidedPlan, numbers: GuidedNumbers, guidances: Sequence[Guidance]) -> list[list[Law]] | None:
    """Compare the client's law of every tuple with the plan's, every draw walked; return them, by guidance.

    None where there are too many tuples.
    """
    tuples = tuples_of(numbers)
    if tuples is None:
        return None
    laws: list[list[Law]] = []
    for guidance in guidances:
        own = law_of(numbers, guidance)
        with client_at_work():
            perturbation = Perturbation(plan, guidance)
        laws.append([])
        for raw in tuples:
            found = walk(lambda entropy, raw=raw, p=perturbation: tuple(p.release(raw, entropy)))  # type: ignore[misc]
            if found is None:
                raise Fault("The client's release of a tuple falls into more outcomes than the plan has.")
            found = {bits: chance for bits, chance in found.items() if chance}
            if found != own.law(raw):
                raise Fault("The client's release of a tuple has not the chances that the plan says.")
            laws[-1].append(found)
    return laws


def largest_ratio(laws: Sequence[Law]) -> Fraction | None:
    """Return the largest ratio of two tuples' chances of one output; None where one of them is 0."""
    worst = Fraction(1)
    for bits in {bits for law in laws for bits in law}:
        chances = [law.get(bits, Fraction(0)) for law in laws]
        if min(chances) == 0:
            return None
        worst = max(worst, max(chances) / min(chances))
    return worst


# ---- words


def own_release(raw: Sequence[int], law: GuidedLaw, entropy: Any) -> list[int]:
    """Return the released bits of a tuple as docs/formats/guided-plan.md says, of draws below a bound."""
    numbers = law.numbers
    fills = [entropy.below(size) for size in numbers.sizes]
    answered = [f if v == size else v for v, f, size in zip(raw, fills, numbers.sizes, strict=True)]
    if numbers.keep == TUPLE:
        other = [entropy.below(size) for size in numbers.sizes]
        if entropy.below(WORD) >= numbers.honest:
            answered = other
    return [int(entropy.below(numbers.total) < weight) for weight in law.weights(tuple(answered))]


def check_words(
    plan: GuidedPlan, numbers: GuidedNumbers, guidances: Sequence[Guidance], chance: np.random.Generator
) -> int:
    """Compare our clients with the document's rules for equal words: bits, and how many words they take.

    Tuples have random words, or draws at the ends of a bit's weight. Returns how many tuples were compared.
    """
    source, compared = SeededEntropy(int(chance.integers(0, 1 << 62))), 0
    for guidance in guidances:
        law = law_of(numbers, guidance)
        with client_at_work():
            perturbation, randomizer = Perturbation(plan, guidance), TupleRandomizer(plan, guidance)
        rows, wanted, words = [], [], []
        for raw, given in _cases(law, chance):
            entropy = Noted(given, source)
            bits = own_release(raw, law, entropy)
            replayed = Replayed(entropy.given)
            with client_at_work():
                made = perturbation.release(raw, replayed)
            if list(made) != bits or replayed.left:
                raise Fault("The client of one tuple does not make of its words what docs/formats/guided-plan.md says.")
            if len(entropy.given) == randomizer.words:  # else a draw was rejected
                rows.append(raw)
                wanted.append(bits)
                words += entropy.given
        with client_at_work():
            packed, _ = randomizer.randomize(np.array(rows, np.int32), np.array(words, np.uint64), Replayed([]))
        if packed.tolist() != wanted:
            raise Fault("The bulk client's bits differ from those of one tuple at a time.")
        compared += len(rows)
    return compared


def _cases(law: GuidedLaw, chance: np.random.Generator) -> Iterator[tuple[list[int], list[int]]]:
    """Yield tuples, some with missing values, and words for them: none, or with draws at the ends of weights."""
    numbers = law.numbers
    sizes = np.array(numbers.sizes)
    for _ in range(_RECORDS):
        yield chance.integers(0, sizes + 1).tolist(), []
    for _ in range(-(-_AT_ENDS // numbers.width)):
        raw = chance.integers(0, sizes).tolist()
        head = [1 << 62] * len(sizes)
        if numbers.keep == TUPLE:
            head = [*head, *head, int(chance.choice([0, numbers.honest - 1, numbers.honest]))]
        ends = [weight - int(chance.integers(0, 2)) for weight in law.weights(tuple(raw))]
        yield raw, head + [min(max(end, 0), numbers.total - 1) for end in ends]
