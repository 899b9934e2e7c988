"""Crafted reports: reports that nobody's basket made, to show chosen items; for the bench and tests of crafted checks.

Every such report adds q[k] to N·ŝ of an itemset of k of the chosen items. Otherwise they are as random as can be, so
that they differ from each other. With a code the seed is uniform among those whose values of the chosen items are all
0: solutions of linear equations, which there are for any number of items (where a > 1 more seeds would show them).
Without one the other items are shown with probability ρ; of reports of a fixed size the other items are uniform.
"""

from collections.abc import Iterable, Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from assocpriv.plans.baskets import Plan
from assocpriv.plans.generator import WORD_BITS, item_columns
from assocpriv.plans.operator import FixedSizeOperator
from assocpriv.plans.question import Question
from assocpriv.promise.entropy import WordEntropy
from assocpriv.promise.errors import PlanError
from assocpriv.promise.numbers import rank_of_set, set_of_rank
from assocpriv.server.counting import number_of


def crafted_reports(
    plan: Plan, shown: Sequence[int], count: int, *, entropy: WordEntropy, question: Question | None = None
) -> NDArray[np.uint8]:
    """Return packed reports that all show the chosen entries, uint8 (count, report_bytes).

    Args:
        plan: their plan.
        shown: distinct ids, any number of them; of answers of a fixed size at most ℓ.
        count: how many.
        entropy: source of what is random in them.
        question: which all of them answer, by default that about items that most are asked.

    Raises:
        PlanError: more entries than an answer of a fixed size shows.
    """
    number = number_of(plan, question)
    answers = _answers(plan.questions[number], shown, count, entropy)
    made = b"".join(plan.report_of(number, answer) for answer in answers)
    return np.frombuffer(made, dtype=np.uint8).reshape(count, plan.report_bytes)


def _answers(question: Question, shown: Sequence[int], count: int, entropy: WordEntropy) -> Iterable[bytes]:
    if isinstance(question.operator, FixedSizeOperator):
        return _sets(question, shown, count, entropy)
    if question.generator.is_seedless:
        operator, wanted = question.independent, sum(1 << item for item in shown)
        coins = (entropy.coins(question.padded_items, operator.insert_num, operator.insert_bits) for _ in range(count))
        return (question.form.encode(bits | wanted) for bits in coins)
    return _seeds(question, shown, count, entropy)


def _sets(question: Question, shown: Sequence[int], count: int, entropy: WordEntropy) -> Iterable[bytes]:
    size = question.fixed.report_size - len(shown)
    if size < 0:
        raise PlanError(f"a report of this plan shows {question.fixed.report_size} items, not {len(shown)}")
    others = [item for item in range(question.padded_items) if item not in set(shown)]
    choices = comb(len(others), size)
    drawn = (set_of_rank(entropy.below(choices), len(others), size) for _ in range(count))
    ranks = (rank_of_set([*shown, *(others[place] for place in places)]) for places in drawn)
    return (question.form.encode(rank) for rank in ranks)


def _seeds(question: Question, shown: Sequence[int], count: int, entropy: WordEntropy) -> Iterable[bytes]:
    basis = free_seeds(question, shown)
    n_words = -(-len(basis) // WORD_BITS)
    drawn = entropy.words(count * n_words).astype("<u8", copy=False).view(np.uint8).reshape(count, 8 * n_words)
    chosen = np.unpackbits(drawn, axis=1, count=len(basis), bitorder="little").astype(np.int64)
    bits = np.array([[seed >> b & 1 for b in range(question.report_bits)] for seed in basis], dtype=np.int64)
    seeds = chosen @ bits.reshape(len(basis), question.report_bits) & 1
    return (row.tobytes() for row in np.packbits(seeds.astype(np.uint8), axis=1, bitorder="little"))


def free_seeds(question: Question, shown: Sequence[int]) -> list[int]:
    """Return a basis of the seeds whose values of the items are all 0, as integers; empty if only the seed 0 is."""
    columns = item_columns(question.generator, question.independent.insert_bits, np.array(shown, dtype=np.int64))
    reduced: dict[int, int] = {}  # pivot: the equation, whose pivot bit no other equation has
    for words in columns.reshape(-1, columns.shape[2]):
        column = int.from_bytes(words.astype("<u8").tobytes(), "little")
        for pivot, equation in reduced.items():
            column ^= equation if column >> pivot & 1 else 0
        if not column:
            continue  # it follows from the others
        new = column.bit_length() - 1
        reduced = {pivot: other ^ (column if other >> new & 1 else 0) for pivot, other in reduced.items()}
        reduced[new] = column
    return [
        1 << bit | sum(1 << pivot for pivot, equation in reduced.items() if equation >> bit & 1)
        for bit in range(question.report_bits)
        if bit not in reduced
    ]
